//! The product brick by brick.
//!
//! A brick computes the forces of all its voxels. Sums on its own nodes are complete when the bricks below have passed on
//! theirs; sums on nodes of the bricks above are passed on to them. Bricks come in Morton order, in which the bricks
//! below come first, so that most bricks have all they need at once. Threads take *chunks* of bricks: what a chunk
//! passes on inside stays in the thread's memory; a brick that needs sums of an earlier chunk waits until all chunks are
//! done. Sums are added in one order, whatever the chunks and threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::BrickSink;
use super::plane::{BrickMemory, lay_out, put_together};
use super::scratch::{Scratch, numbers};
use crate::ranks::Ranks;
use crate::simd::{Level, Real};
use crate::voxel::bricks::{ALL_SLOTS, SLOTS, above, below, for_each_slot};
use crate::voxel::forces::{Forces, Part};
use crate::voxel::problem::{Moduli, Ratios, Voxels};
use crate::voxel::rows::{Lines, Rows, Sums, side};
use crate::voxel::share::{Halo, sorted, sum_over};
use pogo_formats::system::parallel::Shared;

/// Set in the first number that a brick passes on if its receiver is in another chunk.
const OTHER_CHUNK: u64 = 1 << 63;

/// Tables of the product.
#[derive(Debug)]
pub(super) struct BrickProduct<'a> {
    voxels: Voxels<'a>,
    /// E h where all elements have the same stiffness.
    uniform: Option<f64>,
    pub rows: Rows,
    /// First number that each brick passes on to its neighbour above at d = 1 … 7, (n_bricks × 7,): among those of its
    /// chunk, or among those passed on between chunks, with [`OTHER_CHUNK`].
    passed_first: Vec<u64>,
    /// Most numbers that are passed on inside a chunk.
    n_inside: usize,
    /// Numbers that are passed on between chunks.
    n_between: usize,
    /// First brick of each chunk, and the end.
    chunks: Vec<usize>,
    /// Bricks that wait for other chunks, ascending, and their first number in the memory of those; then the end.
    waiting: Vec<(u32, u64)>,
    /// Fixed degrees of freedom in the order of vectors, and the first of each brick.
    pub fixed: Vec<u32>,
    fixed_first: Vec<u32>,
    /// Chunks of this rank, and those of `waiting` that are its own.
    own_chunks: Range<usize>,
    own_waiting: Range<usize>,
    /// Nodes of the bricks of other ranks that are read, and sums that bricks of other ranks pass on.
    halo: Halo,
    sums: Halo,
    ranks: Option<Arc<dyn Ranks>>,
}

/// Bricks of a chunk, of so many in all: fewer bricks wait in large chunks, more threads share small ones.
pub(super) fn chunk_size(n_bricks: usize) -> usize {
    (n_bricks / 128).clamp(32, 2048)
}

/// How far a brick has come with its own nodes (d = 0) and those of the bricks above (d = 1 … 7).
struct March {
    owners: [Option<usize>; 8],
    /// Nodes of the owners in the planes that were laid out.
    laid_out: [usize; 8],
    /// Where the next sums go.
    collected: [u64; 8],
}

impl March {
    fn new(product: &BrickProduct, brick: usize) -> Self {
        let owner = |d| if d == 0 { Some(brick) } else { above(&product.voxels.bricks, brick, d) };
        let first = |d| if d == 0 { 0 } else { product.passed_first[7 * brick + d - 1] };
        Self { owners: std::array::from_fn(owner), laid_out: [0; 8], collected: std::array::from_fn(first) }
    }
}

/// Where a brick passes sums on.
#[derive(Clone, Copy)]
struct Passed<'a, T> {
    inside: &'a Shared<T>,
    between: &'a Shared<T>,
}

impl<T> Passed<'_, T> {
    /// `n` numbers from `first` on.
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, first: u64, n: usize) -> &mut [T] {
        let at = (first & !OTHER_CHUNK) as usize;
        // SAFETY: the caller's promise.
        unsafe { if first & OTHER_CHUNK == 0 { self.inside.part(at..at + n) } else { self.between.part(at..at + n) } }
    }
}

impl<'a> BrickProduct<'a> {
    /// `fixed`: degrees of freedom 3 node + direction, where y is made 0.
    pub fn new(voxels: Voxels<'a>, fixed: &[u32]) -> Self {
        let bricks = voxels.bricks;
        let n = bricks.n_bricks();
        let mut chunks: Vec<usize> = (0..n).step_by(chunk_size(n)).collect();
        chunks.push(n);
        let rows = Rows::new(&bricks);
        let mut fixed = fixed.to_vec();
        fixed.par_iter_mut().for_each(|dof| *dof = 3 * rows.place(&bricks, *dof / 3) + *dof % 3);
        fixed.par_sort_unstable();
        let first = |node: &u32| fixed.partition_point(|&dof| dof / 3 < *node) as u32;
        let mut out = Self {
            voxels,
            uniform: match (voxels.moduli, voxels.ratios) {
                (Moduli::Classes { young: &[young], .. }, Ratios::One(_)) => Some(voxels.spacing * young),
                _ => None,
            },
            rows,
            passed_first: Vec::with_capacity(7 * n),
            n_inside: 0,
            n_between: 0,
            chunks,
            waiting: Vec::new(),
            fixed_first: bricks.node_first.iter().map(first).collect(),
            fixed,
            own_chunks: 0..0,
            own_waiting: 0..0,
            halo: Halo::default(),
            sums: Halo::default(),
            ranks: None,
        };
        out.number_passed_sums();
        (out.own_chunks, out.own_waiting) = (0..out.chunks.len() - 1, 0..out.waiting.len() - 1);
        out
    }

    /// First node of each chunk, and the end.
    pub fn ends(&self) -> Vec<usize> {
        self.chunks.iter().map(|&brick| self.voxels.bricks.node_first[brick] as usize).collect()
    }

    /// Divides the chunks among ranks, so that all have about as many elements; the first brick of each rank, and the end, and the
    /// number of nodes of other ranks that this one reads. Collective.
    ///
    /// # Panics
    /// If there are fewer chunks than ranks.
    pub fn divide(&mut self, ranks: &Arc<dyn Ranks>) -> (Vec<usize>, usize) {
        let (n_ranks, n_chunks, me) = (ranks.n_ranks(), self.chunks.len() - 1, ranks.rank());
        assert!(n_ranks <= n_chunks, "there are more ranks than chunks");
        let element_first = self.voxels.bricks.element_first;
        let n_elements = self.voxels.bricks.n_elements() as u64;
        let mut cuts = vec![0];
        for rank in 1..n_ranks {
            let goal = n_elements * rank as u64 / n_ranks as u64;
            let behind = |chunk: usize| u64::from(element_first[self.chunks[chunk]]).abs_diff(goal);
            let free = cuts[rank - 1] + 1..=n_chunks + rank - n_ranks;
            cuts.extend(free.min_by_key(|&chunk| behind(chunk)));
        }
        cuts.push(n_chunks);
        let firsts: Vec<usize> = cuts.iter().map(|&chunk| self.chunks[chunk]).collect();
        self.own_chunks = cuts[me]..cuts[me + 1];
        let waiting =
            |brick: usize| self.waiting[..self.waiting.len() - 1].partition_point(|&(at, _)| (at as usize) < brick);
        self.own_waiting = waiting(firsts[me])..waiting(firsts[me + 1]);
        let n_read = self.connect(ranks, &firsts);
        self.ranks = Some(ranks.clone());
        (firsts, n_read)
    }

    /// Finds what this rank exchanges with others, given the first bricks of all, and the end; the number of nodes that it reads.
    fn connect(&mut self, ranks: &Arc<dyn Ranks>, firsts: &[usize]) -> usize {
        let (me, bricks) = (ranks.rank(), self.voxels.bricks);
        let rank_of = |brick: usize| firsts.partition_point(|&first| first <= brick) - 1;
        let (mut read, mut passed) = (Vec::new(), vec![Vec::new(); ranks.n_ranks()]);
        let mut came = passed.clone();
        let pass = |brick: usize, next: usize, d: usize, to: &mut Vec<u32>| {
            let first = (self.passed_first[7 * brick + d - 1] & !OTHER_CHUNK) / 3;
            to.extend((first as u32..).take(self.rows.shared(next, d)));
        };
        for brick in firsts[me]..firsts[me + 1] {
            for d in 1..8 {
                if let Some(next) = above(&bricks, brick, d).filter(|&next| rank_of(next) != me) {
                    pass(brick, next, d, &mut passed[rank_of(next)]);
                    self.rows.each_shared(next, d, |place| read.push(bricks.node_first[next] + place));
                }
                if let Some(from) = below(&bricks, brick, d).filter(|&from| rank_of(from) != me) {
                    pass(from, brick, d, &mut came[rank_of(from)]);
                }
            }
        }
        let cuts: Vec<usize> = firsts.iter().map(|&brick| bricks.node_first[brick] as usize).collect();
        let read = sorted(read);
        self.halo = Halo::new(ranks, &read, &cuts);
        let sent = passed.into_iter().enumerate().map(|(rank, items)| (me, rank, sorted(items)));
        let received = came.into_iter().enumerate().map(|(rank, items)| (rank, me, sorted(items)));
        self.sums = Halo::of(ranks, sent.chain(received));
        read.len()
    }

    /// Copies the values of nodes of other ranks that the next product reads. Collective.
    pub fn fetch<T: Real>(&self, x: &mut [T]) {
        self.halo.fetch(x);
    }

    /// Finds where each brick passes sums on, and which bricks wait.
    fn number_passed_sums(&mut self) {
        let bricks = self.voxels.bricks;
        let mut pending = 0;
        for chunk in self.chunks.windows(2) {
            let mut inside = 0;
            for brick in chunk[0]..chunk[1] {
                for d in 1..8 {
                    let next = above(&bricks, brick, d);
                    let n = next.map_or(0, |next| 3 * self.rows.shared(next, d));
                    if next.is_some_and(|next| next >= chunk[1]) {
                        self.passed_first.push(OTHER_CHUNK | self.n_between as u64);
                        self.n_between += n;
                    } else {
                        self.passed_first.push(inside as u64);
                        inside += n;
                    }
                }
                if (1..8).filter_map(|d| below(&bricks, brick, d)).any(|below| below < chunk[0]) {
                    self.waiting.push((brick as u32, pending));
                    pending += 3 * u64::from(bricks.node_first[brick + 1] - bricks.node_first[brick]);
                }
            }
            self.n_inside = self.n_inside.max(inside);
        }
        self.waiting.push((bricks.n_bricks() as u32, pending));
        self.waiting.shrink_to_fit();
    }

    /// Numbers that a product keeps: those passed on between chunks, and those of bricks that wait.
    pub fn needs(&self) -> [usize; 2] {
        [self.n_between, self.waiting.last().map_or(0, |last| last.1 as usize)]
    }

    /// What `act` makes of the sum of `value(element)` over the elements around each node, in the order of vectors.
    pub fn node_sums<T: Copy + Default + Send>(
        &self,
        value: impl Fn(usize) -> f64 + Sync,
        act: impl Fn(f64) -> T + Sync,
    ) -> Vec<T> {
        let bricks = &self.voxels.bricks;
        let mut out = vec![T::default(); bricks.n_nodes()];
        let shared = Shared::new(&mut out);
        parallel::for_each(bricks.n_bricks(), &|brick| {
            // Elements of the brick, and before them those of the bricks below that touch it.
            let mut e = [[[0.0_f64; 9]; 9]; 9];
            for d in 0..8 {
                let Some(from) = (if d == 0 { Some(brick) } else { below(bricks, brick, d) }) else { continue };
                let first = bricks.element_first[from] as usize;
                for_each_slot(&bricks.element_mask[8 * from..8 * from + 8], &SLOTS.high[d], |slot, rank| {
                    let voxel = usize::from(SLOTS.voxel[slot]);
                    let [x, y, z] = [0, 1, 2].map(|m| if d >> m & 1 == 1 { 0 } else { 1 + (voxel >> (3 * m) & 7) });
                    e[z][y][x] = value(first + rank);
                });
            }
            let range = bricks.node_first[brick] as usize..bricks.node_first[brick + 1] as usize;
            // SAFETY: each brick has nodes of its own.
            let mut out = unsafe { shared.part(range) }.iter_mut();
            for (z, &plane) in self.rows.node[brick].iter().enumerate() {
                let mut remaining = plane;
                while remaining != 0 {
                    let (x, y) = (remaining.trailing_zeros() as usize % 8, remaining.trailing_zeros() as usize / 8);
                    remaining &= remaining - 1;
                    let sum = (0..8).map(|c: usize| e[z + (c >> 2)][y + (c >> 1 & 1)][x + (c & 1)]).sum();
                    if let Some(out) = out.next() {
                        *out = act(sum);
                    }
                }
            }
        });
        out
    }

    /// y = K x for x and y in the order of vectors, given to `sink(brick, first node, y of its nodes)`; the sum of what
    /// `sink` returns, in one order. `memory` is as long as [`needs`](Self::needs) says.
    pub fn apply<T: Real, const N: usize>(
        &self,
        x: &[T],
        parts: &[Part<T>; N],
        [between, pending]: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: BrickSink<'_, T>,
    ) -> f64 {
        let node_first = self.voxels.bricks.node_first;
        scratch.results.clear();
        scratch.results.resize(self.voxels.bricks.n_bricks(), 0.0);
        let n_between = between.len();
        let (between, pending) = (Shared::new(between), Shared::new(pending));
        let results = Shared::new(&mut scratch.results);
        let finish = |brick: usize, y: &mut [T]| {
            let first = 3 * node_first[brick];
            for dof in &self.fixed[self.fixed_first[brick] as usize..self.fixed_first[brick + 1] as usize] {
                y[(dof - first) as usize] = T::default();
            }
            let result = sink(brick, node_first[brick] as usize, y);
            // SAFETY: each brick is finished once.
            unsafe { results.part(brick..brick + 1)[0] = result };
        };
        // Threads take chunks as they come; the results do not depend on which thread takes which.
        let next = AtomicUsize::new(self.own_chunks.start);
        let pool = &scratch.inside;
        parallel::on_each_thread(&|| {
            let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
            let mut memory = lock().pop().unwrap_or_default();
            let inside = Shared::new(numbers::<T>(&mut memory, self.n_inside));
            let passed = Passed { inside: &inside, between: &between };
            let mut local = BrickMemory::<T, N>::new();
            let chunk = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&chunk| chunk < self.own_chunks.end);
            while let Some(chunk) = chunk() {
                let (first, end) = (self.chunks[chunk], self.chunks[chunk + 1]);
                let mut wait = self.waiting.partition_point(|&(brick, _)| (brick as usize) < first);
                for brick in first..end {
                    let n_own = 3 * (node_first[brick + 1] - node_first[brick]) as usize;
                    self.compute(brick, x, parts, passed, &mut local);
                    self.receive(brick, 0, &inside, &mut local.y[..n_own]);
                    if self.waiting[wait].0 as usize == brick {
                        let at = self.waiting[wait].1 as usize;
                        // SAFETY: each waiting brick has numbers of its own.
                        unsafe { pending.part(at..at + n_own) }.copy_from_slice(&local.y[..n_own]);
                        wait += 1;
                    } else {
                        finish(brick, &mut local.y[..n_own]);
                    }
                }
            }
            lock().push(memory);
        });
        // SAFETY: all chunks are done.
        self.sums.fetch(unsafe { between.part(0..n_between) });
        let waiting = &self.waiting[self.own_waiting.start..self.own_waiting.end + 1];
        parallel::for_each(self.own_waiting.len(), &|at| {
            let [(brick, begin), (_, end)] = [waiting[at], waiting[at + 1]];
            // SAFETY: each waiting brick has numbers of its own.
            let y = unsafe { pending.part(begin as usize..end as usize) };
            self.receive(brick as usize, OTHER_CHUNK, &between, y);
            finish(brick as usize, y);
        });
        let sums = self.chunks[self.own_chunks.start..=self.own_chunks.end].windows(2);
        sum_over(&self.ranks, sums.map(|chunk| scratch.results[chunk[0]..chunk[1]].iter().sum()).collect())
    }

    /// Forces of a brick's elements: sums on its own nodes in `local.y`, those on nodes of the bricks above passed on.
    fn compute<T: Real, const N: usize>(
        &self,
        brick: usize,
        x: &[T],
        parts: &[Part<T>; N],
        passed: Passed<T>,
        local: &mut BrickMemory<T, N>,
    ) {
        let elements = &self.rows.element[brick];
        let (level, uniform) = (Level::detect(), self.uniform.map(T::from_f64));
        if uniform.is_none() {
            local.stiffness.iter_mut().enumerate().for_each(|(part, to)| self.lay_out_stiffness(brick, part, to));
        }
        // Elements under a plane of nodes, and over it.
        let around = |z: usize| [z.wrapping_sub(1), z].map(|z| elements.get(z).copied().unwrap_or(0));
        let mut march = March::new(self, brick);
        for z in 0..10 {
            let [under, over] = around(z);
            if under | over != 0 {
                local.forces[z % 2] = [[[T::default(); 24]; 9]; 3];
            }
            if z < 9 {
                let to = (under | over != 0).then_some(&mut local.displacements[z % 2]);
                self.lay_out_plane(&mut march, z, x, to);
            }
            if under != 0 {
                let [even, odd] = &mut local.forces;
                let forces = if z % 2 == 1 { [even, odd] } else { [odd, even] };
                let displacements = [&local.displacements[1 - z % 2], &local.displacements[z % 2]];
                let stiffness = local.stiffness.each_ref().map(|part| (uniform, &part[z - 1]));
                level.run(Forces { parts, elements: under, stiffness, displacements, forces });
            }
            // All elements around the plane before have been computed.
            if let Some(done) = z.checked_sub(1) {
                let sums = (around(done) != [0, 0]).then_some(&local.forces[done % 2]);
                self.finish_plane(&mut march, done, sums, passed, &mut local.y);
            }
        }
    }

    /// The stiffness of a brick's elements in a part, 0 where there is none.
    fn lay_out_stiffness<T: Real>(&self, brick: usize, part: usize, to: &mut [[[T; 8]; 8]; 8]) {
        let bricks = &self.voxels.bricks;
        let first = bricks.element_first[brick] as usize;
        *to = [[[T::default(); 8]; 8]; 8];
        let e = to.as_flattened_mut().as_flattened_mut();
        for_each_slot(&bricks.element_mask[8 * brick..8 * brick + 8], &ALL_SLOTS, |slot, rank| {
            e[usize::from(SLOTS.voxel[slot])] = T::from_f64(self.voxels.stiffness(first + rank, part));
        });
    }

    /// Lays out plane z of nodes, those of the next bricks in x and y included, unless no element touches it.
    #[inline(always)]
    fn lay_out_plane<T: Real>(&self, march: &mut March, z: usize, x: &[T], mut to: Option<&mut Lines<T>>) {
        for c in 0..4 {
            let d = z / 8 * 4 + c;
            let Some(owner) = march.owners[d] else { continue };
            let word = self.rows.node[owner][z % 8];
            if let Some(to) = &mut to {
                let from = &x[3 * (self.voxels.bricks.node_first[owner] as usize + march.laid_out[d])..];
                lay_out(c, word, from, to);
            }
            march.laid_out[d] += word.count_ones() as usize;
        }
    }

    /// Collects the sums on plane z of nodes, 0 unless an element touches it: those of the brick in `y`, others passed on.
    #[inline(always)]
    fn finish_plane<T: Real>(
        &self,
        march: &mut March,
        z: usize,
        sums: Option<&Sums<T>>,
        passed: Passed<T>,
        y: &mut [T; 3 * 512],
    ) {
        for c in 0..4 {
            let d = z / 8 * 4 + c;
            let Some(owner) = march.owners[d] else { continue };
            let mask = side(self.rows.node[owner][z % 8], 0, c);
            let n = 3 * mask.count_ones() as usize;
            let first = march.collected[d];
            march.collected[d] += n as u64;
            let to = if d == 0 {
                &mut y[first as usize..first as usize + n]
            } else {
                // SAFETY: each brick writes what it passes on, before anybody reads it.
                unsafe { passed.part(first, n) }
            };
            match sums {
                Some(sums) => put_together(c, mask, sums, to),
                None => to.fill(T::default()),
            }
        }
    }

    /// Adds what the bricks below have passed on: those of the same chunk (`chunk` 0) or of other chunks
    /// ([`OTHER_CHUNK`]).
    fn receive<T: Real>(&self, brick: usize, chunk: u64, passed: &Shared<T>, y: &mut [T]) {
        for d in 1..8 {
            let Some(from) = below(&self.voxels.bricks, brick, d) else { continue };
            let first = self.passed_first[7 * from + d - 1];
            if first & OTHER_CHUNK != chunk {
                continue;
            }
            let (mut at, mut before) = ((first & !OTHER_CHUNK) as usize, 0);
            for (z, &word) in self.rows.node[brick].iter().enumerate() {
                let mask = side(word, z, d);
                let n = 3 * mask.count_ones() as usize;
                // SAFETY: written, by this thread or before the chunks were joined; nobody writes it now.
                let from = unsafe { passed.part(at..at + n) };
                if d & 1 == 0 {
                    y[3 * before..3 * before + n].iter_mut().zip(&*from).for_each(|(y, &from)| *y += from);
                } else {
                    let mut remaining = mask;
                    for from in from.chunks_exact(3) {
                        let lowest = remaining & remaining.wrapping_neg();
                        let rank = (word & lowest.wrapping_sub(1)).count_ones() as usize;
                        remaining &= remaining.wrapping_sub(1);
                        let y = &mut y[3 * (before + rank)..3 * (before + rank) + 3];
                        (0..3).for_each(|a| y[a] += from[a]);
                    }
                }
                at += n;
                before += word.count_ones() as usize;
            }
        }
    }
}

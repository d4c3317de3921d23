//! The fine product y = K x, brick by brick.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pogo_formats::voxel::BricksView;
use rayon::prelude::*;

use super::bricks::{SLOTS, above, below, for_each_slot};
use super::first::fine_elements;
use super::forces::Forces;
use super::lookup::{Grid, Ways};
use super::number::Shared;
use super::rows::{Lines, Rows, Sums, collect, side, spread};
use super::split::Elements;
use super::{Cube, Moduli};
use crate::simd::{Level, Real};

const ALL: [u64; 8] = [u64::MAX; 8];

/// The product with the stiffness of a voxel mesh.
///
/// A brick goes through its planes of voxels: it lays out the next plane of nodes, those of the bricks above it included,
/// computes its elements a row of eight at a time, keeps the sums of its own nodes and hands the others' on. Bricks come in
/// Morton order, in which neighbours below come first: most bricks have all they need at once. A brick whose neighbours are
/// in an earlier *chunk* waits until all chunks are done. Sums are added in one order whatever the chunks: the same bits for
/// every number of threads.
#[derive(Debug)]
pub struct Product<'a> {
    /// Which voxels are there.
    pub bricks: BricksView<'a>,
    /// Young's moduli.
    pub moduli: Moduli<'a>,
    /// K of a cube.
    pub cube: Cube,
    /// Edge of a voxel.
    pub spacing: f64,
    /// E h where all elements have the same.
    uniform: Option<f64>,
    pub(super) rows: Rows,
    /// First number handed on by each brick to its neighbour above at d = 1 … 7, (n_bricks × 7,): of those of its chunk, or,
    /// where the neighbour is in another chunk, of all (`ELSEWHERE` is added).
    passed_first: Vec<u64>,
    /// Most numbers that are handed on inside a chunk, and those handed on between chunks.
    n_passed: [usize; 2],
    /// First brick of each chunk, and the end.
    chunks: Vec<usize>,
    /// Bricks that wait, ascending, and their first pending number.
    waiting: Vec<(u32, u64)>,
    /// Fixed degrees of freedom as they were given, ascending.
    fixed: Vec<u32>,
    /// The same as vectors are arranged, ascending, and the first of each brick.
    arranged: Vec<u32>,
    fixed_first: Vec<u32>,
    /// How nodes are found where not by bricks.
    ways: Ways<'a>,
}

const ELSEWHERE: u64 = 1 << 63;

/// Memory for products of either precision, kept between them.
#[derive(Debug, Default)]
pub struct Scratch {
    passed: Vec<f64>,
    pending: Vec<f64>,
    pub(super) sums: Vec<f64>,
    /// Handed on inside a chunk, one for each thread.
    inside: Mutex<Vec<Vec<f64>>>,
    /// Of [`Ways`] other than bricks, and for vectors that have to be arranged.
    pub(super) values: [Vec<f64>; 2],
}

impl Scratch {
    /// Memory of what `product` puts by: bricks that wait, then what is passed on between chunks.
    pub(super) fn put_by<T: Real>(&mut self, product: &Product) -> [&mut [T]; 2] {
        let [n_passed, n_pending] = product.needs();
        [numbers(&mut self.pending, n_pending), numbers(&mut self.passed, n_passed)]
    }
}

/// The first `n` numbers of memory that grows as needed.
pub(super) fn numbers<T: Real>(memory: &mut Vec<f64>, n: usize) -> &mut [T] {
    memory.resize(memory.len().max((n * size_of::<T>()).div_ceil(size_of::<f64>())), 0.0);
    // SAFETY: `Real` is f32 or f64 (nothing outside this crate can add one): no stricter alignment, any bits valid.
    let (_, all, _) = unsafe { memory.align_to_mut::<T>() };
    &mut all[..n]
}

/// What one thread needs: of even and odd planes of nodes, displacements and forces.
#[repr(align(64))]
struct Local<T> {
    u: [Lines<T>; 2],
    f: [Sums<T>; 2],
    /// E h of the elements, plane by plane and row by row, where they differ.
    e: [[[T; 8]; 8]; 8],
    y: [T; 3 * 512],
}

/// Where a brick hands sums on: to its own chunk's numbers or to all.
#[derive(Clone, Copy)]
struct Passed<'a, T> {
    inside: &'a Shared<T>,
    elsewhere: &'a Shared<T>,
}

impl<T> Passed<'_, T> {
    /// `n` numbers from `first` on.
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, first: u64, n: usize) -> &mut [T] {
        let at = (first & !ELSEWHERE) as usize;
        // SAFETY: the caller's promise.
        unsafe { if first & ELSEWHERE == 0 { self.inside.part(at..at + n) } else { self.elsewhere.part(at..at + n) } }
    }
}

impl<'a> Product<'a> {
    /// Bricks a chunk: few wait in large ones, many threads share small ones.
    const CHUNK: usize = 2048;

    /// Tables for the product. `fixed`: degrees of freedom 3 node + direction, ascending, where y is made 0.
    pub fn new(bricks: BricksView<'a>, moduli: Moduli<'a>, cube: Cube, spacing: f64, fixed: Vec<u32>) -> Self {
        Self::on(bricks, Grid::Bricks, 0, moduli, (cube, spacing), fixed)
    }

    /// As [`new`](Self::new), with the nodes of elements found as `grid` says on this level, 0 the finest; the cube has an edge.
    pub fn on(
        bricks: BricksView<'a>,
        grid: Grid<'a>,
        level: usize,
        moduli: Moduli<'a>,
        (cube, spacing): (Cube, f64),
        fixed: Vec<u32>,
    ) -> Self {
        let uniform = match moduli {
            Moduli::Classes { young: &[young], .. } => Some(spacing * young),
            _ => None,
        };
        let mut out = Self {
            bricks,
            moduli,
            cube,
            spacing,
            uniform,
            rows: Rows::default(),
            passed_first: Vec::new(),
            n_passed: [0; 2],
            chunks: Vec::new(),
            waiting: Vec::new(),
            arranged: fixed.clone(),
            fixed,
            fixed_first: Vec::new(),
            ways: Ways::new(&bricks, grid, level),
        };
        if matches!(out.ways, Ways::Bricks) {
            out.by_bricks();
        }
        out
    }

    /// Tables of products by bricks.
    fn by_bricks(&mut self) {
        let bricks = self.bricks;
        let n = bricks.n_bricks();
        self.rows = Rows::new(&bricks);
        let size = (n / 32).clamp(64, Self::CHUNK);
        self.chunks = (0..n).step_by(size).collect();
        self.chunks.push(n);
        self.passed_first.reserve_exact(7 * n);
        let mut pending = 0;
        for chunk in self.chunks.windows(2) {
            let mut inside = 0;
            for brick in chunk[0]..chunk[1] {
                for d in 1..8 {
                    let next = above(&bricks, brick, d);
                    let n = next.map_or(0, |next| 3 * self.rows.shared(next, d));
                    if next.is_some_and(|next| next >= chunk[1]) {
                        self.passed_first.push(ELSEWHERE | self.n_passed[1] as u64);
                        self.n_passed[1] += n;
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
            self.n_passed[0] = self.n_passed[0].max(inside);
        }
        self.waiting.push((n as u32, pending));
        self.waiting.shrink_to_fit();
        self.arranged.par_iter_mut().for_each(|dof| *dof = 3 * self.rows.place(&bricks, *dof / 3) + *dof % 3);
        self.arranged.par_sort_unstable();
        let first = |node: &u32| self.arranged.partition_point(|&dof| dof / 3 < *node) as u32;
        self.fixed_first = bricks.node_first.iter().map(first).collect();
    }

    /// Nodes of the vectors that it multiplies.
    pub fn n_nodes(&self) -> usize {
        self.ways.n_nodes().unwrap_or(self.bricks.n_nodes())
    }

    /// All elements with their nodes.
    pub(super) fn elements(&self) -> Elements {
        self.ways.elements(fine_elements(&self.bricks))
    }

    /// The same, the nodes numbered as they are arranged in the solver's vectors.
    pub(super) fn arranged_elements(&self) -> Elements {
        let mut elements = self.elements();
        if matches!(self.ways, Ways::Bricks) {
            self.rows.renumber(&self.bricks, &mut elements);
        }
        elements
    }

    /// Number of a degree of freedom in the solver's vectors.
    pub(super) fn place(&self, node: u32, direction: u8) -> u32 {
        let node = if matches!(self.ways, Ways::Bricks) { self.rows.place(&self.bricks, node) } else { node };
        3 * node + u32::from(direction)
    }

    /// Arranges values of all nodes, (n_nodes, 3), as in the solver's vectors, or back.
    pub(super) fn arrange<T: Real>(&self, values: &mut [T], back: bool) {
        if matches!(self.ways, Ways::Bricks) {
            self.rows.arrange(&self.bricks, values, back);
        }
    }

    /// What `act` makes of Σ E h of the elements round each node, as nodes are arranged.
    pub(super) fn node_sums<T: Copy + Default + Send>(&self, act: impl Fn(f64) -> T + Sync) -> Vec<T> {
        if !matches!(self.ways, Ways::Bricks) {
            let mut sums = vec![0.0; self.n_nodes()];
            for (e, nodes) in self.elements().nodes.iter().enumerate() {
                nodes.iter().for_each(|&node| sums[node as usize] += self.stiffness(e));
            }
            return sums.into_iter().map(act).collect();
        }
        let mut out = vec![T::default(); self.n_nodes()];
        let shared = Shared::new(&mut out);
        (0..self.bricks.n_bricks()).into_par_iter().for_each(|brick| {
            // Elements of the brick, and before them those of the bricks below that touch it.
            let mut e = [[[0.0_f64; 9]; 9]; 9];
            for d in 0..8 {
                let Some(from) = (if d == 0 { Some(brick) } else { below(&self.bricks, brick, d) }) else { continue };
                let first = self.bricks.element_first[from] as usize;
                for_each_slot(&self.bricks.element_mask[8 * from..8 * from + 8], &SLOTS.high[d], |slot, rank| {
                    let voxel = usize::from(SLOTS.voxel[slot]);
                    let [x, y, z] = [0, 1, 2].map(|m| if d >> m & 1 == 1 { 0 } else { 1 + (voxel >> (3 * m) & 7) });
                    e[z][y][x] = self.stiffness(first + rank);
                });
            }
            let range = self.bricks.node_first[brick] as usize..self.bricks.node_first[brick + 1] as usize;
            // SAFETY: each brick has nodes of its own.
            let mut out = unsafe { shared.part(range) }.iter_mut();
            for (z, &plane) in self.rows.node[brick].iter().enumerate() {
                let mut left = plane;
                while left != 0 {
                    let (x, y) = (left.trailing_zeros() as usize % 8, left.trailing_zeros() as usize / 8);
                    left &= left - 1;
                    let sum = (0..8).map(|c: usize| e[z + (c >> 2)][y + (c >> 1 & 1)][x + (c & 1)]).sum();
                    if let Some(out) = out.next() {
                        *out = act(sum);
                    }
                }
            }
        });
        out
    }

    /// Numbers that [`apply_with`](Self::apply_with) has to put by: those passed on between chunks, and those of bricks that
    /// wait.
    pub(super) fn needs(&self) -> [usize; 2] {
        [self.n_passed[1], self.waiting.last().map_or(0, |last| last.1 as usize)]
    }

    /// E h of element `e`.
    #[inline(always)]
    pub fn stiffness(&self, e: usize) -> f64 {
        self.spacing * self.moduli.young(e)
    }

    /// Fixed degrees of freedom.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// The same as vectors are arranged.
    pub(super) fn arranged_fixed(&self) -> &[u32] {
        &self.arranged
    }

    /// y = K x, given brick by brick to `sink(first node, y of its nodes)`; returns the sum of what `sink` returns, in
    /// one order. `sink` is called once for each brick, from several threads.
    pub fn apply<T: Real>(&self, x: &[T], scratch: &mut Scratch, sink: impl Fn(usize, &mut [T]) -> f64 + Sync) -> f64 {
        if !matches!(self.ways, Ways::Bricks) {
            return self.apply_arranged(x, scratch, sink);
        }
        let mut lent = std::mem::take(&mut scratch.values[0]);
        let arranged = numbers::<T>(&mut lent, x.len());
        arranged.copy_from_slice(x);
        self.arrange(arranged, false);
        let sum = self.lend(arranged, scratch, |brick, first, y| {
            self.rows.arrange_brick(&self.bricks, brick, y, true);
            sink(first, y)
        });
        scratch.values[0] = lent;
        sum
    }

    /// As [`apply`](Self::apply), of a vector that is arranged, and so is y.
    pub(super) fn apply_arranged<T: Real>(
        &self,
        x: &[T],
        scratch: &mut Scratch,
        sink: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        self.lend(x, scratch, |_, first, y| sink(first, y))
    }

    fn lend<T: Real>(
        &self,
        x: &[T],
        scratch: &mut Scratch,
        sink: impl Fn(usize, usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        let [n_passed, n_pending] = self.needs();
        let mut lent = (std::mem::take(&mut scratch.passed), std::mem::take(&mut scratch.pending));
        let passed = numbers::<T>(&mut lent.0, n_passed);
        let pending = numbers::<T>(&mut lent.1, n_pending);
        let sum = self.run(x, [passed, pending], scratch, sink);
        (scratch.passed, scratch.pending) = lent;
        sum
    }

    /// As [`apply_arranged`](Self::apply_arranged), with memory for what is put by, as long as [`needs`](Self::needs) says.
    pub(super) fn apply_with<T: Real>(
        &self,
        x: &[T],
        memory: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        self.run(x, memory, scratch, |_, first, y| sink(first, y))
    }

    fn run<T: Real>(
        &self,
        x: &[T],
        [passed, pending]: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: impl Fn(usize, usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        assert_eq!(x.len(), 3 * self.n_nodes());
        let blocks = self.cube.blocks.map(|block| block.map(|row| row.map(T::from_f64)));
        if !matches!(self.ways, Ways::Bricks) {
            let sink = |first: usize, y: &mut [T]| sink(0, first, y);
            return self.ways.apply(x, &blocks, &|e| self.stiffness(e), &self.fixed, scratch, sink);
        }
        let n = self.bricks.n_bricks();
        scratch.sums.clear();
        scratch.sums.resize(n, 0.0);
        let (elsewhere, pending) = (Shared::new(passed), Shared::new(pending));
        let sums = Shared::new(&mut scratch.sums);
        let finish = |brick: usize, y: &mut [T]| {
            let first = 3 * self.bricks.node_first[brick];
            for dof in &self.arranged[self.fixed_first[brick] as usize..self.fixed_first[brick + 1] as usize] {
                y[(dof - first) as usize] = T::default();
            }
            let sum = sink(brick, self.bricks.node_first[brick] as usize, y);
            // SAFETY: each brick is finished once.
            unsafe { sums.part(brick..brick + 1)[0] = sum };
        };
        // Threads take chunks as they come to them; what they compute does not depend on it.
        let next = AtomicUsize::new(0);
        let pool = &scratch.inside;
        (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).for_each(|_| {
            let lock = || pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut memory = lock().pop().unwrap_or_default();
            let inside = Shared::new(numbers::<T>(&mut memory, self.n_passed[0]));
            let passed = Passed { inside: &inside, elsewhere: &elsewhere };
            let mut local = Local::new();
            let chunk = || self.chunks.get(next.fetch_add(1, Ordering::Relaxed)..)?.first_chunk();
            while let Some(&[first, end]) = chunk() {
                let mut wait = self.waiting.partition_point(|&(brick, _)| (brick as usize) < first);
                for brick in first..end {
                    let n_own = 3 * (self.bricks.node_first[brick + 1] - self.bricks.node_first[brick]) as usize;
                    self.compute(brick, x, &blocks, passed, &mut local);
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
        self.waiting.par_windows(2).for_each(|pair| {
            // SAFETY: each waiting brick has numbers of its own.
            let y = unsafe { pending.part(pair[0].1 as usize..pair[1].1 as usize) };
            self.receive(pair[0].0 as usize, ELSEWHERE, &elsewhere, y);
            finish(pair[0].0 as usize, y);
        });
        scratch.sums.iter().sum()
    }

    /// Forces of a brick's elements on its nodes, in `local.y`, and on those of the bricks above, handed on.
    fn compute<T: Real>(
        &self,
        brick: usize,
        x: &[T],
        blocks: &[[[T; 3]; 3]; 8],
        passed: Passed<T>,
        local: &mut Local<T>,
    ) {
        let (nodes, elements) = (&self.rows.node, &self.rows.element[brick]);
        let owners: [Option<usize>; 8] =
            std::array::from_fn(|d| if d == 0 { Some(brick) } else { above(&self.bricks, brick, d) });
        let (level, uniform) = (Level::detect(), self.uniform.map(T::from_f64));
        if uniform.is_none() {
            let first = self.bricks.element_first[brick] as usize;
            local.e = [[[T::default(); 8]; 8]; 8];
            let e = local.e.as_flattened_mut().as_flattened_mut();
            for_each_slot(&self.bricks.element_mask[8 * brick..8 * brick + 8], &ALL, |slot, rank| {
                e[usize::from(SLOTS.voxel[slot])] = T::from_f64(self.stiffness(first + rank));
            });
        }
        // Nodes of the owners in the planes before, what has been handed on to them, and own numbers so far.
        let mut before = [0; 8];
        let mut handed: [u64; 8] =
            std::array::from_fn(|d| if d == 0 { 0 } else { self.passed_first[7 * brick + d - 1] });
        let mut own = 0;
        // Elements under a plane of nodes, and over it.
        let round = |z: usize| [z.wrapping_sub(1), z].map(|z| elements.get(z).copied().unwrap_or(0));
        for z in 0..10 {
            let [under, over] = round(z);
            if under | over != 0 {
                local.f[z % 2] = [[[T::default(); 24]; 9]; 3];
            }
            for c in 0..if z < 9 { 4 } else { 0 } {
                let Some(owner) = owners[z / 8 * 4 + c] else { continue };
                let (word, before) = (nodes[owner][z % 8], &mut before[z / 8 * 4 + c]);
                if under | over != 0 {
                    let from = &x[3 * (self.bricks.node_first[owner] as usize + *before)..];
                    lay_out(c, word, from, &mut local.u[z % 2]);
                }
                *before += word.count_ones() as usize;
            }
            if under != 0 {
                let [even, odd] = &mut local.f;
                let f = if z % 2 == 1 { [even, odd] } else { [odd, even] };
                let e = (uniform, &local.e[z - 1]);
                let displacements = [&local.u[1 - z % 2], &local.u[z % 2]];
                level.run(Forces { blocks, elements: under, stiffness: e, displacements, forces: f });
            }
            // All elements round the plane before have been computed.
            let Some(done) = z.checked_sub(1) else { continue };
            let empty = round(done) == [0, 0];
            for c in 0..4 {
                let d = done / 8 * 4 + c;
                let Some(owner) = owners[d] else { continue };
                let mask = side(nodes[owner][done % 8], 0, c);
                let n = 3 * mask.count_ones() as usize;
                let to = if d == 0 {
                    own += n;
                    &mut local.y[own - n..own]
                } else {
                    handed[d] += n as u64;
                    // SAFETY: each brick writes what it hands on, before anybody reads it.
                    unsafe { passed.part(handed[d] - n as u64, n) }
                };
                if empty {
                    to.fill(T::default());
                } else {
                    put_together(c, mask, &local.f[done % 2], to);
                }
            }
        }
    }

    /// Adds what the bricks below have handed on, those in the same chunk or those elsewhere.
    fn receive<T: Real>(&self, brick: usize, elsewhere: u64, passed: &Shared<T>, y: &mut [T]) {
        for d in 1..8 {
            let Some(from) = below(&self.bricks, brick, d) else { continue };
            let first = self.passed_first[7 * from + d - 1];
            if first & ELSEWHERE != elsewhere {
                continue;
            }
            let (mut at, mut before) = ((first & !ELSEWHERE) as usize, 0);
            for (z, &word) in self.rows.node[brick].iter().enumerate() {
                let mask = side(word, z, d);
                let n = 3 * mask.count_ones() as usize;
                // SAFETY: written, by this thread or before the chunks were joined; nobody writes it now.
                let from = unsafe { passed.part(at..at + n) };
                if d & 1 == 0 {
                    y[3 * before..3 * before + n].iter_mut().zip(&*from).for_each(|(y, &from)| *y += from);
                } else {
                    let mut left = mask;
                    for from in from.chunks_exact(3) {
                        let rank = (word & (left & left.wrapping_neg()).wrapping_sub(1)).count_ones() as usize;
                        left &= left.wrapping_sub(1);
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

impl<T: Real> Local<T> {
    fn new() -> Self {
        let zero = T::default();
        Self { u: [[[[zero; 16]; 9]; 3]; 2], f: [[[[zero; 24]; 9]; 3]; 2], e: [[[zero; 8]; 8]; 8], y: [zero; 3 * 512] }
    }
}

/// Lays out a plane of the nodes of a brick (c = 0) or of the next one above in x (1), y (2) or both (3): `from` has the values
/// of all its nodes, `word`.
#[inline(always)]
fn lay_out<T: Real>(c: usize, word: u64, from: &[T], to: &mut Lines<T>) {
    if c & 1 == 0 {
        return spread(side(word, 0, c), 4 * c, from, to);
    }
    let mut left = side(word, 0, c);
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        let (line, at) = (if c == 1 { bit / 8 } else { 8 }, 3 * (word & ((1 << bit) - 1)).count_ones() as usize);
        for a in 0..3 {
            to[a][line][8] = from[at + a];
        }
    }
}

/// Puts together the sums on the same nodes, `mask`.
#[inline(always)]
fn put_together<T: Real>(c: usize, mask: u64, from: &Sums<T>, to: &mut [T]) {
    if c & 1 == 0 {
        return collect(mask, 4 * c, from, to);
    }
    let mut left = mask;
    for to in to.chunks_exact_mut(3) {
        let line = if c == 1 { left.trailing_zeros() as usize / 8 } else { 8 };
        left &= left.wrapping_sub(1);
        for a in 0..3 {
            to[a] = from[a][line][23];
        }
    }
}

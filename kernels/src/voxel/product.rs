//! The fine product y = K x, brick by brick.

use pogo_formats::voxel::BricksView;
use rayon::prelude::*;

use super::bricks::{N, N3, SLOTS, above, below, for_each_slot};
use super::first::fine_elements;
use super::lookup::{Grid, Ways};
use super::number::{Eight, Number, Shared, walsh};
use super::split::Elements;
use super::{Cube, Moduli};

const ALL: [u64; 8] = [u64::MAX; 8];

/// The product with the stiffness of a voxel mesh.
///
/// A brick lays its nodes and those of the next bricks above it in a small dense array, computes its elements a row of
/// eight at a time, keeps the sums of its own nodes and hands the others' on. Bricks come in Morton order, in which
/// neighbours below come first: most bricks have all they need at once. A brick whose neighbours are in an earlier *chunk*
/// waits until all chunks are done. Sums are added in one order whatever the chunks: the same bits for every number of
/// threads.
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
    /// First number handed on by each brick to its neighbour above at d = 1 … 7, (n_bricks × 7 + 1,).
    passed_first: Vec<u64>,
    /// First brick of each chunk, and the end.
    chunks: Vec<usize>,
    /// Bricks that wait, ascending, and their first pending number.
    waiting: Vec<(u32, u64)>,
    /// Fixed degrees of freedom, ascending, and the first of each brick.
    fixed: Vec<u32>,
    fixed_first: Vec<u32>,
    /// How nodes are found where not by bricks.
    ways: Ways<'a>,
}

/// Memory for products of either precision, kept between them.
#[derive(Debug, Default)]
pub struct Scratch {
    passed: Vec<f64>,
    pending: Vec<f64>,
    pub(super) sums: Vec<f64>,
    /// Of [`Ways`] other than bricks.
    pub(super) values: [Vec<f64>; 3],
}

/// The first `n` numbers of memory that grows as needed.
pub(super) fn numbers<T: Number>(memory: &mut Vec<f64>, n: usize) -> &mut [T] {
    memory.resize(memory.len().max((n * size_of::<T>()).div_ceil(size_of::<f64>())), 0.0);
    // SAFETY: `Number` is f32 or f64 (nothing outside this crate can add one): no stricter alignment, any bits valid.
    let (_, all, _) = unsafe { memory.align_to_mut::<T>() };
    &mut all[..n]
}

/// What one thread needs.
struct Local<T> {
    u: [Vec<T>; 3],
    /// Forces on the lower and upper nodes (in x) of each row of eight elements.
    lower: [Vec<T>; 3],
    upper: [Vec<T>; 3],
    e: Vec<T>,
    y: Vec<T>,
}

impl<T: Number> Local<T> {
    fn new() -> Self {
        let zeros = |n| vec![T::default(); n];
        Self {
            u: [zeros(N3), zeros(N3), zeros(N3)],
            lower: std::array::from_fn(|_| zeros(8 * N * N)),
            upper: std::array::from_fn(|_| zeros(8 * N * N)),
            e: zeros(512),
            y: zeros(3 * 512),
        }
    }

    /// Force on node `at` (z, y, x) of 9 × 9 × 9.
    #[inline(always)]
    fn force(&self, a: usize, at: usize) -> T {
        let (row, x) = (at / N, at % N);
        let mut sum = T::default();
        if x < 8 {
            sum += self.lower[a][8 * row + x];
        }
        if x > 0 {
            sum += self.upper[a][8 * row + x - 1];
        }
        sum
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
        let ways = Ways::new(&bricks, grid, level);
        if !matches!(ways, Ways::Bricks) {
            let (passed_first, chunks, waiting, fixed_first) = Default::default();
            return Self { bricks, moduli, cube, spacing, passed_first, chunks, waiting, fixed, fixed_first, ways };
        }
        let n = bricks.n_bricks();
        let mut passed_first = Vec::with_capacity(7 * n + 1);
        let mut sum = 0;
        passed_first.push(sum);
        for brick in 0..n {
            for d in 1..8 {
                if let Some(next) = above(&bricks, brick, d) {
                    let mask = &bricks.node_mask[8 * next..8 * next + 8];
                    let shared: u32 = mask.iter().zip(&SLOTS.low[d]).map(|(m, low)| (m & low).count_ones()).sum();
                    sum += 3 * u64::from(shared);
                }
                passed_first.push(sum);
            }
        }
        let size = (n / 32).clamp(64, Self::CHUNK);
        let mut chunks: Vec<usize> = (0..n).step_by(size).collect();
        chunks.push(n);
        let (mut waiting, mut pending) = (Vec::new(), 0);
        for chunk in chunks.windows(2) {
            for brick in chunk[0]..chunk[1] {
                if (1..8).filter_map(|d| below(&bricks, brick, d)).any(|below| below < chunk[0]) {
                    waiting.push((brick as u32, pending));
                    pending += 3 * u64::from(bricks.node_first[brick + 1] - bricks.node_first[brick]);
                }
            }
        }
        waiting.push((n as u32, pending));
        let fixed_first =
            bricks.node_first.iter().map(|&node| fixed.partition_point(|&dof| dof / 3 < node) as u32).collect();
        Self { bricks, moduli, cube, spacing, passed_first, chunks, waiting, fixed, fixed_first, ways }
    }

    /// Nodes of the vectors that it multiplies.
    pub fn n_nodes(&self) -> usize {
        self.ways.n_nodes().unwrap_or(self.bricks.n_nodes())
    }

    /// All elements with their nodes.
    pub(super) fn elements(&self) -> Elements {
        self.ways.elements(fine_elements(&self.bricks))
    }

    /// Numbers that [`apply`](Self::apply) has to put by: those passed on, and those of bricks that wait.
    pub(super) fn needs(&self) -> [usize; 2] {
        [self.passed_first.last().map_or(0, |&n| n as usize), self.waiting.last().map_or(0, |last| last.1 as usize)]
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

    /// y = K x, given brick by brick to `sink(first node, y of its nodes)`; returns the sum of what `sink` returns, in
    /// one order. `sink` is called once for each brick, from several threads.
    pub fn apply<T: Number>(
        &self,
        x: &[T],
        scratch: &mut Scratch,
        sink: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        let [n_passed, n_pending] = self.needs();
        let mut lent = (std::mem::take(&mut scratch.passed), std::mem::take(&mut scratch.pending));
        let passed = numbers::<T>(&mut lent.0, n_passed);
        let pending = numbers::<T>(&mut lent.1, n_pending);
        let sum = self.apply_with(x, [passed, pending], scratch, sink);
        (scratch.passed, scratch.pending) = lent;
        sum
    }

    /// As [`apply`](Self::apply), with memory for what is put by, as long as [`needs`](Self::needs) says.
    pub(super) fn apply_with<T: Number>(
        &self,
        x: &[T],
        [passed, pending]: [&mut [T]; 2],
        scratch: &mut Scratch,
        sink: impl Fn(usize, &mut [T]) -> f64 + Sync,
    ) -> f64 {
        assert_eq!(x.len(), 3 * self.n_nodes());
        let blocks = self.cube.blocks.map(|block| block.map(|row| row.map(T::from_f64)));
        if !matches!(self.ways, Ways::Bricks) {
            return self.ways.apply(x, &blocks, &|e| self.stiffness(e), &self.fixed, scratch, sink);
        }
        let n = self.bricks.n_bricks();
        scratch.sums.clear();
        scratch.sums.resize(n, 0.0);
        let (passed, pending) = (Shared::new(passed), Shared::new(pending));
        let sums = Shared::new(&mut scratch.sums);
        let finish = |brick: usize, y: &mut [T]| {
            self.receive(brick, &passed, y);
            let first = 3 * self.bricks.node_first[brick];
            for dof in &self.fixed[self.fixed_first[brick] as usize..self.fixed_first[brick + 1] as usize] {
                y[(dof - first) as usize] = T::default();
            }
            let sum = sink(self.bricks.node_first[brick] as usize, y);
            // SAFETY: each brick is finished once.
            unsafe { sums.part(brick..brick + 1)[0] = sum };
        };
        self.chunks.par_windows(2).for_each_init(Local::new, |local, chunk| {
            let mut wait = self.waiting.partition_point(|&(brick, _)| (brick as usize) < chunk[0]);
            for brick in chunk[0]..chunk[1] {
                self.compute(brick, x, &blocks, local);
                self.pass_on(brick, local, &passed);
                let n_own = 3 * (self.bricks.node_first[brick + 1] - self.bricks.node_first[brick]) as usize;
                let mut y = std::mem::take(&mut local.y);
                let mut next = 0;
                for_each_slot(&self.bricks.node_mask[8 * brick..8 * brick + 8], &ALL, |slot, _| {
                    let at = usize::from(SLOTS.node[slot]);
                    for a in 0..3 {
                        y[next + a] = local.force(a, at);
                    }
                    next += 3;
                });
                if self.waiting[wait].0 as usize == brick {
                    let first = self.waiting[wait].1 as usize;
                    // SAFETY: each waiting brick has numbers of its own.
                    unsafe { pending.part(first..first + n_own) }.copy_from_slice(&y[..n_own]);
                    wait += 1;
                } else {
                    finish(brick, &mut y[..n_own]);
                }
                local.y = y;
            }
        });
        self.waiting.par_windows(2).for_each(|pair| {
            let range = pair[0].1 as usize..pair[1].1 as usize;
            // SAFETY: each waiting brick has numbers of its own.
            finish(pair[0].0 as usize, unsafe { pending.part(range) });
        });
        scratch.sums.iter().sum()
    }

    /// Forces of a brick's elements on its nodes and those above.
    fn compute<T: Number>(&self, brick: usize, x: &[T], blocks: &[[[T; 3]; 3]; 8], local: &mut Local<T>) {
        let bricks = &self.bricks;
        let slots = &*SLOTS;
        for a in 0..3 {
            local.lower[a].fill(T::default());
            local.upper[a].fill(T::default());
        }
        let element_mask = &bricks.element_mask[8 * brick..8 * brick + 8];
        if element_mask.iter().all(|&word| word == 0) {
            return;
        }
        for d in 0..8 {
            let Some(owner) = (if d == 0 { Some(brick) } else { above(bricks, brick, d) }) else { continue };
            let first = bricks.node_first[owner] as usize;
            let shift = usize::from(slots.shift[d]);
            for_each_slot(&bricks.node_mask[8 * owner..8 * owner + 8], &slots.low[d], |slot, rank| {
                let (at, from) = (usize::from(slots.node[slot]) + shift, 3 * (first + rank));
                local.u[0][at] = x[from];
                local.u[1][at] = x[from + 1];
                local.u[2][at] = x[from + 2];
            });
        }
        local.e.fill(T::default());
        let first = bricks.element_first[brick] as usize;
        let mut rows = 0_u64;
        let e = &mut local.e;
        for_each_slot(element_mask, &ALL, |slot, rank| {
            let at = usize::from(slots.voxel[slot]);
            e[at] = T::from_f64(self.stiffness(first + rank));
            rows |= 1 << (at / 8);
        });
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the machine has both.
            unsafe { rows_avx2(blocks, rows, local) };
            return;
        }
        forces::<T, false>(blocks, rows, local);
    }

    /// Writes the forces on nodes of the next bricks above.
    fn pass_on<T: Number>(&self, brick: usize, local: &Local<T>, passed: &Shared<T>) {
        for d in 1..8 {
            let range = self.passed(brick, d);
            let Some(next) = above(&self.bricks, brick, d).filter(|_| !range.is_empty()) else { continue };
            // SAFETY: each brick writes what it passes on, before anybody reads it.
            let to = unsafe { passed.part(range) };
            let (shift, mut at) = (usize::from(SLOTS.shift[d]), 0);
            for_each_slot(&self.bricks.node_mask[8 * next..8 * next + 8], &SLOTS.low[d], |slot, _| {
                for a in 0..3 {
                    to[at + a] = local.force(a, usize::from(SLOTS.node[slot]) + shift);
                }
                at += 3;
            });
        }
    }

    /// Adds what the bricks below have passed on.
    fn receive<T: Number>(&self, brick: usize, passed: &Shared<T>, y: &mut [T]) {
        let mask = &self.bricks.node_mask[8 * brick..8 * brick + 8];
        for d in 1..8 {
            let Some(from) = below(&self.bricks, brick, d) else { continue };
            // SAFETY: written, by this thread or before the chunks were joined; nobody writes it now.
            let from = unsafe { passed.part(self.passed(from, d)) };
            let mut at = 0;
            for_each_slot(mask, &SLOTS.low[d], |_, rank| {
                for a in 0..3 {
                    y[3 * rank + a] += from[at + a];
                }
                at += 3;
            });
        }
    }

    fn passed(&self, brick: usize, d: usize) -> std::ops::Range<usize> {
        let at = 7 * brick + d - 1;
        self.passed_first[at] as usize..self.passed_first[at + 1] as usize
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn rows_avx2<T: Number>(blocks: &[[[T; 3]; 3]; 8], rows: u64, local: &mut Local<T>) {
    forces::<T, true>(blocks, rows, local);
}

/// Amplitudes of forces from those of displacements, where three, two or one of them meet; see [`Cube`].
///
/// Macros: closures would be compiled without the instructions that the caller allows, and arrays that are passed by value would be
/// taken apart into single numbers.
macro_rules! k {
    ($blocks:ident, $s:expr, $a:expr, $b:expr) => {
        Eight::<T, FMA>::splat($blocks[$s][$a][$b])
    };
}
macro_rules! three {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr) => {
        let (p, q, r) = ($u[0][$s ^ 1], $u[1][$s ^ 2], $u[2][$s ^ 4]);
        $f[0][$s ^ 1] = k!($blocks, $s, 0, 2).fma(r, k!($blocks, $s, 0, 1).fma(q, k!($blocks, $s, 0, 0) * p)) * $e;
        $f[1][$s ^ 2] = k!($blocks, $s, 1, 2).fma(r, k!($blocks, $s, 1, 1).fma(q, k!($blocks, $s, 1, 0) * p)) * $e;
        $f[2][$s ^ 4] = k!($blocks, $s, 2, 2).fma(r, k!($blocks, $s, 2, 1).fma(q, k!($blocks, $s, 2, 0) * p)) * $e;
    };
}
macro_rules! two {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr, $a:expr, $b:expr) => {
        let (p, q) = ($u[$a][$s ^ 1 << $a], $u[$b][$s ^ 1 << $b]);
        $f[$a][$s ^ 1 << $a] = k!($blocks, $s, $a, $b).fma(q, k!($blocks, $s, $a, $a) * p) * $e;
        $f[$b][$s ^ 1 << $b] = k!($blocks, $s, $b, $b).fma(q, k!($blocks, $s, $b, $a) * p) * $e;
    };
}
macro_rules! one {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr, $a:expr) => {
        $f[$a][$s ^ 1 << $a] = k!($blocks, $s, $a, $a) * $u[$a][$s ^ 1 << $a] * $e;
    };
}
macro_rules! amplitudes {
    ($blocks:ident, $u:ident, $e:ident, $f:ident) => {
        three!($blocks, $u, $e, $f, 0);
        three!($blocks, $u, $e, $f, 7);
        two!($blocks, $u, $e, $f, 1, 1, 2);
        two!($blocks, $u, $e, $f, 2, 0, 2);
        two!($blocks, $u, $e, $f, 4, 0, 1);
        two!($blocks, $u, $e, $f, 3, 0, 1);
        one!($blocks, $u, $e, $f, 3, 2);
        two!($blocks, $u, $e, $f, 5, 0, 2);
        one!($blocks, $u, $e, $f, 5, 1);
        two!($blocks, $u, $e, $f, 6, 1, 2);
        one!($blocks, $u, $e, $f, 6, 0);
    };
}

/// f = E h K u of all rows of eight elements that are there; see [`Cube`].
#[inline(always)]
fn forces<T: Number, const FMA: bool>(blocks: &[[[T; 3]; 3]; 8], rows: u64, local: &mut Local<T>) {
    type V<T, const FMA: bool> = Eight<T, FMA>;
    let zero = V::<T, FMA>::splat(T::default());
    let mut left = rows;
    while left != 0 {
        let row = left.trailing_zeros() as usize;
        left &= left - 1;
        let (y, z) = (row % 8, row / 8);
        let e = V::<T, FMA>::load(&local.e[8 * row..]);
        // Rows of nodes at (y, z), (y + 1, z), (y, z + 1), (y + 1, z + 1).
        let lines = [z * N + y, z * N + y + 1, (z + 1) * N + y, (z + 1) * N + y + 1];
        let mut u = [[zero; 8]; 3];
        for a in 0..3 {
            let mut v = [zero; 8];
            for (c, line) in lines.into_iter().enumerate() {
                let from = &local.u[a][N * line..N * line + N];
                v[2 * c] = V::load(from);
                v[2 * c + 1] = V::load(&from[1..]);
            }
            u[a] = walsh(v);
        }
        let mut f = [[zero; 8]; 3];
        amplitudes!(blocks, u, e, f);
        for a in 0..3 {
            let v = walsh(f[a]);
            for (c, line) in lines.into_iter().enumerate() {
                v[2 * c].add_to(&mut local.lower[a][8 * line..8 * line + 8]);
                v[2 * c + 1].add_to(&mut local.upper[a][8 * line..8 * line + 8]);
            }
        }
    }
}

/// Component by component and corner by corner, eight cubes side by side.
pub(super) type Corners<T> = [[[T; 8]; 8]; 3];

/// f = E h K u of eight cubes; see [`Cube`].
pub(super) fn cubes<T: Number>(blocks: &[[[T; 3]; 3]; 8], u: &Corners<T>, e: &[T; 8], f: &mut Corners<T>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the machine has both.
        unsafe { cubes_avx2(blocks, u, e, f) };
        return;
    }
    cubes_by::<T, false>(blocks, u, e, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn cubes_avx2<T: Number>(blocks: &[[[T; 3]; 3]; 8], u: &Corners<T>, e: &[T; 8], f: &mut Corners<T>) {
    cubes_by::<T, true>(blocks, u, e, f);
}

#[inline(always)]
fn cubes_by<T: Number, const FMA: bool>(blocks: &[[[T; 3]; 3]; 8], from: &Corners<T>, e: &[T; 8], to: &mut Corners<T>) {
    let zero = Eight::<T, FMA>::splat(T::default());
    let e = Eight::<T, FMA>::load(e);
    let mut u = [[zero; 8]; 3];
    for a in 0..3 {
        let mut v = [zero; 8];
        for c in 0..8 {
            v[c] = Eight::load(&from[a][c]);
        }
        u[a] = walsh(v);
    }
    let mut f = [[zero; 8]; 3];
    amplitudes!(blocks, u, e, f);
    for a in 0..3 {
        let v = walsh(f[a]);
        for c in 0..8 {
            to[a][c].copy_from_slice(&v[c].0);
        }
    }
}

//! The preconditioner: one cycle over the split levels.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::Cube;
use super::blocks::{Blocks, Packed};
use super::factor::{Factor, Order};
use super::first::{First, Stiffness};
use super::half::Half;
use super::number::Shared;
use super::split::{Batches, Elements, PLACES, Transfer, coarsen};
use crate::simd::Real;

/// How levels call each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CycleKind {
    /// Each level once.
    V,
    /// Each coarse level twice for once of the level above, one cycle after the other.
    W,
    /// Each coarse level by an F-cycle, then by a V-cycle.
    F,
    /// Coarse levels are solved by a few steps of flexible conjugate gradients with the cycle as preconditioner.
    #[default]
    K,
}

/// How the preconditioner works.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleSettings {
    /// Smoothing steps, before and after, on the finest level and on the others.
    pub degree: [usize; 2],
    /// Where it is given, the smoother is Chebyshev's on [λ / ratio, λ]; else that of the fourth kind.
    pub ratio: Option<f64>,
    /// Cells are split into the pieces that do not touch; else a coarse level is a regular grid.
    pub split: bool,
    /// The cycle.
    pub kind: CycleKind,
    /// Levels are added until one has no more degrees of freedom than this; that one is factorised. On the CPU, so is one whose
    /// factor has no more numbers than that of so many degrees of freedom could have: a network of struts has a sparse one.
    pub bottom: usize,
    /// Steps of conjugate gradients with the diagonal on the last level, instead of a factorisation. Where the last level cannot be
    /// factorised and nothing is said, there are 20: they need no bound on the spectrum.
    pub bottom_steps: Option<usize>,
    /// Largest number of levels, the finest counted.
    pub levels: usize,
    /// Of a K-cycle: steps of conjugate gradients in which level 1, 2, … are solved; the last counts for all further ones.
    pub inner: Vec<usize>,
    /// Conjugate gradients on a coarse level end at this relative residual.
    pub inner_tolerance: f64,
}

impl Default for CycleSettings {
    fn default() -> Self {
        Self {
            degree: [2, 2],
            ratio: None,
            split: true,
            kind: CycleKind::K,
            bottom: 600,
            bottom_steps: None,
            levels: 20,
            inner: vec![2, 3, 2],
            inner_tolerance: 0.1,
        }
    }
}

/// Degrees of freedom that are factorised at most.
pub(super) const FACTORISED: usize = 4000;
/// Levels of more blocks are kept in 16 bits a number.
const LARGE: usize = 10_000;
/// Steps on a last level that is not factorised.
const BOTTOM_STEPS: usize = 20;

/// The matrix of a coarse level.
#[derive(Debug)]
pub(super) enum Operator<T = f32> {
    First(Box<First<T>>),
    Assembled(Packed<T>),
    Half(Half),
}

/// Who works with the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// This process: in 16 bits a number where they do, in memory that is free then.
    Cpu {
        /// Numbers that are lent during corrections, piece by piece.
        lent: [usize; 3],
    },
    /// A device, which has a form of its own for everything and multiplies with the inverse of the last level.
    Device,
}

/// A coarse level.
#[derive(Debug)]
pub(super) struct Level<T = f32> {
    pub operator: Operator<T>,
    /// Eight nodes of each element: what values of the finer level are made of.
    pub nodes: Vec<[u32; 8]>,
    /// From the finer level.
    pub transfer: Transfer,
    batches: Batches,
    /// 1 / diagonal, 0 where there is no stiffness.
    pub inverse: Vec<T>,
    /// Largest eigenvalue of D⁻¹ A.
    pub lambda: f64,
    /// Non-zero blocks over those of the finest level.
    pub cost: f64,
    pub n: usize,
    /// Right side; conjugate gradients make it their residual.
    b: Vector<T>,
    /// Solution.
    x: Vector<T>,
    /// Of one cycle: what it comes to, that of the smoothing step before, a product.
    z: Vector<T>,
    e: Vector<T>,
    t: Vector<T>,
    /// Of smoothers with weights and more than two steps: Σ (w − 1) d.
    c: Vector<T>,
    /// Of conjugate gradients: direction and its product.
    p: Vector<T>,
    q: Vector<T>,
}

/// A level's numbers, in memory of its own or in what it is lent.
#[derive(Debug)]
struct Vector<T> {
    own: Vec<T>,
    at: *mut T,
    n: usize,
    /// The piece of memory that it is lent.
    lent: Option<usize>,
}

// SAFETY: it owns its numbers, or has borrowed them for itself alone (`Level::lend`).
unsafe impl<T: Send> Send for Vector<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Vector<T> {}

impl<T> Default for Vector<T> {
    fn default() -> Self {
        Self { own: Vec::new(), at: std::ptr::NonNull::dangling().as_ptr(), n: 0, lent: None }
    }
}

impl<T: Real> Vector<T> {
    fn resize(&mut self, n: usize) {
        self.own.resize(n, T::default());
        (self.at, self.n) = (self.own.as_mut_ptr(), n);
    }
}

impl<T> std::ops::Deref for Vector<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `n` numbers of its own, or of memory that stays lent until `n` is 0.
        unsafe { std::slice::from_raw_parts(self.at, self.n) }
    }
}

impl<T> std::ops::DerefMut for Vector<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.n) }
    }
}

/// All coarse levels.
#[derive(Debug)]
pub(super) struct Coarse<T = f32> {
    pub levels: Vec<Level<T>>,
    /// Cholesky's factor of the last level.
    pub bottom: Option<Factor>,
    pub settings: CycleSettings,
    smoother: Smoother,
    /// Work so far, in products of the finest level.
    pub products: f64,
}

/// Of [`Level::vectors`].
const B: usize = 7;
const CHUNK: usize = 1 << 14;

/// Σ a b, in one order.
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let part = |(a, b): (&[T], &[T])| {
        let mut sums = [0.0_f64; 8];
        for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
            for i in 0..8 {
                sums[i] += a[i].to_f64() * b[i].to_f64();
            }
        }
        let tail = a.len() / 8 * 8;
        let rest: f64 = a[tail..].iter().zip(&b[tail..]).map(|(&a, &b)| a.to_f64() * b.to_f64()).sum();
        sums.iter().sum::<f64>() + rest
    };
    if a.len() <= CHUNK {
        return part((a, b));
    }
    let sums: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(part).collect();
    sums.iter().sum()
}

/// Calls `act(first index, part)` for parts of `y`, in parallel where it pays.
pub(super) fn for_parts<T: Real>(y: &mut [T], act: impl Fn(usize, &mut [T]) + Sync) {
    if y.len() <= 2 * CHUNK {
        act(0, y);
    } else {
        y.par_chunks_mut(CHUNK).enumerate().for_each(|(i, part)| act(i * CHUNK, part));
    }
}

/// y = 0.
pub(super) fn zero<T: Real>(y: &mut [T]) {
    for_parts(y, |_, y| y.fill(T::default()));
}

/// Factors (d, 1/λ D⁻¹ r) of step k = 1, 2, … of Chebyshev smoothing of the fourth kind (Lottes 2023, "Optimal polynomial
/// smoothers for multigrid V-cycles", Algorithm 1).
pub(super) fn factors(k: usize) -> (f32, f32) {
    let k = k as f32;
    ((2.0 * k - 3.0) / (2.0 * k + 1.0), (8.0 * k - 4.0) / (2.0 * k + 1.0))
}

/// Weights of the steps that make the smoother best for a V-cycle (the same paper, Table 1); of longer ones, 1.
pub(super) fn weight(degree: usize, k: usize) -> f32 {
    const WEIGHTS: [&[f32]; 4] = [
        &[1.125],
        &[1.023_872_9, 1.264_089_1],
        &[1.008_425_4, 1.088_678_4, 1.337_531_3],
        &[1.003_913, 1.040_358, 1.148_635, 1.382_688_7],
    ];
    WEIGHTS.get(degree - 1).map_or(1.0, |weights| weights[k - 1])
}

/// A polynomial smoother as steps d ← p d + s D⁻¹ r, x ← x + w d, with s for λ = 1.
#[derive(Debug, Clone)]
pub(super) struct Smoother {
    /// p, s and w of each step.
    pub steps: Vec<[f64; 3]>,
}

impl Smoother {
    pub fn new(degree: usize, ratio: Option<f64>) -> Self {
        let Some(ratio) = ratio else {
            let step = |k| {
                let (p, s) = factors(k);
                [f64::from(p), f64::from(s), f64::from(weight(degree, k))]
            };
            return Self { steps: (1..=degree).map(step).collect() };
        };
        let (theta, delta) = (0.5 + 0.5 / ratio, 0.5 - 0.5 / ratio);
        let sigma = theta / delta;
        let mut rho = 1.0 / sigma;
        let mut steps = vec![[0.0, 1.0 / theta, 1.0]];
        for _ in 1..degree {
            let next = 1.0 / (2.0 * sigma - rho);
            steps.push([next * rho, 2.0 * next / delta, 1.0]);
            rho = next;
        }
        Self { steps }
    }

    /// Whether steps of different weights have to be summed up beside the iterate.
    pub fn sums_up(&self) -> bool {
        self.steps.len() > 2 && self.steps.iter().any(|step| step[2] != 1.0)
    }
}

impl<T: Real> Level<T> {
    fn new(
        operator: Operator<T>,
        elements: &Elements,
        batches: Batches,
        transfer: Transfer,
        diagonal: &[f64],
        cost: f64,
    ) -> Self {
        let most = diagonal.iter().fold(0.0_f64, |most, &d| most.max(d));
        let inverse = |&d: &f64| if d > 1e-7 * most { T::from_f64(1.0 / d) } else { T::default() };
        Self {
            operator,
            nodes: elements.nodes.clone(),
            transfer,
            batches,
            inverse: diagonal.iter().map(inverse).collect(),
            lambda: 1.0,
            cost,
            n: 3 * elements.n_nodes,
            b: Vector::default(),
            x: Vector::default(),
            z: Vector::default(),
            e: Vector::default(),
            t: Vector::default(),
            c: Vector::default(),
            p: Vector::default(),
            q: Vector::default(),
        }
    }

    /// Memory for solving. Of the vectors that nobody needs between two corrections, as many are lent as fit into what is `left` of
    /// the memory; the right side of `first`, the level below the finest, is made of the residual that stands there.
    fn allocate(&mut self, full: bool, first: bool, settings: &CycleSettings, smoother: &Smoother, left: &mut [usize]) {
        let n = self.n;
        let conjugate = full && settings.kind == CycleKind::K;
        let needed = [true, full, full, full, conjugate, conjugate, full && smoother.sums_up(), true];
        for (i, (vector, _)) in self.vectors().into_iter().zip(needed).enumerate().filter(|(_, (_, needed))| *needed) {
            vector.lent = if first && i == B { None } else { left.iter().position(|&left| left >= n) };
            match vector.lent {
                Some(piece) => left[piece] -= n,
                None => vector.resize(n),
            }
        }
    }

    /// Lends memory to the vectors that have none of their own, until it is taken back. What is left of it stays in `memory`.
    fn lend(&mut self, memory: &mut [&mut [T]]) {
        let n = self.n;
        for vector in self.vectors() {
            let Some(piece) = vector.lent else { continue };
            let (first, rest) = std::mem::take(&mut memory[piece]).split_at_mut(n);
            (vector.at, vector.n) = (first.as_mut_ptr(), n);
            memory[piece] = rest;
        }
    }

    /// Takes back what [`lend`](Self::lend) has given.
    fn take_back(&mut self) {
        self.vectors().into_iter().filter(|vector| vector.lent.is_some()).for_each(|vector| vector.n = 0);
    }

    /// All of them; the right side at [`B`].
    fn vectors(&mut self) -> [&mut Vector<T>; 8] {
        let Self { b, x, z, e, t, c, p, q, .. } = self;
        [x, z, e, t, p, q, c, b]
    }

    fn product(
        operator: &Operator<T>,
        nodes: &[[u32; 8]],
        batches: &Batches,
        x: &[T],
        y: &mut [T],
        stiffness: &Stiffness,
    ) {
        match operator {
            Operator::First(first) => first.apply(nodes, x, y, batches, &|e| stiffness(e)),
            Operator::Assembled(blocks) => blocks.apply(x, y),
            Operator::Half(blocks) => blocks.apply(x, y),
        }
    }

    /// b of this level from residuals of the finer one: Pᵀ r.
    fn restrict(&mut self, fine: &[T]) {
        zero(&mut self.b);
        let n = self.b.len();
        let b = Shared::new(&mut self.b);
        let (transfer, nodes) = (&self.transfer, &self.nodes);
        let weights = PLACES.map(|place| T::from_f64(f64::from(place.weight)));
        self.batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let b = unsafe { b.part(0..n) };
            for element in range {
                let mut sums = [[T::default(); 3]; 8];
                for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                    let (place, weight) =
                        (&PLACES[usize::from(transfer.place[i])], weights[usize::from(transfer.place[i])]);
                    let from = &fine[3 * transfer.fine[i] as usize..3 * transfer.fine[i] as usize + 3];
                    for &c in &place.corners[..usize::from(place.n)] {
                        for a in 0..3 {
                            sums[usize::from(c)][a] += weight * from[a];
                        }
                    }
                }
                for (sum, &node) in sums.iter().zip(&nodes[element]) {
                    for a in 0..3 {
                        b[3 * node as usize + a] += sum[a];
                    }
                }
            }
        });
    }

    /// fine += P x.
    fn prolong(&self, fine: &mut [T]) {
        let n = fine.len();
        let fine = Shared::new(fine);
        let (transfer, nodes, x) = (&self.transfer, &self.nodes, &*self.x);
        let weights = PLACES.map(|place| T::from_f64(f64::from(place.weight)));
        let run = |range: std::ops::Range<usize>| {
            // SAFETY: each finer node belongs to one element.
            let fine = unsafe { fine.part(0..n) };
            for element in range {
                for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                    let (place, weight) =
                        (&PLACES[usize::from(transfer.place[i])], weights[usize::from(transfer.place[i])]);
                    let mut sum = [T::default(); 3];
                    for &c in &place.corners[..usize::from(place.n)] {
                        let node = nodes[element][usize::from(c)] as usize;
                        for a in 0..3 {
                            sum[a] += x[3 * node + a];
                        }
                    }
                    for a in 0..3 {
                        fine[3 * transfer.fine[i] as usize + a] += weight * sum[a];
                    }
                }
            }
        };
        const SIZE: usize = 1024;
        (0..nodes.len().div_ceil(SIZE)).into_par_iter().for_each(|i| run(i * SIZE..((i + 1) * SIZE).min(nodes.len())));
    }

    /// t = A z.
    fn multiply(&mut self, stiffness: &Stiffness, products: &mut f64) {
        Self::product(&self.operator, &self.nodes, &self.batches, &self.z, &mut self.t, stiffness);
        *products += self.cost;
    }

    /// Smoothing steps on A z = b, from z, or from 0. Iterate and the one before take turns in z and e.
    fn smooth(&mut self, smoother: &Smoother, zero: bool, stiffness: &Stiffness, products: &mut f64) {
        let degree = smoother.steps.len();
        let sums_up = smoother.sums_up();
        for (k, &[p, s, w]) in (1..).zip(&smoother.steps) {
            let (p, s) = (T::from_f64(p), T::from_f64(s / self.lambda));
            let start = zero && k == 1;
            if !start {
                self.multiply(stiffness, products);
            }
            let (z, t, b, inverse) = (&*self.z, &*self.t, &*self.b, &*self.inverse);
            // Of two steps with weights, the first counts when the second is made.
            let (first, last) = (T::from_f64(smoother.steps[0][2]), T::from_f64(w));
            let only = if degree == 1 { last } else { T::from_f64(1.0) };
            if sums_up {
                let (e, over) = (&*self.e, T::from_f64(w - 1.0));
                for_parts(&mut self.c, |from, c| {
                    for (i, c) in (from..).zip(c) {
                        let step = s * inverse[i] * if start { b[i] } else { b[i] - t[i] };
                        let before = if zero && k == 2 { T::default() } else { e[i] };
                        *c = if k == 1 { over * step } else { *c + over * (p * (z[i] - before) + step) };
                    }
                });
            }
            for_parts(&mut self.e, |from, e| {
                let (n, range) = (e.len(), from..from + e.len());
                let (z, t) = (&z[range.clone()], &t[range.clone()]);
                let (b, inverse) = (&b[range.clone()], &inverse[range]);
                if start {
                    (0..n).for_each(|i| e[i] = only * s * inverse[i] * b[i]);
                    return;
                }
                let step = |i: usize| s * inverse[i] * (b[i] - t[i]);
                if k == 1 {
                    (0..n).for_each(|i| e[i] = z[i] + only * step(i));
                    return;
                }
                // e is the iterate before.
                if zero && k == 2 {
                    e.fill(T::default());
                }
                let next = |i: usize, before: T| p * (z[i] - before) + step(i);
                if degree == 2 {
                    (0..n).for_each(|i| e[i] = e[i] + first * (z[i] - e[i]) + last * next(i, e[i]));
                } else {
                    (0..n).for_each(|i| e[i] = z[i] + next(i, e[i]));
                }
            });
            std::mem::swap(&mut self.z, &mut self.e);
        }
        if sums_up {
            let c = &*self.c;
            for_parts(&mut self.z, |from, z| z.iter_mut().zip(&c[from..]).for_each(|(z, &c)| *z += c));
        }
    }

    /// x = some steps of conjugate gradients with the diagonal on A x = b; b becomes the residual.
    fn jacobi(&mut self, steps: usize, stiffness: &Stiffness, products: &mut f64) {
        let n = self.n;
        [&mut self.z, &mut self.t, &mut self.p].into_iter().for_each(|v| v.resize(n));
        self.x.fill(T::default());
        let mut rho = 0.0;
        for step in 0..steps {
            for i in 0..n {
                self.z[i] = self.inverse[i] * self.b[i];
            }
            let next = dot(&self.z, &self.b);
            if !(next > 0.0) {
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { next / rho });
            rho = next;
            for i in 0..n {
                self.p[i] = self.z[i] + beta * self.p[i];
            }
            Self::product(&self.operator, &self.nodes, &self.batches, &self.p, &mut self.t, stiffness);
            *products += self.cost;
            let curvature = dot(&self.p, &self.t);
            if !(curvature > 0.0) {
                break;
            }
            let alpha = T::from_f64(rho / curvature);
            for i in 0..n {
                self.x[i] += alpha * self.p[i];
                self.b[i] = self.b[i] - alpha * self.t[i];
            }
        }
    }
}

impl<T: Real> Coarse<T> {
    /// All levels under a fine one. `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(
        cube: &Cube,
        fine: Elements,
        fixed: &[u8],
        stiffness: &Stiffness,
        settings: &CycleSettings,
        host: Host,
    ) -> Self {
        let fine_blocks = count_blocks(&fine) as f64;
        let mut out = Self {
            levels: Vec::new(),
            bottom: None,
            settings: settings.clone(),
            smoother: Smoother::new(settings.degree[1], settings.ratio),
            products: 0.0,
        };
        let level = coarsen(&fine, settings.split);
        let mut first = First::new(cube, &fine, &level, fixed);
        let one = stiffness(0);
        first.uniform = (1..fine.code.len()).into_par_iter().all(|e| stiffness(e) == one).then_some(one);
        drop(fine);
        let batches = Batches::new(&level.coarse);
        let diagonal = first.diagonal(&level.coarse.nodes, &batches, &|e| stiffness(e));
        let mut elements = level.coarse;
        first.n_blocks = count_blocks(&elements);
        let cost = first.n_blocks as f64 / fine_blocks;
        let operator = Operator::First(Box::new(first));
        out.levels.push(Level::new(operator, &elements, batches, level.transfer, &diagonal, cost));
        drop((diagonal, level.children, level.child_first));
        let packed = |blocks: Blocks| {
            let half = blocks.n_blocks() > LARGE && blocks.n_rows() <= Half::ROWS && host != Host::Device;
            if half && size_of::<T>() == 4 {
                Operator::Half(Half::new(blocks))
            } else {
                Operator::Assembled(blocks.rounded())
            }
        };
        // Blocks in f64 of the last level: they are rounded when the next one has been made of them.
        let mut assembled: Option<Blocks> = None;
        let mut order = None;
        while 3 * elements.n_nodes > settings.bottom && out.levels.len() + 1 < settings.levels {
            order = match &assembled {
                Some(blocks) if host != Host::Device && settings.bottom_steps.is_none() => {
                    Order::new(blocks, settings.bottom.pow(2) / 18)
                }
                _ => None,
            };
            if order.is_some() {
                break;
            }
            let next = coarsen(&elements, settings.split);
            if next.coarse.n_nodes as f64 > 0.8 * elements.n_nodes as f64 {
                break;
            }
            let blocks = match &assembled {
                Some(blocks) => blocks.coarser(&next.coarse, &next.transfer),
                None => {
                    let Operator::First(first) = &out.levels[0].operator else { unreachable!("level 1 is first") };
                    second(first, &elements, &next, stiffness)
                }
            };
            if let (Some(finer), Some(level)) = (assembled.take(), out.levels.last_mut()) {
                level.operator = packed(finer);
            }
            let diagonal = blocks.diagonal();
            let cost = blocks.n_blocks() as f64 / fine_blocks;
            elements = next.coarse;
            let operator = Operator::Assembled(Packed::default());
            let batches = Batches::new(&elements);
            out.levels.push(Level::new(operator, &elements, batches, next.transfer, &diagonal, cost));
            assembled = Some(blocks);
        }
        if let (Some(blocks), Some(level)) = (assembled, out.levels.last_mut()) {
            if 3 * elements.n_nodes <= FACTORISED && settings.bottom_steps.is_none() {
                order = order.or_else(|| Order::new(&blocks, usize::MAX));
            }
            if let Some(order) = order {
                level.cost = order.n_blocks() as f64 / fine_blocks;
                out.bottom = Some(Factor::new(&blocks, order));
            } else {
                level.operator = packed(blocks);
            }
        }
        let n_levels = out.levels.len();
        let mut left = if let Host::Cpu { lent } = host { lent } else { [0; 3] };
        for (index, level) in out.levels.iter_mut().enumerate() {
            let last = index + 1 == n_levels;
            if !(last && out.bottom.is_some()) {
                level.lambda = largest_eigenvalue(level, stiffness);
            }
            level.allocate(!last, index == 0, settings, &out.smoother, &mut left);
        }
        out
    }

    /// Makes what only devices read.
    pub fn make_matrices(&mut self, stiffness: &Stiffness) {
        if let Operator::First(first) = &mut self.levels[0].operator {
            first.make_matrices(&|e| stiffness(e));
        }
    }

    /// C of [`Cell`](super::first::Cell), row by row.
    pub fn cell(&self) -> &[T] {
        match &self.levels[0].operator {
            Operator::First(first) => first.cell.c.as_flattened(),
            _ => &[],
        }
    }

    /// Whether the last level was factorised.
    pub fn is_factorised(&self) -> bool {
        self.bottom.is_some()
    }

    /// x of the finest level += P (coarse solution for the residual r). The coarse levels work in the memory of r, `further`, and
    /// what [`Host`] has promised.
    pub fn correct(&mut self, r: &mut [T], x: &mut [T], further: [&mut [T]; 2], stiffness: &Stiffness) {
        self.levels[0].restrict(r);
        let [second, third] = further;
        let mut memory = [r, second, third];
        self.levels.iter_mut().for_each(|level| level.lend(&mut memory));
        let mut products = 0.0;
        self.solve(0, self.settings.kind, stiffness, &mut products);
        self.products += products;
        self.levels[0].prolong(x);
        self.levels.iter_mut().for_each(Level::take_back);
    }

    /// x of a level from its b, roughly.
    fn solve(&mut self, level: usize, kind: CycleKind, stiffness: &Stiffness, products: &mut f64) {
        if level + 1 == self.levels.len() {
            let here = &mut self.levels[level];
            if let Some(factor) = &self.bottom {
                *products += here.cost;
                return factor.solve(&here.b, &mut here.x);
            }
            return here.jacobi(self.settings.bottom_steps.unwrap_or(BOTTOM_STEPS), stiffness, products);
        }
        let second = match kind {
            CycleKind::K => return self.conjugate(level, stiffness, products),
            CycleKind::V => None,
            CycleKind::W => Some(CycleKind::W),
            CycleKind::F => Some(CycleKind::V),
        };
        self.cycle(level, kind, stiffness, products);
        let here = &mut self.levels[level];
        let Some(second) = second else {
            std::mem::swap(&mut here.x, &mut here.z);
            return;
        };
        here.multiply(stiffness, products);
        here.x.copy_from_slice(&here.z);
        subtract(&mut here.b, &here.t);
        self.cycle(level, second, stiffness, products);
        let here = &mut self.levels[level];
        let z = &*here.z;
        for_parts(&mut here.x, |first, x| x.iter_mut().zip(&z[first..]).for_each(|(x, &z)| *x += z));
    }

    /// Flexible conjugate gradients on a level: the cycle is not quite the same operator every time.
    fn conjugate(&mut self, level: usize, stiffness: &Stiffness, products: &mut f64) {
        let steps = *self.settings.inner.get(level).or(self.settings.inner.last()).unwrap_or(&1);
        if steps <= 1 {
            self.cycle(level, CycleKind::K, stiffness, products);
            let here = &mut self.levels[level];
            std::mem::swap(&mut here.x, &mut here.z);
            return;
        }
        let start = dot(&self.levels[level].b, &self.levels[level].b);
        let (mut before, mut alpha) = (0.0, 0.0);
        for step in 0..steps {
            self.cycle(level, CycleKind::K, stiffness, products);
            let here = &mut self.levels[level];
            let z = &*here.z;
            let rho = dot(z, &here.b);
            if !(rho > 0.0) {
                if step == 0 {
                    here.x.copy_from_slice(z);
                }
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { -alpha * dot(z, &here.q) / before });
            for_parts(&mut here.p, |first, p| {
                let z = &z[first..first + p.len()];
                for i in 0..p.len() {
                    p[i] = if step == 0 { z[i] } else { z[i] + beta * p[i] };
                }
            });
            Level::product(&here.operator, &here.nodes, &here.batches, &here.p, &mut here.q, stiffness);
            *products += here.cost;
            // p · r = z · r, for r is orthogonal to the direction before.
            let curvature = dot(&here.p, &here.q);
            if !(curvature > 0.0) {
                if step == 0 {
                    here.x.copy_from_slice(z);
                }
                break;
            }
            alpha = rho / curvature;
            before = rho;
            let a = T::from_f64(alpha);
            let (p, q) = (&*here.p, &*here.q);
            for_parts(&mut here.x, |first, x| {
                let p = &p[first..first + x.len()];
                for i in 0..x.len() {
                    x[i] = if step == 0 { a * p[i] } else { x[i] + a * p[i] };
                }
            });
            if step + 1 == steps {
                break;
            }
            for_parts(&mut here.b, |first, r| {
                let q = &q[first..first + r.len()];
                for i in 0..r.len() {
                    r[i] = r[i] - a * q[i];
                }
            });
            if dot(&here.b, &here.b) <= self.settings.inner_tolerance.powi(2) * start {
                break;
            }
        }
    }

    /// z of a level: one cycle on A z = b.
    fn cycle(&mut self, level: usize, kind: CycleKind, stiffness: &Stiffness, products: &mut f64) {
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        let here = &mut upper[level];
        here.smooth(&self.smoother, true, stiffness, products);
        here.multiply(stiffness, products);
        let b = &*here.b;
        for_parts(&mut here.t, |first, t| t.iter_mut().zip(&b[first..]).for_each(|(t, &b)| *t = b - *t));
        lower[0].restrict(&here.t);
        self.solve(level + 1, kind, stiffness, products);
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        let here = &mut upper[level];
        lower[0].prolong(&mut here.z);
        here.smooth(&self.smoother, false, stiffness, products);
    }
}

fn subtract<T: Real>(r: &mut [T], q: &[T]) {
    for_parts(r, |first, r| {
        let q = &q[first..first + r.len()];
        for i in 0..r.len() {
            r[i] = r[i] - q[i];
        }
    });
}

/// The second coarse operator, from the matrices of the first.
fn second<T: Real>(
    first: &First<T>,
    fine: &Elements,
    level: &super::split::Coarsening,
    stiffness: &Stiffness,
) -> Blocks {
    let mut out = Blocks::pattern(&level.coarse);
    let batches = Batches::new(&level.coarse);
    // The share of each of 64 voxels, and of eight that are alike.
    let shares: Vec<[f64; 576]> = (0..72)
        .map(|i| {
            let (mut share, (octant, voxel)) = ([0.0; 576], (i / 9, i % 9));
            for o in (0..8).filter(|&o| voxel == 8 || o == voxel) {
                let a = std::array::from_fn(|i| first.cell.octant[o][i / 24][i % 24]);
                super::first::add_child(octant, &a, &mut share);
            }
            share
        })
        .collect();
    out.add_all(&level.coarse, &batches, |element, sum| {
        sum.fill(0.0);
        let mut add = |share: &[f64; 576], e: f64| sum.iter_mut().zip(share).for_each(|(sum, a)| *sum += e * a);
        let range = level.child_first[element] as usize..level.child_first[element + 1] as usize;
        for &child in &level.children[range] {
            let octant = fine.octant(child as usize);
            match first.plain(child as usize, &|e| stiffness(e)) {
                Some(e) if octant < 8 && e.iter().all(|&other| other == e[0]) => add(&shares[9 * octant + 8], e[0]),
                Some(e) if octant < 8 => {
                    (0..8).filter(|&o| e[o] != 0.0).for_each(|o| add(&shares[9 * octant + o], e[o]));
                }
                _ => {
                    let (mut a, mut share) = ([0.0; 576], [0.0; 576]);
                    first.matrix(child as usize, &|e| stiffness(e), &mut a);
                    super::first::add_child(octant, &a, &mut share);
                    add(&share, 1.0);
                }
            }
        }
    });
    out
}

/// Non-zero 3 × 3 blocks of a level, were it assembled (of two nodes at one place seen from a third, one counts).
fn count_blocks(elements: &Elements) -> usize {
    let seen: Vec<AtomicU32> = (0..elements.n_nodes).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    elements.nodes.par_iter().with_min_len(1 << 12).for_each(|nodes| {
        for (c, &node) in nodes.iter().enumerate() {
            // Corner d is at place 13 + d − c.
            let bits = corners(13 - (c & 1) - 3 * (c >> 1 & 1) - 9 * (c >> 2));
            let seen = &seen[node as usize];
            if seen.load(Relaxed) & bits != bits {
                seen.fetch_or(bits, Relaxed);
            }
        }
    });
    seen.par_iter().map(|seen| seen.load(Relaxed).count_ones() as usize).sum()
}

fn corners(base: usize) -> u32 {
    (0..8).fold(0, |bits, d: usize| bits | 1 << (base + (d & 1) + 3 * (d >> 1 & 1) + 9 * (d >> 2)))
}

/// Power iteration on D⁻¹ A, with a margin.
fn largest_eigenvalue<T: Real>(level: &Level<T>, stiffness: &Stiffness) -> f64 {
    let (mut v, mut y) = (vec![T::default(); level.n], vec![T::default(); level.n]);
    for (i, v) in v.iter_mut().enumerate() {
        let value = ((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5;
        *v = if level.inverse[i] > T::default() { T::from_f64(f64::from(value)) } else { T::default() };
    }
    let mut lambda = 1.0;
    for _ in 0..12 {
        let norm = dot(&v, &v).sqrt();
        if !(norm > 0.0) {
            lambda = 1.0 / 1.1;
            break;
        }
        let scale = T::from_f64(1.0 / norm);
        for_parts(&mut v, |_, v| v.iter_mut().for_each(|v| *v = scale * *v));
        Level::product(&level.operator, &level.nodes, &level.batches, &v, &mut y, stiffness);
        let inverse = &level.inverse;
        for_parts(&mut y, |first, y| y.iter_mut().zip(&inverse[first..]).for_each(|(y, &inverse)| *y = *y * inverse));
        lambda = dot(&y, &y).sqrt();
        std::mem::swap(&mut v, &mut y);
    }
    1.1 * lambda
}

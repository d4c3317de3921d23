//! The preconditioner: one cycle over the split levels.

use rayon::prelude::*;

use super::Cube;
use super::blocks::{Blocks, Packed};
use super::first::{First, Stiffness};
use super::number::Shared;
use super::split::{Batches, Elements, PLACES, Transfer, coarsen};

/// How the preconditioner works.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleSettings {
    /// Smoothing steps, before and after, on the finest level and on the others.
    pub degree: [usize; 2],
    /// Levels are added until one has no more degrees of freedom than this; that one is factorised.
    pub bottom: usize,
    /// Largest number of levels.
    pub levels: usize,
    /// Steps of conjugate gradients in which level 1, 2, … are solved; the last counts for all further ones.
    pub inner: Vec<usize>,
    /// Conjugate gradients on a coarse level end at this relative residual.
    pub inner_tolerance: f64,
}

impl Default for CycleSettings {
    fn default() -> Self {
        Self { degree: [2, 2], bottom: 600, levels: 20, inner: vec![2, 3, 2], inner_tolerance: 0.1 }
    }
}

/// The matrix of a coarse level.
#[derive(Debug)]
pub(super) enum Operator {
    First(Box<First>),
    Assembled(Packed),
}

/// A coarse level.
#[derive(Debug)]
pub(super) struct Level {
    pub operator: Operator,
    /// Eight nodes of each element: what values of the finer level are made of.
    pub nodes: Vec<[u32; 8]>,
    /// From the finer level.
    pub transfer: Transfer,
    batches: Batches,
    /// 1 / diagonal, 0 where there is no stiffness.
    pub inverse: Vec<f32>,
    /// Largest eigenvalue of D⁻¹ A.
    pub lambda: f32,
    /// Non-zero blocks over those of the finest level.
    pub cost: f64,
    pub n: usize,
    b: Vec<f32>,
    x: Vec<f32>,
    r: Vec<f32>,
    d: Vec<f32>,
    q: Vec<f32>,
    start: Vec<f32>,
    /// Of the inner conjugate gradients: residual, direction, its product, solution.
    inner: [Vec<f32>; 4],
}

/// All coarse levels.
#[derive(Debug)]
pub(super) struct Coarse {
    pub levels: Vec<Level>,
    /// Cholesky factor of the last level, row by row, or nothing.
    pub bottom: Vec<f32>,
    pub settings: CycleSettings,
    /// Work so far, in products of the finest level.
    pub products: f64,
}

const CHUNK: usize = 1 << 14;

/// Σ a b, in one order.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let part = |(a, b): (&[f32], &[f32])| {
        let mut sums = [0.0_f64; 8];
        for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
            for i in 0..8 {
                sums[i] += f64::from(a[i]) * f64::from(b[i]);
            }
        }
        let tail = a.len() / 8 * 8;
        let rest: f64 = a[tail..].iter().zip(&b[tail..]).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        sums.iter().sum::<f64>() + rest
    };
    if a.len() <= CHUNK {
        return part((a, b));
    }
    let sums: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(part).collect();
    sums.iter().sum()
}

/// Calls `act(first index, part)` for parts of `y`, in parallel where it pays.
pub(super) fn for_parts(y: &mut [f32], act: impl Fn(usize, &mut [f32]) + Sync) {
    if y.len() <= 2 * CHUNK {
        act(0, y);
    } else {
        y.par_chunks_mut(CHUNK).enumerate().for_each(|(i, part)| act(i * CHUNK, part));
    }
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

impl Level {
    fn new(operator: Operator, elements: &Elements, transfer: Transfer, diagonal: &[f64], cost: f64) -> Self {
        let n = 3 * elements.n_nodes;
        let zeros = || vec![0.0; n];
        let most = diagonal.iter().fold(0.0_f64, |most, &d| most.max(d));
        Self {
            operator,
            nodes: elements.nodes.clone(),
            transfer,
            batches: Batches::new(elements),
            inverse: diagonal.iter().map(|&d| if d > 1e-7 * most { (1.0 / d) as f32 } else { 0.0 }).collect(),
            lambda: 0.0,
            cost,
            n,
            b: zeros(),
            x: zeros(),
            r: zeros(),
            d: zeros(),
            q: zeros(),
            start: zeros(),
            inner: Default::default(),
        }
    }

    fn product(
        operator: &Operator,
        nodes: &[[u32; 8]],
        batches: &Batches,
        x: &[f32],
        y: &mut [f32],
        stiffness: &Stiffness,
    ) {
        match operator {
            Operator::First(first) => first.apply(nodes, x, y, batches, &|e| stiffness(e)),
            Operator::Assembled(blocks) => blocks.apply(x, y),
        }
    }

    /// b of this level from residuals of the finer one: Pᵀ r.
    fn restrict(&mut self, fine: &[f32]) {
        self.b.fill(0.0);
        let n = self.b.len();
        let b = Shared::new(&mut self.b);
        let (transfer, nodes) = (&self.transfer, &self.nodes);
        self.batches.for_each(|range| {
            // SAFETY: batches that run at the same time share no node; within one there is one thread.
            let b = unsafe { b.part(0..n) };
            for element in range {
                let mut sums = [[0.0_f32; 3]; 8];
                for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                    let place = &PLACES[usize::from(transfer.place[i])];
                    let from = &fine[3 * transfer.fine[i] as usize..3 * transfer.fine[i] as usize + 3];
                    for &c in &place.corners[..usize::from(place.n)] {
                        for a in 0..3 {
                            sums[usize::from(c)][a] += place.weight * from[a];
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
    fn prolong(&self, fine: &mut [f32]) {
        let n = fine.len();
        let fine = Shared::new(fine);
        let (transfer, nodes, x) = (&self.transfer, &self.nodes, &self.x);
        let run = |range: std::ops::Range<usize>| {
            // SAFETY: each finer node belongs to one element.
            let fine = unsafe { fine.part(0..n) };
            for element in range {
                for i in transfer.first[element] as usize..transfer.first[element + 1] as usize {
                    let place = &PLACES[usize::from(transfer.place[i])];
                    let mut sum = [0.0_f32; 3];
                    for &c in &place.corners[..usize::from(place.n)] {
                        let node = nodes[element][usize::from(c)] as usize;
                        for a in 0..3 {
                            sum[a] += x[3 * node + a];
                        }
                    }
                    for a in 0..3 {
                        fine[3 * transfer.fine[i] as usize + a] += place.weight * sum[a];
                    }
                }
            }
        };
        const SIZE: usize = 1024;
        (0..nodes.len().div_ceil(SIZE)).into_par_iter().for_each(|i| run(i * SIZE..((i + 1) * SIZE).min(nodes.len())));
    }

    /// `degree` smoothing steps on A x = b, from x = 0 with r = b or from a given x and its r; x += …, and r follows
    /// unless `last`: then it is left one step behind.
    fn smooth(&mut self, degree: usize, last: bool, stiffness: &Stiffness, products: &mut f64) {
        for k in 1..=degree {
            let (p, s) = factors(k);
            let s = s / self.lambda;
            let (r, inverse) = (&self.r, &self.inverse);
            for_parts(&mut self.d, |first, d| {
                let (r, inverse) = (&r[first..first + d.len()], &inverse[first..first + d.len()]);
                for i in 0..d.len() {
                    d[i] = if k == 1 { 0.0 } else { p * d[i] } + s * inverse[i] * r[i];
                }
            });
            let (d, weight) = (&self.d, weight(degree, k));
            for_parts(&mut self.x, |first, x| {
                let d = &d[first..first + x.len()];
                for i in 0..x.len() {
                    x[i] += weight * d[i];
                }
            });
            if k < degree {
                Self::product(&self.operator, &self.nodes, &self.batches, &self.d, &mut self.q, stiffness);
                *products += self.cost;
                subtract(&mut self.r, &self.q);
            } else if !last {
                Self::product(&self.operator, &self.nodes, &self.batches, &self.x, &mut self.q, stiffness);
                *products += self.cost;
                let b = &self.start;
                let q = &self.q;
                for_parts(&mut self.r, |first, r| {
                    for i in 0..r.len() {
                        r[i] = b[first + i] - q[first + i];
                    }
                });
            }
        }
    }
}

fn subtract(r: &mut [f32], q: &[f32]) {
    for_parts(r, |first, r| {
        let q = &q[first..first + r.len()];
        for i in 0..r.len() {
            r[i] -= q[i];
        }
    });
}

impl Coarse {
    /// All levels under a fine one. `fixed` has a bit for each fixed direction of each fine node.
    pub fn new(cube: &Cube, fine: Elements, fixed: &[u8], stiffness: &Stiffness, settings: &CycleSettings) -> Self {
        let fine_blocks = count_blocks(&fine) as f64;
        let mut out = Self { levels: Vec::new(), bottom: Vec::new(), settings: settings.clone(), products: 0.0 };
        let level = coarsen(&fine);
        let mut first = First::new(cube, &fine, &level, fixed, stiffness);
        drop(fine);
        let diagonal = first.diagonal(&level.coarse.nodes, &|e| stiffness(e));
        let mut elements = level.coarse.clone();
        first.n_blocks = count_blocks(&elements);
        let cost = first.n_blocks as f64 / fine_blocks;
        out.levels.push(Level::new(Operator::First(Box::new(first)), &elements, level.transfer, &diagonal, cost));
        let mut assembled: Option<Blocks> = None;
        while 3 * elements.n_nodes > settings.bottom && out.levels.len() + 1 < settings.levels {
            let next = coarsen(&elements);
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
            let diagonal = blocks.diagonal();
            let cost = blocks.column.len() as f64 / fine_blocks;
            elements = next.coarse;
            out.levels.push(Level::new(
                Operator::Assembled(blocks.single()),
                &elements,
                next.transfer,
                &diagonal,
                cost,
            ));
            assembled = Some(blocks);
        }
        for level in &mut out.levels {
            level.lambda = largest_eigenvalue(level, stiffness) as f32;
        }
        if let Some(blocks) = assembled
            && 3 * elements.n_nodes <= 4000
        {
            out.bottom = factorise(&blocks);
        }
        out
    }

    /// C of [`Cell`](super::first::Cell), row by row.
    pub fn cell(&self) -> &[f32] {
        match &self.levels[0].operator {
            Operator::First(first) => first.cell.c.as_flattened(),
            Operator::Assembled(_) => &[],
        }
    }

    /// x of the finest level += P (coarse solution for the residual r).
    pub fn correct(&mut self, r: &[f32], x: &mut [f32], stiffness: &Stiffness) {
        self.levels[0].restrict(r);
        let mut products = 0.0;
        self.solve(0, stiffness, &mut products);
        self.products += products;
        self.levels[0].prolong(x);
    }

    /// Solves A x = b of a level, roughly.
    fn solve(&mut self, level: usize, stiffness: &Stiffness, products: &mut f64) {
        let steps = *self.settings.inner.get(level).or(self.settings.inner.last()).unwrap_or(&1);
        let last = level + 1 == self.levels.len();
        if steps <= 1 || (last && !self.bottom.is_empty()) {
            let here = &mut self.levels[level];
            here.r.copy_from_slice(&here.b);
            self.cycle(level, stiffness, products);
            return;
        }
        // Flexible conjugate gradients: the cycle is not quite the same operator every time.
        let here = &mut self.levels[level];
        let cost = here.cost;
        let [mut residual, mut p, mut q, mut solution] = std::mem::take(&mut here.inner);
        for v in [&mut residual, &mut p, &mut q, &mut solution] {
            v.resize(here.n, 0.0);
        }
        solution.fill(0.0);
        residual.copy_from_slice(&here.b);
        let start = dot(&residual, &residual);
        let (mut before, mut alpha) = (0.0, 0.0);
        for step in 0..steps {
            self.levels[level].r.copy_from_slice(&residual);
            self.cycle(level, stiffness, products);
            let here = &mut self.levels[level];
            let z = &here.x;
            let rho = dot(z, &residual);
            if !(rho > 0.0) {
                if step == 0 {
                    solution.copy_from_slice(z);
                }
                break;
            }
            let beta = if step == 0 { 0.0 } else { -alpha * dot(z, &q) / before } as f32;
            for_parts(&mut p, |first, p| {
                let z = &z[first..first + p.len()];
                for i in 0..p.len() {
                    p[i] = if step == 0 { z[i] } else { z[i] + beta * p[i] };
                }
            });
            Level::product(&here.operator, &here.nodes, &here.batches, &p, &mut q, stiffness);
            *products += cost;
            // p · r = z · r, for r is orthogonal to the direction before.
            let curvature = dot(&p, &q);
            if !(curvature > 0.0) {
                break;
            }
            alpha = rho / curvature;
            before = rho;
            let a = alpha as f32;
            for_parts(&mut solution, |first, x| {
                let p = &p[first..first + x.len()];
                for i in 0..x.len() {
                    x[i] += a * p[i];
                }
            });
            for_parts(&mut residual, |first, r| {
                let q = &q[first..first + r.len()];
                for i in 0..r.len() {
                    r[i] -= a * q[i];
                }
            });
            if dot(&residual, &residual) <= self.settings.inner_tolerance.powi(2) * start {
                break;
            }
        }
        let here = &mut self.levels[level];
        here.x.copy_from_slice(&solution);
        here.inner = [residual, p, q, solution];
    }

    /// One cycle on A x = r from x = 0.
    fn cycle(&mut self, level: usize, stiffness: &Stiffness, products: &mut f64) {
        let last = level + 1 == self.levels.len();
        let degree = self.settings.degree[1];
        let here = &mut self.levels[level];
        if last && !self.bottom.is_empty() {
            substitute(&self.bottom, &here.r, &mut here.x);
            return;
        }
        here.x.fill(0.0);
        here.start.copy_from_slice(&here.r);
        here.smooth(degree, false, stiffness, products);
        if last {
            here.smooth(20, true, stiffness, products);
            return;
        }
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        lower[0].restrict(&upper[level].r);
        self.solve(level + 1, stiffness, products);
        let (upper, lower) = self.levels.split_at_mut(level + 1);
        let here = &mut upper[level];
        // The correction's part of the residual: one product of the correction alone.
        here.d.fill(0.0);
        lower[0].prolong(&mut here.d);
        let d = &here.d;
        for_parts(&mut here.x, |first, x| x.iter_mut().zip(&d[first..]).for_each(|(x, d)| *x += d));
        Level::product(&here.operator, &here.nodes, &here.batches, &here.d, &mut here.q, stiffness);
        *products += here.cost;
        subtract(&mut here.r, &here.q);
        here.smooth(degree, true, stiffness, products);
    }
}

/// The second coarse operator, from the matrices of the first.
fn second(first: &First, fine: &Elements, level: &super::split::Coarsening, stiffness: &Stiffness) -> Blocks {
    let mut out = Blocks::pattern(&level.coarse);
    const SIZE: usize = 512;
    let n = level.coarse.nodes.len();
    for start in (0..n).step_by(SIZE) {
        let matrices: Vec<[f64; 576]> = (start..(start + SIZE).min(n))
            .into_par_iter()
            .map(|element| {
                let mut sum = [0.0; 576];
                let mut a = [0.0; 576];
                let range = level.child_first[element] as usize..level.child_first[element + 1] as usize;
                for &child in &level.children[range] {
                    first.matrix(child as usize, &|e| stiffness(e), &mut a);
                    super::first::add_child((fine.code[child as usize] & 7) as usize, &a, &mut sum);
                }
                sum
            })
            .collect();
        for (i, matrix) in matrices.iter().enumerate() {
            out.add(&level.coarse.nodes[start + i], matrix);
        }
    }
    out
}

/// Non-zero 3 × 3 blocks of a level, were it assembled (of two nodes at one place seen from a third, one counts).
fn count_blocks(elements: &Elements) -> usize {
    let mut seen = vec![0_u32; elements.n_nodes];
    for nodes in &elements.nodes {
        for (c, &node) in nodes.iter().enumerate() {
            // Corner d is at place 13 + d − c.
            let base = 13 - (c & 1) - 3 * (c >> 1 & 1) - 9 * (c >> 2);
            seen[node as usize] |= corners(base);
        }
    }
    seen.iter().map(|seen| seen.count_ones() as usize).sum()
}

fn corners(base: usize) -> u32 {
    (0..8).fold(0, |bits, d: usize| bits | 1 << (base + (d & 1) + 3 * (d >> 1 & 1) + 9 * (d >> 2)))
}

/// Power iteration on D⁻¹ A, with a margin.
fn largest_eigenvalue(level: &mut Level, stiffness: &Stiffness) -> f64 {
    let (mut v, mut y) = (vec![0.0_f32; level.n], vec![0.0_f32; level.n]);
    for (i, v) in v.iter_mut().enumerate() {
        *v = (((i as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5)
            * if level.inverse[i] > 0.0 { 1.0 } else { 0.0 };
    }
    let mut lambda = 1.0;
    for _ in 0..12 {
        let norm = dot(&v, &v).sqrt() as f32;
        if !(norm > 0.0) {
            return 1.0;
        }
        v.iter_mut().for_each(|v| *v /= norm);
        Level::product(&level.operator, &level.nodes, &level.batches, &v, &mut y, stiffness);
        for (y, &inverse) in y.iter_mut().zip(&level.inverse) {
            *y *= inverse;
        }
        lambda = dot(&y, &y).sqrt();
        std::mem::swap(&mut v, &mut y);
    }
    1.1 * lambda
}

/// Dense Cholesky factor, row-major lower triangle in a square; rows without stiffness are left out.
fn factorise(blocks: &Blocks) -> Vec<f32> {
    let n = 3 * blocks.n_rows();
    let mut a = vec![0.0_f64; n * n];
    for row in 0..blocks.n_rows() {
        for at in blocks.first[row] as usize..blocks.first[row + 1] as usize {
            let column = blocks.column[at] as usize;
            for i in 0..9 {
                a[(3 * row + i / 3) * n + 3 * column + i % 3] = blocks.value[at][i];
            }
        }
    }
    let most = (0..n).fold(0.0_f64, |most, i| most.max(a[i * n + i]));
    for i in 0..n {
        let (before, rest) = a.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let other = &before[j * n..j * n + j + 1];
            let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = if other[j] > 0.0 { (row[j] - sum) / other[j] } else { 0.0 };
        }
        let sum: f64 = row[..i].iter().map(|a| a * a).sum();
        let pivot = row[i] - sum;
        row[i] = if pivot > 1e-9 * most { pivot.sqrt() } else { 0.0 };
        if row[i] == 0.0 {
            row[..i].fill(0.0);
        }
    }
    a.iter().map(|&a| a as f32).collect()
}

fn substitute(l: &[f32], b: &[f32], x: &mut [f32]) {
    let n = b.len();
    for i in 0..n {
        let row = &l[i * n..i * n + i + 1];
        let sum: f32 = row[..i].iter().zip(&*x).map(|(a, x)| a * x).sum();
        x[i] = if row[i] > 0.0 { (b[i] - sum) / row[i] } else { 0.0 };
    }
    for i in (0..n).rev() {
        let row = &l[i * n..i * n + i + 1];
        x[i] = if row[i] > 0.0 { x[i] / row[i] } else { 0.0 };
        let xi = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, a)| *x -= a * xi);
    }
}

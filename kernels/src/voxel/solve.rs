//! Conjugate gradients with multigrid: single precision for directions, double for the answer.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use super::fine::Fine;
use super::lookup::Grid;
use super::multigrid::{Coarse, CycleSettings, FACTORISED, Host, Smoother, dot, for_parts};
use super::number::{Shared, from_half, to_half};
use super::problem::{Stopping, stopping};
use super::{Cube, FixedDof, NodalForce, Product, StaticProblem};
use crate::simd::Real;

/// How to solve.
#[derive(Debug, Clone, PartialEq)]
pub struct SolverSettings {
    /// ‖r‖ / ‖r₀‖ at which to stop, in the Euclidean norm of the true residual r = f − K u over the free degrees of
    /// freedom, computed in f64; r₀ is that of the prescribed displacements with 0 elsewhere.
    pub tolerance: f64,
    /// r₀ is that of the start vector instead, where there is one.
    pub from_start: bool,
    /// Directions and preconditioner in f64 too.
    pub double: bool,
    /// Most iterations.
    pub iterations: usize,
    /// The preconditioner.
    pub cycle: CycleSettings,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { tolerance: 1e-6, from_start: false, double: false, iterations: 1000, cycle: CycleSettings::default() }
    }
}

/// What came of a solve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solution {
    /// Displacements, (n_nodes, 3).
    pub displacement: Vec<f64>,
    /// Iterations.
    pub iterations: usize,
    /// True relative residual at the end, f64.
    pub relative_residual: f64,
    /// Whether it is no larger than the tolerance.
    pub converged: bool,
    /// ‖r‖ / ‖r₀‖ after each iteration, as the iteration itself follows it in f32.
    pub history: Vec<f64>,
    /// Work in products of the finest level: everything, coarse levels and f64 products too, each by its number of
    /// non-zero blocks.
    pub products: f64,
    /// Iterating, s.
    pub seconds: f64,
}

/// A voxel mesh with its preconditioner, for one or several load cases that fix the same degrees of freedom.
pub struct StaticSolver<'a> {
    work: Work<'a>,
    settings: SolverSettings,
    /// Setting up, s.
    pub setup_seconds: f64,
}

/// All levels, in either precision.
enum Work<'a> {
    Single(Levels<'a, f32>),
    Double(Levels<'a, f64>),
}

struct Levels<'a, T> {
    fine: Fine<'a, T>,
    coarse: Coarse<T>,
    /// Numbers of the problem's fixed degrees of freedom in vectors.
    fixed: Vec<u32>,
    /// See [`StaticProblem::rounding`].
    rounding: f64,
}

impl<'a> StaticSolver<'a> {
    /// Sets up the preconditioner. Of the problem's fixed degrees of freedom only which they are counts here.
    pub fn new(problem: &StaticProblem<'a>, settings: &SolverSettings) -> Self {
        Self::on(problem, Grid::Bricks, settings)
    }

    /// As [`new`](Self::new), with the nodes of elements found as `grid` says. Of joined nodes, degrees of freedom, forces
    /// and displacements have the numbers that they have joined.
    pub fn on(problem: &StaticProblem<'a>, grid: Grid<'a>, settings: &SolverSettings) -> Self {
        let start = Instant::now();
        let work = if settings.double {
            Work::Double(Levels::new(problem, grid, &settings.cycle))
        } else {
            Work::Single(Levels::new(problem, grid, &settings.cycle))
        };
        Self { work, settings: settings.clone(), setup_seconds: start.elapsed().as_secs_f64() }
    }

    /// Degrees of freedom of the coarse levels, and their work in products of the finest level.
    pub fn levels(&self) -> Vec<(usize, f64)> {
        match &self.work {
            Work::Single(levels) => levels.coarse.levels.iter().map(|level| (level.n, level.cost)).collect(),
            Work::Double(levels) => levels.coarse.levels.iter().map(|level| (level.n, level.cost)).collect(),
        }
    }

    /// Why the last level was not factorised, where it was not.
    pub fn not_factorised(&self) -> Option<String> {
        let (factorised, single) = match &self.work {
            Work::Single(levels) => (levels.coarse.is_factorised(), levels.coarse.levels.len() == 1),
            Work::Double(levels) => (levels.coarse.is_factorised(), levels.coarse.levels.len() == 1),
        };
        let n = self.levels().last().map_or(0, |level| level.0);
        match (factorised, single) {
            (true, _) => None,
            (false, true) => Some(
                "the only coarse level is never assembled (a small model needs no other; leave the key out)".into(),
            ),
            (false, false) => {
                Some(format!("the last level has {n} degrees of freedom, at most {FACTORISED} are factorised"))
            }
        }
    }

    /// Solves one load case from `start`, or from 0. `fixed` has the same degrees of freedom as the problem that this was
    /// made for. `progress(iteration, ‖r‖ / ‖r₀‖)` may break off.
    pub fn solve(
        &mut self,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Solution {
        match &mut self.work {
            Work::Single(levels) => levels.solve(&self.settings, fixed, forces, start, progress),
            Work::Double(levels) => levels.solve(&self.settings, fixed, forces, start, progress),
        }
    }
}

impl<'a, T: Real> Levels<'a, T> {
    fn new(problem: &StaticProblem<'a>, grid: Grid<'a>, settings: &CycleSettings) -> Self {
        let cube = Cube::new(problem.poisson);
        let dofs = problem.fixed.iter().map(|dof| 3 * dof.node + u32::from(dof.direction)).collect();
        let edge = (cube.clone(), problem.spacing);
        let product = Product::on(problem.bricks, grid, 0, problem.moduli, edge, dofs);
        let n_nodes = product.n_nodes();
        let fixed: Vec<u32> = problem.fixed.iter().map(|dof| product.place(dof.node, dof.direction)).collect();
        let mut mask = vec![0_u8; n_nodes];
        fixed.iter().for_each(|dof| mask[*dof as usize / 3] |= 1 << (dof % 3));
        let elements = product.arranged_elements();
        // The diagonal: one entry of the cube's for each element that has the node.
        let inverse = product.node_sums(|sum| to_half(T::from_f64(1.0 / (sum * cube.diagonal))));
        let [n_passed, n_pending] = product.needs();
        let host = Host::Cpu { lent: [3 * n_nodes, n_pending, n_passed] };
        let coarse = Coarse::new(&cube, elements, &mask, &|e| product.stiffness(e), settings, host);
        let smoother = Smoother::new(settings.degree[0], settings.ratio);
        let fine = Fine::new(product, inverse, element_bound(&cube), smoother);
        Self { fine, coarse, fixed, rounding: problem.rounding() }
    }

    fn solve(
        &mut self,
        settings: &SolverSettings,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Solution {
        let clock = Instant::now();
        let n = 3 * self.fine.product.n_nodes();
        let mut x = vec![0.0_f64; n];
        let zeros = || vec![T::default(); n];
        let (mut r, mut p) = (zeros(), zeros());
        // K p, of which only z · q is asked once p has been used: a few bits a number are enough.
        let mut q = vec![0_u16; n];
        let prescribe = |x: &mut [f64]| {
            self.fixed.iter().zip(fixed).for_each(|(&dof, fixed)| x[dof as usize] = fixed.value);
        };
        let place = |force: &NodalForce| (self.fine.product.place(force.node, force.direction), force.value);
        let mut forces: Vec<(u32, f64)> = forces.iter().map(place).collect();
        forces.sort_unstable_by_key(|force| force.0);
        forces.retain(|force| self.fine.product.arranged_fixed().binary_search(&force.0).is_err());
        let mut products = 0.0;
        prescribe(&mut x);
        let mut norm0 = true_residual(&mut self.fine, &forces, &x, &mut r);
        products += 1.0;
        let mut norm = norm0;
        if let Some(start) = start {
            x.copy_from_slice(start);
            self.fine.product.arrange(&mut x, false);
            prescribe(&mut x);
            norm = true_residual(&mut self.fine, &forces, &x, &mut r);
            products += 1.0;
            if settings.from_start {
                norm0 = norm;
            }
        }
        self.fine.products = 0.0;
        self.coarse.products = 0.0;
        let mut solution = Solution::default();
        let Stopping { limit, unit } = stopping(norm0, settings.tolerance, self.rounding, fixed);
        let (mut checked, mut curvature) = (norm, 0.0);
        while !(norm <= limit) && solution.iterations < settings.iterations {
            self.fine.precondition(&mut self.coarse, &r);
            let z = &self.fine.z;
            // Flexible: the new direction is conjugate to the one before, whatever the preconditioner does.
            let beta = T::from_f64(if curvature == 0.0 { 0.0 } else { -dot_half(z, &q) / curvature });
            for_parts(&mut p, |first, p| {
                for (p, &z) in p.iter_mut().zip(&z[first..]) {
                    *p = z + beta * *p;
                }
            });
            let mut product = std::mem::take(&mut self.fine.e);
            let out = Shared::new(&mut product);
            // Not z · r, which is the same only as long as r is orthogonal to the direction before: what rounding has left may not be.
            let along = dot(&p, &r);
            curvature = self.fine.apply(&p, |first, y| {
                // SAFETY: each brick has its own nodes.
                unsafe { out.part(3 * first..3 * first + y.len()) }.copy_from_slice(y);
                p[3 * first..].iter().zip(&*y).map(|(&p, &y)| p.to_f64() * y.to_f64()).sum()
            });
            self.fine.e = product;
            let alpha = along / curvature;
            if !alpha.is_finite() {
                break;
            }
            norm = update(alpha, &p, &self.fine.e, &mut q, &mut x, &mut r);
            solution.iterations += 1;
            // From time to time the residual of the iteration gives way to the true one.
            if norm <= limit || norm < 1e-3 * checked {
                norm = true_residual(&mut self.fine, &forces, &x, &mut r);
                products += 1.0;
                checked = norm;
            }
            solution.history.push(norm / unit);
            if progress(solution.iterations, norm / unit).is_break() {
                break;
            }
        }
        solution.relative_residual = norm / unit;
        solution.converged = norm <= limit;
        solution.products = products + self.fine.products + self.coarse.products;
        self.fine.product.arrange(&mut x, true);
        solution.displacement = x;
        solution.seconds = clock.elapsed().as_secs_f64();
        solution
    }
}

const CHUNK: usize = 1 << 14;

/// x += α p, r −= α q, q shortened; the norm of r.
fn update<T: Real>(alpha: f64, p: &[T], q: &[T], half: &mut [u16], x: &mut [f64], r: &mut [T]) -> f64 {
    let a = T::from_f64(alpha);
    let sums: Vec<f64> = x
        .par_chunks_mut(CHUNK)
        .zip(r.par_chunks_mut(CHUNK))
        .zip(half.par_chunks_mut(CHUNK))
        .zip(p.par_chunks(CHUNK).zip(q.par_chunks(CHUNK)))
        .map(|(((x, r), half), (p, q))| {
            let mut sum = 0.0_f64;
            for i in 0..x.len() {
                x[i] += alpha * p[i].to_f64();
                r[i] = r[i] - a * q[i];
                half[i] = to_half(q[i]);
                sum += r[i].to_f64() * r[i].to_f64();
            }
            sum
        })
        .collect();
    sums.iter().sum::<f64>().sqrt()
}

/// Σ a b, in one order.
fn dot_half<T: Real>(a: &[T], b: &[u16]) -> f64 {
    let part = |(a, b): (&[T], &[u16])| {
        let mut sums = [0.0_f64; 8];
        for (a, b) in a.chunks(8).zip(b.chunks(8)) {
            for i in 0..a.len() {
                sums[i] += a[i].to_f64() * from_half::<T>(b[i]).to_f64();
            }
        }
        sums.iter().sum::<f64>()
    };
    let sums: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(part).collect();
    sums.iter().sum()
}

/// r = f − K x, 0 where fixed, computed in f64; its norm. `forces` are those on free degrees of freedom, ascending.
fn true_residual<T: Real>(fine: &mut Fine<T>, forces: &[(u32, f64)], x: &[f64], r: &mut [T]) -> f64 {
    let (product, scratch) = (&fine.product, &mut fine.scratch);
    let out = Shared::new(r);
    let sink = |first: usize, y: &mut [f64]| {
        // SAFETY: each brick has its own nodes.
        let r = unsafe { out.part(3 * first..3 * first + y.len()) };
        y.iter_mut().for_each(|y| *y = -*y);
        let (begin, end) = (3 * first as u32, (3 * first + y.len()) as u32);
        let from = forces.partition_point(|force| force.0 < begin);
        forces[from..]
            .iter()
            .take_while(|force| force.0 < end)
            .for_each(|force| y[(force.0 - begin) as usize] += force.1);
        for (r, &y) in r.iter_mut().zip(&*y) {
            *r = T::from_f64(y);
        }
        y.iter().map(|y| y * y).sum()
    };
    // What is put by is twice as long as in single precision; the preconditioner's vectors are free now and have room for it.
    let [n_passed, n_pending] = product.needs();
    let (passed, pending) = (doubles(&mut fine.z), doubles(&mut fine.e));
    let sum = if passed.len() >= n_passed && pending.len() >= n_pending {
        product.apply_with(x, [&mut passed[..n_passed], &mut pending[..n_pending]], scratch, sink)
    } else {
        product.apply_arranged(x, scratch, sink)
    };
    sum.sqrt()
}

/// Memory as f64, of those numbers that fill aligned ones.
fn doubles<T: Real>(memory: &mut [T]) -> &mut [f64] {
    // SAFETY: `Real` is f32 or f64 (nothing outside this crate can add one): any bits are valid for both.
    unsafe { memory.align_to_mut::<f64>().1 }
}

/// Largest eigenvalue of one element's D⁻¹ K, which bounds that of the whole: both sums have the same weights.
pub(super) fn element_bound(cube: &Cube) -> f64 {
    let mut v: [f64; 24] = std::array::from_fn(|i| (i as f64 * 0.7).sin());
    let mut lambda = 1.0;
    for _ in 0..500 {
        let row = |i: usize| (0..24).map(|j| cube.dense[i][j] * v[j]).sum::<f64>() / cube.diagonal;
        let y: [f64; 24] = std::array::from_fn(row);
        lambda = y.iter().map(|y| y * y).sum::<f64>().sqrt();
        v = y.map(|y| y / lambda);
    }
    lambda
}

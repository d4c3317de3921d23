//! Conjugate gradients with multigrid: single precision for directions, double for the answer.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;

use super::fine::Fine;
use super::first::fine_elements;
use super::multigrid::{Coarse, CycleSettings, for_parts};
use super::number::Shared;
use super::{Cube, FixedDof, NodalForce, Product, StaticProblem};

/// How to solve.
#[derive(Debug, Clone, PartialEq)]
pub struct SolverSettings {
    /// ‖r‖ / ‖r₀‖ at which to stop, in the Euclidean norm of the true residual r = f − K u over the free degrees of
    /// freedom, computed in f64; r₀ is that of the prescribed displacements with 0 elsewhere.
    pub tolerance: f64,
    /// Most iterations.
    pub iterations: usize,
    /// The preconditioner.
    pub cycle: CycleSettings,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { tolerance: 1e-6, iterations: 1000, cycle: CycleSettings::default() }
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
    fine: Fine<'a>,
    coarse: Coarse,
    settings: SolverSettings,
    /// Setting up, s.
    pub setup_seconds: f64,
}

impl<'a> StaticSolver<'a> {
    /// Sets up the preconditioner. Of the problem's fixed degrees of freedom only which they are counts here.
    pub fn new(problem: &StaticProblem<'a>, settings: &SolverSettings) -> Self {
        let start = Instant::now();
        let cube = Cube::new(problem.poisson);
        let n_nodes = problem.bricks.n_nodes();
        let mut mask = vec![0_u8; n_nodes];
        let mut fixed = Vec::with_capacity(problem.fixed.len());
        for dof in problem.fixed {
            mask[dof.node as usize] |= 1 << dof.direction;
            fixed.push(3 * dof.node + u32::from(dof.direction));
        }
        let product = Product::new(problem.bricks, problem.moduli, cube.clone(), problem.spacing, fixed);
        let elements = fine_elements(&problem.bricks);
        // The diagonal: one entry of the cube's for each element that has the node.
        let mut sums = vec![0.0_f32; n_nodes];
        for (e, nodes) in elements.nodes.iter().enumerate() {
            let value = (product.stiffness(e) * cube.diagonal) as f32;
            nodes.iter().for_each(|&node| sums[node as usize] += value);
        }
        sums.par_iter_mut().for_each(|sum| *sum = 1.0 / *sum);
        let coarse = Coarse::new(&cube, elements, &mask, &|e| product.stiffness(e), &settings.cycle);
        let fine = Fine::new(product, sums, element_bound(&cube));
        Self { fine, coarse, settings: settings.clone(), setup_seconds: start.elapsed().as_secs_f64() }
    }

    /// Degrees of freedom of the coarse levels, and their work in products of the finest level.
    pub fn levels(&self) -> Vec<(usize, f64)> {
        self.coarse.levels.iter().map(|level| (level.n, level.cost)).collect()
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
        let clock = Instant::now();
        let n = 3 * self.fine.product.bricks.n_nodes();
        let mut x = vec![0.0_f64; n];
        let (mut r, mut p, mut q, mut z) = (vec![0.0_f32; n], vec![0.0_f32; n], vec![0.0_f32; n], vec![0.0_f32; n]);
        let prescribe = |x: &mut [f64]| {
            fixed.iter().for_each(|dof| x[3 * dof.node as usize + usize::from(dof.direction)] = dof.value);
        };
        let mut products = 0.0;
        prescribe(&mut x);
        let norm0 = true_residual(&mut self.fine, forces, &x, &mut r);
        products += 1.0;
        let mut norm = norm0;
        if let Some(start) = start {
            x.copy_from_slice(start);
            prescribe(&mut x);
            norm = true_residual(&mut self.fine, forces, &x, &mut r);
            products += 1.0;
        }
        self.fine.products = 0.0;
        self.coarse.products = 0.0;
        let mut solution = Solution::default();
        let limit = self.settings.tolerance * norm0;
        let (degree, mut checked, mut before, mut alpha) = (self.settings.cycle.degree[0], norm, 0.0, 0.0);
        while !(norm <= limit) && solution.iterations < self.settings.iterations {
            // z = M⁻¹ r
            self.fine.smooth_before(degree, &r, &mut z);
            self.fine.e.fill(0.0);
            let product = &self.fine.product;
            self.coarse.correct(&self.fine.residual, &mut self.fine.e, &|e| product.stiffness(e));
            product.fixed().iter().for_each(|&dof| self.fine.e[dof as usize] = 0.0);
            let (zr, zq) = self.fine.smooth_after(degree, &r, &q, &mut z);
            // Flexible: β = −α z·q / (z·r before) is Polak and Ribière's.
            let beta = if before == 0.0 { 0.0 } else { (-alpha * zq / before) as f32 };
            for_parts(&mut p, |first, p| {
                for (p, z) in p.iter_mut().zip(&z[first..]) {
                    *p = z + beta * *p;
                }
            });
            let out = Shared::new(&mut q);
            let curvature = self.fine.apply(&p, |first, y| {
                // SAFETY: each brick has its own nodes.
                unsafe { out.part(3 * first..3 * first + y.len()) }.copy_from_slice(y);
                p[3 * first..].iter().zip(&*y).map(|(&p, &y)| f64::from(p) * f64::from(y)).sum()
            });
            alpha = zr / curvature;
            before = zr;
            if !alpha.is_finite() {
                break;
            }
            norm = update(alpha, &p, &q, &mut x, &mut r);
            solution.iterations += 1;
            // From time to time the residual of the iteration gives way to the true one.
            if norm <= limit || norm < 1e-3 * checked {
                norm = true_residual(&mut self.fine, forces, &x, &mut r);
                products += 1.0;
                checked = norm;
            }
            solution.history.push(norm / norm0);
            if progress(solution.iterations, norm / norm0).is_break() {
                break;
            }
        }
        solution.relative_residual = if norm0 > 0.0 { norm / norm0 } else { 0.0 };
        solution.converged = norm <= limit;
        solution.products = products + self.fine.products + self.coarse.products;
        solution.displacement = x;
        solution.seconds = clock.elapsed().as_secs_f64();
        solution
    }
}

/// x += α p, r −= α q; the norm of r.
fn update(alpha: f64, p: &[f32], q: &[f32], x: &mut [f64], r: &mut [f32]) -> f64 {
    const CHUNK: usize = 1 << 14;
    let a = alpha as f32;
    let sums: Vec<f64> = x
        .par_chunks_mut(CHUNK)
        .zip(r.par_chunks_mut(CHUNK))
        .zip(p.par_chunks(CHUNK).zip(q.par_chunks(CHUNK)))
        .map(|((x, r), (p, q))| {
            let mut sum = 0.0_f64;
            for i in 0..x.len() {
                x[i] += alpha * f64::from(p[i]);
                r[i] -= a * q[i];
                sum += f64::from(r[i]) * f64::from(r[i]);
            }
            sum
        })
        .collect();
    sums.iter().sum::<f64>().sqrt()
}

/// r = f − K x, 0 where fixed, computed in f64; its norm.
fn true_residual(fine: &mut Fine, forces: &[NodalForce], x: &[f64], r: &mut [f32]) -> f64 {
    let (product, scratch) = (&fine.product, &mut fine.scratch);
    let out = Shared::new(r);
    let fixed = product.fixed();
    product
        .apply(x, scratch, |first, y| {
            // SAFETY: each brick has its own nodes.
            let r = unsafe { out.part(3 * first..3 * first + y.len()) };
            y.iter_mut().for_each(|y| *y = -*y);
            let end = first + y.len() / 3;
            let from = forces.partition_point(|force| (force.node as usize) < first);
            for force in forces[from..].iter().take_while(|force| (force.node as usize) < end) {
                let dof = 3 * force.node + u32::from(force.direction);
                if fixed.binary_search(&dof).is_err() {
                    y[dof as usize - 3 * first] += force.value;
                }
            }
            for (r, y) in r.iter_mut().zip(&*y) {
                *r = *y as f32;
            }
            y.iter().map(|y| y * y).sum()
        })
        .sqrt()
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

//! The papers' solver: multigrid on coarser images of averaged moduli (Arbenz, Flaig, Kellenberger, Section 2 and
//! Algorithm 1; Kellenberger, Algorithm 1), for comparison. All of it in f64, or the preconditioner in f32.
//!
//! A coarse voxel has the mean modulus of its 2 × 2 × 2 finer ones, void counted as 0 (eqs. 5, 6); a coarse degree of freedom
//! is fixed where it touches a fixed one. Smoothing is Chebyshev's on [λ / ratio, λ] of D⁻¹ A, λ from Lanczos; the coarsest
//! level is solved by steps of conjugate gradients with the diagonal, or by a factorisation.

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::voxel::build::{BricksError, coarse_size, coarsen};
use pogo_formats::voxel::{Bricks, BricksView};
use rayon::prelude::*;

use super::first::fine_elements;
use super::lookup::Grid as Nodes;
use super::multigrid::{CycleKind, FACTORISED, dot, for_parts};
use super::number::Shared;
use super::problem::{Stopping, stopping};
use super::split::place_of;
use super::{Cube, FixedDof, Moduli, NodalForce, Product, Scratch, Solution, StaticProblem};
use crate::simd::Real;

/// The papers' settings.
#[derive(Debug, Clone, PartialEq)]
pub struct AveragedSettings {
    /// Levels, the finest one counted.
    pub levels: usize,
    /// V, W or F.
    pub cycle: CycleKind,
    /// Degree of the smoother.
    pub degree: usize,
    /// Ratio of the smoother's interval.
    pub ratio: f64,
    /// Steps on the coarsest level; none: it is factorised.
    pub bottom: Option<usize>,
    /// The preconditioner is in f32.
    pub single: bool,
    /// ‖r‖ / ‖r₀‖ at which to stop.
    pub tolerance: f64,
    /// r₀ is the residual of the start vector, where there is one; else that of the prescribed displacements.
    pub from_start: bool,
    /// Most iterations.
    pub iterations: usize,
}

/// Why there is no solution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AveragedError {
    /// Not enough memory for the coarse grids.
    #[error("{0}")]
    Bricks(#[from] BricksError),
    /// A factorisation too large.
    #[error("the coarsest level has {0} degrees of freedom, at most {FACTORISED} are factorised; allow more levels")]
    Factorised(usize),
    /// Nodes that are one have no place here.
    #[error(
        "periodic boundary conditions are solved with coarse_operator = split or galerkin, not with averaged moduli (preset = papers)"
    )]
    Joined,
}

impl Default for AveragedSettings {
    fn default() -> Self {
        Self {
            levels: 6,
            cycle: CycleKind::W,
            degree: 10,
            ratio: 16.0,
            bottom: Some(20),
            single: false,
            tolerance: 1e-6,
            from_start: true,
            iterations: 10_000,
        }
    }
}

/// What one level stands on.
struct Grid {
    bricks: Bricks,
    modulus: Vec<f32>,
    fixed: Vec<u32>,
    /// Nodes of the coarser grid that each node lies between; the first `n`.
    up: Vec<([u32; 8], u8)>,
}

struct Level<'a, T> {
    product: Product<'a>,
    scratch: Scratch,
    inverse: Vec<T>,
    lambda: f64,
    cost: f64,
    up: &'a [([u32; 8], u8)],
    /// Cholesky's factor of the coarsest level.
    factor: Vec<T>,
    b: Vec<T>,
    x: Vec<T>,
    r: Vec<T>,
    d: Vec<T>,
    q: Vec<T>,
}

/// The next coarser image.
fn coarser(
    view: &BricksView,
    size: [u32; 3],
    modulus: impl Fn(usize) -> f64,
    fixed: &[u32],
) -> Result<Grid, BricksError> {
    let fine = fine_elements(view);
    let mut codes: Vec<u64> = Vec::new();
    let mut sums: Vec<f64> = Vec::new();
    for (e, code) in fine.code.iter().enumerate() {
        if codes.last() != Some(&(code >> 3)) {
            codes.push(code >> 3);
            sums.push(0.0);
        }
        if let Some(sum) = sums.last_mut() {
            *sum += modulus(e) / 8.0;
        }
    }
    let bricks = coarsen(view, size)?;
    let coarse = fine_elements(&bricks.view());
    let mut up = vec![([0_u32; 8], 0_u8); fine.n_nodes];
    let mut parent = 0;
    for (code, nodes) in fine.code.iter().zip(&fine.nodes) {
        while coarse.code[parent] != code >> 3 {
            parent += 1;
        }
        for (c, &node) in nodes.iter().enumerate() {
            let place = &super::split::PLACES[place_of((code & 7) as usize, c)];
            let up = &mut up[node as usize];
            up.1 = place.n;
            for k in 0..usize::from(place.n) {
                up.0[k] = coarse.nodes[parent][usize::from(place.corners[k])];
            }
        }
    }
    let mut coarse_fixed: Vec<u32> = Vec::new();
    for &dof in fixed {
        let (nodes, n) = &up[dof as usize / 3];
        coarse_fixed.extend(nodes[..usize::from(*n)].iter().map(|node| 3 * node + dof % 3));
    }
    coarse_fixed.sort_unstable();
    coarse_fixed.dedup();
    Ok(Grid { bricks, modulus: sums.iter().map(|&m| m as f32).collect(), fixed: coarse_fixed, up })
}

impl<'a, T: Real> Level<'a, T> {
    fn new(product: Product<'a>, up: &'a [([u32; 8], u8)], cost: f64) -> Self {
        let n = 3 * product.n_nodes();
        let mut sums = vec![0.0; n];
        for (e, nodes) in product.elements().nodes.iter().enumerate() {
            let value = product.stiffness(e) * product.cube.diagonal;
            nodes.iter().for_each(|&node| (0..3).for_each(|a| sums[3 * node as usize + a] += value));
        }
        let mut inverse: Vec<T> = sums.iter().map(|sum| T::from_f64(1.0 / sum)).collect();
        product.fixed().iter().for_each(|&dof| inverse[dof as usize] = T::default());
        let zeros = || vec![T::default(); n];
        let mut level = Self {
            product,
            scratch: Scratch::default(),
            inverse,
            lambda: 1.0,
            cost,
            up,
            factor: Vec::new(),
            b: zeros(),
            x: zeros(),
            r: zeros(),
            d: zeros(),
            q: zeros(),
        };
        level.lambda = level.largest_eigenvalue();
        level
    }

    fn apply<U: Real>(&mut self, x: &[U], y: &mut [U]) {
        let out = Shared::new(y);
        self.product.apply(x, &mut self.scratch, |first, part| {
            // SAFETY: each brick has its own nodes.
            unsafe { out.part(3 * first..3 * first + part.len()) }.copy_from_slice(part);
            0.0
        });
    }

    /// Lanczos on D^-1/2 A D^-1/2: the largest eigenvalue of its tridiagonal matrix.
    fn largest_eigenvalue(&mut self) -> f64 {
        const STEPS: usize = 15;
        let n = self.inverse.len();
        let root: Vec<f64> = self.inverse.iter().map(|inverse| inverse.to_f64().sqrt()).collect();
        let mut v: Vec<f64> = (0..n).map(|i| ((i as f64) * 0.73).sin() + 0.1).collect();
        v.iter_mut().zip(&root).filter(|(_, root)| **root == 0.0).for_each(|(v, _)| *v = 0.0);
        let (mut before, mut y, mut scaled) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let norm = dot(&v, &v).sqrt();
        if !(norm > 0.0) {
            return 1.0;
        }
        v.iter_mut().for_each(|v| *v /= norm);
        let (mut diagonal, mut off) = (Vec::new(), Vec::<f64>::new());
        for _ in 0..STEPS {
            for i in 0..n {
                scaled[i] = root[i] * v[i];
            }
            self.apply(&scaled, &mut y);
            for i in 0..n {
                y[i] = root[i] * y[i] - off.last().unwrap_or(&0.0) * before[i];
            }
            let a = dot(&v, &y);
            diagonal.push(a);
            for i in 0..n {
                y[i] -= a * v[i];
            }
            let b = dot(&y, &y).sqrt();
            if !(b > 1e-10) {
                break;
            }
            off.push(b);
            std::mem::swap(&mut before, &mut v);
            for i in 0..n {
                v[i] = y[i] / b;
            }
        }
        // Bisection by Sturm's sequence.
        let (mut low, mut high) = (0.0, 100.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let mut d = 1.0;
            let above = (0..diagonal.len()).any(|i| {
                let b = if i == 0 { 0.0 } else { off[i - 1] };
                d = diagonal[i] - middle - b * b / d;
                d > 0.0
            });
            if above { low = middle } else { high = middle }
        }
        high
    }

    /// x ← Chebyshev polynomial of the residual of A x = b.
    fn smooth(&mut self, settings: &AveragedSettings, zero: bool) -> usize {
        let (upper, lower) = (self.lambda, self.lambda / settings.ratio);
        let (theta, delta) = (0.5 * (upper + lower), 0.5 * (upper - lower));
        let sigma = theta / delta;
        let mut rho = 1.0 / sigma;
        let mut products = 0;
        for k in 0..settings.degree {
            if zero && k == 0 {
                self.r.copy_from_slice(&self.b);
            } else {
                self.residual();
                products += 1;
            }
            let next = 1.0 / (2.0 * sigma - rho);
            let (p, s) = if k == 0 { (0.0, 1.0 / theta) } else { (next * rho, 2.0 * next / delta) };
            let (p, s) = (T::from_f64(p), T::from_f64(s));
            if k > 0 {
                rho = next;
            }
            let (r, inverse) = (&self.r, &self.inverse);
            for_parts(&mut self.d, |first, d| {
                for (i, d) in (first..).zip(d) {
                    *d = p * *d + s * inverse[i] * r[i];
                }
            });
            let d = &self.d;
            for_parts(&mut self.x, |first, x| x.iter_mut().zip(&d[first..]).for_each(|(x, &d)| *x += d));
        }
        products
    }

    /// r = b − A x.
    fn residual(&mut self) {
        let (x, mut q) = (std::mem::take(&mut self.x), std::mem::take(&mut self.q));
        self.apply(&x, &mut q);
        (self.x, self.q) = (x, q);
        let (b, q) = (&self.b, &self.q);
        for_parts(&mut self.r, |first, r| {
            for (i, r) in (first..).zip(r) {
                *r = b[i] - q[i];
            }
        });
    }

    fn bottom(&mut self, steps: usize) {
        if !self.factor.is_empty() {
            substitute(&self.factor, &self.b, &mut self.x);
            return;
        }
        let zeros = || vec![T::default(); self.b.len()];
        let (mut r, mut z, mut x, mut p, mut q) = (self.b.clone(), zeros(), zeros(), zeros(), zeros());
        let mut rho = 0.0;
        for step in 0..steps {
            z.iter_mut().zip(&r).zip(&self.inverse).for_each(|((z, &r), &inverse)| *z = r * inverse);
            let next = dot(&r, &z);
            if !(next > 0.0) {
                break;
            }
            let beta = T::from_f64(if step == 0 { 0.0 } else { next / rho });
            rho = next;
            p.iter_mut().zip(&z).for_each(|(p, &z)| *p = z + beta * *p);
            self.apply(&p, &mut q);
            let alpha = T::from_f64(rho / dot(&p, &q));
            for i in 0..x.len() {
                x[i] += alpha * p[i];
                r[i] = r[i] - alpha * q[i];
            }
        }
        self.x = x;
    }

    /// Cholesky's factor, from products with unit vectors; fixed degrees of freedom are left out.
    fn factorise(&mut self) -> Result<(), AveragedError> {
        let n = self.inverse.len();
        if n > FACTORISED {
            return Err(AveragedError::Factorised(n));
        }
        let (mut matrix, mut unit, mut column) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            if self.inverse[i] == T::default() {
                continue;
            }
            unit[i] = 1.0;
            self.apply(&unit, &mut column);
            unit[i] = 0.0;
            (0..n).for_each(|row| matrix[row * n + i] = column[row]);
        }
        factorise_dense(&mut matrix, n);
        self.factor = matrix.into_iter().map(T::from_f64).collect();
        Ok(())
    }
}

/// Cholesky's factor in the lower triangle of a matrix, in place; rows without stiffness become 0.
fn factorise_dense(a: &mut [f64], n: usize) {
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
}

/// x = A⁻¹ b by the factor.
fn substitute<T: Real>(l: &[T], b: &[T], x: &mut [T]) {
    let n = b.len();
    for i in 0..n {
        let row = &l[i * n..i * n + i + 1];
        let sum: f64 = row[..i].iter().zip(&*x).map(|(&a, &x)| (a * x).to_f64()).sum();
        x[i] = if row[i] > T::default() { T::from_f64((b[i].to_f64() - sum) / row[i].to_f64()) } else { T::default() };
    }
    for i in (0..n).rev() {
        let row = &l[i * n..i * n + i + 1];
        x[i] = if row[i] > T::default() { T::from_f64(x[i].to_f64() / row[i].to_f64()) } else { T::default() };
        let xi = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, &a)| *x = *x - a * xi);
    }
}

/// Algorithm 1: x of level 0 from its b.
fn cycle<T: Real>(levels: &mut [Level<T>], settings: &AveragedSettings, kind: CycleKind, products: &mut f64) {
    let (first, rest) = levels.split_at_mut(1);
    let level = &mut first[0];
    if rest.is_empty() {
        let steps = settings.bottom.unwrap_or(0);
        level.bottom(steps);
        *products += level.cost * steps as f64;
        return;
    }
    level.x.fill(T::default());
    *products += level.cost * level.smooth(settings, true) as f64;
    let calls: &[CycleKind] = match kind {
        CycleKind::V | CycleKind::K => &[CycleKind::V],
        CycleKind::W => &[CycleKind::W, CycleKind::W],
        CycleKind::F => &[CycleKind::F, CycleKind::V],
    };
    for &call in calls {
        level.residual();
        *products += level.cost;
        let coarse = &mut rest[0];
        coarse.b.fill(T::default());
        for (node, (nodes, n)) in level.up.iter().enumerate() {
            let weight = T::from_f64(1.0 / f64::from(*n));
            for &up in &nodes[..usize::from(*n)] {
                for a in 0..3 {
                    coarse.b[3 * up as usize + a] += weight * level.r[3 * node + a];
                }
            }
        }
        coarse.product.fixed().iter().for_each(|&dof| coarse.b[dof as usize] = T::default());
        cycle(rest, settings, call, products);
        let coarse = &rest[0];
        for (node, (nodes, n)) in level.up.iter().enumerate() {
            let weight = T::from_f64(1.0 / f64::from(*n));
            for &up in &nodes[..usize::from(*n)] {
                for a in 0..3 {
                    level.x[3 * node + a] += weight * coarse.x[3 * up as usize + a];
                }
            }
        }
        level.product.fixed().iter().for_each(|&dof| level.x[dof as usize] = T::default());
        *products += level.cost * level.smooth(settings, false) as f64;
    }
}

/// Solves one load case with the papers' method, from `start` or from 0, the nodes of elements found as `nodes` says.
///
/// # Errors
/// [`AveragedError`].
pub fn solve_averaged(
    problem: &StaticProblem,
    nodes: Nodes,
    settings: &AveragedSettings,
    fixed: &[FixedDof],
    forces: &[NodalForce],
    start: Option<&[f64]>,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Solution, AveragedError> {
    if settings.single {
        solve::<f32>(problem, nodes, settings, fixed, forces, start, progress)
    } else {
        solve::<f64>(problem, nodes, settings, fixed, forces, start, progress)
    }
}

fn solve<T: Real>(
    problem: &StaticProblem,
    nodes: Nodes,
    settings: &AveragedSettings,
    fixed: &[FixedDof],
    forces: &[NodalForce],
    start: Option<&[f64]>,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Solution, AveragedError> {
    if matches!(nodes, Nodes::Joined(_)) {
        return Err(AveragedError::Joined);
    }
    let clock = Instant::now();
    let cube = Cube::new(problem.poisson);
    let dofs: Vec<u32> = fixed.iter().map(|dof| 3 * dof.node + u32::from(dof.direction)).collect();
    // Room for every brick, which is all that coarsening asks of the size.
    let mut size = [0; 3];
    for brick in 0..problem.bricks.n_bricks() {
        let corner = problem.bricks.corner(brick);
        size = std::array::from_fn(|m| size[m].max(corner[m] + 8));
    }
    let mut grids: Vec<Grid> = Vec::new();
    while grids.len() + 1 < settings.levels {
        let next = match grids.last() {
            None => coarser(&problem.bricks, size, |e| problem.moduli.young(e), &dofs)?,
            Some(grid) => coarser(&grid.bricks.view(), size, |e| f64::from(grid.modulus[e]), &grid.fixed)?,
        };
        if next.bricks.view().n_elements() < 2 {
            break;
        }
        size = coarse_size(size);
        grids.push(next);
    }
    let count = |bricks: &BricksView| bricks.n_elements() as f64;
    let whole = count(&problem.bricks);
    let mut levels: Vec<Level<T>> = Vec::with_capacity(grids.len() + 1);
    for index in 0..=grids.len() {
        let up = grids.get(index).map_or(&[][..], |grid| &grid.up);
        let product = match index.checked_sub(1) {
            None => {
                Product::on(problem.bricks, nodes, 0, problem.moduli, (cube.clone(), problem.spacing), dofs.clone())
            }
            Some(grid) => {
                let (grid, spacing) = (&grids[grid], problem.spacing * f64::from(1_u32 << index));
                let moduli = Moduli::Each { modulus: &grid.modulus, scale: 1.0 };
                Product::on(grid.bricks.view(), nodes, index, moduli, (cube.clone(), spacing), grid.fixed.clone())
            }
        };
        let cost = count(&product.bricks) / whole;
        levels.push(Level::new(product, up, cost));
    }
    if settings.bottom.is_none()
        && let Some(last) = levels.last_mut()
    {
        last.factorise()?;
    }
    let n = levels[0].inverse.len();
    let mut x = vec![0.0; n];
    fixed.iter().for_each(|dof| x[3 * dof.node as usize + usize::from(dof.direction)] = dof.value);
    let mut f = vec![0.0; n];
    forces.iter().for_each(|force| f[3 * force.node as usize + usize::from(force.direction)] += force.value);
    // f − K x, 0 where fixed.
    let residual = |level: &mut Level<T>, x: &[f64]| {
        let mut r = vec![0.0; n];
        level.apply(x, &mut r);
        r.iter_mut().zip(&f).for_each(|(r, f)| *r = f - *r);
        dofs.iter().for_each(|&dof| r[dof as usize] = 0.0);
        r
    };
    let mut r = residual(&mut levels[0], &x);
    let mut norm0 = dot(&r, &r).sqrt();
    let mut solution = Solution { products: 1.0, ..Solution::default() };
    if let Some(start) = start {
        x.copy_from_slice(start);
        fixed.iter().for_each(|dof| x[3 * dof.node as usize + usize::from(dof.direction)] = dof.value);
        r = residual(&mut levels[0], &x);
        solution.products += 1.0;
        if settings.from_start {
            norm0 = dot(&r, &r).sqrt();
        }
    }
    let mut q = vec![0.0; n];
    let (mut p, mut rho, mut norm) = (vec![0.0; n], 0.0, dot(&r, &r).sqrt());
    let Stopping { limit, unit } = stopping(norm0, settings.tolerance, problem.rounding(), fixed);
    while !(norm <= limit) && solution.iterations < settings.iterations {
        // In single precision the size of r must not matter.
        let scale = 1.0 / norm;
        levels[0].b.iter_mut().zip(&r).for_each(|(b, r)| *b = T::from_f64(scale * r));
        cycle(&mut levels, settings, settings.cycle, &mut solution.products);
        let z = &levels[0].x;
        let next = norm * r.iter().zip(z).map(|(r, z)| r * z.to_f64()).sum::<f64>();
        let beta = if rho == 0.0 { 0.0 } else { next / rho };
        rho = next;
        p.par_iter_mut().zip(z).for_each(|(p, z)| *p = norm * z.to_f64() + beta * *p);
        levels[0].apply(&p, &mut q);
        solution.products += 1.0;
        let alpha = rho / dot(&p, &q);
        if !alpha.is_finite() {
            break;
        }
        x.par_iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
        r.par_iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
        norm = dot(&r, &r).sqrt();
        solution.iterations += 1;
        solution.history.push(norm / unit);
        if progress(solution.iterations, norm / unit).is_break() {
            break;
        }
    }
    // The true residual says what was reached.
    let r = residual(&mut levels[0], &x);
    solution.products += 1.0;
    let norm = dot(&r, &r).sqrt();
    solution.relative_residual = norm / unit;
    solution.converged = norm <= 1.01 * limit;
    solution.displacement = x;
    solution.seconds = clock.elapsed().as_secs_f64();
    Ok(solution)
}

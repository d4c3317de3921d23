//! The papers' solver: multigrid on coarser images of averaged moduli (Arbenz, Flaig, Kellenberger, Section 2 and
//! Algorithm 1; Kellenberger, Algorithm 1). All of it in f64, or the preconditioner in f32.
//!
//! A coarse degree of freedom is fixed where it touches a fixed one. Smoothing is Chebyshev's on [λ / ratio, λ] of
//! D⁻¹ A, λ from Lanczos's method. The coarsest level is solved by steps of conjugate gradients with the diagonal, or by
//! a factorisation.

mod coarse;
mod dense;
mod level;
mod settings;

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::system::parallel::iterate::*;

use crate::simd::Real;
use crate::voxel::vectors::dot;
use crate::voxel::{CycleKind, Grid, Moduli, NodalForce, Product, Solution, StaticProblem, Stopping, Voxels};
use coarse::Image;
use level::Level;
pub use settings::{AveragedError, AveragedSettings};

/// Solves one load case with the papers' method, from `start` or from 0. `grid` says how the nodes of elements are found,
/// `forces` replace those of the problem.
///
/// # Errors
/// [`AveragedError`].
pub fn solve_averaged(
    problem: &StaticProblem,
    grid: Grid,
    settings: &AveragedSettings,
    forces: &[NodalForce],
    start: Option<&[f64]>,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Solution, AveragedError> {
    if settings.single {
        solve::<f32>(problem, grid, settings, forces, start, progress)
    } else {
        solve::<f64>(problem, grid, settings, forces, start, progress)
    }
}

fn solve<T: Real>(
    problem: &StaticProblem,
    grid: Grid,
    settings: &AveragedSettings,
    forces: &[NodalForce],
    start: Option<&[f64]>,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Solution, AveragedError> {
    if matches!(grid, Grid::Joined(_)) {
        return Err(AveragedError::Joined);
    }
    if problem.one_ratio().is_none() {
        return Err(AveragedError::Ratios);
    }
    let clock = Instant::now();
    let fixed: Vec<u32> = problem.fixed.iter().map(|dof| dof.dof() as u32).collect();
    let images = Image::all(problem, settings.levels.saturating_sub(1), &fixed)?;
    let mut levels = levels::<T>(problem, grid, &images, &fixed);
    if settings.bottom.is_none()
        && let Some(last) = levels.last_mut()
    {
        last.factorise()?;
    }
    let n = levels[0].inverse.len();
    let mut f = vec![0.0; n];
    forces.iter().for_each(|force| f[force.dof()] += force.value);
    let residual = |levels: &mut [Level<T>], x: &[f64]| residual(&mut levels[0], &f, x, &fixed);
    let prescribe = |x: &mut [f64]| problem.fixed.iter().for_each(|dof| x[dof.dof()] = dof.value);
    let mut x = vec![0.0; n];
    prescribe(&mut x);
    let mut r = residual(&mut levels, &x);
    let mut norm0 = dot(&r, &r).sqrt();
    let mut solution = Solution { products: 1.0, ..Solution::default() };
    if let Some(start) = start {
        x.copy_from_slice(start);
        prescribe(&mut x);
        r = residual(&mut levels, &x);
        solution.products += 1.0;
        if settings.from_start {
            norm0 = dot(&r, &r).sqrt();
        }
    }
    let stopping = Stopping::new(norm0, settings.tolerance, problem.rounding(), problem.fixed);
    conjugate_gradients(&mut levels, settings, &stopping, (&mut x, r), &mut solution, progress);
    let r = residual(&mut levels, &x);
    solution.products += 1.0;
    let norm = dot(&r, &r).sqrt();
    solution.relative_residual = norm / stopping.unit;
    solution.converged = norm <= 1.01 * stopping.limit;
    solution.displacement = x;
    solution.seconds = clock.elapsed().as_secs_f64();
    Ok(solution)
}

/// The levels of a problem, the finest first.
fn levels<'a, T: Real>(
    problem: &StaticProblem<'a>,
    grid: Grid<'a>,
    images: &'a [Image],
    fixed: &[u32],
) -> Vec<Level<'a, T>> {
    let all = 0..=images.len();
    all.map(|index| {
        let between = images.get(index).map_or(&[][..], |image| &image.between);
        let product = match index.checked_sub(1) {
            None => Product::on(problem.voxels(), grid, 0, fixed.to_vec()),
            Some(image) => {
                let image = &images[image];
                let spacing = problem.spacing * f64::from(1_u32 << index);
                let moduli = Moduli::Each { modulus: &image.modulus, scale: 1.0 };
                let voxels = Voxels { bricks: image.bricks.view(), moduli, ratios: problem.ratios, spacing };
                Product::on(voxels, grid, index, image.fixed.clone())
            }
        };
        let cost = product.n_elements() as f64 / problem.bricks.n_elements() as f64;
        Level::new(product, between, cost)
    })
    .collect()
}

/// f − K x, 0 where fixed.
fn residual<T: Real>(level: &mut Level<T>, f: &[f64], x: &[f64], fixed: &[u32]) -> Vec<f64> {
    let mut r = vec![0.0; x.len()];
    level.apply(x, &mut r);
    r.iter_mut().zip(f).for_each(|(r, f)| *r = f - *r);
    fixed.iter().for_each(|&dof| r[dof as usize] = 0.0);
    r
}

/// Conjugate gradients in f64 from x with the residual r, with the cycle as preconditioner.
fn conjugate_gradients<T: Real>(
    levels: &mut [Level<T>],
    settings: &AveragedSettings,
    stopping: &Stopping,
    (x, mut r): (&mut [f64], Vec<f64>),
    solution: &mut Solution,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) {
    let n = x.len();
    let (mut p, mut q) = (vec![0.0; n], vec![0.0; n]);
    let (mut rho, mut norm) = (0.0, dot(&r, &r).sqrt());
    while !(norm <= stopping.limit) && solution.iterations < settings.iterations {
        // Scaled, so that the size of r does not matter in single precision.
        let scale = 1.0 / norm;
        levels[0].b.iter_mut().zip(&r).for_each(|(b, r)| *b = T::from_f64(scale * r));
        cycle(levels, settings, settings.cycle, &mut solution.products);
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
        solution.history.push(norm / stopping.unit);
        if progress(solution.iterations, norm / stopping.unit).is_break() {
            break;
        }
    }
}

/// Algorithm 1: x of the first of these levels from its b.
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
        level.restrict(&mut rest[0]);
        cycle(rest, settings, call, products);
        level.prolong(&rest[0]);
        *products += level.cost * level.smooth(settings, false) as f64;
    }
}

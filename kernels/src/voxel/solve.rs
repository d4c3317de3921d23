//! Conjugate gradients with multigrid on a CPU: single precision for directions, double for the solution.

use std::convert::Infallible;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;

use pogo_formats::timings::{self, timed};

use super::cube::Cube;
use super::fine::Fine;
use super::iteration::{Solution, SolverSettings, Steps, iterate};
use super::multigrid::{Coarse, CycleSettings, FACTORISED, Host, Smoother};
use super::number::{from_half, to_half};
use super::problem::{FixedDof, NodalForce, Ratios, StaticProblem, Stopping};
use super::product::{Grid, Product};
use super::share::{RankShares, Share, bytes_of};
use crate::ranks::{Ranks, Reader};
use crate::simd::Real;
use pogo_formats::system::parallel::Shared;

/// A voxel mesh with its preconditioner, for one or several load cases that fix the same degrees of freedom.
pub struct StaticSolver<'a> {
    levels: AnyLevels<'a>,
    settings: SolverSettings,
    /// Time of the set-up, s.
    pub setup_seconds: f64,
    /// How several ranks share the mesh.
    pub shares: Option<RankShares>,
}

/// All levels, in either precision.
enum AnyLevels<'a> {
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
    /// None if this process computes everything.
    ranks: Option<Arc<dyn Ranks>>,
}

impl<'a> StaticSolver<'a> {
    /// Sets up the preconditioner. Of the problem's prescribed displacements only the degrees of freedom matter here. The nodes
    /// of elements are found as `grid` says. If nodes are joined, degrees of freedom, forces and displacements have the numbers
    /// of joined nodes.
    pub fn new(problem: &StaticProblem<'a>, grid: Grid<'a>, settings: &SolverSettings) -> Self {
        Self::with(problem, grid, settings, None)
    }

    /// The solver of one of several ranks, each of which computes the displacements of its own bricks. All have the same problem,
    /// and call the same methods at the same time. The numbers do not depend on the number of ranks.
    ///
    /// # Panics
    /// If there are more ranks than [`most_ranks`](super::most_ranks).
    pub fn over(problem: &StaticProblem<'a>, settings: &SolverSettings, ranks: &Arc<dyn Ranks>) -> Self {
        Self::with(problem, Grid::Bricks, settings, Some(ranks))
    }

    fn with(
        problem: &StaticProblem<'a>,
        grid: Grid<'a>,
        settings: &SolverSettings,
        ranks: Option<&Arc<dyn Ranks>>,
    ) -> Self {
        let start = Instant::now();
        let (levels, shares) = if settings.double {
            let (levels, shares) = Levels::new(problem, grid, &settings.cycle, ranks);
            (AnyLevels::Double(levels), shares)
        } else {
            let (levels, shares) = Levels::new(problem, grid, &settings.cycle, ranks);
            (AnyLevels::Single(levels), shares)
        };
        Self { levels, settings: settings.clone(), setup_seconds: start.elapsed().as_secs_f64(), shares }
    }

    /// Degrees of freedom of the coarse levels, and their work in products of the finest level.
    pub fn levels(&self) -> Vec<(usize, f64)> {
        match &self.levels {
            AnyLevels::Single(levels) => levels.coarse.levels.iter().map(|level| (level.n, level.cost)).collect(),
            AnyLevels::Double(levels) => levels.coarse.levels.iter().map(|level| (level.n, level.cost)).collect(),
        }
    }

    /// Memory that coarse nodes for each phase would have taken, bytes, where they were left out because that is more than
    /// [`CycleSettings::phase_bytes`](super::CycleSettings::phase_bytes).
    pub fn phases_left_out(&self) -> Option<f64> {
        match &self.levels {
            AnyLevels::Single(levels) => levels.coarse.phases_left_out,
            AnyLevels::Double(levels) => levels.coarse.phases_left_out,
        }
    }

    /// The reason why the last level was not factorised, if so.
    pub fn not_factorised(&self) -> Option<String> {
        let is_factorised = match &self.levels {
            AnyLevels::Single(levels) => levels.coarse.is_factorised(),
            AnyLevels::Double(levels) => levels.coarse.is_factorised(),
        };
        match self.levels()[..] {
            _ if is_factorised => None,
            [_] => Some(
                "the only coarse level is never assembled (a small model needs no other; leave the key out)".into(),
            ),
            [.., (n, _)] => {
                Some(format!("the last level has {n} degrees of freedom, at most {FACTORISED} are factorised"))
            }
            [] => None,
        }
    }

    /// Solves one load case from `start`, or from 0. `fixed` has the same degrees of freedom as the problem that this was
    /// made for. `progress(iteration, ‖r‖ / ‖r₀‖)` may break off. Of several ranks, rank 0 decides that, and it alone gets the
    /// displacements.
    pub fn solve(
        &mut self,
        fixed: &[FixedDof],
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Solution {
        match &mut self.levels {
            AnyLevels::Single(levels) => levels.solve(&self.settings, fixed, forces, start, progress),
            AnyLevels::Double(levels) => levels.solve(&self.settings, fixed, forces, start, progress),
        }
    }
}

impl<'a, T: Real> Levels<'a, T> {
    fn new(
        problem: &StaticProblem<'a>,
        grid: Grid<'a>,
        settings: &CycleSettings,
        ranks: Option<&Arc<dyn Ranks>>,
    ) -> (Self, Option<RankShares>) {
        let dofs = problem.fixed.iter().map(|dof| dof.dof() as u32).collect();
        let finest = timings::stage("finest level");
        let mut product = Product::on(problem.voxels(), grid, 0, dofs);
        let division = ranks.map(|ranks| product.divide(ranks));
        let mut share = product.share();
        if let Some(division) = &division {
            share.divide(&division.ranks, &division.nodes);
        }
        drop(finest);
        let n_nodes = product.n_nodes();
        let fixed: Vec<u32> = problem.fixed.iter().map(|dof| product.place(dof.node, dof.direction)).collect();
        let mut mask = vec![0_u8; n_nodes];
        fixed.iter().for_each(|dof| mask[*dof as usize / 3] |= 1 << (dof % 3));
        let elements = timed("elements", || product.arranged_elements());
        let inverse = product.diagonals(|diagonal| to_half(T::from_f64(1.0 / diagonal)));
        let [n_passed, n_pending] = product.needs();
        let shares = division.as_ref().map(|division| division.shares.clone());
        // A rank has written but a part of the memory that could be lent.
        let host = Host::Cpu { lent: if ranks.is_some() { [0; 3] } else { [3 * n_nodes, n_pending, n_passed] } };
        let _levels = timings::stage("hierarchy");
        let coarse =
            Coarse::new(product.cubes(), elements, &mask, &|e, p| product.stiffness(e, p), settings, host, division);
        let smoother = Smoother::new(settings.degree[0], settings.ratio);
        let fine = Fine::new(product, share, inverse, largest_bound(problem.ratios), smoother);
        (Self { fine, coarse, fixed, rounding: problem.rounding(), ranks: ranks.cloned() }, shares)
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
        let rounding = self.rounding;
        let dofs = self.fixed.clone();
        let prescribe = |x: &mut [f64]| dofs.iter().zip(fixed).for_each(|(&dof, fixed)| x[dof as usize] = fixed.value);
        let mut state = State::new(self, forces);
        prescribe(&mut state.x);
        let mut norm0 = state.residual();
        let (mut norm, mut products) = (norm0, 1.0);
        if let Some(start) = start {
            state.x.copy_from_slice(start);
            state.levels.fine.product.arrange(&mut state.x, false);
            prescribe(&mut state.x);
            norm = state.residual();
            products += 1.0;
            if settings.from_start {
                norm0 = norm;
            }
        }
        let stopping = Stopping::new(norm0, settings.tolerance, rounding, fixed);
        let ranks = state.levels.ranks.clone();
        let mut decide = |iteration, residual| decide(ranks.as_deref(), || progress(iteration, residual));
        let Ok(mut solution) = iterate(&mut state, norm, settings.iterations, stopping, &mut decide);
        let State { levels, mut x, .. } = state;
        solution.products = solution.products + products + levels.fine.products + levels.coarse.products;
        if ranks.is_none_or(|ranks| gather(&*ranks, &levels.fine.share.numbers(), &mut x)) {
            levels.fine.product.arrange(&mut x, true);
        }
        solution.displacement = x;
        solution.seconds = clock.elapsed().as_secs_f64();
        solution
    }
}

/// What rank 0 decides.
fn decide(ranks: Option<&dyn Ranks>, progress: impl FnOnce() -> ControlFlow<()>) -> ControlFlow<()> {
    let Some(ranks) = ranks else { return progress() };
    let stop = ranks.leads() && progress().is_break();
    if ranks.broadcast(vec![u8::from(stop)]) == [1] { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Puts the numbers of all ranks into x of rank 0, given the own numbers of this rank. On other ranks x is emptied, and the
/// result is false.
fn gather(ranks: &dyn Ranks, own: &Range<usize>, x: &mut Vec<f64>) -> bool {
    let parts = ranks.gather(bytes_of(&x[own.clone()]));
    if !ranks.leads() {
        x.clear();
        return false;
    }
    let mut at = 0;
    for part in parts {
        let numbers = Reader::new(&part).take::<f64>();
        x[at..at + numbers.len()].copy_from_slice(&numbers);
        at += numbers.len();
    }
    true
}

/// The vectors of an iteration, in the order of the solver's vectors.
struct State<'s, 'a, T> {
    levels: &'s mut Levels<'a, T>,
    /// Forces on free degrees of freedom, ascending.
    forces: Vec<(u32, f64)>,
    x: Vec<f64>,
    r: Vec<T>,
    /// Direction of search.
    p: Vec<T>,
    /// K p of the step before, for z · K p alone: a few bits a number are enough.
    q: Vec<u16>,
    /// p · K p of the step before; 0 before the first.
    curvature: f64,
}

impl<'s, 'a, T: Real> State<'s, 'a, T> {
    fn new(levels: &'s mut Levels<'a, T>, forces: &[NodalForce]) -> Self {
        levels.fine.products = 0.0;
        levels.coarse.products = 0.0;
        let product = &levels.fine.product;
        let place = |force: &NodalForce| (product.place(force.node, force.direction), force.value);
        let mut forces: Vec<(u32, f64)> = forces.iter().map(place).collect();
        forces.sort_unstable_by_key(|force| force.0);
        forces.retain(|force| product.arranged_fixed().binary_search(&force.0).is_err());
        let n = 3 * product.n_nodes();
        let (r, p) = (vec![T::default(); n], vec![T::default(); n]);
        Self { levels, forces, x: vec![0.0; n], r, p, q: vec![0; n], curvature: 0.0 }
    }

    /// r = f − K x, 0 where fixed, computed in f64; its norm.
    fn residual(&mut self) -> f64 {
        let (fine, forces) = (&mut self.levels.fine, &self.forces);
        let (product, scratch) = (&fine.product, &mut fine.scratch);
        let out = Shared::new(&mut self.r);
        let sink = &|first: usize, y: &mut [f64]| {
            // SAFETY: each brick has its own nodes.
            let r = unsafe { out.part(3 * first..3 * first + y.len()) };
            y.iter_mut().for_each(|y| *y = -*y);
            let (begin, end) = (3 * first as u32, (3 * first + y.len()) as u32);
            let forces = &forces[forces.partition_point(|force| force.0 < begin)..];
            let here = forces.iter().take_while(|force| force.0 < end);
            here.for_each(|force| y[(force.0 - begin) as usize] += force.1);
            for (r, &y) in r.iter_mut().zip(&*y) {
                *r = T::from_f64(y);
            }
            y.iter().map(|y| y * y).sum()
        };
        // A product in f64 needs twice the memory. The preconditioner's vectors are free now.
        product.fetch(&mut self.x);
        let [n_passed, n_pending] = product.needs();
        let (passed, pending) = (doubles(&mut fine.z), doubles(&mut fine.before));
        let sum = if passed.len() >= n_passed && pending.len() >= n_pending {
            product.apply_with(&self.x, [&mut passed[..n_passed], &mut pending[..n_pending]], scratch, sink)
        } else {
            product.apply_arranged(&self.x, scratch, sink)
        };
        sum.sqrt()
    }
}

impl<T: Real> Steps for State<'_, '_, T> {
    type Error = Infallible;

    fn advance(&mut self) -> Result<Option<f64>, Infallible> {
        let Levels { fine, coarse, .. } = &mut *self.levels;
        fine.precondition(coarse, &self.r);
        // p ← z + β p. The new direction is conjugate to the one before, whatever the preconditioner does.
        let (z, share) = (&fine.z, fine.share.clone());
        let first = self.curvature == 0.0;
        let beta = T::from_f64(if first { 0.0 } else { -dot_half(&share, z, &self.q) / self.curvature });
        share.for_parts(&mut self.p, |first, p| {
            for (p, &z) in p.iter_mut().zip(&z[first..]) {
                *p = z + beta * *p;
            }
        });
        // α = p · r / p · K p. p · r would be z · r if r were orthogonal to the direction before, but for rounding.
        let along = share.dot(&self.p, &self.r);
        let mut product = std::mem::take(&mut fine.before);
        fine.product.fetch(&mut self.p);
        fine.products += 1.0;
        let (p, out) = (&self.p, Shared::new(&mut product));
        self.curvature = fine.product.apply_arranged(p, &mut fine.scratch, &|first, y| {
            // SAFETY: each brick has its own nodes.
            unsafe { out.part(3 * first..3 * first + y.len()) }.copy_from_slice(y);
            p[3 * first..].iter().zip(&*y).map(|(&p, &y)| p.to_f64() * y.to_f64()).sum()
        });
        fine.before = product;
        let alpha = along / self.curvature;
        if !alpha.is_finite() {
            return Ok(None);
        }
        Ok(Some(update(&share, alpha, [p, &fine.before], &mut self.q, &mut self.x, &mut self.r)))
    }

    fn true_residual(&mut self) -> Result<f64, Infallible> {
        Ok(self.residual())
    }
}

/// x += α p, r −= α q, and q in 16 bits a number; the norm of r.
fn update<T: Real>(share: &Share, alpha: f64, [p, q]: [&[T]; 2], half: &mut [u16], x: &mut [f64], r: &mut [T]) -> f64 {
    let a = T::from_f64(alpha);
    let (half, x, r) = (Shared::new(half), Shared::new(x), Shared::new(r));
    let sum = share.sum(|numbers| {
        // SAFETY: pieces do not overlap.
        let (half, x, r) = unsafe { (half.part(numbers.clone()), x.part(numbers.clone()), r.part(numbers.clone())) };
        let (p, q) = (&p[numbers.clone()], &q[numbers]);
        let mut sum = 0.0_f64;
        for i in 0..x.len() {
            x[i] += alpha * p[i].to_f64();
            r[i] = r[i] - a * q[i];
            half[i] = to_half(q[i]);
            sum += r[i].to_f64() * r[i].to_f64();
        }
        sum
    });
    sum.sqrt()
}

/// Σ a b.
fn dot_half<T: Real>(share: &Share, a: &[T], b: &[u16]) -> f64 {
    share.sum(|numbers| {
        let mut sums = [0.0_f64; 8];
        for (a, b) in a[numbers.clone()].chunks(8).zip(b[numbers].chunks(8)) {
            for i in 0..a.len() {
                sums[i] += a[i].to_f64() * from_half::<T>(b[i]).to_f64();
            }
        }
        sums.iter().sum()
    })
}

/// Memory as f64 numbers, as far as it is aligned for them.
fn doubles<T: Real>(memory: &mut [T]) -> &mut [f64] {
    // SAFETY: `Real` is f32 or f64 (nothing outside this crate can add one): any bits are valid for both.
    unsafe { memory.align_to_mut::<f64>().1 }
}

/// Largest of [`element_bound`] of all elements.
pub(crate) fn largest_bound(ratios: Ratios<'_>) -> f64 {
    match ratios {
        Ratios::One(poisson) => element_bound(&Cube::new(poisson)),
        Ratios::Classes(lame) => lame.iter().map(|lame| element_bound(&lame.cube())).fold(0.0, f64::max),
    }
}

/// Largest eigenvalue of D⁻¹ K of one element. It bounds that of the whole, as both are sums over elements with the same
/// weights.
fn element_bound(cube: &Cube) -> f64 {
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

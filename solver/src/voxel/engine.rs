//! The one place where the solver of the kernels is called.

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::voxel::setup::{CoarseOperator, CoarseSolver, Cycle, PreconditionerPrecision, StaticSettings};
use pogo_kernels::voxel::{
    AveragedSettings, CycleSettings, SolverSettings, StaticProblem, StaticSolver, solve_averaged,
};

/// A solved load case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solved {
    /// Displacements, (n_nodes, 3).
    pub displacement: Vec<f64>,
    /// Iterations.
    pub iterations: usize,
    /// True relative residual.
    pub relative_residual: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Relative residual after each iteration.
    pub history: Vec<f64>,
    /// Fine-product equivalents.
    pub products: f64,
    /// Wall-clock time with the set-up that this case needed, s.
    pub seconds: f64,
}

/// How the preconditioner works.
enum Method {
    /// Split cells, factorised bottom.
    Split(SolverSettings),
    /// The papers' averaged moduli.
    Averaged(AveragedSettings, (f64, usize)),
}

/// Solves load cases one after the other; those that fix the same degrees of freedom share the preconditioner.
pub struct Engine<'a> {
    method: Method,
    /// The last solver, with the degrees of freedom that it was made for.
    last: Option<(Vec<(u32, u8)>, StaticSolver<'a>)>,
}

impl<'a> Engine<'a> {
    /// For these settings.
    ///
    /// # Errors
    /// A message for a setting that the kernels do not offer.
    pub fn new(settings: &StaticSettings) -> Result<Self, String> {
        let limits = (settings.tolerance, settings.max_iterations as usize);
        let method = match settings.coarse_operator {
            Some(CoarseOperator::Averaged) => Method::Averaged(averaged(settings)?, limits),
            _ => Method::Split(SolverSettings { tolerance: limits.0, iterations: limits.1, cycle: cycle(settings)? }),
        };
        Ok(Self { method, last: None })
    }

    /// Gives the memory of the preconditioner back.
    pub fn release(&mut self) {
        self.last = None;
    }

    /// Solves one load case, from `start` where it is given; `progress` hears of each iteration and may stop it.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solved, String> {
        let began = Instant::now();
        let fixed = || problem.fixed.iter().map(|fixed| (fixed.node, fixed.direction));
        let solved = match &self.method {
            Method::Averaged(settings, limits) => {
                solve_averaged(problem, settings, *limits, problem.fixed, problem.forces, start, progress)
                    .map_err(|error| error.to_string())?
            }
            Method::Split(settings) => {
                if !self.last.as_ref().is_some_and(|(last, _)| last.iter().copied().eq(fixed())) {
                    // The old one goes before the new one is made: there is room for one.
                    self.last = None;
                }
                let (_, solver) =
                    self.last.get_or_insert_with(|| (fixed().collect(), StaticSolver::new(problem, settings)));
                solver.solve(problem.fixed, problem.forces, start, progress)
            }
        };
        Ok(Solved {
            displacement: solved.displacement,
            iterations: solved.iterations,
            relative_residual: solved.relative_residual,
            converged: solved.converged,
            history: solved.history,
            products: solved.products,
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

fn refuse<T>(what: &str) -> Result<T, String> {
    Err(format!("solver.{what} is not available with this solver; leave it at auto"))
}

/// The settings of split cells as the kernels take them.
fn cycle(settings: &StaticSettings) -> Result<CycleSettings, String> {
    let mut cycle = CycleSettings::default();
    if let Some(degree) = settings.smoother_degree {
        cycle.degree = [degree as usize; 2];
    }
    if let Some(levels) = settings.levels {
        cycle.levels = levels as usize;
    }
    match settings.cycle {
        None | Some(Cycle::K) => {}
        Some(Cycle::V) => cycle.inner = vec![1],
        Some(Cycle::W) => cycle.inner = vec![2],
        Some(Cycle::F) => return refuse("cycle = f"),
    }
    if settings.coarse_operator == Some(CoarseOperator::Galerkin) {
        return refuse("coarse_operator = galerkin");
    }
    if let Some(CoarseSolver::Jacobi(_)) = settings.coarse_solver {
        return refuse("coarse_solver = STEPS");
    }
    if settings.precision == Some(PreconditionerPrecision::F64) {
        return refuse("precision = f64");
    }
    if settings.smoother_ratio.is_some() {
        return refuse("smoother_ratio");
    }
    Ok(cycle)
}

/// The settings of averaged moduli; what is not given is as in the papers.
fn averaged(settings: &StaticSettings) -> Result<AveragedSettings, String> {
    let papers = AveragedSettings::default();
    if settings.precision == Some(PreconditionerPrecision::F32) {
        return refuse("precision = f32");
    }
    Ok(AveragedSettings {
        levels: settings.levels.map_or(papers.levels, |levels| levels as usize),
        cycles: match settings.cycle {
            None | Some(Cycle::W) => 2,
            Some(Cycle::V) => 1,
            Some(Cycle::F) => return refuse("cycle = f"),
            Some(Cycle::K) => return refuse("cycle = k"),
        },
        degree: settings.smoother_degree.map_or(papers.degree, |degree| degree as usize),
        ratio: settings.smoother_ratio.unwrap_or(papers.ratio),
        bottom: match settings.coarse_solver {
            None => papers.bottom,
            Some(CoarseSolver::Jacobi(steps)) => steps as usize,
            Some(CoarseSolver::Direct) => return refuse("coarse_solver = direct"),
        },
    })
}

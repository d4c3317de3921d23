//! The one place where the solver of the kernels is called.

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::voxel::setup::{CoarseOperator, CoarseSolver, Cycle, PreconditionerPrecision, StaticSettings};
use pogo_kernels::voxel::{CycleSettings, SolverSettings, StaticProblem, StaticSolver};

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

/// Solves load cases one after the other; those that fix the same degrees of freedom share the preconditioner.
pub struct Engine<'a> {
    settings: SolverSettings,
    /// The last solver, with the degrees of freedom that it was made for.
    last: Option<(Vec<(u32, u8)>, StaticSolver<'a>)>,
}

impl<'a> Engine<'a> {
    /// For these settings.
    ///
    /// # Errors
    /// A message for a setting that the kernels do not offer.
    pub fn new(settings: &StaticSettings) -> Result<Self, String> {
        let settings = SolverSettings {
            tolerance: settings.tolerance,
            iterations: settings.max_iterations as usize,
            cycle: cycle(settings)?,
        };
        Ok(Self { settings, last: None })
    }

    /// Gives the memory of the preconditioner back.
    pub fn release(&mut self) {
        self.last = None;
    }

    /// Solves one load case, from `start` where it is given; `progress` hears of each iteration and may stop it.
    pub fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Solved {
        let began = Instant::now();
        let fixed = || problem.fixed.iter().map(|fixed| (fixed.node, fixed.direction));
        if !self.last.as_ref().is_some_and(|(last, _)| last.iter().copied().eq(fixed())) {
            // The old one goes before the new one is made: there is room for one.
            self.last = None;
        }
        let settings = &self.settings;
        let (_, solver) = self.last.get_or_insert_with(|| (fixed().collect(), StaticSolver::new(problem, settings)));
        let solved = solver.solve(problem.fixed, problem.forces, start, progress);
        Solved {
            displacement: solved.displacement,
            iterations: solved.iterations,
            relative_residual: solved.relative_residual,
            converged: solved.converged,
            history: solved.history,
            products: solved.products,
            seconds: began.elapsed().as_secs_f64(),
        }
    }
}

/// The settings as the kernels take them.
fn cycle(settings: &StaticSettings) -> Result<CycleSettings, String> {
    let refuse = |what: &str| Err(format!("solver.{what} is not available; leave it at auto"));
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
    match settings.coarse_operator {
        None | Some(CoarseOperator::Split) => {}
        Some(CoarseOperator::Averaged) => return refuse("coarse_operator = averaged (as in preset = \"papers\")"),
        Some(CoarseOperator::Galerkin) => return refuse("coarse_operator = galerkin"),
    }
    if let Some(CoarseSolver::Jacobi(_)) = settings.coarse_solver {
        return refuse("coarse_solver other than direct");
    }
    if settings.precision == Some(PreconditionerPrecision::F64) {
        return refuse("precision = f64");
    }
    if settings.smoother_ratio.is_some() {
        return refuse("smoother_ratio");
    }
    Ok(cycle)
}

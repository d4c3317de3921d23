//! The one place where the solver of the kernels is called.

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::voxel::setup::{
    CoarseOperator, CoarseSolver, Cycle, PreconditionerPrecision, ResidualNorm, StaticSettings,
};
use pogo_kernels::device::{DeviceError, device_name};
use pogo_kernels::voxel::{
    AveragedSettings, CycleKind, CycleSettings, GpuStaticSolver, Grid, NodalForce, SolverSettings, StaticProblem,
    StaticSolver, solve_averaged,
};

use crate::config::DeviceChoice;
use crate::memory;

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
    /// Of it, set-up of the preconditioner, s.
    pub setup_seconds: f64,
}

/// [`CycleSettings::inner`] on the CPU: the finest level is what costs there, and a step more on level 2 saves up to a sixth
/// of the iterations.
const INNER: [usize; 3] = [2, 4, 2];

/// A preconditioner, where it is.
enum Solver<'a> {
    Cpu(Box<StaticSolver<'a>>),
    Gpu(Box<GpuStaticSolver>),
}

/// How the preconditioner works.
enum Method {
    /// Galerkin levels, and whether the last has to be factorised.
    Galerkin(SolverSettings, bool),
    /// The papers' averaged moduli.
    Averaged(AveragedSettings),
}

/// Solves load cases one after the other; those that fix the same degrees of freedom share the preconditioner.
pub struct Engine<'a> {
    method: Method,
    /// How nodes are found: on a device by bricks.
    pub grid: Grid<'a>,
    /// Which device is used, and whether the user named it.
    device: Option<(u32, bool)>,
    /// `cpu`, or the name of the device.
    pub device_name: String,
    /// Largest memory in use on the device, bytes.
    pub device_bytes: Option<u64>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// The last solver, with the degrees of freedom that it was made for.
    last: Option<(Vec<(u32, u8)>, Solver<'a>)>,
}

impl<'a> Engine<'a> {
    /// For these settings, with the nodes of elements found as `grid` says on the CPU, and by bricks on a device.
    ///
    /// # Errors
    /// A message for settings that exclude each other, or for a device that the user named and that cannot be used.
    pub fn new(settings: &StaticSettings, grid: Grid<'a>, choice: DeviceChoice) -> Result<Self, String> {
        let method = match settings.coarse_operator {
            Some(CoarseOperator::Averaged) => Method::Averaged(averaged(settings)?),
            _ => {
                let solver = SolverSettings {
                    tolerance: settings.tolerance,
                    from_start: settings.norm == ResidualNorm::Start,
                    double: settings.precision == Some(PreconditionerPrecision::F64),
                    iterations: settings.max_iterations as usize,
                    cycle: cycle(settings),
                };
                Method::Galerkin(solver, settings.coarse_solver == Some(CoarseSolver::Direct))
            }
        };
        let mut notes = Vec::new();
        let only_cpu = only_cpu(settings, &grid);
        let device = match choice {
            DeviceChoice::Cuda(_) if only_cpu.is_some() => {
                let what = only_cpu.unwrap_or_default();
                return Err(format!("{what} on the CPU only: say --device cpu, or leave it out"));
            }
            DeviceChoice::Cuda(ordinal) => Some((ordinal, device_name(ordinal).map_err(|error| error.to_string())?)),
            DeviceChoice::Auto if only_cpu.is_none() => match device_name(0) {
                Ok(name) => Some((0, name)),
                // No driver and no device are no news; what is there and cannot be used is.
                Err(DeviceError::NoDriver | DeviceError::NoDevice { .. }) => None,
                Err(error) => {
                    notes.push(on_the_cpu(&error));
                    None
                }
            },
            DeviceChoice::Auto | DeviceChoice::Cpu => None,
        };
        Ok(Self {
            method,
            grid: if device.is_some() { Grid::Bricks } else { grid },
            device_name: device.as_ref().map_or_else(|| "cpu".to_owned(), |(_, name)| name.clone()),
            device: device.map(|(ordinal, _)| (ordinal, choice != DeviceChoice::Auto)),
            device_bytes: None,
            notes,
            last: None,
        })
    }

    /// Whether no device is used.
    pub fn on_cpu(&self) -> bool {
        self.device.is_none()
    }

    /// Gives the memory of the preconditioner back.
    pub fn release(&mut self) {
        self.last = None;
    }

    /// Solves one load case under these forces, not those of `problem`, from `start` where it is given; `progress` hears of each iteration and may stop it.
    ///
    /// # Errors
    /// Not enough memory, a device that fails, or a last level that is too large to be factorised as it should be.
    pub fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        forces: &[NodalForce],
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solved, String> {
        let began = Instant::now();
        let mut setup_seconds = 0.0;
        let solved = match &self.method {
            Method::Averaged(settings) => {
                solve_averaged(problem, self.grid, settings, problem.fixed, forces, start, progress)
                    .map_err(|error| error.to_string())?
            }
            Method::Galerkin(settings, direct) => {
                let direct = *direct;
                let settings = settings.clone();
                let fixed = || problem.fixed.iter().map(|fixed| (fixed.node, fixed.direction));
                let (of, mut solver) = match self.last.take() {
                    Some((last, solver)) if last.iter().copied().eq(fixed()) => (last, solver),
                    old => {
                        // The old one goes before the new one is made: there is room for one.
                        drop(old);
                        let solver = self.make(problem, &settings)?;
                        setup_seconds = began.elapsed().as_secs_f64();
                        (fixed().collect(), solver)
                    }
                };
                if let Solver::Cpu(solver) = &solver
                    && direct
                    && let Some(reason) = solver.not_factorised()
                {
                    return Err(format!("solver.coarse_solver = \"direct\": {reason}; allow more levels"));
                }
                let solved = match &mut solver {
                    Solver::Cpu(solver) => solver.solve(problem.fixed, forces, start, progress),
                    Solver::Gpu(solver) => {
                        solver.solve(problem.fixed, forces, start, progress).map_err(|error| error.to_string())?
                    }
                };
                self.last = Some((of, solver));
                solved
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
            setup_seconds,
        })
    }

    /// A solver with its preconditioner.
    fn make(&mut self, problem: &StaticProblem<'a>, settings: &SolverSettings) -> Result<Solver<'a>, String> {
        if let Some((ordinal, named)) = self.device {
            match GpuStaticSolver::new(problem, settings, ordinal) {
                Ok(solver) => {
                    let report = solver.report();
                    self.device_bytes = self.device_bytes.max(Some(report.bytes));
                    self.notes.push(report.to_string());
                    return Ok(Solver::Gpu(Box::new(solver)));
                }
                Err(error) if named => return Err(error.to_string()),
                Err(error) => {
                    self.notes.push(on_the_cpu(&error));
                    self.device = None;
                    self.device_name = "cpu".into();
                }
            }
        }
        let mut settings = settings.clone();
        settings.cycle.inner = INNER.to_vec();
        let solver = Solver::Cpu(Box::new(StaticSolver::on(problem, self.grid, &settings)));
        memory::forget_code();
        Ok(solver)
    }
}

fn on_the_cpu(error: &DeviceError) -> String {
    format!("warning: running on the CPU: {error}")
}

/// What of these settings devices do not know, as the beginning of a sentence.
fn only_cpu(settings: &StaticSettings, grid: &Grid) -> Option<&'static str> {
    let cycle = !matches!(settings.cycle, None | Some(Cycle::K));
    let reasons = [
        (
            settings.coarse_operator == Some(CoarseOperator::Averaged),
            "the papers' method (coarse_operator = averaged, preset = papers) runs",
        ),
        (matches!(grid, Grid::Joined(_)), "periodic boundary conditions are solved"),
        (settings.precision == Some(PreconditionerPrecision::F64), "solver.precision = f64 works"),
        (cycle, "solver.cycle = v, w or f works"),
        (settings.smoother_ratio.is_some(), "solver.smoother_ratio works"),
        (settings.coarse_solver.is_some(), "solver.coarse_solver works"),
    ];
    reasons.into_iter().find(|reason| reason.0).map(|reason| reason.1)
}

/// The settings of Galerkin levels as the kernels take them.
fn cycle(settings: &StaticSettings) -> CycleSettings {
    let mut cycle = CycleSettings {
        ratio: settings.smoother_ratio,
        split: settings.coarse_operator != Some(CoarseOperator::Galerkin),
        ..CycleSettings::default()
    };
    if let Some(degree) = settings.smoother_degree {
        cycle.degree = [degree as usize; 2];
    }
    if let Some(levels) = settings.levels {
        // Level 1 is always there.
        cycle.levels = (levels as usize).max(2);
    }
    cycle.kind = match settings.cycle {
        None | Some(Cycle::K) => CycleKind::K,
        Some(Cycle::V) => CycleKind::V,
        Some(Cycle::W) => CycleKind::W,
        Some(Cycle::F) => CycleKind::F,
    };
    if let Some(CoarseSolver::Jacobi(steps)) = settings.coarse_solver {
        cycle.bottom_steps = Some(steps as usize);
    }
    cycle
}

/// The settings of averaged moduli; what is not given is as in the papers.
fn averaged(settings: &StaticSettings) -> Result<AveragedSettings, String> {
    let papers = AveragedSettings::default();
    Ok(AveragedSettings {
        levels: settings.levels.map_or(papers.levels, |levels| levels as usize),
        cycle: match settings.cycle {
            None | Some(Cycle::W) => CycleKind::W,
            Some(Cycle::V) => CycleKind::V,
            Some(Cycle::F) => CycleKind::F,
            Some(Cycle::K) => {
                let text = "cycle = \"k\" goes with coarse_operator = \"split\" or \"galerkin\"; averaged moduli have \"v\", \"w\" and \"f\"";
                return Err(format!("solver: {text}"));
            }
        },
        degree: settings.smoother_degree.map_or(papers.degree, |degree| degree as usize),
        ratio: settings.smoother_ratio.unwrap_or(papers.ratio),
        bottom: match settings.coarse_solver {
            None => papers.bottom,
            Some(CoarseSolver::Jacobi(steps)) => Some(steps as usize),
            Some(CoarseSolver::Direct) => None,
        },
        single: settings.precision == Some(PreconditionerPrecision::F32),
        tolerance: settings.tolerance,
        from_start: settings.norm == ResidualNorm::Start,
        iterations: settings.max_iterations as usize,
    })
}

//! The one place where the solver of the kernels is called.

use std::ops::ControlFlow;
use std::time::Instant;

use pogo_formats::voxel::setup::{CoarseOperator, CoarseSolver, Cycle, PreconditionerPrecision, StaticSettings};
use pogo_kernels::cuda::{DeviceError, device_name};
use pogo_kernels::voxel::{
    AveragedSettings, CycleSettings, GpuStaticSolver, SolverSettings, StaticProblem, StaticSolver, solve_averaged,
};

use crate::config::DeviceChoice;

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

/// A preconditioner, where it is.
enum Solver<'a> {
    Cpu(Box<StaticSolver<'a>>),
    Gpu(Box<GpuStaticSolver>),
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
    /// For these settings.
    ///
    /// # Errors
    /// A message for a setting that the kernels do not offer, or for a device that the user named and that cannot be used.
    pub fn new(settings: &StaticSettings, choice: DeviceChoice) -> Result<Self, String> {
        let limits = (settings.tolerance, settings.max_iterations as usize);
        let method = match settings.coarse_operator {
            Some(CoarseOperator::Averaged) => Method::Averaged(averaged(settings)?, limits),
            _ => Method::Split(SolverSettings { tolerance: limits.0, iterations: limits.1, cycle: cycle(settings)? }),
        };
        let mut notes = Vec::new();
        let averaged = matches!(method, Method::Averaged(..));
        let device = match choice {
            DeviceChoice::Cuda(_) if averaged => {
                return Err(
                    "the papers' method runs on the CPU: say --device cpu, or leave coarse_operator = averaged \
                            (preset = papers) out"
                        .into(),
                );
            }
            DeviceChoice::Cuda(ordinal) => Some((ordinal, device_name(ordinal).map_err(|error| error.to_string())?)),
            DeviceChoice::Auto if !averaged => match device_name(0) {
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
            device_name: device.as_ref().map_or_else(|| "cpu".to_owned(), |(_, name)| name.clone()),
            device: device.map(|(ordinal, _)| (ordinal, choice != DeviceChoice::Auto)),
            device_bytes: None,
            notes,
            last: None,
        })
    }

    /// Gives the memory of the preconditioner back.
    pub fn release(&mut self) {
        self.last = None;
    }

    /// Solves one load case, from `start` where it is given; `progress` hears of each iteration and may stop it.
    ///
    /// # Errors
    /// Not enough memory, or a device that fails.
    pub fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        start: Option<&[f64]>,
        progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
    ) -> Result<Solved, String> {
        let began = Instant::now();
        let mut setup_seconds = 0.0;
        let solved = match &self.method {
            Method::Averaged(settings, limits) => {
                solve_averaged(problem, settings, *limits, problem.fixed, problem.forces, start, progress)
                    .map_err(|error| error.to_string())?
            }
            Method::Split(settings) => {
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
                let solved = match &mut solver {
                    Solver::Cpu(solver) => solver.solve(problem.fixed, problem.forces, start, progress),
                    Solver::Gpu(solver) => solver
                        .solve(problem.fixed, problem.forces, start, progress)
                        .map_err(|error| error.to_string())?,
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
        Ok(Solver::Cpu(Box::new(StaticSolver::new(problem, settings))))
    }
}

fn on_the_cpu(error: &DeviceError) -> String {
    format!("warning: running on the CPU: {error}")
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

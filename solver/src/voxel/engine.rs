//! The one place where the solver of the kernels is called.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pogo_formats::system::memory::size;
use pogo_formats::system::threads::{self, ThreadError};
use pogo_formats::timings::{self, timed};
use pogo_formats::voxel::VoxelSetup;
use pogo_kernels::device::{DeviceError, device_name};
use pogo_kernels::dynamics::MOST_DEVICES_BY_MESSAGES;
use pogo_kernels::papers::voxel::solve_averaged;
use pogo_kernels::ranks::Ranks;
use pogo_kernels::voxel::{
    FixedDof, GpuStaticSolver, Grid, NodalForce, Solution, SolverSettings, StaticProblem, StaticSolver,
};

use super::settings::{Method, only_cpu};
use crate::call::Call;
use crate::config::Exchange;
use crate::device::all_or_the_cause;
use crate::error::{Kept, SolveError};
use crate::heap;
use crate::interrupt::Interrupts;
use crate::observe::Observer;

/// [`CycleSettings::inner`](pogo_kernels::voxel::CycleSettings::inner) on the CPU: the finest level is what costs there, and
/// a step more on level 2 saves up to a sixth of the iterations.
const INNER: [usize; 3] = [2, 4, 2];

/// Between two lines about the iteration.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Follows the iterations of a solve, and stops them when that is asked for.
pub(super) struct Watcher<'a> {
    pub observer: &'a mut dyn Observer,
    interrupts: &'a Interrupts,
    last_line: Instant,
}

impl<'a> Watcher<'a> {
    pub fn new(observer: &'a mut dyn Observer, interrupts: &'a Interrupts) -> Self {
        Self { observer, interrupts, last_line: Instant::now() }
    }

    fn iteration(&mut self, iteration: usize, residual: f64) -> ControlFlow<()> {
        if self.last_line.elapsed() >= LOG_INTERVAL {
            self.observer.note(&format!("iteration {iteration}, relative residual {residual:.1e}"));
            self.last_line = Instant::now();
        }
        if self.interrupts.stop_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What follows the iterations.
type Progress<'p> = dyn FnMut(usize, f64) -> ControlFlow<()> + Send + 'p;

/// A preconditioner, where it is.
enum Solver<'a> {
    /// One for each rank of this process.
    Cpu(Vec<StaticSolver<'a>>),
    /// One for all devices, or one for each rank of this process.
    Gpu(Vec<GpuStaticSolver>),
}

/// Solves load cases one after the other; those that fix the same degrees of freedom share the preconditioner.
pub(super) struct Engine<'a> {
    method: Method,
    call: &'a Call<'a>,
    /// How nodes are found: on a device by bricks.
    pub grid: Grid<'a>,
    /// The devices of this process in use; none means the CPU.
    devices: Vec<u32>,
    /// `cpu`, or the names of the devices.
    pub device_name: String,
    /// Largest memory in use on a device, bytes.
    pub device_bytes: Option<u64>,
    /// The last solver, with the degrees of freedom that it was made for.
    last: Option<(Vec<(u32, u8)>, Solver<'a>)>,
}

impl<'a> Engine<'a> {
    /// For the settings of a model, with the nodes of elements found as `grid` says on one CPU, and by bricks on a device or on
    /// several ranks, of which there can be `most_ranks`.
    ///
    /// # Errors
    /// Settings that exclude each other, a device that the user named and that cannot be used, or a model that ranks cannot
    /// share.
    pub fn new(
        setup: &VoxelSetup,
        most_ranks: usize,
        grid: Grid<'a>,
        call: &'a Call<'a>,
        observer: &mut dyn Observer,
    ) -> Result<Self, SolveError> {
        let method = Method::new(&setup.solver).map_err(|reason| call.refuse(reason))?;
        if let (Some(what), true) = (only_cpu(setup), call.device.is_named()) {
            return Err(call.refuse(format!("{what} on the CPU only: say --device cpu, or leave it out")));
        }
        let cpu = |_: &mut dyn Observer| Ok((Vec::new(), "cpu".to_owned()));
        let gpu = |first, _: &mut dyn Observer| {
            let devices = call.device.ordinals().unwrap_or_else(|| vec![first]);
            let names = names_of(&devices)?;
            Ok((devices, names))
        };
        let (devices, device_name) = if call.team.is_several() {
            let devices = call.device.ordinals().unwrap_or_default();
            check_shared(&method, if devices.is_empty() { most_ranks } else { MOST_DEVICES_BY_MESSAGES }, grid, call)?;
            let names = names_of_ranks(call, &devices)?;
            (devices, names)
        } else {
            call.device.choose(observer, cpu, gpu).map_err(|error: DeviceError| call.refuse(error))?
        };
        let engine = Self { method, call, grid, devices, device_name, device_bytes: None, last: None };
        let tables = engine.grid_name();
        if !engine.is_on_cpu() && call.team.is_several() && call.settings.exchange != Exchange::Messages {
            observer.note(
                "the devices exchange messages through the memory of the hosts: the processes are on several hosts, see different \
                 devices, or solve the cases of a study",
            );
        }
        let others = if engine.is_on_cpu() { "several ranks find" } else { "a device finds" };
        if engine.is_on_cpu() && !call.team.is_several() || tables == "brick" {
            return Ok(engine);
        }
        observer
            .note(&format!("the {tables} tables of the file are for one process on a CPU: {others} nodes by bricks"));
        Ok(Self { grid: Grid::Bricks, ..engine })
    }

    /// How nodes are found, in one word.
    pub fn grid_name(&self) -> &'static str {
        match self.grid {
            Grid::Bricks => "brick",
            Grid::Tables(tables) => tables.name(),
            Grid::Domains(_) => "domains",
            Grid::Joined(_) => "periodic",
        }
    }

    pub fn is_on_cpu(&self) -> bool {
        self.devices.is_empty()
    }

    /// Gives the memory of the preconditioner back.
    pub fn release(&mut self) {
        timed("release", || self.last = None);
    }

    /// Solves one load case under these forces, not those of `problem`, from `start` where it is given. Returns the
    /// solution, in the time of which its set-up counts, and the time of the set-up, s. `n_kept` load cases are on disk.
    ///
    /// # Errors
    /// Not enough memory, a device that fails, or a last level that is too large to be factorised as it should be.
    pub fn solve(
        &mut self,
        problem: &StaticProblem<'a>,
        forces: &[NodalForce],
        start: Option<&[f64]>,
        n_kept: usize,
        watcher: &mut Watcher<'_>,
    ) -> Result<(Solution, f64), SolveError> {
        let began = Instant::now();
        let (settings, direct) = match &self.method {
            Method::Averaged(settings) => {
                let mut progress = |iteration, residual| watcher.iteration(iteration, residual);
                let solution = solve_averaged(problem, self.grid, settings, forces, start, &mut progress)
                    .map_err(|error| self.call.refuse(error))?;
                return Ok((Solution { seconds: began.elapsed().as_secs_f64(), ..solution }, 0.0));
            }
            Method::Galerkin(settings, direct) => (settings.clone(), *direct),
        };
        let mut setup_seconds = 0.0;
        let fixed = || problem.fixed.iter().map(|fixed| (fixed.node, fixed.direction));
        let (made_for, mut solver) = match self.last.take() {
            Some((last, solver)) if last.iter().copied().eq(fixed()) => (last, solver),
            old => {
                // The old one goes before the new one is made: there is room for one.
                drop(old);
                let solver = timed("set up", || self.make(problem, &settings, watcher.observer))?;
                setup_seconds = began.elapsed().as_secs_f64();
                (fixed().collect(), solver)
            }
        };
        if let (Solver::Cpu(solvers), true) = (&solver, direct)
            && let Some(reason) = solvers[0].not_factorised()
        {
            let reason = format!("solver.coarse_solver = \"direct\": {reason}; allow more levels");
            return Err(self.call.refuse(reason));
        }
        let mut progress = |iteration, residual| watcher.iteration(iteration, residual);
        let _iterating = timings::stage("iterate");
        let solution = match &mut solver {
            Solver::Cpu(solvers) => self.on_cpu(solvers, (problem.fixed, forces, start), &mut progress)?,
            Solver::Gpu(solvers) => {
                let lost = |source| SolveError::DeviceLost { source, kept: Kept::Displacements(n_kept) };
                self.on_devices(solvers, (problem.fixed, forces, start), &mut progress)?.map_err(lost)?
            }
        };
        self.last = Some((made_for, solver));
        Ok((Solution { seconds: began.elapsed().as_secs_f64(), ..solution }, setup_seconds))
    }

    /// A solver with its preconditioner.
    fn make(
        &mut self,
        problem: &StaticProblem<'a>,
        settings: &SolverSettings,
        observer: &mut dyn Observer,
    ) -> Result<Solver<'a>, SolveError> {
        if !self.is_on_cpu() && self.call.team.is_several() {
            return self.make_over_ranks(problem, settings, observer);
        }
        if !self.is_on_cpu() {
            match GpuStaticSolver::new(problem, settings, &self.devices) {
                Ok(solver) => {
                    let report = solver.report();
                    self.device_bytes = self.device_bytes.max(report.bytes.iter().copied().max());
                    observer.note(&report.to_string());
                    return Ok(Solver::Gpu(vec![solver]));
                }
                Err(error) if self.call.device.is_named() => return Err(self.call.refuse(error)),
                Err(error) => {
                    observer.note(&format!("warning: running on the CPU: {error}"));
                    self.devices.clear();
                    self.device_name = "cpu".into();
                }
            }
        }
        let mut settings = settings.clone();
        settings.cycle.inner = INNER.to_vec();
        let team = &self.call.team;
        // All ranks decide alike.
        let [left, n_processes] = team.sum(std::iter::once([self.call.memory_left(), 1.0]));
        settings.cycle.phase_bytes = left / n_processes;
        let of_rank = |ranks| StaticSolver::over(problem, &settings, ranks);
        let solvers = match &team.local[..] {
            _ if !team.is_several() => vec![StaticSolver::new(problem, self.grid, &settings)],
            [only] => vec![of_rank(only)],
            several => threads::in_pools(several.iter(), team.threads_of_rank(self.call.settings.threads), of_rank)?,
        };
        solvers[0].shares.iter().for_each(|shares| observer.note(&shares.to_string()));
        if let Some(bytes) = solvers[0].phases_left_out() {
            observer.note(&format!(
                "moduli differ by phases, whose own coarse nodes need {} more than there is: coarse nodes are common, and the \
                 iterations many more; --memory allows more",
                size(bytes)
            ));
        }
        heap::forget_code();
        Ok(Solver::Cpu(solvers))
    }

    /// Solvers of ranks with a device each.
    fn make_over_ranks(
        &mut self,
        problem: &StaticProblem<'a>,
        settings: &SolverSettings,
        observer: &mut dyn Observer,
    ) -> Result<Solver<'a>, SolveError> {
        let team = &self.call.team;
        let made = match (&team.local[..], &self.devices[..]) {
            ([ranks], &[ordinal]) => vec![GpuStaticSolver::over(problem, settings, ordinal, ranks)],
            (several, devices) => {
                let make = |(ranks, &ordinal): (&Arc<dyn Ranks>, &u32)| {
                    GpuStaticSolver::over(problem, settings, ordinal, ranks)
                };
                threads::in_pools(several.iter().zip(devices), team.threads_of_rank(self.call.settings.threads), make)?
            }
        };
        let made = all_or_the_cause(made).map_err(|error| match error {
            // The other rank says why.
            DeviceError::OnRank { .. } => SolveError::Device(error),
            error => self.call.refuse(error),
        });
        let solvers = team.agree_each_time(made)?;
        for solver in &solvers {
            let report = solver.report();
            self.device_bytes = self.device_bytes.max(report.bytes.iter().copied().max());
        }
        solvers[0].shares().iter().for_each(|shares| observer.note(&shares.to_string()));
        observer.note(&solvers[0].report().to_string());
        Ok(Solver::Gpu(solvers))
    }

    /// Solves a load case on the devices of this process, each of which has a rank if there are several.
    fn on_devices(
        &self,
        solvers: &mut [GpuStaticSolver],
        (fixed, forces, start): (&[FixedDof], &[NodalForce], Option<&[f64]>),
        progress: &mut Progress<'_>,
    ) -> Result<Result<Solution, DeviceError>, ThreadError> {
        if let [only] = solvers {
            return Ok(only.solve(fixed, forces, start, progress));
        }
        let n_threads = self.call.team.threads_of_rank(self.call.settings.threads);
        let solve = |(solver, progress): (&mut GpuStaticSolver, Option<&mut Progress<'_>>)| match progress {
            Some(progress) => solver.solve(fixed, forces, start, progress),
            None => solver.solve(fixed, forces, start, &mut |_, _| ControlFlow::Continue(())),
        };
        let solved = threads::in_pools(solvers.iter_mut().zip(of_first(progress)), n_threads, solve)?;
        Ok(all_or_the_cause(solved).map(|mut solved| solved.swap_remove(0)))
    }

    /// Solves a load case on the ranks of this process, of which the first says what comes of it.
    fn on_cpu(
        &self,
        solvers: &mut [StaticSolver<'a>],
        (fixed, forces, start): (&[FixedDof], &[NodalForce], Option<&[f64]>),
        progress: &mut Progress<'_>,
    ) -> Result<Solution, ThreadError> {
        if let [only] = solvers {
            return Ok(only.solve(fixed, forces, start, progress));
        }
        let n_threads = self.call.team.threads_of_rank(self.call.settings.threads);
        let solve = |(solver, progress): (&mut StaticSolver<'a>, Option<&mut Progress<'_>>)| match progress {
            Some(progress) => solver.solve(fixed, forces, start, progress),
            None => solver.solve(fixed, forces, start, &mut |_, _| ControlFlow::Continue(())),
        };
        Ok(threads::in_pools(solvers.iter_mut().zip(of_first(progress)), n_threads, solve)?.swap_remove(0))
    }
}

/// What follows the iterations of the first rank of a process, and nothing for the others.
fn of_first<'p, 'q>(progress: &'p mut Progress<'q>) -> impl Iterator<Item = Option<&'p mut Progress<'q>>> {
    std::iter::once(Some(progress)).chain(std::iter::repeat_with(|| None))
}

/// Names of devices, one after the other.
fn names_of(devices: &[u32]) -> Result<String, DeviceError> {
    let names: Vec<String> = devices.iter().map(|&device| device_name(device)).collect::<Result<_, _>>()?;
    Ok(names.join(", "))
}

/// Names of the devices of all ranks, or `cpu`. Collective.
fn names_of_ranks(call: &Call<'_>, devices: &[u32]) -> Result<String, SolveError> {
    if call.n_devices_of_team()? == 0 {
        return Ok("cpu".into());
    }
    let names = call.device.wait().and_then(|()| names_of(devices));
    let own = call.team.agree_so_far(names.map_err(|error| call.refuse(error)))?;
    let [ranks] = &call.team.local[..] else { return Ok(own) };
    let all = ranks.all_gather(own.into_bytes());
    Ok(all.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(", "))
}

/// Whether ranks can share a model.
fn check_shared(method: &Method, most_ranks: usize, grid: Grid<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    let n_ranks = call.team.n_ranks();
    if matches!(method, Method::Averaged(_)) {
        return Err(call.team.refuse("a voxel model with solver.coarse_operator = averaged"));
    }
    if matches!(grid, Grid::Joined(_)) {
        return Err(call.team.refuse("a voxel model with periodic faces"));
    }
    if n_ranks > most_ranks {
        let reason = format!("{n_ranks} ranks are too many for this model, which at most {most_ranks} can share");
        return Err(call.refuse(reason));
    }
    Ok(())
}

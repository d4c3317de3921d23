//! The stepper of a problem, on the CPU or a device.

use std::sync::Arc;
use std::thread::Scope;
use std::time::Instant;

use pogo_formats::domains::SubDomains;
use pogo_formats::spring::SpringSetup;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads;
use pogo_formats::timings::timed;
use pogo_formats::words::counted;
use pogo_kernels::device::DeviceError;
use pogo_kernels::ranks::Ranks;
use pogo_kernels::spring::{
    Addressing, GpuError, GpuOptions, GpuPlan, GpuReport, PartMember, SpringError, SpringProblem, SpringStepper, State,
    TeamStepper, Units, cpu_stepper, gpu_stepper,
};

use super::report;
use crate::call::Call;
use crate::config::AddressingChoice;
use crate::device::MayBeDevice;
use crate::error::SolveError;
use crate::observe::Observer;
use crate::team::{Cells, Split};

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) | Self::Scheme { .. } => None,
        }
    }
}

/// What steps a problem, and on what.
pub(super) struct Engine<'a> {
    pub stepper: Box<dyn SpringStepper<'a> + 'a>,
    /// `cpu`, or the name of the device.
    pub device: String,
    pub n_threads: usize,
    /// The one in use, never [`Addressing::Automatic`].
    pub addressing: Addressing,
    pub bytes_per_particle_step: f64,
}

impl<'a> Engine<'a> {
    /// None in a process whose rank 0 leads, once that is done. Other parts of this process are threads in `scope`.
    pub fn new<'scope, 'env>(
        problem: &SpringProblem<'a>,
        state: &State,
        setup: &SpringSetup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Option<Self>, SolveError>
    where
        'a: 'env,
    {
        if call.team.is_several() {
            // Every process has to be here before they tell each other anything.
            call.team.agree_so_far(Ok(()))?;
            if call.n_devices_of_team()? > 0 {
                return Self::by_devices(problem, state, call, observer, scope);
            }
            let automatic = |observer: &mut dyn Observer| on_cpu(problem.mesh.grid.is_some(), setup, observer);
            let addressing = named(call.settings.addressing).unwrap_or_else(|| automatic(observer));
            return Self::by_ranks(problem, state, addressing, call, observer, scope);
        }
        let made = Self::of_one(problem, state, setup, call, observer);
        made.map(Some).map_err(|error| refuse(error, problem, call))
    }

    /// The leader's engine of a model that is cut into a sub-domain for each rank.
    fn by_ranks<'scope, 'env>(
        problem: &SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        call: &Call<'_>,
        observer: &mut dyn Observer,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Option<Self>, SolveError>
    where
        'a: 'env,
    {
        let units = problem.units(addressing).map_err(|error| call.refuse(report::explain(&error, &problem.mesh)))?;
        let n_ranks = call.team.n_ranks();
        if addressing == Addressing::Implicit && n_ranks > units.n {
            return Err(call.refuse(format!(
                "the grid has {}, too few for {n_ranks} ranks: use at most {}, or --addressing explicit",
                counted(units.n, "row"),
                units.n
            )));
        }
        let domains = split(problem, &units, call, observer)?;
        let domains = domains.view();
        let n_threads = call.team.threads_of_rank(call.settings.threads);
        let refuse = |error: SpringError| call.refuse(report::explain(&error, &problem.mesh));
        let member = |ranks: &Arc<dyn Ranks>| {
            let precision = call.settings.precision;
            PartMember::on_cores(precision, problem, &domains, ranks, state, (addressing, n_threads))
        };
        let members: Result<Vec<_>, SpringError> = call.team.local.par_iter().map(member).collect();
        let members = call.team.agree(members.map_err(refuse))?;
        let (members, bytes): (Vec<_>, Vec<f64>) = members.into_iter().unzip();
        let start = |serve: Box<dyn FnOnce() + Send + 'scope>| threads::spawn_scoped(scope, "part", serve).map(drop);
        let Some((ranks, member)) = call.team.lead_or_serve_in(members, start)? else { return Ok(None) };
        let stepper = TeamStepper::new(problem.clone(), &domains, ranks, member, state).map_err(refuse)?;
        Ok(Some(Self {
            stepper: Box::new(stepper),
            device: "cpu".into(),
            n_threads: n_threads * call.team.n_ranks(),
            addressing,
            bytes_per_particle_step: bytes[0],
        }))
    }

    /// The leader's engine of a model that is cut into a sub-domain for each of several CUDA devices of this host.
    fn by_devices<'scope, 'env>(
        problem: &SpringProblem<'a>,
        state: &State,
        call: &Call<'_>,
        observer: &mut dyn Observer,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Option<Self>, SolveError>
    where
        'a: 'env,
    {
        let precision = call.settings.precision;
        let addressing = named(call.settings.addressing).unwrap_or(Addressing::Automatic);
        let plan = call.device.wait().map_err(GpuError::from).and_then(|()| {
            let first = call.device.ordinals().and_then(|ordinals| ordinals.first().copied()).unwrap_or_default();
            let options = GpuOptions { ordinal: first, ..GpuOptions::default() };
            GpuPlan::new(precision, problem, addressing, options)
        });
        let plan = call.team.agree_so_far(plan.map_err(|error| refuse(error, problem, call)))?;
        // Devices of one host may differ, and so may what suits them; all do what suits the leader's.
        let plan = GpuPlan::from_bytes(&call.team.message_of_the_leader(plan.to_bytes()));
        let units = timed("cut", || plan.units(problem));
        let domains = timed("cut", || split(problem, &units, call, observer))?;
        let domains = domains.view();
        let set_up = |ranks: &Arc<dyn Ranks>, ordinal: u32, exchange| {
            let made = PartMember::on_device(precision, problem, &domains, ranks, state, (plan, ordinal, exchange));
            made.map_err(|error| refuse(error, problem, call))
        };
        let (members, reports): (Vec<_>, Vec<_>) = call.members_with_exchange(set_up, observer)?.into_iter().unzip();
        let bytes = reports.iter().map(|report| [report.memory.bytes() as f64, 0.0]);
        let [bytes, _] = call.team.sum(bytes);
        let GpuReport { device, addressing, bytes_per_particle_step, .. } = reports[0].clone();
        let device = format!("{} x {device}", call.team.n_ranks());
        observer.note(&format!("{device}: {:.2} GB in use on all", bytes / 1e9));
        let start = |serve: Box<dyn FnOnce() + Send + 'scope>| threads::spawn_scoped(scope, "part", serve).map(drop);
        let Some((ranks, member)) = call.team.lead_or_serve_in(members, start)? else { return Ok(None) };
        let stepper = timed("springs", || TeamStepper::new(problem.clone(), &domains, ranks, member, state))
            .map_err(|error| call.refuse(report::explain(&error, &problem.mesh)))?;
        Ok(Some(Self { stepper: Box::new(stepper), device, n_threads: 1, addressing, bytes_per_particle_step }))
    }

    fn of_one(
        problem: &SpringProblem<'a>,
        state: &State,
        setup: &SpringSetup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, GpuError> {
        let choice = call.settings.addressing;
        let cpu = |observer: &mut dyn Observer| {
            let automatic = || on_cpu(problem.mesh.grid.is_some(), setup, observer);
            let addressing = named(choice).unwrap_or_else(automatic);
            let n_threads = call.settings.n_threads();
            let made = cpu_stepper(call.settings.precision, problem.clone(), state, addressing, n_threads)?;
            let (stepper, bytes_per_particle_step) = made;
            Ok(Self { stepper, device: "cpu".into(), n_threads, addressing, bytes_per_particle_step })
        };
        let gpu = |ordinal, _: &mut dyn Observer| {
            // On a device the fastest addressing depends on the size, too.
            let addressing = named(choice).unwrap_or(Addressing::Automatic);
            let options = GpuOptions { ordinal, ..GpuOptions::default() };
            let made = gpu_stepper(call.settings.precision, problem.clone(), state, addressing, options)?;
            let (stepper, GpuReport { device, addressing, bytes_per_particle_step, .. }) = made;
            Ok(Self { stepper, device, n_threads: 1, addressing, bytes_per_particle_step })
        };
        call.device.choose(observer, cpu, gpu)
    }
}

/// What a device or a model that it cannot step is to the user.
fn refuse(error: GpuError, problem: &SpringProblem<'_>, call: &Call<'_>) -> SolveError {
    match error {
        GpuError::Problem(error) => call.refuse(report::explain(&error, &problem.mesh)),
        GpuError::Device(error) => SolveError::Device(error),
        error @ GpuError::Scheme { .. } => call.refuse(error),
    }
}

/// Cuts a model into a sub-domain of whole units for each rank, of about equal work.
fn split(
    problem: &SpringProblem<'_>,
    units: &Units,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<SubDomains, SolveError> {
    let (began, n_ranks) = (Instant::now(), call.team.n_ranks());
    let cells = Cells::of_counted(problem.cost(units), problem.joined(units).into_iter());
    let domain = cells.cut(n_ranks).map_err(|reason| call.refuse(reason))?;
    let domains = problem.domains(units, &domain, n_ranks, "metis");
    let split = Split::new(&domains.view(), &domain, &cells.cost, began.elapsed().as_secs_f64());
    observer.note(&split.line("particle", problem.n_particles()));
    Ok(domains)
}

/// The addressing that the user named.
fn named(choice: AddressingChoice) -> Option<Addressing> {
    match choice {
        AddressingChoice::Auto => None,
        AddressingChoice::Implicit => Some(Addressing::Implicit),
        AddressingChoice::Explicit => Some(Addressing::Explicit),
        AddressingChoice::ExplicitGlobal => Some(Addressing::ExplicitGlobal),
    }
}

/// What `auto` means on the CPU: implicit addressing where there is a grid, unless springs are added, which it may not have.
fn on_cpu(has_grid: bool, setup: &SpringSetup, observer: &mut dyn Observer) -> Addressing {
    if !has_grid {
        return Addressing::Explicit;
    }
    if setup.additions.is_empty() {
        return Addressing::Implicit;
    }
    observer.note("springs are added: explicit addressing");
    Addressing::Explicit
}

pub(super) const fn name_of(addressing: Addressing) -> &'static str {
    match addressing {
        Addressing::Automatic => "automatic",
        Addressing::Implicit => "implicit",
        Addressing::Explicit => "explicit",
        Addressing::ExplicitGlobal => "explicit-global",
    }
}

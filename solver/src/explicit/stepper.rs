//! The stepper of a problem, on the CPU or a device, and the largest stable increment.

use std::sync::Arc;
use std::time::Instant;

use pogo_formats::domains::SubDomains;
use pogo_formats::system::parallel::iterate::*;
use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::State;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::explicit::elements::{StableIncrement, damped_factors, global_stable_increment};
use pogo_kernels::explicit::{
    CpuOptions, ElementStepper, GpuError, GpuOptions, PartMember, Problem, StepperError, TeamStepper, cpu_stepper,
    gpu_shot, gpu_stepper,
};
use pogo_kernels::ranks::Ranks;

use crate::call::Call;
use crate::config::Precision;
use crate::device::MayBeDevice;
use crate::error::SolveError;
use crate::observe::Observer;
use crate::team::{Cells, Split};

/// Iterations of the estimate of the whole model's limit; they leave it under 1 % too high.
const LIMIT_ITERATIONS: usize = 100;
/// Estimates with damping in proportion to the stiffness: they leave 2 % of the gain.
const DAMPED_ROUNDS: usize = 6;
/// Factor on that estimate.
const LIMIT_MARGIN: f64 = 0.98;

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) => None,
        }
    }
}

/// A stepper, and the device on which it runs.
pub(super) struct Engine {
    pub stepper: Box<dyn ElementStepper>,
    pub bytes_per_node_step: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
    pub n_threads: usize,
    /// Shots that the device steps at once, this one among them; else 1.
    pub shots_at_once: usize,
}

impl Engine {
    /// None in a process whose rank 0 leads, once that is done.
    pub fn new(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>, SolveError> {
        if call.team.is_several() {
            return Self::of_team(problem, state, signals, call, observer);
        }
        let made = Self::of_one(problem, state, signals, call, observer);
        made.map(Some).map_err(|error| match error {
            GpuError::Problem(error) => call.refuse(error),
            GpuError::Device(error) => SolveError::Device(error),
        })
    }

    /// The leader's engine of a model that is cut into a sub-domain for each rank.
    fn of_team(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>, SolveError> {
        // Every process has to be here before they tell each other anything.
        call.team.agree_so_far(Ok(()))?;
        let on_devices = call.n_devices_of_team()?;
        let cells = if on_devices > 0 { single_blocks(problem) } else { problem.cells() };
        let cut = Cut::new(problem, cells, call.team.n_ranks()).map_err(|reason| call.refuse(reason))?;
        observer.note(&cut.split.line("node", problem.mesh.n_nodes()));
        match on_devices {
            0 => Self::of_cores(problem, &cut, state, call),
            _ => Self::of_devices(problem, &cut, state, signals, call, observer),
        }
    }

    /// Sub-domains on the cores of this process or of several.
    fn of_cores(problem: &Problem<'_>, cut: &Cut, state: &State, call: &Call<'_>) -> Result<Option<Self>, SolveError> {
        let domains = &cut.domains.view();
        let n_threads = call.team.threads_of_rank(call.settings.threads);
        let member = |ranks: &Arc<dyn Ranks>| {
            let (precision, options) = (call.settings.precision, CpuOptions::new(n_threads));
            PartMember::on_cores(precision, problem, domains, ranks, state, options)
        };
        let members: Result<Vec<_>, StepperError> = call.team.local.par_iter().map(member).collect();
        let members = call.team.agree(members.map_err(|error| call.refuse(error)))?;
        let (members, bytes): (Vec<_>, Vec<f64>) = members.into_iter().unzip();
        let leader = call.team.lead_or_serve(members)?;
        Ok(leader.map(|(ranks, member)| Self {
            stepper: Box::new(TeamStepper::new(problem, domains, ranks, member, state, true)),
            bytes_per_node_step: bytes[0],
            device: "cpu".into(),
            n_threads: n_threads * call.team.n_ranks(),
            shots_at_once: 1,
        }))
    }

    /// Sub-domains on several CUDA devices, of this host or of several.
    fn of_devices(
        problem: &Problem<'_>,
        cut: &Cut,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Self>, SolveError> {
        let domains = &cut.domains.view();
        let set_up = |ranks: &Arc<dyn Ranks>, ordinal: u32, exchange| {
            let options = (GpuOptions { ordinal }, exchange);
            let model = (problem, domains, cut.domain.as_slice());
            let made = PartMember::on_device(call.settings.precision, model, ranks, state, signals, options);
            made.map_err(|error| match error {
                GpuError::Problem(error) => call.refuse(error),
                GpuError::Device(error) => SolveError::Device(error),
            })
        };
        let members = call.members_with_exchange(set_up, observer)?;
        let (members, reports): (Vec<_>, Vec<_>) = members.into_iter().unzip();
        let figures = reports.iter().map(|report| [report.memory.bytes() as f64, report.bytes_per_node_step]);
        let [bytes, bytes_per_node_step] = call.team.sum(figures);
        let device = format!("{} x {}", call.team.n_ranks(), reports[0].device);
        observer.note(&format!("{device}: {:.2} GB in use on all", bytes / 1e9));
        let leader = call.team.lead_or_serve(members)?;
        Ok(leader.map(|(ranks, member)| Self {
            stepper: Box::new(TeamStepper::new(problem, domains, ranks, member, state, false)),
            bytes_per_node_step,
            device,
            n_threads: 1,
            shots_at_once: 1,
        }))
    }

    fn of_one(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, GpuError> {
        let cpu = |_: &mut dyn Observer| {
            // Shots on a device do not wait for this run.
            drop(call.take_seat());
            let n_threads = call.settings.n_threads();
            let options = CpuOptions::new(n_threads);
            let (stepper, bytes_per_node_step) = cpu_stepper(call.settings.precision, problem, state, options)?;
            Ok(Self { stepper, bytes_per_node_step, device: "cpu".into(), n_threads, shots_at_once: 1 })
        };
        if !problem.copied.is_empty() {
            return cpu(observer);
        }
        let gpu = |ordinal, observer: &mut dyn Observer| {
            let options = GpuOptions { ordinal };
            let precision = call.settings.precision;
            let (stepper, report, shots_at_once) = match call.take_seat() {
                Some(seat) => gpu_shot(precision, problem, state, signals, options, seat)?,
                None => {
                    let (stepper, report) = gpu_stepper(precision, problem, state, signals, options)?;
                    (stepper, report, 1)
                }
            };
            observer.note(&format!(
                "{}: {:.2} GB in use, {:.2} GB uploaded in {:.2} s ({:.1} GB/s)",
                report.device,
                report.memory.bytes() as f64 / 1e9,
                report.uploaded as f64 / 1e9,
                report.upload_seconds,
                report.uploaded as f64 / 1e9 / report.upload_seconds.max(1e-9)
            ));
            let (bytes_per_node_step, device) = (report.bytes_per_node_step, report.device);
            Ok(Self { stepper, bytes_per_node_step, device, n_threads: 1, shots_at_once })
        };
        call.device.choose(observer, cpu, gpu)
    }
}

/// Cells of a device, which steps each block by itself.
fn single_blocks(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    (0..problem.blocks.n_blocks()).map(|block| vec![block]).collect()
}

/// A mesh that is cut into sub-domains of whole cells, of about equal work.
struct Cut {
    /// Sub-domain of each block.
    domain: Vec<u32>,
    domains: SubDomains,
    split: Split,
}

impl Cut {
    fn new(problem: &Problem<'_>, groups: Vec<Vec<usize>>, n_domains: usize) -> Result<Self, String> {
        let began = Instant::now();
        let blocks = &problem.blocks;
        let mut cell_of = vec![0; blocks.n_blocks()];
        for (cell, group) in (0..).zip(&groups) {
            group.iter().for_each(|&block| cell_of[block] = cell);
        }
        // As much as the corners of elements that are computed, and four numbers for each node that is moved.
        let work = |&b: &usize| {
            let corners: usize = blocks.runs(b).map(|run| run.connectivity.len()).sum();
            corners + 4 * blocks.own_nodes(b).len()
        };
        let cost = groups.iter().map(|group| group.iter().map(work).sum::<usize>() as i32).collect();
        let pairs = (0..blocks.n_blocks()).flat_map(|b| {
            let cell_of = &cell_of;
            blocks.halo(b).iter().map(move |&node| (cell_of[b], cell_of[blocks.block_of(node)]))
        });
        let cells = Cells::new(cost, pairs);
        let domain_of_cell = cells.cut(n_domains)?;
        let domain: Vec<u32> = cell_of.iter().map(|&cell| domain_of_cell[cell as usize]).collect();
        let domains = problem.domains(&domain, n_domains, "metis");
        let split = Split::new(&domains.view(), &domain_of_cell, &cells.cost, began.elapsed().as_secs_f64());
        Ok(Self { domain, domains, split })
    }
}

/// The stable increment as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// A lower bound of the largest stable increment, s.
    pub increment: f64,
    /// It is that of the whole model, and not the one of the stiffest element.
    pub is_exact: bool,
}

/// Node-steps up to which the limit of the whole model is worked out in any case: a second or two on one core.
const CHEAP: usize = 20_000_000;
/// Steps of a run that are worth the limit of the whole model.
const WORTH: u64 = 20 * LIMIT_ITERATIONS as u64;
/// The limit of the whole model is of use if it is larger than the elements' bound by this factor.
const GAIN: f64 = 1.05;

/// The stable increment. The bound of the elements is cheap and on the safe side. The limit of the whole model is estimated for
/// an increment beyond that, and where it costs little against the run; the choice depends on the model alone, so that every
/// device makes the same steps.
pub(super) fn stable_increment(problem: &Problem<'_>, bound: StableIncrement, n_steps: u64, n_threads: usize) -> Limit {
    let costs_little = problem.lumped_mass.len() * LIMIT_ITERATIONS <= CHEAP && n_steps >= WORTH;
    let of_elements = Limit { increment: bound.increment, is_exact: false };
    if problem.time_increment <= bound.increment && !costs_little {
        return of_elements;
    }
    match of_whole_model(problem, bound.increment, n_threads) {
        // Of an even mesh both are the same but for the margin.
        Some(limit) if limit > GAIN * bound.increment || problem.time_increment > bound.increment => {
            Limit { increment: rounded_down(limit).max(bound.increment), is_exact: true }
        }
        _ => of_elements,
    }
}

/// A number with three digits, so that processors that round otherwise agree.
fn rounded_down(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    (value / unit).floor() * unit
}

/// A lower bound of the largest stable increment of the whole model, s. With damping in proportion to the stiffness it
/// depends on the increment by itself. Relaxation leaves it that of the unrelaxed stiffness. From an increment that is not above it, such as the elements' `bound`, it leads to one
/// that is not above it either and nearer by half at least.
fn of_whole_model(problem: &Problem<'_>, bound: f64, n_threads: usize) -> Option<f64> {
    // What fluids and solids that touch do to each other is no part of K.
    if !(problem.wet.is_empty() && problem.tied.is_empty()) {
        return None;
    }
    if !problem.is_lagged() {
        return of_undamped_model(problem, n_threads);
    }
    let mut undamped = Problem { damping_beta: Vec::new(), ..problem.clone() };
    (0..DAMPED_ROUNDS).try_fold(bound, |increment, _| {
        let (mesh, beta) = (&problem.mesh, &problem.damping_beta);
        undamped.stiffness_factor = damped_factors(mesh, &problem.stiffness_factor, beta, increment);
        of_undamped_model(&undamped, n_threads).map(|limit| limit.max(increment))
    })
}

/// The same without such damping.
fn of_undamped_model(problem: &Problem<'_>, n_threads: usize) -> Option<f64> {
    let n_dofs = problem.lumped_mass.len() * problem.mesh.dimension;
    let rest = State { displacement: vec![0.0; n_dofs], increment: vec![0.0; n_dofs], ..State::default() };
    // Constraints lower frequencies alone.
    let unbound =
        Problem { rows: Default::default(), relaxation: Default::default(), monitors: Vec::new(), ..problem.clone() };
    let (mut stepper, _) = cpu_stepper(Precision::F64, &unbound, &rest, CpuOptions::new(n_threads)).ok()?;
    let constrained: Vec<u64> = problem.constraints.iter().map(|constraint| constraint.dof).collect();
    let (mass, dimension) = (&problem.lumped_mass, problem.mesh.dimension);
    // A stepper on the CPU does not fail.
    let force = |u: &[f64]| stepper.internal_force(u).unwrap_or_default();
    let limit = global_stable_increment(mass, dimension, &constrained, LIMIT_ITERATIONS, force).ok()?;
    Some(LIMIT_MARGIN * limit)
}

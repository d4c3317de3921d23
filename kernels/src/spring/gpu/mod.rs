//! The step on a CUDA device, by one of several schemes ([`Scheme`]). In double precision all give the CPU's bits, in single
//! precision its results to rounding. README.md beside this file describes the schemes.
//!
//! The tables are those of the CPU (`Grid`, `Lists`): the host keeps them, and tells the device what events change. Nothing is
//! added by atomics. Launches are recorded in a graph and replayed.

mod features;
mod host;
mod kernels;
mod layout;
mod options;
mod part;
mod run;
mod tables;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::timed;

use super::events::Schedule;
use super::springs::Springs;
use super::{Addressing, Change, SpringProblem, State};
use crate::device::{Arena, Buffer, DeviceError, Gpu, Graph, Plain, Slice, Stream};
use crate::dynamics::Part;
use crate::simd::Real;
use features::{Choice, Features};
use host::{ArrayLayout, Host};
use kernels::Kernels;
use layout::{Params, WIDE};
pub use options::{GpuError, GpuOptions, GpuReport, Scheme};
pub(super) use part::GpuMember;
pub use part::GpuPlan;
use part::{Share, Shared};
use tables::{Tables, whole_tiles, whole_words};

/// Arrays of the device that steps write, or that belong to a stretch of steps.
#[derive(Debug)]
struct Arrays<T> {
    /// u_n is in the array of its parity.
    u: [Slice<T>; 2],
    /// Δu: one array, or two where the older is needed.
    du: Vec<Slice<T>>,
    whole: Slice<u32>,
    work: Slice<f64>,
    special_heat: Slice<f64>,
    heat: Slice<f64>,
    log: Slice<[u32; 4]>,
    log_count: Slice<u32>,
    row: Slice<u32>,
    signals: Buffer<f64>,
    record: Buffer<i32>,
    recording: Buffer<f64>,
}

/// Steps a model on a CUDA device in precision `T`.
#[derive(Debug)]
pub struct GpuStepper<'a, T: Real> {
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    schedule: Schedule,
    happened: u64,
    changes: Vec<Change>,
    /// Those of this device.
    part: Part,
    /// Springs of this part that broke, of which the other devices do not know yet.
    unshared: Vec<Change>,
    host: Host<T>,
    // Graphs, buffers, modules and stream go before the context that they live in.
    graph: Option<Graph>,
    kernels: Kernels,
    form: ArrayLayout,
    tables: Tables<T>,
    arrays: Arrays<T>,
    params: Params<T>,
    report: GpuReport,
    step: u64,
    /// Step of the first row of the signals in use.
    first_row: u64,
    before: [f64; 2],
    /// What a step computes, in this order.
    shares: Vec<Share>,
    /// Where other devices have the other parts.
    shared: Option<Shared<T>>,
    arena: Arena,
    stream: Stream,
    gpu: Gpu,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl<T: Real> Send for GpuStepper<'_, T> {}

/// Degrees of freedom that forces and supports act on, increasing: each is a number that `specials` in general.cu treats.
fn acted_on(problem: &SpringProblem) -> Vec<u64> {
    let mut dofs: Vec<u64> = problem.forces.iter().map(|force| force.dof).collect();
    dofs.extend(problem.constraints.iter().map(|support| support.dof));
    dofs.sort_unstable();
    dofs.dedup();
    dofs
}

impl<T: Real> Arrays<T> {
    /// A state, on the device; `params` learns where it is.
    fn new(
        problem: &SpringProblem,
        state: &State,
        host: &Host<T>,
        (features, form, n_springs): (Features, ArrayLayout, usize),
        params: &mut Params<T>,
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        let [u0, u1] = place_numbers(["u[0]", "u[1]"], &state.displacement, host, form, arena)?;
        // Dampers read the increments of neighbours.
        let du = match features.damped {
            true => place_numbers(["du[0]", "du[1]"], &state.increment, host, form, arena)?.to_vec(),
            false => place_numbers(["du[0]"], &state.increment, host, form, arena)?.to_vec(),
        };
        let increment = |dof: u64| T::from_f64(state.increment[dof as usize] / form.unit);
        let last: Vec<T> = acted_on(problem).into_iter().map(increment).collect();
        let arrays = Self {
            u: [u0, u1],
            du,
            whole: arena.zeros("no whole tiles", 0)?,
            work: arena.zeros("work", last.len())?,
            special_heat: arena.zeros("special_heat", last.len())?,
            heat: arena.zeros("no heat", 0)?,
            log: arena.zeros("log", if features.breaks { n_springs + 1 } else { 0 })?,
            log_count: arena.zeros("log_count", 1)?,
            row: arena.zeros("row", 1)?,
            signals: Buffer::zeros(0)?,
            record: Buffer::zeros(0)?,
            recording: Buffer::zeros(0)?,
        };
        params.u = arrays.u.map(|u| u.at());
        params.du = [arrays.du[0].at(), arrays.du[arrays.du.len() - 1].at()];
        params.last = arena.copy("last", &last)?.at();
        (params.work, params.special_heat) = (arrays.work.at(), arrays.special_heat.at());
        (params.log, params.log_count) = (arrays.log.at(), arrays.log_count.at());
        params.row = arrays.row.at();
        Ok(arrays)
    }

    /// What the kernels of a choice need beside the state.
    fn add_for_kernels(
        &mut self,
        problem: &SpringProblem,
        host: &Host<T>,
        kernels: &Kernels,
        features: Features,
        params: &mut Params<T>,
        arena: &mut Arena,
    ) -> Result<(), DeviceError> {
        if kernels.single.is_some() {
            params.exchange = arena.zeros::<[u32; 4]>("exchange", 2 * problem.n_particles())?.at();
        }
        params.tickets = arena.zeros::<u32>("tickets", 2 + kernels.tiles() as usize)?.at();
        if let (Some(_), Host::Grid(grid)) = (kernels.columns, host) {
            self.whole = arena.copy("whole", &whole_tiles(grid))?;
            (params.whole, params.whole_words) = (self.whole.at(), whole_words(grid) as u32);
        }
        if features.heats {
            self.heat = arena.zeros("heat", kernels.warps())?;
            params.heat = self.heat.at();
        }
        Ok(())
    }
}

/// Most numbers that are sent to the device one by one.
const FEW: usize = 256;

/// The same numbers of all degrees of freedom in several arrays of the device. Where few are not zero, as where a model begins at
/// rest, only those are sent.
fn place_numbers<T: Real, const N: usize>(
    names: [&'static str; N],
    values: &[f64],
    host: &Host<T>,
    form: ArrayLayout,
    arena: &mut Arena,
) -> Result<[Slice<T>; N], DeviceError> {
    let set = || values.par_iter().copied().enumerate().filter(|(_, value)| value.to_bits() != 0);
    let all = (set().count() > FEW).then(|| host.scatter(values, form));
    let set: Vec<(usize, f64)> = if all.is_none() { set().collect() } else { Vec::new() };
    let mut placed = Vec::new();
    for name in names {
        if let Some(all) = &all {
            placed.push(arena.copy(name, all)?);
            continue;
        }
        let array = arena.zeros(name, host.numbers(form))?;
        for &(dof, value) in &set {
            array.part(host.index(dof, form), 1).write(&[form.number::<T>(value)])?;
        }
        placed.push(array);
    }
    Ok(std::array::from_fn(|at| placed[at]))
}

/// Modules that a run is likely to need, for [`Starting`](crate::device::Starting).
pub fn gpu_modules(single: bool) -> Vec<&'static str> {
    if single { vec!["spring_f32", "spring_resident"] } else { vec!["spring_f64"] }
}

impl<'a, T: Real> GpuStepper<'a, T> {
    /// A stepper on a device, from a state at any step.
    ///
    /// # Errors
    /// No driver or device, too little memory there, a scheme that the model does not allow, or what a
    /// [`CpuStepper`](super::CpuStepper) refuses.
    pub fn new(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        options: GpuOptions,
    ) -> Result<Self, GpuError> {
        let part = Part::whole(problem.n_particles());
        Self::with(problem, part, state, addressing, options)
    }

    /// A stepper of a part, which has yet to learn where the others are.
    fn with(
        problem: SpringProblem<'a>,
        part: Part,
        state: &State,
        addressing: Addressing,
        options: GpuOptions,
    ) -> Result<Self, GpuError> {
        let mut springs = timed("springs", || Springs::prepare(&problem, state))?;
        let gpu = Gpu::open(options.ordinal)?;
        let features = Features::new::<T>(&problem);
        let choice = Choice::new(&problem, features, &gpu, addressing, options)?;
        let mut host = timed("tables", || Host::new(&problem, &springs, choice.addressing, choice.block))?;
        springs.replay(&problem, &state.changes, |particles, group| host.layout().change(particles, group));
        let mut params = parameters(&problem, features, choice, &host);
        let id_bytes = kernels::id_bytes(choice, features.even_lists(&problem), &host);
        (params.id_bytes, params.wide) = (id_bytes as u32, u32::from(id_bytes == WIDE));
        // Columns have lengths in units of twice the spacing.
        let columns = choice.addressing == Addressing::Implicit && choice.scheme != Scheme::Cached;
        let unit = problem.mesh.grid.filter(|_| columns).map_or(1.0, |grid| 2.0 * grid.spacing[0]);
        let form = ArrayLayout { wide: params.wide != 0, unit };
        let mut arena = Arena::default();
        let blocks = (choice.block, form);
        let tables = timed("place tables", || Tables::new(&problem, &host, features, blocks, &mut params, &mut arena))?;
        // All that may break between two looks at the log.
        let n_added: usize = problem.additions.iter().map(|addition| addition.springs.len()).sum();
        let n_springs = springs.len() as usize + n_added;
        let how = (features, form, n_springs);
        let mut arrays = timed("place state", || Arrays::new(&problem, state, &host, how, &mut params, &mut arena))?;
        let stream = Stream::new()?;
        let kernels = Kernels::new(&gpu, choice, features, &host, options.depth, &mut params)?;
        arrays.add_for_kernels(&problem, &host, &kernels, features, &mut params, &mut arena)?;
        let state_bytes = 4.0 * if params.wide != 0 { 4.0 } else { 3.0 } * size_of::<T>() as f64;
        let report = GpuReport {
            device: gpu.name.clone(),
            addressing: choice.addressing,
            scheme: choice.scheme,
            memory: arena.report(),
            kernel: (kernels.name.clone(), kernels.threads, kernels.step.registers, kernels.step.resident),
            bytes_per_particle_step: state_bytes + tables.bytes_per_particle,
        };
        Ok(Self {
            schedule: Schedule::new(&problem, state.step),
            happened: state.happened(),
            changes: state.changes.clone(),
            part,
            unshared: Vec::new(),
            problem,
            springs,
            host,
            graph: None,
            shares: vec![Share::whole(kernels.blocks_of_step(), params.n_specials)],
            shared: None,
            kernels,
            form,
            tables,
            arrays,
            params,
            report,
            step: state.step,
            first_row: state.step,
            before: [state.external_work, state.dissipated],
            arena,
            stream,
            gpu,
        })
    }

    /// What it runs on, and how.
    pub fn report(&self) -> &GpuReport {
        &self.report
    }
}

/// What launches are told of a problem beside its tables.
fn parameters<T: Real>(problem: &SpringProblem, features: Features, choice: Choice, host: &Host<T>) -> Params<T> {
    let [decay, _] = problem.damping_factors();
    Params {
        friction: problem.friction().0,
        inertia_factor: problem.inertia_factor(),
        time_increment: problem.time_increment,
        n_monitors: problem.monitors.len() as u32,
        n: problem.n_particles() as u32,
        len: host.len() as u32,
        block: choice.block as u32,
        n_materials: if features.lattice { problem.groups.len() as u32 / 3 } else { 1 },
        follow: u32::from(features.follow),
        damped: u32::from(features.damped),
        breaks: u32::from(features.breaks),
        decay: T::from_f64(decay),
        ..Params::zeroed()
    }
}

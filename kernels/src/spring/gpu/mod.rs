//! The step on a CUDA device, by one of several ways ([`Way`]) that all give the CPU's results to rounding (in double precision its
//! very bits).
//!
//! The tables are those of the CPU (`Grid`, `Lists`): the host keeps them, and tells the device what events change. Nothing is
//! added by atomics. Launches are recorded in a graph and replayed.

mod features;
mod host;
mod kernels;
mod options;
mod params;
mod run;
mod tables;

use cust::stream::{Stream, StreamFlags};

use super::events::Schedule;
use super::law::Constants;
use super::springs::Springs;
use super::{Addressing, Change, SpringProblem, State, Stepper};
use crate::device::{Buffer, DeviceError, Gpu, Graph, Plain};
use crate::simd::Real;
use features::{Choice, Features};
use host::{Form, Host};
use kernels::{Kernels, TILE};
pub use options::{GpuError, GpuOptions, GpuReport, Way};
use params::Params;
use tables::{Tables, whole_tiles, whole_words};

// SAFETY: numbers, one kind of them.
unsafe impl<T: Real> Plain for Constants<T> {}

/// Arrays of the device that steps write, or that belong to a stretch of steps.
#[derive(Debug)]
struct Arrays<T> {
    /// u_n is in the array of its parity.
    u: [Buffer<T>; 2],
    /// Δu: one array, or two where the older is needed.
    du: Vec<Buffer<T>>,
    /// What blocks of a resident kernel hand each other.
    exchange: Buffer<u32>,
    /// Of columns, see springs.cuh.
    tickets: Buffer<u32>,
    whole: Buffer<u32>,
    /// Of each number that something acts on: Δu_n, work, and what the energy taken differs by from that of a free number.
    last: Buffer<T>,
    work: Buffer<f64>,
    special_heat: Buffer<f64>,
    /// Energy taken, by warp of a step.
    heat: Buffer<f64>,
    log: Buffer<u32>,
    log_count: Buffer<u32>,
    signals: Buffer<f64>,
    record: Buffer<i32>,
    recording: Buffer<f64>,
    row: Buffer<u32>,
}

/// Steps a model on a CUDA device in precision `T`.
#[derive(Debug)]
pub struct GpuStepper<'a, T: Real> {
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    schedule: Schedule,
    happened: u64,
    changes: Vec<Change>,
    host: Host<T>,
    // Graphs, buffers, modules and stream go before the context that they live in.
    graph: Option<Graph>,
    kernels: Kernels,
    /// The second array of displacements holds those of the step before, and there is no Δu.
    pairs: bool,
    form: Form,
    tables: Tables<T>,
    arrays: Arrays<T>,
    params: Params<T>,
    report: GpuReport,
    step: u64,
    /// Step of the first row of the signals in use.
    first_row: u64,
    before: [f64; 2],
    stream: Stream,
    gpu: Gpu,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl<T: Real> Send for GpuStepper<'_, T> {}

/// A stepper on a device in precision `T`, from a state at any step.
///
/// # Errors
/// No driver or device, too little memory there, a way that the model does not allow, or what [`cpu`](super::cpu()) refuses.
pub fn gpu<'a, T: Real>(
    problem: SpringProblem<'a>,
    state: &State,
    addressing: Addressing,
    options: GpuOptions,
) -> Result<Box<dyn Stepper + 'a>, GpuError> {
    Ok(Box::new(GpuStepper::<T>::new(problem, state, addressing, options)?))
}

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
        features: Features,
        form: Form,
        n_springs: usize,
        params: &mut Params<T>,
    ) -> Result<Self, DeviceError> {
        let n_dofs = state.displacement.len();
        let u = host.scatter(n_dofs, form, |dof| state.displacement[dof]);
        let increments = host.scatter(n_dofs, form, |dof| state.increment[dof]);
        let older = match params.pairs {
            0 => u.clone(),
            _ => host.scatter(n_dofs, form, |dof| state.displacement[dof] - state.increment[dof]),
        };
        let even = state.step.is_multiple_of(2);
        let u = if even { [Buffer::of(&u)?, Buffer::of(&older)?] } else { [Buffer::of(&older)?, Buffer::of(&u)?] };
        let mut du = vec![Buffer::of(&increments)?];
        // Dampers read the increments of neighbours.
        if features.damped {
            du.push(Buffer::of(&increments)?);
        }
        let increment = |dof: u64| T::from_f64(state.increment[dof as usize] / form.unit);
        let last: Vec<T> = acted_on(problem).into_iter().map(increment).collect();
        let arrays = Self {
            u,
            du,
            tickets: Buffer::zeros(0)?,
            whole: Buffer::zeros(0)?,
            exchange: Buffer::zeros(0)?,
            last: Buffer::of(&last)?,
            work: Buffer::zeros(last.len())?,
            special_heat: Buffer::zeros(last.len())?,
            heat: Buffer::zeros(0)?,
            log: Buffer::zeros(if features.breaks { 4 * (n_springs + 1) } else { 0 })?,
            log_count: Buffer::zeros(1)?,
            signals: Buffer::zeros(0)?,
            record: Buffer::zeros(0)?,
            recording: Buffer::zeros(0)?,
            row: Buffer::zeros(1)?,
        };
        params.u = arrays.u.each_ref().map(Buffer::pointer);
        params.du = [arrays.du[0].pointer(), arrays.du[arrays.du.len() - 1].pointer()];
        params.last = arrays.last.pointer();
        (params.work, params.special_heat) = (arrays.work.pointer(), arrays.special_heat.pointer());
        (params.log, params.log_count) = (arrays.log.pointer(), arrays.log_count.pointer());
        params.row = arrays.row.pointer();
        Ok(arrays)
    }
}

impl<'a, T: Real> GpuStepper<'a, T> {
    /// As [`gpu`].
    ///
    /// # Errors
    /// As there.
    pub fn new(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        options: GpuOptions,
    ) -> Result<Self, GpuError> {
        let mut springs = Springs::prepare(&problem, state)?;
        let gpu = Gpu::open(options.ordinal)?;
        let features = Features::new::<T>(&problem);
        let choice = Choice::new(&problem, features, &gpu, addressing, options)?;
        let mut host = Host::new(&problem, &springs, choice.addressing, choice.block)?;
        springs.replay(&problem, &state.changes, |change, group| match group {
            Some(group) => host.layout().add(change.particles, group),
            None => host.layout().erase(change.particles),
        });

        let [decay, b] = problem.damping_factors();
        let dt = problem.time_increment;
        let mut params = Params {
            friction: problem.friction_factors(),
            inertia_factor: b * dt * dt,
            time_increment: dt,
            n_monitors: problem.monitors.len() as u32,
            n: problem.n_particles() as u32,
            len: host.len() as u32,
            block: choice.block as u32,
            n_materials: if features.lattice { problem.groups.len() as u32 / 3 } else { 1 },
            pairs: u32::from(choice.way == Way::SharedPairs),
            follow: u32::from(features.follow),
            damped: u32::from(features.damped),
            breaks: u32::from(features.breaks),
            decay: T::from_f64(decay),
            ..Params::default()
        };
        let id_bytes = kernels::id_bytes(choice, features.even_lists(&problem), &host);
        (params.id_bytes, params.wide) = (id_bytes as u32, u32::from(id_bytes == kernels::WIDE));
        // Columns have lengths in units of twice the spacing.
        let columns = choice.addressing == Addressing::Implicit && choice.way != Way::Cached;
        let unit = problem.mesh.grid.filter(|_| columns).map_or(1.0, |grid| 2.0 * grid.spacing[0]);
        let form = Form { wide: params.wide != 0, unit };
        let tables = Tables::new(&problem, &host, features, choice.block, form, &mut params)?;
        // All that may break between two looks at the log.
        let n_added: usize = problem.additions.iter().map(|addition| addition.springs.len()).sum();
        let n_springs = springs.len() as usize + n_added;
        let mut arrays = Arrays::new(&problem, state, &host, features, form, n_springs, &mut params)?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|error| DeviceError::Failed { what: "make a stream", reason: error.to_string() })?;
        let kernels = Kernels::new(&gpu, choice, features, &host, options.depth, &mut params)?;
        if choice.way == Way::Resident {
            arrays.exchange = Buffer::zeros(8 * problem.n_particles())?;
            params.exchange = arrays.exchange.pointer();
        }
        arrays.tickets = Buffer::zeros(2 + kernels.tiles() as usize)?;
        params.tickets = arrays.tickets.pointer();
        if let (Some(_), Host::Grid(grid)) = (kernels.columns, &host) {
            arrays.whole = Buffer::of(&whole_tiles(grid))?;
            (params.whole, params.whole_words) = (arrays.whole.pointer(), whole_words(grid) as u32);
        }
        if features.heats {
            arrays.heat = Buffer::zeros(kernels.warps())?;
            params.heat = arrays.heat.pointer();
        }
        let pairs = choice.way == Way::SharedPairs;
        let numbers = if pairs { 9.0 } else { 4.0 * if params.wide != 0 { 4.0 } else { 3.0 } };
        let state_bytes = numbers * size_of::<T>() as f64;
        let report = GpuReport {
            device: gpu.name.clone(),
            addressing: choice.addressing,
            way: choice.way,
            kernel: (kernels.name.clone(), kernels.threads, kernels.step.registers, kernels.step.resident),
            bytes_per_particle_step: state_bytes + tables.bytes_per_particle,
        };
        Ok(Self {
            schedule: Schedule::new(&problem, state.step),
            happened: state.happened(),
            changes: state.changes.clone(),
            problem,
            springs,
            host,
            graph: None,
            kernels,
            pairs,
            form,
            tables,
            arrays,
            params,
            report,
            step: state.step,
            first_row: state.step,
            before: [state.external_work, state.dissipated],
            stream,
            gpu,
        })
    }

    /// What it runs on, and how.
    pub fn report(&self) -> &GpuReport {
        &self.report
    }
}

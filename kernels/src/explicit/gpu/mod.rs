//! The explicit step on a CUDA device: one thread block has one block of the mesh, and computes as the CPU does.
//!
//! The tables of the block file go to the device as they lie in the map. Blocks of triangles are stepped by *fans*, a thread
//! a node (fans.cuh); other blocks in the plane by *colours*, a thread an element (colours.cuh); those in space by batches
//! of elements (solids.cuh) or by tiles of grids (march.cuh). README.md beside this file says why each is so.
//!
//! The state is doubled: a launch reads one pair (u, Δu) and writes the other. Nothing is added by atomics, so every run
//! gives the same bits. Launches are recorded in a graph of [`GRAPH_STEPS`] steps and replayed; the host waits only at the
//! end of [`advance`](Stepper::advance).
//!
//! | file | holds |
//! |---|---|
//! | `layout.rs` | the structures that kernels and host share; `layout.cuh` is written from it |
//! | `tables.rs` | how each block is stepped, and the tables that the block file does not hold |
//! | `fans.rs`, `grids.rs` | rows of fans; tiles of grids |
//! | `arrays.rs` | the arrays on the device |
//! | `launches.rs` | the kernels and their launches |
//! | `signals.rs` | signals evaluated on the device |
//! | `peers.rs`, `halo.rs` | several devices: what they write into each other's memory, of triangles and of other elements |
//! | `ground.rs`, `held.rs`, `tied.rs` | what corrects a step: dashpots, linear constraints, ties of fluids |
//! | `viscous.rs` | damping in proportion to the stiffness, and relaxation |
//! | `shots.rs` | several runs of one model that make their steps together |
//! | `wet.rs` | pairs of nodes where fluids and solids touch |
//! | `member.rs` | the part of a model that one of several devices has |

mod arrays;
mod fans;
mod grids;
mod ground;
mod halo;
mod held;
mod launches;
mod laws;
mod layout;
mod member;
mod peers;
mod shots;
mod signals;
mod tables;
mod tied;
#[cfg(test)]
pub(super) use halo::Devices;
#[cfg(test)]
pub(super) mod twin;
mod viscous;
mod wet;

use super::{ElementStepper, EnergySums, Problem, StepperError};
use crate::device::Plain as _;
use crate::device::{
    Arena, Buffer, DeviceError, Gpu, Graph, Kernel, MemoryReport, Module, Opened, Slice, Stream, arguments, field,
};
use crate::dynamics::signals::Signals;
use crate::dynamics::{State, Stepper, Steps};
use crate::explicit::projection::FIX_EVERY;
use crate::simd::Real;
use held::{HeldTables, Joints};
use launches::Launches;
use layout::{Params, WINDOW};
pub use member::GpuMember;
use member::{Lists, Shared};
use peers::Peers;
use shots::ByFans;
pub use shots::{GpuShots, MOST_SHOTS_AT_ONCE};
use signals::DeviceSignals;
use tables::Tables;
use tied::TieTables;
use wet::WetTables;

/// Steps of one graph: twice an even number, so that a graph ends on the pair of arrays that it began with.
const GRAPH_STEPS: usize = WINDOW as usize;
const _: () = assert!(GRAPH_STEPS as u64 == FIX_EVERY);
/// Memory kept free for recordings, bytes.
const RESERVE: u64 = 256 << 20;
/// What to use where a device is too small.
const ADVICE: &str = "--precision f32, a larger device, or --device cpu";
/// Thread blocks that sum energies.
const SUM_BLOCKS: usize = 512;

/// How a problem is run on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuOptions {
    /// Number of the device, from 0.
    pub ordinal: u32,
}

/// A kernel that steps a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KernelReport {
    /// Name in the module.
    pub name: String,
    /// Steps of a pass.
    pub steps: u32,
    /// Threads of a thread block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Thread blocks that a multiprocessor holds at once.
    pub resident: u32,
}

/// What a stepper on a device is and does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReport {
    /// Name of the device.
    pub device: String,
    /// Arrays on the device.
    pub memory: MemoryReport,
    /// Bytes copied to the device, and how long that took, s.
    pub uploaded: u64,
    /// Time of the copies to the device, s.
    pub upload_seconds: f64,
    /// Kernels of a step.
    pub kernels: Vec<KernelReport>,
    /// Bytes that a node-step must move; of one of several devices, its share of that.
    pub bytes_per_node_step: f64,
}

/// Modules that a run is likely to need, for [`Starting`](crate::device::Starting).
pub fn gpu_modules(dimension: usize, single: bool) -> Vec<&'static str> {
    match (dimension, single) {
        (2, true) => vec!["setup", "fans_isotropic_f32"],
        (2, false) => vec!["setup", "fans_isotropic_f64"],
        (_, true) => vec!["setup", "solids_f32", "march_f32"],
        (_, false) => vec!["setup", "solids_f64", "march_f64"],
    }
}

/// Steps a problem on a CUDA device in precision `T`.
#[derive(Debug)]
pub struct GpuStepper<T: Real> {
    // Graphs, arrays, modules and streams go before the context that they live in.
    graphs: [Option<Graph>; 2],
    launches: Launches<T>,
    sum: Kernel,
    u: [Slice<T>; 2],
    du: [Slice<T>; 2],
    energies: Slice<f64>,
    /// Rows of it that count: those of linear constraints are the same on all devices, and count on the first.
    n_energies: usize,
    /// What the host clears or hands to kernels beside `params`.
    done: Slice<u32>,
    mass: Slice<f64>,
    signals: DeviceSignals,
    record: Buffer<i32>,
    recording: Buffer<f64>,
    force: Option<Buffer<f64>>,
    params: Params<T>,
    /// The other devices; nothing where one has the whole model.
    peers: Peers<T>,
    shared: Option<Shared>,
    /// The host waits for all devices after each pass.
    one_pass: bool,
    /// Which pair of arrays holds the state.
    odd: bool,
    step: u64,
    /// Numbers of an array of the state.
    n_unknowns: usize,
    unknowns: Unknowns,
    /// The model has solids and fluids.
    is_mixed: bool,
    /// Linear constraints hold.
    is_held: bool,
    viscous: Option<Viscosity<T>>,
    /// What is needed to step with other shots, where all blocks are stepped by fans.
    by_fans: Option<ByFans>,
    /// External work and damped energy before this stepper's first step.
    energy_before: [f64; 2],
    report: GpuReport,
    arena: Arena,
    /// Memory of devices of other processes.
    opened: Opened,
    _setup: Module,
    stream: Stream,
    gpu: Gpu,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl<T: Real> Send for GpuStepper<T> {}

/// The unknowns of nodes on a device, which of a fluid alone are the first component of a displacement.
#[derive(Debug, Clone, Copy)]
struct Unknowns {
    of_node: usize,
    dimension: usize,
}

/// Arrays of a model with damping in proportion to the stiffness or relaxation.
#[derive(Debug, Clone, Copy)]
struct Viscosity<T> {
    /// z_l, (n_mechanisms, n_unknowns).
    memory: Slice<T>,
    /// f_int of the last group of materials, and the sum of those before it.
    part: Slice<f64>,
    total: Option<Slice<f64>>,
}

impl<T: Real> Viscosity<T> {
    fn of(tables: &Tables<T>, arena: &Arena) -> Option<Self> {
        let n_groups = tables.viscous.groups.len();
        (n_groups > 0).then(|| Self {
            memory: arena.slice("memory"),
            part: arena.slice("part"),
            total: (n_groups > 1).then(|| arena.slice("total")),
        })
    }
}

impl Unknowns {
    /// Those of values of all degrees of freedom, (n_nodes × dimension,).
    fn narrow<T: Real>(self, values: &[f64]) -> Vec<T> {
        let rows = values.chunks_exact(self.dimension);
        rows.flat_map(|row| &row[..self.of_node]).map(|&value| T::from_f64(value)).collect()
    }

    /// Values of all degrees of freedom, 0 for those that are no unknowns.
    fn widen(self, values: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
        if self.of_node == self.dimension {
            return values.collect();
        }
        let mut all = vec![0.0; values.len() / self.of_node * self.dimension];
        all.iter_mut().step_by(self.dimension).zip(values).for_each(|(to, value)| *to = value);
        all
    }
}

/// Why a stepper on a device cannot be made.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum GpuError {
    /// The problem is wrong.
    #[error(transparent)]
    Problem(#[from] StepperError),
    /// The device cannot do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Checks that every load and constraint names a signal that there is.
fn check_signals(problem: &Problem, signals: &Signals<'_>) -> Result<(), StepperError> {
    let forces = problem.forces.iter().map(|force| force.signal);
    let used = forces.chain(problem.constraints.iter().map(|constraint| constraint.signal));
    match used.max().filter(|&signal| signal as usize >= signals.len()) {
        Some(signal) => Err(StepperError::Signal { signal, n_signals: signals.len() }),
        None => Ok(()),
    }
}

/// Steps that were started.
struct Started<T> {
    /// Values that they record.
    n_recorded: usize,
    /// Which pair of arrays holds the state after them.
    odd: bool,
    peers: Peers<T>,
}

/// Steps that are made in one call.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// The first.
    first: u64,
    n: usize,
    /// So many come first by themselves.
    alone: usize,
}

impl Stretch {
    /// Starts the steps, those of each [`GRAPH_STEPS`] as one graph where there is room for graphs. `start` is called with a step,
    /// a number of steps, which pair of arrays holds the state, and whether this is recorded; it gives the pair that holds the
    /// state then, as this does.
    fn start(
        self,
        stream: &Stream,
        mut graphs: Option<&mut [Option<Graph>; 2]>,
        mut odd: bool,
        mut start: impl FnMut(u64, usize, bool, bool) -> Result<bool, DeviceError>,
    ) -> Result<bool, DeviceError> {
        let alone = self.alone.min(self.n);
        let end = self.first + self.n as u64;
        let mut remaining = self.n - alone;
        if alone > 0 {
            odd = start(self.first, alone, odd, false)?;
        }
        while remaining >= GRAPH_STEPS {
            let first = end - remaining as u64;
            match &mut graphs {
                None => odd = start(first, GRAPH_STEPS, odd, false)?,
                // A graph ends on the pair of arrays that it began with.
                Some(graphs) => match &mut graphs[usize::from(odd)] {
                    Some(graph) => graph.launch(stream)?,
                    none => {
                        let made = Graph::record(stream, || start(first, GRAPH_STEPS, odd, true).map(|_| ()))?;
                        none.insert(made).launch(stream)?;
                    }
                },
            }
            remaining -= GRAPH_STEPS;
        }
        start(end - remaining as u64, remaining, odd, false)
    }
}

impl<T: Real> GpuStepper<T> {
    /// A stepper on a device, from a state at any step.
    ///
    /// # Errors
    /// No driver or device, too little memory there (told before anything runs), blocks that do not fit a multiprocessor,
    /// or what [`CpuStepper::new`](super::CpuStepper::new) refuses.
    pub fn new(problem: &Problem, state: &State, signals: &Signals<'_>, options: GpuOptions) -> Result<Self, GpuError> {
        if !problem.copied.is_empty() {
            return Err(StepperError::Copied.into());
        }
        Self::of_blocks(problem, state, signals, options, None).map(|(stepper, _)| stepper)
    }

    /// A stepper of those blocks that one of several devices has. Collective.
    fn of_part(
        problem: &Problem,
        state: &State,
        signals: &Signals<'_>,
        options: GpuOptions,
        shared: Shared,
    ) -> Result<Self, GpuError> {
        let made = Self::of_blocks(problem, state, signals, options, Some(&shared));
        let (mut stepper, sent) = shared.accord.agree(made)?;
        if let Some(lists) = sent {
            if lists.own_fans().is_some() {
                let part = shared.n_own() as f64 / problem.mesh.n_nodes() as f64;
                stepper.report.bytes_per_node_step *= part;
            }
            let unknowns = stepper.unknowns.of_node;
            stepper.one_pass = shared.place(&lists, &mut stepper, unknowns)?;
        }
        stepper.shared = Some(shared);
        Ok(stepper)
    }

    /// A stepper of all blocks, or of those of one device that shares the model, and what that sends.
    fn of_blocks(
        problem: &Problem,
        state: &State,
        signals: &Signals<'_>,
        options: GpuOptions,
        shared: Option<&Shared>,
    ) -> Result<(Self, Option<Lists>), GpuError> {
        problem.check(state, problem.mesh.n_nodes())?;
        let memory = viscous::memory::<T>(problem, state).map_err(StepperError::from)?;
        check_signals(problem, signals)?;
        let view = problem.device.as_ref().ok_or(DeviceError::NoTables)?;
        let gpu = Gpu::open(options.ordinal)?;
        let (tables, sent) = Self::tables(problem, &gpu, shared)?;
        let fans = arrays::Fans::new(problem, view, &tables);
        let unknowns = Unknowns { of_node: tables.unknowns, dimension: problem.mesh.dimension };
        let (displacement, increment) = (unknowns.narrow(&state.displacement), unknowns.narrow(&state.increment));
        let n_unknowns = displacement.len();

        let mut params = arrays::parameters(problem, &tables);
        let mut plan = arrays::plan(problem, view, &tables, &fans);
        plan.copy(field!(u[0]), &displacement);
        plan.copy(field!(du[0]), &increment);
        plan.zeros::<T, _>(field!(u[1]), n_unknowns);
        plan.zeros::<T, _>(field!(du[1]), n_unknowns);
        // Mass, f_int and signals, lists of blocks and tiles.
        let n_tiles = tables.tiles.as_ref().map_or(0, |tiles| tiles.rows.len());
        let lists = 4 * (tables.by_fans.len() + tables.by_colours.len() + n_tiles) as u64;
        let later = 8 * (problem.lumped_mass.len() + n_unknowns) as u64
            + lists
            + tables.wet.bytes()
            + tables.ground.bytes()
            + tables.held.iter().flatten().map(HeldTables::bytes).sum::<u64>()
            + tables.ties.as_ref().map_or(0, TieTables::bytes)
            + tables.viscous.bytes()
            + DeviceSignals::bytes(signals);
        let mut arena = plan.place(&gpu, later + RESERVE, ADVICE, &mut params)?;

        let stream = Stream::new()?;
        let setup = gpu.module("setup")?;
        let mut report = GpuReport { device: gpu.name.clone(), ..GpuReport::default() };
        let own_fans = sent.as_ref().and_then(Lists::own_fans);
        let launches = Launches::new(&gpu, (&tables, &memory), own_fans, &mut arena, &mut report.kernels)?;
        let signals = DeviceSignals::new(&gpu, &setup, &stream, signals, state.step)?;
        (params.signals, params.row, params.n_signals) = (signals.rows(), signals.row(), signals.len());
        arrays::localise(problem, &tables, &params, (&gpu, &setup, &stream), &mut arena)?;
        let mass = match shared {
            None => arena.copy("lumped mass", &problem.lumped_mass)?,
            Some(shared) => arena.copy("lumped mass", &shared.own_mass(problem))?,
        };
        let node_bytes = arrays::bytes_per_step(problem, &tables, launches.double.is_some());
        report.bytes_per_node_step = node_bytes / problem.mesh.n_nodes() as f64;
        report.memory = arena.report();
        (report.uploaded, report.upload_seconds) = (arena.uploaded, arena.upload_seconds);
        let stepper = Self {
            graphs: [None, None],
            launches,
            sum: Kernel::new(&gpu, &setup, &format!("energy_sums_{}", T::NAME), 0)?,
            u: [arena.slice("u[0]"), arena.slice("u[1]")],
            du: [arena.slice("du[0]"), arena.slice("du[1]")],
            energies: arena.slice("energies"),
            n_energies: match shared {
                Some(shared) if !shared.accord.ranks.leads() => tables.n_own_energy_rows,
                _ => tables.n_energy_rows,
            },
            done: arena.slice("done"),
            mass,
            signals,
            record: Buffer::zeros(0)?,
            recording: Buffer::zeros(0)?,
            force: None,
            params,
            peers: Peers::zeroed(),
            shared: None,
            one_pass: false,
            odd: false,
            step: state.step,
            n_unknowns,
            unknowns,
            is_mixed: tables.is_mixed,
            is_held: tables.has_rows(),
            viscous: Viscosity::of(&tables, &arena),
            by_fans: ByFans::of(&tables),
            energy_before: [state.external_work, state.damped_energy],
            report,
            arena,
            opened: Opened::default(),
            _setup: setup,
            stream,
            gpu,
        };
        Ok((stepper, sent))
    }

    /// The tables of all blocks, or of those of one device that shares the model, and what that sends.
    fn tables(problem: &Problem, gpu: &Gpu, shared: Option<&Shared>) -> Result<(Tables<T>, Option<Lists>), GpuError> {
        let view = problem.device.as_ref().ok_or(DeviceError::NoTables)?;
        let devices = shared.map(|shared| shared.devices(problem));
        let mut tables = Tables::<T>::new(problem, view, gpu.multiprocessors, devices.as_ref())?;
        let joints = Joints::new(problem).map_err(StepperError::from)?;
        let sent = shared.map(|shared| shared.lists(problem, view, &joints, &mut tables));
        tables.wet = WetTables::new(problem, &tables)?;
        joints.check(gpu, ADVICE)?;
        tables.join(problem, &joints);
        Ok((tables, sent))
    }

    /// What it runs on, and with what.
    pub fn report(&self) -> &GpuReport {
        &self.report
    }

    /// Leaves out the kernel that makes two steps at a time.
    #[cfg(test)]
    pub fn step_singly(&mut self) {
        self.launches.double = None;
    }

    /// Starts the launches of `n_steps` steps from step `first` on, at most [`GRAPH_STEPS`], and makes the signals of those after
    /// them; returns which pair of arrays holds the state after them.
    fn start_steps(
        &self,
        first: u64,
        n_steps: usize,
        mut odd: bool,
        peers: &mut Peers<T>,
    ) -> Result<bool, DeviceError> {
        let (on, launches) = ((&self.gpu, &self.stream), &self.launches);
        let one_pass = self.shared.as_ref().filter(|_| self.one_pass);
        let mut k = 0;
        while k < n_steps {
            let launch = match &launches.double {
                Some(double) if n_steps - k >= double.steps => double,
                _ => &launches.single,
            };
            let repeats = if launch.repeats && one_pass.is_none() { (n_steps - k) / launch.steps } else { 1 };
            let fixes = (first + k as u64 + 1).is_multiple_of(FIX_EVERY);
            let started = launches.start(launch, on, (&self.params, peers), (k, odd, repeats, fixes), self.done);
            match one_pass {
                Some(shared) => {
                    shared.accord.agree(started.and_then(|()| self.stream.synchronize()))?;
                    launches.start_remembering(on, &self.params.oriented(odd))?;
                }
                None => started?,
            }
            peers.base += repeats as u32;
            k += repeats * launch.steps;
            odd ^= repeats % 2 == 1;
        }
        self.signals.advance(&self.stream, n_steps)?;
        Ok(odd)
    }

    /// Launches of so many steps from the current one on, each with one pass over the blocks.
    fn n_launches(&self, n_steps: usize) -> u64 {
        let Some(double) = &self.launches.double else { return n_steps as u64 };
        let alone = n_steps.min((self.step % 2) as usize);
        (alone + (n_steps - alone) / double.steps + (n_steps - alone) % double.steps) as u64
    }

    /// Makes steps, as [`Stepper::advance`] says.
    fn make_steps(&mut self, n_steps: usize, record: &[u64], recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        let started = self.start_making(n_steps, record)?;
        self.finish_making(n_steps, started, recording)
    }

    /// Starts steps. They are made when [`finish_making`](Self::finish_making) has returned.
    fn start_making(&mut self, n_steps: usize, record: &[u64]) -> Result<Started<T>, DeviceError> {
        self.gpu.enter()?;
        let n_recorded = self.prepare_recording(n_steps, record)?;
        self.signals.begin()?;
        let mut peers = self.peers;
        // Pairs of steps begin at even ones, however the run is cut, and a graph always projects u after its last step.
        let alone = match &self.launches.double {
            Some(_) => self.step % 2,
            None if self.is_held => self.step.wrapping_neg() % FIX_EVERY,
            None => 0,
        };
        let steps = Stretch { first: self.step, n: n_steps, alone: alone as usize };
        // The host waits after each pass or for messages, or a graph would count the same passes again.
        let may_be_recorded = !self.one_pass && !self.peers.are_there() && self.launches.may_be_recorded();
        let mut graphs = std::mem::take(&mut self.graphs);
        let kept = may_be_recorded.then_some(&mut graphs);
        let odd = steps.start(&self.stream, kept, self.odd, |first, n, odd, is_recorded| {
            let peers = if is_recorded { &mut Peers::zeroed() } else { &mut peers };
            self.start_steps(first, n, odd, peers)
        })?;
        self.graphs = graphs;
        let peers = if self.shared.is_some() { peers } else { Peers::zeroed() };
        Ok(Started { n_recorded, odd, peers })
    }

    /// Waits for steps that were started, and reads the recorded values.
    fn finish_making(
        &mut self,
        n_steps: usize,
        started: Started<T>,
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        self.gpu.enter()?;
        self.stream.synchronize()?;
        (self.odd, self.peers) = (started.odd, started.peers);
        self.step += n_steps as u64;
        let first = recording.len();
        recording.resize(first + started.n_recorded, 0.0);
        self.recording.read(&mut recording[first..])
    }

    /// f_int of a displacement, N, left on the device.
    fn start_internal_force(&mut self, displacement: Slice<T>) -> Result<Slice<f64>, DeviceError> {
        let force = match &self.force {
            Some(force) => **force,
            None => **self.force.insert(Buffer::zeros(self.n_unknowns)?),
        };
        let mut params = Params { force_out: force.at(), ..self.params };
        params.u[0] = displacement.at();
        let (on, launches) = ((&self.gpu, &self.stream), &self.launches);
        launches.start(&launches.single, on, (&params, &Peers::zeroed()), (0, false, 1, false), self.done)?;
        Ok(force)
    }

    /// Sums of a table of two columns.
    fn sums(values: &[f64]) -> [f64; 2] {
        [0, 1].map(|column| values.iter().skip(column).step_by(2).sum())
    }

    /// Rows of external work and damped energy, 0 in those that count on another device.
    fn counted_energies(&self) -> Result<Vec<f64>, DeviceError> {
        let mut energies = self.energies.to_vec()?;
        energies[2 * self.n_energies..].fill(0.0);
        Ok(energies)
    }

    /// z_l of the state.
    fn memory(&self) -> Result<Vec<f64>, DeviceError> {
        let Some(viscous) = &self.viscous else { return Ok(Vec::new()) };
        Ok(viscous.memory.to_vec()?.into_iter().map(Real::to_f64).collect())
    }

    /// External work and damped energy so far, J.
    fn followed(&self) -> Result<[f64; 2], DeviceError> {
        let [work, damped] = Self::sums(&self.counted_energies()?);
        Ok([work + self.energy_before[0], damped + self.energy_before[1]])
    }

    /// Makes room for the recorded values of some steps and tells the kernels which they are; how many values there will be.
    fn prepare_recording(&mut self, n_steps: usize, record: &[u64]) -> Result<usize, DeviceError> {
        let n_recorded = record.len() * self.params.n_monitors as usize * 3;
        let mut rows = vec![-1; n_steps];
        for (row, &step) in record.iter().enumerate() {
            rows[(step - self.step) as usize] = row as i32;
        }
        let mut moved = self.record.grow(n_steps)?;
        moved |= self.recording.grow(n_recorded)?;
        self.record.write(&rows)?;
        if self.is_held {
            // Forces of constraints on what no row names are not written.
            self.recording.clear(&self.stream)?;
        }
        (self.params.record, self.params.recording) = (self.record.at(), self.recording.at());
        if moved {
            self.graphs = [None, None];
        }
        Ok(n_recorded)
    }
}

impl<T: Real> Stepper for GpuStepper<T> {
    type State = State;

    fn step(&self) -> u64 {
        self.step
    }

    fn reads_table(&self) -> bool {
        false
    }

    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError> {
        if steps.n == 0 {
            return Ok(());
        }
        let rounds = self.launches.rounds_after(self.n_launches(steps.n));
        let outcome = self.make_steps(steps.n, steps.record, recording);
        let outcome = self.launches.conclude(rounds, outcome);
        match &self.shared {
            // The others wait at their next pass, or here, for a device that failed between passes.
            Some(shared) if self.one_pass => shared.accord.agree(outcome),
            _ => outcome,
        }
    }

    fn state(&self) -> Result<State, DeviceError> {
        self.gpu.enter()?;
        let widen = |values: Vec<T>| self.unknowns.widen(values.into_iter().map(Real::to_f64));
        let [external_work, damped_energy] = self.followed()?;
        Ok(State {
            step: self.step,
            displacement: widen(self.u[usize::from(self.odd)].to_vec()?),
            increment: widen(self.du[usize::from(self.odd)].to_vec()?),
            external_work,
            damped_energy,
            memory: self.memory()?,
        })
    }
}

impl<T: Real> ElementStepper for GpuStepper<T> {
    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        let narrow = self.unknowns.narrow::<T>(displacement);
        assert_eq!(narrow.len(), self.n_unknowns, "displacement has the wrong length");
        self.gpu.enter()?;
        let displacement = Buffer::of(&narrow)?;
        let force = self.start_internal_force(*displacement)?;
        self.stream.synchronize()?;
        Ok(self.unknowns.widen(force.to_vec()?.into_iter()))
    }

    fn viscous_force(&mut self, [displacement, increment, memory]: [&[f64]; 3]) -> Result<Vec<f64>, DeviceError> {
        let Some(viscous) = &self.viscous else { return self.internal_force(displacement) };
        self.gpu.enter()?;
        assert!(memory.is_empty() || memory.len() == viscous.memory.len(), "memory has the wrong length");
        let memory = Buffer::of(&memory.iter().map(|&value| T::from_f64(value)).collect::<Vec<_>>())?;
        let [displacement, increment] =
            [displacement, increment].map(|values| Buffer::of(&self.unknowns.narrow::<T>(values)));
        let (displacement, increment) = (displacement?, increment?);
        let lengths = [displacement.len(), increment.len()];
        assert_eq!(lengths, [self.n_unknowns; 2], "displacement or increment has the wrong length");
        let mut params = self.params;
        (params.u[0], params.du[0]) = (displacement.at(), increment.at());
        let memory = (memory.len() > 0).then(|| memory.at());
        self.launches.start_viscous_force((&self.gpu, &self.stream), &params, memory)?;
        self.stream.synchronize()?;
        let mut force = viscous.part.to_vec()?;
        if let Some(total) = viscous.total {
            force.iter_mut().zip(total.to_vec()?).for_each(|(force, of_others)| *force += of_others);
        }
        Ok(self.unknowns.widen(force.into_iter()))
    }

    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        if self.is_mixed || self.viscous.as_ref().is_some_and(|viscous| viscous.memory.len() > 0) {
            // Kinetic energies of solids and of fluids come from different sums, and mechanisms store energy, too.
            return Ok(None);
        }
        self.gpu.enter()?;
        let (u, du) = (self.u[usize::from(self.odd)], self.du[usize::from(self.odd)]);
        let force = self.start_internal_force(u)?;
        let sums = Buffer::<f64>::zeros(2 * SUM_BLOCKS)?;
        let [u, du, force, mass, out] =
            [u.pointer(), du.pointer(), force.pointer(), self.mass.pointer(), sums.pointer()];
        let n_nodes = self.params.n_nodes;
        let dimension = self.unknowns.of_node as u32;
        let blocks = SUM_BLOCKS as u32;
        // SAFETY: the arguments that `energy_sums` takes, in its order.
        unsafe {
            self.sum.launch(&self.stream, blocks, &mut arguments![u, du, force, mass, n_nodes, dimension, out])?;
        }
        self.stream.synchronize()?;
        let [kinetic, strain] = Self::sums(&sums.to_vec()?);
        let [external_work, damped_energy] = self.followed()?;
        Ok(Some(EnergySums { kinetic, strain, external_work, damped_energy }))
    }
}

//! The step on a CUDA device, by one of several ways ([`Way`]) that all give the CPU's results to rounding (in double precision its
//! very bits).
//!
//! The tables are those of the CPU (`Grid`, `Lists`): the host keeps them, and tells the device what events change. Nothing is
//! added by atomics. Launches are recorded in a graph of [`GRAPH_STEPS`] steps and replayed.

mod features;
mod options;
mod params;
mod tables;

use std::ffi::c_void;

use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use pogo_formats::spring::{N_DIRECTIONS, SpringDamping};

use super::cpu::grid::Grid;
use super::cpu::lists::{Lists, Rules};
use super::cpu::{Layout, Number, Task};
use super::events::Schedule;
use super::law::Constants;
use super::springs::Springs;
use super::{Addressing, Cause, Change, Energies, SignalTable, SpringError, SpringProblem, State, Stepper};
use crate::cuda::{Buffer, DeviceError, Gpu, Graph, Kernel, Plain, check};
use features::Features;
pub use options::{GpuError, GpuOptions, GpuReport, Way};
use params::{Edit, Params, Special};
use tables::{directions, records, rest_bytes, share_tables, take_rules};

/// Steps of one graph: an even number, so that it ends on the arrays that it began with.
const GRAPH_STEPS: usize = 64;
/// Most steps of one launch of a resident kernel.
const RESIDENT_STEPS: usize = 1 << 16;
/// Threads of most kernels.
const THREADS: u32 = 256;
/// Thread blocks that sum dissipated energy.
const HEAT_BLOCKS: usize = 1024;
/// Tile of `columns`, and its bytes in shared memory: five planes with their rims.
const TILE: [usize; 2] = [32, 8];
const TILE_BYTES: u32 = 5 * 3 * 40 * (8 + 2) * 4;
const TILE_THREADS: u32 = 128;
/// Most threads of a block of particles.
const MOST_BLOCK: usize = 512;
/// Slots whose springs a thread of a resident kernel has, and halo particles that it may fetch.
const NINE: usize = 9;
const MOST_HALO: usize = 4;

/// The kernels' code, compiled from the .cu files beside this one (`kernels/ptx/build.sh`).
mod ptx {
    pub const GENERAL_F32: &str = include_str!("../../../ptx/spring_f32.ptx");
    pub const GENERAL_F64: &str = include_str!("../../../ptx/spring_f64.ptx");
    pub const COLUMNS: &str = include_str!("../../../ptx/spring_columns.ptx");
    pub const RESIDENT: &str = include_str!("../../../ptx/spring_resident.ptx");
}

/// Numbers that the kernels are compiled for: `f32` and `f64`.
#[allow(private_bounds)]
pub trait GpuNumber: Number + Plain {}
impl GpuNumber for f32 {}
impl GpuNumber for f64 {}

// SAFETY: numbers, one kind of them.
unsafe impl<T: GpuNumber> Plain for Constants<T> {}

/// The tables of the CPU.
#[derive(Debug)]
enum Host<T: Number> {
    Grid(Box<Grid<T>>),
    Local(Box<Lists<T, u16>>),
    Global(Box<Lists<T, u32>>),
}

impl<T: Number> Host<T> {
    fn layout(&mut self) -> &mut dyn Layout<T> {
        match self {
            Self::Grid(grid) => grid.as_mut(),
            Self::Local(lists) => lists.as_mut(),
            Self::Global(lists) => lists.as_mut(),
        }
    }

    /// Numbers of a component.
    fn len(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.len,
            Self::Local(lists) => lists.padded,
            Self::Global(lists) => lists.padded,
        }
    }

    fn index(&self, particle: usize, component: usize) -> usize {
        match self {
            Self::Grid(grid) => component * grid.len + grid.place[particle] as usize,
            _ => component * self.len() + particle,
        }
    }
}

/// Steps that never run: the tables are made for the device.
unsafe fn no_rows<T: Number>(_: &Grid<T>, _: &mut Task<T>) {}
unsafe fn no_local<T: Number>(_: &Lists<T, u16>, _: &mut Task<T>) {}
unsafe fn no_global<T: Number>(_: &Lists<T, u32>, _: &mut Task<T>) {}

/// Arrays of the device, kept for their memory.
#[derive(Debug)]
struct Arrays<T> {
    u: [Buffer<T>; 2],
    du: Vec<Buffer<T>>,
    numbers: Vec<Buffer<T>>,
    _rules: Buffer<Constants<T>>,
    _words: Vec<Buffer<u32>>,
    halves: Vec<Buffer<u16>>,
    _bytes: Vec<Buffer<u8>>,
    _specials: Buffer<Special>,
    work: Buffer<f64>,
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
pub struct GpuStepper<'a, T: GpuNumber> {
    problem: SpringProblem<'a>,
    springs: Springs<'a>,
    schedule: Schedule,
    happened: u64,
    changes: Vec<Change>,
    host: Host<T>,
    // Graphs, buffers, modules and stream go before the context that they live in.
    graph: Option<Graph>,
    step_kernel: Kernel,
    grid: [u32; 3],
    threads: u32,
    general: Option<(Kernel, u32)>,
    resident: bool,
    pairs: bool,
    helpers: Helpers,
    arrays: Arrays<T>,
    params: Params<T>,
    report: GpuReport,
    step: u64,
    /// Step of the first row of the signals in use.
    first_row: u64,
    before: [f64; 2],
    _modules: Vec<Module>,
    stream: Stream,
    gpu: Gpu,
}

#[derive(Debug)]
struct Helpers {
    specials: Kernel,
    dissipation: Kernel,
    before: Kernel,
    after: Kernel,
    advance_row: Kernel,
    edit: Kernel,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl<T: GpuNumber> Send for GpuStepper<'_, T> {}

/// A stepper on a device in precision `T`, from a state at any step.
///
/// # Errors
/// No driver or device, too little memory there, a way that the model does not allow, or what [`cpu`](super::cpu()) refuses.
pub fn gpu<'a, T: GpuNumber>(
    problem: SpringProblem<'a>,
    state: &State,
    addressing: Addressing,
    options: GpuOptions,
) -> Result<Box<dyn Stepper + 'a>, GpuError> {
    Ok(Box::new(GpuStepper::<T>::new(problem, state, addressing, options)?))
}

impl<'a, T: GpuNumber> GpuStepper<'a, T> {
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
        let resident = features.resident(&problem, &gpu, options.block);
        let small = addressing == Addressing::Automatic || addressing == Addressing::Explicit;
        let (addressing, way) = match options.way {
            Way::Resident => (Addressing::Explicit, Way::Resident),
            Way::Automatic if small && resident.is_ok() => (Addressing::Explicit, Way::Resident),
            way => {
                // Only columns of a grid that is mostly full are faster than lists (measured: BENCHMARKS.md).
                let places = problem.mesh.grid.map_or(0, |grid| grid.mask.len());
                let grid = features.columns(&problem).is_ok() && 2 * problem.n_particles() > places;
                let wanted = match (addressing, way) {
                    (Addressing::Automatic, Way::Automatic) if !grid => Addressing::Explicit,
                    _ => addressing,
                };
                let chosen = wanted.choose(&problem)?;
                let automatic = match chosen {
                    Addressing::Implicit if features.columns(&problem).is_err() => Way::Cached,
                    Addressing::ExplicitGlobal => Way::Cached,
                    _ => Way::Shared,
                };
                (chosen, if way == Way::Automatic { automatic } else { way })
            }
        };
        let refuse = |needed| GpuError::Way { way, addressing, needed };
        let pairs = way == Way::SharedPairs;
        match (addressing, way) {
            (_, Way::Resident) => {
                resident.map_err(refuse)?;
            }
            (Addressing::Implicit, Way::Shared | Way::SharedPairs) => features.columns(&problem).map_err(refuse)?,
            (_, Way::SharedPairs) => return Err(refuse("implicit addressing")),
            (Addressing::ExplicitGlobal, Way::Shared) => return Err(refuse("local ids")),
            (Addressing::Explicit, Way::Cached) => return Err(refuse("32-bit ids")),
            _ => {}
        }
        if pairs && !(problem.forces.is_empty() && problem.constraints.is_empty() && problem.monitors.is_empty()) {
            return Err(refuse("no forces, constraints or monitors"));
        }

        let mesh_block = problem.mesh.lists.block_size;
        // The kernels of lattices are compiled for fewer threads.
        let most = if features.plain() && !features.breaks { 256 } else { MOST_BLOCK };
        let usual = if mesh_block <= most && mesh_block.is_multiple_of(32) { mesh_block } else { 256 };
        let block = match (way, options.block) {
            (Way::Resident, _) => resident.map_err(refuse)?,
            (_, 0) => usual,
            (_, block) => block.clamp(32, most) / 32 * 32,
        };
        let mut host = match addressing {
            Addressing::Implicit => Host::Grid(Box::new(Grid::new(&problem, no_rows, 32, TILE[1] + 1)?)),
            Addressing::ExplicitGlobal => Host::Global(Box::new(Lists::new(&problem, &springs, no_global, 32, block)?)),
            _ => Host::Local(Box::new(Lists::new(&problem, &springs, no_local, 32, block)?)),
        };
        springs.replay(&problem, &state.changes, |change, group| match group {
            Some(group) => host.layout().add(change.particles, group),
            None => host.layout().erase(change.particles),
        });

        let len = host.len();
        let flat = |value: &dyn Fn(usize) -> f64| {
            let mut out = vec![T::default(); 3 * len];
            for dof in 0..state.displacement.len() {
                out[host.index(dof / 3, dof % 3)] = T::from_f64(value(dof));
            }
            out
        };
        let u = flat(&|dof| state.displacement[dof]);
        let du = flat(&|dof| state.increment[dof]);
        let older = if pairs { flat(&|dof| state.displacement[dof] - state.increment[dof]) } else { u.clone() };
        // u_n is in the array of its parity.
        let odd = (state.step % 2) as usize;
        let arrays_u =
            if odd == 0 { [Buffer::of(&u)?, Buffer::of(&older)?] } else { [Buffer::of(&older)?, Buffer::of(&u)?] };
        let mut arrays_du = vec![Buffer::of(&du)?];
        if features.damped || features.follow {
            arrays_du.push(Buffer::of(&du)?);
        }
        let [decay, b] = problem.damping_factors();
        let dt = problem.time_increment;
        let mut params: Params<T> = Params {
            u: [arrays_u[0].pointer(), arrays_u[1].pointer()],
            du: [arrays_du[0].pointer(), arrays_du[arrays_du.len() - 1].pointer()],
            drag: 0,
            mask: 0,
            material: 0,
            rules: 0,
            inertia: 0,
            ids: 0,
            global_ids: 0,
            first: 0,
            halo_first: 0,
            halo: 0,
            rest: 0,
            class: 0,
            special_first: 0,
            special_of: 0,
            specials: 0,
            work: 0,
            heat: 0,
            signals: 0,
            record: 0,
            recording: 0,
            monitors: 0,
            row: 0,
            log: 0,
            log_count: 0,
            particle: 0,
            exchange: 0,
            friction: [0.0; 2],
            inertia_factor: b * dt * dt,
            n_signals: 0,
            n_monitors: problem.monitors.len() as u32,
            n_specials: 0,
            n: problem.n_particles() as u32,
            len: len as u32,
            row_length: 0,
            plane: 0,
            pad: 0,
            block: block as u32,
            n_materials: if features.lattice { problem.groups.len() as u32 / 3 } else { 1 },
            n_directions: 0,
            damped: u32::from(features.damped),
            breaks: u32::from(features.breaks),
            halo_most: 0,
            depth: 0,
            size: [0; 3],
            stride: [0; N_DIRECTIONS],
            decay: T::from_f64(decay),
            uniform_inertia: T::default(),
            rule: [Constants::default(); N_DIRECTIONS],
            pull: [T::default(); N_DIRECTIONS],
        };
        params.friction = match problem.damping {
            SpringDamping::Alpha(alpha) => [0.25 * b * alpha * dt, 0.0],
            SpringDamping::Lambda(lambda) => [0.0, 0.5 * b * lambda],
        };

        let mut numbers = Vec::new();
        let (mut words, mut halves, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let mut rules = Vec::new();
        let mut put_words = |values: &[u32]| -> Result<u64, DeviceError> {
            words.push(Buffer::of(values)?);
            Ok(words[words.len() - 1].pointer())
        };
        let inertia: &[T];
        let mut n_ids = 0;
        let n_blocks = problem.n_particles().div_ceil(block);
        match &host {
            Host::Grid(grid) => {
                (params.row_length, params.plane, params.pad) = (grid.row as u32, grid.plane as u32, grid.pad as u32);
                params.size = grid.size.map(|s| s as u32);
                params.stride = grid.stride.map(|s| s as i32);
                params.n_directions = directions(&problem);
                params.mask = put_words(&grid.mask)?;
                params.particle = put_words(&grid.particle)?;
                if !grid.material.is_empty() {
                    bytes.push(Buffer::of(&grid.material)?);
                    params.material = bytes[0].pointer();
                }
                rules.clone_from(&grid.constants);
                inertia = &grid.inertia;
            }
            Host::Local(lists) => {
                inertia = &lists.inertia;
                let scale = 3 * size_of::<T>();
                let most = lists.halo_first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
                params.halo_most = most as u32;
                params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
                if (block + most) * scale > usize::from(u16::MAX) {
                    return Err(SpringError::BlockTooLarge { block: 0, particles: block + most }.into());
                }
                let ids: Vec<u16> = lists.ids.iter().map(|&id| id * scale as u16).collect();
                let narrow = |values: &[usize]| values.iter().map(|&v| v as u32).collect::<Vec<u32>>();
                let (ids, first) = if features.lattice && !features.breaks && !features.events {
                    share_tables(&ids, block * params.n_directions as usize, params.n_directions)
                } else {
                    (ids, narrow(&lists.first))
                };
                n_ids = ids.len();
                halves.push(Buffer::of(&ids)?);
                params.ids = halves[0].pointer();
                params.first = put_words(&first)?;
                params.halo_first = put_words(&narrow(&lists.halo_first))?;
                params.halo = put_words(&lists.halo)?;
                take_rules(&lists.rules, &mut params, &mut rules, &mut numbers, &mut halves, &mut bytes, block)?;
            }
            Host::Global(lists) => {
                inertia = &lists.inertia;
                params.n_directions = lists.first.get(1).map_or(0, |&slots| slots as u32);
                let narrow = |values: &[usize]| values.iter().map(|&v| v as u32).collect::<Vec<u32>>();
                params.first = put_words(&narrow(&lists.first))?;
                params.global_ids = put_words(&lists.ids)?;
                take_rules(&lists.rules, &mut params, &mut rules, &mut numbers, &mut halves, &mut bytes, block)?;
            }
        }
        if features.lattice {
            params.rule.copy_from_slice(&rules[..N_DIRECTIONS]);
            params.pull = params.rule.map(|rule| rule.stiffness * rule.inverse);
        }
        if inertia.len() == 1 {
            params.uniform_inertia = inertia[0];
        } else {
            numbers.push(Buffer::of(inertia)?);
            params.inertia = numbers[numbers.len() - 1].pointer();
        }
        if features.damped && features.follow {
            numbers.push(Buffer::zeros(3 * len)?);
            params.drag = numbers[numbers.len() - 1].pointer();
        }
        let rules = Buffer::of(&rules)?;
        params.rules = rules.pointer();

        // Forces and supports by degree of freedom, forces first.
        let forces = problem.forces.iter().map(|f| (f.dof, 0, f.signal, f.value));
        let supports = problem.constraints.iter().map(|c| (c.dof, 1, c.signal, c.value));
        let mut all: Vec<_> = forces.chain(supports).collect();
        all.sort_by_key(|each| (each.0, each.1));
        let mut first = Vec::new();
        let mut of = vec![0; problem.n_particles() + 1];
        let mut specials = Vec::new();
        for (i, &(dof, kind, signal, value)) in all.iter().enumerate() {
            if i == 0 || all[i - 1].0 != dof {
                first.push(i as u32);
                of[dof as usize / 3 + 1] += 1;
            }
            let index = host.index(dof as usize / 3, dof as usize % 3) as u32;
            specials.push(Special { index, signal, kind, unused: 0, value });
        }
        params.n_specials = first.len() as u32;
        first.push(all.len() as u32);
        let specials = Buffer::of(&specials)?;
        params.specials = specials.pointer();
        params.special_first = put_words(&first)?;
        if params.n_specials > 0 {
            for i in 1..of.len() {
                of[i] += of[i - 1];
            }
            params.special_of = put_words(&of)?;
        }
        let monitors: Vec<u32> =
            problem.monitors.iter().map(|&dof| host.index(dof as usize / 3, dof as usize % 3) as u32).collect();
        params.monitors = put_words(&monitors)?;
        if way == Way::Resident {
            params.exchange = put_words(&vec![0; 8 * problem.n_particles()])?;
        }

        // Kernels.
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|error| DeviceError::Failed { what: "make a stream", reason: error.to_string() })?;
        let general = gpu.module(if features.single { ptx::GENERAL_F32 } else { ptx::GENERAL_F64 })?;
        let mut modules = Vec::new();
        let helper = |name: &str| Kernel::new(&gpu, &general, name, 0);
        let helpers = Helpers {
            specials: helper("specials")?,
            dissipation: helper("dissipation")?,
            before: helper("monitors_before")?,
            after: helper("monitors_after")?,
            advance_row: helper("advance_row")?,
            edit: helper("edit")?,
        };
        let local_bytes = 3 * (block as u32 + params.halo_most) * size_of::<T>() as u32;
        let slots = match &host {
            Host::Local(lists) if matches!(lists.rules, Rules::Lattice { .. }) && n_blocks > 0 => lists.first[1],
            _ => 0,
        };
        let explicit = |name: &str| -> Result<(Kernel, String), DeviceError> {
            let bytes = if params.damped != 0 { 2 * local_bytes } else { local_bytes };
            Ok((Kernel::new(&gpu, &general, name, bytes)?, name.to_owned()))
        };
        let mut generally = None;
        let (mut grid, mut threads) = ([n_blocks as u32, 1, 1], block as u32);
        let (step_kernel, name) = match (addressing, way) {
            (_, Way::Resident) => {
                if params.halo_most as usize > MOST_HALO * block {
                    return Err(refuse("halos of at most four particles a thread"));
                }
                let groups = slots.div_ceil(NINE);
                threads = (groups * block) as u32;
                if threads > 1024 {
                    return Err(refuse("at most 1,024 threads for a block and its springs by nines"));
                }
                let partial = (groups - 1) * 3 * block * size_of::<T>();
                let module = gpu.module(ptx::RESIDENT)?;
                let name = format!("resident_{slots}");
                let kernel = Kernel::new(&gpu, &module, &name, 2 * local_bytes + partial as u32)?;
                modules.push(module);
                generally = Some((explicit("explicit_local")?.0, n_blocks as u32));
                (kernel, name)
            }
            (Addressing::Implicit, Way::Cached) => {
                (grid, threads) = ([(params.plane * params.size[2]).div_ceil(THREADS), 1, 1], THREADS);
                (Kernel::new(&gpu, &general, "implicit_cached", 0)?, "implicit_cached".to_owned())
            }
            (Addressing::Implicit, _) => {
                let module = gpu.module(ptx::COLUMNS)?;
                let name = if pairs { "columns_pairs" } else { "columns_increments" };
                let kernel = Kernel::new(&gpu, &module, name, TILE_BYTES)?;
                modules.push(module);
                let tiles = [0, 1].map(|c| (params.size[c] as usize).div_ceil(TILE[c]) as u32);
                // Longer columns read less twice, but shorter ones fill the device more evenly (measured: BENCHMARKS.md).
                params.depth = if options.depth > 0 { options.depth } else { 8 };
                (grid, threads) = ([tiles[0], tiles[1], params.size[2].div_ceil(params.depth)], TILE_THREADS);
                (kernel, name.to_owned())
            }
            (Addressing::ExplicitGlobal, _) => {
                (Kernel::new(&gpu, &general, "explicit_cached", 0)?, "explicit_cached".to_owned())
            }
            _ if slots > 0 && features.plain() && !features.breaks => explicit(&format!("lattice_{slots}"))?,
            _ => explicit("explicit_local")?,
        };
        modules.push(general);

        let n_log = if features.breaks { springs.len() as usize + 1 } else { 0 };
        let arrays = Arrays {
            u: arrays_u,
            du: arrays_du,
            numbers,
            _rules: rules,
            _words: words,
            halves,
            _bytes: bytes,
            _specials: specials,
            work: Buffer::zeros(params.n_specials as usize)?,
            heat: Buffer::zeros(HEAT_BLOCKS)?,
            log: Buffer::zeros(4 * n_log)?,
            log_count: Buffer::zeros(1)?,
            signals: Buffer::zeros(0)?,
            record: Buffer::zeros(0)?,
            recording: Buffer::zeros(0)?,
            row: Buffer::zeros(1)?,
        };
        if features.follow {
            (params.work, params.heat) = (arrays.work.pointer(), arrays.heat.pointer());
        }
        (params.log, params.log_count) = (arrays.log.pointer(), arrays.log_count.pointer());
        params.row = arrays.row.pointer();
        let (n, number) = (problem.n_particles().max(1) as f64, size_of::<T>() as f64);
        let state_bytes = if pairs { 9.0 } else { 12.0 } * number;
        let table_bytes = match &host {
            Host::Grid(_) => 4.0,
            Host::Local(lists) => {
                (2 * n_ids + 4 * lists.halo.len()) as f64 / n + rest_bytes::<T>(&lists.rules, lists.ids.len()) / n
            }
            Host::Global(lists) => {
                4.0 * lists.ids.len() as f64 / n + rest_bytes::<T>(&lists.rules, lists.ids.len()) / n
            }
        };
        let report = GpuReport {
            device: gpu.name.clone(),
            addressing,
            way,
            kernel: (name, threads, step_kernel.registers, step_kernel.resident),
            bytes_per_particle_step: state_bytes + table_bytes,
        };
        let made = Self {
            schedule: Schedule::new(&problem, state.step),
            happened: state.step,
            changes: state.changes.clone(),
            problem,
            springs,
            host,
            graph: None,
            step_kernel,
            grid,
            threads,
            general: generally,
            resident: way == Way::Resident,
            pairs,
            helpers,
            arrays,
            params,
            report,
            step: state.step,
            first_row: state.step,
            before: [state.external_work, state.dissipated],
            _modules: modules,
            stream,
            gpu,
        };
        Ok(made)
    }

    /// What it runs on, and how.
    pub fn report(&self) -> &GpuReport {
        &self.report
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: a live stream.
        check("finish its work", unsafe { cust::sys::cuStreamSynchronize(self.stream.as_inner()) })
    }

    /// Starts a kernel that takes (params, k, parity).
    fn start(&self, kernel: &Kernel, grid: [u32; 3], threads: u32, k: usize, parity: usize) -> Result<(), DeviceError> {
        let (mut params, mut k, mut parity) = (self.params, k as u32, parity as u32);
        let mut arguments = [
            std::ptr::from_mut(&mut params).cast::<c_void>(),
            std::ptr::from_mut(&mut k).cast(),
            std::ptr::from_mut(&mut parity).cast(),
        ];
        // SAFETY: the arguments that step kernels take; the arrays hold what the tables name.
        unsafe { kernel.launch_grid(self.stream.as_inner(), grid, threads, false, &mut arguments) }
    }

    fn over(n: u32) -> [u32; 3] {
        [n.div_ceil(THREADS), 1, 1]
    }

    /// Starts single steps, from row k on; monitors where `recorded` says.
    fn start_steps(&self, n_steps: usize, step: u64, recorded: bool) -> Result<(), DeviceError> {
        let helpers = &self.helpers;
        for k in 0..n_steps {
            let parity = (step as usize + k) % 2;
            let monitored = recorded && self.params.n_monitors > 0;
            if monitored {
                self.start(&helpers.before, Self::over(self.params.n_monitors), THREADS, k, parity)?;
            }
            match &self.general {
                Some((kernel, blocks)) => self.start(kernel, [*blocks, 1, 1], self.params.block, k, parity)?,
                None => self.start(&self.step_kernel, self.grid, self.threads, k, parity)?,
            }
            if self.params.n_specials > 0 {
                self.start(&helpers.specials, Self::over(self.params.n_specials), THREADS, k, parity)?;
            }
            if self.params.heat != 0 {
                self.start(&helpers.dissipation, [HEAT_BLOCKS as u32, 1, 1], THREADS, k, parity)?;
            }
            if monitored {
                self.start(&helpers.after, Self::over(self.params.n_monitors), THREADS, k, parity)?;
            }
        }
        self.advance_row(n_steps)
    }

    fn advance_row(&self, by: usize) -> Result<(), DeviceError> {
        let (mut row, mut by) = (self.params.row, by as u32);
        let mut arguments = [std::ptr::from_mut(&mut row).cast::<c_void>(), std::ptr::from_mut(&mut by).cast()];
        // SAFETY: the arguments that `advance_row` takes.
        unsafe { self.helpers.advance_row.launch_grid(self.stream.as_inner(), [1; 3], 1, false, &mut arguments) }
    }

    /// Starts many steps in one launch.
    fn start_resident(&self, n_steps: usize, step: u64) -> Result<(), DeviceError> {
        let (mut params, mut n, mut parity) = (self.params, n_steps as u32, (step % 2) as u32);
        // Never 0, which empty slots have, and as even as the step.
        let mut tag = ((step % (1 << 31)) + 2) as u32;
        let mut arguments = [
            std::ptr::from_mut(&mut params).cast::<c_void>(),
            std::ptr::from_mut(&mut n).cast(),
            std::ptr::from_mut(&mut parity).cast(),
            std::ptr::from_mut(&mut tag).cast(),
        ];
        // SAFETY: the arguments that resident kernels take; all blocks are there at once.
        unsafe {
            self.step_kernel.launch_grid(self.stream.as_inner(), self.grid, self.threads, true, &mut arguments)?;
        }
        self.advance_row(n_steps)
    }

    /// Steps without events.
    fn run(&mut self, n_steps: usize, record: &[u64]) -> Result<(), DeviceError> {
        let end = self.step + n_steps as u64;
        while self.step < end {
            let left = (end - self.step) as usize;
            let next = record[record.partition_point(|&step| step < self.step)..].first().copied();
            let quiet = next.map_or(left, |next| ((next - self.step) as usize).min(left));
            // A resident kernel writes no recordings.
            let done = if self.resident && quiet > 0 {
                let steps = quiet.min(RESIDENT_STEPS);
                self.start_resident(steps, self.step)?;
                steps
            } else if self.resident {
                self.start_steps(1, self.step, true)?;
                1
            } else if left >= GRAPH_STEPS && self.step.is_multiple_of(2) {
                if self.graph.is_none() {
                    let stream = self.stream.as_inner();
                    self.graph = Some(Graph::record(stream, || self.start_steps(GRAPH_STEPS, 0, true))?);
                }
                if let Some(graph) = &self.graph {
                    graph.launch(self.stream.as_inner())?;
                }
                GRAPH_STEPS
            } else {
                let steps = if self.step % 2 == 1 { 1 } else { left };
                self.start_steps(steps, self.step, true)?;
                steps
            };
            self.step += done as u64;
        }
        self.synchronize()?;
        if self.params.breaks != 0 {
            self.read_log()?;
        }
        Ok(())
    }

    /// Springs that broke since the log was read last.
    fn read_log(&mut self) -> Result<(), DeviceError> {
        let mut count = [0];
        self.arrays.log_count.read(&mut count)?;
        let count = (count[0] as usize).min(self.arrays.log.len() / 4);
        if count == 0 {
            return Ok(());
        }
        let mut log = vec![0; 4 * count];
        self.arrays.log.read(&mut log)?;
        self.arrays.log_count.write(&[0])?;
        let mut broken: Vec<Change> = log
            .chunks_exact(4)
            .map(|entry| Change {
                step: self.first_row + u64::from(entry[0]),
                particles: [entry[1], entry[2]],
                cause: Cause::Broken,
            })
            .collect();
        broken.sort_unstable();
        for change in &broken {
            self.springs.erase(change.particles);
            self.host.layout().erase(change.particles);
        }
        self.forget_touched();
        self.changes.extend(broken);
        Ok(())
    }

    /// The device has seen these changes itself.
    fn forget_touched(&mut self) {
        match &mut self.host {
            Host::Grid(_) => {}
            Host::Local(lists) => lists.touched.clear(),
            Host::Global(lists) => lists.touched.clear(),
        }
    }

    /// Cuts, erasures and additions of the current step.
    fn events(&mut self) -> Result<(), DeviceError> {
        if self.happened > self.step || self.schedule.next(self.step) != Some(self.step) {
            return Ok(());
        }
        let u = self.widen(&self.arrays.u[(self.step % 2) as usize])?;
        let changes = self.schedule.apply(&self.problem, &mut self.springs, self.step, &u);
        self.happened = self.step + 1;
        if changes.is_empty() {
            return Ok(());
        }
        let mut added = false;
        for change in &changes {
            match change.cause {
                Cause::Added(index) => {
                    added = true;
                    let group = self.problem.additions[index as usize].group;
                    self.host.layout().add(change.particles, group);
                }
                _ => self.host.layout().erase(change.particles),
            }
        }
        let (edits, what): (Vec<Edit>, u32) = match &mut self.host {
            Host::Grid(grid) => {
                let mut places: Vec<u32> =
                    changes.iter().flat_map(|c| c.particles).map(|i| grid.place[i as usize]).collect();
                places.sort_unstable();
                places.dedup();
                let edit = |at: u32| Edit { at, clear: u32::MAX, set: grid.mask[at as usize] };
                (places.into_iter().map(edit).collect(), 0)
            }
            Host::Local(lists) => {
                let touched = std::mem::take(&mut lists.touched);
                let scale = 3 * size_of::<T>() as u32;
                let edit = |at: usize| Edit { at: at as u32, clear: 0, set: u32::from(lists.ids[at]) * scale };
                (touched.into_iter().map(edit).collect(), 1)
            }
            Host::Global(lists) => {
                let touched = std::mem::take(&mut lists.touched);
                (touched.into_iter().map(|at| Edit { at: at as u32, clear: 0, set: lists.ids[at] }).collect(), 2)
            }
        };
        if added {
            let (rules, block, class_at) = match &self.host {
                Host::Grid(_) => (None, 0, 0),
                Host::Local(lists) => (Some(&lists.rules), lists.block, 1),
                Host::Global(lists) => (Some(&lists.rules), lists.block, 0),
            };
            if let Some(Rules::Each { rest, class, .. }) = rules {
                self.arrays.numbers[0].write(&records(rest, block))?;
                self.arrays.halves[class_at].write(class)?;
            }
        }
        self.changes.extend(changes);
        let buffer = Buffer::of(&edits)?;
        let (mut params, mut at, mut n, mut what) = (self.params, buffer.pointer(), edits.len() as u32, what);
        let mut arguments = [
            std::ptr::from_mut(&mut params).cast::<c_void>(),
            std::ptr::from_mut(&mut at).cast(),
            std::ptr::from_mut(&mut n).cast(),
            std::ptr::from_mut(&mut what).cast(),
        ];
        if n > 0 {
            // SAFETY: the arguments that `edit` takes; the places and entries are those of the host's tables.
            unsafe {
                self.helpers.edit.launch_grid(self.stream.as_inner(), Self::over(n), THREADS, false, &mut arguments)?;
            }
        }
        self.synchronize()
    }

    fn read<A: Plain + Default>(buffer: &Buffer<A>) -> Result<Vec<A>, DeviceError> {
        let mut values = vec![A::default(); buffer.len()];
        buffer.read(&mut values)?;
        Ok(values)
    }

    fn widen(&self, buffer: &Buffer<T>) -> Result<Vec<f64>, DeviceError> {
        let values = Self::read(buffer)?;
        Ok((0..3 * self.problem.n_particles()).map(|dof| values[self.host.index(dof / 3, dof % 3)].to_f64()).collect())
    }
}

/// A buffer of at least `len`; true if it is a new one.
fn grow<A: Plain>(buffer: &mut Buffer<A>, len: usize) -> Result<bool, DeviceError> {
    if buffer.len() >= len {
        return Ok(false);
    }
    *buffer = Buffer::zeros(len.next_power_of_two())?;
    Ok(true)
}

impl<T: GpuNumber> Stepper for GpuStepper<'_, T> {
    fn step(&self) -> u64 {
        self.step
    }

    fn advance(
        &mut self,
        n_steps: usize,
        signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        crate::explicit::check_advance(self.step, n_steps, signals, record);
        let used =
            self.problem.forces.iter().map(|f| f.signal).chain(self.problem.constraints.iter().map(|c| c.signal));
        let used = used.chain(self.problem.gravity.iter().map(|g| g.signal)).max();
        assert!(
            used.is_none_or(|column| (column as usize) < signals.n_signals),
            "the signal table has too few columns"
        );
        if n_steps == 0 {
            return Ok(());
        }
        self.gpu.enter()?;
        // Signals with BΔt² g behind them.
        let (n, factor) = (signals.n_signals, self.params.inertia_factor);
        let mut table = Vec::with_capacity((n_steps + 1) * (n + 3));
        for row in 0..=n_steps {
            let values = &signals.values[row * n..(row + 1) * n];
            table.extend_from_slice(values);
            table.extend(self.problem.gravity_at(values).map(|g| factor * g));
        }
        let mut rows = vec![-1; n_steps];
        for (row, &step) in record.iter().enumerate() {
            rows[(step - self.step) as usize] = row as i32;
        }
        let n_recorded = record.len() * self.problem.monitors.len() * 3;
        let mut moved = grow(&mut self.arrays.signals, table.len())?;
        moved |= grow(&mut self.arrays.record, n_steps)?;
        moved |= grow(&mut self.arrays.recording, n_recorded)?;
        moved |= self.params.n_signals as usize != n + 3;
        self.arrays.signals.write(&table)?;
        self.arrays.record.write(&rows)?;
        self.arrays.row.write(&[0])?;
        self.params.signals = self.arrays.signals.pointer();
        self.params.record = self.arrays.record.pointer();
        self.params.recording = self.arrays.recording.pointer();
        self.params.n_signals = n as u32 + 3;
        if moved {
            self.graph = None;
        }
        self.first_row = self.step;
        let end = self.step + n_steps as u64;
        while self.step < end {
            self.events()?;
            let until = self.schedule.next(self.step + 1).map_or(end, |next| next.min(end));
            self.run((until - self.step) as usize, record)?;
        }
        let first = recording.len();
        recording.resize(first + n_recorded, 0.0);
        self.arrays.recording.read(&mut recording[first..])
    }

    fn state(&self) -> Result<State, DeviceError> {
        self.gpu.enter()?;
        let now = (self.step % 2) as usize;
        let displacement = self.widen(&self.arrays.u[now])?;
        let increment = if self.pairs {
            self.widen(&self.arrays.u[now ^ 1])?.iter().zip(&displacement).map(|(old, new)| new - old).collect()
        } else {
            self.widen(&self.arrays.du[if self.arrays.du.len() == 2 { now } else { 0 }])?
        };
        let [external, dissipated] = self.before;
        Ok(State {
            step: self.step,
            displacement,
            increment,
            external_work: external + Self::read(&self.arrays.work)?.iter().sum::<f64>(),
            dissipated: dissipated + Self::read(&self.arrays.heat)?.iter().sum::<f64>(),
            changes: self.changes.clone(),
        })
    }

    fn energies(&self, signals: &[f64]) -> Result<Energies, DeviceError> {
        Ok(super::energies::energies(&self.problem, &self.springs, &self.state()?, signals))
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn springs(&self) -> &Springs<'_> {
        &self.springs
    }
}

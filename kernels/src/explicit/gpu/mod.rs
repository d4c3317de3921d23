//! The explicit step on a CUDA device: a thread block a block of the mesh, the same arithmetic as on the CPU.
//!
//! The tables of the block file go to the device as they lie in the map. Blocks of triangles go by *fans*, a thread a
//! node, one or two steps a pass and many passes a launch (fans.cuh); others in the plane by *colours*, a thread an element (colours.cuh); those in
//! space by items, thread blocks that take one block after the other (solids.cuh), or by tiles of grids (march.cuh). The state is
//! doubled: a launch reads one pair (u, Δu) and writes the other. Nothing is added by atomics, so every run gives the
//! same bits. Launches are recorded in a graph of [`GRAPH_STEPS`] steps and replayed; the host waits only at the end of
//! [`advance`](Stepper::advance).

mod fans;
mod grids;
mod signals;
mod tables;

use std::ffi::c_void;
use std::time::Instant;

use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

use super::{EnergySums, Problem, State, Stepper, StepperError};
use crate::device::{Buffer, DeviceError, Event, Gpu, Graph, Kernel, Plain, synchronize};
use crate::dynamics::SignalTable;
use crate::dynamics::signals::Signals;
use crate::simd::Real;
use fans::{Entries, fan_rows, further_rows};
use grids::{TileRow, room};
use signals::{DeviceSignals, WINDOW};
use tables::{BlockRow, ColourRow, LEFT_THREADS, MaterialRow, Special, Tables, law_name};

/// Steps of one graph; twice an even number, so that a graph ends on the pair of arrays that it began with.
const GRAPH_STEPS: usize = WINDOW;
/// Memory kept free for recordings, bytes.
const RESERVE: u64 = 256 << 20;
/// What is said when a device is too small.
const ADVICE: &str = "--precision f32, a larger device, or --device cpu";
/// Rounds of thread blocks over all blocks, at most, for many passes in a launch: what a launch loses as it ends is then more
/// than what waiting for the blocks around takes.
const MOST_ROUNDS: u32 = 20;
/// Thread blocks that sum energies.
const SUM_BLOCKS: usize = 512;

/// The kernels' code, compiled from the .cu files beside this one (`kernels/ptx/build.sh`).
mod ptx {
    pub const SETUP: &str = include_str!("../../../ptx/setup.ptx");
    /// By law, in single and double precision.
    pub const FANS: [(&str, [&str; 2]); 3] = [
        (
            "isotropic",
            [include_str!("../../../ptx/fans_isotropic_f32.ptx"), include_str!("../../../ptx/fans_isotropic_f64.ptx")],
        ),
        (
            "aligned",
            [include_str!("../../../ptx/fans_aligned_f32.ptx"), include_str!("../../../ptx/fans_aligned_f64.ptx")],
        ),
        (
            "coupled",
            [include_str!("../../../ptx/fans_coupled_f32.ptx"), include_str!("../../../ptx/fans_coupled_f64.ptx")],
        ),
    ];
    pub const COLOURS_PLANE: &str = include_str!("../../../ptx/colours_plane.ptx");
    pub const SOLIDS_F32: &str = include_str!("../../../ptx/solids_f32.ptx");
    pub const SOLIDS_F64: &str = include_str!("../../../ptx/solids_f64.ptx");
    pub const MARCH_F32: &str = include_str!("../../../ptx/march_f32.ptx");
    pub const MARCH_F64: &str = include_str!("../../../ptx/march_f64.ptx");
}

/// How a problem is run on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuOptions {
    /// Which device, from 0.
    pub ordinal: u32,
    /// Steps a launch: 1, 2, or 0 for what is fastest.
    pub steps_per_launch: u32,
}

/// What a stepper on a device is and does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GpuReport {
    /// The device's name.
    pub device: String,
    /// Bytes on the device.
    pub bytes: u64,
    /// Bytes copied there, and how long that took, s.
    pub uploaded: u64,
    /// As said.
    pub upload_seconds: f64,
    /// Kernel, steps a launch, threads a block, registers a thread, blocks resident on a multiprocessor.
    pub kernels: Vec<(String, u32, u32, u32, u32)>,
    /// Bytes that a node-step must move.
    pub bytes_per_node_step: f64,
}

/// `Params` in step.cuh. Addresses are of the device.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Params {
    u: [u64; 2],
    du: [u64; 2],
    x: u64,
    inertia: u64,
    decay: u64,
    dissipation: u64,
    blocks: u64,
    list: u64,
    halo_nodes: u64,
    outer_nodes: u64,
    fan: u64,
    halo_fan: u64,
    fan_materials: u64,
    halo_fan_materials: u64,
    further_node: u64,
    further_fan: u64,
    further_materials: u64,
    materials: u64,
    colours: u64,
    connectivity: u64,
    factors: u64,
    special_first: u64,
    specials: u64,
    signals: u64,
    record: u64,
    recording: u64,
    energies: u64,
    row: u64,
    passed_first: u64,
    passed_row: u64,
    passed: u64,
    sources: u64,
    done: u64,
    force_out: u64,
    n_nodes: u64,
    force_unit: f64,
    per_force_unit: f64,
    per_time_increment: f64,
    n_signals: u32,
    n_monitors: u32,
    n_materials: u32,
    n_blocks: u32,
    near_room: u32,
    later_room: u32,
    tiles: u64,
    words: u64,
    tile_x: u64,
    left: u64,
    n_left: u32,
    left_special: u32,
    left_energy: u32,
    damped: u32,
    n_around: u32,
    n_kept: u32,
}

/// Arrays that stay as they are; kept for their memory.
#[derive(Debug)]
struct Constant<T> {
    x: Buffer<T>,
    inertia: Buffer<T>,
    decay: Buffer<T>,
    dissipation: Buffer<T>,
    mass: Buffer<f64>,
    blocks: Buffer<BlockRow>,
    by_fans: Buffer<u32>,
    by_colours: Buffer<u32>,
    halo_nodes: Buffer<u32>,
    outer_nodes: Buffer<u32>,
    fan: Buffer<u32>,
    halo_fan: Buffer<u32>,
    fan_materials: Buffer<u32>,
    halo_fan_materials: Buffer<u32>,
    further_node: Buffer<u16>,
    further_fan: Buffer<u32>,
    further_materials: Buffer<u32>,
    materials: Buffer<MaterialRow<T>>,
    colours: Buffer<ColourRow>,
    connectivity: Buffer<u16>,
    factors: Buffer<T>,
    special_first: Buffer<u32>,
    specials: Buffer<Special>,
    passed_first: Buffer<u32>,
    passed_row: Buffer<u32>,
    passed: Buffer<T>,
    sources: Buffer<u32>,
    done: Buffer<u32>,
    tiles: Buffer<TileRow>,
    words: Buffer<u32>,
    tile_x: Buffer<T>,
    tile_lists: Vec<Buffer<u32>>,
    left: Buffer<u32>,
}

/// A kernel over some of the blocks.
#[derive(Debug, Clone, Copy)]
struct Pass<T> {
    kernel: Kernel,
    n_blocks: u32,
    /// As many thread blocks as the device holds at once share the blocks out, instead of having one each.
    together: bool,
    /// Device address of the list of blocks, or 0 for all; of tiles.
    list: u64,
    /// That of tiles.
    material: Option<MaterialRow<T>>,
}

/// Kernels of one number of steps a launch, one after the other.
#[derive(Debug, Clone, Default)]
struct Launch<T> {
    passes: Vec<Pass<T>>,
    steps: usize,
    /// Its one kernel may go over the blocks many times in a launch.
    repeats: bool,
}

/// Steps a problem on a CUDA device in precision `T`.
#[derive(Debug)]
pub struct GpuStepper<T: Real> {
    // Graphs, buffers, modules and stream go before the context that they live in.
    graphs: [Option<Graph>; 2],
    single: Launch<T>,
    double: Option<Launch<T>>,
    sum: Kernel,
    u: [Buffer<T>; 2],
    du: [Buffer<T>; 2],
    constant: Constant<T>,
    energies: Buffer<f64>,
    signals: DeviceSignals,
    record: Buffer<i32>,
    recording: Buffer<f64>,
    force: Option<Buffer<f64>>,
    params: Params,
    parity: usize,
    step: u64,
    n_dofs: usize,
    /// External work and damped energy before this stepper's first step.
    energy_before: [f64; 2],
    report: GpuReport,
    _modules: Vec<Module>,
    aside: Option<Aside>,
    stream: Stream,
    gpu: Gpu,
}

/// A stream for the few blocks beside tiles, which begin first: neither waits for the other.
#[derive(Debug)]
struct Aside {
    stream: Stream,
    begins: Event,
    ends: Event,
}

// SAFETY: handles and addresses that the driver lets any one thread at a time use; every method enters the context first.
unsafe impl<T: Real> Send for GpuStepper<T> {}

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

/// Copies slices to the device and keeps count.
struct Uploader {
    bytes: u64,
    seconds: f64,
}

impl Uploader {
    fn copy<A: Plain>(&mut self, values: &[A]) -> Result<Buffer<A>, DeviceError> {
        let start = Instant::now();
        let buffer = Buffer::of(values)?;
        self.seconds += start.elapsed().as_secs_f64();
        self.bytes += size_of_val(values) as u64;
        Ok(buffer)
    }
}

impl<T: Real> GpuStepper<T> {
    /// A stepper on a device, from a state at any step.
    ///
    /// # Errors
    /// No driver or device, too little memory there (told before anything runs), blocks that do not fit a multiprocessor,
    /// or what [`CpuStepper::new`](super::CpuStepper::new) refuses.
    pub fn new(problem: &Problem, state: &State, signals: &Signals<'_>, options: GpuOptions) -> Result<Self, GpuError> {
        super::cpu::tables::check_lengths(problem, state)?;
        let used = problem.forces.iter().map(|force| force.signal);
        let used = used.chain(problem.constraints.iter().map(|constraint| constraint.signal));
        if let Some(signal) = used.max().filter(|&signal| signal as usize >= signals.len()) {
            return Err(StepperError::Signal { signal, n_signals: signals.len() }.into());
        }
        let view = problem.device.as_ref().ok_or(DeviceError::NoTables)?;
        let gpu = Gpu::open(options.ordinal)?;
        let blocks = &problem.blocks;
        let dimension = problem.mesh.dimension;
        let n_dofs = state.displacement.len();
        let tables = Tables::<T>::new(problem, view, gpu.multiprocessors)?;
        // What a launch of two steps does not read stays here, and so does what no block goes by.
        let empty: &[u32] = &[];
        let (fans, ring) = (tables.by_colours.len() < tables.blocks.len(), tables.two_steps);
        let all_fans = fans && tables.by_colours.is_empty();
        let fan_materials = if fans { view.fan_materials } else { empty };
        let (outer_nodes, halo_fan_materials) =
            if ring { (view.outer_nodes, view.halo_fan_materials) } else { (empty, empty) };
        let n_blocks = if fans { blocks.n_blocks() } else { 0 };
        let halo_entries = |block: usize| match ring {
            true => blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize,
            false => 0..0,
        };
        let [own_fans, halo_fans] = fan_rows([
            Entries {
                ranges: (0..n_blocks).map(|block| blocks.own_nodes(block)).collect(),
                record: &|node| view.fan(node),
                materials: fan_materials,
                inertia: &|node| tables.inertia[node],
            },
            Entries {
                ranges: (0..n_blocks).map(halo_entries).collect(),
                record: &|entry| view.halo_fan(entry),
                materials: halo_fan_materials,
                inertia: &|entry| tables.inertia[blocks.halo_nodes[entry] as usize],
            },
        ]);
        let further_fans = further_rows(view);
        let number = size_of::<T>();
        // In single precision the rows of fans have it.
        let inertia: &[T] = if number == 4 && all_fans { &[] } else { &tables.inertia };
        let connectivity: &[u16] = if tables.by_colours.is_empty() { &[] } else { view.coloured_connectivity };
        // In space a block reads the nodes of later blocks alone, and passes forces on to them.
        let halo_nodes = if tables.once { view.later_nodes } else { blocks.halo_nodes };
        let colours: &[ColourRow] = if tables.by_colours.is_empty() { &[] } else { &tables.colours };

        let (tile_rows, tile_words, launches, left) = match &tables.tiles {
            Some(tiles) => {
                (tiles.rows.as_slice(), tiles.words.as_slice(), tiles.launches.as_slice(), tiles.left.as_slice())
            }
            None => (&[][..], &[][..], &[][..], empty),
        };

        let bytes = |len: usize, size: usize| (len * size) as u64;
        let needed = bytes(4 * n_dofs, number)
            + bytes(tables.n_local * dimension, number)
            + bytes(inertia.len() + tables.decay.len() + tables.dissipation.len() + tables.factors.len(), number)
            + bytes(problem.lumped_mass.len(), 8)
            + bytes(tables.blocks.len(), size_of::<BlockRow>())
            + bytes(tables.by_fans.len() + tables.by_colours.len() + tables.special_first.len(), 4)
            + bytes(halo_nodes.len() + outer_nodes.len() + own_fans.words.len() + halo_fans.words.len(), 4)
            + bytes(own_fans.materials.len() + halo_fans.materials.len(), 4)
            + bytes(further_fans.words.len() + further_fans.materials.len(), 4)
            + bytes(view.further_node.len() + connectivity.len(), 2)
            + bytes(colours.len(), size_of::<ColourRow>())
            + bytes(tables.specials.len(), size_of::<Special>())
            + bytes(view.passed_first.len() + view.passed_row.len(), 4)
            + bytes(3 * view.later_nodes.len(), number)
            + bytes(tables.sources.len() + tables.blocks.len(), 4)
            + bytes(tile_rows.len(), size_of::<TileRow>() + 4)
            + bytes(tile_words.len(), 4 + 3 * number)
            + bytes(left.len(), 4)
            + bytes(n_dofs, 8)
            + DeviceSignals::bytes(signals)
            + RESERVE;
        // The original positions are there only until the blocks have theirs.
        let free = gpu.free_memory()?;
        if needed > free {
            return Err(DeviceError::Memory { name: gpu.name.clone(), needed, free, advice: ADVICE }.into());
        }

        let mut up = Uploader { bytes: 0, seconds: 0.0 };
        let narrow = |values: &[f64]| values.iter().map(|&value| T::from_f64(value)).collect::<Vec<T>>();
        let u = up.copy(&narrow(&state.displacement))?;
        let du = up.copy(&narrow(&state.increment))?;
        let constant = Constant {
            x: Buffer::zeros(tables.n_local * dimension)?,
            inertia: up.copy(inertia)?,
            decay: up.copy(&tables.decay)?,
            dissipation: up.copy(&tables.dissipation)?,
            mass: up.copy(&problem.lumped_mass)?,
            blocks: up.copy(&tables.blocks)?,
            by_fans: up.copy(&tables.by_fans)?,
            by_colours: up.copy(&tables.by_colours)?,
            halo_nodes: up.copy(halo_nodes)?,
            outer_nodes: up.copy(outer_nodes)?,
            fan: up.copy(&own_fans.words)?,
            halo_fan: up.copy(&halo_fans.words)?,
            fan_materials: up.copy(&own_fans.materials)?,
            halo_fan_materials: up.copy(&halo_fans.materials)?,
            further_node: up.copy(view.further_node)?,
            further_fan: up.copy(&further_fans.words)?,
            further_materials: up.copy(&further_fans.materials)?,
            materials: up.copy(&tables.materials)?,
            colours: up.copy(colours)?,
            connectivity: up.copy(connectivity)?,
            factors: up.copy(&tables.factors)?,
            special_first: up.copy(&tables.special_first)?,
            specials: up.copy(&tables.specials)?,
            passed_first: up.copy(view.passed_first)?,
            passed_row: up.copy(view.passed_row)?,
            passed: Buffer::zeros(3 * view.later_nodes.len())?,
            sources: up.copy(&tables.sources)?,
            done: Buffer::zeros(tables.blocks.len())?,
            tiles: up.copy(tile_rows)?,
            words: up.copy(tile_words)?,
            tile_x: Buffer::zeros(3 * tile_words.len())?,
            tile_lists: launches.iter().map(|launch| up.copy(&launch.tiles)).collect::<Result<_, _>>()?,
            left: up.copy(left)?,
        };
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .map_err(|error| DeviceError::Failed { what: "make a stream", reason: error.to_string() })?;
        let setup = gpu.module(ptx::SETUP)?;
        let mut modules = Vec::new();
        let mut report = GpuReport { device: gpu.name.clone(), ..GpuReport::default() };
        let coupled = if tables.coupled { "_coupled" } else { "" };
        let n_fans = tables.blocks.len() - tables.by_colours.len();
        let repeats = |pass: &Pass<T>| {
            let rounds = pass.n_blocks.div_ceil(pass.kernel.resident * gpu.multiprocessors);
            all_fans && rounds <= MOST_ROUNDS
        };
        let mut single = Launch { passes: Vec::new(), steps: 1, repeats: false };
        let mut double = None;
        if n_fans > 0 {
            let (law, code) = ptx::FANS[if tables.isotropic { 0 } else { 1 + usize::from(tables.coupled) }];
            let module = gpu.module(code[number / 8])?;
            let list = if tables.by_fans.is_empty() { 0 } else { constant.by_fans.pointer() };
            let mut pass = |steps: u32| -> Result<Pass<T>, DeviceError> {
                let name = format!("fans_{law}_{}_{steps}", T::NAME);
                let kernel = Kernel::new(&gpu, &module, &name, tables.shared[steps as usize - 1])?;
                report.kernels.push((name, steps, kernel.threads, kernel.registers, kernel.resident));
                Ok(Pass { kernel, n_blocks: n_fans as u32, together: false, list, material: None })
            };
            single.passes.push(pass(1)?);
            single.repeats = repeats(&single.passes[0]);
            if tables.two_steps && options.steps_per_launch != 1 {
                let both = pass(2)?;
                double = Some(Launch { passes: vec![both], steps: 2, repeats: repeats(&both) });
            }
            modules.push(module);
        }
        if !tables.by_colours.is_empty() {
            let module = gpu.module(match (dimension, number) {
                (2, _) => ptx::COLOURS_PLANE,
                (_, 4) => ptx::SOLIDS_F32,
                _ => ptx::SOLIDS_F64,
            })?;
            let set = match (tables.laws.count_ones(), dimension) {
                (1, _) if !tables.coupled => law_name(tables.laws.trailing_zeros()),
                (_, 2) => "plane",
                _ => "solid",
            };
            let way = if tables.once { "solids" } else { "colours" };
            let name = format!("{way}_{}_{set}{coupled}", T::NAME);
            let shared = if tables.once { tables.rooms() } else { tables.shared[2] };
            let kernel = Kernel::new(&gpu, &module, &name, shared)?;
            report.kernels.push((name, 1, kernel.threads, kernel.registers, kernel.resident));
            let list = if n_fans == 0 { 0 } else { constant.by_colours.pointer() };
            // In space thread blocks stay, take one block after the other, and wait for each other.
            let (n_blocks, together) = (tables.by_colours.len() as u32, tables.once);
            single.passes.push(Pass { kernel, n_blocks, together, list, material: None });
            modules.push(module);
        }
        if !launches.is_empty() {
            let module = gpu.module(if number == 4 { ptx::MARCH_F32 } else { ptx::MARCH_F64 })?;
            for (launch, list) in launches.iter().zip(&constant.tile_lists) {
                let name = format!("march_{}_{}", T::NAME, law_name(launch.law));
                let kernel = Kernel::new(&gpu, &module, &name, room(number))?;
                report.kernels.push((name, 1, kernel.threads, kernel.registers, kernel.resident));
                let n_blocks = launch.tiles.len() as u32;
                let material = Some(tables.materials[launch.material]);
                single.passes.push(Pass { kernel, n_blocks, together: false, list: list.pointer(), material });
            }
            if !left.is_empty() {
                let kernel = Kernel::new(&gpu, &module, &format!("act_{}", T::NAME), 0)?;
                let n_blocks = left.len().div_ceil(LEFT_THREADS) as u32;
                single.passes.push(Pass { kernel, n_blocks, together: false, list: 0, material: None });
            }
            modules.push(module);
        }
        let mut aside = None;
        if !launches.is_empty() && !tables.blocks.is_empty() {
            // The lowest number is the highest priority; the driver takes the nearest that it has.
            let stream = Stream::new(StreamFlags::NON_BLOCKING, Some(-5))
                .map_err(|error| DeviceError::Failed { what: "make a stream", reason: error.to_string() })?;
            aside = Some(Aside { stream, begins: Event::new()?, ends: Event::new()? });
        }
        let sum = Kernel::new(&gpu, &setup, &format!("energy_sums_{}", T::NAME), 0)?;
        let localise = Kernel::new(&gpu, &setup, &format!("localise_{}", T::NAME), 0)?;
        let localise_tiles = Kernel::new(&gpu, &setup, &format!("localise_tiles_{}", T::NAME), 0)?;
        let signals = DeviceSignals::new(&gpu, &setup, stream.as_inner(), signals, state.step)?;
        modules.push(setup);

        // Positions as the blocks see them, from the map's own.
        let coordinates = up.copy(problem.mesh.coordinates)?;
        let (mut n, mut length, mut quantum) = (dimension as u32, tables.scale.length, tables.scale.quantum);
        let mut addresses = [
            constant.blocks.pointer(),
            coordinates.pointer(),
            constant.halo_nodes.pointer(),
            constant.outer_nodes.pointer(),
            constant.x.pointer(),
        ];
        let [b, c, h, o, x] = addresses.each_mut().map(|address| std::ptr::from_mut(address).cast::<c_void>());
        let scalars = [
            std::ptr::from_mut(&mut n).cast::<c_void>(),
            std::ptr::from_mut(&mut length).cast(),
            std::ptr::from_mut(&mut quantum).cast(),
        ];
        // SAFETY: the arguments that `localise` takes, in its order; the tables were checked when they were made.
        unsafe {
            let mut arguments = [b, c, h, o, scalars[0], scalars[1], scalars[2], x];
            if !tables.blocks.is_empty() {
                localise.launch(stream.as_inner(), tables.blocks.len() as u32, &mut arguments)?;
            }
            if !tile_rows.is_empty() {
                let mut addresses = [constant.tiles.pointer(), constant.words.pointer(), constant.tile_x.pointer()];
                let [tiles, words, x] = addresses.each_mut().map(|at| std::ptr::from_mut(at).cast::<c_void>());
                let mut arguments = [tiles, words, c, scalars[1], scalars[2], x];
                localise_tiles.launch(stream.as_inner(), tile_rows.len() as u32, &mut arguments)?;
            }
        }
        synchronize(&stream)?;
        drop(coordinates);

        let energies = Buffer::zeros(2 * tables.n_energy_rows)?;
        let (record, recording) = (Buffer::zeros(0)?, Buffer::zeros(0)?);
        let (u, du) = ([u, Buffer::zeros(n_dofs)?], [du, Buffer::zeros(n_dofs)?]);
        let params = Params {
            u: [u[0].pointer(), u[1].pointer()],
            du: [du[0].pointer(), du[1].pointer()],
            x: constant.x.pointer(),
            inertia: constant.inertia.pointer(),
            decay: constant.decay.pointer(),
            dissipation: constant.dissipation.pointer(),
            blocks: constant.blocks.pointer(),
            list: 0,
            halo_nodes: constant.halo_nodes.pointer(),
            outer_nodes: constant.outer_nodes.pointer(),
            fan: constant.fan.pointer(),
            halo_fan: constant.halo_fan.pointer(),
            fan_materials: constant.fan_materials.pointer(),
            halo_fan_materials: constant.halo_fan_materials.pointer(),
            further_node: constant.further_node.pointer(),
            further_fan: constant.further_fan.pointer(),
            further_materials: constant.further_materials.pointer(),
            materials: constant.materials.pointer(),
            colours: constant.colours.pointer(),
            connectivity: constant.connectivity.pointer(),
            factors: if tables.factors.is_empty() { 0 } else { constant.factors.pointer() },
            special_first: constant.special_first.pointer(),
            specials: constant.specials.pointer(),
            signals: signals.rows(),
            record: record.pointer(),
            recording: recording.pointer(),
            energies: energies.pointer(),
            row: signals.row(),
            passed_first: constant.passed_first.pointer(),
            passed_row: constant.passed_row.pointer(),
            passed: constant.passed.pointer(),
            sources: constant.sources.pointer(),
            done: constant.done.pointer(),
            force_out: 0,
            n_nodes: problem.mesh.n_nodes() as u64,
            force_unit: tables.scale.force,
            per_force_unit: 1.0 / tables.scale.force,
            per_time_increment: 1.0 / problem.time_increment,
            n_signals: signals.len(),
            n_monitors: problem.monitors.len() as u32,
            n_materials: tables.materials.len() as u32,
            n_blocks: tables.blocks.len() as u32,
            near_room: tables.near_room,
            later_room: tables.later_room,
            tiles: constant.tiles.pointer(),
            words: constant.words.pointer(),
            tile_x: constant.tile_x.pointer(),
            left: constant.left.pointer(),
            n_left: left.len() as u32,
            left_special: tables.left_special,
            left_energy: tables.left_energy,
            damped: u32::from(!tables.decay.is_empty()),
            n_around: tables.n_around as u32,
            n_kept: tables.n_kept,
        };
        report.bytes = needed - RESERVE;
        report.uploaded = up.bytes;
        report.upload_seconds = up.seconds;
        report.bytes_per_node_step = bytes_per_step(problem, &tables, double.is_some()) / problem.mesh.n_nodes() as f64;
        Ok(Self {
            graphs: [None, None],
            single,
            double,
            sum,
            u,
            du,
            constant,
            energies,
            signals,
            record,
            recording,
            force: None,
            params,
            parity: 0,
            step: state.step,
            n_dofs,
            energy_before: [state.external_work, state.damped_energy],
            report,
            _modules: modules,
            aside,
            stream,
            gpu,
        })
    }

    /// What it runs on, and with what.
    pub fn report(&self) -> &GpuReport {
        &self.report
    }

    /// Starts one launch, `k` rows after the current one, over the blocks `repeats` times.
    fn start(&self, launch: &Launch<T>, k: usize, parity: usize, repeats: usize) -> Result<(), DeviceError> {
        let (main, aside) = (self.stream.as_inner(), self.aside.as_ref());
        if repeats > 1 {
            self.constant.done.clear(main)?;
        }
        aside.map_or(Ok(()), |aside| aside.begins.order(main, aside.stream.as_inner()))?;
        for pass in &launch.passes {
            let [u, du] = [self.params.u, self.params.du].map(|[a, b]| if parity == 0 { [a, b] } else { [b, a] });
            let mut params = Params { list: pass.list, u, du, ..self.params };
            let (mut k, mut material) = (k as u32, pass.material);
            let mut arguments = [
                std::ptr::from_mut(&mut params).cast::<c_void>(),
                std::ptr::from_mut(&mut k).cast(),
                material.as_mut().map_or(std::ptr::null_mut(), |material| std::ptr::from_mut(material).cast()),
            ];
            // SAFETY: the arguments that every step kernel takes, the last one of tiles alone; the arrays hold what the tables name.
            unsafe {
                if pass.together {
                    let stream = aside.map_or(main, |aside| aside.stream.as_inner());
                    pass.kernel.launch_together(&self.gpu, stream, pass.n_blocks, &mut arguments)?;
                } else {
                    let grid = [pass.n_blocks, repeats as u32, 1];
                    pass.kernel.launch_grid(main, grid, pass.kernel.threads, false, &mut arguments)?;
                }
            }
        }
        aside.map_or(Ok(()), |aside| aside.ends.order(aside.stream.as_inner(), main))
    }

    /// Starts the launches of `n_steps` steps, at most [`WINDOW`], and makes the signals of those after them; returns the parity after them.
    fn start_steps(&self, n_steps: usize, mut parity: usize) -> Result<usize, DeviceError> {
        let mut k = 0;
        while k < n_steps {
            let launch = match &self.double {
                Some(double) if n_steps - k >= double.steps => double,
                _ => &self.single,
            };
            let repeats = if launch.repeats { (n_steps - k) / launch.steps } else { 1 };
            self.start(launch, k, parity, repeats)?;
            k += repeats * launch.steps;
            parity ^= repeats % 2;
        }
        self.signals.advance(self.stream.as_inner(), n_steps)?;
        Ok(parity)
    }

    /// f_int of the displacement at an address, N, left on the device.
    fn start_internal_force(&mut self, displacement: u64) -> Result<(), DeviceError> {
        if self.force.is_none() {
            self.force = Some(Buffer::zeros(self.n_dofs)?);
        }
        let kept = self.params;
        self.params.force_out = self.force.as_ref().map_or(0, Buffer::pointer);
        self.params.u[0] = displacement;
        let started = self.start(&self.single, 0, 0, 1);
        self.params = kept;
        started
    }

    fn read<A: Plain + Default>(buffer: &Buffer<A>) -> Result<Vec<A>, DeviceError> {
        let mut values = vec![A::default(); buffer.len()];
        buffer.read(&mut values)?;
        Ok(values)
    }
}

/// Bytes that a step must move through the device's memory, everything that a launch reads or writes once.
fn bytes_per_step<T>(problem: &Problem, tables: &Tables<T>, two_steps: bool) -> f64 {
    let (number, d) = (size_of::<T>() as f64, problem.mesh.dimension as f64);
    let mut total = 0.0;
    for (b, row) in tables.blocks.iter().enumerate() {
        let (own, halo, outer) = (f64::from(row.n_own), f64::from(row.n_halo), f64::from(row.n_outer));
        let fans = tables.by_colours.binary_search(&(b as u32)).is_err();
        let damping = if row.damped != 0 { 2.0 * number } else { 0.0 };
        // u, Δu read and written, positions, inertia; indices, u and positions of the halo; forces passed on.
        let moved = if row.still == 0 { own * (5.0 * d * number + number + damping) } else { own * 2.0 * d * number };
        total += moved + halo * (4.0 + 2.0 * d * number);
        if fans {
            let fan = if size_of::<T>() == 4 { 12.0 } else { 16.0 };
            total += own * fan + f64::from(row.n_further) * 14.0;
            if two_steps {
                total += halo * (d * number + number + fan) + outer * (4.0 + 2.0 * d * number);
            }
        } else {
            let colours = &tables.colours[row.colour_first as usize..(row.colour_first + row.n_colours) as usize];
            if tables.once {
                // Rows passed on.
                total += halo * (4.0 + 2.0 * d * number) + 4.0 * f64::from(row.n_boundary);
            }
            for colour in colours {
                let nodes = [3.0, 4.0, 4.0, 8.0, 6.0, 8.0, 8.0, 8.0][colour.law as usize];
                let factor = match (tables.factors.is_empty(), colour.law) {
                    (true, _) => 0.0,
                    (false, 3) => 6.0 * number,
                    _ => number,
                };
                total += f64::from(colour.n_elements) * (2.0 * nodes + factor);
            }
        }
    }
    if let Some(tiles) = &tables.tiles {
        // Words, u and positions of each plane; Δu read and written, u written, inertia.
        total += tiles.n_read() as f64 * (4.0 + 2.0 * d * number) + tiles.n_moved as f64 * (3.0 * d + 1.0) * number;
    }
    if two_steps { total / 2.0 } else { total }
}

impl<T: Real> Stepper for GpuStepper<T> {
    fn step(&self) -> u64 {
        self.step
    }

    fn reads_table(&self) -> bool {
        false
    }

    fn advance(
        &mut self,
        n_steps: usize,
        _signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        crate::dynamics::check_record(self.step, n_steps, record);
        if n_steps == 0 {
            return Ok(());
        }
        self.gpu.enter()?;
        let n_monitors = self.params.n_monitors as usize;
        let n_recorded = record.len() * n_monitors * 3;
        let mut rows = vec![-1; n_steps];
        for (row, &step) in record.iter().enumerate() {
            rows[(step - self.step) as usize] = row as i32;
        }
        let mut moved = self.record.grow(n_steps)?;
        moved |= self.recording.grow(n_recorded)?;
        self.record.write(&rows)?;
        self.signals.begin()?;
        self.params.record = self.record.pointer();
        self.params.recording = self.recording.pointer();
        if moved {
            self.graphs = [None, None];
        }
        let mut left = n_steps;
        while left >= GRAPH_STEPS {
            if self.graphs[self.parity].is_none() {
                let graph =
                    Graph::record(self.stream.as_inner(), || self.start_steps(GRAPH_STEPS, self.parity).map(|_| ()))?;
                self.graphs[self.parity] = Some(graph);
            }
            if let Some(graph) = &self.graphs[self.parity] {
                graph.launch(self.stream.as_inner())?;
            }
            left -= GRAPH_STEPS;
        }
        let parity = self.start_steps(left, self.parity)?;
        synchronize(&self.stream)?;
        self.parity = parity;
        self.step += n_steps as u64;
        let first = recording.len();
        recording.resize(first + n_recorded, 0.0);
        self.recording.read(&mut recording[first..])
    }

    fn state(&self) -> Result<State, DeviceError> {
        self.gpu.enter()?;
        let widen = |values: Vec<T>| values.into_iter().map(Real::to_f64).collect();
        let energies = Self::read(&self.energies)?;
        let total = |column: usize| energies.iter().skip(column).step_by(2).sum::<f64>() + self.energy_before[column];
        Ok(State {
            step: self.step,
            displacement: widen(Self::read(&self.u[self.parity])?),
            increment: widen(Self::read(&self.du[self.parity])?),
            external_work: total(0),
            damped_energy: total(1),
        })
    }

    fn internal_force(&mut self, displacement: &[f64]) -> Result<Vec<f64>, DeviceError> {
        assert_eq!(displacement.len(), self.n_dofs, "displacement has the wrong length");
        self.gpu.enter()?;
        let narrow: Vec<T> = displacement.iter().map(|&value| T::from_f64(value)).collect();
        let displacement = Buffer::of(&narrow)?;
        self.start_internal_force(displacement.pointer())?;
        synchronize(&self.stream)?;
        self.force.as_ref().map_or(Ok(Vec::new()), Self::read)
    }

    fn energy_sums(&mut self) -> Result<Option<EnergySums>, DeviceError> {
        self.gpu.enter()?;
        self.start_internal_force(self.u[self.parity].pointer())?;
        let sums = Buffer::<f64>::zeros(2 * SUM_BLOCKS)?;
        let mut addresses = [
            self.u[self.parity].pointer(),
            self.du[self.parity].pointer(),
            self.force.as_ref().map_or(0, Buffer::pointer),
            self.constant.mass.pointer(),
            sums.pointer(),
        ];
        let [u, du, force, mass, out] =
            addresses.each_mut().map(|address| std::ptr::from_mut(address).cast::<c_void>());
        let mut n_nodes = self.params.n_nodes;
        let mut dimension = (self.n_dofs as u64 / n_nodes.max(1)) as u32;
        let (n, d) = (std::ptr::from_mut(&mut n_nodes).cast(), std::ptr::from_mut(&mut dimension).cast());
        // SAFETY: the arguments that `energy_sums` takes, in its order.
        unsafe { self.sum.launch(self.stream.as_inner(), SUM_BLOCKS as u32, &mut [u, du, force, mass, n, d, out])? };
        synchronize(&self.stream)?;
        let sums = Self::read(&sums)?;
        let energies = Self::read(&self.energies)?;
        let total = |values: &[f64], column: usize| values.iter().skip(column).step_by(2).sum::<f64>();
        Ok(Some(EnergySums {
            kinetic: total(&sums, 0),
            strain: total(&sums, 1),
            external_work: total(&energies, 0) + self.energy_before[0],
            damped_energy: total(&energies, 1) + self.energy_before[1],
        }))
    }
}

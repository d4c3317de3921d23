//! The kernels' code, and which of them step a model.

use super::features::{Choice, Features};
use super::host::Host;
use super::layout::*;
use super::options::{GpuError, Scheme};
use crate::device::{DeviceError, Gpu, Kernel, Module};
use crate::simd::Real;
use crate::spring::Addressing;
use crate::spring::cpu::lists::Rules;

const TILE_THREADS: u32 = 128;
/// Most threads of a resident kernel for even spacing and springs that never break, by its slots, and of any other.
const RESIDENT_THREADS: [(usize, u32); 3] = [(6, 512), (18, 512), (26, 768)];
const MOST_THREADS: u32 = 1024;
const NINE: usize = SLOTS_OF_A_THREAD as usize;

/// Slots of the lists of a lattice, else 0.
fn slots<T: Real>(host: &Host<T>) -> usize {
    match host {
        Host::Local(lists) if matches!(lists.rules, Rules::Lattice(_)) && lists.first.len() > 1 => lists.first[1],
        _ => 0,
    }
}

/// Bytes of a particle in shared memory, by which local ids are multiplied: `WIDE` where `lattice_even` does.
pub(super) fn id_bytes<T: Real>(choice: Choice, even: bool, host: &Host<T>) -> usize {
    let narrow = 3 * size_of::<T>();
    let shared = choice.addressing == Addressing::Explicit && choice.scheme == Scheme::Shared;
    let room = (choice.block + host.most_halo()) * WIDE <= usize::from(u16::MAX);
    if shared && even && room && choice.block == EVEN_BLOCK as usize { WIDE } else { narrow }
}

/// The kernel of columns.
fn columns_name(features: Features) -> &'static str {
    if features.heats { "columns_heat" } else { "columns" }
}

/// How deep the columns of a launch are, and how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    pub depth: u32,
    pub tiles: u32,
}

/// The kernels of a model.
#[derive(Debug)]
pub(super) struct Kernels {
    /// A step; with a resident kernel as many as are wanted.
    pub step: Kernel,
    pub name: String,
    pub grid: [u32; 3],
    pub threads: u32,
    /// Where the grid is cut into columns.
    pub columns: Option<Columns>,
    /// One step of a model that has a resident kernel.
    pub single: Option<Kernel>,
    pub specials: Kernel,
    pub energies: Kernel,
    /// Threads of a block of that, and how many blocks cover the model.
    pub energy_threads: u32,
    pub energy_blocks: u32,
    pub before: Kernel,
    pub after: Kernel,
    pub advance_row: Kernel,
    pub edit: Kernel,
    _modules: Vec<Module>,
}

impl Kernels {
    /// Warps of a step.
    pub fn warps(&self) -> usize {
        (self.tiles().max(self.grid.iter().product()) * self.threads.div_ceil(32)) as usize
    }

    /// Columns of a step.
    pub fn tiles(&self) -> u32 {
        self.columns.map_or(0, |columns| columns.tiles)
    }

    /// Thread blocks of a step.
    pub fn blocks_of_step(&self) -> u32 {
        self.columns.map_or(self.grid[0], |columns| columns.tiles)
    }

    /// Planes of the columns of a grid that one device would step; `depth` where that is not 0.
    pub fn depth(gpu: &Gpu, features: Features, size: [u32; 3], depth: u32) -> Result<u32, DeviceError> {
        let module = gpu.module("spring_columns")?;
        let kernel = Kernel::new(gpu, &module, columns_name(features), TILE_BYTES)?;
        Ok(cut(gpu, &kernel, size, depth).depth)
    }

    /// The kernels of a choice; `depth` planes a column, 0 for what is best.
    pub fn new<T: Real>(
        gpu: &Gpu,
        choice: Choice,
        features: Features,
        host: &Host<T>,
        depth: u32,
        params: &mut Params<T>,
    ) -> Result<Self, GpuError> {
        let module = gpu.module(if features.single { "spring_f32" } else { "spring_f64" })?;
        let local_bytes = params.local_most * params.id_bytes;
        let general = General { gpu, module, shared: if params.damped != 0 { 2 * local_bytes } else { local_bytes } };
        let step = StepKernel::new(&general, choice, features, slots(host), depth, params)?;
        let places = params.plane * params.size[2];
        let (energy_threads, energy_blocks) = match choice.addressing {
            Addressing::Implicit => (THREADS, places.div_ceil(THREADS)),
            _ => (params.block, params.n.div_ceil(params.block)),
        };
        Ok(Self {
            energy_threads,
            energy_blocks,
            step: step.kernel,
            name: step.name,
            grid: step.grid,
            threads: step.threads,
            columns: step.columns,
            single: step.single,
            specials: general.plain("specials")?,
            energies: match choice.addressing {
                Addressing::Implicit => general.plain("energies_grid")?,
                Addressing::ExplicitGlobal => general.plain("energies_global")?,
                _ => general.local("energies_local")?,
            },
            before: general.plain("monitors_before")?,
            after: general.plain("monitors_after")?,
            advance_row: general.plain("advance_row")?,
            edit: general.plain("edit")?,
            _modules: step.module.into_iter().chain([general.module]).collect(),
        })
    }
}

/// The module with kernels for all models.
struct General<'a> {
    gpu: &'a Gpu,
    module: Module,
    /// Shared memory of a block and its halo, bytes.
    shared: u32,
}

impl General<'_> {
    fn plain(&self, name: &str) -> Result<Kernel, DeviceError> {
        Kernel::new(self.gpu, &self.module, name, 0)
    }

    /// A kernel that has a block and its halo in shared memory.
    fn local(&self, name: &str) -> Result<Kernel, DeviceError> {
        Kernel::new(self.gpu, &self.module, name, self.shared)
    }
}

/// The kernel of a step, and how it is launched.
struct StepKernel {
    kernel: Kernel,
    name: String,
    grid: [u32; 3],
    threads: u32,
    columns: Option<Columns>,
    single: Option<Kernel>,
    /// Its module, where that is not the general one.
    module: Option<Module>,
}

impl StepKernel {
    fn new<T: Real>(
        general: &General,
        choice: Choice,
        features: Features,
        slots: usize,
        depth: u32,
        params: &mut Params<T>,
    ) -> Result<Self, GpuError> {
        let heat = if features.heats { "_heat" } else { "" };
        let one = |kernel: Result<Kernel, DeviceError>, name: &str, grid: u32, threads: u32| {
            let (name, grid) = (name.to_owned(), [grid, 1, 1]);
            Ok(Self { kernel: kernel?, name, grid, threads, columns: None, single: None, module: None })
        };
        let (block, n_blocks) = (params.block, params.n.div_ceil(params.block));
        match (choice.addressing, choice.scheme) {
            (_, Scheme::Resident) => Self::resident(general, choice, features, slots, params),
            (Addressing::Implicit, Scheme::Cached) => {
                let grid = (params.plane * params.size[2]).div_ceil(THREADS);
                one(general.plain("implicit_cached"), "implicit_cached", grid, THREADS)
            }
            (Addressing::Implicit, _) => Ok(Self::columns(general.gpu, columns_name(features), depth, params)?),
            (Addressing::ExplicitGlobal, _) => {
                one(general.plain("explicit_cached"), "explicit_cached", n_blocks, block)
            }
            _ if params.wide != 0 => {
                let name = format!("lattice_even_{slots}{heat}");
                one(general.local(&name), &name, n_blocks, LATTICE_BLOCK)
            }
            _ if slots > 0 && features.plain() && !features.breaks && block == LATTICE_BLOCK => {
                let name = format!("lattice_{slots}");
                one(general.local(&name), &name, n_blocks, block)
            }
            _ => one(general.local("explicit_local"), "explicit_local", n_blocks, block),
        }
    }

    fn resident<T: Real>(
        general: &General,
        choice: Choice,
        features: Features,
        slots: usize,
        params: &Params<T>,
    ) -> Result<Self, GpuError> {
        let groups = slots.div_ceil(NINE);
        let threads = groups as u32 * params.block;
        if params.halo_most > MOST_HALO * params.block {
            return Err(choice.refuse("halos of at most four particles a thread"));
        }
        if threads > MOST_THREADS {
            return Err(choice.refuse("at most 1,024 threads for a block and its springs by nines"));
        }
        let fits = RESIDENT_THREADS.iter().any(|&(of, most)| of == slots && threads <= most);
        let even = if features.even && !features.breaks && fits { "even_" } else { "" };
        let name = format!("resident_{even}{slots}{}", if features.follow { "_follow" } else { "" });
        let partial = groups.saturating_sub(1) * 3 * params.block as usize * size_of::<T>();
        let shared = 2 * params.local_most * params.id_bytes + partial as u32;
        let module = general.gpu.module("spring_resident")?;
        Ok(Self {
            kernel: Kernel::new(general.gpu, &module, &name, shared)?,
            name,
            grid: [params.n.div_ceil(params.block), 1, 1],
            threads,
            columns: None,
            single: Some(general.local("explicit_local")?),
            module: Some(module),
        })
    }

    fn columns<T: Real>(gpu: &Gpu, name: &str, depth: u32, params: &mut Params<T>) -> Result<Self, DeviceError> {
        let module = gpu.module("spring_columns")?;
        let kernel = Kernel::new(gpu, &module, name, TILE_BYTES)?;
        let columns = cut(gpu, &kernel, params.size, depth);
        params.depth = columns.depth;
        let grid = [columns.tiles.min(gpu.multiprocessors * kernel.resident), 1, 1];
        let (name, threads) = (name.to_owned(), TILE_THREADS);
        Ok(Self { kernel, name, grid, threads, columns: Some(columns), single: None, module: Some(module) })
    }
}

/// Columns of `depth` planes of a grid, or as deep as is best where that is 0.
fn cut(gpu: &Gpu, kernel: &Kernel, size: [u32; 3], depth: u32) -> Columns {
    let tiles = [0, 1].map(|c| (size[c] as usize).div_ceil(TILE[c]) as u32);
    // Longer columns compute less twice, but shorter ones fill the device (measured: EXPERIMENTS.md).
    let resident = gpu.multiprocessors * kernel.resident;
    let cut = |depth: u32| Columns { depth, tiles: tiles[0] * tiles[1] * size[2].div_ceil(depth) };
    match depth {
        0 => [16, 8].map(cut).into_iter().find(|cut| 10 * cut.tiles > 9 * resident).unwrap_or(cut(4)),
        depth => cut(depth),
    }
}

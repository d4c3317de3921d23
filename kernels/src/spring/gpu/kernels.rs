//! The kernels' code, and which of them step a model.

use super::features::{Choice, Features};
use super::host::Host;
use super::layout::*;
use super::options::{GpuError, Scheme};
use crate::device::{DeviceError, Gpu, Kernel, Module};
use crate::simd::Real;
use crate::spring::Addressing;
use crate::spring::cpu::lists::Rules;

/// Places of a tile of `columns` along x and y, and rows of one of its warps.
pub(super) const TILE: [usize; 2] = [TILE_X as usize, TILE_Y as usize];
pub(super) const ROWS: usize = WARP_ROWS as usize;
const TILE_THREADS: u32 = 128;
/// Bytes of a particle in the shared memory of `lattice_even`.
pub(super) const WIDE: usize = 16;
/// Most threads of a resident kernel for even spacing and springs that never break, by its slots, and of any other.
const RESIDENT_THREADS: [(usize, u32); 3] = [(6, 512), (18, 512), (26, 768)];
const MOST_THREADS: u32 = 1024;
const NINE: usize = SLOTS_OF_A_THREAD as usize;

/// Slots of the lists of a lattice, else 0.
fn slots<T: Real>(host: &Host<T>) -> usize {
    match host {
        Host::Local(lists) if matches!(lists.rules, Rules::Lattice { .. }) && lists.first.len() > 1 => lists.first[1],
        _ => 0,
    }
}

/// Bytes of a particle in shared memory, by which local ids are multiplied: `WIDE` where `lattice_even` does.
pub(super) fn id_bytes<T: Real>(choice: Choice, even: bool, host: &Host<T>) -> usize {
    let narrow = 3 * size_of::<T>();
    let shared = choice.addressing == Addressing::Explicit && choice.way == Scheme::Shared;
    let room = (choice.block + host.most_halo()) * WIDE <= usize::from(u16::MAX);
    if shared && even && room && choice.block == EVEN_BLOCK as usize { WIDE } else { narrow }
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
    /// A step; with a resident way as many as are wanted.
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

    /// Of a choice; `depth` planes a column, or 0.
    pub fn new<T: Real>(
        gpu: &Gpu,
        choice: Choice,
        features: Features,
        host: &Host<T>,
        depth: u32,
        params: &mut Params<T>,
    ) -> Result<Self, GpuError> {
        let general = gpu.module(if features.single { "spring_f32" } else { "spring_f64" })?;
        let mut modules = Vec::new();
        let plain = |name: &str| Kernel::new(gpu, &general, name, 0);
        let wide = params.wide != 0;
        let heat = if features.heats { "_heat" } else { "" };
        let local_bytes = params.local_most * params.id_bytes;
        let local = |name: &str| -> Result<Kernel, DeviceError> {
            Kernel::new(gpu, &general, name, if params.damped != 0 { 2 * local_bytes } else { local_bytes })
        };
        let block = params.block as usize;
        let n_blocks = params.n.div_ceil(params.block);
        let slots = slots(host);
        let mut single = None;
        let (mut grid, mut threads, mut columns) = ([n_blocks, 1, 1], params.block, None);
        let name = match (choice.addressing, choice.way) {
            (_, Scheme::Resident) => {
                threads = (slots.div_ceil(NINE) * block) as u32;
                let fits = RESIDENT_THREADS.iter().any(|&(of, most)| of == slots && threads <= most);
                let even = if features.even && !features.breaks && fits { "even_" } else { "" };
                format!("resident_{even}{slots}{}", if features.follow { "_follow" } else { "" })
            }
            (Addressing::Implicit, Scheme::Cached) => "implicit_cached".to_owned(),
            (Addressing::Implicit, _) => format!("columns{heat}"),
            (Addressing::ExplicitGlobal, _) => "explicit_cached".to_owned(),
            _ if wide => {
                threads = LATTICE_BLOCK;
                format!("lattice_even_{slots}{heat}")
            }
            _ if slots > 0 && features.plain() && !features.breaks && params.block == LATTICE_BLOCK => {
                format!("lattice_{slots}")
            }
            _ => "explicit_local".to_owned(),
        };
        let step = match (choice.addressing, choice.way) {
            (_, Scheme::Resident) => {
                if params.halo_most as usize > MOST_HALO as usize * block {
                    return Err(choice.refuse("halos of at most four particles a thread"));
                }
                if threads > MOST_THREADS {
                    return Err(choice.refuse("at most 1,024 threads for a block and its springs by nines"));
                }
                let partial = slots.div_ceil(NINE).saturating_sub(1) * 3 * block * size_of::<T>();
                let module = gpu.module("spring_resident")?;
                let kernel = Kernel::new(gpu, &module, &name, 2 * local_bytes + partial as u32)?;
                modules.push(module);
                single = Some(local("explicit_local")?);
                kernel
            }
            (Addressing::Implicit, Scheme::Cached) => {
                (grid, threads) = ([(params.plane * params.size[2]).div_ceil(THREADS), 1, 1], THREADS);
                plain(&name)?
            }
            (Addressing::Implicit, _) => {
                let module = gpu.module("spring_columns")?;
                let kernel = Kernel::new(gpu, &module, &name, TILE_BYTES)?;
                modules.push(module);
                let tiles = [0, 1].map(|c| (params.size[c] as usize).div_ceil(TILE[c]) as u32);
                // Longer columns compute less twice, but shorter ones fill the device (measured: EXPERIMENTS.md).
                let slots = gpu.multiprocessors * kernel.resident;
                let cut = |depth: u32| Columns { depth, tiles: tiles[0] * tiles[1] * params.size[2].div_ceil(depth) };
                let chosen = match depth {
                    0 => [16, 8].map(cut).into_iter().find(|cut| 10 * cut.tiles > 9 * slots).unwrap_or(cut(4)),
                    depth => cut(depth),
                };
                params.depth = chosen.depth;
                columns = Some(chosen);
                (grid, threads) = ([chosen.tiles.min(slots), 1, 1], TILE_THREADS);
                kernel
            }
            (Addressing::ExplicitGlobal, _) => plain(&name)?,
            _ => local(&name)?,
        };
        let places = params.plane * params.size[2];
        let (energy_threads, energy_blocks) = match choice.addressing {
            Addressing::Implicit => (THREADS, places.div_ceil(THREADS)),
            _ => (params.block, n_blocks),
        };
        Ok(Self {
            energy_threads,
            energy_blocks,
            step,
            name,
            grid,
            threads,
            columns,
            single,
            specials: plain("specials")?,
            energies: match choice.addressing {
                Addressing::Implicit => plain("energies_grid")?,
                Addressing::ExplicitGlobal => plain("energies_global")?,
                _ => local("energies_local")?,
            },
            before: plain("monitors_before")?,
            after: plain("monitors_after")?,
            advance_row: plain("advance_row")?,
            edit: plain("edit")?,
            _modules: {
                modules.push(general);
                modules
            },
        })
    }
}

//! The arrays that stay as they are, and how they come to the device.

use pogo_formats::explicit::block::DeviceView;

use super::fans::{Entries, FanRows, fan_rows, further_rows};
use super::laws::row_shape;
use super::layout::{Block, Colour, Params};
use super::tables::Tables;
use crate::device::{Arena, Buffer, DeviceError, Gpu, Kernel, Module, Plan, Stream, arguments, field};
use crate::explicit::Problem;
use crate::simd::Real;

/// Rows of fans: of own nodes, of halos, and of records that follow others.
pub(super) struct Fans([FanRows; 2], FanRows);

impl Fans {
    /// Those of blocks that are stepped by fans; of halos only where two steps may be made at a time.
    pub fn new<T: Real>(problem: &Problem, view: &DeviceView, tables: &Tables<T>) -> Self {
        let blocks = &problem.blocks;
        let any = tables.has_fans();
        let n_blocks = if any { blocks.n_blocks() } else { 0 };
        let halo_entries = |block: usize| match tables.two_steps {
            true => blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize,
            false => 0..0,
        };
        let own = Entries {
            ranges: (0..n_blocks).map(|block| blocks.own_nodes(block)).collect(),
            record: &|node| view.fan(node),
            materials: if any { view.fan_materials } else { &[] },
            inertia: &|node| tables.inertia[node],
        };
        let halo = Entries {
            ranges: (0..n_blocks).map(halo_entries).collect(),
            record: &|entry| view.halo_fan(entry),
            materials: if tables.two_steps { view.halo_fan_materials } else { &[] },
            inertia: &|entry| tables.inertia[blocks.halo_nodes[entry] as usize],
        };
        Self(fan_rows([own, halo]), further_rows(view))
    }
}

/// Lists every array that kernels read and that no step changes, and those that only kernels use. What no kernel of this
/// model reads stays on the host.
pub(super) fn plan<'a, T: Real>(
    problem: &'a Problem,
    view: &DeviceView<'a>,
    tables: &'a Tables<T>,
    fans: &'a Fans,
) -> Plan<'a, Params<T>> {
    let Fans([own_fans, halo_fans], further_fans) = fans;
    let dimension = problem.mesh.dimension;
    let by_fans_alone = tables.by_colours.is_empty() && !tables.blocks.is_empty();
    let mut plan = Plan::<Params<T>>::default();

    plan.zeros::<T, _>(field!(x), tables.n_local * dimension);
    // In single precision the rows of fans hold it.
    if size_of::<T>() == 8 || !by_fans_alone || !tables.viscous.is_empty() {
        plan.copy(field!(inertia), &tables.inertia);
    }
    plan.copy(field!(decay), &tables.decay);
    plan.copy(field!(dissipation), &tables.dissipation);
    plan.copy(field!(blocks), &tables.blocks);
    // In space a block reads the nodes of later blocks alone, and passes forces on to them.
    plan.copy(field!(halo_nodes), if tables.once { view.later_nodes } else { problem.blocks.halo_nodes });
    if tables.two_steps {
        plan.copy(field!(outer_nodes), view.outer_nodes);
    }

    plan.copy(field!(fan), own_fans.words.as_chunks().0);
    plan.copy(field!(halo_fan), halo_fans.words.as_chunks().0);
    plan.copy(field!(fan_planes), view.fan_planes);
    plan.copy(field!(fan_materials), &own_fans.materials);
    plan.copy(field!(halo_fan_materials), &halo_fans.materials);
    plan.copy(field!(further_node), view.further_node);
    plan.copy(field!(further_fan), &further_fans.words);
    plan.copy(field!(further_materials), &further_fans.materials);

    plan.copy(field!(materials), &tables.materials);
    if !tables.by_colours.is_empty() {
        plan.copy(field!(colours), &tables.colours);
        plan.copy(field!(element_materials), &tables.element_materials);
        plan.copy(field!(connectivity), view.coloured_connectivity);
    }
    plan.copy_if_any(field!(factors), &tables.factors);
    plan.copy(field!(special_first), &tables.special_first);
    plan.copy(field!(specials), &tables.specials);
    plan.zeros::<f64, _>(field!(energies), 2 * tables.n_energy_rows);

    plan.copy(field!(passed_first), view.passed_first);
    plan.copy(field!(passed_row), view.passed_row);
    plan.zeros::<T, _>(field!(passed), tables.unknowns * view.later_nodes.len());
    plan.copy(field!(sources), &tables.sources);
    plan.zeros::<u32, _>(field!(done), tables.blocks.len());

    if let Some(tiles) = &tables.tiles {
        plan.copy(field!(tiles), &tiles.rows);
        plan.copy(field!(words), &tiles.words);
        plan.zeros::<T, _>(field!(tile_x), 3 * tiles.words.len());
        plan.copy(field!(act_nodes), &tiles.act_nodes);
    }
    plan
}

/// Numbers of a launch that no step changes.
pub(super) fn parameters<T: Real>(problem: &Problem, tables: &Tables<T>) -> Params<T> {
    use crate::device::Plain as _;
    Params {
        n_nodes: problem.mesh.n_nodes() as u64,
        force_unit: tables.units.force,
        per_force_unit: 1.0 / tables.units.force,
        per_time_increment: 1.0 / problem.time_increment,
        n_monitors: problem.monitors.len() as u32,
        n_blocks: tables.blocks.len() as u32,
        near_room: tables.near_room,
        later_room: tables.later_room,
        n_act_nodes: tables.tiles.as_ref().map_or(0, |tiles| tiles.act_nodes.len() as u32),
        act_special: tables.act_special,
        act_energy: tables.act_energy,
        damped: u32::from(!tables.decay.is_empty()),
        n_neighbours: tables.n_neighbours as u32,
        n_kept: tables.n_kept,
        ..Params::zeroed()
    }
}

/// Makes positions as the blocks and tiles see them from those of the block file, which are on the device for that alone.
pub(super) fn localise<T: Real>(
    problem: &Problem,
    tables: &Tables<T>,
    params: &Params<T>,
    (gpu, setup, stream): (&Gpu, &Module, &Stream),
    arena: &mut Arena,
) -> Result<(), DeviceError> {
    let blocks = Kernel::new(gpu, setup, &format!("localise_{}", T::NAME), 0)?;
    let tiles = Kernel::new(gpu, setup, &format!("localise_tiles_{}", T::NAME), 0)?;
    let coordinates = Buffer::of(problem.mesh.coordinates)?;
    arena.uploaded += size_of_val(problem.mesh.coordinates) as u64;
    let at = coordinates.pointer();
    let (length, quantum) = (tables.units.length, tables.units.quantum);
    let (halo, outer, dimension) = (params.halo_nodes, params.outer_nodes, problem.mesh.dimension as u32);
    let n_tiles = tables.tiles.as_ref().map_or(0, |tiles| tiles.rows.len());
    // SAFETY: the arguments that the kernels take, in their order; the tables were checked when they were made.
    unsafe {
        if !tables.blocks.is_empty() {
            let n = tables.blocks.len() as u32;
            let (rows, x) = (params.blocks, params.x);
            blocks.launch(stream, n, &mut arguments![rows, at, halo, outer, dimension, length, quantum, x])?;
        }
        if n_tiles > 0 {
            let (rows, words, x) = (params.tiles, params.words, params.tile_x);
            tiles.launch(stream, n_tiles as u32, &mut arguments![rows, words, at, length, quantum, x])?;
        }
    }
    stream.synchronize()
}

/// Bytes that a step must move through the device's memory, everything that a launch reads or writes once.
pub(super) fn bytes_per_step<T: Real>(problem: &Problem, tables: &Tables<T>, two_steps: bool) -> f64 {
    let (number, d, s) = (size_of::<T>() as f64, problem.mesh.dimension as f64, tables.unknowns as f64);
    let mut total = 0.0;
    for (b, row) in tables.blocks.iter().enumerate() {
        let is_in = |list: &[u32]| list.binary_search(&(b as u32)).is_ok();
        let by_colours = is_in(&tables.by_colours);
        if !by_colours && !tables.by_fans.is_empty() && !is_in(&tables.by_fans) {
            // Of another device.
            continue;
        }
        let (own, halo) = (f64::from(row.n_own), f64::from(row.n_halo));
        let damping = if row.damped != 0 { 2.0 * number } else { 0.0 };
        // u, Δu read and written, positions, inertia; indices, u and positions of the halo; forces passed on.
        total += match row.moved_by_tiles {
            0 => own * ((4.0 * s + d) * number + number + damping),
            _ => own * (s + d) * number,
        };
        total += halo * (4.0 + (s + d) * number);
        total += match by_colours {
            true => bytes_of_colours(row, tables, number),
            false => bytes_of_fans(row, number, d, two_steps),
        };
    }
    if let Some(tiles) = &tables.tiles {
        // Words, u and positions of each plane; Δu read and written, u written, inertia.
        total += tiles.n_read() as f64 * (4.0 + (s + d) * number) + tiles.n_moved as f64 * (3.0 * s + 1.0) * number;
    }
    // The kernels of elements go over them once for each group of materials that feel the same.
    total = total * tables.viscous.groups.len().max(1) as f64 + tables.viscous.bytes_per_step();
    if two_steps { total / 2.0 } else { total }
}

/// Fans of a block; with two steps at a time those of its halo, and what the halo reads.
fn bytes_of_fans(row: &Block, number: f64, d: f64, two_steps: bool) -> f64 {
    let fan = if number == 4.0 { 12.0 } else { 16.0 };
    let once = f64::from(row.n_own) * fan + f64::from(row.n_further) * 14.0;
    if !two_steps {
        return once;
    }
    once + f64::from(row.n_halo) * (d * number + number + fan) + f64::from(row.n_outer) * (4.0 + 2.0 * d * number)
}

/// Elements of a block, and in space the rows that it passes on.
fn bytes_of_colours<T>(row: &Block, tables: &Tables<T>, number: f64) -> f64 {
    let colours = &tables.colours[row.colour_first as usize..(row.colour_first + row.n_colours) as usize];
    let bytes = |colour: &Colour| {
        let [nodes, elements] = row_shape(colour.law).map(|n| n as f64);
        let factors = if tables.factors.is_empty() { 0.0 } else { elements * number };
        f64::from(colour.n_elements) * (2.0 * nodes + factors)
    };
    let passed = match tables.once {
        true => f64::from(row.n_halo) * (4.0 + 2.0 * tables.unknowns as f64 * number) + 4.0 * f64::from(row.n_boundary),
        false => 0.0,
    };
    passed + colours.iter().map(bytes).sum::<f64>()
}

//! The tables of the kernels that the block file does not hold, in the form that they have on the device.

use std::collections::HashMap;
use std::ops::Range;

use pogo_formats::explicit::block::corner::{self, MOST_LOCAL_NODES, local_node};
use pogo_formats::explicit::block::ring::shape;
use pogo_formats::explicit::block::{DeviceTables, DeviceView};
use pogo_formats::mesh::ElementKind;
use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::super::{Problem, StepperError};
use super::grids::{Launched, Role, Tiles};
use super::ground::GroundTables;
use super::halo::{Devices, ElementLists, Senders};
use super::held::{HeldTables, Joints};
use super::laws::{is_parallelepiped, law_name, law_number, law_of_parallelepipeds};
use super::layout::*;
use super::tied::TieTables;
use super::viscous::ViscousTables;
use super::wet::WetTables;
use crate::device::Plain as _;
use crate::explicit::units::Units;
use crate::simd::Real;

/// Nodes that one launch of `act` updates.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActRange {
    /// The first of them in the list of such nodes.
    pub first: u32,
    pub n: u32,
    /// The first row of their energies, from that of the first such node on.
    pub row: u32,
    /// They are in tiles of the border.
    pub is_border: bool,
}

/// Everything that the kernels read and the block file does not hold.
#[derive(Default)]
pub(super) struct Tables<T> {
    pub blocks: Vec<Block>,
    /// Blocks that are stepped by fans; empty if all are, or none.
    pub by_fans: Vec<u32>,
    /// How many of them, from the first on, others wait for.
    pub n_early_fans: usize,
    /// Blocks that are stepped by colours.
    pub by_colours: Vec<u32>,
    /// Unknowns of a node in the arrays of the state: one where all elements are those of fluids, else the dimension.
    pub unknowns: usize,
    /// Elements of solids and of fluids.
    pub is_mixed: bool,
    pub wet: WetTables<T>,
    pub ground: GroundTables,
    /// Linear constraints of solids and of fluids; made behind all else.
    pub held: [Option<HeldTables>; 2],
    /// What passes between fluids and solids outside the blocks.
    pub ties: Option<TieTables>,
    /// Rows of energies of the device's own nodes. The rows behind them are of ties and constraints, which all devices count alike.
    pub n_own_energy_rows: usize,
    /// Damping in proportion to the stiffness, and relaxation.
    pub viscous: ViscousTables<T>,
    /// What a step makes is corrected before the next begins, or made by several kernels, so that a launch makes one step.
    pub is_corrected: bool,
    /// Bit l: law l is among the blocks that are stepped by colours.
    pub laws: u32,
    /// The halo's fans are there: two steps may be made at a time.
    pub two_steps: bool,
    /// Some material couples shear with the rest.
    pub coupled: bool,
    /// Whether all materials are isotropic in the plane.
    pub isotropic: bool,
    pub colours: Vec<Colour>,
    /// Material of each element or ring of colours that have several.
    pub element_materials: Vec<u32>,
    pub materials: Vec<Material<T>>,
    /// Of each coloured entry, or empty.
    pub factors: Vec<T>,
    pub special_first: Vec<u32>,
    pub specials: Vec<Special>,
    pub inertia: Vec<T>,
    /// Empty without damping.
    pub decay: Vec<T>,
    pub dissipation: Vec<T>,
    pub n_energy_rows: usize,
    /// Own, halo (in space: later) and outer nodes over all blocks.
    pub n_local: usize,
    pub units: Units,
    /// Elements on joins are computed once.
    pub once: bool,
    /// Dynamic shared memory of a thread block, bytes: by fans one and two steps at a time, by colours.
    pub shared: [u32; 3],
    /// Blocks that pass forces on to each block, ascending, block by block; if all are stepped by fans, those that it reads or that
    /// read it, and itself, in rows of `n_neighbours`.
    pub sources: Vec<u32>,
    pub n_neighbours: usize,
    /// Actions of a block that fans keep in shared memory, at most.
    pub n_kept: u32,
    /// Own and later nodes, and later nodes, the most of a block; in space.
    pub near_room: u32,
    pub later_room: u32,
    /// Grids; blocks that have nothing to do beside them are left out.
    pub tiles: Option<Tiles>,
    /// What one of several devices sends, where triangles are not all.
    pub sent: Senders,
    /// Entry of `special_first` and row of energies of the first node that tiles leave.
    pub act_special: u32,
    pub act_energy: u32,
}

/// Names of the modules of fans by the law of the materials.
const FAN_LAWS: [&str; 3] = ["isotropic", "aligned", "coupled"];

fn blocks_error(block: usize, what: &'static str) -> StepperError {
    StepperError::Blocks { block, what }
}

/// Whether each block is stepped by fans: its elements are triangles, and none has a stiffness factor.
fn fan_blocks(problem: &Problem, device: &DeviceView) -> Result<Vec<bool>, StepperError> {
    let blocks = &problem.blocks;
    let is_scaled = |&e: &u32| problem.stiffness_factor_of(e) != 1.0;
    let by_fans = |b: usize| {
        device.fan_material.get(b).is_some_and(|&material| material != DeviceTables::NO_FANS)
            && (problem.stiffness_factor.is_empty() || !blocks.runs(b).any(|run| run.elements.iter().any(is_scaled)))
    };
    let fans: Vec<bool> = parallel::map(blocks.n_blocks(), &by_fans);
    let bare = |&b: &usize| {
        let colours = &device.colour_first[b..b + 2];
        let is_plane = problem.mesh.dimension == 2;
        is_plane && !fans[b] && colours[0] == colours[1] && blocks.run_first[b] < blocks.run_first[b + 1]
    };
    match (0..blocks.n_blocks()).find(bare) {
        Some(block) => Err(blocks_error(block, "no colours of elements whose stiffness is scaled one by one")),
        None => Ok(fans),
    }
}

/// Nodes that halos of a block read, where two steps are made at a time.
fn outer_nodes<'a>(device: &DeviceView<'a>, two_steps: bool, b: usize) -> &'a [u32] {
    match two_steps {
        true => &device.outer_nodes[device.outer_first[b] as usize..device.outer_first[b + 1] as usize],
        false => &[],
    }
}

/// Nodes that a block reads beside its own: those of its halo; in space, of its later nodes.
fn near_nodes<'a>(problem: &Problem<'a>, device: &DeviceView<'a>, b: usize) -> &'a [u32] {
    if problem.mesh.dimension == 3 { device.later(b) } else { problem.blocks.halo(b) }
}

/// Materials as the kernels have them.
struct Materials<T> {
    rows: Vec<Material<T>>,
    coupled: bool,
    isotropic: bool,
}

impl<T: Real> Materials<T> {
    fn new(problem: &Problem, device: &DeviceView, units: &Units) -> Result<Self, StepperError> {
        let mut out = Self { rows: Vec::with_capacity(device.material_kind.len()), coupled: false, isotropic: true };
        for (&kind, &section) in device.material_kind.iter().zip(device.material_section) {
            let kind = ElementKind::from_code(kind).ok_or(blocks_error(0, "a material of an unknown element kind"))?;
            let section = section as usize;
            if section >= problem.sections.len() {
                return Err(blocks_error(0, "a material of a section that does not exist"));
            }
            let material = units.material(problem, kind, section);
            if !kind.is_acoustic() {
                out.coupled |= !material.aligned;
                out.isotropic &= material.isotropic;
            }
            out.rows.push(Material {
                d: material.elasticity.map(T::from_f64),
                hourglass: T::from_f64(material.hourglass),
                reserved: T::default(),
            });
        }
        Ok(out)
    }
}

/// (1 − q)/(1 + q) and α m / 4Δt of each node, q = αΔt/2; empty without damping.
fn damping<T: Real>(problem: &Problem) -> [Vec<T>; 2] {
    if problem.damping_rate.iter().all(|&rate| rate == 0.0) {
        return [Vec::new(), Vec::new()];
    }
    let nodes = (0..problem.mesh.n_nodes()).into_par_iter().with_min_len(4096);
    [0, 1].map(|which| nodes.clone().map(|node| T::from_f64(problem.damping(node)[which])).collect())
}

/// Whether all elements of each colour are parallelepipeds.
fn find_parallelepipeds(problem: &Problem, device: &DeviceView, units: &Units) -> Vec<bool> {
    let blocks = &problem.blocks;
    let of_block = |b: usize| {
        let (own, others) = (blocks.own_nodes(b), near_nodes(problem, device, b));
        let node = move |local: u16| match usize::from(local).checked_sub(own.len()) {
            Some(entry) => others[entry] as usize,
            None => own.start + usize::from(local),
        };
        (device.colour_first[b] as usize..device.colour_first[b + 1] as usize).map(move |c| {
            let n = (device.colour_element_first[c + 1] - device.colour_element_first[c]) as usize;
            let kind = ElementKind::from_code(blocks.run_kind[device.colour_run[c] as usize]);
            let first = device.colour_connectivity_first[c] as usize;
            kind.and_then(|kind| law_of_parallelepipeds(law_number(kind))).is_some()
                && device.coloured_connectivity[first..first + 8 * n].chunks_exact(8).all(|row| {
                    let nodes = || std::array::from_fn(|i| node(local_node(row[i])));
                    row[0] == corner::ABSENT || is_parallelepiped(units, problem.mesh.coordinates, nodes())
                })
        })
    };
    (0..blocks.n_blocks()).into_par_iter().flat_map_iter(of_block).collect()
}

/// The colours, or in space the runs, of all blocks, and the material of each element or ring of those that have several.
fn colour_rows(problem: &Problem, device: &DeviceView, units: &Units) -> Result<(Vec<Colour>, Vec<u32>), StepperError> {
    let (blocks, in_space) = (&problem.blocks, problem.mesh.dimension == 3);
    let parallelepipeds = find_parallelepipeds(problem, device, units);
    let pairs = device.material_kind.iter().copied().zip(device.material_section.iter().copied());
    let material_of: HashMap<(u8, u32), u32> = pairs.zip(0..).collect();
    let row = |(c, &run): (usize, &u32)| {
        let (kind, section) = (blocks.run_kind[run as usize], blocks.run_section[run as usize]);
        let material =
            *material_of.get(&(kind, section)).ok_or(blocks_error(0, "a run of a material that is not listed"))?;
        let kind = ElementKind::from_code(kind).ok_or(blocks_error(0, "a run of an unknown element kind"))?;
        let range = device.colour_element_first[c]..device.colour_element_first[c + 1];
        let law = law_number(kind);
        let law_of_edges = law_of_parallelepipeds(law).filter(|_| parallelepipeds[c]);
        Ok::<_, StepperError>(Colour {
            connectivity_first: device.colour_connectivity_first[c],
            element_first: range.start as u32,
            n_elements: (range.end - range.start) as u32 / if in_space { shape(kind)[1] as u32 } else { 1 },
            law: law_of_edges.unwrap_or(law),
            material,
            materials_first: NONE,
            reserved: 0,
        })
    };
    let mut rows: Vec<Colour> = device.colour_run.iter().enumerate().map(row).collect::<Result<_, _>>()?;
    // Of the elements of colours that have several materials; the first of a ring stands for it.
    let mut materials = Vec::new();
    for b in (0..blocks.n_blocks()).filter(|&b| device.has_mixed_colours(b)) {
        let run_of = blocks.run_of_elements(b);
        let numbers = device.colour_first[b] as usize..device.colour_first[b + 1] as usize;
        for (colour, number) in device.colours(b).zip(numbers).filter(|(colour, _)| colour.is_mixed) {
            let first = materials.len() as u32;
            let depth = colour.elements.len() / (rows[number].n_elements as usize).max(1);
            for element in colour.elements.chunks_exact(depth.max(1)).map(|elements| elements[0]) {
                let run = run_of.get(&element).copied().unwrap_or(colour.run);
                let pair = (blocks.run_kind[run], blocks.run_section[run]);
                materials
                    .push(*material_of.get(&pair).ok_or(blocks_error(b, "a run of a material that is not listed"))?);
            }
            rows[number].materials_first = first;
        }
    }
    Ok((rows, materials))
}

impl<T: Real> Tables<T> {
    /// The tables of a problem that [`Problem::check`] has passed, for so many multiprocessors; of one of several devices, those of
    /// its part.
    pub fn new(
        problem: &Problem,
        device: &DeviceView,
        multiprocessors: u32,
        devices: Option<&Devices>,
    ) -> Result<Self, StepperError> {
        let (blocks, once) = (&problem.blocks, problem.mesh.dimension == 3);
        let fans = fan_blocks(problem, device)?;
        let is_corrected = !problem.dashpots.is_empty() || problem.has_correction() || problem.is_viscous();
        let two_steps = !is_corrected && !device.halo_fan.is_empty() && fans.iter().all(|&fans| fans);
        let outer = |b: usize| outer_nodes(device, two_steps, b);
        let by_node = Specials::new(problem);
        let acts = |node: usize| by_node.has(node as u32) || problem.damping_rate_of(node) != 0.0;
        let groups = || problem.mesh.groups.iter().filter(|group| !group.labels.is_empty());
        let is_mixed =
            groups().any(|group| group.kind.is_acoustic()) && groups().any(|group| !group.kind.is_acoustic());
        let unknowns = if problem.mesh.has_fluid() && !is_mixed { 1 } else { problem.mesh.dimension };
        // The kernels of grids know nothing of nodes where fluids and solids touch.
        let tiles = match is_mixed {
            true => None,
            false => Tiles::new(problem, device, &acts, size_of::<T>(), multiprocessors as usize),
        };
        let n_tiles = tiles.as_ref().map_or(0, |tiles| tiles.rows.len());
        let n_blocks = blocks.n_blocks();
        let units = Units::new::<T>(problem, n_blocks + n_tiles, &|b, visit| match b.checked_sub(n_blocks) {
            Some(tile) => tiles.iter().for_each(|tiles| tiles.nodes(tile).for_each(&mut *visit)),
            None => {
                blocks.own_nodes(b).for_each(&mut *visit);
                blocks.halo(b).iter().chain(outer(b)).for_each(|&node| visit(node as usize));
            }
        });
        let n_near = |b: usize| blocks.own_nodes(b).len() + near_nodes(problem, device, b).len();
        if let Some(b) = (0..blocks.n_blocks()).find(|&b| once && n_near(b) > MOST_LOCAL_NODES) {
            return Err(blocks_error(b, "more nodes than a device's tables can name"));
        }
        let Materials { rows: materials, coupled, isotropic } = Materials::new(problem, device, &units)?;
        let [decay, dissipation] = damping(problem);
        let (colours, element_materials) = colour_rows(problem, device, &units)?;
        let mut tables = Self {
            blocks: Vec::with_capacity(blocks.n_blocks()),
            two_steps,
            coupled,
            isotropic,
            colours,
            element_materials,
            materials,
            inertia: units.inertia(problem)?,
            decay,
            dissipation,
            once,
            units,
            tiles,
            unknowns,
            is_mixed,
            is_corrected,
            ..Self::default()
        };
        if problem.stiffness_factor.iter().any(|&factor| factor != 1.0) {
            let factor = |&e: &u32| T::from_f64(problem.stiffness_factor_of(e));
            tables.factors = device.coloured_elements.par_iter().map(factor).collect();
        }
        tables.add_blocks(problem, device, &fans, &by_node);
        tables.find_boxes(problem);
        tables.keep_part(problem, device, devices, multiprocessors as usize);
        tables.add_act_nodes(&by_node);
        if !problem.dashpots.is_empty() {
            tables.ground = GroundTables::new(problem, &by_node, &mut tables);
        }
        tables.viscous = ViscousTables::new(problem, device, (&by_node, devices), &mut tables);
        if tables.by_colours.is_empty() && !is_corrected {
            // A launch over all blocks needs no list, and one that waits for none may have many steps.
            tables.by_fans.clear();
            if !once {
                tables.add_neighbours(problem, &outer);
            }
        }
        if tables.n_local > u32::MAX as usize {
            return Err(blocks_error(blocks.n_blocks(), "more than 2³² nodes of blocks and halos"));
        }
        tables.count_shared_memory(&fans, problem.mesh.dimension as u32);
        Ok(tables)
    }

    fn add_blocks(&mut self, problem: &Problem, device: &DeviceView, fans: &[bool], by_node: &Specials) {
        let blocks = &problem.blocks;
        let mut boundary_first = 0;
        for (b, &by_fans) in fans.iter().enumerate() {
            self.add_block(problem, device, b, by_fans, outer_nodes(device, self.two_steps, b), by_node);
            if self.once {
                let (row, first) = (&mut self.blocks[b], device.later_first[b]);
                (row.n_boundary, row.boundary_first) = (blocks.n_boundary[b], boundary_first);
                boundary_first += blocks.n_boundary[b];
                row.halo_first = first as u32;
                // In pieces of 16 bytes.
                let rows = |c: u32| (device.colour_connectivity_first[c as usize] / 8) as u32;
                row.rows_first = rows(row.colour_first);
                row.n_rows = rows(row.colour_first + row.n_colours) - row.rows_first;
            }
        }
        if self.once {
            self.add_sources(problem, device);
        }
    }

    /// Whether the model is one of fluids alone.
    pub fn has_one_unknown(&self) -> bool {
        self.unknowns == 1
    }

    /// The module of the kernel of blocks that are not stepped by fans.
    pub fn module(&self) -> String {
        match (self.once, self.is_mixed || self.has_one_unknown()) {
            (false, false) => "colours_plane".to_owned(),
            (false, true) => "fluids_plane".to_owned(),
            (true, false) => format!("solids_{}", T::NAME),
            (true, true) => format!("fluids_{}", T::NAME),
        }
    }

    /// That kernel.
    pub fn kernel(&self) -> String {
        // The kernels of coupled materials also take colours of several materials.
        let is_coupled = self.coupled || !self.element_materials.is_empty();
        let set = match (self.laws.count_ones(), self.once) {
            _ if self.is_mixed => "matter",
            (1, _) if !is_coupled => law_name(self.laws.trailing_zeros()),
            _ if self.has_one_unknown() => "flows",
            (_, false) => "plane",
            (_, true) => "solid",
        };
        let kind = if self.once { "solids" } else { "colours" };
        let coupled = if is_coupled { "_coupled" } else { "" };
        format!("{kind}_{}_{set}{coupled}", T::NAME)
    }

    /// The most shared memory that a block needs, by fans and by colours.
    fn count_shared_memory(&mut self, fans: &[bool], dimension: u32) {
        let number = size_of::<T>() as u32;
        for (row, &by_fans) in self.blocks.iter().zip(fans) {
            let near = row.n_own + row.n_halo;
            if by_fans {
                self.n_kept = self.n_kept.max(row.n_special.min(MOST_KEPT));
                let sizes = shared_by_fans(row, (number, self.unknowns as u32));
                for (most, size) in self.shared.iter_mut().zip(sizes) {
                    *most = (*most).max(size);
                }
            } else if self.once {
                // Whatever lies in shared memory begins at a multiple of 16 bytes.
                self.near_room = self.near_room.max(near.next_multiple_of(2));
                self.later_room = self.later_room.max(row.n_halo.next_multiple_of(4));
            } else {
                let unknowns = self.unknowns as u32;
                let rows = if unknowns == 1 { near.next_multiple_of(2) } else { near };
                let numbers = unknowns * (rows + row.n_own) + dimension * near;
                self.shared[2] = self.shared[2].max(numbers * number);
            }
        }
    }

    /// The law of all materials that is named by the module of fans.
    pub fn fan_law(&self) -> &'static str {
        if self.has_one_unknown() {
            return "acoustic";
        }
        FAN_LAWS[if self.isotropic { 0 } else { 1 + usize::from(self.coupled) }]
    }

    /// Dynamic shared memory of blocks in space, bytes (`Rooms` in solids.cuh).
    pub fn rooms(&self) -> u32 {
        let number = size_of::<T>() as u32;
        let unknowns = self.unknowns as u32;
        let records = ((3 + unknowns) * number).saturating_mul(self.near_room);
        let forces = (unknowns * number).saturating_mul(self.near_room + 2);
        let others = [4 * size_of::<Block>() as u32, 4_u32.saturating_mul(self.later_room), forces];
        others.into_iter().fold(records, u32::saturating_add)
    }

    /// The blocks of the elements that touch nodes of later blocks, by those later blocks.
    fn add_sources(&mut self, problem: &Problem, device: &DeviceView) {
        let blocks = &problem.blocks;
        let mut pairs = Vec::new();
        for b in 0..blocks.n_blocks() {
            let mut owner = b;
            for &node in device.later(b) {
                if node >= blocks.node_first[owner + 1] || owner == b {
                    owner = blocks.block_of(node);
                    pairs.push((owner as u32, b as u32));
                }
            }
        }
        pairs.sort_unstable();
        for sources in pairs.chunk_by(|a, b| a.0 == b.0) {
            let row = &mut self.blocks[sources[0].0 as usize];
            (row.source_first, row.n_sources) = (self.sources.len() as u32, sources.len() as u32);
            self.sources.extend(sources.iter().map(|&(_, source)| source));
        }
    }

    /// The blocks that read nodes of each block, or whose nodes it reads, and itself.
    fn add_neighbours<'a>(&mut self, problem: &Problem, outer: &dyn Fn(usize) -> &'a [u32]) {
        let blocks = &problem.blocks;
        let mut pairs = Vec::new();
        for b in 0..blocks.n_blocks() {
            let mut owners: Vec<usize> = Vec::new();
            for &node in blocks.halo(b).iter().chain(outer(b)) {
                let owned = |&owner: &usize| blocks.own_nodes(owner).contains(&(node as usize));
                if !owners.iter().rev().any(owned) {
                    owners.push(blocks.block_of(node));
                }
            }
            pairs.push((b as u32, b as u32));
            pairs.extend(owners.into_iter().flat_map(|owner| [(owner as u32, b as u32), (b as u32, owner as u32)]));
        }
        pairs.par_sort_unstable();
        pairs.dedup();
        let rows = || pairs.chunk_by(|a, b| a.0 == b.0);
        self.n_neighbours = rows().map(<[_]>::len).max().unwrap_or(0);
        self.sources = vec![NONE; self.n_neighbours * blocks.n_blocks()];
        for (row, sources) in self.sources.chunks_exact_mut(self.n_neighbours.max(1)).zip(rows()) {
            row.iter_mut().zip(sources).for_each(|(to, &(_, source))| *to = source);
        }
    }

    /// What acts on the nodes that tiles leave.
    fn add_act_nodes(&mut self, by_node: &Specials) {
        let Some(tiles) = &self.tiles else { return };
        (self.act_special, self.act_energy) = (self.special_first.len() as u32, self.n_energy_rows as u32);
        for &node in &tiles.act_nodes {
            self.special_first.push(self.specials.len() as u32);
            add_specials(&mut self.specials, by_node.of(node, node + 1), 0);
        }
        self.special_first.push(self.specials.len() as u32);
        self.n_energy_rows += tiles.n_act_rows;
    }

    /// What `act` updates in its launches: nodes of the border, and the others. Empty ones are left out.
    pub fn act_ranges(&self) -> Vec<ActRange> {
        let Some(tiles) = &self.tiles else { return Vec::new() };
        let (n_border, n) = (tiles.n_border_act as u32, tiles.act_nodes.len() as u32);
        let border = ActRange { first: 0, n: n_border, row: 0, is_border: true };
        let inside = ActRange { first: n_border, n: n - n_border, row: n_border.div_ceil(THREADS), is_border: false };
        [border, inside].into_iter().filter(|range| range.n > 0).collect()
    }

    /// Whether some blocks are stepped by fans.
    pub fn has_fans(&self) -> bool {
        !self.by_fans.is_empty() || self.by_colours.is_empty() && !self.blocks.is_empty()
    }

    /// Adds the tables of ties and linear constraints.
    pub fn join(&mut self, problem: &Problem, joints: &Joints) {
        self.n_own_energy_rows = self.n_energy_rows;
        self.ties = joints.ties.as_ref().map(|ties| TieTables::new(problem, ties, &Specials::new(problem), self));
        let [solids, fluids] = joints.joined.each_ref().map(Option::as_ref);
        let d = problem.mesh.dimension;
        self.held = [(solids, d), (fluids, 1)].map(|(joined, n)| Some(HeldTables::new(problem, (joined?, n), self)));
    }

    /// Whether there are ties or linear constraints.
    pub fn is_joined(&self) -> bool {
        self.has_rows() || self.ties.is_some()
    }

    /// Whether there are linear constraints.
    pub fn has_rows(&self) -> bool {
        self.held.iter().any(Option::is_some)
    }

    /// Whether triangles are all.
    pub fn are_fans_alone(&self) -> bool {
        self.by_colours.is_empty() && !self.once && !self.is_corrected
    }

    /// Drops the blocks that have nothing to do beside tiles, and what other devices compute.
    fn keep_part(&mut self, problem: &Problem, view: &DeviceView, devices: Option<&Devices>, multiprocessors: usize) {
        let roles = match devices {
            Some(devices) if !self.are_fans_alone() => {
                let ElementLists { roles, mut sent } = ElementLists::new(problem, view, devices, self.tiles.as_ref());
                let (coordinates, on) = (problem.mesh.coordinates, (size_of::<T>(), multiprocessors));
                self.tiles = self.tiles.take().map(|tiles| tiles.of_part(devices, coordinates, on, &mut sent));
                self.sent = sent;
                roles
            }
            _ => match &self.tiles {
                Some(tiles) => tiles.roles.clone(),
                None => return,
            },
        };
        if self.once {
            return self.keep_blocks(&roles);
        }
        for list in [&mut self.by_fans, &mut self.by_colours] {
            list.retain(|&b| roles[b as usize] == Role::Steps);
        }
    }

    /// In space: drops the blocks that rest.
    fn keep_blocks(&mut self, roles: &[Role]) {
        let mut number = vec![NONE; roles.len()];
        let mut kept = Vec::new();
        let mut sources = Vec::new();
        (self.laws, self.n_local) = (0, 0);
        for (b, role) in roles.iter().enumerate().filter(|(_, role)| **role != Role::Rests) {
            number[b] = kept.len() as u32;
            let mut row = self.blocks[b];
            let passed = &self.sources[row.source_first as usize..][..row.n_sources as usize];
            row.source_first = sources.len() as u32;
            if *role == Role::PassesOn {
                (row.moved_by_tiles, row.n_boundary, row.n_sources) = (1, 0, 0);
            } else {
                // What passes forces on to a block that moves nodes does not rest, and comes before it.
                sources.extend(passed.iter().map(|&source| number[source as usize]));
            }
            row.local_first = self.n_local as u32;
            self.n_local += (row.n_own + row.n_halo) as usize;
            for colour in &self.colours[row.colour_first as usize..][..row.n_colours as usize] {
                self.laws |= 1 << colour.law;
            }
            kept.push(row);
        }
        self.by_colours = (0..kept.len() as u32).collect();
        (self.blocks, self.sources) = (kept, sources);
    }

    /// Finds the tiles of parallelepipeds.
    fn find_boxes(&mut self, problem: &Problem) {
        let Some(mut tiles) = self.tiles.take() else { return };
        let mut of_boxes = Vec::new();
        let of_hexahedra =
            tiles.launches.iter().filter_map(|launch| Some((launch, law_of_parallelepipeds(launch.law)?)));
        for (launch, law) in of_hexahedra {
            let is_box = |nodes| is_parallelepiped(&self.units, problem.mesh.coordinates, nodes);
            let boxes = launch.tiles.par_iter().copied().filter(|&tile| tiles.elements(tile as usize).all(is_box));
            of_boxes.push(Launched { law, tiles: boxes.collect(), ..*launch });
        }
        for boxes in of_boxes.into_iter().filter(|boxes| !boxes.tiles.is_empty()) {
            for launch in tiles.launches.iter_mut().filter(|launch| launch.material == boxes.material) {
                launch.tiles.retain(|tile| boxes.tiles.binary_search(tile).is_err());
            }
            tiles.launches.push(boxes);
        }
        tiles.launches.retain(|launch| !launch.tiles.is_empty());
        self.tiles = Some(tiles);
    }

    /// Lists what acts on the own nodes of a block and on its halo. Gives the first of their entries in `special_first`, or
    /// `NONE` where nothing acts.
    fn add_specials_of(&mut self, own: Range<usize>, halo: &[u32], by_node: &Specials) -> u32 {
        let acts_on_halo = || self.two_steps && halo.iter().any(|&node| by_node.has(node));
        if by_node.of(own.start as u32, own.end as u32).is_empty() && !acts_on_halo() {
            return NONE;
        }
        let first = self.special_first.len() as u32;
        for (local, node) in (0..).zip(own.map(|node| node as u32).chain(halo.iter().copied())) {
            self.special_first.push(self.specials.len() as u32);
            add_specials(&mut self.specials, by_node.of(node, node + 1), local);
        }
        self.special_first.push(self.specials.len() as u32);
        first
    }

    fn add_block(
        &mut self,
        problem: &Problem,
        device: &DeviceView,
        b: usize,
        fans: bool,
        outer: &[u32],
        by_node: &Specials,
    ) {
        let blocks = &problem.blocks;
        let own = blocks.own_nodes(b);
        let halo = if self.once { device.later(b) } else { blocks.halo(b) };
        let own_specials = by_node.of(own.start as u32, own.end as u32);
        let special_base = self.specials.len() as u32;
        let special_first = self.add_specials_of(own.clone(), halo, by_node);
        let damped_node = |node: usize| problem.damping_rate_of(node) != 0.0;
        let damped_own = own.clone().any(damped_node);
        let damped = damped_own || (self.two_steps && halo.iter().any(|&node| damped_node(node as usize)));
        // A support that holds still does work once, where the start has a velocity there.
        let works = |special: &Special| [FORCE, SUPPORT].contains(&special.kind);
        let mut energy_row = NONE;
        if damped_own || own_specials.iter().any(|(_, special)| works(special)) {
            energy_row = self.n_energy_rows as u32;
            self.n_energy_rows += 1;
        }
        let further = device.further_first[b]..device.further_first[b + 1];
        let colours = device.colour_first[b]..device.colour_first[b + 1];
        if fans {
            self.by_fans.push(b as u32);
        } else {
            self.by_colours.push(b as u32);
            for colour in colours.clone() {
                self.laws |= 1 << self.colours[colour as usize].law;
            }
        }
        self.blocks.push(Block {
            node_first: own.start as u32,
            n_own: own.len() as u32,
            halo_first: blocks.halo_first[b] as u32,
            n_halo: halo.len() as u32,
            outer_first: if outer.is_empty() { 0 } else { device.outer_first[b] as u32 },
            n_outer: outer.len() as u32,
            local_first: self.n_local as u32,
            material: u32::from(device.fan_material[b]),
            plane_first: device.fan_plane_first[b],
            n_planes: device.planes(b).len() as u32,
            special_first,
            damped: u32::from(damped),
            energy_row,
            further_first: further.start,
            n_further: further.len() as u32,
            colour_first: colours.start,
            n_colours: colours.len() as u32,
            special_base,
            n_special: self.specials.len() as u32 - special_base,
            ..Block::zeroed()
        });
        self.n_local += own.len() + halo.len() + outer.len();
    }
}

/// Shared memory of a block by fans, bytes, one and two steps at a time: records as in `Records` of fans.cuh, x of double
/// precision always as far on; behind them what `Staged` holds (fans of 16 bytes, Δu of own nodes and, in double precision,
/// their inertia) and `Extra` with materials and actions.
fn shared_by_fans(row: &Block, (number, unknowns): (u32, u32)) -> [u32; 2] {
    let near = row.n_own + row.n_halo;
    let records = if number == 4 { 0 } else { 16 * MOST_LOCAL };
    let own = (unknowns * number + if number == 4 { 0 } else { 8 }) * row.n_own;
    let planes = 8 * number * row.n_planes;
    let extra = row.special_first != NONE || row.damped != 0 || planes > 0;
    let more = if extra { EXTRA_BYTES + planes + ACTION_BYTES * row.n_special.min(MOST_KEPT) } else { 0 };
    [
        (records + 16 * near + 16 * row.n_own + own).next_multiple_of(16) + more,
        (records + 16 * (near + row.n_outer) + 16 * near + own).next_multiple_of(16) + more,
    ]
}

/// Adds those of one node, which has this local number.
pub(super) fn add_specials(specials: &mut Vec<Special>, of_node: &[(u32, Special)], local: u32) {
    specials.extend(of_node.iter().enumerate().map(|(i, &(_, special))| {
        let last = if i + 1 == of_node.len() { LAST } else { 0 };
        Special { kind: special.kind | last | local << LOCAL_AT, ..special }
    }));
}

/// Forces, supports and monitors, by node; of one node the forces first, then supports, then monitors.
pub(super) struct Specials {
    sorted: Vec<(u32, Special)>,
    marked: Vec<bool>,
}

impl Specials {
    pub fn new(problem: &Problem) -> Self {
        let dimension = problem.mesh.dimension;
        let locate = |dof: u64| (dof as usize / dimension, (dof as usize % dimension) as u32);
        let blank = Special::zeroed();
        let mut sorted = Vec::new();
        for force in &problem.forces {
            let (node, component) = locate(force.dof);
            let (value, signal) = (force.value, force.signal);
            sorted.push((node as u32, Special { kind: FORCE, component, value, signal, ..blank }));
        }
        for constraint in &problem.constraints {
            let (node, component) = locate(constraint.dof);
            let mass = problem.lumped_mass[node];
            let damping = mass * problem.damping_rate_of(node);
            let (value, signal) = (constraint.value, constraint.signal);
            sorted.push((node as u32, Special { kind: SUPPORT, component, value, signal, mass, damping, ..blank }));
        }
        let n_dofs = (problem.mesh.n_nodes() * dimension) as u64;
        // Beyond are forces of linear constraints.
        for (column, &dof) in problem.monitors.iter().enumerate().filter(|(_, dof)| **dof < n_dofs) {
            let (node, component) = locate(dof);
            let column = column as u32;
            sorted.push((node as u32, Special { kind: MONITOR, component, column, ..blank }));
        }
        sorted.sort_by_key(|&(node, special)| (node, special.kind));
        let mut marked = vec![false; problem.mesh.n_nodes()];
        for &(node, _) in &sorted {
            marked[node as usize] = true;
        }
        Self { sorted, marked }
    }

    fn has(&self, node: u32) -> bool {
        self.marked[node as usize]
    }

    /// Of the nodes from `first` up to `last`.
    pub fn of(&self, first: u32, last: u32) -> &[(u32, Special)] {
        let start = self.sorted.partition_point(|&(node, _)| node < first);
        let end = start + self.sorted[start..].partition_point(|&(node, _)| node < last);
        &self.sorted[start..end]
    }
}

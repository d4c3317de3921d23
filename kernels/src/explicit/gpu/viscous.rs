//! Damping in proportion to the stiffness and relaxation mechanisms on a device (viscous.cuh).
//!
//! The kernels of elements compute f_int of any displacement. Sections with the same β and Y_l are a group g, whose elements feel
//! w_g = u + β/Δt Δu − Σ_l Y_l z_l. For each group a kernel makes w_g, and the kernels of elements compute f_int of it with the
//! materials of other groups set to 0. Then one kernel moves all nodes. So a step reads the tables of elements once for each group,
//! but the kernels of elements are the same machine code as for elastic models. Tiles of grids have one material, and are computed
//! with its group alone.
//!
//! The memory variables on the device are always those of the state's step. One of several devices has those of all nodes that its
//! elements read, and needs u and Δu of these from the others.

use std::ops::Range;

use pogo_formats::explicit::block::DeviceView;

use super::halo::Devices;
use super::layout::{Material, NONE, THREADS};
use super::tables::{Specials, Tables, add_specials};
use crate::device::layout::{In, Out, layouts};
use crate::device::{Plain as _, Plan, field};
use crate::dynamics::{ModelError, State, check_length};
use crate::explicit::{MOST_MECHANISMS, Problem};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/viscosity.cuh", numbers template;

    constants {}

    opaque {}

    /// A memory variable that is recorded.
    struct MemoryRecord {
        unknown: u64,
        mechanism: u32,
        /// Its column in the recorded values.
        column: u32,
    }

    /// Nodes that a thread block moves.
    struct NodeRange align(16) {
        first: u32,
        n: u32,
        /// Entry of the first of them in `special_first`, or NONE where nothing acts on any.
        special: u32,
        /// Row of `energies`.
        energy: u32,
    }

    /// What elements feel beside the displacement.
    struct Viscous<T> {
        /// What the elements of a group feel, (n_unknowns,).
        felt: Out<T>,
        /// f_int of the last group, and the sum of those before it, N, (n_unknowns,).
        part: Out<f64>,
        total: Out<f64>,
        /// z_l at step n, (n_mechanisms, n_unknowns).
        memory: Out<T>,
        ranges: In<NodeRange>,
        /// Nodes that elements read on one of several devices, (n_read,), or null.
        read: In<u32>,
        records: In<MemoryRecord>,
        n_unknowns: u64,
        /// β/Δt and Y_l of the group.
        of_increment: T,
        of_memory: [T; 3],
        /// 1 − a and b of each mechanism.
        factors: [[T; 2]; 3],
        n_mechanisms: u32,
        n_groups: u32,
        /// Groups before the one of a launch.
        n_before: u32,
        /// 1 if the kernel that moves the nodes also ends the step.
        ends: u32,
        n_records: u32,
        n_read: u32,
        /// Unknowns of a node.
        dimension: u32,
    }
}

const _: () = assert!(MOST_MECHANISMS == 3);

/// Sections with the same β and Y_l.
pub(super) struct Group<T> {
    of_increment: f64,
    of_memory: [f64; MOST_MECHANISMS],
    /// The device's materials, those of other groups without stiffness.
    pub materials: Vec<Material<T>>,
    /// Whether each of the device's materials is in the group.
    pub has: Vec<bool>,
}

/// How a model with such damping is stepped; without groups where it has none.
#[derive(Default)]
pub(super) struct ViscousTables<T> {
    pub groups: Vec<Group<T>>,
    factors: Vec<[f64; 2]>,
    ranges: Vec<NodeRange>,
    /// Nodes that elements read on one of several devices; none where one has the whole model.
    read: Vec<u32>,
    records: Vec<MemoryRecord>,
    n_unknowns: usize,
    /// Unknowns of a node.
    dimension: usize,
    /// A kernel after the corrections ends each step.
    settles: bool,
}

impl<T: Real> ViscousTables<T> {
    /// Those of a problem, of one of several devices those of its part; lists what acts on nodes, and gives them rows of energies.
    pub fn new(
        problem: &Problem,
        device: &DeviceView,
        (by_node, devices): (&Specials, Option<&Devices>),
        tables: &mut Tables<T>,
    ) -> Self {
        if !problem.is_viscous() {
            return Self::default();
        }
        // A model of fluids alone has one unknown a node.
        let dimension = tables.unknowns;
        let mut viscous = Self {
            groups: groups(problem, device, &tables.materials),
            factors: problem.relaxation.factors(problem.time_increment),
            n_unknowns: problem.mesh.n_nodes() * dimension,
            records: records(problem, devices),
            read: devices.map_or_else(Vec::new, |_| nodes_read(problem, device, tables)),
            dimension,
            ..Self::default()
        };
        viscous.settles = !problem.dashpots.is_empty() || problem.has_correction() || !viscous.records.is_empty();
        viscous.add_ranges(problem, by_node, devices, tables);
        viscous
    }

    /// Ranges lie in one block of the mesh, so that sums of energies do not depend on how a model is cut. Each device has rows for
    /// those of all.
    fn add_ranges(&mut self, problem: &Problem, by_node: &Specials, devices: Option<&Devices>, tables: &mut Tables<T>) {
        for b in 0..problem.blocks.n_blocks() {
            let own = problem.blocks.own_nodes(b);
            for first in own.clone().step_by(THREADS as usize) {
                let energy = tables.n_energy_rows as u32;
                tables.n_energy_rows += 1;
                let (first, n) = (first as u32, THREADS.min((own.end - first) as u32));
                if devices.is_none_or(|devices| devices.is_own(first)) {
                    let special = list_specials(first..first + n, by_node, tables);
                    self.ranges.push(NodeRange { first, n, special, energy });
                }
            }
        }
    }

    /// Whether the model has no such damping.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Thread blocks of kernels with a node a thread.
    fn n_blocks(&self) -> u32 {
        self.ranges.len() as u32
    }

    /// Thread blocks of kernels with an unknown a thread, of those that elements read here.
    fn n_blocks_of_unknowns(&self) -> u32 {
        let n = if self.read.is_empty() { self.n_unknowns } else { self.read.len() * self.dimension };
        n.div_ceil(THREADS as usize) as u32
    }

    /// The kernel that makes what a group feels, and its thread blocks.
    pub fn feel(&self) -> (&'static str, u32) {
        ("viscous_feel", self.n_blocks_of_unknowns())
    }

    /// The kernel that moves the nodes, and its thread blocks.
    pub fn moves(&self) -> (&'static str, u32) {
        let kernel = ["viscous_fluid", "viscous_plane", "viscous_space"][self.dimension - 1];
        (kernel, self.n_blocks())
    }

    /// Kernels behind the corrections of a step, and their thread blocks.
    pub fn ends(&self) -> Vec<(&'static str, u32)> {
        let record = ("viscous_record", (self.records.len() as u32).div_ceil(THREADS));
        let settle = ("viscous_settle", if self.settles { self.n_blocks() } else { 0 });
        [record, settle].into_iter().filter(|(_, n_blocks)| *n_blocks > 0).collect()
    }

    /// The kernel of one of several devices that brings memory variables to the next step, when the displacements of others are
    /// there, and its thread blocks.
    pub fn remembers(&self) -> Option<(&'static str, u32)> {
        let has_it = !self.read.is_empty() && !self.factors.is_empty();
        has_it.then(|| ("viscous_remember", self.n_blocks_of_unknowns()))
    }

    /// Lists the arrays; `memory` are z_l of the start.
    pub fn plan<'a>(&'a self, memory: &'a [T]) -> Plan<'a, Viscous<T>> {
        let mut plan = Plan::<Viscous<T>>::default();
        plan.zeros::<T, _>(field!(felt), self.n_unknowns);
        plan.zeros::<f64, _>(field!(part), self.n_unknowns);
        if self.groups.len() > 1 {
            plan.zeros::<f64, _>(field!(total), self.n_unknowns);
        }
        plan.copy(field!(memory), memory);
        plan.copy(field!(ranges), &self.ranges);
        plan.copy_if_any(field!(read), &self.read);
        plan.copy(field!(records), &self.records);
        plan
    }

    /// What the kernels take, without arrays.
    pub fn viscous(&self) -> Viscous<T> {
        let mut factors = [[T::default(); 2]; MOST_MECHANISMS];
        factors.iter_mut().zip(&self.factors).for_each(|(to, from)| *to = from.map(T::from_f64));
        Viscous {
            n_unknowns: self.n_unknowns as u64,
            factors,
            n_mechanisms: self.factors.len() as u32,
            n_groups: self.groups.len() as u32,
            ends: u32::from(!self.settles),
            n_records: self.records.len() as u32,
            n_read: self.read.len() as u32,
            dimension: self.dimension as u32,
            ..Viscous::zeroed()
        }
    }

    /// The same for what a group feels.
    pub fn of_group(&self, viscous: Viscous<T>, group: usize) -> Viscous<T> {
        let Group { of_increment, of_memory, .. } = &self.groups[group];
        Viscous {
            of_increment: T::from_f64(*of_increment),
            of_memory: of_memory.map(T::from_f64),
            n_before: group as u32,
            ..viscous
        }
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let memory = self.factors.len() * self.n_unknowns * size_of::<T>();
        let materials: usize = self.groups.iter().map(|group| size_of_val(&group.materials[..])).sum();
        if self.is_empty() { 0 } else { self.plan(&[]).bytes() + (memory + materials) as u64 }
    }

    /// Bytes that a step must move beside those of a step of the kernels of elements for each group. For each group three numbers are
    /// moved to make w, and the kernels of elements move three less, as they move no node. Also for each group z_l are read and
    /// forces are written and read; of several groups the forces are set to 0 and added up. Then u and Δu are read and written, and
    /// z_l are.
    pub fn bytes_per_step(&self) -> f64 {
        let (n_groups, n_mechanisms, number) = (self.groups.len(), self.factors.len(), size_of::<T>());
        let of_forces = if n_groups > 1 { 40 } else { 16 };
        let of_unknown = n_groups * (n_mechanisms * number + of_forces) + (4 + 2 * n_mechanisms) * number;
        if self.is_empty() { 0.0 } else { (of_unknown * self.n_unknowns) as f64 }
    }
}

/// Lists what acts on nodes, and gives the entry of the first of them in `special_first`.
fn list_specials<T>(nodes: Range<u32>, by_node: &Specials, tables: &mut Tables<T>) -> u32 {
    if by_node.of(nodes.start, nodes.end).is_empty() {
        return NONE;
    }
    let first = tables.special_first.len() as u32;
    for node in nodes {
        tables.special_first.push(tables.specials.len() as u32);
        add_specials(&mut tables.specials, by_node.of(node, node + 1), 0);
    }
    tables.special_first.push(tables.specials.len() as u32);
    first
}

/// Nodes that the elements of a device read.
fn nodes_read<T>(problem: &Problem, device: &DeviceView, tables: &Tables<T>) -> Vec<u32> {
    let mut is_read = vec![false; problem.mesh.n_nodes()];
    let halos = if tables.once { device.later_nodes } else { problem.blocks.halo_nodes };
    for &b in tables.by_fans.iter().chain(&tables.by_colours) {
        let row = &tables.blocks[b as usize];
        is_read[row.node_first as usize..][..row.n_own as usize].fill(true);
        let halo = &halos[row.halo_first as usize..][..row.n_halo as usize];
        halo.iter().for_each(|&node| is_read[node as usize] = true);
    }
    if let Some(tiles) = &tables.tiles {
        (0..tiles.rows.len()).for_each(|tile| tiles.nodes(tile).for_each(|node| is_read[node] = true));
    }
    (0..).zip(is_read).filter(|(_, is_read)| *is_read).map(|(node, _)| node).collect()
}

/// z_l of a start.
///
/// # Errors
/// Their number is not that of the problem.
pub(super) fn memory<T: Real>(problem: &Problem, state: &State) -> Result<Vec<T>, ModelError> {
    let n = problem.relaxation.rates.len() * problem.mesh.n_nodes() * problem.mesh.dimension;
    check_length("memory variables", n, state.memory.len())?;
    Ok(state.memory.iter().map(|&z| T::from_f64(z)).collect())
}

/// The groups, in the order of their first materials.
fn groups<T: Real>(problem: &Problem, device: &DeviceView, materials: &[Material<T>]) -> Vec<Group<T>> {
    let lag = |section: usize| (problem.lag_of(section), problem.relaxation.of_section(section));
    let lags: Vec<_> = device.material_section.iter().map(|&section| lag(section as usize)).collect();
    let mut kinds = Vec::new();
    for lag in &lags {
        if !kinds.contains(lag) {
            kinds.push(*lag);
        }
    }
    let group = |kind: (f64, [f64; MOST_MECHANISMS])| {
        let has: Vec<bool> = lags.iter().map(|lag| *lag == kind).collect();
        let masked =
            materials.iter().zip(&has).map(|(&material, &has)| if has { material } else { Material::zeroed() });
        Group { of_increment: kind.0, of_memory: kind.1, materials: masked.collect(), has }
    };
    kinds.into_iter().map(group).collect()
}

/// Monitors of memory variables, of one of several devices those of its nodes.
fn records(problem: &Problem, devices: Option<&Devices>) -> Vec<MemoryRecord> {
    if problem.relaxation.is_empty() {
        return Vec::new();
    }
    let n_dofs = (problem.mesh.n_nodes() * problem.mesh.dimension) as u64;
    let of_memory = n_dofs..n_dofs * (1 + problem.relaxation.rates.len() as u64);
    let monitors = problem.monitors.iter().enumerate().filter(|(_, dof)| of_memory.contains(dof));
    let record = |(column, &dof): (usize, &u64)| MemoryRecord {
        unknown: dof % n_dofs,
        mechanism: (dof / n_dofs) as u32 - 1,
        column: column as u32,
    };
    let d = problem.mesh.dimension as u64;
    let is_own = |record: &MemoryRecord| devices.is_none_or(|devices| devices.is_own((record.unknown / d) as u32));
    monitors.map(record).filter(is_own).collect()
}

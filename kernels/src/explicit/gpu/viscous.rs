//! Damping in proportion to the stiffness and relaxation mechanisms on a device (viscous.cuh).
//!
//! The kernels of elements compute f_int of any displacement. Sections with the same β and Y_l are a group g, whose elements feel
//! w_g = u + β/Δt Δu − Σ_l Y_l z_l. For each group a kernel makes w_g, and the kernels of elements compute f_int of it with the
//! materials of other groups set to 0. Then one kernel moves all nodes. So a step reads the tables of elements once for each group,
//! but the kernels of elements are the same machine code as for elastic models. Tiles of grids have one material, and are computed
//! with its group alone.
//!
//! The memory variables on the device are always those of the state's step.

use pogo_formats::explicit::block::DeviceView;

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

    /// What elements feel beside the displacement.
    struct Viscous<T> {
        /// What the elements of a group feel, (n_unknowns,).
        felt: Out<T>,
        /// f_int of the last group, and the sum of those before it, N, (n_unknowns,).
        part: Out<f64>,
        total: Out<f64>,
        /// z_l at step n, (n_mechanisms, n_unknowns).
        memory: Out<T>,
        /// Entry in `special_first` of the first node of each thread block, or NONE where nothing acts on its nodes.
        special_first: In<u32>,
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
        /// First row of `energies`.
        energy: u32,
        n_records: u32,
        dimension: u32,
        reserved: u32,
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
    special_first: Vec<u32>,
    records: Vec<MemoryRecord>,
    n_unknowns: usize,
    dimension: usize,
    energy: u32,
    /// A kernel after the corrections ends each step.
    settles: bool,
}

impl<T: Real> ViscousTables<T> {
    /// Those of a problem; lists what acts on nodes, and gives them rows of energies.
    pub fn new(problem: &Problem, device: &DeviceView, by_node: &Specials, tables: &mut Tables<T>) -> Self {
        if !problem.is_viscous() {
            return Self::default();
        }
        let dimension = problem.mesh.dimension;
        let mut viscous = Self {
            groups: groups(problem, device, &tables.materials),
            factors: problem.relaxation.factors(problem.time_increment),
            n_unknowns: problem.mesh.n_nodes() * dimension,
            records: records(problem),
            dimension,
            energy: tables.n_energy_rows as u32,
            ..Self::default()
        };
        viscous.settles = !problem.dashpots.is_empty() || !viscous.records.is_empty();
        viscous.add_specials(problem.mesh.n_nodes() as u32, by_node, tables);
        tables.n_energy_rows += viscous.n_blocks() as usize;
        viscous
    }

    fn add_specials(&mut self, n_nodes: u32, by_node: &Specials, tables: &mut Tables<T>) {
        for first in (0..n_nodes).step_by(THREADS as usize) {
            let end = n_nodes.min(first + THREADS);
            if by_node.of(first, end).is_empty() {
                self.special_first.push(NONE);
                continue;
            }
            self.special_first.push(tables.special_first.len() as u32);
            for node in first..end {
                tables.special_first.push(tables.specials.len() as u32);
                add_specials(&mut tables.specials, by_node.of(node, node + 1), 0);
            }
            tables.special_first.push(tables.specials.len() as u32);
        }
    }

    /// Whether the model has no such damping.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Thread blocks of kernels with a node a thread.
    fn n_blocks(&self) -> u32 {
        self.special_first.len() as u32
    }

    /// The kernel that makes what a group feels, and its thread blocks.
    pub fn feel(&self) -> (&'static str, u32) {
        ("viscous_feel", self.n_unknowns.div_ceil(THREADS as usize) as u32)
    }

    /// The kernel that moves the nodes, and its thread blocks.
    pub fn moves(&self) -> (&'static str, u32) {
        (if self.dimension == 2 { "viscous_plane" } else { "viscous_space" }, self.n_blocks())
    }

    /// Kernels behind the corrections of a step, and their thread blocks.
    pub fn ends(&self) -> Vec<(&'static str, u32)> {
        let record = ("viscous_record", (self.records.len() as u32).div_ceil(THREADS));
        let settle = ("viscous_settle", if self.settles { self.n_blocks() } else { 0 });
        [record, settle].into_iter().filter(|(_, n_blocks)| *n_blocks > 0).collect()
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
        plan.copy(field!(special_first), &self.special_first);
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
            energy: self.energy,
            n_records: self.records.len() as u32,
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

    /// Bytes that a step must move beside those of the kernels of elements: for each group u, Δu and z_l are read and w is
    /// written, and forces are written and read; then u and Δu are read and written, and z_l are.
    pub fn bytes_per_step(&self) -> f64 {
        let (n_groups, n_mechanisms, number) = (self.groups.len(), self.factors.len(), size_of::<T>());
        let of_unknown = n_groups * ((3 + n_mechanisms) * number + 16) + (4 + 2 * n_mechanisms) * number;
        if self.is_empty() { 0.0 } else { (of_unknown * self.n_unknowns) as f64 }
    }
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

/// Monitors of memory variables.
fn records(problem: &Problem) -> Vec<MemoryRecord> {
    if problem.relaxation.is_empty() {
        return Vec::new();
    }
    let n_dofs = (problem.mesh.n_nodes() * problem.mesh.dimension) as u64;
    let monitors = problem.monitors.iter().enumerate().filter(|(_, dof)| **dof >= n_dofs);
    let record = |(column, &dof): (usize, &u64)| MemoryRecord {
        unknown: dof % n_dofs,
        mechanism: (dof / n_dofs) as u32 - 1,
        column: column as u32,
    };
    monitors.map(record).collect()
}

//! What passes between fluids and solids outside the blocks ([`ties`](crate::explicit::ties)): kernels add it after a step
//! (tied.cuh), as `tied` of the CPU does. Several devices tell each other the motion of the nodes, and each of them computes all of it.

use std::collections::HashMap;

use super::layout::THREADS;
use super::tables::{Specials, Tables, add_specials};
use crate::device::layout::{In, Out, layouts};
use crate::device::{Plain as _, Plan, field};
use crate::explicit::Problem;
use crate::explicit::dashpot::flat;
use crate::explicit::ties::{TieNode, TieNodes};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/ties.cuh", numbers template;

    constants {}

    opaque {}

    /// A node of a fluid or of a solid.
    struct Tied {
        /// What a force adds to Δu_{n+1}, m/N.
        response: [f64; 9],
        /// G of a dashpot, N s/m.
        matrix: [f64; 9],
        /// α m / 4Δt.
        dissipation: f64,
        /// Its first number in the arrays of the state.
        at: u64,
        /// Components: those of a solid, or the first one of a fluid.
        n: u32,
        /// Bit c: component c is prescribed.
        held: u32,
        first_area: u32,
        end_of_areas: u32,
        /// Its entry in `special_first`.
        special: u32,
        reserved: u32,
    }

    /// A part of the surface that a node shares with one of the other matter.
    struct TieArea {
        /// A/Δt, m²/s.
        area: [f64; 3],
        /// First number of the other node in the arrays of the state.
        at: u64,
        /// The other node.
        node: u32,
        /// 1 if blocks have taken the step with the motion that they gave the other node.
        is_stepped: u32,
    }

    /// Nodes of solids, then those of fluids.
    struct Ties {
        nodes: In<Tied>,
        areas: In<TieArea>,
        /// Δu_{n+1} of the solids as blocks leave it, (n_solids, 3).
        free: Out<f64>,
        n_solids: u32,
        n_nodes: u32,
        /// First rows of `energies`, of solids and of fluids.
        energy_of_solids: u32,
        energy_of_fluids: u32,
    }
}

/// The ties of a model as kernels have them.
#[derive(Default)]
pub(super) struct TieTables {
    nodes: Vec<Tied>,
    areas: Vec<TieArea>,
    n_solids: usize,
    energies: [u32; 2],
}

impl TieTables {
    /// Those of a problem; lists what acts on their nodes, and gives them rows of energies.
    pub fn new<T: Real>(problem: &Problem, ties: &TieNodes, by_node: &Specials, tables: &mut Tables<T>) -> Self {
        let dimension = problem.mesh.dimension as u64;
        let number: HashMap<u32, u32> = ties.all().map(|tie| tie.node).zip(0..).collect();
        let mut out = Self { n_solids: ties.solids.len(), ..Self::default() };
        for TieNode { node, n, is_held, response, matrix, dissipation, areas, .. } in ties.all() {
            let first_area = out.areas.len() as u32;
            out.areas.extend(areas.iter().map(|area| TieArea {
                area: area.area,
                at: u64::from(area.other) * dimension,
                node: number[&area.other],
                is_stepped: u32::from(area.is_stepped),
            }));
            let special = tables.special_first.len() as u32;
            tables.special_first.push(tables.specials.len() as u32);
            add_specials(&mut tables.specials, by_node.of(*node, node + 1), 0);
            out.nodes.push(Tied {
                response: flat(*response),
                matrix: flat(*matrix),
                dissipation: *dissipation,
                at: u64::from(*node) * dimension,
                n: *n as u32,
                held: (0..3).filter(|&c| is_held[c]).map(|c| 1 << c).sum(),
                first_area,
                end_of_areas: out.areas.len() as u32,
                special,
                reserved: 0,
            });
        }
        tables.special_first.push(tables.specials.len() as u32);
        for (row, n_blocks) in out.energies.iter_mut().zip([ties.solids.len(), ties.fluids.len()].map(n_blocks)) {
            *row = tables.n_energy_rows as u32;
            tables.n_energy_rows += n_blocks as usize;
        }
        out
    }

    /// The kernel that comes before linear constraints, and its thread blocks.
    pub fn press(&self) -> (&'static str, u32) {
        ("ties_press", n_blocks(self.n_solids))
    }

    /// The kernel that comes after linear constraints, and its thread blocks.
    pub fn follow(&self) -> (&'static str, u32) {
        ("ties_follow", n_blocks(self.nodes.len() - self.n_solids))
    }

    /// Lists the arrays.
    pub fn plan(&self) -> Plan<'_, Ties> {
        let mut plan = Plan::<Ties>::default();
        plan.copy(field!(nodes), &self.nodes);
        plan.copy(field!(areas), &self.areas);
        plan.zeros::<f64, _>(field!(free), 3 * self.n_solids);
        plan
    }

    /// What the kernels take, without arrays.
    pub fn ties(&self) -> Ties {
        let [energy_of_solids, energy_of_fluids] = self.energies;
        let (n_solids, n_nodes) = (self.n_solids as u32, self.nodes.len() as u32);
        Ties { n_solids, n_nodes, energy_of_solids, energy_of_fluids, ..Ties::zeroed() }
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.plan().bytes()
    }
}

fn n_blocks(n: usize) -> u32 {
    (n as u32).div_ceil(THREADS)
}

//! Dashpots between nodes and the ground: after a step, a kernel corrects the motion of their nodes (ground.cuh).
//!
//! A step without dashpots gives (1 + q) Δu* = (1 − q) Δu_n − Δt²/m (f_int − F). The motion with them
//! ([`dashpot`](crate::explicit::dashpot)) is
//!
//! ```text
//! [(1 + q) I + Ĝ] Δu_{n+1} = (1 + q) Δu* − Ĝ Δu_n,   Ĝ = Δt/2m G
//! ```
//!
//! As the arrays of the state are doubled, Δu_n and u_n are still there after the step.

use std::collections::{HashMap, HashSet};

use super::layout::{NONE, SUPPORT, Special};
use super::tables::{Specials, Tables, add_specials};
use crate::device::Arena;
use crate::device::DeviceError;
use crate::device::layout::{In, layouts};
use crate::explicit::Problem;
use crate::explicit::dashpot::{Dashpot, DashpotStep, flat};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/grounded.cuh", numbers template;

    constants {}

    opaque {}

    /// A node that is corrected.
    struct Grounded {
        /// G in N s/m.
        matrix: [f64; 9],
        /// [(1 + q) I + Ĝ]⁻¹ of the components that are free; 0 of those that are prescribed.
        solve: [f64; 9],
        /// Of a node of a fluid that follows a corrected node of a solid: A Δt/m, what the solid's correction adds to
        /// (1 + q) Δq*.
        flow: [f64; 3],
        /// 1 + q, Δt/2m, and α m / 4Δt.
        system: f64,
        half: f64,
        dissipation: f64,
        node: u32,
        /// Entry of the node of a fluid that touches this one and is corrected after it, or NONE.
        next: u32,
        /// Entry of the node in `special_first`.
        special: u32,
        /// Bit c: component c is prescribed.
        held: u32,
    }

    /// Entries whose nodes are in one block of the mesh, which have a thread block.
    struct GroundedBlock {
        first: u32,
        end: u32,
        /// Row of `energies`.
        energy: u32,
        reserved: u32,
    }

    /// The nodes that are corrected.
    struct Ground {
        entries: In<Grounded>,
        blocks: In<GroundedBlock>,
        /// Numbers of a node in the arrays of the state.
        n_numbers: u64,
    }
}

/// The nodes of a model that are corrected.
#[derive(Default)]
pub(super) struct GroundTables {
    entries: Vec<Grounded>,
    blocks: Vec<GroundedBlock>,
}

impl GroundTables {
    /// Those of a problem; lists what acts on them, and gives them rows of energies.
    pub fn new<T: Real>(problem: &Problem, by_node: &Specials, tables: &mut Tables<T>) -> Self {
        let mut ground = Self::default();
        let of_node: HashMap<u32, &Dashpot> = problem.dashpots.iter().map(|dashpot| (dashpot.node, dashpot)).collect();
        let fluid_at: HashMap<u32, (u32, [f64; 3])> =
            problem.wet.iter().map(|pair| (pair.solid, (pair.fluid, pair.area))).collect();
        let follows: HashSet<u32> =
            problem.dashpots.iter().filter_map(|dashpot| Some(fluid_at.get(&dashpot.node)?.0)).collect();
        let mut first: Vec<&Dashpot> =
            problem.dashpots.iter().filter(|dashpot| !follows.contains(&dashpot.node)).collect();
        first.sort_by_key(|dashpot| dashpot.node);
        // By blocks of the mesh, so that sums of energies do not depend on how a model is cut.
        let block_of = |dashpot: &Dashpot| problem.blocks.block_of(dashpot.node);
        for of_block in first.chunk_by(|a, b| block_of(a) == block_of(b)) {
            let (begin, energy) = (ground.entries.len() as u32, tables.n_energy_rows as u32);
            tables.n_energy_rows += 1;
            ground.blocks.push(GroundedBlock { first: begin, end: begin + of_block.len() as u32, energy, reserved: 0 });
            for dashpot in of_block {
                ground.entries.push(entry(problem, by_node, tables, dashpot, [0.0; 3]));
            }
        }
        for (at, solid) in first.iter().enumerate() {
            let Some(&(fluid, area)) = fluid_at.get(&solid.node) else { continue };
            ground.entries[at].next = ground.entries.len() as u32;
            let none = Dashpot { node: fluid, matrix: [[0.0; 3]; 3] };
            let following = of_node.get(&fluid).copied().unwrap_or(&none);
            let scale = problem.time_increment / problem.lumped_mass[fluid as usize];
            ground.entries.push(entry(problem, by_node, tables, following, area.map(|area| scale * area)));
        }
        tables.special_first.push(tables.specials.len() as u32);
        ground
    }

    /// Thread blocks of the kernel.
    pub fn n_blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Keeps the nodes that one of several devices has.
    pub fn keep(&mut self, is_own: impl Fn(usize) -> bool) {
        self.blocks.retain(|block| is_own(self.entries[block.first as usize].node as usize));
    }

    /// Entries and blocks.
    pub fn rows(&self) -> (&[Grounded], &[GroundedBlock]) {
        (&self.entries, &self.blocks)
    }

    /// Copies them to the device.
    pub fn place(&self, arena: &mut Arena, n_numbers: usize) -> Result<Ground, DeviceError> {
        let (entries, blocks) = self.rows();
        let entries = arena.copy("dashpots", entries)?.at();
        let blocks = arena.copy("dashpots of blocks", blocks)?.at();
        Ok(Ground { entries, blocks, n_numbers: n_numbers as u64 })
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.entries[..]) + size_of_val(&self.blocks[..])) as u64
    }
}

fn entry<T: Real>(
    problem: &Problem,
    by_node: &Specials,
    tables: &mut Tables<T>,
    dashpot: &Dashpot,
    flow: [f64; 3],
) -> Grounded {
    let (node, dt) = (dashpot.node as usize, problem.time_increment);
    let (mass, rate) = (problem.lumped_mass[node], problem.damping_rate_of(node));
    let acting = by_node.of(dashpot.node, dashpot.node + 1);
    let is_support = |c: u32| move |(_, special): &(u32, Special)| special.kind == SUPPORT && special.component == c;
    let is_held = [0, 1, 2].map(|c| acting.iter().any(is_support(c)));
    let step = DashpotStep::new(dashpot, (mass, rate), is_held, dt);
    let special = tables.special_first.len() as u32;
    tables.special_first.push(tables.specials.len() as u32);
    add_specials(&mut tables.specials, acting, 0);
    Grounded {
        matrix: flat(dashpot.matrix),
        solve: flat(step.solve),
        flow,
        system: 1.0 + 0.5 * rate * dt,
        half: 0.5 * dt / mass,
        dissipation: problem.damping(node)[1],
        node: dashpot.node,
        next: NONE,
        special,
        held: (0..3).filter(|&c| is_held[c]).map(|c| 1 << c).sum(),
    }
}

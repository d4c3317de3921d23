//! Where fluids and solids touch: pairs of nodes in one block (touch.cuh).

use super::layout::Block;
use super::tables::Tables;
use crate::device::layout::{In, layouts};
use crate::device::{Arena, DeviceError};
use crate::explicit::{Problem, StepperError};
use crate::simd::Real;

layouts! {
    header "explicit/gpu/wet.cuh", numbers template;

    constants {}

    opaque {}

    /// A node of a solid and one of a fluid at the same place, by their local numbers.
    struct WetPair<T> {
        /// A/Δt in the unit of force, along the normal out of the fluid.
        area: [T; 3],
        solid: u32,
        fluid: u32,
    }

    /// Where fluids and solids touch.
    struct Wet<T> {
        pairs: In<WetPair<T>>,
        /// First pair of each block, (n_blocks + 1,).
        first: In<u32>,
        /// 1 for a node of a fluid that moves after those of the solid, (n_nodes,).
        later: In<u8>,
    }
}

/// The pairs of the blocks that a device steps.
#[derive(Default)]
pub(super) struct WetTables<T> {
    pub pairs: Vec<WetPair<T>>,
    pub first: Vec<u32>,
    pub later: Vec<u8>,
}

impl<T: Real> WetTables<T> {
    /// Pairs of a model, by the blocks of the tables; nothing for a model without solids or without fluids.
    ///
    /// # Errors
    /// A pair in two blocks, or a node in two pairs.
    pub fn new(problem: &Problem, tables: &Tables<T>) -> Result<Self, StepperError> {
        let mut wet = Self::default();
        if !tables.is_mixed {
            return Ok(wet);
        }
        let wrong = |node: u32, what| StepperError::Blocks { block: problem.blocks.block_of(node), what };
        wet.later = vec![0; problem.mesh.n_nodes()];
        let mut pairs = problem.wet.clone();
        pairs.sort_unstable_by_key(|pair| pair.solid);
        if let Some(two) = pairs.windows(2).find(|two| two[0].solid == two[1].solid) {
            return Err(wrong(two[0].solid, "a node of a solid touches a fluid twice"));
        }
        for pair in &pairs {
            if std::mem::replace(&mut wet.later[pair.fluid as usize], 1) != 0 {
                return Err(wrong(pair.fluid, "a node of a fluid touches a solid twice"));
            }
        }
        let scale = 1.0 / (problem.time_increment * tables.units.force);
        for block in &tables.blocks {
            wet.first.push(wet.pairs.len() as u32);
            let Block { node_first, n_own, .. } = *block;
            let begin = pairs.partition_point(|pair| pair.solid < node_first);
            for pair in pairs[begin..].iter().take_while(|pair| pair.solid < node_first + n_own) {
                let fluid = pair.fluid.wrapping_sub(node_first);
                if fluid >= n_own {
                    return Err(wrong(pair.solid, "nodes of a fluid and a solid at one place are in two blocks"));
                }
                let area = pair.area.map(|area| T::from_f64(area * scale));
                wet.pairs.push(WetPair { area, solid: pair.solid - node_first, fluid });
            }
        }
        wet.first.push(wet.pairs.len() as u32);
        Ok(wet)
    }

    /// Copies them to the device.
    pub fn place(&self, arena: &mut Arena) -> Result<Wet<T>, DeviceError> {
        Ok(Wet {
            pairs: arena.copy("pairs of nodes of fluids and solids", &self.pairs)?.at(),
            first: arena.copy("first pairs of blocks", &self.first)?.at(),
            later: arena.copy("nodes of fluids that touch solids", &self.later)?.at(),
        })
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.pairs[..]) + size_of_val(&self.first[..]) + self.later.len()) as u64
    }
}

//! The block file of explicit dynamics: sections `provenance`, `setup`, `mesh`, `blocks`, `device` and `statistics`.

mod check;
pub mod corner;
mod fan;
pub mod grid;
pub mod ring;
mod tables;
#[cfg(test)]
mod tests;

use super::Setup;
use crate::block::check::Check;
use crate::block::sections;
use crate::mesh::Mesh;
use crate::physics::Physics;

pub use fan::{FanRecord, triangle_material};
pub use tables::{Blocks, BlocksView, Colour, DeviceTables, DeviceView, PartitionStatistics, Run, StatisticsView};

/// Explicit elastodynamics on a mesh.
#[derive(Debug)]
pub struct Explicit;

sections! {
    Explicit: ExplicitContents, ExplicitView, ExplicitSections {
        /// The mesh in solver order.
        mesh: Mesh,
        /// Partition and tables of the blocks.
        blocks: Blocks,
        /// Tables for devices with many threads.
        device: DeviceTables,
        /// Quality of the partition.
        statistics: PartitionStatistics,
    }
}

impl Physics for Explicit {
    const NAME: &'static str = "explicit";
    type Setup = Setup;
    type Sections = ExplicitSections;

    fn check(tables: &ExplicitView, setup: &Setup) -> Check {
        check::all(&tables.mesh, &tables.blocks, &tables.device, setup)
    }

    fn agreement(tables: &ExplicitView) -> Check {
        check::agreement(&tables.mesh, &tables.blocks, &tables.device)
    }
}

//! The block file of explicit dynamics: sections `provenance`, `setup`, `mesh`, `blocks` and `device`.

mod check;
pub mod corner;
mod fan;
pub mod grid;
pub mod ring;
mod tables;
#[cfg(test)]
mod tests;
mod view;

use rkyv::rancor::BoxedError;

use super::Setup;
use crate::block::check::Check;
use crate::block::sections;
use crate::mesh::Mesh;
use crate::physics::{BlockFile, Physics};

pub use fan::{FanRecord, triangle_material};
pub use tables::{Blocks, DeviceTables, PartitionStatistics};
pub use view::{BlocksView, Colour, DeviceView, Run};

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

impl BlockFile<Explicit> {
    /// Quality of the partition. The time it took is not stored: the same input gives the same file.
    pub fn statistics(&self) -> PartitionStatistics {
        let blocks = self.container().get(&self.sections().blocks);
        rkyv::deserialize::<_, BoxedError>(&blocks.statistics).expect("validated when the file was opened")
    }
}

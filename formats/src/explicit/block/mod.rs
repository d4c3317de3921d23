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
use crate::block::sections;
use crate::mesh::Mesh;

pub use fan::{FanRecord, triangle_number};
pub use tables::{Blocks, BlocksView, Colour, DeviceTables, DeviceView, PartitionStatistics, Run, StatisticsView};

sections! {
    /// Explicit elastodynamics on a mesh.
    Explicit("explicit", Setup): ExplicitContents, ExplicitView, ExplicitSections {
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

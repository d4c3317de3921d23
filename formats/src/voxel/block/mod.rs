//! The block file of voxel statics: sections `provenance`, `setup`, `mesh`, `levels` and `domains`.

mod check;
mod check_tables;
#[cfg(test)]
mod tests;

use crate::block::sections;
use crate::domains::SubDomains;
use crate::voxel::{VoxelLevels, VoxelMesh, VoxelSetup};

sections! {
    /// Statics on voxels.
    Voxel("static", VoxelSetup): VoxelContents, VoxelView, VoxelSections {
        /// Elements and nodes.
        mesh: VoxelMesh,
        /// Offset tables or hashes of all levels, or neither.
        levels: VoxelLevels,
        /// Sub-domains; one if the grid is not cut.
        domains: SubDomains,
    }
}

//! The block file of voxel statics: sections `provenance`, `setup`, `mesh`, `levels` and `domains`.

mod check;
mod check_tables;
#[cfg(test)]
mod tests;

use crate::block::check::Check;
use crate::block::sections;
use crate::domains::SubDomains;
use crate::physics::Physics;
use crate::voxel::{VoxelLevels, VoxelMesh, VoxelSetup};

/// Statics on voxels.
#[derive(Debug)]
pub struct Voxel;

sections! {
    Voxel: VoxelContents, VoxelView, VoxelSections {
        /// Elements and nodes.
        mesh: VoxelMesh,
        /// Offset tables or hashes of all levels, or neither.
        levels: VoxelLevels,
        /// Sub-domains; one if the grid is not cut.
        domains: SubDomains,
    }
}

impl Physics for Voxel {
    const NAME: &'static str = "static";
    type Setup = VoxelSetup;
    type Sections = VoxelSections;

    fn check(tables: &VoxelView, setup: &VoxelSetup) -> Check {
        check::all(&tables.mesh, setup)?;
        check_tables::all(&tables.mesh, &tables.levels, &tables.domains)
    }

    fn agreement(tables: &VoxelView) -> Check {
        check::agreement(&tables.mesh)?;
        check_tables::agreement(&tables.mesh, &tables.levels, &tables.domains)
    }
}

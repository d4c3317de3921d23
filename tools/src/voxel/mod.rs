//! Tables of a voxel model: bricks in Morton order, coarse levels, the papers' two grid representations, sub-domains.

mod bricks;
mod error;
mod mesh;
#[cfg(test)]
mod tests;

pub use bricks::coarsen;
pub use error::VoxelError;
use mesh::cut;

pub use mesh::mesh;

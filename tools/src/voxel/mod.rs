//! Tables of a voxel model: elements and nodes in Morton order, the papers' two grid representations, sub-domains.

mod domains;
mod error;
mod grids;
mod hash;
pub mod info;
mod levels;
mod mesh;
mod offset;
pub mod prepare;
#[cfg(test)]
mod tests;

/// Bricks that one task works on.
const CHUNK: usize = 1024;

pub use domains::domains;
pub use error::VoxelError;
pub use levels::{GridKind, levels};
pub use mesh::mesh;
pub use offset::kinds;

use mesh::cut;

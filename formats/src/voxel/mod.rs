//! A voxel model: cubes of one edge length on a regular grid, as types.
//!
//! Voxel (i, j, k) fills the cube from `origin + h (i, j, k)` to `origin + h (i + 1, j + 1, k + 1)`; node (i, j, k) is its
//! lowest corner. A solid voxel is an element; a node is there if one of the eight voxels round it is solid. Elements and
//! nodes are numbered in Morton order (z-order) of (i, j, k), x in the lowest bit: 512 consecutive slots of that order are
//! a *brick* of 8 × 8 × 8, and the numbering is the same whatever tables ([`Bricks`], offsets, hash) find a neighbour.

pub mod block;
pub mod build;
mod domains;
pub mod hash;
pub mod job;
pub mod masks;
mod morton;
mod offset;
pub mod parameters;
mod region;
pub mod report;
pub mod setup;
pub mod slice;
pub mod summary;
mod tables;

pub use crate::read::image::{VoxelGrid, VoxelModuli};
pub use block::Voxel;
pub use build::{coarse_size, coarsen};
pub use domains::sub_domains;
pub use hash::{HashLevel, HashView};
pub use morton::{morton_code, morton_corners, morton_position};
pub use offset::{OffsetLevel, OffsetView, Transfer, TransferView};
pub use region::{BrickNodes, NO_NODE, bricks_of};
pub use setup::VoxelSetup;
pub use tables::{Bricks, BricksView, NO_BRICK, VoxelLevels, VoxelLevelsView, VoxelMesh, VoxelMeshView};

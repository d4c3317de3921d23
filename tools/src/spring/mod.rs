//! Mass-spring-damper models: particles and springs of a voxel stack or of a deck, and where a job's conditions act.

mod conditions;
mod deck;
pub mod info;
mod lattice;
pub mod prepare;

pub use conditions::{Given, setup};
pub use deck::{edges, mesh_of_edges};
pub use lattice::mesh_of_voxels;

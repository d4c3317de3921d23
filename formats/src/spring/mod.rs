//! Mass-spring-damper models: particles, and springs between them, as types.
//!
//! Particles are numbered in *solver order*: block after block, each of [`SpringLists::block_size`] particles that lie near
//! each other. A model made of a voxel stack or a lattice has a [`SpringGrid`] beside its particles (*implicit* addressing:
//! neighbours are found by their place in the grid and a mask), and its lists (*explicit* addressing) name the same springs
//! in the same order; a deck has lists only.

pub mod block;
pub mod build;
pub mod job;
mod lattice;
mod mesh;
pub mod parameters;
pub mod picture;
pub mod report;
pub mod results;
mod setup;

pub use block::Spring;
pub use lattice::{
    DIRECTION_BITS, DIRECTIONS, MATERIAL_SHIFT, MAX_MATERIALS, N_DIRECTIONS, SpringGroupKind, group_of_direction,
    material_of, opposite,
};
pub use mesh::{
    NO_NEIGHBOUR, SpringEnd, SpringGrid, SpringGridView, SpringLists, SpringListsView, SpringMesh, SpringMeshView,
};
pub use setup::{
    Cut, CutFrame, CutShape, Gravity, PointForce, SpringAddition, SpringDamping, SpringErasure, SpringFields,
    SpringGroup, SpringMaterial, SpringSettings, SpringSetup,
};

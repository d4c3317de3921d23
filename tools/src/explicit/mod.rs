//! Explicit dynamics: what a job adds to a deck, the blocks of the mesh with their tables, and the figures of a block file.

mod apply_job;
pub mod arrange;
mod convert;
mod crack;
mod fluid;
mod info;
mod prepare;
mod renumber;

pub use apply_job::remap_setup;

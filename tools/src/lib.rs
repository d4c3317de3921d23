//! Offline work: everything between a deck and a block file.

pub mod apply_job;
pub mod arrange;
pub mod cli;
pub mod eikonal;
pub mod generate;
pub mod info;
pub mod partition;
pub mod picture;
pub mod pipeline;
pub mod spring;
pub mod voxel;

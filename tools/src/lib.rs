//! Offline work: everything between a deck and a block file.

pub mod cli;
pub mod eikonal;
pub mod explicit;
pub mod generate;
pub mod partition;
pub mod picture;
pub mod prepare;
pub mod spring;
pub mod voxel;

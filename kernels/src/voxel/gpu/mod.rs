//! Voxel statics on a CUDA device.

#[cfg(test)]
mod fine_tests;
mod levels;
mod measure;
mod product;
mod solve;
#[cfg(test)]
mod tests;
mod tiles;

pub use measure::{FineReport, Measurement, measure_fine_level};
pub use solve::{GpuSolverReport, GpuStaticSolver};

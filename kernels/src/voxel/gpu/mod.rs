//! Voxel statics on a CUDA device.

mod levels;
#[allow(dead_code)] // the product in f64 alone: to measure it
mod product;
mod solve;
#[cfg(test)]
mod tests;
mod tiles;

pub use solve::{GpuSolverReport, GpuStaticSolver};

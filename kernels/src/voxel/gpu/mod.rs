//! Voxel statics on a CUDA device.

#[cfg(test)]
mod fine_tests;
mod layout;
mod levels;
mod measure;
mod product;
mod solve;
#[cfg(test)]
mod tests;
mod tiles;

/// Modules that a run needs, for [`Starting`](crate::device::Starting).
pub fn gpu_modules() -> Vec<&'static str> {
    vec!["brick_f32", "brick_f64", "levels"]
}

pub use measure::{FineReport, Measurement, measure_fine_level};
pub use solve::{GpuSolverReport, GpuStaticSolver};

//! Voxel statics on CUDA devices.

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

/// Modules that a run on one or `several` devices needs, for [`Starting`](crate::device::Starting).
pub fn gpu_modules(several: bool) -> Vec<&'static str> {
    let of_several = several.then_some("levels_of_devices");
    ["brick_f32", "brick_f64", "levels"].into_iter().chain(of_several).collect()
}

pub use measure::{FineReport, Measurement, measure_fine_level};
pub use solve::{GpuSolverReport, GpuStaticSolver};

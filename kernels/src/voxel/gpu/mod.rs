//! Voxel statics on CUDA devices.

#[cfg(test)]
mod fine_tests;
mod layout;
mod levels;
mod measure;
mod post;
mod product;
mod remote;
mod solve;
#[cfg(test)]
mod tests;
mod tiles;

/// Modules that a run on one or `several` devices needs, for [`Starting`](crate::device::Starting). `ratios`: elements differ in
/// Poisson's ratio.
pub fn gpu_modules(several: bool, ratios: bool) -> Vec<&'static str> {
    modules_of_fine(ratios).into_iter().chain(modules_of_levels(several, ratios)).collect()
}

/// Modules of the finest level, in f32 and in f64.
const fn modules_of_fine(ratios: bool) -> [&'static str; 2] {
    if ratios { ["brick_ratios_f32", "brick_ratios_f64"] } else { ["brick_f32", "brick_f64"] }
}

/// Modules of the coarse levels and of the outer iteration: that of the iteration first, that of the levels last.
fn modules_of_levels(several: bool, ratios: bool) -> Vec<&'static str> {
    match (several, ratios) {
        (false, false) => vec!["levels"],
        (false, true) => vec!["levels_ratios"],
        (true, false) => vec!["levels", "levels_of_devices"],
        (true, true) => vec!["levels", "levels_of_devices_ratios"],
    }
}

pub use measure::{FineReport, Measurement, measure_fine_level};
pub use solve::{GpuSolverReport, GpuStaticSolver};

#[cfg(test)]
mod module_tests {
    #[test]
    fn all_modules_are_stored() {
        let stored = include_str!("../../../ptx/modules.txt");
        let is_stored = |name: &str| stored.lines().any(|line| line.split_whitespace().next() == Some(name));
        for (several, ratios) in [(false, false), (false, true), (true, false), (true, true)] {
            super::gpu_modules(several, ratios).into_iter().for_each(|name| assert!(is_stored(name), "{name}"));
        }
    }
}

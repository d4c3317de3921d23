//! A run of an Eikonal model: tensors out of velocities and directions, starts, the kernel, results.

mod engine;
mod histogram;
mod many;
mod paths;
mod pictures;
pub mod run;
mod starts;

pub use run::{EikonalModel, run};

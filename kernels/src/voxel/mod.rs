//! Voxel statics: K u = f on cubes of one edge length, with a modulus each and Poisson's ratios by class.
//!
//! `README.md` in this folder describes the method.

mod bricks;
mod cube;
pub(crate) mod elements;
mod energy;
mod fine;
mod forces;
mod gpu;
mod iteration;
mod lists;
mod multigrid;
pub(crate) mod number;
#[cfg(test)]
mod phase_tests;
mod problem;
mod product;
#[cfg(test)]
mod rank_tests;
mod rows;
mod share;
mod solve;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod vectors;

pub use cube::Cube;
pub use energy::EnergyDensities;
pub use gpu::{FineReport, GpuSolverReport, GpuStaticSolver, Measurement, gpu_modules, measure_fine_level};
pub use iteration::{Solution, SolverSettings};
pub use multigrid::{CycleKind, CycleSettings};
pub(crate) use multigrid::{FACTORISED, PLACES, place_of};
pub use problem::{FixedDof, Lame, Moduli, NodalForce, Ratios, StaticProblem};
pub(crate) use problem::{Stopping, Voxels};
pub use product::{Grid, Joined, NodeTables, Product, Scratch, Sink, most_ranks};
pub use share::RankShares;
pub use solve::StaticSolver;

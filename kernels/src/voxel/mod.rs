//! Voxel statics: K u = f on cubes of one edge length, one Poisson's ratio and a modulus each.

mod averaged;
mod blocks;
mod bricks;
mod cube;
mod domains;
mod factor;
mod fine;
mod first;
mod forces;
mod gpu;
mod half;
mod lookup;
mod multigrid;
mod number;
mod problem;
mod product;
mod rows;
mod solve;
mod split;
#[cfg(test)]
mod tests;

pub use averaged::{AveragedError, AveragedSettings, solve_averaged};
pub use cube::Cube;
pub use gpu::{FineReport, GpuSolverReport, GpuStaticSolver, Measurement, gpu_modules, measure_fine_level};
pub use lookup::{Grid, Joined};
pub use multigrid::{CycleKind, CycleSettings};
pub use problem::{FixedDof, Moduli, NodalForce, StaticProblem};
pub use product::{Product, Scratch};
pub use solve::{Solution, SolverSettings, StaticSolver};

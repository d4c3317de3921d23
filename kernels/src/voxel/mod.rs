//! Voxel statics: K u = f on cubes of one edge length, one Poisson's ratio and a modulus each.

mod problem;

pub use problem::{FixedDof, Moduli, NodalForce, StaticProblem};

//! The preconditioner: one multigrid cycle. `README.md` of the voxel solver describes the levels.

mod blocks;
mod cell;
mod cycle;
mod factor;
mod first;
mod galerkin;
mod half;
mod hierarchy;
mod level;
mod packed;
mod phases;
mod round;
mod settings;
mod smoother;
mod split;
mod transfer;

#[cfg(test)]
pub(crate) use cell::Cell;
pub(crate) use factor::Factor;
pub(crate) use hierarchy::{Coarse, Division, FACTORISED, Host};
pub(crate) use level::{Level, Operator};
pub(crate) use packed::Packed;
pub(crate) use round::{exponent, rounded};
pub use settings::{CycleKind, CycleSettings};
pub(crate) use smoother::{Smoother, StepVectors, factors, weight};
pub(crate) use transfer::{PLACES, place_of};

//! Voxel statics as in the papers of Arbenz, Flaig and Kellenberger.

mod averaged;
mod lookup;
#[cfg(test)]
mod tests;

pub use averaged::{AveragedError, AveragedSettings, solve_averaged};
pub use lookup::{HashTables, OffsetTables};

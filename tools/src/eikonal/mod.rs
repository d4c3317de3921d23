//! Arrival times: meshes arranged for the Eikonal solver, and what is said about their block files.

mod arrange;
pub mod info;
pub mod prepare;
mod reach;
mod shapes;
#[cfg(test)]
mod tests;

pub use arrange::{Arranged, EikonalError, arrange};
pub use reach::{Reach, reach};
pub use shapes::twins;

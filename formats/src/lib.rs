//! What lies on disk: Abaqus decks, TOML jobs, the block file, and results.
//!
//! Data flows one way: [`inp`] and [`job`] give a [`model::Model`]; the tools arrange it and [`block`] writes it;
//! the solver maps the block file, changes [`parameters`] by name, and writes its results through [`output`]. Nothing
//! here knows about devices.

pub mod block;
pub mod eikonal;
mod elasticity;
pub mod image;
pub mod inp;
pub mod job;
pub mod mesh_files;
pub mod model;
pub mod output;
pub mod parameters;
pub mod spring;
pub mod voxel;
pub mod words;

/// Version of Pogo, with the git hash in release builds: `0.1.0 (1a2b3c4)`.
pub const VERSION: &str = env!("POGO_VERSION");

/// Exit codes of every Pogo command; 0 is success and 2 a wrong command line.
pub mod exit_code {
    /// Input that cannot be used (deck, job, block file, study), or a file that cannot be read or written.
    pub const BAD_INPUT: i32 = 1;
    /// The solution became NaN, or its energy grew without cause; the state was written.
    pub const DIVERGED: i32 = 3;
    /// Stopped by a signal after writing a checkpoint.
    pub const INTERRUPTED: i32 = 4;
}

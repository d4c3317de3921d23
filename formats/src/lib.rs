//! What lies on disk: models as users bring them, the block file, and results.
//!
//! Data flows one way. [`read`] and the job of a physics give a model; the tools arrange it and write a block file; the
//! solver maps the block file, changes parameters by name, and writes its results through [`mod@write`]. Nothing here
//! knows about devices.
//!
//! Each physics has one room ([`explicit`], [`voxel`], [`spring`], [`eikonal`]) with its types, job, block file,
//! parameters and results. The rooms stand on shared floors: [`mesh`], [`material`], [`dynamics`], [`domains`], [`block`], [`job`],
//! [`parameters`], [`timings`], [`read`], [`system`] and [`mod@write`]. A shared floor never looks into a room.

// A struct or enum whose fields or variants say all by their names and types allows that itself.
#![deny(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod block;
pub mod domains;
pub mod dynamics;
pub mod eikonal;
pub mod explicit;
pub mod job;
pub mod material;
mod memory;
pub mod mesh;
pub mod parameters;
pub mod physics;
pub mod quantities;
pub mod read;
pub mod relaxation;
pub mod spring;
#[cfg(test)]
mod summary_schema;
pub mod system;
pub mod timings;
pub mod vector;
pub mod voxel;
pub mod words;
pub mod write;

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

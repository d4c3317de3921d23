//! Mass-spring-damper models: from a model to results in a folder.
//!
//! ```text
//! run ─► assemble (masses, signals, forces) ─► SpringProblem ─► kernels
//!     └► time_loop ─► traces (reactions), snapshots, energy, checkpoint
//! ```

pub mod assemble;
pub mod checkpoint;
pub mod reactions;
pub mod run;
pub mod snapshots;
pub mod time_loop;

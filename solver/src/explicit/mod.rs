//! The explicit solver: from a model to results in a folder.
//!
//! ```text
//! run ─► assemble (elements, faces, loads, signals) ─► Problem ─► kernels
//!     └► time_loop ─► histories (reactions), snapshots, energy, checkpoint
//! ```

pub mod assemble;
pub mod checkpoint;
pub mod elements;
pub mod energy;
pub mod faces;
pub mod histories;
pub mod loads;
pub mod reactions;
pub mod resolution;
pub mod run;
pub mod schedule;
pub mod snapshots;
pub mod time_loop;

pub use pogo_kernels::dynamics::signals;

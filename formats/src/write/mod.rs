//! Results: traces, fields, energies, pictures, summaries and checkpoints.
//!
//! Plain writers that are fed with arrays; nothing here steps a solution. Every file is written beside its target, synced
//! and renamed, so that a reader sees the old file or the whole new one.
//!
//! | file | what | module |
//! |---|---|---|
//! | `traces.csv`, `traces-<n>.csv`, `traces.npz` | nodal quantities over time | [`traces`] |
//! | (how `traces.npz` is read back) | | [`trace_archive`] |
//! | `traces.mat` | the same for MATLAB | [`matlab`] |
//! | `fields.pvd`, `fields/<step>.vtu`, or `fields.vtkhdf` | snapshots for ParaView | [`fields`] |
//! | `arrival.vtu` or `.vtkhdf` | arrays of numbers on triangles or tetrahedra | [`simplices`] |
//! | `fields.vti` or `.vtkhdf` | arrays of numbers on voxels | [`image_data`] |
//! | (how these are written) | | [`vtu`], [`vtkhdf`] (on `hdf5`), of a [`grid`] |
//! | `*.pogo-hist`, `*.pogo-field` | traces and fields for P. Huthwaite's Pogo and its MATLAB tools | [`pogo`] |
//! | `*.svg`, `*.png` | pictures | [`plot`], on a [`raster`] canvas |
//! | `report.html` | all of it to look at in a browser | [`report`] |
//! | `summary.json` | the run, for scripts | [`summary`] |
//! | checkpoint | the state, to continue from | [`checkpoint`] |

mod ahead;
mod atomic;
pub mod checkpoint;
pub mod fields;
pub mod grid;
mod hdf5;
pub mod image_data;
mod journal;
pub mod matlab;
pub mod npy;
pub mod plot;
pub mod pogo;
pub mod raster;
pub mod report;
pub mod shots;
pub mod simplices;
pub mod summary;
pub mod trace_archive;
pub mod traces;
mod unfinished;
pub mod vtkhdf;
pub mod vtu;

use atomic::advice;
pub use atomic::write_atomically;
pub use journal::Journal;
pub use unfinished::{remove_left_behind, remove_left_in, remove_unfinished};

use std::path::{Path, PathBuf};

/// What goes wrong while results are written or read back.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum OutputError {
    /// The file system refused.
    #[error("{}: error: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Arrays that do not belong together.
    #[error("{}: error: {what}", path.display())]
    Shape {
        /// File that was to be written.
        path: PathBuf,
        /// What was expected and what was found.
        what: String,
    },
    /// The file system has less room than a series takes.
    #[error("{}: error: {what}", path.display())]
    Room { path: PathBuf, what: String },
    /// A file that is not what its name says.
    #[error("{}: error: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
}

impl OutputError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn shape(path: &Path, what: impl Into<String>) -> Self {
        Self::Shape { path: path.to_path_buf(), what: what.into() }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_path_buf(), what: what.into() }
    }
}

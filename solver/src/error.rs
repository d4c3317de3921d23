//! Why a call of the solver cannot be carried out.

use std::path::PathBuf;

use pogo_formats::block::BlockError;
use pogo_formats::parameters::ParameterError;
use pogo_formats::write::OutputError;
use pogo_kernels::device::DeviceError;

use crate::config::SettingError;
use crate::explicit::assemble::AssembleError;
use crate::study::StudyError;
use pogo_formats::words::counted;

/// Bad input, or a file that cannot be read or written. A run that diverges or is stopped is no error: see
/// [`Status`](pogo_formats::write::summary::Status).
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The block file cannot be used.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A result cannot be written, or a checkpoint read.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A study cannot be used.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A setting means nothing.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// `NAME=VALUE` that cannot be applied.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A table of starts cannot be used: `file:line: error: …`.
    #[error("{0}")]
    Table(String),
    /// The model cannot be assembled.
    #[error("{}: error: {source}", path.display())]
    Assemble {
        /// Block file.
        path: PathBuf,
        /// What is wrong, and what to do.
        source: AssembleError,
    },
    /// Fields cannot be computed.
    #[error("error: fields: {0}")]
    Fields(String),
    /// The kernels refuse the problem.
    #[error("{}: error: {reason}", path.display())]
    Problem {
        /// Block file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Δt above the stable increment.
    #[error(
        "{}: error: increment {increment:e} s is above the stable increment {stable:e} s of element {element}: the run \
         would diverge. Use --increment auto or at most {stable:.4e}, refine less there, or give --allow-unstable",
        path.display()
    )]
    Unstable {
        /// Block file.
        path: PathBuf,
        /// Δt, s.
        increment: f64,
        /// Limit, s.
        stable: f64,
        /// User's label of the element with the smallest limit.
        element: String,
    },
    /// Δt above the stable increment of springs.
    #[error(
        "{}: error: increment {increment:e} s is above the stable increment {stable:e} s of the springs: the run could diverge. \
         Use --increment auto or at most {stable:.4e}, or give --allow-unstable",
        path.display()
    )]
    UnstableSprings {
        /// Block file.
        path: PathBuf,
        /// Δt, s.
        increment: f64,
        /// Limit, s.
        stable: f64,
    },
    /// Nothing to go on from.
    #[error(
        "{}: error: there is no checkpoint here; start without --restart (checkpoints are written with \
         --checkpoint-interval, and when SIGTERM or SIGINT stops a run)",
        path.display()
    )]
    NoCheckpoint {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A checkpoint of another run.
    #[error("{}: error: the checkpoint is of another run: not the same {what}; start again without --restart, or give the same {what}",
        path.display())]
    OtherRun {
        /// Checkpoint.
        path: PathBuf,
        /// Block file, precision or settings.
        what: &'static str,
    },
    /// An option that means nothing for this kind of problem.
    #[error("error: {option} is for {physics} only; leave it out for this block file")]
    OtherPhysics {
        /// The option.
        option: &'static str,
        /// What it is for.
        physics: &'static str,
    },
    /// More memory than there is.
    #[error("error: no memory for {what}")]
    Memory {
        /// For what.
        what: String,
    },
    /// A device that cannot be used.
    #[error("error: {0}")]
    Device(#[from] DeviceError),
    /// A device that cannot go on.
    #[error("error: {source}; {}", match kept {
        Some(step) => format!("the checkpoint of step {step} is kept: go on with --restart"),
        None => "there is no checkpoint: start again, with --checkpoint-interval to have some".to_owned(),
    })]
    DeviceLost {
        /// What the driver says.
        source: DeviceError,
        /// Step of the checkpoint in the output folder, if this run may go on from it.
        kept: Option<u64>,
    },
    /// Threads cannot be started.
    #[error("error: cannot start {}: {reason}", counted(*threads, "thread"))]
    Threads {
        /// How many.
        threads: usize,
        /// Why not.
        reason: String,
    },
    /// A file or folder cannot be used.
    #[error("{}: error: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

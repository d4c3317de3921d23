//! Why a call of the solver cannot be carried out.

use std::fmt;
use std::path::PathBuf;

use pogo_formats::block::BlockError;
use pogo_formats::parameters::ParameterError;
use pogo_formats::system::threads::ThreadError;
use pogo_formats::words::counted;
use pogo_formats::write::OutputError;
use pogo_kernels::device::DeviceError;

use crate::config::SettingError;
use crate::study::StudyError;

/// What is left of a run whose device is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The checkpoint of this step, in the output folder.
    Checkpoint(u64),
    /// A run over time without a checkpoint.
    NoCheckpoint,
    /// The displacements of this many load cases, in the output folder.
    Displacements(usize),
    /// Nothing, and nothing could be.
    Nothing,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Checkpoint(step) => write!(f, "the checkpoint of step {step} is kept: go on with --restart"),
            Self::NoCheckpoint => {
                f.write_str("there is no checkpoint: start again, with --checkpoint-interval to have some")
            }
            Self::Displacements(n) if n > 0 => {
                let cases = counted(n, "load case");
                write!(f, "the displacements of {cases} are kept: go on with --start and the output folder")
            }
            Self::Displacements(_) | Self::Nothing => f.write_str("nothing is kept: start again"),
        }
    }
}

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
    /// A table of starts or of shots cannot be used: `file:line: error: …`.
    #[error("{0}")]
    Table(String),
    /// Fields cannot be computed.
    #[error("error: fields: {0}")]
    Fields(String),
    /// The model cannot be solved.
    #[error("{}: error: {reason}", path.display())]
    Problem {
        /// Block file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Δt above the stable increment.
    #[error(
        "{}: error: increment {increment:e} s is above the stable increment {stable:e} s of {owner}: the run may diverge. \
         Use --increment auto or at most {stable:.4e}{remedy}, or give --allow-unstable",
        path.display()
    )]
    Unstable {
        /// Block file.
        path: PathBuf,
        /// Δt, s.
        increment: f64,
        /// Limit, s.
        stable: f64,
        /// What limits it: an element by the user's label, or the springs.
        owner: String,
        /// What else helps, after a comma; may be empty.
        remedy: &'static str,
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
    /// A finished run that has kept no checkpoint.
    #[error(
        "{}: error: there is no checkpoint here, as the run is finished and was not asked to keep one; to go on to a longer time \
         later, run it with --keep-checkpoint, and then with --restart and a longer --time", path.display()
    )]
    NothingKept {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A checkpoint behind the end of the run.
    #[error("{}: error: the checkpoint is of t = {time:e} s, which is beyond the end of this run; give a longer --time", path.display())]
    BeyondTime {
        /// Checkpoint.
        path: PathBuf,
        /// Its time, s.
        time: f64,
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
    #[error("error: {source}; {kept}")]
    DeviceLost {
        /// What the driver says.
        source: DeviceError,
        /// What this run may go on from.
        kept: Kept,
    },
    /// Another rank cannot go on.
    #[error("rank {rank}: {message}")]
    Rank {
        /// Its number.
        rank: usize,
        /// What it says.
        message: String,
    },
    /// Several ranks of which only some have a CUDA device.
    #[error(
        "error: only some of the ranks have a CUDA device: give all of them one (--device cuda:all), or --device cpu to all"
    )]
    MixedDevices,
    /// Another number of cases at a time than of devices.
    #[error(
        "error: --jobs asks for {jobs} cases at a time, but --device names {n_devices} devices, each of which computes one \
         case at a time: leave --jobs out, or name one device"
    )]
    JobsOfDevices {
        /// Cases at a time.
        jobs: usize,
        /// Devices named.
        n_devices: usize,
    },
    /// Several cases at a time for several processes.
    #[error(
        "error: --jobs is for one process, but mpirun or srun has started {n_processes}, which compute each case as one \
         team: leave --jobs out, or start one process"
    )]
    JobsOfProcesses {
        /// Processes that were started.
        n_processes: usize,
    },
    /// A model that several ranks cannot share.
    #[error("error: {physics} cannot be cut for {n_ranks} ranks: start one process, and name one device")]
    NotShared {
        /// What cannot be cut.
        physics: String,
        /// Ranks.
        n_ranks: usize,
    },
    /// Threads cannot be started.
    #[error("error: {0}")]
    Threads(#[from] ThreadError),
    /// Another run writes into the same folder.
    #[error(
        "{}: error: {owner} is writing its results into this folder: wait until it is done, end it, or give another folder \
         with -o", path.display()
    )]
    FolderInUse {
        /// The folder.
        path: PathBuf,
        /// The process, with its number.
        owner: String,
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

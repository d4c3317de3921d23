//! What making a block file is for every physics: progress, errors, checks of the output's place, sources, costs.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pogo_formats::block::BlockError;
use pogo_formats::job::JobError;
use pogo_formats::read::deck::DeckError;
use pogo_formats::read::image::ImageError;
use pogo_formats::read::mesh::MeshFileError;
use pogo_formats::spring::build::BuildError;

use crate::eikonal::EikonalError;
use crate::explicit::arrange::ArrangeError;
use crate::partition::PartitionError;
use crate::voxel::VoxelError;

/// Somebody who wants to know how far the work is.
pub trait Progress: Sync {
    /// A stage begins.
    fn stage(&self, name: &'static str);
    /// This much of the stage is done, in [0, 1].
    fn fraction(&self, done: f64);
}

/// Nobody does.
impl Progress for () {
    fn stage(&self, _: &'static str) {}
    fn fraction(&self, _: f64) {}
}

/// Why there is no block file. Prints as `file:line: error: …`, one problem a line.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The deck.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// A job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The mesh cannot be cut.
    #[error("{}: error: {error}", deck.display())]
    Partition {
        /// Deck.
        deck: PathBuf,
        /// Reason.
        error: PartitionError,
    },
    /// The blocks cannot be arranged.
    #[error("{}: error: {error}", deck.display())]
    Arrange {
        /// Deck.
        deck: PathBuf,
        /// Reason.
        error: ArrangeError,
    },
    /// The stack.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A mesh of another format than Abaqus's.
    #[error(transparent)]
    Mesh(#[from] MeshFileError),
    /// An Eikonal model cannot be arranged.
    #[error(transparent)]
    Eikonal(#[from] EikonalError),
    /// The voxels cannot be tabulated.
    #[error("{}: error: {error}", stack.display())]
    Voxel {
        /// Stack.
        stack: PathBuf,
        /// Reason.
        error: VoxelError,
    },
    /// There are no springs to make of it.
    #[error("{}: error: {error}", input.display())]
    Spring {
        /// Stack or deck.
        input: PathBuf,
        /// Reason.
        error: BuildError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A source has gone since it was read.
    #[error("{}: error: cannot read: {error}", path.display())]
    Source {
        /// Deck, included file or job.
        path: PathBuf,
        /// Reason.
        error: std::io::Error,
    },
    /// The file cannot be put there.
    #[error("{}: error: cannot write a block file here: {reason}", path.display())]
    Output {
        /// Block file.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// The output is one of the inputs.
    #[error("{}: error: the block file would replace its own input; give another name with -o", .0.display())]
    OutputIsInput(PathBuf),
}

/// Whether an input is a deck; anything else is a stack. Decks are named `.inp`, or are text that begins with a star, as
/// keywords and comments do.
pub fn is_deck(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("inp")) {
        return true;
    }
    let mut start = Vec::new();
    // A pipe would be empty afterwards.
    if !path.is_file() || std::fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut start)).is_err() {
        return false;
    }
    let begins = start.trim_ascii_start();
    begins.first() == Some(&b'*')
        && begins.get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'*')
        && !start.contains(&0)
}

/// Of a model that asks for no output.
pub(crate) fn nothing_recorded(input: &Path) -> String {
    let text =
        "nothing but energies is recorded: ask for *NODE OUTPUT in a deck, for a [[monitor]] or a [[field]] in a job";
    format!("{}: note: {text}", input.display())
}

pub(crate) struct Clock {
    pub(crate) start: Instant,
    last: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self { start: now, last: now }
    }

    /// Seconds since the lap before.
    pub(crate) fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64();
        self.last = now;
        seconds
    }
}

/// An output must be a file that can be there, and none of the inputs.
pub(crate) fn check_place<'a>(output: &Path, inputs: impl Iterator<Item = &'a PathBuf>) -> Result<(), PipelineError> {
    let refuse = |reason| Err(PipelineError::Output { path: output.to_owned(), reason });
    if output.is_dir() {
        return refuse("it is a folder");
    }
    match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => return refuse("there is no such folder"),
        _ => {}
    }
    let Ok(canonical) = output.canonicalize() else { return Ok(()) };
    for input in inputs {
        if input.canonicalize().is_ok_and(|input| input == canonical) {
            return Err(PipelineError::OutputIsInput(output.to_owned()));
        }
    }
    Ok(())
}

/// The file, or all files of a folder in the order of their names.
pub(crate) fn files_of(input: &Path) -> Result<Vec<PathBuf>, PipelineError> {
    if !input.is_dir() {
        return Ok(vec![input.to_owned()]);
    }
    let entries = std::fs::read_dir(input)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>());
    let mut files = entries.map_err(|error| PipelineError::Source { path: input.to_owned(), error })?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Length of the file, seconds of all and of each stage, peak memory, without the end of the line.
pub(crate) fn write_cost(
    f: &mut fmt::Formatter<'_>,
    bytes: u64,
    total: f64,
    stages: &[(&str, f64)],
    peak: Option<u64>,
) -> fmt::Result {
    let stages: Vec<String> = stages.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
    write!(f, "  {:.1} MB in {total:.2} s ({})", bytes as f64 / 1e6, stages.join(", "))?;
    match peak {
        Some(peak) => write!(f, "; peak memory {:.0} MB", peak as f64 / 1e6),
        None => Ok(()),
    }
}

/// A line about sub-domains, where there are several.
pub(crate) fn write_domains(f: &mut fmt::Formatter<'_>, n: u64, method: &str, interface_fraction: f64) -> fmt::Result {
    if n < 2 {
        return Ok(());
    }
    writeln!(f, "  {n} sub-domains ({method}), interfaces {:.2} % of the nodes", 100.0 * interface_fraction)
}

/// Largest resident memory of this process so far, bytes; `None` where there is no `/proc`.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_plausible() {
        if cfg!(target_os = "linux") {
            let peak = peak_memory().unwrap();
            assert!(peak > 1 << 20 && peak < 1 << 40, "{peak}");
        }
    }
}

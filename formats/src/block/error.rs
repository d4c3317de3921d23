//! What can be wrong with a block file.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::Recipe;
use crate::write::OutputError;

/// Why a block file cannot be written or used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum BlockError {
    /// The system refused to open, read or map a file.
    #[error("{}: error: cannot {action}: {source}", path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused to write.
    #[error(transparent)]
    Write(Box<OutputError>),
    /// A directory, a pipe or a device.
    #[error("{}: error: not a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// Not a block file at all.
    #[error("{}: error: not a Pogo block file ({found}); make one with pogo-block", path.display())]
    Foreign {
        path: PathBuf,
        /// What the first bytes look like.
        found: String,
    },
    /// A block file of another format version.
    #[error("{}: error: {} Pogo wrote this block file (format version {found}, this program reads {expected}); {}`{}`{}", path.display(),
        if found < expected { "an older" } else { "a newer" },
        if found < expected { "make it new with " } else { "use that Pogo, or make it anew with " },
        command.as_ref().map_or_else(|| format!("pogo-block INPUT --job JOB.toml -o {}", path.display()), |recipe| recipe.to_string()),
        if command.is_some() { "" } else { ", with the deck, stack or mesh and the jobs that it was made from" })]
    Version {
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Version of this program.
        expected: u32,
        /// The command that made the file, where the file says it.
        command: Option<Box<Recipe>>,
    },
    /// Shorter than its header says.
    #[error("{}: error: the file was cut: {found} bytes of {expected}; block the model again", path.display())]
    Cut {
        path: PathBuf,
        /// Bytes the header asks for.
        expected: u64,
        /// Bytes on disk.
        found: u64,
    },
    /// Longer than its header says.
    #[error("{}: error: {found} bytes where {expected} were written: something was appended; block the model again",
        path.display())]
    Appended {
        path: PathBuf,
        /// Bytes the header asks for.
        expected: u64,
        /// Bytes on disk.
        found: u64,
    },
    /// The header does not agree with its own checksum, or makes no sense.
    #[error("{}: error: damaged header: {reason}; block the model again", path.display())]
    Header { path: PathBuf, reason: String },
    /// A section whose bytes do not agree with their checksum.
    #[error("{}: error: section `{section}` is damaged: its checksum is {found:016x}, not {expected:016x}; \
        block the model again", path.display())]
    Checksum {
        path: PathBuf,
        section: String,
        /// That in the header.
        expected: u64,
        /// That of the bytes.
        found: u64,
    },
    /// A section whose bytes are not what its type allows.
    #[error("{}: error: section `{section}` is damaged: {reason}; block the model again", path.display())]
    Section {
        path: PathBuf,
        section: &'static str,
        /// The validator's words.
        reason: String,
    },
    /// Tables that do not fit together: an index out of range, lengths that differ, NaN positions.
    #[error("{}: error: {reason}", path.display())]
    Inconsistent {
        path: PathBuf,
        /// Which table, which entry.
        reason: String,
    },
    /// A block file for another kind of physics.
    #[error("{}: error: the file holds a `{found}` problem, not a problem of kind `{expected}`", path.display())]
    Physics { path: PathBuf, found: String, expected: &'static str },
    /// A block file for a kind of physics that this program does not know.
    #[error("{}: error: the file holds a `{found}` problem; this program knows {}", path.display(), known.join(", "))]
    UnknownPhysics {
        path: PathBuf,
        found: String,
        /// Kinds that the program knows.
        known: Vec<&'static str>,
    },
}

impl BlockError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}

//! TOML jobs: what a deck, a stack or a mesh cannot say.
//!
//! Each physics has its own job ([`JobFile`]), made of tables such as `[solver]` and `[[material]]`. The tables that all
//! runs over time share ([`Dynamics`]) are here; the others are in the room of their physics. Every table is a public
//! struct and every key a field of it; `examples/job-reference.toml` and its neighbours show all of them. A key that does
//! not exist is an error.
//!
//! Several files make one job, in which later files win. A table of a later file replaces the earlier table of the same
//! name (a material, an amplitude) or of the same heading (`[load]`); only `[solver]` and `[output]` are overridden key by
//! key. Repeated tables without a name are appended.

mod amplitude;
pub(crate) mod check;
mod dynamics;
mod image;
mod physics;
mod region;
mod text;
mod values;

use std::path::Path;
use std::sync::Arc;

pub use amplitude::{Amplitude, AmplitudeKind, AmplitudeReference};
pub(crate) use dynamics::load;
pub use dynamics::{Action, Boundary, Dynamics, InitialVelocity, Monitor, Source};
pub use image::{Image, Keep};
pub use physics::{physics, table_names};
pub use region::{Region, point};
pub(crate) use region::{interval, table};
pub(crate) use text::rows_of_numbers;
pub use text::{JobText, Tables};
pub use values::{Component, Components, IncrementValue, List, Sides, Variables};

/// A job that cannot be used: `job.toml:12: error: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: error: {message}", if *line > 0 { format!(":{line}") } else { String::new() })]
#[allow(missing_docs)]
pub struct JobError {
    /// The job file as the user named it.
    pub file: String,
    /// From 1; 0 for the file as a whole.
    pub line: usize,
    pub message: String,
}

/// Where in which job something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The job file as the user named it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: usize,
    /// Folder of the job, which files that it names are relative to.
    pub folder: Arc<Path>,
}

impl Place {
    /// An error that points here.
    pub fn error(&self, message: impl Into<String>) -> JobError {
        JobError { file: self.file.to_string(), line: self.line, message: message.into() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A table of a job and where it stands.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Located<T> {
    /// Where its heading stands.
    pub place: Place,
    pub value: T,
}

/// The job of one physics.
pub trait JobFile: Sized {
    /// Keys and headings of the top level.
    const KEYS: &'static [&'static str];

    /// Takes the tables of this physics.
    ///
    /// # Errors
    /// [`JobError`] for a key that does not exist, and for a table that is missing.
    fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError>;

    /// Checks what can be checked without the input that the job is for.
    ///
    /// # Errors
    /// [`JobError`] with the line of the table whose values make no sense.
    fn check(&self) -> Result<(), JobError>;

    /// Reads, merges and checks files; later ones win.
    ///
    /// # Errors
    /// [`JobError`] with the line, for a file that cannot be read, TOML that is malformed, a key that does not exist, and
    /// values that make no sense.
    fn read(paths: &[impl AsRef<Path>]) -> Result<Self, JobError> {
        Self::from_text(&JobText::read(paths)?)
    }

    /// Parses and checks a job; `name` is the file as errors show it, `folder` what its file names are relative to.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, JobError> {
        let mut all = JobText::default();
        all.add(text, name, folder);
        Self::from_text(&all)
    }

    /// Merges and checks files that have been read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn from_text(text: &JobText) -> Result<Self, JobError> {
        let mut tables = text.tables()?;
        tables.expect(Self::KEYS)?;
        let job = Self::from_tables(&mut tables)?;
        job.check()?;
        Ok(job)
    }
}

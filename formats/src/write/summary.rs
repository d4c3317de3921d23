//! `summary.json`: one run, for scripts.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::{OutputError, write_atomically};
use crate::timings::{self, Stage};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All of it was done.
    #[default]
    Completed,
    /// Stopped by a signal; what there is of it is written.
    Interrupted,
    /// Became NaN, or its energy grew without cause.
    Diverged,
    /// The residual did not fall to the tolerance; what there is of it is written.
    NotConverged,
}

impl Status {
    /// The word in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Diverged => "diverged",
            Self::NotConverged => "not-converged",
        }
    }

    /// The status that a word in `summary.json` means.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Completed, Self::Interrupted, Self::Diverged, Self::NotConverged]
            .into_iter()
            .find(|status| status.name() == word)
    }
}

/// The block file of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockFileSummary {
    /// As given on the command line.
    pub path: String,
    /// Its hash, hexadecimal.
    pub hash: String,
    /// Model it was made from.
    pub source: String,
}

/// How a run ended: the first keys of every summary, together with `physics`.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ending {
    /// How the run ended.
    pub status: Status,
    /// Why the run did not complete; `null` where it did.
    pub message: Option<String>,
}

impl Ending {
    /// The end of a run that did not complete.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: Some(message.into()) }
    }
}

/// What was solved, and by which Pogo: the next keys of every summary.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Origin {
    /// Version of Pogo.
    pub version: String,
    /// Title of the model; empty where it has none.
    pub title: String,
    /// Name of the case in a study; `null` outside studies.
    pub case: Option<String>,
    /// The block file that was run.
    pub block_file: BlockFileSummary,
    /// `--set NAME=VALUE` in force, in order.
    pub overrides: Vec<String>,
}

/// A summary with the table of stages behind it.
#[derive(Serialize)]
struct Timed<'a, S> {
    #[serde(flatten)]
    summary: &'a S,
    timings: Vec<Stage>,
}

/// A summary as JSON text, ending in a newline; numbers that are not finite become `null`. Where stages are recorded
/// ([`timings::record`]), `timings` has those so far.
///
/// # Errors
/// Never for the summaries of this library, in practice; serde_json's error otherwise.
pub fn to_json(summary: &impl Serialize) -> Result<String, serde_json::Error> {
    // serde_json writes NaN and infinities as null.
    let text = match timings::table() {
        none if none.is_empty() => serde_json::to_string_pretty(summary),
        timings => serde_json::to_string_pretty(&Timed { summary, timings }),
    };
    text.map(|text| text + "\n")
}

/// Writes `summary.json`.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write(summary: &impl Serialize, path: &Path) -> Result<(), OutputError> {
    let text = to_json(summary).map_err(|error| OutputError::Io { path: path.into(), source: error.into() })?;
    write_atomically(path, |out| out.write_all(text.as_bytes()))
}

//! What is known of a case: `case.json` in its folder. Several processes may compute the cases of one study, so all that its
//! table says of a case stands there.

use std::fs;
use std::io::Write;
use std::path::Path;

use pogo_formats::write::summary::Status;
use pogo_formats::write::{OutputError, write_atomically};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::Case;
use super::collect::{Collected, Results};
use crate::config::Settings;
use crate::folder::SUMMARY;
use crate::{RunSummary, folder};

/// Name of the file.
const FILE_NAME: &str = "case.json";

/// `status` of a case that a process computes, or that one computed when it was killed.
pub(super) const RUNNING: &str = "running";
/// `status` of a case that cannot be computed.
pub(super) const FAILED: &str = "failed";

/// What all cases of a study have in common, as far as their results depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Common {
    /// Version of Pogo.
    version: String,
    /// Hash of the block file.
    block_file: String,
    /// Hash of the model with what the command line sets.
    model: String,
    /// Options of the command line that results depend on.
    options: String,
}

impl Common {
    /// Of a model with what the command line sets.
    pub fn new(block_file: &str, model: u64, settings: &Settings, others: &str) -> Self {
        let unimportant = Settings::default();
        let options = Settings {
            device: unimportant.device,
            exchange: unimportant.exchange,
            threads: None,
            checkpoint: None,
            keep_checkpoint: false,
            ..settings.clone()
        };
        Self {
            version: pogo_formats::VERSION.into(),
            block_file: block_file.into(),
            model: format!("{model:016x}"),
            options: format!("{:016x}", xxh3_64(format!("{options:?} {others}").as_bytes())),
        }
    }

    /// In what a record differs.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.version != other.version, "version of Pogo"),
            (self.block_file != other.block_file, "block file"),
            (self.model != other.model, "model (--set, --time, --shots)"),
            (self.options != other.options, "option"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

/// What is known of a case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Name.
    pub case: String,
    /// `running`, `failed`, or the `status` of its summary.
    pub status: String,
    /// Wall-clock time, s.
    pub seconds: f64,
    /// Why it did not complete; empty where it did.
    pub message: String,
    /// `NAME=VALUE` of the study, in order.
    pub parameters: Vec<String>,
    common: Common,
    /// What a table usually shows, by its text.
    usual: Vec<(String, Value)>,
    /// What else was asked for.
    collected: Vec<(String, Value)>,
}

impl Record {
    /// Of a case that begins.
    pub fn new(case: &Case, common: &Common) -> Self {
        let parameters = case.assignments.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Self { case: case.name.clone(), status: RUNNING.into(), parameters, common: common.clone(), ..Self::default() }
    }

    /// That of a case, if there is one.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(folder.join(FILE_NAME)).ok()?).ok()
    }

    pub fn write(&self, folder: &Path) -> Result<(), OutputError> {
        let path = folder.join(FILE_NAME);
        let failed = |source| OutputError::Io { path: path.clone(), source };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))? + "\n";
        write_atomically(&path, |out| out.write_all(text.as_bytes()))
    }

    /// The case has come to an end.
    pub fn end(&mut self, result: Result<&RunSummary, String>) {
        match result {
            Ok(summary) => {
                self.status = summary.ending.status.name().into();
                self.seconds = summary.seconds;
                self.message = summary.ending.message.clone().unwrap_or_default();
            }
            Err(message) => {
                self.status = FAILED.into();
                self.message = message;
            }
        }
    }

    /// Reads what tables show from the results. Returns what cannot be read, and why.
    pub fn collect(&mut self, folder: &Path, collect: &[Collected]) -> Vec<String> {
        let is_new = |item: &&Collected| !self.collected.iter().any(|(text, _)| *text == item.text);
        let new: Vec<&Collected> = collect.iter().filter(is_new).collect();
        if new.is_empty() && !self.usual.is_empty() {
            return Vec::new();
        }
        let Some(summary) = folder::read_summary(folder) else { return Vec::new() };
        let mut results = Results::of(summary, folder);
        if self.usual.is_empty() {
            let usual = results.usual();
            let known = usual.iter().filter_map(|item| Some((item.text.clone(), item.value(&mut results).ok()?)));
            self.usual = known.collect();
        }
        let mut problems = Vec::new();
        for item in new {
            match item.value(&mut results) {
                Ok(value) => self.collected.push((item.text.clone(), value)),
                Err(reason) => problems.push(format!("--collect {}: {reason}", item.text)),
            }
        }
        problems
    }

    /// Texts of what a table usually shows.
    pub fn usual(&self) -> impl Iterator<Item = &str> {
        self.usual.iter().map(|(text, _)| text.as_str())
    }

    /// The value of a column.
    pub fn value(&self, text: &str) -> Option<&Value> {
        let of = |values: &'_ [(String, Value)]| values.iter().position(|(known, _)| known == text);
        of(&self.collected).map(|at| &self.collected[at].1).or_else(|| of(&self.usual).map(|at| &self.usual[at].1))
    }

    /// Whether it is of this case with the same parameters, model and options.
    pub fn is_of(&self, case: &Case, common: &Common) -> bool {
        let now = Self::new(case, common);
        self.parameters == now.parameters && self.common == now.common
    }

    /// The run has come to its end by itself.
    pub fn is_finished(&self) -> bool {
        [Status::Completed, Status::Diverged, Status::NotConverged].iter().any(|status| status.name() == self.status)
    }

    /// Why finished results are not those of this case as it is now; none where they are.
    pub fn outdated(&self, case: &Case, common: &Common, folder: &Path) -> Option<&'static str> {
        let now = Self::new(case, common);
        if let Some(what) = self.common.difference(&now.common) {
            return Some(what);
        }
        if self.parameters != now.parameters {
            return Some("value of a parameter");
        }
        let Some(summary) = folder::read_summary(folder) else { return Some(SUMMARY) };
        let mut files = summary["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        (!files.all(|file| folder.join(file).exists())).then_some("set of files: some are gone")
    }
}

//! What a run of any physics gets beside its model.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pogo_formats::system::memory::{Limit, Need};
use pogo_formats::write::report::Report;
use pogo_formats::write::summary::{BlockFileSummary, Origin};

use crate::config::{Config, DeviceChoice, Settings};
use crate::device::Device;
use crate::error::SolveError;
use crate::folder::RunFolder;
use crate::interrupt::Interrupts;
use crate::run::checkpoint;
use crate::team::Team;

/// What a run of any physics gets beside its model.
pub(crate) struct Call<'a> {
    /// The command line; `settings` and `overrides` go before its own.
    pub config: &'a Config,
    /// Name of the case in a study.
    pub case: Option<String>,
    /// Number of its shot, from 0, where the model has shots.
    pub shot: Option<usize>,
    /// `NAME=VALUE` in force, in order.
    pub overrides: Vec<String>,
    pub settings: &'a Settings,
    /// Folder of the results, which exists.
    pub folder: &'a RunFolder,
    /// The checkpoint that it goes on from.
    pub resume: Option<PathBuf>,
    pub block_file: BlockFileSummary,
    pub interrupts: &'a Interrupts,
    pub device: Device,
    pub team: Team,
    /// Estimate of the memory that the model itself needs.
    pub need: Need,
    /// With `--report`, what it holds so far.
    pub report: Option<Mutex<Report>>,
}

impl Call<'_> {
    /// The run starts from a checkpoint.
    pub fn is_resumed(&self) -> bool {
        self.resume.is_some()
    }

    /// Increment of the checkpoint that the run starts from, s.
    pub fn resumed_increment(&self) -> Option<f64> {
        checkpoint::time_increment(self.resume.as_deref()?)
    }

    /// The report, where one is asked for.
    pub fn report(&self) -> Option<MutexGuard<'_, Report>> {
        self.report.as_ref().map(|report| report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The error of a model that cannot be solved.
    pub fn refuse(&self, reason: impl Display) -> SolveError {
        SolveError::Problem { path: PathBuf::from(&self.block_file.path), reason: reason.to_string() }
    }

    /// Refuses a run that needs more memory than there is: the model's own, and that for what is recorded and written.
    pub fn check_memory(&self, more: Need) -> Result<(), SolveError> {
        let mut need = self.need.clone();
        need.extend(more);
        Limit::new(self.config.memory).check(&need).map_err(|error| self.refuse(error))
    }

    /// Memory that is left beside the model's own need, bytes; 0 where there is none.
    pub fn memory_left(&self) -> f64 {
        (Limit::new(self.config.memory).bytes as f64 - self.need.bytes()).max(0.0)
    }

    /// CUDA devices of all processes.
    pub fn n_cuda_devices(&self) -> usize {
        let is_cuda = |choice: &&DeviceChoice| matches!(choice, DeviceChoice::Cuda(_));
        let own = self.device.choices().iter().filter(is_cuda).count();
        self.team.sum(std::iter::once([own as f64, 0.0]))[0] as usize
    }

    /// Threads of all ranks.
    pub fn n_threads(&self) -> usize {
        match self.team.is_several() {
            true => self.team.threads_of_rank(self.settings.threads) * self.team.n_ranks(),
            false => rayon::current_num_threads(),
        }
    }

    /// What a summary says of what was solved.
    pub fn origin(&self, title: &str) -> Origin {
        Origin {
            version: pogo_formats::VERSION.into(),
            title: title.into(),
            case: self.case.clone(),
            block_file: self.block_file.clone(),
            overrides: self.overrides.clone(),
        }
    }

    /// `#` lines of the text files: what was solved, by what, with which changes.
    pub fn provenance(&self, title: &str) -> Vec<String> {
        let mut lines = vec![format!("Pogo {}", pogo_formats::VERSION)];
        if !title.is_empty() {
            lines.push(format!("title: {title}"));
        }
        let BlockFileSummary { path, hash, source } = &self.block_file;
        lines.push(format!("block file: {path} ({hash}), from {source}"));
        lines.extend(self.case.iter().map(|case| format!("case: {case}")));
        lines.extend(self.overrides.iter().map(|assignment| format!("set: {assignment}")));
        lines
    }
}

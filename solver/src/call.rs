//! What a run of any physics gets beside its model.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pogo_formats::system::memory::{Limit, Need};
use pogo_formats::system::threads;
use pogo_formats::write::report::Report;
use pogo_formats::write::summary::{BlockFileSummary, Origin};
use pogo_kernels::dynamics::{Exchange, MOST_DEVICES_BY_MESSAGES};
use pogo_kernels::explicit::Seat;
use pogo_kernels::ranks::Ranks;

use crate::config::{Config, DeviceChoice, Settings};
use crate::device::{Device, all_or_the_cause};
use crate::error::SolveError;
use crate::folder::RunFolder;
use crate::interrupt::Interrupts;
use crate::kept::Kept;
use crate::observe::Observer;
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
    /// What other cases of a study or other shots have worked out; none where there are no others.
    pub kept: Option<&'a Kept>,
    /// The place among the shots that are stepped at once with this one, until it is taken.
    pub seat: Mutex<Option<Seat>>,
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

    /// The place among the shots that are stepped at once; none for a run alone.
    pub fn take_seat(&self) -> Option<Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).take()
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

    /// CUDA devices that compute a model together: none, or one for each rank.
    ///
    /// # Errors
    /// Only some ranks have one, or more than can compute a model together.
    pub fn n_devices_of_team(&self) -> Result<usize, SolveError> {
        match self.n_cuda_devices() {
            n if n > MOST_DEVICES_BY_MESSAGES => Err(self.refuse(format!(
                "at most {MOST_DEVICES_BY_MESSAGES} CUDA devices compute a model together: name fewer"
            ))),
            n if n == 0 || n == self.team.n_ranks() => Ok(n),
            _ => Err(SolveError::MixedDevices),
        }
    }

    /// What `set_up` makes for the ranks of this process, each with a CUDA device of this number. A device is set up by a thread
    /// of its own: each has to hear of the memory of all others. Every process calls it.
    pub fn members_on_devices<M: Send>(
        &self,
        set_up: impl Fn(&Arc<dyn Ranks>, u32) -> Result<M, SolveError> + Sync,
    ) -> Result<Vec<M>, SolveError> {
        self.team.agree_so_far(self.device.wait().map_err(SolveError::from))?;
        let pairs = self.team.local.iter().zip(self.device.choices());
        let made = threads::at_the_same_time(pairs, |(ranks, choice)| match *choice {
            DeviceChoice::Cuda(ordinal) => set_up(ranks, ordinal),
            _ => Err(SolveError::MixedDevices),
        });
        self.team.agree(made.map_err(SolveError::from).and_then(all_or_the_cause))
    }

    /// As [`members_on_devices`](Self::members_on_devices), for members that exchange halos after each step or sweep, in the way
    /// that `set_up` is told.
    pub fn members_with_exchange<M: Send>(
        &self,
        set_up: impl Fn(&Arc<dyn Ranks>, u32, Exchange) -> Result<M, SolveError> + Sync,
        observer: &mut dyn Observer,
    ) -> Result<Vec<M>, SolveError> {
        let asked = Exchange::from(self.settings.exchange);
        let made = self.members_on_devices(|ranks, ordinal| {
            let exchange = asked.settled(ranks, ordinal);
            Ok((set_up(ranks, ordinal, exchange)?, exchange))
        })?;
        if made.iter().any(|(_, exchange)| *exchange == Exchange::Messages) && asked != Exchange::Messages {
            observer.note(
                "the devices exchange messages through the memory of the hosts: they are more than 8, or some do not reach \
                 the memory of others",
            );
        }
        Ok(made.into_iter().map(|(member, _)| member).collect())
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

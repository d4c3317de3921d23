//! Runs the cases of a study, on one lane or several.
//!
//! A lane is a device, or a share of the processor's threads. It computes one case at a time and takes the next one when
//! it is free. Cases do not depend on each other, so their results do not depend on the number of lanes.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pogo_formats::system::threads;
use pogo_kernels::ranks::Ranks;

use super::Case;
use super::index::write;
use crate::config::{Config, Devices, Settings};
use crate::error::SolveError;
use crate::interrupt::Interrupts;
use crate::observe::{Observer, Outlook};
use crate::team::Team;
use crate::{CaseOutcome, RunSummary};

/// Computes one case of a study at a time.
pub(crate) struct Lane {
    /// Those of the command line, with the device and the threads of this lane.
    pub settings: Settings,
    pub interrupts: Interrupts,
}

/// The lanes of a study: one for each device, or as many as `--jobs` says. Several processes compute each case together
/// and have one lane.
///
/// # Errors
/// A number of jobs that does not fit the devices or the processes; no CUDA device, where all are to be used.
pub(crate) fn lanes(
    config: &Config,
    settings: &Settings,
    interrupts: &Interrupts,
    processes: Option<&Arc<dyn Ranks>>,
) -> Result<Vec<Lane>, SolveError> {
    let one = |settings: Settings| vec![Lane { settings, interrupts: interrupts.clone() }];
    if let Some(processes) = processes {
        return match config.jobs {
            Some(_) => Err(SolveError::JobsOfProcesses { n_processes: processes.n_ranks() }),
            None => Ok(one(settings.clone())),
        };
    }
    let mut devices = settings.device.list(None)?;
    match (config.jobs, devices.len()) {
        (Some(jobs), 1) => devices = vec![devices[0]; jobs],
        (Some(jobs), n_devices) if jobs != n_devices => return Err(SolveError::JobsOfDevices { jobs, n_devices }),
        _ => {}
    }
    let n = devices.len();
    if n == 1 {
        return Ok(one(settings.clone()));
    }
    let threads = Some((settings.n_threads() / n).max(1));
    let of = |(device, interrupts)| Lane {
        settings: Settings { device: Devices::One(device), threads, ..settings.clone() },
        interrupts,
    };
    Ok(devices.into_iter().zip(interrupts.for_lanes(n)).map(of).collect())
}

/// Runs the cases of a study, whose results go into `folder`.
///
/// # Errors
/// The table cannot be written. What is wrong with one case is in its outcome.
pub(crate) fn run(
    cases: Vec<Case>,
    folder: &Path,
    lanes: &[Lane],
    observer: &mut dyn Observer,
    team: &Team,
    run: impl Fn(&Case, &Lane, &mut dyn Observer) -> Result<RunSummary, SolveError> + Sync,
) -> Result<Vec<CaseOutcome>, SolveError> {
    let outcomes = cases.into_iter().map(|case| CaseOutcome { case, result: None }).collect();
    let study = Study {
        progress: Mutex::new(Progress { outcomes, next: 0 }),
        observer: Mutex::new(observer),
        folder,
        team,
        is_several: lanes.len() > 1,
    };
    let work = |lane| study.work(lane, &run);
    match lanes {
        [lane] => work(lane)?,
        _ => threads::at_the_same_time(lanes.iter(), work)?.into_iter().collect::<Result<(), _>>()?,
    }
    Ok(study.progress.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes)
}

/// What the lanes of a study share.
struct Study<'a> {
    progress: Mutex<Progress>,
    observer: Mutex<&'a mut dyn Observer>,
    folder: &'a Path,
    team: &'a Team,
    /// There are several lanes.
    is_several: bool,
}

struct Progress {
    outcomes: Vec<CaseOutcome>,
    /// The first case that no lane has taken.
    next: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Study<'_> {
    /// Runs cases on one lane until there are none, or the study is to stop.
    fn work(
        &self,
        lane: &Lane,
        run: &impl Fn(&Case, &Lane, &mut dyn Observer) -> Result<RunSummary, SolveError>,
    ) -> Result<(), SolveError> {
        while let Some((index, case)) = self.take() {
            let name = self.is_several.then_some(case.name.as_str());
            let result = run(&case, lane, &mut Voice { observer: &self.observer, name });
            if let Err(error) = &result {
                lock(&self.observer).note(&format!("case {}: {error}", case.name));
            }
            let written = self.put(index, result.map_err(|error| error.to_string()));
            if self.team.as_the_leader_says(lane.interrupts.stop_requested() || written.is_err()) {
                self.stop();
                return written;
            }
        }
        Ok(())
    }

    /// The next case, announced.
    fn take(&self) -> Option<(usize, Case)> {
        let mut progress = lock(&self.progress);
        let (index, n) = (progress.next, progress.outcomes.len());
        let case = progress.outcomes.get(index)?.case.clone();
        progress.next += 1;
        lock(&self.observer).note(&format!("case {} ({} of {n})", case.name, index + 1));
        Some((index, case))
    }

    /// Keeps what came of a case, and writes the table: a study that is killed has its table so far.
    fn put(&self, index: usize, result: Result<RunSummary, String>) -> Result<(), SolveError> {
        let mut progress = lock(&self.progress);
        progress.outcomes[index].result = Some(result);
        if self.team.leads() { write(&self.folder.join("study.csv"), &progress.outcomes) } else { Ok(()) }
    }

    /// Lets no lane take another case.
    fn stop(&self) {
        let mut progress = lock(&self.progress);
        progress.next = progress.outcomes.len();
    }
}

/// Tells the observer of a study what a case says, by the case's name if several run at a time. Then there is no news of
/// steps.
struct Voice<'a, 'b> {
    observer: &'a Mutex<&'b mut dyn Observer>,
    name: Option<&'a str>,
}

impl Voice<'_, '_> {
    /// Each line of a text, behind the name of its case.
    fn named(&self, text: &str) -> String {
        let Some(name) = self.name else { return text.into() };
        text.lines().map(|line| format!("case {name}: {line}")).collect::<Vec<_>>().join("\n")
    }
}

impl Observer for Voice<'_, '_> {
    fn started(&mut self, outlook: &Outlook) {
        if self.name.is_none() {
            lock(self.observer).started(outlook);
        }
    }

    fn advanced(&mut self, step: u64) {
        if self.name.is_none() {
            lock(self.observer).advanced(step);
        }
    }

    fn note(&mut self, text: &str) {
        let text = self.named(text);
        lock(self.observer).note(&text);
    }

    fn ended(&mut self, text: &str) {
        let text = self.named(text);
        lock(self.observer).ended(&text);
    }
}

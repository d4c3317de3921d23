//! Runs the cases of a study, on one lane or several.
//!
//! A lane is a device, or a share of the processor's threads. It computes one case at a time and takes the next one when
//! it is free. Cases do not depend on each other, so their results do not depend on the number of lanes.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pogo_formats::system::threads;
use pogo_formats::words::counted;
use pogo_kernels::ranks::Ranks;

use super::collect::Collected;
use super::record::{Common, Record};
use super::{Case, index};
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

/// The cases of a study and what is asked of them.
pub(crate) struct Cases<'a> {
    /// All, in the order of the table.
    pub cases: Vec<Case>,
    /// Numbers of those that are to be run, increasing.
    pub chosen: Vec<usize>,
    pub collect: Vec<Collected>,
    pub common: Common,
    /// The folder of the study.
    pub folder: &'a Path,
    /// Finished cases are not run again.
    pub skips: bool,
}

/// What came of a call for one case.
pub(crate) struct Ran {
    pub summary: RunSummary,
    /// It was not run again.
    pub was_finished: bool,
}

/// Runs the chosen cases of a study.
///
/// # Errors
/// The table cannot be written. What is wrong with one case is in its outcome.
pub(crate) fn run(
    cases: &Cases<'_>,
    lanes: &[Lane],
    observer: &mut dyn Observer,
    team: &Team,
    run: impl Fn(&Case, &Lane, &mut dyn Observer) -> Result<Ran, SolveError> + Sync,
) -> Result<Vec<CaseOutcome>, SolveError> {
    let outcomes = cases.chosen.iter().map(|&index| CaseOutcome::pending(cases.cases[index].clone())).collect();
    let table = Table { known: vec![None; cases.cases.len()], written: Instant::now(), seconds: Duration::ZERO };
    let study = Study {
        progress: Mutex::new(Progress { outcomes, next: 0 }),
        observer: Mutex::new(observer),
        table: Mutex::new(table),
        cases,
        team,
        is_several: lanes.len() > 1,
    };
    let work = |lane| study.work(lane, &run);
    match lanes {
        [lane] => work(lane)?,
        _ => threads::at_the_same_time(lanes.iter(), work)?.into_iter().collect::<Result<(), _>>()?,
    }
    study.write_table(true)?;
    let Study { progress, observer, .. } = study;
    let mut outcomes = progress.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes;
    if team.leads() {
        outcomes.iter_mut().for_each(|outcome| look_again(cases, outcome));
    }
    tell_of_finished(&outcomes, &mut **lock(&observer));
    Ok(outcomes)
}

/// A case that another process has computed may be finished by now.
fn look_again(cases: &Cases<'_>, outcome: &mut CaseOutcome) {
    if outcome.elsewhere.is_none() {
        return;
    }
    let folder = cases.folder.join(&outcome.case.name);
    if Record::read(&folder).is_some_and(|record| record.is_finished() && record.is_of(&outcome.case, &cases.common)) {
        outcome.result = RunSummary::read(&folder).map(Ok);
        outcome.was_finished = outcome.result.is_some();
    }
}

fn tell_of_finished(outcomes: &[CaseOutcome], observer: &mut dyn Observer) {
    let n = outcomes.iter().filter(|outcome| outcome.was_finished).count();
    if n > 0 {
        let (cases, are) = (counted(n, "case"), if n == 1 { "is" } else { "are" });
        observer
            .note(&format!("{cases} {are} finished already, with these parameters; --again runs finished cases again"));
    }
}

/// What the lanes of a study share.
struct Study<'a, 'b> {
    progress: Mutex<Progress>,
    observer: Mutex<&'a mut dyn Observer>,
    table: Mutex<Table>,
    cases: &'a Cases<'b>,
    team: &'a Team,
    /// There are several lanes.
    is_several: bool,
}

struct Progress {
    /// Of the chosen cases.
    outcomes: Vec<CaseOutcome>,
    /// The first of them that no lane has taken.
    next: usize,
}

/// What was known when the table was written.
struct Table {
    /// Of each case.
    known: Vec<Option<Record>>,
    written: Instant,
    /// How long that took.
    seconds: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Study<'_, '_> {
    /// Runs cases on one lane until there are none, or the study is to stop.
    fn work(
        &self,
        lane: &Lane,
        run: &impl Fn(&Case, &Lane, &mut dyn Observer) -> Result<Ran, SolveError>,
    ) -> Result<(), SolveError> {
        while let Some((place, case)) = self.take() {
            let name = self.is_several.then_some(case.name.as_str());
            let result = run(&case, lane, &mut Voice { observer: &self.observer, name });
            match &result {
                Err(SolveError::FolderInUse { owner, .. }) => {
                    self.note(&format!("case {}: {owner} computes it", case.name))
                }
                Err(error) => self.note(&format!("case {}: {error}", case.name)),
                Ok(_) => {}
            }
            self.put(place, result);
            let written = self.write_table(false);
            if self.team.as_the_leader_says(lane.interrupts.stop_requested() || written.is_err()) {
                self.stop();
                return written;
            }
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        lock(&self.observer).note(text);
    }

    /// The next case.
    fn take(&self) -> Option<(usize, Case)> {
        let mut progress = lock(&self.progress);
        let place = progress.next;
        let case = progress.outcomes.get(place)?.case.clone();
        progress.next += 1;
        Some((place, case))
    }

    /// Keeps what came of a case.
    fn put(&self, place: usize, result: Result<Ran, SolveError>) {
        lock(&self.table).known[self.cases.chosen[place]] = None;
        let outcome = &mut lock(&self.progress).outcomes[place];
        match result {
            Ok(ran) => (outcome.result, outcome.was_finished) = (Some(Ok(ran.summary)), ran.was_finished),
            Err(SolveError::FolderInUse { owner, .. }) => outcome.elsewhere = Some(owner),
            Err(error) => outcome.result = Some(Err(error.to_string())),
        }
    }

    /// Writes the table, so that a study that is killed has one: not before the `last` time if that would take more than some
    /// percent of all time.
    fn write_table(&self, last: bool) -> Result<(), SolveError> {
        const SHARE: u32 = 20;
        if !self.team.leads() {
            return Ok(());
        }
        let Cases { cases, collect, common, folder, .. } = self.cases;
        let mut table = lock(&self.table);
        if !last && table.written.elapsed() < SHARE * table.seconds {
            return Ok(());
        }
        let began = Instant::now();
        index::update(folder, cases, collect, &mut table.known, |index, record| record.is_of(&cases[index], common))?;
        (table.seconds, table.written) = (began.elapsed(), Instant::now());
        Ok(())
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

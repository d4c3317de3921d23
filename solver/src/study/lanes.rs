//! Runs the cases of a study, on one lane or several.
//!
//! A lane is a device, or a share of the processor's threads. It computes one case at a time, or some shots at once, and takes
//! the next when it is free. Cases do not depend on each other, so their results do not depend on the number of lanes.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pogo_formats::system::threads;
use pogo_formats::words::counted;
use pogo_kernels::explicit::{Seat, seats};
use pogo_kernels::ranks::Ranks;

use super::collect::Collected;
use super::record::{Common, Record};
use super::{Case, index};
use crate::config::{Config, DeviceChoice, Devices, Settings};
use crate::error::SolveError;
use crate::interrupt::Interrupts;
use crate::observe::{Observer, Outlook};
use crate::team::Team;
use crate::{CaseOutcome, RunSummary};

/// Computes one case of a study at a time, or some shots at once.
pub(crate) struct Lane {
    /// Those of the command line, with the device and the threads of a case.
    settings: Settings,
    /// One for each shot that it may compute at once.
    interrupts: Vec<Interrupts>,
}

/// What a case of a study is computed with.
pub(crate) struct Place<'a> {
    pub settings: &'a Settings,
    pub interrupts: &'a Interrupts,
    /// Among the shots that are computed at once; none for a case alone.
    pub seat: Option<Seat>,
    /// It is the first of them, or alone.
    pub is_first: bool,
}

/// The lanes of a study: one for each device, or as many as `--jobs` says. Several processes compute each case together
/// and have one lane. `at_once` gives how many shots one of so many lanes computes at once.
///
/// # Errors
/// A number of jobs that does not fit the devices or the processes; no CUDA device, where all are to be used.
pub(crate) fn lanes(
    config: &Config,
    settings: &Settings,
    interrupts: &Interrupts,
    processes: Option<&Arc<dyn Ranks>>,
    at_once: &dyn Fn(&[DeviceChoice]) -> usize,
) -> Result<Vec<Lane>, SolveError> {
    if let Some(processes) = processes {
        return match config.jobs {
            Some(_) => Err(SolveError::JobsOfProcesses { n_processes: processes.n_ranks() }),
            None => Ok(vec![Lane { settings: settings.clone(), interrupts: vec![interrupts.clone()] }]),
        };
    }
    let mut devices = settings.device.list(None)?;
    match (config.jobs, devices.len()) {
        (Some(jobs), 1) => devices = vec![devices[0]; jobs],
        (Some(jobs), n_devices) if jobs != n_devices => return Err(SolveError::JobsOfDevices { jobs, n_devices }),
        _ => {}
    }
    let at_once = if config.jobs.is_some() { 1 } else { at_once(&devices) };
    let n = devices.len() * at_once;
    let (threads, interrupts) = match n {
        1 => (settings.threads, vec![interrupts.clone()]),
        _ => (Some((settings.n_threads() / n).max(1)), interrupts.for_lanes(n)),
    };
    let of = |(device, interrupts): (&DeviceChoice, &[Interrupts])| Lane {
        settings: Settings { device: Devices::One(*device), threads, ..settings.clone() },
        interrupts: interrupts.to_vec(),
    };
    Ok(devices.iter().zip(interrupts.chunks(at_once)).map(of).collect())
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
    run: impl Fn(&Case, Place<'_>, &mut dyn Observer) -> Result<Ran, SolveError> + Sync,
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

/// How many of these cases are computed at once, from the first on: up to `most` shots of one model, or one other case.
fn n_at_once<'a>(mut cases: impl Iterator<Item = &'a Case>, most: usize) -> usize {
    let Some(first) = cases.next() else { return 0 };
    let is_like =
        |other: &&Case| first.shot.is_some() && other.shot.is_some() && other.assignments == first.assignments;
    1 + cases.take(most - 1).take_while(is_like).count()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Study<'_, '_> {
    /// Runs cases on one lane until there are none, or the study is to stop.
    fn work(
        &self,
        lane: &Lane,
        run: &(impl Fn(&Case, Place<'_>, &mut dyn Observer) -> Result<Ran, SolveError> + Sync),
    ) -> Result<(), SolveError> {
        loop {
            let taken = self.take(lane.interrupts.len());
            let settings = &lane.settings;
            match taken.as_slice() {
                [] => return Ok(()),
                [(number, case)] => {
                    let interrupts = &lane.interrupts[0];
                    let place = Place { settings, interrupts, seat: None, is_first: true };
                    self.compute((*number, case), place, run);
                }
                shots => {
                    let [first, last] = [&shots[0], &shots[shots.len() - 1]].map(|(_, case)| &case.name);
                    self.note(&format!("shots {first} to {last}: {} at once", shots.len()));
                    let places = lane.interrupts.iter().zip(seats(shots.len())).enumerate();
                    let places = places.map(|(place, (interrupts, seat))| Place {
                        settings,
                        interrupts,
                        seat: Some(seat),
                        is_first: place == 0,
                    });
                    threads::at_the_same_time(shots.iter().zip(places), |((number, case), place)| {
                        self.compute((*number, case), place, run)
                    })?;
                }
            }
            let written = self.write_table(false);
            if self.team.as_the_leader_says(lane.interrupts[0].stop_requested() || written.is_err()) {
                self.stop();
                return written;
            }
        }
    }

    /// Computes a case, and keeps and tells what came of it.
    fn compute(
        &self,
        (number, case): (usize, &Case),
        place: Place<'_>,
        run: &impl Fn(&Case, Place<'_>, &mut dyn Observer) -> Result<Ran, SolveError>,
    ) {
        let name = (self.is_several || place.seat.is_some()).then_some(case.name.as_str());
        let tells_steps = !self.is_several && place.is_first;
        let result = run(case, place, &mut Voice { observer: &self.observer, name, tells_steps });
        match &result {
            Err(SolveError::FolderInUse { owner, .. }) => {
                self.note(&format!("case {}: {owner} computes it", case.name))
            }
            Err(error) => self.note(&format!("case {}: {error}", case.name)),
            Ok(_) => {}
        }
        self.put(number, result);
    }

    fn note(&self, text: &str) {
        lock(&self.observer).note(text);
    }

    /// The next case with its number, or up to `most` shots of one model.
    fn take(&self, most: usize) -> Vec<(usize, Case)> {
        let mut progress = lock(&self.progress);
        let first = progress.next;
        let rest = progress.outcomes[first..].iter().map(|outcome| &outcome.case);
        let n = n_at_once(rest.clone(), most);
        let taken = (first..).zip(rest.take(n).cloned()).collect();
        progress.next += n;
        taken
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

/// Tells the observer of a study what a case says, by the case's name if several run at a time.
struct Voice<'a, 'b> {
    observer: &'a Mutex<&'b mut dyn Observer>,
    name: Option<&'a str>,
    /// There is news of steps: not of several lanes, and of shots at once from the first alone.
    tells_steps: bool,
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
        if self.tells_steps {
            lock(self.observer).started(outlook);
        }
    }

    fn advanced(&mut self, step: u64) {
        if self.tells_steps {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shots_of_one_model_are_computed_at_once() {
        let case = |shot, value: &str| Case {
            shot,
            assignments: vec![("material.steel.young".to_owned(), value.to_owned())],
            ..Case::default()
        };
        let shots: Vec<Case> = (0..5).map(|shot| case(Some(shot), if shot < 3 { "1e11" } else { "2e11" })).collect();
        assert_eq!([1, 2, 3, 16].map(|most| n_at_once(shots.iter(), most)), [1, 2, 3, 3]);
        assert_eq!(n_at_once(shots[3..].iter(), 16), 2);
        let cases = [case(None, "1e11"), case(None, "1e11")];
        assert_eq!(n_at_once(cases.iter(), 16), 1);
        assert_eq!(n_at_once([].iter(), 16), 0);
    }
}

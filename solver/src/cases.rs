//! The cases of a study, and the shots of a model.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use pogo_formats::parameters::ParameterError;
use pogo_formats::physics::Physics;
use pogo_formats::system::inputs;
use pogo_formats::system::memory::Limit;
use pogo_kernels::device::free_memory;
use pogo_kernels::ranks::Ranks;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::call::Call;
use crate::config::{AUTO, Config, DeviceChoice};
use crate::error::SolveError;
use crate::folder::RunFolder;
use crate::kept::Kept;
use crate::observe::Observer;
use crate::outcome::{Outcome, RunSummary};
use crate::run::checkpoint::FILE_NAME as CHECKPOINT;
use crate::study::{self, Case, Cases, Collected, Common, Place, Ran, Record, Study, StudyError};
use crate::team::Team;
use crate::{Control, Model, Opened, Solve, assign, run_folder, run_one, shots, start};

/// Runs the cases of a study, or the shots of a model, or these shots of each case.
pub(crate) fn solve<P: Solve>(
    opened: &Opened<P>,
    shots: &[(usize, String)],
    config: &Config,
    control: Control<'_>,
) -> Result<Outcome, SolveError> {
    let Control { processes, interrupts, observer } = control;
    let team = Team::new(processes, 1);
    let at_once = |devices: &[DeviceChoice]| shots_at_once(opened, config, devices, shots.len());
    let lanes = || study::lanes(config, &opened.settings, interrupts, processes, &at_once);
    let read = || Ok((plan(opened, shots, config)?, lanes()?));
    let (cases, lanes) = team.agree(read())?;
    let call = CallOfCases { opened, config, processes, cases: &cases, kept: Kept::default() };
    let outcomes =
        study::run(&cases, &lanes, observer, &team, |case, place, observer| call.run(case, place, observer))?;
    if !shots.is_empty() && team.leads() {
        shots::write(&opened.folder, &outcomes, shots)?;
    }
    Ok(Outcome::Study(outcomes))
}

/// How many shots each of these devices computes at once: as many as gain by it, and as memory has room for.
fn shots_at_once<P: Solve>(opened: &Opened<P>, config: &Config, devices: &[DeviceChoice], n_shots: usize) -> usize {
    let Opened { file, setup, settings, device, .. } = opened;
    let ordinals = devices.iter().map(|choice| match *choice {
        DeviceChoice::Cpu => None,
        DeviceChoice::Cuda(ordinal) => Some(ordinal),
        DeviceChoice::Auto => Some(0),
    });
    let Some(ordinals) = ordinals.collect::<Option<Vec<u32>>>().filter(|_| n_shots > 1) else { return 1 };
    // What is wrong with a device is told by the runs.
    let free = device.wait().and_then(|()| ordinals.into_iter().map(free_memory).collect::<Result<Vec<u64>, _>>());
    let Some(free) = free.ok().and_then(|free| free.into_iter().min()) else { return 1 };
    let need = P::need(file, settings).bytes().max(1.0);
    let by_memory = (0.8 * Limit::new(config.memory).bytes as f64 / (need * devices.len() as f64)) as usize;
    let most = P::most_shots_at_once(Model { file, setup }, settings, free).min(by_memory);
    most.min(n_shots.div_ceil(devices.len())).max(1)
}

/// The cases with what is asked of them.
fn plan<'a, P: Solve>(
    opened: &'a Opened<P>,
    shots: &[(usize, String)],
    config: &Config,
) -> Result<Cases<'a>, SolveError> {
    let study = match &config.study {
        Some(path) => study::read(path)?,
        None => Study { cases: vec![Case::default()], ..Study::default() },
    };
    let refuse = |what| {
        let path = config.study.clone().unwrap_or_else(|| config.block_file.clone());
        SolveError::Study(StudyError::Content { path, what })
    };
    check_names(opened, &study.cases).map_err(refuse)?;
    let numbers = study::chosen(&config.case, &study.cases).map_err(refuse)?;
    let collect = if config.collect.is_empty() { &study.collect } else { &config.collect };
    let collect =
        collect.iter().map(|text| Collected::parse(text).map_err(|reason| refuse(format!("collect: {reason}"))));
    let collect = collect.collect::<Result<_, _>>()?;
    let n_shots = shots.len().max(1);
    let chosen: Vec<usize> = numbers.into_iter().flat_map(|case| case * n_shots..(case + 1) * n_shots).collect();
    if let Some(file) = named_checkpoint(config).filter(|_| chosen.len() > 1) {
        let file = file.display();
        return Err(refuse(format!("each case goes on from its own checkpoint: give --restart without {file}")));
    }
    let starts = config.starts.as_deref().and_then(|path| inputs::read(path).ok());
    let others = format!("{:?}", starts.map(|bytes| xxh3_64(&bytes)));
    let model = Digest::of(&opened.setup);
    Ok(Cases {
        cases: shots::with_shots(study.cases, shots),
        chosen,
        collect,
        common: Common::new(&opened.block_file.hash, model, &opened.settings, &others),
        folder: &opened.folder,
        skips: config.study.is_some() && !config.again || config.restart.is_some(),
    })
}

/// The file that `--restart` names.
fn named_checkpoint(config: &Config) -> Option<&Path> {
    config.restart.as_ref()?.as_deref().filter(|file| file.as_os_str() != AUTO)
}

/// That there are parameters of all names, and that what all cases set can be set: each is one error, not one a case.
fn check_names<P: Solve>(opened: &Opened<P>, cases: &[Case]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for case in cases {
        for (place, (name, value)) in case.assignments.iter().enumerate() {
            if !seen.insert((name, value)) {
                continue;
            }
            let (mut setup, mut settings) = (opened.setup.clone(), opened.settings.clone());
            let (before, own) = (&case.assignments[..place], &case.assignments[place]);
            // What is wrong before it has been found already.
            before.iter().for_each(|(name, value)| drop(assign::<P>(&mut setup, &mut settings, name, value)));
            let Err(error) = assign::<P>(&mut setup, &mut settings, &own.0, &own.1) else { continue };
            let of_name = matches!(
                error,
                SolveError::Parameter(ParameterError::Unknown { .. } | ParameterError::NeedsNewBlockFile { .. })
            );
            let of_all = || cases.len() > 1 && cases.iter().all(|case| case.assignments.contains(own));
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
            if (of_name || of_all()) && !problems.contains(&text) {
                problems.push(text);
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; and ")) }
}

/// The call for the cases of a study.
struct CallOfCases<'a, P: Physics> {
    opened: &'a Opened<P>,
    config: &'a Config,
    processes: Option<&'a Arc<dyn Ranks>>,
    cases: &'a Cases<'a>,
    kept: Kept,
}

/// What is to be done with a case.
enum Decision {
    /// It is finished.
    Skip(RunSummary),
    Run {
        goes_on: bool,
    },
}

impl<P: Solve> CallOfCases<'_, P> {
    /// Runs a case unless it is finished, and keeps what came of it.
    fn run(&self, case: &Case, place: Place<'_>, observer: &mut dyn Observer) -> Result<Ran, SolveError> {
        let team = Team::new(self.processes, 1);
        let mut folder = team.agree_so_far(run_folder(&self.cases.folder.join(&case.name), team.leads()))?;
        let decision =
            if team.leads() { self.decide(case, &folder, observer) } else { Decision::Run { goes_on: false } };
        let (skips, goes_on) = match decision {
            Decision::Skip(_) => (true, false),
            Decision::Run { goes_on } => (false, goes_on),
        };
        if team.as_the_leader_says(skips) {
            let summary = match decision {
                Decision::Skip(summary) => summary,
                Decision::Run { .. } => RunSummary::of_another_rank(),
            };
            return Ok(Ran { summary, was_finished: true });
        }
        let goes_on = team.as_the_leader_says(goes_on);
        let mut record = Record::new(case, &self.cases.common);
        if team.leads() {
            record.write(&folder)?;
        }
        self.tell(case, goes_on, observer);
        let result = self.compute(case, place, &folder, goes_on, observer);
        folder.end_results();
        if team.leads() {
            record.end(result.as_ref().map_err(ToString::to_string));
            if result.is_ok() {
                self.collect(&mut record, &folder, observer);
            }
            record.write(&folder)?;
        }
        Ok(Ran { summary: result?, was_finished: false })
    }

    fn tell(&self, case: &Case, goes_on: bool, observer: &mut dyn Observer) {
        let place = self.cases.cases.iter().position(|other| other.name == case.name).unwrap_or_default() + 1;
        let how = if goes_on { ", from its checkpoint" } else { "" };
        observer.note(&format!("case {} ({place} of {}){how}", case.name, self.cases.cases.len()));
    }

    /// Reads what the table shows.
    fn collect(&self, record: &mut Record, folder: &Path, observer: &mut dyn Observer) {
        for problem in record.collect(folder, &self.cases.collect) {
            observer.note(&format!("warning: case {}: {problem}", record.case));
        }
    }

    /// Whether a case is finished, or can go on from a checkpoint.
    fn decide(&self, case: &Case, folder: &RunFolder, observer: &mut dyn Observer) -> Decision {
        if named_checkpoint(self.config).is_some() {
            return Decision::Run { goes_on: true };
        }
        let common = &self.cases.common;
        let record = Record::read(folder);
        if let Some(mut record) = record.clone().filter(|record| self.cases.skips && record.is_finished()) {
            match (record.outdated(case, common, folder), RunSummary::read(folder)) {
                (None, Some(summary)) => {
                    let before = record.clone();
                    self.collect(&mut record, folder, observer);
                    if record != before {
                        // Its values are read again the next time.
                        drop(record.write(folder));
                    }
                    return Decision::Skip(summary);
                }
                (why, _) => {
                    let why = why.unwrap_or("summary");
                    observer
                        .note(&format!("case {} was finished before with another {why}: running it again", case.name));
                }
            }
        }
        let checkpoint = folder.join(CHECKPOINT);
        let is_same = record.is_some_and(|record| record.is_of(case, common));
        if !is_same {
            // Of a run with other parameters.
            drop(std::fs::remove_file(&checkpoint));
        }
        let may_go_on = is_same && checkpoint.exists();
        if may_go_on && self.config.restart.is_none() {
            let name = &case.name;
            observer.note(&format!("case {name} has a checkpoint, from which it would go on with --restart"));
        }
        Decision::Run { goes_on: may_go_on && self.config.restart.is_some() }
    }

    fn compute(
        &self,
        case: &Case,
        place: Place<'_>,
        folder: &RunFolder,
        goes_on: bool,
        observer: &mut dyn Observer,
    ) -> Result<RunSummary, SolveError> {
        let Self { opened, config, processes, .. } = *self;
        // A run that goes on from its checkpoint is at another step than those that begin.
        let seat = place.seat.filter(|_| !goes_on);
        let prepared = || {
            let (mut settings, mut setup) = (place.settings.clone(), opened.setup.clone());
            for (name, value) in &case.assignments {
                assign::<P>(&mut setup, &mut settings, name, value)?;
            }
            if let Some(shot) = case.shot {
                let path = config.block_file.clone();
                P::reduce_to_shot(&mut setup, shot).map_err(|reason| SolveError::Problem { path, reason })?;
            }
            let team = Team::new(processes, P::n_parts(&settings.device.list(processes)?, &settings));
            let device = start::<P>(&opened.file, &settings, &setup, processes)?;
            Ok((settings, setup, device, team))
        };
        let (settings, setup, device, team) = Team::new(processes, 1).agree(prepared())?;
        let assigned = case.assignments.iter().map(|(name, value)| format!("{name}={value}"));
        let call = Call {
            config,
            case: Some(case.name.clone()),
            shot: case.shot,
            overrides: config.overrides.iter().cloned().chain(assigned).collect(),
            settings: &settings,
            folder,
            resume: goes_on
                .then(|| named_checkpoint(config).map_or_else(|| folder.join(CHECKPOINT), Path::to_path_buf)),
            block_file: opened.block_file.clone(),
            interrupts: place.interrupts,
            device,
            team,
            need: P::need(&opened.file, &settings),
            report: crate::report::begin(&opened.file, &settings),
            kept: Some(&self.kept),
            seat: Mutex::new(seat),
        };
        run_one(&opened.file, &setup, &call, observer)
    }
}

/// Hashes text while it is written.
#[derive(Default)]
struct Digest(Xxh3);

impl Digest {
    /// Of everything in a set-up.
    fn of(setup: &impl fmt::Debug) -> u64 {
        let mut digest = Self::default();
        // A hash takes all text.
        let _ = write!(digest, "{setup:?}");
        digest.0.digest()
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

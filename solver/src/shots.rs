//! Shots of a model: cases that differ in the sources that act.

use std::path::Path;

use pogo_formats::write::shots::write_npz;
use pogo_formats::write::summary::Status;

use crate::config::Config;
use crate::error::SolveError;
use crate::study::Case;
use crate::{CaseOutcome, Solve};

/// The archive of the traces of all shots.
const ARCHIVE: &str = "shots.npz";

/// The shots that this call is to run, each with its number and its name. None where the model has no shots.
///
/// # Errors
/// A table that cannot be used, a shot that does not exist, and a choice of shots where there are none.
pub(crate) fn chosen<P: Solve>(setup: &mut P::Setup, config: &Config) -> Result<Vec<(usize, String)>, SolveError> {
    let refuse = |reason| SolveError::Problem { path: config.block_file.clone(), reason };
    let names = P::shots(setup, config.shots.as_deref())?;
    for name in &config.shot {
        if !names.contains(name) {
            let known =
                if names.is_empty() { "there are none".to_owned() } else { format!("there are {}", names.join(", ")) };
            return Err(refuse(format!("there is no shot {name}; {known}")));
        }
    }
    let is_chosen = |(_, name): &(usize, String)| config.shot.is_empty() || config.shot.contains(name);
    let chosen: Vec<_> = names.into_iter().enumerate().filter(is_chosen).collect();
    if config.jobs.is_some() && config.study.is_none() && chosen.is_empty() {
        return Err(refuse("--jobs is for studies and for models with shots; leave it out".to_owned()));
    }
    if !config.collect.is_empty() && config.study.is_none() && chosen.is_empty() {
        return Err(refuse("--collect is for studies and for models with shots; leave it out".to_owned()));
    }
    Ok(chosen)
}

/// Every case with every shot.
pub(crate) fn with_shots(cases: Vec<Case>, shots: &[(usize, String)]) -> Vec<Case> {
    if shots.is_empty() {
        return cases;
    }
    let of_shot = |case: &Case, (shot, name): &(usize, String)| Case {
        name: Path::new(&case.name).join(name).display().to_string(),
        shot: Some(*shot),
        ..case.clone()
    };
    cases.iter().flat_map(|case| shots.iter().map(move |shot| of_shot(case, shot))).collect()
}

/// Writes the traces of the shots of each case as one archive in the folder of the case, if no shot was left out or stopped.
///
/// # Errors
/// A file that cannot be read or written.
pub(crate) fn write(folder: &Path, outcomes: &[CaseOutcome], shots: &[(usize, String)]) -> Result<(), SolveError> {
    let status = |outcome: &CaseOutcome| Some(outcome.result.as_ref()?.as_ref().ok()?.ending.status);
    let is_done = |outcome: &CaseOutcome| match &outcome.result {
        None => false,
        Some(Err(_)) => true,
        Some(Ok(summary)) => summary.ending.status != Status::Interrupted,
    };
    for outcomes in outcomes.chunks(shots.len().max(1)) {
        let Some(first) = outcomes.first().filter(|_| outcomes.iter().all(is_done)) else { continue };
        let traces = outcomes.iter().zip(shots).map(|(outcome, (_, shot))| {
            let file = folder.join(&outcome.case.name).join("traces.npz");
            let is_whole = status(outcome) == Some(Status::Completed) && file.exists();
            (shot.clone(), is_whole.then_some(file))
        });
        let case = folder.join(&first.case.name);
        write_npz(&case.with_file_name(ARCHIVE), &traces.collect::<Vec<_>>())?;
    }
    Ok(())
}

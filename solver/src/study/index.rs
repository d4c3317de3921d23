//! Runs the cases of a study and keeps their table, `study.csv`.

use std::path::Path;

use pogo_formats::write::write_atomically;

use super::Case;
use crate::error::SolveError;
use crate::interrupt::Interrupts;
use crate::observe::Observer;
use crate::team::Team;
use crate::{CaseOutcome, Outcome, RunSummary};

/// Runs the cases of a study, whose results go into `folder`.
///
/// # Errors
/// The table cannot be written. What is wrong with one case is in its outcome.
pub(crate) fn run(
    cases: Vec<Case>,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
    team: &Team,
    mut run: impl FnMut(&Case, &mut dyn Observer) -> Result<RunSummary, SolveError>,
) -> Result<Outcome, SolveError> {
    let mut outcomes: Vec<CaseOutcome> = cases.into_iter().map(|case| CaseOutcome { case, result: None }).collect();
    for index in 0..outcomes.len() {
        let case = &outcomes[index].case;
        observer.note(&format!("case {} ({} of {})", case.name, index + 1, outcomes.len()));
        let result = run(case, observer);
        if let Err(error) = &result {
            observer.note(&format!("case {}: {error}", case.name));
        }
        outcomes[index].result = Some(result.map_err(|error| error.to_string()));
        // After every case: a study that is killed has its table so far.
        let written = if team.leads() { write(&folder.join("study.csv"), &outcomes) } else { Ok(()) };
        if team.as_the_leader_says(interrupts.stop_requested() || written.is_err()) {
            written?;
            break;
        }
    }
    Ok(Outcome::Study(outcomes))
}

/// `case,status,seconds,message`, then one column a parameter.
fn write(path: &Path, outcomes: &[CaseOutcome]) -> Result<(), SolveError> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in outcomes.iter().flat_map(|outcome| &outcome.case.assignments) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = String::from("case,status,seconds,message");
    for name in &names {
        text += ",";
        text += &quote(name);
    }
    text += "\n";
    for outcome in outcomes {
        let (status, seconds, message) = match &outcome.result {
            None => ("pending", 0.0, ""),
            Some(Err(message)) => ("failed", 0.0, message.as_str()),
            Some(Ok(summary)) => {
                (summary.ending.status.name(), summary.seconds, summary.ending.message.as_deref().unwrap_or_default())
            }
        };
        text += &format!("{},{status},{seconds:.3},{}", quote(&outcome.case.name), quote(message));
        for name in &names {
            // Of several assignments of one name the last holds.
            let value = outcome.case.assignments.iter().rev().find(|(assigned, _)| assigned == name);
            text += ",";
            text += &quote(value.map_or("", |(_, value)| value));
        }
        text += "\n";
    }
    write_atomically(path, |out| std::io::Write::write_all(out, text.as_bytes()))?;
    Ok(())
}

/// A CSV field.
pub(crate) fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

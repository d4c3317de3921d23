//! What came of a call.

use std::any::Any;
use std::fmt;
use std::path::Path;

use pogo_formats::exit_code;
use pogo_formats::write::summary::{self, Ending, Status};
use serde::Serialize;
use serde_json::Value;

use crate::call::Call;
use crate::error::SolveError;
use crate::folder::SUMMARY;
use crate::report;
use crate::study::Case;

/// What came of a call.
#[derive(Debug)]
pub enum Outcome {
    /// One run.
    Run(RunSummary),
    /// The cases of a study, in order.
    Study(Vec<CaseOutcome>),
}

/// What came of one case.
#[derive(Debug)]
pub struct CaseOutcome {
    /// The case.
    pub case: Case,
    /// Its summary, or why it could not be run. None where the study was stopped before it, or another process computes it.
    pub result: Option<Result<RunSummary, String>>,
    /// It was finished before, so it was not run again.
    pub was_finished: bool,
    /// The process that computes it.
    pub elsewhere: Option<String>,
}

impl CaseOutcome {
    /// Of a case that nobody has looked at.
    pub(crate) const fn pending(case: Case) -> Self {
        Self { case, result: None, was_finished: false, elsewhere: None }
    }
}

/// Summary of one run of any physics.
pub struct RunSummary {
    /// How the run ended, and why where it did not complete.
    pub ending: Ending,
    /// Wall-clock time of the run, s.
    pub seconds: f64,
    /// What the user should know although the run came to its end.
    pub warnings: Vec<String>,
    json: String,
    summary: Box<dyn Any + Send>,
}

impl RunSummary {
    /// Writes the summary of a physics, and the report, into the folder of the results. `ending` gives what every summary says of the end
    /// of its run: how it ended, the wall-clock time in s, and the warnings.
    pub(crate) fn write<S: Serialize + Any + Send>(
        call: &Call<'_>,
        summary: S,
        ending: fn(&S) -> (&Ending, f64, &[String]),
    ) -> Result<Self, SolveError> {
        let path = call.folder.join(SUMMARY);
        summary::write(&summary, &path)?;
        let json = summary::to_json(&summary).map_err(|error| SolveError::Io { path, source: error.into() })?;
        let (ending, seconds, warnings) = ending(&summary);
        let (ending, warnings) = (ending.clone(), warnings.to_vec());
        report::finish(call, &json, &ending, &warnings)?;
        Ok(Self { ending, seconds, warnings, json, summary: Box::new(summary) })
    }

    /// That of an earlier run, which [`of`](Self::of) does not know; none where there is none.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let json = std::fs::read_to_string(folder.join(SUMMARY)).ok()?;
        let summary: Value = serde_json::from_str(&json).ok()?;
        let status = Status::named(summary["status"].as_str()?)?;
        let ending = Ending { status, message: summary["message"].as_str().map(str::to_owned) };
        let warnings = summary["warnings"].as_array().into_iter().flatten();
        let warnings = warnings.filter_map(Value::as_str).map(str::to_owned).collect();
        let seconds = summary["total_seconds"].as_f64().unwrap_or_default();
        Some(Self { ending, seconds, warnings, json, summary: Box::new(()) })
    }

    /// Of a process whose rank 0 writes the results.
    pub(crate) fn of_another_rank() -> Self {
        let ending = Ending { status: Status::Completed, message: None };
        Self { ending, seconds: 0.0, warnings: Vec::new(), json: String::new(), summary: Box::new(()) }
    }

    /// The summary of one physics; none where the run was of another.
    pub fn of<S: Any>(&self) -> Option<&S> {
        self.summary.downcast_ref()
    }

    /// What went wrong, if anything.
    fn problem(&self) -> Option<String> {
        let Ending { status, message } = &self.ending;
        (*status != Status::Completed).then(|| message.clone().unwrap_or_else(|| status.name().to_owned()))
    }
}

impl fmt::Debug for RunSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

/// Exit code of a run that ended like this.
fn exit_code(status: Status) -> i32 {
    match status {
        Status::Completed => 0,
        Status::Interrupted => exit_code::INTERRUPTED,
        Status::Diverged | Status::NotConverged => exit_code::DIVERGED,
    }
}

impl Outcome {
    /// Exit code of the process: that of the run; of a study, the largest of its cases.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Run(summary) => exit_code(summary.ending.status),
            Self::Study(cases) => cases
                .iter()
                .map(|case| match &case.result {
                    Some(Ok(summary)) => exit_code(summary.ending.status),
                    Some(Err(_)) => exit_code::BAD_INPUT,
                    None => exit_code::INTERRUPTED,
                })
                .max()
                .unwrap_or(0),
        }
    }

    /// What went wrong, a line each: why a run has no whole result, and which cases of a study have none.
    pub fn problems(&self) -> Vec<String> {
        let of_case = |case: &CaseOutcome| {
            let text = match &case.result {
                Some(Ok(summary)) => summary.problem()?,
                Some(Err(error)) => error.clone(),
                None => match &case.elsewhere {
                    Some(owner) => format!("{owner} computes it"),
                    None => "not run".to_owned(),
                },
            };
            Some(format!("case {}: {text}", case.case.name))
        };
        match self {
            Self::Run(summary) => summary.problem().into_iter().collect(),
            Self::Study(cases) => cases.iter().filter_map(of_case).collect(),
        }
    }

    /// The summary as JSON; of a study, the list of the summaries there are.
    pub fn json(&self) -> String {
        let cases = match self {
            Self::Run(summary) => return summary.json.clone(),
            Self::Study(cases) => cases.iter().filter_map(|case| case.result.as_ref()?.as_ref().ok()),
        };
        let indented = cases.map(|case| format!("  {}", case.json.trim_end().replace('\n', "\n  ")));
        let summaries: Vec<String> = indented.collect();
        if summaries.is_empty() { "[]\n".into() } else { format!("[\n{}\n]\n", summaries.join(",\n")) }
    }
}

//! `pogo-solve`: maps a block file and runs it.
//!
//! [`solve`] is the one call: it opens and verifies the block file, applies overrides, runs one model or the cases of a
//! study, and writes every result. Nothing in this library prints or ends the process.

pub mod config;
pub mod error;
pub mod explicit;
pub mod interrupt;
pub mod observe;
pub mod study;

use std::path::Path;

use pogo_formats::block::BlockFile;
use pogo_formats::model::Setup;
use pogo_formats::output::summary::{BlockFileSummary, Status, Summary};
use pogo_formats::output::write_atomically;
use pogo_formats::{exit_code, parameters};

use config::{Config, Settings};
use error::SolveError;
use explicit::run::{Model, run};
use interrupt::Interrupts;
use observe::Observer;
use study::Case;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// One run.
    Run(Box<Summary>),
    /// The cases of a study, in order.
    Study(Vec<CaseOutcome>),
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseOutcome {
    /// The case.
    pub case: Case,
    /// Its summary, or why it could not be run. None where the study was stopped before it.
    pub result: Option<Result<Box<Summary>, String>>,
}

impl Outcome {
    /// Exit code of the process: that of the run; of a study, the largest of its cases.
    pub fn exit_code(&self) -> i32 {
        let code = |summary: &Summary| match summary.status {
            Status::Completed => 0,
            Status::Interrupted => exit_code::INTERRUPTED,
            Status::Diverged => exit_code::DIVERGED,
        };
        match self {
            Self::Run(summary) => code(summary),
            Self::Study(cases) => cases
                .iter()
                .map(|case| match &case.result {
                    Some(Ok(summary)) => code(summary),
                    Some(Err(_)) => exit_code::BAD_INPUT,
                    None => exit_code::INTERRUPTED,
                })
                .max()
                .unwrap_or(0),
        }
    }

    /// The summary as JSON; of a study, the list of the summaries there are.
    ///
    /// # Errors
    /// As [`Summary::to_json`].
    pub fn json(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Run(summary) => summary.to_json(),
            Self::Study(cases) => {
                let summaries: Vec<&Summary> =
                    cases.iter().filter_map(|case| Some(&**case.result.as_ref()?.as_ref().ok()?)).collect();
                Ok(serde_json::to_string_pretty(&summaries)? + "\n")
            }
        }
    }
}

/// Carries out one call of the solver.
///
/// # Errors
/// Input that cannot be used and files that cannot be read or written. In a study, what is wrong with one case is in its
/// [`CaseOutcome`], and the others still run.
pub fn solve(config: &Config, interrupts: &Interrupts, observer: &mut dyn Observer) -> Result<Outcome, SolveError> {
    let file = BlockFile::open(&config.block_file)?;
    // A flipped bit in a coordinate or a modulus must not become a result.
    file.verify_checksums()?;
    let folder = config.output_folder();
    let mut setup = file.setup();
    config.settings.apply_to(&mut setup.explicit);
    for assignment in &config.overrides {
        let (name, value) = parameters::parse_assignment(assignment)?;
        parameters::set(&mut setup, name, value)?;
    }
    let Some(study) = &config.study else {
        create_folder(&folder)?;
        let model = model(&file, setup, None, config.overrides.clone());
        return in_pool(&config.settings, || {
            run(model, &config.settings, &config.start, &folder, interrupts, observer)
        })
        .map(|summary| Outcome::Run(Box::new(summary)));
    };
    let cases = study::read(study)?;
    create_folder(&folder)?;
    let mut outcomes: Vec<CaseOutcome> = cases.into_iter().map(|case| CaseOutcome { case, result: None }).collect();
    for index in 0..outcomes.len() {
        let case = outcomes[index].case.clone();
        let result = run_case(&file, &setup, config, &case, &folder, interrupts, observer);
        if let Err(error) = &result {
            observer.note(&format!("case {}: {error}", case.name));
        }
        outcomes[index].result = Some(result.map(Box::new).map_err(|error| error.to_string()));
        // After every case: a study that is killed has its index so far.
        write_index(&folder.join("study.csv"), &outcomes)?;
        if interrupts.stop_requested() {
            break;
        }
    }
    Ok(Outcome::Study(outcomes))
}

fn run_case(
    file: &BlockFile,
    setup: &Setup,
    config: &Config,
    case: &Case,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Summary, SolveError> {
    let mut settings = config.settings.clone();
    let mut setup = setup.clone();
    let assignments = study::apply_solver_settings(&case.assignments, &mut settings)?;
    for (name, value) in &assignments {
        parameters::set(&mut setup, name, value)?;
    }
    let folder = folder.join(&case.name);
    create_folder(&folder)?;
    let mut overrides = config.overrides.clone();
    overrides.extend(case.assignments.iter().map(|(name, value)| format!("{name}={value}")));
    let model = model(file, setup, Some(case.name.clone()), overrides);
    in_pool(&settings, || run(model, &settings, &config.start, &folder, interrupts, observer))
}

fn model(file: &BlockFile, setup: Setup, case: Option<String>, overrides: Vec<String>) -> Model<'_> {
    Model {
        mesh: file.mesh(),
        blocks: file.blocks(),
        device: file.device(),
        setup,
        block_efficiency: file.statistics().efficiency,
        block_file: BlockFileSummary {
            path: file.path().display().to_string(),
            hash: block_hash(file),
            source: file.provenance().sources.first().map(|source| source.name.clone()).unwrap_or_default(),
        },
        case,
        overrides,
    }
}

/// Of the sections' checksums, which have just been verified.
fn block_hash(file: &BlockFile) -> String {
    let checksums: Vec<u8> = file.sections().iter().flat_map(|section| section.checksum.to_le_bytes()).collect();
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&checksums))
}

/// Runs with the number of threads asked for.
fn in_pool<R: Send>(settings: &Settings, work: impl FnOnce() -> Result<R, SolveError> + Send) -> Result<R, SolveError> {
    let Some(threads) = settings.threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| SolveError::Threads { threads, reason: error.to_string() })?;
    pool.install(work)
}

fn create_folder(folder: &Path) -> Result<(), SolveError> {
    let refuse = |source| Err(SolveError::Io { path: folder.into(), source });
    match std::fs::create_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = "it is not a folder; give another name for the results with -o";
            refuse(std::io::Error::new(error.kind(), text))
        }
        Err(error) => refuse(error),
        Ok(()) => Ok(()),
    }
}

/// `study.csv`: `case,status,seconds,message`, then one column a parameter.
fn write_index(path: &Path, outcomes: &[CaseOutcome]) -> Result<(), SolveError> {
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
                let status = match summary.status {
                    Status::Completed => "completed",
                    Status::Interrupted => "interrupted",
                    Status::Diverged => "diverged",
                };
                (status, summary.total_seconds, summary.message.as_deref().unwrap_or_default())
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
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

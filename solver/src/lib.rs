//! `pogo-solve`: maps a block file and runs it.
//!
//! [`solve`] is the one call: it opens and verifies the block file, applies overrides, runs one model or the cases of a
//! study, and writes every result. Nothing in this library prints or ends the process.

pub mod config;
mod device;
pub mod eikonal;
pub mod error;
pub mod explicit;
mod folder;
pub mod interrupt;
mod memory;
pub mod observe;
mod pace;
pub mod spring;
pub mod study;
pub mod voxel;

use std::path::Path;

use pogo_formats::block::Container;
use pogo_formats::eikonal::Eikonal;
use pogo_formats::eikonal::summary::{EikonalStatus, EikonalSummary};
use pogo_formats::explicit::Explicit;
use pogo_formats::parameters::{Adjustable, ParameterError};
use pogo_formats::physics::{self, BlockFile, Physics};
use pogo_formats::spring::Spring;
use pogo_formats::spring::results::SpringSummary;
use pogo_formats::voxel::Voxel;
use pogo_formats::voxel::summary::{VoxelStatus, VoxelSummary};
use pogo_formats::write::summary;
use pogo_formats::write::summary::{BlockFileSummary, Status, Summary};
use pogo_formats::write::write_atomically;
use pogo_formats::{exit_code, parameters};
use serde::Serialize;

use config::{AddressingChoice, Config, Settings, Start};
use eikonal::EikonalModel;
use error::SolveError;
use explicit::run::Model;
use interrupt::Interrupts;
use observe::Observer;
use pogo_kernels::voxel::Grid;
use spring::run::SpringModel;
use study::Case;
use voxel::run::VoxelModel;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// One run.
    Run(RunSummary),
    /// The cases of a study, in order.
    Study(Vec<CaseOutcome>),
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseOutcome {
    /// The case.
    pub case: Case,
    /// Its summary, or why it could not be run. None where the study was stopped before it.
    pub result: Option<Result<RunSummary, String>>,
}

/// Summary of one run of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RunSummary {
    /// Explicit elastodynamics.
    Explicit(Box<Summary>),
    /// Voxel statics.
    Static(Box<VoxelSummary>),
    /// Masses and springs.
    Spring(Box<SpringSummary>),
    /// Arrival times.
    Eikonal(Box<EikonalSummary>),
}

impl RunSummary {
    /// Exit code of the process, the word for the status, wall-clock seconds, and the message.
    fn end(&self) -> (i32, &'static str, f64, Option<&str>) {
        match self {
            Self::Explicit(summary) => dynamics(summary.status, summary.total_seconds, summary.message.as_deref()),
            Self::Spring(summary) => dynamics(summary.status, summary.total_seconds, summary.message.as_deref()),
            Self::Static(summary) => {
                let (code, word) = match summary.status {
                    VoxelStatus::Completed => (0, "completed"),
                    VoxelStatus::Interrupted => (exit_code::INTERRUPTED, "interrupted"),
                    VoxelStatus::NotConverged => (exit_code::DIVERGED, "not-converged"),
                };
                (code, word, summary.total_seconds, summary.message.as_deref())
            }
            Self::Eikonal(summary) => {
                let (code, word) = match summary.status {
                    EikonalStatus::Completed => (0, "completed"),
                    EikonalStatus::Interrupted => (exit_code::INTERRUPTED, "interrupted"),
                };
                (code, word, summary.total_seconds, summary.message.as_deref())
            }
        }
    }

    /// What the user should know although the run came to its end.
    fn warnings(&self) -> &[String] {
        match self {
            Self::Explicit(summary) => &summary.warnings,
            Self::Static(summary) => &summary.warnings,
            Self::Spring(summary) => &summary.warnings,
            Self::Eikonal(summary) => &summary.warnings,
        }
    }
}

/// As [`RunSummary::end`], of a run in time.
fn dynamics(status: Status, seconds: f64, message: Option<&str>) -> (i32, &'static str, f64, Option<&str>) {
    let (code, word) = match status {
        Status::Completed => (0, "completed"),
        Status::Interrupted => (exit_code::INTERRUPTED, "interrupted"),
        Status::Diverged => (exit_code::DIVERGED, "diverged"),
    };
    (code, word, seconds, message)
}

impl Outcome {
    /// Exit code of the process: that of the run; of a study, the largest of its cases.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Run(summary) => summary.end().0,
            Self::Study(cases) => cases
                .iter()
                .map(|case| match &case.result {
                    Some(Ok(summary)) => summary.end().0,
                    Some(Err(_)) => exit_code::BAD_INPUT,
                    None => exit_code::INTERRUPTED,
                })
                .max()
                .unwrap_or(0),
        }
    }

    /// What went wrong, a line each: why a run has no whole result, and which cases of a study have none.
    pub fn problems(&self) -> Vec<String> {
        let said = |summary: &RunSummary| {
            let (code, word, _, message) = summary.end();
            (code != 0).then(|| message.unwrap_or(word).to_owned())
        };
        let of_case = |case: &CaseOutcome| {
            let text = match &case.result {
                Some(Ok(summary)) => said(summary)?,
                Some(Err(error)) => error.clone(),
                None => "not run".to_owned(),
            };
            Some(format!("case {}: {text}", case.case.name))
        };
        match self {
            Self::Run(summary) => said(summary).into_iter().collect(),
            Self::Study(cases) => cases.iter().filter_map(of_case).collect(),
        }
    }

    /// The summary as JSON; of a study, the list of the summaries there are.
    ///
    /// # Errors
    /// As [`summary::to_json`].
    pub fn json(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Run(summary) => summary::to_json(summary),
            Self::Study(cases) => {
                let summaries: Vec<&RunSummary> =
                    cases.iter().filter_map(|case| case.result.as_ref()?.as_ref().ok()).collect();
                summary::to_json(&summaries)
            }
        }
    }
}

/// Solves a block file of one physics.
type Solve = fn(Container, &Config, &Interrupts, &mut dyn Observer) -> Result<Outcome, SolveError>;

/// Every kind of physics.
const PHYSICS: &[(&str, Solve)] = &[
    (Explicit::NAME, |file, config, interrupts, observer| {
        solve_explicit(&BlockFile::from_container(file)?, config, interrupts, observer)
    }),
    (Voxel::NAME, |file, config, interrupts, observer| {
        solve_static(&BlockFile::from_container(file)?, config, interrupts, observer)
    }),
    (Spring::NAME, |file, config, interrupts, observer| {
        solve_springs(&BlockFile::from_container(file)?, config, interrupts, observer)
    }),
    (Eikonal::NAME, |file, config, interrupts, observer| {
        solve_eikonal(&BlockFile::from_container(file)?, config, interrupts, observer)
    }),
];

/// Carries out one call of the solver.
///
/// # Errors
/// Input that cannot be used and files that cannot be read or written. In a study, what is wrong with one case is in its
/// [`CaseOutcome`], and the others still run.
pub fn solve(config: &Config, interrupts: &Interrupts, observer: &mut dyn Observer) -> Result<Outcome, SolveError> {
    memory::share_one_heap();
    let file = Container::open(&config.block_file)?;
    physics::registered(&file, PHYSICS)?(file, config, interrupts, observer)
}

fn solve_explicit(
    file: &BlockFile<Explicit>,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    if config.start_vector.is_some() {
        return Err(SolveError::OtherPhysics { option: "--start", physics: "voxel statics" });
    }
    no_starts(config)?;
    nothing_of_springs(config)?;
    let mut setup = file.setup();
    config.settings.apply_to(&mut setup.explicit);
    solve_physics(file.container(), setup, config, interrupts, observer, &|setup, run, observer| {
        let Run { case, overrides, settings, folder, block_file } = run;
        let model = Model {
            mesh: file.mesh(),
            blocks: file.blocks(),
            device: file.device(),
            setup,
            block_efficiency: file.statistics().efficiency,
            block_file,
            case,
            overrides,
        };
        explicit::run::run(model, settings, &config.start, folder, interrupts, observer)
            .map(|summary| RunSummary::Explicit(Box::new(summary)))
    })
}

fn solve_static(
    file: &BlockFile<Voxel>,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    if config.start != Start::Beginning {
        let physics = "runs over time (voxel statics go on with --start and the output folder)";
        return Err(SolveError::OtherPhysics { option: "--restart", physics });
    }
    nothing_of_dynamics(config)?;
    nothing_of_springs(config)?;
    no_starts(config)?;
    let (container, setup) = (file.container(), file.setup());
    let (levels, domains) = (file.levels(), file.domains());
    let (offset, hash) = (levels.offset, levels.hash);
    // What the file was made with is what it is solved on.
    let grid = match (domains.n_domains() > 1, offset.is_empty(), hash.is_empty()) {
        (true, ..) => Grid::Domains(domains),
        (_, false, _) => Grid::Offset(&offset),
        (.., false) => Grid::Hash(&hash),
        _ => Grid::Bricks,
    };
    solve_physics(container, setup, config, interrupts, observer, &|setup, run, observer| {
        let Run { case, overrides, settings, folder, block_file } = run;
        let start = config.start_vector.clone();
        let model = VoxelModel { mesh: file.mesh(), grid, setup, block_file, case, overrides, start };
        // On one of the threads that share the work: from outside each of the many short shares would wake them anew.
        rayon::scope(|_| voxel::run::run(&model, settings, folder, interrupts, observer))
            .map(|summary| RunSummary::Static(Box::new(summary)))
    })
}

fn solve_eikonal(
    file: &BlockFile<Eikonal>,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    nothing_of_dynamics(config)?;
    nothing_of_springs(config)?;
    if config.start_vector.is_some() {
        return Err(SolveError::OtherPhysics { option: "--start", physics: "voxel statics" });
    }
    let (container, setup) = (file.container(), file.setup());
    solve_physics(container, setup, config, interrupts, observer, &|setup, run, observer| {
        let Run { case, overrides, settings, folder, block_file } = run;
        let (mesh, domains, starts) = (file.mesh(), file.domains(), config.starts.clone());
        let model = EikonalModel { mesh, domains, setup, block_file, case, overrides, starts };
        eikonal::run(&model, settings, folder, interrupts, observer)
            .map(|summary| RunSummary::Eikonal(Box::new(summary)))
    })
}

/// Options that only a run over time has.
fn nothing_of_dynamics(config: &Config) -> Result<(), SolveError> {
    let set = &config.settings;
    let options = [
        ("--time", set.time.is_some()),
        ("--increment", set.increment.is_some()),
        ("--lumping", set.lumping.is_some()),
        ("--allow-unstable", set.allow_unstable),
        ("--energy-samples", set.energy_samples.is_some()),
        ("--restart", config.start != Start::Beginning),
        ("--checkpoint-interval", set.checkpoint.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(SolveError::OtherPhysics { option, physics: "runs over time" }),
        None => Ok(()),
    }
}

fn nothing_of_springs(config: &Config) -> Result<(), SolveError> {
    let set = &config.settings;
    let options = [("--addressing", set.addressing != AddressingChoice::Auto), ("--no-work", !set.follow_work)];
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(SolveError::OtherPhysics { option, physics: "masses and springs" }),
        None => Ok(()),
    }
}

fn no_starts(config: &Config) -> Result<(), SolveError> {
    match config.starts {
        Some(_) => Err(SolveError::OtherPhysics { option: "--starts", physics: "arrival times" }),
        None => Ok(()),
    }
}

fn solve_springs(
    file: &BlockFile<Spring>,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    let options = [
        ("--start", config.start_vector.is_some(), "voxel statics"),
        ("--lumping", config.settings.lumping.is_some(), "explicit dynamics"),
        ("--starts", config.starts.is_some(), "arrival times"),
    ];
    if let Some((option, _, physics)) = options.into_iter().find(|(_, given, _)| *given) {
        return Err(SolveError::OtherPhysics { option, physics });
    }
    let mut setup = file.setup();
    spring::run::apply_settings(&config.settings, &mut setup);
    solve_physics(file.container(), setup, config, interrupts, observer, &|setup, run, observer| {
        let Run { case, overrides, settings, folder, block_file } = run;
        let model = SpringModel { mesh: file.mesh(), setup, block_file, case, overrides };
        spring::run::run(&model, settings, &config.start, folder, interrupts, observer)
            .map(|summary| RunSummary::Spring(Box::new(summary)))
    })
}

/// What one run of any physics gets besides its setup.
struct Run<'a> {
    /// Name of the case in a study.
    case: Option<String>,
    /// `NAME=VALUE` in force.
    overrides: Vec<String>,
    settings: &'a Settings,
    /// Of the results; it exists.
    folder: &'a Path,
    block_file: BlockFileSummary,
}

/// Runs a model with this setup.
type RunModel<'a, S> = dyn Fn(S, Run, &mut dyn Observer) -> Result<RunSummary, SolveError> + Sync + 'a;

/// Runs a model of any physics, or the cases of a study: `run` runs it.
fn solve_physics<S: Adjustable + Send>(
    container: &Container,
    mut setup: S,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
    run: &RunModel<S>,
) -> Result<Outcome, SolveError> {
    // A flipped bit in a coordinate or a modulus must not become a result.
    container.verify_checksums()?;
    let block_file = block_file_summary(container);
    let assign =
        |setup: &mut S, settings: &mut Settings, name: &str, value: &str| match parameters::set(setup, name, value) {
            // The model's own names come first: voxel statics have a `solver.precision`.
            Err(ParameterError::Unknown { .. }) if study::apply_solver_setting(name, value, settings)? => Ok(()),
            result => result.map_err(SolveError::from),
        };
    let mut settings = config.settings.clone();
    for assignment in &config.overrides {
        let (name, value) = parameters::parse_assignment(assignment)?;
        assign(&mut setup, &mut settings, name, value)?;
    }
    let folder = config.output_folder();
    create_folder(&folder)?;
    let run = |settings: &Settings, setup: S, parts: Run, observer: &mut dyn Observer| {
        let summary = in_pool(settings, || run(setup, parts, &mut *observer))?;
        summary.warnings().iter().for_each(|warning| observer.note(&format!("warning: {warning}")));
        Ok(summary)
    };
    let Some(study) = &config.study else {
        let overrides = config.overrides.clone();
        let parts = Run { case: None, overrides, settings: &settings, folder: &folder, block_file };
        return run(&settings, setup, parts, observer).map(Outcome::Run);
    };
    run_study(study::read(study)?, &folder, interrupts, observer, |case, observer| {
        let (mut settings, mut setup) = (settings.clone(), setup.clone());
        for (name, value) in &case.assignments {
            assign(&mut setup, &mut settings, name, value)?;
        }
        let folder = folder.join(&case.name);
        create_folder(&folder)?;
        let mut overrides = config.overrides.clone();
        overrides.extend(case.assignments.iter().map(|(name, value)| format!("{name}={value}")));
        let (case, block_file) = (Some(case.name.clone()), block_file.clone());
        let parts = Run { case, overrides, settings: &settings, folder: &folder, block_file };
        run(&settings, setup, parts, observer)
    })
}

/// Runs the cases of a study.
fn run_study(
    cases: Vec<Case>,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
    mut run: impl FnMut(&Case, &mut dyn Observer) -> Result<RunSummary, SolveError>,
) -> Result<Outcome, SolveError> {
    let mut outcomes: Vec<CaseOutcome> = cases.into_iter().map(|case| CaseOutcome { case, result: None }).collect();
    for index in 0..outcomes.len() {
        let case = outcomes[index].case.clone();
        observer.note(&format!("case {} ({} of {})", case.name, index + 1, outcomes.len()));
        let result = run(&case, observer);
        if let Err(error) = &result {
            observer.note(&format!("case {}: {error}", case.name));
        }
        outcomes[index].result = Some(result.map_err(|error| error.to_string()));
        // After every case: a study that is killed has its index so far.
        write_index(&folder.join("study.csv"), &outcomes)?;
        if interrupts.stop_requested() {
            break;
        }
    }
    Ok(Outcome::Study(outcomes))
}

/// The hash is of the sections' checksums, which have just been verified.
fn block_file_summary(container: &Container) -> BlockFileSummary {
    let (sections, provenance) = (container.sections(), container.provenance());
    let checksums: Vec<u8> = sections.iter().flat_map(|section| section.checksum.to_le_bytes()).collect();
    BlockFileSummary {
        path: container.path().display().to_string(),
        hash: format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&checksums)),
        source: provenance.sources.first().map(|source| source.name.clone()).unwrap_or_default(),
    }
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
                let (_, status, seconds, message) = summary.end();
                (status, seconds, message.unwrap_or_default())
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

//! `pogo-solve`: maps a block file and runs it.
//!
//! [`solve`] is the one call: it opens and verifies the block file, applies overrides, runs one model or the cases of a
//! study, and writes every result. Nothing in this library prints or catches signals but [`command`], which is the program.
//!
//! Each physics has a room (`explicit`, `voxel`, `spring`, `eikonal`) that implements `Solve`; `PHYSICS` lists them.
//! Physics that step in time stand on `run`.

mod call;
mod cases;
pub mod command;
pub mod config;
mod device;
mod devices;
mod eikonal;
pub mod error;
mod explicit;
mod folder;
mod heap;
pub mod interrupt;
mod kept;
pub mod observe;
mod outcome;
mod report;
mod run;
mod shots;
mod single;
mod spring;
pub mod study;
mod team;
mod voxel;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pogo_formats::block::Container;
use pogo_formats::eikonal::Eikonal;
use pogo_formats::explicit::Explicit;
use pogo_formats::parameters::{self, ParameterError};
use pogo_formats::physics::{self, BlockFile, Physics};
use pogo_formats::spring::Spring;
use pogo_formats::system::memory::{self, Need};
use pogo_formats::system::threads;
use pogo_formats::timings::timed;
use pogo_formats::voxel::Voxel;
use pogo_formats::write::summary::BlockFileSummary;
use pogo_kernels::ranks::Ranks;
use xxhash_rust::xxh3::xxh3_64;

use call::Call;
use config::options::{self, Purpose};
use config::{AUTO, Config, DeviceChoice, Exchange, Settings};
use device::Device;
use error::SolveError;
use folder::RunFolder;
use interrupt::Interrupts;
use observe::Observer;
pub use outcome::{CaseOutcome, Outcome, RunSummary};
use run::checkpoint::FILE_NAME as CHECKPOINT;
use team::Team;
#[cfg(feature = "mpi")]
pub use team::mpi::Processes;

/// Solves a block file of one physics.
type SolveFile = fn(Container, &Config, Control<'_>) -> Result<Outcome, SolveError>;

/// What a call of any physics gets beside its file and its options.
struct Control<'a> {
    /// The processes that compute together, of which this is one.
    processes: Option<&'a Arc<dyn Ranks>>,
    interrupts: &'a Interrupts,
    observer: &'a mut dyn Observer,
}

/// Every kind of physics.
const PHYSICS: &[(&str, SolveFile)] = &[
    (Explicit::NAME, solve_file::<Explicit>),
    (Voxel::NAME, solve_file::<Voxel>),
    (Spring::NAME, solve_file::<Spring>),
    (Eikonal::NAME, solve_file::<Eikonal>),
];

/// A physics as the solver sees it.
trait Solve: Physics<Sections: Sync> {
    /// The options that it has beside those of all.
    const OPTIONS: &'static [Purpose];

    /// Applies settings of the command line that stand for some of the model's own.
    fn apply(_settings: &Settings, _setup: &mut Self::Setup) {}

    /// The device that a model may use in place of this one.
    fn device(choice: DeviceChoice, _setup: &Self::Setup) -> DeviceChoice {
        choice
    }

    /// Names of the model's shots, which those of a table take the place of.
    ///
    /// # Errors
    /// Shots that the model cannot have.
    fn shots(_setup: &mut Self::Setup, _table: Option<&Path>) -> Result<Vec<String>, SolveError> {
        Ok(Vec::new())
    }

    /// Leaves one of the model's shots.
    ///
    /// # Errors
    /// A message: sources that cannot do what the shot says.
    fn reduce_to_shot(_setup: &mut Self::Setup, _shot: usize) -> Result<(), String> {
        Ok(())
    }

    /// How many shots are stepped at once at the most on a CUDA device with so many bytes of free memory; 1 where that gains
    /// nothing.
    fn most_shots_at_once(_model: Model<'_, Self>, _settings: &Settings, _free: u64) -> usize {
        1
    }

    /// Number of parts of this process that compute a model together on these devices.
    fn n_parts(choices: &[DeviceChoice], _settings: &Settings) -> usize {
        choices.len()
    }

    /// One process runs the CUDA devices of all processes, where these are on one host and see the same devices.
    const DEVICES_IN_ONE_PROCESS: bool = false;

    /// Modules of kernels that a run on a device is likely to need; the driver loads them while the host reads the model.
    fn modules(file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str>;

    /// Estimate of the memory that a run of the model needs on a CPU, beside what it records and writes: measured on models
    /// of a hundred thousand nodes.
    fn need(file: &BlockFile<Self>, settings: &Settings) -> Need;

    /// Runs a model, overrides applied, and writes its results.
    ///
    /// # Errors
    /// Input that cannot be used, a file that cannot be written, a device that is lost.
    fn run(model: Model<'_, Self>, call: &Call<'_>, observer: &mut dyn Observer) -> Result<RunSummary, SolveError>;
}

/// A block file, and its setup with what the command line says.
struct Model<'a, P: Physics> {
    file: &'a BlockFile<P>,
    setup: &'a P::Setup,
}

/// Carries out one call of the solver.
///
/// # Errors
/// Input that cannot be used and files that cannot be read or written. In a study, what is wrong with one case is in its
/// [`CaseOutcome`], and the others still run.
pub fn solve(config: &Config, interrupts: &Interrupts, observer: &mut dyn Observer) -> Result<Outcome, SolveError> {
    solve_with(None, config, interrupts, observer)
}

/// Carries out one call of the solver by several processes, which all make this call with the same configuration. Rank 0
/// writes all results; the outcome of the others says nothing of them.
///
/// # Errors
/// As for [`solve`]; each process has its own error, or that of the first that cannot go on.
pub fn solve_with(
    processes: Option<&Arc<dyn Ranks>>,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    let interrupts = &interrupts.limited_to(config.wall_time);
    memory::share_heaps(config.settings.n_threads());
    if let Some(bytes) = config.memory {
        // Whatever is estimated below.
        memory::hold(bytes);
    }
    let opened = timed("open", || Container::open(&config.block_file)).map_err(SolveError::from);
    let found = opened.and_then(|file| Ok((physics::registered(&file, PHYSICS)?, file)));
    let (solve_file, file) = Team::new(processes, 1).agree(found)?;
    solve_file(file, config, Control { processes, interrupts, observer })
}

/// Runs a model, or the cases of a study.
fn solve_file<P: Solve>(file: Container, config: &Config, control: Control<'_>) -> Result<Outcome, SolveError> {
    let Control { processes, interrupts, observer } = control;
    let (all, started) = (Team::new(processes, 1), processes);
    let mut opened = all.agree(open::<P>(file, config, processes))?;
    check_same(&all, &opened.block_file)?;
    let shots = all.agree(shots::chosen::<P>(&mut opened.setup, config))?;
    if config.study.is_some() || !shots.is_empty() {
        return cases::solve(&opened, &shots, config, Control { processes, interrupts, observer });
    }
    let Opened { file, setup, settings, block_file, folder, mut device } = opened;
    let mut processes = processes;
    if P::DEVICES_IN_ONE_PROCESS
        && settings.exchange != Exchange::Messages
        && let Some(choices) = devices::of_host(&all, device.choices())?
    {
        if !all.leads() {
            // The devices are those of rank 0 until it has come to an end.
            drop(device);
            return Team::new(processes, 1).agree(Ok(Outcome::Run(RunSummary::of_another_rank())));
        }
        observer.note(&format!("rank 0 runs the devices of all {}; the others wait", all.n_ranks()));
        device = Device::start(choices, P::modules(&file, &settings));
        processes = None;
    }
    let (overrides, settings, folder) = (config.overrides.clone(), &settings, &folder);
    let team = Team::new(processes, P::n_parts(device.choices(), settings));
    let need = P::need(&file, settings);
    let (case, shot) = (None, None);
    let resume = to_resume(config, folder, processes, observer);
    let report = report::begin(&file, settings);
    let call = Call {
        config,
        case,
        shot,
        overrides,
        settings,
        folder,
        resume,
        block_file,
        interrupts,
        device,
        team,
        need,
        report,
        kept: None,
        seat: Default::default(),
    };
    let outcome = run_one(&file, &setup, &call, observer).map(Outcome::Run);
    match processes.is_none() {
        true => Team::new(started, 1).agree(outcome),
        false => outcome,
    }
}

/// The checkpoint that a single run is to go on from.
fn to_resume(
    config: &Config,
    folder: &Path,
    processes: Option<&Arc<dyn Ranks>>,
    observer: &mut dyn Observer,
) -> Option<PathBuf> {
    let own = folder.join(CHECKPOINT);
    match config.restart.as_ref()? {
        None => Some(own),
        Some(word) if word.as_os_str() == AUTO => {
            let is_there = Team::new(processes, 1).as_the_leader_says(own.exists());
            if !is_there {
                observer.note(&format!("there is no {}: starting at the beginning", own.display()));
            }
            is_there.then_some(own)
        }
        Some(file) => Some(file.clone()),
    }
}

/// Bytes from which on the memory of a run is told.
const NOTED: f64 = 5e8;

/// Runs a model, and tells its warnings.
fn run_one<P: Solve>(
    file: &BlockFile<P>,
    setup: &P::Setup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    call.team.agree_at_end(call.check_memory(Need::default()))?;
    if call.need.bytes() > NOTED {
        observer.note(&format!("needs {} of memory", call.need));
    }
    let summary = call.team.agree_at_end(in_pool(call, || P::run(Model { file, setup }, call, &mut *observer)))?;
    summary.warnings.iter().for_each(|warning| observer.note(&format!("warning: {warning}")));
    Ok(summary)
}

/// A block file that was verified, with everything that its runs have in common.
struct Opened<P: Physics> {
    file: BlockFile<P>,
    setup: P::Setup,
    settings: Settings,
    block_file: BlockFileSummary,
    folder: RunFolder,
    device: Device,
}

/// Opens a block file of a known physics and applies what the command line changes.
fn open<P: Solve>(
    file: Container,
    config: &Config,
    processes: Option<&Arc<dyn Ranks>>,
) -> Result<Opened<P>, SolveError> {
    let file = timed("check tables", || BlockFile::<P>::from_container(file))?;
    options::check(config, P::OPTIONS)?;
    let mut setup = file.setup();
    P::apply(&config.settings, &mut setup);
    let mut settings = config.settings.clone();
    for assignment in &config.overrides {
        let (name, value) = parameters::parse_assignment(assignment)?;
        assign::<P>(&mut setup, &mut settings, name, value)?;
    }
    // The device starts while the file is verified: a flipped bit in a coordinate or a modulus must not become a result.
    let device = timed("find the device", || start::<P>(&file, &settings, &setup, processes))?;
    timed("verify", || file.container().verify_checksums())?;
    let block_file = block_file_summary(file.container());
    let (path, leads) = (config.output_folder(), processes.is_none_or(|processes| processes.leads()));
    let folder =
        if config.study.is_some() && leads { RunFolder::of_a_study(&path)? } else { run_folder(&path, leads)? };
    Ok(Opened { file, setup, settings, block_file, folder, device })
}

/// The folder of the results, which the leading process takes for all.
fn run_folder(path: &Path, leads: bool) -> Result<RunFolder, SolveError> {
    if leads { RunFolder::take(path) } else { Ok(RunFolder::of_another_rank(path)) }
}

/// Starts the devices that a run is to use.
fn start<P: Solve>(
    file: &BlockFile<P>,
    settings: &Settings,
    setup: &P::Setup,
    processes: Option<&Arc<dyn Ranks>>,
) -> Result<Device, SolveError> {
    let choices = settings.device.list(processes)?.into_iter().map(|choice| P::device(choice, setup)).collect();
    Ok(Device::start(choices, P::modules(file, settings)))
}

/// Fails in every process if they have opened different files or are of different versions.
fn check_same(team: &Team, block_file: &BlockFileSummary) -> Result<(), SolveError> {
    if !team.is_several() {
        return Ok(());
    }
    let what = format!("{} {}", pogo_formats::VERSION, block_file.hash);
    let all = team.local[0].all_gather(what.into_bytes());
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(SolveError::Rank {
            rank,
            message: format!(
                "{}: error: this rank has another block file or another version of pogo-solve than rank 0; give all the same",
                block_file.path
            ),
        }),
    }
}

/// Sets a parameter of the model or, where it has none of that name, a setting of the run.
fn assign<P: Physics>(
    setup: &mut P::Setup,
    settings: &mut Settings,
    name: &str,
    value: &str,
) -> Result<(), SolveError> {
    match parameters::set(setup, name, value) {
        // The model's own names come first: voxel statics have a `solver.precision`.
        Err(ParameterError::Unknown { .. }) if settings.set(name, value)? => Ok(()),
        result => Ok(result?),
    }
}

/// The hash is of the sections' checksums, which have just been verified.
fn block_file_summary(container: &Container) -> BlockFileSummary {
    let (sections, provenance) = (container.sections(), container.provenance());
    let checksums: Vec<u8> = sections.iter().flat_map(|section| section.checksum.to_le_bytes()).collect();
    BlockFileSummary {
        path: container.path().display().to_string(),
        hash: format!("{:016x}", xxh3_64(&checksums)),
        source: provenance.sources.first().map(|source| source.name.clone()).unwrap_or_default(),
    }
}

/// Runs with the number of threads asked for, or with the cores that this process has to itself.
fn in_pool<R: Send>(call: &Call<'_>, work: impl FnOnce() -> Result<R, SolveError> + Send) -> Result<R, SolveError> {
    let Some(threads) = call.team.threads_of_process(call.settings.threads) else { return work() };
    threads::in_pool(threads, work)?
}

//! `pogo-solve`: maps a block file and runs it.
//!
//! [`solve`] is the one call: it opens and verifies the block file, applies overrides, runs one model or the cases of a
//! study, and writes every result. Nothing in this library prints or ends the process.
//!
//! Each physics has a room (`explicit`, `voxel`, `spring`, `eikonal`) that implements `Solve`; `PHYSICS` lists them.
//! Physics that step in time stand on `run`.

mod call;
pub mod config;
mod device;
mod eikonal;
pub mod error;
mod explicit;
mod folder;
pub mod interrupt;
mod memory;
pub mod observe;
mod outcome;
mod run;
mod spring;
pub mod study;
mod voxel;

use pogo_formats::block::Container;
use pogo_formats::eikonal::Eikonal;
use pogo_formats::explicit::Explicit;
use pogo_formats::parameters::{self, ParameterError};
use pogo_formats::physics::{self, BlockFile, Physics};
use pogo_formats::spring::Spring;
use pogo_formats::voxel::Voxel;
use pogo_formats::write::summary::BlockFileSummary;
use xxhash_rust::xxh3::xxh3_64;

use call::Call;
use config::options::{self, Purpose};
use config::{Config, DeviceChoice, Settings};
use device::Device;
use error::SolveError;
use folder::create_folder;
use interrupt::Interrupts;
use observe::Observer;
pub use outcome::{CaseOutcome, Outcome, RunSummary};

/// Solves a block file of one physics.
type SolveFile = fn(Container, &Config, &Interrupts, &mut dyn Observer) -> Result<Outcome, SolveError>;

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

    /// The device that a model may use.
    fn device(settings: &Settings, _setup: &Self::Setup) -> DeviceChoice {
        settings.device
    }

    /// Modules of kernels that a run on a device is likely to need; the driver loads them while the host reads the model.
    fn modules(file: &BlockFile<Self>, settings: &Settings) -> Vec<&'static str>;

    /// Runs a model, overrides applied, and writes its results.
    ///
    /// # Errors
    /// Input that cannot be used, a file that cannot be written, a device that is lost.
    fn run(
        file: &BlockFile<Self>,
        setup: &Self::Setup,
        call: &Call<'_>,
        observer: &mut dyn Observer,
    ) -> Result<RunSummary, SolveError>;
}

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

/// Runs a model, or the cases of a study.
fn solve_file<P: Solve>(
    file: Container,
    config: &Config,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Outcome, SolveError> {
    let file = BlockFile::<P>::from_container(file)?;
    options::check(config, P::OPTIONS)?;
    let mut setup = file.setup();
    P::apply(&config.settings, &mut setup);
    let mut settings = config.settings.clone();
    for assignment in &config.overrides {
        let (name, value) = parameters::parse_assignment(assignment)?;
        assign::<P>(&mut setup, &mut settings, name, value)?;
    }
    let start =
        |settings: &Settings, setup: &P::Setup| Device::start(P::device(settings, setup), P::modules(&file, settings));
    // The device starts while the file is verified: a flipped bit in a coordinate or a modulus must not become a result.
    let device = start(&settings, &setup);
    file.container().verify_checksums()?;
    let block_file = block_file_summary(file.container());
    let folder = config.output_folder();
    create_folder(&folder)?;
    let run = |call: Call<'_>, setup: &P::Setup, observer: &mut dyn Observer| {
        let summary = in_pool(call.settings, || P::run(&file, setup, &call, &mut *observer))?;
        summary.warnings.iter().for_each(|warning| observer.note(&format!("warning: {warning}")));
        Ok(summary)
    };
    let Some(study) = &config.study else {
        let (overrides, settings, folder) = (config.overrides.clone(), &settings, &folder);
        let call = Call { config, case: None, overrides, settings, folder, block_file, interrupts, device };
        return run(call, &setup, observer).map(Outcome::Run);
    };
    study::run(study::read(study)?, &folder, interrupts, observer, |case, observer| {
        let (mut settings, mut setup) = (settings.clone(), setup.clone());
        for (name, value) in &case.assignments {
            assign::<P>(&mut setup, &mut settings, name, value)?;
        }
        let folder = folder.join(&case.name);
        create_folder(&folder)?;
        let assigned = case.assignments.iter().map(|(name, value)| format!("{name}={value}"));
        let overrides = config.overrides.iter().cloned().chain(assigned).collect();
        let (case, block_file, device) = (Some(case.name.clone()), block_file.clone(), start(&settings, &setup));
        let call =
            Call { config, case, overrides, settings: &settings, folder: &folder, block_file, interrupts, device };
        run(call, &setup, observer)
    })
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

/// Runs with the number of threads asked for.
fn in_pool<R: Send>(settings: &Settings, work: impl FnOnce() -> Result<R, SolveError> + Send) -> Result<R, SolveError> {
    let Some(threads) = settings.threads else { return work() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| SolveError::Threads { threads, reason: error.to_string() })?;
    pool.install(work)
}

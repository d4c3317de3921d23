//! From a deck to a block file: read, apply the job, partition, arrange, write; [`voxel`] does it with a stack,
//! [`spring`] with either and springs, [`eikonal`] with a mesh for arrival times.
//!
//! Each stage consumes what the one before gave, so that the deck's tables are gone before the partition is made and the
//! partition's before the file is written.

mod summary;

use std::path::{Path, PathBuf};

use pogo_formats::block::{Provenance, Source};
use pogo_formats::dynamics::Boundary;
use pogo_formats::explicit::block::ExplicitContents;
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::explicit::{AbsorbingLayer, AbsorbingProfile, Explicit, Model};
use pogo_formats::job::JobFile;
use pogo_formats::physics::{Physics, write_block};
use pogo_formats::read::deck;
use pogo_formats::read::deck::{DeckError, DeckReport, Note};

use super::apply_job;
use super::apply_job::Remarks;
use super::arrange::{ArrangeOptions, Arranged, arrange_in_stages};
use crate::partition::{PartitionOptions, partition};

use super::remap_setup;
use crate::prepare::{Clock, PipelineError, Progress, check_place, nothing_recorded};

pub use summary::{CheckReport, StageSeconds, Summary};

/// What to make a block file of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Abaqus deck.
    pub deck: PathBuf,
    /// TOML jobs; later ones win.
    pub jobs: Vec<PathBuf>,
    /// Block file to write.
    pub output: PathBuf,
    /// Keywords that may be left out although they change the physics.
    pub ignore: Vec<String>,
    /// How to cut.
    pub partition: PartitionOptions,
    /// How to arrange.
    pub arrange: ArrangeOptions,
}

impl Config {
    /// The block file that belongs to a deck: the same name with `.blk`, in the same folder.
    pub fn default_output(deck: &Path) -> PathBuf {
        deck.with_extension("blk")
    }

    /// The options that decide what is in the file, as on the command line.
    fn options(&self) -> Vec<String> {
        let mut options = vec![
            format!("--partition {}", self.partition.partitioner.name()),
            format!("--block-nodes {}", self.partition.capacity),
        ];
        if self.arrange.paper_limits {
            options.push("--paper-limits".to_owned());
        }
        options.extend(self.ignore.iter().map(|keyword| format!("--ignore {keyword}")));
        options
    }
}

/// A model with what reading it taught.
struct Loaded {
    model: Model,
    report: DeckReport,
    notes: Vec<Note>,
    remarks: Remarks,
}

/// Reads the deck and applies the jobs.
fn load(
    config: &Config,
    progress: &dyn Progress,
    clock: &mut Clock,
    seconds: &mut StageSeconds,
) -> Result<Loaded, PipelineError> {
    progress.stage("read");
    let job = if config.jobs.is_empty() { None } else { Some(ExplicitJob::read(&config.jobs)?) };
    let mut deck = deck::read(&config.deck, &apply_job::read_options(job.as_ref(), config.ignore.clone()))?;
    seconds.read = clock.lap();

    progress.stage("apply");
    let mut remarks = Remarks::default();
    if let Some(job) = &job {
        remarks = apply_job::apply_to_deck(&mut deck, job)?;
    }
    let report = deck.report.clone();
    let (mut model, notes) = deck.finish()?;
    if let Some(job) = &job {
        let more = apply_job::apply_to_model(&mut model, job)?;
        remarks.notes.extend(more.notes);
        remarks.warnings.extend(more.warnings);
    }
    let setup = &model.setup;
    if setup.histories.is_empty() && setup.element_histories.is_empty() && setup.fields.is_empty() {
        remarks.notes.push(nothing_recorded(&config.deck));
    }
    remarks.warnings.extend(overruled(&model).iter().map(|text| format!("{}: warning: {text}", config.deck.display())));
    seconds.apply = clock.lap();
    Ok(Loaded { model, report, notes, remarks })
}

/// So many of them are told of.
const MOST_OVERRULED: usize = 5;

/// Boundary conditions that move nodes, where a later one prescribes the same component otherwise.
fn overruled(model: &Model) -> Vec<String> {
    let (boundaries, dimension) = (&model.setup.boundaries, model.mesh.dimension as usize);
    if boundaries.iter().all(|boundary| boundary.value == 0.0) {
        return Vec::new();
    }
    let dof = |boundary: &Boundary, node: u32| node as usize * dimension + usize::from(boundary.component);
    let mut last = vec![0; model.mesh.n_nodes() * dimension];
    for (index, boundary) in boundaries.iter().enumerate() {
        boundary.nodes.iter().for_each(|&node| last[dof(boundary, node)] = index);
    }
    let what = |boundary: &Boundary| (boundary.kind, boundary.value, boundary.amplitude);
    let moving = boundaries.iter().filter(|boundary| boundary.value != 0.0);
    let texts = moving.filter_map(|boundary| {
        let winners = boundary.nodes.iter().map(|&node| &boundaries[last[dof(boundary, node)]]);
        let mut other = winners.filter(|winner| what(winner) != what(boundary));
        let first = other.next()?;
        let (lost, all) = (1 + other.count(), boundary.nodes.len());
        Some(format!(
            "boundary `{}` does nothing at {lost} of its {all} nodes: the later `{}` does",
            boundary.name, first.name
        ))
    });
    texts.take(MOST_OVERRULED).collect()
}

/// Makes a block file. Either the whole new file is there afterwards, or whatever was there before.
///
/// # Errors
/// [`PipelineError`].
pub fn run(config: &Config, progress: &dyn Progress) -> Result<Summary, PipelineError> {
    check_output(config)?;
    let (mut clock, mut seconds) = (Clock::new(), StageSeconds::default());
    let Loaded { model: Model { mesh, mut setup }, report, notes, remarks } =
        load(config, progress, &mut clock, &mut seconds)?;
    let mut sources = Vec::new();
    let jobs = config.jobs.iter().cloned();
    for path in report.files.iter().map(PathBuf::from).chain(jobs) {
        sources.push(Source::of_file(&path).map_err(|error| PipelineError::Source { path, error })?);
    }

    progress.stage("partition");
    let cut = partition(&mesh.view(), &config.partition, &|done| progress.fraction(done))
        .map_err(|error| PipelineError::Partition { deck: config.deck.clone(), error })?;
    seconds.partition = clock.lap();

    progress.stage("arrange");
    let reduces = |layer: &AbsorbingLayer| matches!(layer.profile, AbsorbingProfile::StiffnessReduction { .. });
    let fans_alone = !setup.absorbing_layers.iter().any(reduces);
    let options = ArrangeOptions { fans_alone, ..config.arrange.clone() };
    let Arranged { mesh, blocks, device, statistics, seconds: blocking_seconds, device_seconds, solver_from_model } =
        arrange_in_stages(mesh, cut, &options, &|| progress.stage("tables"))
            .map_err(|error| PipelineError::Arrange { deck: config.deck.clone(), error })?;
    remap_setup(&mut setup, &solver_from_model);
    drop(solver_from_model);
    seconds.tables = device_seconds;
    seconds.arrange = clock.lap() - device_seconds;

    progress.stage("write");
    let provenance = Provenance::new(Explicit::NAME, sources, config.options());
    let contents = ExplicitContents { mesh: &mesh, blocks: &blocks, device: &device, statistics: &statistics };
    let bytes = write_block::<Explicit>(&config.output, contents, &setup, &provenance)?;
    seconds.write = clock.lap();
    seconds.total = clock.start.elapsed().as_secs_f64();

    Ok(Summary::new(config, &mesh, (statistics, blocking_seconds), bytes, seconds, &notes, remarks))
}

/// Reads everything and reports, without writing anything.
///
/// Problems of deck and job are part of the report. Nothing else can go wrong.
pub fn check(config: &Config, progress: &dyn Progress) -> CheckReport {
    match load(config, progress, &mut Clock::new(), &mut StageSeconds::default()) {
        Ok(Loaded { model, report, notes, remarks }) => {
            CheckReport::good(&config.deck, &model, report, &notes, remarks)
        }
        Err(error) => {
            let problems = error.to_string().lines().map(str::to_owned).collect();
            let report = match error {
                PipelineError::Deck(DeckError { report, .. }) => report.map(|report| *report),
                _ => None,
            };
            CheckReport::bad(&config.deck, report, problems)
        }
    }
}

/// What is wrong with the output should be said before the work, and `-o mesh.inp` must not cost the mesh.
fn check_output(config: &Config) -> Result<(), PipelineError> {
    if config.deck.is_dir() {
        let error = DeckError::new(&config.deck.display().to_string(), "it is a folder; name a deck");
        return Err(error.into());
    }
    check_place(&config.output, std::iter::once(&config.deck).chain(&config.jobs))
}

#[cfg(test)]
mod tests;

//! From a deck to a block file: read, apply the job, partition, arrange, write.
//!
//! Each stage consumes what the one before gave, so that the deck's tables are freed before the partition is made and the
//! partition's before the file is written.

use std::fmt::{self, Display};

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::Boundary;
use pogo_formats::explicit::block::{Explicit, ExplicitContents, PartitionStatistics};
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::explicit::{AbsorbingProfile, Model};
use pogo_formats::job::JobFile as _;
use pogo_formats::mesh::Mesh;
use pogo_formats::physics::write_block;
use pogo_formats::read::deck::{self, DeckError, DeckReport, Note, SetCount};
use pogo_formats::words::grouped;
use serde::Serialize;

use super::arrange::{ArrangeOptions, arrange_blocks};
use super::{apply_job, remap_setup};
use crate::partition::{PartitionOptions, Partitioner, partition};
use crate::prepare::options::{BlockOptions, DeckOptions};
use crate::prepare::{Figures, InputKind, Prepare, PrepareError, Remarks, Request, Work, count, nothing_recorded};

/// Most boundary conditions without effect that are named.
const MOST_OVERRULED: usize = 5;
/// Most sets that `--check` names.
const MOST_SETS: usize = 12;

/// Options for a deck of explicit dynamics.
#[derive(Debug, Clone, clap::Args)]
pub struct ExplicitOptions {
    /// How to cut the mesh of a deck into blocks.
    #[arg(long, value_enum, default_value = "aligned", value_name = "METHOD")]
    pub partition: Partitioner,
    #[command(flatten)]
    pub blocks: BlockOptions,
    /// Split blocks until they keep the paper's limits (20 loads, 128 boundary nodes).
    #[arg(long)]
    pub paper_limits: bool,
    #[command(flatten)]
    pub deck: DeckOptions,
}

impl ExplicitOptions {
    fn capacity(&self) -> usize {
        self.blocks.block_nodes.map_or(PartitionOptions::default().capacity, usize::from)
    }
}

impl Prepare for Explicit {
    const INPUT: &'static str = "deck";
    const DEFAULT_FOR: Option<InputKind> = Some(InputKind::Deck);
    const IN_JOBS: bool = false;
    type Options = ExplicitOptions;
    type Model = (Model, DeckReport);
    type Contents = DeckContents;
    type Figures = ExplicitFigures;

    fn command_line(options: &ExplicitOptions) -> Vec<String> {
        let mut text =
            vec![format!("--partition {}", options.partition.name()), format!("--block-nodes {}", options.capacity())];
        text.extend(options.paper_limits.then(|| "--paper-limits".to_owned()));
        text.extend(options.deck.command_line());
        text
    }

    fn read(request: &Request, options: &ExplicitOptions, work: &mut Work) -> Result<Self::Model, PrepareError> {
        if request.input.is_dir() {
            let error = DeckError::new(&request.input.display().to_string(), "it is a folder; name a deck");
            return Err(error.into());
        }
        work.stage("read");
        let job = if request.jobs.is_empty() { None } else { Some(ExplicitJob::read(&request.jobs)?) };
        let read_options = apply_job::read_options(job.as_ref(), options.deck.ignore.clone());
        let mut deck = deck::read(&request.input, &read_options)?;

        work.stage("apply");
        if let Some(job) = &job {
            apply_job::apply_to_deck(&mut deck, job, &mut work.remarks)?;
        }
        let report = deck.report.clone();
        work.sources.extend(report.files.iter().map(Into::into));
        let (mut model, notes) = deck.finish()?;
        if let Some(job) = &job {
            apply_job::apply_to_model(&mut model, job, &mut work.remarks)?;
        }
        let setup = &model.setup;
        if setup.histories.is_empty() && setup.element_histories.is_empty() && setup.fields.is_empty() {
            work.remarks.notes.push(nothing_recorded(&request.input));
        }
        let file = request.input.display();
        work.remarks.warnings.extend(overruled(&model).map(|text| format!("{file}: warning: {text}")));
        put_first(&notes, &mut work.remarks);
        Ok((model, report))
    }

    fn contents((model, report): &Self::Model, _: &Remarks) -> DeckContents {
        DeckContents {
            report: Some(report.clone()),
            nodes: Some(model.mesh.n_nodes() as u64),
            element_kinds: element_kinds(&model.mesh),
        }
    }

    fn contents_of_failure(error: &PrepareError) -> DeckContents {
        match error {
            PrepareError::Deck(DeckError { report, .. }) => {
                DeckContents { report: report.as_deref().cloned(), ..DeckContents::default() }
            }
            _ => DeckContents::default(),
        }
    }

    fn write(
        (Model { mesh, mut setup }, _): Self::Model,
        request: &Request,
        options: &ExplicitOptions,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<(u64, ExplicitFigures), PrepareError> {
        work.stage("partition");
        let capacity = options.capacity();
        let partition_options = PartitionOptions { partitioner: options.partition, capacity };
        let partition = partition(&mesh.view(), &partition_options, &|done| work.fraction(done))
            .map_err(|error| PrepareError::model(&request.input, error))?;

        work.stage("arrange");
        let scales_stiffness = setup
            .absorbing_layers
            .iter()
            .any(|layer| matches!(layer.profile, AbsorbingProfile::StiffnessReduction { .. }));
        let options = ArrangeOptions { paper_limits: options.paper_limits, fans_alone: !scales_stiffness };
        let arranged =
            arrange_blocks(mesh, partition, &options).map_err(|error| PrepareError::model(&request.input, error))?;
        work.stage("tables");
        let arranged = arranged.with_device_tables(&options);
        remap_setup(&mut setup, &arranged.solver_from_model);

        work.stage("write");
        let (mesh, blocks, device, statistics) =
            (&arranged.mesh, &arranged.blocks, &arranged.device, &arranged.statistics);
        let contents = ExplicitContents { mesh, blocks, device, statistics };
        let bytes = write_block::<Self>(&request.output, contents, &setup, provenance)?;
        Ok((bytes, ExplicitFigures::new(mesh, statistics, arranged.seconds, capacity)))
    }
}

/// Puts the notes and warnings of the deck's reader before those of the job.
fn put_first(notes: &[Note], remarks: &mut Remarks) {
    let texts = |warnings: bool| notes.iter().filter(move |note| note.is_warning == warnings).map(Note::to_string);
    remarks.notes.splice(0..0, texts(false));
    remarks.warnings.splice(0..0, texts(true));
}

/// Boundary conditions that move nodes but have no effect on some of them, because a later condition prescribes the same
/// component otherwise.
fn overruled(model: &Model) -> impl Iterator<Item = String> {
    let (boundaries, dimension) = (&model.setup.boundaries, model.mesh.dimension as usize);
    let dof = move |boundary: &Boundary, node: u32| node as usize * dimension + usize::from(boundary.component);
    let moves = boundaries.iter().any(|boundary| boundary.value != 0.0);
    let mut last = vec![0; if moves { model.mesh.n_nodes() * dimension } else { 0 }];
    for (index, boundary) in boundaries.iter().enumerate().filter(|_| moves) {
        boundary.nodes.iter().for_each(|&node| last[dof(boundary, node)] = index);
    }
    let prescribed = |boundary: &Boundary| (boundary.kind, boundary.value, boundary.amplitude);
    let moving = boundaries.iter().filter(|boundary| boundary.value != 0.0);
    let texts = moving.filter_map(move |boundary| {
        let winners = boundary.nodes.iter().map(|&node| &boundaries[last[dof(boundary, node)]]);
        let mut other = winners.filter(|winner| prescribed(winner) != prescribed(boundary));
        let first = other.next()?;
        let (lost, all) = (1 + other.count(), boundary.nodes.len());
        Some(format!(
            "boundary `{}` does nothing at {lost} of its {all} nodes: the later `{}` does",
            boundary.name, first.name
        ))
    });
    texts.take(MOST_OVERRULED)
}

fn element_kinds(mesh: &Mesh) -> Vec<(String, u64)> {
    mesh.groups.iter().map(|group| (group.kind.name().to_owned(), group.len() as u64)).collect()
}

/// Figures of a block file of explicit dynamics. The figures of the blocks are those of Tables 2 and 4 of the paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplicitFigures {
    pub nodes: u64,
    pub elements: u64,
    pub element_kinds: Vec<(String, u64)>,
    /// 2 or 3.
    pub dimension: u32,
    /// `aligned`, `greedy` or `metis`.
    pub partitioner: String,
    /// Most nodes in a block.
    pub block_nodes: u64,
    /// The paper's limits were enforced.
    pub paper_limits: bool,
    pub blocks: u64,
    /// η = nodes / (blocks × `block_nodes`).
    pub block_efficiency: f64,
    /// Mean number of linked-data loads of a block.
    pub mean_loads: f64,
    pub max_loads: u32,
    /// Mean number of blocks that a block is linked to.
    pub mean_linked_blocks: f64,
    pub max_linked_blocks: u32,
    /// Halo nodes over own nodes.
    pub halo_fraction: f64,
    /// Blocks beyond one of the paper's limits.
    pub beyond_paper_limits: u64,
    /// Partitioning, arranging and making the tables for devices, s.
    pub blocking_seconds: f64,
}

impl ExplicitFigures {
    fn new(mesh: &Mesh, statistics: &PartitionStatistics, blocking_seconds: f64, capacity: usize) -> Self {
        Self {
            nodes: mesh.n_nodes() as u64,
            elements: mesh.n_elements() as u64,
            element_kinds: element_kinds(mesh),
            dimension: mesh.dimension,
            partitioner: statistics.partitioner.clone(),
            block_nodes: capacity as u64,
            paper_limits: statistics.paper_limits,
            blocks: statistics.n_blocks,
            block_efficiency: statistics.efficiency,
            mean_loads: statistics.mean_loads,
            max_loads: statistics.max_loads,
            mean_linked_blocks: statistics.mean_linked_blocks,
            max_linked_blocks: statistics.max_linked_blocks,
            halo_fraction: statistics.halo_fraction,
            beyond_paper_limits: statistics.n_beyond_paper_limits,
            blocking_seconds,
        }
    }
}

impl Figures for ExplicitFigures {
    fn size(&self) -> (u64, &'static str) {
        (self.nodes, "node")
    }
}

impl Display for ExplicitFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {}", count(self.nodes, "node"), kinds(&self.element_kinds))?;
        writeln!(
            f,
            "  {} of at most {} ({}{}), efficiency {:.4}",
            count(self.blocks, "block"),
            count(self.block_nodes, "node"),
            self.partitioner,
            if self.paper_limits { ", the paper's limits kept" } else { "" },
            self.block_efficiency
        )?;
        writeln!(
            f,
            "  a block: {:.1} loads (at most {}), {:.1} linked blocks (at most {}); halo {:.1} %; {} beyond the paper's limits",
            self.mean_loads,
            self.max_loads,
            self.mean_linked_blocks,
            self.max_linked_blocks,
            100.0 * self.halo_fraction,
            grouped(self.beyond_paper_limits)
        )
    }
}

/// What `--check` reports of a deck.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DeckContents {
    /// What is in the deck; none where reading did not get that far.
    pub report: Option<DeckReport>,
    /// Nodes of the model, after the job.
    pub nodes: Option<u64>,
    /// Elements of the model by kind, after the job.
    pub element_kinds: Vec<(String, u64)>,
}

impl Display for DeckContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(report) = &self.report else { return Ok(()) };
        if !report.title.is_empty() {
            writeln!(f, "  title            {}", report.title)?;
        }
        let types = report.elements.iter().map(|found| {
            let note = if found.supported { "" } else { " (not computed)" };
            format!("{} {}{note}", grouped(found.count), found.name)
        });
        writeln!(f, "  as written       {}; elements: {}", count(report.node_lines, "node"), or_none(types))?;
        writeln!(
            f,
            "  after instancing {}, {} of kinds that Pogo computes",
            count(report.n_nodes, "node"),
            count(report.n_elements, "element")
        )?;
        if let Some(nodes) = self.nodes {
            writeln!(f, "  the model        {}, {}", count(nodes, "node"), kinds(&self.element_kinds))?;
        }
        writeln!(f, "  node sets        {}", set_names(&report.node_sets))?;
        writeln!(f, "  element sets     {}", set_names(&report.element_sets))?;
        writeln!(f, "  materials        {}", or_none(report.materials.iter().cloned()))?;
        let steps = report.steps.iter().map(|step| match (step.name.as_str(), step.procedure.as_str()) {
            ("", "") => "without a name or procedure".to_owned(),
            ("", procedure) => procedure.to_owned(),
            (name, "") => format!("{name} (no procedure)"),
            (name, procedure) => format!("{name} ({procedure})"),
        });
        writeln!(f, "  steps            {}", or_none(steps))
    }
}

fn set_names(sets: &[SetCount]) -> String {
    let shown = or_none(sets.iter().take(MOST_SETS).map(|set| format!("{} ({})", set.name, set.count)));
    match sets.len().saturating_sub(MOST_SETS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn or_none(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// `1,800 elements (CPE3)`, or `3 elements (1 CPE4R, 2 CPE3)`.
fn kinds(kinds: &[(String, u64)]) -> String {
    let total: u64 = kinds.iter().map(|(_, count)| count).sum();
    let names = match kinds {
        [(kind, _)] => kind.clone(),
        _ => kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count))).collect::<Vec<_>>().join(", "),
    };
    format!("{} ({names})", count(total, "element"))
}

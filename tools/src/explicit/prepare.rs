//! From a deck to a block file: read, apply the job, partition, arrange, write.
//!
//! Each stage consumes what the one before gave, so that the deck's tables are freed before the partition is made and the
//! partition's before the file is written.

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::Boundary;
use pogo_formats::explicit::block::{Explicit, ExplicitContents, StatisticsView};
use pogo_formats::explicit::job::ExplicitJob;
use pogo_formats::explicit::{AbsorbingProfile, Model};
use pogo_formats::job::JobFile as _;
use pogo_formats::mesh::Mesh;
use pogo_formats::physics::write_block;
use pogo_formats::read::deck::{self, Counts, DeckError, DeckReport, Note, ReadOptions, SetCount};
use pogo_formats::read::mesh::{self, is_mesh_file};
use pogo_formats::system::memory::Need;
use pogo_formats::timings::timed;
use pogo_formats::words::{counted, grouped};

use super::arrange::{ArrangeOptions, arrange_blocks};
use super::convert::{self, PogoVersion};
use super::info::figures_of_blocks;
use super::{apply_job, fluid, remap_setup, renumber};
use crate::cli::word;
use crate::listing::Listing;
use crate::partition::{PartitionOptions, Partitioner, partition};
use crate::prepare::options::{BlockOptions, DeckOptions, PogoFileOptions};
use crate::prepare::{InputKind, Made, Prepare, PrepareError, Remarks, Request, Work, nothing_recorded};

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
    #[command(flatten)]
    pub pogo: PogoFileOptions,
    /// Version of the .pogo-inp file that -o names: 1.07 to 1.15.
    #[arg(long, value_name = "VERSION", default_value_t = PogoVersion::default())]
    pub pogo_version: PogoVersion,
}

impl ExplicitOptions {
    fn capacity(&self) -> usize {
        self.blocks.block_nodes.map_or(PartitionOptions::default().capacity, usize::from)
    }
}

impl Prepare for Explicit {
    const INPUT: &'static str = "deck";
    const DEFAULT_FOR: Option<InputKind> = Some(InputKind::Deck);
    const IN_JOBS: bool = true;
    const OWN_TABLES: &'static [&'static str] = &["material", "section", "source", "monitor", "absorbing", "shot"];
    const WRITES_INPUTS: bool = true;
    type Options = ExplicitOptions;
    type Model = (Model, DeckReport);

    fn command_line(options: &ExplicitOptions) -> Vec<String> {
        let mut text =
            vec![format!("--partition {}", word(&options.partition)), format!("--block-nodes {}", options.capacity())];
        text.extend(options.paper_limits.then(|| "--paper-limits".to_owned()));
        text.extend(options.deck.command_line());
        text.extend(options.pogo.command_line());
        text
    }

    /// Measured on boxes of 60,000 and 250,000 nodes of all kinds of elements; nodes of solids on one of a million C3D8R, too, as
    /// balancing blocks takes more of these than it did.
    fn memory(request: &Request, options: &ExplicitOptions) -> Need {
        let Counts { mut nodes, mut connections, is_solid } = Counts::of(&request.input);
        if options.deck.split_second_order {
            // Of hexahedra of 20 nodes: eight parts of 8 nodes each; 4 nodes an element become 8.
            (nodes, connections) = (2 * nodes, connections * 64 / 20);
        }
        let mut need = Need::default();
        if nodes > 0 {
            need.add("for the program", 10e6);
            need.add("for nodes", nodes as f64 * if is_solid { 230.0 } else { 61.0 });
            need.add("for elements", 26.5 * connections as f64);
        }
        need
    }

    fn read(request: &Request, options: &ExplicitOptions, work: &mut Work) -> Result<Self::Model, PrepareError> {
        if request.input.is_dir() {
            let error = DeckError::new(&request.input.display().to_string(), "it is a folder; name a deck");
            return Err(error.into());
        }
        work.stage("read");
        let job = if request.jobs.is_empty() { None } else { Some(ExplicitJob::read(&request.jobs)?) };
        let read_options = ReadOptions { pogo: options.pogo.reader(), ..options.deck.reader() };
        let read_options = apply_job::read_options(job.as_ref(), read_options);
        let makes_sections = job
            .as_ref()
            .is_some_and(|job| !(job.sections.is_empty() && job.materials.is_empty() && job.grains.is_empty()));
        let mut deck = if is_mesh_file(&request.input) {
            mesh::read_deck(&request.input, &read_options)?
        } else {
            let deck = deck::read(&request.input, &read_options);
            deck.map_err(|error| error.with_missing(&read_options, makes_sections))?
        };

        work.stage("apply");
        if let Some(job) = &job {
            apply_job::apply_to_deck(&mut deck, job, &mut work.remarks)?;
        }
        let report = deck.report.clone();
        work.sources.extend(report.paths.iter().cloned());
        let (mut model, notes) = deck.finish()?;
        if let Some(job) = &job {
            apply_job::apply_to_model(&mut model, job, &mut work.remarks)?;
        }
        fluid::divide(&mut model, &request.input.display().to_string(), &mut work.remarks)
            .map_err(|error| PrepareError::model(&request.input, error))?;
        let setup = &model.setup;
        if setup.histories.is_empty() && setup.element_histories.is_empty() && setup.fields.is_empty() {
            work.remarks.notes.push(nothing_recorded(&request.input));
        }
        let file = request.input.display();
        work.remarks.warnings.extend(overruled(&model).map(|text| format!("{file}: warning: {text}")));
        put_first(&notes, &mut work.remarks);
        Ok((model, report))
    }

    fn contents(read: Result<&Self::Model, &PrepareError>, _: &Remarks) -> Listing {
        // The report of a deck that cannot be used is that of its reader, if it got that far.
        let (mesh, report) = match read {
            Ok((model, report)) => (Some(&model.mesh), Some(report)),
            Err(PrepareError::Deck(DeckError { report, .. })) => (None, report.as_deref()),
            Err(_) => (None, None),
        };
        let mut contents = Listing::default();
        contents.figure("report", &report);
        contents.figure("nodes", &mesh.map(Mesh::n_nodes));
        contents.figure("element_kinds", &mesh.map_or_else(Vec::new, element_kinds));
        if let Some(report) = report {
            describe(report, mesh, &mut contents);
        }
        contents
    }

    fn write(
        (Model { mesh, mut setup }, _): Self::Model,
        request: &Request,
        options: &ExplicitOptions,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<Made, PrepareError> {
        if let Some(kind) = convert::Kind::of(&request.output) {
            work.stage("write");
            return converted(&Model { mesh, setup }, kind, request, options, work);
        }
        work.stage("partition");
        let mesh = timed("order nodes", || renumber::put_in_order(mesh, &mut setup));
        let capacity = options.capacity();
        let partition_options = PartitionOptions { partitioner: options.partition, capacity };
        let partition = partition(&mesh.view(), &partition_options, &|done| work.fraction(done))
            .map_err(|error| PrepareError::model(&request.input, error))?;
        let partition = fluid::join_pairs(partition, &setup.interface);

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
        let figures = figures(mesh, &statistics.view(), arranged.seconds, capacity);
        Ok(Made { bytes, figures, size: (mesh.n_nodes(), "node") })
    }
}

/// Writes a model as another input.
fn converted(
    model: &Model,
    kind: convert::Kind,
    request: &Request,
    options: &ExplicitOptions,
    work: &mut Work,
) -> Result<Made, PrepareError> {
    let (bytes, warnings) = convert::save(model, kind, options.pogo_version, &request.input, &request.output)?;
    work.remarks.warn_of(&request.output, warnings);
    let (mesh, element_kinds) = (&model.mesh, element_kinds(&model.mesh));
    let mut figures = Listing::default();
    figures.figure("nodes", &mesh.n_nodes());
    figures.figure("elements", &mesh.n_elements());
    figures.figure("element_kinds", &element_kinds);
    figures.text(format_args!("{}, {}", counted(mesh.n_nodes(), "node"), kinds(&element_kinds)));
    Ok(Made { bytes, figures, size: (mesh.n_nodes(), "node") })
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

/// Figures of a block file. Those of the blocks are the figures of Tables 2 and 4 of the paper.
fn figures(mesh: &Mesh, of: &StatisticsView, blocking_seconds: f64, capacity: usize) -> Listing {
    let element_kinds = element_kinds(mesh);
    let mut figures = Listing::default();
    figures.figure("nodes", &mesh.n_nodes());
    figures.figure("elements", &mesh.n_elements());
    figures.figure("element_kinds", &element_kinds);
    figures.figure("dimension", &mesh.dimension);
    figures.extend(figures_of_blocks(of, capacity, ["block_nodes", "block_efficiency"]));
    figures.figure("blocking_seconds", &blocking_seconds);
    figures.text(format_args!("{}, {}", counted(mesh.n_nodes(), "node"), kinds(&element_kinds)));
    let (blocks, nodes) = (counted(of.n_blocks as usize, "block"), counted(capacity, "node"));
    let limits = if of.paper_limits { ", the paper's limits kept" } else { "" };
    let (partitioner, efficiency) = (of.partitioner, of.efficiency);
    figures.text(format_args!("  {blocks} of at most {nodes} ({partitioner}{limits}), efficiency {efficiency:.4}"));
    let loads = format!("{:.1} loads (at most {})", of.mean_loads, of.max_loads);
    let linked = format!("{:.1} linked blocks (at most {})", of.mean_linked_blocks, of.max_linked_blocks);
    let (halo, beyond) = (100.0 * of.halo_fraction, grouped(of.n_beyond_paper_limits));
    figures.text(format_args!("  a block: {loads}, {linked}; halo {halo:.1} %; {beyond} beyond the paper's limits"));
    figures
}

/// What is in a deck, in words; the mesh is that of the model, after the job.
fn describe(report: &DeckReport, mesh: Option<&Mesh>, contents: &mut Listing) {
    let mut line = |heading: &str, text: String| contents.text(format_args!("  {heading:<16} {text}"));
    if !report.title.is_empty() {
        line("title", report.title.clone());
    }
    let types = report.elements.iter().map(|found| {
        let note = if found.supported { "" } else { " (not computed)" };
        format!("{} {}{note}", grouped(found.count), found.name)
    });
    let count = |n: u64, what: &str| counted(n as usize, what);
    line("as written", format!("{}; elements: {}", count(report.node_lines, "node"), or_none(types)));
    let (nodes, elements) = (count(report.n_nodes, "node"), count(report.n_elements, "element"));
    line("after instancing", format!("{nodes}, {elements} of kinds that Pogo computes"));
    if let Some(mesh) = mesh {
        line("the model", format!("{}, {}", counted(mesh.n_nodes(), "node"), kinds(&element_kinds(mesh))));
    }
    line("node sets", set_names(&report.node_sets));
    line("element sets", set_names(&report.element_sets));
    line("materials", or_none(report.materials.iter().cloned()));
    let steps = report.steps.iter().map(|step| match (step.name.as_str(), step.procedure.as_str()) {
        ("", "") => "without a name or procedure".to_owned(),
        ("", procedure) => procedure.to_owned(),
        (name, "") => format!("{name} (no procedure)"),
        (name, procedure) => format!("{name} ({procedure})"),
    });
    line("steps", or_none(steps));
    for (name, value) in &report.details {
        let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        line(name, value);
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
    format!("{} ({names})", counted(total as usize, "element"))
}

//! From a voxel stack or a deck and a job to the block file of a mass-spring-damper model.

use std::collections::BTreeSet;

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::{FieldQuantity, Increment, Load, LoadKind};
use pogo_formats::job::{JobError, JobFile as _};
use pogo_formats::physics::write_block;
use pogo_formats::read::deck::{self, Deck, ReadOptions};
use pogo_formats::read::image::Report;
use pogo_formats::spring::block::{Spring, SpringContents};
use pogo_formats::spring::build::{BLOCK_SIZE, BuildError};
use pogo_formats::spring::job::{Solver, SpringJob};
use pogo_formats::spring::{Gravity, SpringFields, SpringMesh, SpringMeshView, SpringSetup};
use pogo_formats::words::{counted, grouped};

use super::info::springs_by_group;
use super::{Given, edges, mesh_of_edges, mesh_of_voxels, setup};
use crate::conditions::Conditions;
use crate::listing::Listing;
use crate::prepare::options::{BlockOptions, DeckOptions};
use crate::prepare::{
    InputKind, Made, Prepare, PrepareError, Remarks, Request, Work, files_of, is_deck, nothing_recorded,
};

/// Most groups that the report names.
const MOST_GROUPS: usize = 20;
/// Most particles in a block.
const MOST_PARTICLES: usize = 16_384;

/// Options for a mass-spring-damper model.
#[derive(Debug, Clone, clap::Args)]
pub struct SpringOptions {
    #[command(flatten)]
    pub blocks: BlockOptions,
    #[command(flatten)]
    pub deck: DeckOptions,
}

impl SpringOptions {
    fn block_size(&self) -> usize {
        self.blocks.block_nodes.map_or(BLOCK_SIZE, usize::from)
    }
}

/// A model with its conditions.
pub struct SpringModel {
    mesh: SpringMesh,
    setup: SpringSetup,
    image: Option<Report>,
}

impl Prepare for Spring {
    const INPUT: &'static str = "input";
    const DEFAULT_FOR: Option<InputKind> = None;
    const IN_JOBS: bool = true;
    type Options = SpringOptions;
    type Model = SpringModel;

    fn command_line(options: &SpringOptions) -> Vec<String> {
        let size = format!("--block-nodes {}", options.block_size());
        std::iter::once(size).chain(options.deck.command_line()).collect()
    }

    fn read(request: &Request, options: &SpringOptions, work: &mut Work) -> Result<SpringModel, PrepareError> {
        let block_size = options.block_size();
        if !block_size.is_multiple_of(32) || block_size > MOST_PARTICLES {
            let reason = format!(
                "--block-nodes {block_size}: blocks of springs have a multiple of 32 particles, at most {MOST_PARTICLES}"
            );
            return Err(PrepareError::option(&request.input, reason));
        }
        work.stage("read");
        let job = SpringJob::read(&request.jobs)?;
        let found = if is_deck(&request.input) {
            Found::in_deck(request, options, &job, work)?
        } else {
            Found::in_stack(request, options, &job, work)?
        };

        work.stage("setup");
        let Found { mesh, given, time, image } = found;
        let mut setup = setup(&mesh, given, &job, &mut work.remarks)?;
        if setup.histories.is_empty() && setup.fields.is_empty() {
            work.remarks.notes.push(nothing_recorded(&request.input));
        }
        let solver = &job.solver.value;
        match time {
            _ if solver.time.is_some() => {}
            None => return Err(job.solver.place.error("how long is the run? give `time` in [solver]").into()),
            Some((time, increment)) => {
                setup.solver.time = time;
                if let (None, Increment::Fixed(_)) = (&solver.increment, increment) {
                    setup.solver.increment = increment;
                }
            }
        }
        Ok(SpringModel { mesh, setup, image })
    }

    fn contents(read: Result<&SpringModel, &PrepareError>, remarks: &Remarks) -> Listing {
        let mesh = read.ok().map(|model| model.mesh.view());
        let sizes = mesh.map(|mesh| (mesh.n_particles(), mesh.n_springs()));
        let mut contents = Listing::default();
        contents.figure("particles", &sizes.map(|(particles, _)| particles));
        contents.figure("springs", &sizes.map(|(_, springs)| springs));
        contents.figure("remarks", &remarks.in_order());
        if let Some((particles, springs)) = sizes {
            let (particles, springs) = (counted(particles, "particle"), counted(springs, "spring"));
            contents.text(format_args!("  the model: {particles}, {springs}"));
        }
        contents
    }

    fn write(
        SpringModel { mesh, setup, image }: SpringModel,
        request: &Request,
        options: &SpringOptions,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<Made, PrepareError> {
        work.stage("write");
        let bytes = write_block::<Self>(&request.output, SpringContents { mesh: &mesh }, &setup, provenance)?;
        let view = mesh.view();
        let figures = figures(&view, &setup, image.as_ref(), options.block_size());
        Ok(Made { bytes, figures, size: (view.n_particles(), "particle") })
    }
}

/// Figures of a block file; `image` is what was found in a stack.
fn figures(mesh: &SpringMeshView, setup: &SpringSetup, image: Option<&Report>, block_size: usize) -> Listing {
    let (n, springs, lists) = (mesh.n_particles(), mesh.n_springs(), &mesh.lists);
    let groups = springs_by_group(mesh, setup);
    let fill = mesh.grid.map(|grid| n as f64 / grid.n_places() as f64);
    let halo = lists.halo.len() as f64 / n.max(1) as f64;
    let most_springs = lists.count.iter().copied().max().unwrap_or(0);
    let mut figures = Listing::default();
    figures.figure("image", &image);
    figures.figure("particles", &n);
    figures.figure("springs", &springs);
    figures.figure("groups", &groups);
    figures.figure("grid", &mesh.grid.map(|grid| grid.size));
    figures.figure("fill", &fill);
    figures.figure("block_size", &block_size);
    figures.figure("blocks", &lists.n_blocks());
    figures.figure("halo_fraction", &halo);
    figures.figure("most_springs", &most_springs);
    figures.figure("loose_particles", &lists.count.iter().filter(|&&count| count == 0).count());

    figures.text(format_args!("{}, {}", counted(n, "particle"), counted(springs, "spring")));
    if let Some(Report { file, format, size: [x, y, z], spacing, unit, notes, .. }) = image {
        figures.text(format_args!("  {file}: {format}, {x} × {y} × {z} voxels of {spacing} {unit}"));
        notes.iter().for_each(|note| figures.text(format_args!("  note: {note}")));
    }
    let mut named: Vec<String> =
        groups.iter().take(MOST_GROUPS).map(|(name, n)| format!("{name} {}", grouped(*n))).collect();
    match groups.len().saturating_sub(MOST_GROUPS) {
        _ if named.is_empty() => named.push("none".to_owned()),
        0 => {}
        more => named.push(format!("and {} more groups", grouped(more as u64))),
    }
    figures.text(format_args!("  springs: {}", named.join(", ")));
    if let (Some(grid), Some(fill)) = (mesh.grid, fill) {
        let [x, y, z] = grid.size;
        figures.text(format_args!("  grid {x} × {y} × {z}, {:.1} % filled", 100.0 * fill));
    }
    let (blocks, particles) = (counted(lists.n_blocks(), "block"), counted(block_size, "particle"));
    let (halo, most) = (100.0 * halo, counted(most_springs.into(), "spring"));
    figures.text(format_args!("  {blocks} of {particles}, halo {halo:.0} %, at most {most} a particle"));
    figures
}

/// What an input holds, before the conditions of the job are added.
struct Found {
    mesh: SpringMesh,
    given: Given,
    /// Length of the run and increment of a deck's step, s.
    time: Option<(f64, Increment)>,
    image: Option<Report>,
}

impl Found {
    fn in_stack(
        request: &Request,
        options: &SpringOptions,
        job: &SpringJob,
        work: &mut Work,
    ) -> Result<Self, PrepareError> {
        let law = job.voxel_law()?;
        let (grid, mut report) = job.image.voxel_grid(&request.input, &law)?;
        work.remarks.warn_of(&request.input, std::mem::take(&mut report.warnings));
        work.sources = files_of(&request.input)?;
        work.stage("mesh");
        let mesh = mesh_of_voxels(&grid, job, options.block_size())
            .map_err(|error| PrepareError::model(&request.input, error))?;
        if let Some(item) = job.springs.iter().find(|item| item.value.says_where()) {
            let text = "`all` and `elset` are for decks: the [[material]] tables say which springs a stack has";
            return Err(item.place.error(text).into());
        }
        for (item, _) in job.materials.iter().zip(&mesh.sets).filter(|(_, set)| set.members.is_empty()) {
            work.remarks.warn(&item.place, format!("no voxel is of material \"{}\"", item.value.name));
        }
        let given = Given {
            groups: job.materials.iter().flat_map(|item| item.value.groups()).collect(),
            materials: job.materials.iter().map(|item| item.value.material()).collect(),
            ..Given::default()
        };
        Ok(Self { mesh, given, time: None, image: Some(report) })
    }

    fn in_deck(
        request: &Request,
        options: &SpringOptions,
        job: &SpringJob,
        work: &mut Work,
    ) -> Result<Self, PrepareError> {
        let job_sets_time = job.solver.value.time.is_some();
        let read_options = ReadOptions { job_sets_time, lines: true, ..options.deck.reader() };
        let deck = deck::read(&request.input, &read_options)?;
        work.sources.clone_from(&deck.report.paths);
        work.stage("mesh");
        let file = request.input.display().to_string();
        if !deck.copied.is_empty() {
            let message = "it has periodic sides (mpi), which springs have not; --ignore MPI leaves them out".into();
            return Err(JobError { file, line: 0, message }.into());
        }
        let mut edges = edges(&deck.mesh, &deck.lines, job)?;
        let unused = without_springs(&deck);
        let (mesh, solver_from_model) =
            mesh_of_edges(&deck.mesh, &edges, options.block_size()).map_err(|error| match error {
                BuildError::Empty => {
                    let why = unused.as_ref().map_or_else(String::new, |unused| format!(" ({unused})"));
                    JobError { file: file.clone(), line: 0, message: format!("it has no spring{why}") }.into()
                }
                error => PrepareError::model(&request.input, error),
            })?;
        edges.remarks.warnings.extend(unused.map(|unused| format!("warning: {unused}")));
        remark_on_deck(&deck, std::mem::take(&mut edges.remarks), job, &file, &mut work.remarks);

        let gravity = gravity_of(&deck, job, &mesh, &solver_from_model, &file, &mut work.remarks);
        for history in &deck.element_histories {
            let text = format!("springs have no element histories: that of {} is left out", history.set);
            work.remarks.notes.push(format!("{file}: note: {text}"));
        }
        let point_forces = |load: &Load| matches!(load.kind, LoadKind::Concentrated { .. });
        let mut conditions = Conditions {
            amplitudes: deck.amplitudes,
            loads: deck.loads.into_iter().filter(point_forces).collect(),
            boundaries: deck.boundaries,
            initial_velocities: deck.initial_velocities,
            histories: deck.histories,
        };
        conditions.renumber(&solver_from_model);
        retain_particles(&mut conditions);
        let fields = deck.fields.iter().map(|request| SpringFields {
            interval: request.interval.clone(),
            springs: true,
            velocity: request.quantities.contains(&FieldQuantity::Velocity),
        });
        let (title, fields) = (deck.title, fields.collect());
        let given = Given { title, conditions, gravity, fields, groups: edges.groups, materials: edges.materials };
        let time = deck.step.filter(|step| step.time > 0.0);
        Ok(Self { mesh, given, time: time.map(|step| (step.time, step.increment)), image: None })
    }
}

/// The elements of a deck that cannot become springs, in words; none if there are none.
fn without_springs(deck: &Deck) -> Option<String> {
    let unused = deck.report.elements.iter().filter(|found| !found.supported && !deck::is_line(&found.name));
    let unused: Vec<String> = unused.map(|found| format!("{} {}", found.count, found.name)).collect();
    (!unused.is_empty()).then(|| format!("elements that make no springs: {}", unused.join(", ")))
}

/// Collects the remarks on a deck: those of its springs, material damping that has no effect, and those of the reader.
fn remark_on_deck(deck: &Deck, of_springs: Remarks, job: &SpringJob, file: &str, remarks: &mut Remarks) {
    // A remark that is not on a line of the job gets the name of the deck.
    let is_of_deck = |text: &str| text.starts_with("note: ") || text.starts_with("warning: ");
    let named = |text: String| if is_of_deck(&text) { format!("{file}: {text}") } else { text };
    remarks.notes.extend(of_springs.notes.into_iter().map(named));
    remarks.warnings.extend(of_springs.warnings.into_iter().map(named));
    let Solver { alpha, lambda, .. } = job.solver.value;
    for material in deck.materials.iter().filter(|material| material.damping_alpha > 0.0) {
        if alpha.is_none() && lambda.is_none() {
            remarks.warnings.push(format!(
                "{}:{}: warning: material {}: its *DAMPING, ALPHA={} is not used: give `alpha` in [solver] of the job",
                material.file, material.line, material.name, material.damping_alpha
            ));
        }
    }
    for note in &deck.notes {
        let list = if note.is_warning { &mut remarks.warnings } else { &mut remarks.notes };
        list.push(note.to_string());
    }
}

/// Gravity of a deck, unless the job has its own. Loads of other kinds than gravity and point forces are left out with a
/// warning.
fn gravity_of(
    deck: &Deck,
    job: &SpringJob,
    mesh: &SpringMesh,
    solver_from_model: &[u32],
    file: &str,
    remarks: &mut Remarks,
) -> Vec<Gravity> {
    let mut gravity = Vec::new();
    for Load { name, kind, magnitude, amplitude } in &deck.loads {
        let (elements, direction) = match kind {
            LoadKind::Concentrated { .. } => continue,
            LoadKind::Gravity { elements, direction } => (elements, *direction),
            _ => {
                remarks.warnings.push(format!(
                    "{file}: warning: load {name} acts on faces or elements, not on nodes: left out; give it as [[source]] \
                     or [[gravity]] in the job"
                ));
                continue;
            }
        };
        if !job.gravity.is_empty() {
            remarks.notes.push(format!("{file}: note: [[gravity]] replaces {name} of the deck"));
            continue;
        }
        let of_set = deck.lines.gravity.iter().find(|(of, _)| of == name);
        let particles = of_set.map(|(_, nodes)| {
            let of_elements = elements.iter().filter_map(|&element| deck.mesh.place(element));
            let of_elements = of_elements.flat_map(|(group, at)| group.nodes(at));
            let all: BTreeSet<u32> =
                nodes.iter().chain(of_elements).map(|&node| solver_from_model[node as usize]).collect();
            all.into_iter().filter(|&particle| particle != u32::MAX).collect::<Vec<u32>>()
        });
        let particles = particles.filter(|particles| particles.len() < mesh.coordinates.len() / 3);
        let what = match &particles {
            None => "all particles".to_owned(),
            Some(some) => format!("{} of its set, with all their mass", counted(some.len(), "particle")),
        };
        remarks.notes.push(format!("{file}: note: {name} of the deck acts on {what}"));
        let (name, magnitude, amplitude) = (name.clone(), *magnitude, *amplitude);
        gravity.push(Gravity { name, particles, direction, magnitude, amplitude });
    }
    gravity
}

/// Drops nodes that are not particles, and conditions that are left without any.
fn retain_particles(conditions: &mut Conditions) {
    let keep = |nodes: &mut Vec<u32>| {
        nodes.retain(|&node| node != u32::MAX);
        !nodes.is_empty()
    };
    conditions.loads.retain_mut(|load| match &mut load.kind {
        LoadKind::Concentrated { nodes, weights, .. } => {
            let mut stays = nodes.iter().map(|&node| node != u32::MAX);
            weights.retain(|_| stays.next() == Some(true));
            keep(nodes)
        }
        _ => true,
    });
    conditions.boundaries.retain_mut(|boundary| keep(&mut boundary.nodes));
    conditions.initial_velocities.retain_mut(|velocity| keep(&mut velocity.nodes));
    conditions.histories.retain_mut(|history| keep(&mut history.nodes));
}

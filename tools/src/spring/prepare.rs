//! From a voxel stack or a deck and a job to the block file of a mass-spring-damper model.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use pogo_formats::VERSION;

use pogo_formats::block::{Provenance, Source};
use pogo_formats::dynamics::{Increment, LoadKind};
use pogo_formats::explicit::{ExplicitSettings, Lumping, Setup};
use pogo_formats::job::{JobError, JobFile as _};
use pogo_formats::mesh::Mesh;
use pogo_formats::physics::{Physics, write_block};
use pogo_formats::read::deck;
use pogo_formats::read::deck::ReadOptions;
use pogo_formats::read::image::Report;
use pogo_formats::spring::block::SpringContents;
use pogo_formats::spring::build::BuildError;
use pogo_formats::spring::job::{Solver, SpringJob};
use pogo_formats::spring::{Gravity, Spring, SpringMesh, SpringSetup};
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::explicit::apply_job::Remarks;
use crate::explicit::remap_setup;
use crate::prepare::{
    Clock, PipelineError, Progress, check_place, files_of, is_deck, nothing_recorded, peak_memory, write_cost,
};
use crate::spring::{Conditions, conditions, edges, mesh_of_edges, mesh_of_voxels};

/// Most groups that the summary names.
const GROUPS: usize = 20;

/// What to make a block file of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpringConfig {
    /// Voxel stack (a file or a folder of slices) or Abaqus deck.
    pub input: PathBuf,
    /// TOML job.
    pub job: PathBuf,
    /// Block file to write.
    pub output: PathBuf,
    /// Keywords of a deck that may be left out although they change the physics.
    pub ignore: Vec<String>,
    /// Particles a block, a multiple of 32.
    pub block_size: usize,
}

/// Seconds of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SpringSeconds {
    /// Reading the input.
    pub read: f64,
    /// Particles, springs, lists.
    pub mesh: f64,
    /// Where conditions act.
    pub setup: f64,
    /// Writing.
    pub write: f64,
    /// All of it.
    pub total: f64,
}

/// What was made. Its `Display` is a few lines for people; serialised it is the object of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpringSummary {
    /// Stack or deck.
    pub input: String,
    /// Block file.
    pub output: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// `spring`.
    pub physics: &'static str,
    /// What reading a stack taught.
    pub image: Option<Report>,
    /// Particles.
    pub particles: u64,
    /// Springs.
    pub springs: u64,
    /// Springs of each group that has any.
    pub groups: Vec<(String, u64)>,
    /// Places of the grid of a lattice.
    pub grid: Option<[u32; 3]>,
    /// Particles over places.
    pub fill: Option<f64>,
    /// Particles a block.
    pub block_size: u64,
    /// Blocks.
    pub blocks: u64,
    /// Halo particles over particles.
    pub halo_fraction: f64,
    /// Most springs of a particle.
    pub most_springs: u16,
    /// Particles without a spring.
    pub loose_particles: u64,
    /// Stages.
    pub seconds: SpringSeconds,
    /// Peak memory of the process, bytes; none where the system does not say.
    pub peak_memory: Option<u64>,
    /// What was done, `file:line: note: …`.
    pub notes: Vec<String>,
    /// What is probably not meant, `file:line: warning: …`.
    pub warnings: Vec<String>,
    /// Version of Pogo.
    pub version: String,
}

impl fmt::Display for SpringSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |n: u64, what: &str| counted(n as usize, what);
        writeln!(f, "{}: {}, {}", self.output, n(self.particles, "particle"), n(self.springs, "spring"))?;
        if let Some(image) = &self.image {
            let [x, y, z] = image.size;
            let (edge, unit) = (image.spacing, image.unit);
            writeln!(f, "  {}: {}, {x} × {y} × {z} voxels of {edge} {unit}", image.file, image.format)?;
            for note in &image.notes {
                writeln!(f, "  note: {note}")?;
            }
        }
        let first = self.groups.iter().take(GROUPS);
        let mut groups: Vec<String> = first.map(|(name, n)| format!("{name} {}", grouped(*n))).collect();
        match self.groups.len().saturating_sub(GROUPS) {
            _ if groups.is_empty() => groups.push("none".to_owned()),
            0 => {}
            more => groups.push(format!("and {} more groups", grouped(more as u64))),
        }
        writeln!(f, "  springs: {}", groups.join(", "))?;
        if let (Some([x, y, z]), Some(fill)) = (self.grid, self.fill) {
            writeln!(f, "  grid {x} × {y} × {z}, {:.1} % filled", 100.0 * fill)?;
        }
        writeln!(
            f,
            "  {} of {}, halo {:.0} %, at most {} a particle",
            n(self.blocks, "block"),
            n(self.block_size, "particle"),
            100.0 * self.halo_fraction,
            counted(usize::from(self.most_springs), "spring")
        )?;
        let s = &self.seconds;
        let stages = [("read", s.read), ("mesh", s.mesh), ("setup", s.setup), ("write", s.write)];
        write_cost(f, self.bytes, s.total, &stages, self.peak_memory)?;
        writeln!(f)
    }
}

/// What `--check` found. Its `Display` is for people; serialised it is the object of `--check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpringCheck {
    /// Stack or deck.
    pub input: String,
    /// A block file can be made of it.
    pub ok: bool,
    /// Particles.
    pub particles: Option<u64>,
    /// Springs.
    pub springs: Option<u64>,
    /// Notes and warnings.
    pub remarks: Vec<String>,
    /// What is wrong, `file:line: error: …`.
    pub problems: Vec<String>,
}

impl fmt::Display for SpringCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.input, if self.ok { "can be blocked" } else { "cannot be blocked" })?;
        if let (Some(particles), Some(springs)) = (self.particles, self.springs) {
            let (particles, springs) = (counted(particles as usize, "particle"), counted(springs as usize, "spring"));
            writeln!(f, "  the model: {particles}, {springs}")?;
        }
        Ok(())
    }
}

/// A model with what reading it taught.
struct Loaded {
    mesh: SpringMesh,
    setup: SpringSetup,
    image: Option<Report>,
    files: Vec<PathBuf>,
    remarks: Remarks,
}

fn load(
    config: &SpringConfig,
    progress: &dyn Progress,
    clock: &mut Clock,
    seconds: &mut SpringSeconds,
) -> Result<Loaded, PipelineError> {
    progress.stage("read");
    let job = SpringJob::read(&[&config.job])?;
    let explain = |error: BuildError| PipelineError::Spring { input: config.input.clone(), error };
    let (mesh, deck, gravity, groups, materials, image, files, mut remarks);
    if is_deck(&config.input) {
        let options = ReadOptions {
            ignore: config.ignore.clone(),
            require_step: false,
            job_sets_time: job.solver.value.time.is_some(),
            job_materials: Vec::new(),
            mesh_only: false,
            lines: true,
        };
        let read = deck::read(&config.input, &options)?;
        seconds.read = clock.lap();
        progress.stage("mesh");
        let mut edges = edges(&read.model.mesh, &read.lines, &job)?;
        let left = read.report.elements.iter().filter(|found| !found.supported && !deck::is_line(&found.name));
        let left: Vec<String> = left.map(|found| format!("{} {}", found.count, found.name)).collect();
        let left =
            if left.is_empty() { None } else { Some(format!("elements that make no springs: {}", left.join(", "))) };
        let made = mesh_of_edges(&read.model.mesh, &edges, config.block_size).map_err(|error| match error {
            BuildError::Empty => {
                let why = left.as_ref().map_or_else(String::new, |left| format!(" ({left})"));
                let (file, message) = (config.input.display().to_string(), format!("it has no spring{why}"));
                JobError { file, line: 0, message }.into()
            }
            error => explain(error),
        })?;
        let solver_from_model;
        (mesh, solver_from_model) = made;
        // What is of a line of the job says so itself.
        let is_of_deck = |text: &str| text.starts_with("note: ") || text.starts_with("warning: ");
        let said = |text: String| if is_of_deck(&text) { format!("{}: {text}", config.input.display()) } else { text };
        let Remarks { notes, mut warnings } = std::mem::take(&mut edges.remarks);
        warnings.extend(left.map(|left| format!("warning: {left}")));
        remarks = Remarks {
            notes: notes.into_iter().map(said).collect(),
            warnings: warnings.into_iter().map(said).collect(),
        };
        let Solver { alpha, lambda, .. } = job.solver.value;
        for material in read.materials.iter().filter(|material| material.damping_alpha > 0.0) {
            if alpha.is_none() && lambda.is_none() {
                remarks.warnings.push(format!(
                    "{}:{}: warning: material {}: its *DAMPING, ALPHA={} is not used: give `alpha` in [solver] of the job",
                    material.file, material.line, material.name, material.damping_alpha
                ));
            }
        }
        for note in &read.notes {
            let list = if note.is_warning { &mut remarks.warnings } else { &mut remarks.notes };
            list.push(note.to_string());
        }
        let mut setup = read.model.setup;
        let input = config.input.display();
        let mut of_deck: Vec<Gravity> = Vec::new();
        setup.loads.retain(|load| {
            let name = &load.name;
            match &load.kind {
                LoadKind::Concentrated { .. } => return true,
                LoadKind::Gravity { .. } if !job.gravity.is_empty() => {
                    remarks.notes.push(format!("{input}: note: [[gravity]] holds over {name} of the deck"));
                }
                LoadKind::Gravity { elements, direction } => {
                    let of_set = read.lines.gravity.iter().find(|(of, _)| of == name);
                    let particles = of_set.map(|(_, nodes)| {
                        let all = nodes.iter().copied().chain(nodes_of(&read.model.mesh, elements));
                        let all: BTreeSet<u32> = all.map(|node| solver_from_model[node as usize]).collect();
                        all.into_iter().filter(|&particle| particle != u32::MAX).collect::<Vec<u32>>()
                    });
                    let particles = particles.filter(|particles| particles.len() < mesh.coordinates.len() / 3);
                    let what = match &particles {
                        None => "all particles".to_owned(),
                        Some(some) => format!("{} of its set, with all their mass", counted(some.len(), "particle")),
                    };
                    remarks.notes.push(format!("{input}: note: {name} of the deck acts on {what}"));
                    of_deck.push(Gravity {
                        name: name.clone(),
                        particles,
                        direction: *direction,
                        magnitude: load.magnitude,
                        amplitude: load.amplitude,
                    });
                }
                _ => remarks.warnings.push(format!(
                    "{input}: warning: load {name} acts on faces or elements, not on nodes: left out; give it as [[source]] \
                     or [[gravity]] in the job"
                )),
            }
            false
        });
        gravity = of_deck;
        if let Some(settings) = read.explicit {
            setup.explicit = settings;
        }
        remap_setup(&mut setup, &solver_from_model);
        retain_particles(&mut setup);
        for history in std::mem::take(&mut setup.element_histories) {
            let name = history.set;
            remarks.notes.push(format!("{input}: note: springs have no element histories: that of {name} is left out"));
        }
        deck = setup;
        (groups, materials) = (edges.groups, edges.materials);
        image = None;
        files = read.report.files.iter().map(PathBuf::from).collect();
    } else {
        let law = job.voxel_law()?;
        let (grid, report) = job.image.voxel_grid(&config.input, &law)?;
        seconds.read = clock.lap();
        progress.stage("mesh");
        mesh = mesh_of_voxels(&grid, &job, config.block_size).map_err(explain)?;
        if let Some(item) = job.springs.iter().find(|item| item.value.says_where()) {
            let text = "`all` and `elset` are for decks: springs of a stack are said by [[material]] tables";
            return Err(item.place.error(text).into());
        }
        (deck, gravity) = (empty_setup(), Vec::new());
        groups = job.materials.iter().flat_map(|item| item.value.groups()).collect();
        materials = job.materials.iter().map(|item| item.value.material()).collect();
        image = Some(report);
        files = files_of(&config.input)?;
        remarks = Remarks::default();
        for (item, _) in job.materials.iter().zip(&mesh.sets).filter(|(_, set)| set.members.is_empty()) {
            remarks.warn(&item.place, format!("material \"{}\" is of no voxel", item.value.name));
        }
    }
    seconds.mesh = clock.lap();

    progress.stage("setup");
    let deck_settings = (deck.explicit.time > 0.0).then_some(deck.explicit.clone());
    let Conditions { mut setup, remarks: more } = conditions(&mesh, deck, gravity, groups, materials, &job)?;
    remarks.notes.extend(more.notes);
    remarks.warnings.extend(more.warnings);
    if setup.histories.is_empty() && setup.fields.is_empty() {
        remarks.notes.push(nothing_recorded(&config.input));
    }
    match deck_settings {
        Some(settings) if job.solver.value.time.is_none() => {
            setup.solver.time = settings.time;
            if job.solver.value.increment.is_none()
                && let Increment::Fixed(_) = settings.increment
            {
                setup.solver.increment = settings.increment;
            }
        }
        None if job.solver.value.time.is_none() => {
            return Err(no_time(&job).into());
        }
        _ => {}
    }
    seconds.setup = clock.lap();
    Ok(Loaded { mesh, setup, image, files, remarks })
}

fn no_time(job: &SpringJob) -> JobError {
    job.solver.place.error("how long is the run? give `time` in [solver]")
}

fn empty_setup() -> Setup {
    Setup {
        title: String::new(),
        materials: Vec::new(),
        sections: Vec::new(),
        amplitudes: Vec::new(),
        loads: Vec::new(),
        boundaries: Vec::new(),
        initial_velocities: Vec::new(),
        absorbing_layers: Vec::new(),
        histories: Vec::new(),
        element_histories: Vec::new(),
        fields: Vec::new(),
        explicit: ExplicitSettings {
            time: 0.0,
            increment: Increment::Automatic { factor: 1.0 },
            lumping: Lumping::RowSum,
        },
    }
}

/// The nodes of some elements.
fn nodes_of(mesh: &Mesh, elements: &[u32]) -> BTreeSet<u32> {
    let (mut nodes, mut first) = (BTreeSet::new(), 0);
    for group in &mesh.groups {
        let own = elements.iter().filter_map(|element| element.checked_sub(first));
        for at in own.filter(|&at| (at as usize) < group.len()) {
            nodes.extend(&group.connectivity[at as usize * group.kind.n_nodes()..][..group.kind.n_nodes()]);
        }
        first += group.len() as u32;
    }
    nodes
}

/// Drops nodes that are no particles.
fn retain_particles(setup: &mut Setup) {
    let keep = |nodes: &mut Vec<u32>| {
        nodes.retain(|&node| node != u32::MAX);
        !nodes.is_empty()
    };
    setup.loads.retain_mut(|load| match &mut load.kind {
        LoadKind::Concentrated { nodes, weights, .. } => {
            let mut stays = nodes.iter().map(|&node| node != u32::MAX);
            weights.retain(|_| stays.next() == Some(true));
            keep(nodes)
        }
        _ => true,
    });
    setup.boundaries.retain_mut(|boundary| keep(&mut boundary.nodes));
    setup.initial_velocities.retain_mut(|velocity| keep(&mut velocity.nodes));
    setup.histories.retain_mut(|history| keep(&mut history.nodes));
}

/// Makes a block file. Either the whole new file is there afterwards, or whatever was there before.
///
/// # Errors
/// [`PipelineError`].
pub fn run(config: &SpringConfig, progress: &dyn Progress) -> Result<SpringSummary, PipelineError> {
    check_place(&config.output, [&config.input, &config.job].into_iter())?;
    let (mut clock, mut seconds) = (Clock::new(), SpringSeconds::default());
    let Loaded { mesh, setup, image, files, remarks } = load(config, progress, &mut clock, &mut seconds)?;

    progress.stage("write");
    let sources: Result<Vec<Source>, PipelineError> = files
        .iter()
        .chain([&config.job])
        .map(|path: &PathBuf| {
            Source::of_file(path).map_err(|error| PipelineError::Source { path: path.clone(), error })
        })
        .collect();
    let mut options = vec![format!("--block-nodes {}", config.block_size)];
    options.extend(config.ignore.iter().map(|keyword| format!("--ignore {keyword}")));
    let provenance = Provenance::new(Spring::NAME, sources?, options);
    let bytes = write_block::<Spring>(&config.output, SpringContents { mesh: &mesh }, &setup, &provenance)?;
    seconds.write = clock.lap();
    seconds.total = clock.start.elapsed().as_secs_f64();

    let view = mesh.view();
    let n = view.n_particles() as u64;
    Ok(SpringSummary {
        input: config.input.display().to_string(),
        output: config.output.display().to_string(),
        bytes,
        physics: Spring::NAME,
        image,
        particles: n,
        springs: view.n_springs() as u64,
        groups: super::info::springs_by_group(&view, &setup),
        grid: view.grid.map(|grid| grid.size),
        fill: view.grid.map(|grid| n as f64 / grid.n_places() as f64),
        block_size: config.block_size as u64,
        blocks: view.lists.n_blocks() as u64,
        halo_fraction: view.lists.halo.len() as f64 / n.max(1) as f64,
        most_springs: view.lists.count.iter().copied().max().unwrap_or(0),
        loose_particles: view.lists.count.iter().filter(|&&count| count == 0).count() as u64,
        seconds,
        peak_memory: peak_memory(),
        notes: remarks.notes,
        warnings: remarks.warnings,
        version: VERSION.to_owned(),
    })
}

/// Reads everything and reports, without writing anything.
///
/// Problems of input and job are part of the report. Nothing else can go wrong.
pub fn check(config: &SpringConfig, progress: &dyn Progress) -> SpringCheck {
    let input = config.input.display().to_string();
    match load(config, progress, &mut Clock::new(), &mut SpringSeconds::default()) {
        Ok(Loaded { mesh, remarks, .. }) => SpringCheck {
            input,
            ok: true,
            particles: Some(mesh.view().n_particles() as u64),
            springs: Some(mesh.view().n_springs() as u64),
            remarks: [remarks.warnings, remarks.notes].concat(),
            problems: Vec::new(),
        },
        Err(error) => SpringCheck {
            input,
            ok: false,
            particles: None,
            springs: None,
            remarks: Vec::new(),
            problems: error.to_string().lines().map(str::to_owned).collect(),
        },
    }
}

//! From a mesh of triangles or tetrahedra and a job to an Eikonal block file: read, apply, arrange, check, write.

use std::fmt;
use std::path::PathBuf;

use pogo_formats::VERSION;

use pogo_formats::block::{Provenance, Source};
use pogo_formats::eikonal::block::EikonalContents;
use pogo_formats::eikonal::job::EikonalJob;
use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::eikonal::{Eikonal, metrics, nodes_of, outside};
use pogo_formats::job::{JobError, JobFile as _};
use pogo_formats::physics::{Physics, write_block};
use pogo_formats::read::mesh;
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::eikonal::{Arranged, EikonalMethod, Reach, arrange, reach, twins};
use crate::prepare::{Clock, PipelineError, Progress, check_place, peak_memory, write_cost, write_domains};

/// What to make a block file of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EikonalConfig {
    /// Mesh: `.vtu`, `.vtk`, `.msh`, one of openCARP's files, or a deck.
    pub mesh: PathBuf,
    /// TOML job.
    pub job: Option<PathBuf>,
    /// Block file to write.
    pub output: PathBuf,
    /// Keywords of a deck that may be left out.
    pub ignore: Vec<String>,
    /// Number of sub-domains.
    pub domains: usize,
    /// How to cut them.
    pub method: EikonalMethod,
}

impl EikonalConfig {
    /// The options that decide what is in the file, as on the command line.
    fn options(&self) -> Vec<String> {
        let mut options =
            vec![format!("--domains {}", self.domains), format!("--domain-partition {}", self.method.name())];
        options.extend(self.ignore.iter().map(|keyword| format!("--ignore {keyword}")));
        options
    }
}

/// Seconds of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct EikonalSeconds {
    /// Reading the mesh.
    pub read: f64,
    /// Applying the job.
    pub apply: f64,
    /// Numbering, sub-domains, lists.
    pub arrange: f64,
    /// Tensors and starts.
    pub check: f64,
    /// Writing.
    pub write: f64,
    /// All of it.
    pub total: f64,
}

/// A velocity class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassCount {
    /// Name.
    pub name: String,
    /// Elements.
    pub elements: u64,
}

/// What was made. Its `Display` is a few lines for people; serialised it is the object of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EikonalSummary {
    /// Mesh.
    pub mesh: String,
    /// Block file.
    pub output: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// `eikonal`.
    pub physics: &'static str,
    /// `tetrahedra` or `triangles`.
    pub kind: &'static str,
    /// Nodes.
    pub nodes: u64,
    /// Elements.
    pub elements: u64,
    /// Elements of each velocity class.
    pub classes: Vec<ClassCount>,
    /// Nodes of each start.
    pub start_nodes: Vec<u64>,
    /// Nodes that no wave can reach.
    pub unreached: u64,
    /// Sub-domains.
    pub domains: u64,
    /// `morton`, `aligned`, `greedy` or `metis`.
    pub domain_partition: &'static str,
    /// Nodes that sub-domains need of others, over nodes.
    pub interface_fraction: f64,
    /// Stages.
    pub seconds: EikonalSeconds,
    /// Peak memory of the process, bytes; none where the system does not say.
    pub peak_memory: Option<u64>,
    /// What the user should know, `file: note: …`.
    pub notes: Vec<String>,
    /// Version of Pogo.
    pub version: String,
}

impl fmt::Display for EikonalSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} {}, {}; {}, {}",
            self.output,
            grouped(self.elements),
            self.kind,
            counted(self.nodes as usize, "node"),
            match self.classes.len() {
                1 => "1 velocity".to_owned(),
                n => format!("{n} velocities"),
            },
            counted(self.start_nodes.iter().sum::<u64>() as usize, "start node")
        )?;
        write_domains(f, self.domains, self.domain_partition, self.interface_fraction)?;
        let s = &self.seconds;
        let stages =
            [("read", s.read), ("apply", s.apply), ("arrange", s.arrange), ("check", s.check), ("write", s.write)];
        write_cost(f, self.bytes, s.total, &stages, self.peak_memory)?;
        writeln!(f)
    }
}

/// What `--check` found. Its `Display` is for people; serialised it is the object of `--check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EikonalCheck {
    /// Mesh.
    pub mesh: String,
    /// A block file can be made of it.
    pub ok: bool,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Elements.
    pub elements: Option<u64>,
    /// Elements of each velocity class.
    pub classes: Vec<ClassCount>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What is wrong, `file:line: error: …`.
    pub problems: Vec<String>,
}

impl fmt::Display for EikonalCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.mesh, if self.ok { "can be blocked" } else { "cannot be blocked" })?;
        if let (Some(elements), Some(nodes)) = (self.elements, self.nodes) {
            writeln!(f, "  {}, {}", counted(elements as usize, "element"), counted(nodes as usize, "node"))?;
        }
        for class in &self.classes {
            writeln!(f, "  {}: {}", class.name, counted(class.elements as usize, "element"))?;
        }
        Ok(())
    }
}

/// A model with what making it taught.
struct Loaded {
    arranged: Arranged,
    reach: Reach,
    sources: Vec<PathBuf>,
    notes: Vec<String>,
}

fn load(
    config: &EikonalConfig,
    progress: &dyn Progress,
    clock: &mut Clock,
    seconds: &mut EikonalSeconds,
) -> Result<Loaded, PipelineError> {
    let Some(path) = &config.job else {
        let message = "an Eikonal model needs a job that says how fast the wave is and where it starts: --job job.toml";
        return Err(JobError { file: config.mesh.display().to_string(), line: 0, message: message.into() }.into());
    };
    progress.stage("read");
    let job = EikonalJob::read(&[path])?;
    let mut mesh = mesh::read(&config.mesh, &config.ignore)?;
    seconds.read = clock.lap();

    progress.stage("apply");
    let mut applied = job.apply(&mut mesh)?;
    let mut notes = std::mem::take(&mut mesh.notes);
    notes.append(&mut applied.notes);
    let mut sources = mesh.sources.clone();
    sources.append(&mut applied.sources);
    sources.push(path.clone());
    let (file, lines) = (mesh.file.clone(), std::mem::take(&mut mesh.element_lines));
    seconds.apply = clock.lap();

    progress.stage("arrange");
    let mut arranged = arrange(mesh, applied, config.method, config.domains)?;
    notes.append(&mut arranged.notes);
    seconds.arrange = clock.lap();

    progress.stage("check");
    let view = arranged.mesh.view();
    let metrics = metrics(&view, &arranged.setup.classes).map_err(|error| {
        let (element, class) = (error.element, usize::from(view.class[error.element]));
        let line = lines.get(view.original_element[element] as usize).copied().unwrap_or_default();
        let label = view.element_labels[element];
        // Where it was said, if it is not said by the mesh itself.
        let place = job.velocities.get(class).map_or_else(String::new, |item| format!(" ({})", item.place));
        let message = format!("element {label}{place}: {}", error.reason);
        JobError { file: file.clone(), line: line as usize, message }
    })?;
    // The wave would take the faster of the two, and a scar would be none.
    let twins = twins(&view);
    if let Some(&twin) =
        twins.iter().find(|&&twin| view.class[twin] != view.class[twin - 1] || metrics[twin] != metrics[twin - 1])
    {
        let [one, other] = [twin - 1, twin].map(|element| {
            let class = &arranged.setup.classes[usize::from(view.class[element])].name;
            format!("{} (velocity {class})", view.element_labels[element])
        });
        let line = lines.get(view.original_element[twin] as usize).copied().unwrap_or_default();
        let message =
            format!("elements {one} and {other} have the same nodes and different velocities: leave one of them out");
        return Err(JobError { file, line: line as usize, message }.into());
    }
    if let Some(&first) = twins.first() {
        notes.push(format!(
            "{file}: note: {} elements have the same nodes as another, element {} first: their volume counts twice",
            twins.len(),
            view.element_labels[first]
        ));
    }
    let output = &job.output;
    let of_output = [("path_points", &output.value.path_points), ("probe_points", &output.value.probe_points)];
    let of_output = of_output.into_iter().flat_map(|(key, points)| points.iter().map(move |point| (key, *point)));
    let points = of_output.map(|(key, point)| (&output.place, format!("`{key}`"), point));
    let of_starts = arranged.setup.starts.iter().zip(&job.starts).filter_map(|(start, item)| match start.region {
        StartRegion::Nearest(point) => Some((&item.place, format!("start \"{}\"", start.name), point)),
        _ => None,
    });
    for (place, what, point) in of_starts.chain(points) {
        let node = nodes_of(&view, &StartRegion::Nearest(point)).ok().and_then(|nodes| nodes.first().copied());
        if let Some(text) = node.and_then(|node| outside(&view, &arranged.setup.length_unit, point, node)) {
            notes.push(format!("{place}: warning: {what}: {text}"));
        }
    }
    let reach = reach(&view, &metrics, &arranged.setup.starts)
        .map_err(|(index, message)| job.starts[index].place.error(message))?;
    if let Some(first) = reach.first {
        notes.push(format!(
            "{file}: note: the wave cannot reach {} of {} nodes, node {first} first",
            reach.unreached,
            view.n_nodes()
        ));
    }
    seconds.check = clock.lap();
    Ok(Loaded { arranged, reach, sources, notes })
}

/// Makes a block file. Either the whole new file is there afterwards, or whatever was there before.
///
/// # Errors
/// [`PipelineError`].
pub fn run(config: &EikonalConfig, progress: &dyn Progress) -> Result<EikonalSummary, PipelineError> {
    check_place(&config.output, std::iter::once(&config.mesh).chain(&config.job))?;
    let (mut clock, mut seconds) = (Clock::new(), EikonalSeconds::default());
    let Loaded { arranged, reach, sources: paths, notes } = load(config, progress, &mut clock, &mut seconds)?;

    progress.stage("write");
    let mut sources = Vec::new();
    for path in paths {
        sources.push(Source::of_file(&path).map_err(|error| PipelineError::Source { path, error })?);
    }
    let provenance = Provenance::new(Eikonal::NAME, sources, config.options());
    let Arranged { mesh, domains, setup, .. } = &arranged;
    let bytes = write_block::<Eikonal>(&config.output, EikonalContents { mesh, domains }, setup, &provenance)?;
    seconds.write = clock.lap();
    seconds.total = clock.start.elapsed().as_secs_f64();

    let nodes = mesh.view().n_nodes() as u64;
    Ok(EikonalSummary {
        mesh: config.mesh.display().to_string(),
        output: config.output.display().to_string(),
        bytes,
        physics: Eikonal::NAME,
        kind: if mesh.corners == 4 { "tetrahedra" } else { "triangles" },
        nodes,
        elements: mesh.view().n_elements() as u64,
        classes: classes(&arranged),
        start_nodes: reach.start_nodes.iter().map(|&n| n as u64).collect(),
        unreached: reach.unreached as u64,
        domains: domains.view().n_domains() as u64,
        domain_partition: config.method.name(),
        interface_fraction: domains.halo.len() as f64 / nodes.max(1) as f64,
        seconds,
        peak_memory: peak_memory(),
        notes,
        version: VERSION.to_owned(),
    })
}

/// Reads everything and reports, without writing anything.
///
/// Problems of mesh and job are part of the report. Nothing else can go wrong.
pub fn check(config: &EikonalConfig, progress: &dyn Progress) -> EikonalCheck {
    let mesh = config.mesh.display().to_string();
    match load(config, progress, &mut Clock::new(), &mut EikonalSeconds::default()) {
        Ok(Loaded { arranged, notes, .. }) => EikonalCheck {
            mesh,
            ok: true,
            nodes: Some(arranged.mesh.view().n_nodes() as u64),
            elements: Some(arranged.mesh.view().n_elements() as u64),
            classes: classes(&arranged),
            notes,
            problems: Vec::new(),
        },
        Err(error) => EikonalCheck {
            mesh,
            ok: false,
            nodes: None,
            elements: None,
            classes: Vec::new(),
            notes: Vec::new(),
            problems: error.to_string().lines().map(str::to_owned).collect(),
        },
    }
}

fn classes(arranged: &Arranged) -> Vec<ClassCount> {
    let mut counts = vec![0; arranged.setup.classes.len()];
    arranged.mesh.class.iter().for_each(|&class| counts[usize::from(class)] += 1);
    let named = arranged.setup.classes.iter().zip(counts);
    named.map(|(class, elements)| ClassCount { name: class.name.clone(), elements }).collect()
}

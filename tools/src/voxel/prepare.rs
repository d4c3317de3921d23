//! From a voxel stack and a job to a block file: read, number, tabulate, cut, write.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pogo_formats::VERSION;

use pogo_formats::block::{Provenance, Source};
use pogo_formats::job::{JobError, JobFile as _};
use pogo_formats::physics::{Physics, write_block};
use pogo_formats::read::image::{self, ImageOptions, Report, SampleType};
use pogo_formats::voxel::block::VoxelContents;
use pogo_formats::voxel::job::{Given, GivenConditions, Mask, VoxelJob};
use pogo_formats::voxel::setup::VoxelMaterial;
use pogo_formats::voxel::{Voxel, VoxelMesh, VoxelModuli, VoxelSetup};
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::prepare::{Clock, PipelineError, Progress, check_place, files_of, peak_memory, write_cost, write_domains};
use crate::voxel::{DomainMethod, GridKind, domains, levels, mesh};

/// What to make a block file of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoxelConfig {
    /// Stack: a file or a folder of slices.
    pub stack: PathBuf,
    /// TOML job.
    pub job: Option<PathBuf>,
    /// Block file to write.
    pub output: PathBuf,
    /// Grid representation besides the bricks.
    pub grid: GridKind,
    /// Tables of a hash, a power of two; none leaves it to the program.
    pub hash_tables: Option<usize>,
    /// Number of sub-domains.
    pub domains: usize,
    /// How to cut them.
    pub domain_method: DomainMethod,
}

impl VoxelConfig {
    /// The options that decide what is in the file, as on the command line.
    fn options(&self) -> Vec<String> {
        let mut options = vec![format!("--grid {}", self.grid.name())];
        options.extend(self.hash_tables.map(|n| format!("--hash-tables {n}")));
        options.push(format!("--domains {}", self.domains));
        options.push(format!("--domain-partition {}", self.domain_method.name()));
        options
    }
}

/// Seconds of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct VoxelSeconds {
    /// Reading the stack, and what becomes of grey values.
    pub read: f64,
    /// Elements and nodes in Morton order.
    pub mesh: f64,
    /// Loads, boundary conditions, settings.
    pub setup: f64,
    /// Tables of the grid representation.
    pub tables: f64,
    /// Sub-domains.
    pub domains: f64,
    /// Writing.
    pub write: f64,
    /// All of it.
    pub total: f64,
}

/// What was made. Its `Display` is a few lines for people; serialised it is the object of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelSummary {
    /// Stack.
    pub stack: String,
    /// Block file.
    pub output: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// `static`.
    pub physics: &'static str,
    /// What reading the stack taught.
    pub image: Report,
    /// Voxels along x, y and z.
    pub size: [u32; 3],
    /// Edge of a voxel.
    pub spacing: f64,
    /// Elements.
    pub elements: u64,
    /// Nodes.
    pub nodes: u64,
    /// Degrees of freedom, prescribed ones included.
    pub dof: u64,
    /// Bricks.
    pub bricks: u64,
    /// Load cases.
    pub cases: u64,
    /// `brick`, `offset` or `hash`.
    pub grid: &'static str,
    /// Levels with tables of that representation.
    pub levels: u64,
    /// Sub-domains.
    pub domains: u64,
    /// `morton` or `metis`.
    pub domain_partition: &'static str,
    /// Nodes that sub-domains need of others, over nodes.
    pub interface_fraction: f64,
    /// Stages.
    pub seconds: VoxelSeconds,
    /// Peak memory of the process, bytes; none where the system does not say.
    pub peak_memory: Option<u64>,
    /// The same over degrees of freedom.
    pub peak_bytes_per_dof: Option<f64>,
    /// Version of Pogo.
    pub version: String,
}

impl fmt::Display for VoxelSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |n: u64, what: &str| counted(n as usize, what);
        let (elements, nodes) = (n(self.elements, "element"), n(self.nodes, "node"));
        writeln!(f, "{}: {elements}, {nodes}, {} degrees of freedom", self.output, grouped(self.dof))?;
        writeln!(f, "  {}", self.image.to_string().replace('\n', "\n  "))?;
        let levels = match self.levels {
            0 => String::new(),
            levels => format!(" on {}", n(levels, "level")),
        };
        writeln!(f, "  {}, grid {}{levels}; {}", n(self.bricks, "brick"), self.grid, n(self.cases, "load case"))?;
        write_domains(f, self.domains, self.domain_partition, self.interface_fraction)?;
        let s = &self.seconds;
        let stages = [
            ("read", s.read),
            ("mesh", s.mesh),
            ("setup", s.setup),
            ("tables", s.tables),
            ("domains", s.domains),
            ("write", s.write),
        ];
        write_cost(f, self.bytes, s.total, &stages, self.peak_memory)?;
        if let Some(each) = self.peak_bytes_per_dof.filter(|_| self.dof >= 300_000) {
            write!(f, ", {each:.1} B a degree of freedom")?;
        }
        writeln!(f)
    }
}

/// What `--check` found. Its `Display` is for people; serialised it is the object of `--check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelCheck {
    /// Stack.
    pub stack: String,
    /// A block file can be made of it.
    pub ok: bool,
    /// What is in the stack; none where reading did not get that far.
    pub image: Option<Report>,
    /// Elements.
    pub elements: Option<u64>,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Names of the load cases; one without a name is empty.
    pub cases: Vec<String>,
    /// What is wrong, `file:line: error: …`.
    pub problems: Vec<String>,
}

impl fmt::Display for VoxelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.stack, if self.ok { "can be blocked" } else { "cannot be blocked" })?;
        if let Some(image) = &self.image {
            writeln!(f, "  {}", image.to_string().replace('\n', "\n  "))?;
        }
        if let (Some(elements), Some(nodes)) = (self.elements, self.nodes) {
            let (elements, nodes) = (counted(elements as usize, "element"), counted(nodes as usize, "node"));
            writeln!(f, "  the model: {elements}, {nodes}, {}", counted(self.cases.len(), "load case"))?;
        }
        Ok(())
    }
}

/// A model with what reading it taught.
struct Loaded {
    mesh: VoxelMesh,
    setup: VoxelSetup,
    report: Report,
}

fn load(
    config: &VoxelConfig,
    progress: &dyn Progress,
    clock: &mut Clock,
    seconds: &mut VoxelSeconds,
) -> Result<Loaded, PipelineError> {
    let stack = || config.stack.display().to_string();
    let Some(path) = &config.job else {
        let message = "a voxel stack needs a job that says what grey values mean and how it is loaded: --job job.toml";
        return Err(JobError { file: stack(), line: 0, message: message.into() }.into());
    };
    progress.stage("read");
    let job = VoxelJob::read(&[path])?;
    let (grid, mut report) = job.image.voxel_grid(&config.stack, &job.law())?;
    seconds.read = clock.lap();

    progress.stage("mesh");
    let materials = match &grid.moduli {
        VoxelModuli::Classes { materials, .. } => {
            materials.iter().map(|(name, young)| VoxelMaterial { name: name.clone(), young: *young }).collect()
        }
        VoxelModuli::Each(_) => Vec::new(),
    };
    let mesh = mesh(grid).map_err(|error| PipelineError::Voxel { stack: config.stack.clone(), error })?;
    seconds.mesh = clock.lap();

    progress.stage("setup");
    let given = given(&config.stack, &job, &mut report.notes)?;
    let setup = job.setup(&mesh.view(), materials, &given, &|path| read_mask(path, &job.image.value.options()))?;
    seconds.setup = clock.lap();
    Ok(Loaded { mesh, setup, report })
}

/// Conditions that a ParOSol file holds, in the indices of the model. None where the job has its own; what of the file is not
/// used is said in `notes`.
fn given(stack: &Path, job: &VoxelJob, notes: &mut Vec<String>) -> Result<GivenConditions, PipelineError> {
    let mut given = GivenConditions::default();
    if !stack.is_file() {
        return Ok(given);
    }
    let Some(found) = image::parosol_conditions(stack)? else { return Ok(given) };
    let poisson = job.material.value.poisson;
    // Some writers store it as a float.
    if let Some(other) = found.poisson.filter(|other| (other - poisson).abs() > 1e-6) {
        notes.push(format!("Poisson's ratio is {poisson} as the job says, not {other} as the stack's file does"));
    }
    if job.load.is_some() || !job.boundaries.is_empty() || !job.forces.is_empty() {
        if !(found.fixed.is_empty() && found.forces.is_empty()) {
            notes.push("the conditions in the stack's file are not used: the job has its own".to_owned());
        }
        return Ok(given);
    }
    let image = &job.image;
    if (image.value.crop.is_some() || image.value.downsample.is_some() || image.value.resample.is_some())
        && !(found.fixed.is_empty() && found.forces.is_empty())
    {
        let message = "the conditions in the stack's file are for the whole image: leave out crop, downsample and resample, \
                       or give [load], [[boundary]] or [[force]] in the job";
        return Err(image.place.error(message).into());
    }
    let same = |value: image::NodeValue| Given { node: value.node, direction: value.direction, value: value.value };
    given.fixed = found.fixed.into_iter().map(same).collect();
    given.forces = found.forces.into_iter().map(same).collect();
    Ok(given)
}

/// Makes a block file. Either the whole new file is there afterwards, or whatever was there before.
///
/// # Errors
/// [`PipelineError`].
pub fn run(config: &VoxelConfig, progress: &dyn Progress) -> Result<VoxelSummary, PipelineError> {
    check_place(&config.output, std::iter::once(&config.stack).chain(&config.job))?;
    let (mut clock, mut seconds) = (Clock::new(), VoxelSeconds::default());
    let Loaded { mesh, setup, report } = load(config, progress, &mut clock, &mut seconds)?;
    let explain = |error| PipelineError::Voxel { stack: config.stack.clone(), error };
    let bricks = mesh.bricks.view();

    progress.stage("tables");
    let levels = levels(&bricks, mesh.size, config.grid, config.hash_tables).map_err(explain)?;
    seconds.tables = clock.lap();

    progress.stage("domains");
    let domains = domains(&bricks, config.domain_method, config.domains).map_err(explain)?;
    seconds.domains = clock.lap();

    progress.stage("write");
    let provenance = Provenance::new(Voxel::NAME, sources(config)?, config.options());
    let contents = VoxelContents { mesh: &mesh, levels: &levels, domains: &domains };
    let bytes = write_block::<Voxel>(&config.output, contents, &setup, &provenance)?;
    seconds.write = clock.lap();
    seconds.total = clock.start.elapsed().as_secs_f64();

    let (elements, nodes) = (bricks.n_elements() as u64, bricks.n_nodes() as u64);
    let peak_memory = peak_memory();
    Ok(VoxelSummary {
        stack: config.stack.display().to_string(),
        output: config.output.display().to_string(),
        bytes,
        physics: Voxel::NAME,
        image: report,
        size: mesh.size,
        spacing: mesh.spacing,
        elements,
        nodes,
        dof: 3 * nodes,
        bricks: bricks.n_bricks() as u64,
        cases: setup.cases.len() as u64,
        grid: config.grid.name(),
        levels: levels.offset.len().max(levels.hash.len()) as u64,
        domains: config.domains as u64,
        domain_partition: config.domain_method.name(),
        interface_fraction: domains.halo.len() as f64 / nodes.max(1) as f64,
        seconds,
        peak_memory,
        peak_bytes_per_dof: peak_memory.map(|peak| peak as f64 / (3 * nodes).max(1) as f64),
        version: VERSION.to_owned(),
    })
}

/// Reads everything and reports, without writing anything.
///
/// Problems of stack and job are part of the report. Nothing else can go wrong.
pub fn check(config: &VoxelConfig, progress: &dyn Progress) -> VoxelCheck {
    let stack = config.stack.display().to_string();
    match load(config, progress, &mut Clock::new(), &mut VoxelSeconds::default()) {
        Ok(Loaded { mesh, setup, report }) => VoxelCheck {
            stack,
            ok: true,
            image: Some(report),
            elements: Some(mesh.bricks.view().n_elements() as u64),
            nodes: Some(mesh.bricks.view().n_nodes() as u64),
            cases: setup.cases.iter().map(|case| case.name.clone()).collect(),
            problems: Vec::new(),
        },
        Err(error) => VoxelCheck {
            stack,
            ok: false,
            image: None,
            elements: None,
            nodes: None,
            cases: Vec::new(),
            problems: error.to_string().lines().map(str::to_owned).collect(),
        },
    }
}

/// The stack (all files of a folder, in the order of their names) and the job.
fn sources(config: &VoxelConfig) -> Result<Vec<Source>, PipelineError> {
    let of =
        |path: &Path| Source::of_file(path).map_err(|error| PipelineError::Source { path: path.to_owned(), error });
    let files = files_of(&config.stack)?;
    files.iter().chain(&config.job).map(|path| of(path)).collect()
}

/// Reads a stack that marks voxels, as a whole.
fn read_mask(path: &Path, options: &ImageOptions) -> Result<Mask, String> {
    // The description of a raw image is not that of its mask.
    let options = ImageOptions { axes: options.axes, ..ImageOptions::default() };
    let mut stack = image::open(path, &options).map_err(|error| error.to_string())?;
    let (size, sample, reversed) = (stack.header().size, stack.header().sample, stack.header().reversed);
    let [slope, intercept] = stack.header().rescale.unwrap_or([1.0, 0.0]);
    let n: usize = size.iter().product();
    let mut values = Vec::new();
    values.try_reserve_exact(n).map_err(|_| format!("{}: {}", path.display(), ErrorKind::OutOfMemory))?;
    values.resize(n, 0.0);
    let mut samples = Vec::new();
    let [n_fast, n_middle, _] = stack.header().file_size();
    for layer in 0..stack.n_layers() {
        stack.read_layers(layer..layer + 1, &mut samples).map_err(|error| error.to_string())?;
        for (at, sample) in samples.chunks_exact(sample.bytes()).map(|bytes| number(sample, bytes)).enumerate() {
            let (fast, middle) = (at % n_fast, at / n_fast);
            let index = match reversed {
                true => (fast * n_middle + middle) * size[0] + layer,
                false => (layer * n_middle + middle) * n_fast + fast,
            };
            values[index] = (slope * f64::from(sample) + intercept) as f32;
        }
    }
    Ok(Mask { size, values })
}

/// A little-endian sample.
fn number(sample: SampleType, bytes: &[u8]) -> f32 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let whole = u64::from_le_bytes(word);
    match sample {
        SampleType::Uint8 | SampleType::Uint16 | SampleType::Uint32 | SampleType::Uint64 => whole as f32,
        SampleType::Int8 => whole as i8 as f32,
        SampleType::Int16 => whole as i16 as f32,
        SampleType::Int32 => whole as i32 as f32,
        SampleType::Int64 => whole as i64 as f32,
        SampleType::Float32 => f32::from_bits(whole as u32),
        SampleType::Float64 => f64::from_bits(whole) as f32,
    }
}

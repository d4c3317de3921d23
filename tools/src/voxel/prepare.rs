//! From a voxel stack and a job to a block file: read, number, tabulate, cut, write.

use std::io::ErrorKind;
use std::path::Path;

use pogo_formats::block::Provenance;
use pogo_formats::job::{JobFile as _, JobText};
use pogo_formats::physics::write_block;
use pogo_formats::read::image::{self, ImageError, ImageOptions, ParosolConditions, Report};
use pogo_formats::system::memory::Need;
use pogo_formats::timings::peak_memory;
use pogo_formats::voxel::block::{Voxel, VoxelContents};
use pogo_formats::voxel::job::{Given, GivenConditions, Mask, VoxelJob};
use pogo_formats::voxel::setup::VoxelMaterial;
use pogo_formats::voxel::{VoxelMesh, VoxelMeshView, VoxelModuli, VoxelSetup};
use pogo_formats::words::{counted, grouped};

use super::{GridKind, domains, levels, mesh};
use crate::cli::word;
use crate::listing::Listing;
use crate::prepare::options::{DomainMethod, DomainOptions};
use crate::prepare::{InputKind, Made, Prepare, PrepareError, Remarks, Request, Work, files_of};

/// Options for a voxel stack.
#[derive(Debug, Clone, clap::Args)]
pub struct VoxelOptions {
    /// How the nodes of a voxel are found: by bricks alone, or also with the tables of the papers.
    #[arg(long, value_enum, default_value = "brick", value_name = "KIND")]
    pub grid: GridKind,
    /// Number of tables of a hash, a power of two; 1 is the papers' single hash [default: one for some 32,000 nodes].
    #[arg(long, value_name = "N", value_parser = hash_tables)]
    pub hash_tables: Option<u32>,
    #[command(flatten)]
    pub domains: DomainOptions,
}

fn hash_tables(text: &str) -> Result<u32, String> {
    let n = text.parse::<u32>().ok().filter(|n| n.is_power_of_two() && *n <= 1 << 20);
    n.ok_or_else(|| "expected a power of two up to 1048576".into())
}

/// A stack that was read, with the conditions of its job.
pub struct VoxelModel {
    mesh: VoxelMesh,
    setup: VoxelSetup,
    report: Report,
}

impl Prepare for Voxel {
    const INPUT: &'static str = "stack";
    const DEFAULT_FOR: Option<InputKind> = Some(InputKind::Stack);
    const IN_JOBS: bool = false;
    type Options = VoxelOptions;
    type Model = VoxelModel;

    fn command_line(options: &VoxelOptions) -> Vec<String> {
        let mut text = vec![format!("--grid {}", word(&options.grid))];
        text.extend(options.hash_tables.map(|n| format!("--hash-tables {n}")));
        text.extend(options.domains.command_line());
        text
    }

    fn memory(request: &Request, _: &VoxelOptions) -> Need {
        // What is wrong with them is said by who reads them.
        let job = parosol(&request.input).ok().and_then(|parosol| job(request, parosol.as_ref()).ok());
        job.and_then(|job| job.image.memory_of(&request.input, &job.law()).ok()).unwrap_or_default()
    }

    fn read(request: &Request, options: &VoxelOptions, work: &mut Work) -> Result<VoxelModel, PrepareError> {
        let refuse = |reason: &str| Err(PrepareError::option(&request.input, reason));
        if options.hash_tables.is_some() && options.grid != GridKind::Hash {
            return refuse("--hash-tables goes with --grid hash");
        }
        if matches!(options.domains.domain_partition, DomainMethod::Aligned | DomainMethod::Greedy) {
            return refuse("a voxel model is cut by --domain-partition morton or metis");
        }
        work.stage("read");
        let parosol = parosol(&request.input)?;
        let job = job(request, parosol.as_ref())?;
        let (grid, mut report) = job.image.voxel_grid(&request.input, &job.law())?;
        work.remarks.warn_of(&request.input, std::mem::take(&mut report.warnings));
        work.sources = files_of(&request.input)?;

        work.stage("mesh");
        let materials = match &grid.moduli {
            VoxelModuli::Classes { materials, .. } => {
                let poisson = |name: &str| job.material.value.poisson_of(name);
                let material = |(name, young): &(String, f64)| VoxelMaterial {
                    poisson: poisson(name),
                    name: name.clone(),
                    young: *young,
                };
                materials.iter().map(material).collect()
            }
            VoxelModuli::Each(_) => Vec::new(),
        };
        let mesh = mesh(grid).map_err(|error| PrepareError::model(&request.input, error))?;

        work.stage("setup");
        let mut given = given(parosol, &job, &mut report.notes)?;
        let unheld = leave_out_void(&mut given, &mesh.view());
        work.remarks.warn_of(&request.input, unheld);
        if request.jobs.is_empty() {
            let note =
                "moduli and forces have the file's units: with moduli in GPa and lengths in mm, forces are in kN";
            report.notes.push(note.to_owned());
        }
        let setup = job.setup(&mesh.view(), materials, &given, &|path| read_mask(path, &job.image.value.options()))?;
        Ok(VoxelModel { mesh, setup, report })
    }

    fn contents(read: Result<&VoxelModel, &PrepareError>, _: &Remarks) -> Listing {
        let model = read.ok();
        let sizes = model.map(|model| model.mesh.bricks.view()).map(|bricks| (bricks.n_elements(), bricks.n_nodes()));
        let cases = model.map_or(&[][..], |model| &model.setup.cases);
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let mut contents = Listing::default();
        contents.figure("image", &model.map(|model| &model.report));
        contents.figure("elements", &sizes.map(|(elements, _)| elements));
        contents.figure("nodes", &sizes.map(|(_, nodes)| nodes));
        contents.figure("cases", &names);
        if let (Some(model), Some((elements, nodes))) = (model, sizes) {
            contents.text(format_args!("  {}", model.report.to_string().replace('\n', "\n  ")));
            let (elements, nodes) = (counted(elements, "element"), counted(nodes, "node"));
            contents.text(format_args!("  the model: {elements}, {nodes}, {}", counted(names.len(), "load case")));
        }
        contents
    }

    fn write(
        VoxelModel { mesh, setup, report }: VoxelModel,
        request: &Request,
        options: &VoxelOptions,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<Made, PrepareError> {
        let explain = |error| PrepareError::model(&request.input, error);
        let bricks = mesh.bricks.view();
        work.stage("tables");
        if options.grid != GridKind::Brick {
            // Measured: 19 to 21 B a node for both.
            work.need(&request.input, "for the tables of nodes", 20.0 * bricks.n_nodes() as f64)?;
        }
        let tables = options.hash_tables.map(|n| n as usize);
        let levels = levels(&bricks, mesh.size, options.grid, tables).map_err(explain)?;

        work.stage("domains");
        let DomainOptions { domains: n_domains, domain_partition } = options.domains;
        let domains = domains(&bricks, domain_partition, n_domains.into()).map_err(explain)?;

        work.stage("write");
        let contents = VoxelContents { mesh: &mesh, levels: &levels, domains: &domains };
        let bytes = write_block::<Self>(&request.output, contents, &setup, provenance)?;

        let (elements, nodes, n_bricks) = (bricks.n_elements(), bricks.n_nodes(), bricks.n_bricks());
        let (dof, n_levels, grid) = (3 * nodes, levels.offset.len().max(levels.hash.len()), word(&options.grid));
        let mut figures = Listing::default();
        figures.figure("image", &report);
        figures.figure("size", &mesh.size);
        figures.figure("spacing", &mesh.spacing);
        figures.figure("elements", &elements);
        figures.figure("nodes", &nodes);
        figures.figure("dof", &dof);
        figures.figure("bricks", &n_bricks);
        figures.figure("cases", &setup.cases.len());
        figures.figure("grid", &grid);
        figures.figure("levels", &n_levels);
        let (elements, nodes_text) = (counted(elements, "element"), counted(nodes, "node"));
        figures.text(format_args!("{elements}, {nodes_text}, {} degrees of freedom", grouped(dof as u64)));
        figures.text(format_args!("  {}", report.to_string().replace('\n', "\n  ")));
        let on_levels = if n_levels > 0 { format!(" on {}", counted(n_levels, "level")) } else { String::new() };
        let (n_bricks, cases) = (counted(n_bricks, "brick"), counted(setup.cases.len(), "load case"));
        figures.text(format_args!("  {n_bricks}, grid {grid}{on_levels}; {cases}"));
        figures.sub_domains(&word(&domain_partition), n_domains.into(), domains.halo.len(), nodes);
        figures.figure("peak_bytes_per_dof", &peak_memory().map(|peak| peak as f64 / dof.max(1) as f64));
        Ok(Made { bytes, figures, size: (dof, "degree of freedom") })
    }
}

/// What a ParOSol file holds besides its image; none of other stacks.
fn parosol(stack: &Path) -> Result<Option<ParosolConditions>, ImageError> {
    if stack.is_file() { image::parosol_conditions(stack) } else { Ok(None) }
}

/// The job of a stack. A ParOSol file has moduli and Poisson's ratio itself, which its jobs may replace.
fn job(request: &Request, parosol: Option<&ParosolConditions>) -> Result<VoxelJob, PrepareError> {
    let (stack, mut text) = (&request.input, JobText::default());
    let refuse = |reason: &str| Err(PrepareError::option(stack, reason));
    match parosol.map(|found| found.poisson) {
        Some(Some(poisson)) => {
            let material = format!("[material]\nlaw = \"modulus\"\npoisson = {poisson:?}\n");
            text.add(&material, &stack.display().to_string(), stack.parent().unwrap_or(Path::new("")));
        }
        _ if !request.jobs.is_empty() => {}
        Some(None) => {
            return refuse(
                "this file has no Poisons_ratio: give it in a job, [material] with law = \"modulus\" and poisson = 0.3",
            );
        }
        None => {
            return refuse(
                "a voxel stack needs a job that says what grey values mean and how it is loaded: --job job.toml",
            );
        }
    }
    text.add_files(&request.jobs)?;
    let job = VoxelJob::from_text(&text)?;
    let is_of_file = job.material.place.file[..] == *stack.display().to_string();
    if is_of_file && parosol.is_some_and(|found| found.has_ratio_image) {
        return refuse(
            "Poisson's ratios of single voxels (Poissons_ratio_Image) are not used: give [material] in a job, with law = \
             \"modulus\" and the poisson of all, or with the labels of a stack of labels and a poisson each",
        );
    }
    Ok(job)
}

/// Leaves out prescribed displacements of nodes without a solid voxel; how many there were, if any.
fn leave_out_void(given: &mut GivenConditions, mesh: &VoxelMeshView<'_>) -> Option<String> {
    let before = given.fixed.len();
    given.fixed.retain(|value| mesh.bricks.node(value.node).is_some());
    let n = before - given.fixed.len();
    (n > 0 && !given.fixed.is_empty()).then(|| {
        let values = counted(n, "prescribed displacement");
        format!("{values} of {} left out: none of the voxels round their nodes is solid", grouped(before as u64))
    })
}

/// Conditions that a ParOSol file holds, in the indices of the model. There are none where the job has its own; a note says
/// then that those of the file are not used.
fn given(
    parosol: Option<ParosolConditions>,
    job: &VoxelJob,
    notes: &mut Vec<String>,
) -> Result<GivenConditions, PrepareError> {
    let mut given = GivenConditions::default();
    let Some(found) = parosol else { return Ok(given) };
    let poisson = job.material.value.model_poisson();
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
    let [n_fast, n_middle, _] = stack.header().file_size();
    let (mut bytes, mut samples) = (Vec::new(), vec![0.0; n_fast * n_middle]);
    for layer in 0..stack.n_layers() {
        stack.read_layers(layer..layer + 1, &mut bytes).map_err(|error| error.to_string())?;
        sample.decode(&bytes, &mut samples);
        for (at, sample) in samples.iter().enumerate() {
            let (fast, middle) = (at % n_fast, at / n_fast);
            let index = match reversed {
                true => (fast * n_middle + middle) * size[0] + layer,
                false => (layer * n_middle + middle) * n_fast + fast,
            };
            let value = slope * sample + intercept;
            if !value.is_finite() {
                let [i, j, k] = [0, 1, 2].map(|axis| index / size[..axis].iter().product::<usize>() % size[axis]);
                return Err(format!(
                    "{}: error: voxel ({i}, {j}, {k}) has the value {value}: mend the mask first",
                    path.display()
                ));
            }
            values[index] = value as f32;
        }
    }
    stack.finish().map_err(|error| error.to_string())?;
    if let Some(warning) = stack.header().warnings.first() {
        return Err(format!("{}: error: {warning}", path.display()));
    }
    Ok(Mask { size, values })
}

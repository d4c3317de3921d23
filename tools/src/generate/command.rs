//! The models as `pogo-gen` offers them.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pogo_formats::VERSION;
use pogo_formats::explicit::Model;
use pogo_formats::mesh::ElementKind;
use serde::Serialize;
use serde_json::json;

use super::cuboid::{self, BoxOptions, cuboid};
use super::deck::save;
use super::lattice::save_lattice;
use super::mirror::{MirrorOptions, save_mirror};
use super::perlin::{PerlinOptions, save_perlin};
use super::quality::quality;
use super::ventricle::{VentricleOptions, save_ventricle};
use super::{GenerateError, ModelOptions, gear, geophysics, weld};

/// Which model to make, and how.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Generator {
    /// Weld with a crack: 5 MHz, 40 µm, 0.96 million nodes (Section 4.1).
    Weld(ModelOptions),
    /// Spur gear with holes: 500 kHz, 80 µm, 1.45 million nodes (Section 4.2).
    Gear(ModelOptions),
    /// Four rocks with absorbing sides: 5 m, 1.01 million nodes (Section 4.3).
    Geophysics(ModelOptions),
    /// Steel box of 1 mm elements of one kind, to measure speed with; or, with numbers or --heart, a lattice of particles: a
    /// stack of voxels and a job of springs beside it (Rasmusson, Mosegaard and Sørensen).
    Box(BoxArguments),
    /// Porous voxel sample of Perlin noise (Arbenz, Flaig and Kellenberger).
    Perlin(PerlinOptions),
    /// Voxel stack mirrored to a larger one.
    Mirror(MirrorOptions),
    /// Left ventricle of tetrahedra with fibres, sheets and a scar, for arrival times.
    Ventricle(VentricleOptions),
}

/// Options of a box of elements or a lattice of particles.
#[derive(Debug, Clone, clap::Args)]
pub struct BoxArguments {
    /// A lattice instead of elements: particles along x, y and z, or one number for a cube.
    #[arg(value_name = "N", num_args = 0..=3, conflicts_with_all = ["elements", "nodes", "jitter", "increments"])]
    lattice: Vec<usize>,
    /// A lattice like the paper's heart: 29,449 particles in a box of 140,760.
    #[arg(long, conflicts_with_all = ["elements", "nodes", "lattice", "jitter", "increments"])]
    heart: bool,
    /// Give a lattice springs along space diagonals, too.
    #[arg(long, conflicts_with_all = ["elements", "nodes"])]
    space: bool,
    /// Element kind, such as cpe3, cpe4r, c3d4, c3d8 or c3d8r.
    #[arg(long, value_parser = cuboid::parse_kind, value_name = "KIND", requires = "nodes",
          required_unless_present_any = ["lattice", "heart"])]
    elements: Option<ElementKind>,
    /// Number of nodes, met as nearly as whole rows of elements allow.
    #[arg(long, value_name = "N", requires = "elements")]
    nodes: Option<u32>,
    /// Random displacement of inner nodes as a fraction of the element size, 0 to 0.2 (triangles are always irregular).
    #[arg(long, default_value_t = 0.15)]
    jitter: f64,
    /// Length of the run, in increments.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    increments: u32,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// For people, with ends of lines.
    pub text: String,
    /// The same as one JSON object.
    pub json: String,
}

impl Generator {
    /// Name of the file where none is given.
    pub fn default_output(&self) -> &'static str {
        match self {
            Self::Weld(_) => "weld.inp",
            Self::Gear(_) => "gear.inp",
            Self::Geophysics(_) => "geophysics.inp",
            Self::Box(BoxArguments { elements: Some(_), .. }) => "box.inp",
            Self::Box(BoxArguments { heart: true, .. }) => "heart.npy",
            Self::Box(_) => "box.npy",
            Self::Perlin(_) => "perlin.nrrd",
            Self::Mirror(_) => "mirror.nrrd",
            Self::Ventricle(_) => "ventricle.vtu",
        }
    }

    /// Makes the model and writes it.
    ///
    /// # Errors
    /// See [`GenerateError`].
    pub fn save(&self, path: &Path) -> Result<Generated, GenerateError> {
        let start = Instant::now();
        let model = match self {
            Self::Weld(options) => weld(options)?,
            Self::Gear(options) => gear(options)?,
            Self::Geophysics(options) => geophysics(options)?,
            Self::Box(BoxArguments { elements: Some(elements), nodes: Some(nodes), jitter, increments, .. }) => {
                let (elements, nodes, jitter, increments) = (*elements, *nodes, *jitter, *increments);
                cuboid(&BoxOptions { elements, nodes, jitter, increments })?
            }
            Self::Box(BoxArguments { lattice, heart, space, .. }) => {
                let (summary, job) = save_lattice(lattice, *heart, *space, path)?;
                return Ok(written(path, &summary, Some(job), start));
            }
            Self::Perlin(options) => return Ok(written(path, &save_perlin(options, path)?, None, start)),
            Self::Mirror(options) => return Ok(written(path, &save_mirror(options, path)?, None, start)),
            Self::Ventricle(options) => return Ok(written(path, &save_ventricle(options, path)?, None, start)),
        };
        save_deck(path, &model, start)
    }
}

fn save_deck(path: &Path, model: &Model, start: Instant) -> Result<Generated, GenerateError> {
    let mesh_seconds = start.elapsed().as_secs_f64();
    let bytes = save(model, path)?;
    let quality = quality(&model.mesh);
    let total_seconds = start.elapsed().as_secs_f64();
    let json = json!({
        "file": path, "bytes": bytes, "quality": quality, "mesh_seconds": mesh_seconds,
        "total_seconds": total_seconds, "version": VERSION,
    });
    let text = format!("{}: {quality}, {:.1} MB in {total_seconds:.1} s\n", path.display(), bytes as f64 / 1e6);
    Ok(Generated { text, json: format!("{json:#}\n") })
}

/// Reports a stack or a mesh that was written.
fn written(path: &Path, stack: &(impl Serialize + Display), job: Option<PathBuf>, start: Instant) -> Generated {
    let seconds = start.elapsed().as_secs_f64();
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let json = json!({ "file": path, "bytes": bytes, "stack": stack, "total_seconds": seconds, "version": VERSION });
    let job = job.map_or_else(String::new, |job| format!("{}: the job\n", job.display()));
    let text = format!("{job}{}: {stack}, {:.1} MB in {seconds:.1} s\n", path.display(), bytes as f64 / 1e6);
    Generated { text, json: format!("{json:#}\n") }
}

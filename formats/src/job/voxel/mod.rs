//! TOML jobs of voxel models: which voxels are solid, what they are made of, how they are loaded and what to report.
//!
//! A job for a voxel stack is a schema of its own, chosen when the input is not a deck. Lengths are in the job's unit of
//! length (`[image] unit`, millimetres when absent), moduli in any unit: with millimetres and N/mm² (MPa), forces are in N.
//! `examples/voxel-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod condition;
mod image;
mod load;
mod material;
mod presets;
mod run;
mod setup;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

pub use condition::{Boundary, Facing, Force, Plane, Where};
pub use image::{AxisOrder, Downsampling, Endian, Image, Keep, LengthUnit, RawImage, SampleType, Spacing};
pub use load::{BoundaryName, Bounds, Load, Preset};
pub use material::{Calibration, Label, Law, List, Material, OtherLabels, Quantity};
pub use run::{
    CoarseSolverValue, CycleName, DirectWord, FieldName, NormName, OperatorName, Output, PrecisionName, Solver,
    SolverPreset,
};
pub use setup::{Given, GivenConditions, Mask};

use super::{JobError, Located, Place, check};

/// A checked job of a voxel model.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelJob {
    /// `title`.
    pub title: Option<String>,
    /// `[image]`; its defaults at line 1 where the job has none.
    pub image: Located<Image>,
    /// `[material]`.
    pub material: Located<Material>,
    /// `[load]`.
    pub load: Option<Located<Load>>,
    /// `[[boundary]]`.
    pub boundaries: Vec<Located<Boundary>>,
    /// `[[force]]`.
    pub forces: Vec<Located<Force>>,
    /// `[solver]`.
    pub solver: Located<Solver>,
    /// `[output]`.
    pub output: Located<Output>,
    /// Folder of the job, which files that it names are relative to.
    pub folder: PathBuf,
}

/// The file as TOML gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVoxelJob {
    title: Option<String>,
    image: Option<Spanned<Image>>,
    material: Option<Spanned<Material>>,
    load: Option<Spanned<Load>>,
    #[serde(default)]
    boundary: Vec<Spanned<Boundary>>,
    #[serde(default)]
    force: Vec<Spanned<Force>>,
    solver: Option<Spanned<Solver>>,
    output: Option<Spanned<Output>>,
}

impl VoxelJob {
    /// Reads and checks one job.
    ///
    /// # Errors
    /// [`JobError`] with the line, for a file that cannot be read, TOML that is malformed, a key that does not exist, and
    /// values that make no sense.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| JobError {
            file: name.clone(),
            line: 0,
            message: format!("cannot read this job: {error}"),
        })?;
        let mut job = Self::parse(&text, &name)?;
        job.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(job)
    }

    /// Parses and checks a job; `name` is the file as errors show it.
    ///
    /// # Errors
    /// As [`VoxelJob::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, JobError> {
        check::numbers_are_finite(text, name)?;
        let raw: RawVoxelJob = toml::from_str(text).map_err(|error| check::toml_error(text, name, &error))?;
        let file: Arc<str> = Arc::from(name);
        let start = Place { file: file.clone(), line: 1 };
        let place = |start: usize| Place { file: file.clone(), line: check::line_of(text, start) };
        let image =
            locate(raw.image, place).unwrap_or_else(|| Located { place: start.clone(), value: Image::default() });
        let material = locate(raw.material, place).ok_or_else(|| {
            start.error("this job has no [material] table: say what grey values mean, e.g. law = \"threshold\"")
        })?;
        image.value.check().map_err(|message| image.place.error(message))?;
        material.value.check().map_err(|message| material.place.error(message))?;
        let load = locate(raw.load, place);
        let boundaries: Vec<_> = raw.boundary.into_iter().filter_map(|item| locate(Some(item), place)).collect();
        let forces: Vec<_> = raw.force.into_iter().filter_map(|item| locate(Some(item), place)).collect();
        let solver =
            locate(raw.solver, place).unwrap_or_else(|| Located { place: start.clone(), value: Solver::default() });
        let output =
            locate(raw.output, place).unwrap_or_else(|| Located { place: start.clone(), value: Output::default() });
        if let Some(load) = &load {
            load.value.check().map_err(|message| load.place.error(message))?;
        }
        for item in &boundaries {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        for item in &forces {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        solver.value.check().map_err(|message| solver.place.error(message))?;
        output.value.check().map_err(|message| output.place.error(message))?;
        let folder = PathBuf::new();
        Ok(Self { title: raw.title, image, material, load, boundaries, forces, solver, output, folder })
    }
}

/// A table and the line of its heading.
fn locate<T>(item: Option<Spanned<T>>, place: impl Fn(usize) -> Place) -> Option<Located<T>> {
    item.map(|item| Located { place: place(item.span().start), value: item.into_inner() })
}

#[cfg(test)]
mod tests;

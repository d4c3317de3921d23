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

use crate::job::text::JobText;
use crate::job::{JobError, Located};

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
        Self::from_text(&JobText::read(path)?)
    }

    /// Parses and checks a job; `name` is the file as errors show it.
    ///
    /// # Errors
    /// As [`VoxelJob::read`].
    pub fn parse(text: &str, name: &str) -> Result<Self, JobError> {
        Self::from_text(&JobText::new(text, name, Path::new("")))
    }

    fn from_text(text: &JobText) -> Result<Self, JobError> {
        let raw: RawVoxelJob = text.parse()?;
        let image = text.locate_or_default(raw.image);
        let material = raw.material.map(|item| text.locate(item)).ok_or_else(|| {
            let message = "this job has no [material] table: say what grey values mean, e.g. law = \"threshold\"";
            text.place(0).error(message)
        })?;
        image.value.check().map_err(|message| image.place.error(message))?;
        material.value.check().map_err(|message| material.place.error(message))?;
        let load = raw.load.map(|item| text.locate(item));
        let (boundaries, forces) = (text.locate_all(raw.boundary), text.locate_all(raw.force));
        let (solver, output) = (text.locate_or_default(raw.solver), text.locate_or_default(raw.output));
        if let Some(load) = &load {
            load.value.check().map_err(|message| load.place.error(message))?;
        }
        for item in &boundaries {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        for item in &forces {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        check_names(&boundaries, &forces)?;
        solver.value.check().map_err(|message| solver.place.error(message))?;
        output.value.check().map_err(|message| output.place.error(message))?;
        let folder = text.folder.clone();
        Ok(Self { title: raw.title, image, material, load, boundaries, forces, solver, output, folder })
    }
}

/// Names must tell conditions apart, and those of faces belong to the faces.
fn check_names(boundaries: &[Located<Boundary>], forces: &[Located<Force>]) -> Result<(), JobError> {
    let names = [
        boundaries.iter().enumerate().map(|(index, item)| (item.value.name(index), &item.place)).collect::<Vec<_>>(),
        forces.iter().enumerate().map(|(index, item)| (item.value.name(index), &item.place)).collect(),
    ];
    for names in names {
        for (index, (name, place)) in names.iter().enumerate() {
            if names[..index].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                return Err(place.error(format!(
                    "another condition is called \"{name}\" too: overrides and reactions could not tell them apart"
                )));
            }
        }
    }
    for item in boundaries {
        let named = item.value.name.as_deref().and_then(presets::side_called);
        let is_it = |side| matches!(item.value.place(), Ok(Where::Sides(&[only])) if only == side);
        if let Some(side) = named.filter(|&side| !is_it(side)) {
            let name = presets::side_name(side);
            return Err(item
                .place
                .error(format!("\"{name}\" is a face of the box: call this condition something else")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

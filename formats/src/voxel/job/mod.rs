//! TOML jobs of voxel models: which voxels are solid, what they are made of, how they are loaded and what to report.
//!
//! A job for a voxel stack is a schema of its own, chosen when the input is not a deck. Lengths are in the job's unit of
//! length (`[image] unit`, millimetres when absent), moduli in any unit: with millimetres and N/mm² (MPa), forces are in N.
//! `examples/voxel-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod condition;
mod load;
mod material;
mod presets;
mod run;
mod setup;

pub use condition::{Boundary, Facing, Force, Plane, Where};
pub use load::{Bounds, Load, Preset};
pub use material::{Calibration, Label, LawName, Material, OtherLabels};
pub use run::{CoarseSolverValue, Output, Solver, SolverPreset};
pub use setup::{Given, GivenConditions, Mask};

use crate::job::check::{each, one};
use crate::job::{Image, JobError, JobFile, Located, Tables};
use crate::read::image::MaterialLaw;

/// A checked job of a voxel model.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct VoxelJob {
    pub title: Option<String>,
    /// `[image]`; its defaults at line 1 where the job has none.
    pub image: Located<Image>,
    pub material: Located<Material>,
    pub load: Option<Located<Load>>,
    pub boundaries: Vec<Located<Boundary>>,
    pub forces: Vec<Located<Force>>,
    pub solver: Located<Solver>,
    pub output: Located<Output>,
}

impl JobFile for VoxelJob {
    const KEYS: &'static [&'static str] =
        &["title", "image", "material", "load", "boundary", "force", "solver", "output"];

    fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError> {
        let Some(material) = tables.get("material")? else {
            let message = "this job has no [material] table: say what grey values mean, e.g. law = \"threshold\"";
            return Err(tables.start().error(message));
        };
        Ok(Self {
            title: tables.get("title")?.map(|title| title.value),
            image: tables.get_or_default("image")?,
            material,
            load: tables.get("load")?,
            boundaries: tables.get_all("boundary")?,
            forces: tables.get_all("force")?,
            solver: tables.get_or_default("solver")?,
            output: tables.get_or_default("output")?,
        })
    }

    fn check(&self) -> Result<(), JobError> {
        one(&self.image, Image::check)?;
        one(&self.material, Material::check)?;
        self.load.as_ref().map_or(Ok(()), |load| one(load, Load::check))?;
        each(&self.boundaries, Boundary::check)?;
        each(&self.forces, Force::check)?;
        check_names(&self.boundaries, &self.forces)?;
        one(&self.solver, Solver::check)?;
        one(&self.output, Output::check)
    }
}

impl VoxelJob {
    /// What grey values mean.
    pub fn law(&self) -> Located<MaterialLaw> {
        Located { place: self.material.place.clone(), value: self.material.value.law() }
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

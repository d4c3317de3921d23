//! TOML jobs of Eikonal models: how fast the wave is where, where it starts, and what to report.
//!
//! A job for `.vtu`, `.vtk`, `.msh` and openCARP meshes, and for decks with `physics = "eikonal"`. Lengths are in the unit of length of the
//! mesh times `[mesh] scale`, times in any unit, speeds in the one over the other: with millimetres and milliseconds, mm/ms are m/s.
//! `examples/eikonal-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod ecg;
mod gradient;
mod setup;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

pub use ecg::{Ecg, Electrode, Lead};
pub use gradient::{Gradient, Measured};
pub use setup::Applied;
pub use tables::{Mesh, NodeName, Output, Solver, Sphere, Start, Velocity};
pub use tree::Tree;

use crate::job::check::{each, one, unique};
use crate::job::{JobError, JobFile, Located, Tables};

/// A checked job of an Eikonal model.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct EikonalJob {
    pub title: Option<String>,
    pub mesh: Located<Mesh>,
    /// `[[velocity]]`; where two cover the same element, the later wins.
    pub velocities: Vec<Located<Velocity>>,
    pub starts: Vec<Located<Start>>,
    pub solver: Located<Solver>,
    pub output: Located<Output>,
    pub trees: Vec<Located<Tree>>,
    pub ecg: Option<Located<Ecg>>,
    pub electrodes: Vec<Located<Electrode>>,
    pub leads: Vec<Located<Lead>>,
    pub gradient: Located<Gradient>,
    pub measured: Vec<Located<Measured>>,
}

impl JobFile for EikonalJob {
    const KEYS: &'static [&'static str] = &[
        "physics",
        "title",
        "mesh",
        "velocity",
        "start",
        "tree",
        "solver",
        "output",
        "ecg",
        "electrode",
        "lead",
        "gradient",
        "measured",
    ];

    fn from_tables(tables: &mut Tables<'_>) -> Result<Self, JobError> {
        let job = Self {
            title: tables.get("title")?.map(|title| title.value),
            mesh: tables.get_or_default("mesh")?,
            velocities: tables.get_all("velocity")?,
            starts: tables.get_all("start")?,
            solver: tables.get_or_default("solver")?,
            output: tables.get_or_default("output")?,
            trees: tables.get_all("tree")?,
            ecg: tables.get("ecg")?,
            electrodes: tables.get_all("electrode")?,
            leads: tables.get_all("lead")?,
            gradient: tables.get_or_default("gradient")?,
            measured: tables.get_all("measured")?,
        };
        if job.velocities.is_empty() {
            let message = "this job has no [[velocity]] table: say how fast the wave is, e.g. speed = 0.6";
            return Err(tables.start().error(message));
        }
        let in_trees = job.trees.iter().any(|tree| tree.value.start_node.is_some() || tree.value.start_at.is_some());
        if job.starts.is_empty() && !in_trees {
            let message = "this job has no [[start]] table: say where the wave starts, e.g. at = [0, 0, 0]";
            return Err(tables.start().error(message));
        }
        Ok(job)
    }

    fn check(&self) -> Result<(), JobError> {
        one(&self.mesh, Mesh::check)?;
        each(&self.velocities, Velocity::check)?;
        each(&self.starts, Start::check)?;
        one(&self.solver, Solver::check)?;
        one(&self.output, Output::check)?;
        each(&self.trees, Tree::check)?;
        self.ecg.iter().try_for_each(|ecg| one(ecg, Ecg::check))?;
        each(&self.electrodes, Electrode::check)?;
        each(&self.leads, Lead::check)?;
        one(&self.gradient, Gradient::check)?;
        each(&self.measured, Measured::check)?;
        unique("tree", &self.trees, |item| item.name.as_deref())?;
        unique("electrode", &self.electrodes, |item| Some(&item.name))?;
        unique("velocity", &self.velocities, |item| item.name.as_deref())?;
        unique("start", &self.starts, |item| item.name.as_deref())
    }
}

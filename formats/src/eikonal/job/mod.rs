//! TOML jobs of Eikonal models: how fast the wave is where, where it starts, and what to report.
//!
//! A job for `.vtu`, `.vtk`, `.msh` and openCARP meshes, and for decks with `physics = "eikonal"`. Lengths are in the unit of length of the
//! mesh times `[mesh] scale`, times in any unit, speeds in the one over the other: with millimetres and milliseconds, mm/ms are m/s.
//! `examples/eikonal-job-reference.toml` shows every table and key. A key that does not exist is an error.

mod setup;
mod tables;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

pub use setup::Applied;
pub use tables::{
    DecompositionName, LocalSolverName, Mesh, NodeName, OneOrMore, Output, Solver, Sphere, Start, Velocity,
};

use crate::job::text::JobText;
use crate::job::{JobError, Located};

/// A checked job of an Eikonal model.
#[derive(Debug, Clone, PartialEq)]
pub struct EikonalJob {
    /// `title`.
    pub title: Option<String>,
    /// `[mesh]`.
    pub mesh: Located<Mesh>,
    /// `[[velocity]]`; where two cover the same element, the later wins.
    pub velocities: Vec<Located<Velocity>>,
    /// `[[start]]`.
    pub starts: Vec<Located<Start>>,
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
struct RawJob {
    /// Read by [`physics`](crate::job::physics()).
    #[serde(default, rename = "physics")]
    _physics: Option<String>,
    title: Option<String>,
    mesh: Option<Spanned<Mesh>>,
    #[serde(default)]
    velocity: Vec<Spanned<Velocity>>,
    #[serde(default)]
    start: Vec<Spanned<Start>>,
    solver: Option<Spanned<Solver>>,
    output: Option<Spanned<Output>>,
}

impl EikonalJob {
    /// Reads and checks one job.
    ///
    /// # Errors
    /// [`JobError`] with the line, for a file that cannot be read, TOML that is malformed, a key that does not exist, and
    /// values that make no sense.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::read(path)?)
    }

    /// Parses and checks a job; `name` is the file as errors show it, and files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// As [`EikonalJob::read`].
    pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Self, JobError> {
        Self::from_text(&JobText::new(text, name, folder))
    }

    fn from_text(text: &JobText) -> Result<Self, JobError> {
        let raw: RawJob = text.parse()?;
        let (velocities, starts) = (text.locate_all(raw.velocity), text.locate_all(raw.start));
        if velocities.is_empty() {
            let message = "this job has no [[velocity]] table: say how fast the wave is, e.g. speed = 0.6";
            return Err(text.place(0).error(message));
        }
        if starts.is_empty() {
            let message = "this job has no [[start]] table: say where the wave starts, e.g. at = [0, 0, 0]";
            return Err(text.place(0).error(message));
        }
        let mesh = text.locate_or_default(raw.mesh);
        let (solver, output) = (text.locate_or_default(raw.solver), text.locate_or_default(raw.output));
        mesh.value.check().map_err(|message| mesh.place.error(message))?;
        for item in &velocities {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        for item in &starts {
            item.value.check().map_err(|message| item.place.error(message))?;
        }
        solver.value.check().map_err(|message| solver.place.error(message))?;
        output.value.check().map_err(|message| output.place.error(message))?;
        let job = Self { title: raw.title, mesh, velocities, starts, solver, output, folder: text.folder.clone() };
        unique(job.velocities.iter().map(|item| (item.value.name.as_deref(), item)), "velocity")?;
        unique(job.starts.iter().map(|item| (item.value.name.as_deref(), item)), "start")?;
        Ok(job)
    }
}

fn unique<'a, T: 'a>(
    items: impl Iterator<Item = (Option<&'a str>, &'a Located<T>)>,
    table: &str,
) -> Result<(), JobError> {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for (name, item) in items {
        let Some(name) = name else { continue };
        if let Some((_, line)) = seen.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(item.place.error(format!("{table} \"{name}\" is there already, on line {line}")));
        }
        seen.push((name, item.place.line));
    }
    Ok(())
}

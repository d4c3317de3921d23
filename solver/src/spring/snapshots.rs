//! Positions and springs over time: which steps, and the files there.

use std::path::{Path, PathBuf};

use pogo_formats::dynamics::OutputInterval;
use pogo_formats::spring::picture::{SpringPaint, bounds, springs_png};
use pogo_formats::spring::results::{SpringCell, SpringFrame};
use pogo_formats::spring::{SpringFields, SpringMeshView};
use pogo_formats::write::fields::{FieldFormat, FieldSeries};
use pogo_kernels::spring::{Springs, State};

use crate::error::SolveError;
use crate::explicit::schedule;
use crate::explicit::snapshots::PICTURE;

/// Pictures of a run that asks for no snapshots.
const DEFAULT_PICTURES: OutputInterval = OutputInterval::Count(4);

struct Series {
    steps: Vec<u64>,
    springs: bool,
    velocity: bool,
    files: FieldSeries,
}

struct Pictures {
    steps: Vec<u64>,
    folder: PathBuf,
    title: String,
    names: Vec<String>,
    box_of: [[f64; 3]; 2],
}

/// All snapshots of a run.
pub struct Snapshots<'a> {
    mesh: &'a SpringMeshView<'a>,
    order: &'a [u32],
    time_increment: f64,
    series: Vec<Series>,
    pictures: Option<Pictures>,
}

impl<'a> Snapshots<'a> {
    /// Plans the snapshots of all requests into `folder`. `order` are the particles in the user's order. With `resume_at`, what
    /// an earlier run has written up to that step stays.
    ///
    /// # Errors
    /// The folder cannot be written.
    #[allow(clippy::too_many_arguments)] // the plan, and where and how it is carried out
    pub fn plan(
        mesh: &'a SpringMeshView<'a>,
        order: &'a [u32],
        requests: &[SpringFields],
        n_steps: u64,
        time_increment: f64,
        folder: &Path,
        format: FieldFormat,
        resume_at: Option<u64>,
    ) -> Result<Self, SolveError> {
        let mut series = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let name = if index == 0 { "fields".to_owned() } else { format!("fields-{}", index + 1) };
            let steps = schedule::steps(request.interval, n_steps, time_increment);
            let expected = steps.len() as u64;
            let files = match resume_at {
                None => FieldSeries::create(folder, &name, format, expected)?,
                Some(step) => FieldSeries::resume(folder, &name, format, expected, step)?,
            };
            series.push(Series { steps, springs: request.springs, velocity: request.velocity, files });
        }
        Ok(Self { mesh, order, time_increment, series, pictures: None })
    }

    /// Adds pictures at every snapshot, or at a few steps of a run without snapshots.
    pub fn with_pictures(mut self, title: &str, n_steps: u64, folder: &Path) -> Self {
        let mut steps: Vec<u64> = self.series.iter().flat_map(|series| series.steps.iter().copied()).collect();
        steps.sort_unstable();
        steps.dedup();
        if steps.is_empty() {
            steps = schedule::steps(DEFAULT_PICTURES, n_steps, self.time_increment);
        }
        let box_of = bounds(self.mesh.coordinates);
        let (folder, title) = (folder.to_owned(), title.to_owned());
        self.pictures = Some(Pictures { steps, folder, title, names: Vec::new(), box_of });
        self
    }

    /// Steps at which something is written, ascending.
    pub fn steps(&self) -> Vec<u64> {
        let pictures = self.pictures.iter().map(|pictures| pictures.steps.as_slice());
        let plans = self.series.iter().map(|series| series.steps.as_slice()).chain(pictures);
        let mut steps: Vec<u64> = plans.flatten().copied().collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Names of the files to open, in the output folder.
    pub fn files(&self) -> Vec<String> {
        let written = self.series.iter().filter(|series| !series.files.is_empty());
        let names = written.filter_map(|series| Some(series.files.path().file_name()?.to_str()?.to_owned()));
        names.chain(self.pictures.iter().flat_map(|pictures| pictures.names.iter().cloned())).collect()
    }

    /// Writes what is due at a state.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&mut self, state: &State, springs: &Springs<'_>) -> Result<(), SolveError> {
        let time = state.step as f64 * self.time_increment;
        let is_due = |steps: &[u64]| steps.binary_search(&state.step).is_ok();
        let picture = self.pictures.as_ref().is_some_and(|pictures| is_due(&pictures.steps));
        let mut cells = Vec::new();
        if picture || self.series.iter().any(|series| series.springs && is_due(&series.steps)) {
            let n = springs.len() as usize;
            cells.try_reserve_exact(n).map_err(|_| SolveError::Memory { what: "a snapshot of the springs".into() })?;
            springs.strains(&state.displacement, |particles, group, strain| {
                cells.push(SpringCell { particles, group, strain: strain as f32 });
            });
        }
        let velocity: Vec<f64> = if self.series.iter().any(|series| series.velocity && is_due(&series.steps)) {
            state.increment.iter().map(|du| du / self.time_increment).collect()
        } else {
            Vec::new()
        };
        let frame = SpringFrame {
            time,
            coordinates: self.mesh.coordinates,
            displacement: &state.displacement,
            velocity: &[],
            labels: self.mesh.labels,
            material: self.mesh.material,
            order: self.order,
            springs: Some(&cells),
        };
        for series in self.series.iter_mut().filter(|series| is_due(&series.steps)) {
            let frame = SpringFrame {
                velocity: if series.velocity { &velocity } else { &[] },
                springs: series.springs.then_some(&cells),
                ..frame
            };
            series.files.write(state.step, time, &frame.grid()?)?;
        }
        if let Some(pictures) = self.pictures.as_mut().filter(|_| picture) {
            let name = format!("{PICTURE}{:09}.png", state.step);
            let path = pictures.folder.join(&name);
            springs_png(&path, &frame, SpringPaint::Motion, pictures.box_of, &pictures.title)?;
            pictures.names.push(name);
        }
        Ok(())
    }
}

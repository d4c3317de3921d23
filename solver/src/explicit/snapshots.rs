//! Field snapshots: which steps, and the fields there.
//!
//! Velocity and acceleration are centred, as in the traces: from Δu_n and the force balance at step n,
//!
//! ```text
//! a_n = [(F_n − f_int(u_n))/m − α Δu_n/Δt] / (1 + α Δt/2),   v_n = Δu_n/Δt + Δt/2 a_n
//! ```
//!
//! and from u_{n+1} on prescribed components.

use std::path::{Path, PathBuf};

use pogo_formats::dynamics::{FieldQuantity, FieldRequest, OutputInterval};
use pogo_formats::mesh::MeshView;
use pogo_formats::write::fields::{Field, FieldFormat, FieldMesh, FieldPrecision, FieldSeries};
use pogo_formats::write::plot::{Scalar, SnapshotOptions, snapshot_png};
use pogo_kernels::explicit::State;
use pogo_kernels::explicit::elements::{ElementFields, element_fields};

use super::assemble::{Actions, Matter};
use super::schedule;
use super::signals::Signals;
use crate::error::SolveError;

/// Snapshots that share their steps, and so a series of files.
struct Series {
    quantities: Vec<FieldQuantity>,
    steps: Vec<u64>,
    files: FieldSeries,
}

/// What the fields are computed from.
#[derive(Clone, Copy)]
pub struct Physics<'a> {
    /// Mesh in solver order.
    pub mesh: &'a MeshView<'a>,
    /// Properties and masses.
    pub matter: &'a Matter,
    /// Forces and prescribed components.
    pub actions: &'a Actions,
    /// Δt, s.
    pub time_increment: f64,
}

/// Pictures of |u|, for whoever has no ParaView at hand.
struct Pictures {
    steps: Vec<u64>,
    folder: PathBuf,
    title: String,
    names: Vec<String>,
}

/// What the names of pictures begin with.
pub const PICTURE: &str = "snapshot-";
/// Pictures of a run whose model asks for no snapshot.
const DEFAULT_PICTURES: OutputInterval = OutputInterval::Count(4);

impl Pictures {
    fn draw(&mut self, mesh: &MeshView<'_>, state: &State, time: f64) -> Result<(), SolveError> {
        let rows = state.displacement.chunks_exact(mesh.dimension);
        let size: Vec<f64> = rows.map(|u| u.iter().map(|u| u * u).sum::<f64>().sqrt()).collect();
        if size.iter().all(|&size| size == 0.0) {
            return Ok(());
        }
        let name = format!("{PICTURE}{:09}.png", state.step);
        let options = SnapshotOptions { title: self.title.clone(), time: Some(time), ..SnapshotOptions::default() };
        snapshot_png(&self.folder.join(&name), mesh, Scalar::Nodal(&size), &options)?;
        self.names.push(name);
        Ok(())
    }
}

/// All snapshots of a run.
pub struct Snapshots<'a> {
    series: Vec<Series>,
    pictures: Option<Pictures>,
    mesh: Option<FieldMesh<'a>>,
    physics: Physics<'a>,
    signals: Signals<'a>,
}

impl<'a> Snapshots<'a> {
    /// Plans the snapshots of all requests into `folder`; without requests nothing is written. `order` is
    /// the user's, or empty when there is no request. With `resume_at`, what an earlier run has written up to that
    /// step stays.
    ///
    /// # Errors
    /// The folder cannot be written.
    #[allow(clippy::too_many_arguments)] // the plan, and where and how it is carried out
    pub fn plan(
        physics: Physics<'a>,
        requests: &[FieldRequest],
        n_steps: u64,
        folder: &Path,
        order: &'a [u32],
        format: FieldFormat,
        resume_at: Option<u64>,
        signals: Signals<'a>,
    ) -> Result<Self, SolveError> {
        let mut plans: Vec<(Vec<FieldQuantity>, Vec<u64>)> = Vec::new();
        for request in requests {
            let steps = schedule::steps(request.interval, n_steps, physics.time_increment);
            match plans.iter_mut().find(|(_, known)| *known == steps) {
                Some((quantities, _)) => quantities.extend(&request.quantities),
                None => plans.push((request.quantities.clone(), steps)),
            }
        }
        let mut series = Vec::with_capacity(plans.len());
        for (index, (mut quantities, steps)) in plans.into_iter().enumerate() {
            quantities.sort_unstable();
            quantities.dedup();
            let name = if index == 0 { "fields".to_owned() } else { format!("fields-{}", index + 1) };
            let expected = steps.len() as u64;
            let files = match resume_at {
                None => FieldSeries::create(folder, &name, format, expected)?,
                Some(step) => FieldSeries::resume(folder, &name, format, expected, step)?,
            };
            series.push(Series { quantities, steps, files });
        }
        let mesh = if series.is_empty() { None } else { Some(FieldMesh::new(physics.mesh, order)?) };
        Ok(Self { series, pictures: None, mesh, physics, signals })
    }

    /// Adds pictures at every snapshot, or at a few steps of a run without snapshots.
    pub fn with_pictures(mut self, title: &str, n_steps: u64, folder: &Path) -> Self {
        let mut steps: Vec<u64> = self.series.iter().flat_map(|series| series.steps.iter().copied()).collect();
        steps.sort_unstable();
        steps.dedup();
        if steps.is_empty() {
            steps = schedule::steps(DEFAULT_PICTURES, n_steps, self.physics.time_increment);
        }
        self.pictures = Some(Pictures { steps, folder: folder.into(), title: title.into(), names: Vec::new() });
        self
    }

    /// Steps of every series and of the pictures.
    fn plans(&self) -> impl Iterator<Item = &[u64]> {
        let pictures = self.pictures.iter().map(|pictures| pictures.steps.as_slice());
        self.series.iter().map(|series| series.steps.as_slice()).chain(pictures)
    }

    /// Steps at which something is written, ascending.
    pub fn steps(&self) -> Vec<u64> {
        let mut steps: Vec<u64> = self.plans().flatten().copied().collect();
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

    /// Writes what is due at a state. `internal_force` is K u_n.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&mut self, state: &State, internal_force: &[f64]) -> Result<(), SolveError> {
        let Physics { mesh: view, matter, .. } = self.physics;
        let time = state.step as f64 * self.physics.time_increment;
        if let Some(pictures) = self.pictures.as_mut().filter(|p| p.steps.binary_search(&state.step).is_ok()) {
            pictures.draw(view, state, time)?;
        }
        let Some(mesh) = &self.mesh else { return Ok(()) };
        let mut motion: Option<[Vec<f64>; 2]> = None;
        let mut strains: Option<ElementFields> = None;
        for series in &mut self.series {
            if series.steps.binary_search(&state.step).is_err() {
                continue;
            }
            let wants = |quantities: &[FieldQuantity]| series.quantities.iter().any(|q| quantities.contains(q));
            if motion.is_none() && wants(&[FieldQuantity::Velocity, FieldQuantity::Acceleration]) {
                motion = Some(self.physics.motion(state, internal_force, &mut self.signals));
            }
            if strains.is_none() && wants(&[FieldQuantity::Stress, FieldQuantity::Strain, FieldQuantity::EnergyDensity])
            {
                let fields = element_fields(view, &matter.sections, &matter.stiffness_factor, &state.displacement);
                strains = Some(fields.map_err(|error| SolveError::Fields(error.to_string()))?);
            }
            let none: &[f64] = &[];
            let fields: Vec<Field<'_>> = series
                .quantities
                .iter()
                .map(|&quantity| Field {
                    quantity,
                    values: match quantity {
                        FieldQuantity::Displacement => &state.displacement,
                        FieldQuantity::Velocity => motion.as_ref().map_or(none, |[velocity, _]| velocity),
                        FieldQuantity::Acceleration => motion.as_ref().map_or(none, |[_, acceleration]| acceleration),
                        FieldQuantity::Stress => strains.as_ref().map_or(none, |fields| &fields.stress),
                        FieldQuantity::Strain => strains.as_ref().map_or(none, |fields| &fields.strain),
                        FieldQuantity::EnergyDensity => strains.as_ref().map_or(none, |fields| &fields.energy_density),
                    },
                })
                .collect();
            series.files.write(state.step, time, &mesh.grid(time, &fields, FieldPrecision::Single)?)?;
        }
        Ok(())
    }
}

impl Physics<'_> {
    /// (v_n, a_n), each (n_nodes × dimension,).
    fn motion(&self, state: &State, internal_force: &[f64], signals: &mut Signals<'_>) -> [Vec<f64>; 2] {
        let (dt, dimension) = (self.time_increment, self.mesh.dimension);
        let table = signals.table(state.step, 2);
        let mut acceleration: Vec<f64> = internal_force.iter().map(|force| -force).collect();
        for force in &self.actions.forces.free {
            acceleration[force.dof as usize] += force.value * table.values[force.signal as usize];
        }
        for (dof, a) in acceleration.iter_mut().enumerate() {
            let mass = self.matter.lumped_mass[dof / dimension];
            let alpha = self.matter.damping_rate.get(dof / dimension).copied().unwrap_or(0.0);
            let velocity = state.increment[dof] / dt;
            *a = if mass > 0.0 { (*a / mass - alpha * velocity) / (1.0 + 0.5 * alpha * dt) } else { 0.0 };
        }
        for constraint in &self.actions.constraints {
            let dof = constraint.dof as usize;
            let next = constraint.value * table.values[table.n_signals + constraint.signal as usize];
            acceleration[dof] = (next - state.displacement[dof] - state.increment[dof]) / (dt * dt);
        }
        let velocity = state.increment.iter().zip(&acceleration).map(|(du, a)| du / dt + 0.5 * dt * a).collect();
        [velocity, acceleration]
    }
}

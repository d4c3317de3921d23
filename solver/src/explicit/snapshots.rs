//! Fields of explicit dynamics at a snapshot.
//!
//! Velocity and acceleration are centred, as in the traces: from Δu_n and the force balance at step n,
//!
//! ```text
//! a_n = [(F_n − f_int(u_n))/m − α Δu_n/Δt] / (1 + α Δt/2),   v_n = Δu_n/Δt + Δt/2 a_n
//! ```
//!
//! and from u_{n+1} on prescribed components.

use pogo_formats::dynamics::{FieldQuantity, FieldRequest};
use pogo_formats::explicit::fields::{Field, FieldMesh};
use pogo_formats::mesh::MeshView;
use pogo_formats::write::plot::{Scalar, SnapshotOptions, snapshot_png};
use pogo_kernels::dynamics::State;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::explicit::elements::{ElementFields, element_fields};

use super::assemble::Actions;
use super::matter::Matter;
use super::pogo_files::PogoFields;
use crate::call::Call;
use crate::error::SolveError;
use crate::run::schedule::{self, Clock};
use crate::run::snapshots::Snapshots;
use crate::run::writer::FrameWriter;

/// The model whose fields are computed.
#[derive(Clone, Copy)]
pub(super) struct Model<'a> {
    pub mesh: &'a MeshView<'a>,
    pub matter: &'a Matter,
    pub actions: &'a Actions,
    pub clock: Clock,
    pub title: &'a str,
}

/// Writes the snapshots of a run.
pub(super) struct Fields<'a> {
    snapshots: Snapshots<Vec<FieldQuantity>>,
    /// None where no field is written.
    mesh: Option<FieldMesh<'a>>,
    /// What `--pogo-files` writes.
    pogo: Option<PogoFields<'a>>,
    model: Model<'a>,
    signals: Signals<'a>,
}

impl<'a> Fields<'a> {
    /// Plans the snapshots of all requests. `order` is the user's order of the nodes, or empty when there is no request.
    pub fn plan(
        model: Model<'a>,
        requests: &[FieldRequest],
        order: &'a [u32],
        call: &Call<'_>,
        first_step: u64,
        signals: Signals<'a>,
    ) -> Result<Self, SolveError> {
        let mut plans: Vec<(Vec<FieldQuantity>, Vec<u64>)> = Vec::new();
        for request in requests {
            let steps = schedule::steps(&request.interval, model.clock);
            match plans.iter_mut().find(|(_, known)| *known == steps) {
                Some((quantities, _)) => quantities.extend(&request.quantities),
                None => plans.push((request.quantities.clone(), steps)),
            }
        }
        for (quantities, _) in &mut plans {
            quantities.sort_unstable();
            quantities.dedup();
        }
        let mesh = if plans.is_empty() { None } else { Some(FieldMesh::new(model.mesh, order)?) };
        let pogo = PogoFields::plan(model.mesh, &plans, order, (call, model.clock), first_step)?;
        Ok(Self { snapshots: Snapshots::plan(plans, model.clock, call, first_step)?, mesh, pogo, model, signals })
    }

    fn draw(&mut self, state: &State) -> Result<(), SolveError> {
        let mesh = self.model.mesh;
        let rows = state.displacement.chunks_exact(mesh.dimension);
        let size: Vec<f64> = rows.map(|u| u.iter().map(|u| u * u).sum::<f64>().sqrt()).collect();
        if size.iter().all(|&size| size == 0.0) {
            return Ok(());
        }
        let options = SnapshotOptions {
            title: self.model.title.into(),
            time: Some(self.model.clock.time(state.step)),
            ..SnapshotOptions::default()
        };
        Ok(snapshot_png(&self.snapshots.picture(state.step), mesh, Scalar::Nodal(&size), &options)?)
    }
}

/// Energies and snapshots are written at a state with f_int of its displacement, N.
pub(super) type Frame = (State, Vec<f64>);

impl FrameWriter for Fields<'_> {
    type Frame = Frame;

    fn steps(&self) -> Vec<u64> {
        self.snapshots.steps()
    }

    fn files(&self) -> Vec<String> {
        let mut files = self.snapshots.files();
        files.extend(self.pogo.as_ref().and_then(PogoFields::name));
        files
    }

    fn write(&mut self, (state, internal_force): Frame) -> Result<(), SolveError> {
        if self.snapshots.wants_picture(state.step) {
            self.draw(&state)?;
        }
        if let Some(pogo) = &mut self.pogo {
            pogo.write(&state)?;
        }
        let Some(mesh) = &self.mesh else { return Ok(()) };
        let Model { matter, clock, .. } = self.model;
        let wants = |any: &[FieldQuantity]| {
            self.snapshots.wants(state.step, |content| content.iter().any(|quantity| any.contains(quantity)))
        };
        let [velocity, acceleration] = match wants(&[FieldQuantity::Velocity, FieldQuantity::Acceleration]) {
            true => self.model.motion(&state, &internal_force, &mut self.signals),
            false => [Vec::new(), Vec::new()],
        };
        let elements = match wants(&[FieldQuantity::Stress, FieldQuantity::Strain, FieldQuantity::EnergyDensity]) {
            true => {
                let (sections, factor) = (&matter.sections, &matter.stiffness_factor);
                element_fields(self.model.mesh, sections, factor, &state.displacement)
                    .map_err(|error| SolveError::Fields(error.to_string()))?
            }
            false => ElementFields::default(),
        };
        let field = |&quantity: &FieldQuantity| Field {
            quantity,
            values: match quantity {
                FieldQuantity::Displacement => &state.displacement,
                FieldQuantity::Velocity => &velocity,
                FieldQuantity::Acceleration => &acceleration,
                FieldQuantity::Stress => &elements.stress,
                FieldQuantity::Strain => &elements.strain,
                FieldQuantity::EnergyDensity => &elements.energy_density,
            },
        };
        let time = clock.time(state.step);
        for series in self.snapshots.due(state.step) {
            let fields: Vec<Field<'_>> = series.content.iter().map(field).collect();
            series.files.write(state.step, time, &mesh.grid(time, &fields)?)?;
        }
        Ok(())
    }
}

impl Model<'_> {
    /// (v_n, a_n), each (n_nodes × dimension,).
    fn motion(&self, state: &State, internal_force: &[f64], signals: &mut Signals<'_>) -> [Vec<f64>; 2] {
        let (dt, dimension) = (self.clock.time_increment, self.mesh.dimension);
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

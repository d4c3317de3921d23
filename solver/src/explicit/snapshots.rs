//! Fields of explicit dynamics at a snapshot.
//!
//! Velocity and acceleration are centred, as in the traces: from Δu_n and the force balance at step n,
//!
//! ```text
//! a_n = [(F_n − f_int)/m − α Δu_n/Δt] / (1 + α Δt/2),   v_n = Δu_n/Δt + Δt/2 a_n
//! ```
//!
//! and from u_{n+1} on prescribed components. f_int is that of the step, at u_n + β/Δt Δu_n − Σ_l Y_l z_l.

use pogo_formats::dynamics::{FieldQuantity, FieldRequest};
use pogo_formats::explicit::fields::{Field, FieldMesh};
use pogo_formats::mesh::MeshView;
use pogo_formats::write::plot::{Look, MeshPicture, Scalar, sheet};
use pogo_formats::write::report::{self, MeshSample, Report};
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{SignalTable, State};
use pogo_kernels::explicit::DashpotStep;
use pogo_kernels::explicit::elements::ElementFields;

use super::assemble::Actions;
use super::matter::Matter;
use super::pogo_files::PogoFields;
use super::{fluid, linear, relaxation};
use crate::call::Call;
use crate::error::SolveError;
use crate::run::reel::Scene;
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
    /// See [`fluid::momentum_factors`].
    pub momentum: &'a [f64],
}

/// Writes the snapshots of a run.
pub(super) struct Fields<'a> {
    snapshots: Snapshots<Vec<FieldQuantity>>,
    /// None where no field is written.
    mesh: Option<FieldMesh<'a>>,
    /// What `--pogo-files` writes.
    pogo: Option<PogoFields<'a>>,
    /// What each pixel shows, where there are pictures.
    picture: Option<MeshPicture>,
    /// What the report shows.
    sample: Option<MeshSample>,
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
        let (mut picture, mut sample) = (None, None);
        let scene = || {
            let look = look(&model);
            let width = sheet::plot_width(look.width, model.mesh.dimension == 2, true);
            let drawn = picture.insert(MeshPicture::new(model.mesh, None, None, width));
            let (camera, ink) = (drawn.camera.clone(), std::mem::take(&mut drawn.ink));
            Scene { look, n_values: camera.width * camera.height, camera, ink }
        };
        let n_frames = report::FRAMES as usize + 1;
        let n_samples = || sample.insert(MeshSample::new(model.mesh, n_frames, report::FIELD_BYTES)).len();
        let snapshots = Snapshots::plan(plans, model.clock, call, first_step, (scene, n_samples))?;
        Ok(Self { snapshots, mesh, pogo, picture, sample, model, signals })
    }

    fn draw(&mut self, state: &State) -> Result<(), SolveError> {
        let (step, time) = (state.step, self.model.clock.time(state.step));
        if self.snapshots.due_frame(step).is_none() && self.snapshots.due_sample(step).is_none() {
            return Ok(());
        }
        let size = self.model.drawn(state);
        if let (Some(picture), Some(reel)) = (&self.picture, self.snapshots.due_frame(step)) {
            reel.push(step, time, &picture.values(Scalar::Nodal(&size)))?;
        }
        if let (Some(sample), Some(samples)) = (&self.sample, self.snapshots.due_sample(step)) {
            samples.push(step, time, &sample.values(Scalar::Nodal(&size)))?;
        }
        Ok(())
    }
}

fn look(model: &Model<'_>) -> Look {
    let look = Look { title: model.title.into(), subtitle: "size of the displacement".into(), ..Look::default() };
    if model.momentum.is_empty() {
        return look;
    }
    let subtitle = "density of momentum; in fluids |pressure| over the speed of sound".to_owned();
    Look { subtitle, label: "momentum".into(), unit: "Pa s/m".into(), ..look }
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

    fn finish(&mut self, goes_on: bool, report: Option<&mut Report>) -> Result<(), SolveError> {
        self.picture = None;
        self.snapshots.finish(goes_on)?;
        let sampled = self.snapshots.sampled(goes_on)?;
        if let (Some(report), Some(sample), Some(sampled)) = (report, &self.sample, sampled) {
            let look = look(&self.model);
            let scale = look.scale(&sampled.spread);
            sample.show(report, &look, &scale, &sampled.names, &sampled.values, None);
        }
        Ok(())
    }

    fn write(&mut self, (state, internal_force): Frame) -> Result<(), SolveError> {
        self.draw(&state)?;
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
            true => relaxation::fields(self.model.mesh, matter, &state)
                .map_err(|error| SolveError::Fields(error.to_string()))?,
            false => ElementFields::default(),
        };
        let dimension = self.model.mesh.dimension;
        let of_solids = fluid::without_fluid(matter, dimension, &state.displacement);
        let displacement = of_solids.as_deref().unwrap_or(&state.displacement);
        let pressure = match wants(&[FieldQuantity::Pressure]) {
            true => fluid::pressure(matter, dimension, clock.time_increment, &state),
            false => Vec::new(),
        };
        let field = |&quantity: &FieldQuantity| Field {
            quantity,
            values: match quantity {
                FieldQuantity::Displacement => displacement,
                FieldQuantity::Pressure => &pressure,
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
        for pair in self.matter.touching.pairs() {
            let p = -state.increment[pair.fluid as usize * dimension] / dt;
            let of_solid = &mut acceleration[pair.solid as usize * dimension..][..dimension];
            of_solid.iter_mut().zip(pair.area).for_each(|(force, area)| *force += area * p);
        }
        for (dof, a) in acceleration.iter_mut().enumerate() {
            let mass = self.matter.lumped_mass[dof / dimension];
            let alpha = self.matter.damping_rate.get(dof / dimension).copied().unwrap_or(0.0);
            let velocity = state.increment[dof] / dt;
            *a = if mass > 0.0 { (*a / mass - alpha * velocity) / (1.0 + 0.5 * alpha * dt) } else { 0.0 };
        }
        self.add_dashpots(state, internal_force, &table, &mut acceleration);
        for constraint in &self.actions.constraints {
            let dof = constraint.dof as usize;
            let next = constraint.value * table.values[table.n_signals + constraint.signal as usize];
            acceleration[dof] = (next - state.displacement[dof] - state.increment[dof]) / (dt * dt);
        }
        self.actions.copied.copy(&mut acceleration, dimension);
        self.hold(&mut acceleration, state, signals);
        let velocity: Vec<f64> =
            state.increment.iter().zip(&acceleration).map(|(du, a)| du / dt + 0.5 * dt * a).collect();
        [velocity, acceleration].map(|values| fluid::without_fluid(self.matter, dimension, &values).unwrap_or(values))
    }

    /// Projects accelerations onto the linear constraints: what these prescribe is the second difference of their signals.
    fn hold(&self, acceleration: &mut [f64], state: &State, signals: &mut Signals<'_>) {
        if self.actions.rows.is_empty() {
            return;
        }
        let dt = self.clock.time_increment;
        let before = state.step.saturating_sub(1);
        let table = signals.table(before, (state.step - before) as usize + 2);
        let value = |row: usize, signal: u32| table.values[row * table.n_signals + signal as usize];
        let second = |signal: u32| match state.step {
            0 => value(1, signal) - value(0, signal) - signals.increment_before_start(signal as usize),
            _ => value(2, signal) - 2.0 * value(1, signal) + value(0, signal),
        };
        // The stepper has made the same projection.
        if let Ok(projection) = linear::projection(self.matter, self.mesh.dimension, self.actions, dt) {
            projection.project(acceleration, |signal| second(signal) / (dt * dt));
        }
    }

    /// What pictures show of each node, (n_nodes,): the size of the displacement; in models with fluids the density of momentum,
    /// which for a plane wave in a fluid is its pressure over the speed of sound.
    fn drawn(&self, state: &State) -> Vec<f64> {
        let size = |row: &[f64]| row.iter().map(|u| u * u).sum::<f64>().sqrt();
        let d = self.mesh.dimension;
        if self.momentum.is_empty() {
            return state.displacement.chunks_exact(d).map(size).collect();
        }
        let dt = self.clock.time_increment;
        let rows = state.increment.chunks_exact(d).zip(self.momentum);
        rows.map(|(row, factor)| factor * size(row) / dt).collect()
    }
    /// Sets the accelerations of nodes with dashpots, whose components meet.
    fn add_dashpots(&self, state: &State, internal_force: &[f64], table: &SignalTable, acceleration: &mut [f64]) {
        let (dt, dimension, matter) = (self.clock.time_increment, self.mesh.dimension, self.matter);
        if matter.dashpots.is_empty() {
            return;
        }
        let mut net = internal_force.to_vec();
        for force in &self.actions.forces.free {
            net[force.dof as usize] -= force.value * table.values[force.signal as usize];
        }
        let constraints = &self.actions.constraints;
        for dashpot in &matter.dashpots {
            let node = dashpot.node as usize;
            let row = |values: &[f64]| {
                let mut row = [0.0; 3];
                row[..dimension].copy_from_slice(&values[node * dimension..(node + 1) * dimension]);
                row
            };
            let (u, old) = (row(&state.displacement), row(&state.increment));
            let mut held = [None; 3];
            for (component, held) in held.iter_mut().enumerate().take(dimension) {
                let dof = (node * dimension + component) as u64;
                let at = constraints.binary_search_by_key(&dof, |constraint| constraint.dof).ok();
                *held = at.map(|at| {
                    let constraint = &constraints[at];
                    let next = constraint.value * table.values[table.n_signals + constraint.signal as usize];
                    next - u[component]
                });
            }
            let rate = matter.damping_rate.get(node).copied().unwrap_or(0.0);
            let step = DashpotStep::new(dashpot, (matter.lumped_mass[node], rate), held.map(|held| held.is_some()), dt);
            let next = step.next(old, row(&net), held.map(Option::unwrap_or_default));
            for component in 0..dimension {
                acceleration[node * dimension + component] = (next[component] - old[component]) / (dt * dt);
            }
        }
    }
}

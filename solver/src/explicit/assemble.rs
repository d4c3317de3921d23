//! From a model to what the kernels step: matter, forces, prescribed components, traces, and the state at t = 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use pogo_formats::dynamics::{CopiedDisplacements, Start};
use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_formats::write::traces::Traces;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{Constraint, State};
use pogo_kernels::explicit::elements::StableIncrement;
use pogo_kernels::explicit::{LinearRows, ProjectionError};

use super::columns::Columns;
use super::loads::{self, LoadError};
use super::matter::{Matter, Rule};
use super::{linear, periodic, relaxation};
use crate::call::Call;
use crate::error::SolveError;
use crate::run::conditions::{self, Forces};
use crate::run::histories::{self, Histories};
use crate::run::schedule::{self, Clock};

/// Forces, constraints and initial velocities of a model.
#[derive(Debug, Clone)]
pub(super) struct Actions {
    pub forces: Forces,
    /// Prescribed components, sorted by degree of freedom.
    pub constraints: Vec<Constraint>,
    /// Velocity at t = 0 of the degrees of freedom that have one, m/s.
    pub initial_velocities: BTreeMap<u64, f64>,
    /// Nodes with no motion of their own.
    pub copied: CopiedDisplacements,
    /// Linear constraints.
    pub rows: LinearRows,
}

/// Loads, boundary conditions and initial velocities; their functions of time become columns of `signals`.
///
/// # Errors
/// References beyond the mesh; forces or velocities on nodes without mass.
fn actions(
    mesh: &MeshView<'_>,
    setup: &Setup,
    matter: &Matter,
    signals: &mut Signals<'_>,
) -> Result<Actions, LoadError> {
    let dofs = super::dofs(mesh);
    let initial_velocities = conditions::initial_velocities(dofs, &setup.initial_velocities)?;
    let mut constraints =
        conditions::constraints(dofs, &setup.boundaries, &setup.amplitudes, &initial_velocities, signals)?;
    let rows = linear::rows(mesh, setup, signals)?;
    let mut forces = loads::forces(mesh, setup, &matter.sections, (&constraints, &rows), signals)?;
    periodic::leave_out(setup, mesh, &mut forces, &mut constraints);
    for force in &forces.free {
        let node = (force.dof / mesh.dimension as u64) as usize;
        if matter.lumped_mass[node] <= 0.0 {
            let label = mesh.node_names().of(node as u32);
            return Err(LoadError::Massless { label });
        }
    }
    Ok(Actions { forces, constraints, initial_velocities, copied: setup.copied.clone(), rows })
}

/// A model that is ready to be put on a stepper, but for its block tables.
pub(super) struct Assembled<'a> {
    pub matter: Arc<Matter>,
    /// The element bound on the time increment.
    pub bound: StableIncrement,
    pub clock: Clock,
    pub signals: Signals<'a>,
    pub actions: Actions,
    pub columns: Columns<'a>,
    pub histories: Histories,
}

/// Assembles a model and plans its traces. `limit` is what an automatic increment is a part of, s; the elements' bound where
/// none is given.
///
/// # Errors
/// A model that cannot be stepped, or not enough memory for its traces.
pub(super) fn assemble<'a>(
    mesh: &MeshView<'_>,
    setup: &'a Setup,
    call: &Call<'_>,
    limit: Option<f64>,
) -> Result<Assembled<'a>, SolveError> {
    let (matter, bound) = matter(mesh, setup, call)?;
    let limit = limit.unwrap_or(bound.increment);
    let clock = Clock::going_on(setup.explicit.time, setup.explicit.increment, limit, call.resumed_increment())
        .map_err(|reason| call.refuse(reason))?;
    call.check_memory(crate::run::recorded(
        clock,
        call.settings,
        rows(setup),
        setup.fields.iter().map(|field| &field.interval),
    ))?;
    let dt = clock.time_increment;
    let mut signals = Signals::new(&setup.amplitudes, dt);
    let actions = actions(mesh, setup, &matter, &mut signals).map_err(|error| call.refuse(error))?;
    let is_prescribed = |dof| actions.constraints.binary_search_by_key(&dof, |constraint| constraint.dof).is_ok();
    let dofs = super::dofs(mesh);
    let reaction_dofs = histories::reaction_dofs(&setup.histories, dofs, is_prescribed);
    let sampling = |interval: &_| schedule::steps(interval, clock);
    let (nodal, elemental) = (&setup.histories, &setup.element_histories);
    let (traces, steps) = Traces::plan(nodal, mesh.node_names(), elemental, &mesh.groups, sampling);
    let supported = (reaction_dofs, actions.forces.supported.as_slice(), &actions.rows);
    let mut columns =
        Columns::new(mesh, &matter, &traces, supported, signals.clone(), dt).map_err(|error| call.refuse(error))?;
    let histories = Histories::plan((traces, steps), dofs, dt, &mut columns)?;
    Ok(Assembled { matter, bound, clock, signals, actions, columns, histories })
}

/// Matter and bound of a set-up.
struct OfSetup {
    /// Without what acts.
    setup: Setup,
    matter: Arc<Matter>,
    bound: StableIncrement,
}

/// What a model is made of, and the elements' bound on the increment. Shots, and cases that differ in what acts, have them in common.
fn matter(mesh: &MeshView<'_>, setup: &Setup, call: &Call<'_>) -> Result<(Arc<Matter>, StableIncrement), SolveError> {
    let without_actions = call.kept.map(|kept| {
        let mut setup = setup.clone();
        (setup.amplitudes, setup.loads, setup.boundaries) = Default::default();
        (setup.linear.loads, setup.linear.prescribed, setup.shots) = Default::default();
        (kept, setup)
    });
    if let Some((kept, setup)) = &without_actions
        && let Some(same) = kept.last::<OfSetup>(|last| last.setup == *setup)
    {
        return Ok((same.matter.clone(), same.bound));
    }
    let mut matter = Matter::new(mesh, setup).map_err(|error| call.refuse(error))?;
    let bound = matter.stable_increment(mesh).map_err(|error| call.refuse(error))?;
    setup.copied.pairs().for_each(|(_, to)| matter.lumped_mass[to] = 0.0);
    let Matter { dashpots, lumped_mass, .. } = &mut matter;
    dashpots.retain(|dashpot| lumped_mass[dashpot.node as usize] > 0.0);
    let matter = Arc::new(matter);
    if let Some((kept, setup)) = without_actions {
        kept.keep(&Arc::new(OfSetup { setup, matter: matter.clone(), bound }));
    }
    Ok((matter, bound))
}

/// Interval and number of columns of all traces that are asked for.
fn rows(setup: &Setup) -> impl Iterator<Item = (&pogo_formats::dynamics::OutputInterval, usize)> {
    let nodal = setup.histories.iter().map(|asked| (&asked.interval, asked.n_traces()));
    let of_elements =
        setup.element_histories.iter().map(|asked| (&asked.interval, asked.elements.len() * asked.variables.len()));
    nodal.chain(of_elements)
}

/// The state at t = 0: u_0 from the prescribed components (0 elsewhere) and
///
/// ```text
/// Δu_0 = Δt v_0 − Δt²/2 a_0,   a_0 = (F_0 − K u_0 − C v_0 − G v_0)/m − α v_0,   C = Σ β_m K_m
/// ```
///
/// so that the start is of second order; [`Start::FirstOrder`] leaves a_0 out. In a fluid Δq_0 = −Δt p_0. With damping in
/// proportion to the stiffness or relaxation the strain energy of the start is the first entry in the account of what internal
/// forces have taken. Memory variables start from 0: before t = 0 nothing was strained.
pub(super) fn initial_state(
    mesh: &MeshView<'_>,
    matter: &Matter,
    actions: &Actions,
    signals: &mut Signals<'_>,
    (time_increment, start): (f64, Start),
) -> Result<State, ProjectionError> {
    let n_dofs = mesh.n_nodes() * mesh.dimension;
    let table = signals.table(0, 1);
    let dt = time_increment;
    let mut displacement = vec![0.0; n_dofs];
    for constraint in &actions.constraints {
        displacement[constraint.dof as usize] = constraint.value * table.values[constraint.signal as usize];
    }
    actions.copied.copy(&mut displacement, mesh.dimension);
    let projection = match actions.rows.is_empty() {
        true => None,
        false => Some(linear::projection(matter, mesh.dimension, actions, 0.0)?),
    };
    if let Some(projection) = &projection {
        projection.project(&mut displacement, |signal| table.values[signal as usize]);
    }
    // What stands before Δt² a_0.
    let weight = match start {
        Start::SecondOrder => 0.5,
        Start::FirstOrder => 0.0,
    };
    // F_0 − K u_0, and then −Δt²/2 (F_0 − K u_0)/m.
    let mut increment = vec![0.0; n_dofs];
    // −K_l u_0, K_l = Σ_e Y_l K_e.
    let mut relaxed_force = vec![vec![0.0; n_dofs]; matter.relaxation.rates.len()];
    let is_moved = |dof: usize| displacement[dof] != 0.0;
    if (0..n_dofs).any(is_moved) {
        matter.visit_stiffness(mesh, is_moved, |dofs, stiffness, rule| {
            for (row, &dof) in stiffness.chunks_exact(dofs.len()).zip(dofs) {
                let force: f64 = row.iter().zip(dofs).map(|(k, &column)| k * displacement[column]).sum();
                increment[dof] -= rule.factor * force;
                for (relaxed, strength) in relaxed_force.iter_mut().zip(rule.strengths) {
                    relaxed[dof] -= rule.factor * strength * force;
                }
            }
        });
    }
    let stiff_force: Vec<f64> = if matter.is_viscous() { increment.clone() } else { Vec::new() };
    if matter.is_lagged() || !matter.dashpots.is_empty() {
        add_damping_of_start(mesh, matter, actions, (signals, dt), &mut increment);
    }
    for force in &actions.forces.free {
        increment[force.dof as usize] += force.value * table.values[force.signal as usize];
    }
    // Prescribed pressures of the start act on the solids that they touch.
    for pair in matter.touching.pairs() {
        let dof = pair.fluid as u64 * mesh.dimension as u64;
        if let Ok(at) = actions.constraints.binary_search_by_key(&dof, |constraint| constraint.dof) {
            let constraint = &actions.constraints[at];
            let p = -constraint.value * signals.increment_before_start(constraint.signal as usize) / dt;
            let of_solid = &mut increment[pair.solid as usize * mesh.dimension..][..mesh.dimension];
            of_solid.iter_mut().zip(pair.area).for_each(|(force, area)| *force += area * p);
        }
    }
    for (dof, du) in increment.iter_mut().enumerate() {
        let mass = matter.lumped_mass[dof / mesh.dimension];
        // Pressures stand at t_n themselves: those of the start are 0 where they are not prescribed.
        *du = if mass > 0.0 && *du != 0.0 && !matter.is_fluid(dof / mesh.dimension) {
            -weight * dt * dt * *du / mass
        } else {
            0.0
        };
    }
    for (&dof, &velocity) in &actions.initial_velocities {
        let dof = dof as usize;
        let alpha = matter.damping_rate.get(dof / mesh.dimension).copied().unwrap_or(0.0);
        if matter.lumped_mass[dof / mesh.dimension] > 0.0 {
            increment[dof] += dt * velocity + weight * dt * dt * alpha * velocity;
        }
    }
    for constraint in &actions.constraints {
        increment[constraint.dof as usize] =
            constraint.value * signals.increment_before_start(constraint.signal as usize);
    }
    actions.copied.copy(&mut increment, mesh.dimension);
    if let Some(projection) = &projection {
        projection.project(&mut increment, |signal| signals.increment_before_start(signal as usize));
    }
    // Copies feel no force.
    let has_mass = |dof: usize| matter.lumped_mass[dof / mesh.dimension] > 0.0;
    let stored = |(dof, force): (usize, &f64)| -0.5 * (displacement[dof] - increment[dof]) * force;
    let stored = stiff_force.iter().enumerate().filter(|&(dof, _)| has_mass(dof)).map(stored);
    let relaxed = relaxation::energy_of_start(matter, dt, (&displacement, &increment), &relaxed_force, has_mass);
    // A sum of nothing is −0.
    let damped_energy = 0.0 + stored.sum::<f64>() + relaxed;
    let memory = vec![0.0; matter.relaxation.rates.len() * n_dofs];
    Ok(State { step: 0, displacement, increment, external_work: 0.0, damped_energy, memory })
}

/// Subtracts C v_0 and G v_0 from `force`, C = Σ β_m K_m and G of dashpots, with the velocities of supports that move from the start.
fn add_damping_of_start(
    mesh: &MeshView<'_>,
    matter: &Matter,
    actions: &Actions,
    (signals, time_increment): (&mut Signals<'_>, f64),
    force: &mut [f64],
) {
    let mut velocity = vec![0.0; force.len()];
    for (&dof, &value) in &actions.initial_velocities {
        velocity[dof as usize] = value;
    }
    for constraint in &actions.constraints {
        let increment = constraint.value * signals.increment_before_start(constraint.signal as usize);
        velocity[constraint.dof as usize] = increment / time_increment;
    }
    actions.copied.copy(&mut velocity, mesh.dimension);
    let d = mesh.dimension;
    for dashpot in &matter.dashpots {
        let first = dashpot.node as usize * d;
        for (i, row) in dashpot.matrix.iter().take(d).enumerate() {
            force[first + i] -= row.iter().zip(&velocity[first..first + d]).map(|(g, v)| g * v).sum::<f64>();
        }
    }
    let moves = |dof: usize| matter.is_lagged() && velocity[dof] != 0.0;
    if !(0..force.len()).any(moves) {
        return;
    }
    matter.visit_stiffness(mesh, moves, |dofs, stiffness, Rule { factor, beta, .. }| {
        for (row, &dof) in stiffness.chunks_exact(dofs.len()).zip(dofs) {
            let of_row: f64 = row.iter().zip(dofs).map(|(k, &column)| k * velocity[column]).sum();
            force[dof] -= beta * factor * of_row;
        }
    });
}

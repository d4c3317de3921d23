//! From a model to what the kernels step: matter, forces, prescribed components, traces, and the state at t = 0.

use std::collections::BTreeMap;

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_formats::write::traces::Traces;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{Constraint, State};
use pogo_kernels::explicit::elements::StableIncrement;

use super::columns::Columns;
use super::loads::{self, LoadError};
use super::matter::Matter;
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
    let constraints =
        conditions::constraints(dofs, &setup.boundaries, &setup.amplitudes, &initial_velocities, signals)?;
    let forces = loads::forces(mesh, setup, &matter.sections, &constraints, signals)?;
    for force in &forces.free {
        let node = (force.dof / mesh.dimension as u64) as usize;
        if matter.lumped_mass[node] <= 0.0 {
            let label = mesh.node_names().of(node as u32);
            return Err(LoadError::Massless { label });
        }
    }
    Ok(Actions { forces, constraints, initial_velocities })
}

/// A model that is ready to be put on a stepper, but for its block tables.
pub(super) struct Assembled<'a> {
    pub matter: Matter,
    /// The element bound on the time increment.
    pub bound: StableIncrement,
    pub clock: Clock,
    pub signals: Signals<'a>,
    pub actions: Actions,
    pub columns: Columns<'a>,
    pub histories: Histories,
}

/// Assembles a model and plans its traces.
///
/// # Errors
/// A model that cannot be stepped, or not enough memory for its traces.
pub(super) fn assemble<'a>(
    mesh: &MeshView<'_>,
    setup: &'a Setup,
    call: &Call<'_>,
) -> Result<Assembled<'a>, SolveError> {
    let matter = Matter::new(mesh, setup).map_err(|error| call.refuse(error))?;
    let bound = matter.stable_increment(mesh).map_err(|error| call.refuse(error))?;
    let clock = Clock::new(setup.explicit.time, setup.explicit.increment, bound.increment)
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
    let supported = (reaction_dofs, actions.forces.supported.as_slice());
    let mut columns =
        Columns::new(mesh, &matter, &traces, supported, signals.clone(), dt).map_err(|error| call.refuse(error))?;
    let histories = Histories::plan((traces, steps), dofs, dt, &mut columns)?;
    Ok(Assembled { matter, bound, clock, signals, actions, columns, histories })
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
/// Δu_0 = Δt v_0 − Δt²/2 a_0,   a_0 = (F_0 − K u_0)/m − α v_0
/// ```
///
/// so that the start is of second order.
pub(super) fn initial_state(
    mesh: &MeshView<'_>,
    matter: &Matter,
    actions: &Actions,
    signals: &mut Signals<'_>,
    time_increment: f64,
) -> State {
    let n_dofs = mesh.n_nodes() * mesh.dimension;
    let table = signals.table(0, 1);
    let dt = time_increment;
    let mut displacement = vec![0.0; n_dofs];
    for constraint in &actions.constraints {
        displacement[constraint.dof as usize] = constraint.value * table.values[constraint.signal as usize];
    }
    // F_0 − K u_0, and then −Δt²/2 (F_0 − K u_0)/m.
    let mut increment = vec![0.0; n_dofs];
    let is_moved = |dof: usize| displacement[dof] != 0.0;
    if (0..n_dofs).any(is_moved) {
        matter.visit_stiffness(mesh, is_moved, |dofs, stiffness, factor| {
            for (row, &dof) in stiffness.chunks_exact(dofs.len()).zip(dofs) {
                let force: f64 = row.iter().zip(dofs).map(|(k, &column)| k * displacement[column]).sum();
                increment[dof] -= factor * force;
            }
        });
    }
    for force in &actions.forces.free {
        increment[force.dof as usize] += force.value * table.values[force.signal as usize];
    }
    for (dof, du) in increment.iter_mut().enumerate() {
        let mass = matter.lumped_mass[dof / mesh.dimension];
        *du = if mass > 0.0 && *du != 0.0 { -0.5 * dt * dt * *du / mass } else { 0.0 };
    }
    for (&dof, &velocity) in &actions.initial_velocities {
        let dof = dof as usize;
        let alpha = matter.damping_rate.get(dof / mesh.dimension).copied().unwrap_or(0.0);
        if matter.lumped_mass[dof / mesh.dimension] > 0.0 {
            increment[dof] += dt * velocity + 0.5 * dt * dt * alpha * velocity;
        }
    }
    for constraint in &actions.constraints {
        increment[constraint.dof as usize] =
            constraint.value * signals.increment_before_start(constraint.signal as usize);
    }
    State { step: 0, displacement, increment, external_work: 0.0, damped_energy: 0.0 }
}

//! From a model to what the kernels step: section properties, masses, damping, forces, prescribed components.

use std::collections::BTreeMap;

use pogo_formats::explicit::{AbsorbingProfile, Setup};
use pogo_formats::mesh::{ElementKind, MeshView};
use pogo_formats::write::traces::Traces;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{Constraint, State};
use pogo_kernels::explicit::elements::{self, ElementError, MaterialError, SectionProperties, StableIncrement};

use super::columns::Columns;
use super::elements::{Elements, user_element_label};
use super::loads::{self, LoadError};
use crate::call::Call;
use crate::error::SolveError;
use crate::run::conditions::{self, ConditionError, Forces};
use crate::run::histories::{self, Histories};
use crate::run::schedule::{self, Clock};

/// A model that cannot be stepped.
#[derive(Debug, thiserror::Error)]
pub(super) enum AssembleError {
    /// A material or section.
    #[error(transparent)]
    Material(#[from] MaterialError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// Something else about an element.
    #[error(transparent)]
    Element(ElementError),
    /// Elements without volume.
    #[error(
        "{count} element{} inside out or so distorted that a nodal mass is not positive: {labels}; \
         check the order of their nodes and their shape",
        if *count == 1 { " is" } else { "s are" }
    )]
    Volume {
        /// How many.
        count: usize,
        /// The first few, in the user's labels.
        labels: String,
    },
    /// A section, material or element that is not there.
    #[error("{owner} refers to {what} {index}, which does not exist; block the model again")]
    Beyond {
        /// Which entry.
        owner: String,
        /// What is missing.
        what: &'static str,
        /// Its index.
        index: usize,
    },
    /// Nodes that no element holds, but a force or an initial velocity moves.
    #[error("{what} acts on node {label}, which has no mass: no element uses it")]
    Massless {
        /// Load or initial velocity.
        what: &'static str,
        /// User's label.
        label: String,
    },
}

/// Everything that does not depend on the time increment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matter {
    /// One a section.
    pub sections: Vec<SectionProperties>,
    /// Factor on each element's stiffness, or empty.
    pub stiffness_factor: Vec<f64>,
    /// m, kg, (n_nodes,).
    pub lumped_mass: Vec<f64>,
    /// α_i, 1/s, (n_nodes,), or empty.
    pub damping_rate: Vec<f64>,
}

/// Properties, masses and damping.
///
/// Where absorbing layers overlap (corners), their damping rates add up and their stiffness factors multiply.
///
/// # Errors
/// A material or section that makes no sense, elements without volume, references beyond the model.
fn matter(mesh: &MeshView<'_>, setup: &Setup) -> Result<Matter, AssembleError> {
    let mut sections = Vec::with_capacity(setup.sections.len());
    let mut section_rate = Vec::with_capacity(setup.sections.len());
    for section in &setup.sections {
        let material = setup.materials.get(section.material as usize).ok_or_else(|| AssembleError::Beyond {
            owner: format!("section {}", section.name),
            what: "material",
            index: section.material as usize,
        })?;
        sections.push(elements::section_properties(section, material)?);
        section_rate.push(material.damping_alpha);
    }
    let with_labels = |error| with_labels(mesh, error);
    let lumping = setup.explicit.lumping;
    let lumped_mass = elements::lumped_mass(mesh, &sections, lumping).map_err(with_labels)?;

    let mut rate: Vec<f64> = mesh
        .groups
        .iter()
        .flat_map(|group| group.section)
        .map(|&section| section_rate.get(section as usize).copied().unwrap_or(0.0))
        .collect();
    let mut stiffness_factor = Vec::new();
    for layer in &setup.absorbing_layers {
        for (&element, &depth) in layer.elements.iter().zip(&layer.depth_fraction) {
            let element = element as usize;
            let entry = rate.get_mut(element).ok_or_else(|| AssembleError::Beyond {
                owner: format!("absorbing layer {}", layer.name),
                what: "element",
                index: element,
            })?;
            let (alpha, factor) = absorb(&layer.profile, depth);
            *entry += alpha;
            if factor != 1.0 {
                stiffness_factor.resize(mesh.n_elements(), 1.0);
                stiffness_factor[element] *= factor;
            }
        }
    }
    let damping_rate = if rate.iter().all(|&alpha| alpha == 0.0) {
        Vec::new()
    } else {
        elements::nodal_damping(mesh, &sections, &rate, lumping).map_err(with_labels)?
    };
    Ok(Matter { sections, stiffness_factor, lumped_mass, damping_rate })
}

/// (α, E′/E) at depth fraction X.
fn absorb(profile: &AbsorbingProfile, depth: f64) -> (f64, f64) {
    match *profile {
        AbsorbingProfile::Damping { d_max, exponent } => (d_max * depth.max(0.0).powf(exponent), 1.0),
        AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness } => {
            let omega = std::f64::consts::TAU * frequency;
            let k0 = omega / wave_speed;
            let a = -(0.01f64.ln()) / (k0 * thickness);
            let cube = depth.powi(3);
            (omega * cube, (-a * cube * k0 * depth * thickness).exp())
        }
    }
}

/// Names elements as the user knows them.
fn with_labels(mesh: &MeshView<'_>, error: ElementError) -> AssembleError {
    match error {
        ElementError::NonPositiveVolume { count, elements, .. } => {
            let mut labels: Vec<String> = elements.iter().map(|&element| user_element_label(mesh, element)).collect();
            if labels.len() < count {
                labels.push("…".into());
            }
            AssembleError::Volume { count, labels: labels.join(", ") }
        }
        other => AssembleError::Element(other),
    }
}

/// What acts on the model.
#[derive(Debug, Clone)]
pub(super) struct Actions {
    /// Forces.
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
) -> Result<Actions, AssembleError> {
    let dofs = super::dofs(mesh);
    let initial_velocities = conditions::initial_velocities(dofs, &setup.initial_velocities)?;
    let constraints =
        conditions::constraints(dofs, &setup.boundaries, &setup.amplitudes, &initial_velocities, signals)?;
    let forces = loads::forces(mesh, setup, &matter.sections, &constraints, signals)?;
    for force in &forces.free {
        let node = (force.dof / mesh.dimension as u64) as usize;
        if matter.lumped_mass[node] <= 0.0 {
            let label = mesh.node_names().of(node as u32);
            return Err(AssembleError::Massless { what: "a load", label });
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
    let refuse = |error: AssembleError| call.refuse(error);
    let matter = matter(mesh, setup).map_err(refuse)?;
    let bound = elements::stable_increment(mesh, &matter.sections, &matter.stiffness_factor, &matter.lumped_mass)
        .map_err(|error| refuse(with_labels(mesh, error)))?;
    let clock = Clock::new(setup.explicit.time, setup.explicit.increment, bound.increment)
        .map_err(|reason| call.refuse(reason))?;
    let dt = clock.time_increment;
    let mut signals = Signals::new(&setup.amplitudes, dt);
    let actions = actions(mesh, setup, &matter, &mut signals).map_err(refuse)?;
    let is_prescribed = |dof| actions.constraints.binary_search_by_key(&dof, |constraint| constraint.dof).is_ok();
    let dofs = super::dofs(mesh);
    let reaction_dofs = histories::reaction_dofs(&setup.histories, dofs, is_prescribed);
    let sampling = |interval| schedule::steps(interval, clock);
    let (nodal, elemental) = (&setup.histories, &setup.element_histories);
    let (traces, steps) = Traces::plan(nodal, mesh.node_names(), elemental, &mesh.groups, sampling);
    let supported = (reaction_dofs, actions.forces.supported.as_slice());
    let mut columns = Columns::new(mesh, &matter, &traces, supported, signals.clone(), dt)
        .map_err(|error| refuse(AssembleError::Element(error)))?;
    let histories = Histories::plan((traces, steps), dofs, dt, &mut columns)?;
    Ok(Assembled { matter, bound, clock, signals, actions, columns, histories })
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
    // −Δt²/2 (F_0 − K u_0)/m
    let mut increment = vec![0.0; n_dofs];
    subtract_internal_force(mesh, matter, &displacement, &mut increment);
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

/// `out` −= K u, from the elements whose nodes are not all at rest.
fn subtract_internal_force(mesh: &MeshView<'_>, matter: &Matter, displacement: &[f64], out: &mut [f64]) {
    if displacement.iter().all(|&u| u == 0.0) {
        return;
    }
    let dimension = mesh.dimension;
    let rules = ElementKind::ALL.map(elements::quadrature);
    let all = Elements::new(mesh);
    for index in 0..mesh.n_elements() {
        let Some(element) = all.get(index) else { continue };
        let dofs: Vec<usize> = element
            .nodes
            .iter()
            .flat_map(|&node| (0..dimension).map(move |component| node as usize * dimension + component))
            .collect();
        if dofs.iter().all(|&dof| displacement[dof] == 0.0) {
            continue;
        }
        let rule = &rules[element.kind as usize];
        let section = &matter.sections[element.section];
        let stiffness = elements::element_stiffness(element.kind, rule, &all.positions(element.nodes), section);
        let factor = matter.stiffness_factor.get(index).copied().unwrap_or(1.0);
        for (row, &dof) in stiffness.chunks_exact(dofs.len()).zip(&dofs) {
            let force: f64 = row.iter().zip(&dofs).map(|(k, &column)| k * displacement[column]).sum();
            out[dof] -= factor * force;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_their_laws() {
        let (alpha, factor) = absorb(&AbsorbingProfile::Damping { d_max: 8.0, exponent: 3.0 }, 0.5);
        assert_eq!((alpha, factor), (1.0, 1.0));
        let law = AbsorbingProfile::StiffnessReduction { frequency: 2.0, wave_speed: 7.0, thickness: 3.0 };
        let (alpha, factor) = absorb(&law, 1.0);
        assert!((alpha - 2.0 * std::f64::consts::TAU).abs() < 1e-12 && (factor - 0.01).abs() < 1e-14);
        assert_eq!(absorb(&law, 0.0), (0.0, 1.0));
    }
}

//! From a model to what the kernels step: masses, forces, fixed and driven particles, the start.

use std::collections::BTreeMap;

use pogo_formats::dynamics::{Increment, Load, LoadKind};
use pogo_formats::explicit::{ExplicitSettings, Lumping, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::spring::{SpringMeshView, SpringSetup};
use pogo_kernels::dynamics::{Constraint, NodalForce};
use pogo_kernels::spring::Acceleration;

use crate::explicit::loads::{self, Forces, LoadError};
use crate::explicit::signals::{Signal, Signals};

/// The particles as a mesh without elements: labels and sets are found by the same rules as in explicit dynamics.
pub fn particles<'a>(mesh: &SpringMeshView<'a>) -> MeshView<'a> {
    MeshView {
        dimension: 3,
        coordinates: mesh.coordinates,
        node_labels: mesh.labels,
        node_instance: mesh.instance,
        instances: mesh.instances.clone(),
        groups: Vec::new(),
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

/// The conditions as explicit dynamics has them; gravity of some particles is a force on each. `mass` is that of [`masses`].
pub fn conditions(setup: &SpringSetup, mass: &[f64]) -> Setup {
    let weight = |&particle: &u32| mass[if mass.len() == 1 { 0 } else { particle as usize }];
    let weights = setup.gravity.iter().filter_map(|gravity| {
        let particles = gravity.particles.as_ref()?;
        Some(Load {
            name: gravity.name.clone(),
            kind: LoadKind::Concentrated {
                nodes: particles.clone(),
                weights: particles.iter().map(weight).collect(),
                direction: gravity.direction,
            },
            magnitude: gravity.magnitude,
            amplitude: gravity.amplitude,
        })
    });
    let forces = setup.forces.iter().map(|force| Load {
        name: force.name.clone(),
        kind: LoadKind::Concentrated {
            nodes: force.particles.clone(),
            weights: force.weights.clone(),
            direction: force.direction,
        },
        magnitude: force.magnitude,
        amplitude: force.amplitude,
    });
    Setup {
        title: setup.title.clone(),
        materials: Vec::new(),
        sections: Vec::new(),
        amplitudes: setup.amplitudes.clone(),
        loads: forces.chain(weights).collect(),
        boundaries: setup.boundaries.clone(),
        initial_velocities: setup.initial_velocities.clone(),
        absorbing_layers: Vec::new(),
        histories: setup.histories.clone(),
        element_histories: Vec::new(),
        fields: Vec::new(),
        explicit: ExplicitSettings {
            time: setup.solver.time,
            increment: Increment::Automatic { factor: 1.0 },
            lumping: Lumping::Equal,
        },
    }
}

/// m, kg, (n,), or (1,) where it is the same for all.
pub fn masses(mesh: &SpringMeshView<'_>, setup: &SpringSetup) -> Vec<f64> {
    let of = |particle: usize| {
        let material = &setup.materials[usize::from(mesh.material[particle])];
        material.mass + material.density * mesh.volume_of(particle)
    };
    let n = mesh.n_particles();
    let first = if n > 0 { of(0) } else { 0.0 };
    if (0..n).all(|particle| of(particle) == first) { vec![first] } else { (0..n).map(of).collect() }
}

/// What acts on particles.
#[derive(Debug, Clone, PartialEq)]
pub struct Actions {
    /// On free components.
    pub forces: Vec<NodalForce>,
    /// On fixed and driven components: these only change the reaction.
    pub supported: Vec<NodalForce>,
    /// Fixed and driven components, by degree of freedom.
    pub constraints: Vec<Constraint>,
    /// Gravity of all particles.
    pub gravity: Vec<Acceleration>,
    /// v at t = 0 of components that have one.
    pub initial_velocities: BTreeMap<u64, f64>,
}

/// Forces, fixed and driven particles, gravity of all particles, with their columns of the signal table.
///
/// # Errors
/// References beyond the model.
pub fn actions(
    particles: &MeshView<'_>,
    conditions: &Setup,
    setup: &SpringSetup,
    signals: &mut Signals<'_>,
) -> Result<Actions, LoadError> {
    let initial_velocities = loads::initial_velocities(particles, conditions)?;
    let constraints = loads::constraints(particles, conditions, &initial_velocities, signals)?;
    let Forces { free: forces, supported } = loads::forces(particles, conditions, &[], &constraints, signals)?;
    let gravity = setup
        .gravity
        .iter()
        .filter(|gravity| gravity.particles.is_none())
        .map(|gravity| Acceleration {
            acceleration: gravity.direction.map(|x| x * gravity.magnitude),
            signal: signals.column(Signal::Value(gravity.amplitude)),
        })
        .collect();
    Ok(Actions { forces, supported, constraints, gravity, initial_velocities })
}

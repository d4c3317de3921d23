//! From a model to what the kernels step: masses, forces, fixed and driven particles, gravity.

use std::collections::BTreeMap;

use pogo_formats::spring::{SpringMeshView, SpringSetup};
use pogo_formats::system::parallel::iterate::*;
use pogo_kernels::dynamics::signals::{Signal, Signals};
use pogo_kernels::dynamics::{Constraint, NodalForce};
use pogo_kernels::spring::{Acceleration, SpringProblem};

use crate::run::conditions::{self, ConditionError, Dofs, ForceSum, Forces, is_absolute};

pub(super) fn dofs(mesh: &SpringMeshView<'_>) -> Dofs {
    Dofs { n_nodes: mesh.n_particles(), dimension: 3 }
}

/// m, kg, (n,), or (1,) where it is the same for all.
fn masses(mesh: &SpringMeshView<'_>, setup: &SpringSetup) -> Vec<f64> {
    let of = |particle: usize| {
        let material = &setup.materials[usize::from(mesh.material[particle])];
        material.mass + material.density * mesh.volume_of(particle)
    };
    let n = mesh.n_particles();
    let first = if n > 0 { of(0) } else { 0.0 };
    let are_alike = (0..n).into_par_iter().all(|particle| of(particle) == first);
    if are_alike { vec![first] } else { (0..n).into_par_iter().map(of).collect() }
}

/// The particles and springs of a model, without loads, with a time increment of 1 s.
pub(super) fn bare_problem<'a>(mesh: &SpringMeshView<'a>, setup: &SpringSetup) -> SpringProblem<'a> {
    SpringProblem {
        mesh: mesh.clone(),
        groups: setup.groups.clone(),
        mass: masses(mesh, setup),
        damping: setup.solver.damping,
        time_increment: 1.0,
        gravity: Vec::new(),
        forces: Vec::new(),
        constraints: Vec::new(),
        monitors: Vec::new(),
        cuts: setup.cuts.clone(),
        erasures: setup.erasures.clone(),
        additions: setup.additions.clone(),
        follow_work: false,
    }
}

/// What acts on particles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Actions {
    /// Forces on free components.
    pub forces: Vec<NodalForce>,
    /// On fixed and driven components: these only change the reaction.
    pub supported: Vec<NodalForce>,
    /// Fixed and driven components, by degree of freedom.
    pub constraints: Vec<Constraint>,
    /// Gravity of all particles.
    pub gravity: Vec<Acceleration>,
    /// v at t = 0 of components that have one, m/s.
    pub initial_velocities: BTreeMap<u64, f64>,
}

/// Forces, fixed and driven particles, and gravity, with their columns of the signal table. Gravity of some particles is a
/// force on each of them. `mass` is that of a problem, kg.
pub(super) fn actions(
    mesh: &SpringMeshView<'_>,
    setup: &SpringSetup,
    mass: &[f64],
    signals: &mut Signals<'_>,
) -> Result<Actions, ConditionError> {
    let (dofs, amplitudes) = (dofs(mesh), &setup.amplitudes);
    let initial_velocities = conditions::initial_velocities(dofs, &setup.initial_velocities)?;
    let constraints = conditions::constraints(dofs, &setup.boundaries, amplitudes, &initial_velocities, signals)?;
    let mut sum = ForceSum::new(dofs);
    let mut add = |name: &str, particles: &[u32], weights: &[f64], direction, magnitude, amplitude| {
        let magnitude = if is_absolute(amplitudes, amplitude, name)? { 1.0 } else { magnitude };
        let signal = signals.column(Signal::Value(amplitude));
        sum.add_concentrated(name, particles, weights, direction, (magnitude, signal))
    };
    for force in &setup.forces {
        add(&force.name, &force.particles, &force.weights, force.direction, force.magnitude, force.amplitude)?;
    }
    let weight = |&particle: &u32| mass[if mass.len() == 1 { 0 } else { particle as usize }];
    for gravity in &setup.gravity {
        let Some(particles) = &gravity.particles else { continue };
        let weights: Vec<f64> = particles.iter().map(weight).collect();
        add(&gravity.name, particles, &weights, gravity.direction, gravity.magnitude, gravity.amplitude)?;
    }
    let everywhere = setup.gravity.iter().filter(|gravity| gravity.particles.is_none());
    let gravity = everywhere.map(|gravity| Acceleration {
        acceleration: gravity.direction.map(|x| x * gravity.magnitude),
        signal: signals.column(Signal::Value(gravity.amplitude)),
    });
    let gravity = gravity.collect();
    let Forces { free: forces, supported } = sum.forces(&constraints);
    Ok(Actions { forces, supported, constraints, gravity, initial_velocities })
}

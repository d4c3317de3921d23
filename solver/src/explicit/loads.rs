//! Loads → forces on nodes, and boundary conditions → prescribed displacements.

use std::collections::BTreeMap;

use pogo_formats::dynamics::{Boundary, BoundaryKind, Load, LoadKind};
use pogo_formats::explicit::{Lumping, Setup};
use pogo_formats::mesh::MeshView;
use pogo_kernels::dynamics::{Constraint, NodalForce};
use pogo_kernels::explicit::elements;
use pogo_kernels::explicit::elements::ElementError;
use pogo_kernels::explicit::elements::SectionProperties;

use super::elements::Elements;
use super::faces;
use super::signals::{Signal, Signals};

/// A load or boundary condition that the mesh cannot carry.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Index beyond the mesh.
    #[error("{name}: {what} {index} is beyond the mesh; the block file and its parameters do not fit together")]
    Beyond {
        /// Load or boundary condition.
        name: String,
        /// `node`, `element` or `amplitude`.
        what: &'static str,
        /// Which.
        index: u32,
    },
    /// Third component in a plane model.
    #[error("{name}: component 3 in a plane model; use components 1 and 2")]
    ThirdComponent {
        /// Load or boundary condition.
        name: String,
    },
    /// An element that cannot carry a body force.
    #[error(transparent)]
    Element(#[from] ElementError),
}

/// Forces on nodes, merged by degree of freedom and signal and sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forces {
    /// On free components: these drive the solution.
    pub free: Vec<NodalForce>,
    /// On prescribed components: these only change the reaction.
    pub supported: Vec<NodalForce>,
}

/// Sums forces by (degree of freedom, signal).
#[derive(Default)]
struct Collector {
    forces: Vec<NodalForce>,
    dimension: usize,
}

impl Collector {
    fn add(&mut self, node: u32, signal: u32, force: [f64; 3]) {
        for (component, &value) in force.iter().enumerate().take(self.dimension) {
            if value != 0.0 {
                let dof = u64::from(node) * self.dimension as u64 + component as u64;
                self.forces.push(NodalForce { dof, signal, value });
            }
        }
    }

    fn merged(mut self) -> Vec<NodalForce> {
        // Stable: equal keys are summed in the order of the loads, the same on every run.
        self.forces.sort_by_key(|force| (force.dof, force.signal));
        self.forces.dedup_by(|next, kept| {
            let same = (next.dof, next.signal) == (kept.dof, kept.signal);
            if same {
                kept.value += next.value;
            }
            same
        });
        self.forces
    }
}

/// Nodal forces of all loads; those on `constraints` apart.
///
/// # Errors
/// An index beyond the mesh, or a third component in 2D.
pub fn forces(
    mesh: &MeshView<'_>,
    setup: &Setup,
    sections: &[SectionProperties],
    constraints: &[Constraint],
    signals: &mut Signals<'_>,
) -> Result<Forces, LoadError> {
    let mut collector = Collector { forces: Vec::new(), dimension: mesh.dimension };
    for load in &setup.loads {
        let absolute = check_amplitude(setup, load.amplitude, &load.name)?;
        let magnitude = if absolute { 1.0 } else { load.magnitude };
        let signal = signals.column(Signal::Value(load.amplitude));
        distribute(mesh, setup, sections, load, magnitude, signal, &mut collector)?;
    }
    let mut forces = Forces::default();
    for force in collector.merged() {
        match constraints.binary_search_by_key(&force.dof, |constraint| constraint.dof) {
            Ok(_) => forces.supported.push(force),
            Err(_) => forces.free.push(force),
        }
    }
    Ok(forces)
}

/// Whether the amplitude is absolute; an error if there is none with that index.
fn check_amplitude(setup: &Setup, amplitude: Option<u32>, name: &str) -> Result<bool, LoadError> {
    let Some(index) = amplitude else { return Ok(false) };
    match setup.amplitudes.get(index as usize) {
        Some(amplitude) => Ok(amplitude.absolute),
        None => Err(LoadError::Beyond { name: name.into(), what: "amplitude", index }),
    }
}

fn distribute(
    mesh: &MeshView<'_>,
    setup: &Setup,
    sections: &[SectionProperties],
    load: &Load,
    magnitude: f64,
    signal: u32,
    collector: &mut Collector,
) -> Result<(), LoadError> {
    let elements = Elements::new(mesh);
    let check_node = |node: u32| {
        if (node as usize) < mesh.n_nodes() {
            Ok(())
        } else {
            Err(LoadError::Beyond { name: load.name.clone(), what: "node", index: node })
        }
    };
    let check_direction = |direction: &[f64; 3]| {
        if mesh.dimension == 2 && direction[2] != 0.0 {
            Err(LoadError::ThirdComponent { name: load.name.clone() })
        } else {
            Ok(())
        }
    };
    match &load.kind {
        LoadKind::Concentrated { nodes, weights, direction } => {
            check_direction(direction)?;
            for (index, &node) in nodes.iter().enumerate() {
                check_node(node)?;
                let weight = magnitude * weights.get(index).copied().unwrap_or(1.0);
                collector.add(node, signal, direction.map(|component| component * weight));
            }
        }
        LoadKind::Pressure { faces, elements: owners } | LoadKind::Traction { faces, elements: owners, .. } => {
            let direction = match &load.kind {
                LoadKind::Traction { direction, .. } => Some(direction),
                _ => None,
            };
            direction.map_or(Ok(()), check_direction)?;
            for (face, &owner) in faces.iter().zip(owners) {
                let nodes = &face[..face.iter().position(|&node| node == u32::MAX).unwrap_or(face.len())];
                nodes.iter().try_for_each(|&node| check_node(node))?;
                let element = elements.get(owner as usize).ok_or_else(|| LoadError::Beyond {
                    name: load.name.clone(),
                    what: "element",
                    index: owner,
                })?;
                let thickness = setup.sections.get(element.section).map_or(1.0, |section| section.thickness);
                let points: Vec<_> = nodes.iter().map(|&node| elements.position(node)).collect();
                let weights = faces::weights(&points, mesh.dimension, thickness);
                let inward = faces::subtract(
                    elements.centre(element.nodes.iter().copied()),
                    elements.centre(nodes.iter().copied()),
                );
                let normal = weights
                    .iter()
                    .fold([0.0; 3], |sum, (normal, _)| [sum[0] + normal[0], sum[1] + normal[1], sum[2] + normal[2]]);
                let sign = if faces::dot(normal, inward) < 0.0 { -magnitude } else { magnitude };
                for (&node, (normal, area)) in nodes.iter().zip(weights) {
                    collector.add(
                        node,
                        signal,
                        match direction {
                            Some(direction) => direction.map(|component| magnitude * area * component),
                            None => normal.map(|component| sign * component),
                        },
                    );
                }
            }
        }
        LoadKind::Body { elements: members, direction } | LoadKind::Gravity { elements: members, direction } => {
            check_direction(direction)?;
            let gravity = matches!(load.kind, LoadKind::Gravity { .. });
            let mut weight = vec![0.0; mesh.n_elements()];
            for &member in members {
                *weight.get_mut(member as usize).ok_or_else(|| LoadError::Beyond {
                    name: load.name.clone(),
                    what: "element",
                    index: member,
                })? = 1.0;
            }
            for (weight, section) in weight.iter_mut().zip(elements.sections()) {
                // Inertia may be scaled; gravity and body forces are not.
                let section_density = sections.get(section).map_or(1.0, |section| section.density);
                let mass_factor = setup.sections.get(section).map_or(1.0, |section| section.mass_factor);
                *weight /= if gravity { mass_factor } else { section_density };
            }
            // Gravity moves every node by the same acceleration only if it is lumped like the inertia.
            let lumping = if gravity { setup.explicit.lumping } else { Lumping::RowSum };
            let nodal = weighted_mass(mesh, sections, &weight, lumping)?;
            for (node, &value) in (0u32..).zip(&nodal) {
                collector.add(node, signal, direction.map(|component| magnitude * value * component));
            }
        }
    }
    Ok(())
}

/// Σ_e w_e m_ei, kg, (n_nodes,).
fn weighted_mass(
    mesh: &MeshView<'_>,
    sections: &[SectionProperties],
    weight: &[f64],
    lumping: Lumping,
) -> Result<Vec<f64>, LoadError> {
    let mut nodal = elements::nodal_damping(mesh, sections, weight, lumping)?;
    for (value, mass) in nodal.iter_mut().zip(elements::lumped_mass(mesh, sections, lumping)?) {
        *value *= mass;
    }
    Ok(nodal)
}

/// Velocity at t = 0 of every degree of freedom that has one; later entries win.
///
/// # Errors
/// An index beyond the mesh, or a third component in 2D.
pub fn initial_velocities(mesh: &MeshView<'_>, setup: &Setup) -> Result<BTreeMap<u64, f64>, LoadError> {
    let mut velocities = BTreeMap::new();
    for initial in &setup.initial_velocities {
        for &node in &initial.nodes {
            velocities.insert(dof(mesh, node, initial.component, &initial.name)?, initial.value);
        }
    }
    Ok(velocities)
}

/// Prescribed components, sorted by degree of freedom; of several on one component the last wins.
///
/// # Errors
/// An index beyond the mesh, or a third component in 2D.
pub fn constraints(
    mesh: &MeshView<'_>,
    setup: &Setup,
    initial_velocities: &BTreeMap<u64, f64>,
    signals: &mut Signals<'_>,
) -> Result<Vec<Constraint>, LoadError> {
    let mut last = BTreeMap::new();
    for boundary in &setup.boundaries {
        check_amplitude(setup, boundary.amplitude, &boundary.name)?;
        for &node in &boundary.nodes {
            last.insert(dof(mesh, node, boundary.component, &boundary.name)?, boundary);
        }
    }
    Ok(last
        .into_iter()
        .map(|(dof, boundary)| {
            constraint(setup, dof, boundary, initial_velocities.get(&dof).copied().unwrap_or(0.0), signals)
        })
        .collect())
}

fn dof(mesh: &MeshView<'_>, node: u32, component: u8, name: &str) -> Result<u64, LoadError> {
    if usize::from(component) >= mesh.dimension {
        return Err(LoadError::ThirdComponent { name: name.into() });
    }
    if node as usize >= mesh.n_nodes() {
        return Err(LoadError::Beyond { name: name.into(), what: "node", index: node });
    }
    Ok(u64::from(node) * mesh.dimension as u64 + u64::from(component))
}

fn constraint(
    setup: &Setup,
    dof: u64,
    boundary: &Boundary,
    initial_velocity: f64,
    signals: &mut Signals<'_>,
) -> Constraint {
    let absolute =
        boundary.amplitude.is_some_and(|index| setup.amplitudes.get(index as usize).is_some_and(|a| a.absolute));
    let value = if absolute { 1.0 } else { boundary.value };
    let amplitude = boundary.amplitude;
    let (signal, value) = match boundary.kind {
        // One column serves everything that does not move.
        _ if value == 0.0 && (boundary.kind != BoundaryKind::Acceleration || initial_velocity == 0.0) => {
            (Signal::Value(None), 0.0)
        }
        BoundaryKind::Displacement => (Signal::Value(amplitude), value),
        BoundaryKind::Velocity => (Signal::Velocity(amplitude), value),
        BoundaryKind::Acceleration if value == 0.0 => (Signal::Velocity(None), initial_velocity),
        BoundaryKind::Acceleration => {
            (Signal::Acceleration { amplitude, initial_velocity: initial_velocity / value }, value)
        }
    };
    Constraint { dof, signal: signals.column(signal), value }
}

//! Loads of explicit dynamics as forces on nodes.

use pogo_formats::dynamics::{Load, LoadKind};
use pogo_formats::explicit::{Lumping, Setup};
use pogo_formats::mesh::MeshView;
use pogo_kernels::dynamics::Constraint;
use pogo_kernels::dynamics::signals::{Signal, Signals};
use pogo_kernels::explicit::LinearRows;
use pogo_kernels::explicit::elements::{self, ElementError, SectionProperties};

use super::{faces, linear};
use crate::run::conditions::{ConditionError, Dofs, ForceSum, Forces, is_absolute};

/// A load that the mesh cannot carry.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Condition(#[from] ConditionError),
    #[error(transparent)]
    Element(#[from] ElementError),
    #[error("load {name} acts on {unknown}, which no constraint carries: *RIGID BODY, *COUPLING or *EQUATION would")]
    NotCarried {
        name: String,
        /// Node and degree of freedom.
        unknown: String,
    },
    #[error("a load acts on node {label}, which has no mass: no element uses it")]
    Massless {
        /// The user's label.
        label: String,
    },
}

/// Nodal forces of all loads; those on `constraints` apart. Loads on massless unknowns act on the nodes that carry them by `rows`.
///
/// # Errors
/// An index beyond the mesh, or a third component in 2D.
pub(super) fn forces(
    mesh: &MeshView<'_>,
    setup: &Setup,
    sections: &[SectionProperties],
    (constraints, rows): (&[Constraint], &LinearRows),
    signals: &mut Signals<'_>,
) -> Result<Forces, LoadError> {
    let dofs = super::dofs(mesh);
    let model = Model { mesh, setup, sections, dofs };
    let mut sum = ForceSum::new(dofs);
    for load in &setup.loads {
        let absolute = is_absolute(&setup.amplitudes, load.amplitude, &load.name)?;
        let magnitude = if absolute { 1.0 } else { load.magnitude };
        model.add(load, magnitude, signals, &mut sum)?;
    }
    linear::add_loads(setup, rows, mesh.dimension, signals, &mut sum)?;
    Ok(sum.forces(constraints))
}

/// What loads are distributed over.
struct Model<'a> {
    mesh: &'a MeshView<'a>,
    setup: &'a Setup,
    sections: &'a [SectionProperties],
    dofs: Dofs,
}

impl Model<'_> {
    fn add(&self, load: &Load, magnitude: f64, signals: &mut Signals<'_>, sum: &mut ForceSum) -> Result<(), LoadError> {
        if let LoadKind::Volume { nodes, weights } = &load.kind {
            // The force on q is minus the flow.
            let signal = signals.column(Signal::Sum(load.amplitude));
            let along = [1.0, 0.0, 0.0];
            return Ok(sum.add_concentrated(&load.name, nodes, weights, along, (-magnitude, signal))?);
        }
        let signal = signals.column(Signal::Value(load.amplitude));
        match &load.kind {
            LoadKind::Concentrated { nodes, weights, direction } => {
                sum.add_concentrated(&load.name, nodes, weights, *direction, (magnitude, signal))?;
            }
            LoadKind::Volume { .. } => {}
            LoadKind::Pressure { faces, elements } => {
                let onto_face = |normal: [f64; 3], _: f64| normal.map(|component| magnitude * component);
                self.add_faces(&load.name, faces, elements, signal, onto_face, sum)?;
            }
            LoadKind::Traction { faces, elements, direction } => {
                self.dofs.check_direction(&load.name, direction)?;
                let along = |_: [f64; 3], area: f64| direction.map(|component| magnitude * area * component);
                self.add_faces(&load.name, faces, elements, signal, along, sum)?;
            }
            LoadKind::Body { elements, direction } | LoadKind::Gravity { elements, direction } => {
                self.dofs.check_direction(&load.name, direction)?;
                let gravity = matches!(load.kind, LoadKind::Gravity { .. });
                for (node, &value) in (0u32..).zip(&self.body_weights(&load.name, elements, gravity)?) {
                    sum.add(node, signal, direction.map(|component| magnitude * value * component));
                }
            }
        }
        Ok(())
    }

    /// Adds `force(∫ N_i n dA, ∫ N_i dA)` at each node of each face, with n into the element.
    fn add_faces(
        &self,
        name: &str,
        faces: &[[u32; 4]],
        owners: &[u32],
        signal: u32,
        force: impl Fn([f64; 3], f64) -> [f64; 3],
        sum: &mut ForceSum,
    ) -> Result<(), ConditionError> {
        let mesh = self.mesh;
        for (face, &owner) in faces.iter().zip(owners) {
            let nodes = &face[..face.iter().position(|&node| node == u32::MAX).unwrap_or(face.len())];
            nodes.iter().try_for_each(|&node| self.dofs.check_node(name, node))?;
            let (group, at) =
                mesh.group_of(owner as usize).ok_or_else(|| ConditionError::beyond(name, "element", owner))?;
            let section = self.setup.sections.get(group.section[at] as usize);
            let of_element = group.connectivity.chunks_exact(group.kind.n_nodes()).nth(at).unwrap_or_default();
            let [face_points, element_points] = [nodes, of_element].map(|nodes| elements::positions(mesh, nodes));
            let points = &face_points[..nodes.len()];
            let weights = faces::weights(points, mesh.dimension, section.map_or(1.0, |section| section.thickness));
            let inward = faces::subtract(faces::centre(&element_points[..of_element.len()]), faces::centre(points));
            let normal = faces::sum(weights.iter().map(|(normal, _)| normal));
            let sign = if faces::dot(normal, inward) < 0.0 { -1.0 } else { 1.0 };
            for (&node, (normal, area)) in nodes.iter().zip(weights) {
                sum.add(node, signal, force(normal.map(|component| sign * component), area));
            }
        }
        Ok(())
    }

    /// Volume, or mass for `gravity`, of the elements that each node carries, m³ or kg.
    fn body_weights(&self, name: &str, members: &[u32], gravity: bool) -> Result<Vec<f64>, LoadError> {
        let (mesh, setup, sections) = (self.mesh, self.setup, self.sections);
        let mut weight = vec![0.0; mesh.n_elements()];
        for &member in members {
            *weight.get_mut(member as usize).ok_or_else(|| ConditionError::beyond(name, "element", member))? = 1.0;
        }
        for (weight, &section) in weight.iter_mut().zip(mesh.groups.iter().flat_map(|group| group.section)) {
            // Inertia may be scaled; gravity and body forces are not.
            let section_density = sections.get(section as usize).map_or(1.0, |section| section.density);
            let mass_factor = setup.sections.get(section as usize).map_or(1.0, |section| section.mass_factor);
            *weight /= if gravity { mass_factor } else { section_density };
        }
        // Gravity moves every node by the same acceleration only if it is lumped like the inertia.
        let lumping = if gravity { setup.explicit.lumping } else { Lumping::RowSum };
        let mut nodal = elements::nodal_damping(mesh, sections, &weight, lumping)?;
        for (value, mass) in nodal.iter_mut().zip(elements::lumped_mass(mesh, sections, lumping)?) {
            *value *= mass;
        }
        Ok(nodal)
    }
}

//! Impedance boundaries: dashpots at the nodes of faces.
//!
//! ```text
//! G_i = ∫ N_i dA Z(n) over the faces at node i
//! ```
//!
//! with the impedance Z of the material beyond a face, and the face's mean normal n.

use std::collections::BTreeMap;

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_kernels::explicit::Dashpot;
use pogo_kernels::explicit::elements::{self, SectionProperties};

use super::faces;

/// The dashpots of all impedance boundaries, by node. Where the element at a face has its own material beyond it and lies in an
/// absorbing layer, which lowers its stiffness by `stiffness_factor`, that material is lowered, too.
pub(super) fn dashpots(
    mesh: &MeshView<'_>,
    setup: &Setup,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
) -> Vec<Dashpot> {
    let mut sums = BTreeMap::<u32, [[f64; 3]; 3]>::new();
    for boundary in &setup.impedances {
        for ((face, &owner), &section) in boundary.faces.iter().zip(&boundary.elements).zip(&boundary.sections) {
            let nodes = &face[..face.iter().position(|&node| node == u32::MAX).unwrap_or(face.len())];
            let Some((group, at)) = mesh.group_of(owner as usize) else { continue };
            let points = &elements::positions(mesh, nodes)[..nodes.len()];
            let weights = faces::weights(points, mesh.dimension, 1.0);
            let normal = faces::sum(weights.iter().map(|(normal, _)| normal));
            let length = faces::dot(normal, normal).sqrt();
            let mut z = elements::impedance(&sections[section as usize], group.kind, normal.map(|x| x / length));
            if group.section[at] == section {
                let factor = stiffness_factor.get(owner as usize).copied().unwrap_or(1.0).sqrt();
                z = z.map(|row| row.map(|value| factor * value));
            }
            for (&node, (_, area)) in nodes.iter().zip(&weights) {
                let sum = sums.entry(node).or_default();
                for (sum, z) in sum.as_flattened_mut().iter_mut().zip(z.as_flattened()) {
                    *sum += area * z;
                }
            }
        }
    }
    sums.into_iter().map(|(node, matrix)| Dashpot { node, matrix }).collect()
}

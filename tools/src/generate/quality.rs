//! How good a mesh is.

use pogo_formats::mesh::{ElementShape, Mesh};
use pogo_formats::words::counted;
use serde::Serialize;

use crate::elements::{dot, elements, faces, norm, position, round, sub};

/// Numbers that tell whether a mesh is fit for explicit time stepping. Angles are between two edges that meet at a corner of
/// an element (of a face in 3D).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    pub nodes: usize,
    pub elements: usize,
    /// Mean length of the element edges, m.
    pub mean_edge: f64,
    /// m.
    pub shortest_edge: f64,
    /// Degrees.
    pub min_angle: f64,
    /// Fraction of the elements whose smallest angle is below 30°.
    pub below_30_degrees: f64,
    /// Fraction of the nodes of a triangle mesh that touch other than six triangles.
    pub irregular_nodes: f64,
}

/// Measures a mesh.
pub fn quality(mesh: &Mesh) -> Quality {
    let mut touching = vec![0u8; mesh.n_nodes()];
    let (mut sum, mut n_edges, mut shortest, mut least, mut n_below) = (0.0, 0usize, f64::INFINITY, 180f64, 0usize);
    for (kind, element) in elements(mesh) {
        let mut smallest = 180f64;
        let mut visit = |face: &[u32]| {
            let n = face.len();
            for i in 0..n {
                let [to_next, to_last] = [face[(i + 1) % n], face[(i + n - 1) % n]]
                    .map(|other| sub(position(mesh, other), position(mesh, face[i])));
                let (next, last) = (norm(to_next), norm(to_last));
                sum += next;
                n_edges += 1;
                shortest = shortest.min(next);
                smallest = smallest.min((dot(to_next, to_last) / (next * last)).clamp(-1.0, 1.0).acos().to_degrees());
            }
        };
        if mesh.dimension == 2 {
            visit(element);
        } else {
            faces(kind, element).for_each(|face| visit(round(&face)));
        }
        for &node in element {
            touching[node as usize] = touching[node as usize].saturating_add(1);
        }
        least = least.min(smallest);
        n_below += usize::from(smallest < 30.0);
    }
    let triangles = mesh.groups.iter().all(|group| group.kind.shape() == ElementShape::Triangle);
    let n_irregular = if triangles { touching.iter().filter(|&&n| n != 6).count() } else { 0 };
    Quality {
        nodes: mesh.n_nodes(),
        elements: mesh.n_elements(),
        mean_edge: sum / n_edges.max(1) as f64,
        shortest_edge: shortest,
        min_angle: least,
        below_30_degrees: n_below as f64 / mesh.n_elements().max(1) as f64,
        irregular_nodes: n_irregular as f64 / mesh.n_nodes().max(1) as f64,
    }
}

impl std::fmt::Display for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, {}, mean edge {:.4e} m, smallest angle {:.1}° ({:.3} % of the elements below 30°)",
            counted(self.nodes, "node"),
            counted(self.elements, "element"),
            self.mean_edge,
            self.min_angle,
            100.0 * self.below_30_degrees
        )
    }
}

//! How good a mesh is.

use pogo_formats::mesh::{ElementKind, Mesh};
use pogo_formats::words::counted;
use serde::Serialize;

/// Numbers that tell whether a mesh is fit for explicit time stepping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// Nodes.
    pub nodes: usize,
    /// Elements.
    pub elements: usize,
    /// Mean length of the element edges, m.
    pub mean_edge: f64,
    /// Shortest edge, m.
    pub shortest_edge: f64,
    /// Smallest angle between two edges that meet at a corner of an element (of a face in 3D), degrees.
    pub min_angle: f64,
    /// Fraction of the elements whose smallest angle is below 30°.
    pub below_30_degrees: f64,
    /// Fraction of the nodes of a triangle mesh that touch other than six triangles.
    pub irregular_nodes: f64,
}

/// Measures a mesh.
pub fn quality(mesh: &Mesh) -> Quality {
    let dimension = mesh.dimension as usize;
    let mut touching = vec![0u8; mesh.n_nodes()];
    let (mut sum, mut n_edges, mut shortest, mut least, mut n_below) = (0.0, 0usize, f64::INFINITY, 180f64, 0usize);
    for group in &mesh.groups {
        for element in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            let mut smallest = 180f64;
            let mut visit = |face: &[u32]| {
                let n = face.len();
                for i in 0..n {
                    let [to_next, to_last] = [face[(i + 1) % n], face[(i + n - 1) % n]].map(|other| {
                        let (from, other) = (face[i] as usize * dimension, other as usize * dimension);
                        let component = |c| mesh.coordinates[other + c] - mesh.coordinates[from + c];
                        [component(0), component(1), if dimension == 3 { component(2) } else { 0.0 }]
                    });
                    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                    let (next, last) = (dot(to_next, to_next).sqrt(), dot(to_last, to_last).sqrt());
                    sum += next;
                    n_edges += 1;
                    shortest = shortest.min(next);
                    smallest =
                        smallest.min((dot(to_next, to_last) / (next * last)).clamp(-1.0, 1.0).acos().to_degrees());
                }
            };
            if dimension == 2 {
                visit(element);
            } else {
                for face in group.kind.faces() {
                    let mut corners = [0; 4];
                    for (corner, &local) in corners.iter_mut().zip(*face) {
                        *corner = element[usize::from(local)];
                    }
                    visit(&corners[..face.len()]);
                }
            }
            for &node in element {
                touching[node as usize] = touching[node as usize].saturating_add(1);
            }
            least = least.min(smallest);
            n_below += usize::from(smallest < 30.0);
        }
    }
    let triangles = mesh.groups.iter().all(|group| matches!(group.kind, ElementKind::Cpe3 | ElementKind::Cps3));
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

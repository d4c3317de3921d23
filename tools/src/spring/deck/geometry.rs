//! Positions, edges and sizes of elements.

use std::collections::BTreeSet;

use pogo_formats::mesh::{ElementKind, Mesh};

/// Position of a node, with z = 0 in the plane.
pub(super) fn position(mesh: &Mesh, node: u32) -> [f64; 3] {
    let dimension = mesh.dimension as usize;
    std::array::from_fn(|c| if c < dimension { mesh.coordinates[node as usize * dimension + c] } else { 0.0 })
}

pub(super) fn distance(mesh: &Mesh, a: u32, b: u32) -> f64 {
    let [a, b] = [a, b].map(|node| position(mesh, node));
    (0..3).map(|c| (b[c] - a[c]).powi(2)).sum::<f64>().sqrt()
}

/// Edges of an element, as pairs of local nodes.
pub(super) fn local_edges(kind: ElementKind) -> Vec<[u8; 2]> {
    let mut edges = BTreeSet::new();
    for face in kind.faces() {
        let n = face.len();
        // In the plane a face is an edge.
        for at in 0..if n == 2 { 1 } else { n } {
            let (a, b) = (face[at], face[(at + 1) % n]);
            edges.insert([a.min(b), a.max(b)]);
        }
    }
    edges.into_iter().collect()
}

/// Area or volume of an element: the sum over the triangles or tetrahedra with a corner at its first node.
pub(super) fn size(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    let from = position(mesh, nodes[0]);
    let to = |local: u8| -> [f64; 3] {
        let point = position(mesh, nodes[usize::from(local)]);
        std::array::from_fn(|c| point[c] - from[c])
    };
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if kind.dimension() == 2 {
        let n = kind.n_nodes() as u8;
        let parts = (1..n - 1).map(|i| cross(to(i), to(i + 1)));
        let sum = parts.fold([0.0; 3], |sum, part| [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]]);
        return 0.5 * dot(sum, sum).sqrt();
    }
    // Tetrahedra from the first node to the triangles of the faces without it.
    let mut volume = 0.0;
    for face in kind.faces().iter().filter(|face| !face.contains(&0)) {
        for i in 1..face.len() - 1 {
            volume += dot(to(face[0]), cross(to(face[i]), to(face[i + 1])));
        }
    }
    volume.abs() / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_edges_that_they_have() {
        use ElementKind::*;
        for (kind, n) in [(Cpe3, 3), (Cpe4, 4), (C3d4, 6), (C3d6, 9), (C3d8, 12)] {
            assert_eq!(local_edges(kind).len(), n, "{kind:?}");
        }
    }
}

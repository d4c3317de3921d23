//! Edges and sizes of elements.

use std::collections::BTreeSet;

use pogo_formats::mesh::{ElementKind, Mesh};

use crate::elements::{cross, dot, norm, position, sub};

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
    let to = |local: u8| sub(position(mesh, nodes[usize::from(local)]), position(mesh, nodes[0]));
    if kind.dimension() == 2 {
        let n = kind.n_nodes() as u8;
        let parts = (1..n - 1).map(|i| cross(to(i), to(i + 1)));
        let sum = parts.fold([0.0; 3], |sum, part| [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]]);
        return 0.5 * norm(sum);
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
        for (kind, n) in [(Cpe3, 3), (Cpe4, 4), (C3d4, 6), (C3d6, 9), (C3d6f, 9), (C3d8, 12)] {
            assert_eq!(local_edges(kind).len(), n, "{kind:?}");
        }
    }
}

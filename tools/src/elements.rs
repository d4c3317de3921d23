//! The elements of a mesh with their nodes and faces, and vectors between nodes.

use pogo_formats::mesh::{ElementKind, Mesh};

/// Kind and nodes of each element, in the order of the element indices.
pub(crate) fn elements(mesh: &Mesh) -> impl Iterator<Item = (ElementKind, &[u32])> {
    mesh.groups
        .iter()
        .flat_map(|group| group.connectivity.chunks_exact(group.kind.n_nodes()).map(|nodes| (group.kind, nodes)))
}

/// The nodes of each face of an element, in order round it and padded with `u32::MAX`. In the plane a face is an edge.
pub(crate) fn faces(kind: ElementKind, nodes: &[u32]) -> impl Iterator<Item = [u32; 4]> {
    kind.faces().iter().map(move |face| {
        let mut round = [u32::MAX; 4];
        for (slot, &local) in round.iter_mut().zip(*face) {
            *slot = nodes[usize::from(local)];
        }
        round
    })
}

/// A face without its padding.
pub(crate) fn round(face: &[u32; 4]) -> &[u32] {
    let n = face.iter().position(|&node| node == u32::MAX).unwrap_or(face.len());
    &face[..n]
}

/// Position of a node, m; z is 0 in the plane.
pub(crate) fn position(mesh: &Mesh, node: u32) -> [f64; 3] {
    let dimension = mesh.dimension as usize;
    let mut position = [0.0; 3];
    position[..dimension].copy_from_slice(&mesh.coordinates[node as usize * dimension..][..dimension]);
    position
}

/// a − b.
pub(crate) fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a · b.
pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a × b.
pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// |a|.
pub(crate) fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

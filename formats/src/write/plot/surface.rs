//! The outer surface of a 3D mesh and the outline of a 2D one.

use crate::mesh::MeshView;
use crate::system::parallel::iterate::*;

/// A face (3D) or an edge (2D) that only one element has; of triangles on a surface in 3D, the triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SurfaceFace {
    /// Nodes in the element's order, padded with `u32::MAX`: two of an edge, three of a triangle, four of a quadrilateral.
    pub nodes: [u32; 4],
    pub element: u32,
}

impl SurfaceFace {
    /// Its nodes, without padding.
    pub fn corners(&self) -> &[u32] {
        let n = self.nodes.iter().position(|&node| node == u32::MAX).unwrap_or(4);
        &self.nodes[..n]
    }
}

/// A face of an element, found again by its three smallest nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Face {
    key: [u32; 3],
    element: u32,
    /// Place in [`ElementKind::faces`](crate::mesh::ElementKind::faces).
    local: u8,
}

/// Faces that belong to one element only, in the order of the elements. Takes 20 bytes a face of the whole mesh while it
/// runs.
pub fn outer_surface(mesh: &MeshView<'_>) -> Vec<SurfaceFace> {
    if mesh.dimension == 3 && mesh.groups.iter().all(|group| group.kind.dimension() == 2) {
        let elements = mesh.groups.iter().flat_map(|group| group.connectivity.chunks_exact(group.kind.n_nodes()));
        let face = |(element, corners): (u32, &[u32])| {
            let mut nodes = [u32::MAX; 4];
            nodes[..corners.len()].copy_from_slice(corners);
            SurfaceFace { nodes, element }
        };
        return (0..).zip(elements).map(face).collect();
    }
    let mut faces = Vec::new();
    let mut first = 0;
    for group in &mesh.groups {
        for (element, connectivity) in (first..).zip(group.connectivity.chunks_exact(group.kind.n_nodes())) {
            for (local, corners) in (0..).zip(group.kind.faces()) {
                let mut nodes = face_nodes(connectivity, corners);
                nodes.sort_unstable();
                faces.push(Face { key: [nodes[0], nodes[1], nodes[2]], element, local });
            }
        }
        first += group.labels.len() as u32;
    }
    faces.par_sort_unstable();
    let mut outer: Vec<Face> =
        faces.chunk_by(|a, b| a.key == b.key).filter(|same| same.len() == 1).map(|same| same[0]).collect();
    drop(faces);
    outer.sort_unstable_by_key(|face| (face.element, face.local));
    let mut surface = Vec::with_capacity(outer.len());
    let mut outer = outer.into_iter().peekable();
    let mut first = 0;
    for group in &mesh.groups {
        let (n, end) = (group.kind.n_nodes(), first + group.labels.len() as u32);
        while let Some(face) = outer.next_if(|face| face.element < end) {
            let connectivity = &group.connectivity[(face.element - first) as usize * n..][..n];
            let nodes = face_nodes(connectivity, group.kind.faces()[usize::from(face.local)]);
            surface.push(SurfaceFace { nodes, element: face.element });
        }
        first = end;
    }
    surface
}

fn face_nodes(connectivity: &[u32], corners: &[u8]) -> [u32; 4] {
    let mut nodes = [u32::MAX; 4];
    for (node, &corner) in nodes.iter_mut().zip(corners) {
        *node = connectivity[usize::from(corner)];
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{ElementGroup, ElementKind, Mesh};

    #[test]
    fn two_bricks_share_a_face() {
        let coordinates =
            (0..12).flat_map(|i| [f64::from(i % 3), f64::from(i / 3 % 2), f64::from(i / 6)]).collect::<Vec<_>>();
        let mesh = Mesh {
            dimension: 3,
            coordinates,
            node_labels: (1..=12).collect(),
            node_instance: vec![0; 12],
            instances: vec![String::new()],
            groups: vec![ElementGroup {
                kind: ElementKind::C3d8,
                labels: vec![1, 2],
                instance: vec![0; 2],
                section: vec![0; 2],
                connectivity: vec![0, 1, 4, 3, 6, 7, 10, 9, 1, 2, 5, 4, 7, 8, 11, 10],
            }],
            node_sets: Vec::new(),
            element_sets: Vec::new(),
        };
        let surface = outer_surface(&mesh.view());
        assert_eq!(surface.len(), 10);
        assert_eq!(surface.iter().filter(|face| face.element == 0).count(), 5);
        assert!(surface.iter().all(|face| face.corners().len() == 4));
        let shared = [1, 4, 7, 10];
        assert!(surface.iter().all(|face| !face.nodes.iter().all(|node| shared.contains(node))));
    }
}

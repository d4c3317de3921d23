//! The outer surface of a 3D mesh and the outline of a 2D one.

use crate::block::MeshView;

/// A face (3D) or an edge (2D) that only one element has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurfaceFace {
    /// Nodes in the element's order, padded with `u32::MAX`: two of an edge, three of a triangle, four of a quadrilateral.
    pub nodes: [u32; 4],
    /// Element index.
    pub element: u32,
}

impl SurfaceFace {
    /// Its nodes, without padding.
    pub fn corners(&self) -> &[u32] {
        let n = self.nodes.iter().position(|&node| node == u32::MAX).unwrap_or(4);
        &self.nodes[..n]
    }
}

/// Faces that belong to one element only, in the order of the elements. Takes 28 bytes a face of the whole mesh while it
/// runs.
pub fn outer_surface(mesh: &MeshView<'_>) -> Vec<SurfaceFace> {
    let mut faces: Vec<([u32; 4], SurfaceFace)> = Vec::new();
    let mut element = 0_u32;
    for group in &mesh.groups {
        for connectivity in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for local in group.kind.faces() {
                let mut nodes = [u32::MAX; 4];
                for (node, &local) in nodes.iter_mut().zip(*local) {
                    *node = connectivity[usize::from(local)];
                }
                let mut key = nodes;
                key.sort_unstable();
                faces.push((key, SurfaceFace { nodes, element }));
            }
            element += 1;
        }
    }
    faces.sort_unstable_by_key(|(key, face)| (*key, face.element));
    let mut outer: Vec<SurfaceFace> =
        faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].1).collect();
    outer.sort_unstable_by_key(|face| face.element);
    outer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ElementGroup, ElementKind, Mesh};

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

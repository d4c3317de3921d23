//! Elements by their index in the mesh.

use pogo_formats::mesh::ElementKind;
use pogo_formats::mesh::{MeshView, user_label};

/// One element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    /// What it is.
    pub kind: ElementKind,
    /// Section index.
    pub section: usize,
    /// Node indices, Abaqus order.
    pub nodes: &'a [u32],
    /// User's label.
    pub label: u32,
    /// Instance index.
    pub instance: u16,
}

/// The elements of a mesh, found by index.
#[derive(Debug, Clone)]
pub(super) struct Elements<'m, 'a> {
    mesh: &'m MeshView<'a>,
    /// First element index of each group.
    first: Vec<usize>,
}

impl<'m, 'a> Elements<'m, 'a> {
    /// Elements of this mesh.
    pub fn new(mesh: &'m MeshView<'a>) -> Self {
        let mut next = 0;
        let first = mesh
            .groups
            .iter()
            .map(|group| {
                let first = next;
                next += group.labels.len();
                first
            })
            .collect();
        Self { mesh, first }
    }

    /// The element with this index; none beyond the last.
    pub fn get(&self, index: usize) -> Option<Element<'a>> {
        let group_index = self.first.partition_point(|&first| first <= index).checked_sub(1)?;
        let group = &self.mesh.groups[group_index];
        let local = index - self.first[group_index];
        let width = group.kind.n_nodes();
        Some(Element {
            kind: group.kind,
            section: *group.section.get(local)? as usize,
            nodes: group.connectivity.get(local * width..(local + 1) * width)?,
            label: *group.labels.get(local)?,
            instance: *group.instance.get(local)?,
        })
    }

    /// Section of every element, (n_elements,).
    pub fn sections(&self) -> impl Iterator<Item = usize> + '_ {
        self.mesh.groups.iter().flat_map(|group| group.section.iter().map(|&section| section as usize))
    }

    /// Position of a node, with zeros beyond the mesh's dimension.
    pub fn position(&self, node: u32) -> [f64; 3] {
        let dimension = self.mesh.dimension;
        let mut position = [0.0; 3];
        position[..dimension].copy_from_slice(&self.mesh.coordinates[node as usize * dimension..][..dimension]);
        position
    }

    /// Positions of an element's nodes, with zeros beyond them.
    pub fn positions(&self, nodes: &[u32]) -> [[f64; 3]; 8] {
        let mut positions = [[0.0; 3]; 8];
        for (position, &node) in positions.iter_mut().zip(nodes) {
            *position = self.position(node);
        }
        positions
    }

    /// Mean of the positions of some nodes.
    pub fn centre(&self, nodes: impl IntoIterator<Item = u32>) -> [f64; 3] {
        let mut sum = [0.0; 3];
        let mut count = 0.0;
        for node in nodes {
            let position = self.position(node);
            for axis in 0..3 {
                sum[axis] += position[axis];
            }
            count += 1.0;
        }
        sum.map(|value| value / count)
    }
}

/// How the user knows the element with this index: `LABEL`, or `INSTANCE.LABEL` where there are instances.
pub(super) fn user_element_label(mesh: &MeshView<'_>, index: usize) -> String {
    match Elements::new(mesh).get(index) {
        Some(element) => user_label(&mesh.instances, element.instance, element.label),
        None => format!("#{index}"),
    }
}

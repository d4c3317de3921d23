//! Nodes, elements, and what lies round each node.

use rkyv::{Archive, Archived, Deserialize, Serialize};

use crate::block::Table;
use crate::block::cast::native;
use crate::mesh::NamedSet;

/// A mesh of tetrahedra or triangles in solver order.
///
/// | name | shape | content |
/// |---|---|---|
/// | `coordinates` | (n, 3) | unit of length of the job; z = 0 in the plane |
/// | `elements` | (m, corners) | nodes of each element; tetrahedra have positive volume |
/// | `incident` | Σ over nodes | 4 × element + corner for the elements round a node, ascending |
/// | `neighbours` | Σ over nodes | nodes that share an element with a node, ascending, without the node |
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct EikonalMesh {
    /// Corners an element: 3 or 4.
    pub corners: u32,
    /// The input was a mesh in the plane (results have two coordinates).
    pub plane: bool,
    /// Positions, (n, 3).
    pub coordinates: Vec<f64>,
    /// Nodes of the elements, (m, corners).
    pub elements: Vec<u32>,
    /// First entry of each node in `incident`, (n + 1,).
    pub incident_first: Vec<u32>,
    /// 4 × element + corner, ascending within a node.
    pub incident: Vec<u32>,
    /// First entry of each node in `neighbours`, (n + 1,).
    pub neighbour_first: Vec<u32>,
    /// Nodes that share an element with a node, ascending within it.
    pub neighbours: Vec<u32>,
    /// Index of each node among the nodes of the input, (n,).
    pub original_node: Vec<u32>,
    /// Index of each element among the elements of the input, (m,).
    pub original_element: Vec<u32>,
    /// Labels of the nodes in the input, (n,).
    pub node_labels: Vec<u32>,
    /// Labels of the elements in the input, (m,).
    pub element_labels: Vec<u32>,
    /// Instance of each node, (n,), or empty where there are no instances.
    pub node_instance: Vec<u16>,
    /// Names of the instances.
    pub instances: Vec<String>,
    /// Node sets; members are solver indices, ascending.
    pub node_sets: Vec<NamedSet>,
    /// Element sets; members are solver indices, ascending.
    pub element_sets: Vec<NamedSet>,
    /// Velocity class of each element, (m,); index into [`EikonalSetup::classes`](super::EikonalSetup).
    pub class: Vec<u16>,
    /// Fibre direction of each element, (m, 3), of any length but zero where a class needs it, or empty.
    pub fibre: Vec<f32>,
    /// Sheet direction of each element, (m, 3), made orthogonal to the fibre when it is used, or empty.
    pub sheet: Vec<f32>,
    /// Velocities of each element: (m, 1) isotropic, (m, 3) along fibre, sheet and normal, or empty.
    pub velocities: Vec<f64>,
    /// D of each element, (m, 6): xx, yy, zz, xy, yz, zx, or empty.
    pub tensor: Vec<f64>,
}

/// [`EikonalMesh`] as slices.
#[derive(Debug, Clone)]
pub struct EikonalMeshView<'a> {
    /// As in [`EikonalMesh`].
    pub corners: usize,
    /// As in [`EikonalMesh`].
    pub plane: bool,
    /// As in [`EikonalMesh`].
    pub coordinates: &'a [f64],
    /// As in [`EikonalMesh`].
    pub elements: &'a [u32],
    /// As in [`EikonalMesh`].
    pub incident_first: &'a [u32],
    /// As in [`EikonalMesh`].
    pub incident: &'a [u32],
    /// As in [`EikonalMesh`].
    pub neighbour_first: &'a [u32],
    /// As in [`EikonalMesh`].
    pub neighbours: &'a [u32],
    /// As in [`EikonalMesh`].
    pub original_node: &'a [u32],
    /// As in [`EikonalMesh`].
    pub original_element: &'a [u32],
    /// As in [`EikonalMesh`].
    pub node_labels: &'a [u32],
    /// As in [`EikonalMesh`].
    pub element_labels: &'a [u32],
    /// As in [`EikonalMesh`].
    pub node_instance: &'a [u16],
    /// As in [`EikonalMesh`].
    pub instances: Vec<&'a str>,
    /// Node sets by name.
    pub node_sets: Vec<(&'a str, &'a [u32])>,
    /// Element sets by name.
    pub element_sets: Vec<(&'a str, &'a [u32])>,
    /// As in [`EikonalMesh`].
    pub class: &'a [u16],
    /// As in [`EikonalMesh`].
    pub fibre: &'a [f32],
    /// As in [`EikonalMesh`].
    pub sheet: &'a [f32],
    /// As in [`EikonalMesh`].
    pub velocities: &'a [f64],
    /// As in [`EikonalMesh`].
    pub tensor: &'a [f64],
}

impl EikonalMesh {
    /// The mesh as slices.
    pub fn view(&self) -> EikonalMeshView<'_> {
        fn sets(sets: &[NamedSet]) -> Vec<(&str, &[u32])> {
            sets.iter().map(|set| (set.name.as_str(), set.members.as_slice())).collect()
        }
        EikonalMeshView {
            corners: self.corners as usize,
            plane: self.plane,
            coordinates: &self.coordinates,
            elements: &self.elements,
            incident_first: &self.incident_first,
            incident: &self.incident,
            neighbour_first: &self.neighbour_first,
            neighbours: &self.neighbours,
            original_node: &self.original_node,
            original_element: &self.original_element,
            node_labels: &self.node_labels,
            element_labels: &self.element_labels,
            node_instance: &self.node_instance,
            instances: self.instances.iter().map(String::as_str).collect(),
            node_sets: sets(&self.node_sets),
            element_sets: sets(&self.element_sets),
            class: &self.class,
            fibre: &self.fibre,
            sheet: &self.sheet,
            velocities: &self.velocities,
            tensor: &self.tensor,
        }
    }

    /// Fills `incident` and `neighbours` (and their firsts) from `elements`, whose nodes are below `n_nodes`.
    ///
    /// The tables have 4-byte indices: at most 2³⁰ elements.
    pub fn connect(&mut self, n_nodes: usize) {
        let corners = self.corners as usize;
        let mut first = vec![0_u32; n_nodes + 1];
        for &node in &self.elements {
            first[node as usize + 1] += 1;
        }
        for node in 0..n_nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        self.incident = vec![0; self.elements.len()];
        for (at, &node) in self.elements.iter().enumerate() {
            let place = &mut next[node as usize];
            self.incident[*place as usize] = (4 * (at / corners) + at % corners) as u32;
            *place += 1;
        }
        self.incident_first = first;

        self.neighbour_first = Vec::with_capacity(n_nodes + 1);
        self.neighbour_first.push(0);
        self.neighbours.clear();
        let mut round = Vec::new();
        for node in 0..n_nodes {
            round.clear();
            for &entry in &self.incident[self.incident_first[node] as usize..self.incident_first[node + 1] as usize] {
                let element = entry as usize / 4;
                let nodes = &self.elements[corners * element..corners * (element + 1)];
                round.extend(nodes.iter().filter(|&&other| other as usize != node));
            }
            round.sort_unstable();
            round.dedup();
            self.neighbours.extend_from_slice(&round);
            self.neighbour_first.push(self.neighbours.len() as u32);
        }
    }
}

impl<'a> EikonalMeshView<'a> {
    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.original_node.len()
    }

    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.original_element.len()
    }

    /// Nodes of an element.
    #[inline]
    pub fn nodes(&self, element: usize) -> &'a [u32] {
        &self.elements[self.corners * element..self.corners * (element + 1)]
    }

    /// Position of a node.
    #[inline]
    pub fn point(&self, node: usize) -> [f64; 3] {
        self.coordinates.as_chunks::<3>().0[node]
    }

    /// The elements round a node, as 4 × element + corner.
    #[inline]
    pub fn round(&self, node: usize) -> &'a [u32] {
        &self.incident[self.incident_first[node] as usize..self.incident_first[node + 1] as usize]
    }

    /// The nodes that share an element with a node.
    #[inline]
    pub fn neighbours_of(&self, node: usize) -> &'a [u32] {
        &self.neighbours[self.neighbour_first[node] as usize..self.neighbour_first[node + 1] as usize]
    }
}

impl Table for EikonalMesh {
    type View<'a> = EikonalMeshView<'a>;

    fn view(&self) -> EikonalMeshView<'_> {
        self.view()
    }

    fn archived(mesh: &Archived<Self>) -> EikonalMeshView<'_> {
        fn sets(sets: &Archived<Vec<NamedSet>>) -> Vec<(&str, &[u32])> {
            sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect()
        }
        EikonalMeshView {
            corners: mesh.corners.to_native() as usize,
            plane: mesh.plane,
            coordinates: native(&mesh.coordinates),
            elements: native(&mesh.elements),
            incident_first: native(&mesh.incident_first),
            incident: native(&mesh.incident),
            neighbour_first: native(&mesh.neighbour_first),
            neighbours: native(&mesh.neighbours),
            original_node: native(&mesh.original_node),
            original_element: native(&mesh.original_element),
            node_labels: native(&mesh.node_labels),
            element_labels: native(&mesh.element_labels),
            node_instance: native(&mesh.node_instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            node_sets: sets(&mesh.node_sets),
            element_sets: sets(&mesh.element_sets),
            class: native(&mesh.class),
            fibre: native(&mesh.fibre),
            sheet: native(&mesh.sheet),
            velocities: native(&mesh.velocities),
            tensor: native(&mesh.tensor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_round_each_node_of_two_tetrahedra() {
        let mut mesh = EikonalMesh { corners: 4, elements: vec![0, 1, 2, 3, 4, 2, 1, 3], ..Default::default() };
        mesh.original_node = vec![0; 6];
        mesh.connect(6);
        let view = mesh.view();
        assert_eq!(view.round(0), [0]);
        assert_eq!(view.round(1), [1, 6]);
        assert_eq!(view.round(3), [3, 7]);
        assert_eq!(view.neighbours_of(0), [1, 2, 3]);
        assert_eq!(view.neighbours_of(1), [0, 2, 3, 4]);
        assert!(view.round(5).is_empty() && view.neighbours_of(5).is_empty());
    }
}

//! Nodes, elements, and what lies round each node.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::system::parallel;
use crate::system::parallel::iterate::*;

use crate::block::tables;
use crate::mesh::NamedSet;

/// Nodes whose neighbours a thread finds at a time.
const PART: usize = 1 << 14;

tables! {
    /// A mesh of tetrahedra or triangles in solver order.
    ///
    /// | name | shape | content |
    /// |---|---|---|
    /// | `coordinates` | (n, 3) | unit of length of the job; z = 0 in the plane |
    /// | `elements` | (m, corners) | nodes of each element; tetrahedra have positive volume |
    /// | `incident` | Σ over nodes | 4 × element + corner for the elements round a node, ascending |
    /// | `neighbours` | Σ over nodes | nodes that share an element with a node, ascending, without the node |
    #[derive(Default)]
    pub struct EikonalMesh, EikonalMeshView as mesh {
        /// Corners an element: 3 or 4.
        pub corners: u32,
        /// The input was a mesh in the plane (results have two coordinates).
        pub plane: bool,
        /// Positions, (n, 3).
        pub coordinates: Vec<f64> [entries(3 * mesh.n_nodes()), all_finite()],
        /// Nodes of the elements, (m, corners).
        pub elements: Vec<u32> [entries(mesh.corners * mesh.n_elements()), all_below(mesh.n_nodes())],
        /// First entry of each node in `incident`, (n + 1,).
        pub incident_first: Vec<u32> [offsets(mesh.n_nodes(), mesh.incident.len())],
        /// 4 × element + corner, ascending within a node.
        pub incident: Vec<u32> [entries(mesh.corners * mesh.n_elements())],
        /// First entry of each node in `neighbours`, (n + 1,).
        pub neighbour_first: Vec<u32> [offsets(mesh.n_nodes(), mesh.neighbours.len())],
        /// Nodes that share an element with a node, ascending within it.
        pub neighbours: Vec<u32> [all_below(mesh.n_nodes())],
        /// Index of each node among the nodes of the input, (n,).
        pub original_node: Vec<u32> [all_below(mesh.n_nodes())],
        /// Index of each element among the elements of the input, (m,).
        pub original_element: Vec<u32> [all_below(mesh.n_elements())],
        /// Labels of the nodes in the input, (n,).
        pub node_labels: Vec<u32> [entries(mesh.n_nodes())],
        /// Labels of the elements in the input, (m,).
        pub element_labels: Vec<u32> [entries(mesh.n_elements())],
        /// Instance of each node, (n,), or empty where there are no instances.
        pub node_instance: Vec<u16> [entries_or_none(mesh.n_nodes()), all_below(mesh.instances.len())],
        /// Names of the instances.
        pub instances: Vec<String>,
        /// Node sets; members are solver indices, ascending.
        pub node_sets: Vec<NamedSet>,
        /// Element sets; members are solver indices, ascending.
        pub element_sets: Vec<NamedSet>,
        /// Velocity class of each element, (m,); index into [`EikonalSetup::classes`](super::EikonalSetup).
        pub class: Vec<u16> [entries(mesh.n_elements())],
        /// Fibre direction of each element, (m, 3), of any length but zero where a class needs it, or empty.
        pub fibre: Vec<f32> [entries_or_none(3 * mesh.n_elements())],
        /// Sheet direction of each element, (m, 3), made orthogonal to the fibre when it is used, or empty.
        pub sheet: Vec<f32> [entries_or_none(3 * mesh.n_elements())],
        /// Velocities of each element: (m, 1) isotropic, (m, 3) along fibre, sheet and normal, or empty.
        pub velocities: Vec<f64>,
        /// D of each element, (m, 6): xx, yy, zz, xy, yz, zx, or empty.
        pub tensor: Vec<f64> [entries_or_none(6 * mesh.n_elements())],
    }
}

impl EikonalMesh {
    /// Fills `incident` and `neighbours` (and their firsts) from `elements`, whose nodes are below `n_nodes`.
    ///
    /// The tables have 4-byte indices: at most 2³⁰ elements.
    pub fn connect(&mut self, n_nodes: usize) {
        self.find_incident(n_nodes);
        self.find_neighbours(n_nodes);
    }

    /// Fills `incident` (and its first) alone.
    pub fn find_incident(&mut self, n_nodes: usize) {
        let corners = self.corners as usize;
        let next: Vec<AtomicU32> = (0..n_nodes).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        self.elements.par_iter().for_each(|&node| {
            next[node as usize].fetch_add(1, Relaxed);
        });
        let mut end = 0;
        let mut first = vec![0];
        first.extend(next.iter().map(|count| {
            end += count.swap(end, Relaxed);
            end
        }));
        let incident: Vec<AtomicU32> = self.elements.par_iter().map(|_| AtomicU32::new(0)).collect();
        self.elements.par_iter().enumerate().for_each(|(at, &node)| {
            let place = next[node as usize].fetch_add(1, Relaxed);
            incident[place as usize].store((4 * (at / corners) + at % corners) as u32, Relaxed);
        });
        self.incident = incident.into_par_iter().map(AtomicU32::into_inner).collect();
        self.incident_first = first;
        let incident_first = &self.incident_first;
        let mut rest = self.incident.as_mut_slice();
        let parts: Vec<(usize, &mut [u32])> = (0..n_nodes)
            .step_by(PART)
            .map(|begin| {
                let end = (begin + PART).min(n_nodes);
                let n = (incident_first[end] - incident_first[begin]) as usize;
                (begin, rest.split_off_mut(..n).unwrap_or_default())
            })
            .collect();
        parts.into_par_iter().for_each(|(begin, mut incident)| {
            for node in begin..(begin + PART).min(n_nodes) {
                let n = (incident_first[node + 1] - incident_first[node]) as usize;
                // Threads have filled it in any order.
                incident.split_off_mut(..n).unwrap_or_default().sort_unstable();
            }
        });
    }

    /// Fills `neighbours` (and its first) from `incident`.
    fn find_neighbours(&mut self, n_nodes: usize) {
        let (elements, corners) = (&self.elements, self.corners as usize);
        let of_part = |begin: usize| {
            let (mut neighbours, mut counts, mut round) = (Vec::new(), Vec::new(), Vec::new());
            for node in begin..(begin + PART).min(n_nodes) {
                round.clear();
                let first = self.incident_first[node] as usize;
                for &entry in &self.incident[first..self.incident_first[node + 1] as usize] {
                    let element = entry as usize / 4;
                    let nodes = &elements[corners * element..corners * (element + 1)];
                    round.extend(nodes.iter().filter(|&&other| other as usize != node));
                }
                round.sort_unstable();
                round.dedup();
                neighbours.extend_from_slice(&round);
                counts.push(round.len() as u32);
            }
            (neighbours, counts)
        };
        let parts: Vec<(Vec<u32>, Vec<u32>)> = parallel::map(n_nodes.div_ceil(PART), &|part| of_part(PART * part));
        self.neighbours = parallel::joined(&parts.iter().map(|part| &part.0).collect::<Vec<_>>());
        let mut end = 0_u32;
        self.neighbour_first = vec![0];
        self.neighbour_first.extend(parts.iter().flat_map(|part| &part.1).map(|count| {
            end = end.wrapping_add(*count);
            end
        }));
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

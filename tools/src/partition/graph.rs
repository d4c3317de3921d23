//! Which nodes are linked: those that share an element.

use pogo_formats::block::MeshView;
use rayon::prelude::*;

use super::PartitionError;

/// Nodes that one task gathers neighbours for.
const CHUNK: usize = 16_384;
/// Nodes whose elements are read before any of them is looked at.
const SOME: usize = 64;

/// Compressed rows of elements and of linked nodes.
#[derive(Debug, Clone)]
pub(crate) struct NodeGraph {
    /// (n_nodes + 1,)
    element_first: Vec<u32>,
    /// Elements of each node, ascending.
    elements: Vec<u32>,
    /// (n_nodes + 1,)
    neighbour_first: Vec<u32>,
    /// Linked nodes of each node, in the order in which its elements list them.
    neighbours: Vec<u32>,
}

impl NodeGraph {
    pub(crate) fn new(mesh: &MeshView) -> Result<Self, PartitionError> {
        let n_nodes = mesh.n_nodes();
        let n_entries: usize = mesh.groups.iter().map(|group| group.connectivity.len()).sum();
        if u32::try_from(n_nodes).is_err() {
            return Err(PartitionError::TooLarge(n_nodes, "nodes"));
        }
        if u32::try_from(n_entries).is_err() {
            return Err(PartitionError::TooLarge(n_entries, "connectivity entries"));
        }
        let (element_first, elements) = incidence(mesh, n_nodes)?;
        let group_first = group_offsets(mesh);
        let chunks: Vec<(Vec<u32>, Vec<u32>)> = (0..n_nodes.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let nodes = chunk * CHUNK..((chunk + 1) * CHUNK).min(n_nodes);
                let mut counts = Vec::with_capacity(nodes.len());
                let mut linked = Vec::with_capacity(nodes.len() * 7);
                // All nodes around some first, then each once: the reads, far apart in memory, do not wait for comparisons.
                let mut around: Vec<u32> = Vec::with_capacity(32 * SOME);
                let mut ends = Vec::with_capacity(SOME);
                for some in nodes.clone().step_by(SOME) {
                    let some = some..(some + SOME).min(nodes.end);
                    around.clear();
                    ends.clear();
                    for node in some.clone() {
                        for &element in &elements[element_first[node] as usize..element_first[node + 1] as usize] {
                            append(&mut around, element_nodes(mesh, &group_first, element));
                        }
                        ends.push(around.len());
                    }
                    let mut rest = 0;
                    for (node, &end) in some.zip(&ends) {
                        let start = linked.len();
                        for &other in &around[rest..end] {
                            if other as usize != node && !linked[start..].contains(&other) {
                                linked.push(other);
                            }
                        }
                        counts.push((linked.len() - start) as u32);
                        rest = end;
                    }
                }
                (counts, linked)
            })
            .collect();
        let total: usize = chunks.iter().map(|chunk| chunk.1.len()).sum();
        if u32::try_from(total).is_err() {
            return Err(PartitionError::TooLarge(total, "links between nodes"));
        }
        let mut neighbour_first = Vec::with_capacity(n_nodes + 1);
        let mut neighbours = Vec::with_capacity(total);
        neighbour_first.push(0);
        let mut end = 0;
        for (counts, linked) in chunks {
            for count in counts {
                end += count;
                neighbour_first.push(end);
            }
            neighbours.extend_from_slice(&linked);
        }
        Ok(Self { element_first, elements, neighbour_first, neighbours })
    }

    /// A graph without elements, from directed links in ascending order of their first node.
    pub(crate) fn from_links(n_nodes: usize, links: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut neighbour_first = vec![0; n_nodes + 1];
        let mut neighbours = Vec::new();
        for (from, to) in links {
            neighbour_first[from as usize + 1] += 1;
            neighbours.push(to);
        }
        for node in 0..n_nodes {
            neighbour_first[node + 1] += neighbour_first[node];
        }
        Self { element_first: vec![0; n_nodes + 1], elements: Vec::new(), neighbour_first, neighbours }
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.neighbour_first.len() - 1
    }

    /// First entry of each row, (n_nodes + 1,), and all linked nodes.
    pub(crate) fn rows(&self) -> (&[u32], &[u32]) {
        (&self.neighbour_first, &self.neighbours)
    }

    /// Nodes that share an element with `node`.
    #[inline]
    pub(crate) fn neighbours(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.neighbours[self.neighbour_first[node] as usize..self.neighbour_first[node + 1] as usize]
    }

    /// Elements that have `node`, ascending.
    #[inline]
    pub(crate) fn elements(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.elements[self.element_first[node] as usize..self.element_first[node + 1] as usize]
    }
}

/// First element index of each group.
pub(crate) fn group_offsets(mesh: &MeshView) -> Vec<u32> {
    let mut first = 0;
    mesh.groups
        .iter()
        .map(|group| {
            let this = first;
            first += group.labels.len() as u32;
            this
        })
        .collect()
}

/// Nodes of an element by its index.
#[inline]
pub(crate) fn element_nodes<'a>(mesh: &MeshView<'a>, group_first: &[u32], element: u32) -> &'a [u32] {
    let mut group = group_first.len() - 1;
    while group_first[group] > element {
        group -= 1;
    }
    let row = (element - group_first[group]) as usize;
    let group = &mesh.groups[group];
    let n = group.kind.n_nodes();
    &group.connectivity[row * n..(row + 1) * n]
}

/// Appends the nodes of an element. Of known lengths: a call to copy three numbers takes longer than copying them.
#[inline]
pub(crate) fn append(to: &mut Vec<u32>, nodes: &[u32]) {
    if let &[a, b, c] = nodes {
        to.extend_from_slice(&[a, b, c]);
    } else if let &[a, b, c, d] = nodes {
        to.extend_from_slice(&[a, b, c, d]);
    } else if let Ok(nodes) = <&[u32; 8]>::try_from(nodes) {
        to.extend_from_slice(nodes);
    } else {
        to.extend_from_slice(nodes);
    }
}

/// Elements of each node, as compressed rows. Each thread scans all elements for the nodes of its own range.
fn incidence(mesh: &MeshView, n_nodes: usize) -> Result<(Vec<u32>, Vec<u32>), PartitionError> {
    let mut first_element = 0;
    for group in &mesh.groups {
        if let Some(at) = group.connectivity.par_iter().position_first(|&node| node as usize >= n_nodes) {
            let element = first_element + at / group.kind.n_nodes();
            return Err(PartitionError::NodeOutOfRange { element, node: group.connectivity[at], n_nodes });
        }
        first_element += group.labels.len();
    }
    let n_ranges = rayon::current_num_threads().clamp(1, 8);
    let range = |i: usize| i * n_nodes / n_ranges..(i + 1) * n_nodes / n_ranges;
    let ranges: Vec<(Vec<u32>, Vec<u32>)> =
        (0..n_ranges).into_par_iter().map(|i| incidence_of(mesh, range(i).start as u32, range(i).end as u32)).collect();
    let mut first = Vec::with_capacity(n_nodes + 1);
    let mut elements = Vec::with_capacity(ranges.iter().map(|range| range.1.len()).sum());
    first.push(0);
    for (ends, some) in ranges {
        let before = elements.len() as u32;
        first.extend(ends.into_iter().map(|end| before + end));
        elements.extend_from_slice(&some);
    }
    Ok((first, elements))
}

/// Where the elements of each node of a range end, and those elements.
fn incidence_of(mesh: &MeshView, start: u32, end: u32) -> (Vec<u32>, Vec<u32>) {
    let n = (end - start) as usize;
    let mut ends = vec![0_u32; n + 1];
    // A collapsed element names a node twice, and counts once.
    let each = |visit: &mut dyn FnMut(usize, u32)| {
        let mut element = 0;
        for group in &mesh.groups {
            let n_nodes = group.kind.n_nodes();
            for nodes in group.connectivity.chunks_exact(n_nodes) {
                for (i, &node) in nodes.iter().enumerate() {
                    if (start..end).contains(&node) && !nodes[..i].contains(&node) {
                        visit((node - start) as usize, element);
                    }
                }
                element += 1;
            }
        }
    };
    each(&mut |node, _| ends[node + 1] += 1);
    for node in 0..n {
        ends[node + 1] += ends[node];
    }
    let mut elements = vec![0; ends[n] as usize];
    // Each entry moves from the start of its row to the end.
    each(&mut |node, element| {
        elements[ends[node] as usize] = element;
        ends[node] += 1;
    });
    ends.truncate(n);
    (ends, elements)
}

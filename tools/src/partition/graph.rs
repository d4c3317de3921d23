//! The graph of the nodes: two nodes are linked if they share an element.

use std::ops::Range;

use pogo_formats::mesh::MeshView;
use pogo_formats::system::parallel::iterate::*;

use super::PartitionError;
use super::deal::{Deal, Dealt, RANGE};
use super::greedy::NONE;
use crate::rows::{accumulate, concatenate, cut, offsets};

/// Compressed rows of linked nodes.
#[derive(Debug, Clone)]
pub(crate) struct NodeGraph {
    /// (n_nodes + 1,)
    neighbour_first: Vec<u32>,
    /// Linked nodes of each node, in the order in which its elements list them.
    neighbours: Vec<u32>,
}

impl NodeGraph {
    pub(crate) fn new(mesh: &MeshView) -> Result<Self, PartitionError> {
        let n_nodes = mesh.n_nodes();
        let deal = Deal::to_ranges(mesh)?;
        let parts: Vec<(Vec<u32>, Vec<u32>)> = (0..Deal::n_ranges(n_nodes))
            .into_par_iter()
            .map_init(Links::default, |links, range| links.find(&deal, range, Deal::range(range, n_nodes)))
            .collect();
        drop(deal);
        let total: usize = parts.iter().map(|part| part.1.len()).sum();
        if u32::try_from(total).is_err() {
            return Err(PartitionError::TooLarge(total, "links between nodes"));
        }
        let neighbour_first = offsets(parts.iter().flat_map(|part| part.0.iter().copied()));
        let neighbours = concatenate(parts.iter().map(|part| part.1.as_slice()));
        Ok(Self { neighbour_first, neighbours })
    }

    /// A graph from directed links in ascending order of their first node.
    pub(crate) fn from_links(n_nodes: usize, links: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut neighbour_first = vec![0; n_nodes + 1];
        let mut neighbours = Vec::new();
        for (from, to) in links {
            neighbour_first[from as usize + 1] += 1;
            neighbours.push(to);
        }
        accumulate(&mut neighbour_first);
        Self { neighbour_first, neighbours }
    }

    /// The graph with its nodes in another order: `order` is the old number of each new one. The links of a node keep their order.
    pub(crate) fn in_order(&self, order: &[u32]) -> Self {
        let mut place = vec![0; order.len()];
        (0_u32..).zip(order).for_each(|(new, &old)| place[old as usize] = new);
        let n_neighbours = |&old: &u32| self.neighbours(old).len();
        let neighbour_first = offsets(order.iter().map(|old| n_neighbours(old) as u32));
        let mut neighbours = vec![0; self.neighbours.len()];
        let chunks = order.chunks(RANGE).map(|chunk| chunk.iter().map(n_neighbours).sum());
        cut(&mut neighbours, chunks).into_par_iter().zip(order.par_chunks(RANGE)).for_each(|(links, order)| {
            let old = order.iter().flat_map(|&old| self.neighbours(old));
            links.iter_mut().zip(old).for_each(|(link, &old)| *link = place[old as usize]);
        });
        Self { neighbour_first, neighbours }
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

    /// Adds to `reached`, breadth-first, the nodes that `enters` accepts, which has to refuse those that are there already. It is
    /// called with a node that was reached and a node linked to that one.
    pub(crate) fn spread(&self, mut reached: Vec<u32>, mut enters: impl FnMut(u32, u32) -> bool) -> Vec<u32> {
        let mut done = 0;
        while let Some(&node) = reached.get(done) {
            reached.extend(self.neighbours(node).iter().filter(|&&other| enters(node, other)));
            done += 1;
        }
        reached
    }
}

/// Number of bits of an index into [`Links::seen`].
const SEEN: u32 = 10;

/// Finds the links of one range of nodes after the other.
struct Links {
    /// The nodes of the elements of each node of the range, and where they begin.
    first: Vec<u32>,
    around: Vec<u32>,
    /// Nodes linked to those of the range, with room for more.
    linked: Vec<u32>,
    /// By the hash of a linked node: the node of the range for which it was seen last, and the linked node itself.
    seen: Box<[[u32; 2]]>,
}

impl Default for Links {
    fn default() -> Self {
        let seen = vec![[NONE; 2]; 1 << SEEN].into_boxed_slice();
        Self { first: Vec::new(), around: Vec::new(), linked: Vec::new(), seen }
    }
}

impl Links {
    /// Number of linked nodes of each node, and all linked nodes.
    fn find(&mut self, deal: &Deal, range: usize, nodes: Range<u32>) -> (Vec<u32>, Vec<u32>) {
        self.first.clear();
        self.first.resize(nodes.len() + 1, 0);
        for dealt in deal.bucket(range) {
            for record in dealt.records() {
                for node in &record[1..] {
                    if nodes.contains(node) {
                        self.first[(node - nodes.start) as usize] += dealt.width() as u32;
                    }
                }
            }
        }
        let n_around = accumulate(&mut self.first) as usize;
        self.around.resize(n_around, 0);
        // Filled from the end: `first` then is the first entry of each node again.
        for dealt in deal.bucket(range).rev() {
            match dealt.width() {
                3 => self.fill::<3, 4>(&dealt, &nodes),
                4 => self.fill::<4, 5>(&dealt, &nodes),
                6 => self.fill::<6, 7>(&dealt, &nodes),
                _ => self.fill::<8, 9>(&dealt, &nodes),
            }
        }
        let mut counts = Vec::with_capacity(nodes.len());
        self.linked.resize(self.linked.len().max(n_around), 0);
        let place = |node: u32| (node.wrapping_mul(0x9e37_79b9) >> (32 - SEEN)) as usize;
        let mut n = 0;
        for (node, bounds) in nodes.zip(self.first.windows(2)) {
            let start = n;
            self.seen[place(node)] = [node, node];
            for &other in &self.around[bounds[0] as usize..bounds[1] as usize] {
                // Without a branch, which no processor could predict: an entry that is there already is overwritten by the next.
                let seen = &mut self.seen[place(other)];
                let mut is_new = *seen != [node, other];
                if is_new & (seen[0] == node) {
                    // Another node has the same hash.
                    is_new = other != node && !self.linked[start..n].contains(&other);
                } else {
                    *seen = [node, other];
                }
                self.linked[n] = other;
                n += usize::from(is_new);
            }
            counts.push((n - start) as u32);
        }
        (counts, self.linked[..n].to_vec())
    }

    fn fill<const WIDTH: usize, const RECORD: usize>(&mut self, dealt: &Dealt, range: &Range<u32>) {
        for record in dealt.records_of::<RECORD>().iter().rev() {
            let nodes = &record[1..];
            for node in nodes.iter().filter(|node| range.contains(node)) {
                let first = &mut self.first[(node - range.start) as usize];
                *first -= WIDTH as u32;
                self.around[*first as usize..][..WIDTH].copy_from_slice(nodes);
            }
        }
    }
}

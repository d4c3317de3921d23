//! Elements on joins, in space: the first block that they touch computes them and passes their forces on.

use pogo_formats::explicit::block::{BlocksView, DeviceTables};

use super::items::Items;
use crate::rows::{by_row, offsets, rows_of};

const UNUSED: u16 = u16::MAX;

/// The elements that one block keeps, and the nodes of later blocks that they touch.
#[derive(Default)]
pub(super) struct Kept {
    n_own: usize,
    /// Halo nodes before this one belong to earlier blocks.
    first_later: usize,
    /// New local index of each halo node, or `UNUSED`.
    place: Vec<u16>,
    later: Vec<u32>,
}

impl Kept {
    /// Finds the nodes of later blocks that the elements of a block touch, ascending.
    pub(super) fn find(&mut self, blocks: &BlocksView, block: usize) -> &[u32] {
        let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
        self.n_own = own.len();
        self.first_later = own.len() + halo.partition_point(|&node| (node as usize) < own.start);
        self.place.clear();
        self.place.resize(halo.len(), UNUSED);
        for run in blocks.runs(block) {
            for nodes in run.connectivity.chunks_exact(run.kind.n_nodes()) {
                if self.keeps(nodes) {
                    for &node in nodes.iter().filter(|&&node| usize::from(node) >= self.n_own) {
                        self.place[usize::from(node) - self.n_own] = 0;
                    }
                }
            }
        }
        self.later.clear();
        for (place, &node) in self.place.iter_mut().zip(halo) {
            if *place != UNUSED {
                *place = (self.n_own + self.later.len()) as u16;
                self.later.push(node);
            }
        }
        &self.later
    }

    /// Whether no node belongs to an earlier block. The halo is sorted.
    fn keeps(&self, nodes: &[u16]) -> bool {
        nodes.iter().all(|&node| usize::from(node) < self.n_own || usize::from(node) >= self.first_later)
    }

    /// Reduces a run to the elements that the block keeps, with the new local indices.
    pub(super) fn keep(&self, items: &mut Items) {
        let width = items.width;
        let mut n = 0;
        for i in 0..items.elements.len() {
            if self.keeps(&items.nodes[i * width..(i + 1) * width]) {
                items.elements[n] = items.elements[i];
                for k in 0..width {
                    let node = items.nodes[i * width + k];
                    let halo = usize::from(node).checked_sub(self.n_own);
                    items.nodes[n * width + k] = halo.map_or(node, |halo| self.place[halo]);
                }
                n += 1;
            }
        }
        items.elements.truncate(n);
        items.nodes.truncate(n * width);
    }
}

/// Fills the tables of the rows for forces that blocks pass on.
pub(super) fn passed(blocks: &BlocksView, device: &mut DeviceTables) {
    let n_blocks = blocks.n_blocks();
    let boundary_first: Vec<u32> = offsets(blocks.n_boundary.iter().copied());
    // Boundary node of each entry. Entries of a block are sorted.
    let mut place_of = Vec::with_capacity(device.later_nodes.len());
    for block in 0..n_blocks {
        let later = &device.later_nodes[device.later_first[block] as usize..device.later_first[block + 1] as usize];
        let owners = rows_of(blocks.node_first, later);
        place_of.extend(later.iter().zip(owners).map(|(node, b)| boundary_first[b] + node - blocks.node_first[b]));
    }
    let (first, entries) = by_row(boundary_first[n_blocks] as usize, place_of.iter().copied());
    device.passed_row = vec![0; entries.len()];
    (0..).zip(entries).for_each(|(row, entry)| device.passed_row[entry as usize] = row);
    device.passed_first = first;
}

//! Merges blocks that fit together.

use super::{NodeGraph, block_sizes};

/// Merges blocks with room left: first into the linked block that shares the longest join, then, for parts of the mesh
/// that are whole blocks by themselves, with other such parts. Renumbers the blocks without gaps, keeping their order,
/// and returns how many remain.
pub(crate) fn pack(graph: &NodeGraph, block_of: &mut [u32], capacity: usize) -> u32 {
    let n_blocks = block_of.iter().max().map_or(0, |&block| block as usize + 1);
    let sizes = block_sizes(block_of, n_blocks);
    // Only small blocks can be merged away, so that joins are needed for those alone.
    let small: Vec<bool> = sizes.iter().map(|&size| size as usize * 2 <= capacity).collect();
    let joins = joins(graph, block_of, &small);
    let mut merger = Merger { capacity: capacity as u32, sizes, merged_into: (0..n_blocks as u32).collect() };
    let mut ordered: Vec<u32> = (0..n_blocks as u32).filter(|&block| small[block as usize]).collect();
    ordered.sort_by_key(|&block| merger.sizes[block as usize]);
    // The last part of the mesh with room. Sizes ascend: once one part is too large for it, all further ones are.
    let mut part_with_room = None;
    for block in ordered {
        if merger.merged_into[block as usize] != block || merger.sizes[block as usize] == 0 {
            continue;
        }
        let own = joins.partition_point(|join| join.0 < block)..joins.partition_point(|join| join.0 <= block);
        let host = if own.is_empty() { part_with_room } else { merger.longest_join(block, &joins[own.clone()]) };
        match host {
            Some(host) if merger.fits(block, host) => merger.merge(block, host),
            _ if own.is_empty() => part_with_room = Some(block),
            _ => {}
        }
    }
    let (numbers, n_remaining) = merger.numbers();
    for block in block_of {
        *block = numbers[*block as usize];
    }
    n_remaining
}

/// A small block and a block that a link of its nodes leads to, for each such link; ascending.
fn joins(graph: &NodeGraph, block_of: &[u32], small: &[bool]) -> Vec<(u32, u32)> {
    let mut joins = Vec::new();
    for (node, &block) in (0_u32..).zip(block_of) {
        if small[block as usize] {
            let others = graph.neighbours(node).iter().map(|&other| block_of[other as usize]);
            joins.extend(others.filter(|&other| other != block).map(|other| (block, other)));
        }
    }
    joins.sort_unstable();
    joins
}

struct Merger {
    capacity: u32,
    sizes: Vec<u32>,
    /// The block itself, or the one that it was merged into.
    merged_into: Vec<u32>,
}

impl Merger {
    fn root(&self, mut block: u32) -> u32 {
        while self.merged_into[block as usize] != block {
            block = self.merged_into[block as usize];
        }
        block
    }

    fn fits(&self, block: u32, host: u32) -> bool {
        self.sizes[host as usize] + self.sizes[block as usize] <= self.capacity
    }

    fn merge(&mut self, block: u32, host: u32) {
        self.sizes[host as usize] += self.sizes[block as usize];
        self.merged_into[block as usize] = host;
    }

    /// Of the blocks that a block fits into, the one with the longest join; `joins` are those of the block.
    fn longest_join(&self, block: u32, joins: &[(u32, u32)]) -> Option<u32> {
        let mut best: Option<(usize, u32)> = None;
        for same in joins.chunk_by(|a, b| a.1 == b.1) {
            let host = self.root(same[0].1);
            if host != block && self.fits(block, host) && best.is_none_or(|(longest, _)| same.len() > longest) {
                best = Some((same.len(), host));
            }
        }
        best.map(|(_, host)| host)
    }

    /// New number of each block, and how many there are.
    fn numbers(&self) -> (Vec<u32>, u32) {
        let mut numbers = vec![0; self.sizes.len()];
        let mut n = 0;
        for (block, number) in numbers.iter_mut().enumerate() {
            if self.merged_into[block] as usize == block && self.sizes[block] > 0 {
                *number = n;
                n += 1;
            }
        }
        for block in 0..numbers.len() {
            if self.merged_into[block] as usize != block {
                numbers[block] = numbers[self.root(block as u32) as usize];
            }
        }
        (numbers, n)
    }
}

//! Loads of linked data (Section 2.3, Fig. 3d, and Section 3.2, Fig. 5): a block fetches its halo in stretches of 32, 16
//! or 8 nodes, each from the first nodes of another block.

use std::ops::Range;

use pogo_formats::explicit::block::Blocks;
use rayon::prelude::*;

/// Nodes of the smallest load, and its alignment inside a block.
const SECTION: u32 = 8;
/// Nodes of a row of memory.
const ROW: u32 = 32;
/// Loads of 32, 16 and 8 nodes that a block has in the paper.
pub(super) const PAPER_LOADS: [usize; 3] = [2, 10, 8];
/// Boundary nodes that a block has in the paper: four rows.
pub(super) const PAPER_BOUNDARY: u32 = 128;

/// The loads of all blocks.
pub(super) struct Loads {
    /// First load of each block, (n_blocks + 1,).
    pub first: Vec<u32>,
    /// Nodes that each load fetches: 32, 16 or 8.
    pub size: Vec<u8>,
    /// Solver index of the first node that each load fetches.
    pub start: Vec<u32>,
}

/// Allocates the loads of all blocks.
pub(super) fn plan(blocks: &Blocks) -> Loads {
    let n_blocks = blocks.n_boundary.len();
    let loads: Vec<Vec<(u8, u32)>> =
        (0..n_blocks).into_par_iter().with_min_len(16).map(|block| block_loads(blocks, block)).collect();
    let mut all = Loads { first: Vec::with_capacity(n_blocks + 1), size: Vec::new(), start: Vec::new() };
    all.first.push(0);
    for block in loads {
        for (size, start) in block {
            all.size.push(size);
            all.start.push(start);
        }
        all.first.push(all.start.len() as u32);
    }
    all
}

impl Loads {
    /// Sizes of the loads of a block.
    pub fn sizes(&self, block: usize) -> &[u8] {
        &self.size[self.first[block] as usize..self.first[block + 1] as usize]
    }
}

/// The loads of one block: how many nodes, and the solver index of the first.
pub(super) fn block_loads(blocks: &Blocks, block: usize) -> Vec<(u8, u32)> {
    let halo: Range<usize> = blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize;
    allocate(&blocks.halo_nodes[halo], &blocks.node_first)
}

/// A row of memory of a linked block: which of its four sections are wanted.
struct Row {
    /// Solver index of its first node.
    start: u32,
    wanted: u8,
}

/// Wanted patterns of a row (bit s for section s) in the order in which they get a load of 32 (Fig. 5d): the fuller the
/// row the better, and at the same count those that smaller loads would serve worst.
const PRIORITY: [&[u8]; 6] = [
    &[0b1111],
    &[0b1011, 0b1101],
    &[0b0111, 0b1110],
    &[0b1001, 0b0101, 0b1010],
    &[0b0110, 0b0011, 0b1100],
    &[1, 2, 4, 8],
];

/// Allocates loads to the halo of a block, sorted by solver index. Past the paper's numbers it goes on with as many
/// loads of 8 as are needed. A load may run past the last node of its block, as the paper's blocks are padded: a reader
/// stops at the last node there is.
fn allocate(halo: &[u32], node_first: &[u32]) -> Vec<(u8, u32)> {
    let mut rows: Vec<Row> = Vec::with_capacity(16);
    let mut owner = 0..0;
    for &node in halo {
        if !owner.contains(&node) {
            let block = node_first.partition_point(|&first| first <= node);
            owner = node_first[block - 1]..node_first[block];
        }
        let place = node - owner.start;
        let start = owner.start + place / ROW * ROW;
        if rows.last().is_none_or(|row| row.start != start) {
            rows.push(Row { start, wanted: 0 });
        }
        if let Some(row) = rows.last_mut() {
            row.wanted |= 1 << (place % ROW / SECTION);
        }
    }
    let mut loads = Vec::with_capacity(20);
    for patterns in PRIORITY {
        for row in &mut rows {
            if loads.len() < PAPER_LOADS[0] && patterns.contains(&row.wanted) {
                loads.push((32, row.start));
                row.wanted = 0;
            }
        }
    }
    let mut n_pairs = 0;
    for row in &mut rows {
        for section in 0..3 {
            if n_pairs < PAPER_LOADS[1] && row.wanted >> section & 3 == 3 {
                loads.push((16, row.start + section * SECTION));
                row.wanted &= !(3 << section);
                n_pairs += 1;
            }
        }
    }
    let mut n_single = 0;
    for row in &mut rows {
        for section in 0..4 {
            if row.wanted >> section & 1 == 1 {
                if n_pairs < PAPER_LOADS[1] && n_single >= PAPER_LOADS[2] {
                    // A pair's load, half of it wasted.
                    loads.push((16, row.start + section.min(2) * SECTION));
                    n_pairs += 1;
                } else {
                    loads.push((8, row.start + section * SECTION));
                    n_single += 1;
                }
            }
        }
    }
    loads
}

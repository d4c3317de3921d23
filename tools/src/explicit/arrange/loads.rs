//! Loads of linked data (Huthwaite 2014, Section 2.3, Fig. 3d, and Section 3.2, Fig. 5). In the paper a block fetches its
//! halo in loads of 32, 16 or 8 nodes, each from the first nodes of another block. The solver here reads the halo by a list;
//! the loads are counted to report a partition in the paper's figures, and to keep its limits where they are asked for.

use std::ops::Range;

use pogo_formats::explicit::block::Blocks;
use pogo_formats::system::parallel::iterate::*;

use crate::rows::rows_of;

/// Nodes of the smallest load, and its alignment inside a block.
const SECTION: u32 = 8;
/// Nodes of a row of memory.
const ROW: u32 = 32;
/// Most loads of 32, 16 and 8 nodes of a block of the paper.
const PAPER_LOADS: [usize; 3] = [2, 10, 8];
/// Most boundary nodes of a block of the paper: four rows.
const PAPER_BOUNDARY: u32 = 128;

/// Loads of one block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoadCount {
    /// Number of all loads.
    pub n: u32,
    /// The loads or the boundary nodes are more than the paper's.
    pub is_beyond: bool,
}

/// Counts the loads of each block.
pub(super) fn count(blocks: &Blocks) -> Vec<LoadCount> {
    let count = |block: usize| {
        let loads = block_loads(blocks, block);
        let of_size = |size| loads.iter().filter(|load| load.0 == size).count();
        let found = [32, 16, 8].map(of_size);
        let is_beyond =
            blocks.n_boundary[block] > PAPER_BOUNDARY || found.iter().zip(PAPER_LOADS).any(|(&n, most)| n > most);
        LoadCount { n: loads.len() as u32, is_beyond }
    };
    (0..blocks.n_boundary.len()).into_par_iter().with_min_len(16).map(count).collect()
}

/// The loads of one block: number of nodes, and solver index of the first.
pub(super) fn block_loads(blocks: &Blocks, block: usize) -> Vec<(u8, u32)> {
    let halo: Range<usize> = blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize;
    allocate(rows(&blocks.halo_nodes[halo], &blocks.node_first))
}

/// A row of memory of a linked block.
struct Row {
    /// Solver index of its first node.
    start: u32,
    /// Bit s is set if the halo has a node in section s.
    wanted: u8,
}

/// Patterns of [`Row::wanted`] in the order in which they get a load of 32 (Fig. 5d). Fuller rows come first; of equally full
/// ones, those that smaller loads would serve worst.
const PRIORITY: [&[u8]; 6] = [
    &[0b1111],
    &[0b1011, 0b1101],
    &[0b0111, 0b1110],
    &[0b1001, 0b0101, 0b1010],
    &[0b0110, 0b0011, 0b1100],
    &[1, 2, 4, 8],
];

/// The rows of memory in which the nodes of a halo lie; the halo ascends.
fn rows(halo: &[u32], node_first: &[u32]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(16);
    for (&node, owner) in halo.iter().zip(rows_of(node_first, halo)) {
        let place = node - node_first[owner];
        let start = node_first[owner] + place / ROW * ROW;
        if rows.last().is_none_or(|row| row.start != start) {
            rows.push(Row { start, wanted: 0 });
        }
        if let Some(row) = rows.last_mut() {
            row.wanted |= 1 << (place % ROW / SECTION);
        }
    }
    rows
}

/// Allocates loads to the rows of a halo. Beyond the paper's numbers it goes on with as many loads of 8 as are needed. A load
/// may extend past the last node of its block, because the paper's blocks are padded.
fn allocate(mut rows: Vec<Row>) -> Vec<(u8, u32)> {
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
                    // A load of 16, half of it unused.
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

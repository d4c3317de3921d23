//! The paper's limits (Section 3.2): a block that needs more than its 20 loads, or has more than 128 boundary nodes, is
//! split in two.

use super::Order;
use super::loads::LoadCount;
use crate::partition::{NodeGraph, halve, work_space};

/// Splits each block that breaks a limit and can be split, and renumbers the blocks. Returns how many were split.
pub(super) fn split(
    graph: &NodeGraph,
    order: &Order,
    loads: &[LoadCount],
    block_of: &mut [u32],
    n_blocks: &mut u32,
) -> u64 {
    let mut steps = Vec::new();
    let mut shift = 0;
    for block in 0..*n_blocks {
        let own = order.node_first[block as usize] as usize..order.node_first[block as usize + 1] as usize;
        let nodes = &order.model_from_solver[own];
        let beyond = nodes.len() > 1 && loads[block as usize].is_beyond;
        let mut second = Vec::new();
        if beyond {
            if steps.is_empty() {
                steps = work_space(block_of.len());
            }
            // Blocks after this one still have their old numbers.
            let [first, other] = halve(graph, nodes, nodes, |node| block_of[node as usize] == block, &steps);
            second = other;
            if second.is_empty() {
                // Two nodes of the block are nowhere linked: any halves will do.
                second = first[first.len() / 2..].to_vec();
            }
        }
        // New numbers are marked until the end, because they collide with old ones.
        for &node in nodes {
            block_of[node as usize] = (block + shift) | MARK;
        }
        if beyond {
            shift += 1;
            for &node in &second {
                block_of[node as usize] = (block + shift) | MARK;
            }
        }
    }
    for block in block_of {
        *block &= !MARK;
    }
    *n_blocks += shift;
    u64::from(shift)
}

/// Marks a new number; there are fewer than 2³¹ blocks of two nodes or more.
const MARK: u32 = 1 << 31;

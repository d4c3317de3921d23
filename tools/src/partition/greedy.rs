//! Breadth-first growth (Klöckner et al. 2009, as in Huthwaite 2014, Section 3.1).

use std::collections::VecDeque;

use super::NodeGraph;

/// No block yet.
pub(crate) const NONE: u32 = u32::MAX;

/// Grows one block after the other, each breadth-first to capacity from a seed next to the block before.
pub(crate) fn greedy(graph: &NodeGraph, capacity: usize) -> Vec<u32> {
    let n_nodes = graph.n_nodes();
    let mut block_of = vec![NONE; n_nodes];
    // Unassigned nodes seen beside a block, oldest first: the next block starts at the oldest, so that the blocks
    // close in on what is already taken instead of leaving pockets.
    let mut waiting: VecDeque<u32> = VecDeque::new();
    let mut queue = Vec::with_capacity(2 * capacity);
    // `seen[v] == block`: v is in this block's queue.
    let mut seen = vec![NONE; n_nodes];
    let mut next_node = 0;
    let mut block = 0;
    loop {
        let seed = loop {
            match waiting.pop_front() {
                Some(node) if block_of[node as usize] == NONE => break Some(node),
                Some(_) => {}
                None => {
                    while next_node < n_nodes && block_of[next_node] != NONE {
                        next_node += 1;
                    }
                    break (next_node < n_nodes).then_some(next_node as u32);
                }
            }
        };
        let Some(seed) = seed else { break };
        queue.clear();
        queue.push(seed);
        seen[seed as usize] = block;
        let mut size = 0;
        while size < queue.len() && size < capacity {
            let node = queue[size];
            block_of[node as usize] = block;
            size += 1;
            for &other in graph.neighbours(node) {
                if seen[other as usize] != block && block_of[other as usize] == NONE {
                    seen[other as usize] = block;
                    queue.push(other);
                }
            }
        }
        waiting.extend(&queue[size..]);
        block += 1;
    }
    block_of
}

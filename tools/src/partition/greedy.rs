//! Breadth-first growth (Klöckner et al. 2009, as in Huthwaite 2014, Section 3.1).

use std::collections::VecDeque;

use super::NodeGraph;

/// No block yet.
pub(crate) const NONE: u32 = u32::MAX;

/// Marks a free node, in addition to the block in whose queue it was last. There are fewer blocks than this.
const FREE: u32 = 1 << 31;

/// Grows one block after the other, breadth-first to capacity, from a seed next to the block before.
pub(crate) fn greedy(graph: &NodeGraph, capacity: usize) -> Vec<u32> {
    let n_nodes = graph.n_nodes();
    // Block of each node; `FREE | block` or `NONE` for a free node.
    let mut block_of = vec![NONE; n_nodes];
    // Free nodes seen beside a block, oldest first. The next block starts at the oldest one, so that no pockets are left
    // between blocks.
    let mut waiting: VecDeque<u32> = VecDeque::new();
    let mut queue = vec![0; 2 * capacity];
    let mut next_node = 0;
    let mut block = 0;
    loop {
        let seed = loop {
            match waiting.pop_front() {
                Some(node) if block_of[node as usize] >= FREE => break Some(node),
                Some(_) => {}
                None => {
                    while next_node < n_nodes && block_of[next_node] < FREE {
                        next_node += 1;
                    }
                    break (next_node < n_nodes).then_some(next_node as u32);
                }
            }
        };
        let Some(seed) = seed else { break };
        let mark = FREE | block;
        queue[0] = seed;
        block_of[seed as usize] = mark;
        let (mut size, mut n_queued) = (0, 1);
        while size < n_queued && size < capacity {
            let node = queue[size];
            block_of[node as usize] = block;
            size += 1;
            let neighbours = graph.neighbours(node);
            if n_queued + neighbours.len() > queue.len() {
                queue.resize(2 * (n_queued + neighbours.len()), 0);
            }
            for &other in neighbours {
                // Without a branch, which no processor could predict.
                let state = &mut block_of[other as usize];
                let is_new = (*state >= FREE) & (*state != mark);
                queue[n_queued] = other;
                n_queued += usize::from(is_new);
                *state = if is_new { mark } else { *state };
            }
        }
        waiting.extend(&queue[size..n_queued]);
        block += 1;
    }
    block_of
}

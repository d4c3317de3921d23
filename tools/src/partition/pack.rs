//! Blocks that fit together become one.

use super::{NodeGraph, block_sizes};

/// Merges blocks with room left: first into the linked block that shares the longest join, then, for parts of the mesh
/// that are whole blocks by themselves, with other such parts. Renumbers the blocks without gaps, keeping their order,
/// and returns how many are left.
pub(crate) fn pack(graph: &NodeGraph, block_of: &mut [u32], capacity: usize) -> u32 {
    let n_blocks = block_of.iter().max().map_or(0, |&block| block as usize + 1);
    let mut sizes = block_sizes(block_of, n_blocks);
    let mut merged_into: Vec<u32> = (0..n_blocks as u32).collect();
    let root = |merged_into: &[u32], mut block: u32| {
        while merged_into[block as usize] != block {
            block = merged_into[block as usize];
        }
        block
    };
    // Only small blocks can be merged away, so joins are needed for those alone.
    let small: Vec<bool> = sizes.iter().map(|&size| size as usize * 2 <= capacity).collect();
    let mut joins: Vec<(u32, u32)> = Vec::new();
    let mut linked = vec![false; n_blocks];
    for node in 0..block_of.len() {
        let block = block_of[node];
        if small[block as usize] {
            for &other in graph.neighbours(node as u32) {
                if block_of[other as usize] != block {
                    joins.push((block, block_of[other as usize]));
                    linked[block as usize] = true;
                }
            }
        }
    }
    joins.sort_unstable();
    let mut ordered: Vec<u32> = (0..n_blocks as u32).filter(|&block| small[block as usize]).collect();
    ordered.sort_by_key(|&block| sizes[block as usize]);
    let mut alone = None;
    for block in ordered {
        if merged_into[block as usize] != block || sizes[block as usize] == 0 {
            continue;
        }
        if !linked[block as usize] {
            // First fit into the last part that had room: sizes ascend, so once one is too large all are.
            match alone {
                Some(host) if sizes[host as usize] + sizes[block as usize] <= capacity as u32 => {
                    sizes[host as usize] += sizes[block as usize];
                    merged_into[block as usize] = host;
                }
                _ => alone = Some(block),
            }
            continue;
        }
        let start = joins.partition_point(|join| join.0 < block);
        let end = joins.partition_point(|join| join.0 <= block);
        let mut best: Option<(usize, u32)> = None;
        let mut i = start;
        while i < end {
            let neighbour = joins[i].1;
            let mut length = 0;
            while i < end && joins[i].1 == neighbour {
                length += 1;
                i += 1;
            }
            let host = root(&merged_into, neighbour);
            if host != block
                && sizes[host as usize] + sizes[block as usize] <= capacity as u32
                && best.is_none_or(|(longest, _)| length > longest)
            {
                best = Some((length, host));
            }
        }
        if let Some((_, host)) = best {
            sizes[host as usize] += sizes[block as usize];
            merged_into[block as usize] = host;
        }
    }
    let mut n_left = 0;
    let mut number = vec![0; n_blocks];
    for block in 0..n_blocks {
        if merged_into[block] as usize == block && sizes[block] > 0 {
            number[block] = n_left;
            n_left += 1;
        }
    }
    for block in 0..n_blocks {
        if merged_into[block] as usize != block {
            number[block] = number[root(&merged_into, block as u32) as usize];
        }
    }
    for block in block_of {
        *block = number[*block as usize];
    }
    n_left
}

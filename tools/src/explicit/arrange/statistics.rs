//! Figures of a partition, as Tables 2 and 4 of the paper report them.

use pogo_formats::explicit::block::{Blocks, PartitionStatistics};

use super::loads::LoadCount;
use crate::cli::word;
use crate::partition::Partitioner;
use crate::rows::rows_of;

/// Figures of arranged blocks; the caller adds the number of blocks that were split.
pub(super) fn statistics(blocks: &Blocks, loads: &[LoadCount], partitioner: Partitioner) -> PartitionStatistics {
    let n_blocks = blocks.n_boundary.len();
    let n_nodes = blocks.node_first[n_blocks];
    let linked: Vec<u32> = (0..n_blocks).map(|block| n_linked(blocks, block)).collect();
    let mean = |total: u64| total as f64 / n_blocks as f64;
    PartitionStatistics {
        partitioner: word(&partitioner),
        paper_limits: false,
        n_blocks: n_blocks as u64,
        efficiency: f64::from(n_nodes) / (n_blocks as f64 * f64::from(blocks.capacity)),
        mean_loads: mean(loads.iter().map(|loads| u64::from(loads.n)).sum()),
        max_loads: loads.iter().map(|loads| loads.n).max().unwrap_or(0),
        mean_linked_blocks: mean(linked.iter().map(|&n| u64::from(n)).sum()),
        max_linked_blocks: linked.iter().copied().max().unwrap_or(0),
        halo_fraction: blocks.halo_nodes.len() as f64 / f64::from(n_nodes),
        n_beyond_paper_limits: loads.iter().filter(|loads| loads.is_beyond).count() as u64,
        n_split: 0,
    }
}

/// Number of blocks whose nodes a block reads.
fn n_linked(blocks: &Blocks, block: usize) -> u32 {
    let halo = &blocks.halo_nodes[blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize];
    let mut owners: Vec<usize> = rows_of(&blocks.node_first, halo).collect();
    owners.dedup();
    owners.len() as u32
}

//! Figures of a partition, as Tables 2 and 4 of the paper report them.

use pogo_formats::explicit::block::{Blocks, PartitionStatistics};

use super::loads::{Loads, PAPER_BOUNDARY, PAPER_LOADS};
use crate::partition::Partitioner;

/// Figures of arranged blocks.
pub(super) fn statistics(blocks: &Blocks, loads: &Loads, partitioner: Partitioner) -> PartitionStatistics {
    let n_blocks = blocks.n_boundary.len();
    let n_nodes = blocks.node_first[n_blocks];
    let mut n_linked_total = 0_u64;
    let mut max_linked = 0;
    let mut n_beyond = 0;
    let mut max_loads = 0;
    for block in 0..n_blocks {
        let mut n_linked = 0;
        let mut end = 0;
        for &node in &blocks.halo_nodes[blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize] {
            if node >= end {
                n_linked += 1;
                end = blocks.node_first[blocks.node_first.partition_point(|&first| first <= node)];
            }
        }
        n_linked_total += u64::from(n_linked);
        max_linked = max_linked.max(n_linked);
        let sizes = loads.sizes(block);
        max_loads = max_loads.max(sizes.len() as u32);
        n_beyond += u64::from(is_beyond(sizes, blocks.n_boundary[block]));
    }
    PartitionStatistics {
        partitioner: partitioner.name().into(),
        paper_limits: false,
        n_blocks: n_blocks as u64,
        efficiency: f64::from(n_nodes) / (n_blocks as f64 * f64::from(blocks.capacity)),
        mean_loads: loads.start.len() as f64 / n_blocks as f64,
        max_loads,
        mean_linked_blocks: n_linked_total as f64 / n_blocks as f64,
        max_linked_blocks: max_linked,
        halo_fraction: blocks.halo_nodes.len() as f64 / f64::from(n_nodes),
        n_beyond_paper_limits: n_beyond,
        n_split: 0,
    }
}

/// Whether a block breaks one of the paper's limits.
pub(super) fn is_beyond(load_sizes: &[u8], n_boundary: u32) -> bool {
    let count = |size| load_sizes.iter().filter(|&&s| s == size).count();
    n_boundary > PAPER_BOUNDARY || count(32) > PAPER_LOADS[0] || count(16) > PAPER_LOADS[1] || count(8) > PAPER_LOADS[2]
}

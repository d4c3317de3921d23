//! Tables that the solver reads, in the order in which it reads them.

use rkyv::{Archive, Deserialize, Serialize};

/// The partition of a mesh into blocks, with everything a block needs to step on its own.
///
/// Node indices are *solver* indices: nodes are numbered block by block, the nodes that other blocks read first.
/// Inside block b with n own nodes, a 16-bit local index l means own node `node_first[b] + l` when l < n, else halo
/// node `halo_nodes[halo_first[b] + l − n]`.
///
/// A block's elements are all those with at least one own node; an element on a join is in every block it touches, and
/// each block keeps only the forces on its own nodes. They stand in runs of one kind and one section.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct Blocks {
    /// Nominal capacity of a block, nodes (512 in the paper).
    pub capacity: u32,
    /// First own node of each block, (n_blocks + 1,).
    pub node_first: Vec<u32>,
    /// Own nodes that other blocks read: the first so many of each block, (n_blocks,).
    pub n_boundary: Vec<u32>,
    /// First halo entry of each block, (n_blocks + 1,).
    pub halo_first: Vec<u64>,
    /// Solver index of each halo node, sorted by owner block, then by index.
    pub halo_nodes: Vec<u32>,
    /// First run of each block, (n_blocks + 1,).
    pub run_first: Vec<u32>,
    /// [`ElementKind`](crate::model::ElementKind) of each run, (n_runs,).
    pub run_kind: Vec<u8>,
    /// Section of each run, (n_runs,).
    pub run_section: Vec<u32>,
    /// First entry of each run in `elements`, (n_runs + 1,).
    pub run_element_first: Vec<u64>,
    /// First entry of each run in `connectivity`, (n_runs + 1,).
    pub run_connectivity_first: Vec<u64>,
    /// Element index (mesh order) of each entry.
    pub elements: Vec<u32>,
    /// Local node indices of each entry, row-major.
    pub connectivity: Vec<u16>,
    /// First linked-data load of each block, (n_blocks + 1,) (Section 2.3, Fig. 3d).
    pub load_first: Vec<u32>,
    /// Nodes that the load fetches: 32, 16 or 8.
    pub load_size: Vec<u8>,
    /// Solver index of the first node that the load fetches.
    pub load_start: Vec<u32>,
    /// Figures for reports.
    pub statistics: PartitionStatistics,
}

/// Quality of a partition, as Tables 2 and 4 of the paper report it.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct PartitionStatistics {
    /// `aligned`, `greedy` or `metis`.
    pub partitioner: String,
    /// The paper's limits were enforced by splitting.
    pub paper_limits: bool,
    /// Number of blocks.
    pub n_blocks: u64,
    /// η = n_nodes / (n_blocks × capacity).
    pub efficiency: f64,
    /// Mean linked-data loads a block.
    pub mean_loads: f64,
    /// Largest number of loads of a block.
    pub max_loads: u32,
    /// Mean linked blocks a block.
    pub mean_linked_blocks: f64,
    /// Largest number of linked blocks.
    pub max_linked_blocks: u32,
    /// Halo nodes over own nodes.
    pub halo_fraction: f64,
    /// Blocks that break one of the paper's limits: 20 loads (2 × 32, 10 × 16, 8 × 8), 128 boundary nodes.
    pub n_beyond_paper_limits: u64,
    /// Blocks split to keep the paper's limits.
    pub n_split: u64,
    /// Partitioning and arranging, s. Not stored: the same input gives the same file.
    #[rkyv(with = rkyv::with::Skip)]
    pub seconds: f64,
}

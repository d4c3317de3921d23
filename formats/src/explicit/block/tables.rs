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
    /// [`ElementKind`](crate::mesh::ElementKind) of each run, (n_runs,).
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

/// Tables for devices that step one block with many threads at once: which elements may add their forces at the same
/// time, and which triangles surround a node.
///
/// *Colours*, in the plane: the elements of each run of a block, put into batches in which no two elements share a node of
/// the block's own. Nodes of the halo may be shared: they get no forces. A block with fans may have no colours: they are
/// only for elements whose stiffness is scaled one by one.
///
/// In space half of the elements touch more than one block. The first block that an element touches has it, and passes the
/// forces on nodes of *later* blocks on to those. Here a colour is a whole run, and local index l ≥ n_own means
/// `later_nodes[later_first[b] + l − n_own]`. Tetrahedra stand in [rings](super::ring) of eight nodes and six elements.
/// Elements, turned as needed, and rings stand in batches, with [corners](super::corner) for nodes. A block with more local
/// nodes than corners can name has none. A force that is passed on has a row of its own; the rows of one node follow each other.
///
/// *Grids* hold hexahedra and tetrahedra that stand in one once more; see [`grid`](super::grid).
///
/// *Fans*: in a mesh of triangles a node's force needs its neighbours alone. A fan record names up to nine neighbours
/// e_0, e_1, … of a node, in turn: every (node, e_k, e_{k+1}) is a positively oriented triangle. Where the triangles go
/// all round the node, the last neighbour is the first again; such a fan starts at its neighbour with the lowest solver
/// index, so that all blocks add in the same order. A record takes three words: neighbour k, a local index, in the 10
/// bits from bit 10 (k mod 3) on of word ⌊k/3⌋; in the last two bits of words 0 and 1 the lower and the higher two bits
/// of the number of neighbours; in bit 30 of word 2 whether *further* records of the same node follow.
///
/// With the halo's own fans and its neighbours (*outer* nodes) a block can make two steps at a time. In a fan record of
/// block b, local index l ≥ n_own + n_halo means `outer_nodes[outer_first[b] + l − n_own − n_halo]`.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
pub struct DeviceTables {
    /// First colour of each block, (n_blocks + 1,).
    pub colour_first: Vec<u32>,
    /// Run, over all blocks, that each colour belongs to, (n_colours,).
    pub colour_run: Vec<u32>,
    /// First entry of each colour in `coloured_elements`, (n_colours + 1,). A ring of tetrahedra has six.
    pub colour_element_first: Vec<u64>,
    /// First entry of each colour in `coloured_connectivity`, a multiple of 8, (n_colours + 1,).
    pub colour_connectivity_first: Vec<u64>,
    /// Element index (mesh order) of each entry; [`NO_ELEMENT`](Self::NO_ELEMENT) in what a ring or a batch leaves free.
    pub coloured_elements: Vec<u32>,
    /// Local node indices of each entry, in space corners of each entry or ring, row-major; zeros between colours.
    pub coloured_connectivity: Vec<u16>,
    /// First entry of each block in `later_nodes`, (n_blocks + 1,).
    pub later_first: Vec<u64>,
    /// Solver indices of the nodes of later blocks that a block's coloured elements touch, ascending; empty in the plane.
    pub later_nodes: Vec<u32>,
    /// Row of the force that each such entry gets, (n_later,).
    pub passed_row: Vec<u32>,
    /// First row of each boundary node, the boundary nodes of all blocks one after the other, (n_boundary nodes + 1,); empty
    /// in the plane. The rows of a node stand in the order of the blocks that they come from.
    pub passed_first: Vec<u32>,
    /// Places of each [grid](super::grid) along i, j and k, (n_grids, 3).
    pub grid_size: Vec<u32>,
    /// Which pair of kind and section the elements of each grid have, (n_grids,).
    pub grid_material: Vec<u32>,
    /// A word a place, grid by grid.
    pub grid_places: Vec<u32>,
    /// Kind of each distinct pair of kind and section, in ascending order, (n_materials,).
    pub material_kind: Vec<u8>,
    /// Section of each such pair, (n_materials,).
    pub material_section: Vec<u32>,
    /// Material of all triangles in the fans of each block, or [`MIXED`](Self::MIXED), or [`NO_FANS`](Self::NO_FANS),
    /// (n_blocks,).
    pub fan_material: Vec<u16>,
    /// Fan record of each node, in three planes of one word a node, (3, n_nodes); empty if no block has fans.
    pub fan: Vec<u32>,
    /// Material of triangle k of a record in the 4 bits from bit 4 k on, (n_nodes,); empty if no block is mixed.
    pub fan_materials: Vec<u32>,
    /// First outer node of each block, (n_blocks + 1,).
    pub outer_first: Vec<u64>,
    /// Solver index of each outer node: neighbours of halo nodes that are neither own nor halo, sorted. Empty unless all
    /// blocks have fans.
    pub outer_nodes: Vec<u32>,
    /// Fan record of each halo entry, in three planes, (3, n_halo); empty unless all blocks have fans.
    pub halo_fan: Vec<u32>,
    /// As `fan_materials`, (n_halo,).
    pub halo_fan_materials: Vec<u32>,
    /// First further record of each block, (n_blocks + 1,).
    pub further_first: Vec<u32>,
    /// Local index of the node that each further record belongs to, ascending within a block.
    pub further_node: Vec<u16>,
    /// Further records, three words each, row-major.
    pub further_fan: Vec<u32>,
    /// As `fan_materials`, one a further record; empty if no block is mixed.
    pub further_materials: Vec<u32>,
}

impl DeviceTables {
    /// In `coloured_elements`: no element.
    pub const NO_ELEMENT: u32 = u32::MAX;
    /// In `fan_material`: the triangles have several materials, at most 16 of them in the mesh.
    pub const MIXED: u16 = 0xfffe;
    /// In `fan_material`: the block has other elements than triangles, or too many nodes or materials for fans.
    pub const NO_FANS: u16 = 0xffff;
    /// Neighbours that one record holds.
    pub const FAN_NEIGHBOURS: usize = 9;
    /// Local nodes that 10 bits can name.
    pub const FAN_LOCAL_NODES: usize = 1 << 10;
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
    /// Partitioning, arranging and the tables for devices, s. Not stored: the same input gives the same file.
    #[rkyv(with = rkyv::with::Skip)]
    pub seconds: f64,
}

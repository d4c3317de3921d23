//! Tables that the solver reads, in the order in which it reads them.

use std::collections::HashMap;

use super::grid::Grid;
use super::{FanRecord, triangle_number};
use crate::block::tables;
use crate::mesh::ElementKind;

tables! {
    /// The partition of a mesh into blocks, with everything a block needs to step on its own.
    ///
    /// Node indices are *solver* indices: nodes are numbered block by block, the nodes that other blocks read first.
    /// Inside block b with n own nodes, a 16-bit local index l means own node `node_first[b] + l` when l < n, else halo
    /// node `halo_nodes[halo_first[b] + l − n]`.
    ///
    /// A block's elements are all those with at least one own node; an element on a join is in every block it touches, and
    /// each block keeps only the forces on its own nodes. They stand in runs of one kind and one section.
    pub struct Blocks, #[derive(Copy)] BlocksView as blocks {
        /// Nominal capacity of a block, nodes (512 in the paper).
        pub capacity: u32,
        /// First own node of each block, (n_blocks + 1,).
        pub node_first: Vec<u32> [entries(blocks.n_blocks() + 1)],
        /// Own nodes that other blocks read: the first so many of each block, (n_blocks,).
        pub n_boundary: Vec<u32>,
        /// First halo entry of each block, (n_blocks + 1,).
        pub halo_first: Vec<u64> [offsets(blocks.n_blocks(), blocks.halo_nodes.len())],
        /// Solver index of each halo node, sorted by owner block, then by index.
        pub halo_nodes: Vec<u32>,
        /// First run of each block, (n_blocks + 1,).
        pub run_first: Vec<u32> [offsets(blocks.n_blocks(), blocks.n_runs())],
        /// [`ElementKind`](crate::mesh::ElementKind) of each run, (n_runs,).
        pub run_kind: Vec<u8>,
        /// Section of each run, (n_runs,).
        pub run_section: Vec<u32> [entries(blocks.n_runs())],
        /// First entry of each run in `elements`, (n_runs + 1,).
        pub run_element_first: Vec<u64> [offsets(blocks.n_runs(), blocks.elements.len())],
        /// First entry of each run in `connectivity`, (n_runs + 1,).
        pub run_connectivity_first: Vec<u64> [offsets(blocks.n_runs(), blocks.connectivity.len())],
        /// Element index (mesh order) of each entry.
        pub elements: Vec<u32>,
        /// Local node indices of each entry, row-major.
        pub connectivity: Vec<u16>,
    }

    /// Tables for devices that step one block with many threads at once: which elements may add their forces at the same
    /// time, and which triangles surround a node.
    ///
    /// *Colours*, in the plane: the elements of each run of a block, put into batches in which no two elements share a node of
    /// the block's own. Where runs are short, as in grains, the elements of all runs of one kind are put together. Nodes of the halo may be shared: they get no forces. A block with fans may have no colours: they are
    /// only for elements whose stiffness is scaled one by one.
    ///
    /// In space half of the elements touch more than one block. The first block that an element touches has it, and passes the
    /// forces on nodes of *later* blocks on to those. Here a colour is a whole run, or all short runs of a kind, and local index l ≥ n_own means
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
    #[derive(Default)]
    pub struct DeviceTables, #[derive(Copy)] DeviceView as device {
        /// First colour of each block, (n_blocks + 1,).
        pub colour_first: Vec<u32>,
        /// Run, over all blocks, that each colour belongs to, (n_colours,).
        pub colour_run: Vec<u32>,
        /// Colours with the elements of several runs of one kind, ascending: `colour_run` names one of these runs.
        pub mixed_colours: Vec<u32>,
        /// First entry of each colour in `coloured_elements`, (n_colours + 1,). A ring of tetrahedra has six.
        pub colour_element_first: Vec<u64> [offsets(device.n_colours(), device.coloured_elements.len())],
        /// First entry of each colour in `coloured_connectivity`, a multiple of 8, (n_colours + 1,).
        pub colour_connectivity_first: Vec<u64> [offsets(device.n_colours(), device.coloured_connectivity.len())],
        /// Element index (mesh order) of each entry; `NO_ELEMENT` in what a ring or a batch leaves free.
        pub coloured_elements: Vec<u32>,
        /// Local node indices of each entry, in space corners of each entry or ring, row-major; zeros between colours.
        pub coloured_connectivity: Vec<u16>,
        /// First entry of each block in `later_nodes`, (n_blocks + 1,).
        pub later_first: Vec<u64>,
        /// Solver indices of the nodes of later blocks that a block's coloured elements touch, ascending; empty in the plane.
        pub later_nodes: Vec<u32>,
        /// Row of the force that each such entry gets, (n_later,).
        pub passed_row: Vec<u32> [entries(device.later_nodes.len())],
        /// First row of each boundary node, the boundary nodes of all blocks one after the other, (n_boundary nodes + 1,); empty
        /// in the plane. The rows of a node stand in the order of the blocks that they come from.
        pub passed_first: Vec<u32>,
        /// Places of each [grid](super::grid) along i, j and k, (n_grids, 3).
        pub grid_size: Vec<u32> [entries(3 * device.grid_material.len())],
        /// Which pair of kind and section the elements of each grid have, (n_grids,).
        pub grid_material: Vec<u32>,
        /// A word a place, grid by grid.
        pub grid_places: Vec<u32>,
        /// Kind of each distinct pair of kind and section, in ascending order, (n_materials,).
        pub material_kind: Vec<u8>,
        /// Section of each such pair, (n_materials,).
        pub material_section: Vec<u32> [entries(device.material_kind.len())],
        /// Material of all triangles in the fans of each block, or `MIXED`, or `NO_FANS`,
        /// (n_blocks,).
        pub fan_material: Vec<u16>,
        /// Fan record of each node, in three planes of one word a node, (3, n_nodes); empty if no block has fans.
        pub fan: Vec<u32>,
        /// First of the materials of each block in `fan_planes`, (n_blocks + 1,).
        pub fan_plane_first: Vec<u32>,
        /// Materials that meet in the fans of each mixed block, its halo's among them, at most 16. Fans number them from 0 on.
        pub fan_planes: Vec<u32>,
        /// Number of the material of triangle k of a record in the 4 bits from bit 4 k on, (n_nodes,); empty if no block is mixed.
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
        pub further_fan: Vec<u32> [entries(3 * device.further_node.len())],
        /// As `fan_materials`, one a further record; empty if no block is mixed.
        pub further_materials: Vec<u32>,
    }

    /// Quality of a partition, as Tables 2 and 4 of the paper report it.
    #[derive(Default)]
    pub struct PartitionStatistics, #[derive(Copy)] StatisticsView as statistics {
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
    }
}

impl DeviceTables {
    /// In `coloured_elements`: no element.
    pub const NO_ELEMENT: u32 = u32::MAX;
    /// In `fan_material`: the triangles have several materials, those in `fan_planes`.
    pub const MIXED: u16 = 0xfffe;
    /// In `fan_material`: the block has other elements than triangles, or too many nodes or materials for fans.
    pub const NO_FANS: u16 = 0xffff;
}

/// Elements of one kind and one section inside one block.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Run<'a> {
    /// What they are.
    pub kind: ElementKind,
    pub section: usize,
    /// Element index of each, (n,).
    pub elements: &'a [u32],
    /// Local node indices, (n, `kind.n_nodes()`).
    pub connectivity: &'a [u16],
}

impl<'a> BlocksView<'a> {
    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.n_boundary.len()
    }

    /// Number of runs of all blocks.
    pub fn n_runs(&self) -> usize {
        self.run_kind.len()
    }

    /// The block that owns a node.
    pub fn block_of(&self, node: u32) -> usize {
        self.node_first.partition_point(|&first| first <= node) - 1
    }

    /// Own nodes of a block, as a range of solver indices.
    pub fn own_nodes(&self, block: usize) -> std::ops::Range<usize> {
        self.node_first[block] as usize..self.node_first[block + 1] as usize
    }

    /// Solver indices of the halo nodes of a block, in local order.
    pub fn halo(&self, block: usize) -> &'a [u32] {
        &self.halo_nodes[self.halo_first[block] as usize..self.halo_first[block + 1] as usize]
    }

    /// Runs of a block.
    ///
    /// # Panics
    /// If a kind's code is unknown; [`BlockFile`](super) rejects such files on opening.
    pub fn runs(self, block: usize) -> impl Iterator<Item = Run<'a>> {
        (self.run_first[block] as usize..self.run_first[block + 1] as usize).map(move |run| Run {
            kind: ElementKind::from_code(self.run_kind[run]).expect("checked on opening"),
            section: self.run_section[run] as usize,
            elements: &self.elements[self.run_element_first[run] as usize..self.run_element_first[run + 1] as usize],
            connectivity: &self.connectivity
                [self.run_connectivity_first[run] as usize..self.run_connectivity_first[run + 1] as usize],
        })
    }

    /// The run, over all blocks, of each element of a block.
    pub fn run_of_elements(self, block: usize) -> HashMap<u32, usize> {
        let runs = self.runs(block).zip(self.run_first[block] as usize..);
        runs.flat_map(|(run, number)| run.elements.iter().map(move |&element| (element, number))).collect()
    }
}

/// Elements of one run, or of several runs of one kind: in the plane, that share no node of the block's own.
#[derive(Debug, Clone, Copy)]
pub struct Colour<'a> {
    /// Run, over all blocks; one of them where it is mixed.
    pub run: usize,
    /// It may have elements of several runs.
    pub is_mixed: bool,
    /// Element index of each, (n,); of rings (n, 6).
    pub elements: &'a [u32],
    /// Local node indices, in space corners, (n, nodes of the run's kind; of rings 8), then zeros up to a multiple of 8.
    pub connectivity: &'a [u16],
}

impl<'a> DeviceView<'a> {
    /// Number of colours of all blocks.
    pub fn n_colours(&self) -> usize {
        self.colour_run.len()
    }

    /// Colours of a block.
    pub fn colours(self, block: usize) -> impl Iterator<Item = Colour<'a>> {
        (self.colour_first[block] as usize..self.colour_first[block + 1] as usize).map(move |colour| Colour {
            run: self.colour_run[colour] as usize,
            is_mixed: self.is_mixed(colour),
            elements: &self.coloured_elements
                [self.colour_element_first[colour] as usize..self.colour_element_first[colour + 1] as usize],
            connectivity: &self.coloured_connectivity
                [self.colour_connectivity_first[colour] as usize..self.colour_connectivity_first[colour + 1] as usize],
        })
    }

    /// Whether a colour has the elements of several runs.
    pub fn is_mixed(&self, colour: usize) -> bool {
        self.mixed_colours.binary_search(&(colour as u32)).is_ok()
    }

    /// Whether a block has such colours.
    pub fn has_mixed_colours(&self, block: usize) -> bool {
        let first = |block: usize| self.mixed_colours.partition_point(|&colour| colour < self.colour_first[block]);
        first(block) < first(block + 1)
    }

    /// Nodes of later blocks that a block's coloured elements touch.
    pub fn later(self, block: usize) -> &'a [u32] {
        &self.later_nodes[self.later_first[block] as usize..self.later_first[block + 1] as usize]
    }

    /// The grids of hexahedra or tetrahedra.
    pub fn grids(self) -> impl Iterator<Item = Grid<'a>> {
        let mut rest = self.grid_places;
        self.grid_size.chunks_exact(3).zip(self.grid_material).map(move |(size, &material)| {
            let size = [0, 1, 2].map(|i| size[i] as usize);
            let places;
            (places, rest) = rest.split_at(size.iter().product());
            Grid { size, material: material as usize, places }
        })
    }

    /// First record of a node, by solver index, where its block has fans.
    pub fn fan(&self, node: usize) -> FanRecord {
        in_planes(self.fan, node)
    }

    /// First record of an entry of the halo, where there are such records.
    pub fn halo_fan(&self, entry: usize) -> FanRecord {
        in_planes(self.halo_fan, entry)
    }

    /// One of the further records.
    pub fn further_fan(&self, record: usize) -> FanRecord {
        FanRecord::from_words([0, 1, 2].map(|word| self.further_fan[3 * record + word]))
    }

    /// The materials that meet in the fans of a mixed block, by their number there; none of another block.
    pub fn planes(self, block: usize) -> &'a [u32] {
        &self.fan_planes[self.fan_plane_first[block] as usize..self.fan_plane_first[block + 1] as usize]
    }

    /// Material of triangle k of a record of a block that has fans, from its word in one of the tables of materials.
    pub fn triangle_material(self, block: usize, materials: Option<u32>, k: usize) -> usize {
        match (self.fan_material[block], materials) {
            (DeviceTables::MIXED, Some(materials)) => self.planes(block)[triangle_number(materials, k)] as usize,
            (material, _) => usize::from(material),
        }
    }

    /// Whether all blocks have fans for their halo, too.
    pub fn has_halo_fans(&self) -> bool {
        !self.halo_fan.is_empty()
    }
}

fn in_planes(planes: &[u32], at: usize) -> FanRecord {
    let n = planes.len() / 3;
    FanRecord::from_words([planes[at], planes[n + at], planes[2 * n + at]])
}

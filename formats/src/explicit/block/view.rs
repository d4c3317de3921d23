//! Borrowed views of a mesh and its blocks: plain slices, whether from the map or from memory.

use rkyv::Archived;

use super::grid::Grid;
use super::{Blocks, DeviceTables, FanRecord};
use crate::block::Table;
use crate::block::cast::native;
use crate::mesh::ElementKind;

/// Tables of all blocks; see [`Blocks`].
#[derive(Debug, Clone, Copy)]
pub struct BlocksView<'a> {
    /// Nominal capacity of a block.
    pub capacity: usize,
    /// (n_blocks + 1,).
    pub node_first: &'a [u32],
    /// (n_blocks,).
    pub n_boundary: &'a [u32],
    /// (n_blocks + 1,).
    pub halo_first: &'a [u64],
    /// Solver indices.
    pub halo_nodes: &'a [u32],
    /// (n_blocks + 1,).
    pub run_first: &'a [u32],
    /// (n_runs,).
    pub run_kind: &'a [u8],
    /// (n_runs,).
    pub run_section: &'a [u32],
    /// (n_runs + 1,).
    pub run_element_first: &'a [u64],
    /// (n_runs + 1,).
    pub run_connectivity_first: &'a [u64],
    /// Element index of each entry.
    pub elements: &'a [u32],
    /// Local node indices.
    pub connectivity: &'a [u16],
    /// (n_blocks + 1,).
    pub load_first: &'a [u32],
    /// 32, 16 or 8.
    pub load_size: &'a [u8],
    /// Solver index of the first node.
    pub load_start: &'a [u32],
}

/// Elements of one kind and one section inside one block.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// What they are.
    pub kind: ElementKind,
    /// Section index.
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
}

impl Blocks {
    /// The tables as slices.
    pub fn view(&self) -> BlocksView<'_> {
        BlocksView {
            capacity: self.capacity as usize,
            node_first: &self.node_first,
            n_boundary: &self.n_boundary,
            halo_first: &self.halo_first,
            halo_nodes: &self.halo_nodes,
            run_first: &self.run_first,
            run_kind: &self.run_kind,
            run_section: &self.run_section,
            run_element_first: &self.run_element_first,
            run_connectivity_first: &self.run_connectivity_first,
            elements: &self.elements,
            connectivity: &self.connectivity,
            load_first: &self.load_first,
            load_size: &self.load_size,
            load_start: &self.load_start,
        }
    }
}

/// Tables for devices with many threads; see [`DeviceTables`].
#[derive(Debug, Clone, Copy)]
pub struct DeviceView<'a> {
    /// (n_blocks + 1,).
    pub colour_first: &'a [u32],
    /// (n_colours,).
    pub colour_run: &'a [u32],
    /// (n_colours + 1,).
    pub colour_element_first: &'a [u64],
    /// (n_colours + 1,).
    pub colour_connectivity_first: &'a [u64],
    /// Element index of each entry.
    pub coloured_elements: &'a [u32],
    /// Local node indices, or corners.
    pub coloured_connectivity: &'a [u16],
    /// (n_blocks + 1,).
    pub later_first: &'a [u64],
    /// Solver indices.
    pub later_nodes: &'a [u32],
    /// (n_later,).
    pub passed_row: &'a [u32],
    /// (n_boundary nodes + 1,), or empty.
    pub passed_first: &'a [u32],
    /// (n_grids, 3).
    pub grid_size: &'a [u32],
    /// (n_grids,).
    pub grid_material: &'a [u32],
    /// A word a place.
    pub grid_places: &'a [u32],
    /// (n_materials,).
    pub material_kind: &'a [u8],
    /// (n_materials,).
    pub material_section: &'a [u32],
    /// (n_blocks,).
    pub fan_material: &'a [u16],
    /// (3, n_nodes), or empty.
    pub fan: &'a [u32],
    /// (n_nodes,), or empty.
    pub fan_materials: &'a [u32],
    /// (n_blocks + 1,).
    pub outer_first: &'a [u64],
    /// Solver indices.
    pub outer_nodes: &'a [u32],
    /// (3, n_halo), or empty.
    pub halo_fan: &'a [u32],
    /// (n_halo,), or empty.
    pub halo_fan_materials: &'a [u32],
    /// (n_blocks + 1,).
    pub further_first: &'a [u32],
    /// Local indices.
    pub further_node: &'a [u16],
    /// (n_further, 3).
    pub further_fan: &'a [u32],
    /// (n_further,), or empty.
    pub further_materials: &'a [u32],
}

/// Elements of one run: in the plane, that share no node of the block's own.
#[derive(Debug, Clone, Copy)]
pub struct Colour<'a> {
    /// Run, over all blocks.
    pub run: usize,
    /// Element index of each, (n,); of rings (n, 6).
    pub elements: &'a [u32],
    /// Local node indices, in space corners, (n, nodes of the run's kind; of rings 8), then zeros up to a multiple of 8.
    pub connectivity: &'a [u16],
}

impl<'a> DeviceView<'a> {
    /// Colours of a block.
    pub fn colours(self, block: usize) -> impl Iterator<Item = Colour<'a>> {
        (self.colour_first[block] as usize..self.colour_first[block + 1] as usize).map(move |colour| Colour {
            run: self.colour_run[colour] as usize,
            elements: &self.coloured_elements
                [self.colour_element_first[colour] as usize..self.colour_element_first[colour + 1] as usize],
            connectivity: &self.coloured_connectivity
                [self.colour_connectivity_first[colour] as usize..self.colour_connectivity_first[colour + 1] as usize],
        })
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

    /// Whether all blocks have fans for their halo, too.
    pub fn has_halo_fans(&self) -> bool {
        !self.halo_fan.is_empty()
    }
}

fn in_planes(planes: &[u32], at: usize) -> FanRecord {
    let n = planes.len() / 3;
    FanRecord::from_words([planes[at], planes[n + at], planes[2 * n + at]])
}

impl DeviceTables {
    /// The tables as slices.
    pub fn view(&self) -> DeviceView<'_> {
        DeviceView {
            colour_first: &self.colour_first,
            colour_run: &self.colour_run,
            colour_element_first: &self.colour_element_first,
            colour_connectivity_first: &self.colour_connectivity_first,
            coloured_elements: &self.coloured_elements,
            coloured_connectivity: &self.coloured_connectivity,
            later_first: &self.later_first,
            later_nodes: &self.later_nodes,
            passed_row: &self.passed_row,
            passed_first: &self.passed_first,
            grid_size: &self.grid_size,
            grid_material: &self.grid_material,
            grid_places: &self.grid_places,
            material_kind: &self.material_kind,
            material_section: &self.material_section,
            fan_material: &self.fan_material,
            fan: &self.fan,
            fan_materials: &self.fan_materials,
            outer_first: &self.outer_first,
            outer_nodes: &self.outer_nodes,
            halo_fan: &self.halo_fan,
            halo_fan_materials: &self.halo_fan_materials,
            further_first: &self.further_first,
            further_node: &self.further_node,
            further_fan: &self.further_fan,
            further_materials: &self.further_materials,
        }
    }
}

impl Table for Blocks {
    type View<'a> = BlocksView<'a>;

    fn view(&self) -> BlocksView<'_> {
        self.view()
    }

    fn archived(blocks: &Archived<Self>) -> BlocksView<'_> {
        BlocksView {
            capacity: blocks.capacity.to_native() as usize,
            node_first: native(&blocks.node_first),
            n_boundary: native(&blocks.n_boundary),
            halo_first: native(&blocks.halo_first),
            halo_nodes: native(&blocks.halo_nodes),
            run_first: native(&blocks.run_first),
            run_kind: &blocks.run_kind,
            run_section: native(&blocks.run_section),
            run_element_first: native(&blocks.run_element_first),
            run_connectivity_first: native(&blocks.run_connectivity_first),
            elements: native(&blocks.elements),
            connectivity: native(&blocks.connectivity),
            load_first: native(&blocks.load_first),
            load_size: &blocks.load_size,
            load_start: native(&blocks.load_start),
        }
    }
}

impl Table for DeviceTables {
    type View<'a> = DeviceView<'a>;

    fn view(&self) -> DeviceView<'_> {
        self.view()
    }

    fn archived(device: &Archived<Self>) -> DeviceView<'_> {
        DeviceView {
            colour_first: native(&device.colour_first),
            colour_run: native(&device.colour_run),
            colour_element_first: native(&device.colour_element_first),
            colour_connectivity_first: native(&device.colour_connectivity_first),
            coloured_elements: native(&device.coloured_elements),
            coloured_connectivity: native(&device.coloured_connectivity),
            later_first: native(&device.later_first),
            later_nodes: native(&device.later_nodes),
            passed_row: native(&device.passed_row),
            passed_first: native(&device.passed_first),
            grid_size: native(&device.grid_size),
            grid_material: native(&device.grid_material),
            grid_places: native(&device.grid_places),
            material_kind: &device.material_kind,
            material_section: native(&device.material_section),
            fan_material: native(&device.fan_material),
            fan: native(&device.fan),
            fan_materials: native(&device.fan_materials),
            outer_first: native(&device.outer_first),
            outer_nodes: native(&device.outer_nodes),
            halo_fan: native(&device.halo_fan),
            halo_fan_materials: native(&device.halo_fan_materials),
            further_first: native(&device.further_first),
            further_node: native(&device.further_node),
            further_fan: native(&device.further_fan),
            further_materials: native(&device.further_materials),
        }
    }
}

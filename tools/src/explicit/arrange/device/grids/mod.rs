//! Parts of the mesh in which hexahedra or tetrahedra stand in a grid, found by walking across faces.

mod hexahedra;
mod tetrahedra;

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::grid::{CORNERS, Grid, NODE, NOTHING, PRESENT, WHOLE};
use pogo_formats::mesh::{ElementKind, ElementShape, GroupView, MeshView};
use rayon::prelude::*;

use crate::rows::by_row;

/// Fewest cells of a grid: fewer would not fill a thread block of a device.
const FEWEST: usize = 512;
/// Most places of the bounding box for each cell: a grid that fills less of its box is dropped.
const MOST_PLACES: usize = 4;

/// The corners of each face, and the corners of the neighbour across it at the same nodes: towards ξ, η, ζ, and back.
const FACES: [[[usize; 2]; 4]; 6] = [
    [[1, 0], [2, 3], [6, 7], [5, 4]],
    [[3, 0], [2, 1], [6, 5], [7, 4]],
    [[4, 0], [5, 1], [6, 2], [7, 3]],
    [[0, 1], [3, 2], [7, 6], [4, 5]],
    [[0, 3], [1, 2], [5, 6], [4, 7]],
    [[0, 4], [1, 5], [2, 6], [3, 7]],
];

/// The grids of a mesh as in the block file, but with the model's node indices.
#[derive(Default)]
pub struct Grids {
    sizes: Vec<[usize; 3]>,
    pairs: Vec<(u8, u32)>,
    places: Vec<u32>,
}

impl Grids {
    /// Marks a node in no grid in [`ranks`](Self::ranks).
    pub const NO_RANK: u32 = u32::MAX;

    /// Finds all grids. The result does not depend on the number of threads.
    pub fn find(mesh: &MeshView) -> Self {
        let mut grids = Self::default();
        let stands = |group: &GroupView| {
            matches!(group.kind.shape(), ElementShape::Tetrahedron | ElementShape::Hexahedron)
                && group.labels.len() >= FEWEST
        };
        if mesh.n_nodes() >= NOTHING as usize || !mesh.groups.iter().any(stands) {
            return grids;
        }
        let mut n_elements = vec![0_u32; mesh.n_nodes()];
        for group in &mesh.groups {
            for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                for (at, &node) in nodes.iter().enumerate() {
                    n_elements[node as usize] += u32::from(!nodes[..at].contains(&node));
                }
            }
        }
        for group in mesh.groups.iter().filter(|group| stands(group)) {
            match group.kind.shape() {
                ElementShape::Tetrahedron => tetrahedra::find(group, mesh.coordinates, &n_elements, &mut grids),
                _ => hexahedra::find(group, &n_elements, &mut grids),
            }
        }
        grids
    }

    /// Place of each node among the nodes of all grids, or [`NO_RANK`](Self::NO_RANK), (n_nodes,); empty without grids. A
    /// device that goes through a grid reads nodes in this order fastest.
    pub fn ranks(&self, n_nodes: usize) -> Vec<u32> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let mut ranks = vec![Self::NO_RANK; n_nodes];
        for (rank, word) in (0_u32..).zip(&self.places).filter(|(_, word)| *word & NODE != NOTHING) {
            ranks[(word & NODE) as usize] = rank;
        }
        ranks
    }

    /// Adds the grids to tables that have their materials.
    pub fn add_to(self, device: &mut DeviceTables, solver_from_model: &[u32]) {
        let pairs: Vec<(u8, u32)> =
            device.material_kind.iter().copied().zip(device.material_section.iter().copied()).collect();
        device.grid_size = self.sizes.iter().flatten().map(|&along| along as u32).collect();
        let material = |pair: &(u8, u32)| pairs.partition_point(|other| other < pair) as u32;
        device.grid_material = self.pairs.iter().map(material).collect();
        device.grid_places = self.places;
        device.grid_places.par_iter_mut().filter(|word| **word & NODE != NOTHING).for_each(|word| {
            *word = *word & !NODE | solver_from_model[(*word & NODE) as usize];
        });
    }

    /// Adds the grid of these cells, and returns the numbers of cells that do not fit into it. Where five hexahedra meet round
    /// an edge, for example, not all can be in one grid.
    fn add(
        &mut self,
        (kind, section): (ElementKind, u32),
        cells: impl ExactSizeIterator<Item = Cell> + Clone,
        n_elements: &[u32],
    ) -> Vec<usize> {
        let (mut low, mut high) = ([0; 3], [0; 3]);
        for Cell { at, .. } in cells.clone() {
            for i in 0..3 {
                low[i] = at[i].min(low[i]);
                high[i] = at[i].max(high[i]);
            }
        }
        // A device goes along k, which is the longest direction. A grid may be turned round its diagonal.
        let length = [0, 1, 2].map(|i| (high[i] - low[i]) as usize + 2);
        let last = (0..3).rev().max_by_key(|&i| length[i]).unwrap_or(2);
        let axes = [(last + 1) % 3, (last + 2) % 3, last];
        let size = axes.map(|axis| length[axis]);
        let n_places = size.iter().product::<usize>();
        if n_places / MOST_PLACES > cells.len() {
            return Vec::new();
        }
        let mut places = vec![NOTHING; n_places];
        let place = |[i, j, k]: [usize; 3]| i + size[0] * (j + size[1] * k);
        let mut contradicting = Vec::new();
        for (number, cell) in cells.enumerate() {
            let at = |corner: [usize; 3]| place(axes.map(|axis| (cell.at[axis] - low[axis]) as usize + corner[axis]));
            let corners: [(usize, u32); 8] = std::array::from_fn(|corner| (at(CORNERS[corner]), cell.nodes[corner]));
            let fits = |&(place, node): &(usize, u32)| [NOTHING, node].contains(&(places[place] & NODE));
            if places[corners[0].0] & PRESENT == 0 && corners.iter().all(fits) {
                for (place, node) in corners {
                    places[place] = node | places[place] & PRESENT;
                }
                places[corners[0].0] |= PRESENT;
            } else {
                contradicting.push(number);
            }
        }
        let grid = Grid { size, material: 0, places: &places };
        let whole: Vec<bool> = (0..n_places)
            .into_par_iter()
            .with_min_len(4096)
            .map(|place| {
                let node = grid.places[place] & NODE;
                node != NOTHING && n_elements[node as usize] as usize == grid.n_around(grid.position(place), kind)
            })
            .collect();
        for (place, _) in places.iter_mut().zip(whole).filter(|(_, whole)| *whole) {
            *place |= WHOLE;
        }
        self.pairs.push((kind as u8, section));
        self.sizes.push(size);
        self.places.extend(places);
        contradicting
    }
}

/// A cell of a grid that is being built: its corners in the order of C3D8, and its position.
#[derive(Clone, Copy)]
struct Cell {
    nodes: [u32; 8],
    at: [i32; 3],
}

/// The elements round each node.
struct Around {
    /// First entry of each node, (n_nodes + 1,).
    first: Vec<u32>,
    elements: Vec<u32>,
}

impl Around {
    fn new(group: &GroupView, n_nodes: usize) -> Self {
        let (first, mut elements) = by_row(n_nodes, group.connectivity.iter().copied());
        let width = group.kind.n_nodes() as u32;
        elements.iter_mut().for_each(|entry| *entry /= width);
        Self { first, elements }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.elements[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

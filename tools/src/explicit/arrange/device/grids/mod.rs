//! Parts of the mesh in which hexahedra or tetrahedra stand in a grid, found by walking across faces.

mod hexahedra;
mod tetrahedra;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::grid::{CORNERS, Grid, NODE, NOTHING, PRESENT, WHOLE};
use pogo_formats::mesh::{ElementKind, ElementShape, GroupView, MeshView};
use pogo_formats::system::parallel::iterate::*;

use crate::rows::by_row_in_parallel;

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
        let n_elements: Vec<AtomicU32> = (0..mesh.n_nodes()).map(|_| AtomicU32::new(0)).collect();
        for group in &mesh.groups {
            let elements = group.connectivity.par_chunks_exact(group.kind.n_nodes()).with_min_len(4096);
            elements.for_each(|nodes| {
                for (at, node) in nodes.iter().enumerate() {
                    if !nodes[..at].contains(node) {
                        n_elements[*node as usize].fetch_add(1, Relaxed);
                    }
                }
            });
        }
        let n_elements: Vec<u32> = n_elements.into_iter().map(AtomicU32::into_inner).collect();
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

    /// Adds the grid of `n_cells` cells, and returns the numbers of cells that do not fit into it. Where five hexahedra meet round
    /// an edge, for example, not all can be in one grid.
    fn add(
        &mut self,
        (kind, section): (ElementKind, u32),
        n_cells: usize,
        cell: impl Fn(usize) -> Cell + Sync,
        n_elements: &[u32],
    ) -> Vec<usize> {
        let numbers = || (0..n_cells).into_par_iter().with_min_len(4096);
        let both = |(low, high): ([i32; 3], [i32; 3]), (other_low, other_high): ([i32; 3], [i32; 3])| {
            let each = |pick: fn(i32, i32) -> i32, a: [i32; 3], b: [i32; 3]| std::array::from_fn(|i| pick(a[i], b[i]));
            (each(i32::min, low, other_low), each(i32::max, high, other_high))
        };
        let (low, high) = numbers().map(|number| (cell(number).at, cell(number).at)).reduce(Default::default, both);
        // A device goes along k, which is the longest direction. A grid may be turned round its diagonal.
        let length = [0, 1, 2].map(|i| (high[i] - low[i]) as usize + 2);
        let last = (0..3).rev().max_by_key(|&i| length[i]).unwrap_or(2);
        let axes = [(last + 1) % 3, (last + 2) % 3, last];
        let size = axes.map(|axis| length[axis]);
        let n_places = size.iter().product::<usize>();
        if n_places / MOST_PLACES > n_cells {
            return Vec::new();
        }
        let place = |[i, j, k]: [usize; 3]| i + size[0] * (j + size[1] * k);
        // The place and the node of each corner of a cell.
        let corners = |number: usize| -> [(usize, u32); 8] {
            let cell = cell(number);
            let at = |corner: [usize; 3]| place(axes.map(|axis| (cell.at[axis] - low[axis]) as usize + corner[axis]));
            std::array::from_fn(|corner| (at(CORNERS[corner]), cell.nodes[corner]))
        };
        let (mut places, contradicting) = match fill(n_places, numbers().map(corners)) {
            Some(places) => (places, Vec::new()),
            None => fill_in_turn(n_places, (0..n_cells).map(corners)),
        };
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

/// The places of a grid with its nodes, filled by all threads; `corners` are the place and the node of each corner of its cells.
/// None if not all cells fit.
fn fill(n_places: usize, corners: impl ParallelIterator<Item = [(usize, u32); 8]>) -> Option<Vec<u32>> {
    let places: Vec<AtomicU32> = (0..n_places).into_par_iter().map(|_| AtomicU32::new(NOTHING)).collect();
    let contradicts = AtomicBool::new(false);
    let take = |(place, node): (usize, u32)| match places[place].compare_exchange(NOTHING, node, Relaxed, Relaxed) {
        Ok(_) => true,
        Err(word) => word & NODE == node,
    };
    corners.for_each(|corners| {
        let fits = !contradicts.load(Relaxed)
            && corners.into_iter().all(take)
            && places[corners[0].0].fetch_or(PRESENT, Relaxed) & PRESENT == 0;
        if !fits {
            contradicts.store(true, Relaxed);
        }
    });
    let places = places.into_iter().map(AtomicU32::into_inner).collect();
    (!contradicts.into_inner()).then_some(places)
}

/// The same cell by cell, without those that contradict cells before them, whose numbers are given.
fn fill_in_turn(n_places: usize, corners: impl Iterator<Item = [(usize, u32); 8]>) -> (Vec<u32>, Vec<usize>) {
    let mut places = vec![NOTHING; n_places];
    let mut contradicting = Vec::new();
    for (number, corners) in corners.enumerate() {
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
    (places, contradicting)
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
        let (first, mut elements) = by_row_in_parallel(n_nodes, group.connectivity);
        let width = group.kind.n_nodes() as u32;
        elements.par_iter_mut().for_each(|entry| *entry /= width);
        Self { first, elements }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.elements[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

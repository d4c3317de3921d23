//! Parts of the mesh in which hexahedra stand in a grid, found by walking across faces.

use pogo_formats::block::corner::ways_of;
use pogo_formats::block::grid::{CORNERS, Grid, NODE, NOTHING, PRESENT, WHOLE};
use pogo_formats::block::{DeviceTables, GroupView, MeshView};
use pogo_formats::model::ElementKind;
use rayon::prelude::*;

/// Elements of the smallest grid that is kept: fewer are not worth a thread block of a device.
const FEWEST: usize = 512;
/// Places an element that a grid may have: one that winds through its box is left out.
const MOST_PLACES: usize = 4;

/// The corners of each face, and where the neighbour across it has them: towards ξ, η, ζ, and back.
const FACES: [[[usize; 2]; 4]; 6] = [
    [[1, 0], [2, 3], [6, 7], [5, 4]],
    [[3, 0], [2, 1], [6, 5], [7, 4]],
    [[4, 0], [5, 1], [6, 2], [7, 3]],
    [[0, 1], [3, 2], [7, 6], [4, 5]],
    [[0, 3], [1, 2], [5, 6], [4, 7]],
    [[0, 4], [1, 5], [2, 6], [3, 7]],
];

/// The grids of a mesh, as the block file has them but for the numbers of nodes, which are the model's.
#[derive(Default)]
pub struct Grids {
    sizes: Vec<[usize; 3]>,
    pairs: Vec<(u8, u32)>,
    places: Vec<u32>,
}

impl Grids {
    /// In [`ranks`](Self::ranks): in no grid.
    pub const NO_RANK: u32 = u32::MAX;

    /// Finds them. The same for every number of threads.
    pub fn find(mesh: &MeshView) -> Self {
        let mut grids = Self::default();
        let hexahedra = |group: &&GroupView| matches!(group.kind, ElementKind::C3d8 | ElementKind::C3d8r);
        if mesh.n_nodes() >= NOTHING as usize || !mesh.groups.iter().any(|group| hexahedra(&group)) {
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
        for group in mesh.groups.iter().filter(hexahedra) {
            Walk::new(group, mesh.n_nodes()).all(&n_elements, &mut grids);
        }
        grids
    }

    /// Of each node its place among those of all grids, or [`NO_RANK`](Self::NO_RANK), (n_nodes,); empty without grids. A
    /// device that goes through a grid reads nodes fastest in this order.
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

    /// Adds them to tables that have their materials.
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
}

/// An element of a grid in the making.
#[derive(Clone, Copy)]
struct Step {
    element: u32,
    /// How it is turned.
    way: u8,
    at: [i32; 3],
}

struct Walk<'a> {
    group: &'a GroupView<'a>,
    ways: Vec<[u8; 8]>,
    /// First entry of each node in `around`, (n_nodes + 1,), and the elements round it.
    first: Vec<u32>,
    around: Vec<u32>,
    taken: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn new(group: &'a GroupView<'a>, n_nodes: usize) -> Self {
        let mut first = vec![0_u32; n_nodes + 1];
        for &node in group.connectivity {
            first[node as usize + 1] += 1;
        }
        for node in 0..n_nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut around = vec![0; group.connectivity.len()];
        for (element, nodes) in (0_u32..).zip(group.connectivity.chunks_exact(8)) {
            for &node in nodes {
                let next = &mut next[node as usize];
                around[*next as usize] = element;
                *next += 1;
            }
        }
        // A collapsed element is in no grid.
        let collapsed = |nodes: &[u32]| (1..8).any(|i| nodes[..i].contains(&nodes[i]));
        let taken = group.connectivity.par_chunks_exact(8).map(collapsed).collect();
        Self { group, ways: ways_of(ElementKind::C3d8), first, around, taken }
    }

    fn nodes(&self, element: u32) -> &'a [u32] {
        &self.group.connectivity[8 * element as usize..][..8]
    }

    /// Every grid from the first element that is in none yet.
    fn all(mut self, n_elements: &[u32], grids: &mut Grids) {
        let mut seeds: Vec<u32> = (0..self.taken.len() as u32).collect();
        while !seeds.is_empty() {
            let mut left = Vec::new();
            for seed in std::mem::take(&mut seeds) {
                if self.taken[seed as usize] {
                    continue;
                }
                let steps = self.reach(seed);
                if steps.len() >= FEWEST {
                    let contradicting = self.add(&steps, n_elements, grids);
                    left.extend(contradicting);
                }
            }
            for &element in &left {
                self.taken[element as usize] = false;
            }
            seeds = left;
        }
    }

    /// The elements of the same section that faces lead to, breadth first.
    fn reach(&mut self, seed: u32) -> Vec<Step> {
        let section = self.group.section[seed as usize];
        self.taken[seed as usize] = true;
        let mut steps = vec![Step { element: seed, way: 0, at: [0; 3] }];
        let mut next = 0;
        while next < steps.len() {
            let Step { element, way, at } = steps[next];
            next += 1;
            let nodes = self.nodes(element);
            let turned = self.ways[usize::from(way)].map(|corner| nodes[usize::from(corner)]);
            for (direction, face) in FACES.iter().enumerate() {
                let on_face = face.map(|[here, there]| (turned[here], there));
                let Some(other) = self.beside(on_face.map(|(node, _)| node)) else { continue };
                if self.group.section[other as usize] != section {
                    continue;
                }
                let nodes = self.nodes(other);
                let fits = |&way: &u8| {
                    let corners = &self.ways[usize::from(way)];
                    on_face.iter().all(|&(node, corner)| nodes[usize::from(corners[corner])] == node)
                };
                // Neighbours are mostly turned alike.
                let Some(way) = std::iter::once(way).chain(0..self.ways.len() as u8).find(fits) else { continue };
                self.taken[other as usize] = true;
                let mut at = at;
                at[direction % 3] += if direction < 3 { 1 } else { -1 };
                steps.push(Step { element: other, way, at });
            }
        }
        steps
    }

    /// An element with all four nodes that is in no grid yet.
    fn beside(&self, face: [u32; 4]) -> Option<u32> {
        let around = self.first[face[0] as usize] as usize..self.first[face[0] as usize + 1] as usize;
        let has_all = |&&element: &&u32| {
            !self.taken[element as usize] && face[1..].iter().all(|node| self.nodes(element).contains(node))
        };
        self.around[around].iter().find(has_all).copied()
    }

    /// Adds the grid of these elements, and returns those that contradict it: round a node, where five elements meet say,
    /// not all can stand in one grid.
    fn add(&self, steps: &[Step], n_elements: &[u32], grids: &mut Grids) -> Vec<u32> {
        let (mut low, mut high) = ([0; 3], [0; 3]);
        for step in steps.iter() {
            for i in 0..3 {
                low[i] = step.at[i].min(low[i]);
                high[i] = step.at[i].max(high[i]);
            }
        }
        // The longest way is k, along which a device goes; turned round the diagonal, a grid is the same.
        let length = [0, 1, 2].map(|i| (high[i] - low[i]) as usize + 2);
        let last = (0..3).rev().max_by_key(|&i| length[i]).unwrap_or(2);
        let axes = [(last + 1) % 3, (last + 2) % 3, last];
        let size = axes.map(|axis| length[axis]);
        let n_places = size.iter().product::<usize>();
        if n_places / MOST_PLACES > steps.len() {
            return Vec::new();
        }
        let mut places = vec![NOTHING; n_places];
        let place = |[i, j, k]: [usize; 3]| i + size[0] * (j + size[1] * k);
        let mut contradicting = Vec::new();
        for step in steps.iter() {
            let nodes = self.nodes(step.element);
            let way = &self.ways[usize::from(step.way)];
            let at = |corner: [usize; 3]| place(axes.map(|axis| (step.at[axis] - low[axis]) as usize + corner[axis]));
            let corners: [(usize, u32); 8] =
                std::array::from_fn(|corner| (at(CORNERS[corner]), nodes[usize::from(way[corner])]));
            let fits = |&(place, node): &(usize, u32)| [NOTHING, node].contains(&(places[place] & NODE));
            if places[corners[0].0] & PRESENT == 0 && corners.iter().all(fits) {
                for (place, node) in corners {
                    places[place] = node | places[place] & PRESENT;
                }
                places[corners[0].0] |= PRESENT;
            } else {
                contradicting.push(step.element);
            }
        }
        let grid = Grid { size, material: 0, places: &places };
        let whole: Vec<bool> = (0..n_places)
            .into_par_iter()
            .with_min_len(4096)
            .map(|place| {
                let node = grid.places[place] & NODE;
                node != NOTHING && n_elements[node as usize] as usize == grid.n_around(grid.position(place))
            })
            .collect();
        for (place, _) in places.iter_mut().zip(whole).filter(|(_, whole)| *whole) {
            *place |= WHOLE;
        }
        grids.pairs.push((self.group.kind as u8, self.group.section[steps[0].element as usize]));
        grids.sizes.push(size);
        grids.places.extend(places);
        contradicting
    }
}

//! Tetrahedra in a grid, six in each cell round its diagonal (Kuhn's subdivision).
//!
//! Such a grid has four equivalent directions, the three axes and the diagonal. If another one is taken for the diagonal, the same
//! tetrahedra make slanted cells, and those on the surface of a box are incomplete. The right cells leave out none of the
//! tetrahedra that they touch; if there are none, the cells that hold the most tetrahedra are taken.

use pogo_formats::explicit::block::grid::RING;
use pogo_formats::mesh::GroupView;
use pogo_formats::system::parallel::iterate::*;

use super::{Around, Cell, FACES, FEWEST, Grids};

/// A group has no grids if fewer than one tetrahedron in this many can be a seed. In a mesh of random points one in thousands
/// can, in a box of 8³ cells one in two.
const LEAST_SEEDS: usize = 64;

/// For corners i and j of a tetrahedron, the corners k and l that make i, j, k, l a positive order.
const BESIDE: [[[usize; 2]; 4]; 4] = [
    [[0, 0], [2, 3], [3, 1], [1, 2]],
    [[3, 2], [1, 1], [0, 3], [2, 0]],
    [[1, 3], [3, 0], [2, 2], [0, 1]],
    [[2, 1], [0, 2], [1, 0], [3, 3]],
];

/// Adds the grids of a group.
pub(super) fn find(group: &GroupView, coordinates: &[f64], n_elements: &[u32], grids: &mut Grids) {
    let nodes = || group.connectivity.par_chunks_exact(4);
    // Inside a grid 24 tetrahedra meet at a node, on its faces 12.
    let can_be_seed = |nodes: &[u32]| nodes.iter().all(|&node| [12, 24].contains(&n_elements[node as usize]));
    if nodes().filter(|nodes| can_be_seed(nodes)).count() * LEAST_SEEDS < group.labels.len() {
        return;
    }
    let state = nodes().map(|nodes| if can_be_seed(nodes) { State::Seed } else { State::Free }).collect();
    let around = Around::new(group, n_elements.len());
    let ends = vec![[false; 2]; n_elements.len()];
    Walk { group, coordinates, around, state, ends }.all(n_elements, grids);
}

/// State of a tetrahedron.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// In no grid, and a search may start here.
    Seed,
    /// In no grid.
    Free,
    Taken,
}

struct Walk<'a> {
    group: &'a GroupView<'a>,
    coordinates: &'a [f64],
    around: Around,
    state: Vec<State>,
    /// Whether each node is corner 0, and corner 6, of a cell of the grid that is being built.
    ends: Vec<[bool; 2]>,
}

/// A cell with its tetrahedra, in the order of [`RING`].
#[derive(Clone, Copy)]
struct Six {
    nodes: [u32; 8],
    elements: [u32; 6],
}

/// The tetrahedra round an edge, and the nodes between them.
struct Ring {
    ends: [u32; 2],
    nodes: [u32; 6],
    elements: [u32; 6],
}

impl Ring {
    /// The cell with the edge as its diagonal; node `from` of the ring is the first of [`RING`].
    fn cell(&self, from: usize) -> Six {
        let mut nodes = [0; 8];
        [nodes[0], nodes[6]] = self.ends;
        for (k, corner) in RING.into_iter().enumerate() {
            nodes[corner] = self.nodes[(from + k) % 6];
        }
        Six { nodes, elements: std::array::from_fn(|k| self.elements[(from + k) % 6]) }
    }
}

impl Walk<'_> {
    fn nodes(&self, element: u32) -> [u32; 4] {
        std::array::from_fn(|corner| self.group.connectivity[4 * element as usize + corner])
    }

    fn is_free(&self, element: u32, section: u32) -> bool {
        self.state[element as usize] != State::Taken && self.group.section[element as usize] == section
    }

    /// Finds all grids, each from the first remaining seed.
    fn all(mut self, n_elements: &[u32], grids: &mut Grids) {
        let mut again = true;
        while std::mem::take(&mut again) {
            for seed in 0..self.state.len() {
                if self.state[seed] != State::Seed {
                    continue;
                }
                let cells = self.best(seed as u32);
                if cells.is_empty() {
                    self.state[seed] = State::Free;
                    continue;
                }
                let pair = (self.group.kind, self.group.section[seed]);
                for number in grids.add(pair, cells.len(), |number| cells[number], n_elements) {
                    self.set(&cells[number], State::Seed);
                    again = true;
                }
            }
        }
    }

    /// The cells of the best grid round an element, which are taken then; empty if there is no grid. Elements that were visited
    /// are no seeds any more.
    fn best(&mut self, seed: u32) -> Vec<Cell> {
        let section = self.group.section[seed as usize];
        let mut best = None;
        let mut most = FEWEST - 1;
        for first in self.first_cells(seed) {
            let cells = self.reach(first, section);
            if cells.len() > most {
                if !self.leaves_some(&cells, section) {
                    self.forget_ends(&cells);
                    return cells;
                }
                (best, most) = (Some(first), cells.len());
            }
            self.forget_ends(&cells);
            cells.iter().for_each(|cell| self.set(cell, State::Free));
        }
        let cells = best.map_or_else(Vec::new, |first| self.reach(first, section));
        self.forget_ends(&cells);
        cells
    }

    /// The cells that an element may be in, the most likely first: the longest edge as the diagonal, and the nodes round it that
    /// are near its first node as those beside it.
    fn first_cells(&self, seed: u32) -> Vec<Six> {
        let nodes = self.nodes(seed);
        let distance = |a: u32, b: u32| -> f64 {
            let [a, b] = [a, b].map(|node| &self.coordinates[3 * node as usize..][..3]);
            a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let mut edges: Vec<[u32; 2]> = (0..4).flat_map(|i| (0..i).map(move |k| [nodes[k], nodes[i]])).collect();
        edges.sort_by(|[a, b], [c, d]| distance(*c, *d).total_cmp(&distance(*a, *b)));
        let mut cells = Vec::new();
        for [a, b] in edges {
            let Some(ring) = self.ring([a, b], self.group.section[seed as usize], self.around.of(a)) else {
                continue;
            };
            let near = |first: usize| (0..3).map(|k| distance(a, ring.nodes[first + 2 * k])).sum::<f64>();
            let first = usize::from(near(1) < near(0));
            cells.extend([ring.cell(first), ring.cell(1 - first)]);
        }
        cells
    }

    /// The cells of the same section that can be reached across faces, breadth first. Their elements are taken.
    fn reach(&mut self, first: Six, section: u32) -> Vec<Cell> {
        let mut cells = vec![Cell { nodes: first.nodes, at: [0; 3] }];
        // One element of each cell. Those of the next cell mostly have the same distance from it as in the step before.
        let mut elements = vec![first.elements[0]];
        let mut jumps = [[0; 6]; 6];
        let last = self.state.len() as u32 - 1;
        self.take(&first);
        let mut next = 0;
        while next < cells.len() {
            let (Cell { nodes, at }, element) = (cells[next], elements[next]);
            next += 1;
            for (direction, jumps) in jumps.iter_mut().enumerate() {
                let (_, known) = across(&nodes, direction);
                if self.ends[known as usize][end(direction)] {
                    continue;
                }
                let guess = jumps.map(|jump| element.wrapping_add(jump).min(last));
                let other = self.beside(&nodes, direction, section, &guess);
                let Some(other) = other.or_else(|| self.beside(&nodes, direction, section, self.around.of(known)))
                else {
                    continue;
                };
                *jumps = other.elements.map(|other| other.wrapping_sub(element));
                let mut at = at;
                at[direction % 3] += if direction < 3 { 1 } else { -1 };
                cells.push(Cell { nodes: other.nodes, at });
                elements.push(other.elements[0]);
                self.take(&other);
            }
        }
        cells
    }

    /// The cell across a face, made of free tetrahedra among `some`.
    fn beside(&self, nodes: &[u32; 8], direction: usize, section: u32, some: &[u32]) -> Option<Six> {
        let (face, known) = across(nodes, direction);
        // The other end of the diagonal. The tetrahedron on this side of the face has another node there.
        let behind = [nodes[0], nodes[6]][end(direction)];
        let other = some.iter().find_map(|&element| {
            let nodes = self.nodes(element);
            let beyond = face[..3].iter().all(|node| nodes.contains(node)) && self.is_free(element, section);
            nodes.into_iter().find(|node| beyond && *node != behind && !face.contains(node))
        })?;
        let ring = self.ring(if end(direction) == 0 { [known, other] } else { [other, known] }, section, some)?;
        // The other node of the diagonal of the face lies on the ring.
        let at = if end(direction) == 0 { 2 } else { 0 };
        let from = ring.nodes.iter().position(|&node| node == face[at])?;
        let to = RING.iter().position(|&corner| corner == FACES[direction][at][1])?;
        let cell = ring.cell(from + 6 - to);
        FACES[direction].iter().all(|&[here, there]| nodes[here] == cell.nodes[there]).then_some(cell)
    }

    /// Whether there are free elements beyond the faces of cells that have no neighbour there.
    fn leaves_some(&self, cells: &[Cell], section: u32) -> bool {
        cells.par_iter().any(|cell| {
            (0..6).any(|direction| {
                let (face, known) = across(&cell.nodes, direction);
                let beyond = |&element: &u32| {
                    let nodes = self.nodes(element);
                    let has = |k: usize| nodes.contains(&face[k]);
                    self.is_free(element, section) && has(0) && has(2) && (has(1) || has(3))
                };
                !self.ends[known as usize][end(direction)] && self.around.of(known).iter().any(beyond)
            })
        })
    }

    /// The ring round an edge, if six free tetrahedra of the section among `some` make it. Of several with the same nodes, the
    /// first is taken.
    fn ring(&self, ends: [u32; 2], section: u32, some: &[u32]) -> Option<Ring> {
        let mut found = [(0, [0; 2]); 6];
        let mut n = 0;
        for &element in some {
            let nodes = self.nodes(element);
            let [Some(a), Some(b)] = ends.map(|end| nodes.iter().position(|&node| node == end)) else {
                continue;
            };
            let between = BESIDE[a][b].map(|corner| nodes[corner]);
            if !self.is_free(element, section) || found[..n].iter().any(|&(_, other)| other == between) {
                continue;
            }
            if n == 6 {
                return None;
            }
            found[n] = (element, between);
            n += 1;
        }
        let mut ring = Ring { ends, nodes: [0; 6], elements: [0; 6] };
        let mut node = found[0].1[0];
        for k in 0..n {
            if ring.nodes[..k].contains(&node) || ends.contains(&node) {
                return None;
            }
            let (element, [_, next]) = *found.iter().find(|(_, [first, _])| *first == node)?;
            (ring.elements[k], ring.nodes[k]) = (element, node);
            node = next;
        }
        (n == 6 && node == ring.nodes[0]).then_some(ring)
    }

    fn take(&mut self, cell: &Six) {
        cell.elements.iter().for_each(|&element| self.state[element as usize] = State::Taken);
        self.ends[cell.nodes[0] as usize][0] = true;
        self.ends[cell.nodes[6] as usize][1] = true;
    }

    fn forget_ends(&mut self, cells: &[Cell]) {
        for cell in cells {
            self.ends[cell.nodes[0] as usize][0] = false;
            self.ends[cell.nodes[6] as usize][1] = false;
        }
    }

    /// Sets the state of all elements of a cell.
    fn set(&mut self, cell: &Cell, state: State) {
        for &element in self.around.of(cell.nodes[0]) {
            let nodes = self.nodes(element);
            if nodes.contains(&cell.nodes[6]) && nodes.iter().all(|node| cell.nodes.contains(node)) {
                self.state[element as usize] = state;
            }
        }
    }
}

/// The nodes of a face, and the one of them that is an end of the diagonal of the cell beyond: corner 0 forwards, corner 6 back.
fn across(nodes: &[u32; 8], direction: usize) -> ([u32; 4], u32) {
    let face = FACES[direction].map(|[here, _]| nodes[here]);
    (face, face[2 * end(direction)])
}

/// The end of the diagonal of a cell on the face that leads back.
fn end(direction: usize) -> usize {
    usize::from(direction >= 3)
}

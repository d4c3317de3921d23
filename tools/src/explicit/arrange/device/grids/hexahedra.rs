//! Hexahedra in a grid.

use pogo_formats::explicit::block::corner::ways_of;
use pogo_formats::mesh::GroupView;
use pogo_formats::system::parallel::iterate::*;

use super::{Around, Cell, FACES, FEWEST, Grids};

/// Adds the grids of a group.
pub(super) fn find(group: &GroupView, n_elements: &[u32], grids: &mut Grids) {
    // A collapsed element is in no grid.
    let collapsed = |nodes: &[u32]| (1..8).any(|i| nodes[..i].contains(&nodes[i]));
    let taken = group.connectivity.par_chunks_exact(8).map(collapsed).collect();
    let around = Around::new(group, n_elements.len());
    Walk { group, ways: ways_of(group.kind), around, taken }.all(n_elements, grids);
}

/// An element of a grid that is being built.
#[derive(Clone, Copy)]
struct Step {
    element: u32,
    /// Index of its orientation.
    way: u8,
    at: [i32; 3],
}

/// What lies across a face.
#[derive(Clone, Copy)]
struct Beyond {
    element: u32,
    /// Index of its orientation, if the grid goes on there.
    way: Option<u8>,
    /// Whether no other free element lies there.
    is_last: bool,
}

struct Walk<'a> {
    group: &'a GroupView<'a>,
    ways: Vec<[u8; 8]>,
    around: Around,
    taken: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn nodes(&self, element: u32) -> &'a [u32] {
        &self.group.connectivity[8 * element as usize..][..8]
    }

    fn cell(&self, step: &Step) -> Cell {
        let nodes = self.nodes(step.element);
        Cell { nodes: self.ways[usize::from(step.way)].map(|corner| nodes[usize::from(corner)]), at: step.at }
    }

    /// Finds all grids, each from the first element that is in no grid yet.
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
                    let pair = (self.group.kind, self.group.section[seed as usize]);
                    let contradicting = grids.add(pair, steps.len(), |number| self.cell(&steps[number]), n_elements);
                    left.extend(contradicting.into_iter().map(|number| steps[number].element));
                }
            }
            for &element in &left {
                self.taken[element as usize] = false;
            }
            seeds = left;
        }
    }

    /// The elements of the same section that can be reached across faces, breadth first.
    fn reach(&mut self, seed: u32) -> Vec<Step> {
        self.taken[seed as usize] = true;
        let mut steps = vec![Step { element: seed, way: 0, at: [0; 3] }];
        let mut next = 0;
        while next < steps.len() {
            // All threads look beyond the elements of a front, and one takes what they have found in turn.
            let front = &steps[next..];
            next = steps.len();
            let beyond: Vec<[Option<Beyond>; 6]> =
                front.par_iter().with_min_len(64).map(|step| self.beyond(step)).collect();
            for (from, beyond) in (next - beyond.len()..next).zip(beyond) {
                let from = steps[from];
                for (direction, found) in beyond.into_iter().enumerate() {
                    let found = match found {
                        Some(found) if !self.taken[found.element as usize] => found,
                        Some(Beyond { is_last: false, .. }) => match self.across(&from, &self.cell(&from), direction) {
                            Some(found) => found,
                            None => continue,
                        },
                        _ => continue,
                    };
                    let Beyond { element, way: Some(way), .. } = found else {
                        continue;
                    };
                    self.taken[element as usize] = true;
                    let mut at = from.at;
                    at[direction % 3] += if direction < 3 { 1 } else { -1 };
                    steps.push(Step { element, way, at });
                }
            }
        }
        steps
    }

    /// What lies across each face.
    fn beyond(&self, step: &Step) -> [Option<Beyond>; 6] {
        let cell = self.cell(step);
        std::array::from_fn(|direction| self.across(step, &cell, direction))
    }

    fn across(&self, step: &Step, cell: &Cell, direction: usize) -> Option<Beyond> {
        let on_face = FACES[direction].map(|[here, there]| (cell.nodes[here], there));
        let (element, is_last) = self.beside(on_face.map(|(node, _)| node))?;
        let nodes = self.nodes(element);
        let fits = |&way: &u8| {
            let corners = &self.ways[usize::from(way)];
            on_face.iter().all(|&(node, corner)| nodes[usize::from(corners[corner])] == node)
        };
        let same_section = self.group.section[element as usize] == self.group.section[step.element as usize];
        // Neighbours mostly have the same orientation.
        let mut ways = std::iter::once(step.way).chain(0..self.ways.len() as u8).filter(|_| same_section);
        Some(Beyond { element, way: ways.find(fits), is_last })
    }

    /// An element that is in no grid yet and has all four nodes, and whether there is no other one.
    fn beside(&self, face: [u32; 4]) -> Option<(u32, bool)> {
        let has_all = |&&element: &&u32| {
            !self.taken[element as usize] && face[1..].iter().all(|node| self.nodes(element).contains(node))
        };
        let mut found = self.around.of(face[0]).iter().filter(has_all);
        found.next().map(|&element| (element, found.next().is_none()))
    }
}

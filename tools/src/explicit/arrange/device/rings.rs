//! Rings of tetrahedra round edges.

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::ring::{RING_ELEMENTS, ring_row};

use super::items::Items;
use crate::rows::accumulate;

const NONE: u32 = u32::MAX;

/// Each edge of a tetrahedron with the other two nodes, in positive order.
const EDGES: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 2, 0], [2, 3, 0, 1]];

/// Fewest tetrahedra of a ring in each round.
const LEAST: [usize; 5] = [6, 5, 4, 3, 1];

/// Joins tetrahedra greedily, in the order of the run. Each takes the longest ring of free tetrahedra that it is in; of
/// several, the one with the closest numbers.
#[derive(Default)]
pub(super) struct Rings {
    /// The tetrahedron behind the face opposite to each node, (n, 4).
    beyond: Vec<u32>,
    taken: Vec<bool>,
    /// Length of the longest ring that was found for a tetrahedron; it can only become shorter.
    longest: Vec<u8>,
    /// Faces by their lowest node: the two others, and where the face is in `beyond`.
    first: Vec<u32>,
    faces: Vec<(u32, u32)>,
}

/// A ring that could be made.
struct Ring {
    elements: [u32; RING_ELEMENTS],
    n: usize,
    ends: [u16; 2],
    around: [u16; RING_ELEMENTS],
    n_around: usize,
    closed: bool,
}

impl Rings {
    /// Rings of `tetrahedra` in `rings`, the longest first.
    pub(super) fn join(&mut self, n_nodes: usize, tetrahedra: &Items, rings: &mut Items) {
        let n = tetrahedra.elements.len();
        rings.nodes.clear();
        rings.elements.clear();
        self.find_neighbours(n_nodes, &tetrahedra.nodes);
        self.taken.clear();
        self.taken.resize(n, false);
        self.longest.clear();
        self.longest.resize(n, RING_ELEMENTS as u8);
        let mut found: Vec<Ring> = Vec::new();
        for least in LEAST {
            for seed in 0..n as u32 {
                if self.taken[seed as usize] || usize::from(self.longest[seed as usize]) < least {
                    continue;
                }
                let ring = self.best(seed, &tetrahedra.nodes);
                self.longest[seed as usize] = ring.n as u8;
                if ring.n >= least {
                    ring.elements[..ring.n].iter().for_each(|&element| self.taken[element as usize] = true);
                    found.push(ring);
                }
            }
        }
        found.sort_by_key(|ring| std::cmp::Reverse(ring.n));
        for ring in found {
            rings.nodes.extend(ring_row(ring.ends, &ring.around[..ring.n_around], ring.closed));
            let element = |k: usize| {
                if k < ring.n { tetrahedra.elements[ring.elements[k] as usize] } else { DeviceTables::NO_ELEMENT }
            };
            rings.elements.extend((0..RING_ELEMENTS).map(element));
        }
    }

    fn best(&self, seed: u32, nodes: &[u16]) -> Ring {
        let mut best: Option<(usize, u32, Ring)> = None;
        for edge in EDGES {
            let ring = self.around(seed, edge, nodes);
            let elements = &ring.elements[..ring.n];
            let spread = elements.iter().max().unwrap_or(&0) - elements.iter().min().unwrap_or(&0);
            if best.as_ref().is_none_or(|(n, least, _)| ring.n > *n || (ring.n == *n && spread < *least)) {
                best = Some((ring.n, spread, ring));
            }
        }
        best.expect("there are six edges").2
    }

    /// The free tetrahedra round an edge of `seed`, at most as many as a row holds.
    fn around(&self, seed: u32, edge: [usize; 4], nodes: &[u16]) -> Ring {
        let node = |element: u32, corner: usize| nodes[4 * element as usize + corner];
        let [a, b, c, d] = edge.map(|corner| node(seed, corner));
        // The tetrahedron beyond the face (a, b, `shared`), opposite to `corner`; its other corner, and that of `shared`.
        let beyond = |forwards: bool, element: u32, corner: usize, shared: u16| {
            let next = self.beyond[4 * element as usize + corner];
            if next == NONE || self.taken[next as usize] {
                return None;
            }
            let corner = |of: u16| (0..4).find(|&k| node(next, k) == of);
            let other = (0..4).find(|&k| ![a, b, shared].contains(&node(next, k)))?;
            let (at_a, at_b, behind) = (corner(a)?, corner(b)?, corner(shared)?);
            // With the wrong order of nodes, both tetrahedra would lie on the same side of the face.
            let even = |corners: [usize; 4]| {
                (0..4).flat_map(|i| (0..i).map(move |k| (k, i))).filter(|&(k, i)| corners[k] > corners[i]).count() % 2
                    == 0
            };
            (even([at_a, at_b, behind, other]) == forwards).then_some((next, other, behind))
        };
        let mut ring = Ring {
            elements: [seed; RING_ELEMENTS],
            n: 1,
            ends: [a, b],
            around: [c, d, 0, 0, 0, 0],
            n_around: 2,
            closed: false,
        };
        // Forwards beyond (a, b, d), then backwards beyond (a, b, c).
        let (mut element, mut corner, mut shared) = (seed, edge[2], d);
        while let Some((next, other, behind)) = beyond(true, element, corner, shared) {
            if node(next, other) == c {
                // One more tetrahedron closes the ring.
                ring.elements[ring.n] = next;
                ring.n += 1;
                ring.closed = ring.n > 2;
                break;
            }
            if ring.n_around == RING_ELEMENTS || ring.around[..ring.n_around].contains(&node(next, other)) {
                break;
            }
            ring.elements[ring.n] = next;
            ring.n += 1;
            ring.around[ring.n_around] = node(next, other);
            ring.n_around += 1;
            (element, corner, shared) = (next, behind, node(next, other));
        }
        if ring.n == 2 && ring.n_around == 2 {
            // Two tetrahedra with the same nodes make no ring.
            ring.n = 1;
        }
        (element, corner, shared) = (seed, edge[3], c);
        while !ring.closed && ring.n_around < RING_ELEMENTS {
            let Some((next, other, behind)) = beyond(false, element, corner, shared) else { break };
            if ring.around[..ring.n_around].contains(&node(next, other)) {
                break;
            }
            ring.elements.copy_within(0..ring.n, 1);
            ring.elements[0] = next;
            ring.n += 1;
            ring.around.copy_within(0..ring.n_around, 1);
            ring.around[0] = node(next, other);
            ring.n_around += 1;
            (element, corner, shared) = (next, behind, node(next, other));
        }
        ring
    }

    /// Finds the tetrahedron beyond each face. Where more than two share a face, the first two are neighbours.
    fn find_neighbours(&mut self, n_nodes: usize, nodes: &[u16]) {
        let n = nodes.len() / 4;
        self.beyond.clear();
        self.beyond.resize(4 * n, NONE);
        self.first.clear();
        self.first.resize(n_nodes + 1, 0);
        let face = |at: usize| {
            let mut face = [0; 3];
            let corners = (0..4).filter(|&corner| corner != at % 4);
            face.iter_mut().zip(corners).for_each(|(to, corner)| *to = nodes[at / 4 * 4 + corner]);
            face.sort_unstable();
            face
        };
        for at in 0..4 * n {
            self.first[usize::from(face(at)[0])] += 1;
        }
        accumulate(&mut self.first);
        self.faces.clear();
        self.faces.resize(4 * n, (0, 0));
        for at in (0..4 * n).rev() {
            let [low, middle, high] = face(at);
            let first = &mut self.first[usize::from(low)];
            *first -= 1;
            self.faces[*first as usize] = (u32::from(middle) << 16 | u32::from(high), at as u32);
        }
        for bounds in self.first.windows(2) {
            let faces = &mut self.faces[bounds[0] as usize..bounds[1] as usize];
            faces.sort_unstable();
            let mut i = 0;
            while i + 1 < faces.len() {
                let ((key, one), (other_key, other)) = (faces[i], faces[i + 1]);
                if key == other_key {
                    self.beyond[one as usize] = other / 4;
                    self.beyond[other as usize] = one / 4;
                    i += 1;
                }
                i += 1;
            }
        }
    }
}

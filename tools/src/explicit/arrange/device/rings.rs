//! Rings of tetrahedra round edges.

use pogo_formats::explicit::block::DeviceTables;
use pogo_formats::explicit::block::ring::{RING_ELEMENTS, ring_row};

use super::items::Items;

const NONE: u32 = u32::MAX;

/// Each edge of a tetrahedron with the other two nodes, in positive order.
const EDGES: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 2, 0], [2, 3, 0, 1]];

/// Fewest tetrahedra of a ring in each round.
const LEAST: [usize; 5] = [6, 5, 4, 3, 1];

/// Joins tetrahedra greedily, in the order of the run. Each takes the longest ring of free tetrahedra that it is in; of
/// several, the one with the closest numbers.
#[derive(Default)]
pub(super) struct Rings {
    /// What lies beyond the face opposite to each node, (n, 4).
    beyond: Vec<Beyond>,
    taken: Vec<bool>,
    /// Length of the longest ring that was found for a tetrahedron; it can only become shorter.
    longest: Vec<u8>,
    /// Faces whose second tetrahedron is looked for, by the hash of their nodes: these, and where the face is in `beyond`.
    faces: Vec<(u64, u32)>,
}

/// A tetrahedron beyond a face.
#[derive(Clone, Copy)]
struct Beyond {
    element: u32,
    /// Its corner that is at each corner of the tetrahedron on this side, two bits each. What is opposite to the face here
    /// stands for what is opposite to it there.
    corners: u8,
}

impl Beyond {
    const NOTHING: Self = Self { element: NONE, corners: 0 };

    fn corner(self, here: usize) -> usize {
        usize::from(self.corners >> (2 * here) & 3)
    }
}

/// Whether an even number of exchanges sorts four corners, by the corners in two bits each.
const EVEN: [bool; 256] = {
    let mut even = [false; 256];
    let mut word = 0;
    while word < 256 {
        let (mut sign, mut i) = (true, 0);
        while i < 4 {
            let mut k = 0;
            while k < i {
                sign ^= word >> (2 * k) & 3 > word >> (2 * i) & 3;
                k += 1;
            }
            i += 1;
        }
        even[word] = sign;
        word += 1;
    }
    even
};

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
    pub(super) fn join(&mut self, tetrahedra: &Items, rings: &mut Items) {
        let n = tetrahedra.elements.len();
        rings.nodes.clear();
        rings.elements.clear();
        self.find_neighbours(&tetrahedra.nodes);
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
        let mut ring = Ring {
            elements: [seed; RING_ELEMENTS],
            n: 1,
            ends: [a, b],
            around: [c, d, 0, 0, 0, 0],
            n_around: 2,
            closed: false,
        };
        // Forwards beyond (a, b, d), then backwards beyond (a, b, c).
        let (mut element, mut corners) = (seed, edge);
        while let Some((next, there)) = self.step(element, corners, true) {
            let other = node(next, there[3]);
            if other == c {
                // One more tetrahedron closes the ring.
                ring.elements[ring.n] = next;
                ring.n += 1;
                ring.closed = ring.n > 2;
                break;
            }
            if ring.n_around == RING_ELEMENTS || ring.around[..ring.n_around].contains(&other) {
                break;
            }
            ring.elements[ring.n] = next;
            ring.n += 1;
            ring.around[ring.n_around] = other;
            ring.n_around += 1;
            (element, corners) = (next, there);
        }
        if ring.n == 2 && ring.n_around == 2 {
            // Two tetrahedra with the same nodes make no ring.
            ring.n = 1;
        }
        (element, corners) = (seed, [edge[0], edge[1], edge[3], edge[2]]);
        while !ring.closed && ring.n_around < RING_ELEMENTS {
            let Some((next, there)) = self.step(element, corners, false) else { break };
            let other = node(next, there[3]);
            if ring.around[..ring.n_around].contains(&other) {
                break;
            }
            ring.elements.copy_within(0..ring.n, 1);
            ring.elements[0] = next;
            ring.n += 1;
            ring.around.copy_within(0..ring.n_around, 1);
            ring.around[0] = other;
            ring.n_around += 1;
            (element, corners) = (next, there);
        }
        ring
    }

    /// The free tetrahedron beyond a face, with its corners in the order of those here: the two ends of the edge, the corner
    /// opposite to the face, and the third corner of the face. They are those of the next face to cross.
    fn step(&self, element: u32, [a, b, opposite, shared]: [usize; 4], forwards: bool) -> Option<(u32, [usize; 4])> {
        let beyond = self.beyond[4 * element as usize + opposite];
        if beyond.element == NONE || self.taken[beyond.element as usize] {
            return None;
        }
        let there = [a, b, shared, opposite].map(|corner| beyond.corner(corner));
        // With the wrong order of nodes, both tetrahedra would lie on the same side of the face.
        let word = there[0] | there[1] << 2 | there[2] << 4 | there[3] << 6;
        (EVEN[word] == forwards).then_some((beyond.element, there))
    }

    /// Finds the tetrahedron beyond each face. Where more than two share a face, the first two are neighbours.
    fn find_neighbours(&mut self, nodes: &[u16]) {
        const FREE: u64 = u64::MAX;
        let tetrahedra = nodes.as_chunks::<4>().0;
        self.beyond.clear();
        self.beyond.resize(nodes.len(), Beyond::NOTHING);
        let size = (nodes.len() + nodes.len() / 2).next_power_of_two();
        self.faces.clear();
        self.faces.resize(size, (FREE, NONE));
        for (element, nodes) in (0..).zip(tetrahedra) {
            for corner in 0..4 {
                let [low, middle, high] = face(*nodes, corner);
                let key = u64::from(low) << 32 | u64::from(middle) << 16 | u64::from(high);
                let mut place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1);
                while self.faces[place].0 != FREE && self.faces[place].0 != key {
                    place = (place + 1) & (size - 1);
                }
                let at = 4 * element + corner as u32;
                match self.faces[place].1 {
                    NONE => self.faces[place] = (key, at),
                    other => {
                        self.join_at(at, other, tetrahedra);
                        // A third one would look for a fourth.
                        self.faces[place].1 = NONE;
                    }
                }
            }
        }
    }

    /// Makes the tetrahedra on both sides of a face neighbours; the places are those in `beyond`.
    fn join_at(&mut self, one: u32, other: u32, tetrahedra: &[[u16; 4]]) {
        for (here, there) in [(one, other), (other, one)] {
            let (nodes, beyond) = (tetrahedra[here as usize / 4], tetrahedra[there as usize / 4]);
            let corner = |k: usize| match k == here as usize % 4 {
                true => there as usize % 4,
                false => beyond.iter().position(|&node| node == nodes[k]).unwrap_or(0),
            };
            let corners = (0..4).fold(0, |word, k| word | corner(k) << (2 * k)) as u8;
            self.beyond[here as usize] = Beyond { element: there / 4, corners };
        }
    }
}

/// The nodes of the face opposite to a corner, ascending.
fn face(nodes: [u16; 4], corner: usize) -> [u16; 3] {
    let [mut a, mut b, mut c] = match corner {
        0 => [nodes[1], nodes[2], nodes[3]],
        1 => [nodes[0], nodes[2], nodes[3]],
        2 => [nodes[0], nodes[1], nodes[3]],
        _ => [nodes[0], nodes[1], nodes[2]],
    };
    (a, b) = (a.min(b), a.max(b));
    (b, c) = (b.min(c), b.max(c));
    (a, b) = (a.min(b), a.max(b));
    [a, b, c]
}

//! Nodes by their position: the nearest to a point, along a line, in a box, on a side.

use std::cell::{Cell, OnceCell};

use pogo_formats::job::Sides;
use pogo_formats::mesh::Mesh;
use pogo_formats::system::parallel::iterate::*;
use rstar::primitives::GeomWithData;
use rstar::{PointDistance, RTree};

use crate::elements::{dot, elements, faces, norm, position, round, sub};

/// Searches that look at every node. The tree takes as long to make as some hundred of them.
const SCANS: usize = 64;

/// Positions, padded to three coordinates.
type Position = [f64; 3];

/// Finds nodes of a mesh by position. Its tables are made when they are first needed.
pub struct Geometry<'a> {
    mesh: &'a Mesh,
    lower: Position,
    upper: Position,
    n_searches: Cell<usize>,
    tree: OnceCell<RTree<GeomWithData<Position, u32>>>,
    element_size: OnceCell<Vec<f32>>,
}

/// A node near a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    pub node: u32,
    /// Another node at the same place, as on the other face of a crack.
    pub twin: Option<u32>,
    /// Distance from the point, m.
    pub distance: f64,
}

/// The nodes along a segment and how much of it belongs to each.
#[derive(Debug, Clone, PartialEq)]
pub struct AlongLine {
    /// Node indices, from the first end to the second.
    pub nodes: Vec<u32>,
    /// Fractions of the length, (n,), sum 1.
    pub weights: Vec<f64>,
    /// Largest distance of a node from the segment, m.
    pub distance: f64,
    /// No nodes lie on the segment; those within half an element of it were taken.
    pub loose: bool,
}

impl<'a> Geometry<'a> {
    /// Finds nodes of this mesh.
    pub fn new(mesh: &'a Mesh) -> Self {
        let none = || [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        let both = |[low, high]: [Position; 2], [lower, upper]: [Position; 2]| {
            [[0, 1, 2].map(|axis| low[axis].min(lower[axis])), [0, 1, 2].map(|axis| high[axis].max(upper[axis]))]
        };
        let with = |bounds, node| both(bounds, [position(mesh, node); 2]);
        let [lower, upper] = (0..mesh.n_nodes() as u32).into_par_iter().fold(none, with).reduce(none, both);
        let (n_searches, tree) = (Cell::new(0), OnceCell::new());
        Self { mesh, lower, upper, n_searches, tree, element_size: OnceCell::new() }
    }

    /// Finds particles that are about `spacing` from each other, m.
    pub fn of_particles(mesh: &'a Mesh, spacing: f64) -> Self {
        let geometry = Self::new(mesh);
        let element_size = OnceCell::from(vec![spacing as f32; mesh.n_nodes()]);
        Self { element_size, ..geometry }
    }

    pub fn mesh(&self) -> &'a Mesh {
        self.mesh
    }

    /// Corners of the bounding box, m.
    pub fn bounds(&self) -> (Position, Position) {
        (self.lower, self.upper)
    }

    pub fn position(&self, node: u32) -> Position {
        position(self.mesh, node)
    }

    /// Distance by which rounding in a deck may move a node, m: decks carry six or seven digits.
    pub fn rounding(&self) -> f64 {
        1e-6 * norm(sub(self.upper, self.lower))
    }

    /// The nearest node; of several at the same distance the one with the lowest index. `None` in an empty mesh.
    pub fn nearest(&self, point: Position) -> Option<Nearest> {
        self.n_searches.set(self.n_searches.get() + 1);
        let ties =
            if self.n_searches.get() <= SCANS { self.nearest_by_scan(point) } else { self.nearest_in_tree(point) };
        let node = *ties.iter().min()?;
        let position = self.position(node);
        let twins = ties.into_iter().filter(|&tie| tie != node && self.position(tie) == position);
        Some(Nearest { node, twin: twins.min(), distance: position.distance_2(&point).sqrt() })
    }

    /// The nodes at the least distance, of all nodes.
    fn nearest_by_scan(&self, point: Position) -> Vec<u32> {
        let nodes = || (0..self.mesh.n_nodes() as u32).into_par_iter();
        let distance = |node: u32| position(self.mesh, node).distance_2(&point);
        let least = nodes().map(distance).reduce(|| f64::INFINITY, f64::min);
        nodes().filter(|&node| distance(node) == least).collect()
    }

    /// The same by a tree, which is made when it is first needed.
    fn nearest_in_tree(&self, point: Position) -> Vec<u32> {
        let tree = self.tree.get_or_init(|| {
            let nodes = 0..self.mesh.n_nodes() as u32;
            RTree::bulk_load(nodes.map(|node| GeomWithData::new(self.position(node), node)).collect())
        });
        tree.nearest_neighbors(&point).into_iter().map(|found| found.data).collect()
    }

    /// Longest edge of the elements at a node, m.
    pub fn element_size(&self, node: u32) -> f64 {
        let sizes = self.element_size.get_or_init(|| {
            let mut sizes = vec![0.0_f32; self.mesh.n_nodes()];
            for (kind, element) in elements(self.mesh) {
                let mut longest = 0.0_f64;
                for face in faces(kind, element) {
                    let face = round(&face);
                    for (&a, &b) in face.iter().zip(face.iter().cycle().skip(1)) {
                        let edge = sub(self.position(a), self.position(b));
                        longest = longest.max(dot(edge, edge));
                    }
                }
                let longest = longest.sqrt() as f32;
                for &node in element {
                    let size = &mut sizes[node as usize];
                    *size = size.max(longest);
                }
            }
            sizes
        });
        f64::from(sizes[node as usize])
    }

    /// Nodes at most `tolerance` from the segment. Without a tolerance: nodes on it, up to rounding, if there is no gap between
    /// them, or else those within half the local element size. `None` if there is no node or the ends are the same.
    pub fn along_line(&self, ends: [Position; 2], tolerance: Option<f64>) -> Option<AlongLine> {
        let direction = sub(ends[1], ends[0]);
        let length = norm(direction);
        if !length.is_normal() {
            return None;
        }
        let find = |limit: &dyn Fn(u32) -> f64| {
            let mut found: Vec<(f64, u32, f64)> = Vec::new();
            for node in 0..self.mesh.n_nodes() as u32 {
                let from_start = sub(self.position(node), ends[0]);
                let along = (dot(from_start, direction) / length).clamp(0.0, length);
                let fraction = along / length;
                let foot = [0, 1, 2].map(|axis| ends[0][axis] + fraction * direction[axis]);
                let distance = norm(sub(self.position(node), foot));
                if distance <= limit(node) {
                    found.push((along, node, distance));
                }
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            found
        };
        let rounding = self.rounding();
        let mut loose = false;
        let mut found = find(&|_| tolerance.unwrap_or(rounding));
        if tolerance.is_none() && !self.without_gap(&found, length) {
            found = find(&|node| 0.5 * self.element_size(node));
            loose = true;
        }
        if found.is_empty() {
            return None;
        }
        let along: Vec<f64> = found.iter().map(|item| item.0).collect();
        Some(AlongLine {
            nodes: found.iter().map(|item| item.1).collect(),
            weights: tributary_fractions(&along, length),
            distance: found.iter().fold(0.0, |largest, item| item.2.max(largest)),
            loose,
        })
    }

    /// Whether neighbours along the line, and its ends, are at most one element size apart.
    fn without_gap(&self, found: &[(f64, u32, f64)], length: f64) -> bool {
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return false };
        let size = |node: u32| 1.001 * self.element_size(node);
        first.0 <= size(first.1)
            && length - last.0 <= size(last.1)
            && found.windows(2).all(|pair| pair[1].0 - pair[0].0 <= size(pair[0].1).min(size(pair[1].1)))
    }

    /// Nodes between two corners, in any order of the corners.
    pub fn in_box(&self, corners: [Position; 2], tolerance: f64) -> Vec<u32> {
        self.filter(|position| {
            (0..3).all(|axis| {
                let (low, high) = (corners[0][axis].min(corners[1][axis]), corners[0][axis].max(corners[1][axis]));
                position[axis] >= low - tolerance && position[axis] <= high + tolerance
            })
        })
    }

    /// Nodes on any of these sides of the bounding box.
    pub fn on_sides(&self, sides: &Sides, tolerance: f64) -> Vec<u32> {
        let (lower, upper) = self.bounds();
        self.filter(|position| {
            sides.0.iter().any(|&(axis, is_upper)| {
                let axis = usize::from(axis);
                let plane = if is_upper { upper[axis] } else { lower[axis] };
                (position[axis] - plane).abs() <= tolerance
            })
        })
    }

    fn filter(&self, keep: impl Fn(Position) -> bool + Sync) -> Vec<u32> {
        let mesh = self.mesh;
        (0..mesh.n_nodes() as u32).into_par_iter().filter(|&node| keep(position(mesh, node))).collect()
    }
}

/// The fraction of a segment [0, `length`] that is nearest to each of these increasing positions: the nodal forces of a
/// uniform line load. On a row of elements with the ends of the segment this is half an edge at the ends, and the mean of two
/// edges between. Nodes at one place, as on both faces of a crack, get equal parts.
pub fn tributary_fractions(along: &[f64], length: f64) -> Vec<f64> {
    let mut shares = Vec::with_capacity(along.len());
    let mut start = 0.0;
    for place in along.chunk_by(|a, b| a == b) {
        let next = along.get(shares.len() + place.len());
        let end = next.map_or(length, |next| 0.5 * (place[0] + next));
        shares.extend(place.iter().map(|_| (end - start) / length / place.len() as f64));
        start = end;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_and_a_tree_find_the_same_nodes() {
        // Points of a coarse grid, so that several are at one distance or at one place.
        let mut state = 1_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let coordinates = (0..3 * 500).map(|_| random(7) as f64).collect();
        let mesh = Mesh { dimension: 3, coordinates, node_labels: (1..=500).collect(), ..Mesh::default() };
        let geometry = Geometry::new(&mesh);
        for _ in 0..100 {
            let point = [0; 3].map(|_| 0.5 * random(15) as f64);
            let [mut one, mut other] = [geometry.nearest_by_scan(point), geometry.nearest_in_tree(point)];
            one.sort_unstable();
            other.sort_unstable();
            assert!(!one.is_empty());
            assert_eq!(one, other, "{point:?}");
        }
    }
}

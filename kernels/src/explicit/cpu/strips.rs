//! Triangles in strips: each beside the one before, so that one node more is all that it needs.

use super::plane::{FILLER_ROWS, ROWS_AT_ONCE, shape_numbers};
use crate::simd::Real;

/// No triangle, and no node.
const NONE: u32 = u32::MAX;
const NO_NODE: u16 = u16::MAX;

/// Nodes s₀, s₁, s₂, … and triangles t₀, t₁, …: triangle t_k is (s_k, s_{k+1}, s_{k+2}), turned either way.
pub(super) type Strip = (Vec<u16>, Vec<u32>);

/// Cuts triangles into strips. `connectivity` is (n, 3).
///
/// Greedy: the triangle with the fewest free neighbours comes first, and goes into the longest of the three strips that it
/// could be in. The same for the same input.
pub(super) fn find_strips(connectivity: &[u16]) -> Vec<Strip> {
    let mut strips = Finder::new(connectivity).find();
    // Long ones first: the lanes that take one after the other end together.
    strips.sort_by_key(|strip| std::cmp::Reverse(strip.0.len()));
    strips
}

struct Finder {
    nodes: Vec<[u16; 3]>,
    /// The triangle across the side opposite to each node.
    neighbours: Vec<[u32; 3]>,
    used: Vec<bool>,
    /// The last walk that came to a triangle.
    seen: Vec<u32>,
    walk: u32,
}

impl Finder {
    fn new(connectivity: &[u16]) -> Self {
        let nodes: Vec<[u16; 3]> = connectivity.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect();
        // Sides with their triangle and the corner opposite, those of two neighbours next to each other.
        let mut sides: Vec<(u32, u32)> = Vec::with_capacity(3 * nodes.len());
        for (t, nodes) in nodes.iter().enumerate() {
            for corner in 0..3 {
                let (a, b) = (u32::from(nodes[(corner + 1) % 3]), u32::from(nodes[(corner + 2) % 3]));
                sides.push((a.min(b) << 16 | a.max(b), (3 * t + corner) as u32));
            }
        }
        sides.sort_unstable();
        let mut neighbours = vec![[NONE; 3]; nodes.len()];
        for side in sides.chunk_by(|a, b| a.0 == b.0) {
            if let &[(_, a), (_, b)] = side {
                neighbours[a as usize / 3][a as usize % 3] = b / 3;
                neighbours[b as usize / 3][b as usize % 3] = a / 3;
            }
        }
        let n = nodes.len();
        Self { nodes, neighbours, used: vec![false; n], seen: vec![NONE; n], walk: 0 }
    }

    fn find(mut self) -> Vec<Strip> {
        let mut strips = Vec::new();
        // Free triangles by their free neighbours; those that have fewer by now stand in another list, too.
        let mut waiting: [Vec<u32>; 4] = Default::default();
        for t in (0..self.nodes.len() as u32).rev() {
            waiting[self.free_neighbours(t)].push(t);
        }
        while let Some(t) = waiting.iter_mut().find_map(Vec::pop) {
            if self.used[t as usize] {
                continue;
            }
            let strip = self.longest(t);
            for &t in &strip.1 {
                self.used[t as usize] = true;
            }
            for &t in &strip.1 {
                for other in self.neighbours[t as usize] {
                    if other != NONE && !self.used[other as usize] {
                        waiting[self.free_neighbours(other)].push(other);
                    }
                }
            }
            strips.push(strip);
        }
        strips
    }

    fn free_neighbours(&self, t: u32) -> usize {
        self.neighbours[t as usize].iter().filter(|&&other| other != NONE && !self.used[other as usize]).count()
    }

    /// The longest strip through a triangle.
    fn longest(&mut self, t: u32) -> Strip {
        let nodes = self.nodes[t as usize];
        let mut best = Strip::default();
        for middle in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|k| nodes[(middle + 2 + k) % 3]);
            self.walk += 1;
            self.seen[t as usize] = self.walk;
            let mut path = (vec![c, b, a], vec![t]);
            self.follow(t, &mut path);
            path.0.reverse();
            path.1.reverse();
            self.follow(t, &mut path);
            if path.1.len() > best.1.len() {
                best = path;
            }
        }
        best
    }

    /// Lengthens a strip that ends with triangle `t` as far as it goes.
    fn follow(&mut self, mut t: u32, (nodes, triangles): &mut Strip) {
        while let &[.., a, b, c] = nodes.as_slice() {
            let Some(corner) = self.nodes[t as usize].iter().position(|&node| node == a) else { break };
            let next = self.neighbours[t as usize][corner];
            if next == NONE || self.used[next as usize] || self.seen[next as usize] == self.walk {
                break;
            }
            let Some(&node) = self.nodes[next as usize].iter().find(|&&node| node != b && node != c) else { break };
            self.seen[next as usize] = self.walk;
            nodes.push(node);
            triangles.push(next);
            t = next;
        }
    }
}

/// Strips side by side, a lane each, one after the other.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rows {
    /// The node that comes to each lane, (n_rows, lanes). The first two and the last [`FILLER_ROWS`], and what is between
    /// two strips where that is needed, hold the filler. But for as many there are a multiple of [`ROWS_AT_ONCE`].
    pub nodes: Vec<u16>,
    /// The triangle that this node and the two before make, (n_rows, lanes).
    pub triangles: Vec<Option<u32>>,
}

/// Gives each strip to the lane that is free first. Lanes 2k and 2k + 1 never have the same node in one row, but the filler.
pub(super) fn rows(strips: &[Strip], lanes: usize, filler: u16) -> Rows {
    if strips.is_empty() {
        return Rows::default();
    }
    let mut columns: Vec<Vec<(u16, Option<u32>)>> = vec![vec![(NO_NODE, None); 2]; lanes];
    for (nodes, triangles) in strips {
        let Some(lane) = (0..lanes).min_by_key(|&lane| columns[lane].len()) else { break };
        let mut start = columns[lane].len();
        if let Some(other) = columns.get(lane ^ 1) {
            let meets = |start: usize| nodes.iter().zip(other.iter().skip(start)).any(|(node, other)| *node == other.0);
            while meets(start) {
                start += 1;
            }
        }
        columns[lane].resize(start, (NO_NODE, None));
        let triangles = [None; 2].into_iter().chain(triangles.iter().map(|&t| Some(t)));
        columns[lane].extend(nodes.iter().copied().zip(triangles));
    }
    let n_rows = columns.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(ROWS_AT_ONCE) + FILLER_ROWS;
    let mut rows = Rows { nodes: Vec::with_capacity(n_rows * lanes), triangles: Vec::with_capacity(n_rows * lanes) };
    for row in 0..n_rows {
        for column in &columns {
            let (node, triangle) = column.get(row).copied().unwrap_or((NO_NODE, None));
            rows.nodes.push(if node == NO_NODE { filler } else { node });
            rows.triangles.push(triangle);
        }
    }
    rows
}

/// What [`add_strips`](super::plane::add_strips) reads of rows, (n_rows, 3 or 1, lanes): `position` of a local node, and what
/// the weight of a triangle is times |det J|.
pub(super) fn shapes<T: Real>(
    rows: &Rows,
    (lanes, edges): (usize, bool),
    position: impl Fn(u16) -> [f64; 2],
    weight: impl Fn(u32) -> f64,
) -> Vec<T> {
    let numbers = shape_numbers(edges);
    let mut shapes = vec![T::default(); numbers * rows.nodes.len()];
    let edge = |i: usize| {
        let [to, from] = [position(rows.nodes[i]), position(rows.nodes[i - lanes])];
        [to[0] - from[0], to[1] - from[1]]
    };
    for (i, triangle) in rows.triangles.iter().enumerate() {
        let Some(triangle) = *triangle else { continue };
        let (before, last) = (edge(i - lanes), edge(i));
        let double_area = (before[0] * last[1] - before[1] * last[0]).abs();
        let mut set = |i: usize, k: usize, value: f64| {
            shapes[(i / lanes * numbers + k) * lanes + i % lanes] = T::from_f64(value);
        };
        for c in 0..if edges { 2 } else { 0 } {
            set(i - lanes, c, before[c]);
            set(i, c, last[c]);
        }
        set(i, numbers - 1, weight(triangle) / double_area);
    }
    shapes
}

/// What [`add_fluid_strips`](super::fluid::add_fluid_strips) reads of rows, (n_rows, 2, lanes): what the edge from the node
/// before, and that from the node before it, lets through. `position` is of a local node; `weight` is of a triangle.
///
/// The forces of a triangle are f_I = Σ_J w_IJ (q_I − q_J), w_IJ = ½/ρ cot of the angle opposite to the edge IJ. Two
/// triangles on an edge add up.
pub(super) fn conductances<T: Real>(
    rows: &Rows,
    lanes: usize,
    position: impl Fn(u16) -> [f64; 2],
    weight: impl Fn(u32) -> f64,
) -> Vec<T> {
    let mut sums = vec![0.0; 2 * rows.nodes.len()];
    let at = |i: usize, k: usize| (i / lanes * 2 + k) * lanes + i % lanes;
    for (i, triangle) in rows.triangles.iter().enumerate() {
        let Some(triangle) = *triangle else { continue };
        let x = [i - 2 * lanes, i - lanes, i].map(|i| position(rows.nodes[i]));
        let edge = |to: usize, from: usize| [x[to][0] - x[from][0], x[to][1] - x[from][1]];
        let double_area = {
            let (a, b) = (edge(1, 0), edge(2, 1));
            (a[0] * b[1] - a[1] * b[0]).abs()
        };
        // The cotangent at a corner is the product of the edges from it over the double area.
        let conductance = |corner: usize| {
            let (a, b) = (edge((corner + 1) % 3, corner), edge((corner + 2) % 3, corner));
            weight(triangle) * (a[0] * b[0] + a[1] * b[1]) / double_area
        };
        sums[at(i, 0)] += conductance(0);
        sums[at(i - lanes, 0)] += conductance(2);
        sums[at(i, 1)] += conductance(1);
    }
    sums.into_iter().map(T::from_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::super::dispatch::add_forces;
    use super::super::forces::Batches;
    use super::super::law::{Law, grain};
    use pogo_formats::mesh::ElementLaw;

    use super::*;
    use crate::explicit::units::Material;
    use crate::simd::Level;
    use crate::test_support::noise;

    const TRIANGLE: Law = Law::Element(ElementLaw::Triangle);

    fn sorted(mut triangles: Vec<[u16; 3]>) -> Vec<[u16; 3]> {
        triangles.iter_mut().for_each(|t| t.sort_unstable());
        triangles.sort_unstable();
        triangles
    }

    /// A grid of squares, each cut by a diagonal of any direction, then a few triangles on one edge.
    fn mesh(n: u16) -> Vec<u16> {
        let mut connectivity = Vec::new();
        for j in 0..n {
            for i in 0..n {
                let [p, q] = [j * (n + 1) + i, j * (n + 1) + i + 1];
                let [r, s] = [q + n + 1, p + n + 1];
                if noise(u64::from(p)) > 0.0 {
                    connectivity.extend([p, q, r, r, s, p]);
                } else {
                    connectivity.extend([q, r, s, s, p, q]);
                }
            }
        }
        let last = (n + 1) * (n + 1);
        connectivity.extend([0, 1, last, 0, 1, last + 1]);
        connectivity
    }

    #[test]
    fn every_triangle_is_in_one_strip_and_strips_are_long() {
        for n in [1, 7, 30] {
            let connectivity = mesh(n);
            let strips = find_strips(&connectivity);
            let found = strips.iter().flat_map(|strip| strip.0.windows(3).map(|t| [t[0], t[1], t[2]])).collect();
            let given = connectivity.chunks(3).map(|t| [t[0], t[1], t[2]]).collect();
            assert_eq!(sorted(found), sorted(given));
            for (nodes, triangles) in &strips {
                assert_eq!(nodes.len(), triangles.len() + 2);
                for (three, &t) in nodes.windows(3).zip(triangles) {
                    assert!(connectivity[3 * t as usize..][..3].iter().all(|node| three.contains(node)));
                }
            }
            assert!(n < 30 || strips.len() * 6 < connectivity.len() / 3, "{} strips", strips.len());
        }
        assert!(find_strips(&[]).is_empty());
    }

    #[test]
    fn rows_keep_the_triangles_and_two_lanes_never_meet() {
        const FILLER: u16 = 5000;
        for (n, lanes) in [(1, 8), (3, 4), (30, 1), (30, 4), (30, 8)] {
            let strips = find_strips(&mesh(n));
            let rows = rows(&strips, lanes, FILLER);
            let row = |i: usize| &rows.nodes[i * lanes..(i + 1) * lanes];
            let n_rows = rows.nodes.len() / lanes;
            assert_eq!(n_rows % ROWS_AT_ONCE, FILLER_ROWS % ROWS_AT_ONCE);
            for i in (0..2).chain(n_rows - FILLER_ROWS..n_rows) {
                assert!(row(i).iter().all(|&node| node == FILLER));
                assert!(rows.triangles[i * lanes..(i + 1) * lanes].iter().all(Option::is_none));
            }
            let mut found = Vec::new();
            for i in 0..n_rows {
                for lane in (0..lanes).filter(|lane| rows.triangles[i * lanes + lane].is_some()) {
                    found.push([row(i - 2)[lane], row(i - 1)[lane], row(i)[lane]]);
                }
                for two in row(i).chunks_exact(2).filter(|_| lanes > 1) {
                    assert!(two[0] != two[1] || two[0] == FILLER);
                }
            }
            assert_eq!(sorted(found), sorted(mesh(n).chunks(3).map(|t| [t[0], t[1], t[2]]).collect()));
        }
        assert_eq!(rows(&[], 8, FILLER), Rows::default());
    }

    /// f_int of nodes with displacements and positions, (n_nodes, 4).
    fn forces<T: Real>(
        level: Level,
        law: Law,
        material: &Material<f64>,
        (nodes, factors): (&[u16], &[T]),
        records: &[f64],
    ) -> Vec<f64> {
        let offsets: Vec<u16> = nodes.iter().map(|node| grain(2) as u16 * node).collect();
        let numbers = if matches!(law, Law::Element(_)) { 4 } else { 2 };
        let columns = |columns: std::ops::Range<usize>| -> Vec<T> {
            let records = records.chunks_exact(4).flat_map(|record| &record[columns.clone()]);
            records.map(|&value| T::from_f64(value)).collect()
        };
        let (records, positions) = (columns(0..numbers), columns(2..4));
        let mut forces = vec![T::default(); 2 * records.len() / numbers];
        let material = material.narrow();
        let ahead = (records.as_ptr(), 0);
        let (positions, positions_ahead) = (positions.as_ptr(), positions.as_ptr());
        let batches = Batches { offsets: &offsets, factors, positions, material: &material, ahead, positions_ahead };
        // SAFETY: the nodes have records and forces.
        unsafe { add_forces(level, law, &batches, records.as_ptr(), forces.as_mut_ptr()) };
        forces.into_iter().map(T::to_f64).collect()
    }

    /// Triangles and the records of their nodes: u, then x on the grid, moved a little; the last two nodes above the edge that
    /// their triangles share; the filler.
    fn jittered_mesh() -> (Vec<u16>, Vec<f64>) {
        const N: u16 = 12;
        let n_nodes = (N + 1) * (N + 1) + 2;
        let mut records = Vec::new();
        for node in 0..n_nodes {
            let (i, j) = if node < n_nodes - 2 { (node % (N + 1), node / (N + 1)) } else { (0, 1) };
            for (c, base) in [0.0, 0.0, f64::from(i), f64::from(j)].into_iter().enumerate() {
                let size = if c < 2 { 1.0 } else { 0.2 };
                records.push(f64::from((base + size * noise(u64::from(node) * 4 + c as u64)) as f32));
            }
        }
        records.extend([0.0; 4]);
        (mesh(N), records)
    }

    /// The factor on the stiffness of a triangle.
    fn factor(t: u32) -> f64 {
        f64::from((1.0 + 0.5 * noise(u64::from(t) + 9999)) as f32)
    }

    fn check<T: Real>(tolerance: f64) {
        let (connectivity, records) = jittered_mesh();
        let n_nodes = records.len() as u16 / 4 - 1;
        let material = |isotropic: bool, coupling: f64| {
            let mut elasticity = [0.0; 36];
            (elasticity[0], elasticity[1], elasticity[6]) = (3.5, 1.5, 1.5);
            (elasticity[7], elasticity[14]) = if isotropic { (3.5, 1.0) } else { (2.5, 0.75) };
            for at in [2, 8, 12, 13] {
                elasticity[at] = coupling;
            }
            Material { elasticity, hourglass: 0.0, aligned: coupling == 0.0, isotropic }
        };
        let strips = find_strips(&connectivity);
        for material in [material(true, 0.0), material(false, 0.0), material(false, 0.25)] {
            let factors: Vec<f64> = (0..connectivity.len() as u32 / 3).map(factor).collect();
            let expected = forces(Level::PORTABLE, TRIANGLE, &material, (&connectivity, &factors), &records);
            let shear = if material.isotropic { material.elasticity[14] } else { 1.0 };
            for level in Level::available() {
                let lanes = level.narrow_lanes::<T>();
                let rows = rows(&strips, lanes, n_nodes);
                let position = |node: u16| [2, 3].map(|c| records[4 * usize::from(node) + c]);
                for (law, edges) in [(Law::Strip, false), (Law::EdgeStrip, true)] {
                    let layout = (lanes, edges);
                    let shapes = shapes::<T>(&rows, layout, position, |t| 0.5 * shear * factor(t));
                    let found = forces(level, law, &material, (&rows.nodes, &shapes), &records);
                    for (found, expected) in found.iter().zip(&expected) {
                        let right = (found - expected).abs() <= tolerance;
                        assert!(right, "{level:?}, {law:?}: {found} instead of {expected}");
                    }
                }
            }
        }
    }

    /// As [`check`], for AC2D3.
    fn check_fluid<T: Real>(tolerance: f64) {
        let (connectivity, records) = jittered_mesh();
        let n_nodes = records.len() as u16 / 4 - 1;
        let mut elasticity = [0.0; 36];
        (elasticity[0], elasticity[7]) = (1.5, 1.5);
        let material = Material { elasticity, hourglass: 0.0, aligned: true, isotropic: true };
        let factors: Vec<f64> = (0..connectivity.len() as u32 / 3).map(factor).collect();
        let triangle = Law::Element(ElementLaw::AcousticTriangle);
        let expected = forces(Level::PORTABLE, triangle, &material, (&connectivity, &factors), &records);
        assert!(expected.iter().step_by(2).any(|&force| force.abs() > 1.0));
        for level in Level::available() {
            let lanes = level.narrow_lanes::<T>();
            let rows = rows(&find_strips(&connectivity), lanes, n_nodes);
            let position = |node: u16| [2, 3].map(|c| records[4 * usize::from(node) + c]);
            let conductances = conductances::<T>(&rows, lanes, position, |t| 0.5 * 1.5 * factor(t));
            let found = forces(level, Law::FluidStrip, &material, (&rows.nodes, &conductances), &records);
            for (found, expected) in found.iter().zip(&expected) {
                let right = (found - expected).abs() <= tolerance;
                assert!(right, "{level:?}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn strips_have_the_forces_of_their_triangles() {
        check_fluid::<f32>(5e-5);
        check_fluid::<f64>(1e-13);
        check::<f32>(5e-5);
        check::<f64>(1e-13);
    }
}

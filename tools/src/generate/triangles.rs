//! Unstructured triangles of nearly equal size inside an outline.
//!
//! Points of a hexagonal lattice are moved at random, joined by a constrained Delaunay triangulation and relaxed; twice,
//! so that the result keeps irregular nodes (5 or 7 neighbours) as meshes of a commercial program do, but no thin
//! triangles. Deterministic: the same outline gives the same bits.

use std::collections::{HashMap, HashSet};

use spade::{ConstrainedDelaunayTriangulation, Point2, Triangulation};

use super::GenerateError;
use super::outline::Outline;
use crate::rows::accumulate;

/// Triangles inside an outline.
#[derive(Debug, Clone)]
pub struct Triangles {
    /// Node positions, m; the points of the outline come first.
    pub points: Vec<[f64; 2]>,
    /// Node indices, counter-clockwise.
    pub triangles: Vec<[u32; 3]>,
    /// What `region_of` gave for the part of the body, between lines, that a triangle is in, (triangles,).
    pub regions: Vec<u32>,
}

/// How far lattice points are moved, as a fraction of the element size.
const JITTER: f64 = 0.30;
/// Lattice points nearer to the outline than this fraction of the element size are left out.
const CLEARANCE: f64 = 0.6;
/// Triangulations, and relaxation sweeps after each.
const ROUNDS: usize = 3;
const SWEEPS: usize = 6;

/// Fills an outline with triangles. `region_of` is asked once for each part that walls and lines enclose, at a point in it.
///
/// # Errors
/// [`GenerateError::Outline`] where two points coincide or two segments cross; [`GenerateError::TooManyNodes`].
pub fn fill(outline: &Outline, region_of: impl Fn([f64; 2]) -> u32) -> Result<Triangles, GenerateError> {
    let mut points = outline.points.clone();
    let n_fixed = points.len();
    scatter(outline, &mut points)?;

    let mut mesh = triangulate(outline, &points, &region_of)?;
    for round in 0..ROUNDS {
        if round > 0 {
            // A node with fewer than five neighbours squeezes its triangles: the others do better without it.
            drop_points(&mut mesh, n_fixed, 5);
            mesh = triangulate(outline, &mesh.points, &region_of)?;
        }
        relax(&mut mesh, n_fixed);
    }
    drop_points(&mut mesh, n_fixed, 1);
    Ok(mesh)
}

/// A number in [−1, 1) from a lattice site.
pub(super) fn noise(row: u64, column: u64, stream: u64) -> f64 {
    let site = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ column.wrapping_mul(0xd1b5_4a32_d192_ed03) ^ (stream << 61);
    (scattered(site) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Scatters the bits of a number: the finaliser of splitmix64.
pub(super) fn scattered(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Adds the moved lattice points that lie inside, clear of the outline.
fn scatter(outline: &Outline, points: &mut Vec<[f64; 2]>) -> Result<(), GenerateError> {
    let h = outline.size;
    let [low, high] = outline.bounds();
    let pitch = h * 0.75f64.sqrt();
    let n_rows = ((high[1] - low[1]) / pitch).ceil();
    // Triangles have six corners a node, counted in 32 bits.
    if n_rows * (high[0] - low[0]) / h >= f64::from(u32::MAX / 8) {
        return Err(GenerateError::TooManyNodes(h));
    }
    let n_rows = n_rows as usize;

    let mut crossings = vec![Vec::new(); n_rows];
    for &wall in &outline.walls {
        let [y0, y1] = wall.map(|end| (outline.points[end as usize][1] - low[1]) / pitch - 0.5);
        let first = y0.min(y1).floor().max(0.0) as usize;
        for (row, crossings) in crossings.iter_mut().enumerate().take(y0.max(y1).ceil() as usize + 1).skip(first) {
            crossings.extend(outline.crossing(wall, low[1] + (row as f64 + 0.5) * pitch));
        }
    }

    let near = Near::new(outline, CLEARANCE * h);
    for (row, crossings) in crossings.iter_mut().enumerate() {
        crossings.sort_unstable_by(f64::total_cmp);
        let y = low[1] + (row as f64 + 0.5) * pitch;
        let offset = if row % 2 == 0 { 0.25 } else { 0.75 };
        for span in crossings.chunks_exact(2) {
            let column_of = |x: f64| ((x - low[0]) / h - offset).ceil().max(0.0) as u64;
            for column in column_of(span[0])..column_of(span[1]) {
                let x = low[0] + (column as f64 + offset) * h;
                let shift = |stream| JITTER * h * noise(row as u64, column, stream);
                let position = [x + shift(1), y + shift(2)];
                if !near.any(outline, position) {
                    points.push(position);
                }
            }
        }
    }
    Ok(())
}

/// Finds segments within a distance of a position.
struct Near {
    distance: f64,
    cell: f64,
    cells: HashMap<[i64; 2], Vec<[u32; 2]>>,
}

impl Near {
    fn new(outline: &Outline, distance: f64) -> Self {
        let cell = outline.size;
        let mut cells: HashMap<_, Vec<_>> = HashMap::new();
        for &segment in outline.walls.iter().chain(&outline.lines) {
            let [a, b] = segment.map(|end| outline.points[end as usize]);
            let range = |axis: usize| {
                let low = ((a[axis].min(b[axis]) - distance) / cell).floor() as i64;
                low..=((a[axis].max(b[axis]) + distance) / cell).floor() as i64
            };
            for i in range(0) {
                for j in range(1) {
                    cells.entry([i, j]).or_default().push(segment);
                }
            }
        }
        Self { distance, cell, cells }
    }

    fn any(&self, outline: &Outline, position: [f64; 2]) -> bool {
        let key = position.map(|x| (x / self.cell).floor() as i64);
        self.cells.get(&key).is_some_and(|segments| {
            segments.iter().any(|segment| {
                let [a, b] = segment.map(|end| outline.points[end as usize]);
                distance_to_segment(position, a, b) < self.distance
            })
        })
    }
}

fn distance_to_segment(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let along = ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy).max(f64::MIN_POSITIVE);
    let along = along.clamp(0.0, 1.0);
    (p[0] - a[0] - along * dx).hypot(p[1] - a[1] - along * dy)
}

/// Constrained Delaunay triangles of the points, without those outside the walls.
fn triangulate(
    outline: &Outline,
    points: &[[f64; 2]],
    region_of: &impl Fn([f64; 2]) -> u32,
) -> Result<Triangles, GenerateError> {
    let vertices = points.iter().map(|p| Point2::new(p[0], p[1])).collect::<Vec<_>>();
    let segments = outline.walls.iter().chain(&outline.lines).map(|s| s.map(|end| end as usize)).collect::<Vec<_>>();
    let n_points = vertices.len();
    let mut n_crossing = 0;
    let cdt =
        ConstrainedDelaunayTriangulation::<Point2<f64>>::try_bulk_load_cdt(vertices, segments, |_| n_crossing += 1)
            .map_err(|source| GenerateError::Outline(source.to_string()))?;
    if cdt.num_vertices() != n_points || n_crossing > 0 {
        let n_double = n_points - cdt.num_vertices();
        let what = format!("{n_double} points coincide and {n_crossing} segments cross; use a smaller --size");
        return Err(GenerateError::Outline(what));
    }

    let mut triangles = Vec::with_capacity(cdt.num_inner_faces());
    let mut neighbours = Vec::with_capacity(cdt.num_inner_faces());
    let mut triangle_of_face = vec![u32::MAX; cdt.num_all_faces()];
    for (index, face) in cdt.inner_faces().enumerate() {
        triangle_of_face[face.fix().index()] = index as u32;
    }
    for face in cdt.inner_faces() {
        triangles.push(face.vertices().map(|vertex| vertex.fix().index() as u32));
        neighbours.push(face.adjacent_edges().map(|edge| {
            let open = !edge.is_constraint_edge();
            if open { triangle_of_face[edge.rev().face().fix().index()] } else { u32::MAX }
        }));
    }
    drop(cdt);

    let regions = regions(outline, points, &triangles, &neighbours, region_of);
    let inside = triangles.into_iter().zip(regions).filter_map(|(triangle, region)| Some((triangle, region?)));
    let (triangles, regions) = inside.unzip();
    Ok(Triangles { points: points.to_vec(), triangles, regions })
}

/// Region of each triangle; `None` outside the walls. Parts that walls and lines enclose are judged at the centre of their
/// largest triangle, which is robust against rounding. `neighbours` has `u32::MAX` across walls and lines.
fn regions(
    outline: &Outline,
    points: &[[f64; 2]],
    triangles: &[[u32; 3]],
    neighbours: &[[u32; 3]],
    region_of: &impl Fn([f64; 2]) -> u32,
) -> Vec<Option<u32>> {
    let mut regions = vec![None; triangles.len()];
    let mut part_of = vec![false; triangles.len()];
    let mut part = Vec::new();
    for seed in 0..triangles.len() {
        if part_of[seed] {
            continue;
        }
        part.clear();
        part.push(seed as u32);
        part_of[seed] = true;
        let mut next = 0;
        while let Some(&triangle) = part.get(next) {
            next += 1;
            for neighbour in neighbours[triangle as usize] {
                if neighbour != u32::MAX && !part_of[neighbour as usize] {
                    part_of[neighbour as usize] = true;
                    part.push(neighbour);
                }
            }
        }
        let corners = |triangle: u32| triangles[triangle as usize].map(|node| points[node as usize]);
        let Some(largest) = part.iter().copied().max_by(|&a, &b| area(corners(a)).total_cmp(&area(corners(b)))) else {
            continue;
        };
        let centre = centroid(corners(largest));
        if outline.contains(centre) {
            let region = region_of(centre);
            for &triangle in &part {
                regions[triangle as usize] = Some(region);
            }
        }
    }
    regions
}

/// Twice the area is positive for counter-clockwise corners; this is the area, m².
pub fn area(corners: [[f64; 2]; 3]) -> f64 {
    let [a, b, c] = corners;
    0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
}

/// Mean of the corners.
pub fn centroid(corners: [[f64; 2]; 3]) -> [f64; 2] {
    [0, 1].map(|axis| (corners[0][axis] + corners[1][axis] + corners[2][axis]) / 3.0)
}

/// 1 for an equilateral triangle, 0 for a degenerate one, negative when turned over: 4√3 A / Σ l².
fn shape(corners: [[f64; 2]; 3]) -> f64 {
    let [a, b, c] = corners;
    let square = |p: [f64; 2], q: [f64; 2]| (p[0] - q[0]).powi(2) + (p[1] - q[1]).powi(2);
    4.0 * 3f64.sqrt() * area(corners) / (square(a, b) + square(b, c) + square(c, a)).max(f64::MIN_POSITIVE)
}

/// Moves each free node towards the mean of its neighbours, unless a triangle at it would get worse and poor.
fn relax(mesh: &mut Triangles, n_fixed: usize) {
    let n_points = mesh.points.len();
    let mut starts = vec![0u32; n_points + 1];
    for node in mesh.triangles.iter().flatten() {
        starts[*node as usize + 1] += 1;
    }
    accumulate(&mut starts);
    // The two other corners of each triangle at a node, counter-clockwise; every neighbour of a free node comes up twice.
    let mut rings = vec![[0u32; 2]; 3 * mesh.triangles.len()];
    let mut fill = starts.clone();
    for &[a, b, c] in &mesh.triangles {
        for (node, ring) in [(a, [b, c]), (b, [c, a]), (c, [a, b])] {
            rings[fill[node as usize] as usize] = ring;
            fill[node as usize] += 1;
        }
    }
    let points = &mut mesh.points;
    for _ in 0..SWEEPS {
        for node in n_fixed..n_points {
            let ring = &rings[starts[node] as usize..starts[node + 1] as usize];
            if ring.is_empty() {
                continue;
            }
            let mut sum = [0.0; 2];
            for other in ring.iter().flatten() {
                let other = points[*other as usize];
                sum = [sum[0] + other[0], sum[1] + other[1]];
            }
            let target = sum.map(|s| s / (2 * ring.len()) as f64);
            let worst = |position: [f64; 2]| {
                let shapes = ring.iter().map(|&[b, c]| shape([position, points[b as usize], points[c as usize]]));
                shapes.fold(f64::INFINITY, f64::min)
            };
            if worst(target) >= worst(points[node]).min(0.85) {
                points[node] = target;
            }
        }
    }
}

/// Drops free points with fewer than `n_least` triangles; those of the outline keep their indices. The triangles are right
/// afterwards only for `n_least == 1`.
fn drop_points(mesh: &mut Triangles, n_fixed: usize, n_least: u8) {
    let mut n_triangles = vec![0u8; mesh.points.len()];
    for node in mesh.triangles.iter().flatten() {
        n_triangles[*node as usize] = n_triangles[*node as usize].saturating_add(1);
    }
    let kept = n_triangles.iter().enumerate().map(|(node, &n)| node < n_fixed || n >= n_least).collect::<Vec<_>>();
    let mut n_kept = 0u32;
    let new_index = kept.iter().map(|&kept| {
        n_kept += u32::from(kept);
        n_kept.saturating_sub(1)
    });
    let new_index = new_index.collect::<Vec<_>>();
    for node in mesh.triangles.iter_mut().flatten() {
        *node = new_index[*node as usize];
    }
    let mut kept = kept.into_iter();
    mesh.points.retain(|_| kept.next() == Some(true));
}

/// Opens a zero-width slit along edges of the mesh: the nodes between its ends become two, one for each face, at the same
/// place; also an end on a wall. The face to the left of the chain keeps its nodes, the other gets the copies. Gives
/// (node, its copy) for each.
pub fn open_slit(mesh: &mut Triangles, chain: &[u32]) -> Vec<(u32, u32)> {
    if chain.len() < 2 {
        return Vec::new();
    }
    let edges = chain.windows(2).flat_map(|edge| [(edge[0], edge[1]), (edge[1], edge[0])]).collect::<HashSet<_>>();
    let mut around: HashMap<u32, Vec<u32>> = chain.iter().map(|&node| (node, Vec::new())).collect();
    for (index, triangle) in mesh.triangles.iter().enumerate() {
        for node in triangle {
            if let Some(list) = around.get_mut(node) {
                list.push(index as u32);
            }
        }
    }
    let original = around.values().flatten().map(|&index| (index, mesh.triangles[index as usize]));
    let original = original.collect::<HashMap<_, _>>();
    let mut copies = Vec::new();
    for (i, &node) in chain.iter().enumerate() {
        let mut unseen = around.remove(&node).unwrap_or_default();
        let [from, to] = if i + 1 < chain.len() { [node, chain[i + 1]] } else { [chain[i - 1], node] };
        let is_left = |index: &u32| {
            let [a, b, c] = original[index];
            [[a, b], [b, c], [c, a]].contains(&[from, to])
        };
        if let Some(left) = unseen.iter().position(is_left) {
            let last = unseen.len() - 1;
            unseen.swap(left, last);
        }
        let mut first = true;
        while let Some(seed) = unseen.pop() {
            // The triangles that hang together at this node without crossing the slit.
            let mut fan = vec![seed];
            let mut next = 0;
            while let Some(&triangle) = fan.get(next) {
                next += 1;
                let corners = original[&triangle];
                let (joined, rest): (Vec<_>, Vec<_>) = unseen.into_iter().partition(|other| {
                    let shared = |n: &&u32| **n != node && original[other].contains(n);
                    corners.iter().find(shared).is_some_and(|&n| !edges.contains(&(node, n)))
                });
                unseen = rest;
                fan.extend(joined);
            }
            if first {
                first = false;
                continue;
            }
            let copy = mesh.points.len() as u32;
            mesh.points.push(mesh.points[node as usize]);
            copies.push((node, copy));
            for triangle in fan {
                for corner in &mut mesh.triangles[triangle as usize] {
                    if *corner == node {
                        *corner = copy;
                    }
                }
            }
        }
    }
    copies
}

//! How the nodes of a face of a fluid share it with the nodes of the faces of a solid that lie over it.
//!
//! The faces of the solid are projected onto the plane of the fluid's face, along its normal. On the part o that a face of the solid
//! covers, both have shape functions: N_f of the fluid's corner f, N_s of the solid's node s. The share of f that s has is
//!
//! ```text
//! w_fs = Σ_o ∫_o N_f N_s dS / ∫ N_f dS
//! ```
//!
//! N_s have the sum 1, and so have the shares of a corner where the solid covers its face: a solid that moves as a rigid body moves
//! the fluid as if their nodes were the same. N_f have the sum 1, too: a uniform pressure puts ∫ N_s n dS on each node of the solid.
//! Where all corners of both faces coincide, each corner belongs to the node at its place alone, as where nodes are shared.

use std::collections::{BTreeMap, HashMap};

use crate::vector::{Vector, cross, difference, dot, normalised};

/// Corners coincide within this part of the size of a face.
const COINCIDENT: f64 = 1e-6;
/// A face is covered where not more than this part is missing: edges of a solid end where they end by rounding.
const MISSING: f64 = 1e-3;
/// Shares below this are 0.
const SMALLEST: f64 = 1e-14;
/// Steps of the search of a point in a face of four corners; one in a parallelogram.
const STEPS: usize = 30;
/// Cells that a face may lie in; larger ones are near to all others.
const MOST_CELLS: f64 = 1e4;

/// A point in the plane of a face.
type Flat = [f64; 2];

/// A face of an element.
#[derive(Debug, Clone)]
pub(super) struct Face {
    /// Its corners, padded with `u32::MAX`.
    pub nodes: [u32; 4],
    pub element: u32,
    pub corners: Vec<Vector>,
    /// Of length 1, out of the element.
    pub normal: Vector,
    /// Or its length, in the plane.
    pub area: f64,
}

/// The part of corner `corner` of a fluid's face that belongs to a node of a solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    pub corner: usize,
    pub solid: u32,
    pub weight: f64,
}

impl Face {
    /// A face with `corners` in order round it, of an element with the centre `inside`. In the plane it has two corners.
    pub fn new(nodes: [u32; 4], element: u32, corners: Vec<Vector>, inside: Vector) -> Self {
        let normal = match corners.as_slice() {
            [a, b] => cross(difference(*b, *a), [0., 0., 1.]),
            [a, b, c] => cross(difference(*b, *a), difference(*c, *a)),
            [a, b, c, d, ..] => cross(difference(*c, *a), difference(*d, *b)),
            _ => [0.; 3],
        };
        let length = dot(normal, normal).sqrt();
        let area = if corners.len() == 2 { length } else { 0.5 * length };
        let normal = normalised(normal);
        let outward = difference(centre(&corners), inside);
        let sign = if dot(normal, outward) < 0. { -1. } else { 1. };
        Self { nodes, element, corners, normal: normal.map(|x| sign * x), area }
    }

    /// Largest distance of two corners.
    pub fn diagonal(&self) -> f64 {
        let pairs = self.corners.iter().flat_map(|a| self.corners.iter().map(move |b| difference(*a, *b)));
        pairs.map(|d| dot(d, d)).fold(0., f64::max).sqrt()
    }

    /// Lowest and highest coordinates.
    fn bounds(&self) -> [Vector; 2] {
        let low = |k: usize| self.corners.iter().map(|x| x[k]).fold(f64::INFINITY, f64::min);
        let high = |k: usize| self.corners.iter().map(|x| x[k]).fold(f64::NEG_INFINITY, f64::max);
        [std::array::from_fn(low), std::array::from_fn(high)]
    }
}

fn centre(points: &[Vector]) -> Vector {
    std::array::from_fn(|k| points.iter().map(|x| x[k]).sum::<f64>() / points.len() as f64)
}

/// The plane of a face: its origin, two axes in it, and the normal.
struct Plane {
    origin: Vector,
    axes: [Vector; 2],
    normal: Vector,
}

impl Plane {
    fn new(face: &Face) -> Self {
        let edge = difference(face.corners[1], face.corners[0]);
        let off = dot(edge, face.normal);
        let first = normalised(std::array::from_fn(|k| edge[k] - off * face.normal[k]));
        let axes = [first, cross(face.normal, first)];
        Self { origin: centre(&face.corners), axes, normal: face.normal }
    }

    /// Places of the corners in the plane, and their heights above it.
    fn project(&self, face: &Face) -> (Vec<Flat>, Vec<f64>) {
        let from = || face.corners.iter().map(|&corner| difference(corner, self.origin));
        (from().map(|x| self.axes.map(|axis| dot(x, axis))).collect(), from().map(|x| dot(x, self.normal)).collect())
    }
}

/// The shares of the corners of a fluid's face, by corner and node; none where no face of `solids` lies within `tolerance` over it
/// and faces it.
pub(super) fn shares<'a>(fluid: &Face, solids: impl Iterator<Item = &'a Face>, tolerance: f64) -> Vec<Share> {
    let plane = Plane::new(fluid);
    let (corners, heights) = plane.project(fluid);
    let mut parts: BTreeMap<(usize, u32), f64> = BTreeMap::new();
    let size = fluid.diagonal();
    for solid in solids.filter(|solid| dot(solid.normal, fluid.normal) < 0.) {
        let (over, above) = plane.project(solid);
        let near = |gap: f64| gap.abs() <= tolerance * (1. + 1e-9) + 1e-9 * size;
        if let Some(matches) = coincident(&corners, &over, COINCIDENT * size)
            && (0..corners.len()).all(|at| near(above[matches[at]] - heights[at]))
        {
            return (0..).zip(&matches).map(|(corner, &at)| share(corner, solid.nodes[at], 1.)).collect();
        }
        let points = quadrature(&overlap(&corners, &over));
        let area: f64 = points.iter().map(|(_, weight)| weight).sum();
        let height = |flat: &[Flat], heights: &[f64], x: Flat| -> f64 {
            shape(flat, x).iter().zip(heights).map(|(n, height)| n * height).sum()
        };
        let gaps = points.iter().map(|&(x, w)| w * (height(&over, &above, x) - height(&corners, &heights, x)));
        if area <= 0. || !near(gaps.sum::<f64>() / area) {
            continue;
        }
        for &(x, weight) in &points {
            let (of_fluid, of_solid) = (shape(&corners, x), shape(&over, x));
            for (corner, of_corner) in of_fluid.iter().enumerate().take(corners.len()) {
                for (&node, of_node) in solid.nodes.iter().zip(of_solid).take(over.len()) {
                    *parts.entry((corner, node)).or_default() += weight * of_corner * of_node;
                }
            }
        }
    }
    let whole = quadrature(&counterclockwise(&corners));
    let area_of = |corner: usize| whole.iter().map(|&(x, weight)| weight * shape(&corners, x)[corner]).sum::<f64>();
    let areas: Vec<f64> = (0..corners.len()).map(area_of).collect();
    let mut covered = vec![0.; corners.len()];
    parts.iter().for_each(|((corner, _), part)| covered[*corner] += part);
    let found = parts.into_iter().map(|((corner, solid), part)| {
        let is_covered = covered[corner] > (1. - MISSING) * areas[corner];
        share(corner, solid, part / if is_covered { covered[corner] } else { areas[corner] })
    });
    found.filter(|share| share.weight.abs() > SMALLEST).collect()
}

fn share(corner: usize, solid: u32, weight: f64) -> Share {
    Share { corner, solid, weight }
}

/// The corner of the second face at the place of each of the first, where all coincide.
fn coincident(corners: &[Flat], over: &[Flat], within: f64) -> Option<Vec<usize>> {
    if corners.len() != over.len() {
        return None;
    }
    let near = |x: &Flat, y: &Flat| (x[0] - y[0]).hypot(x[1] - y[1]) <= within;
    corners.iter().map(|x| over.iter().position(|y| near(x, y))).collect()
}

/// Twice the area, positive for corners that go round to the left.
fn signed_area(polygon: &[Flat]) -> f64 {
    let next = polygon.iter().cycle().skip(1);
    polygon.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
}

fn counterclockwise(polygon: &[Flat]) -> Vec<Flat> {
    let mut polygon = polygon.to_vec();
    if polygon.len() > 2 && signed_area(&polygon) < 0. {
        polygon.reverse();
    }
    polygon
}

/// What two faces have in common in the plane: a polygon, or the ends of a line for faces of two corners. I. Sutherland and
/// G. Hodgman, Comm. ACM 17, 1974.
fn overlap(clip: &[Flat], subject: &[Flat]) -> Vec<Flat> {
    if let ([a, b], [c, d]) = (clip, subject) {
        let low = a[0].min(b[0]).max(c[0].min(d[0]));
        let high = a[0].max(b[0]).min(c[0].max(d[0]));
        return if low < high { vec![[low, 0.], [high, 0.]] } else { Vec::new() };
    }
    let clip = counterclockwise(clip);
    let mut polygon = counterclockwise(subject);
    for (at, a) in clip.iter().enumerate() {
        let b = clip[(at + 1) % clip.len()];
        let inside = |x: &Flat| (b[0] - a[0]) * (x[1] - a[1]) - (b[1] - a[1]) * (x[0] - a[0]);
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for (i, x) in polygon.iter().enumerate() {
            let y = polygon[(i + 1) % polygon.len()];
            let (of_x, of_y) = (inside(x), inside(&y));
            if of_x >= 0. {
                kept.push(*x);
            }
            if (of_x >= 0.) != (of_y >= 0.) {
                let t = of_x / (of_x - of_y);
                kept.push([x[0] + t * (y[0] - x[0]), x[1] + t * (y[1] - x[1])]);
            }
        }
        polygon = kept;
    }
    if polygon.len() < 3 { Vec::new() } else { polygon }
}

/// Points and weights on a line (exact for polynomials of order 3) or a convex polygon (of order 5: J. Radon, 1948).
fn quadrature(polygon: &[Flat]) -> Vec<(Flat, f64)> {
    if let [a, b] = polygon {
        let (middle, half) = (0.5 * (a[0] + b[0]), 0.5 * (b[0] - a[0]));
        let root = half / 3f64.sqrt();
        return vec![([middle - root, 0.], half.abs()), ([middle + root, 0.], half.abs())];
    }
    let root = 15f64.sqrt();
    let orbits = [((6. - root) / 21., (155. - root) / 1200.), ((6. + root) / 21., (155. + root) / 1200.)];
    let mut points = Vec::new();
    for at in 2..polygon.len() {
        let triangle = [polygon[0], polygon[at - 1], polygon[at]];
        let area = 0.5 * signed_area(&triangle);
        let point = |weights: [f64; 3]| [0, 1].map(|k| (0..3).map(|i| weights[i] * triangle[i][k]).sum());
        points.push((point([1. / 3.; 3]), 0.225 * area));
        for (a, weight) in orbits {
            let b = 1. - 2. * a;
            points.extend([[b, a, a], [a, b, a], [a, a, b]].map(|place| (point(place), weight * area)));
        }
    }
    points
}

/// N of each corner of a face at a point of its plane.
fn shape(corners: &[Flat], x: Flat) -> [f64; 4] {
    match corners {
        [a, b] => {
            let t = (x[0] - a[0]) / (b[0] - a[0]);
            [1. - t, t, 0., 0.]
        }
        [a, b, c] => {
            let of = |p: &Flat, q: &Flat| (p[0] - x[0]) * (q[1] - x[1]) - (p[1] - x[1]) * (q[0] - x[0]);
            let whole = of(b, c) + of(c, a) + of(a, b);
            [of(b, c) / whole, of(c, a) / whole, of(a, b) / whole, 0.]
        }
        _ => bilinear(place(corners, x)),
    }
}

fn bilinear([xi, eta]: Flat) -> [f64; 4] {
    [(1. - xi) * (1. - eta), (1. + xi) * (1. - eta), (1. + xi) * (1. + eta), (1. - xi) * (1. + eta)].map(|n| 0.25 * n)
}

/// ξ and η of a point in a face of four corners, by Newton's method.
fn place(corners: &[Flat], x: Flat) -> Flat {
    let sum = |weights: [f64; 4]| [0, 1].map(|k| (0..4).map(|i| weights[i] * corners[i][k]).sum::<f64>());
    let [mut xi, mut eta] = [0.; 2];
    for _ in 0..STEPS {
        let at = sum(bilinear([xi, eta]));
        let a = sum([eta - 1., 1. - eta, 1. + eta, -1. - eta].map(|n| 0.25 * n));
        let b = sum([xi - 1., -1. - xi, 1. + xi, 1. - xi].map(|n| 0.25 * n));
        let (gap, determinant) = ([x[0] - at[0], x[1] - at[1]], a[0] * b[1] - a[1] * b[0]);
        if determinant == 0. {
            break;
        }
        let step = [(gap[0] * b[1] - gap[1] * b[0]) / determinant, (a[0] * gap[1] - a[1] * gap[0]) / determinant];
        (xi, eta) = ((xi + step[0]).clamp(-1.5, 1.5), (eta + step[1]).clamp(-1.5, 1.5));
        if step.iter().all(|step| step.abs() < 1e-14) {
            break;
        }
    }
    [xi, eta]
}

/// Faces by the cells of a grid that they lie in.
pub(super) struct Grid<'a> {
    faces: &'a [Face],
    cells: HashMap<[i32; 3], Vec<u32>>,
    /// Faces that are near to all.
    large: Vec<u32>,
    origin: Vector,
    width: f64,
}

impl<'a> Grid<'a> {
    pub fn new(faces: &'a [Face]) -> Self {
        let origin = faces.first().map_or([0.; 3], |face| face.corners[0]);
        let width = faces.iter().map(Face::diagonal).sum::<f64>() / faces.len().max(1) as f64;
        let mut grid = Self { faces, cells: HashMap::new(), large: Vec::new(), origin, width };
        for (at, face) in (0..).zip(faces) {
            match grid.cells_of(face, 0.) {
                Some(cells) => cells.for_each(|cell| grid.cells.entry(cell).or_default().push(at)),
                None => grid.large.push(at),
            }
        }
        grid
    }

    /// The cells of a box round a face; none where there are too many.
    fn cells_of(&self, face: &Face, margin: f64) -> Option<impl Iterator<Item = [i32; 3]> + use<>> {
        let [low, high] = face.bounds();
        let cell = |x: f64, k: usize| ((x - self.origin[k]) / self.width).floor();
        let low: Vector = std::array::from_fn(|k| cell(low[k] - margin, k));
        let high: Vector = std::array::from_fn(|k| cell(high[k] + margin, k));
        let n: f64 = (0..3).map(|k| high[k] - low[k] + 1.).product();
        let fits = low.iter().chain(&high).all(|cell| cell.abs() < f64::from(i32::MAX));
        if !(n <= MOST_CELLS && fits) {
            return None;
        }
        let range = move |k: usize| low[k] as i32..=high[k] as i32;
        Some(range(0).flat_map(move |i| range(1).flat_map(move |j| range(2).map(move |k| [i, j, k]))))
    }

    /// Faces that may lie within a distance of another one, in their order.
    pub fn near(&self, face: &Face, distance: f64) -> impl Iterator<Item = &'a Face> + use<'a> {
        let faces = self.faces;
        let mut found: Vec<u32> = match self.cells_of(face, distance) {
            Some(cells) => {
                cells.filter_map(|cell| self.cells.get(&cell)).flatten().chain(&self.large).copied().collect()
            }
            None => (0..faces.len() as u32).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(move |at| &faces[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of a sheet over [0, 3] × [0, 2] at a height, whose inner nodes are moved; cells of even number are cut into triangles
    /// where `cut`. The normal is up or down.
    fn sheet([nx, ny]: [usize; 2], height: impl Fn(Flat) -> f64, up: bool, cut: bool) -> (Vec<Vector>, Vec<Face>) {
        let label = |i: usize, j: usize| i + (nx + 1) * j;
        let mut points = Vec::new();
        for (j, i) in (0..=ny).flat_map(|j| (0..=nx).map(move |i| (j, i))) {
            let is_inner = i > 0 && i < nx && j > 0 && j < ny;
            let moved = if is_inner { 0.15 * ((7 * i + 3 * j) as f64).sin() } else { 0. };
            let x = [(i as f64 + moved) * 3. / nx as f64, (j as f64 - moved) * 2. / ny as f64];
            points.push([x[0], x[1], height(x)]);
        }
        let mut faces = Vec::new();
        let inside = |corners: &[Vector]| {
            let mut centre = centre(corners);
            centre[2] += if up { -1. } else { 1. };
            centre
        };
        for (j, i) in (0..ny).flat_map(|j| (0..nx).map(move |i| (j, i))) {
            let round = [label(i, j), label(i + 1, j), label(i + 1, j + 1), label(i, j + 1)];
            let parts: &[&[usize]] = if cut && (i + j) % 2 == 0 { &[&[0, 1, 2], &[0, 2, 3]] } else { &[&[0, 1, 2, 3]] };
            for part in parts {
                let mut nodes = [u32::MAX; 4];
                nodes.iter_mut().zip(*part).for_each(|(node, &at)| *node = round[at] as u32);
                let corners: Vec<Vector> = part.iter().map(|&at| points[round[at]]).collect();
                let inside = inside(&corners);
                faces.push(Face::new(nodes, faces.len() as u32, corners, inside));
            }
        }
        (points, faces)
    }

    /// ∫ N dS of each corner.
    fn areas(face: &Face) -> Vec<f64> {
        let (corners, _) = Plane::new(face).project(face);
        let points = quadrature(&counterclockwise(&corners));
        (0..corners.len()).map(|at| points.iter().map(|&(x, w)| w * shape(&corners, x)[at]).sum()).collect()
    }

    /// Areas of pairs of nodes.
    fn pairs(fluid: &[Face], solid: &[Face], tolerance: f64) -> BTreeMap<(u32, u32), f64> {
        let grid = Grid::new(solid);
        let mut pairs = BTreeMap::new();
        for face in fluid {
            let areas = areas(face);
            for Share { corner, solid, weight } in shares(face, grid.near(face, tolerance), tolerance) {
                *pairs.entry((face.nodes[corner], solid)).or_insert(0.) += weight * areas[corner];
            }
        }
        pairs
    }

    fn lumped(points: &[Vector], faces: &[Face]) -> Vec<f64> {
        let mut lumped = vec![0.; points.len()];
        for face in faces {
            face.nodes.iter().zip(areas(face)).for_each(|(&node, area)| lumped[node as usize] += area);
        }
        lumped
    }

    /// On a plane, areas of both sides and their first moments are exact, whatever the meshes are: Σ_s A_fs = A_f, Σ_f A_fs = A_s,
    /// Σ A_fs x_s = Σ A_fs x_f = ∫ x dS.
    #[test]
    fn areas_and_moments_are_exact_on_a_plane() {
        for (of_fluid, of_solid) in [([3, 2], [4, 3]), ([5, 4], [3, 2]), ([7, 5], [8, 6]), ([1, 1], [6, 5])] {
            for cut in [[false, false], [true, false], [false, true], [true, true]] {
                let (points, fluid) = sheet(of_fluid, |_| 0., true, cut[0]);
                let (over, solid) = sheet(of_solid, |_| 1e-3, false, cut[1]);
                let pairs = pairs(&fluid, &solid, 0.01);
                let (mut rows, mut columns) = (vec![0.; points.len()], vec![0.; over.len()]);
                let mut moments = [[0.; 2]; 2];
                for (&(f, s), area) in &pairs {
                    rows[f as usize] += area;
                    columns[s as usize] += area;
                    for k in 0..2 {
                        moments[0][k] += area * points[f as usize][k];
                        moments[1][k] += area * over[s as usize][k];
                    }
                }
                let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0., f64::max);
                let of_fluids = worst(&rows, &lumped(&points, &fluid));
                let of_solids = worst(&columns, &lumped(&over, &solid));
                let of_moments = moments.iter().map(|found| worst(found, &[9., 6.])).fold(0., f64::max);
                // Shape functions of faces of four corners are no polynomials, but for parallelograms.
                let is_exact = of_fluids < 1e-13 && of_solids < 5e-5 && of_moments < 1e-7;
                assert!(
                    is_exact,
                    "{of_fluid:?} {of_solid:?} {cut:?}: {of_fluids:.1e} {of_solids:.1e} {of_moments:.1e}"
                );
                assert!(pairs.values().all(|area| *area > -1e-12));
            }
        }
    }

    /// Corners of faces that coincide are joined to the node at their place alone, across a gap, too.
    #[test]
    fn faces_that_coincide_are_joined_corner_by_corner() {
        let (points, fluid) = sheet([4, 3], |_| 0., true, true);
        let (_, solid) = sheet([4, 3], |_| 2e-3, false, true);
        let found = pairs(&fluid, &solid, 0.01);
        assert!(found.keys().all(|(f, s)| f == s) && found.len() == points.len());
        let lumped = lumped(&points, &fluid);
        assert!(found.iter().all(|(&(f, _), area)| (area - lumped[f as usize]).abs() < 1e-15));
        // Beyond the tolerance, or with its back to the fluid, nothing is.
        assert!(pairs(&fluid, &solid, 1e-3).is_empty());
        let (_, back) = sheet([4, 3], |_| 2e-3, true, true);
        assert!(pairs(&fluid, &back, 0.01).is_empty());
    }

    /// On a curved surface the areas of the fluid's nodes are exact, and those of the solid's nodes are near.
    #[test]
    fn areas_of_the_fluid_are_exact_on_a_curved_surface() {
        let bent = |x: Flat| 0.3 * (x[0] - 1.5).powi(2);
        let (points, fluid) = sheet([12, 4], bent, true, true);
        let (over, solid) = sheet([17, 5], bent, false, false);
        let pairs = pairs(&fluid, &solid, 0.05);
        let (mut rows, mut columns) = (vec![0.; points.len()], vec![0.; over.len()]);
        for (&(f, s), area) in &pairs {
            rows[f as usize] += area;
            columns[s as usize] += area;
        }
        let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a / b - 1.).abs()).fold(0., f64::max);
        let errors = [worst(&rows, &lumped(&points, &fluid)), worst(&columns, &lumped(&over, &solid))];
        assert!(errors[0] < 1e-12 && errors[1] < 0.05, "{errors:?}");
    }

    #[test]
    fn lines_share_what_they_have_in_common() {
        let line = |from: f64, to: f64, nodes: [u32; 2], y: f64| {
            let corners = vec![[from, 0., 0.], [to, 0., 0.]];
            Face::new([nodes[0], nodes[1], u32::MAX, u32::MAX], 0, corners, [0.5 * (from + to), y, 0.])
        };
        let fluid = line(0., 3., [0, 1], -1.);
        let solids = [line(0., 2., [0, 1], 1.), line(4., 2., [2, 1], 1.)];
        let found = shares(&fluid, solids.iter(), 1e-3);
        let weight = |corner: usize, solid: u32| {
            found.iter().find(|share| (share.corner, share.solid) == (corner, solid)).map_or(0., |share| share.weight)
        };
        // ∫ (1 − t/3)(1 − t/2) dt from 0 to 2 is 7/9, over ∫ (1 − t/3) dt = 3/2.
        assert!((weight(0, 0) - 14. / 27.).abs() < 1e-14);
        assert!((0..2).all(|c| ((0..3).map(|s| weight(c, s)).sum::<f64>() - 1.).abs() < 1e-14));
        // A face that is covered in part keeps its part.
        let part = shares(&fluid, solids[..1].iter(), 1e-3);
        let sum = |corner: usize| part.iter().filter(|s| s.corner == corner).map(|s| s.weight).sum::<f64>();
        assert!((sum(0) - 8. / 9.).abs() < 1e-14 && (sum(1) - 4. / 9.).abs() < 1e-14);
    }
}

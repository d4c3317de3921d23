//! The surface of a crack: triangles with a side, and the nearest point on them.
//!
//! Which side of a triangulated surface a point lies on is read off the normal of the nearest triangle, edge or vertex; those
//! of edges and vertices are the means of their triangles' normals, weighted by angles at vertices (Bærentzen and Aanæs,
//! IEEE Trans. Vis. Comput. Graph. 11, 243, 2005). A line in the plane is extruded along z, and is then a surface like others.

use std::collections::HashMap;

use pogo_formats::explicit::job::CrackShape;
use pogo_formats::job::Place;
use pogo_formats::read;
use rstar::{AABB, PointDistance, RTree, RTreeObject};

use crate::elements::{cross, dot, norm, sub};

type Vector = [f64; 3];

/// Rings of points that stand for a disc. The area of their triangles is 0.04 % less than the disc's.
const DISC_RINGS: u32 = 21;

/// How far corners of a flat polygon may lie from its plane, as a part of its size.
const FLAT: f64 = 1e-6;

/// A surface with two sides.
pub(super) struct Surface {
    tree: RTree<Facet>,
    /// Length of a line, m, or area, m².
    pub measure: f64,
    /// Corners of the bounding box, m.
    pub bounds: [Vector; 2],
}

/// A triangle and the normals of its parts.
struct Facet {
    corners: [Vector; 3],
    /// Unit normals of the vertices, of the edges (the first from vertex 0 to 1), and of the face.
    normals: [Vector; 7],
    /// Whether each of these parts lies on the border.
    border: [bool; 7],
}

/// The nearest point of a surface, as seen from a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Foot {
    /// m.
    pub distance: f64,
    /// Height above the surface, or above its extension beyond the border, m; negative on the minus side.
    pub height: f64,
    /// Distance beyond the border along the extension of the surface, m; 0 above the surface.
    pub beyond: f64,
    /// Unit normal of the surface there.
    pub normal: Vector,
}

impl Surface {
    /// The surface that a job describes, for a mesh of this dimension.
    ///
    /// # Errors
    /// A message: a shape for another dimension, a flat or bent polygon, a file that cannot be used.
    pub fn new(shape: CrackShape<'_>, dimension: usize, place: &Place) -> Result<Self, String> {
        match (shape, dimension) {
            (CrackShape::Line(points), 2) => Self::of_line(points),
            (CrackShape::Line(_), _) => {
                Err("`line` is for 2D meshes; give `polygon`, `centre` with `normal` and `radius`, or `file`"
                    .to_owned())
            }
            (_, 2) => Err("in a 2D mesh a crack is a `line`".to_owned()),
            (CrackShape::Polygon(corners), _) => Self::of_polygon(corners),
            (CrackShape::Disc { centre, normal, radius }, _) => {
                let (points, triangles) = disc(centre, normal, radius);
                Self::of_triangles(&points, triangles)
            }
            (CrackShape::File(file), _) => {
                let mesh = read::mesh::read(&place.folder.join(file), &Default::default())
                    .map_err(|error| error.to_string())?;
                if mesh.corners != 3 {
                    return Err(format!("{file}: error: it has tetrahedra; a crack is a mesh of triangles alone"));
                }
                Self::of_triangles(mesh.coordinates.as_chunks().0, mesh.elements.as_chunks().0.to_vec())
            }
        }
    }

    /// A line of straight pieces; one that ends where it begins is closed.
    fn of_line(points: &[[f64; 2]]) -> Result<Self, String> {
        let mut length = 0.0;
        for pair in points.windows(2) {
            let piece = (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1]);
            if piece == 0.0 {
                return Err(format!("the point {:?} stands twice in `line`", pair[0]));
            }
            length += piece;
        }
        let ends = |z: f64| points.iter().map(move |[x, y]| [*x, *y, z]);
        let extruded: Vec<Vector> = ends(-length).chain(ends(length)).collect();
        let (n, mut triangles) = (points.len() as u32, Vec::new());
        for i in 0..n - 1 {
            // The normal points to the left of the line.
            triangles.extend([[i, n + i + 1, i + 1], [i, n + i, n + i + 1]]);
        }
        let mut surface = Self::of_triangles(&extruded, triangles)?;
        surface.measure = length;
        (surface.bounds[0][2], surface.bounds[1][2]) = (0.0, 0.0);
        Ok(surface)
    }

    fn of_polygon(corners: &[Vector]) -> Result<Self, String> {
        let n = corners.len();
        let middle = [0, 1, 2].map(|axis| corners.iter().map(|corner| corner[axis]).sum::<f64>() / n as f64);
        let arms: Vec<Vector> = corners.iter().map(|&corner| sub(corner, middle)).collect();
        let sectors = (0..n).map(|i| cross(arms[i], arms[(i + 1) % n]));
        let normal = sectors.fold([0.0; 3], add);
        let size = arms.iter().map(|&arm| norm(arm)).fold(0.0, f64::max);
        if norm(normal) <= FLAT * size * size {
            return Err("the corners of `polygon` lie on a line".to_owned());
        }
        let normal = unit(normal);
        if arms.iter().any(|&arm| dot(arm, normal).abs() > FLAT * size) {
            return Err("the corners of `polygon` do not lie in a plane; give triangles in a `file`".to_owned());
        }
        let turns = |i: usize| {
            let [a, b, c] = [corners[i], corners[(i + 1) % n], corners[(i + 2) % n]];
            dot(cross(sub(b, a), sub(c, b)), normal)
        };
        let winds = (0..n).all(|i| dot(cross(arms[i], arms[(i + 1) % n]), normal) > 0.0);
        if !winds || (0..n).any(|i| turns(i) < -FLAT * size * size) {
            let text = "`polygon` must be convex, its corners in order round it; give several cracks, or triangles in a `file`";
            return Err(text.to_owned());
        }
        let points: Vec<Vector> = corners.iter().copied().chain([middle]).collect();
        let triangles = (0..n).map(|i| [i, (i + 1) % n, n].map(|point| point as u32));
        Self::of_triangles(&points, triangles.collect())
    }

    /// Triangles; points at one place are one.
    fn of_triangles(points: &[Vector], mut triangles: Vec<[u32; 3]>) -> Result<Self, String> {
        let mut first = HashMap::new();
        let same: Vec<u32> = (0..)
            .zip(points)
            .map(|(index, point)| *first.entry(point.map(|x| (x + 0.0).to_bits())).or_insert(index))
            .collect();
        triangles.iter_mut().for_each(|triangle| *triangle = triangle.map(|point| same[point as usize]));
        orient(&mut triangles)?;
        let corners_of = |triangle: &[u32; 3]| triangle.map(|point| points[point as usize]);
        let area_vector = |[a, b, c]: [Vector; 3]| cross(sub(b, a), sub(c, a)).map(|x| 0.5 * x);
        let (mut at_vertex, mut at_edge) = (vec![[0.0; 3]; points.len()], HashMap::<_, (Vector, u32)>::new());
        let (mut area, mut bounds) = (0.0, [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]]);
        for triangle in &triangles {
            let corners = corners_of(triangle);
            let vector = area_vector(corners);
            let longest = (0..3).map(|i| norm(sub(corners[(i + 1) % 3], corners[i]))).fold(0.0, f64::max);
            if norm(vector) <= 1e-12 * longest * longest {
                return Err("a triangle of the crack has no area".to_owned());
            }
            area += norm(vector);
            let normal = unit(vector);
            for i in 0..3 {
                let [a, b, c] = [0, 1, 2].map(|k| corners[(i + k) % 3]);
                let (to_b, to_c) = (unit(sub(b, a)), unit(sub(c, a)));
                let angle = dot(to_b, to_c).clamp(-1.0, 1.0).acos();
                let sum = &mut at_vertex[triangle[i] as usize];
                *sum = add(*sum, normal.map(|x| angle * x));
                let entry = at_edge.entry(key(triangle[i], triangle[(i + 1) % 3])).or_insert(([0.0; 3], 0));
                *entry = (add(entry.0, normal), entry.1 + 1);
                for axis in 0..3 {
                    bounds[0][axis] = bounds[0][axis].min(a[axis]);
                    bounds[1][axis] = bounds[1][axis].max(a[axis]);
                }
            }
        }
        let mut on_border = vec![false; points.len()];
        for (&(a, b), _) in at_edge.iter().filter(|(_, (_, count))| *count == 1) {
            (on_border[a as usize], on_border[b as usize]) = (true, true);
        }
        let facet = |triangle: &[u32; 3]| {
            let corners = corners_of(triangle);
            let edge = |i: usize| at_edge[&key(triangle[i], triangle[(i + 1) % 3])];
            let mut facet = Facet { corners, normals: [unit(area_vector(corners)); 7], border: [false; 7] };
            for i in 0..3 {
                facet.normals[i] = unit(at_vertex[triangle[i] as usize]);
                facet.normals[3 + i] = unit(edge(i).0);
                (facet.border[i], facet.border[3 + i]) = (on_border[triangle[i] as usize], edge(i).1 == 1);
            }
            facet
        };
        Ok(Self { tree: RTree::bulk_load(triangles.iter().map(facet).collect()), measure: area, bounds })
    }

    /// The nearest point of the surface.
    pub fn foot(&self, point: Vector) -> Foot {
        let Some(facet) = self.tree.nearest_neighbor(point) else {
            return Foot { distance: f64::INFINITY, height: f64::INFINITY, beyond: f64::INFINITY, normal: [0.0; 3] };
        };
        let (nearest, part) = closest(facet.corners, point);
        let normal = facet.normals[part];
        let arm = sub(point, nearest);
        let height = dot(arm, normal);
        let beyond = if facet.border[part] { norm(sub(arm, normal.map(|x| height * x))) } else { 0.0 };
        Foot { distance: norm(arm), height, beyond, normal }
    }
}

impl RTreeObject for Facet {
    type Envelope = AABB<Vector>;

    fn envelope(&self) -> AABB<Vector> {
        AABB::from_points(&self.corners)
    }
}

impl PointDistance for Facet {
    fn distance_2(&self, point: &Vector) -> f64 {
        let arm = sub(*point, closest(self.corners, *point).0);
        dot(arm, arm)
    }
}

/// Points and triangles of a disc: rings of 6, 12, 18, … points round its centre, so that no triangle is long and thin.
fn disc(centre: Vector, normal: Vector, radius: f64) -> (Vec<Vector>, Vec<[u32; 3]>) {
    let normal = unit(normal);
    let least = (0..3).min_by(|&a, &b| normal[a].abs().total_cmp(&normal[b].abs())).unwrap_or_default();
    let mut axis = [0.0; 3];
    axis[least] = 1.0;
    let u = unit(cross(normal, axis));
    let v = cross(normal, u);
    let (mut points, mut triangles) = (vec![centre], Vec::new());
    for ring in 1..=DISC_RINGS {
        let first = points.len() as u32;
        let radius = radius * f64::from(ring) / f64::from(DISC_RINGS);
        for i in 0..6 * ring {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(i) / f64::from(6 * ring)).sin_cos();
            points.push([0, 1, 2].map(|k| centre[k] + radius * (cos * u[k] + sin * v[k])));
        }
        let outer = |i: u32| first + i % (6 * ring);
        let inner = |i: u32| if ring == 1 { 0 } else { first - 6 * (ring - 1) + i % (6 * (ring - 1)) };
        for sector in 0..6 {
            for i in 0..ring {
                let (o, n) = (sector * ring + i, sector * (ring - 1) + i);
                triangles.push([inner(n), outer(o), outer(o + 1)]);
                if i + 1 < ring {
                    triangles.push([inner(n), outer(o + 1), inner(n + 1)]);
                }
            }
        }
    }
    (points, triangles)
}

/// Turns triangles so that neighbours have their normals on the same side.
fn orient(triangles: &mut [[u32; 3]]) -> Result<(), String> {
    let mut around: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for (index, triangle) in (0..).zip(&*triangles) {
        for i in 0..3 {
            around.entry(key(triangle[i], triangle[(i + 1) % 3])).or_default().push(index);
        }
    }
    if around.values().any(|list| list.len() > 2) {
        return Err("three triangles of the crack share an edge: give each sheet as a crack of its own".to_owned());
    }
    let runs = |triangle: [u32; 3], a: u32, b: u32| (0..3).any(|i| (triangle[i], triangle[(i + 1) % 3]) == (a, b));
    let mut is_done = vec![false; triangles.len()];
    for start in 0..triangles.len() {
        if is_done[start] {
            continue;
        }
        is_done[start] = true;
        let mut stack = vec![start];
        while let Some(current) = stack.pop() {
            for i in 0..3 {
                let (a, b) = (triangles[current][i], triangles[current][(i + 1) % 3]);
                for &other in around[&key(a, b)].iter().filter(|&&other| other as usize != current) {
                    let other = other as usize;
                    let is_turned = runs(triangles[other], a, b);
                    if is_turned && is_done[other] {
                        return Err("the surface of the crack has one side only, as a Möbius strip has".to_owned());
                    }
                    if is_turned {
                        triangles[other].swap(1, 2);
                    }
                    if !is_done[other] {
                        is_done[other] = true;
                        stack.push(other);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The point of a triangle that is nearest to `point`, and the part on which it lies, as in [`Facet::normals`] (Ericson,
/// Real-Time Collision Detection, 2005, Section 5.1.5).
fn closest([a, b, c]: [Vector; 3], point: Vector) -> (Vector, usize) {
    let (ab, ac, ap) = (sub(b, a), sub(c, a), sub(point, a));
    let along = |start: Vector, direction: Vector, t: f64| [0, 1, 2].map(|k| start[k] + t * direction[k]);
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, 0);
    }
    let bp = sub(point, b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, 1);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (along(a, ab, d1 / (d1 - d3)), 3);
    }
    let cp = sub(point, c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, 2);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (along(a, ac, d2 / (d2 - d6)), 5);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return (along(b, sub(c, b), (d4 - d3) / ((d4 - d3) + (d5 - d6))), 4);
    }
    let scale = 1.0 / (va + vb + vc);
    let (v, w) = (vb * scale, vc * scale);
    ([0, 1, 2].map(|k| a[k] + v * ab[k] + w * ac[k]), 6)
}

fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn unit(a: Vector) -> Vector {
    let length = norm(a);
    a.map(|x| x / length)
}

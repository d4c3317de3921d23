//! What each pixel of a picture shows of a mesh. It is found once; then a picture of any field is a table look-up.

use super::camera::{Camera, bounds};
use super::surface::{SurfaceFace, outer_surface};
use crate::mesh::MeshView;
use crate::vector::{cross, difference, dot, normalised};
use crate::write::raster::{Canvas, INK, WHITE, fill};

/// One value a node, drawn smoothly, or one an element.
#[derive(Debug, Clone, Copy)]
pub enum Scalar<'a> {
    /// One value a node.
    Nodal(&'a [f64]),
    /// One value an element.
    Elemental(&'a [f64]),
}

impl Scalar<'_> {
    /// The values.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Nodal(values) | Self::Elemental(values) => values,
        }
    }
}

/// What a pixel shows.
#[derive(Debug, Clone, Copy)]
struct Pixel {
    nodes: [u32; 4],
    /// They sum up to 1; 0 where there is no fourth node.
    weights: [f32; 4],
    /// `u32::MAX`: nothing.
    element: u32,
}

const NOTHING: Pixel = Pixel { nodes: [0; 4], weights: [0.0; 4], element: u32::MAX };

/// A picture of a mesh without its values.
#[derive(Debug)]
pub struct MeshPicture {
    /// From where.
    pub camera: Camera,
    /// Row by row from the top.
    pixels: Vec<Pixel>,
    /// How dark the lines over each pixel are, 0 to 255.
    pub ink: Vec<u8>,
}

/// Elements that are larger than this, in pixels, have their edges drawn.
const EDGES_FROM: f64 = 14.0;
/// The cosine of the angle between faces from which on their edge is drawn.
const CREASE: f64 = 0.8;
/// Pixels of depth between neighbouring pixels from which on an edge is drawn.
const STEP: f64 = 8.0;

impl MeshPicture {
    /// A view of a mesh, or of the part of it in a `window` (lower left and upper right corner), so many pixels wide. A mesh in
    /// space shows its outer surface, seen from `eye`.
    pub fn new(mesh: &MeshView<'_>, window: Option<[f64; 4]>, eye: Option<[f64; 3]>, width: usize) -> Self {
        let flat = mesh.dimension == 2;
        let bounds = window.map_or_else(|| bounds_of_elements(mesh), |[x0, y0, x1, y1]| [[x0, y0, 0.0], [x1, y1, 0.0]]);
        let camera = Camera::new(bounds, flat, eye, width);
        let surface = outer_surface(mesh);
        let mut picture = Self { pixels: vec![NOTHING; camera.width * camera.height], ink: Vec::new(), camera };
        if flat {
            let mut element = 0;
            for group in &mesh.groups {
                for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                    picture.paint(mesh, nodes, element, None);
                    element += 1;
                }
            }
            picture.ink = picture.edges(mesh, &surface);
        } else {
            let mut depth = vec![f32::NEG_INFINITY; picture.pixels.len()];
            for face in &surface {
                picture.paint(mesh, face.corners(), face.element, Some(&mut depth));
            }
            picture.ink = picture.contours(mesh, &surface);
        }
        picture
    }

    /// A plane cut through a mesh in space, across `axis` at the position `at`; the camera looks along the axis, with the other two
    /// as its x and y.
    pub fn slice(mesh: &MeshView<'_>, axis: usize, at: f64, width: usize) -> Self {
        let plane = plane_of(axis);
        let flattened = |x: [f64; 3]| [x[plane[0]], x[plane[1]], 0.0];
        let camera = Camera::new(bounds_of_elements(mesh).map(flattened), true, None, width);
        let mut picture = Self { pixels: vec![NOTHING; camera.width * camera.height], ink: Vec::new(), camera };
        let (width, height) = (picture.camera.width, picture.camera.height);
        let mut element = 0;
        for group in &mesh.groups {
            for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                for corners in tetrahedra(nodes.len()) {
                    let nodes = corners.map(|corner| nodes[usize::from(corner)]);
                    let positions = nodes.map(|node| position(mesh, node));
                    let cut = cut(positions.map(|x| x[axis] - at));
                    let place = |weights: &[f64; 4]| {
                        let point = |k: usize| (0..4).map(|corner| weights[corner] * positions[corner][k]).sum::<f64>();
                        let [x, y, _] = picture.camera.project([point(plane[0]), point(plane[1]), 0.0]);
                        [x, y]
                    };
                    let places: Vec<[f64; 2]> = cut.iter().map(place).collect();
                    for last in 2..cut.len() {
                        let triangle = [0, last - 1, last];
                        fill(triangle.map(|k| places[k]), width, height, |pixel, shares| {
                            let mut weights = [0.0; 4];
                            for (k, share) in triangle.into_iter().zip(shares) {
                                (0..4).for_each(|corner| weights[corner] += (share * cut[k][corner]) as f32);
                            }
                            picture.pixels[pixel] = Pixel { nodes, weights, element };
                        });
                    }
                }
                element += 1;
            }
        }
        picture
    }

    /// The value of each pixel: NaN where there is nothing, infinity where the value is unknown.
    pub fn values(&self, scalar: Scalar<'_>) -> Vec<f32> {
        let known = |value: f64| if value.is_finite() { value as f32 } else { f32::INFINITY };
        let value = |pixel: &Pixel| match scalar {
            _ if pixel.element == u32::MAX => f32::NAN,
            Scalar::Nodal(values) => {
                let terms = pixel.nodes.iter().zip(pixel.weights).filter(|(_, weight)| *weight != 0.0);
                known(terms.map(|(&node, weight)| f64::from(weight) * values[node as usize]).sum())
            }
            Scalar::Elemental(values) => known(values[pixel.element as usize]),
        };
        self.pixels.iter().map(value).collect()
    }

    /// The node that each pixel is nearest to; none where there is nothing.
    pub fn nearest(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.pixels.iter().map(|pixel| {
            let heaviest = (1..4).fold(0, |best, k| if pixel.weights[k] > pixel.weights[best] { k } else { best });
            (pixel.element != u32::MAX).then_some(pixel.nodes[heaviest])
        })
    }

    /// A triangle, or a quadrilateral as four round its centre.
    fn paint(&mut self, mesh: &MeshView<'_>, nodes: &[u32], element: u32, mut depth: Option<&mut [f32]>) {
        let mut corners = [[0.0; 3]; 5];
        for (corner, &node) in corners.iter_mut().zip(nodes) {
            *corner = self.camera.project(position(mesh, node));
        }
        let mut padded = [nodes[0]; 4];
        padded[..nodes.len()].copy_from_slice(nodes);
        let (width, height) = (self.camera.width, self.camera.height);
        for (triangle, quarter) in triangles(&mut corners, nodes.len()) {
            let at = triangle.map(|corner| corners[corner]);
            fill(at.map(|[x, y, _]| [x, y]), width, height, |pixel, shares| {
                if let Some(depth) = depth.as_deref_mut() {
                    let own = shares.iter().zip(at).map(|(share, at)| share * at[2]).sum::<f64>() as f32;
                    if own < depth[pixel] {
                        return;
                    }
                    depth[pixel] = own;
                }
                let mut weights = [if quarter { 0.25 * shares[2] as f32 } else { 0.0 }; 4];
                let own = if quarter { 2 } else { 3 };
                (0..own).for_each(|k| weights[triangle[k]] += shares[k] as f32);
                self.pixels[pixel] = Pixel { nodes: padded, weights, element };
            });
        }
    }

    /// The outline, and the elements' edges where there is room for them.
    fn edges(&self, mesh: &MeshView<'_>, outline: &[SurfaceFace]) -> Vec<u8> {
        let mut canvas = Canvas::new(2 * self.camera.width, 2 * self.camera.height, WHITE);
        let mut line = |a: u32, b: u32, thickness: f64, grey: u8| {
            let [a, b] = [a, b].map(|node| self.camera.project(position(mesh, node)));
            canvas.line([2.0 * a[0], 2.0 * a[1]], [2.0 * b[0], 2.0 * b[1]], thickness, [grey; 3]);
        };
        let [low, high] = bounds(mesh.coordinates, 2);
        let area = (high[0] - low[0]) * (high[1] - low[1]) * self.camera.scale() * self.camera.scale();
        if (area / mesh.n_elements().max(1) as f64).sqrt() > EDGES_FROM {
            for group in &mesh.groups {
                for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                    for (corner, &node) in nodes.iter().enumerate() {
                        line(node, nodes[(corner + 1) % nodes.len()], 1.0, 170);
                    }
                }
            }
        }
        for face in outline {
            if let [a, b] = *face.corners() {
                line(a, b, 2.6, 0);
            }
        }
        darkness(&canvas)
    }

    /// Lines where a surface in space ends, bends or hides another: they show its shape, and the colours stay those of the
    /// bar.
    fn contours(&self, mesh: &MeshView<'_>, surface: &[SurfaceFace]) -> Vec<u8> {
        let (width, height) = (2 * self.camera.width, 2 * self.camera.height);
        let mut depth = vec![f32::NEG_INFINITY; width * height];
        let mut faces = vec![u32::MAX; width * height];
        for (index, face) in (0..).zip(surface) {
            let mut corners = [[0.0; 3]; 5];
            for (corner, &node) in corners.iter_mut().zip(face.corners()) {
                *corner = self.camera.project(position(mesh, node)).map(|x| 2.0 * x);
            }
            for (triangle, _) in triangles(&mut corners, face.corners().len()) {
                let at = triangle.map(|corner| corners[corner]);
                fill(at.map(|[x, y, _]| [x, y]), width, height, |pixel, shares| {
                    let own = shares.iter().zip(at).map(|(share, at)| share * at[2]).sum::<f64>() as f32;
                    if own >= depth[pixel] {
                        (depth[pixel], faces[pixel]) = (own, index);
                    }
                });
            }
        }
        let normal = |index: u32| {
            let [a, b, c] = [0, 1, 2].map(|k| position(mesh, surface[index as usize].corners()[k]));
            let normal = normalised(cross(difference(b, a), difference(c, a)));
            // Whichever way the face is listed, what we see faces us.
            if dot(normal, self.camera.towards()) < 0.0 { normal.map(|x| -x) } else { normal }
        };
        let darkness_between = |a: usize, b: usize| match (faces[a], faces[b]) {
            (u32::MAX, u32::MAX) => 0,
            (u32::MAX, _) | (_, u32::MAX) => 230,
            (p, q) if p == q => 0,
            (p, q) => {
                let bend = dot(normal(p), normal(q));
                let is_step = f64::from((depth[a] - depth[b]).abs()) > 2.0 * STEP;
                if is_step {
                    200
                } else if bend < CREASE {
                    110
                } else {
                    0
                }
            }
        };
        let mut canvas = Canvas::new(width, height, WHITE);
        for y in 0..height - 1 {
            for x in 0..width - 1 {
                let at = y * width + x;
                let dark = darkness_between(at, at + 1).max(darkness_between(at, at + width));
                if dark > 0 {
                    canvas.rectangle(x, y, 2, 2, [255 - dark; 3]);
                }
            }
        }
        darkness(&canvas)
    }
}

/// What the lines on a canvas of twice the size leave of each pixel.
fn darkness(canvas: &Canvas) -> Vec<u8> {
    let small = canvas.halved();
    let pixels = (0..small.height()).flat_map(|y| (0..small.width()).map(move |x| (x, y)));
    pixels.map(|(x, y)| 255 - small.pixel(x, y).unwrap_or(INK)[0]).collect()
}

/// The triangles of a face with `n` corners, and whether their last corner is the centre, which is put behind the corners.
fn triangles(corners: &mut [[f64; 3]; 5], n: usize) -> impl Iterator<Item = ([usize; 3], bool)> + use<> {
    if n == 4 {
        corners[4] = std::array::from_fn(|k| 0.25 * corners[..4].iter().map(|corner| corner[k]).sum::<f64>());
    }
    let whole = (n == 3).then_some(([0, 1, 2], false));
    let quarters = (0..4).map(|k| ([k, (k + 1) % 4, 4], true));
    whole.into_iter().chain(quarters.take(if n == 4 { 4 } else { 0 }))
}

/// The axes that lie in a plane across one.
pub(crate) fn plane_of(axis: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][axis.min(2)]
}

/// The tetrahedra that a solid element with so many nodes is made of.
fn tetrahedra(n_nodes: usize) -> &'static [[u8; 4]] {
    match n_nodes {
        4 => &[[0, 1, 2, 3]],
        6 => &[[0, 1, 2, 5], [0, 1, 5, 4], [0, 4, 5, 3]],
        8 => &[[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]],
        _ => &[],
    }
}

/// Where a plane cuts a tetrahedron whose corners have these distances from it: weights of the corners at each corner of the cut,
/// round it. Nothing, or three or four.
fn cut(distance: [f64; 4]) -> Vec<[f64; 4]> {
    let (above, below): (Vec<usize>, Vec<usize>) = (0..4).partition(|&corner| distance[corner] >= 0.0);
    let edge = |a: usize, b: usize| {
        let t = distance[a] / (distance[a] - distance[b]);
        let mut weights = [0.0; 4];
        (weights[a], weights[b]) = (1.0 - t, t);
        weights
    };
    match (above.as_slice(), below.as_slice()) {
        ([one], [a, b, c]) | ([a, b, c], [one]) => [a, b, c].map(|other| edge(*one, *other)).to_vec(),
        ([a, b], [c, d]) => vec![edge(*a, *c), edge(*a, *d), edge(*b, *d), edge(*b, *c)],
        _ => Vec::new(),
    }
}

/// Lowest and highest coordinates of the nodes that elements use.
pub(crate) fn bounds_of_elements(mesh: &MeshView<'_>) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for &node in mesh.groups.iter().flat_map(|group| group.connectivity) {
        let x = position(mesh, node);
        for axis in 0..3 {
            bounds[0][axis] = bounds[0][axis].min(x[axis]);
            bounds[1][axis] = bounds[1][axis].max(x[axis]);
        }
    }
    bounds
}

/// Where a node is; z is 0 in the plane.
pub(crate) fn position(mesh: &MeshView<'_>, node: u32) -> [f64; 3] {
    let first = node as usize * mesh.dimension;
    std::array::from_fn(|k| if k < mesh.dimension { mesh.coordinates[first + k] } else { 0.0 })
}

#[cfg(test)]
pub(super) mod tests;

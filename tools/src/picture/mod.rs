//! Pictures of a partition: blocks in colours, like the paper's Fig. 7. In 3D they show the outer surface, shaded, in an
//! oblique view.

#[cfg(test)]
mod tests;

use std::path::Path;

use pogo_formats::mesh::MeshView;
use pogo_formats::write::{OutputError, raster};

use crate::elements::{cross, dot, norm, sub};
use crate::partition::{PartitionError, boundary_faces};
use crate::rows::rows_of;

/// How to draw; the options of `pogo-info` that go with `--picture`.
#[derive(Debug, Clone, PartialEq, Default, clap::Args)]
pub struct PictureOptions {
    /// Pixels of the picture's longer side (not of springs) [default: 1600].
    #[arg(long, value_name = "PIXELS", requires = "picture")]
    pub size: Option<u32>,
    // The lower left and the upper right corner.
    /// Draw only this part of a 2D mesh, m.
    #[arg(long, value_name = "X0,Y0,X1,Y1", requires = "picture", value_parser = window, allow_hyphen_values = true)]
    pub window: Option<[f64; 4]>,
}

fn window(text: &str) -> Result<[f64; 4], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| "expected four numbers, X0,Y0,X1,Y1".into())
}

/// Pixels of the longer side of a picture.
pub const DEFAULT_SIZE: u32 = 1600;

/// Parts of a mesh in solver order, such as its blocks or sub-domains.
pub struct Parts<'a> {
    /// First own node of each part, (n_parts + 1,).
    pub first: &'a [u32],
    /// Nodes of other parts that a part reads, ascending.
    pub halo: &'a dyn Fn(usize) -> &'a [u32],
}

impl Parts<'_> {
    fn len(&self) -> usize {
        self.first.len() - 1
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum PictureError {
    #[error(transparent)]
    Mesh(#[from] PartitionError),
    #[error("nothing to draw: {0}")]
    Empty(&'static str),
    #[error("a picture of {0} pixels is not possible: give between 16 and 16384")]
    Size(u32),
    #[error("{0} is not for {1}")]
    Option(&'static str, &'static str),
    #[error("--window is for models in the plane")]
    Window,
    #[error(transparent)]
    Write(#[from] OutputError),
}

/// Colours of parts; neighbouring parts get different ones.
const PALETTE: [[u8; 3]; 12] = [
    [229, 112, 88],
    [86, 156, 214],
    [240, 196, 83],
    [106, 180, 120],
    [171, 126, 196],
    [240, 154, 70],
    [90, 190, 190],
    [222, 130, 168],
    [163, 190, 90],
    [118, 134, 200],
    [200, 160, 120],
    [150, 150, 155],
];

/// Samples of a pixel in each direction.
const SAMPLES: usize = 2;

/// Draws the parts of a mesh into a PNG file.
///
/// # Errors
/// See [`PictureError`].
pub fn draw(mesh: &MeshView, parts: &Parts, path: &Path, options: &PictureOptions) -> Result<(), PictureError> {
    let size = options.size.unwrap_or(DEFAULT_SIZE);
    if !(16..=16_384).contains(&size) {
        return Err(PictureError::Size(size));
    }
    if options.window.is_some() && mesh.dimension != 2 {
        return Err(PictureError::Window);
    }
    let colours = colours(parts);
    let mut part_of = vec![0_u32; mesh.n_nodes()];
    for part in 0..parts.len() {
        part_of[parts.first[part] as usize..parts.first[part + 1] as usize].fill(part as u32);
    }
    let scene = if mesh.dimension == 3 { Scene::solid(mesh)? } else { Scene::plane(mesh) };
    let mut canvas = Canvas::new(options.window.unwrap_or_else(|| scene.bounds()), size as usize)?;
    for (nodes, shade) in &scene.triangles {
        let colour = nodes.map(|node| {
            let colour = colours[part_of[node as usize] as usize];
            colour.map(|c| (f32::from(c) * shade) as u8)
        });
        canvas.triangle(nodes.map(|node| scene.points[node as usize]), colour);
    }
    Ok(canvas.write(path)?)
}

/// A palette colour for each part, other than those of its neighbours with lower numbers.
fn colours(parts: &Parts) -> Vec<[u8; 3]> {
    let mut chosen: Vec<usize> = Vec::with_capacity(parts.len());
    for part in 0..parts.len() {
        let mut taken = [false; PALETTE.len()];
        for &colour in rows_of(parts.first, (parts.halo)(part)).filter_map(|owner| chosen.get(owner)) {
            taken[colour] = true;
        }
        // Different starts spread the colours.
        let start = part * 5 % PALETTE.len();
        let free = (0..PALETTE.len()).map(|i| (start + i) % PALETTE.len()).find(|&c| !taken[c]);
        chosen.push(free.unwrap_or(start));
    }
    chosen.into_iter().map(|c| PALETTE[c]).collect()
}

/// Triangles to draw.
struct Scene {
    /// Screen x, screen y (upwards) and depth of each node.
    points: Vec<[f64; 3]>,
    /// Nodes and brightness.
    triangles: Vec<([u32; 3], f32)>,
}

impl Scene {
    fn plane(mesh: &MeshView) -> Self {
        let points = mesh.coordinates.chunks_exact(2).map(|p| [p[0], p[1], 0.0]).collect();
        let mut triangles = Vec::with_capacity(mesh.n_elements());
        for group in &mesh.groups {
            for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                for i in 2..nodes.len() {
                    triangles.push(([nodes[0], nodes[i - 1], nodes[i]], 1.0));
                }
            }
        }
        Self { points, triangles }
    }

    /// The outer faces, seen from the direction (1, −1.6, 0.9) with z upwards.
    fn solid(mesh: &MeshView) -> Result<Self, PictureError> {
        let towards = unit([1.0, -1.6, 0.9]);
        let right = unit([1.6, 1.0, 0.0]);
        let up = cross(towards, right);
        let light = unit([0.3, -1.0, 1.4]);
        let position = |node: u32| {
            let at = node as usize * 3;
            [mesh.coordinates[at], mesh.coordinates[at + 1], mesh.coordinates[at + 2]]
        };
        let points = (0..mesh.n_nodes() as u32)
            .map(|node| [dot(position(node), right), dot(position(node), up), dot(position(node), towards)])
            .collect();
        let mut triangles = Vec::new();
        // A surface in space has no boundary faces: its triangles are drawn themselves.
        let surface = mesh.groups.iter().all(|group| group.kind.dimension() == 2);
        let faces: Vec<[u32; 4]> = if surface {
            let triangles = mesh.groups.iter().flat_map(|group| group.connectivity.as_chunks::<3>().0);
            triangles.map(|&[a, b, c]| [a, b, c, u32::MAX]).collect()
        } else {
            boundary_faces(mesh)?.iter().map(|face| face.nodes).collect()
        };
        for [a, b, c, d] in faces {
            let mut push = |t: [u32; 3]| {
                let [p, q, r] = t.map(position);
                let mut normal = unit(cross(sub(q, p), sub(r, p)));
                if dot(normal, towards) < 0.0 {
                    normal = normal.map(|x| -x);
                }
                triangles.push((t, 0.55 + 0.45 * dot(normal, light).max(0.0) as f32));
            };
            push([a, b, c]);
            if d != u32::MAX {
                push([a, c, d]);
            }
        }
        Ok(Self { points, triangles })
    }

    /// Lower left and upper right corner.
    fn bounds(&self) -> [f64; 4] {
        let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for &node in self.triangles.iter().flat_map(|(nodes, _)| nodes) {
            let [x, y, _] = self.points[node as usize];
            bounds = [bounds[0].min(x), bounds[1].min(y), bounds[2].max(x), bounds[3].max(y)];
        }
        bounds
    }
}

struct Canvas {
    width: usize,
    height: usize,
    origin: [f64; 2],
    /// Samples per metre.
    scale: f64,
    colour: Vec<[u8; 3]>,
    depth: Vec<f32>,
}

impl Canvas {
    fn new(window: [f64; 4], size: usize) -> Result<Self, PictureError> {
        let (w, h) = (window[2] - window[0], window[3] - window[1]);
        if !(w.is_finite() && h.is_finite() && w.max(h) > 0.0 && w.min(h) >= 0.0) {
            return Err(PictureError::Empty("the mesh, or the window, has no extent"));
        }
        // A margin of two pixels.
        let scale = (size.saturating_sub(4) * SAMPLES) as f64 / w.max(h);
        let samples = |length: f64| (((length * scale) as usize).div_ceil(SAMPLES) + 4) * SAMPLES;
        let (width, height) = (samples(w), samples(h));
        let margin = 2.0 * SAMPLES as f64 / scale;
        Ok(Self {
            width,
            height,
            origin: [window[0] - margin, window[1] - margin],
            scale,
            colour: vec![[255; 3]; width * height],
            depth: vec![f32::NEG_INFINITY; width * height],
        })
    }

    /// Fills a triangle, each sample in the colour of the corner that it is nearest to.
    fn triangle(&mut self, corners: [[f64; 3]; 3], colours: [[u8; 3]; 3]) {
        let p = corners.map(|[x, y, z]| [(x - self.origin[0]) * self.scale, (y - self.origin[1]) * self.scale, z]);
        let area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        let range = |axis: usize, end: usize| {
            let low = p.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
            let high = p.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
            // Casts saturate: triangles outside the window give an empty range.
            (low - 0.5).ceil().max(0.0) as usize..((high - 0.5).floor() + 1.0).clamp(0.0, end as f64) as usize
        };
        for row in range(1, self.height) {
            for column in range(0, self.width) {
                let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
                let share = |a: usize, b: usize| ((p[a][0] - x) * (p[b][1] - y) - (p[b][0] - x) * (p[a][1] - y)) / area;
                let weights = [share(1, 2), share(2, 0), share(0, 1)];
                if weights.iter().any(|&w| w < -1e-9) {
                    continue;
                }
                let depth = (0..3).map(|i| weights[i] * p[i][2]).sum::<f64>() as f32;
                let at = (self.height - 1 - row) * self.width + column;
                if depth > self.depth[at] {
                    self.depth[at] = depth;
                    let nearest = (0..3).fold(0, |best, i| if weights[i] > weights[best] { i } else { best });
                    self.colour[at] = colours[nearest];
                }
            }
        }
    }

    fn write(&self, path: &Path) -> Result<(), OutputError> {
        let (width, height) = (self.width / SAMPLES, self.height / SAMPLES);
        let mut picture = raster::Canvas::new(width, height, raster::WHITE);
        for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
            let sample = |s: usize| (row * SAMPLES + s / SAMPLES) * self.width + column * SAMPLES + s % SAMPLES;
            let mean = |channel: usize| {
                let sum: usize = (0..SAMPLES * SAMPLES).map(|s| usize::from(self.colour[sample(s)][channel])).sum();
                (sum / (SAMPLES * SAMPLES)) as u8
            };
            picture.rectangle(column, row, 1, 1, [0, 1, 2].map(mean));
        }
        picture.write_png(path)
    }
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = norm(a);
    if length > 0.0 { a.map(|x| x / length) } else { a }
}

//! A scalar over a mesh as a PNG: 2D meshes with outline, 3D meshes by their outer surface.

use std::path::Path;

use super::camera::Camera;
use super::mesh_picture::{MeshPicture, Scalar};
use super::scale::{Scale, Spread, WAVES};
use super::sheet::{self, Words};
use super::svg::time_text;
use crate::mesh::MeshView;
use crate::write::OutputError;
use crate::write::raster::{Canvas, INK, Map, WHITE};

/// How values are drawn; the same for all pictures of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// First line of the picture.
    pub title: String,
    /// Second line of the picture, before the time.
    pub subtitle: String,
    /// Above the colour bar: `|u|`.
    pub label: String,
    /// SI unit of the values, without prefix.
    pub unit: String,
    /// Colours. With [`Map::Diverging`] zero is in the middle.
    pub map: Map,
    /// Values at the ends of the colour bar; none: as [`Scale::new`] finds them.
    pub range: Option<[f64; 2]>,
    /// The share of values that ends the scale where few others are far larger.
    pub share: f64,
    /// So many steps of colour instead of a smooth scale: their borders are lines of equal value.
    pub bands: Option<u32>,
    /// Names of the axes of a drawing in the plane.
    pub axes: [&'static str; 2],
    /// Where a mesh in space is looked at from; none: from the front right, above.
    pub eye: Option<[f64; 3]>,
    /// Width of the picture in pixels, 600 to 8000.
    pub width: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            title: String::new(),
            subtitle: String::new(),
            label: "|u|".to_owned(),
            unit: "m".to_owned(),
            map: Map::Sequential,
            range: None,
            share: WAVES,
            bands: None,
            axes: ["x", "y"],
            eye: None,
            width: 1400,
        }
    }
}

impl Look {
    /// The scale of values with such a spread.
    pub fn scale(&self, spread: &Spread) -> Scale {
        Scale::new(spread, self.map, self.range, self.share, self.bands)
    }

    /// Title, axes and second line, which ends with `what`.
    fn words(&self, what: &str) -> Words {
        let separator = if self.subtitle.is_empty() || what.is_empty() { "" } else { ", " };
        let subtitle = format!("{}{separator}{what}", self.subtitle);
        Words { title: self.title.clone(), subtitle, axes: self.axes.map(str::to_owned) }
    }

    /// A whole picture of the values of its pixels: NaN is nothing, infinity an unknown value. There may be twice as many pixels
    /// in each direction as the camera has, and `ink` are the lines over them, one value a pixel of the camera, or none.
    /// `what` ends the second line.
    pub fn picture(&self, camera: &Camera, values: &[f32], ink: &[u8], scale: &Scale, what: &str) -> Canvas {
        let fine = if values.len() > camera.width * camera.height { 2 } else { 1 };
        let mut drawing = Canvas::new(fine * camera.width, fine * camera.height, WHITE);
        let shades = values.iter().map(|&value| if value.is_nan() { WHITE } else { scale.colour(value.into()) });
        drawing.pixels_mut().iter_mut().zip(shades).for_each(|(pixel, colour)| *pixel = colour);
        if fine == 2 {
            drawing = drawing.halved();
        }
        lay_ink(&mut drawing, ink);
        self.framed(&drawing, camera, scale, what)
    }

    /// A whole picture of lines, over the pale lines of what is around them. `what` ends the second line.
    pub fn picture_of_lines(&self, around: &MeshPicture, lines: &Lines<'_>, scale: &Scale, what: &str) -> Canvas {
        let camera = &around.camera;
        let pale: Vec<u8> = around.ink.iter().map(|dark| dark / 3).collect();
        let mut drawing = Canvas::new(2 * camera.width, 2 * camera.height, WHITE);
        lines.draw(&mut drawing, camera, scale);
        let mut drawing = drawing.halved();
        lay_ink(&mut drawing, &pale);
        self.framed(&drawing, camera, scale, what)
    }

    /// A drawing with its frame and its colour bar.
    fn framed(&self, drawing: &Canvas, camera: &Camera, scale: &Scale, what: &str) -> Canvas {
        let mut canvas = sheet::sheet(drawing, camera, &self.words(what), true);
        sheet::bar(&mut canvas, camera, scale, &self.label, &self.unit);
        canvas
    }
}

/// Straight lines in space with a value at each end.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// Ends, (n, 3).
    pub coordinates: &'a [f64],
    /// The two ends of each line, (m, 2).
    pub ends: &'a [u32],
    /// Value of each end, (n,); what is not finite is unknown.
    pub values: &'a [f64],
}

/// Pixels of a picture that a line is wide.
const LINE: f64 = 3.0;
/// Pixels of a picture in one colour along a line, at the most.
const PIECE: f64 = 3.0;

impl Lines<'_> {
    /// Draws them on a canvas with twice as many pixels as the camera has, those in front last.
    fn draw(&self, canvas: &mut Canvas, camera: &Camera, scale: &Scale) {
        let at = |end: u32| {
            let first = 3 * end as usize;
            camera.project([0, 1, 2].map(|k| self.coordinates[first + k]))
        };
        let mut lines: Vec<_> = self.ends.as_chunks().0.iter().map(|&[a, b]| ([a, b], at(a), at(b))).collect();
        lines.sort_by(|p, q| (p.1[2] + p.2[2]).total_cmp(&(q.1[2] + q.2[2])));
        for (ends, from, to) in lines {
            let [a, b] = ends.map(|end| self.values[end as usize]);
            let pieces = ((to[0] - from[0]).hypot(to[1] - from[1]) / PIECE).ceil().clamp(1.0, 1e4);
            let place = |share: f64| [0, 1].map(|k| 2.0 * (from[k] + share * (to[k] - from[k])));
            for piece in 0..pieces as usize {
                let share = |ends: f64| (piece as f64 + ends) / pieces;
                let value = if a.is_finite() && b.is_finite() { a + share(0.5) * (b - a) } else { f64::INFINITY };
                canvas.line(place(share(0.0)), place(share(1.0)), 2.0 * LINE, scale.colour(value));
            }
        }
    }
}

/// Draws lines over a drawing.
pub fn lay_ink(drawing: &mut Canvas, ink: &[u8]) {
    let width = drawing.width();
    for (at, &dark) in ink.iter().enumerate().filter(|(_, dark)| **dark > 0) {
        drawing.blend((at % width) as i64, (at / width) as i64, INK, f64::from(dark) / 255.0);
    }
}

/// The words for a time: `t = 12.5 µs`.
pub fn at_time(time: f64) -> String {
    format!("t = {}", time_text(time))
}

/// Draws a scalar over a mesh. `what` ends the second line.
///
/// # Errors
/// [`OutputError::Shape`] when the values are not one a node (an element), or the mesh has none; [`OutputError::Io`].
pub fn snapshot_png(
    path: &Path,
    mesh: &MeshView<'_>,
    scalar: Scalar<'_>,
    look: &Look,
    what: &str,
) -> Result<(), OutputError> {
    check(path, mesh, scalar)?;
    let picture = MeshPicture::new(mesh, None, look.eye, sheet::plot_width(look.width, mesh.dimension == 2, true));
    let values = picture.values(scalar);
    let mut spread = Spread::default();
    spread.add(values.iter().copied());
    look.picture(&picture.camera, &values, &picture.ink, &look.scale(&spread), what).write_png(path)
}

/// Checks that there is one value a node or an element, and any.
///
/// # Errors
/// [`OutputError::Shape`].
pub fn check(path: &Path, mesh: &MeshView<'_>, scalar: Scalar<'_>) -> Result<(), OutputError> {
    let expected = match scalar {
        Scalar::Nodal(_) => mesh.n_nodes(),
        Scalar::Elemental(_) => mesh.n_elements(),
    };
    let found = scalar.values().len();
    if found != expected || expected == 0 {
        return Err(OutputError::shape(path, format!("{found} values for {expected} nodes or elements")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

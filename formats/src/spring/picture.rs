//! Particles or springs at a time as the values of pixels, and blocks of particles as a PNG.

use std::path::Path;

use super::results::{SpringCell, SpringFrame};
use crate::write::OutputError;
use crate::write::plot::camera::bounds;
use crate::write::plot::sheet::{Words, plot_width, sheet};
use crate::write::plot::{Camera, Look};
use crate::write::raster::{Canvas, WHITE, categorical};

/// Springs are drawn one by one up to this many; beyond it particles are.
const MOST_SPRINGS: usize = 60_000;
/// Room round the particles at rest, as a share of their largest extent.
const MARGIN: f64 = 0.08;
/// Half the width of a spring in pixels of the fine picture.
const HALF_WIDTH: f64 = 1.4;

/// How a model is drawn, the same in all pictures of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SpringPicture {
    /// From where.
    pub camera: Camera,
    /// Springs one by one; otherwise particles.
    pub as_springs: bool,
    /// Half the side of a particle in pixels of the fine picture.
    half: f64,
}

impl SpringPicture {
    /// A view of particles at these places, with so many springs, in a picture of this width. `has_bar`: there is to be a
    /// colour bar.
    pub fn new(coordinates: &[f64], n_springs: usize, width: usize, has_bar: bool) -> Self {
        let bounds = bounds(coordinates, 3);
        let flat = bounds[0][2] == bounds[1][2];
        // Room for what moves, so that the axes stay outside of it.
        let margin = MARGIN * (0..3).map(|axis| bounds[1][axis] - bounds[0][axis]).fold(0.0, f64::max);
        let around =
            |end: usize, by: f64| [0, 1, 2].map(|axis| if flat && axis == 2 { 0.0 } else { bounds[end][axis] + by });
        let view = [around(0, -margin), around(1, margin)];
        let camera = Camera::new(view, flat, None, plot_width(width, flat, has_bar));
        let n = (coordinates.len() / 3).max(1) as f64;
        let extent = |axis: usize| (bounds[1][axis] - bounds[0][axis]).max(1e-12);
        // As wide as particles are apart, were they to fill the box.
        let apart =
            if flat { (extent(0) * extent(1) / n).sqrt() } else { (extent(0) * extent(1) * extent(2) / n).cbrt() };
        let half = (camera.scale() * apart).clamp(1.0, 40.0);
        Self { camera, as_springs: n_springs > 0 && n_springs <= MOST_SPRINGS, half }
    }

    /// How values are drawn: the size of the strain of springs, or of the displacement of particles.
    pub fn look(&self, title: &str) -> Look {
        Look { title: title.into(), ..look(self.as_springs) }
    }

    /// Number of values of a picture: it has twice as many pixels in each direction as the camera.
    pub fn n_values(&self) -> usize {
        4 * self.camera.width * self.camera.height
    }

    /// The value of each pixel at a time, NaN where there is nothing.
    pub fn values(&self, frame: &SpringFrame<'_>) -> Vec<f32> {
        let size = |i: u32| (0..3).map(|c| frame.displacement[3 * i as usize + c].powi(2)).sum::<f64>().sqrt();
        self.paint(frame, |spring| spring.strain.abs(), |particle| size(particle) as f32)
    }

    /// Paints springs or particles from back to front.
    fn paint(
        &self,
        frame: &SpringFrame<'_>,
        of_spring: impl Fn(&SpringCell) -> f32,
        of_particle: impl Fn(u32) -> f32,
    ) -> Vec<f32> {
        let place = |i: u32| {
            let at = 3 * i as usize;
            let moved = std::array::from_fn(|c| frame.coordinates[at + c] + frame.displacement[at + c]);
            self.camera.project(moved).map(|x| 2.0 * x)
        };
        let mut raster = Raster { values: vec![f32::NAN; self.n_values()], width: 2 * self.camera.width };
        if self.as_springs {
            let springs = frame.springs.unwrap_or_default();
            let mut lines: Vec<([[f64; 3]; 2], f32)> =
                springs.iter().map(|spring| (spring.particles.map(place), of_spring(spring))).collect();
            lines.sort_by(|(a, _), (b, _)| (a[0][2] + a[1][2]).total_cmp(&(b[0][2] + b[1][2])));
            lines.iter().for_each(|([a, b], value)| raster.line(*a, *b, *value));
        } else {
            let mut points: Vec<([f64; 3], u32)> = (0..frame.labels.len() as u32).map(|i| (place(i), i)).collect();
            points.sort_by(|(a, _), (b, _)| a[2].total_cmp(&b[2]));
            points.iter().for_each(|(at, i)| raster.square(*at, self.half, of_particle(*i)));
        }
        raster.values
    }
}

/// How the strain of springs, or the displacement of particles, is shown.
pub(super) fn look(as_springs: bool) -> Look {
    let [subtitle, label, unit] = match as_springs {
        true => ["size of the strain of springs", "|strain|", ""],
        false => ["size of the displacement of particles", "|u|", "m"],
    };
    Look { subtitle: subtitle.into(), label: label.into(), unit: unit.into(), ..Look::default() }
}

/// The values of the pixels of a fine picture.
struct Raster {
    values: Vec<f32>,
    width: usize,
}

impl Raster {
    /// Pixels whose centres lie within `reach` of a place along one axis.
    fn span(at: f64, reach: f64, n: usize) -> std::ops::Range<usize> {
        // Casts saturate, and NaN becomes 0.
        let begin = (at - reach).ceil().max(0.0) as usize;
        let end = if at + reach >= 0.0 { ((at + reach).floor() as usize).saturating_add(1).min(n) } else { 0 };
        begin.min(end)..end
    }

    fn square(&mut self, [x, y, _]: [f64; 3], half: f64, value: f32) {
        if !(x.is_finite() && y.is_finite()) {
            return;
        }
        let height = self.values.len() / self.width;
        for row in Self::span(y, half, height) {
            self.values[row * self.width..][Self::span(x, half, self.width)].fill(value);
        }
    }

    fn line(&mut self, a: [f64; 3], b: [f64; 3], value: f32) {
        let steps = (b[0] - a[0]).abs().max((b[1] - a[1]).abs()).ceil();
        if !steps.is_finite() || steps > 1e5 {
            return;
        }
        let n = steps.max(1.0);
        for step in 0..=n as usize {
            let t = step as f64 / n;
            self.square([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), 0.0], HALF_WIDTH, value);
        }
    }
}

/// Draws the blocks of so many particles each.
///
/// # Errors
/// [`OutputError::Io`].
pub fn blocks_png(
    path: &Path,
    frame: &SpringFrame<'_>,
    block_size: usize,
    title: &str,
    width: usize,
) -> Result<(), OutputError> {
    let n_springs = frame.springs.map_or(0, <[SpringCell]>::len);
    let picture = SpringPicture::new(frame.coordinates, n_springs, width, false);
    let block = |particle: u32| (particle as usize / block_size.max(1)) as f32;
    let blocks = picture.paint(frame, |spring| block(spring.particles[0]), block);
    let camera = &picture.camera;
    let mut drawing = Canvas::new(2 * camera.width, 2 * camera.height, WHITE);
    for (pixel, block) in drawing.pixels_mut().iter_mut().zip(&blocks).filter(|(_, block)| !block.is_nan()) {
        *pixel = categorical(*block as usize);
    }
    let n_blocks = frame.labels.len().div_ceil(block_size.max(1));
    let subtitle = format!("{n_blocks} blocks of at most {block_size} particles; colours tell neighbours apart");
    let words = Words { title: title.into(), subtitle, axes: ["x", "y"].map(str::to_owned) };
    sheet(&drawing.halved(), camera, &words, false).write_png(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn springs_and_particles_have_their_values_where_they_are() {
        let coordinates = [0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 1.0, 1.0];
        let displacement = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, f64::NAN];
        let springs = [SpringCell { particles: [0, 1], group: 0, strain: -0.1 }];
        let frame = SpringFrame {
            time: 0.0,
            coordinates: &coordinates,
            displacement: &displacement,
            velocity: &[],
            labels: &[1, 2, 3],
            material: &[0; 3],
            order: &[0, 1, 2],
            springs: Some(&springs),
        };
        let value_at = |picture: &SpringPicture, position: [f64; 3]| {
            let [x, y, _] = picture.camera.project(position).map(|x| (2.0 * x) as usize);
            picture.values(&frame)[y * 2 * picture.camera.width + x]
        };
        let lines = SpringPicture::new(&coordinates, 1, 1000, true);
        assert_eq!(value_at(&lines, [0.55, 0.0, 0.25]), 0.1, "half way, moved");
        assert!(value_at(&lines, [0.55, 0.0, 0.75]).is_nan());
        let points = SpringPicture::new(&coordinates, 0, 1000, true);
        assert_eq!((points.as_springs, value_at(&points, [1.1, 0.0, 0.5])), (false, 0.1));
        assert_eq!(value_at(&points, [0.0; 3]), 0.0);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks.png");
        blocks_png(&path, &frame, 2, "three", 800).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 1000);
    }
}

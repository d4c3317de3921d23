//! Particles or springs at a time as a PNG, seen from the front right.

use std::path::Path;

use super::results::{SpringCell, SpringFrame};
use crate::write::OutputError;
use crate::write::plot::time_text;
use crate::write::raster::{Align, Canvas, Colour, INK, Map, TextSize, WHITE, categorical};

/// Springs are drawn one by one up to this many; beyond it particles are.
const MOST_SPRINGS: usize = 60_000;
/// Pixels of the picture.
const WIDTH: usize = 1200;
const HEIGHT: usize = 1000;
const MARGIN: f64 = 70.0;

/// What colours say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpringPaint {
    /// Size of the strain of springs, or of the displacement of particles, and the time in the title.
    Motion,
    /// Blocks of so many particles each.
    Blocks(usize),
}

/// Draws springs, or particles where there are too many springs. `box_of` are the corners of what is in view.
///
/// # Errors
/// [`OutputError::Io`].
pub fn springs_png(
    path: &Path,
    frame: &SpringFrame<'_>,
    paint: SpringPaint,
    box_of: [[f64; 3]; 2],
    title: &str,
) -> Result<(), OutputError> {
    let flat = box_of[0][2] == box_of[1][2];
    let rows = if flat { [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] } else { view() };
    let project = |p: [f64; 3]| rows.map(|row| row[0] * p[0] + row[1] * p[1] + row[2] * p[2]);
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for corner in 0..8 {
        let p = project(std::array::from_fn(|c| box_of[corner >> c & 1][c]));
        for c in 0..3 {
            low[c] = low[c].min(p[c]);
            high[c] = high[c].max(p[c]);
        }
    }
    let extent = |c: usize| (high[c] - low[c]).max(f64::MIN_POSITIVE);
    let scale = ((WIDTH as f64 - 2.0 * MARGIN) / extent(0)).min((HEIGHT as f64 - 2.0 * MARGIN) / extent(1));
    let middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    // Twice as large, halved at the end: smooth edges.
    let place = |i: u32| {
        let i = 3 * i as usize;
        let p = project(std::array::from_fn(|c| frame.coordinates[i + c] + frame.displacement[i + c]));
        let x = 0.5 * WIDTH as f64 + scale * (p[0] - middle[0]);
        let y = 0.5 * HEIGHT as f64 - scale * (p[1] - middle[1]);
        [2.0 * x, 2.0 * y, p[2]]
    };
    let mut canvas = Canvas::new(2 * WIDTH, 2 * HEIGHT, WHITE);
    let springs = frame.springs.unwrap_or_default();
    let label;
    if !springs.is_empty() && springs.len() <= MOST_SPRINGS {
        let largest = springs.iter().map(|s| s.strain.abs()).filter(|s| s.is_finite()).fold(1e-6_f32, f32::max);
        label = format!("size of the strain of springs, 0 to {largest:.2e}");
        let mut lines: Vec<(f64, &SpringCell)> =
            springs.iter().map(|s| (place(s.particles[0])[2] + place(s.particles[1])[2], s)).collect();
        lines.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (depth, spring) in lines {
            let own = match paint {
                SpringPaint::Motion => Map::Sequential.colour(f64::from(spring.strain.abs() / largest)),
                SpringPaint::Blocks(size) => categorical(spring.particles[0] as usize / size.max(1)),
            };
            let [a, b] = spring.particles.map(place);
            let colour = shaded(own, depth, 2.0 * low[2], 2.0 * high[2]);
            canvas.line([a[0], a[1]], [b[0], b[1]], 2.5, colour);
        }
    } else {
        let size = |i: u32| (0..3).map(|c| frame.displacement[3 * i as usize + c].powi(2)).sum::<f64>().sqrt();
        let n = frame.labels.len() as u32;
        let largest = (0..n).map(size).filter(|u| u.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
        label = format!("|u|, 0 to {largest:.2e} m");
        let mut points: Vec<(f64, u32)> = (0..n).map(|i| (place(i)[2], i)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // As wide as particles are apart, were they to fill the box.
        let volume: f64 = (0..3).map(|c| (box_of[1][c] - box_of[0][c]).max(1e-12)).product();
        let apart = if flat {
            (extent(0) * extent(1) / f64::from(n.max(1))).sqrt()
        } else {
            (volume / f64::from(n.max(1))).cbrt()
        };
        let half = (scale * apart).clamp(1.0, 40.0);
        for (depth, i) in points {
            let [x, y, _] = place(i);
            if !(x.is_finite() && y.is_finite()) {
                continue;
            }
            let own = match paint {
                SpringPaint::Motion => Map::Sequential.colour(size(i) / largest),
                SpringPaint::Blocks(size) => categorical(i as usize / size.max(1)),
            };
            let colour = shaded(own, depth, low[2], high[2]);
            let corner = |x: f64| (x - half).max(0.0) as usize;
            canvas.rectangle(corner(x), corner(y), (2.0 * half) as usize, (2.0 * half) as usize, colour);
        }
    }
    let mut canvas = canvas.halved();
    let comma = if title.is_empty() { "" } else { ", " };
    let (heading, label) = match paint {
        SpringPaint::Motion => (format!("{title}{comma}t = {}", time_text(frame.time)), label),
        SpringPaint::Blocks(size) => (title.to_owned(), format!("blocks of {size} particles")),
    };
    canvas.text(24.0, 14.0, &heading, TextSize::Large, Align::Left, INK);
    canvas.text(24.0, HEIGHT as f64 - 30.0, &label, TextSize::Small, Align::Left, INK);
    canvas.write_png(path)
}

/// Rows: the directions of the picture's x, y (up) and depth (towards the eye), as in the pictures of meshes.
fn view() -> [[f64; 3]; 3] {
    let normalised = |v: [f64; 3]| {
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| x / length)
    };
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let eye = normalised([0.62, -1.0, 0.52]);
    let right = normalised(cross([0.0, 0.0, 1.0], eye));
    [right, cross(eye, right), eye]
}

/// What lies further back is paler.
fn shaded(colour: Colour, depth: f64, low: f64, high: f64) -> Colour {
    let near = if high > low { ((depth - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
    let keep = 0.35 + 0.65 * near;
    colour.map(|c| (255.0 - keep * (255.0 - f64::from(c))) as u8)
}

/// Lowest and highest coordinates of (n, 3) positions.
pub fn bounds(coordinates: &[f64]) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for point in coordinates.as_chunks::<3>().0 {
        for c in 0..3 {
            bounds[0][c] = bounds[0][c].min(point[c]);
            bounds[1][c] = bounds[1][c].max(point[c]);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn springs_and_particles_leave_ink() {
        let folder = tempfile::tempdir().unwrap();
        let coordinates = [0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0, 1.0, 1.0];
        let displacement = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, f64::NAN];
        let springs = [SpringCell { particles: [0, 1], group: 0, strain: 0.1 }];
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
        for (name, frame, paint) in [
            ("a.png", frame, SpringPaint::Motion),
            ("b.png", SpringFrame { springs: None, ..frame }, SpringPaint::Motion),
            ("c.png", frame, SpringPaint::Blocks(2)),
        ] {
            let path = folder.path().join(name);
            springs_png(&path, &frame, paint, bounds(&coordinates), "three").unwrap();
            assert!(std::fs::metadata(&path).unwrap().len() > 1000);
        }
    }
}

//! The frame of every picture that is not a curve: title, axes with units, colour bar. It stays legible at half its size.

use super::axis::Axis;
use super::camera::{Camera, corners};
use super::scale::Scale;
use crate::write::raster::{Align, Canvas, Colour, INK, TextSize, WHITE};

/// Pixels around the drawing.
const LEFT: usize = 132;
const LEFT_3D: usize = 24;
const RIGHT: usize = 272;
const RIGHT_WITHOUT_BAR: usize = 40;
const TOP: usize = 112;
const BOTTOM: usize = 100;
/// Pixels across of the smallest picture.
pub const NARROWEST: usize = 600;
/// Pixels across of the largest picture.
pub const WIDEST: usize = 8000;

const GREY: Colour = [110, 110, 110];

/// Pixels that the drawing has in a picture that is so many pixels wide.
pub fn plot_width(width: usize, flat: bool, has_bar: bool) -> usize {
    let left = if flat { LEFT } else { LEFT_3D };
    let right = if has_bar { RIGHT } else { RIGHT_WITHOUT_BAR };
    width.clamp(NARROWEST, WIDEST) - left - right
}

/// Words of a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Words {
    /// First line.
    pub title: String,
    /// Second line: the time, the place of a slice, what the colours are.
    pub subtitle: String,
    /// Names of the axes of a drawing in the plane, without unit.
    pub axes: [String; 2],
}

/// A picture round a drawing: white, with title and axes.
pub fn sheet(drawing: &Canvas, camera: &Camera, words: &Words, has_bar: bool) -> Canvas {
    let left = if camera.flat { LEFT } else { LEFT_3D };
    let right = if has_bar { RIGHT } else { RIGHT_WITHOUT_BAR };
    let mut canvas = Canvas::new(left + camera.width + right, TOP + camera.height + BOTTOM, WHITE);
    canvas.paste(left, TOP, drawing);
    line_of_text(&mut canvas, 10.0, &words.title, TextSize::Large);
    line_of_text(&mut canvas, 50.0, &words.subtitle, TextSize::Medium);
    if camera.flat {
        axes_2d(&mut canvas, camera, &words.axes);
    } else {
        axes_3d(&mut canvas, camera);
    }
    canvas
}

/// A line at the top, in smaller letters or cut where it is too long.
fn line_of_text(canvas: &mut Canvas, y: f64, text: &str, size: TextSize) {
    let room = canvas.width() - 2 * 24;
    let size = [size, TextSize::Medium, TextSize::Small].into_iter().find(|size| size.width(text) <= room);
    let size = size.unwrap_or(TextSize::Small);
    let fits = room / size.width("M").max(1);
    let shown: String = if text.chars().count() <= fits {
        text.to_owned()
    } else {
        text.chars().take(fits.saturating_sub(3)).chain("...".chars()).collect()
    };
    canvas.text(24.0, y, &shown, size, Align::Left, INK);
}

/// An axis over so many pixels: as many numbers as there is room for.
fn fitting(ends: [f64; 2], pixels: f64, across: bool) -> Axis {
    let fits = |axis: &Axis| {
        let spacing = pixels / (axis.ticks.len().max(2) - 1) as f64;
        let widest = axis.ticks.iter().map(|(_, text)| TextSize::Medium.width(text)).max().unwrap_or(0);
        spacing >= if across { widest as f64 + 30.0 } else { 40.0 }
    };
    let axes = (2..=10).rev().map(|n| Axis::new(ends[0], ends[1], n, "m"));
    let mut last = None;
    for axis in axes {
        if fits(&axis) {
            return axis;
        }
        last = Some(axis);
    }
    last.unwrap_or_else(|| Axis::new(ends[0], ends[1], 2, "m"))
}

fn axes_2d(canvas: &mut Canvas, camera: &Camera, names: &[String; 2]) {
    let (w, h) = (camera.width as f64, camera.height as f64);
    let (left, bottom) = (LEFT as f64, TOP as f64 + h);
    let [across, up] = camera.window();
    let (x, y) = (fitting(across, w, true), fitting(up, h, false));
    canvas.line([left - 0.5, bottom + 0.5], [left + w, bottom + 0.5], 1.6, GREY);
    canvas.line([left - 0.5, bottom + 0.5], [left - 0.5, TOP as f64], 1.6, GREY);
    for (tick, text) in &x.ticks {
        let at = (left + w * x.place(*tick)).round() + 0.5;
        canvas.line([at, bottom], [at, bottom + 7.0], 1.6, GREY);
        canvas.text(at, bottom + 10.0, text, TextSize::Medium, Align::Centre, INK);
    }
    for (tick, text) in &y.ticks {
        let at = (bottom - h * y.place(*tick)).round() + 0.5;
        canvas.line([left - 8.0, at], [left - 1.0, at], 1.6, GREY);
        canvas.text(left - 12.0, at - 12.0, text, TextSize::Medium, Align::Right, INK);
    }
    let name = |at: usize, unit: &str| format!("{} / {unit}", names[at]);
    canvas.text(left + 0.5 * w, bottom + 46.0, &name(0, &x.unit), TextSize::Medium, Align::Centre, INK);
    canvas.text(left - 12.0, TOP as f64 - 30.0, &name(1, &y.unit), TextSize::Medium, Align::Right, INK);
}

/// Three edges of the box, outside of what is drawn, with numbers.
fn axes_3d(canvas: &mut Canvas, camera: &Camera) {
    let shifted = |position| {
        let [x, y, _] = camera.project(position);
        [x + LEFT_3D as f64, y + TOP as f64]
    };
    let [low, high] = camera.bounds;
    let middle = shifted(std::array::from_fn(|k| 0.5 * (low[k] + high[k])));
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let edges = corners(&camera.bounds).into_iter().enumerate().filter(|(corner, _)| corner >> axis & 1 == 0);
        let edges = edges.map(|(_, from)| {
            let mut to = from;
            to[axis] = high[axis];
            let (a, b) = (shifted(from), shifted(to));
            (a, b, [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])])
        });
        // The leftmost of those that go up, the lowest of the others.
        let outer = edges.max_by(|p, q| {
            let outside = |at: [f64; 2]| if axis == 2 { -at[0] } else { at[1] };
            outside(p.2).total_cmp(&outside(q.2))
        });
        if let Some((from, to, at)) = outer {
            edge_axis(canvas, name, [low[axis], high[axis]], [from, to], [at[0] - middle[0], at[1] - middle[1]]);
        }
    }
}

/// Numbers along a line, on the side that `outwards` points to.
fn edge_axis(canvas: &mut Canvas, name: &str, ends: [f64; 2], [from, to]: [[f64; 2]; 2], outwards: [f64; 2]) {
    let along = [to[0] - from[0], to[1] - from[1]];
    let length = along[0].hypot(along[1]);
    if length < 40.0 {
        return;
    }
    let mut normal = [-along[1] / length, along[0] / length];
    if normal[0] * outwards[0] + normal[1] * outwards[1] < 0.0 {
        normal = normal.map(|x| -x);
    }
    // Numbers side by side need more room than numbers one above the other.
    let axis = fitting(ends, along[0].abs().max(1.6 * along[1].abs()), along[0].abs() > 1.6 * along[1].abs());
    let align = match normal[0] {
        x if x < -0.35 => Align::Right,
        x if x > 0.35 => Align::Left,
        _ => Align::Centre,
    };
    let beside = |place: f64, distance: f64| [0, 1].map(|k| from[k] + place * along[k] + distance * normal[k]);
    canvas.line(from, to, 1.6, GREY);
    for (tick, text) in &axis.ticks {
        let place = axis.place(*tick);
        canvas.line(beside(place, 0.0), beside(place, 8.0), 1.6, GREY);
        let [x, y] = beside(place, 14.0);
        canvas.text(x, y - 12.0 + 10.0 * normal[1], text, TextSize::Medium, align, INK);
    }
    let widest = axis.ticks.iter().map(|(_, text)| TextSize::Medium.width(text)).max().unwrap_or(0) as f64;
    let [x, y] = beside(0.5, 26.0 + widest * normal[0].abs() + 22.0 * normal[1].abs());
    let label = format!("{name} / {}", axis.unit);
    let width = TextSize::Medium.width(&label) as f64;
    // Within the picture.
    let left = match align {
        Align::Left => x,
        Align::Centre => x - 0.5 * width,
        Align::Right => x - width,
    };
    let left = left.clamp(4.0, (canvas.width() as f64 - width - 4.0).max(4.0));
    canvas.text(left, y - 12.0 + 12.0 * normal[1], &label, TextSize::Medium, Align::Left, INK);
}

/// Draws the colour bar of a scale to the right of the drawing, with the name of the values and their unit.
pub fn bar(canvas: &mut Canvas, camera: &Camera, scale: &Scale, label: &str, unit: &str) {
    let left = if camera.flat { LEFT } else { LEFT_3D };
    let (x, top, height) = (left + camera.width + 36, TOP, camera.height);
    let axes = (((height / 80).clamp(3, 10))..20).map(|n| Axis::new(scale.low, scale.high, n, unit));
    let Some(axis) = axes.into_iter().find(|axis| axis.ticks.len() >= 3) else { return };
    for row in 0..height {
        let place = 1.0 - (row as f64 + 0.5) / height as f64;
        canvas.rectangle(x, top + row, 34, 1, scale.shade(place));
    }
    let (left, right) = (x as f64 - 0.5, x as f64 + 34.5);
    let (high, low) = (top as f64 - 0.5, (top + height) as f64 + 0.5);
    for (from, to) in [
        ([left, high], [right, high]),
        ([right, high], [right, low]),
        ([right, low], [left, low]),
        ([left, low], [left, high]),
    ] {
        canvas.line(from, to, 1.4, GREY);
    }
    for (tick, text) in &axis.ticks {
        let y = (top as f64 + height as f64 * (1.0 - axis.place(*tick))).round() + 0.5;
        canvas.line([right, y], [right + 7.0, y], 1.4, GREY);
        canvas.text(right + 14.0, y - 12.0, text, TextSize::Medium, Align::Left, INK);
    }
    let unit_text = if axis.unit.is_empty() { String::new() } else { format!(" / {}", axis.unit) };
    canvas.text(x as f64, top as f64 - 34.0, &format!("{label}{unit_text}"), TextSize::Medium, Align::Left, INK);
    for (line, text) in scale.notes(unit).iter().enumerate() {
        canvas.text(x as f64, low + 8.0 + 22.0 * line as f64, text, TextSize::Small, Align::Left, INK);
    }
}

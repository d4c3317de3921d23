//! A scalar over a mesh as a PNG: 2D meshes with axes and outline, 3D meshes by their shaded outer surface.

use std::path::Path;

use super::axis::Axis;
use super::surface::{SurfaceFace, outer_surface};
use super::svg::time_text;
use crate::mesh::MeshView;
use crate::vector::{cross, difference, dot};
use crate::write::OutputError;
use crate::write::raster::{Align, Canvas, Colour, INK, Map, TextSize, WHITE};

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub enum Scalar<'a> {
    /// One value a node, drawn smoothly.
    Nodal(&'a [f64]),
    /// One value an element.
    Elemental(&'a [f64]),
}

impl Scalar<'_> {
    fn values(&self) -> &[f64] {
        match self {
            Self::Nodal(values) | Self::Elemental(values) => values,
        }
    }
}

/// How it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotOptions {
    /// First words of the title, before the time.
    pub title: String,
    /// Time for the title, s.
    pub time: Option<f64>,
    /// Beside the colour bar: `|u|`.
    pub label: String,
    /// SI unit of the values, without prefix.
    pub unit: String,
    /// Colours. With [`Map::Diverging`] zero is in the middle.
    pub map: Map,
    /// Values at the ends of the colour bar; none: from 0 to the largest, but if a few values (one in a thousand) are far
    /// above the others, those are cut off and the bar says so.
    pub range: Option<[f64; 2]>,
    /// Width of the picture in pixels, 400 to 8000.
    pub width: usize,
    /// Names of the axes of a 2D picture.
    pub axes: [&'static str; 2],
    /// Where a 3D mesh is looked at from; none: from the front right, above.
    pub eye: Option<[f64; 3]>,
    /// So many steps of colour instead of a smooth scale: their borders are lines of equal value.
    pub bands: Option<u32>,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            title: String::new(),
            time: None,
            label: "|u|".to_owned(),
            unit: "m".to_owned(),
            map: Map::Sequential,
            range: None,
            width: 1400,
            axes: ["x", "y"],
            eye: None,
            bands: None,
        }
    }
}

/// Pixels around the mesh: left and bottom hold the axes, right the colour bar, top the title.
const LEFT: usize = 96;
const RIGHT: usize = 190;
const TOP: usize = 64;
const BOTTOM: usize = 72;
/// The mesh's share of height over width.
const TALLEST: f64 = 1.25;
const FLATTEST: f64 = 0.22;

/// Draws a scalar over a mesh.
///
/// # Errors
/// [`OutputError::Shape`] when the values are not one a node (an element), or the mesh has none; [`OutputError::Io`].
pub fn snapshot_png(
    path: &Path,
    mesh: &MeshView<'_>,
    scalar: Scalar<'_>,
    options: &SnapshotOptions,
) -> Result<(), OutputError> {
    let expected = match scalar {
        Scalar::Nodal(_) => mesh.n_nodes(),
        Scalar::Elemental(_) => mesh.n_elements(),
    };
    if scalar.values().len() != expected || expected == 0 {
        let found = scalar.values().len();
        return Err(OutputError::shape(path, format!("{found} values for {expected} nodes or elements")));
    }
    let range = Range::new(scalar.values(), options);
    let surface = outer_surface(mesh);
    let projection = Projection::new(mesh, &surface, options.eye);
    let plot_width = options.width.clamp(400, 8000) - LEFT - RIGHT;
    let frame = projection.frame(plot_width);
    let mut large = Canvas::new(2 * plot_width, 2 * frame.height, WHITE);
    if mesh.dimension == 2 {
        paint_elements(&mut large, mesh, scalar, &range, &frame);
        paint_edges(&mut large, mesh, &surface, &frame);
    } else {
        paint_surface(&mut large, mesh, &surface, scalar, &range, &frame);
    }
    let mut canvas = Canvas::new(LEFT + plot_width + RIGHT, TOP + frame.height + BOTTOM, WHITE);
    canvas.paste(LEFT, TOP, &large.halved());
    drop(large);
    let mut title = options.title.clone();
    if let Some(time) = options.time {
        let separator = if title.is_empty() { "" } else { ", " };
        title = format!("{title}{separator}t = {}", time_text(time));
    }
    let fits = (canvas.width() - 2 * 24) / TextSize::Large.width("M").max(1);
    let title: String = title.chars().take(fits).collect();
    canvas.text(LEFT as f64, 14.0, &title, TextSize::Large, Align::Left, INK);
    if mesh.dimension == 2 {
        draw_axes(&mut canvas, &frame, plot_width, options.axes);
    } else {
        draw_triad(&mut canvas, &frame);
    }
    draw_bar(&mut canvas, &range, options, LEFT + plot_width + 34, TOP, frame.height);
    canvas.write_png(path)
}

/// Values at the ends of the colours.
struct Range {
    low: f64,
    high: f64,
    /// The map at equal distances: computing a colour for each pixel would take most of the time.
    colours: Vec<Colour>,
    /// Values above (in size) are cut off.
    is_cut: bool,
}

/// Colours in the table.
const SHADES: usize = 1024;

impl Range {
    fn new(values: &[f64], options: &SnapshotOptions) -> Self {
        let map = options.map;
        let place = |shade: usize| {
            let smooth = shade as f64 / (SHADES - 1) as f64;
            options
                .bands
                .filter(|&n| n > 0)
                .map_or(smooth, |n| ((smooth * f64::from(n)).floor().min(f64::from(n - 1)) + 0.5) / f64::from(n))
        };
        let colours = (0..SHADES).map(|shade| map.colour(place(shade))).collect();
        if let Some([low, high]) = options.range {
            return Self { low, high, colours, is_cut: values.iter().any(|&value| value > high || value < low) };
        }
        let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).filter(|size| size.is_finite()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let largest = sizes.last().copied().unwrap_or(0.0);
        // One point source would otherwise leave the rest of the picture dark.
        let typical = sizes.iter().rev().nth(sizes.len() / 1000).copied().unwrap_or(0.0);
        let is_cut = typical > 0.0 && largest > 2.0 * typical && sizes.len() >= 1000;
        let high = if is_cut { typical } else { largest };
        let high = if high > 0.0 { high } else { 1.0 };
        let signed = map == Map::Diverging || values.iter().any(|&value| value < 0.0);
        Self { low: if signed { -high } else { 0.0 }, high, colours, is_cut }
    }

    fn colour(&self, value: f64) -> Colour {
        self.shade((value - self.low) / (self.high - self.low))
    }

    /// The colour at a place along the bar, grey for NaN.
    fn shade(&self, place: f64) -> Colour {
        if place.is_nan() {
            return Map::Sequential.colour(place);
        }
        // The cast saturates at 0.
        let shade = (place * (SHADES - 1) as f64 + 0.5) as usize;
        self.colours[shade.min(SHADES - 1)]
    }
}

/// Orthographic view: rows are the directions of the picture's x, y (up) and depth (towards the eye).
struct Projection {
    rows: [[f64; 3]; 3],
    low: [f64; 2],
    high: [f64; 2],
}

/// A projection with a scale: twice enlarged canvas pixels from positions.
struct Frame {
    rows: [[f64; 3]; 3],
    /// Position (picture axes) of the lower left corner.
    origin: [f64; 2],
    /// Pixels of the final picture a metre.
    scale: f64,
    /// Pixels of the final picture.
    height: usize,
}

impl Projection {
    fn new(mesh: &MeshView<'_>, surface: &[SurfaceFace], eye: Option<[f64; 3]>) -> Self {
        let rows = if mesh.dimension == 2 {
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        } else {
            // From the front right, above: z up. From straight above or below, y up.
            let eye = normalised(eye.unwrap_or([0.62, -1.0, 0.52]));
            let up = if eye[2].abs() > 0.999 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
            let right = normalised(cross(up, eye));
            [right, cross(eye, right), eye]
        };
        let mut projection = Self { rows, low: [f64::INFINITY; 2], high: [f64::NEG_INFINITY; 2] };
        for &node in surface.iter().flat_map(|face| face.corners()) {
            let position = position(mesh, node);
            for axis in 0..2 {
                let x = dot(projection.rows[axis], position);
                projection.low[axis] = projection.low[axis].min(x);
                projection.high[axis] = projection.high[axis].max(x);
            }
        }
        projection
    }

    /// Scales the mesh to a width; meshes that are too tall or flat for it are centred.
    fn frame(&self, width: usize) -> Frame {
        let size = |axis: usize| {
            let size = self.high[axis] - self.low[axis];
            if size.is_finite() && size > 0.0 { size } else { 0.0 }
        };
        let (dx, dy) = (size(0), size(1));
        let (dx, dy) = if dx.max(dy) > 0.0 { (dx, dy) } else { (1.0, 1.0) };
        let border = 12.0;
        let inner = width as f64 - 2.0 * border;
        let inner_height = (inner * dy / dx.max(1e-300)).clamp(FLATTEST * inner, TALLEST * inner);
        let scale = (inner / dx.max(1e-300)).min(inner_height / dy.max(1e-300));
        let height = (inner_height + 2.0 * border).round();
        let centre = |axis: usize| {
            let middle = 0.5 * (self.low[axis] + self.high[axis]);
            if middle.is_finite() { middle } else { 0.0 }
        };
        Frame {
            rows: self.rows,
            origin: [centre(0) - 0.5 * width as f64 / scale, centre(1) - 0.5 * height / scale],
            scale,
            height: height as usize,
        }
    }
}

impl Frame {
    /// On the enlarged canvas: x, y down, depth.
    fn project(&self, position: [f64; 3]) -> [f64; 3] {
        let [x, y, depth] = self.rows.map(|row| dot(row, position));
        let s = 2.0 * self.scale;
        [(x - self.origin[0]) * s, 2.0 * self.height as f64 - (y - self.origin[1]) * s, depth * s]
    }
}

fn position(mesh: &MeshView<'_>, node: u32) -> [f64; 3] {
    let first = node as usize * mesh.dimension;
    std::array::from_fn(|k| if k < mesh.dimension { mesh.coordinates[first + k] } else { 0.0 })
}

fn paint_elements(canvas: &mut Canvas, mesh: &MeshView<'_>, scalar: Scalar<'_>, range: &Range, frame: &Frame) {
    let mut element = 0;
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            paint_polygon(canvas, mesh, nodes, element, scalar, range, frame, None);
            element += 1;
        }
    }
}

fn paint_surface(
    canvas: &mut Canvas,
    mesh: &MeshView<'_>,
    surface: &[SurfaceFace],
    scalar: Scalar<'_>,
    range: &Range,
    frame: &Frame,
) {
    // The light comes from above the left shoulder.
    let [right, up, eye] = frame.rows;
    let light = normalised(std::array::from_fn(|k| eye[k] - 0.55 * right[k] + 0.75 * up[k]));
    for face in surface {
        let corners = face.corners();
        let [a, b, c] = [0, 1, 2].map(|corner| position(mesh, corners[corner]));
        let mut normal = normalised(cross(difference(b, a), difference(c, a)));
        // Whichever way the face is listed, what we see faces us.
        if dot(normal, eye) < 0.0 {
            normal = normal.map(|x| -x);
        }
        let brightness = 0.68 + 0.32 * dot(normal, light).max(0.0);
        paint_polygon(canvas, mesh, corners, face.element as usize, scalar, range, frame, Some(brightness));
    }
}

/// A triangle, or a quadrilateral as four round its centre; shaded and hidden by what is in front when there is a
/// brightness.
#[allow(clippy::too_many_arguments)] // a private step of the two functions above
fn paint_polygon(
    canvas: &mut Canvas,
    mesh: &MeshView<'_>,
    nodes: &[u32],
    element: usize,
    scalar: Scalar<'_>,
    range: &Range,
    frame: &Frame,
    brightness: Option<f64>,
) {
    let mut corners = [([0.0; 3], 0.0); 5];
    for (corner, &node) in corners.iter_mut().zip(nodes) {
        let value = match scalar {
            Scalar::Nodal(values) => values[node as usize],
            Scalar::Elemental(values) => values[element],
        };
        *corner = (frame.project(position(mesh, node)), value);
    }
    let triangles: &[[usize; 3]] = if nodes.len() == 4 {
        let mean = |part: fn(&([f64; 3], f64)) -> f64| 0.25 * corners[..4].iter().map(part).sum::<f64>();
        corners[4] = ([mean(|c| c.0[0]), mean(|c| c.0[1]), mean(|c| c.0[2])], mean(|c| c.1));
        &[[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    } else {
        &[[0, 1, 2]]
    };
    for triangle in triangles {
        let values = triangle.map(|corner| corners[corner].1);
        let corners = triangle.map(|corner| corners[corner].0);
        let colour = |weights: [f64; 3]| {
            let value = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
            let colour = range.colour(value);
            match brightness {
                Some(brightness) => colour.map(|c| (f64::from(c) * brightness).round() as u8),
                None => colour,
            }
        };
        match brightness {
            Some(_) => canvas.triangle_3d(corners, colour),
            None => canvas.triangle(corners.map(|[x, y, _]| [x, y]), colour),
        }
    }
}

/// The outline, and the elements' edges where there is room for them.
fn paint_edges(canvas: &mut Canvas, mesh: &MeshView<'_>, outline: &[SurfaceFace], frame: &Frame) {
    let mut line = |a: u32, b: u32, thickness: f64, colour: Colour| {
        let [a, b] = [a, b].map(|node| frame.project(position(mesh, node)));
        canvas.line([a[0], a[1]], [b[0], b[1]], thickness, colour);
    };
    let pixels = (canvas_area(frame, mesh) / mesh.n_elements().max(1) as f64).sqrt();
    if pixels > 14.0 {
        for group in &mesh.groups {
            for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
                for (corner, &node) in nodes.iter().enumerate() {
                    line(node, nodes[(corner + 1) % nodes.len()], 1.0, [150, 150, 150]);
                }
            }
        }
    }
    for face in outline {
        if let [a, b] = *face.corners() {
            line(a, b, 2.4, INK);
        }
    }
}

/// Area of the mesh in pixels of the final picture, by its bounding box.
fn canvas_area(frame: &Frame, mesh: &MeshView<'_>) -> f64 {
    let mut low = [f64::INFINITY; 2];
    let mut high = [f64::NEG_INFINITY; 2];
    for xy in mesh.coordinates.chunks_exact(2) {
        for axis in 0..2 {
            low[axis] = low[axis].min(xy[axis]);
            high[axis] = high[axis].max(xy[axis]);
        }
    }
    (high[0] - low[0]) * (high[1] - low[1]) * frame.scale * frame.scale
}

fn draw_axes(canvas: &mut Canvas, frame: &Frame, width: usize, names: [&str; 2]) {
    let grey = [120, 120, 120];
    let (w, h) = (width as f64, frame.height as f64);
    let (left, bottom) = (LEFT as f64, TOP as f64 + h);
    let x = Axis::new(frame.origin[0], frame.origin[0] + w / frame.scale, (width / 140).max(2), "m");
    let y = Axis::new(frame.origin[1], frame.origin[1] + h / frame.scale, (frame.height / 80).max(3), "m");
    canvas.line([left - 0.5, bottom + 0.5], [left + w, bottom + 0.5], 1.0, grey);
    canvas.line([left - 0.5, bottom + 0.5], [left - 0.5, TOP as f64], 1.0, grey);
    for (tick, text) in &x.ticks {
        let at = (left + w * x.place(*tick)).round() + 0.5;
        canvas.line([at, bottom], [at, bottom + 6.0], 1.0, grey);
        canvas.text(at, bottom + 10.0, text, TextSize::Medium, Align::Centre, INK);
    }
    for (tick, text) in &y.ticks {
        let at = (bottom - h * y.place(*tick)).round() + 0.5;
        canvas.line([left - 7.0, at], [left - 1.0, at], 1.0, grey);
        canvas.text(left - 11.0, at - 10.0, text, TextSize::Medium, Align::Right, INK);
    }
    canvas.text(
        left + 0.5 * w,
        bottom + 38.0,
        &format!("{} / {}", names[0], x.unit),
        TextSize::Medium,
        Align::Centre,
        INK,
    );
    canvas.text(
        left - 11.0,
        TOP as f64 - 24.0,
        &format!("{}/{}", names[1], y.unit),
        TextSize::Medium,
        Align::Right,
        INK,
    );
}

/// The directions of x, y and z, for 3D views.
fn draw_triad(canvas: &mut Canvas, frame: &Frame) {
    let centre = [58.0, canvas.height() as f64 - 58.0];
    for (axis, (name, colour)) in
        [("x", [200, 50, 50]), ("y", [40, 140, 60]), ("z", [50, 80, 200])].into_iter().enumerate()
    {
        let (dx, dy) = (frame.rows[0][axis], -frame.rows[1][axis]);
        canvas.line(centre, [centre[0] + 34.0 * dx, centre[1] + 34.0 * dy], 2.0, colour);
        canvas.text(centre[0] + 46.0 * dx, centre[1] + 46.0 * dy - 10.0, name, TextSize::Medium, Align::Centre, colour);
    }
}

fn draw_bar(canvas: &mut Canvas, range: &Range, options: &SnapshotOptions, x: usize, top: usize, height: usize) {
    let axis = Axis::new(range.low, range.high, (height / 70).clamp(2, 10), &options.unit);
    for row in 0..height {
        let place = 1.0 - (row as f64 + 0.5) / height as f64;
        canvas.rectangle(x, top + row, 26, 1, range.shade(place));
    }
    let (left, right) = (x as f64 - 0.5, x as f64 + 26.5);
    let (high, low) = (top as f64 - 0.5, (top + height) as f64 + 0.5);
    for (from, to) in [
        ([left, high], [right, high]),
        ([right, high], [right, low]),
        ([right, low], [left, low]),
        ([left, low], [left, high]),
    ] {
        canvas.line(from, to, 1.0, [120, 120, 120]);
    }
    for (tick, text) in &axis.ticks {
        let y = (top as f64 + height as f64 * (1.0 - axis.place(*tick))).round() + 0.5;
        canvas.line([right, y], [right + 6.0, y], 1.0, [120, 120, 120]);
        canvas.text(right + 12.0, y - 10.0, text, TextSize::Medium, Align::Left, INK);
    }
    let unit = if axis.unit.is_empty() { String::new() } else { format!(" / {}", axis.unit) };
    canvas.text(x as f64, top as f64 - 32.0, &format!("{}{unit}", options.label), TextSize::Medium, Align::Left, INK);
    if range.is_cut {
        canvas.text(x as f64, low + 12.0, "larger values", TextSize::Small, Align::Left, INK);
        canvas.text(x as f64, low + 30.0, "are cut off", TextSize::Small, Align::Left, INK);
    }
}

fn normalised(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    if length > 0.0 { a.map(|x| x / length) } else { [0.0; 3] }
}

#[cfg(test)]
mod tests;

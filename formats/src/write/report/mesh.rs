//! Fields and blocks on meshes: a raster in the plane; in space the outer surface and three slices.

use serde_json::{Value, json};

use super::Report;
use super::simplify::{Surface, simplified};
use crate::mesh::MeshView;
use crate::write::plot::{
    Camera, Look, MeshPicture, Scalar, Scale, bounds_of_elements, outer_surface, plane_of, position, quantity_text,
};
use crate::write::raster::{Map, categorical};

/// Most points of a surface.
const MOST_POINTS: usize = 14_000;
/// The share of a frame that the slices have.
const SLICES: f64 = 0.6;

/// Where a mesh is sampled for a report: the same places for all frames.
#[derive(Debug)]
pub struct MeshSample {
    planes: Vec<Plane>,
    surface: Option<Surface>,
    /// m, (points, 3).
    points: Vec<f64>,
}

/// A raster.
#[derive(Debug)]
struct Plane {
    picture: MeshPicture,
    axes: [&'static str; 2],
    name: String,
}

impl MeshSample {
    /// Samples a mesh at so many places a frame that `n_frames` of them fit into `room` bytes.
    pub fn new(mesh: &MeshView<'_>, n_frames: usize, room: usize) -> Self {
        let of_frame = room / n_frames.max(1);
        let bounds = bounds_of_elements(mesh);
        if mesh.dimension == 2 {
            let width = raster_width(of_frame.min(250_000), [bounds[0], bounds[1]]);
            let picture = MeshPicture::new(mesh, None, None, width);
            let plane = Plane { picture, axes: ["x", "y"], name: String::new() };
            return Self { planes: vec![plane], surface: None, points: Vec::new() };
        }
        let faces = outer_surface(mesh);
        // A point has its place and some two triangles beside its values.
        let most = (room / (36 + n_frames)).min(MOST_POINTS);
        let surface = simplified(&faces, |node| position(mesh, node), bounds, most);
        let points = surface.nodes.iter().flat_map(|&node| position(mesh, node)).collect();
        let of_slice = (SLICES * of_frame as f64 / 3.0) as usize;
        let is_solid = mesh.groups.iter().any(|group| group.kind.dimension() == 3);
        let slice = |axis: usize| {
            let at = 0.5 * (bounds[0][axis] + bounds[1][axis]);
            let flattened = bounds.map(|x| plane_of(axis).map(|k| x[k])).map(|[x, y]| [x, y, 0.0]);
            let picture = MeshPicture::slice(mesh, axis, at, raster_width(of_slice.min(60_000), flattened));
            let axes = plane_of(axis).map(|k| ["x", "y", "z"][k]);
            Plane { picture, axes, name: format!("{} = {}", ["x", "y", "z"][axis], quantity_text(at, "m")) }
        };
        let planes = if is_solid { (0..3).map(slice).collect() } else { Vec::new() };
        Self { planes, surface: Some(surface), points }
    }

    /// Values of a frame.
    pub fn len(&self) -> usize {
        let of_planes: usize =
            self.planes.iter().map(|plane| plane.picture.camera.width * plane.picture.camera.height).sum();
        of_planes + self.surface.as_ref().map_or(0, |surface| surface.nodes.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of a frame: first the rasters, row by row from below, then the points of the surface.
    pub fn values(&self, scalar: Scalar<'_>) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.len());
        for Plane { picture, .. } in &self.planes {
            let from_above = picture.values(scalar);
            from_above.chunks(picture.camera.width).rev().for_each(|row| values.extend_from_slice(row));
        }
        if let (Some(surface), Scalar::Nodal(of)) = (&self.surface, scalar) {
            let known = |value: f64| if value.is_finite() { value as f32 } else { f32::INFINITY };
            values.extend(surface.nodes.iter().map(|&node| known(of[node as usize])));
        }
        values
    }

    /// Adds frames to a report. `frames` are the names of the frames, `values` all their values one after the other, `reveal`
    /// says that one frame of times is to be seen growing, with the unit of time and its size in s.
    pub fn show(
        &self,
        report: &mut Report,
        look: &Look,
        scale: &Scale,
        frames: &[String],
        values: &[f32],
        reveal: Option<(&str, f64)>,
    ) {
        let finite = || values.iter().copied().filter(|value| value.is_finite()).map(f64::from);
        let range = [finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)];
        let range = if range[0] <= range[1] { range } else { [0.0, 1.0] };
        // The places of the surface are stored, too.
        let room = report.room().saturating_sub(self.surface.as_ref().map_or(0, |surface| 36 * surface.nodes.len()));
        let field = report.field(values.iter().copied(), (values.len(), room), range, scale);
        let mut view = field.keys(view_of(look, scale));
        view["frames"] = json!(frames);
        view["stride"] = json!(self.len());
        view["slider"] = json!("Time");
        view["start"] = json!(if reveal.is_some() { 40 } else { frames.len() / 2 });
        if let Some((unit, factor)) = reveal {
            view["reveal"] = json!({ "unit": unit, "factor": factor });
        }
        let notes = [scale.notes(&look.unit).join(" "), self.notes()];
        let note = notes.iter().filter(|note| !note.is_empty()).cloned().collect::<Vec<_>>().join(". ");
        if let Some(surface) = &self.surface {
            let mut of_surface = view.clone();
            of_surface["kind"] = json!("surface");
            of_surface["first"] = json!(self.len() - surface.nodes.len());
            self.add_surface(report, &mut of_surface);
            report.show_field(&format!("{}: outer surface", look.subtitle), &note, of_surface);
        }
        if !self.planes.is_empty() {
            view["kind"] = json!("planes");
            view["planes"] = self.planes();
            let title =
                if self.surface.is_some() { format!("{}: slices", look.subtitle) } else { look.subtitle.clone() };
            report.show_field(&title, if self.surface.is_some() { "" } else { &note }, view);
        }
    }

    /// Adds the blocks or sub-domains of a mesh, each node in the colour of its part.
    pub fn show_parts(&self, report: &mut Report, what: &str, part_of: &[u32], colours: &[[u8; 3]]) {
        let mut palette: Vec<[u8; 3]> = colours.to_vec();
        palette.sort_unstable();
        palette.dedup();
        let index = |colour: &[u8; 3]| palette.binary_search(colour).unwrap_or(0) as u16;
        let of_part = report.codes_16(colours.iter().map(index));
        let mut view = json!({ "kind": "parts", "label": what, "length": "m", "colours": of_part, "palette": palette });
        if let Some(surface) = &self.surface {
            let part = |point: u32| part_of[surface.nodes[point as usize] as usize];
            // Two corners of the same part decide.
            let of_triangle = |&[a, b, c]: &[u32; 3]| if part(b) == part(c) { part(b) } else { part(a) };
            view["codes"] = report.indices(surface.triangles.iter().map(of_triangle).collect::<Vec<_>>());
            self.add_surface(report, &mut view);
        } else if let Some(Plane { picture, .. }) = self.planes.first() {
            let nearest: Vec<Option<u32>> = picture.nearest().collect();
            let rows = nearest.chunks(picture.camera.width).rev().flatten();
            let parts: Vec<u32> = rows.map(|node| node.map_or(u32::MAX, |node| part_of[node as usize])).collect();
            view["codes"] = match u16::try_from(colours.len()) {
                Ok(u16::MAX) | Err(_) => report.indices(parts),
                Ok(_) => report.codes_16(parts.into_iter().map(|part| u16::try_from(part).unwrap_or(u16::MAX))),
            };
            view["planes"] = self.planes();
        }
        let note = [format!("Colours tell neighbours apart; the pointer shows the number of the {what}"), self.notes()];
        let note = note.iter().filter(|note| !note.is_empty()).cloned().collect::<Vec<_>>().join(". ");
        report.show_parts(&format!("{} {what}s", colours.len()), &note, view);
    }

    fn planes(&self) -> Value {
        let mut first = 0;
        let plane = |Plane { picture, axes, name }: &Plane| {
            let Camera { width, height, .. } = picture.camera;
            let ([across, up], step) = (picture.camera.window(), 1.0 / picture.camera.scale());
            let view = json!({
                "name": name, "axes": axes, "width": width, "height": height, "first": first,
                "x0": across[0] + 0.5 * step, "dx": step, "y0": up[0] + 0.5 * step, "dy": step,
            });
            first += width * height;
            view
        };
        self.planes.iter().map(plane).collect()
    }

    fn add_surface(&self, report: &mut Report, view: &mut Value) {
        if let Some(surface) = &self.surface {
            view["points"] = report.numbers(self.points.iter().copied());
            view["triangles"] = report.indices(surface.triangles.as_flattened().iter().copied());
        }
    }

    /// What was left out.
    fn notes(&self) -> String {
        let cell = self.surface.as_ref().and_then(|surface| surface.cell);
        let raster = self.planes.first().map(|plane| 1.0 / plane.picture.camera.scale());
        match (cell, raster, self.surface.is_some()) {
            (Some(cell), ..) => format!("Points nearer than {} were made one", quantity_text(cell, "m")),
            (None, Some(raster), false) => format!("Values at points {} apart", quantity_text(raster, "m")),
            _ => String::new(),
        }
    }
}

/// Pixels across a raster of about `n` pixels.
fn raster_width(n: usize, [low, high]: [[f64; 3]; 2]) -> usize {
    let aspect = ((high[1] - low[1]) / (high[0] - low[0]).max(1e-300)).clamp(0.2, 1.1);
    let mut width = (n as f64 / aspect).sqrt().clamp(40.0, 900.0) as usize;
    // The border takes its part.
    while width > 40 && width * Camera::new([low, high], true, None, width).height > n {
        width -= 1;
    }
    width
}

/// What every view of a field says of its values.
pub(crate) fn view_of(look: &Look, scale: &Scale) -> Value {
    let map = if look.map == Map::Diverging { "diverging" } else { "sequential" };
    json!({
        "label": look.label, "unit": look.unit, "length": "m", "range": [scale.low, scale.high], "map": map,
        "bands": look.bands,
    })
}

/// The colours of all maps, at equal distances.
pub(super) fn maps() -> Value {
    const STOPS: usize = 33;
    let stops = |map: Map| -> Vec<Value> {
        let stop = |at: usize| at as f64 / (STOPS - 1) as f64;
        (0..STOPS).map(|at| json!([stop(at), css(map.colour(stop(at)))])).collect()
    };
    let parts: Vec<Value> = (0..PARTS)
        .flat_map(|part| {
            let colour = css(categorical(part));
            [part, part + 1].map(|end| json!([end as f64 / PARTS as f64, colour]))
        })
        .collect();
    json!({ "sequential": stops(Map::Sequential), "diverging": stops(Map::Diverging), "parts": parts })
}

/// Colours that tell parts apart.
pub(crate) const PARTS: usize = 12;

fn css([red, green, blue]: [u8; 3]) -> String {
    format!("rgb({red},{green},{blue})")
}

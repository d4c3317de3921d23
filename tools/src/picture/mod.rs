//! Pictures of a partition: blocks in colours, like the paper's Fig. 7. In 3D they show the outer surface in an oblique view.

#[cfg(test)]
mod tests;

use std::path::Path;

use pogo_formats::mesh::MeshView;
use pogo_formats::words::counted;
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::sheet::{NARROWEST, WIDEST, Words, plot_width, sheet};
use pogo_formats::write::plot::{MeshPicture, lay_ink};
use pogo_formats::write::raster::{Canvas, WHITE};
use pogo_formats::write::report::{MeshSample, Report};

use crate::rows::rows_of;

/// How to draw; the options of `pogo-info` that go with `--picture`.
#[derive(Debug, Clone, PartialEq, Default, clap::Args)]
pub struct PictureOptions {
    /// Pixels across the picture, 600 to 8000 [default: 1600].
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

/// Pixels across a picture.
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
    #[error("nothing to draw: {0}")]
    Empty(&'static str),
    #[error("a picture of {0} pixels is not possible: give between {NARROWEST} and {WIDEST}")]
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

/// Draws the parts of a mesh, which are called `what`, into a PNG file; says what was drawn.
///
/// # Errors
/// See [`PictureError`].
pub fn draw(
    mesh: &MeshView,
    parts: &Parts,
    path: &Path,
    (title, what): (&str, &str),
    options: &PictureOptions,
) -> Result<String, PictureError> {
    let width = options.width()?;
    if let Some([x0, y0, x1, y1]) = options.window {
        if mesh.dimension != 2 {
            return Err(PictureError::Window);
        }
        if !(x1 - x0 > 0.0 && y1 - y0 > 0.0 && [x0, y0, x1, y1].iter().all(|x| x.is_finite())) {
            return Err(PictureError::Empty(
                "the window has no extent; give its lower left and its upper right corner",
            ));
        }
    }
    if mesh.n_elements() == 0 {
        return Err(PictureError::Empty("the mesh has no element"));
    }
    let picture = MeshPicture::new(mesh, options.window, None, plot_width(width, mesh.dimension == 2, false));
    let (colours, part_of) = (colours(parts), part_of(parts, mesh.n_nodes()));
    let mut drawing = Canvas::new(picture.camera.width, picture.camera.height, WHITE);
    for (pixel, node) in drawing.pixels_mut().iter_mut().zip(picture.nearest()) {
        if let Some(node) = node {
            *pixel = colours[part_of[node as usize] as usize];
        }
    }
    lay_ink(&mut drawing, &picture.ink);
    let drawn = counted(parts.len(), what);
    let subtitle = format!("{drawn}, each node in the colour of its {what}; colours tell neighbours apart");
    let words = Words { title: title.into(), subtitle, axes: ["x", "y"].map(str::to_owned) };
    sheet(&drawing, &picture.camera, &words, false).write_png(path)?;
    Ok(drawn)
}

/// Adds the parts of a mesh, which are called `what`, to a report.
pub fn show(report: &mut Report, mesh: &MeshView, parts: &Parts, what: &str) {
    let sample = MeshSample::new(mesh, 1, report.room());
    sample.show_parts(report, what, &part_of(parts, mesh.n_nodes()), &colours(parts));
}

impl PictureOptions {
    /// Pixels across.
    ///
    /// # Errors
    /// Too few or too many.
    pub fn width(&self) -> Result<usize, PictureError> {
        let size = self.size.unwrap_or(DEFAULT_SIZE);
        if !(NARROWEST..=WIDEST).contains(&(size as usize)) {
            return Err(PictureError::Size(size));
        }
        Ok(size as usize)
    }
}

/// The part of each node.
fn part_of(parts: &Parts, n_nodes: usize) -> Vec<u32> {
    let mut part_of = vec![0_u32; n_nodes];
    for part in 0..parts.len() {
        part_of[parts.first[part] as usize..parts.first[part + 1] as usize].fill(part as u32);
    }
    part_of
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

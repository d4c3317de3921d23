//! A small raster canvas for pictures of meshes: triangles, lines, text, colours and PNG.
//!
//! Positions are in pixels from the upper left corner, y down; pixel (i, j) covers [i, i + 1] × [j, j + 1]. For smooth
//! edges draw shapes on a canvas of twice the size, call [`Canvas::halved`], then add the text.

use std::path::Path;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use super::{OutputError, write_atomically};

mod colour;

pub use colour::{Colour, Map, categorical};

/// White.
pub const WHITE: Colour = [255, 255, 255];
/// The colour of text and axes.
pub const INK: Colour = [34, 34, 34];

/// Height of a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSize {
    /// 20 pixels.
    Small,
    /// 24 pixels.
    Medium,
    /// 32 pixels.
    Large,
}

impl TextSize {
    /// Pixels from line to line.
    pub const fn height(self) -> usize {
        self.raster().val()
    }

    /// Width of a text in pixels.
    pub fn width(self, text: &str) -> usize {
        text.chars().count() * get_raster_width(FontWeight::Regular, self.raster())
    }

    const fn raster(self) -> RasterHeight {
        match self {
            Self::Small => RasterHeight::Size20,
            Self::Medium => RasterHeight::Size24,
            Self::Large => RasterHeight::Size32,
        }
    }
}

/// Which part of a text stands at the given x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Align {
    Left,
    Centre,
    Right,
}

/// An RGB picture.
#[derive(Debug, Clone)]
pub struct Canvas {
    width: usize,
    height: usize,
    /// Row-major, top row first.
    pixels: Vec<Colour>,
}

impl Canvas {
    /// Largest side in pixels.
    pub const LARGEST_SIDE: usize = 1 << 14;

    /// A canvas of one colour; sides are brought into 1 ..= [`LARGEST_SIDE`](Self::LARGEST_SIDE).
    pub fn new(width: usize, height: usize, background: Colour) -> Self {
        let (width, height) = (width.clamp(1, Self::LARGEST_SIDE), height.clamp(1, Self::LARGEST_SIDE));
        Self { width, height, pixels: vec![background; width * height] }
    }

    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Colours of all pixels, row by row from the top.
    pub fn pixels(&self) -> &[Colour] {
        &self.pixels
    }

    /// Colours of all pixels, to be changed.
    pub fn pixels_mut(&mut self) -> &mut [Colour] {
        &mut self.pixels
    }

    /// Colour of a pixel; none outside.
    pub fn pixel(&self, x: usize, y: usize) -> Option<Colour> {
        if x < self.width { self.pixels.get(y * self.width + x).copied() } else { None }
    }

    /// Mixes a colour into a pixel: `opacity` 1 replaces it. Nothing outside.
    pub fn blend(&mut self, x: i64, y: i64, colour: Colour, opacity: f64) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        for (old, new) in pixel.iter_mut().zip(colour) {
            *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * opacity).round() as u8;
        }
    }

    /// Fills a rectangle of whole pixels.
    pub fn rectangle(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        let right = x.saturating_add(width).min(self.width);
        for row in y..y.saturating_add(height).min(self.height) {
            for pixel in &mut self.pixels[row * self.width + x.min(right)..row * self.width + right] {
                *pixel = colour;
            }
        }
    }

    /// Draws a straight line with smooth edges and round ends.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], thickness: f64, colour: Colour) {
        let direction = [to[0] - from[0], to[1] - from[1]];
        let square = direction[0] * direction[0] + direction[1] * direction[1];
        let reach = 0.5 * thickness + 1.0;
        if !square.is_finite() || !reach.is_finite() {
            return;
        }
        let length = square.sqrt();
        for row in range(from[1].min(to[1]) - reach, from[1].max(to[1]) + reach, self.height) {
            let y = row as f64 + 0.5 - from[1];
            // Only the part of the row that the line crosses, else long diagonals visit a whole square.
            let (mut left, mut right) = (from[0].min(to[0]) - reach, from[0].max(to[0]) + reach);
            if direction[1].abs() > 1e-9 * length {
                let centre = from[0] + y / direction[1] * direction[0];
                let half = reach * length / direction[1].abs();
                left = left.max(centre - half);
                right = right.min(centre + half);
            }
            for column in range(left, right, self.width) {
                let x = column as f64 + 0.5 - from[0];
                let along =
                    if square > 0.0 { ((x * direction[0] + y * direction[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
                let distance = (x - along * direction[0]).hypot(y - along * direction[1]);
                let opacity = (0.5 * thickness + 0.5 - distance).clamp(0.0, 1.0);
                if opacity > 0.0 {
                    self.blend(column as i64, row as i64, colour, opacity);
                }
            }
        }
    }

    /// Draws one line of text with its top at y. Characters beyond Latin-1 become `?`.
    pub fn text(&mut self, x: f64, y: f64, text: &str, size: TextSize, align: Align, colour: Colour) {
        let width = size.width(text) as f64;
        let mut left = (match align {
            Align::Left => x,
            Align::Centre => x - 0.5 * width,
            Align::Right => x - width,
        })
        .round() as i64;
        for character in text.chars() {
            let glyph = |character| get_raster(character, FontWeight::Regular, size.raster());
            let Some(glyph) = glyph(character).or_else(|| glyph('?')) else { continue };
            for (row, line) in glyph.rows().enumerate() {
                for (column, &opacity) in line.iter().enumerate().filter(|&(_, &opacity)| opacity > 0) {
                    let opacity = f64::from(opacity) / 255.0;
                    self.blend(left + column as i64, y.round() as i64 + row as i64, colour, opacity);
                }
            }
            left += glyph.width() as i64;
        }
    }

    /// The picture at half the size, each pixel the mean of four: smooth edges. An odd last row or column is dropped.
    pub fn halved(&self) -> Self {
        let mut small = Self::new(self.width / 2, self.height / 2, WHITE);
        for y in 0..small.height.min(self.height / 2) {
            for x in 0..small.width.min(self.width / 2) {
                let at = |dx: usize, dy: usize| self.pixels[(2 * y + dy) * self.width + 2 * x + dx];
                let four = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)];
                small.pixels[y * small.width + x] =
                    std::array::from_fn(|k| ((four.iter().map(|c| u32::from(c[k])).sum::<u32>() + 2) / 4) as u8);
            }
        }
        small
    }

    /// Copies another picture onto this one with its upper left corner at (x, y); what sticks out is cut.
    pub fn paste(&mut self, x: usize, y: usize, other: &Self) {
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let n = other.width.min(self.width.saturating_sub(x));
            let to = (y + row) * self.width + x;
            self.pixels[to..to + n].copy_from_slice(&other.pixels[row * other.width..row * other.width + n]);
        }
    }

    /// Writes the picture as PNG.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write_png(&self, path: &Path) -> Result<(), OutputError> {
        write_atomically(path, |out| {
            let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(self.pixels.as_flattened())?;
            writer.finish()?;
            Ok(())
        })
    }
}

/// Calls `paint` for each pixel of `width` × `height` whose centre lies in a triangle of any orientation, with the place of the
/// pixel, row by row from the top, and its barycentric coordinates. Corners that are not finite give nothing.
pub fn fill(corners: [[f64; 2]; 3], width: usize, height: usize, mut paint: impl FnMut(usize, [f64; 3])) {
    let [a, b, c] = corners;
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if area == 0.0 || !area.is_finite() {
        return;
    }
    let low = |axis: usize| a[axis].min(b[axis]).min(c[axis]);
    let high = |axis: usize| a[axis].max(b[axis]).max(c[axis]);
    let columns = range(low(0), high(0), width);
    for row in range(low(1), high(1), height) {
        let y = row as f64 + 0.5;
        for column in columns.clone() {
            let x = column as f64 + 0.5;
            let wb = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area;
            let wc = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area;
            let wa = 1.0 - wb - wc;
            // A hair of tolerance, so that no pixel between two triangles is left out by rounding.
            if wa >= -1e-9 && wb >= -1e-9 && wc >= -1e-9 {
                paint(row * width + column, [wa, wb, wc]);
            }
        }
    }
}

/// Pixels whose centres lie in [low, high], cut to the canvas.
fn range(low: f64, high: f64, n: usize) -> std::ops::Range<usize> {
    // Casts saturate, and NaN becomes 0.
    let first = (low - 0.5).ceil().max(0.0) as usize;
    let last = (high - 0.5).floor();
    let end = if last >= 0.0 { (last as usize).saturating_add(1).min(n) } else { 0 };
    first.min(end)..end
}

#[cfg(test)]
mod tests;

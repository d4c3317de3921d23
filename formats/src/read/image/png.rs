//! PNG pictures as slices: grey, with a palette, or of colours that are grey; 1 to 16 bits.

use std::fs::File;
use std::io::BufReader;

use ::png::{BitDepth, ColorType, Decoder, Limits, Reader, Transformations};

use super::palette::{Palette, grey};
use super::source::{DEFLATE_RATIO, Encoding, unpack};
use crate::memory::filled;

/// What the header of a PNG file says.
pub(super) struct Png {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Bytes of a value: 1 or 2.
    pub(super) bytes: usize,
    pub(super) palette: Option<Palette>,
}

fn reader(file: &File) -> Result<Reader<BufReader<&File>>, String> {
    // Pictures are held to the length of their file; this is for what stands beside them.
    let mut decoder = Decoder::new_with_limits(BufReader::new(file), Limits { bytes: 64 << 20 });
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.ignore_checksums(false);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.read_info().map_err(|error| format!("cannot read this PNG file: {error}"))
}

impl Png {
    /// Reads the header and the palette.
    pub(super) fn open(file: &File) -> Result<Self, String> {
        let length = file.metadata().map_err(|error| format!("cannot read this PNG file: {error}"))?.len();
        let reader = reader(file)?;
        let info = reader.info();
        let (width, height) = (info.width as usize, info.height as usize);
        let stored = reader.output_buffer_size().map(|bytes| bytes as u64);
        if stored.is_none_or(|bytes| bytes > length.saturating_mul(DEFLATE_RATIO)) {
            return Err(format!(
                "the header claims {width} × {height} pixels, more than {length} bytes can hold: this file is damaged"
            ));
        }
        let palette = (info.color_type == ColorType::Indexed).then(|| {
            let colours = info.palette.as_deref().unwrap_or_default().chunks_exact(3).map(|c| [c[0], c[1], c[2]]);
            Palette::new(colours.collect())
        });
        let is_opaque = |levels: &[u8]| palette.is_some() && levels.iter().all(|&level| level == u8::MAX);
        if info.trns.as_deref().is_some_and(|levels| !is_opaque(levels)) {
            return Err("this picture has transparent pixels: save it without transparency".to_owned());
        }
        Ok(Self { width, height, bytes: 1 + usize::from(info.bit_depth == BitDepth::Sixteen), palette })
    }

    /// Reads the pixels into `out`, little-endian.
    pub(super) fn decode(&self, file: &File, out: &mut [u8]) -> Result<(), String> {
        let damaged = |error| format!("this PNG file is damaged: {error}");
        let mut reader = reader(file)?;
        let (width, height) = reader.info().size();
        let (colour, depth) = reader.output_color_type();
        if (width as usize, height as usize) != (self.width, self.height)
            || (depth == BitDepth::Sixteen) != (self.bytes == 2)
            || (colour == ColorType::Indexed) != self.palette.is_some()
        {
            return Err("this file has changed while it was read".to_owned());
        }
        let bits = depth as usize;
        let size = reader.output_buffer_size().unwrap_or_default();
        if colour == ColorType::Grayscale && bits >= 8 && size == out.len() {
            reader.next_frame(out).map_err(damaged)?;
        } else {
            let mut stored = filled(size, 0).map_err(|_| format!("{size} bytes do not fit in memory"))?;
            let frame = reader.next_frame(&mut stored).map_err(damaged)?;
            let channels = colour.samples();
            for (y, (row, values)) in
                stored.chunks_exact(frame.line_size).zip(out.chunks_exact_mut(self.width * self.bytes)).enumerate()
            {
                if let Some(palette) = &self.palette {
                    palette.row(row, bits, values)?;
                } else if bits < 8 {
                    // The highest stands for white, as in pictures of 8 bits.
                    unpack(row, bits, values);
                    let scale = u8::MAX / (u8::MAX >> (8 - bits));
                    values.iter_mut().for_each(|value| *value *= scale);
                } else {
                    for (x, (value, pixel)) in
                        values.chunks_exact_mut(self.bytes).zip(row.chunks_exact(channels * self.bytes)).enumerate()
                    {
                        let channel = |c: usize| &pixel[c * self.bytes..][..self.bytes];
                        if matches!(colour, ColorType::Rgb | ColorType::Rgba) {
                            grey([channel(0), channel(1), channel(2)], x, y)?;
                        }
                        if channels % 2 == 0 && channel(channels - 1).iter().any(|&byte| byte != u8::MAX) {
                            return Err(format!(
                                "pixel {x}, {y} is transparent: save the picture without transparency"
                            ));
                        }
                        value.copy_from_slice(channel(0));
                    }
                }
            }
        }
        // The last checksum stands behind the pixels.
        reader.finish().map_err(damaged)?;
        Encoding::Big.to_little(self.bytes, out);
        Ok(())
    }
}

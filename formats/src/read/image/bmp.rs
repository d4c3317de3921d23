//! BMP pictures as slices: 1, 4 or 8 bits with a palette, and 24 or 32 bits whose pixels are grey, without compression.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::palette::{Palette, grey};

/// Where the pixels of a BMP file are, and what they mean.
pub(super) struct Bmp {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Rows go from the top down; else up, as in most files.
    is_top_down: bool,
    bits: usize,
    /// Byte of the first stored row.
    offset: u64,
    pub(super) palette: Option<Palette>,
}

impl Bmp {
    /// Reads the headers and the palette.
    pub(super) fn open(file: &File) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("cannot read this BMP file: {error}");
        let length = file.metadata().map_err(cannot)?.len();
        let mut head = [0; 54];
        if length < head.len() as u64 {
            return Err(format!("{length} bytes are too few for a BMP file: it is cut short, or none"));
        }
        file.read_exact_at(&mut head, 0).map_err(cannot)?;
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (offset, header, width, height) = (word(10), word(14), word(18) as i32, word(22) as i32);
        let (bits, packing, colours) = (usize::from(half(28)), word(30), word(46) as usize);
        if head[..2] != *b"BM" || !(40..=1024).contains(&header) {
            return Err("this is no BMP file of Windows: save the slice as BMP or TIFF anew".to_owned());
        }
        if packing != 0 || !matches!(bits, 1 | 4 | 8 | 24 | 32) {
            return Err(format!(
                "BMP files of {bits} bits with compression {packing} are not read: save it with 8 bits, without compression"
            ));
        }
        let (width, rows) = (usize::try_from(width).unwrap_or(0), height.unsigned_abs() as usize);
        let mut bmp =
            Self { width, height: rows, is_top_down: height < 0, bits, offset: u64::from(offset), palette: None };
        // The padding of the last row may be absent.
        let needed = bmp.stride() as u64 * (rows as u64).saturating_sub(1) + bmp.row_bytes() as u64;
        if width == 0 || rows == 0 || bmp.offset + needed > length {
            return Err(format!(
                "the header claims {width} × {rows} pixels of {bits} bits, more than the file holds: it is cut short, or damaged"
            ));
        }
        if bits <= 8 {
            let start = 14 + u64::from(header);
            let n = if colours == 0 { 1 << bits } else { colours.min(1 << bits) };
            if start + 4 * n as u64 > bmp.offset {
                return Err(format!("the palette of {n} colours reaches into the pixels: this file is damaged"));
            }
            let mut stored = vec![0; 4 * n];
            file.read_exact_at(&mut stored, start).map_err(cannot)?;
            bmp.palette = Some(Palette::new(stored.chunks_exact(4).map(|c| [c[2], c[1], c[0]]).collect()));
        }
        Ok(bmp)
    }

    fn row_bytes(&self) -> usize {
        (self.width * self.bits).div_ceil(8)
    }

    /// Bytes from a row to the next: rows end at multiples of four.
    fn stride(&self) -> usize {
        self.row_bytes().next_multiple_of(4)
    }

    /// Reads the pixels into `out`, one byte each, from the top row down.
    pub(super) fn decode(&self, file: &File, out: &mut [u8]) -> Result<(), String> {
        let cannot = |error: std::io::Error| format!("cannot read the pixels: {error}");
        let mut stored = vec![0; self.stride() * (self.height - 1) + self.row_bytes()];
        file.read_exact_at(&mut stored, self.offset).map_err(cannot)?;
        for (j, row) in stored.chunks(self.stride()).enumerate() {
            let y = if self.is_top_down { j } else { self.height - 1 - j };
            let values = &mut out[y * self.width..][..self.width];
            match &self.palette {
                Some(palette) => palette.row(row, self.bits, values)?,
                None => {
                    for (x, (value, pixel)) in values.iter_mut().zip(row.chunks_exact(self.bits / 8)).enumerate() {
                        *value = grey([pixel[2], pixel[1], pixel[0]], x, y)?;
                    }
                }
            }
        }
        Ok(())
    }
}

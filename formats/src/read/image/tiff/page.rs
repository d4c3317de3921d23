//! One picture of a TIFF file: strips or tiles, unpacked.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;

use ruzstd::decoding::StreamingDecoder;
use weezl::BitOrder;
use xxhash_rust::xxh64::Xxh64;

use super::directory::{Directory, Tiff, tag};
use crate::read::image::sample::SampleType;
use crate::read::image::source::{Encoding, unpack};
use crate::read::unpack::unpack_zlib;

/// How the bytes of a strip are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstandard,
}

impl Packing {
    /// The packing that a directory names by this number.
    fn new(compression: u64) -> Result<Self, String> {
        let name = match compression {
            1 => return Ok(Self::None),
            5 => return Ok(Self::Lzw),
            8 | 32_946 => return Ok(Self::Deflate),
            32_773 => return Ok(Self::PackBits),
            50_000 => return Ok(Self::Zstandard),
            2..=4 => "fax",
            6 | 7 => "JPEG",
            34_712 => "JPEG 2000",
            _ => "an unknown",
        };
        Err(format!(
            "{name} compression ({compression}) of TIFF files is not read: save it without, or with LZW, deflate or Zstandard"
        ))
    }

    /// A bound on the bytes that one byte is unpacked to: Zstandard repeats one 128 Ki times in a block of four bytes, and the others do less.
    fn ratio(self) -> u64 {
        if self == Self::Zstandard { 1 << 15 } else { 4096 }
    }
}

/// What all pages of a stack share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) sample: SampleType,
    /// Bits of a stored sample: 1, 2, 4, or those of `sample`.
    bits: usize,
    packing: Packing,
    predictor: u64,
    pub(super) is_big_endian: bool,
    reversed_bits: bool,
    is_tiled: bool,
    /// Rows of a strip, or of a tile.
    rows: usize,
    /// Columns of a tile; the width for strips.
    columns: usize,
    /// 0: white is zero, 1: black is zero, 3: palette.
    pub(super) photometric: u64,
}

/// Where the strips or tiles of a page are: byte and number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page(Vec<(u64, u64)>);

impl Page {
    /// End of its last strip or tile in the file.
    pub(super) fn end(&self) -> u64 {
        self.0.iter().map(|&(offset, count)| offset + count).max().unwrap_or(0)
    }
}

impl Layout {
    /// Layout and place of a page.
    pub(super) fn read<R: Read + Seek>(tiff: &mut Tiff<R>, directory: &Directory) -> Result<(Self, Page), String> {
        let size = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0 && n <= 1 << 30);
        let width = size(tiff.integer_of(directory, tag::WIDTH)?).ok_or("a TIFF page has no width")?;
        let height = size(tiff.integer_of(directory, tag::HEIGHT)?).ok_or("a TIFF page has no height")?;
        let channels = tiff.integer_of(directory, tag::SAMPLES_PER_PIXEL)?.unwrap_or(1);
        let photometric = tiff.integer_of(directory, tag::PHOTOMETRIC)?.unwrap_or(1);
        if channels != 1 || !matches!(photometric, 0 | 1 | 3) {
            return Err("this is a colour picture: save it with one grey value or label a pixel".to_owned());
        }
        if let Some(depth) = tiff.integer_of(directory, tag::DEPTH)?.filter(|&depth| depth != 1) {
            return Err(format!("a page has a depth of {depth} slices: save the stack with one page a slice"));
        }
        let bits = tiff.integer_of(directory, tag::BITS_PER_SAMPLE)?.unwrap_or(1);
        let format = tiff.integer_of(directory, tag::SAMPLE_FORMAT)?.unwrap_or(1);
        let sample = match (bits, format) {
            (1 | 2 | 4, 1 | 4) => Some(SampleType::Uint8),
            (_, 1 | 4) => SampleType::of('u', bits),
            (_, 2) => SampleType::of('i', bits),
            (_, 3) => SampleType::of('f', bits),
            _ => None,
        };
        let sample = sample.ok_or_else(|| {
            format!("TIFF samples of {bits} bits and format {format} are not read: save them as 8, 16 or 32 bit")
        })?;
        let packing = Packing::new(tiff.integer_of(directory, tag::COMPRESSION)?.unwrap_or(1))?;
        let predictor = tiff.integer_of(directory, tag::PREDICTOR)?.unwrap_or(1);
        if !matches!((predictor, bits), (1, _) | (2, 8..) | (3, 32..)) || (predictor == 3 && !sample.is_float()) {
            return Err(format!(
                "TIFF predictor {predictor} with {bits} bits is not read: save the file without compression"
            ));
        }
        let reversed_bits = tiff.integer_of(directory, tag::FILL_ORDER)? == Some(2);
        let tile_width = size(tiff.integer_of(directory, tag::TILE_WIDTH)?);
        let (is_tiled, rows, columns, offsets, counts) = match tile_width {
            Some(columns) => {
                let rows = size(tiff.integer_of(directory, tag::TILE_HEIGHT)?)
                    .ok_or("a tiled TIFF page has no tile height")?;
                (true, rows, columns, tag::TILE_OFFSETS, tag::TILE_BYTES)
            }
            None => {
                let rows = size(tiff.integer_of(directory, tag::ROWS_PER_STRIP)?).unwrap_or(height).min(height);
                (false, rows, width, tag::STRIP_OFFSETS, tag::STRIP_BYTES)
            }
        };
        let is_big_endian = tiff.is_big_endian;
        let mut layout = Self {
            width,
            height,
            sample,
            bits: bits as usize,
            packing,
            predictor,
            is_big_endian,
            reversed_bits,
            is_tiled,
            rows,
            columns,
            photometric,
        };
        let offsets = tiff.integers(directory, offsets)?;
        let counts = tiff.integers(directory, counts)?;
        let page = layout.page(offsets, counts, tiff.length)?;
        Ok((layout, page))
    }

    /// Checks where the strips or tiles are; strips that follow each other without packing become one.
    fn page(&mut self, offsets: Vec<u64>, mut counts: Vec<u64>, length: u64) -> Result<Page, String> {
        let n = self.height.div_ceil(self.rows) * self.width.div_ceil(self.columns);
        if offsets.len() < n {
            return Err(format!(
                "a TIFF page has {} strips or tiles where it needs {n}: this file is damaged",
                offsets.len()
            ));
        }
        let needed = |at: usize| {
            let rows = if self.is_tiled { self.rows } else { self.rows.min(self.height - at * self.rows) };
            (rows * self.row_bytes()) as u64
        };
        if self.packing == Packing::None {
            // Some writers get the lengths wrong, which do not matter here.
            counts = (0..n).map(needed).collect();
        }
        if counts.len() < n {
            return Err("a packed TIFF page does not say how long its strips are: this file is damaged".to_owned());
        }
        let mut chunks: Vec<(u64, u64)> = offsets.into_iter().zip(counts).take(n).collect();
        for (at, &(offset, count)) in chunks.iter().enumerate() {
            if offset.checked_add(count).is_none_or(|end| end > length) {
                return Err("a TIFF page reaches beyond the end of the file: it is cut short, or damaged".to_owned());
            }
            if needed(at) > count.saturating_mul(self.packing.ratio()) {
                return Err(format!(
                    "a TIFF strip of {count} bytes cannot hold {} bytes: this file is damaged",
                    needed(at)
                ));
            }
        }
        if self.packing == Packing::None
            && !self.is_tiled
            && chunks.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0)
        {
            chunks = vec![(chunks[0].0, chunks.iter().map(|chunk| chunk.1).sum())];
            self.rows = self.height;
        }
        Ok(Page(chunks))
    }

    /// Bytes of a stored row of a strip or tile.
    fn row_bytes(&self) -> usize {
        (self.columns * self.bits).div_ceil(8)
    }

    /// Bytes of a page of [`Layout::sample`].
    pub(super) fn page_bytes(&self) -> usize {
        self.width * self.height * self.sample.bytes()
    }

    /// Where the samples of a page lie one after the other, ready to be used.
    pub(super) fn flat(&self, page: &Page) -> Option<u64> {
        (self.packing == Packing::None && self.bits >= 8 && page.0.len() == 1 && !self.is_tiled).then(|| page.0[0].0)
    }

    /// Reads a page into `out`, little-endian.
    pub(super) fn decode(&self, file: &File, page: &Page, out: &mut [u8], work: &mut Work) -> Result<(), String> {
        let bytes = self.sample.bytes();
        let across = self.width.div_ceil(self.columns);
        for (at, &(offset, count)) in page.0.iter().enumerate() {
            let (first_row, first_column) = (at / across * self.rows, at % across * self.columns);
            let rows = self.rows.min(self.height - first_row);
            let stored_rows = if self.is_tiled { self.rows } else { rows };
            let row_bytes = self.row_bytes();
            let whole = &mut out[first_row * self.width * bytes..][..rows * self.width * bytes];
            if !self.is_tiled && self.bits >= 8 {
                self.fill(file, (offset, count), &mut work.packed, whole)?;
                continue;
            }
            resize(&mut work.chunk, stored_rows * row_bytes)?;
            self.fill(file, (offset, count), &mut work.packed, &mut work.chunk)?;
            let columns = self.columns.min(self.width - first_column);
            for (stored, row) in work.chunk.chunks_exact(row_bytes).zip(whole.chunks_exact_mut(self.width * bytes)) {
                let row = &mut row[first_column * bytes..][..columns * bytes];
                if self.bits >= 8 {
                    row.copy_from_slice(&stored[..columns * bytes]);
                } else {
                    unpack(stored, self.bits, row);
                }
            }
        }
        Ok(())
    }

    /// Reads a strip or tile into `out`.
    fn fill(&self, file: &File, place: (u64, u64), packed: &mut Vec<u8>, out: &mut [u8]) -> Result<(), String> {
        let cannot = |error: std::io::Error| format!("cannot read a TIFF strip: {error}");
        if self.packing == Packing::None {
            file.read_exact_at(out, place.0).map_err(cannot)?;
        } else {
            resize(packed, usize::try_from(place.1).map_err(|_| "a TIFF strip is too long")?)?;
            file.read_exact_at(packed, place.0).map_err(cannot)?;
            if self.reversed_bits && !matches!(self.packing, Packing::Deflate | Packing::Zstandard) {
                packed.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            self.unpack(packed, out)?;
        }
        self.finish(out);
        Ok(())
    }

    fn unpack(&self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        let damaged = |error: &dyn std::fmt::Display| format!("{DAMAGED}: {error}");
        match self.packing {
            Packing::None => Ok(()),
            Packing::Deflate => unpack_zlib(packed, out).map(|_| ()).map_err(|error| damaged(&error)),
            Packing::Zstandard => unpack_zstandard(packed, out).map_err(|error| damaged(&error)),
            Packing::Lzw => unpack_lzw(packed, out),
            Packing::PackBits => unpack_pack_bits(packed, out),
        }
    }

    /// Byte order, and differences to the sample before.
    fn finish(&self, chunk: &mut [u8]) {
        let bytes = self.sample.bytes();
        if self.bits < 8 {
            if self.reversed_bits && self.packing == Packing::None {
                chunk.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            return;
        }
        if self.predictor == 3 {
            let mut row_before = vec![0; self.row_bytes()];
            for row in chunk.chunks_exact_mut(self.row_bytes()) {
                for i in 1..row.len() {
                    row[i] = row[i].wrapping_add(row[i - 1]);
                }
                row_before.copy_from_slice(row);
                // The highest bytes of all samples come first, then the next.
                for (i, sample) in row.chunks_exact_mut(bytes).enumerate() {
                    for (j, byte) in sample.iter_mut().rev().enumerate() {
                        *byte = row_before[j * self.columns + i];
                    }
                }
            }
            return;
        }
        if self.is_big_endian {
            Encoding::Big.to_little(bytes, chunk);
        }
        if self.predictor == 2 {
            macro_rules! sum {
                ($type:ty, $n:literal) => {
                    for row in chunk.chunks_exact_mut(self.row_bytes()) {
                        let mut sum: $type = 0;
                        for sample in row.as_chunks_mut::<$n>().0 {
                            sum = sum.wrapping_add(<$type>::from_le_bytes(*sample));
                            *sample = sum.to_le_bytes();
                        }
                    }
                };
            }
            match bytes {
                1 => sum!(u8, 1),
                2 => sum!(u16, 2),
                4 => sum!(u32, 4),
                _ => sum!(u64, 8),
            }
        }
    }
}

const DAMAGED: &str = "a packed TIFF strip is damaged";

/// Fills `out` from a frame, reads the frame to its end, and compares its checksum where it has one.
fn unpack_zstandard(packed: &[u8], out: &mut [u8]) -> std::io::Result<()> {
    let mut frame = StreamingDecoder::new(packed).map_err(std::io::Error::other)?;
    frame.read_exact(out)?;
    let mut hash = Xxh64::new(0);
    hash.update(out);
    let mut rest = [0; 512];
    loop {
        match frame.read(&mut rest)? {
            0 => break,
            n => hash.update(&rest[..n]),
        }
    }
    // The checksum is the lower half of the content's hash.
    let is_other = |sum: u32| sum != hash.digest() as u32;
    if frame.decoder.get_checksum_from_data().is_some_and(is_other) {
        return Err(std::io::Error::other("its checksum does not fit"));
    }
    Ok(())
}

fn unpack_lzw(mut packed: &[u8], mut out: &mut [u8]) -> Result<(), String> {
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
    while !out.is_empty() {
        let result = decoder.decode_bytes(packed, out);
        packed = &packed[result.consumed_in..];
        out = &mut out[result.consumed_out..];
        let is_stuck = result.consumed_in == 0 && result.consumed_out == 0;
        if !matches!(result.status, Ok(weezl::LzwStatus::Ok)) || is_stuck {
            return if out.is_empty() { Ok(()) } else { Err(DAMAGED.to_owned()) };
        }
    }
    Ok(())
}

fn unpack_pack_bits(mut packed: &[u8], mut out: &mut [u8]) -> Result<(), String> {
    while !out.is_empty() {
        let (&head, rest) = packed.split_first().ok_or(DAMAGED)?;
        packed = rest;
        let head = head as i8;
        if head >= 0 {
            let n = head as usize + 1;
            let m = n.min(out.len());
            out[..m].copy_from_slice(packed.get(..m).ok_or(DAMAGED)?);
            packed = packed.get(n..).unwrap_or_default();
            out = &mut out[m..];
        } else if head != -128 {
            let m = (1 + usize::from(head.unsigned_abs())).min(out.len());
            let (&value, rest) = packed.split_first().ok_or(DAMAGED)?;
            out[..m].fill(value);
            packed = rest;
            out = &mut out[m..];
        }
    }
    Ok(())
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Work {
    packed: Vec<u8>,
    chunk: Vec<u8>,
}

fn resize(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), String> {
    if bytes > buffer.len() {
        buffer
            .try_reserve(bytes - buffer.len())
            .map_err(|_| format!("{bytes} bytes of a TIFF strip do not fit in memory"))?;
    }
    buffer.resize(bytes, 0);
    Ok(())
}

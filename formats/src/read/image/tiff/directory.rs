//! Image file directories of TIFF and BigTIFF.

use std::io::{Read, Seek, SeekFrom};

/// Tags that are read.
pub(super) mod tag {
    pub const SUBFILE_TYPE: u16 = 254;
    pub const WIDTH: u16 = 256;
    pub const HEIGHT: u16 = 257;
    pub const BITS_PER_SAMPLE: u16 = 258;
    pub const COMPRESSION: u16 = 259;
    pub const PHOTOMETRIC: u16 = 262;
    pub const FILL_ORDER: u16 = 266;
    pub const DESCRIPTION: u16 = 270;
    pub const STRIP_OFFSETS: u16 = 273;
    pub const SAMPLES_PER_PIXEL: u16 = 277;
    pub const ROWS_PER_STRIP: u16 = 278;
    pub const STRIP_BYTES: u16 = 279;
    pub const X_RESOLUTION: u16 = 282;
    pub const Y_RESOLUTION: u16 = 283;
    pub const RESOLUTION_UNIT: u16 = 296;
    pub const PREDICTOR: u16 = 317;
    pub const TILE_WIDTH: u16 = 322;
    pub const TILE_HEIGHT: u16 = 323;
    pub const TILE_OFFSETS: u16 = 324;
    pub const TILE_BYTES: u16 = 325;
    pub const SAMPLE_FORMAT: u16 = 339;
    pub const DEPTH: u16 = 32_997;
}

/// A TIFF file whose directories are read.
pub(super) struct Tiff<R> {
    reader: R,
    pub(super) is_big_endian: bool,
    is_big: bool,
    pub(super) length: u64,
    /// Where the first directory is.
    pub(super) first: u64,
    /// End of the directories that were read, and of what their tags point to.
    pub(super) end: u64,
}

struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// The value itself where it fits, else where it is.
    value: [u8; 8],
}

/// One directory: a picture.
pub(super) struct Directory {
    entries: Vec<Entry>,
    /// Where the next one is; 0 after the last.
    pub(super) next: u64,
}

/// Bytes of a number of a type.
fn size_of(kind: u16) -> Option<u64> {
    Some(match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => return None,
    })
}

impl<R: Read + Seek> Tiff<R> {
    /// Reads the first bytes of a file.
    pub(super) fn new(mut reader: R, length: u64) -> Result<Self, String> {
        let damaged = |_| "the TIFF header is cut short: this file is damaged".to_owned();
        let mut start = [0; 8];
        reader.rewind().and_then(|()| reader.read_exact(&mut start)).map_err(damaged)?;
        let is_big_endian = &start[..2] == b"MM";
        let mut tiff = Self { reader, is_big_endian, is_big: false, length, first: 0, end: 0 };
        match tiff.integer(&start[2..4]) {
            42 => tiff.first = tiff.integer(&start[4..8]),
            43 if tiff.integer(&start[4..6]) == 8 => {
                let mut first = [0; 8];
                tiff.reader.read_exact(&mut first).map_err(damaged)?;
                tiff.is_big = true;
                tiff.first = tiff.integer(&first);
            }
            _ => return Err("this is no TIFF file".to_owned()),
        }
        Ok(tiff)
    }

    /// An unsigned number of 1 to 8 bytes.
    fn integer(&self, bytes: &[u8]) -> u64 {
        let add = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
        if self.is_big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    fn read(&mut self, at: u64, bytes: u64) -> Result<Vec<u8>, String> {
        if at.checked_add(bytes).is_none_or(|end| end > self.length) {
            return Err(format!(
                "a TIFF directory points to byte {at}, beyond the end of the file: it is cut short, or damaged"
            ));
        }
        let mut there = vec![0; bytes as usize];
        self.reader
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.reader.read_exact(&mut there))
            .map_err(|error| format!("cannot read a TIFF directory: {error}"))?;
        Ok(there)
    }

    /// The directory at a place.
    pub(super) fn directory(&mut self, at: u64) -> Result<Directory, String> {
        let (head, size, tail) = if self.is_big { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.read(at, head)?;
        let count = self.integer(&count);
        if count == 0 || count > 65_535 {
            return Err(format!("a TIFF directory claims {count} entries: this file is damaged"));
        }
        let bytes = self.read(at + head, count * size)?;
        // Without it nobody knows whether pages follow.
        let next = self.read(at + head + count * size, tail).map_err(|_| {
            "the file ends within a TIFF directory, before the place of the next page: it is cut short, and pages may be missing"
        })?;
        let next = self.integer(&next);
        self.end = self.end.max(at + head + count * size + tail);
        let entries: Vec<Entry> = bytes
            .chunks_exact(size as usize)
            .map(|entry| {
                let split = if self.is_big { 12 } else { 8 };
                let mut value = [0; 8];
                value[..entry.len() - split].copy_from_slice(&entry[split..]);
                Entry {
                    tag: self.integer(&entry[..2]) as u16,
                    kind: self.integer(&entry[2..4]) as u16,
                    count: self.integer(&entry[4..split]),
                    value,
                }
            })
            .collect();
        for entry in &entries {
            let bytes = size_of(entry.kind).and_then(|size| entry.count.checked_mul(size)).unwrap_or(0);
            if bytes > self.inline() {
                self.end = self.end.max(self.integer(&entry.value[..self.inline() as usize]).saturating_add(bytes));
            }
        }
        Ok(Directory { entries, next })
    }

    /// Bytes of a value that stands in the directory itself.
    fn inline(&self) -> u64 {
        if self.is_big { 8 } else { 4 }
    }

    /// Type and bytes of a tag's value.
    fn value(&mut self, directory: &Directory, tag: u16) -> Result<Option<(u16, Vec<u8>)>, String> {
        let Some(entry) = directory.entries.iter().find(|entry| entry.tag == tag) else { return Ok(None) };
        let Some(size) = size_of(entry.kind) else { return Ok(None) };
        let here = self.inline();
        let bytes = entry.count.checked_mul(size).filter(|&bytes| bytes <= self.length);
        let bytes =
            bytes.ok_or_else(|| format!("TIFF tag {tag} claims {} values: this file is damaged", entry.count))?;
        let value = if bytes <= here {
            entry.value[..bytes as usize].to_vec()
        } else {
            let at = self.integer(&entry.value[..here as usize]);
            self.read(at, bytes)?
        };
        Ok(Some((entry.kind, value)))
    }

    /// Whole numbers of a tag; none where it is absent, empty or not of whole numbers.
    pub(super) fn integers(&mut self, directory: &Directory, tag: u16) -> Result<Vec<u64>, String> {
        let Some((kind, bytes)) = self.value(directory, tag)? else { return Ok(Vec::new()) };
        let size = match kind {
            1 | 7 => 1,
            3 => 2,
            4 | 13 => 4,
            16 | 18 => 8,
            _ => return Ok(Vec::new()),
        };
        Ok(bytes.chunks_exact(size).map(|number| self.integer(number)).collect())
    }

    /// The first whole number of a tag.
    pub(super) fn integer_of(&mut self, directory: &Directory, tag: u16) -> Result<Option<u64>, String> {
        Ok(self.integers(directory, tag)?.first().copied())
    }

    pub(super) fn text(&mut self, directory: &Directory, tag: u16) -> Result<Option<String>, String> {
        let Some((2, bytes)) = self.value(directory, tag)? else { return Ok(None) };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => error.into_bytes().iter().map(|&byte| char::from(byte)).collect(),
        };
        Ok(Some(text.trim_end_matches('\0').to_owned()))
    }

    /// The first fraction of a tag.
    pub(super) fn fraction(&mut self, directory: &Directory, tag: u16) -> Result<Option<f64>, String> {
        let Some((5, bytes)) = self.value(directory, tag)? else { return Ok(None) };
        let Some(bytes) = bytes.get(..8) else { return Ok(None) };
        let (above, below) = (self.integer(&bytes[..4]) as f64, self.integer(&bytes[4..]) as f64);
        Ok((below > 0.0).then(|| above / below))
    }
}

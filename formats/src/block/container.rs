//! The container: a header, then named sections, whatever they hold.
//!
//! ```text
//! offset  bytes  content
//!      0      8  magic
//!      8      4  byte-order mark 0x0102_0304
//!     12      4  format version
//!     16      4  header length H: 48 + 40 × number of sections
//!     20      4  number of sections
//!     24      8  file length
//!     32      8  bond: xxh3-64 of the names, lengths and checksums of all sections, with a seed of its own
//!     40     40  for each section: name (16, zero-padded), offset (8), length (8), checksum of its bytes (8)
//!  H − 8      8  xxh3-64 of the header up to here
//! ```
//!
//! The checksum of up to 4 MiB is their xxh3-64. That of more is the xxh3-64 of the xxh3-64s of all pieces of 4 MiB, eight bytes
//! each; the last piece may be shorter.
//!
//! All numbers are little-endian. Sections follow in the order of the table, each at the next multiple of 64; the bytes
//! between are zero. The last section ends the file. Hence every byte is under a checksum or known to be zero.
//!
//! The bond holds the sections of one file together: a section that comes from another file is found, also where its own
//! checksum and that of the header were made to fit. It is no signature: whoever computes the bond anew can join any
//! sections.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
};

use rkyv::{
    Serialize,
    api::high::{HighSerializer, to_bytes_in},
    rancor::{BoxedError, Source},
    ser::{Positional, Writer, allocator::ArenaHandle},
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::checksum::{self, Checksum};
use super::{BlockError, Recipe};
use crate::system::inputs;
use crate::write::write_atomically;

/// First bytes of every block file; a transfer that converts line ends or strips bit 7 breaks them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89POGO\r\n\x1a";
/// Raised whenever the meaning of a byte changes.
pub(crate) const VERSION: u32 = 25;
const BYTE_ORDER: u32 = 0x0102_0304;
const FIXED: usize = 40;
/// Seed of the bond, so that it is no hash that a tool takes over some bytes of the file.
const BOND_SEED: u64 = u64::from_le_bytes(*b"sections");
const ENTRY: usize = 40;
const NAME: usize = 16;
const ALIGNMENT: u64 = 64;
/// More sections than any physics will have; bounds what a damaged count can make us read.
const MAX_SECTIONS: usize = 64;

/// A named stretch of a block file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionInfo {
    /// Name: `provenance`, `setup`, and what the physics adds.
    pub name: String,
    /// First byte, a multiple of 64.
    pub offset: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// Checksum of those bytes.
    pub checksum: u64,
}

impl SectionInfo {
    pub(crate) fn range(&self) -> Range<usize> {
        self.offset as usize..(self.offset + self.bytes) as usize
    }
}

pub(super) const fn header_length(n_sections: usize) -> usize {
    FIXED + ENTRY * n_sections + 8
}

const fn align(offset: u64) -> u64 {
    offset.next_multiple_of(ALIGNMENT)
}

/// Writes a block file of `n_sections` sections, unless its contents were found wrong. Returns its length, bytes.
///
/// Tables go from memory to disk without a copy. The file is written beside `path`, made durable and renamed: `path` is
/// at all times either what it was or the whole new file.
pub(crate) fn write_file(
    path: &Path,
    checked: Result<(), String>,
    n_sections: usize,
    sections: impl FnOnce(&mut ContainerWriter) -> io::Result<()>,
) -> Result<u64, BlockError> {
    checked.map_err(|reason| BlockError::Inconsistent {
        path: path.to_owned(),
        reason: format!("not written: {reason}"),
    })?;
    let mut bytes = 0;
    let written = write_atomically(path, |out| {
        let mut writer = ContainerWriter::new(out, n_sections)?;
        sections(&mut writer)?;
        bytes = writer.finish()?;
        Ok(())
    });
    written.map(|()| bytes).map_err(|error| BlockError::Write(error.into()))
}

/// Writes sections one after the other, straight to disk.
pub struct ContainerWriter<'a> {
    out: &'a mut BufWriter<File>,
    position: u64,
    n_sections: usize,
    sections: Vec<SectionInfo>,
}

impl<'a> ContainerWriter<'a> {
    /// Leaves room for the header of `n_sections` sections at the start of an empty file.
    pub(crate) fn new(out: &'a mut BufWriter<File>, n_sections: usize) -> io::Result<Self> {
        let length = header_length(n_sections);
        out.write_all(&vec![0; length])?;
        Ok(Self { out, position: length as u64, n_sections, sections: Vec::with_capacity(n_sections) })
    }

    /// Appends one section: the rkyv archive of `value`.
    pub(crate) fn section<T>(&mut self, name: &str, value: &T) -> io::Result<()>
    where
        T: for<'b, 'c> Serialize<HighSerializer<SectionWriter<'c>, ArenaHandle<'b>, BoxedError>>,
    {
        debug_assert!(name.len() <= NAME && self.sections.len() < self.n_sections);
        let offset = align(self.position);
        self.out.write_all(&[0; ALIGNMENT as usize][..(offset - self.position) as usize])?;
        let writer = SectionWriter { out: self.out, checksum: Checksum::default(), bytes: 0 };
        let writer = to_bytes_in::<_, BoxedError>(value, writer).map_err(io::Error::other)?;
        let (bytes, checksum) = (writer.bytes as u64, writer.checksum.digest());
        self.sections.push(SectionInfo { name: name.to_owned(), offset, bytes, checksum });
        self.position = offset + bytes;
        Ok(())
    }

    /// Writes the header. Returns the length of the file, bytes.
    pub(crate) fn finish(self) -> io::Result<u64> {
        debug_assert_eq!(self.sections.len(), self.n_sections);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&encode(&self.sections, self.position))?;
        Ok(self.position)
    }
}

/// Where rkyv writes a section, with the checksum of what passes.
pub struct SectionWriter<'a> {
    out: &'a mut BufWriter<File>,
    checksum: Checksum,
    bytes: usize,
}

impl Positional for SectionWriter<'_> {
    fn pos(&self) -> usize {
        self.bytes
    }
}

impl<E: Source> Writer<E> for SectionWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), E> {
        // In pieces that stay in the cache between the hash and the copy into the kernel.
        for piece in bytes.chunks(1 << 18) {
            self.checksum.update(piece);
            self.out.write_all(piece).map_err(E::new)?;
        }
        self.bytes += bytes.len();
        Ok(())
    }
}

fn encode(sections: &[SectionInfo], file_length: u64) -> Vec<u8> {
    let length = header_length(sections.len());
    let mut header = Vec::with_capacity(length);
    header.extend_from_slice(&MAGIC);
    for word in [BYTE_ORDER, VERSION, length as u32, sections.len() as u32] {
        header.extend_from_slice(&word.to_le_bytes());
    }
    header.extend_from_slice(&file_length.to_le_bytes());
    header.extend_from_slice(&bond(sections).to_le_bytes());
    for section in sections {
        let mut name = [0; NAME];
        name[..section.name.len()].copy_from_slice(section.name.as_bytes());
        header.extend_from_slice(&name);
        for word in [section.offset, section.bytes, section.checksum] {
            header.extend_from_slice(&word.to_le_bytes());
        }
    }
    header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
    header
}

/// What holds sections together in one file.
fn bond(sections: &[SectionInfo]) -> u64 {
    let mut bytes = Vec::new();
    for SectionInfo { name, offset: _, bytes: length, checksum } in sections {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&checksum.to_le_bytes());
    }
    xxh3_64_with_seed(&bytes, BOND_SEED)
}

/// Reads and checks the header of a whole file.
pub(crate) fn decode(path: &Path, file: &[u8]) -> Result<Vec<SectionInfo>, BlockError> {
    let damaged = |reason: String| BlockError::Header { path: path.to_owned(), reason };
    let found = file.len() as u64;
    if file.len() < MAGIC.len() || file[..MAGIC.len()] != MAGIC {
        return Err(BlockError::Foreign { path: path.to_owned(), found: describe(file) });
    }
    if file.len() < header_length(0) {
        return Err(BlockError::Cut { path: path.to_owned(), expected: header_length(0) as u64, found });
    }
    let u32_at = |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    if u32_at(8) != BYTE_ORDER {
        return Err(damaged("the byte-order mark is wrong".into()));
    }
    if u32_at(12) != VERSION {
        let command = sound_table(file).and_then(|sections| Recipe::of(path, file, &sections)).map(Box::new);
        return Err(BlockError::Version { path: path.to_owned(), found: u32_at(12), expected: VERSION, command });
    }
    let (length, n_sections, expected) = (u32_at(16) as usize, u32_at(20) as usize, u64_at(24));
    if n_sections > MAX_SECTIONS || length != header_length(n_sections) {
        return Err(damaged(format!("{n_sections} sections in a header of {length} bytes")));
    }
    if length > file.len() {
        return Err(BlockError::Cut { path: path.to_owned(), expected, found });
    }
    if xxh3_64(&file[..length - 8]) != u64_at(length - 8) {
        return Err(damaged("its checksum does not fit".into()));
    }
    if found < expected {
        return Err(BlockError::Cut { path: path.to_owned(), expected, found });
    }
    if found > expected {
        return Err(BlockError::Appended { path: path.to_owned(), expected, found });
    }

    let sections = table(file, length, n_sections).map_err(damaged)?;
    if bond(&sections) != u64_at(FIXED - 8) {
        return Err(damaged("its sections do not belong together: one was taken from another file".into()));
    }
    Ok(sections)
}

/// The table of sections of a whole file of another version, if its header is laid out like ours and undamaged.
fn sound_table(file: &[u8]) -> Option<Vec<SectionInfo>> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?) as usize);
    let (length, n_sections) = (u32_at(16)?, u32_at(20)?);
    let is_ours = n_sections <= MAX_SECTIONS && length == header_length(n_sections) && length <= file.len();
    let checksum = file.get(length.checked_sub(8)?..length)?;
    let is_whole = is_ours && xxh3_64(&file[..length - 8]).to_le_bytes() == *checksum;
    if is_whole { table(file, length, n_sections).ok() } else { None }
}

/// Reads the table of sections behind the fixed part of a header of `length` bytes, and checks where they lie.
fn table(file: &[u8], length: usize, n_sections: usize) -> Result<Vec<SectionInfo>, String> {
    let u64_at = |at: usize| file[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let mut sections = Vec::with_capacity(n_sections);
    let mut end = length as u64;
    for index in 0..n_sections {
        let at = FIXED + ENTRY * index;
        let name = file[at..at + NAME].split(|&byte| byte == 0).next().unwrap_or_default();
        let section = SectionInfo {
            name: String::from_utf8_lossy(name).into_owned(),
            offset: u64_at(at + NAME),
            bytes: u64_at(at + NAME + 8),
            checksum: u64_at(at + NAME + 16),
        };
        let next = section.offset.checked_add(section.bytes).filter(|&next| next <= file.len() as u64);
        let Some(next) = next.filter(|_| section.offset == align(end)) else {
            return Err(format!("section `{}` lies outside the file", section.name));
        };
        if file[end as usize..section.offset as usize].iter().any(|&byte| byte != 0) {
            return Err(format!("bytes before section `{}` are not zero", section.name));
        }
        end = next;
        sections.push(section);
    }
    if end != file.len() as u64 {
        return Err("the sections do not fill the file".into());
    }
    Ok(sections)
}

/// A guess at what a foreign file is, for the error message.
fn describe(file: &[u8]) -> String {
    let kind = match file {
        [] => "the file is empty",
        [b'*', ..] => "it looks like an Abaqus deck",
        [b'P', b'K', ..] => "it looks like a zip or npz archive",
        [0x89, b'H', b'D', b'F', ..] => "it looks like an HDF5 file",
        [0x89, b'P', b'O', b'G', b'O', ..] => "its first bytes were changed, as a text-mode transfer does",
        _ => "its first bytes are not ours",
    };
    kind.to_owned()
}

/// Opens for reading what must be a regular file.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), BlockError> {
    // Asked before opening, since opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path).map_err(BlockError::io(path, "open"))?;
    if !metadata.is_file() {
        return Err(BlockError::NotAFile { path: path.to_owned() });
    }
    let file = inputs::open(path).map_err(BlockError::io(path, "open"))?;
    let length = file.metadata().map_err(BlockError::io(path, "read its length"))?.len();
    Ok((file, length))
}

/// Makes all checksums of a file fit its bytes, where its header can be read so far; for tests and fuzz targets, which look
/// for what checksums do not find. Gives whether it did.
pub fn repair(file: &mut [u8]) -> bool {
    let u32_at = |at: usize| file.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let n_sections = u32_at(20) as usize;
    let length = header_length(n_sections.min(MAX_SECTIONS));
    if n_sections > MAX_SECTIONS || length > file.len() {
        return false;
    }
    let Ok(mut sections) = table(file, length, n_sections) else { return false };
    for (index, section) in sections.iter_mut().enumerate() {
        section.checksum = checksum::of(&file[section.range()]);
        let at = FIXED + ENTRY * index + NAME + 16;
        file[at..at + 8].copy_from_slice(&section.checksum.to_le_bytes());
    }
    file[FIXED - 8..FIXED].copy_from_slice(&bond(&sections).to_le_bytes());
    let checksum = xxh3_64(&file[..length - 8]);
    file[length - 8..length].copy_from_slice(&checksum.to_le_bytes());
    true
}

/// A file of sections of other files, whose header says where they lie but keeps the bond of `first`.
#[cfg(test)]
pub(crate) fn joined(first: &[u8], pieces: &[(&SectionInfo, &Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![0; header_length(pieces.len())];
    let mut sections = Vec::new();
    for (section, file) in pieces {
        body.resize(align(body.len() as u64) as usize, 0);
        sections.push(SectionInfo { offset: body.len() as u64, ..(*section).clone() });
        body.extend_from_slice(&file[section.range()]);
    }
    let mut header = encode(&sections, body.len() as u64);
    header[FIXED - 8..FIXED].copy_from_slice(&first[FIXED - 8..FIXED]);
    let end = header.len() - 8;
    let checksum = xxh3_64(&header[..end]);
    header[end..].copy_from_slice(&checksum.to_le_bytes());
    body[..header.len()].copy_from_slice(&header);
    body
}

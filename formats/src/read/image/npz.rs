//! NumPy's `.npz`: one array of a zip archive, stored or deflated.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::npy::Array;
use super::options::ImageOptions;
use super::sample::SampleType;
use super::source::{Reopen, reopen, too_short};
use super::{Format, Opened, Problem, are_edges};
use crate::read::unpack::Known;
use crate::system::inputs;

/// A member of the archive.
#[derive(Debug)]
struct Member {
    name: String,
    start: u64,
    packed: u64,
    deflated: bool,
    /// Bytes when unpacked, and their CRC-32.
    bytes: u64,
    crc: u32,
}

impl Member {
    fn reopen(&self, path: &Path) -> Reopen {
        let (path, stretch, bytes, crc) = (path.to_owned(), (self.start, self.packed), self.bytes, self.crc);
        if self.deflated {
            reopen(path, stretch, move |packed| Ok(Known::new(DeflateDecoder::new(packed), bytes, crc)))
        } else {
            reopen(path, stretch, move |packed| Ok(Known::new(packed, bytes, crc)))
        }
    }

    /// A small array of three numbers, such as a spacing; none where it is another kind of array.
    fn three_numbers(&self, path: &Path) -> Result<Option<[f64; 3]>, String> {
        let cannot = |error: &dyn std::fmt::Display| format!("array \"{}\": {error}", self.name);
        let mut reader = self.reopen(path)().map_err(|error| cannot(&error))?;
        let array = Array::read(&mut reader);
        let mut start = Vec::new();
        reader.by_ref().take(24).read_to_end(&mut start).map_err(|error| cannot(&error))?;
        // To its end, which compares the CRC-32, before anything is made of it.
        io::copy(&mut reader, &mut io::sink()).map_err(|error| cannot(&error))?;
        let array = array.map_err(|message| cannot(&message))?;
        let Ok(mut bytes) = <[u8; 24]>::try_from(start) else { return Ok(None) };
        if array.samples() != Some(3) || array.sample != SampleType::Float64 {
            return Ok(None);
        }
        array.encoding.to_little(8, &mut bytes);
        let mut numbers = [0.0; 3];
        array.sample.decode(&bytes, &mut numbers);
        Ok(Some(numbers).filter(|numbers| numbers.iter().all(|number| number.is_finite())))
    }
}

/// Opens an array of an `.npz` file: the one that the job names, or the only one with two or three indices. Arrays
/// `spacing_xyz` and `origin_xyz` beside it give the size and place of voxels (mm).
pub(super) fn open(path: &Path, options: &ImageOptions) -> Result<Opened, Problem> {
    let members = members(path)?;
    let header_of = |member: &Member| -> Result<Array, String> {
        let reader =
            member.reopen(path)().map_err(|error| format!("cannot read array \"{}\": {error}", member.name))?;
        Array::read(reader).map_err(|message| format!("array \"{}\": {message}", member.name))
    };
    let names = || members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ");
    let member = match &options.array {
        Some(name) => members
            .iter()
            .find(|member| member.name == *name)
            .ok_or_else(|| format!("there is no array \"{name}\" in this file: it has {}", names()))?,
        None => {
            let mut stacks = members.iter().filter(|m| header_of(m).is_ok_and(|a| matches!(a.shape.len(), 2 | 3)));
            match (stacks.next(), stacks.next(), members.as_slice()) {
                (Some(stack), None, _) => stack,
                (Some(_), Some(_), _) => {
                    return Err(format!(
                        "this file has several arrays: say which in [image], array = \"…\": {}",
                        names()
                    )
                    .into());
                }
                (None, _, [only]) => only,
                _ => return Err(format!("no array of this file has three indices: {}", names()).into()),
            }
        }
    };
    let array = header_of(member)?;
    let mut header = array.header(Format::Npz, options)?;
    let find =
        |name: &str| members.iter().find(|m| m.name == name).map_or(Ok(None), |member| member.three_numbers(path));
    header.spacing = find("spacing_xyz")?.filter(are_edges);
    header.origin = find("origin_xyz")?;
    let (_, bytes) = header.bytes()?;
    let held = member.bytes.saturating_sub(array.offset);
    if bytes > held {
        return Err(too_short(bytes, held).into());
    }
    Opened::deflated(header, array.encoding, member.reopen(path), member.packed, array.offset)
}

fn members(path: &Path) -> Result<Vec<Member>, Problem> {
    let damaged = |error: &dyn std::fmt::Display| format!("cannot read this npz archive: {error}");
    let file = inputs::open(path).map_err(|error| damaged(&error))?;
    let bare = file.try_clone().map_err(|error| damaged(&error))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    let (mut members, mut end) = (Vec::new(), 0);
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| damaged(&error))?;
        let name = entry.name().map_err(|error| damaged(&error))?.into_owned();
        let named = |error: io::Error| format!("entry \"{name}\" of this npz archive: {error}");
        let start = entry.data_start().ok_or_else(|| damaged(&"an entry has no place"))?;
        let (packed, bytes, crc) = (entry.compressed_size(), entry.size(), entry.crc32());
        check_local_header(&bare, entry.header_start(), entry.name_raw(), start.saturating_add(packed))
            .map_err(named)?;
        end = end.max(end_of_record(&bare, entry.central_header_start()).map_err(named)?);
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::DEFLATE => true,
            _ => {
                return Err(
                    format!("array \"{name}\" is packed in a way that NumPy does not use: save it again").into()
                );
            }
        };
        members.push(Member { name, start, packed, deflated, bytes, crc });
    }
    let mut next = [0; 4];
    if bare.read_exact_at(&mut next, end).is_ok() && &next == b"PK\x01\x02" {
        return Err(damaged(&"its directory has more entries than it says").into());
    }
    if members.is_empty() {
        return Err("this npz file has no array".into());
    }
    Ok(members)
}

/// End of the record of an entry in the archive's directory.
fn end_of_record(file: &File, at: u64) -> io::Result<u64> {
    let mut record = [0; 46];
    file.read_exact_at(&mut record, at)?;
    let length = |at: usize| u64::from(u16::from_le_bytes([record[at], record[at + 1]]));
    Ok(at + 46 + length(28) + length(30) + length(32))
}

/// Compares an entry of the archive's directory with what stands before its data: the name, which no checksum covers. Also
/// checks that the data, which end at byte `end`, lie in the file.
fn check_local_header(file: &File, at: u64, name: &[u8], end: u64) -> io::Result<()> {
    const FIXED: u64 = 30;
    let damaged = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, format!("{what}: the file is damaged")));
    let mut there = vec![0; name.len()];
    file.read_exact_at(&mut there, at + FIXED)?;
    let mut length = [0; 2];
    file.read_exact_at(&mut length, at + 26)?;
    if usize::from(u16::from_le_bytes(length)) != name.len() || there != name {
        return damaged("it has two names, one in the archive's directory and another before its data");
    }
    if end > file.metadata()?.len() {
        return damaged("its data end behind the end of the file");
    }
    Ok(())
}

//! NumPy's `.npz`: one array of a zip archive, stored or deflated.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::npy::Array;
use super::options::ImageOptions;
use super::sample::SampleType;
use super::source::{Reopen, reopen};
use super::{Format, Opened, Problem, are_edges};

/// A member of the archive.
#[derive(Debug)]
struct Member {
    name: String,
    start: u64,
    packed: u64,
    deflated: bool,
}

impl Member {
    fn reopen(&self, path: &Path) -> Reopen {
        let (path, stretch) = (path.to_owned(), (self.start, self.packed));
        if self.deflated {
            reopen(path, stretch, |packed| Ok(DeflateDecoder::new(packed)))
        } else {
            reopen(path, stretch, Ok)
        }
    }

    /// A small array of three numbers, such as a spacing.
    fn three_numbers(&self, path: &Path) -> Option<[f64; 3]> {
        let mut reader = self.reopen(path)().ok()?;
        let array = Array::read(&mut reader).ok()?;
        if array.samples() != Some(3) || array.sample != SampleType::Float64 {
            return None;
        }
        let mut bytes = [0; 24];
        reader.read_exact(&mut bytes).ok()?;
        array.encoding.to_little(8, &mut bytes);
        let mut numbers = [0.0; 3];
        array.sample.decode(&bytes, &mut numbers);
        numbers.iter().all(|number| number.is_finite()).then_some(numbers)
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
    let find = |name: &str| members.iter().find(|m| m.name == name).and_then(|m| m.three_numbers(path));
    header.spacing = find("spacing_xyz").filter(are_edges);
    header.origin = find("origin_xyz");
    if member.deflated {
        return Opened::deflated(header, array.encoding, member.reopen(path), member.packed, array.offset);
    }
    let file = File::open(path).map_err(|error| format!("cannot open this stack: {error}"))?;
    Opened::flat(header, array.encoding, file, member.start + array.offset)
}

fn members(path: &Path) -> Result<Vec<Member>, Problem> {
    let damaged = |error: &dyn std::fmt::Display| format!("cannot read this npz archive: {error}");
    let file = File::open(path).map_err(|error| damaged(&error))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| damaged(&error))?;
        let name = entry.name().map_err(|error| damaged(&error))?;
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
        let start = entry.data_start().ok_or_else(|| damaged(&"an entry has no place"))?;
        members.push(Member { name, start, packed: entry.compressed_size(), deflated });
    }
    if members.is_empty() {
        return Err("this npz file has no array".into());
    }
    Ok(members)
}

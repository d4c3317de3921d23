//! NIfTI-1 and NIfTI-2: `.nii`, `.nii.gz`, and `.hdr` with `.img`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::sample::{Endian, SampleType};
use super::source::{Reopen, reopen};
use super::{Format, Header, Opened, Problem, text};
use crate::read::unpack::Gunzip;
use crate::system::inputs;

/// The size that starts a header, and the byte order it is written in.
fn kind(start: &[u8]) -> Option<(usize, bool)> {
    let first: [u8; 4] = start.get(..4)?.try_into().ok()?;
    let (size, big) = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
        (348, _) => (348, false),
        (_, 348) => (348, true),
        (540, _) => (540, false),
        (_, 540) => (540, true),
        _ => return None,
    };
    let magic = if size == 348 { start.get(344..347)? } else { start.get(4..7)? };
    matches!(magic, b"n+1" | b"ni1" | b"n+2" | b"ni2").then_some((size, big))
}

/// Whether a file starts as a NIfTI header does.
pub(super) fn is_nifti(start: &[u8]) -> bool {
    kind(start).is_some()
}

/// The numbers of a header. Places are pairs: the byte in NIfTI-1 and that in NIfTI-2, whose numbers are wider.
struct Numbers {
    bytes: Vec<u8>,
    is_big_endian: bool,
    is_wide: bool,
}

impl Numbers {
    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(there) = self.bytes.get(at..at + N) {
            bytes.copy_from_slice(there);
        }
        if self.is_big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn short(&self, at: usize) -> i64 {
        i16::from_le_bytes(self.get(at)).into()
    }

    /// Number `i` of a list of real numbers.
    fn real(&self, (narrow, wide): (usize, usize), i: usize) -> f64 {
        if self.is_wide {
            return f64::from_le_bytes(self.get(wide + 8 * i));
        }
        // The number that was meant: 0.1, not the nearest of single precision.
        let number = f32::from_le_bytes(self.get(narrow + 4 * i));
        number.to_string().parse().unwrap_or(f64::from(number))
    }

    /// A code: a byte or two in NIfTI-1, four in NIfTI-2.
    fn code(&self, (narrow, wide): (usize, usize)) -> i64 {
        if self.is_wide { i32::from_le_bytes(self.get(wide)).into() } else { self.short(narrow) }
    }
}

/// Opens a NIfTI file or the header of a pair.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let cannot = |error: io::Error| format!("cannot read the NIfTI header: {error}");
    let is_packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let mut bytes = Vec::new();
    reader(path.to_owned(), is_packed)().and_then(|r| r.take(540).read_to_end(&mut bytes)).map_err(cannot)?;
    let (size, is_big_endian) = kind(&bytes).ok_or("this is no NIfTI file")?;
    if bytes.len() < size {
        return Err("the NIfTI header is cut short: this file is damaged".into());
    }
    let is_wide = size == 540;
    let is_pair = if is_wide { &bytes[4..7] == b"ni2" } else { &bytes[344..347] == b"ni1" };
    let h = Numbers { bytes, is_big_endian, is_wide };
    let long = |at| i64::from_le_bytes(h.get(at));
    let dims = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| if is_wide { long(16 + 8 * i) } else { h.short(40 + 2 * i) });
    let pixdim = [0, 1, 2, 3].map(|i| h.real((76, 104), i));
    let mut header = header(&dims, h.short(if is_wide { 12 } else { 70 }))?;
    let unit = if is_wide { i32::from_le_bytes(h.get(500)) as u8 } else { h.get::<1>(123)[0] };
    let unit = match unit & 7 {
        1 => 1e3,
        3 => 1e-3,
        _ => 1.0,
    };
    let edge = |axis: usize| pixdim[if dims[0] > axis as i64 { 1 + axis } else { 1 }].abs() * unit;
    header.set_edges(&[edge(0), edge(1), edge(2)]);
    place(&h, pixdim, unit, &mut header)?;
    let (slope, intercept) = (h.real((112, 176), 0), h.real((116, 184), 0));
    if slope.is_finite() && intercept.is_finite() && slope != 0.0 && (slope, intercept) != (1.0, 0.0) {
        header.rescale = Some([slope, intercept]);
    }
    let offset = if is_wide { long(168) as f64 } else { h.real((108, 0), 0) };
    if !(offset.is_finite() && (0.0..=9e15).contains(&offset)) {
        return Err(format!("the NIfTI header puts the voxels at byte {offset}: it is damaged").into());
    }
    let data = if is_pair { image_of_pair(path)? } else { path.to_owned() };
    let file = inputs::open(&data).map_err(|error| format!("cannot open {}: {error}", data.display()))?;
    let endian = if is_big_endian { Endian::Big } else { Endian::Little };
    if is_packed {
        let packed = file.metadata().map_err(cannot)?.len();
        return Opened::deflated(header, endian, reader(data, true), packed, offset as u64);
    }
    Opened::flat(header, endian, file, offset as u64)
}

/// Origin and directions by the header's matrix (method 3 of the format), or else its quaternion (method 2).
fn place(h: &Numbers, pixdim: [f64; 4], unit: f64, header: &mut Header) -> Result<(), Problem> {
    let (directions, centre): (Vec<Vec<f64>>, [f64; 3]) = if h.code((254, 348)) > 0 {
        let real = |i| unit * h.real((280, 400), i);
        let column = |j: usize| (0..3).map(|i| real(4 * i + j)).collect();
        ((0..3).map(column).collect(), [3, 7, 11].map(real))
    } else if h.code((252, 344)) > 0 {
        let [b, c, d] = [0, 1, 2].map(|i| h.real((256, 352), i));
        let a = (1.0 - b * b - c * c - d * d).max(0.0).sqrt();
        let columns = [
            [a * a + b * b - c * c - d * d, 2.0 * (b * c + a * d), 2.0 * (b * d - a * c)],
            [2.0 * (b * c - a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d + a * b)],
            [2.0 * (b * d + a * c), 2.0 * (c * d - a * b), a * a + d * d - b * b - c * c],
        ];
        let edges = [pixdim[1], pixdim[2], if pixdim[0] < 0.0 { -pixdim[3] } else { pixdim[3] }];
        let column = |(column, edge): (&[f64; 3], f64)| column.iter().map(|x| x * edge * unit).collect();
        (columns.iter().zip(edges).map(column).collect(), [0, 1, 2].map(|i| unit * h.real((268, 376), i)))
    } else {
        return Ok(());
    };
    let lengths = [0, 1, 2].map(|j| directions[j].iter().map(|x| x * x).sum::<f64>().sqrt());
    if !lengths.iter().chain(&centre).all(|x| x.is_finite()) || lengths.contains(&0.0) {
        return Ok(());
    }
    if !text::are_at_right_angles(&directions) {
        return Err(text::SLANTED.into());
    }
    let spacing = header.spacing.unwrap_or(lengths);
    let differ = (0..3).any(|i| (spacing[i] - lengths[i]).abs() > 1e-3 * lengths[i]);
    if differ {
        let [a, b, c] = spacing;
        let note = format!("voxels are of {a} × {b} × {c} mm by pixdim, but not by the header's matrix, which holds");
        header.notes.push(note);
    }
    let spacing = if differ { lengths } else { spacing };
    header.spacing = Some(spacing);
    let is_small = |i: usize, j: usize| directions[j][i].abs() <= 1e-3 * lengths[j];
    if (0..3).any(|j| directions[j][j] < 0.0 || (0..3).any(|i| i != j && !is_small(i, j))) {
        header.notes.push(text::TURNED.to_owned());
    }
    header.set_centre(centre);
    Ok(())
}

fn reader(path: PathBuf, is_packed: bool) -> Reopen {
    let whole = (0, u64::MAX);
    if is_packed { reopen(path, whole, |packed| Ok(Gunzip::new(packed))) } else { reopen(path, whole, Ok) }
}

/// `bone.img` of `bone.hdr`.
fn image_of_pair(path: &Path) -> Result<PathBuf, Problem> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("hdr")) {
        return Err("the voxels of this header are in another file: give the .hdr of a pair that is not packed".into());
    }
    Ok(path.with_extension(if path.extension().is_some_and(|e| e == "HDR") { "IMG" } else { "img" }))
}

fn header(dims: &[i64; 8], datatype: i64) -> Result<Header, Problem> {
    let n = usize::try_from(dims[0]).ok().filter(|n| (2..8).contains(n));
    let n = n.ok_or_else(|| format!("the NIfTI header claims {} axes: it is damaged, or no stack", dims[0]))?;
    if dims[4..=n.max(3)].iter().any(|&n| n > 1) {
        return Err(format!("{n} axes: only stacks of one number a voxel are read, not series").into());
    }
    let mut size = [1; 3];
    for (axis, voxels) in size.iter_mut().enumerate().take(n) {
        *voxels =
            usize::try_from(dims[1 + axis]).map_err(|_| "the NIfTI header claims a negative size: it is damaged")?;
    }
    let sample = match datatype {
        2 => SampleType::Uint8,
        4 => SampleType::Int16,
        8 => SampleType::Int32,
        16 => SampleType::Float32,
        64 => SampleType::Float64,
        256 => SampleType::Int8,
        512 => SampleType::Uint16,
        768 => SampleType::Uint32,
        1024 => SampleType::Int64,
        1280 => SampleType::Uint64,
        _ => return Err(format!("NIfTI data type {datatype} is not read: only integers, float and double are").into()),
    };
    Ok(Header::new(Format::Nifti, size, sample))
}

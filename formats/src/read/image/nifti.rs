//! NIfTI-1 and NIfTI-2: `.nii`, `.nii.gz`, and `.hdr` with `.img`.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::sample::SampleType;
use super::source::{Encoding, Flat, Reopen, Stream};
use super::{Format, Header, Opened, Problem, text};

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

/// Numbers of a header at given places.
struct Bytes {
    bytes: Vec<u8>,
    big: bool,
}

impl Bytes {
    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(there) = self.bytes.get(at..at + N) {
            bytes.copy_from_slice(there);
        }
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    fn i16(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.get(at))
    }

    /// The number that was meant: 0.1, not the nearest of single precision.
    fn f32(&self, at: usize) -> f64 {
        let number = f32::from_le_bytes(self.get(at));
        number.to_string().parse().unwrap_or(f64::from(number))
    }

    fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.get(at))
    }

    fn f64(&self, at: usize) -> f64 {
        f64::from_le_bytes(self.get(at))
    }
}

/// Opens a NIfTI file or the header of a pair.
pub(super) fn open(path: &Path) -> Result<Opened, Problem> {
    let cannot = |error: io::Error| format!("cannot read the NIfTI header: {error}");
    let is_packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let mut bytes = Vec::new();
    reader(path, is_packed).and_then(|r| r.take(540).read_to_end(&mut bytes)).map_err(cannot)?;
    let (size, big) = kind(&bytes).ok_or("this is no NIfTI file")?;
    if bytes.len() < size {
        return Err("the NIfTI header is cut short: this file is damaged".into());
    }
    let pair = if size == 348 { &bytes[344..347] == b"ni1" } else { &bytes[4..7] == b"ni2" };
    let h = Bytes { bytes, big };
    let dims: Vec<i64> =
        (0..8).map(|i| if size == 348 { i64::from(h.i16(40 + 2 * i)) } else { h.i64(16 + 8 * i) }).collect();
    let pixdim: Vec<f64> = (0..8).map(|i| if size == 348 { h.f32(76 + 4 * i) } else { h.f64(104 + 8 * i) }).collect();
    let (datatype, slope, intercept) =
        if size == 348 { (h.i16(70), h.f32(112), h.f32(116)) } else { (h.i16(12), h.f64(176), h.f64(184)) };
    let offset = if size == 348 { h.f32(108) } else { h.i64(168) as f64 };
    let unit = if size == 348 { h.get::<1>(123)[0] } else { i32::from_le_bytes(h.get(500)) as u8 } & 7;
    let mut header = header(&dims, datatype)?;
    let unit = match unit {
        1 => 1e3,
        3 => 1e-3,
        _ => 1.0,
    };
    let edges: Vec<f64> = (0..3)
        .map(|axis| if dims[0] > axis as i64 { pixdim[1 + axis].abs() * unit } else { pixdim[1].abs() * unit })
        .collect();
    if edges.iter().all(|edge| edge.is_finite() && *edge > 0.0) {
        header.spacing = Some([edges[0], edges[1], edges[2]]);
    }
    place(&h, size, &pixdim, unit, &mut header)?;
    if slope.is_finite() && intercept.is_finite() && slope != 0.0 && (slope, intercept) != (1.0, 0.0) {
        header.rescale = Some([slope, intercept]);
    }
    if !(offset.is_finite() && (0.0..=9e15).contains(&offset)) {
        return Err(format!("the NIfTI header puts the voxels at byte {offset}: it is damaged").into());
    }
    let offset = offset as u64;
    let data = if pair { image_of_pair(path)? } else { path.to_owned() };
    let file = File::open(&data).map_err(|error| format!("cannot open {}: {error}", data.display()))?;
    let layer_bytes = header.layer_bytes_checked()?;
    let bytes = header.bytes();
    let source: Box<dyn super::Source> = if is_packed {
        let packed = file.metadata().map_err(cannot)?.len();
        let reopen: Reopen = Box::new(move || reader(&data, true));
        Box::new(Stream::deflated(reopen, packed, offset, layer_bytes, bytes)?)
    } else {
        Box::new(Flat::new(file, offset, layer_bytes, bytes)?)
    };
    Ok(Opened { header, encoding: if big { Encoding::Big } else { Encoding::Little }, source })
}

/// Origin and directions by the header's matrix (method 3 of the format), or else its quaternion (method 2).
fn place(h: &Bytes, size: usize, pixdim: &[f64], unit: f64, header: &mut Header) -> Result<(), Problem> {
    let real = |first: usize, second: usize, i: usize| match size {
        348 => h.f32(first + 4 * i),
        _ => h.f64(second + 8 * i),
    };
    let code = |first, second| if size == 348 { h.i16(first).into() } else { i32::from_le_bytes(h.get(second)) };
    let (directions, centre): (Vec<Vec<f64>>, [f64; 3]) = if code(254, 348) > 0 {
        let column = |j: usize| (0..3).map(|i| unit * real(280, 400, 4 * i + j)).collect();
        ((0..3).map(column).collect(), [3, 7, 11].map(|i| unit * real(280, 400, i)))
    } else if code(252, 344) > 0 {
        let [b, c, d] = [0, 1, 2].map(|i| real(256, 352, i));
        let a = (1.0 - b * b - c * c - d * d).max(0.0).sqrt();
        let columns = [
            [a * a + b * b - c * c - d * d, 2.0 * (b * c + a * d), 2.0 * (b * d - a * c)],
            [2.0 * (b * c - a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d + a * b)],
            [2.0 * (b * d + a * c), 2.0 * (c * d - a * b), a * a + d * d - b * b - c * c],
        ];
        let edges = [pixdim[1], pixdim[2], if pixdim[0] < 0.0 { -pixdim[3] } else { pixdim[3] }];
        let column = |(column, edge): (&[f64; 3], f64)| column.iter().map(|x| x * edge * unit).collect();
        (columns.iter().zip(edges).map(column).collect(), [0, 1, 2].map(|i| unit * real(268, 376, i)))
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
        header
            .notes
            .push(format!("voxels are of {a} × {b} × {c} mm by pixdim, but not by the header's matrix, which holds"));
    }
    let spacing = if differ { lengths } else { spacing };
    header.spacing = Some(spacing);
    let is_small = |i: usize, j: usize| directions[j][i].abs() <= 1e-3 * lengths[j];
    if (0..3).any(|j| directions[j][j] < 0.0 || (0..3).any(|i| i != j && !is_small(i, j))) {
        header.notes.push(text::TURNED.to_owned());
    }
    // The header gives the centre of the first voxel.
    header.origin = Some([0, 1, 2].map(|i| centre[i] - spacing[i] / 2.0));
    Ok(())
}

fn reader(path: &Path, is_packed: bool) -> io::Result<Box<dyn Read + Send>> {
    let file = BufReader::with_capacity(1 << 16, File::open(path)?);
    Ok(if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// `bone.img` of `bone.hdr`.
fn image_of_pair(path: &Path) -> Result<PathBuf, Problem> {
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("hdr")) {
        return Err("the voxels of this header are in another file: give the .hdr of a pair that is not packed".into());
    }
    Ok(path.with_extension(if path.extension().is_some_and(|e| e == "HDR") { "IMG" } else { "img" }))
}

fn header(dims: &[i64], datatype: i16) -> Result<Header, Problem> {
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

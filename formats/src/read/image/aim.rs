//! Scanco AIM, versions 2 and 3: block lengths, a structure, a processing log as text, and the voxels: 8 or 16 bit, VAX or
//! IEEE floats, run lengths, or 2 × 2 × 2 voxels a byte.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::sample::SampleType;
use super::source::{Encoding, Source, Stream, expect_bytes, reopen, vax_float};
use super::{Format, Header, Opened, Problem, ScancoCalibration};
use crate::system::inputs::Input;

const VERSION_3: &[u8] = b"AIMDATA_V030   ";
/// Types of voxels that are packed: lengths of runs of two values in turn, values with lengths, and a bit a voxel.
const RUNS_OF_TWO: u32 = 0x0015_0001;
const RUNS: u32 = 0x0008_0002;
const BITS: u32 = 0x0006_0001;
/// Files are filled up to a multiple of this.
const BLOCK: u64 = 512;
/// Most bytes that are read of a processing log.
const LONGEST_LOG: u64 = 1 << 24;

/// Whether a file starts as AIM files of version 2 or 3 do.
pub(super) fn is_aim(start: &[u8]) -> bool {
    start.starts_with(VERSION_3) || start.starts_with(&[20, 0, 0, 0, 140, 0, 0, 0])
}

/// The parts of a header that are used.
struct Structure {
    kind: u32,
    position: [i64; 3],
    dim: [i64; 3],
    offset: [i64; 3],
    /// mm.
    spacing: [f64; 3],
    /// Start and length of the log and of the voxels.
    log: (u64, u64),
    voxels: (u64, u64),
    /// End of what follows the voxels, by the lengths that start the file.
    end: u64,
    version_3: bool,
}

impl Structure {
    fn read(file: &Input) -> Result<Self, String> {
        let damaged = |_| "the AIM header is cut short: this file is damaged".to_owned();
        let mut start = [0; 16];
        file.read_exact_at(&mut start, 0).map_err(damaged)?;
        let version_3 = start.starts_with(VERSION_3);
        let (at, word): (u64, usize) = if version_3 { (16, 8) } else { (0, 4) };
        let int = |bytes: &[u8], at: usize| -> i64 {
            match (version_3, bytes.get(at..at + word)) {
                (true, Some(b)) => b.try_into().map_or(-1, i64::from_le_bytes),
                (false, Some(b)) => b.try_into().map_or(-1, |b| i64::from(i32::from_le_bytes(b))),
                _ => -1,
            }
        };
        let mut lengths = vec![0; 5 * word];
        file.read_exact_at(&mut lengths, at).map_err(damaged)?;
        let length = |i: usize| {
            u64::try_from(int(&lengths, i * word))
                .map_err(|_| "the AIM header claims a negative length: it is damaged".to_owned())
        };
        let (pre, structure, log, voxels, rest) = (length(0)?, length(1)?, length(2)?, length(3)?, length(4)?);
        let expected = if version_3 { 224 } else { 140 };
        if structure != expected {
            return Err(format!("the AIM structure has {structure} bytes, not {expected}: versions 2 and 3 are read"));
        }
        let structure_at = at.checked_add(pre).ok_or("the AIM header is damaged")?;
        let mut s = vec![0; expected as usize];
        file.read_exact_at(&mut s, structure_at).map_err(damaged)?;
        let log_at = structure_at + expected;
        let voxels_at = log_at.checked_add(log).ok_or("the AIM header is damaged")?;
        let three = |at: usize| [int(&s, at), int(&s, at + word), int(&s, at + 2 * word)];
        let (kind_at, position_at) = if version_3 { (12, 16) } else { (20, 24) };
        let spacing_at = position_at + 7 * 3 * word;
        let spacing = if version_3 {
            three(spacing_at).map(|nanometres| nanometres as f64 * 1e-6)
        } else {
            [0, 1, 2].map(|i| {
                let at = spacing_at + 4 * i;
                f64::from(vax_float([s[at], s[at + 1], s[at + 2], s[at + 3]]))
            })
        };
        Ok(Self {
            kind: u32::from_le_bytes([s[kind_at], s[kind_at + 1], s[kind_at + 2], s[kind_at + 3]]),
            position: three(position_at),
            dim: three(position_at + 3 * word),
            offset: three(position_at + 6 * word),
            spacing: spacing.map(short_decimal),
            log: (log_at, log),
            voxels: (voxels_at, voxels),
            end: voxels_at.saturating_add(voxels).saturating_add(rest),
            version_3,
        })
    }
}

/// The decimal number of seven digits that a single-precision number stands for: 0.082, not 0.08200000226497650.
fn short_decimal(x: f64) -> f64 {
    format!("{}", x as f32).parse().unwrap_or(x)
}

/// Opens an AIM file.
pub(super) fn open(path: &Path, mut file: Input) -> Result<Opened, Problem> {
    let s = Structure::read(&file)?;
    let (sample, encoding) = match s.kind {
        0x0001_0001 | RUNS_OF_TWO | RUNS | BITS => (SampleType::Int8, Encoding::Little),
        0x0016_0001 | 0x000d_0001 => (SampleType::Uint8, Encoding::Little),
        0x0002_0002 => (SampleType::Int16, Encoding::Little),
        0x0017_0002 => (SampleType::Uint16, Encoding::Little),
        0x0003_0004 => (SampleType::Int32, Encoding::Little),
        0x0004_0004 => (SampleType::Float32, Encoding::Vax),
        0x001a_0004 => (SampleType::Float32, Encoding::Little),
        kind => return Err(format!("AIM voxels of type {kind:#010x} are not read").into()),
    };
    let is_runs = matches!(s.kind, RUNS_OF_TWO | RUNS);
    // Run lengths leave out a border of `offset` voxels on each side; it is void.
    let border = if is_runs { s.offset } else { [0; 3] };
    let mut size = [0; 3];
    for (axis, n) in size.iter_mut().enumerate() {
        let inner =
            border[axis].checked_mul(2).and_then(|two| s.dim[axis].checked_sub(two)).filter(|_| border[axis] >= 0);
        *n = inner.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    }
    let mut header = Header::new(Format::Aim, size, sample);
    let (_, bytes) = header.bytes()?;
    header.set_edges(&s.spacing);
    if header.spacing.is_some() {
        header.origin = Some([0, 1, 2].map(|i| (s.position[i] + border[i]) as f64 * s.spacing[i]));
    }
    if border != [0; 3] {
        header.notes.push(format!(
            "the file has a border of {border:?} void voxels on each side, which it does not store: left out"
        ));
    } else if s.offset != [0; 3] {
        header.notes.push(format!("the file has a border of {:?} voxels on each side: kept", s.offset));
    }
    header.calibration = calibration(&mut file, s.log)?;
    let behind = expect_bytes(&file, s.voxels.0, s.voxels.1)?;
    let rest = behind.saturating_sub(s.end - s.voxels.0 - s.voxels.1);
    if rest >= BLOCK {
        header.warnings.push(format!("{rest} bytes follow what the header names and are not read: is it one file?"));
    }
    if s.kind == BITS {
        let source = Bits::new(file, s.voxels, size)?;
        return Ok(Opened::new(header, encoding, source));
    }
    if !is_runs {
        if s.voxels.1 != bytes {
            header.warnings.push(format!(
                "the header says that the voxels take {} bytes, but by their sizes they take {bytes}",
                s.voxels.1
            ));
        }
        // Other data may follow the voxels.
        return Opened::flat_before(header, encoding, file, s.voxels.0, u64::MAX);
    }
    if bytes > s.voxels.1.saturating_mul(255) {
        let packed = s.voxels.1;
        let message = format!("the header claims {bytes} voxels, more than {packed} bytes of run lengths can hold");
        return Err(message.into());
    }
    let Structure { kind, version_3, voxels, .. } = s;
    let runs = reopen(path.to_owned(), voxels, move |packed| Runs::new(packed, kind == RUNS_OF_TWO, version_3));
    let stream = Stream::new(&header, runs, 0)?;
    Ok(Opened::new(header, encoding, stream))
}

/// Looks for the calibration in the processing log.
fn calibration(file: &mut Input, (at, length): (u64, u64)) -> Result<ScancoCalibration, String> {
    let mut log = Vec::new();
    file.seek(SeekFrom::Start(at))
        .and_then(|_| file.by_ref().take(length.min(LONGEST_LOG)).read_to_end(&mut log))
        .map_err(|error| format!("cannot read the processing log: {error}"))?;
    let log = String::from_utf8_lossy(&log);
    let value =
        |key: &str| log.lines().find_map(|line| line.strip_prefix(key)).map(str::trim).filter(|v| !v.is_empty());
    let number = |key: &str| value(key).and_then(|text| text.parse::<f64>().ok()).filter(|x| x.is_finite());
    Ok(ScancoCalibration {
        mu_scaling: number("Mu_Scaling").filter(|&scaling| scaling > 0.0),
        density_slope: number("Density: slope").filter(|&slope| slope != 0.0),
        density_intercept: number("Density: intercept"),
        density_unit: value("Density: unit").map(str::to_owned),
        mu_water: number("HU: mu water").filter(|&water| water > 0.0),
    })
}

/// Unpacks run lengths: pairs of a value and a length, or lengths only, of two values in turn, where 255 stands for 254
/// voxels that the next length goes on from.
struct Runs<R> {
    packed: R,
    /// The two values of a binary image.
    values: Option<[u8; 2]>,
    which: usize,
    value: u8,
    left: u8,
}

impl<R: Read> Runs<R> {
    fn new(mut packed: R, binary: bool, version_3: bool) -> io::Result<Self> {
        // The length of the packed voxels, said once more.
        let mut length = [0; 8];
        packed.read_exact(&mut length[..if version_3 { 8 } else { 4 }])?;
        let mut values = [0; 2];
        if binary {
            packed.read_exact(&mut values)?;
        }
        Ok(Self { packed, values: binary.then_some(values), which: 0, value: values[0], left: 0 })
    }
}

impl<R: Read> Read for Runs<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            if self.left == 0 {
                match self.values {
                    Some(values) => {
                        let mut length = [0];
                        if self.packed.read(&mut length)? == 0 {
                            break;
                        }
                        self.value = values[self.which];
                        self.left = length[0].min(254);
                        if length[0] != 255 {
                            self.which = 1 - self.which;
                        }
                    }
                    None => {
                        let mut run = [0; 2];
                        if self.packed.read(&mut run[..1])? == 0 {
                            break;
                        }
                        self.packed.read_exact(&mut run[1..])?;
                        (self.value, self.left) = (run[0], run[1]);
                    }
                }
            }
            let n = usize::from(self.left).min(out.len() - done);
            out[done..done + n].fill(self.value);
            self.left -= n as u8;
            done += n;
        }
        Ok(done)
    }
}

/// Unpacks bytes of 2 × 2 × 2 voxels; the byte after the last is the value of a set bit.
struct Bits {
    file: Input,
    at: u64,
    size: [usize; 3],
    value: u8,
    packed: Vec<u8>,
}

impl Bits {
    fn new(file: Input, (at, length): (u64, u64), size: [usize; 3]) -> Result<Self, String> {
        let halves = size.map(|n| n.div_ceil(2) as u64);
        let bytes = halves[0] * halves[1] * halves[2];
        if length < bytes + 1 {
            return Err(format!("the header claims {bytes} bytes of packed voxels, the file holds {length}"));
        }
        let mut value = [0];
        file.read_exact_at(&mut value, at + bytes).map_err(|error| format!("cannot read the voxels: {error}"))?;
        let layer = usize::try_from(halves[0] * halves[1]).map_err(|_| "a layer is too large".to_owned())?;
        let value = if value[0] == 0 { 127 } else { value[0] };
        Ok(Self { file, at, size, value, packed: vec![0; layer] })
    }
}

impl Source for Bits {
    fn read(&mut self, first: usize, out: &mut [u8]) -> Result<(), String> {
        let [nx, ny, _] = self.size;
        let row = nx.div_ceil(2);
        let mut there = None;
        for (k, layer) in out.chunks_exact_mut(nx * ny).enumerate() {
            let k = first + k;
            if there != Some(k / 2) {
                let at = self.at + (k / 2) as u64 * self.packed.len() as u64;
                let read = self.file.read_exact_at(&mut self.packed, at);
                read.map_err(|error| format!("cannot read layer {k}: {error}"))?;
                there = Some(k / 2);
            }
            for (j, voxels) in layer.chunks_exact_mut(nx).enumerate() {
                let bytes = &self.packed[j / 2 * row..];
                let bit = k % 2 * 4 + j % 2 * 2;
                for (i, voxel) in voxels.iter_mut().enumerate() {
                    *voxel = if bytes[i / 2] >> (bit + i % 2) & 1 == 1 { self.value } else { 0 };
                }
            }
        }
        Ok(())
    }
}

//! Text headers.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::Problem;
use super::sample::{Endian, SampleType};

/// More than any sensible text header.
const LONGEST: u64 = 1 << 20;

/// Lines of a text header that starts a file, up to and without the line that `is_last` names, with their numbers; then the
/// number of bytes they took. Not UTF-8 is read as Latin-1.
pub(super) fn header_lines(
    reader: impl BufRead,
    mut is_last: impl FnMut(&str) -> bool,
) -> Result<(Vec<(usize, String)>, u64), Problem> {
    let mut reader = reader.take(LONGEST);
    let (mut lines, mut bytes) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line).map_err(|error| format!("cannot read the header: {error}"))?;
        bytes += read as u64;
        if read == 0 {
            if bytes >= LONGEST {
                return Err("the header does not end within a megabyte: this file is damaged".into());
            }
            return Ok((lines, bytes));
        }
        let text = match std::str::from_utf8(&line) {
            Ok(text) => text.to_owned(),
            Err(_) => line.iter().map(|&byte| char::from(byte)).collect(),
        };
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        let last = is_last(&text);
        lines.push((lines.len() + 1, text));
        if last {
            return Ok((lines, bytes));
        }
    }
}

/// Numbers between blanks.
pub(super) fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Whether the directions of the axes are at right angles, to a tenth of a degree or so.
pub(super) fn are_at_right_angles(directions: &[Vec<f64>]) -> bool {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let is_right = |a: &[f64], b: &[f64]| dot(a, b).abs() <= 2e-3 * (dot(a, a) * dot(b, b)).sqrt();
    directions.iter().enumerate().all(|(at, a)| directions[..at].iter().all(|b| is_right(a, b)))
}

/// What to say of axes that are not.
pub(super) const SLANTED: &str =
    "the header's axes are not at right angles, so that voxels are no cubes: bring the stack to a straight grid first";

/// What to say of axes that are at right angles, but run otherwise than x, y and z.
pub(super) const TURNED: &str =
    "the header's axes are turned against x, y and z: voxels are kept in the order of the file";

/// A data file that a header names, relative to the header.
pub(super) fn beside(header: &Path, name: &str) -> PathBuf {
    header.parent().unwrap_or(Path::new("")).join(name)
}

/// Sample types as NRRD and C call them.
pub(super) fn sample_type(name: &str) -> Option<SampleType> {
    Some(match name.split_whitespace().collect::<Vec<_>>().join(" ").as_str() {
        "signed char" | "int8" | "int8_t" => SampleType::Int8,
        "uchar" | "unsigned char" | "uint8" | "uint8_t" => SampleType::Uint8,
        "short" | "short int" | "signed short" | "signed short int" | "int16" | "int16_t" => SampleType::Int16,
        "ushort" | "unsigned short" | "unsigned short int" | "uint16" | "uint16_t" => SampleType::Uint16,
        "int" | "signed int" | "int32" | "int32_t" => SampleType::Int32,
        "uint" | "unsigned int" | "uint32" | "uint32_t" => SampleType::Uint32,
        "longlong"
        | "long long"
        | "long long int"
        | "signed long long"
        | "signed long long int"
        | "int64"
        | "int64_t" => SampleType::Int64,
        "ulonglong" | "unsigned long long" | "unsigned long long int" | "uint64" | "uint64_t" => SampleType::Uint64,
        "float" => SampleType::Float32,
        "double" => SampleType::Float64,
        _ => return None,
    })
}

/// `little` or `big`.
pub(super) fn endian(name: &str) -> Option<Endian> {
    match name {
        "little" => Some(Endian::Little),
        "big" => Some(Endian::Big),
        _ => None,
    }
}

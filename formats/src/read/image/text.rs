//! Text headers.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::sample::SampleType;
use super::source::too_short;
use super::{Header, Problem};

/// Most bytes of a text header.
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

/// The fields of a text header by name, each with its line and value.
pub(super) struct Fields {
    format: &'static str,
    fields: HashMap<String, (usize, String)>,
}

impl Fields {
    /// Splits lines of the form `form` at their first separator; `fold` makes names that mean the same equal.
    pub(super) fn new<'a>(
        format: &'static str,
        lines: impl Iterator<Item = &'a (usize, String)>,
        (separator, form): (char, &str),
        fold: fn(&str) -> String,
    ) -> Result<Self, Problem> {
        let field = |(number, line): &(usize, String)| {
            let (name, value) = line
                .split_once(separator)
                .ok_or_else(|| Problem::at(*number, format!("expected \"{form}\", found \"{}\"", line.trim())))?;
            Ok((fold(name.trim()), (*number, value.trim().to_owned())))
        };
        Ok(Self { format, fields: lines.map(field).collect::<Result<_, Problem>>()? })
    }

    /// The field under the first of these names that is there.
    pub(super) fn get(&self, names: &[&str]) -> Option<(usize, &str)> {
        names.iter().find_map(|name| self.fields.get(*name)).map(|(line, value)| (*line, value.as_str()))
    }

    pub(super) fn needed(&self, name: &str) -> Result<(usize, &str), Problem> {
        self.get(&[name]).ok_or_else(|| format!("the {} header has no \"{name}\"", self.format).into())
    }

    /// A whole number; 0 when absent.
    pub(super) fn integer(&self, names: &[&str]) -> Result<i64, Problem> {
        let Some((line, value)) = self.get(names) else { return Ok(0) };
        let wrong = |_| Problem::at(line, format!("\"{}\" must be a whole number, not \"{value}\"", names[0]));
        value.parse().map_err(wrong)
    }

    /// Voxels along the axes, with their line.
    pub(super) fn sizes(&self, name: &str) -> Result<(usize, Vec<usize>), Problem> {
        let (line, text) = self.needed(name)?;
        let sizes = numbers(text);
        Ok((line, sizes.ok_or_else(|| Problem::at(line, format!("{name} \"{text}\" are no whole numbers")))?))
    }

    /// A length for each axis.
    pub(super) fn lengths(&self, names: &[&str], n_axes: usize) -> Result<Option<Vec<f64>>, Problem> {
        let Some((line, text)) = self.get(names) else { return Ok(None) };
        match numbers(text) {
            Some(lengths) if lengths.len() == n_axes => Ok(Some(lengths)),
            _ => Err(Problem::at(line, format!("{} \"{text}\" is not a number for each axis", names[0]))),
        }
    }
}

/// Numbers between blanks.
pub(super) fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Where the `bytes` bytes of samples that are not packed begin in a file of `length` bytes: `skip` bytes behind `start`, or,
/// where `skip` is −1, so that the last sample ends the file.
pub(super) fn raw_offset(key: &str, skip: i64, start: u64, length: u64, bytes: u64) -> Result<u64, String> {
    match u64::try_from(skip) {
        Ok(skip) => Ok(start.saturating_add(skip)),
        Err(_) if skip == -1 => {
            let offset = length.checked_sub(bytes).filter(|&offset| offset >= start);
            offset.ok_or_else(|| too_short(bytes, length.saturating_sub(start)))
        }
        Err(_) => Err(format!("\"{key}\" must be -1 or more")),
    }
}

/// As [`raw_offset`] for the one data file of a header. Adds a warning where as much is skipped as is read: then more than a
/// header stands before the voxels.
pub(super) fn raw_place(key: &str, skip: i64, start: u64, length: u64, header: &mut Header) -> Result<u64, String> {
    let (_, bytes) = header.bytes()?;
    let offset = raw_offset(key, skip, start, length, bytes)?;
    let skipped = offset - start;
    if skip == -1 && skipped >= bytes {
        let warning = format!(
            "by {key} = -1, {skipped} bytes before the voxels are skipped, which have {bytes}: are these the right sizes?"
        );
        header.warnings.push(warning);
    }
    Ok(offset)
}

/// Whether the directions of the axes are at right angles, to a tenth of a degree or so.
pub(super) fn are_at_right_angles(directions: &[Vec<f64>]) -> bool {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let is_right = |a: &[f64], b: &[f64]| dot(a, b).abs() <= 2e-3 * (dot(a, a) * dot(b, b)).sqrt();
    directions.iter().enumerate().all(|(at, a)| directions[..at].iter().all(|b| is_right(a, b)))
}

/// The error for axes that are not at right angles.
pub(super) const SLANTED: &str =
    "the header's axes are not at right angles, so that voxels are no cubes: bring the stack to a straight grid first";

/// The note on axes that are at right angles but do not run along x, y and z.
pub(super) const TURNED: &str =
    "the header's axes are turned against x, y and z: voxels are kept in the order of the file";

/// The data file that a header names, relative to the header.
pub(super) fn beside(header: &Path, (line, name): (usize, &str)) -> Result<PathBuf, Problem> {
    if name.starts_with("LIST") || name.contains('%') {
        let message = "an NRRD header with several data files is not read: write one file, with `unu save`";
        return Err(Problem::at(line, message));
    }
    Ok(header.parent().unwrap_or(Path::new("")).join(name))
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

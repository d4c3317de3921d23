//! `traces.mat`: traces for MATLAB, GNU Octave and SciPy, as a MAT-file of level 5 ("MAT-File Format", The MathWorks).
//!
//! The first group of traces is `time` (n × 1), `names` (1 × m, a cell array of texts) and `values` (n × m); the n-th is
//! `time_<n>`, `names_<n>`, `values_<n>`. A variable of this level has less than 2 GiB.

use std::io::{self, Write};
use std::path::Path;

use super::traces::{TraceGroup, Traces};
use super::{OutputError, write_atomically};

/// Types of data in the file.
const INT8: u32 = 1;
const UINT16: u32 = 4;
const INT32: u32 = 5;
const UINT32: u32 = 6;
const DOUBLE: u32 = 9;
const MATRIX: u32 = 14;
/// Classes of arrays.
const CELL: u32 = 1;
const CHARACTERS: u32 = 4;
const DOUBLES: u32 = 6;
/// Bytes of a tag.
const TAG: u64 = 8;
/// Bytes that no variable has.
const LIMIT: u64 = 1 << 31;

/// Checks that a group of traces fits into the file.
///
/// # Errors
/// [`OutputError::Shape`] where its values have 2 GiB or more.
pub fn check_size(path: &Path, n_rows: usize, n_columns: usize) -> Result<(), OutputError> {
    let bytes = (n_rows as u64).saturating_mul(n_columns as u64).saturating_mul(8);
    // Flags, dimensions and name have less than 1000 bytes.
    if bytes < LIMIT - 1000 {
        return Ok(());
    }
    let what = format!(
        "{n_rows} rows of {n_columns} traces are more than the 2 GiB that a variable of a .mat file can have; use traces.npz, or ask \
         for fewer nodes or a longer interval"
    );
    Err(OutputError::shape(path, what))
}

/// Writes all groups of traces.
///
/// # Errors
/// [`OutputError::Io`]; [`OutputError::Shape`] where a group is too large, or has not one value a column and row.
pub fn write_traces(path: &Path, traces: &Traces) -> Result<(), OutputError> {
    for group in &traces.groups {
        group.check(path)?;
        check_size(path, group.times.len(), group.columns.len())?;
    }
    write_atomically(path, |out| {
        let text = format!("MATLAB 5.0 MAT-file, Pogo {}", crate::VERSION);
        write!(out, "{text:<116.116}")?;
        // No data of subsystems, then the version and the mark of little-endian files.
        out.write_all(&[0; 8])?;
        out.write_all(&[0x00, 0x01, b'I', b'M'])?;
        for (index, group) in traces.groups.iter().enumerate() {
            let name = |name: &str| if index == 0 { name.to_owned() } else { format!("{name}_{}", index + 1) };
            write_group(out, group, name)?;
        }
        Ok(())
    })
}

fn write_group(out: &mut impl Write, group: &TraceGroup, name: impl Fn(&str) -> String) -> io::Result<()> {
    let (n, m) = (group.times.len(), group.columns.len());
    doubles(out, &name("time"), [n, 1], group.times.iter().copied())?;
    let names: Vec<Vec<u16>> = group.columns.iter().map(|column| column.name.encode_utf16().collect()).collect();
    let text_bytes = |text: &Vec<u16>| array_bytes("", padded(2 * text.len() as u64));
    let content: u64 = names.iter().map(|text| TAG + text_bytes(text)).sum();
    let cells = name("names");
    tag(out, MATRIX, array_bytes(&cells, content) - TAG)?;
    array(out, CELL, [1, m], &cells)?;
    for text in &names {
        tag(out, MATRIX, text_bytes(text))?;
        array(out, CHARACTERS, [1, text.len()], "")?;
        tag(out, UINT16, 2 * text.len() as u64)?;
        text.iter().try_for_each(|unit| out.write_all(&unit.to_le_bytes()))?;
        pad(out, 2 * text.len() as u64)?;
    }
    doubles(out, &name("values"), [n, m], (0..m).flat_map(|column| group.column(column)))
}

/// A matrix, whose values come column by column.
fn doubles(out: &mut impl Write, name: &str, size: [usize; 2], values: impl Iterator<Item = f64>) -> io::Result<()> {
    let bytes = 8 * (size[0] * size[1]) as u64;
    tag(out, MATRIX, array_bytes(name, bytes))?;
    array(out, DOUBLES, size, name)?;
    tag(out, DOUBLE, bytes)?;
    let mut values = values;
    values.try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// Class, size and name of an array.
fn array(out: &mut impl Write, class: u32, size: [usize; 2], name: &str) -> io::Result<()> {
    tag(out, UINT32, 8)?;
    out.write_all(&class.to_le_bytes())?;
    out.write_all(&[0; 4])?;
    tag(out, INT32, 8)?;
    size.iter().try_for_each(|&n| out.write_all(&(n as u32).to_le_bytes()))?;
    tag(out, INT8, name.len() as u64)?;
    out.write_all(name.as_bytes())?;
    pad(out, name.len() as u64)
}

/// Bytes of what [`array`] writes, and of content with its tag.
fn array_bytes(name: &str, content: u64) -> u64 {
    (TAG + 8) + (TAG + 8) + (TAG + padded(name.len() as u64)) + (TAG + content)
}

fn tag(out: &mut impl Write, kind: u32, bytes: u64) -> io::Result<()> {
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&(bytes as u32).to_le_bytes())
}

/// Data begin at multiples of 8 bytes.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

fn pad(out: &mut impl Write, bytes: u64) -> io::Result<()> {
    out.write_all(&[0; 8][..(padded(bytes) - bytes) as usize])
}

//! Results in the files of P. Huthwaite's Pogo, which the community's MATLAB loaders read: `.pogo-hist` and `.pogo-field`,
//! both of version 1.07.
//!
//! Little-endian, packed. A header of 20 bytes and two numbers, then sections with a name, a version and a length each. Reals
//! have 8 bytes whatever the precision of the run: the loaders make doubles of all of them, and times keep their digits.
//! docs/pogo-files.md says how the samples lie in time.

mod field;
mod history;

pub use field::FieldFile;
pub use history::{History, Set, Trace, set_names};

use std::io::{self, Write};

/// 1.07: the version that all loaders in circulation read without a warning.
const VERSION: [i32; 2] = [1, 7];
/// Bytes of a real.
const PRECISION: i32 = 8;

/// Text of `n` bytes, cut if need be, with NULs behind it.
fn text(text: &str, n: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    // At least one NUL ends the text.
    bytes.truncate(n - 1);
    bytes.resize(n, 0);
    bytes
}

fn integers(out: &mut (impl Write + ?Sized), values: &[i32]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

fn reals(out: &mut (impl Write + ?Sized), values: impl IntoIterator<Item = f64>) -> io::Result<()> {
    values.into_iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

/// The header of a file, and its empty metadata.
fn begin(out: &mut (impl Write + ?Sized), kind: &str) -> io::Result<()> {
    out.write_all(&text(kind, 20))?;
    integers(out, &VERSION)?;
    section(out, "metadata", 4)?;
    integers(out, &[0])
}

/// The beginning of a section of `bytes`.
fn section(out: &mut (impl Write + ?Sized), name: &str, bytes: u64) -> io::Result<()> {
    out.write_all(&text(name, 40))?;
    integers(out, &[1])?;
    out.write_all(&bytes.to_le_bytes())
}

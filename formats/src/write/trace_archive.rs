//! Reads the archive of a run's traces, `traces.npz`, one trace at a time.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use zip::ZipArchive;

use super::OutputError;
use crate::system::inputs;

/// Bytes of a number.
pub(super) const NUMBER: u64 = 8;

/// Traces that are sampled at the same times.
pub struct Group {
    /// What is behind the names of the entries: nothing, `-2`, `-3`, ….
    pub(super) suffix: String,
    /// Values of a trace.
    pub(super) n_times: u64,
    /// Names of the traces, as the archive has them.
    pub columns: Vec<String>,
}

/// An archive of traces, which [`Traces::write_npz`](super::traces::Traces::write_npz) has written.
pub struct Archive {
    entries: ZipArchive<BufReader<File>>,
    /// Its traces, in the order of the archive.
    pub groups: Vec<Group>,
}

impl Archive {
    /// Opens an archive and reads the names of its traces.
    ///
    /// # Errors
    /// [`OutputError::Io`]: it cannot be read, or is no such archive.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let opened = inputs::open_regular(path).and_then(|file| {
            let mut entries = ZipArchive::new(BufReader::new(file))?;
            let groups = groups(&mut entries)?;
            Ok(Self { entries, groups })
        });
        opened.map_err(OutputError::io(path))
    }

    /// Times, s, and values of a trace; none where there is no trace of that name.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trace(&mut self, name: &str) -> io::Result<Option<(Vec<f64>, Vec<f64>)>> {
        let Some(group) = self.groups.iter().find(|group| group.columns.iter().any(|column| column == name)) else {
            return Ok(None);
        };
        let (time, n) = (format!("time{}", group.suffix), group.n_times);
        let mut numbers = |name: &str| {
            let mut bytes = Vec::new();
            self.copy(name, n, &mut bytes)?;
            let (numbers, _) = bytes.as_chunks::<8>();
            io::Result::Ok(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
        };
        Ok(Some((numbers(&time)?, numbers(name)?)))
    }

    /// Copies the numbers of an entry.
    pub(super) fn copy(&mut self, name: &str, n: u64, out: &mut impl Write) -> io::Result<()> {
        let mut entry = self.entries.by_name(&format!("{name}.npy"))?;
        skip_header(&mut entry)?;
        match io::copy(&mut entry, out)? == n * NUMBER {
            true => Ok(()),
            false => Err(io::Error::other(format!("the trace {name} does not have {n} values"))),
        }
    }
}

/// The groups of an archive of traces: a `time` begins each.
fn groups(entries: &mut ZipArchive<BufReader<File>>) -> io::Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for index in 0..entries.len() {
        let mut entry = entries.by_index(index)?;
        let name = entry.name()?.trim_end_matches(".npy").to_owned();
        let next = if groups.is_empty() { String::new() } else { format!("-{}", groups.len() + 1) };
        if name == format!("time{next}") {
            let header = skip_header(&mut entry)?;
            let n_times = entry.size().saturating_sub(header) / NUMBER;
            groups.push(Group { suffix: next, n_times, columns: Vec::new() });
        } else if let Some(group) = groups.last_mut() {
            group.columns.push(name);
        }
    }
    Ok(groups)
}

/// Reads over the header of an array; returns its bytes.
fn skip_header(array: &mut impl Read) -> io::Result<u64> {
    let mut start = [0; 10];
    array.read_exact(&mut start)?;
    let length = u64::from(u16::from_le_bytes([start[8], start[9]]));
    io::copy(&mut array.take(length), &mut io::sink())?;
    Ok(10 + length)
}

//! The traces of all shots of a model as one archive, `shots.npz`.
//!
//! | entry | what it holds |
//! |---|---|
//! | `shots` | names of the shots, in the order of the model |
//! | `columns` | names of the traces |
//! | `time` | s, (n_times,) |
//! | `traces` | float64, (n_shots, n_columns, n_times); NaN where a shot has no traces |
//!
//! Traces that are sampled at other times are a further group, whose entries have `-2`, `-3`, … behind their names, as in
//! `traces.npz`. The archive is put together from those of the shots, whose entries hold a trace each, without any of them in
//! memory as a whole.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use zip::{ZipArchive, ZipWriter};

use super::OutputError;
use super::npy::{start_entry, write_archive, write_header};

/// Bytes of a number.
const NUMBER: u64 = 8;

/// The traces of one shot.
type Archive = ZipArchive<BufReader<File>>;

/// Traces that are sampled at the same times.
struct Group {
    /// What is behind the names of the entries: nothing, `-2`, `-3`, ….
    suffix: String,
    /// Values of a trace.
    n_times: u64,
    columns: Vec<String>,
}

/// Writes the archive of all shots: their names with the files of their traces, none where a shot has none. Without any
/// traces nothing is written, and false returned.
///
/// # Errors
/// [`OutputError::Io`]; [`OutputError::Shape`] when two shots have other traces.
pub fn write_npz(path: &Path, shots: &[(String, Option<PathBuf>)]) -> Result<bool, OutputError> {
    let Some((_, Some(model))) = shots.iter().find(|(_, file)| file.is_some()) else { return Ok(false) };
    let groups = groups(&mut open(model)?).map_err(OutputError::io(model))?;
    for (_, file) in shots {
        let Some(file) = file else { continue };
        let found = self::groups(&mut open(file)?).map_err(OutputError::io(file))?;
        let same = |(a, b): (&Group, &Group)| a.columns == b.columns && a.n_times == b.n_times;
        if found.len() != groups.len() || !found.iter().zip(&groups).all(same) {
            return Err(OutputError::shape(file, format!("other traces than {}", model.display())));
        }
    }
    write_archive(path, |archive| {
        write_names(archive, "shots", shots.iter().map(|(name, _)| name.as_str()))?;
        for group in &groups {
            write_group(archive, group, shots, model)?;
        }
        Ok(())
    })?;
    Ok(!groups.is_empty())
}

fn write_group<W: Write + Seek>(
    out: &mut ZipWriter<W>,
    group: &Group,
    shots: &[(String, Option<PathBuf>)],
    model: &Path,
) -> io::Result<()> {
    let Group { suffix, n_times, columns } = group;
    let n = *n_times as usize;
    write_names(out, &format!("columns{suffix}"), columns.iter().map(String::as_str))?;
    let time = format!("time{suffix}");
    start_entry(out, &time, n_times * NUMBER)?;
    write_header(out, "<f8", &[n])?;
    copy(&mut open(model).map_err(io::Error::other)?, &time, *n_times, out)?;
    let shape = [shots.len(), columns.len(), n];
    start_entry(out, &format!("traces{suffix}"), shape.iter().fold(NUMBER, |bytes, &n| bytes * n as u64))?;
    write_header(out, "<f8", &shape)?;
    for (_, file) in shots {
        match file {
            Some(file) => {
                let mut archive = open(file).map_err(io::Error::other)?;
                columns.iter().try_for_each(|column| copy(&mut archive, column, *n_times, out))?;
            }
            None => {
                let missing = f64::NAN.to_le_bytes();
                (0..columns.len() * n).try_for_each(|_| out.write_all(&missing))?;
            }
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<Archive, OutputError> {
    let archive = File::open(path).and_then(|file| Ok(ZipArchive::new(BufReader::new(file))?));
    archive.map_err(OutputError::io(path))
}

/// The groups of an archive of traces: a `time` begins each.
fn groups(archive: &mut Archive) -> io::Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
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

/// Copies the numbers of an array.
fn copy(archive: &mut Archive, name: &str, n: u64, out: &mut impl Write) -> io::Result<()> {
    let mut entry = archive.by_name(&format!("{name}.npy"))?;
    skip_header(&mut entry)?;
    match io::copy(&mut entry, out)? == n * NUMBER {
        true => Ok(()),
        false => Err(io::Error::other(format!("the trace {name} does not have {n} values"))),
    }
}

/// Writes an array of texts, in UTF-32 as NumPy has them.
fn write_names<'a, W: Write + Seek>(
    out: &mut ZipWriter<W>,
    key: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> io::Result<()> {
    let longest = names.clone().map(|name| name.chars().count()).max().unwrap_or(0).max(1);
    let n = names.clone().count();
    start_entry(out, key, (4 * longest * n) as u64)?;
    write_header(out, &format!("<U{longest}"), &[n])?;
    for name in names {
        let padded = name.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
        padded.into_iter().try_for_each(|character| out.write_all(&character.to_le_bytes()))?;
    }
    Ok(())
}

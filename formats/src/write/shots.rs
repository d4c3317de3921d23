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

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use zip::ZipWriter;

use super::OutputError;
use super::npy::{start_entry, write_archive, write_header};
use super::trace_archive::{Archive, Group, NUMBER};

/// Writes the archive of all shots: their names with the files of their traces, none where a shot has none. Without any
/// traces nothing is written, and false returned.
///
/// # Errors
/// [`OutputError::Io`]; [`OutputError::Shape`] when two shots have other traces.
pub fn write_npz(path: &Path, shots: &[(String, Option<PathBuf>)]) -> Result<bool, OutputError> {
    let Some((_, Some(model))) = shots.iter().find(|(_, file)| file.is_some()) else { return Ok(false) };
    let groups = Archive::open(model)?.groups;
    for (_, file) in shots {
        let Some(file) = file else { continue };
        let found = Archive::open(file)?.groups;
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
    Archive::open(model).map_err(io::Error::other)?.copy(&time, *n_times, out)?;
    let shape = [shots.len(), columns.len(), n];
    start_entry(out, &format!("traces{suffix}"), shape.iter().fold(NUMBER, |bytes, &n| bytes * n as u64))?;
    write_header(out, "<f8", &shape)?;
    for (_, file) in shots {
        match file {
            Some(file) => {
                let mut archive = Archive::open(file).map_err(io::Error::other)?;
                columns.iter().try_for_each(|column| archive.copy(column, *n_times, out))?;
            }
            None => {
                let missing = f64::NAN.to_le_bytes();
                (0..columns.len() * n).try_for_each(|_| out.write_all(&missing))?;
            }
        }
    }
    Ok(())
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

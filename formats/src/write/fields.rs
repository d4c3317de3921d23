//! Series of snapshots for ParaView: `.vtu` files and the `.pvd` that lists them with their times, or one
//! VTKHDF file.
//!
//! Every snapshot is written whole before it is listed, so that a run that is killed loses nothing it had written, and
//! needs no memory but a buffer. Models over 4 GiB are no exception. ParaView opens `fields.pvd` or `fields.vtkhdf`; so does
//! every other program that uses VTK.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::grid::Grid;
use super::image_data::{ImageArray, ImageGrid};
use super::{OutputError, image_data, vtkhdf, vtu, write_atomically};
use crate::system::disk::free_bytes;
use crate::system::memory::size;
use crate::words::counted;

/// Kind of files for ParaView.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldFormat {
    /// VTK's XML: a `.vtu` file a snapshot and a `.pvd` file that lists them; `.vti` for voxels.
    #[default]
    Vtu,
    /// VTKHDF: one HDF5 file.
    VtkHdf,
}

impl FieldFormat {
    /// Writes a grid that is no snapshot of a series.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write(self, path: &Path, grid: &Grid<'_>) -> Result<(), OutputError> {
        match self {
            Self::Vtu => vtu::write(path, grid),
            Self::VtkHdf => vtkhdf::write(path, grid),
        }
    }

    /// Writes arrays on voxels; see [`image_data::write_vti`].
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write_image(
        self,
        path: &Path,
        grid: &ImageGrid,
        arrays: &[ImageArray],
        fill: impl FnMut(usize, Range<usize>, &mut [f32]),
    ) -> Result<(), OutputError> {
        match self {
            Self::Vtu => image_data::write_vti(path, grid, arrays, fill),
            Self::VtkHdf => vtkhdf::write_image(path, grid, arrays, fill),
        }
    }
}

/// Snapshots of one request: `<name>.pvd` in a folder and its files in `<name>/`, or `<name>.vtkhdf`.
#[derive(Debug, Clone)]
pub struct FieldSeries {
    folder: PathBuf,
    name: String,
    /// Snapshots of the whole run.
    expected: u64,
    snapshots: Snapshots,
}

#[derive(Debug, Clone)]
enum Snapshots {
    /// (step, time) of those written.
    Vtu(Vec<(u64, f64)>),
    VtkHdf(vtkhdf::Series),
}

impl FieldSeries {
    /// Starts a series of `expected` snapshots and removes the files of an earlier run's.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn create(folder: &Path, name: &str, format: FieldFormat, expected: u64) -> Result<Self, OutputError> {
        let snapshots = match format {
            FieldFormat::Vtu => Snapshots::Vtu(Vec::new()),
            FieldFormat::VtkHdf => Snapshots::VtkHdf(vtkhdf::Series::new(expected)),
        };
        let series = Self { folder: folder.into(), name: name.into(), expected, snapshots };
        series.remove()?;
        series.make_folder()?;
        Ok(series)
    }

    fn remove(&self) -> Result<(), OutputError> {
        for (step, _) in self.listed()? {
            remove(&self.vtu(step))?;
        }
        [FieldFormat::Vtu, FieldFormat::VtkHdf].iter().try_for_each(|&format| remove(&self.file(format)))?;
        // Nothing if the folder is not empty, or not there.
        drop(fs::remove_dir(self.folder.join(&self.name)));
        Ok(())
    }

    /// Continues the series of an earlier run after the snapshots up to `step`; later ones will be written again.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Damaged`] when that series has another format or is damaged.
    pub fn resume(
        folder: &Path,
        name: &str,
        format: FieldFormat,
        expected: u64,
        step: u64,
    ) -> Result<Self, OutputError> {
        let snapshots = Snapshots::Vtu(Vec::new());
        let mut series = Self { folder: folder.into(), name: name.into(), expected, snapshots };
        let (other, option) = match format {
            FieldFormat::Vtu => (FieldFormat::VtkHdf, "vtkhdf"),
            FieldFormat::VtkHdf => (FieldFormat::Vtu, "vtu"),
        };
        let (path, other) = (series.file(format), series.file(other));
        if other.exists() && !path.exists() {
            let what = format!(
                "the run that is to go on wrote this series: go on with --field-format {option}, or write elsewhere with -o"
            );
            return Err(OutputError::damaged(&other, what));
        }
        series.snapshots = match format {
            FieldFormat::Vtu => {
                Snapshots::Vtu(series.listed()?.into_iter().filter(|&(listed, _)| listed <= step).collect())
            }
            FieldFormat::VtkHdf if path.exists() => Snapshots::VtkHdf(vtkhdf::Series::resume(&path, step, expected)?),
            FieldFormat::VtkHdf => Snapshots::VtkHdf(vtkhdf::Series::new(expected)),
        };
        series.make_folder()?;
        Ok(series)
    }

    fn make_folder(&self) -> Result<(), OutputError> {
        let folder = match self.snapshots {
            Snapshots::Vtu(_) => self.folder.join(&self.name),
            Snapshots::VtkHdf(_) => self.folder.clone(),
        };
        fs::create_dir_all(&folder).map_err(OutputError::io(&folder))
    }

    fn file(&self, format: FieldFormat) -> PathBuf {
        let extension = match format {
            FieldFormat::Vtu => "pvd",
            FieldFormat::VtkHdf => "vtkhdf",
        };
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// `<name>.pvd` or `<name>.vtkhdf`, the file to open.
    pub fn path(&self) -> PathBuf {
        self.file(match self.snapshots {
            Snapshots::Vtu(_) => FieldFormat::Vtu,
            Snapshots::VtkHdf(_) => FieldFormat::VtkHdf,
        })
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        match &self.snapshots {
            Snapshots::Vtu(snapshots) => snapshots.len(),
            Snapshots::VtkHdf(series) => series.len(),
        }
    }

    /// No snapshot yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the snapshot of a step and lists it. Steps ascend; the last one is not written again.
    ///
    /// # Errors
    /// [`OutputError::Io`]; [`OutputError::Room`] where the snapshots to come do not fit beside this one.
    pub fn write(&mut self, step: u64, time: f64, grid: &Grid<'_>) -> Result<(), OutputError> {
        let before = length(&self.path());
        self.add(step, time, grid)?;
        let bytes = match &self.snapshots {
            Snapshots::Vtu(_) => length(&self.vtu(step)),
            // The first one brings the mesh with it.
            Snapshots::VtkHdf(series) if series.len() < 2 => return Ok(()),
            Snapshots::VtkHdf(_) => length(&self.path()).saturating_sub(before),
        };
        free_bytes(&self.folder).map_or(Ok(()), |free| self.check_room(bytes, free))
    }

    /// Whether all snapshots to come fit into what is free, if each is as large as this one.
    fn check_room(&self, bytes: u64, free: u64) -> Result<(), OutputError> {
        let left = self.expected.saturating_sub(self.len() as u64);
        let needed = left.saturating_mul(bytes);
        if needed <= free {
            return Ok(());
        }
        let (left, needed, free) = (counted(left as usize, "snapshot"), size(needed as f64), size(free as f64));
        let what = format!(
            "{left} to come need {needed}, and {free} are free here: ask for fewer snapshots, for none with --no-fields, or \
             for another folder with -o"
        );
        Err(OutputError::Room { path: self.path(), what })
    }

    fn add(&mut self, step: u64, time: f64, grid: &Grid<'_>) -> Result<(), OutputError> {
        let (path, file) = (self.path(), self.vtu(step));
        let snapshots = match &mut self.snapshots {
            Snapshots::VtkHdf(series) if series.last_step().is_some_and(|last| last >= step) => return Ok(()),
            Snapshots::VtkHdf(series) => return series.write(&path, step, time, grid),
            Snapshots::Vtu(snapshots) => snapshots,
        };
        // The folder may have gone with the files of an earlier run.
        let of_snapshots = self.folder.join(&self.name);
        fs::create_dir_all(&of_snapshots).map_err(OutputError::io(&of_snapshots))?;
        vtu::write(&file, grid)?;
        snapshots.retain(|&(listed, _)| listed < step);
        snapshots.push((step, time));
        write_atomically(&path, |out| {
            writeln!(out, "<?xml version=\"1.0\"?>")?;
            writeln!(out, "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>")?;
            for (step, time) in snapshots {
                let file = escape(&format!("{}/{}", self.name, file_name(*step)));
                writeln!(out, "<DataSet timestep=\"{time:?}\" part=\"0\" file=\"{file}\"/>")?;
            }
            writeln!(out, "</Collection>\n</VTKFile>")
        })
    }

    fn vtu(&self, step: u64) -> PathBuf {
        self.folder.join(&self.name).join(file_name(step))
    }

    /// Steps and times in the `.pvd` on disk; lines that are not ours are passed over.
    fn listed(&self) -> Result<Vec<(u64, f64)>, OutputError> {
        let path = self.file(FieldFormat::Vtu);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(OutputError::io(&path)(error)),
        };
        let entry = |line: &str| {
            let time = attribute(line, "timestep")?.parse().ok()?;
            let file = Path::new(attribute(line, "file")?);
            let step = file.file_stem()?.to_str()?.parse().ok()?;
            Some((step, time))
        };
        Ok(text.lines().filter_map(entry).collect())
    }
}

/// Removes the snapshots of an earlier run: `<name>.pvd` with the files that it lists, or `<name>.vtkhdf`.
///
/// # Errors
/// [`OutputError::Io`].
pub fn remove_series(folder: &Path, name: &str) -> Result<(), OutputError> {
    let snapshots = Snapshots::Vtu(Vec::new());
    FieldSeries { folder: folder.into(), name: name.into(), expected: 0, snapshots }.remove()
}

/// Bytes of a file; 0 where there is none.
fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

fn file_name(step: u64) -> String {
    format!("{step:09}.vtu")
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

fn remove(path: &Path) -> Result<(), OutputError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OutputError::io(path)(error)),
        _ => Ok(()),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;

//! VTKHDF files: a grid, voxels, or a whole series of snapshots in one HDF5 file, for ParaView, VTK, h5py and MATLAB.
//!
//! Names, numbers and types are those of the `.vtu` and `.vti` files. In a series, what stays the same is written once: the
//! `Steps` group says for each snapshot where its points, cells and arrays begin ("VTKHDF file format", version 2.6, of the
//! VTK documentation). Snapshots are added at the end of the file, and a file that is being written, or whose run was
//! killed, holds all that are done (`hdf5.rs`).
//!
//! VTKHDF has no names of components: `components` says them beside each array. `FieldData/TimeValue` and
//! `FieldData/step` are time and step of the snapshots.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use super::grid::{Fill, Grid, GridArray, Lasting, Number};
use super::hdf5::{Attribute, Hdf5, Out};
use super::image_data::{ImageArray, ImageGrid};
use super::{OutputError, advice, write_atomically};

const ROOT: &str = "VTKHDF";
/// Of a step: where its part of the mesh begins, as rows of `Points`, cells, corners.
const PLACES: [&str; 4] = ["PartOffsets", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"];
/// Of a step: the number of its cells, [`Grid::cells_id`].
const CELLS: &str = "CellsId";

fn start(kind: &str) -> Hdf5 {
    let mut file = Hdf5::new();
    file.set(ROOT, "Type", Attribute::Text(kind.into()));
    file.set(ROOT, "Version", Attribute::Integers(vec![2, 6]));
    file
}

fn in_root(path: &str) -> String {
    format!("{ROOT}/{path}")
}

/// Where an array lies, with what it says of itself.
fn describe(file: &mut Hdf5, group: &str, array: &GridArray<'_>, active: Option<&str>) -> String {
    let path = in_root(&format!("{group}/{}", array.name));
    if !array.component_names.is_empty() {
        file.set(&path, "components", Attribute::Text(array.component_names.join(" ")));
    }
    if let Some(active) = active {
        file.set(&path, "Attribute", Attribute::Text(active.into()));
    }
    path
}

fn width(array: &GridArray<'_>) -> Option<u64> {
    (array.components > 1).then_some(array.components as u64)
}

/// Arrays on points, then on cells: group, its offsets in `Steps`, tuples, array, what VTK shows first.
fn data<'a, 'g>(
    grid: &'g Grid<'a>,
) -> impl Iterator<Item = (&'static str, &'static str, u64, &'g GridArray<'a>, Option<&'static str>)> {
    let of_points = grid.point_data.iter().enumerate().map(|(index, array)| {
        ("PointData", "PointDataOffsets", grid.n_points as u64, array, (index == 0).then_some(grid.active))
    });
    let of_cells = grid.cell_data.iter().map(|array| ("CellData", "CellDataOffsets", grid.n_cells as u64, array, None));
    of_points.chain(of_cells)
}

fn counts(grid: &Grid<'_>) -> [(&'static str, usize); 3] {
    [("NumberOfPoints", grid.n_points), ("NumberOfCells", grid.n_cells), ("NumberOfConnectivityIds", grid.n_corners)]
}

fn write_i64(out: &mut dyn Write, values: &[u64]) -> io::Result<()> {
    out.write_all(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

/// The three tables of the cells: name, type, length, numbers.
type CellTable<'g> = (&'static str, Number, u64, Fill<'g>);

fn cells<'g>(grid: &'g Grid<'_>) -> [CellTable<'g>; 3] {
    let connectivity = move |out: &mut dyn Write| (grid.connectivity)(out, 8);
    let offsets = move |out: &mut dyn Write| {
        write_i64(out, &[0])?;
        (grid.ends)(out, 8)
    };
    let types = move |out: &mut dyn Write| (grid.types)(out, 1);
    [
        ("Connectivity", Number::I64, grid.n_corners as u64, Box::new(connectivity)),
        ("Offsets", Number::I64, grid.n_cells as u64 + 1, Box::new(offsets)),
        ("Types", Number::U8, grid.n_cells as u64, Box::new(types)),
    ]
}

/// Writes one grid.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write(path: &Path, grid: &Grid<'_>) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        let mut file = start("UnstructuredGrid");
        for (name, count) in counts(grid) {
            file.put(out, &in_root(name), Number::I64, &[1], |out| write_i64(out, &[count as u64]))?;
        }
        let n = grid.n_points as u64;
        file.put(out, &in_root("Points"), grid.points.number, &[n, 3], |out| (grid.points.fill)(out))?;
        for (name, number, length, fill) in cells(grid) {
            file.put(out, &in_root(name), number, &[length], fill)?;
        }
        for (group, _, tuples, array, active) in data(grid) {
            let path = describe(&mut file, group, array, active);
            let shape: Vec<u64> = [tuples].into_iter().chain(width(array)).collect();
            file.put(out, &path, array.number, &shape, |out| (array.fill)(out))?;
        }
        file.commit(out)
    })
}

/// Writes voxels: the arrays and `fill` of [`write_vti`](super::image_data::write_vti).
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_image(
    path: &Path,
    grid: &ImageGrid,
    arrays: &[ImageArray],
    mut fill: impl FnMut(usize, Range<usize>, &mut [f32]),
) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        let mut file = start("ImageData");
        let extent = grid.cells.iter().flat_map(|&n| [0, n as i64]).collect();
        file.set(ROOT, "WholeExtent", Attribute::Integers(extent));
        file.set(ROOT, "Origin", Attribute::Reals(grid.origin.to_vec()));
        file.set(ROOT, "Spacing", Attribute::Reals(vec![grid.spacing; 3]));
        let direction = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        file.set(ROOT, "Direction", Attribute::Reals(direction.to_vec()));
        for (index, array) in arrays.iter().enumerate() {
            let group = if array.at_points { "PointData" } else { "CellData" };
            let path = in_root(&format!("{group}/{}", array.name));
            let mut shape: Vec<u64> = array.tuples(grid).iter().rev().map(|&n| n as u64).collect();
            if array.components.len() > 1 {
                shape.push(array.components.len() as u64);
                file.set(&path, "components", Attribute::Text(array.components.join(" ")));
            }
            file.put(out, &path, Number::F32, &shape, |out| grid.write_layers(out, index, array, &mut fill))?;
        }
        file.commit(out)
    })
}

/// A series of snapshots in one file.
#[derive(Debug, Clone)]
pub(super) struct Series {
    file: Hdf5,
    /// Snapshots that will come, as far as is known: so much room is kept together.
    expected: u64,
    /// (step, time) of the snapshots in the file.
    snapshots: Vec<(u64, f64)>,
    /// Rows of the last snapshot in `Steps`, by name: where each array that is in the file begins, which cells it has.
    last: BTreeMap<String, u64>,
}

impl Series {
    /// A series without snapshots, of which `expected` will come.
    pub fn new(expected: u64) -> Self {
        let file = start("UnstructuredGrid");
        Self { file, expected, snapshots: Vec::new(), last: BTreeMap::new() }
    }

    /// The series in a file, less its snapshots after `step`, which the file forgets.
    ///
    /// # Errors
    /// The file cannot be read or written, or is none that a [`Series`] has written.
    pub fn resume(path: &Path, step: u64, expected: u64) -> Result<Self, OutputError> {
        let damaged = |what: String| {
            OutputError::damaged(
                path,
                format!("cannot go on with this series ({what}); move it away, or write elsewhere with -o"),
            )
        };
        let read = || -> Result<(Self, bool), String> {
            let old = hdf5_pure::File::open_streaming(path).map_err(|error| error.to_string())?;
            let column = |name: &str| old.dataset(&in_root(name)).map_err(|error| error.to_string());
            let steps = column("FieldData/step")?.read_i64().map_err(|error| error.to_string())?;
            let times = column("Steps/Values")?.read_f64().map_err(|error| error.to_string())?;
            let mut series = Self { file: Hdf5::open(&old)?, ..Self::new(expected) };
            series.snapshots = steps.iter().map(|&step| step as u64).zip(times).collect();
            let all = series.snapshots.len();
            series.snapshots.retain(|&(written, _)| written <= step);
            let kept = series.snapshots.len();
            if kept == 0 {
                return Ok((Self::new(expected), false));
            }
            // Where the arrays of the last snapshot that stays begin, and how long they are: what follows is forgotten.
            let integers = |path: &str| -> Result<Vec<i64>, String> {
                old.dataset(path).and_then(|table| table.read_i64()).map_err(|error| error.to_string())
            };
            let begins_with = in_root("Steps/");
            for path in series.file.paths() {
                if let Some(name) = path.strip_prefix(&begins_with)
                    && (PLACES.contains(&name) || name == CELLS || name.contains("DataOffsets/"))
                {
                    let begins = integers(&path)?;
                    let &begin = begins.get(kept - 1).ok_or_else(|| format!("{path} ends early"))?;
                    series.last.insert(name.to_owned(), begin as u64);
                }
            }
            let begin = |name: &str| series.last.get(name).copied().ok_or_else(|| format!("Steps/{name} is missing"));
            let part = begin("PartOffsets")?;
            let count = |name: &str| -> Result<u64, String> {
                let counts = integers(&in_root(name))?;
                Ok(*counts.get(part as usize).ok_or_else(|| format!("{name} ends early"))? as u64)
            };
            let [points, cells, corners] = ["NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds"].map(count);
            let (points, cells, corners) = (points?, cells?, corners?);
            let mut lengths = Vec::new();
            for path in series.file.paths() {
                let name = path.strip_prefix(ROOT).unwrap_or_default().trim_start_matches('/');
                let rows = match name.split_once('/') {
                    Some(("PointData", array)) => begin(&format!("PointDataOffsets/{array}"))? + points,
                    Some(("CellData", array)) => begin(&format!("CellDataOffsets/{array}"))? + cells,
                    Some(_) => kept as u64,
                    None => match name {
                        "Points" => begin("PointOffsets")? + points,
                        "Types" => begin("CellOffsets")? + cells,
                        "Offsets" => begin("CellOffsets")? + cells + part + 1,
                        "Connectivity" => begin("ConnectivityIdOffsets")? + corners,
                        _ => part + 1,
                    },
                };
                lengths.push((path, rows));
            }
            lengths.iter().for_each(|(path, rows)| series.file.truncate(path, *rows));
            Ok((series, kept < all))
        };
        let (mut series, shorter) = read().map_err(damaged)?;
        if series.snapshots.is_empty() {
            fs::remove_file(path).map_err(OutputError::io(path))?;
        } else if shorter {
            series.count_steps();
            series.extend(path, |series, out| series.file.commit(out))?;
        }
        Ok(series)
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        self.snapshots.len()
    }

    /// Step of the last one.
    pub fn last_step(&self) -> Option<u64> {
        self.snapshots.last().map(|&(step, _)| step)
    }

    /// Adds a snapshot; one of that step, or later, must not be there.
    ///
    /// # Errors
    /// [`OutputError::Io`]; the file then holds the snapshots before.
    pub fn write(&mut self, path: &Path, step: u64, time: f64, grid: &Grid<'_>) -> Result<(), OutputError> {
        let first = self.snapshots.is_empty();
        let mut next = self.clone();
        next.snapshots.push((step, time));
        if first {
            write_atomically(path, |out| next.add(out, step, time, grid))?;
        } else {
            next.extend(path, |series, out| series.add(out, step, time, grid))?;
        }
        *self = next;
        Ok(())
    }

    /// Writes to the file that is there, which keeps its length if that fails.
    fn extend(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut Self, &mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let open = || OpenOptions::new().read(true).write(true).open(path);
        let before = self.file.size();
        let result = open().and_then(|file| write(self, &mut BufWriter::with_capacity(1 << 18, file)));
        if result.is_err()
            && let Ok(file) = open()
        {
            // The first error is the one to report.
            let _ = file.set_len(before);
        }
        result.map_err(advice).map_err(OutputError::io(path))
    }

    fn count_steps(&mut self) {
        self.file.set(&in_root("Steps"), "NSteps", Attribute::Integers(vec![self.snapshots.len() as i64]));
    }

    fn add(&mut self, out: &mut Out, step: u64, time: f64, grid: &Grid<'_>) -> io::Result<()> {
        let expected = self.expected;
        let first = self.snapshots.len() == 1;
        let cells_changed = self.last.get(CELLS) != Some(&grid.cells_id);
        let due = |lasting: Lasting| match lasting {
            Lasting::Always => first,
            Lasting::WithCells => cells_changed,
            Lasting::No => true,
        };
        let rows = |file: &Hdf5, name: &str| file.rows(&in_root(name)).unwrap_or_default();
        // Cells that last are one table; of others a few are kept together.
        let parts = if grid.cells_id == 0 { 1 } else { expected.min(4) };
        if cells_changed {
            let begins = ["NumberOfPoints", "Types", "Connectivity"].map(|name| rows(&self.file, name));
            for (place, begin) in ["PartOffsets", "CellOffsets", "ConnectivityIdOffsets"].iter().zip(begins) {
                self.last.insert((*place).into(), begin);
            }
            for (name, count) in counts(grid) {
                self.file
                    .append(out, &in_root(name), Number::I64, None, 1, parts, |out| write_i64(out, &[count as u64]))?;
            }
            for (name, number, length, fill) in cells(grid) {
                self.file.append(out, &in_root(name), number, None, length, parts, fill)?;
            }
            self.last.insert(CELLS.into(), grid.cells_id);
        }
        let times = |lasting: Lasting| match lasting {
            Lasting::Always => 1,
            Lasting::WithCells => parts,
            Lasting::No => expected,
        };
        if due(grid.points.lasting) {
            let (n, path) = (grid.n_points as u64, in_root("Points"));
            self.last.insert("PointOffsets".into(), rows(&self.file, "Points"));
            let GridArray { number, lasting, fill, .. } = &grid.points;
            self.file.append(out, &path, *number, Some(3), n, times(*lasting), |out| fill(out))?;
        }
        for (group, offsets, tuples, array, active) in data(grid) {
            if due(array.lasting) {
                let path = describe(&mut self.file, group, array, active);
                self.last.insert(format!("{offsets}/{}", array.name), self.file.rows(&path).unwrap_or_default());
                let (number, width, times) = (array.number, width(array), times(array.lasting));
                self.file.append(out, &path, number, width, tuples, times, |out| (array.fill)(out))?;
            }
        }
        if let Some((name, values)) = grid.names.filter(|_| first) {
            self.file.put_names(out, &in_root(&format!("FieldData/{name}")), values)?;
            self.last.insert(format!("FieldDataOffsets/{name}"), 0);
        }
        let index = self.snapshots.len() as u64 - 1;
        for (name, number, bytes) in
            [("TimeValue", Number::F64, time.to_le_bytes()), ("step", Number::I64, step.to_le_bytes())]
        {
            let path = in_root(&format!("FieldData/{name}"));
            self.file.append(out, &path, number, None, 1, expected, |out| out.write_all(&bytes))?;
            self.last.insert(format!("FieldDataOffsets/{name}"), index);
        }
        let mut column = |file: &mut Hdf5, name: &str, number, width: Option<u64>, values: &[u64]| {
            let fill = |out: &mut dyn Write| write_i64(out, values);
            file.append(out, &in_root(&format!("Steps/{name}")), number, width, 1, expected, fill)
        };
        column(&mut self.file, "Values", Number::F64, None, &[time.to_bits()])?;
        column(&mut self.file, "NumberOfParts", Number::I64, None, &[1])?;
        for (name, &begin) in &self.last {
            column(&mut self.file, name, Number::I64, None, &[begin])?;
            // Components and tuples.
            if let Some(name) = name.strip_prefix("FieldDataOffsets/") {
                let tuples =
                    grid.names.filter(|(names, _)| *names == name).map_or(1, |(_, values)| values.len() as u64);
                column(&mut self.file, &format!("FieldDataSizes/{name}"), Number::I64, Some(2), &[1, tuples])?;
            }
        }
        self.count_steps();
        self.file.commit(out)
    }
}

#[cfg(test)]
mod tests;

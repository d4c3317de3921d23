//! Fields on a regular grid for ParaView: one `.vti` file with raw appended data and 64-bit lengths, or a VTKHDF file.
//!
//! The values are asked for in layers along z, array by array, so that no whole field is ever held in memory.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::{OutputError, write_atomically};

/// A regular grid of cubes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageGrid {
    /// Cells along x, y and z.
    pub cells: [usize; 3],
    /// Position of the lowest point.
    pub origin: [f64; 3],
    /// Edge of a cell.
    pub spacing: f64,
    /// Layers are cut so that this many cells beyond the first cut lie between two cuts …
    pub layer: usize,
    /// … and the first cut lies this many cells above the lowest.
    pub first_layer: usize,
}

/// One array.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ImageArray {
    pub name: &'static str,
    /// Names of the components; one empty name for a scalar.
    pub components: &'static [&'static str],
    /// At points rather than cells.
    pub at_points: bool,
}

impl ImageArray {
    pub(super) fn tuples(&self, grid: &ImageGrid) -> [usize; 3] {
        grid.cells.map(|n| n + usize::from(self.at_points))
    }
}

impl ImageGrid {
    /// Writes the numbers of an array, layer by layer.
    pub(super) fn write_layers(
        &self,
        out: &mut dyn Write,
        index: usize,
        array: &ImageArray,
        fill: &mut impl FnMut(usize, Range<usize>, &mut [f32]),
    ) -> io::Result<()> {
        let [tx, ty, tz] = array.tuples(self);
        let mut values: Vec<f32> = Vec::new();
        let mut first = 0;
        while first < tz {
            let step = if first == 0 { self.first_layer } else { self.layer };
            let last = (first + step.max(1)).min(tz);
            values.clear();
            values.resize(tx * ty * (last - first) * array.components.len(), 0.0);
            fill(index, first..last, &mut values);
            for value in &values {
                out.write_all(&value.to_le_bytes())?;
            }
            first = last;
        }
        Ok(())
    }
}

/// Writes the arrays as 32-bit floats; `fill(array, layers, values)` gives the values of some layers along z, x fastest,
/// components together, in a slice that is zero before.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_vti(
    path: &Path,
    grid: &ImageGrid,
    arrays: &[ImageArray],
    mut fill: impl FnMut(usize, Range<usize>, &mut [f32]),
) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        let [nx, ny, nz] = grid.cells;
        let ([x, y, z], h) = (grid.origin, grid.spacing);
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        let extent = format!("0 {nx} 0 {ny} 0 {nz}");
        writeln!(
            out,
            "<ImageData WholeExtent=\"{extent}\" Origin=\"{x:?} {y:?} {z:?}\" Spacing=\"{h:?} {h:?} {h:?}\">"
        )?;
        writeln!(out, "<Piece Extent=\"{extent}\">")?;
        let bytes = |array: &ImageArray| 4 * array.components.len() * array.tuples(grid).into_iter().product::<usize>();
        let mut offset = 0;
        let mut order = Vec::new();
        for (tag, at_points) in [("PointData", true), ("CellData", false)] {
            writeln!(out, "<{tag}>")?;
            for (index, array) in arrays.iter().enumerate().filter(|(_, array)| array.at_points == at_points) {
                write!(out, "<DataArray type=\"Float32\" Name=\"{}\"", array.name)?;
                if array.components.len() > 1 {
                    write!(out, " NumberOfComponents=\"{}\"", array.components.len())?;
                    for (number, name) in array.components.iter().enumerate() {
                        write!(out, " ComponentName{number}=\"{name}\"")?;
                    }
                }
                writeln!(out, " format=\"appended\" offset=\"{offset}\"/>")?;
                offset += 8 + bytes(array);
                order.push(index);
            }
            writeln!(out, "</{tag}>")?;
        }
        write!(out, "</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_")?;
        for index in order {
            let array = &arrays[index];
            out.write_all(&(bytes(array) as u64).to_le_bytes())?;
            grid.write_layers(out, index, array, &mut fill)?;
        }
        writeln!(out, "\n</AppendedData>\n</VTKFile>")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_each_other_and_offsets_are_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vti");
        let grid = ImageGrid { cells: [2, 1, 9], origin: [0.0; 3], spacing: 0.5, layer: 4, first_layer: 3 };
        let arrays = [
            ImageArray { name: "s", components: &[""], at_points: false },
            ImageArray { name: "u", components: &["X", "Y", "Z"], at_points: true },
        ];
        let mut asked = Vec::new();
        write_vti(&path, &grid, &arrays, |index, layers, values| {
            asked.push((index, layers.clone()));
            values.fill(layers.start as f32);
        })
        .unwrap();
        assert_eq!(asked, [(1, 0..3), (1, 3..7), (1, 7..10), (0, 0..3), (0, 3..7), (0, 7..9)]);
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("WholeExtent=\"0 2 0 1 0 9\""));
        let points = 3 * 2 * 10 * 3 * 4;
        assert!(text.contains(&format!("offset=\"{}\"", 8 + points)));
        let start = bytes.windows(1).position(|w| w == b"_").unwrap();
        let data = bytes.iter().rposition(|&b| b == b'<').unwrap();
        assert!(start < data);
        assert!(bytes.len() > points + 2 * 9 * 4);
    }
}

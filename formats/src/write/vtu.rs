//! One `.vtu` file with a grid, for ParaView and whatever else uses VTK.
//!
//! Raw data with 64-bit lengths follow the XML, so size does not matter.

use std::io::{self, Write};
use std::path::Path;

use super::grid::{Fill, Grid, GridArray, Number};
use super::{OutputError, write_atomically};

const fn name(number: Number) -> &'static str {
    match number {
        Number::F32 => "Float32",
        Number::F64 => "Float64",
        Number::I64 => "Int64",
        Number::U8 => "UInt8",
        Number::U16 => "UInt16",
        Number::U32 => "UInt32",
    }
}

fn declare(out: &mut dyn Write, array: &GridArray<'_>, offset: u64) -> io::Result<()> {
    write!(out, "<DataArray type=\"{}\" Name=\"{}\"", name(array.number), array.name)?;
    if array.components > 1 {
        write!(out, " NumberOfComponents=\"{}\"", array.components)?;
    }
    for (index, name) in array.component_names.iter().enumerate() {
        write!(out, " ComponentName{index}=\"{name}\"")?;
    }
    writeln!(out, " format=\"appended\" offset=\"{offset}\"/>")
}

/// Writes the file.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write(path: &Path, grid: &Grid<'_>) -> Result<(), OutputError> {
    let (points, cells, corners) = (grid.n_points, grid.n_cells, grid.n_corners);
    // VTK has signed cell arrays only.
    let wide = i32::try_from(corners).is_err() || i32::try_from(points).is_err();
    let (index, width) = if wide { ("Int64", 8) } else { ("Int32", 4) };
    let index_bytes = width as u64;
    write_atomically(path, |out| {
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        writeln!(out, "<UnstructuredGrid>")?;
        if grid.time.is_some() || grid.names.is_some() {
            writeln!(out, "<FieldData>")?;
            if let Some(time) = grid.time {
                writeln!(
                    out,
                    "<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{time:?}</DataArray>"
                )?;
            }
            if let Some((name, values)) = grid.names {
                write_names(out, name, values)?;
            }
            writeln!(out, "</FieldData>")?;
        }
        writeln!(out, "<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">")?;
        // What stands behind the XML: bytes, and the numbers.
        let mut appended: Vec<(u64, Fill<'_>)> = Vec::new();
        let mut offset = 0;
        let mut place = |bytes: u64, fill| {
            appended.push((bytes, fill));
            let here = offset;
            offset += 8 + bytes;
            here
        };
        let bytes = |array: &GridArray<'_>, n: usize| n as u64 * array.components as u64 * array.number.size();
        writeln!(out, "<Points>")?;
        declare(out, &grid.points, place(bytes(&grid.points, points), Box::new(|out| (grid.points.fill)(out))))?;
        writeln!(out, "</Points>\n<Cells>")?;
        let tables: [(_, _, u64, Fill<'_>); 3] = [
            ("connectivity", index, index_bytes * corners as u64, Box::new(move |out| (grid.connectivity)(out, width))),
            ("offsets", index, index_bytes * cells as u64, Box::new(move |out| (grid.ends)(out, width))),
            ("types", "UInt8", cells as u64, Box::new(move |out| (grid.types)(out, 1))),
        ];
        for (name, kind, bytes, fill) in tables {
            let offset = place(bytes, fill);
            writeln!(out, "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"{offset}\"/>")?;
        }
        writeln!(out, "</Cells>")?;
        for (section, arrays, n) in [("PointData", &grid.point_data, points), ("CellData", &grid.cell_data, cells)] {
            match arrays.first().filter(|_| section == "PointData") {
                Some(first) => writeln!(out, "<{section} {}=\"{}\">", grid.active, first.name)?,
                None => writeln!(out, "<{section}>")?,
            }
            for array in arrays {
                declare(out, array, place(bytes(array, n), Box::new(|out| (array.fill)(out))))?;
            }
            writeln!(out, "</{section}>")?;
        }
        write!(out, "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_")?;
        for (bytes, fill) in appended {
            out.write_all(&bytes.to_le_bytes())?;
            fill(out)?;
        }
        writeln!(out, "\n</AppendedData>\n</VTKFile>")
    })
}

/// Strings as VTK keeps them: character codes, each string ended by a zero.
fn write_names(out: &mut dyn Write, name: &str, values: &[&str]) -> io::Result<()> {
    writeln!(out, "<DataArray type=\"String\" Name=\"{name}\" NumberOfTuples=\"{}\" format=\"ascii\">", values.len())?;
    for value in values {
        for byte in value.bytes().filter(|&byte| byte != 0) {
            write!(out, "{byte} ")?;
        }
        writeln!(out, "0")?;
    }
    writeln!(out, "</DataArray>")
}

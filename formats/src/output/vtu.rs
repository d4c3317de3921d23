//! One `.vtu` file with named arrays on a mesh of triangles or tetrahedra, points and cells in the order of the user's mesh.
//!
//! As [`fields`](super::fields) it puts raw data with 64-bit lengths behind the XML, so size does not matter.

use std::io::{self, Write};
use std::path::Path;

use super::{OutputError, write_atomically};

/// A mesh and the order in which it is written.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// (n, 3).
    pub coordinates: &'a [f64],
    /// Nodes, (m, corners).
    pub elements: &'a [u32],
    /// 3 or 4.
    pub corners: usize,
    /// Point of each node: a permutation.
    pub point_of_node: &'a [u32],
    /// Cell of each element: a permutation.
    pub cell_of_element: &'a [u32],
}

/// Numbers on nodes or elements.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Written as Float64.
    F64(&'a [f64]),
    /// Written as Float32.
    F32(&'a [f32]),
    /// Written as UInt32.
    U32(&'a [u32]),
    /// Written as Int64: labels, −1 for none.
    I64(&'a [i64]),
}

/// An array by name.
#[derive(Debug, Clone, Copy)]
pub struct DataArray<'a> {
    /// Name.
    pub name: &'a str,
    /// Numbers a node or element.
    pub components: usize,
    /// (n, components), in the order of the mesh's nodes or elements.
    pub values: Values<'a>,
}

impl Values<'_> {
    fn kind(&self) -> (&'static str, usize) {
        match self {
            Self::F64(_) => ("Float64", 8),
            Self::F32(_) => ("Float32", 4),
            Self::U32(_) => ("UInt32", 4),
            Self::I64(_) => ("Int64", 8),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    fn write(&self, out: &mut impl Write, at: usize) -> io::Result<()> {
        match self {
            Self::F64(values) => out.write_all(&values[at].to_le_bytes()),
            Self::F32(values) => out.write_all(&values[at].to_le_bytes()),
            Self::U32(values) => out.write_all(&values[at].to_le_bytes()),
            Self::I64(values) => out.write_all(&values[at].to_le_bytes()),
        }
    }
}

/// Index of the node at each point, or of the element at each cell.
fn inverse(place: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; place.len()];
    for (index, &place) in place.iter().enumerate() {
        if let Some(slot) = inverse.get_mut(place as usize) {
            *slot = index as u32;
        }
    }
    inverse
}

/// Writes the file.
///
/// # Errors
/// [`OutputError::Io`]; [`OutputError::Shape`] when an array has not as many values as the mesh asks for.
pub fn write(path: &Path, grid: &Grid, nodal: &[DataArray], elemental: &[DataArray]) -> Result<(), OutputError> {
    let (n, m) = (grid.point_of_node.len(), grid.cell_of_element.len());
    for (arrays, count) in [(nodal, n), (elemental, m)] {
        if let Some(array) = arrays.iter().find(|array| array.values.len() != array.components * count) {
            let what = format!("{} has {} values for {count} places", array.name, array.values.len());
            return Err(OutputError::shape(path, what));
        }
    }
    if grid.coordinates.len() != 3 * n || grid.elements.len() != grid.corners * m {
        return Err(OutputError::shape(path, "the mesh's tables have different lengths"));
    }
    let (node_at, element_at) = (inverse(grid.point_of_node), inverse(grid.cell_of_element));
    let mut offset = 0;
    let mut declare = |out: &mut io::BufWriter<_>, name: &str, kind: &str, components: usize, bytes: usize| {
        let line = writeln!(
            out,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{offset}\"/>"
        );
        offset += 8 + bytes;
        line
    };
    write_atomically(path, |out| {
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">"
        )?;
        writeln!(out, "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{n}\" NumberOfCells=\"{m}\">\n<Points>")?;
        declare(out, "Points", "Float64", 3, 24 * n)?;
        writeln!(out, "</Points>\n<Cells>")?;
        declare(out, "connectivity", "Int64", 1, 8 * grid.corners * m)?;
        declare(out, "offsets", "Int64", 1, 8 * m)?;
        declare(out, "types", "UInt8", 1, m)?;
        let first = nodal.first().map_or("", |array| array.name);
        writeln!(out, "</Cells>\n<PointData Scalars=\"{first}\">")?;
        for array in nodal {
            let (kind, bytes) = array.values.kind();
            declare(out, array.name, kind, array.components, bytes * array.components * n)?;
        }
        writeln!(out, "</PointData>\n<CellData>")?;
        for array in elemental {
            let (kind, bytes) = array.values.kind();
            declare(out, array.name, kind, array.components, bytes * array.components * m)?;
        }
        write!(out, "</CellData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_")?;

        let length = |out: &mut io::BufWriter<_>, bytes: usize| out.write_all(&(bytes as u64).to_le_bytes());
        length(out, 24 * n)?;
        for &node in &node_at {
            for x in &grid.coordinates[3 * node as usize..3 * node as usize + 3] {
                out.write_all(&x.to_le_bytes())?;
            }
        }
        length(out, 8 * grid.corners * m)?;
        for &element in &element_at {
            for &node in &grid.elements[grid.corners * element as usize..][..grid.corners] {
                let point = grid.point_of_node.get(node as usize).copied().unwrap_or_default();
                out.write_all(&u64::from(point).to_le_bytes())?;
            }
        }
        length(out, 8 * m)?;
        for cell in 1..=m {
            out.write_all(&((grid.corners * cell) as u64).to_le_bytes())?;
        }
        length(out, m)?;
        let kind = if grid.corners == 4 { 10 } else { 5 };
        for _ in 0..m {
            out.write_all(&[kind])?;
        }
        for (arrays, order) in [(nodal, &node_at), (elemental, &element_at)] {
            for array in arrays {
                length(out, array.values.kind().1 * array.components * order.len())?;
                for &index in order {
                    for k in 0..array.components {
                        array.values.write(out, array.components * index as usize + k)?;
                    }
                }
            }
        }
        writeln!(out, "\n</AppendedData>\n</VTKFile>")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_reader_finds_what_was_written_in_the_users_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vtu");
        let coordinates = [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 1.]].concat();
        let grid = Grid {
            coordinates: &coordinates,
            elements: &[0, 1, 2, 3, 1, 2, 3, 4],
            corners: 4,
            point_of_node: &[4, 3, 2, 1, 0],
            cell_of_element: &[1, 0],
        };
        let time = [0.0, 1.0, 2.0, 3.0, 4.0];
        let nodal = [DataArray { name: "arrival", components: 1, values: Values::F64(&time) }];
        let elemental = [
            DataArray { name: "speed", components: 1, values: Values::F32(&[0.5, 1.5]) },
            DataArray { name: "pair", components: 2, values: Values::I64(&[1, -1, 2, -2]) },
        ];
        write(&path, &grid, &nodal, &elemental).unwrap();
        let mesh = crate::mesh_files::read(&path, &[]).unwrap();
        assert_eq!(mesh.point(0), [1.0, 1.0, 1.0]);
        assert_eq!(mesh.elements, [3, 2, 1, 0, 4, 3, 2, 1]);
        assert_eq!(mesh.arrays[0].values, [1.5, 0.5]);
        assert_eq!(mesh.arrays[1].values, [2.0, -2.0, 1.0, -1.0]);
        assert!(write(&path, &grid, &elemental, &[]).is_err());
    }
}

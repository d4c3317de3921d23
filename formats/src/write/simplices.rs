//! Lines, triangles or tetrahedra with named arrays on them, points and cells in the order of the user's mesh.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::OutputError;
use super::grid::{Fill, Grid, GridArray, Lasting, Number, in_pieces, inverse, put_numbers};
use crate::system::parallel::iterate::*;

/// A mesh and the order in which it is written.
#[derive(Debug, Clone, Copy)]
pub struct Simplices<'a> {
    /// (n, 3).
    pub coordinates: &'a [f64],
    /// Nodes, (m, corners).
    pub elements: &'a [u32],
    /// 2 (lines), 3 or 4.
    pub corners: usize,
    /// Point of each node: a permutation.
    pub point_of_node: &'a [u32],
    /// Cell of each element: a permutation.
    pub cell_of_element: &'a [u32],
}

/// Numbers on nodes or elements.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Written as Float64.
    F64(&'a [f64]),
    /// Written as Float32.
    F32(&'a [f32]),
    /// Written as UInt32.
    U32(&'a [u32]),
    /// Written as Int64: labels, −1 for none.
    I64(&'a [i64]),
    /// Not in memory, but made by all threads while they are written, as numbers of this kind: appends those of some nodes or
    /// elements, little-endian.
    Made(Number, &'a (dyn Fn(&[u32], &mut Vec<u8>) + Sync)),
}

/// An array by name.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct DataArray<'a> {
    pub name: &'a str,
    /// Numbers a node or element.
    pub components: usize,
    /// (n, components), in the order of the mesh's nodes or elements.
    pub values: Values<'a>,
}

impl Values<'_> {
    fn number(&self) -> Number {
        match self {
            Self::F64(_) => Number::F64,
            Self::F32(_) => Number::F32,
            Self::U32(_) => Number::U32,
            Self::I64(_) => Number::I64,
            Self::Made(number, _) => *number,
        }
    }

    /// How many there are, if they are there.
    fn len(&self) -> Option<usize> {
        match self {
            Self::F64(values) => Some(values.len()),
            Self::F32(values) => Some(values.len()),
            Self::U32(values) => Some(values.len()),
            Self::I64(values) => Some(values.len()),
            Self::Made(..) => None,
        }
    }

    /// Appends the numbers of some nodes or elements, `n` each.
    fn put(&self, bytes: &mut Vec<u8>, places: &[u32], n: usize) {
        fn each<V: Copy, const B: usize>(
            bytes: &mut Vec<u8>,
            values: &[V],
            (places, n): (&[u32], usize),
            to_bytes: impl Fn(V) -> [u8; B],
        ) {
            for &place in places {
                let values = &values[n * place as usize..][..n];
                values.iter().for_each(|&value| bytes.extend_from_slice(&to_bytes(value)));
            }
        }
        match self {
            Self::F64(values) => each(bytes, values, (places, n), f64::to_le_bytes),
            Self::F32(values) => each(bytes, values, (places, n), f32::to_le_bytes),
            Self::U32(values) => each(bytes, values, (places, n), u32::to_le_bytes),
            Self::I64(values) => each(bytes, values, (places, n), i64::to_le_bytes),
            Self::Made(_, put) => put(places, bytes),
        }
    }
}

/// Writes the bytes that `put` makes of ranges of `n` places. Those of a range are large enough to be written without a copy of them.
fn write_in_pieces(out: &mut dyn Write, n: usize, put: impl Fn(Range<usize>, &mut Vec<u8>) + Sync) -> io::Result<()> {
    /// Places whose bytes a thread makes at a time.
    const PIECE: usize = 1 << 14;
    let first: Vec<usize> = (0..n).step_by(PIECE).collect();
    let bytes_of = |first: usize| {
        let mut bytes = Vec::with_capacity(16 * PIECE);
        put(first..n.min(first + PIECE), &mut bytes);
        bytes
    };
    in_pieces(&first, bytes_of, |bytes| out.write_all(&bytes))
}

impl<'a> DataArray<'a> {
    fn in_order(&self, order: &Arc<Vec<u32>>) -> GridArray<'a> {
        let (DataArray { name, components, values }, order) = (*self, order.clone());
        let fill: Fill<'a> = Box::new(move |out| {
            write_in_pieces(out, order.len(), |range, bytes| values.put(bytes, &order[range], components))
        });
        GridArray::new(name, values.number(), components, Lasting::Always, fill)
    }
}

/// The mesh as it is written to `path`.
///
/// # Errors
/// [`OutputError::Shape`] when an array has not as many values as the mesh asks for.
pub fn grid<'a>(
    path: &Path,
    mesh: &Simplices<'a>,
    nodal: &[DataArray<'a>],
    elemental: &[DataArray<'a>],
) -> Result<Grid<'a>, OutputError> {
    let Simplices { coordinates, elements, corners, point_of_node, cell_of_element } = *mesh;
    let (n, m) = (point_of_node.len(), cell_of_element.len());
    for (arrays, count) in [(nodal, n), (elemental, m)] {
        let is_wrong = |array: &&DataArray<'_>| array.values.len().is_some_and(|n| n != array.components * count);
        if let Some(array) = arrays.iter().find(is_wrong) {
            let what = format!("{} has {} values for {count} places", array.name, array.values.len().unwrap_or(0));
            return Err(OutputError::shape(path, what));
        }
    }
    if coordinates.len() != 3 * n || elements.len() != corners * m {
        return Err(OutputError::shape(path, "the mesh's tables have different lengths"));
    }
    if elements.par_iter().any(|&node| node as usize >= n) {
        return Err(OutputError::shape(path, "an element refers to a node that does not exist"));
    }
    let node_at = Arc::new(inverse(path, point_of_node)?);
    let element_at = Arc::new(inverse(path, cell_of_element)?);
    let points = DataArray { name: "Points", components: 3, values: Values::F64(coordinates) };
    let cells = element_at.clone();
    Ok(Grid {
        time: None,
        n_points: n,
        n_cells: m,
        n_corners: corners * m,
        cells_id: 0,
        points: points.in_order(&node_at),
        connectivity: Box::new(move |out, width| {
            write_in_pieces(out, m, |range, bytes| {
                let nodes = cells[range].iter().flat_map(|&element| &elements[corners * element as usize..][..corners]);
                put_numbers(bytes, width, nodes.map(|&node| point_of_node[node as usize].into()));
            })
        }),
        ends: Box::new(move |out, width| {
            let end = |cell| (corners * (cell + 1)) as u64;
            write_in_pieces(out, m, |range, bytes| put_numbers(bytes, width, range.map(end)))
        }),
        types: Box::new(move |out, width| {
            let kind = |_| [3, 5, 10][corners.clamp(2, 4) - 2];
            write_in_pieces(out, m, |range, bytes| put_numbers(bytes, width, range.map(kind)))
        }),
        active: "Scalars",
        point_data: nodal.iter().map(|array| array.in_order(&node_at)).collect(),
        cell_data: elemental.iter().map(|array| array.in_order(&element_at)).collect(),
        names: None,
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
        let mesh = Simplices {
            coordinates: &coordinates,
            elements: &[0, 1, 2, 3, 1, 2, 3, 4],
            corners: 4,
            point_of_node: &[4, 3, 2, 1, 0],
            cell_of_element: &[1, 0],
        };
        let time = [0.0, 1.0, 2.0, 3.0, 4.0];
        let nodal = [DataArray { name: "arrival", components: 1, values: Values::F64(&time) }];
        let half = |cells: &[u32], bytes: &mut Vec<u8>| {
            cells.iter().for_each(|&cell| bytes.extend((cell as f32 + 0.5).to_le_bytes()));
        };
        let elemental = [
            DataArray { name: "speed", components: 1, values: Values::Made(Number::F32, &half) },
            DataArray { name: "pair", components: 2, values: Values::I64(&[1, -1, 2, -2]) },
        ];
        crate::write::vtu::write(&path, &grid(&path, &mesh, &nodal, &elemental).unwrap()).unwrap();
        let read = crate::read::mesh::read(&path, &Default::default()).unwrap();
        assert_eq!(read.point(0), [1.0, 1.0, 1.0]);
        assert_eq!(read.elements, [3, 2, 1, 0, 4, 3, 2, 1]);
        assert_eq!(read.arrays[0].values, [1.5, 0.5]);
        assert_eq!(read.arrays[1].values, [2.0, -2.0, 1.0, -1.0]);
        assert!(grid(&path, &mesh, &elemental, &[]).is_err());
        let twice = Simplices { cell_of_element: &[1, 1], ..mesh };
        assert!(grid(&path, &twice, &[], &[]).is_err());
    }
}

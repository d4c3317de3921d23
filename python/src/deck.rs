//! Meshes of arrays as decks.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Members a line.
const A_LINE: usize = 16;

/// Named indices of nodes or elements, from 0.
type Set<'a> = (&'a str, ArrayView1<'a, i64>);

/// Writes nodes, elements by type, and sets as a deck. Labels are indices from 0, plus 1. The numbers keep all their digits.
#[pyfunction]
pub fn write_deck(
    py: Python<'_>,
    path: PathBuf,
    points: PyReadonlyArray2<'_, f64>,
    groups: Vec<(String, PyReadonlyArray2<'_, i64>)>,
    node_sets: Vec<(String, PyReadonlyArray1<'_, i64>)>,
    element_sets: Vec<(String, PyReadonlyArray1<'_, i64>)>,
) -> PyResult<()> {
    let points = points.as_array();
    let groups: Vec<_> = groups.iter().map(|(kind, cells)| (kind.as_str(), cells.as_array())).collect();
    let [node_sets, element_sets] = [&node_sets, &element_sets]
        .map(|sets| sets.iter().map(|(name, set)| (name.as_str(), set.as_array())).collect());
    Ok(py.detach(|| write(&path, points, &groups, node_sets, element_sets))?)
}

fn write(
    path: &Path,
    points: ArrayView2<'_, f64>,
    groups: &[(&str, ArrayView2<'_, i64>)],
    node_sets: Vec<Set<'_>>,
    element_sets: Vec<Set<'_>>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "*Heading\n*Node")?;
    for (node, point) in points.rows().into_iter().enumerate() {
        write!(out, "{}", node + 1)?;
        point.iter().try_for_each(|x| write!(out, ", {x:?}"))?;
        writeln!(out)?;
    }
    let mut label = 0;
    for (kind, cells) in groups {
        writeln!(out, "*Element, type={kind}")?;
        for cell in cells.rows() {
            label += 1;
            write!(out, "{label}")?;
            cell.iter().try_for_each(|node| write!(out, ", {}", node + 1))?;
            writeln!(out)?;
        }
    }
    for (card, sets) in [("*Nset, nset", node_sets), ("*Elset, elset", element_sets)] {
        for (name, members) in sets {
            write!(out, "{card}={name}")?;
            for (at, member) in members.iter().enumerate() {
                write!(out, "{}{}", if at % A_LINE == 0 { "\n" } else { ", " }, member + 1)?;
            }
            writeln!(out)?;
        }
    }
    out.flush()
}

//! Cells of several kinds, and which of them are the mesh.

use std::collections::BTreeMap;
use std::path::Path;

use super::{MeshFile, MeshFileError};
use crate::words::grouped;

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Triangle,
    Tetrahedron,
    /// Anything else: its name and dimension.
    Other(&'static str, usize),
}

impl Kind {
    pub fn dimension(self) -> usize {
        match self {
            Self::Triangle => 2,
            Self::Tetrahedron => 3,
            Self::Other(_, dimension) => dimension,
        }
    }

    /// Nodes of a triangle or a tetrahedron; 0 of any other, whose nodes do not matter.
    pub fn corners(self) -> usize {
        match self {
            Self::Triangle => 3,
            Self::Tetrahedron => 4,
            Self::Other(..) => 0,
        }
    }
}

/// Cells of one kind.
#[derive(Debug, Default)]
struct Same {
    nodes: Vec<u32>,
    /// Index of each among all cells of the file.
    cell: Vec<u32>,
    labels: Vec<u32>,
    lines: Vec<u32>,
}

/// Cells as a file has them, sorted by kind.
#[derive(Debug, Default)]
pub(super) struct Cells {
    triangles: Same,
    tetrahedra: Same,
    /// (dimension, name) of the others, how many, and the line of the first.
    others: BTreeMap<(usize, &'static str), (u64, u64)>,
    n: u32,
}

/// The element of each of `n` cells, `u32::MAX` for none, out of the cell of each element.
pub(super) fn element_of_cell(cell_of_element: &[u32], n: usize) -> Vec<u32> {
    let mut element_of_cell = vec![u32::MAX; n];
    for (&cell, element) in cell_of_element.iter().zip(0..) {
        element_of_cell[cell as usize] = element;
    }
    element_of_cell
}

impl Cells {
    /// Adds a cell; `nodes` are indices, three for triangles and four for tetrahedra. `line` is 0 where files have none.
    pub fn push(&mut self, kind: Kind, label: u32, line: u64, nodes: &[u32]) {
        let cell = self.n;
        self.n += 1;
        let same = match kind {
            Kind::Triangle => &mut self.triangles,
            Kind::Tetrahedron => &mut self.tetrahedra,
            Kind::Other(name, dimension) => {
                self.others.entry((dimension, name)).or_insert((0, line)).0 += 1;
                return;
            }
        };
        same.nodes.extend_from_slice(nodes);
        same.cell.push(cell);
        same.labels.push(label);
        if line > 0 {
            same.lines.push(line.min(u64::from(u32::MAX)) as u32);
        }
    }

    /// Adds cells of one kind, triangles or tetrahedra, with the labels that [`push`](Self::push) would be given by their place.
    pub fn extend(&mut self, kind: Kind, mut nodes: Vec<u32>) {
        let cells = self.n..self.n + (nodes.len() / kind.corners()) as u32;
        self.n = cells.end;
        let same = if kind == Kind::Triangle { &mut self.triangles } else { &mut self.tetrahedra };
        same.nodes.append(&mut nodes);
        same.cell.extend(cells.clone());
        same.labels.extend(cells);
    }

    /// Number of cells so far.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Puts the tetrahedra, or else the triangles, into the mesh; gives the cell of each element.
    ///
    /// # Errors
    /// Other cells of the same dimension or above.
    pub fn finish(mut self, path: &Path, mesh: &mut MeshFile) -> Result<Vec<u32>, MeshFileError> {
        let volume = !self.tetrahedra.cell.is_empty();
        let dimension = if volume { 3 } else { 2 };
        if volume && !self.triangles.cell.is_empty() {
            self.others.insert((2, "triangles"), (self.triangles.cell.len() as u64, 0));
        }
        let list = |least: usize| {
            let listed = self.others.iter().filter(|((dimension, _), _)| *dimension >= least);
            let each = listed.map(|((_, name), (count, _))| format!("{} {name}", grouped(*count)));
            each.collect::<Vec<_>>().join(", ")
        };
        if let Some((_, (_, line))) = self.others.iter().find(|((other, _), _)| *other >= dimension) {
            let message = "only first-order tetrahedra and triangles are computed; mesh with those";
            return Err(MeshFileError::new(path, *line, format!("{}: {message}", list(dimension))));
        }
        if !self.others.is_empty() {
            let of = if volume { "tetrahedra" } else { "triangles" };
            let beside = list(0);
            mesh.notes.push(format!("{}: note: {beside} left out beside the {of}", path.display()));
        }
        let same = if volume { self.tetrahedra } else { self.triangles };
        mesh.corners = dimension + 1;
        (mesh.elements, mesh.element_labels, mesh.element_lines) = (same.nodes, same.labels, same.lines);
        Ok(same.cell)
    }
}

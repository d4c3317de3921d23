//! Cells of several kinds, and which of them are the mesh.

use std::collections::BTreeMap;
use std::path::Path;

use super::{MeshFile, MeshFileError};
use crate::mesh::ElementShape;
use crate::words::grouped;

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A shape of first-order elements.
    Shape(ElementShape),
    /// Anything else: its name and dimension.
    Other(&'static str, usize),
}

impl Kind {
    pub const TRIANGLE: Self = Self::Shape(ElementShape::Triangle);
    pub const QUADRILATERAL: Self = Self::Shape(ElementShape::Quadrilateral);
    pub const TETRAHEDRON: Self = Self::Shape(ElementShape::Tetrahedron);
    pub const WEDGE: Self = Self::Shape(ElementShape::Wedge);
    pub const HEXAHEDRON: Self = Self::Shape(ElementShape::Hexahedron);

    pub fn dimension(self) -> usize {
        match self {
            Self::Shape(shape) => shape.dimension(),
            Self::Other(_, dimension) => dimension,
        }
    }

    /// Nodes of a shape; 0 of any other, whose nodes do not matter.
    pub fn corners(self) -> usize {
        match self {
            Self::Shape(shape) => shape.n_nodes(),
            Self::Other(..) => 0,
        }
    }
}

/// Every shape with the word for several of it.
const SHAPES: [(ElementShape, &str); 5] = [
    (ElementShape::Triangle, "triangles"),
    (ElementShape::Quadrilateral, "quadrilaterals"),
    (ElementShape::Tetrahedron, "tetrahedra"),
    (ElementShape::Wedge, "wedges"),
    (ElementShape::Hexahedron, "hexahedra"),
];

/// Which cells of a file are elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Tetrahedra, or else triangles.
    Simplices,
    /// All shapes of the highest dimension.
    Shapes,
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
    /// Of each shape, in the order of [`SHAPES`].
    same: [Same; SHAPES.len()],
    /// (dimension, name) of all else, how many, and the line of the first.
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
    fn of(&mut self, shape: ElementShape) -> &mut Same {
        let at = SHAPES.iter().position(|(other, _)| *other == shape).unwrap_or_default();
        &mut self.same[at]
    }

    /// Adds a cell; `nodes` are indices, as many as the shape has corners. `line` is 0 where files have none.
    pub fn push(&mut self, kind: Kind, label: u32, line: u64, nodes: &[u32]) {
        let cell = self.n;
        self.n += 1;
        let same = match kind {
            Kind::Shape(shape) => self.of(shape),
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

    /// Adds cells of one shape, with the labels that [`push`](Self::push) would be given by their place.
    pub fn extend(&mut self, shape: ElementShape, mut nodes: Vec<u32>) {
        let cells = self.n..self.n + (nodes.len() / shape.n_nodes()) as u32;
        self.n = cells.end;
        let same = self.of(shape);
        same.nodes.append(&mut nodes);
        same.cell.extend(cells.clone());
        same.labels.extend(cells);
    }

    /// Number of cells so far.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Puts the elements into the mesh; gives the cell of each.
    ///
    /// # Errors
    /// Cells of the same dimension or above that are none.
    pub fn finish(mut self, path: &Path, mesh: &mut MeshFile, wanted: Wanted) -> Result<Vec<u32>, MeshFileError> {
        let has = |shape: ElementShape| {
            SHAPES.iter().zip(&self.same).any(|((s, _), same)| *s == shape && !same.cell.is_empty())
        };
        let highest = SHAPES.iter().filter(|(shape, _)| has(*shape)).map(|(shape, _)| shape.dimension()).max();
        let dimension = match wanted {
            Wanted::Simplices if has(ElementShape::Tetrahedron) => 3,
            Wanted::Simplices => 2,
            Wanted::Shapes => highest.unwrap_or(2),
        };
        let is_element = |shape: ElementShape| {
            shape.dimension() == dimension && (wanted == Wanted::Shapes || shape.n_nodes() == dimension + 1)
        };
        for ((shape, name), same) in SHAPES.iter().zip(&self.same).filter(|(_, same)| !same.cell.is_empty()) {
            if !is_element(*shape) {
                let line = same.lines.first().copied().unwrap_or_default();
                self.others.insert((shape.dimension(), name), (same.cell.len() as u64, line.into()));
            }
        }
        let list = |least: usize| {
            let listed = self.others.iter().filter(|((dimension, _), _)| *dimension >= least);
            let each = listed.map(|((_, name), (count, _))| format!("{} {name}", grouped(*count)));
            each.collect::<Vec<_>>().join(", ")
        };
        if let Some((_, (_, line))) = self.others.iter().find(|((other, _), _)| *other >= dimension) {
            let shapes = match wanted {
                Wanted::Simplices => "tetrahedra and triangles are",
                Wanted::Shapes => "triangles, quadrilaterals, tetrahedra, wedges and hexahedra are",
            };
            let message = format!("only first-order {shapes} computed; mesh with those (in Gmsh: -order 1)");
            return Err(MeshFileError::new(path, *line, format!("{}: {message}", list(dimension))));
        }
        if !self.others.is_empty() {
            let of: Vec<&str> =
                SHAPES.iter().filter(|(shape, _)| is_element(*shape) && has(*shape)).map(|(_, name)| *name).collect();
            let (beside, of) = (list(0), of.join(" and "));
            mesh.notes.push(format!("{}: note: {beside} left out beside the {of}", path.display()));
        }
        mesh.corners = dimension + 1;
        let mut cells = Vec::new();
        for ((shape, _), mut same) in SHAPES.iter().zip(self.same) {
            if !is_element(*shape) || same.cell.is_empty() {
                continue;
            }
            cells.append(&mut same.cell);
            mesh.element_lines.append(&mut same.lines);
            match wanted {
                Wanted::Simplices => (mesh.elements, mesh.element_labels) = (same.nodes, same.labels),
                Wanted::Shapes => {
                    mesh.element_labels.extend_from_slice(&same.labels);
                    mesh.shapes.push((*shape, same.nodes));
                }
            }
        }
        Ok(cells)
    }
}

//! Cells of several kinds, and which of them are the mesh.

use std::collections::BTreeMap;
use std::path::Path;

use super::{MeshFile, MeshFileError};
use crate::mesh::ElementShape;
use crate::read::deck::edges;
use crate::words::grouped;

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A shape of first-order elements.
    Shape(ElementShape),
    /// A shape of second-order elements, whose nodes on edges follow the corners in Abaqus order.
    SecondOrder(ElementShape),
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
            Self::Shape(shape) | Self::SecondOrder(shape) => shape.dimension(),
            Self::Other(_, dimension) => dimension,
        }
    }

    /// Nodes of a shape, at most [`MOST_NODES`]; 0 of any other, whose nodes do not matter.
    pub fn n_nodes(self) -> usize {
        match self {
            Self::Shape(shape) => shape.n_nodes(),
            Self::SecondOrder(shape) => shape.n_nodes() + edges(shape).len(),
            Self::Other(..) => 0,
        }
    }
}

/// Most nodes of a cell that matter.
pub(super) const MOST_NODES: usize = 20;

/// Every shape with the words for several of it, of first order and of second order.
const SHAPES: [(ElementShape, [&str; 2]); 5] = [
    (ElementShape::Triangle, ["triangles", "second-order triangles"]),
    (ElementShape::Quadrilateral, ["quadrilaterals", "second-order quadrilaterals"]),
    (ElementShape::Tetrahedron, ["tetrahedra", "second-order tetrahedra"]),
    (ElementShape::Wedge, ["wedges", "second-order wedges"]),
    (ElementShape::Hexahedron, ["hexahedra", "second-order hexahedra"]),
];

/// Which cells of a file are elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Tetrahedra, or else triangles.
    Simplices,
    /// All shapes of the highest dimension.
    Shapes,
    /// All shapes of the highest dimension, of second order, too.
    ShapesOfBothOrders,
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
    /// Of each shape, in the order of [`SHAPES`], of first order and of second order.
    same: [[Same; 2]; SHAPES.len()],
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
    fn of(&mut self, shape: ElementShape, second_order: bool) -> &mut Same {
        let at = SHAPES.iter().position(|(other, _)| *other == shape).unwrap_or_default();
        &mut self.same[at][usize::from(second_order)]
    }

    /// Adds a cell; `nodes` are indices, [`Kind::n_nodes`] of them. `line` is 0 where files have none.
    pub fn push(&mut self, kind: Kind, label: u32, line: u64, nodes: &[u32]) {
        let cell = self.n;
        self.n += 1;
        let same = match kind {
            Kind::Shape(shape) => self.of(shape, false),
            Kind::SecondOrder(shape) => self.of(shape, true),
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
        let same = self.of(shape, false);
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
        let orders = if wanted == Wanted::ShapesOfBothOrders { 2 } else { 1 };
        let is_there = |same: &[Same; 2]| same[..orders].iter().any(|same| !same.cell.is_empty());
        let there = SHAPES.iter().zip(&self.same).filter(|(_, same)| is_there(same)).map(|((shape, _), _)| *shape);
        let there: Vec<ElementShape> = there.collect();
        let dimension = match wanted {
            Wanted::Simplices if there.contains(&ElementShape::Tetrahedron) => 3,
            Wanted::Simplices => 2,
            _ => there.iter().map(|shape| shape.dimension()).max().unwrap_or(2),
        };
        let is_element = |shape: ElementShape, order: usize| {
            let is_simplex = shape.n_nodes() == dimension + 1;
            shape.dimension() == dimension && order < orders && (wanted != Wanted::Simplices || is_simplex)
        };
        let (mut cells, mut of) = (Vec::new(), Vec::new());
        for ((shape, names), both) in SHAPES.iter().zip(self.same) {
            for (order, mut same) in both.into_iter().enumerate().filter(|(_, same)| !same.cell.is_empty()) {
                if !is_element(*shape, order) {
                    let line = same.lines.first().copied().unwrap_or_default();
                    self.others.insert((shape.dimension(), names[order]), (same.cell.len() as u64, line.into()));
                    continue;
                }
                of.push(names[order]);
                cells.append(&mut same.cell);
                mesh.element_lines.append(&mut same.lines);
                if wanted == Wanted::Simplices {
                    (mesh.elements, mesh.element_labels) = (same.nodes, same.labels);
                    continue;
                }
                mesh.element_labels.append(&mut same.labels);
                let (corners, on_edges) =
                    if order == 0 { (same.nodes, Vec::new()) } else { divide(*shape, &same.nodes) };
                mesh.shapes.push((*shape, corners));
                mesh.on_edges.push(on_edges);
            }
        }
        mesh.corners = dimension + 1;
        let list = |least: usize| {
            let listed = self.others.iter().filter(|((dimension, _), _)| *dimension >= least);
            let each = listed.map(|((_, name), (count, _))| format!("{} {name}", grouped(*count)));
            each.collect::<Vec<_>>().join(", ")
        };
        if let Some(((_, name), (_, line))) = self.others.iter().find(|((other, _), _)| *other >= dimension) {
            let shapes = match wanted {
                Wanted::Simplices => "tetrahedra and triangles are",
                _ => "triangles, quadrilaterals, tetrahedra, wedges and hexahedra are",
            };
            let can_split = wanted == Wanted::Shapes && SHAPES.iter().any(|(_, names)| names[1] == *name);
            let split = if can_split { ", or split these with --split-second-order" } else { "" };
            let message = format!("only first-order {shapes} computed; mesh with those (in Gmsh: -order 1){split}");
            return Err(MeshFileError::new(path, *line, format!("{}: {message}", list(dimension))));
        }
        if !self.others.is_empty() {
            let (beside, of) = (list(0), of.join(" and "));
            mesh.notes.push(format!("{}: note: {beside} left out beside the {of}", path.display()));
        }
        Ok(cells)
    }
}

/// Nodes of second-order elements → those at their corners, and those on their edges.
fn divide(shape: ElementShape, nodes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let n = shape.n_nodes();
    let elements = || nodes.chunks_exact(n + edges(shape).len()).map(|nodes| nodes.split_at(n));
    (
        elements().flat_map(|(corners, _)| corners).copied().collect(),
        elements().flat_map(|(_, rest)| rest).copied().collect(),
    )
}

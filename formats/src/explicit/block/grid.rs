//! Parts of a mesh in which hexahedra, or tetrahedra six a cell, stand in a grid, whatever its shape in space: a device goes
//! through it plane by plane.
//!
//! A grid is a box of (n_i, n_j, n_k) places for nodes, i the fastest; a place is one word. Bits 0 to 29 are the node's solver
//! index, or [`NOTHING`]. [`PRESENT`] says that there is a cell with the corners (i, j, k), (i + 1, j, k), (i + 1, j + 1, k),
//! (i, j + 1, k), then the same with k + 1, in the order that C3D8 has: a hexahedron, or all six [`tetrahedra`] round
//! its diagonal (Kuhn's cut). [`WHOLE`] says that all elements of the node, of any kind, are in cells of the grid round this
//! place. No element is in two places.

use crate::mesh::ElementKind;

/// Mask of a node's solver index.
pub const NODE: u32 = (1 << 30) - 1;
/// In place of a solver index: there is no node.
pub const NOTHING: u32 = NODE;
/// The cell whose lowest corner this is exists.
pub const PRESENT: u32 = 1 << 30;
/// All elements of the node are round this place.
pub const WHOLE: u32 = 1 << 31;

/// Offsets of the corners of the cell at a place, in the order of C3D8.
pub const CORNERS: [[usize; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// The corners round the diagonal from corner 0 to corner 6: tetrahedron k has the corners 0, 6, `RING[k]` and the next.
pub const RING: [usize; 6] = [1, 2, 3, 7, 4, 5];

/// The tetrahedra of a cell, each in positive order.
pub fn tetrahedra(cell: [u32; 8]) -> [[u32; 4]; 6] {
    std::array::from_fn(|k| [cell[0], cell[6], cell[RING[k]], cell[RING[(k + 1) % 6]]])
}

/// How many elements of a cell meet at each of its corners.
pub const fn elements_at(kind: ElementKind) -> [usize; 8] {
    match kind {
        ElementKind::C3d4 | ElementKind::Ac3d4 => [6, 2, 2, 2, 2, 2, 6, 2],
        _ => [1; 8],
    }
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// Places along i, j and k.
    pub size: [usize; 3],
    /// Which pair of kind and section all elements have, an entry of `material_kind` and `material_section`.
    pub material: usize,
    /// A word a place.
    pub places: &'a [u32],
}

impl Grid<'_> {
    /// Number of the place (i, j, k).
    pub fn place(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// i, j and k of a place.
    pub fn position(&self, place: usize) -> [usize; 3] {
        let [ni, nj, _] = self.size;
        [place % ni, place / ni % nj, place / (ni * nj)]
    }

    /// The solver indices of the cell at a place where there is one.
    pub fn cell(&self, place: usize) -> [u32; 8] {
        let [i, j, k] = self.position(place);
        CORNERS.map(|[a, b, c]| self.places[self.place([i + a, j + b, k + c])] & NODE)
    }

    /// How many elements of cells of a kind there are round a place.
    pub fn n_around(&self, [i, j, k]: [usize; 3], kind: ElementKind) -> usize {
        let present = |&([a, b, c], _): &([usize; 3], usize)| {
            i >= a && j >= b && k >= c && self.places[self.place([i - a, j - b, k - c])] & PRESENT != 0
        };
        CORNERS.into_iter().zip(elements_at(kind)).filter(present).map(|(_, n)| n).sum()
    }
}

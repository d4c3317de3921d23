//! The force laws that kernels are compiled for (laws.cuh).

use pogo_formats::explicit::block::ring::{RING_ELEMENTS, RING_NODES};
use pogo_formats::mesh::ElementKind;

use super::layout::{ACOUSTIC_HEXAHEDRON, ACOUSTIC_PARALLELEPIPED, HEXAHEDRON, PARALLELEPIPED};
use crate::explicit::units::Units;

/// Last part of the name of the kernels that have only one law, nodes of a row of the connectivity and elements in it, by the
/// law's number. A row of tetrahedra is a ring of them.
const LAWS: [(&str, usize, usize); 17] = [
    ("triangles", 3, 1),
    ("quads", 4, 1),
    ("reduced_quads", 4, 1),
    ("tetrahedra", RING_NODES, RING_ELEMENTS),
    ("wedges", 6, 1),
    ("full_wedges", 6, 1),
    ("hexahedra", 8, 1),
    ("reduced_hexahedra", 8, 1),
    ("parallelepipeds", 8, 1),
    ("acoustic_triangles", 3, 1),
    ("acoustic_quads", 4, 1),
    ("acoustic_reduced_quads", 4, 1),
    ("acoustic_tetrahedra", RING_NODES, RING_ELEMENTS),
    ("acoustic_wedges", 6, 1),
    ("acoustic_hexahedra", 8, 1),
    ("acoustic_reduced_hexahedra", 8, 1),
    ("acoustic_parallelepipeds", 8, 1),
];

/// The number of an element kind's force law. Those of fluids come after the parallelepipeds of solids.
pub(super) fn law_number(kind: ElementKind) -> u32 {
    let law = kind.law();
    u32::from(law as u8) + u32::from(law.is_acoustic())
}

/// The law of elements with another one whose opposite edges are equal.
pub(super) fn law_of_parallelepipeds(law: u32) -> Option<u32> {
    match law {
        HEXAHEDRON => Some(PARALLELEPIPED),
        ACOUSTIC_HEXAHEDRON => Some(ACOUSTIC_PARALLELEPIPED),
        _ => None,
    }
}

/// The last part of the name of the kernels that have only this law.
pub(super) fn law_name(law: u32) -> &'static str {
    LAWS[law as usize].0
}

/// Nodes of a row of the connectivity, and elements in it.
pub(super) fn row_shape(law: u32) -> [usize; 2] {
    let (_, nodes, elements) = LAWS[law as usize];
    [nodes, elements]
}

/// Whether the opposite edges of a hexahedron are equal, on the grid that positions are rounded to.
pub(super) fn is_parallelepiped(units: &Units, coordinates: &[f64], nodes: [usize; 8]) -> bool {
    // Rounding to the grid is exact arithmetic from there on; without a grid, some digits of the coordinates are left.
    let tolerance = if units.quantum > 0.0 { 0.5 * units.quantum } else { 1e-12 };
    let position = |node: usize, i: usize| units.round(coordinates[3 * nodes[node] + i]);
    let edge = |from, to, i| position(to, i) - position(from, i);
    const EDGES: [[[usize; 2]; 4]; 3] =
        [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [3, 7], [2, 6]]];
    EDGES.iter().all(|[[from, to], others @ ..]| {
        others.iter().all(|&[a, b]| (0..3).all(|i| (edge(a, b, i) - edge(*from, *to, i)).abs() <= tolerance))
    })
}

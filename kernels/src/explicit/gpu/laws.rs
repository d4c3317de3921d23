//! The force laws that kernels are compiled for (laws.cuh).

use pogo_formats::mesh::ElementKind;

use super::layout::*;
use crate::explicit::units::Units;

/// The force law of an element kind, as `Colour::law` names it.
pub(super) fn law(kind: ElementKind) -> u32 {
    match kind {
        ElementKind::Cpe3 | ElementKind::Cps3 => TRIANGLE,
        ElementKind::Cpe4 | ElementKind::Cps4 => QUADRILATERAL,
        ElementKind::Cpe4r | ElementKind::Cps4r => REDUCED_QUADRILATERAL,
        ElementKind::C3d4 => TETRAHEDRON,
        ElementKind::C3d6 => WEDGE,
        ElementKind::C3d8 => HEXAHEDRON,
        ElementKind::C3d8r => REDUCED_HEXAHEDRON,
    }
}

/// Whether the opposite edges of a hexahedron are equal, on the grid that positions are rounded to.
pub(super) fn is_parallelepiped(units: &Units, coordinates: &[f64], nodes: [usize; 8]) -> bool {
    // Rounding to the grid is exact arithmetic from there on; without a grid, some digits of the coordinates are left.
    let tolerance = if units.quantum > 0.0 { 0.5 * units.quantum } else { 1e-12 };
    let position = |node: usize, i: usize| {
        let x = coordinates[3 * nodes[node] + i] / units.length;
        if units.quantum > 0.0 { (x / units.quantum).round() * units.quantum } else { x }
    };
    let edge = |from, to, i| position(to, i) - position(from, i);
    const EDGES: [[[usize; 2]; 4]; 3] =
        [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [3, 7], [2, 6]]];
    EDGES.iter().all(|[[from, to], others @ ..]| {
        others.iter().all(|&[a, b]| (0..3).all(|i| (edge(a, b, i) - edge(*from, *to, i)).abs() <= tolerance))
    })
}

/// The last part of the name of the kernels that have only this law.
pub(super) fn law_name(law: u32) -> &'static str {
    ["triangles", "quads", "reduced_quads", "tetrahedra", "wedges", "hexahedra", "reduced_hexahedra", "parallelepipeds"]
        [law as usize]
}

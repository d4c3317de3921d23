//! Second-order elements: a node on each edge beside the corners, in Abaqus order.

use crate::mesh::{ElementGroup, ElementKind, ElementShape};

/// A type of second-order elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecondOrder {
    /// Its name in decks.
    pub name: &'static str,
    /// The linear kind of the parts into which an element is split, with the same integration.
    pub part: ElementKind,
}

const fn type_of(name: &'static str, part: ElementKind) -> SecondOrder {
    SecondOrder { name, part }
}

const TYPES: [SecondOrder; 19] = [
    type_of("CPE6", ElementKind::Cpe3),
    type_of("CPE6M", ElementKind::Cpe3),
    type_of("CPS6", ElementKind::Cps3),
    type_of("CPS6M", ElementKind::Cps3),
    type_of("CPE8", ElementKind::Cpe4),
    type_of("CPE8R", ElementKind::Cpe4r),
    type_of("CPS8", ElementKind::Cps4),
    type_of("CPS8R", ElementKind::Cps4r),
    type_of("C3D10", ElementKind::C3d4),
    type_of("C3D10M", ElementKind::C3d4),
    type_of("C3D10I", ElementKind::C3d4),
    type_of("C3D15", ElementKind::C3d6),
    type_of("C3D20", ElementKind::C3d8),
    type_of("C3D20R", ElementKind::C3d8r),
    type_of("AC2D6", ElementKind::Ac2d3),
    type_of("AC2D8", ElementKind::Ac2d4),
    type_of("AC3D10", ElementKind::Ac3d4),
    type_of("AC3D15", ElementKind::Ac3d6),
    type_of("AC3D20", ElementKind::Ac3d8),
];

impl SecondOrder {
    /// The type of that name, upper case.
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.into_iter().find(|of| of.name == name)
    }

    /// The first type that is split into elements of a kind.
    pub fn of_parts(part: ElementKind) -> Option<Self> {
        TYPES.into_iter().find(|of| of.part == part)
    }
}

/// Whether the elements of a type can be split into triangles or tetrahedra.
pub(crate) fn splits_into_simplices(name: &str) -> bool {
    let shape = SecondOrder::from_name(name).map(|of| of.part.shape());
    matches!(shape, Some(ElementShape::Triangle | ElementShape::Tetrahedron))
}

/// The corners at the ends of each edge, in the order in which the nodes on the edges follow the corners.
pub(crate) fn edges(shape: ElementShape) -> &'static [[u8; 2]] {
    match shape {
        ElementShape::Triangle => &[[0, 1], [1, 2], [2, 0]],
        ElementShape::Quadrilateral => &[[0, 1], [1, 2], [2, 3], [3, 0]],
        ElementShape::Tetrahedron => &[[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]],
        ElementShape::Wedge => &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
        ElementShape::Hexahedron => {
            &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]]
        }
    }
}

/// The group of an element, what it has of second-order elements, and the place in it.
pub(crate) fn place<'a>(
    groups: &'a [ElementGroup],
    midside: &'a [Midside],
    element: u32,
) -> Option<(&'a ElementGroup, &'a Midside, usize)> {
    let mut at = element as usize;
    for (group, more) in groups.iter().zip(midside) {
        if at < group.len() {
            return Some((group, more, at));
        }
        at -= group.len();
    }
    None
}

/// What a group of elements has of second-order elements, whose corners are in the mesh.
#[derive(Debug, Default)]
pub(crate) struct Midside {
    /// Their type; none for linear elements.
    pub of: Option<SecondOrder>,
    /// Node indices on the edges of each element, (n, `edges(shape).len()`), row-major; empty for linear elements.
    pub nodes: Vec<u32>,
}

impl Midside {
    /// Nodes on the edges of an element.
    pub fn of(&self, group: &ElementGroup, at: usize) -> &[u32] {
        let n = if self.of.is_some() { edges(group.kind.shape()).len() } else { 0 };
        &self.nodes[at * n..(at + 1) * n]
    }

    /// The parts of a face of a second-order element, or of an edge in the plane. A face with four edges needs a node in its
    /// middle, which `middle` finds by the nodes on its edges; none without it.
    pub fn parts_of_face(
        &self,
        group: &ElementGroup,
        at: usize,
        face: [u32; 4],
        middle: impl Fn([u32; 4]) -> Option<u32>,
    ) -> Option<Vec<[u32; 4]>> {
        const NONE: u32 = u32::MAX;
        let (corners, on_edges) = (group.nodes(at), self.of(group, at));
        let between = |a: u32, b: u32| {
            let ends = edges(group.kind.shape()).iter().map(|ends| ends.map(|end| corners[usize::from(end)]));
            let edge = ends.into_iter().position(|ends| ends.contains(&a) && ends.contains(&b));
            edge.map(|edge| on_edges[edge])
        };
        match face {
            [a, b, NONE, NONE] => {
                let middle = between(a, b)?;
                Some(vec![[a, middle, NONE, NONE], [middle, b, NONE, NONE]])
            }
            [a, b, c, NONE] => {
                let (ab, bc, ca) = (between(a, b)?, between(b, c)?, between(c, a)?);
                Some([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].map(|[a, b, c]| [a, b, c, NONE]).to_vec())
            }
            [a, b, c, d] => {
                let (ab, bc, cd, da) = (between(a, b)?, between(b, c)?, between(c, d)?, between(d, a)?);
                let m = middle([ab, bc, cd, da])?;
                Some(vec![[a, ab, m, da], [ab, b, bc, m], [m, bc, c, cd], [da, m, cd, d]])
            }
        }
    }
}

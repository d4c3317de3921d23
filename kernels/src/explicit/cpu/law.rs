//! The force laws of the inner loop, and how nodes and elements stand in memory for them.

use pogo_formats::mesh::ElementKind;

/// How the forces of a run are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    Triangle,
    /// Triangles side by side, computed from positions.
    Strip,
    /// The same, with their edges in the tables.
    EdgeStrip,
    Quadrilateral,
    ReducedQuadrilateral,
    Tetrahedron,
    Wedge,
    Hexahedron,
    ReducedHexahedron,
}

impl Law {
    pub const ALL: [Self; 9] = [
        Self::Triangle,
        Self::Strip,
        Self::EdgeStrip,
        Self::Quadrilateral,
        Self::ReducedQuadrilateral,
        Self::Tetrahedron,
        Self::Wedge,
        Self::Hexahedron,
        Self::ReducedHexahedron,
    ];

    pub fn of(kind: ElementKind) -> Self {
        match kind {
            ElementKind::Cpe3 | ElementKind::Cps3 => Self::Triangle,
            ElementKind::Cpe4 | ElementKind::Cps4 => Self::Quadrilateral,
            ElementKind::Cpe4r | ElementKind::Cps4r => Self::ReducedQuadrilateral,
            ElementKind::C3d4 => Self::Tetrahedron,
            ElementKind::C3d6 => Self::Wedge,
            ElementKind::C3d8 => Self::Hexahedron,
            ElementKind::C3d8r => Self::ReducedHexahedron,
        }
    }

    pub fn dimension(self) -> usize {
        match self {
            Self::Triangle | Self::Strip | Self::EdgeStrip | Self::Quadrilateral | Self::ReducedQuadrilateral => 2,
            Self::Tetrahedron | Self::Wedge | Self::Hexahedron | Self::ReducedHexahedron => 3,
        }
    }

    /// Nodes of an element; of strips, of each row.
    pub fn n_nodes(self) -> usize {
        match self {
            Self::Strip | Self::EdgeStrip => 1,
            Self::Triangle => 3,
            Self::Quadrilateral | Self::ReducedQuadrilateral | Self::Tetrahedron => 4,
            Self::Wedge => 6,
            Self::Hexahedron | Self::ReducedHexahedron => 8,
        }
    }

    /// Nodes of an element that fills a batch: a valid shape on the corners of the unit square or cube.
    pub fn dummy_nodes(self) -> &'static [u16] {
        match self {
            Self::Tetrahedron => &[0, 1, 3, 4],
            Self::Wedge => &[0, 1, 3, 4, 5, 7],
            law => &[0, 1, 2, 3, 4, 5, 6, 7][..law.n_nodes()],
        }
    }
}

/// Numbers a node record holds: displacement and position, each padded to 2 or 4. Strips have no records, but
/// displacements and positions apart, with the stride of forces.
pub(super) const fn record_stride(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Numbers a nodal force takes.
pub(super) const fn force_stride(dimension: usize) -> usize {
    if dimension == 2 { 2 } else { 4 }
}

/// What a local node index is multiplied by in the tables: offsets are then scaled by the address alone.
pub(super) const fn grain(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Nodes of the element that fills the last batch of a run: a unit square or cube that never moves.
pub(super) const fn n_dummies(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Whether an element on a join is computed by one block alone, which passes forces on. Solids cost more than that; plane
/// elements do not, and most of them lie inside.
pub(super) fn computes_once(dimension: usize) -> bool {
    dimension == 3
}

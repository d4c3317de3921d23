//! The force laws of the inner loop, and how nodes and elements stand in memory for them.

use pogo_formats::mesh::{ElementLaw, ElementShape};

/// How the forces of a run are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    /// Element by element.
    Element(ElementLaw),
    /// Triangles side by side, computed from positions.
    Strip,
    /// The same, with their edges in the tables.
    EdgeStrip,
    /// AC2D3 side by side, with what each edge lets through in the tables.
    FluidStrip,
}

impl Law {
    pub fn dimension(self) -> usize {
        if let Self::Element(law) = self { law.shape().dimension() } else { 2 }
    }

    /// Whether positions are read as the forces are computed, but for those in records.
    pub fn reads_positions(self) -> bool {
        self == Self::Strip
    }

    /// Nodes of an element; of strips, of each row.
    pub fn n_nodes(self) -> usize {
        if let Self::Element(law) = self { law.shape().n_nodes() } else { 1 }
    }

    /// Nodes of an element that fills a batch: a valid shape on the corners of the unit square or cube.
    pub fn dummy_nodes(self) -> &'static [u16] {
        match self {
            Self::Element(law) if law.shape() == ElementShape::Tetrahedron => &[0, 1, 3, 4],
            Self::Element(law) if law.shape() == ElementShape::Wedge => &[0, 1, 3, 4, 5, 7],
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

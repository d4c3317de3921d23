//! Elements whose corners coincide: which simpler element they are.

use super::{ElementKind, ElementLaw};

impl ElementKind {
    /// The simpler kind that an element with repeated nodes is, and its nodes; nothing where no node is repeated or where there is
    /// no such kind, as for pyramids.
    ///
    /// Stiffness and row-sum masses are those of the element as it is written, since shape functions of corners that coincide add
    /// up to those of the simpler element: exactly, but for tapered and twisted wedges, where the two rules of quadrature
    /// differ. A solid wedge is one of full integration, as the hexahedron is. Of the one-point kinds only triangles and tetrahedra are given, which have no hourglass modes: a one-point
    /// hexahedron that is a wedge keeps some.
    pub fn collapsed(self, nodes: &[u32]) -> Option<(Self, Vec<u32>)> {
        let mut distinct: Vec<u32> = nodes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() == self.n_nodes() {
            return None;
        }
        if self.dimension() == 2 {
            let kind = match (self.is_acoustic(), self.is_plane_stress()) {
                (true, _) => Self::Ac2d3,
                (_, true) => Self::Cps3,
                _ => Self::Cpe3,
            };
            return polygon(nodes.iter().copied()).filter(|p| p.len() == 3).map(|triangle| (kind, triangle));
        }
        let mut polygons = Vec::new();
        for face in self.faces() {
            let polygon = polygon(face.iter().filter_map(|local| nodes.get(usize::from(*local)).copied()))?;
            if polygon.len() > 2 {
                polygons.push(polygon);
            }
        }
        let (triangles, quadrilaterals): (Vec<_>, Vec<_>) = polygons.into_iter().partition(|p| p.len() == 3);
        // Faces run so that their normals point inwards.
        let base = triangles.first()?;
        let (tetrahedron, wedge) =
            if self.is_acoustic() { (Self::Ac3d4, Self::Ac3d6) } else { (Self::C3d4, Self::C3d6f) };
        match (distinct.len(), triangles.len(), quadrilaterals.len()) {
            (4, 4, 0) => {
                let others = distinct.iter().filter(|node| triangles.iter().any(|t| !t.contains(node)));
                let apex = distinct.iter().find(|node| !base.contains(node))?;
                (others.count() == 4).then(|| (tetrahedron, [base.as_slice(), &[*apex]].concat()))
            }
            (6, 2, 3) if matches!(self.law(), ElementLaw::Hexahedron | ElementLaw::AcousticHexahedron) => {
                let top = |node: &u32| {
                    quadrilaterals
                        .iter()
                        .find_map(|q| neighbours(q, *node)?.into_iter().find(|n| triangles[1].contains(n)))
                };
                let above: Vec<u32> = base.iter().map(top).collect::<Option<_>>()?;
                let apart = base.iter().all(|node| !triangles[1].contains(node));
                apart.then(|| (wedge, [base.as_slice(), &above].concat()))
            }
            _ => None,
        }
    }
}

/// The corners of a face in order, without those that repeat the one before; nothing where the face touches itself.
fn polygon(nodes: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
    let mut corners: Vec<u32> = nodes.collect();
    corners.dedup();
    while corners.len() > 1 && corners.first() == corners.last() {
        corners.pop();
    }
    let once = corners.iter().enumerate().all(|(i, node)| !corners[..i].contains(node));
    once.then_some(corners)
}

/// The corners beside a corner of a polygon.
fn neighbours(polygon: &[u32], corner: u32) -> Option<[u32; 2]> {
    let n = polygon.len();
    let at = polygon.iter().position(|node| *node == corner)?;
    Some([polygon[(at + 1) % n], polygon[(at + n - 1) % n]])
}

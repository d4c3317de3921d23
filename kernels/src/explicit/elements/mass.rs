//! Volumes, lumped masses and nodal damping.

use pogo_formats::explicit::Lumping;
use pogo_formats::mesh::ElementKind;
use pogo_formats::mesh::MeshView;

use super::SectionProperties;
use super::shape::jacobian;
use super::{ElementError, collect_bad, full_quadrature, sum_to_nodes, thickness};

/// Masses that an element of unit density (and unit thickness) gives to its nodes; none where the element has no
/// positive volume.
pub(crate) fn nodal_volumes(kind: ElementKind, x: &[[f64; 3]; 8], lumping: Lumping) -> Option<[f64; 8]> {
    let n = kind.n_nodes();
    let mut volume = 0.0;
    let mut row_sum = [0.0; 8];
    let mut diagonal = [0.0; 8];
    for point in full_quadrature(kind) {
        let (_, det) = jacobian(point, kind, x);
        // A NaN must fail too.
        if !(det > 0.0) && !kind.is_reduced() {
            return None;
        }
        let dv = point.weight * det;
        volume += dv;
        for i in 0..n {
            row_sum[i] += point.n[i] * dv;
            diagonal[i] += point.n[i] * point.n[i] * dv;
        }
    }
    let mut out = match lumping {
        Lumping::RowSum => row_sum,
        Lumping::Hrz => {
            let total: f64 = diagonal.iter().sum();
            diagonal.map(|d| d * volume / total)
        }
        Lumping::Equal => [volume / n as f64; 8],
    };
    out[n..].fill(0.0);
    let valid = volume > 0.0 && volume.is_finite() && out[..n].iter().all(|&m| m > 0.0);
    valid.then_some(out)
}

/// Σ over the elements of weight(element) × ρ t ∫… at each node.
fn weighted_mass(
    mesh: &MeshView,
    sections: &[SectionProperties],
    lumping: Lumping,
    weight: impl Fn(usize) -> f64 + Sync,
) -> Result<Vec<f64>, ElementError> {
    let (mass, bad) = sum_to_nodes(mesh, sections.len(), |element| {
        let volumes = nodal_volumes(element.kind, &element.positions, lumping)?;
        let section = &sections[element.section];
        let density = section.density * thickness(element.kind, section.thickness) * weight(element.index);
        Some(volumes.map(|v| v * density))
    })?;
    collect_bad(bad)?;
    Ok(mass)
}

/// Lumped mass of each node, kg, (n_nodes,): `RowSum` ∫ρN dV, `Hrz` the consistent diagonal scaled to the element's
/// mass, `Equal` the element's mass over its nodes. Nodes without an element get 0. The same bits on every run.
///
/// # Errors
/// Elements without positive volume; wrong references.
pub fn lumped_mass(
    mesh: &MeshView,
    sections: &[SectionProperties],
    lumping: Lumping,
) -> Result<Vec<f64>, ElementError> {
    weighted_mass(mesh, sections, lumping, |_| 1.0)
}

/// What the lumped masses (`RowSum`) change by, kg, (n_nodes,), when each coordinate x becomes `moved(x)`; none if an element has
/// no positive volume then.
pub(crate) fn mass_change(
    mesh: &MeshView,
    sections: &[SectionProperties],
    moved: impl Fn(f64) -> f64 + Sync,
) -> Option<Vec<f64>> {
    let (change, bad) = sum_to_nodes(mesh, sections.len(), |element| {
        let volumes = |x: &[[f64; 3]; 8]| nodal_volumes(element.kind, x, Lumping::RowSum);
        let (before, after) = (volumes(&element.positions)?, volumes(&element.positions.map(|x| x.map(&moved)))?);
        let section = &sections[element.section];
        let density = section.density * thickness(element.kind, section.thickness);
        Some(std::array::from_fn(|i| density * (after[i] - before[i])))
    })
    .ok()?;
    bad.is_empty().then_some(change)
}

/// α_i = Σ_e α_e m_ei / m_i, 1/s, (n_nodes,): the nodal rate of damping proportional to each element's mass.
///
/// `element_rate` is α_e, (n_elements,). Nodes without mass get 0.
///
/// # Errors
/// As [`lumped_mass`]; [`ElementError::Length`] for the rates.
pub fn nodal_damping(
    mesh: &MeshView,
    sections: &[SectionProperties],
    element_rate: &[f64],
    lumping: Lumping,
) -> Result<Vec<f64>, ElementError> {
    if element_rate.len() != mesh.n_elements() {
        return Err(ElementError::Length {
            what: "element damping rates",
            expected: mesh.n_elements(),
            found: element_rate.len(),
        });
    }
    let mass = weighted_mass(mesh, sections, lumping, |_| 1.0)?;
    let mut rate = weighted_mass(mesh, sections, lumping, |element| element_rate[element])?;
    for (rate, &mass) in rate.iter_mut().zip(&mass) {
        *rate = if mass > 0.0 { *rate / mass } else { 0.0 };
    }
    Ok(rate)
}

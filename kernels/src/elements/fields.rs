//! Strain, stress and energy density at element centres.

use pogo_formats::block::MeshView;
use pogo_formats::model::ElementKind;

use super::elasticity::{IN_PLANE, OUT_OF_PLANE, through_thickness};
use super::shape::gradients;
use super::{ElementError, map_elements, quadrature};
use crate::explicit::SectionProperties;

/// Fields at element centres, Voigt order 11, 22, 33, 12, 13, 23, engineering shears, global axes; 2D too (plane strain
/// has its σ33, plane stress its ε33).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ElementFields {
    /// ε, (n_elements, 6).
    pub strain: Vec<f64>,
    /// σ, Pa, (n_elements, 6).
    pub stress: Vec<f64>,
    /// ½ σ:ε, J/m³, (n_elements,).
    pub energy_density: Vec<f64>,
}

/// ε (volume mean over the element), σ = D ε and ½ σ:ε of a displacement, (n_nodes × dimension,).
///
/// `stiffness_factor` multiplies D of each element, (n_elements,), or is empty. The same bits on every run.
///
/// # Errors
/// Wrong lengths or references.
pub fn element_fields(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    displacement: &[f64],
) -> Result<ElementFields, ElementError> {
    let dimension = mesh.dimension;
    for (what, expected, found) in [
        ("displacement", mesh.n_nodes() * dimension, displacement.len()),
        ("stiffness factors", mesh.n_elements(), stiffness_factor.len()),
    ] {
        if found != expected && !(what == "stiffness factors" && found == 0) {
            return Err(ElementError::Length { what, expected, found });
        }
    }
    let rules = ElementKind::ALL.map(quadrature);
    let through: Vec<_> = sections.iter().map(|section| through_thickness(&section.elasticity)).collect();
    let rows = map_elements(mesh, sections.len(), |element| {
        let elasticity = &sections[element.section].elasticity;
        let mut volume = 0.0;
        // h[i][j] = ∂u_i/∂x_j, summed over the volume.
        let mut h = [[0.0; 3]; 3];
        for point in &rules[element.kind as usize] {
            let (dx, det) = gradients(point, element.kind, &element.positions);
            let dv = point.weight * det;
            volume += dv;
            for (&node, dx) in element.nodes.iter().zip(&dx) {
                for i in 0..dimension {
                    for j in 0..dimension {
                        h[i][j] += displacement[node as usize * dimension + i] * dx[j] * dv;
                    }
                }
            }
        }
        for value in h.iter_mut().flatten() {
            *value /= volume;
        }
        let mut strain = [h[0][0], h[1][1], h[2][2], h[0][1] + h[1][0], h[0][2] + h[2][0], h[1][2] + h[2][1]];
        if element.kind.is_plane_stress() {
            for (k, &q) in OUT_OF_PLANE.iter().enumerate() {
                strain[q] = (0..3).map(|j| through[element.section][k][j] * strain[IN_PLANE[j]]).sum();
            }
        }
        let factor = stiffness_factor.get(element.index).copied().unwrap_or(1.0);
        let mut stress = [0.0; 6];
        for i in 0..6 {
            stress[i] = factor * (0..6).map(|j| elasticity[6 * i + j] * strain[j]).sum::<f64>();
        }
        (strain, stress)
    })?;
    let mut fields = ElementFields::default();
    for (strain, stress) in rows {
        fields.energy_density.push(0.5 * strain.iter().zip(&stress).map(|(e, s)| e * s).sum::<f64>());
        fields.strain.extend(strain);
        fields.stress.extend(stress);
    }
    Ok(fields)
}

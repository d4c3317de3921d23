//! Strain, stress and energy density at element centres.

use pogo_formats::mesh::MeshView;

use super::SectionProperties;
use super::elasticity::{IN_PLANE, OUT_OF_PLANE, through_thickness};
use super::shape::gradients;
use super::{Element, ElementError, check_groups, element, map_elements, quadrature};

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

/// ε (volume mean over the element), σ = D ε and ½ σ:ε of a displacement, (n_nodes × dimension,). They are 0 in fluids.
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
    let probes = Probes::new(sections, stiffness_factor);
    let rows = map_elements(mesh, sections.len(), |element| {
        let displacement = |node: usize, i: usize| displacement[element.nodes[node] as usize * dimension + i];
        probes.probe(element).strain_and_stress(displacement)
    })?;
    let mut fields = ElementFields::default();
    for (strain, stress) in rows {
        fields.energy_density.push(energy_density(&strain, &stress));
        fields.strain.extend(strain);
        fields.stress.extend(stress);
    }
    Ok(fields)
}

/// ½ σ:ε, J/m³, of stress and strain with engineering shears.
pub fn energy_density(strain: &[f64; 6], stress: &[f64; 6]) -> f64 {
    0.5 * strain.iter().zip(stress).map(|(e, s)| e * s).sum::<f64>()
}

/// Von Mises' equivalent stress, Pa: √(3/2 s:s) with the deviator s.
pub fn mises([s11, s22, s33, s12, s13, s23]: [f64; 6]) -> f64 {
    let normal = (s11 - s22).powi(2) + (s22 - s33).powi(2) + (s33 - s11).powi(2);
    (0.5 * normal + 3.0 * (s12 * s12 + s13 * s13 + s23 * s23)).sqrt()
}

/// Gives strain and stress of one element from its nodes' displacements.
#[derive(Debug, Clone)]
pub struct ElementProbe {
    nodes: [u32; 8],
    n_nodes: usize,
    dimension: usize,
    /// ∂N_I/∂x_j, its mean over the element; zero beyond the nodes.
    gradient: [[f64; 3]; 8],
    /// D, the element's factor included, Pa.
    elasticity: [f64; 36],
    /// Rows of the strains through the thickness, for plane stress.
    through: Option<[[f64; 3]; 3]>,
}

impl ElementProbe {
    /// Node indices, Abaqus order.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[..self.n_nodes]
    }

    /// ε (volume mean over the element) and σ = D ε, Voigt order as in [`ElementFields`]; `displacement` gives u of a
    /// node (by its place in the element) and component, m.
    pub fn strain_and_stress(&self, displacement: impl Fn(usize, usize) -> f64) -> ([f64; 6], [f64; 6]) {
        // h[i][j] = ∂u_i/∂x_j
        let mut h = [[0.0; 3]; 3];
        for (node, dx) in self.gradient.iter().enumerate().take(self.n_nodes) {
            for i in 0..self.dimension {
                let u = displacement(node, i);
                for j in 0..self.dimension {
                    h[i][j] += u * dx[j];
                }
            }
        }
        let mut strain = [h[0][0], h[1][1], h[2][2], h[0][1] + h[1][0], h[0][2] + h[2][0], h[1][2] + h[2][1]];
        if let Some(through) = &self.through {
            for (row, &q) in through.iter().zip(&OUT_OF_PLANE) {
                strain[q] = (0..3).map(|j| row[j] * strain[IN_PLANE[j]]).sum();
            }
        }
        let stress = std::array::from_fn(|i| (0..6).map(|j| self.elasticity[6 * i + j] * strain[j]).sum());
        (strain, stress)
    }
}

/// Probes of some elements, in the order of `elements`.
///
/// # Errors
/// Wrong references.
pub fn element_probes(
    mesh: &MeshView,
    sections: &[SectionProperties],
    stiffness_factor: &[f64],
    elements: &[u32],
) -> Result<Vec<ElementProbe>, ElementError> {
    let probes = Probes::new(sections, stiffness_factor);
    if !elements.is_empty() {
        check_groups(mesh, sections.len())?;
    }
    let probe = |&index: &u32| {
        let index = index as usize;
        let (group, at) = mesh.group_of(index).ok_or(ElementError::Reference { element: index })?;
        Ok(probes.probe(&element(mesh, group, index - at, at)))
    };
    elements.iter().map(probe).collect()
}

/// What probes of all elements share.
struct Probes<'a> {
    sections: &'a [SectionProperties],
    stiffness_factor: &'a [f64],
    through: Vec<[[f64; 3]; 3]>,
}

impl<'a> Probes<'a> {
    fn new(sections: &'a [SectionProperties], stiffness_factor: &'a [f64]) -> Self {
        let through = sections.iter().map(|section| through_thickness(&section.elasticity)).collect();
        Self { sections, stiffness_factor, through }
    }

    fn probe(&self, element: &Element) -> ElementProbe {
        let mut volume = 0.0;
        let mut gradient = [[0.0; 3]; 8];
        for point in quadrature(element.kind) {
            let (dx, det) = gradients(point, element.kind, &element.positions);
            let dv = point.weight * det;
            volume += dv;
            for (sum, dx) in gradient.as_flattened_mut().iter_mut().zip(dx.as_flattened()) {
                *sum += dx * dv;
            }
        }
        gradient.as_flattened_mut().iter_mut().for_each(|value| *value /= volume);
        // A fluid has no displacements: its fields are 0.
        let factor = if element.kind.is_acoustic() {
            gradient = [[0.0; 3]; 8];
            0.0
        } else {
            self.stiffness_factor.get(element.index).copied().unwrap_or(1.0)
        };
        let mut nodes = [0; 8];
        nodes[..element.nodes.len()].copy_from_slice(element.nodes);
        ElementProbe {
            nodes,
            n_nodes: element.nodes.len(),
            dimension: element.kind.dimension(),
            gradient,
            elasticity: self.sections[element.section].elasticity.map(|d| factor * d),
            through: element.kind.is_plane_stress().then(|| self.through[element.section]),
        }
    }
}

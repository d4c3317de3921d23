//! What a model is made of: section properties, masses, damping and stiffness.

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_kernels::explicit::elements::{self, ElementError, MaterialError, SectionProperties, StableIncrement};

/// Materials, sections or elements from which no model can be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MatterError {
    #[error(transparent)]
    Material(#[from] MaterialError),
    #[error(transparent)]
    Element(ElementError),
    #[error(
        "{count} element{} inside out or so distorted that a nodal mass is not positive: {labels}; \
         check the order of their nodes and their shape",
        if *count == 1 { " is" } else { "s are" }
    )]
    Volume {
        count: usize,
        /// The user's labels of the first few.
        labels: String,
    },
    #[error("{owner} refers to {what} {index}, which does not exist; block the model again")]
    Beyond {
        /// Section or absorbing layer.
        owner: String,
        /// `material` or `element`.
        what: &'static str,
        index: usize,
    },
}

/// Everything that does not depend on the time increment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matter {
    /// One a section.
    pub sections: Vec<SectionProperties>,
    /// Factor on each element's stiffness, or empty.
    pub stiffness_factor: Vec<f64>,
    /// m, kg, (n_nodes,).
    pub lumped_mass: Vec<f64>,
    /// α_i, 1/s, (n_nodes,), or empty.
    pub damping_rate: Vec<f64>,
}

impl Matter {
    /// Properties, masses and damping of a model. Where absorbing layers overlap (corners), their damping rates add up and
    /// their stiffness factors multiply.
    ///
    /// # Errors
    /// A material or section that makes no sense, elements without volume, references beyond the model.
    pub fn new(mesh: &MeshView<'_>, setup: &Setup) -> Result<Self, MatterError> {
        let mut sections = Vec::with_capacity(setup.sections.len());
        let mut section_rate = Vec::with_capacity(setup.sections.len());
        for section in &setup.sections {
            let material = setup.materials.get(section.material as usize).ok_or_else(|| MatterError::Beyond {
                owner: format!("section {}", section.name),
                what: "material",
                index: section.material as usize,
            })?;
            sections.push(elements::section_properties(section, material)?);
            section_rate.push(material.damping_alpha);
        }
        let with_labels = |error| with_labels(mesh, error);
        let lumping = setup.explicit.lumping;
        let lumped_mass = elements::lumped_mass(mesh, &sections, lumping).map_err(with_labels)?;

        let mut rate: Vec<f64> = mesh
            .groups
            .iter()
            .flat_map(|group| group.section)
            .map(|&section| section_rate.get(section as usize).copied().unwrap_or(0.0))
            .collect();
        let mut stiffness_factor = Vec::new();
        for layer in &setup.absorbing_layers {
            for (&element, &depth) in layer.elements.iter().zip(&layer.depth_fraction) {
                let element = element as usize;
                let entry = rate.get_mut(element).ok_or_else(|| MatterError::Beyond {
                    owner: format!("absorbing layer {}", layer.name),
                    what: "element",
                    index: element,
                })?;
                let (alpha, factor) = layer.profile.at(depth);
                *entry += alpha;
                if factor != 1.0 {
                    stiffness_factor.resize(mesh.n_elements(), 1.0);
                    stiffness_factor[element] *= factor;
                }
            }
        }
        let damping_rate = if rate.iter().all(|&alpha| alpha == 0.0) {
            Vec::new()
        } else {
            elements::nodal_damping(mesh, &sections, &rate, lumping).map_err(with_labels)?
        };
        Ok(Self { sections, stiffness_factor, lumped_mass, damping_rate })
    }

    /// The bound of the elements on the time increment.
    pub fn stable_increment(&self, mesh: &MeshView<'_>) -> Result<StableIncrement, MatterError> {
        elements::stable_increment(mesh, &self.sections, &self.stiffness_factor, &self.lumped_mass)
            .map_err(|error| with_labels(mesh, error))
    }

    /// Visits every element that has a degree of freedom for which `is_wanted` holds: its degrees of freedom, its
    /// stiffness matrix, N/m, row by row, and the factor on it.
    pub fn visit_stiffness(
        &self,
        mesh: &MeshView<'_>,
        is_wanted: impl Fn(usize) -> bool,
        mut visit: impl FnMut(&[usize], &[f64], f64),
    ) {
        let mut factors = self.stiffness_factor.iter().copied().chain(std::iter::repeat(1.0));
        for group in &mesh.groups {
            let nodes = group.connectivity.chunks_exact(group.kind.n_nodes());
            for ((nodes, &section), factor) in nodes.zip(group.section).zip(&mut factors) {
                let dofs_of = |&node: &u32| (0..mesh.dimension).map(move |c| node as usize * mesh.dimension + c);
                let dofs = nodes.iter().flat_map(dofs_of);
                if dofs.clone().any(&is_wanted) {
                    let dofs: Vec<usize> = dofs.collect();
                    let (positions, section) = (elements::positions(mesh, nodes), &self.sections[section as usize]);
                    visit(&dofs, &elements::element_stiffness(group.kind, &positions, section), factor);
                }
            }
        }
    }
}

/// Names elements as the user knows them.
fn with_labels(mesh: &MeshView<'_>, error: ElementError) -> MatterError {
    match error {
        ElementError::NonPositiveVolume { count, elements, .. } => {
            let mut labels: Vec<String> = elements.iter().map(|&element| mesh.element_name(element)).collect();
            if labels.len() < count {
                labels.push("…".into());
            }
            MatterError::Volume { count, labels: labels.join(", ") }
        }
        other => MatterError::Element(other),
    }
}

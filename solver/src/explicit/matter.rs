//! What a model is made of: section properties, masses, damping and stiffness.

use pogo_formats::explicit::Setup;
use pogo_formats::mesh::{ElementKind, MeshView};
use pogo_kernels::explicit::elements::{
    self, ElementError, MaterialError, SectionProperties, StableIncrement, damped_stable_increment, joint_increment,
};
use pogo_kernels::explicit::{Dashpot, MOST_MECHANISMS, Relaxation};

use super::fluid::{Touching, frequency_of_pairs};
use super::relaxation;

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
    #[error("material {material}: {reason}")]
    Attenuation { material: String, reason: String },
    #[error("section {section} gives {kind} elements the material {material}, which is {what}")]
    Phase {
        section: String,
        kind: &'static str,
        material: String,
        /// `a fluid` or `no fluid`.
        what: &'static str,
    },
}

/// What an element makes of its stiffness K: factor K (u + β Δu/Δt − Σ_l Y_l z_l).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Of absorbing layers.
    pub factor: f64,
    /// β, s.
    pub beta: f64,
    /// Y_l.
    pub strengths: [f64; MOST_MECHANISMS],
}

/// Everything that does not depend on the time increment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matter {
    /// One a section; of materials with relaxation with their unrelaxed moduli.
    pub sections: Vec<SectionProperties>,
    /// Factor on each element's stiffness, or empty.
    pub stiffness_factor: Vec<f64>,
    /// m, kg, (n_nodes,).
    pub lumped_mass: Vec<f64>,
    /// α_i, 1/s, (n_nodes,), or empty.
    pub damping_rate: Vec<f64>,
    /// Whether each node is one of a fluid, (n_nodes,), or empty.
    pub fluid: Vec<bool>,
    /// Where fluids touch solids.
    pub touching: Touching,
    /// β, s, one a section, or empty.
    pub damping_beta: Vec<f64>,
    /// Relaxation mechanisms.
    pub relaxation: Relaxation,
    /// Of impedance boundaries, by node.
    pub dashpots: Vec<Dashpot>,
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
        let mut damping_beta = Vec::with_capacity(setup.sections.len());
        for section in &setup.sections {
            let material = setup.materials.get(section.material as usize).ok_or_else(|| MatterError::Beyond {
                owner: format!("section {}", section.name),
                what: "material",
                index: section.material as usize,
            })?;
            sections.push(elements::section_properties(section, material)?);
            section_rate.push(material.damping_alpha);
            damping_beta.push(material.damping_beta);
        }
        if damping_beta.iter().all(|&beta| beta == 0.0) {
            damping_beta.clear();
        }
        check_phases(mesh, setup)?;
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
        // Of the moduli as they are given: those at the reference frequency.
        let dashpots = super::impedance::dashpots(mesh, setup, &sections, &stiffness_factor);
        let (relaxation, unrelaxed) = relaxation::mechanisms(setup)?;
        for (section, factor) in sections.iter_mut().zip(unrelaxed).filter(|(_, factor)| *factor != 1.0) {
            section.elasticity.iter_mut().for_each(|constant| *constant *= factor);
        }
        Ok(Self {
            sections,
            stiffness_factor,
            lumped_mass,
            damping_rate,
            damping_beta,
            relaxation,
            dashpots,
            fluid: mesh.fluid_nodes(),
            touching: Touching::new(mesh, setup),
        })
    }

    /// Whether a node is one of a fluid.
    pub fn is_fluid(&self, node: usize) -> bool {
        self.fluid.get(node).is_some_and(|&fluid| fluid)
    }

    /// The bound of the elements on the time increment.
    pub fn stable_increment(&self, mesh: &MeshView<'_>) -> Result<StableIncrement, MatterError> {
        let of = |is_wanted: &dyn Fn(bool) -> bool| {
            let (sections, factor, mass) = (&self.sections, &self.stiffness_factor, &self.lumped_mass);
            let is_wanted = |kind: ElementKind| is_wanted(kind.is_acoustic());
            let found = damped_stable_increment(mesh, sections, factor, &self.damping_beta, mass, is_wanted);
            found.map_err(|error| with_labels(mesh, error))
        };
        if self.touching.is_empty() {
            return of(&|_| true);
        }
        let (solids, fluids) = (of(&|is_fluid| !is_fluid)?, of(&|is_fluid| is_fluid)?);
        let pairs = frequency_of_pairs(&self.touching, &self.lumped_mass);
        let stiffest = if fluids.increment < solids.increment { fluids } else { solids };
        Ok(StableIncrement {
            increment: joint_increment(solids.increment, fluids.increment, pairs, self.is_lagged()),
            ..stiffest
        })
    }

    /// The dashpot at a node.
    pub fn dashpot(&self, node: u32) -> Option<&Dashpot> {
        self.dashpots.binary_search_by_key(&node, |dashpot| dashpot.node).ok().map(|at| &self.dashpots[at])
    }

    /// Whether a material has damping in proportion to its stiffness.
    pub fn is_lagged(&self) -> bool {
        !self.damping_beta.is_empty()
    }

    /// Whether elements feel more than their displacement: such damping, or relaxation.
    pub fn is_viscous(&self) -> bool {
        self.is_lagged() || !self.relaxation.is_empty()
    }

    /// Visits every element that has a degree of freedom for which `is_wanted` holds: its degrees of freedom, its
    /// stiffness matrix, N/m, row by row, and what goes with it.
    pub fn visit_stiffness(
        &self,
        mesh: &MeshView<'_>,
        is_wanted: impl Fn(usize) -> bool,
        mut visit: impl FnMut(&[usize], &[f64], Rule),
    ) {
        let mut factors = self.stiffness_factor.iter().copied().chain(std::iter::repeat(1.0));
        for group in &mesh.groups {
            let nodes = group.connectivity.chunks_exact(group.kind.n_nodes());
            for ((nodes, &section), factor) in nodes.zip(group.section).zip(&mut factors) {
                let dofs_of = |&node: &u32| (0..mesh.dimension).map(move |c| node as usize * mesh.dimension + c);
                let dofs = nodes.iter().flat_map(dofs_of);
                if dofs.clone().any(&is_wanted) {
                    let dofs: Vec<usize> = dofs.collect();
                    let beta = self.damping_beta.get(section as usize).copied().unwrap_or(0.0);
                    let strengths = self.relaxation.of_section(section as usize);
                    let (positions, section) = (elements::positions(mesh, nodes), &self.sections[section as usize]);
                    let stiffness = elements::element_stiffness(group.kind, &positions, section);
                    visit(&dofs, &stiffness, Rule { factor, beta, strengths });
                }
            }
        }
    }
}

/// Acoustic elements are made of fluids, and others are not: a section may have got another material by its name.
fn check_phases(mesh: &MeshView<'_>, setup: &Setup) -> Result<(), MatterError> {
    for group in &mesh.groups {
        for &index in group.section {
            let section = &setup.sections[index as usize];
            let material = &setup.materials[section.material as usize];
            let is_fluid = material.elasticity.bulk().is_some();
            if is_fluid != group.kind.is_acoustic() {
                return Err(MatterError::Phase {
                    section: section.name.clone(),
                    kind: group.kind.name(),
                    material: material.name.clone(),
                    what: if is_fluid { "a fluid" } else { "no fluid" },
                });
            }
        }
    }
    Ok(())
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

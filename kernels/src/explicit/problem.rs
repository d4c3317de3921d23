//! A discretised problem, and its errors.

use pogo_formats::domains::{SubDomains, ranges_of};
use pogo_formats::explicit::block::{BlocksView, DeviceView};
use pogo_formats::mesh::MeshView;

use super::elements::SectionProperties;
use super::groups::groups_of;
use crate::dynamics::{Constraint, ModelError, NodalForce, State, check_dofs, check_length};

/// A discretised problem, independent of device and precision.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// Mesh in solver order.
    pub mesh: MeshView<'a>,
    /// Block tables.
    pub blocks: BlocksView<'a>,
    /// Tables for devices with many threads; the CPU needs none.
    pub device: Option<DeviceView<'a>>,
    /// One a section.
    pub sections: Vec<SectionProperties>,
    /// Factor on the stiffness of each element (stiffness-reduction layers), (n_elements,), or empty for all 1.
    pub stiffness_factor: Vec<f64>,
    /// m, kg, (n_nodes,).
    pub lumped_mass: Vec<f64>,
    /// α_i = c_i / m_i, 1/s, (n_nodes,), or empty without damping.
    pub damping_rate: Vec<f64>,
    /// Δt, s.
    pub time_increment: f64,
    /// External forces.
    pub forces: Vec<NodalForce>,
    /// Prescribed components.
    pub constraints: Vec<Constraint>,
    /// Degrees of freedom whose u_n and Δu_{n+1} are recorded at each recorded step.
    pub monitors: Vec<u64>,
}

/// Why a stepper cannot be made. Nodes, elements and blocks are given by their solver index.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum StepperError {
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A mass is negative or no number.
    #[error("node index {node} has the mass {mass} kg")]
    Mass { node: usize, mass: f64 },
    /// A damping rate is negative or no number.
    #[error("node index {node} has the damping rate {rate} 1/s")]
    Damping { node: usize, rate: f64 },
    #[error("a force acts on node index {node}, which has no mass: it belongs to no element")]
    Massless { node: usize },
    /// Δt is not positive.
    #[error("the time increment is {increment} s")]
    Increment { increment: f64 },
    /// A signal that does not exist.
    #[error("signal {signal} of {n_signals}")]
    Signal { signal: u32, n_signals: usize },
    /// 16-bit local offsets do not reach. `nodes` counts own and halo nodes.
    #[error("block {block} has {nodes} nodes with its halo, more than 16,379 in 2D or 8,183 in 3D: use smaller blocks")]
    BlockTooLarge { block: usize, nodes: usize },
    /// The block tables contradict each other.
    #[error("block {block}: {what}; write the block file again")]
    Blocks { block: usize, what: &'static str },
}

impl Problem<'_> {
    /// The factor on an element's stiffness.
    pub(super) fn stiffness_factor_of(&self, element: u32) -> f64 {
        self.stiffness_factor.get(element as usize).copied().unwrap_or(1.0)
    }

    /// α of a node, 1/s.
    pub(super) fn damping_rate_of(&self, node: usize) -> f64 {
        self.damping_rate.get(node).copied().unwrap_or(0.0)
    }

    /// (1 − q) / (1 + q) and α m / 4Δt, kg/s², of a node, q = αΔt/2.
    pub(super) fn damping(&self, node: usize) -> [f64; 2] {
        let (alpha, dt) = (self.damping_rate_of(node), self.time_increment);
        let q = 0.5 * alpha * dt;
        [(1.0 - q) / (1.0 + q), alpha * self.lumped_mass[node] / (4.0 * dt)]
    }

    /// Blocks that the CPU steps as one, (n_cells,): what sub-domains must not divide, or they would compute in another
    /// order than the whole. A device steps each block by itself.
    pub fn cells(&self) -> Vec<Vec<usize>> {
        groups_of(&self.blocks, self.mesh.dimension)
    }

    /// The parts of a model that is cut into `n_domains` sub-domains, given that of each block, (n_blocks,), and what they
    /// send each other.
    pub fn domains(&self, domain: &[u32], n_domains: usize, method: &str) -> SubDomains {
        let own = ranges_of(self.blocks.node_first, domain, n_domains);
        let mut needed = vec![Vec::new(); n_domains];
        for (b, &reader) in domain.iter().enumerate() {
            let is_foreign = |&node: &u32| domain[self.blocks.block_of(node)] != reader;
            needed[reader as usize].extend(self.blocks.halo(b).iter().copied().filter(is_foreign));
        }
        SubDomains::new(method, &own, needed)
    }

    /// That lengths and references agree, for the state of `n_nodes` nodes.
    pub(super) fn check(&self, state: &State, n_nodes: usize) -> Result<(), StepperError> {
        let (mesh, blocks) = (&self.mesh, &self.blocks);
        if !matches!(mesh.dimension, 2 | 3) {
            check_length("dimension", 2, mesh.dimension)?;
        }
        check_length("coordinates", mesh.n_nodes() * mesh.dimension, mesh.coordinates.len())?;
        check_length("displacement", n_nodes * mesh.dimension, state.displacement.len())?;
        check_length("increment", n_nodes * mesh.dimension, state.increment.len())?;
        check_length("lumped mass", mesh.n_nodes(), self.lumped_mass.len())?;
        let block_nodes = blocks.node_first.last().map_or(0, |&n| n as usize);
        check_length("nodes of the blocks", mesh.n_nodes(), block_nodes)?;
        for b in 0..blocks.n_blocks() {
            let own = blocks.own_nodes(b);
            if blocks.halo(b).iter().any(|&node| node as usize >= mesh.n_nodes() || own.contains(&(node as usize))) {
                return Err(StepperError::Blocks { block: b, what: "a halo node is no node of another block" });
            }
        }
        for (what, needed, found) in [
            ("damping rate", mesh.n_nodes(), self.damping_rate.len()),
            ("stiffness factors", mesh.n_elements(), self.stiffness_factor.len()),
        ] {
            if found != 0 {
                check_length(what, needed, found)?;
            }
        }
        if !(self.time_increment > 0.0 && self.time_increment.is_finite()) {
            return Err(StepperError::Increment { increment: self.time_increment });
        }
        if let Some(&section) = blocks.run_section.iter().find(|&&s| s as usize >= self.sections.len()) {
            check_length("sections", section as usize + 1, self.sections.len())?;
        }
        if let Some(&e) = blocks.elements.iter().find(|&&e| e as usize >= mesh.n_elements()) {
            check_length("elements", e as usize + 1, mesh.n_elements())?;
        }
        check_dofs(mesh.n_nodes() * mesh.dimension, &self.forces, &self.constraints, &self.monitors)?;
        let massless = |force: &&NodalForce| self.lumped_mass[force.dof as usize / mesh.dimension] == 0.0;
        match self.forces.iter().find(massless) {
            Some(force) => Err(StepperError::Massless { node: force.dof as usize / mesh.dimension }),
            None => Ok(()),
        }
    }
}

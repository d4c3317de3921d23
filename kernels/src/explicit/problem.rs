//! A discretised problem, and its errors.

use pogo_formats::domains::{SubDomains, ranges_of};
use pogo_formats::dynamics::CopiedDisplacements;
use pogo_formats::explicit::block::{BlocksView, DeviceView};
use pogo_formats::mesh::MeshView;

use super::dashpot::Dashpot;
use super::elements::SectionProperties;
use super::groups::groups_of;
use super::projection::{Inertia, LinearRows, Projection, ProjectionError};
use super::relaxation::Relaxation;
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
    /// β in C = βK, s, (n_sections,), or empty without stiffness-proportional damping.
    pub damping_beta: Vec<f64>,
    /// Relaxation mechanisms, of solids.
    pub relaxation: Relaxation,
    /// Dashpots between nodes with mass and the ground, at most one a node.
    pub dashpots: Vec<Dashpot>,
    /// Δt, s.
    pub time_increment: f64,
    /// External forces.
    pub forces: Vec<NodalForce>,
    /// Prescribed components.
    pub constraints: Vec<Constraint>,
    /// Degrees of freedom whose u_n and Δu_{n+1} are recorded at each recorded step. With relaxation also (1 + l) n_dofs + a
    /// degree of freedom: the first number recorded is z_l, m. With linear constraints also [`Self::monitor_of_force`] of a degree
    /// of freedom: the first number recorded is the force that they put on it, N.
    pub monitors: Vec<u64>,
    /// Displacements that are copied after each step. Nodes that are copied to have no mass, and neither forces nor
    /// constraints nor monitors.
    pub copied: CopiedDisplacements,
    /// Linear constraints: rows of displacements of solids, and rows of the unknowns of fluids, their first components. No row has
    /// both, and they have no massless unknown in common. None in a model with copied displacements.
    pub rows: LinearRows,
    /// Where fluids and solids share faces. Both nodes of a pair are in the same block, and in no other pair. None in a model with
    /// lags or relaxation, whose pairs are all in `tied`.
    pub wet: Vec<WetPair>,
    /// Where fluids are tied to solids: any number of pairs a node, in any blocks. None of these nodes is in `wet`. None in a
    /// model with copied displacements.
    pub tied: Vec<WetPair>,
}

/// A node of a fluid and one of a solid that touch: the pressure p of the fluid puts the force A p on the solid, and the solid's
/// velocity v lets A · v flow out of the fluid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WetPair {
    /// Solver index of the fluid's node.
    pub fluid: u32,
    /// Solver index of the solid's node.
    pub solid: u32,
    /// A, m²: the part of the surface that belongs to both nodes, along the normal out of the fluid.
    pub area: [f64; 3],
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
    /// Displacements are copied on a device, or from nodes that a part of a model does not read.
    #[error("displacements that are copied from node to node need a stepper on the CPU, which reads both nodes")]
    Copied,
    /// Linear constraints in a part of a model that no ranks complete.
    #[error("linear constraints need a stepper of the whole model, or steppers of all its parts")]
    Linear,
    /// Linear constraints beside what they are not computed with.
    #[error("linear constraints are not computed together with {what}")]
    LinearWith { what: &'static str },
    /// Ties of fluids in a part of a model that no ranks complete.
    #[error("fluids tied to solids need a stepper of the whole model, or steppers of all its parts")]
    Tied,
    /// Ties of fluids beside what they are not computed with.
    #[error("ties between fluids and solids are not computed together with {what}")]
    TiedWith { what: &'static str },
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// β is negative or no number.
    #[error("section {section} has the damping β = {beta} s")]
    Beta { section: usize, beta: f64 },
    #[error("relaxation rates must be positive, and at most three")]
    RelaxationRates,
    /// Y_l of a section is negative, or the sum is 1 or more.
    #[error("section {section} has relaxation strengths that are negative, or whose sum is not below 1")]
    RelaxationStrengths { section: usize },
    /// A dashpot is at no node, at one without mass, or no number.
    #[error("the dashpot at node index {node} has no mass to act on, or is no number")]
    Dashpot { node: usize },
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

    /// β/Δt of a section: its elements feel K (u_n + β/Δt Δu_n).
    pub(super) fn lag_of(&self, section: usize) -> f64 {
        self.damping_beta.get(section).copied().unwrap_or(0.0) / self.time_increment
    }

    /// Whether a section has stiffness-proportional damping.
    pub fn is_lagged(&self) -> bool {
        self.damping_beta.iter().any(|&beta| beta != 0.0)
    }

    /// Whether elements feel more than the displacement: stiffness-proportional damping, or relaxation.
    pub fn is_viscous(&self) -> bool {
        self.is_lagged() || !self.relaxation.is_empty()
    }

    /// What elements feel beside the displacement, as a user knows it: see [`is_viscous`](Self::is_viscous).
    pub fn viscosity(&self) -> Option<&'static str> {
        if self.is_lagged() {
            return Some("stiffness-proportional damping (BETA)");
        }
        (!self.relaxation.is_empty()).then_some("damping by relaxation mechanisms ([relaxation])")
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
    /// send each other. A part that reads a copied node also reads the node that it is copied from.
    pub fn domains(&self, domain: &[u32], n_domains: usize, method: &str) -> SubDomains {
        let own = ranges_of(self.blocks.node_first, domain, n_domains);
        let mut needed = vec![Vec::new(); n_domains];
        let origins = self.copied.origins(if self.copied.is_empty() { 0 } else { self.mesh.n_nodes() });
        let origin = |node: u32| origins.get(node as usize).copied().filter(|&from| from != node);
        for (b, &reader) in domain.iter().enumerate() {
            let is_foreign = |&node: &u32| domain[self.blocks.block_of(node)] != reader;
            let halo = self.blocks.halo(b).iter().copied();
            let own = self.blocks.own_nodes(b).map(|node| node as u32);
            let origins = own.chain(halo.clone()).filter_map(origin);
            needed[reader as usize].extend(halo.chain(origins).filter(is_foreign));
        }
        SubDomains::new(method, &own, needed)
    }

    /// What linear constraints are not computed with.
    pub fn beside_rows(&self) -> Option<&'static str> {
        let is_there = !(self.rows.is_empty() || self.copied.is_empty());
        is_there.then_some("periodic sides (mpi)")
    }

    /// What ties of fluids are not computed with.
    fn beside_ties(&self) -> Option<&'static str> {
        let is_there = !(self.tied.is_empty() || self.copied.is_empty());
        is_there.then_some("periodic sides (mpi)")
    }

    /// Whether something acts on steps across blocks: linear constraints, or ties of fluids.
    pub(super) fn has_correction(&self) -> bool {
        !(self.rows.is_empty() && self.tied.is_empty())
    }

    /// The projections onto the linear constraints of solids and onto those of fluids, where there are some.
    pub(super) fn projections(&self) -> Result<[Option<Projection>; 2], ProjectionError> {
        let mut constraints = self.constraints.clone();
        constraints.sort_unstable_by_key(|held| held.dof);
        let is_fluid = self.rows_of_fluids();
        let of_matter = |of_fluids: bool, components: usize| {
            let inertia = Inertia {
                dimension: self.mesh.dimension,
                components,
                lumped_mass: &self.lumped_mass,
                damping_rate: &self.damping_rate,
                dashpots: &self.dashpots,
                time_increment: self.time_increment,
                constraints: &constraints,
            };
            let rows = self.rows.only(|row| is_fluid[row] == of_fluids);
            if rows.is_empty() { Ok(None) } else { Projection::new(&rows, &inertia).map(Some) }
        };
        Ok([of_matter(false, self.mesh.dimension)?, of_matter(true, 1)?])
    }

    /// Whether each row of linear constraints is one of fluids, (n_rows,).
    fn rows_of_fluids(&self) -> Vec<bool> {
        let fluid = if self.rows.is_empty() { Vec::new() } else { self.mesh.fluid_nodes() };
        let is_fluid =
            |(dof, _): (u64, f64)| fluid.get((dof / self.mesh.dimension as u64) as usize).is_some_and(|&fluid| fluid);
        (0..self.rows.n_rows()).map(|row| self.rows.terms(row).any(is_fluid)).collect()
    }

    /// What monitors the force of linear constraints on a degree of freedom; see [`monitors`](Self::monitors).
    pub fn monitor_of_force(&self, dof: u64) -> u64 {
        (1 + self.relaxation.rates.len() as u64) * self.rows.n_dofs + dof
    }

    /// The degree of freedom on which a monitor records the force of linear constraints.
    pub(super) fn force_of_monitor(&self, monitor: u64) -> Option<u64> {
        monitor.checked_sub(self.monitor_of_force(0)).filter(|_| !self.rows.is_empty())
    }

    fn check_rows(&self, n_dofs: usize) -> Result<(), StepperError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if let Some(what) = self.beside_rows() {
            return Err(StepperError::LinearWith { what });
        }
        check_length("degrees of freedom of linear constraints", n_dofs, self.rows.n_dofs as usize)?;
        let end = self.rows.n_dofs + self.rows.n_massless as u64;
        if let Some(&dof) = self.rows.dofs.iter().find(|&&dof| dof >= end) {
            return Err(ModelError::Dof { what: "linear constraint", dof, n_dofs: end as usize }.into());
        }
        let fluid = self.mesh.fluid_nodes();
        let d = self.mesh.dimension as u64;
        let is_unknown_of_fluid = |(dof, _): (u64, f64)| {
            dof >= self.rows.n_dofs
                || dof.is_multiple_of(d) && fluid.get((dof / d) as usize).is_some_and(|&fluid| fluid)
        };
        let is_mixed = |(row, of_fluids)| of_fluids && !self.rows.terms(row).all(is_unknown_of_fluid);
        match (0..).zip(self.rows_of_fluids()).any(is_mixed) {
            true => Err(StepperError::LinearWith { what: "the pressure of a fluid in one row" }),
            false => Ok(()),
        }
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
            ("damping β", self.sections.len(), self.damping_beta.len()),
        ] {
            if found != 0 {
                check_length(what, needed, found)?;
            }
        }
        if !(self.time_increment > 0.0 && self.time_increment.is_finite()) {
            return Err(StepperError::Increment { increment: self.time_increment });
        }
        if let Some((section, &beta)) =
            self.damping_beta.iter().enumerate().find(|(_, beta)| !(**beta >= 0.0 && beta.is_finite()))
        {
            return Err(StepperError::Beta { section, beta });
        }
        self.relaxation.check(self.sections.len())?;
        if let Some(&section) = blocks.run_section.iter().find(|&&s| s as usize >= self.sections.len()) {
            check_length("sections", section as usize + 1, self.sections.len())?;
        }
        if let Some(&e) = blocks.elements.iter().find(|&&e| e as usize >= mesh.n_elements()) {
            check_length("elements", e as usize + 1, mesh.n_elements())?;
        }
        if let Some(what) = self.beside_ties() {
            return Err(StepperError::TiedWith { what });
        }
        if let Some(pair) = self.wet.first().filter(|_| self.is_viscous()) {
            let block = blocks.block_of(pair.solid);
            return Err(StepperError::Blocks {
                block,
                what: "with lags or relaxation, nodes of fluids and solids are tied",
            });
        }
        if let Some(pair) =
            self.wet.iter().chain(&self.tied).find(|pair| pair.fluid.max(pair.solid) as usize >= mesh.n_nodes())
        {
            check_length("nodes", pair.fluid.max(pair.solid) as usize + 1, mesh.n_nodes())?;
        }
        let n_dofs = mesh.n_nodes() * mesh.dimension;
        // Beyond, those of relaxation record the memory of a degree of freedom, and those of linear constraints the force on it.
        let n_beyond = self.relaxation.rates.len() + usize::from(!self.rows.is_empty());
        let limit = (1 + n_beyond) * n_dofs;
        check_dofs(n_dofs, &self.forces, &self.constraints, &[])?;
        check_dofs(limit, &[], &[], &self.monitors)?;
        self.check_rows(n_dofs)?;
        let is_wrong = |dashpot: &&Dashpot| {
            let mass = self.lumped_mass.get(dashpot.node as usize);
            !mass.is_some_and(|&mass| mass > 0.0)
                || !dashpot.matrix.as_flattened().iter().all(|value| value.is_finite())
        };
        if let Some(dashpot) = self.dashpots.iter().find(is_wrong) {
            return Err(StepperError::Dashpot { node: dashpot.node as usize });
        }
        let massless = |force: &&NodalForce| self.lumped_mass[force.dof as usize / mesh.dimension] == 0.0;
        match self.forces.iter().find(massless) {
            Some(force) => Err(StepperError::Massless { node: force.dof as usize / mesh.dimension }),
            None => Ok(()),
        }
    }
}

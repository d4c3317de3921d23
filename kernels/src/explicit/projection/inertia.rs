//! The metric in which motions are projected: the lumped mass with what damping adds to it in a step.

use std::ops::Range;

use crate::dynamics::Constraint;
use crate::explicit::dashpot::{Dashpot, inverse_of_free};

/// M = (1 + αΔt/2) m + Δt/2 G of the nodes of a model, with the lumped mass m, the damping rate α and the dashpots G.
#[derive(Debug, Clone, Copy)]
pub struct Inertia<'a> {
    /// Components of a node.
    pub dimension: usize,
    /// Those that rows may name: all, or the first one of fluids.
    pub components: usize,
    /// m, kg, (n_nodes,).
    pub lumped_mass: &'a [f64],
    /// α, 1/s, (n_nodes,), or empty for all 0.
    pub damping_rate: &'a [f64],
    /// At most one a node.
    pub dashpots: &'a [Dashpot],
    /// Δt, s; 0 for the mass alone.
    pub time_increment: f64,
    /// Prescribed degrees of freedom, ascending.
    pub constraints: &'a [Constraint],
}

/// A node with a dashpot, which couples its components in M.
#[derive(Debug, Clone)]
pub(in crate::explicit) struct CoupledNode {
    /// All components among the touched degrees of freedom.
    pub places: Range<usize>,
    /// M, kg.
    pub mass: [[f64; 3]; 3],
    /// M⁻¹ of the components that are free, 1/kg; 0 of those that are prescribed.
    pub inverse: [[f64; 3]; 3],
    /// G, N s/m.
    pub matrix: [[f64; 3]; 3],
}

impl Inertia<'_> {
    fn is_prescribed(&self, dof: u64) -> bool {
        self.constraints.binary_search_by_key(&dof, |held| held.dof).is_ok()
    }

    /// (1 + αΔt/2) m of a node.
    fn mass(&self, node: usize) -> f64 {
        let rate = self.damping_rate.get(node).copied().unwrap_or(0.0);
        self.lumped_mass[node] * (1.0 + 0.5 * rate * self.time_increment)
    }

    /// 1 / (1 + αΔt/2) m of a degree of freedom, 0 where it is prescribed.
    pub(super) fn inverse_mass(&self, dof: u64) -> f64 {
        let mass = self.mass(dof as usize / self.dimension);
        if self.is_prescribed(dof) || mass <= 0.0 { 0.0 } else { 1.0 / mass }
    }

    /// Dashpots in the order of their nodes, those that have a part in M.
    fn acting(&self) -> Vec<&Dashpot> {
        let mut acting: Vec<&Dashpot> = self.dashpots.iter().filter(|_| self.time_increment > 0.0).collect();
        acting.sort_unstable_by_key(|dashpot| dashpot.node);
        acting
    }

    /// Adds the other components of nodes with dashpots to degrees of freedom that are touched, ascending.
    pub(super) fn add_coupled_components(&self, touched: &mut Vec<u64>) {
        let d = self.dimension as u64;
        let mut others = Vec::new();
        for dashpot in self.acting() {
            let first = u64::from(dashpot.node) * d;
            let own = first..first + self.components as u64;
            let at = touched.partition_point(|&dof| dof < own.start);
            if touched.get(at).is_some_and(|dof| own.contains(dof)) {
                others.extend(own.filter(|dof| touched.binary_search(dof).is_err()));
            }
        }
        touched.extend(others);
        touched.sort_unstable();
    }

    /// The nodes with dashpots among degrees of freedom that are touched, ascending.
    pub(super) fn coupled_nodes(&self, touched: &[u64]) -> Vec<CoupledNode> {
        let (d, n, half) = (self.dimension, self.components, 0.5 * self.time_increment);
        let of_dashpot = |dashpot: &Dashpot| {
            let node = dashpot.node as usize;
            let first = touched.binary_search(&((node * d) as u64)).ok()?;
            let is_held = std::array::from_fn(|c| c < n && self.is_prescribed((node * d + c) as u64));
            let mut mass = dashpot.matrix.map(|row| row.map(|value| half * value));
            (0..3).for_each(|c| mass[c][c] += self.mass(node));
            let inverse = inverse_of_free(mass, is_held);
            Some(CoupledNode { places: first..first + n, mass, inverse, matrix: dashpot.matrix })
        };
        self.acting().into_iter().filter_map(of_dashpot).collect()
    }
}

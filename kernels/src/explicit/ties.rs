//! What passes between fluids and solids outside the blocks: the nodes, what a force does to each, and the areas that they share.
//!
//! Nodes of a fluid and of a solid that `*TIE` joins do not coincide, so that an area A_fs belongs to each pair of a fluid's node f
//! and a solid's node s whose shape functions overlap. The step of the blocks leaves these areas out. Then
//!
//! ```text
//! Δu_s ← Δu_s + Δt²/M (Σ_f A_fs p_f),          p_f = −Δq_f/Δt before the step
//! Δq_f ← Δq_f + Δt²/m (Σ_s A_fs · Δu_s)/Δt,    Δu_s after the first line
//! ```
//!
//! are the same two lines of the scheme as where nodes are shared. Linear constraints move solids between the two lines.
//!
//! Where nodes are shared, blocks take both lines. Of these nodes those are here whose solid constraints move: then its fluid follows
//! what they have added to Δu_s. With lags or relaxation all pairs are here: the blocks' account of energy has no room for them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::dashpot::{Dashpot, inverse_of_free};
use super::problem::Problem;

/// A part of the surface that a node shares with one of the other matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TieArea {
    /// The other node.
    pub other: u32,
    /// A/Δt, m²/s.
    pub area: [f64; 3],
    /// The blocks have taken the step with the motion that they gave the other node.
    pub is_stepped: bool,
}

/// A node of a fluid or of a solid.
#[derive(Debug)]
pub(super) struct TieNode {
    pub node: u32,
    /// Components: those of a solid, or the first one of a fluid.
    pub n: usize,
    /// Components that are prescribed.
    pub is_held: [bool; 3],
    /// What a force adds to Δu_{n+1}, m/N.
    pub response: [[f64; 3]; 3],
    /// G of a dashpot, N s/m.
    pub matrix: [[f64; 3]; 3],
    /// α m / 4Δt, kg/s².
    pub dissipation: f64,
    /// (1 − q) m/Δt² and (1 + q) m/Δt², N/m.
    pub inertia: [f64; 2],
    /// In an order that does not depend on that of the problem's lists.
    pub areas: Vec<TieArea>,
}

/// The nodes of a model, each kind ascending.
#[derive(Debug)]
pub(super) struct TieNodes {
    pub solids: Vec<TieNode>,
    pub fluids: Vec<TieNode>,
}

impl TieNodes {
    /// Those of ties, and those of fluids that touch solids of which linear constraints move the degrees of freedom `moved`. None
    /// where there are none.
    pub fn new(problem: &Problem, moved: impl Iterator<Item = u64>) -> Option<Self> {
        let d = problem.mesh.dimension;
        let moved: HashSet<u32> = moved.map(|dof| (dof / d as u64) as u32).collect();
        let [mut of_solids, mut of_fluids] = [BTreeMap::new(), BTreeMap::<u32, Vec<TieArea>>::new()];
        let of_pair = |area: [f64; 3], other, is_stepped| TieArea {
            other,
            area: area.map(|area| area / problem.time_increment),
            is_stepped,
        };
        for pair in &problem.tied {
            of_solids.entry(pair.solid).or_insert_with(Vec::new).push(of_pair(pair.area, pair.fluid, false));
            of_fluids.entry(pair.fluid).or_default().push(of_pair(pair.area, pair.solid, false));
        }
        for pair in problem.wet.iter().filter(|pair| moved.contains(&pair.solid)) {
            of_solids.entry(pair.solid).or_default();
            of_fluids.entry(pair.fluid).or_default().push(of_pair(pair.area, pair.solid, true));
        }
        let conditions = Conditions::new(problem);
        let nodes = |areas: BTreeMap<u32, Vec<TieArea>>, n| {
            areas.into_iter().map(|(node, areas)| conditions.node(node, n, areas)).collect()
        };
        (!of_fluids.is_empty()).then(|| Self { solids: nodes(of_solids, d), fluids: nodes(of_fluids, 1) })
    }

    /// Solids, then fluids.
    pub fn all(&self) -> impl Iterator<Item = &TieNode> {
        self.solids.iter().chain(&self.fluids)
    }
}

/// What is prescribed, and which nodes have dashpots.
struct Conditions<'a, 'b> {
    problem: &'a Problem<'b>,
    held: HashSet<u64>,
    dashpots: HashMap<u32, &'a Dashpot>,
}

impl<'a, 'b> Conditions<'a, 'b> {
    fn new(problem: &'a Problem<'b>) -> Self {
        let held = problem.constraints.iter().map(|constraint| constraint.dof).collect();
        let dashpots = problem.dashpots.iter().map(|dashpot| (dashpot.node, dashpot)).collect();
        Self { problem, held, dashpots }
    }

    fn node(&self, node: u32, n: usize, mut areas: Vec<TieArea>) -> TieNode {
        let (problem, index) = (self.problem, node as usize);
        let (mass, dt) = (problem.lumped_mass[index], problem.time_increment);
        let q = 0.5 * problem.damping_rate_of(index) * dt;
        let first = u64::from(node) * problem.mesh.dimension as u64;
        let is_held = std::array::from_fn(|c| c < problem.mesh.dimension && self.held.contains(&(first + c as u64)));
        let matrix = self.dashpots.get(&node).map_or([[0.0; 3]; 3], |dashpot| dashpot.matrix);
        // (1 + q) m + Δt/2 G.
        let mut system = matrix.map(|row| row.map(|value| 0.5 * dt * value));
        (0..3).for_each(|c| system[c][c] += (1.0 + q) * mass);
        let response = match mass > 0.0 {
            true => inverse_of_free(system, is_held).map(|row| row.map(|value| dt * dt * value)),
            false => [[0.0; 3]; 3],
        };
        areas.sort_by_key(|area| area.other);
        let inertia = [1.0 - q, 1.0 + q].map(|factor| factor * mass / (dt * dt));
        TieNode { node, n, is_held, response, matrix, dissipation: problem.damping(index)[1], inertia, areas }
    }
}

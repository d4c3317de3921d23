//! What is to be solved.

use pogo_formats::voxel::BricksView;
use rayon::prelude::*;

/// Young's modulus of each element.
#[derive(Debug, Clone, Copy)]
pub enum Moduli<'a> {
    /// A class each.
    Classes {
        /// Index into `young`, (n_elements,).
        class: &'a [u8],
        /// Young's modulus of each class, positive.
        young: &'a [f64],
    },
    /// A modulus each, positive.
    Each {
        /// (n_elements,).
        modulus: &'a [f32],
        /// What all are multiplied with.
        scale: f64,
    },
}

impl Moduli<'_> {
    /// Young's modulus of element `e`.
    #[inline(always)]
    pub fn young(&self, e: usize) -> f64 {
        match *self {
            Self::Classes { class, young } => young[usize::from(class[e])],
            Self::Each { modulus, scale } => f64::from(modulus[e]) * scale,
        }
    }
}

/// A prescribed displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedDof {
    /// Node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Displacement, in the unit of the edge length.
    pub value: f64,
}

/// A force on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodalForce {
    /// Node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Force, modulus × length².
    pub value: f64,
}

/// One linear problem on a voxel mesh.
#[derive(Debug, Clone, Copy)]
pub struct StaticProblem<'a> {
    /// Which voxels are there.
    pub bricks: BricksView<'a>,
    /// Young's moduli E.
    pub moduli: Moduli<'a>,
    /// Poisson's ratio ν of all elements, in (−1, 0.5).
    pub poisson: f64,
    /// Edge of a voxel h.
    pub spacing: f64,
    /// Prescribed displacements, ascending by node and direction, each degree of freedom at most once.
    pub fixed: &'a [FixedDof],
    /// Forces, ascending by node and direction, each degree of freedom at most once.
    pub forces: &'a [NodalForce],
}

impl StaticProblem<'_> {
    /// Largest ‖f − K x‖ that is nothing but rounding where displacements are as large as 1.
    pub(super) fn rounding(&self) -> f64 {
        let young = (0..self.bricks.n_elements()).into_par_iter().map(|e| self.moduli.young(e));
        1e-14 * (3.0 * self.bricks.n_nodes() as f64).sqrt() * self.spacing * young.reduce(|| 0.0, f64::max)
    }
}

/// When a solve is done: ‖r‖ of `norm0` ‖r₀‖, or, where the prescribed displacements themselves are the solution, what rounding leaves.
pub(super) fn stopping(norm0: f64, tolerance: f64, rounding: f64, fixed: &[FixedDof]) -> Stopping {
    let negligible = rounding * fixed.iter().fold(0.0_f64, |most, dof| most.max(dof.value.abs()));
    if norm0 > negligible {
        Stopping { limit: tolerance * norm0, unit: norm0 }
    } else {
        Stopping { limit: negligible, unit: f64::INFINITY }
    }
}

/// See [`stopping`].
pub(super) struct Stopping {
    /// ‖r‖ to come to.
    pub limit: f64,
    /// What ‖r‖ is told in parts of.
    pub unit: f64,
}

//! The problem to solve, and when it counts as solved.

use pogo_formats::voxel::BricksView;
use rayon::prelude::*;

/// Young's modulus of each element.
#[derive(Debug, Clone, Copy)]
pub enum Moduli<'a> {
    /// Elements have classes, and each class has a modulus.
    Classes {
        /// Index into `young`, (n_elements,).
        class: &'a [u8],
        /// Young's modulus of each class, positive.
        young: &'a [f64],
    },
    /// Each element has a modulus of its own, positive.
    Each {
        /// Modulus of each element over `scale`, (n_elements,).
        modulus: &'a [f32],
        /// Factor of all moduli.
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

/// Voxels of one size with their moduli.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Voxels<'a> {
    pub bricks: BricksView<'a>,
    pub moduli: Moduli<'a>,
    /// Edge of a voxel h.
    pub spacing: f64,
}

impl Voxels<'_> {
    /// E h of element `e`.
    #[inline(always)]
    pub fn stiffness(&self, e: usize) -> f64 {
        self.spacing * self.moduli.young(e)
    }
}

/// A prescribed displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedDof {
    /// Index of the node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Displacement, in the unit of the edge length.
    pub value: f64,
}

impl FixedDof {
    /// Number of the degree of freedom, 3 node + direction.
    pub(crate) fn dof(&self) -> usize {
        3 * self.node as usize + usize::from(self.direction)
    }
}

/// A force on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodalForce {
    /// Index of the node.
    pub node: u32,
    /// 0, 1, 2: x, y, z.
    pub direction: u8,
    /// Force, modulus × length².
    pub value: f64,
}

impl NodalForce {
    /// Number of the degree of freedom, 3 node + direction.
    pub(crate) fn dof(&self) -> usize {
        3 * self.node as usize + usize::from(self.direction)
    }
}

/// One linear problem on a voxel mesh.
#[derive(Debug, Clone, Copy)]
pub struct StaticProblem<'a> {
    /// Elements and nodes of the mesh.
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
    /// Upper bound of the rounding error in ‖f − K x‖ for displacements of size 1.
    pub(crate) fn rounding(&self) -> f64 {
        let young = (0..self.bricks.n_elements()).into_par_iter().map(|e| self.moduli.young(e));
        1e-14 * (3.0 * self.bricks.n_nodes() as f64).sqrt() * self.spacing * young.reduce(|| 0.0, f64::max)
    }
}

/// When an iteration stops, and the unit in which it reports ‖r‖.
pub(crate) struct Stopping {
    /// ‖r‖ at which it stops.
    pub limit: f64,
    /// Relative residuals are ‖r‖ over this.
    pub unit: f64,
}

impl Stopping {
    /// Stops at `tolerance` ‖r₀‖. Where ‖r₀‖ is no more than the rounding error (see [`StaticProblem::rounding`]), the
    /// prescribed displacements themselves are the solution; their relative residual is 0.
    pub fn new(norm0: f64, tolerance: f64, rounding: f64, fixed: &[FixedDof]) -> Self {
        let negligible = rounding * fixed.iter().fold(0.0_f64, |most, dof| most.max(dof.value.abs()));
        if norm0 > negligible {
            Self { limit: tolerance * norm0, unit: norm0 }
        } else {
            Self { limit: negligible, unit: f64::INFINITY }
        }
    }
}

//! Settings and errors of the papers' solver.

use pogo_formats::voxel::build::BricksError;

use crate::voxel::{CycleKind, FACTORISED};

/// Settings of the papers' preconditioner.
#[derive(Debug, Clone, PartialEq)]
pub struct AveragedSettings {
    /// Number of levels, the finest one counted.
    pub levels: usize,
    /// V, W or F; K counts as V.
    pub cycle: CycleKind,
    /// Degree of the Chebyshev smoother.
    pub degree: usize,
    /// The smoother works on [λ / ratio, λ].
    pub ratio: f64,
    /// Steps of conjugate gradients on the coarsest level; none: it is factorised.
    pub bottom: Option<usize>,
    /// The preconditioner is in f32.
    pub single: bool,
    /// ‖r‖ / ‖r₀‖ at which to stop.
    pub tolerance: f64,
    /// r₀ is the residual of the start vector, where there is one; else that of the prescribed displacements.
    pub from_start: bool,
    /// Largest number of iterations.
    pub iterations: usize,
}

/// Why there is no solution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AveragedError {
    /// Not enough memory for the coarse grids.
    #[error("{0}")]
    Bricks(#[from] BricksError),
    /// The coarsest level is too large to be factorised.
    #[error("the coarsest level has {0} degrees of freedom, at most {FACTORISED} are factorised; allow more levels")]
    Factorised(usize),
    /// Coarse images have no joined nodes.
    #[error(
        "periodic boundary conditions are solved with coarse_operator = split or galerkin, not with averaged moduli (preset = papers)"
    )]
    Joined,
    /// Means of moduli say nothing of Poisson's ratios.
    #[error(
        "materials with different Poisson's ratios are solved with coarse_operator = split or galerkin, not with averaged moduli (preset = papers)"
    )]
    Ratios,
}

impl Default for AveragedSettings {
    fn default() -> Self {
        Self {
            levels: 6,
            cycle: CycleKind::W,
            degree: 10,
            ratio: 16.0,
            bottom: Some(20),
            single: false,
            tolerance: 1e-6,
            from_start: true,
            iterations: 10_000,
        }
    }
}

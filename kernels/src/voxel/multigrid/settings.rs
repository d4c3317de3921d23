//! Settings of the multigrid preconditioner.

/// How levels call each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CycleKind {
    /// One cycle on each coarse level for one on the level above.
    V,
    /// Two cycles on each coarse level for one on the level above.
    W,
    /// An F-cycle on each coarse level, then a V-cycle.
    F,
    /// Coarse levels are solved by a few steps of flexible conjugate gradients with the cycle as preconditioner.
    #[default]
    K,
}

/// Settings of the preconditioner.
#[derive(Debug, Clone, PartialEq)]
pub struct CycleSettings {
    /// Smoothing steps before and as many after the correction, on the finest level and on the others.
    pub degree: [usize; 2],
    /// Chebyshev smoothing on [λ / ratio, λ]; none: of the fourth kind.
    pub ratio: Option<f64>,
    /// Cells are split into pieces that do not touch; otherwise a coarse level is a regular grid.
    pub split: bool,
    /// Most memory that coarse nodes for each phase may take, bytes; models that need more have common coarse nodes.
    pub phase_bytes: f64,
    /// How levels call each other.
    pub kind: CycleKind,
    /// Levels are added until one has no more degrees of freedom than this; that one is factorised. The CPU also stops at
    /// a level whose factor has no more blocks than a dense factor of this size.
    pub bottom: usize,
    /// The last level is solved by this many steps of conjugate gradients with the diagonal; none: it is factorised, or
    /// solved by 20 steps if it is too large.
    pub bottom_steps: Option<usize>,
    /// Largest number of levels, the finest one counted.
    pub levels: usize,
    /// Steps of conjugate gradients in a K-cycle for level 1, 2, …; the last number holds for all further levels.
    pub inner: Vec<usize>,
    /// Relative residual at which conjugate gradients on a coarse level stop.
    pub inner_tolerance: f64,
}

impl Default for CycleSettings {
    fn default() -> Self {
        Self {
            degree: [2, 2],
            ratio: None,
            split: true,
            phase_bytes: f64::INFINITY,
            kind: CycleKind::K,
            bottom: 600,
            bottom_steps: None,
            levels: 20,
            inner: vec![2, 3, 2],
            inner_tolerance: 0.1,
        }
    }
}

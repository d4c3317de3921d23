//! The outer iteration: what a CPU and a device have in common.

use std::ops::ControlFlow;

use super::multigrid::CycleSettings;
use super::problem::Stopping;

/// Settings of the conjugate gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct SolverSettings {
    /// ‖r‖ / ‖r₀‖ at which to stop, in the Euclidean norm of the true residual r = f − K u over the free degrees of
    /// freedom, computed in f64; r₀ is that of the prescribed displacements with 0 elsewhere.
    pub tolerance: f64,
    /// Whether r₀ is that of the start vector instead, where there is one.
    pub from_start: bool,
    /// Whether directions and preconditioner are in f64 too; otherwise they are in f32.
    pub double: bool,
    /// Largest number of iterations.
    pub iterations: usize,
    /// Settings of the preconditioner.
    pub cycle: CycleSettings,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { tolerance: 1e-6, from_start: false, double: false, iterations: 1000, cycle: CycleSettings::default() }
    }
}

/// The solution of a load case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solution {
    /// Displacements, (n_nodes, 3).
    pub displacement: Vec<f64>,
    /// Number of iterations done.
    pub iterations: usize,
    /// True relative residual at the end, f64.
    pub relative_residual: f64,
    /// Whether it is no larger than the tolerance.
    pub converged: bool,
    /// ‖r‖ / ‖r₀‖ after each iteration, as the iteration follows it in f32.
    pub history: Vec<f64>,
    /// Work in products of the finest level. Other products count by their number of non-zero blocks.
    pub products: f64,
    /// Time of the iterations, s.
    pub seconds: f64,
}

/// The steps of an iteration.
pub(crate) trait Steps {
    type Error;
    /// One iteration; ‖r‖ of the followed residual, or none where the step is not finite.
    fn advance(&mut self) -> Result<Option<f64>, Self::Error>;
    /// Replaces the followed residual by f − K u, computed in f64; its norm.
    fn true_residual(&mut self) -> Result<f64, Self::Error>;
}

/// Iterates from a true residual of norm `norm`. The result counts products of true residuals alone.
pub(crate) fn iterate<S: Steps>(
    steps: &mut S,
    mut norm: f64,
    most: usize,
    Stopping { limit, unit }: Stopping,
    progress: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Solution, S::Error> {
    let mut solution = Solution::default();
    let mut checked = norm;
    while !(norm <= limit) && solution.iterations < most {
        let Some(followed) = steps.advance()? else { break };
        norm = followed;
        solution.iterations += 1;
        if norm <= limit || norm < 1e-3 * checked {
            norm = steps.true_residual()?;
            solution.products += 1.0;
            checked = norm;
        }
        solution.history.push(norm / unit);
        if progress(solution.iterations, norm / unit).is_break() {
            break;
        }
    }
    solution.relative_residual = norm / unit;
    solution.converged = norm <= limit;
    Ok(solution)
}

//! The one place where the solver of the kernels is called.

use std::time::Instant;

use pogo_formats::voxel::setup::StaticSettings;
use pogo_kernels::voxel::StaticProblem;

use super::reference;

/// A solved load case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solved {
    /// Displacements, (n_nodes, 3).
    pub displacement: Vec<f64>,
    /// Iterations.
    pub iterations: usize,
    /// True relative residual.
    pub relative_residual: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Relative residual after each iteration.
    pub history: Vec<f64>,
    /// Fine-product equivalents.
    pub products: f64,
    /// Wall-clock time, s.
    pub seconds: f64,
}

/// Solves one load case, from `start` where it is given.
pub fn solve(problem: &StaticProblem<'_>, settings: &StaticSettings, start: Option<&[f64]>) -> Solved {
    let began = Instant::now();
    let solved = reference::solve(problem, settings.tolerance, settings.max_iterations as usize, start);
    Solved {
        displacement: solved.displacement,
        iterations: solved.iterations,
        relative_residual: solved.relative_residual,
        converged: solved.converged,
        history: solved.history,
        products: solved.products,
        seconds: began.elapsed().as_secs_f64(),
    }
}

//! The Eikonal equation: when does a wave arrive at each node of a mesh of tetrahedra or triangles?
//!
//! ```text
//! √(∇φᵀ D ∇φ) = 1,  φ given at start nodes;   in an element φ is linear and D constant, M = D⁻¹
//! ```
//!
//! (Ganellari, Haase, Zumbusch 2018, eq. 3; they write M for both.) The discrete solution is the one where every node has the least
//! time that the local solver (`local`) gives for any element round it. It is found by sweeps over an active set (`sweep`):
//! a node whose time fell passes it on to *all* its neighbours: with anisotropic D the wave may reach a node through one whose time is
//! later.
//!
//! | array | shape | content |
//! |---|---|---|
//! | `time` | (n_nodes,) | φ, +∞ before the wave comes |
//! | squares | (n_elements, 6) | eᵀ M e of the edges of a tetrahedron, by Gray code |
//!
//! With tolerance 0, sweeps end when no local solve gives an earlier time for any node: the times are then those of all local
//! solvers at once, whatever the order. Times have the same bits for every number of threads and of sub-domains.

mod ball;
mod domains;
mod gpu;
mod local;
mod paths;
mod problem;
mod products;
mod sweep;
#[cfg(test)]
mod tests;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;
use rayon::prelude::*;

use crate::simd::Real;
pub use ball::exact_ball;
use domains::Domains;
pub use gpu::{GpuSettings, GpuSolver, gpu_modules};
pub use paths::{Predecessor, conduction_speed, predecessors};
pub use problem::{
    Arrival, BLOCKED, Decomposition, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Metrics, Statistics,
};
use products::{Eighteen, Elements, OnTheFly, Six, Three, squares};
use sweep::{Pieces, Sweeper};

/// What is stored of the elements.
enum Stored<T> {
    Six(Six<T>),
    Eighteen(Eighteen<T>),
    OnTheFly(OnTheFly<T>),
    Three(Three<T>),
}

/// A mesh that is ready to be solved for one or many sets of starts.
pub struct EikonalSolver<'a, T: Real> {
    mesh: EikonalMeshView<'a>,
    pieces: Pieces,
    /// Where sub-domains are computed apart.
    domains: Option<SubDomainsView<'a>>,
    stored: Stored<T>,
    settings: EikonalSettings,
    /// Mean time over an edge.
    edge_time: f64,
}

impl<'a, T: Real> EikonalSolver<'a, T> {
    /// Computes what is stored of the elements.
    ///
    /// # Errors
    /// Elements with other than 3 or 4 corners; arrays that do not fit the mesh.
    pub fn new(problem: &EikonalProblem<'a>, settings: &EikonalSettings) -> Result<Self, EikonalError> {
        check(problem)?;
        let mesh = problem.mesh.clone();
        let metrics = &problem.metrics;
        let stored = match (mesh.corners, settings.local_solver) {
            (3, _) => Stored::Three(Three::new(&mesh, metrics)),
            (_, LocalSolver::Six) => Stored::Six(Six::new(&mesh, metrics)),
            (_, LocalSolver::Eighteen) => Stored::Eighteen(Eighteen::new(&mesh, metrics)),
            (_, LocalSolver::OnTheFly) => Stored::OnTheFly(OnTheFly::new(&mesh, metrics)),
        };
        let whole = || vec![0, mesh.n_nodes() as u32];
        let pieces = Pieces::new(&problem.domains.as_ref().map_or_else(whole, |domains| domains.starts()));
        let domains = problem.domains.filter(|_| settings.decomposition.by_domains());
        Ok(Self { edge_time: edge_time(problem), mesh, pieces, domains, stored, settings: *settings })
    }

    /// Solves for one set of starts: nodes with their times. A start that the wave of another reaches earlier takes that time.
    ///
    /// Same bits for every number of threads.
    ///
    /// # Errors
    /// No start, a start at no node or at no time.
    pub fn solve(&self, starts: &[(u32, f64)]) -> Result<Arrival<T>, EikonalError> {
        self.run(starts, rayon::current_num_threads() > 1)
    }

    /// Solves for many sets of starts, one a thread at a time, and hands each result over with its number, in no order.
    ///
    /// Same bits as [`solve`](Self::solve).
    ///
    /// # Errors
    /// As for `solve`; the first, and some of the others may have been solved.
    pub fn solve_many<S: AsRef<[(u32, f64)]> + Sync>(
        &self,
        sets: &[S],
        each: impl Fn(usize, Arrival<T>) + Sync,
    ) -> Result<(), EikonalError> {
        let share = sets.len() < rayon::current_num_threads();
        sets.par_iter().enumerate().try_for_each(|(case, starts)| {
            each(case, self.run(starts.as_ref(), share)?);
            Ok(())
        })
    }

    fn run(&self, starts: &[(u32, f64)], share: bool) -> Result<Arrival<T>, EikonalError> {
        match &self.stored {
            Stored::Six(stored) => self.run_with::<_, 4>(stored, starts, share),
            Stored::Eighteen(stored) => self.run_with::<_, 4>(stored, starts, share),
            Stored::OnTheFly(stored) => self.run_with::<_, 4>(stored, starts, share),
            Stored::Three(stored) => self.run_with::<_, 3>(stored, starts, share),
        }
    }

    fn run_with<E: Elements<T, N>, const N: usize>(
        &self,
        stored: &E,
        starts: &[(u32, f64)],
        share: bool,
    ) -> Result<Arrival<T>, EikonalError> {
        let tolerance = self.settings.tolerance;
        if let Some(domains) = self.domains {
            let first = self.settings.decomposition == Decomposition::First;
            return Domains::new(&self.mesh, stored, domains, tolerance, first).run(starts);
        }
        let window = self.settings.window * self.edge_time;
        Sweeper::new(&self.mesh, stored, &self.pieces, tolerance, window).run(starts, share)
    }
}

/// Solves one problem once; see [`EikonalSolver`].
///
/// # Errors
/// As for [`EikonalSolver::new`] and [`EikonalSolver::solve`].
pub fn solve<T: Real>(
    problem: &EikonalProblem,
    starts: &[(u32, f64)],
    settings: &EikonalSettings,
) -> Result<Arrival<T>, EikonalError> {
    EikonalSolver::new(problem, settings)?.solve(starts)
}

/// Everything has the length that the mesh asks for.
fn check(problem: &EikonalProblem) -> Result<(), EikonalError> {
    let mesh = &problem.mesh;
    if !matches!(mesh.corners, 3 | 4) {
        return Err(EikonalError::Corners(mesh.corners));
    }
    let check = |what, found, expected| {
        if found == expected { Ok(()) } else { Err(EikonalError::Length { what, found, expected }) }
    };
    let (n, m) = (mesh.n_nodes(), mesh.n_elements());
    check("coordinates", mesh.coordinates.len(), 3 * n)?;
    check("nodes of elements", mesh.elements.len(), mesh.corners * m)?;
    check("starts of the lists of elements round nodes", mesh.incident_first.len(), n + 1)?;
    match problem.metrics {
        Metrics::Classes { class, .. } => check("classes of elements", class.len(), m)?,
        Metrics::Each(metric) => check("metrics of elements", metric.len(), m)?,
    }
    match &problem.domains {
        Some(domains) => {
            let n_domains = domains.n_domains();
            let n_own = (0..n_domains).map(|domain| domains.n_own(domain)).sum();
            check("nodes of sub-domains", n_own, n)?;
            check("starts of messages", domains.message_first.len(), n_domains + 1)?;
            check("starts of what sub-domains send", domains.sent_first.len(), n_domains + 1)?;
            check("nodes of messages", domains.item_first.len(), domains.n_messages() + 1)
        }
        None => Ok(()),
    }
}

/// Mean of √(eᵀ M e) over edges of elements that are not blocked; of a sample where there are many.
fn edge_time(problem: &EikonalProblem) -> f64 {
    let mesh = &problem.mesh;
    let (mut sum, mut n) = (0.0, 0_u32);
    for e in (0..mesh.n_elements()).step_by(1 + mesh.n_elements() / 20_000) {
        let squares: [f64; 6] = if mesh.corners == 4 {
            squares(mesh, &problem.metrics, e)
        } else {
            let [a, b, c] = squares(mesh, &problem.metrics, e);
            [a, b, c, a, b, c]
        };
        if squares[0].is_finite() {
            sum += squares.iter().map(|square| square.sqrt()).sum::<f64>();
            n += 6;
        }
    }
    if n == 0 { 1.0 } else { sum / f64::from(n) }
}

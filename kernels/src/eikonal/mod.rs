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
//! solvers at once, whatever the order. Times have the same bits for every number of threads and of sub-domains. The paper's own ways
//! to work on sub-domains are in [`papers::eikonal`](crate::papers::eikonal).

mod ball;
mod ecg;
pub(crate) mod gpu;
mod gradient;
mod lead_field;
mod local;
mod paths;
pub(crate) mod problem;
pub(crate) mod products;
mod sweep;
mod team;
#[cfg(test)]
pub(crate) mod tests;
mod tree;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use pogo_formats::eikonal::EikonalMeshView;

use crate::simd::Real;
pub use ball::{exact_ball, exact_ball_with_centres};
pub use ecg::{Conductor, Samples, potentials};
pub use gpu::{GpuPart, GpuSettings, GpuSolver, gpu_modules};
pub use gradient::{Crossing, Derivative, Origin, Walk};
pub use paths::{Predecessor, conduction_speed, keeps_start, predecessors};
use problem::first_time;
pub use problem::{Arrival, BLOCKED, EikonalError, EikonalProblem, EikonalSettings, LocalSolver, Metrics, Statistics};
use products::{Elements, StoredElements, squares};
use sweep::{Nobody, Others, Pieces, Starts, Sweeper};
pub use team::{ArrivalPart, EikonalPart, TeamSolver, cut};
pub use tree::{Coupling, Joint, JointArrival, Rounds, TreeOrigin, TreeTimes};

/// A mesh that is ready to be solved for one or many sets of starts.
pub struct EikonalSolver<'a, T: Real> {
    mesh: EikonalMeshView<'a>,
    pieces: Pieces,
    stored: StoredElements<T>,
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
        let whole = || vec![0, mesh.n_nodes() as u32];
        let pieces = Pieces::new(&problem.domains.as_ref().map_or_else(whole, |domains| domains.starts()));
        let stored = StoredElements::new(problem, settings.local_solver);
        Ok(Self { edge_time: edge_time(problem), mesh, pieces, stored, settings: *settings })
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

    /// Solves for those of many sets of starts that `take` gives, until it gives none, one a thread at a time. Hands each result
    /// over with its number, in no order.
    ///
    /// Same bits as [`solve`](Self::solve).
    ///
    /// # Errors
    /// As for `solve`; the first, and some of the others may have been solved.
    pub fn solve_many<S: AsRef<[(u32, f64)]> + Sync>(
        &self,
        sets: &[S],
        take: impl Fn() -> Option<Range<usize>> + Sync,
        each: impl Fn(usize, Arrival<T>) + Sync,
    ) -> Result<(), EikonalError> {
        let share = sets.len() < rayon::current_num_threads();
        on_all_threads(take, |case| {
            each(case, self.run(sets[case].as_ref(), share)?);
            Ok(())
        })
    }

    fn run(&self, starts: &[(u32, f64)], share: bool) -> Result<Arrival<T>, EikonalError> {
        let starts = Starts { nodes: starts, first: first_time(starts, self.mesh.n_nodes())? };
        let sweeps =
            Sweeps { mesh: &self.mesh, pieces: &self.pieces, settings: &self.settings, edge_time: self.edge_time };
        Ok(sweeps.run(&self.stored, &starts, share, &mut Nobody))
    }
}

/// Gives `n` sets in order, `unit` at a time, to all who take some.
pub fn in_turn(n: usize, unit: usize) -> impl Fn() -> Option<Range<usize>> + Sync {
    let next = AtomicUsize::new(0);
    move || {
        let first = next.fetch_add(unit, Ordering::Relaxed);
        (first < n).then(|| first..n.min(first + unit))
    }
}

/// Calls `solve` with each set that `take` gives, on all threads of the pool, until it gives none.
///
/// # Errors
/// One of those that `solve` gives. A thread that has one takes no more.
pub fn on_all_threads(
    take: impl Fn() -> Option<Range<usize>> + Sync,
    solve: impl Fn(usize) -> Result<(), EikonalError> + Sync,
) -> Result<(), EikonalError> {
    let solved = rayon::broadcast(|_| {
        while let Some(mut range) = take() {
            range.try_for_each(&solve)?;
        }
        Ok(())
    });
    solved.into_iter().collect()
}

/// What sweeps over a mesh, or a part of one, need beside what is stored of its elements.
struct Sweeps<'a> {
    mesh: &'a EikonalMeshView<'a>,
    pieces: &'a Pieces,
    settings: &'a EikonalSettings,
    /// Mean time over an edge of the whole mesh.
    edge_time: f64,
}

impl Sweeps<'_> {
    fn run<T: Real>(
        &self,
        stored: &StoredElements<T>,
        starts: &Starts<'_>,
        share: bool,
        others: &mut dyn Others<T>,
    ) -> Arrival<T> {
        match stored {
            StoredElements::Six(stored) => self.run_with::<_, _, 4>(stored, starts, share, others),
            StoredElements::Eighteen(stored) => self.run_with::<_, _, 4>(stored, starts, share, others),
            StoredElements::OnTheFly(stored) => self.run_with::<_, _, 4>(stored, starts, share, others),
            StoredElements::Three(stored) => self.run_with::<_, _, 3>(stored, starts, share, others),
        }
    }

    fn run_with<T: Real, E: Elements<T, N>, const N: usize>(
        &self,
        stored: &E,
        starts: &Starts<'_>,
        share: bool,
        others: &mut dyn Others<T>,
    ) -> Arrival<T> {
        let window = self.settings.window * self.edge_time;
        Sweeper::new(self.mesh, stored, self.pieces, self.settings.tolerance, window).run(starts, share, others)
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

/// Checks that every array has the length that the mesh asks for.
pub(crate) fn check(problem: &EikonalProblem) -> Result<(), EikonalError> {
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
    let Some(domains) = &problem.domains else { return Ok(()) };
    let n_domains = domains.n_domains();
    check("nodes of sub-domains", (0..n_domains).map(|domain| domains.n_own(domain)).sum(), n)?;
    check("starts of messages", domains.message_first.len(), n_domains + 1)?;
    check("starts of what sub-domains send", domains.sent_first.len(), n_domains + 1)?;
    check("nodes of messages", domains.item_first.len(), domains.n_messages() + 1)
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

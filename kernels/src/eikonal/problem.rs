//! What is to be solved, how, and what comes of it.

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::EikonalMeshView;
pub use pogo_formats::eikonal::setup::LocalSolver;

/// M = D⁻¹ of the elements: xx, yy, zz, xy, yz, zx, time² / length²; a first number of +∞ blocks an element.
#[derive(Debug, Clone, Copy)]
pub enum Metrics<'a> {
    /// One for each class.
    Classes {
        /// Index into `metric`, (n_elements,).
        class: &'a [u16],
        /// M of each class.
        metric: &'a [[f64; 6]],
    },
    /// One for each element, (n_elements,).
    Each(&'a [[f64; 6]]),
}

/// The metric of a blocked element, which no wave enters.
pub const BLOCKED: [f64; 6] = [f64::INFINITY; 6];

impl Metrics<'_> {
    /// M of element `e`, unless it is blocked.
    #[inline]
    pub fn of(&self, e: usize) -> Option<[f64; 6]> {
        let metric = match *self {
            Self::Classes { class, metric } => metric[usize::from(class[e])],
            Self::Each(metric) => metric[e],
        };
        (metric[0] < f64::INFINITY).then_some(metric)
    }
}

/// A mesh with its metrics.
#[derive(Debug, Clone)]
pub struct EikonalProblem<'a> {
    /// Nodes and elements of the mesh.
    pub mesh: EikonalMeshView<'a>,
    /// Sub-domains, by which sweeps are counted; none counts as one.
    pub domains: Option<SubDomainsView<'a>>,
    /// Metric of each element, from which the wave's speed follows.
    pub metrics: Metrics<'a>,
}

/// Settings of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EikonalSettings {
    /// Relative fall of a time that is not worth taking; 0 means that every fall counts.
    pub tolerance: f64,
    /// What of an element is stored. Triangles have their three squares in any case.
    pub local_solver: LocalSolver,
    /// How far, in mean times over an edge, the wave's latest node may be ahead of its earliest: those further ahead wait, because
    /// their times may still fall. +∞ lets all go, as the fast iterative method does. The result does not depend on it but
    /// for rounding.
    pub window: f64,
}

impl Default for EikonalSettings {
    fn default() -> Self {
        Self { tolerance: 0.0, local_solver: LocalSolver::Six, window: 2.0 }
    }
}

/// Arrival times, and the work of finding them.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival<T> {
    /// Time at each node, solver order; +∞ where the wave never comes.
    pub time: Vec<T>,
    /// Nodes where it never comes.
    pub unreached: usize,
    /// Work of the solve.
    pub statistics: Statistics,
}

/// Work of a solve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// Sweeps over the active set.
    pub sweeps: u32,
    /// Number of local solves.
    pub local_solves: u64,
    /// Nodes whose new time was passed on, each as often as it was.
    pub passed_on: u64,
    /// Sweeps in which each sub-domain passed something on.
    pub active_sweeps: Vec<u32>,
    /// Sub-domains that passed something on in each sweep.
    pub active_domains: Vec<u32>,
    /// Time of the solve, s.
    pub seconds: f64,
}

/// Why a problem cannot be solved.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
pub enum EikonalError {
    #[error("no node has a start time: the wave starts nowhere")]
    NoStart,
    #[error("start node {node} is not one of the mesh's {n_nodes}")]
    StartNode { node: u32, n_nodes: usize },
    #[error("the start time {time} of node {node} is no finite number")]
    StartTime { node: u32, time: f64 },
    #[error("{what}: there are {found}, and there should be {expected}")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("elements with {0} corners: only triangles (3) and tetrahedra (4) are solved")]
    Corners(usize),
    /// A sub-domain has more own nodes than a thread block can hold.
    #[error(
        "a thread block of {name} cannot hold a sub-domain of {nodes} nodes: cut the mesh into more of them (pogo-block --domains), or use another \
         solver.decomposition than second"
    )]
    DomainSize { name: String, nodes: u32 },
    #[error(transparent)]
    Threads(#[from] pogo_formats::system::threads::ThreadError),
    #[error(transparent)]
    Device(#[from] crate::device::DeviceError),
}

/// Checks starts; gives the least time.
pub(crate) fn first_time(starts: &[(u32, f64)], n_nodes: usize) -> Result<f64, EikonalError> {
    let mut least = f64::INFINITY;
    for &(node, time) in starts {
        if node as usize >= n_nodes {
            return Err(EikonalError::StartNode { node, n_nodes });
        }
        if !time.is_finite() {
            return Err(EikonalError::StartTime { node, time });
        }
        least = least.min(time);
    }
    if starts.is_empty() { Err(EikonalError::NoStart) } else { Ok(least) }
}

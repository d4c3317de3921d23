//! What all physics that step in time have in common: signals, loads, the state and the contract of a stepper, and the
//! part of a model that a stepper has, alone or in a team, and what devices of a team exchange.

mod barrier;
mod halo;
mod messages;
mod part;
pub mod signals;
mod team;

pub(crate) use barrier::{Barrier, Bell};
pub use halo::{Exchange, MOST_DEVICES, MOST_DEVICES_BY_MESSAGES};
pub(crate) use halo::{HaloExchange, HaloLists, NodeLayout};
pub(crate) use messages::Packing;
pub use part::{Part, PartStepper, update_halo};
pub(crate) use team::{Advance, OwnMonitors, Parts, RankPart, order_of_sum};

use pogo_formats::system::threads::ThreadError;

use crate::device::DeviceError;

/// A force that acts on one degree of freedom: `value` × signal(t_n).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodalForce {
    /// Solver node × dimension + component.
    pub dof: u64,
    /// Column of the signal table.
    pub signal: u32,
    /// N at signal 1.
    pub value: f64,
}

/// A prescribed displacement: u(t_n) = `value` × signal(t_n) + u(0). Fixed components have value 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraint {
    /// Solver node × dimension + component; each at most once.
    pub dof: u64,
    /// Column of the signal table.
    pub signal: u32,
    /// m at signal 1.
    pub value: f64,
}

/// Signals at consecutive times t_n.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SignalTable {
    /// Columns.
    pub n_signals: usize,
    /// Row r holds the signals at t_{first + r}, (n_rows, n_signals). Advancing k steps from step n needs the k + 1
    /// rows n ..= n + k.
    pub values: Vec<f64>,
}

impl SignalTable {
    /// The rows of step `k` of those that the table is for.
    pub(crate) fn of_step(&self, k: usize) -> Self {
        let rows = k * self.n_signals..(k + 2) * self.n_signals;
        Self { n_signals: self.n_signals, values: self.values[rows].to_vec() }
    }
}

/// Steps that [`Stepper::advance`] has checked.
#[derive(Debug, Clone, Copy)]
pub struct Steps<'a> {
    /// How many.
    pub n: usize,
    /// Their signals.
    pub signals: &'a SignalTable,
    /// Those that are recorded.
    pub record: &'a [u64],
}

/// That step, if it is among the recorded ones.
pub(crate) fn recorded_in<'a>(record: &[u64], step: &'a [u64; 1]) -> &'a [u64] {
    if record.binary_search(&step[0]).is_ok() { step } else { &[] }
}

/// The state at step n, in solver order. Of a stepper that has a [`Part`] of the model: that of its own nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// n.
    pub step: u64,
    /// u_n, m, (n_nodes × dimension,).
    pub displacement: Vec<f64>,
    /// Δu_n = u_n − u_{n−1}, m, (n_nodes × dimension,). At n = 0: Δt v_0 − Δt²/2 a_0, so that the start is second order.
    pub increment: Vec<f64>,
    /// Work done by forces and moving supports so far, J.
    pub external_work: f64,
    /// Energy taken by damping so far, J. Of elements with damping in proportion to the stiffness: what internal forces have
    /// taken, with the strain energy at the start. With relaxation mechanisms the same.
    pub damped_energy: f64,
    /// Memory variables z_l at t_n, m, (n_mechanisms × n_nodes × dimension,); empty without relaxation mechanisms.
    pub memory: Vec<f64>,
}

/// Steps a model in time on some device. Only devices fail: on the CPU nothing here is an error.
pub trait Stepper: Send {
    /// What [`state`](Self::state) gives: for nodes without anything else [`State`].
    type State;

    /// n: the state is u_n.
    fn step(&self) -> u64;

    /// Whether [`advance`](Self::advance) reads a table of signals; else the stepper evaluates them itself.
    fn reads_table(&self) -> bool {
        true
    }

    /// Advances `n_steps` from step n. `signals` has the rows n ..= n + `n_steps`, where they are [read](Self::reads_table).
    ///
    /// `record` lists steps s, strictly ascending, n ≤ s < n + `n_steps`. For each, (n_monitors, 3) numbers are appended to
    /// `recording`: u_s, Δu_s, Δu_{s+1} of every monitor, m, so that V = (Δu_s + Δu_{s+1}) / 2Δt and
    /// A = (Δu_{s+1} − Δu_s) / Δt² are centred. The same bits on every run and for every number of threads.
    ///
    /// # Errors
    /// The device is lost; the state is then unknown.
    ///
    /// # Panics
    /// If the signal table is too short, or the recorded steps are not ascending or outside.
    fn advance(
        &mut self,
        n_steps: usize,
        signals: &SignalTable,
        record: &[u64],
        recording: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        assert!(signals.values.len() >= (n_steps + 1) * signals.n_signals, "the signal table has too few rows");
        assert!(record.is_sorted_by(|a, b| a < b), "the recorded steps are not ascending");
        let steps = self.step()..self.step() + n_steps as u64;
        assert!(record.iter().all(|step| steps.contains(step)), "a recorded step is not among the steps to advance");
        self.make(Steps { n: n_steps, signals, record }, recording)
    }

    /// Makes the steps of [`advance`](Self::advance), which has checked them.
    ///
    /// # Errors
    /// The device is lost.
    fn make(&mut self, steps: Steps<'_>, recording: &mut Vec<f64>) -> Result<(), DeviceError>;

    /// The state at step n, exact (single precision widened), so that a stepper made from it continues bit for bit.
    ///
    /// # Errors
    /// The device is lost.
    fn state(&self) -> Result<Self::State, DeviceError>;
}

/// What contradicts itself in a model that is to be stepped.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ModelError {
    /// An array has the wrong length.
    #[error("{what}: {found} where {expected} are needed")]
    Length { what: &'static str, expected: usize, found: usize },
    /// A degree of freedom of a force, constraint or monitor is out of range.
    #[error("{what}: degree of freedom {dof} of {n_dofs}")]
    Dof { what: &'static str, dof: u64, n_dofs: usize },
    #[error("degree of freedom {dof} is prescribed twice")]
    Twice { dof: u64 },
    /// The system refuses threads.
    #[error(transparent)]
    Threads(#[from] ThreadError),
}

/// Fails unless an array has the length that is needed.
pub(crate) fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), ModelError> {
    if expected == found { Ok(()) } else { Err(ModelError::Length { what, expected, found }) }
}

/// Fails if a degree of freedom is out of range, or prescribed twice.
pub(crate) fn check_dofs(
    n_dofs: usize,
    forces: &[NodalForce],
    constraints: &[Constraint],
    monitors: &[u64],
) -> Result<(), ModelError> {
    let check = |what, dof: u64| {
        if dof < n_dofs as u64 { Ok(()) } else { Err(ModelError::Dof { what, dof, n_dofs }) }
    };
    forces.iter().try_for_each(|force| check("force", force.dof))?;
    constraints.iter().try_for_each(|constraint| check("constraint", constraint.dof))?;
    monitors.iter().try_for_each(|&monitor| check("monitor", monitor))?;
    let mut prescribed: Vec<u64> = constraints.iter().map(|constraint| constraint.dof).collect();
    prescribed.sort_unstable();
    match prescribed.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ModelError::Twice { dof: pair[0] }),
        None => Ok(()),
    }
}

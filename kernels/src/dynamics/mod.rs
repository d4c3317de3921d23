//! What is common to all physics that step in time: signals, loads, recorded values, waiting for threads.

mod barrier;
pub mod signals;

pub(crate) use barrier::{Barrier, wait_until};

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

/// What a stepper's `advance` promises to panic about, where signals are read from a table.
pub(crate) fn check_advance(step: u64, n_steps: usize, signals: &SignalTable, record: &[u64]) {
    assert!(signals.values.len() >= (n_steps + 1) * signals.n_signals, "the signal table has too few rows");
    check_record(step, n_steps, record);
}

/// What a stepper's `advance` promises to panic about of the recorded steps.
pub(crate) fn check_record(step: u64, n_steps: usize, record: &[u64]) {
    assert!(record.is_sorted_by(|a, b| a < b), "the recorded steps are not ascending");
    assert!(
        record.iter().all(|&recorded| recorded >= step && recorded < step + n_steps as u64),
        "a recorded step is not among the steps to advance"
    );
}

//! Reaction forces of fixed and driven particles as columns of traces.

use pogo_formats::write::traces::TraceColumn;
use pogo_kernels::dynamics::NodalForce;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::spring::{Change, Reactions, SpringError, SpringProblem};

use crate::run::histories::{DerivedColumns, Record};

/// Reactions at some components, or at none.
pub(super) struct Columns<'a> {
    /// None where no reaction is asked for: the springs are not gone through then.
    reactions: Option<Reactions<'a>>,
    signals: Signals<'a>,
    /// Degrees of freedom of the records.
    recorded: Vec<u64>,
    /// Reactions at the step that was computed last.
    values: Vec<f64>,
    step: Option<u64>,
}

impl<'a> Columns<'a> {
    /// Reactions at `dofs` (increasing) of a problem, with the forces that act on fixed and driven components.
    ///
    /// # Errors
    /// Entries or groups of the mesh out of range.
    pub fn new(
        problem: &SpringProblem<'a>,
        dofs: Vec<u64>,
        supported: Vec<NodalForce>,
        signals: Signals<'a>,
    ) -> Result<Self, SpringError> {
        let reactions = match dofs.is_empty() {
            true => None,
            false => Some(Reactions::new(problem.clone(), dofs, supported)?),
        };
        Ok(Self { reactions, signals, recorded: Vec::new(), values: Vec::new(), step: None })
    }

    /// Takes over all changes of a stepper so far.
    pub fn follow(&mut self, changes: &[Change]) {
        if let Some(reactions) = &mut self.reactions {
            reactions.learn(changes);
        }
    }
}

impl DerivedColumns for Columns<'_> {
    fn monitors(&self) -> Vec<u64> {
        self.reactions.as_ref().map(Reactions::monitors).unwrap_or_default()
    }

    fn bind(&mut self, monitors: &[u64]) {
        self.recorded = monitors.to_vec();
    }

    fn column(&mut self, column: &TraceColumn) -> Option<usize> {
        let dof = 3 * u64::from(column.index) + u64::from(column.component);
        self.reactions.as_ref()?.dofs().binary_search(&dof).ok()
    }

    fn value(&mut self, column: usize, record: Record<'_>) -> f64 {
        if let Some(reactions) = &mut self.reactions
            && self.step.replace(record.step) != Some(record.step)
        {
            let signals = self.signals.table(record.step, 1).values;
            let motion = |dof: u64| record.values[self.recorded.binary_search(&dof).unwrap_or_default()];
            reactions.at(record.step, &signals, motion, &mut self.values);
        }
        self.values[column]
    }
}

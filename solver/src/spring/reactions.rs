//! Reaction forces of fixed and driven particles, as traces want them.

use pogo_kernels::dynamics::NodalForce;
use pogo_kernels::spring::{Change, Reactions, SpringError, SpringProblem};

use crate::explicit::histories::{ReactionForces, Record};
use crate::explicit::signals::Signals;

/// Reactions at some components, or at none.
#[derive(Debug, Clone)]
pub struct SpringReactions<'a> {
    /// None where nobody asks: the springs are not gone through then.
    reactions: Option<Reactions<'a>>,
    signals: Signals<'a>,
    monitors: Vec<u64>,
    /// Degrees of freedom of the records.
    recorded: Vec<u64>,
    values: Vec<f64>,
}

impl<'a> SpringReactions<'a> {
    /// Reactions at `dofs` (increasing) of a problem, with the forces that act on fixed and driven components.
    ///
    /// # Errors
    /// Entries or groups of the mesh out of range.
    pub fn new(
        problem: &SpringProblem<'a>,
        dofs: Vec<u64>,
        supported: &[NodalForce],
        signals: Signals<'a>,
    ) -> Result<Self, SpringError> {
        let reactions = match dofs.is_empty() {
            true => None,
            false => Some(Reactions::new(problem.clone(), dofs, supported.to_vec())?),
        };
        let monitors = reactions.as_ref().map(Reactions::monitors).unwrap_or_default();
        Ok(Self { reactions, signals, monitors, recorded: Vec::new(), values: Vec::new() })
    }

    /// Learns all changes of a stepper so far.
    pub fn learn(&mut self, changes: &[Change]) {
        if let Some(reactions) = &mut self.reactions {
            reactions.learn(changes);
        }
    }
}

impl ReactionForces for SpringReactions<'_> {
    fn monitors(&self) -> &[u64] {
        &self.monitors
    }

    fn bind(&mut self, monitors: &[u64]) {
        self.recorded = monitors.to_vec();
    }

    fn index(&self, dof: u64) -> Option<usize> {
        self.reactions.as_ref()?.dofs().binary_search(&dof).ok()
    }

    fn at(&mut self, record: Record<'_>) -> &[f64] {
        if let Some(reactions) = &mut self.reactions {
            let signals = self.signals.table(record.step, 1).values;
            let find = |dof: u64| record.values[self.recorded.binary_search(&dof).unwrap_or_default()];
            reactions.at(record.step, &signals, find, &mut self.values);
        }
        &self.values
    }
}

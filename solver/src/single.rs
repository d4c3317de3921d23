//! Numbers that single precision cannot hold: they are refused before the first step, not found as NaN behind it.

use pogo_formats::system::parallel::iterate::*;
use pogo_kernels::dynamics::{Constraint, NodalForce};

use crate::call::Call;
use crate::error::SolveError;

/// Whether single precision holds a number that is not 0.
fn holds(value: f64) -> bool {
    (value as f32).is_normal()
}

/// Refuses numbers of a run in single precision.
pub(crate) struct Held<'a, 'b>(pub &'a Call<'b>);

impl Held<'_, '_> {
    /// Refuses a number that becomes infinite.
    pub fn check(&self, value: f64, what: impl FnOnce() -> String) -> Result<(), SolveError> {
        if (value as f32).is_finite() { Ok(()) } else { Err(self.refusal(value, &what())) }
    }

    /// Refuses the first of `n` numbers that becomes infinite, or 0. All threads look for it.
    pub fn check_positive(
        &self,
        n: usize,
        value: impl Fn(usize) -> f64 + Sync,
        what: impl FnOnce(usize) -> String,
    ) -> Result<(), SolveError> {
        match (0..n).into_par_iter().find_first(|&i| !holds(value(i))) {
            Some(i) => Err(self.refusal(value(i), &what(i))),
            None => Ok(()),
        }
    }

    fn refusal(&self, value: f64, what: &str) -> SolveError {
        self.0.refuse(format!(
            "{what} is {value:e}, which single precision cannot hold: check its units, or use --precision f64"
        ))
    }
}

/// Refuses forces and prescribed movements that single precision cannot hold. `inertia` is Δt² / m of a node, s²/kg.
pub(crate) fn check_actions(
    held: &Held<'_, '_>,
    (forces, constraints): (&[NodalForce], &[Constraint]),
    dimension: usize,
    inertia: impl Fn(usize) -> f64,
    name: impl Fn(usize) -> String,
) -> Result<(), SolveError> {
    for force in forces {
        let node = force.dof as usize / dimension;
        held.check(force.value, || format!("a force at {}", name(node)))?;
        held.check(force.value * inertia(node), || format!("the increment of a force at {}", name(node)))?;
    }
    for constraint in constraints {
        let node = constraint.dof as usize / dimension;
        held.check(constraint.value, || format!("a prescribed movement of {}", name(node)))?;
    }
    Ok(())
}

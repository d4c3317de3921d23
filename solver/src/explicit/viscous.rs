//! What does not step models whose elements feel more than the displacement.

use pogo_kernels::explicit::Problem;

use crate::call::Call;
use crate::error::SolveError;

/// Refuses fluids beside damping in proportion to the stiffness, or beside relaxation.
///
/// # Errors
/// Such a model.
pub(super) fn check(problem: &Problem<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    match problem.viscosity().filter(|_| problem.mesh.has_fluid()) {
        Some(what) => {
            Err(call.refuse(format!("{what} is computed in models of solids alone, without acoustic elements")))
        }
        None => Ok(()),
    }
}

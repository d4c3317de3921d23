//! What steps models whose elements feel more than the displacement.

use pogo_kernels::explicit::Problem;

use crate::call::Call;
use crate::error::SolveError;

/// Refuses what does not step models with damping in proportion to the stiffness, or with relaxation.
///
/// # Errors
/// Fluids; several devices, or devices of several processes.
pub(super) fn check_call(problem: &Problem<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    let Some(what) = problem.viscosity() else { return Ok(()) };
    if problem.mesh.has_fluid() {
        return Err(call.refuse(format!("{what} is computed in models of solids alone, without acoustic elements")));
    }
    if call.team.is_several() && call.n_cuda_devices() > 0 {
        let advice = "name one device, or say --device cpu";
        return Err(call.refuse(format!("{what} is computed on one device, or on CPUs: {advice}")));
    }
    Ok(())
}

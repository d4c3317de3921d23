//! What is computed on the CPU only.

use pogo_kernels::explicit::Problem;

use crate::call::Call;
use crate::config::DeviceChoice;
use crate::error::SolveError;
use crate::observe::Observer;

/// Refuses a device that the user named, or several, for what devices do not compute. A device that was not named is not
/// used, and a note says so.
///
/// # Errors
/// A model for a device that it cannot be computed on.
pub(super) fn check_call(
    problem: &Problem<'_>,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<(), SolveError> {
    let Some(what) = problem.only_on_cpu() else { return Ok(()) };
    if problem.mesh.has_fluid() && problem.is_viscous() {
        return Err(call.refuse(format!("{what} is computed in models of solids alone, without acoustic elements")));
    }
    if call.n_cuda_devices() > 0 {
        return Err(call.refuse(format!("{what} is computed on the CPU only: say --device cpu, or leave it out")));
    }
    if call.device.choices()[0] == DeviceChoice::Auto && !call.team.is_several() {
        observer.note(&format!("note: {what} is computed on the CPU"));
    }
    Ok(())
}

//! What is not computed, or on the CPU only.

use pogo_kernels::explicit::Problem;

use crate::call::Call;
use crate::config::DeviceChoice;
use crate::error::SolveError;
use crate::observe::Observer;

/// Refuses fluids beside damping in proportion to the stiffness, or beside relaxation. Refuses a device that the user named, or
/// several, for what devices do not compute. A device that was not named is not used, and a note says so.
///
/// # Errors
/// A model that is not computed, or not on the device that was named.
pub(super) fn check_call(
    problem: &Problem<'_>,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<(), SolveError> {
    if let Some(what) = problem.viscosity().filter(|_| problem.mesh.has_fluid()) {
        return Err(call.refuse(format!("{what} is computed in models of solids alone, without acoustic elements")));
    }
    let Some(what) = problem.only_on_cpu() else { return Ok(()) };
    if call.n_cuda_devices() > 0 {
        return Err(call.refuse(format!("{what} is computed on the CPU only: say --device cpu, or leave it out")));
    }
    if call.device.choices()[0] == DeviceChoice::Auto && !call.team.is_several() {
        observer.note(&format!("note: {what} is computed on the CPU"));
    }
    Ok(())
}

//! Numbers that single precision cannot hold.

use pogo_kernels::spring::SpringProblem;

use crate::call::Call;
use crate::config::Precision;
use crate::error::SolveError;
use crate::single::{Held, check_actions};

/// Refuses a model in single precision whose stiffnesses, masses, forces or movements become infinite or vanish there, before
/// the first step.
pub(super) fn check(problem: &SpringProblem<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    if call.settings.precision != Precision::F32 {
        return Ok(());
    }
    let (held, dt) = (Held(call), problem.time_increment);
    for group in &problem.groups {
        for (value, what) in [
            (group.stiffness, "stiffness"),
            (group.axial_stiffness, "stiffness"),
            (group.damping / dt, "damping over the increment"),
        ] {
            held.check(value, || format!("the {what} of springs {}", group.name))?;
        }
    }
    let names = problem.mesh.particle_names();
    let name = |particle: usize| names.of(particle as u32);
    let inertia = |particle: usize| dt * dt / problem.mass.get(particle).copied().unwrap_or(problem.mass[0]);
    let what = |particle| format!("Δt² / m of particle {}", name(particle));
    held.check_positive(problem.mass.len(), |particle| dt * dt / problem.mass[particle], what)?;
    check_actions(&held, (&problem.forces, &problem.constraints), 3, inertia, name)
}

//! Numbers that single precision cannot hold.

use pogo_kernels::explicit::Problem;

use crate::call::Call;
use crate::config::Precision;
use crate::error::SolveError;
use crate::single::{Held, check_actions};

/// Refuses a model in single precision whose moduli, masses, forces or movements become infinite or vanish there, before the
/// first step.
pub(super) fn check(problem: &Problem<'_>, call: &Call<'_>) -> Result<(), SolveError> {
    if call.settings.precision != Precision::F32 {
        return Ok(());
    }
    let (mesh, dimension) = (&problem.mesh, problem.mesh.dimension);
    let names = mesh.node_names();
    let held = Held(call);
    for (index, section) in problem.sections.iter().enumerate() {
        for &modulus in &section.elasticity {
            held.check(modulus * section.thickness, || format!("a stiffness of section {}", index + 1))?;
        }
    }
    let squared = problem.time_increment * problem.time_increment;
    let name = |node: usize| names.of(node as u32);
    let mass = &problem.lumped_mass;
    // A node without a mass does not move.
    let value = |node: usize| if mass[node] > 0.0 { squared / mass[node] } else { 1.0 };
    held.check_positive(mass.len(), value, |node| format!("Δt² / m of node {}", name(node)))?;
    let inertia = |node: usize| squared / mass[node];
    check_actions(&held, (&problem.forces, &problem.constraints), dimension, inertia, name)
}

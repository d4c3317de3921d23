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
    for (node, &mass) in problem.lumped_mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
        held.check_positive(squared / mass, || format!("Δt² / m of node {}", names.of(node as u32)))?;
    }
    let inertia = |node: usize| squared / problem.lumped_mass[node];
    let name = |node: usize| names.of(node as u32);
    check_actions(&held, (&problem.forces, &problem.constraints), dimension, inertia, name)
}

//! Periodic sides: nodes whose displacements are copied from others after each step.
//!
//! A copied node stands beyond one side of the mesh, where its elements repeat those within the other side. They act on
//! the nodes within, and what acts on the copy counts at the node that it is copied from. So copies have no mass, and
//! neither forces nor supports. Then kinetic and strain energy are those of the periodic mesh, and are conserved.

use pogo_formats::dynamics::CopiedDisplacements;
use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::Constraint;
use pogo_kernels::explicit::ElementStepper;

use crate::call::Call;
use crate::config::DeviceChoice;
use crate::error::SolveError;
use crate::observe::Observer;
use crate::run::conditions::Forces;

/// Relative difference between y·Kx and x·Ky, over what is added up, that rounding in single precision explains.
const ROUNDING: f64 = 1e-5;

/// Refuses what steps such models otherwise than the CPU does.
///
/// # Errors
/// A model with periodic sides for a device that the user named.
pub(super) fn check_call(setup: &Setup, call: &Call<'_>, observer: &mut dyn Observer) -> Result<(), SolveError> {
    if setup.copied.is_empty() {
        return Ok(());
    }
    cpu_alone("periodic sides", call, observer)
}

/// Refuses a device that the user named for `what` the CPU alone computes, and notes it where he named none.
///
/// # Errors
/// A named device.
fn cpu_alone(what: &str, call: &Call<'_>, observer: &mut dyn Observer) -> Result<(), SolveError> {
    if call.device.is_named() {
        return Err(call.refuse(format!("{what} are computed on the CPU only: say --device cpu, or leave it out")));
    }
    if call.device.choices()[0] == DeviceChoice::Auto {
        observer.note(&format!("note: {what} are computed on the CPU"));
    }
    Ok(())
}

/// Takes away what acts on copied nodes.
pub(super) fn leave_out(setup: &Setup, mesh: &MeshView<'_>, forces: &mut Forces, constraints: &mut Vec<Constraint>) {
    if setup.copied.is_empty() {
        return;
    }
    let origins = setup.copied.origins(mesh.n_nodes());
    let is_itself = |dof: u64| {
        let node = dof / mesh.dimension as u64;
        u64::from(origins[node as usize]) == node
    };
    forces.free.retain(|force| is_itself(force.dof));
    forces.supported.retain(|force| is_itself(force.dof));
    constraints.retain(|constraint| is_itself(constraint.dof));
}

/// Degrees of freedom with those of copied nodes replaced by what they are copies of, whose increments are known at once.
pub(super) fn origins_of(setup: &Setup, mesh: &MeshView<'_>, dofs: &[u64]) -> Vec<u64> {
    if setup.copied.is_empty() {
        return dofs.to_vec();
    }
    let (origins, d) = (setup.copied.origins(mesh.n_nodes()), mesh.dimension as u64);
    let n_dofs = mesh.n_nodes() as u64 * d;
    // Beyond them stand the memory variables.
    let origin = |dof: u64| u64::from(origins[(dof / d) as usize]) * d + dof % d;
    dofs.iter().map(|&dof| dof - dof % n_dofs + origin(dof % n_dofs)).collect()
}

/// Whether the copies make the mesh periodic, so that energy is conserved: the forces between nodes near the copied ones are
/// equal and opposite, y·Kx = x·Ky.
///
/// # Errors
/// The device is lost.
pub(super) fn is_balanced(
    copied: &CopiedDisplacements,
    mesh: &MeshView<'_>,
    stepper: &mut dyn ElementStepper,
) -> Result<bool, DeviceError> {
    if copied.is_empty() {
        return Ok(true);
    }
    let near = near_copies(copied, mesh);
    let d = mesh.dimension;
    // Numbers between −1 and 1 without order.
    let vector = |seed: u64| -> Vec<f64> {
        let number = |dof: usize| (dof as f64 + 1.0).mul_add(12.9898, seed as f64).sin() * 43758.5453;
        (0..mesh.n_nodes() * d).map(|dof| if near[dof / d] { 2.0 * number(dof).fract() } else { 0.0 }).collect()
    };
    let (x, y) = (vector(1), vector(2));
    let (kx, ky) = (stepper.internal_force(&x)?, stepper.internal_force(&y)?);
    let (mut difference, mut size) = (0.0, 0.0);
    for (((x, y), kx), ky) in x.iter().zip(&y).zip(&kx).zip(&ky) {
        difference += y * kx - x * ky;
        size += (y * kx).abs() + (x * ky).abs();
    }
    Ok(difference.abs() <= ROUNDING * size)
}

/// The nodes of all elements that have a copied node, or one that is copied, (n_nodes,).
fn near_copies(copied: &CopiedDisplacements, mesh: &MeshView<'_>) -> Vec<bool> {
    let mut is_side = vec![false; mesh.n_nodes()];
    copied.pairs().for_each(|(from, to)| (is_side[from], is_side[to]) = (true, true));
    let mut near = vec![false; mesh.n_nodes()];
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            if nodes.iter().any(|&node| is_side[node as usize]) {
                nodes.iter().for_each(|&node| near[node as usize] = true);
            }
        }
    }
    near
}

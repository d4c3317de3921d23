//! Models that cannot be computed, and loads that do nothing.

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::setup::LoadCase;
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::{Moduli, NodalForce, StaticProblem};

use super::case::magnitude;
use super::conditions::Prepared;
use super::results::{loaded_axis, side};
use super::support::Bodies;

/// Voxels that a thread looks at, at a time.
const PIECE: usize = 1 << 16;

/// The first voxel whose modulus is not positive and finite, in words.
pub(super) fn bad_modulus(mesh: &VoxelMeshView<'_>, moduli: &Moduli<'_>) -> Option<String> {
    let good = |young: f64| young > 0.0 && young.is_finite();
    let element = match *moduli {
        Moduli::Each { modulus, scale } => {
            modulus.par_iter().with_min_len(PIECE).position_first(|&e| !good(f64::from(e) * scale))
        }
        Moduli::Classes { class, young } => {
            let is_good: [bool; 256] = std::array::from_fn(|class| young.get(class).is_some_and(|&young| good(young)));
            class.par_iter().with_min_len(PIECE).position_first(|&class| !is_good[usize::from(class)])
        }
    }?;
    let [i, j, k] = mesh.bricks.element_position(element as u32);
    Some(format!("voxel ({i}, {j}, {k}) has no positive modulus; 0 in the image is void, other values must be above 0"))
}

/// Numbers that are too large or too small to be computed with, in words: the squares of such forces, or the forces in single
/// precision, are no numbers any more, and the residual would be that of nothing.
pub(super) fn beyond_numbers(problem: &StaticProblem<'_>, forces: &[NodalForce]) -> Option<String> {
    let young = match problem.moduli {
        Moduli::Each { modulus, scale } => {
            let largest = |piece: &[f32]| piece.iter().copied().fold(0.0, f32::max);
            scale * f64::from(modulus.par_chunks(PIECE).map(largest).reduce(|| 0.0, f32::max))
        }
        Moduli::Classes { young, .. } => young.iter().copied().fold(0.0, f64::max),
    };
    let stiffness = young * problem.spacing;
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
    let moved = largest(&mut problem.fixed.iter().map(|fixed| fixed.value));
    let force = (stiffness * moved).max(largest(&mut forces.iter().map(|force| force.value)));
    let bad = |size: f64| !(1e-30..=1e30).contains(&size);
    let what = if bad(stiffness) {
        format!("a stiffness (modulus times edge) of {stiffness:.0e}")
    } else if force > 0.0 && bad(force) {
        format!("a force (or modulus times edge times displacement) of {force:.0e}")
    } else if moved > 0.0 && force == 0.0 {
        format!("a displacement of {moved:.0e}")
    } else {
        return None;
    };
    Some(format!("{what} is beyond what is computed with, 1e-30 to 1e30: choose other units"))
}

/// A warning about loads that do nothing: they are 0, or no part of the sample leads from the moving face to the other.
pub(super) fn unloaded(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    bodies: &Bodies,
    prepared: &[Prepared],
) -> Option<String> {
    let scaled_to_nothing = |case: &LoadCase| {
        case.scale_to.as_ref().is_some_and(|target| magnitude(&setup.magnitudes, Some(target.magnitude)) == 0.0)
    };
    let is_moved = |case: &Prepared| case.conditions.fixed.iter().any(|fixed| fixed.value != 0.0);
    let is_pulled = |forces: &[NodalForce]| forces.iter().any(|force| force.value != 0.0);
    let is_loaded = |case: &Prepared| is_moved(case) || is_pulled(&case.conditions.forces);
    if !prepared.iter().any(is_loaded) || setup.cases.iter().all(scaled_to_nothing) {
        return Some("all displacements and forces that are prescribed are 0: nothing moves".into());
    }
    if !prepared.iter().any(|case| is_moved(case) || is_pulled(&case.free_forces)) {
        return Some("all forces stand where the sample is held: nothing moves".into());
    }
    let axis = loaded_axis(setup.analysis)?;
    if bodies.len() == 1 {
        return None;
    }
    let [low, high] = [false, true].map(|upper| side(mesh, setup, axis, upper));
    let name = ["x", "y", "z"][axis];
    (!bodies.join_nodes(&low, &high)).then(|| {
        format!(
            "no part of the sample leads from {name}min to {name}max: the apparent properties are those of a sample in pieces"
        )
    })
}

//! Node lists of a setup in the numbering of the solver.

use pogo_formats::dynamics::LoadKind;
use pogo_formats::explicit::Setup;

/// Renumbers every node that loads, boundary conditions, initial velocities and traces name; elements keep their numbers.
/// `solver_from_model` has one entry a node; the padding of faces (`u32::MAX`) stays.
pub fn remap_setup(setup: &mut Setup, solver_from_model: &[u32]) {
    let remap = |nodes: &mut [u32]| {
        for node in nodes {
            if let Some(&solver) = solver_from_model.get(*node as usize) {
                *node = solver;
            }
        }
    };
    for load in &mut setup.loads {
        match &mut load.kind {
            LoadKind::Concentrated { nodes, .. } => remap(nodes),
            LoadKind::Pressure { faces, .. } | LoadKind::Traction { faces, .. } => {
                faces.iter_mut().for_each(|face| remap(face));
            }
            LoadKind::Body { .. } | LoadKind::Gravity { .. } => {}
        }
    }
    setup.boundaries.iter_mut().for_each(|boundary| remap(&mut boundary.nodes));
    setup.initial_velocities.iter_mut().for_each(|velocity| remap(&mut velocity.nodes));
    setup.histories.iter_mut().for_each(|history| remap(&mut history.nodes));
}

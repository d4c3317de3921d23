//! The mesh in solver order.

use pogo_formats::mesh::Mesh;
use rayon::prelude::*;

use crate::rows::gather;

/// Connectivity of each group in solver indices.
pub(super) fn connectivity(mesh: &Mesh, solver_from_model: &[u32]) -> Vec<Vec<u32>> {
    let renumber = |&node: &u32| solver_from_model[node as usize];
    mesh.groups.iter().map(|group| group.connectivity.par_iter().map(renumber).collect()).collect()
}

/// Renumbers the nodes of a mesh. `connectivity` has new numbers already.
pub(super) fn to_solver_order(
    mut mesh: Mesh,
    connectivity: Vec<Vec<u32>>,
    solver_from_model: &[u32],
    model_from_solver: &[u32],
) -> Mesh {
    mesh.coordinates = gather(&mesh.coordinates, model_from_solver, mesh.dimension as usize);
    mesh.node_labels = gather(&mesh.node_labels, model_from_solver, 1);
    mesh.node_instance = gather(&mesh.node_instance, model_from_solver, 1);
    for (group, connectivity) in mesh.groups.iter_mut().zip(connectivity) {
        group.connectivity = connectivity;
    }
    for set in &mut mesh.node_sets {
        set.members.iter_mut().for_each(|node| *node = solver_from_model[*node as usize]);
    }
    mesh
}

//! The mesh in solver order.

use pogo_formats::mesh::Mesh;
use pogo_formats::system::parallel::iterate::*;

use crate::rows::gather;

/// Connectivity of each group in solver indices.
pub(super) fn connectivity(mesh: &Mesh, solver_from_model: &[u32]) -> Vec<Vec<u32>> {
    let renumber = |&node: &u32| solver_from_model[node as usize];
    mesh.groups.iter().map(|group| group.connectivity.par_iter().map(renumber).collect()).collect()
}

/// Renumbers the nodes of a mesh, whose connectivity has the new numbers already. `order` is the old number of each new one,
/// and `place` the new number of each old one.
pub(in crate::explicit) fn nodes(mut mesh: Mesh, place: &[u32], order: &[u32]) -> Mesh {
    mesh.coordinates = gather(&mesh.coordinates, order, mesh.dimension as usize);
    mesh.node_labels = gather(&mesh.node_labels, order, 1);
    mesh.node_instance = gather(&mesh.node_instance, order, 1);
    for set in &mut mesh.node_sets {
        set.members.iter_mut().for_each(|node| *node = place[*node as usize]);
    }
    mesh
}

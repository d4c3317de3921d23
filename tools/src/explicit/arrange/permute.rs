//! The mesh in solver order.

use pogo_formats::mesh::Mesh;
use rayon::prelude::*;

const CHUNK: usize = 16_384;

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
    let dimension = mesh.dimension as usize;
    let mut coordinates = vec![0.0; mesh.coordinates.len()];
    coordinates.par_chunks_mut(dimension.max(1) * CHUNK).enumerate().for_each(|(chunk, to)| {
        for (to, &model) in to.chunks_exact_mut(dimension).zip(&model_from_solver[chunk * CHUNK..]) {
            let model = model as usize * dimension;
            to.copy_from_slice(&mesh.coordinates[model..model + dimension]);
        }
    });
    mesh.coordinates = coordinates;
    mesh.node_labels = model_from_solver.par_iter().map(|&model| mesh.node_labels[model as usize]).collect();
    mesh.node_instance = model_from_solver.par_iter().map(|&model| mesh.node_instance[model as usize]).collect();
    for (group, connectivity) in mesh.groups.iter_mut().zip(connectivity) {
        group.connectivity = connectivity;
    }
    for set in &mut mesh.node_sets {
        set.members.iter_mut().for_each(|node| *node = solver_from_model[*node as usize]);
    }
    mesh
}

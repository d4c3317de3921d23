//! From the springs of a deck to a mesh of particles.

use pogo_formats::mesh::{Mesh, NamedSet};
use pogo_formats::spring::SpringMesh;
use pogo_formats::spring::build::{BuildError, lists, spatial_order};

use super::Edges;
use super::masses::used_nodes;
use crate::elements::position;

/// The mesh of these springs: nodes in spatial order, without those that have no spring. Also the solver index of each node,
/// `u32::MAX` for a node without a spring.
///
/// # Errors
/// No spring at all, a node with too many, no memory.
pub fn mesh_of_edges(mesh: &Mesh, edges: &Edges, block_size: usize) -> Result<(SpringMesh, Vec<u32>), BuildError> {
    let kept: Vec<u32> = used_nodes(&edges.springs, mesh.n_nodes()).map(|node| node as u32).collect();
    if kept.is_empty() {
        return Err(BuildError::Empty);
    }
    let coordinates: Vec<f64> = kept.iter().flat_map(|&node| position(mesh, node)).collect();
    let (_, kept_from_solver) = spatial_order(&coordinates);
    let model_from_solver: Vec<u32> = kept_from_solver.iter().map(|&at| kept[at as usize]).collect();
    let mut solver_from_model = vec![u32::MAX; mesh.n_nodes()];
    for (solver, &node) in model_from_solver.iter().enumerate() {
        solver_from_model[node as usize] = solver as u32;
    }
    let n = model_from_solver.len();

    // Both ends of each spring, by particle.
    let mut ends: Vec<(u32, u32, u16)> = Vec::new();
    ends.try_reserve_exact(2 * edges.springs.len())?;
    for &(a, b, group) in &edges.springs {
        let (a, b) = (solver_from_model[a as usize], solver_from_model[b as usize]);
        ends.push((a, b, group));
        ends.push((b, a, group));
    }
    ends.sort_unstable();
    let mut first = vec![0_usize; n + 1];
    for (at, &(particle, _, _)) in ends.iter().enumerate() {
        first[particle as usize + 1] = at + 1;
    }
    let lists = lists(n, block_size, true, |particle, out| {
        out.extend(ends[first[particle]..first[particle + 1]].iter().map(|&(_, other, group)| (other, group)));
    })?;
    let of = |node: &u32| *node as usize;
    let sets = mesh.node_sets.iter().map(|set| NamedSet {
        name: set.name.clone(),
        members: set.members.iter().map(|node| solver_from_model[of(node)]).filter(|&at| at != u32::MAX).collect(),
    });
    let spring_mesh = SpringMesh {
        coordinates: model_from_solver.iter().flat_map(|&node| position(mesh, node)).collect(),
        labels: model_from_solver.iter().map(|node| mesh.node_labels[of(node)]).collect(),
        instance: model_from_solver.iter().map(|node| mesh.node_instance[of(node)]).collect(),
        instances: mesh.instances.clone(),
        material: model_from_solver.iter().map(|node| edges.material[of(node)]).collect(),
        volume: model_from_solver.iter().map(|node| edges.volume[of(node)]).collect(),
        sets: sets.filter(|set| !set.members.is_empty()).collect(),
        grid: None,
        lists,
    };
    Ok((spring_mesh, solver_from_model))
}

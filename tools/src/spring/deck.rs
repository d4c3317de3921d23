//! From a deck to springs: the edges of its elements, each once.

use std::collections::BTreeSet;

use pogo_formats::job::JobError;
use pogo_formats::job::spring::SpringJob;
use pogo_formats::model::{ElementKind, Mesh, NamedSet};
use pogo_formats::spring::SpringMesh;
use pogo_formats::spring::build::{BuildError, lists, spatial_order};

use crate::apply_job::find_set;

/// Springs of a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct Edges {
    /// Both nodes, the lower first, and the index of the job's `[[springs]]`; ascending, each pair once.
    pub springs: Vec<(u32, u32, u8)>,
    /// Material of each node that has a spring.
    pub material: Vec<u8>,
    /// Volume of elements that belongs to each node: equal shares.
    pub volume: Vec<f64>,
}

/// Edges of an element, as pairs of local nodes.
fn local_edges(kind: ElementKind) -> Vec<[u8; 2]> {
    let mut edges = BTreeSet::new();
    for face in kind.faces() {
        let n = face.len();
        // In the plane a face is an edge.
        for at in 0..if n == 2 { 1 } else { n } {
            let (a, b) = (face[at], face[(at + 1) % n]);
            edges.insert([a.min(b), a.max(b)]);
        }
    }
    edges.into_iter().collect()
}

/// The springs that a job makes of a deck's elements, and what its nodes weigh.
///
/// # Errors
/// A set that does not exist, no table that says which edges are springs, no material for a node.
pub fn edges(mesh: &Mesh, job: &SpringJob) -> Result<Edges, JobError> {
    const NONE: u8 = u8::MAX;
    let mut group = vec![NONE; mesh.n_elements()];
    let tables = job.springs.iter().enumerate().filter(|(_, item)| item.value.all || item.value.elset.is_some());
    let mut any = false;
    for (index, item) in tables {
        let index = u8::try_from(index).ok().filter(|&index| index != NONE);
        let index = index.ok_or_else(|| item.place.error("at most 255 tables of springs"))?;
        any = true;
        match &item.value.elset {
            Some(name) => {
                let set = find_set(&mesh.element_sets, name, "element").map_err(|text| item.place.error(text))?;
                set.members.iter().for_each(|&element| group[element as usize] = index);
            }
            None => group.fill(index),
        }
    }
    if !any {
        let place = &job.solver.place;
        return Err(place.error("which edges are springs? give [[springs]] with `elset` or `all = true`"));
    }
    let mut springs = Vec::new();
    let mut volume = vec![0.0; mesh.n_nodes()];
    let mut first = 0;
    for elements in &mesh.groups {
        let n = elements.kind.n_nodes();
        let local = local_edges(elements.kind);
        for (at, nodes) in elements.connectivity.chunks_exact(n).enumerate() {
            let group = group[first + at];
            if group == NONE {
                continue;
            }
            let share = size(mesh, elements.kind, nodes) / n as f64;
            nodes.iter().for_each(|&node| volume[node as usize] += share);
            for [a, b] in &local {
                let (a, b) = (nodes[usize::from(*a)], nodes[usize::from(*b)]);
                if a != b {
                    springs.push((a.min(b), a.max(b), group));
                }
            }
        }
        first += elements.len();
    }
    springs.sort_unstable();
    // Of one pair the later table holds.
    springs.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 = kept.2.max(next.2);
        }
        same
    });

    let mut material = vec![NONE; mesh.n_nodes()];
    for (index, item) in job.materials.iter().enumerate() {
        let table = &item.value;
        if table.label.is_some() || table.threshold.is_some() {
            return Err(item.place.error("`label` and `threshold` are for stacks; of a deck give `nset` or `elset`"));
        }
        if table.stiffness.is_some()
            || table.damping.is_some()
            || table.max_strain.is_some()
            || table.rest_factor.is_some()
        {
            return Err(item.place.error("springs of a deck are said by [[springs]] tables, not by materials"));
        }
        let error = |text| item.place.error(text);
        let index = index as u8;
        match (&table.nset, &table.elset) {
            (Some(name), _) => {
                let set = find_set(&mesh.node_sets, name, "node").map_err(error)?;
                set.members.iter().for_each(|&node| material[node as usize] = index);
            }
            (None, Some(name)) => {
                let set = find_set(&mesh.element_sets, name, "element").map_err(error)?;
                let members: BTreeSet<u32> = set.members.iter().copied().collect();
                let mut first = 0;
                for elements in &mesh.groups {
                    for (at, nodes) in elements.connectivity.chunks_exact(elements.kind.n_nodes()).enumerate() {
                        if members.contains(&(first + at as u32)) {
                            nodes.iter().for_each(|&node| material[node as usize] = index);
                        }
                    }
                    first += elements.len() as u32;
                }
            }
            (None, None) => material.fill(index),
        }
    }
    let bare = springs.iter().flat_map(|&(a, b, _)| [a, b]).find(|&node| material[node as usize] == NONE);
    if let Some(node) = bare {
        let label = mesh.node_labels[node as usize];
        let place = &job.materials[0].place;
        return Err(
            place.error(format!("node {label} has springs and no material: give a [[material]] for all nodes first"))
        );
    }
    material.iter_mut().filter(|of| **of == NONE).for_each(|of| *of = 0);
    Ok(Edges { springs, material, volume })
}

/// Area or volume of an element: that of the triangles or tetrahedra from its first node.
fn size(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    let dimension = mesh.dimension as usize;
    let at = |node: u32| -> [f64; 3] {
        std::array::from_fn(|c| if c < dimension { mesh.coordinates[node as usize * dimension + c] } else { 0.0 })
    };
    let from = at(nodes[0]);
    let to = |local: u8| -> [f64; 3] {
        let point = at(nodes[usize::from(local)]);
        std::array::from_fn(|c| point[c] - from[c])
    };
    let cross =
        |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if kind.dimension() == 2 {
        let n = kind.n_nodes() as u8;
        let parts = (1..n - 1).map(|i| cross(to(i), to(i + 1)));
        let sum = parts.fold([0.0; 3], |sum, part| [sum[0] + part[0], sum[1] + part[1], sum[2] + part[2]]);
        return 0.5 * dot(sum, sum).sqrt();
    }
    // Cones from the first node over the faces that do not have it, in triangles.
    let mut volume = 0.0;
    for face in kind.faces().iter().filter(|face| !face.contains(&0)) {
        for i in 1..face.len() - 1 {
            volume += dot(to(face[0]), cross(to(face[i]), to(face[i + 1])));
        }
    }
    volume.abs() / 6.0
}

/// A mesh of those springs, nodes in spatial order, without the nodes that have none: also the solver index of each node,
/// `u32::MAX` where it has none.
///
/// # Errors
/// No spring at all, a node with too many, no memory.
pub fn mesh_of_edges(mesh: &Mesh, edges: &Edges, block_size: usize) -> Result<(SpringMesh, Vec<u32>), BuildError> {
    let mut used = vec![false; mesh.n_nodes()];
    for &(a, b, _) in &edges.springs {
        used[a as usize] = true;
        used[b as usize] = true;
    }
    let kept: Vec<u32> = (0_u32..).zip(&used).filter(|(_, used)| **used).map(|(node, _)| node).collect();
    if kept.is_empty() {
        return Err(BuildError::Empty);
    }
    let dimension = mesh.dimension as usize;
    let position = |node: u32| -> [f64; 3] {
        std::array::from_fn(|c| if c < dimension { mesh.coordinates[node as usize * dimension + c] } else { 0.0 })
    };
    let coordinates: Vec<f64> = kept.iter().flat_map(|&node| position(node)).collect();
    let (_, kept_from_solver) = spatial_order(&coordinates);
    let model_from_solver: Vec<u32> = kept_from_solver.iter().map(|&at| kept[at as usize]).collect();
    let mut solver_from_model = vec![u32::MAX; mesh.n_nodes()];
    for (solver, &node) in model_from_solver.iter().enumerate() {
        solver_from_model[node as usize] = solver as u32;
    }
    let n = model_from_solver.len();

    // Both ends of each spring, by particle.
    let mut ends: Vec<(u32, u32, u8)> = Vec::new();
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
    let lists = lists(n, block_size, |particle, out| {
        out.extend(ends[first[particle]..first[particle + 1]].iter().map(|&(_, other, group)| (other, group)));
    })?;
    let of = |node: &u32| *node as usize;
    let sets = mesh.node_sets.iter().map(|set| NamedSet {
        name: set.name.clone(),
        members: set.members.iter().map(|node| solver_from_model[of(node)]).filter(|&at| at != u32::MAX).collect(),
    });
    let spring_mesh = SpringMesh {
        coordinates: model_from_solver.iter().flat_map(|&node| position(node)).collect(),
        labels: model_from_solver.iter().map(|node| mesh.node_labels[of(node)]).collect(),
        instance: model_from_solver.iter().map(|node| mesh.node_instance[of(node)]).collect(),
        instances: mesh.instances.clone(),
        material: model_from_solver.iter().map(|node| edges.material[of(node)]).collect(),
        volume: model_from_solver.iter().map(|node| edges.volume[of(node)]).collect(),
        sets: sets.filter(|set| !set.members.is_empty()).collect(),
        grid: Vec::new(),
        lists,
    };
    Ok((spring_mesh, solver_from_model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_edges_that_they_have() {
        use ElementKind::*;
        for (kind, n) in [(Cpe3, 3), (Cpe4, 4), (C3d4, 6), (C3d6, 9), (C3d8, 12)] {
            assert_eq!(local_edges(kind).len(), n, "{kind:?}");
        }
    }
}

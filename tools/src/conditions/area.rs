//! Shares of a total force among the nodes of a part of the surface.

use std::collections::HashMap;

use pogo_formats::mesh::Mesh;

/// Fraction of the area (length in 2D) of outer faces that belongs to each of these nodes, (n,), sum 1: the nodal forces of
/// a uniform traction. Outer faces with all their nodes in the list count; each gives equal parts to its nodes. `None` if a
/// node has no part, because it lies inside the body or on none of these faces.
pub fn area_fractions(mesh: &Mesh, nodes: &[u32]) -> Option<Vec<f64>> {
    let mut place = vec![u32::MAX; mesh.n_nodes()];
    for (index, &node) in nodes.iter().enumerate() {
        place[node as usize] = index as u32;
    }
    // A face that two elements share lies inside the body.
    let mut faces: HashMap<[u32; 4], ([u32; 4], usize, u32)> = HashMap::new();
    for group in &mesh.groups {
        for element in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            if element.iter().filter(|&&node| place[node as usize] != u32::MAX).count() < mesh.dimension as usize {
                continue;
            }
            for local in group.kind.faces() {
                let mut face = [u32::MAX; 4];
                for (slot, &node) in face.iter_mut().zip(local.iter()) {
                    *slot = element[usize::from(node)];
                }
                if face[..local.len()].iter().all(|&node| place[node as usize] != u32::MAX) {
                    let mut key = face;
                    key.sort_unstable();
                    faces.entry(key).or_insert((face, local.len(), 0)).2 += 1;
                }
            }
        }
    }
    let mut areas = vec![0.0; nodes.len()];
    let mut outer: Vec<_> = faces.into_values().filter(|&(_, _, count)| count == 1).collect();
    // Sums are taken in the order of the mesh, not of the hash map, so that they have the same bits in every run.
    outer.sort_unstable();
    for (face, count, _) in outer {
        let part = area(mesh, &face[..count]) / count as f64;
        for &node in &face[..count] {
            areas[place[node as usize] as usize] += part;
        }
    }
    let total: f64 = areas.iter().sum();
    if areas.iter().all(|&area| area > 0.0) && total.is_normal() {
        Some(areas.into_iter().map(|area| area / total).collect())
    } else {
        None
    }
}

/// Length of an edge, or area of a triangle or (by its diagonals) a quadrilateral.
fn area(mesh: &Mesh, face: &[u32]) -> f64 {
    let dimension = mesh.dimension as usize;
    let between = |a: usize, b: usize| {
        let at = |node: usize, axis: usize| {
            if axis < dimension { mesh.coordinates[face[node] as usize * dimension + axis] } else { 0.0 }
        };
        [0, 1, 2].map(|axis| at(b, axis) - at(a, axis))
    };
    let norm = |v: [f64; 3]| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let half_cross = |u: [f64; 3], v: [f64; 3]| {
        0.5 * norm([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
    };
    match face.len() {
        2 => norm(between(0, 1)),
        3 => half_cross(between(0, 1), between(0, 2)),
        _ => half_cross(between(0, 2), between(1, 3)),
    }
}

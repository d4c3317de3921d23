//! Shares of a total force among the nodes of a part of the surface.

use std::collections::HashMap;

use pogo_formats::mesh::Mesh;

use crate::elements::{self, cross, norm, position, round, sub};

/// Fraction of the area (length in 2D) of outer faces that belongs to each of these nodes, (n,), sum 1: the nodal forces of
/// a uniform traction. Outer faces with all their nodes in the list count; each gives equal parts to its nodes. `None` if a
/// node has no part, because it lies inside the body or on none of these faces.
pub fn area_fractions(mesh: &Mesh, nodes: &[u32]) -> Option<Vec<f64>> {
    let mut place = vec![u32::MAX; mesh.n_nodes()];
    for (index, &node) in nodes.iter().enumerate() {
        place[node as usize] = index as u32;
    }
    // A face that two elements share lies inside the body.
    let mut faces: HashMap<[u32; 4], ([u32; 4], u32)> = HashMap::new();
    let is_listed = |node: u32| place[node as usize] != u32::MAX;
    for (kind, element) in elements::elements(mesh) {
        if element.iter().filter(|&&node| is_listed(node)).count() < mesh.dimension as usize {
            continue;
        }
        for face in elements::faces(kind, element).filter(|face| round(face).iter().all(|&node| is_listed(node))) {
            let mut key = face;
            key.sort_unstable();
            faces.entry(key).or_insert((face, 0)).1 += 1;
        }
    }
    let mut areas = vec![0.0; nodes.len()];
    let mut outer: Vec<_> = faces.into_values().filter(|&(_, count)| count == 1).collect();
    // Sums are taken in the order of the mesh, not of the hash map, so that they have the same bits in every run.
    outer.sort_unstable();
    for (face, _) in &outer {
        let face = round(face);
        let part = area(mesh, face) / face.len() as f64;
        face.iter().for_each(|&node| areas[place[node as usize] as usize] += part);
    }
    let total: f64 = areas.iter().sum();
    let all_have_some = areas.iter().all(|&area| area > 0.0) && total.is_normal();
    all_have_some.then(|| areas.into_iter().map(|area| area / total).collect())
}

/// Length of an edge, or area of a triangle or (by its diagonals) a quadrilateral.
fn area(mesh: &Mesh, face: &[u32]) -> f64 {
    let between = |a: usize, b: usize| sub(position(mesh, face[b]), position(mesh, face[a]));
    let half_cross = |u: [f64; 3], v: [f64; 3]| 0.5 * norm(cross(u, v));
    match face.len() {
        2 => norm(between(0, 1)),
        3 => half_cross(between(0, 1), between(0, 2)),
        _ => half_cross(between(0, 2), between(1, 3)),
    }
}

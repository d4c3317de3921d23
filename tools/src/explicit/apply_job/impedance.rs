//! The outer faces of impedance boundaries.

use std::collections::HashMap;

use pogo_formats::explicit::ImpedanceBoundary;
use pogo_formats::explicit::job::Absorbing;
use pogo_formats::job::Sides;
use pogo_formats::mesh::Mesh;

use super::members;
use crate::conditions::{Geometry, check_sides, find_set, name_or};
use crate::elements::{elements, faces, round};

/// The impedance boundary of a table: outer faces with all their nodes on one of its sides, or in its node set. Beyond a face
/// lies the material of its element.
pub(super) fn impedance(
    mesh: &Mesh,
    geometry: &Geometry,
    given: &Absorbing,
    index: usize,
) -> Result<ImpedanceBoundary, String> {
    let is_member = members(mesh, given.elset.as_deref())?;
    let mut regions = Vec::new();
    if let Some(sides) = &given.side {
        check_sides(sides, mesh.dimension as usize)?;
        let one_side = |&side| geometry.on_sides(&Sides(vec![side]), geometry.rounding());
        regions.extend(sides.0.iter().map(one_side));
    }
    if let Some(name) = &given.nset {
        regions.push(find_set(&mesh.node_sets, name, "node")?.members.clone());
    }
    let name = name_or(&given.name, "LAYER", index);
    let (faces, elements): (Vec<_>, Vec<_>) =
        outer_faces(mesh, &regions).into_iter().filter(|&(_, element)| is_member(element)).unzip();
    if faces.is_empty() {
        let which = if given.elset.is_some() { " of these elements" } else { "" };
        return Err(format!("no outer face{which} has all its nodes there"));
    }
    let section = |&element: &u32| mesh.place(element).map(|(group, at)| group.section[at]).unwrap_or_default();
    let sections = elements.iter().map(section).collect();
    Ok(ImpedanceBoundary { name, faces, elements, sections })
}

/// Faces of one element alone that have all their nodes in one of the regions, with their element, in the order of the mesh.
fn outer_faces(mesh: &Mesh, regions: &[Vec<u32>]) -> Vec<([u32; 4], u32)> {
    let mut uses = HashMap::<[u32; 4], u32>::new();
    let mut found = Vec::new();
    let key = |mut face: [u32; 4]| {
        face.sort_unstable();
        face
    };
    let mut is_on = vec![vec![false; mesh.n_nodes()]; regions.len()];
    for (is_on, nodes) in is_on.iter_mut().zip(regions) {
        nodes.iter().for_each(|&node| is_on[node as usize] = true);
    }
    for (element, (kind, nodes)) in (0..).zip(elements(mesh)) {
        for face in faces(kind, nodes) {
            if is_on.iter().any(|is_on| round(&face).iter().all(|&node| is_on[node as usize])) {
                *uses.entry(key(face)).or_default() += 1;
                found.push((face, element));
            }
        }
    }
    found.retain(|&(face, _)| uses[&key(face)] == 1);
    found
}

//! Infinite elements → impedance boundaries on the faces of elements.

use std::collections::HashMap;

use super::Findings;
use crate::explicit::ImpedanceBoundary;
use crate::mesh::{ElementKind, Mesh};
use crate::read::deck::InfiniteElement;
use crate::read::deck::regroup::new_index;
use crate::words::counted;

/// Most labels in a message.
const SHOWN: usize = 5;

fn key(mut face: [u32; 4]) -> [u32; 4] {
    face.sort_unstable();
    face
}

/// Gives the faces the new indices of their nodes; one with a node that no element uses becomes empty.
pub(super) fn renumber(infinite: &mut [InfiniteElement], map: &[u32]) {
    for element in infinite {
        let mut nodes = element.face.iter_mut().take_while(|node| **node != u32::MAX);
        if !nodes.all(|node| new_index(map, *node).map(|new| *node = new).is_some()) {
            element.face = [u32::MAX; 4];
        }
    }
}

/// Faces of elements, and the kind and index of the element of each that is among `wanted`.
fn owners(mesh: &Mesh, wanted: &[InfiniteElement]) -> HashMap<[u32; 4], Vec<(ElementKind, u32)>> {
    let mut owners: HashMap<[u32; 4], Vec<(ElementKind, u32)>> =
        wanted.iter().map(|element| (key(element.face), Vec::new())).collect();
    let mut index = 0;
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for face in group.kind.faces() {
                let mut corners = [u32::MAX; 4];
                corners.iter_mut().zip(*face).for_each(|(slot, local)| *slot = nodes[usize::from(*local)]);
                if let Some(owners) = owners.get_mut(&key(corners)) {
                    owners.push((group.kind, index));
                }
            }
            index += 1;
        }
    }
    owners
}

/// One boundary a section of infinite elements, with the name of the section that `name_of` gives.
pub(super) fn boundaries(
    mesh: &Mesh,
    infinite: &[InfiniteElement],
    name_of: impl Fn(u32) -> String,
    findings: &mut Findings,
) -> Vec<ImpedanceBoundary> {
    if infinite.is_empty() {
        return Vec::new();
    }
    let owners = owners(mesh, infinite);
    let (mut boundaries, mut sections): (Vec<ImpedanceBoundary>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut apart, mut inside, mut other) = (Vec::new(), Vec::new(), Vec::new());
    for element in infinite {
        let of_face = owners.get(&key(element.face)).map(Vec::as_slice).unwrap_or_default();
        let label = format!("{} {}", element.kind, element.label);
        let &[(kind, owner)] = of_face else {
            if of_face.is_empty() { &mut apart } else { &mut inside }.push(label);
            continue;
        };
        if kind.dimension() == 2 && kind.is_plane_stress() != (element.kind == "CINPS4") {
            other.push(label);
            continue;
        }
        let at = sections.iter().position(|section| *section == element.section).unwrap_or_else(|| {
            sections.push(element.section);
            let (name, faces, elements, sections) = (name_of(element.section), Vec::new(), Vec::new(), Vec::new());
            boundaries.push(ImpedanceBoundary { name, faces, elements, sections });
            boundaries.len() - 1
        });
        boundaries[at].faces.push(element.face);
        boundaries[at].elements.push(owner);
        boundaries[at].sections.push(element.section);
    }
    let first_face = "their first face, nodes 1 and 2 (in space 1 to 4), must be the face of an element with a section";
    for (labels, what) in [
        (apart, format!("do not meet the mesh: {first_face}")),
        (inside, "lie between two elements: an infinite element belongs outside".to_owned()),
        (other, "meet elements of another kind: CINPE4 belongs to plane strain, CINPS4 to plane stress".to_owned()),
    ] {
        if !labels.is_empty() {
            let more = if labels.len() > SHOWN { ", …" } else { "" };
            let n = counted(labels.len(), "infinite element");
            findings.error(format!("{n} ({}{more}) {what}", labels[..labels.len().min(SHOWN)].join(", ")));
        }
    }
    if !boundaries.is_empty() {
        let n = counted(infinite.len(), "infinite element");
        findings
            .note(format!("{n}: dashpots on their first faces take waves away; they have no stiffness and no mass"));
    }
    boundaries
}

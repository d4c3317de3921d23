//! `*SURFACE` → element faces.

use std::collections::HashMap;

use super::assembly::Assembly;
use super::data::entries;
use super::lexer::{Card, Place};
use super::log::Log;
use crate::mesh::{ElementKind, Mesh};

/// Face nodes, (n, 4) padded with `u32::MAX`, and the element of each.
pub(super) type Faces = (Vec<[u32; 4]>, Vec<u32>);

/// Face `number` (from 1) of each element, as the deck writes it; faces that have vanished, as their corners coincide, are left out.
pub(super) fn faces_of(mesh: &Mesh, elements: &[u32], number: usize) -> Result<Faces, String> {
    let (mut faces, mut owners) = (Vec::new(), Vec::new());
    for element in elements {
        let Some((group, at)) = mesh.place(*element) else { continue };
        let kind = group.kind;
        let Some(face) = number.checked_sub(1).and_then(|f| kind.faces().get(f)) else {
            return Err(format!("{} has no face {number}", kind.name()));
        };
        if let Some(face) = face_nodes(kind, face, group.nodes(at)) {
            faces.push(face);
            owners.push(*element);
        }
    }
    Ok((faces, owners))
}

/// Corners of a face, each once; nothing where they coincide so that no face is left.
fn face_nodes(kind: ElementKind, face: &[u8], nodes: &[u32]) -> Option<[u32; 4]> {
    let mut padded = [u32::MAX; 4];
    let mut n = 0;
    for node in face.iter().filter_map(|local| nodes.get(usize::from(*local))) {
        if !padded.contains(node) {
            padded[n] = *node;
            n += 1;
        }
    }
    (n >= kind.dimension()).then_some(padded)
}

/// Faces of a surface as a card names it: `SURFACE` or `INSTANCE.SURFACE`; where there are none, `log` says so at `place`.
pub(super) fn surface_faces(assembly: &Assembly, name: &str, place: Place, log: &mut Log) -> Option<Faces> {
    let of_part = |part: usize, name: &str| {
        assembly.parts[part].raw.surfaces.iter().find(|card: &&Card| card.keyword.is_named(name))
    };
    let of_instance = || {
        assembly.instances.iter().enumerate().find_map(|(i, placed)| {
            let rest = name.get(placed.name.len()..)?.strip_prefix('.')?;
            let is_here = name[..placed.name.len()].eq_ignore_ascii_case(&placed.name);
            of_part(placed.part, rest).filter(|_| is_here).map(|card| (card, Some(i)))
        })
    };
    let Some((card, instance)) = of_part(0, name).map(|card| (card, None)).or_else(of_instance) else {
        log.absent(place, format!("surface `{name}` does not exist"));
        return None;
    };
    if !matches!(card.keyword.word("TYPE").as_str(), "" | "ELEMENT") || card.keyword.has("COMBINE") {
        let text = format!("surface `{name}` (line {}) is not made of element faces", card.keyword.place.line);
        log.error(place, text);
        return None;
    }
    let (mut faces, mut elements) = (Vec::new(), Vec::new());
    for entry in entries(card, log) {
        let (set, face) = (entry.text(0), entry.word(1));
        if entry.has_more(2) {
            log.note(entry.place, "*SURFACE: what stands behind the first 2 fields is without effect");
        }
        // A line without a name is of the whole model.
        let whole = || (instance.is_none() && set.is_empty()).then(|| (0..assembly.n_elements).collect());
        let Some(mut codes) = whole().or_else(|| assembly.elements_in(instance, &set)) else {
            log.absent(place, format!("surface `{name}`: there is no element or element set `{set}`"));
            return None;
        };
        codes.retain(|code| *code < assembly.n_elements);
        let found = match face.strip_prefix('S').and_then(|n| n.parse().ok()) {
            Some(number) => faces_of(&assembly.mesh, &codes, number),
            None if face.is_empty() => Ok(free_faces(&assembly.mesh, &codes)),
            None => Err(format!("face `{face}` is none of S1 to S6")),
        };
        match found {
            Ok((more, owners)) => {
                faces.extend(more);
                elements.extend(owners);
            }
            Err(text) => {
                log.error(place, format!("surface `{name}`: {text}"));
                return None;
            }
        }
    }
    Some((faces, elements))
}

/// The faces of these elements that no other element of the mesh shares.
fn free_faces(mesh: &Mesh, elements: &[u32]) -> Faces {
    let key = |mut face: [u32; 4]| {
        face.sort_unstable();
        face
    };
    let all_faces = |kind: ElementKind, nodes: &[u32]| -> Vec<[u32; 4]> {
        kind.faces().iter().filter_map(|face| face_nodes(kind, face, nodes)).collect()
    };
    let dimension = mesh.groups.iter().map(|g| g.kind.dimension()).max().unwrap_or(3);
    let mut uses: HashMap<[u32; 4], u32> = HashMap::new();
    for group in mesh.groups.iter().filter(|g| g.kind.dimension() == dimension) {
        for face in (0..group.len()).flat_map(|at| all_faces(group.kind, group.nodes(at))) {
            *uses.entry(key(face)).or_default() += 1;
        }
    }
    let (mut faces, mut owners) = (Vec::new(), Vec::new());
    for element in elements {
        let Some((group, at)) = mesh.place(*element) else { continue };
        for face in all_faces(group.kind, group.nodes(at)) {
            if uses.get(&key(face)) == Some(&1) {
                faces.push(face);
                owners.push(*element);
            }
        }
    }
    (faces, owners)
}

//! `*SURFACE` → element faces.

use std::collections::HashMap;

use super::assembly::{Assembly, kind_and_nodes};
use super::lexer::{Card, Place, fields, text};
use super::log::Log;
use crate::mesh::{ElementKind, Mesh};

/// Face nodes, (n, 4) padded with `u32::MAX`, and the element of each.
pub(super) type Faces = (Vec<[u32; 4]>, Vec<u32>);

/// Face `number` (from 1) of each element, as the deck writes it; faces that have vanished, as their corners coincide, are left out.
pub(super) fn faces_of(mesh: &Mesh, elements: &[u32], number: usize) -> Result<Faces, String> {
    let (mut faces, mut owners) = (Vec::new(), Vec::new());
    for element in elements {
        let Some((kind, nodes)) = kind_and_nodes(mesh, *element) else { continue };
        let Some(face) = number.checked_sub(1).and_then(|f| kind.faces().get(f)) else {
            return Err(format!("{} has no face {number}", kind.name()));
        };
        if let Some(face) = face_nodes(kind, face, nodes) {
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
    let named = |card: &&Card, name: &str| card.keyword.get("NAME").is_some_and(|n| n.eq_ignore_ascii_case(name));
    let root = assembly.parts.first().and_then(|p| p.raw.surfaces.iter().find(|c| named(c, name)));
    let (card, instance) = match root {
        Some(card) => (card, None),
        None => {
            let found = assembly.instances.iter().enumerate().find_map(|(i, placed)| {
                let rest = name.get(placed.name.len()..)?.strip_prefix('.')?;
                let here = name[..placed.name.len()].eq_ignore_ascii_case(&placed.name);
                let card = assembly.parts[placed.part].raw.surfaces.iter().find(|c| named(c, rest))?;
                here.then_some((card, Some(i)))
            });
            match found {
                Some(found) => found,
                None => {
                    log.absent(place, format!("surface `{name}` does not exist"));
                    return None;
                }
            }
        }
    };
    if !matches!(card.keyword.word("TYPE").as_str(), "" | "ELEMENT") || card.keyword.has("COMBINE") {
        let text = format!("surface `{name}` (line {}) is not made of element faces", card.keyword.place.line);
        log.error(place, text);
        return None;
    }
    let (mut faces, mut elements) = (Vec::new(), Vec::new());
    for line in &card.data {
        let bytes = log.line(line);
        let mut entries = fields(&bytes).map(text);
        let set = entries.next().unwrap_or_default();
        let face = entries.next().unwrap_or_default().to_uppercase();
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
        let (mut more, mut owners) = match found {
            Ok(found) => found,
            Err(text) => {
                log.error(place, format!("surface `{name}`: {text}"));
                return None;
            }
        };
        faces.append(&mut more);
        elements.append(&mut owners);
    }
    Some((faces, elements))
}

/// The faces of these elements that no other element of the mesh shares.
fn free_faces(mesh: &Mesh, elements: &[u32]) -> Faces {
    let key = |face: &[u32; 4]| {
        let mut sorted = *face;
        sorted.sort_unstable();
        sorted
    };
    let dimension = mesh.groups.iter().map(|g| g.kind.dimension()).max().unwrap_or(3);
    let mut uses: HashMap<[u32; 4], u32> = HashMap::new();
    for group in mesh.groups.iter().filter(|g| g.kind.dimension() == dimension) {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            for face in group.kind.faces().iter().filter_map(|face| face_nodes(group.kind, face, nodes)) {
                *uses.entry(key(&face)).or_default() += 1;
            }
        }
    }
    let (mut faces, mut owners) = (Vec::new(), Vec::new());
    for element in elements {
        let Some((kind, nodes)) = kind_and_nodes(mesh, *element) else { continue };
        for face in kind.faces().iter().filter_map(|face| face_nodes(kind, face, nodes)) {
            if uses.get(&key(&face)) == Some(&1) {
                faces.push(face);
                owners.push(*element);
            }
        }
    }
    (faces, owners)
}

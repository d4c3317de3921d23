//! Infinite elements: dashpots on the face that they share with the mesh.
//!
//! In dynamics an infinite element is a quiet boundary (Lysmer and Kuhlemeyer 1969): it has no mass and no stiffness. Its
//! first face lies on the mesh; where its other nodes are makes no difference.

use super::assembly::Assembly;
use super::keywords::IgnoreList;
use super::lines::TrussSection;
use super::log::Log;
use super::part::ElementPlace;
use crate::words::counted;

/// Types of infinite elements, nodes of their first face, and all their nodes.
const KINDS: [(&str, usize, usize); 3] = [("CINPE4", 2, 4), ("CINPS4", 2, 4), ("CIN3D8", 4, 8)];

/// An infinite element of a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct InfiniteElement {
    /// Label, as the deck writes it.
    pub label: u32,
    /// CINPE4, CINPS4 or CIN3D8.
    pub kind: &'static str,
    /// Nodes of the mesh on its first face, padded with `u32::MAX`.
    pub face: [u32; 4],
    /// Index of its section.
    pub section: u32,
}

fn kind_of(name: &str) -> Option<&'static (&'static str, usize, usize)> {
    KINDS.iter().find(|(kind, ..)| *kind == name)
}

/// Whether elements of a type are infinite ones that are computed.
pub(super) fn is_infinite(name: &str) -> bool {
    kind_of(name).is_some()
}

/// Infinite elements of all sections. One without a section, or with a node that does not exist, is an error.
pub(super) fn collect(
    assembly: &Assembly,
    sections: &[TrussSection],
    ignore: &IgnoreList,
    log: &mut Log,
) -> Vec<InfiniteElement> {
    let is_wanted = |name: &str| is_infinite(name) && !ignore.has(&[name]);
    let mut found = Vec::new();
    let mut n_with_section = 0;
    for TrussSection { codes, section, .. } in sections {
        for &code in codes {
            let Some((placed, local)) = assembly.placed_other(code) else { continue };
            let part = &assembly.parts[placed.part];
            let ElementPlace::Other(group, at) = part.place_of(local) else { continue };
            let group = &part.raw.others[group];
            let Some(&(kind, n_face, n_nodes)) = kind_of(&group.name).filter(|(name, ..)| is_wanted(name)) else {
                continue;
            };
            n_with_section += 1;
            let (label, nodes) = (group.labels[at], group.nodes_of(at).unwrap_or_default());
            if nodes.len() != n_nodes || nodes.contains(&u32::MAX) {
                let text = format!("{kind} element {label} has not {n_nodes} nodes of the deck");
                log.absent(group.place, text);
                continue;
            }
            let mut face = [u32::MAX; 4];
            for (slot, node) in face.iter_mut().zip(&nodes[..n_face]) {
                *slot = node + placed.node_first;
            }
            found.push(InfiniteElement { label, kind, face, section: *section });
        }
    }
    let groups = assembly.instances.iter().flat_map(|placed| &assembly.parts[placed.part].raw.others);
    let groups: Vec<_> = groups.filter(|group| is_wanted(&group.name)).collect();
    let n: usize = groups.iter().map(|group| group.labels.len()).sum();
    if let Some(first) = groups.first().filter(|_| n > n_with_section && !ignore.covers(&["NO SECTION"])) {
        let elements = counted(n - n_with_section, "infinite element");
        let text = "without a *SOLID SECTION, whose material lies beyond the mesh";
        log.absent(first.place, format!("{elements} {text}; --ignore NO-SECTION leaves such elements out"));
    }
    found
}

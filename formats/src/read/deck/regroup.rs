//! Elements in one group a kind, and what follows new indices of elements and nodes.

use std::borrow::Cow;

use super::Deck;
use crate::dynamics::LoadKind;
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::words::counted;

/// New index of a node or an element that is left out.
pub(crate) const DROPPED: u32 = u32::MAX;

/// The new index; none for a node or an element that is left out.
pub(crate) fn new_index(map: &[u32], old: u32) -> Option<u32> {
    map.get(old as usize).copied().filter(|new| *new != DROPPED)
}

/// Replaces old indices by new ones, without those that are left out.
pub(crate) fn remap(list: &mut Vec<u32>, map: &[u32]) {
    list.retain_mut(|index| {
        let new = new_index(map, *index);
        *index = new.unwrap_or_default();
        new.is_some()
    });
}

/// Keeps the entries of a list for which the iterator says so.
pub(crate) fn retain_where<T>(list: &mut Vec<T>, mut keep: impl Iterator<Item = bool>) {
    list.retain(|_| keep.next() == Some(true));
}

/// Whether an entry stands in a list more than once.
pub(crate) fn repeats<T: PartialEq>(list: &[T]) -> bool {
    list.iter().enumerate().any(|(at, entry)| list[..at].contains(entry))
}

/// Sorts the elements of a mesh into one group a kind: first those of `kinds`, then others as they come up. `each` gives the kind
/// and the nodes that an element is to have, and none for one that is left out. Returns the new index of every element.
pub(crate) fn regroup(
    mesh: &mut Mesh,
    kinds: &[ElementKind],
    mut each: impl for<'a> FnMut(&'a ElementGroup, usize) -> Option<(ElementKind, Cow<'a, [u32]>)>,
) -> Vec<u32> {
    let mut groups: Vec<(ElementGroup, Vec<u32>)> = Vec::new();
    for kind in kinds {
        of_kind(&mut groups, *kind);
    }
    let mut n_elements = 0;
    for from in std::mem::take(&mut mesh.groups) {
        for at in 0..from.len() {
            if let Some((kind, nodes)) = each(&from, at) {
                let (to, old) = of_kind(&mut groups, kind);
                to.labels.push(from.labels[at]);
                to.instance.push(from.instance[at]);
                to.section.push(from.section[at]);
                to.connectivity.extend_from_slice(&nodes);
                old.push(n_elements);
            }
            n_elements += 1;
        }
    }
    let mut map = vec![DROPPED; n_elements as usize];
    for (old, new) in groups.iter().flat_map(|(_, old)| old).zip(0..) {
        map[*old as usize] = new;
    }
    mesh.groups = groups.into_iter().map(|(group, _)| group).filter(|group| !group.is_empty()).collect();
    map
}

/// The group of a kind, made where there is none, and the old indices of its elements.
fn of_kind(groups: &mut Vec<(ElementGroup, Vec<u32>)>, kind: ElementKind) -> &mut (ElementGroup, Vec<u32>) {
    let at = groups.iter().position(|(group, _)| group.kind == kind).unwrap_or_else(|| {
        groups.push((ElementGroup::new(kind), Vec::new()));
        groups.len() - 1
    });
    &mut groups[at]
}

/// Follows new element indices everywhere but in the groups. Returns the histories that have no element left, which go.
pub(crate) fn renumber_elements(deck: &mut Deck, map: &[u32]) -> Vec<String> {
    for set in &mut deck.mesh.element_sets {
        remap(&mut set.members, map);
    }
    deck.mesh.element_sets.retain(|set| !set.members.is_empty());
    for load in &mut deck.loads {
        match &mut load.kind {
            LoadKind::Concentrated { .. } | LoadKind::Volume { .. } => {}
            LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. } => {
                retain_where(faces, elements.iter().map(|element| new_index(map, *element).is_some()));
                remap(elements, map);
            }
            LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => remap(elements, map),
        }
    }
    for history in &mut deck.element_histories {
        remap(&mut history.elements, map);
    }
    let unused = deck.element_histories.extract_if(.., |history| history.elements.is_empty());
    unused.map(|history| history.set).collect()
}

/// Gives every element with repeated nodes its simpler kind, and says which.
pub(super) fn collapse(deck: &mut Deck) -> Option<String> {
    if !deck.mesh.groups.iter().any(|group| (0..group.len()).any(|at| repeats(group.nodes(at)))) {
        return None;
    }
    let mut moved: Vec<(ElementKind, ElementKind, usize, u32)> = Vec::new();
    let map = regroup(&mut deck.mesh, &[], |group, at| {
        let nodes = group.nodes(at);
        let Some((kind, simpler)) = repeats(nodes).then(|| group.kind.collapsed(nodes)).flatten() else {
            return Some((group.kind, nodes.into()));
        };
        match moved.iter_mut().find(|m| (m.0, m.1) == (group.kind, kind)) {
            Some(entry) => entry.2 += 1,
            None => moved.push((group.kind, kind, 1, group.labels[at])),
        }
        Some((kind, simpler.into()))
    });
    renumber_elements(deck, &map);
    let each = moved.iter().map(|(from, to, n, label)| {
        let elements = counted(*n, &format!("{} element", from.name()));
        let are = if *n == 1 { "is a" } else { "are" };
        format!("{elements} {are} {} (element {label})", to.name())
    });
    let each: Vec<String> = each.collect();
    Some(format!("nodes are repeated: {}; stiffness and lumped mass are those of that kind", each.join(", ")))
}

//! Sets of lines and faces that mesh generators write beside the elements of a model, as sets of nodes.
//!
//! Gmsh writes a physical curve as elements of type T3D2 and as an element set, and no node set unless it is asked for one
//! (`Mesh.SaveGroupsOfNodes`). The elements are no part of the model, but their nodes are where conditions belong.

use super::assembly::Assembly;
use super::element_names::other_dimension;
use super::lexer::Place;
use super::log::Log;
use crate::mesh::NamedSet;

/// Names that a note lists.
const SHOWN: usize = 10;

/// Adds a node set for each element set of lines or faces alone, where no node set has its name. `others` are the members of
/// element sets that are of types that are not computed, by code. Returns the names.
pub(super) fn add_node_sets(
    assembly: &Assembly,
    node_sets: &mut Vec<NamedSet>,
    element_sets: &[NamedSet],
    others: &[NamedSet],
) -> Vec<String> {
    let mesh = &assembly.mesh;
    let highest = mesh.groups.iter().filter(|group| !group.is_empty()).map(|group| group.kind.dimension()).max();
    let dimension = if mesh.dimension == 2 { 2 } else { highest.unwrap_or(0) };
    let is_beside = |code: &u32| match mesh.place(*code) {
        Some((group, at)) => group.kind.dimension() < dimension && group.section[at] == super::NO_SECTION,
        None => assembly.type_of_other(*code).is_some_and(|name| other_dimension(name) < dimension),
    };
    let mut added = Vec::new();
    let of_others = others.iter().filter(|set| !element_sets.iter().any(|other| other.name == set.name));
    for set in element_sets.iter().chain(of_others) {
        let rest = others.iter().find(|other| other.name == set.name && !std::ptr::eq(*other, set));
        let mut members = set.members.clone();
        members.extend(rest.iter().flat_map(|rest| &rest.members));
        let is_named = node_sets.iter().any(|other| other.name.eq_ignore_ascii_case(&set.name));
        if is_named || !members.iter().all(is_beside) {
            continue;
        }
        let nodes = assembly.nodes_of_elements(&members);
        if !nodes.is_empty() {
            node_sets.push(NamedSet { name: set.name.clone(), members: nodes });
            added.push(set.name.clone());
        }
    }
    added
}

/// Says which node sets were added.
pub(super) fn tell(names: &[String], log: &mut Log) {
    let shown = match names.len() {
        0 => return,
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    };
    let (sets, are) =
        if names.len() == 1 { ("element set", "is also the node set") } else { ("element sets", "are also node sets") };
    log.note(Place { source: 0, line: 0 }, format!("lines and faces alone: {sets} {shown} {are} of their nodes"));
}

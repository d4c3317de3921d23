//! [`Deck`] → [`Model`]: drops what no section uses and checks that nothing is missing.

use super::element_names::nodes_of_other;
use super::report::{DeckError, Note};
use super::shape::{distortion, orient};
use super::{Deck, DeckMaterial, NO_SECTION};
use crate::dynamics::{Increment, LoadKind};
use crate::explicit::{ExplicitSettings, Lumping, Material, Model};
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::words::counted;

/// Index of something dropped.
const DROPPED: u32 = u32::MAX;

/// Problems and notes of this stage.
#[derive(Default)]
struct Findings {
    problems: Vec<Note>,
    notes: Vec<Note>,
}

impl Findings {
    fn error(&mut self, text: impl Into<String>) {
        self.problems.push(Note::new("", 0, text));
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note::new("", 0, text));
    }

    fn warning(&mut self, text: impl Into<String>) {
        self.notes.push(Note { is_warning: true, ..Note::new("", 0, text) });
    }
}

pub(super) fn finish(mut deck: Deck) -> Result<(Model, Vec<Note>), DeckError> {
    let mut findings = Findings { problems: Vec::new(), notes: std::mem::take(&mut deck.notes) };
    others(&deck, &mut findings);
    let can_compute = deck.model.mesh.n_elements() > 0 || deck.others.is_empty();
    if let Some(elements) = kept_elements(&mut deck.model.mesh, deck.model.setup.sections.len(), &mut findings) {
        let unused = renumber_elements(&mut deck.model, &elements);
        if !unused.is_empty() {
            findings.note(format!("histories left out, as none of their elements is computed: {}", unused.join(", ")));
        }
    }
    if deck.model.mesh.n_elements() > 0 {
        dimension(&mut deck.model.mesh, &mut findings);
        shapes(&mut deck.model.mesh, &mut findings);
        if let Some(nodes) = kept_nodes(&mut deck.model.mesh, &mut findings) {
            renumber_nodes(&mut deck.model, &nodes, deck.unconnected_loads, &mut findings);
        }
    } else {
        findings.error(match (can_compute, deck.has_sections) {
            (true, false) => {
                "no element has a section: give a *SOLID SECTION, or a job that says what the mesh is made of".into()
            }
            (true, true) => "no element that can be computed has a section".into(),
            (false, _) => {
                let types = deck.others.iter().map(|o| match alike(&o.count.name) {
                    Some(alike) => format!("{} ({alike} in its place)", o.count.name),
                    None => o.count.name.clone(),
                });
                let types: Vec<String> = types.collect();
                format!(
                    "no element is of a type that is computed; TYPE= may say, where only the mesh counts: {}",
                    types.join(", ")
                )
            }
        });
    }
    sections(&mut deck, &mut findings);
    deck.model.setup.explicit = match deck.explicit.take() {
        Some(explicit) => explicit,
        None => {
            if deck.require_step {
                findings.error("there is no *STEP with *DYNAMIC, EXPLICIT: give one, or a job that sets the time");
            }
            ExplicitSettings { time: 0., increment: Increment::Automatic { factor: 1. }, lumping: Lumping::RowSum }
        }
    };
    for problem in findings.problems.iter_mut().chain(&mut findings.notes).filter(|p| p.file.is_empty()) {
        problem.file = deck.report.files.first().cloned().unwrap_or_default();
    }
    if findings.problems.is_empty() {
        Ok((deck.model, findings.notes))
    } else {
        Err(DeckError { problems: findings.problems, report: Some(Box::new(deck.report)) })
    }
}

/// Elements of types that are not computed and that no section of the deck names.
fn others(deck: &Deck, findings: &mut Findings) {
    let without: Vec<_> = deck.others.iter().filter(|o| o.count.count > o.with_section).collect();
    // Where the deck itself has sections, it says what belongs to the model. Else only lower dimensions are surely not part of it.
    let (part, beside): (Vec<_>, Vec<_>) = without
        .into_iter()
        .partition(|o| !deck.has_sections && other_dimension(&o.count.name) >= deck.model.mesh.dimension as usize);
    let list = |others: &[&super::sections::Other]| {
        let each = others.iter().map(|o| format!("{} ({})", o.count.name, o.count.count - o.with_section));
        each.collect::<Vec<_>>().join(", ")
    };
    if let Some(first) = part.first() {
        let text = format!("element types that are not computed: {}; --ignore TYPE leaves one out", list(&part));
        findings.problems.push(Note::new(&first.count.file, first.count.line, text));
    }
    if let Some(first) = beside.first() {
        let text = format!("elements left out, as no section names them: {}", list(&beside));
        findings.notes.push(Note::new(&first.count.file, first.count.line, text));
    }
}

/// The computed types that have the nodes of a type that is not: programs that know meshes alone, such as meshio, write R3D3 for
/// triangles, CAX4P for quadrilaterals and C3D8RH for hexahedra.
fn alike(name: &str) -> Option<&'static str> {
    match (other_dimension(name), nodes_of_other(name)?) {
        (2, 3) => Some("CPE3 or CPS3"),
        (2, 4) => Some("CPE4 or CPS4"),
        (3, 4) => Some("C3D4"),
        (3, 6) => Some("C3D6"),
        (3, 8) => Some("C3D8 or C3D8R"),
        _ => None,
    }
}

/// Space dimension of the region that an element of a type that is not computed fills: 0 or 1 for points and lines.
fn other_dimension(name: &str) -> usize {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["C3D", "DC3D", "AC3D", "CIN3D", "COH3D", "EC3D", "PC3D", "SC", "CCL", "U", "VU"]) {
        3
    } else if starts(&["CP", "CA", "CG", "DC2D", "DCA", "AC2D", "ACA", "CIN", "COH", "S", "M3D", "R3D", "DS", "DG"]) {
        2
    } else {
        1
    }
}

/// New index of every element, with groups of one kind joined; nothing where all stay as they are.
fn kept_elements(mesh: &mut Mesh, n_sections: usize, findings: &mut Findings) -> Option<Vec<u32>> {
    let keep = |section: u32| (section as usize) < n_sections;
    let n_dropped: Vec<(ElementKind, usize)> = mesh
        .groups
        .iter()
        .map(|g| (g.kind, g.section.iter().filter(|s| !keep(**s)).count()))
        .filter(|(_, n)| *n > 0)
        .collect();
    let mut kinds: Vec<ElementKind> = Vec::new();
    for group in &mesh.groups {
        if !kinds.contains(&group.kind) {
            kinds.push(group.kind);
        }
    }
    if n_dropped.is_empty() && kinds.len() == mesh.groups.len() && mesh.groups.iter().all(|g| !g.is_empty()) {
        return None;
    }
    if !n_dropped.is_empty() {
        let each: Vec<String> = n_dropped.iter().map(|(kind, n)| format!("{} ({n})", kind.name())).collect();
        findings.note(format!("elements left out, as no section names them: {}", each.join(", ")));
    }
    let old = std::mem::take(&mut mesh.groups);
    let firsts: Vec<usize> = old
        .iter()
        .scan(0, |first, group| {
            let here = *first;
            *first += group.len();
            Some(here)
        })
        .collect();
    let mut map = vec![DROPPED; old.iter().map(ElementGroup::len).sum()];
    let mut next = 0;
    for kind in kinds {
        let (mut labels, mut instance, mut section, mut connectivity) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (group, first) in old.iter().zip(&firsts).filter(|(g, _)| g.kind == kind) {
            for at in (0..group.len()).filter(|at| keep(group.section[*at])) {
                map[first + at] = next;
                next += 1;
                labels.push(group.labels[at]);
                instance.push(group.instance[at]);
                section.push(group.section[at]);
                let n = kind.n_nodes();
                connectivity.extend_from_slice(&group.connectivity[at * n..(at + 1) * n]);
            }
        }
        if !labels.is_empty() {
            mesh.groups.push(ElementGroup { kind, labels, instance, section, connectivity });
        }
    }
    Some(map)
}

/// The new index; nothing for something dropped.
fn new_index(map: &[u32], old: u32) -> Option<u32> {
    map.get(old as usize).copied().filter(|new| *new != DROPPED)
}

fn remap(list: &mut Vec<u32>, map: &[u32]) {
    let old = std::mem::take(list);
    *list = old.into_iter().filter_map(|index| new_index(map, index)).collect();
}

/// Follows new element indices everywhere but in the groups; gives the histories that have no element left and go.
pub(super) fn renumber_elements(model: &mut Model, map: &[u32]) -> Vec<String> {
    for set in &mut model.mesh.element_sets {
        remap(&mut set.members, map);
    }
    model.mesh.element_sets.retain(|set| !set.members.is_empty());
    for load in &mut model.setup.loads {
        match &mut load.kind {
            LoadKind::Concentrated { .. } => {}
            LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. } => {
                let mut kept = elements.iter().map(|e| new_index(map, *e).is_some());
                faces.retain(|_| kept.next() == Some(true));
                remap(elements, map);
            }
            LoadKind::Body { elements, .. } | LoadKind::Gravity { elements, .. } => remap(elements, map),
        }
    }
    for layer in &mut model.setup.absorbing_layers {
        let mut kept = layer.elements.iter().map(|e| new_index(map, *e).is_some());
        layer.depth_fraction.retain(|_| kept.next() == Some(true));
        remap(&mut layer.elements, map);
    }
    let mut unused = Vec::new();
    model.setup.element_histories.retain_mut(|history| {
        remap(&mut history.elements, map);
        if history.elements.is_empty() {
            unused.push(history.set.clone());
        }
        !history.elements.is_empty()
    });
    unused
}

/// 2D or 3D by the elements; 2D meshes lose a constant third coordinate.
fn dimension(mesh: &mut Mesh, findings: &mut Findings) {
    let flat = mesh.groups.iter().filter(|g| g.kind.dimension() == 2).map(ElementGroup::len).sum::<usize>();
    if flat > 0 && flat < mesh.n_elements() {
        findings.error("2D and 3D elements both have a section: a model is one or the other");
        return;
    }
    if flat > 0
        && mesh.dimension == 3
        && let Err(text) = flatten(mesh)
    {
        findings.error(text);
    } else if flat == 0 && mesh.dimension == 2 {
        findings.error("3D elements in a mesh that was read as 2D");
    }
}

/// Elements must have a volume; those that are turned over are turned back.
fn shapes(mesh: &mut Mesh, findings: &mut Findings) {
    let n_elements = mesh.n_elements();
    let found = orient(mesh);
    if let Some(list) = found.flat.list() {
        let has = if found.flat.count == 1 { "has" } else { "have" };
        findings.error(format!(
            "{list} {has} no area or volume ({} of {})",
            found.flat.count,
            counted(n_elements, "element")
        ));
    }
    if let Some(list) = found.turned.list() {
        findings.note(format!("nodes run the wrong way round and were turned back: {list}"));
    }
    if found.flat.count > 0 {
        return;
    }
    let found = distortion(mesh);
    if let Some(list) = found.folded.list() {
        let what = "too distorted: the Jacobian is not positive at an integration point";
        findings.error(format!("{list}: {what}; check the order of the nodes, or mesh again there"));
    }
    if let Some(list) = found.bent.list() {
        let what = "badly shaped: the Jacobian is negative at a corner, though positive where the stiffness is summed";
        findings.warning(format!("{list}: {what}"));
    }
}

/// Drops the third coordinate of a 2D mesh, which must be the same at all nodes of its elements.
pub(super) fn flatten(mesh: &mut Mesh) -> Result<(), String> {
    let z = |node: u32| mesh.coordinates.get(3 * node as usize + 2).copied().unwrap_or(0.);
    let mut nodes = mesh.groups.iter().filter(|g| g.kind.dimension() == 2).flat_map(|g| &g.connectivity);
    if let Some(first) = nodes.next().map(|node| z(*node)) {
        let size = mesh.coordinates.iter().fold(0f64, |size, x| size.max(x.abs()));
        if let Some(node) = nodes.find(|node| (z(**node) - first).abs() > 1e-9 * size) {
            let label = mesh.node_labels.get(*node as usize).copied().unwrap_or_default();
            return Err(format!("a 2D mesh must lie in a plane of constant z: node {label} is at z = {}", z(*node)));
        }
    }
    let n = mesh.n_nodes();
    for node in 0..n {
        mesh.coordinates.copy_within(3 * node..3 * node + 2, 2 * node);
    }
    mesh.coordinates.truncate(2 * n);
    mesh.coordinates.shrink_to_fit();
    mesh.dimension = 2;
    Ok(())
}

/// New index of every node; nothing where all stay as they are.
fn kept_nodes(mesh: &mut Mesh, findings: &mut Findings) -> Option<Vec<u32>> {
    let n_nodes = mesh.n_nodes();
    let mut map = vec![DROPPED; n_nodes];
    for node in mesh.groups.iter().flat_map(|g| &g.connectivity) {
        if let Some(slot) = map.get_mut(*node as usize) {
            *slot = 0;
        }
    }
    let mut next = 0;
    for slot in map.iter_mut().filter(|slot| **slot != DROPPED) {
        *slot = next;
        next += 1;
    }
    let n_dropped = n_nodes - next as usize;
    if n_dropped == 0 {
        return None;
    }
    findings.note(format!("nodes left out, as no element uses them: {n_dropped}"));
    let dimension = mesh.dimension as usize;
    let mut kept = map.iter().map(|new| *new != DROPPED);
    mesh.node_labels.retain(|_| kept.next() == Some(true));
    let mut kept = map.iter().map(|new| *new != DROPPED);
    mesh.node_instance.retain(|_| kept.next() == Some(true));
    let mut kept = map.iter().flat_map(|new| std::iter::repeat_n(*new != DROPPED, dimension));
    mesh.coordinates.retain(|_| kept.next() == Some(true));
    for group in &mut mesh.groups {
        for node in &mut group.connectivity {
            *node = map.get(*node as usize).copied().unwrap_or_default();
        }
    }
    Some(map)
}

fn renumber_nodes(model: &mut Model, map: &[u32], unconnected_loads: bool, findings: &mut Findings) {
    for set in &mut model.mesh.node_sets {
        remap(&mut set.members, map);
    }
    model.mesh.node_sets.retain(|set| !set.members.is_empty());
    let setup = &mut model.setup;
    for load in &mut setup.loads {
        match &mut load.kind {
            LoadKind::Concentrated { nodes, weights, .. } => {
                let before = nodes.len();
                let mut kept = nodes.iter().map(|node| new_index(map, *node).is_some());
                weights.retain(|_| kept.next() == Some(true));
                remap(nodes, map);
                if nodes.len() < before {
                    let which = match (before - nodes.len(), before) {
                        (1, 1) => "its node belongs".to_owned(),
                        (1, _) => format!("1 of its {before} nodes belongs"),
                        (n, _) => format!("{n} of its {before} nodes belong"),
                    };
                    let text = format!("load `{}`: {which} to no element", load.name);
                    if nodes.is_empty() && !unconnected_loads {
                        findings.error(text + ": nothing carries it");
                    } else {
                        findings.note(text);
                    }
                }
            }
            LoadKind::Pressure { faces, .. } | LoadKind::Traction { faces, .. } => {
                for node in faces.iter_mut().flatten().filter(|node| **node != u32::MAX) {
                    *node = map.get(*node as usize).copied().unwrap_or(u32::MAX);
                }
            }
            LoadKind::Body { .. } | LoadKind::Gravity { .. } => {}
        }
    }
    setup.loads.retain(|load| !matches!(&load.kind, LoadKind::Concentrated { nodes, .. } if nodes.is_empty()));
    let mut unused = Vec::new();
    let mut keep = |name: &str, nodes: &mut Vec<u32>| {
        remap(nodes, map);
        if nodes.is_empty() {
            unused.push(name.to_owned());
        }
        !nodes.is_empty()
    };
    setup.boundaries.retain_mut(|b| keep(&b.name, &mut b.nodes));
    setup.initial_velocities.retain_mut(|v| keep(&v.name, &mut v.nodes));
    setup.histories.retain_mut(|h| keep(&h.set, &mut h.nodes));
    if !unused.is_empty() {
        let text = "conditions and histories left out, as none of their nodes belongs to an element";
        findings.note(format!("{text}: {}", unused.join(", ")));
    }
}

/// Drops sections without elements and materials that nothing uses and that are incomplete; the rest must be complete.
fn sections(deck: &mut Deck, findings: &mut Findings) {
    let setup = &mut deck.model.setup;
    let groups = &mut deck.model.mesh.groups;
    let mut used = vec![false; setup.sections.len()];
    for section in groups.iter().flat_map(|g| &g.section) {
        if let Some(flag) = used.get_mut(*section as usize) {
            *flag = true;
        }
    }
    let mut needed = vec![false; deck.materials.len()];
    for (section, _) in setup.sections.iter().zip(&used).filter(|(_, used)| **used) {
        match needed.get_mut(section.material as usize) {
            Some(flag) => *flag = true,
            None => findings.error(format!("section `{}` has no material", section.name)),
        }
    }
    let mut material_map = vec![DROPPED; needed.len()];
    let mut unused = Vec::new();
    // Often a name is misspelt.
    let idle = deck.materials.iter().zip(&needed).filter(|(material, needed)| !**needed && complete(material).is_ok());
    let idle: Vec<String> = idle.map(|(material, _)| format!("`{}`", material.name)).collect();
    let idle = if idle.is_empty() { String::new() } else { format!("; no section uses {}", idle.join(", ")) };
    for ((material, needed), new) in deck.materials.iter().zip(&needed).zip(&mut material_map) {
        match complete(material) {
            Ok(complete) => {
                *new = setup.materials.len() as u32;
                setup.materials.push(complete);
            }
            Err(what) if *needed => {
                let text = format!("material `{}` has no {what}{idle}", material.name);
                findings.problems.push(Note::new(&material.file, material.line, text));
            }
            Err(_) => unused.push(material.name.clone()),
        }
    }
    if !unused.is_empty() {
        findings.note(format!("materials left out, as they are incomplete and unused: {}", unused.join(", ")));
    }
    let mut section_map = vec![NO_SECTION; used.len()];
    for ((new, _), next) in section_map.iter_mut().zip(&used).filter(|(_, used)| **used).zip(0u32..) {
        *new = next;
    }
    let mut keep = used.iter();
    setup.sections.retain(|_| keep.next() == Some(&true));
    for section in &mut setup.sections {
        section.material = material_map.get(section.material as usize).copied().unwrap_or_default();
    }
    if used.contains(&false) {
        for section in groups.iter_mut().flat_map(|g| &mut g.section) {
            *section = section_map.get(*section as usize).copied().unwrap_or_default();
        }
    }
}

fn complete(material: &DeckMaterial) -> Result<Material, &'static str> {
    match (material.density, &material.elasticity) {
        (Some(density), Some(elasticity)) => Ok(Material {
            name: material.name.clone(),
            density,
            elasticity: elasticity.clone(),
            damping_alpha: material.damping_alpha,
        }),
        (Some(_), None) => Err("stiffness (*ELASTIC)"),
        (None, Some(_)) => Err("density (*DENSITY)"),
        (None, None) => Err("density and no stiffness (*DENSITY, *ELASTIC, or a job that defines it)"),
    }
}

//! What a deck says → a [`Model`]: drops what no section uses and checks that nothing is missing.

mod fluid_ties;
mod infinite;
mod linear;
mod missing;
mod overlap;
mod shape;
mod units;

use self::missing::{complete, incomplete, nothing_to_compute, report_others, without_section};
use self::shape::{distortion, orient};
use super::{ExplicitSettings, FluidTies, Interface, Lumping, Material, Model, Section, Setup};
use crate::dynamics::shots::belongs;
use crate::dynamics::{CopiedDisplacements, Increment, LinearConstraints, LoadKind, Start};
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::read::deck::regroup::{DROPPED, new_index, regroup, remap, renumber_elements, repeats, retain_where};
use crate::read::deck::{Deck, DeckError, NO_SECTION, Note, Step, flatten};
use crate::words::counted;

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

impl Deck {
    /// Whether a section is of a fluid.
    pub fn is_fluid(&self, section: &Section) -> bool {
        let material = self.materials.get(section.material as usize);
        material.and_then(|material| material.elasticity.as_ref()).is_some_and(|law| law.bulk().is_some())
    }

    /// Drops elements without a section and nodes without an element, joins groups of one kind, turns elements whose
    /// nodes run the wrong way round, checks that nothing is missing, and gives the model together with all notes (those
    /// of the reader first). Element and node indices change.
    ///
    /// Without a step and with [`require_step`](crate::read::deck::ReadOptions::require_step) false, the time of the run is 0:
    /// the caller sets it.
    ///
    /// # Errors
    /// No element has a section, or some have none; a section's material lacks density or stiffness; a step is required and there is none;
    /// 2D and 3D elements are mixed; a 2D mesh is not plane; an element has no volume; a load has no node left.
    pub fn finish(mut self) -> Result<(Model, Vec<Note>), DeckError> {
        let mut findings = Findings { problems: Vec::new(), notes: std::mem::take(&mut self.notes) };
        report_others(&self, &mut findings);
        let nothing = nothing_to_compute(&self);
        let labels = linear::labels(&self);
        let mut rows = LinearConstraints::default();
        let mut ties = FluidTies::default();
        keep_elements(&mut self, &mut findings);
        if self.mesh.n_elements() > 0 {
            set_dimension(&mut self.mesh, &mut findings);
            check_shapes(&mut self.mesh, &mut findings);
            let nodes = keep_nodes(&mut self.mesh, &mut findings);
            ties = fluid_ties::take(&mut self, nodes.as_deref(), &mut findings);
            rows = linear::resolve(&mut self, nodes.as_deref(), &labels, &mut findings);
            if let Some(nodes) = nodes {
                renumber_nodes(&mut self, &nodes, &mut findings);
            }
        } else {
            findings.error(nothing);
        }
        check_fluids(&self, &mut findings);
        let materials = keep_sections(&mut self, &mut findings);
        let section_name = |section: u32| self.sections.get(section as usize).map_or(String::new(), |s| s.name.clone());
        let impedances = infinite::boundaries(&self.mesh, &self.infinite, section_name, &mut findings);
        if self.step.is_none() && self.require_step {
            findings.error(missing::NO_STEP);
        }
        remark_on_copies(&self, &mut findings);
        units::check(&self, &materials, &mut findings);
        for problem in findings.problems.iter_mut().chain(&mut findings.notes).filter(|p| p.file.is_empty()) {
            problem.file = self.report.files.first().cloned().unwrap_or_default();
        }
        if !findings.problems.is_empty() {
            return Err(DeckError { problems: findings.problems, report: Some(Box::new(self.report)), deck: None });
        }
        let nothing = Step { time: 0., increment: Increment::Automatic { factor: 1. }, start: Start::SecondOrder };
        let Step { time, increment, start } = self.step.unwrap_or(nothing);
        let setup = Setup {
            title: self.title,
            materials,
            sections: self.sections,
            amplitudes: self.amplitudes,
            loads: self.loads,
            boundaries: self.boundaries,
            initial_velocities: self.initial_velocities,
            shots: self.shots,
            copied: self.copied,
            linear: rows,
            interface: Interface { ties, ..Interface::default() },
            impedances,
            absorbing_layers: Vec::new(),
            histories: self.histories,
            element_histories: self.element_histories,
            fields: self.fields,
            relaxation: None,
            explicit: ExplicitSettings { time, increment, lumping: Lumping::RowSum, start },
        };
        Ok((Model { mesh: self.mesh, setup }, findings.notes))
    }
}

fn remark_on_copies(deck: &Deck, findings: &mut Findings) {
    if !deck.copied.is_empty() {
        let nodes = counted(deck.copied.to.len(), "node");
        findings.note(format!(
            "periodic sides (mpi): u of {nodes} is copied from others after each increment; forces and supports there have no \
             effect"
        ));
    }
}

/// Drops the elements without a section and joins groups of one kind.
fn keep_elements(deck: &mut Deck, findings: &mut Findings) {
    without_section(deck, findings);
    let n_sections = deck.sections.len();
    let is_kept = |section: u32| (section as usize) < n_sections;
    let groups = &deck.mesh.groups;
    let drops = groups.iter().any(|group| group.section.iter().any(|section| !is_kept(*section)));
    let is_fluid: Vec<bool> = deck.sections.iter().map(|section| deck.is_fluid(section)).collect();
    let kind_of = |kind: ElementKind, section: u32| if is_fluid[section as usize] { kind.acoustic() } else { kind };
    let turns = |group: &ElementGroup| {
        let mut sections = group.section.iter().filter(|section| is_kept(**section));
        sections.any(|section| kind_of(group.kind, *section) != group.kind)
    };
    let turned: Vec<&str> = groups.iter().filter(|group| turns(group)).map(|group| group.kind.name()).collect();
    if !turned.is_empty() {
        findings.note(format!("elements of fluids are computed as acoustic ones: {}", turned.join(", ")));
    }
    let kinds: Vec<ElementKind> = groups.iter().map(|group| group.kind).collect();
    if !drops && turned.is_empty() && !repeats(&kinds) && groups.iter().all(|group| !group.is_empty()) {
        return;
    }
    let map = regroup(&mut deck.mesh, &kinds, |group, at| {
        let section = group.section[at];
        is_kept(section).then(|| (kind_of(group.kind, section), group.nodes(at).into()))
    });
    let unused = renumber_elements(deck, &map);
    if !unused.is_empty() {
        findings.note(format!("histories left out, as none of their elements is computed: {}", unused.join(", ")));
    }
}

/// Acoustic elements must be made of fluids.
fn check_fluids(deck: &Deck, findings: &mut Findings) {
    for group in deck.mesh.groups.iter().filter(|group| group.kind.is_acoustic()) {
        let sections = || group.section.iter().filter_map(|section| deck.sections.get(*section as usize));
        if let Some(section) = sections().find(|section| !deck.is_fluid(section)) {
            let material = deck.materials.get(section.material as usize).map_or("?", |material| &material.name);
            let kind = group.kind.name();
            findings.error(format!(
                "section `{}` gives {kind} elements the material `{material}`, which is no fluid: give it *ACOUSTIC MEDIUM, or \
                 in a job `bulk`",
                section.name
            ));
        }
    }
}

/// 2D or 3D by the elements; 2D meshes lose a constant third coordinate.
fn set_dimension(mesh: &mut Mesh, findings: &mut Findings) {
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
fn check_shapes(mesh: &mut Mesh, findings: &mut Findings) {
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

/// New index of every node; nothing where all stay as they are.
fn keep_nodes(mesh: &mut Mesh, findings: &mut Findings) -> Option<Vec<u32>> {
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
    let kept = map.iter().map(|new| *new != DROPPED);
    retain_where(&mut mesh.node_labels, kept.clone());
    retain_where(&mut mesh.node_instance, kept.clone());
    retain_where(&mut mesh.coordinates, kept.flat_map(|kept| std::iter::repeat_n(kept, dimension)));
    for group in &mut mesh.groups {
        for node in &mut group.connectivity {
            *node = map.get(*node as usize).copied().unwrap_or_default();
        }
    }
    Some(map)
}

/// Nodes that are copied to may belong to no element; those that are copied from may not, or others would stand still.
fn renumber_copies(deck: &mut Deck, map: &[u32], findings: &mut Findings) {
    let copied = std::mem::take(&mut deck.copied);
    let kept = copied.from.iter().zip(&copied.to).filter_map(|(&from, &to)| Some((from, new_index(map, to)?)));
    let (from, to): (Vec<u32>, Vec<u32>) = kept.unzip();
    match from.iter().map(|&from| new_index(map, from)).collect() {
        Some(from) => deck.copied = CopiedDisplacements { from, to },
        None => findings.error(
            "periodic sides (mpi): a node that others are copied from belongs to no element; --ignore MPI leaves them out",
        ),
    }
}

/// A shot loses the sources that have no node left.
fn keep_sources_of_shots(deck: &mut Deck) {
    let (loads, boundaries) = (&deck.loads, &deck.boundaries);
    let names = || loads.iter().map(|load| &load.name).chain(boundaries.iter().map(|boundary| &boundary.name));
    for shot in &mut deck.shots {
        shot.sources.retain(|source| names().any(|item| belongs(item, &source.name)));
    }
}

fn renumber_nodes(deck: &mut Deck, map: &[u32], findings: &mut Findings) {
    for set in &mut deck.mesh.node_sets {
        remap(&mut set.members, map);
    }
    deck.mesh.node_sets.retain(|set| !set.members.is_empty());
    renumber_copies(deck, map, findings);
    for load in &mut deck.loads {
        match &mut load.kind {
            LoadKind::Concentrated { nodes, weights, .. } | LoadKind::Volume { nodes, weights } => {
                let before = nodes.len();
                retain_where(weights, nodes.iter().map(|node| new_index(map, *node).is_some()));
                remap(nodes, map);
                if nodes.len() < before {
                    let which = match (before - nodes.len(), before) {
                        (1, 1) => "its node belongs".to_owned(),
                        (1, _) => format!("1 of its {before} nodes belongs"),
                        (n, _) => format!("{n} of its {before} nodes belong"),
                    };
                    let text = format!("load `{}`: {which} to no element", load.name);
                    if nodes.is_empty() && !deck.unconnected_loads {
                        findings.error(text + ": nothing carries it; --ignore CLOAD leaves all such loads out");
                    } else {
                        findings.warning(text);
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
    deck.loads.retain(|load| match &load.kind {
        LoadKind::Concentrated { nodes, .. } | LoadKind::Volume { nodes, .. } => !nodes.is_empty(),
        _ => true,
    });
    let mut unused = Vec::new();
    let mut keep = |name: &str, nodes: &mut Vec<u32>| {
        remap(nodes, map);
        if nodes.is_empty() {
            unused.push(name.to_owned());
        }
        !nodes.is_empty()
    };
    deck.boundaries.retain_mut(|b| keep(&b.name, &mut b.nodes));
    deck.initial_velocities.retain_mut(|v| keep(&v.name, &mut v.nodes));
    for history in &mut deck.histories {
        history.renumber(|node| new_index(map, node));
    }
    deck.histories.retain(|history| {
        if history.nodes.is_empty() {
            unused.push(history.set.clone());
        }
        !history.nodes.is_empty()
    });
    infinite::renumber(&mut deck.infinite, map);
    keep_sources_of_shots(deck);
    if !unused.is_empty() {
        let text = "conditions and histories left out, as none of their nodes belongs to an element";
        findings.warning(format!("{text}: {}", unused.join(", ")));
    }
}

/// Drops sections without elements and materials that nothing uses and that are incomplete. The rest must be complete, and is
/// returned.
fn keep_sections(deck: &mut Deck, findings: &mut Findings) -> Vec<Material> {
    let mut used = vec![false; deck.sections.len()];
    let of_infinite = deck.infinite.iter().map(|element| &element.section);
    for section in deck.mesh.groups.iter().flat_map(|g| &g.section).chain(of_infinite) {
        if let Some(flag) = used.get_mut(*section as usize) {
            *flag = true;
        }
    }
    let mut needed = vec![false; deck.materials.len()];
    for (section, _) in deck.sections.iter().zip(&used).filter(|(_, used)| **used) {
        match needed.get_mut(section.material as usize) {
            Some(flag) => *flag = true,
            None => findings.error(format!("section `{}` has no material", section.name)),
        }
    }
    // Often a name is misspelt.
    let idle = deck.materials.iter().zip(&needed).filter(|(material, needed)| !**needed && complete(material).is_ok());
    let idle: Vec<String> = idle.map(|(material, _)| format!("`{}`", material.name)).collect();
    let idle = if idle.is_empty() { String::new() } else { format!("; no section uses {}", idle.join(", ")) };
    let (mut materials, mut unused) = (Vec::new(), Vec::new());
    let mut material_map = vec![DROPPED; needed.len()];
    for ((material, needed), new) in deck.materials.iter().zip(&needed).zip(&mut material_map) {
        match complete(material) {
            Ok(complete) => {
                *new = materials.len() as u32;
                materials.push(complete);
            }
            Err(what) if *needed => findings.problems.push(incomplete(material, what, &idle)),
            Err(_) => unused.push(material.name.clone()),
        }
    }
    if !unused.is_empty() {
        findings.note(format!("materials left out, as they are incomplete and unused: {}", unused.join(", ")));
    }
    retain_where(&mut deck.sections, used.iter().copied());
    for section in &mut deck.sections {
        section.material = material_map.get(section.material as usize).copied().unwrap_or_default();
    }
    if used.contains(&false) {
        let mut next = 0..;
        let map: Vec<u32> =
            used.iter().map(|used| if *used { next.next().unwrap_or_default() } else { NO_SECTION }).collect();
        let of_infinite = deck.infinite.iter_mut().map(|element| &mut element.section);
        for section in deck.mesh.groups.iter_mut().flat_map(|g| &mut g.section).chain(of_infinite) {
            *section = map.get(*section as usize).copied().unwrap_or_default();
        }
    }
    materials
}

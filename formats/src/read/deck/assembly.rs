//! Parts and instances → one mesh, and names → indices of that mesh.

use std::collections::HashMap;

use super::NO_SECTION;
use super::frame::Frame;
use super::lexer::Place;
use super::log::Log;
use super::part::IndexedPart;
use super::raw::{Members, RawDeck, RawPart};
use super::sets::{Lookup, resolve};
use crate::mesh::{ElementGroup, ElementKind, Mesh, NamedSet};

/// A placed part.
pub(super) struct Placed {
    /// Empty for the flat deck or the assembly itself.
    pub name: String,
    /// Index into [`Assembly::parts`].
    pub part: usize,
    pub frame: Frame,
    pub node_first: u32,
    /// Element index of the first element of each group of its part.
    group_base: Vec<u32>,
    /// Code of its first element of a type that is not computed.
    pub other_base: u32,
}

/// The mesh with everything needed to find names in it. Element codes are element indices, followed by the elements of
/// types that are not computed.
pub(super) struct Assembly {
    /// The first is the root: a flat deck, or what stands outside of parts.
    pub parts: Vec<IndexedPart>,
    pub instances: Vec<Placed>,
    pub mesh: Mesh,
    pub n_elements: u32,
    by_name: HashMap<String, usize>,
    name: String,
    /// By part, except for the root.
    local_nodes: Vec<Vec<Vec<u32>>>,
    local_elements: Vec<Vec<Vec<u32>>>,
    /// Sets of the root.
    root_nodes: Vec<Vec<u32>>,
    root_elements: Vec<Vec<u32>>,
}

impl Assembly {
    /// Places the instances and resolves every set; nothing where that is impossible (the log says why).
    pub fn build(raw: &mut RawDeck, log: &mut Log) -> Option<Self> {
        let (parts, instances) = place(raw, log)?;
        let by_name = instances.iter().enumerate().map(|(i, placed)| (placed.name.to_uppercase(), i)).collect();
        let mesh = empty_mesh();
        let mut assembly = Self {
            parts,
            instances,
            mesh,
            n_elements: 0,
            by_name,
            name: raw.assembly.to_uppercase(),
            local_nodes: Vec::new(),
            local_elements: Vec::new(),
            root_nodes: Vec::new(),
            root_elements: Vec::new(),
        };
        for (at, part) in assembly.parts.iter().enumerate() {
            let (mut elements, mut nodes) = (Vec::new(), Vec::new());
            if at > 0 {
                elements = resolve(&part.raw.element_sets, &LocalElements(part), log);
                nodes = resolve(&part.raw.node_sets, &LocalNodes(part, &elements), log);
            }
            assembly.local_elements.push(elements);
            assembly.local_nodes.push(nodes);
        }
        assembly.fill_mesh(log)?;
        assembly.root_elements = resolve(&assembly.parts[0].raw.element_sets, &GlobalElements(&assembly), log);
        assembly.root_nodes = resolve(&assembly.parts[0].raw.node_sets, &GlobalNodes(&assembly), log);
        Some(assembly)
    }

    /// Counts by kind, offsets, then the arrays; the last instance of a part takes its vectors instead of copying.
    fn fill_mesh(&mut self, log: &mut Log) -> Option<()> {
        let mut kinds: Vec<(ElementKind, u64)> = Vec::new();
        let (mut n_nodes, mut n_others) = (0u64, 0u64);
        for placed in &self.instances {
            let part = &self.parts[placed.part];
            n_nodes += part.n_nodes as u64;
            n_others += (part.n_codes - part.n_elements) as u64;
            for group in &part.raw.groups {
                match kinds.iter_mut().find(|(kind, _)| *kind == group.kind) {
                    Some((_, n)) => *n += group.labels.len() as u64,
                    None => kinds.push((group.kind, group.labels.len() as u64)),
                }
            }
        }
        let n_elements: u64 = kinds.iter().map(|(_, n)| n).sum();
        if n_nodes.max(n_elements + n_others) >= u64::from(u32::MAX) {
            log.error(Place::default(), "more than 4294967294 nodes or elements");
            return None;
        }
        if self.instances.len() > usize::from(u16::MAX) {
            log.error(Place::default(), format!("more than {} instances", u16::MAX));
            return None;
        }
        let mut next = 0;
        let mut running: Vec<u32> = Vec::new();
        for (_, n) in &kinds {
            running.push(next);
            next += *n as u32;
        }
        self.n_elements = next;
        let (mut node_first, mut other_base) = (0u32, next);
        let n_uses = |instances: &[Placed], part: usize| instances.iter().filter(|p| p.part == part).count();
        let mut uses: Vec<usize> = (0..self.parts.len()).map(|p| n_uses(&self.instances, p)).collect();
        let mesh = &mut self.mesh;
        mesh.groups = kinds.iter().map(|(kind, _)| ElementGroup::new(*kind)).collect();
        for (number, placed) in self.instances.iter_mut().enumerate() {
            let part = &mut self.parts[placed.part];
            uses[placed.part] -= 1;
            let last = uses[placed.part] == 0;
            placed.node_first = node_first;
            placed.other_base = other_base;
            node_first += part.n_nodes as u32;
            other_base += (part.n_codes - part.n_elements) as u32;
            let labels = take(&mut part.raw.nodes.labels, last);
            let mut coordinates = take(&mut part.raw.nodes.coordinates, last);
            if !placed.frame.is_identity() {
                for x in coordinates.chunks_exact_mut(3) {
                    let moved = placed.frame.apply([x[0], x[1], x[2]]);
                    x.copy_from_slice(&moved);
                }
            }
            mesh.node_instance.resize(mesh.node_instance.len() + labels.len(), number as u16);
            append(&mut mesh.node_labels, labels);
            append(&mut mesh.coordinates, coordinates);
            mesh.instances.push(placed.name.clone());
            for group in &mut part.raw.groups {
                let Some(k) = kinds.iter().position(|(kind, _)| *kind == group.kind) else { continue };
                let labels = take(&mut group.labels, last);
                placed.group_base.push(running[k]);
                running[k] += labels.len() as u32;
                let mut connectivity = take(&mut group.connectivity, last);
                if placed.node_first > 0 {
                    connectivity.iter_mut().for_each(|node| *node += placed.node_first);
                }
                let to = &mut mesh.groups[k];
                to.instance.resize(to.instance.len() + labels.len(), number as u16);
                to.section.resize(to.section.len() + labels.len(), NO_SECTION);
                append(&mut to.labels, labels);
                append(&mut to.connectivity, connectivity);
            }
        }
        Some(())
    }

    /// Element code in the mesh of a code in an instance's part.
    pub fn global_element(&self, placed: &Placed, code: u32) -> u32 {
        let part = &self.parts[placed.part];
        let code = code as usize;
        if code >= part.n_elements {
            return placed.other_base + (code - part.n_elements) as u32;
        }
        let group = part.group_first.iter().rposition(|first| *first <= code).unwrap_or(0);
        placed.group_base[group] + (code - part.group_first[group]) as u32
    }

    /// Instance of an element that is not computed, and its code in the instance's part.
    fn placed_other(&self, code: u32) -> Option<(&Placed, usize)> {
        let placed = self.instances.iter().rfind(|p| p.other_base <= code && self.n_others(p) > 0)?;
        Some((placed, (code - placed.other_base) as usize + self.parts[placed.part].n_elements))
    }

    /// Part and type of an element that is not computed.
    pub fn other_of(&self, code: u32) -> Option<(usize, usize)> {
        let (placed, local) = self.placed_other(code)?;
        let kind = self.parts[placed.part].other_first.iter().rposition(|first| *first <= local)?;
        Some((placed.part, kind))
    }

    fn n_others(&self, placed: &Placed) -> usize {
        let part = &self.parts[placed.part];
        part.n_codes - part.n_elements
    }

    fn instance(&self, name: &str) -> Option<&Placed> {
        if name.is_empty() {
            return self.instances.first().filter(|placed| placed.name.is_empty());
        }
        self.by_name.get(&name.to_uppercase()).and_then(|i| self.instances.get(*i))
    }

    /// `ASSEMBLY.INSTANCE.REST` or `INSTANCE.REST` → instance and rest.
    fn split<'n>(&self, name: &'n str) -> Option<(&Placed, &'n str)> {
        let prefix = self.name.len() + 1;
        let name = match name.get(..prefix) {
            Some(start) if prefix > 1 && start.to_uppercase() == format!("{}.", self.name) => &name[prefix..],
            _ => name,
        };
        name.match_indices('.').find_map(|(at, _)| Some((self.instance(&name[..at])?, &name[at + 1..])))
    }

    /// Nodes of a set or label as a card names them: `SET`, `12`, `INSTANCE.SET`, `INSTANCE.12`.
    pub fn nodes_named(&self, name: &str) -> Option<Vec<u32>> {
        let root = &self.parts[0];
        if let Some(at) = root.raw.node_sets.find(name) {
            return self.root_nodes.get(at).cloned();
        }
        if let Ok(label) = name.parse() {
            return GlobalNodes(self).label("", label).map(|node| vec![node]);
        }
        GlobalNodes(self).named("", name)
    }

    /// Element codes of a set or label.
    pub fn elements_named(&self, name: &str) -> Option<Vec<u32>> {
        let root = &self.parts[0];
        if let Some(at) = root.raw.element_sets.find(name) {
            return self.root_elements.get(at).cloned();
        }
        if let Ok(label) = name.parse() {
            return GlobalElements(self).label("", label).map(|element| vec![element]);
        }
        GlobalElements(self).named("", name)
    }

    /// What to say of a node set (or `elements`) that the assembly has not, but an instance has.
    pub fn hint(&self, elements: bool, name: &str) -> String {
        let has_it = |placed: &&Placed| {
            let raw = &self.parts[placed.part].raw;
            let sets = if elements { &raw.element_sets } else { &raw.node_sets };
            placed.part > 0 && sets.find(name).is_some()
        };
        let found = self.instances.iter().find(has_it);
        found.map(|placed| format!(": did you mean `{}.{name}`?", placed.name)).unwrap_or_default()
    }

    /// Element codes of a set as a card inside an instance names it.
    pub fn elements_in(&self, instance: Option<usize>, name: &str) -> Option<Vec<u32>> {
        match instance.map(|i| &self.instances[i]) {
            Some(placed) if placed.part > 0 => GlobalElements(self).named(&placed.name, name),
            _ => self.elements_named(name),
        }
    }

    /// All sets as the model keeps them, nodes and elements, without elements that are not computed; these by code in the
    /// third list. Empty element sets are left out.
    pub fn take_sets(&mut self) -> [Vec<NamedSet>; 3] {
        let (mut nodes, mut elements) = (Vec::new(), Vec::new());
        for placed in self.instances.iter().filter(|p| p.part > 0) {
            let raw = &self.parts[placed.part].raw;
            for (set, members) in raw.node_sets.list.iter().zip(&self.local_nodes[placed.part]) {
                let members = members.iter().map(|node| node + placed.node_first).collect();
                nodes.push(NamedSet { name: format!("{}.{}", placed.name, set.name), members });
            }
            for (set, members) in raw.element_sets.list.iter().zip(&self.local_elements[placed.part]) {
                let members = members.iter().map(|code| self.global_element(placed, *code)).collect();
                elements.push(NamedSet { name: format!("{}.{}", placed.name, set.name), members });
            }
        }
        let root = &self.parts[0].raw;
        for (set, members) in root.node_sets.list.iter().zip(std::mem::take(&mut self.root_nodes)) {
            nodes.push(NamedSet { name: set.name.clone(), members });
        }
        for (set, members) in root.element_sets.list.iter().zip(std::mem::take(&mut self.root_elements)) {
            elements.push(NamedSet { name: set.name.clone(), members });
        }
        let mut others = Vec::new();
        for set in &mut elements {
            let members = set.members.extract_if(.., |code| *code >= self.n_elements).collect();
            others.push(NamedSet { name: set.name.clone(), members });
        }
        let mut all = [nodes, elements, others];
        all[1..].iter_mut().for_each(|sets| sets.retain(|set| !set.members.is_empty()));
        all
    }
}

fn empty_mesh() -> Mesh {
    Mesh {
        dimension: 3,
        coordinates: Vec::new(),
        node_labels: Vec::new(),
        node_instance: Vec::new(),
        instances: Vec::new(),
        groups: Vec::new(),
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

fn take<T: Clone>(from: &mut Vec<T>, whole: bool) -> Vec<T> {
    if whole { std::mem::take(from) } else { from.clone() }
}

fn append<T: Copy>(to: &mut Vec<T>, from: Vec<T>) {
    if to.is_empty() {
        *to = from;
    } else {
        to.extend_from_slice(&from);
    }
}

/// Indexes the parts and works out where each instance stands.
fn place(raw: &mut RawDeck, log: &mut Log) -> Option<(Vec<IndexedPart>, Vec<Placed>)> {
    let root = std::mem::take(&mut raw.root);
    let mut placed = Vec::new();
    if !root.has_no_mesh() || (raw.instances.is_empty() && raw.parts.is_empty()) {
        placed.push(new_placed(String::new(), 0, Frame { origin: [0.; 3], rotation: super::frame::IDENTITY }));
    }
    let mut parts = vec![IndexedPart::new(root, log)];
    let mut numbers = HashMap::new();
    for part in std::mem::take(&mut raw.parts) {
        numbers.insert(part.name.to_uppercase(), parts.len());
        parts.push(IndexedPart::new(part, log));
    }
    if raw.instances.is_empty() {
        for (number, part) in parts.iter().enumerate().skip(1) {
            let text = format!("part `{}` is in no *INSTANCE: it is taken as it stands", part.raw.name);
            log.note(part.raw.place, text);
            placed.push(new_placed(part.raw.name.clone(), number, Frame::from_instance(&[], None).ok()?));
        }
    }
    for mut instance in std::mem::take(&mut raw.instances) {
        let mut lines = instance.data.iter().map(|(_, values)| values.as_slice());
        let translation = lines.next().unwrap_or_default();
        let frame = Frame::from_instance(translation, lines.next()).unwrap_or_else(|text| {
            log.error(instance.data.last().map_or(instance.place, |d| d.0), text);
            Frame { origin: [0.; 3], rotation: super::frame::IDENTITY }
        });
        let named = numbers.get(&instance.part.to_uppercase()).copied();
        let own = std::mem::take(&mut instance.own);
        let number = match (named, own.has_no_mesh()) {
            (None, _) => {
                log.absent(instance.place, format!("part `{}` does not exist", instance.part));
                continue;
            }
            (Some(number), true) => {
                if has_definitions(&own) {
                    let text = format!(
                        "instance `{}` adds sets or sections to its part: put them into the part",
                        instance.name
                    );
                    log.error(instance.place, text);
                }
                number
            }
            (Some(number), false) => {
                if parts[number].n_nodes > 0 {
                    let text =
                        format!("instance `{}` and its part `{}` both hold a mesh", instance.name, instance.part);
                    log.error(instance.place, text);
                }
                parts.push(IndexedPart::new(own, log));
                parts.len() - 1
            }
        };
        placed.push(new_placed(instance.name, number, frame));
    }
    Some((parts, placed))
}

fn has_definitions(part: &RawPart) -> bool {
    !(part.node_sets.list.is_empty()
        && part.element_sets.list.is_empty()
        && part.sections.is_empty()
        && part.line_sections.is_empty()
        && part.surfaces.is_empty())
}

fn new_placed(name: String, part: usize, frame: Frame) -> Placed {
    Placed { name, part, frame, node_first: 0, group_base: Vec::new(), other_base: 0 }
}

/// Nodes of elements, each once, ascending; `add` appends those of one element.
fn nodes_of(elements: &[u32], add: impl Fn(u32, &mut Vec<u32>)) -> Vec<u32> {
    let mut list = Vec::new();
    elements.iter().for_each(|element| add(*element, &mut list));
    list.sort_unstable();
    list.dedup();
    list
}

struct LocalElements<'a>(&'a IndexedPart);

impl Lookup for LocalElements<'_> {
    const WHAT: &'static str = "element";
    fn label(&self, _: &str, label: u32) -> Option<u32> {
        self.0.elements.get(label)
    }
    fn range(&self, _: &str, first: u32, last: u32, step: u32) -> Vec<u32> {
        self.0.elements.range(first, last, step)
    }
    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty()
    }
    fn named(&self, _: &str, _: &str) -> Option<Vec<u32>> {
        None
    }
    fn direct(&self, _: &str, members: &Members) -> Option<Vec<u32>> {
        let (first, count) = match members {
            Members::Elements(group, first, count) => (self.0.group_first.get(*group)? + first, *count),
            Members::Others(group, first, count) => (self.0.other_first.get(*group)? + first, *count),
            _ => return None,
        };
        Some((first as u32..(first + count) as u32).collect())
    }
}

struct LocalNodes<'a>(&'a IndexedPart, &'a [Vec<u32>]);

impl Lookup for LocalNodes<'_> {
    const WHAT: &'static str = "node";
    fn label(&self, _: &str, label: u32) -> Option<u32> {
        self.0.nodes.get(label)
    }
    fn range(&self, _: &str, first: u32, last: u32, step: u32) -> Vec<u32> {
        self.0.nodes.range(first, last, step)
    }
    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty()
    }
    fn named(&self, _: &str, _: &str) -> Option<Vec<u32>> {
        None
    }
    fn direct(&self, _: &str, members: &Members) -> Option<Vec<u32>> {
        match members {
            Members::Nodes(first, count) => Some((*first as u32..(first + count) as u32).collect()),
            Members::NodesOf(name) => {
                let part = self.0;
                let elements = self.1.get(part.raw.element_sets.find(name)?)?;
                Some(nodes_of(elements, |code, list| {
                    let code = code as usize;
                    if code >= part.n_elements {
                        return list.extend(part.nodes_of_other(code));
                    }
                    let at = part.group_first.iter().rposition(|first| *first <= code).unwrap_or(0);
                    let (group, i) = (&part.raw.groups[at], code - part.group_first[at]);
                    let n = group.kind.n_nodes();
                    list.extend_from_slice(group.connectivity.get(i * n..(i + 1) * n).unwrap_or_default());
                }))
            }
            _ => None,
        }
    }
}

struct GlobalElements<'a>(&'a Assembly);

impl Lookup for GlobalElements<'_> {
    const WHAT: &'static str = "element";
    fn label(&self, instance: &str, label: u32) -> Option<u32> {
        let placed = self.0.instance(instance)?;
        Some(self.0.global_element(placed, self.0.parts[placed.part].elements.get(label)?))
    }
    fn range(&self, instance: &str, first: u32, last: u32, step: u32) -> Vec<u32> {
        let Some(placed) = self.0.instance(instance) else { return Vec::new() };
        let local = self.0.parts[placed.part].elements.range(first, last, step);
        local.into_iter().map(|code| self.0.global_element(placed, code)).collect()
    }
    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty() || self.0.instance(instance).is_some()
    }
    fn named(&self, instance: &str, name: &str) -> Option<Vec<u32>> {
        let (placed, rest) = if instance.is_empty() { self.0.split(name)? } else { (self.0.instance(instance)?, name) };
        let part = &self.0.parts[placed.part];
        if let Some(at) = part.raw.element_sets.find(rest) {
            let local = self.0.local_elements.get(placed.part)?.get(at)?;
            return Some(local.iter().map(|code| self.0.global_element(placed, *code)).collect());
        }
        let code = part.elements.get(rest.parse().ok()?)?;
        Some(vec![self.0.global_element(placed, code)])
    }
    fn direct(&self, _: &str, members: &Members) -> Option<Vec<u32>> {
        let root = &self.0.parts[0];
        let placed = self.0.instance("")?;
        let local = LocalElements(root).direct("", members)?;
        Some(local.into_iter().map(|code| self.0.global_element(placed, code)).collect())
    }
}

struct GlobalNodes<'a>(&'a Assembly);

impl Lookup for GlobalNodes<'_> {
    const WHAT: &'static str = "node";
    fn label(&self, instance: &str, label: u32) -> Option<u32> {
        let placed = self.0.instance(instance)?;
        Some(placed.node_first + self.0.parts[placed.part].nodes.get(label)?)
    }
    fn range(&self, instance: &str, first: u32, last: u32, step: u32) -> Vec<u32> {
        let Some(placed) = self.0.instance(instance) else { return Vec::new() };
        let mut nodes = self.0.parts[placed.part].nodes.range(first, last, step);
        nodes.iter_mut().for_each(|node| *node += placed.node_first);
        nodes
    }
    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty() || self.0.instance(instance).is_some()
    }
    fn named(&self, instance: &str, name: &str) -> Option<Vec<u32>> {
        let (placed, rest) = if instance.is_empty() { self.0.split(name)? } else { (self.0.instance(instance)?, name) };
        let part = &self.0.parts[placed.part];
        if let Some(at) = part.raw.node_sets.find(rest) {
            let local = self.0.local_nodes.get(placed.part)?.get(at)?;
            return Some(local.iter().map(|node| node + placed.node_first).collect());
        }
        let node = part.nodes.get(rest.parse().ok()?)?;
        Some(vec![placed.node_first + node])
    }
    fn direct(&self, instance: &str, members: &Members) -> Option<Vec<u32>> {
        match members {
            Members::Nodes(first, count) => {
                let placed = self.0.instance("")?;
                Some((placed.node_first + *first as u32..placed.node_first + (first + count) as u32).collect())
            }
            Members::NodesOf(name) => {
                let elements = if instance.is_empty() {
                    self.0.elements_named(name)?
                } else {
                    GlobalElements(self.0).named(instance, name)?
                };
                let assembly = self.0;
                Some(nodes_of(&elements, |code, list| match assembly.placed_other(code) {
                    Some((placed, local)) => {
                        let nodes = assembly.parts[placed.part].nodes_of_other(local);
                        list.extend(nodes.map(|node| placed.node_first + node));
                    }
                    None => list.extend(kind_and_nodes(&assembly.mesh, code).into_iter().flat_map(|(_, nodes)| nodes)),
                }))
            }
            _ => None,
        }
    }
}

/// Kind and node indices of an element.
pub(super) fn kind_and_nodes(mesh: &Mesh, element: u32) -> Option<(ElementKind, &[u32])> {
    let mut at = element as usize;
    for group in &mesh.groups {
        if at < group.len() {
            let n = group.kind.n_nodes();
            return group.connectivity.get(at * n..(at + 1) * n).map(|nodes| (group.kind, nodes));
        }
        at -= group.len();
    }
    None
}

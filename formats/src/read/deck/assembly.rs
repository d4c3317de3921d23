//! Parts and instances → one mesh, and names → indices of that mesh.

use std::collections::HashMap;

use super::NO_SECTION;
use super::frame::Frame;
use super::lexer::Place;
use super::log::Log;
use super::part::{ElementPlace, IndexedPart};
use super::raw::{Entity, Members, RawDeck};
use super::second_order::{self, Midside, SecondOrder};
use super::sets::{Lookup, resolve};
use crate::mesh::{ElementGroup, ElementKind, Mesh, NamedSet};

/// The kind of elements; of second-order elements that of their parts, and their own type.
type ElementType = (ElementKind, Option<SecondOrder>);

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
    /// What the groups of the mesh have of second-order elements.
    pub second_order: Vec<Midside>,
    pub n_elements: u32,
    by_name: HashMap<String, usize>,
    name: String,
    /// Members of the sets of each part: those of the root by index of the mesh, others by index of the part.
    sets: Vec<Sets>,
}

/// Members of the sets of nodes and of elements.
#[derive(Default)]
struct Sets {
    nodes: Vec<Vec<u32>>,
    elements: Vec<Vec<u32>>,
}

impl Sets {
    fn of(&self, entity: Entity) -> &[Vec<u32>] {
        match entity {
            Entity::Node => &self.nodes,
            Entity::Element => &self.elements,
        }
    }
}

impl Assembly {
    /// Places the instances and resolves every set; nothing where that is impossible (the log says why).
    pub fn build(raw: &mut RawDeck, log: &mut Log) -> Option<Self> {
        let (parts, instances) = place(raw, log);
        let by_name = instances.iter().enumerate().map(|(i, placed)| (placed.name.to_uppercase(), i)).collect();
        let (mesh, name) = (Mesh { dimension: 3, ..Mesh::default() }, raw.assembly.to_uppercase());
        let (second_order, sets) = (Vec::new(), vec![Sets::default()]);
        let mut assembly = Self { parts, instances, mesh, second_order, n_elements: 0, by_name, name, sets };
        for part in &assembly.parts[1..] {
            let elements = resolve(Entity::Element, &part.raw, &LocalScope { part, element_sets: &[] }, log);
            let nodes = resolve(Entity::Node, &part.raw, &LocalScope { part, element_sets: &elements }, log);
            assembly.sets.push(Sets { nodes, elements });
        }
        assembly.fill_mesh(log)?;
        // The nodes of a set of elements may be a set of nodes, so elements come first.
        assembly.sets[0].elements = resolve(Entity::Element, &assembly.parts[0].raw, &assembly, log);
        assembly.sets[0].nodes = resolve(Entity::Node, &assembly.parts[0].raw, &assembly, log);
        Some(assembly)
    }

    /// Types of elements in the order of first appearance, and the index of the first element of each; nothing where there are
    /// too many nodes or elements.
    fn count(&mut self, log: &mut Log) -> Option<Vec<(ElementType, u32)>> {
        let mut kinds: Vec<(ElementType, u64)> = Vec::new();
        let (mut n_nodes, mut n_others) = (0u64, 0u64);
        for placed in &self.instances {
            let part = &self.parts[placed.part];
            n_nodes += part.n_nodes as u64;
            n_others += part.n_others as u64;
            for group in &part.raw.groups {
                let of = (group.kind, group.second_order);
                match kinds.iter_mut().find(|(kind, _)| *kind == of) {
                    Some((_, n)) => *n += group.labels.len() as u64,
                    None => kinds.push((of, group.labels.len() as u64)),
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
        self.n_elements = n_elements as u32;
        let mut next = 0;
        let firsts = kinds.into_iter().map(|(kind, n)| {
            next += n as u32;
            (kind, next - n as u32)
        });
        Some(firsts.collect())
    }

    /// Counts by kind, offsets, then the arrays; the last instance of a part takes its vectors instead of copying.
    fn fill_mesh(&mut self, log: &mut Log) -> Option<()> {
        let mut next_of_kind = self.count(log)?;
        let (mut node_first, mut other_base) = (0u32, self.n_elements);
        let mut uses = vec![0; self.parts.len()];
        self.instances.iter().for_each(|placed| uses[placed.part] += 1);
        let mesh = &mut self.mesh;
        mesh.groups = next_of_kind.iter().map(|((kind, _), _)| ElementGroup::new(*kind)).collect();
        self.second_order = next_of_kind.iter().map(|((_, of), _)| Midside { of: *of, nodes: Vec::new() }).collect();
        for (number, placed) in self.instances.iter_mut().enumerate() {
            let part = &mut self.parts[placed.part];
            uses[placed.part] -= 1;
            let last = uses[placed.part] == 0;
            placed.node_first = node_first;
            placed.other_base = other_base;
            node_first += part.n_nodes as u32;
            other_base += part.n_others as u32;
            let labels = take(&mut part.raw.nodes.labels, last);
            let mut coordinates = take(&mut part.raw.nodes.coordinates, last);
            if !placed.frame.is_identity() {
                for x in coordinates.as_chunks_mut::<3>().0 {
                    *x = placed.frame.apply(*x);
                }
            }
            mesh.node_instance.resize(mesh.node_instance.len() + labels.len(), number as u16);
            append(&mut mesh.node_labels, labels);
            append(&mut mesh.coordinates, coordinates);
            mesh.instances.push(placed.name.clone());
            for group in &mut part.raw.groups {
                let of = (group.kind, group.second_order);
                let Some(k) = next_of_kind.iter().position(|(kind, _)| *kind == of) else { continue };
                let (n_corners, n_nodes) = (group.kind.n_nodes(), group.n_nodes());
                let labels = take(&mut group.labels, last);
                placed.group_base.push(next_of_kind[k].1);
                next_of_kind[k].1 += labels.len() as u32;
                let mut connectivity = take(&mut group.connectivity, last);
                if placed.node_first > 0 {
                    connectivity.iter_mut().for_each(|node| *node += placed.node_first);
                }
                let to = &mut mesh.groups[k];
                to.instance.resize(to.instance.len() + labels.len(), number as u16);
                to.section.resize(to.section.len() + labels.len(), NO_SECTION);
                append(&mut to.labels, labels);
                if n_nodes > n_corners {
                    let elements = connectivity.chunks_exact(n_nodes).map(|nodes| nodes.split_at(n_corners));
                    for (corners, midside) in elements {
                        to.connectivity.extend_from_slice(corners);
                        self.second_order[k].nodes.extend_from_slice(midside);
                    }
                } else {
                    append(&mut to.connectivity, connectivity);
                }
            }
        }
        Some(())
    }

    /// Index in the mesh of a node of an instance's part, or the code there of an element's code.
    fn global(&self, entity: Entity, placed: &Placed, index: u32) -> u32 {
        match entity {
            Entity::Node => placed.node_first + index,
            Entity::Element => match self.parts[placed.part].place_of(index as usize) {
                ElementPlace::Group(group, at) => placed.group_base[group] + at as u32,
                ElementPlace::Other(..) => placed.other_base + index - self.parts[placed.part].n_elements as u32,
            },
        }
    }

    fn all_global(&self, entity: Entity, placed: &Placed, local: &[u32]) -> Vec<u32> {
        local.iter().map(|index| self.global(entity, placed, *index)).collect()
    }

    /// Instance of an element that is not computed, and its code in the instance's part.
    pub fn placed_other(&self, code: u32) -> Option<(&Placed, usize)> {
        let has_others = |placed: &Placed| self.parts[placed.part].n_others > 0;
        let placed = self.instances.iter().rfind(|placed| placed.other_base <= code && has_others(placed))?;
        Some((placed, (code - placed.other_base) as usize + self.parts[placed.part].n_elements))
    }

    /// Name of the type of an element that is not computed.
    pub fn type_of_other(&self, code: u32) -> Option<&str> {
        let (placed, local) = self.placed_other(code)?;
        let part = &self.parts[placed.part];
        match part.place_of(local) {
            ElementPlace::Other(kind, _) => Some(&part.raw.others[kind].name),
            ElementPlace::Group(..) => None,
        }
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

    /// Nodes, or codes of elements, of a set or label as a card names it: `SET`, `12`, `INSTANCE.SET`, `INSTANCE.12`.
    pub fn members(&self, entity: Entity, name: &str) -> Option<Vec<u32>> {
        if let Some(at) = self.parts[0].raw.sets(entity).find(name) {
            return self.sets[0].of(entity).get(at).cloned();
        }
        if let Ok(label) = name.parse() {
            return self.label(entity, "", label).map(|index| vec![index]);
        }
        self.named(entity, "", name)
    }

    /// Whether a set of the assembly itself, or of a flat deck, keeps the order in which its members are given.
    pub fn is_unsorted(&self, name: &str) -> bool {
        let sets = self.parts[0].raw.sets(Entity::Node);
        sets.find(name).is_some_and(|at| sets.list[at].unsorted)
    }

    /// What to say of a set that the assembly has not, but an instance has.
    pub fn hint(&self, entity: Entity, name: &str) -> String {
        let has_it =
            |placed: &&Placed| placed.part > 0 && self.parts[placed.part].raw.sets(entity).find(name).is_some();
        let found = self.instances.iter().find(has_it);
        found.map(|placed| format!(": did you mean `{}.{name}`?", placed.name)).unwrap_or_default()
    }

    /// Element codes of a set as a card inside an instance names it.
    pub fn elements_in(&self, instance: Option<usize>, name: &str) -> Option<Vec<u32>> {
        match instance.map(|i| &self.instances[i]) {
            Some(placed) if placed.part > 0 => self.named(Entity::Element, &placed.name, name),
            _ => self.members(Entity::Element, name),
        }
    }

    /// The name of a set of an instance, or of the assembly itself, in the model: `INSTANCE.SET` or `SET`.
    pub fn set_name(&self, instance: Option<usize>, set: &str) -> String {
        instance.map_or_else(|| set.to_owned(), |i| format!("{}.{set}", self.instances[i].name))
    }

    /// The root, then every instance of another part: index of the part, and of the instance.
    pub fn scopes(&self) -> Vec<(usize, Option<usize>)> {
        let instances = self.instances.iter().enumerate().filter(|(_, placed)| placed.part > 0);
        std::iter::once((0, None)).chain(instances.map(|(i, placed)| (placed.part, Some(i)))).collect()
    }

    /// All sets as the model keeps them, nodes and elements, without elements that are not computed; these by code in the
    /// third list. Empty element sets are left out.
    pub fn take_sets(&mut self) -> [Vec<NamedSet>; 3] {
        let root = std::mem::take(&mut self.sets[0]);
        let (nodes, mut elements) =
            (self.named_sets(Entity::Node, root.nodes), self.named_sets(Entity::Element, root.elements));
        let mut others = Vec::new();
        for set in &mut elements {
            let members = set.members.extract_if(.., |code| *code >= self.n_elements).collect();
            others.push(NamedSet { name: set.name.clone(), members });
        }
        for sets in [&mut elements, &mut others] {
            sets.retain(|set| !set.members.is_empty());
        }
        [nodes, elements, others]
    }

    /// Nodes of elements by code, computed ones or not, each once, ascending.
    pub fn nodes_of_elements(&self, codes: &[u32]) -> Vec<u32> {
        nodes_of(codes, |code, list| match self.placed_other(code) {
            Some((placed, local)) => {
                list.extend(self.parts[placed.part].nodes_of(local).map(|node| placed.node_first + node));
            }
            None => list.extend(self.nodes_of_element(code)),
        })
    }

    /// Faces, with those of second-order elements as their parts will have them; none where a face has four edges, whose parts need
    /// a node that is not there yet. An element each.
    pub fn faces_of_parts(&self, faces: Vec<[u32; 4]>, elements: &[u32]) -> Option<Vec<[u32; 4]>> {
        if self.second_order.iter().all(|group| group.of.is_none()) {
            return Some(faces);
        }
        let parts = faces.into_iter().zip(elements).map(|(face, element)| {
            match second_order::place(&self.mesh.groups, &self.second_order, *element) {
                Some((group, more, at)) if more.of.is_some() => more.parts_of_face(group, at, face, |_| None),
                _ => Some(vec![face]),
            }
        });
        parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
    }

    /// Nodes of an element by index, with those on its edges.
    fn nodes_of_element(&self, element: u32) -> impl Iterator<Item = u32> {
        let found = second_order::place(&self.mesh.groups, &self.second_order, element);
        found.into_iter().flat_map(|(group, more, at)| group.nodes(at).iter().chain(more.of(group, at)).copied())
    }

    fn named_sets(&self, entity: Entity, of_root: Vec<Vec<u32>>) -> Vec<NamedSet> {
        let mut sets = Vec::new();
        for placed in self.instances.iter().filter(|placed| placed.part > 0) {
            let names = &self.parts[placed.part].raw.sets(entity).list;
            for (set, members) in names.iter().zip(self.sets[placed.part].of(entity)) {
                let members = self.all_global(entity, placed, members);
                sets.push(NamedSet { name: format!("{}.{}", placed.name, set.name), members });
            }
        }
        let names = &self.parts[0].raw.sets(entity).list;
        sets.extend(names.iter().zip(of_root).map(|(set, members)| NamedSet { name: set.name.clone(), members }));
        sets
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
fn place(raw: &mut RawDeck, log: &mut Log) -> (Vec<IndexedPart>, Vec<Placed>) {
    let root = std::mem::take(&mut raw.root);
    let mut placed = Vec::new();
    if !root.has_no_mesh() || (raw.instances.is_empty() && raw.parts.is_empty()) {
        placed.push(new_placed(String::new(), 0, Frame::GLOBAL));
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
            placed.push(new_placed(part.raw.name.clone(), number, Frame::GLOBAL));
        }
    }
    for mut instance in std::mem::take(&mut raw.instances) {
        let mut lines = instance.data.iter().map(|(_, values)| values.as_slice());
        let translation = lines.next().unwrap_or_default();
        let frame = Frame::from_instance(translation, lines.next()).unwrap_or_else(|text| {
            log.error(instance.data.last().map_or(instance.place, |d| d.0), text);
            Frame::GLOBAL
        });
        let own = std::mem::take(&mut instance.own);
        let Some(mut number) = numbers.get(&instance.part.to_uppercase()).copied() else {
            log.absent(instance.place, format!("part `{}` does not exist", instance.part));
            continue;
        };
        if !own.has_no_mesh() {
            if parts[number].n_nodes > 0 {
                let text = format!("instance `{}` and its part `{}` both hold a mesh", instance.name, instance.part);
                log.error(instance.place, text);
            }
            number = parts.len();
            parts.push(IndexedPart::new(own, log));
        } else if own.has_definitions() {
            let what = "adds sets or sections to its part: put them into the part";
            log.error(instance.place, format!("instance `{}` {what}", instance.name));
        }
        placed.push(new_placed(instance.name, number, frame));
    }
    (parts, placed)
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

/// What a set inside a part may refer to.
struct LocalScope<'a> {
    part: &'a IndexedPart,
    /// Members of the part's element sets.
    element_sets: &'a [Vec<u32>],
}

impl Lookup for LocalScope<'_> {
    fn label(&self, entity: Entity, _: &str, label: u32) -> Option<u32> {
        self.part.labels(entity).get(label)
    }

    fn range(&self, entity: Entity, _: &str, [first, last, step]: [u32; 3]) -> Vec<u32> {
        self.part.labels(entity).range(first, last, step)
    }

    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty()
    }

    fn named(&self, _: Entity, _: &str, _: &str) -> Option<Vec<u32>> {
        None
    }

    fn direct(&self, _: Entity, _: &str, members: &Members) -> Option<Vec<u32>> {
        match members {
            Members::NodesOf(name) => {
                let elements = self.element_sets.get(self.part.raw.element_sets.find(name)?)?;
                Some(nodes_of(elements, |code, list| list.extend(self.part.nodes_of(code as usize))))
            }
            _ => self.part.direct(members),
        }
    }
}

/// What a set of the assembly, or of a flat deck, may refer to.
impl Lookup for Assembly {
    fn label(&self, entity: Entity, instance: &str, label: u32) -> Option<u32> {
        let placed = self.instance(instance)?;
        Some(self.global(entity, placed, self.parts[placed.part].labels(entity).get(label)?))
    }

    fn range(&self, entity: Entity, instance: &str, [first, last, step]: [u32; 3]) -> Vec<u32> {
        let Some(placed) = self.instance(instance) else { return Vec::new() };
        self.all_global(entity, placed, &self.parts[placed.part].labels(entity).range(first, last, step))
    }

    fn has_instance(&self, instance: &str) -> bool {
        instance.is_empty() || self.instance(instance).is_some()
    }

    fn named(&self, entity: Entity, instance: &str, name: &str) -> Option<Vec<u32>> {
        let (placed, rest) = if instance.is_empty() { self.split(name)? } else { (self.instance(instance)?, name) };
        let part = &self.parts[placed.part];
        if let Some(at) = part.raw.sets(entity).find(rest).filter(|_| placed.part > 0) {
            return Some(self.all_global(entity, placed, self.sets.get(placed.part)?.of(entity).get(at)?));
        }
        Some(vec![self.global(entity, placed, part.labels(entity).get(rest.parse().ok()?)?)])
    }

    fn direct(&self, entity: Entity, instance: &str, members: &Members) -> Option<Vec<u32>> {
        let Members::NodesOf(name) = members else {
            return Some(self.all_global(entity, self.instance("")?, &self.parts[0].direct(members)?));
        };
        let elements = match instance {
            "" => self.members(Entity::Element, name),
            _ => self.named(Entity::Element, instance, name),
        };
        Some(self.nodes_of_elements(&elements?))
    }
}

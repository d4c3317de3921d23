//! Labels of one part → indices: nodes, elements, and the checks of both.

use std::collections::HashSet;

use super::lexer::{Cursor, Place, fields};
use super::log::Log;
use super::numbers::label;
use super::raw::{BlockStart, Entity, Members, RawGroup, RawPart};
use super::regroup::retain_where;
use crate::mesh::{ElementKind, ElementLaw};
use crate::read::labels::LabelIndex;
use crate::words::counted;

/// Problems of one kind that are shown.
const SHOWN: usize = 10;

/// A part whose connectivity holds node indices.
///
/// Element codes run through the groups in order; elements of types that are not computed follow after them.
pub(super) struct IndexedPart {
    pub raw: RawPart,
    nodes: LabelIndex,
    elements: LabelIndex,
    pub n_nodes: usize,
    /// Elements of computed types.
    pub n_elements: usize,
    /// Elements of types that are not computed.
    pub n_others: usize,
    /// Code of the first element of each group.
    group_first: Vec<usize>,
    /// Code of the first element of each other type.
    pub other_first: Vec<usize>,
}

/// Where the element of a code stands.
pub(super) enum ElementPlace {
    /// Index of the group, and place there.
    Group(usize, usize),
    /// Index of the type that is not computed, and place there.
    Other(usize, usize),
}

impl IndexedPart {
    pub fn new(mut raw: RawPart, log: &mut Log) -> Self {
        let nodes = index_nodes(&mut raw, log);
        let all = raw.groups.iter().map(|g| &g.labels).chain(raw.others.iter().map(|g| &g.labels));
        let (elements, duplicates) = LabelIndex::build(all.flatten().copied());
        let (mut group_first, mut other_first, mut n_codes) = (Vec::new(), Vec::new(), 0);
        for group in &raw.groups {
            group_first.push(n_codes);
            n_codes += group.labels.len();
        }
        let n_elements = n_codes;
        for group in &raw.others {
            other_first.push(n_codes);
            n_codes += group.labels.len();
        }
        let (n_nodes, n_others) = (raw.nodes.labels.len(), n_codes - n_elements);
        let mut part = Self { raw, nodes, elements, n_nodes, n_elements, n_others, group_first, other_first };
        for (code, _) in duplicates.iter().take(SHOWN) {
            part.report_duplicate(*code as usize, log);
        }
        for group in &mut part.raw.groups {
            connect(group, &part.nodes, log);
        }
        for group in &mut part.raw.others {
            group.nodes.iter_mut().for_each(|node| *node = part.nodes.get(*node).unwrap_or(u32::MAX));
        }
        part
    }

    pub fn labels(&self, entity: Entity) -> &LabelIndex {
        match entity {
            Entity::Node => &self.nodes,
            Entity::Element => &self.elements,
        }
    }

    /// Where the element of a code stands.
    pub fn place_of(&self, code: usize) -> ElementPlace {
        let last = |firsts: &[usize]| firsts.iter().rposition(|first| *first <= code).unwrap_or(0);
        if code < self.n_elements {
            let group = last(&self.group_first);
            ElementPlace::Group(group, code - self.group_first[group])
        } else {
            let kind = last(&self.other_first);
            ElementPlace::Other(kind, code - self.other_first[kind])
        }
    }

    /// Node indices of an element; nodes of types that are not computed are left out where they do not exist.
    pub fn nodes_of(&self, code: usize) -> impl Iterator<Item = u32> + '_ {
        let nodes = match self.place_of(code) {
            ElementPlace::Group(group, at) => {
                let group = &self.raw.groups[group];
                let n = group.n_nodes();
                group.connectivity.get(at * n..(at + 1) * n)
            }
            ElementPlace::Other(kind, at) => self.raw.others[kind].nodes_of(at),
        };
        nodes.unwrap_or_default().iter().copied().filter(|node| *node != u32::MAX)
    }

    /// Members that are given by position.
    pub fn direct(&self, members: &Members) -> Option<Vec<u32>> {
        let (first, count) = match members {
            Members::Nodes(first, count) => (*first, *count),
            Members::Elements(group, first, count) => (self.group_first.get(*group)? + first, *count),
            Members::Others(kind, first, count) => (self.other_first.get(*kind)? + first, *count),
            _ => return None,
        };
        Some((first as u32..(first + count) as u32).collect())
    }

    fn report_duplicate(&self, code: usize, log: &mut Log) {
        let (label, place) = match self.place_of(code) {
            ElementPlace::Group(group, at) => {
                let group = &self.raw.groups[group];
                (group.labels[at], locate(log, &group.blocks, at, group.labels[at], true))
            }
            ElementPlace::Other(kind, at) => (self.raw.others[kind].labels[at], self.raw.others[kind].place),
        };
        log.error(place, format!("element {label} is defined twice"));
    }
}

/// Indexes the nodes; drops repeated ones, which must lie at the same place.
fn index_nodes(raw: &mut RawPart, log: &mut Log) -> LabelIndex {
    let nodes = &mut raw.nodes;
    let (index, duplicates) = LabelIndex::build(nodes.labels.iter().copied());
    if duplicates.is_empty() {
        return index;
    }
    let position = |nodes: &super::raw::RawNodes, i: u32| nodes.coordinates[3 * i as usize..][..3].to_vec();
    let moved = duplicates.iter().filter(|(again, first)| position(nodes, *again) != position(nodes, *first));
    for (again, _) in moved.take(SHOWN) {
        let label = nodes.labels[*again as usize];
        let place = locate(log, &nodes.blocks, *again as usize, label, true);
        log.error(place, format!("node {label} is defined twice, at different places"));
    }
    for set in &mut raw.node_sets.list {
        for chunk in &mut set.chunks {
            if let Members::Nodes(first, count) = chunk.members {
                chunk.members = Members::Labels(nodes.labels[first..first + count].to_vec());
            }
        }
    }
    let mut keep = vec![true; nodes.labels.len()];
    for (again, _) in &duplicates {
        keep[*again as usize] = false;
    }
    retain_where(&mut nodes.labels, keep.iter().copied());
    retain_where(&mut nodes.coordinates, keep.iter().flat_map(|keep| [*keep; 3]));
    LabelIndex::build(nodes.labels.iter().copied()).0
}

/// Node labels → node indices.
fn connect(group: &mut RawGroup, nodes: &LabelIndex, log: &mut Log) {
    let n = group.n_nodes();
    let (kind, linear) = (group.kind, group.second_order.is_none());
    let can_collapse = |nodes: &[u32]| linear && kind.collapsed(nodes).is_some();
    let mut n_errors = 0;
    for at in 0..group.labels.len() {
        let Some(element) = group.connectivity.get_mut(at * n..(at + 1) * n) else { return };
        let mut problem = None;
        let repeated = (1..n).find(|k| element[..*k].contains(&element[*k])).map(|k| element[k]);
        if let Some(node) = repeated.filter(|_| !can_collapse(element)) {
            let why = if linear { refusal(kind, element) } else { "" };
            problem = Some(format!("has node {node} twice{why}"));
        }
        for node in element {
            match nodes.get(*node) {
                Some(index) => *node = index,
                None => {
                    if !log.incomplete {
                        problem = Some(format!("names node {node}, which does not exist"));
                    }
                    *node = 0;
                }
            }
        }
        if let Some(problem) = problem {
            n_errors += 1;
            if n_errors <= SHOWN {
                let label = group.labels[at];
                let place = locate(log, &group.blocks, at, label, false);
                log.error(place, format!("element {label} {problem}"));
            }
        }
    }
    if n_errors > SHOWN {
        let place = group.blocks.first().map(|b| b.place).unwrap_or_default();
        log.error(
            place,
            format!("{} with wrong nodes", counted(n_errors - SHOWN, &format!("more {} element", group.name()))),
        );
    }
}

/// The first or last line of the block around entry `at` that begins with a label; the block's first line where there is none.
fn locate(log: &Log, blocks: &[BlockStart], at: usize, wanted: u32, last: bool) -> Place {
    let Some(block) = blocks.iter().rev().find(|b| b.first <= at) else { return Place::default() };
    locate_line(log, block.place, block.offset, |line| fields(line).next().and_then(label) == Some(wanted), last)
}

/// The first or last line of the data that starts at `offset` that satisfies `found`; the first line where there is none.
pub(super) fn locate_line(log: &Log, place: Place, offset: usize, found: impl Fn(&[u8]) -> bool, last: bool) -> Place {
    let Some(source) = log.sources.get(place.source as usize) else { return place };
    let mut cursor = Cursor::at(source.bytes(), offset, place);
    let mut result = place;
    while let Some(line) = cursor.next_data() {
        if found(line) {
            result = cursor.last();
            if !last {
                break;
            }
        }
    }
    result
}

/// Why an element with repeated nodes is none that is computed.
fn refusal(kind: ElementKind, nodes: &[u32]) -> &'static str {
    let n_distinct = nodes.iter().collect::<HashSet<_>>().len();
    match n_distinct {
        6 if kind.law() == ElementLaw::ReducedHexahedron => ": a wedge has no exact one-point form; write it as C3D6",
        5 if kind.dimension() == 3 => ": pyramids are not computed; write it as two C3D4",
        _ if kind.n_nodes() > kind.dimension() + 1 => ": write it as a type with fewer nodes",
        _ => "",
    }
}

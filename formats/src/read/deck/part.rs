//! Labels of one part → indices: nodes, elements, and the checks of both.

use super::labels::LabelIndex;
use super::lexer::{Cursor, Place, fields};
use super::log::Log;
use super::numbers::label;
use super::raw::{BlockStart, Members, RawGroup, RawPart};
use crate::mesh::ElementKind;
use crate::words::counted;

/// Problems of one kind that are shown.
const SHOWN: usize = 10;

/// A part whose connectivity holds node indices.
///
/// Element codes run through the groups in order; elements of types that are not computed follow after them.
pub(super) struct IndexedPart {
    pub raw: RawPart,
    pub nodes: LabelIndex,
    pub elements: LabelIndex,
    pub n_nodes: usize,
    /// Elements of computed types.
    pub n_elements: usize,
    /// All elements.
    pub n_codes: usize,
    /// Code of the first element of each group.
    pub group_first: Vec<usize>,
    /// Code of the first element of each other type.
    pub other_first: Vec<usize>,
}

impl IndexedPart {
    pub fn new(mut raw: RawPart, log: &mut Log) -> Self {
        let nodes = index_nodes(&mut raw, log);
        let all = raw.groups.iter().map(|g| &g.labels).chain(raw.others.iter().map(|g| &g.labels));
        let (elements, duplicates) = LabelIndex::build(all.flatten().copied());
        let (mut group_first, mut other_first, mut n) = (Vec::new(), Vec::new(), 0);
        for group in &raw.groups {
            group_first.push(n);
            n += group.labels.len();
        }
        let n_elements = n;
        for group in &raw.others {
            other_first.push(n);
            n += group.labels.len();
        }
        let part = Self {
            n_nodes: raw.nodes.labels.len(),
            raw: RawPart::default(),
            nodes,
            elements,
            n_elements,
            n_codes: n,
            group_first,
            other_first,
        };
        for (code, _) in duplicates.iter().take(SHOWN) {
            part.report_duplicate(&raw, *code as usize, log);
        }
        for group in &mut raw.groups {
            connect(group, &part.nodes, log);
        }
        for group in &mut raw.others {
            group.nodes.iter_mut().for_each(|node| *node = part.nodes.get(*node).unwrap_or(u32::MAX));
        }
        Self { raw, ..part }
    }

    /// Node indices of an element of a type that is not computed; nodes that do not exist are left out.
    pub fn nodes_of_other(&self, code: usize) -> impl Iterator<Item = u32> + '_ {
        let found = self.other_first.iter().rposition(|first| *first <= code).and_then(|kind| {
            let group = self.raw.others.get(kind)?;
            group.nodes_of(code - self.other_first[kind])
        });
        found.unwrap_or_default().iter().copied().filter(|node| *node != u32::MAX)
    }

    fn report_duplicate(&self, raw: &RawPart, code: usize, log: &mut Log) {
        let group = self.group_first.iter().rposition(|first| *first <= code).filter(|_| code < self.n_elements);
        let (label, place) = match group.and_then(|g| raw.groups.get(g).map(|group| (g, group))) {
            Some((g, group)) => {
                let at = code - self.group_first[g];
                let label = group.labels.get(at).copied().unwrap_or_default();
                (label, locate(log, &group.blocks, at, |first, _| first == Some(label), true))
            }
            None => {
                let Some(o) = self.other_first.iter().rposition(|first| *first <= code) else { return };
                let label = raw.others[o].labels.get(code - self.other_first[o]).copied().unwrap_or_default();
                (label, raw.others[o].place)
            }
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
        let place = locate(log, &nodes.blocks, *again as usize, |first, _| first == Some(label), true);
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
    let mut kept = keep.iter();
    nodes.labels.retain(|_| kept.next() == Some(&true));
    let mut kept = keep.iter().flat_map(|k| [k; 3]);
    nodes.coordinates.retain(|_| kept.next() == Some(&true));
    LabelIndex::build(nodes.labels.iter().copied()).0
}

/// Node labels → node indices.
fn connect(group: &mut RawGroup, nodes: &LabelIndex, log: &mut Log) {
    let n = group.kind.n_nodes();
    let mut n_errors = 0;
    for at in 0..group.labels.len() {
        let Some(element) = group.connectivity.get_mut(at * n..(at + 1) * n) else { return };
        let mut problem = None;
        let repeated = (1..n).find(|k| element[..*k].contains(&element[*k])).map(|k| element[k]);
        if let Some(node) = repeated.filter(|_| group.kind.collapsed(element).is_none()) {
            problem = Some(format!("has node {node} twice{}", refusal(group.kind, element)));
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
                let place = locate(log, &group.blocks, at, |first, _| first == Some(label), false);
                log.error(place, format!("element {label} {problem}"));
            }
        }
    }
    if n_errors > SHOWN {
        let place = group.blocks.first().map(|b| b.place).unwrap_or_default();
        log.error(
            place,
            format!("{} with wrong nodes", counted(n_errors - SHOWN, &format!("more {} element", group.kind.name()))),
        );
    }
}

/// The line of the block around entry `at` whose first field or whole content satisfies `found`; the block's first
/// line where there is none.
pub(super) fn locate(
    log: &Log,
    blocks: &[BlockStart],
    at: usize,
    found: impl Fn(Option<u32>, &[u8]) -> bool,
    last: bool,
) -> Place {
    let Some(block) = blocks.iter().rev().find(|b| b.first <= at) else { return Place::default() };
    locate_line(log, block.place, block.offset, found, last)
}

/// The first or last line of the data that starts at `offset` that satisfies `found`.
pub(super) fn locate_line(
    log: &Log,
    place: Place,
    offset: usize,
    found: impl Fn(Option<u32>, &[u8]) -> bool,
    last: bool,
) -> Place {
    let Some(source) = log.sources.get(place.source as usize) else { return place };
    let mut cursor = Cursor::at(source.bytes(), offset, place.line);
    let mut result = place;
    while let Some(line) = cursor.next_data() {
        if found(fields(line).next().and_then(label), line) {
            result.line = cursor.line - 1;
            if !last {
                break;
            }
        }
    }
    result
}

/// Why an element with repeated nodes is none that is computed.
fn refusal(kind: ElementKind, nodes: &[u32]) -> &'static str {
    let mut distinct = nodes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    match (kind, distinct.len()) {
        (ElementKind::C3d8r, 6) => ": a wedge has no exact one-point form; write it as C3D6",
        (_, 5) if kind.dimension() == 3 => ": pyramids are not computed; write it as two C3D4",
        _ if kind.n_nodes() > kind.dimension() + 1 => ": write it as a type with fewer nodes",
        _ => "",
    }
}

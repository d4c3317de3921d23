//! `*NODE`, `*ELEMENT`, `*NSET` and `*ELSET`: the long blocks, read line by line with no allocation a line.

use std::collections::HashMap;

use super::ReadOptions;
use super::element_names::{line_nodes, nodes_of_other, shell, simplex};
use super::frame::Frame;
use super::lexer::{Cursor, Keyword, Place, fields, text};
use super::log::Log;
use super::numbers::{label, scan_label, scan_real, skip_blanks, whole};
use super::pieces::{Pieces, Records};
use super::raw::{BlockStart, Entity, Members, OtherGroup, RawGroup, RawPart};
use super::second_order::SecondOrder;
use crate::mesh::ElementKind;
use crate::words::counted;

/// Errors a block; more of them say nothing new.
const SHOWN: usize = 5;

/// Counts the errors of a block, of which the first few are shown.
#[derive(Default)]
struct Errors(usize);

impl Errors {
    /// An error of the line that was read last.
    fn add(&mut self, line: &[u8], what: &str, cursor: &Cursor, log: &mut Log) {
        self.0 += 1;
        if self.0 <= SHOWN {
            log.error(cursor.last(), format!("`{}`: {what}", shorten(line)));
        }
    }
}

/// A field of numbers is over: a comma (moves over it) or the end of the line.
fn separator(line: &[u8], at: &mut usize) -> bool {
    skip_blanks(line, at);
    match line.get(*at) {
        None => true,
        Some(b',') => {
            *at += 1;
            skip_blanks(line, at);
            true
        }
        Some(_) => false,
    }
}

pub(super) struct NodeBlock {
    nset: Option<usize>,
    place: Place,
    first: usize,
    cylindrical: bool,
    /// Something stands behind the coordinates of a node, which has been said.
    has_more: bool,
    errors: Errors,
}

impl NodeBlock {
    pub fn open(keyword: &Keyword, part: &mut RawPart, log: &mut Log) -> Self {
        let system = keyword.word("SYSTEM");
        if !matches!(system.as_str(), "" | "R" | "C") {
            log.error(keyword.place, "nodes in spherical coordinates (SYSTEM=S) are not read");
        }
        Self {
            nset: keyword.given("NSET").map(|name| part.node_sets.open(name)),
            place: keyword.place,
            first: part.nodes.labels.len(),
            cylindrical: system == "C",
            has_more: false,
            errors: Errors::default(),
        }
    }

    pub fn read(&mut self, part: &mut RawPart, cursor: &mut Cursor<'_>, frame: Option<&Frame>, log: &mut Log) {
        let nodes = &mut part.nodes;
        nodes.blocks.push(BlockStart { first: nodes.labels.len(), place: cursor.next, offset: cursor.at });
        let place = |mut x: [f64; 3]| {
            if self.cylindrical {
                let (sine, cosine) = x[1].to_radians().sin_cos();
                x = [x[0] * cosine, x[0] * sine, x[2]];
            }
            frame.map_or(x, |frame| frame.apply(x))
        };
        let mut pieces = Pieces::new(cursor);
        loop {
            let may_have_more = self.has_more;
            let take = |line: &[u8], labels: &mut Vec<u32>, coordinates: &mut Vec<f64>, _: &mut usize| {
                let Ok((label, x, has_more)) = parse_node(line) else { return false };
                labels.push(label);
                coordinates.extend_from_slice(&place(x));
                may_have_more || !has_more
            };
            let records = Records { width: 3, labels: &mut nodes.labels, values: &mut nodes.coordinates };
            pieces.read(cursor, records, take);
            let Some(line) = cursor.next_data() else { break };
            match parse_node(line) {
                Ok((label, x, has_more)) => {
                    if has_more && !self.has_more {
                        self.has_more = true;
                        log.note(cursor.last(), "*NODE: what stands behind the coordinates is without effect");
                    }
                    nodes.labels.push(label);
                    nodes.coordinates.extend_from_slice(&place(x));
                }
                Err(what) => self.errors.add(line, what, cursor, log),
            }
        }
    }

    pub fn close(self, part: &mut RawPart) {
        if let Some(set) = self.nset {
            let members = Members::Nodes(self.first, part.nodes.labels.len() - self.first);
            part.node_sets.list[set].push("", self.place, 0, members);
        }
    }
}

/// Label and coordinates, and whether anything stands behind them.
fn parse_node(line: &[u8]) -> Result<(u32, [f64; 3], bool), &'static str> {
    let mut at = 0;
    let label =
        scan_label(line, &mut at).filter(|l| *l > 0).ok_or("a node starts with a label from 1 to 4294967295")?;
    if !separator(line, &mut at) {
        return Err("a comma is missing after the node's label");
    }
    let mut x = [0.; 3];
    for value in &mut x {
        if at >= line.len() {
            break;
        }
        if line[at] != b',' {
            *value = scan_real(line, &mut at).ok_or("a coordinate is not a number")?;
        }
        if !separator(line, &mut at) {
            return Err("a coordinate is not a number");
        }
    }
    Ok((label, x, at < line.len()))
}

/// Where elements of a type go.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// Index of the group of a computed type.
    Group(usize),
    /// Index of the group of a type that is not computed.
    Other(usize),
}

pub(super) struct ElementBlock {
    target: Target,
    elset: Option<usize>,
    place: Place,
    first: usize,
    /// Nodes an element; none where only the line's end tells.
    n_nodes: Option<usize>,
    /// Nodes of the last element that are still to come.
    missing: usize,
    errors: Errors,
}

impl ElementBlock {
    pub fn open(
        keyword: &Keyword,
        part: &mut RawPart,
        user_elements: &HashMap<String, usize>,
        options: &ReadOptions,
        log: &mut Log,
    ) -> Option<Self> {
        let name = keyword.value("TYPE").to_uppercase();
        if name.is_empty() {
            log.error(keyword.place, "*ELEMENT has no TYPE=");
            return None;
        }
        let (target, n_nodes) = Self::target(&name, keyword.place, part, user_elements, options);
        let first = match target {
            Target::Group(at) => part.groups[at].labels.len(),
            Target::Other(at) => part.others[at].labels.len(),
        };
        let elset = keyword.given("ELSET").map(|name| part.element_sets.open(name));
        Some(Self { target, elset, place: keyword.place, first, n_nodes, missing: 0, errors: Errors::default() })
    }

    /// Where elements of a type go, which is made where there are none yet, and the nodes of each; none where only the line's end
    /// tells. The name is upper case.
    pub fn target(
        name: &str,
        place: Place,
        part: &mut RawPart,
        user_elements: &HashMap<String, usize>,
        options: &ReadOptions,
    ) -> (Target, Option<usize>) {
        let shell = shell(name).filter(|_| options.lines);
        part.has_shells |= shell.is_some();
        let other = || shell.or_else(|| simplex(name).filter(|_| options.mesh_only));
        let second_order = SecondOrder::from_name(name).filter(|_| options.split_second_order);
        let kind = ElementKind::from_name(name).or_else(other).or(second_order.map(|of| of.part));
        if let Some(kind) = kind {
            let is_same = |group: &RawGroup| (group.kind, group.second_order) == (kind, second_order);
            let at = part.groups.iter().position(is_same).unwrap_or_else(|| {
                part.groups.push(RawGroup::new(kind, second_order));
                part.groups.len() - 1
            });
            return (Target::Group(at), Some(part.groups[at].n_nodes()));
        }
        let at = part.others.iter().position(|group| group.name == name).unwrap_or_else(|| {
            let n_nodes = if options.lines { line_nodes(name) } else { 0 };
            part.others.push(OtherGroup { name: name.to_owned(), place, n_nodes, ..OtherGroup::default() });
            part.others.len() - 1
        });
        let n_nodes = match user_elements.get(name) {
            Some(0) => None,
            Some(n) => Some(*n),
            None => nodes_of_other(name),
        };
        (Target::Other(at), n_nodes)
    }

    pub fn read(&mut self, part: &mut RawPart, cursor: &mut Cursor<'_>, log: &mut Log) {
        match self.target {
            Target::Group(at) => self.read_group(&mut part.groups[at], cursor, log),
            Target::Other(at) => self.read_other(&mut part.others[at], cursor, log),
        }
    }

    fn read_group(&mut self, group: &mut RawGroup, cursor: &mut Cursor<'_>, log: &mut Log) {
        let (n_nodes, name) = (group.n_nodes(), group.name());
        group.blocks.push(BlockStart { first: group.labels.len(), place: cursor.next, offset: cursor.at });
        let take = |line: &[u8], labels: &mut Vec<u32>, nodes: &mut Vec<u32>, missing: &mut usize| {
            parse_element(line, (n_nodes, name), labels, nodes, missing).is_ok()
        };
        let mut pieces = Pieces::new(cursor);
        loop {
            if self.missing == 0 {
                let (labels, values) = (&mut group.labels, &mut group.connectivity);
                pieces.read(cursor, Records { width: n_nodes, labels, values }, take);
            }
            let Some(line) = cursor.next_data() else { break };
            // An element that went wrong leaves no half of itself.
            let keep = group.labels.len() - usize::from(self.missing > 0);
            let (labels, nodes) = (&mut group.labels, &mut group.connectivity);
            if let Err(what) = parse_element(line, (n_nodes, name), labels, nodes, &mut self.missing) {
                labels.truncate(keep);
                nodes.truncate(keep * n_nodes);
                self.missing = 0;
                self.errors.add(line, &what, cursor, log);
            }
        }
    }

    fn read_other(&mut self, group: &mut OtherGroup, cursor: &mut Cursor<'_>, log: &mut Log) {
        while let Some(line) = cursor.next_data() {
            let mut entries = fields(line);
            let mut n = line.iter().filter(|b| **b == b',').count() + usize::from(!line.ends_with(b","));
            if self.missing == 0 {
                let Some(label) = entries.next().and_then(label) else {
                    self.errors.add(line, "an element starts with a label", cursor, log);
                    continue;
                };
                group.labels.push(label);
                group.first_node.push(group.nodes.len());
                n -= 1;
                self.missing = self.n_nodes.unwrap_or(usize::MAX);
            }
            for entry in entries.filter(|entry| !entry.is_empty()) {
                let node = label(entry);
                if node.is_none() && group.n_nodes > 0 {
                    group.named.push((group.nodes.len(), text(entry)));
                }
                group.nodes.push(node.unwrap_or(0));
            }
            self.missing = if line.ends_with(b",") { self.missing.saturating_sub(n) } else { 0 };
        }
    }

    pub fn close(self, part: &mut RawPart, log: &mut Log) {
        if let Target::Group(at) = self.target
            && self.missing > 0
        {
            let group = &mut part.groups[at];
            group.labels.pop();
            group.connectivity.truncate(group.labels.len() * group.n_nodes());
            log.error(self.place, format!("the last element of this block lacks {}", counted(self.missing, "node")));
        }
        let Some(set) = self.elset else { return };
        let members = match self.target {
            Target::Group(at) => Members::Elements(at, self.first, part.groups[at].labels.len() - self.first),
            Target::Other(at) => Members::Others(at, self.first, part.others[at].labels.len() - self.first),
        };
        part.element_sets.list[set].push("", self.place, 0, members);
    }
}

/// Takes a line of an element of a type: its number of nodes and its name. `missing` nodes of the element before are still to
/// come.
fn parse_element(
    line: &[u8],
    (n_nodes, name): (usize, &str),
    labels: &mut Vec<u32>,
    nodes: &mut Vec<u32>,
    missing: &mut usize,
) -> Result<(), String> {
    let mut at = 0;
    if *missing == 0 {
        let label = scan_label(line, &mut at).filter(|l| *l > 0);
        let label = label.ok_or("an element starts with a label from 1 to 4294967295")?;
        if !separator(line, &mut at) {
            return Err("a comma is missing after the element's label".into());
        }
        labels.push(label);
        *missing = n_nodes;
    }
    while *missing > 0 && at < line.len() {
        let node = scan_label(line, &mut at).ok_or("a node is not a label")?;
        if !separator(line, &mut at) {
            return Err("a node is not a label".into());
        }
        nodes.push(node);
        *missing -= 1;
    }
    if at < line.len() {
        return Err(format!("more than the {n_nodes} nodes of {name}"));
    }
    if *missing > 0 && !line.ends_with(b",") {
        let n = n_nodes - *missing;
        return Err(format!("{n} of the {n_nodes} nodes of {name} (a line that goes on ends with a comma)"));
    }
    Ok(())
}

pub(super) struct SetBlock {
    entity: Entity,
    set: usize,
    generate: bool,
    instance: String,
    errors: Errors,
}

impl SetBlock {
    pub fn open(keyword: &Keyword, part: &mut RawPart, log: &mut Log) -> Option<Self> {
        let entity = if keyword.key == "NSET" { Entity::Node } else { Entity::Element };
        let Some(name) = keyword.given(&keyword.key) else {
            log.error(keyword.place, format!("*{0} has no {0}=", keyword.name));
            return None;
        };
        let instance = keyword.value("INSTANCE").to_owned();
        let sets = part.sets_mut(entity);
        let set = sets.open(name);
        sets.list[set].unsorted |= keyword.has("UNSORTED");
        if entity == Entity::Node
            && let Some(elements) = keyword.get("ELSET")
        {
            sets.list[set].push(&instance, keyword.place, 0, Members::NodesOf(elements.to_owned()));
        }
        Some(Self { entity, set, generate: keyword.has("GENERATE"), instance, errors: Errors::default() })
    }

    pub fn read(&mut self, part: &mut RawPart, cursor: &mut Cursor<'_>, log: &mut Log) {
        let set = &mut part.sets_mut(self.entity).list[self.set];
        // An included file starts a chunk of its own, so that its place is right.
        let mut open = false;
        while let Some(line) = cursor.next_data() {
            if self.generate
                && let Err(what) = parse_range(line)
            {
                self.errors.add(line, what, cursor, log);
            }
            if !open {
                let members = if self.generate { Members::Ranges(cursor.at) } else { Members::Labels(Vec::new()) };
                set.push(&self.instance, cursor.last(), cursor.last_start, members);
                open = true;
            }
            match set.chunks.last_mut().map(|chunk| &mut chunk.members) {
                Some(Members::Ranges(end) | Members::Lines(end)) => *end = cursor.at,
                Some(Members::Labels(labels)) => {
                    if push_labels(line, labels) {
                        continue;
                    }
                    if labels.is_empty() {
                        set.chunks.pop();
                    }
                    set.push(&self.instance, cursor.last(), cursor.last_start, Members::Lines(cursor.at));
                }
                _ => {}
            }
        }
    }
}

/// Adds a line of labels; false, with nothing added, where the line holds anything else.
fn push_labels(line: &[u8], labels: &mut Vec<u32>) -> bool {
    let before = labels.len();
    let mut at = 0;
    while at < line.len() {
        if line[at] == b',' {
            separator(line, &mut at);
            continue;
        }
        let value = scan_label(line, &mut at);
        match value {
            Some(label) if separator(line, &mut at) => labels.push(label),
            _ => {
                labels.truncate(before);
                return false;
            }
        }
    }
    true
}

/// First, last and step.
pub(super) fn parse_range(line: &[u8]) -> Result<[u32; 3], &'static str> {
    let values: Option<Vec<u32>> = fields(line).filter(|f| !f.is_empty()).map(whole).collect();
    match values.as_deref() {
        Some(&[first]) => Ok([first, first, 1]),
        Some(&[first, last]) if first <= last => Ok([first, last, 1]),
        Some(&[first, last, step]) if first <= last && step > 0 => Ok([first, last, step]),
        Some(&[first, last, 0]) if first == last => Ok([first, last, 1]),
        _ => Err("GENERATE takes first, last and step"),
    }
}

/// The start of a line, for messages, with nothing that a terminal would obey.
pub(super) fn shorten(line: &[u8]) -> String {
    let text = text(line).replace(|c: char| c.is_control(), "\u{fffd}");
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_lines() {
        assert_eq!(parse_node(b"1, 0.5"), Ok((1, [0.5, 0., 0.], false)));
        assert_eq!(parse_node(b"7 ,\t1.D-3, , -2.,"), Ok((7, [1e-3, 0., -2.], false)));
        assert_eq!(parse_node(b"3,1.0e1,10.00000,0.00000"), Ok((3, [10., 10., 0.], false)));
        assert_eq!(parse_node(b"4294967295, 1, 2, 3, 0, 0, 1"), Ok((u32::MAX, [1., 2., 3.], true)));
        for bad in [&b"0, 1, 2"[..], b"4294967296, 1", b"1 2 3", b"1, x", b"1, 1 2", b", 1", b"1, <A>"] {
            assert!(parse_node(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn nodes_of_types_that_are_not_computed() {
        for (name, n) in [
            ("C3D10M", 10),
            ("C3D20R", 20),
            ("S4R", 4),
            ("CPE8R", 8),
            ("CAX8", 8),
            ("T3D2", 2),
            ("COH2D4", 4),
            ("B32", 3),
            ("B33", 2),
            ("STRI65", 6),
        ] {
            assert_eq!(nodes_of_other(name), Some(n), "{name}");
        }
        assert_eq!(nodes_of_other("FOO"), None);
    }
}

//! `*NODE`, `*ELEMENT`, `*NSET` and `*ELSET`: the long blocks, read line by line with no allocation a line.

use std::collections::HashMap;

use super::ReadOptions;
use super::element_names::{line_nodes, nodes_of_other};
use super::frame::Frame;
use super::lexer::{Cursor, Keyword, Place, fields, text};
use super::log::Log;
use super::numbers::{label, scan_label, scan_real, skip_blanks, whole};
use super::raw::{BlockStart, Chunk, Members, OtherGroup, RawGroup, RawPart};
use crate::mesh::ElementKind;
use crate::words::counted;

/// Errors a block; more of them say nothing new.
const SHOWN: usize = 5;

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
    n_errors: usize,
}

impl NodeBlock {
    pub fn open(keyword: &Keyword, part: &mut RawPart, log: &mut Log) -> Self {
        let system = keyword.word("SYSTEM");
        if !matches!(system.as_str(), "" | "R" | "C") {
            log.error(keyword.place, "nodes in spherical coordinates (SYSTEM=S) are not read");
        }
        Self {
            nset: keyword.get("NSET").filter(|n| !n.is_empty()).map(|name| part.node_sets.open(name)),
            place: keyword.place,
            first: part.nodes.labels.len(),
            cylindrical: system == "C",
            n_errors: 0,
        }
    }

    pub fn read(
        &mut self,
        part: &mut RawPart,
        cursor: &mut Cursor<'_>,
        source: u32,
        frame: Option<&Frame>,
        log: &mut Log,
    ) {
        let nodes = &mut part.nodes;
        let place = Place { source, line: cursor.line };
        nodes.blocks.push(BlockStart { first: nodes.labels.len(), place, offset: cursor.at });
        while let Some(line) = cursor.next_data() {
            match parse_node(line) {
                Ok((label, mut x)) => {
                    if self.cylindrical {
                        let (sine, cosine) = x[1].to_radians().sin_cos();
                        x = [x[0] * cosine, x[0] * sine, x[2]];
                    }
                    if let Some(frame) = frame {
                        x = frame.apply(x);
                    }
                    nodes.labels.push(label);
                    nodes.coordinates.extend_from_slice(&x);
                }
                Err(what) => {
                    self.n_errors += 1;
                    if self.n_errors <= SHOWN {
                        let place = Place { source, line: cursor.line - 1 };
                        log.error(place, format!("`{}`: {what}", shorten(line)));
                    }
                }
            }
        }
    }

    pub fn close(self, part: &mut RawPart) {
        if let Some(set) = self.nset {
            let members = Members::Nodes(self.first, part.nodes.labels.len() - self.first);
            push_chunk(&mut part.node_sets.list[set].chunks, String::new(), self.place, 0, members);
        }
    }
}

fn parse_node(line: &[u8]) -> Result<(u32, [f64; 3]), &'static str> {
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
    Ok((label, x))
}

#[derive(Clone, Copy)]
enum Target {
    Group(usize),
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
    n_errors: usize,
}

impl ElementBlock {
    pub fn open(
        keyword: &Keyword,
        part: &mut RawPart,
        user_elements: &HashMap<String, usize>,
        options: &ReadOptions,
        log: &mut Log,
    ) -> Option<Self> {
        let name = keyword.get("TYPE").unwrap_or_default().to_uppercase();
        if name.is_empty() {
            log.error(keyword.place, "*ELEMENT has no TYPE=");
            return None;
        }
        let shell = shell(&name).filter(|_| options.lines);
        part.has_shells |= shell.is_some();
        let other = || shell.or_else(|| simplex(&name).filter(|_| options.mesh_only));
        let kind = ElementKind::from_name(&name).or_else(other);
        let (target, first, n_nodes) = match kind {
            Some(kind) => {
                let at = part.groups.iter().position(|g| g.kind == kind).unwrap_or_else(|| {
                    let (labels, connectivity, blocks) = (Vec::new(), Vec::new(), Vec::new());
                    part.groups.push(RawGroup { kind, labels, connectivity, blocks });
                    part.groups.len() - 1
                });
                (Target::Group(at), part.groups[at].labels.len(), Some(kind.n_nodes()))
            }
            None => {
                let n_nodes = match user_elements.get(&name) {
                    Some(0) => None,
                    Some(n) => Some(*n),
                    None => nodes_of_other(&name),
                };
                let at = part.others.iter().position(|g| g.name == name).unwrap_or_else(|| {
                    let n_nodes = if options.lines { line_nodes(&name) } else { 0 };
                    part.others.push(OtherGroup { name, place: keyword.place, n_nodes, ..OtherGroup::default() });
                    part.others.len() - 1
                });
                (Target::Other(at), part.others[at].labels.len(), n_nodes)
            }
        };
        let elset = keyword.get("ELSET").filter(|n| !n.is_empty()).map(|name| part.element_sets.open(name));
        Some(Self { target, elset, place: keyword.place, first, n_nodes, missing: 0, n_errors: 0 })
    }

    pub fn read(&mut self, part: &mut RawPart, cursor: &mut Cursor<'_>, source: u32, log: &mut Log) {
        match (self.target, self.n_nodes) {
            (Target::Group(at), Some(n_nodes)) => self.read_group(&mut part.groups[at], n_nodes, cursor, source, log),
            (Target::Other(at), n_nodes) => self.read_other(&mut part.others[at], n_nodes, cursor, source, log),
            (Target::Group(_), None) => {}
        }
    }

    fn read_group(
        &mut self,
        group: &mut RawGroup,
        n_nodes: usize,
        cursor: &mut Cursor<'_>,
        source: u32,
        log: &mut Log,
    ) {
        let place = Place { source, line: cursor.line };
        group.blocks.push(BlockStart { first: group.labels.len(), place, offset: cursor.at });
        while let Some(line) = cursor.next_data() {
            let before = (group.labels.len(), group.connectivity.len());
            let continues = self.missing > 0;
            if let Err(what) = self.parse_element(line, n_nodes, group) {
                // An element that went wrong leaves no half of itself.
                let keep = if continues { before.0 - 1 } else { before.0 };
                group.labels.truncate(keep);
                group.connectivity.truncate(keep * n_nodes);
                self.missing = 0;
                self.n_errors += 1;
                if self.n_errors <= SHOWN {
                    let place = Place { source, line: cursor.line - 1 };
                    log.error(place, format!("`{}`: {what}", shorten(line)));
                }
            }
        }
    }

    fn parse_element(&mut self, line: &[u8], n_nodes: usize, group: &mut RawGroup) -> Result<(), String> {
        let mut at = 0;
        if self.missing == 0 {
            let label = scan_label(line, &mut at).filter(|l| *l > 0);
            let label = label.ok_or("an element starts with a label from 1 to 4294967295")?;
            if !separator(line, &mut at) {
                return Err("a comma is missing after the element's label".into());
            }
            group.labels.push(label);
            self.missing = n_nodes;
        }
        while self.missing > 0 && at < line.len() {
            let node = scan_label(line, &mut at).ok_or("a node is not a label")?;
            if !separator(line, &mut at) {
                return Err("a node is not a label".into());
            }
            group.connectivity.push(node);
            self.missing -= 1;
        }
        if at < line.len() {
            return Err(format!("more than the {n_nodes} nodes of {}", group.kind.name()));
        }
        if self.missing > 0 && !line.ends_with(b",") {
            let n = n_nodes - self.missing;
            return Err(format!(
                "{n} of the {n_nodes} nodes of {} (a line that goes on ends with a comma)",
                group.kind.name()
            ));
        }
        Ok(())
    }

    fn read_other(
        &mut self,
        group: &mut OtherGroup,
        n_nodes: Option<usize>,
        cursor: &mut Cursor<'_>,
        source: u32,
        log: &mut Log,
    ) {
        while let Some(line) = cursor.next_data() {
            let mut entries = fields(line);
            let mut n = line.iter().filter(|b| **b == b',').count() + usize::from(!line.ends_with(b","));
            if self.missing == 0 {
                match entries.next().and_then(label) {
                    Some(label) => {
                        group.labels.push(label);
                        group.first_node.push(group.nodes.len());
                    }
                    None => {
                        self.n_errors += 1;
                        if self.n_errors <= SHOWN {
                            let place = Place { source, line: cursor.line - 1 };
                            log.error(place, format!("`{}`: an element starts with a label", shorten(line)));
                        }
                        continue;
                    }
                }
                n -= 1;
                self.missing = n_nodes.unwrap_or(usize::MAX);
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
            group.connectivity.truncate(group.labels.len() * group.kind.n_nodes());
            log.error(self.place, format!("the last element of this block lacks {}", counted(self.missing, "node")));
        }
        let Some(set) = self.elset else { return };
        let members = match self.target {
            Target::Group(at) => {
                Members::Elements(at, self.first, part.groups[at].labels.len().saturating_sub(self.first))
            }
            Target::Other(at) => {
                Members::Others(at, self.first, part.others[at].labels.len().saturating_sub(self.first))
            }
        };
        push_chunk(&mut part.element_sets.list[set].chunks, String::new(), self.place, 0, members);
    }
}

/// The kind with the same corners, where only the mesh counts: triangles of shells, membranes, rigid surfaces and other
/// physics, and tetrahedra of other physics.
fn simplex(name: &str) -> Option<ElementKind> {
    match name {
        "S3" | "S3R" | "S3RS" | "S3RT" | "STRI3" | "DS3" | "M3D3" | "SFM3D3" | "R3D3" | "DC2D3" | "AC2D3" | "CPE3T"
        | "CPE3H" | "CPS3T" => Some(ElementKind::Cps3),
        "C3D4H" | "C3D4T" | "C3D4P" | "DC3D4" | "AC3D4" | "EC3D4" => Some(ElementKind::C3d4),
        _ => None,
    }
}

/// Shells and membranes of three or four nodes, whose edges make springs.
fn shell(name: &str) -> Option<ElementKind> {
    match name {
        "S3" | "S3R" | "S3RS" | "S3RT" | "STRI3" | "M3D3" => Some(ElementKind::Cps3),
        "S4" | "S4R" | "S4RS" | "S4RSW" | "S4R5" | "S4T" | "S4RT" | "M3D4" | "M3D4R" => Some(ElementKind::Cps4),
        _ => None,
    }
}

pub(super) struct SetBlock {
    nodes: bool,
    set: usize,
    generate: bool,
    instance: String,
    n_errors: usize,
}

impl SetBlock {
    pub fn open(keyword: &Keyword, part: &mut RawPart, log: &mut Log) -> Option<Self> {
        let nodes = keyword.key == "NSET";
        let name = keyword.get(&keyword.key).unwrap_or_default();
        if name.is_empty() {
            log.error(keyword.place, format!("*{0} has no {0}=", keyword.name));
            return None;
        }
        let instance = keyword.get("INSTANCE").unwrap_or_default().to_owned();
        let sets = if nodes { &mut part.node_sets } else { &mut part.element_sets };
        let set = sets.open(name);
        if let Some(elements) = keyword.get("ELSET").filter(|_| nodes) {
            let members = Members::NodesOf(elements.to_owned());
            push_chunk(&mut sets.list[set].chunks, instance.clone(), keyword.place, 0, members);
        }
        Some(Self { nodes, set, generate: keyword.has("GENERATE"), instance, n_errors: 0 })
    }

    pub fn read(&mut self, part: &mut RawPart, cursor: &mut Cursor<'_>, source: u32, log: &mut Log) {
        let sets = if self.nodes { &mut part.node_sets } else { &mut part.element_sets };
        let chunks = &mut sets.list[self.set].chunks;
        // An included file starts a chunk of its own, so that its place is right.
        let mut open = false;
        while let Some(line) = cursor.next_data() {
            let place = Place { source, line: cursor.line - 1 };
            if self.generate
                && let Err(what) = parse_range(line)
            {
                self.n_errors += 1;
                if self.n_errors <= SHOWN {
                    log.error(place, format!("`{}`: {what}", shorten(line)));
                }
            }
            if !open {
                let members = if self.generate { Members::Ranges(cursor.at) } else { Members::Labels(Vec::new()) };
                push_chunk(chunks, self.instance.clone(), place, cursor.last_start, members);
                open = true;
            }
            match chunks.last_mut().map(|chunk| &mut chunk.members) {
                Some(Members::Ranges(end) | Members::Lines(end)) => *end = cursor.at,
                Some(Members::Labels(labels)) => {
                    if push_labels(line, labels) {
                        continue;
                    }
                    if labels.is_empty() {
                        chunks.pop();
                    }
                    let members = Members::Lines(cursor.at);
                    push_chunk(chunks, self.instance.clone(), place, cursor.last_start, members);
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

fn push_chunk(chunks: &mut Vec<Chunk>, instance: String, place: Place, offset: usize, members: Members) {
    chunks.push(Chunk { instance, place, offset, members });
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
        assert_eq!(parse_node(b"1, 0.5"), Ok((1, [0.5, 0., 0.])));
        assert_eq!(parse_node(b"7 ,\t1.D-3, , -2.,"), Ok((7, [1e-3, 0., -2.])));
        assert_eq!(parse_node(b"3,1.0e1,10.00000,0.00000"), Ok((3, [10., 10., 0.])));
        assert_eq!(parse_node(b"4294967295, 1, 2, 3, 0, 0, 1"), Ok((u32::MAX, [1., 2., 3.])));
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

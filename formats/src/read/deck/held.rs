//! Meshes in arrays → [`RawDeck`](super::raw::RawDeck), as a deck with the same nodes, elements and sets would give it.

use std::path::Path;

use super::ReadOptions;
use super::lexer::{Place, Source};
use super::log::Log;
use super::mesh_cards::{ElementBlock, Target};
use super::parser::Parser;
use super::raw::{Members, RawGroup, RawPart, RawSets};
use crate::system::held::{HeldCells, HeldMesh, Shared};
use crate::words::counted;

/// A whole mesh has no lines.
const HERE: Place = Place { source: 0, line: 0 };

/// Reads a mesh as a deck: labels are indices, plus 1.
pub(super) fn read(path: &Path, mesh: &HeldMesh, options: &ReadOptions) -> Parser {
    let mut parser = Parser::new(options, false);
    // Messages name it, and it has no text.
    parser.log.sources.push(Source::from_bytes(path, &[]).into());
    parser.bytes = mesh.bytes();
    fill(mesh, options, &mut parser.raw.root, &mut parser.log);
    parser.end();
    parser
}

fn fill(mesh: &HeldMesh, options: &ReadOptions, part: &mut RawPart, log: &mut Log) {
    let n_cells: usize = mesh.groups.iter().map(|group| group.cells().len()).sum();
    if mesh.n_points().max(n_cells) >= u32::MAX as usize {
        return log.error(HERE, "more than 4294967294 nodes or elements");
    }
    part.nodes.labels = (1..=mesh.n_points() as u32).collect();
    part.nodes.coordinates = mesh.coordinates();
    if let Some(at) = part.nodes.coordinates.iter().position(|x| !x.is_finite()) {
        log.error(HERE, format!("node {} has a coordinate that is no finite number", at / 3 + 1));
    }
    let mut first = 1;
    for group in &mesh.groups {
        cells(group, first, options, part, log);
        first += group.cells().len() as u32;
    }
    sets(&mesh.node_sets, "node", &mut part.node_sets, log);
    sets(&mesh.element_sets, "element", &mut part.element_sets, log);
}

/// Adds the elements of one type; `first` is the label of the first.
fn cells(from: &HeldCells, first: u32, options: &ReadOptions, part: &mut RawPart, log: &mut Log) {
    let labels = first..first + from.cells().len() as u32;
    let (target, _) = ElementBlock::target(&from.kind.to_uppercase(), HERE, part, &Default::default(), options);
    let nodes = label_of_index(&from.nodes, "cells", log);
    match target {
        Target::Group(at) => add(&mut part.groups[at], labels.zip(nodes.chunks_exact(from.corners.max(1))), log),
        Target::Other(at) => {
            let group = &mut part.others[at];
            let start = group.nodes.len();
            group.first_node.extend((0..labels.len()).map(|cell| start + cell * from.corners));
            group.labels.extend(labels);
            group.nodes.extend(nodes);
        }
    }
}

fn add<'a>(to: &mut RawGroup, cells: impl Iterator<Item = (u32, &'a [u32])>, log: &mut Log) {
    for (label, nodes) in cells {
        if nodes.len() != to.n_nodes() {
            let (name, n) = (to.name(), counted(to.n_nodes(), "node"));
            return log
                .error(HERE, format!("{name} has {n} an element, and the cells of this name have {}", nodes.len()));
        }
        to.labels.push(label);
        to.connectivity.extend_from_slice(nodes);
    }
}

fn sets(from: &[(String, Shared<i64>)], noun: &str, to: &mut RawSets, log: &mut Log) {
    for (name, members) in from {
        let at = to.open(name);
        let labels = label_of_index(members, &format!("{noun} set `{name}`"), log);
        to.list[at].push("", HERE, 0, Members::Labels(labels));
    }
}

/// Indices from 0 → labels. One that no label can be is label 0, which no node and no element has.
fn label_of_index(indices: &Shared<i64>, what: &str, log: &mut Log) -> Vec<u32> {
    let indices = (**indices).as_ref();
    let label = |index: &i64| index.checked_add(1).and_then(|label| u32::try_from(label).ok()).unwrap_or(0);
    if let Some(bad) = indices.iter().find(|index| label(index) == 0) {
        log.error(HERE, format!("{what}: {bad} is no index"));
    }
    indices.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Deck, DeckError, read, read_bytes};
    use super::*;
    use crate::system::held::{Held, hold};

    /// Two quadrilaterals and a triangle beside them.
    fn mesh(kind: &str, far: i64) -> HeldMesh {
        let points = vec![0.0, 0.0, 1.0, 0.0, 2.0, 0.1, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 0.5];
        let cells =
            |kind: &str, corners, nodes: Vec<i64>| HeldCells { kind: kind.into(), corners, nodes: Arc::new(nodes) };
        let set = |name: &str, members: Vec<i64>| (name.to_owned(), Arc::new(members) as Shared<i64>);
        HeldMesh {
            dimension: 2,
            points: Arc::new(points),
            groups: vec![cells(kind, 4, vec![0, 1, 4, 3, 1, 2, 5, 4]), cells("CPE3", 3, vec![2, far, 5])],
            node_sets: vec![set("LEFT", vec![3, 0, 3]), set("NONE", vec![])],
            element_sets: vec![set("ENDS", vec![2, 0])],
            cell_data: Vec::new(),
        }
    }

    fn read_held(mesh: HeldMesh) -> Result<Deck, DeckError> {
        let mut holding = hold();
        let path = holding.add("mesh.inp", Held::Mesh(Arc::new(mesh)));
        read(path, &ReadOptions::default())
    }

    #[test]
    fn arrays_give_the_mesh_of_their_deck() {
        let text = "*Heading\n*Node\n1, 0, 0\n2, 1, 0\n3, 2, 0.1\n4, 0, 1\n5, 1, 1\n6, 2, 1\n7, 3, 0.5\n\
            *Element, type=CPE4R\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n*Element, type=CPE3\n3, 3, 7, 6\n\
            *Nset, nset=LEFT\n4, 1, 4\n*Nset, nset=NONE\n\n*Elset, elset=ENDS\n3, 1\n";
        let options = ReadOptions::default();
        let of_text = read_bytes(Path::new("mesh.inp"), text.as_bytes(), &options).unwrap();
        let held = read_held(mesh("cpe4r", 6)).unwrap();
        assert_eq!(format!("{:?}", held.mesh), format!("{:?}", of_text.mesh));
        assert_eq!(held.report.elements.len(), of_text.report.elements.len());
        assert_eq!(held.report.node_sets, of_text.report.node_sets);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        for (kind, far, expected) in [
            ("CPE3", 6, "mesh.inp: error: CPE3 has 3 nodes an element, and the cells of this name have 4"),
            ("CPE4", 7, "node 8"),
            ("CPE4", -1, "cells: -1 is no index"),
            ("CPE4", i64::MAX, "is no index"),
        ] {
            let error = read_held(mesh(kind, far)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut points = vec![0.0; 14];
        points[5] = f64::NAN;
        let error = read_held(HeldMesh { points: Arc::new(points), ..mesh("CPE4", 6) }).unwrap_err().to_string();
        assert!(error.contains("node 3 has a coordinate"), "{error}");
        // As in a deck, a type that is not computed is said when a section names its elements.
        let others = read_held(mesh("FOO", 6)).unwrap();
        assert!(others.report.elements.iter().any(|element| element.name == "FOO" && !element.supported));
    }
}

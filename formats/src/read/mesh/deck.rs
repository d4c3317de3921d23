//! The mesh of an Abaqus deck: whatever else the deck says is left out.

use std::path::Path;

use super::cells::{Cells, Kind, Wanted, element_of_cell};
use super::{MeshFile, MeshFileError};
use crate::mesh::ElementShape;
use crate::read::deck::{self, DeckReport, ReadOptions};

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<MeshFile, MeshFileError> {
    let ignore = options.ignore.as_slice();
    let options = ReadOptions { mesh_only: true, ..options.clone() };
    let deck = deck::read(path, &options).map_err(|error| MeshFileError {
        file: String::new(),
        line: 0,
        message: error.to_string(),
    })?;
    let sources = deck.report.paths.clone();
    let mut mesh = MeshFile { sources, ..MeshFile::of(path) };
    let from = deck.mesh;
    let dimension = from.dimension as usize;
    mesh.coordinates = if from.coordinates.len() == 3 * from.node_labels.len() {
        from.coordinates
    } else {
        from.coordinates.chunks_exact(dimension.max(1)).flat_map(|x| [x[0], x[1], 0.0]).collect()
    };
    let mut cells = Cells::default();
    for group in &from.groups {
        let kind = match group.kind.shape() {
            ElementShape::Triangle => Kind::TRIANGLE,
            ElementShape::Tetrahedron => Kind::TETRAHEDRON,
            _ => Kind::Other(group.kind.name(), group.kind.dimension()),
        };
        for (at, &label) in group.labels.iter().enumerate() {
            cells.push(kind, label, 0, group.nodes(at));
        }
    }
    let n_cells = cells.len();
    let notes = deck.notes.iter().filter(|note| !note.text.starts_with("without effect here"));
    mesh.notes.extend(notes.map(ToString::to_string));
    let cell_of_element = cells.finish(path, &mut mesh, Wanted::Simplices)?;
    leave_out_unknown(path, &deck.report, ignore, &mut mesh)?;
    let element_of_cell = element_of_cell(&cell_of_element, n_cells);
    mesh.node_labels = from.node_labels;
    mesh.node_sets = from.node_sets;
    mesh.element_sets = from.element_sets;
    for set in &mut mesh.element_sets {
        let of = |cell: &u32| element_of_cell.get(*cell as usize).copied().filter(|&element| element != u32::MAX);
        set.members = set.members.iter().filter_map(of).collect();
    }
    mesh.element_sets.retain(|set| !set.members.is_empty());
    if from.instances.iter().any(|name| !name.is_empty()) {
        (mesh.node_instance, mesh.instances) = (from.node_instance, from.instances);
    }
    Ok(mesh)
}

/// Names elements of types that the deck's reader does not know. They are left out only where they have fewer dimensions.
fn leave_out_unknown(
    path: &Path,
    report: &DeckReport,
    ignore: &[String],
    mesh: &mut MeshFile,
) -> Result<(), MeshFileError> {
    let is_ignored = |name: &str| ignore.iter().any(|ignored| ignored.eq_ignore_ascii_case(name));
    let unknown: Vec<_> = report.elements.iter().filter(|element| !element.supported).collect();
    let foreign = |name: &str| fills_space(name) || mesh.corners == 3 && is_surface(name);
    if let Some(first) = unknown.iter().find(|element| foreign(&element.name) && !is_ignored(&element.name)) {
        let split = if deck::splits_into_simplices(&first.name) { " or --split-second-order" } else { "" };
        let message = format!(
            "{} elements of type {name}: only first-order tetrahedra and triangles are computed; mesh with those{split}, or leave \
             them out with --ignore {name}",
            first.count,
            name = first.name
        );
        return Err(MeshFileError { file: first.file.clone(), line: first.line, message });
    }
    if !unknown.is_empty() {
        let list: Vec<String> = unknown.iter().map(|element| format!("{} {}", element.count, element.name)).collect();
        mesh.notes.push(format!("{}: note: elements left out: {}", path.display(), list.join(", ")));
    }
    Ok(())
}

/// Whether a type that is not read is a solid.
fn fills_space(name: &str) -> bool {
    starts_with(name, "C3D DC3D DCC3D AC3D CIN3D COH3D EC3D Q3D CSS SC")
}

/// Whether a type that is not read is a shell, a membrane or in the plane.
fn is_surface(name: &str) -> bool {
    starts_with(name, "S3 S4 S6 S8 S9 STRI DS3 DS4 DS6 DS8 M3D SFM3D R3D")
        || starts_with(name, "CPE CPS CAX CGAX DC2D DCAX AC2D ACAX EC2D")
}

/// Whether a name starts with one of some words.
fn starts_with(name: &str, prefixes: &str) -> bool {
    prefixes.split(' ').any(|prefix| name.starts_with(prefix))
}

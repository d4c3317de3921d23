//! A mesh file as a deck without anything but the mesh, to which a job adds the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::cells::Wanted;
use super::{MeshFile, MeshFileError, check, extension_of, gmsh, vtu};
use crate::mesh::{ElementGroup, ElementKind, ElementShape, Mesh, NamedSet};
use crate::read::deck::{
    Deck, DeckReport, ElementCount, NO_SECTION, Note, ReadOptions, SetCount, flatten, leaves_out_without_section,
    split_second_order,
};
use crate::system::held;

/// Values of a cell array that become sets: of more there are no names that anybody would write.
const MOST_VALUES: usize = 1000;

/// Reads a `.msh`, `.vtu` or `.vtk` file of elements of first order, or of second order that are split into such. Where there are solids, they are the mesh; otherwise it
/// lies in a plane. Triangles become CPE3, quadrilaterals CPE4, and solids C3D4, C3D6 and C3D8. Sets are the physical groups of
/// a `.msh` file. A cell array of whole numbers gives the sets `NAME=VALUE`.
///
/// # Errors
/// [`MeshFileError`], as [`read`](super::read).
pub fn read_deck(path: &Path, options: &ReadOptions) -> Result<Deck, MeshFileError> {
    let wanted = if options.split_second_order { Wanted::ShapesOfBothOrders } else { Wanted::Shapes };
    let mut file = match extension_of(path).as_str() {
        "vtu" => vtu::read(path, wanted)?,
        "vtk" => vtu::legacy::read(path, wanted)?,
        "msh" => gmsh::read(path, wanted)?,
        _ => {
            let message = "models of explicit dynamics are read from .inp, .pogo-inp, .msh, .vtu and .vtk: save it as one of these";
            return Err(MeshFileError::new(path, 0, message));
        }
    };
    if file.element_labels.is_empty() {
        let message = "there are no triangles, quadrilaterals, tetrahedra, wedges and hexahedra in it";
        return Err(MeshFileError::new(path, 0, message));
    }
    check(&mut file, path)?;
    sets_of_arrays(&mut file);
    let notes = notes(&mut file);
    let bytes = held::mesh(path).map(|mesh| mesh.bytes());
    let bytes = bytes.unwrap_or_else(|| fs::metadata(path).map_or(0, |found| found.len()));
    let on_edges = std::mem::take(&mut file.on_edges);
    let mut mesh = mesh(file);
    if mesh.groups.iter().all(|group| group.kind.dimension() == 2) {
        flatten(&mut mesh).map_err(|message| MeshFileError::new(path, 0, message))?;
    }
    let (require_step, without_section) = (options.require_step, leaves_out_without_section(&options.ignore));
    let mut deck = Deck { mesh, notes, require_step, without_section, ..Deck::default() };
    let said = split_second_order(&mut deck, on_edges).map_err(|message| MeshFileError::new(path, 0, message))?;
    deck.notes.extend(said.into_iter().map(|text| Note::new(path.display().to_string(), 0, text)));
    deck.report = report(path, bytes, &deck.mesh);
    Ok(deck)
}

/// Sets of elements with the same whole number in a cell array.
fn sets_of_arrays(file: &mut MeshFile) {
    let has_groups = !file.element_sets.is_empty();
    for array in file.arrays.iter().filter(|array| array.whole && array.components == 1) {
        // The groups of a .msh file are sets with their own names.
        if has_groups && array.name == gmsh::PHYSICAL {
            continue;
        }
        let mut sets: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (&value, element) in array.values.iter().zip(0..) {
            if sets.len() <= MOST_VALUES {
                sets.entry(value as i64).or_default().push(element);
            }
        }
        if sets.len() > MOST_VALUES {
            let (name, file_name) = (&array.name, &file.file);
            let text = format!("cell array \"{name}\" has more than {MOST_VALUES} values: it gives no sets");
            file.notes.push(format!("{file_name}: note: {text}"));
            continue;
        }
        let named = sets.into_iter().map(|(value, members)| (format!("{}={value}", array.name), members));
        file.element_sets.extend(named.map(|(name, members)| NamedSet { name, members }));
    }
}

/// The notes of the reader, and what the file does not say of its elements.
fn notes(file: &mut MeshFile) -> Vec<Note> {
    let prefix = format!("{}: note: ", file.file);
    let said = std::mem::take(&mut file.notes);
    let mut texts: Vec<String> =
        said.into_iter().map(|text| text.strip_prefix(&prefix).map_or(text.clone(), str::to_owned)).collect();
    let full: Vec<&str> = file
        .shapes
        .iter()
        .filter_map(|(shape, _)| match shape {
            ElementShape::Quadrilateral => {
                Some("quadrilaterals are CPE4; `reduced = true` in a section makes them CPE4R")
            }
            ElementShape::Hexahedron => Some("hexahedra are C3D8; `reduced = true` in a section makes them C3D8R"),
            _ => None,
        })
        .collect();
    texts.extend(full.into_iter().map(str::to_owned));
    texts.into_iter().map(|text| Note::new(file.file.clone(), 0, text)).collect()
}

/// The kind that a file without kinds means.
const fn kind_of(shape: ElementShape) -> ElementKind {
    match shape {
        ElementShape::Triangle => ElementKind::Cpe3,
        ElementShape::Quadrilateral => ElementKind::Cpe4,
        ElementShape::Tetrahedron => ElementKind::C3d4,
        ElementShape::Wedge => ElementKind::C3d6,
        ElementShape::Hexahedron => ElementKind::C3d8,
    }
}

fn mesh(file: MeshFile) -> Mesh {
    let mut labels = file.element_labels.into_iter();
    let groups = file.shapes.into_iter().map(|(shape, connectivity)| {
        let n = connectivity.len() / shape.n_nodes();
        let labels = labels.by_ref().take(n).collect();
        let (instance, section) = (vec![0; n], vec![NO_SECTION; n]);
        ElementGroup { kind: kind_of(shape), labels, instance, section, connectivity }
    });
    Mesh {
        dimension: 3,
        groups: groups.collect(),
        coordinates: file.coordinates,
        node_instance: vec![0; file.node_labels.len()],
        node_labels: file.node_labels,
        instances: vec![String::new()],
        node_sets: file.node_sets,
        element_sets: file.element_sets,
    }
}

fn report(path: &Path, bytes: u64, mesh: &Mesh) -> DeckReport {
    let file = path.display().to_string();
    let elements = mesh.groups.iter().map(|group| ElementCount {
        name: group.kind.name().into(),
        count: group.len() as u64,
        supported: true,
        file: file.clone(),
        line: 0,
    });
    let sets = |sets: &[NamedSet]| {
        sets.iter().map(|set| SetCount { name: set.name.clone(), count: set.members.len() as u64 }).collect()
    };
    DeckReport {
        bytes,
        elements: elements.collect(),
        files: vec![file.clone()],
        paths: vec![path.to_owned()],
        node_lines: mesh.n_nodes() as u64,
        n_nodes: mesh.n_nodes() as u64,
        n_elements: mesh.n_elements() as u64,
        node_sets: sets(&mesh.node_sets),
        element_sets: sets(&mesh.element_sets),
        ..DeckReport::default()
    }
}

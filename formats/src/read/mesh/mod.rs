//! Meshes of triangles or tetrahedra with data on their elements, from the files that mesh generators and heart models
//! come in.
//!
//! | file | labels of nodes and elements | element sets | cell arrays |
//! |---|---|---|---|
//! | `.vtu`, `.vtk` | from 0, as VTK counts | - | all of `CellData` |
//! | `.msh` (Gmsh 2.2, 4.1) | tags | physical groups; node sets too | `gmsh:physical`, `$ElementData` |
//! | `.pts` `.elem` `.lon` (openCARP) | from 0 | one a region, by its number | `region`; `fibre`, `sheet` |
//! | `.inp` | labels | sets of the deck | - |
//!
//! A file may hold cells of several kinds, as mesh generators write boundaries beside volumes: where there are tetrahedra,
//! they are the mesh and everything of fewer dimensions is left out with a note; otherwise triangles are. Other cells of the
//! mesh's own dimension are refused by name. [`read_deck`] also takes quadrilaterals, wedges and hexahedra.

mod cells;
mod deck;
mod gmsh;
mod model;
mod opencarp;
mod scan;
mod vtu;

use std::path::Path;

use cells::Wanted;
pub use model::read_deck;
pub use opencarp::read_vtx;

use crate::mesh::{ElementShape, NamedSet};
use crate::read::deck::ReadOptions;
use crate::system::inputs;

/// A mesh file that cannot be used: `heart.msh:12: error: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", located(file, *line, message))]
pub struct MeshFileError {
    /// File as the user named it.
    pub file: String,
    /// From 1; 0 for the file as a whole.
    pub line: u64,
    /// What is wrong and what to do; several problems of a deck are lines of their own with their places.
    pub message: String,
}

fn located(file: &str, line: u64, message: &str) -> String {
    match (file.is_empty(), line) {
        (true, _) => message.to_owned(),
        (false, 0) => format!("{file}: error: {message}"),
        (false, line) => format!("{file}:{line}: error: {message}"),
    }
}

impl MeshFileError {
    pub(crate) fn new(path: &Path, line: u64, message: impl Into<String>) -> Self {
        Self { file: path.display().to_string(), line, message: message.into() }
    }
}

/// Data on the elements of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct CellArray {
    /// Name in the file.
    pub name: String,
    /// Numbers an element.
    pub components: usize,
    /// The file has whole numbers.
    pub whole: bool,
    /// (n_elements, components).
    pub values: Vec<f64>,
}

/// A mesh as its file has it.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct MeshFile {
    /// File as the user named it.
    pub file: String,
    /// Files that were read.
    pub sources: Vec<std::path::PathBuf>,
    /// Corners an element: 3 or 4.
    pub corners: usize,
    /// The file says that the mesh lies in the plane z = 0.
    pub plane: bool,
    /// (n_nodes, 3).
    pub coordinates: Vec<f64>,
    /// Node indices, (n_elements, corners).
    pub elements: Vec<u32>,
    /// (n_nodes,).
    pub node_labels: Vec<u32>,
    /// Where all shapes were asked for: the nodes of the elements of each, in place of `elements`.
    pub shapes: Vec<(ElementShape, Vec<u32>)>,
    /// Of second-order elements the nodes on the edges of each, (n, edges), Abaqus order, one list for each of `shapes`; `shapes`
    /// has their corners.
    pub on_edges: Vec<Vec<u32>>,
    /// (n_elements,).
    pub element_labels: Vec<u32>,
    /// Instance of each node, (n_nodes,), or empty.
    pub node_instance: Vec<u16>,
    /// Names of instances.
    pub instances: Vec<String>,
    /// Node sets.
    pub node_sets: Vec<NamedSet>,
    /// Element sets.
    pub element_sets: Vec<NamedSet>,
    /// Data on elements.
    pub arrays: Vec<CellArray>,
    /// Names of data on nodes, which are not read.
    pub point_arrays: Vec<String>,
    /// Line of each element in the file, (n_elements,), or empty.
    pub element_lines: Vec<u32>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl MeshFile {
    /// The empty mesh of one file.
    fn of(path: &Path) -> Self {
        Self { file: path.display().to_string(), sources: vec![path.to_owned()], ..Self::default() }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.node_labels.len()
    }

    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.element_labels.len()
    }

    /// Position of a node.
    pub fn point(&self, node: u32) -> [f64; 3] {
        self.coordinates.as_chunks::<3>().0[node as usize]
    }

    /// The file, and the line of an element where it is known: `file` or `file:12`.
    pub fn place_of(&self, element: usize) -> String {
        match self.element_lines.get(element) {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }
}

/// Whether a file's name says that it is a mesh that only this module reads: `.vtu`, `.vtk`, `.msh`, `.pts`, `.elem`, or what
/// openCARP's files have before that.
pub fn is_mesh_file(path: &Path) -> bool {
    ["vtu", "vtk", "msh", "pts", "elem", "lon"].contains(&extension_of(path).as_str()) || opencarp::is_base(path)
}

/// What follows the last point of a file's name, in lower case.
fn extension_of(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Extensions of mesh files that are not read, and are no decks.
const FOREIGN: &[&str] = &["vtp", "pvtu", "vtm", "vtkhdf", "hdf", "xdmf", "meshb", "med", "exo", "stl", "ply", "obj"];

/// Reads a mesh; the name tells what it is, and anything unknown is read as a deck. Of the options `ignore` and
/// `split_second_order` count, both for decks alone.
///
/// # Errors
/// [`MeshFileError`]: a file that cannot be read, that is not what its name says, that is cut, or whose mesh cannot be used.
pub fn read(path: &Path, options: &ReadOptions) -> Result<MeshFile, MeshFileError> {
    if options.split_second_order && is_mesh_file(path) {
        let message = "elements of arrival times are split in decks alone (--split-second-order): save linear elements";
        return Err(MeshFileError::new(path, 0, message));
    }
    let mut mesh = match extension_of(path).as_str() {
        "vtu" => vtu::read(path, Wanted::Simplices),
        "vtk" => vtu::legacy::read(path, Wanted::Simplices),
        "msh" => gmsh::read(path, Wanted::Simplices),
        "pts" | "elem" | "lon" => opencarp::read(&path.with_extension("")),
        _ if opencarp::is_base(path) => opencarp::read(path),
        foreign if FOREIGN.contains(&foreign) => {
            let message = "meshes are read from .vtu, .vtk, .msh, .pts with .elem, and .inp: save it as one of these (ParaView: Save Data \
                           as .vtu; or meshio convert)";
            Err(MeshFileError::new(path, 0, message))
        }
        _ => deck::read(path, options),
    }?;
    check(&mut mesh, path)?;
    Ok(mesh)
}

/// Lines between nodes, as a file has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineMesh {
    /// (n_nodes, 3).
    pub coordinates: Vec<f64>,
    /// Both nodes of each edge, (n_edges, 2).
    pub edges: Vec<u32>,
    /// A number on each edge, (n_edges,), or empty.
    pub speeds: Vec<f64>,
}

/// Reads the lines of a `.vtu` or `.vtk` file; `speeds` names a cell array of one number a line.
///
/// # Errors
/// [`MeshFileError`], as [`read`].
pub fn read_lines(path: &Path, speeds: Option<&str>) -> Result<LineMesh, MeshFileError> {
    vtu::lines::read(path, speeds)
}

/// Reads a file as a whole.
fn bytes_of(path: &Path) -> Result<Vec<u8>, MeshFileError> {
    if path.is_dir() {
        return Err(MeshFileError::new(path, 0, "it is a folder; name a mesh"));
    }
    inputs::read(path).map_err(|error| MeshFileError::new(path, 0, format!("cannot read: {error}")))
}

/// What every mesh must keep, whatever its file.
fn check(mesh: &mut MeshFile, path: &Path) -> Result<(), MeshFileError> {
    let wrong = |message: String| Err(MeshFileError::new(path, 0, message));
    let (n_nodes, n_elements) = (mesh.n_nodes(), mesh.n_elements());
    if n_elements == 0 {
        return wrong("there are no tetrahedra and no triangles in it".into());
    }
    if n_nodes >= u32::MAX as usize || n_elements > 1 << 30 {
        return wrong(format!("{n_nodes} nodes and {n_elements} elements are more than 32-bit tables can hold"));
    }
    let of_shapes = !mesh.shapes.is_empty();
    if mesh.coordinates.len() != 3 * n_nodes || (!of_shapes && mesh.elements.len() != mesh.corners * n_elements) {
        return wrong("its tables have different lengths".into());
    }
    if let Some(at) = mesh.coordinates.iter().position(|x| !x.is_finite()) {
        return wrong(format!("node {} has a coordinate that is no finite number", mesh.node_labels[at / 3]));
    }
    if let Some(at) = mesh.elements.iter().position(|&node| node as usize >= n_nodes) {
        let element = at / mesh.corners;
        let line = mesh.element_lines.get(element).copied().unwrap_or_default();
        let message = format!(
            "element {} names node {} (by position from 0), and there are {n_nodes} nodes",
            mesh.element_labels[element], mesh.elements[at]
        );
        return Err(MeshFileError::new(path, line.into(), message));
    }
    for set in mesh.node_sets.iter_mut().chain(&mut mesh.element_sets) {
        set.members.sort_unstable();
        set.members.dedup();
    }
    if mesh.corners == 3 && !mesh.plane {
        mesh.plane = mesh.coordinates.as_chunks::<3>().0.iter().all(|x| x[2] == 0.0);
    }
    mesh.sources.dedup();
    Ok(())
}

#[cfg(test)]
mod tests;

//! Meshes in arrays, as a `.vtu` file with the same points, cells and data would give them: labels count from 0.

use std::path::Path;

use super::super::cells::{Cells, Wanted};
use super::super::{CellArray, MeshFile, MeshFileError};
use super::arrays_of_elements;
use crate::mesh::ElementKind;
use crate::read::image::npy;
use crate::system::held::HeldMesh;

pub(super) fn read(path: &Path, from: &HeldMesh, wanted: Wanted) -> Result<MeshFile, MeshFileError> {
    let wrong = |message: String| MeshFileError::new(path, 0, message);
    let n_points = from.n_points();
    if n_points >= u32::MAX as usize {
        return Err(wrong(format!("{n_points} points are more than 32-bit tables can hold")));
    }
    let mut mesh = MeshFile { coordinates: from.coordinates(), ..MeshFile::of(path) };
    mesh.node_labels = (0..n_points as u32).collect();
    let mut cells = Cells::default();
    for group in &from.groups {
        let shape = ElementKind::from_name(&group.kind).map(ElementKind::shape);
        let shape = shape.filter(|shape| shape.n_nodes() == group.corners);
        let shape = shape.ok_or_else(|| wrong(format!("{} of {} nodes are not known", group.kind, group.corners)))?;
        let all = (*group.nodes).as_ref().iter();
        let nodes: Option<Vec<u32>> =
            all.map(|&node| u32::try_from(node).ok().filter(|&node| (node as usize) < n_points)).collect();
        cells
            .extend(shape, nodes.ok_or_else(|| wrong(format!("a cell names a point that is none of the {n_points}")))?);
    }
    let n_cells = cells.len();
    let mut data = Vec::new();
    for (name, array) in &from.cell_data {
        let what = |message: String| wrong(format!("cell array \"{name}\": {message}"));
        let (shape, whole, values) = npy::numbers(array.reader()).map_err(what)?;
        if shape.first() != Some(&n_cells) {
            return Err(what(format!("its shape is {shape:?}, and there are {n_cells} cells")));
        }
        data.push(CellArray { name: name.clone(), components: shape[1..].iter().product(), whole, values });
    }
    let cell_of_element = cells.finish(path, &mut mesh, wanted)?;
    arrays_of_elements(path, &mut mesh, data, n_cells, &cell_of_element);
    Ok(mesh)
}

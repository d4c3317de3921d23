//! Lines and polylines of VTK's files: trees of fibres.

use std::path::Path;

use super::super::{LineMesh, MeshFileError, extension_of};
use super::{Header, Load, Piece, Section, legacy, read_with};

/// Reads the lines of a `.vtu` or `.vtk` file, with the numbers of a cell array as their speeds.
pub(in super::super) fn read(path: &Path, speeds: Option<&str>) -> Result<LineMesh, MeshFileError> {
    let assemble = |header: &Header, load: &Load| lines(path, header, load, speeds);
    match extension_of(path).as_str() {
        "vtu" => read_with(path, assemble),
        "vtk" => legacy::read_with(path, assemble),
        _ => {
            let message =
                "trees are read from .vtu and .vtk files with lines, or from tables: points = \"…\" and edges = \"…\"";
            Err(MeshFileError::new(path, 0, message))
        }
    }
}

fn lines(path: &Path, header: &Header, load: &Load, speeds: Option<&str>) -> Result<LineMesh, MeshFileError> {
    let arrays = || header.arrays.iter().filter(|array| array.section == Section::CellData);
    if let Some(name) = speeds
        && !arrays().any(|array| array.name == name)
    {
        let known = arrays().map(|array| array.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(MeshFileError::new(
            path,
            0,
            format!("there is no cell array \"{name}\" (its cell arrays: {known})"),
        ));
    }
    let mut mesh = LineMesh::default();
    for piece in Piece::all(path, header, load) {
        let first = piece.points(&mut mesh.coordinates)?;
        if piece.n_cells > 0 {
            let own = match speeds {
                Some(name) => Some(piece.need(Section::CellData, name, Some(piece.n_cells))?.into_vec()),
                None => None,
            };
            piece.lines(first, own.as_deref(), &mut mesh)?;
        }
    }
    if mesh.coordinates.len() / 3 >= u32::MAX as usize || mesh.edges.len() / 2 >= u32::MAX as usize {
        return Err(MeshFileError::new(path, 0, "more nodes or edges than 32-bit tables can hold"));
    }
    match mesh.coordinates.iter().position(|x| !x.is_finite()) {
        Some(at) => {
            Err(MeshFileError::new(path, 0, format!("node {} has a coordinate that is no finite number", at / 3)))
        }
        None => Ok(mesh),
    }
}

impl Piece<'_, '_> {
    /// Adds the edges of lines (VTK's type 3) and polylines (4), with the numbers of their cells; other cells are left out.
    fn lines(&self, first: usize, speeds: Option<&[f64]>, mesh: &mut LineMesh) -> Result<(), MeshFileError> {
        let types = self.need(Section::Cells, "types", Some(self.n_cells))?.into_vec();
        let offsets = self.need(Section::Cells, "offsets", Some(self.n_cells))?.into_vec();
        let connectivity = self.need(Section::Cells, "connectivity", None)?.into_vec();
        let mut start = 0;
        for (cell, (&code, &end)) in types.iter().zip(&offsets).enumerate() {
            let wrong = |message: String| MeshFileError::new(self.path, 0, format!("cell {cell}{message}"));
            let nodes = connectivity.get(start..end as usize).ok_or_else(|| wrong(": its offset is wrong".into()))?;
            start = end as usize;
            if !matches!(code as u8, 3 | 4) {
                continue;
            }
            if let Some(from) = nodes.iter().find(|from| !(**from >= 0.0 && **from < self.n_points as f64)) {
                return Err(wrong(format!(" names point {from}, and there are {}", self.n_points)));
            }
            for ends in nodes.windows(2) {
                mesh.edges.extend(ends.iter().map(|&end| (first + end as usize) as u32));
                mesh.speeds.extend(speeds.map(|speeds| speeds[cell]));
            }
        }
        Ok(())
    }
}

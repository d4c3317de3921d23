//! Files of one load case, and displacements to start from.

use std::path::Path;

use pogo_formats::system::memory::Need;
use pogo_formats::voxel::setup::LoadCase;
use pogo_formats::voxel::summary::VoxelSummary;
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::npy;
use pogo_formats::write::report::FIELD_BYTES;

use super::results::Solution;
use super::{fields, picture};
use crate::call::Call;
use crate::error::SolveError;

/// Nodes of a piece of a file, some of which are made and written at the same time.
const PIECE: usize = 1 << 15;

/// `stem.extension`, or `stem-CASE.extension` where there are several cases.
fn file_name(stem: &str, case: &LoadCase, extension: &str) -> String {
    if case.name.is_empty() { format!("{stem}.{extension}") } else { format!("{stem}-{}.{extension}", case.name) }
}

/// A file of displacements of any case.
pub(super) fn is_displacement(name: &str) -> bool {
    name.starts_with("displacement") && name.ends_with(".npy")
}

/// Memory for the files of a case. Fields and pictures are of the box round the voxels, however few there are in it.
pub(super) fn need(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, call: &Call<'_>) -> Need {
    /// Layers that are filled at a time, with what is made of them.
    const LAYERS: f64 = 2.0 * 8.0;
    /// Bytes of a voxel of a picture.
    const PIXEL: f64 = 32.0;
    let Some([low, high]) = mesh.bricks.bounds() else { return Need::default() };
    let size = [0, 1, 2].map(|axis| f64::from(high[axis] - low[axis]) + 1.0);
    let mut need = Need::default();
    if call.settings.fields && !setup.output.fields.is_empty() {
        need.add("for layers of the fields: leave them out with --no-fields", LAYERS * size[0] * size[1] * 6.0 * 4.0);
    }
    if call.settings.draws() {
        let [x, y, z] = size;
        need.add("for the picture: leave out --plot, --movie", PIXEL * (x * y).max(y * z).max(x * z));
    }
    need
}

/// Displacements to start a case from, (n_nodes, 3), from the file or folder of the command line. None where an earlier run
/// was stopped before this case.
///
/// # Errors
/// A file that cannot be read, or that is of another model.
pub(super) fn start_vector(
    start: Option<&Path>,
    setup: &VoxelSetup,
    case: &LoadCase,
    n_nodes: usize,
) -> Result<Option<Vec<f64>>, SolveError> {
    let Some(path) = start else { return Ok(None) };
    let mut file = path.to_owned();
    if path.is_dir() {
        let of = |case| path.join(file_name("displacement", case, "npy"));
        file = of(case);
        if !file.exists() && setup.cases.iter().any(|case| of(case).exists()) {
            return Ok(None);
        }
    }
    Ok(Some(npy::read_rows(&file, n_nodes)?))
}

/// Writes the files of one case, and positions of nodes with the `first`.
pub(super) fn write_case(
    call: &Call<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    solution: &Solution<'_>,
    summary: &mut VoxelSummary,
) -> Result<(), SolveError> {
    let (mesh, output, folder) = (solution.mesh, &setup.output, call.folder);
    if output.displacement {
        let n = mesh.bricks.n_nodes();
        let name = file_name("displacement", case, "npy");
        let first: Vec<usize> = (0..n).step_by(PIECE).chain([n]).collect();
        let rows = |piece: usize| {
            solution.displacement[3 * first[piece]..3 * first[piece + 1]].chunks_exact(3).map(|u| [u[0], u[1], u[2]])
        };
        npy::write_rows(&folder.join(&name), &first, rows)?;
        summary.files.push(name);
    }
    if call.settings.fields && !output.fields.is_empty() {
        let extension = match call.settings.field_format {
            FieldFormat::Vtu => "vti",
            FieldFormat::VtkHdf => "vtkhdf",
        };
        let name = file_name("fields", case, extension);
        fields::write(&folder.join(&name), call.settings.field_format, solution, &output.fields)?;
        summary.files.push(name);
    }
    if call.settings.plot {
        let name = file_name("slice", case, "png");
        if picture::slice(&folder.join(&name), solution, setup, &case.name)? {
            summary.files.push(name);
        } else {
            summary.warnings.push("the slice to draw cuts no voxel; choose another with output.slice_at".into());
        }
    }
    if let Some(mut report) = call.report() {
        picture::show(&mut report, solution, setup, &case.name, FIELD_BYTES / setup.cases.len().max(1));
    }
    if call.settings.movie {
        let name = file_name("movie", case, "png");
        if picture::layers(&folder.join(&name), solution, setup, &case.name)? {
            summary.files.push(name);
        }
    }
    Ok(())
}

/// `nodes.npy`: places of all nodes in the grid. By one thread, since those that solve may wait for it.
pub(super) fn write_positions(mesh: &VoxelMeshView<'_>, folder: &Path) -> Result<(), SolveError> {
    let places = (0..mesh.bricks.n_bricks()).flat_map(|brick| mesh.bricks.node_positions(brick)).flatten();
    Ok(npy::write_values(&folder.join("nodes.npy"), &[mesh.bricks.n_nodes(), 3], places)?)
}

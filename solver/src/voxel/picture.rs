//! A slice of voxels, coloured by the strain-energy density.

use std::path::Path;

use pogo_formats::voxel::VoxelSetup;
use pogo_formats::voxel::slice;
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::SnapshotOptions;

use super::elements::gather;
use super::results::Solution;

/// Draws the slice that the output asks for; false where it would cut no voxel.
pub(super) fn slice(path: &Path, solution: &Solution<'_>, setup: &VoxelSetup) -> Result<bool, OutputError> {
    let area = solution.mesh.spacing * solution.mesh.spacing;
    let options = SnapshotOptions { label: "U".into(), unit: String::new(), ..SnapshotOptions::default() };
    slice::draw(path, solution.mesh, setup, "strain energy density U", options, |element, nodes| {
        let unit = solution.matter.cube(element).energy_density(&gather(solution.displacement, nodes));
        unit * solution.matter.young(element) / area
    })
}

//! Slices of voxels, coloured by the strain-energy density.

use std::path::Path;

use pogo_formats::voxel::slice::{self, Layers, VOXELS};
use pogo_formats::voxel::{VoxelSetup, report};
use pogo_formats::write::OutputError;
use pogo_formats::write::plot::{Look, Spread, movie};
use pogo_formats::write::report::Report;

use super::elements::{Element, unit_energies};
use super::results::Solution;

/// Most frames of a movie: of more layers, so many are shown.
const MOST_FRAMES: usize = 120;

fn look(setup: &VoxelSetup, case: &str) -> Look {
    let case = if case.is_empty() { String::new() } else { format!(", case {case}") };
    Look {
        title: setup.title.clone(),
        subtitle: format!("strain energy density U in the unit of E{case}"),
        label: "U".into(),
        unit: String::new(),
        share: VOXELS,
        ..Look::default()
    }
}

/// Strain energy density of an element, in the unit of its modulus.
fn energy_density<'a>(solution: &'a Solution<'_>) -> impl Fn(u32, &[u32; 8]) -> f64 + use<'a> {
    let area = solution.mesh.spacing * solution.mesh.spacing;
    move |number, &nodes| {
        let element = Element { number, nodes, ..Element::default() };
        let unit = unit_energies(solution.matter, solution.displacement, &[element]);
        unit.mean[0] * solution.matter.young(number) / area
    }
}

/// Draws the slice that the output asks for; false where it would cut no voxel.
pub(super) fn slice(path: &Path, solution: &Solution<'_>, setup: &VoxelSetup, case: &str) -> Result<bool, OutputError> {
    slice::draw(path, solution.mesh, setup, look(setup, case), energy_density(solution))
}

/// Adds the layers of a case to a report, in so many bytes.
pub(super) fn show(report: &mut Report, solution: &Solution<'_>, setup: &VoxelSetup, case: &str, room: usize) {
    report::show(report, solution.mesh, setup, (&look(setup, case), room), energy_density(solution));
}

/// Draws all layers along the axis that the output asks for, one after the other; false where there is none.
pub(super) fn layers(
    path: &Path,
    solution: &Solution<'_>,
    setup: &VoxelSetup,
    case: &str,
) -> Result<bool, OutputError> {
    let look = look(setup, case);
    let Some(layers) = Layers::new(solution.mesh, setup, look.width) else { return Ok(false) };
    let look = Look { axes: layers.axes(), ..look };
    let step = layers.len().div_ceil(MOST_FRAMES).max(1);
    let empty = || vec![f32::NAN; layers.camera.width * layers.camera.height];
    let values = |layer: usize| layers.values(layer, energy_density(solution)).unwrap_or_else(empty);
    let mut spread = Spread::default();
    (0..layers.len()).step_by(step).for_each(|layer| spread.add(values(layer)));
    let scale = look.scale(&spread);
    movie(path, layers.len().div_ceil(step), |frame| {
        let layer = step * frame;
        Ok(look.picture(&layers.camera, &values(layer), &[], &scale, &layers.words(layer)))
    })
}

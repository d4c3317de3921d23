//! A slice of voxels, coloured by the strain-energy density.

use std::collections::BTreeMap;
use std::path::Path;

use pogo_formats::block::{GroupView, MeshView};
use pogo_formats::model::ElementKind;
use pogo_formats::output::OutputError;
use pogo_formats::output::plot::{Scalar, SnapshotOptions, snapshot_png};
use pogo_formats::voxel::BrickNodes;
use pogo_formats::voxel::setup::VoxelOutput;

use super::elements::{for_brick, gather, modulus};
use super::results::Solution;

/// Draws the slice that the output asks for, `metres` being the unit of length; false where it would cut no voxel.
///
/// # Errors
/// [`OutputError::Io`].
pub fn slice(
    path: &Path,
    solution: &Solution<'_>,
    output: &VoxelOutput,
    title: &str,
    metres: f64,
) -> Result<bool, OutputError> {
    let (mesh, bricks) = (solution.mesh, &solution.mesh.bricks);
    let Some([low, high]) = bricks.bounds() else { return Ok(false) };
    let normal = usize::from(output.slice.0.min(2));
    let n = high[normal] - low[normal];
    let index = low[normal] + ((output.slice.1 * f64::from(n)) as u32).min(n.saturating_sub(1));
    let (across, up) = match normal {
        0 => (1, 2),
        1 => (0, 2),
        _ => (0, 1),
    };
    let (mut coordinates, mut connectivity, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut numbers: BTreeMap<[u32; 2], u32> = BTreeMap::new();
    let mut node = |at: [u32; 2]| {
        let next = numbers.len() as u32;
        *numbers.entry(at).or_insert_with(|| {
            for (axis, index) in [across, up].into_iter().zip(at) {
                coordinates.push(metres * (mesh.origin[axis] + mesh.spacing * f64::from(index)));
            }
            next
        })
    };
    let mut table = BrickNodes::default();
    for brick in 0..bricks.n_bricks() {
        if bricks.corner(brick)[normal] != index / 8 * 8 {
            continue;
        }
        for_brick(bricks, brick, &mut table, |element| {
            if element.position[normal] != index {
                return;
            }
            let (a, b) = (element.position[across], element.position[up]);
            connectivity.extend([[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]].map(&mut node));
            let unit = solution.cube.energy_density(&gather(solution.displacement, &element.nodes));
            values.push(unit * modulus(&solution.moduli, element.number) / (mesh.spacing * mesh.spacing));
        });
    }
    if values.is_empty() {
        return Ok(false);
    }
    let (labels, instance): (Vec<u32>, Vec<u16>) = ((1..=values.len() as u32).collect(), vec![0; values.len()]);
    let section = vec![0; values.len()];
    let node_labels: Vec<u32> = (1..=numbers.len() as u32).collect();
    let node_instance = vec![0; node_labels.len()];
    let flat = MeshView {
        dimension: 2,
        coordinates: &coordinates,
        node_labels: &node_labels,
        node_instance: &node_instance,
        instances: vec![""],
        groups: vec![GroupView {
            kind: ElementKind::Cps4,
            labels: &labels,
            instance: &instance,
            section: &section,
            connectivity: &connectivity,
        }],
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    };
    let plane = ["y-z", "x-z", "x-y"][normal];
    let name = if title.is_empty() { String::new() } else { format!("{title}, ") };
    let options = SnapshotOptions {
        title: format!("{name}strain energy density U, slice {plane} through voxels {index}"),
        label: "U".into(),
        unit: String::new(),
        axes: [["x", "y", "z"][across], ["x", "y", "z"][up]],
        ..SnapshotOptions::default()
    };
    snapshot_png(path, &flat, Scalar::Elemental(&values), &options)?;
    Ok(true)
}

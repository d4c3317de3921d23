//! A slice of voxels in colours.

use std::collections::BTreeMap;
use std::path::Path;

use crate::mesh::ElementKind;
use crate::mesh::{GroupView, MeshView};
use crate::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use crate::write::OutputError;
use crate::write::plot::{Scalar, SnapshotOptions, snapshot_png};

/// Draws the slice that the setup's output asks for, each voxel with the value of `value(element, its eight nodes)`; false
/// where it would cut no voxel. `what` comes first in the title, after that of the model.
///
/// # Errors
/// [`OutputError::Io`].
pub fn draw(
    path: &Path,
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    what: &str,
    options: SnapshotOptions,
    mut value: impl FnMut(u32, &[u32; 8]) -> f64,
) -> Result<bool, OutputError> {
    let bricks = &mesh.bricks;
    let Some([low, high]) = bricks.bounds() else { return Ok(false) };
    let metres = match setup.unit.as_str() {
        "um" => 1e-6,
        "mm" => 1e-3,
        "cm" => 1e-2,
        _ => 1.0,
    };
    let normal = usize::from(setup.output.slice.0.min(2));
    let n = high[normal] - low[normal];
    let index = low[normal] + ((setup.output.slice.1 * f64::from(n)) as u32).min(n.saturating_sub(1));
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
        let corner = bricks.corner(brick);
        if corner[normal] != index / 8 * 8 {
            continue;
        }
        table.load(bricks, brick);
        let elements = bricks.element_first[brick]..bricks.element_first[brick + 1];
        for (at, element) in bricks.element_positions(brick).zip(elements).filter(|(at, _)| at[normal] == index) {
            let (a, b) = (at[across], at[up]);
            connectivity.extend([[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]].map(&mut node));
            values.push(value(element, &table.element([0, 1, 2].map(|axis| at[axis] - corner[axis]))));
        }
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
    let name = if setup.title.is_empty() { String::new() } else { format!("{}, ", setup.title) };
    let options = SnapshotOptions {
        title: format!("{name}{what}, slice {plane} through voxels {index}"),
        axes: [["x", "y", "z"][across], ["x", "y", "z"][up]],
        ..options
    };
    snapshot_png(path, &flat, Scalar::Elemental(&values), &options)?;
    Ok(true)
}

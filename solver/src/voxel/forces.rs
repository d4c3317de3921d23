//! Forces of a load case by degree of freedom.

use pogo_formats::voxel::setup::{LoadCase, NodeRegion, RegionForce, Share};
use pogo_formats::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::NodalForce;

use super::case::{ConditionError, coordinates, magnitude};
use super::dense;
use super::elements::for_brick;
use super::support::rigid_row;

/// Forces by degree of freedom, each with the area that carries it.
pub(super) fn forces(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
) -> Result<Vec<(NodalForce, f64)>, ConditionError> {
    let mut forces: Vec<(NodalForce, f64)> = Vec::new();
    for force in &case.forces {
        let m = magnitude(&setup.magnitudes, force.magnitude);
        for (node, weight, area) in weights(mesh, force)? {
            for direction in 0..3_u8 {
                let value = m * weight * force.vector[usize::from(direction)];
                // A balanced load needs the area also where nothing pulls yet.
                if value != 0.0 || case.balanced {
                    forces.push((NodalForce { node, direction, value }, area));
                }
            }
        }
    }
    for table in &case.force_tables {
        let m = magnitude(&setup.magnitudes, table.magnitude);
        for ((&node, &direction), value) in table.nodes.iter().zip(&table.directions).zip(&table.values) {
            forces.push((NodalForce { node, direction, value: m * value }, 0.0));
        }
    }
    forces.sort_by_key(|(force, _)| (force.node, force.direction));
    forces.dedup_by(|(later, later_area), (force, area)| {
        let same = (later.node, later.direction) == (force.node, force.direction);
        if same {
            force.value += later.value;
            *area += *later_area;
        }
        same
    });
    Ok(forces)
}

/// (node, factor on the vector, area) of a region's nodes.
fn weights(mesh: &VoxelMeshView<'_>, force: &RegionForce) -> Result<Vec<(u32, f64, f64)>, ConditionError> {
    let nodes = mesh.bricks.region_nodes(&force.region, mesh.element_class);
    if nodes.is_empty() {
        return Err(ConditionError::Empty { name: force.name.clone() });
    }
    let (axis, upper) = match force.share {
        Share::Each => return Ok(nodes.into_iter().map(|node| (node, 1.0, 0.0)).collect()),
        Share::Equal => {
            let part = 1.0 / nodes.len() as f64;
            return Ok(nodes.into_iter().map(|node| (node, part, 0.0)).collect());
        }
        Share::Area { axis, upper } | Share::Traction { axis, upper } => (usize::from(axis), upper),
    };
    let mut quarters = face_nodes(mesh, &force.region, &nodes, axis, upper);
    if quarters.is_empty() {
        return Err(ConditionError::NoFace { name: force.name.clone() });
    }
    quarters.sort_unstable();
    let quarter = 0.25 * mesh.spacing * mesh.spacing;
    let total = quarter * quarters.len() as f64;
    let share = |area: f64| if matches!(force.share, Share::Area { .. }) { area / total } else { area };
    Ok(quarters
        .chunk_by(|a, b| a == b)
        .map(|same| {
            let area = quarter * same.len() as f64;
            (same[0], share(area), area)
        })
        .collect())
}

/// The four nodes of every free face of a solid voxel, towards a side, whose nodes all lie in a region. `nodes` are those of
/// the region, ascending.
fn face_nodes(mesh: &VoxelMeshView<'_>, region: &NodeRegion, nodes: &[u32], axis: usize, upper: bool) -> Vec<u32> {
    let bricks = &mesh.bricks;
    let (mut found, mut table) = (Vec::new(), BrickNodes::default());
    // Indices along the axis that the region can reach.
    let reached = match region {
        NodeRegion::Box { low, high } => Some([low[axis], high[axis]]),
        _ => None,
    };
    for brick in 0..bricks.n_bricks() {
        let corner = bricks.corner(brick);
        if reached.is_some_and(|[low, high]| corner[axis] > high || corner[axis] + 8 < low) {
            continue;
        }
        for_brick(bricks, brick, &mut table, |element| {
            let face: Vec<u32> = (0..8).filter(|c| (c >> axis & 1 == 1) == upper).map(|c| element.nodes[c]).collect();
            if face.iter().any(|node| nodes.binary_search(node).is_err()) {
                return;
            }
            let at = element.position[axis];
            let beyond = if upper { Some(at + 1) } else { at.checked_sub(1) };
            let is_free = beyond.is_none_or(|beyond| {
                let mut next = element.position;
                next[axis] = beyond;
                bricks.element(next).is_none()
            });
            if is_free {
                found.extend(face);
            }
        });
    }
    found
}

/// Takes resultant force and moment away: f −= area (a + b × x), the smallest such change.
pub(super) fn balance(
    mesh: &VoxelMeshView<'_>,
    case: &LoadCase,
    forces: &mut [(NodalForce, f64)],
) -> Result<(), ConditionError> {
    // Rows of rigid motion: direction d at x moves with translation d and rotation r by (e_r × x)_d.
    let scale = 1.0 / (mesh.spacing * f64::from(mesh.size.into_iter().max().unwrap_or(1).max(1)));
    let row = |node: u32, direction: u8| {
        let x = coordinates(mesh, node);
        rigid_row([0, 1, 2].map(|k| (x[k] - mesh.origin[k]) * scale), usize::from(direction))
    };
    let (mut normal, mut resultant) = ([[0.0; 6]; 6], [0.0; 6]);
    for (force, area) in forces.iter() {
        let row = row(force.node, force.direction);
        for i in 0..6 {
            resultant[i] += row[i] * force.value;
            (0..6).for_each(|j| normal[i][j] += area * row[i] * row[j]);
        }
    }
    let correction =
        dense::solve(normal, resultant).ok_or_else(|| ConditionError::Unbalanced { case: case.name.clone() })?;
    for (force, area) in forces {
        let row = row(force.node, force.direction);
        force.value -= *area * (0..6).map(|i| row[i] * correction[i]).sum::<f64>();
    }
    Ok(())
}

//! From the load cases of a setup to values of degrees of freedom.

use pogo_formats::voxel::setup::{LoadCase, Magnitude, MagnitudeKind, NodeRegion, RegionForce, Share};
use pogo_formats::voxel::{BrickNodes, VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::{FixedDof, NodalForce};

use super::elements::for_brick;
use super::support::{Bodies, LooseParts};

/// A load case that cannot be solved.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ConditionError {
    /// A region without nodes.
    #[error("`{name}`: there is no node of a solid voxel; its place was made for another image, block the model again")]
    Empty {
        /// Condition.
        name: String,
    },
    /// A force on a face without voxels.
    #[error("`{name}`: no solid voxel has a free face there to share a force over")]
    NoFace {
        /// Condition.
        name: String,
    },
    /// Not supported.
    #[error("{0}")]
    Loose(#[from] LooseParts),
    /// Forces that cannot be balanced.
    #[error("case `{case}`: the loaded faces do not allow a balanced load (too few solid voxels on them)")]
    Unbalanced {
        /// Case.
        case: String,
    },
    /// Opposite faces that do not match.
    #[error(
        "periodic boundary conditions: no node on {axis}min has a partner on {axis}max; crop the image to a piece that \
         repeats, or use boundary = \"kinematic\" or \"static\""
    )]
    NotPeriodic {
        /// Axis.
        axis: &'static str,
    },
    /// No support and no load.
    #[error("nothing is prescribed: no displacement and no force")]
    Nothing,
}

/// A load case as the solver takes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Prescribed displacements, by node and direction.
    pub fixed: Vec<FixedDof>,
    /// Forces, by node and direction, those on prescribed degrees of freedom too.
    pub forces: Vec<NodalForce>,
    /// Degrees of freedom held against rigid motion, ascending; they are among `fixed`.
    pub held: Vec<(u32, u8)>,
}

impl Conditions {
    /// Forces on degrees of freedom that are not prescribed.
    pub fn free_forces(&self) -> Vec<NodalForce> {
        let is_fixed = |force: &NodalForce| {
            self.fixed
                .binary_search_by_key(&(force.node, force.direction), |fixed| (fixed.node, fixed.direction))
                .is_ok()
        };
        self.forces.iter().copied().filter(|force| !is_fixed(force)).collect()
    }
}

/// The number that a condition is multiplied with; angles in radians.
pub fn magnitude(magnitudes: &[Magnitude], index: Option<u32>) -> f64 {
    match index.and_then(|index| magnitudes.get(index as usize)) {
        Some(Magnitude { kind: MagnitudeKind::Angle, value, .. }) => value.to_radians(),
        Some(magnitude) => magnitude.value,
        None => 1.0,
    }
}

/// Position of a node.
pub fn coordinates(mesh: &VoxelMeshView<'_>, node: u32) -> [f64; 3] {
    let at = mesh.bricks.node_position(node);
    [0, 1, 2].map(|axis| mesh.origin[axis] + mesh.spacing * f64::from(at[axis]))
}

/// Works out a case, and checks that everything is supported.
///
/// # Errors
/// [`ConditionError`].
pub fn conditions(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    bodies: &Bodies,
) -> Result<Conditions, ConditionError> {
    let mut fixed: Vec<FixedDof> = Vec::new();
    for field in &case.displacements {
        let nodes = mesh.bricks.region_nodes(&field.region, mesh.element_class);
        if nodes.is_empty() {
            return Err(ConditionError::Empty { name: field.name.clone() });
        }
        let m = magnitude(&setup.magnitudes, field.magnitude);
        for node in nodes {
            let x = coordinates(mesh, node);
            for direction in (0..3_u8).filter(|&d| field.components[usize::from(d)]) {
                let row = usize::from(direction);
                let linear: f64 = (0..3).map(|k| field.gradient[3 * row + k] * (x[k] - field.centre[k])).sum();
                fixed.push(FixedDof { node, direction, value: m * (field.constant[row] + linear) });
            }
        }
    }
    for table in &case.displacement_tables {
        let m = magnitude(&setup.magnitudes, table.magnitude);
        let entries = table.nodes.iter().zip(&table.directions).zip(&table.values);
        fixed.extend(entries.map(|((&node, &direction), value)| FixedDof { node, direction, value: m * value }));
    }
    // Stable, so that of several values the last one given stands last.
    fixed.sort_by_key(|fixed| (fixed.node, fixed.direction));
    fixed.reverse();
    fixed.dedup_by_key(|fixed| (fixed.node, fixed.direction));
    fixed.reverse();

    let mut forces = forces(mesh, setup, case)?;
    if fixed.is_empty() && forces.is_empty() {
        return Err(ConditionError::Nothing);
    }
    if case.balanced {
        balance(mesh, case, &mut forces)?;
    }
    let mut held = Vec::new();
    if case.hold_rigid_motion {
        held = bodies.hold(&mesh.bricks, &fixed);
        fixed.extend(held.iter().map(|&(node, direction)| FixedDof { node, direction, value: 0.0 }));
        fixed.sort_by_key(|fixed| (fixed.node, fixed.direction));
    }
    bodies.check(&mesh.bricks, &fixed)?;
    Ok(Conditions { fixed, forces: forces.into_iter().map(|(force, _)| force).collect(), held })
}

/// Forces by degree of freedom, each with the area that carries it.
fn forces(
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
    let mut quarters: Vec<u32> = Vec::new();
    let mut table = BrickNodes::default();
    let bricks = &mesh.bricks;
    let away = reach(&force.region, axis);
    for brick in 0..bricks.n_bricks() {
        let corner = bricks.corner(brick);
        if away.is_some_and(|[low, high]| corner[axis] > high || corner[axis] + 8 < low) {
            continue;
        }
        for_brick(bricks, brick, &mut table, |element| {
            let face: Vec<u32> = (0..8).filter(|c| (c >> axis & 1 == 1) == upper).map(|c| element.nodes[c]).collect();
            if face.iter().any(|node| nodes.binary_search(node).is_err()) {
                return;
            }
            let mut beyond = element.position;
            let outside = match (upper, beyond[axis]) {
                (true, _) => {
                    beyond[axis] += 1;
                    bricks.element(beyond).is_none()
                }
                (false, 0) => true,
                (false, _) => {
                    beyond[axis] -= 1;
                    bricks.element(beyond).is_none()
                }
            };
            if outside {
                quarters.extend(face);
            }
        });
    }
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

/// Indices along an axis that a region can reach.
fn reach(region: &NodeRegion, axis: usize) -> Option<[u32; 2]> {
    match region {
        NodeRegion::Box { low, high } => Some([low[axis], high[axis]]),
        _ => None,
    }
}

/// Takes resultant force and moment away: f −= area (a + b × x), the smallest such change.
fn balance(mesh: &VoxelMeshView<'_>, case: &LoadCase, forces: &mut [(NodalForce, f64)]) -> Result<(), ConditionError> {
    // Rows of rigid motion: direction d at x moves with translation d and rotation r by (e_r × x)_d.
    let scale = 1.0 / (mesh.spacing * f64::from(mesh.size.into_iter().max().unwrap_or(1).max(1)));
    let row = |node: u32, direction: u8| {
        let x = coordinates(mesh, node);
        super::support::rigid_row([0, 1, 2].map(|k| (x[k] - mesh.origin[k]) * scale), usize::from(direction))
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
        super::dense::solve(normal, resultant).ok_or_else(|| ConditionError::Unbalanced { case: case.name.clone() })?;
    for (force, area) in forces {
        let row = row(force.node, force.direction);
        force.value -= *area * (0..6).map(|i| row[i] * correction[i]).sum::<f64>();
    }
    Ok(())
}

//! From the load cases of a setup to values of degrees of freedom.

use pogo_formats::voxel::setup::{LoadCase, Magnitude, MagnitudeKind};
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::{FixedDof, NodalForce};

use super::forces::{balance, forces};
use super::periodic::Periodic;
use super::support::{Bodies, LooseParts};

/// A load case that cannot be solved.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(super) enum ConditionError {
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
pub(super) struct Conditions {
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
pub(super) fn magnitude(magnitudes: &[Magnitude], index: Option<u32>) -> f64 {
    match index.and_then(|index| magnitudes.get(index as usize)) {
        Some(Magnitude { kind: MagnitudeKind::Angle, value, .. }) => value.to_radians(),
        Some(magnitude) => magnitude.value,
        None => 1.0,
    }
}

/// Position of a node.
pub(super) fn coordinates(mesh: &VoxelMeshView<'_>, node: u32) -> [f64; 3] {
    let at = mesh.bricks.node_position(node);
    [0, 1, 2].map(|axis| mesh.origin[axis] + mesh.spacing * f64::from(at[axis]))
}

/// A load case that is ready to be solved.
pub(super) struct Prepared {
    pub conditions: Conditions,
    /// Forces on degrees of freedom that are not prescribed.
    pub free_forces: Vec<NodalForce>,
}

/// Works out all cases. In a periodic model outer forces act on the nodes that are joined.
pub(super) fn prepare(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    periodic: Option<&Periodic>,
    bodies: &Bodies,
) -> Result<Vec<Prepared>, ConditionError> {
    let of = |case: &LoadCase| match periodic {
        Some(periodic) => Ok(Prepared { conditions: periodic.surface(), free_forces: Vec::new() }),
        None => conditions(mesh, setup, case, bodies).map(|conditions| {
            let free_forces = conditions.free_forces();
            Prepared { conditions, free_forces }
        }),
    };
    setup.cases.iter().map(of).collect()
}

/// Works out a case, and checks that everything is supported.
pub(super) fn conditions(
    mesh: &VoxelMeshView<'_>,
    setup: &VoxelSetup,
    case: &LoadCase,
    bodies: &Bodies,
) -> Result<Conditions, ConditionError> {
    let mut fixed = prescribed(mesh, setup, case)?;
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

/// Prescribed displacements, by node and direction; of several on one degree of freedom the last wins.
fn prescribed(mesh: &VoxelMeshView<'_>, setup: &VoxelSetup, case: &LoadCase) -> Result<Vec<FixedDof>, ConditionError> {
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
    Ok(fixed)
}

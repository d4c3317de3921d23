//! From the load cases of a setup to values of degrees of freedom.

use pogo_formats::voxel::setup::LoadCase;
use pogo_formats::voxel::{VoxelMeshView, VoxelSetup};
use pogo_kernels::voxel::{FixedDof, NodalForce};

use super::case::{ConditionError, Conditions, coordinates, magnitude};
use super::forces::{balance, forces};
use super::periodic::Periodic;
use super::support::Bodies;

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

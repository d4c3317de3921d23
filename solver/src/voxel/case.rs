//! What a load case comes to: values of degrees of freedom, or why there are none.

use pogo_formats::voxel::VoxelMeshView;
use pogo_formats::voxel::setup::{Magnitude, MagnitudeKind};
use pogo_kernels::voxel::{FixedDof, NodalForce};

use super::support::LooseParts;

/// A load case that cannot be solved.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(super) enum ConditionError {
    #[error("`{name}`: there is no node of a solid voxel; its place was made for another image, block the model again")]
    Empty { name: String },
    #[error("`{name}`: no solid voxel has a free face there to share a force over")]
    NoFace { name: String },
    #[error("{0}")]
    Loose(#[from] LooseParts),
    #[error("case `{case}`: the loaded faces do not allow a balanced load (too few solid voxels on them)")]
    Unbalanced { case: String },
    #[error(
        "periodic boundary conditions: no node on {axis}min has a partner on {axis}max; crop the image to a piece that \
         repeats, or use boundary = \"kinematic\" or \"static\""
    )]
    NotPeriodic { axis: &'static str },
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

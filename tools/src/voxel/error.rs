//! What can be wrong with a voxel model.

use pogo_formats::voxel::build::BricksError;

/// Why a voxel model has no tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VoxelError {
    #[error("no voxel is solid: all grey values map to void; look at the law and the limits in the job's [material]")]
    Empty,
    #[error("{found} voxels along {axis}: at most {limit} are possible; crop or downsample")]
    TooLong { axis: char, found: usize, limit: usize },
    #[error(transparent)]
    Bricks(#[from] BricksError),
    #[error("the image is inconsistent: {0}")]
    Inconsistent(String),
    #[error("no perfect hash of {keys} nodes was found; choose --grid offset or brick")]
    Hash { keys: usize },
    #[error("--domains {domains}: the model has only {bricks} bricks of 8 × 8 × 8 voxels to cut; at most that many")]
    Domains { domains: usize, bricks: usize },
    #[error("METIS cannot cut the bricks into domains: {0}; choose --domain-partition morton")]
    Metis(String),
}

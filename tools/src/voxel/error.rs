//! What can be wrong with a voxel model.

use pogo_formats::voxel::build::BricksError;

/// Why a voxel model has no tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VoxelError {
    /// All voxels are void.
    #[error("no voxel is solid: all grey values map to void; look at the law and the limits in the job's [material]")]
    Empty,
    /// More voxels along an axis than Morton codes reach.
    #[error("{found} voxels along {axis}: at most {limit} are possible; crop or downsample")]
    TooLong {
        /// `x`, `y` or `z`.
        axis: char,
        /// Number of voxels.
        found: usize,
        /// Most voxels.
        limit: usize,
    },
    /// More nodes than can be numbered, or not enough memory.
    #[error(transparent)]
    Bricks(#[from] BricksError),
    /// The image's arrays do not fit together.
    #[error("the image is inconsistent: {0}")]
    Inconsistent(String),
    /// No perfect hash was found.
    #[error("no perfect hash of {keys} nodes was found; choose --grid offset or brick")]
    Hash {
        /// Number of keys of the table that failed.
        keys: usize,
    },
    /// More domains than bricks with elements.
    #[error("--domains {domains}: the model has only {bricks} bricks of 8 × 8 × 8 voxels to cut; at most that many")]
    Domains {
        /// Requested number.
        domains: usize,
        /// Bricks with elements.
        bricks: usize,
    },
    /// METIS failed.
    #[error("METIS cannot cut the bricks into domains: {0}; choose --domain-partition morton")]
    Metis(String),
}

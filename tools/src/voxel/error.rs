//! What can be wrong with a voxel model.

/// Why a voxel model has no tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VoxelError {
    /// Nothing but void.
    #[error("no voxel is solid: all grey values map to void; look at the law and the limits in the job's [material]")]
    Empty,
    /// More voxels along an axis than Morton codes reach.
    #[error("{found} voxels along {axis}: at most {limit} are possible; crop or downsample")]
    TooLong {
        /// `x`, `y` or `z`.
        axis: char,
        /// Voxels.
        found: usize,
        /// Most voxels.
        limit: usize,
    },
    /// More nodes than 32 bits number.
    #[error("{found} nodes: at most {limit} are possible; crop or downsample")]
    TooMany {
        /// Nodes.
        found: u64,
        /// Most nodes.
        limit: u64,
    },
    /// The image's arrays do not fit together.
    #[error("the image is inconsistent: {0}")]
    Inconsistent(String),
    /// The system gives no more memory.
    #[error("{bytes} bytes of memory are needed for {what} and the system has not got them")]
    Memory {
        /// Which table.
        what: &'static str,
        /// Its length.
        bytes: usize,
    },
    /// No perfect hash was found.
    #[error("no perfect hash of {keys} nodes was found; choose --grid offset or brick")]
    Hash {
        /// Number of keys of the table that failed.
        keys: usize,
    },
    /// More domains than bricks with elements.
    #[error("--domains {domains}: the model has only {bricks} bricks of 8 × 8 × 8 voxels to cut; at most that many")]
    Domains {
        /// Asked for.
        domains: usize,
        /// Bricks with elements.
        bricks: usize,
    },
    /// METIS failed.
    #[error("METIS cannot cut the bricks into domains: {0}; choose --domain-partition morton")]
    Metis(String),
}

/// A vector with room for `n` entries.
pub(super) fn reserve<T>(what: &'static str, n: usize) -> Result<Vec<T>, VoxelError> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(n).map_err(|_| VoxelError::Memory { what, bytes: n.saturating_mul(size_of::<T>()) })?;
    Ok(vector)
}

/// A vector of `n` equal entries.
pub(super) fn filled<T: Clone>(what: &'static str, n: usize, value: T) -> Result<Vec<T>, VoxelError> {
    let mut vector = reserve(what, n)?;
    vector.resize(n, value);
    Ok(vector)
}

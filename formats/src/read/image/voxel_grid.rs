//! A voxel image whose grey values have become moduli.

/// A dense image of moduli, as the readers and material laws give it to the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelGrid {
    /// Voxels along x, y and z.
    pub size: [usize; 3],
    /// Edge of a voxel, in the job's unit of length.
    pub spacing: f64,
    /// Position of the lowest corner of voxel (0, 0, 0), the same unit.
    pub origin: [f64; 3],
    /// Young's moduli, x fastest, then y, then z.
    pub moduli: VoxelModuli,
}

/// Young's modulus of each voxel.
#[derive(Debug, Clone, PartialEq)]
pub enum VoxelModuli {
    /// Up to 255 classes.
    Classes {
        /// Class of each voxel; 0 is void.
        class: Vec<u8>,
        /// Name and modulus of classes 1, 2, …
        materials: Vec<(String, f64)>,
    },
    /// A modulus a voxel; 0 is void.
    Each(Vec<f32>),
}

impl VoxelGrid {
    /// Number of voxels, void or not.
    pub fn n_voxels(&self) -> usize {
        self.size.iter().product()
    }

    /// Whether voxel `index` (x fastest) is solid.
    pub fn is_solid(&self, index: usize) -> bool {
        match &self.moduli {
            VoxelModuli::Classes { class, .. } => class[index] != 0,
            VoxelModuli::Each(modulus) => modulus[index] != 0.0,
        }
    }
}

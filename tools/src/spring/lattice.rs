//! From voxels to a lattice, with a particle in the middle of each voxel.

use pogo_formats::mesh::NamedSet;
use pogo_formats::spring::SpringMesh;
use pogo_formats::spring::build::{BuildError, Lattice, lattice};
use pogo_formats::spring::job::SpringJob;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{VoxelGrid, VoxelModuli};

/// Particles at the centres of the voxels that the job's materials keep; one set for each material, by its name. Classes of
/// the grid are those of [`SpringJob::voxel_law`].
///
/// # Errors
/// No particle, too many, or no memory.
pub fn mesh_of_voxels(grid: &VoxelGrid, job: &SpringJob, block_size: usize) -> Result<SpringMesh, BuildError> {
    let VoxelModuli::Classes { class, materials } = &grid.moduli else { return Err(BuildError::Empty) };
    // A class is named by the index of its material.
    let material_of_class: Vec<u8> = std::iter::once(0)
        .chain(materials.iter().map(|(name, _)| {
            let index = name.split(' ').next().and_then(|index| index.parse::<u8>().ok());
            index.map_or(0, |index| index + 1)
        }))
        .collect();
    let mut material = Vec::new();
    material.try_reserve_exact(class.len())?;
    material.par_extend(class.par_iter().map(|&class| material_of_class[usize::from(class)]));
    let has_springs: Vec<[bool; 3]> = job.materials.iter().map(|item| item.value.has_springs()).collect();
    let h = grid.spacing;
    let mut mesh = lattice(&Lattice {
        size: grid.size,
        spacing: [h; 3],
        origin: grid.origin.map(|x| x + 0.5 * h),
        material: &material,
        has_springs: &has_springs,
        volume: h * h * h,
        block_size,
    })?;
    for (index, item) in job.materials.iter().enumerate() {
        let is_of = |particle: &u32| usize::from(mesh.material[*particle as usize]) == index;
        let members: Vec<u32> = (0..mesh.material.len() as u32).into_par_iter().filter(is_of).collect();
        mesh.sets.push(NamedSet { name: item.value.name.clone(), members });
    }
    Ok(mesh)
}

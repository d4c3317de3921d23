//! The four kinds of physics, and which of them a block file holds.

use std::path::Path;

use crate::block::{BlockError, Container, Provenance};
use crate::eikonal::block::EikonalBlockFile;
use crate::explicit::block::BlockFile;
use crate::spring::block::SpringBlockFile;
use crate::voxel::block::VoxelBlockFile;

/// An open block file of any kind.
#[derive(Debug)]
pub enum AnyBlockFile {
    /// Explicit elastodynamics on a mesh.
    Explicit(Box<BlockFile>),
    /// Statics on voxels.
    Static(Box<VoxelBlockFile>),
    /// A mass-spring-damper model.
    Spring(Box<SpringBlockFile>),
    /// Arrival times on a mesh.
    Eikonal(Box<EikonalBlockFile>),
}

/// Maps and checks a file, whatever kind of problem it holds.
///
/// # Errors
/// As [`BlockFile::open`] and [`VoxelBlockFile::open`]; also a kind of problem that this program does not know.
pub fn open(path: &Path) -> Result<AnyBlockFile, BlockError> {
    let file = Container::open(path)?;
    match file.provenance().physics.as_str() {
        Provenance::STATIC => VoxelBlockFile::from_mapped(file).map(|file| AnyBlockFile::Static(Box::new(file))),
        Provenance::SPRING => SpringBlockFile::from_mapped(file).map(|file| AnyBlockFile::Spring(Box::new(file))),
        Provenance::EIKONAL => EikonalBlockFile::from_mapped(file).map(|file| AnyBlockFile::Eikonal(Box::new(file))),
        _ => BlockFile::from_mapped(file).map(|file| AnyBlockFile::Explicit(Box::new(file))),
    }
}

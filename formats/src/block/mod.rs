//! The block file: what `pogo-block` writes and `pogo-solve` maps.
//!
//! Only this module knows the layout on disk. Everybody else sees [`MeshView`] and [`BlocksView`], plain slices that
//! borrow either from the map or from the owned [`Mesh`](crate::model::Mesh) and [`Blocks`].
//!
//! A file is a header with a table of named sections, then the sections, each an rkyv archive at a multiple of 64 bytes:
//! of an explicit problem `provenance`, `setup`, `mesh`, `blocks`, `device`, of a static one `provenance`, `setup`, `mesh`,
//! `levels`, `domains`, of an Eikonal one `provenance`, `setup`, `mesh`, `domains`, of a mass-spring-damper model `provenance`,
//! `setup`, `mesh`. [`write`], [`write_eikonal`], [`write_springs`] and [`write_voxels`] stream them to disk and rename the
//! finished file into place; [`open`] maps a file of any kind, checks everything that can be checked without reading floats' meaning, and hands
//! out slices of the map itself.

use std::path::Path;

mod cast;
mod check;
mod container;
pub mod corner;
#[cfg(test)]
mod damage;
mod eikonal;
mod error;
mod fan;
mod file;
pub mod grid;
mod mapped;
mod provenance;
pub mod ring;
mod spring;
mod tables;
#[cfg(test)]
mod tests;
mod view;
mod voxel;
mod write;

pub use container::SectionInfo;
pub use eikonal::{EikonalBlockFile, EikonalContents, write_eikonal};
pub use error::BlockError;
pub use fan::{FanRecord, triangle_material};
pub use file::BlockFile;
pub use mapped::Container;
pub use provenance::{Provenance, Source};
pub use spring::{SpringBlockFile, SpringContents, write_springs};
pub use tables::{Blocks, DeviceTables, PartitionStatistics};
pub use view::{BlocksView, Colour, DeviceView, GroupView, MeshView, Run};
pub use voxel::{VoxelBlockFile, VoxelContents, write_voxels};
pub use write::{BlockContents, write};

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

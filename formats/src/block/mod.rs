//! The block file: what `pogo-block` writes and `pogo-solve` maps.
//!
//! Only this module knows the layout on disk. Everybody else sees [`MeshView`] and [`BlocksView`], plain slices that
//! borrow either from the map or from the owned [`Mesh`](crate::mesh::Mesh) and [`Blocks`].
//!
//! A file is a header with a table of named sections, then the sections, each an rkyv archive at a multiple of 64 bytes:
//! of an explicit problem `provenance`, `setup`, `mesh`, `blocks`, `device`, of a static one `provenance`, `setup`, `mesh`,
//! `levels`, `domains`, of an Eikonal one `provenance`, `setup`, `mesh`, `domains`, of a mass-spring-damper model `provenance`,
//! `setup`, `mesh`. [`write`], [`write_eikonal`], [`write_springs`] and [`write_voxels`] stream them to disk and rename the
//! finished file into place; [`open`] maps a file of any kind, checks everything that can be checked without reading floats' meaning, and hands
//! out slices of the map itself.

pub(crate) mod cast;
pub(crate) mod check;
pub(crate) mod container;
#[cfg(test)]
pub(crate) mod damage;
mod error;
pub(crate) mod mapped;
mod provenance;

pub use container::SectionInfo;
pub use error::BlockError;
pub use mapped::Container;
pub use provenance::{Provenance, Source};

//! The block file: what `pogo-block` writes and `pogo-solve` maps.
//!
//! Only this module knows the layout on disk. Everybody else sees [`MeshView`] and [`BlocksView`], plain slices that
//! borrow either from the map or from the owned [`Mesh`](crate::model::Mesh) and [`Blocks`].
//!
//! A file is a header with a table of named sections, then the sections, each an rkyv archive at a multiple of 64 bytes:
//! `provenance`, `setup`, `mesh`, `blocks`, `device`. [`write`] streams them to disk and renames the finished file into place;
//! [`BlockFile::open`] maps it, checks everything that can be checked without reading floats' meaning, and hands out
//! slices of the map itself.

mod cast;
mod check;
mod container;
mod error;
mod fan;
mod file;
mod provenance;
mod tables;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use container::SectionInfo;
pub use error::BlockError;
pub use fan::{FanRecord, triangle_material};
pub use file::BlockFile;
pub use provenance::{Provenance, Source};
pub use tables::{Blocks, DeviceTables, PartitionStatistics};
pub use view::{BlocksView, Colour, DeviceView, GroupView, MeshView, Run};
pub use write::{BlockContents, write};

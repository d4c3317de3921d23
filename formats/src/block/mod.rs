//! The block file: what `pogo-block` writes and `pogo-solve` maps.
//!
//! Only this module knows the layout on disk: a header with a table of named sections, then the sections, each an rkyv
//! archive at a multiple of 64 bytes. `provenance` and `setup` come first; the tables that follow are those of the
//! physics ([`Sections`]). Everybody else sees views: plain slices that borrow either from the map or from a value in
//! memory.

pub(crate) mod cast;
pub(crate) mod check;
mod checksum;
pub(crate) mod container;
#[cfg(test)]
pub(crate) mod damage;
mod error;
pub(crate) mod mapped;
mod older;
mod provenance;
mod section;
mod table;

pub use container::SectionInfo;
#[doc(hidden)]
pub use container::repair;
pub use error::BlockError;
pub use mapped::Container;
pub use older::Recipe;
pub use provenance::{Provenance, Source};
pub(crate) use section::sections;
pub use section::{Sections, Stored};
pub use table::{Counts, Record, Table, Vector};
pub(crate) use table::{tables, view_type};

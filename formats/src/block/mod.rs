//! The block file: what `pogo-block` writes and `pogo-solve` maps.
//!
//! Only this module knows the layout on disk. Everybody else sees [`MeshView`] and [`BlocksView`], plain slices that
//! borrow either from the map or from the owned [`Mesh`](crate::model::Mesh) and [`Blocks`].

mod tables;
mod view;

pub use tables::{Blocks, PartitionStatistics};
pub use view::{BlocksView, GroupView, MeshView, Run};

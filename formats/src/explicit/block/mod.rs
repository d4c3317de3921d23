//! The block file of explicit dynamics: sections `provenance`, `setup`, `mesh`, `blocks` and `device`.

mod check;
pub mod corner;
mod fan;
mod file;
pub mod grid;
pub mod ring;
mod tables;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use fan::{FanRecord, triangle_material};
pub use file::BlockFile;
pub use tables::{Blocks, DeviceTables, PartitionStatistics};
pub use view::{BlocksView, Colour, DeviceView, Run};
pub use write::{BlockContents, write};

//! Writing a block file.

use std::path::Path;

use super::{Blocks, DeviceTables, check};
use crate::block::container::write_file;
use crate::block::{BlockError, Provenance};
use crate::explicit::Setup;
use crate::mesh::Mesh;

/// What goes into a block file of the explicit solver.
#[derive(Debug, Clone, Copy)]
pub struct BlockContents<'a> {
    /// Mesh in solver order.
    pub mesh: &'a Mesh,
    /// Partition and tables.
    pub blocks: &'a Blocks,
    /// Tables for devices with many threads.
    pub device: &'a DeviceTables,
    /// Materials, loads, outputs, settings.
    pub setup: &'a Setup,
    /// Where it all came from.
    pub provenance: &'a Provenance,
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// Tables go from memory to disk without a copy. The file is written beside `path`, made durable and renamed: `path` is
/// at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`BlockFile::open`](super::BlockFile::open) would refuse), or the system
/// refuses to write; then `path` is untouched and nothing is left beside it.
pub fn write(path: &Path, contents: &BlockContents) -> Result<u64, BlockError> {
    let BlockContents { mesh, blocks, device, setup, provenance } = *contents;
    let checked = check::all(&mesh.view(), &blocks.view(), &device.view(), setup);
    write_file(path, checked, 5, |writer| {
        writer.section("provenance", provenance)?;
        writer.section("setup", setup)?;
        writer.section("mesh", mesh)?;
        writer.section("blocks", blocks)?;
        writer.section("device", device)
    })
}

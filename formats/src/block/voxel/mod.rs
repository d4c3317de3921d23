//! Block files of static voxel problems.

mod check;
#[cfg(test)]
mod tests;

use std::path::Path;

use rkyv::Archived;

use super::{
    BlockError, Provenance, SectionInfo,
    cast::native,
    container::ContainerWriter,
    mapped::{Mapped, Valid},
};
use crate::output::write_atomically;
use crate::voxel::{Bricks, BricksView, VoxelMesh, VoxelMeshView, VoxelSetup};

/// What goes into a block file of a static voxel problem.
#[derive(Debug, Clone, Copy)]
pub struct VoxelContents<'a> {
    /// Elements and nodes.
    pub mesh: &'a VoxelMesh,
    /// Materials, load cases, settings.
    pub setup: &'a VoxelSetup,
    /// Where it all came from.
    pub provenance: &'a Provenance,
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// As with [`write`](super::write), `path` is at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`VoxelBlockFile::open`] would refuse), or the system refuses to write;
/// then `path` is untouched and nothing is left beside it.
pub fn write_voxels(path: &Path, contents: &VoxelContents) -> Result<u64, BlockError> {
    let VoxelContents { mesh, setup, provenance } = *contents;
    check::all(&mesh.view(), setup).map_err(|reason| BlockError::Inconsistent {
        path: path.to_owned(),
        reason: format!("not written: {reason}"),
    })?;
    let mut bytes = 0;
    let written = write_atomically(path, |out| {
        let mut writer = ContainerWriter::new(out, 3)?;
        writer.section("provenance", provenance)?;
        writer.section("setup", setup)?;
        writer.section("mesh", mesh)?;
        bytes = writer.finish()?;
        Ok(())
    });
    written.map(|()| bytes).map_err(|error| BlockError::Write(error.into()))
}

/// An open block file of a static voxel problem: mapped read-only, checked, used in place.
///
/// The guarantees are those of [`BlockFile`](super::BlockFile): after [`open`](Self::open) no view panics or reads outside
/// the file, whatever the bytes; a flipped bit in a modulus passes, and [`verify`](Self::verify) finds it. The file must
/// not be changed in place while it is open.
#[derive(Debug)]
pub struct VoxelBlockFile {
    file: Mapped,
    mesh: Valid<VoxelMesh>,
    setup: VoxelSetup,
}

impl VoxelBlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// As [`BlockFile::open`](super::BlockFile::open).
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_mapped(Mapped::open(path)?)
    }

    pub(super) fn from_mapped(file: Mapped) -> Result<Self, BlockError> {
        file.expect_physics(Provenance::STATIC)?;
        let setup = file.read::<VoxelSetup>("setup")?;
        let mesh = file.validate("mesh")?;
        let file = Self { file, mesh, setup };
        check::all(&file.mesh(), &file.setup).map_err(|reason| file.file.inconsistent(reason))?;
        Ok(file)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Length of the file, bytes.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Sections, in file order.
    pub fn sections(&self) -> &[SectionInfo] {
        &self.file.sections
    }

    /// Where the file came from.
    pub fn provenance(&self) -> &Provenance {
        &self.file.provenance
    }

    /// Materials, load cases and settings: a copy, to change by name.
    pub fn setup(&self) -> VoxelSetup {
        self.setup.clone()
    }

    /// Elements and nodes, in place.
    pub fn mesh(&self) -> VoxelMeshView<'_> {
        let mesh = self.file.get(&self.mesh);
        VoxelMeshView {
            size: mesh.size.map(|n| n.to_native()),
            spacing: mesh.spacing.to_native(),
            origin: mesh.origin.map(|x| x.to_native()),
            bricks: bricks(&mesh.bricks),
            element_class: &mesh.element_class,
            element_modulus: native(&mesh.element_modulus),
        }
    }

    /// Verifies every checksum: any single flipped bit is found. Reads the file once, at the speed of memory.
    ///
    /// # Errors
    /// The first section whose bytes have changed.
    pub fn verify_checksums(&self) -> Result<(), BlockError> {
        self.file.verify_checksums()
    }

    /// Verifies every checksum, and that all tables say the same: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts another.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.verify_checksums()?;
        check::agreement(&self.mesh()).map_err(|reason| self.file.inconsistent(reason))
    }
}

fn bricks(bricks: &Archived<Bricks>) -> BricksView<'_> {
    BricksView {
        code: native(&bricks.code),
        element_mask: native(&bricks.element_mask),
        node_mask: native(&bricks.node_mask),
        element_first: native(&bricks.element_first),
        node_first: native(&bricks.node_first),
        neighbours: native(&bricks.neighbours),
    }
}

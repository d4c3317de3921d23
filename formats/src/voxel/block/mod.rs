//! Block files of static voxel problems.

mod check;
mod check_tables;
#[cfg(test)]
mod tests;

use std::path::Path;

use rkyv::Archived;

use crate::block::cast::native;
use crate::block::container::write_file;
use crate::block::mapped::{Container, Valid};
use crate::block::{BlockError, Provenance};
use crate::voxel::{
    Bricks, BricksView, Domains, DomainsView, HashLevel, HashView, OffsetLevel, OffsetView, TransferView, VoxelLevels,
    VoxelMesh, VoxelMeshView, VoxelSetup,
};

/// What goes into a block file of a static voxel problem.
#[derive(Debug, Clone, Copy)]
pub struct VoxelContents<'a> {
    /// Elements and nodes.
    pub mesh: &'a VoxelMesh,
    /// Offset tables or hashes of all levels, or neither.
    pub levels: &'a VoxelLevels,
    /// Sub-domains; one if the grid is not cut.
    pub domains: &'a Domains,
    /// Materials, load cases, settings.
    pub setup: &'a VoxelSetup,
    /// Where it all came from.
    pub provenance: &'a Provenance,
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// As with [`write`](crate::explicit::block::write), `path` is at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`VoxelBlockFile::open`] would refuse), or the system refuses to write;
/// then `path` is untouched and nothing is left beside it.
pub fn write_voxels(path: &Path, contents: &VoxelContents) -> Result<u64, BlockError> {
    let VoxelContents { mesh, levels, domains, setup, provenance } = *contents;
    let offset: Vec<OffsetView> = levels.offset.iter().map(OffsetLevel::view).collect();
    let hash: Vec<HashView> = levels.hash.iter().map(HashLevel::view).collect();
    let checked =
        check::all(&mesh.view(), setup).and_then(|()| check_tables::all(&mesh.view(), &offset, &hash, &domains.view()));
    write_file(path, checked, 5, |writer| {
        writer.section("provenance", provenance)?;
        writer.section("setup", setup)?;
        writer.section("mesh", mesh)?;
        writer.section("levels", levels)?;
        writer.section("domains", domains)
    })
}

/// An open block file of a static voxel problem: mapped read-only, checked, used in place.
///
/// The guarantees are those of [`BlockFile`](crate::explicit::block::BlockFile): after [`open`](Self::open) no view panics or reads outside
/// the file, whatever the bytes; a flipped bit in a modulus passes, and [`verify`](Self::verify) finds it. The file must
/// not be changed in place while it is open.
#[derive(Debug)]
pub struct VoxelBlockFile {
    file: Container,
    mesh: Valid<VoxelMesh>,
    levels: Valid<VoxelLevels>,
    domains: Valid<Domains>,
    setup: VoxelSetup,
}

impl VoxelBlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// As [`BlockFile::open`](crate::explicit::block::BlockFile::open).
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_mapped(Container::open(path)?)
    }

    pub(crate) fn from_mapped(file: Container) -> Result<Self, BlockError> {
        file.expect_physics(Provenance::STATIC)?;
        let setup = file.read::<VoxelSetup>("setup")?;
        let (mesh, levels, domains) = (file.validate("mesh")?, file.validate("levels")?, file.validate("domains")?);
        let file = Self { file, mesh, levels, domains, setup };
        let mesh = file.mesh();
        check::all(&mesh, &file.setup)
            .and_then(|()| check_tables::all(&mesh, &file.offset_levels(), &file.hash_levels(), &file.domains()))
            .map_err(|reason| file.file.inconsistent(reason))?;
        Ok(file)
    }

    /// Path, length, sections, provenance and checksums.
    pub fn container(&self) -> &Container {
        &self.file
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

    /// Offset tables of all levels, the finest first, in place; empty unless the file was made with them.
    pub fn offset_levels(&self) -> Vec<OffsetView<'_>> {
        self.file.get(&self.levels).offset.iter().map(offset).collect()
    }

    /// Hashes of all levels, the finest first, in place; empty unless the file was made with them.
    pub fn hash_levels(&self) -> Vec<HashView<'_>> {
        self.file.get(&self.levels).hash.iter().map(hash).collect()
    }

    /// Sub-domains, in place; one if the grid was not cut.
    pub fn domains(&self) -> DomainsView<'_> {
        let domains = self.file.get(&self.domains);
        DomainsView {
            method: domains.method.as_str(),
            brick_first: native(&domains.brick_first),
            bricks: native(&domains.bricks),
            message_first: native(&domains.message_first),
            message_owner: native(&domains.message_owner),
            message_node_first: native(&domains.message_node_first),
            message_nodes: native(&domains.message_nodes),
            sent_first: native(&domains.sent_first),
            sent: native(&domains.sent),
        }
    }

    /// Verifies every checksum, and that all tables say the same: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts another.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.file.verify_checksums()?;
        let mesh = self.mesh();
        check::agreement(&mesh)
            .and_then(|()| check_tables::agreement(&mesh, &self.offset_levels(), &self.hash_levels(), &self.domains()))
            .map_err(|reason| self.file.inconsistent(reason))
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

fn offset(level: &Archived<OffsetLevel>) -> OffsetView<'_> {
    OffsetView {
        size: level.size.map(|n| n.to_native()),
        n_elements: level.n_elements.to_native() as usize,
        n_nodes: level.n_nodes.to_native() as usize,
        kind: native(&level.kind),
        before: native(&level.before),
        short_first: native(&level.short_first),
        short_offset: &level.short_offset,
        medium_first: native(&level.medium_first),
        medium_offset: native(&level.medium_offset),
        long_nodes: native(&level.long_nodes),
        transfer: TransferView {
            element_children: &level.transfer.element_children,
            element_first_child: native(&level.transfer.element_first_child),
            node_children: &level.transfer.node_children,
            node_first_child: native(&level.transfer.node_first_child),
        },
    }
}

fn hash(level: &Archived<HashLevel>) -> HashView<'_> {
    HashView {
        size: level.size.map(|n| n.to_native()),
        node_key: native(&level.node_key),
        upper: native(&level.upper),
        upper_first: native(&level.upper_first),
        element_node: native(&level.element_node),
        slot_first: native(&level.slot_first),
        shift_first: native(&level.shift_first),
        slots: native(&level.slots),
        shifts: native(&level.shifts),
    }
}

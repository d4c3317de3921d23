//! Block files of mass-spring-damper models.

mod check;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::block::cast::native;
use crate::block::container::write_file;
use crate::block::mapped::Valid;
use crate::block::{BlockError, Container, Provenance};
use crate::spring::{SpringGridView, SpringListsView, SpringMesh, SpringMeshView, SpringSetup};

/// What goes into a block file of a mass-spring-damper model.
#[derive(Debug, Clone, Copy)]
pub struct SpringContents<'a> {
    /// Particles and springs.
    pub mesh: &'a SpringMesh,
    /// Masses, stiffnesses, conditions, settings.
    pub setup: &'a SpringSetup,
    /// Where it all came from.
    pub provenance: &'a Provenance,
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// As with [`write`](crate::explicit::block::write), `path` is at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`SpringBlockFile::open`] would refuse), or the system refuses to write; then
/// `path` is untouched and nothing is left beside it.
pub fn write_springs(path: &Path, contents: &SpringContents) -> Result<u64, BlockError> {
    let SpringContents { mesh, setup, provenance } = *contents;
    let few = if mesh.grid.len() > 1 { Err("more than one grid".to_owned()) } else { Ok(()) };
    let checked = few.and_then(|()| check::all(&mesh.view(), setup));
    write_file(path, checked, 3, |writer| {
        writer.section("provenance", provenance)?;
        writer.section("setup", setup)?;
        writer.section("mesh", mesh)
    })
}

/// An open block file of a mass-spring-damper model: mapped read-only, checked, used in place.
///
/// The guarantees are those of [`BlockFile`](crate::explicit::block::BlockFile): after [`open`](Self::open) no view panics or reads outside the
/// file, whatever the bytes; a flipped bit in a position passes, and [`verify`](Self::verify) finds it. The file must not be
/// changed in place while it is open.
#[derive(Debug)]
pub struct SpringBlockFile {
    file: Container,
    mesh: Valid<SpringMesh>,
    setup: SpringSetup,
}

impl SpringBlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// As [`BlockFile::open`](crate::explicit::block::BlockFile::open).
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_mapped(Container::open(path)?)
    }

    pub(crate) fn from_mapped(file: Container) -> Result<Self, BlockError> {
        file.expect_physics(Provenance::SPRING)?;
        let setup = file.read::<SpringSetup>("setup")?;
        let mesh = file.validate("mesh")?;
        let file = Self { file, mesh, setup };
        let few = if file.file.get(&file.mesh).grid.len() > 1 { Err("more than one grid".to_owned()) } else { Ok(()) };
        few.and_then(|()| check::all(&file.mesh(), &file.setup)).map_err(|reason| file.file.inconsistent(reason))?;
        Ok(file)
    }

    /// Path, length, sections, provenance and checksums.
    pub fn container(&self) -> &Container {
        &self.file
    }

    /// Masses, springs, conditions and settings: a copy, to change by name.
    pub fn setup(&self) -> SpringSetup {
        self.setup.clone()
    }

    /// Particles and springs, in place.
    pub fn mesh(&self) -> SpringMeshView<'_> {
        let mesh = self.file.get(&self.mesh);
        let lists = &mesh.lists;
        SpringMeshView {
            coordinates: native(&mesh.coordinates),
            labels: native(&mesh.labels),
            instance: native(&mesh.instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            material: native(&mesh.material),
            volume: native(&mesh.volume),
            sets: mesh.sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect(),
            grid: mesh.grid.first().map(|grid| SpringGridView {
                size: grid.size.map(|n| n.to_native()),
                spacing: grid.spacing.map(|h| h.to_native()),
                origin: grid.origin.map(|x| x.to_native()),
                mask: native(&grid.mask),
                place: native(&grid.place),
            }),
            lists: SpringListsView {
                block_size: lists.block_size.to_native() as usize,
                first: native(&lists.first),
                neighbour: native(&lists.neighbour),
                group: native(&lists.group),
                count: native(&lists.count),
                mask: native(&lists.mask),
                halo_first: native(&lists.halo_first),
                halo: native(&lists.halo),
            },
        }
    }

    /// Verifies every checksum, and that all tables say the same: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts another.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.file.verify_checksums()?;
        check::agreement(&self.mesh()).map_err(|reason| self.file.inconsistent(reason))
    }
}

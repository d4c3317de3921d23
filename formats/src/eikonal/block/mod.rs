//! Block files of Eikonal problems: sections `provenance`, `setup`, `mesh`, `domains`.

mod check;
#[cfg(test)]
mod tests;

use std::path::Path;

use rkyv::Archived;

use crate::block::cast::native;
use crate::block::container::write_file;
use crate::block::mapped::{Container, Valid};
use crate::block::{BlockError, Provenance};
use crate::eikonal::{EikonalDomains, EikonalDomainsView, EikonalMesh, EikonalMeshView, EikonalSetup};
use crate::mesh::NamedSet;

/// What goes into a block file of an Eikonal problem.
#[derive(Debug, Clone, Copy)]
pub struct EikonalContents<'a> {
    /// Nodes and elements in solver order.
    pub mesh: &'a EikonalMesh,
    /// Sub-domains; one if the mesh is not cut.
    pub domains: &'a EikonalDomains,
    /// Velocities, starts, settings.
    pub setup: &'a EikonalSetup,
    /// Where it all came from.
    pub provenance: &'a Provenance,
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// As with [`write`](crate::explicit::block::write), `path` is at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`EikonalBlockFile::open`] would refuse), or the system refuses to write;
/// then `path` is untouched and nothing is left beside it.
pub fn write_eikonal(path: &Path, contents: &EikonalContents) -> Result<u64, BlockError> {
    let EikonalContents { mesh, domains, setup, provenance } = *contents;
    let checked = check::all(&mesh.view(), &domains.view(), setup);
    write_file(path, checked, 4, |writer| {
        writer.section("provenance", provenance)?;
        writer.section("setup", setup)?;
        writer.section("mesh", mesh)?;
        writer.section("domains", domains)
    })
}

/// An open block file of an Eikonal problem: mapped read-only, checked, used in place.
///
/// The guarantees are those of [`BlockFile`](crate::explicit::block::BlockFile): after [`open`](Self::open) no view panics or reads outside
/// the file, whatever the bytes; a flipped bit in a direction passes, and [`verify`](Self::verify) finds it. The file must
/// not be changed in place while it is open.
#[derive(Debug)]
pub struct EikonalBlockFile {
    file: Container,
    mesh: Valid<EikonalMesh>,
    domains: Valid<EikonalDomains>,
    setup: EikonalSetup,
}

impl EikonalBlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// As [`BlockFile::open`](crate::explicit::block::BlockFile::open).
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_mapped(Container::open(path)?)
    }

    pub(crate) fn from_mapped(file: Container) -> Result<Self, BlockError> {
        file.expect_physics(Provenance::EIKONAL)?;
        let setup = file.read::<EikonalSetup>("setup")?;
        let (mesh, domains) = (file.validate("mesh")?, file.validate("domains")?);
        let file = Self { file, mesh, domains, setup };
        check::all(&file.mesh(), &file.domains(), &file.setup).map_err(|reason| file.file.inconsistent(reason))?;
        Ok(file)
    }

    /// Path, length, sections, provenance and checksums.
    pub fn container(&self) -> &Container {
        &self.file
    }

    /// Velocities, starts, settings and outputs: a copy, to change by name.
    pub fn setup(&self) -> EikonalSetup {
        self.setup.clone()
    }

    /// Nodes and elements, in place.
    pub fn mesh(&self) -> EikonalMeshView<'_> {
        let mesh = self.file.get(&self.mesh);
        fn sets(sets: &Archived<Vec<NamedSet>>) -> Vec<(&str, &[u32])> {
            sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect()
        }
        EikonalMeshView {
            corners: mesh.corners.to_native() as usize,
            plane: mesh.plane,
            coordinates: native(&mesh.coordinates),
            elements: native(&mesh.elements),
            incident_first: native(&mesh.incident_first),
            incident: native(&mesh.incident),
            neighbour_first: native(&mesh.neighbour_first),
            neighbours: native(&mesh.neighbours),
            original_node: native(&mesh.original_node),
            original_element: native(&mesh.original_element),
            node_labels: native(&mesh.node_labels),
            element_labels: native(&mesh.element_labels),
            node_instance: native(&mesh.node_instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            node_sets: sets(&mesh.node_sets),
            element_sets: sets(&mesh.element_sets),
            class: native(&mesh.class),
            fibre: native(&mesh.fibre),
            sheet: native(&mesh.sheet),
            velocities: native(&mesh.velocities),
            tensor: native(&mesh.tensor),
        }
    }

    /// Sub-domains and their interfaces, in place; one if the mesh was not cut.
    pub fn domains(&self) -> EikonalDomainsView<'_> {
        let domains = self.file.get(&self.domains);
        EikonalDomainsView {
            method: domains.method.as_str(),
            node_first: native(&domains.node_first),
            halo_first: native(&domains.halo_first),
            halo: native(&domains.halo),
            sent_first: native(&domains.sent_first),
            pair: native(&domains.pair),
            pair_first: native(&domains.pair_first),
            interface: native(&domains.interface),
        }
    }

    /// Verifies every checksum, and that all tables say the same: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts another.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.file.verify_checksums()?;
        check::agreement(&self.mesh(), &self.domains()).map_err(|reason| self.file.inconsistent(reason))
    }
}

//! Reading a block file in place.

use std::path::Path;

use rkyv::Archived;

use super::{Blocks, BlocksView, DeviceTables, DeviceView, PartitionStatistics, check};
use crate::block::cast::native;
use crate::block::mapped::{Container, Valid};
use crate::block::{BlockError, Provenance};
use crate::explicit::Setup;
use crate::mesh::{ElementKind, Mesh, NamedSet};
use crate::mesh::{GroupView, MeshView};

/// An open block file of the explicit solver: mapped read-only, checked, used in place.
///
/// [`open`](Self::open) checks the header, the structure of every section and every index that the solver relies on, so
/// that no view panics or reads outside the file, whatever the bytes. It does not verify the checksums of the sections:
/// a flipped bit in a coordinate or a modulus passes; [`verify`](Self::verify) finds it.
///
/// The file must not be changed in place while it is open (Pogo itself only ever replaces block files by renaming). All
/// pages are read when opening, so that a file that shrinks *before* that is an error; one that another program cuts
/// *afterwards* can still end this process with SIGBUS, which no mapping can prevent.
#[derive(Debug)]
pub struct BlockFile {
    file: Container,
    mesh: Valid<Mesh>,
    blocks: Valid<Blocks>,
    device: Valid<DeviceTables>,
    setup: Setup,
    statistics: PartitionStatistics,
}

impl BlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// Not a regular file, empty, cut, appended to, foreign, of another version, of another kind of physics, or with
    /// damage that shows without checksums.
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_mapped(Container::open(path)?)
    }

    pub(crate) fn from_mapped(file: Container) -> Result<Self, BlockError> {
        file.expect_physics(Provenance::EXPLICIT)?;
        let setup = file.read::<Setup>("setup")?;
        let (mesh, blocks, device) = (file.validate("mesh")?, file.validate("blocks")?, file.validate("device")?);
        let statistics = file.explain("blocks", rkyv::deserialize(&file.get::<Blocks>(&blocks).statistics))?;
        let file = Self { file, mesh, blocks, device, setup, statistics };
        check::all(&file.mesh(), &file.blocks(), &file.device(), &file.setup)
            .map_err(|reason| file.file.inconsistent(reason))?;
        Ok(file)
    }

    /// Path, length, sections, provenance and checksums.
    pub fn container(&self) -> &Container {
        &self.file
    }

    /// Quality of the partition. The time it took is not stored: the same input gives the same file.
    pub fn statistics(&self) -> &PartitionStatistics {
        &self.statistics
    }

    /// Materials, loads, outputs and settings: a copy, to change by name.
    pub fn setup(&self) -> Setup {
        self.setup.clone()
    }

    /// The mesh in solver order, in place.
    pub fn mesh(&self) -> MeshView<'_> {
        let mesh = self.file.get(&self.mesh);
        fn sets(sets: &Archived<Vec<NamedSet>>) -> Vec<(&str, &[u32])> {
            sets.iter().map(|set| (set.name.as_str(), native(&set.members))).collect()
        }
        MeshView {
            dimension: mesh.dimension.to_native() as usize,
            coordinates: native(&mesh.coordinates),
            node_labels: native(&mesh.node_labels),
            node_instance: native(&mesh.node_instance),
            instances: mesh.instances.iter().map(|name| name.as_str()).collect(),
            groups: mesh
                .groups
                .iter()
                .map(|group| GroupView {
                    kind: kind(&group.kind),
                    labels: native(&group.labels),
                    instance: native(&group.instance),
                    section: native(&group.section),
                    connectivity: native(&group.connectivity),
                })
                .collect(),
            node_sets: sets(&mesh.node_sets),
            element_sets: sets(&mesh.element_sets),
        }
    }

    /// The tables of the blocks, in place.
    pub fn blocks(&self) -> BlocksView<'_> {
        let blocks = self.file.get(&self.blocks);
        BlocksView {
            capacity: blocks.capacity.to_native() as usize,
            node_first: native(&blocks.node_first),
            n_boundary: native(&blocks.n_boundary),
            halo_first: native(&blocks.halo_first),
            halo_nodes: native(&blocks.halo_nodes),
            run_first: native(&blocks.run_first),
            run_kind: &blocks.run_kind,
            run_section: native(&blocks.run_section),
            run_element_first: native(&blocks.run_element_first),
            run_connectivity_first: native(&blocks.run_connectivity_first),
            elements: native(&blocks.elements),
            connectivity: native(&blocks.connectivity),
            load_first: native(&blocks.load_first),
            load_size: &blocks.load_size,
            load_start: native(&blocks.load_start),
        }
    }

    /// The tables for devices with many threads, in place.
    pub fn device(&self) -> DeviceView<'_> {
        let device = self.file.get(&self.device);
        DeviceView {
            colour_first: native(&device.colour_first),
            colour_run: native(&device.colour_run),
            colour_element_first: native(&device.colour_element_first),
            colour_connectivity_first: native(&device.colour_connectivity_first),
            coloured_elements: native(&device.coloured_elements),
            coloured_connectivity: native(&device.coloured_connectivity),
            later_first: native(&device.later_first),
            later_nodes: native(&device.later_nodes),
            passed_row: native(&device.passed_row),
            passed_first: native(&device.passed_first),
            grid_size: native(&device.grid_size),
            grid_material: native(&device.grid_material),
            grid_places: native(&device.grid_places),
            material_kind: &device.material_kind,
            material_section: native(&device.material_section),
            fan_material: native(&device.fan_material),
            fan: native(&device.fan),
            fan_materials: native(&device.fan_materials),
            outer_first: native(&device.outer_first),
            outer_nodes: native(&device.outer_nodes),
            halo_fan: native(&device.halo_fan),
            halo_fan_materials: native(&device.halo_fan_materials),
            further_first: native(&device.further_first),
            further_node: native(&device.further_node),
            further_fan: native(&device.further_fan),
            further_materials: native(&device.further_materials),
        }
    }

    /// Verifies every checksum, and that the blocks say the same as the mesh: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts the mesh.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.file.verify_checksums()?;
        check::agreement(&self.mesh(), &self.blocks(), &self.device()).map_err(|reason| self.file.inconsistent(reason))
    }
}

fn kind(archived: &Archived<ElementKind>) -> ElementKind {
    use rkyv::Archived as A;
    match archived {
        A::<ElementKind>::Cpe3 => ElementKind::Cpe3,
        A::<ElementKind>::Cps3 => ElementKind::Cps3,
        A::<ElementKind>::Cpe4 => ElementKind::Cpe4,
        A::<ElementKind>::Cps4 => ElementKind::Cps4,
        A::<ElementKind>::Cpe4r => ElementKind::Cpe4r,
        A::<ElementKind>::Cps4r => ElementKind::Cps4r,
        A::<ElementKind>::C3d4 => ElementKind::C3d4,
        A::<ElementKind>::C3d6 => ElementKind::C3d6,
        A::<ElementKind>::C3d8 => ElementKind::C3d8,
        A::<ElementKind>::C3d8r => ElementKind::C3d8r,
    }
}

//! Reading a block file in place.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use rkyv::{Archived, Portable, api::high::HighValidator, bytecheck::CheckBytes, rancor::BoxedError};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    BlockError, Blocks, BlocksView, DeviceTables, DeviceView, GroupView, MeshView, PartitionStatistics, Provenance,
    SectionInfo, cast::native, check, container,
};
use crate::model::{ElementKind, Mesh, NamedSet, Setup};

/// An open block file: mapped read-only, checked, used in place.
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
    path: PathBuf,
    map: Mmap,
    sections: Vec<SectionInfo>,
    mesh: usize,
    blocks: usize,
    device: usize,
    setup: Setup,
    provenance: Provenance,
    statistics: PartitionStatistics,
}

impl BlockFile {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// Not a regular file, empty, cut, appended to, foreign, of another version, or with damage that shows without
    /// checksums.
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        let (file, length) = container::open_regular(path)?;
        if length == 0 {
            return Err(BlockError::Foreign { path: path.to_owned(), found: "the file is empty".into() });
        }
        // SAFETY: the map is read-only and private to this value; `BlockFile`'s documentation asks that the file is not
        // changed while it is open, and every use is bounds-checked against the length taken here.
        let map = unsafe { Mmap::map(&file) }.map_err(BlockError::io(path, "map"))?;
        populate(path, &map, length)?;
        let sections = container::decode(path, &map)?;

        let find = |name: &'static str| {
            let found = sections.iter().position(|section| section.name == name);
            found.ok_or_else(|| BlockError::Header { path: path.to_owned(), reason: format!("no section `{name}`") })
        };
        let provenance: Provenance = {
            let archived =
                validate::<Archived<Provenance>>(path, "provenance", &map[sections[find("provenance")?].range()])?;
            owned(path, "provenance", rkyv::deserialize::<Provenance, BoxedError>(archived))?
        };
        if provenance.physics != "explicit" {
            return Err(BlockError::Physics { path: path.to_owned(), found: provenance.physics });
        }
        let setup: Setup = {
            let archived = validate::<Archived<Setup>>(path, "setup", &map[sections[find("setup")?].range()])?;
            owned(path, "setup", rkyv::deserialize::<Setup, BoxedError>(archived))?
        };
        let (mesh, blocks, device) = (find("mesh")?, find("blocks")?, find("device")?);
        validate::<Archived<Mesh>>(path, "mesh", &map[sections[mesh].range()])?;
        let archived = validate::<Archived<Blocks>>(path, "blocks", &map[sections[blocks].range()])?;
        validate::<Archived<DeviceTables>>(path, "device", &map[sections[device].range()])?;
        let statistics = owned(path, "blocks", rkyv::deserialize::<_, BoxedError>(&archived.statistics))?;

        let file = Self { path: path.to_owned(), map, sections, mesh, blocks, device, setup, provenance, statistics };
        check::all(&file.mesh(), &file.blocks(), &file.device(), &file.setup)
            .map_err(|reason| file.inconsistent(reason))?;
        Ok(file)
    }

    fn inconsistent(&self, reason: String) -> BlockError {
        BlockError::Inconsistent {
            path: self.path.clone(),
            reason: format!("damaged tables: {reason}; block the model again"),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file, bytes.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Sections, in file order.
    pub fn sections(&self) -> &[SectionInfo] {
        &self.sections
    }

    /// Where the file came from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
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
        // SAFETY: `open` validated this type on these bytes, and the map is never written.
        let mesh = unsafe { rkyv::access_unchecked::<Archived<Mesh>>(&self.map[self.sections[self.mesh].range()]) };
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
        // SAFETY: `open` validated this type on these bytes, and the map is never written.
        let blocks =
            unsafe { rkyv::access_unchecked::<Archived<Blocks>>(&self.map[self.sections[self.blocks].range()]) };
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
        // SAFETY: `open` validated this type on these bytes, and the map is never written.
        let device =
            unsafe { rkyv::access_unchecked::<Archived<DeviceTables>>(&self.map[self.sections[self.device].range()]) };
        DeviceView {
            colour_first: native(&device.colour_first),
            colour_run: native(&device.colour_run),
            colour_element_first: native(&device.colour_element_first),
            colour_connectivity_first: native(&device.colour_connectivity_first),
            coloured_elements: native(&device.coloured_elements),
            coloured_connectivity: native(&device.coloured_connectivity),
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

    /// Verifies every checksum: any single flipped bit is found. Reads the file once, at the speed of memory.
    ///
    /// # Errors
    /// The first section whose bytes have changed.
    pub fn verify_checksums(&self) -> Result<(), BlockError> {
        let found: Vec<u64> = self.sections.par_iter().map(|section| xxh3_64(&self.map[section.range()])).collect();
        for (section, found) in self.sections.iter().zip(found) {
            if found != section.checksum {
                let (path, section, expected) = (self.path.clone(), section.name.clone(), section.checksum);
                return Err(BlockError::Checksum { path, section, expected, found });
            }
        }
        Ok(())
    }

    /// Verifies every checksum, and that the blocks say the same as the mesh: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts the mesh.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.verify_checksums()?;
        check::agreement(&self.mesh(), &self.blocks(), &self.device()).map_err(|reason| self.inconsistent(reason))
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

/// Reads every page now: a file cut since its length was taken is an error here and a SIGBUS later.
fn populate(path: &Path, map: &Mmap, length: u64) -> Result<(), BlockError> {
    #[cfg(target_os = "linux")]
    if let Err(error) = map.advise(memmap2::Advice::PopulateRead) {
        const EFAULT: i32 = 14;
        if error.raw_os_error() == Some(EFAULT) {
            let found = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            return Err(BlockError::Cut { path: path.to_owned(), expected: length, found });
        }
        // Kernels before 5.14 do not know the advice.
    }
    let _ = (path, map, length);
    Ok(())
}

fn validate<'a, T>(path: &Path, section: &'static str, bytes: &'a [u8]) -> Result<&'a T, BlockError>
where
    T: Portable + for<'b> CheckBytes<HighValidator<'b, BoxedError>>,
{
    owned(path, section, rkyv::access::<T, BoxedError>(bytes))
}

fn owned<T>(path: &Path, section: &'static str, result: Result<T, BoxedError>) -> Result<T, BlockError> {
    result.map_err(|error| BlockError::Section {
        path: path.to_owned(),
        section,
        reason: error.to_string().lines().next().unwrap_or_default().to_owned(),
    })
}

//! A block file mapped into memory, whatever its sections hold.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rkyv::{
    Archive, Archived, Deserialize, Portable,
    api::high::{HighDeserializer, HighValidator},
    bytecheck::CheckBytes,
    rancor::BoxedError,
};

use super::{BlockError, Provenance, SectionInfo, checksum, container};
use crate::system::maps::Map;
use crate::system::parallel::iterate::*;

/// What all block files have in common: a mapped file whose header is right and whose provenance could be read.
#[derive(Debug)]
pub struct Container {
    path: PathBuf,
    sections: Vec<SectionInfo>,
    provenance: Provenance,
    map: Map,
    /// A number that no other container of this process has or had.
    identity: u64,
}

/// Containers that this process has opened.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// A section of one container whose bytes are those of an archived `T`. Only [`Container::validate`] makes it.
#[derive(Debug)]
pub struct Valid<T> {
    /// [`Container::identity`] of the container that it was made for.
    container: u64,
    section: usize,
    of: std::marker::PhantomData<fn() -> T>,
}

impl Container {
    /// Maps a file, and checks its header and where it came from.
    ///
    /// # Errors
    /// Not a regular file, empty, cut, appended to, foreign, of another version, or with a damaged header.
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        let (file, length) = container::open_regular(path)?;
        if length == 0 {
            return Err(BlockError::Foreign { path: path.to_owned(), found: "the file is empty".into() });
        }
        let map = Map::new(path, &file).map_err(BlockError::io(path, "map"))?;
        populate(path, &map, length)?;
        let sections = container::decode(path, &map)?;
        let provenance = Provenance::new("", Vec::new(), Vec::new());
        let identity = OPENED.fetch_add(1, Ordering::Relaxed);
        let mut file = Self { path: path.to_owned(), sections, provenance, map, identity };
        file.provenance = file.read::<Provenance>("provenance")?;
        Ok(file)
    }

    pub(crate) fn expect_physics(&self, expected: &'static str) -> Result<(), BlockError> {
        if self.provenance.physics == expected {
            return Ok(());
        }
        Err(BlockError::Physics { path: self.path.clone(), found: self.provenance.physics.clone(), expected })
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

    /// Checks that a section holds a `T`.
    pub(crate) fn validate<T>(&self, name: &'static str) -> Result<Valid<T>, BlockError>
    where
        T: Archive,
        Archived<T>: Portable + for<'b> CheckBytes<HighValidator<'b, BoxedError>>,
    {
        let found = self.sections.iter().position(|section| section.name == name);
        let section = found
            .ok_or_else(|| BlockError::Header { path: self.path.clone(), reason: format!("no section `{name}`") })?;
        let checked = rkyv::access::<Archived<T>, BoxedError>(&self.map[self.sections[section].range()]);
        self.explain(name, checked)?;
        Ok(Valid { container: self.identity, section, of: std::marker::PhantomData })
    }

    /// What a section holds, in place.
    ///
    /// # Panics
    /// The section was validated in another container, which is a mistake in the program.
    pub(crate) fn get<T>(&self, valid: &Valid<T>) -> &Archived<T>
    where
        T: Archive,
        Archived<T>: Portable,
    {
        assert_eq!(valid.container, self.identity, "a section was validated in another block file");
        // SAFETY: only `validate` makes a `Valid`, and the assertion says that it did so for this container. So it checked
        // these bytes as an archived `T`; neither they nor the table of sections have changed since (see `open`).
        unsafe { rkyv::access_unchecked::<Archived<T>>(&self.map[self.sections[valid.section].range()]) }
    }

    /// A copy of what a section holds.
    pub(crate) fn read<T>(&self, name: &'static str) -> Result<T, BlockError>
    where
        T: Archive,
        Archived<T>:
            Portable + for<'b> CheckBytes<HighValidator<'b, BoxedError>> + Deserialize<T, HighDeserializer<BoxedError>>,
    {
        let valid = self.validate::<T>(name)?;
        self.explain(name, rkyv::deserialize::<T, BoxedError>(self.get(&valid)))
    }

    /// Names the section in an error of rkyv.
    pub(crate) fn explain<T>(&self, section: &'static str, result: Result<T, BoxedError>) -> Result<T, BlockError> {
        result.map_err(|error| BlockError::Section {
            path: self.path.clone(),
            section,
            reason: error.to_string().lines().next().unwrap_or_default().to_owned(),
        })
    }

    /// An error for tables that do not fit together.
    pub(crate) fn inconsistent(&self, reason: String) -> BlockError {
        BlockError::Inconsistent {
            path: self.path.clone(),
            reason: format!("damaged tables: {reason}; block the model again"),
        }
    }

    /// Verifies every checksum by all threads: any single flipped bit is found. Reads the file once, at the speed of memory.
    ///
    /// # Errors
    /// The first section whose bytes have changed.
    pub fn verify_checksums(&self) -> Result<(), BlockError> {
        let found: Vec<u64> =
            self.sections.par_iter().map(|section| checksum::of(&self.map[section.range()])).collect();
        for (section, found) in self.sections.iter().zip(found) {
            if found != section.checksum {
                let (path, section, expected) = (self.path.clone(), section.name.clone(), section.checksum);
                return Err(BlockError::Checksum { path, section, expected, found });
            }
        }
        Ok(())
    }
}

/// Reads every page now, large files by all threads: a file cut since its length was taken is an error here and a SIGBUS later.
fn populate(path: &Path, map: &Map, length: u64) -> Result<(), BlockError> {
    /// Bytes that a thread takes at a time.
    #[cfg(all(target_os = "linux", not(miri)))]
    const PIECE: usize = 1 << 27;
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Err(error) = (0..map.len().div_ceil(PIECE)).into_par_iter().try_for_each(|piece| {
        let first = PIECE * piece;
        map.map().advise_range(memmap2::Advice::PopulateRead, first, PIECE.min(map.len() - first))
    }) {
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

//! The seam between the kinds of physics and everything that treats them alike.
//!
//! A kind of physics is a unit type that implements [`Physics`]. Its [`NAME`](Physics::NAME) stands in the provenance of
//! a block file, in the key `physics` of a job and in `summary.json`. A crate that has to choose by physics keeps one
//! registry: a list of pairs of a name and what to do, searched by [`registered`].

use std::fmt::Debug;
use std::io;
use std::path::Path;

use crate::block::check::Check;
use crate::block::container::write_file;
use crate::block::{BlockError, Container, Provenance, Sections, Stored};
use crate::parameters::Adjustable;

/// One kind of physics: what its block file holds and what makes such a file consistent.
pub trait Physics: Debug + Sized + 'static {
    /// Name in a block file's provenance, in the key `physics` of a job and in `summary.json`.
    const NAME: &'static str;
    /// Section `setup`: everything that can change by name from run to run.
    type Setup: Adjustable + Stored + Clone + Debug + Send + Sync;
    /// The sections beside `provenance` and `setup`.
    type Sections: Sections;

    /// Everything that a run relies on, checked when a file is written and when it is opened.
    ///
    /// # Errors
    /// The first table, and entry, that is wrong.
    fn check(tables: &Tables<'_, Self>, setup: &Self::Setup) -> Check;

    /// That all tables say the same, beyond what [`check`](Self::check) needs.
    ///
    /// # Errors
    /// The first entry that contradicts another.
    fn agreement(tables: &Tables<'_, Self>) -> Check;
}

/// The tables of a physics as slices.
pub type Tables<'a, P> = <<P as Physics>::Sections as Sections>::View<'a>;

/// The tables that go into a block file of a physics.
pub type Contents<'a, P> = <<P as Physics>::Sections as Sections>::Contents<'a>;

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
pub struct BlockFile<P: Physics> {
    container: Container,
    sections: P::Sections,
    setup: P::Setup,
}

impl<P: Physics> BlockFile<P> {
    /// Maps and checks a file.
    ///
    /// # Errors
    /// Not a regular file, empty, cut, appended to, foreign, of another version, of another kind of physics, or with
    /// damage that shows without checksums.
    pub fn open(path: &Path) -> Result<Self, BlockError> {
        Self::from_container(Container::open(path)?)
    }

    /// Checks a file that has been mapped.
    ///
    /// # Errors
    /// Of another kind of physics, or with damage that shows without checksums.
    pub fn from_container(container: Container) -> Result<Self, BlockError> {
        container.expect_physics(P::NAME)?;
        let setup = P::Setup::read(&container, "setup")?;
        let sections = P::Sections::validate(&container)?;
        let file = Self { container, sections, setup };
        P::check(&file.tables(), &file.setup).map_err(|reason| file.container.inconsistent(reason))?;
        Ok(file)
    }

    /// Path, length, sections, provenance and checksums.
    pub fn container(&self) -> &Container {
        &self.container
    }

    pub(crate) fn sections(&self) -> &P::Sections {
        &self.sections
    }

    /// Materials, loads, outputs and settings: a copy, to change by name.
    pub fn setup(&self) -> P::Setup {
        self.setup.clone()
    }

    /// All tables, in place.
    pub fn tables(&self) -> Tables<'_, P> {
        self.sections.view(&self.container)
    }

    /// Verifies every checksum, and that all tables say the same: also a file that was written wrongly is found.
    ///
    /// # Errors
    /// The first section whose bytes have changed, or an entry that contradicts another.
    pub fn verify(&self) -> Result<(), BlockError> {
        self.container.verify_checksums()?;
        P::agreement(&self.tables()).map_err(|reason| self.container.inconsistent(reason))
    }
}

/// Writes a block file and returns its length, bytes. The same contents give the same bytes.
///
/// Tables go from memory to disk without a copy. The file is written beside `path`, made durable and renamed: `path` is
/// at all times either what it was or the whole new file.
///
/// # Errors
/// The tables do not fit together (exactly what [`BlockFile::open`] would refuse), or the system refuses to write; then
/// `path` is untouched and nothing is left beside it.
pub fn write_block<P: Physics>(
    path: &Path,
    contents: Contents<'_, P>,
    setup: &P::Setup,
    provenance: &Provenance,
) -> Result<u64, BlockError> {
    write_block_if::<P>(path, contents, setup, provenance, || Ok(()))
}

/// As [`write_block`], but asks `is_good` before the file gets its name: what takes as long as writing may be checked beside it.
///
/// # Errors
/// As [`write_block`], and those of `is_good`.
pub fn write_block_if<P: Physics>(
    path: &Path,
    contents: Contents<'_, P>,
    setup: &P::Setup,
    provenance: &Provenance,
    is_good: impl FnOnce() -> io::Result<()>,
) -> Result<u64, BlockError> {
    let checked = P::check(&P::Sections::view_of(&contents), setup);
    write_file(path, checked, 2 + P::Sections::NAMES.len(), |writer| {
        writer.section("provenance", provenance)?;
        setup.write("setup", writer)?;
        P::Sections::write(&contents, writer)?;
        is_good()
    })
}

/// What a registry holds for the physics of this file.
///
/// # Errors
/// A kind of physics that the registry does not know.
pub fn registered<'a, T>(container: &Container, registry: &'a [(&'static str, T)]) -> Result<&'a T, BlockError> {
    let found = &container.provenance().physics;
    match registry.iter().find(|(name, _)| name == found) {
        Some((_, entry)) => Ok(entry),
        None => Err(BlockError::UnknownPhysics {
            path: container.path().to_owned(),
            found: found.clone(),
            known: registry.iter().map(|(name, _)| *name).collect(),
        }),
    }
}

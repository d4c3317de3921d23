//! Where a block file came from.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// A file that went into a block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name, as given.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64 of the content.
    pub hash: u64,
}

impl Source {
    /// Hashes a file in pieces.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let (mut hash, mut bytes, mut piece) = (Xxh3::new(), 0, vec![0; 1 << 18]);
        loop {
            match file.read(&mut piece)? {
                0 => break,
                n => {
                    hash.update(&piece[..n]);
                    bytes += n as u64;
                }
            }
        }
        Ok(Self { name: path.display().to_string(), bytes, hash: hash.digest() })
    }
}

/// What was read, by which program, with which options. Holds no time: the same input gives the same bytes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// [`EXPLICIT`](Self::EXPLICIT), [`STATIC`](Self::STATIC), [`SPRING`](Self::SPRING) or [`EIKONAL`](Self::EIKONAL).
    pub physics: String,
    /// Deck or stack, further files, jobs.
    pub sources: Vec<Source>,
    /// [`VERSION`](crate::VERSION) of the tool that wrote the file.
    pub version: String,
    /// Command-line options of that tool.
    pub options: Vec<String>,
}

impl Provenance {
    /// Explicit elastodynamics on a mesh.
    pub const EXPLICIT: &'static str = "explicit";
    /// Statics on voxels.
    pub const STATIC: &'static str = "static";
    /// Mass-spring-damper.
    pub const SPRING: &'static str = "spring";
    /// Arrival times on a mesh.
    pub const EIKONAL: &'static str = "eikonal";

    /// An explicit problem from these sources, written by this version.
    pub fn explicit(sources: Vec<Source>, options: Vec<String>) -> Self {
        Self { physics: Self::EXPLICIT.into(), sources, version: crate::VERSION.into(), options }
    }

    /// A static voxel problem from these sources, written by this version.
    pub fn statics(sources: Vec<Source>, options: Vec<String>) -> Self {
        Self { physics: Self::STATIC.into(), ..Self::explicit(sources, options) }
    }

    /// A mass-spring-damper model from these sources, written by this version.
    pub fn spring(sources: Vec<Source>, options: Vec<String>) -> Self {
        Self { physics: Self::SPRING.into(), ..Self::explicit(sources, options) }
    }

    /// An Eikonal problem from these sources, written by this version.
    pub fn eikonal(sources: Vec<Source>, options: Vec<String>) -> Self {
        Self { physics: Self::EIKONAL.into(), ..Self::explicit(sources, options) }
    }
}

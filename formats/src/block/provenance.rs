//! Where a block file came from.

use std::{
    io::{self, Read},
    path::Path,
};

use rkyv::{Archive, Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::system::{held, inputs};

/// A file that went into a block file.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name, as given; of an input that lay in memory its name there, and that it did.
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64 of the content.
    pub hash: u64,
}

impl Source {
    /// Hashes a file, or what is held in its place, in pieces. A stream is gone when it has been read: it has no length and no hash.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let name = path.display().to_string();
        if inputs::is_stream(path) {
            return Ok(Self { name, bytes: 0, hash: 0 });
        }
        let (mut hash, mut bytes) = (Xxh3::new(), 0);
        if let Some(held) = held::find(path) {
            held.each_piece(&mut |piece| {
                hash.update(piece);
                bytes += piece.len() as u64;
            });
            return Ok(Self { name: held::name_of(path), bytes, hash: hash.digest() });
        }
        let (mut file, mut piece) = (inputs::open(path)?, vec![0; 1 << 18]);
        loop {
            match file.read(&mut piece)? {
                0 => break,
                n => {
                    hash.update(&piece[..n]);
                    bytes += n as u64;
                }
            }
        }
        Ok(Self { name, bytes, hash: hash.digest() })
    }
}

/// What was read, by which program, with which options. Holds no time: the same input gives the same bytes.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Name of the kind of physics.
    pub physics: String,
    /// Deck or stack, further files, jobs.
    pub sources: Vec<Source>,
    /// [`VERSION`](crate::VERSION) of the tool that wrote the file.
    pub version: String,
    /// Command-line options of that tool.
    pub options: Vec<String>,
}

impl Provenance {
    /// A problem of this physics from these sources, written by this version.
    pub fn new(physics: &str, sources: Vec<Source>, options: Vec<String>) -> Self {
        Self { physics: physics.into(), sources, version: crate::VERSION.into(), options }
    }
}

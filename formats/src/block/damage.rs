//! What every kind of block file must bear: tests in one place.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

use super::{BlockError, Container, Sections, container};
use crate::physics::{BlockFile, Physics};

/// Cuts a file at every byte, and appends one: `open` must name what happened.
pub(crate) fn cut_at_every_byte<F>(path: &Path, open: impl Fn(&Path) -> Result<F, BlockError>) {
    let bytes = fs::read(path).unwrap();
    // In place, since rewriting a file each time makes some file systems flush.
    let damaged = fs::File::options().write(true).open(path).unwrap();
    for length in (0..bytes.len()).rev() {
        damaged.set_len(length as u64).unwrap();
        let Err(error) = open(path) else { panic!("opened with {length} bytes") };
        let expected = if length < 8 {
            matches!(error, BlockError::Foreign { .. })
        } else {
            matches!(error, BlockError::Cut { .. })
        };
        assert!(expected, "{length}: {error}");
    }
    fs::write(path, [bytes.as_slice(), b"\0"].concat()).unwrap();
    assert!(matches!(open(path), Err(BlockError::Appended { .. })));
}

/// Flips every bit of a file: it is refused, or all of it can be read and the checksums tell. `everything` reads every
/// value of every view.
pub(crate) fn flip_every_bit<F>(
    path: &Path,
    open: impl Fn(&Path) -> Result<F, BlockError>,
    container: impl Fn(&F) -> &Container,
    everything: impl Fn(&F) -> String,
) {
    let bytes = fs::read(path).unwrap();
    let damaged = fs::File::options().write(true).open(path).unwrap();
    let (mut opened, mut refused) = (0, 0);
    for bit in 0..bytes.len() * 8 {
        let at = bit / 8;
        damaged.write_at(&[bytes[at] ^ 1 << (bit % 8)], at as u64).unwrap();
        match open(path) {
            Err(_) => refused += 1,
            Ok(file) => {
                assert!(everything(&file).len() > 100);
                assert!(container(&file).verify_checksums().is_err(), "bit {bit} is not noticed");
                opened += 1;
            }
        }
        damaged.write_at(&bytes[at..=at], at as u64).unwrap();
    }
    assert!(opened > 1000 && refused > 1000, "{opened} opened, {refused} refused");
}

/// Bytes with their places in a file.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<(Index, u8)>> {
    prop::collection::vec((any::<Index>(), any::<u8>()), 1..8)
}

/// Puts bytes into a file, behind its header, so that the structure itself is what is damaged: it is refused, or all of it can
/// be read.
pub(crate) fn overwrite<P: Physics>(
    path: &Path,
    damage: Vec<(Index, u8)>,
    everything: impl Fn(&BlockFile<P>) -> String,
) {
    let mut bytes = fs::read(path).unwrap();
    let header = container::header_length(2 + P::Sections::NAMES.len());
    for (index, value) in damage {
        let at = header + index.index(bytes.len() - header);
        bytes[at] = value;
    }
    fs::write(path, &bytes).unwrap();
    if let Ok(file) = BlockFile::open(path) {
        assert!(everything(&file).len() > 100);
        let _ = file.verify();
    }
}

/// Puts each section of one file in the place of that of the same name in the other, with its checksum, and makes the offsets,
/// the file's length and the header's checksum fit: no mixture is opened. Gives the number of mixtures.
pub(crate) fn swap_sections<F>(a: &Path, b: &Path, open: impl Fn(&Path) -> Result<F, BlockError>) -> usize {
    let [a, b] = [a, b].map(|path| {
        let bytes = fs::read(path).unwrap();
        let sections = container::decode(path, &bytes).unwrap();
        (bytes, sections)
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed.blk");
    let mut mixed = 0;
    for ((own, sections), (other, others)) in [(&a, &b), (&b, &a)] {
        for (index, section) in sections.iter().enumerate() {
            let Some(foreign) = others.iter().find(|other| other.name == section.name) else { continue };
            if foreign.checksum == section.checksum {
                continue;
            }
            let pieces: Vec<_> = (sections.iter().zip(std::iter::repeat(own)))
                .enumerate()
                .map(|(at, piece)| if at == index { (foreign, other) } else { piece })
                .collect();
            fs::write(&path, container::joined(own, &pieces)).unwrap();
            match open(&path) {
                Ok(_) => panic!("section {} of another file is not noticed", section.name),
                Err(error) => assert!(error.to_string().contains("do not belong together"), "{error}"),
            }
            mixed += 1;
        }
    }
    mixed
}

//! What every kind of block file must bear: tests in one place.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{BlockError, Container};

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

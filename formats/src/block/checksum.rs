//! The checksum of a section: threads can compute it side by side.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::system::parallel::iterate::*;

/// Bytes of a piece.
const PIECE: usize = 4 << 20;

/// The checksum of some bytes: their xxh3-64, or for more than [`PIECE`] bytes that of the xxh3-64s of all pieces.
pub(super) fn of(bytes: &[u8]) -> u64 {
    if bytes.len() <= PIECE {
        return xxh3_64(bytes);
    }
    let pieces: Vec<[u8; 8]> = bytes.par_chunks(PIECE).map(|piece| xxh3_64(piece).to_le_bytes()).collect();
    xxh3_64(pieces.as_flattened())
}

/// The same of bytes that come one after the other.
#[derive(Default)]
pub(super) struct Checksum {
    /// Hash of the bytes after the pieces that are complete, and their number.
    piece: Xxh3,
    length: usize,
    /// Hashes of the pieces that are complete.
    complete: Vec<u8>,
}

impl Checksum {
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A piece ends when more follows: a section of one piece has the hash of its bytes.
            if self.length == PIECE {
                self.complete.extend(self.piece.digest().to_le_bytes());
                self.piece.reset();
                self.length = 0;
            }
            let (here, further) = bytes.split_at(bytes.len().min(PIECE - self.length));
            self.piece.update(here);
            self.length += here.len();
            bytes = further;
        }
    }

    pub fn digest(mut self) -> u64 {
        let last = self.piece.digest();
        if self.complete.is_empty() {
            return last;
        }
        self.complete.extend(last.to_le_bytes());
        xxh3_64(&self.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_checksum_however_they_come() {
        let all: Vec<u8> = (0..2 * PIECE + 100).map(|i| ((i * i) >> 7) as u8).collect();
        for length in [0, 1, 1000, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 100] {
            let bytes = &all[..length];
            for step in [PIECE / 3 + 7, PIECE, 3 * PIECE] {
                let mut checksum = Checksum::default();
                bytes.chunks(step).for_each(|chunk| checksum.update(chunk));
                assert_eq!(checksum.digest(), of(bytes), "{length} bytes by {step}");
            }
            if length > PIECE {
                let mut changed = bytes.to_vec();
                changed[PIECE - 1] ^= 1;
                assert_ne!(of(&changed), of(bytes));
            }
        }
        assert_eq!(of(&all[..PIECE]), xxh3_64(&all[..PIECE]));
    }
}

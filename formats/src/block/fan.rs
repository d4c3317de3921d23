//! Fan records: the triangles round a node in three words.

use super::DeviceTables;

/// Up to eight neighbours of a node, in turn; see [`DeviceTables`] for its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FanRecord(u128);

const INDEX_BITS: usize = 11;
const COUNT_AT: usize = 88;
const CLOSED: u128 = 1 << 92;
const FURTHER: u128 = 1 << 93;

impl FanRecord {
    /// A record of these neighbours: local indices below [`FAN_LOCAL_NODES`](DeviceTables::FAN_LOCAL_NODES), at most
    /// [`FAN_NEIGHBOURS`](DeviceTables::FAN_NEIGHBOURS) of them.
    pub fn new(neighbours: impl IntoIterator<Item = u16>, closed: bool) -> Self {
        let (mut bits, mut n) = (0, 0);
        for neighbour in neighbours {
            debug_assert!(n < DeviceTables::FAN_NEIGHBOURS && usize::from(neighbour) < DeviceTables::FAN_LOCAL_NODES);
            bits |= u128::from(neighbour) << (INDEX_BITS * n);
            n += 1;
        }
        Self(bits | (n as u128) << COUNT_AT | if closed { CLOSED } else { 0 })
    }

    /// The same record, marked or not as followed by another of the same node.
    pub fn with_further(self, further: bool) -> Self {
        Self(self.0 & !FURTHER | if further { FURTHER } else { 0 })
    }

    /// The record in these words.
    pub fn from_words(words: [u32; 3]) -> Self {
        Self(u128::from(words[0]) | u128::from(words[1]) << 32 | u128::from(words[2]) << 64)
    }

    /// Its words, as they are stored.
    pub fn words(self) -> [u32; 3] {
        [self.0 as u32, (self.0 >> 32) as u32, (self.0 >> 64) as u32]
    }

    /// Number of neighbours.
    pub fn n_neighbours(self) -> usize {
        (self.0 >> COUNT_AT) as usize & 0xf
    }

    /// What slot k < 8 names, whether or not there is a neighbour k.
    pub fn neighbour(self, k: usize) -> u16 {
        (self.0 >> (INDEX_BITS * k)) as u16 & (DeviceTables::FAN_LOCAL_NODES as u16 - 1)
    }

    /// The neighbours in turn.
    pub fn neighbours(self) -> impl ExactSizeIterator<Item = u16> {
        (0..self.n_neighbours()).map(move |k| self.neighbour(k))
    }

    /// The last neighbour and the first make another triangle.
    pub fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// More records of the same node follow.
    pub fn has_further(self) -> bool {
        self.0 & FURTHER != 0
    }

    /// Number of triangles.
    pub fn n_triangles(self) -> usize {
        if self.is_closed() { self.n_neighbours() } else { self.n_neighbours().saturating_sub(1) }
    }

    /// Second and third node of each triangle; the first is the node that the record belongs to.
    pub fn triangles(self) -> impl ExactSizeIterator<Item = [u16; 2]> {
        let n = self.n_neighbours();
        (0..self.n_triangles()).map(move |k| [self.neighbour(k), self.neighbour(if k + 1 == n { 0 } else { k + 1 })])
    }

    /// No more neighbours than there is room for, and no bit without a meaning.
    pub(super) fn is_sound(self) -> bool {
        self.n_neighbours() <= DeviceTables::FAN_NEIGHBOURS
            && !(self.is_closed() && self.n_neighbours() == 0)
            && self.0 >> 94 == 0
    }
}

/// Material of triangle k of a record, from its word in one of the tables of materials.
pub fn triangle_material(materials: u32, k: usize) -> usize {
    (materials >> (4 * k)) as usize & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_from_their_words() {
        let all: Vec<u16> = (0..8).map(|k| 2047 - 291 * k).collect();
        for n in 0..=8 {
            for closed in [false, n > 0] {
                let record = FanRecord::new(all[..n].iter().copied(), closed).with_further(n % 2 == 0);
                let back = FanRecord::from_words(record.words());
                assert!(back.is_sound());
                assert_eq!(back.neighbours().collect::<Vec<_>>(), all[..n]);
                assert_eq!((back.is_closed(), back.has_further()), (closed, n % 2 == 0));
                let triangles: Vec<[u16; 2]> = back.triangles().collect();
                assert_eq!(triangles.len(), back.n_triangles());
                assert!(triangles.iter().zip(all[..n].windows(2)).all(|(triangle, pair)| triangle == pair));
                if closed {
                    assert_eq!(triangles[n - 1], [all[n - 1], all[0]]);
                }
            }
        }
        assert!(
            !FanRecord(9 << COUNT_AT).is_sound() && !FanRecord(CLOSED).is_sound() && !FanRecord(1 << 95).is_sound()
        );
    }

    #[test]
    fn bits_lie_where_the_tables_say() {
        let record = FanRecord::new([1, 2, 3], true).with_further(true);
        assert_eq!(record.words(), [1 | 2 << 11 | 3 << 22, 0, 3 << (88 - 64) | 1 << (92 - 64) | 1 << (93 - 64)]);
        assert_eq!(triangle_material(0x0000_0a50, 2), 0xa);
    }
}

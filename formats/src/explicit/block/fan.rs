//! Fan records: the triangles round a node in three words.

/// Up to nine neighbours of a node, in turn; [`DeviceTables`](super::DeviceTables) says what its bits mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FanRecord([u32; 3]);

const INDEX_BITS: usize = 10;
const INDICES_A_WORD: usize = 3;
const SPARE_AT: usize = INDEX_BITS * INDICES_A_WORD;
const FURTHER: u32 = 1 << SPARE_AT;

impl FanRecord {
    /// Neighbours that one record holds.
    pub const NEIGHBOURS: usize = 9;
    /// Local nodes that 10 bits can name.
    pub const LOCAL_NODES: usize = 1 << 10;
    /// Materials that 4 bits can number.
    pub const MATERIALS: usize = 1 << 4;

    /// A record of these neighbours: local indices below [`LOCAL_NODES`](Self::LOCAL_NODES), at most
    /// [`NEIGHBOURS`](Self::NEIGHBOURS) of them.
    pub fn new(neighbours: impl IntoIterator<Item = u16>) -> Self {
        let (mut words, mut n) = ([0; 3], 0);
        for neighbour in neighbours {
            debug_assert!(n < Self::NEIGHBOURS && usize::from(neighbour) < Self::LOCAL_NODES);
            words[n / INDICES_A_WORD] |= u32::from(neighbour) << (INDEX_BITS * (n % INDICES_A_WORD));
            n += 1;
        }
        words[0] |= (n as u32 & 3) << SPARE_AT;
        words[1] |= (n as u32 >> 2) << SPARE_AT;
        Self(words)
    }

    /// The same record, marked or not as followed by another of the same node.
    pub fn with_further(self, further: bool) -> Self {
        let [a, b, c] = self.0;
        Self([a, b, c & !FURTHER | if further { FURTHER } else { 0 }])
    }

    /// The record in these words.
    pub fn from_words(words: [u32; 3]) -> Self {
        Self(words)
    }

    /// Its words, as they are stored.
    pub fn words(self) -> [u32; 3] {
        self.0
    }

    /// Number of neighbours.
    pub fn n_neighbours(self) -> usize {
        (self.0[0] >> SPARE_AT | self.0[1] >> SPARE_AT << 2) as usize
    }

    /// What slot k names, whether or not there is a neighbour k; 0 where there is no such slot.
    pub fn neighbour(self, k: usize) -> u16 {
        let word = self.0.get(k / INDICES_A_WORD).copied().unwrap_or(0);
        (word >> (INDEX_BITS * (k % INDICES_A_WORD))) as u16 & (Self::LOCAL_NODES as u16 - 1)
    }

    /// The neighbours in turn.
    pub fn neighbours(self) -> impl ExactSizeIterator<Item = u16> {
        (0..self.n_neighbours()).map(move |k| self.neighbour(k))
    }

    /// More records of the same node follow.
    pub fn has_further(self) -> bool {
        self.0[2] & FURTHER != 0
    }

    /// Number of triangles.
    pub fn n_triangles(self) -> usize {
        self.n_neighbours().saturating_sub(1)
    }

    /// Second and third node of each triangle; the first is the node that the record belongs to.
    pub fn triangles(self) -> impl ExactSizeIterator<Item = [u16; 2]> {
        (0..self.n_triangles()).map(move |k| [self.neighbour(k), self.neighbour(k + 1)])
    }

    /// No more neighbours than there is room for, and no bit without a meaning.
    pub(super) fn is_sound(self) -> bool {
        self.n_neighbours() <= Self::NEIGHBOURS && self.0[2] >> (SPARE_AT + 1) == 0
    }
}

/// Number of the material of triangle k of a record in its block, from its word in one of the tables of materials.
pub fn triangle_number(materials: u32, k: usize) -> usize {
    (materials >> (4 * k)) as usize & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_from_their_words() {
        let all: Vec<u16> = (0..9).map(|k| 1023 - 113 * k).collect();
        for n in 0..=9 {
            let record = FanRecord::new(all[..n].iter().copied()).with_further(n % 2 == 0);
            let back = FanRecord::from_words(record.words());
            assert!(back.is_sound());
            assert_eq!(back.neighbours().collect::<Vec<_>>(), all[..n]);
            assert_eq!(back.has_further(), n % 2 == 0);
            let triangles: Vec<[u16; 2]> = back.triangles().collect();
            assert_eq!(triangles.len(), back.n_triangles());
            assert!(triangles.iter().eq(all[..n].windows(2)));
        }
        let ten = FanRecord([2 << 30, 2 << 30, 0]);
        assert!(ten.n_neighbours() == 10 && !ten.is_sound() && !FanRecord([0, 0, 1 << 31]).is_sound());
    }

    #[test]
    fn bits_lie_where_the_tables_say() {
        let record = FanRecord::new([1, 2, 3, 4, 1]).with_further(true);
        assert_eq!(record.words(), [1 | 2 << 10 | 3 << 20 | 1 << 30, 4 | 1 << 10 | 1 << 30, 1 << 30]);
        assert_eq!(triangle_number(0x0000_0a50, 2), 0xa);
    }
}

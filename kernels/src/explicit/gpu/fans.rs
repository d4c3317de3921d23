//! Rows of fans as the kernels read them (fans.cuh): packed, and starting with the neighbour that causes fewest bank
//! conflicts.
//!
//! Eight threads read a record of 16 bytes each in one transaction if the records lie in different eighths of the banks of
//! shared memory, or are the same record. Neighbours lie anywhere, so that 2.6 of eight reads conflict on average. A fan that
//! closes round its node may start with any neighbour. Each fan takes the start that conflicts least with the fans before it.

use std::ops::Range;

use pogo_formats::explicit::block::{DeviceView, FanRecord};
use pogo_formats::system::parallel::iterate::*;

use crate::simd::Real;

/// Threads whose reads are one transaction, and eighths of the banks.
const TOGETHER: usize = 8;
const SLOTS: usize = FanRecord::NEIGHBOURS;
/// Threads of a warp.
const WARP: usize = 32;
/// Bits in front of the material of the triangle between the last neighbour and the first.
const CLOSING: usize = 28;

/// One fan: distinct neighbours in turn, and the materials of its triangles, if materials differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Fan {
    neighbours: [u16; SLOTS],
    n: usize,
    closed: bool,
    further: bool,
    materials: u32,
}

impl Fan {
    fn new(record: FanRecord, materials: u32) -> Self {
        let n = record.n_neighbours().min(SLOTS);
        let closed = n > 3 && record.neighbour(0) == record.neighbour(n - 1);
        let neighbours = std::array::from_fn(|k| record.neighbour(k));
        Self { neighbours, n: if closed { n - 1 } else { n }, closed, further: record.has_further(), materials }
    }

    /// What is read k-th when the fan begins with neighbour `from`: beyond its last neighbour that one again.
    fn at(&self, from: usize, k: usize) -> u16 {
        match from + k.min(self.n.saturating_sub(1)) {
            i if i >= self.n => self.neighbours[i - self.n],
            i => self.neighbours[i],
        }
    }

    /// The same closed fan, starting with neighbour `from`.
    fn begun(&self, from: usize) -> Self {
        let mut fan = Self { materials: 0, ..*self };
        for k in 0..self.n {
            fan.neighbours[k] = self.at(from, k);
            fan.materials |= (self.materials >> (4 * ((from + k) % self.n)) & 15) << (4 * k);
        }
        fan
    }

    /// The materials of its triangles, four bits each: of the one between neighbours k and k + 1, and last of the one between the
    /// last neighbour and the first, where the kernels look for it (a closed fan has eight neighbours at most).
    fn nibbles(&self) -> u32 {
        if !self.closed {
            return self.materials;
        }
        let closing = self.materials >> (4 * (self.n - 1)) & 15;
        self.materials & !(15 << CLOSING) | closing << CLOSING
    }

    /// Three neighbours a word, ten bits each from bit 4 on and round to bits 0 and 1, so that the kernels get the offset of a
    /// record of 16 bytes by one shift; slots without a neighbour repeat the last one. In bits 2 and 3 of the words: the number
    /// of neighbours (until `tell_warps` needs them), its upper half, and whether there is more and whether the fan is open,
    /// which one without neighbours is not.
    fn words(&self) -> [u32; 3] {
        let slot = |k| if self.n == 0 { 0 } else { u32::from(self.at(0, k)) };
        let n = self.n as u32;
        let open = u32::from(!self.closed && self.n > 0);
        let flags = [n & 3, n >> 2, u32::from(self.further) | open << 1];
        std::array::from_fn(|w| {
            let indices = slot(3 * w) | slot(3 * w + 1) << 10;
            (indices << 4) | slot(3 * w + 2).rotate_right(8) | flags[w] << 2
        })
    }
}

/// The nodes of one transaction, by slot and eighth of the banks.
#[derive(Default)]
struct Reads {
    nodes: [[[u16; TOGETHER]; TOGETHER]; SLOTS],
    counts: [[u8; TOGETHER]; SLOTS],
}

impl Reads {
    /// Bank conflicts of one more read of `node` in a slot.
    fn cost(&self, slot: usize, node: u16) -> u32 {
        let bank = usize::from(node) % TOGETHER;
        let count = usize::from(self.counts[slot][bank]);
        if self.nodes[slot][bank][..count].contains(&node) { 0 } else { count as u32 }
    }

    fn add(&mut self, slot: usize, node: u16) {
        let bank = usize::from(node) % TOGETHER;
        let count = usize::from(self.counts[slot][bank]);
        if count < TOGETHER && !self.nodes[slot][bank][..count].contains(&node) {
            self.nodes[slot][bank][count] = node;
            self.counts[slot][bank] += 1;
        }
    }
}

/// Lets each of the fans that are read together start with the neighbour that causes fewest bank conflicts.
fn spread(fans: &mut [Fan]) {
    let most = fans.iter().map(|fan| fan.n).max().unwrap_or(0);
    let mut reads = Reads::default();
    for fan in fans {
        if fan.n == 0 {
            continue;
        }
        if fan.closed {
            // Two conflicts in one slot cost more than one in each of two slots.
            let cost = |from: usize| (0..most).map(|k| reads.cost(k, fan.at(from, k)).pow(2)).sum::<u32>();
            let best = (0..fan.n).min_by_key(|&from| cost(from)).unwrap_or(0);
            *fan = fan.begun(best);
        }
        (0..most).for_each(|k| reads.add(k, fan.at(0, k)));
    }
}

/// The fans of the own nodes of all blocks, or of the nodes of all halos.
pub(super) struct Entries<'a, T> {
    /// Of each block in turn.
    pub ranges: Vec<Range<usize>>,
    pub record: &'a (dyn Fn(usize) -> FanRecord + Sync),
    /// A word an entry, or none.
    pub materials: &'a [u32],
    pub inertia: &'a (dyn Fn(usize) -> T + Sync),
}

/// Rows of fans: four words an entry, (n, 4), which are a record and in single precision the inertia; and the materials of the
/// triangles, (n,), if materials differ.
#[derive(Default)]
pub(super) struct FanRows {
    pub words: Vec<u32>,
    pub materials: Vec<u32>,
}

/// The rows of one block.
struct Part<'a> {
    range: Range<usize>,
    words: &'a mut [u32],
    materials: &'a mut [u32],
}

impl FanRows {
    fn new(n: usize, n_materials: usize) -> Self {
        Self { words: vec![0; 4 * n], materials: vec![0; n_materials.min(n)] }
    }

    /// Each range is where the one before ends.
    fn parts(&mut self, ranges: &[Range<usize>]) -> Vec<Part<'_>> {
        let (mut words, mut materials) = (self.words.as_mut_slice(), self.materials.as_mut_slice());
        let part = |range: &Range<usize>| {
            let (of_words, of_materials);
            (of_words, words) = std::mem::take(&mut words).split_at_mut(4 * range.len());
            let n = range.len().min(materials.len());
            (of_materials, materials) = std::mem::take(&mut materials).split_at_mut(n);
            Part { range: range.clone(), words: of_words, materials: of_materials }
        };
        ranges.iter().map(part).collect()
    }
}

/// The rows of own nodes and of halos.
pub(super) fn fan_rows<T: Real>(entries: [Entries<'_, T>; 2]) -> [FanRows; 2] {
    let mut rows = entries
        .each_ref()
        .map(|entries| FanRows::new(entries.ranges.last().map_or(0, |range| range.end), entries.materials.len()));
    let [own, halo] = &mut rows;
    let parts: Vec<_> = own.parts(&entries[0].ranges).into_iter().zip(halo.parts(&entries[1].ranges)).collect();
    parts.into_par_iter().with_min_len(8).for_each(|(own, halo)| {
        let mut parts = [own, halo];
        for (part, entries) in parts.iter_mut().zip(&entries) {
            fill(part, entries);
        }
        let [own, halo] = parts;
        tell_warps(own.words.chunks_exact_mut(4).chain(halo.words.chunks_exact_mut(4)).collect());
    });
    rows
}

fn fill<T: Real>(part: &mut Part<'_>, entries: &Entries<'_, T>) {
    let mut fans = [Fan::default(); TOGETHER];
    for (group, rows) in part.words.chunks_mut(4 * TOGETHER).enumerate() {
        let first = part.range.start + TOGETHER * group;
        let n = rows.len() / 4;
        for (i, fan) in fans[..n].iter_mut().enumerate() {
            *fan = Fan::new((entries.record)(first + i), entries.materials.get(first + i).copied().unwrap_or(0));
        }
        spread(&mut fans[..n]);
        for (i, (row, fan)) in rows.chunks_exact_mut(4).zip(&fans).enumerate() {
            row[..3].copy_from_slice(&fan.words());
            if size_of::<T>() == 4 {
                row[3] = ((entries.inertia)(first + i).to_f64() as f32).to_bits();
            }
            if let Some(materials) = part.materials.get_mut(TOGETHER * group + i) {
                *materials = fan.nibbles();
            }
        }
    }
}

/// Writes into the rows of one block, own and halo, what the kernels need to know of the 32 rows of a warp, in place of each
/// row's own number of neighbours: whether any fan is open or has further records, and the most neighbours, at least 4.
fn tell_warps(mut rows: Vec<&mut [u32]>) {
    for warp in rows.chunks_mut(WARP) {
        let most = warp.iter().map(|row| (row[0] >> 2 & 3 | row[1] & 12).max(4)).max().unwrap_or(4);
        let unusual = u32::from(warp.iter().any(|row| row[2] & 12 != 0));
        let [upper, middle, lower] =
            [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]][most as usize - 4];
        for row in warp {
            row[0] = row[0] & !12 | (upper | middle << 1) << 2;
            row[1] = row[1] & !12 | (lower | unusual << 1) << 2;
        }
    }
}

/// Three words a further record, and the materials of its triangles, if materials differ.
pub(super) fn further_rows(device: &DeviceView) -> FanRows {
    let records = device.further_node.len();
    let fan = |record: usize| {
        Fan::new(device.further_fan(record), device.further_materials.get(record).copied().unwrap_or(0))
    };
    FanRows {
        words: (0..records).flat_map(|record| fan(record).words()).collect(),
        materials: (0..device.further_materials.len()).map(|record| fan(record).nibbles()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernels read it: neighbour k, the number of them, whether there is more, whether it is open.
    fn neighbour(words: [u32; 3], k: usize) -> u16 {
        ((words[k / 3].rotate_left([0, 22, 12][k % 3]) & 1023 << 4) / 16) as u16
    }

    fn counts_and_flags(words: [u32; 3]) -> (usize, bool, bool) {
        ((words[0] >> 2 & 3 | words[1] & 12) as usize, words[2] & 4 != 0, words[2] & 8 != 0)
    }

    #[test]
    fn packed_fans_say_whether_they_are_open_and_repeat_their_last_neighbour() {
        for (neighbours, distinct, closed) in [
            (&[][..], 0, false),
            (&[5, 6], 2, false),
            (&[5, 6, 7, 5], 3, true),
            (&[1, 2, 1023, 4, 900, 8, 7, 512, 256], 9, false),
            (&[1, 2, 3, 4, 9, 8, 7, 6, 1], 8, true),
        ] {
            let record = FanRecord::new(neighbours.iter().copied()).with_further(closed);
            let words = Fan::new(record, 0).words();
            assert_eq!(counts_and_flags(words), (distinct, closed, !closed && distinct > 0));
            for k in 0..9 {
                let last = distinct.saturating_sub(1);
                assert_eq!(neighbour(words, k), neighbours.get(k.min(last)).copied().unwrap_or(0));
            }
        }
    }

    /// Reads that wait for another, over all slots.
    fn waits(fans: &[Fan]) -> u32 {
        let most = fans.iter().map(|fan| fan.n).max().unwrap_or(0);
        let mut reads = Reads::default();
        let mut sum = 0;
        for fan in fans {
            for k in 0..most {
                sum += reads.cost(k, fan.at(0, k));
                reads.add(k, fan.at(0, k));
            }
        }
        sum
    }

    fn ring(i: u64, n: usize) -> Vec<u16> {
        let mut at = i;
        let ring = (0..n).map(|_| {
            at = at.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (at >> 40) as u16 % 600
        });
        ring.collect()
    }

    #[test]
    fn fans_that_are_begun_elsewhere_are_the_same_fans_and_meet_less() {
        let record = |i: usize| {
            let ring = ring(i as u64, 5 + i % 4);
            FanRecord::new(ring.iter().copied().chain([ring[0]]))
        };
        let materials: Vec<u32> = (0..40).map(|i| 0x1234_5678u32.rotate_left(i)).collect();
        let of = |ranges: [Range<usize>; 2]| Entries {
            ranges: ranges.to_vec(),
            record: &record,
            materials: &materials,
            inertia: &|_| 0.0f64,
        };
        let [rows, halo] = fan_rows([of([0..13, 13..40]), of([0..0, 0..3])]);
        assert_eq!((halo.words.len(), halo.materials.len()), (12, 3));
        let (mut before, mut after) = (0, 0);
        for range in [0..8, 8..13, 13..21, 21..29, 29..37, 37..40] {
            let old: Vec<Fan> = range.clone().map(|i| Fan::new(record(i), materials[i])).collect();
            let new: Vec<Fan> = range
                .clone()
                .zip(&old)
                .map(|(i, old)| {
                    let words = [rows.words[4 * i], rows.words[4 * i + 1], rows.words[4 * i + 2]];
                    let neighbours = std::array::from_fn(|k| neighbour(words, k));
                    let (_, further, open) = counts_and_flags(words);
                    Fan { neighbours, n: old.n, closed: !open, further, materials: rows.materials[i] }
                })
                .collect();
            for (old, new) in old.iter().zip(&new) {
                assert!(new.closed);
                let from = (0..old.n).find(|&from| (0..SLOTS).all(|k| old.at(from, k) == new.neighbours[k]));
                let from = from.expect("the same neighbours in the same order");
                for k in 0..old.n {
                    let nibble = if k + 1 == old.n { 7 } else { k };
                    assert_eq!(new.materials >> (4 * nibble) & 15, old.materials >> (4 * ((from + k) % old.n)) & 15);
                }
            }
            (before, after) = (before + waits(&old), after + waits(&new));
        }
        assert!(4 * after < 3 * before, "{before} → {after}");
    }

    /// A block of 40 own nodes and 30 of its halo: warps of 32, 8 and 24, and 6.
    #[test]
    fn a_warp_is_told_the_most_neighbours_and_whether_any_fan_is_unusual() {
        for most in 3..=9 {
            for unusual in [None, Some(0), Some(31), Some(63), Some(64)] {
                let count = |i: usize| if [5, 45, 69].contains(&i) { most } else { 3 };
                let record = |i: usize| {
                    let ring = ring(i as u64, count(i));
                    let closed = (Some(i) != unusual && ring.len() < 9).then_some(ring[0]);
                    FanRecord::new(ring.into_iter().chain(closed))
                };
                let of_halo = |entry: usize| record(40 + entry);
                let [own, halo] = fan_rows([
                    Entries { ranges: [0..40, 40..40].to_vec(), record: &record, materials: &[], inertia: &|_| 0.0f64 },
                    Entries {
                        ranges: [0..30, 30..30].to_vec(),
                        record: &of_halo,
                        materials: &[],
                        inertia: &|_| 0.0f64,
                    },
                ]);
                let rows: Vec<&[u32]> = own.words.chunks(4).chain(halo.words.chunks(4)).collect();
                for (warp, rows) in rows.chunks(32).enumerate() {
                    let expected = unusual.is_some_and(|i| i / 32 == warp) || most == 9;
                    for row in rows {
                        let bit = |word: usize, bit: u32| row[word] >> bit & 1 == 1;
                        let told = match (bit(0, 2), bit(0, 3), bit(1, 2)) {
                            (false, false, _) => 4,
                            (false, true, lower) => 5 + usize::from(lower),
                            (true, false, _) => 7,
                            (true, true, lower) => 8 + usize::from(lower),
                        };
                        assert_eq!((told, bit(1, 3)), (most.max(4), expected), "{most}, {unusual:?}, {warp}");
                    }
                }
            }
        }
    }
}

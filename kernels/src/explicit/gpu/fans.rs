//! Rows of fans as the kernels read them (fans.cuh): packed, and begun where shared memory serves most threads at once.
//!
//! Eight threads in turn read a record of 16 bytes each in one go, if the records lie in different eighths of the banks or
//! are the same one. Neighbours lie anywhere, so of eight that are read at once 2.6 on average meet. A fan that goes all
//! round its node may begin with any neighbour: each takes the beginning with which it meets fewest of those before it.

use pogo_formats::block::{DeviceTables, DeviceView, FanRecord};
use rayon::prelude::*;

use super::super::cpu::Real;

/// Threads whose reads go together, and as many places that do not disturb each other.
const TOGETHER: usize = 8;
const SLOTS: usize = DeviceTables::FAN_NEIGHBOURS;

/// One fan: distinct neighbours in turn, and the materials of its triangles, if there are any to tell.
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

    /// Begun with neighbour `from`, which only a closed one may be.
    fn begun(&self, from: usize) -> Self {
        let mut fan = Self { materials: 0, ..*self };
        for k in 0..self.n {
            fan.neighbours[k] = self.at(from, k);
            fan.materials |= (self.materials >> (4 * ((from + k) % self.n)) & 15) << (4 * k);
        }
        fan
    }

    /// Three neighbours a word, ten bits each from bit 4 on and round to bits 0 and 1, so that the kernels get the offset of a
    /// record of 16 bytes by one shift; slots without a neighbour repeat the last one. In bits 2 and 3 of the words: the number
    /// of neighbours, its upper half, and whether there is more and whether the fan is open, which one without neighbours is not.
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

/// What is read at once: of each slot and eighth of the banks, the nodes.
#[derive(Default)]
struct Reads {
    nodes: [[[u16; TOGETHER]; TOGETHER]; SLOTS],
    counts: [[u8; TOGETHER]; SLOTS],
}

impl Reads {
    /// How many reads one more of `node` in a slot waits for.
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

/// Begins each of the fans that are read together where it is read best.
fn spread(fans: &mut [Fan]) {
    let most = fans.iter().map(|fan| fan.n).max().unwrap_or(0);
    let mut reads = Reads::default();
    for fan in fans {
        if fan.n == 0 {
            continue;
        }
        if fan.closed {
            // What meets two costs more than what meets one twice.
            let cost = |from: usize| (0..most).map(|k| reads.cost(k, fan.at(from, k)).pow(2)).sum::<u32>();
            let best = (0..fan.n).min_by_key(|&from| cost(from)).unwrap_or(0);
            *fan = fan.begun(best);
        }
        (0..most).for_each(|k| reads.add(k, fan.at(0, k)));
    }
}

/// Rows of four words, (n, 4): a record each, and in single precision what `inertia` says of it; and the materials of their
/// triangles, (n,), unless `materials` is empty. Entry i is one of the block whose range of entries it lies in, and the
/// ranges follow each other.
pub(super) fn fan_rows<T: Real>(
    ranges: impl Iterator<Item = std::ops::Range<usize>>,
    record: impl Fn(usize) -> FanRecord + Sync,
    materials: &[u32],
    inertia: impl Fn(usize) -> T + Sync,
) -> (Vec<u32>, Vec<u32>) {
    let ranges: Vec<_> = ranges.collect();
    let n = ranges.last().map_or(0, |range| range.end);
    let mut rows = vec![0; 4 * n];
    let mut kept = vec![0; materials.len().min(n)];
    let mut parts = Vec::with_capacity(ranges.len());
    let (mut rest, mut rest_kept) = (rows.as_mut_slice(), kept.as_mut_slice());
    for range in ranges {
        let (part, after) = rest.split_at_mut((4 * range.len()).min(rest.len()));
        let (part_kept, after_kept) = rest_kept.split_at_mut(range.len().min(rest_kept.len()));
        parts.push((range.start, part, part_kept));
        (rest, rest_kept) = (after, after_kept);
    }
    parts.into_par_iter().with_min_len(8).for_each(|(start, rows, kept)| {
        let mut fans = [Fan::default(); TOGETHER];
        for (group, rows) in rows.chunks_mut(4 * TOGETHER).enumerate() {
            let first = start + TOGETHER * group;
            let n = rows.len() / 4;
            for (i, fan) in fans[..n].iter_mut().enumerate() {
                *fan = Fan::new(record(first + i), materials.get(first + i).copied().unwrap_or(0));
            }
            spread(&mut fans[..n]);
            for (i, (row, fan)) in rows.chunks_exact_mut(4).zip(&fans).enumerate() {
                row[..3].copy_from_slice(&fan.words());
                if size_of::<T>() == 4 {
                    row[3] = (inertia(first + i).to_f64() as f32).to_bits();
                }
                if let Some(kept) = kept.get_mut(TOGETHER * group + i) {
                    *kept = fan.materials;
                }
            }
        }
    });
    (rows, kept)
}

/// Three words a further record.
pub(super) fn further_rows(device: &DeviceView) -> Vec<u32> {
    (0..device.further_node.len()).flat_map(|record| Fan::new(device.further_fan(record), 0).words()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernels read it: neighbour k, the number of them, whether there is more, whether it is open.
    fn neighbour(words: [u32; 3], k: usize) -> u16 {
        ((words[k / 3].rotate_left([0, 22, 12][k % 3]) & 1023 << 4) / 16) as u16
    }

    fn said(words: [u32; 3]) -> (usize, bool, bool) {
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
            assert_eq!(said(words), (distinct, closed, !closed && distinct > 0));
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

    #[test]
    fn fans_that_are_begun_elsewhere_are_the_same_fans_and_meet_less() {
        let neighbours = |i: u64, n: usize| -> Vec<u16> {
            let mut at = i;
            let ring = (0..n).map(|_| {
                at = at.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (at >> 40) as u16 % 600
            });
            let ring: Vec<u16> = ring.collect();
            ring.iter().copied().chain([ring[0]]).collect()
        };
        let record = |i: usize| FanRecord::new(neighbours(i as u64, 5 + i % 4));
        let materials: Vec<u32> = (0..40).map(|i| 0x1234_5678u32.rotate_left(i)).collect();
        let (rows, kept) = fan_rows::<f64>([0..13, 13..40].into_iter(), record, &materials, |_| 0.0);
        let (mut before, mut after) = (0, 0);
        for range in [0..8, 8..13, 13..21, 21..29, 29..37, 37..40] {
            let old: Vec<Fan> = range.clone().map(|i| Fan::new(record(i), materials[i])).collect();
            let new: Vec<Fan> = range
                .clone()
                .map(|i| {
                    let words = [rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]];
                    let (n, further, open) = said(words);
                    let neighbours = std::array::from_fn(|k| neighbour(words, k));
                    Fan { neighbours, n, closed: !open, further, materials: kept[i] }
                })
                .collect();
            for (old, new) in old.iter().zip(&new) {
                assert!(new.closed && new.n == old.n);
                let from = (0..old.n).find(|&from| (0..old.n).all(|k| old.at(from, k) == new.neighbours[k]));
                let from = from.expect("the same neighbours in the same order");
                for k in 0..old.n {
                    assert_eq!(new.materials >> (4 * k) & 15, old.materials >> (4 * ((from + k) % old.n)) & 15);
                }
            }
            (before, after) = (before + waits(&old), after + waits(&new));
        }
        assert!(4 * after < 3 * before, "{before} → {after}");
    }
}

//! Nodes of a brick row by row, as the product of the finest level reads and writes them.
//!
//! In a block file the nodes of a brick stand in Morton order. The solver's vectors have them in rows instead: x fastest,
//! then y, then z, brick by brick as before. Word z of a mask then holds a plane, byte y of it a row, bit x a node; what
//! a row has is contiguous, so that few instructions lay it out or put it together.

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BricksView, masks::Mask};

use super::bricks::{ALL_SLOTS, SLOTS, X0, for_each_slot, in_rows};
use super::elements::Elements;
use crate::simd::{Level, Real, same_numbers, same_numbers_mut, same_value, same_value_mut};
use pogo_formats::system::parallel::Shared;

/// Values of a plane of 9 × 9 nodes: component, y, x; the rest of a row is not used.
pub(super) type Lines<T> = [[[T; 16]; 9]; 3];
/// Sums on a plane of 9 × 9 nodes: component and y, then what each of eight elements adds to its lower node in x (0 to 7)
/// and to its upper one (16 to 23). Between them stands 0, so that node x has entries x and 15 + x.
pub(super) type Sums<T> = [[[T; 24]; 9]; 3];

/// Masks of all bricks in rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Nodes of each brick, plane by plane.
    pub node: Vec<Mask>,
    /// Elements of each brick, plane by plane.
    pub element: Vec<Mask>,
}

/// Bits of plane `z` that stand at the lower face, edge or corner d = dx + 2 dy + 4 dz of their brick.
#[inline(always)]
pub(super) fn side(plane: u64, z: usize, d: usize) -> u64 {
    let all = if d & 4 != 0 && z > 0 { 0 } else { plane };
    let all = if d & 1 != 0 { all & X0 } else { all };
    if d & 2 != 0 { all & 0xff } else { all }
}

impl Rows {
    pub fn new(bricks: &BricksView) -> Self {
        let all = |masks: &[u64]| masks.par_chunks(8).map(in_rows).collect();
        Self { node: all(bricks.node_mask), element: all(bricks.element_mask) }
    }

    /// Nodes that brick `next` has at its lower side d.
    pub fn shared(&self, next: usize, d: usize) -> usize {
        self.node[next].iter().enumerate().map(|(z, &plane)| side(plane, z, d).count_ones() as usize).sum()
    }

    /// Calls `act` with the place in its brick's rows of each node that brick `next` has at its lower side d.
    pub fn each_shared(&self, next: usize, d: usize, mut act: impl FnMut(u32)) {
        let mut before = 0;
        for (z, &plane) in self.node[next].iter().enumerate() {
            let mut remaining = side(plane, z, d);
            while remaining != 0 {
                let bit = remaining & remaining.wrapping_neg();
                act(before + (plane & (bit - 1)).count_ones());
                remaining ^= bit;
            }
            before += plane.count_ones();
        }
    }

    /// Place in its brick's rows of each node of a brick; how many there are.
    pub fn places(&self, bricks: &BricksView, brick: usize, places: &mut [u16; 512]) -> usize {
        let (mut before, mut n) = ([0; 8], 0);
        for (before, plane) in before.iter_mut().zip(&self.node[brick]) {
            *before = n;
            n += plane.count_ones();
        }
        let mut n = 0;
        for_each_slot(&bricks.node_mask[8 * brick..8 * brick + 8], &ALL_SLOTS, |slot, _| {
            let (z, bit) = (usize::from(SLOTS.voxel[slot]) / 64, SLOTS.voxel[slot] % 64);
            places[n] = (before[z] + (self.node[brick][z] & ((1 << bit) - 1)).count_ones()) as u16;
            n += 1;
        });
        n
    }

    /// Number in rows of a node.
    pub fn place(&self, bricks: &BricksView, node: u32) -> u32 {
        let brick = bricks.node_first.partition_point(|&first| first <= node) - 1;
        let [x, y, z] = bricks.node_position(node).map(|at| at as usize % 8);
        let mask = &self.node[brick];
        let before: u32 = mask[..z].iter().map(|plane| plane.count_ones()).sum();
        bricks.node_first[brick] + before + (mask[z] & ((1 << (8 * y + x)) - 1)).count_ones()
    }

    /// Numbers the nodes of elements in rows.
    pub fn renumber(&self, bricks: &BricksView, elements: &mut Elements) {
        let mut table = vec![0_u32; bricks.n_nodes()];
        let shared = Shared::new(&mut table);
        parallel::for_each(bricks.n_bricks(), &|brick| {
            let mut places = [0; 512];
            let (n, first) = (self.places(bricks, brick, &mut places), bricks.node_first[brick]);
            // SAFETY: each brick has nodes of its own.
            let table = unsafe { shared.part(first as usize..first as usize + n) };
            table.iter_mut().zip(places).for_each(|(to, place)| *to = first + u32::from(place));
        });
        elements.nodes.par_iter_mut().for_each(|nodes| *nodes = nodes.map(|node| table[node as usize]));
    }

    /// Puts the values of all nodes, (n_nodes, 3), in rows, or back.
    pub fn arrange<T: Real>(&self, bricks: &BricksView, values: &mut [T], back: bool) {
        let shared = Shared::new(values);
        parallel::for_each(bricks.n_bricks(), &|brick| {
            let range = 3 * bricks.node_first[brick] as usize..3 * bricks.node_first[brick + 1] as usize;
            // SAFETY: each brick has nodes of its own.
            self.arrange_brick(bricks, brick, unsafe { shared.part(range) }, back);
        });
    }

    /// As [`arrange`](Self::arrange), with those of one brick.
    pub fn arrange_brick<T: Real>(&self, bricks: &BricksView, brick: usize, values: &mut [T], back: bool) {
        let mut places = [0; 512];
        let n = self.places(bricks, brick, &mut places);
        let mut old = [T::default(); 3 * 512];
        old[..3 * n].copy_from_slice(values);
        for (node, &place) in places[..n].iter().enumerate() {
            let (here, in_rows) = (3 * node, 3 * usize::from(place));
            let (to, from) = if back { (here, in_rows) } else { (in_rows, here) };
            values[to..to + 3].copy_from_slice(&old[from..from + 3]);
        }
    }
}

/// Lays out the nodes of `mask`, the first of whose bytes is row `line`: `from` has three values for each of them.
#[inline]
pub(super) fn spread<T: Real>(mask: u64, line: usize, from: &[T], to: &mut Lines<T>) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(from), Some(to)) = (same_numbers(from), same_value_mut::<_, Lines<f32>>(to))
        && Level::detect().has_avx512()
    {
        // SAFETY: the machine has these instructions.
        return unsafe { avx512::spread(mask, line, from, to) };
    }
    let (mut left, mut at) = (mask, 0);
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        for a in 0..3 {
            to[a][line + bit / 8][bit % 8] = from[at + a];
        }
        at += 3;
    }
}

/// Puts the sums at the nodes of `mask` one after the other, three for each.
#[inline]
pub(super) fn collect<T: Real>(mask: u64, line: usize, from: &Sums<T>, to: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(from), Some(to)) = (same_value::<_, Sums<f32>>(from), same_numbers_mut(to))
        && Level::detect().has_avx512()
    {
        // SAFETY: the machine has these instructions.
        return unsafe { avx512::collect(mask, line, from, to) };
    }
    let (mut left, mut at) = (mask, 0);
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        for a in 0..3 {
            let row = &from[a][line + bit / 8];
            to[at + a] = row[bit % 8] + row[15 + bit % 8];
        }
        at += 3;
    }
}

/// [`spread`] and [`collect`] of f32, eight nodes at a time.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Lines, Sums};

    /// Which of 24 numbers x₀ y₀ z₀ x₁ … component `a` of eight nodes is.
    const fn take(a: i32) -> [i32; 16] {
        let mut out = [0; 16];
        let mut i = 0;
        while i < 8 {
            out[i as usize] = 3 * i + a;
            i += 1;
        }
        out
    }
    const TAKE: [[i32; 16]; 3] = [take(0), take(1), take(2)];

    /// Where the 16 numbers from `first` on of x₀ y₀ z₀ x₁ … come from: of x and y (at 16) first, then of that and z (at 16).
    const fn give(first: i32, last: bool) -> [i32; 16] {
        let mut out = [0; 16];
        let mut i = 0;
        while i < 16 {
            let (node, a) = ((first + i) / 3 % 8, (first + i) % 3);
            out[i as usize] = match (last, a) {
                (false, 1) | (true, 2) => 16 + node,
                (false, _) => node,
                (true, _) => i,
            };
            i += 1;
        }
        out
    }
    const GIVE: [[[i32; 16]; 2]; 2] = [[give(0, false), give(0, true)], [give(16, false), give(16, true)]];

    /// As [`super::spread`].
    #[target_feature(enable = "avx512f,avx512vl,avx2,popcnt")]
    pub fn spread(mask: u64, line: usize, from: &[f32], to: &mut Lines<f32>) {
        assert!(from.len() >= 3 * mask.count_ones() as usize && (line == 0 || line == 8 && mask < 256));
        // SAFETY: arrays of the right length.
        let take = unsafe { TAKE.map(|take| _mm512_loadu_epi32(take.as_ptr())) };
        let mut from = from.as_ptr();
        for row in 0..if line == 0 { 8 } else { 1 } {
            let mask = (mask >> (8 * row)) as u8;
            let n = 3 * mask.count_ones();
            let there = (1_u32 << n) - 1;
            // SAFETY: only numbers that are there are read: `n`, of which the assertion has made sure.
            let (low, high) = unsafe {
                let high = _mm512_maskz_loadu_ps((there >> 16) as u16, from.wrapping_add(16));
                (_mm512_maskz_loadu_ps(there as u16, from), high)
            };
            from = from.wrapping_add(n as usize);
            for a in 0..3 {
                let packed = _mm512_castps512_ps256(_mm512_permutex2var_ps(low, take[a], high));
                let to = &mut to[a][line + row][..8];
                // SAFETY: eight numbers.
                unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_maskz_expand_ps(mask, packed)) };
            }
        }
    }

    /// As [`super::collect`].
    #[target_feature(enable = "avx512f,avx512vl,avx2,popcnt")]
    pub fn collect(mask: u64, line: usize, from: &Sums<f32>, to: &mut [f32]) {
        assert!(to.len() >= 3 * mask.count_ones() as usize && (line == 0 || line == 8 && mask < 256));
        // SAFETY: arrays of the right length.
        let give = unsafe { GIVE.map(|give| give.map(|give| _mm512_loadu_epi32(give.as_ptr()))) };
        let mut to = to.as_mut_ptr();
        for row in 0..if line == 0 { 8 } else { 1 } {
            let mask = (mask >> (8 * row)) as u8;
            let n = 3 * mask.count_ones();
            let there = (1_u32 << n) - 1;
            let mut sums = [_mm512_setzero_ps(); 3];
            for a in 0..3 {
                let row = &from[a][line + row];
                // SAFETY: eight numbers each.
                let sum =
                    unsafe { _mm256_add_ps(_mm256_loadu_ps(row.as_ptr()), _mm256_loadu_ps(row[15..23].as_ptr())) };
                sums[a] = _mm512_castps256_ps512(_mm256_maskz_compress_ps(mask, sum));
            }
            let [low, high] = give.map(|give| {
                let xy = _mm512_permutex2var_ps(sums[0], give[0], sums[1]);
                _mm512_permutex2var_ps(xy, give[1], sums[2])
            });
            // SAFETY: `n` numbers are written, of which the assertion has made sure.
            unsafe {
                _mm512_mask_storeu_ps(to, there as u16, low);
                _mm512_mask_storeu_ps(to.wrapping_add(16), (there >> 16) as u16, high);
            }
            to = to.wrapping_add(n as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_laid_out_and_put_together(mask: u64, thin: u64, single in any::<bool>()) {
            let (mask, line) = if single { (mask & 0xff, 8) } else { (mask & thin, 0) };
            let n = mask.count_ones() as usize;
            let values: Vec<f32> = (0..3 * n).map(|i| i as f32 + 1.0).collect();
            let (mut lines, mut sums) = ([[[0.0_f32; 16]; 9]; 3], [[[0.0_f32; 24]; 9]; 3]);
            spread(mask, line, &values, &mut lines);
            let mut next = 0;
            for bit in 0..64 {
                for a in 0..3 {
                    let expected = if mask >> bit & 1 == 1 { values[3 * next + a] } else { 0.0 };
                    prop_assert_eq!(lines[a][(line + bit / 8).min(8)][bit % 8], expected);
                }
                next += usize::from(mask >> bit & 1 == 1);
                if line == 8 && bit == 7 {
                    break;
                }
            }
            for a in 0..3 {
                for y in 0..9 {
                    for x in 0..8 {
                        sums[a][y][x] = 0.75 * lines[a][y][x];
                        if x > 0 {
                            sums[a][y][15 + x] = 0.25 * lines[a][y][x];
                        }
                    }
                    sums[a][y][0] = lines[a][y][0];
                }
            }
            let mut back = vec![-1.0_f32; 3 * n + 1];
            collect(mask, line, &sums, &mut back[..3 * n]);
            prop_assert_eq!(&back[..3 * n], &values);
            prop_assert_eq!(back[3 * n], -1.0);
        }
    }
}

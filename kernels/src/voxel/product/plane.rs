//! Planes of nodes: from the vectors of bricks to rows of nine nodes, and sums back.

use crate::simd::Real;
use crate::voxel::rows::{Lines, Sums, collect, side, spread};

/// Memory of one thread for a brick. Planes of nodes with even and odd z take turns.
#[repr(align(64))]
pub(super) struct BrickMemory<T, const N: usize> {
    pub displacements: [Lines<T>; 2],
    pub forces: [Sums<T>; 2],
    /// Stiffness of the elements in each of `N` parts, (z, y, x), where they differ.
    pub stiffness: [[[[T; 8]; 8]; 8]; N],
    /// Sums on the brick's own nodes.
    pub y: [T; 3 * 512],
}

impl<T: Real, const N: usize> BrickMemory<T, N> {
    pub fn new() -> Self {
        let zero = T::default();
        Self {
            displacements: [[[[zero; 16]; 9]; 3]; 2],
            forces: [[[[zero; 24]; 9]; 3]; 2],
            stiffness: [[[[zero; 8]; 8]; 8]; N],
            y: [zero; 3 * 512],
        }
    }
}

/// Lays out the nodes `word` of a plane of a brick (c = 0), or of the next brick in x (1), y (2) or both (3), of which the
/// first row or column is needed. `from` has three values for each node of `word`.
#[inline(always)]
pub(super) fn lay_out<T: Real>(c: usize, word: u64, from: &[T], to: &mut Lines<T>) {
    if c & 1 == 0 {
        return spread(side(word, 0, c), 4 * c, from, to);
    }
    let mut remaining = side(word, 0, c);
    while remaining != 0 {
        let bit = remaining.trailing_zeros() as usize;
        remaining &= remaining - 1;
        let (line, at) = (if c == 1 { bit / 8 } else { 8 }, 3 * (word & ((1 << bit) - 1)).count_ones() as usize);
        for a in 0..3 {
            to[a][line][8] = from[at + a];
        }
    }
}

/// Collects the sums on the nodes `mask` of such a plane.
#[inline(always)]
pub(super) fn put_together<T: Real>(c: usize, mask: u64, from: &Sums<T>, to: &mut [T]) {
    if c & 1 == 0 {
        return collect(mask, 4 * c, from, to);
    }
    let mut remaining = mask;
    for to in to.chunks_exact_mut(3) {
        let line = if c == 1 { remaining.trailing_zeros() as usize / 8 } else { 8 };
        remaining &= remaining.wrapping_sub(1);
        for a in 0..3 {
            to[a] = from[a][line][23];
        }
    }
}

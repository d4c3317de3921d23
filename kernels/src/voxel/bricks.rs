//! Slots of a brick (8 × 8 × 8 voxels, in Morton order), and its neighbours.

use std::sync::LazyLock;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::voxel::{BricksView, NO_BRICK, masks::Mask, morton_position};

/// Positions of the 512 slots of a brick.
pub(crate) struct Slots {
    /// Index of each slot's voxel, (z, y, x) in 8 × 8 × 8.
    pub voxel: [u16; 512],
    /// Mask of the slots at the upper face, edge or corner d = dx + 2 dy + 4 dz: those with x = 7 if dx is set, and so on.
    pub high: [[u64; 8]; 8],
}

pub(crate) static SLOTS: LazyLock<Slots> = LazyLock::new(|| {
    let mut slots = Slots { voxel: [0; 512], high: [[0; 8]; 8] };
    for slot in 0..512 {
        let at = morton_position(slot as u64).map(|p| p as usize);
        slots.voxel[slot] = ((at[2] * 8 + at[1]) * 8 + at[0]) as u16;
        for d in (0..8).filter(|d| (0..3).all(|m| d >> m & 1 == 0 || at[m] == 7)) {
            slots.high[d][slot / 64] |= 1 << (slot % 64);
        }
    }
    slots
});

/// The mask that selects every slot.
pub(crate) const ALL_SLOTS: [u64; 8] = [u64::MAX; 8];

/// The next brick in the positive directions of d = dx + 2 dy + 4 dz.
pub(crate) fn above(bricks: &BricksView, brick: usize, d: usize) -> Option<usize> {
    let next = bricks.neighbours[27 * brick + 13 + (d & 1) + 3 * (d >> 1 & 1) + 9 * (d >> 2)];
    (next != NO_BRICK).then_some(next as usize)
}

/// The next brick in the negative directions of d = dx + 2 dy + 4 dz.
pub(crate) fn below(bricks: &BricksView, brick: usize, d: usize) -> Option<usize> {
    let next = bricks.neighbours[27 * brick + 13 - (d & 1) - 3 * (d >> 1 & 1) - 9 * (d >> 2)];
    (next != NO_BRICK).then_some(next as usize)
}

/// Calls `act(slot, rank)` for each set bit of `mask & select`. The rank is the number of set bits of `mask` before it.
#[inline(always)]
pub(crate) fn for_each_slot(mask: &[u64], select: &[u64; 8], mut act: impl FnMut(usize, usize)) {
    let mut before = 0;
    for word in 0..8 {
        let whole = mask[word];
        let mut remaining = whole & select[word];
        while remaining != 0 {
            let bit = remaining.trailing_zeros();
            act(64 * word + bit as usize, before + (whole & ((1 << bit) - 1)).count_ones() as usize);
            remaining &= remaining - 1;
        }
        before += whole.count_ones() as usize;
    }
}

/// Bits of a plane that stand at x = 0.
pub(crate) const X0: u64 = 0x0101_0101_0101_0101;

/// A mask of slots plane by plane: bit 8 y + x of word z.
pub(crate) fn in_rows(mask: &[u64]) -> Mask {
    let mut out = [0; 8];
    for (word, cells) in mask.iter().enumerate() {
        // Eight consecutive slots are a cell of 2 × 2 × 2 voxels.
        for (cell, octants) in cells.to_le_bytes().into_iter().enumerate() {
            let lowest = SLOTS.voxel[64 * word + 8 * cell];
            let (z, shift) = (usize::from(lowest / 64), lowest % 64);
            let two_rows = |octants: u8| (u64::from(octants & 3) | u64::from(octants & 12) << 6) << shift;
            out[z] |= two_rows(octants);
            out[z + 1] |= two_rows(octants >> 4);
        }
    }
    out
}

/// Number of pairs of nodes that share a voxel, those of a node with itself counted once and others twice: the non-zero blocks of
/// the stiffness.
///
/// Across a voxel there are eight such pairs, across a face four, along an edge two.
pub(crate) fn count_blocks(bricks: &BricksView) -> usize {
    let planes: Vec<Mask> = bricks.element_mask.par_chunks(8).map(in_rows).collect();
    let below_x = |own: u64, low: u64| own << 1 & !X0 | low >> 7 & X0;
    let below_y = |own: u64, low: u64| own << 8 | low >> 56;
    let of_brick = |brick: usize| {
        // At each place of plane z the voxel, and those below it in x, in y, and in both.
        let around = |d: usize, z: usize| {
            let of = |e: usize| below(bricks, brick, d | e).map_or(0, |brick| planes[brick][z]);
            let (own, x, y, xy) = (of(0), of(1), of(2), of(3));
            let (low_y, low_xy) = (below_y(own, y), below_y(x, xy));
            [own, below_x(own, x), low_y, below_x(low_y, low_xy)]
        };
        let mut under = around(4, 7);
        let mut sum = 0;
        for z in 0..8 {
            let ([a, x, y, xy], [b, bx, by, _]) = (around(0, z), under);
            let (faces, edges) = ([a | x, a | y, a | b], [a | x | y | xy, a | x | b | bx, a | y | b | by]);
            let count = |bits: &[u64]| bits.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
            sum += 8 * count(&[a]) + 4 * count(&faces) + 2 * count(&edges);
            under = [a, x, y, xy];
        }
        sum
    };
    (0..bricks.n_bricks()).into_par_iter().map(of_brick).sum::<usize>() + bricks.n_nodes()
}

//! Slots of a brick (8 × 8 × 8 voxels, in Morton order), and its neighbours.

use std::sync::LazyLock;

use pogo_formats::voxel::{BricksView, NO_BRICK, morton_position};

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

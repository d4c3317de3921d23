//! Where things stand in a brick and its neighbours.

use std::sync::LazyLock;

use pogo_formats::voxel::{Bricks, BricksView, NO_BRICK, morton_code, morton_position};

/// Nodes along an edge of a brick, those of the next bricks included.
pub(super) const N: usize = 9;
/// Nodes of a brick, those of the next bricks included.
pub(super) const N3: usize = N * N * N;

/// Positions of the 512 slots of a brick.
pub(super) struct Slots {
    /// Index of each slot's voxel, (z, y, x) in 8 × 8 × 8.
    pub voxel: [u16; 512],
    /// Index of each slot's node, (z, y, x) in 9 × 9 × 9.
    pub node: [u16; 512],
    /// Slots that stand at the lower face, edge or corner d = dx + 2 dy + 4 dz: x = 0 where dx is set, and so on.
    pub low: [[u64; 8]; 8],
    /// What d adds to `node`.
    pub shift: [u16; 8],
}

/// The one and only.
pub(super) static SLOTS: LazyLock<Slots> = LazyLock::new(|| {
    let mut slots = Slots { voxel: [0; 512], node: [0; 512], low: [[0; 8]; 8], shift: [0; 8] };
    for slot in 0..512 {
        let [x, y, z] = morton_position(slot as u64).map(|p| p as usize);
        slots.voxel[slot] = ((z * 8 + y) * 8 + x) as u16;
        slots.node[slot] = ((z * N + y) * N + x) as u16;
        for d in 0..8 {
            if (d & 1 == 0 || x == 0) && (d & 2 == 0 || y == 0) && (d & 4 == 0 || z == 0) {
                slots.low[d][slot / 64] |= 1 << (slot % 64);
            }
        }
    }
    slots.shift = std::array::from_fn(|d| (8 * ((d & 1) + N * (d >> 1 & 1) + N * N * (d >> 2))) as u16);
    slots
});

/// The neighbour of a brick at d = dx + 2 dy + 4 dz above it in those directions.
pub(super) fn above(bricks: &BricksView, brick: usize, d: usize) -> Option<usize> {
    let next = bricks.neighbours[27 * brick + 13 + (d & 1) + 3 * (d >> 1 & 1) + 9 * (d >> 2)];
    (next != NO_BRICK).then_some(next as usize)
}

/// The neighbour of a brick at d = dx + 2 dy + 4 dz below it in those directions.
pub(super) fn below(bricks: &BricksView, brick: usize, d: usize) -> Option<usize> {
    let next = bricks.neighbours[27 * brick + 13 - (d & 1) - 3 * (d >> 1 & 1) - 9 * (d >> 2)];
    (next != NO_BRICK).then_some(next as usize)
}

/// Calls `act(slot, rank)` for each set bit of `mask & select`; `rank` counts all set bits of `mask` before it.
#[inline(always)]
pub(super) fn for_each_slot(mask: &[u64], select: &[u64; 8], mut act: impl FnMut(usize, usize)) {
    let mut before = 0;
    for word in 0..8 {
        let whole = mask[word];
        let mut left = whole & select[word];
        while left != 0 {
            let bit = left.trailing_zeros();
            act(64 * word + bit as usize, before + (whole & ((1 << bit) - 1)).count_ones() as usize);
            left &= left - 1;
        }
        before += whole.count_ones() as usize;
    }
}

/// Bricks of the elements with these Morton codes, ascending.
pub fn bricks_of(codes: &[u64]) -> Bricks {
    let mut node_codes: Vec<u64> = Vec::with_capacity(2 * codes.len());
    for &code in codes {
        let [x, y, z] = morton_position(code);
        node_codes.extend((0..8).map(|c| morton_code([x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)])));
    }
    node_codes.sort_unstable();
    node_codes.dedup();
    // Every element's lowest node is there, so the nodes' bricks are all bricks.
    let mut bricks = Bricks::default();
    for &code in &node_codes {
        if bricks.code.last() != Some(&(code >> 9)) {
            bricks.code.push(code >> 9);
            bricks.node_mask.extend([0; 8]);
        }
        let brick = bricks.code.len() - 1;
        bricks.node_mask[8 * brick + (code as usize >> 6 & 7)] |= 1 << (code & 63);
    }
    bricks.element_mask = vec![0; 8 * bricks.code.len()];
    let mut brick = 0;
    for &code in codes {
        while bricks.code[brick] != code >> 9 {
            brick += 1;
        }
        bricks.element_mask[8 * brick + (code as usize >> 6 & 7)] |= 1 << (code & 63);
    }
    let first = |masks: &[u64]| {
        let mut sum = 0;
        let mut first = vec![0];
        first.extend(masks.chunks_exact(8).map(|mask| {
            sum += mask.iter().map(|word| word.count_ones()).sum::<u32>();
            sum
        }));
        first
    };
    bricks.element_first = first(&bricks.element_mask);
    bricks.node_first = first(&bricks.node_mask);
    bricks.neighbours = vec![NO_BRICK; 27 * bricks.code.len()];
    for brick in 0..bricks.code.len() {
        let position = morton_position(bricks.code[brick]).map(i64::from);
        for n in 0..27 {
            let offset = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            let p: [i64; 3] = std::array::from_fn(|m| position[m] + offset[m]);
            if p.iter().all(|&p| p >= 0)
                && let Ok(found) = bricks.code.binary_search(&morton_code(p.map(|p| p as u32)))
            {
                bricks.neighbours[27 * brick + n as usize] = found as u32;
            }
        }
    }
    bricks
}

//! Arithmetic on the 512 bits of a brick, in Morton order.
//!
//! Slot s has bits x₀ y₀ z₀ x₁ y₁ z₁ x₂ y₂ z₂ from the lowest on: the last three choose one of eight words, the others a
//! bit of it. A step along axis a (0, 1, 2) is therefore a few shifts of words, with no table.

/// 512 bits of a brick.
pub type Mask = [u64; 8];

/// Bits of a word whose bit a of the coordinate's lowest part is set, for each axis: x₀, y₀, z₀.
const LOW: [u64; 3] = [0xaaaa_aaaa_aaaa_aaaa, 0xcccc_cccc_cccc_cccc, 0xf0f0_f0f0_f0f0_f0f0];
/// The same for x₁, y₁, z₁.
const HIGH: [u64; 3] = [0xff00_ff00_ff00_ff00, 0xffff_0000_ffff_0000, 0xffff_ffff_0000_0000];

/// The bits of a word one step up the axis, those that stay in it.
const fn up_inside(word: u64, axis: usize) -> u64 {
    let (low, high) = (LOW[axis], HIGH[axis]);
    (word & !low) << (1 << axis) | (word & low & !high) << ((8 << axis) - (1 << axis))
}

/// The bits of a word one step up the axis, those that leave it, where they are in the next.
const fn up_across(word: u64, axis: usize) -> u64 {
    (word & LOW[axis] & HIGH[axis]) >> ((8 << axis) + (1 << axis))
}

/// `own` and what stands one step further down the axis: `below` is the brick under it.
fn spread_up(own: &Mask, below: &Mask, axis: usize) -> Mask {
    let half = 1 << axis;
    std::array::from_fn(|word| {
        let from = if word & half != 0 { own[word ^ half] } else { below[word ^ half] };
        own[word] | up_inside(own[word], axis) | up_across(from, axis)
    })
}

/// Nodes of a brick: (i, j, k) is one if an element is among (i, j, k) − {0, 1}³.
///
/// `around[c]` holds the elements of the brick one down each axis whose bit is set in c; `around[0]` is the brick itself.
pub fn node_mask(around: &[Mask; 8]) -> Mask {
    let along_x: [Mask; 4] = std::array::from_fn(|c| spread_up(&around[2 * c], &around[2 * c + 1], 0));
    let along_y: [Mask; 2] = std::array::from_fn(|c| spread_up(&along_x[2 * c], &along_x[2 * c + 1], 1));
    spread_up(&along_y[0], &along_y[1], 2)
}

/// Elements of the next coarser level, 64 slots: bit b is set if one of slots 8 b … 8 b + 7 is.
pub fn coarse_word(fine: &Mask) -> u64 {
    let mut coarse = 0;
    for (word, &bits) in fine.iter().enumerate() {
        let any = bits | bits >> 4 & 0x0f0f_0f0f_0f0f_0f0f;
        let any = any | any >> 2 & 0x3333_3333_3333_3333;
        let any = (any | any >> 1) & 0x0101_0101_0101_0101;
        // Gathers the lowest bit of each byte into the top byte.
        coarse |= (any.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * word);
    }
    coarse
}

/// Whether an element lies against the upper sides of the brick on all axes whose bit is set in c: a face, an edge or a
/// corner.
pub fn touches_upper(mask: &Mask, c: usize) -> bool {
    let side = (0..3).filter(|axis| c >> axis & 1 == 1).fold(!0, |side, axis| side & LOW[axis] & HIGH[axis]);
    (0..8).any(|word| word & c == c && mask[word] & side != 0)
}

/// Bits of a word of a brick whose coordinate is 0 on all axes whose bit is set in c.
pub const fn lower_side(word: usize, c: usize) -> u64 {
    if word & c != 0 {
        return 0;
    }
    let mut side = !0;
    let mut axis = 0;
    while axis < 3 {
        if c >> axis & 1 == 1 {
            side &= !(LOW[axis] | HIGH[axis]);
        }
        axis += 1;
    }
    side
}

/// Whether all set slots have a coordinate below `limit` (1 to 8) on the axis.
pub fn below(mask: &Mask, axis: usize, limit: u32) -> bool {
    (0..8).all(|word| {
        (0..64).all(|bit| {
            let slot = (64 * word + bit) as u64;
            mask[word] >> bit & 1 == 0 || super::morton_position(slot)[axis] < limit
        })
    })
}

/// Number of set bits.
pub fn count(mask: &[u64]) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{morton_code, morton_position};
    use super::*;
    use proptest::prelude::*;

    fn has(mask: &Mask, slot: usize) -> bool {
        mask[slot / 64] >> (slot % 64) & 1 == 1
    }

    proptest! {
        #[test]
        fn nodes_as_by_coordinates(words: [Mask; 8], thin: [Mask; 8]) {
            let around: [Mask; 8] = std::array::from_fn(|c| std::array::from_fn(|w| words[c][w] & thin[c][w]));
            // (i, j, k) from −8 to 7.
            let element = |at: [i32; 3]| {
                let brick = (0..3).map(|a| usize::from(at[a] < 0) << a).sum::<usize>();
                has(&around[brick], morton_code(at.map(|x| x.rem_euclid(8) as u32)) as usize)
            };
            let nodes = node_mask(&around);
            for slot in 0..512 {
                let at = morton_position(slot as u64).map(|x| x as i32);
                let expected = (0..8).any(|c| element([at[0] - (c & 1), at[1] - (c >> 1 & 1), at[2] - (c >> 2)]));
                prop_assert_eq!(has(&nodes, slot), expected, "{:?}", at);
            }
        }

        #[test]
        fn coarse_bits(mask: Mask, thin: Mask, thinner: Mask) {
            let mask: Mask = std::array::from_fn(|w| mask[w] & thin[w] & thinner[w]);
            let coarse = coarse_word(&mask);
            for b in 0..64 {
                prop_assert_eq!(coarse >> b & 1 == 1, (8 * b..8 * b + 8).any(|slot| has(&mask, slot)));
            }
        }

        #[test]
        fn upper_sides(slot in 0_usize..512) {
            let mut mask = [0; 8];
            mask[slot / 64] = 1 << (slot % 64);
            let at = morton_position(slot as u64);
            for c in 0..8 {
                prop_assert_eq!(touches_upper(&mask, c), (0..3).all(|axis| c >> axis & 1 == 0 || at[axis] == 7));
            }
            for c in 0..8 {
                let lower = mask[slot / 64] & lower_side(slot / 64, c) != 0;
                prop_assert_eq!(lower, (0..3).all(|axis| c >> axis & 1 == 0 || at[axis] == 0));
            }
            for (axis, &x) in at.iter().enumerate() {
                prop_assert!(below(&mask, axis, x + 1) && (x == 0 || !below(&mask, axis, x)));
            }
            prop_assert_eq!(count(&mask), 1);
        }
    }
}

//! Morton codes of positions on a grid (z-order; x in the lowest bit), up to 21 bits an axis.

/// Spreads the lowest 21 bits so that two zeros stand between each.
const fn spread(value: u32) -> u64 {
    let mut v = value as u64 & 0x1f_ffff;
    v = (v | v << 32) & 0x001f_0000_0000_ffff;
    v = (v | v << 16) & 0x001f_0000_ff00_00ff;
    v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
    v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
    (v | v << 2) & 0x1249_2492_4924_9249
}

const fn gather(code: u64) -> u32 {
    let mut v = code & 0x1249_2492_4924_9249;
    v = (v | v >> 2) & 0x10c3_0c30_c30c_30c3;
    v = (v | v >> 4) & 0x100f_00f0_0f00_f00f;
    v = (v | v >> 8) & 0x001f_0000_ff00_00ff;
    v = (v | v >> 16) & 0x001f_0000_0000_ffff;
    (v | v >> 32) as u32 & 0x1f_ffff
}

/// Morton code of (i, j, k), each below 2²¹.
pub const fn morton_code(position: [u32; 3]) -> u64 {
    spread(position[0]) | spread(position[1]) << 1 | spread(position[2]) << 2
}

/// (i, j, k) of a Morton code.
pub const fn morton_position(code: u64) -> [u32; 3] {
    [gather(code), gather(code >> 1), gather(code >> 2)]
}

/// Codes of the eight corners of voxel (i, j, k) from its own: corner c is (i, j, k) + (c & 1, c >> 1 & 1, c >> 2).
pub const fn morton_corners(code: u64) -> [u64; 8] {
    const X: u64 = 0x1249_2492_4924_9249;
    let (x, y, z) = (code & X, code & X << 1, code & X << 2);
    // A carry runs over the bits of the other axes where those are set.
    let x1 = (x | !X).wrapping_add(1) & X;
    let y1 = (y | !(X << 1)).wrapping_add(1) & X << 1;
    let z1 = (z | !(X << 2)).wrapping_add(1) & X << 2;
    [x | y | z, x1 | y | z, x | y1 | z, x1 | y1 | z, x | y | z1, x1 | y | z1, x | y1 | z1, x1 | y1 | z1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_cube() {
        let codes: Vec<u64> = (0..8).map(|c| morton_code([c & 1, c >> 1 & 1, c >> 2])).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(morton_code([2, 0, 0]), 8);
    }

    proptest! {
        #[test]
        fn there_and_back(position in [0_u32..1 << 21, 0..1 << 21, 0..1 << 21]) {
            prop_assert_eq!(morton_position(morton_code(position)), position);
        }

        #[test]
        fn corners(position in [0_u32..(1 << 21) - 1, 0..(1 << 21) - 1, 0..(1 << 21) - 1]) {
            let [i, j, k] = position;
            let expected: [u64; 8] = std::array::from_fn(|c| {
                let c = c as u32;
                morton_code([i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)])
            });
            prop_assert_eq!(morton_corners(morton_code(position)), expected);
        }

        #[test]
        fn bit_by_bit(position in [0_u32..1 << 21, 0..1 << 21, 0..1 << 21]) {
            let plain = (0..63).fold(0_u64, |code, bit| code | u64::from(position[bit % 3] >> (bit / 3) & 1) << bit);
            prop_assert_eq!(morton_code(position), plain);
        }
    }
}

//! Blocks in 16 bits a number.

/// Largest whole number that is stored.
const WHOLE: f64 = 32767.0;

/// e of the least power of two 2^e whose 32767-fold `most` does not exceed, as far as an f32 has it.
pub(crate) fn exponent(most: f64) -> i32 {
    if most > 0.0 { ((most / WHOLE).log2().ceil() as i32).clamp(-90, 120) } else { 0 }
}

/// ⌈log₂ x⌉ of a positive number, as the library's logarithm says.
fn ceiling(x: f64) -> i32 {
    /// Bits of the fraction below which the logarithm may be rounded to a whole number.
    const NEAR: u64 = 1 << 12;
    let (exponent, fraction) = ((x.to_bits() >> 52) as i32, x.to_bits() & ((1 << 52) - 1));
    if exponent == 0 || fraction < NEAR { x.log2().ceil() as i32 } else { exponent - 1022 }
}

/// x to the nearest whole number, halves away from 0, not beyond [`WHOLE`].
fn nearest(x: f64) -> i16 {
    // Not 0.5, to which the number below 0.5 would be rounded up.
    const HALF: f64 = 0.5_f64.next_down();
    let whole = ((x.abs() + HALF) as i32).min(WHOLE as i32);
    (if x < 0.0 { -whole } else { whole }) as i16
}

/// p from 0 to 31 and whole numbers, such that the block is 2^(top − p) times these, to rounding.
pub(crate) fn rounded(block: &[f64; 9], top: i32) -> (u32, [i16; 9]) {
    let large = block.iter().fold(0.0_f64, |large, v| large.max(v.abs()));
    let own = if large > 0.0 { ceiling(large / WHOLE) } else { top };
    let power = (top - own).clamp(0, 31);
    let by = f64::from_bits(((1023 + power - top) as u64) << 52);
    (power as u32, block.map(|v| nearest(v * by)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::tests::random;

    #[test]
    fn numbers_are_rounded_as_by_the_library() {
        let powers = (-200..200).map(|e| f64::from(e).exp2());
        let near = powers.flat_map(|x| [x, x.next_up(), x.next_down(), x * (1.0 + 1e-13), x * (1.0 + 1e-11), 1.5 * x]);
        for x in near {
            assert_eq!(ceiling(x), x.log2().ceil() as i32, "{x:e}");
        }
        let halves = (-40_000..40_000).map(|i| 0.5 * f64::from(i));
        let any = (0..100_000).map(|i| 7e4 * (random(i) - 0.5));
        for x in halves.chain(any).flat_map(|x| [x, x.next_up(), x.next_down()]) {
            assert_eq!(nearest(x), x.round().clamp(-WHOLE, WHOLE) as i16, "{x}");
        }
    }
}

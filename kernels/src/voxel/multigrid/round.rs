//! Blocks in 16 bits a number.

/// Largest whole number that is stored.
const WHOLE: f64 = 32767.0;

/// e of the least power of two 2^e whose 32767-fold `most` does not exceed, as far as an f32 has it.
pub(crate) fn exponent(most: f64) -> i32 {
    if most > 0.0 { ((most / WHOLE).log2().ceil() as i32).clamp(-90, 120) } else { 0 }
}

/// p from 0 to 31 and whole numbers, such that the block is 2^(top − p) times these, to rounding.
pub(crate) fn rounded(block: &[f64; 9], top: i32) -> (u32, [i16; 9]) {
    let large = block.iter().fold(0.0_f64, |large, v| large.max(v.abs()));
    let own = if large > 0.0 { (large / WHOLE).log2().ceil() as i32 } else { top };
    let power = (top - own).clamp(0, 31);
    let by = f64::from(power - top).exp2();
    (power as u32, block.map(|v| (v * by).round().clamp(-WHOLE, WHOLE) as i16))
}

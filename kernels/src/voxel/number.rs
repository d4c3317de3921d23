//! Eights of numbers, numbers of 16 bits, and slices that threads share.

use crate::simd::{Array, InstructionSet, Real, same_numbers, same_value_mut};

/// Eight numbers, one an element.
pub(super) type Eight<T, I> = Array<T, 8, I>;

/// Sign, exponent and seven more bits of the f32 that is nearest; not for the largest numbers of all.
#[inline(always)]
pub(super) fn to_half<T: Real>(value: T) -> u16 {
    (value.to_f32().to_bits().wrapping_add(0x8000) >> 16) as u16
}

/// The number that [`to_half`] stored, exactly.
#[inline(always)]
pub(super) fn from_half<T: Real>(half: u16) -> T {
    T::from_f32(f32::from_bits(u32::from(half) << 16))
}

/// Vectors of eight nodes, component by component.
#[inline(always)]
pub(super) fn gather<T: Real, I: InstructionSet>(values: &[T], nodes: &[u32; 8]) -> [[T; 8]; 3] {
    let mut out = [[T::default(); 8]; 3];
    #[cfg(target_arch = "x86_64")]
    if I::AVX512
        && let (Some(values), Some(singles)) = (same_numbers(values), same_value_mut::<_, [[f32; 8]; 3]>(&mut out))
    {
        // SAFETY: the kernel runs at the level of these instructions.
        *singles = unsafe { gather_avx512(values, nodes) };
        return out;
    }
    for (lane, &node) in nodes.iter().enumerate() {
        let from = &values[3 * node as usize..3 * node as usize + 3];
        (0..3).for_each(|a| out[a][lane] = from[a]);
    }
    out
}

/// Loads the vectors as they are and transposes them.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2")]
fn gather_avx512(values: &[f32], nodes: &[u32; 8]) -> [[f32; 8]; 3] {
    use std::arch::x86_64::*;
    let load = |lane: usize| {
        let from = &values[3 * nodes[lane] as usize..3 * nodes[lane] as usize + 3];
        // SAFETY: three numbers.
        unsafe { _mm_maskz_loadu_ps(7, from.as_ptr()) }
    };
    let pair = |lane: usize| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(load(lane)), load(lane + 4));
    let rows = [pair(0), pair(1), pair(2), pair(3)];
    let (low, high) = (_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpacklo_ps(rows[2], rows[3]));
    let z = (_mm256_unpackhi_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[2], rows[3]));
    let columns = [
        _mm256_shuffle_ps::<0b01_00_01_00>(low, high),
        _mm256_shuffle_ps::<0b11_10_11_10>(low, high),
        _mm256_shuffle_ps::<0b01_00_01_00>(z.0, z.1),
    ];
    let mut out = [[0.0; 8]; 3];
    for (to, column) in out.iter_mut().zip(columns) {
        // SAFETY: eight numbers.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), column) };
    }
    out
}

/// The Walsh-Hadamard transform of eight values.
#[inline(always)]
pub(super) fn walsh<T: Real, I: InstructionSet>(v: [Eight<T, I>; 8]) -> [Eight<T, I>; 8] {
    let x = [v[0] + v[1], v[0] - v[1], v[2] + v[3], v[2] - v[3], v[4] + v[5], v[4] - v[5], v[6] + v[7], v[6] - v[7]];
    let y = [x[0] + x[2], x[1] + x[3], x[0] - x[2], x[1] - x[3], x[4] + x[6], x[5] + x[7], x[4] - x[6], x[5] - x[7]];
    [y[0] + y[4], y[1] + y[5], y[2] + y[6], y[3] + y[7], y[0] - y[4], y[1] - y[5], y[2] - y[6], y[3] - y[7]]
}

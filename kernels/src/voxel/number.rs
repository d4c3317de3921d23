//! Numbers and eights of numbers that the voxel kernels compute in.

use std::ops::{Add, Mul, Sub};

use super::rows;
use crate::device::Plain;

/// `f32` or `f64`.
#[allow(private_bounds)]
pub trait Number:
    Copy
    + Send
    + Sync
    + Default
    + PartialEq
    + PartialOrd
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + std::ops::AddAssign
    + Plain
    + sealed::Sealed
    + 'static
{
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// Exact.
    fn from_i16(value: i16) -> Self;
    /// Sign, exponent and seven more bits of the f32 that is nearest.
    fn to_half(self) -> u16;
    /// Exact.
    fn from_half(half: u16) -> Self;
    #[doc(hidden)]
    fn fused(self, b: Self, c: Self) -> Self;
    /// [`rows::spread`].
    #[doc(hidden)]
    fn spread(mask: u64, line: usize, from: &[Self], to: &mut [[[Self; 16]; 9]; 3]);
    /// [`rows::collect`].
    #[doc(hidden)]
    fn collect(mask: u64, line: usize, from: &[[[Self; 24]; 9]; 3], to: &mut [Self]);
    /// Vectors of eight nodes, component by component; `WIDE`: the machine is [`Machine::Avx512`].
    #[doc(hidden)]
    fn gather<const WIDE: bool>(values: &[Self], nodes: &[u32; 8]) -> [[Self; 8]; 3];
    /// The same numbers, if they are f32.
    #[doc(hidden)]
    fn singles(values: &[Self]) -> Option<&[f32]>;
    /// As [`singles`](Self::singles).
    #[doc(hidden)]
    fn singles_mut(values: &mut [Self]) -> Option<&mut [f32]>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! number {
    ($type:ty, $spread:path, $collect:path, $gather:ident, $singles:path) => {
        impl sealed::Sealed for $type {}
        impl Number for $type {
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn from_i16(value: i16) -> Self {
                value.into()
            }
            #[inline(always)]
            fn to_half(self) -> u16 {
                // To nearest, but for the largest numbers of all, which do not come here.
                ((self as f32).to_bits().wrapping_add(0x8000) >> 16) as u16
            }
            #[inline(always)]
            fn from_half(half: u16) -> Self {
                f32::from_bits(u32::from(half) << 16).into()
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn spread(mask: u64, line: usize, from: &[Self], to: &mut [[[Self; 16]; 9]; 3]) {
                $spread(mask, line, from, to);
            }
            #[inline(always)]
            fn collect(mask: u64, line: usize, from: &[[[Self; 24]; 9]; 3], to: &mut [Self]) {
                $collect(mask, line, from, to);
            }
            #[inline(always)]
            fn gather<const WIDE: bool>(values: &[Self], nodes: &[u32; 8]) -> [[Self; 8]; 3] {
                $gather::<WIDE>(values, nodes)
            }
            #[inline(always)]
            fn singles(values: &[Self]) -> Option<&[f32]> {
                $singles(values)
            }
            #[inline(always)]
            fn singles_mut(values: &mut [Self]) -> Option<&mut [f32]> {
                $singles(values)
            }
        }
    };
}
number!(f32, rows::spread_f32, rows::collect_f32, gather_f32, Some);
number!(f64, rows::spread, rows::collect, gather_f64, none);

fn none<A, B>(_: A) -> Option<B> {
    None
}

#[inline(always)]
fn gather<T: Number>(values: &[T], nodes: &[u32; 8]) -> [[T; 8]; 3] {
    let mut out = [[T::default(); 8]; 3];
    for (lane, &node) in nodes.iter().enumerate() {
        let from = &values[3 * node as usize..3 * node as usize + 3];
        (0..3).for_each(|a| out[a][lane] = from[a]);
    }
    out
}

#[inline(always)]
fn gather_f64<const WIDE: bool>(values: &[f64], nodes: &[u32; 8]) -> [[f64; 8]; 3] {
    gather(values, nodes)
}

#[inline(always)]
fn gather_f32<const WIDE: bool>(values: &[f32], nodes: &[u32; 8]) -> [[f32; 8]; 3] {
    #[cfg(target_arch = "x86_64")]
    if WIDE {
        // SAFETY: the machine has what it is compiled for, as `WIDE` says.
        return unsafe { gather_wide(values, nodes) };
    }
    gather(values, nodes)
}

/// Loads the vectors as they are and exchanges lanes and components.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2")]
fn gather_wide(values: &[f32], nodes: &[u32; 8]) -> [[f32; 8]; 3] {
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

/// Instructions that the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    /// What all machines have.
    Any,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 with all that came with its second generation: twice the registers, and masks.
    Avx512,
}

/// What this machine has.
#[inline]
pub(super) fn machine() -> Machine {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            let wide = has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq");
            return if wide { Machine::Avx512 } else { Machine::Avx2 };
        }
    }
    Machine::Any
}

/// Eight numbers, one an element. `FMA`: the code is compiled for machines that multiply and add in one instruction.
#[derive(Clone, Copy)]
pub(super) struct Eight<T, const FMA: bool>(pub [T; 8]);

impl<T: Number, const FMA: bool> Eight<T, FMA> {
    #[inline(always)]
    pub fn load(from: &[T]) -> Self {
        let mut out = [T::default(); 8];
        out.copy_from_slice(&from[..8]);
        Self(out)
    }

    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Self([value; 8])
    }

    /// self × b + c.
    #[inline(always)]
    pub fn fma(self, b: Self, c: Self) -> Self {
        let mut out = [T::default(); 8];
        for i in 0..8 {
            out[i] = if FMA { self.0[i].fused(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] };
        }
        Self(out)
    }

    /// Adds to eight numbers in memory.
    #[inline(always)]
    pub fn add_to(self, to: &mut [T]) {
        for i in 0..8 {
            to[i] += self.0[i];
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<T: Number, const FMA: bool> $trait for Eight<T, FMA> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = [T::default(); 8];
                for i in 0..8 {
                    out[i] = $trait::$method(self.0[i], other.0[i]);
                }
                Self(out)
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);

/// The Walsh-Hadamard transform of eight values.
#[inline(always)]
pub(super) fn walsh<T: Number, const FMA: bool>(v: [Eight<T, FMA>; 8]) -> [Eight<T, FMA>; 8] {
    let x = [v[0] + v[1], v[0] - v[1], v[2] + v[3], v[2] - v[3], v[4] + v[5], v[4] - v[5], v[6] + v[7], v[6] - v[7]];
    let y = [x[0] + x[2], x[1] + x[3], x[0] - x[2], x[1] - x[3], x[4] + x[6], x[5] + x[7], x[4] - x[6], x[5] - x[7]];
    [y[0] + y[4], y[1] + y[5], y[2] + y[6], y[3] + y[7], y[0] - y[4], y[1] - y[5], y[2] - y[6], y[3] - y[7]]
}

/// A slice that several threads write, each its own part.
pub(super) struct Shared<T>(*mut T, usize);

// SAFETY: whoever calls `part` promises that parts do not overlap.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr(), slice.len())
    }

    /// Elements `range`.
    ///
    /// # Safety
    /// While the result lives nobody else reads or writes these elements, and the slice that this was made from lives.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: std::ops::Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.1);
        // SAFETY: inside the slice; the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

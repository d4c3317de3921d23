//! Numbers and eights of numbers that the voxel kernels compute in.

use std::ops::{Add, Mul, Sub};

/// `f32` or `f64`.
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
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! number {
    ($type:ty) => {
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
        }
    };
}
number!(f32);
number!(f64);

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

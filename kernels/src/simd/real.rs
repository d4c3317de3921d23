//! Single and double precision.

use std::any::Any;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::{Lanes, ScatterLanes};
use crate::device::Plain;

/// A floating-point number of the kernels: `f32` or `f64`.
#[allow(private_bounds)]
pub trait Real:
    Copy
    + Send
    + Sync
    + Default
    + PartialOrd
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Plain
    + Registers
    + 'static
{
    /// `f32` or `f64`, as in the names of compiled kernels.
    const NAME: &'static str;
    /// Bits of the significand, the hidden one included.
    const SIGNIFICAND_BITS: i32;
    /// +∞.
    const INFINITY: Self;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number; exact.
    fn to_f64(self) -> f64;
    /// The same number; exact.
    fn from_f32(value: f32) -> Self;
    /// The nearest f32.
    fn to_f32(self) -> f32;
    /// The same number; exact.
    fn from_i16(value: i16) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// self × b + c, rounded once. Slow where the machine has no such instruction.
    fn mul_add(self, b: Self, c: Self) -> Self;

    /// A number that threads share. Numbers in cells are not negative: their bits then have the order of the numbers.
    #[doc(hidden)]
    type Cell: Send + Sync + Debug;
    #[doc(hidden)]
    fn cell(self) -> Self::Cell;
    #[doc(hidden)]
    fn get(cell: &Self::Cell) -> Self;
    #[doc(hidden)]
    fn set(cell: &Self::Cell, value: Self);
    /// Leaves the lesser of both in the cell.
    #[doc(hidden)]
    fn lower(cell: &Self::Cell, value: Self);
}

/// The registers of a type.
pub(crate) trait Registers: Sized {
    /// Registers of 256 bits.
    #[cfg(target_arch = "x86_64")]
    type Avx2: ScatterLanes<Scalar = Self>;
    /// Registers of 512 bits.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Scalar = Self>;
}

macro_rules! real {
    ($type:ident, $cell:ty, $avx2:ident, $avx512:ident) => {
        impl Real for $type {
            const NAME: &'static str = stringify!($type);
            const SIGNIFICAND_BITS: i32 = <$type>::MANTISSA_DIGITS as i32;
            const INFINITY: Self = <$type>::INFINITY;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                value.into()
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn from_i16(value: i16) -> Self {
                value.into()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$type>::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                <$type>::mul_add(self, b, c)
            }

            type Cell = $cell;
            #[inline(always)]
            fn cell(self) -> $cell {
                <$cell>::new(self.to_bits())
            }
            #[inline(always)]
            fn get(cell: &$cell) -> Self {
                Self::from_bits(cell.load(Relaxed))
            }
            #[inline(always)]
            fn set(cell: &$cell, value: Self) {
                cell.store(value.to_bits(), Relaxed);
            }
            #[inline(always)]
            fn lower(cell: &$cell, value: Self) {
                cell.fetch_min(value.to_bits(), Relaxed);
            }
        }

        impl Registers for $type {
            #[cfg(target_arch = "x86_64")]
            type Avx2 = super::x86::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = super::x86::$avx512;
        }
    };
}
real!(f32, AtomicU32, F32x8, F32x16);
real!(f64, AtomicU64, F64x4, F64x8);

/// The same slice where `A` is `B`, for code that one of the two precisions has for itself.
#[inline(always)]
pub(crate) fn same_numbers<A: Real, B: Real>(values: &[A]) -> Option<&[B]> {
    let same = A::SIGNIFICAND_BITS == B::SIGNIFICAND_BITS;
    // SAFETY: the types are the same: only `f32` and `f64` are `Real`, and their significands differ.
    same.then(|| unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) })
}

/// As [`same_numbers`].
#[inline(always)]
pub(crate) fn same_numbers_mut<A: Real, B: Real>(values: &mut [A]) -> Option<&mut [B]> {
    let same = A::SIGNIFICAND_BITS == B::SIGNIFICAND_BITS;
    // SAFETY: as above.
    same.then(|| unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) })
}

/// The same value where `A` is `B`.
#[inline(always)]
pub(crate) fn same_value<A: 'static, B: 'static>(value: &A) -> Option<&B> {
    (value as &dyn Any).downcast_ref()
}

/// As [`same_value`].
#[inline(always)]
pub(crate) fn same_value_mut<A: 'static, B: 'static>(value: &mut A) -> Option<&mut B> {
    (value as &mut dyn Any).downcast_mut()
}

//! Numbers and lanes: the same element code runs on one number or on a register of them.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A floating-point type that the steppers compute in: `f32` or `f64`.
pub trait Real:
    Copy
    + Send
    + Sync
    + PartialOrd
    + Default
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Bits of the significand, the hidden one included.
    const SIGNIFICAND: i32;
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    /// The step of this type for this machine.
    #[doc(hidden)]
    fn instructions(level: super::Level) -> super::Instructions<Self>;
}

/// The same operation on every lane.
pub(crate) trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Of one lane.
    type Scalar: Real;
    /// Elements that are computed at once.
    const LANES: usize;

    /// The same value in every lane.
    fn splat(value: Self::Scalar) -> Self;
    /// self × b + c, one rounding where the machine has it.
    fn fma(self, b: Self, c: Self) -> Self;
    /// c − self × b.
    fn fnma(self, b: Self, c: Self) -> Self;
    /// Consecutive numbers.
    ///
    /// # Safety
    /// `LANES` numbers must be readable.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// Four consecutive numbers of each lane's record: result c, lane l is `base[index[l] × STRIDE + c]`.
    ///
    /// # Safety
    /// `LANES` indices and the numbers that they name must be readable.
    unsafe fn gather<const STRIDE: usize>(base: *const Self::Scalar, index: *const u16) -> [Self; 4];
    /// Adds `values[c]` of lane l to `base[index[l] × STRIDE + c]`, lane by lane: lanes may share a record.
    ///
    /// # Safety
    /// As for `gather`, and writable; `STRIDE` numbers a record.
    unsafe fn scatter_add<const STRIDE: usize, const D: usize>(
        base: *mut Self::Scalar,
        index: *const u16,
        values: [Self; D],
    );
}

/// One lane, for machines without the instructions that the others need.
#[derive(Clone, Copy)]
pub(crate) struct One<T>(T);

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<T: Real> $trait for One<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0))
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl<T: Real> Neg for One<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<T: Real> Vector for One<T> {
    type Scalar = T;
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Self(value)
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        self * b + c
    }

    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        c - self * b
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { *from })
    }

    #[inline(always)]
    unsafe fn gather<const STRIDE: usize>(base: *const T, index: *const u16) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let record = base.add(*index as usize * STRIDE);
            [Self(*record), Self(*record.add(1)), Self(*record.add(2)), Self(*record.add(3))]
        }
    }

    #[inline(always)]
    unsafe fn scatter_add<const STRIDE: usize, const D: usize>(base: *mut T, index: *const u16, values: [Self; D]) {
        // SAFETY: the caller's promise.
        unsafe {
            let record = base.add(*index as usize * STRIDE);
            for (c, value) in values.into_iter().enumerate() {
                *record.add(c) = *record.add(c) + value.0;
            }
        }
    }
}

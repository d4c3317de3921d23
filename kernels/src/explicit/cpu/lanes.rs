//! Numbers and lanes: the same element code runs on one number or on a register of them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::forces::{force_stride, grain, record_stride};

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
    fn instructions(level: crate::simd::Level) -> super::Instructions<Self>;
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
    /// The reverse.
    ///
    /// # Safety
    /// `LANES` numbers must be writable.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// LANES / 2 consecutive numbers, each twice in a row; with one lane the number.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load_twice(from: *const Self::Scalar) -> Self;
    /// Adds LANES / 2 pairs to the first two of the four numbers of as many records.
    ///
    /// # Safety
    /// They must be readable and writable.
    unsafe fn add_to_records(self, to: *mut Self::Scalar);
    /// Asks for memory that will be read soon.
    fn fetch(from: *const Self::Scalar);
    /// Displacements and positions of nodes 1 to M relative to node 0: entry m, component c, lane l of the first is
    /// `base[o(m + 1, l) + c] − base[o(0, l) + c]`, of the second the same half a record further, where o(node, l) =
    /// `offset[node × LANES + l]` × [`record_stride`] / [`grain`].
    ///
    /// # Safety
    /// (M + 1) × LANES offsets and the records that they name must be readable.
    unsafe fn gather<const D: usize, const M: usize>(
        base: *const Self::Scalar,
        offset: *const u16,
    ) -> ([[Self; D]; M], [[Self; D]; M]);
    /// Two numbers of one node a lane in the plane: lane l of entry c is `base[o(l) + c]`, o(l) = `offset[l]` ×
    /// [`force_stride`] / [`grain`].
    ///
    /// # Safety
    /// LANES offsets and the numbers that they name must be readable.
    unsafe fn gather_pairs(base: *const Self::Scalar, offset: *const u16) -> [Self; 2];
    /// Adds two numbers to those of one node a lane. Lanes 2k and 2k + 1 may not share a node, unless their values are 0.
    ///
    /// # Safety
    /// As for `gather_pairs`, and writable.
    unsafe fn scatter_pairs(base: *mut Self::Scalar, offset: *const u16, values: [Self; 2]);
    /// Adds `values[m][c]` of lane l to `base[o(m + 1, l) + c]` and subtracts their sum over m from `base[o(0, l) + c]`,
    /// node after node: lanes may share a record, but not lanes 2k and 2k + 1 for the same node, unless their values are 0.
    /// Here o has [`force_stride`]; in 3D the fourth number stays as it is.
    ///
    /// # Safety
    /// As for `gather`, and writable.
    unsafe fn scatter<const D: usize, const M: usize>(
        base: *mut Self::Scalar,
        offset: *const u16,
        values: [[Self; D]; M],
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
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { *to = self.0 };
    }

    #[inline(always)]
    unsafe fn load_twice(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn add_to_records(self, _: *mut T) {
        // Half a lane is none.
    }

    #[inline(always)]
    fn fetch(_: *const T) {}

    #[inline(always)]
    unsafe fn gather<const D: usize, const M: usize>(
        base: *const T,
        offset: *const u16,
    ) -> ([[Self; D]; M], [[Self; D]; M]) {
        let stride = record_stride(D);
        // SAFETY: the caller's promise.
        unsafe {
            let record = |node: usize, first: usize| {
                let record = base.add(*offset.add(node) as usize * stride / grain(D) + first);
                std::array::from_fn::<T, D, _>(|c| *record.add(c))
            };
            let differences = |first: usize| {
                let origin = record(0, first);
                std::array::from_fn(|m| {
                    let row = record(m + 1, first);
                    std::array::from_fn(|c| Self(row[c] - origin[c]))
                })
            };
            (differences(0), differences(stride / 2))
        }
    }

    #[inline(always)]
    unsafe fn gather_pairs(base: *const T, offset: *const u16) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let pair = base.add(*offset as usize * force_stride(2) / grain(2));
            [Self(*pair), Self(*pair.add(1))]
        }
    }

    #[inline(always)]
    unsafe fn scatter_pairs(base: *mut T, offset: *const u16, values: [Self; 2]) {
        // SAFETY: the caller's promise.
        unsafe {
            let force = base.add(*offset as usize * force_stride(2) / grain(2));
            for (c, value) in values.into_iter().enumerate() {
                *force.add(c) = *force.add(c) + value.0;
            }
        }
    }

    #[inline(always)]
    unsafe fn scatter<const D: usize, const M: usize>(base: *mut T, offset: *const u16, values: [[Self; D]; M]) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = [T::default(); D];
            for (m, values) in values.into_iter().enumerate() {
                let record = base.add(*offset.add(m + 1) as usize * force_stride(D) / grain(D));
                for (c, value) in values.into_iter().enumerate() {
                    sum[c] = sum[c] + value.0;
                    *record.add(c) = *record.add(c) + value.0;
                }
            }
            let record = base.add(*offset as usize * force_stride(D) / grain(D));
            for (c, sum) in sum.into_iter().enumerate() {
                *record.add(c) = *record.add(c) - sum;
            }
        }
    }
}

//! Numbers that the Eikonal solver computes in.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// `f32` or `f64`, with a cell of it that threads share.
///
/// Cells hold numbers that are not negative: their bits have the order of the numbers.
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
    + sealed::Sealed
    + 'static
{
    /// A number that threads share.
    #[doc(hidden)]
    type Cell: Send + Sync + Debug;
    /// +∞.
    const INFINITY: Self;
    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
    #[doc(hidden)]
    fn square_root(self) -> Self;
    #[doc(hidden)]
    fn fused(self, b: Self, c: Self) -> Self;
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

mod sealed {
    #[allow(private_bounds)]
    pub trait Sealed: crate::device::Plain {}
}

macro_rules! real {
    ($type:ty, $cell:ty) => {
        impl sealed::Sealed for $type {}
        impl Real for $type {
            type Cell = $cell;
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
            fn square_root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
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
    };
}
real!(f32, AtomicU32);
real!(f64, AtomicU64);

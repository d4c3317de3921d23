//! The same operation on several numbers.

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{InstructionSet, Real};

/// Several numbers, a *lane* each, on which operations act at once.
///
/// Methods of the registers of an instruction set may only be called, inlined, from a kernel that runs at its level.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Of one lane.
    type Scalar: Real;
    /// A choice of lanes.
    type Mask: Copy;
    /// Lanes.
    const N: usize;

    /// The same number in every lane.
    fn splat(value: Self::Scalar) -> Self;
    /// √self.
    fn sqrt(self) -> Self;
    /// self × b + c, rounded once where the instruction set does so.
    fn fma(self, b: Self, c: Self) -> Self;
    /// c − self × b, likewise.
    fn fnma(self, b: Self, c: Self) -> Self;
    /// Bit l is set if lane l is greater.
    fn greater(self, other: Self) -> u32;
    /// Chooses lane l if bit l is set.
    fn mask(bits: u32) -> Self::Mask;
    /// The chosen lanes, and 0 elsewhere.
    fn keep(self, mask: Self::Mask) -> Self;
    /// N consecutive numbers.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// # Safety
    /// N numbers must be writable.
    unsafe fn store(self, to: *mut Self::Scalar);

    /// Records of four numbers, one a lane, as they stand in memory. In which order they lie in the four values is for
    /// [`columns`](Self::columns) to know.
    ///
    /// # Safety
    /// The indices, and the four numbers of each record, must be readable.
    unsafe fn rows<I: Index>(records: Records<Self::Scalar, I>) -> [Self; 4];
    /// Number c of the record of lane l, as lane l of entry c.
    fn columns(rows: [Self; 4]) -> [Self; 4];

    /// Bit l is set if `bit` is set in word l.
    ///
    /// # Safety
    /// N words must be readable.
    #[inline(always)]
    unsafe fn bits(words: *const u32, bit: usize) -> u32 {
        let mut bits = 0;
        for lane in 0..Self::N {
            // SAFETY: the caller's promise.
            bits |= (unsafe { *words.add(lane) } >> bit & 1) << lane;
        }
        bits
    }
}

/// Lanes whose values can be added to records and to pairs of numbers in memory.
///
/// Records are changed one after the other, in an order that depends on the type alone. Of pairs, lanes 2k and 2k + 1 are
/// changed at once: they may not share a pair unless what is added to it is 0.
pub(crate) trait ScatterLanes: Lanes {
    /// Numbers 0, 1, … of N / 2, each in two lanes that follow each other; of one lane the number.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load_twice(from: *const Self::Scalar) -> Self;
    /// Adds N / 2 pairs to the first two numbers of as many consecutive records of four.
    ///
    /// # Safety
    /// They must be readable and writable.
    unsafe fn add_to_record_starts(self, to: *mut Self::Scalar);
    /// The reverse of [`columns`](Lanes::columns), which undoes itself.
    #[inline(always)]
    fn rows_of(columns: [Self; 4]) -> [Self; 4] {
        Self::columns(columns)
    }
    /// Adds to records, or subtracts from them.
    ///
    /// # Safety
    /// As for [`rows`](Lanes::rows), and writable.
    unsafe fn change_records<const ADD: bool, I: Index>(rows: [Self; 4], records: Records<Self::Scalar, I>);
    /// Pairs of numbers, one a lane, as entries.
    ///
    /// # Safety
    /// The indices, and the two numbers of each pair, must be readable.
    unsafe fn load_pairs<I: Index>(pairs: Records<Self::Scalar, I>) -> [Self; 2];
    /// Pairs made of entries, as [`change_pairs`](Self::change_pairs) takes them.
    fn pairs_of(columns: [Self; 2]) -> [Self; 2];
    /// Adds to pairs, or subtracts from them.
    ///
    /// # Safety
    /// As for [`load_pairs`](Self::load_pairs), and writable.
    unsafe fn change_pairs<const ADD: bool, I: Index>(values: [Self; 2], pairs: Records<Self::Scalar, I>);
}

/// A whole number of 16 or 32 bits.
pub(crate) trait Index: Copy + std::fmt::Debug + Send + Sync + PartialEq + 'static {
    fn at(self) -> usize;
    fn new(value: usize) -> Self;
}

macro_rules! index {
    ($type:ty) => {
        impl Index for $type {
            #[inline(always)]
            fn at(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn new(value: usize) -> Self {
                value as $type
            }
        }
    };
}
index!(u16);
index!(u32);

/// Where the records of the lanes stand: that of lane l `bytes` × `index[l]` behind `base`.
#[derive(Clone, Copy)]
pub(crate) struct Records<T, I> {
    pub base: *mut T,
    pub index: *const I,
    pub bytes: usize,
}

impl<T, I: Index> Records<T, I> {
    /// The record of a lane.
    ///
    /// Indices are read one by one, as volatile ones are: a compiler that reads them as a vector must take it apart again,
    /// which costs more than it saves.
    ///
    /// # Safety
    /// The index must be readable, and lead to memory of `base`.
    #[inline(always)]
    pub unsafe fn at(self, lane: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.base.byte_add(self.index.add(lane).read_volatile().at() * self.bytes) }
    }
}

/// Asks for the cache line of an address, which need not be one, where the machine can.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, of SSE, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Numbers side by side, which the compiler lays out in registers of the instruction set `I`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<T, const N: usize, I>(pub [T; N], PhantomData<I>);

impl<T: Real, const N: usize, I> Array<T, N, I> {
    #[inline(always)]
    pub fn new(numbers: [T; N]) -> Self {
        Self(numbers, PhantomData)
    }

    /// The first N numbers of a slice.
    #[inline(always)]
    pub fn first_of(from: &[T]) -> Self {
        let mut out = [T::default(); N];
        out.copy_from_slice(&from[..N]);
        Self::new(out)
    }

    /// Adds to the first N numbers of a slice.
    #[inline(always)]
    pub fn add_to(self, to: &mut [T]) {
        for i in 0..N {
            to[i] += self.0[i];
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<T: Real, const N: usize, I> $trait for Array<T, N, I> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = [T::default(); N];
                for i in 0..N {
                    out[i] = $trait::$method(self.0[i], other.0[i]);
                }
                Self::new(out)
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl<T: Real, const N: usize, I> Neg for Array<T, N, I> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = -self.0[i];
        }
        Self::new(out)
    }
}

impl<T: Real, const N: usize, I: InstructionSet> Lanes for Array<T, N, I> {
    type Scalar = T;
    type Mask = u32;
    const N: usize = N;

    #[inline(always)]
    fn splat(value: T) -> Self {
        Self::new([value; N])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = self.0[i].sqrt();
        }
        Self::new(out)
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = if I::FMA { self.0[i].mul_add(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] };
        }
        Self::new(out)
    }

    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = if I::FMA { (-self.0[i]).mul_add(b.0[i], c.0[i]) } else { c.0[i] - self.0[i] * b.0[i] };
        }
        Self::new(out)
    }

    #[inline(always)]
    fn greater(self, other: Self) -> u32 {
        let mut bits = 0;
        for i in 0..N {
            bits |= u32::from(self.0[i] > other.0[i]) << i;
        }
        bits
    }

    #[inline(always)]
    fn mask(bits: u32) -> u32 {
        bits
    }

    #[inline(always)]
    fn keep(self, mask: u32) -> Self {
        let mut out = [T::default(); N];
        for i in 0..N {
            out[i] = if mask >> i & 1 == 1 { self.0[i] } else { T::default() };
        }
        Self::new(out)
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        Self::new(unsafe { from.cast::<[T; N]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[T; N]>().write(self.0) };
    }

    #[inline(always)]
    unsafe fn rows<X: Index>(records: Records<T, X>) -> [Self; 4] {
        let mut columns = [Self::splat(T::default()); 4];
        for lane in 0..N {
            // SAFETY: the caller's promise.
            let record = unsafe { records.at(lane).cast::<[T; 4]>().read() };
            for c in 0..4 {
                columns[c].0[lane] = record[c];
            }
        }
        columns
    }

    #[inline(always)]
    fn columns(rows: [Self; 4]) -> [Self; 4] {
        rows
    }
}

impl<T: Real, I: InstructionSet> ScatterLanes for Array<T, 1, I> {
    #[inline(always)]
    unsafe fn load_twice(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load(from) }
    }

    #[inline(always)]
    unsafe fn add_to_record_starts(self, _: *mut T) {
        // Half a lane is none.
    }

    #[inline(always)]
    unsafe fn change_records<const ADD: bool, X: Index>(rows: [Self; 4], records: Records<T, X>) {
        // SAFETY: the caller's promise.
        unsafe { change::<ADD, T, 4>(records.at(0), rows.map(|row| row.0[0])) };
    }

    #[inline(always)]
    unsafe fn load_pairs<X: Index>(pairs: Records<T, X>) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { pairs.at(0).cast::<[T; 2]>().read() }.map(|number| Self::new([number]))
    }

    #[inline(always)]
    fn pairs_of(columns: [Self; 2]) -> [Self; 2] {
        columns
    }

    #[inline(always)]
    unsafe fn change_pairs<const ADD: bool, X: Index>(values: [Self; 2], pairs: Records<T, X>) {
        // SAFETY: the caller's promise.
        unsafe { change::<ADD, T, 2>(pairs.at(0), values.map(|value| value.0[0])) };
    }
}

/// Adds to consecutive numbers, or subtracts from them.
///
/// # Safety
/// They must be readable and writable.
#[inline(always)]
unsafe fn change<const ADD: bool, T: Real, const N: usize>(to: *mut T, values: [T; N]) {
    for (c, value) in values.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { *to.add(c) = if ADD { *to.add(c) + value } else { *to.add(c) - value } };
    }
}

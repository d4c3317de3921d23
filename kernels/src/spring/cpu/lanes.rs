//! The same operation on several particles at once. No fused multiply-adds: every instruction set gives the same bits.
//!
//! Methods of the x86-64 lanes may only be called, inlined, from a function compiled for the instructions that they use.

use std::ops::{Add, Div, Mul, Sub};

use crate::explicit::Real;

/// A local (16 bits) or global (32 bits) id.
pub(crate) trait Id: Copy + std::fmt::Debug + Send + Sync + PartialEq + 'static {
    fn at(self) -> usize;
    fn new(value: usize) -> Self;
}
impl Id for u16 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
    fn new(value: usize) -> Self {
        value as u16
    }
}
impl Id for u32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
    fn new(value: usize) -> Self {
        value as u32
    }
}

/// Numbers of a row of records: (x, y, z, unused).
pub(super) const RECORD: usize = 4;

/// A register of numbers.
pub(super) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    type Scalar: Real;
    type Mask: Copy;
    const N: usize;

    fn splat(value: Self::Scalar) -> Self;
    fn sqrt(self) -> Self;
    /// Bit l is set if lane l is greater.
    fn greater(self, other: Self) -> u32;
    /// Lane l is taken if bit l is set.
    fn mask(bits: u32) -> Self::Mask;
    /// The masked lanes, and 0 elsewhere.
    fn keep(self, mask: Self::Mask) -> Self;
    /// # Safety
    /// `N` numbers must be readable.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// # Safety
    /// `N` numbers must be writable.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// Components of the records that `N` consecutive ids name.
    ///
    /// # Safety
    /// The ids and the records must be readable.
    unsafe fn gather<I: Id>(records: *const Self::Scalar, ids: *const I) -> [Self; 3];

    /// Components into consecutive records.
    ///
    /// # Safety
    /// `N` records must be writable.
    #[inline(always)]
    unsafe fn scatter(values: [Self; 3], records: *mut Self::Scalar) {
        let mut columns = [[Self::Scalar::default(); 16]; 3];
        for c in 0..3 {
            // SAFETY: a column has more numbers than any lanes.
            unsafe { values[c].store(columns[c].as_mut_ptr()) };
        }
        for lane in 0..Self::N {
            let record = [columns[0][lane], columns[1][lane], columns[2][lane], Self::Scalar::default()];
            // SAFETY: the caller's promise.
            unsafe { records.add(RECORD * lane).cast::<[Self::Scalar; RECORD]>().write(record) };
        }
    }

    /// Bit l is set if `bit` is set in word l.
    ///
    /// # Safety
    /// `N` words must be readable.
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

/// One lane.
#[derive(Clone, Copy)]
pub(super) struct One<T>(T);

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

macro_rules! one {
    ($type:ty) => {
        impl Lanes for One<$type> {
            type Scalar = $type;
            type Mask = bool;
            const N: usize = 1;

            #[inline(always)]
            fn splat(value: $type) -> Self {
                Self(value)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.sqrt())
            }
            #[inline(always)]
            fn greater(self, other: Self) -> u32 {
                u32::from(self.0 > other.0)
            }
            #[inline(always)]
            fn mask(bits: u32) -> bool {
                bits & 1 == 1
            }
            #[inline(always)]
            fn keep(self, mask: bool) -> Self {
                Self(if mask { self.0 } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn load(from: *const $type) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { *from })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $type) {
                // SAFETY: the caller's promise.
                unsafe { *to = self.0 };
            }
            #[inline(always)]
            unsafe fn gather<I: Id>(records: *const $type, ids: *const I) -> [Self; 3] {
                // SAFETY: the caller's promise.
                unsafe {
                    let record = records.add(RECORD * (*ids).at());
                    [Self(*record), Self(*record.add(1)), Self(*record.add(2))]
                }
            }
        }
    };
}
one!(f32);
one!(f64);

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{F32x8, F32x16, F64x4, F64x8};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;

    macro_rules! lanes {
        (
            $name:ident, $register:ty, $scalar:ty, $n:literal, $mask:ty, $splat:ident, $load:ident, $store:ident, $add:ident,
            $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $doc:literal, { $($rest:tt)* }
        ) => {
            #[doc = $doc]
            #[derive(Clone, Copy)]
            pub(in crate::spring::cpu) struct $name($register);
            lanes!(@operator $name, Add, add, $add);
            lanes!(@operator $name, Sub, sub, $sub);
            lanes!(@operator $name, Mul, mul, $mul);
            lanes!(@operator $name, Div, div, $div);
            impl Lanes for $name {
                type Scalar = $scalar;
                type Mask = $mask;
                const N: usize = $n;
                #[inline(always)]
                fn splat(value: $scalar) -> Self {
                    // SAFETY: see the module.
                    Self(unsafe { $splat(value) })
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    // SAFETY: see the module.
                    Self(unsafe { $sqrt(self.0) })
                }
                #[inline(always)]
                unsafe fn load(from: *const $scalar) -> Self {
                    // SAFETY: the caller's promise.
                    Self(unsafe { $load(from) })
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $scalar) {
                    // SAFETY: the caller's promise.
                    unsafe { $store(to, self.0) };
                }
                $($rest)*
            }
        };
        (@operator $name:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
            impl $trait for $name {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: see the module.
                    Self(unsafe { $intrinsic(self.0, other.0) })
                }
            }
        };
    }

    /// The record of a lane. Ids are read one by one, as volatile ones are: a compiler that reads them as a vector must take it
    /// apart again.
    macro_rules! record {
        ($records:ident, $ids:ident, $lane:expr) => {
            $records.add(RECORD * $ids.add($lane).read_volatile().at())
        };
    }

    lanes!(
        F32x8,
        __m256,
        f32,
        8,
        __m256,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_div_ps,
        _mm256_sqrt_ps,
        "Eight singles, AVX2.",
        {
            #[inline(always)]
            fn greater(self, other: Self) -> u32 {
                // SAFETY: see the module.
                unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0)) as u32 }
            }
            #[inline(always)]
            fn mask(bits: u32) -> __m256 {
                // SAFETY: see the module.
                unsafe {
                    let lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                    let chosen = _mm256_and_si256(_mm256_set1_epi32(bits as i32), lanes);
                    _mm256_castsi256_ps(_mm256_cmpeq_epi32(chosen, lanes))
                }
            }
            #[inline(always)]
            fn keep(self, mask: __m256) -> Self {
                // SAFETY: see the module.
                Self(unsafe { _mm256_and_ps(self.0, mask) })
            }
            #[inline(always)]
            unsafe fn gather<I: Id>(records: *const f32, ids: *const I) -> [Self; 3] {
                // SAFETY: the caller's promise.
                unsafe {
                    macro_rules! two {
                        ($k:literal) => {
                            _mm256_insertf128_ps::<1>(
                                _mm256_castps128_ps256(_mm_loadu_ps(record!(records, ids, $k))),
                                _mm_loadu_ps(record!(records, ids, $k + 4)),
                            )
                        };
                    }
                    let (r0, r1, r2, r3) = (two!(0), two!(1), two!(2), two!(3));
                    let (t0, t1) =
                        (_mm256_castps_pd(_mm256_unpacklo_ps(r0, r1)), _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1)));
                    let (t2, t3) =
                        (_mm256_castps_pd(_mm256_unpacklo_ps(r2, r3)), _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3)));
                    [
                        Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2))),
                        Self(_mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2))),
                        Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3))),
                    ]
                }
            }
            #[inline(always)]
            unsafe fn bits(words: *const u32, bit: usize) -> u32 {
                // SAFETY: the caller's promise.
                unsafe {
                    let words = _mm256_loadu_si256(words.cast());
                    let up = _mm256_sll_epi32(words, _mm_cvtsi32_si128(31 - bit as i32));
                    _mm256_movemask_ps(_mm256_castsi256_ps(up)) as u32
                }
            }
        }
    );

    lanes!(
        F64x4,
        __m256d,
        f64,
        4,
        __m256d,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_div_pd,
        _mm256_sqrt_pd,
        "Four doubles, AVX2.",
        {
            #[inline(always)]
            fn greater(self, other: Self) -> u32 {
                // SAFETY: see the module.
                unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(self.0, other.0)) as u32 }
            }
            #[inline(always)]
            fn mask(bits: u32) -> __m256d {
                // SAFETY: see the module.
                unsafe {
                    let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
                    let chosen = _mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), lanes);
                    _mm256_castsi256_pd(_mm256_cmpeq_epi64(chosen, lanes))
                }
            }
            #[inline(always)]
            fn keep(self, mask: __m256d) -> Self {
                // SAFETY: see the module.
                Self(unsafe { _mm256_and_pd(self.0, mask) })
            }
            #[inline(always)]
            unsafe fn gather<I: Id>(records: *const f64, ids: *const I) -> [Self; 3] {
                // SAFETY: the caller's promise.
                unsafe {
                    let r0 = _mm256_loadu_pd(record!(records, ids, 0));
                    let r1 = _mm256_loadu_pd(record!(records, ids, 1));
                    let r2 = _mm256_loadu_pd(record!(records, ids, 2));
                    let r3 = _mm256_loadu_pd(record!(records, ids, 3));
                    let (t0, t1) = (_mm256_unpacklo_pd(r0, r1), _mm256_unpackhi_pd(r0, r1));
                    let (t2, t3) = (_mm256_unpacklo_pd(r2, r3), _mm256_unpackhi_pd(r2, r3));
                    [
                        Self(_mm256_permute2f128_pd::<0x20>(t0, t2)),
                        Self(_mm256_permute2f128_pd::<0x20>(t1, t3)),
                        Self(_mm256_permute2f128_pd::<0x31>(t0, t2)),
                    ]
                }
            }
        }
    );

    lanes!(
        F32x16,
        __m512,
        f32,
        16,
        __mmask16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_sqrt_ps,
        "Sixteen singles, AVX-512.",
        {
            #[inline(always)]
            fn greater(self, other: Self) -> u32 {
                // SAFETY: see the module.
                u32::from(unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0) })
            }
            #[inline(always)]
            fn mask(bits: u32) -> __mmask16 {
                bits as __mmask16
            }
            #[inline(always)]
            fn keep(self, mask: __mmask16) -> Self {
                // SAFETY: see the module.
                Self(unsafe { _mm512_maskz_mov_ps(mask, self.0) })
            }
            #[inline(always)]
            unsafe fn gather<I: Id>(records: *const f32, ids: *const I) -> [Self; 3] {
                // SAFETY: the caller's promise.
                unsafe {
                    macro_rules! four {
                        ($k:literal) => {{
                            let low = _mm256_insertf128_ps::<1>(
                                _mm256_castps128_ps256(_mm_loadu_ps(record!(records, ids, $k))),
                                _mm_loadu_ps(record!(records, ids, $k + 4)),
                            );
                            let high = _mm256_insertf128_ps::<1>(
                                _mm256_castps128_ps256(_mm_loadu_ps(record!(records, ids, $k + 8))),
                                _mm_loadu_ps(record!(records, ids, $k + 12)),
                            );
                            _mm512_castpd_ps(_mm512_insertf64x4::<1>(
                                _mm512_castpd256_pd512(_mm256_castps_pd(low)),
                                _mm256_castps_pd(high),
                            ))
                        }};
                    }
                    let (r0, r1, r2, r3) = (four!(0), four!(1), four!(2), four!(3));
                    let (t0, t1) =
                        (_mm512_castps_pd(_mm512_unpacklo_ps(r0, r1)), _mm512_castps_pd(_mm512_unpackhi_ps(r0, r1)));
                    let (t2, t3) =
                        (_mm512_castps_pd(_mm512_unpacklo_ps(r2, r3)), _mm512_castps_pd(_mm512_unpackhi_ps(r2, r3)));
                    [
                        Self(_mm512_castpd_ps(_mm512_unpacklo_pd(t0, t2))),
                        Self(_mm512_castpd_ps(_mm512_unpackhi_pd(t0, t2))),
                        Self(_mm512_castpd_ps(_mm512_unpacklo_pd(t1, t3))),
                    ]
                }
            }
            #[inline(always)]
            unsafe fn bits(words: *const u32, bit: usize) -> u32 {
                // SAFETY: the caller's promise.
                unsafe {
                    u32::from(_mm512_test_epi32_mask(_mm512_loadu_si512(words.cast()), _mm512_set1_epi32(1 << bit)))
                }
            }
        }
    );

    lanes!(
        F64x8,
        __m512d,
        f64,
        8,
        __mmask8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_sqrt_pd,
        "Eight doubles, AVX-512.",
        {
            #[inline(always)]
            fn greater(self, other: Self) -> u32 {
                // SAFETY: see the module.
                u32::from(unsafe { _mm512_cmp_pd_mask::<_CMP_GT_OQ>(self.0, other.0) })
            }
            #[inline(always)]
            fn mask(bits: u32) -> __mmask8 {
                bits as __mmask8
            }
            #[inline(always)]
            fn keep(self, mask: __mmask8) -> Self {
                // SAFETY: see the module.
                Self(unsafe { _mm512_maskz_mov_pd(mask, self.0) })
            }
            #[inline(always)]
            unsafe fn gather<I: Id>(records: *const f64, ids: *const I) -> [Self; 3] {
                // SAFETY: the caller's promise.
                unsafe {
                    macro_rules! two {
                        ($k:literal) => {
                            _mm512_insertf64x4::<1>(
                                _mm512_castpd256_pd512(_mm256_loadu_pd(record!(records, ids, $k))),
                                _mm256_loadu_pd(record!(records, ids, $k + 2)),
                            )
                        };
                    }
                    let (r0, r1, r2, r3) = (two!(0), two!(1), two!(4), two!(5));
                    let (t0, t1) = (_mm512_unpacklo_pd(r0, r1), _mm512_unpackhi_pd(r0, r1));
                    let (t2, t3) = (_mm512_unpacklo_pd(r2, r3), _mm512_unpackhi_pd(r2, r3));
                    [
                        Self(_mm512_shuffle_f64x2::<0x88>(t0, t2)),
                        Self(_mm512_shuffle_f64x2::<0x88>(t1, t3)),
                        Self(_mm512_shuffle_f64x2::<0xdd>(t0, t2)),
                    ]
                }
            }
        }
    );
}

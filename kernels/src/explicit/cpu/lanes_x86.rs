//! Lanes for x86-64. Records are loaded whole and transposed in registers: faster than gather instructions.
//!
//! Every method here may only be called, inlined, from a function compiled for the instructions it uses: see
//! [`Level`](super::Level).

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::lanes::Vector;

/// Four doubles, AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(__m256d);

/// Eight singles, AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(__m256);

macro_rules! operators {
    ($type:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $xor:ident, $set:ident) => {
        impl Add for $type {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $add(self.0, other.0) })
            }
        }
        impl Sub for $type {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $sub(self.0, other.0) })
            }
        }
        impl Mul for $type {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $mul(self.0, other.0) })
            }
        }
        impl Div for $type {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $div(self.0, other.0) })
            }
        }
        impl Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $xor(self.0, $set(-0.0)) })
            }
        }
    };
}
operators!(F64x4, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd, _mm256_xor_pd, _mm256_set1_pd);
operators!(F32x8, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_xor_ps, _mm256_set1_ps);

/// The record of lane `lane`.
macro_rules! record {
    ($base:ident, $index:ident, $stride:ident, $lane:literal) => {
        $base.add(*$index.add($lane) as usize * $stride)
    };
}

impl Vector for F64x4 {
    type Scalar = f64;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_set1_pd(value) })
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_fmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_fnmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_pd(from) })
    }

    #[inline(always)]
    unsafe fn gather<const STRIDE: usize>(base: *const f64, index: *const u16) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let r0 = _mm256_loadu_pd(record!(base, index, STRIDE, 0));
            let r1 = _mm256_loadu_pd(record!(base, index, STRIDE, 1));
            let r2 = _mm256_loadu_pd(record!(base, index, STRIDE, 2));
            let r3 = _mm256_loadu_pd(record!(base, index, STRIDE, 3));
            let (t0, t1) = (_mm256_unpacklo_pd(r0, r1), _mm256_unpackhi_pd(r0, r1));
            let (t2, t3) = (_mm256_unpacklo_pd(r2, r3), _mm256_unpackhi_pd(r2, r3));
            [
                Self(_mm256_permute2f128_pd::<0x20>(t0, t2)),
                Self(_mm256_permute2f128_pd::<0x20>(t1, t3)),
                Self(_mm256_permute2f128_pd::<0x31>(t0, t2)),
                Self(_mm256_permute2f128_pd::<0x31>(t1, t3)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn scatter_add<const STRIDE: usize, const D: usize>(base: *mut f64, index: *const u16, values: [Self; D]) {
        // SAFETY: the caller's promise.
        unsafe {
            let even = _mm256_unpacklo_pd(values[0].0, values[1].0);
            let odd = _mm256_unpackhi_pd(values[0].0, values[1].0);
            if D == 2 {
                let pair = |to: *mut f64, value: __m128d| _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), value));
                pair(record!(base, index, STRIDE, 0), _mm256_castpd256_pd128(even));
                pair(record!(base, index, STRIDE, 1), _mm256_castpd256_pd128(odd));
                pair(record!(base, index, STRIDE, 2), _mm256_extractf128_pd::<1>(even));
                pair(record!(base, index, STRIDE, 3), _mm256_extractf128_pd::<1>(odd));
            } else {
                let zero = _mm256_setzero_pd();
                let even_z = _mm256_unpacklo_pd(values[2].0, zero);
                let odd_z = _mm256_unpackhi_pd(values[2].0, zero);
                let row = |to: *mut f64, value: __m256d| {
                    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), value));
                };
                row(record!(base, index, STRIDE, 0), _mm256_permute2f128_pd::<0x20>(even, even_z));
                row(record!(base, index, STRIDE, 1), _mm256_permute2f128_pd::<0x20>(odd, odd_z));
                row(record!(base, index, STRIDE, 2), _mm256_permute2f128_pd::<0x31>(even, even_z));
                row(record!(base, index, STRIDE, 3), _mm256_permute2f128_pd::<0x31>(odd, odd_z));
            }
        }
    }
}

impl Vector for F32x8 {
    type Scalar = f32;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_set1_ps(value) })
    }

    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        // SAFETY: see the module.
        Self(unsafe { _mm256_fnmadd_ps(self.0, b.0, c.0) })
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_loadu_ps(from) })
    }

    #[inline(always)]
    unsafe fn gather<const STRIDE: usize>(base: *const f32, index: *const u16) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            // Lanes l and l + 4 share a register.
            macro_rules! rows {
                ($low:literal, $high:literal) => {
                    _mm256_insertf128_ps::<1>(
                        _mm256_castps128_ps256(_mm_loadu_ps(record!(base, index, STRIDE, $low))),
                        _mm_loadu_ps(record!(base, index, STRIDE, $high)),
                    )
                };
            }
            let (r0, r1, r2, r3) = (rows!(0, 4), rows!(1, 5), rows!(2, 6), rows!(3, 7));
            let t0 = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1));
            let t1 = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
            let t2 = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3));
            let t3 = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
            [
                Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2))),
                Self(_mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2))),
                Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3))),
                Self(_mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3))),
            ]
        }
    }

    #[inline(always)]
    unsafe fn scatter_add<const STRIDE: usize, const D: usize>(base: *mut f32, index: *const u16, values: [Self; D]) {
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_unpacklo_ps(values[0].0, values[1].0);
            let high = _mm256_unpackhi_ps(values[0].0, values[1].0);
            if D == 2 {
                let pair = |to: *mut f32, value: __m128| {
                    let old = _mm_castsi128_ps(_mm_loadl_epi64(to.cast()));
                    _mm_storel_epi64(to.cast(), _mm_castps_si128(_mm_add_ps(old, value)));
                };
                let two = |first: *mut f32, second: *mut f32, values: __m128| {
                    pair(first, values);
                    pair(second, _mm_movehl_ps(values, values));
                };
                two(
                    record!(base, index, STRIDE, 0),
                    record!(base, index, STRIDE, 1),
                    _mm256_castps256_ps128(low),
                );
                two(
                    record!(base, index, STRIDE, 2),
                    record!(base, index, STRIDE, 3),
                    _mm256_castps256_ps128(high),
                );
                two(
                    record!(base, index, STRIDE, 4),
                    record!(base, index, STRIDE, 5),
                    _mm256_extractf128_ps::<1>(low),
                );
                two(
                    record!(base, index, STRIDE, 6),
                    record!(base, index, STRIDE, 7),
                    _mm256_extractf128_ps::<1>(high),
                );
            } else {
                let zero = _mm256_setzero_ps();
                let low = _mm256_castps_pd(low);
                let high = _mm256_castps_pd(high);
                let low_z = _mm256_castps_pd(_mm256_unpacklo_ps(values[2].0, zero));
                let high_z = _mm256_castps_pd(_mm256_unpackhi_ps(values[2].0, zero));
                let rows = [
                    _mm256_castpd_ps(_mm256_unpacklo_pd(low, low_z)),
                    _mm256_castpd_ps(_mm256_unpackhi_pd(low, low_z)),
                    _mm256_castpd_ps(_mm256_unpacklo_pd(high, high_z)),
                    _mm256_castpd_ps(_mm256_unpackhi_pd(high, high_z)),
                ];
                let row = |to: *mut f32, value: __m128| _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), value));
                row(record!(base, index, STRIDE, 0), _mm256_castps256_ps128(rows[0]));
                row(record!(base, index, STRIDE, 1), _mm256_castps256_ps128(rows[1]));
                row(record!(base, index, STRIDE, 2), _mm256_castps256_ps128(rows[2]));
                row(record!(base, index, STRIDE, 3), _mm256_castps256_ps128(rows[3]));
                row(record!(base, index, STRIDE, 4), _mm256_extractf128_ps::<1>(rows[0]));
                row(record!(base, index, STRIDE, 5), _mm256_extractf128_ps::<1>(rows[1]));
                row(record!(base, index, STRIDE, 6), _mm256_extractf128_ps::<1>(rows[2]));
                row(record!(base, index, STRIDE, 7), _mm256_extractf128_ps::<1>(rows[3]));
            }
        }
    }
}

//! Registers of x86-64.
//!
//! Records are loaded whole and transposed in registers, which is faster than gather instructions. Methods may only be
//! called, inlined, from a kernel that [`Level::run`](super::Level::run) runs at the level of their instructions. They have
//! loops in place of closures: a closure could be compiled without those instructions.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Index, Lanes, Records, ScatterLanes};

macro_rules! operator {
    ($name:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
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

/// A register with its arithmetic. `$rest` are the methods that are not alike.
macro_rules! register {
    (
        $doc:literal, $name:ident($register:ty) = $n:literal of $scalar:ty, $mask:ty,
        [$add:ident, $sub:ident, $mul:ident, $div:ident, $xor:ident],
        [$splat:ident, $load:ident, $store:ident, $sqrt:ident, $fma:ident, $fnma:ident],
        { $($rest:tt)* }
    ) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name($register);
        operator!($name, Add, add, $add);
        operator!($name, Sub, sub, $sub);
        operator!($name, Mul, mul, $mul);
        operator!($name, Div, div, $div);
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $xor(self.0, $splat(-0.0)) })
            }
        }
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
            fn fma(self, b: Self, c: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $fma(self.0, b.0, c.0) })
            }
            #[inline(always)]
            fn fnma(self, b: Self, c: Self) -> Self {
                // SAFETY: see the module.
                Self(unsafe { $fnma(self.0, b.0, c.0) })
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
}

register!(
    "Eight singles, AVX2. Row k has the records of lanes k and k + 4.",
    F32x8(__m256) = 8 of f32,
    __m256,
    [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_xor_ps],
    [_mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_sqrt_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps],
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
        unsafe fn rows<I: Index>(records: Records<f32, I>) -> [Self; 4] {
            // SAFETY: the caller's promise.
            unsafe {
                let mut rows = [Self(_mm256_setzero_ps()); 4];
                for k in 0..4 {
                    let low = _mm256_castps128_ps256(_mm_loadu_ps(records.at(k)));
                    rows[k] = Self(_mm256_insertf128_ps::<1>(low, _mm_loadu_ps(records.at(k + 4))));
                }
                rows
            }
        }
        #[inline(always)]
        fn columns(rows: [Self; 4]) -> [Self; 4] {
            // SAFETY: see the module.
            unsafe {
                let t0 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[0].0, rows[1].0));
                let t1 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[0].0, rows[1].0));
                let t2 = _mm256_castps_pd(_mm256_unpacklo_ps(rows[2].0, rows[3].0));
                let t3 = _mm256_castps_pd(_mm256_unpackhi_ps(rows[2].0, rows[3].0));
                [
                    Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2))),
                    Self(_mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2))),
                    Self(_mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3))),
                    Self(_mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3))),
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

register!(
    "Four doubles, AVX2. Row k has the record of lane k.",
    F64x4(__m256d) = 4 of f64,
    __m256d,
    [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd, _mm256_xor_pd],
    [_mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_sqrt_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd],
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
        unsafe fn rows<I: Index>(records: Records<f64, I>) -> [Self; 4] {
            // SAFETY: the caller's promise.
            unsafe {
                let mut rows = [Self(_mm256_setzero_pd()); 4];
                for k in 0..4 {
                    rows[k] = Self(_mm256_loadu_pd(records.at(k)));
                }
                rows
            }
        }
        #[inline(always)]
        fn columns(rows: [Self; 4]) -> [Self; 4] {
            // SAFETY: see the module.
            unsafe {
                let t0 = _mm256_unpacklo_pd(rows[0].0, rows[1].0);
                let t1 = _mm256_unpackhi_pd(rows[0].0, rows[1].0);
                let t2 = _mm256_unpacklo_pd(rows[2].0, rows[3].0);
                let t3 = _mm256_unpackhi_pd(rows[2].0, rows[3].0);
                [
                    Self(_mm256_permute2f128_pd::<0x20>(t0, t2)),
                    Self(_mm256_permute2f128_pd::<0x20>(t1, t3)),
                    Self(_mm256_permute2f128_pd::<0x31>(t0, t2)),
                    Self(_mm256_permute2f128_pd::<0x31>(t1, t3)),
                ]
            }
        }
    }
);

register!(
    "Sixteen singles, AVX-512. Row k has the records of lanes k, k + 4, k + 8 and k + 12.",
    F32x16(__m512) = 16 of f32,
    __mmask16,
    [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps, _mm512_xor_ps],
    [_mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_sqrt_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps],
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
        unsafe fn rows<I: Index>(records: Records<f32, I>) -> [Self; 4] {
            // SAFETY: the caller's promise.
            unsafe {
                let mut rows = [Self(_mm512_setzero_ps()); 4];
                for k in 0..4 {
                    let low = _mm256_castps128_ps256(_mm_loadu_ps(records.at(k)));
                    let low = _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(records.at(k + 4)));
                    let high = _mm256_castps128_ps256(_mm_loadu_ps(records.at(k + 8)));
                    let high = _mm256_insertf128_ps::<1>(high, _mm_loadu_ps(records.at(k + 12)));
                    let low = _mm512_castpd256_pd512(_mm256_castps_pd(low));
                    rows[k] = Self(_mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high))));
                }
                rows
            }
        }
        #[inline(always)]
        fn columns(rows: [Self; 4]) -> [Self; 4] {
            // SAFETY: see the module.
            unsafe {
                let t0 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[0].0, rows[1].0));
                let t1 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[0].0, rows[1].0));
                let t2 = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2].0, rows[3].0));
                let t3 = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2].0, rows[3].0));
                [
                    Self(_mm512_castpd_ps(_mm512_unpacklo_pd(t0, t2))),
                    Self(_mm512_castpd_ps(_mm512_unpackhi_pd(t0, t2))),
                    Self(_mm512_castpd_ps(_mm512_unpacklo_pd(t1, t3))),
                    Self(_mm512_castpd_ps(_mm512_unpackhi_pd(t1, t3))),
                ]
            }
        }
        #[inline(always)]
        unsafe fn bits(words: *const u32, bit: usize) -> u32 {
            // SAFETY: the caller's promise.
            unsafe { u32::from(_mm512_test_epi32_mask(_mm512_loadu_si512(words.cast()), _mm512_set1_epi32(1 << bit))) }
        }
    }
);

register!(
    "Eight doubles, AVX-512. Rows have the records of lanes 0 and 2, 1 and 3, 4 and 6, 5 and 7.",
    F64x8(__m512d) = 8 of f64,
    __mmask8,
    [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_div_pd, _mm512_xor_pd],
    [_mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_sqrt_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd],
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
        unsafe fn rows<I: Index>(records: Records<f64, I>) -> [Self; 4] {
            // SAFETY: the caller's promise.
            unsafe {
                let mut rows = [Self(_mm512_setzero_pd()); 4];
                for k in 0..4 {
                    let first = k + k / 2 * 2;
                    let low = _mm512_castpd256_pd512(_mm256_loadu_pd(records.at(first)));
                    rows[k] = Self(_mm512_insertf64x4::<1>(low, _mm256_loadu_pd(records.at(first + 2))));
                }
                rows
            }
        }
        #[inline(always)]
        fn columns(rows: [Self; 4]) -> [Self; 4] {
            // SAFETY: see the module.
            unsafe {
                let t0 = _mm512_unpacklo_pd(rows[0].0, rows[1].0);
                let t1 = _mm512_unpackhi_pd(rows[0].0, rows[1].0);
                let t2 = _mm512_unpacklo_pd(rows[2].0, rows[3].0);
                let t3 = _mm512_unpackhi_pd(rows[2].0, rows[3].0);
                [
                    Self(_mm512_shuffle_f64x2::<0x88>(t0, t2)),
                    Self(_mm512_shuffle_f64x2::<0x88>(t1, t3)),
                    Self(_mm512_shuffle_f64x2::<0xdd>(t0, t2)),
                    Self(_mm512_shuffle_f64x2::<0xdd>(t1, t3)),
                ]
            }
        }
    }
);

impl ScatterLanes for F32x8 {
    #[inline(always)]
    unsafe fn load_twice(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe {
            let four = _mm256_castps128_ps256(_mm_loadu_ps(from));
            _mm256_permutevar8x32_ps(four, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3))
        })
    }

    #[inline(always)]
    unsafe fn add_to_record_starts(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            // Zero is added to the other two numbers of each record.
            let zero = _mm256_setzero_pd();
            let pairs = _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(self.0));
            let first = _mm256_castpd_ps(_mm256_unpacklo_pd(pairs, zero));
            let second = _mm256_castpd_ps(_mm256_unpackhi_pd(pairs, zero));
            _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), first));
            let to = to.add(8);
            _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), second));
        }
    }

    #[inline(always)]
    unsafe fn change_records<const ADD: bool, I: Index>(rows: [Self; 4], records: Records<f32, I>) {
        // SAFETY: the caller's promise.
        unsafe {
            for lane in 0..4 {
                let row = rows[lane].0;
                let (to, by) = (records.at(lane), _mm256_castps256_ps128(row));
                _mm_storeu_ps(to, changed_ps::<ADD>(_mm_loadu_ps(to), by));
                let (to, by) = (records.at(lane + 4), _mm256_extractf128_ps::<1>(row));
                _mm_storeu_ps(to, changed_ps::<ADD>(_mm_loadu_ps(to), by));
            }
        }
    }

    #[inline(always)]
    unsafe fn load_pairs<I: Index>(pairs: Records<f32, I>) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut two = [_mm_setzero_ps(); 4];
            // Lanes 0 and 1, 4 and 5, 2 and 3, 6 and 7.
            for k in 0..4 {
                let lane = k % 2 * 4 + k / 2 * 2;
                let low = _mm_load_sd(pairs.at(lane).cast());
                two[k] = _mm_castpd_ps(_mm_loadh_pd(low, pairs.at(lane + 1).cast()));
            }
            let first = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(two[0]), two[1]);
            let second = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(two[2]), two[3]);
            [
                Self(_mm256_shuffle_ps::<0b10_00_10_00>(first, second)),
                Self(_mm256_shuffle_ps::<0b11_01_11_01>(first, second)),
            ]
        }
    }

    /// Those of lanes 0, 1, 4 and 5, and of lanes 2, 3, 6 and 7.
    #[inline(always)]
    fn pairs_of(columns: [Self; 2]) -> [Self; 2] {
        // SAFETY: see the module.
        unsafe {
            [Self(_mm256_unpacklo_ps(columns[0].0, columns[1].0)), Self(_mm256_unpackhi_ps(columns[0].0, columns[1].0))]
        }
    }

    #[inline(always)]
    unsafe fn change_pairs<const ADD: bool, I: Index>(values: [Self; 2], pairs: Records<f32, I>) {
        // SAFETY: the caller's promise.
        unsafe {
            let (low, high) = (values[0].0, values[1].0);
            let two = [
                _mm256_castps256_ps128(low),
                _mm256_castps256_ps128(high),
                _mm256_extractf128_ps::<1>(low),
                _mm256_extractf128_ps::<1>(high),
            ];
            for k in 0..4 {
                let (one, other): (*mut f64, *mut f64) = (pairs.at(2 * k).cast(), pairs.at(2 * k + 1).cast());
                let old = _mm_castpd_ps(_mm_loadh_pd(_mm_load_sd(one), other));
                let new = _mm_castps_pd(changed_ps::<ADD>(old, two[k]));
                _mm_store_sd(one, new);
                _mm_storeh_pd(other, new);
            }
        }
    }
}

#[inline(always)]
unsafe fn changed_ps<const ADD: bool>(old: __m128, by: __m128) -> __m128 {
    // SAFETY: SSE, which every x86-64 has.
    unsafe { if ADD { _mm_add_ps(old, by) } else { _mm_sub_ps(old, by) } }
}

#[inline(always)]
unsafe fn changed_pd<const ADD: bool>(old: __m128d, by: __m128d) -> __m128d {
    // SAFETY: as above.
    unsafe { if ADD { _mm_add_pd(old, by) } else { _mm_sub_pd(old, by) } }
}

impl ScatterLanes for F64x4 {
    #[inline(always)]
    unsafe fn load_twice(from: *const f64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_permute4x64_pd::<0b01_01_00_00>(_mm256_castpd128_pd256(_mm_loadu_pd(from))) })
    }

    #[inline(always)]
    unsafe fn add_to_record_starts(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm256_castpd256_pd128(self.0)));
            let to = to.add(4);
            _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm256_extractf128_pd::<1>(self.0)));
        }
    }

    #[inline(always)]
    unsafe fn change_records<const ADD: bool, I: Index>(rows: [Self; 4], records: Records<f64, I>) {
        // SAFETY: the caller's promise.
        unsafe {
            for lane in 0..4 {
                let (to, by) = (records.at(lane), rows[lane].0);
                let old = _mm256_loadu_pd(to);
                _mm256_storeu_pd(to, if ADD { _mm256_add_pd(old, by) } else { _mm256_sub_pd(old, by) });
            }
        }
    }

    #[inline(always)]
    unsafe fn load_pairs<I: Index>(pairs: Records<f64, I>) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut two = [_mm256_setzero_pd(); 2];
            for lane in 0..2 {
                let low = _mm256_castpd128_pd256(_mm_loadu_pd(pairs.at(lane)));
                two[lane] = _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(pairs.at(lane + 2)));
            }
            [Self(_mm256_unpacklo_pd(two[0], two[1])), Self(_mm256_unpackhi_pd(two[0], two[1]))]
        }
    }

    /// Those of lanes 0 and 2, and of lanes 1 and 3.
    #[inline(always)]
    fn pairs_of(columns: [Self; 2]) -> [Self; 2] {
        // SAFETY: see the module.
        unsafe {
            [Self(_mm256_unpacklo_pd(columns[0].0, columns[1].0)), Self(_mm256_unpackhi_pd(columns[0].0, columns[1].0))]
        }
    }

    #[inline(always)]
    unsafe fn change_pairs<const ADD: bool, I: Index>(values: [Self; 2], pairs: Records<f64, I>) {
        // SAFETY: the caller's promise.
        unsafe {
            let (even, odd) = (values[0].0, values[1].0);
            let one = [
                _mm256_castpd256_pd128(even),
                _mm256_castpd256_pd128(odd),
                _mm256_extractf128_pd::<1>(even),
                _mm256_extractf128_pd::<1>(odd),
            ];
            for lane in 0..4 {
                let to = pairs.at(lane);
                _mm_storeu_pd(to, changed_pd::<ADD>(_mm_loadu_pd(to), one[lane]));
            }
        }
    }
}

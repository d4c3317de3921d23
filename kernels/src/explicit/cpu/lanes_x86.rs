//! Lanes for x86-64. Records are loaded whole and transposed in registers: faster than gather instructions.
//!
//! Every method here may only be called, inlined, from a function compiled for the instructions it uses: see
//! [`Level`](crate::simd::Level). Loops, not closures: a closure would be compiled without those instructions.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::forces::{force_stride, grain, record_stride};
use super::lanes::Vector;

/// Four doubles, AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(__m256d);

/// Eight singles, AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(__m256);

// Offsets are read one by one, as volatile ones are: a compiler that reads a batch of them as a vector must take it apart
// again, which costs more than it saves.

/// Start of the record of a node and lane.
macro_rules! record {
    ($base:ident, $offset:ident, $node:expr, $lane:expr) => {
        $base.byte_add(
            $offset.add($node * Self::LANES + $lane).read_volatile() as usize
                * (record_stride(D) * size_of::<Self>() / Self::LANES / grain(D)),
        )
    };
}

/// Start of the force on a node and lane, or of its displacement where there are no records.
macro_rules! force {
    ($base:ident, $offset:ident, $node:expr, $lane:expr) => {
        $base.byte_add(
            $offset.add($node * Self::LANES + $lane).read_volatile() as usize
                * (force_stride(D) * size_of::<Self>() / Self::LANES / grain(D)),
        )
    };
}

/// The records of a node in lanes l and l + 4 of eight, which share a register.
macro_rules! row {
    ($base:ident, $offset:ident, $node:expr, $lane:expr) => {
        _mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(_mm_loadu_ps(record!($base, $offset, $node, $lane))),
            _mm_loadu_ps(record!($base, $offset, $node, $lane + 4)),
        )
    };
}

/// Two lanes of forces on a node, changed at once.
macro_rules! change {
    ($base:ident, $offset:ident, $node:expr, $pair:expr, $change:ident, $by:expr) => {
        let one: *mut f64 = force!($base, $offset, $node, 2 * $pair).cast();
        let two: *mut f64 = force!($base, $offset, $node, 2 * $pair + 1).cast();
        let old = _mm_castpd_ps(_mm_loadh_pd(_mm_load_sd(one), two));
        let new = _mm_castps_pd($change(old, $by));
        _mm_store_sd(one, new);
        _mm_storeh_pd(two, new);
    };
}

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

/// The numbers of four records, each in a register of its own.
#[inline(always)]
fn transpose_pd(r: [__m256d; 4]) -> [F64x4; 4] {
    // SAFETY: see the module.
    unsafe {
        let (t0, t1) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
        let (t2, t3) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
        [
            F64x4(_mm256_permute2f128_pd::<0x20>(t0, t2)),
            F64x4(_mm256_permute2f128_pd::<0x20>(t1, t3)),
            F64x4(_mm256_permute2f128_pd::<0x31>(t0, t2)),
            F64x4(_mm256_permute2f128_pd::<0x31>(t1, t3)),
        ]
    }
}

/// The same of eight records.
#[inline(always)]
fn transpose_ps(r: [__m256; 4]) -> [F32x8; 4] {
    // SAFETY: see the module.
    unsafe {
        let t0 = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
        let t1 = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
        let t2 = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
        let t3 = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
        [
            F32x8(_mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2))),
            F32x8(_mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2))),
            F32x8(_mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3))),
            F32x8(_mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3))),
        ]
    }
}

impl F64x4 {
    /// The first four numbers of the records of nodes 1 to M minus those of node 0.
    ///
    /// # Safety
    /// As for `gather`.
    #[inline(always)]
    unsafe fn differences<const D: usize, const M: usize>(base: *const f64, offset: *const u16) -> [[Self; 4]; M] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut out = [[Self(_mm256_setzero_pd()); 4]; M];
            let mut origin = [_mm256_setzero_pd(); 4];
            for lane in 0..4 {
                origin[lane] = _mm256_loadu_pd(record!(base, offset, 0, lane));
            }
            for m in 0..M {
                let mut r = origin;
                for lane in 0..4 {
                    r[lane] = _mm256_sub_pd(_mm256_loadu_pd(record!(base, offset, m + 1, lane)), r[lane]);
                }
                out[m] = transpose_pd(r);
            }
            out
        }
    }
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
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_twice(from: *const f64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { _mm256_permute4x64_pd::<0b01_01_00_00>(_mm256_castpd128_pd256(_mm_loadu_pd(from))) })
    }

    #[inline(always)]
    unsafe fn add_to_records(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm256_castpd256_pd128(self.0)));
            let to = to.add(4);
            _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm256_extractf128_pd::<1>(self.0)));
        }
    }

    #[inline(always)]
    fn fetch(from: *const f64) {
        // SAFETY: a hint.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) };
    }

    #[inline(always)]
    unsafe fn gather<const D: usize, const M: usize>(
        base: *const f64,
        offset: *const u16,
    ) -> ([[Self; D]; M], [[Self; D]; M]) {
        let zero = Self::splat(0.0);
        let (mut u, mut x) = ([[zero; D]; M], [[zero; D]; M]);
        // SAFETY: the caller's promise.
        unsafe {
            let first: [[Self; 4]; M] = Self::differences::<D, M>(base, offset);
            if D == 2 {
                for m in 0..M {
                    for c in 0..D {
                        (u[m][c], x[m][c]) = (first[m][c], first[m][2 + c]);
                    }
                }
            } else {
                let second: [[Self; 4]; M] = Self::differences::<D, M>(base.add(4), offset);
                for m in 0..M {
                    for c in 0..D {
                        (u[m][c], x[m][c]) = (first[m][c], second[m][c]);
                    }
                }
            }
        }
        (u, x)
    }

    #[inline(always)]
    unsafe fn gather_pairs(base: *const f64, offset: *const u16) -> [Self; 2] {
        const D: usize = 2;
        // SAFETY: the caller's promise.
        unsafe {
            macro_rules! two {
                ($low:expr, $high:expr) => {
                    _mm256_insertf128_pd::<1>(
                        _mm256_castpd128_pd256(_mm_loadu_pd(force!(base, offset, 0, $low))),
                        _mm_loadu_pd(force!(base, offset, 0, $high)),
                    )
                };
            }
            let (even, odd) = (two!(0, 2), two!(1, 3));
            [Self(_mm256_unpacklo_pd(even, odd)), Self(_mm256_unpackhi_pd(even, odd))]
        }
    }

    #[inline(always)]
    unsafe fn scatter_pairs(base: *mut f64, offset: *const u16, values: [Self; 2]) {
        const D: usize = 2;
        // SAFETY: the caller's promise.
        unsafe {
            let even = _mm256_unpacklo_pd(values[0].0, values[1].0);
            let odd = _mm256_unpackhi_pd(values[0].0, values[1].0);
            let halves = halves_pd(even, odd);
            for lane in 0..4 {
                let to = force!(base, offset, 0, lane);
                _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), halves[lane]));
            }
        }
    }

    #[inline(always)]
    unsafe fn scatter<const D: usize, const M: usize>(base: *mut f64, offset: *const u16, values: [[Self; D]; M]) {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = _mm256_setzero_pd();
            if D == 2 {
                let mut sums = [zero; 2];
                for m in 0..M {
                    let values = values[m];
                    // Lanes 0 and 2, lanes 1 and 3.
                    let even = _mm256_unpacklo_pd(values[0].0, values[1].0);
                    let odd = _mm256_unpackhi_pd(values[0].0, values[1].0);
                    sums = [_mm256_add_pd(sums[0], even), _mm256_add_pd(sums[1], odd)];
                    let halves = halves_pd(even, odd);
                    for lane in 0..4 {
                        let value = halves[lane];
                        let to = force!(base, offset, m + 1, lane);
                        _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), value));
                    }
                }
                let halves = halves_pd(sums[0], sums[1]);
                for lane in 0..4 {
                    let value = halves[lane];
                    let to = force!(base, offset, 0, lane);
                    _mm_storeu_pd(to, _mm_sub_pd(_mm_loadu_pd(to), value));
                }
            } else {
                let mut sums = [zero; 4];
                for m in 0..M {
                    let values = values[m];
                    let even = _mm256_unpacklo_pd(values[0].0, values[1].0);
                    let odd = _mm256_unpackhi_pd(values[0].0, values[1].0);
                    let even_z = _mm256_unpacklo_pd(values[D - 1].0, zero);
                    let odd_z = _mm256_unpackhi_pd(values[D - 1].0, zero);
                    let rows = [
                        _mm256_permute2f128_pd::<0x20>(even, even_z),
                        _mm256_permute2f128_pd::<0x20>(odd, odd_z),
                        _mm256_permute2f128_pd::<0x31>(even, even_z),
                        _mm256_permute2f128_pd::<0x31>(odd, odd_z),
                    ];
                    for lane in 0..4 {
                        let row = rows[lane];
                        sums[lane] = _mm256_add_pd(sums[lane], row);
                        let to = force!(base, offset, m + 1, lane);
                        _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), row));
                    }
                }
                for lane in 0..4 {
                    let row = sums[lane];
                    let to = force!(base, offset, 0, lane);
                    _mm256_storeu_pd(to, _mm256_sub_pd(_mm256_loadu_pd(to), row));
                }
            }
        }
    }
}

/// (x, y) of lanes 0 to 3 from those of lanes 0 and 2, 1 and 3.
#[inline(always)]
fn halves_pd(even: __m256d, odd: __m256d) -> [__m128d; 4] {
    // SAFETY: see the module.
    unsafe {
        [
            _mm256_castpd256_pd128(even),
            _mm256_castpd256_pd128(odd),
            _mm256_extractf128_pd::<1>(even),
            _mm256_extractf128_pd::<1>(odd),
        ]
    }
}

/// (x, y) of lanes 0 and 1, 2 and 3, 4 and 5, 6 and 7 from the unpacked halves.
#[inline(always)]
fn halves_ps(low: __m256, high: __m256) -> [__m128; 4] {
    // SAFETY: see the module.
    unsafe {
        [
            _mm256_castps256_ps128(low),
            _mm256_castps256_ps128(high),
            _mm256_extractf128_ps::<1>(low),
            _mm256_extractf128_ps::<1>(high),
        ]
    }
}

impl F32x8 {
    /// The first four numbers of the records of nodes 1 to M minus those of node 0.
    ///
    /// # Safety
    /// As for `gather`.
    #[inline(always)]
    unsafe fn differences<const D: usize, const M: usize>(base: *const f32, offset: *const u16) -> [[Self; 4]; M] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut out = [[Self(_mm256_setzero_ps()); 4]; M];
            let mut origin = [_mm256_setzero_ps(); 4];
            for lane in 0..4 {
                origin[lane] = row!(base, offset, 0, lane);
            }
            for m in 0..M {
                let mut r = origin;
                for lane in 0..4 {
                    r[lane] = _mm256_sub_ps(row!(base, offset, m + 1, lane), r[lane]);
                }
                out[m] = transpose_ps(r);
            }
            out
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
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn load_twice(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe {
            _mm256_permutevar8x32_ps(
                _mm256_castps128_ps256(_mm_loadu_ps(from)),
                _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3),
            )
        })
    }

    #[inline(always)]
    unsafe fn add_to_records(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            // Zero is added to the positions.
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
    fn fetch(from: *const f32) {
        // SAFETY: a hint.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) };
    }

    #[inline(always)]
    unsafe fn gather<const D: usize, const M: usize>(
        base: *const f32,
        offset: *const u16,
    ) -> ([[Self; D]; M], [[Self; D]; M]) {
        let zero = Self::splat(0.0);
        let (mut u, mut x) = ([[zero; D]; M], [[zero; D]; M]);
        // SAFETY: the caller's promise.
        unsafe {
            let first: [[Self; 4]; M] = Self::differences::<D, M>(base, offset);
            if D == 2 {
                for m in 0..M {
                    for c in 0..D {
                        (u[m][c], x[m][c]) = (first[m][c], first[m][2 + c]);
                    }
                }
            } else {
                let second: [[Self; 4]; M] = Self::differences::<D, M>(base.add(4), offset);
                for m in 0..M {
                    for c in 0..D {
                        (u[m][c], x[m][c]) = (first[m][c], second[m][c]);
                    }
                }
            }
        }
        (u, x)
    }

    #[inline(always)]
    unsafe fn gather_pairs(base: *const f32, offset: *const u16) -> [Self; 2] {
        const D: usize = 2;
        // SAFETY: the caller's promise.
        unsafe {
            macro_rules! two {
                ($lane:expr) => {
                    _mm_castpd_ps(_mm_loadh_pd(
                        _mm_load_sd(force!(base, offset, 0, $lane).cast()),
                        force!(base, offset, 0, $lane + 1).cast(),
                    ))
                };
            }
            macro_rules! four {
                ($lane:expr) => {
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(two!($lane)), two!($lane + 4))
                };
            }
            let (first, second) = (four!(0), four!(2));
            [
                Self(_mm256_shuffle_ps::<0b10_00_10_00>(first, second)),
                Self(_mm256_shuffle_ps::<0b11_01_11_01>(first, second)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn scatter_pairs(base: *mut f32, offset: *const u16, values: [Self; 2]) {
        const D: usize = 2;
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_unpacklo_ps(values[0].0, values[1].0);
            let high = _mm256_unpackhi_ps(values[0].0, values[1].0);
            let halves = halves_ps(low, high);
            for pair in 0..4 {
                change!(base, offset, 0, pair, _mm_add_ps, halves[pair]);
            }
        }
    }

    #[inline(always)]
    unsafe fn scatter<const D: usize, const M: usize>(base: *mut f32, offset: *const u16, values: [[Self; D]; M]) {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = _mm256_setzero_ps();
            if D == 2 {
                let mut sums = [zero; 2];
                for m in 0..M {
                    let values = values[m];
                    let low = _mm256_unpacklo_ps(values[0].0, values[1].0);
                    let high = _mm256_unpackhi_ps(values[0].0, values[1].0);
                    sums = [_mm256_add_ps(sums[0], low), _mm256_add_ps(sums[1], high)];
                    let halves = halves_ps(low, high);
                    for pair in 0..4 {
                        change!(base, offset, m + 1, pair, _mm_add_ps, halves[pair]);
                    }
                }
                let halves = halves_ps(sums[0], sums[1]);
                for pair in 0..4 {
                    change!(base, offset, 0, pair, _mm_sub_ps, halves[pair]);
                }
            } else {
                let mut sums = [zero; 4];
                for m in 0..M {
                    let values = values[m];
                    let low = _mm256_castps_pd(_mm256_unpacklo_ps(values[0].0, values[1].0));
                    let high = _mm256_castps_pd(_mm256_unpackhi_ps(values[0].0, values[1].0));
                    let low_z = _mm256_castps_pd(_mm256_unpacklo_ps(values[D - 1].0, zero));
                    let high_z = _mm256_castps_pd(_mm256_unpackhi_ps(values[D - 1].0, zero));
                    let rows = [
                        _mm256_castpd_ps(_mm256_unpacklo_pd(low, low_z)),
                        _mm256_castpd_ps(_mm256_unpackhi_pd(low, low_z)),
                        _mm256_castpd_ps(_mm256_unpacklo_pd(high, high_z)),
                        _mm256_castpd_ps(_mm256_unpackhi_pd(high, high_z)),
                    ];
                    for lane in 0..4 {
                        let row = rows[lane];
                        sums[lane] = _mm256_add_ps(sums[lane], row);
                        let to = force!(base, offset, m + 1, lane);
                        _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), _mm256_castps256_ps128(row)));
                        let to = force!(base, offset, m + 1, lane + 4);
                        _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), _mm256_extractf128_ps::<1>(row)));
                    }
                }
                for lane in 0..4 {
                    let row = sums[lane];
                    let to = force!(base, offset, 0, lane);
                    _mm_storeu_ps(to, _mm_sub_ps(_mm_loadu_ps(to), _mm256_castps256_ps128(row)));
                    let to = force!(base, offset, 0, lane + 4);
                    _mm_storeu_ps(to, _mm_sub_ps(_mm_loadu_ps(to), _mm256_extractf128_ps::<1>(row)));
                }
            }
        }
    }
}

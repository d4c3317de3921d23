//! Forces of eight voxels side by side.

use super::number::{Eight, Machine, Number, machine, walsh};
use super::rows::{Lines, Sums};

/// Amplitudes of forces from those of displacements, where three, two or one of them meet; see [`Cube`].
///
/// Macros: closures would be compiled without the instructions that the caller allows, and arrays that are passed by value would be
/// taken apart into single numbers.
macro_rules! k {
    ($blocks:ident, $s:expr, $a:expr, $b:expr) => {
        Eight::<T, FMA>::splat($blocks[$s][$a][$b])
    };
}
macro_rules! three {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr) => {
        let (p, q, r) = ($u[0][$s ^ 1], $u[1][$s ^ 2], $u[2][$s ^ 4]);
        $f[0][$s ^ 1] = k!($blocks, $s, 0, 2).fma(r, k!($blocks, $s, 0, 1).fma(q, k!($blocks, $s, 0, 0) * p)) * $e;
        $f[1][$s ^ 2] = k!($blocks, $s, 1, 2).fma(r, k!($blocks, $s, 1, 1).fma(q, k!($blocks, $s, 1, 0) * p)) * $e;
        $f[2][$s ^ 4] = k!($blocks, $s, 2, 2).fma(r, k!($blocks, $s, 2, 1).fma(q, k!($blocks, $s, 2, 0) * p)) * $e;
    };
}
macro_rules! two {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr, $a:expr, $b:expr) => {
        let (p, q) = ($u[$a][$s ^ 1 << $a], $u[$b][$s ^ 1 << $b]);
        $f[$a][$s ^ 1 << $a] = k!($blocks, $s, $a, $b).fma(q, k!($blocks, $s, $a, $a) * p) * $e;
        $f[$b][$s ^ 1 << $b] = k!($blocks, $s, $b, $b).fma(q, k!($blocks, $s, $b, $a) * p) * $e;
    };
}
macro_rules! one {
    ($blocks:ident, $u:ident, $e:ident, $f:ident, $s:expr, $a:expr) => {
        $f[$a][$s ^ 1 << $a] = k!($blocks, $s, $a, $a) * $u[$a][$s ^ 1 << $a] * $e;
    };
}
macro_rules! amplitudes {
    ($blocks:ident, $u:ident, $e:ident, $f:ident) => {
        three!($blocks, $u, $e, $f, 0);
        three!($blocks, $u, $e, $f, 7);
        two!($blocks, $u, $e, $f, 1, 1, 2);
        two!($blocks, $u, $e, $f, 2, 0, 2);
        two!($blocks, $u, $e, $f, 4, 0, 1);
        two!($blocks, $u, $e, $f, 3, 0, 1);
        one!($blocks, $u, $e, $f, 3, 2);
        two!($blocks, $u, $e, $f, 5, 0, 2);
        one!($blocks, $u, $e, $f, 5, 1);
        two!($blocks, $u, $e, $f, 6, 1, 2);
        one!($blocks, $u, $e, $f, 6, 0);
    };
}

pub(super) use {amplitudes, k, one, three, two};

/// E h of eight rows of eight elements: the same for all that are there, or each its own.
pub(super) type Stiffnesses<'a, T> = (Option<T>, &'a [[T; 8]; 8]);

/// f = E h K u of the elements between two planes of nodes; see [`Cube`].
pub(super) fn forces<T: Number>(
    blocks: &[[[T; 3]; 3]; 8],
    elements: u64,
    e: Stiffnesses<T>,
    u: [&Lines<T>; 2],
    f: [&mut Sums<T>; 2],
) {
    match machine() {
        // SAFETY: the machine has what they are compiled for.
        #[cfg(target_arch = "x86_64")]
        Machine::Avx512 => unsafe { forces_avx512(blocks, elements, e, u, f) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Machine::Avx2 => unsafe { forces_avx2(blocks, elements, e, u, f) },
        _ => forces_by::<T, false>(blocks, elements, e, u, f),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
fn forces_avx512<T: Number>(
    blocks: &[[[T; 3]; 3]; 8],
    elements: u64,
    e: Stiffnesses<T>,
    u: [&Lines<T>; 2],
    f: [&mut Sums<T>; 2],
) {
    forces_by::<T, true>(blocks, elements, e, u, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn forces_avx2<T: Number>(
    blocks: &[[[T; 3]; 3]; 8],
    elements: u64,
    e: Stiffnesses<T>,
    u: [&Lines<T>; 2],
    f: [&mut Sums<T>; 2],
) {
    forces_by::<T, true>(blocks, elements, e, u, f);
}

#[inline(always)]
fn forces_by<T: Number, const FMA: bool>(
    blocks: &[[[T; 3]; 3]; 8],
    elements: u64,
    (uniform, e): Stiffnesses<T>,
    planes: [&Lines<T>; 2],
    sums: [&mut Sums<T>; 2],
) {
    type V<T, const FMA: bool> = Eight<T, FMA>;
    let zero = V::<T, FMA>::splat(T::default());
    for y in 0..8 {
        let row = (elements >> (8 * y)) as u8;
        if row == 0 {
            continue;
        }
        let e = match uniform {
            Some(e) => Eight(std::array::from_fn(|x| if row >> x & 1 == 1 { e } else { T::default() })),
            None => V::<T, FMA>::load(&e[y]),
        };
        let mut u = [[zero; 8]; 3];
        for a in 0..3 {
            let mut v = [zero; 8];
            // Rows of nodes at (y, z), (y + 1, z), (y, z + 1), (y + 1, z + 1).
            for c in 0..4 {
                let from = &planes[c / 2][a][y + c % 2];
                v[2 * c] = V::load(from);
                v[2 * c + 1] = V::load(&from[1..]);
            }
            u[a] = walsh(v);
        }
        let mut f = [[zero; 8]; 3];
        amplitudes!(blocks, u, e, f);
        for a in 0..3 {
            let v = walsh(f[a]);
            for c in 0..4 {
                let to = &mut sums[c / 2][a][y + c % 2];
                v[2 * c].add_to(&mut to[..8]);
                v[2 * c + 1].add_to(&mut to[16..]);
            }
        }
    }
}

/// Component by component and corner by corner, eight cubes side by side.
pub(super) type Corners<T> = [[[T; 8]; 8]; 3];

/// f = E h K u of eight cubes; see [`Cube`].
pub(super) fn cubes<T: Number>(blocks: &[[[T; 3]; 3]; 8], u: &Corners<T>, e: &[T; 8], f: &mut Corners<T>) {
    #[cfg(target_arch = "x86_64")]
    if machine() != Machine::Any {
        // SAFETY: the machine has what it is compiled for.
        unsafe { cubes_avx2(blocks, u, e, f) };
        return;
    }
    cubes_by::<T, false>(blocks, u, e, f);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn cubes_avx2<T: Number>(blocks: &[[[T; 3]; 3]; 8], u: &Corners<T>, e: &[T; 8], f: &mut Corners<T>) {
    cubes_by::<T, true>(blocks, u, e, f);
}

#[inline(always)]
fn cubes_by<T: Number, const FMA: bool>(blocks: &[[[T; 3]; 3]; 8], from: &Corners<T>, e: &[T; 8], to: &mut Corners<T>) {
    let zero = Eight::<T, FMA>::splat(T::default());
    let e = Eight::<T, FMA>::load(e);
    let mut u = [[zero; 8]; 3];
    for a in 0..3 {
        let mut v = [zero; 8];
        for c in 0..8 {
            v[c] = Eight::load(&from[a][c]);
        }
        u[a] = walsh(v);
    }
    let mut f = [[zero; 8]; 3];
    amplitudes!(blocks, u, e, f);
    for a in 0..3 {
        let v = walsh(f[a]);
        for c in 0..8 {
            to[a][c].copy_from_slice(&v[c].0);
        }
    }
}

//! Forces of eight voxels side by side.

use super::number::{Eight, walsh};
use super::rows::{Lines, Sums};
use crate::simd::{InstructionSet, Kernel, Lanes, Real};

/// Amplitudes of forces from those of displacements, where three, two or one of them meet; see [`Cube`].
///
/// Macros: closures would be compiled without the instructions that the caller allows, and arrays that are passed by value would be
/// taken apart into single numbers.
macro_rules! k {
    ($blocks:ident, $s:expr, $a:expr, $b:expr) => {
        Eight::<T, I>::splat($blocks[$s][$a][$b])
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

/// Amplitudes of the first part of the stiffness, to which those of a further part are added.
macro_rules! add_part {
    ($part:ident, $blocks:ident, $u:ident, $e:ident, $f:ident, $zero:ident) => {
        if $part == 0 {
            amplitudes!($blocks, $u, $e, $f);
        } else {
            let mut further = [[$zero; 8]; 3];
            amplitudes!($blocks, $u, $e, further);
            for a in 0..3 {
                for w in 0..8 {
                    $f[a][w] = $f[a][w] + further[a][w];
                }
            }
        }
    };
}

pub(super) use {add_part, amplitudes, k, one, three, two};

/// [`Cube::blocks`](super::cube::Cube::blocks) of a part of the stiffness.
pub(super) type Part<T> = [[[T; 3]; 3]; 8];

/// The stiffness of eight rows of eight elements: the same for all that are there, or each its own.
pub(super) type Stiffnesses<'a, T> = (Option<T>, &'a [[T; 8]; 8]);

/// f = Σ s_p K_p u, over `N` parts p, of the elements between two planes of nodes; see [`Cube`](super::cube::Cube) and
/// [`Voxels`](super::problem::Voxels).
pub(super) struct Forces<'a, T, const N: usize> {
    pub parts: &'a [Part<T>; N],
    /// A bit for each of eight rows of eight elements.
    pub elements: u64,
    pub stiffness: [Stiffnesses<'a, T>; N],
    pub displacements: [&'a Lines<T>; 2],
    pub forces: [&'a mut Sums<T>; 2],
}

impl<T: Real, const N: usize> Kernel for Forces<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { parts, elements, stiffness, displacements: planes, forces: sums } = self;
        let zero = Eight::<T, I>::splat(T::default());
        for y in 0..8 {
            let row = (elements >> (8 * y)) as u8;
            if row == 0 {
                continue;
            }
            let mut u = [[zero; 8]; 3];
            for a in 0..3 {
                let mut v = [zero; 8];
                // Rows of nodes at (y, z), (y + 1, z), (y, z + 1), (y + 1, z + 1).
                for c in 0..4 {
                    let from = &planes[c / 2][a][y + c % 2];
                    v[2 * c] = Eight::first_of(from);
                    v[2 * c + 1] = Eight::first_of(&from[1..]);
                }
                u[a] = walsh(v);
            }
            let mut f = [[zero; 8]; 3];
            for p in 0..N {
                let (blocks, (uniform, e)) = (&parts[p], stiffness[p]);
                let e = match uniform {
                    Some(e) => Eight::new(std::array::from_fn(|x| if row >> x & 1 == 1 { e } else { T::default() })),
                    None => Eight::<T, I>::first_of(&e[y]),
                };
                add_part!(p, blocks, u, e, f, zero);
            }
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
}

/// Component by component and corner by corner, eight cubes side by side.
pub(super) type Corners<T> = [[[T; 8]; 8]; 3];

/// f = Σ s_p K_p u of eight cubes, over `N` parts p; see [`Forces`].
pub(super) struct Cubes<'a, T, const N: usize> {
    pub parts: &'a [Part<T>; N],
    pub displacements: &'a Corners<T>,
    pub stiffness: &'a [[T; 8]; N],
    pub forces: &'a mut Corners<T>,
}

impl<T: Real, const N: usize> Kernel for Cubes<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let Self { parts, displacements: from, stiffness, forces: to } = self;
        let zero = Eight::<T, I>::splat(T::default());
        let mut u = [[zero; 8]; 3];
        for a in 0..3 {
            let mut v = [zero; 8];
            for c in 0..8 {
                v[c] = Eight::first_of(&from[a][c]);
            }
            u[a] = walsh(v);
        }
        let mut f = [[zero; 8]; 3];
        for p in 0..N {
            let (blocks, e) = (&parts[p], Eight::<T, I>::first_of(&stiffness[p]));
            add_part!(p, blocks, u, e, f, zero);
        }
        for a in 0..3 {
            let v = walsh(f[a]);
            for c in 0..8 {
                to[a][c].copy_from_slice(&v[c].0);
            }
        }
    }
}

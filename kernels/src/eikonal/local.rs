//! The local solver: the time at one corner of an element out of those at the others (Section 3 of Ganellari et al.).
//!
//! The wave comes to x₄ from a point x₅ = λ₁ x₁ + λ₂ x₂ + (1 − λ₁ − λ₂) x₃ of the opposite face; of all these points that counts
//! which makes the time at x₄ least,
//!
//! ```text
//! φ₄ = min over λ of  φ₃ + pᵀλ + √(λᵀ B λ + 2 gᵀλ + γ),    p = (φ₁ − φ₃, φ₂ − φ₃)              (eqs. 5, 7)
//! B = [e₁₃·e₁₃ e₁₃·e₂₃; · e₂₃·e₂₃],  g = (e₁₃·e₃₄, e₂₃·e₃₄),  γ = e₃₄·e₃₄                      (eq. 8; a·b = aᵀ M b)
//! ```
//!
//! Its derivatives vanish (eq. 9) where, with y = B⁻¹g, z = B⁻¹p, h² = γ − gᵀy (the height over the face), w = 1 − pᵀz and r = √(h² w),
//!
//! ```text
//! λ = −y − (r/w) z,    φ₄ = φ₃ − pᵀy + r        if w > 0
//! ```
//!
//! The function is convex: if this λ lies in the face, it is the answer; else the answer is the least over the three edges,
//! each with the same formulas in one dimension, and their ends. That is exact for elements of any shape, obtuse ones too.
//!
//! # Edges
//! Corner k of a tetrahedron has the Gray code 2^k, an edge both bits of its ends; d/2 − 1 turns the codes 3, 5, 6, 9, 10, 12 into the places
//! 0 to 5 of the edges 01, 02, 12, 03, 13, 23 (Section 3.2.1). Every edge is directed from its lower corner to the higher.

use crate::simd::{InstructionSet, Real};

/// Place of edge k, l of a tetrahedron (Section 3.2.1).
pub(super) const fn edge(k: usize, l: usize) -> usize {
    ((1 << k) | (1 << l)) / 2 - 1
}

/// The corners other than k, ascending; the last is the one common to the products of eq. 8.
pub(super) const fn others(k: usize) -> [usize; 3] {
    match k {
        0 => [1, 2, 3],
        1 => [0, 2, 3],
        2 => [0, 1, 3],
        _ => [0, 1, 2],
    }
}

/// Ends of the edges in their places.
pub(super) const ENDS: [[usize; 2]; 6] = [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]];

/// Place of the product of edges p and q, which share a corner, behind the six squares: Table 1 without the products of
/// opposite edges, for which p + q = 5.
pub(super) const fn mixed(p: usize, q: usize) -> usize {
    let (p, q) = if p < q { (p, q) } else { (q, p) };
    let mut place = 6;
    let mut i = 0;
    while i < 6 {
        let mut j = i + 1;
        while j < 6 {
            if i + j != 5 {
                if i == p && j == q {
                    return place;
                }
                place += 1;
            }
            j += 1;
        }
        i += 1;
    }
    panic!()
}

/// a × b + c.
#[inline(always)]
fn fma<T: Real, I: InstructionSet>(a: T, b: T, c: T) -> T {
    if I::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// The lesser; `b` where `a` is no number.
#[inline(always)]
fn least<T: Real>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

#[inline(always)]
fn half<T: Real>() -> T {
    T::from_f64(0.5)
}

/// What the wave does over an edge from a point on it: time above that at the edge's second end, or +∞ where the least is at
/// an end, and the weight of the first end. `b`: square of the edge e₁₂; `g` = e₁₂·e₂₃; `gamma`: square of e₂₃; `p` = φ₁ − φ₂.
#[inline(always)]
fn over_edge<T: Real, I: InstructionSet>(b: T, g: T, gamma: T, p: T) -> (T, T) {
    let one = T::from_f64(1.0);
    let zero = T::from_f64(0.0);
    let inverse = one / b;
    let y = g * inverse;
    let z = p * inverse;
    let h2 = fma::<T, I>(-g, y, gamma);
    let h2 = if h2 > zero { h2 } else { zero };
    let w = fma::<T, I>(-p, z, one);
    let r = (h2 * w).sqrt();
    let t = fma::<T, I>(-p, y, r);
    // λ w, which must lie between 0 and w. Comparisons with what is no number fail, as they should: an end is at +∞.
    let lambda = -fma::<T, I>(y, w, r * z);
    (if (w > zero) & (lambda >= zero) & (lambda <= w) { t } else { T::INFINITY }, lambda / w)
}

/// Products of eq. 8 for the corner sought, and those of its edges to the first two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference<T> {
    b11: T,
    b12: T,
    b22: T,
    g1: T,
    g2: T,
    gamma: T,
    /// Squares of e₁₂, e₁₄ and e₂₄, and e₁₂·e₂₄.
    l12: T,
    l14: T,
    l24: T,
    g12: T,
}

impl<T: Real> Reference<T> {
    /// From the squares of the edges 13, 23, 12, 14, 24, 34 (eq. 11).
    #[inline(always)]
    pub fn from_squares([l13, l23, l12, l14, l24, l34]: [T; 6]) -> Self {
        let half = half::<T>();
        Self {
            b11: l13,
            b12: half * ((l13 - l12) + l23),
            b22: l23,
            g1: half * ((l14 - l13) - l34),
            g2: half * ((l24 - l23) - l34),
            gamma: l34,
            l12,
            l14,
            l24,
            g12: half * ((l14 - l12) - l24),
        }
    }

    /// From e₁₃·e₁₃, e₁₃·e₂₃, e₂₃·e₂₃, e₁₃·e₃₄, e₂₃·e₃₄, e₃₄·e₃₄ (eq. 8).
    #[inline(always)]
    pub fn from_products([b11, b12, b22, g1, g2, gamma]: [T; 6]) -> Self {
        let two = T::from_f64(2.0);
        Self {
            b11,
            b12,
            b22,
            g1,
            g2,
            gamma,
            l12: b11 - two * b12 + b22,
            l14: b11 + two * g1 + gamma,
            l24: b22 + two * g2 + gamma,
            g12: (b12 - b22) + (g1 - g2),
        }
    }
}

/// The earlier of two, with its weights.
#[inline(always)]
fn earlier<T: Real, const N: usize>(a: (T, [T; N]), b: (T, [T; N])) -> (T, [T; N]) {
    let first = a.0 < b.0;
    (least(a.0, b.0), std::array::from_fn(|i| if first { a.1[i] } else { b.1[i] }))
}

/// Time at corner 4 of a tetrahedron, and the weights λ of the others in x₅. Times may be +∞.
#[inline(always)]
pub(super) fn tetrahedron<T: Real, I: InstructionSet>(phi: [T; 3], m: Reference<T>) -> (T, [T; 3]) {
    let one = T::from_f64(1.0);
    let zero = T::from_f64(0.0);
    let (p1, p2) = (phi[0] - phi[2], phi[1] - phi[2]);
    let inverse = one / fma::<T, I>(m.b11, m.b22, -(m.b12 * m.b12));
    let solve = |a: T, b: T| {
        (
            fma::<T, I>(m.b22, a, -(m.b12 * b)) * inverse, //
            fma::<T, I>(m.b11, b, -(m.b12 * a)) * inverse,
        )
    };
    let (y1, y2) = solve(m.g1, m.g2);
    let (z1, z2) = solve(p1, p2);
    let h2 = fma::<T, I>(-m.g1, y1, fma::<T, I>(-m.g2, y2, m.gamma));
    let h2 = if h2 > zero { h2 } else { zero };
    let w = fma::<T, I>(-p1, z1, fma::<T, I>(-p2, z2, one));
    let r = (h2 * w).sqrt();
    let t = fma::<T, I>(-p1, y1, fma::<T, I>(-p2, y2, r)) + phi[2];
    let lambda1 = -fma::<T, I>(y1, w, r * z1);
    let lambda2 = -fma::<T, I>(y2, w, r * z2);
    let inside = (w > zero) & (lambda1 >= zero) & (lambda2 >= zero) & (lambda1 + lambda2 <= w);
    let (u1, u2) = (lambda1 / w, lambda2 / w);
    let face = (if inside { t } else { T::INFINITY }, [u1, u2, one - u1 - u2]);

    let (t, u) = over_edge::<T, I>(m.b11, m.g1, m.gamma, p1);
    let e13 = (phi[2] + t, [u, zero, one - u]);
    let (t, u) = over_edge::<T, I>(m.b22, m.g2, m.gamma, p2);
    let e23 = (phi[2] + t, [zero, u, one - u]);
    let (t, u) = over_edge::<T, I>(m.l12, m.g12, m.l24, phi[0] - phi[1]);
    let e12 = (phi[1] + t, [u, one - u, zero]);
    let v1 = (phi[0] + m.l14.sqrt(), [one, zero, zero]);
    let v2 = (phi[1] + m.l24.sqrt(), [zero, one, zero]);
    let v3 = (phi[2] + m.gamma.sqrt(), [zero, zero, one]);
    earlier(earlier(earlier(face, e13), earlier(e23, e12)), earlier(v1, earlier(v2, v3)))
}

/// Time at corner 3 of a triangle from the squares of the edges 12, 13, 23, and the weights of the others. Times may be +∞.
#[inline(always)]
pub(super) fn triangle<T: Real, I: InstructionSet>(phi: [T; 2], [l12, l13, l23]: [T; 3]) -> (T, [T; 2]) {
    let one = T::from_f64(1.0);
    let zero = T::from_f64(0.0);
    let g = half::<T>() * ((l13 - l12) - l23);
    let (t, u) = over_edge::<T, I>(l12, g, l23, phi[0] - phi[1]);
    let edge = (phi[1] + t, [u, one - u]);
    let v1 = (phi[0] + l13.sqrt(), [one, zero]);
    let v2 = (phi[1] + l23.sqrt(), [zero, one]);
    earlier(edge, earlier(v1, v2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    /// eᵀ M f.
    fn dot(m: [f64; 6], e: [f64; 3], f: [f64; 3]) -> f64 {
        let g = [
            m[0] * f[0] + m[3] * f[1] + m[5] * f[2],
            m[3] * f[0] + m[1] * f[1] + m[4] * f[2],
            m[5] * f[0] + m[4] * f[1] + m[2] * f[2],
        ];
        e[0] * g[0] + e[1] * g[1] + e[2] * g[2]
    }

    fn squares(x: [[f64; 3]; 4], m: [f64; 6]) -> [f64; 6] {
        [(0, 2), (1, 2), (0, 1), (0, 3), (1, 3), (2, 3)].map(|(k, l)| {
            let e: [f64; 3] = std::array::from_fn(|c| x[l][c] - x[k][c]);
            dot(m, e, e)
        })
    }

    #[test]
    fn gray_codes_number_the_edges() {
        for (place, &[k, l]) in ENDS.iter().enumerate() {
            assert_eq!(edge(k, l), place);
            assert_eq!(edge(l, k), place);
        }
        let mut seen: Vec<usize> =
            (0..6).flat_map(|p| (p + 1..6).filter(move |q| p + q != 5).map(move |q| mixed(p, q))).collect();
        seen.sort_unstable();
        assert_eq!(seen, (6..18).collect::<Vec<_>>());
    }

    proptest::proptest! {
        /// No point of the face gives an earlier time than the solver's, and one gives the same.
        #[test]
        fn is_the_least_over_the_face(
            x in proptest::array::uniform4(proptest::array::uniform3(-1.0..1.0_f64)),
            phi in proptest::array::uniform3(0.0..1.0_f64),
            stretch in proptest::array::uniform3(0.2..3.0_f64),
        ) {
            let m = [stretch[0], stretch[1], stretch[2], 0.1 * stretch[0].min(stretch[1]), 0.0, 0.05];
            let e = |k: usize, l: usize| -> [f64; 3] { std::array::from_fn(|c| x[l][c] - x[k][c]) };
            let l = squares(x, m);
            let area = l[0] * l[1] - 0.25 * (l[0] + l[1] - l[2]).powi(2);
            proptest::prop_assume!(area > 1e-3);
            let (t, weight) = tetrahedron::<f64, Portable>(phi, Reference::from_squares(l));
            let (mixed, _) = tetrahedron::<f64, Portable>(phi, Reference::from_products([
                l[0], dot(m, e(0, 2), e(1, 2)), l[1], dot(m, e(0, 2), e(2, 3)), dot(m, e(1, 2), e(2, 3)), l[5],
            ]));
            proptest::prop_assert!((t - mixed).abs() < 1e-9);
            let from = |w: [f64; 3]| {
                let from: [f64; 3] = std::array::from_fn(|c| {
                    x[3][c] - w[0] * x[0][c] - w[1] * x[1][c] - w[2] * x[2][c]
                });
                w[0] * phi[0] + w[1] * phi[1] + w[2] * phi[2] + dot(m, from, from).sqrt()
            };
            proptest::prop_assert!((from(weight) - t).abs() < 1e-6, "{} at the weights, {t}", from(weight));
            let mut least = f64::INFINITY;
            for i in 0..=60 {
                for j in 0..=60 - i {
                    let w = [f64::from(i) / 60.0, f64::from(j) / 60.0, f64::from(60 - i - j) / 60.0];
                    least = least.min(from(w));
                }
            }
            proptest::prop_assert!(t <= least + 1e-9, "{t} above {least}");
            proptest::prop_assert!(t >= least - 0.02, "{t} below {least}");
        }
    }

    #[test]
    fn infinite_times_do_not_count() {
        let x = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 1.0]];
        let l = squares(x, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        let inf = f64::INFINITY;
        let t = |phi| tetrahedron::<f64, Portable>(phi, Reference::from_squares(l)).0;
        assert_eq!(t([inf, inf, inf]), inf);
        assert_eq!(t([0.5, inf, inf]), 0.5 + l[3].sqrt());
        assert_eq!(t([inf, 0.5, inf]), 0.5 + l[4].sqrt());
        assert_eq!(t([inf, inf, 0.5]), 0.5 + l[5].sqrt());
        // Over the edges with two finite ends.
        for (phi, ends) in [([0.0, 0.1, inf], [0, 1]), ([0.0, inf, 0.1], [0, 2]), ([inf, 0.0, 0.1], [1, 2])] {
            let edge = |k: usize, l: usize| (0..3).map(|c| (x[l][c] - x[k][c]).powi(2)).sum::<f64>();
            let expected = triangle::<f64, Portable>(
                [phi[ends[0]], phi[ends[1]]],
                [edge(ends[0], ends[1]), edge(ends[0], 3), edge(ends[1], 3)],
            )
            .0;
            assert!((t(phi) - expected).abs() < 1e-14 && expected.is_finite());
        }
        // A blocked element has infinite squares.
        assert_eq!(tetrahedron::<f64, Portable>([0.0, 0.1, 0.2], Reference::from_squares([inf; 6])).0, inf);
        assert_eq!(triangle::<f64, Portable>([0.0, 0.1], [inf; 3]).0, inf);
    }
}

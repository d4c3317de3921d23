//! Elements in space.

use super::forces::{
    Element, Fluxes, add, array, axpy, constant, elasticity, gauss_weights, neg, scale, sub, with_origin,
    without_origin,
};
use crate::explicit::units::Material;
use crate::simd::{Real, ScatterLanes};

/// σ in space; quadrature weight in the constants.
struct Solid<V, const ALIGNED: bool> {
    d: [[V; 6]; 6],
}

impl<V: ScatterLanes, const ALIGNED: bool> Solid<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>, weight: f64) -> Self {
        Self { d: elasticity::<V>(material, weight) }
    }

    /// σ, Voigt, from ε.
    #[inline(always)]
    fn stress(&self, e: [V; 6]) -> [V; 6] {
        let d = &self.d;
        if ALIGNED {
            let normal = array!([e[0]; 3], i => d[i][0].fma(e[0], d[i][1].fma(e[1], d[i][2] * e[2])));
            [normal[0], normal[1], normal[2], d[3][3] * e[3], d[4][4] * e[4], d[5][5] * e[5]]
        } else {
            let mut out = e;
            for i in 0..6 {
                out[i] = d[i][0] * e[0];
                for j in 1..6 {
                    out[i] = d[i][j].fma(e[j], out[i]);
                }
            }
            out
        }
    }

    /// σ, 3 × 3, of the displacement gradient `l` × `inverse`.
    #[inline(always)]
    fn stress_of(&self, l: [[V; 3]; 3], inverse: V) -> [[V; 3]; 3] {
        let [xx, yy, zz, xy, xz, yz] = self.stress([
            l[0][0] * inverse,
            l[1][1] * inverse,
            l[2][2] * inverse,
            (l[0][1] + l[1][0]) * inverse,
            (l[0][2] + l[2][0]) * inverse,
            (l[1][2] + l[2][1]) * inverse,
        ]);
        [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    }
}

/// σ c_a.
impl<V: ScatterLanes, const ALIGNED: bool> Fluxes<V, 3, 3> for Solid<V, ALIGNED> {
    #[inline(always)]
    fn fluxes(&self, g: [[V; 3]; 3], h: [[V; 3]; 3]) -> [[V; 3]; 3] {
        let c = [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])];
        let det = dot(g[0], c[0]);
        let s = self.stress_of(mean_gradient(c, h), constant::<V>(1.0) / det);
        array!([c[0]; 3], a => [dot(s[0], c[a]), dot(s[1], c[a]), dot(s[2], c[a])])
    }
}

/// Σ_a h_a ⊗ c_a: ∂u_i/∂x_j × det J.
#[inline(always)]
fn mean_gradient<V: ScatterLanes>(c: [[V; 3]; 3], h: [[V; 3]; 3]) -> [[V; 3]; 3] {
    array!([h[0]; 3], i => array!([h[0][0]; 3], j => h[0][i].fma(c[0][j], h[1][i].fma(c[1][j], h[2][i] * c[2][j]))))
}

#[inline(always)]
pub(super) fn cross<V: ScatterLanes>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[2].fnma(b[1], a[1] * b[2]), a[0].fnma(b[2], a[2] * b[0]), a[1].fnma(b[0], a[0] * b[1])]
}

/// a × b + c.
#[inline(always)]
fn add_cross<V: ScatterLanes>(a: [V; 3], b: [V; 3], c: [V; 3]) -> [V; 3] {
    [
        a[2].fnma(b[1], a[1].fma(b[2], c[0])),
        a[0].fnma(b[2], a[2].fma(b[0], c[1])),
        a[1].fnma(b[0], a[0].fma(b[1], c[2])),
    ]
}

#[inline(always)]
pub(super) fn dot<V: ScatterLanes>(a: [V; 3], b: [V; 3]) -> V {
    a[0].fma(b[0], a[1].fma(b[1], a[2] * b[2]))
}

/// C3D4.
pub(super) struct Tetrahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: ScatterLanes, const ALIGNED: bool> Element<V, 3, 3> for Tetrahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 3], u: &[[V; 3]; 3]) -> [[V; 3]; 3] {
        self.0.fluxes(*x, *u)
    }
}

/// C3D6: 1 × 2 points.
pub(super) struct Wedge<V>(Solid<V, false>);

impl<V: ScatterLanes> Element<V, 3, 5> for Wedge<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 5], u: &[[V; 3]; 5]) -> [[V; 3]; 5] {
        wedge(&self.0, x, u)
    }
}

/// Forces on nodes 1 to 5 of a wedge from the fluxes at 1 × 2 points.
#[inline(always)]
pub(super) fn wedge<V: ScatterLanes, const C: usize>(
    law: &impl Fluxes<V, 3, C>,
    x: &[[V; 3]; 5],
    u: &[[V; C]; 5],
) -> [[V; C]; 5] {
    let (x, u) = (&with_origin::<V, 3, 5, 6>(x), &with_origin::<V, C, 5, 6>(u));
    // N of the bottom and of the top triangle, at the lower and the upper point.
    let (near, far) = gauss_weights::<V>();
    let side = [[near, far], [far, near]];
    let third = constant::<V>(1.0 / 3.0);
    let (x_up, x_r, x_s) = wedge_edges(x);
    let (u_up, u_r, u_s) = wedge_edges(u);
    let x_up = scale(third, add(x_up[0], add(x_up[1], x_up[2])));
    let u_up = scale(third, add(u_up[0], add(u_up[1], u_up[2])));
    let zero = [constant::<V>(0.0); C];
    let mut f = [zero; 6];
    let mut up = zero;
    for side in &side {
        let [p, q, t] = law.fluxes([mix(side, &x_r), mix(side, &x_s), x_up], [mix(side, &u_r), mix(side, &u_s), u_up]);
        up = add(up, t);
        for top in 0..2 {
            let n = side[top];
            f[3 * top] = axpy(-n, add(p, q), f[3 * top]);
            f[3 * top + 1] = axpy(n, p, f[3 * top + 1]);
            f[3 * top + 2] = axpy(n, q, f[3 * top + 2]);
        }
    }
    let up = scale(constant::<V>(1.0 / 6.0), up);
    [sub(f[1], up), sub(f[2], up), add(f[3], up), add(f[4], up), add(f[5], up)]
}

/// C3D6F: 3 × 2 points.
pub(super) struct FullWedge<V>(Solid<V, false>);

impl<V: ScatterLanes> Element<V, 3, 5> for FullWedge<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 5], u: &[[V; 3]; 5]) -> [[V; 3]; 5] {
        let (x, u) = (&with_origin::<V, 3, 5, 6>(x), &with_origin::<V, 3, 5, 6>(u));
        // N of the bottom and of the top triangle, at the lower and the upper points.
        let (near, far) = gauss_weights::<V>();
        let side = [[near, far], [far, near]];
        // N of the corners of the triangle; they too add up to 1.
        let half = constant::<V>(0.5);
        let major = constant::<V>(2.0 / 3.0);
        let minor = half * (constant::<V>(1.0) - major);
        let (x_up, x_r, x_s) = wedge_edges(x);
        let (u_up, u_r, u_s) = wedge_edges(u);
        let zero = [constant::<V>(0.0); 3];
        let mut f = [zero; 6];
        for level in 0..2 {
            let side = side[level];
            let (x_r, x_s) = (mix(&side, &x_r), mix(&side, &x_s));
            let (u_r, u_s) = (mix(&side, &u_r), mix(&side, &u_s));
            for point in 0..3 {
                let l = array!([minor; 3], i => if i == point { major } else { minor });
                let [p, q, t] = self.0.fluxes([x_r, x_s, mix(&l, &x_up)], [u_r, u_s, mix(&l, &u_up)]);
                for top in 0..2 {
                    let (n, sign) = (side[top], if top == 0 { -half } else { half });
                    f[3 * top] = axpy(sign * l[0], t, axpy(-n, add(p, q), f[3 * top]));
                    f[3 * top + 1] = axpy(sign * l[1], t, axpy(n, p, f[3 * top + 1]));
                    f[3 * top + 2] = axpy(sign * l[2], t, axpy(n, q, f[3 * top + 2]));
                }
            }
        }
        without_origin(f)
    }
}

/// Σ w_i v_i.
#[inline(always)]
fn mix<V: ScatterLanes, const N: usize, const C: usize>(w: &[V; N], v: &[[V; C]; N]) -> [V; C] {
    let mut sum = scale(w[0], v[0]);
    for i in 1..N {
        sum = axpy(w[i], v[i], sum);
    }
    sum
}

/// Half the three edges upwards; the first and the second edge of the bottom and of the top.
#[inline(always)]
#[allow(clippy::type_complexity)]
fn wedge_edges<V: ScatterLanes, const C: usize>(v: &[[V; C]; 6]) -> ([[V; C]; 3], [[V; C]; 2], [[V; C]; 2]) {
    let half = constant::<V>(0.5);
    (
        array!([v[0]; 3], i => scale(half, sub(v[i + 3], v[i]))),
        [sub(v[1], v[0]), sub(v[4], v[3])],
        [sub(v[2], v[0]), sub(v[5], v[3])],
    )
}

// Hexahedra are computed in modes: with h_m the values ±1 of ξ, η, ζ, ηζ, ζξ, ξη and ξηζ at the corners, any nodal values
// are v_I = mean + Σ_m h_mI s_m / 8, s_m = Σ_I h_mI v_I. Edges, gradients and hourglass amounts are sums of a few modes.

/// s_m = Σ_I h_mI v_I of the modes ξ, η, ζ, ηζ, ζξ, ξη, ξηζ, for v of nodes 1 to 7 and 0 at node 0.
#[inline(always)]
pub(super) fn modes<V: ScatterLanes, const C: usize>(v: &[[V; C]; 7]) -> [[V; C]; 7] {
    // Sums and differences along ζ, then along ξ, then along η.
    let plus = [v[3], add(v[4], v[0]), add(v[5], v[1]), add(v[6], v[2])];
    let minus = [v[3], sub(v[4], v[0]), sub(v[5], v[1]), sub(v[6], v[2])];
    let (near, far) = (sub(plus[1], plus[0]), sub(plus[2], plus[3]));
    let (xi, xi_eta) = (add(far, near), sub(far, near));
    let eta = sub(add(plus[2], plus[3]), add(plus[1], plus[0]));
    let (near, far) = (sub(minus[1], minus[0]), sub(minus[2], minus[3]));
    let (zeta_xi, all) = (add(far, near), sub(far, near));
    let (near, far) = (add(minus[1], minus[0]), add(minus[2], minus[3]));
    [xi, eta, add(far, near), sub(far, near), zeta_xi, xi_eta, all]
}

/// Σ_m h_mI q_m at nodes 1 to 7.
#[inline(always)]
pub(super) fn spread<V: ScatterLanes, const C: usize>(q: &[[V; C]; 7]) -> [[V; C]; 7] {
    let (fall, rise) = (sub(q[0], q[5]), add(q[0], q[5]));
    let plus = [neg(add(q[1], fall)), sub(fall, q[1]), add(q[1], rise), sub(q[1], rise)];
    let (low, high) = (sub(q[2], q[3]), add(q[2], q[3]));
    let (fall, rise) = (sub(q[4], q[6]), add(q[4], q[6]));
    let minus = [sub(low, fall), add(low, fall), add(high, rise), sub(high, rise)];
    [
        sub(plus[1], minus[1]),
        sub(plus[2], minus[2]),
        sub(plus[3], minus[3]),
        add(plus[0], minus[0]),
        add(plus[1], minus[1]),
        add(plus[2], minus[2]),
        add(plus[3], minus[3]),
    ]
}

/// Modes that ∂/∂ξ, ∂/∂η and ∂/∂ζ consist of: the constant part, those linear in the first and in the second of the
/// other two coordinates, and the one linear in both.
const SLOPES: [[usize; 4]; 3] = [[0, 5, 4, 6], [1, 5, 3, 6], [2, 4, 3, 6]];

/// 8 ∂/∂ξ_a at the Gauss points, (−,−), (+,−), (−,+), (+,+) of the other two coordinates, from modes times those of the
/// points.
#[inline(always)]
fn slopes<V: ScatterLanes, const C: usize>(s: &[[V; C]; 7], axis: usize) -> [[V; C]; 4] {
    let [base, first, second, both] = SLOPES[axis];
    let (low, high) = (sub(s[base], s[second]), add(s[base], s[second]));
    let (fall, rise) = (sub(s[first], s[both]), add(s[first], s[both]));
    [sub(low, fall), add(low, fall), sub(high, rise), add(high, rise)]
}

/// The transpose of `slopes`.
#[inline(always)]
fn add_slopes<V: ScatterLanes, const C: usize>(q: &mut [[V; C]; 7], points: &[[V; C]; 4], axis: usize) {
    let [base, first, second, both] = SLOPES[axis];
    let (low, high) = (add(points[1], points[0]), add(points[3], points[2]));
    let (fall, rise) = (sub(points[1], points[0]), sub(points[3], points[2]));
    q[base] = add(q[base], add(high, low));
    q[second] = add(q[second], sub(high, low));
    q[first] = add(q[first], add(rise, fall));
    q[both] = add(q[both], sub(rise, fall));
}

/// Modes times their values at the Gauss points, 1/√3 for each coordinate beyond the first.
#[inline(always)]
fn at_points<V: ScatterLanes, const C: usize>(s: [[V; C]; 7]) -> [[V; C]; 7] {
    let (edge, third) = (constant::<V>(1.0 / 3.0f64.sqrt()), constant::<V>(1.0 / 3.0));
    [s[0], s[1], s[2], scale(edge, s[3]), scale(edge, s[4]), scale(edge, s[5]), scale(third, s[6])]
}

/// C3D8: 2 × 2 × 2 points.
pub(super) struct Hexahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: ScatterLanes, const ALIGNED: bool> Element<V, 3, 7> for Hexahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // g, h and the forces are eight times as large as they should be: (8 · 8 · 8).
        Self(Solid::new(material, 1.0 / 512.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        hexahedron(&self.0, x, u)
    }
}

/// Forces on nodes 1 to 7 of a hexahedron from the fluxes at 2 × 2 × 2 points: of what is 512 times as large as it should be.
#[inline(always)]
pub(super) fn hexahedron<V: ScatterLanes, const C: usize>(
    law: &impl Fluxes<V, 3, C>,
    x: &[[V; 3]; 7],
    u: &[[V; C]; 7],
) -> [[V; C]; 7] {
    let (x, u) = (at_points(modes(x)), at_points(modes(u)));
    let g = [slopes(&x, 0), slopes(&x, 1), slopes(&x, 2)];
    let h = [slopes(&u, 0), slopes(&u, 1), slopes(&u, 2)];
    let zero = [constant::<V>(0.0); C];
    let mut flux = [[zero; 4]; 3];
    // Not unrolled: two thousand instructions in a row take longer to compile than they save.
    for point in 0..std::hint::black_box(8) {
        let (r, s, t) = (point & 1, point >> 1 & 1, point >> 2 & 1);
        let at = [2 * t + s, 2 * t + r, 2 * s + r];
        let f = law.fluxes([g[0][at[0]], g[1][at[1]], g[2][at[2]]], [h[0][at[0]], h[1][at[1]], h[2][at[2]]]);
        for a in 0..3 {
            flux[a][at[a]] = add(flux[a][at[a]], f[a]);
        }
    }
    let mut q = [zero; 7];
    for axis in 0..3 {
        add_slopes(&mut q, &flux[axis], axis);
    }
    spread(&at_points(q))
}

/// ∫ ∂N/∂x dV over a hexahedron by modes, b_m, and one over its volume, given the modes of x; all 64 times as large as they
/// should be. 64 V = (ξ, η, ζ) + ⅓ [(ξη, η, ηζ) + (ξ, ξη, ζξ) + (ζξ, ηζ, ζ)] in triple products of the modes: the others vanish
/// over the cube. b_m is its derivative by mode m, so that B̄_I = Σ_m h_mI b_m.
#[inline(always)]
pub(super) fn mean_derivatives<V: ScatterLanes>(x: &[[V; 3]; 7]) -> ([[V; 3]; 6], V) {
    let third = constant::<V>(1.0 / 3.0);
    let [p, q, r] = [scale(third, x[3]), scale(third, x[4]), scale(third, x[5])];
    let b = [
        add_cross(r, x[4], cross(x[1], x[2])),
        add_cross(p, x[5], cross(x[2], x[0])),
        add_cross(q, x[3], cross(x[0], x[1])),
        add_cross(r, x[1], cross(x[2], q)),
        add_cross(p, x[2], cross(x[0], r)),
        add_cross(q, x[0], cross(x[1], p)),
    ];
    (b, constant::<V>(1.0) / (dot(x[0], b[0]) + dot(x[3], b[3])))
}

/// C3D8R: exact mean gradient B̄ = ∫ ∂N/∂x dV and hourglass stiffness.
pub(super) struct ReducedHexahedron<V> {
    solid: Solid<V, false>,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 3, 7> for ReducedHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // B̄ is 64 times as large as it should be, and so is V; Σ B̄² is 512 times.
        let eighth = V::Scalar::from_f64(0.125);
        Self { solid: Solid::new(material, 1.0 / 64.0), hourglass: V::splat(material.hourglass * eighth) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (modes(x), modes(u));
        let (b, inverse) = mean_derivatives(&x);
        // V ∂u_i/∂x_j and Σ B̄².
        let mut gradient = [b[0]; 3];
        let mut squares = constant::<V>(0.0);
        for i in 0..3 {
            gradient[i] = scale(u[0][i], b[0]);
            for m in 1..6 {
                gradient[i] = axpy(u[m][i], b[m], gradient[i]);
            }
        }
        for m in 0..6 {
            for i in 0..3 {
                squares = b[m][i].fma(b[m][i], squares);
            }
        }
        // q_α = h_α·u − (∂u/∂x)(h_α·x); its force κ q_α (h_αI − B̄_I·(h_α·x)/V) lowers σ by κ q_α ⊗ (h_α·x)/V.
        let kappa = self.hourglass * squares * inverse;
        let mut s = self.solid.stress_of(gradient, inverse);
        let mut amounts = [b[0]; 4];
        for mode in 0..4 {
            let hx = x[3 + mode];
            let slope = scale(inverse, hx);
            for i in 0..3 {
                amounts[mode][i] = kappa * (u[3 + mode][i] - dot(gradient[i], slope));
                for j in 0..3 {
                    s[i][j] = amounts[mode][i].fnma(slope[j], s[i][j]);
                }
            }
        }
        let mut forces = [amounts[3]; 7];
        for m in 0..6 {
            for i in 0..3 {
                forces[m][i] = dot(s[i], b[m]);
            }
        }
        for mode in 0..3 {
            forces[3 + mode] = add(forces[3 + mode], amounts[mode]);
        }
        spread(&forces)
    }
}

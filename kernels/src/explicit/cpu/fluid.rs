//! Elements of fluids: K q with K_IJ = 1/ρ ∫ ∂N_I/∂x · ∂N_J/∂x dV.
//!
//! The unknown q is the first component of a node; the forces on the others are 0. With the cofactors c_a the flux is
//! v / (ρ det J), v = Σ_a ∂q/∂ξ_a c_a, and the force on node I is Σ_a ∂N_I/∂ξ_a (v · c_a) / (ρ det J).

use super::forces::{Element, add, array, axpy, constant, gauss_weights, neg, scale, sub, with_origin};
use super::plane::{along_sides, double_area, edge_weights};
use super::solid::{add_cross, add_slopes, at_points, cross, dot, mix, modes, slopes, spread, wedge_edges};
use crate::explicit::units::Material;
use crate::simd::{Real, ScatterLanes};

/// 1/ρ times a weight that is a power of two, spread over the lanes; other weights are in the constant.
#[inline(always)]
fn compliance<V: ScatterLanes>(material: &Material<V::Scalar>, weight: f64) -> V {
    V::splat(material.elasticity[0] * V::Scalar::from_f64(weight))
}

/// The unknown of nodes 1 to M.
#[inline(always)]
fn unknowns<V: ScatterLanes, const D: usize, const M: usize>(u: &[[V; D]; M]) -> [[V; 1]; M] {
    array!([[u[0][0]]; M], m => [u[m][0]])
}

/// Forces on the unknown of nodes 1 to M, with zeros for the other components.
#[inline(always)]
fn forces<V: ScatterLanes, const D: usize, const M: usize>(f: [[V; 1]; M]) -> [[V; D]; M] {
    let mut out = [[constant::<V>(0.0); D]; M];
    for m in 0..M {
        out[m][0] = f[m][0];
    }
    out
}

/// v · c_a / (ρ det J) in the plane, for ∂x/∂ξ_a and ∂q/∂ξ_a.
#[inline(always)]
fn plane_fluxes<V: ScatterLanes>(compliance: V, [r, s]: [[V; 2]; 2], [h_r, h_s]: [[V; 1]; 2]) -> [[V; 1]; 2] {
    let factor = compliance / double_area([r, s]);
    // |c_ξ|² = |g_η|², |c_η|² = |g_ξ|², c_ξ · c_η = −g_ξ · g_η.
    let (rr, ss) = (r[0].fma(r[0], r[1] * r[1]), s[0].fma(s[0], s[1] * s[1]));
    let rs = r[0].fma(s[0], r[1] * s[1]);
    let (h_r, h_s) = (h_r[0] * factor, h_s[0] * factor);
    [[h_s.fnma(rs, h_r * ss)], [h_r.fnma(rs, h_s * rr)]]
}

/// v · c_a / (ρ det J) in space.
#[inline(always)]
fn fluxes<V: ScatterLanes>(compliance: V, g: [[V; 3]; 3], h: [[V; 1]; 3]) -> [[V; 1]; 3] {
    let c = [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])];
    let factor = compliance / dot(g[0], c[0]);
    let v = axpy(h[0][0], c[0], axpy(h[1][0], c[1], scale(h[2][0], c[2])));
    let v = scale(factor, v);
    [[dot(v, c[0])], [dot(v, c[1])], [dot(v, c[2])]]
}

/// AC2D3.
pub(super) struct AcousticTriangle<V>(V);

impl<V: ScatterLanes> Element<V, 2, 2> for AcousticTriangle<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(compliance(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 2], u: &[[V; 2]; 2]) -> [[V; 2]; 2] {
        forces(plane_fluxes(self.0, *x, unknowns(u)))
    }
}

/// AC2D4: 2 × 2 points.
pub(super) struct AcousticQuadrilateral<V>(V);

impl<V: ScatterLanes> Element<V, 2, 3> for AcousticQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(compliance(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 1, 3, 4>(&unknowns(u)));
        let (near, far) = edge_weights();
        let [x_r, x_s] = along_sides(x);
        let [u_r, u_s] = along_sides(u);
        let zero = [constant::<V>(0.0); 1];
        // Forces along the edges 01, 32, 03, 12.
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        for s in 0..2 {
            for r in 0..2 {
                let [p, q] = plane_fluxes(self.0, [x_r[s], x_s[r]], [u_r[s], u_s[r]]);
                let (wa, wb) = if s == 0 { (near, far) } else { (far, near) };
                let (wc, wd) = if r == 0 { (near, far) } else { (far, near) };
                a = axpy(wa, p, a);
                b = axpy(wb, p, b);
                c = axpy(wc, q, c);
                d = axpy(wd, q, d);
            }
        }
        forces([sub(a, d), add(b, d), sub(c, b)])
    }
}

/// AC2D4R: mean gradient and hourglass stiffness, as in CPE4R.
pub(super) struct AcousticReducedQuadrilateral<V> {
    compliance: V,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 2, 3> for AcousticReducedQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { compliance: compliance(material, 0.5), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 1, 3, 4>(&unknowns(u)));
        let (p, q) = (sub(x[2], x[0]), sub(x[3], x[1]));
        let (up, uq) = (sub(u[2], u[0]), sub(u[3], u[1]));
        let inverse = constant::<V>(1.0) / double_area([p, q]);
        let [fp, fq] = plane_fluxes(self.compliance, [p, q], [up, uq]);
        let hx = sub(add(x[0], x[2]), add(x[1], x[3]));
        let hu = sub(add(u[0], u[2]), add(u[1], u[3]));
        let squares = p[0].fma(p[0], p[1].fma(p[1], q[0].fma(q[0], q[1] * q[1])));
        let kappa = self.hourglass * squares * inverse;
        let m_p = (hx[0] * q[1] - hx[1] * q[0]) * inverse;
        let m_q = (p[0] * hx[1] - p[1] * hx[0]) * inverse;
        let amount = scale(kappa, axpy(-m_p, up, axpy(-m_q, uq, hu)));
        let (fp, fq) = (axpy(-m_p, amount, fp), axpy(-m_q, amount, fq));
        forces([neg(add(amount, fq)), add(amount, fp), sub(fq, amount)])
    }
}

/// AC3D4.
pub(super) struct AcousticTetrahedron<V>(V);

impl<V: ScatterLanes> Element<V, 3, 3> for AcousticTetrahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(compliance(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 3], u: &[[V; 3]; 3]) -> [[V; 3]; 3] {
        forces(fluxes(self.0, *x, unknowns(u)))
    }
}

/// AC3D6: 1 × 2 points, as in C3D6.
pub(super) struct AcousticWedge<V>(V);

impl<V: ScatterLanes> Element<V, 3, 5> for AcousticWedge<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(compliance(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 5], u: &[[V; 3]; 5]) -> [[V; 3]; 5] {
        let (x, u) = (&with_origin::<V, 3, 5, 6>(x), &with_origin::<V, 1, 5, 6>(&unknowns(u)));
        let (near, far) = gauss_weights::<V>();
        let side = [[near, far], [far, near]];
        let third = constant::<V>(1.0 / 3.0);
        let (x_up, x_r, x_s) = wedge_edges(x);
        let (u_up, u_r, u_s) = wedge_edges(u);
        let x_up = scale(third, add(x_up[0], add(x_up[1], x_up[2])));
        let u_up = scale(third, add(u_up[0], add(u_up[1], u_up[2])));
        let zero = [constant::<V>(0.0); 1];
        let mut f = [zero; 6];
        let mut up = zero;
        for side in &side {
            let [p, q, t] =
                fluxes(self.0, [mix(side, &x_r), mix(side, &x_s), x_up], [mix(side, &u_r), mix(side, &u_s), u_up]);
            up = add(up, t);
            for top in 0..2 {
                let n = side[top];
                f[3 * top] = axpy(-n, add(p, q), f[3 * top]);
                f[3 * top + 1] = axpy(n, p, f[3 * top + 1]);
                f[3 * top + 2] = axpy(n, q, f[3 * top + 2]);
            }
        }
        let up = scale(constant::<V>(1.0 / 6.0), up);
        forces([sub(f[1], up), sub(f[2], up), add(f[3], up), add(f[4], up), add(f[5], up)])
    }
}

/// AC3D8: 2 × 2 × 2 points.
pub(super) struct AcousticHexahedron<V>(V);

impl<V: ScatterLanes> Element<V, 3, 7> for AcousticHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // As in C3D8: (8 · 8 · 8).
        Self(compliance(material, 1.0 / 512.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (at_points(modes(x)), at_points(modes(&unknowns(u))));
        let g = [slopes(&x, 0), slopes(&x, 1), slopes(&x, 2)];
        let h = [slopes(&u, 0), slopes(&u, 1), slopes(&u, 2)];
        let zero = [constant::<V>(0.0); 1];
        let mut flux = [[zero; 4]; 3];
        for point in 0..std::hint::black_box(8) {
            let (r, s, t) = (point & 1, point >> 1 & 1, point >> 2 & 1);
            let at = [2 * t + s, 2 * t + r, 2 * s + r];
            let f = fluxes(self.0, [g[0][at[0]], g[1][at[1]], g[2][at[2]]], [h[0][at[0]], h[1][at[1]], h[2][at[2]]]);
            for a in 0..3 {
                flux[a][at[a]] = add(flux[a][at[a]], f[a]);
            }
        }
        let mut q = [zero; 7];
        for axis in 0..3 {
            add_slopes(&mut q, &flux[axis], axis);
        }
        forces(spread(&at_points(q)))
    }
}

/// AC3D8R: exact mean gradient and hourglass stiffness, as in C3D8R.
pub(super) struct AcousticReducedHexahedron<V> {
    compliance: V,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 3, 7> for AcousticReducedHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        let eighth = V::Scalar::from_f64(0.125);
        Self { compliance: compliance(material, 1.0 / 64.0), hourglass: V::splat(material.hourglass * eighth) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (modes(x), modes(&unknowns(u)));
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
        let inverse = constant::<V>(1.0) / (dot(x[0], b[0]) + dot(x[3], b[3]));
        // V ∂q/∂x and Σ B̄².
        let mut gradient = scale(u[0][0], b[0]);
        let mut squares = dot(b[0], b[0]);
        for m in 1..6 {
            gradient = axpy(u[m][0], b[m], gradient);
            squares = squares + dot(b[m], b[m]);
        }
        let kappa = self.hourglass * squares * inverse;
        let mut flux = scale(self.compliance * inverse, gradient);
        let mut amounts = [[kappa]; 4];
        for mode in 0..4 {
            let slope = scale(inverse, x[3 + mode]);
            amounts[mode] = [kappa * (u[3 + mode][0] - dot(gradient, slope))];
            flux = axpy(-amounts[mode][0], slope, flux);
        }
        let mut f = [amounts[3]; 7];
        for m in 0..6 {
            f[m] = [dot(flux, b[m])];
        }
        for mode in 0..3 {
            f[3 + mode] = add(f[3 + mode], amounts[mode]);
        }
        forces(spread(&f))
    }
}

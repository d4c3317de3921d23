//! Elements of fluids: K q with K_IJ = 1/ρ ∫ ∂N_I/∂x · ∂N_J/∂x dV.
//!
//! The unknown q is the first component of a node; the forces on the others are 0. With the cofactors c_a the flux is
//! v / (ρ det J), v = Σ_a ∂q/∂ξ_a c_a, and the force on node I is Σ_a ∂N_I/∂ξ_a (v · c_a) / (ρ det J).

use super::forces::{Batches, Element, Fluxes, add, array, axpy, constant, pairs, scale, sub, with_origin};
use super::plane::{FILLER_ROWS, ROWS_AT_ONCE, SHAPES_AHEAD, double_area, quadrilateral, reduced_quadrilateral};
use super::solid::{cross, dot, hexahedron, mean_derivatives, modes, spread, wedge};
use crate::explicit::units::Material;
use crate::simd::{Real, ScatterLanes, prefetch};

/// 1/ρ times a weight that is a power of two, spread over the lanes; other weights are in the constant.
struct Compliance<V>(V);

impl<V: ScatterLanes> Compliance<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>, weight: f64) -> Self {
        Self(V::splat(material.elasticity[0] * V::Scalar::from_f64(weight)))
    }
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
impl<V: ScatterLanes> Fluxes<V, 2, 1> for Compliance<V> {
    #[inline(always)]
    fn fluxes(&self, [r, s]: [[V; 2]; 2], [h_r, h_s]: [[V; 1]; 2]) -> [[V; 1]; 2] {
        let factor = self.0 / double_area([r, s]);
        // |c_ξ|² = |g_η|², |c_η|² = |g_ξ|², c_ξ · c_η = −g_ξ · g_η.
        let (rr, ss) = (r[0].fma(r[0], r[1] * r[1]), s[0].fma(s[0], s[1] * s[1]));
        let rs = r[0].fma(s[0], r[1] * s[1]);
        let (h_r, h_s) = (h_r[0] * factor, h_s[0] * factor);
        [[h_s.fnma(rs, h_r * ss)], [h_r.fnma(rs, h_s * rr)]]
    }
}

/// v · c_a / (ρ det J) in space.
impl<V: ScatterLanes> Fluxes<V, 3, 1> for Compliance<V> {
    #[inline(always)]
    fn fluxes(&self, g: [[V; 3]; 3], h: [[V; 1]; 3]) -> [[V; 1]; 3] {
        let c = [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])];
        let factor = self.0 / dot(g[0], c[0]);
        let v = axpy(h[0][0], c[0], axpy(h[1][0], c[1], scale(h[2][0], c[2])));
        let v = scale(factor, v);
        [[dot(v, c[0])], [dot(v, c[1])], [dot(v, c[2])]]
    }
}

/// AC2D3.
pub(super) struct AcousticTriangle<V>(Compliance<V>);

impl<V: ScatterLanes> Element<V, 2, 2> for AcousticTriangle<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Compliance::new(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 2], u: &[[V; 2]; 2]) -> [[V; 2]; 2] {
        forces(self.0.fluxes(*x, unknowns(u)))
    }
}

/// Numbers that strips of fluids have for each node and lane beside its offset.
const CONDUCTANCES: usize = 2;

/// Adds f_int of strips of AC2D3. What flows along an edge is its conductance times the difference of q at its ends, whatever
/// triangles it belongs to. Each row has the conductances of the edges from its node to the two before, (2, N) of `factors`; 0 where
/// there is no triangle. `unknowns` are those of all nodes, (n_local, 2).
///
/// # Safety
/// As for [`add_forces`](super::forces::add_forces).
#[inline(always)]
pub(super) unsafe fn add_fluid_strips<V: ScatterLanes>(
    batches: &Batches<V::Scalar>,
    unknowns: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let n = batches.offsets.len() / V::N;
    if n < 2 * FILLER_ROWS {
        return;
    }
    let (offsets, conductances) = (batches.offsets.as_ptr(), batches.factors.as_ptr());
    let size = CONDUCTANCES * V::N;
    let (mut ahead, step) = batches.ahead;
    // SAFETY: the caller's promise; a row has N offsets and `size` factors.
    unsafe {
        let q = |row: usize| V::load_pairs(pairs(unknowns, offsets.add(row * V::N)))[0];
        let (mut q0, mut q1, mut q2, mut q3) = (q(0), q(1), q(2), q(3));
        // What has come to the last node and to the one before, so far.
        let mut last = V::load(conductances.add(size)) * (q1 - q0);
        let mut before = -last;
        // As for solids, the node two rows ahead is fetched while this one is computed.
        macro_rules! row {
            ($i:expr) => {
                let row = conductances.add($i * size);
                let far = V::load_pairs(pairs(unknowns, offsets.add(($i + 2) * V::N)))[0];
                let (near, across) = (V::load(row) * (q2 - q1), V::load(row.add(V::N)) * (q2 - q0));
                let both = V::pairs_of([before - across, constant::<V>(0.0)]);
                V::change_pairs::<true, _>(both, pairs(forces, offsets.add(($i - 2) * V::N)));
                (before, last) = (last - near, near + across);
                (q0, q1, q2, q3) = (q1, q2, q3, far);
            };
        }
        let mut i = 2;
        while i + 2 + ROWS_AT_ONCE <= n {
            for k in 0..ROWS_AT_ONCE {
                prefetch(ahead.wrapping_byte_add(k * step));
            }
            ahead = ahead.wrapping_byte_add(ROWS_AT_ONCE * step);
            let row = conductances.wrapping_add(i * size).wrapping_byte_add(SHAPES_AHEAD);
            for line in 0..ROWS_AT_ONCE * size * size_of::<V::Scalar>() / 64 {
                prefetch(row.wrapping_byte_add(64 * line));
            }
            row!(i);
            row!(i + 1);
            row!(i + 2);
            row!(i + 3);
            i += ROWS_AT_ONCE;
        }
    }
}

/// AC2D4: 2 × 2 points.
pub(super) struct AcousticQuadrilateral<V>(Compliance<V>);

impl<V: ScatterLanes> Element<V, 2, 3> for AcousticQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Compliance::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        forces(quadrilateral(&self.0, x, &unknowns(u)))
    }
}

/// AC2D4R: mean gradient and hourglass stiffness, as in CPE4R.
pub(super) struct AcousticReducedQuadrilateral<V> {
    compliance: Compliance<V>,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 2, 3> for AcousticReducedQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { compliance: Compliance::new(material, 0.5), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 1, 3, 4>(&unknowns(u)));
        let inverse = constant::<V>(1.0) / double_area([sub(x[2], x[0]), sub(x[3], x[1])]);
        forces(reduced_quadrilateral(&self.compliance, self.hourglass, inverse, x, u))
    }
}

/// AC3D4.
pub(super) struct AcousticTetrahedron<V>(Compliance<V>);

impl<V: ScatterLanes> Element<V, 3, 3> for AcousticTetrahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Compliance::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 3], u: &[[V; 3]; 3]) -> [[V; 3]; 3] {
        forces(self.0.fluxes(*x, unknowns(u)))
    }
}

/// AC3D6: 1 × 2 points, as in C3D6.
pub(super) struct AcousticWedge<V>(Compliance<V>);

impl<V: ScatterLanes> Element<V, 3, 5> for AcousticWedge<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Compliance::new(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 5], u: &[[V; 3]; 5]) -> [[V; 3]; 5] {
        forces(wedge(&self.0, x, &unknowns(u)))
    }
}

/// AC3D8: 2 × 2 × 2 points.
pub(super) struct AcousticHexahedron<V>(Compliance<V>);

impl<V: ScatterLanes> Element<V, 3, 7> for AcousticHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // As in C3D8: (8 · 8 · 8).
        Self(Compliance::new(material, 1.0 / 512.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        forces(hexahedron(&self.0, x, &unknowns(u)))
    }
}

/// AC3D8R: exact mean gradient and hourglass stiffness, as in C3D8R.
pub(super) struct AcousticReducedHexahedron<V> {
    compliance: Compliance<V>,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 3, 7> for AcousticReducedHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        let eighth = V::Scalar::from_f64(0.125);
        Self { compliance: Compliance::new(material, 1.0 / 64.0), hourglass: V::splat(material.hourglass * eighth) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (modes(x), modes(&unknowns(u)));
        let (b, inverse) = mean_derivatives(&x);
        // V ∂q/∂x and Σ B̄².
        let mut gradient = scale(u[0][0], b[0]);
        let mut squares = dot(b[0], b[0]);
        for m in 1..6 {
            gradient = axpy(u[m][0], b[m], gradient);
            squares = squares + dot(b[m], b[m]);
        }
        let kappa = self.hourglass * squares * inverse;
        let mut flux = scale(self.compliance.0 * inverse, gradient);
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

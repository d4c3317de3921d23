//! Elements in the plane.

use super::forces::{
    Batches, Element, Fluxes, add, axpy, constant, elasticity, gauss_weights, neg, pairs, scale, sub, with_origin,
};
use crate::explicit::units::Material;
use crate::simd::{Real, ScatterLanes, prefetch};

/// σ from the displacement gradient in the plane; thickness and quadrature weight are in the constants.
#[derive(Clone, Copy)]
struct Plane<V, const ALIGNED: bool> {
    d11: V,
    d12: V,
    d22: V,
    d66: V,
    d16: V,
    d26: V,
}

impl<V: ScatterLanes, const ALIGNED: bool> Plane<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>, weight: f64) -> Self {
        let d = elasticity::<V>(material, weight);
        Self { d11: d[0][0], d12: d[0][1], d22: d[1][1], d66: d[2][2], d16: d[0][2], d26: d[1][2] }
    }

    /// (σ11, σ22, σ12).
    #[inline(always)]
    fn stress(&self, exx: V, eyy: V, gxy: V) -> [V; 3] {
        let sxx = self.d11.fma(exx, self.d12 * eyy);
        let syy = self.d12.fma(exx, self.d22 * eyy);
        if ALIGNED {
            [sxx, syy, self.d66 * gxy]
        } else {
            let sxy = self.d66.fma(gxy, self.d26.fma(eyy, self.d16 * exx));
            [self.d16.fma(gxy, sxx), self.d26.fma(gxy, syy), sxy]
        }
    }

    /// [`Fluxes`] with 1 / det J given.
    #[inline(always)]
    fn push(&self, g: [[V; 2]; 2], h: [[V; 2]; 2], inverse: V) -> [[V; 2]; 2] {
        let [exx, eyy, gxy] = strain(g, h);
        push_stress(g, self.stress(exx * inverse, eyy * inverse, gxy * inverse))
    }
}

/// σ c_a for g_ξ, g_η and ∂u/∂ξ, ∂u/∂η: c_ξ = (g_ηy, −g_ηx), c_η = (−g_ξy, g_ξx).
impl<V: ScatterLanes, const ALIGNED: bool> Fluxes<V, 2, 2> for Plane<V, ALIGNED> {
    #[inline(always)]
    fn fluxes(&self, g: [[V; 2]; 2], h: [[V; 2]; 2]) -> [[V; 2]; 2] {
        self.push(g, h, constant::<V>(1.0) / double_area(g))
    }
}

/// (ε11, ε22, 2 ε12) times det J from ∂x/∂ξ and ∂u/∂ξ.
#[inline(always)]
fn strain<V: ScatterLanes>(g: [[V; 2]; 2], h: [[V; 2]; 2]) -> [V; 3] {
    let [[xr, yr], [xs, ys]] = g;
    let [[ur, vr], [us, vs]] = h;
    let exx = us.fnma(yr, ur * ys);
    let eyy = vr.fnma(xs, vs * xr);
    let gxy = us.fma(xr, ur.fnma(xs, vs.fnma(yr, vr * ys)));
    [exx, eyy, gxy]
}

/// Fluxes σ c_a.
#[inline(always)]
fn push_stress<V: ScatterLanes>(g: [[V; 2]; 2], [sxx, syy, sxy]: [V; 3]) -> [[V; 2]; 2] {
    let [[xr, yr], [xs, ys]] = g;
    [[sxy.fnma(xs, sxx * ys), syy.fnma(xs, sxy * ys)], [sxx.fnma(yr, sxy * xr), sxy.fnma(yr, syy * xr)]]
}

/// det J of g_ξ, g_η.
#[inline(always)]
pub(super) fn double_area<V: ScatterLanes>(g: [[V; 2]; 2]) -> V {
    g[0][1].fnma(g[1][0], g[0][0] * g[1][1])
}

/// CPE3, CPS3.
pub(super) struct Triangle<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: ScatterLanes, const ALIGNED: bool> Element<V, 2, 2> for Triangle<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 0.5))
    }

    #[inline(always)]
    fn shape(x: &[[V; 2]; 2]) -> V {
        constant::<V>(1.0) / double_area(*x)
    }

    #[inline(always)]
    fn force(&self, inverse: V, x: &[[V; 2]; 2], u: &[[V; 2]; 2]) -> [[V; 2]; 2] {
        self.0.push(*x, *u, inverse)
    }
}

/// Rows of a strip that are computed in one turn of the loop: after so many, what was far ahead is what came before, and no
/// register has to move.
pub(super) const ROWS_AT_ONCE: usize = 4;
/// Rows without a triangle before and after strips: the first two nodes are not part of one, the forces on the last two are
/// written two rows later, and two more are fetched.
pub(super) const FILLER_ROWS: usize = 4;

/// How far ahead rows of strips are asked for, bytes: too far for a processor that sees one stream of many.
pub(super) const SHAPES_AHEAD: usize = 2048;

/// Adds f_int of strips of triangles: with edges from node to node, g_i = x_i − x_{i−1}, triangle i has g_{i−1} and g_i, and
/// what two triangles put on the edge between them is handed to its ends once. A node and a force come and go for each
/// triangle, where each triangle by itself has three. `displacements` are those of all nodes, (n_local, 2).
///
/// Each row has the weights of its triangles, (N,) of `factors`: ½ / |det J| times the factor on its stiffness and, of
/// an isotropic material, times μ, so that λ / μ alone is left to multiply by; 0 where there is no triangle. With `EDGES`
/// x and y of g_i stand before the weights, so that no positions are fetched: less to compute, and more to read.
///
/// # Safety
/// As for [`add_forces`](super::forces::add_forces), and for positions.
// One function, so that all of a row's state stays in registers from row to row.
#[inline(always)]
pub(super) unsafe fn add_strips<V: ScatterLanes, const ISOTROPIC: bool, const EDGES: bool>(
    batches: &Batches<V::Scalar>,
    displacements: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let plane = Plane::<V, false>::new(batches.material, 1.0);
    let d = &batches.material.elasticity;
    let ratio = V::splat(V::Scalar::from_f64(if ISOTROPIC { d[1].to_f64() / d[14].to_f64() } else { 0.0 }));
    let n = batches.offsets.len() / V::N;
    if n < 2 * FILLER_ROWS {
        return;
    }
    let (offsets, shapes, positions) = (batches.offsets.as_ptr(), batches.factors.as_ptr(), batches.positions);
    let size = shape_numbers(EDGES) * V::N;
    let (mut ahead, step) = batches.ahead;
    let mut positions_ahead = batches.positions_ahead;
    // SAFETY: the caller's promise; a row has N offsets and `size` factors.
    unsafe {
        let u0 = V::load_pairs(pairs(displacements, offsets));
        let u1 = V::load_pairs(pairs(displacements, offsets.add(V::N)));
        let u2 = V::load_pairs(pairs(displacements, offsets.add(2 * V::N)));
        let mut u = V::load_pairs(pairs(displacements, offsets.add(3 * V::N)));
        let (mut h0, mut h1, mut h2) = (sub(u1, u0), sub(u2, u1), sub(u, u2));
        let (mut x, mut g0, mut g1, mut g2);
        if EDGES {
            g0 = [V::load(shapes.add(size)), V::load(shapes.add(size + V::N))];
            (x, g1, g2) = (g0, g0, g0);
        } else {
            let x0 = V::load_pairs(pairs(positions, offsets));
            let x1 = V::load_pairs(pairs(positions, offsets.add(V::N)));
            let x2 = V::load_pairs(pairs(positions, offsets.add(2 * V::N)));
            x = V::load_pairs(pairs(positions, offsets.add(3 * V::N)));
            (g0, g1, g2) = (sub(x1, x0), sub(x2, x1), sub(x, x2));
        }
        // On the edge before the last and, so far, on the last.
        let (mut edge_before, mut edge) = ([constant::<V>(0.0); 2], [constant::<V>(0.0); 2]);
        // The node two rows ahead is fetched while this triangle is computed: a processor does not look as far ahead as
        // that takes.
        macro_rules! row {
            ($i:expr) => {
                let (far, shape) = (offsets.add(($i + 2) * V::N), shapes.add($i * size));
                let far_u = V::load_pairs(pairs(displacements, far));
                let mut far_g = g2;
                if EDGES {
                    g1 = [V::load(shape), V::load(shape.add(V::N))];
                } else {
                    let far_x = V::load_pairs(pairs(positions, far));
                    (far_g, x) = (sub(far_x, x), far_x);
                }
                let weight = V::load(shape.add(size - V::N));
                let [exx, eyy, gxy] = strain([g0, g1], [h0, h1]);
                let stress = if ISOTROPIC {
                    let (pressure, twice) = ((weight * ratio) * (exx + eyy), weight + weight);
                    [twice.fma(exx, pressure), twice.fma(eyy, pressure), weight * gxy]
                } else {
                    plane.stress(weight * exx, weight * eyy, weight * gxy)
                };
                let [first, second] = push_stress([g0, g1], stress);
                edge = add(edge, first);
                let both = V::pairs_of(sub(edge_before, edge));
                V::change_pairs::<true, _>(both, pairs(forces, offsets.add(($i - 2) * V::N)));
                (edge_before, edge) = (edge, second);
                (g0, g1, g2) = (g1, g2, far_g);
                (h0, h1, h2, u) = (h1, h2, sub(far_u, u), far_u);
            };
        }
        let mut i = 2;
        while i + 2 + ROWS_AT_ONCE <= n {
            // What the next block begins with, and the rows to come.
            for k in 0..ROWS_AT_ONCE {
                prefetch(ahead.wrapping_byte_add(k * step));
                if !EDGES {
                    prefetch(positions_ahead.wrapping_byte_add(k * step));
                }
            }
            (ahead, positions_ahead) = (ahead.wrapping_byte_add(4 * step), positions_ahead.wrapping_byte_add(4 * step));
            let bytes = ROWS_AT_ONCE * size * size_of::<V::Scalar>();
            let shape = shapes.wrapping_add(i * size).wrapping_byte_add(SHAPES_AHEAD);
            for line in 0..bytes / 64 {
                prefetch(shape.wrapping_byte_add(64 * line));
            }
            row!(i);
            row!(i + 1);
            row!(i + 2);
            row!(i + 3);
            i += ROWS_AT_ONCE;
        }
    }
}

/// Numbers that strips have for each node and lane beside its offset, with and without edges.
pub(super) const fn shape_numbers(edges: bool) -> usize {
    if edges { 3 } else { 1 }
}

/// CPE4, CPS4: 2 × 2 points.
pub(super) struct Quadrilateral<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: ScatterLanes, const ALIGNED: bool> Element<V, 2, 3> for Quadrilateral<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        quadrilateral(&self.0, x, u)
    }
}

/// Forces on nodes 1 to 3 of a quadrilateral from the fluxes at 2 × 2 points.
#[inline(always)]
pub(super) fn quadrilateral<V: ScatterLanes, const C: usize>(
    law: &impl Fluxes<V, 2, C>,
    x: &[[V; 2]; 3],
    u: &[[V; C]; 3],
) -> [[V; C]; 3] {
    let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, C, 3, 4>(u));
    let (near, far) = edge_weights();
    let [x_r, x_s] = along_sides(x);
    let [u_r, u_s] = along_sides(u);
    let zero = [constant::<V>(0.0); C];
    // Forces along the edges 01, 32, 03, 12.
    let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
    for s in 0..2 {
        for r in 0..2 {
            let [p, q] = law.fluxes([x_r[s], x_s[r]], [u_r[s], u_s[r]]);
            let (wa, wb) = if s == 0 { (near, far) } else { (far, near) };
            let (wc, wd) = if r == 0 { (near, far) } else { (far, near) };
            a = axpy(wa, p, a);
            b = axpy(wb, p, b);
            c = axpy(wc, q, c);
            d = axpy(wd, q, d);
        }
    }
    [sub(a, d), add(b, d), sub(c, b)]
}

/// ∂/∂ξ at η = ∓g and ∂/∂η at ξ = ∓g from the two edges along each.
#[inline(always)]
fn along_sides<V: ScatterLanes, const C: usize>(v: &[[V; C]; 4]) -> [[[V; C]; 2]; 2] {
    let (near, far) = edge_weights();
    let [a, b, c, d] = [sub(v[1], v[0]), sub(v[2], v[3]), sub(v[3], v[0]), sub(v[2], v[1])];
    [
        [axpy(far, b, scale(near, a)), axpy(near, b, scale(far, a))],
        [axpy(far, d, scale(near, c)), axpy(near, d, scale(far, c))],
    ]
}

/// ½ N of the near and of the far edge at a Gauss point.
#[inline(always)]
fn edge_weights<V: ScatterLanes>() -> (V, V) {
    let (near, far) = gauss_weights::<V>();
    let half = constant::<V>(0.5);
    (half * near, half * far)
}

/// CPE4R, CPS4R: mean gradient and hourglass stiffness.
pub(super) struct ReducedQuadrilateral<V> {
    plane: Plane<V, false>,
    hourglass: V,
}

impl<V: ScatterLanes> Element<V, 2, 3> for ReducedQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { plane: Plane::new(material, 0.5), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 2, 3, 4>(u));
        // The mean gradient of a quadrilateral is that of its diagonals p = x₂ − x₀, q = x₃ − x₁: 2A = p × q.
        let (p, q) = (sub(x[2], x[0]), sub(x[3], x[1]));
        let double_area = p[0] * q[1] - p[1] * q[0];
        let inverse = constant::<V>(1.0) / double_area;
        reduced_quadrilateral(&self.plane, self.hourglass, inverse, x, u)
    }
}

/// Forces on nodes 1 to 3 of a quadrilateral with one point and hourglass stiffness, given one over its double area.
#[inline(always)]
pub(super) fn reduced_quadrilateral<V: ScatterLanes, const C: usize>(
    law: &impl Fluxes<V, 2, C>,
    hourglass: V,
    inverse: V,
    x: &[[V; 2]; 4],
    u: &[[V; C]; 4],
) -> [[V; C]; 3] {
    let (p, q) = (sub(x[2], x[0]), sub(x[3], x[1]));
    let (up, uq) = (sub(u[2], u[0]), sub(u[3], u[1]));
    // (σ c_p, σ c_q): forces ± on the ends of the diagonals.
    let [fp, fq] = law.fluxes([p, q], [up, uq]);
    // q = h·u − (∂u/∂x) h·x, force κ q (h_I − B_I·(h·x)); κ = κ' Σ B² / A, Σ B² = (p² + q²) / 2.
    let hx = sub(add(x[0], x[2]), add(x[1], x[3]));
    let hu = sub(add(u[0], u[2]), add(u[1], u[3]));
    let squares = p[0].fma(p[0], p[1].fma(p[1], q[0].fma(q[0], q[1] * q[1])));
    let kappa = hourglass * squares * inverse;
    // h·x in the diagonals' frame: h·x = m_p p + m_q q.
    let m_p = (hx[0] * q[1] - hx[1] * q[0]) * inverse;
    let m_q = (p[0] * hx[1] - p[1] * hx[0]) * inverse;
    let amount = scale(kappa, axpy(-m_p, up, axpy(-m_q, uq, hu)));
    let (fp, fq) = (axpy(-m_p, amount, fp), axpy(-m_q, amount, fq));
    [neg(add(amount, fq)), add(amount, fp), sub(fq, amount)]
}

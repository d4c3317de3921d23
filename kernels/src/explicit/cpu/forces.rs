//! f_int of one element kind at a time, recomputed from positions, a lane an element.
//!
//! With g_a = ∂x/∂ξ_a, the cofactor rows c_a (c_ξ = g_η × g_ζ and so on, det J = g_ξ · c_ξ), the gradient is
//! ∂u/∂x = Σ_a ∂u/∂ξ_a ⊗ c_a / det J and the force on node I is f_I = Σ_q w_q Σ_a ∂N_I/∂ξ_a (σ c_a): the weight det J
//! cancels against the inverse Jacobian. Elements of lines and edges share the differences between nodes, so that
//! neither B nor J⁻¹ is ever formed.

use super::lanes::{Real, Vector};
use super::tables::Material;

/// The force law of one element kind: D dimensions, N nodes.
pub(crate) trait Element<V: Vector, const D: usize, const N: usize>: Sized {
    /// Constants, spread over the lanes.
    fn new(material: &Material<V::Scalar>) -> Self;
    /// f_int of the nodes from their positions and displacements.
    fn force(&self, x: &[[V; D]; N], u: &[[V; D]; N]) -> [[V; D]; N];
}

/// Batches of elements of one kind and material.
pub(crate) struct Batches<'a, T> {
    /// Local node indices, (n_batches, N, LANES).
    pub connectivity: &'a [u16],
    /// Factor of each element's stiffness, (n_batches, LANES), or empty.
    pub factors: &'a [T],
    pub material: &'a Material<T>,
}

/// Numbers a node record holds: displacement and position, each padded to 2 or 4.
pub(crate) const fn record_stride(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Numbers a nodal force takes.
pub(crate) const fn force_stride(dimension: usize) -> usize {
    if dimension == 2 { 2 } else { 4 }
}

/// Adds f_int of all batches to `forces`, in order: the same bits every time.
///
/// # Safety
/// Every index must be below the number of records and of forces.
#[inline(always)]
pub(crate) unsafe fn add_forces<V: Vector, const D: usize, const N: usize, E: Element<V, D, N>>(
    batches: &Batches<V::Scalar>,
    records: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let element = E::new(batches.material);
    let scaled = !batches.factors.is_empty();
    for (number, batch) in batches.connectivity.chunks_exact(N * V::LANES).enumerate() {
        let mut x = [[V::splat(V::Scalar::default()); D]; N];
        let mut u = x;
        for node in 0..N {
            // SAFETY: the caller's promise; a batch has N × LANES indices.
            unsafe {
                let index = batch.as_ptr().add(node * V::LANES);
                if D == 2 {
                    let [ux, uy, px, py] = V::gather::<4>(records, index);
                    u[node][..2].copy_from_slice(&[ux, uy]);
                    x[node][..2].copy_from_slice(&[px, py]);
                } else {
                    let [ux, uy, uz, _] = V::gather::<8>(records, index);
                    let [px, py, pz, _] = V::gather::<8>(records.add(4), index);
                    u[node].copy_from_slice(&[ux, uy, uz]);
                    x[node].copy_from_slice(&[px, py, pz]);
                }
            }
        }
        let mut f = element.force(&x, &u);
        if scaled {
            // SAFETY: one factor a lane.
            let factor = unsafe { V::load(batches.factors.as_ptr().add(number * V::LANES)) };
            for value in f.iter_mut().flatten() {
                *value = *value * factor;
            }
        }
        for (node, values) in f.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let index = batch.as_ptr().add(node * V::LANES);
                if D == 2 {
                    V::scatter_add::<2, D>(forces, index, values);
                } else {
                    V::scatter_add::<4, D>(forces, index, values);
                }
            }
        }
    }
}

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

impl<V: Vector, const ALIGNED: bool> Plane<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>, weight: f64) -> Self {
        let d = |i: usize, j: usize| V::splat(material.elasticity[6 * i + j] * V::Scalar::from_f64(weight));
        Self { d11: d(0, 0), d12: d(0, 1), d22: d(1, 1), d66: d(2, 2), d16: d(0, 2), d26: d(1, 2) }
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

    /// Fluxes σ c_a for g_ξ, g_η and ∂u/∂ξ, ∂u/∂η: c_ξ = (g_ηy, −g_ηx), c_η = (−g_ξy, g_ξx).
    #[inline(always)]
    fn fluxes(&self, g: [[V; 2]; 2], h: [[V; 2]; 2]) -> [[V; 2]; 2] {
        let [[xr, yr], [xs, ys]] = g;
        let [[ur, vr], [us, vs]] = h;
        let det = xr * ys - yr * xs;
        let inverse = V::splat(V::Scalar::from_f64(1.0)) / det;
        let exx = us.fnma(yr, ur * ys);
        let eyy = vr.fnma(xs, vs * xr);
        let gxy = us.fma(xr, ur.fnma(xs, vs.fnma(yr, vr * ys)));
        let [sxx, syy, sxy] = self.stress(exx * inverse, eyy * inverse, gxy * inverse);
        [[sxy.fnma(xs, sxx * ys), syy.fnma(xs, sxy * ys)], [sxx.fnma(yr, sxy * xr), sxy.fnma(yr, syy * xr)]]
    }
}

#[inline(always)]
fn sub<V: Vector, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    std::array::from_fn(|i| a[i] - b[i])
}

#[inline(always)]
fn add<V: Vector, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    std::array::from_fn(|i| a[i] + b[i])
}

#[inline(always)]
fn neg<V: Vector, const D: usize>(a: [V; D]) -> [V; D] {
    std::array::from_fn(|i| -a[i])
}

/// a × s + b.
#[inline(always)]
fn axpy<V: Vector, const D: usize>(s: V, a: [V; D], b: [V; D]) -> [V; D] {
    std::array::from_fn(|i| s.fma(a[i], b[i]))
}

#[inline(always)]
fn scale<V: Vector, const D: usize>(s: V, a: [V; D]) -> [V; D] {
    std::array::from_fn(|i| s * a[i])
}

#[inline(always)]
fn constant<V: Vector>(value: f64) -> V {
    V::splat(V::Scalar::from_f64(value))
}

/// CPE3, CPS3.
pub(crate) struct Triangle<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 3> for Triangle<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 0.5))
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let g = [sub(x[1], x[0]), sub(x[2], x[0])];
        let h = [sub(u[1], u[0]), sub(u[2], u[0])];
        let [f1, f2] = self.0.fluxes(g, h);
        [neg(add(f1, f2)), f1, f2]
    }
}

/// CPE4, CPS4: 2 × 2 points.
pub(crate) struct Quadrilateral<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 4> for Quadrilateral<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 2]; 4], u: &[[V; 2]; 4]) -> [[V; 2]; 4] {
        // ∂/∂ξ at η = ∓g and ∂/∂η at ξ = ∓g from the two edges along each.
        let (near, far) = edge_weights();
        let between = |a: [V; 2], b: [V; 2]| [axpy(far, b, scale(near, a)), axpy(near, b, scale(far, a))];
        let along =
            |v: &[[V; 2]; 4]| [between(sub(v[1], v[0]), sub(v[2], v[3])), between(sub(v[3], v[0]), sub(v[2], v[1]))];
        let [x_r, x_s] = along(x);
        let [u_r, u_s] = along(u);
        let zero = [constant::<V>(0.0); 2];
        // Forces along the edges 01, 32, 03, 12.
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        for s in 0..2 {
            for r in 0..2 {
                let [p, q] = self.0.fluxes([x_r[s], x_s[r]], [u_r[s], u_s[r]]);
                let (wa, wb) = if s == 0 { (near, far) } else { (far, near) };
                let (wc, wd) = if r == 0 { (near, far) } else { (far, near) };
                a = axpy(wa, p, a);
                b = axpy(wb, p, b);
                c = axpy(wc, q, c);
                d = axpy(wd, q, d);
            }
        }
        [neg(add(a, c)), sub(a, d), add(b, d), sub(c, b)]
    }
}

/// ½ N of the near and of the far edge at a Gauss point.
#[inline(always)]
fn edge_weights<V: Vector>() -> (V, V) {
    let g = 1.0 / 3.0f64.sqrt();
    (constant((1.0 + g) / 4.0), constant((1.0 - g) / 4.0))
}

/// CPE4R, CPS4R: mean gradient and hourglass stiffness.
pub(crate) struct ReducedQuadrilateral<V, const ALIGNED: bool> {
    plane: Plane<V, ALIGNED>,
    hourglass: V,
}

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 4> for ReducedQuadrilateral<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { plane: Plane::new(material, 0.5), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 2]; 4], u: &[[V; 2]; 4]) -> [[V; 2]; 4] {
        // The mean gradient of a quadrilateral is that of its diagonals p = x₂ − x₀, q = x₃ − x₁: 2A = p × q.
        let (p, q) = (sub(x[2], x[0]), sub(x[3], x[1]));
        let (up, uq) = (sub(u[2], u[0]), sub(u[3], u[1]));
        let double_area = p[0] * q[1] - p[1] * q[0];
        let inverse = constant::<V>(1.0) / double_area;
        // (σ c_p, σ c_q): forces ± on the ends of the diagonals.
        let [fp, fq] = self.plane.fluxes([p, q], [up, uq]);
        // q = h·u − (∂u/∂x) h·x, force κ q (h_I − B_I·(h·x)); κ = κ' Σ B² / A, Σ B² = (p² + q²) / 2.
        let h = |v: &[[V; 2]; 4]| sub(add(v[0], v[2]), add(v[1], v[3]));
        let (hx, hu) = (h(x), h(u));
        let squares = p[0].fma(p[0], p[1].fma(p[1], q[0].fma(q[0], q[1] * q[1])));
        let kappa = self.hourglass * squares * inverse;
        // h·x in the diagonals' frame: h·x = m_p p + m_q q.
        let m_p = (hx[0] * q[1] - hx[1] * q[0]) * inverse;
        let m_q = (p[0] * hx[1] - p[1] * hx[0]) * inverse;
        let amount: [V; 2] = std::array::from_fn(|i| m_p.fnma(up[i], m_q.fnma(uq[i], hu[i])) * kappa);
        let fp: [V; 2] = std::array::from_fn(|i| m_p.fnma(amount[i], fp[i]));
        let fq: [V; 2] = std::array::from_fn(|i| m_q.fnma(amount[i], fq[i]));
        [sub(amount, fp), neg(add(amount, fq)), add(amount, fp), sub(fq, amount)]
    }
}

/// σ in space; quadrature weight in the constants.
struct Solid<V, const ALIGNED: bool> {
    d: [[V; 6]; 6],
}

impl<V: Vector, const ALIGNED: bool> Solid<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>, weight: f64) -> Self {
        let d = |i: usize, j: usize| V::splat(material.elasticity[6 * i + j] * V::Scalar::from_f64(weight));
        Self { d: std::array::from_fn(|i| std::array::from_fn(|j| d(i, j))) }
    }

    /// σ, Voigt, from ε.
    #[inline(always)]
    fn stress(&self, e: [V; 6]) -> [V; 6] {
        let d = &self.d;
        if ALIGNED {
            let normal = |i: usize| d[i][0].fma(e[0], d[i][1].fma(e[1], d[i][2] * e[2]));
            [normal(0), normal(1), normal(2), d[3][3] * e[3], d[4][4] * e[4], d[5][5] * e[5]]
        } else {
            std::array::from_fn(|i| {
                let mut sum = d[i][0] * e[0];
                for j in 1..6 {
                    sum = d[i][j].fma(e[j], sum);
                }
                sum
            })
        }
    }

    /// σ c_a, a = ξ, η, ζ, for g_a and h_a = ∂u/∂ξ_a.
    #[inline(always)]
    fn fluxes(&self, g: [[V; 3]; 3], h: [[V; 3]; 3]) -> [[V; 3]; 3] {
        let c = [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])];
        let det = dot(g[0], c[0]);
        let s = self.stress_of(mean_gradient(c, h), constant::<V>(1.0) / det);
        c.map(|c| [dot(s[0], c), dot(s[1], c), dot(s[2], c)])
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

/// Σ_a h_a ⊗ c_a: ∂u_i/∂x_j × det J.
#[inline(always)]
fn mean_gradient<V: Vector>(c: [[V; 3]; 3], h: [[V; 3]; 3]) -> [[V; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| h[0][i].fma(c[0][j], h[1][i].fma(c[1][j], h[2][i] * c[2][j]))))
}

#[inline(always)]
fn cross<V: Vector>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[2].fnma(b[1], a[1] * b[2]), a[0].fnma(b[2], a[2] * b[0]), a[1].fnma(b[0], a[0] * b[1])]
}

#[inline(always)]
fn dot<V: Vector>(a: [V; 3], b: [V; 3]) -> V {
    a[0].fma(b[0], a[1].fma(b[1], a[2] * b[2]))
}

/// C3D4.
pub(crate) struct Tetrahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 4> for Tetrahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0 / 6.0))
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 3]; 4], u: &[[V; 3]; 4]) -> [[V; 3]; 4] {
        let edges = |v: &[[V; 3]; 4]| [sub(v[1], v[0]), sub(v[2], v[0]), sub(v[3], v[0])];
        let [f1, f2, f3] = self.0.fluxes(edges(x), edges(u));
        [neg(add(add(f1, f2), f3)), f1, f2, f3]
    }
}

/// C3D6: 3 × 2 points.
pub(crate) struct Wedge<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 6> for Wedge<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0 / 6.0))
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 3]; 6], u: &[[V; 3]; 6]) -> [[V; 3]; 6] {
        let g = 1.0 / 3.0f64.sqrt();
        // N of the bottom and of the top triangle, at the lower and the upper points.
        let side = [
            [constant::<V>((1.0 + g) / 2.0), constant((1.0 - g) / 2.0)],
            [constant((1.0 - g) / 2.0), constant((1.0 + g) / 2.0)],
        ];
        let (minor, major) = (constant::<V>(1.0 / 6.0), constant::<V>(2.0 / 3.0));
        let half = constant::<V>(0.5);
        let edges = |v: &[[V; 3]; 6]| {
            let up: [[V; 3]; 3] = std::array::from_fn(|i| scale(half, sub(v[i + 3], v[i])));
            let r = [sub(v[1], v[0]), sub(v[4], v[3])];
            let s = [sub(v[2], v[0]), sub(v[5], v[3])];
            (up, r, s)
        };
        let (x_up, x_r, x_s) = edges(x);
        let (u_up, u_r, u_s) = edges(u);
        let zero = [constant::<V>(0.0); 3];
        let mut f = [zero; 6];
        for side in side {
            let across = |e: &[[V; 3]; 2]| axpy(side[1], e[1], scale(side[0], e[0]));
            for point in 0..3 {
                let l: [V; 3] = std::array::from_fn(|i| if i == point { major } else { minor });
                let rise = |e: &[[V; 3]; 3]| axpy(l[2], e[2], axpy(l[1], e[1], scale(l[0], e[0])));
                let [p, q, t] =
                    self.0.fluxes([across(&x_r), across(&x_s), rise(&x_up)], [across(&u_r), across(&u_s), rise(&u_up)]);
                for top in 0..2 {
                    let (n, sign) = (side[top], if top == 0 { -half } else { half });
                    f[3 * top] = axpy(sign * l[0], t, axpy(-n, add(p, q), f[3 * top]));
                    f[3 * top + 1] = axpy(sign * l[1], t, axpy(n, p, f[3 * top + 1]));
                    f[3 * top + 2] = axpy(sign * l[2], t, axpy(n, q, f[3 * top + 2]));
                }
            }
        }
        f
    }
}

/// Ends of the edges of a hexahedron along ξ, η and ζ; edge 2b + a lies at (−,−), (+,−), (−,+), (+,+) of the other two.
const EDGES: [[[usize; 2]; 4]; 3] =
    [[[0, 1], [3, 2], [4, 5], [7, 6]], [[0, 3], [1, 2], [4, 7], [5, 6]], [[0, 4], [1, 5], [3, 7], [2, 6]]];

/// ∂/∂ξ_a at the four pairs of Gauss abscissae of the other two coordinates: bilinear between the edges.
#[inline(always)]
fn along_edges<V: Vector>(v: &[[V; 3]; 8], axis: usize) -> [[V; 3]; 4] {
    let e = EDGES[axis].map(|[from, to]| sub(v[to], v[from]));
    let (near, far) = hexahedron_weights();
    let first = [0, 2].map(|b| [axpy(far, e[b + 1], scale(near, e[b])), axpy(near, e[b + 1], scale(far, e[b]))]);
    std::array::from_fn(|point| {
        let (a, b) = (point % 2, point / 2);
        let (w0, w1) = if b == 0 { (near, far) } else { (far, near) };
        axpy(w1, first[1][a], scale(w0, first[0][a]))
    })
}

/// The transpose of `along_edges`: adds the forces of the four points to the nodes.
#[inline(always)]
fn add_along_edges<V: Vector>(f: &mut [[V; 3]; 8], points: &[[V; 3]; 4], axis: usize) {
    let (near, far) = hexahedron_weights();
    for b in 0..2 {
        let (w0, w1) = if b == 0 { (near, far) } else { (far, near) };
        let column = [0, 1].map(|a| axpy(w1, points[2 + a], scale(w0, points[a])));
        for a in 0..2 {
            let (w0, w1) = if a == 0 { (near, far) } else { (far, near) };
            let value = axpy(w1, column[1], scale(w0, column[0]));
            let [from, to] = EDGES[axis][2 * b + a];
            f[from] = sub(f[from], value);
            f[to] = add(f[to], value);
        }
    }
}

/// N in one direction at a Gauss point, with √½ of ∂N/∂ξ's factor ½.
#[inline(always)]
fn hexahedron_weights<V: Vector>() -> (V, V) {
    let (g, root) = (1.0 / 3.0f64.sqrt(), 0.5f64.sqrt());
    (constant(root * (1.0 + g) / 2.0), constant(root * (1.0 - g) / 2.0))
}

/// C3D8: 2 × 2 × 2 points.
pub(crate) struct Hexahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 8> for Hexahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 3]; 8], u: &[[V; 3]; 8]) -> [[V; 3]; 8] {
        let g: [_; 3] = std::array::from_fn(|axis| along_edges(x, axis));
        let h: [_; 3] = std::array::from_fn(|axis| along_edges(u, axis));
        let zero = [constant::<V>(0.0); 3];
        let mut flux = [[zero; 4]; 3];
        for point in 0..8 {
            let (r, s, t) = (point & 1, point >> 1 & 1, point >> 2);
            let at = [2 * t + s, 2 * t + r, 2 * s + r];
            let f = self.0.fluxes(std::array::from_fn(|a| g[a][at[a]]), std::array::from_fn(|a| h[a][at[a]]));
            for a in 0..3 {
                flux[a][at[a]] = add(flux[a][at[a]], f[a]);
            }
        }
        let mut f = [zero; 8];
        for axis in 0..3 {
            add_along_edges(&mut f, &flux[axis], axis);
        }
        f
    }
}

/// C3D8R: exact mean gradient B̄ = ∫ ∂N/∂x dV and hourglass stiffness.
pub(crate) struct ReducedHexahedron<V, const ALIGNED: bool> {
    solid: Solid<V, ALIGNED>,
    hourglass: V,
}

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 8> for ReducedHexahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { solid: Solid::new(material, 1.0), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, x: &[[V; 3]; 8], u: &[[V; 3]; 8]) -> [[V; 3]; 8] {
        // B̄ = Σ_q Σ_a ∂N/∂ξ_a c_a: the cofactors take the way that the fluxes take in the full element.
        let g: [_; 3] = std::array::from_fn(|axis| along_edges(x, axis));
        let zero = [constant::<V>(0.0); 3];
        let mut cofactor = [[zero; 4]; 3];
        for point in 0..8 {
            let (r, s, t) = (point & 1, point >> 1 & 1, point >> 2);
            let at = [2 * t + s, 2 * t + r, 2 * s + r];
            let g: [[V; 3]; 3] = std::array::from_fn(|a| g[a][at[a]]);
            for a in 0..3 {
                cofactor[a][at[a]] = add(cofactor[a][at[a]], cross(g[(a + 1) % 3], g[(a + 2) % 3]));
            }
        }
        let mut b = [zero; 8];
        for axis in 0..3 {
            add_along_edges(&mut b, &cofactor[axis], axis);
        }
        // V ∂u_i/∂x_j, V and Σ B̄².
        let mut gradient = [zero; 3];
        let mut volume = constant::<V>(0.0);
        let mut squares = constant::<V>(0.0);
        for node in 0..8 {
            volume = x[node][0].fma(b[node][0], volume);
            squares = squares + dot(b[node], b[node]);
            for i in 0..3 {
                gradient[i] = axpy(u[node][i], b[node], gradient[i]);
            }
        }
        let inverse = constant::<V>(1.0) / volume;
        let kappa = self.hourglass * squares * inverse;
        // q_α = h_α·u − (∂u/∂x)(h_α·x); its force κ q_α (h_αI − B̄_I·(h_α·x)/V) lowers σ by κ q_α ⊗ (h_α·x)/V.
        let mut relief = [zero; 3];
        let hx = hourglass_moments(x);
        let hu = hourglass_moments(u);
        let over_volume = kappa * inverse;
        let amounts: [[V; 3]; 4] = std::array::from_fn(|mode| {
            let slope = scale(inverse, hx[mode]);
            std::array::from_fn(|i| hu[mode][i] - dot(gradient[i], slope))
        });
        for mode in 0..4 {
            for i in 0..3 {
                relief[i] = axpy(amounts[mode][i] * over_volume, hx[mode], relief[i]);
            }
        }
        let amounts = amounts.map(|q| scale(kappa, q));
        let s = self.solid.stress_of(gradient, inverse);
        let s: [[V; 3]; 3] = std::array::from_fn(|i| sub(s[i], relief[i]));
        let spread = hourglass_spread(&amounts);
        std::array::from_fn(|node| std::array::from_fn(|i| dot(s[i], b[node]) + spread[node][i]))
    }
}

/// Σ_I h_αI v_I for h = ηζ, ζξ, ξη, ξηζ.
#[inline(always)]
fn hourglass_moments<V: Vector>(v: &[[V; 3]; 8]) -> [[V; 3]; 4] {
    // Sums and differences along ζ, then along ξ on the faces η = ∓1.
    let plus: [[V; 3]; 4] = std::array::from_fn(|i| add(v[i + 4], v[i]));
    let minus: [[V; 3]; 4] = std::array::from_fn(|i| sub(v[i + 4], v[i]));
    let eta = sub(add(minus[2], minus[3]), add(minus[0], minus[1]));
    let xi = sub(add(minus[1], minus[2]), add(minus[0], minus[3]));
    let xi_eta = sub(add(plus[0], plus[2]), add(plus[1], plus[3]));
    let all = sub(add(minus[0], minus[2]), add(minus[1], minus[3]));
    [eta, xi, xi_eta, all]
}

/// Σ_α h_αI q_α.
#[inline(always)]
fn hourglass_spread<V: Vector>(q: &[[V; 3]; 4]) -> [[V; 3]; 8] {
    // Signs of ηζ, ζξ, ξη, ξηζ at the corners: the upper four change all but ξη.
    let corner = |eta: bool, xi: bool| {
        let base = if eta { q[0] } else { neg(q[0]) };
        let base = if xi { add(base, q[1]) } else { sub(base, q[1]) };
        if eta == xi { add(base, q[3]) } else { sub(base, q[3]) }
    };
    let odd = [corner(false, false), corner(false, true), corner(true, true), corner(true, false)];
    std::array::from_fn(|node| {
        let (i, top) = (node % 4, node >= 4);
        let even = if i % 2 == 0 { q[2] } else { neg(q[2]) };
        if top { add(even, odd[i]) } else { sub(even, odd[i]) }
    })
}

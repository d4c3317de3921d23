//! f_int of one element kind at a time, recomputed from positions, a lane an element.
//!
//! With g_a = ∂x/∂ξ_a, the cofactor rows c_a (c_ξ = g_η × g_ζ and so on, det J = g_ξ · c_ξ), the gradient is
//! ∂u/∂x = Σ_a ∂u/∂ξ_a ⊗ c_a / det J and the force on node I is f_I = Σ_q w_q Σ_a ∂N_I/∂ξ_a (σ c_a): the weight det J
//! cancels against the inverse Jacobian. Elements of lines and edges share the differences between nodes, so that
//! neither B nor J⁻¹ is ever formed.

use super::lanes::{Real, Vector};
use super::tables::Material;

/// The array whose entry i is the given value. Loops, not closures: what a closure does might be compiled without the
/// instructions that the lanes need.
macro_rules! array {
    ([$start:expr; $n:expr], $i:ident => $value:expr) => {{
        let mut out = [$start; $n];
        for $i in 0..$n {
            out[$i] = $value;
        }
        out
    }};
}

/// The force law of one element kind in D dimensions with M + 1 nodes. Everything is relative to node 0: element forces
/// depend on differences alone, and balance.
pub(crate) trait Element<V: Vector, const D: usize, const M: usize>: Sized {
    /// Constants, spread over the lanes.
    fn new(material: &Material<V::Scalar>) -> Self;
    /// What takes long to compute of the positions of nodes 1 to M relative to node 0; where nothing does, no matter what.
    #[inline(always)]
    fn shape(x: &[[V; D]; M]) -> V {
        x[0][0]
    }
    /// f_int of nodes 1 to M from their positions and displacements relative to node 0, which gets −Σ f_int.
    fn force(&self, shape: V, x: &[[V; D]; M], u: &[[V; D]; M]) -> [[V; D]; M];
}

/// Batches of elements of one kind and material.
pub(crate) struct Batches<'a, T> {
    /// Local node indices times [`grain`], (n_batches, M + 1, LANES), of strips (n_rows, LANES).
    pub offsets: &'a [u16],
    /// Factor of each element's stiffness, (n_batches, LANES), or empty.
    pub factors: &'a [T],
    /// Of strips, see [`Rows`](super::strips::Rows), in place of batches.
    pub marks: &'a [u8],
    pub material: &'a Material<T>,
    /// In the plane, where to ask for memory while the first batch is computed, and how many bytes further for each of the
    /// others: what the next block begins with. Never read, so that any address will do.
    pub ahead: (*const T, usize),
}

/// Numbers a node record holds: displacement and position, each padded to 2 or 4.
pub(crate) const fn record_stride(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Numbers a nodal force takes.
pub(crate) const fn force_stride(dimension: usize) -> usize {
    if dimension == 2 { 2 } else { 4 }
}

/// What a local node index is multiplied by in the tables: offsets are then scaled by the address alone.
pub(crate) const fn grain(dimension: usize) -> usize {
    if dimension == 2 { 4 } else { 8 }
}

/// Adds f_int of all batches to `forces`, in order: the same bits every time.
///
/// # Safety
/// Every index must be below the number of records and of forces.
#[inline(always)]
pub(crate) unsafe fn add_forces<V: Vector, const D: usize, const M: usize, E: Element<V, D, M>>(
    batches: &Batches<V::Scalar>,
    records: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let element = E::new(batches.material);
    let size = (M + 1) * V::LANES;
    let n = batches.offsets.len() / size;
    if n == 0 {
        return;
    }
    let offsets = batches.offsets.as_ptr();
    // SAFETY: the caller's promise; a batch has (M + 1) × LANES offsets and, scaled, LANES factors.
    unsafe {
        if D == 2 {
            // In the plane, where registers last, the next batch is fetched while this one is computed: together they are
            // more instructions than a processor looks ahead. So is its division, which everything else waits for.
            let (mut u, mut x) = V::gather::<D, M>(records, offsets);
            let mut shape = E::shape(&x);
            let (mut ahead, step) = batches.ahead;
            for number in 0..n {
                V::fetch(ahead);
                V::fetch(ahead.wrapping_byte_add(64));
                ahead = ahead.wrapping_byte_add(step);
                let next = V::gather::<D, M>(records, offsets.add((number + 1).min(n - 1) * size));
                let next_shape = E::shape(&next.1);
                let f = scaled_force(batches, &element, number, shape, &x, &u);
                V::scatter::<D, M>(forces, offsets.add(number * size), f);
                (u, x) = next;
                shape = next_shape;
            }
        } else {
            for number in 0..n {
                let (u, x) = V::gather::<D, M>(records, offsets.add(number * size));
                let f = scaled_force(batches, &element, number, E::shape(&x), &x, &u);
                V::scatter::<D, M>(forces, offsets.add(number * size), f);
            }
        }
    }
}

/// f_int of one batch, times the factors on its stiffness.
///
/// # Safety
/// As for `add_forces`.
#[inline(always)]
unsafe fn scaled_force<V: Vector, const D: usize, const M: usize, E: Element<V, D, M>>(
    batches: &Batches<V::Scalar>,
    element: &E,
    number: usize,
    shape: V,
    x: &[[V; D]; M],
    u: &[[V; D]; M],
) -> [[V; D]; M] {
    let f = element.force(shape, x, u);
    if batches.factors.is_empty() {
        return f;
    }
    // SAFETY: the caller's promise.
    let factor = unsafe { V::load(batches.factors.as_ptr().add(number * V::LANES)) };
    array!([f[0]; M], m => scale(factor, f[m]))
}

/// D × weight, spread over the lanes; the weight must be a power of two.
#[inline(always)]
fn elasticity<V: Vector>(material: &Material<V::Scalar>, weight: f64) -> [[V; 6]; 6] {
    let (d, weight, zero) = (&material.elasticity, V::Scalar::from_f64(weight), constant::<V>(0.0));
    array!([[zero; 6]; 6], i => array!([zero; 6], j => V::splat(d[6 * i + j] * weight)))
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

    /// Fluxes σ c_a for g_ξ, g_η and ∂u/∂ξ, ∂u/∂η: c_ξ = (g_ηy, −g_ηx), c_η = (−g_ξy, g_ξx).
    #[inline(always)]
    fn fluxes(&self, g: [[V; 2]; 2], h: [[V; 2]; 2]) -> [[V; 2]; 2] {
        self.push(g, h, constant::<V>(1.0) / double_area(g))
    }

    /// The same with 1 / det J given.
    #[inline(always)]
    fn push(&self, g: [[V; 2]; 2], h: [[V; 2]; 2], inverse: V) -> [[V; 2]; 2] {
        let [exx, eyy, gxy] = strain(g, h, inverse);
        push_stress(g, self.stress(exx, eyy, gxy))
    }
}

/// (ε11, ε22, 2 ε12) from ∂x/∂ξ and ∂u/∂ξ, with 1 / det J given.
#[inline(always)]
fn strain<V: Vector>(g: [[V; 2]; 2], h: [[V; 2]; 2], inverse: V) -> [V; 3] {
    let [[xr, yr], [xs, ys]] = g;
    let [[ur, vr], [us, vs]] = h;
    let exx = us.fnma(yr, ur * ys);
    let eyy = vr.fnma(xs, vs * xr);
    let gxy = us.fma(xr, ur.fnma(xs, vs.fnma(yr, vr * ys)));
    [exx * inverse, eyy * inverse, gxy * inverse]
}

/// Fluxes σ c_a.
#[inline(always)]
fn push_stress<V: Vector>(g: [[V; 2]; 2], [sxx, syy, sxy]: [V; 3]) -> [[V; 2]; 2] {
    let [[xr, yr], [xs, ys]] = g;
    [[sxy.fnma(xs, sxx * ys), syy.fnma(xs, sxy * ys)], [sxx.fnma(yr, sxy * xr), sxy.fnma(yr, syy * xr)]]
}

/// det J of g_ξ, g_η.
#[inline(always)]
fn double_area<V: Vector>(g: [[V; 2]; 2]) -> V {
    g[0][1].fnma(g[1][0], g[0][0] * g[1][1])
}

#[inline(always)]
fn sub<V: Vector, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    array!([a[0]; D], i => a[i] - b[i])
}

#[inline(always)]
fn add<V: Vector, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    array!([a[0]; D], i => a[i] + b[i])
}

#[inline(always)]
fn neg<V: Vector, const D: usize>(a: [V; D]) -> [V; D] {
    array!([a[0]; D], i => -a[i])
}

/// a × s + b.
#[inline(always)]
fn axpy<V: Vector, const D: usize>(s: V, a: [V; D], b: [V; D]) -> [V; D] {
    array!([s; D], i => s.fma(a[i], b[i]))
}

#[inline(always)]
fn scale<V: Vector, const D: usize>(s: V, a: [V; D]) -> [V; D] {
    array!([s; D], i => s * a[i])
}

/// Node 0, at the origin, in front of the others.
#[inline(always)]
fn with_origin<V: Vector, const D: usize, const M: usize, const N: usize>(v: &[[V; D]; M]) -> [[V; D]; N] {
    array!([[constant::<V>(0.0); D]; N], node => if node == 0 { [constant(0.0); D] } else { v[node - 1] })
}

/// All nodes but node 0.
#[inline(always)]
fn without_origin<V: Vector, const D: usize, const M: usize, const N: usize>(v: [[V; D]; N]) -> [[V; D]; M] {
    array!([v[0]; M], m => v[m + 1])
}

#[inline(always)]
fn constant<V: Vector>(value: f64) -> V {
    V::splat(V::Scalar::from_f64(value))
}

/// CPE3, CPS3.
pub(crate) struct Triangle<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 2> for Triangle<V, ALIGNED> {
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

/// Two triangles (0, 1, 2) and (0, 2, 3) that share the edge 02: four records to read and write instead of six.
pub(crate) struct TrianglePair<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 3> for TrianglePair<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 0.5))
    }

    #[inline(always)]
    fn shape(x: &[[V; 2]; 3]) -> V {
        // One division for both areas.
        constant::<V>(1.0) / (double_area([x[0], x[1]]) * double_area([x[1], x[2]]))
    }

    #[inline(always)]
    fn force(&self, inverse: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let first = [[x[0], x[1]], [u[0], u[1]]];
        let second = [[x[1], x[2]], [u[1], u[2]]];
        let (a, b) = (double_area(first[0]), double_area(second[0]));
        let [f1, f2] = self.0.push(first[0], first[1], b * inverse);
        let [g2, f3] = self.0.push(second[0], second[1], a * inverse);
        [f1, add(f2, g2), f3]
    }
}

/// Rows of a strip that are computed in one turn of the loop: after so many, what was far ahead is what came before, and no
/// register has to move.
pub(super) const ROWS_AT_ONCE: usize = 4;
/// Rows without a triangle before and after strips: the first two nodes are not part of one, the forces on the last two are
/// written two rows later, and two more are fetched.
pub(super) const FILLER_ROWS: usize = 4;

/// Adds f_int of strips of triangles: with edges from node to node, g_i = x_i − x_{i−1}, triangle i has g_{i−1} and g_i, and
/// what two triangles put on the edge between them is handed to its ends once. A node and a force come and go for each
/// triangle, where each triangle by itself has three.
///
/// Of an isotropic material μ comes with 1 / det J, and λ / μ alone is left to multiply by: multiplications are what binds.
///
/// # Safety
/// As for [`add_forces`].
#[inline(always)]
pub(crate) unsafe fn add_strips<V: Vector, const ISOTROPIC: bool>(
    batches: &Batches<V::Scalar>,
    records: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let plane = Plane::<V, false>::new(batches.material, 0.5);
    let (weight, ratio) = if ISOTROPIC { (plane.d66, plane.d12 / plane.d66) } else { (constant(1.0), plane.d12) };
    let n = batches.marks.len();
    if n < 2 * FILLER_ROWS {
        return;
    }
    let (offsets, marks) = (batches.offsets.as_ptr(), batches.marks.as_ptr());
    let (mut ahead, step) = batches.ahead;
    // SAFETY: the caller's promise; a row has LANES offsets and a mark.
    unsafe {
        let (u0, x0) = V::gather_nodes(records, offsets);
        let (u1, x1) = V::gather_nodes(records, offsets.add(V::LANES));
        let (u2, x2) = V::gather_nodes(records, offsets.add(2 * V::LANES));
        let (mut u, mut x) = V::gather_nodes(records, offsets.add(3 * V::LANES));
        let (mut h0, mut g0) = (sub(u1, u0), sub(x1, x0));
        let (mut h1, mut g1) = (sub(u2, u1), sub(x2, x1));
        let (mut h2, mut g2) = (sub(u, u2), sub(x, x2));
        // Triangles turn one way and the other in a strip: σ takes the sign of det J, so that forces have |det J|.
        let mut shape = (weight / double_area([g0, g1])).magnitude_where(*marks.add(2));
        let mut next_shape = (weight / double_area([g1, g2])).magnitude_where(*marks.add(3));
        // On the edge before the last and, so far, on the last.
        let (mut edge_before, mut edge) = ([constant::<V>(0.0); 2], [constant::<V>(0.0); 2]);
        // The node two rows ahead is fetched, and its division begun, while this triangle is computed: a processor does not
        // look as far ahead as that takes.
        macro_rules! row {
            ($i:expr) => {
                let far = $i + 2;
                let (far_u, far_x) = V::gather_nodes(records, offsets.add(far * V::LANES));
                let (far_h, far_g) = (sub(far_u, u), sub(far_x, x));
                let far_shape = (weight / double_area([g2, far_g])).magnitude_where(*marks.add(far));
                let [exx, eyy, gxy] = strain([g0, g1], [h0, h1], shape);
                let stress = if ISOTROPIC {
                    let pressure = ratio * (exx + eyy);
                    [pressure + (exx + exx), pressure + (eyy + eyy), gxy]
                } else {
                    plane.stress(exx, eyy, gxy)
                };
                let [first, second] = push_stress([g0, g1], stress);
                edge = add(edge, first);
                V::scatter_nodes(forces, offsets.add(($i - 2) * V::LANES), sub(edge_before, edge));
                (edge_before, edge) = (edge, second);
                (g0, h0, g1, h1, g2, h2) = (g1, h1, g2, h2, far_g, far_h);
                (u, x, shape, next_shape) = (far_u, far_x, next_shape, far_shape);
            };
        }
        let mut i = 2;
        while i + 2 + ROWS_AT_ONCE <= n {
            V::fetch(ahead);
            V::fetch(ahead.wrapping_byte_add(step));
            V::fetch(ahead.wrapping_byte_add(2 * step));
            V::fetch(ahead.wrapping_byte_add(3 * step));
            ahead = ahead.wrapping_byte_add(4 * step);
            row!(i);
            row!(i + 1);
            row!(i + 2);
            row!(i + 3);
            i += ROWS_AT_ONCE;
        }
    }
}

/// CPE4, CPS4: 2 × 2 points.
pub(crate) struct Quadrilateral<V, const ALIGNED: bool>(Plane<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 2, 3> for Quadrilateral<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Plane::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 2, 3, 4>(u));
        let (near, far) = edge_weights();
        let [x_r, x_s] = along_sides(x);
        let [u_r, u_s] = along_sides(u);
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
        [sub(a, d), add(b, d), sub(c, b)]
    }
}

/// ∂/∂ξ at η = ∓g and ∂/∂η at ξ = ∓g from the two edges along each.
#[inline(always)]
fn along_sides<V: Vector>(v: &[[V; 2]; 4]) -> [[[V; 2]; 2]; 2] {
    let (near, far) = edge_weights();
    let [a, b, c, d] = [sub(v[1], v[0]), sub(v[2], v[3]), sub(v[3], v[0]), sub(v[2], v[1])];
    [
        [axpy(far, b, scale(near, a)), axpy(near, b, scale(far, a))],
        [axpy(far, d, scale(near, c)), axpy(near, d, scale(far, c))],
    ]
}

/// ½ N of the near and of the far edge at a Gauss point.
#[inline(always)]
fn edge_weights<V: Vector>() -> (V, V) {
    let (near, far) = gauss_weights::<V>();
    let half = constant::<V>(0.5);
    (half * near, half * far)
}

/// N of the near and of the far end at a Gauss point. Their rounded values add up to 1: linear fields, and so long waves,
/// have exactly the speed that the material gives them.
#[inline(always)]
fn gauss_weights<V: Vector>() -> (V, V) {
    let near = constant::<V>((1.0 + 1.0 / 3.0f64.sqrt()) / 2.0);
    (near, constant::<V>(1.0) - near)
}

/// CPE4R, CPS4R: mean gradient and hourglass stiffness.
pub(crate) struct ReducedQuadrilateral<V> {
    plane: Plane<V, false>,
    hourglass: V,
}

impl<V: Vector> Element<V, 2, 3> for ReducedQuadrilateral<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self { plane: Plane::new(material, 0.5), hourglass: V::splat(material.hourglass) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 2]; 3], u: &[[V; 2]; 3]) -> [[V; 2]; 3] {
        let (x, u) = (&with_origin::<V, 2, 3, 4>(x), &with_origin::<V, 2, 3, 4>(u));
        // The mean gradient of a quadrilateral is that of its diagonals p = x₂ − x₀, q = x₃ − x₁: 2A = p × q.
        let (p, q) = (sub(x[2], x[0]), sub(x[3], x[1]));
        let (up, uq) = (sub(u[2], u[0]), sub(u[3], u[1]));
        let double_area = p[0] * q[1] - p[1] * q[0];
        let inverse = constant::<V>(1.0) / double_area;
        // (σ c_p, σ c_q): forces ± on the ends of the diagonals.
        let [fp, fq] = self.plane.fluxes([p, q], [up, uq]);
        // q = h·u − (∂u/∂x) h·x, force κ q (h_I − B_I·(h·x)); κ = κ' Σ B² / A, Σ B² = (p² + q²) / 2.
        let hx = sub(add(x[0], x[2]), add(x[1], x[3]));
        let hu = sub(add(u[0], u[2]), add(u[1], u[3]));
        let squares = p[0].fma(p[0], p[1].fma(p[1], q[0].fma(q[0], q[1] * q[1])));
        let kappa = self.hourglass * squares * inverse;
        // h·x in the diagonals' frame: h·x = m_p p + m_q q.
        let m_p = (hx[0] * q[1] - hx[1] * q[0]) * inverse;
        let m_q = (p[0] * hx[1] - p[1] * hx[0]) * inverse;
        let amount = scale(kappa, axpy(-m_p, up, axpy(-m_q, uq, hu)));
        let (fp, fq) = (axpy(-m_p, amount, fp), axpy(-m_q, amount, fq));
        [neg(add(amount, fq)), add(amount, fp), sub(fq, amount)]
    }
}

/// σ in space; quadrature weight in the constants.
struct Solid<V, const ALIGNED: bool> {
    d: [[V; 6]; 6],
}

impl<V: Vector, const ALIGNED: bool> Solid<V, ALIGNED> {
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

    /// σ c_a, a = ξ, η, ζ, for g_a and h_a = ∂u/∂ξ_a.
    #[inline(always)]
    fn fluxes(&self, g: [[V; 3]; 3], h: [[V; 3]; 3]) -> [[V; 3]; 3] {
        let c = [cross(g[1], g[2]), cross(g[2], g[0]), cross(g[0], g[1])];
        let det = dot(g[0], c[0]);
        let s = self.stress_of(mean_gradient(c, h), constant::<V>(1.0) / det);
        array!([c[0]; 3], a => [dot(s[0], c[a]), dot(s[1], c[a]), dot(s[2], c[a])])
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
    array!([h[0]; 3], i => array!([h[0][0]; 3], j => h[0][i].fma(c[0][j], h[1][i].fma(c[1][j], h[2][i] * c[2][j]))))
}

#[inline(always)]
fn cross<V: Vector>(a: [V; 3], b: [V; 3]) -> [V; 3] {
    [a[2].fnma(b[1], a[1] * b[2]), a[0].fnma(b[2], a[2] * b[0]), a[1].fnma(b[0], a[0] * b[1])]
}

/// a × b + c.
#[inline(always)]
fn add_cross<V: Vector>(a: [V; 3], b: [V; 3], c: [V; 3]) -> [V; 3] {
    [
        a[2].fnma(b[1], a[1].fma(b[2], c[0])),
        a[0].fnma(b[2], a[2].fma(b[0], c[1])),
        a[1].fnma(b[0], a[0].fma(b[1], c[2])),
    ]
}

#[inline(always)]
fn dot<V: Vector>(a: [V; 3], b: [V; 3]) -> V {
    a[0].fma(b[0], a[1].fma(b[1], a[2] * b[2]))
}

/// C3D4.
pub(crate) struct Tetrahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 3> for Tetrahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        Self(Solid::new(material, 1.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 3], u: &[[V; 3]; 3]) -> [[V; 3]; 3] {
        self.0.fluxes(*x, *u)
    }
}

/// C3D6: 3 × 2 points.
pub(crate) struct Wedge<V>(Solid<V, false>);

impl<V: Vector> Element<V, 3, 5> for Wedge<V> {
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
fn mix<V: Vector, const N: usize>(w: &[V; N], v: &[[V; 3]; N]) -> [V; 3] {
    let mut sum = scale(w[0], v[0]);
    for i in 1..N {
        sum = axpy(w[i], v[i], sum);
    }
    sum
}

/// Half the three edges upwards; the first and the second edge of the bottom and of the top.
#[inline(always)]
#[allow(clippy::type_complexity)]
fn wedge_edges<V: Vector>(v: &[[V; 3]; 6]) -> ([[V; 3]; 3], [[V; 3]; 2], [[V; 3]; 2]) {
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
fn modes<V: Vector>(v: &[[V; 3]; 7]) -> [[V; 3]; 7] {
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
fn spread<V: Vector>(q: &[[V; 3]; 7]) -> [[V; 3]; 7] {
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
fn slopes<V: Vector>(s: &[[V; 3]; 7], axis: usize) -> [[V; 3]; 4] {
    let [base, first, second, both] = SLOPES[axis];
    let (low, high) = (sub(s[base], s[second]), add(s[base], s[second]));
    let (fall, rise) = (sub(s[first], s[both]), add(s[first], s[both]));
    [sub(low, fall), add(low, fall), sub(high, rise), add(high, rise)]
}

/// The transpose of `slopes`.
#[inline(always)]
fn add_slopes<V: Vector>(q: &mut [[V; 3]; 7], points: &[[V; 3]; 4], axis: usize) {
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
fn at_points<V: Vector>(s: [[V; 3]; 7]) -> [[V; 3]; 7] {
    let (edge, third) = (constant::<V>(1.0 / 3.0f64.sqrt()), constant::<V>(1.0 / 3.0));
    [s[0], s[1], s[2], scale(edge, s[3]), scale(edge, s[4]), scale(edge, s[5]), scale(third, s[6])]
}

/// C3D8: 2 × 2 × 2 points.
pub(crate) struct Hexahedron<V, const ALIGNED: bool>(Solid<V, ALIGNED>);

impl<V: Vector, const ALIGNED: bool> Element<V, 3, 7> for Hexahedron<V, ALIGNED> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // g, h and the forces are eight times as large as they should be: (8 · 8 · 8).
        Self(Solid::new(material, 1.0 / 512.0))
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (at_points(modes(x)), at_points(modes(u)));
        let g = [slopes(&x, 0), slopes(&x, 1), slopes(&x, 2)];
        let h = [slopes(&u, 0), slopes(&u, 1), slopes(&u, 2)];
        let zero = [constant::<V>(0.0); 3];
        let mut flux = [[zero; 4]; 3];
        // Not unrolled: two thousand instructions in a row take longer to compile than they save.
        for point in 0..std::hint::black_box(8) {
            let (r, s, t) = (point & 1, point >> 1 & 1, point >> 2 & 1);
            let at = [2 * t + s, 2 * t + r, 2 * s + r];
            let f = self.0.fluxes(array!([zero; 3], a => g[a][at[a]]), array!([zero; 3], a => h[a][at[a]]));
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
}

/// C3D8R: exact mean gradient B̄ = ∫ ∂N/∂x dV and hourglass stiffness.
pub(crate) struct ReducedHexahedron<V> {
    solid: Solid<V, false>,
    hourglass: V,
}

impl<V: Vector> Element<V, 3, 7> for ReducedHexahedron<V> {
    #[inline(always)]
    fn new(material: &Material<V::Scalar>) -> Self {
        // B̄ is 64 times as large as it should be, and so is V; Σ B̄² is 512 times.
        let eighth = V::Scalar::from_f64(0.125);
        Self { solid: Solid::new(material, 1.0 / 64.0), hourglass: V::splat(material.hourglass * eighth) }
    }

    #[inline(always)]
    fn force(&self, _: V, x: &[[V; 3]; 7], u: &[[V; 3]; 7]) -> [[V; 3]; 7] {
        let (x, u) = (modes(x), modes(u));
        // 64 V = (ξ, η, ζ) + ⅓ [(ξη, η, ηζ) + (ξ, ξη, ζξ) + (ζξ, ηζ, ζ)] in triple products of the modes of x: the others
        // vanish over the cube. b_m is its derivative by mode m, so that B̄_I = Σ_m h_mI b_m.
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

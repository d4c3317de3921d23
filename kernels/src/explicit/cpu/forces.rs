//! f_int of batches of elements of one kind, one element a lane, recomputed from positions.
//!
//! With g_a = ∂x/∂ξ_a, the cofactor rows c_a (c_ξ = g_η × g_ζ and so on, det J = g_ξ · c_ξ), the gradient is
//! ∂u/∂x = Σ_a ∂u/∂ξ_a ⊗ c_a / det J and the force on node I is f_I = Σ_q w_q Σ_a ∂N_I/∂ξ_a (σ c_a): the weight det J
//! cancels against the inverse Jacobian. Elements of lines and edges share the differences between nodes, so that
//! neither B nor J⁻¹ is ever formed.

use super::law::{force_stride, grain, record_stride};
use crate::explicit::units::Material;
use crate::simd::{Real, Records, ScatterLanes, prefetch};

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
pub(super) use array;

/// The force law of one element kind in D dimensions with M + 1 nodes. Everything is relative to node 0: element forces
/// depend on differences alone, and balance.
pub(super) trait Element<V: ScatterLanes, const D: usize, const M: usize>: Sized {
    /// Constants, spread over the lanes.
    fn new(material: &Material<V::Scalar>) -> Self;
    /// A factor that depends on the positions of nodes 1 to M relative to node 0 alone and is slow to compute. Laws without
    /// such a factor ignore it.
    #[inline(always)]
    fn shape(x: &[[V; D]; M]) -> V {
        x[0][0]
    }
    /// f_int of nodes 1 to M from their positions and displacements relative to node 0, which gets −Σ f_int.
    fn force(&self, shape: V, x: &[[V; D]; M], u: &[[V; D]; M]) -> [[V; D]; M];
}

/// How a material answers gradients in D dimensions of an unknown with C components.
pub(super) trait Fluxes<V, const D: usize, const C: usize> {
    /// Flux · c_a for g_a = ∂x/∂ξ_a and h_a = ∂u/∂ξ_a, with the cofactors c_a of ∂x/∂ξ: what ∂N/∂ξ_a makes forces of.
    fn fluxes(&self, g: [[V; D]; D], h: [[V; C]; D]) -> [[V; C]; D];
}

/// Batches of elements of one kind and material.
pub(super) struct Batches<'a, T> {
    /// Local node indices times [`grain`], (n_batches, M + 1, N), of strips (n_rows, N).
    pub offsets: &'a [u16],
    /// Factor of each element's stiffness, (n_batches, N), or empty; of strips their shape, see
    /// [`add_strips`](super::plane::add_strips).
    pub factors: &'a [T],
    /// Of all nodes, (n_local, 2), for strips without edges.
    pub positions: *const T,
    pub material: &'a Material<T>,
    /// In the plane, where to ask for memory while the first batch is computed, and how many bytes further for each of the
    /// others: what the next block begins with. Never read, so that any address will do.
    pub ahead: (*const T, usize),
    /// The same for positions of strips without edges, as many bytes further.
    pub positions_ahead: *const T,
}

/// Adds f_int of all batches to `forces`, in order: the same bits every time.
///
/// # Safety
/// Every index must be below the number of records and of forces.
#[inline(always)]
pub(super) unsafe fn add_forces<V: ScatterLanes, const D: usize, const M: usize, E: Element<V, D, M>>(
    batches: &Batches<V::Scalar>,
    records: *const V::Scalar,
    forces: *mut V::Scalar,
) {
    let element = E::new(batches.material);
    let size = (M + 1) * V::N;
    let n = batches.offsets.len() / size;
    if n == 0 {
        return;
    }
    let offsets = batches.offsets.as_ptr();
    // SAFETY: the caller's promise; a batch has (M + 1) × N offsets and, scaled, N factors.
    unsafe {
        if D == 2 {
            // In the plane, where registers last, the next batch is fetched while this one is computed: together they are
            // more instructions than a processor looks ahead. So is its division, which everything else waits for.
            let (mut u, mut x) = gather::<V, D, M>(records, offsets);
            let mut shape = E::shape(&x);
            let (mut ahead, step) = batches.ahead;
            for number in 0..n {
                prefetch(ahead);
                prefetch(ahead.wrapping_byte_add(64));
                ahead = ahead.wrapping_byte_add(step);
                let next = gather::<V, D, M>(records, offsets.add((number + 1).min(n - 1) * size));
                let next_shape = E::shape(&next.1);
                let f = scaled_force(batches, &element, number, shape, &x, &u);
                scatter::<V, D, M>(forces, offsets.add(number * size), f);
                (u, x) = next;
                shape = next_shape;
            }
        } else {
            for number in 0..n {
                let (u, x) = gather::<V, D, M>(records, offsets.add(number * size));
                let f = scaled_force(batches, &element, number, E::shape(&x), &x, &u);
                scatter::<V, D, M>(forces, offsets.add(number * size), f);
            }
        }
    }
}

/// The records of node `node` of a batch, one a lane.
///
/// # Safety
/// `offsets` must hold the batch's.
#[inline(always)]
unsafe fn records<V: ScatterLanes, const D: usize>(
    base: *mut V::Scalar,
    offsets: *const u16,
    node: usize,
    stride: usize,
) -> Records<V::Scalar, u16> {
    // SAFETY: the caller's promise.
    Records { base, index: unsafe { offsets.add(node * V::N) }, bytes: stride * size_of::<V::Scalar>() / grain(D) }
}

/// The first four numbers of the records of nodes 1 to M minus those of node 0.
///
/// # Safety
/// As for [`gather`].
#[inline(always)]
unsafe fn differences<V: ScatterLanes, const D: usize, const M: usize>(
    base: *const V::Scalar,
    offsets: *const u16,
) -> [[V; 4]; M] {
    let (base, stride) = (base.cast_mut(), record_stride(D));
    // SAFETY: the caller's promise.
    unsafe {
        let origin = V::rows(records::<V, D>(base, offsets, 0, stride));
        let mut out = [origin; M];
        for m in 0..M {
            let rows = V::rows(records::<V, D>(base, offsets, m + 1, stride));
            out[m] = V::columns(sub(rows, origin));
        }
        out
    }
}

/// Displacements and positions of nodes 1 to M relative to node 0.
///
/// # Safety
/// (M + 1) × N offsets and the records that they name must be readable.
#[inline(always)]
unsafe fn gather<V: ScatterLanes, const D: usize, const M: usize>(
    base: *const V::Scalar,
    offsets: *const u16,
) -> ([[V; D]; M], [[V; D]; M]) {
    let zero = constant::<V>(0.0);
    let (mut u, mut x) = ([[zero; D]; M], [[zero; D]; M]);
    // SAFETY: the caller's promise; a record in space has eight numbers.
    unsafe {
        let first = differences::<V, D, M>(base, offsets);
        let second = if D == 2 { first } else { differences::<V, D, M>(base.add(4), offsets) };
        for m in 0..M {
            for c in 0..D {
                (u[m][c], x[m][c]) = (first[m][c], second[m][if D == 2 { 2 + c } else { c }]);
            }
        }
    }
    (u, x)
}

/// Adds `values[m]` to the forces on node m + 1 and subtracts their sum from those on node 0, node after node: lanes may
/// share a node, but in the plane not lanes 2k and 2k + 1, unless their values are 0. In space the fourth number stays.
///
/// # Safety
/// As for [`gather`], of forces, which must be writable.
#[inline(always)]
unsafe fn scatter<V: ScatterLanes, const D: usize, const M: usize>(
    base: *mut V::Scalar,
    offsets: *const u16,
    values: [[V; D]; M],
) {
    let (zero, stride) = (constant::<V>(0.0), force_stride(D));
    // SAFETY: the caller's promise.
    unsafe {
        if D == 2 {
            let mut sums = [zero; 2];
            for m in 0..M {
                let pairs = V::pairs_of([values[m][0], values[m][1]]);
                sums = add(sums, pairs);
                V::change_pairs::<true, _>(pairs, records::<V, D>(base, offsets, m + 1, stride));
            }
            V::change_pairs::<false, _>(sums, records::<V, D>(base, offsets, 0, stride));
        } else {
            let mut sums = [zero; 4];
            for m in 0..M {
                let rows = V::rows_of([values[m][0], values[m][1], values[m][D - 1], zero]);
                sums = add(sums, rows);
                V::change_records::<true, _>(rows, records::<V, D>(base, offsets, m + 1, stride));
            }
            V::change_records::<false, _>(sums, records::<V, D>(base, offsets, 0, stride));
        }
    }
}

/// Where two numbers of one node a lane stand, in a row of a strip.
#[inline(always)]
pub(super) fn pairs<T: Real>(base: *const T, offsets: *const u16) -> Records<T, u16> {
    Records { base: base.cast_mut(), index: offsets, bytes: force_stride(2) * size_of::<T>() / grain(2) }
}

/// f_int of one batch, times the factors on its stiffness.
///
/// # Safety
/// As for `add_forces`.
#[inline(always)]
unsafe fn scaled_force<V: ScatterLanes, const D: usize, const M: usize, E: Element<V, D, M>>(
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
    let factor = unsafe { V::load(batches.factors.as_ptr().add(number * V::N)) };
    array!([f[0]; M], m => scale(factor, f[m]))
}

/// D × weight, spread over the lanes; the weight must be a power of two.
#[inline(always)]
pub(super) fn elasticity<V: ScatterLanes>(material: &Material<V::Scalar>, weight: f64) -> [[V; 6]; 6] {
    let (d, weight, zero) = (&material.elasticity, V::Scalar::from_f64(weight), constant::<V>(0.0));
    array!([[zero; 6]; 6], i => array!([zero; 6], j => V::splat(d[6 * i + j] * weight)))
}

#[inline(always)]
pub(super) fn sub<V: ScatterLanes, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    array!([a[0]; D], i => a[i] - b[i])
}

#[inline(always)]
pub(super) fn add<V: ScatterLanes, const D: usize>(a: [V; D], b: [V; D]) -> [V; D] {
    array!([a[0]; D], i => a[i] + b[i])
}

#[inline(always)]
pub(super) fn neg<V: ScatterLanes, const D: usize>(a: [V; D]) -> [V; D] {
    array!([a[0]; D], i => -a[i])
}

/// a × s + b.
#[inline(always)]
pub(super) fn axpy<V: ScatterLanes, const D: usize>(s: V, a: [V; D], b: [V; D]) -> [V; D] {
    array!([s; D], i => s.fma(a[i], b[i]))
}

#[inline(always)]
pub(super) fn scale<V: ScatterLanes, const D: usize>(s: V, a: [V; D]) -> [V; D] {
    array!([s; D], i => s * a[i])
}

/// Node 0, at the origin, in front of the others.
#[inline(always)]
pub(super) fn with_origin<V: ScatterLanes, const D: usize, const M: usize, const N: usize>(
    v: &[[V; D]; M],
) -> [[V; D]; N] {
    array!([[constant::<V>(0.0); D]; N], node => if node == 0 { [constant(0.0); D] } else { v[node - 1] })
}

/// All nodes but node 0.
#[inline(always)]
pub(super) fn without_origin<V: ScatterLanes, const D: usize, const M: usize, const N: usize>(
    v: [[V; D]; N],
) -> [[V; D]; M] {
    array!([v[0]; M], m => v[m + 1])
}

#[inline(always)]
pub(super) fn constant<V: ScatterLanes>(value: f64) -> V {
    V::splat(V::Scalar::from_f64(value))
}

/// N of the near and of the far end at a Gauss point. Their rounded values add up to 1: linear fields, and so long waves,
/// have exactly the speed that the material gives them.
#[inline(always)]
pub(super) fn gauss_weights<V: ScatterLanes>() -> (V, V) {
    let near = constant::<V>((1.0 + 1.0 / 3.0f64.sqrt()) / 2.0);
    (near, constant::<V>(1.0) - near)
}

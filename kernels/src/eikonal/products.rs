//! What of an element is stored, and how the numbers that the local solver needs come from it.

use pogo_formats::system::parallel::iterate::*;

use super::local::{ENDS, Reference, edge, mixed, others, tetrahedron, triangle};
use super::problem::{EikonalProblem, LocalSolver, Metrics};
use crate::simd::{InstructionSet, Real};
use pogo_formats::eikonal::EikonalMeshView;

/// A form of the elements' data. `N` corners.
pub(crate) trait Elements<T: Real, const N: usize>: Sync {
    /// The data of one element.
    type Data: Copy;
    /// Data of element `e`.
    fn data(&self, e: usize, nodes: &[u32; N]) -> Self::Data;
    /// What `solve` needs for corner `K`.
    fn at<const K: usize>(data: &Self::Data) -> [T; 6];
    /// The time at the corner, from the times at the other corners in ascending order.
    fn solve<I: InstructionSet>(phi: [T; 3], numbers: [T; 6]) -> T;
}

/// The product eᵀ M f in the metric M.
#[inline(always)]
pub(super) fn product<T: Real>(m: &[T; 6], e: [T; 3], f: [T; 3]) -> T {
    let g = [
        m[0] * f[0] + m[3] * f[1] + m[5] * f[2],
        m[3] * f[0] + m[1] * f[1] + m[4] * f[2],
        m[5] * f[0] + m[4] * f[1] + m[2] * f[2],
    ];
    e[0] * g[0] + e[1] * g[1] + e[2] * g[2]
}

/// Edge from corner k to corner l.
#[inline(always)]
pub(super) fn along(mesh: &EikonalMeshView, nodes: &[u32], k: usize, l: usize) -> [f64; 3] {
    let (from, to) = (mesh.point(nodes[k] as usize), mesh.point(nodes[l] as usize));
    std::array::from_fn(|c| to[c] - from[c])
}

/// Squares of the edges in the order of their places: six of a tetrahedron, three (01, 02, 12) of a triangle; +∞ if blocked.
#[inline(always)]
pub(super) fn squares<const E: usize>(mesh: &EikonalMeshView, metrics: &Metrics, e: usize) -> [f64; E] {
    let Some(m) = metrics.of(e) else { return [f64::INFINITY; E] };
    std::array::from_fn(|place| {
        let [k, l] = ENDS[place];
        let edge = along(mesh, mesh.nodes(e), k, l);
        product(&m, edge, edge)
    })
}

/// Squares of the edges: six a tetrahedron (Section 3.3), three a triangle.
pub(crate) struct Squares<T, const E: usize>(pub Vec<[T; E]>);

impl<T: Real, const E: usize> Squares<T, E> {
    fn new(mesh: &EikonalMeshView, metrics: &Metrics) -> Self {
        Self((0..mesh.n_elements()).into_par_iter().map(|e| squares(mesh, metrics, e).map(T::from_f64)).collect())
    }
}

impl<T: Real> Elements<T, 4> for Squares<T, 6> {
    type Data = [T; 6];
    #[inline(always)]
    fn data(&self, e: usize, _: &[u32; 4]) -> [T; 6] {
        self.0[e]
    }
    #[inline(always)]
    fn at<const K: usize>(data: &[T; 6]) -> [T; 6] {
        let [a, b, c] = const { others(K) };
        [(a, c), (b, c), (a, b), (a, K), (b, K), (c, K)].map(|(k, l)| data[edge(k, l)])
    }
    #[inline(always)]
    fn solve<I: InstructionSet>(phi: [T; 3], numbers: [T; 6]) -> T {
        tetrahedron::<T, I>(phi, Reference::from_squares(numbers)).0
    }
}

/// The six numbers of eq. 8 for corner `K`, from e·f for edges in their places and directed from the lower corner.
#[inline(always)]
fn eq8<T: Real, const K: usize>(product: impl Fn(usize, usize) -> T) -> [T; 6] {
    let [a, b, c] = const { others(K) };
    let (ac, bc, ck) =
        const { (edge(others(K)[0], others(K)[2]), edge(others(K)[1], others(K)[2]), edge(others(K)[2], K)) };
    debug_assert!(a < b && b < c);
    let towards = |value: T| if c < K { value } else { -value };
    [
        product(ac, ac),
        product(ac, bc),
        product(bc, bc),
        towards(product(ac, ck)),
        towards(product(bc, ck)),
        product(ck, ck),
    ]
}

/// All 18 products a tetrahedron (Section 3.2): the squares, then the products of edges that share a corner.
pub(crate) struct Eighteen<T>(pub Vec<[T; 18]>);

impl<T: Real> Eighteen<T> {
    fn new(mesh: &EikonalMeshView, metrics: &Metrics) -> Self {
        let all = |e: usize| {
            let mut out = [f64::INFINITY; 18];
            if let Some(m) = metrics.of(e) {
                let nodes = mesh.nodes(e);
                let edges = ENDS.map(|[k, l]| along(mesh, nodes, k, l));
                for p in 0..6 {
                    out[p] = product(&m, edges[p], edges[p]);
                    for q in p + 1..6 {
                        if p + q != 5 {
                            out[mixed(p, q)] = product(&m, edges[p], edges[q]);
                        }
                    }
                }
            }
            out.map(T::from_f64)
        };
        Self((0..mesh.n_elements()).into_par_iter().map(all).collect())
    }
}

impl<T: Real> Elements<T, 4> for Eighteen<T> {
    type Data = [T; 18];
    #[inline(always)]
    fn data(&self, e: usize, _: &[u32; 4]) -> [T; 18] {
        self.0[e]
    }
    #[inline(always)]
    fn at<const K: usize>(data: &[T; 18]) -> [T; 6] {
        eq8::<T, K>(|p, q| data[if p == q { p } else { mixed(p, q) }])
    }
    #[inline(always)]
    fn solve<I: InstructionSet>(phi: [T; 3], numbers: [T; 6]) -> T {
        tetrahedron::<T, I>(phi, Reference::from_products(numbers)).0
    }
}

/// Coordinates and metrics (Section 3.1): nothing is stored but the input.
pub(crate) struct OnTheFly<T> {
    pub point: Vec<[T; 3]>,
    pub metric: Vec<[T; 6]>,
}

impl<T: Real> OnTheFly<T> {
    fn new(mesh: &EikonalMeshView, metrics: &Metrics) -> Self {
        Self {
            point: (0..mesh.n_nodes()).map(|node| mesh.point(node).map(T::from_f64)).collect(),
            metric: (0..mesh.n_elements())
                .map(|e| metrics.of(e).unwrap_or([f64::INFINITY; 6]).map(T::from_f64))
                .collect(),
        }
    }
}

impl<T: Real> Elements<T, 4> for OnTheFly<T> {
    /// Edges in their places, metric.
    type Data = ([[T; 3]; 6], [T; 6]);
    #[inline(always)]
    fn data(&self, e: usize, nodes: &[u32; 4]) -> Self::Data {
        let x = nodes.map(|node| self.point[node as usize]);
        (ENDS.map(|[k, l]| [x[l][0] - x[k][0], x[l][1] - x[k][1], x[l][2] - x[k][2]]), self.metric[e])
    }
    #[inline(always)]
    fn at<const K: usize>((edges, metric): &Self::Data) -> [T; 6] {
        eq8::<T, K>(|p, q| product(metric, edges[p], edges[q]))
    }
    #[inline(always)]
    fn solve<I: InstructionSet>(phi: [T; 3], numbers: [T; 6]) -> T {
        tetrahedron::<T, I>(phi, Reference::from_products(numbers)).0
    }
}

impl<T: Real> Elements<T, 3> for Squares<T, 3> {
    type Data = [T; 3];
    #[inline(always)]
    fn data(&self, e: usize, _: &[u32; 3]) -> [T; 3] {
        self.0[e]
    }
    #[inline(always)]
    fn at<const K: usize>(data: &[T; 3]) -> [T; 6] {
        let (a, b) = const { if K == 0 { (1, 2) } else { (0, 3 - K) } };
        let zero = T::default();
        [data[edge(a, b)], data[edge(a, K)], data[edge(b, K)], zero, zero, zero]
    }
    #[inline(always)]
    fn solve<I: InstructionSet>(phi: [T; 3], [l12, l13, l23, ..]: [T; 6]) -> T {
        triangle::<T, I>([phi[0], phi[1]], [l12, l13, l23]).0
    }
}

/// What is stored of the elements of a mesh.
pub(crate) enum StoredElements<T> {
    Six(Squares<T, 6>),
    Eighteen(Eighteen<T>),
    OnTheFly(OnTheFly<T>),
    /// Triangles, whatever the local solver.
    Three(Squares<T, 3>),
}

impl<T: Real> StoredElements<T> {
    pub fn new(EikonalProblem { mesh, metrics, .. }: &EikonalProblem, solver: LocalSolver) -> Self {
        match (mesh.corners, solver) {
            (3, _) => Self::Three(Squares::new(mesh, metrics)),
            (_, LocalSolver::Six) => Self::Six(Squares::new(mesh, metrics)),
            (_, LocalSolver::Eighteen) => Self::Eighteen(Eighteen::new(mesh, metrics)),
            (_, LocalSolver::OnTheFly) => Self::OnTheFly(OnTheFly::new(mesh, metrics)),
        }
    }
}

//! Where the wave came from, and how fast it went.

use pogo_formats::system::parallel;
use pogo_formats::vector::{cross, dot};

use super::local::{Reference, edge, others, tetrahedron, triangle};
use super::problem::EikonalProblem;
use super::products::{along, squares};
use crate::simd::{Portable, Real};

/// Where the wave that is first at a node came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predecessor {
    /// The element that it crossed last; `u32::MAX` at starts and where no wave comes.
    pub element: u32,
    /// Weights of the element's corners in the point where it entered, their sum 1; 0 at the node itself (and for the fourth corner of
    /// a triangle).
    pub weight: [f32; 4],
}

impl Predecessor {
    /// Of a start, or of a node where no wave comes.
    pub const NONE: Self = Self { element: u32::MAX, weight: [0.0; 4] };
}

/// Whether a node has its start time still, and not an earlier one.
pub fn keeps_start<T: Real>(time: T, start: f64) -> bool {
    // The solver counts from the first start, which rounds.
    let rounding = if size_of::<T>() == 4 { 3e-7 } else { 1e-15 } * start.abs();
    time.to_f64() >= start - rounding
}

/// Nodes whose predecessors are found in one go.
const ROUND: usize = 1 << 14;

/// Of each node the element through which the wave came, and the point where it entered that.
///
/// Start nodes that keep their own time have none. Computed in f64.
pub fn predecessors<T: Real>(problem: &EikonalProblem, starts: &[(u32, f64)], time: &[T]) -> Vec<Predecessor> {
    let mut keeps = vec![false; time.len()];
    for &(node, start) in starts {
        keeps[node as usize] |= keeps_start(time[node as usize], start);
    }
    let of = |node: usize| {
        if keeps[node] {
            return Predecessor::NONE;
        }
        let found = upwind(problem, time, node);
        found.map_or(Predecessor::NONE, |(element, weight)| Predecessor { element, weight: weight.map(|w| w as f32) })
    };
    // In rounds: other work that asks for the threads, as writing does, gets them in between.
    let n = problem.mesh.n_nodes();
    let rounds = (0..n).step_by(ROUND).map(|first| parallel::map(ROUND.min(n - first), &|i| of(first + i)));
    rounds.flatten().collect()
}

/// The element through which the wave came to a node, and the weights of its corners in the point where it entered. None where
/// no wave comes, and where none of the neighbours is earlier.
pub(super) fn upwind<T: Real>(problem: &EikonalProblem, time: &[T], node: usize) -> Option<(u32, [f64; 4])> {
    if !time[node].to_f64().is_finite() {
        return None;
    }
    let mut best = (f64::INFINITY, None);
    for &entry in problem.mesh.round(node) {
        let (element, corner) = (entry / 4, (entry % 4) as usize);
        // The wave comes from where it was before.
        if problem.mesh.nodes(element as usize).iter().all(|&other| !(time[other as usize] < time[node])) {
            continue;
        }
        let (candidate, weight) = entered(problem, time, element as usize, corner);
        if candidate < best.0 {
            best = (candidate, Some((element, weight)));
        }
    }
    best.1
}

/// Time at a corner through one element, and the weights of the point where the wave enters.
fn entered<T: Real>(problem: &EikonalProblem, time: &[T], e: usize, k: usize) -> (f64, [f64; 4]) {
    let nodes = problem.mesh.nodes(e);
    let at = |corner: usize| time[nodes[corner] as usize].to_f64();
    let mut weight = [0.0; 4];
    if nodes.len() == 3 {
        let l: [f64; 3] = squares(&problem.mesh, &problem.metrics, e);
        let (a, b) = if k == 0 { (1, 2) } else { (0, 3 - k) };
        let (t, [u, v]) = triangle::<f64, Portable>([at(a), at(b)], [l[edge(a, b)], l[edge(a, k)], l[edge(b, k)]]);
        (weight[a], weight[b]) = (u, v);
        return (t, weight);
    }
    let l: [f64; 6] = squares(&problem.mesh, &problem.metrics, e);
    let [a, b, c] = others(k);
    let numbers = [(a, c), (b, c), (a, b), (a, k), (b, k), (c, k)].map(|(from, to)| l[edge(from, to)]);
    let (t, u) = tetrahedron::<f64, Portable>([at(a), at(b), at(c)], Reference::from_squares(numbers));
    for (corner, u) in [a, b, c].into_iter().zip(u) {
        weight[corner] = u;
    }
    (t, weight)
}

/// ∇φ in an element; of a triangle in its plane. None in blocked elements and where a corner is not reached.
pub(super) fn gradient<T: Real>(problem: &EikonalProblem, time: &[T], e: usize) -> Option<[f64; 3]> {
    let nodes = problem.mesh.nodes(e);
    if problem.metrics.of(e).is_none() || nodes.iter().any(|&node| !time[node as usize].to_f64().is_finite()) {
        return None;
    }
    let n = nodes.len() - 1;
    let edge: [[f64; 3]; 3] =
        std::array::from_fn(|i| if i < n { along(&problem.mesh, nodes, 0, i + 1) } else { [0.0; 3] });
    let fall: [f64; 3] = std::array::from_fn(|i| {
        if i < n { time[nodes[i + 1] as usize].to_f64() - time[nodes[0] as usize].to_f64() } else { 0.0 }
    });
    // The gradient is the sum over the edges of fall × dual vector.
    let normal = cross(edge[0], edge[1]);
    let third = if n == 3 { edge[2] } else { normal };
    let volume = dot(normal, third);
    let dual = [cross(edge[1], third), cross(third, edge[0]), normal];
    Some(std::array::from_fn(|c| (0..n).map(|i| fall[i] * dual[i][c]).sum::<f64>() / volume))
}

/// Speed of the wave in an element along its own direction, length / time: 1 / |∇φ|. 0 in blocked elements and where a corner is
/// not reached; +∞ where all corners have the same time.
pub fn conduction_speed<T: Real>(problem: &EikonalProblem, time: &[T], element: usize) -> f32 {
    gradient(problem, time, element).map_or(0.0, |g| (1.0 / dot(g, g).sqrt()) as f32)
}

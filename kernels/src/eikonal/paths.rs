//! Where the wave came from, and how fast it went.

use std::ops::Range;

use pogo_formats::system::parallel::iterate::*;
use pogo_formats::vector::{cross, dot};

use super::local::{Reference, edge, others, tetrahedron, triangle};
use super::problem::EikonalProblem;
use super::products::{along, product, squares};
use crate::simd::{InstructionSet, Kernel, Level, Portable, Real};

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

/// Nodes whose predecessors a thread finds at a time.
const PIECE: usize = 1 << 10;

/// Of each node the element through which the wave came, and the point where it entered that.
///
/// Start nodes that keep their own time have none. Computed in f64.
pub fn predecessors<T: Real>(problem: &EikonalProblem, starts: &[(u32, f64)], time: &[T]) -> Vec<Predecessor> {
    let mut keeps = vec![false; time.len()];
    for &(node, start) in starts {
        keeps[node as usize] |= keeps_start(time[node as usize], start);
    }
    let mut out = vec![Predecessor::NONE; problem.mesh.n_nodes()];
    out.par_chunks_mut(PIECE).enumerate().for_each(|(piece, out)| {
        let first = piece * PIECE;
        let found = Upwind { problem, time }.of_all(first..first + out.len());
        for (node, (to, found)) in (first..).zip(out.iter_mut().zip(found)) {
            if let Some((element, weight)) = found.filter(|_| !keeps[node]) {
                *to = Predecessor { element, weight: weight.map(|w| w as f32) };
            }
        }
    });
    out
}

/// An element, and the weights of its corners in the point where the wave entered.
type Entry = (u32, [f64; 4]);

/// The element through which the wave came to a node. None where no wave comes, and where none of the neighbours is earlier.
pub(super) fn upwind<T: Real>(problem: &EikonalProblem, time: &[T], node: usize) -> Option<Entry> {
    Upwind { problem, time }.of_all(node..node + 1).swap_remove(0)
}

/// Arrival times, and where they came from.
struct Upwind<'a, 'p, T> {
    problem: &'a EikonalProblem<'p>,
    time: &'a [T],
}

/// The least time at a node so far, and the element through which it came.
type Best = (f64, Option<Entry>);

impl<T: Real> Upwind<'_, '_, T> {
    /// See [`upwind`], for some nodes.
    fn of_all(&self, nodes: Range<usize>) -> Vec<Option<Entry>> {
        let (mesh, time) = (&self.problem.mesh, self.time);
        let mut best: Vec<Best> = vec![(f64::INFINITY, None); nodes.len()];
        let mut batch = Batch::default();
        for (at, node) in nodes.enumerate().filter(|&(_, node)| time[node].to_f64().is_finite()) {
            for &entry in mesh.round(node) {
                let (element, corner) = (entry / 4, (entry % 4) as usize);
                let nodes = mesh.nodes(element as usize);
                // The wave comes from where it was before.
                if nodes.iter().all(|&other| !(time[other as usize] < time[node])) {
                    continue;
                }
                let Some(metric) = self.problem.metrics.of(element as usize) else { continue };
                if nodes.len() == 3 {
                    let (candidate, weight) = self.through_triangle(element as usize, corner);
                    if candidate < best[at].0 {
                        best[at] = (candidate, Some((element, weight)));
                    }
                    continue;
                }
                let [a, b, c] = others(corner);
                let corners = [a, b, c, corner];
                let phi = [a, b, c].map(|corner| time[nodes[corner] as usize].to_f64());
                let points = corners.map(|corner| mesh.point(nodes[corner] as usize));
                batch.push((at, element, corners), (phi, points, metric));
                if batch.n == LANES {
                    batch.solve(&mut best);
                }
            }
        }
        batch.solve(&mut best);
        best.into_iter().map(|(_, found)| found).collect()
    }

    /// Time at a corner through a triangle, and the weights of the point where the wave enters.
    fn through_triangle(&self, e: usize, k: usize) -> (f64, [f64; 4]) {
        let nodes = self.problem.mesh.nodes(e);
        let at = |corner: usize| self.time[nodes[corner] as usize].to_f64();
        let l: [f64; 3] = squares(&self.problem.mesh, &self.problem.metrics, e);
        let (a, b) = if k == 0 { (1, 2) } else { (0, 3 - k) };
        let (t, [u, v]) = triangle::<f64, Portable>([at(a), at(b)], [l[edge(a, b)], l[edge(a, k)], l[edge(b, k)]]);
        let mut weight = [0.0; 4];
        (weight[a], weight[b]) = (u, v);
        (t, weight)
    }
}

/// Tetrahedra whose local problems are solved side by side.
const LANES: usize = 8;

/// Local problems of some tetrahedra. The corner sought is the last of each.
#[derive(Default)]
struct Batch {
    n: usize,
    /// The place of the node in `best`, the element, and its corners.
    of: [(usize, u32, [usize; 4]); LANES],
    /// Times at the first three corners.
    phi: [[f64; LANES]; 3],
    /// Coordinates of the corners.
    points: [[[f64; LANES]; 3]; 4],
    metric: [[f64; LANES]; 6],
}

impl Batch {
    fn push(&mut self, of: (usize, u32, [usize; 4]), (phi, points, metric): ([f64; 3], [[f64; 3]; 4], [f64; 6])) {
        let lane = self.n;
        self.of[lane] = of;
        (0..3).for_each(|i| self.phi[i][lane] = phi[i]);
        (0..6).for_each(|i| self.metric[i][lane] = metric[i]);
        for (to, point) in self.points.iter_mut().zip(points) {
            (0..3).for_each(|i| to[i][lane] = point[i]);
        }
        self.n += 1;
    }

    /// Solves what there is, in the order in which it came, and begins anew.
    fn solve(&mut self, best: &mut [Best]) {
        let (time, weights) = Level::detect().run(Solve(self));
        for lane in 0..self.n {
            let (at, element, [a, b, c, _]) = self.of[lane];
            if time[lane] < best[at].0 {
                let mut weight = [0.0; 4];
                (weight[a], weight[b], weight[c]) = (weights[0][lane], weights[1][lane], weights[2][lane]);
                best[at] = (time[lane], Some((element, weight)));
            }
        }
        self.n = 0;
    }
}

struct Solve<'a>(&'a Batch);

impl Kernel for Solve<'_> {
    /// Times at the corners sought, and the weights of the others.
    type Output = ([f64; LANES], [[f64; LANES]; 3]);

    #[inline(always)]
    fn run<I: InstructionSet>(self) -> Self::Output {
        let Batch { phi, points, metric, .. } = self.0;
        let (mut time, mut weights) = ([0.0; LANES], [[0.0; LANES]; 3]);
        for l in 0..LANES {
            let m = [metric[0][l], metric[1][l], metric[2][l], metric[3][l], metric[4][l], metric[5][l]];
            let mut squares = [0.0; 6];
            // The edges 13, 23, 12, 14, 24, 34.
            for (square, (from, to)) in squares.iter_mut().zip([(0, 2), (1, 2), (0, 1), (0, 3), (1, 3), (2, 3)]) {
                let (from, to) = (&points[from], &points[to]);
                let edge = [to[0][l] - from[0][l], to[1][l] - from[1][l], to[2][l] - from[2][l]];
                *square = product(&m, edge, edge);
            }
            // Without fused operations, so that every machine finds the same element.
            let (t, u) =
                tetrahedron::<f64, Portable>([phi[0][l], phi[1][l], phi[2][l]], Reference::from_squares(squares));
            time[l] = t;
            (weights[0][l], weights[1][l], weights[2][l]) = (u[0], u[1], u[2]);
        }
        (time, weights)
    }
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

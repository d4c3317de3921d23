//! Potentials of electrodes out of arrival times.
//!
//! With V(x, t) = U(t − T(x)) the integral of NOTATION.md becomes a sum over elements, in which T is linear,
//!
//! ```text
//! φ_k(t) = Σ_e w_ek · mean over e of U'(t − T),   w_ek = |e| (σ ∇T) · (mean over e of ∇(1/|x − x_k|)) / (4π σ_T)
//! ```
//!
//! The times of an element are spread over a grid of times s_j = s_0 + jδ by hat functions: q_jk = Σ_e w_ek (mean over e of
//! hat_j(T)), in closed form ([`above`]). Then φ_k(t) = Σ_j q_jk f(t − s_j) costs nothing that depends on the mesh. Without
//! f's second term below this replaces U' by its linear interpolant, which is too large by δ²/12 U''' on average:
//!
//! ```text
//! f = U' − δ²/12 U''',   |error| ≤ δ²/12 max|U'''| Σ_e |w_ek| + O(δ⁴)
//! ```
//!
//! since an interpolant differs from its function by x(1 − x)/2 δ² U''', 0 ≤ x ≤ 1, to terms in δ⁴. With
//! max|U'''| = 8 (peak − rest)/upstroke³ and δ ≤ upstroke/[`FINENESS`] that is 0.3 % of the potential which all elements would
//! give at once, and far less where their times are spread over several δ, because its mean over x is 0.

use pogo_formats::eikonal::ecg::Template;
use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::vector::dot;

use super::lead_field::Seen;
use super::paths::gradient;
use super::problem::EikonalProblem;
use crate::simd::Real;

/// Steps of the grid of times in an upstroke.
const FINENESS: f64 = 16.0;
/// Pieces of the mesh that are summed apart, so that sums do not depend on the number of threads.
const PIECES: usize = 64;
/// Most numbers in the sums of all pieces.
const ROOM: usize = 1 << 25;

/// Samples of an ECG: `n` of them, `step` apart, from `from` on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct Samples {
    pub from: f64,
    pub step: f64,
    pub n: usize,
}

/// Electrodes and the tissue that they see.
#[derive(Debug, Clone, Copy)]
pub struct Conductor<'a> {
    /// Positions of the electrodes.
    pub electrodes: &'a [[f64; 3]],
    /// σ_i of each element: xx, yy, zz, xy, yz, zx; zeros where there is no source.
    pub conductivity: &'a [[f64; 6]],
    /// σ_T.
    pub torso: f64,
}

/// Grid of times, a whole number of which make a step of the samples.
#[derive(Debug, Clone, Copy)]
struct Grid {
    /// s_0, as a number of grid steps from the first sample.
    first: i64,
    /// δ.
    delta: f64,
    /// Grid steps between samples.
    stride: i64,
    n: usize,
    from: f64,
}

impl Grid {
    fn new(samples: &Samples, sharpest: f64, [low, high]: [f64; 2]) -> Self {
        let stride = (FINENESS * samples.step / sharpest).ceil().max(1.0);
        let delta = samples.step / stride;
        let first = ((low - samples.from) / delta).floor() - 1.0;
        let last = ((high - samples.from) / delta).ceil() + 1.0;
        Self { first: first as i64, delta, stride: stride as i64, n: (last - first) as usize + 1, from: samples.from }
    }

    /// A time in grid steps from s_0.
    fn place(&self, time: f64) -> f64 {
        (time - self.from) / self.delta - self.first as f64
    }
}

/// Potentials of the electrodes, (samples, electrodes), for arrival times at the nodes; zeros where the wave comes nowhere.
///
/// Same bits for every number of threads.
pub fn potentials<T: Real>(
    problem: &EikonalProblem,
    conductor: &Conductor,
    time: &[T],
    template: &Template,
    samples: &Samples,
) -> Vec<f64> {
    let width = conductor.electrodes.len();
    let finite = time.iter().map(|t| t.to_f64()).filter(|t| t.is_finite());
    let [low, high] = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], t| [low.min(t), high.max(t)]);
    if low > high || width == 0 {
        return vec![0.0; width * samples.n];
    }
    let grid = Grid::new(samples, template.sharpest(), [low, high]);
    let sources = match problem.mesh.corners {
        4 => spread::<T, 4>(problem, conductor, time, &grid),
        _ => spread::<T, 3>(problem, conductor, time, &grid),
    };
    sampled(&sources, width, template, samples, &grid)
}

/// q, (grid, electrodes).
fn spread<T: Real, const N: usize>(
    problem: &EikonalProblem,
    conductor: &Conductor,
    time: &[T],
    grid: &Grid,
) -> Vec<f64> {
    let width = conductor.electrodes.len();
    let n_pieces = (ROOM / (grid.n * width)).clamp(1, PIECES);
    let m = problem.mesh.n_elements();
    let of_piece = |piece: usize| {
        let mut sums = vec![0.0; grid.n * width];
        let (mut weights, mut hats) = (vec![0.0; width], Vec::new());
        for e in piece * m / n_pieces..(piece + 1) * m / n_pieces {
            if !source::<T, N>(problem, conductor, time, e, &mut weights) {
                continue;
            }
            let nodes = problem.mesh.nodes(e);
            let first =
                hat_means::<N>(std::array::from_fn(|k| grid.place(time[nodes[k] as usize].to_f64())), &mut hats);
            for (row, hat) in sums[first * width..].chunks_exact_mut(width).zip(&hats) {
                row.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += hat * weight);
            }
        }
        sums
    };
    let pieces: Vec<Vec<f64>> = parallel::map(n_pieces, &of_piece);
    let mut pieces = pieces.into_iter();
    let mut total = pieces.next().unwrap_or_default();
    pieces.for_each(|piece| total.iter_mut().zip(piece).for_each(|(sum, value)| *sum += value));
    total
}

/// w of an element for each electrode; false if it is no source.
fn source<T: Real, const N: usize>(
    problem: &EikonalProblem,
    conductor: &Conductor,
    time: &[T],
    e: usize,
    weights: &mut [f64],
) -> bool {
    let [xx, yy, zz, xy, yz, zx] = conductor.conductivity[e];
    if xx == 0.0 {
        return false;
    }
    let Some(g) = gradient(problem, time, e) else { return false };
    let current =
        [xx * g[0] + xy * g[1] + zx * g[2], xy * g[0] + yy * g[1] + yz * g[2], zx * g[0] + yz * g[1] + zz * g[2]];
    let nodes = problem.mesh.nodes(e);
    let seen = Seen::<N>::new(std::array::from_fn(|k| problem.mesh.point(nodes[k] as usize)));
    let factor = seen.measure / (4.0 * std::f64::consts::PI * conductor.torso);
    for (weight, &electrode) in weights.iter_mut().zip(conductor.electrodes) {
        *weight = factor * dot(current, seen.mean(electrode));
    }
    true
}

/// φ, (samples, electrodes).
fn sampled(q: &[f64], width: usize, template: &Template, samples: &Samples, grid: &Grid) -> Vec<f64> {
    let delta = grid.delta;
    // f at whole lags, where it is not nothing.
    let [before, after] = template.support();
    let (least, most) = ((before / delta).floor() as i64, (after / delta).ceil() as i64);
    let f = |at: usize| {
        let tau = (least + at as i64) as f64 * delta;
        template.slope(tau) - delta * delta / 12.0 * template.slope_bend(tau)
    };
    let f: Vec<f64> = (0..(most - least + 1).max(0) as usize).into_par_iter().map(f).collect();
    let mut found = vec![0.0; width * samples.n];
    found.par_chunks_mut(width).enumerate().for_each(|(sample, row)| {
        // Lag of grid time j: top − j.
        let top = sample as i64 * grid.stride - grid.first;
        let (from, to) = ((top - most).max(0), (top - least).min(grid.n as i64 - 1));
        for j in from..=to {
            let f = f[(top - j - least) as usize];
            let q = &q[j as usize * width..][..width];
            row.iter_mut().zip(q).for_each(|(sum, q)| *sum += q * f);
        }
    });
    found
}

/// Means of the hat functions of whole numbers over an element where a function is linear with the values `t` at the corners,
/// none below 0. Gives the first whole number, and fills `hats` from it on; their sum is 1.
fn hat_means<const N: usize>(mut t: [f64; N], hats: &mut Vec<f64>) -> usize {
    t.sort_unstable_by(f64::total_cmp);
    let first = t[0].floor();
    t.iter_mut().for_each(|t| *t -= first);
    let mean = t.iter().sum::<f64>() / N as f64;
    hats.clear();
    if t[N - 1] <= 1.0 {
        hats.extend([1.0 - mean, mean]);
        return first as usize;
    }
    // A hat is the second difference of max(t − s, 0).
    let n = t[N - 1].ceil() as usize;
    let (mut below, mut here) = (mean + 1.0, mean);
    for s in 0..=n {
        let next = if s < n { above(&t, (s + 1) as f64) } else { 0.0 };
        hats.push(below - 2.0 * here + next);
        (below, here) = (here, next);
    }
    first as usize
}

/// Mean of max(t − s, 0) over an element where t is linear, with ascending values at the corners. Every term is positive, so
/// that nothing cancels.
fn above<const N: usize>(t: &[f64; N], s: f64) -> f64 {
    let last = N - 1;
    if s >= t[last] {
        return 0.0;
    }
    let mean = t.iter().sum::<f64>() / N as f64;
    if s <= t[0] {
        return mean - s;
    }
    // Where only one corner lies on a side, that side is an element similar to the whole.
    let corner = |of: usize| {
        let beyond = (t[of] - s).abs();
        let share: f64 = (0..N).filter(|&k| k != of).map(|k| beyond / (t[of] - t[k]).abs()).product();
        share * beyond / N as f64
    };
    if s >= t[last - 1] {
        return corner(last);
    }
    if s <= t[1] {
        return mean - s + corner(0);
    }
    // Two corners of a tetrahedron on each side: the upper wedge as three tetrahedra.
    let (a, b) = (t[2] - s, t[3] - s);
    let (p20, p21, p30, p31) = (a / (t[2] - t[0]), a / (t[2] - t[1]), b / (t[3] - t[0]), b / (t[3] - t[1]));
    0.25 * (p30 * p31 * (a + b) + a * p20 * (p21 * (1.0 - p31) + p31 * (1.0 - p30)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of a function of t over a tetrahedron or triangle, by the midpoints of many pieces.
    fn mean<const N: usize>(t: [f64; N], f: impl Fn(f64) -> f64) -> f64 {
        let n = 100;
        let at = |i: usize| (i as f64 + 0.5) / n as f64;
        let (mut sum, mut total) = (0.0, 0.0);
        for i in 0..n {
            for j in 0..n {
                for k in 0..if N == 4 { n } else { 1 } {
                    let (a, b, c) = (at(i), at(j), at(k));
                    let (value, density) = if N == 4 {
                        ((1.0 - a) * t[0] + a * ((1.0 - b) * t[1] + b * ((1.0 - c) * t[2] + c * t[3])), a * a * b)
                    } else {
                        ((1.0 - a) * t[0] + a * ((1.0 - b) * t[1] + b * t[2]), a)
                    };
                    sum += density * f(value);
                    total += density;
                }
            }
        }
        sum / total
    }

    fn agree<const N: usize>(t: [f64; N]) {
        let mut hats = Vec::new();
        let first = hat_means(t, &mut hats);
        assert!((hats.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{hats:?}");
        let moment: f64 = hats.iter().enumerate().map(|(k, hat)| hat * (first + k) as f64).sum();
        assert!((moment - t.iter().sum::<f64>() / N as f64).abs() < 1e-12);
        for (k, hat) in hats.iter().enumerate() {
            let expected = mean(t, |t| (1.0 - (t - (first + k) as f64).abs()).max(0.0));
            assert!((hat - expected).abs() < 6e-4, "{t:?} {k}: {hat} {expected}");
        }
    }

    #[test]
    fn an_element_is_spread_as_many_points_are() {
        for t in [
            [0.2, 3.7, 1.4, 2.9],
            [5.1, 5.2, 5.3, 5.4],
            [0.0, 0.0, 4.0, 4.0],
            [1.0, 1.0, 1.0, 2.5],
            [1.5, 4.0, 4.0, 4.0],
            [2.0, 2.0, 2.0, 2.0],
            [0.999, 1.0, 1.001, 1.0],
        ] {
            agree(t);
            agree([t[0], t[1], t[2]]);
        }
    }
}

//! How much of the mesh has been reached when.

use std::fmt::Write as _;

use pogo_formats::eikonal::EikonalMeshView;
use pogo_formats::system::parallel::iterate::*;
use pogo_kernels::eikonal::EikonalProblem;

/// Elements whose shares are kept at a time.
const PIECE: usize = 1 << 20;

/// `time_low,time_high,measure,fraction,cumulative`: volume (area of triangles) of the elements whose mean time lies in each
/// bin, over all reached elements; blocked ones are not, though their nodes may be. None where nothing was reached.
pub(super) fn histogram(problem: &EikonalProblem, time: &[f64], bins: usize) -> Option<String> {
    let mesh = &problem.mesh;
    let mean = |element: usize| {
        let nodes = mesh.nodes(element);
        nodes.iter().map(|&node| time[node as usize]).sum::<f64>() / nodes.len() as f64
    };
    let [low, high] = finite_range(time).filter(|_| bins > 0)?;
    let width = (high - low) / bins as f64;
    // The bin of an element, and what it adds there: nothing if it was not reached.
    let share = |element: usize| {
        let mean = mean(element);
        let counts = mean.is_finite() && problem.metrics.of(element).is_some();
        let bin = if width > 0.0 && counts { ((mean - low) / width) as usize } else { 0 };
        (bin.min(bins - 1), if counts { measure(mesh, element) } else { 0.0 })
    };
    let mut sums = vec![0.0; bins];
    // All threads compute the shares of a piece, which are added in the order of the elements.
    for first in (0..mesh.n_elements()).step_by(PIECE) {
        let piece = first..(first + PIECE).min(mesh.n_elements());
        let shares: Vec<_> = piece.into_par_iter().map(share).collect();
        shares.into_iter().for_each(|(bin, measure)| sums[bin] += measure);
    }
    let total: f64 = sums.iter().sum();
    let mut text = String::from("time_low,time_high,measure,fraction,cumulative\n");
    let mut reached = 0.0;
    for (bin, sum) in sums.iter().enumerate() {
        reached += sum;
        let (from, to) = (low + width * bin as f64, low + width * (bin + 1) as f64);
        let total = if total > 0.0 { total } else { 1.0 };
        let _ = writeln!(text, "{from:e},{to:e},{sum:e},{:.6},{:.6}", sum / total, reached / total);
    }
    Some(text)
}

/// The earliest and the latest of the times at which the wave comes.
pub(super) fn finite_range(time: &[f64]) -> Option<[f64; 2]> {
    let finite = time.iter().copied().filter(|time| time.is_finite());
    finite.fold(None, |range, t| Some(range.map_or([t; 2], |[low, high]: [f64; 2]| [low.min(t), high.max(t)])))
}

/// Volume of a tetrahedron, or area of a triangle.
fn measure(mesh: &EikonalMeshView, element: usize) -> f64 {
    let nodes = mesh.nodes(element);
    let x = |k: usize| mesh.point(nodes[k] as usize);
    let edge = |k: usize| [0, 1, 2].map(|c| x(k)[c] - x(0)[c]);
    let (a, b) = (edge(1), edge(2));
    let normal = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if nodes.len() == 4 { dot(normal, edge(3)).abs() / 6.0 } else { dot(normal, normal).sqrt() / 2.0 }
}

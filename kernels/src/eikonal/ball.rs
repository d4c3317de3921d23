//! Exact times round a start.

use super::problem::EikonalProblem;
use super::products::product;

/// Starts for all nodes within `radius` of the start nodes that elements without block connect to them inside the ball: t + √(dᵀ M d), d the
/// vector from the start node, M the mean over the ends of d of the metrics of the elements round them.
///
/// Near a start the time has a kink that linear elements follow badly: the error falls with the edge length to the power of about
/// 0.7. Where the times in a ball of fixed radius are given, it is about 1. Exact for a constant tensor if straight lines from the
/// start stay in the mesh; otherwise the radius should be small beside the distance over which the tensor changes.
pub fn exact_ball(problem: &EikonalProblem, starts: &[(u32, f64)], radius: f64) -> Vec<(u32, f64)> {
    exact_ball_with_centres(problem, starts, radius).into_iter().map(|(node, time, _)| (node, time)).collect()
}

/// The same with the start node in whose ball each node has its time; a start that keeps its own time is its own.
pub fn exact_ball_with_centres(problem: &EikonalProblem, starts: &[(u32, f64)], radius: f64) -> Vec<(u32, f64, u32)> {
    let mesh = &problem.mesh;
    // Mean metric round a node.
    let metric = |node: u32| {
        let (mut sum, mut n) = ([0.0; 6], 0.0);
        for &entry in mesh.round(node as usize) {
            if let Some(m) = problem.metrics.of((entry / 4) as usize) {
                (0..6).for_each(|i| sum[i] += m[i]);
                n += 1.0;
            }
        }
        (n > 0.0).then(|| sum.map(|value| value / n))
    };
    let mut times = std::collections::BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    let mut stack = Vec::new();
    for &(start, time) in starts {
        let mut take = |node: u32, time: f64| {
            let earlier = |least: &mut (f64, u32)| {
                if time < least.0 {
                    *least = (time, start);
                }
            };
            times.entry(node).and_modify(earlier).or_insert((time, start));
        };
        take(start, time);
        let (centre, Some(m)) = (mesh.point(start as usize), metric(start)) else { continue };
        seen.clear();
        seen.insert(start);
        stack.push(start);
        while let Some(node) = stack.pop() {
            for &entry in mesh.round(node as usize) {
                let element = (entry / 4) as usize;
                if problem.metrics.of(element).is_none() {
                    continue;
                }
                for &other in mesh.nodes(element) {
                    let point = mesh.point(other as usize);
                    let d: [f64; 3] = std::array::from_fn(|c| point[c] - centre[c]);
                    if d.iter().map(|x| x * x).sum::<f64>() > radius * radius || !seen.insert(other) {
                        continue;
                    }
                    stack.push(other);
                    if let Some(there) = metric(other) {
                        let mean = std::array::from_fn(|i| 0.5 * (m[i] + there[i]));
                        take(other, time + product(&mean, d, d).sqrt());
                    }
                }
            }
        }
    }
    times.into_iter().map(|(node, (time, centre))| (node, time, centre)).collect()
}

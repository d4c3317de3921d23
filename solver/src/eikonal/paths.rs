//! The way that the wave took to a node: the characteristic, followed backwards.

use std::fmt::Write as _;

use pogo_formats::eikonal::EikonalMeshView;
use pogo_kernels::eikonal::{EikonalProblem, Predecessor};

/// A point of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PathPoint {
    /// Position of the point.
    pub position: [f64; 3],
    /// Arrival time there.
    pub time: f64,
}

/// Longer paths than this go round in circles.
const MOST_STEPS: usize = 1_000_000;
/// Weights below this are none.
const NONE: f64 = 1e-7;

/// Nodes and weights of a point.
type Support = Vec<(u32, f64)>;

/// The path from a node back to a start, the node first. One point where no wave comes.
///
/// From a node it goes to the point where the wave entered the element that it crossed last; from a point on a face or an edge
/// along −D∇φ through the element behind it; where there is none, to the earliest of its nodes. A node with an exact time
/// may be earlier than where the wave would come from: from there it goes straight to the start, `centre`, whose ball it is in.
pub(super) fn path(
    problem: &EikonalProblem,
    time: &[f64],
    predecessors: &[Predecessor],
    centre: impl Fn(u32) -> Option<u32>,
    node: u32,
) -> Vec<PathPoint> {
    let mesh = &problem.mesh;
    let mut support: Support = vec![(node, 1.0)];
    let mut path = vec![point(mesh, time, &support)];
    while path.len() < MOST_STEPS {
        let next = match support.as_slice() {
            &[(node, _)] => {
                let earlier = |next: &Support| point(mesh, time, next).time <= time[node as usize];
                let before = from_node(mesh, predecessors, node).filter(earlier);
                before.or_else(|| centre(node).map(|start| vec![(start, 1.0)]))
            }
            _ => Some(through_element(problem, time, &support).unwrap_or_else(|| {
                // Never empty: weights sum to 1.
                let earliest = support.iter().min_by(|a, b| time[a.0 as usize].total_cmp(&time[b.0 as usize]));
                vec![(earliest.map_or(node, |&(node, _)| node), 1.0)]
            })),
        };
        let Some(next) = next else { break };
        support = next;
        let found = point(mesh, time, &support);
        let last = path[path.len() - 1];
        if found.time > last.time || (found.time == last.time && found.position == last.position) {
            break;
        }
        path.push(found);
    }
    path
}

fn point(mesh: &EikonalMeshView, time: &[f64], support: &Support) -> PathPoint {
    let (mut position, mut at) = ([0.0; 3], 0.0);
    for &(node, weight) in support {
        let x = mesh.point(node as usize);
        (0..3).for_each(|k| position[k] += weight * x[k]);
        at += weight * time[node as usize];
    }
    PathPoint { position, time: at }
}

/// Weights of corners without those that are none, their sum 1.
fn cleaned(weights: impl Iterator<Item = (u32, f64)>) -> Support {
    let mut support: Support = weights.filter(|(_, weight)| *weight > NONE).collect();
    let sum: f64 = support.iter().map(|(_, weight)| weight).sum();
    support.iter_mut().for_each(|(_, weight)| *weight /= sum);
    support
}

fn from_node(mesh: &EikonalMeshView, predecessors: &[Predecessor], node: u32) -> Option<Support> {
    let predecessor = predecessors.get(node as usize)?;
    if predecessor.element == u32::MAX {
        return None;
    }
    let nodes = mesh.nodes(predecessor.element as usize);
    let support = cleaned(nodes.iter().copied().zip(predecessor.weight.map(f64::from)));
    (!support.is_empty()).then_some(support)
}

/// The next point, through the element in which the path goes furthest.
fn through_element(problem: &EikonalProblem, time: &[f64], support: &Support) -> Option<Support> {
    let mesh = &problem.mesh;
    let mut best: Option<(f64, Support)> = None;
    for &entry in mesh.round(support[0].0 as usize) {
        let element = (entry / 4) as usize;
        let nodes = mesh.nodes(element);
        if !support.iter().all(|(node, _)| nodes.contains(node)) {
            continue;
        }
        let Some(rates) = rates(problem, time, element) else { continue };
        let weight = |k: usize| support.iter().find(|(node, _)| *node == nodes[k]).map_or(0.0, |&(_, weight)| weight);
        let scale = rates.iter().take(nodes.len()).fold(0.0_f64, |most, rate| most.max(rate.abs()));
        // Into the element: what is nothing must not fall.
        if (0..nodes.len()).any(|k| weight(k) == 0.0 && rates[k] < -1e-9 * scale) {
            continue;
        }
        let leaves = (0..nodes.len()).filter(|&k| weight(k) > 0.0 && rates[k] < 0.0);
        let Some(length) = leaves.map(|k| -weight(k) / rates[k]).min_by(f64::total_cmp) else { continue };
        if length.is_finite() && best.as_ref().is_none_or(|(most, _)| length > *most) {
            let next = cleaned((0..nodes.len()).map(|k| (nodes[k], weight(k) + length * rates[k])));
            if !next.is_empty() {
                best = Some((length, next));
            }
        }
    }
    best.map(|(_, support)| support)
}

/// How the weights of the corners change along −D∇φ.
fn rates(problem: &EikonalProblem, time: &[f64], element: usize) -> Option<[f64; 4]> {
    let mesh = &problem.mesh;
    let [xx, yy, zz, xy, yz, zx] = problem.metrics.of(element)?;
    let metric = |a: [f64; 3]| {
        [xx * a[0] + xy * a[1] + zx * a[2], xy * a[0] + yy * a[1] + yz * a[2], zx * a[0] + yz * a[1] + zz * a[2]]
    };
    let nodes = mesh.nodes(element);
    let n = nodes.len() - 1;
    let x = |k: usize| mesh.point(nodes[k] as usize);
    let fall: [f64; 3] =
        std::array::from_fn(|i| if i < n { time[nodes[i + 1] as usize] - time[nodes[0] as usize] } else { 0.0 });
    if fall.iter().any(|fall| !fall.is_finite()) {
        return None;
    }
    // With edges e_i from the first corner, ∇φ·e_i = fall_i; the direction is −Σ c_i e_i with G c = fall, G_ij = e_i M e_j: then
    // −D∇φ restricted to the element, and the c are the changes of the weights.
    let edge = |i: usize| [0, 1, 2].map(|k| x(i + 1)[k] - x(0)[k]);
    let mut g = [[0.0; 3]; 3];
    for (i, row) in g.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = if i < n && j < n {
                let (a, b) = (edge(i), metric(edge(j)));
                a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
            } else {
                f64::from(u8::from(i == j))
            };
        }
    }
    let c = solved(g, fall)?;
    let mut rates = [0.0; 4];
    for i in 0..n {
        rates[i + 1] = -c[i];
        rates[0] += c[i];
    }
    Some(rates)
}

/// Solution of G x = b by Cramer's rule; none for a singular G.
fn solved(g: [[f64; 3]; 3], b: [f64; 3]) -> Option<[f64; 3]> {
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let whole = determinant(g);
    let mut c = [0.0; 3];
    for (column, c) in c.iter_mut().enumerate() {
        let mut m = g;
        (0..3).for_each(|row| m[row][column] = b[row]);
        *c = determinant(m) / whole;
    }
    c.iter().all(|c| c.is_finite()).then_some(c)
}

/// The table `path,node,step,x,y,z,time`.
pub(super) fn csv(paths: &[(u32, Vec<PathPoint>)]) -> String {
    let mut text = String::from("path,node,step,x,y,z,time\n");
    for (number, (label, path)) in paths.iter().enumerate() {
        for (step, PathPoint { position: [x, y, z], time }) in path.iter().enumerate() {
            let _ = writeln!(text, "{},{label},{step},{x:e},{y:e},{z:e},{time:e}", number + 1);
        }
    }
    text
}

//! Splitting a block in two, from its two ends until the halves meet (Huthwaite 2014, Section 3.1, step 5b).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::NodeGraph;
use super::greedy::NONE;

/// Work space of [`halve`], (n_nodes,): all [`NONE`]. Several threads may use it at a time, each for nodes of its own.
pub(crate) fn work_space(n_nodes: usize) -> Vec<AtomicU32> {
    (0..n_nodes).map(|_| AtomicU32::new(NONE)).collect()
}

/// Splits `nodes`, for which alone `is_inside` is true. The halves start at the two of `ends` that are farthest apart.
/// `steps` is the [`work_space`], before and after. Nodes that are linked to neither end go to the smaller half. The second half is
/// empty if there is only one end.
pub(crate) fn halve(
    graph: &NodeGraph,
    nodes: &[u32],
    ends: &[u32],
    is_inside: impl Fn(u32) -> bool,
    steps: &[AtomicU32],
) -> [Vec<u32>; 2] {
    let step = |node: u32| steps[node as usize].load(Relaxed);
    let set = |node: u32, step: u32| steps[node as usize].store(step, Relaxed);
    let forget = |reached: &[u32]| reached.iter().for_each(|&node| set(node, NONE));
    let mut first = ends[0];
    let mut second = first;
    // From any end to the farthest one, and from there again: nearly the longest path.
    for _ in 0..2 {
        first = second;
        set(first, 0);
        let reached = graph.spread(vec![first], |node, other| {
            let is_new = is_inside(other) && step(other) == NONE;
            if is_new {
                set(other, step(node) + 1);
            }
            is_new
        });
        let distance = |node: u32| step(node).wrapping_add(1);
        second = ends.iter().copied().fold(first, |far, end| if distance(end) > distance(far) { end } else { far });
        forget(&reached);
    }
    if first == second {
        return [nodes.to_vec(), Vec::new()];
    }
    let mut halves = [vec![first], vec![second]];
    set(first, 0);
    set(second, 0);
    let mut done = [0, 0];
    while done[0] < halves[0].len() || done[1] < halves[1].len() {
        for side in 0..2 {
            let end = halves[side].len();
            for place in done[side]..end {
                for &other in graph.neighbours(halves[side][place]) {
                    if is_inside(other) && step(other) == NONE {
                        set(other, 0);
                        halves[side].push(other);
                    }
                }
            }
            done[side] = end;
        }
    }
    if halves[0].len() + halves[1].len() < nodes.len() {
        let smaller = usize::from(halves[1].len() < halves[0].len());
        halves[smaller].extend(nodes.iter().filter(|&&node| step(node) == NONE));
    }
    forget(nodes);
    halves
}

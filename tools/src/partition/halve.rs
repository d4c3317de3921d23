//! Splitting a block in two, from its two ends until the halves meet (Huthwaite 2014, Section 3.1, step 5b).

use super::NodeGraph;
use super::greedy::NONE;

/// Splits `nodes`, for which alone `is_inside` is true. The halves start at the two of `ends` that are farthest apart.
/// `steps`, (n_nodes,), is work space, all [`NONE`] before and after. Nodes that are linked to neither end go to the
/// smaller half. The second half is empty if there is only one end.
pub(crate) fn halve(
    graph: &NodeGraph,
    nodes: &[u32],
    ends: &[u32],
    is_inside: impl Fn(u32) -> bool,
    steps: &mut [u32],
) -> [Vec<u32>; 2] {
    let forget = |steps: &mut [u32], reached: &[u32]| reached.iter().for_each(|&node| steps[node as usize] = NONE);
    let mut first = ends[0];
    let mut second = first;
    // From any end to the farthest one, and from there again: nearly the longest path.
    for _ in 0..2 {
        first = second;
        steps[first as usize] = 0;
        let reached = graph.spread(vec![first], |node, other| {
            let is_new = steps[other as usize] == NONE && is_inside(other);
            if is_new {
                steps[other as usize] = steps[node as usize] + 1;
            }
            is_new
        });
        let distance = |node: u32| steps[node as usize].wrapping_add(1);
        second = ends.iter().copied().fold(first, |far, end| if distance(end) > distance(far) { end } else { far });
        forget(steps, &reached);
    }
    if first == second {
        return [nodes.to_vec(), Vec::new()];
    }
    let mut halves = [vec![first], vec![second]];
    steps[first as usize] = 0;
    steps[second as usize] = 0;
    let mut done = [0, 0];
    while done[0] < halves[0].len() || done[1] < halves[1].len() {
        for side in 0..2 {
            let end = halves[side].len();
            for place in done[side]..end {
                for &other in graph.neighbours(halves[side][place]) {
                    if steps[other as usize] == NONE && is_inside(other) {
                        steps[other as usize] = 0;
                        halves[side].push(other);
                    }
                }
            }
            done[side] = end;
        }
    }
    if halves[0].len() + halves[1].len() < nodes.len() {
        let smaller = usize::from(halves[1].len() < halves[0].len());
        halves[smaller].extend(nodes.iter().filter(|&&node| steps[node as usize] == NONE));
    }
    forget(steps, nodes);
    halves
}

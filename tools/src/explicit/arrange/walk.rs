//! The order of the nodes inside a block: a walk along its boundary, then inwards. In the plane, inner nodes with the same
//! number of neighbours stand together, because a warp of a device goes through the neighbours of 32 nodes at a time.

use crate::partition::NodeGraph;

/// Work space, one a thread.
#[derive(Default)]
pub(super) struct Scratch {
    state: Vec<State>,
    /// Block to which a node has the most links.
    facing: Vec<u32>,
    order: Vec<u32>,
    piece: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Inner,
    Boundary,
    Placed,
}

/// Reorders `nodes`, all nodes of `block`, and returns how many of them other blocks read. `local` is the place of each
/// node in `nodes` as given.
pub(super) fn order(
    dimension: usize,
    graph: &NodeGraph,
    block_of: &[u32],
    local: &[u32],
    block: u32,
    nodes: &mut [u32],
    scratch: &mut Scratch,
) -> u32 {
    let Scratch { state, facing, order, .. } = &mut *scratch;
    state.clear();
    facing.clear();
    order.clear();
    for &node in nodes.iter() {
        let face = facing_block(graph, block_of, block, node);
        facing.push(face.unwrap_or(block));
        state.push(if face.is_some() { State::Boundary } else { State::Inner });
    }
    let n_boundary = state.iter().filter(|&&state| state == State::Boundary).count();
    let walker = Walker { graph, block_of, local, block };
    if dimension == 2 {
        walker.order_boundary(nodes, scratch);
    } else {
        // On a surface there is no walk: nodes that face the same block stand together.
        order.extend((0..nodes.len()).filter(|&i| state[i] == State::Boundary).map(|i| nodes[i]));
        order.sort_by_key(|&node| facing[local[node as usize] as usize]);
        for &node in order.iter() {
            state[local[node as usize] as usize] = State::Placed;
        }
    }
    walker.order_inner(nodes, scratch);
    let order = &mut scratch.order;
    if dimension == 2 {
        order[n_boundary..].sort_by_key(|&node| graph.neighbours(node).len());
    }
    nodes.copy_from_slice(order);
    n_boundary as u32
}

/// The other block with the most links to a node, the lowest of several.
fn facing_block(graph: &NodeGraph, block_of: &[u32], block: u32, node: u32) -> Option<u32> {
    let neighbours = graph.neighbours(node);
    let mut best = None;
    let mut most = 0;
    let mut last = block;
    for &other in neighbours {
        let there = block_of[other as usize];
        if there != block && there != last {
            last = there;
            let links = neighbours.iter().filter(|&&n| block_of[n as usize] == there).count();
            if links > most || (links == most && best.is_some_and(|best| there < best)) {
                most = links;
                best = Some(there);
            }
        }
    }
    best
}

struct Walker<'a> {
    graph: &'a NodeGraph,
    block_of: &'a [u32],
    local: &'a [u32],
    block: u32,
}

impl Walker<'_> {
    /// Walks along each piece of the boundary, from its lowest node in both directions.
    fn order_boundary(&self, nodes: &[u32], Scratch { state, facing, order, piece }: &mut Scratch) {
        for start in 0..nodes.len() {
            if state[start] != State::Boundary {
                continue;
            }
            state[start] = State::Placed;
            piece.clear();
            piece.push(nodes[start]);
            self.extend(piece, state);
            let closed = piece.len() > 2 && self.linked(piece[0], piece[piece.len() - 1]);
            if closed {
                let facing_at = |i: usize| facing[self.local[piece[i] as usize] as usize];
                let n = piece.len();
                // The walk starts where it passes from one neighbouring block to the next.
                if let Some(join) = (0..n).find(|&i| facing_at(i) != facing_at((i + n - 1) % n)) {
                    piece.rotate_left(join);
                }
            } else {
                piece.reverse();
                self.extend(piece, state);
            }
            order.extend_from_slice(piece);
        }
    }

    /// Adds the inner nodes, breadth-first from the boundary; parts without a boundary start at their lowest node.
    fn order_inner(&self, nodes: &[u32], Scratch { state, order, .. }: &mut Scratch) {
        let mut done = 0;
        let mut start = 0;
        while order.len() < nodes.len() {
            if done == order.len() {
                while state[start] == State::Placed {
                    start += 1;
                }
                state[start] = State::Placed;
                order.push(nodes[start]);
            }
            let node = order[done];
            done += 1;
            for &other in self.graph.neighbours(node) {
                if self.block_of[other as usize] == self.block {
                    let state = &mut state[self.local[other as usize] as usize];
                    if *state != State::Placed {
                        *state = State::Placed;
                        order.push(other);
                    }
                }
            }
        }
    }

    /// Lengthens the walk from its last node as far as it goes.
    fn extend(&self, piece: &mut Vec<u32>, state: &mut [State]) {
        while let Some(next) = self.next(piece[piece.len() - 1], state) {
            state[self.local[next as usize] as usize] = State::Placed;
            piece.push(next);
        }
    }

    /// The next boundary node, preferably along a join: one that reads a node in common. Of several, the one with the fewest
    /// further continuations, so that no corner is skipped.
    fn next(&self, node: u32, state: &[State]) -> Option<u32> {
        let neighbours = self.graph.neighbours(node);
        let mut best = None;
        for &other in neighbours {
            if !self.is_free(other, state) {
                continue;
            }
            let beside = self.graph.neighbours(other);
            let along = beside.iter().any(|&n| self.block_of[n as usize] != self.block && neighbours.contains(&n));
            let ways_on = beside.iter().filter(|&&n| self.is_free(n, state)).count();
            let key = (!along, ways_on, other);
            if best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        best.map(|(_, _, node)| node)
    }

    fn is_free(&self, node: u32, state: &[State]) -> bool {
        self.block_of[node as usize] == self.block && state[self.local[node as usize] as usize] == State::Boundary
    }

    fn linked(&self, a: u32, b: u32) -> bool {
        self.graph.neighbours(a).contains(&b)
    }
}

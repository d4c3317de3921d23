//! Layers of blocks that advance from the outer boundary (Huthwaite 2014, Section 3.1, steps 1 to 10).
//!
//! The steps are numbered as in the paper. In 3D the boundary surface is cut into patches instead of lengths, and a row
//! is a layer of nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pogo_formats::mesh::MeshView;
use pogo_formats::system::parallel::iterate::*;

use super::boundary::{self, Piece};
use super::greedy::{NONE, greedy};
use super::halve::{halve, work_space};
use super::{NodeGraph, PartitionError};

/// The paper's constants for any capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Constants {
    /// Nodes of a block's first row, B: 32 for 512 (√(2 n) in 2D; n^⅔ in 3D).
    row: usize,
    /// Rows of the test advance, R = 1.25 n / B: 20 for 512.
    n_rows: usize,
    /// Sl = 0.6 R B: smaller blocks are joined to a neighbour.
    smallest: usize,
    /// Su = 1.55 R B: larger blocks are split.
    largest: usize,
    /// Rows after which a block stops growing: those of a block with the paper's 2 : 1 sides turned by 90°.
    most_rows: usize,
    capacity: usize,
}

impl Constants {
    fn new(capacity: usize, dimension: usize) -> Self {
        let n = capacity as f64;
        let row = (if dimension == 3 { n.powf(2.0 / 3.0) } else { (2.0 * n).sqrt() }).round().max(1.0);
        let n_rows = (1.25 * n / row).round().max(1.0);
        let mean = row * n_rows;
        Self {
            row: row as usize,
            n_rows: n_rows as usize,
            smallest: (0.6 * mean) as usize,
            largest: (1.55 * mean) as usize,
            most_rows: (2.0 * n / row).ceil() as usize + 1,
            capacity,
        }
    }
}

/// Cuts a mesh into layers of blocks. Blocks hold at most `capacity` nodes; where fronts meet they hold fewer.
pub(crate) fn aligned(
    mesh: &MeshView,
    graph: &NodeGraph,
    capacity: usize,
    progress: &dyn Fn(f64),
) -> Result<Vec<u32>, PartitionError> {
    let n_nodes = graph.n_nodes();
    let constants = Constants::new(capacity, mesh.dimension);
    let mut front = Front {
        graph,
        constants,
        block_of: vec![NONE; n_nodes],
        n_blocks: 0,
        n_assigned: 0,
        test_of: vec![NONE; n_nodes],
        steps: work_space(n_nodes),
    };
    // Step 1. The largest piece of boundary of each part is its outer one. When an inner piece has its turn, the front has
    // already passed over it.
    for piece in boundary::pieces(mesh)? {
        if front.block_of[piece.nodes[0] as usize] == NONE && !front.take_whole_part(piece.nodes[0]) {
            let rows = first_rows(&piece, mesh.dimension, constants);
            front.fill(rows, progress);
        }
    }
    // The rest: nodes without elements, and parts without boundary.
    for node in 0..n_nodes as u32 {
        if front.block_of[node as usize] == NONE && !front.take_whole_part(node) {
            front.fill(vec![vec![node]], progress);
        }
    }
    Ok(front.block_of)
}

/// Step 2: lengths of the boundary (patches in 3D) of about B nodes.
fn first_rows(piece: &Piece, dimension: usize, constants: Constants) -> Vec<Vec<u32>> {
    let n = piece.nodes.len();
    if dimension == 3 {
        let mut patch_of = greedy(&piece.links, constants.row);
        let n_patches = super::pack::pack(&piece.links, &mut patch_of, constants.row) as usize;
        let mut patches = vec![Vec::new(); n_patches];
        for (&node, patch) in piece.nodes.iter().zip(patch_of) {
            patches[patch as usize].push(node);
        }
        return patches;
    }
    let n_rows = ((n as f64 / constants.row as f64).round() as usize).max(1);
    (0..n_rows).map(|i| piece.nodes[i * n / n_rows..(i + 1) * n / n_rows].to_vec()).collect()
}

/// A block of the test advance.
struct Trial {
    /// Place of its first row in the layer, to keep joined rows in order.
    nodes: Vec<u32>,
    row: Vec<u32>,
}

/// The state of the advance.
struct Front<'a> {
    graph: &'a NodeGraph,
    constants: Constants,
    block_of: Vec<u32>,
    n_blocks: u32,
    n_assigned: usize,
    /// Trial of each node during the test advance.
    test_of: Vec<u32>,
    /// Work space of searches inside a trial.
    steps: Vec<AtomicU32>,
}

impl Front<'_> {
    /// Makes one block of the part of the mesh around `node` if it fits in one.
    fn take_whole_part(&mut self, node: u32) -> bool {
        let (steps, capacity) = (&self.steps, self.constants.capacity);
        let mut size = 1;
        steps[node as usize].store(0, Relaxed);
        let part = self.graph.spread(vec![node], |_, other| {
            let is_new = size <= capacity && steps[other as usize].load(Relaxed) == NONE;
            if is_new {
                steps[other as usize].store(0, Relaxed);
                size += 1;
            }
            is_new
        });
        let fits = size <= capacity;
        for &node in &part {
            self.steps[node as usize].store(NONE, Relaxed);
            if fits {
                self.block_of[node as usize] = self.n_blocks;
            }
        }
        if fits {
            self.n_blocks += 1;
            self.n_assigned += part.len();
        }
        fits
    }

    /// Steps 3 to 10: layers of blocks until the part of the mesh that the rows lie in is full.
    fn fill(&mut self, mut rows: Vec<Vec<u32>>, progress: &dyn Fn(f64)) {
        while !rows.is_empty() {
            rows = self.even_out(rows);
            // A row can be longer than a small block.
            let rows_that_fit =
                rows.iter().flat_map(|row| row.chunks(self.constants.capacity)).map(<[u32]>::to_vec).collect();
            let blocks = self.advance(rows_that_fit);
            rows = self.children(&blocks);
            progress(self.n_assigned as f64 / self.block_of.len() as f64);
        }
    }

    /// Steps 3 to 6: the test advance, which shows where the boundary is convex or concave. Blocks that become too small are
    /// joined, those that become too large are split; only their first rows are kept.
    fn even_out(&mut self, rows: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        let mut trials: Vec<Trial> = rows.into_iter().map(|row| Trial { nodes: row.clone(), row }).collect();
        for (t, trial) in trials.iter().enumerate() {
            for &node in &trial.row {
                self.test_of[node as usize] = t as u32;
            }
        }
        self.advance_trials(&mut trials);
        // Step 5. Each round halves what is too large and at least doubles what is too small.
        for _ in 0..8 {
            let joined = self.join_small(&mut trials);
            let split = self.split_large(&mut trials);
            if !joined && !split {
                break;
            }
        }
        // Step 6.
        for trial in &trials {
            for &node in &trial.nodes {
                self.test_of[node as usize] = NONE;
            }
        }
        trials.into_iter().map(|trial| trial.row).filter(|row| !row.is_empty()).collect()
    }

    /// Steps 3 and 4. A node between two blocks goes to the first of them.
    fn advance_trials(&mut self, trials: &mut [Trial]) {
        /// Added to the turn of the trial that takes a free node. Trials are fewer.
        const TAKEN: u32 = 1 << 31;
        let (graph, block_of) = (self.graph, &self.block_of);
        let test_of: Vec<AtomicU32> = std::mem::take(&mut self.test_of).into_iter().map(AtomicU32::new).collect();
        let n_trials = trials.len() as u32;
        let mut starts = vec![0; trials.len()];
        for row in 1..self.constants.n_rows {
            // Alternating the order keeps the joins upright.
            let turn = |t: usize| TAKEN | if row % 2 == 0 { t as u32 } else { n_trials - 1 - t as u32 };
            let ahead = |node: u32| graph.neighbours(node).iter().copied();
            let takes = |(t, (trial, &start)): (usize, (&Trial, &usize))| {
                for other in trial.nodes[start..].iter().flat_map(|&node| ahead(node)) {
                    if block_of[other as usize] == NONE && test_of[other as usize].load(Relaxed) > turn(t) {
                        test_of[other as usize].fetch_min(turn(t), Relaxed);
                    }
                }
            };
            trials.par_iter().zip(&starts).enumerate().for_each(takes);
            let gets = |(t, (trial, start)): (usize, (&mut Trial, &mut usize))| {
                let places = *start..trial.nodes.len();
                *start = places.end;
                for place in places {
                    for other in ahead(trial.nodes[place]) {
                        if test_of[other as usize].load(Relaxed) == turn(t) {
                            test_of[other as usize].store(t as u32, Relaxed);
                            trial.nodes.push(other);
                        }
                    }
                }
            };
            trials.par_iter_mut().zip(&mut starts).enumerate().for_each(gets);
        }
        self.test_of = test_of.into_iter().map(AtomicU32::into_inner).collect();
    }

    /// Step 5a.
    fn join_small(&mut self, trials: &mut [Trial]) -> bool {
        let mut any = false;
        for t in 0..trials.len() {
            let size = trials[t].nodes.len();
            if size == 0 || size >= self.constants.smallest {
                continue;
            }
            let mut adjacent: Vec<u32> = Vec::new();
            for &node in &trials[t].row {
                for &other in self.graph.neighbours(node) {
                    let there = self.test_of[other as usize];
                    if there != NONE && there != t as u32 && !adjacent.contains(&there) {
                        adjacent.push(there);
                    }
                }
            }
            // Where the front has no room ahead, joining would only make long thin blocks. Such blocks stay small, and
            // balancing shares them out.
            let host = adjacent
                .into_iter()
                .filter(|&host| {
                    let host = &trials[host as usize];
                    host.row.len() + trials[t].row.len() <= 3 * self.constants.row / 2
                        && host.nodes.len() + size <= self.constants.largest
                })
                .min_by_key(|&host| (trials[host as usize].nodes.len(), host));
            if let Some(host) = host {
                let host = host as usize;
                let gone =
                    Trial { nodes: std::mem::take(&mut trials[t].nodes), row: std::mem::take(&mut trials[t].row) };
                for &node in &gone.nodes {
                    self.test_of[node as usize] = host as u32;
                }
                trials[host].nodes.extend(gone.nodes);
                if host > t {
                    trials[host].row.splice(0..0, gone.row);
                } else {
                    trials[host].row.extend(gone.row);
                }
                any = true;
            }
        }
        any
    }

    /// Step 5b.
    fn split_large(&mut self, trials: &mut Vec<Trial>) -> bool {
        let mut any = false;
        for t in 0..trials.len() {
            if trials[t].nodes.len() <= self.constants.largest || trials[t].row.len() < 2 {
                continue;
            }
            let test_of = &self.test_of;
            let [low, high] = halve(
                self.graph,
                &trials[t].nodes,
                &trials[t].row,
                |node| test_of[node as usize] == t as u32,
                &self.steps,
            );
            if high.is_empty() {
                continue;
            }
            let new = trials.len() as u32;
            for &node in &high {
                self.test_of[node as usize] = new;
            }
            let row = std::mem::take(&mut trials[t].row);
            let (low_row, high_row) = row.into_iter().partition(|&node| self.test_of[node as usize] == t as u32);
            trials[t] = Trial { nodes: low, row: low_row };
            trials.push(Trial { nodes: high, row: high_row });
            any = true;
        }
        any
    }

    /// Steps 7 and 8: the smallest block advances by a row, until every block is full or has no free node ahead. Returns the
    /// nodes of each block.
    fn advance(&mut self, mut blocks: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        let first_block = self.n_blocks;
        self.n_blocks += blocks.len() as u32;
        for (b, nodes) in blocks.iter().enumerate() {
            for &node in nodes {
                self.block_of[node as usize] = first_block + b as u32;
            }
        }
        let mut starts = vec![0; blocks.len()];
        let mut n_rows = vec![1; blocks.len()];
        let mut growing: BinaryHeap<Reverse<(usize, usize)>> =
            blocks.iter().enumerate().map(|(b, nodes)| Reverse((nodes.len(), b))).collect();
        while let Some(Reverse((size, b))) = growing.pop() {
            let mut nodes = std::mem::take(&mut blocks[b]);
            'row: for place in starts[b]..size {
                for &other in self.graph.neighbours(nodes[place]) {
                    if self.block_of[other as usize] == NONE && !self.is_left_to_next(other, first_block, b, &n_rows) {
                        if nodes.len() == self.constants.capacity {
                            break 'row;
                        }
                        self.block_of[other as usize] = first_block + b as u32;
                        nodes.push(other);
                    }
                }
            }
            starts[b] = size;
            n_rows[b] += 1;
            // A block that grows too long fills a gap lengthwise. It stops, so that other blocks share the gap.
            if nodes.len() > size && nodes.len() < self.constants.capacity && n_rows[b] < self.constants.most_rows {
                growing.push(Reverse((nodes.len(), b)));
            } else {
                n_rows[b] = usize::MAX;
            }
            blocks[b] = nodes;
        }
        self.n_assigned += blocks.iter().map(Vec::len).sum::<usize>();
        blocks
    }

    /// Whether block `b` leaves a node between it and another block of this layer to that other one. The block with more
    /// links to the node takes it. With equal links they alternate from row to row, which keeps the joins upright.
    fn is_left_to_next(&self, node: u32, first_block: u32, b: usize, n_rows: &[usize]) -> bool {
        let mut other = NONE;
        let mut links = [0, 0];
        for &n in self.graph.neighbours(node) {
            let there = self.block_of[n as usize];
            if there == first_block + b as u32 {
                links[0] += 1;
            } else if there != NONE && there >= first_block && (other == NONE || other == there) {
                other = there;
                links[1] += 1;
            }
        }
        if other == NONE {
            return false;
        }
        let other = (other - first_block) as usize;
        // Only a block that has not yet added this row is certain to reach the node.
        n_rows[other] == n_rows[b]
            && (links[1] > links[0] || (links[1] == links[0] && (other < b) == n_rows[b].is_multiple_of(2)))
    }

    /// Step 9: the row ahead of each block starts a block of the next layer. A block without free nodes ahead has no such
    /// row. A row that an inner boundary cuts starts one block for each piece.
    fn children(&mut self, parents: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut rows = Vec::with_capacity(parents.len());
        for parent in parents {
            let mut ahead = Vec::new();
            // From the last row backwards: the nodes that the last, partly filled row left belong to the next layer.
            for &node in parent.iter().rev() {
                for &other in self.graph.neighbours(node) {
                    if self.block_of[other as usize] == NONE && self.test_of[other as usize] == NONE {
                        self.test_of[other as usize] = 0;
                        ahead.push(other);
                    }
                }
            }
            let mut n_reached = 0;
            while n_reached < ahead.len() {
                let Some(&start) = ahead.iter().find(|&&node| self.test_of[node as usize] == 0) else {
                    break;
                };
                let piece = self.spread(start, 0, 1);
                // A second time, from one end, so that the row is in order along the front.
                let piece = self.spread(piece[piece.len() - 1], 1, 2);
                n_reached += piece.len();
                rows.push(piece);
            }
        }
        for row in &rows {
            for &node in row {
                self.test_of[node as usize] = NONE;
            }
        }
        rows
    }

    /// Nodes linked to `start` through nodes marked `from`, nearest first; they get the mark `to`.
    fn spread(&mut self, start: u32, from: u32, to: u32) -> Vec<u32> {
        let test_of = &mut self.test_of;
        test_of[start as usize] = to;
        self.graph.spread(vec![start], |_, other| {
            let is_new = test_of[other as usize] == from;
            test_of[other as usize] = if is_new { to } else { test_of[other as usize] };
            is_new
        })
    }
}

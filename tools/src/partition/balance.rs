//! Fills blocks to capacity: some under-filled blocks are dissolved, and nodes are passed across joins from blocks that
//! have too many to blocks that have room.
//!
//! How many nodes cross each join is the flow that solves L λ = excess on the graph of blocks, L its Laplacian weighted
//! with the lengths of the joins (Hu and Blake 1999): of all flows that balance the blocks it moves joins least.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rayon::prelude::*;

use super::greedy::NONE;
use super::halve::halve;
use super::{NodeGraph, block_sizes};

/// Share of all places that the blocks that are kept should fill; the rest is play for whole nodes and odd corners.
pub(crate) const FILL: f64 = 0.9993;
/// Blocks fuller than this are never dissolved.
const KEEP: f64 = 0.8;
/// Most rounds of flow.
const MOST_ROUNDS: usize = 12;
/// How often badly shaped blocks are cut and shared out.
const MOST_ATTEMPTS: usize = 3;
/// A 2D block is too long if it has this many times the boundary nodes of the paper's 2 : 1 rectangle.
const TOO_LONG: f64 = 1.25;
/// A 3D block is too long if it reads this many times the nodes around a cube of hexahedra.
const TOO_LONG_IN_SPACE: f64 = 1.4;

/// Balances the blocks and makes them neater. Afterwards no block is above capacity, and some have no nodes.
///
/// Blocks with too long a boundary are cut first: where fronts met they are thin, and pieces of them are
/// dissolved into the blocks around, which grow in their place.
pub(crate) fn balance(
    graph: &NodeGraph,
    block_of: &mut [u32],
    capacity: usize,
    dimension: usize,
    progress: &dyn Fn(f64),
) {
    let n_blocks = block_of.iter().max().map_or(0, |&block| block as usize + 1);
    let mut state = Balance::new(graph, block_of, n_blocks, capacity);
    // Smoothing may overfill blocks a little, the flow evens that out. Layers of a solid meet in rougher faces.
    let (n_sweeps, spare) = if dimension == 3 { (6, capacity / 8) } else { (1, capacity / 64) };
    for _ in 0..n_sweeps {
        state.smooth(capacity + spare);
    }
    for attempt in 0..MOST_ATTEMPTS {
        let n_cut = state.cut_long(dimension);
        if attempt > 0 && n_cut == 0 {
            break;
        }
        let mut joins = state.joins();
        let part_of = parts(&joins, state.n_blocks());
        state.choose_dissolved(&part_of);
        let mut surplus = f64::INFINITY;
        for _ in 0..MOST_ROUNDS {
            let left = state.flow(&joins, &part_of);
            // The last few nodes are quicker moved one by one.
            if left > 0.8 * surplus || left < 0.5 {
                break;
            }
            surplus = left;
            joins = state.joins();
        }
        state.dissolve_rest();
        state.push_to_capacity();
        state.smooth(capacity);
        progress((attempt + 1) as f64 / MOST_ATTEMPTS as f64);
    }
    state.cut_rest();
}

/// Lengths of joins between blocks, as compressed rows.
#[derive(Clone)]
struct Joins {
    first: Vec<u32>,
    /// (other block, nodes of this block that read it).
    entries: Vec<(u32, u32)>,
}

impl Joins {
    fn of(&self, block: usize) -> &[(u32, u32)] {
        &self.entries[self.first[block] as usize..self.first[block + 1] as usize]
    }
}

struct Balance<'a> {
    graph: &'a NodeGraph,
    block_of: &'a mut [u32],
    capacity: usize,
    sizes: Vec<u32>,
    /// Nodes of each block; some may have left since, and those that came back are there twice.
    members: Vec<Vec<u32>>,
    dissolved: Vec<bool>,
}

impl<'a> Balance<'a> {
    fn new(graph: &'a NodeGraph, block_of: &'a mut [u32], n_blocks: usize, capacity: usize) -> Self {
        let sizes = block_sizes(block_of, n_blocks);
        let mut members: Vec<Vec<u32>> = sizes.iter().map(|&size| Vec::with_capacity(size as usize + 32)).collect();
        for (node, &block) in block_of.iter().enumerate() {
            members[block as usize].push(node as u32);
        }
        Self { graph, block_of, capacity, sizes, members, dissolved: vec![false; n_blocks] }
    }

    fn n_blocks(&self) -> usize {
        self.sizes.len()
    }

    /// The nodes that a block has now, each once; its own list is empty afterwards.
    fn take_members(&mut self, block: u32) -> Vec<u32> {
        let mut members = std::mem::take(&mut self.members[block as usize]);
        forget_departed(&mut members, self.block_of, block, self.sizes[block as usize]);
        members
    }

    /// Join lengths, after forgetting members that have left.
    fn joins(&mut self) -> Joins {
        let (graph, block_of) = (self.graph, &*self.block_of);
        let rows: Vec<Vec<(u32, u32)>> = self
            .members
            .par_iter_mut()
            .zip(&self.sizes)
            .enumerate()
            .with_min_len(16)
            .map(|(block, (members, &size))| {
                let block = block as u32;
                forget_departed(members, block_of, block, size);
                let mut row: Vec<(u32, u32)> = Vec::with_capacity(8);
                for &node in members.iter() {
                    let mut last = block;
                    for &other in graph.neighbours(node) {
                        let there = block_of[other as usize];
                        if there != block && there != last {
                            last = there;
                            match row.iter_mut().find(|entry| entry.0 == there) {
                                Some(entry) => entry.1 += 1,
                                None => row.push((there, 1)),
                            }
                        }
                    }
                }
                row.sort_unstable();
                row
            })
            .collect();
        let mut first = Vec::with_capacity(rows.len() + 1);
        first.push(0);
        let mut entries = Vec::new();
        for row in rows {
            entries.extend(row);
            first.push(entries.len() as u32);
        }
        Joins { first, entries }
    }

    /// Chooses the blocks to dissolve: along the order of the blocks, as many under-filled ones are kept as their nodes
    /// can fill, evenly spread, so that no node has far to go.
    fn choose_dissolved(&mut self, part_of: &[u32]) {
        let n_parts = part_of.iter().max().map_or(0, |&part| part as usize + 1);
        let capacity = self.capacity as f64;
        let mut nodes = vec![0_f64; n_parts];
        let mut kept = vec![0_usize; n_parts];
        let mut small: Vec<Vec<u32>> = vec![Vec::new(); n_parts];
        for (block, &part) in part_of.iter().enumerate() {
            let part = part as usize;
            nodes[part] += f64::from(self.sizes[block]);
            if f64::from(self.sizes[block]) < KEEP * capacity {
                small[part].push(block as u32);
            } else {
                kept[part] += 1;
            }
        }
        for part in 0..n_parts {
            let n_wanted = ((nodes[part] / (capacity * FILL)).ceil() as usize).max(1).saturating_sub(kept[part]);
            let small = &small[part];
            if n_wanted >= small.len() {
                continue;
            }
            let total: f64 = small.iter().map(|&block| f64::from(self.sizes[block as usize])).sum();
            let mut sum = 0.0;
            let mut window: Vec<u32> = Vec::new();
            let mut n_kept = 0;
            for (i, &block) in small.iter().enumerate() {
                window.push(block);
                sum += f64::from(self.sizes[block as usize]);
                // The largest of each window stays.
                let due = (sum * n_wanted as f64 / total + 1e-9) as usize;
                if due > n_kept || i + 1 == small.len() {
                    let stay = (n_wanted - n_kept).min(due - n_kept).min(window.len());
                    window.sort_by_key(|&block| (Reverse(self.sizes[block as usize]), block));
                    for &block in &window[stay..] {
                        self.dissolved[block as usize] = true;
                    }
                    n_kept += stay;
                    window.clear();
                }
            }
        }
    }

    /// One round: solves for the flow and passes nodes across joins. Returns how many nodes were out of place before.
    fn flow(&mut self, joins: &Joins, part_of: &[u32]) -> f64 {
        let n_blocks = self.n_blocks();
        let n_parts = part_of.iter().max().map_or(0, |&part| part as usize + 1);
        let mut surplus = vec![0.0; n_parts];
        let mut room = vec![0.0; n_parts];
        let spare = |this: &Self, block: usize| this.capacity as f64 - f64::from(this.sizes[block]);
        for (block, &part) in part_of.iter().enumerate() {
            let part = part as usize;
            if self.dissolved[block] {
                surplus[part] += f64::from(self.sizes[block]);
            } else if spare(self, block) < 0.0 {
                surplus[part] -= spare(self, block);
            } else {
                room[part] += spare(self, block);
            }
        }
        let total: f64 = surplus.iter().sum();
        if total < 0.5 {
            return 0.0;
        }
        let excess: Vec<f64> = (0..n_blocks)
            .map(|block| {
                let part = part_of[block] as usize;
                if self.dissolved[block] {
                    f64::from(self.sizes[block])
                } else if spare(self, block) < 0.0 || room[part] == 0.0 {
                    -spare(self, block)
                } else {
                    -spare(self, block) * surplus[part] / room[part]
                }
            })
            .collect();
        let potential = solve_laplacian(joins, &excess);
        let mut passes: Vec<(u32, u32, u32)> = Vec::new();
        for block in 0..n_blocks {
            for &(other, length) in joins.of(block) {
                let drop = potential[block] - potential[other as usize];
                let wanted = (f64::from(length) * drop).round();
                if wanted >= 1.0 {
                    // Two rows at a time keep the blocks in shape while the joins move.
                    passes.push((block as u32, other, wanted.min(f64::from(2 * length)) as u32));
                }
            }
        }
        for (from, to, count) in passes {
            self.pass(from, to, count, self.dissolved[from as usize]);
        }
        total
    }

    /// Passes up to `count` nodes across a join, those first that the other block surrounds most. Unless `all` is set,
    /// the block that gives keeps in one piece. Returns how many went.
    fn pass(&mut self, from: u32, to: u32, count: u32, all: bool) -> u32 {
        let graph = self.graph;
        let mut heap: BinaryHeap<(i32, Reverse<u32>)> = BinaryHeap::new();
        for &node in &self.members[from as usize] {
            if self.block_of[node as usize] == from {
                let (gain, linked) = self.gain(node, from, to);
                if linked {
                    heap.push((gain, Reverse(node)));
                }
            }
        }
        let mut moved = 0;
        while moved < count && (all || self.sizes[from as usize] > 1) {
            let Some((gain, Reverse(node))) = heap.pop() else { break };
            if self.block_of[node as usize] != from || self.gain(node, from, to).0 != gain {
                continue;
            }
            if !all && !self.is_removable(node, from) {
                continue;
            }
            self.give(node, from, to);
            moved += 1;
            for &other in graph.neighbours(node) {
                if self.block_of[other as usize] == from {
                    heap.push((self.gain(other, from, to).0, Reverse(other)));
                }
            }
        }
        moved
    }

    fn give(&mut self, node: u32, from: u32, to: u32) {
        self.block_of[node as usize] = to;
        self.members[to as usize].push(node);
        self.sizes[from as usize] -= 1;
        self.sizes[to as usize] += 1;
    }

    /// Links that a move would take off the joins, and whether the node reads the other block at all.
    fn gain(&self, node: u32, from: u32, to: u32) -> (i32, bool) {
        let mut gain = 0;
        let mut linked = false;
        for &other in self.graph.neighbours(node) {
            let there = self.block_of[other as usize];
            if there == to {
                gain += 1;
                linked = true;
            } else if there == from {
                gain -= 1;
            }
        }
        (gain, linked)
    }

    /// Whether a block stays in one piece without a node, as far as the node's neighbours tell.
    fn is_removable(&self, node: u32, block: u32) -> bool {
        let mut beside = [0_u32; 64];
        let mut n = 0;
        for &other in self.graph.neighbours(node) {
            if self.block_of[other as usize] == block {
                if n == beside.len() {
                    return false;
                }
                beside[n] = other;
                n += 1;
            }
        }
        // The first `reached` entries are linked to the first one.
        let beside = &mut beside[..n];
        let mut reached = 1;
        let mut done = 0;
        while done < reached && reached < n {
            let links = self.graph.neighbours(beside[done]);
            done += 1;
            let mut i = reached;
            while i < n {
                if links.contains(&beside[i]) {
                    beside.swap(i, reached);
                    reached += 1;
                }
                i += 1;
            }
        }
        reached >= n
    }

    /// Moves nodes that are linked more to another block than to their own, while that one has room.
    fn smooth(&mut self, most: usize) {
        let graph = self.graph;
        for block in 0..self.n_blocks() as u32 {
            if self.dissolved[block as usize] {
                continue;
            }
            let mut place = 0;
            while place < self.members[block as usize].len() {
                let node = self.members[block as usize][place];
                place += 1;
                let neighbours = graph.neighbours(node);
                if self.block_of[node as usize] != block
                    || neighbours.iter().all(|&other| self.block_of[other as usize] == block)
                {
                    continue;
                }
                let links_to = |to: u32| neighbours.iter().filter(|&&n| self.block_of[n as usize] == to).count();
                let inside = links_to(block);
                let best = neighbours
                    .iter()
                    .map(|&other| self.block_of[other as usize])
                    .filter(|&to| {
                        to != block && !self.dissolved[to as usize] && (self.sizes[to as usize] as usize) < most
                    })
                    .map(|to| (links_to(to), Reverse(to)))
                    .max();
                if let Some((links, Reverse(to))) = best
                    && links > inside
                    && self.sizes[block as usize] > 1
                    && self.is_removable(node, block)
                {
                    self.give(node, block, to);
                }
            }
        }
    }

    /// Gives what is left of dissolved blocks to the blocks around.
    fn dissolve_rest(&mut self) {
        for block in 0..self.n_blocks() as u32 {
            if !self.dissolved[block as usize] {
                continue;
            }
            let mut left = self.take_members(block);
            while !left.is_empty() {
                let before = left.len();
                let mut still = Vec::new();
                for node in left {
                    let host = self
                        .graph
                        .neighbours(node)
                        .iter()
                        .map(|&other| self.block_of[other as usize])
                        .filter(|&there| there != block && !self.dissolved[there as usize])
                        .min_by_key(|&there| (self.sizes[there as usize], there));
                    match host {
                        Some(host) => self.give(node, block, host),
                        None => still.push(node),
                    }
                }
                left = still;
                if left.len() == before {
                    // Nothing but dissolved blocks around: this one stays after all.
                    self.dissolved[block as usize] = false;
                    self.members[block as usize] = left;
                    break;
                }
            }
        }
    }

    /// Passes what blocks have above capacity along the shortest chains of blocks to where there is room.
    fn push_to_capacity(&mut self) {
        let joins = self.joins();
        let mut come_from = vec![u32::MAX; self.n_blocks()];
        for block in 0..self.n_blocks() as u32 {
            for _ in 0..64 {
                let over = (self.sizes[block as usize] as usize).saturating_sub(self.capacity);
                if over == 0 {
                    break;
                }
                let Some(chain) = self.chain_to_room(&joins, block, &mut come_from) else { break };
                let end = chain[0];
                let room = self.capacity - self.sizes[end as usize] as usize;
                let count = over.min(room) as u32;
                // From the far end, so that no block on the way gets fuller than it was.
                let mut passed = u32::MAX;
                for pair in chain.windows(2) {
                    passed = self.pass(pair[1], pair[0], count.min(passed), false);
                }
                if passed == 0 {
                    for pair in chain.windows(2) {
                        self.pass(pair[1], pair[0], 1, true);
                    }
                }
            }
        }
    }

    /// The shortest chain of blocks from one with room (first) to `block` (last).
    fn chain_to_room(&self, joins: &Joins, block: u32, come_from: &mut [u32]) -> Option<Vec<u32>> {
        come_from.fill(u32::MAX);
        come_from[block as usize] = block;
        let mut queue = VecDeque::from([block]);
        while let Some(here) = queue.pop_front() {
            if self.sizes[here as usize] > 0 && (self.sizes[here as usize] as usize) < self.capacity {
                let mut chain = vec![here];
                let mut at = here;
                while at != block {
                    at = come_from[at as usize];
                    chain.push(at);
                }
                return Some(chain);
            }
            for &(other, length) in joins.of(here as usize) {
                // A join of a node or two may be gone by the time.
                if length > 2 && come_from[other as usize] == u32::MAX {
                    come_from[other as usize] = here;
                    queue.push_back(other);
                }
            }
        }
        None
    }

    /// Cuts blocks with too long a boundary in two. Returns how many.
    fn cut_long(&mut self, dimension: usize) -> usize {
        let (graph, block_of) = (self.graph, &*self.block_of);
        let n = self.capacity as f64;
        // Nodes around a rectangle of 2 : 1, and around a cube.
        let (around, times) = if dimension == 3 {
            ((n.cbrt() + 2.0).powi(3) - n, TOO_LONG_IN_SPACE)
        } else {
            (2.0 * ((2.0 * n).sqrt() + (n / 2.0).sqrt()), TOO_LONG)
        };
        let most = (times * around) as usize;
        let cut: Vec<u32> = (0..self.n_blocks())
            .into_par_iter()
            .with_min_len(16)
            .filter(|&block| {
                let mut halo: Vec<u32> = Vec::with_capacity(512);
                let mut n_boundary = 0;
                for &node in &self.members[block] {
                    if block_of[node as usize] == block as u32 {
                        let before = halo.len();
                        let outside = |&&other: &&u32| block_of[other as usize] != block as u32;
                        halo.extend(graph.neighbours(node).iter().filter(outside));
                        n_boundary += usize::from(halo.len() > before);
                    }
                }
                if dimension == 3 {
                    halo.sort_unstable();
                    halo.dedup();
                    halo.len() > most
                } else {
                    n_boundary > most
                }
            })
            .map(|block| block as u32)
            .collect();
        if cut.is_empty() {
            return 0;
        }
        let mut steps = vec![NONE; self.block_of.len()];
        for &block in &cut {
            let members = self.take_members(block);
            let inside = &*self.block_of;
            let [low, high] = halve(graph, &members, &members, |node| inside[node as usize] == block, &mut steps);
            let new = self.n_blocks() as u32;
            for &node in &high {
                self.block_of[node as usize] = new;
            }
            self.sizes[block as usize] = low.len() as u32;
            self.members[block as usize] = low;
            self.sizes.push(high.len() as u32);
            self.members.push(high);
            self.dissolved.push(false);
        }
        cut.len()
    }

    /// What still is above capacity becomes blocks of its own.
    fn cut_rest(&mut self) {
        for block in 0..self.n_blocks() {
            if self.sizes[block] as usize <= self.capacity {
                continue;
            }
            let members = self.take_members(block as u32);
            for (i, piece) in members.chunks(self.capacity).enumerate() {
                let number = if i == 0 { block } else { self.sizes.len() };
                for &node in piece {
                    self.block_of[node as usize] = number as u32;
                }
                if i == 0 {
                    self.sizes[block] = piece.len() as u32;
                } else {
                    self.sizes.push(piece.len() as u32);
                    self.members.push(Vec::new());
                    self.dissolved.push(false);
                }
            }
        }
    }
}

/// Leaves in a block's list the `size` nodes that it has, each once.
fn forget_departed(members: &mut Vec<u32>, block_of: &[u32], block: u32, size: u32) {
    members.retain(|&node| block_of[node as usize] == block);
    if members.len() != size as usize {
        members.sort_unstable();
        members.dedup();
    }
}

/// Connected parts of the graph of blocks, numbered from 0.
fn parts(joins: &Joins, n_blocks: usize) -> Vec<u32> {
    let mut part_of = vec![u32::MAX; n_blocks];
    let mut n_parts = 0;
    for start in 0..n_blocks {
        if part_of[start] != u32::MAX {
            continue;
        }
        part_of[start] = n_parts;
        let mut stack = vec![start];
        while let Some(block) = stack.pop() {
            for &(other, _) in joins.of(block) {
                if part_of[other as usize] == u32::MAX {
                    part_of[other as usize] = n_parts;
                    stack.push(other as usize);
                }
            }
        }
        n_parts += 1;
    }
    part_of
}

/// Solves L λ = b by conjugate gradients with Jacobi preconditioning; b sums to zero over each part.
fn solve_laplacian(joins: &Joins, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    // The two sides of a join count their own nodes: their mean keeps the operator symmetric.
    let weight = |from: usize, (to, length): (u32, u32)| -> f64 {
        let row = joins.of(to as usize);
        let back = row.binary_search_by_key(&(from as u32), |entry| entry.0).map_or(0, |i| row[i].1);
        f64::from(length + back) / 2.0
    };
    let weights: Vec<f64> = (0..n)
        .flat_map(|block| joins.of(block).iter().map(move |&entry| (block, entry)))
        .map(|(b, e)| weight(b, e))
        .collect();
    let diagonal: Vec<f64> = (0..n)
        .map(|block| {
            weights[joins.first[block] as usize..joins.first[block + 1] as usize].iter().sum::<f64>().max(1e-30)
        })
        .collect();
    let apply = |x: &[f64], y: &mut [f64]| {
        for block in 0..n {
            let mut sum = diagonal[block] * x[block];
            for k in joins.first[block] as usize..joins.first[block + 1] as usize {
                sum -= weights[k] * x[joins.entries[k].0 as usize];
            }
            y[block] = sum;
        }
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut x = vec![0.0; n];
    let mut r = b.to_vec();
    let mut z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut p = z.clone();
    let mut q = vec![0.0; n];
    let mut rz = dot(&r, &z);
    let end = 1e-6 * dot(b, b);
    for _ in 0..400 {
        let left = dot(&r, &r);
        if left.is_nan() || left <= end {
            break;
        }
        apply(&p, &mut q);
        let pq = dot(&p, &q);
        if pq.is_nan() || pq <= 0.0 {
            break;
        }
        let alpha = rz / pq;
        for i in 0..n {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            z[i] = r[i] / diagonal[i];
        }
        let rz_new = dot(&r, &z);
        let beta = rz_new / rz;
        rz = rz_new;
        for i in 0..n {
            p[i] = z[i] + beta * p[i];
        }
    }
    x
}

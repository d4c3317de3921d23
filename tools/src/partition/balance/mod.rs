//! Fills blocks to capacity: some under-filled blocks are dissolved, and nodes are passed across joins from blocks that
//! have too many to blocks that have room.

mod cut;
mod flow;
mod gains;
mod joins;
mod smooth;

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gains::Gains;
use joins::Joins;
use pogo_formats::timings::timed;

use super::NodeGraph;
use crate::rows::by_row;

/// Share of all places that the remaining blocks should fill. The rest is room for whole nodes and odd corners.
pub(crate) const FILL: f64 = 0.9993;
/// Most rounds of flow.
const MOST_ROUNDS: usize = 12;
/// How often badly shaped blocks are cut and shared out.
const MOST_ATTEMPTS: usize = 3;
/// Balances the blocks and smooths their joins. Afterwards no block is above capacity, and some have no nodes.
///
/// Blocks with too long a boundary are cut first. They are thin pieces where fronts met; their halves are dissolved into the
/// blocks around, which grow in their place.
pub(crate) fn balance(
    graph: &NodeGraph,
    block_of: &mut [u32],
    capacity: usize,
    dimension: usize,
    progress: &dyn Fn(f64),
) {
    let n_blocks = block_of.iter().max().map_or(0, |&block| block as usize + 1);
    // The nodes of a block stand together in memory meanwhile.
    let (first, order) = by_row(n_blocks, block_of.iter().copied());
    let graph = timed("order nodes", || graph.in_order(&order));
    let mut state = Balance::new(&graph, &order, &first, capacity);
    // Smoothing may overfill blocks a little; the flow evens that out. Layers of a solid meet in rougher faces and need more.
    let (n_sweeps, spare) = if dimension == 3 { (6, capacity / 8) } else { (1, capacity / 64) };
    for _ in 0..n_sweeps {
        timed("smooth", || state.smooth(capacity + spare));
    }
    let mut joins = Joins::default();
    for attempt in 0..MOST_ATTEMPTS {
        let n_cut = timed("cut long blocks", || state.cut_long(dimension));
        if attempt > 0 && n_cut == 0 {
            break;
        }
        timed("joins", || state.look_at(&mut joins));
        let part_of = flow::parts(&joins, state.n_blocks());
        state.choose_dissolved(&part_of);
        let mut surplus = f64::INFINITY;
        for _ in 0..MOST_ROUNDS {
            let remaining = state.flow(&joins, &part_of);
            // The last few nodes are moved faster one by one.
            if remaining > 0.8 * surplus || remaining < 0.5 {
                break;
            }
            surplus = remaining;
            timed("joins", || state.look_at(&mut joins));
        }
        state.dissolve_rest();
        timed("joins", || state.look_at(&mut joins));
        timed("push to capacity", || state.push_to_capacity(&joins));
        timed("smooth", || state.smooth(capacity));
        progress((attempt + 1) as f64 / MOST_ATTEMPTS as f64);
    }
    state.cut_rest();
    order.iter().zip(&state.block_of).for_each(|(&node, block)| block_of[node as usize] = block.load(Relaxed));
}

/// Blocks while nodes are passed between them. Several threads may pass nodes at a time, but never two from or to one block.
struct Balance<'a> {
    graph: &'a NodeGraph,
    /// Number of each node in the mesh. Where nodes are alike, the lowest label has its turn first.
    labels: &'a [u32],
    block_of: Vec<AtomicU32>,
    capacity: usize,
    sizes: Vec<AtomicU32>,
    /// Nodes of each block. Some may have left since; those that came back stand there twice.
    members: Vec<Mutex<Vec<u32>>>,
    /// The nodes that came to each block since the joins were looked at.
    arrivals: Vec<Mutex<Vec<Arrival>>>,
    dissolved: Vec<bool>,
    /// What is known of each node, and stays true until it or a node linked to it goes to another block: [`SETTLED`], [`LISTED`],
    /// [`INNER`].
    known: Vec<AtomicU8>,
}

/// The node has no more links to any other block than to its own.
const SETTLED: u8 = 1;
/// The joins list the node with every block that it reads.
const LISTED: u8 = 2;
/// The node reads no other block.
const INNER: u8 = 4;

/// A node that came to a block.
#[derive(Clone, Copy)]
struct Arrival {
    node: u32,
    /// The [`bit`]s of the blocks of its neighbours at that time.
    around: u64,
}

impl Arrival {
    /// Whether the node may have had a neighbour in a block when it came. It is sure where this is false.
    fn had_beside(&self, block: u32) -> bool {
        self.around & bit(block) != 0
    }
}

/// One bit of a word for a block. Others have the same.
fn bit(block: u32) -> u64 {
    1 << (block % 64)
}

impl<'a> Balance<'a> {
    /// The blocks of nodes that stand in the order of their blocks; `first` is the first node of each, (n_blocks + 1,).
    fn new(graph: &'a NodeGraph, labels: &'a [u32], first: &[u32], capacity: usize) -> Self {
        let of_blocks = || first.windows(2).map(|bounds| bounds[0]..bounds[1]);
        let of_nodes = (0_u32..).zip(of_blocks()).flat_map(|(block, nodes)| nodes.map(move |_| AtomicU32::new(block)));
        let members = of_blocks().map(|nodes| {
            let mut members = Vec::with_capacity(nodes.len() + 32);
            members.extend(nodes);
            Mutex::new(members)
        });
        Self {
            graph,
            labels,
            block_of: of_nodes.collect(),
            capacity,
            sizes: of_blocks().map(|nodes| AtomicU32::new(nodes.len() as u32)).collect(),
            members: members.collect(),
            arrivals: of_blocks().map(|_| Mutex::default()).collect(),
            dissolved: vec![false; first.len() - 1],
            known: labels.iter().map(|_| AtomicU8::new(0)).collect(),
        }
    }

    fn n_blocks(&self) -> usize {
        self.sizes.len()
    }

    /// The block of a node.
    fn block(&self, node: u32) -> u32 {
        self.block_of[node as usize].load(Relaxed)
    }

    fn size(&self, block: u32) -> u32 {
        self.sizes[block as usize].load(Relaxed)
    }

    fn members(&self, block: u32) -> MutexGuard<'_, Vec<u32>> {
        self.members[block as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrivals(&self, block: u32) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals[block as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes that a block has now, each once; its own list is empty afterwards.
    fn take_members(&self, block: u32) -> Vec<u32> {
        let mut members = std::mem::take(&mut *self.members(block));
        self.forget_departed(&mut members, block);
        members
    }

    /// Adds a block of these nodes.
    fn add_block(&mut self, nodes: Vec<u32>) {
        let new = self.n_blocks() as u32;
        nodes.iter().for_each(|&node| self.set_block(node, new));
        self.sizes.push(AtomicU32::new(nodes.len() as u32));
        self.members.push(Mutex::new(nodes));
        self.arrivals.push(Mutex::default());
        self.dissolved.push(false);
    }

    /// A block has these of its nodes only.
    fn keep(&mut self, block: u32, nodes: Vec<u32>) {
        self.sizes[block as usize] = AtomicU32::new(nodes.len() as u32);
        *self.members(block) = nodes;
    }

    /// Calls with the nodes of a block that read another one, and some more. They are those that did so when the joins were
    /// looked at, those that came since, and those linked to what came to the other block since.
    fn for_each_beside(&self, joins: &Joins, block: u32, other: u32, mut call: impl FnMut(u32)) {
        let mut call = |node: &u32| {
            if self.block(*node) == block {
                call(*node);
            }
        };
        joins.nodes(block, other).for_each(|node| call(&node));
        // Of two linked nodes, the one that came later had the block of the other one beside it.
        for arrival in self.arrivals(block).iter().filter(|arrival| arrival.had_beside(other)) {
            call(&arrival.node);
        }
        for arrival in self.arrivals(other).iter().filter(|arrival| arrival.had_beside(block)) {
            self.graph.neighbours(arrival.node).iter().for_each(&mut call);
        }
    }

    /// Passes up to `count` nodes across a join, first those that have the most links to the other block. Unless `all` is set,
    /// the block that gives stays in one piece. Returns the number of nodes that were passed. It depends on these two blocks
    /// alone, and so do the nodes.
    fn pass(&self, joins: &Joins, gains: &mut Gains, [from, to]: [u32; 2], count: u32, all: bool) -> u32 {
        let graph = self.graph;
        gains.clear(self.size(from) as usize);
        self.for_each_beside(joins, from, to, |node| {
            if !gains.knows(node) {
                let (gain, linked) = self.gain(node, from, to);
                if linked {
                    gains.add(node, self.labels[node as usize], 0, || gain);
                }
            }
        });
        let mut moved = 0;
        while moved < count && (all || self.size(from) > 1) {
            let Some(node) = gains.pop() else { break };
            if self.block(node) != from || (!all && !self.is_removable(node, from)) {
                continue;
            }
            self.give(node, from, to);
            moved += 1;
            for &other in graph.neighbours(node) {
                if self.block(other) == from {
                    // One link more to the other block, and one less inside.
                    gains.add(other, self.labels[other as usize], 2, || self.gain(other, from, to).0);
                }
            }
        }
        moved
    }

    fn set_block(&self, node: u32, block: u32) {
        self.block_of[node as usize].store(block, Relaxed);
        for &other in self.graph.neighbours(node).iter().chain([&node]) {
            self.known[other as usize].store(0, Relaxed);
        }
    }

    fn knows(&self, node: u32, what: u8) -> bool {
        self.known[node as usize].load(Relaxed) & what != 0
    }

    /// Only one thread at a time may tell something of a node.
    fn now_knows(&self, node: u32, what: u8) {
        let known = &self.known[node as usize];
        known.store(known.load(Relaxed) | what, Relaxed);
    }

    fn give(&self, node: u32, from: u32, to: u32) {
        self.set_block(node, to);
        self.members(to).push(node);
        let around = self.graph.neighbours(node).iter().fold(0, |around, &other| around | bit(self.block(other)));
        self.arrivals(to).push(Arrival { node, around });
        self.sizes[from as usize].fetch_sub(1, Relaxed);
        self.sizes[to as usize].fetch_add(1, Relaxed);
    }

    /// Number of links by which a move would shorten the joins, and whether the node is linked to the other block at all.
    fn gain(&self, node: u32, from: u32, to: u32) -> (i32, bool) {
        let mut gain = 0;
        let mut linked = false;
        for &other in self.graph.neighbours(node) {
            let there = self.block(other);
            if there == to {
                gain += 1;
                linked = true;
            } else if there == from {
                gain -= 1;
            }
        }
        (gain, linked)
    }

    /// Whether a block stays in one piece without a node, judged by the neighbours of the node alone.
    fn is_removable(&self, node: u32, block: u32) -> bool {
        let mut beside = [0_u32; 64];
        let mut n = 0;
        for &other in self.graph.neighbours(node) {
            if self.block(other) == block {
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

    /// Reduces the list of a block to the nodes that it has, each once.
    fn forget_departed(&self, members: &mut Vec<u32>, block: u32) {
        members.retain(|&node| self.block(node) == block);
        if members.len() != self.size(block) as usize {
            members.sort_unstable_by_key(|&node| self.labels[node as usize]);
            members.dedup();
        }
    }
}

//! Fans of a block's own nodes.

use pogo_formats::explicit::block::{BlocksView, DeviceTables, FanRecord};
use pogo_formats::system::parallel::iterate::*;

use super::{Fan, Further, Materials, Rows};
use crate::rows::accumulate;

/// Makes the fans of all blocks that can have them, those with `planes`. Returns the further records of each block.
pub(super) fn own(
    blocks: &BlocksView,
    materials: &Materials,
    planes: &[Vec<u16>],
    device: &mut DeviceTables,
) -> Vec<Vec<Further>> {
    let n_blocks = blocks.n_blocks();
    if planes.iter().all(Vec::is_empty) {
        return vec![Vec::new(); n_blocks];
    }
    let n_nodes = blocks.node_first[n_blocks] as usize;
    device.fan = vec![0; 3 * n_nodes];
    if materials.pairs.len() > 1 {
        device.fan_materials = vec![0; n_nodes];
    }
    let lengths = (0..n_blocks).map(|block| blocks.own_nodes(block).len());
    Rows::cut(&mut device.fan, &mut device.fan_materials, lengths)
        .into_par_iter()
        .zip(planes)
        .enumerate()
        .with_min_len(8)
        .map_init(Weaver::default, |weaver, (block, (mut rows, planes))| match planes.is_empty() {
            true => Vec::new(),
            false => weaver.block(blocks, (materials, planes), block, &mut rows),
        })
        .collect()
}

/// The side of a triangle opposite to a node: from one neighbour to the next, with the number of the material in the lowest bits. Sides are
/// ordered as the solver indices of their nodes.
type Side = u32;

fn side(from: u16, to: u16, material: u16) -> Side {
    u32::from(from) << 15 | u32::from(to) << 4 | u32::from(material)
}

fn from_rank(side: Side) -> usize {
    (side >> 15) as usize
}

fn to_rank(side: Side) -> usize {
    (side >> 4) as usize & (FanRecord::LOCAL_NODES - 1)
}

/// Local indices in the order of the solver indices: the halo before the block, its own nodes, the halo after it.
#[derive(Default, Clone, Copy)]
struct Ranks {
    n_own: u16,
    n_halo_before: u16,
}

impl Ranks {
    fn rank(self, local: u16) -> u16 {
        match local.checked_sub(self.n_own) {
            None => local + self.n_halo_before,
            Some(halo) if halo < self.n_halo_before => halo,
            Some(_) => local,
        }
    }

    fn local(self, rank: usize) -> u16 {
        let rank = rank as u16;
        match rank.checked_sub(self.n_halo_before) {
            None => rank + self.n_own,
            Some(own) if own < self.n_own => own,
            Some(_) => rank,
        }
    }
}

/// Adjacent triangles round a node.
#[derive(Clone, Copy)]
struct Chain {
    /// First of its sides in `Weaver::order`, and their number.
    first: usize,
    n: usize,
}

#[derive(Default)]
struct Weaver {
    /// First side of each own node, and all sides.
    first: Vec<u32>,
    sides: Vec<Side>,
    /// By rank of a neighbour: the next side from it that is in no chain yet, and the last node of which a side led to it.
    next: Vec<u32>,
    reached: Vec<u32>,
    /// Sides in the order of the chains.
    order: Vec<Side>,
    chains: Vec<Chain>,
    fans: Vec<Fan>,
}

const NEVER: u32 = u32::MAX;

impl Weaver {
    fn block(
        &mut self,
        blocks: &BlocksView,
        materials: (&Materials, &[u16]),
        block: usize,
        rows: &mut Rows,
    ) -> Vec<Further> {
        let n_own = blocks.own_nodes(block).len();
        let halo = blocks.halo(block);
        let n_halo_before = halo.partition_point(|&node| node < blocks.node_first[block]);
        // Fewer than FAN_LOCAL_NODES, because the block has fans.
        let ranks = Ranks { n_own: n_own as u16, n_halo_before: n_halo_before as u16 };
        self.collect(blocks, materials, block, ranks);
        self.next.clear();
        self.next.resize(n_own + halo.len(), NEVER);
        self.reached.clear();
        self.reached.resize(n_own + halo.len(), NEVER);
        let mut further = Vec::new();
        for node in 0..n_own {
            self.weave(node, ranks);
            let Some((first, rest)) = self.fans.split_first() else { continue };
            rows.set(node, *first);
            further.extend(rest.iter().map(|&fan| Further { node: node as u16, fan }));
        }
        further
    }

    /// Sorts the block's triangles by node.
    fn collect(&mut self, blocks: &BlocksView, (materials, planes): (&Materials, &[u16]), block: usize, ranks: Ranks) {
        let n_own = usize::from(ranks.n_own);
        let runs = blocks.run_first[block] as usize..blocks.run_first[block + 1] as usize;
        let entries = |run: usize| {
            let range = blocks.run_connectivity_first[run] as usize..blocks.run_connectivity_first[run + 1] as usize;
            &blocks.connectivity[range]
        };
        self.first.clear();
        self.first.resize(n_own + 1, 0);
        for node in runs.clone().flat_map(entries) {
            if let Some(count) = self.first[1..].get_mut(usize::from(*node)) {
                *count += 1;
            }
        }
        let sum = accumulate(&mut self.first);
        self.sides.resize(sum as usize, 0);
        for run in runs {
            let material = planes.partition_point(|&material| material < materials.of_run[run]) as u16;
            for nodes in entries(run).chunks_exact(3) {
                for (node, a, b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                    // Filled from the end: `first` then is the first side of each node again.
                    if let Some(end) = self.first[1..].get_mut(usize::from(nodes[node])) {
                        *end -= 1;
                        self.sides[*end as usize] = side(ranks.rank(nodes[a]), ranks.rank(nodes[b]), material);
                    }
                }
            }
        }
        // The ends have become starts, one place too far on.
        self.first.remove(0);
        self.first.push(sum);
    }

    /// Puts the triangles of one node into records: chains of adjacent triangles, cut where a record is full.
    fn weave(&mut self, node: usize, ranks: Ranks) {
        let range = self.first[node] as usize..self.first[node + 1] as usize;
        self.sides[range.clone()].sort_unstable();
        let sides = &self.sides[range];
        for (i, &side) in sides.iter().enumerate().rev() {
            self.next[from_rank(side)] = i as u32;
            self.reached[to_rank(side)] = node as u32;
        }
        self.order.clear();
        self.chains.clear();
        // Open chains start where no triangle comes before.
        for &side in sides {
            let start = from_rank(side);
            if self.reached[start] != node as u32 {
                follow(sides, &mut self.next, start, &mut self.order, &mut self.chains);
            }
        }
        // The remaining chains are closed; they start at their lowest neighbour.
        for &side in sides {
            if self.order.len() == sides.len() {
                break;
            }
            follow(sides, &mut self.next, from_rank(side), &mut self.order, &mut self.chains);
        }
        for &side in sides {
            self.next[from_rank(side)] = NEVER;
        }
        self.chains.sort_by_key(|chain| from_rank(self.order[chain.first]));
        self.fans.clear();
        for chain in &self.chains {
            let sides = &self.order[chain.first..chain.first + chain.n];
            let records = sides.chunks(FanRecord::NEIGHBOURS - 1);
            self.fans.extend(records.map(|sides| fan(sides, ranks)));
        }
        let n_before_last = self.fans.len().saturating_sub(1);
        for fan in &mut self.fans[..n_before_last] {
            fan.record = fan.record.with_further(true);
        }
    }
}

/// Follows the sides until none continues or the start is reached again; adds the chain unless it is empty.
fn follow(sides: &[Side], next: &mut [u32], start: usize, order: &mut Vec<Side>, chains: &mut Vec<Chain>) {
    let first = order.len();
    let mut at = start;
    while let Some(&side) = sides.get(next[at] as usize).filter(|&&side| from_rank(side) == at) {
        next[at] += 1;
        order.push(side);
        at = to_rank(side);
        if at == start {
            break;
        }
    }
    let n = order.len() - first;
    if n > 0 {
        chains.push(Chain { first, n });
    }
}

fn fan(sides: &[Side], ranks: Ranks) -> Fan {
    let starts = sides.iter().map(|&side| ranks.local(from_rank(side)));
    let end = sides.last().map(|&side| ranks.local(to_rank(side)));
    let materials = sides.iter().enumerate().fold(0, |word, (k, side)| word | (side & 0xf) << (4 * k));
    Fan { record: FanRecord::new(starts.chain(end)), materials }
}

//! How many nodes cross each join: the flow that solves L λ = excess on the graph of blocks. L is its Laplacian, weighted with
//! the lengths of the joins (Hu and Blake 1999). Of all flows that balance the blocks, this one moves the joins least.

use std::cmp::Reverse;
use std::collections::VecDeque;

use petgraph::unionfind::UnionFind;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::{self, timed};

use super::gains::Gains;
use super::{Balance, Joins};
use crate::partition::numbered_as_met;
use crate::rows::offsets;

/// Blocks fuller than this fraction of the capacity are never dissolved.
const KEEP: f64 = 0.8;
/// Most iterations of the conjugate gradients, and the square of the relative residual at which they end.
const MOST_ITERATIONS: usize = 400;
const TOLERANCE: f64 = 1e-6;

impl Balance<'_> {
    /// Chooses the blocks to dissolve. As many under-filled blocks are kept as their nodes can fill, evenly spread along the
    /// order of the blocks, so that no node has far to go.
    pub(super) fn choose_dissolved(&mut self, part_of: &[u32]) {
        let n_parts = part_of.iter().max().map_or(0, |&part| part as usize + 1);
        let capacity = self.capacity as f64;
        let mut nodes = vec![0_f64; n_parts];
        let mut kept = vec![0_usize; n_parts];
        let mut small: Vec<Vec<u32>> = vec![Vec::new(); n_parts];
        for (block, &part) in part_of.iter().enumerate() {
            let part = part as usize;
            nodes[part] += f64::from(self.size(block as u32));
            if f64::from(self.size(block as u32)) < KEEP * capacity {
                small[part].push(block as u32);
            } else {
                kept[part] += 1;
            }
        }
        for part in 0..n_parts {
            let n_wanted = ((nodes[part] / (capacity * super::FILL)).ceil() as usize).max(1).saturating_sub(kept[part]);
            let small = &small[part];
            if n_wanted >= small.len() {
                continue;
            }
            let total: f64 = small.iter().map(|&block| f64::from(self.size(block))).sum();
            let mut sum = 0.0;
            let mut window: Vec<u32> = Vec::new();
            let mut n_kept = 0;
            for (i, &block) in small.iter().enumerate() {
                window.push(block);
                sum += f64::from(self.size(block));
                // The largest block of each window stays.
                let due = (sum * n_wanted as f64 / total + 1e-9) as usize;
                if due > n_kept || i + 1 == small.len() {
                    let stay = (n_wanted - n_kept).min(due - n_kept).min(window.len());
                    window.sort_by_key(|&block| (Reverse(self.size(block)), block));
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
    pub(super) fn flow(&self, joins: &Joins, part_of: &[u32]) -> f64 {
        let (excess, total) = self.excess(part_of);
        if total < 0.5 {
            return 0.0;
        }
        let potential = timed("potential", || solve_laplacian(joins, &excess));
        let mut passes: Vec<(u32, u32, u32)> = Vec::new();
        for block in 0..self.n_blocks() as u32 {
            for &(other, length) in joins.of(block) {
                let drop = potential[block as usize] - potential[other as usize];
                let wanted = (f64::from(length) * drop).round();
                if wanted >= 1.0 {
                    // Two rows at a time keep the blocks in shape while the joins move.
                    passes.push((block, other, wanted.min(f64::from(2 * length)) as u32));
                }
            }
        }
        let _passing = timings::stage("pass");
        for group in groups(&passes, self.n_blocks()) {
            group.into_par_iter().with_min_len(4).for_each_init(Gains::default, |gains, (from, to, count)| {
                self.pass(joins, gains, [from, to], count, self.dissolved[from as usize]);
            });
        }
        total
    }

    /// The nodes that each block has too many; it sums to zero over each part of the mesh. Also how many nodes are out of
    /// place in all.
    fn excess(&self, part_of: &[u32]) -> (Vec<f64>, f64) {
        let n_parts = part_of.iter().max().map_or(0, |&part| part as usize + 1);
        let mut surplus = vec![0.0; n_parts];
        let mut room = vec![0.0; n_parts];
        let spare = |block: usize| self.capacity as f64 - f64::from(self.size(block as u32));
        for (block, &part) in part_of.iter().enumerate() {
            let part = part as usize;
            if self.dissolved[block] {
                surplus[part] += f64::from(self.size(block as u32));
            } else if spare(block) < 0.0 {
                surplus[part] -= spare(block);
            } else {
                room[part] += spare(block);
            }
        }
        let excess = |block: usize| {
            let part = part_of[block] as usize;
            if self.dissolved[block] {
                f64::from(self.size(block as u32))
            } else if spare(block) < 0.0 || room[part] == 0.0 {
                -spare(block)
            } else {
                -spare(block) * surplus[part] / room[part]
            }
        };
        ((0..self.n_blocks()).map(excess).collect(), surplus.iter().sum())
    }

    /// Gives the remaining nodes of dissolved blocks to the blocks around.
    pub(super) fn dissolve_rest(&mut self) {
        for block in 0..self.n_blocks() as u32 {
            if !self.dissolved[block as usize] {
                continue;
            }
            let mut nodes = self.take_members(block);
            while !nodes.is_empty() {
                let before = nodes.len();
                let mut without_host = Vec::new();
                for node in nodes {
                    let host = self
                        .graph
                        .neighbours(node)
                        .iter()
                        .map(|&other| self.block(other))
                        .filter(|&there| there != block && !self.dissolved[there as usize])
                        .min_by_key(|&there| (self.size(there), there));
                    match host {
                        Some(host) => self.give(node, block, host),
                        None => without_host.push(node),
                    }
                }
                nodes = without_host;
                if nodes.len() == before {
                    // All blocks around are dissolved: this one stays after all.
                    self.dissolved[block as usize] = false;
                    *self.members(block) = nodes;
                    break;
                }
            }
        }
    }

    /// Passes the nodes that blocks have above capacity along the shortest chains of blocks to blocks with room.
    pub(super) fn push_to_capacity(&mut self, joins: &Joins) {
        let mut gains = Gains::default();
        let mut come_from = vec![u32::MAX; self.n_blocks()];
        for block in 0..self.n_blocks() as u32 {
            for _ in 0..64 {
                let over = (self.size(block) as usize).saturating_sub(self.capacity);
                if over == 0 {
                    break;
                }
                let Some(chain) = self.chain_to_room(joins, block, &mut come_from) else {
                    break;
                };
                let end = chain[0];
                let room = self.capacity - self.size(end) as usize;
                let count = over.min(room) as u32;
                // From the far end, so that no block between becomes fuller than it was.
                let mut passed = u32::MAX;
                for pair in chain.windows(2) {
                    passed = self.pass(joins, &mut gains, [pair[1], pair[0]], count.min(passed), false);
                }
                if passed == 0 {
                    for pair in chain.windows(2) {
                        self.pass(joins, &mut gains, [pair[1], pair[0]], 1, true);
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
            if self.size(here) > 0 && (self.size(here) as usize) < self.capacity {
                let mut chain = vec![here];
                let mut at = here;
                while at != block {
                    at = come_from[at as usize];
                    chain.push(at);
                }
                return Some(chain);
            }
            for &(other, length) in joins.of(here) {
                // A join of one or two nodes may no longer exist when its turn comes.
                if length > 2 && come_from[other as usize] == u32::MAX {
                    come_from[other as usize] = here;
                    queue.push_back(other);
                }
            }
        }
        None
    }
}

/// Passes in groups in which no block stands twice. Those of one block keep their order, so group by group they do the same as
/// one by one.
fn groups(passes: &[(u32, u32, u32)], n_blocks: usize) -> Vec<Vec<(u32, u32, u32)>> {
    let mut groups: Vec<Vec<(u32, u32, u32)>> = Vec::new();
    // The first group behind all passes of a block.
    let mut next = vec![0; n_blocks];
    for &(from, to, count) in passes {
        let group: usize = next[from as usize].max(next[to as usize]);
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push((from, to, count));
        (next[from as usize], next[to as usize]) = (group + 1, group + 1);
    }
    groups
}

/// Connected parts of the graph of blocks, numbered in the order of their first blocks.
pub(super) fn parts(joins: &Joins, n_blocks: usize) -> Vec<u32> {
    let mut parts = UnionFind::new(n_blocks);
    for block in 0..n_blocks as u32 {
        joins.of(block).iter().for_each(|&(other, _)| {
            parts.union(block, other);
        });
    }
    let parts = parts.into_labeling();
    let (numbers, _) = numbered_as_met(parts.iter().copied(), n_blocks);
    parts.into_iter().map(|part| numbers[part as usize]).collect()
}

/// Solves L λ = b by conjugate gradients with Jacobi preconditioning; b sums to zero over each part.
fn solve_laplacian(joins: &Joins, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    // The two sides of a join count their own nodes: their mean keeps the operator symmetric.
    let weight = |from: u32, (to, length): (u32, u32)| -> (u32, f64) {
        let row = joins.of(to);
        let back = row.binary_search_by_key(&from, |entry| entry.0).map_or(0, |i| row[i].1);
        (to, f64::from(length + back) / 2.0)
    };
    let first: Vec<u32> = offsets((0..n as u32).map(|block| joins.of(block).len() as u32));
    let weights: Vec<(u32, f64)> = (0..n as u32)
        .flat_map(|block| joins.of(block).iter().map(move |&entry| (block, entry)))
        .map(|(block, entry)| weight(block, entry))
        .collect();
    let row = |block: usize| &weights[first[block] as usize..first[block + 1] as usize];
    let diagonal: Vec<f64> =
        (0..n).map(|block| row(block).iter().map(|entry| entry.1).sum::<f64>().max(1e-30)).collect();
    let apply = |x: &[f64], y: &mut [f64]| {
        for block in 0..n {
            y[block] = row(block).iter().fold(diagonal[block] * x[block], |sum, &(to, w)| sum - w * x[to as usize]);
        }
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut x = vec![0.0; n];
    let mut r = b.to_vec();
    let mut z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut p = z.clone();
    let mut q = vec![0.0; n];
    let mut rz = dot(&r, &z);
    let end = TOLERANCE * dot(b, b);
    for _ in 0..MOST_ITERATIONS {
        let residual = dot(&r, &r);
        if residual.is_nan() || residual <= end {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_of_each_block_and_name_no_block_twice() {
        let passes: Vec<(u32, u32, u32)> = (0..400).map(|k| (k * 7 % 23, (k * 5 + 1 + k * 7) % 23, k)).collect();
        let passes: Vec<_> = passes.into_iter().filter(|(from, to, _)| from != to).collect();
        let groups = groups(&passes, 23);
        assert!(groups.len() < passes.len() / 3, "{}", groups.len());
        for group in &groups {
            let mut blocks: Vec<u32> = group.iter().flat_map(|&(from, to, _)| [from, to]).collect();
            blocks.sort_unstable();
            assert!(blocks.windows(2).all(|pair| pair[0] != pair[1]), "{group:?}");
        }
        let one_by_one = groups.concat();
        assert_eq!(one_by_one.len(), passes.len());
        for block in 0..23 {
            let of = |all: &[(u32, u32, u32)]| -> Vec<u32> {
                all.iter().filter(|(from, to, _)| [*from, *to].contains(&block)).map(|pass| pass.2).collect()
            };
            assert_eq!(of(&one_by_one), of(&passes));
        }
    }
}

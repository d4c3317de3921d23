//! The order in which threads step the blocks.
//!
//! A step of a block reads what its neighbours were after the step before, and overwrites what they read in that one. So a
//! block may go on as soon as no neighbour is behind it, and nobody has to wait for all. Where a step moves more than the
//! cache holds, blocks go through several steps before others begin the first: a wave that runs over the mesh and back.
//!
//! Some blocks may have a [`Meeting`] at the end of each step: work of one thread, which these blocks wait for and no others. They
//! come first in the last phase of a step and last in the phases before, so that there are other blocks to step meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::tables::{Block, Tables};
use crate::dynamics::{Bell, Part};
use crate::simd::Real;

/// Bytes of third-level cache on which a process may count.
pub(super) const CACHE_BYTES: usize = 20 << 20;
/// Most steps of a wave: longer waves save little more traffic.
const MOST_WAVE_STEPS: usize = 8;
/// Phases, at least, after which all threads meet and energies are summed up.
const WINDOW: usize = 16;

/// One phase of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub block: usize,
    /// Counted from the first of a window; a step, or half a step where blocks pass forces on.
    pub phase: usize,
}

/// Work at the end of each step that some blocks wait for.
pub(super) struct Meeting {
    /// Those whose nodes it reads or moves, and those that read such nodes.
    pub blocks: Vec<usize>,
    /// What it costs, as [`work`].
    pub weight: usize,
}

impl Meeting {
    /// Of all blocks that have or read these nodes, given by their numbers in the part.
    pub fn at<T: Real>(tables: &Tables<T>, nodes: impl Iterator<Item = usize>, weight: usize) -> Self {
        let mut is_named = vec![false; tables.n_nodes + tables.n_halo];
        nodes.for_each(|node| is_named[node] = true);
        let halo_nodes = tables.halo_nodes();
        let waits = |block: &Block| {
            block.nodes().chain(halo_nodes[block.halo.clone()].iter().copied()).any(|node| is_named[node])
        };
        let blocks = (0..tables.blocks.len()).filter(|&b| waits(&tables.blocks[b])).collect();
        Self { blocks, weight }
    }
}

/// The turns of all threads, and how far each block has come. The meeting has a turn in the last phase of each step, with the
/// number of blocks in the place of a block.
#[derive(Debug)]
pub(super) struct Schedule {
    /// What each thread does in a window, in this order. Taken together they stand in an order in which no turn has to wait
    /// for a later one.
    pub turns: Vec<Vec<Turn>>,
    /// Phases of a window.
    pub window: usize,
    neighbours: Vec<Vec<u32>>,
    /// Of blocks, then of the meeting.
    done: Vec<Done>,
    /// Rung when a block is done.
    bell: Bell,
    phases_per_step: usize,
}

/// Phases that a block has gone through; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Done(AtomicUsize);

impl Schedule {
    /// For `threads` threads, or as many as there are blocks, nodes of the whole model at `coordinates`, (n, dimension), and
    /// a cache of `cache` bytes. There are no waves where there is a meeting.
    pub fn new<T: Real>(
        tables: &Tables<T>,
        (part, coordinates): (&Part, &[f64]),
        (threads, cache): (usize, usize),
        meeting: Option<Meeting>,
    ) -> Self {
        let blocks = &tables.blocks;
        let mut neighbours = neighbours(tables);
        let threads = threads.clamp(1, blocks.len().max(1));
        let bytes =
            |block: &Block| tables.bytes_per_step() as usize / tables.n_rows.max(1) * block.n_local(tables.dimension);
        let bytes: Vec<usize> = blocks.iter().map(bytes).collect();
        let mut weights: Vec<usize> = blocks.iter().map(|block| work(tables, block)).collect();
        let fronts = fronts(&neighbours, &centers(tables, part, coordinates));
        let steps = if meeting.is_some() { 1 } else { wave_steps(&fronts, &bytes, threads, cache) };
        weights.extend(meeting.iter().map(|meeting| meeting.weight));
        let (fronts, shares) = if steps > 1 {
            let shares = across(&fronts, &weights, threads);
            (fronts, shares)
        } else {
            (vec![(0..blocks.len()).collect()], consecutive(&weights, threads))
        };
        let depth = if steps > 1 { steps * tables.phases_per_step() } else { 1 };
        let n_waves = 2 * WINDOW.div_ceil(2 * depth);
        let mut turns = turns(&fronts, &shares, threads, depth, n_waves);
        let phases_per_step = tables.phases_per_step();
        if let Some(meeting) = meeting {
            meet(&mut turns, &meeting.blocks, shares[blocks.len()], (blocks.len(), phases_per_step));
            meeting.blocks.iter().for_each(|&b| neighbours[b].push(blocks.len() as u32));
            neighbours.push(meeting.blocks.iter().map(|&b| b as u32).collect());
        }
        let done = (0..=blocks.len()).map(|_| Done::default()).collect();
        Self { turns, window: depth * n_waves, neighbours, done, phases_per_step, bell: Bell::default() }
    }

    /// Before the first phase of a run of steps.
    pub fn begin(&mut self) {
        let n_blocks = self.done.len() - 1;
        self.done.iter_mut().for_each(|done| *done.0.get_mut() = 0);
        // Blocks wait for it at the beginning of a step alone.
        *self.done[n_blocks].0.get_mut() = self.phases_per_step - 1;
    }

    /// Returns once no neighbour of `block` has a phase before this one to go through.
    #[inline]
    pub fn wait_for_neighbours(&self, block: usize, phase: usize) {
        if self.turns.len() > 1 {
            for &other in &self.neighbours[block] {
                self.bell.wait_until(|| self.done[other as usize].0.load(Ordering::Acquire) >= phase);
            }
        }
    }

    /// Marks a phase of `block` as done.
    #[inline]
    pub fn finish(&self, block: usize, phase: usize) {
        self.done[block].0.store(phase + 1, Ordering::Release);
        self.bell.ring();
    }

    /// Returns once the blocks of the meeting have gone through the last phase of a step.
    pub fn wait_for_meeting(&self, phase: usize) {
        self.wait_for_neighbours(self.done.len() - 1, phase + 1);
    }

    /// Marks the meeting after the last phase of a step as done: its blocks may go through the phases of the next one.
    pub fn finish_meeting(&self, phase: usize) {
        self.finish(self.done.len() - 1, phase + self.phases_per_step - 1);
    }
}

/// Blocks that read nodes of each block or whose nodes it reads, ascending, (n_blocks,).
fn neighbours<T: Real>(tables: &Tables<T>) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); tables.blocks.len()];
    let owner = tables.owner();
    for (b, block) in tables.blocks.iter().enumerate() {
        let mut owners: Vec<usize> = tables.halo[block.halo.clone()].iter().filter_map(|&entry| owner(entry)).collect();
        owners.sort_unstable();
        owners.dedup();
        for other in owners.into_iter().filter(|&other| other != b) {
            neighbours[b].push(other as u32);
            neighbours[other].push(b as u32);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// What a step of a block costs.
fn work<T: Real>(tables: &Tables<T>, block: &Block) -> usize {
    tables.runs[block.runs.clone()].iter().map(|run| run.offsets.len()).sum::<usize>() + 4 * block.n_own
}

/// Fronts of blocks that a wave passes one after the other: neighbours are in the same front or in two that follow each
/// other. Each part of the mesh is passed along its longest axis. `centers`, (n_blocks, dimension).
fn fronts(neighbours: &[Vec<u32>], centers: &[f64]) -> Vec<Vec<usize>> {
    let n_blocks = neighbours.len();
    let dimension = centers.len() / n_blocks.max(1);
    let center = |b: usize, axis: usize| centers[b * dimension + axis];
    let [mut found, mut seen] = [vec![false; n_blocks], vec![false; n_blocks]];
    let mut fronts: Vec<Vec<usize>> = Vec::new();
    for start in 0..n_blocks {
        if seen[start] {
            continue;
        }
        let part = reached(neighbours, vec![start], &mut found).concat();
        let extent = |axis: usize| {
            let range = part.iter().map(|&b| center(b, axis));
            let [low, high] = range.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], x| [l.min(x), h.max(x)]);
            (low, high - low)
        };
        let mut axes: Vec<usize> = (0..dimension).collect();
        axes.sort_by(|&a, &b| extent(b).1.total_cmp(&extent(a).1));
        let volume: f64 = axes.iter().map(|&axis| extent(axis).1).product();
        let size = (volume / part.len() as f64).powf(1.0 / dimension as f64);
        let (low, _) = extent(axes[0]);
        // The blocks at one end, and whatever is nearest to it.
        let first: Vec<usize> = part.into_iter().filter(|&b| center(b, axes[0]) <= low + 0.5 * size).collect();
        for (at, mut front) in reached(neighbours, first, &mut seen).into_iter().enumerate() {
            front.sort_by(|&a, &b| center(a, axes[1]).total_cmp(&center(b, axes[1])));
            match fronts.get_mut(at) {
                Some(blocks) => blocks.append(&mut front),
                None => fronts.push(front),
            }
        }
    }
    fronts
}

/// Blocks that have not been seen, by their distance from `front`.
fn reached(neighbours: &[Vec<u32>], mut front: Vec<usize>, seen: &mut [bool]) -> Vec<Vec<usize>> {
    front.iter().for_each(|&b| seen[b] = true);
    let mut fronts = Vec::new();
    while !front.is_empty() {
        let mut next = Vec::new();
        for other in front.iter().flat_map(|&b| &neighbours[b]).map(|&other| other as usize) {
            if !std::mem::replace(&mut seen[other], true) {
                next.push(other);
            }
        }
        fronts.push(std::mem::replace(&mut front, next));
    }
    fronts
}

/// Mean position of the nodes of each block, (n_blocks, dimension).
fn centers<T: Real>(tables: &Tables<T>, part: &Part, coordinates: &[f64]) -> Vec<f64> {
    let d = tables.dimension;
    let mut centers = Vec::with_capacity(d * tables.blocks.len());
    for block in &tables.blocks {
        let nodes = || block.nodes().map(|local| part.solver(local));
        centers.extend(
            (0..d).map(|c| nodes().map(|node| coordinates[node * d + c]).sum::<f64>() / block.n_own.max(1) as f64),
        );
    }
    centers
}

/// Steps of a block in one wave. It is one where all blocks fit the cache, where a wave does not fit it, or where the fronts
/// are too short to occupy all threads.
fn wave_steps(fronts: &[Vec<usize>], bytes: &[usize], threads: usize, cache: usize) -> usize {
    let widest = fronts.iter().map(|front| front.iter().map(|&b| bytes[b]).sum::<usize>()).max().unwrap_or(0);
    let total: usize = bytes.iter().sum();
    if total <= cache || bytes.len() < 2 * threads * fronts.len() {
        return 1;
    }
    // One front more than it has steps.
    (cache / widest.max(1)).saturating_sub(1).clamp(1, MOST_WAVE_STEPS)
}

/// Thread of each block: runs of consecutive blocks of about the same work, which read each other's nodes.
fn consecutive(weights: &[usize], threads: usize) -> Vec<usize> {
    let total: usize = weights.iter().sum();
    let mut done = 0;
    let share = |&weight: &usize| {
        done += weight;
        ((2 * done - weight) * threads / (2 * total).max(1)).min(threads - 1)
    };
    let mut shares: Vec<usize> = weights.iter().map(share).collect();
    even_out(&mut shares, weights, threads);
    shares
}

/// Thread of each block: each front cut into pieces of about the same work.
fn across(fronts: &[Vec<usize>], weights: &[usize], threads: usize) -> Vec<usize> {
    let mut shares = vec![0; weights.len()];
    for front in fronts {
        let of_front: Vec<usize> = front.iter().map(|&b| weights[b]).collect();
        for (&b, thread) in front.iter().zip(consecutive(&of_front, threads)) {
            shares[b] = thread;
        }
    }
    even_out(&mut shares, weights, threads);
    shares
}

/// Moves blocks from the thread that has most to the one that has least, while that helps.
fn even_out(shares: &mut [usize], weights: &[usize], threads: usize) {
    let mut loads = vec![0; threads];
    shares.iter().zip(weights).for_each(|(&thread, weight)| loads[thread] += weight);
    for _ in 0..weights.len() {
        let most = (0..threads).max_by_key(|&thread| loads[thread]).unwrap_or(0);
        let least = (0..threads).min_by_key(|&thread| loads[thread]).unwrap_or(0);
        let gap = loads[most] - loads[least];
        let useful = (0..weights.len()).filter(|&b| shares[b] == most && weights[b] < gap);
        let Some(block) = useful.min_by_key(|&b| weights[b].abs_diff(gap / 2)) else { break };
        shares[block] = least;
        loads[most] -= weights[block];
        loads[least] += weights[block];
    }
}

/// The turns of each thread in a window of waves of `depth` phases, to and fro: what was used last is still near the core.
fn turns(fronts: &[Vec<usize>], shares: &[usize], threads: usize, depth: usize, n_waves: usize) -> Vec<Vec<Turn>> {
    let mut turns = vec![Vec::new(); threads];
    for wave in 0..n_waves {
        let back = wave % 2 == 1;
        // Front and phase go together, and of those that do the earlier phase, whose front is ahead, comes first.
        for place in 0..fronts.len() + depth - 1 {
            for phase in 0..depth {
                let Some(front) = place.checked_sub(phase).filter(|&front| front < fronts.len()) else { continue };
                let blocks = &fronts[if back { fronts.len() - 1 - front } else { front }];
                for k in 0..blocks.len() {
                    let block = blocks[if back { blocks.len() - 1 - k } else { k }];
                    turns[shares[block]].push(Turn { block, phase: wave * depth + phase });
                }
            }
        }
    }
    turns
}

/// Gives the meeting of some blocks, whose turns have the number `n_blocks`, to a thread at the end of each step. In the last phase
/// these blocks come first, then the meeting when half of the others are done; in phases before it they come last. So no thread has
/// to wait.
fn meet(turns: &mut [Vec<Turn>], blocks: &[usize], thread: usize, (n_blocks, phases_per_step): (usize, usize)) {
    let mut meets = vec![false; n_blocks];
    blocks.iter().for_each(|&b| meets[b] = true);
    let is_last = |phase: usize| phase % phases_per_step == phases_per_step - 1;
    for turns in &mut *turns {
        turns.sort_by_key(|turn| (turn.phase, meets[turn.block] != is_last(turn.phase)));
    }
    let last = turns.iter().flatten().map(|turn| turn.phase).max().map_or(0, |last| last + 1);
    let mut met = Vec::with_capacity(turns[thread].len() + last);
    for phase in 0..last {
        let of_phase: Vec<Turn> = turns[thread].iter().copied().filter(|turn| turn.phase == phase).collect();
        let n_first = of_phase.iter().filter(|turn| meets[turn.block]).count();
        let (before, after) = of_phase.split_at((n_first + of_phase.len()) / 2);
        met.extend_from_slice(before);
        if is_last(phase) {
            met.push(Turn { block: n_blocks, phase });
        }
        met.extend_from_slice(after);
    }
    turns[thread] = met;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks in a grid, and further ones in a row apart from them: neighbours and centres.
    fn grid([n_x, n_y]: [usize; 2], n_apart: usize) -> (Vec<Vec<u32>>, Vec<f64>) {
        let at = |i: usize, j: usize| (i * n_y + j) as u32;
        let (mut neighbours, mut centers) = (Vec::new(), Vec::new());
        for i in 0..n_x {
            for j in 0..n_y {
                let near = (i.saturating_sub(1)..(i + 2).min(n_x))
                    .flat_map(|k| (j.saturating_sub(1)..(j + 2).min(n_y)).map(move |l| (k, l)));
                neighbours.push(near.filter(|&other| other != (i, j)).map(|(k, l)| at(k, l)).collect());
                centers.extend([i as f64, j as f64]);
            }
        }
        let first = neighbours.len();
        for k in 0..n_apart {
            let near = [k.checked_sub(1), Some(k + 1).filter(|&next| next < n_apart)];
            neighbours.push(near.into_iter().flatten().map(|other| (first + other) as u32).collect());
            centers.extend([100.0, k as f64]);
        }
        (neighbours, centers)
    }

    #[test]
    fn fronts_hold_each_block_once_and_neighbours_are_at_most_one_apart() {
        for (size, n_apart) in [([12, 5], 0), ([5, 12], 4), ([1, 1], 0), ([9, 9], 1)] {
            let (neighbours, centers) = grid(size, n_apart);
            let fronts = fronts(&neighbours, &centers);
            let mut place = vec![usize::MAX; neighbours.len()];
            for (at, front) in fronts.iter().enumerate() {
                for &b in front {
                    assert_eq!(std::mem::replace(&mut place[b], at), usize::MAX);
                }
            }
            for (b, others) in neighbours.iter().enumerate() {
                assert!(others.iter().all(|&other| place[b].abs_diff(place[other as usize]) <= 1), "{size:?}");
            }
            // Straight, from end to end of the longest side.
            assert_eq!(fronts.len(), size[0].max(size[1]).max(n_apart), "{size:?}");
        }
    }

    #[test]
    fn every_block_goes_through_every_phase_after_its_neighbours_and_nobody_waits_for_ever() {
        let (neighbours, centers) = grid([12, 5], 7);
        let weights: Vec<usize> = (0..neighbours.len()).map(|b| 100 + 17 * b % 40).collect();
        let plain = vec![(0..neighbours.len()).collect::<Vec<_>>()];
        let waves = fronts(&neighbours, &centers);
        for threads in [1, 2, 3, 8] {
            let cases = [(&plain, consecutive(&weights, threads), 1), (&waves, across(&waves, &weights, threads), 5)];
            for (fronts, shares, depth) in cases {
                let mut loads = vec![0; threads];
                shares.iter().zip(&weights).for_each(|(&thread, weight)| loads[thread] += weight);
                assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() < 140, "{loads:?}");
                let turns = turns(fronts, &shares, threads, depth, 4);
                let done = taken(&neighbours, &turns);
                assert!(done.iter().all(|&done| done == 4 * depth), "{threads} threads, depth {depth}: {done:?}");
            }
        }
    }

    /// Phases of each block when all threads have gone as far as they get, one after the other again and again.
    fn taken(neighbours: &[Vec<u32>], turns: &[Vec<Turn>]) -> Vec<usize> {
        let mut done = vec![0; neighbours.len()];
        let mut next = vec![0; turns.len()];
        loop {
            let mut moved = false;
            for (turns, next) in turns.iter().zip(&mut next) {
                while let Some(&Turn { block, phase }) = turns.get(*next)
                    && neighbours[block].iter().all(|&other| done[other as usize] >= phase)
                {
                    assert_eq!(done[block], phase);
                    assert!(neighbours[block].iter().all(|&other| done[other as usize] <= phase + 1));
                    done[block] += 1;
                    *next += 1;
                    moved = true;
                }
            }
            if !moved {
                return done;
            }
        }
    }

    #[test]
    fn blocks_that_meet_wait_for_the_meeting_and_others_do_not() {
        let (neighbours, _) = grid([12, 5], 7);
        let n_blocks = neighbours.len();
        let weights: Vec<usize> = (0..n_blocks).map(|b| 100 + 17 * b % 40).collect();
        let all = [(0..n_blocks).collect::<Vec<_>>()];
        let meeting = [3, 4, 20, 41, 42];
        for (threads, phases_per_step) in [(1, 1), (1, 2), (2, 1), (2, 2), (5, 2)] {
            let shares = consecutive(&weights, threads);
            let mut turns = turns(&all, &shares, threads, 1, 8);
            meet(&mut turns, &meeting, threads - 1, (n_blocks, phases_per_step));
            let (mut next, mut done, mut n_met) = (vec![0; threads], vec![0; n_blocks], 0);
            while next.iter().zip(&turns).any(|(&next, turns)| next < turns.len()) {
                let mut moved = false;
                // A meeting takes place when nobody else can go on.
                for may_meet in [false, true] {
                    for (turns, next) in turns.iter().zip(&mut next) {
                        while let Some(&Turn { block, phase }) = turns.get(*next) {
                            let step = phase / phases_per_step;
                            if block == n_blocks {
                                if !may_meet || moved || meeting.iter().any(|&b| done[b] <= phase) {
                                    break;
                                }
                                assert_eq!(n_met, step);
                                assert!(meeting.iter().all(|&b| done[b] == phase + 1));
                                n_met += 1;
                            } else {
                                let waits = meeting.contains(&block) && n_met < step;
                                if waits || neighbours[block].iter().any(|&other| done[other as usize] < phase) {
                                    break;
                                }
                                done[block] += 1;
                            }
                            *next += 1;
                            moved = true;
                        }
                    }
                }
                assert!(moved, "{threads} threads wait for ever");
            }
            assert!(done.iter().all(|&done| done == 8) && n_met == 8 / phases_per_step);
        }
    }

    #[test]
    fn waves_run_where_steps_do_not_fit_the_cache_and_fronts_do() {
        let (neighbours, centers) = grid([20, 8], 0);
        let fronts = fronts(&neighbours, &centers);
        let bytes = vec![10; 160];
        let steps = |threads, cache| wave_steps(&fronts, &bytes, threads, cache);
        assert_eq!([1600, 1599, 480, 160, 0].map(|cache| steps(1, cache)), [1, 8, 5, 1, 1]);
        assert_eq!([2, 4, 5].map(|threads| steps(threads, 480)), [5, 5, 1]);
    }
}

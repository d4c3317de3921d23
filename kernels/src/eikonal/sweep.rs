//! The sweeps: which nodes pass their times on, and what follows for their neighbours.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use pogo_formats::system::parallel;

use super::problem::{Arrival, Statistics};
use super::products::Elements;
use crate::simd::{InstructionSet, Kernel, Level, Real};
use pogo_formats::eikonal::EikonalMeshView;

/// Most nodes of a piece of a sub-domain.
const PIECE: usize = 4096;
/// Nodes whose elements one task looks at.
const TASK: usize = 64;
/// Local solves that are done together.
const BATCH: usize = 64;
/// Active nodes from which on threads share a sweep.
const SHARED: usize = 256;

/// Consecutive nodes of one sub-domain.
#[derive(Debug)]
pub(super) struct Pieces {
    /// First node of each piece, and the end.
    first: Vec<u32>,
    /// Sub-domain of each piece.
    domain: Vec<u32>,
    /// Piece of each node.
    of: Vec<u32>,
    n_domains: usize,
}

impl Pieces {
    /// `node_first`: first node of each sub-domain, and the end.
    pub fn new(node_first: &[u32]) -> Self {
        let n_domains = node_first.len() - 1;
        let mut pieces = Self { first: vec![0], domain: Vec::new(), of: Vec::new(), n_domains };
        for domain in 0..n_domains {
            let mut first = node_first[domain] as usize;
            let end = node_first[domain + 1] as usize;
            while first < end {
                let next = end.min(first + PIECE);
                pieces.of.resize(next, pieces.domain.len() as u32);
                pieces.first.push(next as u32);
                pieces.domain.push(domain as u32);
                first = next;
            }
        }
        pieces
    }
}

/// Local solves that wait to be done together.
struct Batch<T> {
    n: usize,
    numbers: [[T; BATCH]; 6],
    phi: [[T; BATCH]; 3],
    node: [u32; BATCH],
    time: [T; BATCH],
}

impl<T: Real> Batch<T> {
    fn new() -> Self {
        let zero = [T::default(); BATCH];
        Self { n: 0, numbers: [zero; 6], phi: [zero; 3], node: [0; BATCH], time: zero }
    }
}

/// Does the local solves of a batch.
struct Solve<'a, T, E, const N: usize>(&'a mut Batch<T>, PhantomData<E>);

impl<T: Real, E: Elements<T, N>, const N: usize> Kernel for Solve<'_, T, E, N> {
    type Output = ();
    #[inline(always)]
    fn run<I: InstructionSet>(self) {
        let batch = self.0;
        for l in 0..BATCH {
            batch.time[l] = E::solve::<I>(
                std::array::from_fn(|i| batch.phi[i][l]), //
                std::array::from_fn(|i| batch.numbers[i][l]),
            );
        }
    }
}

/// Who computes the rest of a mesh of which the sweeper has a part. The sweeper lowers times of *own* nodes, the first ones of
/// the mesh; the others are its *halo*.
pub(super) trait Others<T: Real> {
    /// Sends what a sweep has taken over of own nodes, and takes over the same of the halo; gives its fresh nodes. `active`
    /// are the sub-domains with fresh own nodes.
    fn exchange(&mut self, state: &State<T>, sweep: u32, active: &[u32]) -> Vec<u32>;

    /// The least of these times of all parts.
    fn least(&mut self, least: T) -> T;
}

/// There are no others.
pub(super) struct Nobody;

impl<T: Real> Others<T> for Nobody {
    fn exchange(&mut self, _: &State<T>, _: u32, _: &[u32]) -> Vec<u32> {
        Vec::new()
    }

    fn least(&mut self, least: T) -> T {
        least
    }
}

/// Starts of a solve.
pub(super) struct Starts<'a> {
    /// Own nodes, with their times.
    pub nodes: &'a [(u32, f64)],
    /// The earliest of all parts. Times count from there: the numbers are not negative, and small where the wave begins.
    pub first: f64,
}

/// Times and marks of one solve.
///
/// A node is *changed* if its time fell since it was last passed on. A sweep first takes the new times over and lets those changed
/// nodes that are within the window be *fresh*; then each element with a fresh corner is solved for its other corners, with the
/// times as they are, and results go to `next`. Nobody reads `next` in the same sweep, and the least of several results does not
/// depend on their order: so times have the same bits for every number of threads and of sub-domains.
pub(super) struct State<T: Real> {
    pub time: Vec<T::Cell>,
    next: Vec<T::Cell>,
    /// Sweep in which a node was last fresh.
    pub fresh_in: Vec<AtomicU32>,
    /// One bit a node.
    changed: Vec<AtomicU64>,
    /// A piece has changed nodes.
    piece_changed: Vec<AtomicBool>,
}

/// What a sweep needs to know.
pub(super) struct Sweeper<'a, T: Real, E: Elements<T, N>, const N: usize> {
    mesh: &'a EikonalMeshView<'a>,
    nodes: &'a [[u32; N]],
    elements: &'a E,
    /// Of own nodes.
    pieces: &'a Pieces,
    /// A time counts as fallen below this factor of the old one: 1 − tolerance.
    keep: T,
    window: T,
    level: Level,
}

/// What comes of a part of a sweep.
#[derive(Clone, Copy)]
struct Part<T> {
    solves: u64,
    /// Least time that fell.
    least: T,
}

fn join<T: Real>(a: Part<T>, b: Part<T>) -> Part<T> {
    Part { solves: a.solves + b.solves, least: if b.least < a.least { b.least } else { a.least } }
}

impl<'a, T: Real, E: Elements<T, N>, const N: usize> Sweeper<'a, T, E, N> {
    pub fn new(
        mesh: &'a EikonalMeshView<'a>,
        elements: &'a E,
        pieces: &'a Pieces,
        tolerance: f64,
        window: f64,
    ) -> Self {
        Self {
            mesh,
            nodes: mesh.elements.as_chunks::<N>().0,
            elements,
            pieces,
            keep: T::from_f64(1.0 - tolerance),
            window: T::from_f64(window),
            level: Level::detect(),
        }
    }

    /// Times of own nodes, for some starts. `share`: threads share each sweep.
    pub fn run(&self, starts: &Starts<'_>, share: bool, others: &mut dyn Others<T>) -> Arrival<T> {
        let begin = Instant::now();
        let (n_nodes, n_own) = (self.mesh.n_nodes(), self.pieces.of.len());
        let state = State::<T> {
            time: (0..n_nodes).map(|_| T::INFINITY.cell()).collect(),
            next: (0..n_own).map(|_| T::INFINITY.cell()).collect(),
            fresh_in: (0..n_nodes).map(|_| AtomicU32::new(0)).collect(),
            changed: (0..n_own.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            piece_changed: (0..self.pieces.domain.len()).map(|_| AtomicBool::new(false)).collect(),
        };
        for &(node, time) in starts.nodes {
            self.fall(&state, node, T::from_f64(time - starts.first));
        }
        let mut statistics = Statistics { active_sweeps: vec![0; self.pieces.n_domains], ..Default::default() };
        let mut least = T::default();
        let mut fresh: Vec<u32> = Vec::new();
        while least < T::INFINITY {
            statistics.sweeps += 1;
            let sweep = statistics.sweeps;
            let limit = least + self.window;
            let active: Vec<usize> =
                (0..self.pieces.domain.len()).filter(|&piece| state.piece_changed[piece].load(Relaxed)).collect();
            let take = |&piece: &usize| self.take_over(&state, piece, sweep, limit);
            let taken: Vec<(Vec<u32>, T)> = if share && active.len() > 1 && fresh.len() > SHARED {
                parallel::map(active.len(), &|at| take(&active[at]))
            } else {
                active.iter().map(take).collect()
            };
            fresh.clear();
            least = T::INFINITY;
            let mut domains: Vec<u32> = Vec::new();
            for (&piece, (nodes, waiting)) in active.iter().zip(&taken) {
                fresh.extend_from_slice(nodes);
                least = if *waiting < least { *waiting } else { least };
                let domain = self.pieces.domain[piece];
                if !nodes.is_empty() && domains.last() != Some(&domain) {
                    domains.push(domain);
                    statistics.active_sweeps[domain as usize] += 1;
                }
            }
            statistics.active_domains.push(domains.len() as u32);
            statistics.passed_on += fresh.len() as u64;
            fresh.extend(others.exchange(&state, sweep, &domains));
            let part = self.pass_on_all(&state, &fresh, sweep, share);
            statistics.local_solves += part.solves;
            least = others.least(if part.least < least { part.least } else { least });
        }
        let first = T::from_f64(starts.first);
        let time: Vec<T> = state.time[..n_own].iter().map(|cell| T::get(cell) + first).collect();
        let unreached = time.iter().filter(|&&time| !(time < T::INFINITY)).count();
        statistics.seconds = begin.elapsed().as_secs_f64();
        Arrival { time, unreached, statistics }
    }

    /// The time of a node falls to `time`, from the next sweep on.
    #[inline(always)]
    fn fall(&self, state: &State<T>, node: u32, time: T) {
        let i = node as usize;
        T::lower(&state.next[i], time);
        let bit = 1 << (i % 64);
        if state.changed[i / 64].load(Relaxed) & bit == 0 {
            state.changed[i / 64].fetch_or(bit, Relaxed);
        }
        let piece = &state.piece_changed[self.pieces.of[i] as usize];
        if !piece.load(Relaxed) {
            piece.store(true, Relaxed);
        }
    }

    /// Takes over the new times of a piece; gives the nodes that are fresh, and the least time of those that wait.
    fn take_over(&self, state: &State<T>, piece: usize, sweep: u32, limit: T) -> (Vec<u32>, T) {
        let (first, end) = (self.pieces.first[piece] as usize, self.pieces.first[piece + 1] as usize);
        let mut fresh = Vec::new();
        let mut least = T::INFINITY;
        for word in first / 64..end.div_ceil(64) {
            // Words may be shared with the pieces before and after.
            let mut mask = u64::MAX;
            if word * 64 < first {
                mask &= u64::MAX << (first % 64);
            }
            if (word + 1) * 64 > end {
                mask &= u64::MAX >> ((64 - end % 64) % 64);
            }
            let mut bits = state.changed[word].load(Relaxed) & mask;
            let mut done = 0;
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let i = word * 64 + bit;
                let time = T::get(&state.next[i]);
                T::set(&state.time[i], time);
                if time <= limit {
                    state.fresh_in[i].store(sweep, Relaxed);
                    fresh.push(i as u32);
                    done |= 1 << bit;
                } else if time < least {
                    least = time;
                }
            }
            if done != 0 {
                state.changed[word].fetch_and(!done, Relaxed);
            }
        }
        if !(least < T::INFINITY) {
            state.piece_changed[piece].store(false, Relaxed);
        }
        (fresh, least)
    }

    /// Solves the elements round fresh nodes for their other corners, by all threads where that is worth it.
    fn pass_on_all(&self, state: &State<T>, fresh: &[u32], sweep: u32, share: bool) -> Part<T> {
        let none = Part { solves: 0, least: T::INFINITY };
        if share && fresh.len() > SHARED {
            let nodes_of = |at: usize| &fresh[at * TASK..((at + 1) * TASK).min(fresh.len())];
            let parts = parallel::map(fresh.len().div_ceil(TASK), &|at| self.pass_on(state, nodes_of(at), sweep));
            parts.into_iter().fold(none, join)
        } else {
            self.pass_on(state, fresh, sweep)
        }
    }

    /// Solves the elements round fresh nodes for their other corners.
    fn pass_on(&self, state: &State<T>, fresh: &[u32], sweep: u32) -> Part<T> {
        let mut batch = Batch::new();
        let mut part = Part { solves: 0, least: T::INFINITY };
        for &node in fresh {
            for &entry in self.mesh.round(node as usize) {
                let (element, corner) = ((entry / 4) as usize, (entry % 4) as usize);
                let nodes = &self.nodes[element];
                let mut is_fresh = 0_u32;
                for k in 0..N {
                    is_fresh |= u32::from(state.fresh_in[nodes[k] as usize].load(Relaxed) == sweep) << k;
                }
                // The lowest of its fresh corners sees to an element.
                if is_fresh.trailing_zeros() as usize != corner {
                    continue;
                }
                let times: [T; N] = std::array::from_fn(|k| T::get(&state.time[nodes[k] as usize]));
                let data = self.elements.data(element, nodes);
                self.put::<0>(state, &mut batch, &mut part, nodes, &times, is_fresh, &data);
                self.put::<1>(state, &mut batch, &mut part, nodes, &times, is_fresh, &data);
                self.put::<2>(state, &mut batch, &mut part, nodes, &times, is_fresh, &data);
                if N == 4 {
                    self.put::<3>(state, &mut batch, &mut part, nodes, &times, is_fresh, &data);
                }
            }
        }
        self.flush(state, &mut batch, &mut part);
        part
    }

    /// Puts corner `K` on the list if it is an own node, another corner is fresh and one is earlier: only then can its time
    /// fall.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn put<const K: usize>(
        &self,
        state: &State<T>,
        batch: &mut Batch<T>,
        part: &mut Part<T>,
        nodes: &[u32; N],
        times: &[T; N],
        is_fresh: u32,
        data: &E::Data,
    ) {
        let mut earlier = false;
        for k in 0..N {
            earlier |= k != K && times[k] < times[K];
        }
        if is_fresh & !(1 << K) == 0 || !earlier || nodes[K] as usize >= state.next.len() {
            return;
        }
        let l = batch.n;
        let mut i = 0;
        for k in 0..N {
            if k != K {
                batch.phi[i][l] = times[k];
                i += 1;
            }
        }
        let numbers = E::at::<K>(data);
        for i in 0..6 {
            batch.numbers[i][l] = numbers[i];
        }
        batch.node[l] = nodes[K];
        batch.n = l + 1;
        if batch.n == BATCH {
            self.flush(state, batch, part);
        }
    }

    /// Solves the batch, and lowers the times of its nodes.
    #[inline(never)]
    fn flush(&self, state: &State<T>, batch: &mut Batch<T>, part: &mut Part<T>) {
        self.level.run(Solve::<T, E, N>(batch, PhantomData));
        for l in 0..batch.n {
            let (node, time) = (batch.node[l], batch.time[l]);
            let before = T::get(&state.time[node as usize]) * self.keep;
            if time < before && time < T::get(&state.next[node as usize]) {
                self.fall(state, node, time);
                part.least = if time < part.least { time } else { part.least };
            }
        }
        part.solves += batch.n as u64;
        batch.n = 0;
    }
}

//! The share of one rank in the vectors of a level.
//!
//! Several ranks can solve one model. Each of them has the tables of the whole model, and vectors of full length of which
//! it computes the numbers of its *own* nodes. Own nodes are consecutive: the nodes of all levels have nearly the Morton
//! order of their places, so that consecutive nodes are neighbours. Memory that a rank never writes takes no room.
//!
//! ```text
//! product       needs x of the nodes of other ranks that its elements have    Halo::fetch(x)
//! sum           piece by piece on each rank, then over all pieces in order    Share::sum
//! ```
//!
//! The borders of the pieces do not depend on the number of ranks, and neither do the sums, nor any other number.

use std::ops::Range;
use std::sync::Arc;

use pogo_formats::system::parallel;
use pogo_formats::system::parallel::iterate::*;

use super::elements::Batches;
use super::vectors::{CHUNK, add, dot, for_parts, zero};
use crate::device::Plain;
use crate::exchange::{Exchange, Message, Receivers};
use crate::ranks::{Ranks, Reader, Writer};
use crate::simd::Real;

/// What a rank computes of the vectors of a level, (3 n_nodes,) each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    /// First number of each piece, and the end.
    pieces: Vec<usize>,
    /// Pieces of this rank.
    own: Range<usize>,
    /// None if this process computes everything.
    ranks: Option<Arc<dyn Ranks>>,
}

impl Share {
    /// Pieces of a vector of `n` numbers on one rank.
    pub fn whole(n: usize) -> Self {
        /// Pieces of a short vector, so that ranks can share it.
        const PIECES: usize = 64;
        /// Numbers of eight nodes: a multiple of what an instruction takes.
        const LEAST: usize = 24;
        let piece = (n / PIECES).next_multiple_of(LEAST).clamp(LEAST, CHUNK);
        let pieces: Vec<usize> = (0..n).step_by(piece).chain([n]).collect();
        Self { own: 0..pieces.len() - 1, pieces, ranks: None }
    }

    /// Pieces that also end at the nodes `ends`, ascending, of which the first is 0 and the last the end.
    pub fn with_ends(ends: &[usize]) -> Self {
        let within = |pair: &[usize]| (3 * pair[0]..3 * pair[1]).step_by(CHUNK);
        let mut pieces: Vec<usize> = ends.windows(2).flat_map(within).collect();
        pieces.push(ends.last().map_or(0, |end| 3 * end));
        Self { own: 0..pieces.len() - 1, pieces, ranks: None }
    }

    /// The nearest end of a piece to each of `nodes`: first nodes of all ranks, and the end.
    pub fn cuts(&self, nodes: &[usize]) -> Vec<usize> {
        let nearest = |&node: &usize| {
            let after = self.pieces.partition_point(|&first| first < 3 * node);
            let around = &self.pieces[after.saturating_sub(1)..(after + 1).min(self.pieces.len())];
            around.iter().min_by_key(|first| first.abs_diff(3 * node)).map_or(0, |first| first / 3)
        };
        nodes.iter().map(nearest).collect()
    }

    /// The share of a rank, given the first nodes of all ranks and the end, which are ends of pieces.
    pub fn divide(&mut self, ranks: &Arc<dyn Ranks>, cuts: &[usize]) {
        let at = |rank: usize| self.pieces.partition_point(|&first| first < 3 * cuts[rank]);
        self.own = at(ranks.rank())..at(ranks.rank() + 1);
        self.ranks = Some(ranks.clone());
    }

    /// Own numbers of a vector.
    pub fn numbers(&self) -> Range<usize> {
        self.pieces[self.own.start]..self.pieces[self.own.end]
    }

    /// Own nodes.
    pub fn nodes(&self) -> Range<usize> {
        let numbers = self.numbers();
        numbers.start / 3..numbers.end / 3
    }

    /// Σ part(numbers) over all pieces of all ranks, in one order. Collective.
    pub fn sum(&self, part: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let part = |piece: usize| part(self.pieces[piece]..self.pieces[piece + 1]);
        let sums: Vec<f64> = if self.numbers().len() <= CHUNK {
            self.own.clone().map(part).collect()
        } else {
            parallel::map(self.own.len(), &|at| part(self.own.start + at))
        };
        sum_over(&self.ranks, sums)
    }

    /// Σ a b. Collective.
    pub fn dot<T: Real>(&self, a: &[T], b: &[T]) -> f64 {
        self.sum(|numbers| dot(&a[numbers.clone()], &b[numbers]))
    }

    /// Calls `act(first index, part)` for consecutive parts of the own numbers of `y`.
    pub fn for_parts<T: Real>(&self, y: &mut [T], act: impl Fn(usize, &mut [T]) + Sync) {
        let own = self.numbers();
        for_parts(&mut y[own.clone()], |first, part| act(own.start + first, part));
    }

    /// y += x.
    pub fn add<T: Real>(&self, y: &mut [T], x: &[T]) {
        let own = self.numbers();
        add(&mut y[own.clone()], &x[own]);
    }

    /// y = x.
    pub fn copy<T: Real>(&self, y: &mut [T], x: &[T]) {
        self.for_parts(y, |first, y| y.copy_from_slice(&x[first..first + y.len()]));
    }
}

/// How ranks share the finest level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankShares {
    /// Nodes of each rank.
    pub own: Vec<usize>,
    /// Nodes of other ranks that each reads.
    pub halo: Vec<usize>,
}

impl RankShares {
    /// Gathers the numbers of all ranks. Collective.
    pub(crate) fn gather(ranks: &dyn Ranks, own: usize, halo: usize) -> Self {
        let all = ranks.all_gather(bytes_of(&[own as u64, halo as u64]));
        let numbers: Vec<Vec<u64>> = all.iter().map(|bytes| Reader::new(bytes).take()).collect();
        let of = |which: usize| numbers.iter().map(|numbers| numbers[which] as usize).collect();
        Self { own: of(0), halo: of(1) }
    }
}

impl std::fmt::Display for RankShares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (n, halo): (usize, usize) = (self.own.iter().sum(), self.halo.iter().sum());
        let largest = self.own.iter().max().map_or(1.0, |&most| (most * self.own.len()) as f64 / n.max(1) as f64);
        write!(
            f,
            "{} sub-domains: {halo} of {n} nodes in halos ({:.1} %), largest {largest:.3} of the mean",
            self.own.len(),
            100.0 * halo as f64 / n.max(1) as f64
        )
    }
}

/// Sum of the numbers of all ranks, in the order of the ranks. Collective.
pub(crate) fn sum_over(ranks: &Option<Arc<dyn Ranks>>, sums: Vec<f64>) -> f64 {
    let Some(ranks) = ranks else { return sums.iter().sum() };
    let all = ranks.all_gather(bytes_of(&sums));
    all.iter().flat_map(|bytes| Reader::new(bytes).take::<f64>()).sum()
}

/// A list of numbers as bytes.
pub(crate) fn bytes_of<T: Plain>(numbers: &[T]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.put(numbers);
    writer.into_bytes()
}

/// Nodes of other ranks whose values a rank reads.
#[derive(Debug, Default)]
pub(crate) struct Halo {
    rank: usize,
    /// None if there is nothing to exchange.
    exchange: Option<Exchange>,
}

impl Halo {
    /// For the nodes that a rank needs, ascending, its own ones among them or not. `cuts` are the first nodes of all ranks and
    /// the end. Collective.
    pub fn new(ranks: &Arc<dyn Ranks>, needed: &[u32], cuts: &[usize]) -> Self {
        let (me, n_ranks) = (ranks.rank(), ranks.n_ranks());
        let of = |list: &[u32], rank: usize| {
            let at = |node: usize| list.partition_point(|&item| (item as usize) < node);
            list[at(cuts[rank])..at(cuts[rank + 1])].to_vec()
        };
        let foreign: Vec<u32> =
            needed.iter().copied().filter(|&node| !(cuts[me]..cuts[me + 1]).contains(&(node as usize))).collect();
        let all = ranks.all_gather(bytes_of(&foreign));
        let lists = all.iter().map(|bytes| Reader::new(bytes).take::<u32>());
        let sent = lists.enumerate().map(|(reader, list)| (me, reader, of(&list, me)));
        let received = (0..n_ranks).map(|owner| (owner, me, of(&foreign, owner)));
        Self::of(ranks, sent.chain(received))
    }

    /// Of messages (owner, reader, items) of which this rank is one end; both ends have the same items, ascending.
    pub fn of(ranks: &Arc<dyn Ranks>, messages: impl Iterator<Item = (usize, usize, Vec<u32>)>) -> Self {
        let me = ranks.rank();
        let mut messages: Vec<Message> = messages
            .filter(|(owner, reader, items)| owner != reader && !items.is_empty())
            .map(|(owner, reader, items)| {
                let (owned, halo) = if owner == me { (items, Vec::new()) } else { (Vec::new(), items) };
                Message { owner: owner as u32, reader: reader as u32, owned, halo }
            })
            .collect();
        messages.sort_by_key(|message| (message.owner, message.reader));
        Self { rank: me, exchange: Some(Exchange::among(ranks, messages)) }
    }

    /// Copies the values of nodes of other ranks. Collective.
    pub fn fetch<T: Plain>(&self, values: &mut [T]) {
        if let Some(exchange) = &self.exchange {
            exchange.send_owned(self.rank, values, 3);
            exchange.deliver(Receivers::Readers);
            exchange.receive_halo(self.rank, values, 3);
        }
    }
}

/// Elements whose sums a rank adds up at its own nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contributors {
    pub batches: Batches,
    /// Own nodes.
    pub own: Range<usize>,
    /// Nodes of other ranks at which the same batches add something that is of no use.
    stray: Vec<u32>,
}

impl Contributors {
    /// All elements, for all of `n_nodes` nodes.
    pub fn all(batches: Batches, n_nodes: usize) -> Self {
        Self { batches, own: 0..n_nodes, stray: Vec::new() }
    }

    /// Those batches that have own nodes; the elements that have are listed, too.
    pub fn of(nodes: &[[u32; 8]], batches: &Batches, own: Range<usize>) -> (Self, Vec<u32>) {
        let is_own = |&node: &u32| own.contains(&(node as usize));
        let touches: Vec<bool> = nodes.par_iter().map(|nodes| nodes.iter().any(is_own)).collect();
        let batches = batches.filtered(|range| touches[range].contains(&true));
        let elements = |colour: &Vec<u32>| colour.iter().flat_map(|&batch| batches.elements(batch)).collect::<Vec<_>>();
        let computed = batches.colours.par_iter().flat_map_iter(elements);
        let stray = sorted(computed.flat_map_iter(|e| nodes[e]).filter(|node| !is_own(node)).collect());
        let touching = (0..).zip(touches).filter(|(_, touches)| *touches).map(|(element, _)| element).collect();
        (Self { batches, own, stray }, touching)
    }

    /// Makes the sums 0.
    pub fn clear<T: Real>(&self, sums: &mut [T]) {
        zero(&mut sums[3 * self.own.start..3 * self.own.end]);
        clear_nodes(&self.stray, sums);
    }
}

/// Makes the values at some nodes 0.
pub(crate) fn clear_nodes<T: Real>(nodes: &[u32], values: &mut [T]) {
    nodes.iter().for_each(|&node| values[3 * node as usize..3 * node as usize + 3].fill(T::default()));
}

/// The numbers in ascending order, each once.
pub(crate) fn sorted(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.par_sort_unstable();
    numbers.dedup();
    numbers
}

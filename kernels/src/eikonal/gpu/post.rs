//! Answers the calls of a kernel of one device after each sweep: `exchange` in team.cuh. The kernel writes the entries that other
//! devices read too and that were lowered or listed. A round of messages brings them to the ranks that read them, and a second one
//! makes the number of listed entries and the earliest time those of all ranks.

use std::ops::Range;
use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::layout::{LISTED, Post};
use super::part::READER_BITS;
use super::pointer;
use crate::device::{Address, Calls, DeviceError, Mapped, Plain, append, bytes_at, bytes_at_mut, plain_bytes, read};
use crate::dynamics::Part;
use crate::ranks::{Nodes, Ranks, Rounds};
use crate::simd::Real;

/// In place of a place: the node is not at the border.
const NOWHERE: u32 = u32::MAX;

/// Nodes that this rank and others have or read.
#[derive(Debug)]
pub(super) struct Border {
    /// The node at each place, ascending.
    nodes: Vec<u32>,
    /// Place of each node of the mesh, or `NOWHERE`.
    place: Vec<u32>,
    /// Whether it is this rank's own.
    is_own: Vec<bool>,
    /// First of the other ranks of each node in `ranks`, and the end.
    first: Vec<u32>,
    ranks: Vec<u32>,
    /// Number of nodes that this rank shares with each.
    shared: Vec<usize>,
}

impl Border {
    pub fn of(domains: &SubDomainsView, me: usize, n_ranks: usize, n_nodes: usize) -> Self {
        let part = Part::of(domains, me);
        let mut is_mine = vec![false; n_nodes];
        part.own().chain(part.halo().iter().map(|&node| node as usize)).for_each(|node| is_mine[node] = true);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for message in domains.received(me) {
            pairs.extend(message.items.iter().map(|&node| (node, message.owner)));
        }
        for other in (0..n_ranks).filter(|&other| other != me) {
            let read = domains.halo_of(other).iter().filter(|&&node| is_mine[node as usize]);
            pairs.extend(read.map(|&node| (node, other as u32)));
        }
        pairs.sort_unstable();
        let (mut nodes, mut first, mut shared) = (Vec::new(), Vec::new(), vec![0; n_ranks]);
        for (at, &(node, rank)) in (0..).zip(&pairs) {
            if nodes.last() != Some(&node) {
                nodes.push(node);
                first.push(at);
            }
            shared[rank as usize] += 1;
        }
        first.push(pairs.len() as u32);
        let mut place = vec![NOWHERE; n_nodes];
        (0..).zip(&nodes).for_each(|(at, &node)| place[node as usize] = at);
        let is_own = nodes.iter().map(|&node| part.local_own(node as usize).is_some()).collect();
        Self { nodes, place, is_own, first, ranks: pairs.into_iter().map(|(_, rank)| rank).collect(), shared }
    }

    /// What each node is to the kernel, as [`Meeting::place`](super::layout::Meeting): this device is number 0, all others are number 1.
    pub fn places(&self, part: &Part, n_nodes: usize) -> Vec<u32> {
        const OTHERS: u32 = 1;
        let mut places = vec![OTHERS << READER_BITS | 1 << OTHERS; n_nodes];
        part.own().for_each(|node| places[node] = 1);
        for (&node, &is_own) in self.nodes.iter().zip(&self.is_own) {
            places[node as usize] = u32::from(!is_own) << READER_BITS | 1 | 1 << OTHERS;
        }
        places
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Place of a node.
    fn place(&self, node: u32) -> Option<usize> {
        let place = self.place[node as usize];
        (place != NOWHERE).then_some(place as usize)
    }

    fn ranks_of(&self, place: usize) -> &[u32] {
        &self.ranks[self.first[place] as usize..self.first[place + 1] as usize]
    }
}

/// Entries with their times.
#[derive(Debug, Clone, Default)]
struct Entries<T> {
    entry: Vec<u32>,
    time: Vec<T>,
}

impl<T: Real> Entries<T> {
    /// Bytes of a message with so many entries: their number, the entries, the times.
    const fn message_bytes(n: usize) -> usize {
        size_of::<u32>() + n * (size_of::<u32>() + size_of::<T>())
    }

    fn clear(&mut self) {
        self.entry.clear();
        self.time.clear();
    }

    fn write(&self, to: &mut Vec<u8>) {
        append(&[self.entry.len() as u32], to);
        append(&self.entry, to);
        append(&self.time, to);
    }

    /// Adds those of a message.
    fn read(&mut self, message: &[u8]) {
        let n = read::<u32>(message) as usize;
        let (entries, times) = message[size_of::<u32>()..Self::message_bytes(n)].split_at(n * size_of::<u32>());
        self.entry.extend(numbers::<u32>(entries));
        self.time.extend(numbers::<T>(times));
    }
}

/// Answers the calls of one rank's kernel.
#[derive(Debug)]
pub(super) struct Postman<T> {
    rounds: Rounds,
    calls: Calls,
    post: Post<T>,
    border: Border,
    /// Sweep on whose list each own node of the border was put last.
    listed_for: Vec<u32>,
    /// What goes to each rank.
    outgoing: Vec<Entries<T>>,
    /// Room for what comes of all, and where that of each rank stands.
    incoming: Vec<u8>,
    from: Vec<Range<usize>>,
}

impl<T: Real> Postman<T> {
    /// `own` has on the device: room for entries of the border; one number; and a number for each of the kernel's entries.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(
        ranks: &Arc<dyn Ranks>,
        border: Border,
        own: [Address; 3],
        shared: &mut impl Mapped,
    ) -> Result<Self, DeviceError> {
        let of_all: usize = border.shared.iter().sum();
        let mut room = |n: usize, bytes: usize| shared.zeros((n * bytes).max(8));
        let outgoing = [room(border.len(), 4)?, room(border.len(), size_of::<T>())?];
        let incoming = [room(of_all, 4)?, room(of_all, size_of::<T>())?];
        let numbers = [room(3, 8)?, room(3, 8)?];
        let calls = Calls::new(shared)?;
        let post = Post {
            calls: pointer(calls.calls),
            answered: pointer(calls.answered),
            changed: pointer(own[0]),
            n_changed: pointer(own[1]),
            changed_for: pointer(own[2]),
            outgoing: pointer(outgoing[0]),
            outgoing_time: pointer(outgoing[1]),
            incoming: pointer(incoming[0]),
            incoming_time: pointer(incoming[1]),
            told: pointer(numbers[0]),
            heard: pointer(numbers[1]),
        };
        let mut end = 0;
        let me = ranks.rank();
        let range = |(rank, &n): (usize, &usize)| {
            let first = end;
            end += if rank == me { 0 } else { Entries::<T>::message_bytes(n) };
            first..end
        };
        let from: Vec<_> = border.shared.iter().enumerate().map(range).collect();
        let most = border.shared.iter().map(|&n| Entries::<T>::message_bytes(n)).max().unwrap_or(0);
        Ok(Self {
            rounds: Rounds::new(ranks, [most, 2 * size_of::<u64>()]),
            calls,
            post,
            listed_for: vec![0; border.len()],
            outgoing: vec![Entries::default(); ranks.n_ranks()],
            incoming: vec![0; end],
            from,
            border,
        })
    }

    /// What the kernel knows.
    pub fn post(&self) -> Post<T> {
        self.post
    }

    /// Forgets the solve before. No kernel runs.
    pub fn reset(&mut self) {
        self.calls.reset();
        self.listed_for.fill(0);
    }

    /// Answers calls until `is_done` says that the kernel has ended.
    ///
    /// # Errors
    /// The kernel or another rank has failed; then all ranks know.
    pub fn serve(&mut self, is_done: &mut dyn FnMut() -> Result<bool, DeviceError>) -> Result<(), DeviceError> {
        let (calls, mut sweep) = (self.calls, 0);
        let served = calls.serve(
            |_| {
                sweep += 1;
                self.answer(sweep)
            },
            is_done,
        );
        self.rounds.settle(served)
    }

    /// The exchange before a sweep.
    fn answer(&mut self, sweep: u32) -> Result<(), DeviceError> {
        let [n_outgoing, n_listed, earliest] = numbers::<u64>(&bytes::<u64>(self.post.told.address(), 3))[..] else {
            unreachable!("three numbers")
        };
        self.sort_outgoing(n_outgoing as usize, sweep);
        let came = self.exchange()?;
        let n_listed = n_listed + self.n_newly_listed(&came, sweep);
        let all = self.rounds.gather(&[n_listed, earliest])?;
        // The bits of times have the order of the times.
        let earliest = all.iter().map(|of_rank| of_rank[1]).min().unwrap_or(earliest);
        put(self.post.incoming.address(), &came.entry);
        put(self.post.incoming_time.address(), &came.time);
        let n_of_all = all.iter().map(|of_rank| of_rank[0]).sum();
        put(self.post.heard.address(), &[came.entry.len() as u64, n_of_all, earliest]);
        Ok(())
    }

    /// Puts what the kernel has written among what goes to each rank that reads it.
    fn sort_outgoing(&mut self, n: usize, sweep: u32) {
        let Self { post, border, listed_for, outgoing, .. } = self;
        outgoing.iter_mut().for_each(Entries::clear);
        let entries = numbers::<u32>(&bytes::<u32>(post.outgoing.address(), n));
        let times = numbers::<T>(&bytes::<T>(post.outgoing_time.address(), n));
        for (entry, time) in entries.into_iter().zip(times) {
            let Some(place) = border.place(entry & !LISTED) else { continue };
            if entry & LISTED != 0 && border.is_own[place] {
                listed_for[place] = sweep;
            }
            for &rank in border.ranks_of(place) {
                outgoing[rank as usize].entry.push(entry);
                outgoing[rank as usize].time.push(time);
            }
        }
    }

    /// Sends what goes to each rank. Returns what came of all.
    fn exchange(&mut self) -> Result<Entries<T>, DeviceError> {
        let Self { rounds, outgoing, incoming, from, .. } = self;
        let (mut bytes, mut to) = (Vec::new(), Vec::new());
        for (rank, entries) in outgoing.iter().enumerate() {
            let first = bytes.len();
            if rank != rounds.ranks.rank() {
                entries.write(&mut bytes);
            }
            to.push(first..bytes.len());
        }
        rounds.make(Some(Nodes { outgoing: &bytes, to: &to, incoming, from }), &[])?;
        let mut came = Entries::default();
        from.iter().filter(|range| !range.is_empty()).for_each(|range| came.read(&incoming[range.clone()]));
        Ok(came)
    }

    /// Own entries that others have listed and this rank has not. One that several have listed counts once.
    fn n_newly_listed(&mut self, came: &Entries<T>, sweep: u32) -> u64 {
        let mut n = 0;
        for entry in came.entry.iter().filter(|&entry| entry & LISTED != 0) {
            let place = self.border.place(entry & !LISTED).filter(|&place| self.border.is_own[place]);
            if let Some(place) = place.filter(|&place| self.listed_for[place] != sweep) {
                self.listed_for[place] = sweep;
                n += 1;
            }
        }
        n
    }
}

/// A copy of what the kernel has written into the host's memory. It waits for an answer now.
fn bytes<N>(address: Address, n: usize) -> Vec<u8> {
    // SAFETY: an array of the host's memory with room for as many; nobody writes it now.
    unsafe { bytes_at(address, n * size_of::<N>()) }.to_vec()
}

/// Bytes as numbers.
fn numbers<N: Plain>(bytes: &[u8]) -> Vec<N> {
    bytes.chunks_exact(size_of::<N>()).map(read).collect()
}

/// Writes numbers into the host's memory, which the kernel reads after the answer.
fn put<N: Plain>(address: Address, numbers: &[N]) {
    // SAFETY: an array of the host's memory with room for as many; nobody else uses it now.
    unsafe { bytes_at_mut(address, size_of_val(numbers)) }.copy_from_slice(plain_bytes(numbers));
}

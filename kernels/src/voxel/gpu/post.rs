//! Answers the calls of a kernel of coarse levels that exchanges with other ranks while it runs: `exchange` in devices.cuh. The
//! kernel writes nodes and sums into the host's memory, a round of messages answers, and the kernel reads what came.

use std::ops::Range;
use std::sync::Arc;

use super::layout::{self, Letter, NOBODY, Post, SUMMED};
use super::levels::Memory;
use crate::device::layout::{In, Out, Pointer};
use crate::device::{self, Calls, DeviceError, Mapped, bytes_at, bytes_at_mut};
use crate::dynamics::HaloLists;
use crate::ranks::{Nodes, Ranks, Reader, Rounds, Writer};

const _: () = assert!(layout::GIVEN_UP == device::GIVEN_UP);
/// Sums of a thread block at a time.
const SUMS: usize = 3;
/// Bytes of the numbers of a node.
const NODE_BYTES: usize = 12;

/// The nodes that this rank and the others read of each other, in one list.
#[derive(Debug, Default)]
pub(super) struct List {
    pub sent: HaloLists,
    pub received: HaloLists,
}

impl List {
    /// Lists for what each of several `wanted` asks of others, given the first node of each rank and the end, for each. Collective.
    pub fn agree(ranks: &Arc<dyn Ranks>, wanted: &[&[u32]], firsts: &[&[usize]]) -> Vec<Self> {
        let me = ranks.rank();
        let mut said = Writer::default();
        wanted.iter().for_each(|nodes| said.put(nodes));
        let all = ranks.all_gather(said.into_bytes());
        let mut readers: Vec<Reader<'_>> = all.iter().map(|bytes| Reader::new(bytes)).collect();
        let list = |(wanted, firsts): (&&[u32], &&[usize])| {
            let of = |nodes: &[u32], owner: usize| {
                let at = |first: usize| nodes.partition_point(|&node| (node as usize) < first);
                nodes[at(firsts[owner])..at(firsts[owner + 1])].to_vec()
            };
            let sent = readers.iter_mut().map(|reader| of(&reader.take::<u32>(), me)).collect();
            let received = (0..ranks.n_ranks()).map(|rank| of(wanted, rank)).collect();
            Self { sent: HaloLists::new(sent), received: HaloLists::new(received) }
        };
        wanted.iter().zip(firsts).map(list).collect()
    }

    /// Where the numbers of each rank stand in messages to it and from it, of so many bytes a node.
    pub fn ranges(&self, node_bytes: usize) -> [Vec<Range<usize>>; 2] {
        [&self.sent, &self.received].map(|lists| {
            let bytes = |rank| lists.range(rank).start * node_bytes..lists.range(rank).end * node_bytes;
            (0..lists.n_devices()).map(bytes).collect()
        })
    }

    /// Nodes of the largest message that comes.
    pub fn most_received(&self) -> usize {
        (0..self.received.n_devices()).map(|rank| self.received.to(rank).len()).max().unwrap_or(0)
    }
}

/// Answers the calls of one rank's kernel.
#[derive(Debug)]
pub(super) struct Postman {
    /// Bytes of each rank in the messages of each list, to it and from it.
    lists: Vec<[Vec<Range<usize>>; 2]>,
    calls: Calls,
    post: Post,
    /// First thread block of each rank, and the number of all.
    blocks: Vec<usize>,
}

impl Postman {
    /// For lists of nodes of coarse levels; `blocks` has the first thread block of each rank, and the number of all. `memory` is the
    /// kernel's, and `shared` that of the host.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(
        lists: Vec<List>,
        blocks: Vec<usize>,
        rank: usize,
        memory: &mut impl Memory,
        shared: &mut impl Mapped,
    ) -> Result<Self, DeviceError> {
        let mut letters = Vec::new();
        for List { sent, received } in &lists {
            letters.push(Letter {
                sent: In::from_address(memory.put(sent.nodes())?),
                received: In::from_address(memory.put(received.nodes())?),
                n_sent: sent.n_nodes() as u32,
                n_received: received.n_nodes() as u32,
            });
        }
        let most = |nodes: fn(&List) -> usize| NODE_BYTES * lists.iter().map(nodes).max().unwrap_or(0);
        let (own, all) = (blocks[rank + 1] - blocks[rank], blocks.last().copied().unwrap_or(0));
        let calls = Calls::new(shared)?;
        let post = Post {
            letters: In::from_address(memory.put(&letters)?),
            outgoing: Out::<f32>::from_address(shared.zeros(most(|list| list.sent.n_nodes()))?),
            own_sums: Out::<f64>::from_address(shared.zeros(8 * SUMS * own)?),
            incoming: In::from_address(shared.zeros(most(|list| list.received.n_nodes()))?),
            all_sums: In::from_address(shared.zeros(8 * SUMS * all)?),
            calls: Out::<u32>::from_address(calls.calls),
            answered: In::from_address(calls.answered),
        };
        let lists = lists.into_iter().map(|list| list.ranges(NODE_BYTES)).collect();
        Ok(Self { lists, calls, post, blocks })
    }

    /// What the kernel knows.
    pub fn post(&self) -> Post {
        self.post
    }

    /// Forgets the calls of the kernel before. No kernel runs.
    pub fn reset(&self) {
        self.calls.reset();
    }

    /// Answers calls until `is_done` says that the kernel has ended.
    ///
    /// # Errors
    /// The kernel or another rank has failed. Then the kernel gets no more answers but that.
    pub fn serve(
        &self,
        rounds: &Rounds,
        is_done: &mut dyn FnMut() -> Result<bool, DeviceError>,
    ) -> Result<(), DeviceError> {
        self.calls.serve(|what| self.answer(rounds, what), is_done)
    }

    /// One round for a call.
    fn answer(&self, rounds: &Rounds, what: u32) -> Result<(), DeviceError> {
        let rank = rounds.ranks.rank();
        let own_sums = match what & SUMMED {
            0 => &[][..],
            // SAFETY: memory of that length, which the kernel has written and reads no more.
            _ => unsafe { bytes_at(self.post.own_sums.address(), 8 * SUMS * self.n_blocks(rank)) },
        };
        let list = self.lists.get((what & !SUMMED) as usize);
        debug_assert!(list.is_some() || what & !SUMMED == NOBODY);
        let end = |ranges: &[Range<usize>]| ranges.last().map_or(0, |range| range.end);
        let nodes = list.map(|[to, from]| Nodes {
            // SAFETY: as above; the kernel waits, and nobody else uses what comes.
            outgoing: unsafe { bytes_at(self.post.outgoing.address(), end(to)) },
            // SAFETY: as above.
            incoming: unsafe { bytes_at_mut(self.post.incoming.address(), end(from)) },
            to,
            from,
        });
        let mut came = rounds.make(nodes, own_sums)?;
        if what & SUMMED == 0 {
            return Ok(());
        }
        came[rank] = own_sums.to_vec();
        let n_all = self.blocks.last().copied().unwrap_or(0);
        // SAFETY: memory of that length, as above.
        let all = unsafe { bytes_at_mut(self.post.all_sums.address(), 8 * SUMS * n_all) };
        for (of, &first) in came.iter().zip(&self.blocks) {
            let n_bytes = of.len() / SUMS;
            for sum in 0..SUMS {
                let at = 8 * (sum * n_all + first);
                all[at..at + n_bytes].copy_from_slice(&of[sum * n_bytes..(sum + 1) * n_bytes]);
            }
        }
        Ok(())
    }

    fn n_blocks(&self, rank: usize) -> usize {
        self.blocks[rank + 1] - self.blocks[rank]
    }
}

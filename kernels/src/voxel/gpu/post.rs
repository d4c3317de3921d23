//! Answers the calls of a kernel of coarse levels that exchanges with other ranks while it runs: `exchange` in devices.cuh.
//!
//! ```text
//! kernel   writes nodes and sums into the host's memory, counts a call          waits          reads what came
//! host                                                              round of messages, counts the answer
//! ```

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::{GIVEN_UP, Letter, NOBODY, Post, SUMMED};
use super::levels::Memory;
use super::rounds::{Nodes, Rounds};
use crate::device::DeviceError;
use crate::device::layout::{In, Out, Pointer};
use crate::dynamics::HaloLists;
use crate::ranks::{Ranks, Reader, Writer};

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

/// Gives memory of the host that kernels use, too.
pub(super) trait Mapped {
    /// Address of so many bytes, all 0.
    fn zeros(&mut self, bytes: usize) -> Result<u64, DeviceError>;
}

/// Answers the calls of one rank's kernel.
#[derive(Debug)]
pub(super) struct Postman {
    /// Bytes of each rank in the messages of each list, to it and from it.
    lists: Vec<[Vec<Range<usize>>; 2]>,
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
        let post = Post {
            letters: In::from_address(memory.put(&letters)?),
            outgoing: Out::<f32>::from_address(shared.zeros(most(|list| list.sent.n_nodes()))?),
            own_sums: Out::<f64>::from_address(shared.zeros(8 * SUMS * own)?),
            incoming: In::from_address(shared.zeros(most(|list| list.received.n_nodes()))?),
            all_sums: In::from_address(shared.zeros(8 * SUMS * all)?),
            calls: Out::<u32>::from_address(shared.zeros(8)?),
            answered: In::from_address(shared.zeros(4)?),
        };
        let lists = lists.into_iter().map(|list| list.ranges(NODE_BYTES)).collect();
        Ok(Self { lists, post, blocks })
    }

    /// What the kernel knows.
    pub fn post(&self) -> Post {
        self.post
    }

    /// Forgets the calls of the kernel before. No kernel runs.
    pub fn reset(&mut self) {
        self.calls()[0].store(0, Ordering::Relaxed);
        self.answered().store(0, Ordering::Release);
    }

    /// Answers calls until `is_done` says that the kernel has ended.
    ///
    /// # Errors
    /// The kernel or another rank has failed. Then the kernel gets no more answers but that.
    pub fn serve(
        &mut self,
        rounds: &Rounds,
        is_done: &mut dyn FnMut() -> Result<bool, DeviceError>,
    ) -> Result<(), DeviceError> {
        /// Looks for a call between two questions of whether the kernel has ended.
        const LOOKS: u32 = 200;
        let mut n_answered = 0;
        loop {
            for _ in 0..LOOKS {
                if self.calls()[0].load(Ordering::Acquire) > n_answered {
                    let what = self.calls()[1].load(Ordering::Relaxed);
                    if let Err(error) = self.answer(rounds, what) {
                        self.answered().store(GIVEN_UP, Ordering::Release);
                        return Err(error);
                    }
                    n_answered += 1;
                    self.answered().store(n_answered, Ordering::Release);
                }
                std::hint::spin_loop();
            }
            if is_done()? {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    /// One round for a call.
    fn answer(&mut self, rounds: &Rounds, what: u32) -> Result<(), DeviceError> {
        let rank = rounds.ranks.rank();
        let own_sums = match what & SUMMED {
            0 => &[][..],
            // SAFETY: memory of that length, which the kernel has written and reads no more.
            _ => unsafe { bytes(self.post.own_sums.address(), 8 * SUMS * self.n_blocks(rank)) },
        };
        let list = self.lists.get((what & !SUMMED) as usize);
        debug_assert!(list.is_some() || what & !SUMMED == NOBODY);
        let end = |ranges: &[Range<usize>]| ranges.last().map_or(0, |range| range.end);
        let nodes = list.map(|[to, from]| Nodes {
            // SAFETY: as above; the kernel waits, and nobody else uses what comes.
            outgoing: unsafe { bytes(self.post.outgoing.address(), end(to)) },
            // SAFETY: as above.
            incoming: unsafe { bytes_mut(self.post.incoming.address(), end(from)) },
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
        let all = unsafe { bytes_mut(self.post.all_sums.address(), 8 * SUMS * n_all) };
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

    /// The number of calls, and what the last one is for.
    fn calls(&self) -> &[AtomicU32; 2] {
        // SAFETY: two numbers of the host's memory, which live as long as this; the kernel writes them one at a time.
        unsafe { &*(self.post.calls.address() as *const [AtomicU32; 2]) }
    }

    fn answered(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*(self.post.answered.address() as *const AtomicU32) }
    }
}

/// Memory as bytes.
///
/// # Safety
/// There are as many bytes at the address, and nobody writes them.
unsafe fn bytes<'a>(address: u64, n: usize) -> &'a [u8] {
    // SAFETY: what the caller says.
    unsafe { std::slice::from_raw_parts(address as *const u8, n) }
}

/// The same to be written.
///
/// # Safety
/// There are as many bytes at the address, and nobody else uses them.
unsafe fn bytes_mut<'a>(address: u64, n: usize) -> &'a mut [u8] {
    // SAFETY: what the caller says.
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, n) }
}

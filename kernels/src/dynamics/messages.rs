//! Devices that do not reach each other's memory, such as those of different hosts: after each step a kernel packs what others
//! read into the memory of the host, the ranks send it as messages, and a kernel unpacks what came.
//!
//! A round is made by all ranks for each step. A rank that cannot go on takes part in those that are left with messages
//! without contents, so that no other waits for it for ever ([`Messages::give_up`]).

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use super::halo::{Halo, HaloLists};
use crate::device::layout::Pointer;
use crate::device::{
    Address, Arena, DeviceError, Event, Gpu, HostBuffer, Kernel, Module, Plain as _, Stream, arguments, plain_bytes,
    plain_bytes_mut,
};
use crate::ranks::{Ranks, Reader, Writer};
use crate::simd::Real;

/// Most thread blocks that pack.
const MOST_PACKING: u32 = 128;

/// What leaves a device, or what comes: the numbers of listed nodes, which a kernel packs into the memory of the host, or unpacks.
#[derive(Debug)]
pub(crate) struct Packing<T> {
    kernel: Kernel,
    halo: Halo<T>,
    /// The messages one behind the other.
    buffer: HostBuffer<T>,
    n_blocks: u32,
    _module: Module,
}

impl<T: Real> Packing<T> {
    fn new(gpu: &Gpu, name: &str, lists: &HaloLists, halo: Halo<T>, arena: &mut Arena) -> Result<Self, DeviceError> {
        let module = gpu.module("exchange")?;
        let n_numbers = lists.n_nodes() * (halo.n_arrays * halo.n_numbers) as usize;
        let kernel = Kernel::new(gpu, &module, &format!("{name}_{}", T::NAME), 0)?;
        let n_blocks = (n_numbers as u32).div_ceil(kernel.threads).min(MOST_PACKING);
        let halo = lists.place(halo, arena)?;
        Ok(Self { kernel, halo, buffer: HostBuffer::zeros(n_numbers)?, n_blocks, _module: module })
    }

    /// The same for any vectors with three numbers a node; `name` is `pack` or `unpack`.
    pub fn of_vectors(gpu: &Gpu, name: &str, lists: &HaloLists, arena: &mut Arena) -> Result<Self, DeviceError> {
        let halo = Halo { n_arrays: 1, n_numbers: 3, pitch: 3, stride: 1, ..Halo::zeroed() };
        Self::new(gpu, name, lists, halo, arena)
    }

    /// Packs or unpacks the numbers of the vector at this address.
    pub fn start_of(&self, stream: &Stream, vector: Address) -> Result<(), DeviceError> {
        let mut halo = self.halo;
        halo.u[0][0] = Pointer::from_address(vector);
        self.launch(stream, halo, 0)
    }

    /// What was packed.
    pub fn bytes(&self) -> &[u8] {
        plain_bytes(self.buffer.values())
    }

    /// What is to be unpacked.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        plain_bytes_mut(self.buffer.values_mut())
    }

    fn start(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        self.launch(stream, self.halo, place)
    }

    fn launch(&self, stream: &Stream, halo: Halo<T>, place: u32) -> Result<(), DeviceError> {
        if self.n_blocks == 0 {
            return Ok(());
        }
        let buffer = self.buffer.pointer();
        // SAFETY: the arguments that the kernel takes; the buffer has room for the numbers of the listed nodes.
        unsafe { self.kernel.launch(stream, self.n_blocks, &mut arguments![halo, place, buffer]) }
    }
}

/// The messages of a rank in each round, which lie one behind the other.
#[derive(Debug)]
struct Post {
    ranks: Arc<dyn Ranks>,
    /// The other ranks with a message, and its bytes.
    outgoing: Vec<(usize, Range<usize>)>,
    incoming: Vec<(usize, Range<usize>)>,
    /// How many rounds were made.
    rounds: Cell<u64>,
}

impl Post {
    /// `node_bytes` are those of a node in a message.
    fn new(ranks: &Arc<dyn Ranks>, [sent, read]: [&HaloLists; 2], node_bytes: usize) -> Self {
        let messages = |lists: &HaloLists| {
            let bytes = |rank| lists.range(rank).start * node_bytes..lists.range(rank).end * node_bytes;
            (0..lists.n_devices()).map(|rank| (rank, bytes(rank))).filter(|(_, bytes)| !bytes.is_empty()).collect()
        };
        Self { ranks: ranks.clone(), outgoing: messages(sent), incoming: messages(read), rounds: Cell::new(0) }
    }

    /// One round: sends all messages, or such without contents where there are none, and receives those of other ranks.
    ///
    /// # Errors
    /// A rank has sent a message without contents.
    fn round(&self, messages: Option<&[u8]>, room: &mut [u8]) -> Result<(), DeviceError> {
        let contents = |bytes: &Range<usize>| messages.map_or(&[][..], |messages| &messages[bytes.clone()]);
        let outgoing: Vec<_> = self.outgoing.iter().map(|(rank, bytes)| (*rank, contents(bytes))).collect();
        let mut incoming = Vec::with_capacity(self.incoming.len());
        let mut rest = room;
        for (rank, bytes) in &self.incoming {
            let own;
            (own, rest) = rest.split_at_mut(bytes.len());
            incoming.push((*rank, own));
        }
        let came = self.ranks.exchange(&outgoing, &mut incoming);
        self.rounds.set(self.rounds.get() + 1);
        match self.incoming.iter().zip(came).find(|&(_, n_bytes)| n_bytes == 0) {
            Some(((rank, _), _)) => Err(DeviceError::OnRank { rank: *rank, reason: "its device has failed".into() }),
            None => Ok(()),
        }
    }
}

/// The exchange by messages between ranks of which each has a device.
#[derive(Debug)]
pub(crate) struct Messages<T> {
    post: Post,
    outgoing: Packing<T>,
    incoming: RefCell<Packing<T>>,
    packed: Event,
}

impl<T: Real> Messages<T> {
    /// Given the nodes that this rank sends, and the arrays of its state in `halo`. Collective.
    pub fn new(
        gpu: &Gpu,
        ranks: &Arc<dyn Ranks>,
        sent: &HaloLists,
        halo: Halo<T>,
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        // What this rank reads is what others send it, in their order.
        let mut said = Writer::default();
        (0..ranks.n_ranks()).for_each(|reader| said.put(sent.to(reader)));
        let said = ranks.all_gather(said.into_bytes());
        let to_this = |bytes: &Vec<u8>| {
            let mut lists = Reader::new(bytes);
            (0..ranks.rank()).for_each(|_| drop(lists.take::<u32>()));
            lists.take::<u32>()
        };
        let read = HaloLists::new(said.iter().map(to_this).collect());
        let outgoing = Packing::new(gpu, "pack", sent, halo, arena)?;
        let incoming = Packing::new(gpu, "unpack", &read, halo, arena)?;
        let node_bytes = (halo.n_arrays * halo.n_numbers) as usize * size_of::<T>();
        let post = Post::new(ranks, [sent, &read], node_bytes);
        Ok(Self { post, outgoing, incoming: RefCell::new(incoming), packed: Event::new()? })
    }

    /// Packs what a step has written into the arrays of this number.
    pub fn start(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        self.outgoing.start(stream, place)?;
        self.packed.record(stream)
    }

    /// Sends it, waits for what others send, and unpacks that into the same arrays.
    pub fn finish(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        self.packed.synchronize()?;
        self.round(true)?;
        self.incoming.borrow().start(stream, place)
    }

    /// One round, in which this rank sends what it has packed, or messages without contents.
    fn round(&self, goes_on: bool) -> Result<(), DeviceError> {
        let packed = goes_on.then(|| self.outgoing.bytes());
        self.post.round(packed, self.incoming.borrow_mut().bytes_mut())
    }

    /// Number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.post.rounds.get()
    }

    /// A round of messages without contents.
    pub fn give_up(&self) {
        // This rank has failed already.
        let _ = self.round(false);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::halo::{Exchange, HaloExchange, NodeLayout};
    use super::*;
    use crate::device::Opened;
    use crate::ranks::{Accord, Threads};

    const ROUNDS: u32 = 200;

    /// What a rank measures of rounds with so many nodes each way: until they are packed, travelling, and until they are unpacked, µs.
    fn measure<T: Real>(ranks: &Arc<dyn Ranks>, ordinal: u32, n_nodes: usize) -> [f64; 3] {
        let gpu = Gpu::open(ordinal).unwrap();
        let (me, mut arena, mut opened) = (ranks.rank(), Arena::default(), Opened::default());
        let [u, v] = ["u", "v"].map(|name| arena.zeros::<T>(name, 6 * n_nodes).unwrap());
        let own = (me * n_nodes) as u32..((me + 1) * n_nodes) as u32;
        let mut sent = vec![Vec::new(); 2];
        sent[1 - me] = own.collect();
        let how = (&Accord::new(ranks), Exchange::Messages);
        let layout = NodeLayout { n_numbers: 3, pitch: 3, stride: 1 };
        let lists = HaloLists::new(sent);
        let exchange = lists.connect(&gpu, how, (&mut arena, &mut opened), &[[u, v]], layout).unwrap();
        let HaloExchange::Messages(messages) = exchange else { panic!("messages were asked for") };
        let stream = Stream::new().unwrap();
        let mut seconds = [0.0; 3];
        for round in 0..ROUNDS + 10 {
            let mut marks = [Instant::now(); 4];
            messages.start(&stream, 0).unwrap();
            messages.packed.synchronize().unwrap();
            marks[1] = Instant::now();
            messages.round(true).unwrap();
            marks[2] = Instant::now();
            messages.incoming.borrow().start(&stream, 0).unwrap();
            stream.synchronize().unwrap();
            marks[3] = Instant::now();
            if round >= 10 {
                seconds.iter_mut().zip(marks.windows(2)).for_each(|(sum, two)| *sum += (two[1] - two[0]).as_secs_f64());
            }
        }
        seconds.map(|sum| 1e6 * sum / f64::from(ROUNDS))
    }

    /// Ranks in a row, of which the first cannot go on after some rounds. All the same every rank comes to the end of all rounds, with
    /// what it was sent until then, and those that do not fail themselves name their neighbour.
    #[test]
    fn all_ranks_end_when_one_gives_up() {
        const LAST: u64 = 20;
        std::thread::scope(|scope| {
            for ranks in Threads::new(3) {
                scope.spawn(move || {
                    let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                    let me = ranks.rank();
                    // Rank r sends r + 1 nodes to each neighbour.
                    let lists = |n: &dyn Fn(usize) -> usize| {
                        let of =
                            |rank: usize| if rank.abs_diff(me) == 1 { (0..n(rank) as u32).collect() } else { vec![] };
                        HaloLists::new((0..3).map(of).collect())
                    };
                    let (sent, read) = (lists(&|_| me + 1), lists(&|rank| rank + 1));
                    let post = Post::new(&ranks, [&sent, &read], 2);
                    let (mut room, mut outcome) = (vec![0; 2 * read.n_nodes()], Ok(()));
                    while post.rounds.get() < LAST && outcome.is_ok() {
                        let round = post.rounds.get() as u8;
                        if me == 0 && round == 5 {
                            outcome = Err(DeviceError::NoDriver);
                            break;
                        }
                        outcome = post.round(Some(&vec![10 * me as u8 + round; 2 * sent.n_nodes()]), &mut room);
                        for (rank, bytes) in post.incoming.iter().filter(|_| outcome.is_ok()) {
                            assert!(room[bytes.clone()].iter().all(|&byte| byte == 10 * *rank as u8 + round));
                        }
                    }
                    while post.rounds.get() < LAST {
                        let _ = post.round(None, &mut room);
                    }
                    assert_eq!(post.rounds.get(), LAST);
                    match (me, outcome) {
                        (0, Err(DeviceError::NoDriver)) => {}
                        (1 | 2, Err(DeviceError::OnRank { rank, .. })) => assert_eq!(rank, me - 1),
                        (_, other) => panic!("rank {me}: {other:?}"),
                    }
                });
            }
        });
    }

    #[test]
    #[ignore = "needs a CUDA device: tests/gpu.sh kernels runs it"]
    fn rounds_of_messages_take() {
        let last = crate::device::n_devices().unwrap() - 1;
        for n_nodes in [1_000, 10_000, 100_000] {
            std::thread::scope(|scope| {
                for (ranks, ordinal) in Threads::new(2).into_iter().zip([0, last.min(1)]) {
                    scope.spawn(move || {
                        let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                        let [single, double] =
                            [measure::<f32>(&ranks, ordinal, n_nodes), measure::<f64>(&ranks, ordinal, n_nodes)];
                        assert!(single.iter().chain(&double).all(|&time| time > 0.0));
                        println!("{n_nodes} nodes, rank {}: f32 {single:.1?} µs, f64 {double:.1?} µs", ranks.rank());
                    });
                }
            });
        }
    }
}

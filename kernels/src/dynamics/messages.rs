//! Devices that do not reach each other's memory, such as those of different hosts: after each step a kernel packs what others
//! read into the memory of the host, the ranks send it as messages, and a kernel unpacks what came.
//!
//! A round is made by all ranks for each step. A rank that cannot go on takes part in those that are left with messages
//! without contents, so that no other waits for it for ever ([`Messages::give_up`]).

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use super::halo::{Halo, HaloLists};
use crate::device::{Arena, DeviceError, Event, Gpu, HostBuffer, Kernel, Module, Stream, arguments};
use crate::ranks::{Ranks, Reader, Writer};
use crate::simd::Real;

/// Most thread blocks that pack.
const MOST_PACKING: u32 = 128;

/// What leaves a device, or what comes.
#[derive(Debug)]
struct Side<T> {
    kernel: Kernel,
    halo: Halo<T>,
    /// The messages one behind the other.
    buffer: HostBuffer<T>,
    /// The other ranks with a message, and their numbers in the buffer.
    messages: Vec<(usize, Range<usize>)>,
    n_blocks: u32,
}

impl<T: Real> Side<T> {
    fn new(
        (gpu, module): (&Gpu, &Module),
        name: &str,
        lists: &HaloLists,
        halo: Halo<T>,
        arena: &mut Arena,
    ) -> Result<Self, DeviceError> {
        let width = (halo.n_arrays * halo.n_numbers) as usize;
        let (n_ranks, n_nodes) = (lists.n_devices(), lists.n_nodes());
        let messages = (0..n_ranks).map(|rank| {
            let nodes = lists.range(rank);
            (rank, nodes.start * width..nodes.end * width)
        });
        let messages = messages.filter(|(_, numbers)| !numbers.is_empty()).collect();
        let kernel = Kernel::new(gpu, module, &format!("{name}_{}", T::NAME), 0)?;
        let n_blocks = ((n_nodes * width) as u32).div_ceil(kernel.threads).clamp(1, MOST_PACKING);
        let halo = lists.place(halo, arena)?;
        Ok(Self { kernel, halo, buffer: HostBuffer::zeros(n_nodes * width)?, messages, n_blocks })
    }

    fn start(&self, stream: &Stream, place: u32) -> Result<(), DeviceError> {
        if self.messages.is_empty() {
            return Ok(());
        }
        let (halo, buffer) = (self.halo, self.buffer.pointer());
        // SAFETY: the arguments that the kernel takes; the buffer has room for the numbers of the listed nodes.
        unsafe { self.kernel.launch(stream, self.n_blocks, &mut arguments![halo, place, buffer]) }
    }
}

/// The exchange by messages between ranks of which each has a device.
#[derive(Debug)]
pub(crate) struct Messages<T> {
    ranks: Arc<dyn Ranks>,
    outgoing: Side<T>,
    incoming: RefCell<Side<T>>,
    packed: Event,
    /// How many were made.
    rounds: Cell<u64>,
    _module: Module,
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
        let module = gpu.module("exchange")?;
        let outgoing = Side::new((gpu, &module), "pack", sent, halo, arena)?;
        let incoming = Side::new((gpu, &module), "unpack", &read, halo, arena)?;
        Ok(Self {
            ranks: ranks.clone(),
            outgoing,
            incoming: RefCell::new(incoming),
            packed: Event::new()?,
            rounds: Cell::new(0),
            _module: module,
        })
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
        let mut incoming = self.incoming.borrow_mut();
        let outgoing = self.outgoing.messages.iter().map(|(rank, numbers)| {
            let numbers = if goes_on { numbers.clone() } else { 0..0 };
            (*rank, self.outgoing.buffer.bytes(numbers))
        });
        let outgoing: Vec<_> = outgoing.collect();
        let Side { messages, buffer, .. } = &mut *incoming;
        let mut room = Vec::with_capacity(messages.len());
        let mut rest = buffer.bytes_mut();
        for (rank, numbers) in &*messages {
            let own;
            (own, rest) = rest.split_at_mut(numbers.len() * size_of::<T>());
            room.push((*rank, own));
        }
        let came = self.ranks.exchange(&outgoing, &mut room);
        self.rounds.set(self.rounds.get() + 1);
        match came.iter().position(|&n_bytes| n_bytes == 0) {
            Some(at) => Err(DeviceError::OnRank { rank: messages[at].0, reason: "its device has failed".into() }),
            None => Ok(()),
        }
    }

    /// Number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.rounds.get()
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

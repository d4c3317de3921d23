//! Moves node values between sub-domains.
//!
//! A sub-domain keeps the values of its own nodes, then those of its *halo*: nodes that its elements have and that other
//! sub-domains own. One *message* holds the nodes that one sub-domain (the reader) needs of another (the owner).
//! Values travel along the same messages in both directions:
//!
//! ```text
//! update   owner → reader    halo values become copies of the owners' values           u before a product or a step
//! add      reader → owner    what was added to halo nodes is added at their owners     f after a product
//! ```
//!
//! A solver calls [`Exchange`] sub-domain by sub-domain and never learns where a sub-domain is computed. A [`Transport`]
//! carries the packed messages: [`InProcess`] where one rank has all sub-domains, [`OverRanks`] where each has one.
//!
//! Sums are added message by message in the order of the message numbers. The result has the same bits whatever
//! transport carries the messages and however many threads pack them.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pogo_formats::domains::SubDomainsView;
use pogo_formats::system::parallel::iterate::*;

use crate::device::{Plain, append, read};
use crate::ranks::{Parcel, Pending, Ranks};

/// Who receives the messages of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receivers {
    /// Values go from owners to the halos of readers.
    Readers,
    /// Sums go back from readers to owners.
    Owners,
}

/// Carries packed messages from the sub-domains that send them to those that receive them.
///
/// A round has four phases: all messages are sent, [`start`](Self::start) is called, then [`deliver`](Self::deliver), and all
/// messages are received. Messages have the numbers of the table that they belong to; one round uses one direction.
pub trait Transport: Send + Sync {
    /// Lets `pack` fill the buffer of a message, which still has the bytes of the round before.
    fn send(&self, message: usize, pack: &mut dyn FnMut(&mut Vec<u8>));
    /// Lets the messages of this round travel.
    fn start(&self, to: Receivers);
    /// Returns when the messages of this round can be received.
    fn deliver(&self);
    /// Lends the bytes of a message to `unpack`.
    fn receive(&self, message: usize, unpack: &mut dyn FnMut(&[u8]));
}

/// The transport between sub-domains of one process: the receiver reads the sender's buffer.
///
/// The caller separates the phases: every `send` of a round returns before the first `receive` is called.
#[derive(Debug, Default)]
pub struct InProcess(Vec<Mutex<Vec<u8>>>);

impl InProcess {
    /// Buffers for messages 0, …, `n_messages` − 1.
    pub fn new(n_messages: usize) -> Self {
        Self((0..n_messages).map(|_| Mutex::default()).collect())
    }
}

impl Transport for InProcess {
    fn send(&self, message: usize, pack: &mut dyn FnMut(&mut Vec<u8>)) {
        pack(&mut self.0[message].lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn start(&self, _: Receivers) {}

    fn deliver(&self) {}

    fn receive(&self, message: usize, unpack: &mut dyn FnMut(&[u8])) {
        unpack(&self.0[message].lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The transport between ranks of which each has one sub-domain, that of its number.
#[derive(Debug)]
pub struct OverRanks {
    ranks: Arc<dyn Ranks>,
    /// Sub-domain that owns the nodes of each message, the one that reads them, and the number of nodes.
    ends: Vec<(usize, usize, usize)>,
    round: Mutex<Round>,
}

/// The messages of one rank in one round.
#[derive(Default)]
struct Round {
    /// By message; empty where this rank has no part in it, or while it travels.
    bytes: Vec<Vec<u8>>,
    /// Messages that leave and that come, in the order of their parcels.
    numbers: [Vec<usize>; 2],
    pending: Option<Box<dyn Pending>>,
}

impl std::fmt::Debug for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Round").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

impl OverRanks {
    /// Most bytes that a node takes in a message: three components in f64.
    const NODE_BYTES: usize = 24;

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for OverRanks {
    fn send(&self, message: usize, pack: &mut dyn FnMut(&mut Vec<u8>)) {
        pack(&mut self.round().bytes[message]);
    }

    fn start(&self, to: Receivers) {
        let (mut round, me) = (self.round(), self.ranks.rank());
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        round.numbers = [Vec::new(), Vec::new()];
        for (number, &(owner, reader, n_nodes)) in self.ends.iter().enumerate() {
            let (from, to) = if to == Receivers::Readers { (owner, reader) } else { (reader, owner) };
            if from == me {
                outgoing.push(Parcel { rank: to, bytes: std::mem::take(&mut round.bytes[number]) });
                round.numbers[0].push(number);
            } else if to == me {
                let mut bytes = std::mem::take(&mut round.bytes[number]);
                bytes.resize(n_nodes * Self::NODE_BYTES, 0);
                incoming.push(Parcel { rank: from, bytes });
                round.numbers[1].push(number);
            }
        }
        round.pending = Some(self.ranks.start(outgoing, incoming));
    }

    fn deliver(&self) {
        let mut round = self.round();
        let Some(pending) = round.pending.take() else { return };
        let numbers = std::mem::take(&mut round.numbers);
        for (numbers, parcels) in numbers.into_iter().zip(pending.finish()) {
            for (number, parcel) in numbers.into_iter().zip(parcels) {
                round.bytes[number] = parcel.bytes;
            }
        }
    }

    fn receive(&self, message: usize, unpack: &mut dyn FnMut(&[u8])) {
        unpack(&self.round().bytes[message]);
    }
}

/// The nodes that one sub-domain needs of another, in local numbers of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Sub-domain that owns the nodes.
    pub owner: u32,
    /// Sub-domain that has them in its halo.
    pub reader: u32,
    /// The nodes at the owner, each once.
    pub owned: Vec<u32>,
    /// The same nodes at the reader.
    pub halo: Vec<u32>,
}

/// The messages between all sub-domains, with the transport that carries them.
///
/// Vectors of a sub-domain are (n_local_nodes, n_components), row by row, of f32, f64 or whole numbers.
pub struct Exchange {
    messages: Vec<Message>,
    /// Messages of which each sub-domain owns the nodes, ascending.
    owned: Vec<Vec<u32>>,
    /// Messages that each sub-domain has in its halo, ascending.
    halo: Vec<Vec<u32>>,
    transport: Box<dyn Transport>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("messages", &self.messages).finish_non_exhaustive()
    }
}

#[allow(private_bounds)] // No other crate can make a number plain.
impl Exchange {
    /// The messages of a table, between sub-domains of this process.
    pub fn of(domains: &SubDomainsView) -> Self {
        let messages = (0..domains.n_messages()).into_par_iter().map(|number| {
            let message = domains.message(number);
            let first = domains.n_own(message.reader as usize) + message.halo_first;
            // Ranges and items both ascend.
            let own = domains.own(message.owner as usize).scan(0, |local, range| {
                let first = *local;
                *local += range.len() as u32;
                Some((range, first))
            });
            let own: Vec<_> = own.collect();
            let local = |&item: &u32| {
                let (range, first) = &own[own.partition_point(|(range, _)| range.end <= item)];
                first + (item - range.start)
            };
            Message {
                owner: message.owner,
                reader: message.reader,
                owned: message.items.iter().map(local).collect(),
                halo: (first as u32..).take(message.items.len()).collect(),
            }
        });
        Self::in_process(domains.n_domains(), messages.collect())
    }

    /// `messages` between `n_domains` sub-domains of this process.
    ///
    /// # Panics
    /// If a message leads from or to a sub-domain that is not there.
    pub fn in_process(n_domains: usize, messages: Vec<Message>) -> Self {
        let transport = Box::new(InProcess::new(messages.len()));
        Self::new(n_domains, messages, transport)
    }

    /// `messages` between `n_domains` sub-domains, carried by `transport`.
    ///
    /// # Panics
    /// If a message leads from or to a sub-domain that is not there.
    pub fn new(n_domains: usize, messages: Vec<Message>, transport: Box<dyn Transport>) -> Self {
        let (mut owned, mut halo) = (vec![Vec::new(); n_domains], vec![Vec::new(); n_domains]);
        for (number, message) in (0..).zip(&messages) {
            owned[message.owner as usize].push(number);
            halo[message.reader as usize].push(number);
        }
        Self { messages, owned, halo, transport }
    }

    /// The messages between this rank's sub-domain, which has its number, and those of other ranks. `rows` gives the rows of
    /// an item, own or of the halo, in the vectors that are exchanged.
    pub fn over(ranks: &Arc<dyn Ranks>, domains: &SubDomainsView, rows: impl Fn(u32) -> Vec<u32>) -> Self {
        let me = ranks.rank() as u32;
        let messages: Vec<Message> = (0..domains.n_messages())
            .map(|number| {
                let message = domains.message(number);
                let of =
                    |end| if end == me { message.items.iter().flat_map(|&item| rows(item)).collect() } else { vec![] };
                let (owner, reader) = (message.owner, message.reader);
                Message { owner, reader, owned: of(owner), halo: of(reader) }
            })
            .collect();
        Self::among(ranks, messages)
    }

    /// The messages of which one end is this rank's sub-domain, which has its number; of the other end's nodes nothing is
    /// known. Messages with no end here may be listed or not. There is one message from a rank to another at most.
    pub fn among(ranks: &Arc<dyn Ranks>, messages: Vec<Message>) -> Self {
        let ends = messages.iter().map(|message| {
            let n_rows = message.owned.len().max(message.halo.len());
            (message.owner as usize, message.reader as usize, n_rows)
        });
        let bytes = vec![Vec::new(); messages.len()];
        let round = Mutex::new(Round { bytes, ..Round::default() });
        let transport = OverRanks { ranks: ranks.clone(), ends: ends.collect(), round };
        Self::new(ranks.n_ranks(), messages, Box::new(transport))
    }

    /// Number of sub-domains.
    pub fn n_domains(&self) -> usize {
        self.owned.len()
    }

    /// Messages of which a sub-domain owns the nodes, with their numbers.
    pub fn owned_by(&self, domain: usize) -> impl Iterator<Item = (usize, &Message)> {
        self.owned[domain].iter().map(|&number| (number as usize, &self.messages[number as usize]))
    }

    /// Messages whose nodes are in the halo of a sub-domain, with their numbers.
    pub fn read_by(&self, domain: usize) -> impl Iterator<Item = (usize, &Message)> {
        self.halo[domain].iter().map(|&number| (number as usize, &self.messages[number as usize]))
    }

    /// What carries the messages, for those that are no node vectors.
    pub fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    /// Update, first phase: sends the values of own nodes that others read.
    pub fn send_owned<T: Plain>(&self, domain: usize, values: &[T], n_components: usize) {
        for (number, message) in self.owned_by(domain) {
            self.transport.send(number, &mut |bytes| pack(values, &message.owned, n_components, bytes));
        }
    }

    /// Update, last phase: receives the values of halo nodes.
    pub fn receive_halo<T: Plain>(&self, domain: usize, values: &mut [T], n_components: usize) {
        for (number, message) in self.read_by(domain) {
            self.transport.receive(number, &mut |bytes| {
                unpack(bytes, &message.halo, n_components, values, |to, from| *to = from);
            });
        }
    }

    /// Addition, first phase: sends the sums on halo nodes back.
    pub fn send_halo<T: Plain>(&self, domain: usize, sums: &[T], n_components: usize) {
        for (number, message) in self.read_by(domain) {
            self.transport.send(number, &mut |bytes| pack(sums, &message.halo, n_components, bytes));
        }
    }

    /// Addition, last phase: adds what readers sent to the sums of own nodes, in the order of the messages.
    pub fn add_received<T: Plain + AddAssign>(&self, domain: usize, sums: &mut [T], n_components: usize) {
        for (number, message) in self.owned_by(domain) {
            self.transport.receive(number, &mut |bytes| {
                unpack(bytes, &message.owned, n_components, sums, |to, from| *to += from);
            });
        }
    }

    /// Second phase of both: lets what was sent travel.
    pub fn start(&self, to: Receivers) {
        self.transport.start(to);
    }

    /// Third phase of both: returns when everything that was sent has come.
    pub fn finish(&self) {
        self.transport.deliver();
    }

    /// Second and third phase, one after the other.
    pub fn deliver(&self, to: Receivers) {
        self.start(to);
        self.finish();
    }

    /// All four phases of an update of the vectors of all sub-domains, one after the other.
    pub fn update<T: Plain>(&self, vectors: &mut [Vec<T>], n_components: usize) {
        vectors.iter().enumerate().for_each(|(domain, values)| self.send_owned(domain, values, n_components));
        self.deliver(Receivers::Readers);
        vectors.iter_mut().enumerate().for_each(|(domain, values)| self.receive_halo(domain, values, n_components));
    }

    /// All four phases of an addition to the vectors of all sub-domains, one after the other.
    pub fn add<T: Plain + AddAssign>(&self, vectors: &mut [Vec<T>], n_components: usize) {
        vectors.iter().enumerate().for_each(|(domain, sums)| self.send_halo(domain, sums, n_components));
        self.deliver(Receivers::Owners);
        vectors.iter_mut().enumerate().for_each(|(domain, sums)| self.add_received(domain, sums, n_components));
    }
}

/// Writes the values of `nodes` one after the other.
fn pack<T: Plain>(values: &[T], nodes: &[u32], n_components: usize, bytes: &mut Vec<u8>) {
    bytes.clear();
    for &node in nodes {
        append(&values[n_components * node as usize..n_components * (node as usize + 1)], bytes);
    }
}

/// Calls `put(value of a node, number received)` for all components of `nodes`, one after the other.
fn unpack<T: Plain>(bytes: &[u8], nodes: &[u32], n_components: usize, values: &mut [T], put: impl Fn(&mut T, T)) {
    for (from, &node) in bytes.chunks_exact(n_components * size_of::<T>()).zip(nodes) {
        let to = &mut values[n_components * node as usize..n_components * (node as usize + 1)];
        to.iter_mut().zip(from.chunks_exact(size_of::<T>())).for_each(|(to, from)| put(to, read(from)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of nodes cut into consecutive pieces, given their lengths; a halo has `reach` nodes on each side, as far
    /// as others own them. Local numbers: own nodes, then the halo by owner, ascending.
    struct Ring {
        exchange: Exchange,
        /// Node of the ring that each local node is.
        nodes: Vec<Vec<u32>>,
        /// Own nodes of each sub-domain.
        n_own: Vec<usize>,
        n: u32,
    }

    impl Ring {
        fn new(lengths: &[u32], reach: u32) -> Self {
            let n = lengths.iter().sum::<u32>();
            let first: Vec<u32> =
                lengths.iter().scan(0, |end, &length| Some(std::mem::replace(end, *end + length))).collect();
            let owner = |node: u32| first.iter().zip(lengths).position(|(&f, &l)| (f..f + l).contains(&node)).unwrap();
            let (mut messages, mut nodes) = (Vec::new(), Vec::new());
            for (reader, (&first_own, &length)) in first.iter().zip(lengths).enumerate() {
                let mut halo: Vec<u32> = (first_own..first_own + length)
                    .flat_map(|node| (1..=reach).flat_map(move |step| [(node + step) % n, (node + n - step) % n]))
                    .filter(|&node| owner(node) != reader)
                    .collect();
                halo.sort_unstable();
                halo.dedup();
                for part in halo.chunk_by(|&a, &b| owner(a) == owner(b)) {
                    let at = length + halo.iter().position(|node| *node == part[0]).unwrap() as u32;
                    messages.push(Message {
                        owner: owner(part[0]) as u32,
                        reader: reader as u32,
                        owned: part.iter().map(|node| node - first[owner(part[0])]).collect(),
                        halo: (at..).take(part.len()).collect(),
                    });
                }
                nodes.push((first_own..first_own + length).chain(halo).collect());
            }
            let n_own = lengths.iter().map(|&length| length as usize).collect();
            Self { exchange: Exchange::in_process(lengths.len(), messages), nodes, n_own, n }
        }

        /// A vector of each sub-domain from what each node of the ring has; halos have `outside`.
        fn vectors<T: Copy>(&self, n_components: usize, of: impl Fn(u32, usize) -> T, outside: T) -> Vec<Vec<T>> {
            let parts = self.nodes.iter().zip(&self.n_own);
            let part = |(nodes, &n_own): (&Vec<u32>, &usize)| {
                let value = |i: usize| {
                    if i < n_components * n_own { of(nodes[i / n_components], i % n_components) } else { outside }
                };
                (0..n_components * nodes.len()).map(value).collect()
            };
            parts.map(part).collect()
        }
    }

    const RINGS: [&[u32]; 8] =
        [&[5], &[4, 3], &[0, 6], &[3, 0, 4], &[1, 1, 1], &[9, 2, 7], &[3, 1, 0, 5, 2, 0, 4], &[1; 7]];

    fn update_and_add<T: Plain + AddAssign + PartialEq + std::fmt::Debug>(value: impl Fn(u32, usize) -> T, zero: T) {
        for lengths in RINGS {
            for (n_components, reach) in [(1, 1), (2, 2), (3, 1), (3, 3)] {
                let ring = Ring::new(lengths, reach);
                assert_eq!(ring.exchange.n_domains(), lengths.len());
                let mut vectors = ring.vectors(n_components, &value, zero);
                ring.exchange.update(&mut vectors, n_components);
                for (nodes, vector) in ring.nodes.iter().zip(&vectors) {
                    for (i, found) in vector.iter().enumerate() {
                        assert_eq!(*found, value(nodes[i / n_components], i % n_components), "{lengths:?}");
                    }
                }
                // The owner's value, then that of each reader in ascending order.
                ring.exchange.add(&mut vectors, n_components);
                for (domain, nodes) in ring.nodes.iter().enumerate() {
                    for (local, &node) in nodes[..ring.n_own[domain]].iter().enumerate() {
                        let n_readers = ring.nodes.iter().filter(|nodes| nodes.contains(&node)).count() - 1;
                        for a in 0..n_components {
                            let mut sum = value(node, a);
                            (0..n_readers).for_each(|_| sum += value(node, a));
                            assert_eq!(vectors[domain][n_components * local + a], sum, "{lengths:?} {node}");
                        }
                    }
                }
                assert_eq!(ring.n as usize, ring.n_own.iter().sum::<usize>());
            }
        }
    }

    #[test]
    fn halos_get_what_owners_have_and_owners_the_sums_of_all() {
        update_and_add(|node, a| 0.1 + node as f32 + 100.0 * a as f32, 0.0);
        update_and_add(|node, a| 0.1 + f64::from(node) + 1e3 * a as f64, 0.0);
    }

    #[test]
    fn sums_are_added_in_the_order_of_the_messages() {
        // Sub-domain 0 owns a node that all others read; the sum of these values depends on the order.
        let parts = [1.0_f32, 1e8, -1e8, 3.0, 1e-3, -7e7, 7e7];
        let message = |reader| Message { owner: 0, reader, owned: vec![0], halo: vec![0] };
        let exchange = Exchange::in_process(7, (1..7).map(message).collect());
        let mut vectors: Vec<Vec<f32>> = parts.iter().map(|&part| vec![part]).collect();
        exchange.add(&mut vectors, 1);
        assert_eq!(vectors[0][0].to_bits(), parts[1..].iter().fold(parts[0], |sum, part| sum + part).to_bits());
        // Threads that send in any order change nothing.
        for turn in 0..7 {
            let mut sums = parts[0];
            let order = (1..7).map(|i| (i + turn) % 7).filter(|&i| i > 0);
            std::thread::scope(|scope| {
                order.for_each(|i| {
                    drop(scope.spawn({
                        let exchange = &exchange;
                        move || exchange.send_halo(i, &parts[i..=i], 1)
                    }))
                });
            });
            exchange.deliver(Receivers::Readers);
            exchange.add_received(0, std::slice::from_mut(&mut sums), 1);
            assert_eq!(sums.to_bits(), vectors[0][0].to_bits());
        }
    }

    #[test]
    fn messages_may_change_their_length() {
        let exchange =
            Exchange::in_process(2, vec![Message { owner: 0, reader: 1, owned: vec![2, 0], halo: vec![1, 2] }]);
        let mut halo = [9.0_f32; 9];
        for n_components in [3, 1, 2] {
            let values: Vec<f32> = (0..3 * n_components).map(|i| i as f32).collect();
            exchange.send_owned(0, &values, n_components);
            exchange.deliver(Receivers::Owners);
            exchange.receive_halo(1, &mut halo, n_components);
            let range = n_components..3 * n_components;
            let expected = [&values[2 * n_components..], &values[..n_components]].concat();
            assert_eq!(halo[range], expected);
        }
    }
}

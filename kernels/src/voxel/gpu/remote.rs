//! What a rank exchanges with others whose devices do not reach its device's memory.
//!
//! An array has the addresses of the whole model on the device of a rank, so that a node has the same place on all. Behind those that the
//! rank does not need there is no memory of their own ([`Arena::of_part`]). Before a kernel reads the numbers of other parts, they
//! come by a [round](Rounds) of messages.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::super::share::RankShares;
use super::layout::N_LISTS;
use super::levels::{Order, Wanted};
use super::post::{List, Postman};
use super::product::FineLevel;
use super::tiles::Shares;
use crate::device::{Address, Arena, DeviceError, Devices, Gpu, HostBuffer, Stream};
use crate::dynamics::Packing;
use crate::ranks::{Nodes, Ranks, Reader, Rounds, Writer};
use crate::simd::Real;

/// The part of this process in a model: it is that of its first device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    /// Parts of all processes.
    pub n: usize,
    pub first: usize,
    /// Whether other processes have parts, whose memory no device of this one reaches.
    pub by_messages: bool,
}

impl Parts {
    /// Those of the devices of one process.
    pub fn of_devices(n: usize) -> Self {
        Self { n, first: 0, by_messages: false }
    }

    /// The part of a rank.
    pub fn of_rank(ranks: &dyn Ranks) -> Self {
        Self { n: ranks.n_ranks(), first: ranks.rank(), by_messages: true }
    }

    /// For arrays of the devices of this process.
    pub fn arena(self, devices: &Devices) -> Arena {
        match self.by_messages {
            true => Arena::of_part(devices.ordinals()[0], self.first),
            false => Arena::of_devices(devices.ordinals()),
        }
    }

    /// Checks that each rank has something to do.
    pub fn check(self, shares: &Shares) -> Result<(), DeviceError> {
        match (0..self.n).find(|&part| shares.planes(part).is_empty()) {
            Some(n) if self.by_messages => {
                let reason = format!("it has parts for {n} of {} processes: start fewer", self.n);
                Err(DeviceError::Failed { what: "share so small a model", reason })
            }
            _ => Ok(()),
        }
    }
}

/// The numbers that this rank sends and receives of a vector with three numbers a node.
#[derive(Debug)]
pub(super) struct Carrier<T> {
    outgoing: Packing<T>,
    incoming: RefCell<Packing<T>>,
    /// Bytes of each rank.
    to: Vec<Range<usize>>,
    from: Vec<Range<usize>>,
}

impl<T: Real> Carrier<T> {
    pub fn new(gpu: &Gpu, list: &List, arena: &mut Arena) -> Result<Self, DeviceError> {
        let [to, from] = list.ranges(3 * size_of::<T>());
        Ok(Self {
            outgoing: Packing::of_vectors(gpu, "pack", &list.sent, arena)?,
            incoming: RefCell::new(Packing::of_vectors(gpu, "unpack", &list.received, arena)?),
            to,
            from,
        })
    }

    /// Brings the numbers of other ranks into a vector.
    pub fn fetch(&self, rounds: &Rounds, stream: &Stream, vector: Address) -> Result<(), DeviceError> {
        self.outgoing.start_of(stream, vector)?;
        stream.synchronize()?;
        let mut incoming = self.incoming.borrow_mut();
        let (outgoing, to, from) = (self.outgoing.bytes(), &self.to[..], &self.from[..]);
        rounds.make(Some(Nodes { outgoing, to, incoming: incoming.bytes_mut(), from }), &[])?;
        incoming.start_of(stream, vector)
    }
}

/// The exchange of vectors of the finest level.
#[derive(Debug)]
pub(super) struct Links {
    pub rounds: Arc<Rounds>,
    pub single: Carrier<f32>,
    pub double: Carrier<f64>,
}

/// The other exchanges of an iteration.
#[derive(Debug)]
pub(super) struct Remote {
    pub rounds: Arc<Rounds>,
    /// The residual that is restricted to level 1.
    pub residual: Carrier<f32>,
    /// The correction on level 1.
    pub correction: Carrier<f32>,
    /// Address of the correction on level 1.
    pub values: Address,
    pub postman: Postman,
    pub shares: RankShares,
    _mapped: Vec<HostBuffer<u8>>,
}

/// All lists of a rank, before there is memory for them.
pub(super) struct Lists {
    rounds: Arc<Rounds>,
    finest: List,
    residual: List,
    /// Those of coarse levels.
    places: Vec<List>,
    shares: RankShares,
    /// First thread block of each rank, and the number of all.
    pub blocks: Vec<usize>,
}

impl Lists {
    /// Agrees with the other ranks on what each reads of others; this one has `n_blocks` thread blocks of coarse levels, and at most
    /// so many sums of other launches come of a rank. Collective.
    pub fn new(
        ranks: &Arc<dyn Ranks>,
        (fine, order, wanted): (&FineLevel, &Order, &Wanted),
        n_blocks: u32,
        most_sums: usize,
    ) -> Self {
        let firsts: Vec<Vec<usize>> =
            (0..wanted.places.len()).map(|list| order.firsts(list / N_LISTS as usize)).collect();
        let of_finest = fine.shares.firsts();
        let all_wanted: Vec<&[u32]> =
            [&fine.wanted[..], &wanted.finest].into_iter().chain(wanted.places.iter().map(Vec::as_slice)).collect();
        let all_firsts: Vec<&[usize]> = [of_finest; 2].into_iter().chain(firsts.iter().map(Vec::as_slice)).collect();
        let mut lists = List::agree(ranks, &all_wanted, &all_firsts).into_iter();
        let (finest, residual) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
        let places: Vec<List> = lists.collect();

        let mut said = Writer::default();
        said.put(&[n_blocks]);
        let all = ranks.all_gather(said.into_bytes());
        let mut blocks = vec![0];
        for bytes in &all {
            blocks.push(blocks[blocks.len() - 1] + Reader::new(bytes).one::<u32>() as usize);
        }
        let nodes = places.iter().chain([&finest, &residual]).map(List::most_received).max().unwrap_or(0);
        let sums = blocks.windows(2).map(|pair| 3 * (pair[1] - pair[0])).max().unwrap_or(0);
        let rounds = Arc::new(Rounds::new(ranks, [3 * size_of::<f64>() * nodes, 8 * sums.max(most_sums)]));
        let shares = RankShares::gather(&**ranks, fine.shares.nodes(ranks.rank()).len(), finest.received.n_nodes());
        Self { rounds, finest, residual, places, shares, blocks }
    }

    /// Memory for the lists and the messages.
    pub fn place(self, gpu: &Gpu, arena: &mut Arena) -> Result<(Links, Remote), DeviceError> {
        let Self { rounds, finest, residual, places, shares, blocks } = self;
        let links = Links {
            rounds: rounds.clone(),
            single: Carrier::new(gpu, &finest, arena)?,
            double: Carrier::new(gpu, &finest, arena)?,
        };
        let correction = Carrier::new(gpu, &places[super::layout::IN_PROLONGATION as usize], arena)?;
        let residual = Carrier::new(gpu, &residual, arena)?;
        let mut mapped = Vec::new();
        let postman = Postman::new(places, blocks, rounds.ranks.rank(), arena, &mut mapped)?;
        Ok((links, Remote { rounds, residual, correction, values: 0, postman, shares, _mapped: mapped }))
    }
}

impl Remote {
    /// Answers the kernel of the coarse levels until it ends.
    pub fn serve(&self, stream: &Stream) -> Result<(), DeviceError> {
        let served = self.postman.serve(&self.rounds, &mut || stream.is_done());
        if served.is_err() {
            // The kernel uses this memory until it has ended.
            let _ = stream.synchronize();
        }
        served
    }
}

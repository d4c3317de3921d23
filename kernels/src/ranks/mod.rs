//! Ranks: processes, or threads of one process, that compute parts of one model together.
//!
//! Every rank maps the same block file, cuts the model in the same way and makes the stepper of its own part. Rank 0, the
//! *leader*, runs the time loop and writes all results. It gives *orders* to all ranks, itself included: to make steps, to
//! send their part of the state. The other ranks serve: they carry out orders until the leader is done ([`Team`]).
//!
//! ```text
//! leader    order ──► all ranks: execute, exchange halos among themselves ──► answers, gathered by rank ──► leader
//! ```
//!
//! [`Ranks`] is what carries bytes between ranks: [`Threads`] between threads of a process, and message passing (MPI)
//! between processes. Nothing that is computed depends on which of them it is, nor on when messages arrive.

mod accord;
#[cfg(test)]
mod late;
mod offer;
mod parcel;
mod rounds;
mod team;
mod threads;

use std::fmt::Debug;

pub(crate) use accord::Accord;
#[cfg(test)]
pub(crate) use late::Late;
pub(crate) use offer::{Reached, exchange_arrays};
pub use parcel::{Reader, Writer};
pub(crate) use rounds::{Nodes, Rounds};
pub use team::{Member, Serves, Team, serve};
pub use threads::Threads;

/// Bytes for one rank, or from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parcel {
    /// The rank at the other end.
    pub rank: usize,
    /// What it sends or gets. Of a parcel to be received: room for as many bytes as there may be.
    pub bytes: Vec<u8>,
}

/// Messages under way.
pub trait Pending: Send {
    /// Waits until all parcels have left and come. Returns the parcels that were sent, whose memory is free again, and
    /// those that were received, as long as what came.
    fn finish(self: Box<Self>) -> [Vec<Parcel>; 2];
}

/// Carries bytes between ranks. All ranks call the same collective methods in the same order.
pub trait Ranks: Send + Sync + Debug {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn n_ranks(&self) -> usize;

    /// Starts to send each parcel of `outgoing` and to receive one from each rank of `incoming`. Parcels between two ranks
    /// keep their order.
    fn start(&self, outgoing: Vec<Parcel>, incoming: Vec<Parcel>) -> Box<dyn Pending>;

    /// Sends bytes to some ranks and receives those of others, with as few copies as there can be. Parcels between two ranks keep
    /// their order, these and those of [`start`](Self::start). Returns how many bytes came of each rank of `incoming`.
    ///
    /// # Panics
    /// If more bytes come than there is room for.
    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Vec<usize> {
        let sent = outgoing.iter().map(|&(rank, bytes)| Parcel { rank, bytes: bytes.to_vec() }).collect();
        let room = incoming.iter().map(|(rank, bytes)| Parcel { rank: *rank, bytes: vec![0; bytes.len()] }).collect();
        let [_, came] = self.start(sent, room).finish();
        let copy = |((_, to), parcel): (&mut (usize, &mut [u8]), Parcel)| {
            to[..parcel.bytes.len()].copy_from_slice(&parcel.bytes);
            parcel.bytes.len()
        };
        incoming.iter_mut().zip(came).map(copy).collect()
    }

    /// The bytes that rank 0 has given; what others give does not matter. Collective.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8>;

    /// At rank 0 the bytes of each rank, by rank; elsewhere nothing. Collective.
    fn gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>>;

    /// The bytes of each rank, by rank, at every rank. Collective.
    fn all_gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        let gathered = self.gather(bytes);
        let mut writer = Writer::default();
        gathered.iter().for_each(|bytes| writer.put(bytes));
        let all = self.broadcast(writer.into_bytes());
        let mut reader = Reader::new(&all);
        (0..self.n_ranks()).map(|_| reader.take()).collect()
    }

    /// Ranks that share the cores on which this one may run, itself included.
    fn n_sharing(&self) -> usize {
        1
    }

    /// Whether all ranks are threads of this process, and so have one address space.
    fn is_one_process(&self) -> bool {
        true
    }

    /// Number of this rank among those of its host, from 0.
    fn rank_on_host(&self) -> usize {
        self.rank()
    }

    /// Whether this is rank 0.
    fn leads(&self) -> bool {
        self.rank() == 0
    }
}

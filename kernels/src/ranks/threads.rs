//! Ranks that are threads of one process.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{Parcel, Pending, Ranks};

/// Parcels that wait for a rank, in the order in which one other rank has sent them.
#[derive(Debug, Default)]
struct Mailbox {
    parcels: Mutex<VecDeque<Vec<u8>>>,
    came: Condvar,
}

impl Mailbox {
    fn put(&self, bytes: Vec<u8>) {
        self.parcels.lock().unwrap_or_else(PoisonError::into_inner).push_back(bytes);
        self.came.notify_one();
    }

    fn take(&self) -> Vec<u8> {
        let mut parcels = self.parcels.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match parcels.pop_front() {
                Some(bytes) => return bytes,
                None => parcels = self.came.wait(parcels).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// One of several threads that compute parts of a model.
#[derive(Debug, Clone)]
pub struct Threads {
    rank: usize,
    n_ranks: usize,
    /// Of messages between two ranks and of collective ones: from rank a to rank b at a × n_ranks + b.
    mailboxes: Arc<[Vec<Mailbox>; 2]>,
}

impl Threads {
    /// So many ranks, one for each thread.
    pub fn new(n_ranks: usize) -> Vec<Self> {
        let all = || (0..n_ranks * n_ranks).map(|_| Mailbox::default()).collect();
        let mailboxes = Arc::new([all(), all()]);
        (0..n_ranks).map(|rank| Self { rank, n_ranks, mailboxes: mailboxes.clone() }).collect()
    }

    fn mailbox(&self, collective: bool, from: usize, to: usize) -> &Mailbox {
        &self.mailboxes[usize::from(collective)][from * self.n_ranks + to]
    }
}

struct Awaited {
    ranks: Threads,
    outgoing: Vec<Parcel>,
    incoming: Vec<Parcel>,
}

impl Pending for Awaited {
    fn finish(self: Box<Self>) -> [Vec<Parcel>; 2] {
        let Self { ranks, outgoing, mut incoming } = *self;
        for parcel in &mut incoming {
            parcel.bytes = ranks.mailbox(false, parcel.rank, ranks.rank).take();
        }
        [outgoing, incoming]
    }
}

impl Ranks for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    fn start(&self, outgoing: Vec<Parcel>, incoming: Vec<Parcel>) -> Box<dyn Pending> {
        for parcel in &outgoing {
            self.mailbox(false, self.rank, parcel.rank).put(parcel.bytes.clone());
        }
        Box::new(Awaited { ranks: self.clone(), outgoing, incoming })
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], incoming: &mut [(usize, &mut [u8])]) -> Vec<usize> {
        outgoing.iter().for_each(|&(rank, bytes)| self.mailbox(false, self.rank, rank).put(bytes.to_vec()));
        let take = |(rank, to): &mut (usize, &mut [u8])| {
            let bytes = self.mailbox(false, *rank, self.rank).take();
            to[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        };
        incoming.iter_mut().map(take).collect()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.rank > 0 {
            return self.mailbox(true, 0, self.rank).take();
        }
        (1..self.n_ranks).for_each(|to| self.mailbox(true, 0, to).put(bytes.clone()));
        bytes
    }

    fn gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        if self.rank > 0 {
            self.mailbox(true, self.rank, 0).put(bytes);
            return Vec::new();
        }
        let others = (1..self.n_ranks).map(|from| self.mailbox(true, from, 0).take());
        std::iter::once(bytes).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parcels_keep_their_order_and_collectives_their_ranks() {
        let said: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = Threads::new(3)
                .into_iter()
                .map(|ranks| {
                    scope.spawn(move || {
                        let me = ranks.rank();
                        let [left, right] = [(me + 2) % 3, (me + 1) % 3];
                        let mut came = Vec::new();
                        for round in 0..50_u8 {
                            let outgoing = vec![Parcel { rank: right, bytes: vec![me as u8, round] }];
                            let incoming = vec![Parcel { rank: left, bytes: vec![0; 8] }];
                            let [_, incoming] = ranks.start(outgoing, incoming).finish();
                            came.push(incoming[0].bytes.clone());
                            let (sent, mut room) = ([me as u8, 100 + round], [0; 8]);
                            let n = ranks.exchange(&[(right, &sent)], &mut [(left, &mut room)]);
                            assert_eq!((n, &room[..2]), (vec![2], &[left as u8, 100 + round][..]));
                        }
                        assert!(came.into_iter().eq((0..50).map(|round| vec![left as u8, round])));
                        let gathered = ranks.gather(vec![me as u8]);
                        assert_eq!(gathered.len(), if ranks.leads() { 3 } else { 0 });
                        let all = ranks.all_gather(vec![me as u8; me]);
                        (ranks.broadcast(vec![me as u8 + 7]), gathered.concat(), all)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(said[0].1, [0, 1, 2]);
        for (broadcast, _, all) in said {
            assert_eq!(broadcast, [7]);
            assert_eq!(all, [vec![], vec![1], vec![2, 2]]);
        }
    }
}

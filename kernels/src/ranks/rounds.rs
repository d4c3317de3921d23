//! Rounds of messages between ranks of which each has a device.
//!
//! In a round every rank sends two messages to each of the others: the nodes of it that the other reads, and bytes that are the
//! same for all. A rank that cannot go on makes one more round, with messages without contents. So all ranks end at the same
//! place, and none waits for ever.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Ranks;
use crate::device::{DeviceError, Plain, Slice, Stream, append, read};

/// Nodes that leave and come: bytes, and where those of each rank stand.
pub(crate) struct Nodes<'m> {
    pub outgoing: &'m [u8],
    pub to: &'m [Range<usize>],
    pub incoming: &'m mut [u8],
    pub from: &'m [Range<usize>],
}

/// Makes the rounds of this rank.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub ranks: Arc<dyn Ranks>,
    /// Room for the largest messages of both kinds, bytes.
    most: [usize; 2],
    /// A rank has failed, and all know.
    ended: AtomicBool,
}

impl Rounds {
    /// `most` bytes can come of a rank in a message of either kind.
    pub fn new(ranks: &Arc<dyn Ranks>, most: [usize; 2]) -> Self {
        Self { ranks: ranks.clone(), most, ended: AtomicBool::new(false) }
    }

    /// The other ranks.
    fn others(&self) -> impl Iterator<Item = usize> {
        let me = self.ranks.rank();
        (0..self.ranks.n_ranks()).filter(move |&rank| rank != me)
    }

    /// One round: sends nodes, and `same` to all. Returns what the others have sent to all, by rank; nothing for this one.
    ///
    /// # Errors
    /// A rank could not go on.
    pub fn make(&self, nodes: Option<Nodes<'_>>, same: &[u8]) -> Result<Vec<Vec<u8>>, DeviceError> {
        /// A message without contents has another meaning.
        const NOTHING: &[u8] = &[0];
        let (me, n_ranks) = (self.ranks.rank(), self.ranks.n_ranks());
        let (to, from): (Vec<&[u8]>, Vec<&mut [u8]>) = match nodes {
            Some(Nodes { outgoing, to, incoming, from }) => {
                (to.iter().map(|range| &outgoing[range.clone()]).collect(), split(incoming, from))
            }
            None => (vec![&[]; n_ranks], (0..n_ranks).map(|_| &mut [][..]).collect()),
        };
        let mut same_of: Vec<Vec<u8>> = vec![vec![0; self.most[1].max(1)]; n_ranks];
        let mut nothing = vec![[0_u8]; n_ranks];
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        let rooms = from.into_iter().zip(&mut nothing).zip(&mut same_of);
        for (rank, (to, ((nodes, nothing), same_of))) in to.into_iter().zip(rooms).enumerate() {
            if rank == me {
                continue;
            }
            outgoing.push((rank, if to.is_empty() { NOTHING } else { to }));
            outgoing.push((rank, if same.is_empty() { NOTHING } else { same }));
            incoming.push((rank, if nodes.is_empty() { &mut nothing[..] } else { nodes }));
            incoming.push((rank, &mut same_of[..]));
        }
        let came = self.ranks.exchange(&outgoing, &mut incoming);
        drop(incoming);
        for (pair, rank) in came.chunks_exact(2).zip(self.others()) {
            if pair[0] == 0 {
                self.ended.store(true, Ordering::Relaxed);
                return Err(DeviceError::OnRank { rank, reason: "its device has failed".into() });
            }
            same_of[rank].truncate(pair[1]);
        }
        same_of[me].clear();
        Ok(same_of)
    }

    /// The numbers of all ranks, by rank.
    ///
    /// # Errors
    /// A rank could not go on.
    pub fn gather<T: Plain>(&self, own: &[T]) -> Result<Vec<Vec<T>>, DeviceError> {
        let mut bytes = Vec::new();
        append(own, &mut bytes);
        let came = self.make(None, &bytes)?;
        let numbers = |bytes: Vec<u8>| bytes.chunks_exact(size_of::<T>()).map(read).collect();
        let mut all: Vec<Vec<T>> = came.into_iter().map(numbers).collect();
        all[self.ranks.rank()] = own.to_vec();
        Ok(all)
    }

    /// What the first rank says.
    ///
    /// # Errors
    /// A rank could not go on.
    pub fn of_first(&self, word: bool) -> Result<bool, DeviceError> {
        Ok(self.gather(&[u8::from(word)])?[0] == [1])
    }

    /// Gives each rank the sums of all in an array on the device, of which this one has its `own` and others have those before and after, in
    /// the order of the ranks.
    ///
    /// # Errors
    /// A rank could not go on, or what the driver reports.
    pub fn share(&self, stream: &Stream, sums: &Slice<f64>, own: Range<usize>) -> Result<(), DeviceError> {
        stream.synchronize()?;
        let all = self.gather(&sums.part::<f64>(own.start, own.len()).to_vec()?)?.concat();
        sums.part::<f64>(0, all.len()).write(&all)
    }

    /// What a rank has come to. One that has failed lets the others know.
    pub fn settle<V>(&self, outcome: Result<V, DeviceError>) -> Result<V, DeviceError> {
        if outcome.is_err() && !self.ended.load(Ordering::Relaxed) {
            self.give_up();
        }
        outcome
    }

    /// A round of messages without contents.
    fn give_up(&self) {
        self.ended.store(true, Ordering::Relaxed);
        let outgoing: Vec<(usize, &[u8])> = self.others().flat_map(|rank| [(rank, &[][..]); 2]).collect();
        let room = |rank| self.most.map(|most| (rank, vec![0; most.max(1)]));
        let mut rooms: Vec<(usize, Vec<u8>)> = self.others().flat_map(room).collect();
        let mut incoming: Vec<(usize, &mut [u8])> =
            rooms.iter_mut().map(|(rank, room)| (*rank, &mut room[..])).collect();
        self.ranks.exchange(&outgoing, &mut incoming);
    }
}

/// The bytes of each range; ranges follow each other from 0 on.
fn split<'b>(mut bytes: &'b mut [u8], ranges: &[Range<usize>]) -> Vec<&'b mut [u8]> {
    let mut next = |range: &Range<usize>| {
        let (of_range, rest) = std::mem::take(&mut bytes).split_at_mut(range.len());
        bytes = rest;
        of_range
    };
    ranges.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Threads;

    /// Three ranks. Rank r sends r + 1 bytes to rank r + 1, and r bytes to all. Then one of them cannot go on.
    #[test]
    fn rounds_bring_nodes_and_what_is_the_same_for_all_until_a_rank_fails() {
        std::thread::scope(|scope| {
            for ranks in Threads::new(3) {
                scope.spawn(move || {
                    let ranks: Arc<dyn Ranks> = Arc::new(ranks);
                    let me = ranks.rank();
                    let rounds = Rounds::new(&ranks, [3, 24]);
                    let (left, right) = ((me + 2) % 3, (me + 1) % 3);
                    let sent = vec![me as u8; me + 1];
                    let mut came = vec![9; left + 1];
                    let to: Vec<_> = (0..3).map(|rank| if rank == right { 0..sent.len() } else { 0..0 }).collect();
                    let from: Vec<_> = (0..3).map(|rank| if rank == left { 0..left + 1 } else { 0..0 }).collect();
                    for round in 0..5 {
                        let nodes = Nodes { outgoing: &sent, to: &to, incoming: &mut came, from: &from };
                        let all = rounds.make(Some(nodes), &vec![me as u8 + round; me + 1]).unwrap();
                        assert_eq!(came, vec![left as u8; left + 1]);
                        let expected = |rank| if rank == me { vec![] } else { vec![rank as u8 + round; rank + 1] };
                        assert_eq!(all, (0..3).map(expected).collect::<Vec<_>>());
                        assert_eq!(rounds.gather(&vec![1.5 + me as f64; me]).unwrap()[2], [3.5, 3.5]);
                    }
                    let outcome = if me == 1 { Err(DeviceError::NoDriver) } else { rounds.gather(&[1_u8]).map(drop) };
                    match (me, rounds.settle(outcome)) {
                        (1, Err(DeviceError::NoDriver)) => {}
                        (0 | 2, Err(DeviceError::OnRank { rank: 1, .. })) => {}
                        (_, other) => panic!("rank {me}: {other:?}"),
                    }
                });
            }
        });
    }
}

//! The leader's orders to all ranks.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Ranks, Writer};
use crate::device::DeviceError;

/// The part of a model that one rank has.
pub trait Member: Send {
    /// Carries out an order. All ranks get the same orders, so that messages between them find their ends.
    ///
    /// # Errors
    /// The device is lost. Messages to other ranks have been sent all the same, or would be waited for.
    fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError>;
}

/// A member with what it tells the leader before the first order.
pub trait Serves: Send {
    /// Carries out the leader's orders until it is done.
    fn serve(self, ranks: &dyn Ranks);
}

/// All ranks, as the leader sees them. Dropping it ends the service of the others.
#[derive(Debug)]
pub struct Team<M> {
    ranks: Arc<dyn Ranks>,
    /// The leader's own part.
    member: Mutex<M>,
}

/// What stands before an order.
const GO_ON: u8 = 1;

/// What stands before an answer: it is one, or the device of the rank has failed, or that of another rank.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const OTHER_FAILED: u8 = 2;

impl<M: Member> Team<M> {
    /// The team at rank 0, with its own member.
    pub fn new(ranks: Arc<dyn Ranks>, member: M) -> Self {
        Self { ranks, member: Mutex::new(member) }
    }

    /// Lets all ranks carry out an order; their answers, by rank.
    ///
    /// # Errors
    /// What went wrong at the first rank that could not, rather than at one that cannot go on without another.
    pub fn order(&self, order: &[u8]) -> Result<Vec<Vec<u8>>, DeviceError> {
        let mut member = self.member.lock().unwrap_or_else(PoisonError::into_inner);
        self.ranks.broadcast([&[GO_ON], order].concat());
        let answers = self.ranks.gather(answer(member.execute(order)));
        let cause = answers.iter().position(|bytes| bytes[0] == FAILED);
        let by_rank = answers.iter().enumerate();
        by_rank.skip(cause.unwrap_or(0)).map(|(rank, bytes)| understand(rank, bytes)).collect()
    }

    /// Lets all ranks carry out an order of some kind, of which members know what follows.
    ///
    /// # Errors
    /// As for [`order`](Self::order).
    pub fn order_of_kind(&self, kind: u8, content: impl FnOnce(&mut Writer)) -> Result<Vec<Vec<u8>>, DeviceError> {
        let mut order = Writer::default();
        order.put(&[kind]);
        content(&mut order);
        self.order(&order.into_bytes())
    }

    /// The leader's own part.
    pub fn member(&mut self) -> &mut M {
        self.member.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Drop for Team<M> {
    fn drop(&mut self) {
        self.ranks.broadcast(Vec::new());
    }
}

/// Carries out the leader's orders until it is done.
pub fn serve(ranks: &dyn Ranks, mut member: impl Member) {
    while let Some((_, order)) = ranks.broadcast(Vec::new()).split_first() {
        ranks.gather(answer(member.execute(order)));
    }
}

/// An answer, or the reason why there is none, as bytes.
fn answer(result: Result<Vec<u8>, DeviceError>) -> Vec<u8> {
    let (kind, said) = match result {
        Ok(bytes) => (DONE, bytes),
        Err(error @ DeviceError::OnRank { .. }) => (OTHER_FAILED, error.to_string().into_bytes()),
        Err(error) => (FAILED, error.to_string().into_bytes()),
    };
    [&[kind], said.as_slice()].concat()
}

fn understand(rank: usize, bytes: &[u8]) -> Result<Vec<u8>, DeviceError> {
    let (kind, said) = bytes.split_at(1);
    match kind {
        [DONE] => Ok(said.to_vec()),
        _ => Err(DeviceError::OnRank { rank, reason: String::from_utf8_lossy(said).into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Threads;
    use super::*;

    struct Doubles(usize);

    impl Member for Doubles {
        fn execute(&mut self, order: &[u8]) -> Result<Vec<u8>, DeviceError> {
            match order {
                b"fail" if self.0 == 1 => Err(DeviceError::NoDriver),
                b"fail" if self.0 == 0 => Err(DeviceError::OnRank { rank: 1, reason: "its device has failed".into() }),
                _ => Ok([order, &[self.0 as u8]].concat()),
            }
        }
    }

    #[test]
    fn orders_reach_all_ranks_and_failures_name_theirs() {
        std::thread::scope(|scope| {
            for ranks in Threads::new(3) {
                scope.spawn(move || {
                    let rank = ranks.rank();
                    if rank > 0 {
                        return serve(&ranks, Doubles(rank));
                    }
                    let team = Team::new(Arc::new(ranks), Doubles(rank));
                    assert_eq!(team.order(b"a").unwrap(), [b"a\0", b"a\x01", b"a\x02"]);
                    let error = team.order(b"fail").unwrap_err().to_string();
                    assert_eq!(error, format!("rank 1: {}", DeviceError::NoDriver));
                    assert_eq!(team.order(b"").unwrap().len(), 3);
                });
            }
        });
    }
}

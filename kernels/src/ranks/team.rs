//! The leader's orders to all ranks.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Ranks, Reader, Writer};
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
    pub member: M,
}

/// What stands before an order.
const GO_ON: u8 = 1;

impl<M: Member> Team<M> {
    /// The team at rank 0, with its own member.
    pub fn new(ranks: Arc<dyn Ranks>, member: M) -> Self {
        Self { ranks, member }
    }

    /// Lets all ranks carry out an order; their answers, by rank.
    ///
    /// # Errors
    /// What went wrong at the first rank that could not.
    pub fn order(&mut self, order: &[u8]) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.ranks.broadcast([&[GO_ON], order].concat());
        let answers = self.ranks.gather(answer(self.member.execute(order)));
        answers.into_iter().enumerate().map(|(rank, bytes)| understand(rank, &bytes)).collect()
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
    let mut writer = Writer::default();
    match result {
        Ok(bytes) => {
            writer.put(&[1_u8]);
            writer.put(&bytes);
        }
        Err(error) => {
            writer.put(&[0_u8]);
            writer.put(error.to_string().as_bytes());
        }
    }
    writer.into_bytes()
}

fn understand(rank: usize, bytes: &[u8]) -> Result<Vec<u8>, DeviceError> {
    let mut reader = Reader::new(bytes);
    match reader.one::<u8>() {
        1 => Ok(reader.take()),
        _ => Err(DeviceError::OnRank { rank, reason: String::from_utf8_lossy(&reader.take::<u8>()).into() }),
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
                    let mut team = Team::new(Arc::new(ranks), Doubles(rank));
                    assert_eq!(team.order(b"a").unwrap(), [b"a\0", b"a\x01", b"a\x02"]);
                    let error = team.order(b"fail").unwrap_err().to_string();
                    assert!(error.starts_with("rank 1: "), "{error}");
                    assert_eq!(team.order(b"").unwrap().len(), 3);
                });
            }
        });
    }
}

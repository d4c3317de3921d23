//! Ranks for tests, whose messages take their time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Parcel, Pending, Ranks, Threads};

/// Ranks whose messages come late, each by a time of its own.
#[derive(Debug)]
pub(crate) struct Late {
    ranks: Threads,
    calls: AtomicU64,
}

impl Late {
    pub fn new(ranks: Threads) -> Self {
        Self { ranks, calls: AtomicU64::new(0) }
    }

    fn wait(&self) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let noise = crate::test_meshes::noise(call * 64 + self.ranks.rank() as u64);
        if noise > 0.3 {
            std::thread::sleep(Duration::from_micros((200.0 * noise.abs()) as u64));
        }
    }
}

impl Ranks for Late {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }

    fn n_ranks(&self) -> usize {
        self.ranks.n_ranks()
    }

    fn start(&self, outgoing: Vec<Parcel>, incoming: Vec<Parcel>) -> Box<dyn Pending> {
        self.wait();
        self.ranks.start(outgoing, incoming)
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.wait();
        self.ranks.broadcast(bytes)
    }

    fn gather(&self, bytes: Vec<u8>) -> Vec<Vec<u8>> {
        self.wait();
        self.ranks.gather(bytes)
    }
}

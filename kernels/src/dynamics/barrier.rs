//! Waiting for a few microseconds: spins, then yields.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Spins before the thread gives its core away.
const SPINS: u32 = 4000;

/// All threads wait for the last one, again and again.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), generation: AtomicUsize::new(0) }
    }

    /// Returns once every thread has called it; what they wrote before is visible after.
    pub fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        wait_until(|| self.generation.load(Ordering::Acquire) != generation);
    }
}

/// Returns once `ready` says so.
#[inline]
pub fn wait_until(ready: impl Fn() -> bool) {
    let mut spins = 0;
    while !ready() {
        if spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

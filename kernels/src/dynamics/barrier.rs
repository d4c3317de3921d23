//! Waiting for a few microseconds, or longer where other programs have the cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Looks before a thread sleeps, some 80 µs: threads with a core each are seldom further apart. A thread that only gave its core away
/// from time to time would come back when the others have used up theirs, which takes milliseconds.
const SPINS: u32 = 4000;
/// A thread that sleeps looks again after this time, if nobody has told it anything.
const SLEEP: Duration = Duration::from_millis(1);

/// Tells threads that sleep that something has changed.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    sleepers: AtomicUsize,
    mutex: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Returns once `ready` says so. Who makes it ready rings afterwards.
    #[inline]
    pub fn wait_until(&self, ready: impl Fn() -> bool) {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleep_until(&ready);
    }

    #[cold]
    fn sleep_until(&self, ready: &dyn Fn() -> bool) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        while !ready() {
            guard = self.rung.wait_timeout(guard, SLEEP).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes those that sleep. One that falls asleep at this moment may miss it, and looks again soon.
    #[inline]
    pub fn ring(&self) {
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            drop(self.mutex.lock().unwrap_or_else(PoisonError::into_inner));
            self.rung.notify_all();
        }
    }
}

/// All threads wait for the last one, again and again.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    bell: Bell,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), generation: AtomicUsize::new(0), bell: Bell::default() }
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
            self.bell.ring();
            return;
        }
        self.bell.wait_until(|| self.generation.load(Ordering::Acquire) != generation);
    }
}

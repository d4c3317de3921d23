//! Signals of the operating system and the limit of wall-clock time, seen at the next pause of a run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pogo_formats::system::signals;
use pogo_formats::write::remove_unfinished;
use signal_hook::consts::SIGUSR1;

/// What the user or the queueing system has asked for so far.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    stop: Arc<AtomicBool>,
    checkpoint: Arc<AtomicBool>,
    /// Of several runs at the same time: which of them have still to write a checkpoint that was asked for.
    due: Arc<[AtomicBool]>,
    /// Number of this run among them.
    lane: usize,
    /// When the time is over that the command may take.
    deadline: Option<Instant>,
}

/// Whether a signal is the first, or comes together with it, at a time `now` > 0, ms. `first` is the time of the first, or 0.
fn comes_first(first: &AtomicU64, now: u64) -> bool {
    /// `timeout` sends a signal to the process, and at once again to its group.
    const TOGETHER: u64 = 500;
    let before = first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    before.map_or_else(|before| now.saturating_sub(before) < TOGETHER, |_| true)
}

impl Interrupts {
    /// Catches SIGTERM, SIGINT and SIGHUP (stop after a checkpoint) and SIGUSR1 (checkpoint and go on). A second one that
    /// stops, unless it comes with the first, ends the process at once, without its temporary files. SIGHUP stays ignored
    /// under `nohup`. A file beyond the size limit (SIGXFSZ) becomes an ordinary error of the write.
    ///
    /// # Errors
    /// The operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        let interrupts = Self::default();
        let installed = Instant::now();
        // When the first came, as `comes_first` has it.
        let first = Arc::new(AtomicU64::new(0));
        for signal in signals::that_end_a_run() {
            let (stop, first) = (Arc::clone(&interrupts.stop), Arc::clone(&first));
            let stop_or_end = move || {
                let now = installed.elapsed().as_millis() as u64 + 1;
                if !comes_first(&first, now) {
                    remove_unfinished();
                    signal_hook::low_level::exit(128 + signal);
                }
                stop.store(true, Ordering::Relaxed);
            };
            // SAFETY: each of these calls may be made in a handler.
            unsafe { signal_hook::low_level::register(signal, stop_or_end) }?;
        }
        signal_hook::flag::register(SIGUSR1, Arc::clone(&interrupts.checkpoint))?;
        signals::report_large_files()?;
        Ok(interrupts)
    }

    /// Asks for a checkpoint and the end of the run, as SIGTERM does.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The same signals, and from now on no more than this wall-clock time.
    pub(crate) fn limited_to(&self, wall_time: Option<Duration>) -> Self {
        // A time beyond what the clock counts is no limit.
        let deadline = wall_time.and_then(|time| Instant::now().checked_add(time));
        Self { deadline, ..self.clone() }
    }

    /// Wall-clock time that is left; none where it has no limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The run must end.
    pub fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_out_of_time()
    }

    fn is_out_of_time(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// What a run says that was stopped: the word, and why where it was no signal.
    pub(crate) fn stopped(&self) -> &'static str {
        if self.is_out_of_time() { "stopped by --wall-time" } else { "stopped" }
    }

    /// A checkpoint was asked for since the last call.
    pub fn take_checkpoint_request(&self) -> bool {
        let asked = self.checkpoint.swap(false, Ordering::Relaxed);
        if asked {
            self.due.iter().for_each(|due| due.store(true, Ordering::Relaxed));
        }
        self.due.get(self.lane).map_or(asked, |due| due.swap(false, Ordering::Relaxed))
    }

    /// For each of `n` runs at the same time: whoever sees a request for a checkpoint first passes it on to the others.
    pub(crate) fn for_lanes(&self, n: usize) -> Vec<Self> {
        let due: Arc<[AtomicBool]> = (0..n).map(|_| AtomicBool::new(false)).collect();
        (0..n).map(|lane| Self { due: due.clone(), lane, ..self.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one() {
        let first = AtomicU64::new(0);
        assert!([7, 7, 30, 506].iter().all(|&now| comes_first(&first, now)));
        assert!(!comes_first(&first, 507));
    }

    #[test]
    fn a_limit_of_time_stops_every_run() {
        let interrupts = Interrupts::default();
        let limited = |seconds| interrupts.limited_to(Some(Duration::from_secs(seconds)));
        assert!(limited(0).for_lanes(2).iter().all(Interrupts::stop_requested));
        assert_eq!((limited(0).stopped(), limited(1000).stopped()), ("stopped by --wall-time", "stopped"));
        assert!(!limited(1000).stop_requested() && !limited(u64::MAX).stop_requested());
        assert!(limited(1000).time_left() > Some(Duration::from_secs(900)) && interrupts.time_left().is_none());
    }

    #[test]
    fn every_run_sees_a_request_for_a_checkpoint_once() {
        let interrupts = Interrupts::default();
        let lanes = interrupts.for_lanes(3);
        interrupts.checkpoint.store(true, Ordering::Relaxed);
        for expected in [true, false] {
            assert!(lanes.iter().rev().all(|lane| lane.take_checkpoint_request() == expected));
        }
        interrupts.checkpoint.store(true, Ordering::Relaxed);
        assert_eq!([(); 2].map(|()| interrupts.take_checkpoint_request()), [true, false]);
        lanes[1].request_stop();
        assert!(interrupts.stop_requested() && lanes[2].stop_requested());
    }
}

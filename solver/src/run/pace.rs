//! The rhythm of a time loop: how many steps are made before something has to be looked at or written.

use std::time::{Duration, Instant};

use indicatif::HumanDuration;

use super::schedule;
use crate::config::CheckpointInterval;

/// Signals of the operating system are answered, and progress is told, about this often.
const PAUSE_INTERVAL: Duration = Duration::from_millis(100);
/// Largest recording or signal table between two pauses, numbers.
const MAX_BUFFER: usize = 1 << 22;

/// Computing time after which the pace says how long the run will take, s.
const TRIAL: f64 = 3.0;
/// Computing time from which on a run without a limit is likely to be a mistake, s: thirty days.
const TOO_LONG: f64 = 30.0 * 86400.0;

/// Says once, soon after the start, that a run will not come to its end in the time that it has.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    has_looked: bool,
}

impl Foresight {
    /// What is to be said after `step`, with this wall-clock time left.
    pub fn look(&mut self, pace: &Pace<'_>, step: u64, time_left: Option<Duration>) -> Option<String> {
        if self.has_looked || pace.seconds() < TRIAL {
            return None;
        }
        self.has_looked = true;
        let needed = pace.seconds_left(step)?;
        let in_words = |seconds: f64| match Duration::try_from_secs_f64(seconds) {
            Ok(duration) => HumanDuration(duration).to_string(),
            Err(_) => format!("{:.0e} years", seconds / (365.25 * 86400.0)),
        };
        match time_left.map(|left| left.as_secs_f64()) {
            Some(left) if needed > left => Some(format!(
                "warning: at this pace the run needs {} more, and --wall-time leaves {}: it will stop with a checkpoint, \
                 from which --restart goes on",
                in_words(needed),
                in_words(left)
            )),
            None if needed > TOO_LONG => Some(format!(
                "warning: at this pace the run needs {} more; --time makes it shorter, and --wall-time bounds it",
                in_words(needed)
            )),
            _ => None,
        }
    }
}

/// When to pause, and the time spent between pauses.
pub(crate) struct Pace<'a> {
    first_step: u64,
    n_steps: u64,
    checkpoint: Option<CheckpointInterval>,
    /// Steps at which energies are sampled or snapshots written, each increasing.
    due: [&'a [u64]; 2],
    /// Steps that fill one pause interval, as far as is known.
    stretch: u64,
    last_checkpoint: (Instant, u64),
    computing: Duration,
}

impl<'a> Pace<'a> {
    /// From `step` to `n_steps`.
    pub fn new(step: u64, n_steps: u64, checkpoint: Option<CheckpointInterval>, due: [&'a [u64]; 2]) -> Self {
        let last_checkpoint = (Instant::now(), step);
        let first_step = step;
        Self { first_step, n_steps, checkpoint, due, stretch: 1, last_checkpoint, computing: Duration::ZERO }
    }

    /// The interval between checkpoints is over.
    pub fn checkpoint_is_due(&self, step: u64) -> bool {
        let (when, at) = self.last_checkpoint;
        match self.checkpoint {
            Some(CheckpointInterval::Wall(interval)) => when.elapsed() >= interval,
            Some(CheckpointInterval::Steps(interval)) => step >= at + interval,
            None => false,
        }
    }

    /// A checkpoint has been written.
    pub fn checkpointed(&mut self, step: u64) {
        self.last_checkpoint = (Instant::now(), step);
    }

    /// Where the next pause is. Devices may make two steps in a pass, which are rounded in another order than two single steps.
    /// So a pause that only depends on the speed of the machine comes at an even step: the same steps make pairs in every run.
    pub fn next(&self, step: u64) -> u64 {
        let stretch = step + self.stretch;
        let mut next = (stretch + stretch % 2).min(self.n_steps);
        for due in self.due {
            next = next.min(schedule::next_after(due, step));
        }
        if let Some(CheckpointInterval::Steps(interval)) = self.checkpoint {
            next = next.min(self.last_checkpoint.1 + interval);
        }
        next
    }

    /// Does work that counts as computing.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.computing += start.elapsed();
        result
    }

    /// Makes `n` steps, which record or read `width` numbers each, and learns from them how long the next stretch may be.
    pub fn stretch<T>(&mut self, n: u64, width: usize, steps: impl FnOnce() -> T) -> T {
        let before = self.computing;
        let result = self.time(steps);
        let per_step = (self.computing - before).as_secs_f64() / n as f64;
        let wanted = (PAUSE_INTERVAL.as_secs_f64() / per_step.max(1e-9)) as u64;
        let memory = (MAX_BUFFER / width.max(1)).max(1) as u64;
        self.stretch = wanted.clamp(1, self.stretch.saturating_mul(8)).clamp(1, memory);
        result
    }

    /// Computing time that the steps behind `step` take at the pace so far, s; none before any.
    pub fn seconds_left(&self, step: u64) -> Option<f64> {
        let made = step.checked_sub(self.first_step).filter(|&made| made > 0)?;
        Some(self.seconds() / made as f64 * self.n_steps.saturating_sub(step) as f64)
    }

    /// Time spent computing so far, s.
    pub fn seconds(&self) -> f64 {
        self.computing.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ends_where_something_is_due() {
        let energies = [0, 4, 10];
        let mut pace = Pace::new(0, 10, Some(CheckpointInterval::Steps(3)), [&energies, &[0, 10]]);
        assert_eq!(pace.next(0), 2);
        // Steps that take no time: eight times as many at once, up to what is due first.
        pace.stretch(1, 1, || ());
        assert_eq!((pace.next(1), pace.checkpoint_is_due(3)), (3, true));
        pace.checkpointed(3);
        assert_eq!((pace.next(3), pace.checkpoint_is_due(5)), (4, false));
        assert_eq!(pace.next(4), 6);
        pace.checkpointed(9);
        assert_eq!(pace.next(9), 10);
    }

    #[test]
    fn a_run_that_takes_too_long_is_foreseen_once() {
        let mut pace = Pace::new(0, 1_000_000, None, [&[], &[]]);
        pace.computing = Duration::from_secs(4);
        let look = |step, left| Foresight::default().look(&pace, step, left);
        assert!(look(1, None).is_some_and(|text| text.contains("needs 7 weeks more; --time")));
        assert_eq!(look(10, None), None);
        let hour = Some(Duration::from_secs(3600));
        assert!(look(10, hour).is_some_and(|text| text.contains("5 days more, and --wall-time leaves 60 minutes")));
        assert_eq!(look(10_000, hour), None);
        let mut foresight = Foresight::default();
        assert!(foresight.look(&pace, 1, None).is_some() && foresight.look(&pace, 2, None).is_none());
        pace.computing = Duration::from_secs(2);
        assert_eq!(Foresight::default().look(&pace, 1, None), None);
    }

    #[test]
    fn long_steps_and_wide_tables_are_made_one_by_one() {
        let mut pace = Pace::new(0, 1000, None, [&[], &[]]);
        pace.stretch(1, MAX_BUFFER, || ());
        assert_eq!(pace.next(1), 2);
        pace.stretch(1, 1, || std::thread::sleep(Duration::from_millis(110)));
        assert_eq!(pace.next(2), 4);
        assert!(pace.seconds() >= 0.11);
        assert!(pace.seconds_left(0).is_none());
        assert!(pace.seconds_left(250).is_some_and(|left| (left / pace.seconds() - 3.0).abs() < 1e-12));
    }
}

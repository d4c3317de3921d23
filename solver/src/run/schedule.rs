//! The steps of a run, and which of them are written.

use pogo_formats::dynamics::{Increment, OutputInterval};

/// More steps than anybody waits for; beyond it, tables of steps would not fit in memory either.
const MAX_STEPS: f64 = 5e8;

/// The steps of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    /// Δt, s.
    pub time_increment: f64,
    /// Number of the last step.
    pub n_steps: u64,
}

impl Clock {
    /// The steps of a run of `time` seconds. An automatic increment is a factor times `stable`, s, or a little less, so
    /// that whole increments end where the run does.
    ///
    /// # Errors
    /// A time or an increment that is not positive, or too many steps: what is wrong, and what to do.
    pub fn new(time: f64, increment: Increment, stable: f64) -> Result<Self, String> {
        match increment {
            Increment::Fixed(time_increment) => {
                Ok(Self { time_increment, n_steps: checked_steps(time, time_increment)? })
            }
            Increment::Automatic { factor } => {
                let largest = factor * stable;
                let nearest = checked_steps(time, largest)?;
                // None above the largest but for rounding.
                let n_steps = if time > nearest as f64 * largest * (1.0 + 1e-9) { nearest + 1 } else { nearest };
                Ok(Self { time_increment: time / n_steps as f64, n_steps })
            }
        }
    }

    /// t_n, s.
    pub fn time(&self, step: u64) -> f64 {
        step as f64 * self.time_increment
    }
}

fn checked_steps(time: f64, time_increment: f64) -> Result<u64, String> {
    if !(time > 0.0 && time.is_finite()) {
        return Err(format!("the run's time is {time} s; give a positive one with --time"));
    }
    if !(time_increment > 0.0 && time_increment.is_finite()) {
        return Err(format!("the increment is {time_increment} s; give a positive one with --increment, or auto"));
    }
    if time / time_increment >= MAX_STEPS {
        // Debug's form: exponents for what is small or large.
        return Err(format!(
            "{time:?} s in increments of {time_increment:?} s are more than {MAX_STEPS:e} steps; check their units"
        ));
    }
    Ok(rounded_steps(time, time_increment))
}

/// round(time / Δt), at least one.
fn rounded_steps(time: f64, time_increment: f64) -> u64 {
    ((time / time_increment).round() as u64).max(1)
}

/// Step numbers of an output, increasing, always with 0 and the last step.
///
/// `Increments(k)`: every k-th step. `Time(s)`: the step nearest to each multiple of s. `Count(c)`: c equal intervals.
pub(crate) fn steps(interval: OutputInterval, Clock { time_increment, n_steps }: Clock) -> Vec<u64> {
    let mut steps = match interval {
        OutputInterval::Increments(every) => every_so_many(f64::from(every.max(1)), n_steps),
        OutputInterval::Time(seconds) => every_so_many((seconds / time_increment).max(1.0), n_steps),
        OutputInterval::Count(count) => every_so_many((n_steps as f64 / f64::from(count.max(1))).max(1.0), n_steps),
    };
    if steps.last() != Some(&n_steps) {
        steps.push(n_steps);
    }
    steps.dedup();
    steps
}

/// Length of [`steps`], or one more.
pub(crate) fn n_steps(interval: OutputInterval, Clock { time_increment, n_steps }: Clock) -> f64 {
    let n_steps = n_steps as f64;
    let intervals = match interval {
        OutputInterval::Increments(every) => n_steps / f64::from(every.max(1)),
        OutputInterval::Time(seconds) => n_steps / (seconds / time_increment).max(1.0),
        OutputInterval::Count(count) => f64::from(count.max(1)).min(n_steps),
    };
    intervals + 2.0
}

/// First of `steps` (increasing) after `step`; `u64::MAX` if there is none.
pub(crate) fn next_after(steps: &[u64], step: u64) -> u64 {
    steps.get(steps.partition_point(|&due| due <= step)).copied().unwrap_or(u64::MAX)
}

fn every_so_many(period: f64, n_steps: u64) -> Vec<u64> {
    // A period of NaN or beyond the run gives the start alone; the end is added by the caller.
    let count = if period <= n_steps as f64 { (n_steps as f64 / period + 1e-9) as u64 } else { 0 };
    (0..=count).map(|index| ((index as f64 * period).round() as u64).min(n_steps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(interval: OutputInterval, n_steps: u64, time_increment: f64) -> Vec<u64> {
        super::steps(interval, Clock { time_increment, n_steps })
    }

    #[test]
    fn start_and_end_are_always_written() {
        assert_eq!(steps(OutputInterval::Increments(4), 10, 0.1), [0, 4, 8, 10]);
        assert_eq!(steps(OutputInterval::Increments(1), 3, 0.1), [0, 1, 2, 3]);
        assert_eq!(steps(OutputInterval::Increments(0), 2, 0.1), [0, 1, 2]);
        assert_eq!(steps(OutputInterval::Count(4), 2400, 5e-9), [0, 600, 1200, 1800, 2400]);
        assert_eq!(steps(OutputInterval::Count(3), 10, 0.1), [0, 3, 7, 10]);
        assert_eq!(steps(OutputInterval::Time(0.25), 10, 0.1), [0, 3, 5, 8, 10]);
        assert_eq!(steps(OutputInterval::Time(1e9), 10, 0.1), [0, 10]);
        assert_eq!(steps(OutputInterval::Time(1e-9), 3, 0.1), [0, 1, 2, 3]);
        assert_eq!(steps(OutputInterval::Time(f64::NAN), 3, 0.1), [0, 1, 2, 3]);
        assert_eq!(steps(OutputInterval::Count(0), 5, 0.1), [0, 5]);
    }

    proptest::proptest! {
        #[test]
        fn steps_increase_from_the_start_to_the_end(
            n in 1u64..2000,
            every in 0u32..3000,
            seconds in 1e-9..1e2f64,
            which in 0..3,
        ) {
            let interval = match which {
                0 => OutputInterval::Increments(every),
                1 => OutputInterval::Time(seconds),
                _ => OutputInterval::Count(every),
            };
            let steps = steps(interval, n, 1e-3);
            proptest::prop_assert!(steps.is_sorted_by(|a, b| a < b));
            proptest::prop_assert_eq!((steps.first(), steps.last()), (Some(&0), Some(&n)));
            if which == 2 {
                proptest::prop_assert_eq!(steps.len() as u64, u64::from(every.max(1)).min(n) + 1);
            }
            let told = n_steps(interval, Clock { time_increment: 1e-3, n_steps: n });
            let length = steps.len() as f64;
            proptest::prop_assert!(told >= length - 1e-6 && told <= length + 1.5, "{} for {}", told, length);
        }
    }

    #[test]
    fn the_number_of_steps_is_rounded() {
        assert_eq!(rounded_steps(1.2e-5, 5e-9), 2400);
        assert_eq!(rounded_steps(1.0, 0.3), 3);
        assert_eq!(rounded_steps(0.1, 0.3), 1);
    }
}

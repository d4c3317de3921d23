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

    /// The steps of a run that goes on from a checkpoint with this increment, s, which an automatic one takes over. Whole
    /// increments end at the run's time or behind it.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn going_on(time: f64, increment: Increment, stable: f64, before: Option<f64>) -> Result<Self, String> {
        let (Some(time_increment), Increment::Automatic { .. }) = (before, increment) else {
            return Self::new(time, increment, stable);
        };
        let nearest = checked_steps(time, time_increment)?;
        let is_short = time > nearest as f64 * time_increment * (1.0 + 1e-9);
        Ok(Self { time_increment, n_steps: nearest + u64::from(is_short) })
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

/// Step numbers of an output, as [`OutputInterval::steps`] gives them.
pub(crate) fn steps(interval: &OutputInterval, Clock { time_increment, n_steps }: Clock) -> Vec<u64> {
    interval.steps(time_increment, n_steps)
}

/// First of `steps` (increasing) after `step`; `u64::MAX` if there is none.
pub(crate) fn next_after(steps: &[u64], step: u64) -> u64 {
    steps.get(steps.partition_point(|&due| due <= step)).copied().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_steps_is_rounded() {
        assert_eq!(rounded_steps(1.2e-5, 5e-9), 2400);
        assert_eq!(rounded_steps(1.0, 0.3), 3);
        assert_eq!(rounded_steps(0.1, 0.3), 1);
    }
}

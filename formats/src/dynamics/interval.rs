//! When results are written: steps of a run.

use rkyv::{Archive, Deserialize, Serialize};

/// When results are written.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub enum OutputInterval {
    /// Every so many increments.
    Increments(u32),
    /// Every so many seconds (the nearest increment).
    Time(f64),
    /// So many equal intervals over the run.
    Count(u32),
    /// The state after increment `first`, and every so many increments from there on. The start and the end of the run are not
    /// added.
    From {
        /// Number of increments before the first output.
        first: u32,
        /// At least 1.
        every: u32,
    },
    /// The states after these increments, increasing. The start and the end of the run are not added.
    Steps(Vec<u32>),
}

impl OutputInterval {
    /// Numbers of the steps that are written of a run of `n_steps` steps of `time_increment` seconds: increasing.
    ///
    /// `Increments(k)`: every k-th step. `Time(s)`: the step nearest to each multiple of s. `Count(c)`: c equal intervals. These
    /// always have 0 and the last step. `From` and `Steps` have what they name, as far as the run goes.
    pub fn steps(&self, time_increment: f64, n_steps: u64) -> Vec<u64> {
        let mut steps = match *self {
            Self::Increments(every) => every_so_many(f64::from(every.max(1)), n_steps),
            Self::Time(seconds) => every_so_many((seconds / time_increment).max(1.0), n_steps),
            Self::Count(count) => every_so_many((n_steps as f64 / f64::from(count.max(1))).max(1.0), n_steps),
            Self::From { first, every } => {
                return (u64::from(first)..=n_steps).step_by(every.max(1) as usize).collect();
            }
            Self::Steps(ref steps) => {
                let mut steps: Vec<u64> =
                    steps.iter().copied().map(u64::from).filter(|&step| step <= n_steps).collect();
                steps.sort_unstable();
                steps.dedup();
                return steps;
            }
        };
        if steps.last() != Some(&n_steps) {
            steps.push(n_steps);
        }
        steps.dedup();
        steps
    }

    /// Length of [`steps`](Self::steps), or up to two more, without making them.
    pub fn n_steps(&self, time_increment: f64, n_steps: u64) -> f64 {
        let n_steps = n_steps as f64;
        let intervals = match *self {
            Self::Increments(every) => n_steps / f64::from(every.max(1)),
            Self::Time(seconds) => n_steps / (seconds / time_increment).max(1.0),
            Self::Count(count) => f64::from(count.max(1)).min(n_steps),
            Self::From { first, every } => (n_steps - f64::from(first)).max(-1.0) / f64::from(every.max(1)),
            Self::Steps(ref steps) => steps.len() as f64,
        };
        intervals + 2.0
    }
}

fn every_so_many(period: f64, n_steps: u64) -> Vec<u64> {
    // A period of NaN or beyond the run gives the start alone; the end is added by the caller.
    let count = if period <= n_steps as f64 { (n_steps as f64 / period + 1e-9) as u64 } else { 0 };
    (0..=count).map(|index| ((index as f64 * period).round() as u64).min(n_steps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_and_end_are_written_but_where_steps_are_named() {
        let steps = |interval: OutputInterval, n_steps, time_increment| interval.steps(time_increment, n_steps);
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
        assert_eq!(steps(OutputInterval::From { first: 5, every: 3 }, 12, 0.1), [5, 8, 11]);
        assert_eq!(steps(OutputInterval::From { first: 1, every: 0 }, 3, 0.1), [1, 2, 3]);
        assert_eq!(steps(OutputInterval::From { first: 4, every: 1 }, 3, 0.1), [0; 0]);
        assert_eq!(steps(OutputInterval::Steps(vec![7, 1, 7, 3, 11]), 10, 0.1), [1, 3, 7]);
    }

    proptest::proptest! {
        #[test]
        fn steps_increase_and_are_as_many_as_told(
            n in 1u64..2000,
            every in 0u32..3000,
            first in 0u32..3000,
            seconds in 1e-9..1e2f64,
            which in 0..4,
        ) {
            let interval = match which {
                0 => OutputInterval::Increments(every),
                1 => OutputInterval::Time(seconds),
                2 => OutputInterval::Count(every),
                _ => OutputInterval::From { first, every },
            };
            let steps = interval.steps(1e-3, n);
            proptest::prop_assert!(steps.is_sorted_by(|a, b| a < b));
            if which < 3 {
                proptest::prop_assert_eq!((steps.first(), steps.last()), (Some(&0), Some(&n)));
            }
            if which == 2 {
                proptest::prop_assert_eq!(steps.len() as u64, u64::from(every.max(1)).min(n) + 1);
            }
            let told = interval.n_steps(1e-3, n);
            let length = steps.len() as f64;
            proptest::prop_assert!(told >= length - 1e-6 && told <= length + 2.0, "{} for {}", told, length);
        }
    }
}

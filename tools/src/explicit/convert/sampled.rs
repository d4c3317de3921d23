//! Steps and samples of a model whose increment is known.

use pogo_formats::dynamics::{Increment, OutputInterval};
use pogo_formats::explicit::Setup;
use pogo_formats::words::counted;

use super::Findings;

/// The steps of a run.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Δt, s.
    pub increment: f64,
    pub n: u64,
}

impl Steps {
    /// None, with a problem, where the increment is left to the solver.
    pub fn of(setup: &Setup, findings: &mut Findings) -> Option<Self> {
        let time = setup.explicit.time;
        match setup.explicit.increment {
            Increment::Fixed(increment) => Some(Self { increment, n: ((time / increment).round() as u64).max(1) }),
            Increment::Automatic { .. } => {
                findings.refuse(
                    "the increment is automatic, and the file holds a number of seconds; give one in a job: [solver] \
                     increment = 1e-8 (pogo-solve says which is stable)",
                );
                None
            }
        }
    }

    /// The samples that all histories have in common: the first step, and the increments between two. Intervals that differ
    /// give all steps that any of them has; one that is no whole number of increments becomes the nearest one.
    pub fn common<'a>(
        self,
        intervals: impl Iterator<Item = &'a OutputInterval>,
        findings: &mut Findings,
    ) -> Option<(u64, u64)> {
        let mut found: Option<(u64, u64)> = None;
        let mut changed = false;
        for interval in intervals {
            let (own, is_exact) = self.samples(interval);
            changed |= !is_exact || found.is_some_and(|other| other != own);
            found = Some(match found {
                None => own,
                Some(other) if other == own => own,
                Some(other) => {
                    let every = [other.1, own.0, own.1].into_iter().fold(other.0, gcd);
                    (every, every)
                }
            });
        }
        if let (Some((_, every)), true) = (found, changed) {
            findings.warn(format!("all histories are sampled at every {}", counted(every as usize, "increment")));
        }
        found
    }

    /// First step and increments between two, and whether these are what was asked for.
    fn samples(self, interval: &OutputInterval) -> ((u64, u64), bool) {
        let exact = match *interval {
            OutputInterval::Increments(every) => f64::from(every.max(1)),
            OutputInterval::Time(seconds) => seconds / self.increment,
            OutputInterval::Count(count) => self.n as f64 / f64::from(count.max(1)),
            OutputInterval::From { first, every } => {
                let every = u64::from(every.max(1));
                // The state at the start is no sample.
                return ((if first == 0 { every } else { first.into() }, every), true);
            }
            OutputInterval::Steps(ref steps) => {
                let every = steps.iter().fold(0, |all, &step| gcd(all, step.into())).max(1);
                return (
                    (every, every),
                    steps.iter().zip(1..).all(|(&step, number)| u64::from(step) == number * every),
                );
            }
        };
        let every = exact.round().clamp(1.0, self.n as f64);
        let is_exact = (exact - every).abs() <= 1e-6 * every || every >= self.n as f64;
        ((every as u64, every as u64), is_exact)
    }

    /// An interval that a deck can hold, and whether it has the same steps.
    pub fn of_deck(self, interval: &OutputInterval) -> (OutputInterval, bool) {
        match interval {
            OutputInterval::From { .. } | OutputInterval::Steps(_) => {
                let ((first, every), is_exact) = self.samples(interval);
                let all = gcd(first, every);
                // Steps without an order would ask for far more than was wanted.
                match interval {
                    OutputInterval::Steps(steps) if !is_exact => {
                        (OutputInterval::Count(steps.len().max(1) as u32), false)
                    }
                    _ => (OutputInterval::Increments(all as u32), is_exact && all == every),
                }
            }
            plain => (plain.clone(), true),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! When a run in time can no longer be trusted.

/// Largest error of the energy balance, as a fraction of the largest energy so far, of a run that is still trusted.
const BALANCE_LIMIT: f64 = 0.1;

/// Largest energy that grows, as a multiple of all energy put in so far. The kinetic energy of a stable explicit run exceeds
/// the energy put in only by 1 / (1 − (ω Δt/2)²), which is 10 in the highest mode alone at 0.95 of the limit.
const GROWTH_LIMIT: f64 = 100.0;

/// Why a run can no longer be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Divergence {
    /// An energy is NaN or infinite.
    NotFinite,
    /// An energy exceeds [`GROWTH_LIMIT`].
    Growing,
    /// The error of the balance exceeds [`BALANCE_LIMIT`].
    Unbalanced,
}

/// What one sample of the energies says about the run, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Balance {
    pub energies: [f64; 5],
    /// Energy at the start and work of forces and supports.
    pub put_in: f64,
    /// Energy that must stay near `put_in`; none where the model does not follow all that is put in.
    pub growing: Option<f64>,
    /// Error of the energy balance; none where the model does not follow all energies.
    pub error: Option<f64>,
}

/// Judges the samples of a run one after another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    largest: f64,
    put_in: f64,
}

impl Watch {
    /// Looks at the next sample.
    pub fn judge(&mut self, sample: &Balance) -> Option<Divergence> {
        if !sample.energies.iter().all(|energy| energy.is_finite()) {
            return Some(Divergence::NotFinite);
        }
        self.largest = sample.energies.iter().fold(self.largest, |largest, energy| largest.max(energy.abs()));
        self.put_in = self.put_in.max(sample.put_in);
        if sample.growing.is_some_and(|energy| energy > GROWTH_LIMIT * self.put_in) {
            Some(Divergence::Growing)
        } else if sample.error.is_some_and(|error| error.abs() > BALANCE_LIMIT * self.largest) {
            Some(Divergence::Unbalanced)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(kinetic: f64, strain: f64, external: f64) -> Balance {
        Balance {
            energies: [kinetic, strain, external, 0.0, 0.0],
            put_in: external.abs(),
            growing: Some(kinetic),
            error: Some(kinetic + strain - external),
        }
    }

    #[test]
    fn rest_and_motion_pass_growth_and_nan_do_not() {
        let mut watch = Watch::default();
        assert_eq!(watch.judge(&sample(0.0, 0.0, 0.0)), None);
        assert_eq!(watch.judge(&sample(1.0, 1.0, 2.0)), None);
        // 5 % of the largest energy.
        assert_eq!(watch.judge(&sample(1.0, 0.0, 0.9)), None);
        assert_eq!(watch.judge(&sample(1.5, 1.0, 2.0)), Some(Divergence::Unbalanced));
        assert_eq!(watch.judge(&sample(300.0, -298.0, 2.0)), Some(Divergence::Growing));
        assert_eq!(watch.judge(&sample(f64::NAN, 0.0, 0.0)), Some(Divergence::NotFinite));
        assert_eq!(watch.judge(&sample(f64::INFINITY, 0.0, 0.0)), Some(Divergence::NotFinite));
        let unfollowed = Balance { growing: None, error: None, ..sample(300.0, 0.0, 2.0) };
        assert_eq!(Watch::default().judge(&unfollowed), None);
    }
}

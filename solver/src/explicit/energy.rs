//! The energy balance, and when a run has gone wrong.
//!
//! Central differences conserve ½ m (Δu_n/Δt)² + ½ u_{n−1}·K u_n exactly without forces and damping, with forces up to
//! their work ½ F_n·(Δu_n + Δu_{n+1}): the balance is zero but for rounding, whatever the increment. An unstable run
//! keeps it too, with kinetic energy growing against negative strain energy; so growth is judged on its own.

use pogo_formats::write::energy::EnergyRow;
use pogo_kernels::explicit::{EnergySums, State};

/// Largest balance error, as a fraction of the largest energy so far, of a run that is still trusted.
pub const BALANCE_LIMIT: f64 = 0.1;

/// Largest kinetic energy, as a multiple of all energy put in so far. In a stable run kinetic energy exceeds the energy
/// put in only by 1 / (1 − (ω Δt/2)²), which is 10 in the highest mode alone at 0.95 of the limit.
pub const GROWTH_LIMIT: f64 = 100.0;

/// Why a run cannot be trusted any more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Divergence {
    /// NaN or infinite.
    NotFinite,
    /// Kinetic energy beyond [`GROWTH_LIMIT`].
    Growing,
    /// Balance beyond [`BALANCE_LIMIT`].
    Unbalanced,
}

/// Sums over a state for [`row`]. `internal_force` is K u_n.
pub fn sums(state: &State, internal_force: &[f64], lumped_mass: &[f64], dimension: usize) -> EnergySums {
    let mut kinetic = 0.0;
    let mut strain = 0.0;
    let rows = state.displacement.chunks_exact(dimension).zip(state.increment.chunks_exact(dimension));
    for (&mass, ((u, du), force)) in lumped_mass.iter().zip(rows.zip(internal_force.chunks_exact(dimension))) {
        for ((u, du), force) in u.iter().zip(du).zip(force) {
            kinetic += mass * du * du;
            strain += (u - du) * force;
        }
    }
    EnergySums { kinetic, strain, external_work: state.external_work, damped_energy: state.damped_energy }
}

/// Energies at step n; `initial` is the energy at t = 0.
pub fn row(step: u64, sums: &EnergySums, time_increment: f64, initial: f64) -> EnergyRow {
    EnergyRow {
        time: step as f64 * time_increment,
        kinetic: 0.5 * sums.kinetic / (time_increment * time_increment),
        strain: 0.5 * sums.strain,
        external: sums.external_work,
        damped: sums.damped_energy,
        initial,
    }
}

/// Judges the rows of a run one after another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    /// Largest energy so far, J.
    largest: f64,
    /// Largest energy put in so far, J.
    put_in: f64,
}

impl Watch {
    /// Goes on where [`largest_energies`](Self::largest_energies) was taken.
    pub fn resume([largest, put_in]: [f64; 2]) -> Self {
        Self { largest, put_in }
    }

    /// Largest energy and largest energy put in so far, J.
    pub fn largest_energies(&self) -> [f64; 2] {
        [self.largest, self.put_in]
    }

    /// Looks at the next row.
    pub fn judge(&mut self, row: &EnergyRow) -> Option<Divergence> {
        let energies = [row.kinetic, row.strain, row.external, row.damped, row.initial];
        if !energies.iter().all(|energy| energy.is_finite()) {
            return Some(Divergence::NotFinite);
        }
        self.largest = energies.iter().fold(self.largest, |largest, energy| largest.max(energy.abs()));
        self.put_in = self.put_in.max(row.external.abs() + row.initial);
        if row.kinetic > GROWTH_LIMIT * self.put_in {
            Some(Divergence::Growing)
        } else if row.balance().abs() > BALANCE_LIMIT * self.largest {
            Some(Divergence::Unbalanced)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kinetic: f64, strain: f64, external: f64) -> EnergyRow {
        EnergyRow { time: 0.0, kinetic, strain, external, damped: 0.0, initial: 0.0 }
    }

    #[test]
    fn rest_and_motion_pass_growth_and_nan_do_not() {
        let mut watch = Watch::default();
        assert_eq!(watch.judge(&row(0.0, 0.0, 0.0)), None);
        assert_eq!(watch.judge(&row(1.0, 1.0, 2.0)), None);
        // 5 % of the largest energy.
        assert_eq!(watch.judge(&row(1.0, 0.0, 0.9)), None);
        assert_eq!(watch.judge(&row(1.5, 1.0, 2.0)), Some(Divergence::Unbalanced));
        assert_eq!(watch.judge(&row(300.0, -298.0, 2.0)), Some(Divergence::Growing));
        assert_eq!(watch.judge(&row(f64::NAN, 0.0, 0.0)), Some(Divergence::NotFinite));
        assert_eq!(watch.judge(&row(f64::INFINITY, 0.0, 0.0)), Some(Divergence::NotFinite));
    }
}

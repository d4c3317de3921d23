//! `energy.csv`: the energy balance over time.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::write::traces::write_comments;
use crate::write::{OutputError, write_atomically};

/// Energies at one time, J.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[allow(missing_docs)] // rkyv's derive writes undocumented twins
pub struct EnergyRow {
    /// Time, s.
    pub time: f64,
    /// ½ vᵀ M v of the increment that ends at `time`.
    pub kinetic: f64,
    /// ½ u_nᵀ K u_{n−1}.
    pub strain: f64,
    /// Work done by forces and moving supports so far.
    pub external: f64,
    /// Taken by damping so far.
    pub damped: f64,
    /// Kinetic energy of the initial velocities.
    pub initial: f64,
}

impl EnergyRow {
    /// kinetic + strain + damped − external − initial: zero but for rounding.
    pub fn balance(&self) -> f64 {
        self.kinetic + self.strain + self.damped - self.external - self.initial
    }

    /// |[`balance`](Self::balance)| over the largest of the energies; 0 when all are zero.
    pub fn balance_error(&self) -> f64 {
        let largest = [self.kinetic, self.strain, self.damped, self.external, self.initial]
            .into_iter()
            .fold(0.0_f64, |largest, energy| largest.max(energy.abs()));
        if largest == 0.0 { self.balance().abs() } else { self.balance().abs() / largest }
    }
}

/// Writes `energy.csv`: `#` lines with units and provenance, then `time,kinetic,strain,external,damped,balance`.
///
/// # Errors
/// [`OutputError::Io`].
pub fn write_csv(path: &Path, rows: &[EnergyRow], comments: &[String]) -> Result<(), OutputError> {
    write_atomically(path, |out| {
        write_comments(out, comments)?;
        writeln!(out, "# units: time s, energies J; balance = kinetic + strain + damped - external - initial")?;
        writeln!(out, "# of the middle of the increment that ends at each time, where they are conserved exactly")?;
        writeln!(out, "time,kinetic,strain,external,damped,balance")?;
        for row in rows {
            writeln!(
                out,
                "{:?},{:?},{:?},{:?},{:?},{:?}",
                row.time,
                row.kinetic,
                row.strain,
                row.external,
                row.damped,
                row.balance()
            )?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_with_their_balance() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("energy.csv");
        let row = EnergyRow { time: 1e-7, kinetic: 2.0, strain: 1.0, external: 3.5, damped: 0.25, initial: 0.0 };
        write_csv(&path, &[EnergyRow::default(), row], &["case a".into()]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>(),
            ["time,kinetic,strain,external,damped,balance", "0.0,0.0,0.0,0.0,0.0,0.0", "1e-7,2.0,1.0,3.5,0.25,-0.25"]
        );
        assert!((row.balance_error() - 0.25 / 3.5).abs() < 1e-15);
        assert_eq!(EnergyRow::default().balance_error(), 0.0);
    }
}

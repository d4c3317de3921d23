//! Functions of time, in f64: amplitudes a(t), and the columns of the signal table that the stepping kernels read.
//!
//! A prescribed velocity or acceleration is turned into the displacement that gives it under central differences, so
//! that the kernels only ever see displacements. On a device gpu/signals.cuh does the same.

use super::SignalTable;
use pogo_formats::dynamics::Amplitude;

/// What one column of the signal table holds at t_n. Amplitudes by index into `Setup::amplitudes`; none is a(t) = 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Signal {
    /// a(t_n).
    Value(Option<u32>),
    /// ∫ a dt by the midpoint rule: the displacement under the velocity a.
    Velocity(Option<u32>),
    /// The displacement under the acceleration a, by u_{n+1} = 2u_n − u_{n−1} + Δt² a(t_n), from u_0 = 0.
    Acceleration {
        /// a.
        amplitude: Option<u32>,
        /// Velocity at t = 0 in units of the prescribed value, s.
        initial_velocity: f64,
    },
    /// Δt (a(0)/2 + Σ_{k=1}^{n} a(t_k)): the integral of a to t_n + Δt/2. What is prescribed by it has the increment Δt a(t_n)
    /// from step n − 1 to step n.
    Sum(Option<u32>),
}

/// Columns of the signal table, each once, and their running integrals.
#[derive(Debug, Clone)]
pub struct Signals<'a> {
    amplitudes: &'a [Amplitude],
    time_increment: f64,
    columns: Vec<Signal>,
    /// Step that `integrals` belong to.
    step: u64,
    /// Displacement and its last increment, for integrated columns.
    integrals: Vec<[f64; 2]>,
}

impl<'a> Signals<'a> {
    /// No column yet. `time_increment` is Δt in s.
    pub fn new(amplitudes: &'a [Amplitude], time_increment: f64) -> Self {
        Self { amplitudes, time_increment, columns: Vec::new(), step: 0, integrals: Vec::new() }
    }

    /// Number of the column with this signal, added if need be.
    pub fn column(&mut self, signal: Signal) -> u32 {
        let found = self.columns.iter().position(|column| *column == signal).unwrap_or_else(|| {
            self.columns.push(signal);
            self.integrals.push([0.0; 2]);
            self.columns.len() - 1
        });
        self.rewind();
        found as u32
    }

    /// Columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// No column at all.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub(crate) fn amplitudes(&self) -> &'a [Amplitude] {
        self.amplitudes
    }

    pub(crate) fn columns(&self) -> &[Signal] {
        &self.columns
    }

    pub(crate) fn time_increment(&self) -> f64 {
        self.time_increment
    }

    fn amplitude(&self, amplitude: Option<u32>, time: f64) -> f64 {
        amplitude.map_or(1.0, |index| self.amplitudes[index as usize].at(time))
    }

    fn rewind(&mut self) {
        self.step = 0;
        for column in 0..self.columns.len() {
            self.integrals[column] = [self.start(column), self.increment_before_start(column)];
        }
    }

    /// What an integrated column holds at t = 0.
    pub(crate) fn start(&self, column: usize) -> f64 {
        match self.columns[column] {
            Signal::Sum(_) => 0.5 * self.increment_before_start(column),
            _ => 0.0,
        }
    }

    /// s(0) − s(−Δt) of a column: what Δu_0 of a component prescribed by it is at value 1.
    pub fn increment_before_start(&self, column: usize) -> f64 {
        let dt = self.time_increment;
        match self.columns[column] {
            Signal::Value(amplitude) => self.amplitude(amplitude, 0.0) - self.amplitude(amplitude, -dt),
            Signal::Velocity(amplitude) => dt * self.amplitude(amplitude, -0.5 * dt),
            Signal::Sum(amplitude) => dt * self.amplitude(amplitude, 0.0),
            Signal::Acceleration { amplitude, initial_velocity } => {
                dt * initial_velocity - 0.5 * dt * dt * self.amplitude(amplitude, 0.0)
            }
        }
    }

    fn advance(&mut self) {
        let dt = self.time_increment;
        let time = self.step as f64 * dt;
        for column in 0..self.columns.len() {
            let [u, du] = self.integrals[column];
            let du = match self.columns[column] {
                Signal::Value(_) => continue,
                Signal::Velocity(amplitude) => dt * self.amplitude(amplitude, time + 0.5 * dt),
                Signal::Sum(amplitude) => dt * self.amplitude(amplitude, time + dt),
                Signal::Acceleration { amplitude, .. } => du + dt * dt * self.amplitude(amplitude, time),
            };
            self.integrals[column] = [u + du, du];
        }
        self.step += 1;
    }

    /// Rows n = `first` .. `first` + `n_rows`. The same values however the run is cut into tables.
    pub fn table(&mut self, first: u64, n_rows: usize) -> SignalTable {
        if self.step > first {
            self.rewind();
        }
        let mut values = Vec::with_capacity(n_rows * self.columns.len());
        for step in first..first + n_rows as u64 {
            while self.step < step {
                self.advance();
            }
            let time = step as f64 * self.time_increment;
            for (column, integral) in self.columns.iter().zip(&self.integrals) {
                values.push(match column {
                    Signal::Value(amplitude) => self.amplitude(*amplitude, time),
                    _ => integral[0],
                });
            }
        }
        SignalTable { n_signals: self.columns.len(), values }
    }
}

#[cfg(test)]
mod tests {
    use pogo_formats::dynamics::AmplitudeShape;

    use super::*;

    fn amplitude(shape: AmplitudeShape) -> Amplitude {
        Amplitude::new("A", shape)
    }

    #[test]
    fn integrated_columns_give_back_velocity_and_acceleration_and_do_not_depend_on_the_cuts() {
        let amplitudes =
            [amplitude(AmplitudeShape::Periodic { omega: 3.0, start: 0.0, constant: 0.2, terms: vec![[0.0, 1.0]] })];
        let dt = 1e-3;
        let mut signals = Signals::new(&amplitudes, dt);
        let velocity = signals.column(Signal::Velocity(Some(0))) as usize;
        let acceleration = signals.column(Signal::Acceleration { amplitude: Some(0), initial_velocity: 0.7 }) as usize;
        assert_eq!(signals.column(Signal::Velocity(Some(0))) as usize, velocity);
        let whole = signals.table(0, 2001);
        let mut cut = signals.table(0, 701).values;
        cut.extend(&signals.table(700, 1301).values[2..]);
        assert_eq!(whole.values, cut);
        let t = 2.0f64;
        let exact_integral = 0.2 * t + (1.0 - (3.0 * t).cos()) / 3.0;
        let exact_double = 0.7 * t + 0.1 * t * t + t / 3.0 - (3.0 * t).sin() / 9.0;
        assert!((whole.values[2000 * 2 + velocity] - exact_integral).abs() < 1e-6);
        assert!((whole.values[2000 * 2 + acceleration] - exact_double).abs() < 1e-6);
    }
}

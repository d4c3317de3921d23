//! Signals evaluated on the device (signals.cuh): the formulae and tables of the amplitudes lie there, and a kernel makes
//! the rows of the next [`WINDOW`] steps between two lots of them.

use pogo_formats::dynamics::{Amplitude, AmplitudeShape, Window};

use super::layout::*;
use crate::device::layout::{In, Pointer};
use crate::device::{Arena, DeviceError, Gpu, Kernel, Module, Slice, Stream, arguments};
use crate::dynamics::signals::{Signal, Signals};

/// A curve, and the pairs that it reads, appended to `numbers`.
fn curve(amplitude: &Amplitude, numbers: &mut Vec<f64>) -> Curve {
    let first = numbers.len() as u64 / 2;
    let blank = Curve { shape: 0, n: 0, first, scale: amplitude.scale, delay: amplitude.delay, a: 0.0, b: 0.0, c: 0.0 };
    let mut points = |times: &[f64], values: &[f64]| {
        let pairs = times.iter().zip(values);
        numbers.extend(pairs.clone().flat_map(|(&time, &value)| [time, value]));
        pairs.len() as u32
    };
    match &amplitude.shape {
        AmplitudeShape::Tabular { times, values } => Curve { shape: TABULAR, n: points(times, values), ..blank },
        AmplitudeShape::SmoothStep { times, values } => Curve { shape: SMOOTH_STEP, n: points(times, values), ..blank },
        AmplitudeShape::Periodic { omega, start, constant, terms } => {
            numbers.extend(terms.iter().flatten());
            Curve { shape: PERIODIC, n: terms.len() as u32, a: *omega, b: *start, c: *constant, ..blank }
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            let shape = match window {
                Window::Hann => HANN_BURST,
                Window::Gaussian => GAUSSIAN_BURST,
                Window::Rectangular => RECTANGULAR_BURST,
            };
            Curve { shape, a: *frequency, b: cycles / frequency, ..blank }
        }
        AmplitudeShape::Ricker { frequency, peak_time } => {
            Curve { shape: RICKER, a: *frequency, b: *peak_time, ..blank }
        }
        AmplitudeShape::GaussianPulse { rate, peak_time } => {
            Curve { shape: GAUSSIAN_PULSE, a: *rate, b: *peak_time, ..blank }
        }
    }
}

/// The signals of a problem, and rows of them from some step on.
#[derive(Debug)]
pub(super) struct DeviceSignals {
    make: Kernel,
    count: Kernel,
    tables: SignalTables,
    row: Slice<u32>,
    _arena: Arena,
    _sums: Option<Module>,
}

impl DeviceSignals {
    /// Bytes that the signals need on the device.
    pub fn bytes(signals: &Signals<'_>) -> u64 {
        let numbers = |amplitude: &Amplitude| match &amplitude.shape {
            AmplitudeShape::Tabular { times, .. } | AmplitudeShape::SmoothStep { times, .. } => times.len(),
            AmplitudeShape::Periodic { terms, .. } => terms.len(),
            _ => 0,
        };
        let curves: usize = signals.amplitudes().iter().map(|curve| size_of::<Curve>() + 16 * numbers(curve)).sum();
        (curves + signals.len() * (size_of::<Column>() + 8 * (2 * WINDOW as usize + 3))) as u64
    }

    /// On the device, with the rows from `step` on.
    pub fn new(
        gpu: &Gpu,
        module: &Module,
        stream: &Stream,
        signals: &Signals<'_>,
        step: u64,
    ) -> Result<Self, DeviceError> {
        let mut numbers = Vec::new();
        let curves: Vec<Curve> = signals.amplitudes().iter().map(|amplitude| curve(amplitude, &mut numbers)).collect();
        let columns: Vec<Column> = signals
            .columns()
            .iter()
            .map(|&column| match column {
                Signal::Value(curve) => Column { kind: VALUE, curve: curve.unwrap_or(NONE) },
                Signal::Velocity(curve) => Column { kind: VELOCITY, curve: curve.unwrap_or(NONE) },
                Signal::Sum(curve) => Column { kind: SUM, curve: curve.unwrap_or(NONE) },
                Signal::Acceleration { amplitude, .. } => {
                    Column { kind: ACCELERATION, curve: amplitude.unwrap_or(NONE) }
                }
            })
            .collect();
        let n = columns.len();
        let increments: Vec<f64> = (0..n).map(|column| signals.increment_before_start(column)).collect();
        // What is integrated is so from the start, here as in the run that this one goes on from: the same bits.
        let integrated = signals.columns().iter().any(|column| !matches!(column, Signal::Value(_)));
        let first = if integrated { 0 } else { step };
        let mut arena = Arena::default();
        let starts: Vec<f64> = (0..n).map(|column| signals.start(column)).collect();
        let has_sums = signals.columns().iter().any(|column| matches!(column, Signal::Sum(_)));
        let sums = if has_sums { Some(gpu.module("sums")?) } else { None };
        let make = match &sums {
            Some(sums) => Kernel::new(gpu, sums, "make_signals_and_sums", 0)?,
            None => Kernel::new(gpu, module, "make_signals", 0)?,
        };
        let made_rows = arena.zeros::<f64>("rows of signals", (WINDOW as usize + 2) * n)?;
        made_rows.write(&starts)?;
        let made_increments = arena.zeros::<f64>("increments of signals", (WINDOW as usize + 1) * n)?;
        made_increments.write(&increments)?;
        let tables = SignalTables {
            curves: arena.copy("curves", &curves)?.at(),
            columns: arena.copy("columns of signals", &columns)?.at(),
            numbers: arena.copy("numbers of curves", numbers.as_chunks::<2>().0)?.at(),
            rows: made_rows.at(),
            increments: made_increments.at(),
            step: arena.copy("step of signals", &[first])?.at(),
            time_increment: signals.time_increment(),
            n_signals: n as u32,
        };
        let made = Self {
            make,
            count: Kernel::new(gpu, module, "count_steps", 0)?,
            tables,
            row: arena.zeros("row of signals", 1)?,
            _arena: arena,
            _sums: sums,
        };
        made.advance(stream, 0)?;
        let mut remaining = step - first;
        while remaining > 0 {
            let by = remaining.min(u64::from(WINDOW));
            made.advance(stream, by as usize)?;
            remaining -= by;
        }
        Ok(made)
    }

    /// Rows of signals from the current step on, (WINDOW + 2, n).
    pub fn rows(&self) -> In<f64> {
        In::from_address(self.tables.rows.address())
    }

    /// Number of columns.
    pub fn len(&self) -> u32 {
        self.tables.n_signals
    }

    /// Where the steps since [`begin`](Self::begin) are counted.
    pub fn row(&self) -> In<u32> {
        self.row.at()
    }

    /// Counts from 0 again.
    pub fn begin(&mut self) -> Result<(), DeviceError> {
        self.row.write(&[0])
    }

    /// Starts the making of the rows from `by` steps on, `by` ≤ [`WINDOW`], and counts them.
    pub fn advance(&self, stream: &Stream, by: usize) -> Result<(), DeviceError> {
        let (tables, by) = (self.tables, by as u32);
        let (row, step) = (self.row.pointer(), tables.step);
        // SAFETY: the arguments that the kernels take; the arrays live as long as `self`.
        unsafe {
            if tables.n_signals > 0 {
                self.make.launch(stream, tables.n_signals, &mut arguments![tables, by])?;
            }
            self.count.launch(stream, 1, &mut arguments![row, step, by])
        }
    }
}

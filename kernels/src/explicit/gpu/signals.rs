//! Signals evaluated on the device (signals.cuh): the formulae and tables of the amplitudes lie there, and a kernel makes
//! the rows of the next [`WINDOW`] steps between two lots of them.

use std::ffi::c_void;

use cust::module::Module;
use cust::sys::CUstream;
use pogo_formats::dynamics::{Amplitude, AmplitudeShape, Window};

use crate::device::{Buffer, DeviceError, Gpu, Kernel, Plain};
use crate::dynamics::signals::{Signal, Signals};

/// Steps whose signals are made at a time.
pub(super) const WINDOW: usize = 64;
const NONE: u32 = u32::MAX;

/// `Curve` in signals.cuh.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Curve {
    shape: u32,
    n: u32,
    first: u64,
    scale: f64,
    delay: f64,
    a: f64,
    b: f64,
    c: f64,
}

/// `Column` in signals.cuh.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Column {
    kind: u32,
    curve: u32,
}

// SAFETY: numbers without padding.
unsafe impl Plain for Curve {}
// SAFETY: as above.
unsafe impl Plain for Column {}

/// `SignalTables` in signals.cuh. Addresses are of the device.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct SignalTables {
    curves: u64,
    columns: u64,
    numbers: u64,
    rows: u64,
    increments: u64,
    step: u64,
    time_increment: f64,
    n_signals: u32,
}

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
        AmplitudeShape::Tabular { times, values } => Curve { shape: 0, n: points(times, values), ..blank },
        AmplitudeShape::SmoothStep { times, values } => Curve { shape: 1, n: points(times, values), ..blank },
        AmplitudeShape::Periodic { omega, start, constant, terms } => {
            numbers.extend(terms.iter().flatten());
            Curve { shape: 2, n: terms.len() as u32, a: *omega, b: *start, c: *constant, ..blank }
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            let shape = match window {
                Window::Hann => 3,
                Window::Gaussian => 4,
                Window::Rectangular => 5,
            };
            Curve { shape, a: *frequency, b: cycles / frequency, ..blank }
        }
        AmplitudeShape::Ricker { frequency, peak_time } => Curve { shape: 6, a: *frequency, b: *peak_time, ..blank },
        AmplitudeShape::GaussianPulse { rate, peak_time } => Curve { shape: 7, a: *rate, b: *peak_time, ..blank },
    }
}

/// The signals of a problem, and rows of them from some step on.
#[derive(Debug)]
pub(super) struct DeviceSignals {
    make: Kernel,
    count: Kernel,
    tables: SignalTables,
    row: Buffer<u32>,
    // Kept for their memory.
    _curves: Buffer<Curve>,
    _columns: Buffer<Column>,
    _numbers: Buffer<f64>,
    _rows: Buffer<f64>,
    _increments: Buffer<f64>,
    _step: Buffer<u64>,
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
        (curves + signals.len() * (size_of::<Column>() + 8 * (2 * WINDOW + 3))) as u64
    }

    /// On the device, with the rows from `step` on.
    pub fn new(
        gpu: &Gpu,
        module: &Module,
        stream: CUstream,
        signals: &Signals<'_>,
        step: u64,
    ) -> Result<Self, DeviceError> {
        let mut numbers = Vec::new();
        let curves: Vec<Curve> = signals.amplitudes().iter().map(|amplitude| curve(amplitude, &mut numbers)).collect();
        let columns: Vec<Column> = signals
            .columns()
            .iter()
            .map(|&column| match column {
                Signal::Value(curve) => Column { kind: 0, curve: curve.unwrap_or(NONE) },
                Signal::Velocity(curve) => Column { kind: 1, curve: curve.unwrap_or(NONE) },
                Signal::Acceleration { amplitude, .. } => Column { kind: 2, curve: amplitude.unwrap_or(NONE) },
            })
            .collect();
        let n = columns.len();
        let mut slope = vec![0.0; n];
        for (i, slope) in slope.iter_mut().enumerate() {
            *slope = signals.increment_before_start(i);
        }
        // What is integrated is so from the start, here as in the run that this one goes on from: the same bits.
        let integrated = signals.columns().iter().any(|column| !matches!(column, Signal::Value(_)));
        let first = if integrated { 0 } else { step };
        let (curves, columns, numbers) = (Buffer::of(&curves)?, Buffer::of(&columns)?, Buffer::of(&numbers)?);
        let (rows, mut increments) = (Buffer::zeros((WINDOW + 2) * n)?, Buffer::zeros((WINDOW + 1) * n)?);
        increments.write(&slope)?;
        let at = Buffer::of(&[first])?;
        let tables = SignalTables {
            curves: curves.pointer(),
            columns: columns.pointer(),
            numbers: numbers.pointer(),
            rows: rows.pointer(),
            increments: increments.pointer(),
            step: at.pointer(),
            time_increment: signals.time_increment(),
            n_signals: n as u32,
        };
        let made = Self {
            make: Kernel::new(gpu, module, "make_signals", 0)?,
            count: Kernel::new(gpu, module, "count_steps", 0)?,
            tables,
            row: Buffer::zeros(1)?,
            _curves: curves,
            _columns: columns,
            _numbers: numbers,
            _rows: rows,
            _increments: increments,
            _step: at,
        };
        made.advance(stream, 0)?;
        let mut left = step - first;
        while left > 0 {
            let by = left.min(WINDOW as u64);
            made.advance(stream, by as usize)?;
            left -= by;
        }
        Ok(made)
    }

    /// Rows of signals from the current step on, (WINDOW + 2, n).
    pub fn rows(&self) -> u64 {
        self.tables.rows
    }

    /// Columns.
    pub fn len(&self) -> u32 {
        self.tables.n_signals
    }

    /// Where the steps since [`begin`](Self::begin) are counted.
    pub fn row(&self) -> u64 {
        self.row.pointer()
    }

    /// Counts from 0 again.
    pub fn begin(&mut self) -> Result<(), DeviceError> {
        self.row.write(&[0])
    }

    /// Starts the making of the rows from `by` steps on, `by` ≤ [`WINDOW`], and counts them.
    pub fn advance(&self, stream: CUstream, by: usize) -> Result<(), DeviceError> {
        let (mut tables, mut by) = (self.tables, by as u32);
        let mut by = std::ptr::from_mut(&mut by).cast::<c_void>();
        if tables.n_signals > 0 {
            let blocks = tables.n_signals;
            // SAFETY: the arguments that `make_signals` takes; the buffers live as long as `self`.
            unsafe { self.make.launch(stream, blocks, &mut [std::ptr::from_mut(&mut tables).cast(), by])? };
        }
        let (mut row, mut step) = (self.row.pointer(), self.tables.step);
        let [row, step] = [&mut row, &mut step].map(|address| std::ptr::from_mut(address).cast::<c_void>());
        by = by.cast();
        // SAFETY: the arguments that `count_steps` takes.
        unsafe { self.count.launch(stream, 1, &mut [row, step, by]) }
    }
}

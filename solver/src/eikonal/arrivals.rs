//! What comes of the sets of a table of starts, and the file that it goes to.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pogo_formats::eikonal::summary::Latest;
use pogo_formats::write::npy::{Number, RowWriter};
use pogo_kernels::eikonal::{Arrival, Samples};
use pogo_kernels::ranks::{Reader, Writer};
use pogo_kernels::simd::Real;

use super::context::Context;
use super::ecg::Electric;
use crate::error::SolveError;

/// What is kept of a set.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    pub latest: Option<Latest>,
    pub unreached: usize,
    pub sweeps: u32,
    pub local_solves: u64,
}

/// What comes of a set.
pub(super) struct Row<T> {
    /// Number of the set.
    pub set: usize,
    /// Times of some nodes.
    pub times: Vec<T>,
    /// ECG, (samples, channels), or empty.
    pub ecg: Vec<f64>,
    pub case: Case,
}

impl<T: Real> Row<T> {
    pub fn new(context: &Context<'_>, set: usize, arrival: &Arrival<T>, asked: &Asked) -> Self {
        let case = Case {
            latest: context.latest(&arrival.time),
            unreached: arrival.unreached,
            sweeps: arrival.statistics.sweeps,
            local_solves: arrival.statistics.local_solves,
        };
        let times = asked.columns.iter().map(|&node| arrival.time[node as usize]).collect();
        let ecg = match (&context.electric, &asked.samples) {
            (Some(electric), Some(samples)) => electric.channels(&context.problem, &arrival.time, samples),
            _ => Vec::new(),
        };
        Self { set, times, ecg, case }
    }

    pub fn put(&self, writer: &mut Writer) {
        let Case { latest, unreached, sweeps, local_solves } = &self.case;
        writer.put(&[self.set as u64, *unreached as u64, u64::from(*sweeps), *local_solves]);
        let latest = latest.as_ref();
        writer.put(&latest.map(|latest| [latest.node, latest.index]).into_iter().flatten().collect::<Vec<u32>>());
        let [x, y, z] = latest.map_or([0.0; 3], |latest| latest.position);
        writer.put(&[latest.map_or(0.0, |latest| latest.time), x, y, z]);
        writer.put(&self.times);
        writer.put(&self.ecg);
    }

    pub fn take(reader: &mut Reader<'_>) -> Self {
        let numbers: Vec<u64> = reader.take();
        let (labels, place): (Vec<u32>, Vec<f64>) = (reader.take(), reader.take());
        let latest = (!labels.is_empty()).then(|| Latest {
            node: labels[0],
            index: labels[1],
            time: place[0],
            position: [place[1], place[2], place[3]],
        });
        let (unreached, sweeps, local_solves) = (numbers[1] as usize, numbers[2] as u32, numbers[3]);
        let case = Case { latest, unreached, sweeps, local_solves };
        Self { set: numbers[0] as usize, times: reader.take(), ecg: reader.take(), case }
    }
}

/// What is kept of the times of a set.
pub(super) struct Asked {
    /// Nodes.
    pub columns: Vec<u32>,
    /// Samples of an ECG.
    pub samples: Option<Samples>,
}

impl Asked {
    /// Bytes of what is kept of a set.
    pub fn bytes<T>(&self, context: &Context<'_>) -> usize {
        let channels = context.electric.as_ref().map_or(0, Electric::n_channels);
        let samples = self.samples.map_or(0, |samples| samples.n);
        self.columns.len() * size_of::<T>() + channels * samples * size_of::<f64>()
    }
}

/// `arrivals.npy` while it grows, with what is kept of each set.
pub(super) struct Table<'a> {
    rows: &'a RowWriter<'a>,
    /// Rows of `ecgs.npy`.
    ecgs: Option<&'a RowWriter<'a>>,
    path: PathBuf,
    found: Mutex<Found>,
}

struct Found {
    cases: Vec<Option<Case>>,
    failed: Option<io::Error>,
}

impl<'a> Table<'a> {
    /// Of so many sets, into these rows of a file.
    pub fn new(rows: &'a RowWriter<'a>, ecgs: Option<&'a RowWriter<'a>>, path: PathBuf, n_sets: usize) -> Self {
        Self { rows, ecgs, path, found: Mutex::new(Found { cases: vec![None; n_sets], failed: None }) }
    }

    /// What was kept of each set.
    pub fn into_cases(self) -> Vec<Option<Case>> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner).cases
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the times of a set, and keeps the rest.
    pub fn put<T: Number>(&self, row: &Row<T>) {
        let written = self.rows.row(row.set, row.times.iter().copied());
        let ecg = self.ecgs.map_or(Ok(()), |ecgs| ecgs.row(row.set, row.ecg.iter().copied()));
        let mut found = self.found();
        found.cases[row.set] = Some(row.case.clone());
        found.failed = found.failed.take().or(written.err()).or(ecg.err());
    }

    /// Writes rows of NaN for the sets of a run that has stopped before them.
    pub fn fill_missing<T: Real + Number>(&self, asked: &Asked) {
        let missing: Vec<usize> = {
            let cases = &self.found().cases;
            (0..cases.len()).filter(|&set| cases[set].is_none()).collect()
        };
        for set in missing {
            let times = self.rows.row(set, asked.columns.iter().map(|_| T::from_f64(f64::NAN)));
            let ecg = self.ecgs.map_or(Ok(()), |ecgs| ecgs.row(set, std::iter::repeat_n(f64::NAN, ecgs.width())));
            let mut found = self.found();
            found.failed = found.failed.take().or(times.err()).or(ecg.err());
        }
    }

    /// # Errors
    /// A row could not be written.
    pub fn check(&self) -> Result<(), SolveError> {
        match self.found().failed.take() {
            Some(source) => Err(SolveError::Io { path: self.path.clone(), source }),
            None => Ok(()),
        }
    }
}

//! What teams of ranks have in common that step a model in time: each rank has a part and steps it, and the leader joins
//! what they answer.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::{Part, PartStepper, SignalTable, update_halo};
use crate::device::DeviceError;
use crate::exchange::Exchange;
use crate::ranks::{Ranks, Reader, Writer};

/// The part of one rank: its stepper, its messages to other ranks, and its monitors.
pub(crate) struct RankPart<S> {
    pub stepper: S,
    exchange: Exchange,
    rank: usize,
    /// Columns of the monitors that stand on own nodes, of so many.
    pub monitors: Vec<u32>,
    n_monitors: usize,
}

impl<S: PartStepper> RankPart<S> {
    /// The stepper of this rank's sub-domain. `monitors` are degrees of freedom, of which a node has `dimension`.
    pub fn new(
        stepper: S,
        domains: &SubDomainsView,
        ranks: &Arc<dyn Ranks>,
        monitors: &[u64],
        dimension: usize,
    ) -> Self {
        let is_own = |dof: u64| stepper.part().local_own((dof / dimension as u64) as usize).is_some();
        let columns = (0..).zip(monitors).filter(|&(_, &dof)| is_own(dof));
        Self {
            exchange: Exchange::over(ranks, domains, |node| stepper.rows(node)),
            rank: ranks.rank(),
            monitors: columns.map(|(column, _)| column).collect(),
            n_monitors: monitors.len(),
            stepper,
        }
    }

    /// Makes the steps of an order one by one; see [`put_steps`]. Gives the recorded values of own monitors. `after` sees
    /// the stepper after each step.
    ///
    /// # Errors
    /// The device is lost. All messages have been sent all the same, as other ranks wait for them.
    pub fn advance(&mut self, order: &mut Reader<'_>, mut after: impl FnMut(&S)) -> Result<Vec<f64>, DeviceError> {
        let n_steps = order.one::<u64>() as usize;
        let (n_signals, values) = (order.one::<u64>() as usize, order.take::<f64>());
        let record: Vec<u64> = order.take();
        let mut recording = Vec::<f64>::new();
        let mut table = SignalTable { n_signals, values: Vec::new() };
        let mut outcome = Ok(());
        for k in 0..n_steps {
            update_halo(&self.exchange, self.rank, &mut self.stepper);
            table.values.clear();
            table.values.extend_from_slice(&values[k * n_signals..(k + 2) * n_signals]);
            let step = [self.stepper.step()];
            let record = if record.binary_search(&step[0]).is_ok() { &step[..] } else { &[] };
            let mut row = Vec::new();
            outcome = outcome.and_then(|()| self.stepper.advance(1, &table, record, &mut row));
            debug_assert!(row.len() == record.len() * 3 * self.n_monitors || outcome.is_err());
            if !row.is_empty() {
                let of_column = |&column: &u32| row[3 * column as usize..3 * (column as usize + 1)].iter();
                recording.extend(self.monitors.iter().flat_map(of_column));
            }
            after(&self.stepper);
        }
        outcome.map(|()| recording)
    }
}

/// Writes into an order what [`RankPart::advance`] reads.
pub(crate) fn put_steps(order: &mut Writer, n_steps: usize, signals: &SignalTable, record: &[u64]) {
    order.put(&[n_steps as u64]);
    order.put(&[signals.n_signals as u64]);
    order.put(&signals.values);
    order.put(record);
}

/// The parts of all ranks, as the leader knows them.
pub(crate) struct Parts {
    parts: Vec<Part>,
    /// Columns of the monitors of each rank, of so many.
    monitors: Vec<Vec<u32>>,
    n_monitors: usize,
}

impl Parts {
    /// One a sub-domain, with the columns of its monitors.
    pub fn new(domains: &SubDomainsView, monitors: Vec<Vec<u32>>, n_monitors: usize) -> Self {
        let parts = (0..domains.n_domains()).map(|domain| Part::of(domains, domain)).collect();
        Self { parts, monitors, n_monitors }
    }

    /// Numbers of all nodes, (n_nodes × `n_components`,), from those of the own nodes of each rank.
    pub fn join(&self, of_ranks: Vec<Vec<f64>>, n_components: usize) -> Vec<f64> {
        let n_nodes: usize = self.parts.iter().map(Part::n_own).sum();
        let mut all = vec![0.0; n_nodes * n_components];
        for (part, values) in self.parts.iter().zip(of_ranks) {
            for (node, row) in part.own().zip(values.chunks_exact(n_components)) {
                all[node * n_components..(node + 1) * n_components].copy_from_slice(row);
            }
        }
        all
    }

    /// u and Δu of all nodes, if each rank has answered with those of its own.
    pub fn join_motion(&self, answers: &mut [Reader<'_>], n_components: usize) -> [Vec<f64>; 2] {
        [(); 2].map(|()| self.join(answers.iter_mut().map(|answer| answer.take()).collect(), n_components))
    }

    /// Appends what all monitors recorded at `n_records` steps, if each rank has answered with that of its own.
    pub fn join_recordings(&self, answers: &mut [Reader<'_>], n_records: usize, recording: &mut Vec<f64>) {
        let first = recording.len();
        recording.resize(first + n_records * 3 * self.n_monitors, 0.0);
        for (answer, columns) in answers.iter_mut().zip(&self.monitors) {
            let recorded: Vec<f64> = answer.take();
            let mut triples = recorded.chunks_exact(3);
            for row in recording[first..].chunks_exact_mut(3 * self.n_monitors.max(1)) {
                for (&column, triple) in columns.iter().zip(&mut triples) {
                    row[3 * column as usize..3 * (column as usize + 1)].copy_from_slice(triple);
                }
            }
        }
    }
}

/// Rank and row of each entry of a sum, in the order of one stepper, given the place of each rank's rows in that order.
pub(crate) fn order_of_sum<'a>(places: impl Iterator<Item = &'a Vec<u32>>) -> Vec<(usize, usize)> {
    let of_rank =
        |(rank, places): (usize, &'a Vec<u32>)| places.iter().enumerate().map(move |(row, &place)| (place, rank, row));
    let mut rows: Vec<_> = places.enumerate().flat_map(of_rank).collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, rank, row)| (rank, row)).collect()
}

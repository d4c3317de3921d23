//! What teams of ranks have in common that step a model in time: each rank has a part and steps it, and the leader joins
//! what they answer.

use std::sync::Arc;

use pogo_formats::domains::SubDomainsView;

use super::{Part, PartStepper, SignalTable, Steps, recorded_in, update_halo};
use crate::device::DeviceError;
use crate::exchange::Exchange;
use crate::ranks::{Ranks, Reader, Writer};

/// Steps to make.
pub(crate) struct Advance {
    pub n_steps: usize,
    pub signals: SignalTable,
    /// Steps to record.
    pub record: Vec<u64>,
}

impl Advance {
    /// Writes steps into an order.
    pub fn put(order: &mut Writer, Steps { n, signals, record }: Steps<'_>) {
        order.put(&[n as u64]);
        order.put(&[signals.n_signals as u64]);
        order.put(&signals.values);
        order.put(record);
    }

    /// Reads the steps of an order.
    pub fn take(order: &mut Reader<'_>) -> Self {
        let n_steps = order.one::<u64>() as usize;
        let signals = SignalTable { n_signals: order.one::<u64>() as usize, values: order.take() };
        Self { n_steps, signals, record: order.take() }
    }
}

/// Columns of the monitors that stand on own nodes.
#[derive(Debug)]
pub(crate) struct OwnMonitors {
    pub columns: Vec<u32>,
    n_monitors: usize,
}

impl OwnMonitors {
    /// Out of degrees of freedom, of which a node has `dimension`.
    pub fn new(monitors: &[u64], dimension: usize, part: &Part) -> Self {
        let is_own = |dof: u64| part.local_own((dof / dimension as u64) as usize).is_some();
        let columns = (0..).zip(monitors).filter(|&(_, &dof)| is_own(dof));
        Self { columns: columns.map(|(column, _)| column).collect(), n_monitors: monitors.len() }
    }

    /// The values of own monitors in rows of all.
    pub fn select(&self, recording: &[f64]) -> Vec<f64> {
        let rows = recording.chunks_exact(3 * self.n_monitors.max(1));
        let of_column = |row: &[f64], column: u32| row[3 * column as usize..3 * (column as usize + 1)].to_vec();
        rows.flat_map(|row| self.columns.iter().flat_map(move |&column| of_column(row, column))).collect()
    }
}

/// The part of one rank with a stepper that leaves messages to its caller.
pub(crate) struct RankPart<S> {
    pub stepper: S,
    exchange: Exchange,
    rank: usize,
    pub monitors: OwnMonitors,
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
        Self {
            exchange: Exchange::over(ranks, domains, |node| stepper.rows(node)),
            rank: ranks.rank(),
            monitors: OwnMonitors::new(monitors, dimension, stepper.part()),
            stepper,
        }
    }

    /// Makes steps one by one. Gives the recorded values of own monitors. `after` sees the stepper after each step.
    ///
    /// # Errors
    /// The device is lost. All messages have been sent all the same, as other ranks wait for them.
    pub fn advance(&mut self, order: &Advance, mut after: impl FnMut(&S)) -> Result<Vec<f64>, DeviceError> {
        let mut recording = Vec::<f64>::new();
        let mut outcome = Ok(());
        for k in 0..order.n_steps {
            update_halo(&self.exchange, self.rank, &mut self.stepper);
            let (table, step) = (order.signals.of_step(k), [self.stepper.step()]);
            let record = recorded_in(&order.record, &step);
            let mut row = Vec::new();
            outcome = outcome.and_then(|()| self.stepper.advance(1, &table, record, &mut row));
            recording.extend(self.monitors.select(&row));
            after(&self.stepper);
        }
        outcome.map(|()| recording)
    }
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

    /// Each of `n_tables` tables of all nodes, (n_nodes × `n_components`,), from those of the own nodes of each rank.
    pub fn join_tables(&self, of_ranks: &[Vec<f64>], n_tables: usize, n_components: usize) -> Vec<Vec<f64>> {
        let table = |of_rank: &Vec<f64>, table: usize| {
            let n_numbers = of_rank.len() / n_tables;
            of_rank[table * n_numbers..(table + 1) * n_numbers].to_vec()
        };
        let join = |at| self.join(of_ranks.iter().map(|of_rank| table(of_rank, at)).collect(), n_components);
        (0..n_tables).map(join).collect()
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

//! Traces: which degrees of freedom the kernels record at which steps, and the columns that follow from them.
//!
//! At a recorded step n the kernels give u_n, Δu_n and Δu_{n+1}. Then
//!
//! ```text
//! V_n = (Δu_n + Δu_{n+1}) / 2Δt        A_n = (Δu_{n+1} − Δu_n) / Δt²        p_n = −Δq_n / Δt
//! ```
//!
//! with the pressure p of fluids and their unknown q in the place of a displacement.

use std::path::Path;

use pogo_formats::dynamics::{HistoryRequest, NodalQuantity};
use pogo_formats::write::matlab;
use pogo_formats::write::traces::{TraceColumn, TraceQuantity, TraceTerm, Traces};

use super::conditions::Dofs;
use crate::error::SolveError;

/// Recorded values of one step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    /// n.
    pub step: u64,
    /// u_n, Δu_n and Δu_{n+1} of each monitor, m.
    pub values: &'a [[f64; 3]],
}

/// Columns that a model computes from the recorded motion of several degrees of freedom: reactions, stresses.
pub(crate) trait DerivedColumns {
    /// Degrees of freedom whose records the columns need.
    fn monitors(&self) -> Vec<u64>;
    /// Gives the order of the records: `monitors` are their degrees of freedom, increasing, with all of
    /// [`monitors`](Self::monitors) among them.
    fn bind(&mut self, monitors: &[u64]);
    /// Number of a column for [`value`](Self::value); none for a column that is always 0. Needs [`bind`](Self::bind).
    fn column(&mut self, column: &TraceColumn) -> Option<usize>;
    /// Value of a column at a recorded step. The steps do not decrease from call to call.
    fn value(&mut self, column: usize, record: Record<'_>) -> f64;
}

/// How a column, or a part of a sum, is found in a record.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Displacement(usize),
    Velocity(usize),
    Acceleration(usize),
    Pressure(usize),
    Derived(usize),
    Zero,
}

/// What a column is made of.
#[derive(Debug, Clone, PartialEq)]
enum Sources {
    One(Source),
    /// Σ weight × value.
    Sum(Vec<(f64, Source)>),
}

/// The columns of the parts of a sum, with their weights.
fn parts(column: &TraceColumn) -> impl Iterator<Item = (f64, TraceColumn)> + '_ {
    column.sum.iter().map(|&TraceTerm { node, component, weight }| {
        let part =
            TraceColumn { name: String::new(), index: node, quantity: column.quantity, component, sum: Vec::new() };
        (weight, part)
    })
}

/// The traces of a run and the plan that fills them.
#[derive(Debug, Clone)]
pub(crate) struct Histories {
    /// Rows so far.
    pub traces: Traces,
    /// Steps of each group, increasing.
    steps: Vec<Vec<u64>>,
    /// Number of steps of each group that have been recorded.
    n_recorded: Vec<usize>,
    /// Of each group and column.
    sources: Vec<Vec<Sources>>,
    /// Degrees of freedom that the kernels record, increasing.
    monitors: Vec<u64>,
    time_increment: f64,
    row: Vec<f64>,
}

/// Prescribed components whose reaction is asked for, increasing.
pub(crate) fn reaction_dofs(requests: &[HistoryRequest], dofs: Dofs, is_prescribed: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut found = Vec::new();
    for request in requests {
        for &(quantity, component) in &request.variables {
            if quantity == NodalQuantity::Reaction {
                let all = request.nodes.iter().map(|&node| dofs.at(node, component));
                found.extend(all.filter(|&dof| is_prescribed(dof)));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Histories {
    /// Plans what the kernels record for `traces`, whose groups are sampled at `steps`, and takes the memory for all rows.
    pub fn plan(
        (mut traces, steps): (Traces, Vec<Vec<u64>>),
        dofs: Dofs,
        time_increment: f64,
        derived: &mut dyn DerivedColumns,
    ) -> Result<Self, SolveError> {
        for (group, steps) in traces.groups.iter_mut().zip(&steps) {
            let n_values = steps.len().saturating_mul(group.columns.len());
            let taken = group.times.try_reserve_exact(steps.len()).and(group.values.try_reserve_exact(n_values));
            let what = || "the traces; ask for fewer nodes or a longer interval".into();
            taken.map_err(|_| SolveError::Memory { what: what() })?;
        }
        let mut monitors = derived.monitors();
        for column in traces.groups.iter().flat_map(|group| &group.columns) {
            if let TraceQuantity::Nodal(quantity) = column.quantity
                && quantity != NodalQuantity::Reaction
            {
                let terms = column.sum.iter().map(|term| (term.node, term.component));
                let own = column.sum.is_empty().then_some((column.index, column.component));
                monitors.extend(terms.chain(own).map(|(node, component)| dofs.at(node, component)));
            }
        }
        monitors.sort_unstable();
        monitors.dedup();
        derived.bind(&monitors);

        let mut source = |column: &TraceColumn| {
            let recorded = || monitors.binary_search(&dofs.at(column.index, column.component)).unwrap_or_default();
            match column.quantity {
                TraceQuantity::Nodal(NodalQuantity::Displacement) => Source::Displacement(recorded()),
                TraceQuantity::Nodal(NodalQuantity::Velocity) => Source::Velocity(recorded()),
                TraceQuantity::Nodal(NodalQuantity::Acceleration) => Source::Acceleration(recorded()),
                TraceQuantity::Nodal(NodalQuantity::Pressure) => Source::Pressure(recorded()),
                _ => derived.column(column).map_or(Source::Zero, Source::Derived),
            }
        };
        let mut sources = |column: &TraceColumn| match column.sum.is_empty() {
            true => Sources::One(source(column)),
            false => Sources::Sum(parts(column).map(|(weight, part)| (weight, source(&part))).collect()),
        };
        let sources = traces.groups.iter().map(|group| group.columns.iter().map(&mut sources).collect()).collect();
        let n_recorded = vec![0; steps.len()];
        Ok(Self { traces, steps, n_recorded, sources, monitors, time_increment, row: Vec::new() })
    }

    /// Degrees of freedom that the kernels record.
    pub fn monitors(&self) -> &[u64] {
        &self.monitors
    }

    /// Steps of each group, increasing.
    pub fn steps(&self) -> &[Vec<u64>] {
        &self.steps
    }

    /// Whether a MAT-file can hold all rows.
    pub fn check_mat(&self, path: &Path) -> Result<(), SolveError> {
        let sizes = self.steps.iter().zip(&self.traces.groups).map(|(steps, group)| (steps.len(), group.columns.len()));
        Ok(sizes.into_iter().try_for_each(|(rows, columns)| matlab::check_size(path, rows, columns))?)
    }

    /// Continues the rows of an earlier part of the run that stopped before `step`. None if they do not fit this plan.
    pub fn resume(&mut self, traces: Traces, step: u64) -> Option<()> {
        if traces.groups.len() != self.traces.groups.len() {
            return None;
        }
        for (index, (old, new)) in traces.groups.iter().zip(&self.traces.groups).enumerate() {
            let n_rows = self.steps[index].partition_point(|&recorded| recorded < step);
            let whole = old.times.len() == n_rows && old.values.len() == n_rows * old.columns.len();
            if old.columns != new.columns || !whole {
                return None;
            }
            self.n_recorded[index] = n_rows;
        }
        self.traces = traces;
        Some(())
    }

    /// Steps in `from .. to` that some group records, increasing.
    pub fn steps_between(&self, from: u64, to: u64) -> Vec<u64> {
        let mut steps = Vec::new();
        for group in &self.steps {
            let first = group.partition_point(|&step| step < from);
            let last = group.partition_point(|&step| step < to);
            steps.extend_from_slice(&group[first..last]);
        }
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Adds the rows of `steps`, whose values stand one after the other in `recording`, three a monitor.
    pub fn add(&mut self, steps: &[u64], recording: &[f64], derived: &mut dyn DerivedColumns) {
        let (values, _) = recording.as_chunks::<3>();
        let n_monitors = self.monitors.len();
        for (index, &step) in steps.iter().enumerate() {
            let values = &values[index * n_monitors..(index + 1) * n_monitors];
            self.add_row(Record { step, values }, derived);
        }
    }

    fn add_row(&mut self, record: Record<'_>, derived: &mut dyn DerivedColumns) {
        let dt = self.time_increment;
        for group in 0..self.steps.len() {
            if self.steps[group].get(self.n_recorded[group]) != Some(&record.step) {
                continue;
            }
            self.n_recorded[group] += 1;
            let mut value = |source: Source| match source {
                Source::Displacement(index) => record.values[index][0],
                Source::Velocity(index) => (record.values[index][1] + record.values[index][2]) / (2.0 * dt),
                Source::Acceleration(index) => (record.values[index][2] - record.values[index][1]) / (dt * dt),
                Source::Pressure(index) => -record.values[index][1] / dt,
                Source::Derived(column) => derived.value(column, record),
                Source::Zero => 0.0,
            };
            self.row.clear();
            self.row.extend(self.sources[group].iter().map(|sources| match sources {
                Sources::One(source) => value(*source),
                Sources::Sum(terms) => terms.iter().map(|&(weight, source)| weight * value(source)).sum(),
            }));
            self.traces.groups[group].push(record.step as f64 * dt, &self.row);
        }
    }
}

//! Traces: which degrees of freedom the kernels record at which steps, and what becomes of them.
//!
//! At a recorded step n the kernels give u_n, Δu_n and Δu_{n+1}. Then
//!
//! ```text
//! V_n = (Δu_n + Δu_{n+1}) / 2Δt        A_n = (Δu_{n+1} − Δu_n) / Δt²
//! RF_n = m A_n + c V_n + f_int(u_n) − F_n    on prescribed components, 0 elsewhere
//! ```

use pogo_formats::block::MeshView;
use pogo_formats::model::{NodalQuantity, Setup};
use pogo_formats::output::traces::Traces;

use super::reactions::Reactions;
use super::schedule;

/// Recorded values of one step.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// n.
    pub step: u64,
    /// u_n, Δu_n and Δu_{n+1} of each monitor, m.
    pub values: &'a [[f64; 3]],
}

/// How a column is found in a record.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Displacement(usize),
    Velocity(usize),
    Acceleration(usize),
    /// Index among the reactions.
    Reaction(usize),
    /// Reaction of a free component.
    Zero,
}

/// The traces of a run and the plan that fills them.
#[derive(Debug, Clone)]
pub struct Histories {
    /// Rows so far.
    pub traces: Traces,
    /// Steps of each group, increasing.
    steps: Vec<Vec<u64>>,
    /// Steps of each group that are already there.
    done: Vec<usize>,
    sources: Vec<Vec<Source>>,
    /// Degrees of freedom that the kernels record, increasing.
    monitors: Vec<u64>,
    time_increment: f64,
    row: Vec<f64>,
}

/// Prescribed components whose reaction is asked for, increasing.
pub fn reaction_dofs(mesh: &MeshView<'_>, setup: &Setup, is_prescribed: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut dofs = Vec::new();
    for request in &setup.histories {
        for &(quantity, component) in &request.variables {
            if quantity == NodalQuantity::Reaction {
                dofs.extend(
                    request.nodes.iter().map(|&node| dof(mesh, node, component)).filter(|&dof| is_prescribed(dof)),
                );
            }
        }
    }
    dofs.sort_unstable();
    dofs.dedup();
    dofs
}

fn dof(mesh: &MeshView<'_>, node: u32, component: u8) -> u64 {
    u64::from(node) * mesh.dimension as u64 + u64::from(component)
}

impl Histories {
    /// Plans the traces of all requests over `n_steps` steps of `time_increment` seconds, and takes the memory for all
    /// rows. None if there is not enough.
    pub fn plan(
        mesh: &MeshView<'_>,
        setup: &Setup,
        n_steps: u64,
        time_increment: f64,
        reactions: &mut Reactions<'_>,
    ) -> Option<Self> {
        let (mut traces, steps) =
            Traces::plan(&setup.histories, mesh, |request| schedule::steps(request.interval, n_steps, time_increment));
        for (group, steps) in traces.groups.iter_mut().zip(&steps) {
            group.times.try_reserve_exact(steps.len()).ok()?;
            group.values.try_reserve_exact(steps.len().checked_mul(group.columns.len())?).ok()?;
        }
        let mut monitors: Vec<u64> = reactions.monitors().to_vec();
        for column in traces.groups.iter().flat_map(|group| &group.columns) {
            if column.quantity != NodalQuantity::Reaction {
                monitors.push(dof(mesh, column.node, column.component));
            }
        }
        monitors.sort_unstable();
        monitors.dedup();
        reactions.bind(&monitors);
        let find = |dof: u64| monitors.binary_search(&dof).unwrap_or_default();
        let sources = traces
            .groups
            .iter()
            .map(|group| {
                let source = |column: &pogo_formats::output::traces::TraceColumn| {
                    let dof = dof(mesh, column.node, column.component);
                    match column.quantity {
                        NodalQuantity::Displacement => Source::Displacement(find(dof)),
                        NodalQuantity::Velocity => Source::Velocity(find(dof)),
                        NodalQuantity::Acceleration => Source::Acceleration(find(dof)),
                        NodalQuantity::Reaction => reactions.index(dof).map_or(Source::Zero, Source::Reaction),
                    }
                };
                group.columns.iter().map(source).collect()
            })
            .collect();
        let done = vec![0; steps.len()];
        Some(Self { traces, steps, done, sources, monitors, time_increment, row: Vec::new() })
    }

    /// Degrees of freedom that the kernels record.
    pub fn monitors(&self) -> &[u64] {
        &self.monitors
    }

    /// Takes over the rows of an earlier part of the run that stopped before `step`. None if they do not fit this plan.
    pub fn resume(&mut self, traces: Traces, step: u64) -> Option<()> {
        if traces.groups.len() != self.traces.groups.len() {
            return None;
        }
        for (index, (old, new)) in traces.groups.iter().zip(&self.traces.groups).enumerate() {
            let done = self.steps[index].partition_point(|&recorded| recorded < step);
            let whole = old.times.len() == done && old.values.len() == done * old.columns.len();
            if old.columns != new.columns || !whole {
                return None;
            }
            self.done[index] = done;
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

    /// Adds the rows of one recorded step.
    pub fn add(&mut self, record: Record<'_>, reactions: &mut Reactions<'_>) {
        let dt = self.time_increment;
        let due =
            |group: usize, done: &[usize], steps: &[Vec<u64>]| steps[group].get(done[group]) == Some(&record.step);
        let wanted = (0..self.steps.len()).any(|group| {
            due(group, &self.done, &self.steps) && self.sources[group].iter().any(|s| matches!(s, Source::Reaction(_)))
        });
        let forces = if wanted { reactions.at(record) } else { &[] };
        for group in 0..self.steps.len() {
            if !due(group, &self.done, &self.steps) {
                continue;
            }
            self.done[group] += 1;
            self.row.clear();
            self.row.extend(self.sources[group].iter().map(|source| match *source {
                Source::Displacement(index) => record.values[index][0],
                Source::Velocity(index) => (record.values[index][1] + record.values[index][2]) / (2.0 * dt),
                Source::Acceleration(index) => (record.values[index][2] - record.values[index][1]) / (dt * dt),
                Source::Reaction(index) => forces[index],
                Source::Zero => 0.0,
            }));
            self.traces.groups[group].push(record.step as f64 * dt, &self.row);
        }
    }
}

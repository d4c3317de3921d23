//! Traces: which degrees of freedom the kernels record at which steps, and what becomes of them.
//!
//! At a recorded step n the kernels give u_n, Δu_n and Δu_{n+1}. Then
//!
//! ```text
//! V_n = (Δu_n + Δu_{n+1}) / 2Δt        A_n = (Δu_{n+1} − Δu_n) / Δt²
//! RF_n = m A_n + c V_n + f_int(u_n) − F_n    on prescribed components, 0 elsewhere
//! ```
//!
//! Strain and stress of an element are means over its volume, from u_n of its nodes.

use pogo_formats::dynamics::NodalQuantity;
use pogo_formats::explicit::{ElementQuantity, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::write::traces::{TraceColumn, TraceQuantity, Traces};
use pogo_kernels::explicit::elements::{ElementError, ElementProbe, element_probes, energy_density, mises};

use super::assemble::Matter;
use super::schedule;

/// Recorded values of one step.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// n.
    pub step: u64,
    /// u_n, Δu_n and Δu_{n+1} of each monitor, m.
    pub values: &'a [[f64; 3]],
}

/// Where reaction forces come from.
pub trait ReactionForces {
    /// Degrees of freedom whose record the reactions need, increasing.
    fn monitors(&self) -> &[u64];
    /// Learns the order of the records: `monitors` are their degrees of freedom, increasing, with all of
    /// [`monitors`](Self::monitors) among them.
    fn bind(&mut self, monitors: &[u64]);
    /// Position of a degree of freedom in what [`at`](Self::at) returns.
    fn index(&self, dof: u64) -> Option<usize>;
    /// Reactions at a recorded step, N, one a degree of freedom. Needs [`bind`](Self::bind).
    fn at(&mut self, record: Record<'_>) -> &[f64];
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
    /// Index among the probes, quantity, component.
    Element(usize, ElementQuantity, usize),
}

/// An element whose strain is asked for.
#[derive(Debug, Clone)]
struct Probed {
    probe: ElementProbe,
    /// Where u of its nodes stands in a record, by node and component.
    positions: [[usize; 3]; 8],
}

impl Probed {
    fn strain_and_stress(&self, record: Record<'_>) -> ([f64; 6], [f64; 6]) {
        self.probe.strain_and_stress(|node, component| record.values[self.positions[node][component]][0])
    }
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
    probed: Vec<Probed>,
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
    ///
    /// # Errors
    /// A request names an element that is not there.
    pub fn plan(
        mesh: &MeshView<'_>,
        setup: &Setup,
        matter: &Matter,
        n_steps: u64,
        time_increment: f64,
        reactions: &mut impl ReactionForces,
    ) -> Result<Option<Self>, ElementError> {
        let sampling = |interval| schedule::steps(interval, n_steps, time_increment);
        let (nodal, elemental) = (&setup.histories, &setup.element_histories);
        let (mut traces, steps) = Traces::plan(nodal, mesh.node_names(), elemental, &mesh.groups, sampling);
        for (group, steps) in traces.groups.iter_mut().zip(&steps) {
            let Some(n_values) = steps.len().checked_mul(group.columns.len()) else { return Ok(None) };
            let taken = group.times.try_reserve_exact(steps.len()).and(group.values.try_reserve_exact(n_values));
            if taken.is_err() {
                return Ok(None);
            }
        }
        let columns = || traces.groups.iter().flat_map(|group| &group.columns);
        let is_element = |column: &&TraceColumn| matches!(column.quantity, TraceQuantity::Element(_));
        let mut elements: Vec<u32> = columns().filter(is_element).map(|column| column.index).collect();
        elements.sort_unstable();
        elements.dedup();
        let probes = element_probes(mesh, &matter.sections, &matter.stiffness_factor, &elements)?;

        let mut monitors: Vec<u64> = reactions.monitors().to_vec();
        for column in columns() {
            if !matches!(column.quantity, TraceQuantity::Element(_) | TraceQuantity::Nodal(NodalQuantity::Reaction)) {
                monitors.push(dof(mesh, column.index, column.component));
            }
        }
        let components = 0..mesh.dimension as u8;
        for &node in probes.iter().flat_map(ElementProbe::nodes) {
            monitors.extend(components.clone().map(|component| dof(mesh, node, component)));
        }
        monitors.sort_unstable();
        monitors.dedup();
        reactions.bind(&monitors);

        let find = |dof: u64| monitors.binary_search(&dof).unwrap_or_default();
        let source = |column: &TraceColumn| match column.quantity {
            TraceQuantity::Nodal(quantity) => {
                let dof = dof(mesh, column.index, column.component);
                match quantity {
                    NodalQuantity::Displacement => Source::Displacement(find(dof)),
                    NodalQuantity::Velocity => Source::Velocity(find(dof)),
                    NodalQuantity::Acceleration => Source::Acceleration(find(dof)),
                    NodalQuantity::Reaction => reactions.index(dof).map_or(Source::Zero, Source::Reaction),
                }
            }
            TraceQuantity::Element(quantity) => {
                let probe = elements.binary_search(&column.index).unwrap_or_default();
                Source::Element(probe, quantity, usize::from(column.component))
            }
        };
        let sources = traces.groups.iter().map(|group| group.columns.iter().map(source).collect()).collect();
        let position = |node: u32| -> [usize; 3] {
            let mut positions = [0; 3];
            for (position, component) in positions.iter_mut().zip(components.clone()) {
                *position = find(dof(mesh, node, component));
            }
            positions
        };
        let probed = probes
            .into_iter()
            .map(|probe| {
                let mut positions = [[0; 3]; 8];
                for (positions, &node) in positions.iter_mut().zip(probe.nodes()) {
                    *positions = position(node);
                }
                Probed { probe, positions }
            })
            .collect();
        let done = vec![0; steps.len()];
        Ok(Some(Self { traces, steps, done, sources, probed, monitors, time_increment, row: Vec::new() }))
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

    /// Adds the rows of `steps`, whose values stand one after the other in `recording`, three a monitor.
    pub fn add_all(&mut self, steps: &[u64], recording: &[f64], reactions: &mut impl ReactionForces) {
        let (values, _) = recording.as_chunks::<3>();
        let n_monitors = self.monitors.len();
        for (index, &step) in steps.iter().enumerate() {
            let values = &values[index * n_monitors..(index + 1) * n_monitors];
            self.add(Record { step, values }, reactions);
        }
    }

    /// Adds the rows of one recorded step.
    pub fn add(&mut self, record: Record<'_>, reactions: &mut impl ReactionForces) {
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
            // The columns of an element stand side by side: its strain is found once.
            let mut last = None;
            self.row.extend(self.sources[group].iter().map(|source| match *source {
                Source::Displacement(index) => record.values[index][0],
                Source::Velocity(index) => (record.values[index][1] + record.values[index][2]) / (2.0 * dt),
                Source::Acceleration(index) => (record.values[index][2] - record.values[index][1]) / (dt * dt),
                Source::Reaction(index) => forces[index],
                Source::Zero => 0.0,
                Source::Element(index, quantity, component) => {
                    let (strain, stress) = match last {
                        Some((known, found)) if known == index => found,
                        _ => self.probed[index].strain_and_stress(record),
                    };
                    last = Some((index, (strain, stress)));
                    match quantity {
                        ElementQuantity::Strain => strain[component],
                        ElementQuantity::Stress => stress[component],
                        ElementQuantity::Mises => mises(stress),
                        ElementQuantity::EnergyDensity => energy_density(&strain, &stress),
                    }
                }
            }));
            self.traces.groups[group].push(record.step as f64 * dt, &self.row);
        }
    }
}

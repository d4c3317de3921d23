//! `--pogo-files`: traces and fields as P. Huthwaite's Pogo writes them.
//!
//! There, sample k holds u after the force at t_k has acted. That is u at t_{k+1} here. So step n becomes sample n − 1, with
//! the time (n − 1) Δt, and the state at t = 0 is left out.

use std::collections::{HashMap, HashSet};

use pogo_formats::dynamics::{FieldQuantity, HistoryRequest, NodalQuantity};
use pogo_formats::explicit::Setup;
use pogo_formats::mesh::MeshView;
use pogo_formats::write::pogo::{FieldFile, History, Set, Trace, set_names};
use pogo_formats::write::traces::{TraceColumn, TraceQuantity, Traces};
use pogo_kernels::dynamics::State;

use crate::call::Call;
use crate::error::SolveError;
use crate::run::histories::Histories;
use crate::run::schedule::{self, Clock};

/// Most sets that a warning names.
const MOST_NAMED: usize = 5;

/// The histories of a run, and what the user should know of them.
#[derive(Debug, Default)]
pub(super) struct PogoHistories {
    files: Vec<Sampled>,
    pub warnings: Vec<String>,
}

/// Traces that are sampled at the same steps: one file.
#[derive(Debug)]
struct Sampled {
    name: String,
    /// Index among the groups of traces.
    group: usize,
    /// Rows of the group before the first sample.
    skipped: usize,
    history: History,
}

/// Which rows of a group are samples: those of equal distance after t = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Samples {
    skipped: usize,
    /// Step of the first sample, at least 1.
    first: u64,
    every: u64,
    n: usize,
}

impl Samples {
    /// None where the steps have no equal distance. The last step of a run is always recorded, and may lie closer.
    fn of(steps: &[u64]) -> Option<Self> {
        let skipped = usize::from(steps.first() == Some(&0));
        let steps = &steps[skipped..];
        let &first = steps.first()?;
        let every = steps.get(1).map_or(first, |second| second - first);
        let n = 1 + steps.windows(2).take_while(|pair| pair[1] - pair[0] == every).count();
        (n + 1 >= steps.len()).then_some(Self { skipped, first, every, n })
    }
}

/// The base name of the files, with the number of the shot from 1; none where they are not asked for.
fn base_name(call: &Call<'_>) -> Option<String> {
    let of_block_file = || call.config.block_file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = call.settings.pogo_files.as_ref()?;
    let name = name.clone().or_else(of_block_file).unwrap_or_else(|| "pogo".into());
    Some(call.shot.map_or_else(|| name.clone(), |shot| format!("{name}-{}", shot + 1)))
}

/// Number of each node in the files, from 0: its label less 1, or where the model has instances its place in the user's order.
fn node_numbers(mesh: &MeshView<'_>) -> Result<Vec<i32>, &'static str> {
    let number =
        |n: u32| i32::try_from(n).map_err(|_| "it has nodes beyond the numbers of 32 bits that the files have");
    let has_labels = mesh.instances.iter().all(|name| name.is_empty()) && !mesh.node_labels.contains(&0);
    if has_labels {
        return mesh.node_labels.iter().map(|&label| number(label - 1)).collect();
    }
    let mut numbers = vec![0; mesh.n_nodes()];
    for (place, &node) in (0..).zip(&mesh.node_names().user_order()) {
        numbers[node as usize] = number(place)?;
    }
    Ok(numbers)
}

fn position(mesh: &MeshView<'_>, node: u32) -> [f64; 3] {
    let dimension = mesh.dimension;
    let at = node as usize * dimension;
    let mut position = [0.0; 3];
    position[..dimension].copy_from_slice(&mesh.coordinates[at..at + dimension]);
    position
}

impl PogoHistories {
    /// Plans the files, if they are asked for.
    ///
    /// # Errors
    /// Samples at unequal distances, which the file cannot hold.
    pub fn plan(
        mesh: &MeshView<'_>,
        setup: &Setup,
        call: &Call<'_>,
        clock: Clock,
        histories: &Histories,
    ) -> Result<Self, SolveError> {
        let Some(base) = base_name(call) else { return Ok(Self::default()) };
        let numbers = node_numbers(mesh).map_err(|reason| call.refuse(format!("--pogo-files: {reason}")))?;
        let mut plan = Self { files: Vec::new(), warnings: left_out(setup) };
        for (group, steps) in histories.steps().iter().enumerate() {
            let of_group = |request: &&HistoryRequest| schedule::steps(&request.interval, clock) == *steps;
            let requests: Vec<&HistoryRequest> = setup.histories.iter().filter(of_group).collect();
            let mut sets = sets(mesh, &numbers, &requests, &histories.traces, group);
            sets.extend(sums(mesh, &requests, &histories.traces, group));
            if sets.is_empty() {
                continue;
            }
            let samples = Samples::of(steps).ok_or_else(|| call.refuse(uneven(&sets[0].name)))?;
            plan.rename(&mut sets);
            let name = match plan.files.len() {
                0 => format!("{base}.pogo-hist"),
                n => format!("{base}.sampling{}.pogo-hist", n + 1),
            };
            let history = History {
                dimension: mesh.dimension,
                start: clock.time(samples.first - 1),
                interval: clock.time(samples.every),
                n_samples: samples.n,
                sets,
            };
            plan.files.push(Sampled { name, group, skipped: samples.skipped, history });
        }
        plan.note_files(&base);
        Ok(plan)
    }

    /// Gives sets the names that a file can hold.
    fn rename(&mut self, sets: &mut [Set]) {
        let names = set_names(&sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>());
        let mut changed = Vec::new();
        for (set, name) in sets.iter_mut().zip(names) {
            if set.name != name {
                changed.push(format!("`{}` as `{name}`", set.name));
            }
            set.name = name;
        }
        if !changed.is_empty() {
            let named = named(&changed);
            self.warnings.push(format!("--pogo-files: sets have at most 19 characters, and other names: {named}"));
        }
    }

    fn note_files(&mut self, base: &str) {
        match self.files.as_slice() {
            [] => self.warnings.push(format!(
                "--pogo-files: no {base}.pogo-hist, as no displacement of nodes is recorded; ask for U of a node set"
            )),
            [_] => {}
            [_, others @ ..] => {
                let others: Vec<String> = others.iter().map(|file| file.name.clone()).collect();
                self.warnings.push(format!(
                    "--pogo-files: a file has one sampling; those of other sets are in {}",
                    named(&others)
                ));
            }
        }
    }

    /// Writes the files into the folder of the results; returns their names.
    pub fn write(&self, folder: &std::path::Path, traces: &Traces) -> Result<Vec<String>, SolveError> {
        for Sampled { name, group, skipped, history } in &self.files {
            let group = &traces.groups[*group];
            let n_samples = history.n_samples.min(group.times.len().saturating_sub(*skipped));
            let history = History { n_samples, ..history.clone() };
            history.write(&folder.join(name), |column| group.column(column).skip(*skipped))?;
        }
        Ok(self.files.iter().map(|file| file.name.clone()).collect())
    }
}

/// The displacements that `requests` ask for, set by set; requests of one name are one set.
fn sets(mesh: &MeshView<'_>, numbers: &[i32], requests: &[&HistoryRequest], traces: &Traces, group: usize) -> Vec<Set> {
    let columns = traces.groups[group].columns.iter().enumerate();
    let is_displacement = |c: &TraceColumn| c.quantity == TraceQuantity::Nodal(NodalQuantity::Displacement);
    let displacements = columns.filter(|(_, column)| column.sum.is_empty() && is_displacement(column));
    let place: HashMap<(u32, u8), usize> =
        displacements.map(|(at, column)| ((column.index, column.component), at)).collect();
    let mut sets: Vec<Set> = Vec::new();
    for request in requests.iter().filter(|request| request.weights.is_empty()) {
        let components: Vec<u8> = displacements_of(request).collect();
        let wanted = request.nodes.iter().flat_map(|&node| components.iter().map(move |&component| (node, component)));
        let trace = |(node, component): (u32, u8)| {
            let &column = place.get(&(node, component))?;
            let number = numbers[node as usize];
            Some(Trace { node: number, component: component.into(), position: position(mesh, node), column })
        };
        let traces: Vec<Trace> = wanted.filter_map(trace).collect();
        match sets.iter_mut().find(|set| set.name == request.set) {
            Some(set) => set.traces.extend(traces),
            None if traces.is_empty() => {}
            None => sets.push(Set { name: request.set.clone(), traces }),
        }
    }
    for set in &mut sets {
        let mut seen = HashSet::new();
        set.traces.retain(|trace| seen.insert(trace.column));
    }
    sets
}

/// Weighted sums of displacements, set by set: the number of a sum in its set takes the place of the node, and no component.
fn sums(mesh: &MeshView<'_>, requests: &[&HistoryRequest], traces: &Traces, group: usize) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    let mut taken = HashSet::new();
    for request in requests.iter().filter(|request| !request.weights.is_empty()) {
        let is_its = |column: &TraceColumn| {
            let nodes = || column.sum.iter().map(|term| term.node);
            column.quantity == TraceQuantity::Nodal(NodalQuantity::Displacement)
                && nodes().all(|node| request.nodes.contains(&node))
                && column.name.starts_with(&request.set)
        };
        let mut columns = traces.groups[group].columns.iter().enumerate().filter(|(_, column)| !column.sum.is_empty());
        let Some((column, found)) = columns.find(|(at, column)| !taken.contains(at) && is_its(column)) else {
            continue;
        };
        taken.insert(column);
        let n = found.sum.len().max(1) as f64;
        let mut centre = [0.0; 3];
        for term in &found.sum {
            centre.iter_mut().zip(position(mesh, term.node)).for_each(|(sum, x)| *sum += x / n);
        }
        let name = &request.set;
        let at = sets.iter().position(|set| set.name == *name).unwrap_or_else(|| {
            sets.push(Set { name: name.clone(), traces: Vec::new() });
            sets.len() - 1
        });
        let node = sets[at].traces.len() as i32;
        sets[at].traces.push(Trace { node, component: -1, position: centre, column });
    }
    sets
}

fn displacements_of(request: &HistoryRequest) -> impl Iterator<Item = u8> {
    let is_displacement = |&&(quantity, _): &&(NodalQuantity, u8)| quantity == NodalQuantity::Displacement;
    request.variables.iter().filter(is_displacement).map(|&(_, component)| component)
}

/// Traces that the files cannot hold.
fn left_out(setup: &Setup) -> Vec<String> {
    let nodal = setup.histories.iter().flat_map(|request| {
        let others = request.variables.iter().filter(|(quantity, _)| *quantity != NodalQuantity::Displacement);
        others.map(|&(quantity, component)| {
            format!("{} of `{}`", TraceQuantity::Nodal(quantity).label(component), request.set)
        })
    });
    let of_elements = setup.element_histories.iter().flat_map(|request| {
        let label = |&(quantity, component): &(_, u8)| TraceQuantity::Element(quantity).label(component);
        request.variables.iter().map(move |variable| format!("{} of `{}`", label(variable), request.set))
    });
    let others: Vec<String> = nodal.chain(of_elements).collect();
    match others.is_empty() {
        true => Vec::new(),
        false => vec![format!("--pogo-files: a .pogo-hist holds displacements alone, not {}", named(&others))],
    }
}

fn uneven(set: &str) -> String {
    format!(
        "--pogo-files: the samples of `{set}` have no equal distance, as their interval is no whole number of increments; \
         ask for every so many increments, or give an --increment that divides the interval"
    )
}

/// The first few names, and how many more there are.
fn named(names: &[String]) -> String {
    let shown = names[..names.len().min(MOST_NAMED)].join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Displacement fields as they are written.
#[derive(Debug)]
pub(super) struct PogoFields<'a> {
    file: FieldFile,
    /// Nodes in the order of the file.
    order: &'a [u32],
    /// Increasing, without 0.
    steps: Vec<u64>,
    dimension: usize,
    clock: Clock,
}

impl<'a> PogoFields<'a> {
    /// Plans the file; none where it is not asked for, or no displacement field is. `order` is the user's order of the nodes.
    ///
    /// # Errors
    /// The file of an earlier run cannot be gone on with.
    pub fn plan(
        mesh: &MeshView<'_>,
        series: &[(Vec<FieldQuantity>, Vec<u64>)],
        order: &'a [u32],
        (call, clock): (&Call<'_>, Clock),
        first_step: u64,
    ) -> Result<Option<Self>, SolveError> {
        let with_displacement = series.iter().filter(|(content, _)| content.contains(&FieldQuantity::Displacement));
        let mut steps: Vec<u64> = with_displacement.flat_map(|(_, steps)| steps).copied().filter(|&n| n > 0).collect();
        steps.sort_unstable();
        steps.dedup();
        let Some(base) = base_name(call).filter(|_| !steps.is_empty()) else { return Ok(None) };
        let numbers = node_numbers(mesh).map_err(|reason| call.refuse(format!("--pogo-files: {reason}")))?;
        let dimension = mesh.dimension;
        let nodes = order.iter().map(|&node| (numbers[node as usize], position(mesh, node)));
        let mut file = FieldFile::new(&call.folder.join(format!("{base}.pogo-field")), dimension, nodes);
        if call.is_resumed() {
            file.resume(steps.partition_point(|&step| step <= first_step) as u32)?;
        }
        Ok(Some(Self { file, order, steps, dimension, clock }))
    }

    /// Writes the displacement of a state, if it is due.
    pub fn write(&mut self, state: &State) -> Result<(), SolveError> {
        if self.steps.binary_search(&state.step).is_err() {
            return Ok(());
        }
        let (order, dimension) = (self.order, self.dimension);
        let u = |place: usize| &state.displacement[order[place] as usize * dimension..][..dimension];
        Ok(self.file.write(self.clock.time(state.step - 1), u)?)
    }

    /// Name of the file, once it is there.
    pub fn name(&self) -> Option<String> {
        if self.file.is_empty() { None } else { Some(self.file.path().file_name()?.to_str()?.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_equal_distances_but_for_the_last_step() {
        let found = |steps: &[u64]| Samples::of(steps).map(|s| (s.skipped, s.first, s.every, s.n));
        assert_eq!(found(&[0, 1, 2, 3]), Some((1, 1, 1, 3)));
        assert_eq!(found(&[0, 4, 8, 10]), Some((1, 4, 4, 2)));
        assert_eq!(found(&[0, 4, 8]), Some((1, 4, 4, 2)));
        assert_eq!(found(&[0, 7]), Some((1, 7, 7, 1)));
        assert_eq!(found(&[5, 7, 9, 10]), Some((0, 5, 2, 3)));
        assert_eq!(found(&[0, 3, 5, 8, 10]), None);
        assert_eq!(found(&[0]), None);
    }
}

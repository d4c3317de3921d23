//! What acts on nodes, and what is recorded: fixed degrees of freedom, signals, measurements, fields.

use std::collections::BTreeMap;

use super::layout::{Layout, MeasurementSet, Shot, Signal};
use super::nodes::Nodes;
use super::{Findings, Found};
use crate::dynamics::shots::{Shot as ShotOfModel, ShotSource};
use crate::dynamics::{
    Amplitude, AmplitudeShape, Boundary, BoundaryKind, FieldQuantity, FieldRequest, HistoryRequest, Load, LoadKind,
    NodalQuantity, OutputInterval,
};
use crate::mesh::NamedSet;
use crate::read::deck::Deck;
use crate::words::counted;

/// Most degrees of freedom of groups in all signals and measurements: a file can name one group very often.
const MOST_TERMS: usize = 1 << 27;

/// A last sample below this part of the largest one is rounding of a window that ends with 0.
const NOTHING: f64 = 1e-6;

/// A degree of freedom with its weight.
type Term = (u32, u8, f64);

/// Reads conditions into a deck.
pub(super) struct Conditions<'a, 'b> {
    pub layout: &'a Layout<'b>,
    pub nodes: &'a Nodes,
    pub deck: &'a mut Deck,
    /// Degrees of freedom of groups so far.
    pub n_terms: usize,
}

impl Conditions<'_, '_> {
    /// Reads all conditions and requests.
    ///
    /// # Errors
    /// Numbers of nodes, components or groups that are not there; values that are not finite.
    pub fn read(&mut self, findings: &mut Findings) -> Found<()> {
        self.fixed()?;
        let shots = &self.layout.shots;
        for (number, shot) in (1..).zip(shots) {
            let prefix = if shots.len() > 1 { format!("SHOT{number}.") } else { String::new() };
            self.shot(shot, &prefix, findings)?;
        }
        if shots.len() > 1 {
            let source = |name| ShotSource { name, scale: 1.0, delay: 0.0 };
            let shot = |(number, shot): (usize, &Shot)| ShotOfModel {
                name: format!("shot{number}"),
                // One without a signal has no source.
                sources: shot.signals.first().map(|_| source(format!("SHOT{number}"))).into_iter().collect(),
            };
            self.deck.shots = (1..).zip(shots).map(shot).collect();
        }
        self.measurements(findings)?;
        self.fields(findings)
    }

    fn fixed(&mut self) -> Found<()> {
        let dofs = self.nodes.dofs(self.layout.fixed, "fixed degrees of freedom")?;
        for component in 0..self.nodes.dimension() as u8 {
            let nodes: Vec<u32> = dofs.iter().filter(|dof| dof.1 == component).map(|dof| dof.0).collect();
            if !nodes.is_empty() {
                self.deck.boundaries.push(Boundary {
                    name: format!("FIX.{}", component + 1),
                    nodes,
                    component,
                    kind: BoundaryKind::Displacement,
                    value: 0.0,
                    amplitude: None,
                });
            }
        }
        Ok(())
    }

    fn shot(&mut self, shot: &Shot, prefix: &str, findings: &mut Findings) -> Found<()> {
        let interval = shot.interval;
        if shot.signals.is_empty() {
            return Ok(());
        }
        if !(interval > 0.0 && interval.is_finite()) {
            let at = shot.signals[0].at;
            return Err(format!(
                "the sampling interval of signals is {interval} s (before byte {at}): the file is damaged"
            ));
        }
        if (interval - self.layout.increment).abs() > 1e-9 * self.layout.increment {
            let dt = self.layout.increment;
            findings.note(format!(
                "signals are sampled every {interval} s, the run has increments of {dt} s: linear between samples"
            ));
        }
        for (number, signal) in (1..).zip(&shot.signals) {
            self.signal(signal, interval, format!("{prefix}SIG{number}"), findings)?;
        }
        Ok(())
    }

    fn signal(&mut self, signal: &Signal, interval: f64, name: String, findings: &mut Findings) -> Found<()> {
        let kind = match signal.kind {
            0 => None,
            1 => Some(BoundaryKind::Displacement),
            2 => Some(BoundaryKind::Velocity),
            other => {
                let at = signal.at;
                return Err(format!("signal {name}: type {other} (byte {at}) is not 0, 1 or 2: the file is damaged"));
            }
        };
        let amplitudes = signal.amplitudes.finite(&format!("an amplitude of signal {name}"))?;
        let samples = signal.samples.finite(&format!("signal {name}"))?;
        let terms = self.terms(signal, &amplitudes, &format!("signal {name}"))?;
        if terms.is_empty() || samples.is_empty() {
            findings.warn(format!("signal {name} has no degree of freedom or no sample: it is left out"));
            return Ok(());
        }
        let largest = samples.iter().fold(0.0, |largest: f64, sample| largest.max(sample.abs()));
        let ends = samples.last().is_some_and(|last| last.abs() > NOTHING * largest);
        if ends
            && samples.len() as f64 * interval
                < f64::from(self.layout.n_increments) * self.layout.increment * (1.0 - 1e-9)
        {
            findings
                .warn(format!("signal {name} ends before the run with a value other than 0: it is 0 from there on"));
        }
        let amplitude = self.deck.amplitudes.len() as u32;
        let start = if kind.is_some() { self.layout.increment } else { 0.0 };
        self.deck.amplitudes.push(Amplitude::new(&name, sampled(samples, interval, start)));
        match kind {
            None => self.force(&name, &terms, amplitude),
            Some(kind) => self.motion(&name, &terms, kind, amplitude),
        }
        Ok(())
    }

    /// Degrees of freedom of a signal, with amplitude times weight.
    fn terms(&mut self, signal: &Signal, amplitudes: &[f64], what: &str) -> Found<Vec<Term>> {
        if signal.of_groups {
            let mut terms = Vec::new();
            for ((group, at), amplitude) in signal.dofs.iter().zip(amplitudes) {
                let of_group = self.group(group, at, what)?;
                terms.extend(
                    of_group.into_iter().map(|(node, component, weight)| (node, component, weight * amplitude)),
                );
            }
            return Ok(terms);
        }
        let dofs = self.nodes.dofs(signal.dofs, what)?;
        Ok(dofs
            .into_iter()
            .zip(amplitudes)
            .map(|((node, component), &amplitude)| (node, component, amplitude))
            .collect())
    }

    fn group(&mut self, group: u64, at: usize, what: &str) -> Found<Vec<Term>> {
        let groups = &self.layout.groups;
        let Some(found) = usize::try_from(group).ok().and_then(|group| groups.get(group)) else {
            return Err(super::cursor::beyond(&format!("{what}: a group"), group as i64, groups.len(), at));
        };
        self.n_terms = self.n_terms.saturating_add(found.dofs.len());
        if self.n_terms > MOST_TERMS {
            return Err(format!(
                "{what}: groups are named so often that more than {MOST_TERMS} degrees of freedom come together"
            ));
        }
        let dofs = self.nodes.dofs(found.dofs, &format!("group {}", group + 1))?;
        let weights = found.weights.finite(&format!("a weight of group {}", group + 1))?;
        Ok(dofs.into_iter().zip(weights).map(|((node, component), weight)| (node, component, weight)).collect())
    }

    /// A load for each component.
    fn force(&mut self, name: &str, terms: &[Term], amplitude: u32) {
        let components: Vec<u8> = components(terms);
        for &component in &components {
            let of_component = || terms.iter().filter(|term| term.1 == component);
            let mut weights: Vec<f64> = of_component().map(|term| term.2).collect();
            let mut magnitude = 1.0;
            if weights.iter().all(|weight| *weight == weights[0]) {
                (magnitude, weights) = (weights[0], Vec::new());
            }
            let mut direction = [0.0; 3];
            direction[usize::from(component)] = 1.0;
            let nodes = of_component().map(|term| term.0).collect();
            self.deck.loads.push(Load {
                name: if components.len() == 1 { name.to_owned() } else { format!("{name}.{}", component + 1) },
                kind: LoadKind::Concentrated { nodes, weights, direction },
                magnitude,
                amplitude: Some(amplitude),
            });
        }
    }

    /// A constraint for each component and value.
    fn motion(&mut self, name: &str, terms: &[Term], kind: BoundaryKind, amplitude: u32) {
        let mut by_value: BTreeMap<(u8, u64), Vec<u32>> = BTreeMap::new();
        for &(node, component, value) in terms {
            by_value.entry((component, value.to_bits())).or_default().push(node);
        }
        let one_value = by_value.len() == components(terms).len();
        for (number, ((component, value), nodes)) in (1..).zip(by_value) {
            let axis = component + 1;
            let name = if one_value { format!("{name}.{axis}") } else { format!("{name}.{axis}.{number}") };
            let (value, amplitude) = (f64::from_bits(value), Some(amplitude));
            self.deck.boundaries.push(Boundary { name, nodes, component, kind, value, amplitude });
        }
    }

    fn measurements(&mut self, findings: &mut Findings) -> Found<()> {
        let measured = &self.layout.measurements;
        if measured.sets.iter().all(|set| set.dofs.len() == 0) {
            return Ok(());
        }
        let (every, first) = (u32::try_from(measured.every), u32::try_from(measured.first));
        let (Ok(every @ 1..), Ok(first)) = (every, first) else {
            let (every, first, at) = (measured.every, measured.first, measured.at);
            return Err(format!(
                "measurements begin at increment {first} (from 0), every {every} (byte {at}): the file is damaged"
            ));
        };
        if first >= self.layout.n_increments {
            findings.warn(format!(
                "measurements begin after the last increment: nothing is recorded (byte {})",
                measured.at
            ));
        }
        // Their sample k, from 1, is the state that the force at (k − 1) Δt has moved: that after k increments.
        let interval = OutputInterval::From { first: first.saturating_add(1), every };
        for (number, set) in (1..).zip(&measured.sets) {
            let name = if set.name.is_empty() { format!("SET{number}") } else { set.name.clone() };
            match set.of_groups {
                true => self.group_traces(set, &name, &interval)?,
                false => self.node_traces(set, &name, &interval)?,
            }
        }
        Ok(())
    }

    /// A weighted sum for each group.
    fn group_traces(&mut self, set: &MeasurementSet, name: &str, interval: &OutputInterval) -> Found<()> {
        for (group, at) in set.dofs.iter() {
            let terms = self.group(group, at, &format!("measurement set {name}"))?;
            let components = components(&terms);
            let mut nodes: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
            for (node, component, weight) in terms {
                nodes.entry(node).or_default()[usize::from(component)] += weight;
            }
            let weights = nodes.values().flat_map(|weights| components.iter().map(|&axis| weights[usize::from(axis)]));
            self.deck.histories.push(HistoryRequest {
                set: name.to_owned(),
                weights: weights.collect(),
                nodes: nodes.into_keys().collect(),
                variables: displacements(&components),
                interval: interval.clone(),
            });
        }
        Ok(())
    }

    /// Requests in the order of the list: nodes in a row that have the same components share one.
    fn node_traces(&mut self, set: &MeasurementSet, name: &str, interval: &OutputInterval) -> Found<()> {
        let dofs = self.nodes.dofs(set.dofs, &format!("measurement set {name}"))?;
        let mut members: Vec<u32> = dofs.iter().map(|dof| dof.0).collect();
        members.sort_unstable();
        members.dedup();
        self.deck.mesh.node_sets.push(NamedSet { name: name.to_owned(), members });
        let mut requests: Vec<(Vec<u32>, Vec<u8>)> = Vec::new();
        for of_node in dofs.chunk_by(|a, b| a.0 == b.0) {
            let components: Vec<u8> = of_node.iter().map(|dof| dof.1).collect();
            match requests.last_mut() {
                Some((nodes, known)) if *known == components => nodes.push(of_node[0].0),
                _ => requests.push((vec![of_node[0].0], components)),
            }
        }
        self.deck.histories.extend(requests.into_iter().map(|(nodes, components)| HistoryRequest {
            set: name.to_owned(),
            nodes,
            variables: displacements(&components),
            weights: Vec::new(),
            interval: interval.clone(),
        }));
        Ok(())
    }

    fn fields(&mut self, findings: &mut Findings) -> Found<()> {
        let (increments, n) = (self.layout.field_increments, self.layout.n_increments);
        let mut steps = Vec::with_capacity(increments.len());
        for (index, increment) in increments.iter().enumerate() {
            let at = increments.at + 4 * index;
            match u32::try_from(increment) {
                Ok(increment) => steps.push(increment.saturating_add(1)),
                Err(_) => {
                    return Err(format!("a field is stored at increment {increment} (byte {at}): the file is damaged"));
                }
            }
        }
        steps.sort_unstable();
        steps.dedup();
        let beyond = steps.len() - steps.partition_point(|&step| step <= n);
        if beyond > 0 {
            findings.warn(format!("{} after the last increment: left out", counted(beyond, "field")));
            steps.truncate(steps.len() - beyond);
        }
        if steps.is_empty() {
            return Ok(());
        }
        if let Some(nodes) = self.layout.field_nodes.filter(|&nodes| nodes != self.nodes.len()) {
            findings.note(format!("fields of {} are written for all nodes", counted(nodes, "node")));
        }
        let (quantities, interval) = (vec![FieldQuantity::Displacement], OutputInterval::Steps(steps));
        self.deck.fields.push(FieldRequest { quantities, interval });
        Ok(())
    }
}

fn displacements(components: &[u8]) -> Vec<(NodalQuantity, u8)> {
    components.iter().map(|&component| (NodalQuantity::Displacement, component)).collect()
}

/// Components of terms, increasing.
fn components(terms: &[Term]) -> Vec<u8> {
    (0..3).filter(|&component| terms.iter().any(|term| term.1 == component)).collect()
}

/// A table of equidistant samples, the first at `start`: linear between them, and 0 before and behind.
fn sampled(mut values: Vec<f64>, interval: f64, start: f64) -> AmplitudeShape {
    let mut times: Vec<f64> = (0..values.len()).map(|index| start + index as f64 * interval).collect();
    if start > 0.0 {
        times.insert(0, 0.0);
        values.insert(0, 0.0);
    }
    if values.last().is_some_and(|last| *last != 0.0) {
        times.push(start + (times.len() - usize::from(start > 0.0)) as f64 * interval);
        values.push(0.0);
    }
    AmplitudeShape::Tabular { times, values }
}

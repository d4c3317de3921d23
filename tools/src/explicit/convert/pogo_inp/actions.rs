//! Fixed degrees of freedom and signals.

use std::collections::BTreeMap;
use std::io;

use pogo_formats::dynamics::{Amplitude, Boundary, BoundaryKind, LoadKind, Start};
use pogo_formats::explicit::{Model, Setup};

use super::super::Findings;
use super::super::sampled::Steps;
use super::Out;

/// The number of a degree of freedom in the files.
pub fn code(node: u32, component: u8) -> u64 {
    4 * u64::from(node) + u64::from(component)
}

/// What acts in each shot; a model without shots is one.
///
/// A shot that cannot be, and shots that differ in what they hold, are problems.
pub fn shots(model: &Model, steps: Steps, findings: &mut Findings) -> (Vec<u64>, Vec<Vec<Signal>>) {
    let mut setups = vec![model.setup.clone()];
    if !model.setup.shots.is_empty() {
        setups = vec![model.setup.clone(); model.setup.shots.len()];
        for (shot, setup) in setups.iter_mut().enumerate() {
            if let Err(reason) = setup.reduce_to_shot(shot) {
                findings.refuse(reason);
            }
        }
    }
    let actions: Vec<Actions<'_>> = setups.iter().map(|setup| Actions::new(setup, findings)).collect();
    if actions.iter().any(|other| other.fixed != actions[0].fixed) {
        findings.refuse("shots differ in the nodes that they hold fixed; the file holds one list for all");
    }
    let signals = actions.iter().map(|actions| actions.signals(steps, findings)).collect();
    (actions[0].fixed.clone(), signals)
}

/// What acts on the model, by the codes of degrees of freedom.
struct Actions<'a> {
    start: Start,
    fixed: Vec<u64>,
    /// Prescribed displacements by the index of their amplitude: code and value.
    moved: BTreeMap<Option<u32>, Vec<(u64, f64)>>,
    /// Forces by the index of their amplitude.
    forces: BTreeMap<Option<u32>, BTreeMap<u64, f64>>,
    amplitudes: &'a [Amplitude],
}

/// One signal: what it does, where, and its samples.
pub struct Signal {
    /// 0: force, 1: displacement.
    kind: i32,
    places: Vec<(u64, f64)>,
    samples: Vec<f64>,
}

impl<'a> Actions<'a> {
    /// Finds what the file cannot hold of loads and constraints.
    fn new(setup: &'a Setup, findings: &mut Findings) -> Self {
        let mut actions = Self {
            start: setup.explicit.start,
            fixed: Vec::new(),
            moved: BTreeMap::new(),
            forces: BTreeMap::new(),
            amplitudes: &setup.amplitudes,
        };
        actions.constrain(&setup.boundaries, findings);
        let moving = setup.initial_velocities.iter().filter(|initial| initial.value != 0.0);
        for initial in moving {
            findings.refuse(format!("`{}` is an initial velocity; the file's models begin at rest", initial.name));
        }
        let held: std::collections::HashSet<u64> =
            actions.fixed.iter().copied().chain(actions.moved.values().flatten().map(|(code, _)| *code)).collect();
        for load in &setup.loads {
            let LoadKind::Concentrated { nodes, weights, direction } = &load.kind else {
                findings
                    .refuse(format!("load `{}` acts on faces or volumes; the file holds forces on nodes", load.name));
                continue;
            };
            let magnitude = if actions.is_absolute(load.amplitude) { 1.0 } else { load.magnitude };
            let forces = actions.forces.entry(load.amplitude).or_default();
            for (index, &node) in nodes.iter().enumerate() {
                let weight = magnitude * weights.get(index).copied().unwrap_or(1.0);
                for (component, share) in (0..).zip(direction).filter(|(_, share)| **share != 0.0) {
                    let place = code(node, component);
                    if !held.contains(&place) {
                        *forces.entry(place).or_insert(0.0) += share * weight;
                    }
                }
            }
        }
        actions
    }

    fn is_absolute(&self, amplitude: Option<u32>) -> bool {
        amplitude.is_some_and(|index| self.amplitudes[index as usize].absolute)
    }

    /// Of several constraints on one degree of freedom the last one holds.
    fn constrain(&mut self, boundaries: &[Boundary], findings: &mut Findings) {
        let mut last: BTreeMap<u64, &Boundary> = BTreeMap::new();
        for boundary in boundaries {
            last.extend(boundary.nodes.iter().map(|&node| (code(node, boundary.component), boundary)));
        }
        let mut refused = std::collections::BTreeSet::new();
        for (code, boundary) in last {
            let value = if self.is_absolute(boundary.amplitude) { 1.0 } else { boundary.value };
            if value == 0.0 {
                self.fixed.push(code);
            } else if boundary.kind == BoundaryKind::Displacement {
                self.moved.entry(boundary.amplitude).or_default().push((code, value));
            } else {
                refused.insert(boundary.name.as_str());
            }
        }
        for name in refused {
            findings.refuse(format!("`{name}` prescribes a velocity or an acceleration; the file holds displacements"));
        }
    }

    /// Samples the functions of time: forces at t_k, displacements one step on, where sample k holds. The first sample of a
    /// force acts fully there, and half in a start of second order.
    fn signals(&self, steps: Steps, findings: &mut Findings) -> Vec<Signal> {
        let value = |amplitude: Option<u32>, step: u64| {
            let at = |index: u32| self.amplitudes[index as usize].at(step as f64 * steps.increment);
            amplitude.map_or(1.0, at)
        };
        let name = |amplitude: Option<u32>| {
            amplitude.map_or("a constant".to_owned(), |index| format!("`{}`", self.amplitudes[index as usize].name))
        };
        let mut signals = Vec::new();
        for (&amplitude, places) in &self.forces {
            let mut samples: Vec<f64> = (0..steps.n).map(|step| value(amplitude, step)).collect();
            if let (Start::SecondOrder, Some(first)) = (self.start, samples.first_mut()) {
                *first *= 0.5;
            }
            signals.push(Signal {
                kind: 0,
                places: places.iter().map(|(&code, &value)| (code, value)).collect(),
                samples,
            });
        }
        for (&amplitude, places) in &self.moved {
            if value(amplitude, 0) != 0.0 {
                findings.refuse(format!(
                    "the displacement by {} is not 0 at t = 0; the file's models begin at rest",
                    name(amplitude)
                ));
            }
            let samples = (1..=steps.n).map(|step| value(amplitude, step)).collect();
            signals.push(Signal { kind: 1, places: places.clone(), samples });
        }
        signals.retain(|signal| !signal.places.is_empty());
        signals
    }
}

pub fn fixed(out: &mut Out<'_>, fixed: &[u64]) -> io::Result<()> {
    out.long(fixed.len() as u64)?;
    out.codes(fixed.iter().copied())
}

/// The signals of each shot.
pub fn write(out: &mut Out<'_>, shots: &[Vec<Signal>], steps: Steps) -> io::Result<()> {
    out.integers(&[shots.len() as i32])?;
    for signals in shots {
        out.integers(&[signals.len() as i32, steps.n as i32])?;
        out.reals([steps.increment])?;
        for Signal { kind, places, samples } in signals {
            out.integers(&[places.len() as i32, *kind])?;
            out.degrees_of_freedom(places.iter().map(|&(code, _)| code))?;
            out.reals(places.iter().map(|&(_, value)| value))?;
            out.reals(samples.iter().copied())?;
        }
    }
    Ok(())
}

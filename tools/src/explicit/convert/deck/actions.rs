//! Amplitudes, loads, constraints and initial velocities of a deck.

use std::io::{self, Write};

use pogo_formats::dynamics::{Amplitude, AmplitudeShape, BoundaryKind, LoadKind, Start};
use pogo_formats::explicit::Model;
use pogo_formats::mesh::NamedSet;

use super::super::Findings;
use super::super::sampled::Steps;
use super::names::{Labels, Names};
use crate::generate::deck::real;

/// Cards with their data lines.
#[derive(Default)]
pub struct Actions {
    amplitudes: Vec<String>,
    initial: Vec<String>,
    in_step: Vec<String>,
}

impl Actions {
    /// Node sets that are needed are added to `sets`.
    pub fn new(
        model: &Model,
        steps: Option<Steps>,
        sets: &mut Vec<NamedSet>,
        names: &mut Names,
        findings: &mut Findings,
    ) -> Self {
        let setup = &model.setup;
        let mut actions = Self::default();
        let mut amplitude_names = Names::default();
        let of_amplitude: Vec<String> = setup.amplitudes.iter().map(|a| amplitude_names.unique(&a.name)).collect();
        let option = |index: Option<u32>| {
            index.map_or_else(String::new, |index| format!(", amplitude={}", of_amplitude[index as usize]))
        };
        if let Some(steps) = steps {
            let cards =
                setup.amplitudes.iter().zip(&of_amplitude).map(|(amplitude, name)| card(amplitude, name, steps));
            actions.amplitudes = cards.collect();
        }
        for initial in &setup.initial_velocities {
            let set = names.set(&initial.name, &initial.nodes, sets);
            let line = format!("{set}, {}, {}", initial.component + 1, real(initial.value));
            actions.initial.push(format!("*Initial Conditions, type=VELOCITY\n{line}"));
        }
        for boundary in &setup.boundaries {
            let set = names.set(&boundary.name, &boundary.nodes, sets);
            let kind = match boundary.kind {
                BoundaryKind::Displacement => "DISPLACEMENT",
                BoundaryKind::Velocity => "VELOCITY",
                BoundaryKind::Acceleration => "ACCELERATION",
                BoundaryKind::Pressure => "PRESSURE",
            };
            let (component, value) = (boundary.component + 1, real(boundary.value));
            let options = option(boundary.amplitude);
            actions.in_step.push(format!("*Boundary, type={kind}{options}\n{set}, {component}, {component}, {value}"));
        }
        let at_start = |index: Option<u32>| index.map_or(1.0, |index| setup.amplitudes[index as usize].at(0.0));
        if setup.explicit.start == Start::FirstOrder && setup.loads.iter().any(|load| at_start(load.amplitude) != 0.0) {
            findings.warn(
                "a deck starts with second order: forces that are not 0 at t = 0 act half as much in the first step; a job \
                 with [solver] start = \"first-order\" keeps them",
            );
        }
        let labels = Labels::of(&model.mesh).nodes;
        for load in &setup.loads {
            let LoadKind::Concentrated { nodes, weights, direction } = &load.kind else {
                findings.refuse(format!(
                    "load `{}` acts on faces or volumes; a deck gets forces on nodes alone",
                    load.name
                ));
                continue;
            };
            let mut lines = format!("*Cload{}", option(load.amplitude));
            for (component, share) in (1..).zip(direction).filter(|(_, share)| **share != 0.0) {
                for (index, &node) in nodes.iter().enumerate() {
                    let value = load.magnitude * weights.get(index).copied().unwrap_or(1.0) * share;
                    lines += &format!("\n{}, {component}, {}", labels[node as usize], real(value));
                }
            }
            actions.in_step.push(lines);
        }
        if !setup.shots.is_empty() {
            findings.refuse("a deck cannot hold shots; write a .pogo-inp, or one model for each shot");
        }
        actions
    }

    pub fn amplitudes(&self, out: &mut impl Write) -> io::Result<()> {
        self.amplitudes.iter().try_for_each(|card| writeln!(out, "{card}"))
    }

    pub fn initial(&self, out: &mut impl Write) -> io::Result<()> {
        self.initial.iter().try_for_each(|card| writeln!(out, "{card}"))
    }

    /// What acts in the step.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        self.in_step.iter().try_for_each(|card| writeln!(out, "{card}"))
    }
}

/// A table or a smooth step as it is, any other function sampled at the increments.
fn card(amplitude: &Amplitude, name: &str, steps: Steps) -> String {
    let Amplitude { shape, scale, delay, .. } = amplitude;
    let moved = |times: &[f64], values: &[f64]| {
        let values = values.iter().map(|value| scale * value);
        times.iter().map(|time| time + delay).zip(values).collect::<Vec<_>>()
    };
    let (points, definition) = match shape {
        AmplitudeShape::Tabular { times, values } => (moved(times, values), ""),
        AmplitudeShape::SmoothStep { times, values } => (moved(times, values), ", definition=SMOOTH STEP"),
        _ => {
            let times = (0..=steps.n).map(|step| step as f64 * steps.increment);
            (times.map(|time| (time, amplitude.at(time))).collect(), "")
        }
    };
    let value = if amplitude.absolute { ", value=ABSOLUTE" } else { "" };
    let pairs: Vec<String> = points.iter().map(|&(time, value)| format!("{}, {}", real(time), real(value))).collect();
    let lines: Vec<String> = pairs.chunks(4).map(|line| line.join(", ")).collect();
    format!("*Amplitude, name={name}{definition}{value}\n{}", lines.join("\n"))
}

//! Masses and springs as the time loop sees them.

use std::path::Path;

use pogo_formats::spring::SpringMeshView;
use pogo_formats::spring::SpringSetup;
use pogo_formats::spring::results::{SpringEnergy, write_spring_energy, write_spring_events};
use pogo_formats::write::checkpoint::Checkpoint;
use pogo_formats::write::report::{Curve, Panel};
use pogo_formats::write::summary::Status;
use pogo_formats::write::traces::Traces;
use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::Stepper;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::spring::{Cause, Change, SpringStepper, Springs, State};

use super::columns::Columns;
use super::report;
use crate::error::SolveError;
use crate::run::checkpoint;
use crate::run::energy::{Balance, Divergence};
use crate::run::histories::DerivedColumns;
use crate::run::schedule::Clock;
use crate::run::time_loop::{Due, Stepped};
use crate::run::{Finished, Reported};

/// A model on its stepper.
pub(super) struct Model<'a> {
    pub stepper: Box<dyn SpringStepper<'a> + 'a>,
    pub columns: Columns<'a>,
    pub mesh: &'a SpringMeshView<'a>,
    pub setup: &'a SpringSetup,
    pub clock: Clock,
    /// The work of forces and dampers is followed, or there is none.
    pub knows_work: bool,
    /// Springs that came and went; known at the end.
    pub changes: Vec<Change>,
    /// Springs that are there at the end.
    pub n_springs: u64,
}

/// A change as plain numbers: step, both ends, cause (0 broken, 1 cut, 2 erased, 3 added) and its index.
type PlainChange = (u64, [u32; 2], u8, u32);

fn plain(change: &Change) -> PlainChange {
    let (cause, index) = match change.cause {
        Cause::Broken => (0, 0),
        Cause::Cut(index) => (1, index),
        Cause::Erased(index) => (2, index),
        Cause::Added(index) => (3, index),
    };
    (change.step, change.particles, cause, index)
}

fn change((step, particles, cause, index): PlainChange) -> Change {
    let cause = match cause {
        0 => Cause::Broken,
        1 => Cause::Cut(index),
        2 => Cause::Erased(index),
        _ => Cause::Added(index),
    };
    Change { step, particles, cause }
}

impl checkpoint::State for State {
    type Extra = Vec<PlainChange>;

    fn motion(&self) -> Checkpoint<'_> {
        Checkpoint {
            step: self.step,
            external_work: self.external_work,
            damped_energy: self.dissipated,
            displacement: self.displacement.as_slice().into(),
            increment: self.increment.as_slice().into(),
            ..Checkpoint::default()
        }
    }

    fn extra(&self) -> Vec<PlainChange> {
        self.changes.iter().map(plain).collect()
    }

    fn restore(motion: Checkpoint<'static>, changes: Vec<PlainChange>) -> Self {
        Self {
            step: motion.step,
            displacement: motion.displacement.into_owned(),
            increment: motion.increment.into_owned(),
            external_work: motion.external_work,
            dissipated: motion.damped_energy,
            changes: changes.into_iter().map(change).collect(),
        }
    }
}

impl<'a> Stepped for Model<'a> {
    type State = State;
    type Energy = SpringEnergy;
    type Frame = (State, Springs<'a>);

    fn stepper(&mut self) -> &mut dyn Stepper<State = State> {
        &mut *self.stepper
    }

    fn advanced(&mut self) {
        self.columns.follow(self.stepper.changes());
    }

    fn look(
        &mut self,
        signals: &Signals<'_>,
        due: Due,
    ) -> Result<(Option<SpringEnergy>, Option<Self::Frame>), DeviceError> {
        let mut row = None;
        if due.energy {
            // A copy, as the run has yet to come to the second row.
            let table = signals.clone().table(self.stepper.step(), 2);
            let energies = self.stepper.energies(&table.values)?;
            row = Some(SpringEnergy {
                time: self.clock.time(self.stepper.step()),
                kinetic: energies.kinetic,
                elastic: energies.elastic,
                gravity: energies.gravity,
                external: energies.external_work,
                dissipated: energies.dissipated,
                momentum: energies.momentum,
                springs: energies.n_springs,
            });
        }
        let frame = if due.frame { Some((self.stepper.state()?, self.stepper.springs().clone())) } else { None };
        Ok((row, frame))
    }

    /// In a stable run kinetic and elastic energy stay near what was put in; springs that break or are cut only take some
    /// away. Springs with a length of their own, and those that are added, bring energy of their own.
    fn balance(&self, row: &SpringEnergy) -> Balance {
        let inside = row.kinetic + row.elastic;
        let unstressed = self.setup.groups.iter().all(|group| group.rest_factor == 1.0);
        let follows_all = self.knows_work && unstressed && self.setup.additions.is_empty();
        let at_start = if row.time == 0.0 { inside } else { 0.0 };
        Balance {
            energies: [inside, row.gravity, row.external, row.dissipated, 0.0],
            put_in: at_start.max(row.external.abs() + row.gravity.abs()),
            growing: follows_all.then_some(inside),
            error: None,
        }
    }

    fn derived(&mut self) -> &mut dyn DerivedColumns {
        &mut self.columns
    }

    fn end(&mut self) {
        self.changes = self.stepper.changes().to_vec();
        self.n_springs = self.stepper.springs().len();
    }
}

impl Reported for Model<'_> {
    fn explain(&self, divergence: Divergence, _: &SpringEnergy) -> (String, &'static str) {
        let what = match divergence {
            Divergence::NotFinite => "the solution is no longer finite",
            Divergence::Growing | Divergence::Unbalanced => "energy grew without cause",
        };
        let advice = "check loads and amplitudes, or use a smaller increment: springs that are squeezed flat or pulled far \
                      are stiffer";
        (what.into(), advice)
    }

    fn write(
        &self,
        energies: &[SpringEnergy],
        _: &Traces,
        folder: &Path,
        comments: &[String],
    ) -> Result<Vec<String>, SolveError> {
        write_spring_energy(&folder.join("energy.csv"), energies, self.knows_work, comments)?;
        let dt = self.clock.time_increment;
        let events = self.changes.iter().map(|change| report::event(change, self.mesh, self.setup, dt));
        write_spring_events(&folder.join("broken.csv"), events, comments)?;
        Ok(vec!["energy.csv".into(), "broken.csv".into()])
    }

    fn charts(&self, energies: &[SpringEnergy]) -> Vec<Panel> {
        let times: Vec<f64> = energies.iter().map(|row| row.time).collect();
        let curve = |name: &str, of: &dyn Fn(&SpringEnergy) -> f64| {
            Curve::new(name, times.clone(), energies.iter().map(of).collect())
        };
        let mut energy = vec![
            curve("kinetic", &|row| row.kinetic),
            curve("elastic", &|row| row.elastic),
            curve("gravity", &|row| row.gravity),
        ];
        if self.knows_work {
            energy.push(curve("external work", &|row| row.external));
            energy.push(curve("dissipated", &|row| row.dissipated));
        }
        let springs = Curve { steps: true, ..curve("springs", &|row| row.springs as f64) };
        let momentum = [0, 1, 2].map(|axis| curve(["x", "y", "z"][axis], &|row| row.momentum[axis]));
        vec![
            Panel::over_time("energy", "J", energy),
            Panel::over_time("momentum", "kg m/s", momentum.to_vec()),
            Panel::over_time("springs that are there", "", vec![springs]),
        ]
    }

    fn warnings(&self, finished: &Finished) -> Vec<String> {
        match finished.status {
            Status::Completed => report::idle_changes(self.setup, &self.changes, self.clock.time(finished.step)),
            _ => Vec::new(),
        }
    }
}

//! The time loop: long stretches of kernel steps between the steps at which something has to be looked at or written.

use std::path::Path;

use pogo_formats::spring::results::SpringEnergy;
use pogo_kernels::spring::{Change, State, Stepper};

use super::checkpoint::{self, Recorded};
use super::reactions::SpringReactions;
use super::snapshots::Snapshots;
use crate::config::CheckpointInterval;
use crate::error::SolveError;
use crate::explicit::checkpoint::{FILE_NAME, Identity};
use crate::explicit::energy::GROWTH_LIMIT;
use crate::explicit::histories::Histories;
use crate::explicit::signals::Signals;
use crate::explicit::time_loop::DIVERGED_FILE_NAME;
use crate::interrupt::Interrupts;
use crate::observe::Observer;
use crate::pace::Pace;

/// What does not change while the loop runs.
pub struct Conditions<'a> {
    /// Δt, s.
    pub time_increment: f64,
    /// Last step N.
    pub n_steps: u64,
    /// Steps at which energies are sampled, increasing.
    pub energy_steps: Vec<u64>,
    /// When to write checkpoints.
    pub checkpoint: Option<CheckpointInterval>,
    /// Output folder.
    pub folder: &'a Path,
    /// Of this run.
    pub identity: Identity,
    /// The stepper stands at a checkpoint: what was due at its step has been sampled and written.
    pub resumed: bool,
    /// All energy that comes in is followed, so that growth without cause can be told.
    pub judge_growth: bool,
}

/// What the loop fills.
pub struct Products<'a> {
    /// Traces.
    pub histories: Histories,
    /// Reaction forces.
    pub reactions: SpringReactions<'a>,
    /// Energy samples.
    pub energies: Vec<SpringEnergy>,
    /// Largest energy put in so far, J.
    pub put_in: f64,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the last step.
    Completed,
    /// Asked to stop; a checkpoint was written.
    Interrupted,
    /// No longer finite; the state was written.
    NotFinite,
    /// Energy grew without cause; the state was written.
    Growing,
}

/// How the loop ended, where, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How.
    pub end: End,
    /// Step reached.
    pub step: u64,
    /// Time in the loop without writing files, s.
    pub seconds: f64,
    /// Springs that came and went.
    pub changes: Vec<Change>,
    /// Springs that are there at the end.
    pub n_springs: u64,
}

/// Steps from where `stepper` stands to the last step.
///
/// # Errors
/// A file that cannot be written, a device that is lost.
pub fn run(
    stepper: &mut dyn Stepper,
    signals: &mut Signals<'_>,
    conditions: &Conditions<'_>,
    products: &mut Products<'_>,
    snapshots: &mut Snapshots<'_>,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Report, SolveError> {
    let snapshot_steps = snapshots.steps();
    let mut step = stepper.step();
    let mut pace =
        Pace::new(step, conditions.n_steps, conditions.checkpoint, [&conditions.energy_steps, &snapshot_steps]);
    let mut fresh = !conditions.resumed;
    let end = loop {
        if fresh && conditions.energy_steps.binary_search(&step).is_ok() {
            let row = pace.time(|| sample(stepper, signals, conditions.time_increment))?;
            if let Some(end) = judge(&row, step, conditions, products) {
                let state = stepper.state()?;
                write_checkpoint(&conditions.folder.join(DIVERGED_FILE_NAME), &state, conditions, products)?;
                break end;
            }
        }
        if fresh && snapshot_steps.binary_search(&step).is_ok() {
            let state = stepper.state()?;
            snapshots.write(&state, stepper.springs())?;
        }
        fresh = true;
        if step >= conditions.n_steps {
            break End::Completed;
        }
        let stop = interrupts.stop_requested();
        if stop || pace.checkpoint_is_due(step) || interrupts.take_checkpoint_request() {
            write_checkpoint(&conditions.folder.join(FILE_NAME), &stepper.state()?, conditions, products)?;
            pace.checkpointed(step);
            if stop {
                break End::Interrupted;
            }
        }
        let next = pace.next(step);
        let width = (3 * products.histories.monitors().len()).max(signals.len());
        pace.stretch(next - step, width, || advance(stepper, signals, products, step, next))?;
        step = next;
        observer.advanced(step);
    };
    let (changes, n_springs) = (stepper.changes().to_vec(), stepper.springs().len());
    if end == End::Completed && !products.histories.steps_between(step, step + 1).is_empty() {
        // The last row needs Δu_{N+1}: one more step, which nothing else sees.
        pace.time(|| advance(stepper, signals, products, step, step + 1))?;
    }
    Ok(Report { end, step, seconds: pace.seconds(), changes, n_springs })
}

fn advance(
    stepper: &mut dyn Stepper,
    signals: &mut Signals<'_>,
    products: &mut Products<'_>,
    from: u64,
    to: u64,
) -> Result<(), SolveError> {
    let table = signals.table(from, (to - from) as usize + 1);
    let record = products.histories.steps_between(from, to);
    let mut recording = Vec::new();
    stepper.advance((to - from) as usize, &table, &record, &mut recording)?;
    products.reactions.learn(stepper.changes());
    products.histories.add_all(&record, &recording, &mut products.reactions);
    Ok(())
}

fn sample(stepper: &dyn Stepper, signals: &Signals<'_>, time_increment: f64) -> Result<SpringEnergy, SolveError> {
    let step = stepper.step();
    // A copy, as the run has yet to come to the second row.
    let table = signals.clone().table(step, 2);
    let energies = stepper.energies(&table.values)?;
    Ok(SpringEnergy {
        time: step as f64 * time_increment,
        kinetic: energies.kinetic,
        elastic: energies.elastic,
        gravity: energies.gravity,
        external: energies.external_work,
        dissipated: energies.dissipated,
        momentum: energies.momentum,
        springs: energies.n_springs,
    })
}

/// In a stable run kinetic and elastic energy stay near what was put in; springs that break or are cut only take some away.
fn judge(row: &SpringEnergy, step: u64, conditions: &Conditions<'_>, products: &mut Products<'_>) -> Option<End> {
    let inside = row.kinetic + row.elastic;
    products.energies.push(*row);
    if !(inside + row.gravity + row.external + row.dissipated).is_finite() {
        return Some(End::NotFinite);
    }
    if step == 0 {
        products.put_in += inside;
    }
    products.put_in = products.put_in.max(row.external.abs() + row.gravity.abs());
    (conditions.judge_growth && inside > GROWTH_LIMIT * products.put_in).then_some(End::Growing)
}

fn write_checkpoint(
    path: &Path,
    state: &State,
    conditions: &Conditions<'_>,
    products: &mut Products<'_>,
) -> Result<(), SolveError> {
    // Moved, not copied: traces can be most of the memory.
    let recorded = Recorded {
        traces: std::mem::take(&mut products.histories.traces),
        energies: std::mem::take(&mut products.energies),
        put_in: products.put_in,
    };
    let (recorded, result) = checkpoint::write(path, &conditions.identity, state, recorded);
    products.histories.traces = recorded.traces;
    products.energies = recorded.energies;
    result
}

//! The time loop: long stretches of kernel steps between the steps at which something has to be looked at or written.

use std::path::Path;
use std::time::{Duration, Instant};

use pogo_formats::output::energy::EnergyRow;
use pogo_kernels::explicit::{EnergySums, State, Stepper};

use super::checkpoint::{self, Identity, Recorded};
use super::energy::{self, Divergence, Watch};
use super::histories::{Histories, Record};
use super::reactions::Reactions;
use super::schedule;
use super::signals::Signals;
use super::snapshots::Snapshots;
use crate::config::CheckpointInterval;
use crate::error::SolveError;
use crate::interrupt::Interrupts;
use crate::observe::Observer;

/// Signals of the operating system are answered, and progress is told, about this often.
const PAUSE_INTERVAL: Duration = Duration::from_millis(100);
/// Largest recording or signal table between two pauses, numbers.
const MAX_BUFFER: usize = 1 << 22;

/// What does not change while the loop runs.
pub struct Conditions<'a> {
    /// m, kg, (n_nodes,).
    pub lumped_mass: &'a [f64],
    /// 2 or 3.
    pub dimension: usize,
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
}

/// What the loop fills.
pub struct Products<'a> {
    /// Traces.
    pub histories: Histories,
    /// Reaction forces.
    pub reactions: Reactions<'a>,
    /// Field snapshots.
    pub snapshots: Snapshots<'a>,
    /// Energy samples.
    pub energies: Vec<EnergyRow>,
    /// Energy at t = 0, J.
    pub initial_energy: f64,
    /// Judges the energies.
    pub watch: Watch,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// At the last step.
    Completed,
    /// Asked to stop; a checkpoint was written.
    Interrupted,
    /// Not to be trusted any more; the state was written.
    Diverged(Divergence),
}

/// How the loop ended, where, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// How.
    pub end: End,
    /// Step reached.
    pub step: u64,
    /// Time in the loop without writing files, s.
    pub seconds: f64,
}

/// File that the state of a diverged run goes to.
pub const DIVERGED_FILE_NAME: &str = "diverged.pogo";

/// Steps from where `stepper` stands to the last step.
///
/// # Errors
/// A file that cannot be written, a device that is lost.
pub fn run(
    stepper: &mut dyn Stepper,
    signals: &mut Signals<'_>,
    conditions: &Conditions<'_>,
    products: &mut Products<'_>,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Report, SolveError> {
    let mut step = stepper.step();
    let mut stretch = 1;
    let mut computing = Duration::ZERO;
    let mut last_checkpoint = Instant::now();
    let mut last_checkpoint_step = step;
    let mut fresh = !conditions.resumed;
    loop {
        let energy_due = fresh && conditions.energy_steps.binary_search(&step).is_ok();
        let snapshot_due = fresh && products.snapshots.is_due(step);
        if energy_due || snapshot_due {
            let start = Instant::now();
            let mut looked_at = None;
            let sums = match if snapshot_due { None } else { stepper.energy_sums()? } {
                Some(sums) => sums,
                None => {
                    let state = stepper.state()?;
                    let internal_force = stepper.internal_force(&state.displacement)?;
                    let sums = energy::sums(&state, &internal_force, conditions.lumped_mass, conditions.dimension);
                    looked_at = Some((state, internal_force));
                    sums
                }
            };
            let divergence = sample(step, &sums, conditions, products);
            computing += start.elapsed();
            if let Some(divergence) = divergence {
                let path = conditions.folder.join(DIVERGED_FILE_NAME);
                write_checkpoint(&path, &stepper.state()?, conditions, products)?;
                return Ok(Report { end: End::Diverged(divergence), step, seconds: computing.as_secs_f64() });
            }
            if let (true, Some((state, internal_force))) = (snapshot_due, looked_at) {
                products.snapshots.write(&state, &internal_force)?;
            }
        }
        fresh = true;
        if step >= conditions.n_steps {
            break;
        }
        let stop = interrupts.stop_requested();
        let due = match conditions.checkpoint {
            Some(CheckpointInterval::Wall(interval)) => last_checkpoint.elapsed() >= interval,
            Some(CheckpointInterval::Steps(interval)) => step >= last_checkpoint_step + interval,
            None => false,
        };
        if stop || due || interrupts.take_checkpoint_request() {
            let path = conditions.folder.join(checkpoint::FILE_NAME);
            write_checkpoint(&path, &stepper.state()?, conditions, products)?;
            last_checkpoint = Instant::now();
            last_checkpoint_step = step;
            if stop {
                return Ok(Report { end: End::Interrupted, step, seconds: computing.as_secs_f64() });
            }
        }
        let mut next = (step + stretch).min(conditions.n_steps);
        next = next.min(schedule::next_after(&conditions.energy_steps, step));
        next = next.min(products.snapshots.next_after(step));
        if let Some(CheckpointInterval::Steps(interval)) = conditions.checkpoint {
            next = next.min(last_checkpoint_step + interval);
        }
        let start = Instant::now();
        advance(stepper, signals, products, step, next)?;
        let elapsed = start.elapsed();
        computing += elapsed;
        let per_step = elapsed.as_secs_f64() / (next - step) as f64;
        let wanted = (PAUSE_INTERVAL.as_secs_f64() / per_step.max(1e-9)) as u64;
        let memory = MAX_BUFFER / (3 * products.histories.monitors().len()).max(signals.len()).max(1);
        stretch = wanted.clamp(1, stretch.saturating_mul(8)).clamp(1, memory.max(1) as u64);
        step = next;
        observer.advanced(step);
    }
    // The last row needs Δu_{N+1}: one more step, which nothing else sees.
    let start = Instant::now();
    if !products.histories.steps_between(step, step + 1).is_empty() {
        advance(stepper, signals, products, step, step + 1)?;
    }
    computing += start.elapsed();
    Ok(Report { end: End::Completed, step, seconds: computing.as_secs_f64() })
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
    let (values, _) = recording.as_chunks::<3>();
    let n_monitors = products.histories.monitors().len();
    for (index, &step) in record.iter().enumerate() {
        let values = &values[index * n_monitors..(index + 1) * n_monitors];
        products.histories.add(Record { step, values }, &mut products.reactions);
    }
    Ok(())
}

fn sample(
    step: u64,
    sums: &EnergySums,
    conditions: &Conditions<'_>,
    products: &mut Products<'_>,
) -> Option<Divergence> {
    let mut row = energy::row(step, sums, conditions.time_increment, products.initial_energy);
    if step == 0 {
        products.initial_energy = row.kinetic + row.strain;
        row.initial = products.initial_energy;
    }
    products.energies.push(row);
    products.watch.judge(&row)
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
        initial_energy: products.initial_energy,
        largest_energies: products.watch.largest_energies(),
    };
    let result = checkpoint::write(path, &conditions.identity, state, &recorded);
    products.histories.traces = recorded.traces;
    products.energies = recorded.energies;
    result
}

//! The time loop: long stretches of kernel steps between the steps at which something has to be looked at or written.

use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use pogo_formats::write::energy::EnergyRow;
use pogo_kernels::dynamics::SignalTable;
use pogo_kernels::explicit::{EnergySums, State, Stepper};

use super::checkpoint::{self, Identity, Recorded};
use super::energy::{self, Divergence, Watch};
use super::histories::Histories;
use super::reactions::Reactions;
use super::signals::Signals;
use super::snapshots::Snapshots;
use crate::config::CheckpointInterval;
use crate::error::SolveError;
use crate::interrupt::Interrupts;
use crate::observe::Observer;
use crate::pace::Pace;

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
    /// Write snapshots while the next steps are made. On a CPU the writer would only take a core from the steps.
    pub overlap: bool,
}

/// What the loop fills.
pub struct Products<'a> {
    /// Traces.
    pub histories: Histories,
    /// Reaction forces.
    pub reactions: Reactions<'a>,
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

/// Writes snapshots on a thread of its own.
struct Writer<'scope> {
    jobs: SyncSender<Job>,
    thread: ScopedJoinHandle<'scope, Result<(), SolveError>>,
    overlap: bool,
}

/// A state and f_int of its displacement, N.
type Seen = (State, Vec<f64>);

enum Job {
    /// A state and f_int of its displacement.
    Write(State, Vec<f64>),
    /// Answer once everything before is written.
    Answer(SyncSender<()>),
}

impl<'scope> Writer<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        snapshots: &'env mut Snapshots<'_>,
        overlap: bool,
    ) -> Result<Self, SolveError> {
        // One state is written while the next one waits: no more of them are kept in memory.
        let (jobs, queue) = sync_channel(1);
        let work = move || {
            for job in queue {
                match job {
                    Job::Write(state, internal_force) => snapshots.write(&state, &internal_force)?,
                    Job::Answer(to) => drop(to.send(())),
                }
            }
            Ok(())
        };
        let thread = Builder::new().name("snapshots".into()).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| SolveError::Threads { threads: 1, reason: error.to_string() })?;
        Ok(Self { jobs, thread, overlap })
    }

    /// False once writing has failed; [`finish`](Self::finish) says why.
    fn write(&self, state: State, internal_force: Vec<f64>) -> bool {
        self.jobs.send(Job::Write(state, internal_force)).is_ok() && (self.overlap || self.wait())
    }

    /// Returns when everything so far is on disk; false if writing has failed.
    fn wait(&self) -> bool {
        let (to, answer) = sync_channel(1);
        self.jobs.send(Job::Answer(to)).is_ok() && answer.recv().is_ok()
    }

    fn finish(self) -> Result<(), SolveError> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
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
    let due = snapshots.steps();
    std::thread::scope(|scope| {
        let writer = Writer::start(scope, snapshots, conditions.overlap)?;
        let report = steps(stepper, signals, conditions, products, (&due, &writer), interrupts, observer);
        let written = writer.finish();
        let report = report?;
        written.map(|()| report)
    })
}

/// As [`run`]; `snapshots` are the steps at which they are due, and who writes them. Ends early where writing fails.
fn steps(
    stepper: &mut dyn Stepper,
    signals: &mut Signals<'_>,
    conditions: &Conditions<'_>,
    products: &mut Products<'_>,
    (snapshot_steps, writer): (&[u64], &Writer<'_>),
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Report, SolveError> {
    let mut step = stepper.step();
    let mut pace =
        Pace::new(step, conditions.n_steps, conditions.checkpoint, [&conditions.energy_steps, snapshot_steps]);
    let mut fresh = !conditions.resumed;
    loop {
        let energy_due = fresh && conditions.energy_steps.binary_search(&step).is_ok();
        let snapshot_due = fresh && snapshot_steps.binary_search(&step).is_ok();
        if energy_due || snapshot_due {
            let (sums, looked_at) = pace.time(|| look(stepper, conditions, snapshot_due))?;
            let divergence = sample(step, &sums, conditions, products);
            if let Some(divergence) = divergence {
                let path = conditions.folder.join(DIVERGED_FILE_NAME);
                write_checkpoint(&path, &stepper.state()?, conditions, products)?;
                return Ok(Report { end: End::Diverged(divergence), step, seconds: pace.seconds() });
            }
            if let (true, Some((state, internal_force))) = (snapshot_due, looked_at)
                && !writer.write(state, internal_force)
            {
                break;
            }
        }
        fresh = true;
        if step >= conditions.n_steps {
            break;
        }
        let stop = interrupts.stop_requested();
        if stop || pace.checkpoint_is_due(step) || interrupts.take_checkpoint_request() {
            let path = conditions.folder.join(checkpoint::FILE_NAME);
            // A run that goes on from it does not write earlier snapshots again.
            if !writer.wait() {
                break;
            }
            write_checkpoint(&path, &stepper.state()?, conditions, products)?;
            pace.checkpointed(step);
            if stop {
                return Ok(Report { end: End::Interrupted, step, seconds: pace.seconds() });
            }
        }
        let next = pace.next(step);
        let width = (3 * products.histories.monitors().len()).max(signals.len());
        pace.stretch(next - step, width, || advance(stepper, signals, products, step, next))?;
        step = next;
        observer.advanced(step);
    }
    // The last row needs Δu_{N+1}: one more step, which nothing else sees.
    if !products.histories.steps_between(step, step + 1).is_empty() {
        pace.time(|| advance(stepper, signals, products, step, step + 1))?;
    }
    Ok(Report { end: End::Completed, step, seconds: pace.seconds() })
}

/// Energies as they stand; and the state with f_int where a snapshot wants them or no device sums them up.
fn look(
    stepper: &mut dyn Stepper,
    conditions: &Conditions<'_>,
    snapshot: bool,
) -> Result<(EnergySums, Option<Seen>), SolveError> {
    if !snapshot && let Some(sums) = stepper.energy_sums()? {
        return Ok((sums, None));
    }
    let state = stepper.state()?;
    let internal_force = stepper.internal_force(&state.displacement)?;
    let sums = energy::sums(&state, &internal_force, conditions.lumped_mass, conditions.dimension);
    Ok((sums, Some((state, internal_force))))
}

fn advance(
    stepper: &mut dyn Stepper,
    signals: &mut Signals<'_>,
    products: &mut Products<'_>,
    from: u64,
    to: u64,
) -> Result<(), SolveError> {
    let n_rows = (to - from) as usize + 1;
    let table = if stepper.reads_table() { signals.table(from, n_rows) } else { SignalTable::default() };
    let record = products.histories.steps_between(from, to);
    let mut recording = Vec::new();
    stepper.advance((to - from) as usize, &table, &record, &mut recording)?;
    products.histories.add_all(&record, &recording, &mut products.reactions);
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

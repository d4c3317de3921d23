//! The time loop: long stretches of kernel steps between the steps at which energies are sampled or snapshots written.

use pogo_kernels::device::DeviceError;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::dynamics::{SignalTable, Stepper};

use super::Plan;
use super::checkpoint::{self, Archived, Recorded, State};
use super::energy::{Balance, Divergence, Watch};
use super::histories::{DerivedColumns, Histories};
use super::pace::{Foresight, Pace};
use super::writer::{FrameWriter, Writer};
use crate::error::SolveError;
use crate::observe::Observer;

/// A model that is stepped in time, as the loop sees it.
pub(crate) trait Stepped {
    type State: State;
    /// A row of `energy.csv`.
    type Energy: Archived + Copy + Default;
    /// Everything that the snapshots of one step are made of.
    type Frame: Send;

    fn stepper(&mut self) -> &mut dyn Stepper<State = Self::State>;

    /// The stepper has made steps.
    fn advanced(&mut self) {}

    /// The energies at this step and a frame, each where it is due.
    #[allow(clippy::type_complexity)] // two options, named by the associated types
    fn look(
        &mut self,
        signals: &Signals<'_>,
        due: Due,
    ) -> Result<(Option<Self::Energy>, Option<Self::Frame>), DeviceError>;

    /// What a sample says about the run.
    fn balance(&self, sample: &Self::Energy) -> Balance;

    /// Columns of traces that only the model can compute.
    fn derived(&mut self) -> &mut dyn DerivedColumns;

    /// The loop has come to its end; what the model reports about the run is as of this step.
    fn end(&mut self) {}
}

/// What is due at a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub energy: bool,
    pub frame: bool,
}

/// How the loop ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    /// At the last step.
    Completed,
    /// Asked to stop; a checkpoint was written.
    Interrupted,
    /// The solution can no longer be trusted; the state was written.
    Diverged(Divergence),
}

/// How the loop ended, where, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Report {
    pub end: End,
    /// Step reached.
    pub step: u64,
    /// Time in the loop without writing files, s.
    pub seconds: f64,
}

/// A model with everything that its run fills.
pub(crate) struct TimeLoop<'a, M: Stepped> {
    pub model: M,
    pub signals: Signals<'a>,
    pub histories: Histories,
    pub energies: Vec<M::Energy>,
    pub plan: Plan<'a>,
}

impl<M: Stepped> TimeLoop<'_, M> {
    /// Steps from where the model stands to the last step.
    pub fn run(
        &mut self,
        frames: &mut impl FrameWriter<Frame = M::Frame>,
        observer: &mut dyn Observer,
    ) -> Result<Report, SolveError> {
        let due = frames.steps();
        // On a CPU the writer would only take a core from the steps.
        let overlap = self.plan.device != "cpu";
        std::thread::scope(|scope| {
            let mut writer = Writer::start(scope, frames, overlap);
            let report = self.steps(&due, &mut writer, observer);
            let written = writer.finish();
            let report = report?;
            written.map(|()| report)
        })
    }

    /// Ends early where writing fails.
    fn steps<W: FrameWriter<Frame = M::Frame>>(
        &mut self,
        frame_steps: &[u64],
        writer: &mut Writer<'_, M::Frame, W>,
        observer: &mut dyn Observer,
    ) -> Result<Report, SolveError> {
        let (call, n_steps) = (self.plan.call, self.plan.clock.n_steps);
        let energy_steps = self.plan.energy_steps.clone();
        let mut step = self.model.stepper().step();
        let mut pace = Pace::new(step, n_steps, call.settings.checkpoint, [&energy_steps, frame_steps]);
        let (mut watch, mut foresight) = (Watch::default(), Foresight::default());
        for row in &self.energies {
            watch.judge(&self.model.balance(row));
        }
        // What was due at the step of a checkpoint has been sampled and written.
        let mut is_new = !call.is_resumed();
        let end = loop {
            let is_due = |steps: &[u64]| is_new && steps.binary_search(&step).is_ok();
            let due = Due { energy: is_due(&energy_steps), frame: is_due(frame_steps) };
            if let Some(end) = self.look(due, &mut watch, writer, &mut pace)? {
                break end;
            }
            is_new = true;
            if step >= n_steps {
                if call.settings.keep_checkpoint && writer.wait() {
                    self.write_checkpoint(checkpoint::FILE_NAME)?;
                }
                break End::Completed;
            }
            let stop = call.interrupts.stop_requested();
            if stop || pace.checkpoint_is_due(step) || call.interrupts.take_checkpoint_request() {
                // A run that continues from the checkpoint does not write earlier snapshots again.
                if !writer.wait() {
                    break End::Completed;
                }
                self.write_checkpoint(checkpoint::FILE_NAME)?;
                pace.checkpointed(step);
                if stop {
                    break End::Interrupted;
                }
            }
            let next = pace.next(step);
            let width = (3 * self.histories.monitors().len()).max(self.signals.len());
            pace.stretch(next - step, width, || self.advance(step, next))?;
            step = next;
            observer.advanced(step);
            if let Some(text) = foresight.look(&pace, step, call.interrupts.time_left()) {
                observer.note(&text);
            }
        };
        self.model.end();
        // The last row needs Δu_{N+1}: one more step, which nothing else sees.
        if end == End::Completed && !self.histories.steps_between(step, step + 1).is_empty() {
            pace.time(|| self.advance(step, step + 1))?;
        }
        Ok(Report { end, step, seconds: pace.seconds() })
    }

    /// Samples energies and hands a frame to the writer where they are due. Returns how the loop ends, if it does here.
    fn look<W: FrameWriter<Frame = M::Frame>>(
        &mut self,
        due: Due,
        watch: &mut Watch,
        writer: &mut Writer<'_, M::Frame, W>,
        pace: &mut Pace<'_>,
    ) -> Result<Option<End>, SolveError> {
        if !due.energy && !due.frame {
            return Ok(None);
        }
        let (row, frame) = pace.time(|| self.model.look(&self.signals, due))?;
        if let Some(row) = row {
            self.energies.push(row);
            if let Some(divergence) = watch.judge(&self.model.balance(&row)) {
                self.write_checkpoint(checkpoint::DIVERGED_FILE_NAME)?;
                return Ok(Some(End::Diverged(divergence)));
            }
        }
        let written = frame.is_none_or(|frame| writer.write(frame));
        Ok((!written).then_some(End::Completed))
    }

    fn advance(&mut self, from: u64, to: u64) -> Result<(), DeviceError> {
        let record = self.histories.steps_between(from, to);
        let (n_steps, mut recording) = ((to - from) as usize, Vec::new());
        let stepper = self.model.stepper();
        let table = match stepper.reads_table() {
            true => self.signals.table(from, n_steps + 1),
            false => SignalTable::default(),
        };
        stepper.advance(n_steps, &table, &record, &mut recording)?;
        self.model.advanced();
        self.histories.add(&record, &recording, self.model.derived());
        Ok(())
    }

    fn write_checkpoint(&mut self, name: &str) -> Result<(), SolveError> {
        let state = self.model.stepper().state()?;
        // Moved, not copied: traces can be most of the memory.
        let recorded = Recorded {
            traces: std::mem::take(&mut self.histories.traces),
            energies: std::mem::take(&mut self.energies),
        };
        let path = self.plan.call.folder.join(name);
        let (recorded, result) = checkpoint::write(&path, &self.plan.identity, &state, recorded);
        self.histories.traces = recorded.traces;
        self.energies = recorded.energies;
        result
    }
}

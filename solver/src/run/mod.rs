//! What all models share that are stepped in time.
//!
//! ```text
//! conditions, histories, schedule ─► the model's room ─► kernels
//! run ─► start ─► time_loop ─► energy (watch), checkpoint, writer (snapshots) ─► traces, files
//! ```
//!
//! A room of a physics gives a [`Stepped`] model, a [`FrameWriter`] for its snapshots and a [`Reported`] of what its files
//! hold. It writes the summary itself.

pub(crate) mod checkpoint;
pub(crate) mod conditions;
pub(crate) mod energy;
pub(crate) mod histories;
mod pace;
pub(crate) mod reel;
pub(crate) mod schedule;
pub(crate) mod snapshots;
pub(crate) mod time_loop;
pub(crate) mod writer;

use std::path::Path;

use pogo_formats::dynamics::{Increment, OutputInterval};
use pogo_formats::system::memory::Need;
use pogo_formats::timings::{self, timed};
use pogo_formats::words::counted;
use pogo_formats::write::matlab;
use pogo_formats::write::plot;
use pogo_formats::write::report::{self, Panel};
use pogo_formats::write::summary::Status;
use pogo_formats::write::traces::Traces;
use pogo_kernels::device::DeviceError;

use self::checkpoint::{Archived, Identity, Recorded, State};
use self::energy::Divergence;
use self::histories::Histories;
use self::reel::PICTURE;
use self::schedule::Clock;
use self::time_loop::{End, Stepped, TimeLoop};
use self::writer::FrameWriter;
use crate::call::Call;
use crate::config::Settings;
use crate::error::{Kept, SolveError};
use crate::folder::ResultFolder;
use crate::observe::{Observer, Outlook};

/// Name of the file that `--mat` writes.
const MAT: &str = "traces.mat";

/// What does not change while a run is stepped.
pub(crate) struct Plan<'a> {
    pub call: &'a Call<'a>,
    pub clock: Clock,
    /// Steps at which energies are sampled, increasing.
    pub energy_steps: Vec<u64>,
    pub identity: Identity,
    /// Largest stable Δt, s.
    pub stable_increment: f64,
    /// `cpu`, or the name of the device.
    pub device: String,
}

impl<'a> Plan<'a> {
    pub fn new(call: &'a Call<'a>, clock: Clock, stable_increment: f64, identity: Identity, device: &str) -> Self {
        // A sample costs some three steps: under 2 % of a run of a thousand steps or more.
        let n_samples = call.settings.energy_samples.unwrap_or((clock.n_steps / 200).clamp(5, 100) as u32);
        let energy_steps = schedule::steps(&OutputInterval::Count(n_samples), clock);
        Self { call, clock, energy_steps, identity, stable_increment, device: device.into() }
    }

    /// Samples energies at these steps, too.
    pub fn sample_energy_at(&mut self, steps: &[u64]) {
        self.energy_steps.extend(steps);
        self.energy_steps.sort_unstable();
        self.energy_steps.dedup();
    }

    /// What the plan says to whoever watches the run; the model is left out.
    pub fn outlook(&self, first_step: u64) -> Outlook {
        Outlook {
            first_step,
            n_steps: self.clock.n_steps,
            increment: self.clock.time_increment,
            stable_increment: self.stable_increment,
            device: self.device.clone(),
            precision: self.call.settings.precision.name(),
            ..Outlook::default()
        }
    }
}

/// Refuses an increment above the stable one, which is that of `owner`, or warns if that is allowed. `remedy` is what else
/// helps.
pub(crate) fn check_stability(
    call: &Call<'_>,
    increment: f64,
    stable: f64,
    owner: &str,
    remedy: &'static str,
    observer: &mut dyn Observer,
) -> Result<(), SolveError> {
    if increment <= stable {
        return Ok(());
    }
    if !call.settings.allow_unstable {
        let (path, owner) = (call.block_file.path.clone().into(), owner.to_owned());
        return Err(SolveError::Unstable { path, increment, stable, owner, remedy });
    }
    observer
        .note(&format!("warning: increment {increment:.4e} s is above the stable increment {stable:.4e} s of {owner}"));
    Ok(())
}

/// Applies `--time` and `--increment` to a model's own; an automatic increment keeps the model's factor.
pub(crate) fn apply_settings(settings: &Settings, time: &mut f64, increment: &mut Increment) {
    *time = settings.time.unwrap_or(*time);
    match (settings.increment, *increment) {
        (None, _) | (Some(Increment::Automatic { .. }), Increment::Automatic { .. }) => {}
        (Some(given), _) => *increment = given,
    }
}

/// The state that a run starts from, and the rows of `energy.csv` so far. The rows of a checkpoint go into `histories`.
///
/// # Errors
/// Those of `beginning`; a checkpoint that cannot be read, or that is of another run.
pub(crate) fn start<S: State, E: Archived>(
    call: &Call<'_>,
    identity: &Identity,
    histories: &mut Histories,
    beginning: impl FnOnce() -> Result<S, SolveError>,
) -> Result<(S, Vec<E>), SolveError> {
    let Some(file) = &call.resume else { return Ok((beginning()?, Vec::new())) };
    let (state, Recorded { traces, energies }) = checkpoint::read::<S, E>(file, identity)?;
    let step = state.motion().step;
    let what = "outputs (those that count intervals depend on --time)";
    histories.resume(traces, step).ok_or(SolveError::OtherRun { path: file.clone(), what })?;
    Ok((state, energies))
}

/// Memory for what a run in time keeps to its end: rows of traces, each with its interval and its number of columns, and the
/// steps of snapshots and energies.
pub(crate) fn recorded<'a>(
    clock: Clock,
    settings: &Settings,
    traces: impl Iterator<Item = (&'a OutputInterval, usize)>,
    snapshots: impl Iterator<Item = &'a OutputInterval>,
) -> Need {
    /// Bytes of an energy sample, with its step.
    const SAMPLE: f64 = 150.0;
    let n_steps = |interval: &OutputInterval| interval.n_steps(clock.time_increment, clock.n_steps);
    let rows = |(interval, columns): (_, usize)| n_steps(interval) * (16.0 + 8.0 * columns as f64);
    let mut need = Need::default();
    need.add("for traces: ask for fewer nodes or a longer interval", traces.map(rows).sum());
    let steps = snapshots.map(|interval| 16.0 * n_steps(interval)).sum();
    need.add("for the steps of snapshots: ask for fewer", steps);
    let samples = f64::from(settings.energy_samples.unwrap_or(0)).min(clock.n_steps as f64);
    need.add("for samples of the energy: ask for fewer", SAMPLE * samples);
    need
}

/// What a model says about its run at the end.
pub(crate) trait Reported: Stepped {
    /// How a run shows that it diverged, with these energies last, and what to do if the increment is not the cause.
    fn explain(&self, divergence: Divergence, last: &Self::Energy) -> (String, &'static str);
    /// Writes `energy.csv` and the files that only this physics has; returns their names.
    fn write(
        &self,
        energies: &[Self::Energy],
        traces: &Traces,
        folder: &Path,
        comments: &[String],
    ) -> Result<Vec<String>, SolveError>;
    /// Curves of the report beside the traces.
    fn charts(&self, energies: &[Self::Energy]) -> Vec<Panel>;
    /// What the user should know although the run came to its end.
    fn warnings(&self, _report: &Finished) -> Vec<String> {
        Vec::new()
    }
}

/// How a run in time ended.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub status: Status,
    pub message: Option<String>,
    pub first_step: u64,
    /// Step reached.
    pub step: u64,
    /// Time in the loop without writing files, s.
    pub seconds: f64,
    pub files: Vec<String>,
    pub warnings: Vec<String>,
}

impl Finished {
    /// Steps made, times `n`, a second.
    pub fn rate(&self, n: usize) -> f64 {
        let done = (self.step - self.first_step) as f64 * n as f64;
        if self.seconds > 0.0 { done / self.seconds } else { 0.0 }
    }

    /// What is said of the run at its end; `details` stand behind the number of steps and their time.
    pub fn line(&self, details: &str) -> String {
        let status = match self.status {
            Status::Completed => "done",
            Status::Interrupted => "interrupted",
            Status::Diverged | Status::NotConverged => "DIVERGED",
        };
        let steps = counted((self.step - self.first_step) as usize, "step");
        let message = self.message.as_ref().map_or_else(String::new, |message| format!("\n{message}"));
        format!("{status}: {steps} in {:.2} s, {details}{message}", self.seconds)
    }
}

/// Steps a model to its end and writes its results but for the summary.
pub(crate) fn run<M: Reported>(
    time_loop: &mut TimeLoop<'_, M>,
    frames: &mut impl FrameWriter<Frame = M::Frame>,
    title: &str,
    observer: &mut dyn Observer,
) -> Result<Finished, SolveError> {
    let call = time_loop.plan.call;
    let is_checkpoint = |name: &str| [checkpoint::FILE_NAME, checkpoint::DIVERGED_FILE_NAME].contains(&name);
    let results = ResultFolder::take(call.folder, |old| call.is_resumed() || is_checkpoint(old));
    let first_step = time_loop.model.stepper().step();
    let mat = call.settings.mat.then(|| call.folder.join(MAT));
    mat.iter().try_for_each(|path| time_loop.histories.check_mat(path))?;
    let report = match timed("time loop", || time_loop.run(frames, observer)) {
        Err(SolveError::Device(source)) => return Err(lost(source, time_loop)),
        report => report?,
    };
    let TimeLoop { model, histories, energies, plan, .. } = time_loop;
    let (status, message) = match report.end {
        End::Completed => (Status::Completed, None),
        End::Interrupted => {
            let n_steps = plan.clock.n_steps;
            (
                Status::Interrupted,
                Some(format!(
                    "{} at step {} of {n_steps}; go on with --restart",
                    call.interrupts.stopped(),
                    report.step
                )),
            )
        }
        End::Diverged(divergence) => {
            let why = model.explain(divergence, &energies.last().copied().unwrap_or_default());
            (Status::Diverged, Some(divergence_message(plan, report.step, why)))
        }
    };
    let _writing = timings::stage("write results");
    frames.finish(status == Status::Interrupted, call.report().as_deref_mut())?;
    let comments = call.provenance(title);
    let mut files = histories.traces.write(call.folder, &comments)?;
    if let Some(path) = mat {
        matlab::write_traces(&path, &histories.traces)?;
        files.push(MAT.into());
    }
    files.extend(model.write(energies, &histories.traces, call.folder, &comments)?);
    files.extend(frames.files());
    let seconds = report.seconds;
    let mut finished =
        Finished { status, message, first_step, step: report.step, seconds, files, warnings: Vec::new() };
    finished.warnings = model.warnings(&finished);
    if call.settings.plot {
        let steps = counted(report.step as usize, "step");
        let note = format!("{}, {steps} of {:.3e} s", call.block_file.path, plan.clock.time_increment);
        finished.warnings.extend(plot_traces(&histories.traces, call.folder, title, &note)?);
        finished.files.push("traces.svg".into());
    }
    if let Some(mut report) = call.report() {
        report.traces(&histories.traces);
        report.curves("Energies and counts", "", &model.charts(energies));
        finished.files.push(report::NAME.into());
    }
    finished.files.extend(settle_checkpoint(status, call));
    results.settle(&mut finished.files, |old| call.is_resumed() && old.starts_with(PICTURE));
    Ok(finished)
}

/// The error of a run whose device is lost, with the step of the checkpoint that it may go on from.
fn lost<M: Stepped>(source: DeviceError, time_loop: &TimeLoop<'_, M>) -> SolveError {
    let Plan { call, identity, .. } = &time_loop.plan;
    let path = call.folder.join(checkpoint::FILE_NAME);
    let kept = match checkpoint::read::<M::State, M::Energy>(&path, identity) {
        Ok((state, _)) => Kept::Checkpoint(state.motion().step),
        Err(_) => Kept::NoCheckpoint,
    };
    SolveError::DeviceLost { source, kept }
}

fn divergence_message(plan: &Plan<'_>, step: u64, (what, advice): (String, &str)) -> String {
    let (dt, stable) = (plan.clock.time_increment, plan.stable_increment);
    let cause = if dt > stable {
        format!("the increment {dt:.4e} s is above the stable {stable:.4e} s: use --increment auto")
    } else {
        advice.to_owned()
    };
    format!("diverged at step {step}, t = {:.6e} s: {what}; {cause}", plan.clock.time(step))
}

/// A picture of all traces, `traces.svg`; traces for which there is no room are a warning.
fn plot_traces(traces: &Traces, folder: &Path, title: &str, note: &str) -> Result<Option<String>, SolveError> {
    let (panels, left_out) = plot::panels(traces);
    plot::traces_svg(&folder.join("traces.svg"), title, note, &panels)?;
    Ok((left_out > 0).then(|| format!("traces.svg has no room for {left_out} of the traces")))
}

/// The file that holds the last state, if it stays.
fn settle_checkpoint(status: Status, call: &Call<'_>) -> Option<String> {
    match status {
        Status::Completed if call.settings.keep_checkpoint => Some(checkpoint::FILE_NAME.into()),
        // It would only invite going on with a run that is done.
        Status::Completed => {
            drop(std::fs::remove_file(call.folder.join(checkpoint::FILE_NAME)));
            None
        }
        Status::Interrupted => Some(checkpoint::FILE_NAME.into()),
        Status::Diverged | Status::NotConverged => Some(checkpoint::DIVERGED_FILE_NAME.into()),
    }
}

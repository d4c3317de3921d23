//! One run: model → assembly → time loop → results in a folder.

use std::path::Path;
use std::time::Instant;

use pogo_formats::dynamics::{Increment, OutputInterval};
use pogo_formats::explicit::Setup;
use pogo_formats::explicit::block::{BlocksView, DeviceView};
use pogo_formats::mesh::MeshView;
use pogo_formats::write::energy as energy_file;
use pogo_formats::write::energy::EnergyRow;
use pogo_formats::write::plot;
use pogo_formats::write::summary;
use pogo_formats::write::summary::{BlockFileSummary, FinalEnergy, Status, Summary, WorstElement};
use pogo_formats::write::traces::Traces;
use pogo_kernels::device::DeviceError;
use pogo_kernels::explicit::elements::{StableIncrement, global_stable_increment};
use pogo_kernels::explicit::{CpuStepper, GpuError, GpuOptions, GpuStepper, Problem, State, Stepper};
use pogo_kernels::simd::Real;

use super::assemble::{self, AssembleError};
use super::checkpoint::{self, Identity, Recorded};
use super::elements::{Elements, user_element_label};
use super::energy::{Divergence, Watch};
use super::histories::{self, Histories};
use super::reactions::Reactions;
use super::resolution::coarse_signals;
use super::schedule;
use super::signals::Signals;
use super::snapshots::{PICTURE, Physics, Snapshots};
use super::time_loop::{self, Conditions, DIVERGED_FILE_NAME, End, Products};
use crate::config::{Precision, Settings, Start, lumping_name};
use crate::device::{self, MayBeDevice, Starting, on_chosen};
use crate::error::SolveError;
use crate::folder::{ResultFolder, peak_memory, provenance};
use crate::interrupt::Interrupts;
use crate::observe::{Observer, Outlook};
use pogo_formats::words::counted;

/// More steps than anybody waits for; beyond it, tables of steps would not fit in memory either.
const MAX_STEPS: f64 = 5e8;

/// A model as it is solved, and where it came from.
pub struct Model<'a> {
    /// Mesh in solver order.
    pub mesh: MeshView<'a>,
    /// Block tables.
    pub blocks: BlocksView<'a>,
    /// Tables for devices with many threads.
    pub device: DeviceView<'a>,
    /// Everything else, overrides applied.
    pub setup: Setup,
    /// η of the partition.
    pub block_efficiency: f64,
    /// Path, hash and source of the block file.
    pub block_file: BlockFileSummary,
    /// Name of the case in a study.
    pub case: Option<String>,
    /// `NAME=VALUE` in force.
    pub overrides: Vec<String>,
}

/// Runs a model and writes its results into `folder`, which must exist. The same bits on every run, for every number of
/// threads, and across a restart.
///
/// # Errors
/// A model that cannot be stepped, an increment that is not stable, a checkpoint of another run, a file that cannot be
/// written. Divergence and interruption are no errors: see [`Summary::status`].
pub fn run(
    model: Model<'_>,
    settings: &Settings,
    start: &Start,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<Summary, SolveError> {
    let began = Instant::now();
    let mut starting = device::start(settings.device);
    let path = Path::new(&model.block_file.path).to_path_buf();
    let refuse = |source: AssembleError| SolveError::Assemble { path: path.clone(), source };
    let Model { mesh, blocks, setup, .. } = &model;

    let matter = assemble::matter(mesh, setup).map_err(refuse)?;
    let bound = assemble::stable_increment(mesh, &matter).map_err(refuse)?;
    let time = setup.explicit.time;
    let (dt, n_steps) = increments(&path, time, setup.explicit.increment, bound.increment)?;

    let mut signals = Signals::new(&setup.amplitudes, dt);
    let actions = assemble::actions(mesh, setup, &matter, &mut signals).map_err(refuse)?;
    let is_prescribed = |dof| actions.constraints.binary_search_by_key(&dof, |constraint| constraint.dof).is_ok();
    let reaction_dofs = histories::reaction_dofs(mesh, setup, is_prescribed);
    let mut reactions = Reactions::new(mesh, &matter, reaction_dofs, &actions.forces.supported, signals.clone(), dt);
    let mut histories = Histories::plan(mesh, setup, &matter, n_steps, dt, &mut reactions)
        .map_err(|error| refuse(AssembleError::Element(error)))?
        .ok_or_else(|| SolveError::Memory { what: "the traces; ask for fewer nodes or a longer interval".into() })?;

    let problem = Problem {
        mesh: mesh.clone(),
        blocks: *blocks,
        device: Some(model.device),
        sections: matter.sections.clone(),
        stiffness_factor: matter.stiffness_factor.clone(),
        lumped_mass: matter.lumped_mass.clone(),
        damping_rate: matter.damping_rate.clone(),
        time_increment: dt,
        forces: actions.forces.free.clone(),
        constraints: actions.constraints.clone(),
        monitors: histories.monitors().to_vec(),
    };
    let n_threads = threads(settings);
    let stable = match check_stability(&problem, bound, n_threads) {
        Stability::Within(limit) => limit,
        Stability::Beyond(limit) => {
            let element = user_element_label(mesh, bound.element);
            if !settings.allow_unstable {
                return Err(SolveError::Unstable { path, increment: dt, stable: limit, element });
            }
            observer.note(&format!(
                "warning: increment {dt:.4e} s is above the stable increment {limit:.4e} s (element {element})"
            ));
            limit
        }
    };

    let identity = Identity {
        block_hash: model.block_file.hash.clone(),
        precision: settings.precision.name(),
        fingerprint: checkpoint::fingerprint(setup, n_steps, dt),
    };
    let mut recorded = Recorded::default();
    let state = match start {
        Start::Beginning => assemble::initial_state(mesh, &matter, &actions, &mut signals, dt),
        Start::Checkpoint(file) => {
            let file = file.clone().unwrap_or_else(|| folder.join(checkpoint::FILE_NAME));
            let n_dofs = mesh.n_nodes() * mesh.dimension;
            let state;
            (state, recorded) = checkpoint::read(&file, &identity, n_dofs)?;
            histories
                .resume(std::mem::take(&mut recorded.traces), state.step)
                .ok_or(SolveError::OtherRun { path: file, what: "outputs" })?;
            state
        }
    };
    let refuse = |error: GpuError| match error {
        GpuError::Problem(error) => SolveError::Problem { path: path.clone(), reason: error.to_string() },
        GpuError::Device(error) => SolveError::Device(error),
    };
    let Engine { mut stepper, bytes_per_node_step, device, n_threads: stepping_threads } =
        make_stepper(&problem, &state, &signals, settings, n_threads, &mut starting, observer).map_err(refuse)?;
    drop(problem);
    let first_step = state.step;
    let resumed = *start != Start::Beginning;
    drop(state);

    let physics = Physics { mesh, matter: &matter, actions: &actions, time_increment: dt };
    let order = if settings.fields && !setup.fields.is_empty() { mesh.node_names().user_order() } else { Vec::new() };
    let field_requests = if settings.fields { setup.fields.as_slice() } else { &[] };
    let mut snapshots = Snapshots::plan(
        physics,
        field_requests,
        n_steps,
        folder,
        &order,
        settings.field_format,
        resumed.then_some(first_step),
        signals.clone(),
    )?;
    if settings.plot {
        snapshots = snapshots.with_pictures(&setup.title, n_steps, folder);
    }
    let mut products = Products {
        histories,
        reactions,
        energies: recorded.energies,
        initial_energy: recorded.initial_energy,
        watch: Watch::resume(recorded.largest_energies),
    };
    let samples = settings.energy_samples.unwrap_or_else(|| default_energy_samples(n_steps));
    let conditions = Conditions {
        lumped_mass: &matter.lumped_mass,
        dimension: mesh.dimension,
        time_increment: dt,
        n_steps,
        energy_steps: schedule::steps(OutputInterval::Count(samples), n_steps, dt),
        checkpoint: settings.checkpoint,
        folder,
        identity,
        resumed,
        overlap: device != "cpu",
    };
    let worst = worst_element(mesh, bound);
    observer.started(&Outlook {
        n_nodes: mesh.n_nodes() as u64,
        n_elements: mesh.n_elements() as u64,
        n_blocks: blocks.n_blocks() as u64,
        first_step,
        n_steps,
        increment: dt,
        stable_increment: stable,
        worst_element: user_element_label(mesh, bound.element),
        device: device.clone(),
        precision: settings.precision.name(),
        n_threads: stepping_threads,
        words: ["node", "element"],
    });
    let results = ResultFolder::take(folder);
    let report = time_loop::run(
        stepper.as_mut(),
        &mut signals,
        &conditions,
        &mut products,
        &mut snapshots,
        interrupts,
        observer,
    )
    .map_err(|error| match error {
        SolveError::Device(source) => {
            let n_dofs = mesh.n_nodes() * mesh.dimension;
            let kept = checkpoint::read(&folder.join(checkpoint::FILE_NAME), &conditions.identity, n_dofs);
            SolveError::DeviceLost { source, kept: kept.ok().map(|(state, _)| state.step) }
        }
        other => other,
    })?;

    let last = products.energies.last().copied().unwrap_or_default();
    let (status, message) = match report.end {
        End::Completed => (Status::Completed, None),
        End::Interrupted => {
            (Status::Interrupted, Some(format!("stopped at step {} of {n_steps}; go on with --restart", report.step)))
        }
        End::Diverged(divergence) => (Status::Diverged, Some(explain(divergence, report.step, dt, stable, &last))),
    };
    let comments = provenance(&setup.title, &model.block_file, model.case.as_deref(), &model.overrides);
    let mut files = products.histories.traces.write(folder, &comments)?;
    energy_file::write_csv(&folder.join("energy.csv"), &products.energies, &comments)?;
    files.push("energy.csv".into());
    files.extend(snapshots.files());
    let mut warnings = coarse_signals(setup, dt);
    if settings.plot {
        let note = format!("{}, {} of {dt:.3e} s", model.block_file.path, counted(report.step as usize, "step"));
        warnings.extend(plot_traces(&products.histories.traces, folder, &setup.title, &note)?);
        files.push("traces.svg".into());
    }
    files.extend(settle_checkpoint(status, folder));
    let summary_path = results.settle(&mut files, |old| resumed && old.starts_with(PICTURE));
    let done = (report.step - first_step) as f64 * mesh.n_nodes() as f64;
    let summary = Summary {
        status,
        message,
        version: pogo_formats::VERSION.into(),
        title: setup.title.clone(),
        case: model.case.clone(),
        block_file: model.block_file.clone(),
        overrides: model.overrides.clone(),
        nodes: mesh.n_nodes() as u64,
        elements: mesh.n_elements() as u64,
        dimension: mesh.dimension as u32,
        blocks: blocks.n_blocks() as u64,
        block_efficiency: model.block_efficiency,
        steps: report.step,
        first_step,
        increment: dt,
        stable_increment: stable,
        worst_element: worst,
        time: report.step as f64 * dt,
        device,
        precision: settings.precision.name().into(),
        threads: stepping_threads as u32,
        lumping: lumping_name(setup.explicit.lumping).into(),
        loop_seconds: report.seconds,
        total_seconds: began.elapsed().as_secs_f64(),
        node_steps_per_second: if report.seconds > 0.0 { done / report.seconds } else { 0.0 },
        bytes_per_node_step,
        peak_memory_bytes: peak_memory(),
        energy: FinalEnergy::from(last),
        files,
        warnings,
    };
    summary::write(&summary, &summary_path)?;
    observer.finished(&summary);
    Ok(summary)
}

/// A picture of all traces, `traces.svg`; what there was no room for is a warning.
pub(crate) fn plot_traces(
    traces: &Traces,
    folder: &Path,
    title: &str,
    note: &str,
) -> Result<Option<String>, SolveError> {
    let (panels, left_out) = plot::panels(traces);
    plot::traces_svg(&folder.join("traces.svg"), title, note, &panels)?;
    Ok((left_out > 0).then(|| format!("traces.svg has no room for {left_out} of the traces")))
}

/// The file that holds the last state, if it stays.
pub(crate) fn settle_checkpoint(status: Status, folder: &Path) -> Option<String> {
    match status {
        // It would only invite going on with a run that is done.
        Status::Completed => {
            drop(std::fs::remove_file(folder.join(checkpoint::FILE_NAME)));
            None
        }
        Status::Interrupted => Some(checkpoint::FILE_NAME.into()),
        Status::Diverged => Some(DIVERGED_FILE_NAME.into()),
    }
}

/// A sample costs some three steps: under 2 % of a run of a thousand steps or more.
pub(crate) fn default_energy_samples(n_steps: u64) -> u32 {
    (n_steps / 200).clamp(5, 100) as u32
}

/// Δt and the number of steps N, for a largest stable increment where the model leaves it to us.
pub(crate) fn increments(path: &Path, time: f64, increment: Increment, stable: f64) -> Result<(f64, u64), SolveError> {
    match increment {
        Increment::Fixed(dt) => Ok((dt, check_times(path, time, dt)?)),
        Increment::Automatic { factor } => {
            let largest = factor * stable;
            let nearest = check_times(path, time, largest)?;
            // Whole increments that end where the run does, none above the largest but for rounding.
            let n_steps = if time > nearest as f64 * largest * (1.0 + 1e-9) { nearest + 1 } else { nearest };
            Ok((time / n_steps as f64, n_steps))
        }
    }
}

fn check_times(path: &Path, time: f64, dt: f64) -> Result<u64, SolveError> {
    let refuse = |reason: String| Err(SolveError::Problem { path: path.into(), reason });
    if !(time > 0.0 && time.is_finite()) {
        return refuse(format!("the run's time is {time} s; give a positive one with --time"));
    }
    if !(dt > 0.0 && dt.is_finite()) {
        return refuse(format!("the increment is {dt} s; give a positive one with --increment, or auto"));
    }
    if time / dt >= MAX_STEPS {
        // Debug's form: exponents for what is small or large.
        return refuse(format!(
            "{time:?} s in increments of {dt:?} s are more than {MAX_STEPS:e} steps; check their units"
        ));
    }
    Ok(schedule::n_steps(time, dt))
}

/// The number asked for, or all that there are.
pub(crate) fn threads(settings: &Settings) -> usize {
    settings.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) => None,
        }
    }
}

/// What steps the problem, and on what.
struct Engine {
    stepper: Box<dyn Stepper>,
    bytes_per_node_step: f64,
    device: String,
    n_threads: usize,
}

fn make_stepper(
    problem: &Problem<'_>,
    state: &State,
    signals: &Signals<'_>,
    settings: &Settings,
    threads: usize,
    starting: &mut Starting,
    observer: &mut dyn Observer,
) -> Result<Engine, GpuError> {
    fn on_cpu<T: Real + 'static>(problem: &Problem<'_>, state: &State, threads: usize) -> Result<Engine, GpuError> {
        let stepper = CpuStepper::<T>::new(problem, state, threads)?;
        let bytes_per_node_step = stepper.bytes_per_node_step();
        Ok(Engine { stepper: Box::new(stepper), bytes_per_node_step, device: "cpu".into(), n_threads: threads })
    }
    fn on_gpu<T: Real + 'static>(
        problem: &Problem<'_>,
        state: &State,
        signals: &Signals<'_>,
        ordinal: u32,
        observer: &mut dyn Observer,
    ) -> Result<Engine, GpuError> {
        let stepper = GpuStepper::<T>::new(problem, state, signals, GpuOptions { ordinal })?;
        let report = stepper.report();
        observer.note(&format!(
            "{}: {:.2} GB in use, {:.2} GB uploaded in {:.2} s ({:.1} GB/s)",
            report.device,
            report.memory.bytes() as f64 / 1e9,
            report.uploaded as f64 / 1e9,
            report.upload_seconds,
            report.uploaded as f64 / 1e9 / report.upload_seconds.max(1e-9)
        ));
        let (bytes_per_node_step, device) = (report.bytes_per_node_step, report.device.clone());
        Ok(Engine { stepper: Box::new(stepper), bytes_per_node_step, device, n_threads: 1 })
    }
    let cpu = |_: &mut dyn Observer| match settings.precision {
        Precision::F32 => on_cpu::<f32>(problem, state, threads),
        Precision::F64 => on_cpu::<f64>(problem, state, threads),
    };
    let gpu = |ordinal, observer: &mut dyn Observer| {
        starting.wait()?;
        match settings.precision {
            Precision::F32 => on_gpu::<f32>(problem, state, signals, ordinal, observer),
            Precision::F64 => on_gpu::<f64>(problem, state, signals, ordinal, observer),
        }
    };
    on_chosen(settings.device, observer, cpu, gpu)
}

/// Iterations of the estimate of the whole model's limit; they leave it under 1 % too high.
const LIMIT_ITERATIONS: usize = 100;
/// What is taken off that estimate.
const LIMIT_MARGIN: f64 = 0.98;

/// Δt against the largest stable increment, s.
enum Stability {
    Within(f64),
    Beyond(f64),
}

/// The element bound is on the safe side, so the whole model's own limit is asked before an increment is called unstable.
fn check_stability(problem: &Problem<'_>, bound: StableIncrement, threads: usize) -> Stability {
    let dt = problem.time_increment;
    if dt <= bound.increment {
        return Stability::Within(bound.increment);
    }
    let n_dofs = problem.lumped_mass.len() * problem.mesh.dimension;
    let rest = State { displacement: vec![0.0; n_dofs], increment: vec![0.0; n_dofs], ..State::default() };
    let limit = CpuStepper::<f64>::new(problem, &rest, threads)
        .ok()
        .and_then(|stepper| {
            let constrained: Vec<u64> = problem.constraints.iter().map(|constraint| constraint.dof).collect();
            let (mass, dimension) = (&problem.lumped_mass, problem.mesh.dimension);
            let force = |u: &[f64]| stepper.internal_force(u);
            global_stable_increment(mass, dimension, &constrained, LIMIT_ITERATIONS, force).ok()
        })
        .map_or(bound.increment, |limit| (LIMIT_MARGIN * limit).max(bound.increment));
    if dt <= limit { Stability::Within(limit) } else { Stability::Beyond(limit) }
}

fn worst_element(mesh: &MeshView<'_>, bound: StableIncrement) -> Option<WorstElement> {
    let element = Elements::new(mesh).get(bound.element)?;
    Some(WorstElement {
        label: element.label,
        instance: mesh.instances.get(usize::from(element.instance)).copied().unwrap_or_default().into(),
        kind: element.kind.name().into(),
        stable_increment: bound.increment,
    })
}

fn explain(divergence: Divergence, step: u64, dt: f64, stable: f64, last: &EnergyRow) -> String {
    let what = match divergence {
        Divergence::NotFinite => "the solution is no longer finite".to_owned(),
        Divergence::Growing => format!("kinetic energy grew to {:.3e} J without cause", last.kinetic),
        Divergence::Unbalanced => format!("the energy balance is off by {:.3e} J", last.balance()),
    };
    let cause = if dt > stable {
        format!("the increment {dt:.4e} s is above the stable {stable:.4e} s: use --increment auto")
    } else {
        "check the model's loads and amplitudes, or use --precision f64 if the run was in f32".to_owned()
    };
    format!("diverged at step {step}, t = {:.6e} s: {what}; {cause}", step as f64 * dt)
}

//! One run of a mass-spring-damper model: model → problem → time loop → results in a folder.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use pogo_formats::dynamics::{Increment, OutputInterval};
use pogo_formats::spring::results::{
    FinalSpringEnergy, SpringEnergy, SpringEvent, SpringSummary, write_spring_energy, write_spring_events,
};
use pogo_formats::spring::{CutShape, SpringDamping, SpringMeshView, SpringSetup};
use pogo_formats::words::counted;
use pogo_formats::write::summary;
use pogo_formats::write::summary::{BlockFileSummary, Status};
use pogo_kernels::device::DeviceError;
use pogo_kernels::simd::{Level, Real};
use pogo_kernels::spring::{
    Addressing, Cause, Change, CpuStepper, GpuError, GpuOptions, GpuStepper, SpringError, SpringProblem, State,
    Stepper, stable_increment,
};

use super::assemble::{self, Actions};
use super::checkpoint::{self, Recorded};
use super::reactions::SpringReactions;
use super::snapshots::Snapshots;
use super::time_loop::{self, Conditions, End, Products, Report};
use crate::config::{AddressingChoice, Precision, Settings, Start};
use crate::device::{MayBeDevice, on_chosen};
use crate::error::SolveError;
use crate::explicit::assemble::{AssembleError, Matter};
use crate::explicit::checkpoint::{FILE_NAME, Identity};
use crate::explicit::histories::{Histories, reaction_dofs};
use crate::explicit::run::{default_energy_samples, increments, plot_traces, settle_checkpoint, threads};
use crate::explicit::schedule;
use crate::explicit::signals::Signals;
use crate::explicit::snapshots::PICTURE;
use crate::folder::{ResultFolder, peak_memory, provenance};
use crate::interrupt::Interrupts;
use crate::observe::{Observer, Outlook};

/// A model as it is solved, and where it came from.
pub struct SpringModel<'a> {
    /// Particles and springs.
    pub mesh: SpringMeshView<'a>,
    /// Everything else, overrides applied.
    pub setup: SpringSetup,
    /// Path, hash and source of the block file.
    pub block_file: BlockFileSummary,
    /// Name of the case in a study.
    pub case: Option<String>,
    /// `NAME=VALUE` in force.
    pub overrides: Vec<String>,
}

/// What the command line says of the model's own settings wins; an automatic increment keeps the model's factor.
pub fn apply_settings(settings: &Settings, setup: &mut SpringSetup) {
    let solver = &mut setup.solver;
    if let Some(time) = settings.time {
        solver.time = time;
    }
    match (settings.increment, solver.increment) {
        (None, _) | (Some(Increment::Automatic { .. }), Increment::Automatic { .. }) => {}
        (Some(increment), _) => solver.increment = increment,
    }
}

/// Runs a model and writes its results into `folder`, which must exist. The same bits on every run, for every number of
/// threads, for both addressings, and across a restart; only work and dissipation, which are long sums, are the same to rounding
/// across the latter two.
///
/// # Errors
/// A model that cannot be stepped, an increment that is not stable, a checkpoint of another run, a file that cannot be
/// written. Divergence and interruption are no errors: see [`SpringSummary::status`].
pub fn run(
    model: &SpringModel<'_>,
    settings: &Settings,
    start: &Start,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<SpringSummary, SolveError> {
    let began = Instant::now();
    let path = Path::new(&model.block_file.path).to_path_buf();
    let refuse = |error: SpringError| SolveError::Problem { path: path.clone(), reason: explain_error(&error, model) };
    let SpringModel { mesh, setup, .. } = model;
    let mass = assemble::masses(mesh, setup);
    let mut problem = SpringProblem {
        mesh: mesh.clone(),
        groups: setup.groups.clone(),
        mass: mass.clone(),
        damping: setup.solver.damping,
        time_increment: 1.0,
        gravity: Vec::new(),
        forces: Vec::new(),
        constraints: Vec::new(),
        monitors: Vec::new(),
        cuts: setup.cuts.clone(),
        erasures: setup.erasures.clone(),
        additions: setup.additions.clone(),
        follow_work: false,
    };
    let stable = stable_increment(&problem).map_err(refuse)?;
    let time = setup.solver.time;
    if matches!(setup.solver.increment, Increment::Automatic { .. }) && !stable.is_finite() {
        let reason = "no spring limits the increment: give one with --increment".into();
        return Err(SolveError::Problem { path, reason });
    }
    let (dt, n_steps) = increments(&path, time, setup.solver.increment, stable)?;
    if dt > stable {
        if !settings.allow_unstable {
            return Err(SolveError::UnstableSprings { path, increment: dt, stable });
        }
        observer.note(&format!("warning: increment {dt:.4e} s is above the stable increment {stable:.4e} s"));
    }

    let (particles, conditions) = (assemble::particles(mesh), assemble::conditions(setup, &mass));
    let mut signals = Signals::new(&setup.amplitudes, dt);
    let refuse_model = |source: AssembleError| SolveError::Assemble { path: path.clone(), source };
    let Actions { forces, supported, constraints, gravity, initial_velocities } =
        assemble::actions(&particles, &conditions, setup, &mut signals).map_err(|error| refuse_model(error.into()))?;
    let matter = Matter {
        sections: Vec::new(),
        stiffness_factor: Vec::new(),
        lumped_mass: Vec::new(),
        damping_rate: Vec::new(),
    };
    problem.time_increment = dt;
    problem.gravity = gravity;
    problem.forces = forces;
    problem.constraints = constraints;
    let held: HashSet<u64> = problem.constraints.iter().map(|constraint| constraint.dof).collect();
    let dofs = reaction_dofs(&particles, &conditions, |dof| held.contains(&dof));
    let mut reactions = SpringReactions::new(&problem, dofs, &supported, signals.clone()).map_err(refuse)?;
    let mut histories = Histories::plan(&particles, &conditions, &matter, n_steps, dt, &mut reactions)
        .map_err(|error| refuse_model(AssembleError::Element(error)))?
        .ok_or_else(|| SolveError::Memory { what: "the traces; ask for fewer nodes or a longer interval".into() })?;

    let has_dampers = setup.groups.iter().any(|group| group.damping > 0.0)
        || !matches!(setup.solver.damping, SpringDamping::Alpha(0.0) | SpringDamping::Lambda(0.0));
    let is_driven = problem.constraints.iter().any(|constraint| constraint.value != 0.0);
    let comes_or_goes = has_dampers || is_driven || !problem.forces.is_empty();
    problem.monitors = histories.monitors().to_vec();
    problem.follow_work = settings.follow_work && comes_or_goes;
    let work = problem.follow_work || !comes_or_goes;

    let identity = Identity {
        block_hash: model.block_file.hash.clone(),
        precision: settings.precision.name(),
        fingerprint: checkpoint::fingerprint(setup, n_steps, dt, problem.follow_work),
    };
    let mut recorded = Recorded::default();
    let n = mesh.n_particles();
    let state = match start {
        Start::Beginning => {
            let mut velocity = vec![0.0; 3 * n];
            for (&dof, &v) in &initial_velocities {
                velocity[dof as usize] = v;
            }
            let first = signals.table(0, 1);
            // A prescribed displacement holds from t = 0, whatever its signal is then.
            let mut displacement = vec![0.0; 3 * n];
            for held in &problem.constraints {
                displacement[held.dof as usize] = held.value * first.values[held.signal as usize];
            }
            let before: Vec<f64> =
                (0..signals.len()).map(|at| first.values[at] - signals.increment_before_start(at)).collect();
            problem.start(displacement, &velocity, &before, &first.values).map_err(refuse)?
        }
        Start::Checkpoint(file) => {
            let file = file.clone().unwrap_or_else(|| folder.join(FILE_NAME));
            let state;
            (state, recorded) = checkpoint::read(&file, &identity, n)?;
            histories
                .resume(std::mem::take(&mut recorded.traces), state.step)
                .ok_or(SolveError::OtherRun { path: file, what: "outputs" })?;
            state
        }
    };
    reactions.learn(&state.changes);
    let first_step = state.step;
    let resumed = *start != Start::Beginning;
    let Engine { mut stepper, device, n_threads, addressing, bytes_per_particle_step } =
        make_stepper(problem, &state, settings, setup, observer).map_err(|error| match error {
            GpuError::Problem(error) => refuse(error),
            GpuError::Device(error) => SolveError::Device(error),
            error @ GpuError::Way { .. } => SolveError::Problem { path: path.clone(), reason: error.to_string() },
        })?;
    drop(state);

    let order = if settings.fields || settings.plot { mesh.particle_names().user_order() } else { Vec::new() };
    let requests = if settings.fields { setup.fields.as_slice() } else { &[] };
    let mut snapshots = Snapshots::plan(
        mesh,
        &order,
        requests,
        n_steps,
        dt,
        folder,
        settings.field_format,
        resumed.then_some(first_step),
    )?;
    if settings.plot {
        snapshots = snapshots.with_pictures(&setup.title, n_steps, folder);
    }
    let mut products = Products { histories, reactions, energies: recorded.energies, put_in: recorded.put_in };
    let samples = settings.energy_samples.unwrap_or_else(|| default_energy_samples(n_steps));
    // Springs with a length of their own, and those that are added, bring energy of their own.
    let unstressed = setup.groups.iter().all(|group| group.rest_factor == 1.0) && setup.additions.is_empty();
    let conditions = Conditions {
        time_increment: dt,
        n_steps,
        energy_steps: schedule::steps(OutputInterval::Count(samples), n_steps, dt),
        checkpoint: settings.checkpoint,
        folder,
        identity,
        resumed,
        judge_growth: unstressed && work,
    };
    observer.started(&Outlook {
        n_nodes: n as u64,
        n_elements: mesh.n_springs() as u64,
        n_blocks: mesh.lists.n_blocks() as u64,
        first_step,
        n_steps,
        increment: dt,
        stable_increment: stable,
        worst_element: String::new(),
        device: device.clone(),
        precision: settings.precision.name(),
        n_threads,
        words: ["particle", "spring"],
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
    )?;
    drop(stepper);

    let (status, message) = match report.end {
        End::Completed => (Status::Completed, None),
        End::Interrupted => {
            (Status::Interrupted, Some(format!("stopped at step {} of {n_steps}; go on with --restart", report.step)))
        }
        End::NotFinite | End::Growing => (Status::Diverged, Some(explain(report.end, report.step, dt, stable))),
    };
    let comments = provenance(&setup.title, &model.block_file, model.case.as_deref(), &model.overrides);
    let mut files = products.histories.traces.write(folder, &comments)?;
    write_spring_energy(&folder.join("energy.csv"), &products.energies, work, &comments)?;
    let events = report.changes.iter().map(|change| event(change, mesh, setup, dt));
    write_spring_events(&folder.join("broken.csv"), events, &comments)?;
    files.extend(["energy.csv".into(), "broken.csv".into()]);
    files.extend(snapshots.files());
    let mut warnings = if status == Status::Completed { idle_changes(setup, &report, dt) } else { Vec::new() };
    if settings.plot {
        let note = format!("{}, {} of {dt:.3e} s", model.block_file.path, counted(report.step as usize, "step"));
        warnings.extend(plot_traces(&products.histories.traces, folder, &setup.title, &note)?);
        files.push("traces.svg".into());
    }
    files.extend(settle_checkpoint(status, folder));
    let summary_path = results.settle(&mut files, |old| resumed && old.starts_with(PICTURE));
    let count = |is: fn(&Cause) -> bool| report.changes.iter().filter(|change| is(&change.cause)).count() as u64;
    let done = (report.step - first_step) as f64 * n as f64;
    let last = products.energies.last().copied().unwrap_or_default();
    let summary = SpringSummary {
        status,
        message,
        physics: "spring",
        version: pogo_formats::VERSION.into(),
        title: setup.title.clone(),
        case: model.case.clone(),
        block_file: model.block_file.clone(),
        overrides: model.overrides.clone(),
        particles: n as u64,
        springs: mesh.n_springs() as u64,
        springs_left: report.n_springs,
        broken: count(|cause| *cause == Cause::Broken),
        cut: count(|cause| matches!(cause, Cause::Cut(_))),
        erased: count(|cause| matches!(cause, Cause::Erased(_))),
        added: count(|cause| matches!(cause, Cause::Added(_))),
        addressing: name_of(addressing).into(),
        steps: report.step,
        first_step,
        increment: dt,
        stable_increment: stable,
        time: report.step as f64 * dt,
        device,
        precision: settings.precision.name().into(),
        threads: n_threads as u32,
        loop_seconds: report.seconds,
        total_seconds: began.elapsed().as_secs_f64(),
        particle_steps_per_second: if report.seconds > 0.0 { done / report.seconds } else { 0.0 },
        bytes_per_particle_step,
        peak_memory_bytes: peak_memory(),
        energy: final_energy(&last, work),
        files,
        warnings,
    };
    summary::write(&summary, &summary_path)?;
    observer.ended(&ending(&summary));
    Ok(summary)
}

/// What to warn of: cuts, erasures and additions that changed nothing in a run that is over.
fn idle_changes(setup: &SpringSetup, report: &Report, dt: f64) -> Vec<String> {
    let end = report.step as f64 * dt;
    let done = |cause: Cause| report.changes.iter().filter(|change| change.cause == cause).count();
    let late = |time: f64| time >= end * (1.0 - 1e-9);
    let mut warnings = Vec::new();
    let mut say = |name: &str, time: f64, why: String| {
        let why = if late(time) { format!("its time, {time} s, is not before the end of the run") } else { why };
        warnings.push(format!("{name} does nothing: {why}"));
    };
    for (cut, index) in setup.cuts.iter().zip(0..) {
        let start = match &cut.shape {
            CutShape::Blade { times, .. } => cut.time + times.first().copied().unwrap_or(0.0),
            _ => cut.time,
        };
        if done(Cause::Cut(index)) == 0 {
            say(&cut.name, start, "it crosses no spring".to_owned());
        }
    }
    for (erasure, index) in setup.erasures.iter().zip(0..) {
        if done(Cause::Erased(index)) == 0 {
            say(&erasure.name, erasure.time, "none of its springs is there".to_owned());
        }
    }
    for (addition, index) in setup.additions.iter().zip(0..) {
        if done(Cause::Added(index)) == 0 {
            say(&addition.name, addition.time, "its springs are there already".to_owned());
        }
    }
    warnings
}

/// What is said of a run at its end.
fn ending(summary: &SpringSummary) -> String {
    let status = match summary.status {
        Status::Completed => "done",
        Status::Interrupted => "interrupted",
        Status::Diverged => "DIVERGED",
    };
    let steps = counted((summary.steps - summary.first_step) as usize, "step");
    let mut text = format!(
        "{status}: {steps} in {:.2} s, {:.1} M particle-steps/s, {} left of {}",
        summary.loop_seconds,
        summary.particle_steps_per_second / 1e6,
        counted(summary.springs_left as usize, "spring"),
        summary.springs
    );
    if let Some(message) = &summary.message {
        text += "\n";
        text += message;
    }
    text
}

fn final_energy(last: &SpringEnergy, work: bool) -> FinalSpringEnergy {
    FinalSpringEnergy {
        kinetic: last.kinetic,
        elastic: last.elastic,
        gravity: last.gravity,
        external: work.then_some(last.external),
        dissipated: work.then_some(last.dissipated),
        momentum: last.momentum,
    }
}

fn name_of(addressing: Addressing) -> &'static str {
    match addressing {
        Addressing::Automatic => "automatic",
        Addressing::Implicit => "implicit",
        Addressing::Explicit => "explicit",
        Addressing::ExplicitGlobal => "explicit-global",
    }
}

/// What `auto` means: implicit addressing where there is a grid, unless springs are added that it cannot have.
fn choose(
    choice: AddressingChoice,
    mesh: &SpringMeshView<'_>,
    setup: &SpringSetup,
    observer: &mut dyn Observer,
) -> Addressing {
    match choice {
        AddressingChoice::Implicit => Addressing::Implicit,
        AddressingChoice::Explicit => Addressing::Explicit,
        AddressingChoice::ExplicitGlobal => Addressing::ExplicitGlobal,
        AddressingChoice::Auto if mesh.grid.is_none() => Addressing::Explicit,
        AddressingChoice::Auto if setup.additions.is_empty() => Addressing::Implicit,
        AddressingChoice::Auto => {
            observer.note("springs are added: explicit addressing");
            Addressing::Explicit
        }
    }
}

impl MayBeDevice for GpuError {
    fn device_error(&self) -> Option<&DeviceError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Problem(_) | Self::Way { .. } => None,
        }
    }
}

/// What steps the problem, and on what.
struct Engine<'a> {
    stepper: Box<dyn Stepper + 'a>,
    device: String,
    n_threads: usize,
    addressing: Addressing,
    bytes_per_particle_step: f64,
}

fn make_stepper<'a>(
    problem: SpringProblem<'a>,
    state: &State,
    settings: &Settings,
    setup: &SpringSetup,
    observer: &mut dyn Observer,
) -> Result<Engine<'a>, GpuError> {
    fn on_cpu<'a, T: Real + 'a>(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        n_threads: usize,
    ) -> Result<Engine<'a>, GpuError> {
        let stepper = CpuStepper::<T>::new(problem, state, addressing, n_threads, Level::detect())?;
        let bytes_per_particle_step = stepper.bytes_per_particle_step();
        Ok(Engine { stepper: Box::new(stepper), device: "cpu".into(), n_threads, addressing, bytes_per_particle_step })
    }
    fn on_gpu<'a, T: Real + 'a>(
        problem: SpringProblem<'a>,
        state: &State,
        addressing: Addressing,
        ordinal: u32,
    ) -> Result<Engine<'a>, GpuError> {
        let stepper =
            GpuStepper::<T>::new(problem, state, addressing, GpuOptions { ordinal, ..GpuOptions::default() })?;
        let report = stepper.report();
        let (device, addressing) = (report.device.clone(), report.addressing);
        let bytes_per_particle_step = report.bytes_per_particle_step;
        Ok(Engine { stepper: Box::new(stepper), device, n_threads: 1, addressing, bytes_per_particle_step })
    }
    let mesh = problem.mesh.clone();
    let cpu = |problem, observer: &mut dyn Observer| {
        let addressing = choose(settings.addressing, &mesh, setup, observer);
        let n_threads = threads(settings);
        match settings.precision {
            Precision::F32 => on_cpu::<f32>(problem, state, addressing, n_threads),
            Precision::F64 => on_cpu::<f64>(problem, state, addressing, n_threads),
        }
    };
    let gpu = |problem, ordinal| {
        // On a device the fastest addressing depends on the size, too.
        let addressing = match settings.addressing {
            AddressingChoice::Auto => Addressing::Automatic,
            AddressingChoice::Implicit => Addressing::Implicit,
            AddressingChoice::Explicit => Addressing::Explicit,
            AddressingChoice::ExplicitGlobal => Addressing::ExplicitGlobal,
        };
        match settings.precision {
            Precision::F32 => on_gpu::<f32>(problem, state, addressing, ordinal),
            Precision::F64 => on_gpu::<f64>(problem, state, addressing, ordinal),
        }
    };
    on_chosen(
        settings.device,
        observer,
        |observer| cpu(problem.clone(), observer),
        |ordinal, _| gpu(problem.clone(), ordinal),
    )
}

/// The kernels know indices only; the user knows labels.
fn explain_error(error: &SpringError, model: &SpringModel<'_>) -> String {
    let label = |particle: u32| model.mesh.particle_names().of(particle);
    match error {
        SpringError::NotInGrid { particles: [a, b] } => format!(
            "the spring added from particle {} to {} does not join neighbours in the grid, or is not of the group that their \
             materials have; use --addressing explicit",
            label(*a),
            label(*b)
        ),
        SpringError::Addition { particles: [a, b], reason } => {
            format!("the spring from particle {} to {} cannot be added: {reason}", label(*a), label(*b))
        }
        other => other.to_string(),
    }
}

fn explain(end: End, step: u64, dt: f64, stable: f64) -> String {
    let what = if end == End::NotFinite { "the solution is no longer finite" } else { "energy grew without cause" };
    let cause = if dt > stable {
        format!("the increment {dt:.4e} s is above the stable {stable:.4e} s: use --increment auto")
    } else {
        "check loads and amplitudes, or use a smaller increment: springs that are squeezed flat or pulled far are stiffer"
            .to_owned()
    };
    format!("diverged at step {step}, t = {:.6e} s: {what}; {cause}", step as f64 * dt)
}

fn event(change: &Change, mesh: &SpringMeshView<'_>, setup: &SpringSetup, dt: f64) -> SpringEvent {
    let [a, b] = change.particles;
    let of_mesh = || mesh.springs(a as usize).find(|spring| spring.other == b).map(|spring| spring.group);
    let of_addition = || {
        let added = setup
            .additions
            .iter()
            .find(|addition| addition.springs.contains(&[a, b]) || addition.springs.contains(&[b, a]));
        added.map(|addition| addition.group)
    };
    let (group, cause) = match change.cause {
        Cause::Broken => (of_mesh().or_else(of_addition), "strain".to_owned()),
        Cause::Cut(index) => (of_mesh().or_else(of_addition), format!("cut {}", setup.cuts[index as usize].name)),
        Cause::Erased(index) => {
            (of_mesh().or_else(of_addition), format!("erase {}", setup.erasures[index as usize].name))
        }
        Cause::Added(index) => {
            let addition = &setup.additions[index as usize];
            (Some(addition.group), format!("add {}", addition.name))
        }
    };
    let group =
        group.and_then(|group| setup.groups.get(group as usize)).map_or(String::new(), |group| group.name.clone());
    SpringEvent {
        time: change.step as f64 * dt,
        particles: [mesh.particle_names().of(a), mesh.particle_names().of(b)],
        group,
        cause,
    }
}

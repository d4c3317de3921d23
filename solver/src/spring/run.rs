//! One run of a mass-spring-damper model: model → problem → time loop → results in a folder.

use std::collections::BTreeMap;
use std::thread::Scope;
use std::time::Instant;

use pogo_formats::dynamics::Increment;
use pogo_formats::spring::results::{FinalSpringEnergy, SpringEnergy, SpringSummary};
use pogo_formats::spring::{SpringDamping, SpringMeshView, SpringSetup};
use pogo_formats::timings::{self, peak_memory, timed};
use pogo_formats::words::counted;
use pogo_formats::write::summary::Ending;
use pogo_formats::write::traces::Traces;
use pogo_kernels::dynamics::signals::Signals;
use pogo_kernels::spring::{Cause, SpringError, SpringProblem, State, stable_increment};

use super::assemble::{self, Actions};
use super::columns::Columns;
use super::model::Model;
use super::report;
use super::single;
use super::snapshots::Fields;
use super::stepper::{self, Engine};
use crate::RunSummary;
use crate::call::Call;
use crate::error::SolveError;
use crate::observe::{Observer, Outlook, with_prefix};
use crate::run::checkpoint::{Identity, fingerprint};
use crate::run::histories::{self, Histories};
use crate::run::schedule::{self, Clock};
use crate::run::time_loop::TimeLoop;
use crate::run::{self, Finished, Plan};

/// Runs a model and writes its results. The same bits on every run, for every number of threads and of ranks, for both
/// addressings, and across a restart; only work and dissipation, which are long sums, are the same to rounding for other numbers of threads
/// and addressings.
///
/// # Errors
/// A model that cannot be stepped, an increment that is not stable, a checkpoint of another run, a file that cannot be
/// written. Divergence and interruption are no errors: see [`SpringSummary::ending`].
pub(super) fn run(
    mesh: &SpringMeshView<'_>,
    setup: &SpringSetup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    // Other parts of this process borrow the model, too.
    std::thread::scope(|scope| run_in(scope, mesh, setup, call, observer))
}

/// As [`run`]; the threads of other parts are in `scope`.
fn run_in<'scope, 'env, 'a: 'env>(
    scope: &'scope Scope<'scope, 'env>,
    mesh: &'a SpringMeshView<'a>,
    setup: &'a SpringSetup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    let began = Instant::now();
    let Assembled { problem, clock, stable, mut signals, initial_velocities, columns, mut histories, knows_work } =
        timed("assemble", || assemble(mesh, setup, call, observer))?;
    timed("check numbers", || single::check(&problem, call))?;
    let identity = Identity {
        block_hash: call.block_file.hash.clone(),
        precision: call.settings.precision.name(),
        fingerprint: fingerprint(&without_time(setup, clock), clock.time_increment, &[problem.follow_work]),
        settings: "settings (--set, --increment or --no-work)",
        clock,
        n_dofs: assemble::dofs(mesh).n(),
    };
    let set_up = timings::stage("set up");
    let (state, energies) = run::start(call, &identity, &mut histories, || {
        initial_state(&problem, &initial_velocities, &mut signals)
            .map_err(|error| call.refuse(report::explain(&error, mesh)))
    })?;
    let engine = Engine::new(&problem, &state, setup, call, observer, scope)?;
    drop(set_up);
    let Some(engine) = engine else { return Ok(RunSummary::of_another_rank()) };
    let Engine { stepper, device, n_threads, addressing, bytes_per_particle_step } = engine;
    drop(problem);
    let first_step = state.step;

    let plan_fields = timings::stage("plan fields");
    let mut model = Model { stepper, columns, mesh, setup, clock, knows_work, changes: Vec::new(), n_springs: 0 };
    model.columns.follow(&state.changes);
    drop(state);
    let fields = call.settings.fields;
    let order = if fields || call.settings.draws() { mesh.particle_names().user_order() } else { Vec::new() };
    let requests = if fields { setup.fields.as_slice() } else { &[] };
    let mut fields = Fields::plan((mesh, &order), requests, (clock, first_step), call, &setup.title)?;
    drop(plan_fields);
    let plan = Plan::new(call, clock, stable, identity, &device);
    observer.started(&Outlook {
        n_nodes: mesh.n_particles() as u64,
        n_elements: mesh.n_springs() as u64,
        n_blocks: mesh.lists.n_blocks() as u64,
        n_threads,
        words: ["particle", "spring"],
        ..plan.outlook(first_step)
    });
    let mut time_loop = TimeLoop { model, signals, histories, energies, plan };
    let finished = run::run(&mut time_loop, &mut fields, &setup.title, observer)?;
    let TimeLoop { model, energies, .. } = time_loop;
    let rate = finished.rate(mesh.n_particles());
    let springs_left = counted(model.n_springs as usize, "spring");
    let details = format!("{}particle-steps/s, {springs_left} left of {}", with_prefix(rate), mesh.n_springs());
    let line = finished.line(&details);
    let summary = SpringSummary {
        addressing: stepper::name_of(addressing).into(),
        stable_increment: stable,
        device,
        threads: n_threads as u32,
        particle_steps_per_second: rate,
        bytes_per_particle_step,
        energy: final_energy(&energies, knows_work),
        total_seconds: began.elapsed().as_secs_f64(),
        peak_memory_bytes: peak_memory(),
        ..summary(&model, call, finished)
    };
    drop(model);
    let summary = RunSummary::write(call, summary, |s| (&s.ending, s.total_seconds, &s.warnings))?;
    observer.ended(&line);
    Ok(summary)
}

/// What a summary says of the model, of its springs and of the run's steps.
fn summary(model: &Model<'_>, call: &Call<'_>, finished: Finished) -> SpringSummary {
    let count = |is: fn(&Cause) -> bool| model.changes.iter().filter(|change| is(&change.cause)).count() as u64;
    SpringSummary {
        ending: Ending { status: finished.status, message: finished.message },
        physics: "spring",
        origin: call.origin(&model.setup.title),
        particles: model.mesh.n_particles() as u64,
        springs: model.mesh.n_springs() as u64,
        springs_left: model.n_springs,
        broken: count(|cause| *cause == Cause::Broken),
        cut: count(|cause| matches!(cause, Cause::Cut(_))),
        erased: count(|cause| matches!(cause, Cause::Erased(_))),
        added: count(|cause| matches!(cause, Cause::Added(_))),
        steps: finished.step,
        first_step: finished.first_step,
        increment: model.clock.time_increment,
        time: model.clock.time(finished.step),
        precision: call.settings.precision.name().into(),
        loop_seconds: finished.seconds,
        files: finished.files,
        warnings: finished.warnings,
        ..SpringSummary::default()
    }
}

fn final_energy(energies: &[SpringEnergy], knows_work: bool) -> FinalSpringEnergy {
    let last = energies.last().copied().unwrap_or_default();
    FinalSpringEnergy {
        kinetic: last.kinetic,
        elastic: last.elastic,
        gravity: last.gravity,
        external: knows_work.then_some(last.external),
        dissipated: knows_work.then_some(last.dissipated),
        momentum: last.momentum,
    }
}

/// A model that is ready to be put on a stepper.
struct Assembled<'a> {
    problem: SpringProblem<'a>,
    clock: Clock,
    /// Largest stable Δt, s.
    stable: f64,
    signals: Signals<'a>,
    initial_velocities: BTreeMap<u64, f64>,
    columns: Columns<'a>,
    histories: Histories,
    /// The work of forces and dampers is followed, or there is none.
    knows_work: bool,
}

/// What a checkpoint belongs to, whatever the time of the run.
fn without_time(setup: &SpringSetup, clock: Clock) -> SpringSetup {
    let mut setup = setup.clone();
    (setup.solver.time, setup.solver.increment) = (0.0, Increment::Fixed(clock.time_increment));
    setup
}

/// Assembles a model and plans its traces.
///
/// # Errors
/// A model that cannot be stepped, an increment that is not stable, or not enough memory for the traces.
fn assemble<'a>(
    mesh: &SpringMeshView<'a>,
    setup: &'a SpringSetup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<Assembled<'a>, SolveError> {
    let refuse = |error: SpringError| call.refuse(report::explain(&error, mesh));
    let mut problem = assemble::bare_problem(mesh, setup);
    let stable = stable_increment(&problem).map_err(refuse)?;
    let increment = setup.solver.increment;
    if matches!(increment, Increment::Automatic { .. }) && !stable.is_finite() {
        return Err(call.refuse("no spring limits the increment: give one with --increment"));
    }
    let clock = Clock::going_on(setup.solver.time, increment, stable, call.resumed_increment())
        .map_err(|reason| call.refuse(reason))?;
    let dt = clock.time_increment;
    run::check_stability(call, dt, stable, "the springs", "", observer)?;

    let rows = setup.histories.iter().map(|asked| (&asked.interval, asked.n_traces()));
    let snapshots = setup.fields.iter().map(|field| &field.interval);
    call.check_memory(run::recorded(clock, call.settings, rows, snapshots))?;
    let mut signals = Signals::new(&setup.amplitudes, dt);
    let Actions { forces, supported, constraints, gravity, initial_velocities } =
        assemble::actions(mesh, setup, &problem.mass, &mut signals).map_err(|error| call.refuse(error))?;
    problem = SpringProblem { time_increment: dt, gravity, forces, constraints, ..problem };
    let is_held = |dof| problem.constraints.binary_search_by_key(&dof, |held| held.dof).is_ok();
    let dofs = assemble::dofs(mesh);
    let reaction_dofs = histories::reaction_dofs(&setup.histories, dofs, is_held);
    let mut columns = Columns::new(&problem, reaction_dofs, supported, signals.clone()).map_err(refuse)?;
    let sampling = |interval: &_| schedule::steps(interval, clock);
    let planned = Traces::plan(&setup.histories, mesh.particle_names(), &[], &[], sampling);
    let histories = Histories::plan(planned, dofs, dt, &mut columns)?;

    let has_dampers = setup.groups.iter().any(|group| group.damping > 0.0)
        || !matches!(setup.solver.damping, SpringDamping::Alpha(0.0) | SpringDamping::Lambda(0.0));
    let is_driven = problem.constraints.iter().any(|constraint| constraint.value != 0.0);
    let has_work = has_dampers || is_driven || !problem.forces.is_empty();
    problem.monitors = histories.monitors().to_vec();
    problem.follow_work = call.settings.follow_work && has_work;
    let knows_work = problem.follow_work || !has_work;
    Ok(Assembled { problem, clock, stable, signals, initial_velocities, columns, histories, knows_work })
}

/// The state at t = 0: a prescribed displacement holds from then on, whatever its signal is.
fn initial_state(
    problem: &SpringProblem<'_>,
    initial_velocities: &BTreeMap<u64, f64>,
    signals: &mut Signals<'_>,
) -> Result<State, SpringError> {
    let n_dofs = 3 * problem.n_particles();
    let mut velocity = vec![0.0; n_dofs];
    for (&dof, &v) in initial_velocities {
        velocity[dof as usize] = v;
    }
    let first = signals.table(0, 1).values;
    let mut displacement = vec![0.0; n_dofs];
    for held in &problem.constraints {
        displacement[held.dof as usize] = held.value * first[held.signal as usize];
    }
    let before: Vec<f64> = (0..signals.len()).map(|at| first[at] - signals.increment_before_start(at)).collect();
    problem.start(displacement, &velocity, &before, &first)
}

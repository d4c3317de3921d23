//! One run: model → assembly → time loop → results in a folder.

use std::time::Instant;

use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::energy::EnergyRow;
use pogo_formats::explicit::summary::{ExplicitSummary, FinalEnergy, WorstElement};
use pogo_formats::explicit::{Explicit, Setup};
use pogo_formats::mesh::MeshView;
use pogo_formats::physics::BlockFile;
use pogo_formats::timings::{self, peak_memory, timed};
use pogo_formats::write::summary::Ending;
use pogo_kernels::explicit::Problem;
use pogo_kernels::explicit::elements::StableIncrement;

use super::assemble::{self, Actions, Assembled};
use super::fluid::{self, Touching};
use super::linear;
use super::matter::Matter;
use super::model::Model;
use super::periodic;
use super::pogo_files::PogoHistories;
use super::relaxation;
use super::single;
use super::snapshots::{self, Fields};
use super::stepper::{self, Engine, Limit};
use crate::RunSummary;
use crate::call::Call;
use crate::config::lumping_name;
use crate::error::SolveError;
use crate::observe::{Observer, Outlook, with_prefix};
use crate::run::checkpoint::{Identity, fingerprint};
use crate::run::schedule::Clock;
use crate::run::time_loop::TimeLoop;
use crate::run::writer::FrameWriter;
use crate::run::{self, Finished, Plan};

/// Runs a model and writes its results. The same bits on every run, for every number of threads, and across a restart.
///
/// # Errors
/// A model that cannot be stepped, an increment that is not stable, a checkpoint of another run, a file that cannot be
/// written. Divergence and interruption are no errors: see [`ExplicitSummary::ending`].
pub(super) fn run(
    file: &BlockFile<Explicit>,
    setup: &Setup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    let began = Instant::now();
    let mesh = &file.mesh();
    periodic::check_call(setup, call, observer)?;
    fluid::check_call(mesh, call)?;
    let (assembled, stable) = assembled(file, setup, call)?;
    let Assembled { matter, bound, clock, mut signals, actions, columns, mut histories } = assembled;
    let monitors = periodic::origins_of(setup, mesh, histories.monitors());
    let problem = problem(file, &matter, &actions, clock, monitors);
    timed("check numbers", || single::check(&problem, call))?;
    relaxation::note_fits(setup, observer);
    linear::check(&problem, setup, call, observer)?;
    let owner = format!("element {}", mesh.element_name(bound.element));
    run::check_stability(call, clock.time_increment, stable.increment, &owner, ", refine less there", observer)?;
    let pogo = PogoHistories::plan(mesh, setup, call, clock, &histories)?;
    let identity = identity(mesh, setup, call, clock);
    let set_up = timings::stage("set up");
    let (state, energies) = run::start(call, &identity, &mut histories, || {
        let start = (clock.time_increment, setup.explicit.start);
        assemble::initial_state(mesh, &matter, &actions, &mut signals, start).map_err(|error| call.refuse(error))
    })?;
    let engine = Engine::new(&problem, &state, &signals, call, observer)?;
    drop(set_up);
    let Some(engine) = engine else { return Ok(RunSummary::of_another_rank()) };
    drop(problem);
    let first_step = state.step;
    drop(state);

    let plan_fields = timings::stage("plan fields");
    let requests = if call.settings.fields { setup.fields.as_slice() } else { &[] };
    let order = if requests.is_empty() { Vec::new() } else { mesh.node_names().user_order() };
    let momentum = fluid::momentum_factors(mesh, setup);
    let (title, momentum) = (setup.title.as_str(), momentum.as_slice());
    let drawn = snapshots::Model { mesh, matter: &matter, actions: &actions, clock, title, momentum };
    let mut fields = Fields::plan(drawn, requests, &order, call, first_step, signals.clone())?;
    drop(plan_fields);
    let mut plan = Plan::new(call, clock, stable.increment, identity, &engine.device);
    plan.sample_energy_at(&fields.steps());
    observer.started(&Outlook {
        n_nodes: mesh.n_nodes() as u64,
        n_elements: mesh.n_elements() as u64,
        n_blocks: file.blocks().n_blocks() as u64,
        worst_element: mesh.element_name(bound.element),
        is_bound: !stable.is_exact,
        n_threads: engine.n_threads,
        words: ["node", "element"],
        ..plan.outlook(first_step)
    });
    let Engine { mut stepper, bytes_per_node_step, n_threads, shots_at_once, .. } = engine;
    let is_balanced = periodic::is_balanced(&setup.copied, mesh, &mut *stepper)?;
    let initial_energy = energies.first().map(|row: &EnergyRow| row.initial);
    let model = Model {
        stepper,
        columns,
        setup,
        matter: &matter,
        dimension: mesh.dimension,
        clock,
        initial_energy,
        pogo,
        is_balanced,
    };
    let mut time_loop = TimeLoop { model, signals, histories, energies, plan };
    let finished = run::run(&mut time_loop, &mut fields, &setup.title, observer)?;
    let energy = FinalEnergy::from(time_loop.energies.last().copied().unwrap_or_default());
    let rate = finished.rate(mesh.n_nodes());
    let details = format!("{}node-steps/s, energy balance within {:.1e}", with_prefix(rate), energy.balance_error);
    let line = finished.line(&details);
    let summary = ExplicitSummary {
        worst_element: worst_element(mesh, bound),
        stable_increment: stable.increment,
        device: time_loop.plan.device,
        threads: n_threads as u32,
        node_steps_per_second: rate,
        shots_at_once: shots_at_once as u32,
        bytes_per_node_step,
        energy,
        total_seconds: began.elapsed().as_secs_f64(),
        peak_memory_bytes: peak_memory(),
        ..summary(file, setup, call, clock, finished)
    };
    let summary = RunSummary::write(call, summary, |s| (&s.ending, s.total_seconds, &s.warnings))?;
    observer.ended(&line);
    Ok(summary)
}

/// The run that a checkpoint belongs to.
fn identity(mesh: &MeshView<'_>, setup: &Setup, call: &Call<'_>, clock: Clock) -> Identity {
    let mut setup = setup.clone();
    (setup.explicit.time, setup.explicit.increment) = (0.0, Increment::Fixed(clock.time_increment));
    Identity {
        block_hash: call.block_file.hash.clone(),
        precision: call.settings.precision.name(),
        fingerprint: fingerprint(&setup, clock.time_increment, &[]),
        settings: "settings (--set, --increment or --lumping)",
        clock,
        n_dofs: super::dofs(mesh).n(),
    }
}

/// What the kernels step.
fn problem<'a>(
    file: &'a BlockFile<Explicit>,
    matter: &Matter,
    actions: &Actions,
    clock: Clock,
    monitors: Vec<u64>,
) -> Problem<'a> {
    let Matter {
        sections,
        stiffness_factor,
        lumped_mass,
        damping_rate,
        damping_beta,
        relaxation,
        dashpots,
        touching,
        ..
    } = matter.clone();
    let Touching { mut wet, mut tied } = touching;
    if matter.is_viscous() {
        tied.append(&mut wet);
    }
    Problem {
        mesh: file.mesh(),
        blocks: file.blocks(),
        device: Some(file.device()),
        sections,
        stiffness_factor,
        lumped_mass,
        damping_rate,
        damping_beta,
        relaxation,
        dashpots,
        time_increment: clock.time_increment,
        forces: actions.forces.free.clone(),
        constraints: actions.constraints.clone(),
        monitors,
        copied: actions.copied.clone(),
        rows: actions.rows.clone(),
        wet,
        tied,
    }
}

/// What a summary says of the model and of the run's steps.
fn summary(
    file: &BlockFile<Explicit>,
    setup: &Setup,
    call: &Call<'_>,
    clock: Clock,
    finished: Finished,
) -> ExplicitSummary {
    let mesh = file.mesh();
    ExplicitSummary {
        ending: Ending { status: finished.status, message: finished.message },
        physics: "explicit",
        origin: call.origin(&setup.title),
        nodes: mesh.n_nodes() as u64,
        elements: mesh.n_elements() as u64,
        dimension: mesh.dimension as u32,
        blocks: file.blocks().n_blocks() as u64,
        block_efficiency: file.statistics().efficiency,
        steps: finished.step,
        first_step: finished.first_step,
        increment: clock.time_increment,
        time: clock.time(finished.step),
        precision: call.settings.precision.name().into(),
        lumping: lumping_name(setup.explicit.lumping).into(),
        loop_seconds: finished.seconds,
        files: finished.files,
        warnings: finished.warnings,
        ..ExplicitSummary::default()
    }
}

/// A model ready to be stepped, and its stable increment. An automatic increment is that of the elements' bound, or that of the
/// whole model where that is known and larger by more than a few percent.
fn assembled<'a>(
    file: &BlockFile<Explicit>,
    setup: &'a Setup,
    call: &Call<'_>,
) -> Result<(Assembled<'a>, Limit), SolveError> {
    let mesh = &file.mesh();
    let first = timed("assemble", || assemble::assemble(mesh, setup, call, None))?;
    let limit = timed("stable increment", || {
        let problem = problem(file, &first.matter, &first.actions, first.clock, Vec::new());
        stepper::stable_increment(&problem, first.bound, first.clock.n_steps, call.settings.n_threads())
    });
    let is_automatic = matches!(setup.explicit.increment, Increment::Automatic { .. }) && call.resume.is_none();
    if !is_automatic || limit.increment <= first.bound.increment {
        return Ok((first, limit));
    }
    drop(first);
    Ok((timed("assemble", || assemble::assemble(mesh, setup, call, Some(limit.increment)))?, limit))
}

fn worst_element(mesh: &MeshView<'_>, bound: StableIncrement) -> Option<WorstElement> {
    let (group, at) = mesh.group_of(bound.element)?;
    Some(WorstElement {
        label: group.labels[at],
        instance: mesh.instances.get(usize::from(group.instance[at])).copied().unwrap_or_default().into(),
        kind: group.kind.name().into(),
        stable_increment: bound.increment,
    })
}

//! One run: block file → tensors and starts → times → results in a folder.

use std::path::Path;
use std::time::Instant;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::setup::LocalSolver;
use pogo_formats::eikonal::summary::EikonalSummary;
use pogo_formats::eikonal::{BLOCKED, EikonalMeshView, EikonalSetup, Symmetric, TreesView, metrics};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::{peak_memory, timed};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::npy::Number;
use pogo_formats::write::summary::{Ending, Status};
use pogo_kernels::eikonal::{EikonalProblem, EikonalSettings, Metrics};
use pogo_kernels::simd::Real;

use super::context::Context;
use super::ecg::Electric;
use super::engine::Engine;
use super::{many, results, starts, trees};
use crate::RunSummary;
use crate::call::Call;
use crate::config::Precision;
use crate::error::SolveError;
use crate::folder::ResultFolder;
use crate::observe::Observer;
use crate::single::Held;

/// Runs a model and writes its results.
///
/// # Errors
/// Velocities that make no sense, starts without nodes, a file that cannot be written.
pub(super) fn run(
    (mesh, domains, trees): (&EikonalMeshView<'_>, &SubDomainsView<'_>, &TreesView<'_>),
    setup: &EikonalSetup,
    call: &Call<'_>,
    observer: &mut dyn Observer,
) -> Result<RunSummary, SolveError> {
    let began = Instant::now();
    if call.config.starts.is_some() {
        let idle = call.overrides.iter().find(|text| text.starts_with("start.")).map(String::as_str);
        if let Some(idle) = idle.or(call.settings.drawing()) {
            return Err(call.refuse(format!("{idle} does nothing with --starts; leave it out")));
        }
        if !setup.gradient.is_empty() {
            observer.note("derivatives are those of one set of starts: [gradient] does nothing with --starts");
        }
    }
    observer.note(&format!(
        "{}, {}, {}; {}, {}",
        counted(mesh.n_elements(), if mesh.corners == 4 { "tetrahedron" } else { "triangle" })
            .replace("hedrons", "hedra"),
        counted(mesh.n_nodes(), "node"),
        counted(domains.n_domains(), "sub-domain"),
        counted(call.n_threads(), "thread"),
        call.settings.precision.name()
    ));
    let metric = timed("metrics", || metrics(mesh, &setup.classes)).map_err(|error| {
        let (element, class) = (error.element, usize::from(mesh.class[error.element]));
        let name = setup.classes.get(class).map_or("", |class| &class.name);
        call.refuse(format!("element {} (velocity \"{name}\"): {}", mesh.element_labels[element], error.reason))
    })?;
    timed("check numbers", || check_single(mesh, setup, &metric, call))?;
    let results = call.team.leads().then(|| ResultFolder::take(call.folder, |_| false));
    let mut summary = start_summary(mesh, domains, setup, call, &metric);
    let problem = EikonalProblem { mesh: mesh.clone(), domains: Some(*domains), metrics: Metrics::Each(&metric) };
    let (joint, warnings) = trees::joint(&problem, trees, setup).map_err(|reason| call.refuse(reason))?;
    summary.warnings.extend(warnings);
    let electric = Electric::new(mesh, setup, &metric).map_err(|reason| call.refuse(reason))?;
    let context = Context { setup, call, problem, domains, trees, joint, electric };
    match call.settings.precision {
        Precision::F32 => solve::<f32>(&context, observer, &mut summary, began)?,
        Precision::F64 => solve::<f64>(&context, observer, &mut summary, began)?,
    }
    let Some(results) = results else { return Ok(RunSummary::of_another_rank()) };
    summary.peak_memory_bytes = peak_memory();
    summary.total_seconds = began.elapsed().as_secs_f64();
    results.settle(&mut summary.files, |_| false);
    let line = last_line(&summary);
    let summary = RunSummary::write(call, summary, |s| (&s.ending, s.total_seconds, &s.warnings))?;
    observer.note(&line);
    Ok(summary)
}

/// Refuses speeds whose squares single precision cannot hold.
fn check_single(
    mesh: &EikonalMeshView<'_>,
    setup: &EikonalSetup,
    metric: &[Symmetric],
    call: &Call<'_>,
) -> Result<(), SolveError> {
    if call.settings.precision != Precision::F32 {
        return Ok(());
    }
    let trace = |metric: &Symmetric| metric[0] + metric[1] + metric[2];
    let value = |element: usize| if metric[element] == BLOCKED { 1.0 } else { trace(&metric[element]) };
    Held(call).check_positive(metric.len(), value, |element| {
        let class = setup.classes.get(usize::from(mesh.class[element]));
        format!("1 / speed² of velocity \"{}\"", class.map_or("", |class| &class.name))
    })
}

fn solve<T: Real + Number + 'static>(
    context: &Context<'_>,
    observer: &mut dyn Observer,
    summary: &mut EikonalSummary,
    began: Instant,
) -> Result<(), SolveError> {
    let Context { setup, call, problem, .. } = context;
    let of_model = &setup.settings;
    let (tolerance, local_solver) = (of_model.tolerance, of_model.local_solver);
    let settings = EikonalSettings { tolerance, local_solver, ..EikonalSettings::default() };
    if let Some(table) = &call.config.starts {
        return solve_table::<T>(context, &settings, table, observer, summary, began);
    }
    let (starts, with_balls) = timed("starts", || {
        let starts = starts::resolve(&problem.mesh, &setup.starts).map_err(|reason| call.refuse(reason))?;
        let with_balls = context.with_balls(starts.clone());
        summary.warnings.extend(context.blocked_in_balls(&starts, &with_balls));
        Ok::<_, SolveError>((starts, with_balls))
    })?;
    summary.start_nodes = with_balls.len() as u64;
    let engine = timed("set up", || engine::<T>(context, &settings, observer))?;
    let Some(mut engine) = engine else { return Ok(()) };
    summary.device = engine.name();
    observer.note(&format!("on {}", summary.device));
    summary.setup_seconds = began.elapsed().as_secs_f64();
    let clock = Instant::now();
    let solved = timed("solve", || trees::solve(context, &starts, &with_balls, |starts| engine.solve(starts)));
    let solved = solved.map_err(|error| context.failed(error))?;
    summary.loop_seconds = clock.elapsed().as_secs_f64();
    timed("release", || drop(engine));
    let statistics = &solved.arrival.statistics;
    summary.tree_rounds = solved.trees.as_ref().map(|(_, rounds)| *rounds);
    summary.cases = 1;
    summary.sweeps = statistics.sweeps.into();
    summary.local_solves = statistics.local_solves;
    summary.solves_an_element = statistics.local_solves as f64 / problem.mesh.n_elements().max(1) as f64;
    if statistics.sweeps > 0 {
        let active: f64 = statistics.active_domains.iter().map(|&n| f64::from(n)).sum();
        summary.active_fraction = Some(active / f64::from(statistics.sweeps) / summary.domains.max(1) as f64);
    }
    observer.note(&format!(
        "{} in {:.3} s, {:.1} local solves an element",
        counted(statistics.sweeps as usize, "sweep"),
        summary.loop_seconds,
        summary.solves_an_element
    ));
    if call.interrupts.stop_requested() {
        let stopped = call.interrupts.stopped();
        summary.ending = Ending::new(Status::Interrupted, format!("{stopped} before all was written"));
    }
    timed("write results", || results::write(context, &solved, summary))
}

/// The engine of one set of starts; none in a process whose rank 0 leads, once that is done.
fn engine<'a, T: Real + 'static>(
    context: &Context<'a>,
    settings: &EikonalSettings,
    observer: &mut dyn Observer,
) -> Result<Option<Engine<'a, T>>, SolveError> {
    let Context { setup, call, problem, .. } = context;
    let decomposition = setup.settings.decomposition;
    if call.team.is_several() {
        return Engine::together(problem, settings, decomposition, call, observer);
    }
    let engine = Engine::new(problem, settings, decomposition, &call.device, observer);
    engine.map(Some).map_err(|error| call.refuse(error))
}

/// Solves for every set of starts of a table, on all devices.
fn solve_table<T: Real + Number>(
    context: &Context<'_>,
    settings: &EikonalSettings,
    table: &Path,
    observer: &mut dyn Observer,
    summary: &mut EikonalSummary,
    began: Instant,
) -> Result<(), SolveError> {
    let Context { setup, call, problem, .. } = context;
    let mut made = || {
        let engines = Engine::<T>::on_each(problem, settings, setup.settings.decomposition, call, observer);
        Ok((engines.map_err(|error| call.refuse(error))?, many::read(context, table, summary)?))
    };
    let (mut engines, sets) = call.team.agree(timed("set up", &mut made))?;
    let names: Vec<String> = engines.iter().map(Engine::name).collect();
    let same: Vec<&[String]> = names.chunk_by(|a, b| a == b).collect();
    let times = |same: &&[String]| match (same.len(), same[0].as_str()) {
        (1, name) | (_, name @ "cpu") => name.to_owned(),
        (n, name) => format!("{n} × {name}"),
    };
    summary.device = same.iter().map(times).collect::<Vec<_>>().join(", ");
    observer.note(&format!("on {}", summary.device));
    summary.setup_seconds = began.elapsed().as_secs_f64();
    timed("solve", || many::run(context, &mut engines, &sets, summary))
}

fn start_summary(
    mesh: &EikonalMeshView<'_>,
    domains: &SubDomainsView<'_>,
    setup: &EikonalSetup,
    call: &Call<'_>,
    metric: &[Symmetric],
) -> EikonalSummary {
    EikonalSummary {
        physics: "eikonal",
        origin: call.origin(&setup.title),
        length_unit: setup.length_unit.clone(),
        time_unit: setup.time_unit.clone(),
        nodes: mesh.n_nodes() as u64,
        elements: mesh.n_elements() as u64,
        corners: mesh.corners as u32,
        blocked_elements: metric.par_iter().filter(|metric| **metric == BLOCKED).count() as u64,
        domains: domains.n_domains() as u64,
        precision: call.settings.precision.name().into(),
        threads: call.n_threads() as u32,
        local_solver: match setup.settings.local_solver {
            LocalSolver::Six => "six",
            LocalSolver::Eighteen => "eighteen",
            LocalSolver::OnTheFly => "on-the-fly",
        },
        tolerance: setup.settings.tolerance,
        exact_radius: setup.settings.exact_radius,
        warnings: if call.config.starts.is_none() { starts::far_away(mesh, setup) } else { Vec::new() },
        ..EikonalSummary::default()
    }
}

fn last_line(summary: &EikonalSummary) -> String {
    let mut line = format!("done: {:.2} s", summary.total_seconds);
    if summary.cases > 1 {
        line += &format!(", {} sets of starts", grouped(summary.cases));
    }
    if let Some(latest) = &summary.latest {
        line += &format!(", latest node {} at {:.6} {}", latest.node, latest.time, summary.time_unit);
    }
    line
}

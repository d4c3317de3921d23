//! One run: block file → tensors and starts → times → results in a folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pogo_formats::domains::SubDomainsView;
use pogo_formats::eikonal::setup::LocalSolver;
use pogo_formats::eikonal::summary::{EikonalStatus, EikonalSummary, Latest};
use pogo_formats::eikonal::{BLOCKED, EikonalMeshView, EikonalSetup, Symmetric, metrics};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::npy::Number;
use pogo_formats::write::simplices;
use pogo_formats::write::simplices::{DataArray, Simplices, Values};
use pogo_formats::write::summary;
use pogo_formats::write::summary::BlockFileSummary;
use pogo_formats::write::{npy, write_atomically};
use pogo_kernels::eikonal::{
    Arrival, EikonalProblem, EikonalSettings, Metrics, Predecessor, conduction_speed, exact_ball, predecessors,
};
use pogo_kernels::simd::Real;

use super::engine;
use super::{histogram, many, paths, pictures, starts};
use crate::config::{Precision, Settings};
use crate::error::SolveError;
use crate::folder::{ResultFolder, peak_memory};
use crate::interrupt::Interrupts;
use crate::observe::Observer;

/// A model as it is solved, and where it came from.
pub struct EikonalModel<'a> {
    /// Nodes and elements.
    pub mesh: EikonalMeshView<'a>,
    /// Sub-domains.
    pub domains: SubDomainsView<'a>,
    /// Everything else, overrides applied.
    pub setup: EikonalSetup,
    /// Path, hash and source of the block file.
    pub block_file: BlockFileSummary,
    /// Name of the case in a study.
    pub case: Option<String>,
    /// `NAME=VALUE` in force.
    pub overrides: Vec<String>,
    /// Table of sets of starts, in place of the model's.
    pub starts: Option<PathBuf>,
}

/// What one run has at hand while it writes.
pub(super) struct Context<'a> {
    pub model: &'a EikonalModel<'a>,
    pub settings: &'a Settings,
    pub folder: &'a Path,
    pub problem: EikonalProblem<'a>,
}

impl Context<'_> {
    pub fn refuse(&self, reason: impl Into<String>) -> SolveError {
        SolveError::Problem { path: self.model.block_file.path.clone().into(), reason: reason.into() }
    }

    /// The model's settings as the kernel takes them.
    fn kernel_settings(&self) -> EikonalSettings {
        let settings = &self.model.setup.settings;
        EikonalSettings {
            tolerance: settings.tolerance,
            local_solver: settings.local_solver,
            decomposition: settings.decomposition,
            ..EikonalSettings::default()
        }
    }

    /// Starts, those of the exact balls included.
    pub fn with_balls(&self, starts: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        match self.model.setup.settings.exact_radius {
            radius if radius > 0.0 => exact_ball(&self.problem, &starts, radius),
            _ => starts,
        }
    }

    /// What the balls round `starts`, which `with_balls` holds, do not know of.
    fn blocked_in_balls(&self, starts: &[(u32, f64)], with_balls: &[(u32, f64)]) -> Option<String> {
        let (mesh, radius) = (&self.problem.mesh, self.model.setup.settings.exact_radius);
        let mut inside = vec![false; mesh.n_nodes()];
        with_balls.iter().for_each(|&(node, _)| inside[node as usize] = true);
        starts.iter().for_each(|&(node, _)| inside[node as usize] = false);
        let reached = |&e: &usize| mesh.nodes(e).iter().any(|&node| inside[node as usize]);
        let blocked = (0..mesh.n_elements()).filter(|&e| self.problem.metrics.of(e).is_none());
        let n = blocked.filter(reached).count();
        (n > 0).then(|| {
            let which = counted(n, "element");
            format!(
                "within the exact radius of {radius} lie {which} without speed: behind them times are those of straight \
                 lines, too early; a smaller radius leaves them out"
            )
        })
    }
}

/// Runs a model and writes its results into `folder`, which must exist.
///
/// # Errors
/// Velocities that make no sense, starts without nodes, a file that cannot be written.
pub fn run(
    model: &EikonalModel,
    settings: &Settings,
    folder: &Path,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
) -> Result<EikonalSummary, SolveError> {
    let began = Instant::now();
    let EikonalModel { mesh, domains, setup, .. } = model;
    let refuse = |reason: String| SolveError::Problem { path: model.block_file.path.clone().into(), reason };
    if model.starts.is_some() {
        let idle = model.overrides.iter().find(|text| text.starts_with("start.")).map(String::as_str);
        if let Some(idle) = idle.or(settings.plot.then_some("--plot")) {
            return Err(refuse(format!("{idle} does nothing with --starts; leave it out")));
        }
    }
    let threads = rayon::current_num_threads();
    observer.note(&format!(
        "{}, {}, {}; {}, {}",
        counted(mesh.n_elements(), if mesh.corners == 4 { "tetrahedron" } else { "triangle" })
            .replace("hedrons", "hedra"),
        counted(mesh.n_nodes(), "node"),
        counted(domains.n_domains(), "sub-domain"),
        counted(threads, "thread"),
        settings.precision.name()
    ));
    let metric = metrics(mesh, &setup.classes).map_err(|error| {
        let (element, class) = (error.element, usize::from(mesh.class[error.element]));
        let name = setup.classes.get(class).map_or("", |class| &class.name);
        refuse(format!("element {} (velocity \"{name}\"): {}", mesh.element_labels[element], error.reason))
    })?;
    let results = ResultFolder::take(folder);
    let mut summary = start_summary(model, settings, threads, &metric);
    let problem = EikonalProblem { mesh: mesh.clone(), domains: Some(*domains), metrics: Metrics::Each(&metric) };
    let context = Context { model, settings, folder, problem };
    match settings.precision {
        Precision::F32 => solve::<f32>(&context, interrupts, observer, &mut summary, began)?,
        Precision::F64 => solve::<f64>(&context, interrupts, observer, &mut summary, began)?,
    }
    summary.peak_memory_bytes = peak_memory();
    summary.total_seconds = began.elapsed().as_secs_f64();
    let summary_path = results.settle(&mut summary.files, |_| false);
    summary::write(&summary, &summary_path)?;
    observer.note(&last_line(&summary));
    Ok(summary)
}

fn solve<T: Real + Number>(
    context: &Context,
    interrupts: &Interrupts,
    observer: &mut dyn Observer,
    summary: &mut EikonalSummary,
    began: Instant,
) -> Result<(), SolveError> {
    let engine = engine::choose::<T>(&context.problem, &context.kernel_settings(), context.settings.device, observer);
    let mut engine = engine.map_err(|error| context.refuse(error.to_string()))?;
    summary.device = engine.name();
    observer.note(&format!("on {}", summary.device));
    if let Some(table) = &context.model.starts {
        summary.setup_seconds = began.elapsed().as_secs_f64();
        return many::run(context, &mut *engine, table, interrupts, summary);
    }
    let starts =
        starts::resolve(&context.model.mesh, &context.model.setup.starts).map_err(|reason| context.refuse(reason))?;
    let with_balls = context.with_balls(starts.clone());
    summary.warnings.extend(context.blocked_in_balls(&starts, &with_balls));
    summary.start_nodes = with_balls.len() as u64;
    summary.setup_seconds = began.elapsed().as_secs_f64();
    let clock = Instant::now();
    let arrival = engine.solve(&with_balls).map_err(|error| context.refuse(error.to_string()))?;
    summary.loop_seconds = clock.elapsed().as_secs_f64();
    drop(engine);
    let statistics = &arrival.statistics;
    summary.cases = 1;
    summary.sweeps = statistics.sweeps.into();
    summary.local_solves = statistics.local_solves;
    summary.solves_an_element = statistics.local_solves as f64 / context.model.mesh.n_elements().max(1) as f64;
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
    if interrupts.stop_requested() {
        (summary.status, summary.message) = (EikonalStatus::Interrupted, Some("stopped before all was written".into()));
    }
    write_results(context, &starts, &arrival, summary)
}

fn write_results<T: Real + Number>(
    context: &Context,
    starts: &[(u32, f64)],
    arrival: &Arrival<T>,
    summary: &mut EikonalSummary,
) -> Result<(), SolveError> {
    let Context { model, settings, folder, problem } = context;
    let EikonalModel { mesh, setup, domains, .. } = model;
    summary.unreached = arrival.unreached as u64;
    summary.latest = latest(mesh, &arrival.time);
    if arrival.unreached > 0 {
        let text = format!("the wave reaches none of {}: their time is inf", counted(arrival.unreached, "node"));
        summary.warnings.push(text);
    }
    let mut place = vec![0_u32; mesh.n_nodes()];
    mesh.original_node.iter().enumerate().for_each(|(node, &original)| place[original as usize] = node as u32);
    let times = place.iter().map(|&node| arrival.time[node as usize]);
    npy::write_values(&folder.join("arrival.npy"), &[mesh.n_nodes()], times)?;
    summary.files.push("arrival.npy".into());
    drop(place);

    let time: Vec<f64> = arrival.time.iter().map(|t| t.to_f64()).collect();
    let outputs = &setup.outputs;
    if let Some(text) = histogram::histogram(problem, &time, outputs.histogram_bins as usize) {
        write_atomically(&folder.join("activation.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
        summary.files.push("activation.csv".into());
    }
    let fields = settings.fields && outputs.fields;
    let mut ends = outputs.path_nodes.clone();
    for &point in &outputs.path_points {
        let region = pogo_formats::eikonal::setup::StartRegion::Nearest(point);
        ends.extend(pogo_formats::eikonal::nodes_of(mesh, &region).map_err(|error| context.refuse(error.to_string()))?);
    }
    if fields || !ends.is_empty() {
        let before = predecessors(problem, starts, &arrival.time);
        if !ends.is_empty() {
            // The starts with their balls, and the one in whose ball a node has its time.
            let radius = setup.settings.exact_radius;
            let balls: Vec<_> = starts.iter().map(|&start| (start.0, exact_ball(problem, &[start], radius))).collect();
            let centre = |node: u32| {
                let of_ball = |(start, ball): &(u32, Vec<(u32, f64)>)| {
                    ball.binary_search_by_key(&node, |at| at.0).ok().map(|at| (ball[at].1, *start))
                };
                balls.iter().filter_map(of_ball).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, start)| start)
            };
            let path =
                |&node: &u32| (mesh.node_labels[node as usize], paths::path(problem, &time, &before, centre, node));
            let text = paths::csv(&ends.iter().map(path).collect::<Vec<_>>());
            write_atomically(&folder.join("paths.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
            summary.files.push("paths.csv".into());
        }
        if fields {
            let speed = conduction_speed(problem, &arrival.time);
            summary.files.push(write_fields(context, &time, &before, &speed, domains)?);
        }
    }
    if settings.plot {
        summary.files.extend(pictures::isochrones(folder, mesh, setup, &time)?);
    }
    Ok(())
}

/// `arrival.vtu` or `arrival.vtkhdf`, whose name is returned: at nodes time, sub-domain, label of the element that the wave came through (−1 for none) and the direction in which
/// it came; in elements speed and velocity class.
fn write_fields(
    context: &Context,
    time: &[f64],
    before: &[Predecessor],
    speed: &[f32],
    domains: &SubDomainsView,
) -> Result<String, SolveError> {
    let mesh = &context.model.mesh;
    // VTK's programs draw no infinities.
    let shown: Vec<f64> = time.iter().map(|&t| if t.is_finite() { t } else { f64::NAN }).collect();
    let mut domain = vec![0_u32; mesh.n_nodes()];
    (0..domains.n_domains()).for_each(|index| domain[domains.span(index)].fill(index as u32));
    let predecessor: Vec<i64> = before
        .iter()
        .map(|before| mesh.element_labels.get(before.element as usize).map_or(-1, |&label| label.into()))
        .collect();
    let direction: Vec<f32> = before.iter().enumerate().flat_map(|(node, before)| came(mesh, node, before)).collect();
    let class: Vec<u32> = mesh.class.iter().map(|&class| class.into()).collect();
    let written = Simplices {
        coordinates: mesh.coordinates,
        elements: mesh.elements,
        corners: mesh.corners,
        point_of_node: mesh.original_node,
        cell_of_element: mesh.original_element,
    };
    let one = |name, values| DataArray { name, components: 1, values };
    let nodal = [
        one("arrival", Values::F64(&shown)),
        one("domain", Values::U32(&domain)),
        one("predecessor", Values::I64(&predecessor)),
        DataArray { name: "direction", components: 3, values: Values::F32(&direction) },
        one("node_label", Values::U32(mesh.node_labels)),
    ];
    let elemental = [
        one("speed", Values::F32(speed)),
        one("velocity_class", Values::U32(&class)),
        one("element_label", Values::U32(mesh.element_labels)),
    ];
    let format = context.settings.field_format;
    let name = match format {
        FieldFormat::Vtu => "arrival.vtu",
        FieldFormat::VtkHdf => "arrival.vtkhdf",
    };
    let path = context.folder.join(name);
    format.write(&path, &simplices::grid(&path, &written, &nodal, &elemental)?)?;
    Ok(name.into())
}

/// Unit vector of the way from where the wave entered to the node; zeros at starts.
fn came(mesh: &EikonalMeshView, node: usize, before: &Predecessor) -> [f32; 3] {
    if before.element == u32::MAX {
        return [0.0; 3];
    }
    let mut way = mesh.point(node);
    for (&corner, weight) in mesh.nodes(before.element as usize).iter().zip(before.weight) {
        let x = mesh.point(corner as usize);
        (0..3).for_each(|k| way[k] -= f64::from(weight) * x[k]);
    }
    let length = way.iter().map(|x| x * x).sum::<f64>().sqrt();
    way.map(|x| if length > 0.0 { (x / length) as f32 } else { 0.0 })
}

/// The node with the latest finite time; of several, the first in the mesh's file.
pub(super) fn latest<T: Real>(mesh: &EikonalMeshView, time: &[T]) -> Option<Latest> {
    let finite = time.iter().enumerate().map(|(node, t)| (t.to_f64(), node)).filter(|(t, _)| t.is_finite());
    let order = |a: &(f64, usize), b: &(f64, usize)| {
        a.0.total_cmp(&b.0).then(mesh.original_node[b.1].cmp(&mesh.original_node[a.1]))
    };
    let (time, node) = finite.max_by(order)?;
    Some(Latest { node: mesh.node_labels[node], index: mesh.original_node[node], time, position: mesh.point(node) })
}

fn start_summary(model: &EikonalModel, settings: &Settings, threads: usize, metric: &[Symmetric]) -> EikonalSummary {
    let EikonalModel { mesh, setup, domains, .. } = model;
    EikonalSummary {
        physics: "eikonal",
        version: pogo_formats::VERSION.into(),
        title: setup.title.clone(),
        case: model.case.clone(),
        block_file: model.block_file.clone(),
        overrides: model.overrides.clone(),
        length_unit: setup.length_unit.clone(),
        time_unit: setup.time_unit.clone(),
        nodes: mesh.n_nodes() as u64,
        elements: mesh.n_elements() as u64,
        corners: mesh.corners as u32,
        blocked_elements: metric.iter().filter(|metric| **metric == BLOCKED).count() as u64,
        domains: domains.n_domains() as u64,
        device: "cpu".into(),
        precision: settings.precision.name().into(),
        threads: threads as u32,
        local_solver: match setup.settings.local_solver {
            LocalSolver::Six => "six",
            LocalSolver::Eighteen => "eighteen",
            LocalSolver::OnTheFly => "on-the-fly",
        },
        tolerance: setup.settings.tolerance,
        exact_radius: setup.settings.exact_radius,
        warnings: if model.starts.is_none() { starts::far_away(mesh, setup) } else { Vec::new() },
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

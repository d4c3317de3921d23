//! Results of one set of starts.

use std::sync::{OnceLock, mpsc};

use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::eikonal::summary::EikonalSummary;
use pogo_formats::eikonal::{EikonalMeshView, nodes_of, second};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::system::threads;
use pogo_formats::timings::timed;
use pogo_formats::words::counted;
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::grid::Number as VtkNumber;
use pogo_formats::write::npy::{self, Number};
use pogo_formats::write::report::{NAME, Panel};
use pogo_formats::write::simplices::{self, DataArray, Simplices, Values};
use pogo_formats::write::write_atomically;
use pogo_kernels::eikonal::{Predecessor, conduction_speed, exact_ball, predecessors};
use pogo_kernels::simd::Real;

use super::context::Context;
use super::pictures::Isochrones;
use super::trees::Solved;
use super::{ecg, gradients, histogram, paths, trees};
use crate::error::SolveError;
use crate::report::columns;

/// Writes the results of one set of starts.
pub(super) fn write<T: Real + Number>(
    context: &Context<'_>,
    solved: &Solved<T>,
    summary: &mut EikonalSummary,
) -> Result<(), SolveError> {
    let Context { setup, call, .. } = context;
    let arrival = &solved.arrival;
    summary.unreached = arrival.unreached as u64;
    summary.latest = context.latest(&arrival.time);
    if arrival.unreached > 0 {
        let text = format!("the wave reaches none of {}: their time is inf", counted(arrival.unreached, "node"));
        summary.warnings.push(text);
    }
    let ends = path_ends(context)?;
    let fields = call.settings.fields && setup.outputs.fields;
    let time: Vec<f64> = arrival.time.par_iter().map(|t| t.to_f64()).collect();
    let before = OnceLock::new();
    // Dropped when `before` is there.
    let (searching, is_found) = mpsc::channel::<()>();
    let shared = &before;
    let write_fields = move || {
        let wait = || {
            let _ = is_found.recv();
        };
        let write = || timed("write fields", || write_fields(context, &arrival.time, shared, &wait));
        fields.then(write).transpose()
    };
    let write_others = || {
        if fields || !ends.is_empty() {
            let find = || predecessors(&context.problem, &solved.starts, &arrival.time);
            before.get_or_init(|| timed("predecessors", find));
        }
        drop(searching);
        write_times(context, &arrival.time, &time, summary)?;
        if let Some(before) = before.get().filter(|_| !ends.is_empty()) {
            let text = paths_csv(context, &solved.starts, &ends, &time, before);
            write_atomically(&call.folder.join("paths.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
            summary.files.push("paths.csv".into());
        }
        Ok::<_, SolveError>(())
    };
    // Each waits for the disk, or is one thread's, where the other has work for all.
    let (written, others) = threads::beside(write_fields, write_others);
    others?;
    summary.files.extend(written?);
    write_pictures(context, &time, summary)?;
    if let Some((times, _)) = &solved.trees {
        summary.files.extend(trees::write(context, &time, times)?);
    }
    drop(time);
    let (files, warning) = timed("ecg", || ecg::write(context, &arrival.time))?;
    summary.files.extend(files);
    summary.warnings.extend(warning);
    summary.files.extend(call.settings.report.then(|| NAME.to_owned()));
    summary.files.extend(timed("gradient", || gradients::write(context, solved))?);
    Ok(())
}

/// Writes `arrival.npy`, and `activation.csv` where it is asked for. `time` are the times in f64.
fn write_times<T: Number>(
    context: &Context<'_>,
    arrival: &[T],
    time: &[f64],
    summary: &mut EikonalSummary,
) -> Result<(), SolveError> {
    let Context { setup, call, problem, .. } = context;
    let (mesh, folder) = (&problem.mesh, call.folder);
    let mut place = vec![0_u32; mesh.n_nodes()];
    mesh.original_node.iter().enumerate().for_each(|(node, &original)| place[original as usize] = node as u32);
    let times = place.iter().map(|&node| arrival[node as usize]);
    npy::write_values(&folder.join("arrival.npy"), &[mesh.n_nodes()], times)?;
    summary.files.push("arrival.npy".into());
    drop(place);
    let bins = setup.outputs.histogram_bins as usize;
    if let Some(text) = timed("histogram", || histogram::histogram(problem, time, bins)) {
        write_atomically(&folder.join("activation.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
        if let Some(mut report) = call.report() {
            let mut curves = columns(&text, second(setup));
            curves.retain(|curve| curve.name == "cumulative");
            report.curves("Activation", "", &[Panel::over_time("share of the tissue reached", "", curves)]);
        }
        summary.files.push("activation.csv".into());
    }
    Ok(())
}

/// Draws what the command line asks for.
fn write_pictures(context: &Context<'_>, time: &[f64], summary: &mut EikonalSummary) -> Result<(), SolveError> {
    let Context { setup, call, problem, .. } = context;
    if call.settings.drawing().is_none() {
        return Ok(());
    }
    let Some(isochrones) = Isochrones::new(call.folder, &problem.mesh, setup, time) else { return Ok(()) };
    if call.settings.plot {
        summary.files.extend(isochrones.pictures()?);
    }
    if call.settings.movie {
        summary.files.push(isochrones.movie()?);
    }
    if let Some(mut report) = call.report() {
        isochrones.show(&mut report);
    }
    Ok(())
}

/// Nodes that paths lead to.
fn path_ends(context: &Context<'_>) -> Result<Vec<u32>, SolveError> {
    let outputs = &context.setup.outputs;
    let mut ends = outputs.path_nodes.clone();
    for &point in &outputs.path_points {
        let nodes = nodes_of(&context.problem.mesh, &StartRegion::Nearest(point));
        ends.extend(nodes.map_err(|error| context.call.refuse(error))?);
    }
    Ok(ends)
}

/// `paths.csv`: the ways that the wave took to some nodes.
fn paths_csv(
    context: &Context<'_>,
    starts: &[(u32, f64)],
    ends: &[u32],
    time: &[f64],
    before: &[Predecessor],
) -> String {
    let (problem, radius) = (&context.problem, context.setup.settings.exact_radius);
    // The starts with their balls, and the one in whose ball a node has its time.
    let balls: Vec<_> = starts.iter().map(|&start| (start.0, exact_ball(problem, &[start], radius))).collect();
    let centre = |node: u32| {
        let of_ball = |(start, ball): &(u32, Vec<(u32, f64)>)| {
            ball.binary_search_by_key(&node, |at| at.0).ok().map(|at| (ball[at].1, *start))
        };
        balls.iter().filter_map(of_ball).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, start)| start)
    };
    let labels = problem.mesh.node_labels;
    let path = |&node: &u32| (labels[node as usize], paths::path(problem, time, before, centre, node));
    paths::csv(&ends.iter().map(path).collect::<Vec<_>>())
}

/// Makes the bytes of nodes or elements one by one.
fn each<const N: usize>(bytes_of: impl Fn(usize) -> [u8; N] + Sync) -> impl Fn(&[u32], &mut Vec<u8>) + Sync {
    move |places, out| places.iter().for_each(|&place| out.extend_from_slice(&bytes_of(place as usize)))
}

/// Writes `arrival.vtu` or `arrival.vtkhdf` and returns its name. Nodes have the time, the sub-domain, the label of the
/// element that the wave came through (−1 for none) and the direction in which it came; elements have the speed and the
/// velocity class.
///
/// What came before each node is there once `wait` has returned.
fn write_fields<T: Real>(
    context: &Context<'_>,
    arrival: &[T],
    before: &OnceLock<Vec<Predecessor>>,
    wait: &dyn Fn(),
) -> Result<String, SolveError> {
    let before = |node: usize| before.get().map_or(&Predecessor::NONE, |before| &before[node]);
    let (problem, mesh, domains) = (&context.problem, &context.problem.mesh, context.domains);
    let written = Simplices {
        coordinates: mesh.coordinates,
        elements: mesh.elements,
        corners: mesh.corners,
        point_of_node: mesh.original_node,
        cell_of_element: mesh.original_element,
    };
    // VTK's programs draw no infinities.
    let time = each(|node| {
        let time = arrival[node].to_f64();
        if time.is_finite() { time } else { f64::NAN }.to_le_bytes()
    });
    let first = domains.starts();
    let domain = each(|node| (first.partition_point(|&first| first as usize <= node) as u32 - 1).to_le_bytes());
    let predecessor = each(|node| {
        let label = mesh.element_labels.get(before(node).element as usize);
        label.map_or(-1, |&label| i64::from(label)).to_le_bytes()
    });
    let direction = each(|node| {
        let [x, y, z] = direction(mesh, node, before(node)).map(f32::to_le_bytes);
        [x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], z[0], z[1], z[2], z[3]]
    });
    let speed = each(|element| conduction_speed(problem, arrival, element).to_le_bytes());
    let class = each(|element| u32::from(mesh.class[element]).to_le_bytes());
    let array = |name, components, values| DataArray { name, components, values };
    let made = Values::Made;
    let nodal = [
        array("arrival", 1, made(VtkNumber::F64, &time)),
        array("domain", 1, made(VtkNumber::U32, &domain)),
        array("predecessor", 1, made(VtkNumber::I64, &predecessor)),
        array("direction", 3, made(VtkNumber::F32, &direction)),
        array("node_label", 1, Values::U32(mesh.node_labels)),
    ];
    let elemental = [
        array("speed", 1, made(VtkNumber::F32, &speed)),
        array("velocity_class", 1, made(VtkNumber::U32, &class)),
        array("element_label", 1, Values::U32(mesh.element_labels)),
    ];
    let format = context.call.settings.field_format;
    let name = match format {
        FieldFormat::Vtu => "arrival.vtu",
        FieldFormat::VtkHdf => "arrival.vtkhdf",
    };
    let path = context.call.folder.join(name);
    let mut grid = simplices::grid(&path, &written, &nodal, &elemental)?;
    for array in &mut grid.point_data {
        if matches!(array.name, "predecessor" | "direction") {
            array.wait_first(wait);
        }
    }
    format.write(&path, &grid)?;
    Ok(name.into())
}

/// Unit vector of the way from where the wave entered to the node; zeros at starts.
fn direction(mesh: &EikonalMeshView, node: usize, before: &Predecessor) -> [f32; 3] {
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

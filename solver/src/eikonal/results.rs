//! Results of one set of starts.

use pogo_formats::eikonal::setup::StartRegion;
use pogo_formats::eikonal::summary::EikonalSummary;
use pogo_formats::eikonal::{EikonalMeshView, nodes_of, second};
use pogo_formats::timings::timed;
use pogo_formats::words::counted;
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::npy::{self, Number};
use pogo_formats::write::report::{NAME, Panel};
use pogo_formats::write::simplices::{self, DataArray, Simplices, Values};
use pogo_formats::write::write_atomically;
use pogo_kernels::eikonal::{Predecessor, conduction_speed, exact_ball, predecessors};
use pogo_kernels::simd::Real;
use rayon::prelude::*;

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
    let Context { setup, call, problem, .. } = context;
    let (arrival, starts) = (&solved.arrival, &solved.starts);
    let (mesh, folder) = (&problem.mesh, call.folder);
    summary.unreached = arrival.unreached as u64;
    summary.latest = context.latest(&arrival.time);
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
    let histogram = timed("histogram", || histogram::histogram(problem, &time, outputs.histogram_bins as usize));
    if let Some(text) = histogram {
        write_atomically(&folder.join("activation.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
        if let Some(mut report) = call.report() {
            let mut curves = columns(&text, second(setup));
            curves.retain(|curve| curve.name == "cumulative");
            report.curves("Activation", "", &[Panel::over_time("share of the tissue reached", "", curves)]);
        }
        summary.files.push("activation.csv".into());
    }
    let fields = call.settings.fields && outputs.fields;
    let ends = path_ends(context)?;
    if fields || !ends.is_empty() {
        let before = timed("predecessors", || predecessors(problem, starts, &arrival.time));
        if !ends.is_empty() {
            let text = paths_csv(context, starts, &ends, &time, &before);
            write_atomically(&folder.join("paths.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
            summary.files.push("paths.csv".into());
        }
        if fields {
            let speed = timed("speeds", || conduction_speed(problem, &arrival.time));
            summary.files.push(timed("write fields", || write_fields(context, &time, &before, &speed))?);
        }
    }
    if let Some(isochrones) = Isochrones::new(folder, mesh, setup, &time).filter(|_| call.settings.drawing().is_some())
    {
        if call.settings.plot {
            summary.files.extend(isochrones.pictures()?);
        }
        if call.settings.movie {
            summary.files.push(isochrones.movie()?);
        }
        if let Some(mut report) = call.report() {
            isochrones.show(&mut report);
        }
    }
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

/// Writes `arrival.vtu` or `arrival.vtkhdf` and returns its name. Nodes have the time, the sub-domain, the label of the
/// element that the wave came through (−1 for none) and the direction in which it came; elements have the speed and the
/// velocity class.
fn write_fields(
    context: &Context<'_>,
    time: &[f64],
    before: &[Predecessor],
    speed: &[f32],
) -> Result<String, SolveError> {
    let (mesh, domains) = (&context.problem.mesh, context.domains);
    // VTK's programs draw no infinities.
    let shown: Vec<f64> = time.iter().map(|&t| if t.is_finite() { t } else { f64::NAN }).collect();
    let mut domain = vec![0_u32; mesh.n_nodes()];
    (0..domains.n_domains()).for_each(|index| domain[domains.span(index)].fill(index as u32));
    let predecessor: Vec<i64> = before
        .par_iter()
        .map(|before| mesh.element_labels.get(before.element as usize).map_or(-1, |&label| label.into()))
        .collect();
    let direction: Vec<[f32; 3]> =
        before.par_iter().enumerate().map(|(node, before)| self::direction(mesh, node, before)).collect();
    let class: Vec<u32> = mesh.class.par_iter().map(|&class| class.into()).collect();
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
        DataArray { name: "direction", components: 3, values: Values::F32(direction.as_flattened()) },
        one("node_label", Values::U32(mesh.node_labels)),
    ];
    let elemental = [
        one("speed", Values::F32(speed)),
        one("velocity_class", Values::U32(&class)),
        one("element_label", Values::U32(mesh.element_labels)),
    ];
    let format = context.call.settings.field_format;
    let name = match format {
        FieldFormat::Vtu => "arrival.vtu",
        FieldFormat::VtkHdf => "arrival.vtkhdf",
    };
    let path = context.call.folder.join(name);
    format.write(&path, &simplices::grid(&path, &written, &nodal, &elemental)?)?;
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

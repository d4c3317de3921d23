//! Derivatives of arrival times by the parameters of the job, and by the speeds of single elements.

use std::collections::HashMap;
use std::fmt::Write as _;

use pogo_formats::eikonal::setup::Velocity;
use pogo_formats::eikonal::{EikonalMeshView, Rates, nodes_of, rates};
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::write::npy::{self, Stored};
use pogo_formats::write::write_atomically;
use pogo_kernels::eikonal::{Derivative, Origin, Walk, exact_ball_with_centres, keeps_start};
use pogo_kernels::simd::Real;

use super::context::Context;
use super::pictures;
use super::trees::Solved;
use crate::error::SolveError;
use crate::study::quote;

/// A row of derivatives: of one time, or of the misfit.
struct Row {
    /// Label of the node, or `misfit`.
    name: String,
    /// The time, or the misfit.
    value: f64,
    derivative: Derivative,
    /// Of each crossing.
    rates: Vec<Rates>,
}

/// A row before it is derived: its name, its value, and the weights of the times in it.
type Wanted = (String, f64, Vec<(u32, f64)>);

/// Derivatives by the speeds of an element.
#[derive(Clone, Copy, Default)]
struct OfElement {
    relative: f64,
    speeds: [f64; 3],
}

/// Pictures of so many rows.
const MOST_PICTURES: usize = 4;

/// Writes `gradient.csv`, and with `elements` `gradient.npz`, and with `--plot` pictures; gives their names.
pub(super) fn write<T: Real>(context: &Context<'_>, solved: &Solved<T>) -> Result<Vec<String>, SolveError> {
    let outputs = &context.setup.gradient;
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let folder = context.call.folder;
    let rows = rows(context, solved);
    let text = table(context, &rows).map_err(|reason| context.call.refuse(reason))?;
    write_atomically(&folder.join("gradient.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
    let mut files = vec!["gradient.csv".to_owned()];
    if !outputs.elements {
        return Ok(files);
    }
    let of_elements: Vec<Vec<(u32, OfElement)>> = rows.par_iter().map(by_element).collect();
    write_elements(context, &rows, &of_elements)?;
    files.push("gradient.npz".into());
    if context.call.settings.plot {
        for (row, of_elements) in rows.iter().zip(&of_elements).take(MOST_PICTURES) {
            let mut values = vec![0.0; context.problem.mesh.n_elements()];
            of_elements.iter().for_each(|(element, of)| values[*element as usize] = -of.relative);
            files.extend(pictures::sensitivity(folder, &context.problem.mesh, context.setup, &row.name, &values)?);
        }
    }
    Ok(files)
}

/// Nodes that have a start's time or an exact one.
fn origins<T: Real>(context: &Context<'_>, solved: &Solved<T>) -> HashMap<u32, Origin> {
    let (radius, time) = (context.setup.settings.exact_radius, &solved.arrival.time);
    // A node of a start and a tree has the earlier time.
    let of_tree = |&&(node, start, _): &&(u32, f64, u32)| {
        solved.starts.binary_search_by_key(&node, |own| own.0).is_ok_and(|at| solved.starts[at].1 == start)
    };
    let given: HashMap<u32, u32> =
        solved.by_tree.iter().filter(of_tree).map(|&(node, _, coupling)| (node, coupling)).collect();
    let balls = exact_ball_with_centres(&context.problem, &solved.starts, radius);
    let kept = balls.into_iter().filter(|&(node, start, _)| keeps_start(time[node as usize], start));
    let origin = |(node, _, centre)| {
        let by_tree = given.get(&centre).copied();
        (node, if node == centre { Origin::Start { by_tree } } else { Origin::Ball { centre, by_tree } })
    };
    kept.map(origin).collect()
}

fn rows<T: Real>(context: &Context<'_>, solved: &Solved<T>) -> Vec<Row> {
    let (problem, setup) = (&context.problem, context.setup);
    let (mesh, time) = (&problem.mesh, &solved.arrival.time);
    let origin = origins(context, solved);
    let trees = context.joint.as_ref().zip(solved.trees.as_ref().map(|(times, _)| times));
    let walk = Walk { problem, time, origin: &origin, trees };
    let outputs = &setup.gradient;
    let at = |node: u32| time[node as usize].to_f64();
    let of_node = |&node: &u32| (mesh.node_labels[node as usize].to_string(), at(node), vec![(node, 1.0)]);
    let mut wanted: Vec<Wanted> = outputs.nodes.iter().map(of_node).collect();
    if !outputs.measured.is_empty() {
        let reached = outputs.measured.iter().filter(|measured| at(measured.node).is_finite());
        let differences = reached.map(|measured| (measured, at(measured.node) - measured.time));
        let misfit = differences.clone().map(|(measured, by)| 0.5 * measured.weight * by * by).sum();
        let seeds = differences.map(|(measured, by)| (measured.node, measured.weight * by)).collect();
        wanted.push(("misfit".into(), misfit, seeds));
    }
    let row = |(name, value, seeds): Wanted| {
        let derivative = walk.derivative(&seeds);
        let of = |crossing: &pogo_kernels::eikonal::Crossing| {
            let metric = problem.metrics.of(crossing.element as usize).unwrap_or_default();
            rates(mesh, &setup.classes, crossing.element as usize, &metric, (crossing.way, crossing.time))
        };
        let rates = derivative.crossings.iter().map(of).collect();
        Row { name, value, derivative, rates }
    };
    wanted.into_par_iter().map(row).collect()
}

/// `of,value,parameter,derivative`: a line for each row and parameter, by the names that `--set` takes.
fn table(context: &Context<'_>, rows: &[Row]) -> Result<String, String> {
    let (mesh, setup) = (&context.problem.mesh, context.setup);
    let mut start_nodes = Vec::new();
    for start in &setup.starts {
        let nodes = nodes_of(mesh, &start.region).map_err(|error| format!("start \"{}\": {error}", start.name))?;
        start_nodes.push(nodes);
    }
    let mut text = String::from("of,value,parameter,derivative\n");
    for row in rows {
        let mut put = |name: &str, derivative: f64| {
            let _ = writeln!(text, "{},{:e},{},{derivative:e}", row.name, row.value, quote(name));
        };
        for (class, settings) in setup.classes.iter().enumerate() {
            let name = format!("velocity.{}", settings.name);
            by_class(mesh, class, &settings.velocity, row).into_iter().for_each(|(field, value)| {
                put(&format!("{name}.{field}"), value);
            });
        }
        // A node of several starts has the earliest of them.
        let owner = |node: u32| {
            let having =
                setup.starts.iter().zip(&start_nodes).enumerate().filter(|(_, (_, nodes))| nodes.contains(&node));
            having.min_by(|a, b| a.1.0.time.total_cmp(&b.1.0.time)).map(|(index, _)| index)
        };
        let mut masses = vec![0.0; setup.starts.len()];
        for &(node, mass) in &row.derivative.starts {
            if let Some(index) = owner(node) {
                masses[index] += mass;
            }
        }
        for (start, mass) in setup.starts.iter().zip(masses) {
            put(&format!("start.{}.time", start.name), mass);
        }
        by_trees(context, row).into_iter().for_each(|(name, value)| put(&name, value));
    }
    Ok(text)
}

/// Derivatives by the parameters of a velocity.
fn by_class(mesh: &EikonalMeshView, class: usize, velocity: &Velocity, row: &Row) -> Vec<(&'static str, f64)> {
    let own = row.derivative.crossings.iter().zip(&row.rates);
    let own = own.filter(|(crossing, _)| usize::from(mesh.class[crossing.element as usize]) == class);
    let mut sum = OfElement::default();
    let mut tensor = [0.0; 6];
    for (crossing, rates) in own {
        sum.add(crossing.weight, rates);
        (0..6).for_each(|k| tensor[k] += crossing.weight * rates.tensor[k]);
    }
    let [first, second, third] = sum.speeds;
    match velocity {
        Velocity::Blocked => Vec::new(),
        Velocity::Isotropic(_) => vec![("speed", first)],
        Velocity::Axes { .. } if first.is_nan() => vec![("all", sum.relative)],
        Velocity::Axes { .. } if third.is_nan() => vec![("fibre", first), ("across", second)],
        Velocity::Axes { .. } => vec![("fibre", first), ("sheet", second), ("normal", third)],
        Velocity::Tensor(_) => {
            let names = ["tensor.xx", "tensor.yy", "tensor.zz", "tensor.xy", "tensor.yz", "tensor.zx"];
            names.into_iter().zip(tensor).collect()
        }
        Velocity::EachSpeeds { factor, .. } | Velocity::EachTensor { factor } => {
            vec![("factor", sum.relative / factor)]
        }
    }
}

/// Derivatives by the speeds, delays and start times of trees.
fn by_trees(context: &Context<'_>, row: &Row) -> Vec<(String, f64)> {
    let (Some(joint), trees) = (&context.joint, context.trees) else { return Vec::new() };
    let mut found = Vec::new();
    for (tree, settings) in context.setup.trees.iter().enumerate() {
        let (nodes, edges) = (trees.nodes_of(tree), trees.edges_of(tree));
        let derivative = &row.derivative;
        let along = derivative.tree_edges.iter().filter(|(edge, _)| edges.contains(&(*edge as usize)));
        let along = along.fold(0.0, |sum, &(edge, mass)| sum - mass * joint.edge_time(edge));
        let through = |list: &[(u32, f64)]| -> f64 {
            let own = |coupling: u32| nodes.contains(&(joint.couplings[coupling as usize].node as usize));
            list.iter().filter(|(coupling, _)| own(*coupling)).fold(0.0, |sum, (_, mass)| sum + mass)
        };
        let name = &settings.name;
        found.push((format!("tree.{name}.speed"), along / settings.speed));
        found.push((format!("tree.{name}.delay"), through(&derivative.couplings)));
        found.push((format!("tree.{name}.delay_back"), through(&derivative.couplings_back)));
        if settings.start.is_some() {
            let own = derivative.tree_starts.iter().filter(|(node, _)| nodes.contains(&(*node as usize)));
            found.push((format!("tree.{name}.start_time"), own.fold(0.0, |sum, (_, mass)| sum + mass)));
        }
    }
    found
}

impl OfElement {
    fn add(&mut self, weight: f64, rates: &Rates) {
        self.relative += weight * rates.relative;
        (0..3).for_each(|k| self.speeds[k] += weight * rates.speeds[k]);
    }
}

/// Derivatives by the speeds of single elements, ascending by element.
fn by_element(row: &Row) -> Vec<(u32, OfElement)> {
    let mut order: Vec<usize> = (0..row.rates.len()).collect();
    order.sort_by_key(|&at| row.derivative.crossings[at].element);
    let mut found: Vec<(u32, OfElement)> = Vec::new();
    for at in order {
        let crossing = &row.derivative.crossings[at];
        if found.last().is_none_or(|last| last.0 != crossing.element) {
            found.push((crossing.element, OfElement::default()));
        }
        if let Some((_, sum)) = found.last_mut() {
            sum.add(crossing.weight, &row.rates[at]);
        }
    }
    found
}

/// Writes `gradient.npz`: the rows of a sparse matrix (`indptr`, `elements`: indices in the mesh's file), with `relative`,
/// the derivative by a relative change of all speeds of the element, and `speeds`, those by each, (entries, 3).
fn write_elements(
    context: &Context<'_>,
    rows: &[Row],
    of_elements: &[Vec<(u32, OfElement)>],
) -> Result<(), SolveError> {
    let original = context.problem.mesh.original_element;
    let mut indptr = vec![0_u32];
    let (mut elements, mut relative, mut speeds) = (Vec::new(), Vec::new(), Vec::new());
    for of_row in of_elements {
        let mut sorted: Vec<_> = of_row.iter().map(|(element, of)| (original[*element as usize], of)).collect();
        sorted.sort_by_key(|(element, _)| *element);
        for (element, of) in sorted {
            elements.push(element);
            relative.push(of.relative);
            speeds.extend(of.speeds);
        }
        indptr.push(elements.len() as u32);
    }
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let n = elements.len();
    let arrays: [(&str, &[usize], Stored<'_>); 5] = [
        ("value", &[rows.len()], Stored::F64(&values)),
        ("indptr", &[indptr.len()], Stored::U32(&indptr)),
        ("elements", &[n], Stored::U32(&elements)),
        ("relative", &[n], Stored::F64(&relative)),
        ("speeds", &[n, 3], Stored::F64(&speeds)),
    ];
    Ok(npy::write_arrays(&context.call.folder.join("gradient.npz"), &arrays)?)
}

//! Trees of fibres: their junctions with the tissue, joint solves, and what is written of them.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use pogo_formats::eikonal::{EikonalMeshView, EikonalSetup, TreesView};
use pogo_formats::words::counted;
use pogo_formats::write::fields::FieldFormat;
use pogo_formats::write::npy::{self, Stored};
use pogo_formats::write::simplices::{self, DataArray, Simplices, Values};
use pogo_formats::write::write_atomically;
use pogo_kernels::eikonal::{
    Arrival, Coupling, EikonalError, EikonalProblem, Joint, Rounds, Statistics, TreeOrigin, TreeTimes,
};
use pogo_kernels::simd::Real;
use rstar::RTree;
use rstar::primitives::GeomWithData;

use super::context::Context;
use super::pictures;
use super::starts::earliest;
use crate::error::SolveError;

/// The trees of a model, ready to be solved; none without any. Gives warnings, too.
///
/// # Errors
/// A tree that touches the tissue nowhere, in words.
pub(super) fn joint(
    problem: &EikonalProblem,
    trees: &TreesView,
    setup: &EikonalSetup,
) -> Result<(Option<Joint>, Vec<String>), String> {
    if setup.trees.is_empty() {
        return Ok((None, Vec::new()));
    }
    let mesh = &problem.mesh;
    let open = |node: usize| mesh.round(node).iter().any(|entry| problem.metrics.of((entry / 4) as usize).is_some());
    let points = (0..mesh.n_nodes()).filter(|&node| open(node));
    let points: Vec<_> = points.map(|node| GeomWithData::new(mesh.point(node), node as u32)).collect();
    let nearest = RTree::bulk_load(points);
    let (mut couplings, mut starts, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for (tree, settings) in setup.trees.iter().enumerate() {
        let own = trees.nodes_of(tree);
        starts.extend(settings.start.map(|(node, time)| (own.start as u32 + node, time)));
        let (mut alone, mut far) = (0, Vec::new());
        let before = couplings.len();
        for &node in trees.junctions.iter().filter(|&&node| own.contains(&(node as usize))) {
            let x = trees.point(node as usize);
            let mut near: Vec<u32> = match settings.radius {
                Some(radius) => nearest.locate_within_distance(x, radius * radius).map(|found| found.data).collect(),
                None => nearest.nearest_neighbor(x).into_iter().map(|found| found.data).collect(),
            };
            near.sort_unstable();
            alone += usize::from(near.is_empty());
            if settings.radius.is_none() {
                far.extend(
                    near.first().and_then(|&at| pogo_formats::eikonal::outside(mesh, &setup.length_unit, x, at)),
                );
            }
            let (delay, delay_back) = (settings.delay, settings.delay_back);
            couplings.extend(near.into_iter().map(|tissue| Coupling { node, tissue, delay, delay_back }));
        }
        if couplings.len() == before {
            let advice = "give a larger `radius`, or none for the nearest node";
            return Err(format!("tree \"{}\" touches the tissue at none of its junctions: {advice}", settings.name));
        }
        if alone > 0 {
            let n = counted(alone, "junction");
            warnings.push(format!("tree \"{}\": {n} without a node of the tissue within the radius", settings.name));
        }
        if let Some(first) = far.first() {
            let n = counted(far.len(), "junction");
            warnings.push(format!("tree \"{}\": {n} outside the tissue, such as {first}", settings.name));
        }
    }
    let speeds: Vec<f64> = setup.trees.iter().map(|tree| tree.speed).collect();
    Ok((Some(Joint::new(trees, &speeds, couplings, starts)), warnings))
}

/// Times of the tissue, and what began it.
pub(super) struct Solved<T> {
    pub arrival: Arrival<T>,
    /// Nodes of the tissue that start, the trees' included, without balls.
    pub starts: Vec<(u32, f64)>,
    /// Those that start by a tree: node, time, coupling.
    pub by_tree: Vec<(u32, f64, u32)>,
    /// Times of the trees, and solves of the tissue.
    pub trees: Option<(TreeTimes, u32)>,
}

/// Starts of the tissue with those that trees give, the latter with their balls.
fn with_trees(context: &Context<'_>, own: &[(u32, f64)], by_tree: &[(u32, f64, u32)]) -> Vec<(u32, f64)> {
    let given: Vec<(u32, f64)> = by_tree.iter().map(|&(node, time, _)| (node, time)).collect();
    earliest([own, &context.with_balls(given)].concat())
}

/// Solves for one set of starts; `run` solves the tissue, `with_balls` are the starts with their balls.
pub(super) fn solve<T: Real>(
    context: &Context<'_>,
    starts: &[(u32, f64)],
    with_balls: &[(u32, f64)],
    mut run: impl FnMut(&[(u32, f64)]) -> Result<Arrival<T>, EikonalError>,
) -> Result<Solved<T>, EikonalError> {
    let Some(joint) = &context.joint else {
        return Ok(Solved { arrival: run(with_balls)?, starts: starts.to_vec(), by_tree: Vec::new(), trees: None });
    };
    let mut before: Option<Statistics> = None;
    let found = joint.solve(|by_tree| {
        let mut arrival = run(&with_trees(context, with_balls, by_tree))?;
        if let Some(first) = before.take() {
            let sum = &mut arrival.statistics;
            sum.sweeps += first.sweeps;
            sum.local_solves += first.local_solves;
            sum.passed_on += first.passed_on;
            sum.active_sweeps.iter_mut().zip(first.active_sweeps).for_each(|(sum, n)| *sum += n);
            sum.active_domains.extend(first.active_domains);
            sum.seconds += first.seconds;
        }
        before = Some(arrival.statistics.clone());
        Ok(arrival)
    })?;
    let given = found.by_tree.iter().map(|&(node, time, _)| (node, time));
    let starts = earliest(starts.iter().copied().chain(given).collect());
    Ok(Solved { arrival: found.tissue, starts, by_tree: found.by_tree, trees: Some((found.trees, found.rounds)) })
}

/// Solves sets of starts, and hands over each result with its number.
type SolveSets<'a, T> =
    dyn FnMut(&[Vec<(u32, f64)>], &(dyn Fn(usize, Arrival<T>) + Sync)) -> Result<(), EikonalError> + 'a;

/// Solves for many sets of starts, which have their balls; `run` solves the tissue for some of them at once.
pub(super) fn solve_many<T: Real>(
    context: &Context<'_>,
    sets: &[Vec<(u32, f64)>],
    each: &(dyn Fn(usize, Arrival<T>) + Sync),
    run: &mut SolveSets<'_, T>,
) -> Result<(), EikonalError> {
    let Some(joint) = &context.joint else { return run(sets, each) };
    let mut waiting: Vec<(usize, Rounds)> = (0..sets.len()).map(|set| (set, Rounds::new(joint))).collect();
    while !waiting.is_empty() {
        let starts: Vec<_> =
            waiting.iter().map(|(set, rounds)| with_trees(context, &sets[*set], &rounds.by_tree())).collect();
        let again = Mutex::new(Vec::new());
        run(&starts, &|at, arrival| {
            let (set, mut rounds) = waiting[at].clone();
            if rounds.after(joint, &arrival.time) {
                again.lock().unwrap_or_else(PoisonError::into_inner).push((set, rounds));
            } else {
                each(set, arrival);
            }
        })?;
        waiting = again.into_inner().unwrap_or_else(PoisonError::into_inner);
        waiting.sort_by_key(|(set, _)| *set);
    }
    Ok(())
}

/// Writes `trees.npz` (times of the nodes of each tree, by name), `junctions.csv`, with fields `trees.vtu` and with pictures
/// `trees.png`; gives their names.
pub(super) fn write(context: &Context<'_>, time: &[f64], found: &TreeTimes) -> Result<Vec<String>, SolveError> {
    let Some(joint) = &context.joint else { return Ok(Vec::new()) };
    let (folder, setup, trees) = (context.call.folder, context.setup, context.trees);
    let shapes: Vec<[usize; 1]> = (0..trees.n_trees()).map(|tree| [trees.nodes_of(tree).len()]).collect();
    let arrays: Vec<_> = (0..trees.n_trees())
        .map(|tree| {
            let times = &found.time[trees.nodes_of(tree)];
            (setup.trees[tree].name.as_str(), &shapes[tree][..], Stored::F64(times))
        })
        .collect();
    npy::write_arrays(&folder.join("trees.npz"), &arrays)?;
    let text = junctions(context, joint, time, found);
    write_atomically(&folder.join("junctions.csv"), |out| std::io::Write::write_all(out, text.as_bytes()))?;
    let mut files = vec!["trees.npz".to_owned(), "junctions.csv".to_owned()];
    if context.call.settings.fields && setup.outputs.fields {
        files.push(write_fields(context, found)?);
    }
    if context.call.settings.plot {
        files.extend(pictures::trees(folder, (&context.problem.mesh, trees), setup, &found.time)?);
    }
    Ok(files)
}

/// `tree,node,tissue_node,tree_time,tissue_time,passes`: which way the wave passes each junction first, if it does.
fn junctions(context: &Context<'_>, joint: &Joint, time: &[f64], found: &TreeTimes) -> String {
    let (mesh, trees): (&EikonalMeshView, &TreesView) = (&context.problem.mesh, context.trees);
    let mut text = String::from("tree,node,tissue_node,tree_time,tissue_time,passes\n");
    for (at, coupling) in joint.couplings.iter().enumerate() {
        let tree = trees.node_first.partition_point(|&first| first <= coupling.node) - 1;
        let (in_tree, in_tissue) = (found.time[coupling.node as usize], time[coupling.tissue as usize]);
        let passes = if found.origin[coupling.node as usize] == TreeOrigin::Tissue(at as u32) {
            "to_tree"
        } else if in_tree.is_finite() && in_tissue >= (in_tree + coupling.delay) * (1.0 - 1e-6) {
            "to_tissue"
        } else {
            "no"
        };
        let (name, node) = (&context.setup.trees[tree].name, coupling.node - trees.node_first[tree]);
        let label = mesh.node_labels[coupling.tissue as usize];
        let name = crate::study::quote(name);
        let _ = writeln!(text, "{name},{node},{label},{in_tree:e},{in_tissue:e},{passes}");
    }
    text
}

/// Writes `trees.vtu` or `trees.vtkhdf`: all trees as lines with the times of their nodes; gives its name.
fn write_fields(context: &Context<'_>, found: &TreeTimes) -> Result<String, SolveError> {
    let trees = context.trees;
    let points: Vec<u32> = (0..trees.n_nodes() as u32).collect();
    let cells: Vec<u32> = (0..trees.n_edges() as u32).collect();
    let written = Simplices {
        coordinates: trees.coordinates,
        elements: trees.edges,
        corners: 2,
        point_of_node: &points,
        cell_of_element: &cells,
    };
    // VTK's programs draw no infinities.
    let shown: Vec<f64> = found.time.iter().map(|&t| if t.is_finite() { t } else { f64::NAN }).collect();
    let mut tree_of = vec![0_u32; trees.n_edges()];
    (0..trees.n_trees()).for_each(|tree| tree_of[trees.edges_of(tree)].fill(tree as u32));
    let nodal = [DataArray { name: "arrival", components: 1, values: Values::F64(&shown) }];
    let elemental = [DataArray { name: "tree", components: 1, values: Values::U32(&tree_of) }];
    let format = context.call.settings.field_format;
    let name = match format {
        FieldFormat::Vtu => "trees.vtu",
        FieldFormat::VtkHdf => "trees.vtkhdf",
    };
    let path = context.call.folder.join(name);
    format.write(&path, &simplices::grid(&path, &written, &nodal, &elemental)?)?;
    Ok(name.into())
}

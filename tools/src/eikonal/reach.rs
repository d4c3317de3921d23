//! The nodes that the wave can reach.

use std::sync::atomic::{AtomicBool, Ordering};

use pogo_formats::eikonal::setup::{Start, StartRegion};
use pogo_formats::eikonal::{BLOCKED, EikonalMeshView, PlaceError, Symmetric, nodes_of};
use pogo_formats::system::parallel::iterate::*;

/// What the starts reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    pub start_nodes: Vec<usize>,
    /// Number of nodes that have an element and that no wave reaches.
    pub unreached: usize,
    /// Label of the first such node.
    pub first: Option<u32>,
}

/// Follows the elements that are not blocked from the starts.
///
/// # Errors
/// A start without a node, or with blocked elements only: its index and what is wrong.
pub fn reach(mesh: &EikonalMeshView, metrics: &[Symmetric], starts: &[Start]) -> Result<Reach, (usize, String)> {
    let open = |element: usize| metrics[element][0] < f64::INFINITY;
    debug_assert!(BLOCKED[0].is_infinite());
    let is_open = |node: u32| mesh.round(node as usize).iter().any(|&entry| open((entry / 4) as usize));
    let seen: Vec<AtomicBool> = (0..mesh.n_nodes()).map(|_| AtomicBool::new(false)).collect();
    let is_new = |node: u32| !seen[node as usize].swap(true, Ordering::Relaxed);
    let mut front: Vec<u32> = Vec::new();
    let mut found = Reach::default();
    for (index, start) in starts.iter().enumerate() {
        let nodes =
            nodes_of(mesh, &start.region).map_err(|error| (index, wrong(&start.name, &error, mesh, &start.region)))?;
        if !nodes.iter().any(|&node| is_open(node)) {
            let message = match nodes.as_slice() {
                [node] => format!(
                    "start \"{}\": every element round node {} is blocked, or there is none",
                    start.name, mesh.node_labels[*node as usize]
                ),
                nodes => format!(
                    "start \"{}\": every element round its {} nodes is blocked, or there is none",
                    start.name,
                    nodes.len()
                ),
            };
            return Err((index, message));
        }
        found.start_nodes.push(nodes.len());
        front.extend(nodes.into_iter().filter(|&node| is_new(node)));
    }
    // The nodes of open elements round the front are the next front. Which nodes are seen does not depend on the order.
    let further = |&node: &u32| {
        let elements = mesh.round(node as usize).iter().map(|&entry| (entry / 4) as usize);
        elements.filter(|&element| open(element)).flat_map(|element| mesh.nodes(element).iter().copied())
    };
    while !front.is_empty() {
        front = front
            .par_iter()
            .with_min_len(512)
            .flat_map_iter(|node| further(node).filter(|&node| is_new(node)))
            .collect();
    }
    let is_missed = |&node: &usize| !seen[node].load(Ordering::Relaxed) && !mesh.round(node).is_empty();
    let unreached = || (0..mesh.n_nodes()).into_par_iter().filter(is_missed);
    // In the order of the file, so that the first one does not depend on the numbering.
    let first = unreached().min_by(|&a, &b| mesh.original_node[a].cmp(&mesh.original_node[b]));
    found.unreached = unreached().count();
    found.first = first.map(|node| mesh.node_labels[node]);
    Ok(found)
}

fn wrong(name: &str, error: &PlaceError, mesh: &EikonalMeshView, region: &StartRegion) -> String {
    let size = match region {
        StartRegion::Box { .. } | StartRegion::Sphere { .. } => {
            let points = mesh.coordinates.as_chunks::<3>().0;
            let range = |k: usize| {
                let of = |fold: fn(f64, f64) -> f64, start: f64| points.iter().map(|x| x[k]).fold(start, fold);
                format!("[{}, {}]", of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY))
            };
            format!("; the mesh is in {} × {} × {}", range(0), range(1), range(2))
        }
        _ => String::new(),
    };
    format!("start \"{name}\": {error}{size}")
}

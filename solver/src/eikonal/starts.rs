//! Start nodes and their times.

use pogo_formats::eikonal::setup::{Start, StartRegion};
use pogo_formats::eikonal::{EikonalMeshView, EikonalSetup, nodes_of, outside};

/// Nodes with the earliest of their start times, ascending by node.
///
/// # Errors
/// A start without a node, in words.
pub(super) fn resolve(mesh: &EikonalMeshView, starts: &[Start]) -> Result<Vec<(u32, f64)>, String> {
    let mut all: Vec<(u32, f64)> = Vec::new();
    for start in starts {
        let nodes = nodes_of(mesh, &start.region).map_err(|error| format!("start \"{}\": {error}", start.name))?;
        if !start.time.is_finite() {
            return Err(format!("start \"{}\": its time is no finite number", start.name));
        }
        all.extend(nodes.into_iter().map(|node| (node, start.time)));
    }
    Ok(earliest(all))
}

/// Warnings about starts at a point that is [`outside`] of the mesh.
pub(super) fn far_away(mesh: &EikonalMeshView, setup: &EikonalSetup) -> Vec<String> {
    let far = |start: &Start| {
        let StartRegion::Nearest(point) = start.region else { return None };
        let node = *nodes_of(mesh, &start.region).ok()?.first()?;
        Some(format!("start \"{}\": {}", start.name, outside(mesh, &setup.length_unit, point, node)?))
    };
    setup.starts.iter().filter_map(far).collect()
}

/// Of several times of a node the earliest, ascending by node.
pub(super) fn earliest(mut all: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.dedup_by_key(|(node, _)| *node);
    all
}

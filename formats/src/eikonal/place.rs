//! Nodes by label, set, box, sphere and position.

use super::EikonalMeshView;
use super::setup::StartRegion;
use crate::system::parallel::iterate::*;

/// A region without a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No node has that label.
    #[error("there is no node {0}")]
    Label(String),
    /// Several instances have a node of that label.
    #[error("several instances have a node {0}: write INSTANCE.{0}")]
    Ambiguous(String),
    /// The set does not exist.
    #[error("there is no node set {0}")]
    Set(u32),
    /// Nothing inside.
    #[error("no node lies in {0}")]
    Empty(String),
}

/// The nodes of a region, ascending. The nearest node is the first of those at the least distance.
///
/// # Errors
/// [`PlaceError`].
pub fn nodes_of(mesh: &EikonalMeshView, region: &StartRegion) -> Result<Vec<u32>, PlaceError> {
    let points = mesh.coordinates.as_chunks::<3>().0;
    let inside = |test: &(dyn Fn(&[f64; 3]) -> bool + Sync), what: String| {
        let nodes = points.par_iter().enumerate().filter(|(_, x)| test(x));
        let found: Vec<u32> = nodes.map(|(node, _)| node as u32).collect();
        if found.is_empty() { Err(PlaceError::Empty(what)) } else { Ok(found) }
    };
    match region {
        StartRegion::Nodes(nodes) => Ok(nodes.clone()),
        StartRegion::Label(label) => labelled(mesh, label).map(|node| vec![node]),
        StartRegion::Set(set) => {
            let set = mesh.node_sets.get(*set as usize).ok_or(PlaceError::Set(*set))?;
            if set.1.is_empty() { Err(PlaceError::Empty(format!("set `{}`", set.0))) } else { Ok(set.1.to_vec()) }
        }
        StartRegion::Box { low, high } => {
            inside(&|x| (0..3).all(|k| low[k] <= x[k] && x[k] <= high[k]), format!("the box from {low:?} to {high:?}"))
        }
        StartRegion::Sphere { centre, radius } => inside(
            &|x| distance(x, centre) <= radius * radius,
            format!("the sphere of radius {radius} round {centre:?}"),
        ),
        StartRegion::Nearest(point) => {
            nearest(mesh, *point).map(|node| vec![node]).ok_or_else(|| PlaceError::Empty("the mesh".into()))
        }
    }
}

/// The node that an element has and that lies nearest to a point; of equally near ones the first.
pub(crate) fn nearest(mesh: &EikonalMeshView, point: [f64; 3]) -> Option<u32> {
    let points = mesh.coordinates.as_chunks::<3>().0;
    let has_element = |node: usize| mesh.incident_first.get(node) < mesh.incident_first.get(node + 1);
    let found = points.par_iter().enumerate().filter(|(node, _)| has_element(*node));
    let distances = found.map(|(node, x)| (distance(x, &point), node as u32));
    distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, node)| node)
}

/// What to say of a point that lies further from its nearest node than that node from its neighbours: outside the mesh, or in
/// other units.
pub fn outside(mesh: &EikonalMeshView, unit: &str, point: [f64; 3], node: u32) -> Option<String> {
    let (x, neighbours) = (mesh.point(node as usize), mesh.neighbours_of(node as usize));
    let longest = neighbours.iter().map(|&other| distance(&x, &mesh.point(other as usize))).fold(0.0, f64::max);
    let (away, label) = (distance(&point, &x), mesh.node_labels[node as usize]);
    let far = away > longest;
    far.then(|| format!("{point:?} lies outside the mesh, {:.4} {unit} from its nearest node {label}", away.sqrt()))
}

/// A node by `12` or `INSTANCE.12`.
fn labelled(mesh: &EikonalMeshView, text: &str) -> Result<u32, PlaceError> {
    let none = || PlaceError::Label(text.to_owned());
    let (instance, label) = match text.rsplit_once('.') {
        None => (None, text),
        Some((name, label)) => {
            let at = mesh.instances.iter().position(|instance| instance.eq_ignore_ascii_case(name));
            (Some(at.ok_or_else(none)?), label)
        }
    };
    let label: u32 = label.trim().parse().map_err(|_| none())?;
    let right = |node: &usize| {
        instance.is_none_or(|instance| mesh.node_instance.get(*node).is_some_and(|&of| usize::from(of) == instance))
    };
    let mut found =
        mesh.node_labels.iter().enumerate().filter(|(_, of)| **of == label).map(|(node, _)| node).filter(right);
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node as u32),
        (Some(_), Some(_)) => Err(PlaceError::Ambiguous(text.to_owned())),
        (None, _) => Err(none()),
    }
}

/// Squared.
fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum()
}

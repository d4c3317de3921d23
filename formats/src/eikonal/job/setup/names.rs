//! Sets and nodes of a mesh by their names and places.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::eikonal::job::NodeName;
use crate::job::{JobError, Place};
use crate::mesh::NamedSet;
use crate::read::mesh::MeshFile;
use crate::system::parallel::iterate::*;

pub(super) fn list_of<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> String {
    let names: Vec<&str> = names.take(20).collect();
    if names.is_empty() { format!(" (it has no {what})") } else { format!(" (its {what}: {})", names.join(", ")) }
}

pub(super) fn set<'a>(sets: &'a [NamedSet], name: &str, what: &str, place: &Place) -> Result<&'a NamedSet, JobError> {
    sets.iter().find(|set| set.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = list_of(sets.iter().map(|set| set.name.as_str()), &format!("{what}s"));
        place.error(format!("the mesh has no {what} \"{name}\"{known}"))
    })
}

/// Index of a node by its label.
pub(super) fn labelled(mesh: &MeshFile, name: &NodeName) -> Result<u32, String> {
    let text = name.text();
    let (instance, label) = match text.rsplit_once('.') {
        None => (None, text.as_str()),
        Some((instance, label)) => {
            let at = mesh.instances.iter().position(|name| name.eq_ignore_ascii_case(instance));
            (Some(at.ok_or_else(|| format!("the mesh has no instance \"{instance}\""))?), label)
        }
    };
    let label: u32 = label.parse().map_err(|_| format!("\"{text}\" is no label of a node"))?;
    let right = |node: usize| {
        mesh.node_labels[node] == label && instance.is_none_or(|at| usize::from(mesh.node_instance[node]) == at)
    };
    // Labels mostly run.
    let guess = [label as usize, (label as usize).wrapping_sub(1)];
    if mesh.instances.is_empty()
        && let Some(&node) = guess.iter().find(|&&node| node < mesh.n_nodes() && mesh.node_labels[node] == label)
    {
        return Ok(node as u32);
    }
    let mut found = (0..mesh.n_nodes()).filter(|&node| right(node));
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node as u32),
        (Some(_), Some(_)) => Err(format!("several instances have a node {text}: write \"INSTANCE.{text}\"")),
        (None, _) => Err(format!("the mesh has no node {text}")),
    }
}

/// The nodes of a mesh that elements have, by their places.
pub(super) struct Places<'m> {
    mesh: &'m MeshFile,
    /// Whether an element has a node, (n,); made when the first place is asked for.
    used: OnceCell<Vec<AtomicBool>>,
}

impl<'m> Places<'m> {
    pub fn new(mesh: &'m MeshFile) -> Self {
        Self { mesh, used: OnceCell::new() }
    }

    /// The node nearest to a point; of equally near ones the first. None where no element has a node.
    pub fn nearest(&self, point: [f64; 3]) -> Option<u32> {
        let used = self.used.get_or_init(|| {
            let used: Vec<AtomicBool> =
                (0..self.mesh.n_nodes()).into_par_iter().map(|_| AtomicBool::new(false)).collect();
            // Most nodes are met many times, and a store takes a cache line from other threads.
            self.mesh.elements.par_iter().map(|&node| &used[node as usize]).for_each(|used| {
                if !used.load(Relaxed) {
                    used.store(true, Relaxed);
                }
            });
            used
        });
        let distance = |x: &[f64; 3]| (0..3).map(|k| (x[k] - point[k]).powi(2)).sum::<f64>();
        let points = self.mesh.coordinates.as_chunks::<3>().0.par_iter().zip(used).enumerate();
        let distances =
            points.filter(|(_, (_, used))| used.load(Relaxed)).map(|(node, (x, _))| (distance(x), node as u32));
        distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, node)| node)
    }
}

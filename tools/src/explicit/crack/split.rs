//! Doubles the nodes of opened faces, in the mesh and in everything that names nodes.

use std::collections::{BTreeMap, HashMap, HashSet};

use pogo_formats::dynamics::LoadKind;
use pogo_formats::explicit::{Model, Setup};
use pogo_formats::mesh::Mesh;

use super::faces::{FaceKey, key_of};
use crate::elements::{elements, faces, round};

/// What became of the nodes of opened faces.
pub(super) struct Split {
    /// The new nodes at the place of each old one.
    pub twins: BTreeMap<u32, Vec<u32>>,
    /// The new node that an element has in the place of an old one.
    pub node_of: HashMap<(u32, u32), u32>,
}

impl Split {
    /// Gives each connected part of the elements round a node a node of its own. Parts are connected by faces that are not
    /// opened. So nodes at a tip, round which one can go, stay single. The part with the lowest element keeps the node.
    ///
    /// # Errors
    /// A message if there are too many nodes for the tables.
    pub fn plan(mesh: &Mesh, opened: &HashSet<FaceKey>) -> Result<Self, String> {
        let mut is_on_face = vec![false; mesh.n_nodes()];
        opened.iter().flat_map(round).for_each(|&node| is_on_face[node as usize] = true);
        // The elements round each of these nodes, and those at each of their faces.
        let (mut around, mut at_face) = (BTreeMap::<u32, Vec<u32>>::new(), HashMap::<FaceKey, Vec<u32>>::new());
        for (element, (kind, nodes)) in (0_u32..).zip(elements(mesh)) {
            let touched = || nodes.iter().filter(|&&node| is_on_face[node as usize]);
            if touched().next().is_none() {
                continue;
            }
            touched().for_each(|&node| around.entry(node).or_default().push(element));
            for face in faces(kind, nodes) {
                at_face.entry(key_of(&face)).or_default().push(element);
            }
        }
        let mut faces_of = BTreeMap::<u32, Vec<(&FaceKey, &[u32])>>::new();
        for (key, sides) in at_face.iter().filter(|(_, sides)| sides.len() > 1) {
            for &node in round(key).iter().filter(|&&node| is_on_face[node as usize]) {
                faces_of.entry(node).or_default().push((key, sides));
            }
        }
        let mut split = Split { twins: BTreeMap::new(), node_of: HashMap::new() };
        let mut next = u32::try_from(mesh.n_nodes()).unwrap_or(u32::MAX);
        for (&node, elements) in &around {
            let joins = faces_of.get(&node).map(Vec::as_slice).unwrap_or_default();
            let before = parts(elements, joins.iter().map(|join| join.1));
            let after = parts(elements, joins.iter().filter(|join| !opened.contains(join.0)).map(|join| join.1));
            // The first part of what hung together keeps the node.
            let mut given: HashMap<(u32, u32), Option<u32>> = HashMap::new();
            let mut kept = HashSet::new();
            for (at, &element) in elements.iter().enumerate() {
                let new = *given.entry((before[at], after[at])).or_insert_with(|| {
                    if kept.insert(before[at]) {
                        return None;
                    }
                    let new = next;
                    next = next.saturating_add(1);
                    split.twins.entry(node).or_default().push(new);
                    Some(new)
                });
                if let Some(new) = new {
                    split.node_of.insert((element, node), new);
                }
            }
            if next == u32::MAX {
                return Err("more nodes than 32-bit tables can hold".to_owned());
            }
        }
        Ok(split)
    }

    /// Doubles the nodes of a model.
    ///
    /// # Errors
    /// A message if there are no labels left.
    pub fn apply(&self, model: &mut Model) -> Result<(), String> {
        apply_to_mesh(&mut model.mesh, self)?;
        apply_to_setup(&mut model.setup, self);
        Ok(())
    }

    /// The node of an element that was `node` before.
    pub fn node(&self, element: u32, node: u32) -> u32 {
        self.node_of.get(&(element, node)).copied().unwrap_or(node)
    }

    /// All nodes that stand for `node` now.
    fn all(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(node).chain(self.twins.get(&node).into_iter().flatten().copied())
    }
}

/// A number for each element, the same for those that some chain of `joins` joins.
fn parts<'j>(elements: &[u32], joins: impl Iterator<Item = &'j [u32]>) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..elements.len() as u32).collect();
    fn root(parent: &mut [u32], mut at: u32) -> u32 {
        while parent[at as usize] != at {
            parent[at as usize] = parent[parent[at as usize] as usize];
            at = parent[at as usize];
        }
        at
    }
    for join in joins {
        let mut places = join.iter().filter_map(|element| elements.binary_search(element).ok());
        let Some(first) = places.next() else { continue };
        for other in places {
            let (a, b) = (root(&mut parent, first as u32), root(&mut parent, other as u32));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    (0..elements.len() as u32).map(|at| root(&mut parent, at)).collect()
}

fn apply_to_mesh(mesh: &mut Mesh, split: &Split) -> Result<(), String> {
    let mut labels: HashMap<u16, u32> = HashMap::new();
    for (&label, &instance) in mesh.node_labels.iter().zip(&mesh.node_instance) {
        let highest = labels.entry(instance).or_default();
        *highest = label.max(*highest);
    }
    let mut new: Vec<(u32, u32)> =
        split.twins.iter().flat_map(|(&old, twins)| twins.iter().map(move |&twin| (twin, old))).collect();
    new.sort_unstable();
    let dimension = mesh.dimension as usize;
    for (_, old) in new {
        let (old, instance) = (old as usize, mesh.node_instance[old as usize]);
        mesh.coordinates.extend_from_within(old * dimension..(old + 1) * dimension);
        let label = labels.entry(instance).or_default();
        *label = label.checked_add(1).ok_or("no label is left for a new node: give the nodes lower labels")?;
        mesh.node_labels.push(*label);
        mesh.node_instance.push(instance);
    }
    let mut first = 0;
    let mut by_element: Vec<_> = split.node_of.iter().map(|(&(element, old), &new)| (element, old, new)).collect();
    by_element.sort_unstable();
    let mut changes = by_element.into_iter().peekable();
    for group in &mut mesh.groups {
        let (n, n_elements) = (group.kind.n_nodes(), group.labels.len() as u32);
        while let Some((element, old, new)) = changes.next_if(|change| change.0 < first + n_elements) {
            let at = (element - first) as usize * n;
            group.connectivity[at..at + n].iter_mut().filter(|node| **node == old).for_each(|node| *node = new);
        }
        first += n_elements;
    }
    for set in &mut mesh.node_sets {
        with_twins(&mut set.members, split);
    }
    Ok(())
}

/// Adds the new nodes behind the old ones.
fn with_twins(nodes: &mut Vec<u32>, split: &Split) {
    if nodes.iter().any(|node| split.twins.contains_key(node)) {
        *nodes = nodes.iter().flat_map(|&node| split.all(node)).collect();
    }
}

/// Adds the new nodes, each list of `n` weights divided equally among a node and its twins.
fn share(nodes: &mut Vec<u32>, weights: &mut Vec<f64>, n: usize, split: &Split) {
    let rows = nodes.iter().zip(weights.chunks(n)).flat_map(|(&node, row)| {
        let count = split.all(node).count() as f64;
        row.repeat(count as usize).into_iter().map(move |weight| weight / count)
    });
    let shared = rows.collect();
    *weights = shared;
    with_twins(nodes, split);
}

/// What the deck says of nodes holds for their twins. A force on a node is shared equally by all that stand for it, and so is
/// its weight in a trace of several nodes.
fn apply_to_setup(setup: &mut Setup, split: &Split) {
    for load in &mut setup.loads {
        match &mut load.kind {
            LoadKind::Concentrated { nodes, weights, .. } | LoadKind::Volume { nodes, weights } => {
                if nodes.iter().any(|node| split.twins.contains_key(node)) {
                    weights.resize(nodes.len(), 1.0);
                    share(nodes, weights, 1, split);
                }
            }
            LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. } => {
                for (face, &element) in faces.iter_mut().zip(&*elements) {
                    face.iter_mut().for_each(|node| *node = split.node(element, *node));
                }
            }
            LoadKind::Body { .. } | LoadKind::Gravity { .. } => {}
        }
    }
    for boundary in &mut setup.impedances {
        for (face, &element) in boundary.faces.iter_mut().zip(&boundary.elements) {
            face.iter_mut().for_each(|node| *node = split.node(element, *node));
        }
    }
    setup.boundaries.iter_mut().for_each(|boundary| with_twins(&mut boundary.nodes, split));
    setup.initial_velocities.iter_mut().for_each(|velocity| with_twins(&mut velocity.nodes, split));
    for history in &mut setup.histories {
        if history.weights.is_empty() {
            with_twins(&mut history.nodes, split);
        } else {
            let n_variables = history.variables.len().max(1);
            share(&mut history.nodes, &mut history.weights, n_variables, split);
        }
    }
}

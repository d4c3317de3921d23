//! Arranging a mesh for the Eikonal solver: elements checked, nodes in Morton order inside sub-domains, lists round nodes,
//! interfaces.

use std::path::Path;

use pogo_formats::domains::SubDomains;
use pogo_formats::eikonal::job::Applied;
use pogo_formats::eikonal::setup::{EikonalSetup, StartRegion};
use pogo_formats::eikonal::{Drawn, EikonalMesh, Trees, sub_domains};
use pogo_formats::mesh::NamedSet;
use pogo_formats::read::mesh::MeshFile;
use pogo_formats::system::parallel::iterate::*;

use super::shapes;
use crate::cli::word;
use crate::morton;
use crate::partition::{self, PartitionError, PartitionOptions, Partitioner};
use crate::prepare::options::DomainMethod;
use crate::rows::{accumulate, gather};

/// Why a mesh cannot be arranged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EikonalError {
    #[error("{count} of {n} elements have no {measure}: {names}; mend the mesh, or leave them out")]
    Flat { place: String, count: usize, n: usize, measure: &'static str, names: String },
    #[error("--domains {domains}: the mesh has only {nodes} nodes; at most that many")]
    Domains { domains: usize, nodes: usize },
    #[error("{0} links between nodes are more than 32-bit tables can hold; cut the mesh into several")]
    TooLarge(usize),
    #[error("--domain-partition {method}: {error}; choose more --domains, or --domain-partition morton or metis")]
    Partition { method: String, error: PartitionError },
    #[error("METIS cannot cut the mesh: {0}; choose --domain-partition morton")]
    Metis(String),
}

impl EikonalError {
    /// File and line that the error belongs to; none for an error of the whole mesh.
    pub fn place(&self) -> Option<&Path> {
        match self {
            Self::Flat { place, .. } => Some(Path::new(place)),
            _ => None,
        }
    }
}

/// A mesh in solver order.
#[derive(Debug, Clone, PartialEq)]
pub struct Arranged {
    pub mesh: EikonalMesh,
    pub domains: SubDomains,
    pub trees: Trees,
    /// Setup, its nodes in solver order.
    pub setup: EikonalSetup,
    pub notes: Vec<String>,
}

/// Arranges a mesh to which a job was applied: nodes by sub-domain and in Morton order inside, elements by their lowest node.
/// The result does not depend on the number of threads.
pub fn arrange(
    mut file: MeshFile,
    mut applied: Applied,
    method: DomainMethod,
    n_domains: usize,
) -> Result<Arranged, EikonalError> {
    let n = file.n_nodes();
    if n_domains == 0 || n_domains > n {
        return Err(EikonalError::Domains { domains: n_domains, nodes: n });
    }
    let mut notes = Vec::new();
    notes.extend(shapes::orient(&mut file)?);
    notes.extend(unused_nodes(&file));
    let (order, node_first) = order_nodes(&file, method, n_domains, &mut notes)?;
    let mut place = vec![0_u32; n];
    order.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
    file.elements.par_iter_mut().for_each(|node| *node = place[*node as usize]);
    let elements = order_elements(&file);
    let mut mesh = reordered(file, &applied, order, elements, &place);
    mesh.connect(n);
    if mesh.neighbour_first.last().is_some_and(|&last| last as usize != mesh.neighbours.len()) {
        return Err(EikonalError::TooLarge(mesh.neighbours.len()));
    }
    let domains = sub_domains(&word(&method), &node_first, &mesh);
    let trees = std::mem::take(&mut applied.trees);
    Ok(Arranged { mesh, domains, trees, setup: renumbered_setup(applied.setup, &place), notes })
}

/// A note on nodes without elements.
fn unused_nodes(file: &MeshFile) -> Option<String> {
    let mut used = vec![false; file.n_nodes()];
    file.elements.iter().for_each(|&node| used[node as usize] = true);
    let first = used.iter().position(|&used| !used)?;
    let unused = used.iter().filter(|&&used| !used).count();
    let (name, n, label) = (&file.file, used.len(), file.node_labels[first]);
    Some(format!("{name}: note: {unused} of {n} nodes belong to no element, node {label} first: no wave reaches them"))
}

/// The old index of each node in solver order, and the first node of each sub-domain, (n_domains + 1,).
fn order_nodes(
    file: &MeshFile,
    method: DomainMethod,
    n_domains: usize,
    notes: &mut Vec<String>,
) -> Result<(Vec<u32>, Vec<u32>), EikonalError> {
    let n = file.n_nodes();
    let keys = morton::keys(&file.coordinates, 3);
    let mut order = morton::order(&keys);
    let (domain, n_found) = match method {
        DomainMethod::Metis if n_domains > 1 => (by_metis(file, &order, n_domains)?, n_domains),
        DomainMethod::Aligned if n_domains > 1 => by_layers(file, Partitioner::Aligned, n_domains)?,
        DomainMethod::Greedy if n_domains > 1 => by_layers(file, Partitioner::Greedy, n_domains)?,
        _ => {
            let first = |domain: u64| (domain * n as u64 / n_domains as u64) as u32;
            return Ok((order, (0..=n_domains as u64).map(first).collect()));
        }
    };
    if n_found != n_domains {
        let (name, method, most) = (&file.file, word(&method), n.div_ceil(n_domains));
        notes.push(format!(
            "{name}: note: {method} makes {n_found} sub-domains of at most {most} nodes, where {n_domains} were asked for"
        ));
    }
    order.par_sort_unstable_by_key(|&node| (domain[node as usize], keys[node as usize], node));
    let mut first = vec![0_u32; n_found + 1];
    domain.iter().for_each(|&domain| first[domain as usize + 1] += 1);
    accumulate(&mut first);
    Ok((order, first))
}

/// The old index of each element in solver order: by its lowest node, then by the others.
fn order_elements(file: &MeshFile) -> Vec<u32> {
    let corners = file.corners;
    let key = |element: usize| {
        let mut nodes = [u32::MAX; 4];
        nodes[..corners].copy_from_slice(&file.elements[corners * element..corners * (element + 1)]);
        nodes.sort_unstable();
        nodes
    };
    let mut elements: Vec<([u32; 4], u32)> =
        (0..file.n_elements()).into_par_iter().map(|element| (key(element), element as u32)).collect();
    elements.par_sort_unstable();
    elements.into_iter().map(|(_, element)| element).collect()
}

/// The mesh in a new order of nodes and elements, without the lists round its nodes. The elements of `file` have new nodes
/// already.
fn reordered(file: MeshFile, applied: &Applied, order: Vec<u32>, elements: Vec<u32>, place: &[u32]) -> EikonalMesh {
    let (m, corners) = (file.n_elements(), file.corners);
    let mut element_place = vec![0_u32; m];
    elements.iter().enumerate().for_each(|(new, &old)| element_place[old as usize] = new as u32);
    EikonalMesh {
        corners: corners as u32,
        plane: file.plane && corners == 3,
        coordinates: gather(&file.coordinates, &order, 3),
        elements: gather(&file.elements, &elements, corners),
        node_labels: gather(&file.node_labels, &order, 1),
        element_labels: gather(&file.element_labels, &elements, 1),
        node_instance: gather(&file.node_instance, &order, 1),
        instances: file.instances,
        node_sets: renumbered(file.node_sets, place),
        element_sets: renumbered(file.element_sets, &element_place),
        class: gather(&applied.class, &elements, 1),
        fibre: gather(&applied.fibre, &elements, 3),
        sheet: gather(&applied.sheet, &elements, 3),
        velocities: gather(&applied.velocities, &elements, applied.velocities.len() / m.max(1)),
        tensor: gather(&applied.tensor, &elements, 6),
        original_node: order,
        original_element: elements,
        ..EikonalMesh::default()
    }
}

fn renumbered_setup(mut setup: EikonalSetup, place: &[u32]) -> EikonalSetup {
    let renumber = |nodes: &mut Vec<u32>| nodes.iter_mut().for_each(|node| *node = place[*node as usize]);
    for start in &mut setup.starts {
        if let StartRegion::Nodes(nodes) = &mut start.region {
            renumber(nodes);
            nodes.sort_unstable();
            nodes.dedup();
        }
    }
    renumber(&mut setup.outputs.path_nodes);
    renumber(&mut setup.outputs.probe_nodes);
    renumber(&mut setup.gradient.nodes);
    setup.gradient.measured.iter_mut().for_each(|measured| measured.node = place[measured.node as usize]);
    setup
}

fn renumbered(sets: Vec<NamedSet>, place: &[u32]) -> Vec<NamedSet> {
    let renumber = |mut set: NamedSet| {
        set.members.iter_mut().for_each(|member| *member = place[*member as usize]);
        set.members.sort_unstable();
        set
    };
    sets.into_iter().map(renumber).collect()
}

/// Sub-domain of each node by a partitioner of blocks, and their number. None has more nodes than the share of each, so that
/// there may be a few more than asked for.
fn by_layers(file: &MeshFile, partitioner: Partitioner, n_domains: usize) -> Result<(Vec<u32>, usize), EikonalError> {
    let (n, m) = (file.n_nodes(), file.n_elements());
    let twin = EikonalMesh {
        corners: file.corners as u32,
        plane: file.plane && file.corners == 3,
        coordinates: file.coordinates.clone(),
        elements: file.elements.clone(),
        node_labels: file.node_labels.clone(),
        element_labels: file.element_labels.clone(),
        original_node: (0..n as u32).collect(),
        original_element: (0..m as u32).collect(),
        class: vec![0; m],
        ..EikonalMesh::default()
    };
    let drawn = Drawn::new(&twin.view());
    let options = PartitionOptions { partitioner, capacity: n.div_ceil(n_domains) };
    let cut = partition::partition(&drawn.view(&twin.view()), &options, &|_| ())
        .map_err(|error| EikonalError::Partition { method: word(&partitioner), error })?;
    Ok((cut.block_of_node, cut.n_blocks as usize))
}

/// Sub-domain of each node, numbered in the order in which the Morton order meets them.
fn by_metis(file: &MeshFile, order: &[u32], n_domains: usize) -> Result<Vec<u32>, EikonalError> {
    let mut twin =
        EikonalMesh { corners: file.corners as u32, elements: file.elements.clone(), ..EikonalMesh::default() };
    twin.connect(file.n_nodes());
    let parts = partition::metis_parts(file.n_nodes(), &twin.neighbour_first, &twin.neighbours, None, n_domains)
        .map_err(EikonalError::Metis)?;
    let numbers = partition::numbered_as_met(order.iter().map(|&node| parts[node as usize]), n_domains).0;
    Ok(parts.into_iter().map(|part| numbers[part as usize]).collect())
}

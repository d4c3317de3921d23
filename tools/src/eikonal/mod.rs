//! Arranging a mesh for the Eikonal solver: elements checked, nodes in Morton order inside sub-domains, lists round nodes,
//! interfaces.

pub mod info;
pub mod prepare;
mod reach;
mod shapes;
#[cfg(test)]
mod tests;

use pogo_formats::domains::SubDomains;
use pogo_formats::eikonal::job::Applied;
use pogo_formats::eikonal::setup::{EikonalSetup, StartRegion};
use pogo_formats::eikonal::{Drawn, EikonalMesh, sub_domains};
use pogo_formats::mesh::NamedSet;
use pogo_formats::read::mesh::MeshFile;
use pogo_formats::voxel::morton_code;
use rayon::prelude::*;

pub use reach::{Reach, reach};
pub use shapes::twins;

use crate::partition::{self, PartitionError, PartitionOptions, Partitioner};

/// How to cut the nodes into sub-domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EikonalMethod {
    /// Contiguous ranges of the Morton order.
    #[default]
    Morton,
    /// Layers that advance from the boundary; from any node where a surface has none.
    Aligned,
    /// Growth from a seed.
    Greedy,
    /// The METIS library, on the graph of nodes.
    Metis,
}

impl EikonalMethod {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Morton => "morton",
            Self::Aligned => "aligned",
            Self::Greedy => "greedy",
            Self::Metis => "metis",
        }
    }
}

/// Why a mesh cannot be arranged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EikonalError {
    /// Elements without area or volume.
    #[error("{place}: error: {count} of {n} elements have no {measure}: {names}; mend the mesh, or leave them out")]
    Flat {
        /// File, and the line of the first where it is known.
        place: String,
        /// How many.
        count: usize,
        /// Elements.
        n: usize,
        /// `area` or `volume`.
        measure: &'static str,
        /// Labels of the first few.
        names: String,
    },
    /// More sub-domains than nodes.
    #[error("error: --domains {domains}: the mesh has only {nodes} nodes; at most that many")]
    Domains {
        /// Asked for.
        domains: usize,
        /// Nodes.
        nodes: usize,
    },
    /// More links between nodes than 32-bit tables hold.
    #[error("error: {0} links between nodes are more than 32-bit tables can hold; cut the mesh into several")]
    TooLarge(usize),
    /// Aligned or greedy failed.
    #[error(
        "error: --domain-partition {method}: {error}; choose more --domains, or --domain-partition morton or metis"
    )]
    Partition {
        /// Method.
        method: &'static str,
        /// Reason.
        error: PartitionError,
    },
    /// METIS failed.
    #[error("error: METIS cannot cut the mesh: {0}; choose --domain-partition morton")]
    Metis(String),
}

/// A mesh in solver order.
#[derive(Debug, Clone, PartialEq)]
pub struct Arranged {
    /// Nodes and elements.
    pub mesh: EikonalMesh,
    /// Sub-domains.
    pub domains: SubDomains,
    /// Setup, its nodes in solver order.
    pub setup: EikonalSetup,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Arranges a mesh to which a job was applied. The same bits for every number of threads.
///
/// # Errors
/// [`EikonalError`].
pub fn arrange(
    mut file: MeshFile,
    applied: Applied,
    method: EikonalMethod,
    n_domains: usize,
) -> Result<Arranged, EikonalError> {
    let (n, m, corners) = (file.n_nodes(), file.n_elements(), file.corners);
    if n_domains == 0 || n_domains > n {
        return Err(EikonalError::Domains { domains: n_domains, nodes: n });
    }
    let mut notes = Vec::new();
    if let Some(note) = shapes::orient(&mut file)? {
        notes.push(note);
    }
    let mut used = vec![false; n];
    file.elements.iter().for_each(|&node| used[node as usize] = true);
    let unused = used.iter().filter(|&&used| !used).count();
    if unused > 0 {
        let first = used.iter().position(|&used| !used).unwrap_or_default();
        notes.push(format!(
            "{}: note: {unused} of {n} nodes belong to no element, node {} first: no wave reaches them",
            file.file, file.node_labels[first]
        ));
    }
    drop(used);

    // Nodes: sub-domain after sub-domain, Morton order inside.
    let keys = morton_keys(&file.coordinates);
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.par_sort_unstable_by_key(|&node| (keys[node as usize], node));
    let domain = match method {
        _ if n_domains == 1 => None,
        EikonalMethod::Morton => None,
        EikonalMethod::Metis => Some((by_metis(&file, &order, n_domains)?, n_domains)),
        EikonalMethod::Aligned => Some(by_layers(&file, Partitioner::Aligned, n_domains)?),
        EikonalMethod::Greedy => Some(by_layers(&file, Partitioner::Greedy, n_domains)?),
    };
    let node_first = match domain {
        Some((domain, n_found)) => {
            if n_found != n_domains {
                let most = n.div_ceil(n_domains);
                notes.push(format!(
                    "{}: note: {} makes {n_found} sub-domains of at most {most} nodes, where {n_domains} were asked for",
                    file.file,
                    method.name()
                ));
            }
            order.par_sort_unstable_by_key(|&node| (domain[node as usize], keys[node as usize], node));
            let mut first = vec![0_u32; n_found + 1];
            domain.iter().for_each(|&domain| first[domain as usize + 1] += 1);
            (0..n_found).for_each(|domain| first[domain + 1] += first[domain]);
            first
        }
        None => (0..=n_domains as u64).map(|domain| (domain * n as u64 / n_domains as u64) as u32).collect(),
    };
    drop(keys);
    let mut place = vec![0_u32; n];
    order.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);

    // Elements: by their lowest node, then the others.
    file.elements.par_iter_mut().for_each(|node| *node = place[*node as usize]);
    let nodes_of = |element: usize| &file.elements[corners * element..corners * (element + 1)];
    let key = |element: usize| {
        let mut nodes = [u32::MAX; 4];
        nodes[..corners].copy_from_slice(nodes_of(element));
        nodes.sort_unstable();
        nodes
    };
    let mut elements: Vec<([u32; 4], u32)> =
        (0..m).into_par_iter().map(|element| (key(element), element as u32)).collect();
    elements.par_sort_unstable();
    let elements: Vec<u32> = elements.into_iter().map(|(_, element)| element).collect();
    let mut element_place = vec![0_u32; m];
    elements.iter().enumerate().for_each(|(new, &old)| element_place[old as usize] = new as u32);

    let mut mesh = EikonalMesh {
        corners: corners as u32,
        plane: file.plane && corners == 3,
        coordinates: gather(&file.coordinates, &order, 3),
        elements: gather(&file.elements, &elements, corners),
        node_labels: gather(&file.node_labels, &order, 1),
        element_labels: gather(&file.element_labels, &elements, 1),
        node_instance: gather(&file.node_instance, &order, 1),
        instances: file.instances,
        node_sets: renumbered(file.node_sets, &place),
        element_sets: renumbered(file.element_sets, &element_place),
        class: gather(&applied.class, &elements, 1),
        fibre: gather(&applied.fibre, &elements, 3),
        sheet: gather(&applied.sheet, &elements, 3),
        velocities: gather(&applied.velocities, &elements, applied.velocities.len() / m.max(1)),
        tensor: gather(&applied.tensor, &elements, 6),
        original_node: order,
        original_element: elements,
        ..EikonalMesh::default()
    };
    mesh.connect(n);
    if mesh.neighbour_first.last().is_some_and(|&last| last as usize != mesh.neighbours.len()) {
        return Err(EikonalError::TooLarge(mesh.neighbours.len()));
    }
    let domains = sub_domains(method.name(), &node_first, &mesh);

    let mut setup = applied.setup;
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
    Ok(Arranged { mesh, domains, setup, notes })
}

/// Rows in a new order; `rows[i]` is the old row of the new row i. Empty stays empty.
fn gather<T: Copy + Send + Sync>(from: &[T], rows: &[u32], width: usize) -> Vec<T> {
    if from.is_empty() || width == 0 {
        return Vec::new();
    }
    rows.par_iter()
        .flat_map_iter(|&row| from[width * row as usize..width * (row as usize + 1)].iter().copied())
        .collect()
}

fn renumbered(sets: Vec<NamedSet>, place: &[u32]) -> Vec<NamedSet> {
    let renumber = |mut set: NamedSet| {
        set.members.iter_mut().for_each(|member| *member = place[*member as usize]);
        set.members.sort_unstable();
        set
    };
    sets.into_iter().map(renumber).collect()
}

/// Morton codes of the nodes on a grid of 2²¹ cells along the longest side of the bounding box.
fn morton_keys(coordinates: &[f64]) -> Vec<u64> {
    let points = coordinates.as_chunks::<3>().0;
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for x in points {
        for k in 0..3 {
            low[k] = low[k].min(x[k]);
            high[k] = high[k].max(x[k]);
        }
    }
    let longest = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let scale = if longest > 0.0 { f64::from((1_u32 << 21) - 1) / longest } else { 0.0 };
    points.par_iter().map(|x| morton_code([0, 1, 2].map(|k| ((x[k] - low[k]) * scale) as u32))).collect()
}

/// Sub-domain of each node by a partitioner of blocks, and how many there are: about as many as asked for, none larger than their share.
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
    let options = PartitionOptions { partitioner, capacity: n.div_ceil(n_domains), threads: 0 };
    let cut = partition::partition(&drawn.view(&twin.view()), &options, &|_| ())
        .map_err(|error| EikonalError::Partition { method: partitioner.name(), error })?;
    Ok((cut.block_of_node, cut.n_blocks as usize))
}

/// Sub-domain of each node, numbered in the order in which the Morton order meets them.
fn by_metis(file: &MeshFile, order: &[u32], n_domains: usize) -> Result<Vec<u32>, EikonalError> {
    let mut twin =
        EikonalMesh { corners: file.corners as u32, elements: file.elements.clone(), ..EikonalMesh::default() };
    twin.connect(file.n_nodes());
    if i32::try_from(twin.neighbours.len()).is_err() {
        return Err(EikonalError::Metis(format!("{} links between nodes are too many", twin.neighbours.len())));
    }
    let whole = |list: &[u32]| list.iter().map(|&value| value as i32).collect::<Vec<i32>>();
    let (first, neighbours) = (whole(&twin.neighbour_first), whole(&twin.neighbours));
    let weights = (vec![1; file.n_nodes()], vec![1; neighbours.len()]);
    let found = partition::weighted_parts(&first, &neighbours, &weights.0, &weights.1, n_domains)
        .map_err(EikonalError::Metis)?;
    let mut names = vec![u32::MAX; n_domains];
    let mut n_named = 0;
    for &node in order {
        let name = &mut names[found[node as usize] as usize];
        if *name == u32::MAX {
            *name = n_named;
            n_named += 1;
        }
    }
    // Parts without a node are left at the end, empty.
    for name in names.iter_mut().filter(|name| **name == u32::MAX) {
        *name = n_named;
        n_named += 1;
    }
    Ok(found.into_iter().map(|part| names[part as usize]).collect())
}

//! Partitions of a mesh into blocks (Huthwaite 2014, Section 3.1).
//!
//! A partition gives each node to one block of at most [`PartitionOptions::capacity`] nodes. Few blocks are good (the
//! efficiency is η = n_nodes / (n_blocks × capacity)), and so are short joins: each node on a join is also read by the block on
//! the other side.
//!
//! [`Partitioner::Greedy`] is the fastest, [`Partitioner::Aligned`] gives the fullest blocks. All partitioners give the same
//! result in every run and for every number of threads.

mod aligned;
mod balance;
mod boundary;
mod deal;
mod graph;
mod greedy;
mod halve;
mod metis;
mod pack;
#[cfg(test)]
mod tests;

use pogo_formats::mesh::MeshView;
use pogo_formats::timings::{self, timed};

pub(crate) use self::metis::{metis_parts, numbered_as_met};
#[cfg(test)]
use boundary::boundary_faces;
pub(crate) use deal::Deal;
pub(crate) use graph::NodeGraph;
pub(crate) use halve::{halve, work_space};

/// Algorithm that cuts the mesh. The first sentences are the help texts of `pogo-block --partition`.
// Aligned is that of Section 3.1, greedy that of Klöckner et al. 2009. Aligned and METIS are balanced afterwards.
// METIS replaces the handlers of SIGTERM and SIGABRT while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Partitioner {
    /// Layers that follow the boundary: fullest blocks
    #[default]
    Aligned,
    /// Growth from a seed: fastest
    Greedy,
    /// The METIS library
    Metis,
}

/// How to cut a mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOptions {
    /// Algorithm.
    pub partitioner: Partitioner,
    /// Most nodes in a block, 512 in the paper.
    pub capacity: usize,
}

impl Default for PartitionOptions {
    fn default() -> Self {
        Self { partitioner: Partitioner::default(), capacity: 512 }
    }
}

/// A partition of the nodes of a mesh.
#[derive(Debug, Clone)]
pub struct Partition {
    /// Block of each node, (n_nodes,). Blocks are numbered so that neighbours are mostly near each other.
    pub block_of_node: Vec<u32>,
    /// Blocks, none of them empty.
    pub n_blocks: u32,
    /// The algorithm that made the partition.
    pub partitioner: Partitioner,
    /// Most nodes in a block.
    pub capacity: usize,
    /// Time it took, s.
    pub seconds: f64,
    pub(crate) graph: NodeGraph,
}

/// Why a mesh cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum PartitionError {
    #[error("a block of {0} nodes is not possible: give between 1 and 65535 nodes")]
    Capacity(usize),
    #[error("element {element} (by position) names node {node} (by position), and there are {n_nodes} nodes")]
    NodeOutOfRange { element: usize, node: u32, n_nodes: usize },
    #[error("the mesh has {0} {1}, more than 32-bit indices can count: cut the model into several")]
    TooLarge(usize, &'static str),
    #[error("the mesh has no nodes")]
    Empty,
    #[error("METIS failed ({0}): use the aligned or the greedy partitioner")]
    Metis(String),
}

/// Cuts a mesh into blocks. The result does not depend on the number of threads.
///
/// `progress` is called from this thread from time to time, with the fraction done.
///
/// # Errors
/// See [`PartitionError`].
pub fn partition(
    mesh: &MeshView,
    options: &PartitionOptions,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Partition, PartitionError> {
    let start = std::time::Instant::now();
    let capacity = options.capacity;
    if capacity == 0 || capacity > usize::from(u16::MAX) {
        return Err(PartitionError::Capacity(capacity));
    }
    if mesh.n_nodes() == 0 {
        return Err(PartitionError::Empty);
    }
    let graph = timed("graph", || NodeGraph::new(mesh))?;
    progress(0.2);
    let cutting = timings::stage("cut");
    let mut block_of_node = match options.partitioner {
        Partitioner::Aligned => aligned::aligned(mesh, &graph, capacity, &|part| progress(0.2 + 0.4 * part))?,
        Partitioner::Greedy => greedy::greedy(&graph, capacity),
        Partitioner::Metis => self::metis::k_way(&graph, capacity)?,
    };
    drop(cutting);
    if options.partitioner != Partitioner::Greedy {
        let advance = |part| progress(0.6 + 0.3 * part);
        timed("balance", || balance::balance(&graph, &mut block_of_node, capacity, mesh.dimension, &advance));
    }
    progress(0.9);
    let n_blocks = timed("pack", || pack::pack(&graph, &mut block_of_node, capacity));
    progress(1.0);
    Ok(Partition {
        block_of_node,
        n_blocks,
        partitioner: options.partitioner,
        capacity,
        seconds: start.elapsed().as_secs_f64(),
        graph,
    })
}

/// Nodes of each block.
fn block_sizes(block_of_node: &[u32], n_blocks: usize) -> Vec<u32> {
    let mut sizes = vec![0; n_blocks];
    for &block in block_of_node {
        sizes[block as usize] += 1;
    }
    sizes
}

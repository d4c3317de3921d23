//! Memory arrangement of a partition (Huthwaite 2014, Section 3.2). Nodes are renumbered block by block. In a block the
//! nodes that other blocks read come first, in the order of a walk along the boundary of the block. Then the tables of each
//! block are made.

mod device;
mod limits;
mod loads;
pub(super) mod permute;
mod statistics;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod walk;

use std::time::Instant;

use device::device_tables;
use device::grids::Grids;
use pogo_formats::explicit::block::{Blocks, DeviceTables, PartitionStatistics};
use pogo_formats::mesh::Mesh;
use pogo_formats::system::parallel::iterate::*;
use pogo_formats::timings::{self, timed};

use crate::partition::{NodeGraph, Partition};
use crate::rows::{by_row, cut};

/// How to arrange.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrangeOptions {
    /// Split blocks until all keep the paper's limits: 20 loads and 128 boundary nodes. 2D meshes only. A block of one
    /// node with more than 20 neighbouring blocks cannot be split; it is counted in
    /// [`n_beyond_paper_limits`](pogo_formats::explicit::block::PartitionStatistics::n_beyond_paper_limits).
    pub paper_limits: bool,
    /// Make no colours for blocks of triangles that have fans. They are needed where the stiffness of single elements is
    /// scaled.
    pub fans_alone: bool,
}

/// A mesh in solver order, with its blocks and all their tables.
#[derive(Debug, Clone)]
pub struct Arranged {
    /// Nodes renumbered to solver order: coordinates, labels, instances, connectivity and node sets. Elements keep
    /// their order.
    pub mesh: Mesh,
    /// Tables of the blocks.
    pub blocks: Blocks,
    /// Tables for devices with many threads.
    pub device: DeviceTables,
    /// Quality of the partition.
    pub statistics: PartitionStatistics,
    /// Partitioning, arranging and making the tables for devices, s.
    pub seconds: f64,
    /// Solver index of each model node, (n_nodes,).
    pub solver_from_model: Vec<u32>,
}

/// A mesh in solver order, with its blocks and without tables for devices.
pub struct BlockedMesh {
    arranged: Arranged,
    grids: Grids,
}

/// Why a partition cannot be arranged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ArrangeError {
    #[error(
        "block {block} has {own} nodes of its own and reads {halo} of others, and a block can address 65536: \
         give smaller blocks (--block-nodes)"
    )]
    TooManyLocalNodes { block: usize, own: usize, halo: usize },
    #[error(
        "--paper-limits is for 2D meshes: the paper's 20 loads and 128 boundary nodes do not hold a block of a solid"
    )]
    PaperLimitsInSpace,
    #[error("the partition has {partition} nodes and the mesh {mesh}")]
    Mismatch { partition: usize, mesh: usize },
}

/// Arranges a partition in memory and makes the tables for devices. The result does not depend on the number of threads.
///
/// # Errors
/// See [`ArrangeError`].
pub fn arrange(mesh: Mesh, partition: Partition, options: &ArrangeOptions) -> Result<Arranged, ArrangeError> {
    Ok(arrange_blocks(mesh, partition, options)?.with_device_tables(options))
}

/// Arranges a partition in memory.
///
/// # Errors
/// See [`ArrangeError`].
pub fn arrange_blocks(
    mut mesh: Mesh,
    partition: Partition,
    options: &ArrangeOptions,
) -> Result<BlockedMesh, ArrangeError> {
    let start = Instant::now();
    let Partition { mut block_of_node, mut n_blocks, partitioner, capacity, seconds, graph } = partition;
    if block_of_node.len() != mesh.n_nodes() || graph.n_nodes() != mesh.n_nodes() {
        return Err(ArrangeError::Mismatch { partition: block_of_node.len(), mesh: mesh.n_nodes() });
    }
    if options.paper_limits && mesh.dimension != 2 {
        return Err(ArrangeError::PaperLimitsInSpace);
    }
    let grids = timed("find grids", || Grids::find(&mesh.view()));
    let ranks = grids.ranks(mesh.n_nodes());
    let mut n_split = 0;
    let (order, blocks, loads, connectivity) = loop {
        let dimension = mesh.dimension as usize;
        let order = timed("order nodes", || Order::new(dimension, &graph, &block_of_node, n_blocks as usize, &ranks));
        let connectivity = permute::connectivity(&mesh, &order.solver_from_model);
        let mut view = mesh.view();
        for (group, connectivity) in view.groups.iter_mut().zip(&connectivity) {
            group.connectivity = connectivity;
        }
        let blocks = timed("tables of blocks", || tables::tables(&view, &order, capacity))?;
        let loads = timed("count loads", || loads::count(&blocks));
        let split = if options.paper_limits {
            limits::split(&graph, &order, &loads, &mut block_of_node, &mut n_blocks)
        } else {
            0
        };
        if split == 0 {
            break (order, blocks, loads, connectivity);
        }
        n_split += split;
    };
    drop((graph, ranks, block_of_node));
    let permuting = timings::stage("reorder the mesh");
    for (group, connectivity) in mesh.groups.iter_mut().zip(connectivity) {
        group.connectivity = connectivity;
    }
    let mesh = permute::nodes(mesh, &order.solver_from_model, &order.model_from_solver);
    drop(permuting);
    let statistics = statistics::statistics(&blocks, &loads, partitioner);
    let statistics = PartitionStatistics { paper_limits: options.paper_limits, n_split, ..statistics };
    let seconds = seconds + start.elapsed().as_secs_f64();
    let solver_from_model = order.solver_from_model;
    let device = DeviceTables::default();
    let arranged = Arranged { mesh, blocks, device, statistics, seconds, solver_from_model };
    Ok(BlockedMesh { arranged, grids })
}

impl BlockedMesh {
    /// Adds the tables for devices.
    pub fn with_device_tables(self, options: &ArrangeOptions) -> Arranged {
        let start = Instant::now();
        let Self { mut arranged, grids } = self;
        arranged.device = device_tables(&arranged.blocks.view(), options.fans_alone);
        timed("tables of grids", || grids.add_to(&mut arranged.device, &arranged.solver_from_model));
        arranged.seconds += start.elapsed().as_secs_f64();
        arranged
    }
}

/// Nodes in solver order.
struct Order {
    /// First own node of each block, (n_blocks + 1,).
    node_first: Vec<u32>,
    /// Own nodes that others read, (n_blocks,).
    n_boundary: Vec<u32>,
    model_from_solver: Vec<u32>,
    solver_from_model: Vec<u32>,
}

impl Order {
    /// `ranks` as [`Grids::ranks`] gives them.
    fn new(dimension: usize, graph: &NodeGraph, block_of: &[u32], n_blocks: usize, ranks: &[u32]) -> Self {
        let (node_first, mut model_from_solver) = by_row(n_blocks, block_of.iter().copied());
        let own = cut(&mut model_from_solver, node_first.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize));
        // The place of each node in its block, which the walk uses as a local index.
        let mut local = vec![0_u32; block_of.len()];
        for nodes in &own {
            (0..).zip(nodes.iter()).for_each(|(place, &node)| local[node as usize] = place);
        }
        let n_boundary = own
            .into_par_iter()
            .enumerate()
            .with_min_len(16)
            .map_init(walk::Scratch::default, |scratch, (block, nodes)| {
                let n_boundary = walk::order(dimension, graph, block_of, &local, block as u32, nodes, scratch);
                if !ranks.is_empty() && nodes.iter().all(|&node| ranks[node as usize] != Grids::NO_RANK) {
                    let (boundary, inner) = nodes.split_at_mut(n_boundary as usize);
                    boundary.sort_unstable_by_key(|&node| ranks[node as usize]);
                    inner.sort_unstable_by_key(|&node| ranks[node as usize]);
                }
                n_boundary
            })
            .collect();
        let mut solver_from_model = local;
        for (solver, &model) in model_from_solver.iter().enumerate() {
            solver_from_model[model as usize] = solver as u32;
        }
        Self { node_first, n_boundary, model_from_solver, solver_from_model }
    }
}

//! Halo lists, elements and local connectivity of each block.

use pogo_formats::block::{Blocks, MeshView, PartitionStatistics};
use rayon::prelude::*;

use super::{ArrangeError, Order};
use crate::partition::{NodeGraph, append, element_nodes, group_offsets};

/// Blocks that one task works on.
const CHUNK: usize = 32;

/// Local node indices are 16-bit.
const MOST_LOCAL_NODES: usize = 1 << 16;

/// What one task found, to be put end to end.
#[derive(Default)]
struct Part {
    /// Halo entries and runs of each block.
    n_halo: Vec<u32>,
    n_runs: Vec<u32>,
    halo_nodes: Vec<u32>,
    run_kind: Vec<u8>,
    run_section: Vec<u32>,
    /// Elements of each run.
    run_elements: Vec<u32>,
    /// Connectivity entries of each run.
    run_entries: Vec<u32>,
    elements: Vec<u32>,
    connectivity: Vec<u16>,
}

/// Everything of [`Blocks`] but the loads and the statistics. `mesh` is in solver order.
pub(super) fn tables(
    mesh: &MeshView,
    graph: &NodeGraph,
    order: &Order,
    capacity: usize,
) -> Result<Blocks, ArrangeError> {
    let n_blocks = order.n_boundary.len();
    let group_first = group_offsets(mesh);
    let parts = (0..n_blocks.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut part = Part::default();
            for block in chunk * CHUNK..((chunk + 1) * CHUNK).min(n_blocks) {
                one_block(mesh, graph, order, &group_first, block, &mut part)?;
            }
            Ok(part)
        })
        .collect::<Result<Vec<Part>, ArrangeError>>()?;
    let n_runs: usize = parts.iter().map(|part| part.run_kind.len()).sum();
    let mut blocks = Blocks {
        capacity: capacity as u32,
        node_first: order.node_first.clone(),
        n_boundary: order.n_boundary.clone(),
        halo_first: Vec::with_capacity(n_blocks + 1),
        halo_nodes: Vec::with_capacity(parts.iter().map(|part| part.halo_nodes.len()).sum()),
        run_first: Vec::with_capacity(n_blocks + 1),
        run_kind: Vec::with_capacity(n_runs),
        run_section: Vec::with_capacity(n_runs),
        run_element_first: Vec::with_capacity(n_runs + 1),
        run_connectivity_first: Vec::with_capacity(n_runs + 1),
        elements: Vec::with_capacity(parts.iter().map(|part| part.elements.len()).sum()),
        connectivity: Vec::with_capacity(parts.iter().map(|part| part.connectivity.len()).sum()),
        load_first: Vec::new(),
        load_size: Vec::new(),
        load_start: Vec::new(),
        statistics: PartitionStatistics::default(),
    };
    let (mut halo, mut run, mut element, mut entry) = (0_u64, 0_u32, 0_u64, 0_u64);
    blocks.halo_first.push(halo);
    blocks.run_first.push(run);
    blocks.run_element_first.push(element);
    blocks.run_connectivity_first.push(entry);
    for part in parts {
        for count in part.n_halo {
            halo += u64::from(count);
            blocks.halo_first.push(halo);
        }
        for count in part.n_runs {
            run += count;
            blocks.run_first.push(run);
        }
        for count in part.run_elements {
            element += u64::from(count);
            blocks.run_element_first.push(element);
        }
        for count in part.run_entries {
            entry += u64::from(count);
            blocks.run_connectivity_first.push(entry);
        }
        blocks.halo_nodes.extend_from_slice(&part.halo_nodes);
        blocks.run_kind.extend_from_slice(&part.run_kind);
        blocks.run_section.extend_from_slice(&part.run_section);
        blocks.elements.extend_from_slice(&part.elements);
        blocks.connectivity.extend_from_slice(&part.connectivity);
    }
    Ok(blocks)
}

fn one_block(
    mesh: &MeshView,
    graph: &NodeGraph,
    order: &Order,
    group_first: &[u32],
    block: usize,
    part: &mut Part,
) -> Result<(), ArrangeError> {
    let (first, last) = (order.node_first[block], order.node_first[block + 1]);
    let own = first..last;
    let n_own = (last - first) as usize;
    let halo_start = part.halo_nodes.len();
    // Each element once, at its lowest own node: that is also the order of access.
    let mut found: Vec<(usize, u32)> = Vec::with_capacity(3 * n_own);
    let mut touched: Vec<(u32, u32)> = Vec::with_capacity(8 * n_own);
    for solver in own.clone() {
        let elements = graph.elements(order.model_from_solver[solver as usize]);
        touched.extend(elements.iter().map(|&element| (solver, element)));
    }
    // Their nodes are far apart in memory: read in one go, with no comparison in between to wait for.
    let mut nodes_of: Vec<u32> = Vec::with_capacity(3 * touched.len());
    for &(_, element) in &touched {
        append(&mut nodes_of, element_nodes(mesh, group_first, element));
    }
    let mut rest = nodes_of.as_slice();
    for (solver, element) in touched {
        let group = group_first.partition_point(|&first| first <= element) - 1;
        let (nodes, after) = rest.split_at(mesh.groups[group].kind.n_nodes());
        rest = after;
        if nodes.iter().all(|node| *node >= solver || !own.contains(node)) {
            found.push((group, element));
            part.halo_nodes.extend(nodes.iter().filter(|&node| !own.contains(node)));
        }
    }
    part.halo_nodes[halo_start..].sort_unstable();
    let mut kept = halo_start;
    for i in halo_start..part.halo_nodes.len() {
        if i == halo_start || part.halo_nodes[i] != part.halo_nodes[kept - 1] {
            part.halo_nodes[kept] = part.halo_nodes[i];
            kept += 1;
        }
    }
    part.halo_nodes.truncate(kept);
    let halo = &part.halo_nodes[halo_start..];
    if n_own + halo.len() > MOST_LOCAL_NODES {
        return Err(ArrangeError::TooManyLocalNodes { block, own: n_own, halo: halo.len() });
    }
    part.n_halo.push(halo.len() as u32);
    // So are their sections.
    let section = |&(group, element): &(usize, u32)| {
        let row = (element - group_first[group]) as usize;
        (mesh.groups[group].kind as u8, mesh.groups[group].section[row], element)
    };
    let mut found: Vec<(u8, u32, u32)> = found.iter().map(section).collect();
    if found.windows(2).any(|pair| (pair[0].0, pair[0].1) > (pair[1].0, pair[1].1)) {
        found.sort_by_key(|&(kind, section, _)| (kind, section));
    }
    let mut n_runs = 0;
    for run in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let entries_before = part.connectivity.len();
        for &(_, _, element) in run {
            part.elements.push(element);
            for &solver in element_nodes(mesh, group_first, element) {
                let local = if own.contains(&solver) {
                    (solver - first) as usize
                } else {
                    n_own + halo.partition_point(|&node| node < solver)
                };
                part.connectivity.push(local as u16);
            }
        }
        part.run_kind.push(run[0].0);
        part.run_section.push(run[0].1);
        part.run_elements.push(run.len() as u32);
        part.run_entries.push((part.connectivity.len() - entries_before) as u32);
        n_runs += 1;
    }
    part.n_runs.push(n_runs);
    Ok(())
}

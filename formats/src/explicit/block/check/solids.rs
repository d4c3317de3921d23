//! The tables for elements in space.

use std::collections::HashMap;

use super::super::corner::{ABSENT, BATCH, FLAG, MOST_LOCAL_NODES, TURNS, local_node, turn_of, ways_of};
use super::super::ring::{RING_NODES, ring_around, ring_tetrahedra, shape};
use super::super::{BlocksView, DeviceTables, DeviceView};
use crate::block::check::{Check, all_below, offsets, require};
use crate::mesh::{ElementKind, ElementShape};
use crate::system::parallel::iterate::*;

/// Whether the blocks have elements in space.
pub(super) fn are_there(blocks: &BlocksView) -> bool {
    let solid = |&kind: &u8| ElementKind::from_code(kind).is_some_and(|kind| kind.dimension() == 3);
    blocks.run_kind.iter().any(solid)
}

/// What a kernel follows.
pub(super) fn all(blocks: &BlocksView, device: &DeviceView, n_nodes: usize) -> Check {
    let (n_blocks, n_later) = (blocks.n_blocks(), device.later_nodes.len());
    offsets("nodes of later blocks", device.later_first, n_blocks, n_later)?;
    all_below("nodes of later blocks", device.later_nodes, n_nodes)?;
    let length = |what: &str, found: usize, expected: usize| {
        require(found == expected, || format!("{what}: {found} entries where {expected} are needed"))
    };
    if !are_there(blocks) {
        length("nodes of later blocks in the plane", n_later, 0)?;
        return length("first rows of forces in the plane", device.passed_first.len(), 0);
    }
    all_below("rows of forces", device.passed_row, n_later)?;
    let n_boundary = blocks.n_boundary.iter().map(|&n| n as usize).sum();
    offsets("rows of forces", device.passed_first, n_boundary, n_later)?;
    (0..n_blocks).into_par_iter().with_min_len(16).try_for_each(|block| {
        let own = blocks.own_nodes(block);
        let later = device.later(block);
        let follow = later.is_sorted_by(|a, b| a < b) && later.first().is_none_or(|&node| node as usize >= own.end);
        require(follow, || format!("block {block}: nodes of later blocks are not sorted"))?;
        let (n_local, n_colours) = (own.len() + later.len(), device.colours(block).count());
        require(n_local <= MOST_LOCAL_NODES || n_colours == 0, || {
            format!("block {block}: batches of elements, and {n_local} nodes, more than corners can name")
        })
    })
}

/// The largest node of rows of corners; rows without an element have none.
pub(super) fn largest_node(corners: &[u16], width: usize) -> u16 {
    let there = corners.chunks(width).filter(|row| row.iter().any(|&corner| corner != ABSENT));
    there.flatten().fold(0, |largest, &corner| largest.max(local_node(corner)))
}

/// An element by its nodes: they may be in any order that leaves the orientation, one of `ways` if it is no tetrahedron.
fn named(kind: ElementKind, element: u32, mut nodes: Vec<u32>, ways: &[[u8; 8]]) -> (u32, Vec<u32>, bool) {
    let mut odd = false;
    if kind.shape() != ElementShape::Tetrahedron {
        let node = |&corner: &u8| nodes.get(usize::from(corner)).copied().unwrap_or(u32::MAX);
        let turned = |way: &[u8; 8]| way[..kind.n_nodes()].iter().map(node).collect::<Vec<u32>>();
        nodes = ways.iter().map(turned).min().unwrap_or_default();
    } else {
        for i in 1..nodes.len() {
            for k in (0..i).rev() {
                if nodes[k] > nodes[k + 1] {
                    nodes.swap(k, k + 1);
                    odd = !odd;
                }
            }
        }
    }
    (element, nodes, odd)
}

/// Each block has the elements of which it is the first, each once, and all threads may add the forces of a batch at once.
pub(super) fn agree(blocks: &BlocksView, device: &DeviceView, block: usize) -> Check {
    let (own, halo, later) = (blocks.own_nodes(block), blocks.halo(block), device.later(block));
    let n_local = own.len() + later.len();
    if n_local > MOST_LOCAL_NODES {
        return Ok(());
    }
    let solver = |others: &[u32], local: u16| match usize::from(local).checked_sub(own.len()) {
        None => Some((own.start + usize::from(local)) as u32),
        Some(at) => others.get(at).copied(),
    };
    let (wedge, hexahedron) = (ways_of(ElementKind::C3d6), ways_of(ElementKind::C3d8));
    let is_wedge = |kind: ElementKind| kind.shape() == ElementShape::Wedge;
    let ways = |kind: ElementKind| if is_wedge(kind) { &wedge } else { &hexahedron }.as_slice();
    let first_run = blocks.run_first[block] as usize;
    let run_of = if device.has_mixed_colours(block) { blocks.run_of_elements(block) } else { HashMap::new() };
    let mut found: Vec<Vec<_>> = blocks.runs(block).map(|_| Vec::new()).collect();
    // The batch that last added to each node, at each corner and in each turn.
    let mut last = vec![0; (RING_NODES + usize::from(TURNS)) * n_local];
    let mut batch = 0;
    for colour in device.colours(block) {
        let Some(kind) = ElementKind::from_code(blocks.run_kind[colour.run]) else { continue };
        let [width, depth] = shape(kind);
        for (at, (elements, row)) in
            colour.elements.chunks_exact(depth).zip(colour.connectivity.chunks_exact(width)).enumerate()
        {
            batch += usize::from(at.is_multiple_of(BATCH));
            if row[0] == ABSENT {
                require(elements.iter().all(|&element| element == DeviceTables::NO_ELEMENT), || {
                    format!("block {block}: an element without nodes")
                })?;
                continue;
            }
            let mut add = |element: u32, nodes: &mut dyn Iterator<Item = u16>| {
                let nodes = nodes.map(|local| solver(later, local).unwrap_or(u32::MAX)).collect();
                let run = match colour.is_mixed {
                    true => run_of.get(&element).copied().unwrap_or(colour.run),
                    false => colour.run,
                };
                found[run - first_run].push(named(kind, element, nodes, ways(kind)));
            };
            let is_ring = kind.shape() == ElementShape::Tetrahedron;
            let n_corners = if is_ring { 2 + ring_around(row) } else { width };
            if is_ring {
                let mut elements = elements.iter();
                for nodes in ring_tetrahedra(row) {
                    let element = elements.next().copied().unwrap_or(DeviceTables::NO_ELEMENT);
                    add(element, &mut nodes.into_iter());
                }
                require(elements.all(|&element| element == DeviceTables::NO_ELEMENT), || {
                    format!("block {block}: a ring of fewer tetrahedra than it names")
                })?;
            } else {
                add(elements[0], &mut row.iter().map(|&corner| local_node(corner)));
            }
            for (at, &corner) in row.iter().enumerate() {
                let (node, turn) = (usize::from(local_node(corner)), usize::from(turn_of(corner)));
                let adds = at < n_corners && (at == 0 || corner & FLAG == 0);
                let silent = at >= n_corners && corner & FLAG != 0 && turn == 0;
                let round = if turn == 0 { at } else { RING_NODES - 1 + turn };
                let alone = silent || std::mem::replace(&mut last[round * n_local + node], batch) != batch;
                require((adds || silent) && alone, || {
                    format!("block {block}: two elements of a batch add to local node {node} at once")
                })?;
            }
        }
    }
    for (run, mut found) in blocks.runs(block).zip(found) {
        let mut expected = Vec::new();
        for (&element, nodes) in run.elements.iter().zip(run.connectivity.chunks_exact(run.kind.n_nodes())) {
            let nodes: Vec<u32> = nodes.iter().filter_map(|&local| solver(halo, local)).collect();
            if nodes.iter().all(|&node| node as usize >= own.start) {
                expected.push(named(run.kind, element, nodes, ways(run.kind)));
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        require(found == expected, || {
            format!("block {block}: other elements than those that it is the first to touch")
        })?;
    }
    Ok(())
}

/// The rows of each node stand in the order of the blocks that they come from.
pub(super) fn rows_agree(blocks: &BlocksView, device: &DeviceView) -> Check {
    let mut boundary_first = vec![0];
    for &n in blocks.n_boundary {
        boundary_first.push(boundary_first[boundary_first.len() - 1] + n as usize);
    }
    let mut next = device.passed_first.to_vec();
    for (&node, &row) in device.later_nodes.iter().zip(device.passed_row) {
        let owner = blocks.block_of(node);
        let place = (node - blocks.node_first[owner]) as usize;
        let place = (place < blocks.n_boundary[owner] as usize).then(|| boundary_first[owner] + place);
        let expected = place.and_then(|place| {
            let next = &mut next[place];
            *next += 1;
            (*next <= device.passed_first[place + 1]).then(|| *next - 1)
        });
        require(expected == Some(row), || format!("a row of forces that is not one of node {node}"))?;
    }
    Ok(())
}

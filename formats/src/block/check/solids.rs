//! The tables for elements in space.

use rayon::prelude::*;

use super::super::ring::{RING_ELEMENTS, RING_NODES, ring_around, ring_tetrahedra};
use super::super::{BlocksView, DeviceTables, DeviceView};
use super::{Check, all_below, offsets, require};
use crate::model::ElementKind;

/// Whether the blocks have elements in space.
pub(super) fn are_there(blocks: &BlocksView) -> bool {
    let solid = |&kind: &u8| ElementKind::from_code(kind).is_some_and(|kind| kind.dimension() == 3);
    blocks.run_kind.iter().any(solid)
}

/// Local indices of an element or ring, and elements.
pub(super) fn shape(kind: ElementKind) -> [usize; 2] {
    if kind == ElementKind::C3d4 { [RING_NODES, RING_ELEMENTS] } else { [kind.n_nodes(), 1] }
}

/// What a kernel follows.
pub(super) fn all(blocks: &BlocksView, device: &DeviceView, n_nodes: usize) -> Check {
    let (n_blocks, n_later) = (blocks.n_blocks(), device.later_nodes.len());
    offsets("nodes of later blocks", device.later_first, n_blocks, n_later)?;
    all_below("nodes of later blocks", device.later_nodes, n_nodes)?;
    let length = |what: &str, found: usize, expected: usize| {
        require(found == expected, || format!("{what}: {found} entries where {expected} are needed"))
    };
    length("rows of forces", device.passed_row.len(), n_later)?;
    if !are_there(blocks) {
        length("nodes of later blocks in the plane", n_later, 0)?;
        length("first rows of forces in the plane", device.passed_first.len(), 0)?;
        length("first places in the plane", device.gather_first.len(), 0)?;
        return length("places in the plane", device.gather.len(), 0);
    }
    all_below("rows of forces", device.passed_row, n_later)?;
    let n_boundary = blocks.n_boundary.iter().map(|&n| n as usize).sum();
    offsets("rows of forces", device.passed_first, n_boundary, n_later)?;
    require(device.gather.len().is_multiple_of(DeviceTables::PIECE), || "places: not in pieces of eight".into())?;
    offsets("places", device.gather_first, n_nodes + n_later, device.gather.len() / DeviceTables::PIECE)?;
    (0..n_blocks).into_par_iter().with_min_len(16).try_for_each(|block| {
        let own = blocks.own_nodes(block);
        let later = device.later(block);
        let follow = later.is_sorted_by(|a, b| a < b) && later.first().is_none_or(|&node| node as usize >= own.end);
        require(follow, || format!("block {block}: nodes of later blocks are not sorted"))?;
        let n_items = items(blocks, device, block);
        let largest = places(blocks, device, block)
            .filter(|&&place| place != DeviceTables::NO_PLACE)
            .fold(0, |largest, &place| usize::from(place).max(largest));
        require(largest == 0 || largest < DeviceTables::PIECE * n_items, || {
            format!("block {block}: place {largest} where {n_items} elements have some")
        })
    })
}

/// Elements and rings of a block.
fn items(blocks: &BlocksView, device: &DeviceView, block: usize) -> usize {
    (device.colour_first[block] as usize..device.colour_first[block + 1] as usize)
        .map(|colour| {
            let n = (device.colour_element_first[colour + 1] - device.colour_element_first[colour]) as usize;
            let kind = blocks.run_kind.get(device.colour_run[colour] as usize).copied();
            n / kind.and_then(ElementKind::from_code).map_or(1, |kind| shape(kind)[1])
        })
        .sum()
}

/// Index of a block's first node in `gather_first`.
fn first_local(blocks: &BlocksView, device: &DeviceView, block: usize) -> usize {
    blocks.node_first[block] as usize + device.later_first[block] as usize
}

fn places<'a>(blocks: &BlocksView, device: &DeviceView<'a>, block: usize) -> std::slice::Iter<'a, u16> {
    let [first, last] =
        [block, block + 1].map(|block| device.gather_first[first_local(blocks, device, block)] as usize);
    device.gather[DeviceTables::PIECE * first..DeviceTables::PIECE * last].iter()
}

/// An element by its nodes: those of tetrahedra may be in any order that leaves the orientation.
fn named(kind: ElementKind, element: u32, mut nodes: Vec<u32>) -> (u32, Vec<u32>, bool) {
    let mut odd = false;
    if kind == ElementKind::C3d4 {
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

/// Each block has the elements of which it is the first, each once, and every node the places of all its forces.
pub(super) fn agree(blocks: &BlocksView, device: &DeviceView, block: usize) -> Check {
    let (own, halo, later) = (blocks.own_nodes(block), blocks.halo(block), device.later(block));
    let solver = |others: &[u32], local: u16| match usize::from(local).checked_sub(own.len()) {
        None => Some((own.start + usize::from(local)) as u32),
        Some(at) => others.get(at).copied(),
    };
    let first_run = blocks.run_first[block] as usize;
    let mut found: Vec<Vec<_>> = blocks.runs(block).map(|_| Vec::new()).collect();
    let mut lists = vec![Vec::new(); own.len() + later.len()];
    let (n_items, mut item) = (items(blocks, device, block), 0);
    for colour in device.colours(block) {
        let Some(kind) = ElementKind::from_code(blocks.run_kind[colour.run]) else { continue };
        let [width, depth] = shape(kind);
        for (elements, row) in colour.elements.chunks_exact(depth).zip(colour.connectivity.chunks_exact(width)) {
            let mut add = |element: u32, nodes: &[u16]| {
                let nodes = nodes.iter().map(|&local| solver(later, local).unwrap_or(u32::MAX)).collect();
                found[colour.run - first_run].push(named(kind, element, nodes));
            };
            let mut n_nodes = width;
            if kind == ElementKind::C3d4 {
                n_nodes = 2 + ring_around(row);
                let mut elements = elements.iter();
                for nodes in ring_tetrahedra(row) {
                    add(elements.next().copied().unwrap_or(DeviceTables::NO_ELEMENT), &nodes);
                }
                require(elements.all(|&element| element == DeviceTables::NO_ELEMENT), || {
                    format!("block {block}: a ring of fewer tetrahedra than it names")
                })?;
            } else {
                add(elements[0], row);
            }
            for (place, &node) in row[..n_nodes].iter().enumerate() {
                if let Some(list) = lists.get_mut(usize::from(node)) {
                    list.push((place * n_items + item) as u16);
                }
            }
            item += 1;
        }
    }
    for (run, mut found) in blocks.runs(block).zip(found) {
        let mut expected = Vec::new();
        for (&element, nodes) in run.elements.iter().zip(run.connectivity.chunks_exact(run.kind.n_nodes())) {
            let nodes: Vec<u32> = nodes.iter().filter_map(|&local| solver(halo, local)).collect();
            if nodes.iter().all(|&node| node as usize >= own.start) {
                expected.push(named(run.kind, element, nodes));
            }
        }
        expected.sort_unstable();
        found.sort_unstable();
        require(found == expected, || {
            format!("block {block}: other elements than those that it is the first to touch")
        })?;
    }
    if n_items > DeviceTables::MOST_ITEMS as usize {
        return Ok(());
    }
    for (local, mut list) in lists.into_iter().enumerate() {
        let at = first_local(blocks, device, block) + local;
        let pieces = device.gather_first[at] as usize..device.gather_first[at + 1] as usize;
        list.resize(list.len().next_multiple_of(DeviceTables::PIECE), DeviceTables::NO_PLACE);
        let same = device.gather[DeviceTables::PIECE * pieces.start..DeviceTables::PIECE * pieces.end] == list;
        require(same, || format!("block {block}: other places of local node {local} than its elements have"))?;
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
        let owner = blocks.node_first.partition_point(|&first| first <= node) - 1;
        let place = (node - blocks.node_first[owner]) as usize;
        let place = (place < blocks.n_boundary[owner] as usize).then(|| boundary_first[owner] + place);
        let expected = place.and_then(|place| {
            let next = &mut next[place];
            *next += 1;
            (*next <= device.passed_first[place + 1]).then(|| *next - 1)
        });
        require(expected == Some(row), || format!("forces on node {node} that go astray"))?;
    }
    Ok(())
}

//! The tables for devices: what a kernel follows, and whether they say the same as the blocks.

use std::collections::HashMap;

use super::super::ring::shape;
use super::super::{BlocksView, DeviceTables, DeviceView, FanRecord, triangle_number};
use super::{grids, solids};
use crate::block::Table;
use crate::block::check::{Check, all_below, offsets, require};
use crate::mesh::ElementKind;
use crate::mesh::MeshView;
use crate::system::parallel::iterate::*;

/// Connectivity of a colour starts at a multiple of so many entries.
const ALIGNMENT: usize = 8;

pub(super) fn all(mesh: &MeshView, blocks: &BlocksView, device: &DeviceView, n_sections: usize) -> Check {
    let (n_blocks, n_nodes, n_halo) = (blocks.n_blocks(), mesh.n_nodes(), blocks.halo_nodes.len());
    offsets("colours of blocks", device.colour_first, n_blocks, device.n_colours())?;
    DeviceTables::check(device)?;
    let rings = solids::are_there(blocks);
    all_below("mixed colours", device.mixed_colours, device.n_colours())?;
    require(device.mixed_colours.is_sorted_by(|a, b| a < b), || "mixed colours are not in ascending order".into())?;
    let missing = |&element: &u32| rings && element == DeviceTables::NO_ELEMENT;
    let largest = device.coloured_elements.par_iter().filter(|element| !missing(element)).max();
    require(largest.is_none_or(|&largest| (largest as usize) < mesh.n_elements()), || {
        format!("elements of colours: index {} where {} exist", largest.unwrap_or(&0), mesh.n_elements())
    })?;
    solids::all(blocks, device, n_nodes)?;

    let n_materials = device.material_kind.len();
    all_below("section of materials", device.material_section, n_sections)?;
    require(device.material_kind.iter().all(|&kind| ElementKind::from_code(kind).is_some()), || {
        "materials: an element kind that does not exist".into()
    })?;
    grids::all(device, n_nodes)?;

    let length = |what: &str, found: usize, expected: usize| {
        require(found == expected, || format!("{what}: {found} words where {expected} are needed"))
    };
    length("material of fans", device.fan_material.len(), n_blocks)?;
    let any_fans = device.fan_material.iter().any(|&material| material != DeviceTables::NO_FANS);
    let any_mixed = device.fan_material.contains(&DeviceTables::MIXED);
    let halo_fans = device.has_halo_fans();
    let n_further = device.further_node.len();
    length("fans", device.fan.len(), if any_fans { 3 * n_nodes } else { 0 })?;
    length("materials of fans", device.fan_materials.len(), if any_mixed { n_nodes } else { 0 })?;
    length("fans of the halo", device.halo_fan.len(), if halo_fans { 3 * n_halo } else { 0 })?;
    let n_halo_materials = if any_mixed && halo_fans { n_halo } else { 0 };
    length("materials of the halo's fans", device.halo_fan_materials.len(), n_halo_materials)?;
    length("materials of further fans", device.further_materials.len(), if any_mixed { n_further } else { 0 })?;
    offsets("further fans of blocks", device.further_first, n_blocks, n_further)?;
    offsets("outer nodes of blocks", device.outer_first, n_blocks, device.outer_nodes.len())?;
    all_below("outer nodes", device.outer_nodes, n_nodes)?;
    require(halo_fans || device.outer_nodes.is_empty(), || "outer nodes without fans of the halo".into())?;
    offsets("materials of the fans of blocks", device.fan_plane_first, n_blocks, device.fan_planes.len())?;
    all_below("materials of fans", device.fan_planes, n_materials)?;
    (0..n_blocks).into_par_iter().with_min_len(16).try_for_each(|block| {
        colours(blocks, device, block, rings)?;
        fans(blocks, device, block, rings)
    })
}

fn colours(blocks: &BlocksView, device: &DeviceView, block: usize, solid: bool) -> Check {
    let runs = blocks.run_first[block]..blocks.run_first[block + 1];
    let others = if solid { device.later(block) } else { blocks.halo(block) };
    let n_local = blocks.own_nodes(block).len() + others.len();
    for colour in device.colour_first[block] as usize..device.colour_first[block + 1] as usize {
        let run = device.colour_run[colour];
        require(runs.contains(&run), || format!("colour {colour}: run {run} is not of block {block}"))?;
        let Some(kind) = ElementKind::from_code(blocks.run_kind[run as usize]) else {
            return Err(format!("run {run}: an element kind that does not exist"));
        };
        let n = (device.colour_element_first[colour + 1] - device.colour_element_first[colour]) as usize;
        let first = device.colour_connectivity_first[colour] as usize;
        let last = device.colour_connectivity_first[colour + 1] as usize;
        // As this holds for all before it, a colour starts at a multiple, too.
        let [width, depth] = if solid { shape(kind) } else { [kind.n_nodes(), 1] };
        require(n.is_multiple_of(depth) && last - first == (n / depth * width).next_multiple_of(ALIGNMENT), || {
            format!("colour {colour}: {} node indices for {n} {} elements", last - first, kind.name())
        })?;
        let nodes = &device.coloured_connectivity[first..last];
        let largest = if solid { solids::largest_node(nodes, width) } else { nodes.iter().copied().fold(0, u16::max) };
        require(n == 0 || usize::from(largest) < n_local, || {
            format!("colour {colour}: local node {largest} where {n_local} exist")
        })?;
    }
    Ok(())
}

fn fans(blocks: &BlocksView, device: &DeviceView, block: usize, solid: bool) -> Check {
    let (own, halo) =
        (blocks.own_nodes(block), blocks.halo_first[block] as usize..blocks.halo_first[block + 1] as usize);
    let n_outer = (device.outer_first[block + 1] - device.outer_first[block]) as usize;
    let further = device.further_first[block] as usize..device.further_first[block + 1] as usize;
    let (n_inner, n_local) = (own.len() + halo.len(), own.len() + halo.len() + n_outer);
    let n_materials = device.material_kind.len();
    let material = device.fan_material[block];
    if material == DeviceTables::NO_FANS {
        let coloured = device.colour_first[block] < device.colour_first[block + 1];
        require(solid || coloured || blocks.run_first[block] == blocks.run_first[block + 1], || {
            format!("block {block}: elements in neither colours nor fans")
        })?;
        let nothing = further.is_empty() && !device.has_halo_fans();
        return require(nothing, || format!("block {block}: has no fans, and some of them"));
    }
    let mixed = material == DeviceTables::MIXED;
    require(mixed || usize::from(material) < n_materials, || {
        format!("block {block}: material {material} where {n_materials} exist")
    })?;
    let n_planes = device.planes(block).len();
    require(n_planes <= FanRecord::MATERIALS && mixed == (n_planes > 0), || {
        format!("block {block}: fans of {n_planes} materials")
    })?;
    require(n_local <= FanRecord::LOCAL_NODES, || format!("block {block}: {n_local} nodes in fans"))?;
    let limit = |node: usize| if node < own.len() { n_inner } else { n_local };
    let one = |node: usize, record: FanRecord, materials: Option<&u32>| {
        require(record.is_sound(), || format!("block {block}: damaged fan of local node {node}"))?;
        // All slots: a kernel may read them before it looks how many count.
        let largest = (0..FanRecord::NEIGHBOURS).map(|k| record.neighbour(k)).fold(0, u16::max);
        let n = limit(node);
        require(usize::from(largest) < n, || format!("block {block}: local node {largest} in a fan where {n} exist"))?;
        let Some(&materials) = materials.filter(|_| mixed) else { return Ok(()) };
        let largest = (0..FanRecord::NEIGHBOURS - 1).map(|k| triangle_number(materials, k)).fold(0, usize::max);
        require(largest < n_planes, || format!("block {block}: material {largest} in a fan where {n_planes} exist"))
    };
    let mut next = further.start;
    let mut records = |node: usize, first: FanRecord, materials: Option<&u32>| {
        one(node, first, materials)?;
        let mut record = first;
        while record.has_further() {
            require(next < further.end && usize::from(device.further_node[next]) == node, || {
                format!("block {block}: a further fan of local node {node} is missing")
            })?;
            record = device.further_fan(next);
            one(node, record, device.further_materials.get(next))?;
            next += 1;
        }
        Ok::<(), String>(())
    };
    for (local, node) in own.clone().enumerate() {
        records(local, device.fan(node), device.fan_materials.get(node))?;
    }
    if device.has_halo_fans() {
        for (at, entry) in halo.enumerate() {
            records(own.len() + at, device.halo_fan(entry), device.halo_fan_materials.get(entry))?;
        }
    }
    require(next == further.end, || format!("block {block}: further fans of no node"))
}

/// In the plane the colours of each run, or of all runs of its kind, hold its elements, each once, and no two of one colour share
/// an own node, unless a block with fans has no colours; the fans of each own node hold its triangles, each once; the fans of the halo are those of the blocks that own it.
pub(super) fn agreement(blocks: &BlocksView, device: &DeviceView) -> Check {
    let solid = solids::are_there(blocks);
    if solid {
        solids::rows_agree(blocks, device)?;
    }
    (0..blocks.n_blocks()).into_par_iter().with_min_len(16).try_for_each(|block| {
        if solid {
            return solids::agree(blocks, device, block);
        }
        let with_fans = device.fan_material[block] != DeviceTables::NO_FANS;
        if !with_fans || device.colour_first[block] < device.colour_first[block + 1] {
            colours_agree(blocks, device, block)?;
        }
        if !with_fans {
            return Ok(());
        }
        fans_agree(blocks, device, block)?;
        if device.has_halo_fans() { halo_fans_agree(blocks, device, block) } else { Ok(()) }
    })
}

fn colours_agree(blocks: &BlocksView, device: &DeviceView, block: usize) -> Check {
    let n_own = blocks.own_nodes(block).len();
    let runs: Vec<_> = blocks.runs(block).collect();
    let first_run = blocks.run_first[block] as usize;
    let mut coloured: Vec<Vec<(u32, &[u16])>> = vec![Vec::new(); runs.len()];
    let run_of = if device.has_mixed_colours(block) { blocks.run_of_elements(block) } else { HashMap::new() };
    // The last colour that had each own node.
    let mut last = vec![usize::MAX; n_own];
    for (number, colour) in device.colours(block).enumerate() {
        let run = colour.run - first_run;
        let nodes = colour.connectivity.chunks_exact(runs[run].kind.n_nodes());
        for (&element, nodes) in colour.elements.iter().zip(nodes) {
            let run = if colour.is_mixed { run_of.get(&element).map_or(run, |run| run - first_run) } else { run };
            coloured[run].push((element, nodes));
            for (at, &node) in nodes.iter().enumerate() {
                let Some(last) = last.get_mut(usize::from(node)) else { continue };
                // An element may have a node twice.
                require(*last != number || nodes[..at].contains(&node), || {
                    format!("block {block}: two elements of a colour share local node {node}")
                })?;
                *last = number;
            }
        }
    }
    for (run, mut coloured) in runs.iter().zip(coloured) {
        let nodes = run.connectivity.chunks_exact(run.kind.n_nodes());
        let mut expected: Vec<(u32, &[u16])> = run.elements.iter().copied().zip(nodes).collect();
        expected.sort_unstable();
        coloured.sort_unstable();
        require(coloured == expected, || format!("block {block}: colours with other elements than their run"))?;
    }
    Ok(())
}

/// A record with the materials of its triangles, if the tables have them.
type Fan = (FanRecord, Option<u32>);

/// The records of an own node: the first and those that follow, with their materials.
fn own_records(blocks: &BlocksView, device: &DeviceView, block: usize, local: usize) -> Vec<Fan> {
    let node = blocks.own_nodes(block).start + local;
    let mut records = vec![(device.fan(node), device.fan_materials.get(node).copied())];
    further_records(device, block, local, &mut records);
    records
}

fn further_records(device: &DeviceView, block: usize, local: usize, records: &mut Vec<Fan>) {
    if records.last().is_some_and(|(first, _)| first.has_further()) {
        let range = device.further_first[block] as usize..device.further_first[block + 1] as usize;
        let nodes = &device.further_node[range.clone()];
        let first = range.start + nodes.partition_point(|&node| usize::from(node) < local);
        let n = nodes.iter().filter(|&&node| usize::from(node) == local).count();
        records
            .extend((first..first + n).map(|at| (device.further_fan(at), device.further_materials.get(at).copied())));
    }
}

fn fans_agree(blocks: &BlocksView, device: &DeviceView, block: usize) -> Check {
    let n_own = blocks.own_nodes(block).len();
    let mut expected = Vec::new();
    for run in blocks.runs(block) {
        let pair = (run.kind as u8, run.section as u32);
        let material = device.material_kind.iter().copied().zip(device.material_section.iter().copied());
        let Some(material) = material.into_iter().position(|other| other == pair) else {
            return Err(format!("block {block}: a run with a material that is not in the table"));
        };
        require(run.kind.n_nodes() == 3, || format!("block {block}: fans of {} elements", run.kind.name()))?;
        for nodes in run.connectivity.chunks_exact(3) {
            for [node, a, b] in [[0, 1, 2], [1, 2, 0], [2, 0, 1]].map(|corners| corners.map(|corner| nodes[corner])) {
                if usize::from(node) < n_own {
                    expected.push((node, a, b, material));
                }
            }
        }
    }
    let mut found = Vec::new();
    for local in 0..n_own {
        for (record, materials) in own_records(blocks, device, block, local) {
            for (k, [a, b]) in record.triangles().enumerate() {
                found.push((local as u16, a, b, device.triangle_material(block, materials, k)));
            }
        }
    }
    expected.sort_unstable();
    found.sort_unstable();
    require(found == expected, || format!("block {block}: fans with other triangles than its elements"))
}

fn halo_fans_agree(blocks: &BlocksView, device: &DeviceView, block: usize) -> Check {
    let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
    let outer = &device.outer_nodes[device.outer_first[block] as usize..device.outer_first[block + 1] as usize];
    require(outer.is_sorted_by(|a, b| a < b), || format!("block {block}: outer nodes are not sorted"))?;
    let solver = |block: usize, local: u16| {
        let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
        match usize::from(local).checked_sub(own.len()) {
            None => Some((own.start + usize::from(local)) as u32),
            Some(at) => halo.get(at).copied(),
        }
    };
    let here = |local: u16| {
        let outside = usize::from(local).checked_sub(own.len() + halo.len());
        outside.map_or_else(|| solver(block, local), |at| outer.get(at).copied())
    };
    for (at, &node) in halo.iter().enumerate() {
        let owner = blocks.block_of(node);
        let theirs = own_records(blocks, device, owner, (node - blocks.node_first[owner]) as usize);
        let entry = blocks.halo_first[block] as usize + at;
        let mut ours = vec![(device.halo_fan(entry), device.halo_fan_materials.get(entry).copied())];
        further_records(device, block, own.len() + at, &mut ours);
        let same = |(ours, theirs): (&Fan, &Fan)| {
            let nodes = ours.0.neighbours().map(here).eq(theirs.0.neighbours().map(|local| solver(owner, local)));
            let materials = (0..ours.0.n_triangles())
                .all(|k| device.triangle_material(block, ours.1, k) == device.triangle_material(owner, theirs.1, k));
            nodes && materials
        };
        require(ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same), || {
            format!("block {block}: the fan of halo node {node} is not that of block {owner}")
        })?;
    }
    Ok(())
}

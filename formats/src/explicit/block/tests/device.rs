//! Tables for devices, made the plain way: a closed fan where there is one, else a record a triangle.

use super::*;

type Record = (u16, FanRecord, u32);

/// The tables of any blocks.
pub(super) fn device(blocks: &Blocks) -> DeviceTables {
    let view = blocks.view();
    let materials: BTreeSet<(u8, u32)> =
        blocks.run_kind.iter().copied().zip(blocks.run_section.iter().copied()).collect();
    let materials: Vec<(u8, u32)> = materials.into_iter().collect();
    let mut device = DeviceTables {
        colour_first: vec![0],
        colour_element_first: vec![0],
        colour_connectivity_first: vec![0],
        material_kind: materials.iter().map(|pair| pair.0).collect(),
        material_section: materials.iter().map(|pair| pair.1).collect(),
        outer_first: vec![0; view.n_blocks() + 1],
        further_first: vec![0],
        later_first: vec![0; view.n_blocks() + 1],
        ..Default::default()
    };
    let mut records: Vec<Vec<Record>> = vec![];
    for block in 0..view.n_blocks() {
        colours(&view, block, &mut device);
        let runs: Vec<Run> = view.runs(block).collect();
        let number =
            |run: &Run| materials.iter().position(|&pair| pair == (run.kind as u8, run.section as u32)).unwrap();
        let triangles = runs.iter().all(|run| run.kind == ElementKind::Cpe3);
        device.fan_material.push(match runs.as_slice() {
            _ if !triangles => DeviceTables::NO_FANS,
            [] => DeviceTables::NO_FANS,
            [run] => number(run) as u16,
            _ => DeviceTables::MIXED,
        });
        records.push(if triangles && !runs.is_empty() { own_records(&view, block, &runs, number) } else { vec![] });
    }
    let has_fans = device.fan_material.iter().any(|&material| material != DeviceTables::NO_FANS);
    let has_halo_fans = !device.fan_material.contains(&DeviceTables::NO_FANS);
    if has_halo_fans {
        let own = records.clone();
        for (block, records) in records.iter_mut().enumerate() {
            let found = halo_records(&view, block, &own);
            let ours = |record: &Record| {
                (0..record.1.n_triangles())
                    .all(|k| usize::from(device.fan_material[block]) == triangle_number(record.2, k))
            };
            if !found.0.iter().all(ours) {
                device.fan_material[block] = DeviceTables::MIXED;
            }
            records.extend(found.0);
            device.outer_nodes.extend(found.1);
            device.outer_first[block + 1] = device.outer_nodes.len() as u64;
        }
    }
    let (mut own, mut halo) = (vec![], vec![]);
    for (block, records) in records.iter().enumerate() {
        let (n_own, n_halo) = (view.own_nodes(block).len(), view.halo(block).len());
        for local in 0..n_own + n_halo {
            let mut of_node = records.iter().filter(|record| usize::from(record.0) == local);
            let first = of_node.next().map_or((FanRecord::default(), 0), |record| (record.1, record.2));
            if local < n_own {
                own.push(first)
            } else {
                halo.push(first)
            }
            for record in of_node {
                device.further_node.push(record.0);
                device.further_fan.extend(record.1.words());
                device.further_materials.push(record.2);
            }
        }
        device.further_first.push(device.further_node.len() as u32);
    }
    let planes = |records: &[(FanRecord, u32)]| -> Vec<u32> {
        (0..3).flat_map(|word| records.iter().map(move |record| record.0.words()[word])).collect()
    };
    if has_fans {
        device.fan = planes(&own);
    }
    if has_halo_fans {
        device.halo_fan = planes(&halo);
    }
    // Fans of mixed blocks number all materials.
    device.fan_plane_first = vec![0];
    for &material in &device.fan_material {
        if material == DeviceTables::MIXED {
            device.fan_planes.extend(0..materials.len() as u32);
        }
        device.fan_plane_first.push(device.fan_planes.len() as u32);
    }
    let materials = |records: &[(FanRecord, u32)]| -> Vec<u32> { records.iter().map(|record| record.1).collect() };
    if device.fan_material.contains(&DeviceTables::MIXED) {
        device.fan_materials = materials(&own);
        device.halo_fan_materials = if has_halo_fans { materials(&halo) } else { vec![] };
    } else {
        device.further_materials.clear();
    }
    device
}

/// First fit.
fn colours(view: &BlocksView, block: usize, device: &mut DeviceTables) {
    let own = view.own_nodes(block).len();
    for (number, run) in view.runs(block).enumerate() {
        let mut batches: Vec<(BTreeSet<u16>, Vec<u32>, Vec<u16>)> = vec![];
        for (&element, nodes) in run.elements.iter().zip(run.connectivity.chunks(run.kind.n_nodes())) {
            let mine: BTreeSet<u16> = nodes.iter().copied().filter(|&node| usize::from(node) < own).collect();
            let at = batches.iter().position(|batch| batch.0.is_disjoint(&mine)).unwrap_or(batches.len());
            if at == batches.len() {
                batches.push(Default::default());
            }
            batches[at].0.extend(mine);
            batches[at].1.push(element);
            batches[at].2.extend(nodes);
        }
        for (_, elements, mut nodes) in batches {
            nodes.resize(nodes.len().next_multiple_of(8), 0);
            device.colour_run.push(view.run_first[block] + number as u32);
            device.coloured_elements.extend(elements);
            device.coloured_connectivity.extend(nodes);
            device.colour_element_first.push(device.coloured_elements.len() as u64);
            device.colour_connectivity_first.push(device.coloured_connectivity.len() as u64);
        }
    }
    device.colour_first.push(device.colour_run.len() as u32);
}

fn own_records(view: &BlocksView, block: usize, runs: &[Run], number: impl Fn(&Run) -> usize) -> Vec<Record> {
    let mut records = vec![];
    for local in 0..view.own_nodes(block).len() as u16 {
        let mut sides = vec![];
        for run in runs {
            for nodes in run.connectivity.chunks(3) {
                for [node, a, b] in
                    [[0, 1, 2], [1, 2, 0], [2, 0, 1]].map(|corners: [usize; 3]| corners.map(|c| nodes[c]))
                {
                    if node == local {
                        sides.push((a, b, number(run) as u32));
                    }
                }
            }
        }
        let start = sides.iter().map(|side| side.0).min_by_key(|&node| solver(view, block, node)).unwrap_or(0);
        let mut round: Vec<(u16, u16, u32)> = vec![];
        while let Some(side) = sides.iter().find(|side| side.0 == round.last().map_or(start, |last| last.1)) {
            round.push(*side);
            if side.1 == start || round.len() > sides.len() {
                break;
            }
        }
        let closed = round.len() == sides.len() && round.last().is_some_and(|last| last.1 == start);
        if closed && round.len() <= 8 {
            let materials = round.iter().enumerate().fold(0, |word, (k, side)| word | side.2 << (4 * k));
            records.push((local, FanRecord::new(round.iter().map(|side| side.0).chain([start])), materials));
        } else {
            let n = sides.len();
            records.extend(
                sides
                    .into_iter()
                    .enumerate()
                    .map(|(i, (a, b, material))| (local, FanRecord::new([a, b]).with_further(i + 1 < n), material)),
            );
        }
    }
    records
}

fn solver(view: &BlocksView, block: usize, local: u16) -> u32 {
    let own = view.own_nodes(block);
    let local = usize::from(local);
    if local < own.len() { (own.start + local) as u32 } else { view.halo(block)[local - own.len()] }
}

/// Records of the halo of a block, and its outer nodes.
fn halo_records(view: &BlocksView, block: usize, records: &[Vec<Record>]) -> (Vec<Record>, Vec<u32>) {
    let (own, halo) = (view.own_nodes(block), view.halo(block));
    let mut known: Vec<u32> = own.clone().map(|node| node as u32).chain(halo.iter().copied()).collect();
    let mut found: Vec<(u16, Vec<u32>, FanRecord, u32)> = vec![];
    let mut outer = BTreeSet::new();
    for (at, &node) in halo.iter().enumerate() {
        let owner = view.node_first.partition_point(|&first| first <= node) - 1;
        for &(local, record, materials) in &records[owner] {
            if solver(view, owner, local) == node {
                let nodes: Vec<u32> = record.neighbours().map(|local| solver(view, owner, local)).collect();
                outer.extend(nodes.iter().copied().filter(|node| !known.contains(node)));
                found.push(((own.len() + at) as u16, nodes, record, materials));
            }
        }
    }
    known.extend(&outer);
    let local = |node: &u32| known.iter().position(|known| known == node).unwrap() as u16;
    let translate = |(node, nodes, record, materials): (u16, Vec<u32>, FanRecord, u32)| {
        let there = FanRecord::new(nodes.iter().map(local)).with_further(record.has_further());
        (node, there, materials)
    };
    (found.into_iter().map(translate).collect(), outer.into_iter().collect())
}

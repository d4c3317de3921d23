use std::collections::{BTreeMap, BTreeSet};

use pogo_formats::explicit::block::corner::{ABSENT, BATCH, MOST_LOCAL_NODES, local_node, turn_of, ways_of};
use pogo_formats::explicit::block::grid;
use pogo_formats::explicit::block::grid::{CORNERS, NODE, NOTHING, PRESENT, WHOLE};
use pogo_formats::explicit::block::ring::{ring_around, ring_tetrahedra, shape};
use pogo_formats::explicit::block::{DeviceTables, DeviceView, FanRecord};
use pogo_formats::mesh::{ElementKind, Mesh};
use proptest::prelude::*;

use super::damage::error;
use super::device_tables;
use crate::explicit::arrange::tests::{arranged, mesh, plates, solid, triangles};
use crate::explicit::arrange::{Arranged, Partition, arrange};
use crate::partition::Partitioner;

/// Solver index of a local index, outer nodes included.
fn solver(arranged: &Arranged, block: usize, local: u16) -> u32 {
    let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
    let (own, halo) = (blocks.own_nodes(block), blocks.halo(block));
    let outer = &device.outer_nodes[device.outer_first[block] as usize..device.outer_first[block + 1] as usize];
    let local = usize::from(local);
    if local < own.len() {
        (own.start + local) as u32
    } else {
        *halo.iter().chain(outer).nth(local - own.len()).unwrap()
    }
}

/// Records of a local node with their materials, as a kernel walks them.
fn records(arranged: &Arranged, block: usize, local: usize) -> Vec<(FanRecord, u32)> {
    let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
    let own = blocks.own_nodes(block);
    let word = |words: &[u32], at: usize| words.get(at).copied().unwrap_or_default();
    let mut records = vec![if local < own.len() {
        (device.fan(own.start + local), word(device.fan_materials, own.start + local))
    } else {
        let entry = blocks.halo_first[block] as usize + local - own.len();
        (device.halo_fan(entry), word(device.halo_fan_materials, entry))
    }];
    for record in device.further_first[block] as usize..device.further_first[block + 1] as usize {
        if usize::from(device.further_node[record]) == local {
            assert!(records.last().unwrap().0.has_further());
            records.push((device.further_fan(record), word(device.further_materials, record)));
        }
    }
    assert!(!records.last().unwrap().0.has_further());
    records
}

/// What a triangle is worth: any corner may come first, but not the wrong way round.
fn worth([a, b, c]: [u32; 3], (kind, section): (u8, u32)) -> u64 {
    let least = [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap();
    least
        .into_iter()
        .chain([kind.into(), section])
        .fold(7, |worth: u64, value| (worth ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

/// Number of triangles of each node, and the sum of what they are worth.
fn direct(mesh: &Mesh) -> Vec<(usize, u64)> {
    let mut sums = vec![(0, 0_u64); mesh.n_nodes()];
    for group in mesh.groups.iter().filter(|group| group.kind.n_nodes() == 3) {
        for (nodes, &section) in group.connectivity.chunks_exact(3).zip(&group.section) {
            for &node in nodes {
                let (n, sum) = &mut sums[node as usize];
                *n += 1;
                *sum = sum.wrapping_add(worth([nodes[0], nodes[1], nodes[2]], (group.kind as u8, section)));
            }
        }
    }
    sums
}

fn material(device: &DeviceView, block: usize, materials: u32, k: usize) -> (u8, u32) {
    let number = device.triangle_material(block, Some(materials), k);
    (device.material_kind[number], device.material_section[number])
}

/// Everything that the tables promise, by brute force. Returns how many nodes of own and halo had fans.
fn check(arranged: &Arranged) -> [usize; 2] {
    let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
    let direct = direct(&arranged.mesh);
    let mut seen = [0, 0];
    // Neighbours of each node in solver indices, as its own block has them.
    let mut of_owner: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
    for halo in [false, true] {
        for block in 0..blocks.n_blocks() {
            if !halo {
                if arranged.mesh.dimension == 2 {
                    check_colours(arranged, block);
                } else {
                    check_solids(arranged, block);
                }
            }
            let n_own = blocks.own_nodes(block).len();
            let locals = if halo { n_own..n_own + blocks.halo(block).len() } else { 0..n_own };
            if device.fan_material[block] == DeviceTables::NO_FANS || (halo && !device.has_halo_fans()) {
                continue;
            }
            for local in locals {
                let node = solver(arranged, block, local as u16);
                let (mut n, mut sum) = (0, 0_u64);
                let mut rows = vec![];
                let records = records(arranged, block, local);
                for &(record, materials) in &records {
                    let nodes: Vec<u32> = record.neighbours().map(|local| solver(arranged, block, local)).collect();
                    if records.len() == 1 && nodes.len() > 1 && nodes.first() == nodes.last() {
                        assert_eq!(nodes.iter().min(), nodes.first(), "a closed fan starts at its lowest neighbour");
                    }
                    for (k, side) in record.triangles().enumerate() {
                        let [a, b] = side.map(|local| solver(arranged, block, local));
                        n += 1;
                        sum = sum.wrapping_add(worth([node, a, b], material(&device, block, materials, k)));
                    }
                    rows.push(nodes);
                }
                assert_eq!((n, sum), direct[node as usize], "block {block}, local node {local}");
                if halo {
                    assert_eq!(of_owner[&node], rows, "a halo node's fan is not that of its block");
                } else {
                    of_owner.insert(node, rows);
                }
                seen[usize::from(halo)] += 1;
            }
        }
    }
    seen
}

fn check_colours(arranged: &Arranged, block: usize) {
    let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
    let n_own = blocks.own_nodes(block).len();
    let first_run = blocks.run_first[block] as usize;
    let mut colours = device.colours(block).peekable();
    let runs: Vec<_> = blocks.runs(block).collect();
    let mut number = first_run;
    for runs in super::together(&runs, device.has_mixed_colours(block)) {
        let width = runs[0].kind.n_nodes();
        let elements: Vec<u32> = runs.iter().flat_map(|run| run.elements).copied().collect();
        let connectivity: Vec<u16> = runs.iter().flat_map(|run| run.connectivity).copied().collect();
        let place: BTreeMap<u32, usize> = elements.iter().enumerate().map(|(at, &element)| (element, at)).collect();
        let mut found = BTreeSet::new();
        let mut n_colours = 0;
        while let Some(colour) = colours.next_if(|colour| colour.run == number) {
            assert_eq!(colour.is_mixed, runs.len() > 1);
            let (mut used, mut last) = (BTreeSet::new(), None);
            assert!(!colour.elements.is_empty());
            assert_eq!(colour.connectivity.len(), (colour.elements.len() * width).next_multiple_of(8));
            for (element, nodes) in colour.elements.iter().zip(colour.connectivity.chunks_exact(width)) {
                let at = place[element];
                assert!(last < Some(at), "the order of the run is kept");
                last = Some(at);
                assert_eq!(nodes, &connectivity[at * width..(at + 1) * width]);
                assert!(found.insert(element));
                for &node in nodes.iter().filter(|&&node| usize::from(node) < n_own) {
                    assert!(used.insert(node), "two elements of a colour share an own node");
                }
            }
            n_colours += 1;
        }
        number += runs.len();
        assert_eq!(found.len(), elements.len());
        let mut degree = vec![0; n_own];
        connectivity.iter().filter_map(|&node| degree.get_mut(usize::from(node)).map(|d| *d += 1)).for_each(drop);
        let least = degree.into_iter().max().unwrap();
        assert!((least..=2 * least + 2).contains(&n_colours), "{n_colours} colours where {least} are needed");
    }
    assert!(colours.next().is_none());
}

/// Adds up what a kernel adds up: every element gives each of its nodes its number and which corner it is.
fn check_solids(arranged: &Arranged, block: usize) {
    let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
    let (own, later) = (blocks.own_nodes(block), device.later(block));
    assert!(later.iter().all(|&node| node as usize >= own.end) && later.is_sorted());
    let n_local = own.len() + later.len();
    let node = |local: u16| match usize::from(local).checked_sub(own.len()) {
        None => (own.start + usize::from(local)) as u32,
        Some(at) => later[at],
    };
    assert!(n_local <= MOST_LOCAL_NODES);
    let mut found: Vec<(u32, BTreeSet<u32>)> = vec![];
    for run in device.colours(block) {
        let kind = ElementKind::from_code(blocks.run_kind[run.run]).unwrap();
        let [width, depth] = shape(kind);
        for (batch, of_batch) in run.connectivity.chunks(BATCH * width).zip(run.elements.chunks(BATCH * depth)) {
            let mut seen = BTreeSet::new();
            for (row, elements) in batch.chunks_exact(width).zip(of_batch.chunks_exact(depth)) {
                if row[0] == ABSENT {
                    assert!(row.iter().all(|&corner| corner == ABSENT));
                    assert!(elements.iter().all(|&element| element == DeviceTables::NO_ELEMENT));
                    continue;
                }
                let mut n = width;
                if kind == ElementKind::C3d4 {
                    n = 2 + ring_around(row);
                    let tetrahedra: Vec<[u16; 4]> = ring_tetrahedra(row).collect();
                    assert!((1..=6).contains(&tetrahedra.len()));
                    for (nodes, &element) in tetrahedra.iter().zip(elements) {
                        found.push((element, nodes.iter().map(|&local| node(local)).collect()));
                    }
                    assert!(elements[tetrahedra.len()..].iter().all(|&element| element == DeviceTables::NO_ELEMENT));
                } else {
                    found.push((elements[0], row.iter().map(|&corner| node(local_node(corner))).collect()));
                }
                for (slot, &corner) in row[..n].iter().enumerate() {
                    let round = if turn_of(corner) == 0 { slot as u16 } else { 100 + turn_of(corner) };
                    assert!(seen.insert((round, local_node(corner))), "two add to one node at once");
                }
            }
        }
    }
    // The elements that touch this block and no earlier one.
    let mut expected: Vec<(u32, BTreeSet<u32>)> = vec![];
    for run in blocks.runs(block) {
        for (&element, nodes) in run.elements.iter().zip(run.connectivity.chunks_exact(run.kind.n_nodes())) {
            let nodes: BTreeSet<u32> = nodes.iter().map(|&local| solver(arranged, block, local)).collect();
            if nodes.first().is_some_and(|&node| node as usize >= own.start) {
                expected.push((element, nodes));
            }
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

fn arranged_as(model: &Mesh, block_of_node: Vec<u32>) -> Arranged {
    let partition = Partition::new(&model.view(), block_of_node, 4000).unwrap();
    arrange(model.clone(), partition, &Default::default()).unwrap()
}

#[test]
fn plate_with_hole_and_crack_has_fans_everywhere() {
    let model =
        triangles(70, 50, |i, j| !((30..45).contains(&i) && (15..30).contains(&j) || i < 20 && (34..36).contains(&j)));
    for (capacity, partitioner) in [(17, Partitioner::Greedy), (64, Partitioner::Aligned), (512, Partitioner::Metis)] {
        let arranged = arranged(&model, partitioner, capacity, false);
        let seen = check(&arranged);
        assert_eq!(seen, [model.n_nodes(), arranged.blocks.halo_nodes.len()]);
        assert!(arranged.device.fan_material.contains(&DeviceTables::MIXED));
    }
}

#[test]
fn solids_have_each_element_once() {
    // Runs of a few elements each, which share their batches.
    let mut grains = solid(9);
    for group in &mut grains.groups {
        group.section.iter_mut().enumerate().for_each(|(element, section)| *section = element as u32 / 4 % 7);
    }
    for model in [solid(9), tetrahedra(8), grains] {
        for capacity in [30, 512] {
            let arranged = arranged(&model, Partitioner::Greedy, capacity, false);
            assert_eq!(check(&arranged), [0, 0]);
            let (blocks, device) = (arranged.blocks.view(), arranged.device.view());
            assert!(device.fan.is_empty());
            let n = device.coloured_elements.iter().filter(|&&element| element != DeviceTables::NO_ELEMENT).count();
            assert_eq!(n, arranged.mesh.n_elements());
            // Forces passed on come to the nodes that they are meant for, each to a row of its own.
            let mut rows = BTreeSet::new();
            let boundary: Vec<usize> = (0..blocks.n_blocks())
                .flat_map(|block| blocks.own_nodes(block).take(blocks.n_boundary[block] as usize))
                .collect();
            for (&node, row) in device.later_nodes.iter().zip(device.passed_row) {
                let place = boundary.binary_search(&(node as usize)).unwrap();
                assert!((device.passed_first[place]..device.passed_first[place + 1]).contains(row));
                assert!(rows.insert(row));
            }
            assert_eq!(device.passed_first.last().copied(), Some(rows.len() as u32));
        }
    }
}

/// Cubes of six tetrahedra round a diagonal: most of them find each other again.
#[test]
fn tetrahedra_round_an_edge_stand_together() {
    let arranged = arranged(&tetrahedra(8), Partitioner::Greedy, 4000, false);
    let n_rings =
        arranged.device.coloured_elements.chunks(6).filter(|ring| ring[0] != DeviceTables::NO_ELEMENT).count();
    assert!(n_rings * 4 < arranged.mesh.n_elements(), "{n_rings} rings");
}

/// Cubes, each of six tetrahedra along its diagonal.
fn tetrahedra(n: u32) -> Mesh {
    let at = |i: u32, j: u32, k: u32| i + (n + 1) * (j + (n + 1) * k);
    let (mut coordinates, mut connectivity) = (vec![], vec![]);
    for cell in 0..(n + 1).pow(3) {
        let [i, j, k] = [cell % (n + 1), cell / (n + 1) % (n + 1), cell / (n + 1) / (n + 1)];
        coordinates.extend([i, j, k].map(f64::from));
        if i == n || j == n || k == n {
            continue;
        }
        for (x, y) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
            let mut step = [0; 3];
            step[x] = 1;
            let p = at(i + step[0], j + step[1], k + step[2]);
            step[y] = 1;
            let q = at(i + step[0], j + step[1], k + step[2]);
            let (p, q) = if matches!((x, y), (0, 1) | (1, 2) | (2, 0)) { (p, q) } else { (q, p) };
            connectivity.extend([at(i, j, k), p, q, at(i + 1, j + 1, k + 1)]);
        }
    }
    mesh(3, coordinates, vec![(ElementKind::C3d4, connectivity)])
}

/// Triangles on the left, quadrilaterals on the right: no fans there, and then none of any halo.
#[test]
fn blocks_with_other_elements_have_no_fans() {
    let mut model = triangles(20, 10, |_, _| true);
    let kept: Vec<u32> = (0..400).filter(|element| element / 2 % 20 < 10).collect();
    let connectivity = |element: u32| model.groups[0].connectivity[element as usize * 3..][..3].to_vec();
    let left = kept.iter().flat_map(|&element| connectivity(element)).collect();
    let right: Vec<u32> = (0..200_u32)
        .filter(|cell| cell % 20 >= 10)
        .flat_map(|cell| {
            let a = cell / 20 * 21 + cell % 20;
            [a, a + 1, a + 22, a + 21]
        })
        .collect();
    model = mesh(2, model.coordinates, vec![(ElementKind::Cpe3, left), (ElementKind::Cpe4r, right)]);
    let arranged = arranged_as(&model, (0..231).map(|node| node % 21 / 6).collect());
    let [own, halo] = check(&arranged);
    assert_eq!((own, halo), (66, 0));
    let device = &arranged.device;
    assert_eq!(
        device.fan_material.iter().map(|&m| m == DeviceTables::NO_FANS).collect::<Vec<_>>(),
        [false, true, true, true]
    );
    assert!(device.outer_nodes.is_empty() && device.outer_first.iter().all(|&first| first == 0));
    assert!(device.fan[66 * 3..].len() == 231 * 3 - 66 * 3);
}

/// Wheels of 7, 8, 9, 16 and 30 triangles round a hub, whole and with a gap: several records a node.
#[test]
fn long_fans_go_on_in_further_records() {
    for n in [3_u32, 7, 8, 9, 16, 30] {
        for gap in [false, true] {
            let mut coordinates = vec![0.0, 0.0];
            for spoke in 0..n {
                let angle = std::f64::consts::TAU * f64::from(spoke) / f64::from(n);
                coordinates.extend([angle.cos(), angle.sin()]);
            }
            let rim = |spoke: u32| 1 + spoke % n;
            let connectivity =
                (0..n - u32::from(gap)).flat_map(|spoke| [rim(spoke), rim(spoke + 1), 0]).collect::<Vec<_>>();
            let model = mesh(2, coordinates, vec![(ElementKind::Cps3, connectivity)]);
            for n_blocks in [1, 3] {
                let arranged = arranged_as(&model, (0..=n).map(|node| node % n_blocks).collect());
                check(&arranged);
                let hub = arranged.solver_from_model[0] as usize;
                let (local, block) = arranged
                    .blocks
                    .node_first
                    .windows(2)
                    .enumerate()
                    .find(|(_, own)| (own[0] as usize..own[1] as usize).contains(&hub))
                    .map(|(block, own)| (hub - own[0] as usize, block))
                    .unwrap();
                let n_triangles = (n - u32::from(gap)) as usize;
                let expected = n_triangles.div_ceil(8);
                assert_eq!(records(&arranged, block, local).len(), expected, "{n} {gap}");
            }
        }
    }
}

/// Triangles that lie on others, twice and upside down, and three on one edge: each is there once all the same.
#[test]
fn any_triangles_are_all_there_once() {
    let rows = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 1, 4], [3, 4, 0], [2, 3, 0], [4, 2, 0], [1, 4, 3]];
    let model = mesh(2, vec![0.0; 10], vec![(ElementKind::Cpe3, rows.repeat(9).concat())]);
    for n_blocks in [1, 2, 5] {
        assert_eq!(check(&arranged_as(&model, (0..5).map(|node| node % n_blocks).collect()))[0], 5);
    }
}

#[test]
fn more_materials_than_four_bits_tell_apart() {
    let mut model = triangles(40, 10, |_, _| true);
    // Column by column another section: blocks of several columns are mixed beyond what fans can say.
    model.groups[0].section = (0..800).map(|element| element / 2 % 40).collect();
    let arranged = arranged_as(&model, (0..41 * 11).map(|node| (node % 41).min(39) / 20).collect());
    assert_eq!(check(&arranged), [0, 0]);
    // Blocks of fewer columns number theirs and those of their halo.
    let arranged = arranged_as(&model, (0..41 * 11).map(|node| (node % 41).min(39) / 10).collect());
    assert_eq!(check(&arranged), [451, arranged.blocks.halo_nodes.len()]);
    assert!((0..4).all(|block| (11..=13).contains(&arranged.device.view().planes(block).len())));
    // Those that have too many with their halo let no block make two steps.
    let arranged = arranged_as(&model, (0..41 * 11).map(|node| (node % 41).min(39) / 15).collect());
    assert_eq!(check(&arranged), [451, 0]);
    // With two materials in some blocks fans can.
    model.groups[0].section = (0..800).map(|element| element / 2 % 40 / 20).collect();
    let arranged = arranged_as(&model, (0..41 * 11).map(|node| (node % 41).min(39) / 10).collect());
    assert_eq!(check(&arranged), [451, arranged.blocks.halo_nodes.len()]);
    assert!(arranged.device.halo_fan_materials.len() == arranged.blocks.halo_nodes.len());
    // Many materials, but each block with its halo has one alone.
    let model = many_squares(20);
    let arranged = arranged_as(&model, (0..model.n_nodes() as u32).map(|node| node / 9).collect());
    assert_eq!(check(&arranged)[0], 180);
    assert_eq!(arranged.device.fan_material, (0..20).collect::<Vec<u16>>());
}

/// Separate squares of nine nodes, each with a section of its own.
fn many_squares(n: u32) -> Mesh {
    let mut coordinates = vec![];
    let mut connectivity = vec![];
    for square in 0..n {
        for node in 0..9 {
            coordinates.extend([f64::from(square * 3 + node % 3), f64::from(node / 3)]);
        }
        for a in [0, 1, 3, 4].map(|corner| 9 * square + corner) {
            connectivity.extend([a, a + 1, a + 4, a, a + 4, a + 3]);
        }
    }
    let mut model = mesh(2, coordinates, vec![(ElementKind::Cpe3, connectivity)]);
    model.groups[0].section = (0..8 * n).map(|element| element / 8).collect();
    model
}

/// A block that is too large for the fans' local indices, and one that is so only with its outer nodes.
#[test]
fn large_blocks_have_no_fans() {
    let model = triangles(49, 39, |_, _| true);
    let halves = |first: u32| (0..2000).map(|node| u32::from(node / 50 >= first)).collect();
    let arranged = arranged_as(&model, halves(20));
    assert_eq!(check(&arranged), [0, 0], "1,000 own nodes and 50 of the halo");
    let arranged = arranged_as(&model, (0..2000).map(|node| (node / 50_u32).saturating_sub(11) / 8).collect());
    assert_eq!(check(&arranged), [2000, 0], "950 own nodes, 50 of the halo, 50 outer");
    let arranged = arranged_as(&model, (0..2000).map(|node| (node / 50_u32).saturating_sub(10) / 8).collect());
    assert_eq!(check(&arranged), [2000, 300], "900 own nodes, 50 of the halo, 50 outer");
}

/// Colours are for blocks without fans alone, if they say so; all else stays.
#[test]
fn fans_alone() {
    let both = arranged_as(&triangles(49, 39, |_, _| true), (0..2000).map(|node| u32::from(node >= 1500)).collect());
    let alone = device_tables(&both.blocks.view(), true);
    assert_eq!(both.device.fan_material[0], DeviceTables::NO_FANS);
    assert_ne!(both.device.fan_material[1], DeviceTables::NO_FANS);
    let n_colours = both.device.colour_first[1] as usize;
    assert!(n_colours > 0 && n_colours < both.device.colour_run.len());
    assert_eq!(alone.colour_first, [0, n_colours as u32, n_colours as u32]);
    assert_eq!(alone.colour_run, both.device.colour_run[..n_colours]);
    let rest = |device: DeviceTables| DeviceTables {
        colour_first: vec![],
        colour_run: vec![],
        colour_element_first: vec![],
        colour_connectivity_first: vec![],
        coloured_elements: vec![],
        coloured_connectivity: vec![],
        ..device
    };
    assert_eq!(rest(alone), rest(both.device));
}

#[test]
fn the_same_for_every_thread_count() {
    let plate = arranged(&triangles(90, 70, |i, j| (i + 3 * j) % 97 != 0), Partitioner::Aligned, 60, false);
    let solid = arranged(&solid(9), Partitioner::Aligned, 60, false);
    for arranged in [plate, solid] {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| device_tables(&arranged.blocks.view(), false)) == arranged.device);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_plate(
        mut model in plates(),
        capacity in 1_usize..90,
        n_sections in 1_u32..20,
        stripe in 1_u32..80,
    ) {
        for (element, section) in model.groups[0].section.iter_mut().enumerate() {
            *section = element as u32 / stripe % n_sections;
        }
        check(&arranged(&model, Partitioner::Greedy, capacity, false));
    }
}

/// Grids of a model in one section, their cells, and nodes that are whole in one. Elements are turned as they may be.
fn counted(mut model: Mesh) -> [usize; 3] {
    model.groups.iter_mut().for_each(|group| group.section.fill(0));
    counted_by_section(model)
}

fn counted_by_section(mut model: Mesh) -> [usize; 3] {
    for group in model.groups.iter_mut().filter(|group| group.kind != ElementKind::C3d6) {
        let ways = ways_of(group.kind);
        for (e, nodes) in group.connectivity.chunks_exact_mut(group.kind.n_nodes()).enumerate() {
            let before = nodes.to_vec();
            for (node, &corner) in nodes.iter_mut().zip(&ways[7 * e % ways.len()]) {
                *node = before[usize::from(corner)];
            }
        }
    }
    let arranged = arranged(&model, Partitioner::Greedy, 100, false);
    assert_eq!(error(&arranged, |_| ()), [None, None]);
    let places = &arranged.device.grid_places;
    assert!(places.iter().all(|&word| word == NOTHING || word & NODE < arranged.mesh.n_nodes() as u32));
    let count = |bit: u32| places.iter().filter(|&&word| word & bit != 0).count();
    [arranged.device.grid_material.len(), count(PRESENT), count(WHOLE)]
}

#[test]
fn hexahedra_stand_in_grids_however_they_are_turned() {
    // Five layers of hexahedra under wedges and those under four of tetrahedra: the nodes in between are not whole.
    let model = solid(13);
    assert_eq!(counted(model.clone()), [2, 9 * 13 * 13, 9 * 14 * 14]);
    // Without an element in the middle its nodes have seven elements each, which is all.
    let mut hole = model;
    let group = hole.groups.iter_mut().find(|group| group.kind == ElementKind::C3d8).unwrap();
    let middle = 2 * 13 * 13 + 6 * 13 + 6;
    group.connectivity.drain(8 * middle..8 * (middle + 1));
    group.labels.pop();
    group.section.pop();
    group.instance.pop();
    assert_eq!(counted(hole), [2, 9 * 13 * 13 - 1, 9 * 14 * 14]);
}

#[test]
fn a_grid_round_a_ring_has_a_seam() {
    let (radial, round, high) = (5, 24, 6);
    let node = |[i, j, k]: [usize; 3]| ((k * round + j % round) * (radial + 1) + i) as u32;
    let mut coordinates = Vec::new();
    let (mut hexahedra, mut six_each) = (Vec::new(), Vec::new());
    for k in 0..=high {
        for j in 0..round {
            for i in 0..=radial {
                let (sin, cos) = (j as f64 / round as f64 * std::f64::consts::TAU).sin_cos();
                coordinates.extend([cos * (2.0 + i as f64), sin * (2.0 + i as f64), k as f64]);
                if i < radial && k < high {
                    let corners = CORNERS.map(|[a, b, c]| node([i + a, j + b, k + c]));
                    hexahedra.extend(corners);
                    six_each.extend(grid::tetrahedra(corners).as_flattened());
                }
            }
        }
    }
    let n_nodes = coordinates.len() / 3;
    let seam = (radial + 1) * (high + 1);
    for (kind, connectivity) in [(ElementKind::C3d8, hexahedra), (ElementKind::C3d4, six_each)] {
        let model = mesh(3, coordinates.clone(), vec![(kind, connectivity)]);
        assert_eq!(counted(model), [1, radial * round * high, n_nodes - seam]);
    }
}

/// A number between -1/2 and 1/2 that looks random.
fn noise(of: usize) -> f64 {
    let mixed = (of as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as f64 / u64::MAX as f64 - 0.5
}

/// Tetrahedra, six a cell, in a box of cells with `at` its nodes; as `cut` says the cell is turned round its third axis.
fn six_each(size: [usize; 3], at: impl Fn([f64; 3]) -> [f64; 3], cut: impl Fn([usize; 3]) -> usize) -> Mesh {
    let [ni, nj, nk] = size.map(|n| n + 1);
    let node = |[i, j, k]: [usize; 3]| (i + ni * (j + nj * k)) as u32;
    let (mut coordinates, mut connectivity) = (Vec::new(), Vec::new());
    for k in 0..nk {
        for j in 0..nj {
            for i in 0..ni {
                let moved = |axis: usize| {
                    let at = [i, j, k][axis];
                    let inner = at > 0 && at < size[axis];
                    at as f64 + if inner { 0.3 * noise(coordinates.len() + axis) } else { 0.0 }
                };
                coordinates.extend(at([0, 1, 2].map(moved)));
                if i < size[0] && j < size[1] && k < size[2] {
                    let corners = CORNERS.map(|[a, b, c]| node([i + a, j + b, k + c]));
                    let turned = [0, 1, 2, 3, 4, 5, 6, 7].map(|c| corners[c / 4 * 4 + (c + cut([i, j, k])) % 4]);
                    connectivity.extend(grid::tetrahedra(turned).as_flattened());
                }
            }
        }
    }
    mesh(3, coordinates, vec![(ElementKind::C3d4, connectivity)])
}

/// Leaves out elements of the only group.
fn keep(model: &mut Mesh, keep: impl Fn(usize) -> bool) {
    let group = &mut model.groups[0];
    let kept: Vec<usize> = (0..group.labels.len()).filter(|&e| keep(e)).collect();
    group.connectivity = kept.iter().flat_map(|e| group.connectivity[4 * e..4 * e + 4].to_vec()).collect();
    group.labels.truncate(kept.len());
    group.instance.truncate(kept.len());
    group.section = kept.iter().map(|&e| group.section[e]).collect();
}

#[test]
fn tetrahedra_stand_in_grids_whatever_their_shape() {
    let n_nodes = 10 * 11 * 13;
    let all = [1, 9 * 10 * 12, n_nodes];
    // Graded, sheared and bent; and cut round any of the four diagonals.
    let shapes: [fn([f64; 3]) -> [f64; 3]; 6] = [
        |at| at,
        |[x, y, z]| [x, y, 5.0 * z],
        |[x, y, z]| [0.1 * x, y, 3.0 * z],
        |[x, y, z]| [x - 0.8 * y - 0.9 * z, y, z],
        |[x, y, z]| [x + 2.0 * y, y - 1.5 * z, z],
        |[x, y, z]| [(3.0 + y) * (0.2 * x).cos(), (3.0 + y) * (0.2 * x).sin(), (0.1 * z).exp()],
    ];
    for (shape, at) in shapes.into_iter().enumerate() {
        for turn in 0..4 {
            let model = six_each([9, 10, 12], at, |_| turn);
            assert_eq!(counted(model), all, "shape {shape}, turn {turn}");
        }
    }
    // Whatever the numbers of nodes and the order of elements.
    let mut model = six_each([9, 10, 12], |at| at, |_| 0);
    let mut from: Vec<usize> = (0..n_nodes).collect();
    from.sort_by(|&a, &b| noise(a).total_cmp(&noise(b)));
    let mut to = vec![0; n_nodes];
    from.iter().enumerate().for_each(|(new, &old)| to[old] = new as u32);
    model.coordinates = from.iter().flat_map(|&old| model.coordinates[3 * old..3 * old + 3].to_vec()).collect();
    let mut elements: Vec<Vec<u32>> = model.groups[0].connectivity.chunks(4).map(<[u32]>::to_vec).collect();
    let key = |nodes: &[u32]| noise(nodes.iter().map(|&node| node as usize * node as usize).sum());
    elements.sort_by(|a, b| key(a).total_cmp(&key(b)));
    model.groups[0].connectivity = elements.concat().into_iter().map(|node| to[node as usize]).collect();
    assert_eq!(counted(model), all);
    // One cell thick.
    assert_eq!(counted(six_each([30, 1, 30], |at| at, |_| 1)), [1, 900, 2 * 31 * 31]);
}

#[test]
fn tetrahedra_beside_a_grid_are_in_none() {
    let whole = six_each([9, 10, 12], |[x, y, z]| [x, y, 2.0 * z], |_| 0);
    let (n_cells, n_nodes) = (9 * 10 * 12, 10 * 11 * 13);
    let middle = 4 + 9 * (5 + 10 * 6);
    let mut hole = whole.clone();
    keep(&mut hole, |e| e / 6 != middle);
    assert_eq!(counted(hole), [1, n_cells - 1, n_nodes]);
    // One of six is missing: its nodes have others of the cell.
    let mut defect = whole.clone();
    keep(&mut defect, |e| e != 6 * middle + 3);
    assert_eq!(counted(defect), [1, n_cells - 1, n_nodes - 8]);
    // One is there twice: the grid has it once.
    let mut twice = whole.clone();
    let again = twice.groups[0].connectivity[24 * middle..24 * middle + 4].to_vec();
    twice.groups[0].connectivity.extend(again);
    twice.groups[0].labels.push(0);
    twice.groups[0].instance.push(0);
    twice.groups[0].section.push(0);
    assert_eq!(counted(twice), [1, n_cells, n_nodes - 4]);
    // Two sections: the nodes in between are whole in neither.
    let mut halves = whole;
    halves.groups[0].section = (0..6 * n_cells as u32).map(|e| u32::from(e / 6 / 90 >= 6)).collect();
    assert_eq!(counted_by_section(halves), [2, n_cells, n_nodes - 110]);
    // In layers with other diagonals, whose faces do not fit, there are two grids.
    let two = six_each([9, 10, 12], |at| at, |[.., k]| k / 6);
    assert_eq!(counted(two), [2, n_cells, n_nodes - 110]);
    // Cells that mirror each other have faces that fit, and no grid.
    let mirrored = six_each([10, 10, 10], |at| at, |[i, j, _]| [0, 1, 3, 2][i % 2 + 2 * (j % 2)]);
    assert_eq!(counted(mirrored), [0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Every cell that is whole is found, however the box is sheared and stretched and wherever an element is missing.
    #[test]
    fn any_box_of_tetrahedra(
        size in [7_usize..12, 7_usize..12, 7_usize..12],
        stretch in [0.2_f64..5.0, 0.2_f64..5.0, 0.2_f64..5.0],
        shear in [-2_f64..2.0, -2_f64..2.0, -2_f64..2.0],
        turn in 0_usize..4,
        missing in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let sheared = |[x, y, z]: [f64; 3]| [x + shear[0] * y + shear[1] * z, y + shear[2] * z, z];
        let at = |at: [f64; 3]| sheared(std::array::from_fn(|axis| stretch[axis] * at[axis]));
        let mut model = six_each(size, at, |_| turn);
        let missing: BTreeSet<usize> =
            missing.iter().map(|index| index.index(6 * size.iter().product::<usize>())).collect();
        keep(&mut model, |e| !missing.contains(&e));
        let hurt: BTreeSet<usize> = missing.iter().map(|e| e / 6).collect();
        let n_cells = size.iter().product::<usize>() - hurt.len();
        let [n_grids, n_present, n_whole] = counted(model);
        let expected = if n_cells < 512 { [0, 0] } else { [1, n_cells] };
        prop_assert_eq!([n_grids, n_present], expected);
        let n_nodes = size.iter().map(|n| n + 1).product::<usize>();
        prop_assert!(n_cells < 512 || (n_nodes - 8 * hurt.len()..=n_nodes).contains(&n_whole));
    }
}

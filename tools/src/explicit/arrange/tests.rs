use std::collections::BTreeSet;

use pogo_formats::explicit::block::Blocks;
use pogo_formats::mesh::{ElementGroup, ElementKind, Mesh, NamedSet};
use proptest::prelude::*;

use super::{ArrangeError, ArrangeOptions, Arranged, arrange};
use crate::partition::{Partition, PartitionOptions, Partitioner, partition};

const ALL: [Partitioner; 3] = [Partitioner::Aligned, Partitioner::Greedy, Partitioner::Metis];

pub(crate) fn mesh(dimension: u32, coordinates: Vec<f64>, groups: Vec<(ElementKind, Vec<u32>)>) -> Mesh {
    let n_nodes = coordinates.len() / dimension as usize;
    Mesh {
        dimension,
        coordinates,
        node_labels: (1..=n_nodes as u32).collect(),
        node_instance: vec![0; n_nodes],
        instances: vec![String::new()],
        groups: groups
            .into_iter()
            .map(|(kind, connectivity)| {
                let n = connectivity.len() / kind.n_nodes();
                ElementGroup {
                    kind,
                    labels: (1..=n as u32).collect(),
                    instance: vec![0; n],
                    // Sections in stripes, so that runs are cut.
                    section: (0..n as u32).map(|i| i / 50 % 2).collect(),
                    connectivity,
                }
            })
            .collect(),
        node_sets: vec![NamedSet { name: "ALL".into(), members: (0..n_nodes as u32).rev().collect() }],
        element_sets: vec![],
    }
}

/// Triangles over the cells of an nx × ny grid that `keep` keeps; unused nodes stay in the mesh.
pub(crate) fn triangles(nx: usize, ny: usize, keep: impl Fn(usize, usize) -> bool) -> Mesh {
    let mut coordinates = Vec::new();
    for j in 0..=ny {
        for i in 0..=nx {
            coordinates.extend([i as f64, j as f64]);
        }
    }
    let node = |i: usize, j: usize| (j * (nx + 1) + i) as u32;
    let mut connectivity = Vec::new();
    for j in 0..ny {
        for i in 0..nx {
            if keep(i, j) {
                let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
                connectivity.extend([a, b, c, a, c, d]);
            }
        }
    }
    mesh(2, coordinates, vec![(ElementKind::Cpe3, connectivity)])
}

/// Plates of triangles with holes.
pub(crate) fn plates() -> impl Strategy<Value = Mesh> {
    let holes = prop::collection::vec((0_usize..25, 0_usize..25, 1_usize..8), 0..6);
    (1_usize..25, 1_usize..25, holes).prop_map(|(nx, ny, holes)| {
        triangles(nx, ny, |i, j| {
            !holes.iter().any(|&(x, y, size)| (x..x + size).contains(&i) && (y..y + size).contains(&j))
        })
    })
}

/// Hexahedra, wedges or tetrahedra in layers of a box of n³ cells.
pub(crate) fn solid(n: usize) -> Mesh {
    let mut coordinates = Vec::new();
    for k in 0..=n {
        for j in 0..=n {
            for i in 0..=n {
                coordinates.extend([i as f64, j as f64, k as f64]);
            }
        }
    }
    let node = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let (mut hexahedra, mut wedges, mut tetrahedra) = (vec![], vec![], vec![]);
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                let c: Vec<u32> =
                    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
                        .iter()
                        .map(|(a, b, d)| node(i + a, j + b, k + d))
                        .collect();
                match k * 3 / n {
                    0 => hexahedra.extend(c),
                    1 => {
                        for t in [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]] {
                            wedges.extend(t.map(|l| c[l]));
                        }
                    }
                    _ => {
                        for t in [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]] {
                            tetrahedra.extend(t.map(|l| c[l]));
                        }
                    }
                }
            }
        }
    }
    mesh(
        3,
        coordinates,
        vec![(ElementKind::C3d8, hexahedra), (ElementKind::C3d6, wedges), (ElementKind::C3d4, tetrahedra)],
    )
}

pub(crate) fn arranged(model: &Mesh, partitioner: Partitioner, capacity: usize, paper_limits: bool) -> Arranged {
    let options = PartitionOptions { partitioner, capacity };
    let partition = partition(&model.view(), &options, &|_| ()).expect("the mesh is valid");
    arrange(model.clone(), partition, &ArrangeOptions { paper_limits, ..ArrangeOptions::default() }).expect("it fits")
}

fn element_nodes(mesh: &Mesh, mut element: usize) -> &[u32] {
    for group in &mesh.groups {
        if element < group.len() {
            let n = group.kind.n_nodes();
            return &group.connectivity[element * n..(element + 1) * n];
        }
        element -= group.len();
    }
    panic!("no such element")
}

/// Everything that a block file promises, by brute force.
pub(crate) fn check(model: &Mesh, arranged: &Arranged, capacity: usize) {
    let Arranged { mesh, blocks, statistics, solver_from_model, .. } = arranged;
    let n_nodes = model.n_nodes();
    let n_blocks = blocks.n_boundary.len();
    let dimension = model.dimension as usize;

    // A permutation, applied to everything that belongs to nodes.
    assert_eq!(solver_from_model.iter().collect::<BTreeSet<_>>().len(), n_nodes);
    for (model_node, &solver) in solver_from_model.iter().enumerate() {
        let solver = solver as usize;
        assert_eq!(mesh.node_labels[solver], model.node_labels[model_node]);
        assert_eq!(
            mesh.coordinates[solver * dimension..][..dimension],
            model.coordinates[model_node * dimension..][..dimension]
        );
    }
    for (now, before) in mesh.groups.iter().zip(&model.groups) {
        let mapped: Vec<u32> = before.connectivity.iter().map(|&n| solver_from_model[n as usize]).collect();
        assert_eq!(now.connectivity, mapped);
    }
    for (now, before) in mesh.node_sets.iter().zip(&model.node_sets) {
        assert_eq!(now.members, before.members.iter().map(|&n| solver_from_model[n as usize]).collect::<Vec<_>>());
    }

    // Blocks cover the nodes, within capacity.
    assert_eq!((blocks.node_first[0], blocks.node_first[n_blocks] as usize), (0, n_nodes));
    let mut block_of = vec![0; n_nodes];
    for block in 0..n_blocks {
        let own = blocks.view().own_nodes(block);
        assert!((1..=capacity).contains(&own.len()), "block {block} has {} nodes", own.len());
        block_of[own].fill(block);
    }

    let mut elements_of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n_blocks];
    for element in 0..mesh.n_elements() {
        for &node in element_nodes(mesh, element) {
            elements_of[block_of[node as usize]].insert(element);
        }
    }
    let mut read_by_others = BTreeSet::new();
    for (block, in_block) in elements_of.iter().enumerate() {
        let own = blocks.view().own_nodes(block);
        let halo = blocks.view().halo(block);
        let exact: BTreeSet<u32> = in_block
            .iter()
            .flat_map(|&element| element_nodes(mesh, element).iter().copied())
            .filter(|&node| !own.contains(&(node as usize)))
            .collect();
        assert_eq!(halo, exact.into_iter().collect::<Vec<_>>(), "halo of block {block}");
        read_by_others.extend(halo.iter().map(|&node| node as usize));
        let mut seen = BTreeSet::new();
        let mut previous = None;
        for run in blocks.view().runs(block) {
            assert!(previous < Some((run.kind, run.section)), "runs ascend and differ");
            previous = Some((run.kind, run.section));
            assert_eq!(run.connectivity.len(), run.elements.len() * run.kind.n_nodes());
            for (&element, local) in run.elements.iter().zip(run.connectivity.chunks_exact(run.kind.n_nodes())) {
                assert!(seen.insert(element as usize), "element {element} twice");
                let mut row = element as usize;
                let group = mesh.groups.iter().find(|group| {
                    let here = row < group.len();
                    if !here {
                        row -= group.len();
                    }
                    here
                });
                let group = group.expect("an element index");
                assert_eq!((group.kind, group.section[row] as usize), (run.kind, run.section));
                let global: Vec<u32> = local
                    .iter()
                    .map(|&l| match (l as usize).checked_sub(own.len()) {
                        None => (own.start + l as usize) as u32,
                        Some(h) => halo[h],
                    })
                    .collect();
                assert_eq!(global, element_nodes(mesh, element as usize));
            }
        }
        assert_eq!(&seen, in_block, "elements of block {block}");
        check_loads(blocks, block);
    }
    for block in 0..n_blocks {
        let own = blocks.view().own_nodes(block);
        let boundary = own.start..own.start + blocks.n_boundary[block] as usize;
        for node in own {
            assert_eq!(boundary.contains(&node), read_by_others.contains(&node), "boundary of block {block}");
        }
    }
    assert_eq!(statistics.n_blocks as usize, n_blocks);
    assert!((statistics.efficiency - n_nodes as f64 / (n_blocks * capacity) as f64).abs() < 1e-12);
}

/// Loads cover the halo, start at whole sections and stay within a row.
fn check_loads(blocks: &Blocks, block: usize) {
    let mut covered = BTreeSet::new();
    for (size, start) in super::loads::block_loads(blocks, block) {
        let owner = blocks.node_first.partition_point(|&first| first <= start) - 1;
        let place = start - blocks.node_first[owner];
        assert_ne!(owner, block);
        assert_eq!(place % 8, 0);
        assert!(place % 32 + u32::from(size) <= 32, "a load of {size} at {place}");
        covered.extend(start..start + u32::from(size));
    }
    for node in blocks.view().halo(block) {
        assert!(covered.contains(node));
    }
}

#[test]
fn plate_with_hole_and_crack() {
    // A hole, and a slit two cells wide that is open on the left.
    let model =
        triangles(90, 60, |i, j| !((40..60).contains(&i) && (20..35).contains(&j) || i < 30 && (44..46).contains(&j)));
    for partitioner in ALL {
        for capacity in [17, 64, 512] {
            check(&model, &arranged(&model, partitioner, capacity, false), capacity);
        }
    }
}

#[test]
fn solids_of_three_kinds() {
    let model = solid(12);
    for partitioner in ALL {
        for capacity in [30, 200, 512] {
            check(&model, &arranged(&model, partitioner, capacity, false), capacity);
        }
    }
}

#[test]
fn one_element_and_capacity_one() {
    let model = triangles(1, 1, |_, _| true);
    for partitioner in ALL {
        for capacity in [1, 2, 3, 4, 5] {
            let arranged = arranged(&model, partitioner, capacity, false);
            check(&model, &arranged, capacity);
        }
    }
}

#[test]
fn many_small_parts_share_blocks() {
    // 100 separate squares of 9 nodes, and the nodes between them that no element has.
    let model = triangles(39, 39, |i, j| i % 4 < 2 && j % 4 < 2);
    for partitioner in ALL {
        let arranged = arranged(&model, partitioner, 512, false);
        check(&model, &arranged, 512);
        assert_eq!(arranged.blocks.n_boundary.len(), 1600_usize.div_ceil(512), "{partitioner:?}");
    }
}

#[test]
fn paper_limits_split_what_breaks_them() {
    let model = triangles(200, 200, |_, _| true);
    // Lines of 201 nodes, each read whole by the lines beside it.
    let lines = Partition::new(&model.view(), (0..201 * 201).map(|node| node / 201).collect(), 512).expect("valid");
    let free = arrange(model.clone(), lines.clone(), &ArrangeOptions::default()).expect("it fits");
    check(&model, &free, 512);
    assert_eq!(free.statistics.n_beyond_paper_limits, 201);
    let bound = arrange(model.clone(), lines, &ArrangeOptions { paper_limits: true, ..ArrangeOptions::default() })
        .expect("it fits");
    check(&model, &bound, 512);
    let statistics = &bound.statistics;
    assert_eq!((statistics.n_beyond_paper_limits, statistics.n_blocks), (0, 201 + statistics.n_split));
    assert!(statistics.n_split >= 201);
}

#[test]
fn paper_limits_refuse_solids() {
    let model = solid(4);
    let partition = partition(&model.view(), &PartitionOptions::default(), &|_| ()).expect("the mesh is valid");
    let error = arrange(model, partition, &ArrangeOptions { paper_limits: true, ..ArrangeOptions::default() });
    assert_eq!(error.expect_err("a solid"), ArrangeError::PaperLimitsInSpace);
}

#[test]
fn same_for_every_thread_count() {
    let model = triangles(120, 90, |i, j| (i + 3 * j) % 97 != 0);
    for partitioner in ALL {
        let results: Vec<Arranged> = [1, 2, 5]
            .into_iter()
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| arranged(&model, partitioner, 100, true))
            })
            .collect();
        for other in &results[1..] {
            let same = results[0].blocks == other.blocks && results[0].statistics == other.statistics;
            assert!(same && results[0].mesh == other.mesh, "{partitioner:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_plate(model in plates(), capacity in 1_usize..90, which in 0_usize..3) {
        check(&model, &arranged(&model, ALL[which], capacity, false), capacity);
    }
}

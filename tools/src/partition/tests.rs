use pogo_formats::mesh::{ElementKind, Mesh};

use super::*;
use crate::explicit::arrange::tests::{arranged, check, mesh, triangles};

/// A ring of triangles with `around` × (`through` + 1) nodes.
fn ring(around: usize, through: usize) -> Mesh {
    let mut coordinates = Vec::new();
    let mut connectivity = Vec::new();
    let node = |i: usize, j: usize| (j * around + i % around) as u32;
    for j in 0..=through {
        for i in 0..around {
            let angle = std::f64::consts::TAU * i as f64 / around as f64;
            let radius = around as f64 / 6.0 + j as f64;
            coordinates.extend([radius * angle.cos(), radius * angle.sin()]);
            if j < through {
                connectivity.extend([node(i, j), node(i + 1, j), node(i + 1, j + 1)]);
                connectivity.extend([node(i, j), node(i + 1, j + 1), node(i, j + 1)]);
            }
        }
    }
    mesh(2, coordinates, vec![(ElementKind::Cpe3, connectivity)])
}

fn cut(model: &Mesh, partitioner: Partitioner, capacity: usize) -> Partition {
    partition(&model.view(), &PartitionOptions { partitioner, capacity }, &|_| ()).expect("a valid mesh")
}

/// Blocks that are in more than one piece.
fn n_in_pieces(partition: &Partition) -> usize {
    let mut seen = vec![false; partition.block_of_node.len()];
    let mut n_pieces = vec![0; partition.n_blocks as usize];
    for start in 0..seen.len() {
        if seen[start] {
            continue;
        }
        let block = partition.block_of_node[start];
        n_pieces[block as usize] += 1;
        seen[start] = true;
        let mut stack = vec![start as u32];
        while let Some(node) = stack.pop() {
            for &other in partition.graph.neighbours(node) {
                if partition.block_of_node[other as usize] == block && !seen[other as usize] {
                    seen[other as usize] = true;
                    stack.push(other);
                }
            }
        }
    }
    n_pieces.iter().filter(|&&n| n > 1).count()
}

#[test]
fn a_plate_fills_its_blocks_in_one_piece_each() {
    let model = triangles(300, 200, |_, _| true);
    for (partitioner, most) in [(Partitioner::Aligned, 121), (Partitioner::Metis, 121), (Partitioner::Greedy, 135)] {
        let partition = cut(&model, partitioner, 512);
        assert!(partition.n_blocks <= most, "{partitioner:?}: {} blocks", partition.n_blocks);
        assert!(n_in_pieces(&partition) <= 2, "{partitioner:?}: {} in pieces", n_in_pieces(&partition));
    }
}

#[test]
fn the_first_layer_lies_along_the_boundary() {
    let model = triangles(300, 200, |_, _| true);
    let partition = cut(&model, Partitioner::Aligned, 512);
    // Far from the corners a block at the edge is about 32 nodes wide, so the lower edge has about 300 / 32.
    let mut along: Vec<u32> = partition.block_of_node[..301].to_vec();
    along.dedup();
    assert!((7..=12).contains(&along.len()), "{} blocks along the edge", along.len());
    along.sort_unstable();
    let n = along.len();
    along.dedup();
    assert_eq!(along.len(), n, "no block comes to the edge twice");
}

#[test]
fn a_ring_has_an_inner_boundary() {
    let model = ring(240, 30);
    for capacity in [64, 512] {
        let arranged = arranged(&model, Partitioner::Aligned, capacity, false);
        check(&model, &arranged, capacity);
        let fewest = model.n_nodes().div_ceil(capacity);
        assert!(arranged.blocks.n_boundary.len() <= fewest + fewest / 50 + 1);
    }
}

#[test]
fn boundary_of_a_plate_with_a_hole() {
    let model = triangles(20, 10, |i, j| !((5..8).contains(&i) && (4..6).contains(&j)));
    let graph = NodeGraph::new(&model.view()).expect("a valid mesh");
    assert_eq!(boundary_faces(&model.view()).expect("a valid mesh").len(), 2 * (20 + 10) + 2 * (3 + 2));
    let pieces = boundary::pieces(&model.view()).expect("a valid mesh");
    assert_eq!(pieces.iter().map(|piece| piece.nodes.len()).collect::<Vec<_>>(), [60, 10], "the outer one first");
    for piece in &pieces {
        let next = piece.nodes.iter().cycle().skip(1);
        assert!(piece.nodes.iter().zip(next).all(|(&a, b)| graph.neighbours(a).contains(b)), "a closed walk");
    }
}

#[test]
fn boundary_of_a_solid() {
    let n = 4;
    let corner = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let coordinates = (0..(n + 1).pow(3))
        .flat_map(|c| [c % (n + 1), c / (n + 1) % (n + 1), c / (n + 1).pow(2)].map(|x| x as f64))
        .collect();
    let connectivity = (0..n.pow(3))
        .flat_map(|c| {
            let (i, j, k) = (c % n, c / n % n, c / (n * n));
            [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
                .map(|(a, b, d)| corner(i + a, j + b, k + d))
        })
        .collect();
    let model = mesh(3, coordinates, vec![(ElementKind::C3d8r, connectivity)]);
    assert_eq!(boundary_faces(&model.view()).expect("a valid mesh").len(), 6 * n * n);
}

/// Two kinds, elements with a node twice, nodes that are far apart, and more of them than one range has.
#[test]
fn links_are_those_of_the_elements() {
    let plate = triangles(80, 60, |i, j| (i, j) != (7, 9));
    let n_nodes = plate.n_nodes();
    assert!(n_nodes > 4096);
    let renumbered: Vec<u32> =
        plate.groups[0].connectivity.iter().map(|&node| (u64::from(node) * 2741 % n_nodes as u64) as u32).collect();
    let (three, others) = renumbered.split_at(renumbered.len() / 9 * 3);
    let four = others.chunks(3).flat_map(|nodes| [nodes[0], nodes[1], nodes[1], nodes[2]]).collect();
    let model = mesh(2, plate.coordinates, vec![(ElementKind::Cpe3, three.to_vec()), (ElementKind::Cpe4, four)]);
    let mut expected = vec![Vec::new(); n_nodes];
    for element in three.chunks(3).chain(others.chunks(3)) {
        for &node in element {
            for &other in element {
                let links = &mut expected[node as usize];
                if other != node && !links.contains(&other) {
                    links.push(other);
                }
            }
        }
    }
    let graph = NodeGraph::new(&model.view()).expect("a valid mesh");
    for (node, expected) in (0..).zip(expected) {
        assert_eq!(graph.neighbours(node), expected, "node {node}");
    }
}

#[test]
fn bad_input_is_refused() {
    let model = triangles(3, 3, |_, _| true);
    let options = |capacity| PartitionOptions { capacity, ..PartitionOptions::default() };
    for capacity in [0, 65_536] {
        let error = partition(&model.view(), &options(capacity), &|_| ()).expect_err("out of range");
        assert_eq!(error, PartitionError::Capacity(capacity));
    }
    let mut broken = model.clone();
    broken.groups[0].connectivity[7] = 16;
    let error = partition(&broken.view(), &options(512), &|_| ()).expect_err("no such node");
    assert_eq!(error, PartitionError::NodeOutOfRange { element: 2, node: 16, n_nodes: 16 });
}

impl Partition {
    /// A partition given as the block of each node.
    pub(crate) fn new(mesh: &MeshView, block_of_node: Vec<u32>, capacity: usize) -> Result<Self, PartitionError> {
        let graph = NodeGraph::new(mesh)?;
        let n_blocks = 1 + block_of_node.iter().max().expect("nodes");
        Ok(Self { block_of_node, n_blocks, partitioner: Partitioner::Greedy, capacity, seconds: 0.0, graph })
    }
}

/// A box of nx × ny × nz hexahedra.
fn hexahedra([nx, ny, nz]: [usize; 3]) -> Mesh {
    let node = |i: usize, j: usize, k: usize| (i + (nx + 1) * (j + (ny + 1) * k)) as u32;
    let (mut coordinates, mut connectivity) = (Vec::new(), Vec::new());
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                coordinates.extend([i as f64, j as f64, k as f64]);
                if i < nx && j < ny && k < nz {
                    for k in [k, k + 1] {
                        connectivity.extend([node(i, j, k), node(i + 1, j, k)]);
                        connectivity.extend([node(i + 1, j + 1, k), node(i, j + 1, k)]);
                    }
                }
            }
        }
    }
    mesh(3, coordinates, vec![(ElementKind::C3d8, connectivity)])
}

#[test]
fn slender_and_flat_solids_keep_every_node_once() {
    // Nodes wander between the few blocks of a thin bar and back again.
    for size in [[100, 2, 2], [200, 2, 2], [400, 2, 2], [300, 1, 1], [40, 40, 1], [60, 9, 4], [25, 25, 25]] {
        let model = hexahedra(size);
        for partitioner in [Partitioner::Aligned, Partitioner::Greedy, Partitioner::Metis] {
            for capacity in [48, 200, 512] {
                check(&model, &arranged(&model, partitioner, capacity, false), capacity);
            }
        }
    }
}

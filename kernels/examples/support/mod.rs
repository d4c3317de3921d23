//! Boxes of any element kind, their blocks, and steel: what tests and benchmarks of the kernels share.
#![allow(dead_code)]

use pogo_formats::explicit::Lumping;
use pogo_formats::explicit::block::{Blocks, BlocksView};
use pogo_formats::mesh::{ElementKind, ElementShape, Mesh, MeshView};
use pogo_kernels::dynamics::{NodalForce, State};
use pogo_kernels::explicit::Problem;
use pogo_kernels::explicit::elements::{ElementError, SectionProperties, lumped_mass, stable_increment};
use pogo_tools::explicit::arrange::{ArrangeOptions, arrange};
use pogo_tools::partition::{PartitionOptions, Partitioner, partition};

/// A number in [−1, 1] from a counter.
pub fn noise(i: u64) -> f64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as i64 as f64 / i64::MAX as f64
}

/// A box of `cells` cells of side h, inner nodes moved by up to `jitter` h, filled with one kind: a cell gives two
/// triangles or wedges, six tetrahedra, or one quadrilateral or hexahedron. Section 0.
pub fn box_mesh(kind: ElementKind, cells: [usize; 3], h: f64, jitter: f64) -> Mesh {
    let dimension = kind.dimension();
    let [nx, ny, nz] = if dimension == 2 { [cells[0], cells[1], 0] } else { cells };
    let at = |i: usize, j: usize, k: usize| (i + (nx + 1) * (j + (ny + 1) * k)) as u32;
    let mut coordinates = Vec::new();
    for k in 0..=nz {
        for j in 0..=ny {
            for i in 0..=nx {
                let inner = i > 0 && i < nx && j > 0 && j < ny && (dimension == 2 || (k > 0 && k < nz));
                let position = [i, j, k];
                for (c, &cell) in position[..dimension].iter().enumerate() {
                    let shift = if inner { jitter * noise(u64::from(at(i, j, k)) * 3 + c as u64) } else { 0.0 };
                    coordinates.push(h * (cell as f64 + shift));
                }
            }
        }
    }
    let mut connectivity = Vec::new();
    for k in 0..nz.max(1) {
        for j in 0..ny {
            for i in 0..nx {
                let c = |a: usize, b: usize, d: usize| at(i + a, j + b, k + d);
                match kind.shape() {
                    ElementShape::Triangle => {
                        let [p, q, r, s] = [c(0, 0, 0), c(1, 0, 0), c(1, 1, 0), c(0, 1, 0)];
                        if (i + j) % 2 == 0 {
                            connectivity.extend([p, q, r, p, r, s]);
                        } else {
                            connectivity.extend([p, q, s, q, r, s]);
                        }
                    }
                    ElementShape::Tetrahedron => {
                        // Kuhn's six along the diagonal 000 to 111: conforming between cells.
                        for (x, y) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
                            let mut b = [0; 3];
                            b[x] = 1;
                            let p = c(b[0], b[1], b[2]);
                            b[y] = 1;
                            let q = c(b[0], b[1], b[2]);
                            let even = matches!((x, y), (0, 1) | (1, 2) | (2, 0));
                            let (p, q) = if even { (p, q) } else { (q, p) };
                            connectivity.extend([c(0, 0, 0), p, q, c(1, 1, 1)]);
                        }
                    }
                    ElementShape::Wedge => {
                        for [x, y, z] in [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]] {
                            for d in 0..2 {
                                connectivity.extend([x, y, z].map(|[a, b]| c(a, b, d)));
                            }
                        }
                    }
                    ElementShape::Hexahedron => {
                        for d in 0..2 {
                            connectivity.extend([c(0, 0, d), c(1, 0, d), c(1, 1, d), c(0, 1, d)]);
                        }
                    }
                    ElementShape::Quadrilateral => {
                        connectivity.extend([c(0, 0, 0), c(1, 0, 0), c(1, 1, 0), c(0, 1, 0)])
                    }
                }
            }
        }
    }
    Mesh::of_kind(kind, coordinates, connectivity)
}

/// Boxes with sides of `side` metres as blocks, and the mesh in solver order.
pub fn box_blocks(mesh: &Mesh, side: f64) -> (Mesh, Blocks) {
    let box_of = |x: &[f64]| -> Vec<i64> { x.iter().rev().map(|x| (x / side + 1e-9).floor() as i64).collect() };
    let boxes: Vec<Vec<i64>> = mesh.coordinates.chunks_exact(mesh.dimension as usize).map(box_of).collect();
    let mut distinct = boxes.clone();
    distinct.sort();
    distinct.dedup();
    let options = PartitionOptions { partitioner: Partitioner::Greedy, capacity: usize::from(u16::MAX) };
    let mut cut = partition(&mesh.view(), &options, &|_| ()).expect("a valid mesh");
    cut.block_of_node = boxes.iter().map(|key| distinct.partition_point(|other| other < key) as u32).collect();
    cut.n_blocks = distinct.len() as u32;
    let arranged = arrange(mesh.clone(), cut, &ArrangeOptions::default()).expect("the partition is one of the mesh");
    (arranged.mesh, arranged.blocks)
}

/// A mesh of steel at 0.8 of its stable increment, with a force of signal 0 on a node in the middle, and a state with a smooth
/// field everywhere: no denormal numbers, as in a run that has gone on for a while.
pub fn steel<'a>(mesh: MeshView<'a>, blocks: BlocksView<'a>) -> Result<(Problem<'a>, State), ElementError> {
    let n_sections = blocks.run_section.iter().max().map_or(1, |&last| last as usize + 1);
    let sections = vec![section(isotropic(210e9, 0.3)); n_sections];
    let (d, n, x) = (mesh.dimension, mesh.n_nodes(), mesh.coordinates);
    let lumped_mass = lumped_mass(&mesh, &sections, Lumping::RowSum)?;
    let stable = stable_increment(&mesh, &sections, &[], &lumped_mass)?;
    let [low, high] = [f64::min, f64::max].map(|f| x.iter().copied().fold(x[0], f));
    let wave = |i: usize| 1e-8 * (3.0 * x[i / d * d] / (high - low) + i as f64 % d as f64).sin();
    let state = State { displacement: (0..n * d).map(wave).collect(), increment: vec![0.0; n * d], ..State::default() };
    let problem = Problem {
        mesh,
        blocks,
        device: None,
        sections,
        stiffness_factor: Vec::new(),
        lumped_mass,
        damping_rate: Vec::new(),
        dashpots: Vec::new(),
        damping_beta: Vec::new(),
        relaxation: Default::default(),
        time_increment: 0.8 * stable.increment,
        forces: vec![NodalForce { dof: (n / 2 * d) as u64, signal: 0, value: 1.0 }],
        constraints: Vec::new(),
        monitors: Vec::new(),
        copied: Default::default(),
        rows: Default::default(),
        wet: Vec::new(),
        tied: Vec::new(),
    };
    Ok((problem, state))
}

/// Isotropic D, 6 × 6.
pub fn isotropic(young: f64, poisson: f64) -> [f64; 36] {
    let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
    let mu = young / (2.0 * (1.0 + poisson));
    let mut d = [0.0; 36];
    for i in 0..3 {
        for j in 0..3 {
            d[6 * i + j] = lambda + if i == j { 2.0 * mu } else { 0.0 };
        }
        d[7 * (i + 3)] = mu;
    }
    d
}

/// A full, positive definite D without any symmetry.
pub fn anisotropic() -> [f64; 36] {
    let mut d = isotropic(200e9, 0.3);
    for i in 0..6 {
        for j in 0..6 {
            d[6 * i + j] += 1e10 * noise((i.min(j) * 6 + i.max(j)) as u64);
        }
    }
    d
}

/// Steel with the given D.
pub fn section(elasticity: [f64; 36]) -> SectionProperties {
    SectionProperties { elasticity, density: 7900.0, thickness: 1.0, hourglass_factor: 1.0 }
}

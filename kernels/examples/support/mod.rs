//! Boxes of any element kind, blocks by slabs, and steel: what tests and benchmarks of the kernels share.
#![allow(dead_code)]

use pogo_formats::explicit::block::Blocks;
use pogo_formats::mesh::{ElementGroup, ElementKind, Mesh};
use pogo_kernels::explicit::elements::SectionProperties;

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
                match kind {
                    ElementKind::Cpe3 | ElementKind::Cps3 => {
                        let [p, q, r, s] = [c(0, 0, 0), c(1, 0, 0), c(1, 1, 0), c(0, 1, 0)];
                        if (i + j) % 2 == 0 {
                            connectivity.extend([p, q, r, p, r, s]);
                        } else {
                            connectivity.extend([p, q, s, q, r, s]);
                        }
                    }
                    ElementKind::C3d4 => {
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
                    ElementKind::C3d6 => {
                        for [x, y, z] in [[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]] {
                            for d in 0..2 {
                                connectivity.extend([x, y, z].map(|[a, b]| c(a, b, d)));
                            }
                        }
                    }
                    ElementKind::C3d8 | ElementKind::C3d8r => {
                        for d in 0..2 {
                            connectivity.extend([c(0, 0, d), c(1, 0, d), c(1, 1, d), c(0, 1, d)]);
                        }
                    }
                    _ => connectivity.extend([c(0, 0, 0), c(1, 0, 0), c(1, 1, 0), c(0, 1, 0)]),
                }
            }
        }
    }
    let n_nodes = coordinates.len() / dimension;
    let n = connectivity.len() / kind.n_nodes();
    Mesh {
        dimension: dimension as u32,
        coordinates,
        node_labels: (1..=n_nodes as u32).collect(),
        node_instance: vec![0; n_nodes],
        instances: vec![String::new()],
        groups: vec![ElementGroup {
            kind,
            labels: (1..=n as u32).collect(),
            instance: vec![0; n],
            section: vec![0; n],
            connectivity,
        }],
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

/// Boxes with sides of `side` metres as blocks, with the nodes of the mesh renumbered to solver order.
pub fn box_blocks(mesh: &Mesh, side: f64) -> (Mesh, Blocks) {
    let d = mesh.dimension as usize;
    let n = mesh.n_nodes();
    let key = |node: usize| -> Vec<i64> {
        (0..d).rev().map(|i| (mesh.coordinates[node * d + i] / side + 1e-9).floor() as i64).collect()
    };
    let mut keys: Vec<Vec<i64>> = (0..n).map(key).collect();
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    let block_of: Vec<usize> =
        keys.drain(..).map(|key| distinct.binary_search(&key).expect("a key is among the keys")).collect();
    let n_blocks = distinct.len();
    let elements: Vec<(ElementKind, u32, &[u32])> = mesh
        .groups
        .iter()
        .flat_map(|g| {
            g.connectivity.chunks_exact(g.kind.n_nodes()).zip(&g.section).map(|(nodes, &s)| (g.kind, s, nodes))
        })
        .collect();
    let mut on_boundary = vec![false; n];
    let mut members = vec![Vec::new(); n_blocks];
    for (e, (_, _, nodes)) in elements.iter().enumerate() {
        let mut touched: Vec<usize> = nodes.iter().map(|&node| block_of[node as usize]).collect();
        touched.sort_unstable();
        touched.dedup();
        if touched.len() > 1 {
            nodes.iter().for_each(|&node| on_boundary[node as usize] = true);
        }
        touched.into_iter().for_each(|b| members[b].push(e));
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&node| (block_of[node], !on_boundary[node]));
    let mut solver = vec![0u32; n];
    order.iter().enumerate().for_each(|(new, &old)| solver[old] = new as u32);
    let mut n_own = vec![0u32; n_blocks];
    block_of.iter().for_each(|&b| n_own[b] += 1);
    let mut out = mesh.clone();
    for (new, &old) in order.iter().enumerate() {
        out.coordinates[new * d..(new + 1) * d].copy_from_slice(&mesh.coordinates[old * d..(old + 1) * d]);
        out.node_labels[new] = mesh.node_labels[old];
    }
    for group in &mut out.groups {
        group.connectivity.iter_mut().for_each(|node| *node = solver[*node as usize]);
    }
    let mut blocks = Blocks {
        capacity: 0,
        node_first: vec![0],
        n_boundary: Vec::new(),
        halo_first: vec![0],
        halo_nodes: Vec::new(),
        run_first: vec![0],
        run_kind: Vec::new(),
        run_section: Vec::new(),
        run_element_first: vec![0],
        run_connectivity_first: vec![0],
        elements: Vec::new(),
        connectivity: Vec::new(),
    };
    for (b, members) in members.iter().enumerate() {
        let first = blocks.node_first[b];
        let n_own = n_own[b];
        let last = first + n_own;
        let range = first as usize..last as usize;
        blocks.node_first.push(last);
        blocks.n_boundary.push(range.filter(|&new| on_boundary[order[new]]).count() as u32);
        let mut halo: Vec<u32> = members
            .iter()
            .flat_map(|&e| elements[e].2.iter().map(|&node| solver[node as usize]))
            .filter(|node| !(first..last).contains(node))
            .collect();
        halo.sort_unstable();
        halo.dedup();
        let mut previous = None;
        for &e in members {
            let (kind, section, nodes) = elements[e];
            if previous != Some((kind, section)) {
                if previous.is_some() {
                    blocks.run_element_first.push(blocks.elements.len() as u64);
                    blocks.run_connectivity_first.push(blocks.connectivity.len() as u64);
                }
                blocks.run_kind.push(kind as u8);
                blocks.run_section.push(section);
                previous = Some((kind, section));
            }
            blocks.elements.push(e as u32);
            for &node in nodes {
                let node = solver[node as usize];
                let local = if (first..last).contains(&node) {
                    node - first
                } else {
                    n_own + halo.binary_search(&node).expect("gathered from the same elements") as u32
                };
                blocks.connectivity.push(local as u16);
            }
        }
        if previous.is_some() {
            blocks.run_element_first.push(blocks.elements.len() as u64);
            blocks.run_connectivity_first.push(blocks.connectivity.len() as u64);
        }
        blocks.run_first.push(blocks.run_kind.len() as u32);
        blocks.halo_nodes.extend(halo);
        blocks.halo_first.push(blocks.halo_nodes.len() as u64);
    }
    (out, blocks)
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

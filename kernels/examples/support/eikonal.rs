//! Meshes of triangles and tetrahedra for the Eikonal solver.
#![allow(dead_code)]

use pogo_formats::eikonal::EikonalMesh;
use pogo_formats::spring::build::spatial_order;

/// Numbers in [−1, 1) that look random.
pub fn noise(i: u64) -> f64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A mesh in solver order: nodes in Morton order, elements by their lowest node.
pub fn ordered<const N: usize>(points: &[[f64; 3]], elements: &[[u32; N]]) -> EikonalMesh {
    let (place, order) = spatial_order(points.as_flattened());
    let mut moved: Vec<([u32; N], u32)> =
        elements.iter().enumerate().map(|(e, nodes)| (nodes.map(|node| place[node as usize]), e as u32)).collect();
    moved.sort_by_key(|(nodes, e)| (nodes.iter().min().copied(), *e));
    let mut mesh = EikonalMesh {
        corners: N as u32,
        coordinates: order.iter().flat_map(|&old| points[old as usize]).collect(),
        elements: moved.iter().flat_map(|(nodes, _)| *nodes).collect(),
        original_node: order,
        original_element: moved.iter().map(|&(_, e)| e).collect(),
        class: vec![0; elements.len()],
        ..Default::default()
    };
    mesh.connect(points.len());
    mesh
}

/// The unit cube in n³ cells of six tetrahedra, inner nodes moved by up to `jitter` of a cell.
pub fn cube(n: usize, jitter: f64) -> EikonalMesh {
    let at = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let mut points = Vec::with_capacity((n + 1).pow(3));
    for k in 0..=n {
        for j in 0..=n {
            for i in 0..=n {
                let seed = 3 * u64::from(at(i, j, k));
                let mut point = [i, j, k].map(|x| x as f64 / n as f64);
                for (c, x) in [i, j, k].into_iter().enumerate() {
                    // Nodes on a face stay on it.
                    if x > 0 && x < n {
                        point[c] += jitter / n as f64 * noise(seed + c as u64);
                    }
                }
                points.push(point);
            }
        }
    }
    let mut elements = Vec::with_capacity(6 * n.pow(3));
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                for [a, b, c] in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
                    let mut x = [i, j, k];
                    let mut nodes = [at(x[0], x[1], x[2]); 4];
                    for (corner, axis) in [a, b, c].into_iter().enumerate() {
                        x[axis] += 1;
                        nodes[corner + 1] = at(x[0], x[1], x[2]);
                    }
                    elements.push(nodes);
                }
            }
        }
    }
    ordered(&points, &elements)
}

/// The unit square in n² cells of two triangles, inner nodes moved by up to `jitter` of a cell, each point then mapped.
pub fn surface(n: usize, jitter: f64, map: impl Fn(f64, f64) -> [f64; 3]) -> EikonalMesh {
    let at = |i: usize, j: usize| (j * (n + 1) + i) as u32;
    let mut points = Vec::new();
    let mut elements = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let move_by = |x: usize, c: u64| {
                if x > 0 && x < n { jitter * noise(2 * u64::from(at(i, j)) + c) } else { 0.0 }
            };
            points.push(map((i as f64 + move_by(i, 0)) / n as f64, (j as f64 + move_by(j, 1)) / n as f64));
            if i < n && j < n {
                let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
                elements.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
            }
        }
    }
    ordered(&points, &elements)
}

/// The node nearest to a point.
pub fn nearest(mesh: &EikonalMesh, point: [f64; 3]) -> u32 {
    let distance = |x: &[f64; 3]| (0..3).map(|c| (x[c] - point[c]).powi(2)).sum::<f64>();
    let points = mesh.coordinates.as_chunks::<3>().0;
    let mut best = 0;
    for node in 1..points.len() {
        if distance(&points[node]) < distance(&points[best]) {
            best = node;
        }
    }
    best as u32
}

/// D = Σ vᵢ² eᵢ eᵢᵀ for speeds along a fibre, a sheet and their normal, turned out of the axes; and M = D⁻¹ (xx, yy, zz, xy, yz, zx).
pub fn tensors(speeds: [f64; 3]) -> ([f64; 6], [f64; 6]) {
    let fibre = [2.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0];
    let sheet = [-2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0];
    let normal = [1.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0];
    let sum = |power: i32| {
        [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)].map(|(i, j)| {
            [fibre, sheet, normal].iter().zip(speeds).map(|(e, v)| v.powi(power) * e[i] * e[j]).sum::<f64>()
        })
    };
    (sum(2), sum(-2))
}

/// xᵀ M y.
pub fn dot(m: &[f64; 6], x: [f64; 3], y: [f64; 3]) -> f64 {
    x[0] * (m[0] * y[0] + m[3] * y[1] + m[5] * y[2])
        + x[1] * (m[3] * y[0] + m[1] * y[1] + m[4] * y[2])
        + x[2] * (m[5] * y[0] + m[4] * y[1] + m[2] * y[2])
}

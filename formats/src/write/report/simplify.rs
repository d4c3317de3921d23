//! A surface with fewer points, for a browser.

use std::collections::{HashMap, HashSet};

use crate::write::plot::SurfaceFace;

/// A surface of triangles.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Surface {
    /// Node of the mesh at each point.
    pub nodes: Vec<u32>,
    /// Points of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Size of the cells that were made one point, m; none where all points stayed.
    pub cell: Option<f64>,
}

/// The triangles of faces. With more than `most` points, the points in each cell of a grid become the one that is first among
/// the faces, and triangles that have two corners in one cell are left out; cells grow until there are few enough.
pub(super) fn simplified(
    faces: &[SurfaceFace],
    position: impl Fn(u32) -> [f64; 3],
    bounds: [[f64; 3]; 2],
    most: usize,
) -> Surface {
    let by_node = gather(faces, u64::from);
    if by_node.nodes.len() <= most {
        return by_node;
    }
    let extent = (0..3).map(|axis| bounds[1][axis] - bounds[0][axis]).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut n_cells = (most as f64).sqrt();
    loop {
        let size = extent / n_cells;
        let cell = |node: u32| {
            let x = position(node);
            let index = |axis: usize| ((x[axis] - bounds[0][axis]) / size) as u64 & 0x1f_ffff;
            index(0) | index(1) << 21 | index(2) << 42
        };
        let surface = gather(faces, cell);
        if surface.nodes.len() <= most || n_cells < 2.0 {
            return Surface { cell: Some(size), ..surface };
        }
        n_cells *= 0.85;
    }
}

/// Triangles with one point for each key.
fn gather(faces: &[SurfaceFace], key: impl Fn(u32) -> u64) -> Surface {
    let mut surface = Surface::default();
    let mut points: HashMap<u64, u32> = HashMap::new();
    for face in faces {
        let corners = face.corners();
        let mut point = |corner: u32| {
            let next = surface.nodes.len() as u32;
            *points.entry(key(corner)).or_insert_with(|| {
                surface.nodes.push(corner);
                next
            })
        };
        let ends: Vec<u32> = corners.iter().map(|&corner| point(corner)).collect();
        for last in 2..ends.len() {
            let triangle = [ends[0], ends[last - 1], ends[last]];
            if triangle[0] != triangle[1] && triangle[1] != triangle[2] && triangle[2] != triangle[0] {
                surface.triangles.push(triangle);
            }
        }
    }
    // Two faces between the same cells give the same triangle.
    let mut seen = HashSet::new();
    surface.triangles.retain(|triangle| {
        let mut sorted = *triangle;
        sorted.sort_unstable();
        seen.insert(sorted)
    });
    surface
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_surface_keeps_its_shape_with_few_points() {
        // A square of 200 × 200 faces.
        let n = 201;
        let faces: Vec<SurfaceFace> = (0..200 * 200)
            .map(|at| {
                let a = at / 200 * n + at % 200;
                SurfaceFace { nodes: [a, a + 1, a + 1 + n, a + n], element: at }
            })
            .collect();
        let position = |node: u32| [f64::from(node % n), f64::from(node / n), 0.0];
        let bounds = [[0.0; 3], [200.0, 200.0, 0.0]];
        let whole = simplified(&faces, position, bounds, 50_000);
        assert_eq!((whole.nodes.len(), whole.triangles.len(), whole.cell), (40_401, 80_000, None));
        let few = simplified(&faces, position, bounds, 1000);
        assert!((500..=1000).contains(&few.nodes.len()) && few.cell.is_some(), "{}", few.nodes.len());
        let area = |[a, b, c]: &[u32; 3]| {
            let [a, b, c] = [a, b, c].map(|point| position(few.nodes[*point as usize]));
            0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
        };
        let total: f64 = few.triangles.iter().map(area).sum();
        assert!((total / 40_000.0 - 1.0).abs() < 0.08, "{total}");
    }
}

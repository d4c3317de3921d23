//! Consistent nodal forces of loads on faces: f_i = ∫ N_i t dA, exact for flat edges, triangles and bilinear quadrilaterals.

/// (∫ N_i n dA, ∫ N_i dA) for each node of a face, n the unit normal by the order of the nodes (in 2D: the edge's
/// direction turned by −90°, and dA = thickness ds).
pub(super) fn weights(points: &[[f64; 3]], dimension: usize, thickness: f64) -> Vec<([f64; 3], f64)> {
    match (dimension, points) {
        (2, [a, b]) => {
            let half = 0.5 * thickness;
            let normal = [half * (b[1] - a[1]), half * (a[0] - b[0]), 0.0];
            vec![(normal, norm(normal)); 2]
        }
        (3, [a, b, c]) => {
            let normal = cross(subtract(*b, *a), subtract(*c, *a)).map(|component| component / 6.0);
            vec![(normal, norm(normal)); 3]
        }
        (3, &[a, b, c, d]) => quadrilateral([a, b, c, d]),
        _ => Vec::new(),
    }
}

/// 2 × 2 Gauss points: N_i (∂x/∂ξ × ∂x/∂η) is of at most third order in each coordinate.
fn quadrilateral(points: [[f64; 3]; 4]) -> Vec<([f64; 3], f64)> {
    const CORNERS: [[f64; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let mut weights = vec![([0.0; 3], 0.0); 4];
    for corner in CORNERS {
        let [xi, eta] = corner.map(|coordinate| coordinate / 3f64.sqrt());
        let mut tangents = [[0.0; 3]; 2];
        for (point, [a, b]) in points.iter().zip(CORNERS) {
            for axis in 0..3 {
                tangents[0][axis] += 0.25 * a * (1.0 + b * eta) * point[axis];
                tangents[1][axis] += 0.25 * b * (1.0 + a * xi) * point[axis];
            }
        }
        let normal = cross(tangents[0], tangents[1]);
        let area = norm(normal);
        for ((vector, scalar), [a, b]) in weights.iter_mut().zip(CORNERS) {
            let shape = 0.25 * (1.0 + a * xi) * (1.0 + b * eta);
            for axis in 0..3 {
                vector[axis] += shape * normal[axis];
            }
            *scalar += shape * area;
        }
    }
    weights
}

/// Σ of some vectors.
pub(super) fn sum<'a>(vectors: impl IntoIterator<Item = &'a [f64; 3]>) -> [f64; 3] {
    vectors.into_iter().fold([0.0; 3], |sum, v| [sum[0] + v[0], sum[1] + v[1], sum[2] + v[2]])
}

/// Mean of some points.
pub(super) fn centre(points: &[[f64; 3]]) -> [f64; 3] {
    sum(points).map(|value| value / points.len() as f64)
}

/// a − b.
pub(super) fn subtract(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// a · b.
pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(weights: &[([f64; 3], f64)]) -> ([f64; 3], f64) {
        weights.iter().fold(([0.0; 3], 0.0), |(vector, scalar), (v, s)| {
            ([vector[0] + v[0], vector[1] + v[1], vector[2] + v[2]], scalar + s)
        })
    }

    #[test]
    fn areas_and_normals_are_exact() {
        let edge = weights(&[[1.0, 1.0, 0.0], [4.0, 5.0, 0.0]], 2, 0.5);
        assert_eq!(totals(&edge), ([2.0, -1.5, 0.0], 2.5));
        let triangle = weights(&[[0.0; 3], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]], 3, 1.0);
        let (normal, area) = totals(&triangle);
        assert!((area - 3.0).abs() < 1e-14 && (normal[2] - 3.0).abs() < 1e-14);
        // A trapezium: the longer side takes more.
        let quad = weights(&[[0.0; 3], [4.0, 0.0, 0.0], [3.0, 2.0, 0.0], [1.0, 2.0, 0.0]], 3, 1.0);
        let (normal, area) = totals(&quad);
        assert!((area - 6.0).abs() < 1e-13 && (normal[2] - 6.0).abs() < 1e-13 && quad[0].1 > quad[2].1);
        // First moment: Σ x_i ∫N_i dA = ∫ x dA, centroid at height 8/9.
        let moment = 2.0 * (quad[2].1 + quad[3].1);
        assert!((moment - 6.0 * 8.0 / 9.0).abs() < 1e-13, "{moment}");
    }
}

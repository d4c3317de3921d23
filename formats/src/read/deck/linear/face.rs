//! Faces: the foot point of a point, and the share of a face that belongs to each corner.

use crate::vector::{Vector, cross, difference, dot};

/// Steps of the search on a face of four corners; a plane parallelogram takes one.
const STEPS: usize = 30;
/// Weights below this are 0.
const SMALLEST: f64 = 1e-10;
/// Abscissa of the two Gauss points on [−1, 1].
const GAUSS: f64 = 0.577_350_269_189_625_8;

/// The point of a face that is nearest to a point: the weight of each corner, with the sum 1, and the distance.
pub(super) fn foot(corners: &[Vector], x: Vector) -> ([f64; 4], f64) {
    let edges = (0..corners.len()).map(|a| (a, (a + 1) % corners.len()));
    let on_edges = edges.map(|(a, b)| {
        let mut weights = [0.; 4];
        let along = difference(corners[b], corners[a]);
        let length = dot(along, along);
        let t = if length > 0. { dot(difference(x, corners[a]), along) / length } else { 0. };
        weights[b] = t.clamp(0., 1.);
        weights[a] = 1. - weights[b];
        weights
    });
    let inside = match corners.len() {
        3 => inside_triangle(corners, x),
        4 => inside_quadrilateral(corners, x),
        _ => None,
    };
    let with_distance = |weights: [f64; 4]| {
        let gap = difference(x, point(corners, &weights));
        (weights, dot(gap, gap).sqrt())
    };
    let all = on_edges.chain(inside).map(with_distance);
    let (mut weights, distance) = all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(([1., 0., 0., 0.], f64::INFINITY));
    weights.iter_mut().filter(|weight| weight.abs() < SMALLEST).for_each(|weight| *weight = 0.);
    let sum: f64 = weights.iter().sum();
    (weights.map(|weight| weight / sum), distance)
}

fn point(corners: &[Vector], weights: &[f64; 4]) -> Vector {
    std::array::from_fn(|k| corners.iter().zip(weights).map(|(corner, weight)| weight * corner[k]).sum())
}

/// The foot on the plane of a triangle, if it is inside.
fn inside_triangle(corners: &[Vector], x: Vector) -> Option<[f64; 4]> {
    let [a, b] = [1, 2].map(|corner| difference(corners[corner], corners[0]));
    let normal = cross(a, b);
    let square = dot(normal, normal);
    let from = difference(x, corners[0]);
    let [u, v] = [dot(cross(from, b), normal) / square, dot(cross(a, from), normal) / square];
    let weights = [1. - u - v, u, v, 0.];
    (square > 0. && weights.iter().all(|weight| *weight >= 0.)).then_some(weights)
}

/// N_i of a face of four corners.
fn bilinear([xi, eta]: [f64; 2]) -> [f64; 4] {
    [(1. - xi) * (1. - eta), (1. + xi) * (1. - eta), (1. + xi) * (1. + eta), (1. - xi) * (1. + eta)].map(|n| 0.25 * n)
}

/// ∂x/∂ξ and ∂x/∂η.
fn tangents(corners: &[Vector], [xi, eta]: [f64; 2]) -> [Vector; 2] {
    let along_xi = [eta - 1., 1. - eta, 1. + eta, -1. - eta].map(|n| 0.25 * n);
    let along_eta = [xi - 1., -1. - xi, 1. + xi, 1. - xi].map(|n| 0.25 * n);
    [along_xi, along_eta].map(|weights| point(corners, &weights))
}

/// The nearest point of a bilinear face by Gauss–Newton steps, if it is inside.
fn inside_quadrilateral(corners: &[Vector], x: Vector) -> Option<[f64; 4]> {
    let mut place = [0.; 2];
    for _ in 0..STEPS {
        let gap = difference(x, point(corners, &bilinear(place)));
        let [a, b] = tangents(corners, place);
        let (aa, ab, bb) = (dot(a, a), dot(a, b), dot(b, b));
        let determinant = aa * bb - ab * ab;
        if determinant <= 0. {
            return None;
        }
        let (ga, gb) = (dot(gap, a), dot(gap, b));
        let step = [(bb * ga - ab * gb) / determinant, (aa * gb - ab * ga) / determinant];
        place = [(place[0] + step[0]).clamp(-1.5, 1.5), (place[1] + step[1]).clamp(-1.5, 1.5)];
        if step.iter().all(|step| step.abs() < 1e-14) {
            break;
        }
    }
    // Rounding puts feet of corners and edges a little beyond.
    place.iter().all(|at| at.abs() <= 1.).then(|| bilinear(place))
}

/// ∫ N dA of each corner; a length of a face of two corners.
pub(super) fn shares(corners: &[Vector]) -> Vec<f64> {
    let size = |a: Vector| dot(a, a).sqrt();
    match corners.len() {
        2 => vec![0.5 * size(difference(corners[1], corners[0])); 2],
        3 => {
            let area = 0.5 * size(cross(difference(corners[1], corners[0]), difference(corners[2], corners[0])));
            vec![area / 3.; 3]
        }
        _ => {
            let mut out = vec![0.; corners.len()];
            for place in [[-GAUSS, -GAUSS], [GAUSS, -GAUSS], [GAUSS, GAUSS], [-GAUSS, GAUSS]] {
                let [a, b] = tangents(corners, place);
                let area = size(cross(a, b));
                out.iter_mut().zip(bilinear(place)).for_each(|(share, n)| *share += n * area);
            }
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feet_are_the_nearest_points() {
        let skew = [[0., 0., 0.], [2., 0.2, 0.], [2.5, 1.5, 0.3], [-0.2, 1., 0.1]];
        let triangle = &skew[..3];
        for corners in [&skew[..], triangle, &skew[..2]] {
            for x in [[0.4, 0.5, 0.3], [1.9, 0.9, -0.4], [3., 3., 0.], [-1., 0.5, 0.2], [1., -2., 0.1]] {
                let (weights, distance) = foot(corners, x);
                assert!((weights.iter().sum::<f64>() - 1.).abs() < 1e-14 && weights.iter().all(|w| *w >= 0.));
                // No point of a fine grid on the face is nearer.
                let n = 200;
                let mut nearest = f64::INFINITY;
                for i in 0..=n {
                    for j in 0..=n {
                        let [s, t] = [i, j].map(|k| f64::from(k) / f64::from(n));
                        let weights = match corners.len() {
                            4 => bilinear([2. * s - 1., 2. * t - 1.]),
                            3 => [(1. - s) * (1. - t), s * (1. - t), t, 0.],
                            _ => [1. - s, s, 0., 0.],
                        };
                        let gap = difference(x, point(corners, &weights));
                        nearest = nearest.min(dot(gap, gap).sqrt());
                    }
                }
                assert!(distance <= nearest + 1e-12 && nearest - distance < 1e-3, "{distance} {nearest}");
            }
        }
        assert_eq!(foot(&skew, skew[2]).0, [0., 0., 1., 0.]);
    }

    #[test]
    fn shares_add_up_to_the_area() {
        let square = [[0., 0., 1.], [2., 0., 1.], [2., 3., 1.], [0., 3., 1.]];
        assert!(shares(&square).iter().all(|share| (share - 1.5).abs() < 1e-14));
        assert!(shares(&square[..3]).iter().all(|share| (share - 1.).abs() < 1e-14));
        assert_eq!(shares(&square[..2]), [1., 1.]);
    }
}

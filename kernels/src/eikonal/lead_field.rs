//! Means of ∇(1/|x − x_e|) over elements: what an electrode sees of the current in them.
//!
//! Far from the electrode a rule of four points (three in a triangle) is taken, which is exact for quadratic functions.
//! Near it, also inside the element, the mean is exact by the divergence theorem,
//!
//! ```text
//! ∫ ∇(1/r) dV = Σ over faces of n ∫ 1/r dA,   ∫ ∇ₛ(1/r) dA = Σ over edges of ν ∫ 1/r dl
//! ```
//!
//! with the potential of a face in closed form (Wilton et al., IEEE Trans. Antennas Propag. 32, 1984).

use pogo_formats::vector::{cross, dot};

type Vector = [f64; 3];

/// Distance from an element's centre, in its longest edges, from which the rule of points is taken: relative errors are below
/// 2e-4 there.
const FAR: f64 = 4.0;
/// Barycentric coordinates of the points of a tetrahedron, (5 − √5)/20 and (5 + 3√5)/20.
const FEW: f64 = 0.138_196_601_125_010_5;
const MANY: f64 = 0.585_410_196_624_968_5;

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|k| a[k] - b[k])
}

fn scaled(a: Vector, by: f64) -> Vector {
    a.map(|x| by * x)
}

fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

fn add(sum: &mut Vector, a: Vector) {
    (0..3).for_each(|k| sum[k] += a[k]);
}

/// An element with what does not depend on the electrode.
pub(super) struct Seen<const N: usize> {
    x: [Vector; N],
    /// Points of the rule.
    points: [Vector; 4],
    n_points: usize,
    centre: Vector,
    /// Square of the distance from which the rule is taken.
    far: f64,
    /// Volume, or area.
    pub measure: f64,
}

impl<const N: usize> Seen<N> {
    /// An element with these corners: a triangle or a tetrahedron.
    pub fn new(x: [Vector; N]) -> Self {
        let edge = |k: usize| minus(x[k], x[0]);
        let normal = cross(edge(1), edge(2));
        let measure = if N == 4 { dot(normal, edge(3)).abs() / 6.0 } else { 0.5 * length(normal) };
        let weighted = |weight: &dyn Fn(usize) -> f64| {
            let mut sum = [0.0; 3];
            (0..N).for_each(|k| add(&mut sum, scaled(x[k], weight(k))));
            sum
        };
        let n_points = N.min(4);
        let points = std::array::from_fn(|point| {
            let weight = |k: usize| match N {
                4 => [FEW, MANY][usize::from(k == point)],
                _ => [1.0 / 6.0, 2.0 / 3.0][usize::from(k == point)],
            };
            weighted(&weight)
        });
        let pairs = (0..N).flat_map(|k| (0..k).map(move |l| (k, l)));
        let longest = pairs.map(|(k, l)| minus(x[k], x[l])).map(|e| dot(e, e)).fold(0.0, f64::max);
        Self { x, points, n_points, centre: weighted(&|_| 1.0 / N as f64), far: FAR * FAR * longest, measure }
    }

    /// The mean of ∇(1/r) over the element for an electrode; of a triangle its part in the plane of the triangle. Infinite
    /// or NaN at an electrode on an edge of a triangle.
    pub fn mean(&self, electrode: Vector) -> Vector {
        let away = minus(self.centre, electrode);
        if dot(away, away) < self.far {
            return if N == 4 { self.exact_volume(electrode) } else { self.exact_area(electrode) };
        }
        let mut sum = [0.0; 3];
        for &point in &self.points[..self.n_points] {
            let r = minus(electrode, point);
            let square = dot(r, r);
            add(&mut sum, scaled(r, 1.0 / (square * square.sqrt())));
        }
        let mean = scaled(sum, 1.0 / self.n_points as f64);
        if N == 4 { mean } else { in_plane(mean, self.normal()) }
    }

    fn normal(&self) -> Vector {
        let normal = cross(minus(self.x[1], self.x[0]), minus(self.x[2], self.x[0]));
        scaled(normal, 1.0 / length(normal))
    }

    fn exact_volume(&self, electrode: Vector) -> Vector {
        let mut sum = [0.0; 3];
        for corner in 0..N {
            let [a, b, c] = std::array::from_fn(|k| minus(self.x[(corner + k + 1) % N], electrode));
            let normal = cross(minus(b, a), minus(c, a));
            let area = length(normal);
            if area > 0.0 {
                let inward = dot(normal, minus(minus(self.x[corner], electrode), a)) > 0.0;
                let outward = scaled(normal, if inward { -1.0 } else { 1.0 } / area);
                add(&mut sum, scaled(outward, face(a, b, c, scaled(normal, 1.0 / area))));
            }
        }
        scaled(sum, 1.0 / self.measure)
    }

    fn exact_area(&self, electrode: Vector) -> Vector {
        let normal = self.normal();
        let mut sum = [0.0; 3];
        for k in 0..3 {
            let (a, b) = (minus(self.x[k], electrode), minus(self.x[(k + 1) % 3], electrode));
            let along = minus(b, a);
            let outward = cross(along, normal);
            add(&mut sum, scaled(outward, edge(a, b) / length(along)));
        }
        scaled(sum, 1.0 / self.measure)
    }
}

fn in_plane(a: Vector, normal: Vector) -> Vector {
    minus(a, scaled(normal, dot(a, normal)))
}

/// ∫ 1/r dl from a to b, seen from the origin.
fn edge(a: Vector, b: Vector) -> f64 {
    let along = minus(b, a);
    let l = length(along);
    let (from, to) = (dot(a, along) / l, dot(b, along) / l);
    // Behind the origin the ends change places, without which differences would cancel.
    let (near, far) =
        if from + to >= 0.0 { (length(a) + from, length(b) + to) } else { (length(b) - to, length(a) - from) };
    (far / near).ln()
}

/// ∫ 1/r dA over a triangle, seen from the origin; `normal` has length 1.
fn face(a: Vector, b: Vector, c: Vector, normal: Vector) -> f64 {
    let height = dot(a, normal);
    let mut sum = 0.0;
    for (p, q) in [(a, b), (b, c), (c, a)] {
        let along = minus(q, p);
        let along = scaled(along, 1.0 / length(along));
        // Distance of the edge's line in the plane from the foot of the origin, positive if the foot lies on the inner side.
        let distance = dot(p, cross(along, normal));
        let square = distance * distance + height * height;
        // On the line itself the edge gives nothing: the logarithm grows more slowly than the distance falls.
        if square > 1e-28 * dot(p, p).max(dot(q, q)) && distance != 0.0 {
            let angle = |end: Vector| {
                let l = dot(end, along);
                (distance * l).atan2(square + height.abs() * length(end))
            };
            sum += distance * edge(p, q) - height.abs() * (angle(q) - angle(p));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [Vector; 4] = [[0.1, 0.0, 0.05], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.3, 0.2, 0.8]];

    /// Mean of ∇(1/r) by the midpoints of n³ (n²) pieces.
    fn sampled<const N: usize>(x: [Vector; N], electrode: Vector, n: usize) -> Vector {
        let (mut sum, mut total) = ([0.0; 3], 0.0);
        let t = |i: usize| (i as f64 + 0.5) / n as f64;
        for i in 0..n {
            for j in 0..n {
                for k in 0..if N == 4 { n } else { 1 } {
                    // The cube folded into the simplex, with the density that comes of it.
                    let (a, b, c) = (t(i), t(j), if N == 4 { t(k) } else { 0.0 });
                    let (weights, density) = if N == 4 {
                        ([1.0 - a, a * (1.0 - b), a * b * (1.0 - c), a * b * c], a * a * b)
                    } else {
                        ([1.0 - a, a * (1.0 - b), a * b, 0.0], a)
                    };
                    let mut r = electrode;
                    for (x, weight) in x.iter().zip(weights) {
                        (0..3).for_each(|m| r[m] -= weight * x[m]);
                    }
                    add(&mut sum, scaled(r, density / length(r).powi(3)));
                    total += density;
                }
            }
        }
        scaled(sum, 1.0 / total)
    }

    #[test]
    fn the_mean_over_a_tetrahedron_is_that_of_many_points() {
        let seen = Seen::new(X);
        for electrode in [[2.0, 1.0, -0.5], [0.5, 0.3, 1.0], [-0.3, 0.1, 0.0], [1.3, 0.12, 0.0]] {
            let (exact, sampled) = (seen.exact_volume(electrode), sampled(X, electrode, 80));
            let error = length(minus(exact, sampled)) / length(sampled);
            assert!(error < 1e-3, "{electrode:?} {exact:?} {sampled:?}");
        }
        // Inside: the field of the eight pieces of the tetrahedron round the electrode is that of the whole.
        let inside = [0.4, 0.3, 0.2];
        let mut sum = [0.0; 3];
        for corner in 0..4 {
            let mut x = X;
            x[corner] = inside;
            let part = Seen::new(x);
            add(&mut sum, scaled(part.mean(inside), part.measure / seen.measure));
        }
        assert!(length(minus(sum, seen.mean(inside))) < 1e-12, "{sum:?} {:?}", seen.mean(inside));
        assert!(seen.mean(X[2]).iter().all(|x| x.is_finite()));
    }

    #[test]
    fn the_rule_of_points_takes_over_without_a_jump() {
        for scale in [1.0, 1e-3, 1e4] {
            let x = X.map(|x| scaled(x, scale));
            let seen = Seen::new(x);
            for way in [[1.0, 0.2, -0.4], [-0.3, 1.0, 0.1], [0.1, 0.2, -1.0]] {
                let electrode: Vector = std::array::from_fn(|k| seen.centre[k] + seen.far.sqrt() * 1.001 * way[k]);
                let (rule, exact) = (seen.mean(electrode), seen.exact_volume(electrode));
                assert!(length(minus(rule, exact)) < 2e-4 * length(exact), "{rule:?} {exact:?}");
            }
        }
    }

    #[test]
    fn the_mean_over_a_triangle_is_that_of_many_points_in_its_plane() {
        let x = [X[0], X[1], X[2]];
        let seen = Seen::new(x);
        let normal = seen.normal();
        for electrode in [[2.0, 1.0, -0.5], [0.5, 0.3, 0.6], [-0.3, 0.1, 0.0], [9.0, -3.0, 2.0]] {
            let (found, sampled) = (seen.mean(electrode), in_plane(sampled(x, electrode, 400), normal));
            assert!(length(minus(found, sampled)) < 2e-4 * length(sampled), "{electrode:?} {found:?} {sampled:?}");
        }
    }
}

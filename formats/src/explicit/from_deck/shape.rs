//! Elements that are turned over, have no volume, or are so distorted that they fold over themselves.

use crate::mesh::{ElementGroup, ElementKind, ElementShape, Mesh, user_label};
use crate::system::parallel::iterate::*;
use crate::vector::{Vector, cross, difference, dot};

/// |V| below this share of (longest edge from the first node)ᵈ is no volume.
const FLAT: f64 = 1e-13;

/// What [`orient`] found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shapes {
    /// Elements that were turned over.
    pub turned: Found,
    /// Elements without area or volume.
    pub flat: Found,
}

/// Some elements: how many, and the names of the first few.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub count: u64,
    names: Vec<String>,
}

impl Found {
    /// Names that are given before the rest is only counted.
    const MOST: usize = 8;

    fn add(&mut self, instances: &[String], group: &ElementGroup, at: usize) {
        self.count += 1;
        if self.names.len() < Self::MOST {
            self.names.push(user_label(instances, group.instance[at], group.labels[at]));
        }
    }

    /// `element 5`, `elements 5, 6 and 12 more`; nothing where there is none.
    pub fn list(&self) -> Option<String> {
        let names = self.names.join(", ");
        match self.count as usize - self.names.len() {
            _ if self.count == 0 => None,
            _ if self.count == 1 => Some(format!("element {names}")),
            0 => Some(format!("elements {names}")),
            more => Some(format!("elements {names} and {more} more")),
        }
    }
}

/// Positions of an element's nodes, with zeros beyond them.
fn positions(mesh_dimension: usize, coordinates: &[f64], nodes: &[u32]) -> [Vector; 8] {
    let mut x = [[0.; 3]; 8];
    for (x, node) in x.iter_mut().zip(nodes) {
        let start = *node as usize * mesh_dimension;
        for (k, x) in x.iter_mut().enumerate().take(mesh_dimension) {
            *x = coordinates.get(start + k).copied().unwrap_or(0.);
        }
    }
    x
}

/// Area or volume of each element, by the Jacobian at its centre.
pub(super) fn volumes(
    kind: ElementKind,
    dimension: usize,
    coordinates: &[f64],
    connectivity: &[u32],
) -> impl IndexedParallelIterator<Item = f64> {
    let nodes = connectivity.par_chunks_exact(kind.n_nodes()).with_min_len(1024);
    nodes.map(move |nodes| signed_volume(kind, &positions(dimension, coordinates, nodes)).abs())
}

/// Turns elements whose nodes run the wrong way round (clockwise in 2D), so that areas and volumes are positive.
pub(super) fn orient(mesh: &mut Mesh) -> Shapes {
    let mut shapes = Shapes::default();
    let dimension = mesh.dimension as usize;
    for group in &mut mesh.groups {
        let kind = group.kind;
        let elements = group.connectivity.par_chunks_exact_mut(kind.n_nodes()).with_min_len(1024).enumerate();
        let turn_over = |(at, nodes): (usize, &mut [u32])| {
            let x = positions(dimension, &mesh.coordinates, nodes);
            let volume = signed_volume(kind, &x);
            let edges = x[1..kind.n_nodes()].iter().map(|p| difference(*p, x[0]));
            let longest = edges.map(|e| dot(e, e)).fold(0., f64::max).sqrt();
            // False for a volume that is no number, too.
            let has_volume = volume.abs() > FLAT * longest.powi(kind.dimension() as i32);
            let is_turned = has_volume && volume < 0.;
            if is_turned {
                turn(kind, nodes);
            }
            (!has_volume || is_turned).then_some((at, has_volume))
        };
        let turned: Vec<(usize, bool)> = elements.filter_map(turn_over).collect();
        for (at, has_volume) in turned {
            let found = if has_volume { &mut shapes.turned } else { &mut shapes.flat };
            found.add(&mesh.instances, group, at);
        }
    }
    shapes
}

/// What [`distortion`] found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Distortion {
    /// The Jacobian is not positive at an integration point that the element's stiffness is summed over.
    pub folded: Found,
    /// It is positive there, but negative at a corner (for one-point kinds: at a corner or a point of full integration).
    pub bent: Found,
}

/// Looks for Jacobians that are not positive, in elements that are the right way round at their centres.
pub(super) fn distortion(mesh: &Mesh) -> Distortion {
    let mut out = Distortion::default();
    let dimension = mesh.dimension as usize;
    for group in mesh.groups.iter().filter(|g| g.kind.n_nodes() > g.kind.dimension() + 1) {
        let kind = group.kind;
        let reduced = kind.is_reduced();
        let found: Vec<(usize, bool)> = group
            .connectivity
            .par_chunks_exact(kind.n_nodes())
            .with_min_len(1024)
            .enumerate()
            .filter_map(|(at, nodes)| {
                let x = positions(dimension, &mesh.coordinates, nodes);
                let points = jacobians(kind, &x, false);
                let corners = jacobians(kind, &x, true);
                // Only the sum counts for one-point kinds, which take the mean gradient. A NaN is folded, too.
                let sum: f64 = points.iter().flatten().sum();
                let whole = sum > 0. && (reduced || points.iter().flatten().all(|j| *j > 0.));
                // A corner where two nodes coincide has no angle, but is not turned inside out.
                let bent = points.iter().chain(&corners).flatten().any(|j| *j < -1e-9 * sum.abs());
                (!whole || bent).then_some((at, !whole))
            })
            .collect();
        for (at, folded) in found {
            if folded { &mut out.folded } else { &mut out.bent }.add(&mesh.instances, group, at);
        }
    }
    out
}

/// det J times a positive constant, at the corners or at the points of full integration. Simplices are left out.
fn jacobians(kind: ElementKind, x: &[Vector; 8], corners: bool) -> [Option<f64>; 8] {
    let g = if corners { 1. } else { 1. / 3f64.sqrt() };
    let edge = |[from, to]: [usize; 2]| difference(x[to], x[from]);
    let triple = |a: Vector, b: Vector, c: Vector| dot(cross(a, b), c);
    let mix = |a: Vector, s: f64, b: Vector, t: f64| -> Vector { std::array::from_fn(|k| s * a[k] + t * b[k]) };
    let mut out = [None; 8];
    // From edges at −1 and 1: the derivative at ∓g.
    let pair = |low: Vector, high: Vector| {
        let (near, far) = ((1. + g) / 2., (1. - g) / 2.);
        [mix(low, near, high, far), mix(low, far, high, near)]
    };
    match kind.shape() {
        ElementShape::Triangle | ElementShape::Tetrahedron => {}
        ElementShape::Quadrilateral => {
            let along = pair(edge([0, 1]), edge([3, 2]));
            let across = pair(edge([0, 3]), edge([1, 2]));
            for at in 0..4 {
                out[at] = Some(cross(along[at / 2], across[at % 2])[2]);
            }
        }
        ElementShape::Wedge => {
            let r = pair(edge([0, 1]), edge([3, 4]));
            let s = pair(edge([0, 2]), edge([3, 5]));
            let up = [edge([0, 3]), edge([1, 4]), edge([2, 5])];
            for side in 0..3 {
                let (own, other) = if corners { (1., 0.) } else { (2. / 3., 1. / 6.) };
                let weight = |i: usize| if i == side { own } else { other };
                let t = std::array::from_fn(|k| (0..3).map(|i| weight(i) * up[i][k]).sum());
                for end in 0..2 {
                    out[2 * side + end] = Some(triple(r[end], s[end], t));
                }
            }
        }
        ElementShape::Hexahedron => {
            // Four derivatives an axis, by the places along the two others.
            let four = |edges: [[usize; 2]; 4]| {
                let [low, high] = [pair(edge(edges[0]), edge(edges[1])), pair(edge(edges[2]), edge(edges[3]))];
                let (at_low, at_high) = (pair(low[0], high[0]), pair(low[1], high[1]));
                [at_low[0], at_high[0], at_low[1], at_high[1]]
            };
            let along = four([[0, 1], [3, 2], [4, 5], [7, 6]]);
            let across = four([[0, 3], [1, 2], [4, 7], [5, 6]]);
            let up = four([[0, 4], [1, 5], [3, 7], [2, 6]]);
            for (at, out) in out.iter_mut().enumerate() {
                let (i, j, k) = (at & 1, at >> 1 & 1, at >> 2);
                *out = Some(triple(along[j + 2 * k], across[i + 2 * k], up[i + 2 * j]));
            }
        }
    }
    out
}

/// A measure with the sign of the Jacobian at the centre; the area or volume for simplices.
fn signed_volume(kind: ElementKind, x: &[Vector; 8]) -> f64 {
    let triple = |a: Vector, b: Vector, c: Vector| dot(cross(a, b), c);
    let mean = |nodes: &[usize]| -> Vector {
        std::array::from_fn(|k| nodes.iter().map(|n| x[*n][k]).sum::<f64>() / nodes.len() as f64)
    };
    let edge = |from: usize, to: usize| difference(x[to], x[from]);
    let between = |from: &[usize], to: &[usize]| difference(mean(to), mean(from));
    match kind.shape() {
        ElementShape::Triangle => cross(edge(0, 1), edge(0, 2))[2] / 2.,
        ElementShape::Quadrilateral => cross(edge(0, 2), edge(1, 3))[2] / 2.,
        ElementShape::Tetrahedron => triple(edge(0, 1), edge(0, 2), edge(0, 3)) / 6.,
        ElementShape::Wedge => {
            triple(between(&[0, 3], &[1, 4]), between(&[0, 3], &[2, 5]), between(&[0, 1, 2], &[3, 4, 5])) / 2.
        }
        ElementShape::Hexahedron => triple(
            between(&[0, 3, 4, 7], &[1, 2, 5, 6]),
            between(&[0, 1, 4, 5], &[3, 2, 7, 6]),
            between(&[0, 1, 2, 3], &[4, 5, 6, 7]),
        ),
    }
}

/// The same element with its nodes the other way round.
fn turn(kind: ElementKind, nodes: &mut [u32]) {
    let swaps: &[(usize, usize)] = match kind.shape() {
        ElementShape::Triangle | ElementShape::Tetrahedron => &[(1, 2)],
        ElementShape::Quadrilateral => &[(1, 3)],
        ElementShape::Wedge => &[(1, 2), (4, 5)],
        ElementShape::Hexahedron => &[(1, 3), (5, 7)],
    };
    swaps.iter().for_each(|(a, b)| nodes.swap(*a, *b));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::ElementGroup;

    /// One element of unit edges.
    fn mesh(kind: ElementKind) -> Mesh {
        let corners: &[[f64; 3]] = match kind.n_nodes() {
            3 => &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]],
            4 if kind.dimension() == 2 => &[[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]],
            4 => &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]],
            6 => &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 0., 1.], [0., 1., 1.]],
            _ => &[
                [0., 0., 0.],
                [1., 0., 0.],
                [1., 1., 0.],
                [0., 1., 0.],
                [0., 0., 1.],
                [1., 0., 1.],
                [1., 1., 1.],
                [0., 1., 1.],
            ],
        };
        let n = corners.len() as u32;
        Mesh {
            dimension: kind.dimension() as u32,
            coordinates: corners.iter().flat_map(|x| x[..kind.dimension()].to_vec()).collect(),
            node_labels: (1..=n).collect(),
            node_instance: vec![0; corners.len()],
            instances: vec!["I".into()],
            groups: vec![ElementGroup {
                kind,
                labels: vec![7],
                instance: vec![0],
                section: vec![0],
                connectivity: (0..n).collect(),
            }],
            node_sets: Vec::new(),
            element_sets: Vec::new(),
        }
    }

    #[test]
    fn every_kind_is_turned_back() {
        for kind in ElementKind::ALL {
            let right = mesh(kind);
            let mut turned = right.clone();
            assert_eq!(orient(&mut turned), Shapes::default(), "{}", kind.name());
            assert_eq!(turned, right);
            turn(kind, &mut turned.groups[0].connectivity);
            let shapes = orient(&mut turned);
            assert_eq!(shapes.turned.list().as_deref(), Some("element I.7"), "{}", kind.name());
            assert_eq!(turned, right);
            let mut flat = right.clone();
            flat.coordinates.chunks_exact_mut(kind.dimension()).for_each(|x| x[1] = x[0]);
            assert_eq!((orient(&mut flat).flat.count, orient(&mut flat).turned.count), (1, 0), "{}", kind.name());
        }
    }

    /// det J by the shape functions' derivatives, x = Σ N x, at a point of the reference element.
    fn determinant(kind: ElementKind, x: &[Vector; 8], [r, s, t]: Vector) -> f64 {
        let at = |p: Vector| -> Vector {
            let [r, s, t] = p;
            let ends = |t: f64| [(1. - t) / 2., (1. + t) / 2.];
            let n: Vec<f64> = match kind.n_nodes() {
                6 => ends(t).iter().flat_map(|h| [1. - r - s, r, s].map(|l| l * h)).collect(),
                n => (0..n)
                    .map(|i| {
                        let (right, back, top) = ([0, 1, 1, 0][i % 4], i % 4 / 2, i / 4);
                        ends(r)[right] * ends(s)[back] * if n == 8 { ends(t)[top] } else { 1. }
                    })
                    .collect(),
            };
            std::array::from_fn(|k| n.iter().zip(x).map(|(n, x)| n * x[k]).sum())
        };
        // Exact for what is linear along each axis.
        let slope = |axis: usize| {
            let (mut low, mut high) = ([r, s, t], [r, s, t]);
            low[axis] -= 0.5;
            high[axis] += 0.5;
            difference(at(high), at(low))
        };
        let up = if kind.dimension() == 2 { [0., 0., 1.] } else { slope(2) };
        dot(cross(slope(0), slope(1)), up)
    }

    #[test]
    fn jacobians_are_those_of_the_shape_functions() {
        let g = 1. / 3f64.sqrt();
        for kind in [ElementKind::Cpe4, ElementKind::C3d6, ElementKind::C3d8] {
            let mesh = mesh(kind);
            let mut x = positions(kind.dimension(), &mesh.coordinates, &mesh.groups[0].connectivity);
            for (i, x) in x.iter_mut().enumerate().take(kind.n_nodes()) {
                for (k, x) in x.iter_mut().enumerate().take(kind.dimension()) {
                    *x += 0.3 * ((7 * i + 3 * k) as f64).sin();
                }
            }
            for corners in [false, true] {
                let mut expected: Vec<f64> = match (kind.n_nodes(), corners) {
                    (6, _) => {
                        let (a, b, g) = if corners { (0., 1., 1.) } else { (1. / 6., 2. / 3., g) };
                        let places = [[a, a], [b, a], [a, b]];
                        let all = places.iter().flat_map(|[r, s]| [[*r, *s, -g], [*r, *s, g]]);
                        all.map(|p| determinant(kind, &x, p)).collect()
                    }
                    (n, _) => {
                        let g = if corners { 1. } else { g };
                        let sign = |i: usize| if i == 1 { g } else { -g };
                        (0..n).map(|i| determinant(kind, &x, [sign(i & 1), sign(i >> 1 & 1), sign(i >> 2)])).collect()
                    }
                };
                let mut found: Vec<f64> = jacobians(kind, &x, corners).into_iter().flatten().collect();
                expected.sort_by(f64::total_cmp);
                found.sort_by(f64::total_cmp);
                assert_eq!(found.len(), expected.len());
                let ratio = found[found.len() - 1] / expected[expected.len() - 1];
                assert!(ratio > 0.);
                for (a, b) in found.iter().zip(&expected) {
                    assert!((a - ratio * b).abs() < 1e-12 * ratio, "{} {corners}: {a} {b}", kind.name());
                }
            }
        }
    }

    #[test]
    fn folded_and_bent_elements_are_told_apart() {
        use ElementKind::*;
        for (kind, node, [bent, folded]) in [
            // The last node of the first face is pulled along the diagonal, over the middle.
            (Cpe4, 2, [0.45, 0.15]),
            (Cps4r, 2, [0.45, f64::NAN]),
            (C3d8, 6, [0.62, 0.1]),
        ] {
            let square = mesh(kind);
            assert_eq!(distortion(&square), Distortion::default(), "{}", kind.name());
            let dimension = kind.dimension();
            let moved = |to: f64| {
                let mut mesh = square.clone();
                mesh.coordinates[node * dimension..(node + 1) * dimension].fill(to);
                distortion(&mesh)
            };
            assert_eq!((moved(bent).folded.count, moved(bent).bent.count), (0, 1), "{}", kind.name());
            assert_eq!((moved(folded).folded.count, moved(folded).bent.count), (1, 0), "{}", kind.name());
        }
        // A wedge whose top runs the other way round.
        let mut wedge = mesh(C3d6);
        wedge.coordinates[9..].copy_from_slice(&[0., 0., 1., 0.2, 1., 1., 1., 0.2, 1.]);
        assert_eq!(distortion(&wedge).folded.list().as_deref(), Some("element I.7"));
        // Two corners in one place are in order.
        let mut triangle = mesh(Cpe4);
        triangle.coordinates.copy_within(2..4, 4);
        assert_eq!(distortion(&triangle), Distortion::default());
    }
}

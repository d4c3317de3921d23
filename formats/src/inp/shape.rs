//! Elements that are turned over or have no volume.

use super::frame::{Vector, cross, difference, dot};
use crate::model::{ElementKind, Mesh};

/// |V| below this share of (longest edge from the first node)ᵈ is no volume.
const FLAT: f64 = 1e-13;

/// What [`orient`] found.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shapes {
    /// Elements that were turned over.
    pub n_turned: u64,
    /// The first of them.
    pub first_turned: Option<String>,
    /// Elements without area or volume.
    pub n_flat: u64,
    /// The first of them.
    pub first_flat: Option<String>,
}

/// Turns elements whose nodes run the wrong way round (clockwise in 2D), so that areas and volumes are positive.
pub(super) fn orient(mesh: &mut Mesh) -> Shapes {
    let mut shapes = Shapes::default();
    let dimension = mesh.dimension as usize;
    let coordinates = &mesh.coordinates;
    let position = |node: u32| -> Vector {
        let start = node as usize * dimension;
        std::array::from_fn(|k| if k < dimension { coordinates.get(start + k).copied().unwrap_or(0.) } else { 0. })
    };
    for group in &mut mesh.groups {
        let kind = group.kind;
        for (at, nodes) in group.connectivity.chunks_exact_mut(kind.n_nodes()).enumerate() {
            let mut x = [[0.; 3]; 8];
            for (x, node) in x.iter_mut().zip(nodes.iter()) {
                *x = position(*node);
            }
            let volume = signed_volume(kind, &x);
            let edges = x[1..kind.n_nodes()].iter().map(|p| difference(*p, x[0]));
            let longest = edges.map(|e| dot(e, e)).fold(0., f64::max).sqrt();
            let label = || {
                let instance = group.instance.get(at).and_then(|i| mesh.instances.get(usize::from(*i)));
                let label = group.labels.get(at).copied().unwrap_or_default();
                match instance.filter(|name| !name.is_empty()) {
                    Some(instance) => format!("{instance}.{label}"),
                    None => label.to_string(),
                }
            };
            // False for a volume that is no number, too.
            let has_volume = volume.abs() > FLAT * longest.powi(kind.dimension() as i32);
            if !has_volume {
                shapes.n_flat += 1;
                shapes.first_flat.get_or_insert_with(label);
            } else if volume < 0. {
                shapes.n_turned += 1;
                shapes.first_turned.get_or_insert_with(label);
                turn(kind, nodes);
            }
        }
    }
    shapes
}

/// A measure with the sign of the Jacobian at the centre; the area or volume for simplices.
fn signed_volume(kind: ElementKind, x: &[Vector; 8]) -> f64 {
    let triple = |a: Vector, b: Vector, c: Vector| dot(cross(a, b), c);
    let mean = |nodes: &[usize]| -> Vector {
        std::array::from_fn(|k| nodes.iter().map(|n| x[*n][k]).sum::<f64>() / nodes.len() as f64)
    };
    let edge = |from: usize, to: usize| difference(x[to], x[from]);
    let between = |from: &[usize], to: &[usize]| difference(mean(to), mean(from));
    match kind.n_nodes() {
        3 => cross(edge(0, 1), edge(0, 2))[2] / 2.,
        4 if kind.dimension() == 2 => cross(edge(0, 2), edge(1, 3))[2] / 2.,
        4 => triple(edge(0, 1), edge(0, 2), edge(0, 3)) / 6.,
        6 => triple(between(&[0, 3], &[1, 4]), between(&[0, 3], &[2, 5]), between(&[0, 1, 2], &[3, 4, 5])) / 2.,
        _ => triple(
            between(&[0, 3, 4, 7], &[1, 2, 5, 6]),
            between(&[0, 1, 4, 5], &[3, 2, 7, 6]),
            between(&[0, 1, 2, 3], &[4, 5, 6, 7]),
        ),
    }
}

/// The same element with its nodes the other way round.
fn turn(kind: ElementKind, nodes: &mut [u32]) {
    match kind.n_nodes() {
        3 => nodes.swap(1, 2),
        4 if kind.dimension() == 2 => nodes.swap(1, 3),
        4 => nodes.swap(1, 2),
        6 => {
            nodes.swap(1, 2);
            nodes.swap(4, 5);
        }
        _ => {
            nodes.swap(1, 3);
            nodes.swap(5, 7);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ElementGroup;

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
            assert_eq!((shapes.n_turned, shapes.first_turned.as_deref()), (1, Some("I.7")), "{}", kind.name());
            assert_eq!(turned, right);
            let mut flat = right.clone();
            flat.coordinates.chunks_exact_mut(kind.dimension()).for_each(|x| x[1] = x[0]);
            assert_eq!((orient(&mut flat).n_flat, orient(&mut flat).n_turned), (1, 0), "{}", kind.name());
        }
    }
}

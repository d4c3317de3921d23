use super::*;
use crate::mesh::{ElementGroup, ElementKind, Mesh};

/// A plate of n × n/2 squares with a round hole, each square two triangles.
pub(in crate::write::plot) fn plate(n: usize) -> Mesh {
    let (columns, rows) = (n + 1, n / 2 + 1);
    let side = 40e-3 / n as f64;
    let coordinates = (0..columns * rows).flat_map(|i| [(i % columns) as f64 * side, (i / columns) as f64 * side]);
    let mut connectivity = Vec::new();
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let centre = [(i as f64 + 0.5) * side - 26e-3, (j as f64 + 0.5) * side - 12e-3];
            if centre[0].hypot(centre[1]) > 3e-3 {
                let a = (j * columns + i) as u32;
                let c = columns as u32;
                connectivity.extend([a, a + 1, a + 1 + c, a, a + 1 + c, a + c]);
            }
        }
    }
    mesh(2, coordinates.collect(), ElementKind::Cpe3, connectivity)
}

/// A brick of n × n × n/2 hexahedra.
pub(in crate::write::plot) fn brick(n: usize) -> Mesh {
    let m = n / 2;
    let at = |i: usize, j: usize, k: usize| (i + (n + 1) * (j + (n + 1) * k)) as u32;
    let mut coordinates = Vec::new();
    for k in 0..=m {
        for j in 0..=n {
            for i in 0..=n {
                coordinates.extend([i, j, k].map(|x| x as f64 * 20e-3 / n as f64));
            }
        }
    }
    let mut connectivity = Vec::new();
    for k in 0..m {
        for j in 0..n {
            for i in 0..n {
                connectivity.extend([at(i, j, k), at(i + 1, j, k), at(i + 1, j + 1, k), at(i, j + 1, k)]);
                connectivity.extend([
                    at(i, j, k + 1),
                    at(i + 1, j, k + 1),
                    at(i + 1, j + 1, k + 1),
                    at(i, j + 1, k + 1),
                ]);
            }
        }
    }
    mesh(3, coordinates, ElementKind::C3d8, connectivity)
}

pub(in crate::write::plot) fn mesh(
    dimension: u32,
    coordinates: Vec<f64>,
    kind: ElementKind,
    connectivity: Vec<u32>,
) -> Mesh {
    let n = coordinates.len() / dimension as usize;
    let elements = connectivity.len() / kind.n_nodes();
    Mesh {
        dimension,
        coordinates,
        node_labels: (1..=n as u32).collect(),
        node_instance: vec![0; n],
        instances: vec![String::new()],
        groups: vec![ElementGroup {
            kind,
            labels: (1..=elements as u32).collect(),
            instance: vec![0; elements],
            section: vec![0; elements],
            connectivity,
        }],
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

#[test]
fn pixels_show_the_values_of_a_linear_field() {
    let plate = plate(30);
    let picture = MeshPicture::new(&plate.view(), None, None, 600);
    let field: Vec<f64> = plate.coordinates.chunks_exact(2).map(|x| 3.0 * x[0] - x[1]).collect();
    let values = picture.values(Scalar::Nodal(&field));
    let nearest: Vec<Option<u32>> = picture.nearest().collect();
    let (scale, [across, up]) = (picture.camera.scale(), picture.camera.window());
    let mut shown = 0;
    for (pixel, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        let (column, row) = (pixel % picture.camera.width, pixel / picture.camera.width);
        let (x, y) = (across[0] + (column as f64 + 0.5) / scale, up[1] - (row as f64 + 0.5) / scale);
        assert!((f64::from(*value) - (3.0 * x - y)).abs() < 1e-7, "{x} {y}: {value}");
        let at = nearest[pixel].map(|node| position(&plate.view(), node)).unwrap();
        assert!((at[0] - x).abs() < 1.4e-3 && (at[1] - y).abs() < 1.4e-3, "{at:?} {x} {y}");
        shown += 1;
    }
    // The plate with its border, less the hole.
    assert!(shown > values.len() / 2 && shown < values.len(), "{shown} of {}", values.len());
    let hole = picture.camera.project([26e-3, 12e-3, 0.0]);
    assert!(values[hole[1] as usize * picture.camera.width + hole[0] as usize].is_nan());
    assert!(picture.ink.iter().any(|dark| *dark > 200), "an outline");
}

#[test]
fn a_brick_shows_the_faces_that_are_in_front() {
    let brick = brick(10);
    let picture = MeshPicture::new(&brick.view(), None, Some([0.0, 0.0, 1.0]), 600);
    let height: Vec<f64> = brick.coordinates.chunks_exact(3).map(|x| x[2]).collect();
    let values = picture.values(Scalar::Nodal(&height));
    assert!(values.iter().all(|z| z.is_nan() || (z - 10e-3).abs() < 1e-6), "the upper face");
    let of_elements: Vec<f64> = (0..brick.n_elements()).map(|e| if e >= 400 { f64::NAN } else { 1.0 }).collect();
    assert!(picture.values(Scalar::Elemental(&of_elements)).iter().all(|value| !value.is_finite()));
    // The edges of the box, and none within a flat face.
    let oblique = MeshPicture::new(&brick.view(), None, None, 600);
    let middle = oblique.camera.project([10e-3, 0.0, 5e-3]);
    assert_eq!(oblique.ink[middle[1] as usize * 600 + middle[0] as usize], 0);
    let edge = oblique.camera.project([10e-3, 0.0, 10e-3]);
    let near = |dy: usize| oblique.ink[(edge[1] as usize + dy - 2) * 600 + edge[0] as usize];
    assert!((0..5).any(|dy| near(dy) > 60), "{:?}", (0..5).map(near).collect::<Vec<_>>());
}

#[test]
fn a_slice_shows_the_field_inside() {
    let brick = brick(8);
    let field: Vec<f64> = brick.coordinates.chunks_exact(3).map(|x| x[0] - 2.0 * x[1] + 3.0 * x[2]).collect();
    for (axis, at) in [(0, 7.1e-3), (1, 11e-3), (2, 4.9e-3)] {
        let slice = MeshPicture::slice(&brick.view(), axis, at, 300);
        let (values, plane) = (slice.values(Scalar::Nodal(&field)), plane_of(axis));
        let (scale, [across, up]) = (slice.camera.scale(), slice.camera.window());
        let mut n = 0;
        for (pixel, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let mut x = [at; 3];
            x[plane[0]] = across[0] + ((pixel % 300) as f64 + 0.5) / scale;
            x[plane[1]] = up[1] - ((pixel / 300) as f64 + 0.5) / scale;
            let expected = x[0] - 2.0 * x[1] + 3.0 * x[2];
            assert!((f64::from(*value) - expected).abs() < 1e-8, "{x:?}: {value} {expected}");
            n += 1;
        }
        let size = [20e-3, 20e-3, 10e-3];
        let expected = size[plane[0]] * size[plane[1]] * scale * scale;
        assert!((n as f64 / expected - 1.0).abs() < 0.02, "{n} of {expected} pixels");
    }
    assert!(MeshPicture::slice(&brick.view(), 2, 1.0, 300).nearest().all(|node| node.is_none()));
}

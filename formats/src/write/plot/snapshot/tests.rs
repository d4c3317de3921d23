use super::*;
use crate::mesh::{ElementGroup, ElementKind, Mesh};

/// A plate of n × n/2 squares with a round hole, each square two triangles.
fn plate(n: usize) -> Mesh {
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
fn brick(n: usize) -> Mesh {
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

fn mesh(dimension: u32, coordinates: Vec<f64>, kind: ElementKind, connectivity: Vec<u32>) -> Mesh {
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

/// Rings around a point, m.
fn rings(mesh: &Mesh) -> Vec<f64> {
    let d = mesh.dimension as usize;
    mesh.coordinates
        .chunks_exact(d)
        .map(|x| {
            let r = x.iter().map(|x| (x - 8e-3).powi(2)).sum::<f64>().sqrt();
            3e-9 * (-((r - 9e-3) / 3e-3).powi(2)).exp() * (r * 3000.0).cos().abs()
        })
        .collect()
}

fn size(path: &Path) -> (u32, u32) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    decoder.read_info().unwrap().info().size()
}

/// Pictures go to the folder `POGO_PICTURES` when it is set, to be looked at.
fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("POGO_PICTURES").map_or(temporary.path().to_path_buf(), Into::into);
    (temporary, folder)
}

#[test]
fn snapshots_of_plates_and_bricks_are_drawn() {
    let (_guard, folder) = folder();
    for (name, mesh) in [("plate", plate(160)), ("coarse", plate(30)), ("brick", brick(40))] {
        let path = folder.join(format!("{name}.png"));
        let options =
            SnapshotOptions { title: "Plate with a hole".into(), time: Some(4.25e-6), ..SnapshotOptions::default() };
        snapshot_png(&path, &mesh.view(), Scalar::Nodal(&rings(&mesh)), &options).unwrap();
        let (width, height) = size(&path);
        assert_eq!(width, 1400);
        assert!((400..1500).contains(&height), "{height}");
    }
}

#[test]
fn element_values_signs_and_flat_meshes_are_drawn() {
    let (_guard, folder) = folder();
    let strip = mesh(2, vec![0.0, 0.0, 1.0, 0.0, 1.0, 0.01, 0.0, 0.01], ElementKind::Cps4r, vec![0, 1, 2, 3]);
    let options = SnapshotOptions { unit: "J/m³".into(), label: "energy".into(), ..SnapshotOptions::default() };
    snapshot_png(&folder.join("strip.png"), &strip.view(), Scalar::Elemental(&[2.5]), &options).unwrap();
    assert_eq!(size(&folder.join("strip.png")).0, 1400);

    let plate = plate(80);
    let mut values: Vec<f64> = rings(&plate).iter().enumerate().map(|(i, v)| if i % 9 < 4 { -v } else { *v }).collect();
    values[5] = 1.0;
    values[7] = f64::NAN;
    let options =
        SnapshotOptions { map: Map::Diverging, label: "u2".into(), width: 1200, ..SnapshotOptions::default() };
    snapshot_png(&folder.join("signed.png"), &plate.view(), Scalar::Nodal(&values), &options).unwrap();
}

#[test]
fn a_few_far_larger_values_are_cut_off() {
    let options = SnapshotOptions::default();
    let mut values = vec![1.0; 5000];
    assert!(!Range::new(&values, &options).is_cut);
    values[3] = 100.0;
    let range = Range::new(&values, &options);
    assert!(range.is_cut && range.high == 1.0 && range.low == 0.0);
    let zero = Range::new(&[0.0; 5], &options);
    assert_eq!((zero.low, zero.high), (0.0, 1.0));
    let none = Range::new(&[f64::NAN; 5], &options);
    assert_eq!((none.low, none.high), (0.0, 1.0));
}

#[test]
fn wrong_sizes_are_refused() {
    let plate = plate(4);
    let error = snapshot_png(Path::new("x.png"), &plate.view(), Scalar::Nodal(&[1.0]), &SnapshotOptions::default())
        .unwrap_err();
    assert_eq!(error.to_string(), "x.png: error: 1 values for 15 nodes or elements");
}

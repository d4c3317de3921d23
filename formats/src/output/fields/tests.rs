use std::process::Command;

use super::*;
use crate::model::{ElementGroup, Mesh};

/// A wedge, a hexahedron and a tetrahedron of two instances, or two triangles and a quadrilateral; nodes out of the
/// user's order.
fn mesh(dimension: u32) -> Mesh {
    let group = |kind: ElementKind, first: u32, connectivity: &[u32]| {
        let n = connectivity.len() / kind.n_nodes();
        ElementGroup {
            kind,
            labels: (0..n as u32).map(|element| first + element).collect(),
            instance: vec![1; n],
            section: (0..n as u32).map(|element| first / 100 + element).collect(),
            connectivity: connectivity.to_vec(),
        }
    };
    let (coordinates, groups): (Vec<f64>, _) = if dimension == 2 {
        let xy = [[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]];
        (
            xy.iter().flatten().map(|&x| f64::from(x)).collect(),
            vec![group(ElementKind::Cpe3, 100, &[0, 1, 2, 0, 2, 3]), group(ElementKind::Cps4r, 200, &[1, 4, 5, 2])],
        )
    } else {
        let xyz = [
            [0, 0, 0],
            [1, 0, 0],
            [1, 1, 0],
            [0, 1, 0],
            [0, 0, 1],
            [1, 0, 1],
            [1, 1, 1],
            [0, 1, 1],
            [2, 0, 0],
            [2, 0, 1],
            [0, 0, 2],
        ];
        (
            xyz.iter().flatten().map(|&x| f64::from(x)).collect(),
            vec![
                group(ElementKind::C3d8, 100, &[0, 1, 2, 3, 4, 5, 6, 7]),
                group(ElementKind::C3d6, 200, &[1, 8, 2, 5, 9, 6]),
                group(ElementKind::C3d4, 300, &[4, 5, 6, 10]),
            ],
        )
    };
    let n = coordinates.len() / dimension as usize;
    Mesh {
        dimension,
        coordinates,
        // Labels fall, so the user's order is the reverse.
        node_labels: (0..n as u32).map(|node| 500 - node).collect(),
        node_instance: (0..n).map(|node| (node % 2) as u16).collect(),
        instances: vec!["left".into(), "ri<ght".into()],
        groups,
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

fn write_example(folder: &Path, dimension: u32, precision: FieldPrecision) -> FieldSeries {
    let mesh = mesh(dimension);
    let view = mesh.view();
    let order: Vec<u32> = (0..mesh.n_nodes() as u32).rev().collect();
    let written = FieldMesh::new(&view, &order).unwrap();
    let mut series = FieldSeries::create(folder, "fields", precision).unwrap();
    let labels: Vec<f64> = mesh.groups.iter().flat_map(|group| &group.labels).map(|&l| f64::from(l)).collect();
    for step in [0_u64, 50, 100] {
        let scale = step as f64;
        // The script checks these formulas against labels and positions.
        let displacement: Vec<f64> = (0..mesh.n_nodes())
            .flat_map(|node| {
                (0..dimension as usize).map(move |k| scale * (k as f64 + 1.0) * f64::from(500 - node as u32))
            })
            .collect();
        let stress: Vec<f64> =
            labels.iter().flat_map(|label| (1..=6).map(move |c| label + 0.125 * f64::from(c))).collect();
        let fields = [
            Field { quantity: FieldQuantity::EnergyDensity, values: &labels },
            Field { quantity: FieldQuantity::Displacement, values: &displacement },
            Field { quantity: FieldQuantity::Stress, values: &stress },
            Field { quantity: FieldQuantity::Strain, values: &stress },
        ];
        series.write(&written, step, scale * 1e-8, &fields).unwrap();
    }
    series
}

#[test]
fn vtk_reads_what_is_written() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python/check_fields.py");
    let python = std::env::var("POGO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_vtk = Command::new(&python).args(["-c", "import vtk, numpy"]).output();
    if !has_vtk.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: vtk_reads_what_is_written: {python} has no vtk and numpy; set POGO_PYTHON to one that has");
        return;
    }
    for dimension in [2, 3] {
        for precision in [FieldPrecision::Single, FieldPrecision::Double] {
            let folder = tempfile::tempdir().unwrap();
            let series = write_example(folder.path(), dimension, precision);
            let output = Command::new(&python).arg(&script).arg(series.pvd()).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("fields are right"), "{text}{errors}");
        }
    }
}

#[test]
fn the_declared_offsets_are_where_the_arrays_begin() {
    let folder = tempfile::tempdir().unwrap();
    for dimension in [2, 3] {
        let series = write_example(folder.path(), dimension, FieldPrecision::Single);
        let bytes = fs::read(series.path(50)).unwrap();
        let marker = b"<AppendedData encoding=\"raw\">\n_";
        let start = bytes.windows(marker.len()).position(|window| window == marker).unwrap() + marker.len();
        let xml = std::str::from_utf8(&bytes[..start]).unwrap();
        let offsets: Vec<usize> =
            xml.lines().filter_map(|line| attribute(line, "offset")).map(|offset| offset.parse().unwrap()).collect();
        assert_eq!(offsets.len(), 4 + 3 + 6);
        let displacement = xml.lines().find(|line| line.contains("Name=\"displacement\"")).unwrap();
        let first = start + 8 + attribute(displacement, "offset").unwrap().parse::<usize>().unwrap();
        let numbers = bytes[first..first + 24].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        // The user's first point is the mesh's last.
        let label = 500.0 - if dimension == 2 { 5.0 } else { 10.0 };
        let z = if dimension == 2 { 0.0 } else { 150.0 };
        let points = [[50.0, 100.0, z].map(|x| x * label), [50.0, 100.0, z].map(|x| x * (label + 1.0))];
        assert_eq!(numbers.collect::<Vec<f32>>(), points.as_flattened());
        let mut expected = 0;
        for offset in offsets {
            assert_eq!(offset, expected);
            let length = u64::from_le_bytes(bytes[start + offset..start + offset + 8].try_into().unwrap());
            expected += 8 + length as usize;
        }
        assert_eq!(&bytes[start + expected..], b"\n</AppendedData>\n</VTKFile>\n");
    }
}

#[test]
fn a_series_resumes_after_a_checkpoint_and_a_new_run_starts_clean() {
    let folder = tempfile::tempdir().unwrap();
    let first = write_example(folder.path(), 2, FieldPrecision::Single);
    let whole = fs::read_to_string(first.pvd()).unwrap();
    assert!(whole.contains("<DataSet timestep=\"5e-7\" part=\"0\" file=\"fields/000000050.vtu\"/>"), "{whole}");
    let mesh = mesh(2);
    let view = mesh.view();
    let written = FieldMesh::new(&view, &[]).unwrap();
    let mut resumed = FieldSeries::resume(folder.path(), "fields", FieldPrecision::Single, 70).unwrap();
    assert_eq!(resumed.len(), 2);
    resumed.write(&written, 100, 100.0 * 1e-8, &[]).unwrap();
    assert_eq!(fs::read_to_string(resumed.pvd()).unwrap(), whole);

    let fresh = FieldSeries::create(folder.path(), "fields", FieldPrecision::Single).unwrap();
    assert!(fresh.is_empty());
    assert_eq!(fs::read_dir(folder.path().join("fields")).unwrap().count(), 0);
    assert!(!fresh.pvd().exists());
}

#[test]
fn arrays_of_the_wrong_length_are_refused() {
    let mesh = mesh(2);
    let view = mesh.view();
    for order in [&[0_u32, 1][..], &[0, 1, 2, 3, 4, 4], &[0, 1, 2, 3, 4, 9]] {
        assert!(matches!(FieldMesh::new(&view, order), Err(OutputError::Shape { .. })), "{order:?}");
    }
    let written = FieldMesh::new(&view, &[]).unwrap();
    let field = Field { quantity: FieldQuantity::Stress, values: &[1.0; 7] };
    let error = write_vtu(Path::new("x.vtu"), &written, 0.0, &[field], FieldPrecision::Single).unwrap_err();
    assert_eq!(error.to_string(), "x.vtu: error: stress has 7 values, expected 18");
}

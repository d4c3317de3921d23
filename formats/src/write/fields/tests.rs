use std::process::Command;

use super::*;
use crate::dynamics::FieldQuantity;
use crate::explicit::fields::{Field, FieldMesh};
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::write::grid::{GridArray, Lasting, Number};

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

fn write_example(folder: &Path, dimension: u32, format: FieldFormat) -> FieldSeries {
    let mesh = mesh(dimension);
    let view = mesh.view();
    let order: Vec<u32> = (0..mesh.n_nodes() as u32).rev().collect();
    let written = FieldMesh::new(&view, &order).unwrap();
    let mut series = FieldSeries::create(folder, "fields", format, 3).unwrap();
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
        let time = scale * 1e-8;
        series.write(step, time, &written.grid(time, &fields).unwrap()).unwrap();
    }
    series
}

#[test]
fn vtk_reads_what_is_written() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python/check_fields.py");
    let Some(python) = pogo_tests::python(&["vtk", "numpy"]) else { return };
    for dimension in [2, 3] {
        for format in [FieldFormat::Vtu, FieldFormat::VtkHdf] {
            let folder = tempfile::tempdir().unwrap();
            let series = write_example(folder.path(), dimension, format);
            let output = Command::new(&python).arg(&script).arg(series.path()).output().unwrap();
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
        let series = write_example(folder.path(), dimension, FieldFormat::Vtu);
        let bytes = fs::read(series.vtu(50)).unwrap();
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
    let first = write_example(folder.path(), 2, FieldFormat::Vtu);
    let whole = fs::read_to_string(first.path()).unwrap();
    assert!(whole.contains("<DataSet timestep=\"5e-7\" part=\"0\" file=\"fields/000000050.vtu\"/>"), "{whole}");
    let mesh = mesh(2);
    let view = mesh.view();
    let written = FieldMesh::new(&view, &[]).unwrap();
    let mut resumed = FieldSeries::resume(folder.path(), "fields", FieldFormat::Vtu, 3, 70).unwrap();
    assert_eq!(resumed.len(), 2);
    let time = 100.0 * 1e-8;
    resumed.write(100, time, &written.grid(time, &[]).unwrap()).unwrap();
    assert_eq!(fs::read_to_string(resumed.path()).unwrap(), whole);
    let error = FieldSeries::resume(folder.path(), "fields", FieldFormat::VtkHdf, 3, 70).unwrap_err();
    assert!(error.to_string().ends_with("go on with --field-format vtu, or write elsewhere with -o"), "{error}");

    let fresh = FieldSeries::create(folder.path(), "fields", FieldFormat::VtkHdf, 3).unwrap();
    assert!(fresh.is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The next run removes what a killed one has left when it starts, with its folder.
#[test]
fn a_series_whose_folder_goes_before_the_first_snapshot_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = mesh(2);
    let view = mesh.view();
    let written = FieldMesh::new(&view, &[]).unwrap();
    let mut series = FieldSeries::create(folder.path(), "fields", FieldFormat::Vtu, 1).unwrap();
    fs::remove_dir(folder.path().join("fields")).unwrap();
    series.write(0, 0.0, &written.grid(0.0, &[]).unwrap()).unwrap();
    assert!(folder.path().join("fields/000000000.vtu").exists());
}

fn rows(file: &hdf5_pure::File, name: &str) -> (Vec<u64>, Vec<u8>) {
    let dataset = file.dataset(&format!("VTKHDF/{name}")).unwrap();
    (dataset.shape().unwrap(), dataset.read_raw().unwrap())
}

/// All data sets below a group, with their shapes and bytes.
fn everything(group: &hdf5_pure::Group, path: &str, found: &mut Vec<(String, Vec<u64>, Vec<u8>)>) {
    for name in group.datasets().unwrap() {
        let dataset = group.dataset(&name).unwrap();
        // Strings lie in a heap: another reader's task.
        let bytes = if name == "instance_names" { Vec::new() } else { dataset.read_raw().unwrap() };
        found.push((format!("{path}/{name}"), dataset.shape().unwrap(), bytes));
    }
    for name in group.groups().unwrap() {
        everything(&group.group(&name).unwrap(), &format!("{path}/{name}"), found);
    }
}

fn contents(path: &Path) -> Vec<(String, Vec<u64>, Vec<u8>)> {
    let file = hdf5_pure::File::open(path).unwrap();
    let mut found = Vec::new();
    everything(&file.root(), "", &mut found);
    found.sort();
    found
}

#[test]
fn one_hdf5_file_has_the_mesh_once_and_every_step() {
    for dimension in [2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let series = write_example(folder.path(), dimension, FieldFormat::VtkHdf);
        assert_eq!((series.len(), fs::read_dir(folder.path()).unwrap().count()), (3, 1));
        let file = hdf5_pure::File::open(series.path()).unwrap();
        let (n, m, corners): (u64, u64, u64) = if dimension == 2 { (6, 3, 10) } else { (11, 3, 18) };
        let integers = |name: &str| file.dataset(&format!("VTKHDF/{name}")).unwrap().read_i64().unwrap();
        assert_eq!(rows(&file, "Points").0, [n, 3]);
        assert_eq!(rows(&file, "Connectivity").0, [corners]);
        assert_eq!(rows(&file, "Types").1, if dimension == 2 { [5, 5, 9] } else { [12, 13, 10] });
        assert_eq!(integers("Offsets"), if dimension == 2 { [0, 3, 6, 10] } else { [0, 8, 14, 18] });
        assert_eq!(rows(&file, "PointData/displacement").0, [3 * n, 3]);
        assert_eq!(rows(&file, "CellData/stress").0, [3 * m, 6]);
        assert_eq!(rows(&file, "PointData/node_label").0, [n]);
        for (name, expected) in [
            ("Steps/PointOffsets", [0, 0, 0]),
            ("Steps/CellOffsets", [0, 0, 0]),
            ("Steps/PointDataOffsets/displacement", [0, n as i64, 2 * n as i64]),
            ("Steps/CellDataOffsets/energy_density", [0, m as i64, 2 * m as i64]),
            ("Steps/CellDataOffsets/section", [0, 0, 0]),
            ("FieldData/step", [0, 50, 100]),
        ] {
            assert_eq!(integers(name), expected, "{name}");
        }
        assert_eq!(file.dataset("VTKHDF/Steps/Values").unwrap().read_f64().unwrap(), [0.0, 50.0 * 1e-8, 100.0 * 1e-8]);
        // The user's first point is the mesh's last.
        let displacement = file.dataset("VTKHDF/PointData/displacement").unwrap().read_f32().unwrap();
        let label = 500.0 - (n as f32 - 1.0);
        let z = if dimension == 2 { 0.0 } else { 150.0 };
        assert_eq!(displacement[3 * n as usize..][..3], [50.0 * label, 100.0 * label, z * label]);
    }
}

#[test]
fn a_resumed_hdf5_series_is_the_one_that_was_not_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write_example(folder.path(), 3, FieldFormat::VtkHdf);
    let expected = contents(&whole.path());
    let mesh = mesh(3);
    let view = mesh.view();
    let order: Vec<u32> = (0..mesh.n_nodes() as u32).rev().collect();
    let written = FieldMesh::new(&view, &order).unwrap();
    let displacement = vec![7.0; 3 * mesh.n_nodes()];
    let stress = vec![8.0; 6 * mesh.n_elements()];
    let fields = [
        Field { quantity: FieldQuantity::EnergyDensity, values: &stress[..mesh.n_elements()] },
        Field { quantity: FieldQuantity::Displacement, values: &displacement },
        Field { quantity: FieldQuantity::Stress, values: &stress },
        Field { quantity: FieldQuantity::Strain, values: &stress },
    ];
    let resume = |step| FieldSeries::resume(folder.path(), "fields", FieldFormat::VtkHdf, 3, step).unwrap();
    let mut resumed = resume(70);
    // What it no longer holds is gone from the file before anything is written.
    let file = hdf5_pure::File::open(resumed.path()).unwrap();
    assert_eq!(
        (resumed.len(), rows(&file, "Steps/Values").0, rows(&file, "PointData/displacement").0),
        (2, vec![2], vec![22, 3])
    );
    drop(file);
    let size = fs::metadata(resumed.path()).unwrap().len();
    resumed.write(100, 1.0, &written.grid(1.0, &fields).unwrap()).unwrap();
    let found = contents(&resumed.path());
    let names = |all: &[(String, Vec<u64>, Vec<u8>)]| {
        all.iter().map(|(name, shape, _)| (name.clone(), shape.clone())).collect::<Vec<_>>()
    };
    assert_eq!(names(&found), names(&expected));
    let displacement =
        found.iter().find(|(name, ..)| name.ends_with("/displacement") && name.contains("PointData/")).unwrap();
    assert_eq!(displacement.2[22 * 12..], 7.0_f32.to_le_bytes().repeat(33));
    // Places of forgotten rows are used again: no more than descriptions was added.
    assert!(fs::metadata(resumed.path()).unwrap().len() < size + 150_000);
    // A step that is there is not written twice, and steps after the checkpoint go.
    resumed.write(100, 1.0, &written.grid(1.0, &fields).unwrap()).unwrap();
    assert_eq!(contents(&resumed.path()), found);
    assert_eq!(resume(100).len(), 3);
    assert!(resume(49).len() == 1 && resumed.path().exists());
    fs::write(resumed.path(), "no HDF5").unwrap();
    let error = FieldSeries::resume(folder.path(), "fields", FieldFormat::VtkHdf, 3, 70).unwrap_err().to_string();
    assert!(error.contains("cannot go on with this series") && error.contains("-o"), "{error}");
    let error = FieldSeries::resume(folder.path(), "fields", FieldFormat::Vtu, 3, 70).unwrap_err().to_string();
    assert!(error.contains("--field-format vtkhdf"), "{error}");
}

#[test]
fn an_hdf5_file_holds_what_was_done_when_the_next_snapshot_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut series = write_example(folder.path(), 2, FieldFormat::VtkHdf);
    let (before, size) = (contents(&series.path()), fs::metadata(series.path()).unwrap().len());
    let mesh = mesh(2);
    let view = mesh.view();
    let written = FieldMesh::new(&view, &[]).unwrap();
    let values = vec![1.0; 12];
    let field = [Field { quantity: FieldQuantity::Displacement, values: &values }];
    let mut grid = written.grid(2.0, &field).unwrap();
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    grid.cell_data.push(GridArray {
        name: "stress",
        number: Number::F32,
        components: 6,
        component_names: &[],
        lasting: Lasting::No,
        fill: Box::new(move |out| out.write_all(&[1; 40]).and_then(|()| Err(full()))),
    });
    let error = series.write(150, 2.0, &grid).unwrap_err().to_string();
    assert!(error.contains("fields.vtkhdf: error: ") && error.contains("free some space"), "{error}");
    assert_eq!((contents(&series.path()), fs::metadata(series.path()).unwrap().len()), (before.clone(), size));
    // As a run that was killed leaves it: bytes behind the end that nothing leads to.
    let mut killed = fs::OpenOptions::new().append(true).open(series.path()).unwrap();
    killed.write_all(&[0xaa; 5000]).unwrap();
    drop(killed);
    assert_eq!(contents(&series.path()), before);
    let mut resumed = FieldSeries::resume(folder.path(), "fields", FieldFormat::VtkHdf, 4, 100).unwrap();
    assert_eq!(resumed.len(), 3);
    grid.cell_data.pop();
    let error = resumed.write(150, 2.0, &grid);
    assert!(error.is_ok(), "{error:?}");
    assert_eq!(rows(&hdf5_pure::File::open(resumed.path()).unwrap(), "Steps/Values").0, [4]);
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
    let error = written.grid(0.0, &[field]).err().unwrap();
    assert_eq!(error.to_string(), "fields: error: stress has 7 values, expected 18");
}

#[test]
fn snapshots_that_do_not_fit_are_refused_once_their_size_is_known() {
    for (format, n_written) in [(FieldFormat::Vtu, 1), (FieldFormat::VtkHdf, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let mesh = mesh(2);
        let (view, order) = (mesh.view(), (0..mesh.n_nodes() as u32).collect::<Vec<_>>());
        let grids = FieldMesh::new(&view, &order).unwrap();
        let values = vec![1.0; 2 * mesh.n_nodes()];
        // No file system holds so many.
        let mut series = FieldSeries::create(folder.path(), "fields", format, u64::MAX).unwrap();
        let mut write = |step| {
            let fields = [Field { quantity: FieldQuantity::Displacement, values: &values }];
            series.write(step, 0.0, &grids.grid(0.0, &fields).unwrap())
        };
        assert!((1..n_written).all(|step| write(step).is_ok()));
        let said = write(n_written).unwrap_err().to_string();
        assert!(said.contains("snapshots to come need") && said.contains("--no-fields"), "{said}");
        assert_eq!(series.len() as u64, n_written);
    }
    let folder = tempfile::tempdir().unwrap();
    let series = FieldSeries::create(folder.path(), "fields", FieldFormat::VtkHdf, 10).unwrap();
    assert!(series.check_room(10, 100).is_ok() && series.check_room(11, 100).is_err());
}

use super::*;
use crate::spring::results::{SpringCell, SpringFrame};

fn integers(file: &hdf5_pure::File, name: &str) -> Vec<i64> {
    file.dataset(&in_root(name)).unwrap().read_i64().unwrap()
}

/// Three particles; springs come and go.
fn springs(step: u64) -> Vec<SpringCell> {
    let all = [[0, 1], [1, 2], [2, 0]].map(|particles| SpringCell { particles, group: 1, strain: step as f32 });
    match step {
        0..=1 => all.to_vec(),
        2..=3 => all[1..].to_vec(),
        4 => Vec::new(),
        _ => all[..1].to_vec(),
    }
}

fn write_springs(series: &mut Series, path: &Path, steps: Range<u64>) {
    for step in steps {
        let cells = springs(step);
        let moved = [step as f64; 9];
        let frame = SpringFrame {
            time: 0.5 * step as f64,
            coordinates: &[0.0; 9],
            displacement: &moved,
            velocity: &[],
            labels: &[1, 2, 3],
            material: &[0; 3],
            order: &[0, 1, 2],
            springs: Some(&cells),
        };
        series.write(path, step, frame.time, &frame.grid().unwrap()).unwrap();
    }
}

#[test]
fn cells_are_written_again_only_when_springs_come_or_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fields.vtkhdf");
    let mut series = Series::new(7);
    write_springs(&mut series, &path, 0..7);
    let check = || {
        let file = hdf5_pure::File::open(&path).unwrap();
        for (name, expected) in [
            ("NumberOfCells", &[3_i64, 2, 0, 1][..]),
            ("NumberOfPoints", &[3, 3, 3, 3]),
            ("NumberOfConnectivityIds", &[6, 4, 0, 2]),
            ("Connectivity", &[0, 1, 1, 2, 2, 0, 1, 2, 2, 0, 0, 1]),
            ("Offsets", &[0, 2, 4, 6, 0, 2, 4, 0, 0, 2]),
            ("Steps/PartOffsets", &[0, 0, 1, 1, 2, 3, 3]),
            ("Steps/PointOffsets", &[0, 3, 6, 9, 12, 15, 18]),
            ("Steps/CellOffsets", &[0, 0, 3, 3, 5, 5, 5]),
            ("Steps/ConnectivityIdOffsets", &[0, 0, 6, 6, 10, 10, 10]),
            ("Steps/CellDataOffsets/group", &[0, 0, 3, 3, 5, 5, 5]),
            ("Steps/CellDataOffsets/strain", &[0, 3, 6, 8, 10, 10, 11]),
            ("Steps/NumberOfParts", &[1; 7]),
            ("FieldData/step", &[0, 1, 2, 3, 4, 5, 6]),
        ] {
            assert_eq!(integers(&file, name), expected, "{name}");
        }
        let strain = file.dataset("VTKHDF/CellData/strain").unwrap().read_f32().unwrap();
        assert_eq!(strain, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 5.0, 6.0]);
        let points = file.dataset("VTKHDF/Points").unwrap();
        assert_eq!((points.shape().unwrap(), points.read_f32().unwrap()[9 * 4]), (vec![21, 3], 4.0));
    };
    check();
    // Gone on with from any step, the file is the same.
    for last in 0..7 {
        let mut resumed = Series::resume(&path, last, 7).unwrap();
        assert_eq!(resumed.len() as u64, last + 1);
        write_springs(&mut resumed, &path, last + 1..7);
        check();
    }
}

#[test]
fn chunks_in_a_tree_of_several_levels_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let mut file = Hdf5::new();
    // Chunks of three rows, 67 of them in the first commit and 4,200 in the second.
    for rows in [200_u64, 12_399] {
        let from = file.rows("group/a").unwrap_or(0);
        let open = OpenOptions::new().create(true).truncate(false).write(true).read(true).open(&path).unwrap();
        let mut out = BufWriter::new(open);
        let write = |out: &mut dyn Write| {
            (2 * from..2 * (from + rows)).try_for_each(|value| out.write_all(&(value as u16).to_le_bytes()))
        };
        if from == 0 {
            file.append(&mut out, "group/a", Number::U16, Some(2), 3, 1, |out| {
                out.write_all(&[0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0])
            })
            .unwrap();
            file.append(&mut out, "group/a", Number::U16, Some(2), rows - 3, 1, |out| {
                (6..2 * rows).try_for_each(|value| out.write_all(&(value as u16).to_le_bytes()))
            })
            .unwrap();
        } else {
            file.append(&mut out, "group/a", Number::U16, Some(2), rows, 1, write).unwrap();
        }
        file.commit(&mut out).unwrap();
        let read = hdf5_pure::File::open(&path).unwrap();
        let dataset = read.dataset("group/a").unwrap();
        assert_eq!(dataset.chunk_shape().unwrap().unwrap(), [3, 2]);
        let expected: Vec<u16> = (0..2 * (from + rows)).map(|value| value as u16).collect();
        assert_eq!(dataset.read_u16().unwrap(), expected);
        let mut again = Hdf5::open(&read).unwrap();
        assert_eq!(again.rows("group/a"), Some(from + rows));
        again.truncate("group/a", 100);
        assert_eq!(again.rows("group/a"), Some(100));
    }
    // Gone on with from the middle of a chunk in the middle of the tree.
    let mut file = Hdf5::open(&hdf5_pure::File::open(&path).unwrap()).unwrap();
    file.truncate("group/a", 10_001);
    let mut out = BufWriter::new(OpenOptions::new().write(true).open(&path).unwrap());
    file.append(&mut out, "group/a", Number::U16, Some(2), 4, 1, |out| out.write_all(&[7; 16])).unwrap();
    file.commit(&mut out).unwrap();
    let found = hdf5_pure::File::open(&path).unwrap().dataset("group/a").unwrap().read_u16().unwrap();
    let expected = (0..2 * 10_001).map(|value| value as u16).chain([0x0707; 8]);
    assert!(found.into_iter().eq(expected));
    for wrong in [3_usize, 5] {
        assert!(file.put(&mut out, "b", Number::F32, &[1], |out| out.write_all(&[0; 5][..wrong])).is_err());
    }
    assert!(file.append(&mut out, "group/a", Number::F32, Some(2), 1, 1, |_| Ok(())).is_err());
}

#[test]
fn grids_and_voxels_are_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.vtkhdf");
    let grid = ImageGrid { cells: [2, 1, 9], origin: [1.0, 2.0, 3.0], spacing: 0.5, layer: 4, first_layer: 3 };
    let arrays = [
        ImageArray { name: "s", components: &[""], at_points: false },
        ImageArray { name: "u", components: &["X", "Y", "Z"], at_points: true },
    ];
    write_image(&path, &grid, &arrays, |_, layers, values| values.fill(layers.start as f32)).unwrap();
    let file = hdf5_pure::File::open(&path).unwrap();
    let attributes = file.group("VTKHDF").unwrap().attrs().unwrap();
    assert_eq!(attributes["WholeExtent"].to_i64s().unwrap(), [0, 2, 0, 1, 0, 9]);
    assert_eq!(attributes["Origin"].to_f64s().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(attributes["Type"].as_str(), Some("ImageData"));
    let (s, u) = (file.dataset("VTKHDF/CellData/s").unwrap(), file.dataset("VTKHDF/PointData/u").unwrap());
    assert_eq!((s.shape().unwrap(), u.shape().unwrap()), (vec![9, 1, 2], vec![10, 2, 3, 3]));
    assert_eq!(u.attrs().unwrap()["components"].as_str(), Some("X Y Z"));
    let layers = [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 7.0, 7.0];
    assert_eq!(s.read_f32().unwrap(), layers.map(|z| [z, z]).as_flattened());
}

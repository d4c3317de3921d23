use std::io::Read;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::dynamics::OutputInterval;
use crate::mesh::{ElementGroup, ElementKind, Mesh};
use crate::words::counted;

/// A CSV file as [`TraceGroup::write_csv`] writes it, read back.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
struct CsvTraces {
    /// `#` lines without their `# `.
    comments: Vec<String>,
    /// Names of all columns but `time`.
    names: Vec<String>,
    times: Vec<f64>,
    /// (n_rows, n_columns), row-major.
    values: Vec<f64>,
}

impl CsvTraces {
    /// Reads a CSV file of traces.
    fn read(path: &Path) -> Result<Self, OutputError> {
        let text = std::fs::read_to_string(path).map_err(OutputError::io(path))?;
        let mut traces = Self::default();
        let mut header = false;
        for (index, line) in text.lines().enumerate() {
            let wrong = |what: String| {
                let mut place = path.as_os_str().to_owned();
                place.push(format!(":{}", index + 1));
                OutputError::damaged(&PathBuf::from(place), what)
            };
            if let Some(comment) = line.strip_prefix('#') {
                traces.comments.push(comment.trim_start().to_owned());
            } else if !header {
                let mut names = split_csv(line);
                if names.first().map(String::as_str) != Some("time") {
                    return Err(wrong("the header line does not begin with `time`".into()));
                }
                names.remove(0);
                traces.names = names;
                header = true;
            } else {
                let first = traces.values.len();
                for (column, field) in line.split(',').enumerate() {
                    let value = field
                        .trim()
                        .parse()
                        .map_err(|_| wrong(format!("expected a number in column {}, found `{field}`", column + 1)))?;
                    if column == 0 { traces.times.push(value) } else { traces.values.push(value) }
                }
                let found = traces.values.len() - first;
                if found != traces.names.len() {
                    return Err(wrong(format!(
                        "{}, but the header names {}",
                        counted(found, "value"),
                        traces.names.len()
                    )));
                }
            }
        }
        Ok(traces)
    }

    /// Values of a column by its name.
    fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(self.values.iter().skip(index).step_by(self.names.len()).copied().collect())
    }
}

fn split_csv(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let n = fields.len() - 1;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                fields[n].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields[n].push(character),
        }
    }
    fields
}

fn mesh(instances: &[&str], node_instance: &[u16]) -> Mesh {
    Mesh {
        dimension: 2,
        coordinates: vec![0.0; 2 * node_instance.len()],
        node_labels: (0..node_instance.len() as u32).map(|node| 10 + node).collect(),
        node_instance: node_instance.to_vec(),
        instances: instances.iter().map(|&name| name.to_owned()).collect(),
        groups: Vec::new(),
        node_sets: Vec::new(),
        element_sets: Vec::new(),
    }
}

fn request(set: &str, nodes: &[u32], interval: OutputInterval) -> HistoryRequest {
    HistoryRequest {
        set: set.to_owned(),
        nodes: nodes.to_vec(),
        variables: vec![(NodalQuantity::Displacement, 1), (NodalQuantity::Reaction, 0)],
        weights: Vec::new(),
        interval,
    }
}

fn plan(nodal: &[HistoryRequest], elemental: &[ElementHistoryRequest], mesh: &Mesh) -> (Traces, Vec<OutputInterval>) {
    let view = mesh.view();
    Traces::plan(nodal, view.node_names(), elemental, &view.groups, OutputInterval::clone)
}

fn names(group: &TraceGroup) -> Vec<&str> {
    group.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn columns_are_named_by_set_instance_and_label() {
    let flat = mesh(&[""], &[0, 0, 0]);
    let (traces, _) = plan(&[request("TOP", &[2, 0], OutputInterval::Increments(1))], &[], &flat);
    assert_eq!(names(&traces.groups[0]), ["TOP.12.U2", "TOP.12.RF1", "TOP.10.U2", "TOP.10.RF1"]);

    let parts = mesh(&["Part-1-1", "Part-1-2"], &[0, 1]);
    let requests =
        [request("Part-1-1.TOP", &[0], OutputInterval::Count(4)), request("ALL", &[1, 7], OutputInterval::Count(4))];
    let (traces, samplings) = plan(&requests, &[], &parts);
    assert_eq!(samplings.len(), 1);
    assert_eq!(
        names(&traces.groups[0]),
        ["TOP.Part-1-1.10.U2", "TOP.Part-1-1.10.RF1", "ALL.Part-1-2.11.U2", "ALL.Part-1-2.11.RF1"]
    );
}

#[test]
fn columns_of_elements_are_named_by_set_instance_and_label() {
    let mut parts = mesh(&["", "Part-1-1"], &[0, 0, 0, 0]);
    let group = |labels: &[u32], instance: &[u16]| ElementGroup {
        kind: ElementKind::Cpe3,
        labels: labels.to_vec(),
        instance: instance.to_vec(),
        section: vec![0; labels.len()],
        connectivity: [0, 1, 2].repeat(labels.len()),
    };
    parts.groups = vec![group(&[7, 8], &[0, 0]), group(&[9, 9], &[0, 1])];
    let request = ElementHistoryRequest {
        set: "BAR".into(),
        elements: vec![3, 1, 2, 4],
        variables: vec![
            (ElementQuantity::Stress, 0),
            (ElementQuantity::Strain, 3),
            (ElementQuantity::Mises, 0),
            (ElementQuantity::EnergyDensity, 0),
        ],
        interval: OutputInterval::Count(1),
    };
    let (traces, _) = plan(&[], &[request], &parts);
    let expected: Vec<String> = ["BAR.Part-1-1.9", "BAR.8", "BAR.9"]
        .iter()
        .flat_map(|stem| ["S11", "E12", "MISES", "SENER"].map(|label| format!("{stem}.{label}")))
        .collect();
    assert_eq!(names(&traces.groups[0]), expected);
    let folder = tempfile::tempdir().unwrap();
    traces.write(folder.path(), &[]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("traces.csv")).unwrap();
    assert!(text.starts_with("# units: time s, S Pa, E 1, MISES Pa, SENER J/m^3\n# elements: mean over"), "{text}");
}

#[test]
fn requests_with_the_same_sampling_share_a_file_and_repeated_columns_are_kept_once() {
    let flat = mesh(&[""], &[0, 0]);
    let requests = [
        request("A", &[0], OutputInterval::Increments(2)),
        request("B", &[0], OutputInterval::Increments(5)),
        request("A", &[0, 1], OutputInterval::Increments(2)),
        request("A", &[1], OutputInterval::Increments(5)),
    ];
    let (mut traces, samplings) = plan(&requests, &[], &flat);
    assert_eq!(samplings, [OutputInterval::Increments(2), OutputInterval::Increments(5)]);
    assert_eq!(names(&traces.groups[0]), ["A.10.U2", "A.10.RF1", "A.11.U2", "A.11.RF1"]);
    assert_eq!(names(&traces.groups[1]), ["B.10.U2", "B.10.RF1", "A.11.U2", "A.11.RF1"]);
    traces.groups[0].push(0.0, &[1.0, 2.0, 3.0, 4.0]);
    traces.groups[1].push(0.0, &[5.0, 6.0, 7.0, 8.0]);
    traces.groups[1].push(1.0, &[5.5, 6.5, 7.5, 8.5]);

    let folder = tempfile::tempdir().unwrap();
    let files = traces.write(folder.path(), &[]).unwrap();
    assert_eq!(files, ["traces.csv", "traces-2.csv", "traces.npz"]);
    let npz = read_npz(&folder.path().join("traces.npz"));
    assert_eq!(npz["time"], [0.0]);
    assert_eq!(npz["time-2"], [0.0, 1.0]);
    assert_eq!(npz["A.11.RF1"], [4.0]);
    assert_eq!(npz["A.11.RF1@2"], [8.0, 8.5]);
    assert_eq!(npz["B.10.U2"], [5.0, 5.5]);
}

#[test]
fn weights_make_one_column_of_the_nodes_and_components_of_a_request() {
    use NodalQuantity::{Displacement, Reaction};
    let flat = mesh(&[""], &[0, 0, 0]);
    let interval = OutputInterval::From { first: 3, every: 2 };
    let sum = |nodes: &[u32], variables: &[(NodalQuantity, u8)], weights: &[f64]| HistoryRequest {
        set: "PROBE".into(),
        nodes: nodes.to_vec(),
        variables: variables.to_vec(),
        weights: weights.to_vec(),
        interval: interval.clone(),
    };
    let requests = [
        sum(&[0, 2], &[(Displacement, 0), (Displacement, 1)], &[0.5, 0.0, 0.0, 2.0]),
        sum(&[1, 9], &[(Displacement, 1)], &[3.0, 4.0]),
        sum(&[1], &[(Displacement, 1)], &[3.0]),
        sum(&[1], &[(Displacement, 1)], &[5.0]),
        sum(&[2], &[(Reaction, 0)], &[0.0]),
    ];
    let (traces, samplings) = plan(&requests, &[], &flat);
    assert_eq!(samplings, [interval]);
    assert_eq!(names(&traces.groups[0]), ["PROBE.U", "PROBE.U2", "PROBE.U2#2"]);
    let terms: Vec<Vec<_>> = traces.groups[0]
        .columns
        .iter()
        .map(|column| column.sum.iter().map(|term| (term.node, term.component, term.weight)).collect())
        .collect();
    assert_eq!(terms, [vec![(0, 0, 0.5), (2, 1, 2.0)], vec![(1, 1, 3.0)], vec![(1, 1, 5.0)]]);
}

#[test]
fn two_nodes_of_one_name_are_told_apart() {
    let mut twice = mesh(&[""], &[0, 0]);
    twice.node_labels = vec![5, 5];
    let (traces, _) = plan(&[request("A", &[0, 1], OutputInterval::Count(1))], &[], &twice);
    assert_eq!(names(&traces.groups[0]), ["A.5.U2", "A.5.RF1", "A.5.U2#2", "A.5.RF1#2"]);
}

#[test]
fn the_csv_has_comments_then_one_header_line() {
    let folder = tempfile::tempdir().unwrap();
    let flat = mesh(&[""], &[0]);
    let (mut traces, _) = plan(&[request("A, \"b\"\nc", &[0], OutputInterval::Count(1))], &[], &flat);
    traces.groups[0].push(0.0, &[0.0, -1.5]);
    traces.groups[0].push(1e-7, &[f64::NAN, 1.0 / 3.0]);
    traces.write(folder.path(), &["pogo 0.1.0\nmodel.blk".into()]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("traces.csv")).unwrap();
    assert_eq!(
        text,
        "# pogo 0.1.0\n# model.blk\n# units: time s, U m, RF N\n\
         time,\"A, \"\"b\"\" c.10.U2\",\"A, \"\"b\"\" c.10.RF1\"\n0.0,0.0,-1.5\n1e-7,NaN,0.3333333333333333\n"
    );
    let back = CsvTraces::read(&folder.path().join("traces.csv")).unwrap();
    assert_eq!(back.names[0], "A, \"b\" c.10.U2");
    assert_eq!(back.column("A, \"b\" c.10.RF1").unwrap(), [-1.5, 1.0 / 3.0]);
}

#[test]
fn a_group_of_the_wrong_size_is_refused() {
    let group = TraceGroup { values: vec![1.0], ..TraceGroup::default() };
    let error = group.write_csv(Path::new("x.csv"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "x.csv: error: 0 rows of 0 traces do not have 1 values");
}

#[test]
fn damaged_tables_are_named_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    for (text, expected) in [
        ("a,b\n", ":1: error: the header line does not begin with `time`"),
        ("time,b\n0,1,2\n", ":2: error: 2 values, but the header names 1"),
        ("# c\ntime,b\n0,x\n", ":3: error: expected a number in column 2, found `x`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = CsvTraces::read(&path).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
}

fn read_npz(path: &Path) -> std::collections::HashMap<String, Vec<f64>> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).unwrap();
            let name = entry.name().unwrap().strip_suffix(".npy").unwrap().to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
            let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            assert_eq!((10 + length) % 64, 0);
            let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
            let values: Vec<f64> =
                bytes[10 + length..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
            assert!(header.contains(&format!("'shape': ({},)", values.len())), "{header}");
            (name, values)
        })
        .collect()
}

proptest! {
    // Each case waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn csv_and_npz_give_back_every_bit(
        bits in proptest::collection::vec(any::<u64>(), 1..60),
        n_columns in 1_usize..5,
        names in proptest::collection::vec("[ -~]{0,12}", 5),
    ) {
        let columns: Vec<TraceColumn> = (0..n_columns)
            .map(|c| TraceColumn {
                sum: Vec::new(),
                name: format!("{}.{c}.U1", names[c]),
                index: c as u32,
                quantity: TraceQuantity::Nodal(NodalQuantity::Displacement),
                component: 0,
            })
            .collect();
        let values: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
        let mut group = TraceGroup { columns, ..TraceGroup::default() };
        for (row, chunk) in values.chunks_exact(n_columns).enumerate() {
            group.push(row as f64 * 1e-8, chunk);
        }
        let folder = tempfile::tempdir().unwrap();
        let traces = Traces { groups: vec![group] };
        traces.write(folder.path(), &[]).unwrap();
        let group = &traces.groups[0];
        let back = CsvTraces::read(&folder.path().join("traces.csv")).unwrap();
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        prop_assert_eq!(&back.times, &group.times);
        prop_assert_eq!(back.values.len(), group.values.len());
        prop_assert!(back.values.iter().zip(&group.values).all(|(&a, &b)| same(a, b)));
        for (name, column) in back.names.iter().zip(&group.columns) {
            prop_assert_eq!(name, &column.name);
        }
        let npz = read_npz(&folder.path().join("traces.npz"));
        for (c, column) in group.columns.iter().enumerate() {
            let stored = &npz[&column.name];
            prop_assert!(stored.iter().zip(group.column(c)).all(|(&a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

#[test]
fn numpy_reads_the_archive() {
    let Some(python) = pogo_tests::python(&["numpy"]) else { return };
    let flat = mesh(&[""], &[0]);
    let set = "µ \"x\", y/..";
    let (mut traces, _) = plan(&[request(set, &[0], OutputInterval::Count(1))], &[], &flat);
    traces.groups[0].push(0.0, &[0.0, -1.5]);
    traces.groups[0].push(1e-7, &[f64::NAN, 1.0 / 3.0]);
    let folder = tempfile::tempdir().unwrap();
    traces.write(folder.path(), &[]).unwrap();
    let script = "import sys, numpy\nwith numpy.load(sys.argv[1]) as a:\n  print(a.files)\n  \
                  print(a['time'].tolist(), a[sys.argv[2]].tolist(), a[sys.argv[2]].dtype)";
    let output = std::process::Command::new(&python)
        .env("PYTHONUTF8", "1")
        .args(["-c", script])
        .arg(folder.path().join("traces.npz"))
        .arg(format!("{set}.10.RF1"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("[0.0, 1e-07] [-1.5, 0.3333333333333333] float64"), "{text}{output:?}");
}

//! Second-order elements that are split: the model is that of linear elements on the same nodes and the middles of faces.

use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Grid, Traces, command, relative_error, succeed};

/// Cells of the plate along x and y, and their edge, m.
const CELLS: [usize; 2] = [12, 4];
const EDGE: f64 = 1e-3;

/// A push on the left side, and what a point of the right side does.
const JOB: &str = r#"
[solver]
time = 6e-6
[[material]]
name = "steel"
density = 7800.0
young = 210e9
poisson = 0.3
[[section]]
all = true
material = "steel"
thickness = 1.0
[[amplitude]]
name = "burst"
kind = "hann"
frequency = 1e6
cycles = 2
[[source]]
name = "push"
line = [[0.0, 0.0], [0.0, 4e-3]]
component = "x"
force = 1e3
amplitude = "burst"
[[boundary]]
name = "held"
line = [[0.0, 0.0], [12e-3, 0.0]]
components = "y"
[[monitor]]
name = "END"
at = [12e-3, 2e-3]
"#;

/// A deck of eight-node quadrilaterals.
fn quadratic() -> String {
    let [nx, ny] = CELLS;
    let label = |i: usize, j: usize| j * (2 * nx + 1) + i + 1;
    let mut deck = String::from("*Node\n");
    for (j, i) in (0..=2 * ny).flat_map(|j| (0..=2 * nx).map(move |i| (j, i))) {
        if i % 2 == 0 || j % 2 == 0 {
            writeln!(deck, "{}, {:e}, {:e}", label(i, j), EDGE / 2. * i as f64, EDGE / 2. * j as f64).unwrap();
        }
    }
    deck += "*Element, type=CPE8R, elset=ALL\n";
    for (j, i) in (0..ny).flat_map(|j| (0..nx).map(move |i| (2 * j, 2 * i))) {
        let nodes = [(0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1)];
        let list: Vec<String> = nodes.iter().map(|(a, b)| label(i + a, j + b).to_string()).collect();
        writeln!(deck, "{}, {}", j * nx + i / 2 + 1, list.join(", ")).unwrap();
    }
    deck
}

/// The trace at the end of the plate.
fn trace(folder: &Path, deck: &str, options: &[&str]) -> Vec<f64> {
    std::fs::write(folder.join("plate.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), JOB).unwrap();
    let block = ["plate.inp", "--job", "job.toml", "-o", "plate.blk"];
    succeed(command("pogo-block").current_dir(folder).args(block).args(options));
    let solve = ["plate.blk", "-o", "out", "--precision", "f64", "--device", "cpu", "--increment", "2e-8"];
    succeed(command("pogo-solve").current_dir(folder).args(solve));
    let traces = Traces::read(&folder.join("out/traces.csv"));
    let column = traces.names.iter().position(|name| name.ends_with("U1")).expect("a displacement");
    traces.columns[column].clone()
}

#[test]
fn split_elements_are_the_linear_ones_of_half_their_edges() {
    let [quadratic_folder, linear_folder] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let split = trace(quadratic_folder.path(), &quadratic(), &["--split-second-order"]);
    let [nx, ny] = CELLS;
    let grid = Grid { n: [2 * nx, 2 * ny, 0], h: [EDGE / 2.; 3], element: "CPE4R" };
    let linear = trace(linear_folder.path(), &grid.deck(), &[]);
    assert!(split.iter().any(|u| u.abs() > 1e-9), "nothing has moved");
    assert!(relative_error(&split, &linear) < 1e-10, "{}", relative_error(&split, &linear));
}

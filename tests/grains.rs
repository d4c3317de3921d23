//! Grains that a job orients, against NumPy and SciPy and the bounds of a polycrystal.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{
    Grid, Traces, angular_frequency, command, initial_velocity, python, search_path, step, succeed, workspace,
};

/// Copper, Pa and kg/m³.
const COPPER: [f64; 3] = [168.4e9, 121.4e9, 75.4e9];
const DENSITY: f64 = 8960.0;

fn copper() -> String {
    format!("[[material]]\nname = 'copper'\ndensity = {DENSITY}\ncubic = {COPPER:?}\n")
}

fn run(folder: &Path, deck: &str, job: &str) -> Traces {
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml", "--quiet"]));
    let solve = ["model.blk", "--quiet", "-o", "out", "--threads", "1", "--precision", "f64"];
    succeed(command("pogo-solve").current_dir(folder).args(solve));
    Traces::read(&folder.join("out/traces.csv"))
}

/// Random numbers in [0, 1).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as f64 / f64::from(1_u32 << 31)
}

/// Uniformly distributed Bunge angles, degrees.
fn angles(state: &mut u64) -> [f64; 3] {
    let [phi1, cosine, phi2] = [random(state), random(state), random(state)];
    [360.0 * phi1, (1.0 - 2.0 * cosine).acos().to_degrees(), 360.0 * phi2]
}

/// Stresses of elements under a uniform strain are those of the stiffness that SciPy's rotation makes of the crystal's.
#[test]
fn orientations_agree_with_scipy() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let grid = Grid { n: [6, 1, 1], h: [1e-3; 3], element: "C3D8" };
    let strain = [1e-4, -2e-4, 3e-4, 4e-5, -5e-5, 6e-5];
    let [e11, e22, e33, g12, g13, g23] = strain;
    let mut deck = grid.deck();
    let mut state = 5;
    let table: Vec<[f64; 3]> = (0..6).map(|_| angles(&mut state)).collect();
    for element in 1..=6 {
        writeln!(deck, "*Elset, elset=poly{element}\n{element},").unwrap();
    }
    deck += "*Boundary, type=DISPLACEMENT\n";
    for node in grid.nodes() {
        let [x, y, z] = grid.position(node);
        // Engineering shears: half of each on both sides of the diagonal.
        let u = [e11 * x + g12 * y + g13 * z, e22 * y + g23 * z, e33 * z];
        for (component, u) in u.iter().enumerate() {
            let label = grid.label(node[0], node[1], node[2]);
            writeln!(deck, "{label}, {0}, {0}, {u:e}", component + 1).unwrap();
        }
    }
    deck += &step(1e-8, 2e-8, "U").replace("*Node Output, nset=REC\nU,", "*Element Output, elset=ALL\nS,");
    let numbered: String =
        (1..).zip(&table).map(|(n, [a, b, c]): (usize, _)| format!("{n}, {a}, {b}, {c}\n")).collect();
    let bare: String = table.iter().map(|[a, b, c]| format!("{a} {b} {c}\n")).collect();
    let cases = [
        ("file = 'euler.csv'", numbered.as_str()),
        ("file = 'euler.csv'\nelsets = 'POLY'", bare.as_str()),
        ("file = 'euler.csv'\nof = 'element'", numbered.as_str()),
        ("file = 'euler.csv'\nelements = 'grain_of.csv'", numbered.as_str()),
    ];
    let script = "
import sys, json, numpy as np
from scipy.spatial.transform import Rotation
c11, c12, c44, strain, angles = json.load(sys.stdin)
pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
voigt = np.diag([c11 - c12] * 3 + [c44] * 3)
voigt[:3, :3] += c12
crystal = np.zeros((3, 3, 3, 3))
for a, (i, j) in enumerate(pairs):
    for b, (k, l) in enumerate(pairs):
        for m, n in ((i, j), (j, i)):
            for p, q in ((k, l), (l, k)):
                crystal[m, n, p, q] = voigt[a, b]
e = np.zeros((3, 3))
for (i, j), value in zip(pairs, strain):
    e[i, j] = e[j, i] = value if i == j else value / 2
for a in angles:
    # Intrinsic turns about z, x, z: columns are the crystal's axes in the sample.
    r = Rotation.from_euler('ZXZ', a, degrees=True).as_matrix()
    c = np.einsum('ia,jb,kc,ld,abcd->ijkl', r, r, r, r, crystal)
    s = np.einsum('ijkl,kl->ij', c, e)
    print(*('%.17g' % s[i, j] for i, j in pairs))
";
    let input = format!("[{}, {}, {}, {strain:?}, {table:?}]", COPPER[0], COPPER[1], COPPER[2]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input.json"), input).unwrap();
    let stdin = std::fs::File::open(folder.path().join("input.json")).unwrap();
    let output = succeed(Command::new(python).args(["-c", script]).stdin(stdin));
    let text = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<Vec<f64>> =
        text.lines().map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect()).collect();
    for (keys, euler) in cases {
        std::fs::write(folder.path().join("euler.csv"), euler).unwrap();
        let grain_of: String = (1..=6).map(|element| format!("{element},{element}\n")).collect();
        std::fs::write(folder.path().join("grain_of.csv"), format!("element,grain\n{grain_of}")).unwrap();
        let traces = run(folder.path(), &deck, &format!("{}[[grains]]\nmaterial = 'copper'\n{keys}\n", copper()));
        for (element, expected) in (1..).zip(&expected) {
            for (component, expected) in ["11", "22", "33", "12", "13", "23"].iter().zip(expected) {
                let found = traces.column(&format!("ALL.{element}.S{component}"))[1];
                assert!((found - expected).abs() < 1e-11 * 3e7, "{keys}: {element} S{component}: {found}, {expected}");
            }
        }
    }
}

/// Long waves travel through random grains at a speed between those of Reuss's and Voigt's means.
#[test]
fn waves_in_a_polycrystal_are_between_the_bounds() {
    let [c11, c12, c44] = COPPER;
    let bulk = (c11 + 2.0 * c12) / 3.0;
    let voigt = (c11 - c12 + 3.0 * c44) / 5.0;
    let reuss = 5.0 * (c11 - c12) * c44 / (4.0 * c44 + 3.0 * (c11 - c12));
    let speed = |shear: f64| ((bulk + 4.0 / 3.0 * shear) / DENSITY).sqrt();
    // Grains of 2 × 2 × 2 elements.
    let (n, h, grain) = ([48, 10, 10], 1e-4, 2);
    let grid = Grid { n, h: [h; 3], element: "C3D8" };
    let n_grains = n.map(|n| n / grain);
    let (mut grain_of, mut element) = (String::new(), 0);
    for k in 0..n[2] {
        for j in 0..n[1] {
            for i in 0..n[0] {
                element += 1;
                let number = 1 + i / grain + n_grains[0] * (j / grain + n_grains[1] * (k / grain));
                writeln!(grain_of, "{element},{number}").unwrap();
            }
        }
    }
    let (length, mut state) = (n[0] as f64 * h, 11);
    let mut deck = grid.deck();
    // Symmetric sides, and a longitudinal mode of half a wave.
    writeln!(deck, "*Nset, nset=REC\n{},", grid.label(0, 5, 5)).unwrap();
    for (axis, name) in [(1, "Y"), (2, "Z")] {
        writeln!(deck, "*Nset, nset=SIDES{name}").unwrap();
        for node in grid.nodes().filter(|node| node[axis] == 0 || node[axis] == n[axis]) {
            writeln!(deck, "{},", grid.label(node[0], node[1], node[2])).unwrap();
        }
    }
    deck += "*Boundary\nSIDESY, 2, 2\nSIDESZ, 3, 3\n";
    deck += &initial_velocity(&grid, |x| [(PI * x[0] / length).cos(), 0.0, 0.0]);
    deck += &step(1e-8, 3.3 * length / speed(reuss), "U");
    let total = n_grains.iter().product();
    let euler: String =
        (0..total).map(|_| angles(&mut state).map(|angle| angle.to_string()).join(" ") + "\n").collect();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("euler.ori"), euler).unwrap();
    std::fs::write(folder.path().join("grains.csv"), grain_of).unwrap();
    let job = "[[grains]]\nmaterial = 'copper'\nfile = 'euler.ori'\nelements = 'grains.csv'\n\
               [[monitor]]\nname = 'end'\nside = 'xmin'\nvariables = 'U1'\nweights = 1\n";
    let traces = run(folder.path(), &deck, &(copper() + job));
    let name = traces.names.iter().find(|name| name.starts_with("end")).unwrap().clone();
    let found = angular_frequency(traces.time(), traces.column(&name)) * length / PI;
    let (low, high) = (speed(reuss), speed(voigt));
    println!("{found} m/s between {low} and {high}");
    assert!(found > low && found < high, "{found} is not between {low} and {high}");
    // Far from both: their mean (Hill) is within 1 % for a texture without preferred directions.
    assert!((found / speed(0.5 * (voigt + reuss)) - 1.0).abs() < 0.01, "{found}");
}

/// The coherent wave loses what Born's approximation of single scattering says, where grains are large enough to scatter more than
/// the few of this prism differ by chance.
#[test]
fn attenuation_of_a_polycrystal_is_near_borns_approximation() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = workspace().join("examples/grains/attenuation.py");
    let size = ["--width", "24", "--length", "60"];
    let mut command = Command::new(python);
    let output = succeed(command.arg(script).args(size).current_dir(folder.path()).env("PATH", search_path()));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .map(|line| line.split_whitespace().map(|number| number.parse().expect("a number")).collect())
        .collect();
    assert_eq!(rows.len(), 5, "{text}");
    for row in rows.iter().filter(|row| row[0] > 1.5) {
        let (born, ratio) = (row[3], row[4]);
        assert!(born > 0.02 && (0.7..1.4).contains(&ratio), "{text}");
    }
}

#[test]
fn grains_that_do_not_fit_the_mesh_are_told() {
    let grid = Grid { n: [2, 2, 0], h: [1e-3; 3], element: "CPE4" };
    let deck = grid.deck()
        + "*Elset, elset=poly1\n1, 2\n*Elset, elset=poly2\n3, 4\n*Nset, nset=REC\n1,\n"
        + &step(1e-8, 2e-8, "U");
    let folder = tempfile::tempdir().unwrap();
    let block = |euler: &str, keys: &str| {
        std::fs::write(folder.path().join("model.inp"), &deck).unwrap();
        std::fs::write(folder.path().join("euler.csv"), euler).unwrap();
        let job = format!("{}[[grains]]\nmaterial = 'copper'\nfile = 'euler.csv'\n{keys}", copper());
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        let output =
            command("pogo-block").current_dir(folder.path()).args(["model.inp", "--job", "job.toml"]).output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout),
        )
    };
    let angles = "1,0,0,0\n2,10,20,30\n";
    let (is_good, text) = block(angles, "");
    assert!(is_good && text.contains("4 elements in 2 orientations of copper"), "{text}");
    let (is_good, text) = block("1,0,0,0\n2,10,20,30\n7,0,0,0\n", "");
    assert!(is_good && text.contains("grains of euler.csv without an element set poly…: 7"), "{text}");
    for (euler, keys, error) in [
        ("1,0,0,0\n", "", "elements without a section: CPE4 (2)"),
        (angles, "elsets = 'grain'", "no element set is called grain and a number of euler.csv; there are"),
        ("1,0,0,0\n9,0,0,0\n", "of = 'element'", "euler.csv: error: there is no element 9 in the mesh"),
        (angles, "of = 'element'\nelsets = 'poly'", "`elsets` and `elements` go with `of = \"grain\"`"),
        ("1,0\n", "", "job.toml:5: error: euler.csv:1: error: expected a number"),
    ] {
        let (is_good, text) = block(euler, keys);
        assert!(!is_good && text.contains(error), "{keys} {euler}: {text}");
    }
}

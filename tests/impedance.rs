//! Impedance boundaries and infinite elements: reflected energy by angle against the theory of plane waves, and what must not
//! depend on how a boundary is given or a model is cut.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{Grid, Traces, command, initial_velocity, isotropic, python, relative_error, succeed, workspace};

const YOUNG: f64 = 70e9;
const POISSON: f64 = 0.33;
const DENSITY: f64 = 2700.0;
const WAVELENGTH: f64 = 10e-3;
/// Width of a packet and its way to either end, in wavelengths.
const SIGMA: f64 = 2.0;
const WAY: f64 = 16.0;

fn speeds() -> [f64; 2] {
    let shear = YOUNG / (2.0 * (1.0 + POISSON));
    let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    [((lambda + 2.0 * shear) / DENSITY).sqrt(), (shear / DENSITY).sqrt()]
}

/// A packet of P waves (0) or S waves (1) at an angle from x, between two planes of symmetry.
struct Packet {
    element: &'static str,
    wave: usize,
    angle: f64,
    /// Elements a wavelength.
    fine: usize,
}

const JOB: &str = "[[absorbing]]\nname = 'ends'\nside = ['xmin', 'xmax']\nprofile = 'impedance'\n";

impl Packet {
    fn grid(&self) -> Grid {
        let (h, solid) = (WAVELENGTH / self.fine as f64, self.element.starts_with("C3D"));
        // Half a wavelength across.
        let across = if self.angle == 0.0 { 2 } else { (0.5 * WAVELENGTH / self.angle.sin() / h).round() as usize };
        let n = [2 * WAY as usize * self.fine, across, usize::from(solid)];
        let height = if self.angle == 0.0 { h } else { 0.5 * WAVELENGTH / self.angle.sin() / across as f64 };
        Grid { n, h: [h, height, h], element: self.element }
    }

    /// The deck without its end: mesh, material, symmetry and packet.
    fn deck(&self) -> String {
        let grid = self.grid();
        let [nx, ny, nz] = grid.n;
        let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
        let mut sides = String::new();
        for node in grid.nodes() {
            let label = grid.label(node[0], node[1], node[2]);
            if node[1] == 0 || node[1] == ny {
                // P waves along x do not move across it, and S waves along x not along it.
                let held = if self.angle == 0.0 && self.wave == 1 { 1 } else { 2 };
                writeln!(sides, "{label}, {held}, {held}").unwrap();
            } else if self.angle == 0.0 {
                let held = 2 - self.wave;
                writeln!(sides, "{label}, {held}, {held}").unwrap();
            }
            if nz > 0 {
                writeln!(sides, "{label}, 3, 3").unwrap();
            }
        }
        write!(deck, "*Boundary\n{sides}").unwrap();
        let (k, sigma, middle) = (2.0 * PI / WAVELENGTH, SIGMA * WAVELENGTH, 0.5 * nx as f64 * grid.h[0]);
        let [kx, ky] = [k * self.angle.cos(), k * self.angle.sin()];
        deck += &initial_velocity(&grid, |x| {
            let (dx, y) = (x[0] - middle, x[1]);
            let envelope = (-0.5 * (dx / sigma).powi(2)).exp() / k;
            let value = envelope * (kx * dx).sin();
            let slope = envelope * (kx * (kx * dx).cos() - dx / (sigma * sigma) * (kx * dx).sin());
            match self.wave {
                // grad of value cos(ky y), and curl of value sin(ky y) or, along x, cos.
                0 => [slope * (ky * y).cos(), -ky * value * (ky * y).sin(), 0.0],
                _ if self.angle == 0.0 => [0.0, -slope, 0.0],
                _ => [ky * value * (ky * y).cos(), -slope * (ky * y).sin(), 0.0],
            }
        });
        deck
    }

    /// Until the whole packet is on its way back.
    fn step(&self) -> String {
        let time = (WAY + 4.0 * SIGMA) * WAVELENGTH / speeds()[self.wave] / self.angle.cos();
        let rec = self.grid().label(self.grid().n[0], 1, 0);
        format!(
            "*Nset, nset=REC\n{rec},\n*Step\n*Dynamic, Explicit\n, {time:e}\n*Output, history, frequency=1\n\
             *Node Output, nset=REC\nU, V, A\n*End Step\n"
        )
    }

    /// Blocks a deck with a job, and solves it.
    fn solve(folder: &Path, deck: &str, job: &str, words: &[&str]) -> Traces {
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        std::fs::write(folder.join("job.toml"), job).unwrap();
        let block = ["model.inp", "--quiet", "--job", "job.toml"];
        succeed(command("pogo-block").current_dir(folder).args(block));
        let solve = ["model.blk", "--quiet", "-o", "out", "--threads", "1"];
        succeed(command("pogo-solve").current_dir(folder).args(solve).args(words));
        Traces::read(&folder.join("out/traces.csv"))
    }

    /// Compares the energy that is left with the theory, where the impedance beyond the boundary is `ratio` times its own.
    fn check(&self, folder: &Path, ratio: f64, tolerance: f64) {
        let Some(python) = python(&["numpy"]) else { return };
        let words = [["P", "S"][self.wave].to_owned(), self.angle.to_degrees().to_string()];
        let numbers = [POISSON, SIGMA, ratio, tolerance].map(|number| number.to_string());
        succeed(
            Command::new(python)
                .arg(workspace().join("tests/python/reflected_energy.py"))
                .args(["out/energy.csv"].into_iter().map(str::to_owned).chain(words).chain(numbers))
                .current_dir(folder),
        );
    }
}

/// Blocks, solves and checks packets of kinds of elements, waves and angles in degrees.
fn check_all(cases: &[(&'static str, usize, f64)], fine: usize, precision: &str, tolerance: f64) {
    for &(element, wave, degrees) in cases {
        let packet = Packet { element, wave, angle: degrees.to_radians(), fine };
        let folder = tempfile::tempdir().unwrap();
        let deck = packet.deck() + &packet.step();
        Packet::solve(folder.path(), &deck, JOB, &["--precision", precision]);
        packet.check(folder.path(), 1.0, tolerance);
    }
}

#[test]
fn reflected_energy_is_that_of_plane_waves() {
    // Coarse meshes have waves of another speed.
    check_all(&[("CPE4", 0, 55.0), ("CPE4", 1, 25.0)], 12, "f64", 0.02);
    check_all(&[("CPE3", 0, 0.0), ("CPS4R", 1, 0.0)], 12, "f32", 0.005);
}

#[test]
#[ignore = "slow, fine meshes at six angles, and solids: .ci/run --slow runs it"]
fn reflected_energy_is_that_of_plane_waves_at_every_angle() {
    let angles = [(0, 0.0), (0, 30.0), (0, 60.0), (1, 0.0), (1, 25.0), (1, 50.0)];
    check_all(&angles.map(|(wave, degrees)| ("CPE4", wave, degrees)), 20, "f64", 0.01);
    check_all(&[("C3D8", 0, 0.0), ("C3D8R", 1, 0.0), ("CPE3", 1, 0.0)], 16, "f32", 0.003);
}

/// Infinite elements at both ends of a grid, of a material with `ratio` times the impedance, behind the deck's mesh.
fn infinite(grid: &Grid, kind: &str, ratio: f64) -> String {
    let [nx, ny, nz] = grid.n;
    let (mut next, mut nodes, mut elements) = (1_000_000, String::new(), String::new());
    let mut element = 1_000_000;
    for (i, outward) in [(0, -1.0), (nx, 1.0)] {
        for k in 0..nz.max(1) {
            for j in 0..ny {
                let face: Vec<[usize; 3]> = match nz {
                    0 => vec![[i, j, 0], [i, j + 1, 0]],
                    _ => vec![[i, j, k], [i, j + 1, k], [i, j + 1, k + 1], [i, j, k + 1]],
                };
                let labels: Vec<String> = face.iter().map(|n| grid.label(n[0], n[1], n[2]).to_string()).collect();
                let mut outer = Vec::new();
                // In the plane the outer nodes go on round the element.
                let order: Vec<usize> = if nz == 0 { vec![1, 0] } else { vec![0, 1, 2, 3] };
                for at in order {
                    let [x, y, z] = grid.position(face[at]);
                    writeln!(nodes, "{next}, {:e}, {y:e}, {z:e}", x + outward * 0.02).unwrap();
                    outer.push(next.to_string());
                    next += 1;
                }
                writeln!(elements, "{element}, {}, {}", labels.join(", "), outer.join(", ")).unwrap();
                element += 1;
            }
        }
    }
    format!(
        "*Node\n{nodes}*Element, type={kind}, elset=BEYOND\n{elements}*Solid Section, elset=BEYOND, material=BEYOND\n,\n\
         *Material, name=BEYOND\n*Density\n{},\n*Elastic\n{YOUNG:e}, {POISSON}\n",
        DENSITY * ratio * ratio
    )
}

#[test]
fn infinite_elements_are_impedance_boundaries() {
    for (element, kind, wave, degrees) in
        [("CPE4", "CINPE4", 0, 55.0_f64), ("CPS3", "CINPS4", 1, 0.0), ("C3D8R", "CIN3D8", 0, 0.0)]
    {
        let packet = Packet { element, wave, angle: degrees.to_radians(), fine: 12 };
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let by_job = Packet::solve(folder, &(packet.deck() + &packet.step()), JOB, &["--precision", "f64"]);
        let deck = packet.deck() + &infinite(&packet.grid(), kind, 1.0) + &packet.step();
        let by_deck = Packet::solve(folder, &deck, "", &["--precision", "f64"]);
        for (ours, theirs) in by_deck.columns.iter().zip(&by_job.columns).skip(1) {
            assert!(theirs.iter().all(|value| *value == 0.0) || relative_error(ours, theirs) < 1e-9, "{kind}");
        }
        // Another material beyond the boundary reflects as plane waves do, (Z − Z′)/(Z + Z′), but for 12 elements a wavelength.
        if degrees == 0.0 {
            let deck = packet.deck() + &infinite(&packet.grid(), kind, 3.0) + &packet.step();
            Packet::solve(folder, &deck, "", &["--precision", "f64"]);
            packet.check(folder, 3.0, 0.02);
        }
    }
}

#[test]
fn energy_is_balanced_and_parts_and_restarts_give_the_same_bits() {
    let packet = Packet { element: "CPE4", wave: 1, angle: 40_f64.to_radians(), fine: 10 };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // With damping of both kinds, too.
    for damping in ["", "*Damping, alpha=2e3, beta=2e-9\n"] {
        let deck = packet.deck().replace("*Density\n", &format!("{damping}*Density\n")) + &packet.step();
        let traces = Packet::solve(folder, &deck, JOB, &["--precision", "f64"]);
        let energies = Traces::read(&folder.join("out/energy.csv"));
        let initial = energies.column("kinetic")[0] + energies.column("strain")[0];
        assert!(energies.column("balance").iter().all(|error| error.abs() < 1e-11 * initial));
        let taken = energies.column("damped");
        assert!(taken[taken.len() - 1] > 0.3 * initial, "{} of {initial}", taken[taken.len() - 1]);
        // V and A of the boundary's nodes are derivatives of U.
        let dt = traces.time()[1] - traces.time()[0];
        let name = traces.names.iter().find(|name| name.ends_with(".U2")).unwrap();
        let (u, v) = (traces.column(name), traces.column(&name.replace(".U2", ".V2")));
        let centred: Vec<f64> = u.windows(3).map(|u| (u[2] - u[0]) / (2.0 * dt)).collect();
        assert!(relative_error(&v[1..v.len() - 1], &centred) < 1e-9);

        let solve = |out: &str, words: &[&str]| {
            let arguments = ["model.blk", "--quiet", "--precision", "f64", "-o", out];
            succeed(command("pogo-solve").current_dir(folder).args(arguments).args(words));
            Traces::read(&folder.join(out).join("traces.csv"))
        };
        assert!(solve("parts", &["--device", "cpu,cpu"]).columns == traces.columns, "parts differ");
        let summary = std::fs::read_to_string(folder.join("out/summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let (increment, whole) = (summary["increment"].to_string(), traces.time()[traces.time().len() - 1]);
        let [half, whole] = [0.5 * whole, whole].map(|time| time.to_string());
        solve("half", &["--increment", &increment, "--time", &half, "--keep-checkpoint"]);
        let again = solve("half", &["--increment", &increment, "--time", &whole, "--restart"]);
        assert!(again.columns == traces.columns, "a restart differs");
    }
}

#[test]
fn reactions_on_a_boundary_do_its_work() {
    let grid = Grid { n: [30, 3, 0], h: [1e-3, 1.3e-3, 0.0], element: "CPE4" };
    let driven: Vec<String> = (0..=3).map(|j| grid.label(0, j, 0).to_string()).collect();
    // One component of the nodes moves as it is told, and the dashpots act on both.
    let deck = grid.deck()
        + &isotropic(YOUNG, POISSON, DENSITY)
        + &format!(
            "*Nset, nset=DRIVEN\n{}\n*Amplitude, name=PUSH, definition=SMOOTH STEP\n0., 0., 4e-6, 1.\n*Step\n\
             *Dynamic, Explicit\n, 1e-5\n*Boundary, amplitude=PUSH\nDRIVEN, 1, 1, 1e-6\n\
             *Output, history, frequency=1\n*Node Output, nset=DRIVEN\nU1, RF1\n*End Step\n",
            driven.join(", ")
        );
    let job = "[[absorbing]]\nprofile = 'impedance'\nside = ['xmin', 'xmax', 'ymin']\n";
    let folder = tempfile::tempdir().unwrap();
    let traces = Packet::solve(folder.path(), &deck, job, &["--precision", "f64"]);
    let mut work = 0.0;
    for label in &driven {
        let [u, force] = ["U1", "RF1"].map(|name| traces.column(&format!("DRIVEN.{label}.{name}")));
        work += (1..u.len() - 1).map(|i| force[i] * 0.5 * (u[i + 1] - u[i - 1])).sum::<f64>();
    }
    let energies = Traces::read(&folder.path().join("out/energy.csv"));
    let external = energies.column("external")[energies.time().len() - 1];
    // But for the first step, whose motion before the start is not recorded.
    assert!(external > 0.0 && (work / external - 1.0).abs() < 1e-5, "{work:e} {external:e}");
}

#[test]
fn what_cannot_be_an_impedance_boundary_is_told() {
    let packet = Packet { element: "CPE4", wave: 0, angle: 0.0, fine: 4 };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let deck = packet.deck();
    let refusal = |deck: &str, job: &str| {
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        std::fs::write(folder.join("job.toml"), job).unwrap();
        let arguments = ["model.inp", "--quiet", "--job", "job.toml"];
        let output = command("pogo-block").current_dir(folder).args(arguments).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let step = packet.step();
    let good = infinite(&packet.grid(), "CINPE4", 1.0);
    let said = refusal(&(deck.clone() + &good.replace("CINPE4", "CINPS4") + &step), "");
    assert!(said.contains("meet elements of another kind"), "{said}");
    // The outer edge first.
    let turned = good.replace("1000000, 1, ", "1000000, 1000000, ");
    let said = refusal(&(deck.clone() + &turned + &step), "");
    assert!(said.contains("do not meet the mesh: their first face, nodes 1 and 2"), "{said}");
    let bare = good.replace("elset=BEYOND, material", "elset=OTHER, material") + "*Elset, elset=OTHER\n1000001,\n";
    let said = refusal(&(deck.clone() + &bare + &step), "");
    assert!(said.contains("infinite elements without a *SOLID SECTION"), "{said}");
    for (job, text) in [
        ("depth = 1e-3\nside = 'xmin'\n", "needs no `depth`"),
        ("", "give one of"),
        ("side = 'zmin'\n", "no side across z"),
        ("nset = 'NONE'\n", "there is no node set NONE"),
    ] {
        let said = refusal(&(deck.clone() + &step), &format!("[[absorbing]]\nprofile = 'impedance'\n{job}"));
        assert!(said.contains(text), "{said}");
    }
    Packet::solve(folder, &(deck + &step), JOB, &[]);
}

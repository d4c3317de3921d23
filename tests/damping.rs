//! Damping in proportion to the stiffness (`*DAMPING, BETA`): the decay of one mode against theory, and a bar of two materials
//! against an independent code.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{Grid, Traces, command, initial_velocity, python, relative_error, run, step, succeed, workspace};

const YOUNG: f64 = 210e9;
const DENSITY: f64 = 7800.0;
const LENGTH: f64 = 0.02;

/// A strip along x of `n` cells whose nodes move along x alone: with ν = 0 a bar.
fn bar(element: &'static str, n: usize) -> (Grid, String) {
    let solid = element.starts_with("C3D");
    let grid = Grid { n: [n, 1, usize::from(solid)], h: [LENGTH / n as f64; 3], element };
    let n_nodes = grid.nodes().count();
    let mut deck = grid.deck();
    write!(deck, "*Nset, nset=EVERY, generate\n1, {n_nodes}, 1\n*Boundary\nEVERY, 2, 2\n").unwrap();
    if solid {
        deck += "EVERY, 3, 3\n";
    }
    (grid, deck)
}

/// The last row of `energy.csv` by its headings.
fn last_energies(folder: &Path) -> Traces {
    let mut energies = Traces::read(&folder.join("out/energy.csv"));
    energies.columns.iter_mut().for_each(|column| drop(column.drain(..column.len() - 1)));
    energies
}

#[test]
fn a_mode_decays_as_beta_demands() {
    let n = 40;
    let speed = (YOUNG / DENSITY).sqrt();
    let (h, k) = (LENGTH / n as f64, PI / LENGTH);
    // Of a bar with lumped masses.
    let omega = 2.0 * speed / h * (0.5 * k * h).sin();
    let xi = 0.04;
    let beta = 2.0 * xi / omega;
    for (element, precision, tolerance) in [
        ("CPE4", "f64", 1e-9),
        ("CPE3", "f64", 5e-3),
        ("C3D8", "f64", 1e-9),
        ("CPS4R", "f64", 1e-9),
        ("C3D8", "f32", 2e-5),
    ] {
        let (grid, mut deck) = bar(element, n);
        let rec = grid.label(0, 0, 0);
        write!(
            deck,
            "*Solid Section, elset=ALL, material=M\n,\n*Material, name=M\n*Density\n{DENSITY},\n*Elastic\n{YOUNG:e}, 0.\n\
             *Damping, beta={beta:e}\n*Nset, nset=REC\n{rec},\n"
        )
        .unwrap();
        deck += &initial_velocity(&grid, |x| [(k * x[0]).cos(), 0.0, 0.0]);
        let increment = 0.2 * h / speed;
        deck += &step(increment, 3.0 * 2.0 * PI / omega, "U1");
        let folder = tempfile::tempdir().unwrap();
        let traces = run(folder.path(), &deck, &["--precision", precision]);
        let found = traces.column(&format!("REC.{rec}.U1"));

        // The scheme itself: Δu_{n+1} = (1 − 2ξΩ) Δu_n − Ω² u_n from Δu_0 = Δt v_0 + Δt²/2 2ξω v_0.
        let frequency = omega * increment;
        let (mut u, mut du) = (0.0, increment * (1.0 + xi * frequency));
        let scheme: Vec<f64> = found
            .iter()
            .map(|_| {
                let now = u;
                du = (1.0 - 2.0 * xi * frequency) * du - frequency * frequency * u;
                u += du;
                now
            })
            .collect();
        let error = relative_error(found, &scheme);
        assert!(error < tolerance, "{element} {precision}: {error:e} from the scheme");
        // The theory: v_0/ω_d exp(−ξωt) sin ω_d t. The scheme is of first order: its phase and decay are off
        // by parts of ξΩ = 0.0006 a radian, for 19 radians.
        let damped_omega = omega * (1.0 - xi * xi).sqrt();
        let theory: Vec<f64> =
            traces.time().iter().map(|t| (-xi * omega * t).exp() * (damped_omega * t).sin() / damped_omega).collect();
        let error = relative_error(found, &theory);
        eprintln!("{element} {precision}: {error:.2e} from the theory");
        assert!(error < 5e-3, "{element} {precision}: {error:e} from the theory");

        // Half the mass moves at first; what is left is exp(−2ξωt) of it.
        let energies = last_energies(folder.path());
        let [kinetic, strain, taken, balance] =
            ["kinetic", "strain", "damped", "balance"].map(|name| energies.column(name)[0]);
        let left = (-2.0 * xi * omega * (energies.time()[0] - 0.5 * increment)).exp();
        let initial = kinetic + strain + taken;
        assert!(((kinetic + strain) / initial / left - 1.0).abs() < 0.02, "{element}: {kinetic} {strain} {taken}");
        assert!(balance.abs() < if precision == "f64" { 1e-12 } else { 1e-5 } * initial, "{element}: {balance:e}");
    }
}

/// The deck of a bar of two materials, one of which has damping, that is moved at one end and free at the other.
fn two_materials(element: &'static str, n: usize, beta: f64, increment: Option<f64>) -> String {
    let (grid, mut deck) = bar(element, n);
    let first = n / 2;
    let (driven, free) = (grid.nodes().filter(|node| node[0] == 0), grid.label(n, 0, 0));
    let labels: Vec<String> = driven.map(|node| grid.label(node[0], node[1], node[2]).to_string()).collect();
    write!(
        deck,
        "*Elset, elset=LEFT, generate\n1, {first}, 1\n*Elset, elset=RIGHT, generate\n{}, {}, 1\n\
         *Solid Section, elset=LEFT, material=STEEL\n,\n*Solid Section, elset=RIGHT, material=POLYMER\n,\n\
         *Material, name=STEEL\n*Density\n{DENSITY},\n*Elastic\n{YOUNG:e}, 0.\n\
         *Material, name=POLYMER\n*Density\n1200.,\n*Elastic\n5e9, 0.\n*Damping, beta={beta:e}\n\
         *Nset, nset=DRIVEN\n{}\n*Nset, nset=REC\n{free}, {}\n*Amplitude, name=PUSH, definition=SMOOTH STEP\n0., 0., 8e-6, 1.\n\
         *Step\n*Dynamic, Explicit{}\n{}2e-5\n*Boundary, amplitude=PUSH\nDRIVEN, 1, 1, 1e-6\n\
         *Output, history, frequency=1\n*Node Output, nset=REC\nU1,\n*Node Output, nset=DRIVEN\nU1, RF1\n*End Step\n",
        first + 1,
        n,
        labels.join(", "),
        grid.label(n / 2, 0, 0),
        if increment.is_some() { ", direct user control" } else { "" },
        increment.map_or(", ".to_owned(), |increment| format!("{increment:e}, ")),
    )
    .unwrap();
    deck
}

/// Σ of the columns of the driven nodes.
fn driven(traces: &Traces, variable: &str) -> Vec<f64> {
    let is_one = |name: &&String| name.starts_with("DRIVEN.") && name.ends_with(variable);
    let columns: Vec<&[f64]> = traces.names.iter().filter(is_one).map(|name| traces.column(name)).collect();
    (0..traces.time().len()).map(|row| columns.iter().map(|column| column[row]).sum()).collect()
}

#[test]
fn a_bar_of_two_materials_agrees_with_an_independent_code() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let (n, beta) = (40, 1e-7);
    for element in ["CPE4", "C3D8R"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let traces = run(folder, &two_materials(element, n, beta, Some(1e-8)), &["--precision", "f64"]);
        succeed(
            Command::new(&python)
                .arg(workspace().join("tests/python/damped_bar.py"))
                .args(["out/traces.csv", &n.to_string(), &LENGTH.to_string(), &beta.to_string(), "0.01"])
                .current_dir(folder),
        );
        // The reaction, which has damping too, does the work of the moving end.
        let (u, force) = (driven(&traces, ".U1"), driven(&traces, ".RF1"));
        let n_driven = if element.starts_with("C3D") { 4.0 } else { 2.0 };
        let work: f64 = (1..u.len() - 1).map(|i| force[i] / n_driven * 0.5 * (u[i + 1] - u[i - 1])).sum();
        let energies = last_energies(folder);
        let [external, taken, balance] = ["external", "damped", "balance"].map(|name| energies.column(name)[0]);
        assert!((work / external - 1.0).abs() < 1e-6, "{element}: {work:e} {external:e}");
        assert!(taken > 0.05 * external && balance.abs() < 1e-10 * external, "{element}: {taken:e} {balance:e}");

        // Parts of one process give the same bits; single precision stays near.
        let solve = |out: &str, words: &[&str]| {
            let arguments = ["small.blk", "--quiet", "-o", out];
            succeed(command("pogo-solve").current_dir(folder).args(arguments).args(words));
            Traces::read(&folder.join(out).join("traces.csv"))
        };
        let block = ["model.inp", "--quiet", "--block-nodes", "32", "-o", "small.blk"];
        succeed(command("pogo-block").current_dir(folder).args(block));
        let traces = solve("whole", &["--precision", "f64", "--threads", "2"]);
        let parts = solve("parts", &["--precision", "f64", "--device", "cpu,cpu"]);
        assert!(parts.columns == traces.columns, "{element}: two parts differ");
        let single = solve("single", &["--precision", "f32", "--device", "auto"]);
        let name = format!("REC.{}.U1", n + 1);
        let error = relative_error(single.column(&name), traces.column(&name));
        assert!(error < 2e-5, "{element}: {error:e} in single precision");
    }
}

#[test]
fn damping_lowers_the_stable_increment_and_changes_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &two_materials("CPE4", 20, 0.0, None), &["--precision", "f64"]);
    let stable = |out: &str, words: &[&str]| {
        let arguments = ["model.blk", "--quiet", "--precision", "f64", "-o", out];
        succeed(command("pogo-solve").current_dir(folder).args(arguments).args(words));
        let text = std::fs::read_to_string(folder.join(out).join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        (summary["stable_increment"].as_f64().unwrap(), summary["increment"].as_f64().unwrap())
    };
    let (plain, _) = stable("plain", &[]);
    let (same, _) = stable("same", &["--set", "material.POLYMER.beta=0"]);
    assert_eq!(plain, same);
    // Steel alone: 2/ω (√(1 + ξ²) − ξ) with ξ = βω/2. It governs the increment without damping.
    let beta = 3e-7;
    let (damped, increment) = stable("damped", &["--set", &format!("material.STEEL.beta={beta}")]);
    let expected = (beta * beta + plain * plain).sqrt() - beta;
    assert!((damped / expected - 1.0).abs() < 0.05 && damped < 0.5 * plain, "{damped:e} {expected:e}");
    assert!(increment <= damped);
    let arguments = ["model.blk", "--quiet", "-o", "refused", "--set", &format!("material.STEEL.beta={beta}")];
    let refusal = |words: &[&str]| {
        let output = command("pogo-solve").current_dir(folder).args(arguments).args(words).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refusal(&["--increment", &plain.to_string()]);
    assert!(said.contains("stable increment"), "{said}");
}

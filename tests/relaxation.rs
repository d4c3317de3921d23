//! Damping by relaxation mechanisms (`[relaxation]`): a mode, plane waves and a bar of two materials against independent codes,
//! the balance of energy, and the same bits for any threads and across a restart.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{Grid, Traces, command, initial_velocity, python, step, succeed, workspace};

const LENGTH: f64 = 0.02;
const BAND: &str = "[relaxation]\nband = [1e5, 1e6]\nreference_frequency = 3e5\n";

/// A strip along x whose nodes move along x alone: with ν = 0 a bar.
fn bar(element: &'static str, n: usize, length: f64) -> (Grid, String) {
    let solid = element.starts_with("C3D");
    let grid = Grid { n: [n, 1, usize::from(solid)], h: [length / n as f64; 3], element };
    let mut deck = grid.deck();
    write!(deck, "*Nset, nset=EVERY, generate\n1, {}, 1\n*Boundary\nEVERY, 2, 2\n", grid.nodes().count()).unwrap();
    if solid {
        deck += "EVERY, 3, 3\n";
    }
    (grid, deck)
}

fn material(name: &str, young: f64, density: f64, attenuation: &str) -> String {
    format!("[[material]]\nname = \"{name}\"\ndensity = {density}\nyoung = {young:e}\npoisson = 0\n{attenuation}\n")
}

fn block(folder: &Path, deck: &str, job: &str, words: &[&str]) -> String {
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    let output =
        succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml"]).args(words));
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn solve(folder: &Path, out: &str, words: &[&str]) -> Traces {
    let arguments = ["model.blk", "--quiet", "-o", out];
    succeed(command("pogo-solve").current_dir(folder).args(arguments).args(words));
    Traces::read(&folder.join(out).join("traces.csv"))
}

/// The numbers that the independent code prints.
fn compared(python: &str, folder: &Path, words: &[&str]) -> Vec<f64> {
    let script = workspace().join("tests/python/relaxed_bar.py");
    let output = succeed(Command::new(python).arg(script).args(words).current_dir(folder));
    let text = String::from_utf8(output.stdout).unwrap();
    eprintln!("{words:?}: {}", text.trim().replace('\n', " "));
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn last(folder: &Path, name: &str) -> f64 {
    *Traces::read(&folder.join("out/energy.csv")).column(name).last().unwrap()
}

#[test]
fn a_mode_is_that_of_the_exact_roots_to_second_order() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let n = 8;
    // Half a wave along the bar: 250 kHz.
    let (length, speed) = (5e-3, 2500.0);
    for (element, precision, quality) in
        [("CPE4", "f64", 50.0), ("CPS4R", "f64", 10.0), ("C3D8R", "f64", 10.0), ("C3D8", "f32", 50.0)]
    {
        let mut errors = Vec::new();
        for courant in [0.4, 0.2] {
            let (grid, mut deck) = bar(element, n, length);
            deck += &format!("*Nset, nset=REC\n{},\n", grid.label(0, 0, 0));
            deck += &initial_velocity(&grid, |x| [(std::f64::consts::PI * x[0] / length).cos(), 0.0, 0.0]);
            deck += &step(courant * length / n as f64 / speed, 20e-6, "U1");
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            block(
                folder,
                &deck,
                &format!("{BAND}{}", material("M", 5e9, 800.0, &format!("quality_factor = {quality}"))),
                &[],
            );
            solve(folder, "out", &["--precision", precision, "--threads", "1"]);
            let words = ["mode", "out/traces.csv", &n.to_string(), &length.to_string(), &quality.to_string()];
            let [error, of_fit] = compared(&python, folder, &words)[..] else { panic!("two numbers") };
            assert!((of_fit - 1.0).abs() < 0.05, "the fit is off: {of_fit}");
            errors.push(error);
            let initial = last(folder, "kinetic") + last(folder, "strain") + last(folder, "damped");
            let tolerance = if precision == "f64" { 1e-12 } else { 1e-5 };
            assert!(last(folder, "balance").abs() < tolerance * initial, "{element}: {:e}", last(folder, "balance"));
            let left = (-std::f64::consts::TAU * 250e3 * 20e-6 / quality).exp();
            let found = 1.0 - last(folder, "damped") / initial;
            assert!((found / left).ln().abs() < 0.1 * left.ln().abs() + 0.02, "{element}: {found} {left}");
        }
        let order = (errors[0] / errors[1]).log2();
        assert!(errors[0] < 0.03 && (order - 2.0).abs() < 0.1, "{element}: {errors:?}, order {order}");
    }
}

/// A bar that is pushed at one end by a pulse of 1.5 µs, with two nodes that record.
fn pulse(n: usize, length: f64, nodes: [usize; 2]) -> String {
    let (grid, mut deck) = bar("CPE4", n, length);
    let labels = nodes.map(|i| grid.label(i, 0, 0));
    write!(
        deck,
        "*Nset, nset=DRIVEN\n1, {}\n*Nset, nset=REC\n{}, {}\n*Amplitude, name=PUSH\n",
        n + 2,
        labels[0],
        labels[1]
    )
    .unwrap();
    for i in 0..=60 {
        let t = 1.5e-6 * f64::from(i) / 60.0;
        writeln!(deck, "{t:e}, {:e}", (std::f64::consts::PI * t / 1.5e-6).sin().powi(2)).unwrap();
    }
    deck += "*Step\n*Dynamic, Explicit\n, 26e-6\n*Boundary, amplitude=PUSH\nDRIVEN, 1, 1, 1e-6\n\
             *Output, history, frequency=1\n*Node Output, nset=REC\nU1,\n*End Step\n";
    deck
}

#[test]
fn a_plane_wave_has_the_attenuation_and_the_speed_of_the_modulus() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let (n, length) = (1000, 0.05);
    let deck = pulse(n, length, [100, 500]);
    let table = "attenuation = { frequency = [1e5, 1e6], db_per_m = [40, 900] }";
    for (attenuation, name) in [("quality_factor = 20", "20"), (table, "table")] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let said = block(folder, &deck, &format!("{BAND}{}", material("M", 5e9, 800.0, attenuation)), &[]);
        assert!(said.contains("Q is met within"), "{said}");
        solve(folder, "out", &["--precision", "f64"]);
        let words = ["wave", "out/traces.csv", "0.02", name];
        for of_frequency in compared(&python, folder, &words).chunks_exact(2) {
            let [attenuation, speed] = [of_frequency[0] - 1.0, of_frequency[1] - 1.0];
            assert!(attenuation.abs() < 1e-3 && speed.abs() < 1e-4, "{name}: {attenuation:e} {speed:e}");
        }
    }
}

/// A bar of two materials that is moved at one end and free at the other.
fn two_materials(element: &'static str, n: usize) -> String {
    let (grid, mut deck) = bar(element, n, LENGTH);
    let driven = grid.nodes().filter(|node| node[0] == 0).map(|node| grid.label(node[0], node[1], node[2]).to_string());
    write!(
        deck,
        "*Elset, elset=LEFT, generate\n1, {}, 1\n*Elset, elset=RIGHT, generate\n{}, {n}, 1\n*Elset, elset=LAST\n{n},\n\
         *Nset, nset=DRIVEN\n{}\n*Nset, nset=REC\n{}, {}\n*Amplitude, name=PUSH, definition=SMOOTH STEP\n0., 0., 8e-6, 1.\n\
         *Step\n*Dynamic, Explicit, direct user control\n2e-8, 2e-5\n*Boundary, amplitude=PUSH\nDRIVEN, 1, 1, 1e-6\n\
         *Output, history, frequency=1\n*Node Output, nset=REC\nU1,\n*Node Output, nset=DRIVEN\nU1, RF1\n\
         *Element Output, elset=LAST\nS11,\n*Output, field, number interval=2\n*Node Output\nU, A\n*Element Output\nS,\n*End Step\n",
        n / 2,
        n / 2 + 1,
        driven.collect::<Vec<_>>().join(", "),
        grid.label(n, 0, 0),
        grid.label(n / 2, 0, 0),
    )
    .unwrap();
    deck
}

/// Its job.
fn two_attenuations() -> String {
    let sections: String = [("LEFT", "A"), ("RIGHT", "B")]
        .map(|(set, material)| format!("[[section]]\nelset = \"{set}\"\nmaterial = \"{material}\"\n"))
        .concat();
    let materials =
        material("A", 5e9, 800.0, "quality_factor = 15") + &material("B", 20e9, 2000.0, "quality_factor = 60");
    format!("{BAND}{materials}{sections}")
}

#[test]
fn a_bar_of_two_materials_agrees_with_an_independent_code() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let n = 40;
    for element in ["CPE4", "CPE4R"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        block(folder, &two_materials(element, n), &two_attenuations(), &[]);
        solve(folder, "out", &["--precision", "f64", "--threads", "1"]);
        let words = ["two", "out/traces.csv", "out/energy.csv", &n.to_string(), &LENGTH.to_string(), "15", "60"];
        let [motion, reaction, stress, lost] = compared(&python, folder, &words)[..] else { panic!("four numbers") };
        assert!(motion < 5e-5 && reaction < 1e-3 && stress < 2e-3, "{element}: {motion} {reaction} {stress}");
        assert!((lost - 1.0).abs() < 5e-3, "{element}: {lost}");
        let [external, taken, balance] = ["external", "damped", "balance"].map(|name| last(folder, name));
        assert!(taken > 0.05 * external && balance.abs() < 1e-10 * external, "{element}: {taken:e} {balance:e}");
    }
}

#[test]
fn bits_are_those_of_one_thread_in_parts_and_of_a_run_in_one_go() {
    for element in ["CPE4", "CPE3", "C3D8R"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut deck = two_materials(element, 40);
        if element == "CPE3" {
            // Two elements a cell.
            deck = deck.replace("generate\n1, 20, 1", "generate\n1, 40, 1");
            deck = deck.replace("generate\n21, 40, 1", "generate\n41, 80, 1");
        }
        let job = two_attenuations().replace("young = 2e10", "beta = 1e-8\nyoung = 2e10");
        assert!(job.contains("beta"));
        block(folder, &deck, &job, &["--block-nodes", "32", "--quiet"]);
        for precision in ["f32", "f64"] {
            let words = ["--precision", precision];
            let whole = solve(folder, "whole", &[&words[..], &["--threads", "1"]].concat());
            let threads = solve(folder, "threads", &[&words[..], &["--threads", "3", "--device", "auto"]].concat());
            assert!(threads.columns == whole.columns, "{element} {precision}: threads");
            let energies = |out: &str| std::fs::read(folder.join(out).join("energy.csv")).unwrap();
            let rows = |out: &str| {
                let text = String::from_utf8(energies(out)).unwrap();
                text.lines().last().unwrap().to_owned()
            };
            for devices in ["cpu,cpu", "cpu,cpu,cpu"] {
                let cut = solve(folder, "cut", &[&words[..], &["--device", devices]].concat());
                assert!(cut.columns == whole.columns, "{element} {precision}: {devices}");
                assert!(energies("cut") == energies("whole"), "{element} {precision}: energies of {devices}");
            }
            // From so many parts to so many.
            for [first, second] in [["cpu", "cpu"], ["cpu,cpu,cpu", "cpu,cpu"], ["cpu,cpu", "cpu"]] {
                let first = ["--device", first, "--time", "7.3e-6", "--keep-checkpoint"];
                solve(folder, "halves", &[&words[..], &first].concat());
                let halves = solve(folder, "halves", &[&words[..], &["--device", second, "--restart"]].concat());
                assert!(halves.columns == whole.columns, "{element} {precision}: restart");
                assert_eq!(rows("halves"), rows("whole"), "{element} {precision}");
            }
        }
    }
}

#[test]
fn the_increment_is_that_of_the_unrelaxed_moduli_and_quality_is_a_parameter() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let deck = two_materials("CPE4", 20).replace(", direct user control\n2e-8,", "\n,");
    block(folder, &deck, &two_attenuations(), &[]);
    let stable = |words: &[&str]| {
        solve(folder, "out", words);
        let text = std::fs::read_to_string(folder.join("out/summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        summary["stable_increment"].as_f64().unwrap()
    };
    // Nearly without attenuation, and with some in the material whose elements bound the increment.
    let without = stable(&["--set", "material.A.quality_factor=1e6", "--set", "material.B.quality_factor=1e6"]);
    let with = stable(&["--set", "material.A.quality_factor=1e6", "--set", "material.B.quality_factor=10"]);
    // Of Q = 10: unrelaxed moduli are some 10 % above those at the reference frequency.
    let ratio = (without / with).powi(2);
    assert!((1.05..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn a_body_that_is_strained_from_the_start_has_lost_nothing_yet() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let deck = two_materials("C3D8R", 20).replace("*Boundary, amplitude=PUSH\nDRIVEN", "*Boundary\nDRIVEN");
    block(folder, &deck, &two_attenuations(), &[]);
    for (precision, tolerance) in [("f64", 1e-12), ("f32", 1e-5)] {
        solve(folder, "out", &["--precision", precision]);
        let energies = Traces::read(&folder.join("out/energy.csv"));
        let [strain, damped, balance] = ["strain", "damped", "balance"].map(|name| energies.column(name));
        assert!(strain[0] > 0.0 && damped[0].abs() < tolerance * strain[0], "{} {}", strain[0], damped[0]);
        assert!(damped[damped.len() - 1] > 0.01 * strain[0], "{damped:?}");
        assert!(balance.iter().all(|error| error.abs() < tolerance * strain[0]), "{balance:?}");
    }
}

#[test]
fn what_is_not_computed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let deck = two_materials("CPE4", 20);
    block(folder, &deck, &two_attenuations(), &[]);
    let refusal = |program: &str, words: &[&str]| {
        let output = command(program).current_dir(folder).args(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (words, expected) in [
        (&["--set", "material.A.quality_factor=0.2"][..], "leaves no stiffness at low frequencies"),
        (&["--set", "material.A.quality_factor=-1"], "must be above 0"),
    ] {
        let said = refusal("pogo-solve", &[&["model.blk", "--quiet", "-o", "refused"], words].concat());
        assert!(said.contains(expected), "{said}");
    }
    let job = two_attenuations();
    for (from, to, expected) in [
        (BAND, "", "job.toml:1: error: material A: attenuation needs a [relaxation] table with a `band`"),
        ("[1e5, 1e6]", "[1e6, 1e5]", "job.toml:1: error: `band` must be two frequencies above 0, the lower one first"),
        ("reference", "mechanisms = 5\nreference", "`mechanisms` must be 2 or 3, not 5"),
        ("[1e5, 1e6]", "[1e3, 3e6]", "3 mechanisms miss Q by"),
        ("quality_factor = 15", "quality_factor = 0.3", "leaves no stiffness at low frequencies"),
        (
            "quality_factor = 15",
            "quality_factor = 15\nattenuation = { frequency = [1e5], db_per_m = [1] }",
            "give `quality_factor` or `attenuation`, not both",
        ),
        (
            "quality_factor = 15",
            "attenuation = { frequency = [2e5, 1e6], db_per_m = [10, 100] }",
            "must cover the `band` of [relaxation]",
        ),
        ("quality_factor = 15", "attenuation = { frequency = [2e5, 1e6], db_per_m = [10] }", "as many values"),
    ] {
        std::fs::write(folder.join("wrong.toml"), job.replacen(from, to, 1)).unwrap();
        let said = refusal("pogo-block", &["model.inp", "--job", "wrong.toml", "-o", "wrong.blk"]);
        assert!(said.replace("wrong.toml", "job.toml").contains(expected), "{said}");
    }
    let said = refusal("pogo-block", &["model.inp", "--job", "job.toml", "-o", "model.pogo-inp"]);
    assert!(said.contains("has attenuation by relaxation"), "{said}");
    // A band that three mechanisms follow roughly is a warning; no attenuation is one, too.
    let said = block(folder, &deck, &job.replace("[1e5, 1e6]", "[1e4, 3e6]"), &[]);
    assert!(said.contains("warning: material A: Q is met within"), "{said}");
    let plain = job.replace("quality_factor = 15", "").replace("quality_factor = 60", "");
    let said = block(folder, &deck, &plain, &[]);
    assert!(said.contains("[relaxation] has no effect"), "{said}");
}

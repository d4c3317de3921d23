//! Cracks that a job opens in a mesh, against d'Alembert's solution, a smaller body and rigid motion.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Grid, Traces, command, initial_velocity, isotropic, relative_error, run, step, succeed};

const YOUNG: f64 = 210e9;
const POISSON: f64 = 0.3;
const DENSITY: f64 = 7800.0;

/// Blocks a deck with a job, solves it on one thread, and gives the traces and the rows of the energies.
fn run_with_job(folder: &Path, deck: &str, job: &str, arguments: &[&str]) -> (Traces, Traces) {
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    std::fs::write(folder.join("job.toml"), job).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--job", "job.toml", "--quiet"]));
    let solve = ["model.blk", "--quiet", "-o", "out", "--threads", "1", "--precision", "f64"];
    succeed(command("pogo-solve").current_dir(folder).args(solve).args(arguments));
    (Traces::read(&folder.join("out/traces.csv")), Traces::read(&folder.join("out/energy.csv")))
}

fn p_speed() -> f64 {
    let lambda = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    ((lambda + YOUNG / (1.0 + POISSON)) / DENSITY).sqrt()
}

/// cos⁴ pulse of width w, and its integral from −∞.
fn pulse(x: f64, width: f64) -> f64 {
    if x.abs() < width / 2.0 { (PI * x / width).cos().powi(4) } else { 0.0 }
}

fn pulse_integral(x: f64, width: f64) -> f64 {
    let part = |x: f64| {
        3.0 * x / 8.0
            + width / (4.0 * PI) * (2.0 * PI * x / width).sin()
            + width / (32.0 * PI) * (4.0 * PI * x / width).sin()
    };
    part(x.clamp(-width / 2.0, width / 2.0)) - part(-width / 2.0)
}

/// A crack normal to a P wave is a free end: u is that of the wave and of its image. Behind it nothing moves.
#[test]
fn a_crack_across_a_bar_reflects_as_a_free_end() {
    for element in ["CPE4", "CPE3", "C3D8"] {
        let (n, length) = (200, 0.1);
        let h = length / n as f64;
        let depth = if element == "C3D8" { 2 } else { 0 };
        let grid = Grid { n: [n, 2, depth], h: [h; 3], element };
        let (centre, width, crack) = (0.3 * length, 0.2 * length, 0.6 * length);
        let [before, behind] = [n * 5 / 10, n * 7 / 10].map(|i| grid.label(i, 1, 0));
        let n_nodes = grid.nodes().count();
        let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
        write!(deck, "*Nset, nset=REC\n{before}, {behind}\n*Nset, nset=EVERY, generate\n1, {n_nodes}, 1\n*Boundary\n")
            .unwrap();
        for other in 2..=if depth > 0 { 3 } else { 2 } {
            writeln!(deck, "EVERY, {other}, {other}").unwrap();
        }
        deck += &initial_velocity(&grid, |x| [pulse(x[0] - centre, width), 0.0, 0.0]);
        let speed = p_speed();
        deck += &step(0.2 * h / speed, 0.55 * length / speed, "U");
        let (from, to) = (crack, 3.0 * h);
        let shape = match depth {
            0 => format!("line = [[{from}, -1e-4], [{from}, {to}]]"),
            _ => format!("polygon = [[{from}, -1, -1], [{from}, 1, -1], [{from}, 1, 1], [{from}, -1, 1]]"),
        };
        let folder = tempfile::tempdir().unwrap();
        let (traces, energies) = run_with_job(folder.path(), &deck, &format!("[[crack]]\n{shape}"), &[]);
        let at = 0.5 * length;
        let wave = |x: f64, t: f64| {
            (pulse_integral(x - centre + speed * t, width) - pulse_integral(x - centre - speed * t, width))
                / (2.0 * speed)
        };
        let exact: Vec<f64> = traces.time().iter().map(|&t| wave(at, t) + wave(2.0 * crack - at, t)).collect();
        let error = relative_error(traces.column(&format!("REC.{before}.U1")), &exact);
        assert!(error < 6e-3, "{element}: {error}");
        assert!(traces.column(&format!("REC.{behind}.U1")).iter().all(|&u| u == 0.0));
        let total = |row: usize| energies.column("kinetic")[row] + energies.column("strain")[row];
        let rows = energies.time().len();
        assert!((total(rows - 1) / total(0) - 1.0).abs() < 1e-12);
    }
}

/// The part before a crack moves as the body does that ends there.
#[test]
fn a_cut_body_moves_as_its_part() {
    for element in ["CPE4R", "CPE3", "C3D8R"] {
        let depth = if element == "C3D8R" { 4 } else { 0 };
        let body = |nx: usize| {
            let grid = Grid { n: [nx, 6, depth], h: [1e-3; 3], element };
            let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
            // Node 3 in x, labelled by its place in a row of nodes.
            let node = |i: usize, j: usize| grid.label(i, j, 0);
            let source = node(3, 2);
            writeln!(deck, "*Nset, nset=FACE").unwrap();
            (0..=6).for_each(|j| writeln!(deck, "{},", node(10, j)).unwrap());
            write!(deck, "*Nset, nset=SOURCE\n{source},\n*Amplitude, name=A\n0., 0., 1e-6, 1., 2e-6, -1., 3e-6, 0.\n")
                .unwrap();
            let step = step(5e-8, 2e-5, "U").replace("*Output", "*Cload, amplitude=A\nSOURCE, 1, 100.\n*Output");
            (grid.clone(), deck + &step.replace("nset=REC", "nset=FACE"))
        };
        let (cut_grid, cut_deck) = body(20);
        let (grid, deck) = body(10);
        let far = if depth > 0 {
            "polygon = [[0.0101, -1, -1], [0.0101, 1, -1], [0.0101, 1, 1], [0.0101, -1, 1]]"
        } else {
            "line = [[0.0101, -1], [0.0101, 1]]"
        };
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (found, _) = run_with_job(folders[0].path(), &cut_deck, &format!("[[crack]]\n{far}"), &[]);
        let expected = run(folders[1].path(), &deck, &["--precision", "f64"]);
        for j in 0..=6 {
            for component in 1..=2 {
                let name = |grid: &Grid| format!("FACE.{}.U{component}", grid.label(10, j, 0));
                let error = relative_error(found.column(&name(&cut_grid)), expected.column(&name(&grid)));
                assert!(error < 1e-11, "{element} {}: {error}", name(&grid));
            }
        }
    }
}

/// Nodes are doubled, mass is not: a cracked body that moves as one has the energy of the whole, and no strain.
#[test]
fn a_cracked_body_keeps_its_mass_and_moves_as_one() {
    for (element, depth, shape) in [
        ("CPE3", 0, "line = [[2e-3, 3.3e-3], [9e-3, 6.1e-3]]"),
        ("C3D8", 8, "centre = [6e-3, 5e-3, 4e-3]\nnormal = [0.2, 0.3, 1]\nradius = 3e-3"),
    ] {
        let grid = Grid { n: [12, 10, depth], h: [1e-3; 3], element };
        let n_nodes = grid.nodes().count();
        let mut deck = grid.deck() + &isotropic(YOUNG, POISSON, DENSITY);
        write!(deck, "*Nset, nset=REC\n1,\n").unwrap();
        let (speed, turn) = ([3.0, -2.0, 0.0], if depth > 0 { 0.5 } else { 0.0 });
        deck += &initial_velocity(&grid, |_| [speed[0], speed[1], turn]);
        deck += &step(5e-8, 5e-6, "V");
        let folder = tempfile::tempdir().unwrap();
        let (traces, energies) = run_with_job(
            folder.path(),
            &deck,
            &format!("[[crack]]\nname = 'c'\n{shape}\n[[monitor]]\nnset = 'c.plus'\nvariables = 'V'\n"),
            &[],
        );
        let volume = 12e-3 * 10e-3 * if depth > 0 { 8e-3 } else { 1.0 };
        let expected = 0.5 * DENSITY * volume * (speed[0] * speed[0] + speed[1] * speed[1] + turn * turn);
        let last = energies.time().len() - 1;
        assert!((energies.column("kinetic")[last] / expected - 1.0).abs() < 1e-11, "{element}");
        assert!(energies.column("strain")[last].abs() < 1e-11 * expected);
        let n_traces = traces.names.iter().filter(|name| name.starts_with("MONITOR1.") && name.ends_with("V1")).count();
        let is_new = |name: &&String| name.split('.').nth(1).unwrap().parse::<usize>().unwrap() > n_nodes;
        assert!(n_traces > 5);
        for name in traces.names.iter().filter(|name| name.ends_with("V1")) {
            let end = *traces.column(name).last().unwrap();
            assert!((end - 3.0).abs() < 1e-9, "{name}: {end}");
        }
        assert!(traces.names.iter().filter(|name| name.starts_with("MONITOR1.")).any(|name| is_new(&name)));
    }
}

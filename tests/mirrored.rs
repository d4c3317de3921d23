//! Linear constraints beside fluids, impedance boundaries and damping: a body that equations keep symmetric about a plane, and that
//! is pushed on one side, moves as without them when it is pushed half as much on both sides.

use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Traces, command, relative_error, succeed};

const H: f64 = 1e-3;

/// A box of a fluid, or none, and behind it along x one of a solid, whose end is a curved face.
struct Body {
    /// Kinds of elements of the solid and of the fluid.
    kinds: [&'static str; 2],
    /// Cells along x of the fluid and of the solid, and across; an even number along y.
    n: [usize; 4],
    /// The fluid has nodes of its own, and a tie joins it.
    is_tied: bool,
    /// Further lines of the solid's material.
    damping: &'static str,
    job: &'static str,
    dt: f64,
}

const IMPEDANCE: &str = "[[absorbing]]\nname = 'end'\nnset = 'END'\nprofile = 'impedance'\n";
const RELAXATION: &str = "[relaxation]\nband = [1e5, 1e6]\nreference_frequency = 3e5\n[[material]]\nname = 'STEEL'\n\
                          density = 7800\nyoung = 210e9\npoisson = 0.3\nquality_factor = 20\n";

impl Body {
    /// Nodes along x, first those of the fluid; a tied one has two at the common plane.
    fn columns(&self) -> usize {
        self.n[0] + self.n[1] + 1 + usize::from(self.is_tied)
    }

    /// First column of the solid.
    fn first(&self) -> usize {
        self.n[0] + usize::from(self.is_tied)
    }

    fn label(&self, [i, j, k]: [usize; 3]) -> usize {
        1 + i + self.columns() * (j + (self.n[2] + 1) * k)
    }

    fn deck(&self) -> String {
        let ([n_fluid, n_solid, ny, nz], columns) = (self.n, self.columns());
        let mut text = String::from("*Heading\n*Node\n");
        for (k, j) in (0..=nz).flat_map(|k| (0..=ny).map(move |j| (k, j))) {
            for i in 0..columns {
                let at = if i >= self.first() { i - self.first() + n_fluid } else { i };
                let y = j as f64 - 0.5 * ny as f64;
                // The solid is longer at its sides.
                let depth = (at as f64 - n_fluid as f64).max(0.0) / n_solid as f64;
                let x = at as f64 + depth * 0.12 * y * y;
                write!(text, "{}, {:e}, {:e}", self.label([i, j, k]), H * x, H * y).unwrap();
                text += &if nz > 0 { format!(", {:e}\n", H * k as f64) } else { "\n".to_owned() };
            }
        }
        let mut number = 0;
        let mut at_tie = [Vec::new(), Vec::new()];
        for (part, first, n, name) in [(1, 0, n_fluid, "FLUID"), (0, self.first(), n_solid, "SOLID")] {
            if n == 0 {
                continue;
            }
            writeln!(text, "*Element, type={}, elset={name}", self.kinds[part]).unwrap();
            for (k, j) in (0..nz.max(1)).flat_map(|k| (0..ny).map(move |j| (k, j))) {
                for i in first..first + n {
                    number += 1;
                    let square = [[0, 0], [1, 0], [1, 1], [0, 1]];
                    let corners = 0..if nz > 0 { 8 } else { 4 };
                    let corner = |c: usize| self.label([i + square[c % 4][0], j + square[c % 4][1], k + c / 4]);
                    let nodes: Vec<String> = corners.map(|c| corner(c).to_string()).collect();
                    writeln!(text, "{number}, {}", nodes.join(", ")).unwrap();
                    if i == [first, first + n - 1][part] {
                        at_tie[part].push(number);
                    }
                }
            }
        }
        write!(
            text,
            "*Solid Section, elset=SOLID, material=STEEL\n,\n*Material, name=STEEL\n*Density\n7800.,\n*Elastic\n210e9, 0.3\n{}",
            self.damping
        )
        .unwrap();
        if n_fluid > 0 {
            text += "*Solid Section, elset=FLUID, material=WATER\n,\n*Material, name=WATER\n*Density\n1000.,\n\
                     *Acoustic Medium, bulk modulus\n2.2e9,\n";
        }
        let face = |i: usize| (0..=nz).flat_map(move |k| (0..=ny).map(move |j| [i, j, k]));
        for (name, i) in [("START", 0), ("END", columns - 1)] {
            writeln!(text, "*Nset, nset={name}").unwrap();
            face(i).for_each(|node| writeln!(text, "{},", self.label(node)).unwrap());
        }
        if self.is_tied {
            for (part, name) in ["DRY", "WET"].into_iter().enumerate() {
                let side = if nz > 0 { ["S6", "S4"][part] } else { ["S4", "S2"][part] };
                writeln!(text, "*Elset, elset={name}E").unwrap();
                at_tie[part].iter().for_each(|label| writeln!(text, "{label},").unwrap());
                write!(text, "*Surface, name={name}\n{name}E, {side}\n").unwrap();
            }
            text += "*Tie, name=JOINT\nDRY, WET\n";
        }
        text
    }

    /// Each component of a solid's node and of its mirror image is the same but for the sign of that along y.
    fn equations(&self) -> String {
        let [.., ny, nz] = self.n;
        let mut text = String::new();
        let dimension = if nz > 0 { 3 } else { 2 };
        for (i, k) in (self.first()..self.columns()).flat_map(|i| (0..=nz).map(move |k| (i, k))) {
            for (j, c) in (0..ny / 2).flat_map(|j| (1..=dimension).map(move |c| (j, c))) {
                let [a, b] = [j, ny - j].map(|j| self.label([i, j, k]));
                let sign = if c == 2 { 1.0 } else { -1.0 };
                writeln!(text, "*Equation\n2\n{a}, {c}, 1., {b}, {c}, {sign}").unwrap();
            }
            // In the plane itself nothing moves across it.
            writeln!(text, "*Equation\n1\n{}, 2, 1.", self.label([i, ny / 2, k])).unwrap();
        }
        text
    }

    /// Traces, and the error of the energy balance over the largest energy.
    fn run(&self, folder: &Path, is_held: bool, words: &[&str]) -> (Traces, f64) {
        let [.., ny, nz] = self.n;
        let at = [1, 2].map(|c| [self.first() + 1, c - 1, nz.min(1)]);
        let mut loads = String::new();
        for (node, (axis, force)) in at.into_iter().zip([(1, 3e3), (2, 2e3)]) {
            let sides = if is_held {
                vec![(node, 2.0_f64)]
            } else {
                vec![(node, 1.0), ([node[0], ny - node[1], node[2]], -1.0)]
            };
            for (node, factor) in sides {
                let factor = if axis == 2 { factor } else { factor * factor.signum() };
                writeln!(loads, "{}, {axis}, {:e}", self.label(node), factor * force).unwrap();
            }
        }
        let end = format!(
            "*Nset, nset=REC, generate\n1, {}, 1\n*Amplitude, name=PUSH\n0., 0., 1e-6, 1., 2e-6, -0.5, 4e-6, 0.\n*Step\n\
             *Dynamic, Explicit, direct user control\n{:e}, 16e-6\n*Bulk Viscosity\n0., 0.\n*Cload, amplitude=PUSH\n{loads}\
             *Output, history, frequency=1\n*Node Output, nset=REC\nU1, U2{}\n*End Step\n",
            self.columns() * (ny + 1) * (nz + 1),
            self.dt,
            if self.n[0] > 0 { ", POR" } else { "" }
        );
        let equations = if is_held { self.equations() } else { String::new() };
        std::fs::write(folder.join("model.inp"), self.deck() + &equations + &end).unwrap();
        std::fs::write(folder.join("job.toml"), self.job).unwrap();
        let job: &[&str] = if self.job.is_empty() { &[] } else { &["--job", "job.toml"] };
        succeed(
            command("pogo-block").current_dir(folder).args(["model.inp", "--quiet", "--block-nodes", "24"]).args(job),
        );
        self.solve(folder, words)
    }

    fn solve(&self, folder: &Path, words: &[&str]) -> (Traces, f64) {
        succeed(command("pogo-solve").current_dir(folder).args(["model.blk", "--quiet", "-o", "out"]).args(words));
        let energy = Traces::read(&folder.join("out/energy.csv"));
        let largest = |name: &str| energy.column(name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let size = ["kinetic", "strain", "external", "damped"].map(largest).into_iter().fold(0.0, f64::max);
        (Traces::read(&folder.join("out/traces.csv")), largest("balance") / size)
    }
}

fn bodies() -> [(&'static str, Body); 10] {
    let body = |kinds, n, job| Body { kinds, n, is_tied: false, damping: "", job, dt: 4e-8 };
    let (plane, space) = (["CPE4", "AC2D4"], ["C3D8R", "AC3D8R"]);
    let damped = "*Damping, alpha=2e4, beta=2e-8\n";
    [
        ("impedance", body(plane, [0, 8, 8, 0], IMPEDANCE)),
        ("impedance in space", body(space, [0, 5, 6, 3], IMPEDANCE)),
        ("BETA", Body { damping: damped, ..body(["CPE4R", ""], [0, 8, 8, 0], "") }),
        ("BETA and impedance in space", Body { damping: damped, ..body(space, [0, 5, 6, 3], IMPEDANCE) }),
        ("relaxation", body(plane, [0, 8, 8, 0], RELAXATION)),
        ("fluid", body(plane, [6, 6, 8, 0], "")),
        ("fluid and impedance in space", body(["C3D8", "AC3D8"], [4, 4, 6, 3], IMPEDANCE)),
        ("tied fluid", Body { is_tied: true, ..body(plane, [6, 6, 8, 0], "") }),
        ("tied fluid and impedance", Body { is_tied: true, ..body(plane, [6, 6, 8, 0], IMPEDANCE) }),
        ("tied fluid in space", Body { is_tied: true, ..body(space, [4, 4, 6, 3], IMPEDANCE) }),
    ]
}

#[test]
fn what_equations_keep_symmetric_moves_as_under_symmetric_loads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, body) in bodies() {
        let words = ["--precision", "f64", "--threads", "1"];
        let (expected, _) = body.run(folder, false, &words);
        let (found, balance) = body.run(folder, true, &words);
        let [.., ny, nz] = body.n;
        let columns = body.columns();
        let mut worst = 0.0_f64;
        for i in [0, body.first().saturating_sub(1), body.first(), body.first() + 2, columns - 1] {
            for node in [[i, 0, 0], [i, ny - 1, nz]] {
                let quantities: &[&str] = if i >= body.first() { &["U1", "U2"] } else { &["POR"] };
                for quantity in quantities {
                    let column = format!("REC.{}.{quantity}", body.label(node));
                    worst = worst.max(relative_error(found.column(&column), expected.column(&column)));
                }
            }
        }
        eprintln!("{name}: {worst:e}, balance {balance:e}");
        assert!(worst < 1e-10 && balance < 1e-11, "{name}: {worst:e}, balance {balance:e}");
        // The same bits by parts, and single precision near double.
        let file = |name: &str| std::fs::read(folder.join("out").join(name)).unwrap();
        let whole = ["traces.csv", "energy.csv"].map(file);
        body.solve(folder, &["--precision", "f64", "--device", "cpu,cpu,cpu"]);
        assert!(whole == ["traces.csv", "energy.csv"].map(file), "{name}, parts");
        body.solve(folder, &["--precision", "f64", "--threads", "3"]);
        assert!(whole == ["traces.csv", "energy.csv"].map(file), "{name}, threads");
        let (single, balance) = body.solve(folder, &["--precision", "f32", "--threads", "1"]);
        let column = format!("REC.{}.U1", body.label([body.first() + 2, 0, 0]));
        let error = relative_error(single.column(&column), found.column(&column));
        assert!(error < 1e-4 && balance < 1e-4, "{name}, single: {error:e} {balance:e}");
    }
}

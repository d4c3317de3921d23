//! Fluids that `*TIE`, `*MPC` and `*EQUATION` join to each other, with meshes that match and that do not, also where they touch solids:
//! against shared nodes and exact solutions; the energy balance, parts of a model and restarts; what is refused.

use std::fmt::Write as _;

use pogo_tests::{Traces, command, relative_error, succeed};

use super::ties::{STRAIGHT, TIE, Tied, compare};
use super::{
    ALONE, STEEL, WATER, amplitude, block, imbalance, pulse, same_bits_in_all_ways, send_pulse, solve, sound, step,
};

/// Two plates, one above the other, each of water on the left and of steel on the right.
struct Plates {
    element: &'static str,
    /// Cells along both axes of each plate; the left half of them is water.
    n: [[usize; 2]; 2],
    /// They have the nodes between them in common.
    is_whole: bool,
}

/// Edges of a plate, m.
const EDGES: [f64; 2] = [0.02, 0.01];

impl Plates {
    fn label(&self, plate: usize, [i, j]: [usize; 2]) -> usize {
        if self.is_whole && plate == 1 && j == 0 {
            return self.label(0, [i, self.n[0][1]]);
        }
        let first = if plate == 1 { (self.n[0][0] + 1) * (self.n[0][1] + 1) } else { 0 };
        1 + first + i + (self.n[plate][0] + 1) * j
    }

    /// Nodes, elements, sections, and of both plates where they meet: node sets 0 and 1, and surfaces WATER0, WATER1, STEEL0 and STEEL1.
    fn deck(&self) -> String {
        let mut text = String::from("*Heading\n*Node\n");
        for (plate, [nx, ny]) in self.n.into_iter().enumerate() {
            for (i, j) in (0..=ny).flat_map(|j| (0..=nx).map(move |i| (i, j))) {
                let x = EDGES[0] * i as f64 / nx as f64;
                let y = EDGES[1] * (plate as f64 + j as f64 / ny as f64);
                if !(self.is_whole && plate == 1 && j == 0) {
                    writeln!(text, "{}, {x:e}, {y:e}", self.label(plate, [i, j])).unwrap();
                }
            }
        }
        let kinds = [self.element.to_owned(), self.element.replace("AC2D", "CPE")];
        let mut number = 0;
        let mut between = String::new();
        for (plate, [nx, ny]) in self.n.into_iter().enumerate() {
            for (matter, kind) in [("WATER", &kinds[0]), ("STEEL", &kinds[1])] {
                writeln!(text, "*Element, type={kind}, elset={matter}").unwrap();
                let columns = if matter == "WATER" { 0..nx / 2 } else { nx / 2..nx };
                writeln!(between, "*Elset, elset={matter}{plate}").unwrap();
                for (i, j) in (0..ny).flat_map(|j| columns.clone().map(move |i| (i, j))) {
                    number += 1;
                    let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[a, b]| self.label(plate, [i + a, j + b]));
                    writeln!(text, "{number}, {}", corners.map(|corner| corner.to_string()).join(", ")).unwrap();
                    if j == [ny - 1, 0][plate] {
                        writeln!(between, "{number},").unwrap();
                    }
                }
                let face = ["S3", "S1"][plate];
                write!(between, "*Surface, name={matter}{plate}\n{matter}{plate}, {face}\n").unwrap();
            }
            writeln!(between, "*Nset, nset=PLATE{plate}").unwrap();
            let at = |i| self.label(plate, [i, [ny, 0][plate]]);
            (0..=nx).for_each(|i| writeln!(between, "{},", at(i)).unwrap());
            for (matter, columns) in [("WATER", 0..=nx / 2), ("STEEL", nx / 2..=nx)] {
                writeln!(between, "*Nset, nset=OF{matter}{plate}").unwrap();
                columns.for_each(|i| writeln!(between, "{},", at(i)).unwrap());
            }
        }
        write!(
            text,
            "{between}*Solid Section, elset=WATER, material=WATER\n,\n*Material, name=WATER\n*Density\n{WATER},\n\
             *Acoustic Medium, bulk modulus\n{:e},\n*Solid Section, elset=STEEL, material=STEEL\n,\n\
             *Material, name=STEEL\n*Density\n{},\n*Elastic\n{:e}, {}\n",
            super::BULK,
            STEEL.2,
            STEEL.0,
            STEEL.1
        )
        .unwrap();
        text
    }
}

/// Ties of water to water, and of steel to steel.
const TIES: &str = "*Tie, name=WET, position tolerance=1e-5\nWATER0, WATER1\n*Tie, name=DRY, position tolerance=1e-5\nSTEEL0, STEEL1\n";

/// Where the nodes of both sides coincide, all ways of joining give what shared nodes give, to rounding: pressures, displacements, and
/// both where water and steel touch.
#[test]
fn joined_nodes_give_what_shared_nodes_give() {
    let dt = 5e-8;
    let tail = |[source, corner, wet, dry]: [usize; 4]| {
        let load = format!("*Cload, amplitude=P\n{source}, 8, 1e-3\n");
        let records = format!("*Nset, nset=REC\n{source}, {corner}, {wet}, {dry}\n");
        records + &amplitude(|t| pulse(t, 40.0 * dt), dt, 40) + &step(dt, 300.0 * dt, &load, "POR, U, V")
    };
    for element in ["AC2D4", "AC2D4R"] {
        let whole = Plates { element, n: [[20, 10]; 2], is_whole: true };
        let parts = Plates { is_whole: false, ..whole };
        let labels = |plates: &Plates| {
            [(0, [5, 4]), (0, [10, 10]), (1, [8, 2]), (1, [13, 5])].map(|(plate, node)| plates.label(plate, node))
        };
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        block(folder, &(whole.deck() + &tail(labels(&whole))));
        let expected = solve(folder, "whole", &ALONE);
        let pair_by_pair = "*Mpc\nTIE, PLATE0, PLATE1\n".to_owned();
        let equation = |nodes: &str, dof: usize| format!("*Equation\n2\n{nodes}0, {dof}, 1., {nodes}1, {dof}, -1.\n");
        let equations =
            [("OFWATER", 8), ("OFSTEEL", 1), ("OFSTEEL", 2)].map(|(nodes, dof)| equation(nodes, dof)).concat();
        for (out, joint) in [("ties", TIES.to_owned()), ("pairs", pair_by_pair), ("equations", equations)] {
            block(folder, &(parts.deck() + &joint + &tail(labels(&parts))));
            let found = solve(folder, out, &ALONE);
            assert!(imbalance(&found[1]) < 1e-11, "{element}, {out}: {}", imbalance(&found[1]));
            compare(element, &found[0], &expected[0]);
        }
    }
}

/// Density and sound speed of the second fluid.
const OIL: [f64; 2] = [800.0, 1200.0];

/// Errors of the pressure on both sides where a plane wave passes from water into oil, with so many cells across.
fn transmission(element: &'static str, across: [usize; 2], fine: usize) -> [f64; 2] {
    let (c, z) = ([sound(), OIL[1]], [WATER * sound(), OIL[0] * OIL[1]]);
    let is_space = &element[2..4] == "3D";
    let n = across.map(|n| [120 * fine, n, if is_space { n } else { 0 }]);
    let tied = Tied { element, solid: STEEL, n, length: [0.12; 2], width: 3e-3, shape: STRAIGHT };
    let (width, dt) = (0.05 / c[0], 0.3e-3 / fine as f64 / c[0]);
    let [wet, oily] = [tied.label(0, [60 * fine, 0, 0]), tied.label(1, [20 * fine, 0, 0])];
    let solid = format!("type={}, elset=SOLID", tied.kind_of_solid());
    let (steel, density) = (format!("*Density\n{},\n*Elastic\n{:e}, {}\n", STEEL.2, STEEL.0, STEEL.1), OIL[0]);
    let oil = format!("*Density\n{density},\n*Acoustic Medium, bulk modulus\n{:e},\n", density * OIL[1].powi(2));
    let mut deck = tied.deck();
    assert!(deck.contains(&solid) && deck.contains(&steel));
    deck = deck.replace(&solid, &format!("type={element}, elset=SOLID")).replace(&steel, &oil) + TIE;
    write!(deck, "*Nset, nset=REC\n{wet}, {oily}\n").unwrap();
    let [traces, _] = send_pulse(deck, 1e5, [width, dt, 0.2 / c[0]], "POR");
    let (reflection, transmitted) = ((z[1] - z[0]) / (z[1] + z[0]), 2.0 * z[1] / (z[1] + z[0]));
    let p = |t: f64| 1e5 * (pulse(t - 0.06 / c[0], width) + reflection * pulse(t - 0.18 / c[0], width));
    let q = |t: f64| 1e5 * transmitted * pulse(t - 0.12 / c[0] - 0.02 / c[1], width);
    let error = |node: usize, f: &dyn Fn(f64) -> f64| {
        let expected: Vec<f64> = traces.time().iter().map(|&t| f(t)).collect();
        relative_error(traces.column(&format!("REC.{node}.POR")), &expected)
    };
    [error(wet, &p), error(oily, &q)]
}

/// R = (Z₂ − Z₁) / (Z₂ + Z₁) and T = 2 Z₂ / (Z₁ + Z₂) of the pressure, with an error that falls to a quarter with half the element
/// size, whichever mesh is finer.
#[test]
fn plane_waves_pass_ties_of_two_fluids() {
    for (element, across) in [("AC2D4R", [3, 2]), ("AC3D8", [3, 2]), ("AC3D8R", [2, 3])] {
        let errors = transmission(element, across, 1);
        eprintln!("{element}: {:.2e} and {:.2e}", errors[0], errors[1]);
        assert!(errors.iter().all(|error| *error < 0.03), "{element}: {errors:?}");
    }
    let [coarse, fine] = [1, 2].map(|fine| transmission("AC2D4", [2 * fine, 3 * fine], fine));
    eprintln!("refined: {coarse:?}, {fine:?}");
    assert!((0..2).all(|at| coarse[at] > 3.4 * fine[at]), "{coarse:?} {fine:?}");
}

/// Meshes that do not match, of water and steel that touch, with supports, loads, impedance boundaries and damping at and beside the ties:
/// the energies balance, and the bits are the same in all ways.
#[test]
fn joined_fluids_have_the_same_bits_in_parts_and_after_a_restart() {
    let plates = Plates { element: "AC2D4", n: [[40, 20], [30, 15]], is_whole: false };
    let [wet, dry] = [plates.label(0, [10, 15]), plates.label(1, [22, 4])];
    let [corner, joint] = [plates.label(0, [20, 20]), plates.label(0, [7, 20])];
    let held = plates.label(1, [0, 0]);
    for job in [
        "[[absorbing]]\nside = \"xmin\"\nprofile = \"impedance\"\n",
        "[relaxation]\nband = [1e5, 1e6]\nreference_frequency = 3e5\n\
         [[material]]\nname = \"LOSSY\"\ndensity = 1200\nyoung = 3e9\npoisson = 0.37\nalpha = 2e4\nbeta = 1e-8\nquality_factor = 15\n\
         [[section]]\nelset = \"STEEL\"\nmaterial = \"LOSSY\"\n[[absorbing]]\nside = \"xmin\"\nprofile = \"impedance\"\n",
    ] {
        let mut deck = plates.deck() + TIES;
        if job.contains("LOSSY") {
            deck = deck.replace("*Solid Section, elset=STEEL, material=STEEL\n,\n", "");
        }
        deck = deck.replace("*Acoustic", "*Damping, alpha=2e4\n*Acoustic");
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}, {corner}, {joint}, {held}\n").unwrap();
        deck += &amplitude(|t| pulse(t, 8e-6), 1e-7, 80);
        let loads = format!(
            "*Cload, amplitude=P\n{wet}, 8, 1e-3\n{dry}, 1, 5.\n{joint}, 8, 1e-3\n\
             *Boundary, amplitude=P\n{held}, 8, 8, 2.\n{dry}, 2, 2, 1e-9\n"
        );
        deck += &step(6.4e-8, 400.0 * 6.4e-8, &loads, "POR, U, V, RF");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        std::fs::write(folder.join("job.toml"), job).unwrap();
        let words = ["model.inp", "--job", "job.toml", "--block-nodes", "128"];
        let output = succeed(command("pogo-block").current_dir(folder).args(words));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("*TIE `WET`: a fluid is tied to a fluid"), "{said}");
        let [whole, energy] = solve(folder, "whole", &ALONE);
        assert!(imbalance(&energy) < 1e-11, "{job}: {}", imbalance(&energy));
        for name in [format!("REC.{corner}.POR"), format!("REC.{corner}.U2"), format!("REC.{joint}.POR")] {
            assert!(whole.column(&name).iter().any(|value| *value != 0.0), "{name}");
        }
        same_bits_in_all_ways(folder, job, &whole, &format!("REC.{wet}.POR"));
    }
}

/// What is not computed says so where it stands.
#[test]
fn mistakes_with_joined_fluids_are_told() {
    let plates = Plates { element: "AC2D4", n: [[4, 4]; 2], is_whole: false };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let [wet, dry] = [plates.label(0, [0, 0]), plates.label(0, [4, 0])];
    for (joint, expected) in [
        (
            format!("*Equation\n2\n{wet}, 8, 1., {dry}, 1, -1.\n"),
            "an equation of pressures (8) and displacements".to_owned(),
        ),
        (format!("*Equation\n2\n{wet}, 8, 1., {dry}, 8, -1.\n"), format!("names the pressure (8) of node {dry}")),
        (format!("*Equation\n1\n{wet}, 7, 1.\n"), "`7` is no degree of freedom of an equation".to_owned()),
        (format!("*Mpc\nTIE, {wet}, {dry}\n"), format!("*MPC, TIE names a displacement of node {wet} of a fluid")),
        (
            "*Tie, name=T, position tolerance=1.\nSTEEL0, WATER1\n*Equation\n2\n2, 1, 1., 7, 1, -1.\n".to_owned(),
            "names a displacement of node 2".to_owned(),
        ),
    ] {
        let end = format!("*Nset, nset=REC\n{wet},\n{}", step(1e-8, 1e-7, &format!("*Boundary\n{wet}, 8, 8\n"), "POR"));
        std::fs::write(folder.join("model.inp"), plates.deck() + &joint + &end).unwrap();
        let output = command("pogo-block").current_dir(folder).args(["model.inp"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(&expected) && said.contains("model.inp:"),
            "{expected}: {said}"
        );
    }
}

/// Traces that `*EQUATION` joins are multiples of each other.
#[test]
fn pressures_obey_their_equation() {
    let plates = Plates { element: "AC2D4", n: [[20, 10]; 2], is_whole: true };
    let [a, b, c] = [[3, 3], [7, 5], [5, 8]].map(|node| plates.label(0, node));
    let mut deck = plates.deck();
    write!(deck, "*Equation\n3\n{a}, 8, 2., {b}, 8, -1., {c}, 8, 0.5\n*Nset, nset=REC\n{a}, {b}, {c}\n").unwrap();
    let dt = 5e-8;
    deck += &amplitude(|t| pulse(t, 40.0 * dt), dt, 40);
    deck += &step(dt, 300.0 * dt, &format!("*Cload, amplitude=P\n{}, 8, 1e-3\n", plates.label(0, [4, 6])), "POR");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, energy]: [Traces; 2] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    let [a, b, c] = [a, b, c].map(|node| traces.column(&format!("REC.{node}.POR")));
    let largest = b.iter().fold(0.0_f64, |most, p| most.max(p.abs()));
    for k in 0..a.len() {
        let rest = 2.0 * a[k] - b[k] + 0.5 * c[k];
        assert!(rest.abs() < 1e-11 * largest, "{rest:e} of {largest:e}");
    }
    assert!(largest > 0.0);
}

//! Fluids and solids that `*TIE` joins, with meshes that match and that do not: against shared nodes and exact solutions; the
//! energy balance, parts of a model and restarts; what is refused.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;

use pogo_tests::{Traces, command, relative_error, succeed};

use super::{
    ALONE, BULK, STEEL, Solid, Tank, WATER, amplitude, block, exact, imbalance, pulse, same_bits_in_all_ways,
    send_pulse, solve, sound, step,
};

/// A box of water and one of a solid beside it along the first axis, each with its own nodes and cells. Labels run from 1 in the
/// water, node (i, j, k) with i running fastest, and go on in the solid.
pub(super) struct Tied {
    pub element: &'static str,
    pub solid: Solid,
    /// Cells of the water, and of the solid.
    pub n: [[usize; 3]; 2],
    /// Edges of the water and of the solid along the first axis, and along the others.
    pub length: [f64; 2],
    pub width: f64,
    /// Where a point of the boxes goes.
    pub shape: fn([f64; 3]) -> [f64; 3],
}

/// Boxes as they are.
pub(super) const STRAIGHT: fn([f64; 3]) -> [f64; 3] = |x| x;

impl Tied {
    pub fn label(&self, part: usize, [i, j, k]: [usize; 3]) -> usize {
        let n = |part: usize| self.n[part].map(|n| n + 1);
        let [nx, ny, _] = n(part);
        1 + i + nx * (j + ny * k) + if part == 1 { n(0).iter().product() } else { 0 }
    }

    fn nodes(&self, part: usize) -> impl Iterator<Item = [usize; 3]> + use<> {
        let [nx, ny, nz] = self.n[part];
        (0..=nz).flat_map(move |k| (0..=ny).flat_map(move |j| (0..=nx).map(move |i| [i, j, k])))
    }

    fn position(&self, part: usize, node: [usize; 3]) -> [f64; 3] {
        let n = self.n[part];
        let at = |axis: usize, length: f64| length * node[axis] as f64 / n[axis].max(1) as f64;
        let start = if part == 1 { self.length[0] } else { 0.0 };
        (self.shape)([start + at(0, self.length[part]), at(1, self.width), at(2, self.width)])
    }

    pub fn kind_of_solid(&self) -> String {
        self.tank().kind_of_solid()
    }

    /// What says which elements there are.
    fn tank(&self) -> Tank {
        Tank { solid: STEEL, n: [0; 3], h: 0.0, n_fluid: 0, element: self.element }
    }

    /// Nodes, elements, sections, node sets WET and DRY of the common plane, START and END, and surfaces of the same names: WETS of
    /// faces where the kind of element allows it, and of nodes elsewhere.
    pub fn deck(&self) -> String {
        let mut text = String::from("*Heading\n*Node\n");
        let is_plane = self.n[0][2] == 0;
        for part in [0, 1] {
            for node in self.nodes(part) {
                let [x, y, z] = self.position(part, node);
                let z = if is_plane { String::new() } else { format!(", {z:e}") };
                writeln!(text, "{}, {x:e}, {y:e}{z}", self.label(part, node)).unwrap();
            }
        }
        let tank = self.tank();
        let kinds = [self.element.to_owned(), tank.kind_of_solid()];
        let mut number = 0;
        let mut at_tie = [Vec::new(), Vec::new()];
        for part in [0, 1] {
            let [nx, ny, nz] = self.n[part];
            writeln!(text, "*Element, type={}, elset={}", kinds[part], ["FLUID", "SOLID"][part]).unwrap();
            for (k, j) in (0..nz.max(1)).flat_map(|k| (0..ny).map(move |j| (k, j))) {
                for i in 0..nx {
                    let square = [[0, 0], [1, 0], [1, 1], [0, 1]];
                    let corner = |c: usize| self.label(part, [i + square[c % 4][0], j + square[c % 4][1], k + c / 4]);
                    for cell in tank.cells() {
                        number += 1;
                        let nodes: Vec<String> = cell.iter().map(|&c| corner(c).to_string()).collect();
                        writeln!(text, "{number}, {}", nodes.join(", ")).unwrap();
                        if i == [nx - 1, 0][part] {
                            at_tie[part].push(number);
                        }
                    }
                }
            }
        }
        let Solid(young, poisson, density) = self.solid;
        write!(
            text,
            "*Solid Section, elset=FLUID, material=WATER\n,\n*Material, name=WATER\n*Density\n{WATER},\n\
             *Acoustic Medium, bulk modulus\n{BULK:e},\n*Solid Section, elset=SOLID, material=STEEL\n,\n\
             *Material, name=STEEL\n*Density\n{density},\n*Elastic\n{young:e}, {poisson}\n"
        )
        .unwrap();
        let last = [self.n[0][0], 0];
        for (name, part, i) in [("START", 0, 0), ("WET", 0, last[0]), ("DRY", 1, last[1]), ("END", 1, self.n[1][0])] {
            writeln!(text, "*Nset, nset={name}").unwrap();
            let nodes = self.nodes(part).filter(|node| node[0] == i);
            nodes.for_each(|node| writeln!(text, "{},", self.label(part, node)).unwrap());
        }
        let [n_fluid, n_all] = [0, 1].map(|part| self.label(part, self.n[part]));
        writeln!(text, "*Nset, nset=DRYALL, generate\n{}, {n_all}, 1", n_fluid + 1).unwrap();
        for (part, name) in [(0, "WET"), (1, "DRY")] {
            let face = match (self.element, part) {
                ("AC2D4" | "AC2D4R", part) => ["S2", "S4"][part],
                ("AC3D8" | "AC3D8R", part) => ["S4", "S6"][part],
                _ => {
                    write!(text, "*Surface, name={name}S, type=NODE\n{name},\n").unwrap();
                    continue;
                }
            };
            writeln!(text, "*Elset, elset={name}E").unwrap();
            at_tie[part].iter().for_each(|label| writeln!(text, "{label},").unwrap());
            write!(text, "*Surface, name={name}S\n{name}E, {face}\n").unwrap();
        }
        text
    }
}

pub(super) const TIE: &str = "*Tie, name=JOINT, position tolerance=1e-5\nDRYS, WETS\n";
const BACKWARDS: &str = "*Tie, name=JOINT, position tolerance=1e-5, type=surface to surface\nWETS, DRYS\n";

fn summary(folder: &Path, out: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(out).join("summary.json")).unwrap()).unwrap()
}

/// Where the nodes of both sides coincide, a tie gives what shared nodes give, to rounding.
#[test]
fn a_tie_of_meshes_that_match_gives_what_shared_nodes_give() {
    for (element, across) in
        [("AC2D3", [6, 0]), ("AC2D4", [6, 0]), ("AC3D4", [3, 4]), ("AC3D6", [3, 4]), ("AC3D8", [3, 4])]
    {
        let (h, [ny, nz]) = (1e-3, across);
        let tank = Tank { solid: STEEL, n: [16, ny, nz], h, n_fluid: 8, element };
        // Cells of the tied boxes have the same edge only where both widths are the same.
        let tank = if nz > 0 { Tank { n: [16, ny, ny], ..tank } } else { tank };
        let half = [8, tank.n[1], tank.n[2]];
        let length = 8.0 * h;
        let tied =
            Tied { element, solid: STEEL, n: [half; 2], length: [length; 2], width: ny as f64 * h, shape: STRAIGHT };
        let middle = tank.n[2] / 2;
        let dt = 5e-8;
        let tail = |[source, wet, dry, joint]: [usize; 4]| {
            let records = format!("*Nset, nset=REC\n{wet}, {dry}, {joint}\n*Boundary\nEND, 1, 1\n");
            let loads =
                format!("*Cload, amplitude=P\n{source}, 8, 1e-3\n*Boundary, amplitude=P\n{joint}, 2, 2, 1e-9\n");
            records + &amplitude(|t| pulse(t, 40.0 * dt), dt, 40) + &step(dt, 300.0 * dt, &loads, "POR, U, V, RF")
        };
        let at = [[2, 1, middle], [7, 2, middle], [12, 2, middle], [8, 2, middle]];
        let shared = tank.deck() + &tail(at.map(|node| tank.label(node)));
        let of_solid = |[i, j, k]: [usize; 3]| tied.label(1, [i - 8, j, k]);
        let labels = [tied.label(0, at[0]), tied.label(0, at[1]), of_solid(at[2]), of_solid(at[3])];
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        block(folder, &shared);
        let expected = solve(folder, "shared", &ALONE);
        for (out, tie) in [("tied", TIE), ("backwards", BACKWARDS)] {
            block(folder, &(tied.deck() + tie + &tail(labels)));
            let found = solve(folder, out, &ALONE);
            assert!(imbalance(&found[1]) < 1e-11, "{element}: {}", imbalance(&found[1]));
            let limits = ["shared", out].map(|out| summary(folder, out)["stable_increment"].as_f64().unwrap());
            assert!((limits[1] / limits[0] - 1.0).abs() < 1e-12, "{element}: {limits:?}");
            compare(element, &found[0], &expected[0]);
        }
    }
}

/// Traces of the same quantities at nodes in the same order, whose labels differ: all but those of the fluid's node at the joint.
pub(super) fn compare(element: &str, found: &Traces, expected: &Traces) {
    let quantity = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let mut n_compared = 0;
    for (name, column) in expected.names.iter().zip(&expected.columns).skip(1) {
        let of_same = |traces: &Traces| -> Vec<usize> {
            (1..traces.names.len()).filter(|&at| quantity(&traces.names[at]) == quantity(name)).collect()
        };
        let rank = of_same(expected).iter().position(|&at| expected.names[at] == *name).unwrap();
        let Some(&at) = of_same(found).get(rank) else { continue };
        let size = column.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let error = column.iter().zip(&found.columns[at]).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(error <= 1e-10 * size, "{element}: {name} and {}: {error} of {size}", found.names[at]);
        n_compared += usize::from(size > 0.0);
    }
    assert!(n_compared > 8, "{element}: {n_compared}");
}

/// Errors of the pressure and of the velocity where a plane wave passes a tie at normal incidence.
fn transmission(element: &'static str, across: [usize; 2], fine: usize, tie: &str) -> [f64; 2] {
    let c = [sound(), STEEL.speeds()[0]];
    let z = [WATER * c[0], STEEL.2 * c[1]];
    let h = 1e-3 / fine as f64;
    let is_space = &element[2..4] == "3D";
    let n = across.map(|n| [120 * fine, n, if is_space { n } else { 0 }]);
    // The solid is coarser along the wave, too, as its waves are longer.
    let n = [n[0], [60 * fine, n[1][1], n[1][2]]];
    let tied = Tied { element, solid: STEEL, n, length: [120.0 * 1e-3; 2], width: 3e-3, shape: STRAIGHT };
    let (width, time) = (50.0 * 1e-3 / c[0], 205.0 * 1e-3 / c[0]);
    let [wet, dry] = [tied.label(0, [60 * fine, 0, 0]), tied.label(1, [10 * fine, 0, 0])];
    let dt = 0.15 * h / c[1];
    let mut deck = tied.deck() + tie;
    write!(deck, "*Nset, nset=REC\n{wet}, {dry}\n*Boundary\nDRYALL, 2, 3\n").unwrap();
    let [traces, _] = send_pulse(deck, 1e5, [width, dt, time], "POR, V1");
    let x = |i: f64| i * 1e-3 / c[0];
    let reflection = (z[1] - z[0]) / (z[1] + z[0]);
    let p = |t: f64| 1e5 * (pulse(t - x(60.0), width) + reflection * pulse(t - x(180.0), width));
    let transmitted = |t: f64| 2e5 / (z[0] + z[1]) * pulse(t - x(120.0) - 20.0 * 1e-3 / c[1], width);
    let rows = traces.time().partition_point(|&t| t < x(120.0) + 210.0 * 1e-3 / c[1]);
    let expected = |f: &dyn Fn(f64) -> f64| traces.time().iter().map(|&t| f(t)).collect::<Vec<_>>();
    [
        relative_error(traces.column(&format!("REC.{wet}.POR")), &expected(&p)),
        relative_error(&traces.column(&format!("REC.{dry}.V1"))[..rows], &expected(&transmitted)),
    ]
}

/// At normal incidence R = (Z₂ − Z₁) / (Z₂ + Z₁), and the steel moves by 2 p / (Z₁ + Z₂), whichever mesh is finer.
#[test]
fn plane_waves_pass_ties_of_meshes_that_do_not_match() {
    for (element, across, tie) in [
        ("AC2D4", [2, 3], TIE),
        ("AC2D4R", [3, 2], TIE),
        ("AC2D3", [2, 3], BACKWARDS),
        ("AC3D8", [2, 3], TIE),
        ("AC3D8R", [3, 2], BACKWARDS),
        ("AC3D4", [2, 3], TIE),
    ] {
        let errors = transmission(element, across, 1, tie);
        eprintln!("{element}: pressure {:.2e}, velocity {:.2e}", errors[0], errors[1]);
        assert!(errors.iter().all(|error| *error < 0.02), "{element}: {errors:?}");
    }
    let [coarse, fine] = [1, 2].map(|fine| transmission("AC2D4", [2 * fine, 3 * fine], fine, TIE));
    eprintln!("refined: {coarse:?}, {fine:?}");
    assert!((0..2).all(|at| coarse[at] > 3.4 * fine[at]), "{coarse:?} {fine:?}");
}

/// Error of the pressure of a burst that comes to steel at an angle, as that of shared nodes is found in `reflection_error`, with 3
/// cells of the steel beside 2 of the water.
fn oblique(degrees: f64, fine: usize) -> f64 {
    let (frequency, n_water, receiver) = (1e6, 30 * fine, 20 * fine);
    let k = 2.0 * PI * frequency * degrees.to_radians().sin() / sound();
    let half_wave = PI / k;
    let n = 2 * fine * (half_wave / 0.2e-3).round() as usize;
    let h = half_wave / n as f64;
    let n_steel = 200 * fine;
    let tied = Tied {
        element: "AC2D4",
        solid: STEEL,
        n: [[n_water, n, 0], [n_steel, 3 * n / 2, 0]],
        length: [n_water as f64 * h, n_steel as f64 * h],
        width: half_wave,
        shape: STRAIGHT,
    };
    let mut deck = tied.deck() + TIE;
    writeln!(deck, "*Nset, nset=WALLS").unwrap();
    for node in tied.nodes(1).filter(|node| node[1] == 0 || node[1] == 3 * n / 2) {
        writeln!(deck, "{},", tied.label(1, node)).unwrap();
    }
    deck += "*Boundary\nWALLS, 2, 2\n";
    let length = 2.0 / frequency;
    let burst = move |t: f64| match (0.0..length).contains(&t) {
        true => 0.5 * (1.0 - (2.0 * PI * t / length).cos()) * (2.0 * PI * frequency * t).sin(),
        false => 0.0,
    };
    let dt = 0.4 * h / 6100.0;
    let time = (2.0 * n_steel as f64 * h / 6100.0).min(6.5e-6);
    let rec = tied.label(0, [receiver, 0, 0]);
    write!(deck, "*Nset, nset=REC\n{rec},\n").unwrap();
    deck += &amplitude(burst, dt, (length / dt) as usize + 1);
    let mut held = String::from("*Boundary, amplitude=P\n");
    for j in 0..=n {
        writeln!(held, "{}, 8, 8, {:e}", tied.label(0, [0, j, 0]), (k * j as f64 * h).cos()).unwrap();
    }
    deck += &step(dt, (time / dt).floor() * dt, &held, "POR");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{degrees}°: {}", imbalance(&energy));
    let expected = exact(burst, (k, receiver as f64 * h, n_water as f64 * h), traces.time());
    relative_error(traces.column(&format!("REC.{rec}.POR")), &expected)
}

/// Between the critical angles of P and S: the error is that of the mesh, and falls to a quarter with half the element size.
#[test]
fn waves_at_an_angle_are_reflected_at_ties_as_theory_says() {
    let errors = [1, 2].map(|fine| oblique(20.0, fine));
    eprintln!("{errors:?}");
    assert!(errors[1] < 0.12 && errors[0] > 3.2 * errors[1], "{errors:?}");
}

/// Water and steel with all that acts on either, at and beside a tie: the same bits for every number of threads and parts, and after
/// a restart; single precision near double.
#[test]
fn tied_models_have_the_same_bits_in_parts_and_after_a_restart() {
    for (element, n) in [("AC2D4", [[30, 40, 0], [24, 60, 0]]), ("AC3D8", [[8, 12, 12], [8, 9, 9]])] {
        let tied = Tied { element, solid: STEEL, n, length: [0.03; 2], width: 0.04, shape: STRAIGHT };
        let [a, b] = n.map(|n| [n[0] / 2, n[1] / 3, n[2] / 2]);
        let (wet, dry) = (tied.label(0, a), tied.label(1, b));
        let (fluid, joint) = (tied.label(0, [n[0][0], a[1], a[2]]), tied.label(1, [0, b[1], b[2]]));
        let (held, far) = (tied.label(0, [n[0][0], 1, a[2]]), tied.label(1, [n[1][0], 2, b[2]]));
        let mut deck = tied.deck() + TIE;
        write!(deck, "*Nset, nset=REC\n{wet}, {dry}, {fluid}, {joint}, {far}, {held}\n*Boundary\nEND, 1, 1\n").unwrap();
        deck = deck.replace("*Elastic", "*Damping, alpha=2e4\n*Elastic");
        deck += &amplitude(|t| pulse(t, 8e-6), 1e-7, 80);
        let loads = format!(
            "*Cload, amplitude=P\n{wet}, 8, 1e-3\n{dry}, 1, 5.\n{joint}, 2, 3.\n{fluid}, 8, 1e-3\n\
             *Boundary, amplitude=P\n{joint}, 1, 1, 1e-9\n{held}, 8, 8, 2.\n"
        );
        deck += &step(8e-8, 320.0 * 8e-8, &loads, "POR, U, V, A, RF");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("model.inp"), deck).unwrap();
        std::fs::write(folder.join("job.toml"), "[[absorbing]]\nside = \"ymax\"\nprofile = \"impedance\"\n").unwrap();
        let arguments = ["model.inp", "--job", "job.toml", "--quiet", "--block-nodes", "128"];
        succeed(command("pogo-block").current_dir(folder).args(arguments));
        let [whole, energy] = solve(folder, "whole", &ALONE);
        assert!(imbalance(&energy) < 1e-11, "{element}: {}", imbalance(&energy));
        let largest = |name: String| whole.column(&name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for name in ["POR", "U1", "RF1", "A2"] {
            let node = if name == "POR" { fluid } else { joint };
            assert!(largest(format!("REC.{node}.{name}")) > 0.0, "{element}: {name}");
        }
        same_bits_in_all_ways(folder, element, &whole, &format!("REC.{wet}.POR"));
    }
}

/// Displacements of the steel's nodes at the tie, along the radius and across it, when a pressure has come out of a tube of water into
/// a pipe of steel. One half of both is computed, with so many elements of water and of steel round it.
fn pipe(around: [usize; 2]) -> Vec<[f64; 2]> {
    let shape: fn([f64; 3]) -> [f64; 3] = |[x, angle, z]| {
        let radius = 5e-3 + x;
        [radius * angle.cos(), radius * angle.sin(), z]
    };
    let n = [[10, around[0], 0], [8, around[1], 0]];
    let tied = Tied { element: "AC2D4", solid: STEEL, n, length: [5e-3, 3e-3], width: PI, shape };
    let mut deck = tied.deck() + BACKWARDS + "*Nset, nset=REC\nDRY,\n*Nset, nset=SYMMETRY\n";
    let ends = tied.nodes(1).filter(|node| node[1] == 0 || node[1] == around[1]);
    ends.for_each(|node| writeln!(deck, "{},", tied.label(1, node)).unwrap());
    deck += &amplitude(|t| pulse(t, 4e-6), 1e-7, 40);
    let held = "*Boundary, amplitude=P\nSTART, 8, 8, 1e5\n*Boundary\nSYMMETRY, 2, 2\n";
    deck += &step(2e-8, 6e-6, held, "U");
    let folder = tempfile::tempdir().unwrap();
    block(folder.path(), &deck);
    let [traces, energy] = solve(folder.path(), "out", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    let of_node = |j: usize| {
        let label = tied.label(1, [0, j, 0]);
        let [x, y] = ["U1", "U2"].map(|name| *traces.column(&format!("REC.{label}.{name}")).last().unwrap());
        let (sin, cos) = (PI * j as f64 / around[1] as f64).sin_cos();
        [x * cos + y * sin, y * cos - x * sin]
    };
    (0..=around[1]).map(of_node).collect()
}

/// A uniform pressure moves a curved surface uniformly along its normals, though the meshes do not match.
#[test]
fn a_pressure_widens_a_pipe_evenly() {
    let mean = |moved: &[[f64; 2]]| moved.iter().map(|u| u[0]).sum::<f64>() / moved.len() as f64;
    let expected = mean(&pipe([57, 57]));
    for around in [[40, 57], [57, 40]] {
        let moved = pipe(around);
        let uneven = moved.iter().map(|u| (u[0] / expected - 1.0).abs().max((u[1] / expected).abs()));
        let uneven = uneven.fold(0.0, f64::max);
        eprintln!("{around:?}: {uneven:.1e} of {expected:e} m");
        assert!(uneven < 2e-3, "{around:?}: {uneven}");
    }
}

/// Water that shares its nodes with a floor of steel and is tied to a wall of steel, so that a node of the water has both: the balance
/// holds, and parts give the same bits.
#[test]
fn a_fluid_may_share_nodes_with_one_solid_and_be_tied_to_another() {
    let n = [[20, 12, 0], [20, 18, 0]];
    let tied = Tied { element: "AC2D4", solid: STEEL, n, length: [20e-3; 2], width: 12e-3, shape: STRAIGHT };
    let mut deck = tied.deck() + TIE;
    // A row of cells below the water.
    let first = tied.label(1, n[1]) + 1;
    writeln!(deck, "*Node").unwrap();
    (0..=20).for_each(|i| writeln!(deck, "{}, {:e}, -1e-3", first + i, i as f64 * 1e-3).unwrap());
    writeln!(deck, "*Element, type=CPE4, elset=FLOOR").unwrap();
    for i in 0..20 {
        let [a, b] = [i, i + 1].map(|i| tied.label(0, [i, 0, 0]));
        writeln!(deck, "{}, {}, {}, {b}, {a}", 10_000 + i, first + i, first + i + 1).unwrap();
    }
    let (corner, wall) = (tied.label(0, [20, 0, 0]), tied.label(1, [0, 0, 0]));
    write!(deck, "*Solid Section, elset=FLOOR, material=STEEL\n,\n*Nset, nset=REC\n{corner}, {wall}\n").unwrap();
    deck += &amplitude(|t| pulse(t, 4e-6), 1e-7, 40);
    let source = tied.label(0, [10, 6, 0]);
    deck += &step(8e-8, 300.0 * 8e-8, &format!("*Cload, amplitude=P\n{source}, 8, 1e-3\n"), "POR, U");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    let output = succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--block-nodes", "128"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("fluids touch solids at 20 faces") && said.contains("a fluid is tied to a solid"), "{said}");
    let [traces, energy] = solve(folder, "whole", &ALONE);
    assert!(imbalance(&energy) < 1e-11, "{}", imbalance(&energy));
    for name in [format!("REC.{corner}.POR"), format!("REC.{corner}.U2"), format!("REC.{wall}.U1")] {
        assert!(traces.column(&name).iter().any(|value| *value != 0.0), "{name}");
    }
    let bytes =
        |out: &str| ["traces.csv", "energy.csv"].map(|file| std::fs::read(folder.join(out).join(file)).unwrap());
    let _ = solve(folder, "parts", &["--device", "cpu,cpu", "--precision", "f64"]);
    assert!(bytes("whole") == bytes("parts"));
}

/// At 0.9999 of the stable increment nothing grows, whichever side is finer, heavier and stiffer.
#[test]
fn the_increment_is_stable_at_ties() {
    let foam = || Solid(1e6, 0.2, 30.0);
    for (solid, across) in [(foam(), [4, 6]), (foam(), [9, 4]), (STEEL, [4, 6]), (STEEL, [9, 4])] {
        let n = across.map(|n| [8, n, 0]);
        let tied = Tied { element: "AC2D4", solid, n, length: [8e-3; 2], width: 9e-3, shape: STRAIGHT };
        let [wet, dry] = [tied.label(0, [2, 2, 0]), tied.label(1, [4, 2, 0])];
        let mesh = tied.deck() + TIE + &format!("*Nset, nset=REC\n{wet},\n");
        let loads = format!("*Cload, amplitude=P\n{wet}, 8, 1.\n{dry}, 1, 1.\n");
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let run = |dt: f64, n_steps: usize| {
            let pulse = amplitude(|t| pulse(t, 40.0 * dt), dt, 40);
            block(folder, &(mesh.clone() + &pulse + &step(dt, n_steps as f64 * dt, &loads, "POR")));
            let [_, energy] = solve(folder, "out", &ALONE);
            (energy, summary(folder, "out")["stable_increment"].as_f64().unwrap())
        };
        let limit = run(1e-12, 5).1;
        let (energy, _) = run(0.9999 * limit, 5000);
        let largest = |name: &str| energy.column(name).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let put_in = largest("external");
        assert!(largest("kinetic") < 1.1 * put_in && largest("strain") < 1.1 * put_in, "{across:?}");
        assert!(imbalance(&energy) < 1e-11, "{across:?}: {}", imbalance(&energy));
    }
}

/// What is not computed says so where it stands, and what is tied is told.
#[test]
fn mistakes_with_ties_of_fluids_are_told() {
    let tied = Tied {
        element: "AC2D4",
        solid: STEEL,
        n: [[4, 4, 0], [4, 6, 0]],
        length: [4e-3; 2],
        width: 4e-3,
        shape: STRAIGHT,
    };
    let end = |loads: &str| format!("*Nset, nset=REC\n3,\n{}", step(1e-8, 1e-7, loads, "POR"));
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let told = |tie: &str| {
        std::fs::write(folder.join("model.inp"), tied.deck() + tie + &end("*Boundary\nSTART, 8, 8\n")).unwrap();
        let output = command("pogo-block").current_dir(folder).args(["model.inp"]).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let more = "*Surface, name=TOP\nFLUID, S1\n*Surface, name=STEELTOP\nSOLID, S1\n*Surface, name=BOTH\nWETE, S2\nDRYE, S4\n\
                *Surface, name=LOOSE, type=NODE\nSTART\n";
    for (tie, expected) in [
        ("*Tie, name=T, position tolerance=1.\nTOP, BOTH\n", "faces of a fluid and of a solid"),
        ("*Equation\n2\n3, 1, 1., 4, 1, -1.\n", "*EQUATION names a displacement of node 3 of a fluid"),
        ("*Tie, name=T, position tolerance=1e-9\nSTEELTOP, TOP\n", "larger POSITION TOLERANCE="),
        ("*Tie, name=T\nDRYS, WETS\n*Tie, name=U\nDRYS, WETS\n", "*TIE `U`: a face of the fluid is tied twice"),
    ] {
        let (success, said) = told(&(more.to_owned() + tie));
        assert!(!success && said.contains(expected) && said.contains("model.inp:"), "{expected}: {said}");
    }
    let (success, said) = told(&(more.to_owned() + TIE));
    assert!(
        success && said.contains("a fluid is tied to a solid: 4 faces to 7 nodes, 100.0 % of the fluid's surface"),
        "{said}"
    );
}

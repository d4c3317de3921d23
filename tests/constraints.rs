//! Linear constraints: ties, equations, own axes, rigid bodies and couplings, against exact solutions, what must be conserved, and
//! dense Lagrange multipliers.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{Grid, Traces, command, isotropic, python, relative_error, run, step, succeed, workspace};

#[test]
fn all_constraints_agree_with_dense_multipliers() {
    let Some(python) = python(&["numpy", "scipy"]) else { return };
    let solve = command("pogo-solve");
    let commands = Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().unwrap();
    let script = workspace().join("tests/python/constraints.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

/// Two strips of CPE4 side by side along x, the first of `n[0]` × `n[1]` cells and the second of `n[0]` × `n[2]`, both 1 wide;
/// with the position and the mass of each node at density 1.
struct Strips {
    deck: String,
    nodes: Vec<([f64; 2], f64)>,
}

fn strips(n: [usize; 3], length: f64) -> Strips {
    let mut strips = Strips { deck: String::from("*Heading\n*Node\n"), nodes: Vec::new() };
    let mut elements = Vec::new();
    let mut faces = [Vec::new(), Vec::new()];
    for (part, across) in [n[1], n[2]].into_iter().enumerate() {
        let first = strips.nodes.len();
        let (h, w) = (length / n[0] as f64, 1.0 / across as f64);
        for j in 0..=across {
            for i in 0..=n[0] {
                let share = |at: usize, n: usize| if at == 0 || at == n { 0.5 } else { 1.0 };
                let x = [part as f64 * length + i as f64 * h, j as f64 * w];
                strips.nodes.push((x, share(i, n[0]) * share(j, across) * h * w));
            }
        }
        for j in 0..across {
            for i in 0..n[0] {
                let a = first + 1 + i + (n[0] + 1) * j;
                let b = a + n[0] + 1;
                elements.push(format!("{}, {a}, {}, {}, {b}", elements.len() + 1, a + 1, b + 1));
                if i == [n[0] - 1, 0][part] {
                    faces[part].push(elements.len());
                }
            }
        }
    }
    for (label, ([x, y], _)) in (1..).zip(&strips.nodes) {
        writeln!(strips.deck, "{label}, {x:e}, {y:e}").unwrap();
    }
    let list = |labels: &[usize]| labels.iter().map(|label| format!("{label},\n")).collect::<String>();
    write!(
        strips.deck,
        "*Element, type=CPE4, elset=ALL\n{}\n*Elset, elset=FIRST\n{}*Elset, elset=SECOND\n{}*Surface, name=MASTER\nFIRST, S2\n\
         *Surface, name=SLAVE\nSECOND, S4\n*Nset, nset=EVERY, generate\n1, {}, 1\n",
        elements.join("\n"),
        list(&faces[0]),
        list(&faces[1]),
        strips.nodes.len()
    )
    .unwrap();
    strips
}

const TIE: &str = "*Tie, name=JOINT\nSLAVE, MASTER\n";

/// Velocities of nodes along both axes at the start.
fn velocities(strips: &Strips, v: impl Fn(usize, [f64; 2]) -> [f64; 2]) -> String {
    let mut text = String::from("*Initial Conditions, type=VELOCITY\n");
    for (at, (x, _)) in strips.nodes.iter().enumerate() {
        for (component, value) in (1..).zip(v(at, *x)) {
            writeln!(text, "{}, {component}, {value:e}", at + 1).unwrap();
        }
    }
    text
}

fn trace<'a>(traces: &'a Traces, label: usize, quantity: &str) -> &'a [f64] {
    traces.column(&format!("EVERY.{label}.{quantity}"))
}

fn every(step: String) -> String {
    step.replace("nset=REC", "nset=EVERY")
}

/// The last row of `energy.csv` by its headings.
fn last_energy(folder: &Path, name: &str) -> f64 {
    *Traces::read(&folder.join("out/energy.csv")).column(name).last().unwrap()
}

/// How far the motion of a tied bar, of `n` cells along each half and `across` in width, is from that of a bar without a joint.
/// With ν = 0 a wave that is even across the strip is one of a bar.
fn apart(n: usize, across: [usize; 2]) -> f64 {
    let length = 5.0;
    let tied = strips([n, across[0], across[1]], length);
    let grid = Grid { n: [2 * n, 1, 0], h: [length / n as f64, 1.0, 0.0], element: "CPE4" };
    let pulse = |x: f64| if x < 2.0 { (0.5 * PI * x).sin().powi(2) } else { 0.0 };
    let end = isotropic(1.0, 0.0, 1.0) + "*Boundary\nEVERY, 2, 2\n";
    let step = every(step(0.3 * length / n as f64, 12.0, "U1"));
    let folder = tempfile::tempdir().unwrap();
    let deck = tied.deck.clone() + &end + TIE + &velocities(&tied, |_, x| [pulse(x[0]), 0.0]);
    let found = run(folder.path(), &(deck + &step), &["--precision", "f64"]);
    assert!(last_energy(folder.path(), "balance").abs() < 1e-13);
    let mut whole = grid.deck() + &end + &format!("*Nset, nset=EVERY, generate\n1, {}, 1\n", 2 * (2 * n + 1));
    whole += &pogo_tests::initial_velocity(&grid, |x| [pulse(x[0]), 0.0, 0.0]);
    let expected = run(folder.path(), &(whole + &step), &["--precision", "f64"]);
    let error = |i: usize| {
        let x = i as f64 * length / n as f64;
        let label = 1 + tied.nodes.iter().rposition(|(at, _)| (at[0] - x).abs() < 1e-9).unwrap();
        relative_error(trace(&found, label, "U1"), trace(&expected, grid.label(i, 0, 0), "U1"))
    };
    [0, n / 2, n, n + n / 2, 2 * n].map(error).into_iter().fold(0.0, f64::max)
}

#[test]
fn a_tied_bar_carries_a_wave_as_the_whole_bar_does() {
    // Where the nodes of one side are among those of the other, each node of the joint carries its share of both.
    let nested = apart(20, [2, 4]);
    assert!(nested < 1e-12, "{nested:e}");
    // Else the shares differ by a part of the width of a cell: a little is reflected, a quarter of it on a mesh twice as fine.
    let errors = [(20, [2, 3]), (40, [4, 6])].map(|(n, across)| apart(n, across));
    eprintln!("{errors:?}");
    assert!(errors[0] < 2e-2 && errors[1] < 0.4 * errors[0], "{errors:?}");
}

#[test]
fn a_free_tied_body_keeps_its_momentum() {
    let body = strips([4, 3, 5], 1.5);
    let random = |at: usize| 0.01 * (12.9898 * (at as f64 + 1.0)).sin();
    let deck = body.deck.clone()
        + &isotropic(1.0, 0.3, 1.0)
        + TIE
        + &velocities(&body, |at, x| [random(at) + 0.02 * x[1], random(at + 1000)]);
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &(deck + &every(step(0.02, 6.0, "V1, V2"))), &["--precision", "f64"]);
    let n_rows = traces.time().len();
    let sums = |row: usize| {
        let mut sums = [0.0; 4];
        for (label, ([x, y], m)) in (1..).zip(&body.nodes) {
            let [v, w] = ["V1", "V2"].map(|name| trace(&traces, label, name)[row]);
            let of = [m * v, m * w, m * (x * w - y * v), m * (v * v + w * w)];
            sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
        }
        sums
    };
    let (first, size) = (sums(1), sums(1)[3].sqrt());
    for row in 2..n_rows {
        for (a, b) in sums(row).iter().zip(first).take(3) {
            assert!((a - b).abs() < 1e-13 * size, "row {row}: {a:e} {b:e}");
        }
    }
    // A tie does no work, and what moves is not small.
    assert!(last_energy(folder.path(), "external").abs() < 1e-15 && size > 0.01);
    assert!(last_energy(folder.path(), "balance").abs() < 1e-14 * size);
}

#[test]
fn an_equation_makes_a_bar_periodic() {
    let (n, length, h) = (16, 1.0, 1.0 / 16.0);
    let grid = Grid { n: [n, 1, 0], h: [h, h, 0.0], element: "CPS4" };
    let k = 2.0 * PI / length;
    let (dt, omega) = (0.25 * h, 2.0 / h * (0.5 * k * h).sin());
    let [left, right] = [0, n].map(|i| format!("{}, {}", grid.label(i, 0, 0), grid.label(i, 1, 0)));
    let mut deck = grid.deck() + &isotropic(1.0, 0.0, 1.0);
    let rec = grid.label(5, 0, 0);
    write!(
        deck,
        "*Nset, nset=LEFT\n{left}\n*Nset, nset=RIGHT\n{right}\n*Equation\n2\nLEFT, 1, 1.\nRIGHT, 1, -1.\n*Nset, nset=REC\n{rec},\n\
         *Nset, nset=EVERY, generate\n1, {}, 1\n*Boundary\nEVERY, 2, 2\n",
        2 * (n + 1)
    )
    .unwrap();
    deck += &pogo_tests::initial_velocity(&grid, |x| [(k * x[0] + 0.3).sin(), 0.0, 0.0]);
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &(deck + &step(dt, 4.0, "U1")), &["--precision", "f64"]);
    // Central differences of one mode: u_n = Δt v_0 sin(nθ)/sin θ, sin(θ/2) = ωΔt/2.
    let theta = 2.0 * (0.5 * omega * dt).asin();
    let speed = (k * 5.0 * h + 0.3).sin();
    let exact: Vec<f64> =
        (0..traces.time().len()).map(|n| dt * speed * (n as f64 * theta).sin() / theta.sin()).collect();
    let error = relative_error(traces.column(&format!("REC.{rec}.U1")), &exact);
    assert!(error < 1e-11, "{error:e}");
}

#[test]
fn a_rigid_body_turns_with_its_moment_of_inertia() {
    let grid = Grid { n: [3, 2, 2], h: [0.5, 0.4, 0.3], element: "C3D8" };
    let centre = [0.75, 0.4, 0.3];
    let share = |node: [usize; 3]| -> f64 {
        (0..3).map(|a| grid.h[a] * if node[a] == 0 || node[a] == grid.n[a] { 0.5 } else { 1.0 }).product()
    };
    let r = |node: [usize; 3]| {
        let x = grid.position(node);
        [x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]]
    };
    let inertia: f64 = grid.nodes().map(|node| share(node) * (r(node)[0].powi(2) + r(node)[1].powi(2))).sum();
    let mass: f64 = grid.nodes().map(share).sum();
    let (moment, force, dt, time) = (1e-3, 2e-3, 0.02, 1.0);
    let mut deck = grid.deck() + &isotropic(1.0, 0.3, 1.0);
    write!(
        deck,
        "*Node\n500, 0.75, 0.4, 0.3\n*Nset, nset=EVERY, generate\n1, {}, 1\n*Rigid Body, ref node=500, elset=ALL\n",
        grid.nodes().count()
    )
    .unwrap();
    let mut steps = every(step(dt, time, "U1, U2, U3"));
    steps = steps.replace("*Bulk", &format!("*Cload\n500, 6, {moment}\n500, 2, {force}\n*Bulk"));
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &(deck + &steps), &["--precision", "f64"]);
    let (angle, shift) = (0.5 * moment / inertia * time * time, 0.5 * force / mass * time * time);
    for node in grid.nodes() {
        let label = grid.label(node[0], node[1], node[2]);
        let expected = [-angle * r(node)[1], angle * r(node)[0] + shift, 0.0];
        for (name, expected) in ["U1", "U2", "U3"].into_iter().zip(expected) {
            let found = trace(&traces, label, name).last().unwrap();
            assert!((found - expected).abs() < 1e-12 * (angle + shift), "{label} {name}: {found:e} {expected:e}");
        }
    }
    // Both do work: ½ M θ² and ½ F u of a steady force.
    let work = moment * angle + force * shift;
    assert!((last_energy(folder.path(), "external") / work - 1.0).abs() < 0.05);
    assert!(last_energy(folder.path(), "balance").abs() < 1e-13 * work);
}

#[test]
fn tied_nodes_and_kinematic_couplings_are_their_equations() {
    let strips = strips([4, 2, 2], 2.0);
    // Nodes at the end of the first strip, and those of the second one beside them.
    let pairs = [(5, 16), (10, 21), (15, 26)];
    let rows = |text: &dyn Fn(usize, usize) -> String| pairs.map(|(a, b)| text(a, b)).concat();
    let sets = rows(&|a, _| format!("*Nset, nset=END\n{a},\n")) + &rows(&|_, b| format!("*Nset, nset=BEGIN\n{b},\n"));
    let deck = strips.deck.clone() + "*Node\n100, 2., 0.5\n" + &sets + &isotropic(1.0, 0.3, 1.0);
    let pulse = velocities(&strips, |_, x| [x[0].sin(), (2.0 * x[0]).cos() * x[1]]);
    let solve = |constraint: &str, load: &str| {
        let step = every(step(0.05, 8.0, "U1, U2")).replace("*Bulk", &format!("{load}*Bulk"));
        let folder = tempfile::tempdir().unwrap();
        let traces = run(folder.path(), &(deck.clone() + constraint + &pulse + &step), &["--precision", "f64"]);
        assert!(last_energy(folder.path(), "balance").abs() < 1e-12);
        traces
    };
    let compare = |name: &str, found: &Traces, expected: &Traces| {
        for label in 1..=strips.nodes.len() {
            for quantity in ["U1", "U2"] {
                let error = relative_error(trace(found, label, quantity), trace(expected, label, quantity));
                assert!(error < 1e-11, "{name}: {label} {quantity} {error:e}");
            }
        }
    };
    let equal = |a: usize, b: usize, axis: usize| format!("*Equation\n2\n{a}, {axis}, 1., {b}, {axis}, -1.\n");
    let tied = solve(&rows(&|a, b| equal(a, b, 1) + &equal(a, b, 2)), "");
    for kind in ["TIE", "PIN"] {
        let by_nodes = rows(&|a, b| format!("*MPC\n{kind}, {b}, {a}\n"));
        compare(kind, &solve(&by_nodes, ""), &tied);
        compare(kind, &solve(&format!("*MPC\n{kind}, BEGIN, END\n"), ""), &tied);
    }
    // Without a tie the second strip goes another way.
    let free = solve("", "");
    assert!(relative_error(trace(&free, 16, "U1"), trace(&tied, 16, "U1")) > 1e-2);

    // All components follow as in a rigid body, under a force and a moment.
    let load = "*Cload\n100, 1, 0.02\n100, 6, 0.01\n";
    let rigid = solve("*Rigid Body, ref node=100, tie nset=END\n", load);
    let coupling = "*Coupling, constraint name=C, ref node=100, surface=MASTER\n*Kinematic\n";
    compare("kinematic", &solve(coupling, load), &rigid);
    // One component, of a reference node that does not turn: all nodes move alike along it.
    let alike = equal(10, 5, 1) + &equal(15, 5, 1);
    let first = format!("{coupling}1, 1\n*Boundary\n100, 2, 2\n100, 6, 6\n");
    compare("kinematic along x", &solve(&first, "*Cload\n100, 1, 0.02\n"), &solve(&alike, "*Cload\n5, 1, 0.02\n"));
}

#[test]
fn a_roller_stays_on_its_inclined_or_round_rail() {
    let body = strips([3, 2, 2], 1.0);
    let corner = 1 + body.nodes.iter().position(|(x, _)| x[0] == 0.0 && x[1] == 0.0).unwrap();
    let far = body.nodes.len();
    let deck = body.deck.clone() + &isotropic(1.0, 0.3, 1.0) + TIE;
    // Along (3, 4)/5, and about the point (1, −1): the far corner (2, 1) moves tangentially.
    let axes = format!(
        "*Nset, nset=SLOPE\n{corner},\n*Nset, nset=ROUND\n{far},\n*Transform, nset=SLOPE\n3., 4., 0., -4., 3., 0.\n\
         *Transform, nset=ROUND, type=C\n1., -1., 0., 1., -1., 1.\n*Boundary\nSLOPE, 2, 2\nROUND, 1, 1\n"
    );
    let steps = every(step(0.05, 5.0, "U1, U2")).replace("*Bulk", "*Cload\nSLOPE, 1, 0.01\nROUND, 2, 0.02\n*Bulk");
    let folder = tempfile::tempdir().unwrap();
    let traces = run(folder.path(), &(deck + &axes + &steps), &["--precision", "f64"]);
    let [u, v] = ["U1", "U2"].map(|name| trace(&traces, corner, name));
    let largest = u.iter().fold(0.0, |most: f64, u| most.max(u.abs()));
    assert!(u.iter().zip(v).all(|(u, v)| (-0.8 * u + 0.6 * v).abs() < 1e-14 * largest) && largest > 1e-3);
    let [u, v] = ["U1", "U2"].map(|name| trace(&traces, far, name));
    let largest = u.iter().fold(0.0, |most: f64, u| most.max(u.abs()));
    assert!(u.iter().zip(v).all(|(u, v)| (u + 2.0 * v).abs() < 1e-14 * largest) && largest > 1e-3);
    assert!(last_energy(folder.path(), "balance").abs() < 1e-14);
}

#[test]
fn runs_have_the_same_bits_for_any_threads_and_parts_and_across_a_restart() {
    let body = strips([12, 8, 12], 1.0);
    let deck = body.deck.clone()
        + &isotropic(1.0, 0.3, 1.0)
        + TIE
        + &velocities(&body, |at, _| [(0.7 * at as f64).sin(), (1.9 * at as f64).cos()])
        + &every(step(0.01, 2.0, "U1, A2, RF1"));
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("model.inp"), deck).unwrap();
    let block = ["model.inp", "--quiet", "--block-nodes", "32"];
    succeed(command("pogo-block").current_dir(folder).args(block));
    let solve = |out: &str, words: &[&str]| {
        let precision = if out == "single" { "f32" } else { "f64" };
        let arguments = ["model.blk", "--quiet", "-o", out, "--precision", precision];
        succeed(command("pogo-solve").current_dir(folder).args(arguments).args(words));
        std::fs::read(folder.join(out).join("traces.csv")).unwrap()
    };
    let one = solve("one", &["--threads", "1"]);
    assert!(without_head(&solve("two", &["--threads", "2"])) == without_head(&one), "two threads differ");
    let energies = |out: &str| std::fs::read(folder.join(out).join("energy.csv")).unwrap();
    let alone = energies("one");
    // Some of these parts have a side of the joint, and some have none of it.
    for parts in ["cpu,cpu", "cpu,cpu,cpu", "cpu,cpu,cpu,cpu,cpu"] {
        assert!(without_head(&solve("cut", &["--device", parts])) == without_head(&one), "{parts} differ");
        assert!(without_head(&energies("cut")) == without_head(&alone), "{parts}: the energies differ");
    }
    solve("stopped", &["--device", "cpu,cpu,cpu", "--time", "0.7", "--keep-checkpoint"]);
    let again = solve("stopped", &["--threads", "1", "--time", "2", "--restart"]);
    assert!(without_head(&again) == without_head(&one), "a restart differs");
    solve("single", &[]);
    let single = Traces::read(&folder.join("single/traces.csv"));
    std::fs::write(folder.join("one.csv"), one).unwrap();
    let double = Traces::read(&folder.join("one.csv"));
    let error = relative_error(trace(&single, 20, "U1"), trace(&double, 20, "U1"));
    assert!(error < 1e-4, "{error:e} in single precision");
}

/// Traces without the lines that say where they come from.
fn without_head(file: &[u8]) -> Vec<&[u8]> {
    file.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#")).collect()
}

/// What a command says of a model that it refuses.
fn refusal(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = command(program).current_dir(folder).args(words).output().unwrap();
    assert!(!output.status.success(), "{program} {words:?} succeeds");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_not_computed_is_refused_by_name() {
    let body = strips([2, 2, 3], 1.0);
    let head = body.deck.clone() + &isotropic(1.0, 0.3, 1.0);
    let steps = step(0.05, 1.0, "U1").replace("nset=REC", "nset=EVERY");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (cards, expected) in [
        ("*Mpc\nBEAM, 1, 2\n", "error: *MPC of type `BEAM` is not supported: TIE and PIN are"),
        ("*Tie, name=J, position tolerance=1e-9\nSLAVE, FAR\n", "no node lies near enough to the other surface"),
        ("*Tie, name=J, cyclic symmetry\nSLAVE, MASTER\n", "cyclic symmetry is not computed"),
        ("*Equation\n3\n1, 1, 1., 2, 1, -1.\n", "this equation ends after 2 of its 3 terms"),
        (
            "*Equation\n2\n1, 1, 1., 2, 5, -1.\n",
            "`5` is no degree of freedom of an equation: an equation has components of displacements",
        ),
        ("*Equation\n2\n1, 6, 1., 2, 6, -1.\n", "only reference nodes of rigid bodies and couplings turn"),
        ("*Equation\n2\nEVERY, 1, 1., FEW, 1, -1.\n", "give sets of one length, or single nodes"),
        ("*Transform, nset=FEW, type=S\n0., 0., 0., 0., 0., 1.\n", "*TRANSFORM, TYPE=S is not supported: R and C are"),
        ("*Coupling, constraint name=C, ref node=1, surface=SLAVE\n", "*COUPLING needs *KINEMATIC or *DISTRIBUTING"),
        ("*Rigid Body, ref node=EVERY, elset=ALL\n", "REF NODE=EVERY is a set of"),
        ("*Rigid Body, ref node=1, analytical surface=S\n", "a rigid body has nodes of elements"),
        ("*Kinematic Coupling, ref node=1\n2, 1\n", "--ignore COUPLING leaves it out"),
    ] {
        let few = "*Nset, nset=FEW\n1, 2\n*Elset, elset=ENDS\n1,\n*Surface, name=FAR\nENDS, S4\n";
        std::fs::write(folder.join("model.inp"), head.clone() + few + cards + &steps).unwrap();
        let said = refusal(folder, "pogo-block", &["model.inp", "--quiet"]);
        assert!(said.contains(expected) && said.contains("model.inp:"), "{cards}: {said}");
    }
    // Ignored, they are left out.
    std::fs::write(folder.join("model.inp"), head.clone() + "*Mpc\nBEAM, 1, 2\n" + &steps).unwrap();
    succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet", "--ignore", "MPC"]));

    let blocked = |cards: &str| {
        std::fs::write(folder.join("model.inp"), head.clone() + cards + &steps).unwrap();
        succeed(command("pogo-block").current_dir(folder).args(["model.inp", "--quiet"]));
    };
    let solve = |words: &[&str]| {
        let all: Vec<&str> = ["model.blk", "--quiet", "-o", "out"].iter().chain(words).copied().collect();
        refusal(folder, "pogo-solve", &all)
    };
    // Prescribed displacements that a row does not allow; those that it allows make it redundant.
    blocked("*Equation\n2\n1, 1, 1., 2, 1, -2.\n*Boundary, type=VELOCITY\n1, 1, 1, 3.\n2, 1, 1, 1.\n");
    let said = solve(&[]);
    assert!(said.contains("*EQUATION (row 1 of all linear constraints) contradicts"), "{said}");
    blocked("*Equation\n2\n1, 1, 1., 2, 1, -3.\n*Boundary, type=VELOCITY\n1, 1, 1, 3.\n2, 1, 1, 1.\n");
    let output = succeed(command("pogo-solve").current_dir(folder).args(["model.blk", "-o", "out"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 of 1 rows of linear constraints follow from others"), "{said}");
}

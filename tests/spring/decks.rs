//! Decks whose edges and two-node elements become springs.

use super::*;

/// Decks from elsewhere, every edge of their elements a spring, falling freely: nothing but gravity moves them.
#[test]
fn decks_become_springs() {
    for deck in ["sfepy_abaqus_quad.inp", "gmsh_native_tet.inp"] {
        let Some(path) = shared(&format!("decks/{deck}")) else { continue };
        let job = "[solver]\ntime = 0.01\nincrement = 1e-4\n[[material]]\nname = \"a\"\nmass = 1.0\n[[springs]]\nname = \"edge\"\n\
                   all = true\nstiffness = 10.0\n[[gravity]]\nvector = [1.0, 0, 0]\n[[monitor]]\nname = \"ONE\"\nbox = [[-1e9, -1e9, -1e9], [1e9, 1e9, 1e9]]\ncount = 2\n";
        let model = Model::block(tempfile::tempdir().unwrap(), &path, job);
        let summary = model.solve("out", &[]);
        let particles = number(&summary, "particles");
        assert!(number(&summary, "springs") >= particles - 1.0 && particles > 3.0, "{deck}: {summary:#}");
        assert!(number(&summary["energy"], "elastic") < 1e-12, "{deck}");
        let traces = model.table("out", "traces.csv");
        let fallen = 0.5 * 0.01_f64.powi(2);
        for (name, column) in traces.names.iter().zip(&traces.columns).filter(|(name, _)| name.ends_with("U1")) {
            assert!((column.last().unwrap() / fallen - 1.0).abs() < 1e-9, "{deck}: {name}");
        }
    }
}

/// A deck and a job, blocked.
fn network(deck: &str, job: &str) -> Model {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("net.inp"), deck).expect("the deck is written");
    Model::block(folder, Path::new("net.inp"), job)
}

/// As the graphical program writes it: a part without elements, and masses, a spring and a dashpot of the assembly between nodes
/// of its instance. The deck says all but the motion.
const OSCILLATOR: &str = "*PART, NAME=P
*NODE
1, 0., 0., 0.
2, 3., 4., 0.
*END PART
*ASSEMBLY, NAME=A
*INSTANCE, NAME=P-1, PART=P
*END INSTANCE
*ELEMENT, TYPE=MASS, ELSET=BALLS
1, P-1.1
2, P-1.2
*MASS, ELSET=BALLS
0.5,
*SPRING, ELSET=COIL

8.0
*ELEMENT, TYPE=SPRINGA, ELSET=COIL
3, P-1.1, P-1.2
*DASHPOT, ELSET=POT

0.02
*ELEMENT, TYPE=DASHPOTA, ELSET=POT
4, P-1.2, P-1.1
*END ASSEMBLY
";

#[test]
fn two_masses_of_a_deck_swing_and_come_to_rest() {
    let (mass, k, c, v) = (0.5_f64, 8.0_f64, 0.02_f64, 1e-6_f64);
    let job = |dt: f64| {
        format!(
            "[solver]\ntime = 10.0\nincrement = {dt}\n\
             [[initial_velocity]]\nbox = [[0, 0, 0], [0, 0, 0]]\nvelocity = [{a:e}, {b:e}, 0]\n\
             [[initial_velocity]]\nbox = [[3, 4, 0], [3, 4, 0]]\nvelocity = [{a2:e}, {b2:e}, 0]\n\
             [[monitor]]\nname = \"B\"\nat = [3, 4, 0]\n",
            a = -0.6 * v,
            b = -0.8 * v,
            a2 = 0.6 * v,
            b2 = 0.8 * v
        )
    };
    // Without the dashpot, exactly Verlet's frequency.
    let dt = 0.05;
    let free =
        network(OSCILLATOR, &format!("{}[[springs]]\nname = \"free\"\nelset = \"POT\"\nstiffness = 0\n", job(dt)));
    let summary = free.solve("out", &[]);
    assert_eq!((number(&summary, "particles"), number(&summary, "springs")), (2.0, 1.0));
    let traces = free.table("out", "traces.csv");
    let omega = verlet((2.0 * k / mass).sqrt(), dt);
    let amplitude = v * dt / (omega * dt).sin();
    for (column, part) in [("B.P-1.2.U1", 0.6), ("B.P-1.2.U2", 0.8)] {
        let expected: Vec<f64> = traces.time().iter().map(|t| part * amplitude * (omega * t).sin()).collect();
        // Strains of 1e-7 leave the last digits to the geometry.
        let error = relative_error(traces.column(column), &expected);
        assert!(error < 1e-6, "{column}: {error}");
    }
    // With it as the equation of motion says: each mass half of the relative motion.
    let damped = network(OSCILLATOR, &job(1e-3));
    let summary = damped.solve("out", &["--energy-samples", "5"]);
    assert_eq!(number(&summary, "springs"), 1.0);
    let traces = damped.table("out", "traces.csv");
    let decay = c / mass;
    let omega = (2.0 * k / mass - decay * decay).sqrt();
    let expected: Vec<f64> =
        traces.time().iter().map(|t| 0.6 * v / omega * (-decay * t).exp() * (omega * t).sin()).collect();
    let error = relative_error(traces.column("B.P-1.2.U1"), &expected);
    // Dampers act with the velocity of the step before: of first order in Δt.
    assert!(error < 1e-3, "{error}");
    let info = command("pogo-info").current_dir(damped.folder.path()).args(["a.blk", "--json"]).output().expect("runs");
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.contains("COIL+POT"), "{info}");
    // A study changes what acts there together.
    damped.solve("stiff", &["--set", "spring.COIL+POT.stiffness=32", "--set", "spring.COIL+POT.damping=0"]);
    let stiff = damped.table("stiff", "traces.csv");
    let expected: Vec<f64> = stiff.time().iter().map(|t| 0.6 * v / 11.3137085 * (11.3137085 * t).sin()).collect();
    assert!(relative_error(stiff.column("B.P-1.2.U1"), &expected) < 1e-3);
}

#[test]
fn a_chain_of_trusses_hangs_as_long_as_its_springs_say() {
    let mut deck = "*NODE, NSET=ALL\n".to_owned();
    for i in 0..=6 {
        deck += &format!("{}, 0., 0., {}\n", 10 + i, -0.5 * f64::from(i));
    }
    deck += "*NSET, NSET=TOP\n10\n*ELEMENT, TYPE=T3D2, ELSET=SOFT\n";
    (0..3).for_each(|i| deck += &format!("{}, {}, {}\n", i + 1, 10 + i, 11 + i));
    deck += "*ELEMENT, TYPE=B31, ELSET=HARD\n";
    (3..6).for_each(|i| deck += &format!("{}, {}, {}, 10\n", i + 1, 10 + i, 11 + i));
    deck += "*NSET, NSET=LOWER, ELSET=HARD\n*SOLID SECTION, ELSET=SOFT, MATERIAL=M\n1e-4\n*BEAM SECTION, ELSET=HARD, MATERIAL=M, \
             SECTION=CIRC\n0.01\n*MATERIAL, NAME=M\n*ELASTIC\n2e11, 0.3\n*BOUNDARY\nTOP, 1, 3\n";
    let job = "[solver]
time = 60.0
alpha = 1.5
[[material]]
name = \"light\"
mass = 0.1
[[material]]
name = \"heavy\"
nset = \"LOWER\"
mass = 0.2
[[springs]]
name = \"soft\"
elset = \"SOFT\"
stiffness = 20.0
[[springs]]
name = \"hard\"
elset = \"HARD\"
stiffness = 100.0
damping = 0.1
[[gravity]]
vector = [0, 0, -2.0]
[[monitor]]
name = \"ALL\"
nset = \"ALL\"
count = 2
[[monitor]]
name = \"TOP\"
nset = \"TOP\"
variables = [\"RF\"]
count = 2
";
    let model = network(&deck, job);
    model.solve("out", &[]);
    let traces = model.table("out", "traces.csv");
    let mass = [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2];
    let mut fallen = 0.0;
    for i in 1..=6 {
        let weight: f64 = 2.0 * mass[i..].iter().sum::<f64>();
        fallen -= weight / if i <= 3 { 20.0 } else { 100.0 };
        let found = *traces.column(&format!("ALL.{}.U3", 10 + i)).last().unwrap();
        assert!((found - fallen).abs() < 1e-9, "{i}: {found} {fallen}");
    }
    let support = *traces.column("TOP.10.RF3").last().unwrap();
    assert!((support - 2.0 * mass.iter().sum::<f64>()).abs() < 1e-8, "{support}");
}

/// A square net of connectors and trusses that a pull tears off its rim.
#[test]
fn a_net_is_pulled_until_it_tears() {
    let n = 9;
    let at = |i: u32, j: u32| 1 + i + j * n;
    let mut deck = "*NODE\n".to_owned();
    for j in 0..n {
        (0..n).for_each(|i| deck += &format!("{}, {i}., {j}., 0.\n", at(i, j)));
    }
    let (mut along, mut across) = (String::new(), String::new());
    let mut label = 0;
    for j in 0..n {
        for i in 0..n {
            if i + 1 < n {
                label += 1;
                along += &format!("{label}, {}, {}\n", at(i, j), at(i + 1, j));
            }
            if j + 1 < n {
                label += 1;
                across += &format!("{label}, {}, {}\n", at(i, j), at(i, j + 1));
            }
        }
    }
    deck += &format!("*ELEMENT, TYPE=T2D2, ELSET=WARP\n{along}*ELEMENT, TYPE=CONN3D2, ELSET=WEFT\n{across}");
    deck += "*CONNECTOR SECTION, ELSET=WEFT, BEHAVIOR=B\nAXIAL,\n*CONNECTOR BEHAVIOR, NAME=B\n*CONNECTOR ELASTICITY, COMPONENT=1\n7.,\n";
    let job = "[solver]
time = 30.0
alpha = 0.2
[[material]]
name = \"knot\"
mass = 0.1
[[springs]]
name = \"thread\"
all = true
stiffness = 5.0
max_strain = 0.3
[[springs]]
name = \"weak\"
elset = \"WEFT\"
stiffness = 5.0
max_strain = 0.1
[[boundary]]
side = [\"ymin\"]
[[boundary]]
side = \"ymax\"
components = \"y\"
value = 0.1
type = \"velocity\"
[[field]]
count = 2
";
    let model = network(&deck, job);
    let summary = model.solve("out", &[]);
    assert_eq!((number(&summary, "particles"), number(&summary, "springs")), (81.0, 144.0));
    // One row of the weft gives way, and no thread of the warp.
    let broken = String::from_utf8(model.bytes("out", "broken.csv")).unwrap();
    assert!(
        number(&summary, "broken") >= 9.0 && broken.contains(",weak,strain") && !broken.contains("thread"),
        "{broken}"
    );
    // Both addressings by lists have the same bits; a grid there is not.
    model.solve("global", &["--addressing", "explicit-global"]);
    assert!(model.bytes("out", "broken.csv") == model.bytes("global", "broken.csv"));
}

/// The kinetic energy at t = 0 of a deck that moves at 1 m/s as a whole is half its mass.
#[test]
fn faces_beside_solids_weigh_nothing_and_shells_are_nets() {
    let nodes = "*NODE, NSET=ALL\n1, 0., 0., 5.\n2, 1., 0., 5.\n3, 0., 1., 5.\n4, 0., 0., 6.\n5, 1., 1., 5.5\n";
    let job = "[solver]\ntime = 0.1\n[[material]]\nname = \"a\"\ndensity = 6.0\n[[springs]]\nname = \"s\"\nall = true\nstiffness = 1.0\n\
               [[initial_velocity]]\nnset = \"ALL\"\nvelocity = [1.0, 0, 0]\n";
    let solid = format!("{nodes}*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n*ELEMENT, TYPE=CPS3\n2, 1, 2, 3\n");
    let shell = format!(
        "{nodes}*ELEMENT, TYPE=S3, ELSET=E\n1, 1, 2, 3\n*ELEMENT, TYPE=S4R, ELSET=E\n2, 1, 2, 5, 3\n*SHELL SECTION, ELSET=E, MATERIAL=M\n0.1\n"
    );
    // Half of the cross product of its diagonals, (−0.5, −0.5, 2).
    let quadrilateral = 0.5 * 4.5_f64.sqrt();
    for (deck, springs, mass) in [(solid, 6.0, 1.0), (shell, 5.0, 6.0 * (0.5 + quadrilateral))] {
        let model = network(&deck, job);
        let summary = model.solve("out", &[]);
        assert_eq!(number(&summary, "springs"), springs, "{deck}");
        let energy = model.table("out", "energy.csv");
        let kinetic = energy.columns[energy.names.iter().position(|name| name == "kinetic").unwrap()][0];
        assert!((2.0 * kinetic / mass - 1.0).abs() < 1e-9, "{} of {mass}: {deck}", 2.0 * kinetic);
    }
}

#[test]
fn elements_that_make_no_springs_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |deck: &str, job: &str, expected: &str| {
        std::fs::write(folder.path().join("a.inp"), deck).unwrap();
        let mut block = command("pogo-block");
        block.current_dir(folder.path()).args(["a.inp", "-o", "a.blk", "-q"]);
        if !job.is_empty() {
            std::fs::write(folder.path().join("a.toml"), job).unwrap();
            block.args(["--job", "a.toml"]);
        }
        let output = block.output().expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(expected), "{expected}: {message}");
    };
    let nodes = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 1., 0., 0.\n";
    let job = "physics = \"spring\"\n[solver]\ntime = 1.0\n[[material]]\nname = \"a\"\nmass = 1.0\n";
    let all = &format!("{job}[[springs]]\nname = \"s\"\nall = true\nstiffness = 1.0\n");
    let line = |kind: &str, ends: &str| format!("{nodes}*ELEMENT, TYPE={kind}, ELSET=E\n7, {ends}\n");
    refused(&format!("{}*SPRING, ELSET=E\n1, 1\n5.\n", line("SPRING2", "1, 2")), all, "SPRING2 (1 element, line 5)");
    refused(&format!("{}*BEAM SECTION, ELSET=E, MATERIAL=M\n1.\n", line("B32", "1, 2, 3")), all, "B32 (1 element");
    refused(
        &format!("{}*SPRING, ELSET=E, NONLINEAR\n1., 2.\n", line("SPRINGA", "1, 2")),
        all,
        "a.inp:7: error: *SPRING is read with one",
    );
    refused(&line("T3D2", "1, 9"), all, "a.inp:5: error: T3D2 element 7 does not join two nodes");
    refused(&line("T3D2", "2, 3"), all, "element 7 has both ends at one place");
    let tetrahedron = format!("{nodes}4, 0., 1., 0.\n*ELEMENT, TYPE=C3D4\n7, 1, 2, 3, 4\n");
    refused(&tetrahedron, all, "a.toml:7: error: nodes 2 and 3 of element 7 are at one place");
    refused(
        &line("S6", "1, 2, 3, 1, 2, 3"),
        all,
        "a.inp: error: it has no spring (elements that make no springs: 1 S6)",
    );
    refused(&line("T3D2", "1, 2"), job, "which edges are springs?");
    let density = all.replace("mass = 1.0", "density = 1.0");
    refused(&line("T3D2", "1, 2"), &density, "a.toml:4: error: node 1 has no share of an area or volume");
    let bare = "physics = \"spring\"\n[solver]\ntime = 1.0\n[[springs]]\nname = \"s\"\nall = true\nstiffness = 1.0\n";
    refused(&line("T3D2", "1, 2"), bare, "node 1 has springs and no material");
    refused(&line("T3D2", "1, 2"), &bare.replace("stiffness = 1.0", ""), "give `stiffness` (k) or `axial_stiffness`");
    // Explicit dynamics goes on refusing them, and says what would not.
    let solid = format!(
        "{}*SOLID SECTION, ELSET=E, MATERIAL=M\n1.\n*MATERIAL, NAME=M\n*ELASTIC\n1., 0.\n*DENSITY\n1.\n",
        line("T3D2", "1, 2")
    );
    refused(&solid, "", "`physics = \"spring\"` makes springs of elements with two nodes");
}

/// A chain of two trusses of different length, each with half its mass at either end.
const TRUSSES: &str = "*NODE, NSET=ALL
1, 0., 0., 0.
2, 0., 0., -0.5
3, 0., 0., -2.
*NSET, NSET=TOP
1
*ELEMENT, TYPE=T3D2, ELSET=BARS
1, 1, 2
2, 3, 2
*SOLID SECTION, ELSET=BARS, MATERIAL=M
0.25,
*MATERIAL, NAME=M
*ELASTIC
2e4, 0.3
*BOUNDARY
TOP, 1, 3
";

#[test]
fn trusses_have_the_stiffness_of_their_section_unless_a_job_says_another() {
    let job = "[solver]\ntime = 20.0\nalpha = 2.0\n[[material]]\nname = \"steel\"\ndensity = 8.0\n[[gravity]]\nvector = [0, 0, -2.0]\n\
               [[monitor]]\nname = \"ALL\"\nnset = \"ALL\"\ncount = 2\n";
    // 8 kg/m³ times 0.25 m² and half of 0.5 m, 2 m and 1.5 m.
    let weight = [2.0 * 2.0 * (1.0 + 0.75), 2.0 * 2.0 * 0.75];
    let falls = |model: &Model, out: &str, k: [f64; 2]| {
        let traces = model.table(out, "traces.csv");
        let upper = -weight[0] / k[0];
        for (column, expected) in [("ALL.2.U3", upper), ("ALL.3.U3", upper - weight[1] / k[1])] {
            let found = *traces.column(column).last().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-6, "{out} {column}: {found} {expected}");
        }
    };
    let model = network(TRUSSES, job);
    model.solve("deck", &[]);
    falls(&model, "deck", [5e3 / 0.5, 5e3 / 1.5]);
    model.solve("soft", &["--set", "spring.BARS.axial_stiffness=2500"]);
    falls(&model, "soft", [2.5e3 / 0.5, 2.5e3 / 1.5]);
    let notes = |model: &Model| {
        let mut check = command("pogo-block");
        check.current_dir(model.folder.path()).args(["net.inp", "--job", "job.toml", "--check"]);
        let output = check.output().expect("runs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    assert!(
        notes(&model).contains("note: 2 truss elements of `BARS`: k = E A / length with E A = 5e3"),
        "{}",
        notes(&model)
    );
    for (table, k) in [
        ("all = true\nstiffness = 900.0", [900.0, 900.0]),
        ("elset = \"BARS\"\naxial_stiffness = 600.0", [1200.0, 400.0]),
    ] {
        let model = network(TRUSSES, &format!("{job}[[springs]]\nname = \"own\"\n{table}\n"));
        model.solve("job", &[]);
        falls(&model, "job", k);
        assert!(notes(&model).contains("[[springs]] hold over E A = 5e3 of the deck for 2 of `BARS`"), "{table}");
    }
    // Springs turn with their ends, and are damped as the job says alone.
    let step = "*DAMPING, ALPHA=3.\n*BOUNDARY\nTOP, 1, 3\n*STEP\n*DYNAMIC, EXPLICIT\n, 20.\n*END STEP\n";
    let model = network(&TRUSSES.replace("*BOUNDARY\nTOP, 1, 3\n", step), &job.replace("alpha = 2.0\n", ""));
    let said = notes(&model);
    assert!(said.contains("net.inp:12: warning: material M: its *DAMPING, ALPHA=3 is not used"), "{said}");
    assert!(!said.contains("nlgeom"), "{said}");
    // A solid beside them that nothing makes springs of is not passed over in silence.
    let solid = TRUSSES.replace("*NSET,", "4, 1., 0., 0.\n*ELEMENT, TYPE=C3D4\n9, 1, 2, 3, 4\n*NSET,");
    assert!(notes(&network(&solid, job)).contains("warning: 1 element makes no springs"));
}

/// Trusses side by side, each with a section and a mass of its own.
#[test]
fn every_truss_may_have_a_section_and_a_mass_of_its_own() {
    let n = 300_i32;
    let mut deck = "*MATERIAL, NAME=M\n*ELASTIC\n2e4, 0.3\n".to_owned();
    let mut tops = "*NSET, NSET=TOP\n".to_owned();
    for i in 0..n {
        let (top, area, mass) = (2 * i + 1, 0.1 + 1e-3 * f64::from(i), 1.0 + 0.01 * f64::from(i));
        let (end, ball) = (top + 1, 1000 + i);
        deck += &format!("*NODE\n{top}, {i}., 0., 0.\n{end}, {i}., 0., -0.5\n*ELEMENT, TYPE=T3D2, ELSET=BAR{i}\n");
        deck += &format!("{top}, {top}, {end}\n*SOLID SECTION, ELSET=BAR{i}, MATERIAL=M\n{area}\n");
        deck += &format!("*ELEMENT, TYPE=MASS, ELSET=BALL{i}\n{ball}, {end}\n*MASS, ELSET=BALL{i}\n{mass}\n");
        tops += &format!("{top}\n");
    }
    let job = "[solver]\ntime = 12.0\nalpha = 8.0\n[[material]]\nname = \"top\"\nmass = 1.0\n[[gravity]]\nvector = [0, 0, -2]\n\
               [[monitor]]\nname = \"ALL\"\nbox = [[-1, -1, -1], [1000, 1, 1]]\nvariables = [\"U\"]\ncount = 2\n";
    let model = network(&format!("{deck}{tops}*BOUNDARY\nTOP, 1, 3\n"), job);
    let summary = model.solve("out", &[]);
    assert_eq!(number(&summary, "springs"), f64::from(n));
    let traces = model.table("out", "traces.csv");
    for i in [0, 1, 254, 255, 256, 299] {
        let (area, mass) = (0.1 + 1e-3 * f64::from(i), 1.0 + 0.01 * f64::from(i));
        let found = *traces.column(&format!("ALL.{}.U3", 2 * i + 2)).last().unwrap();
        let expected = -2.0 * mass * 0.5 / (2e4 * area);
        assert!((found / expected - 1.0).abs() < 1e-6, "{i}: {found} {expected}");
    }
}

/// Two trusses of different materials that hang from each other, a mass on the end: what pulls at either end is known.
#[test]
fn trusses_weigh_what_their_density_says_unless_a_job_says_another() {
    let rope = "2, 3, 2\n*ELEMENT, TYPE=MASS, ELSET=BALL\n3, 3\n*MASS, ELSET=BALL\n0.5\n*SOLID SECTION, ELSET=ROPE, MATERIAL=R\n0.5,\n\
                *MATERIAL, NAME=R\n*ELASTIC\n1e4, 0.\n*DENSITY\n2.\n";
    let deck = TRUSSES.replace("2, 3, 2\n", &format!("*ELEMENT, TYPE=T3D2, ELSET=ROPE\n{rope}"));
    let deck = deck.replace("2e4, 0.3\n", "2e4, 0.3\n*DENSITY\n8.\n");
    let job = "[solver]\ntime = 20.0\nalpha = 2.0\n[[monitor]]\nname = \"ALL\"\nnset = \"ALL\"\ncount = 2\n";
    // ρ A L / 2 of both, and the ball.
    let (bar, cord, ball) = (8.0 * 0.25 * 0.25, 2.0 * 0.5 * 0.75, 0.5);
    let all = "[[gravity]]\nvector = [0, 0, -2.0]\n";
    let of_deck =
        |set: &str| format!("*STEP\n*DYNAMIC, EXPLICIT\n, 20.\n*DLOAD\n{set}, GRAV, 2., 0., 0., -1.\n*END STEP\n");
    let material = "[[material]]\nname = \"r\"\nmass = 3.0\n";
    for (step, more, pulls, said) in [
        (
            "",
            all,
            [bar + cord, cord + ball],
            "net.inp: note: 3 nodes: ρ A L / 2 of each truss by *DENSITY, 2.5000e0 in all",
        ),
        (
            "",
            &format!("{all}{material}nset = \"TOP\"\n"),
            [bar + cord, cord + ball],
            "[[material]] holds over *MASS and *DENSITY of the deck at 1 node",
        ),
        ("", &format!("{all}{material}"), [3.0, ball], "1 node with a *MASS of the deck and a share"),
        ("", &format!("{all}{material}elset = \"ROPE\"\n"), [3.0, 3.0], "of the deck at 2 nodes"),
        (&of_deck("ROPE"), "", [bar + cord, cord + ball], "ROPE.GRAV of the deck acts on 2 particles of its set"),
        (&of_deck("BALL"), "", [0.0, cord + ball], "BALL.GRAV of the deck acts on 1 particle of its set"),
        (&of_deck(""), "", [bar + cord, cord + ball], "GRAV of the deck acts on all particles"),
    ] {
        let model = network(&format!("{deck}{step}"), &format!("{job}{more}"));
        let mut check = command("pogo-block");
        check.current_dir(model.folder.path()).args(["net.inp", "--job", "job.toml", "--check"]);
        let output = String::from_utf8(check.output().expect("runs").stderr).expect("text");
        assert!(output.contains(said), "{said}: {output}");
        model.solve("out", &[]);
        let traces = model.table("out", "traces.csv");
        let upper = -2.0 * (pulls[0] + pulls[1]) / (5e3 / 0.5);
        for (column, expected) in [("ALL.2.U3", upper), ("ALL.3.U3", upper - 2.0 * pulls[1] / (5e3 / 1.5))] {
            let found = *traces.column(column).last().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-6, "{said}: {column}: {found} {expected}");
        }
    }
    // Only what particles have can be changed by name.
    let model = network(&deck, &format!("{job}{all}"));
    model.solve("heavy", &["--set", "material.R+M.density=16", "--set", "material.BALL+R.mass=1.5"]);
    let found = *model.table("heavy", "traces.csv").column("ALL.2.U3").last().unwrap();
    assert!((found / (-2.0 * (2.0 * (bar + cord) + cord + 1.5) / 1e4) - 1.0).abs() < 1e-6, "{found}");
    let mut solve = command("pogo-solve");
    solve.current_dir(model.folder.path()).args(["a.blk", "--set", "material.R.density=3"]);
    assert_eq!(solve.output().expect("runs").status.code(), Some(1));
}

#[test]
fn tables_that_hold_nowhere_are_told_of() {
    let job = "[solver]\ntime = 1.0\n[[springs]]\nname = \"bars\"\nelset = \"BARS\"\nstiffness = 1.0\n[[springs]]\nname = \"all\"\nall = true\n\
               stiffness = 1.0\n[[springs]]\nname = \"lost\"\nstiffness = 1.0\n[[material]]\nname = \"top\"\nnset = \"TOP\"\nmass = 1.0\n\
               [[material]]\nname = \"all\"\nmass = 1.0\n";
    let model = network(TRUSSES, job);
    let warnings = |input: &str, job: &str| {
        let mut check = command("pogo-block");
        let output = check.current_dir(model.folder.path()).args([input, "--job", job, "--check"]).output();
        let text = String::from_utf8(output.expect("runs").stderr).expect("text");
        text.lines().filter(|line| line.contains("warning: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let found = warnings("net.inp", "job.toml");
    let expected = [
        "job.toml:4: warning: springs \"bars\" hold for no edge",
        "job.toml:15: warning: material \"top\" is of no particle",
        "job.toml:12: warning: springs \"lost\" are nowhere",
    ];
    assert!(found.len() == 3 && found.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{found:#?}");
    let plain = "physics = \"spring\"\n[solver]\ntime = 1.0\n[[springs]]\nname = \"all\"\nall = true\nstiffness = 1.0\n[[material]]\nname = \"all\"\n\
                 mass = 1.0\n";
    std::fs::write(model.path("plain.toml"), plain).unwrap();
    assert!(warnings("net.inp", "plain.toml").is_empty());
    write_stack(&model.path("a.npy"), [2, 2, 2], |_| 1);
    let label = |name: &str, label: u8| {
        format!("[[material]]\nname = \"{name}\"\nlabel = {label}\nmass = 1.0\nstiffness = 1.0\n")
    };
    let stack =
        format!("physics = \"spring\"\n[image]\nspacing = 1\n[solver]\ntime = 1.0\n{}{}", label("a", 1), label("b", 2));
    std::fs::write(model.path("stack.toml"), stack).unwrap();
    assert_eq!(warnings("a.npy", "stack.toml"), ["stack.toml:11: warning: no voxel is of material \"b\""]);
}

#[test]
fn gravity_and_fields_of_a_deck_hold_unless_the_job_has_some() {
    let step = "*STEP\n*DYNAMIC, EXPLICIT\n, 20.\n*DLOAD\n, GRAV, 2., 0., 0., -1.\n*OUTPUT, FIELD, NUMBER INTERVAL=3\n\
                *NODE OUTPUT\nU, V\n*END STEP\n";
    let job = "[solver]\nalpha = 2.0\n[[material]]\nname = \"m\"\nmass = 3.0\n[[monitor]]\nname = \"ALL\"\nnset = \"ALL\"\ncount = 2\n";
    let own = "[[gravity]]\nvector = [0, 0, -4.0]\n[[field]]\ncount = 1\n";
    for (further, g, n_fields) in [("", 2.0, 4), (own, 4.0, 2)] {
        let model = network(&format!("{TRUSSES}{step}"), &format!("{job}{further}"));
        model.solve("out", &[]);
        // 3 kg at either free node, on 5e3 N / 0.5 m.
        let found = *model.table("out", "traces.csv").column("ALL.2.U3").last().unwrap();
        assert!((found / (-g * 6.0 / 1e4) - 1.0).abs() < 1e-6, "{found}");
        assert_eq!(std::fs::read_dir(model.folder.path().join("out/fields")).unwrap().count(), n_fields);
    }
}

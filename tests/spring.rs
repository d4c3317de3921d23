//! Mass-spring-damper models through the two commands: exact solutions, both addressings, cuts, breaking, restarts, studies.

use std::path::{Path, PathBuf};

use pogo_tests::arrays::write_stack;
use pogo_tests::{Traces, command, relative_error, shared, succeed};

mod changes;
mod decks;

/// A folder with a lattice of spacing 1, its first particle at the origin, blocked with a job.
struct Model {
    folder: tempfile::TempDir,
}

impl Model {
    fn new(size: [usize; 3], voxel: impl Fn([usize; 3]) -> u8, job: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write_stack(&folder.path().join("a.npy"), size, voxel);
        Self::block(folder, Path::new("a.npy"), &format!("[image]\nspacing = 1.0\norigin = [-0.5, -0.5, -0.5]\n{job}"))
    }

    fn block(folder: tempfile::TempDir, input: &Path, job: &str) -> Self {
        std::fs::write(folder.path().join("job.toml"), format!("physics = \"spring\"\n{job}"))
            .expect("the job is written");
        succeed(
            command("pogo-block")
                .current_dir(folder.path())
                .arg(input)
                .args(["--job", "job.toml", "-o", "a.blk", "-q"]),
        );
        succeed(command("pogo-info").current_dir(folder.path()).args(["a.blk", "--check", "-q"]));
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs into a folder of its own; gives the summary.
    fn solve(&self, out: &str, arguments: &[&str]) -> serde_json::Value {
        let mut solve = command("pogo-solve");
        solve.current_dir(self.folder.path()).args(["a.blk", "-q", "--device", "cpu", "-o", out]).args(arguments);
        succeed(&mut solve);
        self.summary(out)
    }

    fn summary(&self, out: &str) -> serde_json::Value {
        let text = std::fs::read_to_string(self.path(out).join("summary.json")).expect("a summary");
        serde_json::from_str(&text).expect("JSON")
    }

    fn table(&self, out: &str, file: &str) -> Traces {
        Traces::read(&self.path(out).join(file))
    }

    fn bytes(&self, out: &str, file: &str) -> Vec<u8> {
        std::fs::read(self.path(out).join(file)).expect("the file is there")
    }
}

fn number(value: &serde_json::Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value:#}"))
}

/// The head of a job for particles of one material, `a`, given lines of `[solver]`.
fn head(solver: &str, mass: f64, stiffness: f64) -> String {
    format!("[solver]\n{solver}\n[[material]]\nname = \"a\"\nmass = {mass:?}\nstiffness = {stiffness:?}\n")
}

/// ω̂ of Verlet's scheme for a mode of frequency ω.
fn verlet(omega: f64, dt: f64) -> f64 {
    2.0 / dt * (0.5 * omega * dt).asin()
}

#[test]
fn two_masses_swing_as_verlet_says() {
    let (mass, k, v, dt) = (0.5, 8.0, 1e-3, 0.05);
    let solver = format!("time = 10.0\nincrement = {dt}");
    let job = head(&solver, mass, k)
        + &format!(
            "[[initial_velocity]]
box = [[0, 0, 0], [0, 0, 0]]
velocity = [-{v}, 0, 0]
[[initial_velocity]]
box = [[1, 0, 0], [1, 0, 0]]
velocity = [{v}, 0, 0]
[[monitor]]
name = \"B\"
at = [1, 0, 0]
variables = [\"U\", \"V\"]
"
        );
    let model = Model::new([2, 1, 1], |_| 1, &job);
    let summary = model.solve("out", &["--energy-samples", "200"]);
    assert_eq!(
        (number(&summary, "particles"), number(&summary, "springs"), number(&summary, "steps")),
        (2.0, 1.0, 200.0)
    );
    let traces = model.table("out", "traces.csv");
    let omega = verlet((2.0_f64 * k / mass).sqrt(), dt);
    let amplitude = v * dt / (omega * dt).sin();
    let expected: Vec<f64> = traces.time().iter().map(|t| amplitude * (omega * t).sin()).collect();
    let error = relative_error(traces.column("B.2.U1"), &expected);
    assert!(error < 1e-9, "{error}");
    assert!(traces.column("B.2.U2").iter().all(|&u| u == 0.0));
    let energy = model.table("out", "energy.csv");
    assert!(energy.column("momentum1").iter().all(|p| p.abs() < 1e-16));
    // Energy at whole steps swings by (ωΔt/2)² of itself at most, and does not drift.
    let total: Vec<f64> = energy.column("kinetic").iter().zip(energy.column("elastic")).map(|(a, b)| a + b).collect();
    let bound = (0.5 * dt * (2.0 * k / mass).sqrt()).powi(2);
    assert!(total.iter().all(|e| (e / total[0] - 1.0).abs() < 1.05 * bound), "{total:?}");
}

/// NOTATION.md: a body at rest has moved by ½ Δt² a_0 after the first step, with `lambda` by ½ (1 + λ) Δt² a_0.
#[test]
fn the_first_step_from_rest_is_half_of_the_acceleration() {
    let (dt, g, lambda) = (0.02, 3.0, 0.25);
    for (damping, expected) in [
        ("", 0.5 * dt * dt * g),
        ("alpha = 5.0\n", 0.5 * dt * dt * g),
        ("lambda = 0.25\n", 0.5 * (1.0 + lambda) * dt * dt * g),
    ] {
        let solver = format!("time = 0.1\nincrement = {dt}\n{damping}");
        let rest = format!("[[gravity]]\nvector = [0, 0, -{g}]\n[[monitor]]\nname = \"B\"\nat = [1, 0, 0]\n");
        let job = head(&solver, 0.5, 8.0) + &rest;
        let model = Model::new([2, 1, 1], |_| 1, &job);
        model.solve("out", &["--precision", "f64"]);
        let traces = model.table("out", "traces.csv");
        let fall = traces.column("B.2.U3");
        let at = traces.time().iter().position(|t| (t - dt).abs() < 1e-9).expect("a row of the first step");
        assert!((fall[at] + expected).abs() < 1e-6 * expected, "{damping}{} and {expected}", fall[at]);
    }
}

#[test]
fn a_mode_of_a_chain_keeps_its_shape() {
    // Five masses between two fixed ones, in mode p.
    let (n, p, k, mass, dt) = (5_usize, 2.0, 3.0_f64, 0.25, 0.02);
    let shape = |i: usize| (std::f64::consts::PI * p * i as f64 / (n as f64 + 1.0)).sin();
    let mut job = head(&format!("time = 6.0\nincrement = {dt}"), mass, k);
    job += "[[boundary]]\nside = [\"xmin\", \"xmax\"]\n[[monitor]]\nname = \"M\"\nline = [[0, 0, 0], [6, 0, 0]]\n";
    for i in 1..=n {
        let v = 1e-3 * shape(i);
        job += &format!("[[initial_velocity]]\nbox = [[{i}, 0, 0], [{i}, 0, 0]]\nvelocity = [{v:e}, 0, 0]\n");
    }
    let model = Model::new([n + 2, 1, 1], |_| 1, &job);
    model.solve("out", &[]);
    let traces = model.table("out", "traces.csv");
    let half = 0.5 * std::f64::consts::PI * p / (n as f64 + 1.0);
    let omega = verlet(2.0 * (k / mass).sqrt() * half.sin(), dt);
    for i in 1..=n {
        let amplitude = 1e-3 * shape(i) * dt / (omega * dt).sin();
        let found = traces.column(&format!("M.{}.U1", i + 1));
        let worst = found.iter().zip(traces.time()).map(|(u, t)| (u - amplitude * (omega * t).sin()).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-12, "mass {i}: {worst}");
    }
}

/// A block of two materials with holes, held, pulled, cut and torn.
const TISSUE: &str = "[solver]
time = 3.0
alpha = 0.05
[[material]]
name = \"soft\"
label = 1
mass = 1.0
stiffness = { axis = 1.0, face = 0.7, space = 0.4 }
damping = 0.02
max_strain = 0.12
[[material]]
name = \"stiff\"
label = 2
mass = 1.5
stiffness = { axis = 3.0, face = 2.0, space = 1.0 }
[[boundary]]
side = \"xmin\"
[[boundary]]
name = \"PULL\"
side = \"xmax\"
components = \"x\"
value = 0.9
type = \"velocity\"
[[gravity]]
vector = [0, 0, -0.05]
[[source]]
name = \"POKE\"
at = [4, 3, 4]
direction = [0, 0, 1]
force = 0.3
amplitude = { kind = \"table\", times = [0, 1], values = [0, 1] }
[[cut]]
name = \"KNIFE\"
times = [0.5, 2.0]
from = [[3.4, -1, 6], [3.4, -1, 2]]
to = [[3.4, 7, 6], [3.4, 7, 2]]
[[erase]]
name = \"PART\"
time = 0.1
pairs = [[2, 3]]
[[monitor]]
name = \"TOP\"
side = \"zmax\"
variables = [\"U\", \"V\", \"A\"]
count = 40
[[monitor]]
name = \"WALL\"
side = \"xmin\"
variables = [\"RF\"]
count = 40
[[field]]
count = 3
velocity = true
";

fn tissue() -> Model {
    Model::new(
        [9, 7, 6],
        |[x, y, z]| {
            if (x + 2 * y + 3 * z) % 11 == 0 {
                0
            } else if x > 5 {
                2
            } else {
                1
            }
        },
        TISSUE,
    )
}

#[test]
fn both_addressings_have_the_same_bits() {
    let model = tissue();
    let shown = succeed(command("pogo-info").current_dir(model.folder.path()).arg("a.blk"));
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("cut by a blade with 2 stations from 0.5 to 2 s"), "{shown}");
    let summary = model.solve("implicit", &["--addressing", "implicit"]);
    assert_eq!(summary["addressing"], "implicit");
    let gone = number(&summary, "broken") + number(&summary, "cut") + number(&summary, "erased");
    for what in ["broken", "cut", "erased"] {
        assert!(number(&summary, what) > 0.0, "{what}: {summary:#}");
    }
    assert_eq!(number(&summary, "springs") - gone, number(&summary, "springs_left"));
    let rows = String::from_utf8(model.bytes("implicit", "broken.csv")).unwrap();
    assert_eq!(rows.lines().filter(|line| !line.starts_with('#')).count() as f64, gone + 1.0);
    assert!(
        rows.contains(",cut KNIFE") && rows.contains(",erase PART") && rows.contains(",soft.axis,strain"),
        "{rows}"
    );
    for (out, arguments) in [
        ("explicit", &["--addressing", "explicit"][..]),
        ("global", &["--addressing", "explicit-global", "--threads", "1"]),
    ] {
        let other = model.solve(out, arguments);
        for energy in ["kinetic", "elastic", "gravity", "momentum"] {
            assert_eq!(other["energy"][energy], summary["energy"][energy], "{out}");
        }
        // Work and dissipation are sums over particles, in the order of the tables.
        for energy in ["external", "dissipated"] {
            let [a, b] = [&other, &summary].map(|summary| number(&summary["energy"], energy));
            assert!((a / b - 1.0).abs() < 1e-12, "{out} {energy}: {a} {b}");
        }
        for file in ["traces.csv", "broken.csv"] {
            assert!(model.bytes("implicit", file) == model.bytes(out, file), "{out}: {file}");
        }
    }
    let single = model.solve("single", &["--precision", "f32"]);
    let [double, single] = [&summary, &single].map(|summary| number(&summary["energy"], "elastic"));
    assert!((single / double - 1.0).abs() < 1e-3, "{single} {double}");
    let fields = String::from_utf8(model.bytes("implicit", "fields.pvd")).unwrap();
    assert_eq!(fields.matches("<DataSet").count(), 4);
}

#[test]
fn parts_of_a_process_give_the_files_of_one() {
    let model = Model::new(
        [12, 11, 10],
        |[x, y, z]| if (x + 2 * y + 3 * z) % 11 == 0 { 0 } else { 1 + u8::from(x > 5) },
        TISSUE,
    );
    for addressing in ["implicit", "explicit"] {
        let whole = model.solve(&format!("{addressing}-1"), &["--addressing", addressing]);
        assert!(["broken", "cut", "erased"].iter().all(|what| number(&whole, what) > 0.0), "{whole:#}");
        for devices in ["cpu,cpu", "cpu,cpu,cpu"] {
            let (one, out) = (format!("{addressing}-1"), format!("{addressing}-{devices}"));
            let mut solve = command("pogo-solve");
            solve.current_dir(model.folder.path()).args(["a.blk", "-q", "--device", devices, "-o", &out]);
            succeed(solve.args(["--addressing", addressing]));
            assert_eq!(model.summary(&out)["energy"], whole["energy"], "{out}");
            let snapshots = std::fs::read_dir(model.path(&one).join("fields")).expect("snapshots");
            let snapshots = snapshots.map(|entry| format!("fields/{}", entry.unwrap().file_name().display()));
            let files = whole["files"].as_array().expect("files").iter().filter_map(|name| name.as_str());
            // The summary holds how long the run took.
            for file in files.filter(|&name| name != "summary.json").map(str::to_owned).chain(snapshots) {
                assert!(model.bytes(&one, &file) == model.bytes(&out, &file), "{out}: {file}");
            }
        }
    }
}

/// Two masses: the spring between them, what each weighs, the increment.
struct DrivenPair {
    k: f64,
    mass: f64,
    dt: f64,
}

const DRIVEN: DrivenPair = DrivenPair { k: 8.0, mass: 0.5, dt: 0.01 };

/// Two masses of which one moves as the lines of its `[[boundary]]` say, and the frequency with which the other swings.
fn driven(motion: &str) -> (Model, f64) {
    let DrivenPair { k, mass, dt } = DRIVEN;
    let rest = format!(
        "[[boundary]]
side = \"xmax\"
components = \"x\"
{motion}
[[monitor]]
name = \"ALL\"
line = [[0, 0, 0], [1, 0, 0]]
variables = [\"U\", \"V\", \"A\"]
"
    );
    let job = head(&format!("time = 3.0\nincrement = {dt}"), mass, k) + &rest;
    (Model::new([2, 1, 1], |_| 1, &job), verlet((k / mass).sqrt(), dt))
}

/// A displacement that is there from the start pulls from the start.
#[test]
fn a_prescribed_displacement_holds_from_the_first_moment() {
    let pull = 0.2;
    let (model, omega) = driven(&format!("value = {pull}"));
    for (precision, tolerance) in [("f64", 1e-12), ("f32", 1e-5)] {
        model.solve(precision, &["--precision", precision]);
        let traces = model.table(precision, "traces.csv");
        assert!(traces.column("ALL.2.U1").iter().all(|u| (u - pull).abs() < 1e-7), "{precision}");
        for (t, u) in traces.time().iter().zip(traces.column("ALL.1.U1")) {
            let exact = pull * (1.0 - (omega * t).cos());
            assert!((u - exact).abs() < tolerance, "{precision} at {t}: {u} {exact}");
        }
    }
    let moved = model.solve("set", &["--set", "boundary.FIX1.1.value=0.1"]);
    assert!(number(&moved["energy"], "elastic") > 0.0, "{moved:#}");
    assert_eq!(model.table("set", "traces.csv").column("ALL.2.U1")[0], 0.1);
}

/// A support that moves steadily has its velocity, no acceleration and an honest account of its work from the first row.
#[test]
fn a_driven_support_moves_from_the_first_moment() {
    let (speed, DrivenPair { mass, dt, .. }) = (0.3, DRIVEN);
    let (model, omega) = driven(&format!("type = \"velocity\"\nvalue = {speed}"));
    model.solve("out", &["--energy-samples", "60"]);
    let traces = model.table("out", "traces.csv");
    assert!(traces.column("ALL.2.V1").iter().all(|v| (v - speed).abs() < 1e-12));
    assert!(traces.column("ALL.2.A1").iter().all(|a| a.abs() < 1e-9));
    for (t, u) in traces.time().iter().zip(traces.column("ALL.1.U1")) {
        let exact = speed * (t - dt * (omega * t).sin() / (omega * dt).sin());
        assert!((u - exact).abs() < 1e-12, "{t}: {u} {exact}");
    }
    let energy = model.table("out", "energy.csv");
    let put_in = energy.column("kinetic")[0];
    assert!((put_in - 0.5 * mass * speed * speed).abs() < 1e-12);
    let columns = ["kinetic", "elastic", "external"].map(|name| energy.column(name));
    for ((kinetic, elastic), external) in columns[0].iter().zip(columns[1]).zip(columns[2]) {
        assert!((kinetic + elastic - external - put_in).abs() < 2e-3 * put_in, "{kinetic} {elastic} {external}");
    }
}

/// What hangs pulls at its support with its weight: at first that of the particle held there alone, in the end that of both.
#[test]
fn a_support_takes_the_weight() {
    let rest = "[[boundary]]
side = \"zmax\"
[[gravity]]
vector = [0, 0, -2.0]
[[monitor]]
name = \"TOP\"
side = \"zmax\"
variables = [\"RF\"]
";
    let model = Model::new([1, 1, 2], |_| 1, &(head("time = 40.0\nalpha = 2.0", 3.0, 5.0) + rest));
    for precision in ["f64", "f32"] {
        model.solve(precision, &["--precision", precision]);
        let traces = model.table(precision, "traces.csv");
        let force = traces.column("TOP.2.RF3");
        let [first, last] = [force[0], *force.last().unwrap()];
        assert!((first - 6.0).abs() < 1e-6 && (last - 12.0).abs() < 1e-4, "{precision}: {first} {last}");
        assert!(traces.column("TOP.2.RF1").iter().all(|force| *force == 0.0));
    }
}

#[test]
fn a_run_goes_on_bit_for_bit() {
    let job = TISSUE
        .replace("time = 3.0", "time = 400.0")
        .replace("max_strain = 0.12", "max_strain = 3.0")
        .replace("value = 0.9", "value = 0.01");
    let model = Model::new([10, 10, 10], |[x, _, _]| if x > 5 { 2 } else { 1 }, &job);
    let whole = model.solve("whole", &[]);
    let mut start = command("pogo-solve");
    start.current_dir(model.folder.path()).args(["a.blk", "-q", "--device", "cpu", "-o", "parts"]);
    let mut child = start.args(["--checkpoint-interval", "20steps"]).spawn().expect("starts");
    let checkpoint = model.path("parts/checkpoint.pogo");
    let began = std::time::Instant::now();
    while !checkpoint.exists() && began.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    succeed(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]));
    let code = child.wait().expect("ends").code();
    assert_eq!(code, Some(4), "interrupted after a checkpoint");
    let stopped = number(&model.summary("parts"), "steps");
    assert!(stopped > 0.0 && stopped < number(&whole, "steps"), "{stopped}");
    let parts = model.solve("parts", &["--restart"]);
    assert_eq!(number(&parts, "first_step"), stopped);
    for file in ["traces.csv", "broken.csv", "fields.pvd"] {
        assert!(model.bytes("whole", file) == model.bytes("parts", file), "{file}");
    }
    // Work and dissipation are sums that begin anew at a restart: the same to rounding.
    let [whole, parts] = ["whole", "parts"].map(|out| model.table(out, "energy.csv"));
    assert_eq!(whole.names, parts.names);
    for (name, (a, b)) in whole.names.iter().zip(whole.columns.iter().zip(&parts.columns)) {
        let followed = name == "external" || name == "dissipated";
        let same = a.iter().zip(b).all(|(a, b)| a == b || followed && (a / b - 1.0).abs() < 1e-12);
        assert!(same && a.len() == b.len(), "{name}");
    }
    let last = std::fs::read_dir(model.path("whole/fields")).unwrap().map(|entry| entry.unwrap().file_name());
    let last = last.max().unwrap().into_string().unwrap();
    assert!(model.bytes("whole", &format!("fields/{last}")) == model.bytes("parts", &format!("fields/{last}")));
}

#[test]
fn studies_change_stiffness_damping_and_loads() {
    let rest = "[[boundary]]
side = \"xmin\"
[[source]]
name = \"PULL\"
side = \"xmax\"
direction = [1, 0, 0]
force = 0.01
[[monitor]]
name = \"END\"
at = [3, 0, 0]
";
    let model = Model::new([4, 2, 2], |_| 1, &(head("time = 2.0", 1.0, 4.0) + rest));
    let study = "[sweep]\n\"spring.a.axis.stiffness\" = [4.0, 8.0]\n\"source.PULL.magnitude\" = [0.01, 0.02]\n\
                 [[case]]\nname = \"damped\"\nset = { \"solver.alpha\" = 5.0, \"spring.a.face.damping\" = 0.5 }\n";
    std::fs::write(model.path("study.toml"), study).unwrap();
    succeed(command("pogo-solve").current_dir(model.folder.path()).args([
        "a.blk",
        "-q",
        "--device",
        "cpu",
        "--study",
        "study.toml",
        "-o",
        "study",
    ]));
    let stiff = ["a.blk", "--device", "cpu", "--precision", "f32", "--set", "source.PULL.magnitude=1e40"];
    let output = command("pogo-solve").current_dir(model.folder.path()).args(stiff).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("single precision cannot hold"), "{said}");
    let index = std::fs::read_to_string(model.path("study/study.csv")).unwrap();
    assert_eq!(index.matches(",completed,").count(), 5, "{index}");
    let heads = index.lines().next().unwrap();
    assert!(heads.contains(",broken,cut,springs_left,") && heads.contains(",peak(END.4.U1)"), "{heads}");
    let end = |case: &str| *model.table(&format!("study/{case}"), "traces.csv").column("END.4.U1").last().unwrap();
    let (soft, stiff) = (end("magnitude-0.01_stiffness-4"), end("magnitude-0.01_stiffness-8"));
    let twice = end("magnitude-0.02_stiffness-4");
    assert!(soft != stiff && (twice / soft - 2.0).abs() < 0.05, "{soft} {stiff} {twice}");
    assert!(end("damped").abs() < soft.abs());
}

#[test]
fn what_cannot_be_is_said() {
    let job = head("time = 1.0", 1.0, 4.0);
    let held = format!("{job}[[gravity]]\nvector = [0, 0, -1.0]\n[[boundary]]\nside = \"zmin\"\n");
    let model = Model::new([3, 3, 3], |_| 1, &held);
    let solve = |arguments: &[&str]| {
        let mut solve = command("pogo-solve");
        solve.current_dir(model.folder.path()).args(["a.blk", "-q", "--device", "cpu", "-o", "x"]).args(arguments);
        let output = solve.output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, message) = solve(&["--increment", "1"]);
    assert!(code == Some(1) && message.contains("--allow-unstable"), "{message}");
    let (code, message) = solve(&["--increment", "3", "--time", "3000", "--allow-unstable"]);
    assert!(code == Some(3), "{code:?} {message}");
    assert_eq!(model.summary("x")["status"], "diverged");
    assert!(model.path("x/diverged.pogo").exists());
    let (code, message) = solve(&["--lumping", "hrz"]);
    assert!(code == Some(1) && message.contains("explicit dynamics"), "{message}");
    let (code, message) = solve(&["--set", "spring.a.axis.stifness=3"]);
    assert!(code == Some(1) && message.contains("spring.a.axis.stiffness"), "{message}");
    for (more, expected) in [
        ("[[boundary]]\nnset = \"NO\"\n", "there is no node set NO"),
        ("[[add]]\ngroup = \"b\"\npairs = [[1, 2]]\n", "there is no spring group"),
        ("[[erase]]\npairs = [[1, 99]]\n", "no particle has the label 99"),
        ("[[springs]]\nname = \"s\"\nall = true\nstiffness = 1\n", "`all` and `elset` are for decks"),
    ] {
        let text = format!("physics = \"spring\"\n[image]\nspacing = 1\n{job}{more}");
        std::fs::write(model.path("bad.toml"), &text).unwrap();
        let mut block = command("pogo-block");
        block.current_dir(model.folder.path()).args(["a.npy", "--job", "bad.toml", "-o", "bad.blk", "-q"]);
        let output = block.output().expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(&format!("bad.toml:10: error: {expected}")), "{message}");
    }
    for (more, expected) in [
        ("max_strain = 30\n", "job.toml:7: warning: `max_strain` = 30: springs of a.axis break at 31 times"),
        ("max_strain = 0.1\nrest_factor = 0.9\n", "job.toml:7: warning: springs of a.axis are longer at rest than"),
        ("max_strain = 2.0\nrest_factor = 0.5\n", ""),
        ("max_strain = 0.3\n", ""),
    ] {
        let model =
            Model::new([2, 2, 2], |_| 1, &held.replace("stiffness = 4.0\n", &format!("stiffness = 4.0\n{more}")));
        let mut block = command("pogo-block");
        let check = block.current_dir(model.folder.path()).args(["a.npy", "--job", "job.toml", "--check"]);
        let message = String::from_utf8(check.output().expect("runs").stderr).expect("text");
        let found = message.lines().find(|line| line.contains("warning:")).unwrap_or_default();
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{expected}: {message}");
    }
}

#[test]
fn a_real_stack_becomes_a_lattice() {
    let Some(stack) = shared("voxels/parosol_py/trab1240_labels.npz") else { return };
    let job = "[solver]\ntime = 1e-3\n[[material]]\nname = \"bone\"\nthreshold = 1\ndensity = 2e-6\nstiffness = 100.0\n\
               [[boundary]]\nside = \"zmin\"\n[[gravity]]\nvector = [0, 0, -9810]\n";
    let model = Model::block(tempfile::tempdir().unwrap(), &stack, job);
    let summary = model.solve("out", &["--precision", "f32"]);
    assert_eq!(number(&summary, "particles"), 179_421.0);
    assert!(number(&summary["energy"], "elastic") > 0.0);
}

#[test]
fn the_papers_lattices_are_generated() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, arguments: &[&str]| succeed(command(name).current_dir(folder.path()).args(arguments));
    run("pogo-gen", &["box", "8", "-q"]);
    run("pogo-block", &["box.npy", "--job", "box.toml", "-q"]);
    run("pogo-solve", &["box.blk", "-q", "--device", "cpu", "--time", "0.002"]);
    run("pogo-gen", &["box", "--heart", "-q"]);
    run("pogo-block", &["heart.npy", "--job", "heart.toml", "-q"]);
    let text = run("pogo-info", &["heart.blk", "--json"]).stdout;
    let info: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((number(&info, "particles"), number(&info, "loose_particles")), (29_449.0, 0.0));
    let fill = number(&info, "fill");
    assert!((fill - 29_449.0 / 140_760.0).abs() < 1e-12);
}

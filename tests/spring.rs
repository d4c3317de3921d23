//! Mass-spring-damper models through the two commands: exact solutions, both addressings, cuts, breaking, restarts, studies.

use std::path::{Path, PathBuf};

use pogo_tests::{Traces, command, relative_error, shared, succeed};

/// A stack of bytes, x fastest, as `.npy`.
fn write_npy(path: &Path, size: [usize; 3], voxel: impl Fn([usize; 3]) -> u8) {
    let [x, y, z] = size;
    let mut header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({z}, {y}, {x}), }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..x * y * z).map(|i| voxel([i % x, i / x % y, i / x / y])));
    std::fs::write(path, bytes).expect("the stack is written");
}

/// A folder with a lattice of spacing 1, its first particle at the origin, blocked with a job.
struct Model {
    folder: tempfile::TempDir,
}

impl Model {
    fn new(size: [usize; 3], voxel: impl Fn([usize; 3]) -> u8, job: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write_npy(&folder.path().join("a.npy"), size, voxel);
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

/// ω̂ of Verlet's scheme for a mode of frequency ω.
fn verlet(omega: f64, dt: f64) -> f64 {
    2.0 / dt * (0.5 * omega * dt).asin()
}

#[test]
fn two_masses_swing_as_verlet_says() {
    let (mass, k, v, dt) = (0.5, 8.0, 1e-3, 0.05);
    let job = format!(
        "[solver]
time = 10.0
increment = {dt}
[[material]]
name = \"a\"
mass = {mass}
stiffness = {k}
[[initial_velocity]]
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

#[test]
fn a_mode_of_a_chain_keeps_its_shape() {
    // Five masses between two fixed ones, in mode p.
    let (n, p, k, mass, dt) = (5_usize, 2.0, 3.0_f64, 0.25, 0.02);
    let shape = |i: usize| (std::f64::consts::PI * p * i as f64 / (n as f64 + 1.0)).sin();
    let mut job = format!(
        "[solver]\ntime = 6.0\nincrement = {dt}\n[[material]]\nname = \"a\"\nmass = {mass}\nstiffness = {k}\n\
         [[boundary]]\nside = [\"xmin\", \"xmax\"]\n[[monitor]]\nname = \"M\"\nline = [[0, 0, 0], [6, 0, 0]]\n"
    );
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
fn a_cut_splits_a_body() {
    let [nx, ny, nz] = [8, 4, 5];
    let job = "[solver]
time = 4.0
[[material]]
name = \"a\"
mass = 1.0
stiffness = 1.0
[[initial_velocity]]
box = [[0, 0, 0], [3, 9, 9]]
velocity = [-0.1, 0, 0]
[[initial_velocity]]
box = [[4, 0, 0], [7, 9, 9]]
velocity = [0.1, 0, 0]
[[cut]]
point = [3.5, 0, 0]
normal = [1, 0, 0]
[[monitor]]
name = \"ENDS\"
line = [[0, 0, 0], [7, 0, 0]]
";
    let model = Model::new([nx, ny, nz], |_| 1, job);
    let summary = model.solve("out", &["--plot"]);
    let crossing = ny * nz + 2 * (ny - 1) * nz + 2 * ny * (nz - 1);
    assert_eq!(number(&summary, "cut"), crossing as f64);
    // Two bodies that fly apart without a force: every particle at its own speed.
    let traces = model.table("out", "traces.csv");
    for (label, v) in [(1, -0.1), (4, -0.1), (5, 0.1), (8, 0.1)] {
        let last = *traces.column(&format!("ENDS.{label}.U1")).last().unwrap();
        assert!((last - 4.0 * v).abs() < 1e-12, "{label}: {last}");
    }
    assert!(number(&summary["energy"], "elastic") < 1e-20);
    assert!(model.path("out/traces.svg").exists());
    assert!(summary["files"].as_array().unwrap().iter().any(|name| name.as_str().unwrap().ends_with(".png")));
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
    let job = format!(
        "[solver]
time = 3.0
increment = {dt}
[[material]]
name = \"a\"
mass = {mass}
stiffness = {k}
[[boundary]]
side = \"xmax\"
components = \"x\"
{motion}
[[monitor]]
name = \"ALL\"
line = [[0, 0, 0], [1, 0, 0]]
variables = [\"U\", \"V\", \"A\"]
"
    );
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
    let job = "[solver]
time = 40.0
alpha = 2.0
[[material]]
name = \"a\"
mass = 3.0
stiffness = 5.0
[[boundary]]
side = \"zmax\"
[[gravity]]
vector = [0, 0, -2.0]
[[monitor]]
name = \"TOP\"
side = \"zmax\"
variables = [\"RF\"]
";
    let model = Model::new([1, 1, 2], |_| 1, job);
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
fn a_spring_breaks_where_its_strain_passes_the_limit() {
    let job = "[solver]
time = 8.0
increment = 1e-3
alpha = 50.0
[[material]]
name = \"a\"
mass = 1e-4
stiffness = 10.0
max_strain = 0.2
[[boundary]]
side = \"xmin\"
[[boundary]]
side = \"xmax\"
components = \"x\"
value = 0.05
type = \"velocity\"
";
    let model = Model::new([2, 1, 1], |_| 1, job);
    let summary = model.solve("out", &[]);
    assert_eq!((number(&summary, "broken"), number(&summary, "springs_left")), (1.0, 0.0));
    let rows = String::from_utf8(model.bytes("out", "broken.csv")).unwrap();
    let last = rows.lines().last().unwrap();
    assert!(last.ends_with(",1,2,a.axis,strain"), "{last}");
    // 0.05 t = 0.2.
    let time: f64 = last.split(',').next().unwrap().parse().unwrap();
    assert!((time - 4.0).abs() < 3e-3, "{time}");
}

#[test]
fn springs_that_are_added_join_bodies() {
    let job = "[solver]
time = 20.0
alpha = 0.3
[[material]]
name = \"a\"
mass = 1.0
stiffness = 1.0
[[springs]]
name = \"suture\"
stiffness = 2.0
[[initial_velocity]]
box = [[3, 0, 0], [4, 0, 0]]
velocity = [0.2, 0, 0]
[[add]]
name = \"SEW\"
time = 2.0
group = \"suture\"
at = [[[1, 0, 0], [3, 0, 0]]]
";
    let model = Model::new([5, 1, 1], |[x, _, _]| u8::from(x != 2), job);
    let summary = model.solve("out", &[]);
    assert_eq!((number(&summary, "added"), number(&summary, "springs_left")), (1.0, 3.0));
    assert_eq!(summary["addressing"], "explicit");
    let rows = String::from_utf8(model.bytes("out", "broken.csv")).unwrap();
    assert!(rows.lines().last().unwrap().ends_with(",2,4,suture,add SEW"), "{rows}");
    let failed = command("pogo-solve")
        .current_dir(model.folder.path())
        .args(["a.blk", "-q", "--device", "cpu", "--addressing", "implicit", "-o", "other"])
        .output()
        .expect("runs");
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && message.contains("particle 2 to 4"), "{message}");
}

#[test]
fn added_springs_are_erased_with_their_sets_and_idle_changes_are_said() {
    let job = "
[solver]
time = 4.0
increment = 0.1
[[material]]
name = \"a\"
mass = 1.0
stiffness = 1.0
[[springs]]
name = \"suture\"
stiffness = 2.0
[[add]]
name = \"SEW\"
time = 1.0
group = \"suture\"
at = [[[1, 0, 0], [3, 0, 0]]]
[[add]]
name = \"AGAIN\"
time = 2.0
group = \"suture\"
pairs = [[1, 2]]
[[erase]]
name = \"PEEL\"
time = 3.0
within = \"a\"
[[cut]]
name = \"MISS\"
time = 1.0
point = [9, 0, 0]
normal = [1, 0, 0]
[[cut]]
name = \"LATE\"
time = 4.0
point = [0.5, 0, 0]
normal = [1, 0, 0]
";
    let model = Model::new([5, 1, 1], |[x, _, _]| u8::from(x != 2), job);
    let summary = model.solve("out", &[]);
    assert_eq!(
        ["added", "erased", "cut", "springs_left"].map(|name| number(&summary, name)),
        [1.0, 3.0, 0.0, 0.0],
        "{summary:#}"
    );
    assert_eq!(
        summary["warnings"],
        serde_json::json!([
            "MISS does nothing: it crosses no spring",
            "LATE does nothing: its time, 4 s, is not before the end of the run",
            "AGAIN does nothing: its springs are there already",
        ])
    );
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
    let job = "[solver]
time = 2.0
[[material]]
name = \"a\"
mass = 1.0
stiffness = 4.0
[[boundary]]
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
    let model = Model::new([4, 2, 2], |_| 1, job);
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
    let index = std::fs::read_to_string(model.path("study/study.csv")).unwrap();
    assert_eq!(index.matches(",completed,").count(), 5, "{index}");
    let end = |case: &str| *model.table(&format!("study/{case}"), "traces.csv").column("END.4.U1").last().unwrap();
    let (soft, stiff) = (end("magnitude-0.01_stiffness-4"), end("magnitude-0.01_stiffness-8"));
    let twice = end("magnitude-0.02_stiffness-4");
    assert!(soft != stiff && (twice / soft - 2.0).abs() < 0.05, "{soft} {stiff} {twice}");
    assert!(end("damped").abs() < soft.abs());
}

#[test]
fn what_cannot_be_is_said() {
    let job = "[solver]\ntime = 1.0\n[[material]]\nname = \"a\"\nmass = 1.0\nstiffness = 4.0\n";
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
}

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
    refused(&line("T3D2", "1, 2"), job, "which edges are springs?");
    let density = all.replace("mass = 1.0", "density = 1.0");
    refused(&line("T3D2", "1, 2"), &density, "a.toml:4: error: node 1 has no share of an area or volume");
    let bare = "physics = \"spring\"\n[solver]\ntime = 1.0\n[[springs]]\nname = \"s\"\nall = true\nstiffness = 1.0\n";
    refused(&line("T3D2", "1, 2"), bare, "node 1 has springs and no material");
    // Explicit dynamics goes on refusing them, and says what would not.
    let solid = format!(
        "{}*SOLID SECTION, ELSET=E, MATERIAL=M\n1.\n*MATERIAL, NAME=M\n*ELASTIC\n1., 0.\n*DENSITY\n1.\n",
        line("T3D2", "1, 2")
    );
    refused(&solid, "", "`physics = \"spring\"` makes springs of elements with two nodes");
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

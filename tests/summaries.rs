//! Summaries of real runs of all kinds are as `docs/summary.schema.json` says.

use std::path::Path;
use std::process::Command;

use pogo_tests::arrays::write_stack;
use pogo_tests::{command, succeed, workspace};

/// A bar of hexahedra that a force pulls for 5 µs.
fn write_bar(path: &Path) {
    let mut deck = String::from("*NODE\n");
    for at in 0..20 {
        let (x, y, z) = (at / 4, at % 4 % 2, at % 4 / 2);
        deck += &format!("{}, {}e-3, {y}e-3, {z}e-3\n", at + 1, x);
    }
    deck += "*ELEMENT, TYPE=C3D8, ELSET=BAR\n";
    for e in 0..4 {
        let node = |more: usize| 4 * e + more + 1;
        let nodes = [0, 4, 5, 1, 2, 6, 7, 3].map(node).map(|node| node.to_string());
        deck += &format!("{}, {}\n", e + 1, nodes.join(", "));
    }
    deck += "*NSET, NSET=END, GENERATE\n17, 20\n*NSET, NSET=HELD, GENERATE\n1, 4\n*MATERIAL, NAME=STEEL\n*DENSITY\n7800\n\
             *ELASTIC\n200e9, 0.3\n*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL\n*BOUNDARY\nHELD, 1, 3\n*STEP\n\
             *DYNAMIC, EXPLICIT\n, 5e-6\n*CLOAD\nEND, 1, 10.0\n*OUTPUT, HISTORY, TIME INTERVAL=1e-7\n*NODE OUTPUT, NSET=END\nU\n\
             *END STEP\n";
    std::fs::write(path, deck).expect("the deck is written");
}

/// A job of each kind, by the name of its block file.
const JOBS: [(&str, &str); 4] = [
    (
        "bone",
        "[image]\nspacing = 0.1\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1e3\npoisson = 0.3\n[load]\npreset = \"axial\"\n\
         strain = -0.01\n",
    ),
    (
        "tensor",
        "[image]\nspacing = 0.1\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1e3\npoisson = 0.3\n[load]\n\
         preset = \"six-cases\"\nstrain = 0.01\n",
    ),
    (
        "own",
        "[image]\nspacing = 0.1\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1e3\npoisson = 0.3\n[[boundary]]\n\
         side = \"zmin\"\n[[force]]\nname = \"pull\"\nside = \"zmax\"\nforce = [0, 0, 1]\n",
    ),
    (
        "tissue",
        "physics = \"spring\"\n[image]\nunit = \"m\"\nspacing = 1e-3\n[solver]\ntime = 0.01\n[[material]]\nname = \"fat\"\nthreshold = 1\n\
         density = 950.0\nstiffness = { axis = 1.0, face = 0.7, space = 0.3 }\n[[boundary]]\nside = \"zmin\"\n[[boundary]]\n\
         name = \"TOP\"\nside = \"zmax\"\ncomponents = \"z\"\nvalue = 1e-4\n",
    ),
];

#[test]
fn summaries_of_all_kinds_of_runs_are_as_the_schema_says() {
    let Some(python) = pogo_tests::python(&["jsonschema"]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut summaries = Vec::new();
    let mut solve = |arguments: &[&str], code: i32, of: &[&str]| {
        let output =
            command("pogo-solve").current_dir(&folder).args(arguments).args(["-q", "--device", "cpu"]).output();
        let output = output.expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code), "{arguments:?}: {said}");
        summaries.extend(of.iter().map(|name| path(name).join("summary.json")));
    };
    write_stack(&path("stack.npy"), [5, 4, 6], |_| 1);
    for (name, job) in JOBS {
        std::fs::write(path("job.toml"), job).expect("the job is written");
        let mut block = command("pogo-block");
        let block = block.current_dir(&folder).args(["stack.npy", "--job", "job.toml", "-q", "-o"]);
        succeed(block.arg(format!("{name}.blk")));
        solve(&[&format!("{name}.blk"), "-o", name, "--timings"], 0, &[name]);
    }
    solve(&["bone.blk", "-o", "few", "--set", "solver.max_iterations=1"], 3, &["few"]);
    write_bar(&path("bar.inp"));
    succeed(command("pogo-block").current_dir(&folder).args(["bar.inp", "-q"]));
    solve(&["bar.blk", "-o", "bar"], 0, &["bar"]);
    solve(&["bar.blk", "-o", "grows", "--increment", "2e-6", "--time", "1e-3", "--allow-unstable"], 3, &["grows"]);
    std::fs::write(path("study.toml"), "[sweep]\n\"material.steel.young\" = [200e9, 100e9]\n").expect("a study");
    solve(&["bar.blk", "--study", "study.toml", "-o", "study"], 0, &["study/young-2e11", "study/young-1e11"]);
    succeed(command("pogo-gen").current_dir(&folder).args([
        "ventricle",
        "--rings",
        "4",
        "--layers",
        "2",
        "-o",
        "heart.vtu",
    ]));
    let job = workspace().join("examples/eikonal/activation.toml");
    succeed(command("pogo-block").current_dir(&folder).args(["heart.vtu", "-q", "--domains", "3", "--job"]).arg(job));
    std::fs::write(path("sites.csv"), "case,x,y,z\none,17,0,0\nother,0,17,0\n").expect("a table");
    solve(&["heart.blk", "-o", "heart"], 0, &["heart"]);
    solve(&["heart.blk", "-o", "sites", "--starts", "sites.csv"], 0, &["sites"]);
    summaries.extend(interrupted(folder.path()));
    let schema = workspace().join("docs/summary.schema.json");
    let script = workspace().join("tests/python/check_summaries.py");
    succeed(Command::new(&python).arg("-B").arg(script).arg(schema).args(&summaries));
}

/// The summary of a run that was stopped by a signal.
fn interrupted(folder: &Path) -> Option<std::path::PathBuf> {
    let mut command = command("pogo-solve");
    let long = ["tissue.blk", "-o", "stopped", "--time", "1e3", "-q", "--device", "cpu"];
    let mut child = command.current_dir(folder).args(long).spawn().expect("the command starts");
    let began = std::time::Instant::now();
    while !folder.join("stopped").exists() && began.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    // SAFETY: a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    assert_eq!(child.wait().expect("a child").code(), Some(4));
    Some(folder.join("stopped/summary.json"))
}

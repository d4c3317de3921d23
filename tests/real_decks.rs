//! Decks that somebody else wrote run to the end.

use std::path::Path;
use std::process::Command;

use pogo_tests::{command, python, shared, succeed, workspace};

/// Blocks and solves a deck with a job and arguments; gives the summary.
fn run(deck: &str, job: Option<&str>, block_arguments: &[&str], solve_arguments: &[&str]) -> Option<serde_json::Value> {
    let deck = shared(&format!("decks/{deck}"))?;
    let scratch = tempfile::tempdir().unwrap();
    let block = scratch.path().join("deck.blk");
    let mut command_block = command("pogo-block");
    command_block.arg(&deck).arg("-o").arg(&block).arg("--quiet").args(block_arguments);
    if let Some(job) = job {
        std::fs::write(scratch.path().join("job.toml"), job).unwrap();
        command_block.arg("--job").arg(scratch.path().join("job.toml"));
    }
    succeed(&mut command_block);
    let out = scratch.path().join("out");
    succeed(command("pogo-solve").arg(&block).arg("-o").arg(&out).arg("--quiet").args(solve_arguments));
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"], "completed", "{summary:#}");
    assert!(summary["steps"].as_u64().unwrap() > 0);
    Some(summary)
}

#[test]
fn gmsh_triangles_with_a_job() {
    let job = r#"
[solver]
time = 2e-5
[[material]]
name = "steel"
young = 210e9
poisson = 0.3
density = 7800.0
[[section]]
all = true
material = "steel"
plane = "strain"
[[amplitude]]
name = "burst"
kind = "hann"
frequency = 5e5
cycles = 3
[[source]]
name = "hit"
at = [0.0, 0.0]
direction = [0.0, 1.0]
force = 1000.0
amplitude = "burst"
[[monitor]]
name = "far"
at = [1.0, 1.0]
"#;
    if let Some(summary) = run("gmsh_native_2d.inp", Some(job), &[], &["--time", "2e-5"]) {
        assert!(summary["nodes"].as_u64().unwrap() <= 1562);
        assert_eq!(summary["elements"], 2958);
    }
}

#[test]
fn several_instances_without_their_contact() {
    let arguments = ["--ignore", "CONTACT", "--ignore", "PLASTIC"];
    if let Some(summary) = run("hakai_car-wall-N22k.inp", None, &arguments, &["--time", "1e-3"]) {
        assert_eq!(summary["nodes"], 22218);
        assert_eq!(summary["elements"], 10892);
    }
}

#[test]
fn a_tensile_test_without_its_plasticity() {
    if let Some(summary) = run("hakai_Tensile-test.inp", None, &["--ignore", "PLASTIC"], &[]) {
        assert_eq!(summary["elements"], 288);
    }
}

/// Every deck that is refused runs when the errors are obeyed, is wrong in itself, or cannot be computed here, which is then said.
#[test]
#[ignore = "slow, all decks, some of them several times: .ci/run --slow runs it"]
fn obeying_the_errors_leads_on() {
    let (Some(decks), Some(python)) = (shared("decks"), python(&["argparse"])) else { return };
    let block = command("pogo-block");
    let commands = Path::new(block.get_program()).parent().expect("commands lie in a folder");
    let script = workspace().join("tests/python/obey.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(&decks));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(" runs") && !said.contains("DEAD END"), "{said}");
}

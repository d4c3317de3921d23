//! The program `pogo-solve`: exit codes, messages, JSON, signals, overrides, studies.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pogo_formats::mesh::*;

use crate::common::*;

pub struct Model {
    pub folder: tempfile::TempDir,
    pub block_file: PathBuf,
}

/// A small bar hit at its end.
pub fn bar(time: f64) -> Model {
    let mesh = grid_2d(ElementKind::Cps4r, [20, 4], [0.02, 0.004]);
    let mut setup = steel(time);
    setup.amplitudes = vec![burst(4e5)];
    setup.loads = vec![point_force(20, [1.0, 0.0, 0.0], 10.0, Some(0))];
    setup.histories = vec![history("END", vec![20], &displacements(2))];
    let folder = tempfile::tempdir().unwrap();
    let block_file = write_block(folder.path(), &mesh, &setup, 32);
    Model { folder, block_file }
}

impl Model {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = pogo_solve();
        command.arg(&self.block_file).args(["--threads", "1"]).args(arguments).current_dir(self.folder.path());
        command
    }

    pub fn call(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// Largest displacement of the bar's end.
fn peak(path: &Path) -> f64 {
    Traces::read(path).get("END.21.U1").iter().fold(0.0, |peak, u| peak.max(u.abs()))
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_size_limit_is_an_error_that_leaves_nothing() {
    let model = bar(2e-5);
    let line = "ulimit -f 1; exec \"$0\" \"$1\" --quiet --threads 1 -o out --energy-samples 1";
    let run = Command::new("sh")
        .args(["-c", line])
        .arg(pogo_solve().get_program())
        .arg(&model.block_file)
        .current_dir(model.folder.path())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(text(&run.stderr).starts_with("out/traces.csv: error: File too large"), "{run:?}");
    assert!(!model.path("out").exists());
}

#[test]
fn timings_name_the_stages_on_stderr_and_in_the_summary() {
    let model = bar(2e-5);
    let output = model.call(&["--timings", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.starts_with("stage ") && said.lines().last().unwrap().starts_with("all "), "{said}");
    let summary = || -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(model.path("model.out/summary.json")).unwrap()).unwrap()
    };
    let timed = summary();
    let stages = timed["timings"].as_array().unwrap();
    for name in ["open", "assemble", "set up", "time loop", "write results"] {
        let stage = stages.iter().find(|stage| stage["stage"] == name);
        let stage = stage.unwrap_or_else(|| panic!("{name} in {stages:?}"));
        assert!(stage["times"] == 1 && stage["seconds"].as_f64().unwrap() >= 0.0, "{stage}");
        assert!(said.contains(&format!("\n{name} ")), "{name} in {said}");
    }
    assert_eq!(model.call(&["--quiet"]).stderr, b"");
    assert!(summary().get("timings").is_none());
}

#[test]
fn a_run_writes_its_folder_and_says_what_it_did() {
    let model = bar(2e-5);
    let output = model.call(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    for part in ["105 nodes, 80 elements", "stable up to", "done:", "node-steps/s"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    for name in ["traces.csv", "traces.npz", "energy.csv", "summary.json"] {
        assert!(model.path("model.out").join(name).exists(), "{name}");
    }
    let traces = std::fs::read_to_string(model.path("model.out/traces.csv")).unwrap();
    assert!(traces.starts_with("# Pogo "), "{traces}");
    assert!(traces.contains("\ntime,END.21.U1,END.21.U2\n"));

    let output = model.call(&["--quiet", "--json"]);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let summary = json(&output);
    assert_eq!(summary["nodes"], 105);
    assert_eq!(summary["status"], "completed");
    assert!(summary["bytes_per_node_step"].as_f64().unwrap() > 0.0);
    assert!(summary["block_efficiency"].as_f64().unwrap() > 0.0);
}

#[test]
fn overrides_change_the_run_and_are_recorded() {
    let model = bar(2e-5);
    assert!(model.call(&["-q"]).status.success());
    let base = peak(&model.path("model.out/traces.csv"));
    let output = model.call(&["-q", "-o", "twice", "--set", "load.force20.magnitude=20", "--increment", "1e-8"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = model.call(&["-q", "-o", "once", "--increment", "1e-8"]);
    assert!(output.status.success());
    let (once, twice) = (peak(&model.path("once/traces.csv")), peak(&model.path("twice/traces.csv")));
    assert!((twice - 2.0 * once).abs() < 1e-12 * once.abs(), "linear");
    assert!((once - base).abs() < 0.1 * base.abs());
    assert!(
        std::fs::read_to_string(model.path("twice/traces.csv")).unwrap().contains("set: load.force20.magnitude=20")
    );

    for (assignment, expected) in [
        ("load.force20.magnitde=20", "did you mean"),
        ("load.force20.magnitude", "NAME=VALUE"),
        ("load.force20.magnitude=much", "number"),
    ] {
        let output = model.call(&["--set", assignment]);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.starts_with("error: ") && said.contains(expected), "{said}");
    }
}

#[test]
fn settings_of_a_run_are_set_by_name_too() {
    let model = bar(2e-5);
    let output = model.call(&["-q", "--json", "--set", "solver.precision=f32"]);
    assert_eq!((&json(&output)["precision"], output.status.code()), (&"f32".into(), Some(0)));
    let output = model.call(&["--set", "solver.precision=f16"]);
    assert!(text(&output.stderr).contains("f32 or f64"), "{}", text(&output.stderr));
    let output = model.call(&["--no-work"]);
    assert!(text(&output.stderr).contains("--no-work is for masses and springs only"), "{}", text(&output.stderr));
}

#[test]
fn exit_codes_are_as_documented() {
    let model = bar(2e-4);
    assert_eq!(model.call(&["--increment", "1"]).status.code(), Some(1));
    assert_eq!(model.call(&["--no-such-option"]).status.code(), Some(2));
    assert_eq!(pogo_solve().output().unwrap().status.code(), Some(2));
    let missing = pogo_solve().arg("nowhere.blk").output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    let said = text(&missing.stderr);
    assert!(said.starts_with("nowhere.blk: error:") && said.matches("No such file").count() == 1, "{said}");
    let cuda = model.call(&["--device", "cuda:99"]);
    assert_eq!(cuda.status.code(), Some(1));
    assert!(text(&cuda.stderr).contains("--device cpu"));

    let unstable = model.call(&["--increment", "3e-7"]);
    assert_eq!(unstable.status.code(), Some(1));
    assert!(text(&unstable.stderr).contains("of element 10"), "{}", text(&unstable.stderr));
    let diverged = model.call(&["--increment", "3e-7", "--allow-unstable", "--json"]);
    assert_eq!(diverged.status.code(), Some(3), "{}", text(&diverged.stderr));
    assert_eq!(json(&diverged)["status"], "diverged");
    assert!(text(&diverged.stderr).contains("above the stable"));
    // Quiet is nothing but errors, and this is one.
    let diverged = model.call(&["--increment", "3e-7", "--allow-unstable", "--quiet"]);
    assert_eq!(diverged.status.code(), Some(3));
    let said = text(&diverged.stderr);
    assert!(said.lines().count() == 1 && said.contains("above the stable"), "{said}");
    std::fs::write(model.path("s.toml"), "[sweep]\n'load.force20.magnitude' = [1.0, 'much']\n").unwrap();
    let study = model.call(&["--quiet", "--study", "s.toml", "-o", "study"]);
    assert_eq!(study.status.code(), Some(1));
    let said = text(&study.stderr);
    assert!(said.lines().count() == 1 && said.starts_with("case magnitude-much: error: "), "{said}");
}

#[test]
fn help_that_cannot_be_written_is_no_success() {
    for option in ["--help", "--version", "--man"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = pogo_solve().arg(option).stdout(full).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("cannot write to stdout"), "{option}: {said}");
    }
}

/// What other processes write to the same standard error cannot come into the middle of a message. A datagram is what one write
/// gave.
#[test]
fn a_message_is_one_write() {
    let (ours, stderr) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let status = pogo_solve().arg("nowhere.blk").stderr(std::os::fd::OwnedFd::from(stderr)).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let mut message = [0; 4096];
    let length = ours.recv(&mut message).unwrap();
    let said = text(&message[..length]);
    assert!(said.starts_with("nowhere.blk: error: ") && said.ends_with('\n') && said.lines().count() == 1, "{said}");
}

#[test]
fn help_completions_and_manual_are_there() {
    let help = text(&pogo_solve().arg("--help").output().unwrap().stdout);
    for part in ["Examples:", "Exit codes:", "--restart", "SIGUSR1"] {
        assert!(help.contains(part), "{part}");
    }
    assert!(help.contains("--completions bash") && help.contains("--man"));
    insta::assert_snapshot!(help);
    let completions = pogo_solve().args(["--completions", "bash"]).output().unwrap();
    assert!(completions.status.success() && text(&completions.stdout).contains("pogo-solve"));
    let manual = pogo_solve().arg("--man").output().unwrap();
    assert!(manual.status.success() && text(&manual.stdout).contains(".TH"));
    let version = text(&pogo_solve().arg("--version").output().unwrap().stdout);
    assert_eq!(version.trim(), format!("pogo-solve {}", pogo_formats::VERSION));
}

pub fn wait(child: &mut std::process::Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("still running after a minute");
}

pub fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until the run has begun, that is until its signals are caught.
pub fn wait_for_start(child: &mut std::process::Child) {
    use std::io::{BufRead, BufReader};
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.by_ref().any(|line| line.unwrap().contains("stable up to")));
    // The line comes just before the first step.
    std::thread::sleep(std::time::Duration::from_millis(20));
    // Keep reading, so that the program never blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
}

#[cfg(unix)]
#[test]
fn signals_write_checkpoints_and_a_restart_gives_the_same_traces() {
    // Some 330,000 steps: the better part of a second, so that a signal comes in time on a busy machine.
    let model = bar(5e-2);
    assert!(model.call(&["-q", "-o", "whole"]).status.success());
    for name in ["TERM", "INT"] {
        let mut child = model.command(&["-o", name]).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_start(&mut child);
        signal(&child, name);
        assert_eq!(wait(&mut child), Some(4), "{name}");
        let output = model.call(&["-o", name, "--restart", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(json(&output)["first_step"].as_u64().unwrap() > 0);
        assert_eq!(
            std::fs::read(model.path("whole/traces.csv")).unwrap(),
            std::fs::read(model.path(name).join("traces.csv")).unwrap()
        );
    }
    // USR1: a checkpoint, and on to the end.
    let mut child = model.command(&["-o", "usr1"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_start(&mut child);
    signal(&child, "USR1");
    assert_eq!(wait(&mut child), Some(0));
    assert_eq!(
        std::fs::read(model.path("whole/traces.csv")).unwrap(),
        std::fs::read(model.path("usr1/traces.csv")).unwrap()
    );
}

#[test]
fn a_study_runs_its_cases_and_reports_the_one_that_fails() {
    let model = bar(2e-5);
    std::fs::write(
        model.path("study.toml"),
        "set = { \"solver.increment\" = 1e-8 }\n\
         [[case]]\nname = \"plain\"\n\
         [[case]]\nname = \"wrong\"\nset = { \"material.steel.young\" = -1 }\n\
         [[case]]\nname = \"topology\"\nset = { \"solver.increment\" = 1 }\n\
         [sweep]\n\"load.force20.magnitude\" = [10, 30]\n\"solver.precision\" = [\"f32\", \"f64\"]\n",
    )
    .unwrap();
    let output = model.call(&["--study", "study.toml", "--json", "-q", "-o", "study"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let summaries = json(&output);
    assert_eq!(summaries.as_array().unwrap().len(), 5);
    let index = std::fs::read_to_string(model.path("study/study.csv")).unwrap();
    let lines: Vec<&str> = index.lines().collect();
    assert_eq!(lines.len(), 8, "{index}");
    assert!(lines[0].starts_with("case,status,seconds,message,solver.increment,"), "{index}");
    assert!(lines[1].starts_with("plain,completed,"));
    assert!(lines[2].starts_with("wrong,failed,0.000,"), "{index}");
    assert!(lines[3].starts_with("topology,failed,0.000,"), "{index}");
    let plain = peak(&model.path("study/plain/traces.csv"));
    let same = peak(&model.path("study/magnitude-10_precision-f64/traces.csv"));
    let triple = peak(&model.path("study/magnitude-30_precision-f64/traces.csv"));
    assert_eq!(plain, same);
    assert!((triple - 3.0 * plain).abs() < 1e-12 * plain.abs());
    let single = peak(&model.path("study/magnitude-10_precision-f32/traces.csv"));
    assert!(single != plain && (single - plain).abs() < 1e-5 * plain.abs());
}

/// Four cases and one that fails.
const SEVERAL: &str = "[[case]]\nname = \"wrong\"\nset = { \"material.steel.young\" = -1 }\n\
                       [sweep]\n\"load.force20.magnitude\" = [10, 20, 30]\n\"solver.precision\" = [\"f32\", \"f64\"]\n";

#[test]
fn cases_that_run_at_the_same_time_give_the_same_bits() {
    let model = bar(1e-4);
    std::fs::write(model.path("study.toml"), SEVERAL).unwrap();
    let run = |name: &str, options: &[&str]| {
        let output = model.call(&[&["--study", "study.toml", "-o", name], options].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    run("one", &[]);
    let table = std::fs::read_to_string(model.path("one/study.csv")).unwrap();
    // All but the seconds.
    let columns = |table: &str| -> Vec<Vec<String>> {
        let words = table.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        words.map(|words| [&words[..2], &words[3..]].concat()).collect()
    };
    for (name, options) in [
        ("jobs", &["--jobs", "3"][..]),
        ("parts", &["--device", "cpu,cpu"]),
        ("both", &["--jobs", "2", "--device", "cpu"]),
    ] {
        let said = run(name, options);
        let found = std::fs::read_to_string(model.path(name).join("study.csv")).unwrap();
        assert_eq!(columns(&found), columns(&table), "{name}");
        for line in said.lines() {
            let of_case = ["wrong", "magnitude-"].iter().any(|case| line.starts_with(&format!("case {case}")));
            assert!(of_case, "{name}: {said}");
        }
        assert!(said.contains("case wrong (1 of 7)\n") && said.contains("case wrong: error: "), "{name}: {said}");
        assert!(said.contains("case magnitude-10_precision-f64: done: "), "{name}: {said}");
        for case in found.lines().skip(2).map(|line| line.split(',').next().unwrap()) {
            let of = |folder: &str| std::fs::read(model.path(folder).join(case).join("traces.csv")).unwrap();
            assert!(of(name) == of("one"), "{name} {case}");
        }
    }
}

#[test]
fn jobs_that_fit_nothing_are_refused() {
    let model = bar(2e-5);
    std::fs::write(model.path("study.toml"), SEVERAL).unwrap();
    let call = |options: &[&str]| {
        let output = model.call(options);
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = call(&["--jobs", "2"]);
    assert!(code == Some(1) && said.contains("--jobs is for studies"), "{said}");
    let (code, said) = call(&["--study", "study.toml", "--jobs", "3", "--device", "cpu,cpu"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("error: --jobs asks for 3 cases at a time, but --device names 2 devices"), "{said}");
    let (code, said) = call(&["--study", "study.toml", "--jobs", "0"]);
    assert!(code == Some(2) && said.contains("1..=1024"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_signal_stops_all_cases_that_run_at_the_same_time() {
    let model = bar(0.05);
    let cases = ["a", "b", "c"].map(|name| format!("[[case]]\nname = \"{name}\"\n"));
    std::fs::write(model.path("study.toml"), cases.concat()).unwrap();
    let mut child = model
        .command(&["--study", "study.toml", "--jobs", "2", "-o", "study", "--checkpoint-interval", "1000steps"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Both run when both have a checkpoint.
    let start = Instant::now();
    while !["a", "b"].iter().all(|case| model.path("study").join(case).join("checkpoint.pogo").exists()) {
        assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "TERM");
    assert_eq!(wait(&mut child), Some(4));
    let index = std::fs::read_to_string(model.path("study/study.csv")).unwrap();
    let status: Vec<&str> = index.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(status, ["interrupted", "interrupted", "pending"], "{index}");
}

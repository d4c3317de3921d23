//! Studies: what their table shows, what is run again, and several processes that compute one study.

use std::fs;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use super::command::*;
use super::common::*;

/// Six cases.
const STUDY: &str = "[sweep]\n\"load.force20.magnitude\" = [10, 20, 30]\n\"solver.precision\" = [\"f32\", \"f64\"]\n";

impl Model {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// What a study says; it must end well.
    fn study(&self, options: &[&str]) -> String {
        let output = self.call(&[&["--study", "study.toml", "-o", "study"], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    }

    fn refused(&self, options: &[&str]) -> String {
        let Output { status, stderr, .. } = self.call(options);
        assert_eq!(status.code(), Some(1), "{}", text(&stderr));
        text(&stderr)
    }

    /// Rows of the table, the first with the heads. No field here has a comma.
    fn table(&self) -> Vec<Vec<String>> {
        let table = fs::read_to_string(self.path("study/study.csv")).unwrap();
        table.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    /// A column of the table.
    fn column(&self, head: &str) -> Vec<String> {
        let mut table = self.table();
        let rows = table.split_off(1);
        let at = table[0].iter().position(|found| found == head);
        let at = at.unwrap_or_else(|| panic!("{head} in {:?}", table[0]));
        rows.into_iter().map(|mut row| row.swap_remove(at)).collect()
    }

    /// Cases that a study has said to run.
    fn run(said: &str) -> Vec<&str> {
        said.lines().filter(|line| line.starts_with("case ") && line.contains(" of 6)")).collect()
    }
}

#[test]
fn the_table_shows_results() {
    let model = bar(2e-5);
    model.write("study.toml", STUDY);
    model.study(&[]);
    let traces = |case: &str| Traces::read(&model.path("study").join(case).join("traces.csv"));
    let peak = |u: &[f64]| u.iter().fold(0.0, |peak: f64, u| peak.max(u.abs()));
    for (case, found) in model.column("case").iter().zip(model.column("peak(END.21.U1)")) {
        assert_eq!(found.parse::<f64>().unwrap(), peak(traces(case).get("END.21.U1")), "{case}");
    }
    for (case, found) in model.column("case").iter().zip(model.column("energy.external")) {
        let summary = fs::read(model.path("study").join(case).join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
        assert_eq!(found.parse::<f64>().ok(), summary["energy"]["external"].as_f64(), "{case}");
    }
    // Of finished cases, with other columns, and one that there is not.
    let options = ["--collect", "n=steps", "--collect", "last(END.21.U1)", "--collect", "worst_element.kind"];
    let said = model.study(&[&options[..], &["--collect", "peak(END.1.U1)"]].concat());
    assert!(
        said.contains("--collect peak(END.1.U1): there is no trace END.1.U1; there are END.21.U1, END.21.U2"),
        "{said}"
    );
    assert_eq!(Model::run(&said), [""; 0]);
    assert_eq!(
        model.table()[0][4..],
        ["load.force20.magnitude", "solver.precision", "n", "last(END.21.U1)", "worst_element.kind", "peak(END.1.U1)"]
    );
    let last = traces("magnitude-30_precision-f64").get("END.21.U1").last().copied();
    assert_eq!(model.column("last(END.21.U1)")[5].parse::<f64>().ok(), last);
    assert_eq!(model.column("worst_element.kind"), ["CPS4R"; 6]);
    assert_eq!(model.column("peak(END.1.U1)"), [""; 6]);
    // As the study says.
    model.write("study.toml", &format!("collect = [\"time\"]\n{STUDY}"));
    model.study(&[]);
    assert_eq!(model.table()[0][6..], ["time"]);
    let said = model.refused(&["--study", "study.toml", "-o", "study", "--collect", "mean(END.21.U1)"]);
    assert!(said.starts_with("study.toml: error: collect: `mean` of a trace is not known"), "{said}");
    assert!(model.refused(&["--collect", "time"]).contains("--collect is for studies"));
}

#[test]
fn finished_cases_are_not_run_again() {
    let model = bar(2e-5);
    model.write("study.toml", STUDY);
    assert_eq!(Model::run(&model.study(&[])).len(), 6);
    let table = model.table();
    let when = || fs::metadata(model.path("study/magnitude-20_precision-f64/traces.csv")).unwrap().modified().unwrap();
    let before = when();
    let said = model.study(&["--json"]);
    assert!(Model::run(&said).is_empty() && said.contains("6 cases are finished already"), "{said}");
    assert_eq!((model.table(), when()), (table, before));
    // The number of threads and the order of the cases change nothing.
    assert!(Model::run(&model.study(&["--jobs", "2", "--checkpoint-interval", "10m"])).is_empty());

    // One more value: two new cases.
    model.write("study.toml", &STUDY.replace("30]", "30, 40]"));
    let said = model.study(&[]);
    assert_eq!(said.lines().filter(|line| line.contains(" of 8)")).count(), 2, "{said}");
    // A case of the same name with other parameters.
    model.write("study.toml", &format!("set = {{ \"material.steel.density\" = 7000 }}\n{STUDY}"));
    let said = model.study(&[]);
    assert!(
        Model::run(&said).len() == 6 && said.contains("with another value of a parameter: running it again"),
        "{said}"
    );
    for (options, why) in [
        (&["--set", "material.steel.poisson=0.2"][..], "with another model"),
        (&["--no-fields", "--time", "1e-5"], "with another model"),
        (&["--time", "1e-5", "--plot"], "with another option"),
    ] {
        let said = model.study(options);
        assert!(Model::run(&said).len() == 6 && said.contains(why), "{options:?}: {said}");
    }
    // What is not whole is run again.
    let same = ["--time", "1e-5", "--plot"];
    fs::remove_file(model.path("study/magnitude-20_precision-f32/traces.svg")).unwrap();
    let said = model.study(&same);
    assert!(
        Model::run(&said) == ["case magnitude-20_precision-f32 (3 of 6)"] && said.contains("some are gone"),
        "{said}"
    );
    assert_eq!(Model::run(&model.study(&[&same[..], &["--again"]].concat())).len(), 6);
    // Another block file.
    let other = bar(3e-5);
    fs::copy(&other.block_file, &model.block_file).unwrap();
    let said = model.study(&same);
    assert!(Model::run(&said).len() == 6 && said.contains("with another block file"), "{said}");
}

#[test]
fn one_case_a_process_gives_one_whole_table() {
    let model = bar(2e-4);
    model.write("study.toml", STUDY);
    let start = |case: usize| {
        let case = if case == 5 { "magnitude-30_precision-f32".to_owned() } else { case.to_string() };
        let options = ["--study", "study.toml", "-o", "study", "-q", "--case", &case, "--collect", "peak(END.21.U1)"];
        model.command(&options).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (1..=6).map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    }
    assert_eq!(model.column("status"), ["completed"; 6]);
    assert!(model.column("peak(END.21.U1)").iter().all(|peak| peak.parse::<f64>().unwrap() > 0.0));
    assert!(!model.path("study/.study.lock").exists());
    let said = model.refused(&["--study", "study.toml", "--case", "7"]);
    assert!(
        said.contains("study.toml: error: there is no case 7; give a name of the study, or a number from 1 to 6"),
        "{said}"
    );
    assert_eq!(model.call(&["--case", "1"]).status.code(), Some(2));
}

/// Each process takes a case that no other computes.
#[test]
fn several_processes_share_a_study() {
    let model = bar(2e-3);
    model.write("study.toml", STUDY);
    let start = |_| model.command(&["--study", "study.toml", "-o", "study"]).stderr(Stdio::piped()).spawn().unwrap();
    let outputs: Vec<Output> =
        (0..3).map(start).collect::<Vec<_>>().into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let said: Vec<String> = outputs.iter().map(|output| text(&output.stderr)).collect();
    let mut run: Vec<&str> = said.iter().flat_map(|said| Model::run(said)).collect();
    assert!(outputs.iter().all(|output| matches!(output.status.code(), Some(0 | 4))), "{said:?}");
    run.sort_unstable();
    run.dedup();
    assert_eq!(run.len(), 6, "{said:?}");
    assert_eq!(said.iter().flat_map(|said| Model::run(said)).count(), 6, "{said:?}");
    assert_eq!(model.column("status"), ["completed"; 6]);
}

#[test]
fn a_stopped_study_goes_on_with_restart() {
    let model = bar(5e-2);
    let cases = ["a", "b"].map(|name| format!("[[case]]\nname = \"{name}\"\n"));
    model.write("study.toml", &cases.concat());
    let options = ["--study", "study.toml", "-o", "study", "--checkpoint-interval", "1000steps"];
    let mut child = model.command(&options).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !model.path("study/a/checkpoint.pogo").exists() {
        assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "TERM");
    assert_eq!(wait(&mut child), Some(4));
    let message = &model.column("message")[0];
    assert!(
        model.column("status") == ["interrupted", "pending"] && message.contains("go on with --restart"),
        "{message}"
    );
    // Killed: nobody has written what came of it.
    let mut child = model.command(&[&options[..], &["--restart"]].concat()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_start(&mut child);
    signal(&child, "KILL");
    let _ = wait(&mut child);
    let said = model.study(&["--restart"]);
    assert!(said.contains("case a (1 of 2), from its checkpoint") && said.contains("case b (2 of 2)\n"), "{said}");
    assert_eq!(model.column("status"), ["completed"; 2]);
    let traces = |case: &str| {
        let text = fs::read_to_string(model.path("study").join(case).join("traces.csv")).unwrap();
        text.lines().filter(|line| !line.starts_with("# case")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(traces("a") == traces("b"));
    let said = model.refused(&["--study", "study.toml", "-o", "study", "--restart=a.pogo"]);
    assert!(said.contains("each case goes on from its own checkpoint"), "{said}");
}

/// A process that is killed leaves no row that says that it runs.
#[test]
fn a_killed_case_is_not_said_to_run() {
    let model = bar(5e-2);
    model.write("study.toml", STUDY);
    let mut child =
        model.command(&["--study", "study.toml", "-o", "study", "--case", "2"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_start(&mut child);
    signal(&child, "KILL");
    let _ = wait(&mut child);
    model.study(&["--case", "1"]);
    assert_eq!(model.column("status")[..3], ["completed", "interrupted", "pending"]);
    assert!(model.column("message")[1].contains("its process was ended"));
}

#[test]
fn a_misspelt_parameter_is_one_error() {
    let model = bar(2e-5);
    model.write(
        "study.toml",
        "[sweep]\n\"material.steel.yuong\" = [1e9, 2e9, 3e9]\n\"load.force20.magnitud\" = [1, 2]\n",
    );
    let said = model.refused(&["--study", "study.toml", "-o", "study"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("study.toml: error: no parameter `"), "{said}");
    for name in ["did you mean `material.steel.young`", "did you mean `load.force20.magnitude`"] {
        assert!(said.matches(name).count() == 1, "{said}");
    }
    assert!(!model.path("study/study.csv").exists());
    // What all cases set wrongly, too.
    model.write("study.toml", &format!("set = {{ \"material.steel.young\" = -1 }}\n{STUDY}"));
    let said = model.refused(&["--study", "study.toml", "-o", "study"]);
    assert!(said.lines().count() == 1 && said.contains("material.steel.young = -1"), "{said}");
    // A parameter of the block file.
    model.write("study.toml", "[sweep]\n\"solver.preciison\" = [\"f32\", \"f64\"]\n");
    assert_eq!(model.refused(&["--study", "study.toml", "-o", "study"]).lines().count(), 1);
}

#[test]
fn restart_auto_begins_where_there_is_no_checkpoint() {
    let model = bar(2e-5);
    let output = model.call(&["-o", "out", "--restart=auto"]);
    let said = text(&output.stderr);
    assert!(
        output.status.success() && said.contains("there is no out/checkpoint.pogo: starting at the beginning"),
        "{said}"
    );
    let model = bar(5e-2);
    let options = ["-o", "out", "--checkpoint-interval", "1000steps", "--restart", "auto"];
    let mut child = model.command(&options).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_start(&mut child);
    signal(&child, "TERM");
    assert_eq!(wait(&mut child), Some(4));
    let said = text(&model.call(&options).stderr);
    assert!(said.contains("going on from step ") && said.contains("done:"), "{said}");
    assert!(model.call(&["-o", "whole", "-q"]).status.success());
    let traces = |folder: &str| fs::read(model.path(folder).join("traces.csv")).unwrap();
    assert!(traces("out") == traces("whole"));
}

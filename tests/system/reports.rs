//! Reports and movies of all kinds of physics, and what a browser makes of reports.

use std::path::Path;
use std::process::Command;

use pogo_tests::{browser, command, succeed};
use serde_json::Value;

use super::{call, end, models, names, said, signal, start, until};

/// The text between two marks.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(found, _)| found)
}

/// The views of a report.
fn views(html: &str) -> Vec<Value> {
    let json = between(html, "<script type=\"application/json\" id=\"views\">", "</script>");
    let views: Value = serde_json::from_str(json).expect("JSON");
    views["views"].as_array().expect("a list").clone()
}

fn kinds(html: &str) -> Vec<String> {
    views(html).iter().map(|view| view["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Number of frames of an animated PNG.
fn frames(path: &Path) -> u32 {
    let bytes = std::fs::read(path).expect("a movie");
    let at = bytes.windows(4).position(|four| four == b"acTL").expect("an animated PNG");
    u32::from_be_bytes(bytes[at + 4..at + 8].try_into().expect("four bytes"))
}

#[test]
fn every_physics_writes_a_report_and_a_movie() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let models = models(folder);
    for (model, expected, frames_of_movie, words) in [
        ("plate.blk", &["planes", "chart", "chart"][..], 21, "energy"),
        ("bone.blk", &["volume", "chart"], 6, "apparent"),
        ("tissue.blk", &["lines", "chart", "chart"], 61, "springs left"),
        ("wave.blk", &["chart", "planes"], 60, "latest"),
    ] {
        assert!(models.contains(&model));
        let out = folder.join("out");
        let options = ["--report", "--movie", "--quiet", "-o", "out", "--device", "cpu", "--threads", "1"];
        succeed(command("pogo-solve").current_dir(folder).arg(model).args(options));
        let html = std::fs::read_to_string(out.join("report.html")).expect("a report");
        assert_eq!(kinds(&html), expected, "{model}");
        for text in [model, words, "How to run it again", "--report", "xxh3"] {
            assert!(html.contains(text), "{model}: {text}");
        }
        assert!(html.len() < 8_000_000 && !html.contains("http://"), "{model}: {}", html.len());
        assert_eq!(frames(&out.join("movie.png")), frames_of_movie, "{model}");
        let summary: Value =
            serde_json::from_slice(&std::fs::read(out.join("summary.json")).expect("a summary")).unwrap();
        let mut listed: Vec<&str> = summary["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        listed.sort_unstable();
        let found = names(&out);
        assert!(found.iter().filter(|name| *name != "fields").all(|name| listed.contains(&name.as_str())), "{found:?}");

        let report = folder.join("block.html");
        succeed(command("pogo-info").current_dir(folder).args([model, "--report", "block.html"]));
        let html = std::fs::read_to_string(report).expect("a report");
        assert_eq!(views(&html).len(), 1, "{model}");
        assert!(html.contains("made by") || html.contains("made from") || html.contains("sources"), "{model}");
    }
}

#[test]
fn pictures_of_a_run_that_was_stopped_have_one_scale_with_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let run = ["plate.blk", "--device", "cpu", "--threads", "1", "--plot", "--time", "4e-3", "--checkpoint-interval"];
    let whole = [&run[..], &["100000steps", "--quiet", "-o", "whole"]].concat();
    succeed(command("pogo-solve").current_dir(folder).args(whole));
    let first = start(folder, "pogo-solve", &[&run[..], &["2000steps", "-o", "parts"]].concat());
    until("there is a checkpoint", || {
        folder.join("parts").is_dir() && names(&folder.join("parts")).iter().any(|name| name.starts_with("checkpoint"))
    });
    signal(&first, libc::SIGTERM);
    let output = end(first);
    if output.status.code() != Some(4) {
        // The run was done before the signal came.
        assert!(output.status.success(), "{}", said(&output));
    } else {
        let output = call(folder, "pogo-solve", &[&run[..], &["100000steps", "-o", "parts", "--restart"]].concat());
        assert!(output.status.success(), "{}", said(&output));
    }
    let pictures = |of: &str| {
        let all = names(&folder.join(of)).into_iter().filter(|name| name.starts_with("snapshot"));
        all.map(|name| (name.clone(), std::fs::read(folder.join(of).join(name)).unwrap())).collect::<Vec<_>>()
    };
    assert!(
        pictures("whole").len() > 1 && pictures("whole") == pictures("parts"),
        "{:?}",
        names(&folder.join("parts"))
    );
    assert!(!folder.join("parts/snapshots.frames").exists());
}

#[test]
#[ignore = "slow, a browser draws eight pages: .ci/run --slow runs it"]
fn a_browser_draws_every_report_without_an_error_and_without_network() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for model in models(folder) {
        succeed(command("pogo-solve").current_dir(folder).args([
            model,
            "--report",
            "--quiet",
            "--device",
            "cpu",
            "-o",
            model.trim_end_matches(".blk"),
        ]));
        let blocks = format!("{model}.html");
        succeed(command("pogo-info").current_dir(folder).args([model, "--report", &blocks]));
        for page in [folder.join(model.trim_end_matches(".blk")).join("report.html"), folder.join(blocks)] {
            let html = std::fs::read_to_string(&page).expect("a report");
            let output = succeed(
                Command::new(&browser)
                    .args(["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader"])
                    .args(["--enable-unsafe-swiftshader", "--enable-logging=stderr", "--window-size=1200,1600"])
                    .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=60000", "--dump-dom"])
                    .arg(format!("--user-data-dir={}", folder.join("profile").display()))
                    .arg(format!("file://{}", page.display())),
            );
            let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let drawn = format!("data-drawn=\"{}\"", views(&html).len());
            assert!(dom.contains(&drawn), "{}: {}\n{log}", page.display(), between(&dom, "id=\"drawing\"", "</p>"));
            // The browser's advice about the speed of a canvas is no error.
            let console = log.lines().filter(|line| line.contains("CONSOLE") && !line.contains("willReadFrequently"));
            let console: Vec<&str> = console.collect();
            assert!(console.is_empty(), "{}: {console:?}", page.display());
        }
    }
}

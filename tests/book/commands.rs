//! Commands of README and the book. Every fenced block `sh` runs, unless it is marked `sh norun`; a page with such blocks says
//! that they are not run.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use pogo_tests::{search_path, workspace};

use super::{Block, Page, pictures};

/// What a page with commands that are not run says.
const NOT_RUN: &str = "not run by the checks";

/// Longest time of one page, s, on a machine with nothing else to do.
const LONGEST: f64 = 20.0;

/// The blocks of a page that run.
fn blocks(page: &Page) -> Vec<Block> {
    let (blocks, _) = page.split();
    blocks.into_iter().filter(|block| block.info == "sh").collect()
}

/// Copies a folder but for what examples have built there.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true if entry.file_name() == "build" => {}
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).expect("a copy")),
        }
    }
}

/// Runs the blocks of a page, one after the other in one shell, in a folder that holds a copy of `examples/`. Gives what is
/// wrong.
fn run(page: &Page, blocks: &[Block], folder: &Path, search_path: &OsStr) -> Option<String> {
    copy(&workspace().join("examples"), &folder.join("examples"));
    let mut script = String::from("set -euo pipefail\n");
    for block in blocks {
        let _ = writeln!(script, "echo '{}:{}:' >&2\n{}", page.name.display(), block.line, block.text);
    }
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder)
        .env("PATH", search_path)
        // Pages say what a machine without a GPU does.
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .expect("bash starts");
    (!output.status.success()).then(|| {
        let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        format!("{} failed with {}\n{out}{errors}", page.name.display(), output.status)
    })
}

#[test]
fn pages_say_which_commands_are_not_run() {
    for page in Page::all() {
        let (blocks, prose) = page.split();
        let norun = blocks.iter().any(|block| block.info == "sh norun");
        assert!(!norun || prose.contains(NOT_RUN), "{} does not say `{NOT_RUN}`", page.name.display());
        for block in &blocks {
            let is_known = ["sh", "sh norun"].contains(&block.info.as_str()) || !block.info.starts_with("sh");
            assert!(is_known, "{}:{}: `{}` is not known", page.name.display(), block.line, block.info);
            let what = "say what language it is, such as `text`";
            assert!(!block.info.is_empty(), "{}:{}: {what}", page.name.display(), block.line);
        }
    }
}

#[test]
#[ignore = "slow, a minute: .ci/run runs it"]
fn commands_of_readme_and_book_run() {
    let mut problems = Vec::new();
    // Before the clock starts: this compiles the commands, unless they are there.
    let search_path = search_path();
    let only = std::env::var("POGO_PAGE").unwrap_or_default();
    for page in Page::all().into_iter().filter(|page| page.name.to_string_lossy().contains(&only)) {
        let blocks = blocks(&page);
        let folder = tempfile::tempdir().expect("a folder");
        let start = std::time::Instant::now();
        let failure = if blocks.is_empty() { None } else { run(&page, &blocks, folder.path(), &search_path) };
        let seconds = start.elapsed().as_secs_f64();
        if !blocks.is_empty() {
            println!("{}: {seconds:.1} s", page.name.display());
        }
        if seconds > LONGEST {
            println!("note: {} should take {LONGEST} s at most", page.name.display());
        }
        match failure {
            Some(failure) => problems.push(failure),
            None if blocks.is_empty() => {}
            None => problems.extend(pictures::check(&page, folder.path())),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

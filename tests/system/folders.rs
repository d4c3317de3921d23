//! What runs leave in the folders of their results, and in each other's.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use pogo_tests::{command, succeed};

use super::{call, end, models, names, said, signal, start, until};

/// A run of the plate that ends by itself in hours.
const LONG: [&str; 5] = ["plate.blk", "--time", "1", "--threads", "1"];

/// A long run into `out`, once it steps.
fn long_run(folder: &Path, arguments: &[&str]) -> Child {
    let run = start(
        folder,
        "pogo-solve",
        &[&LONG[..], &["-o", "out", "--checkpoint-interval", "10000steps"], arguments].concat(),
    );
    until("the run steps", || has_checkpoint(folder));
    run
}

fn has_checkpoint(folder: &Path) -> bool {
    folder.join("out").is_dir() && names(&folder.join("out")).iter().any(|name| name.starts_with("checkpoint"))
}

#[test]
fn a_second_run_into_a_folder_is_refused_and_one_that_was_killed_locks_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let mut first = long_run(folder, &[]);
    for second in [["wave.blk", "-o", "out"], ["bone.blk", "-o", "out"]] {
        let output = call(folder, "pogo-solve", &second);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let owner = format!("out: error: process {}", first.id());
        assert!(said(&output).contains(&owner), "{owner} in {}", said(&output));
        assert!(!folder.join("out/arrival.npy").exists() && !folder.join("out/residual.csv").exists());
    }
    assert!(first.try_wait().expect("a child").is_none(), "the first run goes on");
    signal(&first, libc::SIGKILL);
    end(first);
    let output = call(folder, "pogo-solve", &["wave.blk", "-o", "out"]);
    assert!(output.status.success(), "{}", said(&output));
    let left = names(&folder.join("out"));
    assert!(!left.iter().any(|name| name.starts_with("traces") || name.ends_with(".lock")), "{left:?}");
}

#[test]
fn a_run_that_writes_less_removes_what_is_no_longer_so_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let solve = |arguments: &[&str]| {
        succeed(command("pogo-solve").current_dir(folder).args(arguments).args(["--quiet", "-o", "out", "--plot"]));
        names(&folder.join("out"))
    };
    let has = |found: &[String], name: &str| found.iter().any(|found| found == name);
    let first = solve(&["plate.blk"]);
    assert!(has(&first, "fields.pvd") && has(&first, "fields"), "{first:?}");
    std::fs::write(folder.join("out/fields/notes.txt"), "mine").expect("written");
    std::fs::write(folder.join("out/mine.vtu"), "mine").expect("written");
    let second = solve(&["plate.blk", "--no-fields"]);
    assert!(!has(&second, "fields.pvd"), "{second:?}");
    assert_eq!(names(&folder.join("out/fields")), ["notes.txt"]);
    let third = solve(&["wave.blk"]);
    assert!(has(&third, "arrival.vtu") && has(&third, "mine.vtu") && !has(&third, "traces.csv"), "{third:?}");
    let fourth = solve(&["wave.blk", "--field-format", "vtkhdf"]);
    assert!(has(&fourth, "arrival.vtkhdf") && !has(&fourth, "arrival.vtu"), "{fourth:?}");
    let fifth = solve(&["bone.blk"]);
    assert!(has(&fifth, "fields.vti") && !has(&fifth, "arrival.npy"), "{fifth:?}");
    assert!(["mine.vtu", "fields"].iter().all(|mine| has(&fifth, mine)), "{fifth:?}");
}

#[test]
fn a_killed_run_leaves_nothing_old_beside_what_is_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    succeed(command("pogo-solve").current_dir(folder).args(["wave.blk", "--quiet", "-o", "out"]));
    assert!(folder.join("out/arrival.vtu").exists());
    let run = long_run(folder, &[]);
    assert!(!folder.join("out/arrival.vtu").exists() && !folder.join("out/summary.json").exists());
    signal(&run, libc::SIGKILL);
    end(run);
    std::fs::write(folder.join("out/mine.csv"), "mine").expect("written");
    succeed(command("pogo-solve").current_dir(folder).args(["wave.blk", "--quiet", "--no-fields", "-o", "out"]));
    let left = names(&folder.join("out"));
    assert_eq!(left, ["activation.csv", "arrival.npy", "mine.csv", "summary.json"]);
}

#[test]
fn the_temporary_files_of_a_killed_run_go_with_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let dead = {
        let child = start(folder, "pogo-info", &["--version"]);
        let number = child.id();
        end(child);
        number
    };
    std::fs::create_dir_all(folder.join("out/fields")).expect("a folder");
    let left = [
        format!(".a.blk.{dead}-0.tmp"),
        format!("out/.traces.csv.{dead}-3.tmp"),
        format!("out/fields/.1.vtu.{dead}-9.tmp"),
    ];
    let alive = format!("out/.traces.csv.{}-3.tmp", std::process::id());
    let mine = ["out/.mine.tmp", "out/mine.123-4.tmp"];
    for name in left.iter().map(String::as_str).chain(mine).chain([alive.as_str()]) {
        std::fs::write(folder.join(name), "x").expect("written");
    }
    succeed(command("pogo-block").current_dir(folder).args(["plate.inp", "--quiet", "-o", "a.blk"]));
    succeed(command("pogo-solve").current_dir(folder).args(["wave.blk", "--quiet", "-o", "out"]));
    for name in &left {
        assert!(!folder.join(name).exists(), "{name}");
    }
    for name in mine.iter().chain([&alive.as_str()]) {
        assert!(folder.join(name).exists(), "{name}");
    }
}

#[test]
fn a_lost_terminal_stops_a_run_after_a_checkpoint_but_not_under_nohup() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    // The tests themselves may run under nohup, and commands would inherit that.
    // SAFETY: no handler is set.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
    let run = long_run(folder, &[]);
    signal(&run, libc::SIGHUP);
    let output = end(run);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(has_checkpoint(folder));

    std::fs::remove_dir_all(folder.join("out")).expect("removed");
    let mut ignoring = Command::new(command("pogo-solve").get_program());
    ignoring.current_dir(folder).args(LONG).args(["-q", "-o", "out", "--checkpoint-interval", "10000steps"]);
    // SAFETY: between fork and exec only a signal is ignored.
    unsafe {
        ignoring.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut run = ignoring.spawn().expect("it starts");
    until("the run steps", || has_checkpoint(folder));
    signal(&run, libc::SIGHUP);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(run.try_wait().expect("a child").is_none());
    signal(&run, libc::SIGKILL);
    run.wait().expect("a child");
}

//! Where the system makes no threads.

use std::path::Path;
use std::process::{Command, Output};

use pogo_tests::{command, succeed, without_threads};

use super::{models, said};

/// A command that can make no thread, called in a folder. None where the limit cannot be set.
fn without(folder: &Path, name: &str, arguments: &[&str]) -> Option<Output> {
    let mut command: Command = without_threads(command(name).args(arguments), folder)?;
    Some(command.output().expect("the command starts"))
}

#[test]
fn one_thread_needs_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for model in models(folder) {
        for threads in [&["--threads", "1"][..], &[]] {
            let arguments = [&[model, "--device", "cpu", "--plot", "-o", "out"], threads].concat();
            let Some(output) = without(folder, "pogo-solve", &arguments) else { return };
            assert!(output.status.success(), "{model} {threads:?}: {}", said(&output));
            assert_eq!(said(&output).contains("going on with one thread"), threads.is_empty(), "{}", said(&output));
        }
        let output = without(folder, "pogo-info", &[model, "--check"]).expect("as above");
        assert!(output.status.success(), "{model}: {}", said(&output));
    }
    for arguments in [
        &["plate.inp", "--threads", "1", "-o", "again.blk"][..],
        &["bone.npy", "--job", "bone.toml", "-o", "again.blk"],
        &["wave.inp", "--job", "wave.toml", "--check"],
    ] {
        let output = without(folder, "pogo-block", arguments).expect("as above");
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    }
    let arguments = ["perlin", "--size", "40", "-o", "noise.npy"];
    let output = without(folder, "pogo-gen", &arguments).expect("as above");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn more_threads_than_can_be_made_are_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    models(folder);
    let several = ["plate.inp", "--block-nodes", "12", "--quiet", "-o", "blocks.blk"];
    succeed(command("pogo-block").current_dir(folder).args(several));
    for (model, device, threads) in [
        ("plate.blk", "cpu", "3"),
        ("tissue.blk", "cpu", "3"),
        ("bone.blk", "cpu", "3"),
        ("wave.blk", "cpu", "3"),
        ("blocks.blk", "cpu,cpu", "1"),
        ("wave.blk", "cpu,cpu", "1"),
    ] {
        let arguments = [model, "--device", device, "--threads", threads, "-o", "out"];
        let Some(output) = without(folder, "pogo-solve", &arguments) else { return };
        assert_eq!(output.status.code(), Some(1), "{model} {device}: {}", said(&output));
        assert!(said(&output).contains("error: cannot start "), "{model} {device}: {}", said(&output));
        assert!(said(&output).contains("give fewer with --threads"), "{model} {device}: {}", said(&output));
    }
    std::fs::write(folder.join("study.toml"), "[sweep]\n\"solver.precision\" = [\"f32\", \"f64\"]\n").expect("written");
    let arguments = ["plate.blk", "--study", "study.toml", "--jobs", "2", "--threads", "1", "-o", "study"];
    let study = without(folder, "pogo-solve", &arguments).expect("as above");
    let block = without(folder, "pogo-block", &["plate.inp", "--threads", "2", "-o", "again.blk"]).expect("as above");
    for output in [study, block] {
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("error: cannot start 2 threads"), "{}", said(&output));
    }
    assert!(!folder.join("again.blk").exists());
}

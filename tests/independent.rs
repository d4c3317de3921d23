//! The whole way from deck to traces against an explicit solver in plain NumPy, which shares nothing with Pogo.

use std::process::Command;

use pogo_tests::{command, succeed, workspace};

#[test]
fn every_kind_of_model_agrees_with_an_independent_solver() {
    let python = std::env::var("POGO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_scipy = Command::new(&python).args(["-c", "import numpy, scipy"]).output();
    if !has_scipy.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: {python} has no numpy and scipy; set POGO_PYTHON to one that has");
        return;
    }
    let solve = command("pogo-solve");
    let commands = std::path::Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().unwrap();
    let script = workspace().join("tests/python/independent.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

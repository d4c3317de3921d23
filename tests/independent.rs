//! The whole way from deck to traces against an explicit solver in plain NumPy, which shares nothing with Pogo.

use std::process::Command;

use pogo_tests::{command, succeed, workspace};

#[test]
fn every_kind_of_model_agrees_with_an_independent_solver() {
    let Some(python) = pogo_tests::python(&["numpy", "scipy"]) else { return };
    let solve = command("pogo-solve");
    let commands = std::path::Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().unwrap();
    let script = workspace().join("tests/python/independent.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn wedges_have_the_frequencies_of_calculix() {
    let Some(python) = pogo_tests::python(&["numpy", "scipy"]) else { return };
    let solve = command("pogo-solve");
    let commands = std::path::Path::new(solve.get_program()).parent().expect("commands lie in a folder");
    let scratch = tempfile::tempdir().unwrap();
    let script = workspace().join("tests/python/wedges.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).arg(commands).arg(scratch.path()));
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
}

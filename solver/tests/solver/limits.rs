//! The stable increment, runs that go on to a longer time, and numbers that single precision cannot hold.

use pogo_formats::dynamics::Increment;
use pogo_formats::mesh::ElementKind;
use pogo_formats::write::summary::Status;

use super::command::{bar, text};
use super::common::*;

/// A plate of triangles of many shapes.
fn irregular() -> pogo_formats::mesh::Mesh {
    let mut mesh = grid_2d(ElementKind::Cps3, [12, 12], [0.012, 0.012]);
    for (node, x) in mesh.coordinates.chunks_exact_mut(2).enumerate() {
        let (column, row) = (node % 13, node / 13);
        if (1..12).contains(&column) && (1..12).contains(&row) {
            let wave = |factor: f64| 0.3e-3 * (factor * node as f64).sin();
            (x[0], x[1]) = (x[0] + wave(1.7), x[1] + wave(2.3));
        }
    }
    mesh
}

#[test]
fn one_limit_is_told_and_long_runs_use_it() {
    let mesh = irregular();
    let mut setup = steel(1.5e-4);
    setup.amplitudes = vec![burst(2e5)];
    setup.loads = vec![point_force(80, [1.0, 0.5, 0.0], 10.0, Some(0))];
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&write_block(folder.path(), &mesh, &setup, 64), &folder.path().join("out"));
    let automatic = run(&config);
    let bound = automatic.worst_element.as_ref().unwrap().stable_increment;
    assert!(automatic.steps > 2000 && automatic.stable_increment > 1.05 * bound, "{automatic:?}");
    assert!(automatic.increment <= 0.9 * automatic.stable_increment && automatic.increment > 0.9 * bound);
    assert!(automatic.energy.balance_error < 1e-9, "{:?}", automatic.energy);
    // Whatever increment is given, the same limit is told.
    for increment in [0.5 * bound, 1.01 * bound] {
        config.settings.increment = Some(Increment::Fixed(increment));
        let given = run(&config);
        assert_eq!((given.stable_increment, given.ending.status), (automatic.stable_increment, Status::Completed));
    }
    // It is a limit: a little above it the run diverges.
    config.settings.increment = Some(Increment::Fixed(1.06 * automatic.stable_increment));
    config.settings.allow_unstable = true;
    assert_eq!(run(&config).ending.status, Status::Diverged);
    // A short run is not worth finding it.
    config.settings.increment = None;
    config.settings.time = Some(2e-6);
    assert_eq!(run(&config).stable_increment, bound);
}

#[test]
fn a_finished_run_goes_on_to_a_longer_time() {
    let model = bar(1e-5);
    let call = |options: &[&str], code: i32| {
        let output = model.call(options);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let traces = |folder: &str| std::fs::read_to_string(model.path(folder).join("traces.csv")).unwrap();
    call(&["-q", "-o", "part", "--keep-checkpoint"], 0);
    let summary = std::fs::read(model.path("part/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    assert!(summary["files"].as_array().unwrap().iter().any(|file| file == "checkpoint.pogo"));
    let step = summary["steps"].as_u64().unwrap();
    let said = call(&["-o", "part", "--restart", "--time", "2.3e-5", "--keep-checkpoint"], 0);
    assert!(said.contains(&format!("going on from step {step}")), "{said}");
    // As if it had been one run with these increments.
    let increment = summary["increment"].to_string();
    call(&["-q", "-o", "whole", "--time", "2.3e-5", "--increment", &increment], 0);
    assert_eq!(traces("part"), traces("whole"));
    let said = call(&["-o", "part", "--restart", "--time", "1e-5"], 1);
    assert!(said.contains("beyond the end of this run; give a longer --time"), "{said}");
    // One that was not asked to keep a checkpoint says what to do.
    let said = call(&["-o", "whole", "--restart", "--time", "3e-5"], 1);
    assert!(said.contains("whole/checkpoint.pogo: error: ") && said.contains("with --keep-checkpoint"), "{said}");
}

#[test]
fn what_single_precision_cannot_hold_is_refused_before_the_first_step() {
    let model = bar(1e-5);
    for (assignment, what) in
        [("load.force20.magnitude=1e39", "a force at 21 is 1e39"), ("material.steel.density=1e38", "Δt² / m of node ")]
    {
        let output = model.call(&["--precision", "f32", "--set", assignment]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(what), "{assignment}: {said}");
        assert!(said.contains("single precision cannot hold: check its units, or use --precision f64"), "{said}");
        assert!(!model.path("model.out/summary.json").exists());
        let double = model.call(&["-q", "--set", assignment, "-o", "double"]);
        assert!(double.status.success(), "{assignment}: {}", text(&double.stderr));
    }
}

//! Several `--job` files of one model: a later file overrides an earlier one, whatever the physics.

use std::fs;

use crate::{pogo_block, pogo_gen, pogo_info, stdout};

/// Generates an input, blocks it with two jobs, and compares parameters of the block file, by their names, with what is
/// expected.
#[track_caller]
fn assert_merged(generate: &[&str], input: &str, jobs: [&str; 2], expected: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    stdout(&pogo_gen(folder, &[generate, &["-o", input, "--quiet"]].concat()));
    fs::write(folder.join("base.toml"), jobs[0]).unwrap();
    fs::write(folder.join("change.toml"), jobs[1]).unwrap();
    stdout(&pogo_block(folder, &[input, "--job", "base.toml", "--job", "change.toml", "-o", "model.blk"]));
    let listing = stdout(&pogo_info(folder, &["model.blk", "--parameters"]));
    for (name, value) in expected {
        let line = listing.lines().find(|line| line.split_whitespace().next() == Some(name));
        let found = line.and_then(|line| line.split_whitespace().nth(1));
        assert_eq!(found, Some(*value), "{name} in\n{listing}");
    }
}

#[test]
fn jobs_of_voxel_statics_are_merged() {
    let base = "[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1e4\npoisson = 0.3\n\
                [solver]\ntolerance = 1e-6\nmax_iterations = 77\n\
                [load]\npreset = \"axial\"\nstrain = -0.01\n[image]\nkeep = \"largest\"\n";
    let change = "[solver]\ntolerance = 1e-9\n[load]\npreset = \"axial\"\nstrain = -0.02\n";
    // Keys of [solver] are overridden one by one; [load] is replaced.
    let expected = [("solver.tolerance", "1e-9"), ("solver.max_iterations", "77"), ("load.strain", "-0.02")];
    assert_merged(&["perlin", "--size", "24"], "bone.nrrd", [base, change], &expected);
}

#[test]
fn jobs_of_springs_are_merged() {
    let base = "physics = \"spring\"\n[image]\nspacing = 1.0\n[solver]\ntime = 6.0\nalpha = 0.01\n\
                [[material]]\nname = \"a\"\nmass = 1.0\nstiffness = { axis = 1.0 }\n\
                [[boundary]]\nside = \"zmin\"\n";
    let change =
        "[solver]\ntime = 9.0\n[[material]]\nname = \"a\"\nmass = 2.0\nstiffness = { axis = 1.0, face = 0.7 }\n";
    // A material replaces the one of its name.
    let expected = [
        ("solver.time", "9"),
        ("solver.alpha", "0.01"),
        ("material.a.mass", "2"),
        ("spring.a.face.stiffness", "0.7"),
        ("boundary.FIX1.3.value", "0"),
    ];
    assert_merged(&["box", "4"], "box.npy", [base, change], &expected);
}

#[test]
fn jobs_of_arrival_times_are_merged() {
    let base = "[[velocity]]\nname = \"wall\"\nspeed = 0.5\n[[start]]\nname = \"apex\"\nat = [0, 0, 0]\n\
                [solver]\ntolerance = 1e-3\nexact_radius = 2.0\n";
    let change = "[[velocity]]\nname = \"wall\"\nspeed = 0.8\n[[start]]\nname = \"septum\"\nat = [1, 0, 0]\n\
                  [solver]\ntolerance = 0\n";
    let expected = [
        ("velocity.wall.speed", "0.8"),
        ("start.apex.x", "0"),
        ("start.septum.x", "1"),
        ("solver.tolerance", "0"),
        ("solver.exact_radius", "2"),
    ];
    assert_merged(&["ventricle", "--rings", "8", "--layers", "2"], "heart.vtu", [base, change], &expected);
}

//! The memory that `pogo-block` says it needs, before it has read anything, against what it takes.

use std::path::Path;

use pogo_tests::{command, succeed};

/// Estimate and peak, bytes.
fn memory(folder: &Path, arguments: &[&str]) -> (f64, f64) {
    let arguments = [arguments, &["--json", "--quiet", "--threads", "2", "-o", "a.blk"]].concat();
    let output = succeed(command("pogo-block").current_dir(folder).args(arguments));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bytes = |key: &str| report[key].as_f64().unwrap_or_else(|| panic!("{key} in {report}"));
    (bytes("estimated_memory"), bytes("peak_memory"))
}

const STACK: &str = "[image]\nspacing = 0.02\n[material]\nlaw = \"threshold\"\nthreshold = 1\nyoung = 1e4\npoisson = 0.3\n[load]\n\
                     preset = \"axial\"\nstrain = -0.01\n";

#[test]
fn the_memory_of_a_block_file_is_known_before_it_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let generate = |arguments: &[&str]| {
        succeed(command("pogo-gen").current_dir(&folder).args(arguments));
    };
    generate(&["box", "--elements", "cpe3", "--nodes", "60000", "-o", "plate.inp"]);
    generate(&["box", "--elements", "c3d4", "--nodes", "30000", "-o", "box.inp"]);
    generate(&["perlin", "--size", "160", "-o", "bone.nrrd"]);
    std::fs::write(folder.path().join("bone.toml"), STACK).expect("a job");
    let bone = ["bone.nrrd", "--job", "bone.toml", "--grid", "offset"];
    for arguments in [&["plate.inp"][..], &["box.inp"], &bone[..3], &bone] {
        let (estimate, peak) = memory(folder.path(), arguments);
        assert!(estimate < 1.5 * peak && peak < 1.5 * estimate, "{arguments:?}: estimate {estimate}, peak {peak}");
        // A limit below that is told before anything is read or written; where the tables of `--grid` come on top, later.
        std::fs::remove_file(folder.path().join("a.blk")).expect("it was written");
        if arguments == bone {
            continue;
        }
        let limit = format!("{}", (0.7 * estimate) as u64);
        let limited = [arguments, &["--memory", &limit, "-o", "a.blk"]].concat();
        let output = command("pogo-block").current_dir(&folder).args(limited).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let expected = format!("{}: error: it needs about ", arguments[0]);
        assert!(said.contains(&expected) && said.contains("that --memory allows"), "{said}");
        assert!(!folder.path().join("a.blk").exists());
    }
}

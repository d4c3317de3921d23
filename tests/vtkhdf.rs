//! Fields as VTKHDF: of all four physics the numbers of the XML files, whether a run goes through or is killed and gone on with.

use std::path::Path;
use std::process::{Command, Stdio};

use pogo_tests::{command, succeed, workspace};

/// Blocks a model of the examples.
fn block(folder: &Path, input: &str, job: &str, block_file: &str) {
    let job = workspace().join("examples").join(job);
    succeed(
        command("pogo-block").current_dir(folder).arg(input).arg("--job").arg(job).args(["-o", block_file, "--quiet"]),
    );
}

fn tissue(folder: &Path) {
    let voxels: Vec<u8> = (0..8).flat_map(|layer| [if layer < 6 { 1 } else { 2 }; 24 * 12]).collect();
    std::fs::write(folder.join("tissue.raw"), voxels).unwrap();
    std::fs::write(folder.join("tissue.raw.toml"), "shape = [24, 12, 8]\ntype = \"uint8\"\n").unwrap();
    block(folder, "tissue.raw", "spring/tissue.toml", "tissue.blk");
}

fn solve(folder: &Path, arguments: &[&str]) -> Command {
    let mut solve = command("pogo-solve");
    solve.current_dir(folder).args(["--quiet", "--device", "cpu"]).args(arguments);
    solve
}

/// Compares the files of two runs with VTK, where there is a Python that has it.
fn compare(folder: &Path, xml: &str, hdf: &str) {
    let Some(python) = pogo_tests::python(&["numpy", "vtk"]) else { return };
    let script = workspace().join("tests/python/same_fields.py");
    let output = succeed(Command::new(&python).arg("-B").arg(script).args([xml, hdf]).current_dir(folder));
    assert!(String::from_utf8_lossy(&output.stdout).contains("grids agree"));
}

fn files(folder: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut listed: Vec<String> = listed.collect();
    listed.sort();
    listed
}

#[test]
fn both_kinds_of_files_hold_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let weld = workspace().join("examples/weld/weld.inp");
    block(folder, weld.to_str().unwrap(), "weld/weld.toml", "weld.blk");
    tissue(folder);
    succeed(command("pogo-gen").current_dir(folder).args("ventricle --rings 8 -o ventricle.vtu --quiet".split(' ')));
    block(folder, "ventricle.vtu", "eikonal/activation.toml", "ventricle.blk");
    let perlin = "perlin --size 24 --texture plates --cell 8 --fraction 0.4 -o sample.npy --quiet";
    succeed(command("pogo-gen").current_dir(folder).args(perlin.split(' ')));
    block(folder, "sample.npy", "voxel/compression.toml", "sample.blk");
    for (block_file, name) in
        [("weld.blk", "fields"), ("tissue.blk", "fields"), ("ventricle.blk", "arrival"), ("sample.blk", "fields")]
    {
        succeed(&mut solve(folder, &[block_file, "-o", "xml"]));
        // In a folder that has the files of the other kind these go.
        succeed(&mut solve(folder, &[block_file, "-o", "hdf"]));
        succeed(&mut solve(folder, &[block_file, "-o", "hdf", "--field-format", "vtkhdf"]));
        let written = files(&folder.join("hdf"));
        assert!(written.contains(&format!("{name}.vtkhdf")), "{written:?}");
        let xml = |file: &&String| ["fields", "fields.pvd", "fields.vti", "arrival.vtu"].contains(&file.as_str());
        assert_eq!(written.iter().find(xml), None);
        let summary = std::fs::read_to_string(folder.join("hdf/summary.json")).unwrap();
        assert!(summary.contains(&format!("\"{name}.vtkhdf\"")), "{summary}");
        compare(folder, "xml", "hdf");
        std::fs::remove_dir_all(folder.join("xml")).unwrap();
        std::fs::remove_dir_all(folder.join("hdf")).unwrap();
    }
}

#[test]
fn a_killed_run_leaves_what_was_done_and_goes_on_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tissue(folder);
    let whole = ["tissue.blk", "--time", "6"];
    succeed(&mut solve(folder, &[&whole[..], &["-o", "whole"]].concat()));
    let parts = [&whole[..], &["-o", "parts", "--field-format", "vtkhdf", "--checkpoint-interval", "50steps"]].concat();
    let mut child = solve(folder, &parts).stderr(Stdio::null()).spawn().unwrap();
    let began = std::time::Instant::now();
    let written = ["checkpoint.pogo", "fields.vtkhdf"].map(|name| folder.join("parts").join(name));
    while !written.iter().all(|path| path.exists()) && began.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "killed before the end");
    let error = solve(folder, &["tissue.blk", "--time", "6", "-o", "parts", "--restart"]).output().unwrap();
    let said = String::from_utf8_lossy(&error.stderr);
    assert!(error.status.code() == Some(1) && said.contains("go on with --field-format vtkhdf"), "{said}");
    succeed(&mut solve(folder, &[&parts[..], &["--restart"]].concat()));
    compare(folder, "whole", "parts");
}

//! The `pogo-info` command.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::*;
use pogo_formats::explicit::block::{Blocks, ExplicitContents, PartitionStatistics};
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;
use pogo_formats::physics::{Physics, write_block};
use pogo_tools::explicit::arrange::device_tables;

fn info(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pogo-info")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// One triangle in one block.
fn triangle() -> (tempfile::TempDir, PathBuf) {
    let mesh = Mesh {
        dimension: 2,
        coordinates: vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        node_labels: vec![1, 2, 3],
        node_instance: vec![0; 3],
        instances: vec![String::new()],
        groups: vec![ElementGroup {
            kind: ElementKind::Cpe3,
            labels: vec![1],
            instance: vec![0],
            section: vec![0],
            connectivity: vec![0, 1, 2],
        }],
        node_sets: vec![NamedSet { name: "corner".into(), members: vec![0] }],
        element_sets: vec![],
    };
    let blocks = Blocks {
        capacity: 512,
        node_first: vec![0, 3],
        n_boundary: vec![0],
        halo_first: vec![0, 0],
        halo_nodes: vec![],
        run_first: vec![0, 1],
        run_kind: vec![ElementKind::Cpe3 as u8],
        run_section: vec![0],
        run_element_first: vec![0, 1],
        run_connectivity_first: vec![0, 3],
        elements: vec![0],
        connectivity: vec![0, 1, 2],
    };
    let elasticity = Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 };
    let setup = Setup {
        title: String::new(),
        materials: vec![Material { name: "steel".into(), density: 7800.0, elasticity, damping_alpha: 0.0 }],
        sections: vec![Section {
            name: "all".into(),
            material: 0,
            material_from_global: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            thickness: 1.0,
            hourglass_factor: 1.0,
            mass_factor: 1.0,
        }],
        amplitudes: vec![],
        loads: vec![],
        boundaries: vec![],
        initial_velocities: vec![],
        absorbing_layers: vec![],
        element_histories: Vec::new(),
        histories: vec![],
        fields: vec![],
        explicit: ExplicitSettings {
            time: 1.0,
            increment: Increment::Automatic { factor: 0.9 },
            lumping: Lumping::RowSum,
        },
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("triangle.blk");
    let provenance = Provenance::new(Explicit::NAME, vec![], vec![]);
    let device = device_tables(&blocks.view(), false);
    let contents =
        ExplicitContents { mesh: &mesh, blocks: &blocks, device: &device, statistics: &PartitionStatistics::default() };
    write_block::<Explicit>(&path, contents, &setup, &provenance).unwrap();
    (folder, path)
}

#[test]
fn help() {
    insta::assert_snapshot!(stdout(&info(&["--help"])));
    assert_eq!(stdout(&info(&["--version"])), format!("pogo-info {}\n", pogo_formats::VERSION));
}

#[test]
fn completions_and_manual() {
    assert!(stdout(&info(&["--completions", "bash"])).contains("--parameters"));
    assert!(stdout(&info(&["--man"])).contains(".SH SYNOPSIS"));
}

#[test]
fn shows_lists_and_checks() {
    let (_folder, path) = triangle();
    let path = path.to_str().unwrap();
    assert!(stdout(&info(&[path])).contains("3 nodes, 1 element\n"));
    assert!(stdout(&info(&[path, "--check"])).contains("whole"));
    assert!(stdout(&info(&[path, "--sets"])).contains("corner"));
    assert!(stdout(&info(&[path, "--parameters"])).contains("material.steel.young"));
    assert_eq!(stdout(&info(&[path, "--check", "--quiet"])), "");
    let summary: serde_json::Value = serde_json::from_str(&stdout(&info(&[path, "--json"]))).unwrap();
    assert_eq!((&summary["nodes"], &summary["elements_by_kind"][0]["name"]), (&3.into(), &"CPE3".into()));
    let parameters: serde_json::Value =
        serde_json::from_str(&stdout(&info(&[path, "--parameters", "--json"]))).unwrap();
    assert_eq!(parameters[0]["value"], 7800.0);
    assert!(stdout(&info(&[path, "--json", "--quiet"])).starts_with('{'));
}

#[test]
fn draws_the_blocks() {
    let (folder, path) = triangle();
    let (path, picture) = (path.to_str().unwrap(), folder.path().join("blocks.png"));
    let arguments = [path, "--picture", picture.to_str().unwrap(), "--size", "64", "--window", "-1,-1,1,1"];
    assert!(stdout(&info(&arguments)).contains(": 1 block\n"));
    assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(info(&[path, "--window", "0,0,1,1"]).status.code(), Some(2));
    assert_eq!(info(&[path, "--picture", "a.png", "--window", "0,0,1"]).status.code(), Some(2));
}

#[test]
fn damage_is_bad_input_and_a_wrong_option_is_not() {
    let (folder, path) = triangle();
    let path = path.to_str().unwrap();
    let mut bytes = fs::read(path).unwrap();
    // A bit of the density: only the checksum can tell.
    let density = 7800_f64.to_le_bytes();
    let at = bytes.windows(8).position(|window| window == density).unwrap();
    bytes[at + 3] ^= 1;
    fs::write(path, &bytes).unwrap();
    assert!(info(&[path]).status.success());
    let output = info(&[path, "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with(&format!("{path}: error: section `setup` is damaged")), "{message}");

    fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
    let output = info(&[path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the file was cut"));
    assert_eq!(info(&[folder.path().to_str().unwrap()]).status.code(), Some(1));
    assert_eq!(info(&[path, "--chekc"]).status.code(), Some(2));
    assert_eq!(info(&[]).status.code(), Some(2));
}

#[test]
fn a_window_is_for_models_in_the_plane() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.inp", "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n");
    write("eikonal.toml", "physics = \"eikonal\"\n[[velocity]]\nspeed = 1\n[[start]]\nnode = 1\n");
    write(
        "spring.toml",
        "physics = \"spring\"\n[solver]\ntime = 1\n[[material]]\nname = \"a\"\nmass = 1\n[[springs]]\nname = \"b\"\n\
         all = true\nstiffness = 1\n",
    );
    for (job, options, message) in [
        ("eikonal.toml", &["--window", "0,0,1,1"][..], "--window is for models in the plane"),
        ("spring.toml", &["--window", "0,0,1,1"], "--window is not for masses and springs"),
        ("spring.toml", &["--size", "100"], "--size is not for masses and springs"),
    ] {
        let mut block = Command::new(env!("CARGO_BIN_EXE_pogo-block"));
        block.current_dir(&folder).args(["a.inp", "--job", job, "-o", "a.blk", "-q"]);
        stdout(&block.output().unwrap());
        let file = folder.path().join("a.blk");
        let picture = folder.path().join("a.png");
        let output = info(&[&[file.to_str().unwrap(), "--picture", picture.to_str().unwrap()][..], options].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(message) && !picture.exists(), "{said}");
    }
}

#[test]
fn help_that_cannot_be_written_is_no_success() {
    for option in ["--help", "--version", "--man"] {
        for name in ["pogo-block", "pogo-gen", "pogo-info"] {
            let binary = PathBuf::from(env!("CARGO_BIN_EXE_pogo-info")).with_file_name(name);
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = Command::new(binary).arg(option).stdout(full).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && said.contains("cannot write to stdout"), "{name}: {said}");
        }
    }
}

#[test]
fn a_reader_that_went_away_is_success() {
    let (_folder, path) = triangle();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_pogo-info")).arg(path).stdout(writer).status().unwrap();
    assert!(status.success(), "{status}");
}

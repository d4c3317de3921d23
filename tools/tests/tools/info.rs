//! The `pogo-info` command.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::{POGO_BLOCK, POGO_GEN, POGO_INFO, pogo_block, stdout};

fn info(arguments: &[&str]) -> Output {
    Command::new(POGO_INFO).args(arguments).output().unwrap()
}

const DECK: &str = "*NODE\n1, 0, 0\n2, 1, 0\n3, 0, 1\n*ELEMENT, TYPE=CPE3, ELSET=ALL\n1, 1, 2, 3\n*NSET, NSET=corner\n1\n\
    *SOLID SECTION, ELSET=ALL, MATERIAL=steel\n*MATERIAL, NAME=steel\n*DENSITY\n7800\n*ELASTIC\n2.1e11, 0.3\n*STEP\n\
    *DYNAMIC, EXPLICIT\n, 1\n*END STEP\n";

/// One triangle in one block.
fn triangle() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("triangle.inp"), DECK).unwrap();
    stdout(&pogo_block(folder.path(), &["triangle.inp", "-q"]));
    let path = folder.path().join("triangle.blk");
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
    let page = stdout(&info(&[path]));
    assert!(page.contains("3 nodes, 1 element\n"));
    assert!(page.contains("checked     checksums; not that the tables say the same (--check does both)\n"), "{page}");
    assert!(stdout(&info(&[path, "--check"])).contains("whole"));
    assert!(stdout(&info(&[path, "--sets"])).contains("corner"));
    assert!(stdout(&info(&[path, "--parameters"])).contains("material.steel.young"));
    assert_eq!(stdout(&info(&[path, "--check", "--quiet"])), "");
    let summary: serde_json::Value = serde_json::from_str(&stdout(&info(&[path, "--json"]))).unwrap();
    assert_eq!((&summary["nodes"], &summary["elements_by_kind"][0]["name"]), (&3.into(), &"CPE3".into()));
    let parameters: serde_json::Value =
        serde_json::from_str(&stdout(&info(&[path, "--parameters", "--json"]))).unwrap();
    assert_eq!(parameters[0]["value"], 7800.0);
    assert_eq!(summary["checked"], "checksums");
    assert!(stdout(&info(&[path, "--json", "--check"])).contains("\"checked\": \"checksums and tables\""));
    assert!(stdout(&info(&[path, "--json", "--quiet"])).starts_with('{'));
}

#[test]
fn draws_the_blocks() {
    let (folder, path) = triangle();
    let (path, picture) = (path.to_str().unwrap(), folder.path().join("blocks.png"));
    let arguments = [path, "--picture", picture.to_str().unwrap(), "--size", "640", "--window", "-1,-1,1,1"];
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
    for arguments in [&[path][..], &[path, "--check"], &[path, "--parameters"], &[path, "--json"]] {
        let output = info(arguments);
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.starts_with(&format!("{path}: error: section `setup` is damaged")), "{message}");
        assert!(output.stdout.is_empty());
    }

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
    ] {
        stdout(&pogo_block(folder.path(), &["a.inp", "--job", job, "-o", "a.blk", "-q"]));
        let file = folder.path().join("a.blk");
        let picture = folder.path().join("a.png");
        let output = info(&[&[file.to_str().unwrap(), "--picture", picture.to_str().unwrap()][..], options].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(message) && !picture.exists(), "{said}");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for option in ["--help", "--version", "--man"] {
        for program in [POGO_BLOCK, POGO_GEN, POGO_INFO] {
            let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let output = Command::new(program).arg(option).stdout(full).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && said.contains("cannot write to stdout"), "{program}: {said}");
        }
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (_folder, path) = triangle();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(POGO_INFO).arg(path).stdout(writer).status().unwrap();
    assert!(status.success(), "{status}");
}

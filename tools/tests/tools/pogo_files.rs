//! `.pogo-inp` files as a user blocks them: jobs on top, options, messages.

use std::fs;

use pogo_tests::pogo::{PogoModel, Signal, dof};

use crate::{pogo_block, pogo_info, stdout, text};

#[test]
fn a_job_and_options_change_a_pogo_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut plate = PogoModel::plate(8, 4);
    plate.materials.push((0, 0, vec![70e9, 0.34, 2700.0, 1e4]));
    plate.material_of[3] = 1;
    let push = plate.shots[0].1[0].clone();
    plate.shots.push((1e-7, vec![Signal { dofs: vec![dof(4, 1)], ..push }]));
    fs::write(folder.join("plate.pogo-inp"), plate.bytes(15, 8)).unwrap();
    let job = "[solver]\ntime = 2e-6\n[[material]]\nname = \"material 1\"\nyoung = 1e11\npoisson = 0.3\ndensity = 8000\n\
               [[monitor]]\nname = \"mean\"\nnset = \"main\"\nvariables = \"U2\"\nweights = [0.5, 0.5]\nevery = 2\nfirst = 3\n";
    fs::write(folder.join("job.toml"), job).unwrap();
    let said = stdout(&pogo_block(folder, &["plate.pogo-inp", "--job", "job.toml"]));
    assert!(said.contains("45 nodes, 32 elements (CPE4R)"), "{said}");
    let listing = stdout(&pogo_info(folder, &["plate.blk", "--parameters"]));
    let of =
        |name: &str| listing.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {listing}"));
    for (name, value) in [
        ("material.material 1.young", "1e11"),
        ("material.material 2 (parent 1).alpha", "10000"),
        ("solver.time", "2e-6"),
        ("load.SHOT2.SIG1.magnitude", "2"),
    ] {
        assert!(of(name).contains(value), "{}", of(name));
    }
    let info = stdout(&pogo_info(folder, &["plate.blk"]));
    assert!(info.contains("weighted sum of U2 of 2 nodes, every 2 increments from number 3 on"), "{info}");
    assert!(info.contains("every increment from number 1 on") && info.contains("2 increments from 20 to 60"), "{info}");
}

#[test]
fn a_check_shows_what_a_pogo_file_says_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut plate = PogoModel::plate(8, 4);
    fs::write(folder.join("plate"), plate.bytes(11, 4)).unwrap();
    let said = stdout(&pogo_block(folder, &["plate", "--check"]));
    for line in ["title            a plate", "run name         plate", "metadata owner   A. Nother", "60 increments of"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
    plate.exchange = vec![(vec![1], vec![2])];
    fs::write(folder.join("periodic.pogo-inp"), plate.bytes(15, 8)).unwrap();
    stdout(&pogo_block(folder, &["periodic.pogo-inp"]));
    let info = stdout(&pogo_info(folder, &["periodic.blk"]));
    assert!(info.contains("u of 1 node is copied from others after each step"), "{info}");
    plate.exchange = vec![(vec![1], vec![1000])];
    fs::write(folder.join("beyond.pogo-inp"), plate.bytes(15, 8)).unwrap();
    let output = pogo_block(folder, &["beyond.pogo-inp"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("beyond.pogo-inp: error: mpi: a node that is received is 1000"),
        "{output:?}"
    );
    assert!(!folder.join("beyond.blk").exists());
}

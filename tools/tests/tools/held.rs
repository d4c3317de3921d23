//! Inputs that lie in memory: what is made of them, and what a block file says of them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Parser;
use pogo_formats::block::{Container, repair};
use pogo_formats::mesh::NamedSet;
use pogo_formats::read::deck::{self, ReadOptions};
use pogo_formats::system::held::{Held, HeldCells, HeldMesh, Pieces, Shared, hold};
use pogo_tools::commands::block::Cli;

use crate::block::{JOB, bare_mesh};
use crate::{pogo_block, text};

/// The mesh of a deck whose labels count from 1.
fn arrays_of(deck: &Path) -> HeldMesh {
    let mesh = deck::read(deck, &ReadOptions::default()).unwrap().mesh;
    assert!(mesh.node_labels.iter().zip(1..).all(|(label, expected)| *label == expected));
    let indices = |list: &[u32]| -> Shared<i64> { Arc::new(list.iter().copied().map(i64::from).collect::<Vec<_>>()) };
    let sets = |sets: &[NamedSet]| sets.iter().map(|set| (set.name.clone(), indices(&set.members))).collect();
    let cells = mesh.groups.iter().map(|group| HeldCells {
        kind: group.kind.name().into(),
        corners: group.kind.n_nodes(),
        nodes: indices(&group.connectivity),
    });
    HeldMesh {
        dimension: mesh.dimension as usize,
        groups: cells.collect(),
        node_sets: sets(&mesh.node_sets),
        element_sets: sets(&mesh.element_sets),
        points: Arc::new(mesh.coordinates),
        cell_data: Vec::new(),
    }
}

/// Name, length and checksum of every table.
fn tables(path: &Path) -> Vec<(String, u64, u64)> {
    let container = Container::open(path).unwrap();
    let tables = container.sections().iter().filter(|section| section.name != "provenance");
    tables.map(|section| (section.name.clone(), section.bytes, section.checksum)).collect()
}

#[test]
fn a_model_in_memory_has_the_tables_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mesh.inp"), bare_mesh(30).replace("A square\n", "")).unwrap();
    fs::write(at("job.toml"), JOB).unwrap();
    let output = pogo_block(folder.path(), &["mesh.inp", "--job", "job.toml", "-o", "files.blk"]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let mut holding = hold();
    let mesh = holding.add("mesh.inp", Held::Mesh(Arc::new(arrays_of(&at("mesh.inp"))))).to_owned();
    let bytes: Shared<u8> = Arc::new(JOB.as_bytes().to_vec());
    let job = holding.add("job.toml", Held::File(Pieces::new(vec![bytes]))).to_owned();
    let words = [Path::new("pogo-block"), &mesh, Path::new("--job"), &job, Path::new("-o"), &at("held.blk")];
    let report = Cli::try_parse_from(words).unwrap().prepare(&()).unwrap();
    assert!(report.ok && report.json.contains("\"estimated_memory\""), "{}", report.json);
    assert_eq!(tables(&at("held.blk")), tables(&at("files.blk")));

    // Nobody has these inputs any more when the file is of an older version.
    let mut older = fs::read(at("held.blk")).unwrap();
    older[12] -= 1;
    assert!(repair(&mut older));
    fs::write(at("held.blk"), older).unwrap();
    let output = pogo_block(folder.path(), &["--upgrade", "held.blk"]);
    let said = text(&output.stderr);
    let expected = "made from mesh.inp (in memory): make it again with the program that had this input";
    assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
}

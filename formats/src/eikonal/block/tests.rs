use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::block::{BlockError, Provenance, Source, damage};
use crate::eikonal::ecg::{Ecg, Electrode, Lead, Sampling, Template};
use crate::eikonal::setup::{Directions, Start, StartRegion, TreeSettings, Velocity, VelocityClass};
use crate::eikonal::sub_domains;
use crate::explicit::Explicit;
use crate::mesh::NamedSet;
use crate::physics::{BlockFile, Physics, write_block};

type File = BlockFile<Eikonal>;
type Contents = (EikonalMesh, SubDomains, EikonalSetup, Trees);

/// Words of the error to expect, and how to cause it.
type Spoil = (&'static str, fn(&mut Contents));

/// A row of three tetrahedra in two sub-domains.
fn contents() -> Contents {
    let mut mesh = EikonalMesh {
        corners: 4,
        coordinates: [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 1., 1.], [2., 1., 1.]].concat(),
        elements: vec![0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5],
        original_node: vec![5, 4, 3, 2, 1, 0],
        original_element: vec![1, 0, 2],
        node_labels: vec![1, 2, 3, 4, 5, 6],
        element_labels: vec![7, 8, 9],
        node_instance: vec![0; 6],
        instances: vec!["I".into()],
        node_sets: vec![NamedSet { name: "A".into(), members: vec![0, 5] }],
        element_sets: vec![NamedSet { name: "B".into(), members: vec![2] }],
        class: vec![0, 1, 1],
        fibre: vec![1.0; 9],
        sheet: vec![0.5; 9],
        velocities: vec![0.5; 3],
        tensor: vec![1.0; 18],
        ..Default::default()
    };
    mesh.connect(6);
    let domains = sub_domains("morton", &[0, 3, 6], &mesh);
    let mut setup = EikonalSetup::default();
    let axes = Velocity::Axes { speeds: [3., 2., 1.], directions: Directions::Each };
    setup.classes = vec![
        VelocityClass { name: "a".into(), velocity: axes },
        VelocityClass { name: "b".into(), velocity: Velocity::Blocked },
    ];
    let start = |name: &str, region| Start { name: name.into(), region, time: 0.5 };
    setup.starts = vec![start("n", StartRegion::Nodes(vec![0, 3])), start("s", StartRegion::Set(0))];
    let tree =
        TreeSettings { name: "t".into(), speed: 2.0, radius: None, delay: 0.1, delay_back: 0.2, start: Some((0, 1.0)) };
    setup.trees = vec![tree];
    let trees = Trees {
        coordinates: vec![0.5; 9],
        edges: vec![0, 1, 1, 2],
        speeds: vec![1.0, 2.0],
        node_first: vec![0, 3],
        edge_first: vec![0, 2],
        junctions: vec![2],
    };
    let electrode = |name: &str| Electrode { name: name.into(), position: [9.0; 3] };
    setup.ecg = Some(Ecg {
        electrodes: vec![electrode("LA"), electrode("RA")],
        leads: vec![Lead { name: "I".into(), plus: vec![0], minus: vec![1] }],
        conductivity: [1.0; 3],
        torso: 0.2,
        template: Template { rest: -85.0, peak: 30.0, upstroke: 1.0, duration: Some(300.0), recovery: 40.0 },
        sampling: Sampling { step: 1.0, from: None, to: None },
    });
    setup.gradient.nodes = vec![5];
    (mesh, domains, setup, trees)
}

fn write((mesh, domains, setup, trees): &Contents, path: &Path) -> Result<u64, BlockError> {
    let source = Source { name: "heart.vtu".into(), bytes: 12, hash: 34 };
    let provenance = Provenance::new(Eikonal::NAME, vec![source], vec!["--domains 2".into()]);
    write_block::<Eikonal>(path, EikonalContents { mesh, domains, trees }, setup, &provenance)
}

fn written(contents: &Contents) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.blk");
    write(contents, &path).unwrap();
    (folder, path)
}

/// Reads every value of every view, and calls what a solver calls.
fn everything(file: &File) -> String {
    let (mesh, domains) = (file.mesh(), file.domains());
    for node in 0..mesh.n_nodes() {
        mesh.round(node).iter().for_each(|&entry| assert!(mesh.nodes((entry / 4) as usize).len() == mesh.corners));
        mesh.neighbours_of(node).iter().for_each(|&other| assert!(mesh.point(other as usize)[0].is_finite()));
    }
    for domain in 0..domains.n_domains() {
        assert!(domains.sent(domain).map(|message| message.items.len()).sum::<usize>() < 1 << 30);
        assert!(domains.halo_of(domain).len() + domains.n_own(domain) < 1 << 30);
    }
    let metrics = crate::eikonal::metrics(&mesh, &file.setup().classes);
    let starts: Vec<_> = file.setup().starts.iter().map(|s| crate::eikonal::nodes_of(&mesh, &s.region)).collect();
    let (trees, setup) = (file.trees(), file.setup());
    for tree in 0..trees.n_trees() {
        assert!(
            trees
                .edges_of(tree)
                .flat_map(|edge| trees.ends(edge))
                .all(|node| trees.point(node as usize)[0].is_finite())
        );
    }
    let ecg = setup.ecg.as_ref();
    let sigma = ecg.map(|ecg| (ecg.conductivities(&mesh, &setup.classes, &[]), ecg.channels().count()));
    format!("{mesh:?} {domains:?} {setup:?} {metrics:?} {starts:?} {trees:?} {sigma:?}")
}

#[test]
fn what_is_written_is_read() {
    let contents = contents();
    let (_folder, path) = written(&contents);
    let file = File::open(&path).unwrap();
    file.verify().unwrap();
    assert_eq!(format!("{:?}", file.mesh()), format!("{:?}", contents.0.view()));
    assert_eq!(format!("{:?}", file.domains()), format!("{:?}", contents.1.view()));
    assert_eq!(format!("{:?}", file.trees()), format!("{:?}", contents.3.view()));
    assert_eq!(file.setup(), contents.2);
    assert_eq!(file.container().provenance().physics, "eikonal");
    let error = BlockFile::<Explicit>::open(&path).unwrap_err().to_string();
    assert!(error.contains("eikonal"), "{error}");
    let first = fs::read(&path).unwrap();
    write(&contents, &path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), first, "the same contents give the same bytes");
}

#[test]
fn a_cut_file_is_named() {
    let (_folder, path) = written(&contents());
    damage::cut_at_every_byte(&path, File::open);
}

#[test]
fn every_flipped_bit_is_found_and_none_misbehaves() {
    let (_folder, path) = written(&contents());
    damage::flip_every_bit(&path, File::open, File::container, everything);
}

#[test]
fn tables_that_do_not_fit_are_not_written() {
    let spoil: [Spoil; 26] = [
        ("5 corners", |c| c.0.corners = 5),
        ("mesh.coordinates", |c| c.0.coordinates[4] = f64::NAN),
        ("mesh.elements: index 6", |c| c.0.elements[3] = 6),
        ("an element or corner", |c| c.0.incident[0] = 4 * 3),
        ("neighbours: index 9", |c| c.0.neighbours[0] = 9),
        ("offsets decrease", |c| c.0.incident_first[2] = 11),
        ("classes of elements: one", |c| c.0.class[1] = 2),
        ("mesh.fibre: 8", |c| c.0.fibre.truncate(8)),
        ("velocities: 2", |c| c.0.velocities.truncate(2)),
        ("mesh.node_instance", |c| c.0.node_instance[0] = 1),
        ("node set `A`", |c| c.0.node_sets[0].members[0] = 6),
        ("element set `B`", |c| c.0.element_sets[0].members[0] = 3),
        ("item 5 in no sub-domain", |c| c.1.ranges[3] = 5),
        ("items of messages: index 6", |c| *c.1.halo.last_mut().unwrap() = 6),
        ("message 0: an item of another", |c| c.1.halo[0] = 0),
        ("not consecutive", |c| (c.1.range_first, c.1.ranges) = (vec![0, 2, 3], vec![0, 1, 1, 3, 3, 6])),
        ("start `s`: node set 3", |c| c.2.starts[1].region = StartRegion::Set(3)),
        ("start `n`", |c| c.2.starts[0].region = StartRegion::Nodes(vec![6])),
        ("trees.edges: index 3", |c| c.3.edges[3] = 3),
        ("trees.speeds: 1", |c| c.3.speeds.truncate(1)),
        ("nodes of trees", |c| c.3.node_first[1] = 2),
        ("edges of trees", |c| c.3.edge_first[1] = 3),
        ("a start that is no node", |c| c.2.trees[0].start = Some((3, 0.0))),
        ("trees: 1 with 0 settings", |c| c.2.trees.clear()),
        ("lead `I`: index 2", |c| c.2.ecg.as_mut().unwrap().leads[0].minus = vec![2]),
        ("gradient: index 6", |c| c.2.gradient.nodes = vec![6]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.blk");
    for (expected, change) in spoil {
        let mut contents = contents();
        change(&mut contents);
        let error = write(&contents, &path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("not written"), "{error}\nexpected {expected}");
        assert!(!path.exists());
    }
}

#[test]
fn verify_finds_what_was_written_wrongly() {
    let spoil: [Spoil; 4] = [
        ("lists round nodes", |c| c.0.neighbours[0] = 0),
        ("original nodes", |c| c.0.original_node[0] = 0),
        ("original elements", |c| c.0.original_element[0] = 2),
        ("messages of sub-domains", |c| {
            c.1.halo.pop();
            *c.1.item_first.last_mut().unwrap() -= 1;
        }),
    ];
    for (expected, change) in spoil {
        let mut contents = contents();
        change(&mut contents);
        let (_folder, path) = written(&contents);
        let file = File::open(&path).unwrap();
        assert!(everything(&file).len() > 100);
        let error = file.verify().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
}

/// The corpus of the fuzz target, in ordinary tests. `POGO_WRITE_CORPUS=1` makes it anew, which a new format needs.
#[test]
fn fuzz_corpus() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/corpus/block"));
    if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
        let (_folder, path) = written(&contents());
        let whole = fs::read(&path).unwrap();
        fs::write(folder.join("eikonal"), &whole).unwrap();
        fs::write(folder.join("eikonal-cut"), &whole[..whole.len() / 2]).unwrap();
    }
    let file = File::open(&folder.join("eikonal")).unwrap();
    assert!(everything(&file).len() > 100);
    file.verify().unwrap();
    assert!(File::open(&folder.join("eikonal-cut")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damage_of_any_kind_never_panics(bytes in damage::bytes()) {
        let (_folder, path) = written(&contents());
        damage::overwrite(&path, bytes, everything);
    }
}

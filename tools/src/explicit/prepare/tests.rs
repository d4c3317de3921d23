use pogo_formats::dynamics::{Boundary, BoundaryKind, HistoryRequest, Load, LoadKind, OutputInterval};

use super::*;

#[test]
fn the_default_output_lies_beside_the_deck() {
    assert_eq!(Config::default_output(Path::new("a/b.c/weld.inp")), Path::new("a/b.c/weld.blk"));
    assert_eq!(Config::default_output(Path::new("weld")), Path::new("weld.blk"));
}

#[test]
fn remap_reaches_every_node_list_and_leaves_padding_and_elements() {
    let load = |kind| Load { name: String::new(), kind, magnitude: 1.0, amplitude: None };
    let direction = [1.0, 0.0, 0.0];
    let faces = vec![[0, 1, u32::MAX, u32::MAX]];
    let mut setup = pogo_formats::explicit::Setup {
        title: String::new(),
        materials: vec![],
        sections: vec![],
        amplitudes: vec![],
        loads: vec![
            load(LoadKind::Concentrated { nodes: vec![0, 2], weights: vec![], direction }),
            load(LoadKind::Pressure { faces: faces.clone(), elements: vec![0] }),
            load(LoadKind::Traction { faces, elements: vec![0], direction }),
            load(LoadKind::Body { elements: vec![0, 1], direction }),
        ],
        boundaries: vec![Boundary {
            name: String::new(),
            nodes: vec![1],
            component: 0,
            kind: BoundaryKind::Displacement,
            value: 0.0,
            amplitude: None,
        }],
        initial_velocities: vec![pogo_formats::dynamics::InitialVelocity {
            name: String::new(),
            nodes: vec![2, 1],
            component: 0,
            value: 1.0,
        }],
        absorbing_layers: vec![],
        element_histories: Vec::new(),
        histories: vec![HistoryRequest {
            set: String::new(),
            nodes: vec![0],
            variables: vec![],
            interval: OutputInterval::Increments(1),
        }],
        fields: vec![],
        explicit: pogo_formats::explicit::ExplicitSettings {
            time: 1.0,
            increment: pogo_formats::dynamics::Increment::Fixed(1.0),
            lumping: pogo_formats::explicit::Lumping::RowSum,
        },
    };
    remap_setup(&mut setup, &[2, 0, 1]);
    let LoadKind::Concentrated { nodes, .. } = &setup.loads[0].kind else { panic!() };
    assert_eq!(nodes, &[2, 1]);
    for load in &setup.loads[1..3] {
        let (LoadKind::Pressure { faces, elements } | LoadKind::Traction { faces, elements, .. }) = &load.kind else {
            panic!()
        };
        assert_eq!((faces[0], elements[0]), ([2, 0, u32::MAX, u32::MAX], 0));
    }
    let LoadKind::Body { elements, .. } = &setup.loads[3].kind else { panic!() };
    assert_eq!(elements, &[0, 1]);
    assert_eq!(setup.boundaries[0].nodes, [0]);
    assert_eq!(setup.initial_velocities[0].nodes, [1, 0]);
    assert_eq!(setup.histories[0].nodes, [2]);
}

#[test]
fn decks_are_known_by_name_or_by_their_first_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, expected) in [
        ("missing.inp", None, true),
        ("MESH.INP", Some(&b"whatever"[..]), true),
        ("mesh.txt", Some(b"\n** exported\n*NODE\n"), true),
        ("mesh", Some(b"*Heading\n"), true),
        ("bone.raw", Some(b"*\x07*\x00"), false),
        ("bone.raw", Some(b"*A\x00\x00"), false),
        ("bone.nrrd", Some(b"NRRD0004\n"), false),
        ("missing.tif", None, false),
        ("empty", Some(b""), false),
    ] {
        let path = folder.path().join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        assert_eq!(crate::prepare::is_deck(&path), expected, "{name}");
    }
    assert!(!crate::prepare::is_deck(folder.path()));
}

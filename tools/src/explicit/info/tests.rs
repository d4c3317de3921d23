use std::path::PathBuf;

use pogo_formats::block::{Provenance, SectionInfo, Source};
use pogo_formats::dynamics::*;
use pogo_formats::explicit::block::ExplicitContents;
use pogo_formats::explicit::*;
use pogo_formats::mesh::*;
use pogo_formats::parameters;
use pogo_formats::physics::write_block;

use super::*;
use crate::explicit::arrange;
use crate::info::{page as page_of, parameters_text};
use crate::partition;

/// Two by one unit squares, a quadrilateral and two triangles, in two blocks.
fn small(folder: &std::path::Path) -> PathBuf {
    let group = |kind, labels: &[u32], section: &[u32], connectivity: &[u32]| ElementGroup {
        kind,
        labels: labels.into(),
        instance: vec![0; labels.len()],
        section: section.into(),
        connectivity: connectivity.into(),
    };
    let mesh = Mesh {
        dimension: 2,
        coordinates: vec![0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.5, 1.0, 0.5, 2.0, 0.5],
        node_labels: (1..=6).collect(),
        node_instance: vec![0; 6],
        instances: vec![String::new()],
        groups: vec![
            group(ElementKind::Cpe3, &[2, 3], &[1, 1], &[1, 2, 5, 1, 5, 4]),
            group(ElementKind::Cpe4r, &[1], &[0], &[0, 1, 4, 3]),
        ],
        node_sets: vec![NamedSet { name: "left".into(), members: vec![0, 3] }],
        element_sets: vec![NamedSet { name: "all".into(), members: vec![0, 1, 2] }],
    };
    let material =
        |name, elasticity, damping_alpha| Material { damping_alpha, ..Material::new(name, 7800.0, elasticity) };
    let section = |name, material, thickness| Section { thickness, ..Section::new(name, material) };
    let load = |name: &str, kind, amplitude| Load { name: name.into(), kind, magnitude: 1e5, amplitude };
    let cubic = [168e9, 121e9, 168e9, 121e9, 121e9, 168e9, 75e9, 75e9, 75e9];
    let setup = Setup {
        title: "two squares".into(),
        materials: vec![
            material("steel", Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 }, 0.0),
            material("copper", Elasticity::Orthotropic(cubic), 20.0),
            material("nothing", Elasticity::Isotropic { young: 0.0, poisson: 0.0 }, 0.0),
        ],
        sections: vec![section("left", 0, 1.0), section("right half", 1, 0.01)],
        amplitudes: vec![Amplitude {
            scale: 2.0,
            delay: 1e-6,
            ..Amplitude::new("burst", AmplitudeShape::ToneBurst { window: Window::Hann, frequency: 1e6, cycles: 5.0 })
        }],
        loads: vec![
            load(
                "push",
                LoadKind::Concentrated { nodes: vec![0], weights: vec![], direction: [1.0, 0.0, 0.0] },
                Some(0),
            ),
            load("wind", LoadKind::Pressure { faces: vec![[2, 5, u32::MAX, u32::MAX]], elements: vec![0] }, None),
        ],
        boundaries: vec![Boundary {
            name: "fix".into(),
            nodes: vec![0, 3],
            component: 1,
            kind: BoundaryKind::Displacement,
            value: 0.0,
            amplitude: None,
        }],
        initial_velocities: vec![InitialVelocity { name: "fly".into(), nodes: vec![2], component: 0, value: 2.0 }],
        absorbing_layers: vec![AbsorbingLayer {
            name: "end".into(),
            elements: vec![0],
            depth_fraction: vec![0.5],
            profile: AbsorbingProfile::Damping { d_max: 1e6, exponent: 3.0 },
        }],
        histories: vec![HistoryRequest {
            set: "tip".into(),
            nodes: vec![2, 5],
            variables: vec![(NodalQuantity::Displacement, 0), (NodalQuantity::Reaction, 1)],
            weights: Vec::new(),
            interval: OutputInterval::Time(1e-7),
        }],
        fields: vec![FieldRequest {
            quantities: vec![FieldQuantity::Displacement, FieldQuantity::Stress],
            interval: OutputInterval::Count(20),
        }],
        explicit: ExplicitSettings {
            time: 1e-5,
            increment: Increment::Automatic { factor: 0.9 },
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    };
    let cut = partition::Partition::new(&mesh.view(), vec![0, 0, 1, 0, 0, 1], 4).unwrap();
    let arranged = arrange::arrange(mesh, cut, &arrange::ArrangeOptions::default()).unwrap();
    let provenance = Provenance {
        physics: "explicit".into(),
        sources: vec![Source { name: "squares.inp".into(), bytes: 1234, hash: 0xabcd }],
        version: "1.2.3".into(),
        options: vec!["--block-nodes=4".into()],
    };
    let path = folder.join("squares.blk");
    let (mesh, blocks, device) = (&arranged.mesh, &arranged.blocks, &arranged.device);
    let contents = ExplicitContents { mesh, blocks, device, statistics: &arranged.statistics };
    write_block::<Explicit>(&path, contents, &setup, &provenance).unwrap();
    path
}

/// Without what depends on the file format's details.
fn summary() -> Listing {
    let folder = tempfile::tempdir().unwrap();
    let file = BlockFile::<Explicit>::open(&small(folder.path())).unwrap();
    let container = file.container();
    assert_eq!(container.sections().len(), 6);
    let section = SectionInfo { bytes: 1000, checksum: 0, ..container.sections()[0].clone() };
    page_of(&file, "squares.blk", 12345, &[section], container.provenance())
}

#[test]
fn page() {
    insta::assert_snapshot!(summary());
}

#[test]
fn json() {
    insta::assert_snapshot!(summary().json());
}

#[test]
fn parameters_and_sets() {
    let folder = tempfile::tempdir().unwrap();
    let file = BlockFile::<Explicit>::open(&small(folder.path())).unwrap();
    file.verify().unwrap();
    let sets = Explicit::sets(&file).unwrap();
    insta::assert_snapshot!(parameters_text(&parameters::list(&file.setup())) + &sets.to_string());
    assert_eq!(sets.node_sets, [Count { name: "left".into(), count: 2 }]);
}

#[test]
fn speeds_have_four_digits_in_any_units() {
    let texts = [6019.6, 5.9012, 123.45, 999.99, 1.0, 0.0042, 1e-5].map(speed);
    assert_eq!(texts, ["6020", "5.901", "123.5", "1000.0", "1.000", "0.004200", "1.000e-5"]);
}

mod device;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::block::container::VERSION;
use crate::block::*;
use crate::dynamics::*;
use crate::explicit::*;
use crate::mesh::*;
use crate::physics::{BlockFile, Physics, write_block};

type File = BlockFile<Explicit>;
type Contents = (Mesh, Blocks, Setup, DeviceTables);

/// Words of the error to expect, and how to cause it.
type Spoil<T> = (&'static str, fn(&mut T));

/// A row with a massless unknown, which is prescribed and loaded.
fn linear() -> LinearConstraints {
    let term = |node, component, coefficient| LinearTerm { node, component, coefficient };
    let mut rows = LinearConstraints { massless: vec!["9.1".into()], ..LinearConstraints::default() };
    rows.push("*EQUATION", [term(0, 0, 1.0), term(1, 1, -0.5), term(0, LinearTerm::MASSLESS, 2.0)]);
    let kind = BoundaryKind::Velocity;
    rows.prescribed.push(Boundary {
        name: "held".into(),
        nodes: vec![0],
        component: 0,
        kind,
        value: 1.0,
        amplitude: None,
    });
    let kind = LoadKind::Concentrated { nodes: vec![0], weights: Vec::new(), direction: [1.0, 0.0, 0.0] };
    rows.loads.push(Load { name: "pull".into(), kind, magnitude: 3.0, amplitude: Some(0) });
    rows
}

/// A strip of nx × ny cells, each one quadrilateral or two triangles, in blocks of `capacity` nodes.
fn model(nx: u32, ny: u32, capacity: u32, triangles: impl Fn(u32) -> bool) -> Contents {
    let n_nodes = (nx + 1) * (ny + 1);
    let group = |kind| ElementGroup { kind, labels: vec![], instance: vec![], section: vec![], connectivity: vec![] };
    let mut groups = vec![group(ElementKind::Cpe3), group(ElementKind::Cpe4r)];
    for cell in 0..nx * ny {
        let a = cell / nx * (nx + 1) + cell % nx;
        let (b, c, d) = (a + 1, a + nx + 2, a + nx + 1);
        let add = |group: &mut ElementGroup, nodes: &[u32]| {
            group.labels.push(10 + 3 * cell);
            group.instance.push((cell % 2) as u16);
            group.section.push(cell % 2);
            group.connectivity.extend(nodes);
        };
        if triangles(cell) {
            add(&mut groups[0], &[a, b, c]);
            add(&mut groups[0], &[a, c, d]);
        } else {
            add(&mut groups[1], &[a, b, c, d]);
        }
    }
    groups.retain(|group| !group.is_empty());
    let mesh = Mesh {
        dimension: 2,
        coordinates: (0..n_nodes)
            .flat_map(|i| [f64::from(i % (nx + 1)) * 1e-3, f64::from(i / (nx + 1)) * 1e-3])
            .collect(),
        node_labels: (0..n_nodes).map(|i| 7 + 2 * i).collect(),
        node_instance: (0..n_nodes).map(|i| (i % 2) as u16).collect(),
        instances: vec!["plate-1".into(), "a rather long name, not stored inline".into()],
        groups,
        node_sets: vec![
            NamedSet { name: "all".into(), members: (0..n_nodes).collect() },
            NamedSet { name: "empty".into(), members: vec![] },
        ],
        element_sets: vec![NamedSet { name: "first".into(), members: vec![0] }],
    };
    let blocks = block(&mesh, capacity);
    let material = |name, elasticity| Material::new(name, 7800.0, elasticity);
    let setup = Setup {
        title: "strip".into(),
        materials: vec![
            material("steel", Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 }),
            material("weld", Elasticity::Anisotropic([1e11; 21])),
        ],
        sections: vec![Section::new("even", 0), Section::new("odd", 1)],
        amplitudes: vec![
            Amplitude::new("burst", AmplitudeShape::ToneBurst { window: Window::Hann, frequency: 1e6, cycles: 5.0 }),
            Amplitude::new("table", AmplitudeShape::Tabular { times: vec![0.0, 1.0], values: vec![0.0, 1.0] }),
        ],
        loads: vec![
            Load {
                name: "push".into(),
                kind: LoadKind::Concentrated { nodes: vec![0, 1], weights: vec![], direction: [1.0, 0.0, 0.0] },
                magnitude: 1.0,
                amplitude: Some(0),
            },
            Load {
                name: "pressure".into(),
                kind: LoadKind::Pressure { faces: vec![[0, 1, u32::MAX, u32::MAX]], elements: vec![0] },
                magnitude: 1e5,
                amplitude: None,
            },
        ],
        boundaries: vec![Boundary {
            name: "fix".into(),
            nodes: vec![2],
            component: 1,
            kind: BoundaryKind::Displacement,
            value: 0.0,
            amplitude: Some(1),
        }],
        initial_velocities: vec![InitialVelocity { name: "start".into(), nodes: vec![3], component: 0, value: 2.0 }],
        linear: linear(),
        absorbing_layers: vec![AbsorbingLayer {
            name: "end".into(),
            elements: vec![0],
            depth_fraction: vec![0.5],
            profile: AbsorbingProfile::Damping { d_max: 1e6, exponent: 3.0 },
        }],
        element_histories: vec![ElementHistoryRequest {
            set: "end".into(),
            elements: vec![0],
            variables: vec![(ElementQuantity::Stress, 5)],
            interval: OutputInterval::Count(10),
        }],
        histories: vec![HistoryRequest {
            set: "tip".into(),
            nodes: vec![1],
            variables: vec![(NodalQuantity::Displacement, 1)],
            weights: Vec::new(),
            interval: OutputInterval::Time(1e-7),
        }],
        fields: vec![FieldRequest { quantities: vec![FieldQuantity::Stress], interval: OutputInterval::Count(3) }],
        explicit: ExplicitSettings {
            time: 1e-5,
            increment: Increment::Automatic { factor: 0.9 },
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    };
    let device = device::device(&blocks);
    (mesh, blocks, setup, device)
}

/// Blocks of consecutive nodes.
fn block(mesh: &Mesh, capacity: u32) -> Blocks {
    let n_nodes = mesh.n_nodes() as u32;
    let n_blocks = n_nodes.div_ceil(capacity);
    let mut blocks = Blocks {
        capacity,
        node_first: (0..=n_blocks).map(|b| (b * capacity).min(n_nodes)).collect(),
        n_boundary: (0..n_blocks).map(|b| capacity.min(n_nodes - b * capacity)).collect(),
        halo_first: vec![0],
        halo_nodes: vec![],
        run_first: vec![0],
        run_kind: vec![],
        run_section: vec![],
        run_element_first: vec![0],
        run_connectivity_first: vec![0],
        elements: vec![],
        connectivity: vec![],
    };
    let mut of_block = vec![(vec![], BTreeSet::new()); n_blocks as usize];
    let mut element = 0;
    for group in &mesh.groups {
        for (nodes, &section) in group.connectivity.chunks(group.kind.n_nodes()).zip(&group.section) {
            for b in nodes.iter().map(|node| node / capacity).collect::<BTreeSet<u32>>() {
                let (entries, halo) = &mut of_block[b as usize];
                entries.push((group.kind, section, element, nodes));
                halo.extend(nodes.iter().copied().filter(|node| node / capacity != b));
            }
            element += 1;
        }
    }
    for (b, (mut entries, halo)) in of_block.into_iter().enumerate() {
        let own = blocks.node_first[b]..blocks.node_first[b + 1];
        let halo: Vec<u32> = halo.into_iter().collect();
        entries.sort();
        let mut last = None;
        for (kind, section, element, nodes) in entries {
            if last.replace((kind, section)) != Some((kind, section)) {
                blocks.run_kind.push(kind as u8);
                blocks.run_section.push(section);
                blocks.run_element_first.push(0);
                blocks.run_connectivity_first.push(0);
            }
            blocks.elements.push(element);
            blocks.connectivity.extend(nodes.iter().map(|node| match halo.binary_search(node) {
                Ok(at) => (own.len() + at) as u16,
                Err(_) => (node - own.start) as u16,
            }));
            *blocks.run_element_first.last_mut().unwrap() = blocks.elements.len() as u64;
            *blocks.run_connectivity_first.last_mut().unwrap() = blocks.connectivity.len() as u64;
        }
        blocks.halo_nodes.extend(&halo);
        blocks.halo_first.push(blocks.halo_nodes.len() as u64);
        blocks.run_first.push(blocks.run_kind.len() as u32);
    }
    blocks
}

/// Few bytes with both kinds of elements.
fn small() -> Contents {
    model(3, 2, 5, |cell| cell % 2 == 0)
}

/// Few bytes with fans everywhere.
fn small_triangles() -> Contents {
    model(3, 2, 5, |_| true)
}

fn provenance() -> Provenance {
    Provenance::new(
        Explicit::NAME,
        vec![Source { name: "strip.inp".into(), bytes: 123, hash: 456 }],
        vec!["--block-nodes=5".into()],
    )
}

fn statistics() -> PartitionStatistics {
    PartitionStatistics { partitioner: "rows".into(), n_blocks: 3, efficiency: 0.75, ..Default::default() }
}

fn write(path: &Path, (mesh, blocks, setup, device): &Contents) -> Result<u64, BlockError> {
    let contents = ExplicitContents { mesh, blocks, device, statistics: &statistics() };
    write_block::<Explicit>(path, contents, setup, &provenance())
}

fn written(contents: &Contents) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("strip.blk");
    let bytes = write(&path, contents).unwrap();
    assert_eq!(bytes, fs::metadata(&path).unwrap().len());
    (folder, path)
}

/// Debug output of everything in a file: reads every value of every view.
fn everything(file: &File) -> String {
    let (mesh, blocks) = (file.mesh(), file.blocks());
    let runs: Vec<Vec<Run>> = (0..blocks.n_blocks()).map(|b| blocks.runs(b).collect()).collect();
    let halos: Vec<&[u32]> = (0..blocks.n_blocks()).map(|b| blocks.halo(b)).collect();
    let device = file.device();
    let colours: Vec<Vec<Colour>> = (0..blocks.n_blocks()).map(|b| device.colours(b).collect()).collect();
    let fans: Vec<FanRecord> = (0..device.fan.len() / 3).map(|node| device.fan(node)).collect();
    let halo_fans: Vec<FanRecord> = (0..device.halo_fan.len() / 3).map(|entry| device.halo_fan(entry)).collect();
    let further: Vec<FanRecord> = (0..device.further_node.len()).map(|record| device.further_fan(record)).collect();
    format!(
        "{mesh:?} {blocks:?} {runs:?} {halos:?} {device:?} {colours:?} {fans:?} {halo_fans:?} {further:?} {:?} {:?} {:?}",
        file.setup(),
        file.container().provenance(),
        file.statistics()
    )
}

fn assert_same(file: &File, (mesh, blocks, setup, device): &Contents) {
    assert_eq!(format!("{:?}", file.mesh()), format!("{:?}", mesh.view()));
    assert_eq!(format!("{:?}", file.blocks()), format!("{:?}", blocks.view()));
    assert_eq!(format!("{:?}", file.device()), format!("{:?}", device.view()));
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(file.mesh().coordinates), bits(&mesh.coordinates));
    assert_eq!(&file.setup(), setup);
    assert_eq!(*file.container().provenance(), provenance());
    assert_eq!(format!("{:?}", file.statistics()), format!("{:?}", statistics().view()));
}

#[test]
fn same_contents_give_same_bytes() {
    let contents = small();
    let (_folder, path) = written(&contents);
    let (_folder2, again) = written(&contents);
    assert_eq!(fs::read(path).unwrap(), fs::read(again).unwrap());
}

#[test]
fn sections_are_aligned_and_fill_the_file() {
    let (_folder, path) = written(&small());
    let file = File::open(&path).unwrap();
    let names: Vec<&str> = file.container().sections().iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["provenance", "setup", "mesh", "blocks", "device", "statistics"]);
    assert!(file.container().sections().iter().all(|section| section.offset % 64 == 0));
    let last = file.container().sections().last().unwrap();
    assert_eq!(last.offset + last.bytes, file.container().bytes());
    file.verify().unwrap();
}

#[test]
fn cut_at_every_byte_is_an_error() {
    let (_folder, path) = written(&small());
    damage::cut_at_every_byte(&path, File::open);
}

#[test]
fn every_flipped_bit_is_found_and_none_misbehaves() {
    for contents in [small(), small_triangles()] {
        let (_folder, path) = written(&contents);
        damage::flip_every_bit(&path, File::open, BlockFile::container, everything);
    }
}

#[test]
fn what_is_no_block_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        File::open(&path).unwrap_err().to_string()
    };
    assert!(at("deck.inp", b"*NODE\n1, 0., 0.\n").contains("Abaqus deck"));
    assert!(at("empty.blk", b"").contains("empty"));
    assert!(at("text.blk", b"\x89POGO\n\x1a rest of the file").contains("text-mode"));
    assert!(matches!(File::open(folder.path()), Err(BlockError::NotAFile { .. })));
    let missing = File::open(&folder.path().join("missing.blk")).unwrap_err();
    assert!(matches!(missing, BlockError::Io { .. }) && missing.to_string().contains("missing.blk"));

    let (_folder, path) = written(&small());
    let mut bytes = fs::read(path).unwrap();
    bytes[12] += 1;
    let newer = at("newer.blk", &bytes);
    let versions = format!("(format version {}, this program reads {VERSION})", VERSION + 1);
    assert!(newer.contains(&format!("a newer Pogo wrote this block file {versions}")), "{newer}");
    bytes[12] -= 2;
    let older = at("older.blk", &bytes);
    assert!(older.contains("an older Pogo") && older.contains("with `pogo-block INPUT --job JOB.toml -o "), "{older}");
    repair(&mut bytes);
    let older = at("whole.blk", &bytes);
    let path = folder.path().join("whole.blk");
    let command = format!("make it new with `pogo-block strip.inp --block-nodes=5 -o {}`", path.display());
    assert!(older.ends_with(&command), "{older}");
}

#[test]
#[should_panic(expected = "validated in another block file")]
fn sections_stay_with_their_file() {
    let (_folder, a) = written(&small());
    let (_folder, b) = written(&small_triangles());
    let [a, b] = [a, b].map(|path| Container::open(&path).unwrap());
    let sections = <Explicit as crate::physics::Physics>::Sections::validate(&a).unwrap();
    let _ = sections.view(&b);
}

#[test]
fn sections_of_two_files_make_no_file() {
    let (_folder, a) = written(&small());
    let mut other = small();
    other.0.coordinates[0] += 0.25;
    other.2.title = "another".into();
    let (_folder, b) = written(&other);
    assert_eq!(damage::swap_sections(&a, &b, File::open), 4);
    let (_folder, b) = written(&small_triangles());
    assert!(damage::swap_sections(&a, &b, File::open) >= 6);
}

#[test]
fn tables_that_do_not_fit_are_not_written() {
    let spoil: [Spoil<Contents>; 16] = [
        ("mesh.coordinates", |c| c.0.coordinates[3] = f64::NAN),
        ("connectivity of CPE3", |c| c.0.groups[0].connectivity[0] = 12),
        ("section of CPE3", |c| c.0.groups[0].section[0] = 2),
        ("instance", |c| c.0.node_instance[0] = 2),
        ("node set `all`", |c| c.0.node_sets[0].members[0] = 12),
        ("local node", |c| c.1.connectivity[0] = 500),
        ("offsets decrease", |c| c.1.halo_first[1] = 100),
        ("its own nodes in its halo", |c| c.1.halo_nodes[0] = 0),
        ("element kind", |c| c.1.run_kind[0] = ElementKind::ALL.len() as u8),
        ("C3D4 in a 2D mesh", |c| c.1.run_kind[0] = ElementKind::C3d4 as u8),
        ("load `push`", |c| match &mut c.2.loads[0].kind {
            LoadKind::Concentrated { nodes, .. } => nodes[0] = 12,
            _ => unreachable!(),
        }),
        ("an amplitude that does not exist", |c| c.2.boundaries[0].amplitude = Some(2)),
        ("component 3 in a 2D mesh", |c| c.2.boundaries[0].component = 2),
        ("a material that does not exist", |c| c.2.sections[0].material = 2),
        ("ties of fluids: a face with a node of no fluid", |c| {
            let ties = &mut c.2.interface.ties;
            (ties.faces, ties.elements) = (vec![[0, 1, u32::MAX, u32::MAX]], vec![0]);
        }),
        ("ties of fluids: a share of no corner", |c| {
            c.2.interface.ties.shares = vec![TieShare { face: 0, corner: 0, solid: 0, weight: 1.0 }];
        }),
    ];
    for (expected, spoil) in spoil {
        let mut contents = small();
        spoil(&mut contents);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("strip.blk");
        let error = write(&path, &contents).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn blocks_that_contradict_the_mesh_fail_verification() {
    let spoil: [Spoil<Blocks>; 4] = [
        ("another kind or section", |b| b.run_section[0] ^= 1),
        ("other nodes", |b| b.connectivity.swap(0, 1)),
        ("not a boundary node", |b| b.n_boundary[1] = 0),
        ("elements where", |b| {
            let n_nodes = if b.run_kind.last() == Some(&(ElementKind::Cpe3 as u8)) { 3 } else { 4 };
            b.elements.pop();
            b.connectivity.truncate(b.connectivity.len() - n_nodes);
            *b.run_element_first.last_mut().unwrap() -= 1;
            *b.run_connectivity_first.last_mut().unwrap() -= n_nodes as u64;
        }),
    ];
    for (expected, spoil) in spoil {
        let mut contents = small();
        spoil(&mut contents.1);
        let (_folder, path) = written(&contents);
        let error = File::open(&path).unwrap().verify().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// Each spoils whatever a kernel would follow.
#[test]
fn device_tables_that_lead_astray_are_not_written() {
    let spoil: [Spoil<DeviceTables>; 22] = [
        ("colours of blocks", |d| d.colour_first[1] = 100),
        ("device.colour_element_first: offsets", |d| *d.colour_element_first.last_mut().unwrap() += 1),
        ("elements of colours: index", |d| d.coloured_elements[0] = 12),
        ("node indices for", |d| d.colour_connectivity_first[1] += 4),
        ("node indices for", |d| d.colour_element_first[1] += 2),
        ("is not of block", |d| d.colour_run[0] = 5),
        ("local node", |d| d.coloured_connectivity[2] = 12),
        ("section of materials", |d| d.material_section[0] = 2),
        ("an element kind", |d| d.material_kind[0] = ElementKind::ALL.len() as u8),
        ("fans: ", |d| d.fan.truncate(3)),
        ("materials of fans: ", |d| d.fan_materials.clear()),
        ("material 77 where", |d| d.fan_material[0] = 77),
        ("in a fan where", |d| d.fan[0] |= 0x3ff),
        ("damaged fan", |d| d.fan[24] |= 1 << 31),
        ("in a fan where", |d| d.fan_materials[0] |= 0xf),
        ("materials of the fans of blocks", |d| *d.fan_plane_first.last_mut().unwrap() += 1),
        ("materials of fans: ", |d| d.fan_planes[0] = 77),
        ("fans of 0 materials", |d| d.fan_plane_first[1..].fill(d.fan_planes.len() as u32)),
        ("in a fan where", |d| d.halo_fan[0] |= 0x3ff),
        ("outer nodes", |d| *d.outer_nodes.last_mut().unwrap() = 12),
        ("is missing", |d| d.further_node[0] += 1),
        ("further fan", |d| d.fan[24] ^= 1 << 30),
    ];
    for (expected, spoil) in spoil {
        let mut contents = small_triangles();
        spoil(&mut contents.3);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("strip.blk");
        let error = write(&path, &contents).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

/// Blocks with fans need no colours; blocks with neither are refused.
#[test]
fn colours_may_be_left_out_beside_fans() {
    let without = |mut device: DeviceTables| {
        device.colour_first.fill(0);
        (device.colour_element_first, device.colour_connectivity_first) = (vec![0], vec![0]);
        device.colour_run.clear();
        device.coloured_elements.clear();
        device.coloured_connectivity.clear();
        device
    };
    let (mesh, blocks, setup, device) = small_triangles();
    let (_folder, path) = written(&(mesh, blocks, setup, without(device)));
    File::open(&path).unwrap().verify().unwrap();

    let (mesh, blocks, setup, device) = small();
    assert!(device.fan_material.contains(&DeviceTables::NO_FANS));
    let error = write(&path, &(mesh, blocks, setup, without(device))).unwrap_err();
    assert!(error.to_string().contains("elements in neither colours nor fans"), "{error}");
}

#[test]
fn device_tables_that_contradict_the_blocks_fail_verification() {
    let spoil: [Spoil<DeviceTables>; 8] = [
        ("share local node", |d| {
            // The first two colours become one.
            d.colour_run.remove(1);
            d.colour_element_first.remove(1);
            d.colour_connectivity_first = vec![0];
            d.coloured_connectivity.clear();
            d.colour_first.iter_mut().skip(1).for_each(|first| *first -= 1);
            for n in d.colour_element_first.windows(2).map(|pair| (pair[1] - pair[0]) * 3) {
                let end = d.coloured_connectivity.len() + n.next_multiple_of(8) as usize;
                d.coloured_connectivity.resize(end, 0);
                d.colour_connectivity_first.push(end as u64);
            }
        }),
        ("other elements than their run", |d| d.coloured_elements[0] ^= 1),
        ("other elements than their run", |d| d.coloured_connectivity[..3].rotate_left(1)),
        ("a material that is not", |d| d.material_section[0] = 1),
        ("other triangles", |d| d.fan[0] ^= 1),
        ("other triangles", |d| d.fan_materials[0] ^= 1),
        ("other triangles", |d| d.fan_planes.swap(0, 1)),
        ("the fan of halo node", |d| d.halo_fan[0] ^= 1),
    ];
    for (expected, spoil) in spoil {
        let mut contents = small_triangles();
        spoil(&mut contents.3);
        let (_folder, path) = written(&contents);
        let error = File::open(&path).unwrap().verify().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let (folder, path) = written(&small());
    let old = fs::read(&path).unwrap();
    let mut contents = small();
    contents.2.title = "another".into();
    let error = write(&folder.path().join("nowhere").join("strip.blk"), &contents).unwrap_err();
    assert!(matches!(error, BlockError::Write(_)) && error.to_string().contains("nowhere"), "{error}");
    assert!(write(folder.path(), &contents).is_err());
    assert_eq!(fs::read(&path).unwrap(), old);
    write(&path, &contents).unwrap();
    assert_eq!(File::open(&path).unwrap().setup().title, "another");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
}

/// The corpus of the fuzz target, in ordinary tests. `POGO_WRITE_CORPUS=1` makes it anew, which a new format needs.
#[test]
fn fuzz_corpus() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/corpus/block"));
    if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
        for (name, contents) in
            [("two-blocks", model(2, 1, 3, |cell| cell == 0)), ("one-block", model(1, 1, 4, |_| true))]
        {
            let (_folder, path) = written(&contents);
            let whole = fs::read(path).unwrap();
            fs::write(folder.join(name), &whole).unwrap();
            fs::write(folder.join(format!("{name}-cut")), &whole[..whole.len() / 2]).unwrap();
        }
    }
    let (mut opened, mut refused) = (0, 0);
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    for path in names.filter(|path| !path.to_string_lossy().contains("voxels")) {
        match File::open(&path) {
            Ok(file) => {
                assert!(everything(&file).len() > 100);
                file.verify().unwrap();
                opened += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(opened >= 2 && refused >= 2, "{opened} opened, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(
        nx in 2_u32..9,
        ny in 1_u32..9,
        capacity in 3_u32..40,
        mask: u64,
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 1..20),
        title in ".{0,30}",
    ) {
        let mut contents = model(nx, ny, capacity, |cell| mask >> (cell % 64) & 1 == 0);
        for (coordinate, value) in contents.0.coordinates.iter_mut().zip(&values) {
            *coordinate = *value;
        }
        contents.2.title = title;
        let (_folder, path) = written(&contents);
        let file = File::open(&path).unwrap();
        assert_same(&file, &contents);
        file.verify().unwrap();
    }

    #[test]
    fn damage_of_any_kind_never_panics(bytes in damage::bytes()) {
        let (_folder, path) = written(&small_triangles());
        damage::overwrite(&path, bytes, everything);
    }
}

#[test]
#[ignore = "writes 2.4 GB: .ci/run --slow runs it"]
fn files_over_2_gib() {
    let n = 80_000_000;
    let mut contents = small();
    contents.0.dimension = 3;
    contents.0.coordinates = vec![0.25; 3 * n];
    contents.0.coordinates[3 * n - 1] = 0.5;
    contents.0.node_labels = (0..n as u32).collect();
    contents.0.node_instance = vec![0; n];
    contents.0.groups.clear();
    contents.0.element_sets.clear();
    contents.1 = block(&contents.0, 1 << 16);
    contents.3 = device::device(&contents.1);
    contents.2.loads.clear();
    contents.2.element_histories.clear();
    contents.2.absorbing_layers.clear();
    let (_folder, path) = written(&contents);
    let file = File::open(&path).unwrap();
    assert!(file.container().bytes() > 1 << 31, "{}", file.container().bytes());
    assert_eq!(file.mesh().coordinates.last(), Some(&0.5));
    assert_eq!(file.mesh().node_labels.last(), Some(&(n as u32 - 1)));
    file.verify().unwrap();
}

//! Every generated model at coarse size: shape, counts and quality of the mesh, and what the deck says.

use std::collections::HashMap;

use pogo_formats::dynamics::{Increment, LoadKind};
use pogo_formats::explicit::Model;
use pogo_formats::mesh::{ElementKind, Mesh};
use pogo_formats::read::deck;
use proptest::prelude::*;

use super::cuboid::{BoxOptions, cuboid};
use super::deck::save;
use super::mirror::{MirrorOptions, save_mirror};
use super::perlin::{PerlinOptions, save_perlin};
use super::quality::quality;
use super::stack::save_stack;
use super::*;

fn position(mesh: &Mesh, node: u32) -> [f64; 3] {
    let dimension = mesh.dimension as usize;
    let mut position = [0.0; 3];
    position[..dimension].copy_from_slice(&mesh.coordinates[node as usize * dimension..][..dimension]);
    position
}

/// Area or volume of an element from its first corners, exact for simplices: positive in Abaqus's node order.
fn orientation(mesh: &Mesh, kind: ElementKind, nodes: &[u32]) -> f64 {
    let corner = |local: usize| position(mesh, nodes[local]);
    let edge = |to: usize| {
        let (a, b) = (corner(0), corner(to));
        [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
    };
    let last = kind.n_nodes() - 1;
    let (u, v, w) = match kind {
        _ if kind.dimension() == 2 => (edge(1), edge(last), [0.0, 0.0, 1.0]),
        ElementKind::C3d4 | ElementKind::C3d6 | ElementKind::C3d6f => (edge(1), edge(2), edge(3)),
        _ => (edge(1), edge(3), edge(4)),
    };
    u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0])
}

/// What holds for every mesh: each node is used, each element the right way round, each face shared by at most two
/// elements, one connected body.
fn check_mesh(mesh: &Mesh) {
    let mut faces = HashMap::<Vec<u32>, u32>::new();
    let mut root = (0..mesh.n_nodes() as u32).collect::<Vec<_>>();
    fn find(root: &mut [u32], mut node: u32) -> u32 {
        while root[node as usize] != node {
            root[node as usize] = root[root[node as usize] as usize];
            node = root[node as usize];
        }
        node
    }
    let mut used = vec![false; mesh.n_nodes()];
    for group in &mesh.groups {
        for nodes in group.connectivity.chunks_exact(group.kind.n_nodes()) {
            assert!(orientation(mesh, group.kind, nodes) > 0.0, "{nodes:?} is turned over");
            for &node in nodes {
                used[node as usize] = true;
                let (a, b) = (find(&mut root, node), find(&mut root, nodes[0]));
                root[a as usize] = b;
            }
            for face in group.kind.faces() {
                let mut face = face.iter().map(|&local| nodes[usize::from(local)]).collect::<Vec<_>>();
                face.sort_unstable();
                *faces.entry(face).or_default() += 1;
            }
        }
    }
    assert!(used.iter().all(|&used| used), "a node belongs to no element");
    assert!(faces.values().all(|&n| n <= 2), "elements overlap");
    let whole = find(&mut root, 0);
    assert!((0..mesh.n_nodes() as u32).all(|node| find(&mut root, node) == whole), "the body is in pieces");
}

fn total_force(model: &Model) -> [f64; 2] {
    let mut total = [0.0; 2];
    for load in &model.setup.loads {
        let LoadKind::Concentrated { nodes, direction, .. } = &load.kind else { panic!("forces on nodes") };
        for (total, share) in total.iter_mut().zip(direction) {
            *total += load.magnitude * share * nodes.len() as f64;
        }
    }
    total
}

/// Sum of the areas of a mesh of triangles.
fn total_area(mesh: &Mesh) -> f64 {
    let group = &mesh.groups[0];
    group.connectivity.chunks_exact(3).map(|nodes| 0.5 * orientation(mesh, group.kind, nodes)).sum()
}

#[test]
fn models_are_good_meshes_of_the_size_asked_for() {
    let models = [
        ("weld", weld as fn(&ModelOptions) -> _, weld::SIZE, 960e3),
        ("gear", gear, gear::SIZE, 1445e3),
        ("geophysics", geophysics, geophysics::SIZE, 1010e3),
    ];
    for (name, make, size, paper_nodes) in models {
        let model = make(&ModelOptions::with_size(8.0 * size)).unwrap();
        check_mesh(&model.mesh);
        let quality = quality(&model.mesh);
        // Boundaries add nodes at this size, so the count is a little above an eighth squared.
        let count = quality.nodes as f64 * 64.0 / paper_nodes;
        assert!((0.98..1.06).contains(&count), "{name}: {quality}");
        assert!(quality.min_angle > 20.0 && quality.below_30_degrees < 2e-3, "{name}: {quality}");
        assert!((quality.mean_edge / (8.0 * size) - 1.0).abs() < 0.02, "{name}: {quality}");
        assert!((0.1..0.35).contains(&quality.irregular_nodes), "{name}: {quality:?}");
        assert_eq!(model.mesh.element_sets.iter().map(|set| set.members.len()).sum::<usize>(), quality.elements);
        assert_eq!(make(&ModelOptions::with_size(8.0 * size)).unwrap(), model, "{name} is not deterministic");
    }
}

#[test]
fn increments_are_those_of_table_1_and_follow_the_size() {
    let options = ModelOptions::default();
    assert_eq!(options.increment_for(weld::SIZE, 1e-9 / weld::SIZE), 1e-9);
    assert_eq!(options.increment_for(gear::SIZE, 2e-9 / gear::SIZE), 2e-9);
    assert_eq!(options.increment_for(geophysics::SIZE, 0.2e-3 / geophysics::SIZE), 0.2e-3);
    let coarse = weld(&ModelOptions::with_size(1e-3)).unwrap();
    assert_eq!(coarse.setup.explicit.increment, Increment::Fixed(25e-9));
    assert_eq!(coarse.setup.explicit.time, 40e-6);
}

#[test]
fn the_crack_parts_its_faces_and_nothing_else() {
    let options = ModelOptions::with_size(0.5e-3);
    let cracked = weld(&options).unwrap();
    let sound = weld(&ModelOptions { no_crack: true, ..options }).unwrap();
    assert!(!sound.mesh.node_sets.iter().any(|set| set.name == "CRACK"));
    assert_eq!(cracked.mesh.n_elements(), sound.mesh.n_elements());
    let crack = &cracked.mesh.node_sets.iter().find(|set| set.name == "CRACK").unwrap().members;
    let (faces, copies) = crack.split_at(crack.len() / 2);
    // 4 mm along y of a line at 30° to it, 0.5 mm a node, the two tips stay joined.
    assert_eq!(faces.len(), 8);
    assert_eq!(cracked.mesh.n_nodes(), sound.mesh.n_nodes() + copies.len());
    for (&face, &copy) in faces.iter().zip(copies) {
        assert_eq!(position(&cracked.mesh, face), position(&cracked.mesh, copy));
    }
    // Each face belongs to one material only: the fusion line is between them.
    let group = &cracked.mesh.groups[0];
    let sections_at = |node: u32| {
        let elements = group.connectivity.chunks_exact(3).zip(&group.section);
        let mut at = elements.filter(|(nodes, _)| nodes.contains(&node)).map(|(_, &s)| s).collect::<Vec<_>>();
        at.dedup();
        at
    };
    for (&face, &copy) in faces.iter().zip(copies) {
        let (a, b) = (sections_at(face), sections_at(copy));
        assert!(a.len() == 1 && b.len() == 1 && a != b, "{a:?} {b:?}");
    }
    // No element has nodes of both faces: nothing crosses the slit.
    let crosses = |nodes: &[u32]| nodes.iter().any(|n| faces.contains(n)) && nodes.iter().any(|n| copies.contains(n));
    assert!(!group.connectivity.chunks_exact(3).any(crosses));
}

#[test]
fn sources_push_as_the_paper_says() {
    let weld = weld(&ModelOptions::with_size(1e-3)).unwrap();
    let [right, up] = total_force(&weld);
    assert!((right - 707.1067811865).abs() < 1e-6 && (up + right).abs() < 1e-9, "{right} {up}");
    let gear = gear(&ModelOptions::with_size(1e-3)).unwrap();
    let source = &gear.mesh.node_sets[0];
    let [right, up] = total_force(&gear);
    assert!((right + source.members.len() as f64).abs() < 1e-9 && (up - 0.8 * right).abs() < 1e-9);
    // The right flank of the top tooth: between the root's fillet and the tip.
    for &node in &source.members {
        let [x, y, _] = position(&gear.mesh, node);
        assert!(x > 0.0 && x < 6e-3 && (53e-3..66e-3).contains(&x.hypot(y)), "{x} {y}");
    }
    assert_eq!(total_force(&geophysics(&ModelOptions::with_size(50.0)).unwrap()), [1e6, 4e6]);
}

#[test]
fn absorbing_levels_follow_the_cubic_law() {
    let model = geophysics(&ModelOptions::with_size(40.0)).unwrap();
    let group = &model.mesh.groups[0];
    let mut largest_error = 0f64;
    for (nodes, &section) in group.connectivity.chunks_exact(3).zip(&group.section) {
        let [x, y] = [0, 1].map(|axis| nodes.iter().map(|&n| position(&model.mesh, n)[axis]).sum::<f64>() / 3.0);
        let fraction = (1.0 - x.min(6000.0 - x).min(y + 3650.0) / 600.0).max(0.0);
        let material = &model.setup.materials[model.setup.sections[section as usize].material as usize];
        largest_error = largest_error.max(((material.damping_alpha / 500.0).cbrt() - fraction).abs());
        assert_eq!(fraction > 0.0, material.name.contains("ABS"));
    }
    // Half a level of 15.
    assert!(largest_error < 0.5 / 15.0 + 1e-9, "{largest_error}");
    assert_eq!(model.mesh.element_sets.len(), model.setup.sections.len());
}

#[test]
fn areas_are_those_of_the_shapes() {
    let geophysics = geophysics(&ModelOptions::with_size(50.0)).unwrap();
    assert!((total_area(&geophysics.mesh) / (6000.0 * 3650.0) - 1.0).abs() < 1e-12);
    let half = weld(&ModelOptions { scale: 0.5, ..ModelOptions::with_size(0.5e-3) }).unwrap();
    let whole = weld(&ModelOptions::with_size(1e-3)).unwrap();
    assert!((4.0 * total_area(&half.mesh) / total_area(&whole.mesh) - 1.0).abs() < 1e-9);
}

#[test]
fn boxes_have_about_the_nodes_asked_for() {
    for elements in ElementKind::SOLIDS {
        let options = BoxOptions { elements, nodes: 4000, jitter: 0.15, increments: 10 };
        let model = cuboid(&options).unwrap();
        check_mesh(&model.mesh);
        let n_nodes = model.mesh.n_nodes() as f64;
        assert!((n_nodes / 4000.0 - 1.0).abs() < 0.05, "{elements:?}: {n_nodes}");
        assert_eq!(model.setup.boundaries.len(), elements.dimension());
        assert!(model.setup.boundaries[0].nodes.len() > 9 && model.setup.histories[0].nodes.len() == 1);
        let faces = [&model.setup.boundaries[0].nodes, &model.mesh.node_sets[0].members];
        assert!(faces[0].len().abs_diff(faces[1].len()) <= 1);
    }
}

#[test]
fn decks_read_back_as_the_models_they_were_written_from() {
    let coarse = ModelOptions { fields: 3, ..ModelOptions::with_size(1e-3) };
    let mut models = vec![weld(&coarse).unwrap(), gear(&coarse).unwrap()];
    models.push(geophysics(&ModelOptions::with_size(60.0)).unwrap());
    models.extend(
        ElementKind::SOLIDS
            .map(|elements| cuboid(&BoxOptions { elements, nodes: 300, jitter: 0.1, increments: 100 }).unwrap()),
    );
    for mut model in models {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("box.inp");
        save(&model, &path).unwrap();
        let text = std::fs::read(path).unwrap();
        let deck = deck::read_bytes("generated.inp".as_ref(), &text, &deck::ReadOptions::default()).unwrap();
        let (mut read, notes) = deck.finish().unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        // Coordinates are rounded; all else is the same to the last bit.
        let tolerance = 1e-5 * quality(&model.mesh).mean_edge;
        let written = std::mem::take(&mut model.mesh.coordinates);
        let coordinates = std::mem::take(&mut read.mesh.coordinates);
        assert_eq!(written.len(), coordinates.len());
        assert!(written.iter().zip(&coordinates).all(|(a, b)| (a - b).abs() <= tolerance));
        assert_eq!(read.mesh, model.mesh);
        assert_eq!(read.setup, model.setup);
    }
}

#[test]
fn impossible_options_are_refused() {
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1.0] {
        let result = weld(&ModelOptions::with_size(size));
        assert!(matches!(result, Err(GenerateError::Size { .. })), "{size}: {result:?}");
    }
    let bad = ModelOptions { frequency: Some(0.0), ..ModelOptions::with_size(1e-3) };
    assert!(matches!(weld(&bad), Err(GenerateError::Option { .. })));
    let bad = BoxOptions { elements: ElementKind::C3d8, nodes: 4, jitter: 0.0, increments: 1 };
    assert!(matches!(cuboid(&bad), Err(GenerateError::Option { .. })));
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let model = weld(&ModelOptions::with_size(1.2e-3)).unwrap();
    let missing = folder.path().join("no/such/folder/weld.inp");
    assert!(matches!(save(&model, &missing), Err(GenerateError::Write(_))));
    let path = folder.path().join("weld.inp");
    let bytes = save(&model, &path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn any_size_gives_a_sound_mesh(size in 0.5e-3..1.2e-3f64, scale in 0.5..2.0f64) {
        let options = ModelOptions { scale, ..ModelOptions::with_size(size * scale) };
        for make in [weld as fn(&ModelOptions) -> _, gear] {
            let model = make(&options).unwrap();
            check_mesh(&model.mesh);
            prop_assert!(quality(&model.mesh).min_angle > 12.0, "{}", quality(&model.mesh));
        }
    }
}

/// Reads a stack of 8-bit voxels back.
fn voxels(path: &std::path::Path) -> ([usize; 3], Option<[f64; 3]>, Vec<u8>) {
    let mut stack = pogo_formats::read::image::open(path, &pogo_formats::read::image::ImageOptions::default()).unwrap();
    let mut voxels = Vec::new();
    stack.read_layers(0..stack.n_layers(), &mut voxels).unwrap();
    (stack.header().size, stack.header().spacing, voxels)
}

fn perlin_options(size: &[usize]) -> PerlinOptions {
    PerlinOptions {
        size: size.to_vec(),
        fraction: 0.3,
        texture: perlin::Texture::Bone,
        cells: 6.0,
        cell: None,
        seed: 7,
        no_mirror: false,
        spacing: 0.05,
    }
}

#[test]
fn noise_is_as_full_as_asked_mirrored_and_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for texture in [perlin::Texture::Bone, perlin::Texture::Plates, perlin::Texture::Struts] {
        let options = PerlinOptions { texture, ..perlin_options(&[65, 48, 50]) };
        let mut first = None;
        for name in ["a.npy", "a.nrrd", "a.tif"] {
            let path = folder.path().join(name);
            let summary = save_perlin(&options, &path).unwrap();
            assert!((summary.fraction - 0.3).abs() < 0.02, "{}", summary.fraction);
            let (size, spacing, voxels) = voxels(&path);
            assert_eq!(size, [65, 48, 50]);
            assert_eq!(spacing, (name != "a.npy").then_some([0.05; 3]));
            assert_eq!(voxels.iter().filter(|&&v| v == stack::SOLID).count() as u64, summary.solid);
            let at = |i: usize, j: usize, k: usize| voxels[i + 65 * (j + 48 * k)];
            for (i, j, k) in [(3, 5, 7), (30, 20, 10), (31, 1, 24)] {
                assert_eq!(at(i, j, k), at(64 - i, 47 - j, 49 - k));
            }
            assert_eq!(first.get_or_insert_with(|| voxels.clone()), &voxels);
        }
        let other = PerlinOptions { seed: 8, ..options };
        save_perlin(&other, &folder.path().join("b.npy")).unwrap();
        assert_ne!(first, Some(voxels(&folder.path().join("b.npy")).2));
    }
    for (options, name) in [
        (PerlinOptions { fraction: 1.0, ..perlin_options(&[8]) }, "a.npy"),
        (PerlinOptions { cells: 100.0, ..perlin_options(&[8]) }, "a.npy"),
        (perlin_options(&[0]), "a.npy"),
        (perlin_options(&[8, 8]), "a.npy"),
        (perlin_options(&[8]), "a.png"),
    ] {
        assert!(matches!(save_perlin(&options, &folder.path().join(name)), Err(GenerateError::Option { .. })));
    }
}

#[test]
fn mirrored_stacks_turn_every_other_copy() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.nrrd");
    let written = save_stack(&base, [3, 2, 2], 0.1, |first, out| {
        out.iter_mut().enumerate().for_each(|(v, out)| *out = (6 * first + v) as u8);
    });
    assert_eq!(written.unwrap().solid, 11);
    let options = |times: &[usize], crop: &[usize], threshold| MirrorOptions {
        stack: base.clone(),
        times: times.to_vec(),
        crop: crop.to_vec(),
        threshold,
        spacing: None,
    };
    let path = folder.path().join("large.tif");
    save_mirror(&options(&[3, 2, 1], &[], None), &path).unwrap();
    let (size, spacing, large) = voxels(&path);
    assert_eq!((size, spacing), ([9, 4, 2], Some([0.1; 3])));
    assert_eq!(large[..9], [0, 1, 2, 2, 1, 0, 0, 1, 2]);
    assert_eq!(large[18..27], [3, 4, 5, 5, 4, 3, 3, 4, 5]);
    assert_eq!(large[27..36], large[..9]);
    save_mirror(&options(&[2], &[4, 1, 3], Some(8.0)), &path).unwrap();
    let (size, _, cropped) = voxels(&path);
    assert_eq!((size, &cropped[4..8]), ([4, 1, 3], &[0, 0, 255, 255][..]));
    assert!(matches!(save_mirror(&options(&[2], &[7], None), &path), Err(GenerateError::Option { .. })));
    assert!(matches!(save_mirror(&options(&[0], &[], None), &path), Err(GenerateError::Option { .. })));
}

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::block::{BlockError, Provenance, Source, damage};
use crate::explicit::Explicit;
use crate::physics::{BlockFile, Physics, write_block};
use crate::voxel::setup::{LoadCase, NodalTable, NodeRegion, PrescribedField, VoxelMaterial};
use crate::voxel::{Bricks, BricksView, HashLevel, NO_BRICK, OffsetLevel, morton_code, morton_position, sub_domains};

type File = BlockFile<Voxel>;
type Contents = (VoxelMesh, VoxelSetup, VoxelLevels, SubDomains);

/// Words of the error to expect, and how to cause it.
type Spoil = (&'static str, fn(&mut Contents));

/// A mesh by plain sets of positions.
fn mesh(size: [u32; 3], solid: impl Fn([u32; 3]) -> bool) -> VoxelMesh {
    let (mut elements, mut nodes) = (BTreeSet::new(), BTreeSet::new());
    for k in 0..size[2] {
        for j in 0..size[1] {
            for i in (0..size[0]).filter(|&i| solid([i, j, k])) {
                elements.insert(morton_code([i, j, k]));
                nodes.extend((0..8).map(|c| morton_code([i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)])));
            }
        }
    }
    let code: Vec<u64> = nodes.iter().map(|code| code >> 9).collect::<BTreeSet<u64>>().into_iter().collect();
    let masks = |slots: &BTreeSet<u64>| {
        let (mut mask, mut first) = (vec![0; 8 * code.len()], vec![0; code.len() + 1]);
        for slot in slots {
            let brick = code.binary_search(&(slot >> 9)).unwrap();
            mask[8 * brick + (*slot as usize >> 6 & 7)] |= 1 << (slot & 63);
            first[brick + 1..].iter_mut().for_each(|first: &mut u32| *first += 1);
        }
        (mask, first)
    };
    let ((element_mask, element_first), (node_mask, node_first)) = (masks(&elements), masks(&nodes));
    let find = |code: &Vec<u64>, at: [i64; 3]| {
        let at = at.iter().all(|&x| x >= 0).then(|| morton_code(at.map(|x| x as u32)));
        at.and_then(|at| code.binary_search(&at).ok()).map_or(NO_BRICK, |brick| brick as u32)
    };
    let neighbours = code
        .iter()
        .flat_map(|&own| {
            let [i, j, k] = morton_position(own).map(i64::from);
            let steps = (0..27).map(move |d| [i + d % 3 - 1, j + d / 3 % 3 - 1, k + d / 9 - 1]);
            steps.map(|at| find(&code, at)).collect::<Vec<_>>()
        })
        .collect();
    VoxelMesh {
        size,
        spacing: 0.25,
        origin: [1.0, -2.0, 0.5],
        element_class: elements.iter().map(|code| (code % 2) as u8).collect(),
        element_modulus: Vec::new(),
        bricks: Bricks { code, element_mask, node_mask, element_first, node_first, neighbours },
    }
}

/// The corpus of the fuzz target, in ordinary tests. `POGO_WRITE_CORPUS=1` makes it anew, which a new format needs.
#[test]
fn fuzz_corpus() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/corpus/block"));
    if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
        let (_folder, path) = written(&with_levels());
        let whole = fs::read(path).unwrap();
        fs::write(folder.join("voxels"), &whole).unwrap();
        fs::write(folder.join("voxels-cut"), &whole[..whole.len() / 2]).unwrap();
    }
    let file = File::open(&folder.join("voxels")).unwrap();
    assert!(everything(&file).len() > 100);
    file.verify().unwrap();
    assert!(File::open(&folder.join("voxels-cut")).is_err());
}

/// Two bricks with elements, and nodes in a third.
fn small() -> Contents {
    contents(mesh([11, 2, 8], |[i, j, k]| j == 0 && (6..11).contains(&i) && k >= 6))
}

fn contents(mesh: VoxelMesh) -> Contents {
    let material = |name: &str| VoxelMaterial { name: name.into(), young: 1e4, poisson: None };
    let setup = VoxelSetup {
        title: "two bricks".into(),
        materials: vec![material("bone"), material("a rather long name, not stored inline")],
        magnitudes: vec![],
        cases: vec![LoadCase {
            displacements: vec![PrescribedField {
                name: "top".into(),
                region: NodeRegion::Nodes(vec![0, 3]),
                components: [true, false, true],
                magnitude: None,
                constant: [0.0; 3],
                gradient: [0.0; 9],
                centre: [0.0; 3],
            }],
            force_tables: vec![NodalTable {
                name: "push".into(),
                magnitude: None,
                nodes: vec![1],
                directions: vec![2],
                values: vec![1.5],
            }],
            ..LoadCase::default()
        }],
        ..VoxelSetup::default()
    };
    // Every brick a domain of its own.
    let domain: Vec<u32> = (0..mesh.bricks.view().n_bricks() as u32).collect();
    let domains = sub_domains("morton", &mesh.bricks.view(), &domain, domain.len());
    (mesh, setup, VoxelLevels::default(), domains)
}

/// The small model with tables of two levels: of one kind, or with an empty table and one with a slot a node.
fn with_levels() -> Contents {
    let mut contents = small();
    let fine = contents.0.bricks.clone();
    let coarse = crate::voxel::coarsen(&fine.view(), contents.0.size).unwrap();
    let sizes = [contents.0.size, crate::voxel::coarse_size(contents.0.size)];
    for (bricks, size) in [(&fine, sizes[0]), (&coarse, sizes[1])] {
        let view = bricks.view();
        let (mut nodes, mut table) = (Vec::new(), crate::voxel::BrickNodes::default());
        for brick in 0..view.n_bricks() {
            table.load(&view, brick);
            nodes.extend(view.element_codes(brick).map(|code| table.in_slot(code as usize & 511)));
        }
        let n = nodes.len();
        // The first is medium, the second long, the others short.
        let mut level = OffsetLevel {
            size,
            n_elements: n as u32,
            n_nodes: view.n_nodes() as u32,
            kind: vec![1, 2],
            before: vec![0, 0],
            short_first: nodes[2..].iter().map(|nodes| nodes[0]).collect(),
            short_offset: (1..8)
                .flat_map(|c| nodes[2..].iter().map(move |nodes| (nodes[c] - nodes[0]) as u8))
                .collect(),
            medium_first: vec![nodes[0][0]],
            medium_offset: (1..8).map(|c| (nodes[0][c] - nodes[0][0]) as u16).collect(),
            long_nodes: nodes[1].to_vec(),
            transfer: crate::voxel::Transfer::default(),
        };
        if size != sizes[0] {
            let children = |coarse: Vec<u64>, fine: Vec<u64>| -> (Vec<u8>, Vec<u32>) {
                let first = coarse.iter().map(|code| fine.partition_point(|child| child >> 3 < *code) as u32).collect();
                let bits =
                    |code: &u64| fine.iter().filter(|child| *child >> 3 == *code).fold(0, |b, c| b | 1 << (c & 7));
                (coarse.iter().map(bits).collect(), first)
            };
            let fine = fine.view();
            let elements = |bricks: &BricksView| (0..bricks.n_bricks()).flat_map(|b| bricks.element_codes(b)).collect();
            let nodes = |bricks: &BricksView| (0..bricks.n_bricks()).flat_map(|b| bricks.node_codes(b)).collect();
            let (element_children, element_first_child) = children(elements(&view), elements(&fine));
            let (node_children, node_first_child) = children(nodes(&view), nodes(&fine));
            level.transfer =
                crate::voxel::Transfer { element_children, element_first_child, node_children, node_first_child };
        }
        contents.2.offset.push(level);

        let codes: Vec<u64> = (0..view.n_bricks()).flat_map(|b| view.node_codes(b)).collect();
        let slots = (1..).find(|&m| codes.iter().map(|code| code % m).collect::<BTreeSet<_>>().len() == codes.len());
        let slots = slots.unwrap() as usize;
        let mut table = vec![0; slots];
        (0..).zip(&codes).for_each(|(node, code)| table[*code as usize % slots] = node);
        contents.2.hash.push(HashLevel {
            size,
            node_key: codes.iter().map(|&code| code as u32).collect(),
            upper: vec![0],
            upper_first: vec![0, codes.len() as u32],
            element_node: nodes.iter().map(|nodes| nodes[0]).collect(),
            slot_first: vec![0, slots as u64],
            shift_first: vec![0, 1],
            slots: table,
            shifts: vec![0],
        });
    }
    contents
}

fn provenance() -> Provenance {
    Provenance::new(
        Voxel::NAME,
        vec![Source { name: "bone.npy".into(), bytes: 1, hash: 2 }],
        vec!["--grid brick".into()],
    )
}

fn try_write((mesh, setup, levels, domains): &Contents) -> (TempDir, PathBuf, Result<u64, BlockError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bone.blk");
    let result = write_block::<Voxel>(&path, VoxelContents { mesh, levels, domains }, setup, &provenance());
    (folder, path, result)
}

fn written(contents: &Contents) -> (TempDir, PathBuf) {
    let (folder, path, result) = try_write(contents);
    assert_eq!(result.unwrap(), fs::metadata(&path).unwrap().len());
    (folder, path)
}

/// Debug output of everything in a file: reads every value of every view and asks for every position.
fn everything(file: &File) -> String {
    let mesh = file.mesh();
    let bricks = mesh.bricks;
    let positions: Vec<[u32; 3]> = (0..bricks.n_bricks())
        .flat_map(|b| bricks.element_positions(b).chain(bricks.node_positions(b)).collect::<Vec<_>>())
        .collect();
    let found: Vec<_> = positions.iter().map(|&at| (bricks.node(at), bricks.element(at))).collect();
    let offset: Vec<_> =
        file.levels().offset.iter().map(|level| nodes_of(level.n_elements, |e| level.nodes(e))).collect();
    let transfer: Vec<Vec<_>> = file
        .levels()
        .offset
        .iter()
        .flat_map(|level| {
            let transfer = level.transfer;
            let elements = (0..transfer.element_children.len()).map(move |e| transfer.of_element(e).collect());
            elements.chain((0..transfer.node_children.len()).map(move |n| transfer.of_node(n).collect()))
        })
        .collect();
    let hash: Vec<_> =
        file.levels().hash.iter().map(|level| nodes_of(level.n_elements(), |e| level.nodes(e))).collect();
    let looked_up: Vec<Vec<_>> = file
        .levels()
        .hash
        .iter()
        .map(|level| {
            (0..5000).map(|code| level.node(code)).chain([level.node(u64::MAX), level.node(1 << 40)]).collect()
        })
        .collect();
    for level in file.levels().hash {
        assert!((0..level.n_elements()).flat_map(|e| level.nodes(e)).all(|node| (node as usize) < level.n_nodes()));
    }
    let domains = file.domains();
    let domains: Vec<_> = (0..domains.n_domains())
        .map(|d| (bricks.of_domain(&domains, d), domains.received(d).count(), domains.sent(d).collect::<Vec<_>>()))
        .collect();
    format!(
        "{mesh:?} {positions:?} {found:?} {:?} {:?} {offset:?} {transfer:?} {hash:?} {looked_up:?} {domains:?}",
        file.setup(),
        file.container().provenance()
    )
}

fn nodes_of(n: usize, nodes: impl Fn(usize) -> [u32; 8]) -> Vec<[u32; 8]> {
    (0..n).map(nodes).collect()
}

fn assert_same(file: &File, (mesh, setup, levels, domains): &Contents) {
    assert_eq!(format!("{:?}", file.domains()), format!("{:?}", domains.view()));
    assert_eq!(format!("{:?}", file.levels()), format!("{:?}", levels.view()));
    assert_eq!(format!("{:?}", file.mesh()), format!("{:?}", mesh.view()));
    assert_eq!((&file.setup(), file.container().provenance()), (setup, &provenance()));
}

#[test]
fn sections_and_kinds() {
    let contents = with_levels();
    let (_folder, path) = written(&contents);
    let file = File::open(&path).unwrap();
    assert_same(&file, &contents);
    file.verify().unwrap();
    assert!(file.container().sections().iter().all(|section| section.offset % 64 == 0));
    let error = BlockFile::<Explicit>::open(&path).unwrap_err();
    assert!(matches!(error, BlockError::Physics { .. }) && error.to_string().contains("static"), "{error}");
    let (_folder, again) = written(&contents);
    assert_eq!(fs::read(path).unwrap(), fs::read(again).unwrap());
}

#[test]
fn cut_at_every_byte_is_an_error() {
    let (_folder, path) = written(&small());
    damage::cut_at_every_byte(&path, File::open);
}

#[test]
fn every_flipped_bit_is_found_and_none_misbehaves() {
    let (_folder, path) = written(&with_levels());
    damage::flip_every_bit(&path, File::open, File::container, everything);
}

#[test]
fn tables_that_do_not_fit_are_not_written() {
    let spoil: [Spoil; 17] = [
        ("edge of a voxel", |c| c.0.spacing = f64::NAN),
        ("origin", |c| c.0.origin[1] = f64::INFINITY),
        ("classes for", |c| c.0.element_class.truncate(3)),
        ("class 7 where 2", |c| c.0.element_class[0] = 7),
        ("both classes and moduli", |c| c.0.element_modulus = vec![1.0; c.0.element_class.len()]),
        ("not a positive number", |c| {
            c.0.element_modulus = vec![-1.0; c.0.element_class.len()];
            c.0.element_class.clear();
        }),
        ("outside the image", |c| c.0.size[0] = 10),
        ("bricks.neighbours", |c| c.0.bricks.neighbours.truncate(3)),
        ("not in Morton order", |c| c.0.bricks.code.swap(0, 1)),
        ("do not count the bits", |c| c.0.bricks.element_mask[0] ^= 1),
        ("do not count the bits", |c| c.0.bricks.node_first[1] += 1),
        ("is another brick", |c| c.0.bricks.neighbours[14] = 0),
        ("does not exist", |c| c.0.bricks.neighbours[14] = 77),
        ("is missing", |c| c.0.bricks.neighbours[14] = NO_BRICK),
        ("`top`", |c| match &mut c.1.cases[0].displacements[0].region {
            NodeRegion::Nodes(nodes) => nodes[1] = 1000,
            _ => unreachable!(),
        }),
        ("a magnitude that does not exist", |c| c.1.cases[0].displacements[0].magnitude = Some(0)),
        ("a direction beyond 2", |c| c.1.cases[0].force_tables[0].directions[0] = 3),
    ];
    for (expected, spoil) in spoil {
        let mut contents = small();
        spoil(&mut contents);
        let (folder, _, result) = try_write(&contents);
        let error = result.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn levels_and_domains_that_do_not_fit_are_not_written() {
    let spoil: [Spoil; 29] = [
        ("level 0: not as many", |c| c.2.offset[0].n_nodes += 1),
        ("level 1: ", |c| c.2.offset[1].size[0] += 1),
        ("level 0: level.short_offset", |c| c.2.offset[0].short_offset.truncate(3)),
        ("kinds that make no sense", |c| c.2.offset[0].kind[1] |= 1),
        ("kinds that make no sense", |c| c.2.offset[0].kind[1] = 1 << 63),
        ("do not count the kinds", |c| c.2.offset[1].before[0] = 1),
        ("not as many elements of each", |c| c.2.offset[0].kind[0] = 5),
        ("short elements: a node", |c| *c.2.offset[0].short_first.last_mut().unwrap() += 1),
        ("medium elements: a node", |c| c.2.offset[0].medium_offset[3] = 9999),
        ("level.long_nodes: index", |c| c.2.offset[0].long_nodes[3] = 9999),
        ("finest level", |c| c.2.offset[0].transfer.node_children = vec![1]),
        ("children of elements: tables", |c| c.2.offset[1].transfer.element_children.truncate(1)),
        ("children of nodes are not", |c| c.2.offset[1].transfer.node_first_child[1] += 1),
        ("children of nodes", |c| {
            *c.2.offset[1].transfer.node_children.iter_mut().rfind(|bits| **bits > 0).unwrap() = 0
        }),
        ("power of two", |c| {
            c.2.hash[0].slot_first.splice(0..0, [0, 0]).for_each(drop);
            c.2.hash[0].shift_first.splice(0..0, [0, 0]).for_each(drop);
        }),
        ("level.slot_first", |c| c.2.hash[0].slot_first[1] += 1),
        ("without shifts", |c| {
            c.2.hash[0].shift_first[1] = 0;
            c.2.hash[0].shifts.clear();
        }),
        ("level.slots: index", |c| c.2.hash[0].slots[0] = 9999),
        ("not in order", |c| c.2.hash[0].element_node.swap(0, 1)),
        ("upper bits", |c| c.2.hash[0].upper[0] = u32::MAX),
        ("upper bits of no key", |c| {
            c.2.hash[0].upper = vec![0, 1];
            c.2.hash[0].upper_first.insert(0, 0);
        }),
        ("domains.range_first: offsets", |c| c.3.range_first[1] = 77),
        ("item 0 in no sub-domain", |c| c.3.ranges[0] = 1),
        ("a brick in two sub-domains", |c| c.3.ranges[1..3].iter_mut().for_each(|node| *node -= 1)),
        ("domains.owner: index 77", |c| c.3.owner[0] = 77),
        ("sorted by owner", |c| c.3.owner[0] = 0),
        ("an item of another sub-domain", |c| c.3.halo[0] = 0),
        ("domains.sent: index", |c| c.3.sent[0] = 77),
        ("items are not sorted", |c| c.3.halo.swap(0, 1)),
    ];
    for (number, (expected, spoil)) in spoil.into_iter().enumerate() {
        let mut contents = with_levels();
        spoil(&mut contents);
        let (_, _, result) = try_write(&contents);
        let error = result.expect_err(&format!("{number}: {expected}"));
        assert!(error.to_string().contains(expected), "{number}: {expected}: {error}");
    }
}

#[test]
fn levels_and_domains_that_contradict_the_mesh_fail_verification() {
    let spoil: [Spoil; 5] = [
        ("offset tables, level 0: nodes other", |c| c.2.offset[0].short_offset[0] ^= 1),
        ("offset tables, level 1: children of nodes", |c| {
            // As many, elsewhere.
            let children = &mut c.2.offset[1].transfer.node_children;
            let bits = children.iter_mut().find(|bits| (1..8).contains(&bits.count_ones())).unwrap();
            *bits = bits.rotate_left(1);
        }),
        ("hash, level 0: nodes other", |c| c.2.hash[0].slots.rotate_left(1)),
        ("hash, level 1: ", |c| c.2.hash[1].node_key[0] ^= 1 << 20),
        ("messages other than", |c| {
            c.3.halo.pop();
            *c.3.item_first.last_mut().unwrap() -= 1;
        }),
    ];
    for (expected, spoil) in spoil {
        let mut contents = with_levels();
        spoil(&mut contents);
        let (_folder, path) = written(&contents);
        let error = File::open(&path).unwrap().verify().unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_neighbour_that_no_element_needs_is_missed_by_verification_only() {
    let mut contents = contents(mesh([16, 8, 8], |[i, _, _]| i == 0 || i == 12));
    let bricks = &mut contents.0.bricks;
    let pair = bricks.code.iter().position(|&code| code == morton_code([1, 0, 0])).unwrap();
    assert_eq!(bricks.neighbours[14] as usize, pair);
    bricks.neighbours[14] = NO_BRICK;
    let (_folder, path) = written(&contents);
    let error = File::open(&path).unwrap().verify().unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(size in [1_u32..12, 1_u32..12, 1_u32..12], mask: u64, title in ".{0,30}") {
        let mut contents = contents(mesh(size, |[i, j, k]| mask >> ((i + 5 * j + 23 * k) % 64) & 1 == 0 || i + j + k < 4));
        contents.1.title = title;
        if mask % 2 == 0 {
            contents.0.element_modulus = contents.0.element_class.iter().map(|&c| 1.5 + f32::from(c)).collect();
            contents.0.element_class.clear();
        }
        let (_folder, path) = written(&contents);
        let file = File::open(&path).unwrap();
        assert_same(&file, &contents);
        file.verify().unwrap();
    }

    #[test]
    fn damage_of_any_kind_never_panics(bytes in damage::bytes()) {
        let (_folder, path) = written(&with_levels());
        damage::overwrite(&path, bytes, everything);
    }
}

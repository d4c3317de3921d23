use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::block::{BlockError, Provenance, damage};
use crate::dynamics::{Boundary, BoundaryKind, HistoryRequest, NodalQuantity, OutputInterval};
use crate::mesh::NamedSet;
use crate::physics::{BlockFile, Physics, write_block};
use crate::spring::build::{Lattice, lattice, lists};
use crate::spring::{
    Cut, CutFrame, CutShape, NO_NEIGHBOUR, SpringAddition, SpringErasure, SpringGroup, SpringMaterial,
};

type File = BlockFile<Spring>;
type Contents = (SpringMesh, SpringSetup);

/// Words of the error to expect, and how to cause it.
type Spoil = (&'static str, fn(&mut Contents));

fn group(name: &str) -> SpringGroup {
    SpringGroup {
        name: name.into(),
        stiffness: 2.0,
        axial_stiffness: 0.0,
        damping: 0.0,
        max_strain: f64::INFINITY,
        rest_factor: 1.0,
    }
}

fn setup() -> SpringSetup {
    SpringSetup {
        title: "a lattice".into(),
        materials: vec![SpringMaterial { name: "tissue".into(), mass: 1e-3, density: 0.0 }],
        groups: ["axis", "face", "space", "suture"].map(group).into(),
        boundaries: vec![Boundary {
            name: "FIX1.1".into(),
            nodes: vec![0, 3],
            component: 0,
            kind: BoundaryKind::Displacement,
            value: 0.0,
            amplitude: None,
        }],
        cuts: vec![Cut {
            name: "KNIFE".into(),
            time: 0.5,
            frame: CutFrame::Current,
            shape: CutShape::Blade { times: vec![0.0, 1.0], from: vec![[0.0; 3]; 2], to: vec![[1.0; 3]; 2] },
        }],
        erasures: vec![SpringErasure { name: "ERASE1".into(), time: 0.0, springs: vec![[0, 1]] }],
        additions: vec![SpringAddition { name: "ADD1".into(), time: 0.0, group: 3, springs: vec![[0, 1]] }],
        histories: vec![HistoryRequest {
            set: "tip".into(),
            nodes: vec![1],
            variables: vec![(NodalQuantity::Displacement, 2)],
            weights: Vec::new(),
            interval: OutputInterval::Increments(1),
        }],
        ..SpringSetup::default()
    }
}

fn lattice_of(size: [usize; 3], solid: impl Fn(usize) -> bool) -> SpringMesh {
    let material: Vec<u8> = (0..size.iter().product()).map(|place| u8::from(solid(place))).collect();
    let mut mesh = lattice(&Lattice {
        size,
        spacing: [0.5; 3],
        origin: [0.0; 3],
        material: &material,
        has_springs: &[[true, true, false]],
        volume: 0.125,
        block_size: 32,
    })
    .unwrap();
    mesh.sets = vec![NamedSet { name: "tissue".into(), members: vec![0, 2] }];
    mesh
}

fn small() -> Contents {
    (lattice_of([5, 3, 3], |place| place % 7 != 0), setup())
}

/// Turns a spring of the particle at a place from one direction to another, at one end alone.
fn turn((mesh, _): &mut Contents, place: u32, directions: [u32; 2]) {
    let bits = directions.iter().fold(0, |bits, direction| bits | 1 << direction);
    let grid = mesh.grid.as_mut().unwrap();
    let particle = grid.place.iter().position(|&of| of == place).unwrap();
    grid.mask[place as usize] ^= bits;
    mesh.lists.mask[particle] ^= bits;
}

/// A ring of particles with springs of two groups.
fn deck() -> Contents {
    let n = 40_usize;
    let lists = lists(n, 32, true, |i, out| {
        out.push((((i + n - 1) % n) as u32, u16::from(i == 0)));
        out.push((((i + 1) % n) as u32, u16::from(i == n - 1)));
    })
    .unwrap();
    let angle = |i: usize| i as f64 / n as f64 * std::f64::consts::TAU;
    let mesh = SpringMesh {
        coordinates: (0..n).flat_map(|i| [angle(i).cos(), angle(i).sin(), 0.0]).collect(),
        labels: (1..=n as u32).collect(),
        instance: vec![0; n],
        instances: vec![String::new()],
        material: vec![0; n],
        volume: vec![1.0; n],
        sets: Vec::new(),
        grid: None,
        lists,
    };
    (mesh, setup())
}

fn try_write((mesh, setup): &Contents) -> (TempDir, PathBuf, Result<u64, BlockError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.blk");
    let provenance = Provenance::new(Spring::NAME, Vec::new(), vec!["--block-nodes 32".into()]);
    let result = write_block::<Spring>(&path, SpringContents { mesh }, setup, &provenance);
    (folder, path, result)
}

fn written(contents: &Contents) -> (TempDir, PathBuf) {
    let (folder, path, result) = try_write(contents);
    result.unwrap();
    (folder, path)
}

/// Every value of every view.
fn everything(file: &File) -> String {
    let mesh = file.mesh();
    let springs: Vec<_> = (0..mesh.n_particles()).map(|i| mesh.springs(i).collect::<Vec<_>>()).collect();
    format!("{mesh:?} {springs:?} {:?}", file.setup())
}

#[test]
fn what_was_written_is_read() {
    for contents in [small(), deck()] {
        let (_folder, path) = written(&contents);
        let file = File::open(&path).unwrap();
        assert_eq!(file.setup(), contents.1);
        assert_eq!(format!("{:?}", file.mesh()), format!("{:?}", contents.0.view()));
        file.verify().unwrap();
    }
}

/// The corpus of the fuzz target, in ordinary tests. `POGO_WRITE_CORPUS=1` makes it anew, which a new format needs.
#[test]
fn fuzz_corpus() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/corpus/block"));
    if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
        for (name, contents) in [("springs", small()), ("springs-deck", deck())] {
            let (_folder, path) = written(&contents);
            let whole = fs::read(path).unwrap();
            fs::write(folder.join(name), &whole).unwrap();
            fs::write(folder.join(format!("{name}-cut")), &whole[..whole.len() / 2]).unwrap();
        }
    }
    for name in ["springs", "springs-deck"] {
        let file = File::open(&folder.join(name)).unwrap();
        assert!(everything(&file).len() > 100);
        file.verify().unwrap();
        assert!(File::open(&folder.join(format!("{name}-cut"))).is_err());
    }
}

#[test]
fn cut_anywhere_is_refused() {
    let (_folder, path) = written(&(lattice_of([2, 2, 1], |_| true), setup()));
    damage::cut_at_every_byte(&path, File::open);
}

#[test]
fn every_flipped_bit_is_found() {
    let (_folder, path) = written(&(lattice_of([3, 2, 1], |_| true), setup()));
    damage::flip_every_bit(&path, File::open, File::container, everything);
}

#[test]
fn tables_that_do_not_fit_are_not_written() {
    let spoil: [Spoil; 25] = [
        ("mesh.coordinates", |c| c.0.coordinates.truncate(3)),
        ("not a finite number", |c| c.0.coordinates[0] = f64::NAN),
        ("mesh.instance: index 1", |c| c.0.instance[0] = 1),
        ("material of particles: index 1", |c| c.0.material[0] = 1),
        ("volumes for", |c| c.0.volume = vec![1.0; 2]),
        ("a value is not a number from", |c| c.0.volume[0] = -1.0),
        ("set `tissue`: index", |c| c.0.sets[0].members[0] = 9999),
        ("blocks of 33", |c| c.0.lists.block_size = 33),
        ("slots of blocks", |c| c.0.lists.first[1] += 1),
        ("lists.halo: index", |c| c.0.lists.halo[0] = 9999),
        ("its halo is not sorted", |c| c.0.lists.halo.reverse()),
        ("its own particles in its halo", |c| c.0.lists.halo[0] = 0),
        ("springs in", |c| c.0.lists.count[0] = 99),
        ("is not empty", |c| c.0.lists.count[0] -= 1),
        ("leads nowhere", |c| c.0.lists.neighbour[0] = 0),
        ("another number of springs", |c| c.0.lists.mask[1] ^= 1 << 25),
        ("another material", |c| c.0.lists.mask[1] ^= 1 << 27),
        ("masks of places and of particles differ", |c| c.0.grid.as_mut().unwrap().place.swap(0, 1)),
        ("place 5: bit 1 leads outside", |c| turn(c, 5, [0, 1])),
        ("place 1: the neighbour at bit 1 has no spring back", |c| turn(c, 1, [0, 1])),
        ("a grid of", |c| c.0.grid.as_mut().unwrap().size[0] += 1),
        ("spacing of the grid", |c| c.0.grid.as_mut().unwrap().spacing[1] = 0.0),
        ("`FIX1.1`: index", |c| c.1.boundaries[0].nodes[0] = 9999),
        ("`ADD1`: a spring group", |c| c.1.additions[0].group = 9),
        ("cut `KNIFE`", |c| {
            if let CutShape::Blade { times, .. } = &mut c.1.cuts[0].shape {
                times[1] = 0.0;
            }
        }),
    ];
    for (number, (expected, spoil)) in spoil.into_iter().enumerate() {
        let mut contents = small();
        spoil(&mut contents);
        let (_, _, result) = try_write(&contents);
        let error = result.expect_err(&format!("{number}: {expected}"));
        assert!(error.to_string().contains(expected), "{number}: {expected}: {error}");
    }
    let mut contents = deck();
    contents.0.lists.group[0] = 77;
    assert!(try_write(&contents).2.unwrap_err().to_string().contains("a spring group that does not exist"));
}

#[test]
fn lists_that_contradict_each_other_fail_verification() {
    let mut contents = deck();
    // From particle 1 to 3 instead of 2.
    assert_eq!(contents.0.lists.neighbour[32 + 1], 2);
    contents.0.lists.neighbour[32 + 1] = 3;
    let (_folder, path) = written(&contents);
    let error = File::open(&path).unwrap().verify().unwrap_err().to_string();
    assert!(error.contains("has one end only"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_of_any_kind_never_panics(
        deck_kind: bool,
        bytes in damage::bytes(),
    ) {
        let (_folder, path) = written(&if deck_kind { deck() } else { small() });
        damage::overwrite(&path, bytes, everything);
    }

    #[test]
    fn lattices_of_any_shape_are_read_as_written(size in [1_usize..9, 1_usize..9, 1_usize..9], holes: u64) {
        let mesh = lattice_of(size, |place| place == 0 || holes >> (place % 61) & 1 == 1);
        let mut setup = setup();
        (setup.boundaries, setup.erasures, setup.additions, setup.histories) = Default::default();
        let contents = (SpringMesh { sets: Vec::new(), ..mesh }, setup);
        prop_assert!(contents.0.lists.neighbour.iter().all(|&id| id == NO_NEIGHBOUR || id < 32 + 500));
        let (_folder, path) = written(&contents);
        File::open(&path).unwrap().verify().unwrap();
    }
}

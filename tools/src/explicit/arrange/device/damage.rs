//! Tables of solids that are damaged in one place: every check of a block file must find its own.

use pogo_formats::block::Provenance;
use pogo_formats::dynamics::Increment;
use pogo_formats::explicit::Explicit;
use pogo_formats::explicit::block::{DeviceTables, ExplicitContents, corner, grid};
use pogo_formats::explicit::{Elasticity, ExplicitSettings, Material, Section, Setup};
use pogo_formats::mesh::Mesh;
use pogo_formats::physics::{BlockFile, Physics, write_block};

use crate::explicit::arrange::Arranged;
use crate::explicit::arrange::tests::{arranged, solid, triangles};
use crate::partition::Partitioner;

/// Words of the error to expect, and how to cause it.
type Spoil = (&'static str, fn(&mut DeviceTables));

/// Steel, and nothing that acts.
fn setup(mesh: &Mesh) -> Setup {
    let sections = mesh.groups.iter().flat_map(|group| &group.section).max().map_or(1, |&most| most + 1);
    let section = |number| Section::new(format!("section {number}"), 0);
    Setup {
        materials: vec![Material::new("steel", 7800.0, Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 })],
        sections: (0..sections).map(section).collect(),
        explicit: ExplicitSettings {
            time: 1e-5,
            increment: Increment::Automatic { factor: 0.9 },
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    }
}

/// What writing and verifying the tables says, once they are spoilt.
pub(super) fn error(arranged: &Arranged, spoil: fn(&mut DeviceTables)) -> [Option<String>; 2] {
    let mut device = arranged.device.clone();
    spoil(&mut device);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solid.blk");
    let (mesh, blocks, setup) = (&arranged.mesh, &arranged.blocks, &setup(&arranged.mesh));
    let provenance = &Provenance::new(Explicit::NAME, vec![], vec![]);
    let contents = ExplicitContents { mesh, blocks, device: &device, statistics: &arranged.statistics };
    match write_block::<Explicit>(&path, contents, setup, provenance) {
        Err(error) => [Some(error.to_string()), None],
        Ok(_) => [None, BlockFile::<Explicit>::open(&path).unwrap().verify().err().map(|error| error.to_string())],
    }
}

/// Blocks of hexahedra, wedges and tetrahedra.
fn three_kinds() -> Arranged {
    let mut model = solid(6);
    model.groups.iter_mut().for_each(|group| group.section.fill(0));
    let arranged = arranged(&model, Partitioner::Greedy, 60, false);
    assert_eq!(error(&arranged, |_| ()), [None, None]);
    assert!(arranged.device.coloured_elements.contains(&DeviceTables::NO_ELEMENT));
    arranged
}

#[test]
fn tables_of_solids_that_lead_astray_are_not_written() {
    let solids = three_kinds();
    let spoil: [Spoil; 12] = [
        ("nodes of later blocks: offsets", |d| d.later_first[1] = 1 << 40),
        ("nodes of later blocks: index", |d| d.later_nodes[0] = 1 << 20),
        ("device.passed_row: ", |d| d.passed_row.truncate(1)),
        ("rows of forces: index", |d| d.passed_row[0] = 1 << 20),
        ("rows of forces: offsets", |d| d.passed_first[1] = 1 << 20),
        ("are not sorted", |d| d.later_nodes.swap(0, 1)),
        // The first node of the whole mesh is in no later block.
        ("are not sorted", |d| d.later_nodes[0] = 0),
        ("node indices for", |d| d.colour_connectivity_first[1] += 8),
        ("local node 8000", |d| d.coloured_connectivity[2] = 8000),
        ("elements of colours: index", |d| d.coloured_elements[0] = 1 << 20),
        ("is not of block", |d| d.colour_run[0] = 1 << 20),
        ("colours of blocks", |d| d.colour_first[1] = 1 << 20),
    ];
    for (expected, spoil) in spoil {
        let [said, _] = error(&solids, spoil);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {said:?}");
    }
    let plane = arranged(&triangles(6, 6, |_, _| true), Partitioner::Greedy, 20, false);
    let spoil: [Spoil; 2] = [
        ("nodes of later blocks in the plane", |d| {
            d.later_nodes.push(0);
            d.passed_row.push(0);
            *d.later_first.last_mut().unwrap() = 1;
        }),
        ("first rows of forces in the plane", |d| d.passed_first.push(0)),
    ];
    for (expected, spoil) in spoil {
        let [said, _] = error(&plane, spoil);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {said:?}");
    }
}

/// Where the corners of some hexahedra begin: of more than three, which wedges cannot be taken for.
fn hexahedra(device: &DeviceTables) -> usize {
    let n = |first: &[u64], colour: usize| first[colour + 1] - first[colour];
    let (elements, entries) = (&device.colour_element_first, &device.colour_connectivity_first);
    let colour = (0..device.colour_run.len()).find(|&c| n(elements, c) > 3 && n(entries, c) == 8 * n(elements, c));
    entries[colour.unwrap()] as usize
}

/// The first place behind the tetrahedra of a ring of fewer than six.
fn end_of_ring(device: &DeviceTables) -> usize {
    let n = |first: &[u64], colour: usize| first[colour + 1] - first[colour];
    let (elements, entries) = (&device.colour_element_first, &device.colour_connectivity_first);
    let colours = (0..device.colour_run.len()).filter(|&c| 6 * n(entries, c) == 8 * n(elements, c));
    let mut places = colours.flat_map(|c| {
        let first = elements[c] as usize;
        (first..elements[c + 1] as usize).filter(move |at| !(at - first).is_multiple_of(6))
    });
    let none = |at: usize| device.coloured_elements[at] == DeviceTables::NO_ELEMENT;
    places.find(|&at| none(at) && !none(at - 1)).unwrap()
}

#[test]
fn tables_of_solids_that_contradict_the_blocks_fail_verification() {
    let solids = three_kinds();
    let spoil: [Spoil; 7] = [
        ("other elements than those", |d| d.coloured_elements[0] ^= 1),
        ("other elements than those", |d| d.coloured_elements.swap(0, 1)),
        ("other elements than those", |d| {
            // The last of a ring's tetrahedra is gone.
            let at = end_of_ring(d);
            d.coloured_elements[at - 1] = DeviceTables::NO_ELEMENT;
        }),
        ("a ring of fewer tetrahedra than it names", |d| {
            let at = end_of_ring(d);
            d.coloured_elements[at] = 0;
        }),
        ("at once", |d| {
            // A node of the second element at the same corner as in the first.
            let at = hexahedra(d);
            d.coloured_connectivity[at + 8] = d.coloured_connectivity[at];
        }),
        ("an element without nodes", |d| {
            let at = hexahedra(d);
            d.coloured_connectivity[at..at + 8].fill(corner::ABSENT);
        }),
        ("is not one of node", |d| d.passed_row.swap(0, 1)),
    ];
    for (expected, spoil) in spoil {
        let [written, said] = error(&solids, spoil);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {written:?} {said:?}");
    }
}

#[test]
fn colours_of_several_runs_are_checked() {
    let mut model = solid(8);
    for group in &mut model.groups {
        group.section.iter_mut().enumerate().for_each(|(element, section)| *section = element as u32 / 3 % 5);
    }
    let mixed = arranged(&model, Partitioner::Greedy, 60, false);
    assert_eq!(error(&mixed, |_| ()), [None, None]);
    assert!(mixed.device.mixed_colours.len() > 10);
    let spoil: [Spoil; 3] = [
        ("mixed colours: index", |d| d.mixed_colours.push(1 << 20)),
        ("not in ascending order", |d| d.mixed_colours.swap(0, 1)),
        ("other elements than those", |d| {
            d.mixed_colours.remove(0);
        }),
    ];
    for (expected, spoil) in spoil {
        let [written, verified] = error(&mixed, spoil);
        let said = written.or(verified);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {said:?}");
    }
}

/// Grids of 13 × 13 × 5 hexahedra and 13 × 13 × 4 cells of tetrahedra, wedges in between.
fn two_grids() -> Arranged {
    let mut model = solid(13);
    model.groups.iter_mut().for_each(|group| group.section.fill(0));
    let arranged = arranged(&model, Partitioner::Greedy, 200, false);
    assert_eq!(error(&arranged, |_| ()), [None, None]);
    assert_eq!(arranged.device.grid_material.len(), 2);
    arranged
}

#[test]
fn grids_that_lead_astray_are_not_written() {
    let spoil: [Spoil; 6] = [
        ("tables of different lengths", |d| d.grid_places.truncate(1)),
        ("tables of different lengths", |d| d.grid_size[0] = u32::MAX),
        ("device.grid_size: ", |d| d.grid_material.push(0)),
        ("neither of hexahedra nor", |d| d.grid_material[0] = 9),
        ("leads nowhere", |d| d.grid_places[0] = 1 << 20),
        ("leads nowhere", |d| *d.grid_places.last_mut().unwrap() |= grid::PRESENT),
    ];
    let two = two_grids();
    for (expected, spoil) in spoil {
        let [said, _] = error(&two, spoil);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {said:?}");
    }
}

#[test]
fn grids_that_contradict_the_mesh_fail_verification() {
    let spoil: [Spoil; 5] = [
        ("an element that the mesh does not have", |d| d.grid_places.swap(0, 1)),
        ("an element that the mesh does not have", |d| {
            let n = d.grid_places.len();
            d.grid_places.swap(n - 1, n - 2);
        }),
        ("an element that the mesh does not have", |d| {
            // Hexahedra as tetrahedra.
            d.grid_material.swap(0, 1);
        }),
        ("or in two places", |d| {
            let n = d.grid_size[..3].iter().product::<u32>() as usize;
            d.grid_places.extend_from_within(..n);
            d.grid_size.extend_from_within(..3);
            d.grid_material.push(d.grid_material[0]);
        }),
        ("has other elements, too", |d| d.grid_places.iter_mut().for_each(|word| *word |= grid::WHOLE)),
    ];
    let two = two_grids();
    for (expected, spoil) in spoil {
        let [written, said] = error(&two, spoil);
        assert!(said.as_ref().is_some_and(|said| said.contains(expected)), "{expected}: {written:?} {said:?}");
    }
}

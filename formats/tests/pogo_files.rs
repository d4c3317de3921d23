//! Model files of P. Huthwaite's Pogo: every version and precision, what is refused by name, and damaged files.

use std::path::Path;

use pogo_formats::dynamics::{AmplitudeShape, BoundaryKind, Increment, LoadKind, NodalQuantity, OutputInterval};
use pogo_formats::explicit::Model;
use pogo_formats::material::Elasticity;
use pogo_formats::mesh::ElementKind;
use pogo_formats::read::deck::pogo::{PogoOptions, ShearOrder};
use pogo_formats::read::deck::{Deck, Note, ReadOptions, read, read_bytes};
use pogo_tests::pogo::{PogoModel, Signal, dof};

/// Makes a model wrong.
type Change<'a> = &'a dyn Fn(&mut PogoModel);

fn deck_with(options: &ReadOptions, bytes: &[u8]) -> Result<Deck, String> {
    read_bytes(Path::new("m.pogo-inp"), bytes, options).map_err(|error| error.to_string())
}

fn deck(model: &PogoModel) -> Deck {
    deck_with(&ReadOptions::default(), &model.bytes(15, 8)).unwrap()
}

fn finish(model: &PogoModel, options: &ReadOptions) -> Result<(Model, Vec<Note>), String> {
    deck_with(options, &model.bytes(15, 8))?.finish().map_err(|error| error.to_string())
}

fn refused(model: &PogoModel) -> String {
    finish(model, &ReadOptions::default()).err().unwrap()
}

fn ignoring(names: &[&str]) -> ReadOptions {
    ReadOptions { ignore: names.iter().map(|name| (*name).to_owned()).collect(), ..ReadOptions::default() }
}

#[test]
fn every_version_and_precision_gives_the_same_model() {
    let plate = PogoModel::plate(3, 2);
    for version in 0..=15 {
        for precision in [4, 8] {
            let deck = deck_with(&ReadOptions::default(), &plate.bytes(version, precision)).unwrap();
            assert_eq!(deck.notes, [], "1.{version:02}");
            assert_eq!(deck.title, "a plate");
            let details: Vec<&str> = deck.report.details.iter().map(|(name, _)| name.as_str()).collect();
            let own = &["run name", "notes", "metadata owner", "metadata temperature", "metadata counts"][..];
            assert_eq!(details, if version < 11 { &own[..2] } else { own }, "1.{version:02}");
            let (model, notes) = deck.finish().unwrap();
            assert_eq!(notes, []);
            let (mesh, setup) = (&model.mesh, &model.setup);
            let near = |a: f64, b: f64| (a - b).abs() <= if precision == 8 { 0.0 } else { 1e-6 * b.abs() };
            assert!(mesh.coordinates.iter().zip(&plate.positions).all(|(a, b)| near(*a, *b)));
            assert_eq!((mesh.groups[0].kind, &mesh.groups[0].connectivity), (ElementKind::Cpe4r, &plate.connectivity));
            assert_eq!(mesh.node_labels, (1..=12).collect::<Vec<u32>>());
            assert_eq!(
                setup.materials[0].elasticity,
                Elasticity::Isotropic {
                    young: if precision == 8 { 210e9 } else { f64::from(210e9f32) },
                    poisson: if precision == 8 { 0.3 } else { f64::from(0.3f32) },
                }
            );
            assert_eq!((setup.materials[0].name.as_str(), setup.materials[0].density), ("material 1", 8000.0));
            let Increment::Fixed(dt) = setup.explicit.increment else { panic!("{:?}", setup.explicit) };
            assert!(near(dt, 1e-7) && (setup.explicit.time / dt).round() == 60.0);
            let fixed: Vec<_> = setup.boundaries.iter().map(|b| (b.name.as_str(), &b.nodes[..], b.component)).collect();
            assert_eq!(fixed, [("FIX.1", &[0, 4, 8][..], 0), ("FIX.2", &[0, 4, 8], 1)]);
            let load = &setup.loads[0];
            assert_eq!((load.name.as_str(), load.magnitude, load.amplitude), ("SIG1", 2.0, Some(0)));
            let LoadKind::Concentrated { nodes, direction, .. } = &load.kind else { panic!("{load:?}") };
            assert_eq!((nodes.as_slice(), direction), (&[11][..], &[0.0, 1.0, 0.0]));
            let AmplitudeShape::Tabular { times, values } = &setup.amplitudes[0].shape else { panic!() };
            let samples = &plate.shots[0].1[0].samples;
            assert!(values.iter().zip(samples).all(|(a, b)| near(*a, *b)) && near(times[3], 3.0 * dt));
            assert_eq!((times.len(), values.len()), (30, 30));
            let histories: Vec<_> =
                setup.histories.iter().map(|h| (h.set.as_str(), &h.nodes[..], &h.variables[..])).collect();
            let u = NodalQuantity::Displacement;
            assert_eq!(histories, [("main", &[11][..], &[(u, 1)][..]), ("main", &[3], &[(u, 0)])]);
            assert_eq!(setup.histories[0].interval, OutputInterval::From { first: 1, every: 1 });
            assert_eq!(setup.fields[0].interval, OutputInterval::Steps(vec![20, 60]));
        }
    }
}

#[test]
fn newer_versions_and_unknown_sections_are_read_with_a_warning() {
    let plate = PogoModel { strange_section: true, ..PogoModel::plate(3, 2) };
    let read = deck_with(&ReadOptions::default(), &plate.bytes(16, 8)).unwrap();
    let notes: Vec<String> = read.notes.iter().map(Note::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("m.pogo-inp: warning: the file's version 1.16 is newer than 1.15"), "{notes:?}");
    assert!(notes[1].starts_with("m.pogo-inp: warning: section `strange` (byte "), "{notes:?}");
    let mut bytes = plate.bytes(7, 8);
    bytes.extend([0; 4]);
    let read = deck_with(&ReadOptions::default(), &bytes).unwrap();
    assert_eq!(read.notes[0].to_string(), "m.pogo-inp: warning: 4 bytes behind the last part are not read");
}

#[test]
fn elements_of_several_types_and_materials_are_sorted() {
    let mut plate = PogoModel::plate(2, 1);
    plate.type_names = vec!["cpe3".into(), "CPE4R".into(), "CPE3".into()];
    (plate.types, plate.material_of) = (vec![2, 1, 0], vec![1, 0, 1]);
    plate.orientation_of = vec![-1; 3];
    plate.connectivity = vec![0, 1, 4, u32::MAX, 1, 2, 5, 4, 0, 4, 3, u32::MAX];
    plate.materials.push((0, 0, vec![70e9, 0.34, 2700.0, 1e4]));
    let (model, _) = finish(&plate, &ReadOptions::default()).unwrap();
    let groups: Vec<_> = model
        .mesh
        .groups
        .iter()
        .map(|g| (g.kind, g.labels.clone(), g.section.clone(), g.connectivity.clone()))
        .collect();
    assert_eq!(
        groups,
        [
            (ElementKind::Cpe3, vec![1, 3], vec![0, 0], vec![0, 1, 4, 0, 4, 3]),
            (ElementKind::Cpe4r, vec![2], vec![1], vec![1, 2, 5, 4]),
        ]
    );
    let setup = &model.setup;
    let sections: Vec<_> = setup.sections.iter().map(|s| (s.name.as_str(), s.material)).collect();
    assert_eq!(sections, [("material 2 (parent 1)", 1), ("material 1", 0)]);
    assert_eq!((setup.materials[1].name.as_str(), setup.materials[1].damping_alpha), ("material 2 (parent 1)", 1e4));
    let sets: Vec<_> = model.mesh.element_sets.iter().map(|s| (s.name.as_str(), s.members.clone())).collect();
    assert_eq!(sets, [("material 2 (parent 1)", vec![0, 1]), ("material 1", vec![2])]);
    plate.connectivity[3] = 5;
    assert!(refused(&plate).contains("element 1 (CPE3) has more than 3 nodes (byte "), "{}", refused(&plate));
}

/// A stiffness without any symmetry but its own, as the 21 constants in Abaqus' order.
fn constants() -> Vec<f64> {
    (0..6)
        .flat_map(|c| (0..=c).map(move |r| if r == c { 100.0 + f64::from(c) } else { f64::from(10 * c + r) / 10.0 }))
        .collect()
}

#[test]
fn constants_are_those_of_the_order_that_is_chosen() {
    let mut plate = PogoModel::plate(2, 1);
    let with = |values: &[f64]| values.iter().copied().chain([4500.0, 3.0]).collect::<Vec<f64>>();
    plate.materials = vec![(-1, 2, with(&constants()))];
    let voigt = ReadOptions {
        pogo: PogoOptions { shear_order: ShearOrder::Voigt, ..PogoOptions::default() },
        ..ReadOptions::default()
    };
    let (model, notes) = finish(&plate, &ReadOptions::default()).unwrap();
    assert_eq!(model.setup.materials[0].elasticity.matrix().unwrap()[6 * 5 + 3], 5.3);
    assert_eq!((model.setup.materials[0].density, model.setup.materials[0].damping_alpha), (4500.0, 3.0));
    assert!(notes[0].text.contains("1 anisotropic material are taken in the order 11 22 33 12 13 23"), "{notes:?}");
    let swapped = finish(&plate, &voigt).unwrap().0.setup.materials[0].elasticity.matrix().unwrap();
    let given = model.setup.materials[0].elasticity.matrix().unwrap();
    let place = [0, 1, 2, 5, 4, 3];
    for (row, column) in (0..6).flat_map(|row| (0..6).map(move |column| (row, column))) {
        assert_eq!(swapped[6 * row + column], given[6 * place[row] + place[column]]);
    }
    plate.materials = vec![(-1, 1, with(&[10.0, 1.0, 11.0, 2.0, 3.0, 12.0, 4.0, 5.0, 6.0]))];
    let shear = |options: &ReadOptions| {
        let matrix = finish(&plate, options).unwrap().0.setup.materials[0].elasticity.matrix().unwrap();
        [matrix[21], matrix[28], matrix[35]]
    };
    assert_eq!((shear(&ReadOptions::default()), shear(&voigt)), ([4.0, 5.0, 6.0], [6.0, 5.0, 4.0]));
    plate.materials = vec![(-1, 3, with(&[10.0, 11.0, 12.0, 0.1, 0.2, 0.3, 4.0, 5.0, 6.0]))];
    let expected = Elasticity::EngineeringConstants([10.0, 11.0, 12.0, 0.1, 0.2, 0.3, 4.0, 5.0, 6.0]);
    assert_eq!(finish(&plate, &ReadOptions::default()).unwrap().0.setup.materials[0].elasticity, expected);
}

#[test]
fn orientations_are_refused_taken_or_ignored() {
    let mut plate = PogoModel::plate(2, 1);
    plate.orientations = vec![vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0, 90.0]];
    plate.orientation_of = vec![0, -1];
    // It has no effect on an isotropic material.
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(finish(&plate, &ReadOptions::default()).unwrap().0.setup.sections[0].material_from_global, identity);
    plate.materials[0] = (-1, 3, vec![10.0, 11.0, 12.0, 0.1, 0.2, 0.3, 4.0, 5.0, 6.0, 1600.0]);
    assert!(refused(&plate).contains("have orientations, whose meaning is not public: rotate"), "{}", refused(&plate));
    let (model, notes) = finish(&plate, &ignoring(&["orientations"])).unwrap();
    assert_eq!(model.setup.sections[0].material_from_global, identity);
    assert!(notes.iter().any(|note| note.text.contains("ignored on request")), "{notes:?}");
    let pogo = PogoOptions { abaqus_orientations: true, ..PogoOptions::default() };
    let (model, _) = finish(&plate, &ReadOptions { pogo, ..ReadOptions::default() }).unwrap();
    let names: Vec<&str> = model.setup.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["material 1, orientation 1", "material 1"]);
    // The material's 1 axis is the global y axis.
    assert_eq!(model.setup.sections[0].material_from_global, [0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn shots_signals_and_groups_become_sources_and_sums() {
    let mut plate = PogoModel::plate(3, 2);
    plate.groups = vec![(vec![dof(3, 1), dof(7, 1)], vec![0.25, 0.75]), (vec![dof(3, 0), dof(3, 1)], vec![2.0, -1.0])];
    let signal = |kind, of_groups, dofs: &[u64], amplitudes: &[f64]| Signal {
        kind,
        of_groups,
        dofs: dofs.to_vec(),
        amplitudes: amplitudes.to_vec(),
        samples: vec![1.0, 2.0, 0.0],
    };
    plate.shots = vec![
        (1e-7, vec![signal(0, true, &[0, 1], &[4.0, 1.0]), signal(0, false, &[dof(5, 0)], &[-3.0])]),
        (2e-7, vec![signal(1, false, &[dof(3, 1), dof(7, 1)], &[1e-9, 1e-9])]),
        (1e-7, Vec::new()),
    ];
    plate.sets = vec![
        ("nodes".into(), false, vec![dof(3, 0), dof(3, 1), dof(7, 0), dof(7, 1), dof(5, 1)]),
        ("probe".into(), true, vec![1, 0]),
    ];
    (plate.every, plate.first) = (3, 4);
    let (model, notes) = finish(&plate, &ReadOptions::default()).unwrap();
    let setup = &model.setup;
    let loads: Vec<_> = setup.loads.iter().map(|load| (load.name.as_str(), load.magnitude, &load.kind)).collect();
    let kind = |nodes: &[u32], weights: &[f64], direction| LoadKind::Concentrated {
        nodes: nodes.to_vec(),
        weights: weights.to_vec(),
        direction,
    };
    let (x, y) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
    assert_eq!(
        loads,
        [
            ("SHOT1.SIG1.1", 2.0, &kind(&[3], &[], x)),
            ("SHOT1.SIG1.2", 1.0, &kind(&[3, 7, 3], &[1.0, 3.0, -1.0], y)),
            ("SHOT1.SIG2", -3.0, &kind(&[5], &[], x)),
        ]
    );
    let motion = setup.boundaries.last().unwrap();
    assert_eq!((motion.name.as_str(), &motion.nodes[..], motion.value), ("SHOT2.SIG1.2", &[3, 7][..], 1e-9));
    assert_eq!(motion.kind, BoundaryKind::Displacement);
    // Its samples hold at the end of their increments.
    let AmplitudeShape::Tabular { times, values } = &setup.amplitudes[2].shape else { panic!() };
    assert_eq!(
        (times.as_slice(), values.as_slice()),
        (&[0.0, 1e-7, 1e-7 + 2e-7, 1e-7 + 4e-7][..], &[0.0, 1.0, 2.0, 0.0][..])
    );
    let shots: Vec<_> = setup
        .shots
        .iter()
        .map(|shot| (shot.name.as_str(), shot.sources.iter().map(|s| s.name.as_str()).collect()))
        .collect();
    assert_eq!(shots, [("shot1", vec!["SHOT1"]), ("shot2", vec!["SHOT2"]), ("shot3", Vec::<&str>::new())]);
    assert!(notes.iter().any(|note| note.text.contains("sampled every 0.0000002 s")), "{notes:?}");
    let u = |component| (NodalQuantity::Displacement, component);
    let histories: Vec<_> =
        setup.histories.iter().map(|h| (h.set.as_str(), &h.nodes[..], &h.variables[..], &h.weights[..])).collect();
    assert_eq!(
        histories,
        [
            ("nodes", &[3, 7][..], &[u(0), u(1)][..], &[][..]),
            ("nodes", &[5], &[u(1)], &[]),
            ("probe", &[3], &[u(0), u(1)], &[2.0, -1.0]),
            ("probe", &[3, 7], &[u(1)], &[0.25, 0.75]),
        ]
    );
    assert_eq!(setup.histories[0].interval, OutputInterval::From { first: 5, every: 3 });
}

#[test]
fn a_signal_is_zero_behind_its_end() {
    let mut plate = PogoModel::plate(2, 1);
    plate.shots[0].1[0].samples = vec![1.0, 2.0];
    let (model, notes) = finish(&plate, &ReadOptions::default()).unwrap();
    let AmplitudeShape::Tabular { times, values } = &model.setup.amplitudes[0].shape else { panic!() };
    assert_eq!((times.as_slice(), values.as_slice()), (&[0.0, 1e-7, 2e-7][..], &[1.0, 2.0, 0.0][..]));
    assert!(notes[0].is_warning && notes[0].text.starts_with("signal SIG1 ends before the run"), "{notes:?}");
    // A window that ends with 0 but for rounding.
    plate.shots[0].1[0].samples = vec![1.0, 1e-17];
    assert_eq!(finish(&plate, &ReadOptions::default()).unwrap().1, []);
}

#[test]
fn ties_of_coinciding_nodes_join_meshes() {
    // Two strips of two elements, the upper one's nodes 6 to 11 on the lower one's 3 to 5.
    let mut plate = PogoModel::plate(2, 1);
    let above: Vec<f64> = plate.positions.chunks(2).flat_map(|x| [x[0], x[1] + 1e-3]).collect();
    plate.positions.extend(above);
    let other: Vec<u32> = plate.connectivity.iter().map(|node| node + 6).collect();
    plate.connectivity.extend(other);
    (plate.types, plate.material_of, plate.orientation_of) = (vec![0; 4], vec![0; 4], vec![-1; 4]);
    plate.sets = vec![("main".into(), false, vec![dof(7, 0)])];
    let identity = vec![1.0, 0.0, 0.0, 1.0];
    for base in [0, 1] {
        plate.ties = vec![(identity.clone(), vec![3 + base, 4 + base, 5 + base], vec![6 + base, 7 + base, 8 + base])];
        let (model, notes) = finish(&plate, &ReadOptions::default()).unwrap();
        assert_eq!(model.mesh.n_nodes(), 9);
        assert_eq!(model.mesh.groups[0].connectivity[8..], [3, 4, 7, 6, 4, 5, 8, 7]);
        assert_eq!(model.mesh.node_labels, [1, 2, 3, 4, 5, 6, 10, 11, 12]);
        assert_eq!(model.setup.histories[0].nodes, [4]);
        assert!(notes[0].text.contains(&format!("ties of 3 pairs of nodes, counted from {base}")), "{notes:?}");
    }
    let given =
        ReadOptions { pogo: PogoOptions { tie_base: Some(0), ..PogoOptions::default() }, ..ReadOptions::default() };
    assert!(finish(&plate, &given).unwrap_err().contains("nodes that do not coincide are tied"));
    assert_eq!(finish(&plate, &ignoring(&["TIES"])).unwrap().0.mesh.n_nodes(), 12);
    plate.ties[0].0[1] = 0.5;
    assert!(refused(&plate).contains("tie set 1: a transform other than the identity is not computed"));
    plate.ties = vec![(identity, vec![77], vec![3])];
    assert!(refused(&plate).contains("ties: a node number is beyond the 12 nodes"), "{}", refused(&plate));
}

#[test]
fn what_is_not_computed_is_refused_by_name() {
    let with = |change: Change| {
        let mut plate = PogoModel::plate(2, 1);
        change(&mut plate);
        refused(&plate)
    };
    let cases: [(Change, &str); 10] = [
        (&|m| m.type_names[0] = "AC2D4".into(), "element types that are not computed: AC2D4 (2) (AC: acoustic)"),
        (&|m| m.dofs_a_node = 1, "nodes have 1 degree of freedom in 2 dimensions, as in acoustic models"),
        (&|m| m.materials[0] = (-1, 5, vec![1500.0, 1000.0, 0.0]), "material 1: type 5 (byte "),
        (&|m| m.materials[0] = (-1, 6, vec![1.0; 4]), "isotropic with viscosity) is not computed"),
        (&|m| m.materials[0].2[1] = 0.5, "material 1: its stiffness (byte "),
        (&|m| m.materials[0].2[2] = 0.0, "material 1: its density is 0 kg/m³"),
        (&|m| m.exchange = vec![(vec![1, 2], vec![2, 1])], "mpi: node 2 is sent to itself, perhaps over others (byte "),
        (&|m| m.exchange = vec![(vec![1, 3], vec![2, 2])], "mpi: node 3 is received twice (byte "),
        (
            &|m| m.exchange = vec![(vec![1], vec![2]), (vec![], vec![])],
            "part 1 of a model that is divided into 2 (mpi)",
        ),
        (&|m| m.increment = 0.0, "the run has 60 increments of 0 s"),
    ];
    for (change, expected) in cases {
        let found = with(change);
        assert!(found.starts_with("m.pogo-inp: error: ") && found.contains(expected), "{found}");
    }
    let both = with(&|m| {
        m.materials[0].1 = 4;
        m.type_names[0] = "C3D99".into();
    });
    assert!(both.contains("C3D99") && !both.contains("material"), "no element has it: {both}");
}

#[test]
fn a_model_that_sends_to_itself_has_copied_displacements() {
    // Nodes 0 to 2 below, 3 to 5 above; another that no element has.
    let mut plate = PogoModel::plate(2, 1);
    plate.positions.extend([9.0, 9.0]);
    plate.exchange = vec![(vec![1, 0, 4, 1], vec![2, 3, 5, 6])];
    let deck = deck(&plate);
    let (model, notes) = deck.finish().unwrap();
    assert!(notes.iter().any(|note| note.text.contains("u of 3 nodes is copied from others after each increment")));
    assert_eq!((model.setup.copied.from, model.setup.copied.to), (vec![1, 0, 4], vec![2, 3, 5]));
    // A copy of a copy.
    plate.exchange = vec![(vec![1, 0, 2], vec![2, 3, 5])];
    let (model, _) = self::deck(&plate).finish().unwrap();
    assert_eq!((model.setup.copied.from, model.setup.copied.to), (vec![1, 0, 1], vec![2, 3, 5]));
    // From the node that no element has.
    plate.exchange = vec![(vec![6], vec![5])];
    let error = self::deck(&plate).finish().unwrap_err().to_string();
    assert!(error.contains("a node that others are copied from belongs to no element"), "{error}");
    let ignore = ReadOptions { ignore: vec!["MPI".into()], ..ReadOptions::default() };
    let (model, _) = deck_with(&ignore, &plate.bytes(15, 8)).unwrap().finish().unwrap();
    assert!(model.setup.copied.is_empty());
}

#[test]
fn a_cut_file_is_one_message_with_the_byte() {
    let mut plate = PogoModel::plate(2, 1);
    plate.notes = String::new();
    for version in [0, 7, 11, 13, 15] {
        let bytes = plate.bytes(version, 4);
        for end in (0..bytes.len()).filter(|end| (9..40).contains(end) || *end > 1100) {
            let error = deck_with(&ReadOptions::default(), &bytes[..end]);
            let text = match error {
                Ok(_) => panic!("1.{version:02}: {end} of {} bytes are read", bytes.len()),
                Err(text) => text,
            };
            assert_eq!(text.lines().count(), 1, "{text}");
            let is_named = text.contains("byte") || text.contains("header");
            assert!(is_named && text.starts_with("m.pogo-inp: error: "), "{end}: {text}");
        }
    }
}

#[test]
fn forged_counts_and_numbers_are_refused_without_memory() {
    let plate = PogoModel::plate(2, 1);
    let with = |change: Change| {
        let mut forged = plate.clone();
        change(&mut forged);
        refused(&forged)
    };
    let cases: [(Change, &str); 8] = [
        (&|m| m.connectivity[2] = 6, "a node of an element is 6 (byte "),
        (&|m| m.types[1] = -1, "the type of an element is -1 (byte "),
        (&|m| m.material_of[1] = 1, "the material of an element is 1 (byte "),
        (&|m| m.fixed[0] = dof(9, 0), "fixed degrees of freedom: a node is 9 (byte "),
        (&|m| m.fixed[0] = dof(1, 3), "component 4 at byte "),
        (&|m| m.positions[3] = f64::NAN, "a node position has the value NaN (byte "),
        (&|m| m.shots[0].1[0].kind = 7, "signal SIG1: type 7 (byte "),
        (&|m| m.sets[0].1 = true, "measurement set main: a group is 21 (byte "),
    ];
    for (change, expected) in cases {
        let found = with(change);
        assert!(found.contains(expected) && found.lines().count() == 1, "{found} for {expected}");
    }
    // A number of nodes that the file cannot hold: header, metadata, general part.
    let mut bytes = plate.bytes(10, 8);
    let at = 20 + 12 + 1024 + 80 + 4 + 8;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let found = deck_with(&ReadOptions::default(), &bytes).unwrap_err();
    assert!(found.contains("nodes: the list of node positions at byte 1152 would take 68719476720 bytes"), "{found}");
    let mut bytes = plate.bytes(15, 8);
    bytes[24] = 99;
    bytes[9] = b'2';
    assert!(deck_with(&ReadOptions::default(), &bytes).unwrap_err().contains("version `2` (byte 9)"));
    // Later versions are no text, and this file ends where their numbers would stand.
    let found = deck_with(&ReadOptions::default(), b"%pogo-inp1.14\0\0\0\0\0\0\0").unwrap_err();
    assert!(found.contains("version `1.14` (byte 9)"), "{found}");
}

/// Small models with all that is read, one of each change of the layout.
fn samples() -> Vec<(String, Vec<u8>)> {
    let mut model = PogoModel::plate(2, 2);
    model.notes = "x".into();
    let steel: Vec<f64> = constants().into_iter().chain([8000.0, 0.0]).collect();
    model.materials.extend([(0, 0, vec![70e9, 0.34, 2700.0, 1e4]), (-1, 2, steel)]);
    model.material_of = vec![0, 1, 2, 0];
    model.orientations = vec![vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0, 45.0]];
    model.ties = vec![(vec![1.0, 0.0, 0.0, 1.0], vec![3, 4], vec![3, 4])];
    model.groups = vec![(vec![dof(2, 0), dof(5, 1)], vec![0.5, 1.5])];
    model.shots[0].1[0].samples.truncate(8);
    let group = Signal { of_groups: true, dofs: vec![0], amplitudes: vec![2.0], ..model.shots[0].1[0].clone() };
    let motion = Signal { kind: 1, ..model.shots[0].1[0].clone() };
    model.field_nodes = Some(vec![1, 2]);
    let mut samples = Vec::new();
    for version in [0, 4, 5, 7] {
        samples.push((format!("1.{version:02}"), model.bytes(version, 8)));
    }
    model.sets.push(("probe".into(), true, vec![0]));
    model.shots[0].1.push(group);
    model.shots.push((2e-7, vec![motion]));
    model.exchange = vec![(vec![1], vec![2])];
    for version in [8, 10, 11, 13, 15] {
        samples.push((format!("1.{version:02}"), model.bytes(version, if version % 2 == 0 { 4 } else { 8 })));
    }
    samples
}

/// The corpus of the fuzz target, in ordinary tests. `POGO_WRITE_CORPUS=1` makes it anew.
#[test]
fn fuzz_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/pogo");
    for (name, bytes) in samples() {
        let path = corpus.join(&name);
        if std::env::var_os("POGO_WRITE_CORPUS").is_some() {
            std::fs::create_dir_all(&corpus).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "{name} is another model");
        let (model, _) = deck_with(&ReadOptions::default(), &bytes).unwrap().finish().unwrap();
        assert_eq!((model.mesh.n_nodes(), model.mesh.n_elements()), (9, 4));
    }
}

/// What each refusal of the shared samples names; a sample that is not listed is read.
const REFUSED: &[(&str, &str)] = &[
    ("cpe4r_115_ties", "nodes that do not coincide are tied (up to 0.0005"),
    ("cpe4r_115_fluid5", "material 2: type 5"),
    ("ac2d4_115", "AC2D4 (100)"),
    ("c3d8r_115_orient", "--pogo-orientations abaqus"),
    ("truncated_115", "section `signals` at byte 38281 would take 2445 bytes, and 1667 are left"),
];

#[test]
fn every_shared_sample_is_read_or_refused_for_the_right_reason() {
    let Some(folder) = pogo_tests::shared("decks/pogo") else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.md")).unwrap();
    let mut n_samples = 0;
    for line in manifest.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, name, _, _, _, sizes, ..] = cells.as_slice() else { continue };
        let Some((nodes, elements)) = sizes.split_once(", ") else { continue };
        let (Ok(nodes), Ok(elements)) = (nodes.parse::<usize>(), elements.parse::<usize>()) else { continue };
        n_samples += 1;
        let path = folder.join(format!("{name}.pogo-inp"));
        let reason = REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, reason)| *reason);
        let read = read(&path, &ReadOptions::default()).and_then(|deck| {
            assert_eq!((deck.mesh.n_nodes(), deck.mesh.n_elements()), (nodes, elements), "{name}");
            deck.finish()
        });
        match (read, reason) {
            (Ok(_), None) => {}
            (Ok(_), Some(_)) => panic!("{name} is not refused"),
            (Err(error), None) => panic!("{name} is refused:\n{error}"),
            (Err(error), Some(reason)) => assert!(error.to_string().contains(reason), "{name}: {error}"),
        }
    }
    assert_eq!(n_samples, 18);
}

#[test]
fn the_deck_of_a_plate_is_ready_for_a_job() {
    let plate = PogoModel::plate(2, 1);
    let mut other = plate.clone();
    (other.n_increments, other.materials[0].1) = (0, 4);
    let options = ReadOptions {
        job_sets_time: true,
        require_step: false,
        job_materials: vec!["Material 1".into()],
        ..ReadOptions::default()
    };
    let read = deck_with(&options, &other.bytes(15, 8)).unwrap();
    assert_eq!((read.step, read.materials[0].density), (None, None));
    assert_eq!(deck(&plate).mesh.node_sets[0].name, "main");
}

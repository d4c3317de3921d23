use std::path::Path;

use pogo_formats::dynamics::{AmplitudeShape, BoundaryKind, Increment, LoadKind, NodalQuantity, OutputInterval};
use pogo_formats::explicit::{AbsorbingProfile, ExplicitSettings, Lumping, Setup};
use pogo_formats::job::Sides;
use pogo_formats::mesh::{ElementGroup, ElementKind, Mesh, NamedSet};
use pogo_formats::read::deck::ReadOptions;
use proptest::prelude::*;

use super::*;
use pogo_formats::job::{JobFile as _, JobText};

use crate::conditions::{Nearest, area_fractions, tributary_fractions};

/// Nothing but a time and an increment.
pub(crate) fn setup() -> Setup {
    Setup {
        explicit: ExplicitSettings { time: 1.0, increment: Increment::Fixed(1.0), ..ExplicitSettings::default() },
        ..Setup::default()
    }
}

/// A grid of nx × ny unit squares; labels are the index plus 100, set `LEFT` has x = 0, set `FIRST` the first element.
fn grid(nx: usize, ny: usize) -> Model {
    let node = |i: usize, j: usize| (j * (nx + 1) + i) as u32;
    let mut coordinates = Vec::new();
    for j in 0..=ny {
        for i in 0..=nx {
            coordinates.extend([i as f64, j as f64]);
        }
    }
    let mut connectivity = Vec::new();
    for j in 0..ny {
        for i in 0..nx {
            connectivity.extend([node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)]);
        }
    }
    let (n_nodes, n_elements) = (coordinates.len() / 2, nx * ny);
    let mesh = Mesh {
        dimension: 2,
        coordinates,
        node_labels: (0..n_nodes as u32).map(|i| i + 100).collect(),
        node_instance: vec![0; n_nodes],
        instances: vec![String::new()],
        groups: vec![ElementGroup {
            kind: ElementKind::Cpe4,
            labels: (1..=n_elements as u32).collect(),
            instance: vec![0; n_elements],
            section: vec![0; n_elements],
            connectivity,
        }],
        node_sets: vec![NamedSet { name: "PART-1.LEFT".into(), members: (0..=ny).map(|j| node(0, j)).collect() }],
        element_sets: vec![NamedSet { name: "FIRST".into(), members: vec![0] }],
    };
    Model { mesh, setup: setup() }
}

fn apply(model: &mut Model, text: &str) -> Result<Remarks, String> {
    let job = ExplicitJob::parse(text, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    let mut remarks = Remarks::default();
    apply_to_model(model, &job, &mut remarks).map_err(|error| error.to_string())?;
    Ok(remarks)
}

#[test]
fn a_point_source_goes_to_the_nearest_node() {
    let mut model = grid(4, 3);
    let job = "[[source]]\nname = 's'\nat = [2.1, 2.8]\nangle = -90\nforce = 3\namplitude = { kind = 'hann', frequency = 2, cycles = 5 }";
    let remarks = apply(&mut model, job).unwrap();
    let load = &model.setup.loads[0];
    let expected = LoadKind::Concentrated { nodes: vec![17], weights: vec![1.0], direction: [0.0, -1.0, 0.0] };
    assert_eq!((&load.kind, load.magnitude, load.amplitude), (&expected, 3.0, Some(0)));
    assert_eq!(model.setup.amplitudes[0].name, "s");
    assert!(matches!(model.setup.amplitudes[0].shape, AmplitudeShape::ToneBurst { .. }));
    assert!(remarks.notes[0].contains("job.toml:1: note: the node nearest to [2.1, 2.8] is 117, 2.236e-1 away"));
    assert!(remarks.warnings.is_empty());
}

#[test]
fn a_point_outside_the_mesh_is_a_warning_with_the_distance() {
    let mut model = grid(4, 3);
    let remarks = apply(&mut model, "[[monitor]]\nname = 'far'\nat = [9, 3]").unwrap();
    assert!(
        remarks.warnings[0].starts_with("job.toml:1: warning: the node nearest to [9.0, 3.0] is 119, 5.000e0 away")
    );
    assert_eq!(model.setup.histories[0].nodes, [19]);
}

/// The faces of a crack have nodes at the same places.
#[test]
fn a_point_with_two_nodes_is_a_warning_that_names_both() {
    let mut model = grid(4, 3);
    let at = model.mesh.coordinates[2 * 7..][..2].to_vec();
    model.mesh.coordinates[2 * 12..][..2].copy_from_slice(&at);
    let job = format!("[[source]]\nname = 's'\nat = {at:?}\ncomponent = 2\nforce = 8");
    let remarks = apply(&mut model, &job).unwrap();
    assert_eq!(
        remarks.warnings,
        ["job.toml:1: warning: nodes 107 and 112 lie at one place: took 107; a node set names the other"]
    );
    let LoadKind::Concentrated { nodes, .. } = &model.setup.loads[0].kind else { panic!() };
    assert_eq!(nodes, &[7]);
    // Two nodes that are equally near are no twins.
    let job = job.replace("[2.0, 1.0]", "[0.5, 0.0]");
    assert!(apply(&mut model, &job).unwrap().warnings.is_empty());
}

#[test]
fn nodes_at_one_place_share_what_belongs_to_it() {
    assert_eq!(tributary_fractions(&[0.0, 0.0, 1.0, 1.0, 2.0, 4.0], 4.0), [0.0625, 0.0625, 0.125, 0.125, 0.375, 0.25]);
}

#[test]
fn a_line_source_on_an_edge_is_a_uniform_load() {
    let mut model = grid(4, 3);
    apply(&mut model, "[[source]]\nname = 's'\nline = [[1, 3], [3, 3]]\ncomponent = 2\nforce = 8").unwrap();
    let LoadKind::Concentrated { nodes, weights, .. } = &model.setup.loads[0].kind else { panic!() };
    assert_eq!((nodes.as_slice(), weights.as_slice()), (&[16, 17, 18][..], &[0.25, 0.5, 0.25][..]));
}

#[test]
fn a_line_between_rows_of_nodes_takes_those_within_half_an_element() {
    let mut model = grid(4, 3);
    let job = "[[source]]\nname = 's'\nline = [[0, 1.2], [4, 1.2]]\ncomponent = 2\nforce = 1";
    let remarks = apply(&mut model, job).unwrap();
    let LoadKind::Concentrated { nodes, weights, .. } = &model.setup.loads[0].kind else { panic!() };
    assert_eq!(nodes, &[5, 6, 7, 8, 9]);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    assert!(remarks.notes[0].contains("no row of nodes lies on this line: took 5 nodes"), "{remarks:?}");
    let error = apply(&mut model, &job.replace("1.2", "7")).unwrap_err();
    assert_eq!(error, "job.toml:1: error: no node within half an element of this line, or its ends are the same");
}

#[test]
fn a_force_on_a_part_of_the_surface_is_a_uniform_traction() {
    let mut model = grid(4, 3);
    apply(&mut model, "[[source]]\nname = 's'\nnset = 'LEFT'\ncomponent = 'x'\nforce = 6").unwrap();
    let LoadKind::Concentrated { weights, .. } = &model.setup.loads[0].kind else { panic!() };
    let sixth = 1.0 / 6.0;
    for (found, expected) in weights.iter().zip([sixth, 2.0 * sixth, 2.0 * sixth, sixth]) {
        assert!((found - expected).abs() < 1e-15);
    }
    let inside = "[[source]]\nname = 'b'\nbox = [[1, 1], [2, 2]]\ncomponent = 'x'\nforce = 6";
    let remarks = apply(&mut model, inside).unwrap();
    let LoadKind::Concentrated { weights, .. } = &model.setup.loads[1].kind else { panic!() };
    assert_eq!(weights, &[0.25; 4]);
    assert!(remarks.notes[0].contains("each takes the same force"));
}

#[test]
fn areas_of_faces_in_three_dimensions() {
    // A unit cube and a wedge on its x = 1 face.
    let mut model = grid(1, 1);
    let mesh = &mut model.mesh;
    mesh.dimension = 3;
    mesh.coordinates = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0],
        [1.0, 1.0, 1.0],
        [0.0, 1.0, 1.0],
        [2.0, 0.0, 0.0],
        [2.0, 0.0, 1.0],
    ]
    .concat();
    mesh.node_labels = (1..=10).collect();
    mesh.groups[0].kind = ElementKind::C3d8;
    mesh.groups[0].connectivity = (0..8).collect();
    let mut wedge = mesh.groups[0].clone();
    wedge.kind = ElementKind::C3d6;
    wedge.connectivity = vec![1, 8, 2, 5, 9, 6];
    mesh.groups.push(wedge);
    // y = 0: two squares.
    let fractions = area_fractions(mesh, &[0, 1, 4, 5, 8, 9]).unwrap();
    assert_eq!(fractions, [0.125, 0.25, 0.125, 0.25, 0.125, 0.125]);
    // z = 0: a square and a triangle of half its area.
    let fractions = area_fractions(mesh, &[0, 1, 2, 3, 8]).unwrap();
    let (square, triangle) = (1.0 / 6.0, 1.0 / 9.0);
    for (found, expected) in fractions.iter().zip([square, square + triangle, square + triangle, square, triangle]) {
        assert!((found - expected).abs() < 1e-15, "{fractions:?}");
    }
    // x = 1 is inside.
    assert_eq!(area_fractions(mesh, &[1, 2, 5, 6]), None);
}

#[test]
fn a_motion_prescribes_the_components_of_its_direction() {
    let mut model = grid(4, 3);
    let job = "[[amplitude]]\nname = 'A'\nkind = 'ricker'\nfrequency = 1\n\
               [[source]]\nname = 's'\nnset = 'left'\ndirection = [3, 4]\nvelocity = 10\namplitude = 'a'";
    apply(&mut model, job).unwrap();
    let found: Vec<_> = model.setup.boundaries.iter().map(|b| (b.name.as_str(), b.component, b.value)).collect();
    assert_eq!(found, [("s.1", 0, 6.0), ("s.2", 1, 8.0)]);
    assert!(model.setup.boundaries.iter().all(|b| b.kind == BoundaryKind::Velocity && b.nodes.len() == 4));
}

#[test]
fn a_motion_wins_over_a_boundary_condition() {
    let mut model = grid(4, 3);
    apply(&mut model, "[[source]]\nname = 's'\nnset = 'LEFT'\nangle = 0\nvelocity = 1\n[[boundary]]\nside = 'ymin'")
        .unwrap();
    let names: Vec<_> = model.setup.boundaries.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["FIX1.1", "FIX1.2", "s.1"]);
}

#[test]
fn boundaries_velocities_and_outputs_are_added() {
    let mut model = grid(4, 3);
    let job = "title = 'T'\n[[boundary]]\nside = ['ymin', 'xmax']\n[[boundary]]\nside = 'ymin'\ncomponents = 2\nvalue = 1\n\
               [[initial_velocity]]\nall = true\nvelocity = [0, 2]\n\
               [[monitor]]\nname = 'line'\nline = [[0, 0], [4, 0]]\npoints = 3\nvariables = ['V2', 'U', 'U1']\ncount = 10\n\
               [[field]]\nquantities = ['S']\nevery = 4";
    apply(&mut model, job).unwrap();
    assert_eq!(model.setup.title, "T");
    let names: Vec<_> = model.setup.boundaries.iter().map(|b| (b.name.as_str(), b.nodes.len())).collect();
    assert_eq!(names, [("FIX1.1", 8), ("FIX1.2", 8), ("FIX2.2", 5)]);
    let velocity = &model.setup.initial_velocities[0];
    assert_eq!((velocity.component, velocity.value, velocity.nodes.len()), (1, 2.0, 20));
    let history = &model.setup.histories[0];
    assert_eq!(history.nodes, [0, 2, 4]);
    use NodalQuantity::{Displacement, Velocity};
    assert_eq!(history.variables, [(Velocity, 1), (Displacement, 0), (Displacement, 1)]);
    assert_eq!(history.interval, OutputInterval::Count(10));
    assert_eq!(model.setup.fields[0].interval, OutputInterval::Increments(4));
}

#[test]
fn names_may_be_left_out_of_several_jobs() {
    let mut model = grid(4, 3);
    let text = "[[source]]\nat = [0, 0]\ncomponent = 1\nforce = 1\n[[monitor]]\nside = 'ymin'\n\
                [[absorbing]]\nside = 'xmin'\ndepth = 1\nprofile = 'damping'\nd_max = 1";
    let mut jobs = JobText::default();
    jobs.add(text, "a.toml", Path::new(""));
    jobs.add(text, "b.toml", Path::new(""));
    let job = ExplicitJob::from_text(&jobs).unwrap();
    apply_to_model(&mut model, &job, &mut Remarks::default()).unwrap();
    let setup = &model.setup;
    assert_eq!(setup.loads.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["SOURCE1", "SOURCE2"]);
    assert_eq!(setup.histories.iter().map(|h| h.set.as_str()).collect::<Vec<_>>(), ["MONITOR1", "MONITOR2"]);
    assert_eq!(setup.absorbing_layers.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["LAYER1", "LAYER2"]);
}

#[test]
fn absorbing_layers_have_the_depth_of_element_centres() {
    let mut model = grid(4, 3);
    let job = "[[absorbing]]\nname = 'a'\nside = ['xmin', 'ymax']\ndepth = 2\nprofile = 'damping'\nd_max = 5";
    apply(&mut model, job).unwrap();
    let layer = &model.setup.absorbing_layers[0];
    assert_eq!(layer.elements, [0, 1, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(layer.depth_fraction, [0.75, 0.25, 0.75, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75]);
    assert_eq!(layer.profile, AbsorbingProfile::Damping { d_max: 5.0, exponent: 3.0 });
    apply(&mut model, &job.replace("d_max", "elset = 'FIRST'\nd_max")).unwrap();
    assert_eq!(model.setup.absorbing_layers[1].elements, [0]);
}

#[test]
fn what_does_not_exist_is_named() {
    let cases = [
        ("[[boundary]]\nnset = 'RIGHT'", "there is no node set RIGHT in the deck; there are PART-1.LEFT"),
        ("[[boundary]]\nside = 'zmin'", "a 2D mesh has no side across z"),
        ("[[boundary]]\nside = 'xmin'\ncomponents = 'z'", "component 3 does not exist in a 2D mesh"),
        ("[[boundary]]\nbox = [[7, 7], [8, 8]]", "no node lies in this box"),
        ("[[monitor]]\nname = 'm'\nat = [0, 0, 1]", "`at` has 3 numbers, the mesh has 2 dimensions"),
        (
            "[[source]]\nname = 's'\nat = [0, 0]\nangle = 0\nforce = 1\namplitude = 'b'",
            "there is no amplitude \"b\" in the job or the deck; there are none",
        ),
    ];
    for (job, expected) in cases {
        assert_eq!(apply(&mut grid(4, 3), job).unwrap_err(), format!("job.toml:1: error: {expected}"));
    }
}

#[test]
fn the_jobs_names_replace_the_decks() {
    let mut model = grid(2, 2);
    let job = |f: u32| {
        format!(
            "[[amplitude]]\nname = 'a'\nkind = 'ricker'\nfrequency = {f}\n[[monitor]]\nname = 'm'\nat = [0, 0]\n\
             [[source]]\nname = 's'\nat = [0, 0]\nangle = 0\nforce = {f}\namplitude = 'a'"
        )
    };
    apply(&mut model, &job(1)).unwrap();
    let remarks = apply(&mut model, &job(2)).unwrap();
    assert_eq!([model.setup.amplitudes.len(), model.setup.histories.len(), model.setup.loads.len()], [1; 3]);
    assert_eq!(model.setup.loads[0].magnitude, 2.0);
    assert_eq!(remarks.notes.iter().filter(|note| note.contains("replaces the deck's")).count(), 3);
}

/// Two triangles in set A, one square in B and a line element, without sections.
const BARE: &str = "*NODE\n1, 0, 0\n2, 1, 0\n3, 1, 1\n4, 0, 1\n5, 2, 0\n6, 2, 1\n*ELEMENT, TYPE=T3D2\n9, 1, 2\n\
    *ELEMENT, TYPE=CPS3, ELSET=A\n1, 1, 2, 3\n2, 1, 3, 4\n*ELEMENT, TYPE=CPS4, ELSET=B\n3, 2, 5, 6, 3\n";

const STEEL: &str = "[[material]]\nname = 'steel'\ndensity = 8000\nyoung = 2e11\npoisson = 0.3\n";

/// What reading, applying and finishing give, as `pogo-block` does it.
fn apply_both(deck: &str, job: &str) -> Result<(Model, Remarks), String> {
    apply_ignoring(&[], deck, job)
}

/// The same with names for `--ignore`.
fn apply_ignoring(ignore: &[&str], deck: &str, job: &str) -> Result<(Model, Remarks), String> {
    let job = ExplicitJob::parse(job, "job.toml", Path::new("")).map_err(|error| error.to_string())?;
    let ignore = ignore.iter().map(|name| (*name).to_owned()).collect();
    let options = read_options(Some(&job), ReadOptions { ignore, ..ReadOptions::default() });
    let mut deck = pogo_formats::read::deck::read_bytes(Path::new("d.inp"), deck.as_bytes(), &options)
        .map_err(|error| error.to_string())?;
    let mut remarks = Remarks::default();
    apply_to_deck(&mut deck, &job, &mut remarks).map_err(|error| error.to_string())?;
    let (mut model, _) = deck.finish().map_err(|error| error.to_string())?;
    apply_to_model(&mut model, &job, &mut remarks).map_err(|error| error.to_string())?;
    Ok((model, remarks))
}

#[test]
fn one_material_and_no_section_is_the_whole_mesh() {
    let (model, remarks) = apply_both(BARE, &format!("[solver]\ntime = 2\n{STEEL}")).unwrap();
    assert_eq!(model.mesh.n_elements(), 3);
    assert_eq!(model.setup.materials[0].name, "steel");
    assert_eq!(model.setup.explicit.time, 2.0);
    assert_eq!(model.setup.explicit.increment, Increment::Automatic { factor: 0.95 });
    assert_eq!(remarks.notes[0], "job.toml:3: note: every element is made of steel");
    assert!(remarks.notes[1].contains("plane stress, as the deck's CPS3"), "{remarks:?}");
}

#[test]
fn sections_choose_elements_and_plane_strain() {
    let job = format!(
        "[solver]\ntime = 2\nincrement = 1e-9\nlumping = 'equal'\n{STEEL}[[section]]\nelset = 'a'\nmaterial = 'Steel'\n\
         plane = 'strain'\nthickness = 0.1\nmass_factor = 4\n"
    );
    let refused = apply_both(BARE, &job).unwrap_err();
    assert!(refused.contains("d.inp:14: error: elements without a section: CPS4 (1)"), "{refused}");
    let (model, remarks) = apply_ignoring(&["NO-SECTION"], BARE, &job).unwrap();
    assert_eq!((model.mesh.groups.len(), model.mesh.groups[0].kind), (1, ElementKind::Cpe3));
    let section = &model.setup.sections[0];
    assert_eq!((section.name.as_str(), section.thickness, section.mass_factor), ("A", 0.1, 4.0));
    let explicit = &model.setup.explicit;
    assert_eq!((explicit.increment, explicit.lumping), (Increment::Fixed(1e-9), Lumping::Equal));
    assert!(remarks.notes.is_empty(), "{remarks:?}");
    // Nodes 5 and 6 belong to no element that is left.
    assert_eq!(model.mesh.node_labels, [1, 2, 3, 4]);
}

#[test]
fn a_later_section_wins_and_a_split_plane_is_refused() {
    let section = |elset: &str, rest: &str| format!("[[section]]\n{elset}\nmaterial = 'steel'\n{rest}\n");
    let start = format!("[solver]\ntime = 1\n{STEEL}");
    let all = section("all = true", "plane = 'strain'");
    let job = format!("{start}{all}{}", section("elset = 'B'", "plane = 'stress'\nthickness = 2"));
    let (model, _) = apply_both(BARE, &job).unwrap();
    let kinds: Vec<_> = model.mesh.groups.iter().map(|group| (group.kind, group.section.clone())).collect();
    assert_eq!(kinds, [(ElementKind::Cpe3, vec![0, 0]), (ElementKind::Cps4, vec![1])]);
    // A set may be named as the section of the whole mesh is.
    let named = format!("{BARE}*ELSET, ELSET=all\n3\n");
    let job = format!("{start}{}{}", section("all = true", ""), section("elset = 'ALL'", "thickness = 2"));
    let (model, _) = apply_both(&named, &job).unwrap();
    let sections: Vec<_> = model.setup.sections.iter().map(|s| (s.name.as_str(), s.thickness)).collect();
    assert_eq!(sections, [("ALL", 1.0), ("all-2", 2.0)]);
    assert_eq!((&model.mesh.groups[0].section, &model.mesh.groups[1].section), (&vec![0, 0], &vec![1]));
    let split = format!("{BARE}*ELSET, ELSET=HALF\n2\n");
    let job = format!("{start}{all}{}", section("elset = 'HALF'", ""));
    let expected = "job.toml:8: error: give the same `plane` in every section that has CPS3 elements";
    assert_eq!(apply_both(&split, &job).unwrap_err(), expected);
}

#[test]
fn materials_and_sets_that_do_not_exist_are_named() {
    let job = format!("[solver]\ntime = 1\n{STEEL}[[section]]\nall = true\nmaterial = 'iron'\n");
    let expected = "job.toml:8: error: there is no material \"iron\" in the job or the deck; there are steel";
    assert_eq!(apply_both(BARE, &job).unwrap_err(), expected);
    let job = job.replace("all = true", "elset = 'C'").replace("iron", "steel");
    let expected = "job.toml:8: error: there is no element set C in the deck; there are A, B";
    assert_eq!(apply_both(BARE, &job).unwrap_err(), expected);
}

#[test]
fn the_jobs_material_takes_the_place_of_the_decks() {
    let deck = format!(
        "{BARE}*MATERIAL, NAME=STEEL\n*USER MATERIAL, CONSTANTS=1\n1.\n*SOLID SECTION, ELSET=A, MATERIAL=STEEL\n,\n\
         *STEP\n*STATIC\n*END STEP\n"
    );
    let job = format!("[solver]\ntime = 1\n{STEEL}");
    let (model, remarks) = apply_ignoring(&["NO-SECTION"], &deck, &job).unwrap();
    assert_eq!((model.setup.materials[0].name.as_str(), model.setup.materials[0].density), ("STEEL", 8000.0));
    assert_eq!(model.mesh.n_elements(), 2);
    assert_eq!(remarks.notes, ["job.toml:3: note: material steel replaces the deck's"]);
}

proptest! {
    #[test]
    fn nearest_is_what_brute_force_finds(
        points in prop::collection::vec((-2.0..2.0_f64, -2.0..2.0_f64, -2.0..2.0_f64), 1..200),
        at in (-3.0..3.0_f64, -3.0..3.0_f64, -3.0..3.0_f64),
        dimension in 2..=3_usize,
    ) {
        let mut model = grid(1, 1);
        let mesh = &mut model.mesh;
        mesh.dimension = dimension as u32;
        mesh.node_labels = vec![1; points.len()];
        mesh.groups.clear();
        // Rounded, so that there are ties.
        let round = |x: f64| (2.0 * x).round() / 2.0;
        mesh.coordinates = points.iter().flat_map(|p| [p.0, p.1, p.2][..dimension].to_vec()).map(round).collect();
        let mut at = [at.0, at.1, at.2].map(round);
        if dimension == 2 {
            at[2] = 0.0;
        }
        let distance = |node: usize| {
            let position = &mesh.coordinates[node * dimension..][..dimension];
            position.iter().zip(at).map(|(x, a)| (x - a) * (x - a)).sum::<f64>().sqrt()
        };
        let brute = (0..points.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap();
        let place = |node: usize| &mesh.coordinates[node * dimension..][..dimension];
        let twin = (0..points.len()).find(|&node| node != brute && place(node) == place(brute)).map(|node| node as u32);
        let found = Geometry::new(mesh).nearest(at).unwrap();
        prop_assert_eq!(found, Nearest { node: brute as u32, twin, distance: distance(brute) });
    }

    #[test]
    fn tributary_fractions_sum_to_one(mut along in prop::collection::vec(0.0..3.0_f64, 1..50)) {
        along.sort_by(f64::total_cmp);
        let weights = tributary_fractions(&along, 3.0);
        prop_assert_eq!(weights.len(), along.len());
        prop_assert!(weights.iter().all(|&w| w >= 0.0));
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // The centre of a uniform load: exact where the ends are nodes.
        if along.len() > 1 {
            along[0] = 0.0;
            *along.last_mut().unwrap() = 3.0;
            let weights = tributary_fractions(&along, 3.0);
            prop_assert!(weights[0] <= 1.0 && weights.iter().all(|&w| w >= 0.0));
        }
    }

    #[test]
    fn depth_fractions_lie_between_the_faces(depth in 0.1..6.0_f64, axis in 0..2_u8, upper: bool) {
        let model = grid(4, 3);
        let bounds = ([0.0; 3], [4.0, 3.0, 0.0]);
        let found = layer(&model.mesh, bounds, &Sides(vec![(axis, upper)]), depth, |_| true);
        let extent = [4.0, 3.0][usize::from(axis)];
        let mut expected = Vec::new();
        for element in 0..12 {
            let centre = [(element % 4) as f64 + 0.5, (element / 4) as f64 + 0.5][usize::from(axis)];
            let from_side = if upper { extent - centre } else { centre };
            if from_side < depth {
                expected.push((element as u32, 1.0 - from_side / depth));
            }
        }
        prop_assert_eq!(found.elements, expected.iter().map(|e| e.0).collect::<Vec<_>>());
        for (found, expected) in found.depth_fraction.iter().zip(expected) {
            prop_assert!((found - expected.1).abs() < 1e-12 && *found > 0.0 && *found <= 1.0);
        }
    }
}

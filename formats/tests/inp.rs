//! The deck reader on small decks of our own: what each card gives, and what each mistake says.

use std::path::Path;

use pogo_formats::inp::{Deck, DeckError, ReadOptions, read, read_bytes};
use pogo_formats::model::*;

fn try_read(text: &str, ignore: &[&str]) -> Result<Deck, DeckError> {
    let options = ReadOptions { ignore: ignore.iter().map(|s| (*s).into()).collect(), ..ReadOptions::default() };
    read_bytes(Path::new("deck.inp"), text.as_bytes(), &options)
}

fn deck(text: &str) -> Deck {
    try_read(text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn model(text: &str) -> Model {
    deck(text).finish().unwrap_or_else(|e| panic!("{e}")).0
}

fn refusal(text: &str) -> String {
    match try_read(text, &[]) {
        Err(e) => e.to_string(),
        Ok(deck) => deck.finish().expect_err("the deck is refused").to_string(),
    }
}

/// Two triangles in a unit square, with a section.
const SQUARE: &str = "\
*Node, nset=ALL
 1, 0, 0
 2, 1., 0.
 3, 1.D0, 1
 4, , 1.0e+000
*Element, type=CPE3, elset=PLATE
 1, 1, 2, 3
 2, 1, 3, 4
*Nset, nset=LEFT
 1, 4
*Elset, elset=SECOND
 2
*Solid Section, elset=PLATE, material=steel
 ,
*Material, name=STEEL
*Density
 7800.,
*Elastic
 2.1e11, 0.3
";

/// A unit cube, with a section.
const CUBE: &str = "\
*NODE
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
*ELEMENT, TYPE=C3D8R, ELSET=CUBE
1, 1, 2, 3, 4,
5, 6, 7, 8,
*SOLID SECTION, ELSET=CUBE, MATERIAL=M
*MATERIAL, NAME=M
*DENSITY
1
*ELASTIC
1, 0
";

fn with(head: &str, tail: &str) -> String {
    format!("{head}{tail}")
}

#[test]
fn a_flat_deck_gives_its_mesh() {
    let model = model(SQUARE);
    let mesh = &model.mesh;
    assert_eq!((mesh.dimension, mesh.n_nodes(), mesh.n_elements()), (2, 4, 2));
    assert_eq!(mesh.coordinates, [0., 0., 1., 0., 1., 1., 0., 1.]);
    assert_eq!(mesh.node_labels, [1, 2, 3, 4]);
    assert_eq!(mesh.groups[0].connectivity, [0, 1, 2, 0, 2, 3]);
    assert_eq!(mesh.instances, [""]);
    assert_eq!(mesh.node_sets[0], NamedSet { name: "ALL".into(), members: vec![0, 1, 2, 3] });
    assert_eq!(mesh.element_sets[1], NamedSet { name: "SECOND".into(), members: vec![1] });
    assert_eq!(model.setup.sections[0].name, "PLATE");
    assert_eq!(model.setup.sections[0].thickness, 1.);
    assert_eq!(model.setup.materials[0].density, 7800.);
}

#[test]
fn line_ends_case_and_blanks_do_not_matter() {
    let strange = SQUARE.replace('\n', "\t \r\n").replace("*Node", "*  nODe ").replace("nset=ALL", " NSET = ALL ,");
    assert_eq!(model(&strange), model(SQUARE));
    let unended = SQUARE.trim_end();
    assert_eq!(model(unended), model(SQUARE));
    let comments = SQUARE.replace("*Elset", "** \n******* E L E M E N T S ****\n\n*Elset");
    assert_eq!(model(&comments), model(SQUARE));
    let ended = with(SQUARE, "*END\n");
    assert_eq!(model(&ended), model(SQUARE));
}

#[test]
fn sets_append_nest_and_generate() {
    let text = with(
        SQUARE,
        "*NSET, NSET=\"A b\", GENERATE\n 2, 4, 2\n*NSET, NSET=left\n\n 3,\n 4, left\n*NSET, NSET=BOTH\n LEFT, 2\n a B\n\
         *NSET, NSET=MANY, GENERATE\n 1, 4000000000, 1\n*NSET, NSET=OF, ELSET=SECOND\n",
    );
    let deck = deck(&text);
    let set = |name: &str| deck.model.mesh.node_sets.iter().find(|s| s.name == name).unwrap().members.clone();
    assert_eq!(set("LEFT"), [0, 3, 2]);
    assert_eq!(set("A b"), [1, 3]);
    assert_eq!(set("BOTH"), [0, 3, 2, 1]);
    assert_eq!(set("MANY"), [0, 1, 2, 3]);
    assert_eq!(set("OF"), [0, 2, 3]);
    assert!(deck.notes.iter().any(|n| n.text.contains("3999999996 nodes of this range do not exist")));
}

const PARTS: &str = "\
*Part, name=Bar
*Node
 1, 0, 0, 0
 2, 1, 0, 0
 3, 0, 1, 0
 4, 0, 0, 1
 9, 5, 5, 5
*Element, type=C3D4
 7, 1, 2, 3, 4
*Nset, nset=Tip
 2
*Elset, elset=All
 7
*Orientation, name=Ori
 0, 1, 0, -1, 0, 0
 3, 0.
*Solid Section, elset=All, material=M, orientation=Ori
*End Part
*Assembly, name=A
*Instance, name=One, part=bar
*End Instance
*Instance, name=Two, part=Bar
 10, 0, 0
 10, 0, 0, 10, 0, 1, 90
*End Instance
*Nset, nset=Ends, instance=Two
 2, 3
*Nset, nset=Tips
 One.Tip, Two.2
*End Assembly
*Material, name=M
*Density
 1
*Elastic
 1, 0
*Boundary
 A.One.Tip, 1
 two.tip, ENCASTRE
";

#[test]
fn instances_are_placed_and_named() {
    let model = model(PARTS);
    let mesh = &model.mesh;
    assert_eq!((mesh.n_nodes(), mesh.n_elements()), (8, 2));
    assert_eq!(mesh.instances, ["One", "Two"]);
    assert_eq!(mesh.node_labels, [1, 2, 3, 4, 1, 2, 3, 4]);
    assert_eq!(mesh.node_instance, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(mesh.groups[0].connectivity, [0, 1, 2, 3, 4, 5, 6, 7]);
    let x = |node: usize| mesh.coordinates[3 * node..3 * node + 3].to_vec();
    assert_eq!((x(1), x(5)), (vec![1., 0., 0.], vec![10., 1., 0.]));
    let set = |name: &str| mesh.node_sets.iter().find(|s| s.name == name).unwrap().members.clone();
    assert_eq!((set("One.Tip"), set("Two.Tip"), set("Ends"), set("Tips")), (vec![1], vec![5], vec![5, 6], vec![1, 5]));
    let sections = &model.setup.sections;
    assert_eq!((sections[0].name.as_str(), sections[1].name.as_str()), ("One.All", "Two.All"));
    // Axis 1 points along y in the part, and along -x in the instance that is turned by 90 degrees.
    assert_eq!(sections[0].material_from_global[..3], [0., 1., 0.]);
    assert_eq!(sections[1].material_from_global[..3], [-1., 0., 0.]);
    let names: Vec<_> = model.setup.boundaries.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["A.One.Tip.1", "two.tip.1", "two.tip.2", "two.tip.3"]);
    let error = refusal(&PARTS.replace(" two.tip, ENC", " tip, ENC"));
    assert!(error.contains("there is no node or node set `tip`: did you mean `One.tip`?"), "{error}");
    let error = refusal(&with(PARTS, "*Dload\n All, BX, 1.\n"));
    assert!(error.contains("there is no element or element set `All`: did you mean `One.All`?"), "{error}");
}

#[test]
fn an_instance_may_hold_its_own_mesh() {
    let (part, rest) = PARTS.split_at(PARTS.find("*End Part").unwrap());
    let mesh = part.strip_prefix("*Part, name=Bar\n").unwrap();
    let end = &rest[rest.find("*End Assembly").unwrap()..];
    let text = format!(
        "*Part, name=Bar\n*End Part\n*Assembly, name=A\n*Instance, name=Two, part=bar\n{mesh}*End Instance\n{end}"
    );
    let model = model(&text.replace(" A.One.Tip, 1\n", ""));
    assert_eq!((model.mesh.n_nodes(), model.mesh.instances.as_slice()), (4, &["Two".to_owned()][..]));
    assert_eq!(model.setup.boundaries.len(), 3);
}

#[test]
fn steps_loads_and_outputs() {
    let text = with(
        SQUARE,
        "*Amplitude, name=Amp-1\n 0., 0., 1e-6, 1.\n 2e-6, 0.,\n\
         *Boundary\n LEFT, 2, 2\n 2, YSYMM\n\
         *Step, name=S, nlgeom=NO\n*Dynamic, Explicit, direct user control\n 5e-9, 1.2e-5\n\
         *Bulk Viscosity\n0.0, 0.0\n*Cload, amplitude=AMP-1\n LEFT, 1, 41.5\n LEFT, 1, 2\n 3, 2, -1.\n\
         *Boundary, type=VELOCITY, amplitude=Amp-1\n LEFT, 1, 2, 3.\n\
         *Dload\n PLATE, P2, 5\n , GRAV, 9.81, 0, -2\n SECOND, BX, 7\n\
         *Output, history, time interval=1e-7\n*Node Output, nset=LEFT\n U2, V\n U2\n\
         *Output, field, number interval=4\n*Node Output\n U\n*Element Output\n S, PEEQ\n\
         *Output, history, variable=PRESELECT\n*Node Print, nset=ALL, frequency=3\nRF\n*End Step\n",
    );
    let setup = model(&text).setup;
    assert_eq!(setup.explicit.time, 1.2e-5);
    assert_eq!(setup.explicit.increment, Increment::Fixed(5e-9));
    let names: Vec<_> = setup.loads.iter().map(|l| (l.name.as_str(), l.magnitude, l.amplitude)).collect();
    assert_eq!(
        names,
        [
            ("LEFT.1", 41.5, Some(0)),
            ("LEFT.1#2", 2., Some(0)),
            ("3.2", -1., Some(0)),
            ("PLATE.P2", 5., None),
            ("GRAV", 9.81, None),
            ("SECOND.BX", 7., None)
        ]
    );
    let none = u32::MAX;
    assert_eq!(
        setup.loads[3].kind,
        LoadKind::Pressure { faces: vec![[1, 2, none, none], [2, 3, none, none]], elements: vec![0, 1] }
    );
    assert_eq!(setup.loads[4].kind, LoadKind::Gravity { elements: vec![0, 1], direction: [0., -1., 0.] });
    assert_eq!(
        setup.amplitudes[0].shape,
        AmplitudeShape::Tabular { times: vec![0., 1e-6, 2e-6], values: vec![0., 1., 0.] }
    );
    let conditions: Vec<_> =
        setup.boundaries.iter().map(|b| (b.name.as_str(), b.component, b.kind, b.value, b.amplitude)).collect();
    use BoundaryKind::{Displacement, Velocity};
    assert_eq!(
        conditions,
        [
            ("LEFT.2", 1, Displacement, 0., None),
            ("2.2", 1, Displacement, 0., None),
            ("LEFT.1", 0, Velocity, 3., Some(0)),
            ("LEFT.2#2", 1, Velocity, 3., Some(0))
        ]
    );
    use NodalQuantity as Q;
    assert_eq!(setup.histories[0].variables, [(Q::Displacement, 1), (Q::Velocity, 0), (Q::Velocity, 1)]);
    assert_eq!(setup.histories[0].interval, OutputInterval::Time(1e-7));
    assert_eq!((setup.histories[1].set.as_str(), setup.histories[1].interval), ("ALL", OutputInterval::Increments(3)));
    assert_eq!(setup.fields.len(), 1);
    assert_eq!(setup.fields[0].quantities, [FieldQuantity::Displacement, FieldQuantity::Stress]);
}

#[test]
fn histories_of_elements_keep_their_set_variables_and_interval() {
    let tail = "*Step\n*Dynamic, Explicit\n, 1.\n*Output, history, frequency=2\n*Element Output, elset=PLATE\nS, e12, S33, \
                MISES, PEEQ, S13\n*Output, history\n*Element Output, elset=PLATE\nPEEQ\n*End Step\n";
    let (model, notes) = deck(&with(SQUARE, tail)).finish().unwrap();
    let histories = &model.setup.element_histories;
    assert_eq!(histories.len(), 1);
    assert_eq!((histories[0].set.as_str(), histories[0].interval), ("PLATE", OutputInterval::Increments(2)));
    assert_eq!(histories[0].elements, [0, 1]);
    use ElementQuantity::{Mises, Strain, Stress};
    // 2D: 11, 22, 33 and 12.
    let expected = [(Stress, 0), (Stress, 1), (Stress, 2), (Stress, 3), (Strain, 3), (Mises, 0)];
    assert_eq!(histories[0].variables, expected);
    let texts: Vec<String> = notes.iter().map(|note| note.text.clone()).collect();
    for part in ["nothing of this *ELEMENT OUTPUT", "are not written: PEEQ"] {
        assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:#?}");
    }
    let unknown = with(SQUARE, "*Output, history\n*Element Output, elset=PLAT\nS\n");
    assert!(refusal(&unknown).contains("there is no element set `PLAT`"));
}

/// As in Abaqus; the traces of a large model would be no use to anybody.
#[test]
fn histories_without_a_set_are_of_the_whole_model() {
    let tail = "*Step\n*Dynamic, Explicit\n, 1.\n*Output, history\n*Node Output\nU2, CF1\n*Element Output\nMISES\n\
                *Output, field\n*Node Output\nV\n*Element Output\nS\n*Node Print, frequencyf=4\nRF1\n*End Step\n";
    let (model, notes) = deck(&with(SQUARE, tail)).finish().unwrap();
    let n_nodes = model.mesh.n_nodes() as u32;
    let all: Vec<u32> = (0..n_nodes).collect();
    let histories = &model.setup.histories;
    assert_eq!(histories.len(), 2);
    assert!(histories.iter().all(|history| history.set == "MODEL" && history.nodes == all));
    assert_eq!(histories[0].variables, [(NodalQuantity::Displacement, 1)]);
    assert_eq!(histories[1].variables, [(NodalQuantity::Reaction, 0)]);
    assert_eq!(model.setup.element_histories.len(), 1);
    assert_eq!(model.setup.element_histories[0].elements, [0, 1]);
    assert_eq!(model.setup.fields.len(), 1);
    assert_eq!(model.setup.fields[0].quantities, [FieldQuantity::Velocity, FieldQuantity::Stress]);
    assert!(notes.iter().all(|note| !note.is_warning), "{notes:#?}");

    let nodes: String = (0..5001).map(|x| format!("{}, {x}., 0.\n{}, {x}., 1.\n", 2 * x + 1, 2 * x + 2)).collect();
    let elements: String =
        (0..5000).map(|e| format!("{}, {}, {}, {}, {}\n", e + 1, 2 * e + 1, 2 * e + 3, 2 * e + 4, 2 * e + 2)).collect();
    let head = format!(
        "*Node\n{nodes}*Element, type=CPE4, elset=BAR\n{elements}*Solid Section, elset=BAR, material=STEEL\n\
         *Material, name=STEEL\n*Density\n7.8e3\n*Elastic\n2e11, .3\n*Step\n*Dynamic, Explicit\n, 1.\n"
    );
    let tail = "*Output, history\n*Node Output\nU1\n*Element Output\nMISES\n*Element Output\nS\n*End Step\n";
    let (model, notes) = deck(&format!("{head}{tail}")).finish().unwrap();
    assert!(model.setup.histories.is_empty());
    assert_eq!(model.setup.element_histories[0].elements.len(), 5000);
    let warnings: Vec<String> = notes.iter().filter(|note| note.is_warning).map(ToString::to_string).collect();
    let line = |keyword: &str, skip| {
        let lines = || head.lines().chain(tail.lines());
        1 + lines().enumerate().filter(|(_, line)| *line == keyword).nth(skip).unwrap().0
    };
    let expected = [
        (line("*Node Output", 0), "*NODE OUTPUT names no NSET=, which means all 10002 nodes"),
        (line("*Element Output", 1), "*ELEMENT OUTPUT names no ELSET=, which means all 5000 elements"),
    ];
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    for (warning, (line, text)) in warnings.iter().zip(expected) {
        assert!(warning.contains(&format!(":{line}: ")) && warning.contains(text), "{warning}");
        assert!(warning.contains("name a set with"), "{warning}");
    }
}

#[test]
fn the_second_definition_before_the_step_gives_way_to_op_new() {
    let tail =
        "*Boundary\n LEFT, 1, 2\n*Step, nlgeom=NO\n*Dynamic, Explicit\n , 0.08\n*Boundary, op=NEW\n 3, 1\n*End Step\n";
    let setup = model(&with(SQUARE, tail)).setup;
    assert_eq!(setup.boundaries.len(), 1);
    assert_eq!(setup.explicit.time, 0.08);
    assert!(matches!(setup.explicit.increment, Increment::Automatic { .. }));
}

#[test]
fn equal_lines_for_bare_nodes_are_one_entry() {
    let tail = "*Boundary\n 1, 1, 2\n 2, 1, 2\n LEFT, 1\n 3, 1\n 4, 1\n 4, 2\n*Cload\n 1, 1, 5\n 2, 1, 5\n 2, 1, 5\n 3, 1, 6\n 3, 2, 6\n";
    let setup = model(&with(SQUARE, tail)).setup;
    let boundaries: Vec<_> = setup.boundaries.iter().map(|b| (b.name.as_str(), b.nodes.as_slice())).collect();
    let left = [0, 3];
    assert_eq!(
        boundaries,
        [("1.1", &[0, 1][..]), ("1.2", &[0, 1]), ("LEFT.1", &left), ("3.1", &[2, 3]), ("4.2", &[3])]
    );
    let loads: Vec<_> = setup.loads.iter().map(|l| (l.name.as_str(), l.magnitude)).collect();
    assert_eq!(loads, [("1.1", 5.), ("2.1", 5.), ("3.1", 6.), ("3.2", 6.)]);
    let LoadKind::Concentrated { nodes, .. } = &setup.loads[0].kind else { panic!() };
    assert_eq!(*nodes, [0, 1]);
}

#[test]
fn surfaces_carry_pressure_and_traction() {
    let tail = "*Surface, name=TOP, type=ELEMENT\n CUBE, S2\n*Surface, name=SKIN\n CUBE,\n*Surface, name=UNUSED\n NOWHERE, S9\n\
                *Dsload\n top, P, 2\n SKIN, TRVEC, 3, 0, 0, -4\n";
    let setup = model(&with(CUBE, tail)).setup;
    assert_eq!(setup.loads[0].kind, LoadKind::Pressure { faces: vec![[4, 7, 6, 5]], elements: vec![0] });
    let LoadKind::Traction { faces, direction, .. } = &setup.loads[1].kind else { panic!() };
    assert_eq!((faces.len(), *direction), (6, [0., 0., -1.]));
    assert!(refusal(&with(CUBE, "*Surface, name=X\n CUBE, S7\n*Dsload\n X, P, 1\n")).contains("C3D8R has no face 7"));
    assert!(refusal(&with(CUBE, "*Dsload\n X, P, 1\n")).contains("surface `X` does not exist"));
    // A line without a set is of the whole model: its outer faces.
    let whole = model(&with(CUBE, "*SURFACE, NAME=SKIN\n,\n*DSLOAD\nSKIN, P, 1.\n"));
    assert!(matches!(&whole.setup.loads[0].kind, LoadKind::Pressure { faces, .. } if faces.len() == 6));
}

/// Meshers write the lines along a boundary as elements; sets of their nodes are where supports and loads act.
#[test]
fn elements_that_are_not_computed_still_say_which_nodes_are_theirs() {
    let lines = "*Element, type=T3D2, elset=EDGE\n 11, 1, 4\n 12, 4, 3\n*Element, type=T3D3, elset=CURVE\n 13, 2,\n 9, 3\n\
                 *Nset, nset=HELD, elset=EDGE\n*Nset, nset=FREE, elset=CURVE\n*Boundary\n HELD, 1\n";
    let set = |model: &Model, name: &str| model.mesh.node_sets.iter().find(|s| s.name == name).unwrap().members.clone();
    let flat = model(&with(SQUARE, lines));
    assert_eq!((set(&flat, "HELD"), set(&flat, "FREE")), (vec![0, 2, 3], vec![1, 2]));
    assert_eq!(flat.setup.boundaries[0].nodes, [0, 2, 3]);

    let (mesh, material) = SQUARE.split_at(SQUARE.find("*Material").unwrap());
    let edge = lines.split("*Nset").next().unwrap();
    let assembly = "*End Part\n*Assembly, name=A\n*Instance, name=One, part=P\n*End Instance\n*Instance, name=Two, part=P\n\
                    5, 0, 0\n*End Instance\n*Nset, nset=HELD, elset=Two.EDGE\n*End Assembly\n";
    let placed = model(&format!("*Part, name=P\n{mesh}{edge}*Nset, nset=OWN, elset=EDGE\n{assembly}{material}"));
    assert_eq!((set(&placed, "One.OWN"), set(&placed, "HELD")), (vec![0, 2, 3], vec![4, 6, 7]));

    // Without a section, what is missing is that, although lines stand beside the triangles.
    let bare = with(&mesh[..mesh.find("*Solid").unwrap()], edge);
    assert!(refusal(&bare).contains("no element has a section: give a *SOLID SECTION"), "{}", refusal(&bare));

    // A face needs an element that is computed.
    let surface = "*Surface, name=S\n EDGE\n*Dsload\n S, P, 1.\n";
    let notes = deck(&with(SQUARE, &format!("{edge}{surface}"))).finish().unwrap().1;
    assert!(notes.iter().any(|note| note.is_warning && note.text.contains("no face")), "{notes:?}");
}

#[test]
fn amplitudes_of_every_definition() {
    let tail = "*Amplitude, name=S, definition=SMOOTH STEP, time=TOTAL TIME\n0, 0\n1, 1\n\
                *Amplitude, name=P, definition=PERIODIC\n 2, 6.5, 0., 1.\n 1, 2, 3, 4\n\
                *Amplitude, name=E, definition=EQUALLY SPACED, fixed interval=0.5, begin=1, value=ABSOLUTE\n 1, 2, 3\n";
    let amplitudes = model(&with(SQUARE, tail)).setup.amplitudes;
    assert_eq!(amplitudes[0].shape, AmplitudeShape::SmoothStep { times: vec![0., 1.], values: vec![0., 1.] });
    let terms = vec![[1., 2.], [3., 4.]];
    assert_eq!(amplitudes[1].shape, AmplitudeShape::Periodic { omega: 6.5, start: 0., constant: 1., terms });
    assert_eq!(amplitudes[2].shape, AmplitudeShape::Tabular { times: vec![1., 1.5, 2.], values: vec![1., 2., 3.] });
    assert!(amplitudes[2].absolute && !amplitudes[0].absolute);
    assert!(
        refusal(&with(SQUARE, "*Amplitude, name=A\n 0, 0, 1\n"))
            .contains("deck.inp:20: error: amplitude `A` has a time without")
    );
    assert!(refusal(&with(SQUARE, "*Amplitude, name=A\n 1, 0, 0, 1\n")).contains("time 0 follows 1"));
    assert!(
        refusal(&with(SQUARE, "*Amplitude, name=A, definition=EQUALLY SPACED\n 0, 1\n"))
            .contains("deck.inp:20: error: amplitude `A`: EQUALLY SPACED needs a positive FIXED INTERVAL=")
    );
}

#[test]
fn elasticity_of_every_type() {
    let elastic = |card: &str| {
        let text = SQUARE.replace("*Elastic\n 2.1e11, 0.3\n", card);
        model(&text).setup.materials.remove(0).elasticity
    };
    let nine = [9., 1., 8., 0.1, 0.2, 7., 3., 2., 1.];
    let lines = "9, 1, 8, 0.1, 0.2, 7, 3, 2\n 1,\n";
    assert_eq!(elastic(&format!("*Elastic, type=ORTHO\n{lines}")), Elasticity::Orthotropic(nine));
    let engineering = Elasticity::EngineeringConstants([9., 8., 7., 0.1, 0.2, 0.3, 3., 2., 1.]);
    assert_eq!(elastic("*Elastic, type=ENGINEERING CONSTANTS\n9, 8, 7, 0.1, 0.2, 0.3, 3, 2\n 1,\n"), engineering);
    let many = "9, 1, 8, 1, 1, 7, 0, 0\n 0, 6, 0, 0, 0, 0, 5, 0\n 0, 0, 0, 0.5, 4\n";
    let Elasticity::Anisotropic(constants) = elastic(&format!("*Elastic, type=anisotropic\n{many}")) else { panic!() };
    assert_eq!((constants[0], constants[2], constants[19], constants[20]), (9., 8., 0.5, 4.));
    let soft = SQUARE
        .replace("*Elastic\n 2.1e11, 0.3\n", &format!("*Elastic, type=ORTHO\n{}", lines.replace("9, 1, 8", "1, 9, 1")));
    assert!(
        refusal(&soft)
            .contains("deck.inp:18: error: *ELASTIC, TYPE=ORTHOTROPIC: the stiffness is not positive definite")
    );
    assert!(refusal(&SQUARE.replace("*Elastic\n", "*Elastic, type=LAMINA\n")).contains("TYPE=LAMINA is not supported"));
    assert!(refusal(&SQUARE.replace("0.3\n", "0.5\n")).contains("ν = 0.5"));
    let damped = SQUARE.replace("*Elastic\n", "*Damping, alpha=1.D4\n*Elastic\n");
    assert_eq!(model(&damped).setup.materials[0].damping_alpha, 1e4);
    assert!(
        refusal(&SQUARE.replace("*Elastic\n", "*Damping, beta=1\n*Elastic\n"))
            .contains("deck.inp:18: error: *DAMPING, BETA=1")
    );
}

#[test]
fn masses_and_hourglass_control() {
    let tail = "*Section Controls, name=EC, hourglass=ENHANCED\n 2.5,\n*Step\n*Dynamic, Explicit\n,1.\n\
                *Fixed Mass Scaling, factor=4.\n*End Step\n";
    let text = with(&CUBE.replace("MATERIAL=M\n", "MATERIAL=M, CONTROLS=EC\n"), tail);
    let section = model(&text).setup.sections.remove(0);
    assert_eq!((section.hourglass_factor, section.mass_factor), (2.5, 4.));
    let tail = "*Fixed Mass Scaling, factor=4., elset=SECOND\n";
    let model = model(&with(SQUARE, tail));
    assert_eq!(model.mesh.groups[0].section, [0, 1]);
    assert_eq!(model.setup.sections.iter().map(|s| s.mass_factor).collect::<Vec<_>>(), [1., 4.]);
    assert!(refusal(&with(SQUARE, "*Fixed Mass Scaling, type=uniform, dt=1e-5\n")).contains("FACTOR="));
}

#[test]
fn initial_velocities_and_jumps() {
    let tail = "*Initial Conditions, type=VELOCITY\n LEFT, 1, -2.\n*Boundary\n 3, 2, , 0.1\n";
    let deck = deck(&with(SQUARE, tail));
    assert!(deck.notes.iter().any(|n| n.line == 23 && n.text.contains("jumps")));
    let velocity = &deck.model.setup.initial_velocities[0];
    assert_eq!((velocity.name.as_str(), velocity.component, velocity.value), ("LEFT.1", 0, -2.));
    assert_eq!(deck.model.setup.boundaries[0].value, 0.1);
}

#[test]
fn every_unsupported_keyword_is_listed_at_once() {
    let tail = "*Plastic\n 1, 0\n*Rate Dependent\n*Contact Pair, interaction=I\n a, b\n*Tie, name=T\n*Friction\n0.1\n*Nonsense\n\
                *Step\n*Static\n*Temperature\n*End Step\n*Step\n*Static\n*End Step\n";
    let text = with(SQUARE, tail);
    let error = refusal(&text);
    for (line, what) in [
        (20, "*PLASTIC is not supported"),
        (22, "*RATE DEPENDENT is not supported"),
        (23, "*CONTACT PAIR is not supported: contact is not computed; --ignore CONTACT leaves it out"),
        (25, "*TIE is not supported"),
        (26, "*FRICTION is not supported"),
        (28, "*NONSENSE is not a known keyword"),
        (30, "this deck asks for *STATIC"),
        (31, "*TEMPERATURE is not supported"),
        (33, "a second *STEP"),
    ] {
        assert!(error.contains(&format!("deck.inp:{line}: error: {what}")), "{what} in\n{error}");
    }
    assert_eq!(error.lines().count(), 9, "{error}");
    let ignore = ["plastic", "contact", "TIE", "nonsense", "step"];
    let deck = try_read(&text, &ignore).unwrap_or_else(|e| panic!("{e}"));
    assert!(deck.explicit.is_none());
    assert!(deck.notes.iter().any(|n| n.text.contains("*PLASTIC is ignored on request")));
}

#[test]
fn element_types_that_are_not_computed_are_refused_where_a_section_wants_them() {
    let other = "*Element, type=S4R, elset=PLATE\n 10, 1, 2, 3, 4\n*Element, type=T3D2\n 20, 1, 2\n";
    let error = refusal(&with(SQUARE, other));
    assert!(
        error.contains("deck.inp:20: error: element types that are not computed: S4R (1 element, line 20), T3D2"),
        "{error}"
    );
    let deck = try_read(&with(SQUARE, other), &["S4R"]).unwrap_or_else(|e| panic!("{e}"));
    let (model, notes) = deck.finish().unwrap();
    assert_eq!(model.mesh.n_elements(), 2);
    assert!(notes.iter().any(|n| n.text.contains("T3D2 (1)")));
    let bare = "*Node\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n*Element, type=C3D4\n1, 1, 2, 3, 4\n*Element, type=C3D10\n2, 1,2,3,4,5,6,7,8,\n9,10\n";
    let mut deck = deck_of(bare);
    deck.assign_section(None, 0);
    assert!(
        deck.finish()
            .unwrap_err()
            .to_string()
            .contains("deck.inp:8: error: element types that are not computed: C3D10 (1)")
    );
}

fn deck_of(text: &str) -> Deck {
    deck(text)
}

#[test]
fn mistakes_say_where_and_what() {
    for (change, with, expected) in [
        (" 2, 1, 3, 4\n", " 2, 1, 3, 5\n", "deck.inp:8: error: element 2 names node 5, which does not exist"),
        (" 2, 1, 3, 4\n", " 2, 1, 3, 3\n", "deck.inp:8: error: element 2 has node 3 twice"),
        (" 2, 1, 3, 4\n", " 1, 1, 3, 4\n", "deck.inp:8: error: element 1 is defined twice"),
        (" 2, 1, 3, 4\n", " 2, 1, 3\n", "deck.inp:8: error: `2, 1, 3`: 2 of the 3 nodes of CPE3"),
        (" 2, 1, 3, 4\n", " 2, 1, 3, 4, 2\n", "deck.inp:8: error: `2, 1, 3, 4, 2`: more than the 3 nodes of CPE3"),
        (" 4, , 1.0e+000\n", " 4, , 1\n 4, 2, 2\n", "deck.inp:6: error: node 4 is defined twice, at different places"),
        (" 2, 1., 0.\n", " 2, 1., zero\n", "deck.inp:3: error: `2, 1., zero`: a coordinate is not a number"),
        (" 1, 4\n", " 1, 4\n 77\n", "deck.inp:11: error: set `LEFT` names node 77, which does not exist"),
        (" 1, 4\n", " 1, RIGHT\n", "deck.inp:10: error: set `LEFT` names the node set `RIGHT`, which does not exist"),
        (" 1, 4\n", " 1, 4\n*Ngen\n1, 2\n", "*NGEN is not supported: nodes and elements must be written out"),
        (
            "elset=PLATE, material",
            "elset=PLAT, material",
            "deck.inp:13: error: *SOLID SECTION: element set `PLAT` does not exist",
        ),
        ("material=steel", "material=iron", "material `iron` has no density and no stiffness"),
        (" 7800.,\n", " -1\n", "*DENSITY needs a positive density"),
        ("*Density\n 7800.,\n", "", "deck.inp:15: error: material `STEEL` has no density"),
        ("*Density", "*Include, input=x.inp\n*Density", "`x.inp` cannot be included"),
    ] {
        assert!(SQUARE.contains(change), "{change}");
        let error = refusal(&SQUARE.replacen(change, with, 1));
        assert!(error.contains(expected), "{expected} in\n{error}");
    }
    assert!(
        refusal(&with(SQUARE, "*Cload\n NOBODY, 1, 1\n"))
            .contains("deck.inp:21: error: there is no node or node set `NOBODY`")
    );
    assert!(refusal(&with(SQUARE, "*Cload\n LEFT, 3, 1\n")).contains("component 3 does not exist in a 2D model"));
    assert!(refusal(&with(SQUARE, "*Boundary\n LEFT, 11, 11, 1\n")).contains("degree of freedom 11"));
    for line in ["*Initial Conditions, type=VELOCITY\nLEFT, 1, 2., 3.\n", "*Cload\nLEFT, 1, 2., 3.\n"] {
        assert!(refusal(&with(SQUARE, line)).contains("deck.inp:21: error: a"), "{line}");
    }
    for line in ["LEFT, 1, 2, 3., 4.\n", "LEFT, ENCASTRE, 1\n"] {
        assert!(
            refusal(&with(SQUARE, &format!("*Boundary\n{line}"))).contains("a boundary condition is: set,"),
            "{line}"
        );
    }
    let twice = "*Step\n*Dynamic, Explicit\n, 1.\n*Dynamic, Explicit\n, 2.\n";
    assert!(refusal(&with(SQUARE, twice)).contains("deck.inp:23: error: a second *DYNAMIC, EXPLICIT in one step"));
    let turned = "*Surface, name=S\nPLATE,\n*Dsload, orientation=O\nS, TRVEC, 1., 1., 0.\n";
    assert!(refusal(&with(SQUARE, turned)).contains("*DSLOAD, ORIENTATION is not supported"));
    assert!(refusal(&with(SQUARE, "*Amplitude, name=A, shiftx=1\n0, 0, 1, 1\n")).contains("SHIFTX is not supported"));
    let skew = SQUARE.replace(" 3, 1.D0, 1\n", " 3, 1, 1, 0.5\n");
    assert!(refusal(&skew).contains("a 2D mesh must lie in a plane of constant z: node 3"));
}

#[test]
fn equal_repeated_nodes_are_one() {
    let text = SQUARE.replace(" 2, 1., 0.\n", " 2, 1., 0.\n 2, 1, 0\n");
    assert_eq!(model(&text).mesh, model(SQUARE).mesh);
}

#[test]
fn nodes_without_elements_are_left_out() {
    let text = SQUARE.replace(" 2, 1., 0.\n", " 2, 1., 0.\n 99, 7, 7, 7\n");
    let (kept, notes) = deck(&with(&text, "*Boundary\n 99, 1\n LEFT, 1\n")).finish().unwrap();
    assert_eq!(kept.mesh.n_nodes(), 4);
    assert_eq!(kept.mesh.groups, model(SQUARE).mesh.groups);
    assert_eq!(kept.setup.boundaries.len(), 1);
    assert!(notes.iter().any(|n| n.text.contains("no element uses them: 1")));
    let error = refusal(&with(&text, "*Cload\n 99, 1, 5\n"));
    assert!(error.contains("load `99.1`: its node belongs to no element: nothing carries it"), "{error}");
}

#[test]
fn groups_of_one_kind_join() {
    let text = SQUARE.replace(" 2, 1, 3, 4\n", "*Element, type=CPS3, elset=PLATE\n 2, 1, 3, 4\n");
    let mut deck = deck(&text);
    deck.model.mesh.groups[1].kind = ElementKind::Cpe3;
    let (joined, _) = deck.finish().unwrap();
    assert_eq!(joined.mesh, model(SQUARE).mesh);
}

#[test]
fn elements_that_are_turned_over_are_turned_back() {
    let text = SQUARE.replace(" 1, 1, 2, 3\n", " 1, 1, 3, 2\n");
    let (turned, notes) = deck(&with(&text, "*Dload\n PLATE, P1, 5\n")).finish().unwrap();
    assert_eq!(turned.mesh, model(SQUARE).mesh);
    assert!(notes.iter().any(|n| n.text.contains("run the wrong way round and were turned back: element 1")));
    // Face 1 is the one between the nodes as the deck writes them.
    let LoadKind::Pressure { faces, .. } = &turned.setup.loads[0].kind else { panic!() };
    assert_eq!(faces[0][..2], [0, 2]);
    let flat = SQUARE.replace(" 3, 1.D0, 1\n", " 3, 2, 0\n");
    assert!(refusal(&flat).contains("deck.inp: error: element 1 has no area or volume (1 of 2 elements)"));
}

#[test]
fn folded_elements_are_refused_and_bent_ones_are_a_warning() {
    let moved = |x: &str| CUBE.replace("7, 1, 1, 1\n", &format!("7, {x}, {x}, {x}\n"));
    let refused = refusal(&moved("0.1").replace("C3D8R", "C3D8"));
    assert!(
        refused.contains("element 1: too distorted: the Jacobian is not positive at an integration point"),
        "{refused}"
    );
    // One-point elements need no more than a volume.
    assert!(deck(&moved("0.1")).finish().is_ok());
    let (_, notes) = deck(&moved("0.62")).finish().unwrap();
    let bent = notes.iter().find(|n| n.text.contains("element 1: badly shaped")).unwrap();
    assert!(bent.is_warning && bent.to_string().starts_with("deck.inp: warning: "), "{bent}");
    let (_, notes) = deck(CUBE).finish().unwrap();
    assert!(notes.iter().all(|n| !n.is_warning), "{notes:?}");
}

#[test]
fn what_a_set_lacks_is_named_three_times_and_then_counted() {
    let missing: String = (10..40).map(|i| format!("X{i}, {i}\n")).collect();
    let error = refusal(&with(SQUARE, &format!("*Nset, nset=BIG\n1, 2\n3\n{missing}LEFT, left, LEFT\n")));
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 8, "{error}");
    assert!(lines[0].contains(":23: error: set `BIG` names the node set `X10`, which does not exist"), "{error}");
    assert!(error.contains("set `BIG` names 27 more nodes not in the model"), "{error}");
    assert!(error.contains("set `BIG` names 27 more node sets not in the model"), "{error}");
    let set = with(SQUARE, "*Nset, nset=BIG\n3, LEFT, 2\nLEFT\n*Nset, nset=BIG, generate\n1, 1\n1, 4, 3\n");
    assert_eq!(model(&set).mesh.node_sets.iter().find(|s| s.name == "BIG").unwrap().members, [2, 0, 3, 1]);
}

#[test]
fn a_cylindrical_orientation_is_only_refused_where_it_matters() {
    let text = SQUARE.replace("material=steel", "material=steel, orientation=O");
    let text = with(&text, "*Orientation, name=O, system=CYLINDRICAL\n0, 0, 0, 0, 0, 1\n");
    let (model, notes) = deck(&text).finish().unwrap();
    assert_eq!(model.setup.sections[0].material_from_global, [1., 0., 0., 0., 1., 0., 0., 0., 1.]);
    assert!(notes.iter().any(|n| n.text == "*ORIENTATION `O` is without effect on an isotropic material"));
    let constants = "*Elastic, type=ORTHOTROPIC\n 3, 1, 3, 1, 1, 3, 1, 1\n 1\n";
    let error = refusal(&text.replace("*Elastic\n 2.1e11, 0.3\n", constants));
    assert!(error.contains("*ORIENTATION is read with SYSTEM=RECTANGULAR"), "{error}");
}

#[test]
fn mistakes_are_said_once_with_what_was_probably_meant() {
    let amplitude = "*Amplitude, name=A\n1, 0, 0, 1\n*Step\n*Dynamic, Explicit\n, 1.\n*Cload, amplitude=A\n3, 1, 1.\n";
    let error = refusal(&with(SQUARE, amplitude));
    assert!(error.contains("amplitude `A`: time 0 follows 1") && !error.contains("does not exist"), "{error}");
    let error = refusal(&SQUARE.replace("*Elastic", "*Elastick"));
    assert!(error.contains("(did you mean *ELASTIC?)"), "{error}");
    let error = refusal(&with(SQUARE, "*Cload, amplitde=A\n3, 1, 1.\n"));
    assert!(error.contains("deck.inp:20: error: *CLOAD has no parameter AMPLITDE: did you mean AMPLITUDE?"), "{error}");
    let error = refusal(&SQUARE.replace("*Elastic", "*Density\n 1.\n*Elastic"));
    assert!(error.contains("*DENSITY stands twice in material `STEEL`"), "{error}");
    let unknown = deck(&SQUARE.replace("*Node,", "*Node, colour=red,"));
    let text = "*NODE has no parameter COLOUR that is known here: it has no effect";
    assert!(unknown.notes.iter().any(|n| n.is_warning && n.text == text), "{:?}", unknown.notes);
    let deck = deck(&with(SQUARE, "*Nset, nset=NONE\n*Step\n*Dynamic, Explicit\n, 1.\n*Cload\nNONE, 1, 1.\n"));
    assert!(deck.notes.iter().any(|n| n.is_warning && n.text == "node set `NONE` is empty: this line does nothing"));
}

#[test]
fn what_ignore_names_in_vain_is_said() {
    let deck = try_read(&with(SQUARE, "*Plastic\n1.\n*Restart, write\n"), &["PLASTIC", "RESTRAT", "TIE,MPC"]).unwrap();
    let warnings: Vec<String> = deck.notes.iter().filter(|n| n.is_warning).map(|n| n.to_string()).collect();
    assert_eq!(
        warnings,
        [
            "deck.inp: warning: --ignore RESTRAT: nothing in the deck needs it; did you mean `RESTART`?",
            "deck.inp: warning: --ignore TIE: nothing in the deck needs it",
            "deck.inp: warning: --ignore MPC: nothing in the deck needs it",
        ]
    );
}

#[test]
fn system_frames_move_nodes() {
    let text = with(
        &CUBE
            .replace("*NODE\n", "*SYSTEM\n 10, 0, 0, 10, 1, 0\n*NODE\n")
            .replace("5, 0, 0, 1\n", "*SYSTEM\n*NODE\n5, 0, 0, 1\n"),
        "",
    );
    let mesh = model(&text).mesh;
    assert_eq!(mesh.coordinates[3..6], [10., 1., 0.]);
    assert_eq!(mesh.coordinates[12..15], [0., 0., 1.]);
}

#[test]
fn included_files_are_relative_to_the_one_that_includes_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let (nodes, rest) = SQUARE.split_at(SQUARE.find("*Element").unwrap());
    let (head, data) = nodes.split_at(nodes.find(" 1, 0").unwrap());
    write("main.inp", &format!("*INCLUDE, INPUT=sub/nodes.inp\n{rest}*Amplitude, name=A, input=table.txt\n"));
    write("sub/nodes.inp", &format!("{head}*include, input=data.inp\n"));
    write("sub/data.inp", data);
    write("table.txt", "0, 0\n1, 1\n");
    let path = folder.path().join("main.inp");
    let deck = read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(deck.report.files.len(), 4);
    assert_eq!(deck.model.setup.amplitudes.len(), 1);
    assert_eq!(deck.finish().unwrap().0.mesh, model(SQUARE).mesh);
    write("windows.inp", &format!("*INCLUDE, INPUT=\"sub\\nodes.inp\"\n{rest}"));
    let windows = read(&folder.path().join("windows.inp"), &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(windows.finish().unwrap().0.mesh, model(SQUARE).mesh);

    write("sub/data.inp", &format!("{data}*include, input=nodes.inp\n"));
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("data.inp:5: error: `") && error.contains("includes itself"), "{error}");
    write("sub/nodes.inp", "*include, input=nowhere.inp\n");
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("nodes.inp:1: error: included file") && error.contains("nowhere.inp` does not exist"),
        "{error}"
    );
    // Nor are its nodes there, but that is not said as well.
    assert_eq!(error.lines().count(), 1, "{error}");
    // What else is wrong is said at once.
    write(
        "main.inp",
        &format!("*INCLUDE, INPUT=sub/nodes.inp\n{rest}*Amplitude, name=A\n0., <end>\n*Boundary\nnobody, 1\n"),
    );
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("nowhere.inp` does not exist") && error.contains("`<end>` is not a number"), "{error}");
    assert!(!error.contains("nobody"), "{error}");
}

#[test]
fn counts_are_as_written_and_after_instancing() {
    let report = deck(PARTS).report;
    assert_eq!((report.node_lines, report.element_lines()), (5, 1));
    assert_eq!((report.n_nodes, report.n_elements), (10, 2));
    assert_eq!(report.materials, ["M"]);
    assert_eq!(report.elements[0].name, "C3D4");
}

#[test]
fn a_job_replaces_material_and_time() {
    let text =
        SQUARE.replace("*Elastic\n 2.1e11, 0.3\n", "*User Material, constants=1\n 1.\n*Step\n*Static\n*End Step\n");
    let options = ReadOptions { job_sets_time: true, job_materials: vec!["Steel".into()], ..ReadOptions::default() };
    let mut deck = read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(deck.materials[0].density, None);
    let notes: Vec<_> = deck.notes.iter().map(|n| n.text.as_str()).collect();
    assert_eq!(
        notes,
        ["*USER MATERIAL is left out: the job defines its material", "*STATIC is left out: the job sets the time"]
    );
    deck.materials[0].density = Some(1.);
    deck.materials[0].elasticity = Some(Elasticity::Isotropic { young: 1., poisson: 0. });
    assert!(deck.finish().is_ok());
}

#[test]
fn two_node_elements_are_given_by_instance_where_they_are_wanted() {
    let text = "*Part, name=P\n*Node\n 7, 0, 0\n 8, 1, 0\n 9, 2, 0\n*Element, type=SPRINGA, elset=COIL\n 1, 7, 8\n 2, 8,\n 9\n\
                *Element, type=MASS, elset=BALL\n 3, 9\n*Nset, nset=ENDS, elset=COIL\n*Spring, elset=COIL\n ,\n 5.\n*Mass, elset=BALL\n 2.\n\
                *End Part\n*Assembly, name=A\n*Instance, name=I, part=P\n*End Instance\n*Instance, name=J, part=P\n 0, 0, 4\n\
                *End Instance\n*Element, type=CONN3D2, elset=LINK\n 1, I.9, A.J.7\n*End Assembly\n";
    assert!(refusal(text).contains("makes springs of elements with two nodes"));
    let options = ReadOptions { lines: true, ..ReadOptions::default() };
    let deck = read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}"));
    let (mesh, lines) = (&deck.model.mesh, &deck.lines);
    let name = |node: u32| {
        format!("{}.{}", mesh.instances[mesh.node_instance[node as usize] as usize], mesh.node_labels[node as usize])
    };
    let pairs: Vec<_> = lines.nodes.iter().map(|pair| pair.map(name)).collect();
    let mut sorted: Vec<_> = pairs.iter().map(|[a, b]| format!("{a} {b}")).collect();
    sorted.sort();
    assert_eq!(sorted, ["I.7 I.8", "I.8 I.9", "I.9 J.7", "J.7 J.8", "J.8 J.9"]);
    let properties: Vec<_> = lines.properties.iter().map(|p| (p.name.as_str(), p.stiffness, p.lines.len())).collect();
    assert_eq!(properties, [("I.COIL", 5., 2), ("J.COIL", 5., 2)]);
    let masses: Vec<(f64, Vec<String>)> =
        lines.masses.iter().map(|m| (m.mass, m.nodes.iter().map(|n| name(*n)).collect())).collect();
    assert_eq!(masses, [(2., vec!["I.9".to_owned()]), (2., vec!["J.9".to_owned()])]);
    let sets: Vec<_> = lines.sets.iter().map(|set| (set.name.as_str(), set.members.len())).collect();
    assert_eq!(sets, [("I.COIL", 2), ("J.COIL", 2), ("LINK", 1)]);
    assert!(mesh.node_sets.iter().all(|set| set.members.len() == 3) && mesh.node_sets.len() == 2);
}

#[test]
fn quotes_may_stand_round_either_half_of_a_name() {
    let part = SQUARE.split_once("*Material").unwrap();
    let text = format!(
        "*Part, name=\"A Part\"\n{}*End Part\n*Assembly, name=A\n*Instance, name=\"My Plate\", part=A Part\n\
         *End Instance\n*End Assembly\n*Material{}*Initial Conditions, type=VELOCITY\n\"My Plate\".\"LEFT\", 1, 2.\n\
         *Boundary\n\"My Plate.LEFT\", 2\n*Step\n*Dynamic, Explicit\n, 1.\n*End Step\n",
        part.0, part.1
    );
    let model = model(&text);
    assert_eq!(model.setup.initial_velocities[0].nodes, model.setup.boundaries[0].nodes);
    assert_eq!(model.setup.boundaries[0].nodes.len(), 2);
}

#[test]
fn what_is_no_text_or_empty_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.inp");
    let error = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(&path, &ReadOptions::default()).unwrap_err().to_string()
    };
    assert!(error(b"").ends_with("a.inp: error: the file is empty"));
    let utf16: Vec<u8> = SQUARE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(error(&utf16).contains("not plain text (binary data, or UTF-16: save it as UTF-8)"));
    let rubbish = error(b"*\x1b[2J rubbish\x07 without an end, or so it seems to whoever reads it all\n1\n");
    assert!(!rubbish.contains(char::is_control) && rubbish.contains("is not a known keyword"), "{rubbish:?}");
}

#[test]
fn an_include_bomb_ends() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    for i in 0..19 {
        write(format!("{i}.inc"), format!("*Include, input={}.inc\n", i + 1).repeat(if i < 8 { 1 } else { 4 }));
    }
    write("19.inc".into(), SQUARE.lines().next().unwrap().to_owned());
    let error = read(&folder.path().join("0.inc"), &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error.matches("more than 100000 files are included").count(), 1, "{error}");
}

#[test]
fn every_flag_that_a_message_proposes_leads_on() {
    let cases = [
        ("*Boundary\n1, 11, 11, 20.\n", "--ignore TEMPERATURE", "TEMPERATURE"),
        (
            "*Material, name=C\n*Elastic, type=TRACTION\n1., 1., 1.\n",
            "--ignore \"COHESIVE SECTION\"",
            "COHESIVE SECTION",
        ),
        ("*Material, name=C\n*Damping, beta=1e-9\n", "--ignore DAMPING", "DAMPING"),
    ];
    for (card, flag, name) in cases {
        let text = format!("{SQUARE}{card}");
        let error = refusal(&text);
        assert!(error.contains(flag), "{error}");
        assert!(try_read(&text, &[name]).is_ok(), "{name}");
    }
}

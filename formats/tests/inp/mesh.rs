//! Nodes, elements, sets, parts and files.

use pogo_formats::read::deck::Truss;

use super::*;

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
    let set = |name: &str| deck.mesh.node_sets.iter().find(|s| s.name == name).unwrap().members.clone();
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
    deck.mesh.groups[1].kind = ElementKind::Cpe3;
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
    assert!(notes.iter().all(|n| !n.text.contains("badly shaped")), "{notes:?}");
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
    assert_eq!(deck.amplitudes.len(), 1);
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
fn two_node_elements_are_given_by_instance_where_they_are_wanted() {
    let text = "*Part, name=P\n*Node\n 7, 0, 0\n 8, 1, 0\n 9, 2, 0\n*Element, type=SPRINGA, elset=COIL\n 1, 7, 8\n 2, 8,\n 9\n\
                *Element, type=MASS, elset=BALL\n 3, 9\n*Nset, nset=ENDS, elset=COIL\n*Spring, elset=COIL\n ,\n 5.\n*Mass, elset=BALL\n 2.\n\
                *End Part\n*Assembly, name=A\n*Instance, name=I, part=P\n*End Instance\n*Instance, name=J, part=P\n 0, 0, 4\n\
                *End Instance\n*Element, type=CONN3D2, elset=LINK\n 1, I.9, A.J.7\n*End Assembly\n";
    assert!(refusal(text).contains("makes springs of elements with two nodes"));
    let options = ReadOptions { lines: true, ..ReadOptions::default() };
    let deck = read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}"));
    let (mesh, lines) = (&deck.mesh, &deck.lines);
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
fn trusses_have_their_section_where_lines_are_wanted() {
    let text = "*Node\n 1, 0, 0, 0\n 2, 1, 0, 0\n 3, 2, 0, 0\n*Element, type=T3D2, elset=A\n 1, 1, 2\n*Element, type=T2D2, elset=B\n 2, 2, 3\n\
                *Element, type=B31, elset=C\n 3, 1, 3\n*Elset, elset=AC\n A, C\n*Solid Section, elset=AC, material=M\n 0.5,\n\
                *Solid Section, elset=B, material=NONE\n*Material, name=M\n*Elastic\n 8., 0.3\n*Density\n 3.\n";
    let options = ReadOptions { lines: true, ..ReadOptions::default() };
    let lines = |text: &str| read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).map(|deck| deck.lines);
    let found = lines(text).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<_> =
        found.properties.iter().map(|p| (p.name.as_str(), p.truss.clone().unwrap(), p.lines.clone())).collect();
    let truss = |material: &str, density, area, young| Truss { material: material.into(), density, area, young };
    assert_eq!(
        found,
        [("AC", truss("M", Some(3.), 0.5, Some(8.)), vec![0]), ("B", truss("NONE", None, 1., None), vec![1])]
    );
    let twice = text.replace("elset=B, material=NONE", "elset=A, material=M");
    assert!(lines(&twice).unwrap_err().to_string().contains("1 element of `A` already has a section"));
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
fn elements_with_repeated_nodes_are_the_simpler_ones() {
    // A wedge and a tetrahedron written as hexahedra, beside a hexahedron.
    let hexahedra = "9, 2, 0, 0\n10, 2, 0, 1\n11, 3, 0, 0\n*ELEMENT, TYPE=C3D8, ELSET=CUBE\n1, 1, 2, 3, 4, 5, 6, 7, 8\n\
                     2, 2, 9, 3, 3, 6, 10, 7, 7\n3, 9, 11, 3, 3, 10, 10, 10, 10\n4, 1, 4, 8, 5, 2, 3, 7, 6\n";
    let (head, tail) = CUBE.split_once("*ELEMENT, TYPE=C3D8R").unwrap();
    let text = format!("{head}{hexahedra}{}", tail.split_once("5, 6, 7, 8,\n").unwrap().1);
    let requests = "*Elset, elset=LAST\n3, 4, 2\n*Dload\n2, P3, 5\n3, P1, 6\nLAST, P2, 7\n3, P5, 8\n*Output, history\n\
                    *Element output, elset=LAST\nMISES\n";
    let deck = deck(&with(&text, requests));
    let note = "nodes are repeated: 1 C3D8 element is a C3D6F (element 2), 1 C3D8 element is a C3D4 (element 3); \
                stiffness and lumped mass are those of that kind";
    assert!(deck.notes.iter().any(|n| n.text == note), "{:?}", deck.notes);
    assert!(deck.notes.iter().any(|n| n.text.contains("face 5 has vanished")), "{:?}", deck.notes);
    let report = &deck.report.elements;
    assert_eq!((report.len(), report[0].name.as_str(), report[0].count), (1, "C3D8", 4));
    let model = deck.finish().unwrap_or_else(|e| panic!("{e}")).0;
    let groups: Vec<_> =
        model.mesh.groups.iter().map(|g| (g.kind, g.labels.as_slice(), g.connectivity.len())).collect();
    let expected: [(_, &[u32], _); 3] =
        [(ElementKind::C3d8, &[1, 4], 16), (ElementKind::C3d6f, &[2], 6), (ElementKind::C3d4, &[3], 4)];
    assert_eq!(groups, expected);
    assert_eq!(model.mesh.groups[1].connectivity, [1, 8, 2, 5, 9, 6]);
    assert_eq!(model.mesh.groups[2].connectivity, [8, 10, 2, 9]);
    let last = model.mesh.element_sets.iter().find(|set| set.name == "LAST").unwrap();
    assert_eq!(last.members, [3, 1, 2]);
    assert_eq!(model.setup.element_histories[0].elements, [3, 1, 2]);
    let faces = |i: usize| match &model.setup.loads[i].kind {
        LoadKind::Pressure { faces, elements } => (faces.clone(), elements.clone()),
        _ => panic!(),
    };
    let none = u32::MAX;
    // Faces have the numbers of the element as it is written; those that have vanished carry nothing.
    assert_eq!(faces(0), (vec![[1, 5, 9, 8]], vec![2]));
    assert_eq!(faces(1), (vec![[8, 10, 2, none]], vec![3]));
    assert_eq!(faces(2), (vec![[1, 5, 6, 2], [5, 6, 9, none]], vec![1, 2]));
    assert_eq!(faces(3), (vec![], vec![]));
    // The surface of all of them has neither the faces between them nor those that have vanished.
    let skin = with(&text, "*Surface, name=SKIN\n,\n*Dsload\nSKIN, P, 1\n").replace("4, 1, 4, 8, 5, 2, 3, 7, 6\n", "");
    let setup = self::model(&skin).setup;
    assert!(matches!(&setup.loads[0].kind, LoadKind::Pressure { faces, .. } if faces.len() == 5 + 4 + 4));
}

#[test]
fn quadrilaterals_with_a_repeated_node_are_triangles() {
    for (kind, simpler) in [
        ("CPE4", ElementKind::Cpe3),
        ("CPS4", ElementKind::Cps3),
        ("CPE4R", ElementKind::Cpe3),
        ("CPS4R", ElementKind::Cps3),
    ] {
        let text = SQUARE.replace("type=CPE3", &format!("type={kind}"));
        for second in ["1, 3, 4, 4", "1, 1, 3, 4", "1, 3, 3, 4", "1, 3, 4, 1"] {
            let text = text.replace(" 1, 1, 2, 3\n 2, 1, 3, 4\n", &format!(" 1, 1, 2, 3, 3\n 2, {second}\n"));
            let group = &model(&text).mesh.groups[0];
            assert_eq!((group.kind, group.connectivity.as_slice()), (simpler, &[0, 1, 2, 0, 2, 3][..]), "{second}");
        }
        let folded = text.replace(" 1, 1, 2, 3\n 2, 1, 3, 4\n", " 1, 1, 2, 1, 3\n 2, 1, 1, 3, 3\n");
        let error = refusal(&folded);
        for expected in
            ["deck.inp:7: error: element 1 has node 1 twice: write", "deck.inp:8: error: element 2 has node 1 twice"]
        {
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn pyramids_and_one_point_wedges_are_refused() {
    for (kind, nodes, expected) in [
        (
            "C3D8",
            "1, 2, 3, 4, 5, 5, 5, 5",
            "element 1 has node 5 twice: pyramids are not computed; write it as two C3D4",
        ),
        (
            "C3D8R",
            "1, 2, 3, 3, 5, 6, 7, 7",
            "element 1 has node 3 twice: a wedge has no exact one-point form; write it as C3D6",
        ),
        ("C3D8", "1, 2, 3, 3, 5, 6, 7, 8", "element 1 has node 3 twice: write it as a type with fewer nodes"),
        ("C3D6", "1, 2, 3, 1, 6, 7", "element 1 has node 1 twice: pyramids are not computed; write it as two C3D4"),
        ("C3D4", "1, 2, 3, 3", "element 1 has node 3 twice\n"),
    ] {
        let text = CUBE
            .replace("TYPE=C3D8R", &format!("TYPE={kind}"))
            .replace("1, 1, 2, 3, 4,\n5, 6, 7, 8,\n", &format!("1, {nodes}\n"));
        let error = refusal(&text) + "\n";
        assert!(error.contains(expected), "{expected} in\n{error}");
    }
}

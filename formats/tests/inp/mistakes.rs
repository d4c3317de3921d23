//! What is refused, and what the messages say.

use super::*;

#[test]
fn every_unsupported_keyword_is_listed_at_once() {
    let tail = "*Plastic\n 1, 0\n*Rate Dependent\n*Contact Pair, interaction=I\n a, b\n*Fastener, name=T\n*Friction\n0.1\n*Nonsense\n\
                *Step\n*Static\n*Temperature\n*End Step\n*Step\n*Static\n*End Step\n";
    let text = with(SQUARE, tail);
    let error = refusal(&text);
    for (line, what) in [
        (20, "*PLASTIC is not supported"),
        (22, "*RATE DEPENDENT is not supported"),
        (23, "*CONTACT PAIR is not supported: contact is not computed; --ignore CONTACT leaves it out"),
        (25, "*FASTENER is not supported"),
        (26, "*FRICTION is not supported"),
        (28, "*NONSENSE is not a known keyword"),
        (30, "this deck asks for *STATIC"),
        (31, "*TEMPERATURE is not supported"),
        (33, "a second *STEP"),
    ] {
        assert!(error.contains(&format!("deck.inp:{line}: error: {what}")), "{what} in\n{error}");
    }
    assert_eq!(error.lines().count(), 9, "{error}");
    let ignore = ["plastic", "contact", "FASTENER", "nonsense", "step"];
    let deck = try_read(&text, &ignore).unwrap_or_else(|e| panic!("{e}"));
    assert!(deck.step.is_none());
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
    let infinite = refusal(&with(SQUARE, &other.replace("S4R", "CINPE5R")));
    assert!(
        infinite.contains(
            "infinite elements are CINPE4, CINPS4 and CIN3D8; an [[absorbing]] table of a job takes waves away"
        ),
        "{infinite}"
    );
    assert!(!error.contains("absorbing"), "{error}");
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

#[test]
fn types_of_programs_that_know_meshes_alone_are_named_with_what_to_write() {
    for (name, nodes, expected) in [
        ("R3D3", "1, 2, 3", "R3D3 (CPE3 or CPS3 in its place)"),
        ("CAX4P", "1, 2, 3, 4", "CAX4P (CPE4 or CPS4 in its place)"),
        ("C3D8RH", "1, 2, 3, 4, 5, 6, 7, 8", "C3D8RH (C3D8 or C3D8R in its place)"),
        (
            "CPE8",
            "1, 2, 3, 4, 5, 6, 7, 8",
            "computed; mesh again with linear elements, or split these into linear ones with --split-second-order",
        ),
    ] {
        let nodes_of_mesh = CUBE.split_once("*ELEMENT").unwrap().0;
        let text = format!("{nodes_of_mesh}*ELEMENT, TYPE={name}\n1, {nodes}\n");
        let error = refusal(&text);
        assert!(error.contains("no element is of a type that is computed") && error.contains(expected), "{error}");
    }
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
        (
            " 1, 4\n",
            " 1, 4\n*Ngen\n1, 2\n",
            "*NGEN is not read: let the program that wrote the deck write out all nodes and elements",
        ),
        (
            "elset=PLATE, material",
            "elset=PLAT, material",
            "deck.inp:13: error: *SOLID SECTION: element set `PLAT` does not exist",
        ),
        (
            "material=steel",
            "material=iron",
            "material `iron` has no density and no stiffness (*DENSITY, *ELASTIC, or a job that defines it); no section uses `STEEL`",
        ),
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
    let twice = "*Step\n*Dynamic, Explicit\n, 1.\n*Dynamic, Explicit\n, 2.\n*End Step\n";
    assert!(refusal(&with(SQUARE, twice)).contains("deck.inp:23: error: a second *DYNAMIC, EXPLICIT in one step"));
    let turned = "*Surface, name=S\nPLATE,\n*Dsload, orientation=O\nS, TRVEC, 1., 1., 0.\n";
    assert!(refusal(&with(SQUARE, turned)).contains("*DSLOAD, ORIENTATION is not supported"));
    assert!(refusal(&with(SQUARE, "*Amplitude, name=A, shiftx=1\n0, 0, 1, 1\n")).contains("SHIFTX is not supported"));
    let skew = SQUARE.replace(" 3, 1.D0, 1\n", " 3, 1, 1, 0.5\n");
    assert!(refusal(&skew).contains("a 2D mesh must lie in a plane of constant z: node 3"));
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
    let amplitude =
        "*Amplitude, name=A\n1, 0, 0, 1\n*Step\n*Dynamic, Explicit\n, 1.\n*Cload, amplitude=A\n3, 1, 1.\n*End Step\n";
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
    let deck =
        deck(&with(SQUARE, "*Nset, nset=NONE\n*Step\n*Dynamic, Explicit\n, 1.\n*Cload\nNONE, 1, 1.\n*End Step\n"));
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
    write("19.inc".into(), "** nothing\n".to_owned());
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
        ("*Material, name=C\n*Damping, structural=0.1\n", "--ignore DAMPING", "DAMPING"),
    ];
    for (card, flag, name) in cases {
        let text = format!("{SQUARE}{card}");
        let error = refusal(&text);
        assert!(error.contains(flag), "{error}");
        assert!(try_read(&text, &[name]).is_ok(), "{name}");
    }
}

//! Decks that end too early, or that lack lines in their middle.

use super::*;

/// A plate in a part, with a step.
const WHOLE: &str = "\
*Part, name=P
*Node
 1, 0, 0
 2, 1, 0
 3, 0, 1
*Element, type=CPE3, elset=ALL
 1, 1, 2, 3
*Nset, nset=TIP
 2
*Solid Section, elset=ALL, material=STEEL
*End Part
*Assembly, name=A
*Instance, name=I, part=P
*End Instance
*End Assembly
*Material, name=STEEL
*Density
 7800.
*Elastic
 2.1e11, 0.3
*Step, name=S
*Dynamic, Explicit
, 1e-5
*Cload
 I.TIP, 1, 1.
*Output, history
*Node Output, nset=I.TIP
 U
*End Step
";

#[test]
fn a_deck_that_is_cut_inside_a_block_is_refused_where_the_block_begins() {
    assert!(deck(WHOLE).finish().is_ok());
    let lines: Vec<&str> = WHOLE.lines().collect();
    let line_of = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    for (begin, end, expected) in [
        ("*Part", "*End Part", "*PART, NAME=P has no *END PART: is the deck cut short?"),
        ("*Assembly", "*End Assembly", "*ASSEMBLY, NAME=A has no *END ASSEMBLY"),
        ("*Instance", "*End Instance", "*INSTANCE, NAME=I has no *END INSTANCE"),
        ("*Step", "*End Step", "*STEP, NAME=S has no *END STEP"),
    ] {
        let (first, last) = (line_of(begin), line_of(end));
        for kept in first + 1..=last {
            let error = refusal(&(lines[..kept].join("\n") + "\n"));
            assert!(error.contains(&format!("deck.inp:{}: error: {expected}", first + 1)), "{kept} lines: {error}");
        }
        // The line alone is missing.
        let without = [&lines[..last], &lines[last + 1..]].concat().join("\n") + "\n";
        let error = refusal(&without);
        assert!(error.contains(expected), "{error}");
        // The first line of the block alone is missing.
        let without = [&lines[..first], &lines[first + 1..]].concat().join("\n") + "\n";
        let error = refusal(&without);
        assert!(error.contains(&format!("{} without *", end.to_uppercase())), "{error}");
    }
    let options = ReadOptions { mesh_only: true, ..ReadOptions::default() };
    let cut = lines[..line_of("*Cload")].join("\n");
    assert!(read_bytes(Path::new("deck.inp"), cut.as_bytes(), &options).is_err());
}

#[test]
fn a_keyword_without_its_data_is_an_error_in_its_line() {
    let lines = SQUARE.lines().count();
    for (card, expected) in [
        ("*Node", "*NODE has no data lines"),
        ("*Element, type=CPE3", "*ELEMENT has no data lines"),
        ("*Cload", "*CLOAD has no data lines"),
        ("*Cload, op=mod", "*CLOAD has no data lines"),
        ("*Dload", "*DLOAD has no data lines"),
        ("*Dsload", "*DSLOAD has no data lines"),
        ("*Boundary, type=VELOCITY", "*BOUNDARY has no data lines"),
        ("*Surface, name=S", "*SURFACE has no data lines"),
        ("*Orientation, name=O", "*ORIENTATION has no data lines"),
        ("*Initial Conditions, type=VELOCITY", "*INITIAL CONDITIONS has no data lines"),
        ("*Amplitude, name=B", "amplitude `B` has no data"),
    ] {
        for after in ["", "** a comment\n", "\n\n", "*Amplitude, name=A\n0., 0., 1., 1.\n"] {
            let error = refusal(&format!("{SQUARE}{card}\n{after}"));
            assert!(error.contains(&format!("deck.inp:{}: error: {expected}", lines + 1)), "{card}: {error}");
        }
    }
    // Those may stand without data.
    for card in ["*Cload, op=NEW", "*Boundary, op=new", "*Bulk Viscosity", "*Heading", "*Restart, write, frequency=0"] {
        assert!(try_read(&format!("{SQUARE}{card}\n"), &[]).is_ok(), "{card}");
    }
    let empty = deck(&with(SQUARE, "*Elset, elset=NONE\n"));
    let text = "*ELSET has no data lines: the set is empty";
    assert!(empty.notes.iter().any(|n| n.is_warning && n.text == text), "{:?}", empty.notes);
}

#[test]
fn data_lines_of_a_keyword_that_takes_none_belong_to_one_that_is_missing() {
    let error = refusal(&SQUARE.replace("*Density\n", ""));
    assert!(
        error.contains("deck.inp:16: error: *MATERIAL takes no data lines: is the keyword of this line"),
        "{error}"
    );
    let error = refusal(&WHOLE.replace("*Cload\n", "").replace(", 1e-5\n", ", 1e-5\n*Output, history\n"));
    assert!(error.contains("deck.inp:25: error: *OUTPUT takes no data lines"), "{error}");
}

#[test]
fn elements_without_a_section_are_refused_unless_they_are_left_out_on_request() {
    let text = SQUARE.replace("elset=PLATE, material", "elset=SECOND, material");
    let error = refusal(&text);
    let expected = "deck.inp:7: error: elements without a section: CPE3 (1): give them a *SOLID SECTION or a job's \
                    [[section]], or --ignore NO-SECTION leaves them out";
    assert!(error.contains(expected), "{error}");
    for word in ["NO-SECTION", "no section", "nosection"] {
        let (model, notes) = try_read(&text, &[word]).unwrap().finish().unwrap();
        assert_eq!(model.mesh.n_elements(), 1);
        let left = notes.iter().find(|n| n.text.contains("elements left out, as no section names them: CPE3 (1)"));
        assert!(left.unwrap().is_warning);
    }
    let (_, notes) = try_read(SQUARE, &["NO-SECTION"]).unwrap().finish().unwrap();
    assert!(notes.iter().any(|n| n.is_warning && n.text == "--ignore NO-SECTION: nothing in the deck needs it"));
    // Types that are not computed are no better.
    let other = with(SQUARE, "*Element, type=CPE8\n 9, 1, 2, 3, 4, 1, 2, 3, 4\n");
    let error = refusal(&other);
    assert!(error.contains("deck.inp:20: error: element types that are not computed: CPE8 (1); mesh again"), "{error}");
    let (_, notes) = try_read(&other, &["NO-SECTION"]).unwrap().finish().unwrap();
    assert!(notes.iter().any(|n| n.is_warning && n.text.ends_with("no section names them: CPE8 (1)")), "{notes:?}");
    // Lines along an edge are no part of the body.
    let (_, notes) = deck(&with(SQUARE, "*Element, type=T3D2\n 9, 1, 2\n")).finish().unwrap();
    assert!(notes.iter().all(|n| !n.is_warning), "{notes:?}");
}

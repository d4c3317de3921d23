//! What is said of parameters and fields without effect, of units, and what the user can do about a refusal.

use super::*;

/// Notes and warnings of a deck.
fn said(text: &str) -> Vec<String> {
    let (_, notes) = deck(text).finish().unwrap_or_else(|e| panic!("{e}"));
    notes.iter().map(ToString::to_string).collect()
}

#[test]
fn parameters_that_change_nothing_are_named() {
    let step = "*Step, inc=1000, unsymm=YES\n*Dynamic, Explicit, element by element\n, 1e-5\n*Cload, op=NEW\n3, 1, 1.\n\
                *Dload, ref node=1\nPLATE, P1, 2.\n*Output, history, filter=F, op=NEW\n*Node Output, nset=LEFT\nU\n*End Step\n";
    let head = SQUARE
        .replace("material=steel", "material=steel, controls=EC")
        .replace("*Density", "*Damping, alpha=1., composite=0.1\n*Density");
    let controls = "*Section Controls, name=EC, kinematic split=ORTHOGONAL, second order accuracy=YES, \
                    distortion control=YES\n1., 1.\n";
    let all = said(&format!("{head}{controls}{step}")).join("\n");
    for expected in [
        "*STEP, INC; *STEP, UNSYMM; *CLOAD, OP; *OUTPUT, OP",
        "*SECTION CONTROLS, KINEMATIC SPLIT=ORTHOGONAL is without effect: one-point hexahedra take the mean gradient",
        "*SECTION CONTROLS, SECOND ORDER ACCURACY=YES is without effect: strains and rotations are small",
        "*SECTION CONTROLS, DISTORTION CONTROL=YES is without effect",
        "*SECTION CONTROLS: what stands behind the first field (`1.`) is without effect",
        "*OUTPUT, FILTER=F is without effect: histories and fields are written unfiltered",
        "*DAMPING, COMPOSITE=0.1 is without effect: it is of modal analyses",
        "*DYNAMIC, ELEMENT BY ELEMENT is without effect",
        "*DLOAD, REF NODE=1 is without effect: it is for viscous, stagnation and wave pressures",
    ] {
        assert!(all.contains(expected), "{expected} in\n{all}");
    }
}

#[test]
fn fields_that_change_nothing_are_named() {
    for (change, with, expected) in [
        (
            " 7800.,\n",
            " 7800., 20.\n",
            ":17: note: *DENSITY: what stands behind the first field (`20.`) is without effect",
        ),
        (
            " 2.1e11, 0.3\n",
            " 2.1e11, 0.3, 20.\n",
            ":18: note: *ELASTIC, TYPE=ISOTROPIC: the field behind its 2 constants (20)",
        ),
        (
            " 3, 1.D0, 1\n",
            " 3, 1.D0, 1, 0., 0., 1.\n",
            ":4: note: *NODE: what stands behind the coordinates is without effect",
        ),
        (" ,\n", " 1., 5.\n", ":14: note: *SOLID SECTION: what stands behind the first field (`5.`) is without effect"),
    ] {
        assert!(SQUARE.contains(change), "{change}");
        let all = said(&SQUARE.replacen(change, with, 1)).join("\n");
        assert!(all.contains(expected), "{expected} in\n{all}");
    }
    let all = said(&with(SQUARE, "*Dload\nPLATE, P1, 2., 7.\n")).join("\n");
    assert!(
        all.contains("deck.inp:21: note: what stands behind the first 3 fields of this load is without effect"),
        "{all}"
    );
}

#[test]
fn parameters_that_would_change_the_model_are_refused() {
    for (card, expected) in [
        (
            "*Restart, read, step=1\n",
            "*RESTART, READ is not supported: a run cannot begin with the state of an earlier one",
        ),
        ("*Cload, follower\n3, 1, 1.\n", "*CLOAD, FOLLOWER is not supported: loads keep their direction"),
        (
            "*Amplitude, name=A, user, variables=2\n",
            "*AMPLITUDE, USER is not supported: a user subroutine gives its values",
        ),
        ("*Cload, omega0=3.\n3, 1, 1.\n", "*CLOAD, OMEGA0 is not supported"),
    ] {
        let error = refusal(&with(SQUARE, card));
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let read = with(SQUARE, "*Restart, read, step=1\n");
    assert!(try_read(&read, &["RESTART"]).is_ok());
    assert!(said(&with(SQUARE, "*Restart, write, frequency=1\n*Cload, follower=NO\n3, 1, 1.\n")).len() == 1);
}

#[test]
fn loads_and_components_that_are_not_computed_are_called_by_their_names() {
    for (card, expected) in [
        (
            "*Boundary\n3, 0, 0, 5.\n",
            "degree of freedom 0 is a temperature, which is not computed; --ignore TEMPERATURE",
        ),
        ("*Boundary\n3, 8, 8, 5.\n", "degree of freedom 8 is a pressure, which is not computed; --ignore BOUNDARY"),
        ("*Boundary\n3, 3, 1\n", "degrees of freedom 3 to 1: the last is below the first"),
        ("*Dload\nPLATE, CENTRIF, 1., 0., 0., 0., 0., 0., 1.\n", "`CENTRIF` (a body that turns) is not supported"),
        (
            "*Fluid Section, elset=PLATE, type=PIPE\n1.\n",
            "*FLUID SECTION is not supported: fluids and networks of pipes",
        ),
        ("*Solid Sektion, elset=PLATE\n", "(did you mean *SOLID SECTION?)"),
        ("*Step, nlgeon\n*End Step\n", "did you mean NLGEOM?"),
    ] {
        let error = refusal(&with(SQUARE, card));
        assert!(error.contains(expected), "{expected} in\n{error}");
    }
    let flow = said(&with(SQUARE, "*Step, incf=100\n*Dynamic, Explicit\n, 1e-5\n*End Step\n")).join("\n");
    assert!(flow.contains("without effect here: *STEP, INCF"), "{flow}");
}

/// All reasons of a refused deck for explicit dynamics, read with a job or without.
fn reasons(text: &str, options: &ReadOptions) -> String {
    let error = read_bytes(Path::new("deck.inp"), text.as_bytes(), options).unwrap_err();
    error.with_missing(options, false).to_string()
}

#[test]
fn all_reasons_are_said_in_one_round_and_what_they_propose_leads_to_a_model() {
    let quadratic =
        "*Element, type=CPE8, elset=BENT\n 9, 1, 2, 3, 4, 1, 2, 3, 4\n*Solid Section, elset=BENT, material=steel\n";
    let step = "*Step\n*Static\n 1., 1.\n*Cload\n3, 1, 1.\n*End Step\n*Step\n*Frequency\n 3\n*End Step\n";
    let text = format!("{}{quadratic}{step}", SQUARE.replace("*Density\n 7800.,\n", ""));
    let mut options = ReadOptions { require_step: true, ..ReadOptions::default() };
    let error = reasons(&text, &options);
    for expected in [
        "CPE8 (1 element, line 18); mesh again with linear elements, or split these into linear ones with --split-second-order; --ignore CPE8 leaves these out",
        "this deck asks for *STATIC: only *DYNAMIC, EXPLICIT is computed; a job with `[solver]` and `time` (--job FILE)",
        "--ignore LATER-STEPS leaves out all but the first",
        "material `STEEL` has no density (*DENSITY); in a job it is a [[material]]",
    ] {
        assert!(error.contains(expected), "{expected} in\n{error}");
    }
    assert_eq!(error.lines().count(), 4, "{error}");
    assert!(!error.contains("--ignore STATIC") && !error.contains("TYPE leaves"), "{error}");
    options.ignore = vec!["CPE8".into(), "LATER-STEPS".into()];
    (options.require_step, options.job_sets_time) = (false, true);
    let text = text.replace("*Elastic", "*Density\n 7800.\n*Elastic");
    let deck = read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}"));
    let (model, _) = deck.finish().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((model.mesh.n_elements(), model.setup.loads.len()), (2, 1));
}

#[test]
fn what_cannot_be_computed_is_said_to_be_so_without_a_flag_that_leads_nowhere() {
    let options = ReadOptions { require_step: true, ..ReadOptions::default() };
    let shells = format!(
        "{}*Shell Section, elset=PLATE, material=steel\n 1.\n",
        SQUARE.replace("CPE3", "S3").replace("*Solid Section, elset=PLATE, material=steel\n ,\n", "")
    );
    let error = reasons(&shells, &options);
    assert!(
        error.contains("shells and membranes cannot be computed here") && error.contains("no other element"),
        "{error}"
    );
    assert!(!error.contains("--ignore"), "{error}");
    let heat = with(SQUARE, "*Step\n*Heat Transfer, steady state\n*End Step\n");
    assert!(reasons(&heat, &options).contains("*HEAT TRANSFER: heat, fluids and fields cannot be computed here"));
}

#[test]
fn numbers_of_no_system_of_units_are_one_warning() {
    let odd = |density: &str, young: &str| {
        let text = SQUARE.replace("7800.,", density).replace("2.1e11", young);
        let found: Vec<String> = said(&text).into_iter().filter(|n| n.contains("system of units")).collect();
        assert!(found.len() < 2, "{found:?}");
        found.into_iter().next()
    };
    // SI, mm and tonne, mm and kg and ms, mm and g and ms: steel; rubber; foam.
    for (density, young) in [
        ("7800.", "2.1e11"),
        ("7.8e-9", "2.1e5"),
        ("7.8e-6", "210."),
        ("7.8e-3", "2.1e5"),
        ("1100.", "1e6"),
        ("30.", "1e5"),
        ("3e-11", "0.1"),
    ] {
        assert_eq!(odd(density, young), None, "{density}, {young}");
    }
    for (density, young) in
        [("7800.", "1e-9"), ("1e20", "2.1e11"), ("7.8e-9", "2.1e11"), ("7800.", "2.1e20"), ("1e-20", "1e-9")]
    {
        let text = odd(density, young).unwrap_or_else(|| panic!("{density}, {young}"));
        assert!(
            text.contains("warning: ") && text.contains("`STEEL` (density ") && text.contains("tonne, s, MPa"),
            "{text}"
        );
    }
}

#[test]
fn what_single_precision_cannot_hold_is_refused() {
    for (density, young, expected) in [
        ("1e40", "2.1e11", "section `PLATE`: an element has the mass 5.000e39: single precision cannot hold it"),
        ("1e-44", "2.1e11", "an element has the mass "),
        ("7800.", "1e100", "an element has the time "),
        ("1e200", "1e-200", "an element has the mass "),
        ("1e-30", "1e39", "an element has the stiffness "),
    ] {
        let error = refusal(&SQUARE.replace("7800.,", density).replace("2.1e11", young));
        assert!(error.contains(expected), "{error}");
    }
}

//! Linear constraints as rows.

use super::*;
use pogo_formats::dynamics::{BoundaryKind, LinearConstraints, LinearTerm};

/// Terms of the rows: node or massless unknown, component (−1: massless) and coefficient.
fn rows(linear: &LinearConstraints) -> Vec<Vec<(u32, i32, f64)>> {
    let component = |term: &LinearTerm| if term.is_massless() { -1 } else { i32::from(term.component) };
    let of = |row: &[LinearTerm]| row.iter().map(|term| (term.node, component(term), term.coefficient)).collect();
    linear.rows().map(of).collect()
}

#[test]
fn equations_pair_sets_by_label_and_lose_rows_that_bind_nothing() {
    let tail = "*Node\n 9, 3., 3.\n*Nset, nset=DOWN, unsorted\n 2, 1\n*Nset, nset=UP\n 4, 3\n\
                *Equation\n 3\n UP, 1, 1., DOWN, 1, -1.\n 9, 1, 0.5\n 2\n 1, 2, 1., 9, 2, -1.\n*Mpc\n TIE, 1, 3\n";
    let setup = model(&with(SQUARE, tail)).setup;
    // Labels 3 and 4 with 2 and 1; what 9 does along 2 is nothing else's business.
    let expected = [
        vec![(1, 0, -1.), (2, 0, 1.), (0, -1, 0.5)],
        vec![(0, 0, -1.), (3, 0, 1.), (0, -1, 0.5)],
        vec![(0, 0, 1.), (2, 0, -1.)],
        vec![(0, 1, 1.), (2, 1, -1.)],
    ];
    assert_eq!(rows(&setup.linear), expected);
    assert_eq!(setup.linear.massless, ["9.1"]);
    assert_eq!((setup.linear.name(0), setup.linear.name(2)), ("*EQUATION", "*MPC, TIE"));
}

#[test]
fn reference_nodes_take_loads_and_supports_as_massless_unknowns() {
    let tail = "*Node\n 9, 0.5, 2.\n*Rigid Body, ref node=9, elset=SECOND\n*Boundary, type=VELOCITY\n 9, 6, 6, 0.1\n\
                *Cload\n 9, 1, 5.\n 9, 2, 6.\n";
    let setup = model(&with(SQUARE, tail)).setup;
    let linear = &setup.linear;
    // u_1 = z_1 − θ (y − y_r), u_2 = z_2 + θ (x − x_r) of three nodes.
    assert_eq!(rows(linear)[0], [(0, 0, 1.), (0, -1, -1.), (1, -1, -2.)]);
    assert_eq!(rows(linear)[1], [(0, 1, 1.), (2, -1, -1.), (1, -1, 0.5)]);
    assert_eq!((linear.n_rows(), linear.massless.as_slice()), (6, ["9.1", "9.6", "9.2"].map(String::from).as_slice()));
    let held = &linear.prescribed[0];
    assert_eq!((held.nodes.as_slice(), held.kind, held.value), ([1].as_slice(), BoundaryKind::Velocity, 0.1));
    let loads: Vec<(&str, f64)> = linear.loads.iter().map(|load| (load.name.as_str(), load.magnitude)).collect();
    assert_eq!(loads, [("9.1", 5.), ("9.2", 6.)]);
    assert!(setup.loads.is_empty() && setup.boundaries.is_empty());
}

#[test]
fn a_tie_follows_the_foot_points_within_its_tolerance() {
    // Two more triangles to the right, a little apart and shifted upward by a quarter.
    let tail = "*Node\n 11, 1.01, 0.25\n 12, 2., 0.25\n 13, 1.01, 1.75\n*Element, type=CPE3, elset=PLATE\n 11, 11, 12, 13\n\
                *Surface, name=A\n PLATE_11, S3\n*Surface, name=B\n PLATE_1, S2\n*Elset, elset=PLATE_11\n 11\n*Elset, elset=PLATE_1\n 1\n";
    let found = |tie: &str| {
        let (model, notes) = deck(&with(SQUARE, &(tail.to_owned() + tie))).finish().unwrap();
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        (rows(&model.setup.linear), notes.join("\n"))
    };
    let (rows, notes) = found("*Tie, name=T\nA, B\n");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], [(1, 0, -0.75), (2, 0, -0.25), (4, 0, 1.)]);
    assert!(notes.contains("*TIE `T`: 1 node farther than 5.000e-2 from the other surface: not tied"), "{notes}");
    assert!(notes.contains("*TIE `T`: no node is moved onto the other surface; gaps are up to 1.000e-2"), "{notes}");
    // Everything within 1: the other node follows the corner.
    let (rows, notes) = found("*Tie, name=T, position tolerance=1.\nA, B\n");
    assert_eq!(rows[2], [(2, 0, -1.), (6, 0, 1.)]);
    assert!(notes.contains("2 nodes are tied") && !notes.contains("not tied"), "{notes}");
}

#[test]
fn own_axes_turn_conditions_and_loads() {
    let tail =
        "*Transform, nset=LEFT\n 0., 1., 0., -1., 0., 0.\n*Boundary\n LEFT, 1, 1\n 2, 1, 1\n*Cload\n LEFT, 2, 3.\n";
    let setup = model(&with(SQUARE, tail)).setup;
    // The first own axis is y, the second −x.
    assert_eq!(rows(&setup.linear), [vec![(0, 1, 1.), (0, -1, -1.)], vec![(3, 1, 1.), (1, -1, -1.)]]);
    assert_eq!((setup.linear.prescribed[0].nodes.as_slice(), setup.boundaries.len()), ([0, 1].as_slice(), 1));
    let pogo_formats::dynamics::LoadKind::Concentrated { direction, .. } = &setup.loads[0].kind else { panic!() };
    assert_eq!((*direction, setup.loads[0].magnitude), ([-1., 0., 0.], 3.));
}

#[test]
fn springs_have_no_linear_constraints() {
    let options = ReadOptions { lines: true, ..ReadOptions::default() };
    let text = with(SQUARE, "*Equation\n 2\n 1, 1, 1., 2, 1, -1.\n");
    let error = read_bytes(Path::new("deck.inp"), text.as_bytes(), &options).unwrap_err().to_string();
    let why = "*EQUATION is not supported: linear constraints are of explicit elastodynamics";
    assert!(error.contains(why) && error.contains("--ignore EQUATION leaves it out"), "{error}");
}

#[test]
fn constraints_of_a_fluid_are_of_its_pressure() {
    let fluid = SQUARE.replace("CPE3", "AC2D3").replace("*Elastic\n 2.1e11, 0.3", "*Acoustic Medium\n 2.2e9,");
    let error = refusal(&with(&fluid, "*Equation\n 2\n 1, 1, 1., 2, 1, -1.\n"));
    assert!(
        error.contains(
            "*EQUATION names a displacement of node 1 of a fluid, which has a pressure alone: write degree of freedom 8"
        ),
        "{error}"
    );
    let joined = model(&with(&fluid, "*Equation\n 2\n 1, 8, 1., 2, 8, -0.5\n*Mpc\n TIE, 3, 4\n")).setup.linear;
    let p = i32::from(LinearTerm::PRESSURE);
    assert_eq!(rows(&joined), [vec![(0, p, 1.), (1, p, -0.5)], vec![(2, p, 1.), (3, p, -1.)]]);
    // Beside a fluid they may be.
    let rows = "*Equation\n 2\n 5, 1, 1., 8, 1, -1.\n";
    let (model, _) = deck(&(WATER_BESIDE_STEEL.to_owned() + rows + RUN)).finish().unwrap();
    assert_eq!(model.setup.linear.n_rows(), 1);
}

/// One face of water beside two of steel, a little apart.
const WATER_BESIDE_STEEL: &str = "*Node\n 1, 0., 0.\n 2, 1., 0.\n 3, 1., 2.\n 4, 0., 2.\n 5, 1.001, 0.\n 6, 2., 0.\n 7, 2., 1.\n 8, 1.001, 1.\n 9, 2., 2.\n \
     10, 1.001, 2.\n*Element, type=CPE4, elset=F\n 1, 1, 2, 3, 4\n*Element, type=CPE4, elset=S\n 2, 5, 6, 7, 8\n 3, 8, 7, 9, 10\n\
     *Material, name=W\n*Density\n1000.,\n*Acoustic Medium, bulk modulus\n2.2e9,\n*Material, name=M\n*Density\n7800.,\n\
     *Elastic\n2.1e11, 0.3\n*Solid Section, elset=F, material=W\n,\n*Solid Section, elset=S, material=M\n,\n\
     *Surface, name=WET\n F, S2\n*Surface, name=DRY\n S, S4\n*Nset, nset=DRYNODES\n 5, 8, 10\n*Nset, nset=LOW\n 5, 8\n\
     *Surface, name=DRYPOINTS, type=NODE\n DRYNODES,\n";
const RUN: &str = "*Step\n*Dynamic, Explicit\n, 1.\n*End Step\n";

#[test]
fn a_tie_of_a_fluid_shares_its_faces_with_nodes_of_the_solid() {
    let found = |tie: &str| {
        let (model, notes) = deck(&(WATER_BESIDE_STEEL.to_owned() + tie + RUN)).finish().unwrap();
        assert!(model.setup.linear.is_empty());
        let ties = model.setup.interface.ties;
        let shares = ties.shares.iter().map(|share| {
            assert_eq!((ties.elements.as_slice(), share.face), ([2].as_slice(), 0));
            let fluid = ties.faces[0][share.corner as usize];
            (fluid, share.solid, share.weight)
        });
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        (shares.collect::<Vec<_>>(), notes.join("\n"))
    };
    let (shares, notes) = found("*Tie, name=T\nWET, DRY\n");
    // ∫ (1 − y/2) N dy from 0 to 2.
    let expected = [(1, 4, 5.), (1, 7, 6.), (1, 9, 1.), (2, 4, 1.), (2, 7, 6.), (2, 9, 5.)];
    assert_eq!(shares.len(), expected.len());
    for (found, expected) in shares.iter().zip(expected) {
        assert!(
            (found.0, found.1) == (expected.0, expected.1) && (12. * found.2 - expected.2).abs() < 1e-13,
            "{found:?}"
        );
    }
    assert!(
        notes.contains("*TIE `T`: a fluid is tied to a solid: 1 face to 3 nodes, 100.0 % of the fluid's surface"),
        "{notes}"
    );
    // The order of the surfaces, and whether one is of nodes, change nothing.
    for tie in [
        "*Tie, name=T\nDRY, WET\n",
        "*Tie, name=T\nDRYPOINTS, WET\n",
        "*Tie, name=T, position tolerance=0.01, type=surface to surface\nWET, DRYPOINTS\n",
    ] {
        assert_eq!(found(tie).0, shares, "{tie}");
    }
    let (half, notes) = found("*Tie, name=T, tied nset=LOW\nDRY, WET\n");
    let sum = |fluid: u32| half.iter().filter(|share| share.0 == fluid).map(|share| share.2).sum::<f64>();
    assert!(
        (sum(1) - 0.75).abs() < 1e-14 && (sum(2) - 0.25).abs() < 1e-14 && notes.contains("50.0 %"),
        "{half:?} {notes}"
    );
}

#[test]
fn ties_of_fluids_that_join_nothing_are_told() {
    let refused = |tie: &str| {
        let error = deck(&(WATER_BESIDE_STEEL.to_owned() + tie + RUN)).finish().unwrap_err();
        error.to_string()
    };
    let above = "*Surface, name=ABOVE\n F, S3\n*Surface, name=BOTH\n F, S2\n S, S4\n";
    for (tie, expected) in [
        (
            "*Tie, name=T, position tolerance=9.\nBOTH, ABOVE\n",
            "*TIE `T`: one surface has faces of a fluid and of a solid",
        ),
        ("*Tie, name=T\nWET, DRY\n*Tie, name=U\nDRY, WET\n", "*TIE `U`: a face of the fluid is tied twice"),
        ("*Tie, name=T, position tolerance=9.\nABOVE, DRY\n", "*TIE `T`: no face of the solid lies near enough"),
        ("*Equation\n 2\n 1, 1, 1., 8, 1, -1.\n", "*EQUATION names a displacement of node 1 of a fluid"),
    ] {
        let said = refused(&(above.to_owned() + tie));
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

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
fn fluids_and_constraints_are_refused_together() {
    let fluid = SQUARE.replace("CPE3", "AC2D3").replace("*Elastic\n 2.1e11, 0.3", "*Acoustic Medium\n 2.2e9,");
    let error = refusal(&with(&fluid, "*Equation\n 2\n 1, 1, 1., 2, 1, -1.\n"));
    assert!(error.contains("*EQUATION: linear constraints are computed in models of solids alone"), "{error}");
}

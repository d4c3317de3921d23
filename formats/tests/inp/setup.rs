//! Materials, loads, supports, amplitudes and output requests.

use super::*;

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
    assert_eq!(
        (setup.histories[1].set.as_str(), &setup.histories[1].interval),
        ("ALL", &OutputInterval::Increments(3))
    );
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
    assert_eq!((histories[0].set.as_str(), &histories[0].interval), ("PLATE", &OutputInterval::Increments(2)));
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
    let damped = model(&SQUARE.replace("*Elastic\n", "*Damping, beta=2.E-9, alpha=3\n*Elastic\n"));
    let material = &damped.setup.materials[0];
    assert_eq!([material.damping_alpha, material.damping_beta], [3., 2e-9]);
    assert!(
        refusal(&SQUARE.replace("*Elastic\n", "*Damping, beta=-1\n*Elastic\n"))
            .contains("deck.inp:18: error: *DAMPING, BETA=-1 feeds energy in")
    );
}

/// Numbers that are left out at the end of a data line are 0.
#[test]
fn an_omitted_poissons_ratio_is_zero() {
    for line in ["2.1e11\n", "2.1e11,\n", "2.1e11, 0.\n", "2.1e11, , 20.\n"] {
        let deck = deck(&SQUARE.replace("2.1e11, 0.3\n", line));
        assert_eq!(deck.materials[0].elasticity, Some(Elasticity::Isotropic { young: 2.1e11, poisson: 0. }), "{line}");
        let noted = deck.notes.iter().any(|n| n.text == "*ELASTIC has no Poisson's ratio: ν = 0");
        assert_eq!(noted, !line.contains("0."), "{line}");
    }
    assert!(refusal(&SQUARE.replace("2.1e11, 0.3\n", "")).contains("needs 2 constants and has 0"));
}

#[test]
fn all_variables_are_those_that_there_are() {
    let request = |variable: &str| {
        let tail = format!(
            "*Output, history\n*Node Output, nset=LEFT, variable={variable}\n*Element Output, elset=PLATE, variable={variable}\n\
             *Output, field\n*Node Output, variable={variable}\n*Element Output, variable={variable}\n\
             *Output, field, variable={variable}\n"
        );
        let setup = model(&with(SQUARE, &tail)).setup;
        let counts = (setup.histories[0].variables.len(), setup.element_histories[0].variables.len());
        (counts, setup.fields[0].quantities.clone(), setup.fields[1].quantities.clone())
    };
    let (counts, fields, whole) = request("ALL");
    assert_eq!((counts, fields.len(), whole), ((8, 10), 6, fields));
    let (counts, fields, whole) = request("PRESELECT");
    let preselected = vec![FieldQuantity::Displacement, FieldQuantity::Velocity, FieldQuantity::Stress];
    assert_eq!((counts, fields, whole), ((4, 4), preselected.clone(), preselected));
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
    let velocity = &deck.initial_velocities[0];
    assert_eq!((velocity.name.as_str(), velocity.component, velocity.value), ("LEFT.1", 0, -2.));
    assert_eq!(deck.boundaries[0].value, 0.1);
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

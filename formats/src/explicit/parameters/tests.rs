use proptest::prelude::*;

use crate::dynamics::*;
use crate::explicit::*;
use crate::parameters::{ParameterError, Value, list, parse_assignment, set};

fn setup() -> Setup {
    let material = |name, elasticity| Material::new(name, 7800.0, elasticity);
    let load = |name: &str, kind| Load { name: name.into(), kind, magnitude: 1.0, amplitude: Some(0) };
    let history =
        |interval| HistoryRequest { set: "tip".into(), nodes: vec![], variables: vec![], weights: vec![], interval };
    let layer =
        |name: &str, profile| AbsorbingLayer { name: name.into(), elements: vec![], depth_fraction: vec![], profile };
    let direction = [1.0, 0.0, 0.0];
    Setup {
        materials: vec![
            material("Steel", Elasticity::Isotropic { young: 2.1e11, poisson: 0.3 }),
            material("my weld", Elasticity::EngineeringConstants([1e11, 1e11, 1e11, 0.3, 0.3, 0.3, 4e10, 4e10, 4e10])),
            material("ortho", Elasticity::Orthotropic([2e11, 1e11, 2e11, 1e11, 1e11, 2e11, 8e10, 8e10, 8e10])),
        ],
        sections: vec![Section::new("PLATE-1.HOT", 0), Section::new("all", 1)],
        amplitudes: vec![
            Amplitude::new("burst", AmplitudeShape::ToneBurst { window: Window::Hann, frequency: 1e6, cycles: 5.0 }),
            Amplitude::new("ricker", AmplitudeShape::Ricker { frequency: 1e6, peak_time: 1e-6 }),
            Amplitude::new("pulse", AmplitudeShape::GaussianPulse { rate: 1e3, peak_time: 0.25 }),
            Amplitude::new(
                "hum",
                AmplitudeShape::Periodic { omega: 314.0, start: 0.0, constant: 0.0, terms: vec![[1.0, 0.0]] },
            ),
        ],
        loads: vec![
            load("push", LoadKind::Concentrated { nodes: vec![], weights: vec![], direction }),
            load("pressure", LoadKind::Pressure { faces: vec![], elements: vec![] }),
        ],
        boundaries: vec![Boundary {
            name: "fix.1".into(),
            nodes: vec![],
            component: 0,
            kind: BoundaryKind::Velocity,
            value: 0.0,
            amplitude: None,
        }],
        initial_velocities: vec![InitialVelocity { name: "fly".into(), nodes: vec![], component: 0, value: 3.0 }],
        absorbing_layers: vec![
            layer("side", AbsorbingProfile::Damping { d_max: 1e6, exponent: 3.0 }),
            layer("end", AbsorbingProfile::StiffnessReduction { frequency: 1e6, wave_speed: 5e3, thickness: 0.01 }),
        ],
        histories: vec![history(OutputInterval::Time(1e-7)), history(OutputInterval::Increments(2))],
        fields: vec![FieldRequest { quantities: vec![], interval: OutputInterval::Count(20) }],
        explicit: ExplicitSettings {
            time: 1e-5,
            increment: Increment::Automatic { factor: 0.8 },
            ..ExplicitSettings::default()
        },
        ..Setup::default()
    }
}

fn get(setup: &Setup, name: &str) -> Value {
    list(setup).into_iter().find(|parameter| parameter.name == name).unwrap_or_else(|| panic!("{name}")).value
}

#[test]
fn all_names() {
    let setup = setup();
    let lines: Vec<String> =
        list(&setup).iter().map(|p| format!("{} = {} {} | {}", p.name, p.value, p.unit, p.help)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_parameter_can_be_set_to_what_it_is() {
    let before = setup();
    for parameter in list(&before) {
        let mut after = before.clone();
        if parameter.name != "history.tip.interval" {
            set(&mut after, &parameter.name, &parameter.value.to_string()).unwrap();
            assert_eq!(after, before, "{}", parameter.name);
        }
    }
}

#[test]
fn every_number_can_be_changed() {
    for parameter in list(&setup()) {
        let Value::Number(value) = parameter.value else { continue };
        let mut changed = setup();
        // Small enough for Poisson's ratios, fractions and positive definite stiffnesses; whole for counts.
        let value = if parameter.name.ends_with("interval") { 7.0 } else { value * 0.99 + 0.001 };
        set(&mut changed, &parameter.name, &Value::Number(value).to_string()).unwrap();
        let Value::Number(now) = get(&changed, &parameter.name) else { panic!() };
        assert!((now - value).abs() <= 1e-12 * value.abs(), "{}: {now} {value}", parameter.name);
        let others = |setup: &Setup| list(setup).into_iter().filter(|p| p.name != parameter.name).collect::<Vec<_>>();
        assert_eq!(others(&changed), others(&setup()), "{}", parameter.name);
    }
}

#[test]
fn names_in_any_case_quoted_and_with_dots() {
    let mut setup = setup();
    for (name, value) in [
        ("MATERIAL.steel.Young", "1.9e11"),
        ("material.\"my weld\".density", "8000"),
        (" material . 'My Weld' . e1 ", "1.1e11"),
        ("section.plate-1.hot.thickness", "2"),
        ("section.\"PLATE-1.HOT\".material", "my weld"),
        ("boundary.fix.1.amplitude", "RICKER"),
        ("amplitude.burst.window", "Gaussian"),
        ("load.push.direction.2", "-1"),
        ("load.push.amplitude", "none"),
        ("solver.lumping", "HRZ"),
        ("section.all.angle", "90"),
        ("history.tip.interval", "10 increments"),
        ("field.1.interval", "1e-6 s"),
    ] {
        set(&mut setup, name, value).unwrap();
    }
    assert_eq!(setup.materials[0].elasticity, Elasticity::Isotropic { young: 1.9e11, poisson: 0.3 });
    assert_eq!((setup.materials[1].density, setup.sections[0].thickness, setup.sections[0].material), (8000.0, 2.0, 1));
    assert_eq!((setup.boundaries[0].amplitude, setup.loads[0].amplitude), (Some(1), None));
    assert_eq!(setup.explicit.lumping, Lumping::Hrz);
    assert!((setup.sections[1].material_from_global[1] - 1.0).abs() < 1e-15);
    assert!(setup.histories.iter().all(|history| history.interval == OutputInterval::Increments(10)));
    assert_eq!(setup.fields[0].interval, OutputInterval::Time(1e-6));
}

#[test]
fn the_increment_is_seconds_or_automatic() {
    let mut setup = setup();
    set(&mut setup, "solver.increment", "2e-8").unwrap();
    assert_eq!(setup.explicit.increment, Increment::Fixed(2e-8));
    assert!(list(&setup).iter().all(|parameter| parameter.name != "solver.increment_factor"));
    set(&mut setup, "solver.increment_factor", "0.5").unwrap();
    assert_eq!(setup.explicit.increment, Increment::Automatic { factor: 0.5 });
    set(&mut setup, "solver.increment", "automatic").unwrap();
    assert_eq!(setup.explicit.increment, Increment::Automatic { factor: 0.5 });
}

#[test]
fn wrong_values_change_nothing() {
    let before = setup();
    for (name, value) in [
        ("material.steel.density", "0"),
        ("material.steel.density", "nan"),
        ("material.steel.young", "inf"),
        ("material.steel.poisson", "0.5"),
        ("material.steel.young", "steel"),
        ("material.my weld.nu12", "2"),
        ("material.ortho.d1122", "3e11"),
        ("section.all.material", "copper"),
        ("load.push.amplitude", "bang"),
        ("amplitude.burst.window", "hanning"),
        ("amplitude.burst.frequency", "-1"),
        ("solver.time", "0"),
        ("solver.increment", "soon"),
        ("solver.increment_factor", "1.5"),
        ("history.tip.interval", "1.5 increments"),
        ("field.1.interval", "0"),
    ] {
        let mut after = before.clone();
        let error = set(&mut after, name, value).unwrap_err();
        assert!(matches!(error, ParameterError::Value { .. }), "{name}: {error}");
        assert_eq!(after, before, "{name}");
    }
}

#[test]
fn errors_help() {
    let mut setup = setup();
    let error = |name: &str| set(&mut setup, name, "1").unwrap_err().to_string();
    let names = [
        "material.steel.youngs",
        "material.steal.young",
        "material.steel.e1",
        "amplitude.burst.freq",
        "nonsense",
        "node.12.x",
        "section.all.elset",
        "absorbing.side.depth",
        "partition.block_nodes",
        "load.push.nodes",
    ];
    insta::assert_snapshot!(names.map(error).join("\n"));
}

#[test]
fn assignments_split_at_the_last_equals_sign() {
    assert_eq!(parse_assignment("a.b=1e9"), Ok(("a.b", "1e9")));
    assert_eq!(parse_assignment(" material.\"E=200\".young = 1e9 "), Ok(("material.\"E=200\".young", "1e9")));
    for bad in ["a.b", "=1", "a=", ""] {
        assert!(matches!(parse_assignment(bad), Err(ParameterError::Syntax { .. })), "{bad}");
    }
}

proptest! {
    #[test]
    fn any_number_comes_back_exactly(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
        let mut setup = setup();
        set(&mut setup, "load.push.magnitude", &Value::Number(value).to_string()).unwrap();
        prop_assert_eq!(setup.loads[0].magnitude.to_bits(), value.to_bits());
    }

    #[test]
    fn no_text_panics(name in "(material|section|load|solver|history)?[.\"' a-z1é]{0,20}", value in ".{0,12}") {
        let _ = set(&mut setup(), &name, &value);
        let _ = parse_assignment(&name);
    }
}

//! Parameters of mass-spring-damper models by name: `material.tissue.mass`, `spring.tissue.axis.stiffness`,
//! `source.PULL.magnitude`, `cut.KNIFE.time`, `solver.alpha`, ….

use crate::parameters::dynamics::{amplitudes, increment, names_of};
use crate::parameters::{Adjustable, Fixed, Range, Slot, Table, Value, number};
use crate::spring::{SpringDamping, SpringGroup, SpringSetup};

impl Adjustable for SpringSetup {
    const FIXED: &'static [Fixed] = &[
        Fixed {
            first: &["image", "mesh", "grid"],
            last: &[],
            reason: "particles and springs are built into the tables",
        },
        Fixed {
            first: &["material"],
            last: &["label", "threshold", "nset", "elset"],
            reason: "particles are found when the model is blocked",
        },
        Fixed { first: &["springs"], last: &["elset", "all"], reason: "springs are found when the model is blocked" },
        Fixed {
            first: &["source", "boundary", "initial_velocity"],
            last: &["nodes", "set", "nset", "box", "side", "at", "line"],
            reason: "where it acts is resolved when the model is blocked",
        },
        Fixed {
            first: &["erase", "add"],
            last: &["pairs", "within", "between", "at"],
            reason: "springs are found when the model is blocked",
        },
    ];

    fn slots(&mut self) -> Vec<Slot<'_>> {
        slots(self)
    }
}

fn slots(setup: &mut SpringSetup) -> Vec<Slot<'_>> {
    let SpringSetup {
        title: _,
        materials,
        groups,
        amplitudes,
        boundaries,
        forces,
        gravity,
        initial_velocities,
        cuts,
        erasures,
        additions,
        histories,
        fields,
        solver,
    } = setup;
    let amplitude_names = names_of(amplitudes);
    let mut table = Table::default();
    for material in materials {
        table.prefix = format!("material.{}", material.name);
        if material.mass != 0.0 {
            table.number("mass", &mut material.mass, Range::Positive, "kg", "mass of a particle");
        }
        if material.density != 0.0 {
            table.number("density", &mut material.density, Range::Positive, "kg/m³", "mass a volume");
        }
    }
    groups.iter_mut().for_each(|item| group(&mut table, item));
    self::amplitudes(&mut table, amplitudes);
    table.boundaries(boundaries, &amplitude_names);
    for force in forces {
        table.prefix = format!("source.{}", force.name);
        table.number("magnitude", &mut force.magnitude, Range::Any, "N", "total force at signal 1");
        table.amplitude(&mut force.amplitude, &amplitude_names);
    }
    for gravity in gravity {
        table.prefix = format!("gravity.{}", gravity.name);
        table.number("magnitude", &mut gravity.magnitude, Range::Any, "m/s²", "acceleration at signal 1");
        table.amplitude(&mut gravity.amplitude, &amplitude_names);
        table.direction(&mut gravity.direction);
    }
    table.initial_velocities(initial_velocities);
    let times = cuts.iter_mut().map(|cut| ("cut", &cut.name, &mut cut.time));
    let times = times.chain(erasures.iter_mut().map(|erasure| ("erase", &erasure.name, &mut erasure.time)));
    for (kind, name, time) in
        times.chain(additions.iter_mut().map(|addition| ("add", &addition.name, &mut addition.time)))
    {
        table.prefix = format!("{kind}.{name}");
        table.number("time", time, Range::NotNegative, "s", "when it happens; later than the run: never");
    }
    table.histories(histories);
    table.fields(fields.iter_mut().map(|field| &mut field.interval));
    table.prefix = "solver".into();
    table.number("time", &mut solver.time, Range::Positive, "s", "length of the run");
    increment(&mut table, &mut solver.increment);
    match &mut solver.damping {
        SpringDamping::Alpha(alpha) => {
            table.number(
                "alpha",
                alpha,
                Range::NotNegative,
                "1/s",
                "damping of all particles, proportional to their mass",
            );
        }
        SpringDamping::Lambda(lambda) => {
            table.number("lambda", lambda, Range::NotNegative, "", "damping of eq. (4) of the paper, an increment");
        }
    }
    table.slots
}

fn group<'a>(table: &mut Table<'a>, group: &'a mut SpringGroup) {
    table.prefix = format!("spring.{}", group.name);
    let first = table.slots.len();
    // The groups of a lattice that have no springs.
    let (stiff, long) = (group.stiffness != 0.0, group.axial_stiffness != 0.0);
    let unused = !stiff && !long && group.damping == 0.0 && group.max_strain == f64::INFINITY;
    table.number("stiffness", &mut group.stiffness, Range::NotNegative, "N/m", "k of a spring");
    let axial = table.slots.len();
    let help = "E A of a truss: E A over its length is added to k";
    table.number("axial_stiffness", &mut group.axial_stiffness, Range::NotNegative, "N", help);
    table.number("damping", &mut group.damping, Range::NotNegative, "N s/m", "c of a spring");
    let max_strain = &mut group.max_strain;
    let value = if max_strain.is_finite() { Value::Number(*max_strain) } else { "none".into() };
    let set = move |text: &str| {
        *max_strain = match text {
            "none" | "never" | "inf" => f64::INFINITY,
            text => number(text)
                .and_then(|value| Range::Positive.check(value))
                .map_err(|reason| format!("{reason}; or none"))?,
        };
        Ok(())
    };
    table.push("max_strain", value, "", "extension over length beyond which a spring breaks, or none", Box::new(set));
    table.number("rest_factor", &mut group.rest_factor, Range::Positive, "", "length without force over that at rest");
    for slot in &mut table.slots[first..] {
        slot.hidden = unused;
    }
    table.slots[axial].hidden |= !long;
    table.slots[first].hidden |= long && !stiff;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::{Boundary, BoundaryKind, Increment};
    use crate::parameters::{list, set};
    use crate::spring::{SpringGroup, SpringMaterial};

    fn setup() -> SpringSetup {
        let group = |name: &str, stiffness| SpringGroup {
            name: name.into(),
            stiffness,
            axial_stiffness: 0.0,
            damping: 0.0,
            max_strain: f64::INFINITY,
            rest_factor: 1.0,
        };
        SpringSetup {
            materials: vec![SpringMaterial { name: "tissue".into(), mass: 1.0, density: 0.0 }],
            groups: vec![group("tissue.axis", 2.0), group("tissue.face", 1.0), group("tissue.space", 0.0)],
            boundaries: vec![Boundary {
                name: "FIX1.1".into(),
                nodes: vec![0],
                component: 0,
                kind: BoundaryKind::Displacement,
                value: 0.0,
                amplitude: None,
            }],
            ..SpringSetup::default()
        }
    }

    #[test]
    fn parameters_are_listed_and_set() {
        let mut setup = setup();
        let names: Vec<String> = list(&setup).into_iter().map(|parameter| parameter.name).collect();
        assert!(names.contains(&"spring.tissue.face.stiffness".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("tissue.space")), "{names:?}");
        for (name, value) in [
            ("material.tissue.mass", "3"),
            ("Spring.Tissue.axis.max_strain", "0.5"),
            ("boundary.FIX1.1.value", "1e-3"),
            ("solver.increment", "1e-4"),
            ("solver.alpha", "2"),
        ] {
            set(&mut setup, name, value).unwrap();
        }
        assert_eq!((setup.materials[0].mass, setup.groups[0].max_strain), (3.0, 0.5));
        assert_eq!((setup.boundaries[0].value, setup.solver.increment), (1e-3, Increment::Fixed(1e-4)));
        set(&mut setup, "spring.tissue.axis.max_strain", "none").unwrap();
        assert_eq!(setup.groups[0].max_strain, f64::INFINITY);
        for (name, value, expected) in [
            ("material.tissue.mass", "-1", "above 0"),
            ("material.tissue.label", "2", "block the model again"),
            ("spring.tissue.axis.stifness", "2", "did you mean `spring.tissue.axis.stiffness`"),
        ] {
            let error = set(&mut setup, name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

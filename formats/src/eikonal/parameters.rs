//! Parameters of Eikonal models by name: `velocity.myocardium.fibre`, `start.apex.time`, `start.apex.x`, `solver.exact_radius`, ….

use crate::eikonal::EikonalSetup;
use crate::eikonal::ecg::{Ecg, Electrode};
use crate::eikonal::setup::{Directions, StartRegion, TreeSettings, Velocity};
use crate::parameters::{Adjustable, Fixed, Range, Slot, Table, Value, number};

impl Adjustable for EikonalSetup {
    const FIXED: &'static [Fixed] = &[
        Fixed { first: &["mesh"], last: &[], reason: "the mesh is built into the tables" },
        Fixed {
            first: &["velocity"],
            last: &["elset", "tag", "all", "speed_data", "tensor_data"],
            reason: "elements get their class when the mesh is blocked",
        },
        Fixed {
            first: &["start"],
            last: &["nset", "nodes", "vtx", "box"],
            reason: "sets and lists are resolved when the mesh is blocked",
        },
        Fixed {
            first: &["tree"],
            last: &["file", "points", "edges", "speed_data", "start_node", "start_at", "junctions"],
            reason: "trees are read when the mesh is blocked",
        },
        Fixed {
            first: &["lead", "gradient", "measured"],
            last: &[],
            reason: "they are fixed when the mesh is blocked",
        },
    ];

    fn slots(&mut self) -> Vec<Slot<'_>> {
        slots(self)
    }
}

impl<'a> Table<'a> {
    /// A speed of a class with one speed, of which 0 blocks.
    fn speed(&mut self, velocity: &'a mut Velocity) {
        let value = if let Velocity::Isotropic(speed) = velocity { *speed } else { 0.0 };
        let set = move |text: &str| {
            *velocity = match Range::NotNegative.check(number(text)?)? {
                0.0 => Velocity::Blocked,
                speed => Velocity::Isotropic(speed),
            };
            Ok(())
        };
        self.push("speed", Value::Number(value), "length/time", "speed in all directions; 0 blocks", Box::new(set));
    }

    fn vector(&mut self, names: [&str; 3], target: &'a mut [f64; 3], unit: &'static str, help: &'static str) {
        for (name, component) in names.into_iter().zip(target) {
            self.number(name, component, Range::Any, unit, help);
        }
    }

    fn directions(&mut self, directions: &'a mut Directions) {
        if let Directions::Constant { fibre, sheet } = directions {
            let help = "component of its constant direction";
            self.vector(["fibre.x", "fibre.y", "fibre.z"], fibre, "", help);
            if let Some(sheet) = sheet {
                self.vector(["sheet.x", "sheet.y", "sheet.z"], sheet, "", help);
            }
        }
    }

    fn whole(&mut self, field: &str, target: &'a mut u32, most: u32, help: &'static str) {
        let value = Value::Number(f64::from(*target));
        let set = move |text: &str| {
            let found = text.parse().ok().filter(|&n| n <= most);
            *target = found.ok_or_else(|| format!("must be a whole number up to {most}"))?;
            Ok(())
        };
        self.push(field, value, "", help, Box::new(set));
    }
}

fn slots(setup: &mut EikonalSetup) -> Vec<Slot<'_>> {
    let EikonalSetup { classes, starts, settings, outputs, ecg, trees, .. } = setup;
    let mut table = Table::default();
    for class in classes {
        table.prefix = format!("velocity.{}", class.name);
        match &mut class.velocity {
            velocity @ (Velocity::Blocked | Velocity::Isotropic(_)) => table.speed(velocity),
            Velocity::Axes { speeds, directions } => {
                let [fibre, sheet, normal] = speeds;
                table.number("fibre", fibre, Range::NotNegative, "length/time", "speed along the fibre");
                table.number("sheet", sheet, Range::NotNegative, "length/time", "speed across the fibre, in the sheet");
                table.number("normal", normal, Range::NotNegative, "length/time", "speed across the sheet");
                table.directions(directions);
            }
            Velocity::Tensor([xx, yy, zz, xy, yz, zx]) => {
                let named = [("xx", xx), ("yy", yy), ("zz", zz), ("xy", xy), ("yz", yz), ("zx", zx)];
                for (name, value) in named {
                    table.number(&format!("tensor.{name}"), value, Range::Any, "length²/time²", "component of D");
                }
            }
            Velocity::EachSpeeds { factor, directions } => {
                table.number("factor", factor, Range::Positive, "", "factor on the velocities of its elements");
                table.directions(directions);
            }
            Velocity::EachTensor { factor } => {
                table.number("factor", factor, Range::Positive, "", "factor on the velocities of its elements");
            }
        }
    }
    for start in starts {
        table.prefix = format!("start.{}", start.name);
        table.number("time", &mut start.time, Range::Any, "time", "when it starts");
        place(&mut table, &mut start.region);
    }
    trees.iter_mut().for_each(|tree| self::tree(&mut table, tree));
    table.prefix = "solver".into();
    table.number("tolerance", &mut settings.tolerance, Range::NotNegative, "", "relative fall that is passed on");
    let help = "radius of the ball round each start with exact times";
    table.number("exact_radius", &mut settings.exact_radius, Range::NotNegative, "length", help);
    table.choice("local_solver", &mut settings.local_solver, "what is stored of a tetrahedron");
    table.choice("decomposition", &mut settings.decomposition, "how sub-domains are worked on");
    table.prefix = "output".into();
    table.whole("isochrones", &mut outputs.isochrones, 1000, "isochrones in a picture");
    table.whole("histogram_bins", &mut outputs.histogram_bins, 100_000, "bins of the histogram of activation");
    if let Some(ecg) = ecg {
        self::ecg(&mut table, ecg);
    }
    table.slots
}

fn tree<'a>(table: &mut Table<'a>, tree: &'a mut TreeSettings) {
    let TreeSettings { name, speed, radius, delay, delay_back, start } = tree;
    table.prefix = format!("tree.{name}");
    table.number("speed", speed, Range::Positive, "length/time", "speed along its edges, or factor on their speeds");
    if let Some(radius) = radius {
        table.number("radius", radius, Range::NotNegative, "length", "distance that a junction reaches in the tissue");
    }
    table.number("delay", delay, Range::NotNegative, "time", "time from the tree to the tissue");
    table.number("delay_back", delay_back, Range::NotNegative, "time", "time from the tissue to the tree");
    if let Some((_, time)) = start {
        table.number("start_time", time, Range::Any, "time", "when the wave starts in it");
    }
}

fn ecg<'a>(table: &mut Table<'a>, ecg: &'a mut Ecg) {
    let Ecg { electrodes, conductivity, torso, template, sampling, .. } = ecg;
    for Electrode { name, position } in electrodes {
        table.prefix = format!("electrode.{name}");
        table.vector(["x", "y", "z"], position, "length", "position");
    }
    table.prefix = "ecg".into();
    let [fibre, sheet, normal] = conductivity;
    for (name, value) in [("fibre", fibre), ("sheet", sheet), ("normal", normal)] {
        let field = format!("conductivity.{name}");
        table.number(&field, value, Range::Positive, "S/m", "conductivity inside the cells along this axis");
    }
    table.number("torso", torso, Range::Positive, "S/m", "conductivity of the torso");
    table.number("rest", &mut template.rest, Range::Any, "mV", "potential before the wave");
    table.number("peak", &mut template.peak, Range::Any, "mV", "potential behind the upstroke");
    table.number("upstroke", &mut template.upstroke, Range::Positive, "time", "width of the upstroke");
    if let Some(duration) = &mut template.duration {
        table.number("duration", duration, Range::Positive, "time", "from the upstroke to the recovery");
        table.number("recovery", &mut template.recovery, Range::Positive, "time", "width of the recovery");
    }
    table.number("step", &mut sampling.step, Range::Positive, "time", "time between samples");
    let ends = [("from", &mut sampling.from, "first sample"), ("to", &mut sampling.to, "last sample")];
    for (name, value, help) in ends {
        if let Some(value) = value {
            table.number(name, value, Range::Any, "time", help);
        }
    }
}

/// Where a start is: its point or node. Only one of them borrows the region, so another kind of place needs a new block file.
fn place<'a>(table: &mut Table<'a>, region: &'a mut StartRegion) {
    match region {
        StartRegion::Nearest(point) => {
            table.vector(["x", "y", "z"], point, "length", "position; the nearest node starts");
        }
        StartRegion::Sphere { centre, radius } => {
            table.vector(["x", "y", "z"], centre, "length", "centre of its sphere");
            table.number("radius", radius, Range::NotNegative, "length", "radius of its sphere");
        }
        StartRegion::Label(label) => {
            let value = Value::Word(label.clone());
            let set = move |text: &str| {
                *label = text.to_owned();
                Ok(())
            };
            table.push("node", value, "", "label of its node", Box::new(set));
        }
        StartRegion::Nodes(_) | StartRegion::Set(_) | StartRegion::Box { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eikonal::setup::{Start, VelocityClass};
    use crate::parameters::{list, set};

    #[test]
    fn names_set_what_they_say() {
        let mut setup = EikonalSetup::default();
        let class = |name: &str, velocity| VelocityClass { name: name.into(), velocity };
        let directions = Directions::Constant { fibre: [1., 0., 0.], sheet: None };
        setup.classes = vec![
            class("Scar", Velocity::Blocked),
            class("wall", Velocity::Axes { speeds: [3., 2., 1.], directions }),
            class("layer", Velocity::Tensor([1., 1., 1., 0., 0., 0.])),
        ];
        let start = |name: &str, region| Start { name: name.into(), region, time: 0.0 };
        setup.starts = vec![start("p", StartRegion::Nearest([0.; 3])), start("n", StartRegion::Label("7".into()))];
        let before = setup.clone();
        for (name, value) in [
            ("velocity.scar.speed", "0.5"),
            ("velocity.wall.normal", "0.7"),
            ("velocity.wall.fibre.y", "2"),
            ("velocity.layer.tensor.zx", "0.25"),
            ("start.p.time", "-1.5"),
            ("start.p.z", "4"),
            ("start.n.node", "12"),
            ("solver.local_solver", "eighteen"),
            ("output.isochrones", "7"),
        ] {
            set(&mut setup, name, value).unwrap();
            let listed = list(&setup).into_iter().find(|parameter| parameter.name.eq_ignore_ascii_case(name));
            assert_eq!(listed.unwrap().value.to_string(), value, "{name}");
        }
        assert_eq!(setup.classes[0].velocity, Velocity::Isotropic(0.5));
        assert_eq!(setup.starts[0].region, StartRegion::Nearest([0., 0., 4.]));
        set(&mut setup, "velocity.scar.speed", "0").unwrap();
        assert_eq!(setup.classes[0], before.classes[0]);
        for (name, value, expected) in [
            ("velocity.scar.sped", "1", "did you mean"),
            ("velocity.scar.speed", "-1", "must not be negative"),
            ("velocity.wall.elset", "x", "block the model again"),
            ("start.p.nset", "x", "block the model again"),
        ] {
            let error = set(&mut setup, name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

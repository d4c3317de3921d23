//! Parameters of voxel models by name: `material.bone.young`, `poisson`, `load.strain`, `boundary.FIX1.value`,
//! `solver.tolerance`, ….

use crate::parameters::{Adjustable, Fixed, Range, Slot, Table, Value, number, words};
use crate::voxel::VoxelSetup;
use crate::voxel::setup::{CoarseSolver, MAX_BINS, MagnitudeKind, StaticSettings};
use crate::words::Choice;

impl Adjustable for VoxelSetup {
    const FIXED: &'static [Fixed] = &[
        Fixed { first: &["image"], last: &[], reason: "the image is built into the tables" },
        Fixed {
            first: &["material"],
            last: &["threshold", "law", "slope", "intercept", "factor", "exponent", "labels"],
            reason: "grey values become moduli when the stack is read",
        },
        Fixed {
            first: &["load"],
            last: &["preset", "axis", "side", "direction", "about", "bounds", "boundary"],
            reason: "where a load acts is resolved when the model is blocked",
        },
        Fixed {
            first: &["boundary", "force"],
            last: &["components", "side", "plane", "box", "nodes", "mask", "table"],
            reason: "where a condition acts is resolved when the model is blocked",
        },
    ];

    fn slots(&mut self) -> Vec<Slot<'_>> {
        slots(self)
    }
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "must be a whole number above 0".to_owned())
}

impl<'a> Table<'a> {
    fn count(&mut self, field: &str, target: &'a mut u32, help: &'static str) {
        let value = Value::Number(f64::from(*target));
        let set = move |text: &str| {
            *target = whole(text)?;
            Ok(())
        };
        self.push(field, value, "", help, Box::new(set));
    }

    /// One of the words of a choice, or `auto`.
    fn choice_or_auto<T: Choice>(&mut self, field: &str, target: &'a mut Option<T>, help: &'static str) {
        let value = target.map_or("auto", T::word).into();
        let set = move |text: &str| {
            let choices = T::WORDS.iter().map(|(word, choice)| (*word, Some(*choice)));
            let mut all = std::iter::once(("auto", None)).chain(choices);
            *target = match all.clone().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
                Some((_, choice)) => choice,
                None => return Err(format!("must be one of {}", words(all.by_ref().map(|(word, _)| word)))),
            };
            Ok(())
        };
        self.push(field, value, "", help, Box::new(set));
    }

    /// An axis, 0 to 2, as x, y or z.
    fn axis(&mut self, field: &str, target: &'a mut u8, help: &'static str) {
        const AXES: [&str; 3] = ["x", "y", "z"];
        let value = AXES.get(usize::from(*target)).copied().unwrap_or_default().into();
        let set = move |text: &str| {
            let found = AXES.iter().position(|axis| axis.eq_ignore_ascii_case(text));
            *target = found.ok_or_else(|| format!("must be one of {}", words(AXES.into_iter())))? as u8;
            Ok(())
        };
        self.push(field, value, "", help, Box::new(set));
    }

    /// A number, or `auto`.
    fn optional<T: Copy + 'a>(
        &mut self,
        field: &str,
        target: &'a mut Option<T>,
        show: impl Fn(T) -> f64,
        read: impl Fn(&str) -> Result<T, String> + 'a,
        help: &'static str,
    ) {
        let value = target.map_or("auto".into(), |value| Value::Number(show(value)));
        let set = move |text: &str| {
            *target = match text {
                "auto" => None,
                text => Some(read(text).map_err(|expected| format!("{expected}, or auto"))?),
            };
            Ok(())
        };
        self.push(field, value, "", help, Box::new(set));
    }
}

fn slots(setup: &mut VoxelSetup) -> Vec<Slot<'_>> {
    let VoxelSetup { materials, modulus_scale, poisson, magnitudes, solver, output, .. } = setup;
    let mut table = Table::default();
    let has_classes = !materials.is_empty();
    let all_have_own = has_classes && materials.iter().all(|material| material.poisson.is_some());
    for material in materials {
        table.prefix = format!("material.{}", material.name);
        table.number("young", &mut material.young, Range::Positive, "force/length²", "Young's modulus");
        let ratio = |text: &str| Range::Poisson.check(number(text)?);
        table.optional(
            "poisson",
            &mut material.poisson,
            |ratio| ratio,
            ratio,
            "Poisson's ratio; auto: that of the model",
        );
    }
    table.prefix = "material".into();
    table.number("scale", modulus_scale, Range::Positive, "", "factor on the moduli of single voxels");
    if let Some(slot) = table.slots.last_mut() {
        slot.hidden = has_classes;
    }
    // Without a voxel that it is for, it has no effect.
    if !all_have_own {
        table.slots.push(Slot {
            name: "poisson".into(),
            value: Value::Number(*poisson),
            unit: "",
            help: "Poisson's ratio of all voxels but those of materials with their own",
            hidden: false,
            set: Box::new(move |text: &str| {
                *poisson = Range::Poisson.check(number(text)?)?;
                Ok(())
            }),
        });
    }
    for magnitude in magnitudes {
        let (unit, help) = match magnitude.kind {
            MagnitudeKind::Strain => ("", "apparent strain, negative in compression"),
            MagnitudeKind::Displacement => ("length", "prescribed displacement"),
            MagnitudeKind::Angle => ("°", "angle between the ends"),
            MagnitudeKind::Force => ("force", "total force that the solution is scaled to"),
            MagnitudeKind::Moment => ("force length", "moment that the solution is scaled to"),
            MagnitudeKind::Stress => ("force/length²", "apparent stress"),
            MagnitudeKind::Factor => ("", "factor on the values of this condition"),
        };
        let target = &mut magnitude.value;
        table.slots.push(Slot {
            name: magnitude.name.clone(),
            value: Value::Number(*target),
            unit,
            help,
            hidden: false,
            set: Box::new(move |text: &str| {
                *target = Range::Any.check(number(text)?)?;
                Ok(())
            }),
        });
    }
    table.prefix = "solver".into();
    self::solver(&mut table, solver);
    table.prefix = "output".into();
    let bins = &mut output.histogram_bins;
    let value = Value::Number(f64::from(*bins));
    let set = move |text: &str| {
        *bins =
            whole(text).ok().filter(|n| *n <= MAX_BINS).ok_or_else(|| format!("must lie between 1 and {MAX_BINS}"))?;
        Ok(())
    };
    table.push("histogram_bins", value, "", "classes of the histograms", Box::new(set));
    table.number("failure_volume", &mut output.failure_volume, Range::Fraction, "", "Pistoia: share of the volume");
    table.number("failure_strain", &mut output.failure_strain, Range::Positive, "", "Pistoia: effective strain");
    let help = "Pistoia: strain energy at the voxel's centre or its mean: centre or mean";
    table.choice("failure_energy", &mut output.failure_energy, help);
    table.axis("slice", &mut output.slice.0, "normal of the slice that is drawn: x, y or z");
    table.number("slice_at", &mut output.slice.1, Range::Unit, "", "where the slice is, from 0 to 1");
    table.slots
}

fn solver<'a>(table: &mut Table<'a>, settings: &'a mut StaticSettings) {
    let StaticSettings {
        tolerance,
        norm,
        max_iterations,
        precision,
        cycle,
        smoother_degree,
        smoother_ratio,
        levels,
        coarse_operator,
        coarse_solver,
    } = settings;
    table.number("tolerance", tolerance, Range::Fraction, "", "relative residual to reach");
    table.choice("norm", norm, "what the residual is compared with: load or start");
    table.count("max_iterations", max_iterations, "most iterations");
    table.choice_or_auto("precision", precision, "of the preconditioner: auto, f32 or f64");
    table.choice_or_auto("cycle", cycle, "multigrid cycle: auto, v, w, f or k");
    table.optional("smoother_degree", smoother_degree, f64::from, whole, "degree of the Chebyshev smoother");
    let ratio = |text: &str| match number(text)? {
        ratio if ratio > 1.0 && ratio.is_finite() => Ok(ratio),
        _ => Err("must be above 1".to_owned()),
    };
    table.optional("smoother_ratio", smoother_ratio, |ratio| ratio, ratio, "λmax over the smoother's lower end");
    table.optional("levels", levels, f64::from, whole, "levels, the finest included");
    table.choice_or_auto("coarse_operator", coarse_operator, "auto, averaged, galerkin or split");
    let value = match coarse_solver {
        None => "auto".into(),
        Some(CoarseSolver::Direct) => "direct".into(),
        Some(CoarseSolver::Jacobi(steps)) => Value::Number(f64::from(*steps)),
    };
    let set = move |text: &str| {
        *coarse_solver = match text {
            "auto" => None,
            "direct" => Some(CoarseSolver::Direct),
            text => Some(CoarseSolver::Jacobi(
                whole(text)
                    .map_err(|_| format!("must be {}", words(["auto", "direct", "a number of steps"].into_iter())))?,
            )),
        };
        Ok(())
    };
    table.push("coarse_solver", value, "", "auto, direct, or a number of Jacobi-CG steps", Box::new(set));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{list, set};
    use crate::voxel::setup::{Cycle, Magnitude, VoxelMaterial};

    fn setup() -> VoxelSetup {
        VoxelSetup {
            materials: vec![VoxelMaterial { name: "bone".into(), young: 1e4, poisson: None }],
            magnitudes: vec![Magnitude { name: "load.strain".into(), kind: MagnitudeKind::Strain, value: -0.01 }],
            ..VoxelSetup::default()
        }
    }

    #[test]
    fn every_parameter_that_is_listed_can_be_set_to_what_it_is() {
        let mut changed = setup();
        for parameter in list(&setup()) {
            set(&mut changed, &parameter.name, &parameter.value.to_string()).unwrap();
        }
        assert_eq!(changed, setup());
    }

    #[test]
    fn values_are_set_by_name() {
        let mut changed = setup();
        for (name, value) in [
            ("material.Bone.young", "12e3"),
            ("load.strain", "-0.02"),
            ("poisson", "0.35"),
            ("material.bone.poisson", "0.25"),
            ("solver.cycle", "w"),
            ("solver.smoother_degree", "10"),
            ("solver.coarse_solver", "20"),
        ] {
            set(&mut changed, name, value).unwrap();
        }
        assert_eq!(changed.materials[0].young, 12e3);
        assert_eq!(changed.magnitudes[0].value, -0.02);
        assert_eq!((changed.poisson, changed.solver.cycle), (0.35, Some(Cycle::W)));
        assert_eq!((changed.ratios(), changed.one_ratio()), (Vec::new(), 0.25));
        set(&mut changed, "material.bone.poisson", "auto").unwrap();
        assert_eq!(changed.one_ratio(), 0.35);
        assert_eq!(changed.solver.coarse_solver, Some(CoarseSolver::Jacobi(20)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (name, value, expected) in [
            ("poisson", "0.5", "must lie between"),
            ("material.bone.poisson", "-1", "must lie between"),
            ("material.bone.young", "0", "must be above 0"),
            ("solver.levels", "0", "whole number above 0, or auto"),
            ("output.slice_at", "2", "must lie between 0 and 1"),
            ("output.histogram_bins", "1000000000", "must lie between 1 and 100000"),
            ("solver.cycle", "x", "must be one of auto, v, w, f, k"),
            ("load.strains", "1", "did you mean `load.strain`"),
            ("load.axis", "x", "block the model again"),
        ] {
            let error = set(&mut setup(), name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

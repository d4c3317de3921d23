//! The one table of all parameters: for each its name, its value, and how to set it.

use std::{cell::Cell, rc::Rc};

use super::{DEFAULT_INCREMENT_FACTOR, Value};
use crate::dynamics::{Amplitude, AmplitudeShape, BoundaryKind, Increment, LoadKind, OutputInterval, Window};
use crate::explicit::{AbsorbingProfile, Elasticity, Lumping, Section, Setup};

/// Sets what the slot stands for, or says what is expected.
pub type Setter<'a> = Box<dyn FnMut(&str) -> Result<(), String> + 'a>;

/// A parameter that can be set.
pub struct Slot<'a> {
    pub name: String,
    pub value: Value,
    pub unit: &'static str,
    pub help: &'static str,
    /// Can be set, but means nothing as things stand.
    pub hidden: bool,
    pub set: Setter<'a>,
}

/// Range of a number.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    Any,
    Positive,
    NotNegative,
    /// (0, 1].
    Fraction,
    /// [0, 1].
    Unit,
    /// (−1, ½).
    Poisson,
}

impl Range {
    pub(crate) fn check(self, value: f64) -> Result<f64, String> {
        let (inside, expected) = match self {
            _ if !value.is_finite() => (false, "must be finite"),
            Self::Any => (true, ""),
            Self::Positive => (value > 0.0, "must be above 0"),
            Self::NotNegative => (value >= 0.0, "must not be below 0"),
            Self::Fraction => (value > 0.0 && value <= 1.0, "must be above 0 and at most 1"),
            Self::Unit => ((0.0..=1.0).contains(&value), "must lie between 0 and 1"),
            Self::Poisson => (value > -1.0 && value < 0.5, "must lie between -1 and 0.5"),
        };
        if inside { Ok(value) } else { Err(expected.into()) }
    }
}

pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "is not a number, such as 1.5e-6".to_owned())
}

/// Collects slots under a common prefix.
pub(crate) struct Table<'a> {
    pub slots: Vec<Slot<'a>>,
    pub prefix: String,
}

impl<'a> Table<'a> {
    pub(crate) fn push(&mut self, field: &str, value: Value, unit: &'static str, help: &'static str, set: Setter<'a>) {
        let name = format!("{}.{field}", self.prefix);
        self.slots.push(Slot { name, value, unit, help, hidden: false, set });
    }

    pub(crate) fn number(
        &mut self,
        field: &str,
        target: &'a mut f64,
        range: Range,
        unit: &'static str,
        help: &'static str,
    ) {
        let value = Value::Number(*target);
        let set = move |text: &str| {
            *target = range.check(number(text)?)?;
            Ok(())
        };
        self.push(field, value, unit, help, Box::new(set));
    }

    pub(crate) fn choice<T: Copy + PartialEq + 'a>(
        &mut self,
        field: &str,
        target: &'a mut T,
        choices: &'static [(&'static str, T)],
        help: &'static str,
    ) {
        let word = choices.iter().find(|(_, choice)| choice == target).map_or("", |(word, _)| word);
        let set = move |text: &str| match choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
            Some((_, choice)) => {
                *target = *choice;
                Ok(())
            }
            None => Err(format!("must be one of {}", words(choices.iter().map(|(word, _)| *word)))),
        };
        self.push(field, word.into(), "", help, Box::new(set));
    }

    /// The name of an amplitude, or `none`.
    pub(crate) fn amplitude(&mut self, target: &'a mut Option<u32>, names: &Rc<[String]>) {
        let names = Rc::clone(names);
        let name = target.and_then(|index| names.get(index as usize)).map_or("none", String::as_str);
        let name = Value::from(name);
        let set = move |text: &str| {
            *target = match position(&names, text) {
                Ok(index) => Some(index),
                Err(_) if text.eq_ignore_ascii_case("none") => None,
                Err(expected) => return Err(format!("{expected}, or none")),
            };
            Ok(())
        };
        self.push("amplitude", name, "", "name of its amplitude, or none", Box::new(set));
    }

    pub(crate) fn direction(&mut self, target: &'a mut [f64; 3]) {
        for (component, field) in target.iter_mut().zip(["direction.1", "direction.2", "direction.3"]) {
            self.number(field, component, Range::Any, "", "component of its direction");
        }
    }

    pub(crate) fn interval(&mut self, target: &'a mut OutputInterval) {
        let (value, unit) = match *target {
            OutputInterval::Increments(n) => (f64::from(n), "increments"),
            OutputInterval::Time(time) => (time, "s"),
            OutputInterval::Count(n) => (f64::from(n), "intervals"),
        };
        let set = move |text: &str| {
            *target = interval(text, target)?;
            Ok(())
        };
        self.push(
            "interval",
            value.into(),
            unit,
            "how often it is written: `2e-7 s`, `10 increments`, `100 intervals`",
            Box::new(set),
        );
    }
}

/// `2e-7 s`, `10 increments`, `100 intervals`; a number alone keeps the unit.
fn interval(text: &str, now: &OutputInterval) -> Result<OutputInterval, String> {
    let (value, unit) = match text.split_once(char::is_whitespace) {
        Some((value, unit)) => (value, unit.trim()),
        None => match now {
            OutputInterval::Increments(_) => (text, "increments"),
            OutputInterval::Time(_) => (text, "s"),
            OutputInterval::Count(_) => (text, "intervals"),
        },
    };
    let value = Range::Positive.check(number(value)?)?;
    let whole = || match value {
        value if value.fract() == 0.0 && value <= f64::from(u32::MAX) => Ok(value as u32),
        _ => Err("must be a whole number".to_owned()),
    };
    match unit {
        "s" => Ok(OutputInterval::Time(value)),
        "increments" | "increment" => Ok(OutputInterval::Increments(whole()?)),
        "intervals" | "interval" => Ok(OutputInterval::Count(whole()?)),
        _ => Err("must be in s, increments or intervals".into()),
    }
}

pub(crate) fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn position(names: &[String], text: &str) -> Result<u32, String> {
    let text = text.trim_matches('"');
    match names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(index) => Ok(index as u32),
        None if names.is_empty() => Err("the model has none of that kind".into()),
        None => Err(format!("must be one of {}", words(names.iter().map(String::as_str)))),
    }
}

const WINDOWS: &[(&str, Window)] =
    &[("hann", Window::Hann), ("gaussian", Window::Gaussian), ("rectangular", Window::Rectangular)];
const LUMPINGS: &[(&str, Lumping)] = &[("row-sum", Lumping::RowSum), ("hrz", Lumping::Hrz), ("equal", Lumping::Equal)];

const ENGINEERING: [(&str, &str, &str); 9] = [
    ("e1", "Pa", "Young's modulus along material axis 1"),
    ("e2", "Pa", "Young's modulus along material axis 2"),
    ("e3", "Pa", "Young's modulus along material axis 3"),
    ("nu12", "", "Poisson's ratio, axis 2 over axis 1"),
    ("nu13", "", "Poisson's ratio, axis 3 over axis 1"),
    ("nu23", "", "Poisson's ratio, axis 3 over axis 2"),
    ("g12", "Pa", "shear modulus, axes 1 and 2"),
    ("g13", "Pa", "shear modulus, axes 1 and 3"),
    ("g23", "Pa", "shear modulus, axes 2 and 3"),
];
const ORTHOTROPIC: [&str; 9] = ["d1111", "d1122", "d2222", "d1133", "d2233", "d3333", "d1212", "d1313", "d2323"];
const ANISOTROPIC: [&str; 21] = [
    "d1111", "d1122", "d2222", "d1133", "d2233", "d3333", "d1112", "d2212", "d3312", "d1212", "d1113", "d2213",
    "d3313", "d1213", "d1313", "d1123", "d2223", "d3323", "d1223", "d1323", "d2323",
];

/// All parameters, each with its own way to write into `setup`.
pub(crate) fn slots(setup: &mut Setup) -> Vec<Slot<'_>> {
    let Setup {
        title: _,
        materials,
        sections,
        amplitudes,
        loads,
        boundaries,
        initial_velocities,
        absorbing_layers,
        histories,
        element_histories,
        fields,
        explicit,
    } = setup;
    let material_names: Rc<[String]> = materials.iter().map(|material| material.name.clone()).collect();
    let amplitude_names: Rc<[String]> = amplitudes.iter().map(|amplitude| amplitude.name.clone()).collect();
    let mut table = Table { slots: Vec::new(), prefix: String::new() };

    for material in materials {
        table.prefix = format!("material.{}", material.name);
        table.number("density", &mut material.density, Range::Positive, "kg/m³", "density");
        match &mut material.elasticity {
            Elasticity::Isotropic { young, poisson } => {
                table.number("young", young, Range::Positive, "Pa", "Young's modulus");
                table.number("poisson", poisson, Range::Poisson, "", "Poisson's ratio");
            }
            Elasticity::EngineeringConstants(constants) => {
                for (constant, (field, unit, help)) in constants.iter_mut().zip(ENGINEERING) {
                    table.number(field, constant, if unit == "Pa" { Range::Positive } else { Range::Any }, unit, help);
                }
            }
            Elasticity::Orthotropic(constants) => {
                for (constant, field) in constants.iter_mut().zip(ORTHOTROPIC) {
                    table.number(field, constant, Range::Any, "Pa", "stiffness in the material's axes");
                }
            }
            Elasticity::Anisotropic(constants) => {
                for (constant, field) in constants.iter_mut().zip(ANISOTROPIC) {
                    table.number(field, constant, Range::Any, "Pa", "stiffness in the material's axes");
                }
            }
        }
        table.number("alpha", &mut material.damping_alpha, Range::NotNegative, "1/s", "mass-proportional damping");
    }
    for section in sections {
        table.prefix = format!("section.{}", section.name);
        self::section(&mut table, section, &material_names);
    }
    self::amplitudes(&mut table, amplitudes);
    for load in loads {
        table.prefix = format!("load.{}", load.name);
        let (unit, direction) = match &mut load.kind {
            LoadKind::Concentrated { direction, .. } => ("N", Some(direction)),
            LoadKind::Pressure { .. } => ("Pa", None),
            LoadKind::Traction { direction, .. } => ("Pa", Some(direction)),
            LoadKind::Body { direction, .. } => ("N/m³", Some(direction)),
            LoadKind::Gravity { direction, .. } => ("m/s²", Some(direction)),
        };
        table.number("magnitude", &mut load.magnitude, Range::Any, unit, "size of the load at signal 1");
        table.amplitude(&mut load.amplitude, &amplitude_names);
        if let Some(direction) = direction {
            table.direction(direction);
        }
    }
    for boundary in boundaries {
        table.prefix = format!("boundary.{}", boundary.name);
        let (unit, help) = match boundary.kind {
            BoundaryKind::Displacement => ("m", "prescribed displacement at signal 1"),
            BoundaryKind::Velocity => ("m/s", "prescribed velocity at signal 1"),
            BoundaryKind::Acceleration => ("m/s²", "prescribed acceleration at signal 1"),
        };
        table.number("value", &mut boundary.value, Range::Any, unit, help);
        table.amplitude(&mut boundary.amplitude, &amplitude_names);
    }
    for initial in initial_velocities {
        table.prefix = format!("initial_velocity.{}", initial.name);
        table.number("value", &mut initial.value, Range::Any, "m/s", "velocity at t = 0");
    }
    for layer in absorbing_layers {
        table.prefix = format!("absorbing.{}", layer.name);
        match &mut layer.profile {
            AbsorbingProfile::Damping { d_max, exponent } => {
                table.number("d_max", d_max, Range::NotNegative, "1/s", "damping at the outer face");
                table.number("exponent", exponent, Range::NotNegative, "", "power of the depth fraction");
            }
            AbsorbingProfile::StiffnessReduction { frequency, wave_speed, thickness: _ } => {
                table.number("frequency", frequency, Range::Positive, "Hz", "frequency to absorb");
                table.number("wave_speed", wave_speed, Range::Positive, "m/s", "speed of the wave to absorb");
            }
        }
    }
    for history in histories {
        table.prefix = format!("history.{}", history.set);
        table.interval(&mut history.interval);
    }
    for history in element_histories {
        table.prefix = format!("element_history.{}", history.set);
        table.interval(&mut history.interval);
    }
    for (index, field) in fields.iter_mut().enumerate() {
        table.prefix = format!("field.{}", index + 1);
        table.interval(&mut field.interval);
    }
    table.prefix = "solver".into();
    table.number("time", &mut explicit.time, Range::Positive, "s", "length of the run");
    increment(&mut table, &mut explicit.increment);
    table.choice("lumping", &mut explicit.lumping, LUMPINGS, "mass lumping: row-sum, hrz or equal");
    table.slots
}

/// Shape, scale and delay of each amplitude.
pub(crate) fn amplitudes<'a>(table: &mut Table<'a>, amplitudes: &'a mut [Amplitude]) {
    for amplitude in amplitudes {
        table.prefix = format!("amplitude.{}", amplitude.name);
        shape(table, &mut amplitude.shape);
        table.number("scale", &mut amplitude.scale, Range::Any, "", "factor on the signal");
        table.number("delay", &mut amplitude.delay, Range::Any, "s", "time by which the signal is late");
    }
}

fn section<'a>(table: &mut Table<'a>, section: &'a mut Section, material_names: &Rc<[String]>) {
    let names = Rc::clone(material_names);
    let name = names.get(section.material as usize).map_or("", String::as_str).into();
    let material = &mut section.material;
    let set = move |text: &str| {
        *material = position(&names, text)?;
        Ok(())
    };
    table.push("material", name, "", "name of its material", Box::new(set));
    table.number("thickness", &mut section.thickness, Range::Positive, "m", "out-of-plane thickness (2D)");
    // Rows are (c, s, 0), (−s, c, 0), (0, 0, 1) when the material is turned about z only.
    let axes = &mut section.material_from_global;
    if axes[8] == 1.0 && [2, 5, 6, 7].iter().all(|&at| axes[at] == 0.0) && axes[0] == axes[4] && axes[1] == -axes[3] {
        let angle = axes[1].atan2(axes[0]).to_degrees();
        let set = move |text: &str| {
            let (sin, cos) = Range::Any.check(number(text)?)?.to_radians().sin_cos();
            [axes[0], axes[1], axes[3], axes[4]] = [cos, sin, -sin, cos];
            Ok(())
        };
        table.push("angle", angle.into(), "°", "anticlockwise turn of the material's axes about z", Box::new(set));
    }
    table.number(
        "hourglass_factor",
        &mut section.hourglass_factor,
        Range::NotNegative,
        "",
        "factor on hourglass stiffness",
    );
    table.number("mass_factor", &mut section.mass_factor, Range::Positive, "", "factor on inertia (mass scaling)");
}

fn shape<'a>(table: &mut Table<'a>, shape: &'a mut AmplitudeShape) {
    match shape {
        AmplitudeShape::Tabular { .. } | AmplitudeShape::SmoothStep { .. } => {}
        AmplitudeShape::Periodic { omega, start, constant, terms: _ } => {
            table.number("omega", omega, Range::Positive, "rad/s", "angular frequency");
            table.number("start", start, Range::Any, "s", "start of the oscillation");
            table.number("constant", constant, Range::Any, "", "constant term");
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            table.choice("window", window, WINDOWS, "window: hann, gaussian or rectangular");
            table.number("frequency", frequency, Range::Positive, "Hz", "centre frequency");
            table.number("cycles", cycles, Range::Positive, "", "number of cycles");
        }
        AmplitudeShape::Ricker { frequency, peak_time } => {
            table.number("frequency", frequency, Range::Positive, "Hz", "centre frequency");
            table.number("peak_time", peak_time, Range::Any, "s", "time of the peak");
        }
        AmplitudeShape::GaussianPulse { rate, peak_time } => {
            table.number("rate", rate, Range::Positive, "1/s²", "k in exp(-k t²)");
            table.number("peak_time", peak_time, Range::Any, "s", "time of the peak");
        }
    }
}

/// Two parameters, one enum: seconds or `automatic`, and the factor of the latter.
pub(crate) fn increment<'a>(table: &mut Table<'a>, target: &'a mut Increment) {
    let target = Cell::from_mut(target);
    let (value, factor, hidden) = match target.get() {
        Increment::Fixed(seconds) => (Value::Number(seconds), DEFAULT_INCREMENT_FACTOR, true),
        Increment::Automatic { factor } => ("automatic".into(), factor, false),
    };
    let set = move |text: &str| {
        target.set(match text.to_ascii_lowercase().as_str() {
            "automatic" | "auto" => Increment::Automatic { factor },
            _ => Increment::Fixed(
                number(text)
                    .and_then(|seconds| Range::Positive.check(seconds))
                    .map_err(|reason| format!("{reason}; give seconds or `automatic`"))?,
            ),
        });
        Ok(())
    };
    table.push("increment", value, "s", "time increment, or automatic", Box::new(set));
    let set = move |text: &str| {
        target.set(Increment::Automatic { factor: Range::Fraction.check(number(text)?)? });
        Ok(())
    };
    table.push("increment_factor", factor.into(), "", "automatic increment over the stable one", Box::new(set));
    if let Some(slot) = table.slots.last_mut() {
        slot.hidden = hidden;
    }
}

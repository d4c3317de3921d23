//! Parameters that all runs over time share.

use std::cell::Cell;
use std::rc::Rc;

use super::{DEFAULT_INCREMENT_FACTOR, Range, Table, Value, number, position};
use crate::dynamics::{
    Amplitude, AmplitudeShape, Boundary, BoundaryKind, HistoryRequest, Increment, InitialVelocity, OutputInterval,
    Window,
};
use crate::words::Choice;

impl Choice for Window {
    const WORDS: &'static [(&'static str, Self)] =
        &[("hann", Self::Hann), ("gaussian", Self::Gaussian), ("rectangular", Self::Rectangular)];
}

/// Names of amplitudes, for slots that may outlive the borrow of the amplitudes.
pub(crate) fn names_of(amplitudes: &[Amplitude]) -> Rc<[String]> {
    amplitudes.iter().map(|amplitude| amplitude.name.clone()).collect()
}

impl<'a> Table<'a> {
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
            OutputInterval::From { every, .. } => (f64::from(every), "increments"),
            OutputInterval::Steps(ref steps) => (steps.len() as f64, "named increments"),
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

    pub(crate) fn boundaries(&mut self, boundaries: &'a mut [Boundary], amplitudes: &Rc<[String]>) {
        for boundary in boundaries {
            self.prefix = format!("boundary.{}", boundary.name);
            let (unit, help) = match boundary.kind {
                BoundaryKind::Displacement => ("m", "prescribed displacement at signal 1"),
                BoundaryKind::Velocity => ("m/s", "prescribed velocity at signal 1"),
                BoundaryKind::Acceleration => ("m/s²", "prescribed acceleration at signal 1"),
                BoundaryKind::Pressure => ("Pa", "prescribed pressure at signal 1"),
            };
            self.number("value", &mut boundary.value, Range::Any, unit, help);
            self.amplitude(&mut boundary.amplitude, amplitudes);
        }
    }

    pub(crate) fn initial_velocities(&mut self, initial_velocities: &'a mut [InitialVelocity]) {
        for initial in initial_velocities {
            self.prefix = format!("initial_velocity.{}", initial.name);
            self.number("value", &mut initial.value, Range::Any, "m/s", "velocity at t = 0");
        }
    }

    pub(crate) fn histories(&mut self, histories: &'a mut [HistoryRequest]) {
        for history in histories {
            self.prefix = format!("history.{}", history.set);
            self.interval(&mut history.interval);
        }
    }

    /// Intervals of snapshots, numbered from 1.
    pub(crate) fn fields(&mut self, intervals: impl Iterator<Item = &'a mut OutputInterval>) {
        for (index, interval) in intervals.enumerate() {
            self.prefix = format!("field.{}", index + 1);
            self.interval(interval);
        }
    }
}

/// `2e-7 s`, `10 increments`, `100 intervals`; a number alone keeps the unit.
fn interval(text: &str, now: &OutputInterval) -> Result<OutputInterval, String> {
    let (value, unit) = match text.split_once(char::is_whitespace) {
        Some((value, unit)) => (value, unit.trim()),
        None => match now {
            OutputInterval::Increments(_) | OutputInterval::From { .. } | OutputInterval::Steps(_) => {
                (text, "increments")
            }
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
        "increments" | "increment" => Ok(match *now {
            OutputInterval::From { first, .. } => OutputInterval::From { first, every: whole()? },
            _ => OutputInterval::Increments(whole()?),
        }),
        "intervals" | "interval" => Ok(OutputInterval::Count(whole()?)),
        _ => Err("must be in s, increments or intervals".into()),
    }
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

fn shape<'a>(table: &mut Table<'a>, shape: &'a mut AmplitudeShape) {
    match shape {
        AmplitudeShape::Tabular { .. } | AmplitudeShape::SmoothStep { .. } => {}
        AmplitudeShape::Periodic { omega, start, constant, terms: _ } => {
            table.number("omega", omega, Range::Positive, "rad/s", "angular frequency");
            table.number("start", start, Range::Any, "s", "start of the oscillation");
            table.number("constant", constant, Range::Any, "", "constant term");
        }
        AmplitudeShape::ToneBurst { window, frequency, cycles } => {
            table.choice("window", window, "window: hann, gaussian or rectangular");
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

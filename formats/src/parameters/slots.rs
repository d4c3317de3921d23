//! Slots: for each parameter its name, its value, and how to set it.

use super::Value;
use crate::words::Choice;

/// Sets what the slot stands for, or says what is expected.
pub type Setter<'a> = Box<dyn FnMut(&str) -> Result<(), String> + 'a>;

/// A parameter that can be set.
#[allow(missing_docs)]
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
            Self::NotNegative => (value >= 0.0, "must not be negative"),
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
#[derive(Default)]
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

    /// One of the words of a choice.
    pub(crate) fn choice<T: Choice>(&mut self, field: &str, target: &'a mut T, help: &'static str) {
        let value = target.word().into();
        let set = move |text: &str| match T::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
            Some((_, choice)) => {
                *target = *choice;
                Ok(())
            }
            None => Err(format!("must be one of {}", words(T::WORDS.iter().map(|(word, _)| *word)))),
        };
        self.push(field, value, "", help, Box::new(set));
    }
}

pub(crate) fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

pub(crate) fn position(names: &[String], text: &str) -> Result<u32, String> {
    let text = text.trim_matches('"');
    match names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(index) => Ok(index as u32),
        None if names.is_empty() => Err("the model has none of that kind".into()),
        None => Err(format!("must be one of {}", words(names.iter().map(String::as_str)))),
    }
}

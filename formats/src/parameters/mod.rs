//! Parameters by name: listing and overriding what a block file says of a run.
//!
//! `material.steel.young`, `amplitude.burst.frequency`, `load.push.magnitude`, `solver.time`, …: everything that may change
//! from run to run without a new block file. Each physics lists the parameters of its setup in its own room
//! ([`Adjustable`]). Names are compared without regard to case. A part of a name may be quoted
//! (`material."my steel".young`) and may contain dots (`section.plate-1.hot side.thickness`). Where several entries have
//! the same name, setting it sets them all.

pub(crate) mod dynamics;
mod slots;

use std::fmt;

use serde::Serialize;

pub use slots::Slot;
pub(crate) use slots::{Range, Table, number, position, words};

/// Safety factor of an automatic increment where nothing else is said. The element bound is itself on the safe side.
pub const DEFAULT_INCREMENT_FACTOR: f64 = 0.95;

/// A parameter as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// Full name.
    pub name: String,
    /// Value now.
    pub value: Value,
    /// SI unit; empty for words and pure numbers.
    pub unit: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A quantity, in the parameter's unit.
    Number(f64),
    /// The name of a material or an amplitude, `hann`, `row-sum`, `automatic`, ….
    Word(String),
}

impl fmt::Display for Value {
    /// The shortest text that reads back as the same value.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Number(value) => {
                let (plain, scientific) = (format!("{value}"), format!("{value:e}"));
                f.write_str(if plain.len() <= scientific.len().max(6) { &plain } else { &scientific })
            }
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Word(word.into())
    }
}

/// Why a parameter was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ParameterError {
    /// Not `NAME=VALUE`.
    #[error("error: `{text}` is not NAME=VALUE, such as material.steel.young=200e9")]
    Syntax { text: String },
    /// No such parameter.
    #[error("error: no parameter `{name}`{}; `pogo-info --parameters` lists them all", did_you_mean(.nearest))]
    Unknown {
        name: String,
        /// Names that are spelt alike, best first.
        nearest: Vec<String>,
    },
    /// It is part of the block file.
    #[error("error: `{name}` cannot change from run to run: {reason}; block the model again with pogo-block")]
    NeedsNewBlockFile {
        name: String,
        /// What depends on it.
        reason: &'static str,
    },
    /// The value makes no sense.
    #[error("error: {name} = {value}: {reason}")]
    Value {
        name: String,
        value: String,
        /// What is expected.
        reason: String,
    },
}

fn did_you_mean(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => format!(", did you mean `{name}`"),
        names => format!(", did you mean one of `{}`", names.join("`, `")),
    }
}

/// A setup whose parameters can be listed and changed by name.
pub trait Adjustable: Clone {
    /// Every parameter, in the order of the setup's fields.
    fn slots(&mut self) -> Vec<Slot<'_>>;

    /// Names of what is built into the block file and cannot be set.
    const FIXED: &'static [Fixed];

    /// Whether values that are valid only together still fit after one of them has changed.
    ///
    /// # Errors
    /// Why they do not.
    fn check_change(&self, before: &Self) -> Result<(), String> {
        let _ = before;
        Ok(())
    }
}

/// Names of a part of the block file that cannot be set.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// First part of the name: one of these.
    pub first: &'static [&'static str],
    /// Last part of the name: one of these; any when empty.
    pub last: &'static [&'static str],
    /// Why it cannot be set.
    pub reason: &'static str,
}

/// Every parameter, in the order of the setup's fields.
pub fn list<S: Adjustable>(setup: &S) -> Vec<Parameter> {
    let mut setup = setup.clone();
    let shown = setup.slots().into_iter().filter(|slot| !slot.hidden);
    shown.map(|slot| Parameter { name: slot.name, value: slot.value, unit: slot.unit, help: slot.help }).collect()
}

/// Sets a parameter from text; on an error nothing has changed.
///
/// # Errors
/// No such parameter (with the nearest names), a value out of its range, or something that needs a new block file.
pub fn set<S: Adjustable>(setup: &mut S, name: &str, value: &str) -> Result<(), ParameterError> {
    let key = normalised(name);
    let (first, last) = (key.split('.').next().unwrap_or_default(), key.rsplit('.').next().unwrap_or_default());
    let is_meant =
        |fixed: &&Fixed| fixed.first.contains(&first) && (fixed.last.is_empty() || fixed.last.contains(&last));
    if let Some(Fixed { reason, .. }) = S::FIXED.iter().find(is_meant) {
        return Err(ParameterError::NeedsNewBlockFile { name: name.into(), reason });
    }
    let mut changed = setup.clone();
    assign(changed.slots(), &key, name, value)?;
    changed.check_change(setup).map_err(|reason| ParameterError::Value {
        name: name.trim().into(),
        value: value.trim().into(),
        reason,
    })?;
    *setup = changed;
    Ok(())
}

/// Sets the slots of this name.
fn assign(mut slots: Vec<Slot<'_>>, key: &str, name: &str, value: &str) -> Result<(), ParameterError> {
    let wrong = |reason: String| ParameterError::Value { name: name.trim().into(), value: value.trim().into(), reason };
    let mut found = false;
    for slot in slots.iter_mut().filter(|slot| slot.name.to_lowercase() == key) {
        (slot.set)(value.trim()).map_err(wrong)?;
        found = true;
    }
    if found {
        return Ok(());
    }
    let names = slots.into_iter().filter(|slot| !slot.hidden).map(|slot| slot.name);
    Err(ParameterError::Unknown { name: name.trim().into(), nearest: alike(key, names) })
}

/// Splits `NAME=VALUE`. The value is what follows the last `=`, since names may contain one.
///
/// # Errors
/// No `=`, or nothing on one side of it.
pub fn parse_assignment(text: &str) -> Result<(&str, &str), ParameterError> {
    let parts = text.rsplit_once('=').map(|(name, value)| (name.trim(), value.trim()));
    parts
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| ParameterError::Syntax { text: text.into() })
}

/// Lower case, without quotes, without blanks round the dots that separate parts.
fn normalised(name: &str) -> String {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    for c in name.trim().chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('.', None) => parts.push(std::mem::take(&mut part).trim().to_owned()),
            (c, _) => part.push(c),
        }
    }
    parts.push(part.trim().to_owned());
    parts.join(".").to_lowercase()
}

/// Up to three names that are spelt like `key`.
fn alike(key: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let distance = |name: &str| match name.to_lowercase() {
        name if name.starts_with(key) => 0,
        name => strsim::damerau_levenshtein(key, &name),
    };
    let mut scored: Vec<(usize, String)> = names.map(|name| (distance(&name), name)).collect();
    scored.sort();
    scored.dedup();
    let limit = scored.first().map_or(0, |best| (key.chars().count() / 2).min(best.0 + 2));
    scored.into_iter().take_while(|(distance, _)| *distance <= limit).take(3).map(|(_, name)| name).collect()
}

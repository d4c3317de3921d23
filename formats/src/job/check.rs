//! Checks that jobs of several physics share. Errors are messages for the user, without the place.

use super::{JobError, Located};
use crate::parameters::Range;

/// Checks every table.
pub(crate) fn each<T>(items: &[Located<T>], check: impl Fn(&T) -> Result<(), String>) -> Result<(), JobError> {
    items.iter().try_for_each(|item| one(item, &check))
}

/// Checks a table.
pub(crate) fn one<T>(item: &Located<T>, check: impl Fn(&T) -> Result<(), String>) -> Result<(), JobError> {
    check(&item.value).map_err(|message| item.place.error(message))
}

/// Refuses two tables of one name. Upper and lower case are the same.
pub(crate) fn unique<T>(table: &str, items: &[Located<T>], name: impl Fn(&T) -> Option<&str>) -> Result<(), JobError> {
    for (index, item) in items.iter().enumerate() {
        let Some(mine) = name(&item.value) else { continue };
        let same = |other: &&Located<T>| name(&other.value).is_some_and(|theirs| theirs.eq_ignore_ascii_case(mine));
        if let Some(earlier) = items[..index].iter().find(same) {
            let message = format!("{table} \"{mine}\" is there already, on line {}", earlier.place.line);
            return Err(item.place.error(message));
        }
    }
    Ok(())
}

/// The one choice that is given.
pub(crate) fn exactly_one<T, const N: usize>(choices: [(&str, Option<T>); N]) -> Result<T, String> {
    let names = choices.each_ref().map(|(name, _)| *name);
    at_most_one(choices)?.ok_or_else(|| format!("give one of {}", quoted(&names)))
}

/// The one choice that is given, if any.
pub(crate) fn at_most_one<T, const N: usize>(choices: [(&str, Option<T>); N]) -> Result<Option<T>, String> {
    let names = choices.each_ref().map(|(name, _)| *name);
    let mut found = choices.into_iter().filter_map(|(name, choice)| Some((name, choice?)));
    match (found.next(), found.next()) {
        (Some((one, _)), Some((other, _))) => {
            let all = if N > 2 { format!(" (one of {})", quoted(&names)) } else { String::new() };
            Err(format!("give `{one}` or `{other}`, not both{all}"))
        }
        (first, _) => Ok(first.map(|(_, choice)| choice)),
    }
}

/// A key as a choice of [`exactly_one`].
pub(crate) fn given<T>(value: &Option<T>) -> Option<()> {
    value.as_ref().map(|_| ())
}

/// `` `a`, `b` ``.
pub(crate) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A name, where there is one, must not be empty.
pub(crate) fn named(name: Option<&str>) -> Result<(), String> {
    match name {
        Some(name) if name.trim().is_empty() => Err("`name` is missing".to_owned()),
        _ => Ok(()),
    }
}

/// `value`, where there is one, must lie in a range.
pub(crate) fn in_range(name: &str, value: Option<f64>, range: Range) -> Result<(), String> {
    let Some(value) = value else { return Ok(()) };
    range.check(value).map(|_| ()).map_err(|expected| format!("`{name}` {expected}, not {value}"))
}

/// `value`, where there is one, must be above 0.
pub(crate) fn positive(name: &str, value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if value <= 0.0 => Err(format!("`{name}` must be positive, not {value}")),
        _ => Ok(()),
    }
}

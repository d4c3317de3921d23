//! Items and sets by their names.

use pogo_formats::mesh::NamedSet;
use pogo_formats::words::listed;

/// The name that a table of a job gives itself, or its kind and number.
pub fn name_or(given: &Option<String>, kind: &str, index: usize) -> String {
    given.clone().unwrap_or_else(|| format!("{kind}{}", index + 1))
}

/// Index of the item with this name: in the same case if there is one, else in any case, as Abaqus compares names.
pub fn find_name<T>(items: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<usize> {
    let exact = items.iter().position(|item| name_of(item) == name);
    exact.or_else(|| items.iter().position(|item| name_of(item).eq_ignore_ascii_case(name)))
}

/// `name`, or `name-2`, `name-3`, … when it is taken.
pub fn unique<T>(name: &str, items: &[T], name_of: impl Fn(&T) -> &str) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2;
    while find_name(items, &candidate, &name_of).is_some() {
        candidate = format!("{name}-{number}");
        number += 1;
    }
    candidate
}

/// A set by its name; `SET` also finds `INSTANCE.SET` where only one instance has it. `what` is what the set holds, for the
/// message.
///
/// # Errors
/// No such set, or several.
pub fn find_set<'s>(sets: &'s [NamedSet], name: &str, what: &str) -> Result<&'s NamedSet, String> {
    if let Some(index) = find_name(sets, name, |set| &set.name) {
        return Ok(&sets[index]);
    }
    let inside = |set: &&NamedSet| set.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(name));
    let mut found = sets.iter().filter(inside);
    match (found.next(), found.next()) {
        (Some(set), None) => Ok(set),
        (Some(a), Some(b)) => Err(format!("{what} set {name} is ambiguous: write {} or {}", a.name, b.name)),
        (None, _) => Err(format!(
            "there is no {what} set {name} in the deck{}",
            listed(sets.iter().map(|set| set.name.as_str()))
        )),
    }
}

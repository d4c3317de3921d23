//! The data lines of a card: their fields and numbers.

use super::lexer::{Card, DataLine, Place, fields, text};
use super::log::Log;
use super::numbers::{real, whole};

/// A data line, of which fields are asked for by their position from 0.
pub(super) struct Entry {
    pub place: Place,
    line: Vec<u8>,
}

/// The data lines of a card.
pub(super) fn entries(card: &Card, log: &Log) -> Vec<Entry> {
    card.data.iter().map(|line| Entry { place: line.place, line: log.line(line) }).collect()
}

impl Entry {
    fn field(&self, at: usize) -> &[u8] {
        fields(&self.line).nth(at).unwrap_or_default()
    }

    pub fn text(&self, at: usize) -> String {
        text(self.field(at))
    }

    /// In upper case.
    pub fn word(&self, at: usize) -> String {
        self.text(at).to_uppercase()
    }

    /// All fields in upper case.
    pub fn words(&self) -> Vec<String> {
        fields(&self.line).map(|field| text(field).to_uppercase()).collect()
    }

    /// Nothing where the field is empty or no number.
    pub fn real(&self, at: usize) -> Option<f64> {
        real(self.field(at))
    }

    /// Nothing where the field is empty or no whole number.
    pub fn whole(&self, at: usize) -> Option<u32> {
        whole(self.field(at))
    }

    pub fn has(&self, at: usize) -> bool {
        !self.field(at).is_empty()
    }

    /// Whether anything stands behind the first `n` fields: somebody means something by it.
    pub fn has_more(&self, n: usize) -> bool {
        fields(&self.line).skip(n).any(|field| !field.is_empty())
    }
}

/// Numbers of a card, a line each.
pub(super) fn numbers(card: &Card, log: &mut Log) -> Vec<Vec<f64>> {
    card.data.iter().map(|line| numbers_of(line, log)).collect()
}

/// The first number of a card.
pub(super) fn first_number(card: &Card, log: &mut Log) -> Option<f64> {
    numbers(card, log).first().and_then(|line| line.first()).copied()
}

/// Numbers of a data line; empty fields are 0.
pub(super) fn numbers_of(line: &DataLine, log: &mut Log) -> Vec<f64> {
    let bytes = log.line(line);
    let mut values = Vec::new();
    for field in fields(&bytes) {
        match real(field) {
            Some(value) => values.push(value),
            None if field.is_empty() => values.push(0.),
            None => log.error(line.place, format!("`{}` is not a number", text(field))),
        }
    }
    values
}

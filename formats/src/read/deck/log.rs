//! Problems and notes with their places, gathered while a deck is read.

use std::rc::Rc;

use super::lexer::{DataLine, Place, Source};
use super::report::{DeckError, DeckReport, Note};
use crate::words::counted;

/// So many problems are shown; the rest are counted.
const SHOWN: usize = 100;

#[derive(Default)]
pub(super) struct Log {
    pub sources: Vec<Rc<Source>>,
    problems: Vec<(Place, String)>,
    more_problems: u64,
    notes: Vec<(Place, String)>,
    warnings: Vec<(Place, String)>,
    /// A file that the deck includes could not be read.
    pub incomplete: bool,
}

impl Log {
    pub fn error(&mut self, place: Place, text: impl Into<String>) {
        let text = text.into();
        if self.problems.len() < SHOWN {
            // Two instances of a part have the same problems.
            if !self.problems.iter().any(|(p, t)| *p == place && *t == text) {
                self.problems.push((place, text));
            }
        } else {
            self.more_problems += 1;
        }
    }

    /// How many problems there are.
    pub fn n_problems(&self) -> u64 {
        self.problems.len() as u64 + self.more_problems
    }

    /// The deck refers to what it does not hold: an error, unless a file that could not be included may hold it.
    pub fn absent(&mut self, place: Place, text: impl Into<String>) {
        if !self.incomplete {
            self.error(place, text);
        }
    }

    pub fn note(&mut self, place: Place, text: impl Into<String>) {
        add_once(&mut self.notes, place, text.into());
    }

    pub fn warning(&mut self, place: Place, text: impl Into<String>) {
        add_once(&mut self.warnings, place, text.into());
    }

    /// The text of a data line.
    pub fn line(&self, line: &DataLine) -> Vec<u8> {
        let source = self.sources.get(line.place.source as usize);
        source.and_then(|s| s.bytes().get(line.start..line.end)).unwrap_or_default().trim_ascii().to_vec()
    }

    /// File name of a place.
    pub fn file(&self, place: Place) -> String {
        self.sources.get(place.source as usize).map(|s| s.name.clone()).unwrap_or_default()
    }

    fn shown(&self, list: &[(Place, String)]) -> Vec<Note> {
        let mut list: Vec<_> = list.iter().collect();
        list.sort_by_key(|(place, _)| *place);
        list.into_iter().map(|(place, text)| Note::new(self.file(*place), place.line, text)).collect()
    }

    /// Warnings, then notes, in the order of the deck.
    pub fn notes(&self) -> Vec<Note> {
        let warnings = self.shown(&self.warnings).into_iter().map(|note| Note { is_warning: true, ..note });
        warnings.chain(self.shown(&self.notes)).collect()
    }

    /// All problems as one error; nothing where there are none.
    pub fn failure(&self, report: &DeckReport) -> Option<DeckError> {
        if self.problems.is_empty() {
            return None;
        }
        let mut problems = self.shown(&self.problems);
        if self.more_problems > 0 {
            let text = format!("{} not shown", counted(self.more_problems as usize, "more problem"));
            problems.push(Note::new(self.file(Place::default()), 0, text));
        }
        Some(DeckError { problems, report: Some(Box::new(report.clone())), deck: None })
    }
}

/// Adds a remark. One that stands there already is left out, as it would repeat for a thousand lines.
fn add_once(list: &mut Vec<(Place, String)>, place: Place, text: String) {
    if list.len() < SHOWN && !list.iter().any(|(_, other)| *other == text) {
        list.push((place, text));
    }
}

//! `.pogo-hist`: displacement of nodes over time, set by set.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use super::{PRECISION, begin, integers, reals, section, text};
use crate::write::{OutputError, write_atomically};

/// Bytes of a set's name, with the NUL at its end.
const NAME: usize = 20;

/// Traces that are sampled at the same times.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// 2 or 3.
    pub dimension: usize,
    /// Time of the first sample, s.
    pub start: f64,
    /// Time between samples, s.
    pub interval: f64,
    /// Samples of each trace.
    pub n_samples: usize,
    /// Sets of traces, none of them empty: the loaders fail on a set without traces.
    pub sets: Vec<Set>,
}

/// A set of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// As [`set_names`] gives it.
    pub name: String,
    /// One a node and component.
    pub traces: Vec<Trace>,
}

/// One component of the displacement of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Number of the node, from 0.
    pub node: i32,
    /// Component, from 0.
    pub component: i32,
    /// Position of the node, m; two components in 2D.
    pub position: [f64; 3],
    /// Where [`History::write`] finds the samples.
    pub column: usize,
}

impl History {
    /// Writes the file; `samples` gives the values of a column, m.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write<I: Iterator<Item = f64>>(&self, path: &Path, samples: impl Fn(usize) -> I) -> Result<(), OutputError> {
        write_atomically(path, |out| {
            begin(out, "%pogo-hist")?;
            section(out, "generalInfo", 4 * 4 + 2 * 8)?;
            let n_sets = self.sets.len() as i32;
            integers(out, &[PRECISION, self.dimension as i32, n_sets, self.n_samples as i32])?;
            reals(out, [self.interval, self.start])?;
            section(out, "measSets", self.sets.iter().map(|set| self.bytes(set)).sum())?;
            for set in &self.sets {
                out.write_all(&text(&set.name, NAME))?;
                integers(out, &[set.traces.len() as i32])?;
                for trace in &set.traces {
                    integers(out, &[trace.node, trace.component])?;
                    reals(out, trace.position.into_iter().take(self.dimension))?;
                    reals(out, samples(trace.column).take(self.n_samples))?;
                }
            }
            Ok(())
        })
    }

    fn bytes(&self, set: &Set) -> u64 {
        (NAME + 4) as u64 + set.traces.len() as u64 * 8 * (1 + self.dimension + self.n_samples) as u64
    }
}

/// Names of sets as a file can hold them: at most 19 characters of ASCII, and different from each other after what the
/// loaders make of them, which are names of MATLAB's fields. Any others lose their end, or get a number at their end.
pub fn set_names(names: &[&str]) -> Vec<String> {
    let mut fields = HashSet::new();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let plain: String = name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '_' }).collect();
        // No field begins with a line.
        let plain = match plain.trim() {
            "" => "set".to_owned(),
            _ if plain.starts_with('_') => format!("s{plain}"),
            _ => plain,
        };
        let mut number = 1;
        let name = loop {
            let end = if number == 1 { String::new() } else { format!("_{number}") };
            let kept = plain.len().min(NAME - 1 - end.len());
            let name = format!("{}{end}", &plain[..kept]);
            if fields.insert(field_name(&name)) {
                break name;
            }
            number += 1;
        };
        found.push(name);
    }
    found
}

/// The field that the loaders make of a name: a point becomes `p`, signs at the front `s`, and other signs that stand together
/// `_`; `n` goes before a digit at the front.
fn field_name(name: &str) -> String {
    let mut field = String::new();
    let mut in_signs = false;
    for c in name.trim_end().replace('.', "p").chars() {
        let is_sign = !c.is_ascii_alphanumeric() && c != '_';
        match (is_sign, in_signs) {
            (true, false) => field.push(if field.is_empty() { 's' } else { '_' }),
            (true, true) => {}
            (false, _) => field.push(c),
        }
        in_signs = is_sign;
    }
    let starts_with_digit = field.starts_with(|c: char| c.is_ascii_digit());
    if starts_with_digit { format!("n{field}") } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart_as_fields() {
        let names = [
            ("top line", "top line"),
            ("top--line", "top--line_2"),
            ("7.5_mm", "7.5_mm"),
            ("n7p5_mm", "n7p5_mm_2"),
            ("A-NAME-OF-MORE-THAN-19", "A-NAME-OF-MORE-THAN"),
            ("A-NAME-OF-MORE-THAN-20", "A-NAME-OF-MORE-TH_2"),
            ("", "set"),
            ("ä", "s_"),
            ("-x", "-x"),
            ("sx", "sx_2"),
        ];
        let found = set_names(&names.map(|(given, _)| given));
        assert_eq!(found, names.map(|(_, expected)| expected));
        let fields: HashSet<String> = found.iter().map(|name| field_name(name)).collect();
        assert_eq!(fields.len(), names.len());
    }
}

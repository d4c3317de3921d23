//! The table of a study's cases, `study.csv`.

use std::path::Path;

use pogo_formats::write::write_atomically;
use serde_json::Value;

use super::Case;
use super::collect::Collected;
use super::record::{RUNNING, Record};
use crate::error::SolveError;
use crate::folder::{is_in_use, locked};

/// Name of the file.
pub(super) const FILE_NAME: &str = "study.csv";
/// Name of the file that a process locks while it writes the table.
const LOCK: &str = ".study.lock";

/// Reads what is known of the cases and writes `case,status,seconds,message`, then one column a parameter, then one column
/// a result. Whatever process ends last, its table has all cases: each process writes what it knows of a case before it
/// waits for the lock.
///
/// # Errors
/// The table cannot be written.
pub(super) fn update(
    folder: &Path,
    cases: &[Case],
    collect: &[Collected],
    known: &mut [Option<Record>],
    is_of: impl Fn(usize, &Record) -> bool,
) -> Result<(), SolveError> {
    locked(&folder.join(LOCK), || {
        for (index, (case, known)) in cases.iter().zip(&mut *known).enumerate() {
            // What has ended stays as it is.
            if known.as_ref().is_some_and(Record::is_finished) {
                continue;
            }
            let folder = folder.join(&case.name);
            *known = Record::read(&folder).filter(|record| is_of(index, record));
            if let Some(record) = known.as_mut().filter(|record| record.is_finished()) {
                // Another process may have been asked for other columns.
                record.collect(&folder, collect);
            }
            if let Some(record) = known.as_mut().filter(|record| record.status == RUNNING && !is_in_use(&folder)) {
                record.status = "interrupted".into();
                record.message = "its process was ended; run the study again, with --restart to go on".into();
            }
        }
        let text = text(cases, collect, known);
        write_atomically(&folder.join(FILE_NAME), |out| std::io::Write::write_all(out, text.as_bytes()))?;
        Ok(())
    })
}

fn text(cases: &[Case], collect: &[Collected], known: &[Option<Record>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in cases.iter().flat_map(|case| &case.assignments) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let columns = columns(collect, known);
    let mut text = String::from("case,status,seconds,message");
    for name in names.iter().copied().chain(columns.iter().map(|(head, _)| *head)) {
        text += ",";
        text += &quote(name);
    }
    text += "\n";
    let mut unknown = Record::default();
    unknown.status = "pending".into();
    for (case, record) in cases.iter().zip(known) {
        let record = record.as_ref().unwrap_or(&unknown);
        let Record { status, seconds, message, .. } = record;
        text += &format!("{},{status},{seconds:.3},{}", quote(&case.name), quote(message));
        for name in &names {
            // Of several assignments of one name the last holds.
            let value = case.assignments.iter().rev().find(|(assigned, _)| assigned == name);
            text += ",";
            text += &quote(value.map_or("", |(_, value)| value));
        }
        for (_, item) in &columns {
            text += ",";
            text += &record.value(item).map_or_else(String::new, cell);
        }
        text += "\n";
    }
    text
}

/// Heads and texts of the columns of results: those asked for, else the usual ones of all cases.
fn columns<'a>(collect: &'a [Collected], known: &'a [Option<Record>]) -> Vec<(&'a str, &'a str)> {
    if !collect.is_empty() {
        return collect.iter().map(|item| (item.head.as_str(), item.text.as_str())).collect();
    }
    let mut columns = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for text in known.iter().flatten().flat_map(Record::usual) {
        if seen.insert(text) {
            columns.push((text, text));
        }
    }
    columns
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quote(text),
        value => value.to_string(),
    }
}

/// A CSV field.
pub(crate) fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

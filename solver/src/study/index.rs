//! The table of a study's cases, `study.csv`.

use std::path::Path;

use pogo_formats::write::write_atomically;

use crate::CaseOutcome;
use crate::error::SolveError;

/// `case,status,seconds,message`, then one column a parameter.
pub(super) fn write(path: &Path, outcomes: &[CaseOutcome]) -> Result<(), SolveError> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in outcomes.iter().flat_map(|outcome| &outcome.case.assignments) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = String::from("case,status,seconds,message");
    for name in &names {
        text += ",";
        text += &quote(name);
    }
    text += "\n";
    for outcome in outcomes {
        let (status, seconds, message) = match &outcome.result {
            None => ("pending", 0.0, ""),
            Some(Err(message)) => ("failed", 0.0, message.as_str()),
            Some(Ok(summary)) => {
                (summary.ending.status.name(), summary.seconds, summary.ending.message.as_deref().unwrap_or_default())
            }
        };
        text += &format!("{},{status},{seconds:.3},{}", quote(&outcome.case.name), quote(message));
        for name in &names {
            // Of several assignments of one name the last holds.
            let value = outcome.case.assignments.iter().rev().find(|(assigned, _)| assigned == name);
            text += ",";
            text += &quote(value.map_or("", |(_, value)| value));
        }
        text += "\n";
    }
    write_atomically(path, |out| std::io::Write::write_all(out, text.as_bytes()))?;
    Ok(())
}

/// A CSV field.
pub(crate) fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.into() }
}

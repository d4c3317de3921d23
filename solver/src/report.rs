//! `report.html`: what all kinds of physics put into it.

use std::sync::Mutex;

use pogo_formats::physics::BlockFile;
use pogo_formats::write::report::{Curve, NAME, Report};
use pogo_formats::write::summary::{Ending, Status};

use crate::Solve;
use crate::call::Call;
use crate::config::Settings;
use crate::error::SolveError;

/// An empty report, where one is asked for, with what the block file says of its origin.
pub(crate) fn begin<P: Solve>(file: &BlockFile<P>, settings: &Settings) -> Option<Mutex<Report>> {
    settings.report.then(|| {
        let mut report = Report::new("", String::new());
        report.provenance(file.container().provenance());
        Mutex::new(report)
    })
}

/// Adds the summary, and writes the page.
pub(crate) fn finish(call: &Call<'_>, summary: &str, ending: &Ending, warnings: &[String]) -> Result<(), SolveError> {
    let Some(mut report) = call.report() else { return Ok(()) };
    let parsed: serde_json::Value = serde_json::from_str(summary).unwrap_or_default();
    let word = |key: &str| parsed[key].as_str().unwrap_or_default().to_owned();
    report.title = word("title");
    if report.title.is_empty() {
        report.title = call.block_file.path.clone();
    }
    let case = call.case.as_ref().map_or_else(String::new, |case| format!(", case {case}"));
    report.subtitle =
        format!("{} solved by Pogo {}{case}: {}", call.block_file.path, word("version"), ending.status.name());
    report.problem = match ending.status {
        Status::Completed => String::new(),
        status => ending.message.clone().unwrap_or_else(|| status.name().to_owned()),
    };
    report.warnings = warnings.to_vec();
    report.tables.insert(0, ("Summary".into(), summary.to_owned()));
    report.commands.push(("This run:".into(), vec![command(call)]));
    Ok(report.write(&call.folder.join(NAME))?)
}

/// The command that gives this run again.
fn command(call: &Call<'_>) -> String {
    let words: Vec<String> = if call.case.is_none() && !call.config.command.is_empty() {
        call.config.command.clone()
    } else {
        let mut words = vec!["pogo-solve".to_owned(), call.block_file.path.clone()];
        words.extend(call.overrides.iter().flat_map(|assignment| ["--set".to_owned(), assignment.clone()]));
        words.extend(["-o".to_owned(), call.folder.display().to_string()]);
        words
    };
    words.iter().map(|word| quote_shell(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back.
fn quote_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The columns of a table of numbers over its first column, which is multiplied by `factor`. The first line has the names; lines
/// that begin with `#` are left out.
pub(crate) fn columns(csv: &str, factor: f64) -> Vec<Curve> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<String> =
        lines.next().unwrap_or_default().split(',').map(|name| name.trim_matches('"').into()).collect();
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|field| field.parse().unwrap_or(f64::NAN)).collect()).collect();
    let column = |at: usize| rows.iter().map(|row| row.get(at).copied().unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let across: Vec<f64> = column(0).iter().map(|x| factor * x).collect();
    let curves = names.iter().enumerate().skip(1);
    curves.map(|(at, name)| Curve::new(name.clone(), across.clone(), column(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quote_shell("material.a.young=1e9"), "material.a.young=1e9");
        assert_eq!(quote_shell("it's a b"), "'it'\\''s a b'");
        assert_eq!(quote_shell(""), "''");
    }

    #[test]
    fn columns_of_a_table_are_curves() {
        let curves = columns("# units\ntime,\"A\",B\n0,1,2\n1e-3,3,x\n", 1000.0);
        assert_eq!(curves[0], Curve::new("A", vec![0.0, 1.0], vec![1.0, 3.0]));
        assert!(curves.len() == 2 && curves[1].y[1].is_nan());
    }
}

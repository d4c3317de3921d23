//! CSV tables of cases, as spreadsheets and scripts write them.
//!
//! The first line names the columns. `#` begins a comment. Fields may be in double quotes. They are separated by commas,
//! or as the heading is by semicolons, with decimal commas, or tabs.

use std::path::{Path, PathBuf};

use crate::system::inputs;

/// A table with a heading and at least one row.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvTable {
    path: PathBuf,
    separator: char,
    columns: Vec<String>,
    /// Line of the heading, from 1.
    pub heading: usize,
    /// The rows, each with its line, from 1, and as many fields as there are columns.
    pub rows: Vec<(usize, Vec<String>)>,
}

impl CsvTable {
    /// Reads a table whose columns are among `known`; `example` is a heading, `what` says what the table holds.
    ///
    /// # Errors
    /// `file:line: error: …`: a file that cannot be read, no text, no heading, no row, an unknown column or one that is
    /// there twice, a row with more or fewer fields than columns.
    pub fn read(path: &Path, known: &[&str], (what, example): (&str, &str)) -> Result<Self, String> {
        let name = path.display();
        let text = inputs::read(path).map_err(|error| format!("{name}: error: {error}"))?;
        let text = String::from_utf8(text)
            .map_err(|_| format!("{name}: error: it is no text; a CSV table of {what} is expected"))?;
        // Spreadsheets write a mark before the first column's name.
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = (1..)
            .zip(text.lines())
            .map(|(number, line): (usize, &str)| (number, line.split('#').next().unwrap_or_default().trim()))
            .filter(|(_, line)| !line.is_empty());
        let (heading, names) = lines.next().ok_or_else(|| {
            format!("{name}:1: error: the table is empty; its first line names the columns, such as {example}")
        })?;
        let separator = [';', '\t'].into_iter().find(|&other| names.contains(other)).unwrap_or(',');
        let columns: Vec<String> = fields(names, separator).iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut table = Self { path: path.to_owned(), separator, columns, heading, rows: Vec::new() };
        for (at, column) in table.columns.iter().enumerate() {
            if !known.contains(&column.as_str()) {
                return Err(table.error(heading, &format!("column `{column}` is none of {}", known.join(", "))));
            }
            if table.columns[..at].contains(column) {
                return Err(table.error(heading, &format!("there are two columns `{column}`; keep one")));
            }
        }
        for (line, text) in lines {
            let fields = fields(text, separator);
            let (found, expected) = (fields.len(), table.columns.len());
            if found != expected {
                return Err(table.error(line, &format!("{found} fields under {expected} headings")));
            }
            table.rows.push((line, fields));
        }
        if table.rows.is_empty() {
            return Err(table.error(heading, "there is no row under the heading"));
        }
        Ok(table)
    }

    /// A message about a line.
    pub fn error(&self, line: usize, message: &str) -> String {
        format!("{}: error: {message}", self.place(line))
    }

    /// `file:line`.
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// Where a column is in a row.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|found| found == name)
    }

    /// A field as a finite number.
    ///
    /// # Errors
    /// It is none; a message without its place.
    pub fn number(&self, field: &str) -> Result<f64, String> {
        let text = if self.separator == ';' { field.replace(',', ".") } else { field.to_owned() };
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| format!("`{field}` is no finite number"))
    }
}

/// Fields of a line without the blanks round them; in double quotes a separator is a character, and two quotes are one.
fn fields(line: &str, separator: char) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let (Some(character), Some(field)) = (characters.next(), fields.last_mut()) {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            _ if character == separator && !quoted => fields.push(String::new()),
            _ => field.push(character),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}

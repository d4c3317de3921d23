//! The text of one or several job files, merged, and the tables in it.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{JobError, Located, Place};
use crate::system::inputs;

/// Single tables whose keys a later file overrides one by one. A later file replaces every other single table as a whole.
const SETTINGS: [&str; 2] = ["solver", "output"];

/// One file, behind as many line ends as there are bytes in the files before it, so that an offset belongs to one file.
#[derive(Debug, Clone)]
struct File {
    name: Arc<str>,
    folder: Arc<Path>,
    start: usize,
    text: String,
}

/// One or several job files; later files win.
#[derive(Debug, Clone, Default)]
pub struct JobText {
    files: Vec<File>,
}

impl JobText {
    /// Reads files.
    ///
    /// # Errors
    /// [`JobError`] for a file that cannot be read.
    pub fn read(paths: &[impl AsRef<Path>]) -> Result<Self, JobError> {
        let mut all = Self::default();
        all.add_files(paths)?;
        Ok(all)
    }

    /// Reads files that win over what is there.
    ///
    /// # Errors
    /// [`JobError`] for a file that cannot be read.
    pub fn add_files(&mut self, paths: &[impl AsRef<Path>]) -> Result<(), JobError> {
        for path in paths.iter().map(AsRef::as_ref) {
            let name = path.display().to_string();
            let error = |message| JobError { file: name.clone(), line: 0, message };
            // A job is read more than once, which a pipe does not allow.
            if path.metadata().is_ok_and(|found| !found.is_file()) {
                return Err(error("this job is no file but a folder or a pipe: save it as a file".into()));
            }
            let text = inputs::read_to_string(path).map_err(|why| error(format!("cannot read this job: {why}")))?;
            self.add(&text, &name, path.parent().unwrap_or(Path::new("")));
        }
        Ok(())
    }

    /// Adds a later file; `name` is the file as errors show it, `folder` what its file names are relative to.
    pub fn add(&mut self, text: &str, name: &str, folder: &Path) {
        let start = self.files.last().map_or(0, |file| file.text.len() + 1);
        let text = "\n".repeat(start) + text.strip_prefix('\u{feff}').unwrap_or(text);
        self.files.push(File { name: name.into(), folder: folder.into(), start, text });
    }

    /// The place of an offset.
    pub(super) fn place(&self, offset: usize) -> Place {
        let Some(file) = self.files.iter().rfind(|file| file.start <= offset) else {
            return Place { file: "".into(), line: 0, folder: Path::new("").into() };
        };
        let before = &file.text.as_bytes()[file.start..offset.min(file.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Place { file: file.name.clone(), line, folder: file.folder.clone() }
    }

    /// The TOML library's error as one of ours. Its message has one or several lines.
    fn error(&self, error: &toml::de::Error, start: usize) -> JobError {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        self.place(error.span().map_or(start, |span| span.start)).error(message)
    }

    /// The merged tables.
    ///
    /// # Errors
    /// [`JobError`] for TOML that is malformed, and for numbers that are not finite.
    pub fn tables(&self) -> Result<Tables<'_>, JobError> {
        let mut root = DeTable::new();
        for file in &self.files {
            let found = DeTable::parse(&file.text).map_err(|error| self.error(&error, file.start))?;
            let values = found.get_ref().iter().map(|(_, value)| value);
            if let Some(start) = values.filter_map(not_finite).min() {
                return Err(self.place(start).error("this number is not finite"));
            }
            merge(&mut root, found.into_inner());
        }
        Ok(Tables { text: self, root })
    }
}

/// Where a number stands that is `nan`, `inf` or too large: legal TOML that no job means.
fn not_finite(value: &Spanned<DeValue<'_>>) -> Option<usize> {
    match value.get_ref() {
        DeValue::Float(number) => {
            let finite = number.as_str().replace('_', "").parse::<f64>().is_ok_and(f64::is_finite);
            (!finite).then_some(value.span().start)
        }
        DeValue::Array(items) => items.iter().find_map(not_finite),
        DeValue::Table(table) => table.iter().find_map(|(_, item)| not_finite(item)),
        _ => None,
    }
}

fn name_of<'a>(table: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    table.get_ref().get("name").and_then(|name| name.get_ref().as_str())
}

/// Adds what a later file says. Of repeated tables such as `[[material]]`, a later one replaces the earlier ones of the
/// same name, and is appended otherwise.
fn merge<'a>(root: &mut DeTable<'a>, later: DeTable<'a>) {
    for (key, value) in later {
        let setting = SETTINGS.contains(&key.get_ref().as_ref());
        let (span, value) = (value.span(), value.into_inner());
        let merged = match (root.remove(key.get_ref().as_ref()).map(Spanned::into_inner), value) {
            (Some(DeValue::Array(mine)), DeValue::Array(theirs)) => {
                let replaced = |item: &Spanned<DeValue<'a>>| {
                    let same =
                        |name: &str| theirs.iter().filter_map(name_of).any(|other| other.eq_ignore_ascii_case(name));
                    name_of(item).is_some_and(same)
                };
                let kept: Vec<_> = mine.into_iter().filter(|item| !replaced(item)).collect();
                DeValue::Array(kept.into_iter().chain(theirs).collect())
            }
            (Some(DeValue::Table(mut mine)), DeValue::Table(theirs)) if setting => {
                for (key, value) in theirs {
                    mine.insert(key, value);
                }
                DeValue::Table(mine)
            }
            (_, value) => value,
        };
        root.insert(key, Spanned::new(span, merged));
    }
}

/// Lines of a file of numbers that a job names, as their fields, with the numbers of the lines. Comments, and a heading on the
/// first line that says something, are left out.
pub(crate) fn rows_of_numbers(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let mut may_be_heading = true;
    // Spreadsheets begin with a byte order mark.
    (1..).zip(text.trim_start_matches('\u{feff}').lines()).filter_map(move |(number, line)| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if may_be_heading && line.starts_with(|c: char| c.is_alphabetic() || c == '"') {
            return None;
        }
        may_be_heading = false;
        let is_separator = |c: char| c == ',' || c == ';' || c.is_whitespace();
        Some((number, line.split(is_separator).filter(|field| !field.is_empty()).collect()))
    })
}

/// The tables of a job, taken one by one.
#[derive(Debug)]
pub struct Tables<'a> {
    text: &'a JobText,
    root: DeTable<'a>,
}

impl Tables<'_> {
    /// Refuses keys and headings that are not among these.
    pub(super) fn expect(&self, known: &[&str]) -> Result<(), JobError> {
        let unknown = self.root.iter().map(|(key, _)| key).filter(|key| !known.contains(&key.get_ref().as_ref()));
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => {
                let known = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let message = format!("unknown field `{}`, expected one of {known}", key.get_ref());
                Err(self.text.place(key.span().start).error(message))
            }
        }
    }

    /// Keys and headings, in any order.
    pub(super) fn names(&self) -> Vec<String> {
        self.root.iter().map(|(key, _)| key.get_ref().to_string()).collect()
    }

    /// Line 1 of the first file, where what is missing is missed.
    pub fn start(&self) -> Place {
        self.text.place(0)
    }

    /// A value, or a table of this heading with its place.
    ///
    /// # Errors
    /// [`JobError`] for a key that does not exist, and a value that makes no sense.
    pub fn get<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<Located<T>>, JobError> {
        self.root.remove(key).map(|value| self.located(value)).transpose()
    }

    /// A table, or its defaults at line 1.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_or_default<T: DeserializeOwned + Default>(&mut self, key: &str) -> Result<Located<T>, JobError> {
        Ok(self.get(key)?.unwrap_or_else(|| Located { place: self.start(), value: T::default() }))
    }

    /// All tables of this heading, such as `[[material]]`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_all<T: DeserializeOwned>(&mut self, key: &str) -> Result<Vec<Located<T>>, JobError> {
        let Some(value) = self.root.remove(key) else { return Ok(Vec::new()) };
        let place = self.text.place(value.span().start);
        match value.into_inner() {
            DeValue::Array(items) => items.into_iter().map(|item| self.located(item)).collect(),
            _ => Err(place.error(format!("expected one or several [[{key}]] tables"))),
        }
    }

    fn located<T: DeserializeOwned>(&self, value: Spanned<DeValue<'_>>) -> Result<Located<T>, JobError> {
        let start = value.span().start;
        let value = T::deserialize(ValueDeserializer::from(value)).map_err(|error| self.text.error(&error, start))?;
        Ok(Located { place: self.text.place(start), value })
    }
}

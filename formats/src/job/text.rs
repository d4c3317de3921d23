//! The text of a job of any physics, and where things stand in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::{JobError, Located, Place, check};

/// A job before it is understood.
#[derive(Debug, Clone)]
pub(crate) struct JobText {
    /// The file, as errors show it.
    name: Arc<str>,
    text: String,
    /// Folder that files named in the job are relative to.
    pub(crate) folder: PathBuf,
}

impl JobText {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, JobError> {
        let name = path.display().to_string();
        // A job is read more than once.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            let message = "this job is no file but a folder or a pipe: save it as a file".into();
            return Err(JobError { file: name, line: 0, message });
        }
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self::new(&text, &name, path.parent().unwrap_or(Path::new("")))),
            Err(error) => Err(JobError { file: name, line: 0, message: format!("cannot read this job: {error}") }),
        }
    }

    pub(crate) fn new(text: &str, name: &str, folder: &Path) -> Self {
        Self { name: Arc::from(name), text: text.to_owned(), folder: folder.to_path_buf() }
    }

    /// The tables and keys, all numbers finite.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, JobError> {
        check::numbers_are_finite(&self.text, &self.name)?;
        toml::from_str(&self.text).map_err(|error| check::toml_error(&self.text, &self.name, &error))
    }

    /// A line, by an offset in the text.
    pub(crate) fn place(&self, start: usize) -> Place {
        Place { file: self.name.clone(), line: check::line_of(&self.text, start) }
    }

    /// A table and the line of its heading.
    pub(crate) fn locate<T>(&self, item: Spanned<T>) -> Located<T> {
        Located { place: self.place(item.span().start), value: item.into_inner() }
    }

    /// Tables and the lines of their headings.
    pub(crate) fn locate_all<T>(&self, items: Vec<Spanned<T>>) -> Vec<Located<T>> {
        items.into_iter().map(|item| self.locate(item)).collect()
    }

    /// A table, or its defaults at line 1.
    pub(crate) fn locate_or_default<T: Default>(&self, item: Option<Spanned<T>>) -> Located<T> {
        item.map_or_else(|| Located { place: self.place(0), value: T::default() }, |item| self.locate(item))
    }
}

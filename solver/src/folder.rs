//! The folder of a run's results: whatever is in it belongs to the summary beside it.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::SolveError;

/// Name of the file that lists all others.
pub(crate) const SUMMARY: &str = "summary.json";

/// A folder while a run fills it.
pub(crate) struct ResultFolder {
    path: PathBuf,
    /// Files of an earlier run.
    old: Vec<String>,
}

impl ResultFolder {
    /// Takes the folder over: the summary of an earlier run is removed at once, its other files when this run is done.
    pub fn take(path: &Path) -> Self {
        let summary = path.join(SUMMARY);
        let old = listed_files(&summary);
        drop(std::fs::remove_file(summary));
        Self { path: path.into(), old }
    }

    /// Adds the summary and those earlier files that `stay` to `files`, and removes the other earlier ones.
    pub fn settle(self, files: &mut Vec<String>, stay: impl Fn(&str) -> bool) {
        files.push(SUMMARY.into());
        for old in self.old {
            if files.contains(&old) {
                continue;
            }
            if stay(&old) {
                files.push(old);
            } else {
                drop(std::fs::remove_file(self.path.join(old)));
            }
        }
    }
}

/// Creates a folder for results, if it is not there.
pub(crate) fn create_folder(folder: &Path) -> Result<(), SolveError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let source = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::new(error.kind(), "it is not a folder; give another name for the results with -o")
            }
            _ => error,
        };
        SolveError::Io { path: folder.into(), source }
    })
}

/// Files of an earlier run in this folder, by its summary.
fn listed_files(summary: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(summary) else { return Vec::new() };
    let Ok(summary) = serde_json::from_str::<serde_json::Value>(&text) else { return Vec::new() };
    let names = summary["files"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    // Never anything outside the folder, whatever the file says.
    names.filter(|name| Path::new(name).file_name() == Some(name.as_ref())).map(str::to_owned).collect()
}

//! The folder of a run's results: whatever is in it belongs to the summary beside it.

use std::path::{Path, PathBuf};

use pogo_formats::write::summary::BlockFileSummary;

/// Name of the file that lists all others.
const SUMMARY: &str = "summary.json";

/// A folder while a run fills it.
pub(crate) struct ResultFolder {
    path: PathBuf,
    /// Files of an earlier run.
    old: Vec<String>,
}

impl ResultFolder {
    /// Takes the folder over: the summary of an earlier run goes at once, its other files when this run is done.
    pub fn take(path: &Path) -> Self {
        let summary = path.join(SUMMARY);
        let old = listed_files(&summary);
        drop(std::fs::remove_file(summary));
        Self { path: path.into(), old }
    }

    /// Adds the summary and those earlier files that `stay` to `files`, removes the other earlier ones, and returns the
    /// summary's path.
    pub fn settle(self, files: &mut Vec<String>, stay: impl Fn(&str) -> bool) -> PathBuf {
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
        self.path.join(SUMMARY)
    }
}

/// Files of an earlier run in this folder, by its summary.
fn listed_files(summary: &Path) -> Vec<String> {
    let Ok(text) = std::fs::read_to_string(summary) else { return Vec::new() };
    let Ok(summary) = serde_json::from_str::<serde_json::Value>(&text) else { return Vec::new() };
    let names = summary["files"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    // Never anything outside the folder, whatever the file says.
    names.filter(|name| Path::new(name).file_name() == Some(name.as_ref())).map(str::to_owned).collect()
}

/// `#` lines of the text files: what was solved, by what, with which changes.
pub(crate) fn provenance(
    title: &str,
    block_file: &BlockFileSummary,
    case: Option<&str>,
    overrides: &[String],
) -> Vec<String> {
    let mut lines = vec![format!("Pogo {}", pogo_formats::VERSION)];
    if !title.is_empty() {
        lines.push(format!("title: {title}"));
    }
    lines.push(format!("block file: {} ({}), from {}", block_file.path, block_file.hash, block_file.source));
    lines.extend(case.map(|case| format!("case: {case}")));
    lines.extend(overrides.iter().map(|assignment| format!("set: {assignment}")));
    lines
}

/// Largest resident memory of this process so far, bytes (Linux).
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

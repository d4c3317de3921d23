//! Which physics a job is for: one rule for every tool.

use std::path::Path;

use super::{JobError, JobText, Located};

/// The top-level key `physics`, as the last of these files that has it says it; none where they leave the physics to the
/// kind of the input.
///
/// # Errors
/// [`JobError`] for a file that cannot be read, and TOML that is malformed.
pub fn physics(paths: &[impl AsRef<Path>]) -> Result<Option<Located<toml::Value>>, JobError> {
    JobText::read(paths)?.tables()?.get("physics")
}

/// Names of all tables and keys on the first level of these files.
///
/// # Errors
/// As [`physics`].
pub fn table_names(paths: &[impl AsRef<Path>]) -> Result<Vec<String>, JobError> {
    Ok(JobText::read(paths)?.tables()?.names())
}

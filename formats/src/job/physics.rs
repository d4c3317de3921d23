//! Which physics a job is for: one rule for every tool.
//!
//! The top-level key `physics` of a job says it: `"spring"` or `"eikonal"`. Without the key, a deck is a model of explicit
//! dynamics and a voxel stack one of statics.

use std::path::Path;

use toml::Table;

use super::{JobError, check};

/// Physics that a job has to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physics {
    /// Mass-spring-damper.
    Spring,
    /// The Eikonal equation.
    Eikonal,
}

/// The physics that this job asks for; none where it leaves it to the input.
///
/// # Errors
/// [`JobError`] for a file that cannot be read, TOML that is malformed, and a word that is none of them.
pub fn physics(path: &Path) -> Result<Option<Physics>, JobError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| JobError {
        file: name.clone(),
        line: 0,
        message: format!("cannot read this job: {error}"),
    })?;
    physics_of(&text, &name)
}

/// As [`physics`], of the text of a job; `name` is the file as errors show it.
///
/// # Errors
/// As [`physics`].
pub fn physics_of(text: &str, name: &str) -> Result<Option<Physics>, JobError> {
    let table: Table = toml::from_str(text).map_err(|error| check::toml_error(text, name, &error))?;
    match table.get("physics") {
        None => Ok(None),
        Some(toml::Value::String(word)) if word == "spring" => Ok(Some(Physics::Spring)),
        Some(toml::Value::String(word)) if word == "eikonal" => Ok(Some(Physics::Eikonal)),
        Some(other) => {
            let line =
                text.lines().position(|line| line.trim_start().starts_with("physics")).map_or(0, |line| line + 1);
            let message = format!(
                "physics = {other}: write \"spring\" or \"eikonal\", or leave the key out (a deck is explicit dynamics, a voxel \
                 stack statics)"
            );
            Err(JobError { file: name.to_owned(), line, message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_decides() {
        assert_eq!(physics_of("title = \"a\"", "j"), Ok(None));
        assert_eq!(physics_of("title = \"a\"\nphysics = \"spring\"", "j"), Ok(Some(Physics::Spring)));
        assert_eq!(physics_of("physics = \"eikonal\"", "j"), Ok(Some(Physics::Eikonal)));
        let error = physics_of("title = \"a\"\nphysics = \"heat\"", "j.toml").unwrap_err().to_string();
        assert!(error.starts_with("j.toml:2: error: physics = \"heat\"") && error.contains("spring"), "{error}");
    }
}

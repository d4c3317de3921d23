//! Which physics a job is for: one rule for every tool.
//!
//! The top-level key `physics` of a job says it: `"spring"` or `"eikonal"`. Without the key, a deck is a model of explicit
//! dynamics and a voxel stack one of statics.

use std::path::Path;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::JobError;
use super::text::JobText;

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
    asked_for(&JobText::read(path)?)
}

/// As [`physics`], of the text of a job; `name` is the file as errors show it.
///
/// # Errors
/// As [`physics`].
pub fn physics_of(text: &str, name: &str) -> Result<Option<Physics>, JobError> {
    asked_for(&JobText::new(text, name, Path::new("")))
}

#[derive(Deserialize)]
struct Key {
    physics: Option<Spanned<Value>>,
}

fn asked_for(text: &JobText) -> Result<Option<Physics>, JobError> {
    let Some(key) = text.parse::<Key>()?.physics else { return Ok(None) };
    match key.get_ref().as_str() {
        Some("spring") => Ok(Some(Physics::Spring)),
        Some("eikonal") => Ok(Some(Physics::Eikonal)),
        _ => Err(text.place(key.span().start).error(format!(
            "physics = {}: write \"spring\" or \"eikonal\", or leave the key out (a deck is explicit dynamics, a voxel \
             stack statics)",
            key.get_ref()
        ))),
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

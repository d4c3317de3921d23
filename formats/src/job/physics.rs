//! Which physics a job is for: one rule for every tool.
//!
//! The top-level key `physics` of a job says it: `"spring"` or `"eikonal"`. Without the key, a deck is a model of explicit
//! dynamics and a voxel stack one of statics.

use std::path::Path;

use super::{JobError, JobText};

/// Physics that a job has to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physics {
    /// Mass-spring-damper.
    Spring,
    /// The Eikonal equation.
    Eikonal,
}

/// The physics that the last of these files that has the key asks for; none where they leave it to the input.
///
/// # Errors
/// [`JobError`] for a file that cannot be read, TOML that is malformed, and a word that is none of them.
pub fn physics(paths: &[impl AsRef<Path>]) -> Result<Option<Physics>, JobError> {
    physics_of(&JobText::read(paths)?)
}

/// As [`physics`], of files that have been read.
///
/// # Errors
/// As [`physics`].
pub fn physics_of(text: &JobText) -> Result<Option<Physics>, JobError> {
    let Some(key) = text.tables()?.get::<toml::Value>("physics")? else { return Ok(None) };
    match key.value.as_str() {
        Some("spring") => Ok(Some(Physics::Spring)),
        Some("eikonal") => Ok(Some(Physics::Eikonal)),
        _ => Err(key.place.error(format!(
            "physics = {}: write \"spring\" or \"eikonal\", or leave the key out (a deck is explicit dynamics, a voxel \
             stack statics)",
            key.value
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_decides() {
        let physics_of = |text: &str, name: &str| {
            let mut all = JobText::default();
            all.add(text, name, Path::new(""));
            super::physics_of(&all)
        };
        assert_eq!(physics_of("title = \"a\"", "j"), Ok(None));
        assert_eq!(physics_of("title = \"a\"\nphysics = \"spring\"", "j"), Ok(Some(Physics::Spring)));
        assert_eq!(physics_of("physics = \"eikonal\"", "j"), Ok(Some(Physics::Eikonal)));
        let error = physics_of("title = \"a\"\nphysics = \"heat\"", "j.toml").unwrap_err().to_string();
        assert!(error.starts_with("j.toml:2: error: physics = \"heat\"") && error.contains("spring"), "{error}");
    }
}

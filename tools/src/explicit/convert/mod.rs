//! Models as inputs of other programs: `.pogo-inp` files of P. Huthwaite's Pogo, and Abaqus decks.
//!
//! The name of the output says which. What a format cannot hold and changes the solution is refused by name; what else it
//! cannot hold is named in a warning.

mod deck;
mod pogo_inp;
mod regions;
mod sampled;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use pogo_formats::explicit::Model;
use pogo_formats::write::OutputError;

use crate::prepare::PrepareError;

/// Most names in a warning.
const MOST_NAMED: usize = 5;

/// Version of a `.pogo-inp` file: 1.07 to 1.15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PogoVersion(u8);

impl PogoVersion {
    const OLDEST: u8 = 7;
    const NEWEST: u8 = 15;

    const fn has(self, minor: u8) -> bool {
        self.0 >= minor
    }
}

impl Default for PogoVersion {
    fn default() -> Self {
        Self(Self::NEWEST)
    }
}

impl fmt::Display for PogoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{:02}", self.0)
    }
}

impl FromStr for PogoVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let versions = || (Self::OLDEST..=Self::NEWEST).map(Self);
        let same = |version: &Self| version.to_string() == text;
        versions().find(same).ok_or_else(|| format!("expected 1.{:02} to 1.{}", Self::OLDEST, Self::NEWEST))
    }
}

/// A kind of input that models are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.pogo-inp`.
    PogoInp,
    /// `.inp`.
    Deck,
}

impl Kind {
    /// The kind that the name of a file asks for; none for a block file.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "pogo-inp" => Some(Self::PogoInp),
            "inp" => Some(Self::Deck),
            _ => None,
        }
    }
}

/// What is found on the way.
#[derive(Debug, Default)]
struct Findings {
    /// What the format cannot hold, and would change the solution.
    problems: Vec<String>,
    /// What else it cannot hold.
    warnings: Vec<String>,
}

impl Findings {
    fn refuse(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Warns about things with these names, if there are any; `what` says what becomes of them.
    fn warn_of(&mut self, names: &[String], what: &str) {
        if names.is_empty() {
            return;
        }
        let more = names.len().saturating_sub(MOST_NAMED);
        let end = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.warn(format!("{what}: {}{end}", names[..names.len().min(MOST_NAMED)].join(", ")));
    }
}

/// A model that a format cannot hold: a line each.
#[derive(Debug)]
struct Refused {
    input: String,
    problems: Vec<String>,
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = format!("\n{}: error: ", self.input);
        f.write_str(&self.problems.join(&between))
    }
}

/// Writes a model as another input; gives the length of the file in bytes and warnings.
///
/// # Errors
/// The format cannot hold the model, or the file cannot be written.
pub fn save(
    model: &Model,
    kind: Kind,
    version: PogoVersion,
    input: &Path,
    output: &Path,
) -> Result<(u64, Vec<String>), PrepareError> {
    let mut findings = Findings::default();
    if model.mesh.view().has_fluid() {
        let problems = vec!["fluids are not written as another input".to_owned()];
        return Err(PrepareError::model(input, Refused { input: input.display().to_string(), problems }));
    }
    let written = match kind {
        Kind::PogoInp => pogo_inp::save(model, version, output, &mut findings),
        Kind::Deck => deck::save(model, output, &mut findings),
    };
    if !findings.problems.is_empty() {
        let mut seen = std::collections::HashSet::new();
        findings.problems.retain(|problem| seen.insert(problem.clone()));
        let refused = Refused { input: input.display().to_string(), problems: findings.problems };
        return Err(PrepareError::model(input, refused));
    }
    written.map_err(PrepareError::Written)?;
    Ok((output.metadata().map_or(0, |metadata| metadata.len()), findings.warnings))
}

/// What writers give: nothing is written where there are problems.
type Written = Result<(), OutputError>;

//! What reading a deck tells the user: notes, problems, and the counts of `pogo-block --check`.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::Deck;

/// A remark about one place in a deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Note {
    /// File as the user would name it; empty when the remark is about no file in particular.
    pub file: String,
    /// Line from 1; 0 when it is about the file as a whole.
    pub line: u64,
    /// What it says.
    pub text: String,
    /// Probably not meant so, rather than merely worth knowing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_warning: bool,
}

impl Note {
    pub(crate) fn new(file: impl Into<String>, line: u64, text: impl Into<String>) -> Self {
        Self { file: file.into(), line, text: text.into(), is_warning: false }
    }

    fn worded(&self, kind: &str) -> String {
        let Self { file, line, text, .. } = self;
        match (file.is_empty(), line) {
            (true, _) => format!("{kind}: {text}"),
            (false, 0) => format!("{file}: {kind}: {text}"),
            (false, line) => format!("{file}:{line}: {kind}: {text}"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(if self.is_warning { "warning" } else { "note" }))
    }
}

/// Everything that is wrong with a deck; prints one `file:line: error: …` a line.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", problems.iter().map(|problem| problem.worded("error")).collect::<Vec<_>>().join("\n"))]
pub struct DeckError {
    /// Problems, by file and line; never empty.
    pub problems: Vec<Note>,
    /// The counts, where reading got that far.
    pub report: Option<Box<DeckReport>>,
    /// What could be read of a deck whose included files are all there, to look for further reasons.
    pub(crate) deck: Option<Box<Deck>>,
}

impl DeckError {
    /// One problem with a whole file.
    pub fn new(file: &str, text: &str) -> Self {
        Self { problems: vec![Note::new(file, 0, text)], report: None, deck: None }
    }
}

/// What became of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum KeywordUse {
    /// Its data are in the deck.
    Read,
    /// Changes nothing here (printing, restart files, …).
    NoEffect,
    /// Left out because the user said so.
    Ignored,
    /// Changes the physics and is not supported.
    Refused,
}

/// How often a keyword occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct KeywordCount {
    /// Upper case, single blanks, no asterisk.
    pub keyword: String,
    /// How often it stands in the deck.
    pub count: u64,
    /// File of the first.
    pub file: String,
    /// Line of the first.
    pub line: u64,
    /// What became of it.
    pub used: KeywordUse,
}

/// How many elements of a type the deck writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ElementCount {
    /// Upper case.
    pub name: String,
    /// Elements; a part counts once.
    pub count: u64,
    /// Pogo computes this type.
    pub supported: bool,
    /// File of the first `*ELEMENT` of this type.
    pub file: String,
    /// Its line.
    pub line: u64,
}

/// A set and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct SetCount {
    /// Name; `INSTANCE.SET` inside an instance.
    pub name: String,
    /// Nodes or elements in it.
    pub count: u64,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// `NAME=`, or empty.
    pub name: String,
    /// The procedure's keyword line, such as `DYNAMIC, EXPLICIT`; empty when there is none.
    pub procedure: String,
}

/// What is in a deck: the counts that `pogo-block --check` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct DeckReport {
    /// First line under `*HEADING`.
    pub title: String,
    /// Bytes read, included files too.
    pub bytes: u64,
    /// Files read, the deck first.
    pub files: Vec<String>,
    /// Where they are.
    #[serde(skip)]
    pub paths: Vec<PathBuf>,
    /// Lines under `*NODE`; a part counts once.
    pub node_lines: u64,
    /// Elements under `*ELEMENT` by type, in the order of first appearance.
    pub elements: Vec<ElementCount>,
    /// Nodes after instancing.
    pub n_nodes: u64,
    /// Elements of the types that Pogo computes, after instancing.
    pub n_elements: u64,
    /// Node sets after instancing.
    pub node_sets: Vec<SetCount>,
    /// Element sets after instancing.
    pub element_sets: Vec<SetCount>,
    /// Names under `*MATERIAL`.
    pub materials: Vec<String>,
    /// Steps.
    pub steps: Vec<StepReport>,
    /// Keywords, in the order of first appearance.
    pub keywords: Vec<KeywordCount>,
    /// What else the file says of itself: name of the run, notes, metadata.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<(String, String)>,
}

impl DeckReport {
    /// Elements under `*ELEMENT`, all types.
    pub fn element_lines(&self) -> u64 {
        self.elements.iter().map(|e| e.count).sum()
    }
}

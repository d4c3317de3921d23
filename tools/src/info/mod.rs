//! Showing a block file: one frame for every physics.
//!
//! A physics implements [`Inspect`], which gives the figures that are its own. [`show`] adds what all block files have in
//! common and prints the page, JSON, parameters, sets or the result of a check.

mod page;
pub mod words;

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use pogo_formats::block::BlockError;
use pogo_formats::parameters;
use pogo_formats::physics::{BlockFile, Physics};
use pogo_formats::words::{counted, grouped};
use serde::Serialize;

use crate::picture::{PictureError, PictureOptions};

pub use page::{Count, Item, Sets, bounding_box, extent, items, line, list, number, parameters_text, size};

/// What to show of a block file.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Verify every checksum, and all tables against each other.
    pub check: bool,
    /// List the parameters that can change from run to run.
    pub parameters: bool,
    /// List the sets.
    pub sets: bool,
    /// File to draw the blocks into.
    pub picture: Option<PathBuf>,
    /// How to draw them.
    pub picture_options: PictureOptions,
    /// Build the grid of a voxel model in every representation, and measure them.
    pub grids: bool,
    /// JSON in place of text.
    pub json: bool,
}

/// What `pogo-info` shows of the block files of one physics.
pub trait Inspect: Physics {
    /// What messages call the physics.
    const TITLE: &'static str;
    /// What the page and its JSON object hold between the title and the sections of the file. `Display` gives whole lines.
    type Figures: Serialize + Display;

    /// Title of the model.
    fn title(setup: &Self::Setup) -> &str;

    /// What the first line of the page says after the physics.
    fn kind(file: &BlockFile<Self>) -> Option<String> {
        let _ = file;
        None
    }

    /// Gathers the figures.
    fn figures(file: &BlockFile<Self>) -> Self::Figures;

    /// Sets of nodes and elements; none for a physics without sets.
    fn sets(file: &BlockFile<Self>) -> Option<Sets>;

    /// Draws the blocks or sub-domains; says what was drawn.
    ///
    /// # Errors
    /// See [`PictureError`].
    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError>;

    /// Builds the grid in every representation, and measures them; none for a physics with one representation.
    ///
    /// # Errors
    /// Why they cannot be built.
    fn grids(file: &BlockFile<Self>, json: bool) -> Option<Result<String, String>> {
        let _ = (file, json);
        None
    }
}

/// Why a block file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum InfoError {
    /// The file is damaged or cannot be read.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A picture cannot be written.
    #[error(transparent)]
    Write(pogo_formats::write::OutputError),
    /// An option does not fit the model.
    #[error("{}: error: {reason}", path.display())]
    Option {
        /// Block file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What `query` asks for of a block file, as text that ends with an end of line.
///
/// # Errors
/// See [`InfoError`].
pub fn show<P: Inspect>(file: &BlockFile<P>, query: &Query) -> Result<String, InfoError> {
    let container = file.container();
    let refuse = |reason: String| InfoError::Option { path: container.path().to_owned(), reason };
    if query.check {
        file.verify()?;
    }
    let drawn = match &query.picture {
        None => None,
        Some(path) => {
            let what = P::draw(file, path, &query.picture_options).map_err(|error| match error {
                PictureError::Write(error) => InfoError::Write(error),
                error => refuse(error.to_string()),
            })?;
            Some(format!("{}: {what}\n", path.display()))
        }
    };
    Ok(if query.parameters {
        let parameters = parameters::list(&file.setup());
        if query.json { json(&parameters) } else { parameters_text(&parameters) }
    } else if query.sets {
        let sets = P::sets(file).ok_or_else(|| refuse(format!("--sets: {} has no sets", P::TITLE)))?;
        if query.json { json(&sets) } else { sets.to_string() }
    } else if query.grids {
        let grids = P::grids(file, query.json).ok_or_else(|| refuse(format!("--grids is not for {}", P::TITLE)))?;
        grids.map_err(refuse)?
    } else if query.json {
        json(&Page::new(file))
    } else if let Some(drawn) = drawn {
        drawn
    } else if query.check {
        let (bytes, sections) = (container.bytes() as usize, container.sections().len());
        let (bytes, sections) = (counted(bytes, "byte"), counted(sections, "section"));
        format!("{}: whole: {bytes}, {sections}\n", container.path().display())
    } else {
        Page::new(file).to_string()
    })
}

/// One JSON value and an end of line.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("maps have text for keys") + "\n"
}

/// Everything that `pogo-info` shows without options.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<F> {
    /// Path, as given.
    pub file: String,
    /// Length, bytes.
    pub bytes: u64,
    /// Name of the physics.
    pub physics: String,
    #[serde(skip)]
    pub kind: Option<String>,
    /// Title of the model.
    pub title: String,
    /// What is particular to the physics.
    #[serde(flatten)]
    pub figures: F,
    /// Sections of the file.
    pub file_sections: Vec<FileSection>,
    /// Files that it was made from.
    pub sources: Vec<SourceFile>,
    /// Version of the tool that made it.
    pub version: String,
    /// Options of that tool.
    pub options: Vec<String>,
}

/// A section of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileSection {
    pub name: String,
    /// First byte.
    pub offset: u64,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64, hexadecimal.
    pub checksum: String,
}

/// A file that the block file was made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceFile {
    pub name: String,
    /// Length, bytes.
    pub bytes: u64,
    /// xxh3-64, hexadecimal.
    pub hash: String,
}

impl<F> Page<F> {
    /// Gathers the figures of an open file.
    pub fn new<P: Inspect<Figures = F>>(file: &BlockFile<P>) -> Self {
        let container = file.container();
        let provenance = container.provenance();
        let hexadecimal = |hash: u64| format!("{hash:016x}");
        let sections = container.sections().iter().map(|section| FileSection {
            name: section.name.clone(),
            offset: section.offset,
            bytes: section.bytes,
            checksum: hexadecimal(section.checksum),
        });
        let sources = provenance.sources.iter().map(|source| SourceFile {
            name: source.name.clone(),
            bytes: source.bytes,
            hash: hexadecimal(source.hash),
        });
        Self {
            file: container.path().display().to_string(),
            bytes: container.bytes(),
            physics: provenance.physics.clone(),
            kind: P::kind(file),
            title: P::title(&file.setup()).to_owned(),
            figures: P::figures(file),
            file_sections: sections.collect(),
            sources: sources.collect(),
            version: provenance.version.clone(),
            options: provenance.options.clone(),
        }
    }
}

impl<F: Display> Display for Page<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_ref().map_or_else(String::new, |kind| format!(", {kind}"));
        writeln!(f, "{}: {}{kind}, {}", self.file, self.physics, size(self.bytes))?;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        write!(f, "{}", self.figures)?;
        let sections = items(&self.file_sections, |section| {
            (&section.name, format!("{:>15} bytes, xxh3 {}", grouped(section.bytes), section.checksum))
        });
        list(f, "file", &sections)?;
        let sources = items(&self.sources, |source| {
            (&source.name, format!("{} bytes, xxh3 {}", grouped(source.bytes), source.hash))
        });
        list(f, "made from", &sources)?;
        let options = if self.options.is_empty() { "no options".into() } else { self.options.join(" ") };
        line(f, "made by", &format!("{} with {options}", self.version))
    }
}

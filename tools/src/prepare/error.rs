//! Why no block file was made.

use std::error::Error;
use std::path::{Path, PathBuf};

use pogo_formats::block::BlockError;
use pogo_formats::job::JobError;
use pogo_formats::read::deck::DeckError;
use pogo_formats::read::image::ImageError;
use pogo_formats::read::mesh::MeshFileError;
use pogo_formats::write::OutputError;

/// Why no block file was made. Prints as `file:line: error: …`, one problem a line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum PrepareError {
    #[error(transparent)]
    Deck(#[from] DeckError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Mesh(#[from] MeshFileError),
    #[error(transparent)]
    Block(#[from] BlockError),
    #[error(transparent)]
    Written(OutputError),
    #[error("{}: error: {error}", path.display())]
    Model { path: PathBuf, error: Box<dyn Error + Send + Sync> },
    #[error("{}: error: cannot be read: {error}", path.display())]
    Source { path: PathBuf, error: std::io::Error },
    #[error("{}: error: cannot write a block file here: {reason}", path.display())]
    Output { path: PathBuf, reason: &'static str },
    #[error("{}: error: the block file would replace its own input; give another name with -o", .0.display())]
    OutputIsInput(PathBuf),
    #[error("{}: error: {reason}", path.display())]
    Option { path: PathBuf, reason: String },
}

impl PrepareError {
    /// The model in `path` cannot be cut or tabulated.
    pub fn model(path: &Path, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Model { path: path.to_owned(), error: error.into() }
    }

    /// An option does not fit the model in `path`.
    pub fn option(path: &Path, reason: impl Into<String>) -> Self {
        Self::Option { path: path.to_owned(), reason: reason.into() }
    }
}

//! Why no block file was made.

use std::error::Error;
use std::path::{Path, PathBuf};

use pogo_formats::block::BlockError;
use pogo_formats::job::JobError;
use pogo_formats::read::deck::DeckError;
use pogo_formats::read::image::ImageError;
use pogo_formats::read::mesh::MeshFileError;

/// Why no block file was made. Prints as `file:line: error: …`, one problem a line.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The deck cannot be used.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// A job cannot be used.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The stack cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A mesh in another format than Abaqus's cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshFileError),
    /// The block file cannot be written.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The model in a file that was read cannot be cut or tabulated.
    #[error("{}: error: {error}", path.display())]
    Model {
        /// Deck, stack or mesh.
        path: PathBuf,
        /// Reason.
        error: Box<dyn Error + Send + Sync>,
    },
    /// A file cannot be read.
    #[error("{}: error: cannot be read: {error}", path.display())]
    Source {
        /// Input, included file or job.
        path: PathBuf,
        /// Reason.
        error: std::io::Error,
    },
    /// The block file cannot be put there.
    #[error("{}: error: cannot write a block file here: {reason}", path.display())]
    Output {
        /// Block file.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// The output is one of the inputs.
    #[error("{}: error: the block file would replace its own input; give another name with -o", .0.display())]
    OutputIsInput(PathBuf),
    /// An option does not fit the model.
    #[error("{}: error: {reason}", path.display())]
    Option {
        /// Input or job.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
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

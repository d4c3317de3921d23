//! Making a block file: one path for every physics.
//!
//! A physics implements [`Prepare`]. [`run`] checks where the file is to go, lets the physics read its input, hashes the
//! files that were read, lets the physics arrange and write its tables, and reports the figures and their cost.

mod error;
mod input;
pub mod options;
mod report;
mod work;

use std::path::{Path, PathBuf};

use pogo_formats::block::Provenance;
use pogo_formats::physics::Physics;
use pogo_formats::system::inputs;
use pogo_formats::system::memory::{Limit, Need};
use pogo_formats::timings::timed;

use crate::listing::Listing;

pub use error::PrepareError;
pub use input::{InputKind, files_of, is_deck};
pub use report::{Made, Report};
pub use work::{Progress, Remarks, Work};

/// Files of a preparation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Deck, stack or mesh.
    pub input: PathBuf,
    /// TOML jobs; later ones win.
    pub jobs: Vec<PathBuf>,
    /// Block file to write.
    pub output: PathBuf,
}

/// How the block file of one physics is made.
pub trait Prepare: Physics {
    /// What reports call the input.
    const INPUT: &'static str;
    /// The kind of input that is for this physics where no job says otherwise.
    const DEFAULT_FOR: Option<InputKind>;
    /// Whether a job may ask for this physics with the key `physics`.
    const IN_JOBS: bool;
    /// Tables that a job for a mesh file has only if it is for this physics, so that it need not say so.
    const OWN_TABLES: &'static [&'static str] = &[];
    /// Whether models are also written as inputs of other programs, where the name of the output asks for that.
    const WRITES_INPUTS: bool = false;
    /// Options on the command line.
    type Options: clap::Args;
    /// What was read, with the jobs applied.
    type Model;

    /// The options that decide what is in the file, as on a command line.
    fn command_line(options: &Self::Options) -> Vec<String>;

    /// Estimate of the memory that the block file of an input takes to make, where its first bytes or a count of its lines tell
    /// that. What is wrong with the input is left to [`read`](Self::read).
    fn memory(_request: &Request, _options: &Self::Options) -> Need {
        Need::default()
    }

    /// Reads the input and applies the jobs. Finds everything that can be wrong with them, but for what [`verify`](Self::verify)
    /// finds.
    ///
    /// # Errors
    /// The input or a job cannot be used.
    fn read(request: &Request, options: &Self::Options, work: &mut Work) -> Result<Self::Model, PrepareError>;

    /// Finds the rest, where that takes so long that [`write`](Self::write) does it while the file is written.
    ///
    /// # Errors
    /// The input or a job cannot be used.
    fn verify(_model: &Self::Model, _work: &mut Work) -> Result<(), PrepareError> {
        Ok(())
    }

    /// What `--check` reports of a model, or of an input that cannot be used. Both have the same figures.
    fn contents(read: Result<&Self::Model, &PrepareError>, remarks: &Remarks) -> Listing;

    /// Arranges the model and writes the block file.
    ///
    /// # Errors
    /// The model cannot be cut or tabulated, or the file cannot be written.
    fn write(
        model: Self::Model,
        request: &Request,
        options: &Self::Options,
        provenance: &Provenance,
        work: &mut Work,
    ) -> Result<Made, PrepareError>;
}

/// Makes a block file. `request.output` is afterwards the whole new file or, after an error, what it was before.
///
/// # Errors
/// See [`PrepareError`].
pub fn run<P: Prepare>(
    request: &Request,
    options: &P::Options,
    progress: &dyn Progress,
) -> Result<Report, PrepareError> {
    input::check_ending(&request.output, P::WRITES_INPUTS)?;
    input::check_output(&request.output, std::iter::once(&request.input).chain(&request.jobs))?;
    let (mut work, before) = (Work::new(progress), inputs::mark());
    check_memory::<P>(request, options, &mut work)?;
    let model = P::read(request, options, &mut work)?;
    if inputs::is_read_since(before, &request.output) {
        return Err(PrepareError::OutputIsInput(request.output.clone()));
    }
    let sources = timed("hash inputs", || input::sources(work.sources.iter().chain(&request.jobs)))?;
    let provenance = Provenance::new(P::NAME, sources, P::command_line(options));
    let made = P::write(model, request, options, &provenance, &mut work)?;
    Ok(report::made::<P>(request, made, &mut work))
}

/// Bytes from which on the memory of a preparation is told.
const NOTED: f64 = 5e8;

/// Refuses an input that needs more memory than there is before any of it is read, and tells what a large one needs.
fn check_memory<P: Prepare>(request: &Request, options: &P::Options, work: &mut Work) -> Result<(), PrepareError> {
    let need = P::memory(request, options);
    Limit::new(None).check(&need).map_err(|error| PrepareError::model(&request.input, error))?;
    if need.bytes() > NOTED {
        work.tell(&format!("{}: needs {need} of memory", request.input.display()));
    }
    work.memory = need;
    Ok(())
}

/// Reads everything and reports, without writing anything. Problems of the inputs are part of the report.
pub fn check<P: Prepare>(request: &Request, options: &P::Options, progress: &dyn Progress) -> Report {
    let mut work = Work::new(progress);
    let read = P::read(request, options, &mut work);
    let read = read.and_then(|model| P::verify(&model, &mut work).map(|()| model));
    // What was found before an error is only half of what there is to say.
    let remarks = if read.is_ok() { work.remarks } else { Remarks::default() };
    let contents = P::contents(read.as_ref(), &remarks);
    report::checked::<P>(request, contents, read.as_ref().err(), remarks)
}

/// A note on a model that asks for no output.
pub fn nothing_recorded(input: &Path) -> String {
    let text =
        "nothing but energies is recorded: ask for *NODE OUTPUT in a deck, for a [[monitor]] or a [[field]] in a job";
    format!("{}: note: {text}", input.display())
}

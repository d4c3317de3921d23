//! Showing a block file: one frame for every physics.
//!
//! A physics implements [`Inspect`], which gives the figures that are its own. [`show`] adds what all block files have in
//! common and prints the page, JSON, parameters, sets or the result of a check.

mod page;
pub(crate) mod words;

use std::path::{Path, PathBuf};

use pogo_formats::block::{BlockError, Provenance, SectionInfo, Source};
use pogo_formats::parameters;
use pogo_formats::physics::{BlockFile, Physics};
use pogo_formats::words::{counted, grouped};
use pogo_formats::write::OutputError;
use pogo_formats::write::report::Report;

use crate::listing::{Listing, json};
use crate::picture::{PictureError, PictureOptions};

pub use page::{Count, Sets};
pub(crate) use page::{number, parameters_text, size};

/// What to show of a block file; the options of `pogo-info`.
#[derive(Debug, Clone, clap::Args)]
pub struct Query {
    /// Verify that all tables say the same, beside the checksums, which are always verified.
    #[arg(long)]
    pub check: bool,
    /// List the parameters that can change from run to run.
    #[arg(long, conflicts_with = "sets")]
    pub parameters: bool,
    /// List the sets.
    #[arg(long)]
    pub sets: bool,
    /// Draw the blocks in colours (3D: the outer surface); of voxels a slice, with its sub-domains or moduli.
    #[arg(long, value_name = "FILE.png")]
    pub picture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture_options: PictureOptions,
    /// Write one HTML file to look at in a browser, without network: all figures, and the blocks, sub-domains or voxels.
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["parameters", "sets", "grids", "made_from"])]
    pub report: Option<PathBuf>,
    /// Build the grid of a voxel model in every representation, and measure them.
    #[arg(long, conflicts_with_all = ["parameters", "sets", "picture"])]
    pub grids: bool,
    /// Say whether the block file was made from this input, as it is now: if not, the exit code is 1.
    #[arg(long, value_name = "INPUT", conflicts_with_all = ["check", "parameters", "sets", "picture", "grids", "json"])]
    pub made_from: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `pogo-info` shows of the block files of one physics.
pub trait Inspect: Physics {
    /// What messages call the physics.
    const TITLE: &'static str;

    /// Title of the model.
    fn title(setup: &Self::Setup) -> &str;

    /// What the first line of the page says after the physics.
    fn kind(file: &BlockFile<Self>) -> Option<String> {
        let _ = file;
        None
    }

    /// What the page and its JSON object hold between the title and the sections of the file.
    fn figures(file: &BlockFile<Self>) -> Listing;

    /// Sets of nodes and elements; none for a physics without sets.
    fn sets(file: &BlockFile<Self>) -> Option<Sets>;

    /// Draws the blocks or sub-domains; says what was drawn.
    ///
    /// # Errors
    /// See [`PictureError`].
    fn draw(file: &BlockFile<Self>, path: &Path, options: &PictureOptions) -> Result<String, PictureError>;

    /// Adds the blocks, sub-domains or voxels to a report.
    fn show(file: &BlockFile<Self>, report: &mut Report);

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
#[allow(missing_docs)]
pub enum InfoError {
    #[error(transparent)]
    Block(#[from] BlockError),
    #[error(transparent)]
    Write(OutputError),
    #[error("{}: error: {reason}", path.display())]
    Option { path: PathBuf, reason: String },
}

/// What `query` asks for of a block file, as text that ends with an end of line.
///
/// # Errors
/// See [`InfoError`].
pub fn show<P: Inspect>(file: &BlockFile<P>, query: &Query) -> Result<String, InfoError> {
    let container = file.container();
    let refuse = |reason: String| InfoError::Option { path: container.path().to_owned(), reason };
    if let Some(input) = &query.made_from {
        return made_from(container.provenance(), input).map_err(refuse);
    }
    // Opening has read every page, so the checksums cost little more; comparing the tables can take as long as making them.
    if query.check {
        file.verify()?;
    } else {
        container.verify_checksums()?;
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
    let reported = match &query.report {
        None => None,
        Some(path) => {
            write_report(file, path).map_err(InfoError::Write)?;
            Some(format!("{}: report\n", path.display()))
        }
    };
    let drawn = drawn.map_or(reported.clone(), |drawn| Some(drawn + reported.as_deref().unwrap_or_default()));
    Ok(if query.parameters {
        let parameters = parameters::list(&file.setup());
        if query.json { json(&parameters) + "\n" } else { parameters_text(&parameters) }
    } else if query.sets {
        let sets = P::sets(file).ok_or_else(|| refuse(format!("--sets: {} has no sets", P::TITLE)))?;
        if query.json { json(&sets) + "\n" } else { sets.to_string() }
    } else if query.grids {
        let grids = P::grids(file, query.json).ok_or_else(|| refuse(format!("--grids is not for {}", P::TITLE)))?;
        grids.map_err(refuse)?
    } else if let (Some(drawn), false) = (drawn, query.json) {
        drawn
    } else if query.check && !query.json {
        let (bytes, sections) = (container.bytes() as usize, container.sections().len());
        let (bytes, sections) = (counted(bytes, "byte"), counted(sections, "section"));
        format!("{}: whole: {bytes}, {sections}\n", container.path().display())
    } else {
        let path = container.path().display().to_string();
        let mut page = page(file, &path, container.bytes(), container.sections(), container.provenance());
        checked(query.check, &mut page);
        if query.json { page.json() + "\n" } else { page.to_string() }
    })
}

/// Everything that the page without options says, and what there is to look at, as HTML.
fn write_report<P: Inspect>(file: &BlockFile<P>, path: &Path) -> Result<(), OutputError> {
    let container = file.container();
    let name = container.path().display().to_string();
    let page = page(file, &name, container.bytes(), container.sections(), container.provenance());
    let setup = file.setup();
    let title = match P::title(&setup) {
        "" => name.clone(),
        title => title.to_owned(),
    };
    let mut report = Report::new(&title, format!("{name}: a block file of {}, {}", P::TITLE, size(container.bytes())));
    P::show(file, &mut report);
    report.tables.push(("Block file".into(), page.json()));
    report.commands.push(("Solve it:".into(), vec![format!("pogo-solve {name} --report")]));
    report.commands.push(("What may change from run to run:".into(), vec![format!("pogo-info {name} --parameters")]));
    report.write(path)
}

/// Whether an input is, byte by byte, one that a block file was made from; its name and place do not matter.
fn made_from(provenance: &Provenance, input: &Path) -> Result<String, String> {
    let name = input.display();
    let now = Source::of_file(input).map_err(|error| format!("cannot compare it with {name}: {error}"))?;
    match provenance.sources.iter().any(|source| (source.bytes, source.hash) == (now.bytes, now.hash)) {
        true => Ok(format!("made from {name}\n")),
        false => Err(format!("not made from {name} as it is now; run pogo-block on that")),
    }
}

/// Says what was checked.
fn checked(is_all: bool, page: &mut Listing) {
    page.figure("checked", &if is_all { "checksums and tables" } else { "checksums" });
    let text = "checksums; not that the tables say the same (--check does both)";
    page.line("checked", if is_all { "checksums and tables" } else { text });
}

/// Everything that `pogo-info` shows without options. The arguments after `file` say what is shown of the container.
pub(crate) fn page<P: Inspect>(
    file: &BlockFile<P>,
    path: &str,
    bytes: u64,
    sections: &[SectionInfo],
    provenance: &Provenance,
) -> Listing {
    let mut page = Listing::default();
    page.figure("file", &path);
    page.figure("bytes", &bytes);
    page.figure("physics", &provenance.physics);
    let kind = P::kind(file).map_or_else(String::new, |kind| format!(", {kind}"));
    page.text(format_args!("{path}: {}{kind}, {}", provenance.physics, size(bytes)));
    let setup = file.setup();
    let title = P::title(&setup);
    page.figure("title", &title);
    if !title.is_empty() {
        page.text(title);
    }
    page.extend(P::figures(file));

    let section = |section: &SectionInfo| {
        let checksum = format!("{:016x}", section.checksum);
        let mut row = Listing::default();
        row.figure("name", &section.name);
        row.figure("offset", &section.offset);
        row.figure("bytes", &section.bytes);
        row.figure("checksum", &checksum);
        row.text(format_args!("{:>15} bytes, xxh3 {checksum}", grouped(section.bytes)));
        (section.name.clone(), row)
    };
    page.table("file_sections", Some("file"), &sections.iter().map(section).collect::<Vec<_>>());
    let source = |source: &Source| {
        let hash = format!("{:016x}", source.hash);
        let mut row = Listing::default();
        row.figure("name", &source.name);
        row.figure("bytes", &source.bytes);
        row.figure("hash", &hash);
        row.text(format_args!("{} bytes, xxh3 {hash}", grouped(source.bytes)));
        (source.name.clone(), row)
    };
    page.table("sources", Some("made from"), &provenance.sources.iter().map(source).collect::<Vec<_>>());
    page.figure("version", &provenance.version);
    page.figure("options", &provenance.options);
    let options = if provenance.options.is_empty() { "no options".into() } else { provenance.options.join(" ") };
    page.line("made by", format_args!("{} with {options}", provenance.version));
    page
}

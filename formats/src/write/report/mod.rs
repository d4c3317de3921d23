//! `report.html`: a run or a block file to look at, in one file that needs no network.
//!
//! A [`Report`] collects tables, curves and fields while results are there, and is written as one page. The numbers of all
//! plots lie in one block, packed by gzip; plotly.js, packed too, draws them in the browser. The page forbids itself every
//! access to the network. The parts of the page are bounded, so that no report exceeds [`LARGEST`] bytes:
//!
//! | what | rule |
//! |---|---|
//! | curves | [`MOST_CURVES`] curves; each is drawn by the first, the last and the extreme values in 500 parts of its time |
//! | fields | [`FIELD_BYTES`] together: coarser, and with values in 1/250 of the scale instead of 1/65000, where they would take more |
//! | tables | [`MOST_ROWS`] rows each |

mod curves;
mod data;
mod mesh;
mod page;
mod simplify;
mod tables;

pub use curves::{Curve, Panel};
pub use data::Field;
pub use mesh::MeshSample;
pub(crate) use mesh::{PARTS, view_of};
pub use tables::MOST_ROWS;

use std::path::Path;

use serde_json::{Value, json};

use self::data::Block;
use super::{OutputError, write_atomically};
use crate::block::{Provenance, Source};

/// Most curves of a report.
pub const MOST_CURVES: usize = 48;
/// Bytes of all fields of a report before they are packed.
pub const FIELD_BYTES: usize = 5 << 19;
/// No report is larger than this, bytes.
pub const LARGEST: usize = 8_000_000;
/// Frames of a field.
pub const FRAMES: u32 = 40;

/// Name of the file in a folder of results.
pub const NAME: &str = "report.html";

/// A report that is being made.
#[derive(Debug, Default)]
pub struct Report {
    /// Heading.
    pub title: String,
    /// Below the heading: what it is, and how it ended.
    pub subtitle: String,
    /// What went wrong; empty where nothing did.
    pub problem: String,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Commands, one a line, and words before them.
    pub commands: Vec<(String, Vec<String>)>,
    /// JSON objects that become tables, each with its heading.
    pub tables: Vec<(String, String)>,
    views: Vec<Value>,
    block: Block,
    n_curves: usize,
    left_out: usize,
}

impl Report {
    /// A report with a heading.
    pub fn new(title: &str, subtitle: String) -> Self {
        Self { title: title.into(), subtitle, ..Self::default() }
    }

    /// Adds a table of where the block file came from.
    pub fn provenance(&mut self, provenance: &Provenance) {
        let source = |source: &Source| json!({ "name": source.name, "bytes": source.bytes, "xxh3": format!("{:016x}", source.hash) });
        let sources: Vec<Value> = provenance.sources.iter().map(source).collect();
        let (by, options) = (&provenance.version, provenance.options.join(" "));
        let table = json!({ "made_by": format!("pogo-block {by}"), "options": options, "made_from": sources });
        self.tables.push(("Block file".into(), table.to_string()));
    }

    /// Bytes that are left for fields.
    pub fn room(&self) -> usize {
        FIELD_BYTES.saturating_sub(self.block.field_bytes())
    }

    /// Whether it has something to draw.
    pub fn has_views(&self) -> bool {
        !self.views.is_empty()
    }

    /// Adds something that the page draws, in one of its sections.
    fn show(&mut self, place: &str, title: &str, alt: &str, note: &str, mut view: Value) {
        view["place"] = json!(place);
        view["title"] = json!(title);
        view["alt"] = json!(alt);
        view["note"] = json!(note);
        self.views.push(view);
    }

    /// Adds a field that the page draws.
    pub fn show_field(&mut self, title: &str, note: &str, view: Value) {
        self.show("fields", title, title, note, view);
    }

    /// Adds a picture of blocks or sub-domains.
    pub fn show_parts(&mut self, title: &str, note: &str, view: Value) {
        self.show("parts", title, title, note, view);
    }

    /// Writes the page.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        let page = page::page(self).map_err(OutputError::io(path))?;
        write_atomically(path, |out| std::io::Write::write_all(out, page.as_bytes()))
    }
}

#[cfg(test)]
mod tests;

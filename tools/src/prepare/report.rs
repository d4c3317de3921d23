//! What `pogo-block` reports, as text and as JSON.

use pogo_formats::VERSION;
use pogo_formats::timings::{self, peak_memory};

use super::{Prepare, PrepareError, Remarks, Request, Work};
use crate::listing::Listing;

/// Models with fewer nodes than this do not report their memory a node: the program's own memory would dominate it.
const FEWEST_FOR_MEMORY: usize = 100_000;

/// Result of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// A block file was made, or could be made.
    pub ok: bool,
    /// For people.
    pub text: String,
    /// The same as one JSON object.
    pub json: String,
    /// `file:line: error: …`.
    pub problems: Vec<String>,
    /// Warnings and notes.
    pub remarks: Remarks,
}

/// A block file that was written.
pub struct Made {
    /// Length, bytes.
    pub bytes: u64,
    /// What it holds. The text begins behind the name of the file.
    pub figures: Listing,
    /// Number and name of what memory is compared with: nodes, degrees of freedom, …
    pub size: (usize, &'static str),
}

impl Listing {
    /// Adds the sub-domains of a model: the method that cut it, their number, and how many nodes they need of others.
    pub(crate) fn sub_domains(&mut self, method: &str, n_domains: usize, n_halo: usize, n_nodes: usize) {
        let share = n_halo as f64 / n_nodes.max(1) as f64;
        self.figure("domains", &n_domains);
        self.figure("domain_partition", &method);
        self.figure("interface_fraction", &share);
        if n_domains > 1 {
            let share = 100.0 * share;
            self.text(format_args!("  {n_domains} sub-domains ({method}), interfaces {share:.2} % of the nodes"));
        }
    }
}

/// Reports a block file that was written.
pub(super) fn made<P: Prepare>(request: &Request, made: Made, work: &mut Work) -> Report {
    let Made { bytes, figures, size: (n, what) } = made;
    let (output, memory) = (request.output.display().to_string(), peak_memory());
    let (stages, total) = work.seconds();
    let mut seconds = Listing::default();
    stages.iter().for_each(|(name, seconds_of)| seconds.figure(name, seconds_of));
    seconds.figure("total", &total);
    let stages: Vec<String> = stages.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
    let megabytes = bytes as f64 / 1e6;
    let mut text = format!("{output}: {figures}  {megabytes:.1} MB in {total:.2} s ({})", stages.join(", "));
    if let Some(peak) = memory {
        text += &format!("; peak memory {:.0} MB", peak as f64 / 1e6);
        if n >= FEWEST_FOR_MEMORY {
            text += &format!(", {:.1} B a {what}", peak as f64 / n as f64);
        }
    }
    let mut summary = Listing::default();
    summary.figure(P::INPUT, &request.input.display().to_string());
    summary.figure("output", &output);
    summary.figure("bytes", &bytes);
    summary.figure("physics", &P::NAME);
    summary.extend(figures);
    summary.object("seconds", &seconds);
    summary.figure("peak_memory", &memory);
    let estimate = Some(work.memory.bytes()).filter(|bytes| *bytes > 0.0);
    summary.figure("estimated_memory", &estimate.map(|bytes| bytes as u64));
    summary.figure("notes", &work.remarks.notes);
    summary.figure("warnings", &work.remarks.warnings);
    if !timings::table().is_empty() {
        summary.figure("timings", &timings::table());
    }
    summary.figure("version", &VERSION);
    Report {
        ok: true,
        text: text + "\n",
        json: summary.json(),
        problems: Vec::new(),
        remarks: std::mem::take(&mut work.remarks),
    }
}

/// Reports what `--check` found: the contents of the input, and its problems.
pub(super) fn checked<P: Prepare>(
    request: &Request,
    contents: Listing,
    error: Option<&PrepareError>,
    remarks: Remarks,
) -> Report {
    let problems = error.map_or_else(Vec::new, |error| error.to_string().lines().map(str::to_owned).collect());
    let (path, ok) = (request.input.display().to_string(), error.is_none());
    let text = format!("{path}: {}\n{contents}", if ok { "can be blocked" } else { "cannot be blocked" });
    let mut summary = Listing::default();
    summary.figure(P::INPUT, &path);
    summary.figure("ok", &ok);
    summary.figure("physics", &P::NAME);
    summary.extend(contents);
    summary.figure("problems", &problems);
    summary.figure("notes", &remarks.notes);
    summary.figure("warnings", &remarks.warnings);
    Report { ok, text, json: summary.json(), problems, remarks }
}

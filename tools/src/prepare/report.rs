//! What `pogo-block` reports, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use pogo_formats::VERSION;
use pogo_formats::words::counted;
use serde::Serialize;

use super::{PrepareError, Remarks, Seconds, Work};

/// Models with fewer nodes than this do not report their memory a node: the program's own memory would dominate it.
const FEWEST_FOR_MEMORY: u64 = 100_000;

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
    /// Warnings, then notes.
    pub remarks: Vec<String>,
}

/// What a block file holds. `Display` gives the lines after the name of the file, each with its end of line.
pub trait Figures: Serialize + Display {
    /// Number and name of what memory is compared with: nodes, degrees of freedom, …
    fn size(&self) -> (u64, &'static str);
}

/// Figures of sub-domains.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DomainFigures {
    /// Number of sub-domains.
    pub domains: u64,
    /// `morton`, `aligned`, `greedy` or `metis`.
    pub domain_partition: &'static str,
    /// Nodes that sub-domains need of others, over nodes.
    pub interface_fraction: f64,
}

impl Display for DomainFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.domains < 2 {
            return Ok(());
        }
        let (n, method, share) = (self.domains, self.domain_partition, 100.0 * self.interface_fraction);
        writeln!(f, "  {n} sub-domains ({method}), interfaces {share:.2} % of the nodes")
    }
}

/// The object of `--json`.
#[derive(Serialize)]
struct Summary<'a, F> {
    /// What the input is called, and its path.
    #[serde(flatten)]
    input: BTreeMap<&'static str, String>,
    output: String,
    bytes: u64,
    physics: &'static str,
    #[serde(flatten)]
    figures: &'a F,
    seconds: Seconds,
    peak_memory: Option<u64>,
    notes: &'a [String],
    warnings: &'a [String],
    version: &'static str,
}

/// The object of `--check --json`.
#[derive(Serialize)]
struct CheckSummary<'a, C> {
    #[serde(flatten)]
    input: BTreeMap<&'static str, String>,
    ok: bool,
    physics: &'static str,
    #[serde(flatten)]
    contents: &'a C,
    problems: &'a [String],
    notes: &'a [String],
    warnings: &'a [String],
}

/// Reports a block file that was written.
pub(super) fn made<F: Figures>(
    request: &super::Request,
    [physics, input]: [&'static str; 2],
    bytes: u64,
    figures: &F,
    work: &mut Work,
) -> Report {
    let summary = Summary {
        input: BTreeMap::from([(input, request.input.display().to_string())]),
        output: request.output.display().to_string(),
        bytes,
        physics,
        figures,
        seconds: work.seconds(),
        peak_memory: peak_memory(),
        notes: &work.remarks.notes,
        warnings: &work.remarks.warnings,
        version: VERSION,
    };
    let stages: Vec<String> =
        summary.seconds.stages.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
    let (megabytes, total) = (bytes as f64 / 1e6, summary.seconds.total);
    let mut text = format!("{}: {figures}  {megabytes:.1} MB in {total:.2} s ({})", summary.output, stages.join(", "));
    if let Some(peak) = summary.peak_memory {
        text += &format!("; peak memory {:.0} MB", peak as f64 / 1e6);
        let (n, what) = figures.size();
        if n >= FEWEST_FOR_MEMORY {
            text += &format!(", {:.1} B a {what}", peak as f64 / n as f64);
        }
    }
    let json = json(&summary);
    Report { ok: true, text: text + "\n", json, problems: Vec::new(), remarks: in_order(&work.remarks) }
}

/// Reports what `--check` found: the contents of the input, and its problems.
pub(super) fn checked<C: Serialize + Display>(
    request: &super::Request,
    [physics, input]: [&'static str; 2],
    contents: &C,
    error: Option<&PrepareError>,
    remarks: &Remarks,
) -> Report {
    let problems: Vec<String> = error.iter().flat_map(|error| lines(error)).collect();
    let path = request.input.display().to_string();
    let verdict = if error.is_none() { "can be blocked" } else { "cannot be blocked" };
    let text = format!("{path}: {verdict}\n{contents}");
    let json = json(&CheckSummary {
        input: BTreeMap::from([(input, path)]),
        ok: error.is_none(),
        physics,
        contents,
        problems: &problems,
        notes: &remarks.notes,
        warnings: &remarks.warnings,
    });
    Report { ok: error.is_none(), text, json, problems, remarks: in_order(remarks) }
}

fn lines(error: &PrepareError) -> Vec<String> {
    error.to_string().lines().map(str::to_owned).collect()
}

fn in_order(remarks: &Remarks) -> Vec<String> {
    remarks.warnings.iter().chain(&remarks.notes).cloned().collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("maps have text for keys")
}

/// `1,234 nodes`.
pub fn count(n: u64, noun: &str) -> String {
    counted(n as usize, noun)
}

/// Largest resident memory of this process so far, bytes; `None` where there is no `/proc`.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_plausible() {
        if cfg!(target_os = "linux") {
            let peak = peak_memory().unwrap();
            assert!(peak > 1 << 20 && peak < 1 << 40, "{peak}");
        }
    }
}

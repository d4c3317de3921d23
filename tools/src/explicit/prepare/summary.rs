//! What `pogo-block` tells when it is done.

use std::fmt;
use std::path::Path;

use pogo_formats::VERSION;
use pogo_formats::explicit::Model;
use pogo_formats::explicit::block::PartitionStatistics;
use pogo_formats::mesh::Mesh;
use pogo_formats::read::deck::{DeckReport, Note};
use serde::Serialize;

use super::Config;
use crate::explicit::apply_job::Remarks;
use crate::prepare::{peak_memory, write_cost};
use pogo_formats::words::{counted, grouped};

/// Seconds of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct StageSeconds {
    /// Reading deck and jobs.
    pub read: f64,
    /// Applying the jobs, dropping what nothing uses.
    pub apply: f64,
    /// Cutting.
    pub partition: f64,
    /// Arranging.
    pub arrange: f64,
    /// Tables for devices with many threads.
    pub tables: f64,
    /// Writing.
    pub write: f64,
    /// All of it.
    pub total: f64,
}

/// What was made. Its `Display` is a few lines for people; serialised it is the object of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Deck.
    pub deck: String,
    /// Block file.
    pub output: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// Nodes of the model.
    pub nodes: u64,
    /// Elements of the model.
    pub elements: u64,
    /// Elements by kind.
    pub element_kinds: Vec<(String, u64)>,
    /// 2 or 3.
    pub dimension: u32,
    /// `aligned`, `greedy` or `metis`.
    pub partitioner: String,
    /// Nodes a block at most.
    pub block_nodes: u64,
    /// The paper's limits were enforced.
    pub paper_limits: bool,
    /// Blocks.
    pub blocks: u64,
    /// η = nodes / (blocks × block_nodes).
    pub block_efficiency: f64,
    /// Linked-data loads a block.
    pub mean_loads: f64,
    /// Most loads of a block.
    pub max_loads: u32,
    /// Linked blocks a block.
    pub mean_linked_blocks: f64,
    /// Most linked blocks of a block.
    pub max_linked_blocks: u32,
    /// Halo nodes over own nodes.
    pub halo_fraction: f64,
    /// Blocks beyond the paper's limits.
    pub beyond_paper_limits: u64,
    /// Partitioning, arranging and the tables for devices, s.
    pub blocking_seconds: f64,
    /// Stages.
    pub seconds: StageSeconds,
    /// Peak memory of the process, bytes; none where the system does not say.
    pub peak_memory: Option<u64>,
    /// What was left out or changed, `file:line: note: …`.
    pub notes: Vec<String>,
    /// What is probably not meant, `file:line: warning: …`.
    pub warnings: Vec<String>,
    /// Version of Pogo.
    pub version: String,
}

fn element_kinds(mesh: &Mesh) -> Vec<(String, u64)> {
    mesh.groups.iter().map(|group| (group.kind.name().to_owned(), group.len() as u64)).collect()
}

/// Warnings, or what is not one.
fn texts(notes: &[Note], warnings: bool) -> impl Iterator<Item = String> {
    notes.iter().filter(move |note| note.is_warning == warnings).map(Note::to_string)
}

impl Summary {
    pub(super) fn new(
        config: &Config,
        mesh: &Mesh,
        (statistics, blocking_seconds): (PartitionStatistics, f64),
        bytes: u64,
        seconds: StageSeconds,
        notes: &[Note],
        remarks: Remarks,
    ) -> Self {
        Self {
            deck: config.deck.display().to_string(),
            output: config.output.display().to_string(),
            bytes,
            nodes: mesh.n_nodes() as u64,
            elements: mesh.n_elements() as u64,
            element_kinds: element_kinds(mesh),
            dimension: mesh.dimension,
            partitioner: statistics.partitioner,
            block_nodes: config.partition.capacity as u64,
            paper_limits: statistics.paper_limits,
            blocks: statistics.n_blocks,
            block_efficiency: statistics.efficiency,
            mean_loads: statistics.mean_loads,
            max_loads: statistics.max_loads,
            mean_linked_blocks: statistics.mean_linked_blocks,
            max_linked_blocks: statistics.max_linked_blocks,
            halo_fraction: statistics.halo_fraction,
            beyond_paper_limits: statistics.n_beyond_paper_limits,
            blocking_seconds,
            seconds,
            peak_memory: peak_memory(),
            notes: texts(notes, false).chain(remarks.notes).collect(),
            warnings: texts(notes, true).chain(remarks.warnings).collect(),
            version: VERSION.to_owned(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}, {}", self.output, count(self.nodes, "node"), kinds(&self.element_kinds))?;
        writeln!(
            f,
            "  {} of at most {} ({}{}), efficiency {:.4}",
            count(self.blocks, "block"),
            count(self.block_nodes, "node"),
            self.partitioner,
            if self.paper_limits { ", the paper's limits kept" } else { "" },
            self.block_efficiency
        )?;
        writeln!(
            f,
            "  a block: {:.1} loads (at most {}), {:.1} linked blocks (at most {}); halo {:.1} %; {} beyond the paper's limits",
            self.mean_loads,
            self.max_loads,
            self.mean_linked_blocks,
            self.max_linked_blocks,
            100.0 * self.halo_fraction,
            grouped(self.beyond_paper_limits)
        )?;
        let s = &self.seconds;
        let stages = [
            ("read", s.read),
            ("apply", s.apply),
            ("partition", s.partition),
            ("arrange", s.arrange),
            ("tables", s.tables),
            ("write", s.write),
        ];
        write_cost(f, self.bytes, s.total, &stages, self.peak_memory)?;
        // On small models it is the program's own.
        if let Some(peak) = self.peak_memory.filter(|_| self.nodes >= 100_000) {
            write!(f, ", {:.0} B a node", peak as f64 / self.nodes as f64)?;
        }
        writeln!(f)
    }
}

/// What `--check` found. Its `Display` is for people; serialised it is the object of `--check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Deck.
    pub deck: String,
    /// A block file can be made of it.
    pub ok: bool,
    /// What is in the deck; none where reading did not get that far.
    pub report: Option<DeckReport>,
    /// Nodes of the model, after the job.
    pub nodes: Option<u64>,
    /// Elements of the model by kind, after the job.
    pub element_kinds: Vec<(String, u64)>,
    /// What is wrong, `file:line: error: …`.
    pub problems: Vec<String>,
    /// What was left out or changed.
    pub notes: Vec<String>,
    /// What is probably not meant.
    pub warnings: Vec<String>,
}

impl CheckReport {
    pub(super) fn good(deck: &Path, model: &Model, report: DeckReport, notes: &[Note], remarks: Remarks) -> Self {
        Self {
            deck: deck.display().to_string(),
            ok: true,
            report: Some(report),
            nodes: Some(model.mesh.n_nodes() as u64),
            element_kinds: element_kinds(&model.mesh),
            problems: Vec::new(),
            notes: texts(notes, false).chain(remarks.notes).collect(),
            warnings: texts(notes, true).chain(remarks.warnings).collect(),
        }
    }

    pub(super) fn bad(deck: &Path, report: Option<DeckReport>, problems: Vec<String>) -> Self {
        Self {
            deck: deck.display().to_string(),
            ok: false,
            report,
            nodes: None,
            element_kinds: Vec::new(),
            problems,
            notes: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.deck, if self.ok { "can be blocked" } else { "cannot be blocked" })?;
        if let Some(report) = &self.report {
            if !report.title.is_empty() {
                writeln!(f, "  title            {}", report.title)?;
            }
            let types = report.elements.iter().map(|e| {
                format!("{} {}{}", grouped(e.count), e.name, if e.supported { "" } else { " (not computed)" })
            });
            let types = types.collect::<Vec<_>>().join(", ");
            writeln!(f, "  as written       {}; elements: {}", count(report.node_lines, "node"), or_none(&types))?;
            writeln!(
                f,
                "  after instancing {}, {} of kinds that Pogo computes",
                count(report.n_nodes, "node"),
                count(report.n_elements, "element")
            )?;
            if let Some(nodes) = self.nodes {
                writeln!(f, "  the model        {}, {}", count(nodes, "node"), kinds(&self.element_kinds))?;
            }
            let sets = |sets: &[pogo_formats::read::deck::SetCount]| {
                let shown = sets.iter().take(12).map(|set| format!("{} ({})", set.name, set.count));
                let shown = shown.collect::<Vec<_>>().join(", ");
                if sets.len() > 12 {
                    format!("{shown} and {} more", sets.len() - 12)
                } else {
                    or_none(&shown).to_owned()
                }
            };
            writeln!(f, "  node sets        {}", sets(&report.node_sets))?;
            writeln!(f, "  element sets     {}", sets(&report.element_sets))?;
            writeln!(f, "  materials        {}", or_none(&report.materials.join(", ")))?;
            let steps = report.steps.iter().map(|step| match (step.name.as_str(), step.procedure.as_str()) {
                ("", "") => "without a name or procedure".to_owned(),
                ("", procedure) => procedure.to_owned(),
                (name, "") => format!("{name} (no procedure)"),
                (name, procedure) => format!("{name} ({procedure})"),
            });
            writeln!(f, "  steps            {}", or_none(&steps.collect::<Vec<_>>().join(", ")))?;
        }
        Ok(())
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn kinds(kinds: &[(String, u64)]) -> String {
    let total: u64 = kinds.iter().map(|(_, count)| count).sum();
    match kinds {
        [(kind, _)] => format!("{} ({kind})", count(total, "element")),
        _ => {
            let parts: Vec<_> = kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count))).collect();
            format!("{} ({})", count(total, "element"), parts.join(", "))
        }
    }
}

fn count(n: u64, noun: &str) -> String {
    counted(n as usize, noun)
}

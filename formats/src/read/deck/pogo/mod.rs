//! The model files of P. Huthwaite's Pogo (`.pogo-inp`, versions 1.0 to 1.15), read as decks.
//!
//! `docs/pogo-files.md` says what is read, what is refused, and what is assumed where no public source settles it.

mod conditions;
mod cursor;
mod layout;
mod materials;
mod nodes;
mod shape;

use self::conditions::Conditions;
use self::cursor::Cursor;
use self::layout::Layout;
use self::nodes::Nodes;
use super::keywords::IgnoreList;
use super::lexer::Source;
use super::regroup::collapse;
use super::report::{DeckError, DeckReport, Note, SetCount, StepReport};
use super::{Deck, ReadOptions, Step};
use crate::dynamics::{Increment, Start};
use crate::mesh::NamedSet;
use crate::words::counted;

/// First bytes of every file.
const MAGIC: &[u8] = b"%pogo-inp";
/// Bytes of the text at the beginning.
const HEADER: usize = 20;
/// Last minor version whose layout is known.
const NEWEST: u32 = 15;

/// A message without the file's name is the error.
type Found<T> = Result<T, String>;

/// Order of the shear components in the constants of materials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShearOrder {
    /// 11, 22, 33, 12, 13, 23: Abaqus' order.
    #[default]
    Abaqus,
    /// 11, 22, 33, 23, 13, 12: Voigt's order, in which BristolFE writes materials of type 2.
    Voigt,
}

/// What the files of P. Huthwaite's Pogo leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PogoOptions {
    /// Order of the constants of materials of the types 1 to 3.
    pub shear_order: ShearOrder,
    /// Number of the first node in ties, 0 or 1; none takes the one for which tied nodes coincide.
    pub tie_base: Option<u8>,
    /// Orientations are those of Abaqus: two vectors a and b, perhaps an axis and an angle in degrees. Otherwise elements with an
    /// orientation are refused, but for those of isotropic materials.
    pub abaqus_orientations: bool,
}

/// Whether a file of these first bytes is one.
pub fn is_pogo(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// What is found while a file becomes a deck.
struct Findings {
    file: String,
    problems: Vec<Note>,
    notes: Vec<Note>,
    ignore: IgnoreList,
}

impl Findings {
    fn error(&mut self, text: impl Into<String>) {
        self.problems.push(Note::new(&self.file, 0, text));
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(Note::new(&self.file, 0, text));
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note { is_warning: true, ..Note::new(&self.file, 0, text) });
    }

    /// Whether this is left out on request, which is noted.
    fn ignores(&mut self, name: &str, what: &str) -> bool {
        let ignores = self.ignore.covers(&[name]);
        if ignores {
            self.note(format!("{what}: ignored on request"));
        }
        ignores
    }
}

/// Reads a file.
///
/// # Errors
/// One message for a damaged file, with the byte where it is found; all that is not computed, by name.
pub(super) fn read(source: &Source, options: &ReadOptions) -> Result<Deck, DeckError> {
    let bytes = source.bytes();
    let fail = |text: String| DeckError::new(&source.name, &text);
    let (version, header) = version(bytes).map_err(fail)?;
    let mut cursor = Cursor::new(bytes, header, version);
    let layout = layout::read(&mut cursor).map_err(fail)?;
    let mut findings = Findings {
        file: source.name.clone(),
        problems: Vec::new(),
        notes: Vec::new(),
        ignore: IgnoreList::new(&options.ignore),
    };
    if version > NEWEST {
        let text = "is newer than 1.15, the last one known here: what it adds is not read";
        findings.warn(format!("the file's version 1.{version:02} {text}"));
    }
    std::mem::take(&mut cursor.warnings).into_iter().for_each(|text| findings.warn(text));
    let mut deck = Deck {
        title: title(&layout),
        require_step: options.require_step,
        has_sections: true,
        unconnected_loads: findings.ignore.covers(&["CLOAD"]),
        report: report(source, &layout),
        ..Deck::default()
    };
    fill(&layout, options, &mut deck, &mut findings).map_err(fail)?;
    for (name, _) in findings.ignore.unused(std::iter::empty()) {
        findings.warn(format!("--ignore {name}: nothing in the file needs it"));
    }
    if !findings.problems.is_empty() {
        return Err(DeckError { problems: findings.problems, report: Some(Box::new(deck.report)), deck: None });
    }
    if let Some(text) = collapse(&mut deck) {
        findings.note(text);
    }
    deck.notes = findings.notes;
    Ok(deck)
}

/// The minor version, 7 of 1.07, and the length of the header.
fn version(bytes: &[u8]) -> Found<(u32, usize)> {
    let header = bytes.get(..HEADER).ok_or("the file ends within its header: it is cut short")?;
    let text = cursor::text(&header[MAGIC.len()..]);
    let unknown = |found: String| format!("version `{found}` (byte 9) is none of 1.0 to 1.15: the file is damaged");
    if !text.is_empty() {
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse::<u32>().ok());
        let minor = minor.filter(|minor| *minor < 12).ok_or_else(|| unknown(text.escape_debug().to_string()))?;
        return Ok((minor, HEADER));
    }
    let numbers = bytes.get(HEADER..HEADER + 8).ok_or("the file ends within its header: it is cut short")?;
    let [major, minor] = [0, 4].map(|at| i32::from_le_bytes([0, 1, 2, 3].map(|byte| numbers[at + byte])));
    match u32::try_from(minor) {
        Ok(minor) if major == 1 && minor >= 12 => Ok((minor, HEADER + 8)),
        _ => Err(unknown(format!("{major}.{minor}"))),
    }
}

/// The first line of the notes, or else the name of the run.
fn title(layout: &Layout) -> String {
    let notes = layout.notes.lines().map(str::trim).find(|line| !line.is_empty());
    notes.unwrap_or(&layout.run_name).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn report(source: &Source, layout: &Layout) -> DeckReport {
    let mut details =
        vec![("run name".to_owned(), layout.run_name.clone()), ("notes".to_owned(), layout.notes.clone())];
    details.extend(layout.metadata.iter().map(|(name, value)| (format!("metadata {name}"), value.clone())));
    details.retain(|(_, value)| !value.is_empty());
    let procedure = format!("{} of {} s", counted(layout.n_increments as usize, "increment"), layout.increment);
    DeckReport {
        title: title(layout),
        bytes: source.bytes().len() as u64,
        files: vec![source.name.clone()],
        paths: vec![source.path.clone()],
        node_lines: layout.n_nodes as u64,
        n_nodes: layout.n_nodes as u64,
        materials: materials::names(&layout.materials),
        steps: vec![StepReport { name: layout.run_name.clone(), procedure }],
        details,
        ..DeckReport::default()
    }
}

/// Puts all that the file says into the deck.
fn fill(layout: &Layout, options: &ReadOptions, deck: &mut Deck, findings: &mut Findings) -> Found<()> {
    if layout.dimension == 1 {
        findings.error("the model has one dimension: two or three are computed");
        return Ok(());
    }
    if layout.dofs_a_node != layout.dimension && !options.mesh_only {
        let (n, dimension) = (layout.dofs_a_node, layout.dimension);
        let degrees = if n == 1 { "degree" } else { "degrees" };
        findings.error(format!(
            "nodes have {n} {degrees} of freedom in {dimension} dimensions, as in acoustic models: only displacements of solids are \
             computed"
        ));
    }
    let mut nodes = Nodes::read(layout)?;
    if !options.mesh_only {
        nodes.tie(layout, options.pogo.tie_base, findings)?;
    }
    let users = shape::read(layout, &nodes, deck, findings)?;
    (deck.mesh.coordinates, deck.mesh.dimension) = (nodes.take_positions(), layout.dimension as u32);
    deck.mesh.node_labels = (1..=layout.n_nodes as u32).collect();
    deck.mesh.node_instance = vec![0; layout.n_nodes];
    deck.mesh.instances = vec![String::new()];
    if !options.mesh_only {
        materials::read(layout, users, options, deck, findings)?;
        deck.step = step(layout, options, findings);
        Conditions { layout, nodes: &nodes, deck: &mut *deck, n_terms: 0 }.read(findings)?;
        nodes.exchange(layout, deck, findings)?;
    }
    let count = |sets: &[NamedSet]| -> Vec<SetCount> {
        sets.iter().map(|s| SetCount { name: s.name.clone(), count: s.members.len() as u64 }).collect()
    };
    deck.report.node_sets = count(&deck.mesh.node_sets);
    deck.report.element_sets = count(&deck.mesh.element_sets);
    Ok(())
}

/// Increment and length of the run, unless a job gives its time.
fn step(layout: &Layout, options: &ReadOptions, findings: &mut Findings) -> Option<Step> {
    let (n, dt) = (layout.n_increments, layout.increment);
    if n > 0 && dt > 0.0 && dt.is_finite() {
        let increment = Increment::Fixed(dt);
        return Some(Step { time: f64::from(n) * dt, increment, start: Start::FirstOrder });
    }
    if !options.job_sets_time {
        findings.error(format!("the run has {n} increments of {dt} s: give a job with `time` in [solver]"));
    }
    None
}

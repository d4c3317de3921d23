//! Abaqus decks → [`Model`].
//!
//! Two stages, so that a job can say what the deck does not:
//!
//! ```text
//! read(path, options) ─► Deck ─► (a job adds sections, materials, sources, time …) ─► finish ─► Model
//! ```
//!
//! [`read`] takes everything the deck says. A [`Deck`] may be a bare mesh: elements without a section carry
//! [`NO_SECTION`], materials may lack a density or a stiffness ([`DeckMaterial`]), and there may be no step.
//! [`Deck::finish`] drops what no section uses, checks that nothing is missing and gives the [`Model`].
//!
//! Both report *every* problem they find, not only the first. Nothing that changes the physics is skipped unless
//! [`ReadOptions::ignore`] names it.

mod assembly;
mod collapse;
mod conditions;
mod element_names;
mod finish;
mod frame;
mod keywords;
mod labels;
mod lexer;
mod lines;
mod log;
mod materials;
mod mesh_cards;
mod numbers;
mod parameters;
mod parser;
mod part;
mod raw;
mod read;
mod report;
mod requests;
mod sections;
mod sets;
mod shape;
mod surfaces;

use std::path::Path;

pub use element_names::is_line;
pub use lines::{LineProperty, Lines, PointMass, Truss};
pub use report::{DeckError, DeckReport, ElementCount, KeywordCount, KeywordUse, Note, SetCount, StepReport};

use crate::explicit::{Elasticity, ExplicitSettings, Model};

/// Value of [`ElementGroup::section`](crate::mesh::ElementGroup::section) for an element that no section names.
pub const NO_SECTION: u32 = u32::MAX;

/// How to read a deck.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Keywords, keyword families (`CONTACT`, `PLASTIC`, `COUPLING`) or element types that may be left out although
    /// they change the physics. Any case; blanks, hyphens and underscores do not count.
    pub ignore: Vec<String>,
    /// [`Deck::finish`] refuses a deck without a step. False when a job follows that may set the time.
    pub require_step: bool,
    /// A job gives the run's time: the deck's procedure (`*DYNAMIC`, `*STATIC`, …) is replaced rather than refused,
    /// with a note.
    pub job_sets_time: bool,
    /// Materials that a job defines: what the deck says in a `*MATERIAL` of that name (any case) is left out, with a note.
    pub job_materials: Vec<String>,
    /// Only nodes, elements and sets are wanted: every other keyword is left out, no section is needed, three-node shells and
    /// membranes are triangles too, tetrahedra and triangles of other physics are taken as they stand, and all nodes keep
    /// three coordinates. The mesh is in [`Deck::model`]; [`Deck::finish`] is not meant for it.
    pub mesh_only: bool,
    /// Two-node elements (trusses, beams, springs, dashpots, connectors) and point masses are wanted, in [`Deck::lines`], and
    /// not refused; shells and membranes of three or four nodes are read as CPS3 and CPS4, with three coordinates.
    pub lines: bool,
}

/// A material as far as the deck describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeckMaterial {
    /// Name, as the deck writes it.
    pub name: String,
    /// Where its `*MATERIAL` stands, for messages; empty file name for a job's.
    pub file: String,
    /// Line there, from 1.
    pub line: u64,
    /// ρ, kg/m³.
    pub density: Option<f64>,
    pub elasticity: Option<Elasticity>,
    /// Mass-proportional damping α in C = αM, 1/s.
    pub damping_alpha: f64,
}

/// What a deck says; perhaps only a mesh.
#[derive(Debug, Clone)]
pub struct Deck {
    /// The model so far. `setup.materials` is empty until [`Deck::finish`] fills it from `materials`, and
    /// `setup.explicit.time` and `increment` are only placeholders until it takes them from `explicit`. Elements with no section have section
    /// [`NO_SECTION`]. `mesh.dimension` is that of the elements with a section or, where none has one, the highest;
    /// 2D meshes have two coordinates a node.
    pub model: Model,
    /// Two-node elements and point masses, where [`ReadOptions::lines`] asks for them.
    pub lines: Lines,
    /// Materials; `Section::material` is an index here, and here a job adds or replaces.
    pub materials: Vec<DeckMaterial>,
    /// Time and increment from the deck's step; none without a step (or with a procedure that a job replaces).
    pub explicit: Option<ExplicitSettings>,
    /// What the user should know: keywords ignored, things dropped, physics simplified.
    pub notes: Vec<Note>,
    /// What was in the deck.
    pub report: DeckReport,
    require_step: bool,
    /// Element types that are not computed.
    others: Vec<sections::Other>,
    /// The deck itself says what belongs to the model.
    has_sections: bool,
    /// Loads on nodes without elements are let go: the constraint that carried them is ignored.
    unconnected_loads: bool,
}

/// Reads a deck and everything it includes.
///
/// # Errors
/// All problems found, each with file and line.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Deck, DeckError> {
    let source = lexer::Source::open(path)
        .map_err(|e| DeckError::single(&path.to_string_lossy(), 0, &format!("cannot be read: {e}")))?;
    if source.bytes().is_empty() {
        return Err(DeckError::single(&source.name, 0, "the file is empty"));
    }
    read::read_source(source, options, true)
}

/// Reads a deck that is already in memory; `name` is for messages. It cannot include files.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Deck, DeckError> {
    read::read_source(lexer::Source::from_bytes(name, bytes), options, false)
}

impl Deck {
    /// Gives these elements a section (an index into `model.setup.sections`).
    ///
    /// `elements` are element indices; `None` stands for every element of the mesh's dimension, so that the lines and
    /// faces which mesh generators write beside the volume's elements stay out.
    pub fn assign_section(&mut self, elements: Option<&[u32]>, section: u32) {
        let dimension = self.model.mesh.dimension as usize;
        let mut first = 0usize;
        for group in &mut self.model.mesh.groups {
            match elements {
                None if group.kind.dimension() == dimension => group.section.fill(section),
                None => {}
                Some(list) => {
                    for &element in list {
                        if let Some(slot) = (element as usize).checked_sub(first).and_then(|i| group.section.get_mut(i))
                        {
                            *slot = section;
                        }
                    }
                }
            }
            first += group.section.len();
        }
    }

    /// Drops elements without a section and nodes without an element, joins groups of one kind, turns elements whose
    /// nodes run the wrong way round, checks that nothing is missing, and gives the model together with all notes (those
    /// of `read` first). Element and node indices change.
    ///
    /// Without a time and with [`ReadOptions::require_step`] false, `setup.explicit.time` is 0: the caller sets it.
    ///
    /// # Errors
    /// No element has a section; a section's material lacks density or stiffness; a step is required and there is none;
    /// 2D and 3D elements are mixed; a 2D mesh is not plane; an element has no volume; a load has no node left.
    pub fn finish(self) -> Result<(Model, Vec<Note>), DeckError> {
        finish::finish(self)
    }
}

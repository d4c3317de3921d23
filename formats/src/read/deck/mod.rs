//! Abaqus decks, and the model files of P. Huthwaite's Pogo ([`pogo`]), which become decks.
//!
//! [`read`] takes everything that a deck says. A [`Deck`] may be a bare mesh: elements without a section carry
//! [`NO_SECTION`], materials may lack a density or a stiffness ([`DeckMaterial`]), and there may be no step. A job adds what
//! the deck does not say. Each kind of physics then makes its model of the deck: explicit dynamics with [`Deck::finish`],
//! which drops what no section uses and checks that nothing is missing.
//!
//! The reader reports *every* problem that it finds, not only the first. It skips nothing that changes the physics unless
//! [`ReadOptions::ignore`] names it.

mod accepted;
mod advice;
mod assembly;
mod boundaries;
mod conditions;
mod counts;
mod data;
mod element_names;
mod frame;
mod held;
mod infinite;
#[cfg(test)]
mod keyword_page;
mod keywords;
mod lexer;
pub(crate) mod linear;
mod lines;
mod log;
mod materials;
mod mesh_cards;
mod nesting;
mod numbers;
mod parameters;
mod parser;
mod part;
mod pieces;
pub mod pogo;
mod raw;
mod read;
pub(crate) mod regroup;
mod report;
mod requests;
mod second_order;
mod sections;
mod sets;
mod split;
mod surfaces;

use std::path::Path;

pub use counts::Counts;
pub use element_names::is_line;
pub(crate) use element_names::{nodes_of_other, other_dimension, remedies};
pub use infinite::InfiniteElement;
pub use lines::{LineProperty, Lines, PointMass, Truss};
pub(crate) use read::flatten;
pub use report::{DeckError, DeckReport, ElementCount, KeywordCount, KeywordUse, Note, SetCount, StepReport};
pub(crate) use second_order::{edges, splits_into_simplices};
pub(crate) use sections::Other;
pub(crate) use split::split_second_order;

use self::pogo::PogoOptions;
use crate::dynamics::{
    Amplitude, Boundary, CopiedDisplacements, ElementHistoryRequest, FieldRequest, HistoryRequest, Increment,
    InitialVelocity, Load, Shot, Start,
};
use crate::material::{Elasticity, Section};
use crate::mesh::Mesh;
use crate::relaxation::Attenuation;

/// Value of [`ElementGroup::section`](crate::mesh::ElementGroup::section) for an element that no section names.
pub const NO_SECTION: u32 = u32::MAX;

/// How to read a deck.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Keywords, keyword families (`CONTACT`, `PLASTIC`, `COUPLING`, …) or element types that may be left out although
    /// they change the physics; also `NO-SECTION` (elements that no section names) and `LATER-STEPS` (all steps but the
    /// first). Any case; blanks, hyphens and underscores do not count.
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
    /// three coordinates. [`Deck::finish`] is not meant for such a deck.
    pub mesh_only: bool,
    /// Two-node elements (trusses, beams, springs, dashpots, connectors) and point masses are wanted, in [`Deck::lines`], and
    /// not refused; shells and membranes of three or four nodes are read as CPS3 and CPS4, with three coordinates.
    pub lines: bool,
    /// Second-order elements (C3D10, C3D20R, CPE8, …) are wanted, and are split into linear ones of half their edges.
    pub split_second_order: bool,
    /// What files of P. Huthwaite's Pogo leave open.
    pub pogo: PogoOptions,
}

/// A material as far as the deck describes it.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DeckMaterial {
    /// Name, as the deck writes it.
    pub name: String,
    /// Where its `*MATERIAL` stands, for messages; empty file name for a job's.
    pub file: String,
    /// Line there, from 1.
    pub line: u64,
    /// ρ, kg/m³.
    pub density: Option<f64>,
    /// Stiffness.
    pub elasticity: Option<Elasticity>,
    /// Mass-proportional damping α in C = αM, 1/s.
    pub damping_alpha: f64,
    /// Stiffness-proportional damping β in C = βK, s.
    pub damping_beta: f64,
    /// Attenuation by relaxation mechanisms, which only jobs give.
    pub attenuation: Attenuation,
}

/// The procedure of a deck's step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Length of the step, s.
    pub time: f64,
    /// Time increment Δt.
    pub increment: Increment,
    /// How it starts.
    pub start: Start,
}

/// What a deck says; perhaps only a mesh.
#[derive(Debug, Clone, Default)]
pub struct Deck {
    /// First line under `*HEADING`, or empty.
    pub title: String,
    /// Nodes, elements and sets. Elements that no section names have section [`NO_SECTION`]. The dimension is that of the
    /// elements with a section or, where none has one, the highest; 2D meshes have two coordinates a node.
    pub mesh: Mesh,
    /// Two-node elements and point masses, where [`ReadOptions::lines`] asks for them.
    pub lines: Lines,
    /// Materials, which a job may add to or replace.
    pub materials: Vec<DeckMaterial>,
    /// Sections; [`Section::material`] is an index into `materials`.
    pub sections: Vec<Section>,
    /// Functions of time.
    pub amplitudes: Vec<Amplitude>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Prescribed displacements, velocities and accelerations.
    pub boundaries: Vec<Boundary>,
    /// Velocities at t = 0.
    pub initial_velocities: Vec<InitialVelocity>,
    /// Runs with some of the loads and boundary conditions.
    pub shots: Vec<Shot>,
    /// Periodic sides of files of P. Huthwaite's Pogo.
    pub copied: CopiedDisplacements,
    /// Linear constraints between nodes.
    pub(crate) linear: linear::DeckLinear,
    /// Traces of nodes.
    pub histories: Vec<HistoryRequest>,
    /// Traces of elements.
    pub element_histories: Vec<ElementHistoryRequest>,
    /// Snapshots.
    pub fields: Vec<FieldRequest>,
    /// Time and increment of the deck's step; none without a step, or with a procedure that a job replaces.
    pub step: Option<Step>,
    /// What the user should know: keywords ignored, things dropped, physics simplified.
    pub notes: Vec<Note>,
    /// What was in the deck.
    pub report: DeckReport,
    /// A deck without a step is refused when it is finished.
    pub(crate) require_step: bool,
    /// Element types that are not computed.
    pub(crate) others: Vec<Other>,
    /// Infinite elements, with nodes of the mesh.
    pub(crate) infinite: Vec<InfiniteElement>,
    /// The deck itself says what belongs to the model.
    pub(crate) has_sections: bool,
    /// Loads on nodes without elements are let go: the constraint that carried them is ignored.
    pub(crate) unconnected_loads: bool,
    /// Elements that no section names are left out on request.
    pub(crate) without_section: bool,
    /// Materials with a card that is wrong: what they lack has been said.
    pub(crate) wrong_materials: Vec<String>,
    /// A section is wrong, so that its elements may seem to have none.
    pub(crate) wrong_sections: bool,
}

/// Reads a deck and everything it includes, or a mesh that is [held](crate::system::held) under this name.
///
/// # Errors
/// All problems found, each with file and line.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Deck, DeckError> {
    if let Some(mesh) = crate::system::held::mesh(path) {
        return read::assemble(held::read(path, &mesh, options), options);
    }
    let source = lexer::Source::open(path)
        .map_err(|e| DeckError::new(&path.to_string_lossy(), &format!("cannot be read: {e}")))?;
    if source.bytes().is_empty() {
        return Err(DeckError::new(&source.name, "the file is empty"));
    }
    if pogo::is_pogo(source.bytes()) { pogo::read(&source, options) } else { read::read_source(source, options, true) }
}

/// Reads a deck that is already in memory; `name` is for messages. It cannot include files.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &Path, bytes: &[u8], options: &ReadOptions) -> Result<Deck, DeckError> {
    let source = lexer::Source::from_bytes(name, bytes);
    if pogo::is_pogo(bytes) { pogo::read(&source, options) } else { read::read_source(source, options, false) }
}

/// Whether elements that no section names are left out on request.
pub(crate) fn leaves_out_without_section(ignore: &[String]) -> bool {
    keywords::IgnoreList::new(ignore).covers(&["NO SECTION"])
}

impl Deck {
    /// Gives these elements a section, an index into `sections`.
    ///
    /// `elements` are element indices. `None` stands for every element of the mesh's dimension, so that the lines and
    /// faces which mesh generators write beside the volume's elements stay out.
    pub fn assign_section(&mut self, elements: Option<&[u32]>, section: u32) {
        let dimension = self.mesh.dimension as usize;
        let mut first = 0usize;
        for group in &mut self.mesh.groups {
            match elements {
                None if group.kind.dimension() == dimension => group.section.fill(section),
                None => {}
                Some(list) => {
                    for at in list.iter().filter_map(|element| (*element as usize).checked_sub(first)) {
                        if let Some(slot) = group.section.get_mut(at) {
                            *slot = section;
                        }
                    }
                }
            }
            first += group.section.len();
        }
    }
}
